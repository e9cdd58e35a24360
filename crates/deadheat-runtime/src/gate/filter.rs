//! Which accesses need not come to the gate: those whose code address no descriptor speaks of, as
//! long as nobody is held.
//!
//! Invariant: a byte of the table that is zero stands for code addresses that are not armed. Cost:
//! two loads and two branches in the hook; model: "look the address up among the armed ones".

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// The table's size: one byte for each value of a code address's low bits.
pub(crate) const SIZE: usize = 1 << 16;

/// One byte for the low 16 bits of a hook's return address: whether it may be armed.
pub(crate) static TABLE: [AtomicU8; SIZE] = [const { AtomicU8::new(0) }; SIZE];

/// 1 while the table decides alone; 0 while every access matters (a recording, a thread is held).
/// At first the table is empty and nothing is to be done.
pub(crate) static FILTERED: AtomicU8 = AtomicU8::new(1);

/// 1 while calls and returns are followed: in a recording, and if a descriptor asks for call sites.
pub(crate) static FRAMES: AtomicU8 = AtomicU8::new(0);

/// Says whether calls and returns are followed.
pub(super) fn want_frames(wanted: bool) {
    FRAMES.store(u8::from(wanted), Ordering::Relaxed);
}

/// What [`FILTERED`] is while nobody is held.
static IDLE: AtomicU32 = AtomicU32::new(1);

/// Whether an access at `pc` needs no look at all.
#[inline(always)]
pub(crate) fn passes(pc: usize) -> bool {
    FILTERED.load(Ordering::Relaxed) != 0 && TABLE[pc % SIZE].load(Ordering::Relaxed) == 0
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
    FILTERED.store(u8::from(filtered), Ordering::Relaxed);
}

/// Every access matters from now on: it is recorded.
pub(crate) fn let_none_pass() {
    set_idle(false);
    want_frames(true);
}

/// Somebody is held: every access matters; or nobody is any more.
pub(super) fn watch(anybody: bool) {
    let filtered = !anybody && IDLE.load(Ordering::Relaxed) != 0;
    FILTERED.store(u8::from(filtered), Ordering::Relaxed);
}

/// No access matters any more in this process, unless it is recorded.
pub(super) fn let_all_pass() {
    TABLE.iter().for_each(|byte| byte.store(0, Ordering::Relaxed));
    watch(false);
}
