//! libgomp: tasks.
//!
//! libgomp copies a task's data, or has the program copy it, before the task may run. So it is given our function, and as
//! data a [`Given`] that says what the program gave; our copy of that takes the program's data behind it.

use core::ffi::{c_int, c_long, c_uint, c_void};

use deadheat_core::event::{BlockKind, Op};

use super::depend::{ALL_MEMORY, Kind, List};
use super::gomp::{Body, is_cancelled, run, telling};
use super::{DETACHED, FULFILLED, Task, library, program, release, running};
use crate::cold::start::recording;
use crate::hot::{log, thread};
use crate::sys::machine::caller_word;

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Flags of `GOMP_task` and `GOMP_taskloop`.
mod flag {
    use core::ffi::c_uint;

    pub(super) const DEPEND: c_uint = 1 << 3;
    pub(super) const NO_GROUP: c_uint = 1 << 11;
    pub(super) const DETACH: c_uint = 1 << 13;
}

/// The words at the start of the data that libgomp itself looks at or writes to: the bounds of a part of a `taskloop` and
/// its reductions, or the event of a task that can be detached.
const WORDS: usize = 3;

/// What libgomp takes for a task's data.
#[repr(C)]
struct Given {
    words: [usize; WORDS],
    body: Body,
    /// The program's function that copies its data; if none, the bytes are copied.
    copy: Option<Copy>,
    /// The program's data: at first its own, in a task's copy the copy behind it.
    data: *mut u8,
    size: usize,
    /// From the start of a copy to the copy of the program's data.
    offset: usize,
    /// How many of `words` libgomp writes.
    written: usize,
    /// The array of dependences, or null.
    depend: *const *const usize,
    task: *mut Task,
    pc: usize,
}

impl Given {
    /// What stands for the program's data, and its copies' size and alignment.
    ///
    /// # Safety
    /// `data` is null or has `size` bytes.
    unsafe fn new(
        pc: usize,
        body: Body,
        data: *mut c_void,
        copy: Option<Copy>,
        (size, align): (c_long, c_long),
    ) -> (Given, c_long, c_long) {
        let align = (align.max(1) as usize).max(align_of::<Given>());
        let size = if data.is_null() { 0 } else { size as usize };
        let offset = size_of::<Given>().next_multiple_of(align);
        let mut words = [0; WORDS];
        for (at, word) in words.iter_mut().enumerate() {
            if (at + 1) * size_of::<usize>() <= size {
                // SAFETY: the program's data has `size` bytes.
                *word = unsafe { data.cast::<usize>().add(at).read_unaligned() };
            }
        }
        let (data, depend, task) = (data.cast(), core::ptr::null(), null_mut());
        let given = Given { words, body, copy, data, size, offset, written: 0, depend, task, pc };
        (given, (offset + size).next_multiple_of(align) as c_long, align as c_long)
    }
}

/// Makes a task's copy of what it is given, in the thread that creates it.
unsafe extern "C" fn copy(to: *mut c_void, from: *mut c_void) {
    let (to, from) = (to.cast::<Given>(), from.cast::<Given>());
    // SAFETY: libgomp's memory for the copy, of the size that it was told; the parent runs in this thread.
    unsafe {
        to.copy_from_nonoverlapping(from, 1);
        let state = &mut *to;
        state.data = to.cast::<u8>().add(state.offset);
        let parent = running().map_or(null_mut(), |task| &raw mut *task);
        let team = parent.as_ref().map_or(null_mut(), |parent| parent.team);
        let task = Task::new(parent, team);
        state.task = task;
        if !parent.is_null() {
            add_dependences(&mut (*task).depends, parent, state.depend);
        }
        if state.size != 0 {
            is_new(state.pc, state.data as usize, state.size);
            match state.copy {
                Some(copy) => program(|| copy(state.data.cast(), (*from).data.cast())),
                None => state.data.copy_from_nonoverlapping((*from).data, state.size),
            }
        }
        release(state.pc, &raw const (*task).start);
    }
}

