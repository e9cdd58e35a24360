//! Races of two threads on a third one's local variable: neither access tells where in its frame
//! the variable lies, but an access that the owner made in that frame does.
//!
//! Invariant: an access of the owner speaks for a race only if it came before one of the race's
//! accesses, and the frame that made it was on the owner's stack then.

use std::collections::{BTreeMap, HashMap, HashSet};

use deadheat_core::access::Access;
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{Race, Side};
use deadheat_trace::tables::Stacks;
use deadheat_trace::{Tables, Trace, Visit};

/// How many races are asked for.
const MOST_ASKED: usize = 256;
/// How many accesses of the owner are kept for one race, each from another place, and how many of
/// them with the same calls above.
const MOST_PLACES: usize = 64;
const MOST_IN_FRAME: usize = 6;
/// How far from the variable an access may be that tells of its frame, in bytes.
const REACH: u64 = 1 << 14;

/// A race whose variable is asked for: the address, the owner of the stack, and the two sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Asked {
    address: u64,
    owner: ThreadId,
    sides: [(ThreadId, PlaceId); 2],
}

impl Asked {
    /// The race, if neither of its accesses is the owner's.
    fn of(race: &Race) -> Option<Asked> {
        let block = race.block.filter(|block| block.kind == BlockKind::Stack)?;
        let side = |side: &Side| (side.thread, side.place);
        let sides = [side(&race.earlier), side(&race.later)];
        let foreign = sides.iter().all(|(thread, _)| *thread != block.thread);
        foreign.then_some(Asked { address: race.address, owner: block.thread, sides })
    }
}

/// An access by the owner of a stack.
#[derive(Clone, Copy)]
pub(crate) struct Owned {
    /// Its place.
    pub(crate) place: PlaceId,
    /// The call sites above that.
    stack: StackId,
    /// What it did.
    pub(crate) access: Access,
}

/// What is known of one race.
#[derive(Default)]
struct Row {
    /// The owner's latest accesses, the newest last.
    latest: Vec<Owned>,
    /// Those of them that spoke for the race when one of its accesses came.
    speaking: Vec<Owned>,
}

impl Row {
    /// Keeps the owner's latest access, and forgets those of frames that are gone.
    fn keep(&mut self, latest: Owned, stacks: &Stacks) {
        self.latest
            .retain(|owned| owned.place != latest.place && is_above(stacks, owned.stack, latest.stack));
        let of_frame = |owned: &Owned| owned.stack == latest.stack;
        if self.latest.iter().filter(|owned| of_frame(owned)).count() == MOST_IN_FRAME
            && let Some(oldest) = self.latest.iter().position(of_frame)
        {
            self.latest.remove(oldest);
        }
        if self.latest.len() < MOST_PLACES {
            self.latest.push(latest);
        }
    }
}

/// What is known, by address.
type Rows = BTreeMap<u64, Vec<(Asked, Row)>>;

/// The accesses of owners that speak for races.
#[derive(Default)]
pub(crate) struct Owners(Rows);

impl Owners {
    /// Reads the trace once more, if there is a race to ask for.
    pub(crate) fn read<'a>(trace: &mut Trace, races: impl Iterator<Item = &'a Race>) -> Owners {
        let asked: HashSet<Asked> = races.filter_map(Asked::of).take(MOST_ASKED).collect();
        if asked.is_empty() {
            return Owners::default();
        }
        let now = asked.iter().map(|asked| (asked.owner, StackId::EMPTY)).collect();
        let mut rows = Rows::new();
        for asked in asked {
            rows.entry(asked.address).or_default().push((asked, Row::default()));
        }
        let mut search = Search { rows, now };
        // A trace that broke off shows what it shows.
        let _ = trace.drive_into(&mut search);
        Owners(search.rows)
    }

    /// The owner's accesses that speak for a race, the newest first.
    pub(crate) fn of(&self, race: &Race) -> impl Iterator<Item = Owned> + '_ {
        let asked = Asked::of(race);
        let rows = asked.and_then(|asked| self.0.get(&asked.address));
        let own = rows.into_iter().flatten().filter(move |(row, _)| Some(*row) == asked);
        own.flat_map(|(_, row)| row.speaking.iter().rev().copied())
    }
}

struct Search {
    rows: Rows,
    /// The call sites above each owner's latest event.
    now: HashMap<ThreadId, StackId>,
}

impl Search {
    fn access(&mut self, event: &Event, access: &Access, stacks: &Stacks) {
        let near = access.address.saturating_sub(REACH)..access.end().saturating_add(REACH);
        for (asked, row) in self.rows.range_mut(near).flat_map(|(_, rows)| rows) {
            if asked.owner == event.thread {
                row.keep(Owned { place: event.place, stack: event.stack, access: *access }, stacks);
            } else if row.speaking.is_empty()
                && (access.address..access.end()).contains(&asked.address)
                && asked.sides.contains(&(event.thread, event.place))
            {
                let now = self.now.get(&asked.owner).copied().unwrap_or_default();
                let lives = |owned: &&Owned| is_above(stacks, owned.stack, now);
                row.speaking = row.latest.iter().filter(lives).copied().collect();
            }
        }
    }
}

impl Visit for Search {
    fn event(&mut self, event: &Event, tables: &Tables) -> bool {
        if let Some(now) = self.now.get_mut(&event.thread) {
            *now = event.stack;
        }
        if let Op::Access(access) = event.op {
            self.access(event, &access, &tables.stacks);
        }
        true
    }
}

/// Whether the calls of `stack` are among those of `now`, from the outermost on.
fn is_above(stacks: &Stacks, stack: StackId, now: StackId) -> bool {
    let mut outwards = std::iter::successors(Some(now), |&at| stacks.parent(at).map(|(parent, _)| parent));
    outwards.any(|at| at == stack)
}
