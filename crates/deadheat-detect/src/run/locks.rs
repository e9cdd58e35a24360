//! Whether locks exclude in an order of events, for runs in which they did not always.
//!
//! Model: the wording of the paper: two sections of a lock do not overlap. Who gives back a lock that he does not hold gives it back
//! for whoever has it.

use deadheat_core::event::{LockMode, Op};
use rustc_hash::FxHashMap;

use super::{Number, Run};

/// Who holds a lock: the thread, in which mode, and how often.
type Holder = (usize, LockMode, u32);

/// Whether nobody takes a lock that somebody else has, where a mode excludes the other, or makes or destroys one that somebody else has.
pub(crate) fn exclude(run: &Run, mut order: impl Iterator<Item = Number>) -> bool {
    let mut holders: FxHashMap<u64, Vec<Holder>> = FxHashMap::default();
    order.all(|number| {
        let (thread, _) = run.place(number);
        if let Op::Acquire { lock, mode } = run.event(number).op {
            let holders = holders.entry(lock).or_default();
            if let Some((.., depth)) = holders.iter_mut().find(|(holder, ..)| *holder == thread) {
                *depth += 1;
                return true;
            }
            let taken =
                holders.iter().any(|&(_, held, _)| mode == LockMode::Write || held == LockMode::Write);
            holders.push((thread, mode, 1));
            return !taken;
        }
        if let Op::Forget { object } = run.event(number).op {
            let holders = holders.get(&object).map_or(&[][..], Vec::as_slice);
            return holders.iter().all(|&(holder, ..)| holder == thread);
        }
        if let Op::Release { lock, .. } = run.event(number).op
            && let Some(holders) = holders.get_mut(&lock)
            && !holders.is_empty()
        {
            let own = holders.iter().position(|&(holder, ..)| holder == thread);
            let at = own.unwrap_or(0);
            holders[at].2 -= 1;
            if holders[at].2 == 0 || own.is_none() {
                holders.remove(at);
            }
        }
        true
    })
}
