//! What programs announce: order, locks, things to ignore, fibers, reports.
//!
//! Both the names of the thread sanitizer's public interface and the older dynamic annotations.

use core::ffi::{c_char, c_int, c_void};

use deadheat_core::event::{BlockKind, Fault, LockMode, Op, SyncKind};

use super::announced;
use crate::cold::threads;
use crate::hot::thread::{self, Thread};
use crate::hot::{access, log};
use crate::intercept::handling;
use crate::online;
use crate::sys;

shim!(__tsan_acquire, "rsi", on_acquire);
shim!(__tsan_release, "rsi", on_release);
shim!(AnnotateHappensBefore, "rcx", on_happens_before);
shim!(AnnotateHappensAfter, "rcx", on_happens_after);
shim!(WTFAnnotateHappensBefore, "rcx", on_happens_before);
shim!(WTFAnnotateHappensAfter, "rcx", on_happens_after);
shim!(AnnotateRWLockCreate, "rcx", on_lock_create);
shim!(AnnotateRWLockCreateStatic, "rcx", on_lock_create_static);
shim!(AnnotateRWLockDestroy, "rcx", on_lock_destroy);
shim!(AnnotateRWLockAcquired, "r8", on_lock_acquired);
shim!(AnnotateRWLockReleased, "r8", on_lock_released);
shim!(__tsan_mutex_create, "rdx", on_mutex_create);
shim!(__tsan_mutex_destroy, "rdx", on_mutex_destroy);
shim!(__tsan_check_no_mutexes_held, "rdi", on_check_no_locks);
shim!(__tsan_mutex_pre_lock, "rdx", on_mutex_pre_lock);
shim!(__tsan_mutex_post_lock, "rcx", on_mutex_post_lock);
shim!(__tsan_mutex_pre_unlock, "rdx", on_mutex_pre_unlock);
shim!(__tsan_mutex_post_unlock, "rdx", on_mutex_post_unlock);
shim!(__tsan_mutex_pre_signal, "rdx", on_mutex_begin_inside);
shim!(__tsan_mutex_post_signal, "rdx", on_mutex_begin_outside);
shim!(__tsan_mutex_pre_divert, "rdx", on_mutex_begin_outside);
shim!(__tsan_mutex_post_divert, "rdx", on_mutex_begin_inside);
shim!(AnnotateIgnoreReadsBegin, "rdx", on_ignore_reads_begin);
shim!(AnnotateIgnoreReadsEnd, "rdx", on_ignore_reads_end);
shim!(AnnotateIgnoreWritesBegin, "rdx", on_ignore_writes_begin);
shim!(AnnotateIgnoreWritesEnd, "rdx", on_ignore_writes_end);
shim!(AnnotateIgnoreSyncBegin, "rdx", on_ignore_sync_begin);
shim!(AnnotateIgnoreSyncEnd, "rdx", on_ignore_sync_end);
shim!(__tsan_ignore_thread_begin, "rdx", on_ignore_thread_begin);
shim!(__tsan_ignore_thread_end, "rdx", on_ignore_thread_end);
shim!(__tsan_create_fiber, "rsi", on_create_fiber);
shim!(__tsan_destroy_fiber, "rsi", on_destroy_fiber);
shim!(__tsan_switch_to_fiber, "rdx", on_switch_to_fiber);
shim!(__tsan_get_current_fiber, "rdi", on_current_fiber);
shim!(__tsan_set_fiber_name, "rdx", on_fiber_name);
shim!(AnnotateThreadName, "rcx", on_thread_name);
shim!(AnnotateNewMemory, "r8", on_new_memory);
shim!(AnnotateBenignRace, "r8", on_benign);
shim!(AnnotateBenignRaceSized, "r9", on_benign_sized);
shim!(WTFAnnotateBenignRaceSized, "r9", on_benign_sized);

/// Interface entries that change nothing in a recording, each spelled out.
macro_rules! without_effect {
    ($($name:ident)*) => {$(
        #[cfg(deadheat_object)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> usize {
            0
        }
    )*};
}

