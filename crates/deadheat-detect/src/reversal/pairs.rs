//! Which pairs of accesses are looked at.

use deadheat_core::access::Mode;
use deadheat_core::event::LockMode;
use deadheat_core::ids::{PlaceId, StackId};
use deadheat_core::rule::conflicts;
use rustc_hash::{FxHashMap, FxHashSet};

use super::closure::{self, Closing};
use super::order::{Order, order};
use crate::run::told::Found;
use crate::run::{Cell, Number, Run, Use, locks};

/// Accesses of a cell by one thread, of one sort, between two of its synchronisations.
struct Group {
    moment: u32,
    mode: Mode,
    atomic: bool,
    life: u32,
    events: Vec<Number>,
}

/// What is looked for, and what was found before.
pub(super) struct Wanted<'a> {
    /// Whether each pair of places is told, once.
    pub(super) all_pairs: bool,
    /// Races with earlier accesses of events from this one on.
    pub(super) from: Number,
    /// How many bytes of races are gathered before they are told.
    pub(super) room: usize,
    /// The pairs of places that were told.
    pub(super) places: &'a mut Places,
}

/// Pairs of places, each with its stack and its sort of access.
pub(super) type Places = FxHashSet<[(PlaceId, StackId, Mode); 2]>;

/// Gives all races: for each access that races with an earlier one, one with each other thread, or each pair of places.
pub(super) fn find(run: &Run, wanted: Wanted<'_>, give: &mut dyn FnMut(Vec<Found>)) {
    let mut search = Search {
        run,
        wanted,
        verdicts: FxHashMap::default(),
        told: FxHashSet::default(),
        found: Vec::new(),
        gathered: 0,
    };
    for cell in &run.cells {
        if !is_protected(run, cell) {
            search.cell(cell);
        }
        if search.gathered > search.wanted.room {
            search.gathered = 0;
            give(std::mem::take(&mut search.found));
        }
    }
    give(search.found);
}

/// Whether one thread alone uses a cell, nobody writes it, or one lock excludes all who do.
fn is_protected(run: &Run, cell: &Cell) -> bool {
    let accesses = || cell.uses.iter().filter(|at| !at.birth);
    let Some(first) = accesses().next() else { return true };
    let (thread, _) = run.place(first.event);
    if !accesses().any(|at| at.mode.writes()) || accesses().all(|at| run.place(at.event).0 == thread) {
        return true;
    }
    let mut common: Vec<u32> = held(run, first.event).collect();
    for at in accesses() {
        if common.is_empty() {
            break;
        }
        common.retain(|&lock| held(run, at.event).any(|other| other == lock));
    }
    !common.is_empty()
}

/// The locks that an access is made under for writing.
fn held(run: &Run, event: Number) -> impl Iterator<Item = u32> {
    let sections = run.inside(event).iter().map(|&section| &run.sections.all[section as usize]);
    sections.filter(|section| section.mode == LockMode::Write).map(|section| section.lock)
}

struct Search<'a> {
    run: &'a Run,
    wanted: Wanted<'a>,
    /// By the first accesses of two groups: whether they race.
    verdicts: FxHashMap<[Number; 2], bool>,
    /// The pairs that were found.
    told: FxHashSet<[Number; 2]>,
    found: Vec<Found>,
    /// How many bytes they take.
    gathered: usize,
}

