//! The mapped gate file: its words, and the code addresses of its descriptors in this process.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_core::gate::{
    MAGIC, MAX_DESCRIPTORS, MAX_STEPS, access, descriptor, find, flag, head, loaded, module, note, of_code,
    range, target, thread, verdict,
};

use super::{LOCK, filter};
use crate::hot::thread::{Frame, Thread};
use crate::sys;

/// Address of the first word; 0 without a file.
static WORDS: AtomicU64 = AtomicU64::new(0);
/// How many words there are.
static COUNT: AtomicU64 = AtomicU64::new(0);
/// For each descriptor the hook's return address, 0 while its module is not loaded.
static CODES: [AtomicU64; MAX_DESCRIPTORS] = [const { AtomicU64::new(0) }; MAX_DESCRIPTORS];
/// First byte and end of each code range of the watched order, 0 while its module is not loaded.
static RANGES: [(AtomicU64, AtomicU64); MAX_STEPS] =
    [const { (AtomicU64::new(0), AtomicU64::new(0)) }; MAX_STEPS];

/// Where a word outside of the file is written to.
static NOWHERE: AtomicU64 = AtomicU64::new(0);

/// A word of the file.
fn word(index: usize) -> &'static AtomicU64 {
    let base = WORDS.load(Ordering::Relaxed);
    if base == 0 || index as u64 >= COUNT.load(Ordering::Relaxed) {
        return &NOWHERE;
    }
    // SAFETY: the file stays mapped, holds that many words, and all access to them is atomic.
    unsafe { AtomicU64::from_ptr((base as *mut u64).add(index)) }
}

pub(super) fn head_word(index: usize) -> &'static AtomicU64 {
    word(index)
}

fn record(section: usize, number: usize, size: usize, index: usize) -> &'static AtomicU64 {
    word(word(section).load(Ordering::Relaxed) as usize + number * size + index)
}

pub(super) fn descriptor_word(number: usize, index: usize) -> &'static AtomicU64 {
    record(head::DESCRIPTORS_AT, number, descriptor::SIZE, index)
}

pub(super) fn target_word(number: usize, index: usize) -> &'static AtomicU64 {
    record(head::TARGETS_AT, number, target::SIZE, index)
}

pub(super) fn find_word(number: usize, index: usize) -> &'static AtomicU64 {
    record(head::FINDS_AT, number, find::SIZE, index)
}

pub(super) fn thread_word(number: usize, index: usize) -> &'static AtomicU64 {
    record(head::THREADS_AT, number, thread::SIZE, index)
}

pub(super) fn turn_word(number: usize) -> &'static AtomicU64 {
    record(head::TURNS_AT, number, 1, 0)
}

fn module_word(number: usize, index: usize) -> &'static AtomicU64 {
    record(head::MODULES_AT, number, module::SIZE, index)
}

fn range_word(number: usize, index: usize) -> &'static AtomicU64 {
    record(head::RANGES_AT, number, range::SIZE, index)
}

/// A number of the head.
pub(super) fn number(index: usize) -> usize {
    head_word(index).load(Ordering::Relaxed) as usize
}

/// The flags.
pub(super) fn flags() -> u64 {
    head_word(head::FLAGS).load(Ordering::Relaxed)
}

/// Whether code addresses alone are matched, at each of their visits.
pub(super) fn places_alone() -> bool {
    flags() & flag::PLACES != 0
}

/// Nanoseconds since the start of the run.
pub(super) fn now() -> u64 {
    sys::monotonic().wrapping_sub(head_word(head::STARTED).load(Ordering::Relaxed))
}

/// The hook's return address that a descriptor speaks of; 0 while its module is not loaded.
pub(super) fn code_of(number: usize) -> u64 {
    CODES[number].load(Ordering::Relaxed)
}

/// The watched order's step that a hook's return address belongs to.
pub(super) fn step_of(pc: u64) -> Option<usize> {
    let count = number(head::RANGES).min(MAX_STEPS);
    let within = |(from, to): &(AtomicU64, AtomicU64)| {
        (from.load(Ordering::Relaxed)..to.load(Ordering::Relaxed)).contains(&(pc.wrapping_sub(1)))
    };
    let at = RANGES[..count].iter().position(within)?;
    Some(range_word(at, range::STEP).load(Ordering::Relaxed) as usize)
}

