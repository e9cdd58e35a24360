//! Threads come and go.
//!
//! Invariant: a `Thread` belongs to one thread from its first event to its last; memory of ended
//! ones is zeroed and used again.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_core::event::{BlockKind, Fault, Op, SyncKind};
use deadheat_core::gate::FOREIGN;

use super::lock::Lock;
use super::names::Names;
use super::{block, byhand, modules, start, together};
use crate::gate;
use crate::hot::thread::{Busy, Frame, MAX_FRAMES, Thread, UNWATCHED, internal, known};
use crate::hot::{atomic, log};
use crate::online;
use crate::sys::{self, c};

static NEXT_THREAD: AtomicU32 = AtomicU32::new(0);
static NEXT_STREAM: AtomicU32 = AtomicU32::new(0);

/// The thread-specific key whose destructor tells a thread's end.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// `PTHREAD_DESTRUCTOR_ITERATIONS`: destructors that set their key again are run this often.
const DESTRUCTOR_ROUNDS: usize = 4;

const STATE_SIZE: usize = (size_of::<Thread>() + size_of::<Frame>()).next_multiple_of(4096);
/// The state, its frames, for each of them a node of the tree of calls, and nodes that it came to.
const MAPPING_SIZE: usize =
    STATE_SIZE + MAX_FRAMES * (size_of::<Frame>() + size_of::<u32>()) + size_of::<online::Near>();

/// Unused `Thread`s.
struct Pool {
    lock: Lock,
    first: core::cell::UnsafeCell<*mut Thread>,
}

// SAFETY: `first` is touched under `lock` alone.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool { lock: Lock::new(), first: core::cell::UnsafeCell::new(null_mut()) };

/// A fresh `Thread` with the next stream number; `None` without memory.
fn new_thread(id: u32) -> Option<*mut Thread> {
    let reused = POOL.lock.with(|| {
        // SAFETY: under the pool's lock; a thread in the pool is nobody's.
        unsafe {
            let first = *POOL.first.get();
            if !first.is_null() {
                *POOL.first.get() = (*first).next;
                (*first).next = null_mut();
            }
            first
        }
    });
    let thread = if reused.is_null() { map_thread()? } else { reused };
    // SAFETY: the thread is zeroed and ours.
    unsafe { set_up(thread, id) };
    Some(thread)
}

fn map_thread() -> Option<*mut Thread> {
    match sys::map_anonymous(MAPPING_SIZE) {
        Ok(address) => Some(address.cast()),
        Err(_) if online::on() => {
            online::without_memory();
            None
        }
        Err(_) => None,
    }
}

/// Fills the fields of a zeroed `Thread`.
///
/// # Safety
/// `thread` is a mapping of [`MAPPING_SIZE`] bytes, which nobody else knows.
unsafe fn set_up(thread: *mut Thread, id: u32) {
    // SAFETY: the mapping holds the state and then the frames.
    unsafe {
        let frames = thread.cast::<u8>().add(STATE_SIZE).cast::<Frame>();
        let state = &mut *thread;
        state.frames = frames;
        state.frames_end = frames.add(MAX_FRAMES);
        state.top = frames;
        state.low = frames;
        state.told = frames;
        state.eye.nodes = frames.add(MAX_FRAMES).cast();
        state.eye.near = state.eye.nodes.add(MAX_FRAMES).cast();
        state.id = id;
        state.stream = NEXT_STREAM.fetch_add(1, Ordering::Relaxed);
    }
}

/// Gives back an ended thread's memory.
///
/// # Safety
/// `thread` came from [`new_thread`], and nobody uses it any more.
unsafe fn recycle(thread: *mut Thread) {
    // SAFETY: nobody uses it any more.
    unsafe {
        online::drop_thread(thread);
        let nested = (*thread).nested;
        if !nested.is_null() {
            block::give_back(nested);
            sys::unmap(nested.cast(), MAPPING_SIZE);
        }
        block::give_back(thread);
        sys::forget_pages(thread.cast(), MAPPING_SIZE);
        POOL.lock.with(|| {
            (*thread).next = *POOL.first.get();
            *POOL.first.get() = thread;
        });
    }
}

