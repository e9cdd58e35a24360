//! Who holds which lock, as a reordering is played.

use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

/// The locks that are held.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    holders: FxHashMap<u64, Vec<Holder>>,
}

#[derive(Debug)]
struct Holder {
    thread: ThreadId,
    /// How the outermost section holds it.
    mode: LockMode,
    depth: u32,
}

impl Locks {
    /// Plays one event; `false` if it takes a lock that another thread holds, or makes or destroys one.
    pub(crate) fn step(&mut self, event: &Event) -> bool {
        match event.op {
            Op::Acquire { lock, mode } => self.take(event.thread, lock, mode),
            Op::Release { lock, .. } => {
                self.give(event.thread, lock);
                true
            }
            Op::Forget { object } => {
                let holders = self.holders.get(&object);
                holders.is_none_or(|holders| holders.iter().all(|holder| holder.thread == event.thread))
            }
            Op::End => {
                // What an ended thread holds nobody else gets: it stays held.
                true
            }
            Op::Access(_)
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Fork { .. }
            | Op::Join { .. }
            | Op::Begin
            | Op::Signal { .. }
            | Op::Await { .. }
            | Op::Wait { .. }
            | Op::Arrive { .. }
            | Op::Leave { .. }
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => true,
        }
    }

    fn take(&mut self, thread: ThreadId, lock: u64, mode: LockMode) -> bool {
        let holders = self.holders.entry(lock).or_default();
        if let Some(mine) = holders.iter_mut().find(|holder| holder.thread == thread) {
            mine.depth += 1;
            return true;
        }
        let excluded = |holder: &Holder| mode == LockMode::Write || holder.mode == LockMode::Write;
        if holders.iter().any(excluded) {
            return false;
        }
        holders.push(Holder { thread, mode, depth: 1 });
        true
    }

    /// A thread gives a lock back. One that does not hold it gives it back for whoever has it longest (which is not well formed).
    fn give(&mut self, thread: ThreadId, lock: u64) {
        let Some(holders) = self.holders.get_mut(&lock) else { return };
        let mine = holders.iter().position(|holder| holder.thread == thread);
        let index = mine.unwrap_or(0);
        let Some(holder) = holders.get_mut(index) else { return };
        holder.depth -= 1;
        if holder.depth == 0 || mine.is_none() {
            holders.remove(index);
        }
    }
}
