//! Which accesses need not come to the gate: those whose code address no descriptor speaks of, as
//! long as nobody is held.
//!
//! Invariant: a byte of the table that is zero stands for code addresses that are not armed. Cost:
//! three loads and a branch in the hook; model: "look the address up among the armed ones".

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// The table's size: one byte for each value of a code address's low bits.
pub(crate) const SIZE: usize = 1 << 16;

/// One byte for the low 16 bits of a hook's return address: whether it may be armed.
pub(crate) static TABLE: [AtomicU8; SIZE] = [const { AtomicU8::new(0) }; SIZE];

/// Which bits of a return address choose its byte: all that there are, or none while every access
/// matters (a recording, a thread is held), when the first byte is set. At first the table is
/// empty and nothing is to be done.
pub(crate) static MASK: AtomicU32 = AtomicU32::new(SIZE as u32 - 1);

/// Makes the table decide alone, or every access matter.
fn decide(filtered: bool) {
    if !filtered {
        // It stays set: that costs the addresses that share it a look.
        TABLE[0].store(1, Ordering::Relaxed);
    }
    MASK.store(if filtered { SIZE as u32 - 1 } else { 0 }, Ordering::Relaxed);
}

/// 1 while calls and returns are followed: in a recording, and if a descriptor asks for call sites.
pub(crate) static FRAMES: AtomicU8 = AtomicU8::new(0);

/// Says whether calls and returns are followed.
pub(super) fn want_frames(wanted: bool) {
    FRAMES.store(u8::from(wanted), Ordering::Relaxed);
}

/// Whether the table decides while nobody is held.
static IDLE: AtomicU32 = AtomicU32::new(1);

/// Whether an access at `pc` needs no look at all.
#[inline(always)]
pub(crate) fn passes(pc: usize) -> bool {
    TABLE[pc & MASK.load(Ordering::Relaxed) as usize & (SIZE - 1)].load(Ordering::Relaxed) == 0
}

/// Whether the code address may be armed.
#[inline]
pub(super) fn armed(pc: u64) -> bool {
    TABLE[pc as usize % SIZE].load(Ordering::Relaxed) != 0
}

/// Arms a code address.
pub(super) fn arm(pc: u64) {
    TABLE[pc as usize % SIZE].store(1, Ordering::Relaxed);
}

/// Says whether the table decides while nobody is held.
pub(crate) fn set_idle(filtered: bool) {
    IDLE.store(u32::from(filtered), Ordering::Relaxed);
    decide(filtered);
}

/// Every access matters from now on: it is recorded.
pub(crate) fn let_none_pass() {
    set_idle(false);
    want_frames(true);
}

/// Somebody is held: every access matters; or nobody is any more.
pub(super) fn watch(anybody: bool) {
    decide(!anybody && IDLE.load(Ordering::Relaxed) != 0);
}

/// No access matters any more in this process, unless it is recorded.
pub(super) fn let_all_pass() {
    TABLE.iter().for_each(|byte| byte.store(0, Ordering::Relaxed));
    watch(false);
}
