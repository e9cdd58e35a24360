//! LLVM's library: the tool interface of OpenMP 5 (OMPT).
//!
//! The library asks for `ompt_start_tool` when it starts, finds it here, and calls what it is given for each construct. The
//! order that is told is that of LLVM's own tool Archer. Only what is used of the interface is declared; nothing here needs
//! the library to be there.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use deadheat_core::event::{BlockKind, Op};

use super::depend::{ALL_MEMORY, Kind};
use super::{DETACHED, FULFILLED, Task, Team, acquire, release};
use crate::cold::start::recording;
use crate::hot::{log, thread};
use crate::sys;

/// Set once the library tells its constructs here.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether the library tells its constructs here.
pub(super) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// `ompt_data_t`: what a tool keeps for a region or a task.
#[repr(C)]
struct Data<T>(*mut T);

impl<T> Data<T> {
    /// What is kept there; null if nothing is, or there is no such thing.
    ///
    /// # Safety
    /// `data` is null or the library's.
    unsafe fn get(data: *const Data<T>) -> *mut T {
        // SAFETY: the library's data, or none.
        unsafe { data.as_ref() }.map_or(null_mut(), |data| data.0)
    }
}

/// `ompt_start_tool_result_t`
#[repr(C)]
struct Tool {
    initialize: unsafe extern "C" fn(LookUp, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void),
    data: usize,
}

type LookUp = unsafe extern "C" fn(*const c_char) -> usize;
type SetCallback = unsafe extern "C" fn(c_int, *const ()) -> c_int;

static TOOL: Tool = Tool { initialize, finalize, data: 0 };

intercept! {
    /// `ompt_start_tool`. Where nothing is watched a tool is named as well, which then wants nothing: the library would
    /// look for others.
    fn dh_wrap_ompt_start_tool / start_tool(_version: c_uint, _runtime: *const c_char) -> *const c_void; _pc {
        (&raw const TOOL).cast()
    }
}

/// Names the callbacks; 0 if none are wanted.
unsafe extern "C" fn initialize(look_up: LookUp, _device: c_int, _data: *mut c_void) -> c_int {
    if !recording() {
        return 0;
    }
    // SAFETY: the library's own functions; the names say their types.
    let set = unsafe {
        GET_TASK_MEMORY.store(look_up(c"ompt_get_task_memory".as_ptr()), Ordering::Relaxed);
        match look_up(c"ompt_set_callback".as_ptr()) {
            0 => return 0,
            set => core::mem::transmute::<usize, SetCallback>(set),
        }
    };
    let callbacks: [(c_int, *const ()); 9] = [
        (event::PARALLEL_BEGIN, parallel_begin as *const ()),
        (event::PARALLEL_END, parallel_end as *const ()),
        (event::TASK_CREATE, task_create as *const ()),
        (event::TASK_SCHEDULE, task_schedule as *const ()),
        (event::IMPLICIT_TASK, implicit_task as *const ()),
        (event::DEPENDENCES, dependences as *const ()),
        (event::SYNC_REGION_WAIT, sync_region_wait as *const ()),
        (event::SYNC_REGION, sync_region as *const ()),
        (event::REDUCTION, reduction as *const ()),
    ];
    for (event, callback) in callbacks {
        // SAFETY: each has the type that the interface gives its event.
        unsafe { set(event, callback) };
    }
    ACTIVE.store(true, Ordering::Relaxed);
    1
}

/// The library's function that tells where the data of the running task is.
static GET_TASK_MEMORY: AtomicUsize = AtomicUsize::new(0);

/// The memory of the task that the calling thread runs will be another's: what was done to it does not count there.
fn memory_ends() {
    type Get = unsafe extern "C" fn(*mut usize, *mut usize, c_int) -> c_int;
    /// In front of the data, behind what the library alone knows, are words that the compiler's code uses, too.
    const HEAD: usize = 40;
    let get = GET_TASK_MEMORY.load(Ordering::Relaxed);
    if get == 0 {
        return;
    }
    let (mut address, mut size) = (0, 0);
    // SAFETY: the library's own function, with variables of ours.
    unsafe { core::mem::transmute::<usize, Get>(get)(&raw mut address, &raw mut size, 0) };
    if size != 0 {
        let (address, size) = ((address - HEAD) as u64, (size + HEAD) as u64);
        log::event(0, &Op::Alloc { address, size, kind: BlockKind::Heap });
    }
}

type AllocateTask =
    unsafe extern "C" fn(*mut c_void, c_int, c_int, usize, usize, *const c_void) -> *mut c_void;

shim_through_thread!(dh_wrap___kmpc_omp_task_alloc, kmpc_omp_task_alloc);