/// Maps the file and takes it for this process; `false` if it is none, or is another's.
pub(super) fn map(path: &CStr) -> bool {
    let Ok((file, size)) = sys::open_existing(path) else { return false };
    let mapped = if size < head::SIZE * 8 { None } else { sys::map_file(file, 0, size, false).ok() };
    sys::close(file);
    let Some(start) = mapped else { return false };
    WORDS.store(start as u64, Ordering::Relaxed);
    COUNT.store((size / 8) as u64, Ordering::Relaxed);
    let taken = 1 | u64::from(sys::process_id()) << 32;
    let first = word(head::TAKEN).compare_exchange(0, taken, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let good = word(head::MAGIC).load(Ordering::Relaxed) == MAGIC
        && number(head::DESCRIPTORS) <= MAX_DESCRIPTORS
        && number(head::TARGETS) * 2 == number(head::DESCRIPTORS)
        && number(head::RANGES) <= MAX_STEPS;
    if !first || !good {
        forget();
        return false;
    }
    word(head::STARTED).store(sys::monotonic(), Ordering::Relaxed);
    word(head::OPEN).store(number(head::TARGETS) as u64, Ordering::Relaxed);
    true
}

/// Whether calls have to be followed: some descriptor asks for call sites, it is asked for, or the
/// run is recorded.
pub(super) fn wants_frames() -> bool {
    let asks = |d| descriptor_word(d, descriptor::CALLS_LEN).load(Ordering::Relaxed) != 0;
    flags() & flag::CALLS != 0
        || crate::gate::FRAMES.load(Ordering::Relaxed) != 0
        || (0..number(head::DESCRIPTORS)).any(asks)
}

/// The file is used no more. (It stays mapped: a thread may be about to read a word.)
pub(super) fn forget() {
    WORDS.store(0, Ordering::Relaxed);
}

/// A module was loaded: arms the descriptors that speak of it.
pub(crate) fn module_loaded(bias: u64, (start, end): (u64, u64), build_id: &[u8], path: &[u8]) {
    for m in 0..number(head::MODULES) {
        let state = match fits(m, build_id, path) {
            Some(true) => loaded::YES,
            Some(false) => loaded::OTHER,
            None => continue,
        };
        if module_word(m, module::STATE).load(Ordering::Relaxed) == loaded::YES {
            continue;
        }
        module_word(m, module::BIAS).store(bias, Ordering::Relaxed);
        module_word(m, module::START).store(start, Ordering::Relaxed);
        module_word(m, module::END).store(end, Ordering::Relaxed);
        module_word(m, module::STATE).store(state, Ordering::Relaxed);
        if state == loaded::YES {
            resolve(m as u64, bias);
        }
    }
}

/// Whether a loaded module is the `m`-th of the file: by build id where it has one, else by the
/// last part of its path. `Some(false)`: it has the name but another build id.
fn fits(m: usize, build_id: &[u8], path: &[u8]) -> Option<bool> {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let name = &name[name.len().saturating_sub(module::MAX_NAME)..];
    let same = |len: usize, at: usize, bytes: &[u8]| {
        let wanted = module_word(m, len).load(Ordering::Relaxed) as usize;
        let byte = |i: usize| (module_word(m, at + i / 8).load(Ordering::Relaxed) >> (8 * (i % 8))) as u8;
        wanted == bytes.len() && bytes.iter().enumerate().all(|(i, &given)| byte(i) == given)
    };
    let id = &build_id[..build_id.len().min(module::MAX_ID)];
    if module_word(m, module::ID_LEN).load(Ordering::Relaxed) == 0 {
        return same(module::NAME_LEN, module::NAME, name).then_some(true);
    }
    if same(module::ID_LEN, module::ID, id) {
        return Some(true);
    }
    same(module::NAME_LEN, module::NAME, name).then_some(false)
}

/// Finds the code addresses in a module that was loaded.
fn resolve(m: u64, bias: u64) {
    for (d, resolved) in CODES.iter().enumerate().take(number(head::DESCRIPTORS)) {
        let (module, offset) = of_code(descriptor_word(d, descriptor::CODE).load(Ordering::Relaxed));
        if module == m {
            let pc = bias.wrapping_add(offset).wrapping_add(1);
            resolved.store(pc, Ordering::Relaxed);
            filter::arm(pc);
        }
    }
    for (r, resolved) in RANGES.iter().enumerate().take(number(head::RANGES)) {
        let (module, from) = of_code(range_word(r, range::FROM).load(Ordering::Relaxed));
        let (_, to) = of_code(range_word(r, range::TO).load(Ordering::Relaxed));
        if module == m {
            resolved.0.store(bias.wrapping_add(from), Ordering::Relaxed);
            resolved.1.store(bias.wrapping_add(to), Ordering::Relaxed);
        }
    }
}

/// The code address of a call site word in this process: the return address.
pub(super) fn return_address(code: u64) -> u64 {
    let (m, offset) = of_code(code);
    module_word(m as usize, module::BIAS).load(Ordering::Relaxed).wrapping_add(offset).wrapping_add(1)
}

/// Adds a line to what happened.
pub(super) fn note(what: u64, (target, side): (usize, usize), thread: *mut Thread, pc: u64) {
    let at = head_word(head::NOTED).fetch_add(1, Ordering::Relaxed) as usize;
    if at >= number(head::NOTES) {
        return;
    }
    let put = |index, value| record(head::NOTES_AT, at, note::SIZE, index).store(value, Ordering::Relaxed);
    put(note::TIME, now());
    // SAFETY: a live thread's number does not change.
    put(note::KERNEL_ID, u64::from(unsafe { (*thread).seat.kernel_id }));
    put(note::PC, pc);
    put(note::WHAT, what | (target as u64) << 8 | (side as u64) << 24);
}

/// Decides a target, under the lock. Ends the program if that was the last one and it is asked for.
pub(super) fn decide(t: usize, what: u64) {
    target_word(t, target::DECIDED).store(now(), Ordering::Relaxed);
    target_word(t, target::VERDICT).store(what, Ordering::Release);
    let left = head_word(head::OPEN).fetch_sub(1, Ordering::Relaxed);
    debug_assert!(left > 0 && what != verdict::OPEN, "a target is decided once");
}

/// Decides a target that did not meet at this visit. Where places alone count, the next visit is as
/// good as this one, and the target stays open.
pub(super) fn decide_unless_places(t: usize, what: u64) {
    if !places_alone() {
        decide(t, what);
    }
}

/// Ends the program if all is decided and nothing else is wanted of it.
pub(super) fn cut_if_done() {
    if flags() & flag::CUT != 0
        && number(head::TARGETS) > 0
        && head_word(head::OPEN).load(Ordering::Relaxed) == 0
    {
        LOCK.acquire();
        head_word(head::CUT).store(1, Ordering::Release);
        crate::cold::exit::mark_clean();
        sys::exit(0);
    }
}

/// Writes an access that was found: `put` stores a word of its record.
///
/// # Safety
/// `thread` is alive and stands in a hook.
pub(super) unsafe fn write_access(
    put: impl Fn(usize, u64),
    thread: *mut Thread,
    coming: &super::Coming,
    time: u64,
    would_fail: bool,
) {
    let super::Coming { access: made, pc, .. } = *coming;
    put(access::PC, pc);
    put(access::ADDRESS, made.address);
    put(access::LENGTH, made.size);
    let atomic = made.atomic.map_or(0, |order| access::ATOMIC | (order as u64) << 8);
    let failing = if would_fail { access::WOULD_FAIL } else { 0 };
    put(access::HOW, made.mode as u64 | atomic | (made.via as u64) << 16 | failing);
    put(access::TIME, time);
    // SAFETY: the thread waits in a hook or is the calling one: its state stands still.
    unsafe {
        let seat = &(*thread).seat;
        put(access::KERNEL_ID, u64::from(seat.kernel_id));
        put(access::PATH_LEN, u64::from(seat.path_len));
        seat.path.iter().enumerate().for_each(|(i, &number)| put(access::PATH + i, number));
        put(access::LOCKS_LEN, seat.locks().len() as u64);
        seat.locks().enumerate().for_each(|(i, lock)| put(access::LOCKS + i, lock));
        let mut frame: *mut Frame = (*thread).top;
        let mut count = 0;
        while frame > (*thread).frames && count < access::MAX_CALLS {
            frame = frame.sub(1);
            put(access::CALLS + count, (*frame).call);
            count += 1;
        }
        put(access::CALLS_LEN, count as u64);
    }
}