without_effect! {
    AnnotateFlushState AnnotateNoOp AnnotateCondVarWait AnnotateCondVarSignal AnnotateCondVarSignalAll
    AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQPut
    AnnotatePCQGet AnnotateExpectRace AnnotateFlushExpectedRaces
    AnnotateEnableRaceDetection AnnotateTraceMemory
    AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange AnnotateMemoryIsInitialized
    AnnotateMemoryIsUninitialized RunningOnValgrind
    __tsan_external_register_tag __tsan_external_register_header __tsan_external_assign_tag
    __tsan_external_read __tsan_external_write __tsan_flush_memory __tsan_get_report_tag
    __tsan_get_report_stack __tsan_get_report_loc_object_type __tsan_get_report_unique_tid
    __tsan_get_alloc_stack __tsan_locate_address
    __sanitizer_sandbox_on_notify __sanitizer_install_malloc_and_free_hooks __sanitizer_get_unmapped_bytes
    __sanitizer_dump_coverage __sanitizer_print_memory_profile
}

macro_rules! announce {
    ($name:ident, ($($argument:ident: $type:ty),*), $pc:ident, $op:expr) => {
        unsafe extern "C" fn $name($($argument: $type,)* $pc: usize) {
            log::event($pc, &$op);
        }
    };
}

const ANNOTATION: SyncKind = SyncKind::Annotation;

announce!(on_acquire, (object: usize), pc, Op::Wait { object: object as u64, kind: ANNOTATION, woken: true });
announce!(on_release, (object: usize), pc, Op::Signal { object: object as u64, kind: ANNOTATION });
announce!(on_happens_before, (_file: usize, _line: c_int, object: usize), pc,
    Op::Signal { object: object as u64, kind: ANNOTATION });
announce!(on_happens_after, (_file: usize, _line: c_int, object: usize), pc,
    Op::Wait { object: object as u64, kind: ANNOTATION, woken: true });

unsafe extern "C" fn on_lock_create(_file: usize, _line: c_int, lock: usize, pc: usize) {
    announced::made(pc, lock as u64, 0);
}

unsafe extern "C" fn on_lock_create_static(_file: usize, _line: c_int, lock: usize, pc: usize) {
    announced::made(pc, lock as u64, announced::flag::LINKER_INIT);
}

unsafe extern "C" fn on_lock_destroy(_file: usize, _line: c_int, lock: usize, pc: usize) {
    announced::destroyed(pc, lock as u64, 0);
}

unsafe extern "C" fn on_lock_acquired(_file: usize, _line: c_int, lock: usize, write: usize, pc: usize) {
    let (lock, mode) = (lock as u64, mode(write != 0));
    announced::taken(pc, lock, mode);
    log::event(pc, &Op::Acquire { lock, mode });
}

unsafe extern "C" fn on_lock_released(_file: usize, _line: c_int, lock: usize, write: usize, pc: usize) {
    let (lock, mode) = (lock as u64, mode(write != 0));
    announced::given(pc, lock, mode);
    log::event(pc, &Op::Release { lock, mode });
}

unsafe extern "C" fn on_mutex_create(lock: usize, flags: u32, pc: usize) {
    announced::made(pc, lock as u64, flags);
}

unsafe extern "C" fn on_mutex_destroy(lock: usize, flags: u32, pc: usize) {
    announced::destroyed(pc, lock as u64, flags);
}

/// The program says that no lock may be held here.
unsafe extern "C" fn on_check_no_locks(pc: usize) {
    if thread::holds_lock() {
        let object = online::newest_lock();
        log::event(pc, &Op::Fault { object, fault: Fault::HeldHere });
    }
}

/// Races on the word at `address` are benign, as the older annotation has it.
unsafe extern "C" fn on_benign(_file: usize, _line: c_int, address: usize, _why: usize, pc: usize) {
    benign(address, size_of::<usize>(), pc);
}

unsafe extern "C" fn on_benign_sized(
    _file: usize,
    _line: c_int,
    address: usize,
    size: usize,
    _why: usize,
    pc: usize,
) {
    benign(address, size, pc);
}