/// Makes the calling thread the owner of `thread` and records its first events.
///
/// # Safety
/// `thread` is fresh from [`new_thread`], and the calling thread's alone.
unsafe fn begin(thread: *mut Thread, stack: Option<(u64, u64)>) {
    // SAFETY: the caller hands over a fresh thread.
    unsafe {
        sys::machine::set_thread_word(thread as usize);
        {
            let _busy = Busy::new(thread);
            block::next(thread);
        }
        if let Some(number) = (*thread).seat.given() {
            log::given(thread, number);
        }
        log::event_of(thread, 0, &Op::Begin);
        let fresh = !(*thread).given_stack;
        if let Some((low, high)) = stack.filter(|_| fresh) {
            (*thread).stack = (low, high);
            let alloc = Op::Alloc { address: low, size: high - low, kind: BlockKind::Stack };
            log::event_of(thread, 0, &alloc);
        }
        tell_thread_local(thread);
        internal(|| c::pthread_setspecific(KEY.load(Ordering::Relaxed), thread.cast()));
        names(|names| names.begun((*thread).id, c::pthread_self()));
    }
}

/// The thread that runs `main` becomes the trace's first thread.
pub(crate) fn adopt_first() {
    let mut key = 0;
    // SAFETY: the destructor takes what `begin` sets.
    if unsafe { c::pthread_key_create(&raw mut key, Some(destroyed)) } == 0 {
        KEY.store(key, Ordering::Relaxed);
    }
    let id = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
    if let Some(thread) = new_thread(id) {
        // SAFETY: a fresh thread for the calling one.
        unsafe {
            begin(thread, Some(first_stack()));
            tell_nowhere(thread);
        }
    }
}

/// The first thread's stack: from its limit to where the C library says it began.
fn first_stack() -> (u64, u64) {
    const ASSUMED: u64 = 8 << 20;
    let end_word = weak_address!("__libc_stack_end") as *const u64;
    let here = &raw const end_word as u64;
    // SAFETY: the C library's variable, if it exists.
    let end = if end_word.is_null() { here } else { unsafe { end_word.read() } };
    let high = end.next_multiple_of(4096);
    (high.saturating_sub(ASSUMED), high)
}

/// A thread that was not created through our interceptor meets its first hook.
pub(crate) fn adopt_foreign() -> Option<*mut Thread> {
    sys::machine::set_thread_word(UNWATCHED);
    let id = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
    let thread = new_thread(id)?;
    // SAFETY: a fresh thread for the calling one.
    unsafe {
        gate::name_foreign(&mut (*thread).seat);
        begin(thread, own_stack());
    }
    // SAFETY: just begun.
    (start::light() || unsafe { !(*thread).at.is_null() }).then_some(thread)
}

/// The calling thread's stack as the C library knows it; where the program is confined, what it will mostly use of that: the C library asks the system.
fn own_stack() -> Option<(u64, u64)> {
    const MOSTLY: u64 = 64 << 10;
    if sys::is_confined() {
        let here = 0u8;
        let low = (&raw const here as u64).saturating_sub(MOSTLY);
        // SAFETY: as any thread may. What the C library keeps of a thread is behind its stack.
        let high = unsafe { c::pthread_self() } as u64;
        return (low..low + 2 * MOSTLY).contains(&high).then_some((low, high));
    }
    let mut attributes = c::Attributes([0; 64]);
    let mut low = null_mut::<c_void>();
    let mut size = 0;
    let attributes = (&raw mut attributes).cast::<c_void>();
    // SAFETY: the attributes are filled before they are read, and destroyed once.
    unsafe {
        if c::pthread_getattr_np(c::pthread_self(), attributes) != 0 {
            return None;
        }
        let known = c::pthread_attr_getstack(attributes, &raw mut low, &raw mut size) == 0;
        c::pthread_attr_destroy(attributes);
        known.then(|| (low as u64, low as u64 + size as u64))
    }
}

/// A child that the calling thread is about to create.
pub(crate) struct Child(*mut Thread);

