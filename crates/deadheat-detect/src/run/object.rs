//! Synchronisation objects but locks: what a use of one needs.

use std::collections::BTreeMap;

use deadheat_core::event::SyncKind;
use rustc_hash::FxHashMap;

use super::Number;

/// The objects of a run, by their addresses.
#[derive(Debug, Default)]
pub(super) struct Objects {
    objects: BTreeMap<u64, Object>,
}

/// What is known of one.
#[derive(Debug, Default)]
pub(super) struct Object {
    /// The event that made it.
    made: Option<Number>,
    /// By thread: its last use.
    users: FxHashMap<u32, Number>,
    /// By sort and thread: its last signal, and how many signals there were with that.
    signals: BTreeMap<(Sort, u32), (Number, u64)>,
    /// How many signals there were.
    count: u64,
    /// By thread that waits: how many there were when it began to.
    waits: FxHashMap<u32, u64>,
    /// The rounds of a barrier: who arrived, and with which event. The last one is open.
    rounds: Vec<Vec<(u32, Number)>>,
    /// By thread: its last arrival in a round that is over.
    over: BTreeMap<u32, Number>,
}

/// What signals and waits have to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Sort {
    Condition,
    Semaphore,
    Once,
    Annotation,
    Everything,
}

impl Sort {
    const fn of(kind: SyncKind) -> Self {
        match kind {
            SyncKind::Condition | SyncKind::ConditionAll => Self::Condition,
            SyncKind::Semaphore => Self::Semaphore,
            SyncKind::Once => Self::Once,
            SyncKind::Annotation => Self::Annotation,
            SyncKind::Everything => Self::Everything,
        }
    }
}

impl Objects {
    /// The object at an address; if there is none yet, `made` made it.
    pub(super) fn find(&mut self, address: u64, made: Option<Number>) -> &mut Object {
        self.objects.entry(address).or_insert_with(|| Object { made, ..Object::default() })
    }

    /// An object is made anew: what must have come before that.
    pub(super) fn make(&mut self, address: u64, number: Number) -> Vec<Number> {
        let old = self.objects.insert(address, Object { made: Some(number), ..Object::default() });
        old.map_or(Vec::new(), |old| old.uses().collect())
    }

    /// So are all in a block.
    pub(super) fn forget_range(&mut self, from: u64, to: u64) -> Vec<Number> {
        let addresses: Vec<u64> = self.objects.range(from..to).map(|(&address, _)| address).collect();
        let gone = addresses.iter().filter_map(|address| self.objects.remove(address));
        gone.flat_map(|object| object.uses().collect::<Vec<_>>()).collect()
    }
}

impl Object {
    pub(super) fn made(&self) -> Option<Number> {
        self.made
    }

    fn uses(&self) -> impl Iterator<Item = Number> {
        self.users.values().copied().chain(self.made)
    }

    pub(super) fn used(&mut self, thread: u32, number: Number) {
        self.users.insert(thread, number);
    }

    pub(super) fn signal(&mut self, thread: u32, number: Number, kind: SyncKind) {
        self.count += 1;
        self.signals.insert((Sort::of(kind), thread), (number, self.count));
    }

    pub(super) fn begin_wait(&mut self, thread: u32) {
        self.waits.insert(thread, self.count);
    }

    /// The signals that a wait saw. One on a semaphore that failed saw that all posts were taken: all that came before.
    pub(super) fn end_wait(&mut self, thread: u32, kind: SyncKind, woken: bool) -> Vec<Number> {
        let began = self.waits.remove(&thread);
        if kind == SyncKind::Semaphore && !woken {
            return self.uses().collect();
        }
        let sort = Sort::of(kind);
        let since = match sort {
            Sort::Condition => began,
            Sort::Semaphore | Sort::Once | Sort::Annotation | Sort::Everything => Some(0),
        };
        let Some(since) = since.filter(|_| woken) else { return Vec::new() };
        let of_sort = self.signals.range((sort, 0)..=(sort, u32::MAX));
        of_sort.filter(|(_, (_, count))| *count > since).map(|(_, &(number, _))| number).collect()
    }

    /// What an arrival has to come behind: all arrivals of the rounds that are over.
    pub(super) fn arrive(&mut self, thread: u32, number: Number, count: u32) -> Vec<Number> {
        let behind = self.over.values().copied().collect();
        if self.rounds.is_empty() {
            self.rounds.push(Vec::new());
        }
        let last = self.rounds.len() - 1;
        self.rounds[last].push((thread, number));
        if count > 0 && self.rounds[last].len() == count as usize {
            self.end_round();
        }
        behind
    }

    /// The arrivals of the round that a thread leaves.
    pub(super) fn leave(&mut self, thread: u32) -> Vec<Number> {
        let came = |round: &Vec<(u32, Number)>| round.iter().any(|&(who, _)| who == thread);
        let Some(round) = self.rounds.iter().rposition(came) else { return Vec::new() };
        if round + 1 == self.rounds.len() {
            self.end_round();
        }
        self.rounds[round].iter().map(|&(_, number)| number).collect()
    }

    fn end_round(&mut self) {
        self.over.extend(self.rounds.last().into_iter().flatten().copied());
        self.rounds.push(Vec::new());
    }
}
