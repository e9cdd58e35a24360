//! What synchronisation other than by locks and data needs.
//!
//! - A wait that was woken needs the earlier posts to its object, but for condition variables and semaphores, where some signal does
//!   (`super::waits`).
//! - A wait on a semaphore that got nothing needs all earlier posts and waits that got something: it would get something
//!   else.
//! - Who leaves a barrier needs those who arrived in the same round; who arrives, those of the rounds before.
//! - Each use of an object needs its last making or destruction. An object made anew, also by the allocation of
//!   its memory, has no past of the kind that a wait learns from.

use deadheat_core::event::{BlockKind, Event, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

/// The objects of a run, as they were so far.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    objects: FxHashMap<u64, Object>,
}

/// What was done to the object at an address.
#[derive(Debug, Default)]
struct Object {
    made: Option<usize>,
    posts: Vec<(SyncKind, usize)>,
    /// The waits that began and are not over, with the signals since.
    waiting: Vec<(ThreadId, Vec<usize>)>,
    /// The posts and successful waits of a semaphore.
    used: Vec<usize>,
    rounds: Vec<Vec<(ThreadId, usize)>>,
}

const fn is_condition(kind: SyncKind) -> bool {
    matches!(kind, SyncKind::Condition | SyncKind::ConditionAll)
}

impl Objects {
    /// The next event; what it needs is added to `needs`. Whether it ends a wait that a signal has reached.
    pub(crate) fn step(&mut self, index: usize, event: &Event, needs: &mut Vec<usize>) -> bool {
        let thread = event.thread;
        match event.op {
            Op::Acquire { lock: object, .. } | Op::Release { lock: object, .. } => {
                needs.extend(self.object(object).made);
            }
            Op::Signal { object, kind } => {
                let object = self.object(object);
                needs.extend(object.made);
                if is_condition(kind) {
                    object.waiting.iter_mut().for_each(|(_, signals)| signals.push(index));
                } else {
                    object.posts.push((kind, index));
                }
                if kind == SyncKind::Semaphore {
                    object.used.push(index);
                }
            }
            Op::Await { object, kind } => {
                let object = self.object(object);
                needs.extend(object.made);
                if is_condition(kind) {
                    object.waiting.retain(|(waiter, _)| *waiter != thread);
                    object.waiting.push((thread, Vec::new()));
                }
            }
            Op::Wait { object, kind, woken } => {
                needs.extend(self.object(object).made);
                return self.object(object).wait(index, (thread, kind, woken), needs);
            }
            Op::Arrive { barrier, count } => self.object(barrier).arrive(index, (thread, count), needs),
            Op::Leave { barrier } => self.object(barrier).leave(thread, needs),
            Op::Forget { object } => {
                let object = self.object(object);
                needs.extend(object.made);
                *object = Object { made: Some(index), ..Object::default() };
            }
            Op::Alloc { address, size, kind } if kind != BlockKind::Benign => {
                let end = address.saturating_add(super::memory::owned(address, size, kind));
                let inside = self.objects.iter_mut().filter(|(at, _)| (address..end).contains(at));
                inside.for_each(|(_, object)| {
                    object.posts.clear();
                    object.waiting.clear();
                    object.used.clear();
                    object.rounds.clear();
                });
            }
            Op::Alloc { .. }
            | Op::Access(_)
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Fork { .. }
            | Op::Join { .. }
            | Op::Begin
            | Op::End
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Free { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => {}
        }
        false
    }

    fn object(&mut self, address: u64) -> &mut Object {
        self.objects.entry(address).or_default()
    }
}

impl Object {
    fn wait(
        &mut self,
        index: usize,
        (thread, kind, woken): (ThreadId, SyncKind, bool),
        needs: &mut Vec<usize>,
    ) -> bool {
        if is_condition(kind) {
            let began = self.waiting.iter().position(|(waiter, _)| *waiter == thread);
            let signals = began.map_or(Vec::new(), |began| self.waiting.swap_remove(began).1);
            return woken && !signals.is_empty();
        }
        if woken && kind != SyncKind::Semaphore {
            needs.extend(self.posts.iter().filter(|(of, _)| *of == kind).map(|&(_, post)| post));
        }
        if kind == SyncKind::Semaphore {
            if woken {
                self.used.push(index);
            } else {
                needs.extend(&self.used);
            }
        }
        false
    }

    fn arrive(&mut self, index: usize, (thread, count): (ThreadId, u32), needs: &mut Vec<usize>) {
        needs.extend(self.made);
        if self.rounds.is_empty() {
            self.rounds.push(Vec::new());
        }
        let last = self.rounds.len() - 1;
        needs.extend(self.rounds[..last].iter().flatten().map(|&(_, arrival)| arrival));
        self.rounds[last].push((thread, index));
        if count > 0 && self.rounds[last].len() == count as usize {
            self.rounds.push(Vec::new());
        }
    }

    fn leave(&mut self, thread: ThreadId, needs: &mut Vec<usize>) {
        needs.extend(self.made);
        let inside = |round: &Vec<(ThreadId, usize)>| round.iter().any(|&(arrived, _)| arrived == thread);
        if let Some(mine) = self.rounds.iter().rposition(inside) {
            needs.extend(self.rounds[mine].iter().map(|&(_, arrival)| arrival));
            if mine == self.rounds.len() - 1 {
                // Where it is not known how many arrive, the first who leaves ends the round.
                self.rounds.push(Vec::new());
            }
        }
    }
}