/// What was done to the bytes of a task's data before does not count, unless they are on the thread's stack.
fn is_new(pc: usize, address: usize, size: usize) {
    let Some(thread) = thread::current() else { return };
    // SAFETY: the calling thread's own state.
    let (low, high) = unsafe { (*thread).stack };
    if !(low..high).contains(&(address as u64)) {
        log::event(pc, &Op::Alloc { address: address as u64, size: size as u64, kind: BlockKind::Heap });
    }
}

/// Runs a task with its copy.
unsafe extern "C" fn run_task(given: *mut c_void) {
    let given = given.cast::<Given>();
    // SAFETY: `copy` made it; libgomp runs it once.
    unsafe {
        let Given { words, body, copy, data, size, written, task, pc, .. } = *given;
        for (at, word) in words.iter().enumerate().take(written) {
            if (at + 1) * size_of::<usize>() <= size {
                data.cast::<usize>().add(at).write_unaligned(*word);
            }
        }
        let Some(thread) = thread::current() else { return body(data.cast()) };
        let outer = core::mem::replace(&mut (*thread).task, task);
        Task::resume(pc, task);
        // libgomp takes the copy for a constructor's, and runs also tasks that it would otherwise drop.
        if copy.is_some() || !(is_cancelled(PARALLEL) || is_cancelled(TASKGROUP)) {
            run(pc, body, data.cast());
        }
        (*thread).task = outer;
        Task::complete(pc, task);
    }
}

/// What can be cancelled.
const PARALLEL: c_int = 1;
const TASKGROUP: c_int = 8;

/// Adds the dependences that a clause's array tells.
///
/// # Safety
/// The calling thread runs `parent`; `array` is null or laid out as `GOMP_task` says.
unsafe fn add_dependences(list: &mut List, parent: *mut Task, array: *const *const usize) {
    if array.is_null() {
        return;
    }
    let number = |at: usize| {
        // SAFETY: the array begins with the numbers that are asked for here.
        unsafe { *array.add(at) as usize }
    };
    let (first, count, writes, sets, reads) = if number(0) != 0 {
        (2, number(0), number(1), 0, number(0) - number(1))
    } else {
        (5, number(1), number(2), number(3), number(4))
    };
    for at in 0..count {
        // SAFETY: so many elements follow; those behind the counted kinds point to an object of an address and a kind.
        unsafe {
            let element = *array.add(first + at);
            let (address, kind) = if at < writes {
                (element as usize, Kind::Out)
            } else if at < writes + sets {
                (element as usize, Kind::MutexInOutSet)
            } else if at < writes + sets + reads {
                (element as usize, Kind::In)
            } else {
                (*element, kind_of(*element.add(1)))
            };
            let kind = if address == ALL_MEMORY { Kind::Out } else { kind };
            list.add(parent, address, kind);
        }
    }
}

/// The kind that a dependence object is of, by libgomp's number.
fn kind_of(number: usize) -> Kind {
    const IN: usize = 1;
    const MUTEX_IN_OUT_SET: usize = 4;
    const IN_OUT_SET: usize = 5;
    match number {
        IN => Kind::In,
        MUTEX_IN_OUT_SET => Kind::MutexInOutSet,
        IN_OUT_SET => Kind::InOutSet,
        _ => Kind::Out,
    }
}

type RealTask = unsafe extern "C" fn(
    Body,
    *mut c_void,
    Option<Copy>,
    c_long,
    c_long,
    bool,
    c_uint,
    *const *const usize,
    c_int,
    *mut c_void,
);

shim_through_thread!(dh_wrap_GOMP_task, task);

