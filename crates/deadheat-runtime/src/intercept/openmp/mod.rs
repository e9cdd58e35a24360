//! OpenMP: what its constructs order, as told by the calls into gcc's libgomp and by LLVM's tool interface.
//!
//! The run-time libraries are not instrumented, and their threads wait for each other by means that nobody sees. So the
//! order is announced, construct by construct, as a release and an acquire of an object that stands for it; the objects
//! are the addresses of the few words below (`docs/decisions/0017-openmp.md`). [`gomp`] and [`gomp_task`] stand in for
//! libgomp's functions, [`ompt`] is the tool that LLVM's library calls; [`locks`] serves both. Everything ends in the
//! operations on [`Team`] and [`Task`] here.
//!
//! Invariant: of a team or a task that is gone nothing is used any more, and what its memory ordered is forgotten before
//! it is another's.

mod depend;
mod gomp;
mod gomp_task;
mod locks;
mod ompt;

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use deadheat_core::event::{Op, SyncKind};

use crate::cold::start::recording;
use crate::hot::log;
use crate::hot::thread::{self, Thread};
use crate::online::pool;

/// An object that orders: its address makes its [name].
#[repr(C, align(16))]
struct Object(u64);

/// Under which name an object is announced: it is none of memory, where an atomic would show what was announced, also behind the object's end.
fn name(object: *const Object) -> u64 {
    0xfa << 56 | object as u64
}

/// Who comes to `object` later knows what this thread did so far.
fn release(pc: usize, object: *const Object) {
    log::event(pc, &Op::Signal { object: name(object), kind: SyncKind::Annotation });
}

/// What was done before each release of `object` happened before what comes now.
fn acquire(pc: usize, object: *const Object) {
    log::event(pc, &Op::Wait { object: name(object), kind: SyncKind::Annotation, woken: true });
}

/// The object's memory is given back.
fn forget(pc: usize, object: *const Object) {
    log::event(pc, &Op::Forget { object: name(object) });
}

/// The threads that run one parallel region.
#[repr(C)]
pub(crate) struct Team {
    /// What came before the region.
    start: Object,
    /// The barrier that is being gathered, and the one before: nobody comes to the next but one before all have left.
    barriers: [Object; 2],
    /// From the end of an `ordered` block to the next one's start.
    ordered: Object,
    /// From a `depend(source)` to `depend(sink)`.
    doacross: Object,
}

impl Team {
    /// A new team, made by the thread that comes to a region.
    fn new(pc: usize) -> *mut Team {
        let team = pool::take(size_of::<Team>()).cast::<Team>();
        // SAFETY: fresh memory of the runtime's own.
        release(pc, unsafe { &raw const (*team).start });
        team
    }

    /// The region is over, and so is the team.
    ///
    /// # Safety
    /// `team` came from [`Team::new`]; all its threads and tasks have told all that they tell.
    unsafe fn end(team: *mut Team, pc: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            for barrier in &(*team).barriers {
                acquire(pc, barrier);
            }
            let team_ref = &*team;
            for object in [&team_ref.start, &team_ref.ordered, &team_ref.doacross] {
                forget(pc, object);
            }
            for barrier in &team_ref.barriers {
                forget(pc, barrier);
            }
            pool::give(team.cast(), size_of::<Team>());
        }
    }
}

/// A `taskgroup`, or the one around a `taskloop`.
#[repr(C)]
pub(crate) struct Group {
    /// From the ends of its tasks to its own.
    done: Object,
    outer: *mut Group,
}

/// A task: an explicit one, or what a thread of a team does in its region.
#[repr(C)]
pub(crate) struct Task {
    /// From its creation to its start, and where it changes threads.
    start: Object,
    /// From the ends of its children to its `taskwait`.
    children: Object,
    /// Who created it; null for that of a thread of a team.
    parent: *mut Task,
    /// Its team; null outside of parallel regions.
    team: *mut Team,
    /// The innermost group that its children belong to.
    group: *mut Group,
    /// The group that it belongs to itself.
    own_group: *mut Group,
    /// What its thread did before, for that of a thread of a team.
    outer: *mut Task,
    /// Itself, and each of its children that is not over.
    uses: AtomicU32,
    /// How many barriers its team had passed when it began: it is over before the next.
    phase: u32,
    /// Somebody may come to know its children's ends.
    has_children: bool,
    /// It may go on in another thread.
    untied: bool,
    /// It has not begun yet.
    fresh: bool,
    /// It waits at a barrier.
    in_barrier: bool,
    /// It adds its part to what all threads of the team make, under a lock.
    reduces: bool,
    /// What its children depend on.
    table: *mut depend::Table,
    /// What it depends on itself.
    depends: depend::List,
}