impl Search<'_> {
    fn cell(&mut self, cell: &Cell) {
        // By thread: its groups so far.
        let mut groups: Vec<Vec<Group>> = (0..self.run.threads()).map(|_| Vec::new()).collect();
        for now in cell.uses.iter().filter(|at| !at.birth) {
            let (thread, _) = self.run.place(now.event);
            let first = self.join(&mut groups[thread], now);
            for (other, groups) in groups.iter().enumerate() {
                if other != thread && now.event >= self.wanted.from {
                    self.against(cell, groups, (first, now));
                }
            }
        }
    }

    /// Puts an access into its group: the first one of that.
    fn join(&self, groups: &mut Vec<Group>, now: &Use) -> Number {
        let moment = self.run.moment(now.event);
        let Use { event, mode, atomic, life, .. } = *now;
        let same = |group: &&mut Group| {
            (group.mode, group.atomic, group.life) == (mode, atomic, life) && group.moment == moment
        };
        let recent = groups.iter_mut().rev().take_while(|group| group.moment == moment);
        if let Some(group) = recent.into_iter().find(same) {
            group.events.push(event);
            return group.events[0];
        }
        groups.push(Group { moment, mode, atomic, life, events: vec![event] });
        event
    }

    /// Looks for a race of an access, whose group begins with `first`, with the latest fitting one of another thread.
    fn against(&mut self, cell: &Cell, groups: &[Group], (first, now): (Number, &Use)) {
        // Behind which moment all is: older ones need no look.
        let mut past = None;
        for group in groups.iter().rev() {
            // Who comes behind one access in every order comes behind all before it, and so behind older moments.
            if past.is_some_and(|moment| group.moment < moment) {
                return;
            }
            let behind = group.events.partition_point(|&event| self.run.before_any(event, now.event));
            let Some(&candidate) = group.events.get(behind) else {
                past = Some(group.moment);
                continue;
            };
            if group.life != now.life || !conflicts(group.mode, group.atomic, now.mode, now.atomic) {
                continue;
            }
            if self.wanted.all_pairs {
                for &earlier in &group.events[behind..] {
                    self.new_places(cell, [earlier, now.event]);
                }
                continue;
            }
            let pair = [candidate, now.event];
            if self.told.contains(&pair) || self.races(cell, [candidate, first], pair) {
                return;
            }
        }
    }

    /// Looks whether a pair races, unless one of its places does.
    fn new_places(&mut self, cell: &Cell, pair: [Number; 2]) {
        let mut places = pair.map(|number| {
            let event = self.run.event(number);
            (event.place, event.stack, self.run.access(number).map_or(Mode::Write, |access| access.mode))
        });
        places.sort_unstable_by_key(|&(place, stack, mode)| (place, stack, mode as u8));
        if !self.wanted.places.contains(&places) && self.races(cell, pair, pair) {
            self.wanted.places.insert(places);
        }
    }

    fn races(&mut self, cell: &Cell, groups: [Number; 2], pair: [Number; 2]) -> bool {
        if self.verdicts.get(&groups) == Some(&false) {
            return false;
        }
        let found = judge(self.run, pair);
        if groups[1] == pair[1] {
            self.verdicts.insert(groups, found.is_some());
        }
        let Some((cut, order)) = found else { return false };
        let order = match order {
            Order::AsItWas => None,
            Order::Turned(order) => Some(order),
        };
        self.told.insert(pair);
        let [earlier, later] = pair;
        let numbers = cut.len() + order.as_ref().map_or(0, Vec::len);
        self.gathered += size_of::<Found>() + numbers * size_of::<Number>();
        self.found.push(Found { earlier, later, address: cell.address, cut, order });
        true
    }
}

/// Whether two conflicting accesses can stand side by side: what comes before, and in which order.
fn judge(run: &Run, pair: [Number; 2]) -> Option<(Vec<u32>, Order)> {
    let [earlier, later] = pair;
    let excluded = |&one: &u32| run.inside(later).iter().any(|&other| run.sections.exclude(one, other));
    if run.inside(earlier).iter().any(excluded) {
        return None;
    }
    [Closing::Needed, Closing::All].into_iter().find_map(|closing| judge_closed(run, pair, closing))
}

/// As [`judge`], with these sections closed.
fn judge_closed(run: &Run, pair: [Number; 2], closing: Closing) -> Option<(Vec<u32>, Order)> {
    let cut = closure::closure(run, pair, closing)?;
    // Their memory must not be another block's by then.
    let lost = |&access: &Number| {
        run.cells_of(access).any(|cell| {
            let lives = &run.cells[cell].lives;
            let next = lives.partition_point(|&life| life <= access);
            lives[next..].iter().any(|&life| run.has(&cut, life))
        })
    };
    if pair.iter().any(lost) {
        return None;
    }
    let order = order(run, &cut)?;
    if !run.sections.well_formed {
        let hold = match &order {
            Order::AsItWas => {
                locks::exclude(run, (0..run.len() as Number).filter(|&event| run.has(&cut, event)))
            }
            Order::Turned(order) => locks::exclude(run, order.iter().copied()),
        };
        if !hold {
            return None;
        }
    }
    Some((cut, order))
}