/// The number that the program gives the thread that will run `routine(argument)`: what its own
/// `unsigned long deadheat_thread_name(void *(*routine)(void *), void *argument)` says, which runs
/// unseen in the creating thread. 0: none.
pub(crate) fn number_of_child(routine: usize, argument: usize) -> u64 {
    type Name = unsafe extern "C" fn(usize, usize) -> core::ffi::c_ulong;
    let name = weak_address!("deadheat_thread_name");
    if name == 0 {
        return 0;
    }
    let _errno = c::KeepErrno::new();
    // SAFETY: the program defines the function, and as documented.
    let number = internal(|| unsafe { core::mem::transmute::<usize, Name>(name)(routine, argument) });
    number & (FOREIGN - 1)
}

/// Prepares a child that will run `routine(argument)`, and records the fork. `given` is the number
/// that the program gives it, or 0. `None` if nothing is recorded.
pub(crate) fn prepare_child(
    pc: usize,
    (routine, argument): (usize, usize),
    given: u64,
    given_stack: bool,
) -> Option<Child> {
    let parent = crate::hot::thread::current()?;
    // SAFETY: the calling thread's own state.
    if unsafe { (*parent).internal } != 0 {
        return None;
    }
    let id = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
    let child = new_thread(id)?;
    gate::will_be_born();
    // SAFETY: nobody else knows the child yet.
    unsafe {
        (*child).start = (routine, argument);
        (*parent).seat.spawn_into(&mut (*child).seat, given);
        (*child).given_stack = given_stack;
        let (before, now) = ((*parent).created_at, (*parent).eye.mine);
        (*child).begins_at_once = before != 0 && before != now;
    }
    let fork = Op::Fork { child: deadheat_core::ids::ThreadId(id) };
    // SAFETY: the calling thread's own state.
    unsafe {
        log::event_of(parent, pc, &fork);
        online::fork(parent, child);
        (*parent).created_at = (*parent).eye.mine;
    }
    Some(Child(child))
}

impl Child {
    /// What to give the real `pthread_create`: start routine and argument. A child that is created
    /// while its creator is quiet handles signals once its beginning is recorded.
    pub(crate) fn start(
        &self,
        quiet: Option<&sys::Quiet>,
    ) -> (unsafe extern "C" fn(*mut c_void) -> *mut c_void, *mut c_void) {
        names(|names| names.comes(self.id()));
        // SAFETY: the child is not running yet.
        unsafe {
            (*self.0).mask = quiet.map(sys::Quiet::of_child);
            (*self.0).together = together::comes(self.id(), (*self.0).begins_at_once);
        }
        (run_child, self.0.cast())
    }

    /// The thread was created; `joinable` says whether somebody has to join it.
    pub(crate) fn created(self, id: u32, pthread: c::Pthread, joinable: bool) {
        if names(|names| names.created(id, pthread, joinable)) {
            online::nobody_joins(id);
        }
    }

    /// The child's number.
    pub(crate) fn id(&self) -> u32 {
        // SAFETY: the child is not running yet.
        unsafe { (*self.0).id }
    }

    /// What [`begin_announced`] takes.
    pub(crate) fn token(self) -> usize {
        self.0 as usize
    }

    /// The thread could not be created.
    pub(crate) fn failed(self) {
        gate::is_not_born();
        names(|names| names.failed(self.id()));
        // SAFETY: the child never ran.
        unsafe {
            if let Some(let_go) = (*self.0).together {
                together::came(let_go);
            }
            recycle(self.0);
        }
    }
}