/// Whether a task's completion may come from a thread that is not in it (`omp_fulfill_event`).
static DETACHED: AtomicBool = AtomicBool::new(false);
/// Stands for all `omp_fulfill_event`.
static FULFILLED: Object = Object(0);

impl Task {
    /// A task that nobody runs yet.
    fn new(parent: *mut Task, team: *mut Team) -> *mut Task {
        let task = pool::take(size_of::<Task>()).cast::<Task>();
        // SAFETY: fresh memory of the runtime's own; the parent is running, in this thread.
        unsafe {
            let (group, phase) = match parent.as_mut() {
                Some(parent) => {
                    parent.uses.fetch_add(1, Ordering::Relaxed);
                    parent.has_children = true;
                    (parent.group, parent.phase)
                }
                None => (null_mut(), 0),
            };
            task.write(Task {
                start: Object(0),
                children: Object(0),
                parent,
                team,
                group,
                own_group: group,
                outer: null_mut(),
                uses: AtomicU32::new(1),
                phase,
                has_children: false,
                untied: false,
                fresh: true,
                in_barrier: false,
                reduces: false,
                table: null_mut(),
                depends: depend::List::new(),
            });
        }
        task
    }

    /// The barrier that the task comes to next, or is over before.
    ///
    /// # Safety
    /// The task is in a team that is not gone.
    unsafe fn barrier(&self) -> *const Object {
        // SAFETY: the caller's promise.
        unsafe { &raw const (*self.team).barriers[self.phase as usize % 2] }
    }

    /// Begins what a thread of a team does in its region. Gives nothing where nothing is watched.
    ///
    /// # Safety
    /// The team lives; the calling thread runs the region.
    unsafe fn begin_implicit(pc: usize, team: *mut Team) -> *mut Task {
        let Some(thread) = thread::current() else { return null_mut() };
        let task = Task::new(null_mut(), team);
        // SAFETY: the calling thread's own state.
        unsafe {
            (*task).outer = (*thread).task;
            (*thread).task = task;
            acquire(pc, &raw const (*team).start);
        }
        task
    }

