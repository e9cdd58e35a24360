//! libgomp: parallel regions and their barriers.
//!
//! A region's function is wrapped, so that each thread of the team tells its begin and its end. Where LLVM's library
//! answers these names, its tool interface tells all that is told here.

use core::ffi::{c_int, c_long, c_uint, c_void};

use super::{Task, Team, library, ompt, program, running};
use crate::cold::start::recording;
use crate::hot::access;
use crate::sys::machine::caller_word;
use crate::sys::real::Real;
use crate::sys::resolve;

/// What a region or a task runs.
pub(super) type Body = unsafe extern "C" fn(*mut c_void);

/// What is told here is not told by LLVM's tool interface.
pub(super) fn telling() -> bool {
    recording() && !ompt::is_active()
}

/// What each thread of a team is given in place of the program's data.
#[repr(C)]
struct Region {
    /// The first word of the program's data, which `GOMP_parallel_reductions` looks at.
    first: usize,
    body: Body,
    data: *mut c_void,
    team: *mut Team,
    pc: usize,
}

/// Runs a region's function in one thread of the team.
unsafe extern "C" fn run_region(region: *mut c_void) {
    let region = region.cast::<Region>();
    // SAFETY: `in_region` made it, and waits for all threads of the team.
    unsafe {
        let Region { body, data, team, pc, .. } = *region;
        let task = Task::begin_implicit(pc, team);
        run(pc, body, data);
        if let Some(state) = task.as_mut() {
            state.arrive(pc);
            Task::end_implicit(pc, task);
        }
    }
}

/// Runs the program's function as if it were called from the construct, also where another thread came to that.
///
/// # Safety
/// `body` may be called with `data`.
pub(super) unsafe fn run(pc: usize, body: Body, data: *mut c_void) {
    let here = &raw const data as usize;
    // SAFETY: the program's function with its data.
    unsafe {
        program(|| {
            access::on_entry(pc, here);
            body(data);
            access::on_exit();
        });
    }
}

/// Comes to a parallel region, which `real` runs with the function and data that it is given.
///
/// # Safety
/// `body` may be called with `data`, which begins with a word if it `is_reduced`. `real` returns when all threads
/// of the team have left the region.
unsafe fn in_region<R>(
    pc: usize,
    body: Body,
    (data, is_reduced): (*mut c_void, bool),
    real: impl FnOnce(Body, *mut c_void) -> R,
) -> R {
    if !telling() {
        return real(body, data);
    }
    let team = Team::new(pc);
    // SAFETY: the caller's promise.
    let first = if is_reduced { unsafe { data.cast::<usize>().read() } } else { 0 };
    let mut region = Region { first, body, data, team, pc };
    let result = library(|| real(run_region, (&raw mut region).cast()));
    // SAFETY: all threads of the team have left the region.
    unsafe { Team::end(team, pc) };
    result
}