/// The calling thread is the one that was announced. What it was taken for at the entry of its
/// first function ends here; one whose creation was seen stays what it is.
///
/// # Safety
/// `token` is a [`Child::token`], used once.
pub(crate) unsafe fn begin_announced(token: usize) {
    let thread = token as *mut Thread;
    // SAFETY: the caller's promise.
    unsafe {
        let word = sys::machine::thread_word();
        let before = (word > UNWATCHED).then_some(word as *mut Thread);
        if before.is_some_and(|before| !(*before).seat.is_foreign()) {
            gate::is_not_born();
            return recycle(thread);
        }
        sys::machine::set_thread_word(UNWATCHED);
        let stack = own_stack();
        begin(thread, stack);
        if let Some(before) = before {
            (*before).eye.unjoined = true;
            (*before).freed.leave();
            let depth = (*before).top.offset_from((*before).frames) as usize;
            core::ptr::copy_nonoverlapping((*before).frames, (*thread).frames, depth);
            (*thread).top = (*thread).frames.add(depth);
            (*thread).clean = null_mut();
            log::event_of(before, 0, &Op::End);
            online::become_current(thread);
            recycle(before);
        }
    }
}

/// The first function of a watched thread.
unsafe extern "C" fn run_child(child: *mut c_void) -> *mut c_void {
    let thread = child.cast::<Thread>();
    // SAFETY: `prepare_child` made it for this thread; the routine is the program's.
    unsafe {
        sys::machine::set_thread_word(UNWATCHED);
        let stack = own_stack();
        begin(thread, stack);
        if let Some(mask) = (*thread).mask {
            mask.set();
        }
        if let Some(let_go) = (*thread).together {
            together::wait(let_go);
        }
        let (routine, argument) = (*thread).start;
        let routine: unsafe extern "C" fn(*mut c_void) -> *mut c_void = core::mem::transmute(routine);
        routine(argument as *mut c_void)
    }
}

/// The key's destructor: the thread ends once all other destructors had their turn.
unsafe extern "C" fn destroyed(value: *mut c_void) {
    let thread = value.cast::<Thread>();
    // SAFETY: the value is the calling thread's own state.
    unsafe {
        if (*thread).busy != 0 || (*thread).holds != 0 {
            was_cut_off(thread);
        }
        (*thread).destructor_rounds += 1;
        if (*thread).destructor_rounds < DESTRUCTOR_ROUNDS {
            internal(|| c::pthread_setspecific(KEY.load(Ordering::Relaxed), value));
            return;
        }
        // A handler that came between the thread's last event and its leave would find half of its state.
        let _quiet = sys::Quiet::new();
        if ROBUST.load(Ordering::Relaxed) != 0 {
            let kind = SyncKind::Annotation;
            log::event_of(thread, 0, &Op::Signal { object: owner_death(), kind });
        }
        (*thread).eye.unjoined = names(|names| names.ended((*thread).id, c::pthread_self()));
        tell_ignored(thread);
        (*thread).freed.leave();
        log::event_of(thread, 0, &Op::End);
        sys::machine::set_thread_word(UNWATCHED);
        recycle(thread);
    }
}

/// The calling thread ends by a system call of the program's own: no destructor will run.
pub(crate) fn end_at_once() {
    // A child of `vfork` has its parent's state; who is confined may not ask whether it is one.
    if let Some(thread) = known().filter(|_| !sys::is_confined() && byhand::is_ours()) {
        // SAFETY: the calling thread's own state, which nothing uses any more.
        unsafe {
            (*thread).destructor_rounds = DESTRUCTOR_ROUNDS;
            destroyed(thread.cast());
        }
    }
}

/// The thread ends, and was cancelled asynchronously in the middle of a hook: others must not wait for it.
///
/// # Safety
/// `thread` is the calling thread's, which is in no hook any more.
#[cold]
unsafe fn was_cut_off(thread: *mut Thread) {
    // SAFETY: the caller's promise: the calling thread's own state, and it is in no hook any more.
    unsafe {
        atomic::abandon((*thread).id);
        (*thread).holds = 0;
        if online::only() {
            (*thread).busy = 0;
        } else if (*thread).busy != 0 {
            // A record may be half in the stream: what is still to come goes to that for handlers.
            block::cut_off(thread);
        }
    }
}

/// Tells that a thread which ends has accesses ignored.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn tell_ignored(thread: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).ignore_reads | (*thread).ignore_writes | (*thread).ignore_sync != 0 {
            let object = u64::from((*thread).id);
            log::event_of(thread, 0, &Op::Fault { object, fault: Fault::IgnoredAtEnd });
        }
    }
}

