//! What a program may ask of the race that its `__tsan_on_report` is called with, as debuggers do.
//!
//! Each answers 1, or 0 where there is nothing to answer. As in ThreadSanitizer the first access is the later one.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;

use deadheat_core::access::Via;
use deadheat_core::event::BlockKind;

use crate::cold::threads;
use crate::online::record::{self, Record, Side, Stack};

/// Fills in an answer, if it is wanted.
///
/// # Safety
/// `to` is null or a variable that can be written.
unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the program's variable.
        unsafe { to.write(value) };
    }
}

/// Fills in the places of a stack, as far as there is room.
///
/// # Safety
/// `to` is null or has `room` places that can be written.
unsafe fn put_stack(to: *mut *const c_void, room: usize, stack: Stack) {
    if !to.is_null() {
        for (at, place) in stack.places().take(room).enumerate() {
            // SAFETY: the program's array.
            unsafe { to.add(at).write(place as *const c_void) };
        }
    }
}

/// The sides as the interface counts them: the later one first.
fn sides(report: *const c_void) -> Option<(Record, [Side; 2])> {
    let record = record::of(report)?;
    let [earlier, later] = record.sides()?;
    Some((record, [later, earlier]))
}

/// The locks that either side holds, each once.
fn locks(record: &Record, sides: &[Side; 2]) -> impl Iterator<Item = u64> {
    let first = || record.locks(&sides[0]);
    first().chain(record.locks(&sides[1]).filter(move |lock| first().all(|other| other != *lock)))
}

/// What kind of race it is, in ThreadSanitizer's words.
fn description([later, earlier]: &[Side; 2]) -> *const c_char {
    let name = match (later.access.via, earlier.access.via) {
        (Via::Vptr, Via::Free) => c"heap-use-after-free-vptr",
        (_, Via::Free) => c"heap-use-after-free",
        (Via::Vptr, _) => c"data-race-vptr",
        (_, _) => c"data-race",
    };
    name.as_ptr()
}

/// The race that is shown to the calling thread at present.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_get_current_report() -> *const c_void {
    record::shown()
}

/// What it is, and how many of each kind of thing it has. It is shown once, so its count is 0.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_get_report_data(
    report: *const c_void,
    what: *mut *const c_char,
    count: *mut c_int,
    stacks: *mut c_int,
    accesses: *mut c_int,
    locations: *mut c_int,
    mutexes: *mut c_int,
    threads: *mut c_int,
    unique_threads: *mut c_int,
    _sleep: *mut *const c_void,
    _room: usize,
) -> c_int {
    let Some((record, sides)) = sides(report) else { return 0 };
    // SAFETY: the program's variables.
    unsafe {
        put(what, description(&sides));
        put(count, 0);
        put(stacks, 0);
        put(accesses, 2);
        put(locations, c_int::from(record.block().is_some()));
        put(mutexes, locks(&record, &sides).count() as c_int);
        put(threads, if sides[0].thread == sides[1].thread { 1 } else { 2 });
        put(unique_threads, 0);
    }
    1
}

/// One of the two accesses.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_get_report_mop(
    report: *const c_void,
    index: usize,
    thread: *mut c_int,
    address: *mut *const c_void,
    size: *mut c_int,
    writes: *mut c_int,
    atomic: *mut c_int,
    stack: *mut *const c_void,
    room: usize,
) -> c_int {
    let sides = sides(report);
    let Some(side) = sides.as_ref().and_then(|(_, sides)| sides.get(index)) else { return 0 };
    // SAFETY: the program's variables.
    unsafe {
        put(thread, side.thread as c_int);
        put(address, side.access.address as *const c_void);
        put(size, c_int::try_from(side.access.size).unwrap_or(c_int::MAX));
        put(writes, c_int::from(side.access.mode.writes()));
        put(atomic, c_int::from(side.access.atomic.is_some()));
        put_stack(stack, room, side.stack);
    }
    1
}

/// The block that holds the address. Variables are not known in the program.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_get_report_loc(
    report: *const c_void,
    index: usize,
    kind: *mut *const c_char,
    address: *mut *const c_void,
    start: *mut usize,
    size: *mut usize,
    thread: *mut c_int,
    descriptor: *mut c_int,
    suppressable: *mut c_int,
    stack: *mut *const c_void,
    room: usize,
) -> c_int {
    let Some((record, block)) = record::of(report).and_then(|record| Some((record, record.block()?))) else {
        return 0;
    };
    if index != 0 {
        return 0;
    }
    let name = match block.kind {
        BlockKind::Heap | BlockKind::Mapping | BlockKind::Benign => c"heap",
        BlockKind::Stack => c"stack",
        BlockKind::ThreadLocal => c"tls",
        BlockKind::Descriptor => c"fd",
    };
    let number = match block.kind {
        BlockKind::Descriptor => deadheat_core::wire::descriptor::number(block.address),
        _ => 0,
    };
    // SAFETY: the program's variables.
    unsafe {
        put(kind, name.as_ptr());
        put(address, record.address as *const c_void);
        put(start, block.address as usize);
        put(size, block.size as usize);
        put(thread, block.thread as c_int);
        put(descriptor, number as c_int);
        put(suppressable, 0);
        put_stack(stack, room, block.stack);
    }
    1
}

/// A lock that either side holds. Where it was made is not known.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_get_report_mutex(
    report: *const c_void,
    index: usize,
    number: *mut u64,
    address: *mut *const c_void,
    destroyed: *mut c_int,
    _stack: *mut *const c_void,
    _room: usize,
) -> c_int {
    let sides = sides(report);
    let lock = sides.as_ref().and_then(|(record, sides)| locks(record, sides).nth(index));
    let Some(lock) = lock else { return 0 };
    // SAFETY: the program's variables.
    unsafe {
        put(number, index as u64);
        put(address, lock as *const c_void);
        put(destroyed, 0);
    }
    1
}

/// The thread of an access. Of the one that does not run this, its number alone is known: the kernel's is 0, and its creator -1.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_get_report_thread(
    report: *const c_void,
    index: usize,
    thread: *mut c_int,
    kernel_id: *mut u64,
    running: *mut c_int,
    name: *mut *const c_char,
    creator: *mut c_int,
    _stack: *mut *const c_void,
    _room: usize,
) -> c_int {
    let sides = sides(report);
    let Some(side) = sides.as_ref().and_then(|(_, sides)| sides.get(index)) else { return 0 };
    let own = index == 0;
    // SAFETY: the program's variables.
    unsafe {
        put(thread, side.thread as c_int);
        put(kernel_id, if own { u64::from(threads::kernel_id()) } else { 0 });
        put(running, c_int::from(own));
        put(name, null());
        put(creator, -1);
    }
    1
}
