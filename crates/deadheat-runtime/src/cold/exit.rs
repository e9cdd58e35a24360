//! The process ends in an orderly way.

use core::sync::atomic::Ordering;

use deadheat_core::wire::{flag, header};

use super::{block, start};
use crate::sys;

/// Runs after the program's own destructors.
#[cfg(deadheat_object)]
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: unsafe extern "C" fn() = finish;

unsafe extern "C" fn finish() {
    mark_clean();
}

/// Notes in the trace that the process ends because it wants to. Threads that go on, and a failed
/// `exec`, may still add events.
pub(crate) fn mark_clean() {
    let page = block::header_page();
    if !start::recording() || page.is_null() {
        return;
    }
    // A child of `vfork` still runs in its parent's memory.
    // SAFETY: the first page stays mapped; the field is aligned.
    if unsafe { page.add(header::PID).cast::<u32>().read() } != sys::process_id() {
        return;
    }
    if !block::stopped() {
        block::flags(page).fetch_or(flag::CLEAN, Ordering::Relaxed);
    }
    // SAFETY: the first page stays mapped; the field is aligned.
    unsafe { page.add(header::ENDED).cast::<u64>().write_volatile(sys::now()) };
}