/// Exports an interceptor of a function that runs a region: its function, its data, and further arguments. Last, whether its
/// data begins with what reductions need; that is false if left out.
macro_rules! region {
    ($(#[$doc:meta])* $export:ident / $inner:ident, $name:literal, ($($argument:ident: $type:ty),*)) => {
        region!($(#[$doc])* $export / $inner, $name, ($($argument: $type),*), false);
    };
    ($(#[$doc:meta])* $export:ident / $inner:ident, $name:literal, ($($argument:ident: $type:ty),*) $(-> $result:ty)?,
     $is_reduced:literal) => {
        shim_through_thread!($(#[$doc])* $export, $inner);

        unsafe extern "C" fn $inner(body: Body, data: *mut c_void, $($argument: $type),*) $(-> $result)? {
            type Real = unsafe extern "C" fn(Body, *mut c_void, $($type),*) $(-> $result)?;
            let pc = caller_word();
            let real = real!($name, Real);
            // SAFETY: the program's own arguments, or ours in their place.
            unsafe { in_region(pc, body, (data, $is_reduced), |body, data| real(body, data, $($argument),*)) }
        }
    };
}

/// The same for a loop that is combined with its region: bounds, step, and the rest.
macro_rules! region_loop {
    ($export:ident / $inner:ident, $name:literal, chunk) => {
        region!($export / $inner, $name,
            (threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint));
    };
    ($export:ident / $inner:ident, $name:literal) => {
        region!($export / $inner, $name,
            (threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint));
    };
}

region!(
    /// `GOMP_parallel`
    dh_wrap_GOMP_parallel / parallel, "GOMP_parallel", (threads: c_uint, flags: c_uint)
);
region!(
    /// `GOMP_parallel_reductions`
    dh_wrap_GOMP_parallel_reductions / parallel_reductions, "GOMP_parallel_reductions",
    (threads: c_uint, flags: c_uint) -> c_uint, true
);
region!(
    /// `GOMP_parallel_sections`
    dh_wrap_GOMP_parallel_sections / parallel_sections, "GOMP_parallel_sections",
    (threads: c_uint, count: c_uint, flags: c_uint)
);
region_loop!(dh_wrap_GOMP_parallel_loop_static / loop_static, "GOMP_parallel_loop_static", chunk);
region_loop!(dh_wrap_GOMP_parallel_loop_dynamic / loop_dynamic, "GOMP_parallel_loop_dynamic", chunk);
region_loop!(dh_wrap_GOMP_parallel_loop_guided / loop_guided, "GOMP_parallel_loop_guided", chunk);
region_loop!(dh_wrap_GOMP_parallel_loop_runtime / loop_runtime, "GOMP_parallel_loop_runtime");
region_loop!(
    dh_wrap_GOMP_parallel_loop_nonmonotonic_dynamic / loop_nonmonotonic_dynamic,
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    chunk
);
region_loop!(
    dh_wrap_GOMP_parallel_loop_nonmonotonic_guided / loop_nonmonotonic_guided,
    "GOMP_parallel_loop_nonmonotonic_guided",
    chunk
);
region_loop!(
    dh_wrap_GOMP_parallel_loop_nonmonotonic_runtime / loop_nonmonotonic_runtime,
    "GOMP_parallel_loop_nonmonotonic_runtime"
);
region_loop!(
    dh_wrap_GOMP_parallel_loop_maybe_nonmonotonic_runtime / loop_maybe_nonmonotonic_runtime,
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime"
);

/// Waits at a barrier with `real`.
fn barrier<R>(pc: usize, real: impl FnOnce() -> R) -> R {
    let task = if telling() { running() } else { None };
    let Some(task) = task else { return real() };
    // SAFETY: the task of the calling thread, in a team whose region it is in.
    unsafe {
        task.arrive(pc);
        let result = library(real);
        task.leave(pc, true);
        result
    }
}

/// Exports an interceptor of a function that waits at a barrier.
macro_rules! barrier {
    ($(#[$doc:meta])* $export:ident / $inner:ident, $name:literal, ($($argument:ident: $type:ty)?) $(-> $result:ty)?) => {
        intercept! {
            $(#[$doc])*
            fn $export / $inner($($argument: $type)?) $(-> $result)?; pc {
                type Real = unsafe extern "C" fn($($type)?) $(-> $result)?;
                // SAFETY: passed on.
                barrier(pc, || unsafe { real!($name, Real)($($argument)?) })
            }
        }
    };
}

barrier!(
    /// `GOMP_barrier`
    dh_wrap_GOMP_barrier / gomp_barrier, "GOMP_barrier", ()
);
barrier!(
    /// `GOMP_barrier_cancel`
    dh_wrap_GOMP_barrier_cancel / barrier_cancel, "GOMP_barrier_cancel", () -> bool
);
barrier!(
    /// `GOMP_loop_end`
    dh_wrap_GOMP_loop_end / loop_end, "GOMP_loop_end", ()
);
barrier!(
    /// `GOMP_loop_end_cancel`
    dh_wrap_GOMP_loop_end_cancel / loop_end_cancel, "GOMP_loop_end_cancel", () -> bool
);
barrier!(
    /// `GOMP_sections_end`
    dh_wrap_GOMP_sections_end / sections_end, "GOMP_sections_end", ()
);
barrier!(
    /// `GOMP_sections_end_cancel`
    dh_wrap_GOMP_sections_end_cancel / sections_end_cancel, "GOMP_sections_end_cancel", () -> bool
);
barrier!(
    /// `GOMP_workshare_task_reduction_unregister`
    dh_wrap_GOMP_workshare_task_reduction_unregister / reduction_end,
    "GOMP_workshare_task_reduction_unregister", (cancelled: bool)
);

intercept! {
    /// `GOMP_single_copy_start`: the thread that is to run the block gets nothing and comes to `GOMP_single_copy_end`; the
    /// others wait for it there.
    fn dh_wrap_GOMP_single_copy_start / single_copy_start() -> *mut c_void; pc {
        type Real = unsafe extern "C" fn() -> *mut c_void;
        let task = if telling() { running() } else { None };
        // SAFETY: passed on; the task of the calling thread, in a team whose region it is in.
        unsafe {
            let Some(task) = task else { return real!("GOMP_single_copy_start", Real)() };
            task.arrive(pc);
            let given = library(|| real!("GOMP_single_copy_start", Real)());
            if !given.is_null() {
                task.leave(pc, true);
            }
            given
        }
    }
}

barrier!(
    /// `GOMP_single_copy_end`
    dh_wrap_GOMP_single_copy_end / single_copy_end, "GOMP_single_copy_end", (data: *mut c_void)
);

intercept! {
    /// `GOMP_ordered_start`: returns when it is this iteration's turn.
    fn dh_wrap_GOMP_ordered_start / ordered_start(); pc {
        // SAFETY: passed on.
        unsafe { real!("GOMP_ordered_start", unsafe extern "C" fn())() };
        if telling() {
            super::locks::enter_ordered(pc);
        }
    }
}

intercept! {
    /// `GOMP_ordered_end`
    fn dh_wrap_GOMP_ordered_end / ordered_end(); pc {
        if telling() {
            super::locks::leave_ordered(pc);
        }
        // SAFETY: passed on.
        unsafe { real!("GOMP_ordered_end", unsafe extern "C" fn())() };
    }
}

/// Exports interceptors for loops that wait for each other's iterations; with unsigned counters they have names of their own.
macro_rules! doacross {
    ($post:ident / $post_inner:ident, $post_name:literal, $wait:ident / $wait_inner:ident, $wait_name:literal) => {
        intercept! {
            /// An iteration has done what others wait for.
            fn $post / $post_inner(counts: *mut c_long); pc {
                if telling() {
                    super::locks::post_doacross(pc);
                }
                // SAFETY: passed on.
                unsafe { real!($post_name, unsafe extern "C" fn(*mut c_long))(counts) };
            }
        }

        shim_through_thread!($wait, $wait_inner);

        /// An iteration waits for another. The function has as many arguments as there are loops: it is given what could be
        /// arguments of sixteen.
        #[allow(clippy::too_many_arguments, reason = "the real function has a variable number of them")]
        unsafe extern "C" fn $wait_inner(
            a: c_long,
            b: c_long,
            c: c_long,
            d: c_long,
            e: c_long,
            f: c_long,
            g: c_long,
            h: c_long,
            i: c_long,
            j: c_long,
            k: c_long,
            l: c_long,
            m: c_long,
            n: c_long,
            o: c_long,
            p: c_long,
        ) {
            type Wait = unsafe extern "C" fn(
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
                c_long,
            );
            let pc = caller_word();
            // SAFETY: passed on; what lies behind the arguments on the stack can be read.
            unsafe { real!($wait_name, Wait)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) };
            if telling() {
                super::locks::wait_doacross(pc);
            }
        }
    };
}

doacross!(
    dh_wrap_GOMP_doacross_post / doacross_post,
    "GOMP_doacross_post",
    dh_wrap_GOMP_doacross_wait / doacross_wait,
    "GOMP_doacross_wait"
);
doacross!(
    dh_wrap_GOMP_doacross_ull_post / doacross_ull_post,
    "GOMP_doacross_ull_post",
    dh_wrap_GOMP_doacross_ull_wait / doacross_ull_wait,
    "GOMP_doacross_ull_wait"
);

intercept! {
    /// `GOMP_taskwait`
    fn dh_wrap_GOMP_taskwait / taskwait(); pc {
        // SAFETY: passed on; the task of the calling thread.
        unsafe {
            library(|| real!("GOMP_taskwait", unsafe extern "C" fn())());
            if telling() && let Some(task) = running() {
                task.waited(pc);
            }
        }
    }
}

intercept! {
    /// `GOMP_taskgroup_start`
    fn dh_wrap_GOMP_taskgroup_start / taskgroup_start(); _pc {
        if telling() && let Some(task) = running() {
            task.begin_group();
        }
        // SAFETY: passed on.
        unsafe { real!("GOMP_taskgroup_start", unsafe extern "C" fn())() };
    }
}

intercept! {
    /// `GOMP_taskgroup_end`
    fn dh_wrap_GOMP_taskgroup_end / taskgroup_end(); pc {
        // SAFETY: passed on.
        library(|| unsafe { real!("GOMP_taskgroup_end", unsafe extern "C" fn())() });
        if telling() && let Some(task) = running() {
            task.end_group(pc);
        }
    }
}

/// The result of a cancellation point of a kind.
pub(super) fn is_cancelled(kind: c_int) -> bool {
    type Point = unsafe extern "C" fn(c_int) -> bool;
    static REAL: Real = Real::new("GOMP_cancellation_point\0", "\0");
    let mut address = REAL.known();
    if address == 0 {
        // Nothing stands in for it: in a static program it has its own name alone.
        address = resolve(&REAL, weak_address!("GOMP_cancellation_point"));
    }
    // SAFETY: libgomp's function, asked by a task of libgomp's.
    unsafe { core::mem::transmute::<usize, Point>(address)(kind) }
}
