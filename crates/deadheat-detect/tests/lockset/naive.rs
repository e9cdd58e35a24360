//! The rules of a variable as they are written down: a state for each byte, sets as sets, and the whole past at hand.
//!
//! Bytes that no event of the trace tells apart are one.

use std::collections::{BTreeMap, BTreeSet};

use deadheat_core::access::{Access, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op};
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{HeldLock, RunOrder};
use deadheat_detect::lockset::state::Rules;
use deadheat_detect::oracle::Oracle;

use crate::support::check::held;

/// A told pair of events, the later one first, and what the order says.
pub(crate) type Told = (usize, usize, RunOrder);

/// How often a thread accessed, writing or not, holding what.
pub(crate) type Ways = BTreeMap<(ThreadId, bool, Vec<HeldLock>), u64>;

#[derive(Clone)]
enum State {
    Virgin,
    /// Virgin, in a block that the thread allocated.
    Initialised(ThreadId),
    Exclusive(usize),
    Several(Several),
}

#[derive(Clone)]
struct Several {
    modified: bool,
    users: BTreeSet<ThreadId>,
    candidates: BTreeSet<u64>,
    /// All accesses since the last of the only user.
    accesses: Vec<usize>,
    told: Option<(usize, usize)>,
}

/// The whole trace.
pub(crate) struct Naive<'a> {
    events: &'a [Event],
    rules: Rules,
    order: Oracle<'a>,
    firm: Oracle<'a>,
    pub(crate) told: BTreeSet<Told>,
    /// Of each phase of a race the pair told and what was counted.
    pub(crate) counts: Vec<((usize, usize), u64, Ways)>,
}

/// The same trace without locks.
pub(crate) fn without_locks(events: &[Event]) -> Vec<Event> {
    let is_lock = |op: &Op| matches!(op, Op::Acquire { .. } | Op::Release { .. });
    let strip = |event: &Event| if is_lock(&event.op) { Event { op: Op::Branch, ..*event } } else { *event };
    events.iter().map(strip).collect()
}

impl<'a> Naive<'a> {
    pub(crate) fn new(events: &'a [Event], stripped: &'a [Event], rules: Rules) -> Self {
        let (order, firm) = (Oracle::new(events), Oracle::new(stripped));
        Self { events, rules, order, firm, told: BTreeSet::new(), counts: Vec::new() }
    }