fn benign(address: usize, size: usize, pc: usize) {
    let kind = BlockKind::Benign;
    log::event(pc, &Op::Alloc { address: address as u64, size: size as u64, kind });
}

const fn mode(write: bool) -> LockMode {
    if write { LockMode::Write } else { LockMode::Read }
}

/// Flags of the `__tsan_mutex_…` interface.
const READ_LOCK: u32 = 1 << 3;
const TRY_LOCK: u32 = 1 << 4;
const TRY_LOCK_FAILED: u32 = 1 << 5;
/// It is taken as often as it is said.
const LOCK_DEEPLY: u32 = 1 << 6;
/// It is given back as often as it is held, which is answered.
const UNLOCK_WHOLLY: u32 = 1 << 7;

/// The calling thread ignores reads, writes and synchronisation by so many requests more, or fewer.
fn ignore(change: (i32, i32, i32)) {
    if let Some(thread) = thread::current() {
        // SAFETY: the calling thread's own state.
        unsafe { online::ignore(thread, change) };
    }
}

/// What happens inside the program's own lock functions is the lock's business.
const INSIDE: (i32, i32, i32) = (1, 1, 1);
const OUTSIDE: (i32, i32, i32) = (-1, -1, -1);

unsafe extern "C" fn on_mutex_pre_lock(lock: usize, flags: u32, pc: usize) {
    if flags & TRY_LOCK == 0 {
        log::event(pc, &Op::Request { lock: lock as u64, mode: mode(flags & READ_LOCK == 0) });
    }
    ignore(INSIDE);
}

unsafe extern "C" fn on_mutex_post_lock(lock: usize, flags: u32, depth: c_int, pc: usize) {
    ignore(OUTSIDE);
    if flags & TRY_LOCK_FAILED != 0 {
        return;
    }
    let (lock, mode) = (lock as u64, mode(flags & READ_LOCK == 0));
    for _ in 0..if flags & LOCK_DEEPLY == 0 { 1 } else { depth } {
        announced::taken(pc, lock, mode);
        log::event(pc, &Op::Acquire { lock, mode });
    }
}

unsafe extern "C" fn on_mutex_pre_unlock(lock: usize, flags: u32, pc: usize) -> c_int {
    let (lock, mode) = (lock as u64, mode(flags & READ_LOCK == 0));
    let times = if flags & UNLOCK_WHOLLY == 0 { 1 } else { announced::depth(lock) };
    for _ in 0..times {
        announced::given(pc, lock, mode);
        log::event(pc, &Op::Release { lock, mode });
    }
    ignore(INSIDE);
    times
}

unsafe extern "C" fn on_mutex_post_unlock(_lock: usize, _flags: u32, _pc: usize) {
    ignore(OUTSIDE);
}

unsafe extern "C" fn on_mutex_begin_inside(_lock: usize, _flags: u32, _pc: usize) {
    ignore(INSIDE);
}

unsafe extern "C" fn on_mutex_begin_outside(_lock: usize, _flags: u32, _pc: usize) {
    ignore(OUTSIDE);
}

macro_rules! ignore_hook {
    ($name:ident, $change:expr) => {
        unsafe extern "C" fn $name(_file: usize, _line: c_int, _pc: usize) {
            ignore($change);
        }
    };
}

ignore_hook!(on_ignore_reads_begin, (1, 0, 0));
ignore_hook!(on_ignore_reads_end, (-1, 0, 0));
ignore_hook!(on_ignore_writes_begin, (0, 1, 0));
ignore_hook!(on_ignore_writes_end, (0, -1, 0));
ignore_hook!(on_ignore_sync_begin, (0, 0, 1));
ignore_hook!(on_ignore_sync_end, (0, 0, -1));
ignore_hook!(on_ignore_thread_begin, (1, 1, 0));
ignore_hook!(on_ignore_thread_end, (-1, -1, 0));

unsafe extern "C" fn on_new_memory(_file: usize, _line: c_int, address: usize, size: usize, pc: usize) {
    let kind = BlockKind::Heap;
    log::event(pc, &Op::Alloc { address: address as u64, size: size as u64, kind });
}

