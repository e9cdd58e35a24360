//! A sampler beside provocation, as KCSAN is one: each thread holds about every n-th of its plain
//! accesses for a moment, and what conflicts with it meanwhile is a race by the watch rule.
//!
//! Departures from KCSAN: a thread counts for itself, not a processor; who is held sleeps and does
//! not spin; a value that changed without a known access is not told. As there, the number of
//! accesses to skip and the delay are drawn anew each time, from 1 to the number that was given.

use core::sync::atomic::Ordering;

use deadheat_core::gate::head;

use super::file::head_word;
use super::{Coming, hold};
use crate::hot::thread::Thread;

/// A thread's place in its sequence of draws.
#[repr(C)]
pub(crate) struct Draws {
    /// Accesses to skip before the next that is held.
    skip: u64,
    /// 0 before the first draw.
    state: u64,
}

fn number(index: usize) -> u64 {
    head_word(index).load(Ordering::Relaxed)
}

/// Whether samples are taken.
pub(super) fn wanted() -> bool {
    number(head::SAMPLE) != 0
}

/// The thread is about to make an access; holds it if it is its turn.
///
/// # Safety
/// `thread` is the calling thread's.
pub(super) unsafe fn turn(thread: *mut Thread, coming: &Coming) {
    if coming.access.atomic.is_some() {
        return;
    }
    let every = number(head::SAMPLE);
    // SAFETY: the caller's promise.
    let seat = unsafe { &mut (*thread).seat };
    if seat.draws.state == 0 {
        let path = &seat.path[..(seat.path_len as usize).min(seat.path.len())];
        seat.draws.state = path.iter().fold(mix(number(head::SAMPLE_SEED)), |seed, &n| mix(seed ^ n)) | 1;
        seat.draws.skip = seat.draws.draw(every) - 1;
    }
    if seat.draws.skip > 0 {
        seat.draws.skip -= 1;
        return;
    }
    seat.draws.skip = seat.draws.draw(every);
    let delay = seat.draws.draw(number(head::SAMPLE_DELAY));
    hold::sample(thread, coming, delay);
}

impl Draws {
    /// A number from 1 to `most`.
    fn draw(&mut self, most: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        1 + mix(self.state) % most.max(1)
    }
}

/// SplitMix64's output function.
fn mix(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}