/// `__kmpc_omp_task_alloc`: the memory may have been another task's, which another thread ran. That its life is a new one is told in the thread that
/// writes to it next, too: in a recording nothing else says that what it writes is of the new one.
unsafe extern "C" fn kmpc_omp_task_alloc(
    place: *mut c_void,
    thread: c_int,
    flags: c_int,
    size: usize,
    shared: usize,
    routine: *const c_void,
) -> *mut c_void {
    let pc = sys::machine::caller_word();
    let real = real!("__kmpc_omp_task_alloc", AllocateTask);
    // SAFETY: passed on.
    let task = unsafe { real(place, thread, flags, size, shared, routine) };
    if is_active() && !task.is_null() {
        let size = size.next_multiple_of(size_of::<usize>()) + shared;
        let (address, size) = (task as u64, size as u64);
        log::event(pc, &Op::Alloc { address, size, kind: BlockKind::Heap });
    }
    task
}

unsafe extern "C" fn finalize(_data: *mut c_void) {}

/// The numbers of events.
mod event {
    use core::ffi::c_int;

    pub(super) const PARALLEL_BEGIN: c_int = 3;
    pub(super) const PARALLEL_END: c_int = 4;
    pub(super) const TASK_CREATE: c_int = 5;
    pub(super) const TASK_SCHEDULE: c_int = 6;
    pub(super) const IMPLICIT_TASK: c_int = 7;
    pub(super) const SYNC_REGION_WAIT: c_int = 16;
    pub(super) const DEPENDENCES: c_int = 18;
    pub(super) const SYNC_REGION: c_int = 23;
    pub(super) const REDUCTION: c_int = 31;
}

/// `ompt_scope_endpoint_t`
const BEGIN: c_int = 1;
const END: c_int = 2;

/// `ompt_task_flag_t`
const INITIAL: c_int = 1;
const UNTIED: c_int = 0x1000_0000;

/// `ompt_sync_region_t`; all others are barriers.
mod region {
    use core::ffi::c_int;

    pub(super) const TASKWAIT: c_int = 5;
    pub(super) const TASKGROUP: c_int = 6;
    pub(super) const REDUCTION: c_int = 7;
}

/// `ompt_task_status_t`; after the others the task goes on later.
mod status {
    use core::ffi::c_int;

    pub(super) const COMPLETE: c_int = 1;
    pub(super) const CANCEL: c_int = 3;
    pub(super) const DETACH: c_int = 4;
    pub(super) const EARLY_FULFILL: c_int = 5;
    pub(super) const LATE_FULFILL: c_int = 6;
    pub(super) const TASKWAIT_COMPLETE: c_int = 8;
}

/// A parallel region begins: its team is about to be called.
unsafe extern "C" fn parallel_begin(
    _task: *const Data<Task>,
    _frame: *const c_void,
    parallel: *mut Data<Team>,
    _size: c_uint,
    _flags: c_int,
    pc: usize,
) {
    // SAFETY: the library's own data.
    unsafe { (*parallel).0 = Team::new(pc) };
}

/// It is over.
unsafe extern "C" fn parallel_end(
    parallel: *mut Data<Team>,
    _task: *const Data<Task>,
    _flags: c_int,
    pc: usize,
) {
    // SAFETY: the library's own data; all threads of the team have arrived at its last barrier.
    unsafe {
        let team = core::mem::replace(&mut (*parallel).0, null_mut());
        if !team.is_null() {
            Team::end(team, pc);
        }
    }
}

/// A thread begins or ends its part of a region; for the first part of all threads, of the program.
unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: *mut Data<Team>,
    data: *mut Data<Task>,
    _size: c_uint,
    _index: c_uint,
    flags: c_int,
) {
    // SAFETY: the library's own data.
    unsafe {
        if endpoint == BEGIN {
            if flags & INITIAL != 0 && !parallel.is_null() {
                (*parallel).0 = Team::new(0);
            }
            let team = Data::get(parallel);
            if !team.is_null() {
                (*data).0 = Task::begin_implicit(0, team);
            }
        } else if endpoint == END {
            let task = core::mem::replace(&mut (*data).0, null_mut());
            if !task.is_null() {
                let team = (*task).team;
                Task::end_implicit(0, task);
                if flags & INITIAL != 0 {
                    Team::end(team, 0);
                }
            }
        }
    }
}

/// A thread comes to, or leaves, what makes it wait.
unsafe extern "C" fn sync_region(
    kind: c_int,
    endpoint: c_int,
    parallel: *const Data<Team>,
    data: *const Data<Task>,
    pc: usize,
) {
    // SAFETY: the library's own data; the task runs in the calling thread. At the end of a region the team may be gone
    // for all threads but the first: then it is not given.
    unsafe {
        let Some(task) = Data::get(data).as_mut() else { return };
        match (kind, endpoint) {
            (region::TASKWAIT, END) => task.waited(pc),
            (region::TASKGROUP, BEGIN) => task.begin_group(),
            (region::TASKGROUP, END) => task.end_group(pc),
            (region::TASKWAIT | region::REDUCTION, _) => {}
            (_, BEGIN) => task.arrive(pc),
            (_, END) => task.leave(pc, !Data::get(parallel).is_null()),
            _ => {}
        }
    }
}

