//! What the detector does at present.
//!
//! Invariant: what was given up stays so.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What the hooks of plain accesses ask: not zero while races are looked for and nothing is recorded. Then it is [`STATE`].
pub(crate) static ON: AtomicU8 = AtomicU8::new(0);
/// Not zero while races are looked for: [`LOOKING`] if accesses are looked at, [`ALONE`] if none can race.
static STATE: AtomicU8 = AtomicU8::new(0);
/// Whether a recording is made, too.
static BESIDE: AtomicBool = AtomicBool::new(false);

/// Whether threads may come that nobody is seen creating.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// The hooks of plain accesses go to [`super::on_access`]; with a greater number they return at once.
pub(crate) const LOOKING: u8 = 1;
/// One thread runs, and knows all that the others did: whoever comes learns what it does now before coming.
pub(super) const ALONE: u8 = 2;
/// There is no memory: nothing is looked at any more.
const GIVEN_UP: u8 = 3;

/// Says whether a recording is made, too.
pub(super) fn is_beside(beside: bool) {
    BESIDE.store(beside, Ordering::Relaxed);
}

/// Whether races are looked for.
#[inline(always)]
pub(crate) fn on() -> bool {
    STATE.load(Ordering::Relaxed) != 0
}

/// Whether races are looked for, and nothing is recorded.
#[inline(always)]
pub(crate) fn only() -> bool {
    ON.load(Ordering::Relaxed) != 0
}

/// Whether races are looked for beside a recording.
#[inline(always)]
pub(crate) fn beside_recording() -> bool {
    BESIDE.load(Ordering::Relaxed)
}

/// What `STATE` has become.
fn set(state: u8) {
    if !beside_recording() {
        ON.store(state, Ordering::SeqCst);
        if has_given_up() {
            ON.store(GIVEN_UP, Ordering::SeqCst);
        }
    }
}

/// A thread may come at any time that nobody is seen creating, as for a timer: accesses are looked at from now on, also while one thread runs alone.
pub(crate) fn expect_others() {
    EXPECTED.store(true, Ordering::SeqCst);
    change(ALONE, LOOKING);
}

/// Goes from one state to another, unless it was given up meanwhile.
pub(super) fn change(from: u8, to: u8) {
    if to == ALONE && EXPECTED.load(Ordering::SeqCst) {
        return;
    }
    if STATE.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
        set(to);
    }
}

/// Nothing is looked at any more; `false` if that is so already.
pub(super) fn give_up() -> bool {
    let before = STATE.swap(GIVEN_UP, Ordering::SeqCst);
    set(GIVEN_UP);
    before != GIVEN_UP
}

/// Nothing is looked at any more, in a process that is not to be watched.
pub(crate) fn stop() {
    give_up();
}

#[inline(always)]
pub(super) fn has_given_up() -> bool {
    STATE.load(Ordering::SeqCst) == GIVEN_UP
}

/// Whether races are looked for, nothing is recorded, and there is memory.
#[inline(always)]
pub(super) fn is_active() -> bool {
    ON.load(Ordering::Relaxed).wrapping_sub(LOOKING) < GIVEN_UP - LOOKING
}

/// Whether accesses may race, and nothing is recorded.
#[inline(always)]
pub(crate) fn looks_alone() -> bool {
    ON.load(Ordering::Relaxed) == LOOKING
}

/// Whether accesses may race.
#[inline(always)]
pub(crate) fn looking() -> bool {
    STATE.load(Ordering::Relaxed) == LOOKING
}
