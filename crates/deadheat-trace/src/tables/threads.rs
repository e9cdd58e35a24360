//! The threads of a trace.

use deadheat_core::ids::{PlaceId, StackId, ThreadId};

/// What is known of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// Its name; empty if it never had one.
    pub name: String,
    /// Who created it, if that was seen.
    pub parent: Option<ThreadId>,
    /// Its number among the threads that its parent created, from 1 (for a thread without a
    /// parent: its number among those). Those that the program gave a number are not counted.
    pub ordinal: u32,
    /// The number that the program gave it, which stands in place of the ordinal.
    pub given: Option<u64>,
    /// Where its parent created it.
    pub created_at: (PlaceId, StackId),
    /// Whether it appears in the trace at all.
    pub seen: bool,
    /// Whether its first event was seen.
    pub begun: bool,
    /// Whether its last event was seen.
    pub ended: bool,
    /// How many threads it created that the program gave no number.
    pub forks: u32,
}

/// The table of threads.
#[derive(Debug, Default)]
pub struct Threads {
    rows: Vec<Thread>,
    /// Threads without a parent so far, the first one apart.
    foreign: u32,
}

impl Threads {
    /// The thread, if it is known.
    #[must_use]
    pub fn get(&self, id: ThreadId) -> Option<&Thread> {
        self.rows.get(id.index())
    }

    /// How many rows the table has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no thread.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The threads that appear in the trace.
    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        (0..).map(ThreadId).zip(&self.rows).filter(|(_, thread)| thread.seen)
    }

    /// The thread's spawn path: `main`, `main/1`, `main/1/2`; `?1` for a thread whose creation
    /// was not seen; `main/#7` for one that the program gave the number 7.
    #[must_use]
    pub fn path(&self, id: ThreadId) -> String {
        let mut ordinals = Vec::new();
        let mut at = id;
        while let Some(thread) = self.get(at) {
            let Some(parent) = thread.parent else { break };
            ordinals.push(match thread.given {
                Some(number) => format!("/#{number}"),
                None => format!("/{}", thread.ordinal),
            });
            at = parent;
        }
        let mut path = if at == ThreadId::FIRST {
            "main".to_owned()
        } else {
            format!("?{}", self.get(at).map_or(0, |thread| thread.ordinal))
        };
        path.extend(ordinals.into_iter().rev());
        path
    }

    /// The thread's name, to be set.
    pub(crate) fn name(&mut self, id: ThreadId) -> &mut String {
        &mut self.row(id).name
    }

    /// Notes the number that the program gave the thread, before anything else is noted of it.
    pub(crate) fn give(&mut self, id: ThreadId, number: u64) {
        self.row(id).given = Some(number);
    }

    /// Notes that the thread has an event.
    #[inline]
    pub(crate) fn see(&mut self, id: ThreadId) -> &mut Thread {
        if !self.row(id).seen {
            let ordinal = if id == ThreadId::FIRST { 1 } else { self.foreign + 1 };
            self.foreign += u32::from(id != ThreadId::FIRST);
            let thread = self.row(id);
            thread.seen = true;
            thread.ordinal = ordinal;
        }
        self.row(id)
    }

    /// Notes that `parent` creates `child`. Believed only if nothing was seen of the child so
    /// far, so that the tree has no cycle.
    pub(crate) fn fork(&mut self, parent: ThreadId, child: ThreadId, at: (PlaceId, StackId)) {
        self.see(parent);
        if child == ThreadId::FIRST || self.row(child).seen {
            return;
        }
        let counts = self.row(child).given.is_none();
        let forks = &mut self.row(parent).forks;
        *forks += u32::from(counts);
        let ordinal = *forks;
        let thread = self.row(child);
        thread.seen = true;
        thread.parent = Some(parent);
        thread.ordinal = ordinal;
        thread.created_at = at;
    }

    fn row(&mut self, id: ThreadId) -> &mut Thread {
        if id.index() >= self.rows.len() {
            self.rows.resize_with(id.index() + 1, Thread::default);
        }
        &mut self.rows[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_number_stands_for_the_ordinal() {
        let mut threads = Threads::default();
        let nowhere = (PlaceId::UNKNOWN, StackId::EMPTY);
        threads.give(ThreadId(1), 7);
        for (parent, child) in [(0, 1), (0, 2), (1, 3)] {
            threads.fork(ThreadId(parent), ThreadId(child), nowhere);
        }
        let path = |id| threads.path(ThreadId(id));
        assert_eq!([path(1), path(2), path(3)], ["main/#7", "main/1", "main/#7/1"]);
    }

    #[test]
    fn paths_count_spawns() {
        let mut threads = Threads::default();
        let nowhere = (PlaceId::UNKNOWN, StackId::EMPTY);
        threads.fork(ThreadId(0), ThreadId(1), nowhere);
        threads.fork(ThreadId(0), ThreadId(2), nowhere);
        threads.fork(ThreadId(2), ThreadId(3), nowhere);
        threads.see(ThreadId(7));
        threads.fork(ThreadId(7), ThreadId(9), nowhere);
        threads.fork(ThreadId(3), ThreadId(2), nowhere);
        let path = |id| threads.path(ThreadId(id));
        assert_eq!([path(0), path(1), path(2)], ["main", "main/1", "main/2"]);
        assert_eq!([path(3), path(7), path(9)], ["main/2/1", "?1", "?1/1"]);
        assert_eq!(threads.iter().count(), 6);
    }
}