/// A thread has waited. What the tasks of a group have left for its reductions is added up before the group is told to be over.
unsafe extern "C" fn sync_region_wait(
    kind: c_int,
    endpoint: c_int,
    _parallel: *const Data<Team>,
    data: *const Data<Task>,
    pc: usize,
) {
    if (kind, endpoint) == (region::TASKGROUP, END) {
        // SAFETY: the library's own data; the task runs in the calling thread.
        unsafe {
            if let Some(task) = Data::get(data).as_ref() {
                task.group_waited(pc);
            }
        }
    }
}

/// A thread adds up what others have left for it. Inside of a barrier they have arrived there before; otherwise a lock or
/// atomics order them.
unsafe extern "C" fn reduction(
    _kind: c_int,
    endpoint: c_int,
    _parallel: *const Data<Team>,
    data: *const Data<Task>,
    pc: usize,
) {
    // SAFETY: the library's own data; the task runs in the calling thread, and its team waits for it.
    unsafe {
        let Some(task) = Data::get(data).as_mut().filter(|task| task.in_barrier) else { return };
        if endpoint == BEGIN {
            acquire(pc, task.barrier());
        } else {
            release(pc, task.barrier());
        }
    }
}

/// A task is created.
unsafe extern "C" fn task_create(
    parent: *const Data<Task>,
    _frame: *const c_void,
    data: *mut Data<Task>,
    flags: c_int,
    _has_dependences: c_int,
    pc: usize,
) {
    // SAFETY: the library's own data; the parent runs in the calling thread.
    unsafe {
        let parent = Data::get(parent);
        let Some(state) = parent.as_ref() else { return };
        let task = Task::new(parent, state.team);
        (*task).untied = flags & UNTIED != 0;
        (*data).0 = task;
        release(pc, &raw const (*task).start);
    }
}

/// `ompt_dependence_t`
#[repr(C)]
struct Dependence {
    address: usize,
    kind: c_int,
}

/// A created task depends on others.
unsafe extern "C" fn dependences(data: *const Data<Task>, list: *const Dependence, count: c_int) {
    const IN: c_int = 1;
    const MUTEX_IN_OUT_SET: c_int = 4;
    const SOURCE: c_int = 5;
    const SINK: c_int = 6;
    const IN_OUT_SET: c_int = 7;
    const OUT_ALL_MEMORY: c_int = 34;
    // SAFETY: the library's own data and list; the parent runs in the calling thread.
    unsafe {
        let Some(task) = Data::get(data).as_mut().filter(|task| !task.parent.is_null()) else { return };
        for at in 0..count.max(0) as usize {
            let Dependence { address, kind } = list.add(at).read();
            match kind {
                // These are of loops, not of tasks.
                SOURCE | SINK => {}
                IN => task.depends.add(task.parent, address, Kind::In),
                MUTEX_IN_OUT_SET => task.depends.add(task.parent, address, Kind::MutexInOutSet),
                IN_OUT_SET => task.depends.add(task.parent, address, Kind::InOutSet),
                OUT_ALL_MEMORY.. => task.depends.add(task.parent, ALL_MEMORY, Kind::Out),
                _ => task.depends.add(task.parent, address, Kind::Out),
            }
        }
    }
}

/// A thread leaves a task for another.
unsafe extern "C" fn task_schedule(prior: *mut Data<Task>, status: c_int, next: *const Data<Task>) {
    // SAFETY: the library's own data; both tasks are the calling thread's.
    unsafe {
        let (task, next) = (Data::get(prior), Data::get(next));
        if task.is_null() {
            return;
        }
        match status {
            status::EARLY_FULFILL => return fulfilled(),
            status::LATE_FULFILL => {
                fulfilled();
                (*prior).0 = null_mut();
                return Task::complete(0, task);
            }
            status::TASKWAIT_COMPLETE => {
                (*prior).0 = null_mut();
                (*task).depends.acquire(0);
                return Task::drop_use(0, task);
            }
            status::COMPLETE | status::CANCEL => {
                memory_ends();
                (*prior).0 = null_mut();
                Task::complete(0, task);
            }
            status::DETACH => {
                DETACHED.store(true, Ordering::Relaxed);
                release(0, &raw const FULFILLED);
            }
            _ => Task::suspend(0, task),
        }
        if let Some(thread) = thread::current()
            && !next.is_null()
        {
            (*thread).task = next;
            Task::resume(0, next);
        }
    }
}

/// What the calling thread did comes before what waits for the task whose event it fulfilled.
fn fulfilled() {
    DETACHED.store(true, Ordering::Relaxed);
    release(0, &raw const FULFILLED);
}