/// A fiber: a thread of its own in the trace, run by whoever switches to it. Null if nothing is
/// recorded.
pub(crate) fn create_fiber(pc: usize) -> *mut Thread {
    let Some(Child(fiber)) = prepare_child(pc, (0, 0), 0, true) else { return null_mut() };
    // SAFETY: nobody runs the fiber yet; for its first events it is made the calling thread.
    unsafe {
        as_fiber(fiber, || {
            {
                let _busy = Busy::new(fiber);
                block::next(fiber);
            }
            log::event_of(fiber, 0, &Op::Begin);
        });
        (*fiber).is_fresh_fiber = true;
    }
    fiber
}

/// A fiber that nobody will switch to any more.
///
/// # Safety
/// `fiber` came from [`create_fiber`] and does not run.
pub(crate) unsafe fn destroy_fiber(fiber: *mut Thread) {
    if fiber.is_null() || fiber as usize == sys::machine::thread_word() {
        return;
    }
    // SAFETY: the caller's promise; for its end it is made the calling thread.
    unsafe {
        (*fiber).eye.unjoined = true;
        (*fiber).freed.leave();
        as_fiber(fiber, || log::event_of(fiber, 0, &Op::End));
        recycle(fiber);
    }
}

/// Makes a fiber the calling thread for the time of `body`.
///
/// # Safety
/// Nobody runs the fiber.
unsafe fn as_fiber(fiber: *mut Thread, body: impl FnOnce()) {
    // A handler would take the one for the other.
    let _quiet = sys::Quiet::new();
    let own = sys::machine::thread_word();
    sys::machine::set_thread_word(fiber as usize);
    body();
    sys::machine::set_thread_word(own);
    if own > UNWATCHED {
        // SAFETY: the word is the calling thread's own state.
        unsafe { online::become_current(own as *mut Thread) };
    }
}

/// The kernel's number of the calling thread, which the C library writes into mutexes.
#[inline(never)]
pub(crate) fn kernel_id() -> u32 {
    let word = sys::machine::thread_word();
    if word <= UNWATCHED {
        return sys::thread_id();
    }
    // SAFETY: the word is the calling thread's own state.
    unsafe {
        let state = &mut *(word as *mut Thread);
        if state.kernel_id == 0 {
            state.kernel_id = sys::thread_id();
        }
        state.kernel_id
    }
}

/// Set once a robust mutex was seen: then a thread's end passes on what the thread did.
static ROBUST: AtomicU32 = AtomicU32::new(0);

/// A robust mutex is in use: its owner's death hands it on.
pub(crate) fn expect_owner_death() {
    ROBUST.store(1, Ordering::Relaxed);
}

/// The object through which ended threads pass on what they did to those who find that a robust
/// mutex's owner died.
pub(crate) fn owner_death() -> u64 {
    ROBUST.as_ptr() as u64
}

/// The second stream of a thread, for a handler that interrupted a hook. Its call stack is told
/// anew with each event, since handlers are rare.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn nested(thread: *mut Thread) -> Option<*mut Thread> {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).nested.is_null() {
            let nested = map_thread()?;
            set_up(nested, (*thread).id);
            (*thread).nested = nested;
            (*nested).frames = (*thread).frames;
            (*nested).told = (*thread).frames;
            let _busy = Busy::new(nested);
            block::next(nested);
        }
        let nested = (*thread).nested;
        if (*nested).busy == 0 {
            (*nested).low = (*thread).frames;
            (*nested).top = (*thread).top;
        }
        Some(nested)
    }
}

/// Which thread of the trace a `pthread_t` is.
struct Registry {
    lock: Lock,
    names: core::cell::UnsafeCell<Names>,
}

// SAFETY: `names` is touched under `lock` alone.
unsafe impl Sync for Registry {}

static REGISTRY: Registry = Registry { lock: Lock::new(), names: core::cell::UnsafeCell::new(Names::new()) };

/// Asks or changes the names under their lock.
fn names<R>(ask: impl FnOnce(&mut Names) -> R) -> R {
    // SAFETY: under the lock.
    REGISTRY.lock.with(|| ask(unsafe { &mut *REGISTRY.names.get() }))
}