    /// Ends it.
    ///
    /// # Safety
    /// `task` came from [`Task::begin_implicit`] in this thread.
    unsafe fn end_implicit(pc: usize, task: *mut Task) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(thread) = thread::current() {
                (*thread).task = (*task).outer;
            }
            Task::drop_use(pc, task);
        }
    }

    /// The task arrives at a barrier.
    ///
    /// # Safety
    /// It runs in the calling thread; its team lives.
    unsafe fn arrive(&mut self, pc: usize) {
        self.in_barrier = true;
        // SAFETY: the caller's promise.
        release(pc, unsafe { self.barrier() });
    }

    /// The task leaves the barrier; `ordered`: its team may be looked at.
    ///
    /// # Safety
    /// As for [`Task::arrive`], if `ordered`.
    unsafe fn leave(&mut self, pc: usize, ordered: bool) {
        self.in_barrier = false;
        if ordered {
            // SAFETY: the caller's promise.
            acquire(pc, unsafe { self.barrier() });
            acquire_fulfilled(pc);
        }
        self.phase = self.phase.wrapping_add(1);
    }

    /// The task begins, or goes on after it waited, in the calling thread.
    ///
    /// # Safety
    /// The task is not over.
    unsafe fn resume(pc: usize, task: *mut Task) {
        // SAFETY: the caller's promise; nobody else runs the task.
        unsafe {
            if core::mem::take(&mut (*task).fresh) {
                acquire(pc, &raw const (*task).start);
                (*task).depends.acquire(pc);
            } else if (*task).untied {
                acquire(pc, &raw const (*task).start);
            }
        }
    }

    /// The task waits, and may go on in another thread.
    ///
    /// # Safety
    /// It runs in the calling thread.
    unsafe fn suspend(pc: usize, task: *mut Task) {
        // SAFETY: the caller's promise.
        unsafe {
            if (*task).untied {
                release(pc, &raw const (*task).start);
            }
        }
    }

    /// An explicit task is over: tells those who may wait for it.
    ///
    /// # Safety
    /// It was created with a parent or none, and is used for the last time.
    unsafe fn complete(pc: usize, task: *mut Task) {
        // SAFETY: the caller's promise; a team lives as long as its tasks, a group as long as those in it, a parent as long
        // as it is used.
        unsafe {
            let state = &mut *task;
            if !state.team.is_null() {
                release(pc, state.barrier());
            }
            if !state.parent.is_null() {
                release(pc, &raw const (*state.parent).children);
            }
            if !state.own_group.is_null() {
                release(pc, &raw const (*state.own_group).done);
            }
            state.depends.release(pc);
            Task::drop_use(pc, task);
        }
    }

    /// The task waits for its children, with `wait`.
    ///
    /// # Safety
    /// It runs in the calling thread.
    unsafe fn waited(&mut self, pc: usize) {
        if self.has_children {
            acquire(pc, &raw const self.children);
            acquire_fulfilled(pc);
        }
    }

    /// A group begins.
    fn begin_group(&mut self) {
        let group = pool::take(size_of::<Group>()).cast::<Group>();
        // SAFETY: fresh memory of the runtime's own.
        unsafe { group.write(Group { done: Object(0), outer: self.group }) };
        self.group = group;
    }

    /// All tasks of the innermost group are over.
    fn group_waited(&self, pc: usize) {
        if !self.group.is_null() && self.group != self.own_group {
            // SAFETY: `begin_group` made it.
            acquire(pc, unsafe { &raw const (*self.group).done });
            acquire_fulfilled(pc);
        }
    }

    /// The innermost group is over.
    fn end_group(&mut self, pc: usize) {
        let group = self.group;
        if group.is_null() || group == self.own_group {
            return;
        }
        self.group_waited(pc);
        // SAFETY: `begin_group` made it, and all its tasks are over.
        unsafe {
            self.group = (*group).outer;
            forget(pc, &raw const (*group).done);
            pool::give(group.cast(), size_of::<Group>());
        }
    }

    /// One use of a task less; the last gives it back, and one use of its parent.
    ///
    /// # Safety
    /// The use was counted.
    unsafe fn drop_use(pc: usize, mut task: *mut Task) {
        // SAFETY: the caller's promise; after the last use nobody knows the task.
        unsafe {
            while !task.is_null() && (*task).uses.fetch_sub(1, Ordering::AcqRel) == 1 {
                let state = &mut *task;
                let parent = state.parent;
                if !parent.is_null() {
                    forget(pc, &raw const state.start);
                }
                if state.has_children {
                    forget(pc, &raw const state.children);
                }
                depend::Table::drop(pc, state.table);
                state.depends.drop_all();
                pool::give(task.cast(), size_of::<Task>());
                task = parent;
            }
        }
    }
}

/// Who fulfilled events came before what waited for their tasks.
fn acquire_fulfilled(pc: usize) {
    if DETACHED.load(Ordering::Relaxed) {
        acquire(pc, &raw const FULFILLED);
    }
}

/// Runs `real`, a function of the library's. What that frees is its own, also where it leaves that to be its last step, so that
/// the call seems to be the program's.
fn library<R>(real: impl FnOnce() -> R) -> R {
    let thread = if recording() { thread::current() } else { None };
    let Some(thread) = thread else { return real() };
    // SAFETY: the calling thread's own state.
    unsafe {
        (*thread).in_library += 1;
        let result = real();
        (*thread).in_library -= 1;
        result
    }
}

/// Runs `body`, which is the program's, for the library.
fn program<R>(body: impl FnOnce() -> R) -> R {
    let Some(thread) = thread::current() else { return body() };
    // SAFETY: the calling thread's own state.
    unsafe {
        let outer = core::mem::take(&mut (*thread).in_library);
        let result = body();
        (*thread).in_library = outer;
        result
    }
}

/// Whether the calling thread is in a function of the library's.
#[inline]
pub(crate) fn in_library() -> bool {
    // SAFETY: the calling thread's own state.
    thread::known().is_some_and(|thread| unsafe { (*thread).in_library != 0 })
}

/// The task that the calling thread runs, if it is watched.
fn running() -> Option<&'static mut Task> {
    if !recording() {
        return None;
    }
    let thread: *mut Thread = thread::current()?;
    // SAFETY: the calling thread's own state; its task lives until it is replaced there.
    unsafe { (*thread).task.as_mut() }
}