    /// Judges the trace, byte by byte.
    pub(crate) fn judge(mut self) -> Self {
        let ranges: Vec<Option<(u64, u64)>> = (0..self.events.len()).map(|index| self.range(index)).collect();
        let mut bounds: Vec<u64> = ranges.iter().flatten().flat_map(|&(from, to)| [from, to]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        for byte in bounds {
            let mut state = State::Virgin;
            let mut lived = false;
            for (index, range) in ranges.iter().enumerate() {
                if range.is_some_and(|(from, to)| (from..to).contains(&byte)) {
                    state = self.event(state, index, &mut lived);
                }
            }
            self.over(&state);
        }
        self
    }

    /// The bytes that an event is about.
    fn range(&self, index: usize) -> Option<(u64, u64)> {
        match self.events[index].op {
            Op::Alloc { address, size, kind } => Some((address, address + owned(address, size, kind))),
            _ => self.order.access(index).map(|access| (access.address, access.end())),
        }
    }

    fn event(&mut self, state: State, index: usize, lived: &mut bool) -> State {
        let Event { thread, op, .. } = self.events[index];
        if let Op::Alloc { kind, .. } = op {
            let clears = kind != BlockKind::Heap || *lived;
            *lived = true;
            if clears {
                self.over(&state);
            } else if !matches!(state, State::Virgin) {
                return state;
            }
            return if self.rules.initialises { State::Initialised(thread) } else { State::Virgin };
        }
        if let Op::Free { .. } = op {
            *lived = true;
            self.over(&state);
            return State::Virgin;
        }
        let Op::Access(Access { atomic: None, via, .. }) = op else { return state };
        if matches!(via, Via::Free | Via::Object | Via::Birth) { state } else { self.access(state, index) }
    }

    fn access(&mut self, state: State, index: usize) -> State {
        let thread = self.events[index].thread;
        match state {
            State::Virgin => State::Exclusive(index),
            State::Initialised(owner) if owner == thread => state,
            State::Initialised(_) => State::Exclusive(index),
            State::Exclusive(last) => {
                let owner = self.events[last].thread;
                let handed = self.rules.hands_over && self.firm.ordered(last, index);
                let joined = self.rules.joins && self.knows_end(owner, index);
                if owner == thread || handed || joined {
                    return State::Exclusive(index);
                }
                let several = Several {
                    modified: false,
                    users: BTreeSet::from([owner]),
                    candidates: self.held(index),
                    accesses: vec![last],
                    told: None,
                };
                self.several(several, index)
            }
            State::Several(mut several) => {
                if self.rules.joins {
                    several.users.retain(|&user| !self.knows_end(user, index));
                }
                if self.rules.joins && several.users.iter().all(|&user| user == thread) {
                    self.over(&State::Several(several));
                    return State::Exclusive(index);
                }
                self.several(several, index)
            }
        }
    }

    fn several(&mut self, mut several: Several, index: usize) -> State {
        let held = self.held(index);
        several.users.insert(self.events[index].thread);
        several.candidates.retain(|lock| held.contains(lock));
        several.modified |= self.writes(index);
        if several.modified && several.candidates.is_empty() && several.told.is_none() {
            several.told = self.partner(&several, index).map(|partner| (partner, index));
            if let Some((partner, _)) = several.told {
                self.told.insert((index, partner, self.order_of(partner, index)));
            }
        }
        several.accesses.push(index);
        State::Several(several)
    }

    /// The earlier access: of the last write, the last one of another thread than that, and the same of reads, those that
    /// conflict and are of another user; first those that share no lock, then those that nothing orders.
    fn partner(&self, several: &Several, index: usize) -> Option<usize> {
        let last_two = |writes: bool| {
            let mut of = several.accesses.iter().rev().copied().filter(|&at| self.writes(at) == writes);
            let last = of.next();
            let other =
                last.and_then(|last| of.find(|&at| self.events[at].thread != self.events[last].thread));
            [last, other]
        };
        let reads = if self.writes(index) { last_two(false) } else { [None; 2] };
        let kept = last_two(true).into_iter().chain(reads).flatten();
        kept.filter(|&at| {
            let thread = self.events[at].thread;
            thread != self.events[index].thread && several.users.contains(&thread)
        })
        .min_by_key(|&at| (self.share(at, index), self.order.ordered(at, index)))
    }

    fn share(&self, one: usize, other: usize) -> bool {
        let (one, other) = (held(self.events, one), held(self.events, other));
        let excludes = |one: &HeldLock, other: &HeldLock| {
            one.lock == other.lock && !(one.mode == LockMode::Read && other.mode == LockMode::Read)
        };
        one.iter().any(|one| other.iter().any(|other| excludes(one, other)))
    }

    fn order_of(&self, earlier: usize, later: usize) -> RunOrder {
        match (self.firm.ordered(earlier, later), self.order.ordered(earlier, later)) {
            (true, _) => RunOrder::Otherwise,
            (false, true) => RunOrder::ByLocks,
            (false, false) => RunOrder::Unordered,
        }
    }

    fn writes(&self, index: usize) -> bool {
        matches!(self.events[index].op, Op::Access(access) if access.mode.writes())
    }

    /// The locks that protect an access.
    fn held(&self, index: usize) -> BTreeSet<u64> {
        let protects = |held: &HeldLock| !self.writes(index) || held.mode == LockMode::Write;
        held(self.events, index).into_iter().filter(protects).map(|held| held.lock).collect()
    }

    /// Whether a join of a thread happens before an event.
    fn knows_end(&self, of: ThreadId, index: usize) -> bool {
        let mut joins = (0..index).filter(|&at| self.events[at].op == Op::Join { child: of });
        joins.any(|at| self.events[at].thread != of && self.order.ordered(at, index))
    }

    /// The variable begins anew.
    fn over(&mut self, state: &State) {
        let State::Several(Several { told: Some(told), accesses, .. }) = state else { return };
        let mut ways = Ways::new();
        for &at in accesses {
            let locks = held(self.events, at);
            if !locks.is_empty() {
                *ways.entry((self.events[at].thread, self.writes(at), locks)).or_default() += 1;
            }
        }
        self.counts.push((*told, accesses.len() as u64, ways));
    }
}

fn owned(address: u64, size: u64, kind: BlockKind) -> u64 {
    if kind == BlockKind::Heap && address.is_multiple_of(8) { size.div_ceil(8) * 8 } else { size }
}