/// The number of the thread with this `pthread_t`.
pub(crate) fn id_of(pthread: c::Pthread) -> Option<u32> {
    names(|names| names.id_of(pthread))
}

/// Nobody has to join the thread any more.
pub(crate) fn detached(pthread: c::Pthread) {
    if let Some(id) = names(|names| names.detached(pthread)) {
        online::nobody_joins(id);
    }
}

/// Tells the threads that have ended and that somebody should have joined or detached.
pub(crate) fn tell_leaks() {
    let mut from = 0;
    while let Some((at, id)) = names(|names| names.next_leak(from)) {
        log::event(0, &Op::Fault { object: u64::from(id), fault: Fault::ThreadLeak });
        from = at + 1;
    }
}

/// Forgets a thread that was joined.
pub(crate) fn forget(pthread: c::Pthread, id: u32) {
    names(|names| names.joined(id, pthread));
}

/// Takes the locks of this file, so that a forked child finds them free of half-done work.
pub(crate) fn lock_for_fork() {
    POOL.lock.acquire();
    REGISTRY.lock.acquire();
}

/// Gives the locks back, in the parent and in the child.
pub(crate) fn unlock_after_fork() {
    REGISTRY.lock.release();
    POOL.lock.release();
}

/// In a forked child: the calling thread is the first of a new trace.
///
/// # Safety
/// `thread` is the calling thread's; the child's trace file is open.
pub(crate) unsafe fn restart_in_child(thread: *mut Thread) {
    NEXT_THREAD.store(1, Ordering::Relaxed);
    NEXT_STREAM.store(1, Ordering::Relaxed);
    // SAFETY: the caller's promise; the process has this thread alone.
    unsafe {
        names(Names::clear);
        {
            let _busy = Busy::new(thread);
            let state = &mut *thread;
            if !state.block.is_null() {
                // The parent's block: mapped here, but not ours.
                block::close(state.block, state.block_size);
            }
            state.block = null_mut();
            state.id = 0;
            state.stream = 0;
            state.sequence = 0;
            state.stamp = 0;
            state.told = state.frames;
            state.low = state.frames;
            state.clean = null_mut();
            state.nested = null_mut();
            state.kernel_id = 0;
            state.spin.end = null_mut();
            state.predictor.clear();
            block::next(thread);
        }
        let (low, high) = (*thread).stack;
        begin_again(thread, low, high);
    }
}

/// Records the first events of the forked child's thread.
///
/// # Safety
/// As for [`restart_in_child`], which has begun the stream anew.
unsafe fn begin_again(thread: *mut Thread, low: u64, high: u64) {
    // SAFETY: as in `restart_in_child`.
    unsafe {
        // Begin has an empty stack; the functions that the fork was called from come after it.
        let top = core::mem::replace(&mut (*thread).top, (*thread).frames);
        log::event_of(thread, 0, &Op::Begin);
        (*thread).top = top;
        (*thread).clean = null_mut();
        if high > low {
            let alloc = Op::Alloc { address: low, size: high - low, kind: BlockKind::Stack };
            log::event_of(thread, 0, &alloc);
        }
        tell_thread_local(thread);
        tell_nowhere(thread);
        names(|names| names.begun(0, c::pthread_self()));
    }
}

/// Records that accesses by null pointers are no races: they fault, and did not take place.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn tell_nowhere(thread: *mut Thread) {
    if !online::only() {
        let (address, size, kind) = (0, online::NOWHERE, BlockKind::Benign);
        // SAFETY: the calling thread's own state.
        unsafe { log::event_of(thread, 0, &Op::Alloc { address, size, kind }) };
    }
}

/// Records where the thread has the executable's thread-local variables.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn tell_thread_local(thread: *mut Thread) {
    if let Some((address, size)) = modules::own_thread_local() {
        // SAFETY: the calling thread's own state.
        unsafe { log::event_of(thread, 0, &Op::Alloc { address, size, kind: BlockKind::ThreadLocal }) };
    }
}