unsafe extern "C" fn on_thread_name(_file: usize, _line: c_int, name: *const c_char, _pc: usize) {
    // SAFETY: the program's text.
    unsafe { name_current(name) };
}

unsafe extern "C" fn on_fiber_name(fiber: *mut c_void, text: *const c_char, _pc: usize) {
    let fiber = fiber.cast::<Thread>();
    let is_current = sys::machine::thread_word() == fiber as usize;
    // SAFETY: the program's text; the program got the fiber from `__tsan_create_fiber`. What may run elsewhere is not touched.
    unsafe {
        if is_current {
            name_current(text);
        } else if !fiber.is_null() && thread::known().is_some() && (*fiber).is_fresh_fiber {
            name(fiber, text);
        }
    }
}

/// Names the calling thread.
///
/// # Safety
/// `text` ends with a NUL.
pub(crate) unsafe fn name_current(text: *const c_char) {
    if let Some(thread) = thread::current() {
        // SAFETY: the caller's promise; `current` gives the calling thread's own state.
        unsafe { name(thread, text) };
    }
}

/// Names a thread.
///
/// # Safety
/// `text` ends with a NUL. The thread is the calling one, or one that nobody has run yet.
unsafe fn name(thread: *mut Thread, text: *const c_char) {
    const MAX: usize = 31;
    // SAFETY: the caller's promise.
    let bytes = unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes();
    log::name(thread, &bytes[..bytes.len().min(MAX)]);
}

unsafe extern "C" fn on_create_fiber(_flags: u32, pc: usize) -> *mut c_void {
    threads::create_fiber(pc).cast()
}

/// Under which name the order of switches to a fiber is announced: it is none of memory, where an atomic would show it, also behind the fiber's end.
fn order_of(fiber: *mut c_void) -> u64 {
    0xf9 << 56 | fiber as u64
}

unsafe extern "C" fn on_destroy_fiber(fiber: *mut c_void, pc: usize) {
    log::event(pc, &Op::Forget { object: order_of(fiber) });
    // SAFETY: the program got it from `__tsan_create_fiber`.
    unsafe { threads::destroy_fiber(fiber.cast::<Thread>()) };
}

/// Flag of `__tsan_switch_to_fiber`: the switch orders nothing.
const SWITCH_WITHOUT_ORDER: u32 = 1;

unsafe extern "C" fn on_switch_to_fiber(fiber: *mut c_void, flags: u32, pc: usize) {
    if fiber.is_null() {
        return;
    }
    let ordered = flags & SWITCH_WITHOUT_ORDER == 0;
    let object = order_of(fiber);
    if ordered {
        log::event(pc, &Op::Signal { object, kind: ANNOTATION });
    }
    // SAFETY: the program got it from this interface, and nobody runs it.
    unsafe {
        (*fiber.cast::<Thread>()).is_fresh_fiber = false;
        online::switch_to(fiber.cast());
    }
    if ordered {
        log::event(pc, &Op::Wait { object, kind: ANNOTATION, woken: true });
    }
}

unsafe extern "C" fn on_current_fiber(_pc: usize) -> *mut c_void {
    thread::current().map_or(core::ptr::null_mut(), |thread| thread.cast())
}

/// The functions that `longjmp` leaves: all whose entry saw a stack below where it lands.
///
/// # Safety
/// On the thread that jumps.
pub(crate) unsafe fn leave_below(stack: u64) {
    let Some(thread) = thread::current() else { return };
    // SAFETY: the calling thread's own state; frames below `top` are filled.
    unsafe {
        crate::gate::jumps(thread);
        let (low, high) = (*thread).stack;
        let own = |address: u64| (low..high).contains(&address);
        // A handler's frames may be on a stack of their own, above or below.
        let left = |frame: u64| if own(frame) == own(stack) { frame < stack } else { own(stack) };
        handling::leave(thread, left);
        let state = &mut *thread;
        let mut top = state.top;
        while top > state.frames && left((*top.sub(1)).stack) {
            top = top.sub(1);
        }
        if top < state.top {
            state.too_deep = 0;
            access::leave_to(state, top);
        }
    }
}