/// `GOMP_task`
#[allow(clippy::too_many_arguments, reason = "as the real function")]
unsafe extern "C" fn task(
    body: Body,
    data: *mut c_void,
    copy_data: Option<Copy>,
    size: c_long,
    align: c_long,
    deferred: bool,
    flags: c_uint,
    depend: *const *const usize,
    priority: c_int,
    detach: *mut c_void,
) {
    let pc = caller_word();
    let real = real!("GOMP_task", RealTask);
    // SAFETY: the program's own arguments, or ours in their place.
    unsafe {
        if !telling() {
            return real(body, data, copy_data, size, align, deferred, flags, depend, priority, detach);
        }
        let (mut given, size, align) = Given::new(pc, body, data, copy_data, (size, align));
        if flags & flag::DEPEND != 0 {
            given.depend = depend;
        }
        if flags & flag::DETACH != 0 {
            given.written = 1;
            DETACHED.store(true, Ordering::Relaxed);
        }
        let given = (&raw mut given).cast();
        library(|| real(run_task, given, Some(copy), size, align, deferred, flags, depend, priority, detach));
    }
}

/// Exports an interceptor of a `taskloop`; with unsigned counters it has a name of its own.
macro_rules! taskloop {
    ($export:ident / $inner:ident, $name:literal) => {
        shim_through_thread!($export, $inner);

        #[allow(clippy::too_many_arguments, reason = "as the real function")]
        unsafe extern "C" fn $inner(
            body: Body,
            data: *mut c_void,
            copy_data: Option<Copy>,
            size: c_long,
            align: c_long,
            flags: c_uint,
            tasks: c_long,
            priority: c_int,
            start: c_long,
            end: c_long,
            step: c_long,
        ) {
            type Real = unsafe extern "C" fn(
                Body,
                *mut c_void,
                Option<Copy>,
                c_long,
                c_long,
                c_uint,
                c_long,
                c_int,
                c_long,
                c_long,
                c_long,
            );
            let pc = caller_word();
            let real = real!($name, Real);
            // SAFETY: the program's own arguments, or ours in their place.
            unsafe {
                if !telling() {
                    return real(
                        body, data, copy_data, size, align, flags, tasks, priority, start, end, step,
                    );
                }
                let (mut given, size, align) = Given::new(pc, body, data, copy_data, (size, align));
                given.written = 2;
                let group = flags & flag::NO_GROUP == 0;
                let given = (&raw mut given).cast();
                if group && let Some(task) = running() {
                    task.begin_group();
                }
                library(|| {
                    real(run_task, given, Some(copy), size, align, flags, tasks, priority, start, end, step);
                });
                if group && let Some(task) = running() {
                    task.end_group(pc);
                }
            }
        }
    };
}

taskloop!(dh_wrap_GOMP_taskloop / taskloop, "GOMP_taskloop");
taskloop!(dh_wrap_GOMP_taskloop_ull / taskloop_ull, "GOMP_taskloop_ull");

intercept! {
    /// `GOMP_taskwait_depend`: waits for some of the children.
    fn dh_wrap_GOMP_taskwait_depend / taskwait_depend(depend: *const *const usize); pc {
        // SAFETY: passed on; the task of the calling thread.
        unsafe {
            library(|| real!("GOMP_taskwait_depend", unsafe extern "C" fn(*const *const usize))(depend));
            if telling() && let Some(parent) = running() {
                let mut list = List::new();
                add_dependences(&mut list, parent, depend);
                list.acquire(pc);
                list.drop_all();
            }
        }
    }
}

intercept! {
    /// `omp_fulfill_event`: a task is over that may have ended before, by whoever that depends on.
    fn dh_wrap_omp_fulfill_event / fulfill_event(event: usize); pc {
        if recording() {
            DETACHED.store(true, Ordering::Relaxed);
            release(pc, &raw const FULFILLED);
        }
        // SAFETY: passed on.
        library(|| unsafe { real!("omp_fulfill_event", unsafe extern "C" fn(usize))(event) });
    }
}
