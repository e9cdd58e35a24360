//! Which lock to hold: the one that most accesses hold to what a race is on.
//!
//! A lock is one object, or a class of them where each object has a lock of its own (algorithms 5.2): the class counts
//! if more accesses hold one of it than any single lock.

use std::collections::{BTreeMap, BTreeSet};

use deadheat_core::event::LockMode;
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{Guards, LockSets, RunOrder};
use deadheat_report::model::{Grade, Race, Suggestion};

use super::collect::{Held, Kept, held};
use super::resolve::{Resolver, order_here};

/// How often one thread accessed something while it held some locks.
#[derive(Clone)]
struct Way {
    thread: ThreadId,
    /// Those that protect such an access.
    locks: Vec<Held>,
    count: u64,
}

/// Which locks were held at the accesses to what a race is on.
#[derive(Clone, Default)]
pub(crate) struct Protection {
    accesses: u64,
    ways: Vec<Way>,
}

impl Protection {
    /// What a detector counted.
    pub(super) fn of(guards: &Guards<'_>, locks: &dyn LockSets) -> Protection {
        let way = |way: &deadheat_core::race::Guarded| {
            let mut locks = held(way.locks, locks);
            locks.retain(|held| !way.writes || held.mode == LockMode::Write);
            Way { thread: way.thread, locks, count: way.count }
        };
        Protection { accesses: guards.accesses, ways: guards.held.iter().map(way).collect() }
    }

    /// Adds what was counted elsewhere of the same race.
    pub(super) fn add(&mut self, other: &Protection) {
        self.accesses += other.accesses;
        self.ways.extend_from_slice(&other.ways);
    }
}

/// What is known of suspected races by their ids, of all their stacks together.
#[derive(Default)]
pub(super) struct Suspicions(BTreeMap<String, (Option<RunOrder>, Protection)>);

impl Suspicions {
    /// Adds what is known of one.
    pub(super) fn add(&mut self, id: &str, kept: &Kept, protection: Option<&Protection>) {
        if kept.order.is_none() && protection.is_none() {
            return;
        }
        let (order, sum) = self.0.entry(id.to_owned()).or_default();
        *order = [*order, kept.order].into_iter().flatten().min();
        protection.into_iter().for_each(|protection| sum.add(protection));
    }

    /// Tells in a race what is known of it. What is observed or proved needs no second opinion.
    pub(super) fn complete(&self, race: &mut Race, resolver: &mut Resolver<'_>) {
        let Some((order, protection)) = self.0.get(&race.id) else { return };
        race.order_here = order.map(order_here).filter(|_| race.grade == Grade::Suspected);
        race.suggestion = resolver.suggestion(protection);
    }
}

/// What is counted of a lock, or of a class.
#[derive(Default)]
struct Count {
    held_at: u64,
    threads: BTreeSet<ThreadId>,
    instances: BTreeSet<u64>,
    name: String,
}

impl Resolver<'_> {
    /// The lock that most accesses hold, if at least two threads do.
    pub(super) fn suggestion(&mut self, protection: &Protection) -> Option<Suggestion> {
        let mut objects: BTreeMap<(String, u64), Count> = BTreeMap::new();
        let mut classes: BTreeMap<String, Count> = BTreeMap::new();
        for Way { thread, locks, count } in &protection.ways {
            // Who holds two locks of a class holds that class once.
            let mut seen = BTreeSet::new();
            for held in locks {
                let lock = self.lock(held);
                let add = |to: &mut Count, count| {
                    to.held_at += count;
                    to.threads.insert(*thread);
                    to.instances.insert(held.lock);
                    to.name.clone_from(&lock.name);
                };
                add(objects.entry((lock.id.clone(), held.lock)).or_default(), *count);
                let new = seen.insert(lock.id.clone());
                add(classes.entry(lock.id.clone()).or_default(), if new { *count } else { 0 });
            }
        }
        let objects = objects.into_iter().map(|((id, _), count)| (id, count));
        let shared = |(_, count): &(String, Count)| count.threads.len() > 1;
        // Of equals the first counts, and objects come before classes.
        let all: Vec<_> = objects.chain(classes).filter(shared).collect();
        let most = all.iter().map(|(_, count)| count.held_at).max()?;
        let (id, Count { held_at, instances, name, .. }) =
            all.into_iter().find(|(_, count)| count.held_at == most)?;
        Some(Suggestion {
            lock: name,
            id,
            held_at,
            of: protection.accesses,
            instances: instances.len() as u64,
        })
    }
}
