//! Races found while the program runs: happens-before, exact to the byte, without a history that ends.
//!
//! Every granule of eight bytes has a cell, which remembers the accesses that a later one may race with: words of
//! slot, clock, kind and bytes ([`word`], [`set`], [`block`], [`shadow`]). Synchronisation moves clocks ([`clock`],
//! [`object`], [`order`], [`slots`]). Where in the code an access was is in the slot's [`history`], its calls in the
//! [`tree`]; a race is written into the trace's file at once ([`report`]), and the command line tells it.
//!
//! Cost: an access that its moment has made already is two loads and two comparisons behind the look-up of its cell. Model:
//! "add the access to the cell's set, and judge it against all others by `core::rule`".
//!
//! Invariants: no lock is taken on the way of an access but a cell's seal while it grows; `hot::thread::Thread::busy` is
//! set while the calling thread may look at a block.

mod across;
mod apart;
mod atomic;
pub(crate) mod beside;
mod block;
mod chain;
mod child;
mod clock;
mod common;
mod crowd;
mod current;
mod eye;
mod fewest;
mod fill;
mod freed;
mod history;
mod life;
pub(crate) mod list;
mod memory;
mod narrow;
mod neighbours;
mod nesting;
mod object;
mod order;
mod pair;
mod part;
mod places;
pub(crate) mod pool;
mod quick;
mod range;
pub(crate) mod record;
mod report;
mod ring;
mod row;
mod set;
mod shadow;
mod slots;
mod span;
mod state;
mod tree;
mod word;

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::access::{Access, Via};
use deadheat_core::event::{BlockKind, Fault, LockMode, Op, SyncKind};

pub(crate) use across::on_odd_access;
pub(crate) use atomic::{Operation, atomic, has_accessed, loaded, publishes, soon, teaches};
pub(crate) use beside::forget_turn;
pub(crate) use child::{in_child, lock_for_fork, unlock_after_fork};
pub(crate) use current::{become_current, begin_anew, ignore, interrupted, switch_to};
pub(crate) use eye::Eye;
pub(crate) use history::Kept;
pub(crate) use life::{born as block_born, died as block_died, is_common as tells_lives, live_size};
pub(crate) use memory::{begin as limit_memory, none as without_memory};
pub(crate) use object::ADDRESS_BITS;
pub(crate) use quick::{access, on_access, used};
pub(crate) use range::{is_known as is_known_range, publish as publish_range, range};
pub(crate) use report::{NOWHERE, heap_block, records as certain};
pub(crate) use shadow::{CELLS, REGION_LOG2, REGIONS, freed_again, has_waited, waited};
pub(crate) use slots::running;
pub(crate) use state::{LOOKING, ON, beside_recording, expect_others, looking, looks_alone, on, only, stop};
pub(crate) use tree::Near;
pub(crate) use word::{NO_NAME, WRITE, WRITE_BIT};

use crate::hot::atomic as stripes;
use crate::hot::log;
use crate::hot::thread::{Holds, Thread, done};
use crate::sys;
use block::Blocks;
use clock::Clock;
use crowd::Came;
use object::Family;
use pair::Entered;
use report::Mine;
use shadow::Cell;
use state::{ALONE, change, give_up, has_given_up};
use word::{ATOMIC, BYTES, GRANULE};

/// [`Thread::busy`] while an access is judged or noted.
const JUDGING: u32 = 2;
/// [`Thread::busy`] while clocks change.
const ORDERING: u32 = 3;

/// How many pairs of places that race, and how much else that may have to be told, is written down so far.
pub(crate) fn records() -> u32 {
    report::records().wrapping_add(nesting::suspicious())
}

/// Races are looked for from now on, beside a recording or instead of one; the trace's file is open.
pub(crate) fn start(beside: bool) {
    state::is_beside(beside);
    if !tree::start() {
        return;
    }
    report::begin();
    change(0, LOOKING);
}

/// Another thread comes: accesses are looked at.
fn look() {
    change(ALONE, LOOKING);
}

/// Accesses are not looked at as long as the calling thread, whose clock is `known`, is the only one and knows all that
/// others did.
fn rest(known: &Clock) {
    if looking() {
        slots::if_alone(known, || change(LOOKING, ALONE));
    }
}

/// Remembers an access and judges it against those before.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn judge(thread: *mut Thread, access: &Access, pc: u64) {
    // SAFETY: passed on.
    unsafe { judge_part(thread, access, (access.address as usize, access.end() as usize), pc) };
}

/// As [`judge`], for the bytes from `start` to `end` alone.
///
/// # Safety
/// As there.
unsafe fn judge_part(thread: *mut Thread, access: &Access, range: (usize, usize), pc: u64) {
    // SAFETY: the caller's promise. A handler that interrupts this finds `busy` set: it neither waits for a cell that
    // may be sealed by what it interrupted, nor writes into the history.
    unsafe {
        let ignored = (*thread).internal != 0 || (*thread).ignores(access.mode.writes());
        if ignored || (*thread).eye.slot == 0 || !looking() {
            return;
        }
        let outer = (*thread).busy;
        (*thread).busy = outer.max(JUDGING);
        compiler_fence(Ordering::SeqCst);
        let patient = outer == 0;
        // What is in no record must be published with its moment all the same.
        (*thread).eye.changed |= !patient;
        let moment = (*thread).eye.moment()
            | if access.mode.writes() { WRITE } else { 0 }
            | if access.atomic.is_some() { ATOMIC } else { 0 };
        let note = || {
            if patient {
                Eye::note(thread, access, pc);
            }
        };
        let mut from = range.0;
        while patient && range.1 - from > memory::PART {
            enter_all(thread, (from, from + memory::PART), (moment, patient), note, || (*access, pc));
            from += memory::PART;
            memory::look(thread);
        }
        enter_all(thread, (from, range.1), (moment, patient), note, || (*access, pc));
        done(thread, outer);
    }
}

/// How many cells an access is published in before it is noted: who finds it there waits for that.
const AT_ONCE: usize = span::CELLS;

/// Publishes an access of the bytes from `start` to `end` in their cells and judges it. `moment` is the word of no bytes.
/// `note` puts the access into the history.
///
/// # Safety
/// `thread` is the calling thread's, and busy.
#[inline(always)]
unsafe fn enter_all(
    thread: *mut Thread,
    (start, end): (usize, usize),
    (moment, patient): (u64, bool),
    note: impl Fn(),
    what: impl Fn() -> (Access, u64),
) {
    let mut noted = false;
    let mut note = || {
        if !noted {
            noted = true;
            note();
        }
    };
    // SAFETY: the caller's promise.
    let past = unsafe { quick::past_of(thread) };
    let mut at = start;
    while at < end {
        let mut entered = Entered::No;
        let crowd = patient && moment & ATOMIC == 0 && shadow::cell(at).is_some_and(has_block);
        if !crowd && at.is_multiple_of(GRANULE) && end - at >= 2 * GRANULE && moment & ATOMIC == 0 {
            // SAFETY: the caller's promise.
            let done = unsafe { neighbours::enter(thread, (at, end), (moment, patient), &mut note, &what) };
            at += done.bytes;
            if done.are_all {
                continue;
            }
            entered = done.next;
        }
        let granule = at & !(GRANULE - 1);
        let next = (granule + GRANULE).min(end);
        let mine = word::only(moment, word::bytes(at - granule, next - at));
        let Some(cell) = shadow::cell(at) else { break };
        at = next;
        if crowd {
            // SAFETY: the caller's promise: the calling thread is marked busy.
            entered = unsafe {
                match mine & WRITE {
                    0 => quick::in_crowd::<false>(thread, cell, mine),
                    _ => quick::in_crowd::<true>(thread, cell, mine),
                }
            };
        } else if entered == Entered::No {
            entered = pair::again::<false>(&past, cell, mine, true);
        }
        match entered {
            Entered::There => {}
            Entered::Yes => note(),
            // SAFETY: the caller's promise.
            Entered::No | Entered::Met => unsafe {
                enter(thread, (cell, granule), (mine, patient), entered, (&mut note, &what));
            },
        }
    }
}

/// Whether a cell has a [block](block).
#[inline(always)]
fn has_block(cell: &Cell) -> bool {
    let first = cell[0].load(Ordering::Relaxed);
    word::is_link(first) && word::linked(first) != 0
}

/// Publishes an access in one cell in the ways that are less common and judges it; `entered` is what came of the most
/// common one.
///
/// # Safety
/// `thread` is the calling thread's, and busy; if it is `patient` it interrupts no other hook.
#[inline]
unsafe fn enter(
    thread: *mut Thread,
    (cell, granule): (&Cell, usize),
    (mine, patient): (u64, bool),
    mut entered: Entered,
    (note, what): (&mut impl FnMut(), &impl Fn() -> (Access, u64)),
) {
    // SAFETY: the caller's promise: the calling thread's own state, and it is busy.
    unsafe {
        let first = cell[0].load(Ordering::Relaxed);
        let linked = word::is_special(first);
        if entered == Entered::No && patient && (!linked || word::is_common(first)) {
            let blocks = &mut (*thread).eye.blocks;
            entered = block::enter_common(cell, mine, &quick::past_of(thread), blocks, false);
        }
        if entered >= Entered::No && patient && linked {
            let again = entered == Entered::Met;
            let came = part::come(cell, (mine, again), &quick::past_of(thread), &mut (*thread).eye.blocks);
            if again {
                note();
            }
            if came == Entered::There {
                // Its thread came back, and mostly does so again soon.
                block::hint_beside_none(cell, mine, &mut (*thread).eye.blocks);
            }
            if came != Entered::No {
                entered = came;
            }
        }
        if entered == Entered::No && !linked {
            entered = pair::replace(&quick::past_of(thread), cell, mine);
        }
        match entered {
            Entered::There => return,
            Entered::Yes => return note(),
            Entered::No => {}
            Entered::Met => note(),
        }
        // While it grows, it may still be the cell itself.
        if linked
            && let Some(set) = block::set_of(cell, &mut (*thread).eye.blocks, patient)
            && set.len() > cell.len()
        {
            let came = crowd::enter(&quick::past_of(thread), set, mine);
            if let Came::Yes(word) | Came::Met(word) | Came::There(word) = came {
                if came != Came::There(word) {
                    note();
                }
                if came == Came::Met(word) || entered == Entered::Met {
                    let (access, pc) = what();
                    let mine = Mine { access: &access, pc, word: mine, granule: granule as u64 };
                    look_at(thread, cell, mine, patient);
                }
                let noted = patient && came != Came::There(word);
                return part::came((set, cell), (mine, word), noted, &mut (*thread).eye.blocks);
            }
        }
        note();
        let (access, pc) = what();
        let word = Mine { access: &access, pc, word: mine, granule: granule as u64 };
        judge_in(thread, cell, word, patient);
        if entered == Entered::Met {
            look_at(thread, cell, word, patient);
        }
    }
}

/// Remembers an access in one cell and judges it.
///
/// # Safety
/// As for [`enter`].
unsafe fn judge_in(thread: *mut Thread, cell: &Cell, mine: Mine<'_>, patient: bool) {
    // SAFETY: the calling thread's own state, and it is busy; the parts of its eye that are borrowed do not overlap.
    unsafe {
        let past = quick::past_of(thread);
        let blocks: &mut Blocks = &mut (*thread).eye.blocks;
        let atomic = |set: Option<&[_]>| set.is_some_and(|set| set::has_atomic(set, mine.word));
        if mine.word & (WRITE | ATOMIC) == WRITE && atomic(block::set_of(cell, blocks, patient)) {
            silence(thread, &mine, patient);
        }
        block::access(cell, mine.word, &past, blocks, patient, |other| report::found(thread, mine, other));
    }
}

/// Judges an access that is in a cell against all others there.
///
/// # Safety
/// As for [`enter`].
#[inline(never)]
unsafe fn look_at(thread: *mut Thread, cell: &Cell, mine: Mine<'_>, patient: bool) {
    // SAFETY: the caller's promise: the calling thread's own state, and it is busy.
    unsafe {
        let (past, blocks) = (quick::past_of(thread), &mut (*thread).eye.blocks);
        if patient && part::come(cell, (mine.word, true), &past, blocks) <= Entered::Yes {
            return;
        }
        while let Some(set) = block::set_of(cell, &mut (*thread).eye.blocks, patient) {
            if set::look(set, mine.word, &past, |other| report::found(thread, mine, other)).is_ok() {
                break;
            }
        }
    }
}

/// A plain store ends the release sequences of the atomics that it goes over.
///
/// # Safety
/// `thread` is the calling thread's, and busy.
#[cold]
#[inline(never)]
unsafe fn silence(thread: *mut Thread, mine: &Mine<'_>, patient: bool) {
    // SAFETY: the calling thread's own state.
    let owner = unsafe { (*thread).id };
    // SAFETY: as above.
    let _holds = unsafe { Holds::new(thread) };
    // One guards the whole granule.
    if let Some(held) = stripes::hold(mine.granule as usize, (owner, patient)) {
        held.forget();
        let bytes = mine.word & BYTES;
        order::silence((mine.granule + u64::from(bytes.trailing_zeros()), u64::from(bytes.count_ones())));
    }
}

/// Changes the calling thread's clocks.
///
/// # Safety
/// `thread` is the calling thread's, has a slot, and interrupts no change of its clocks.
#[inline(always)]
unsafe fn ordering(thread: *mut Thread, change: impl FnOnce(&mut Eye)) {
    // SAFETY: the caller's promise: the calling thread's own state.
    unsafe {
        let outer = (*thread).busy;
        (*thread).busy = ORDERING;
        compiler_fence(Ordering::SeqCst);
        let before = (*thread).eye.mine;
        change(&mut (*thread).eye);
        if (*thread).eye.mine != before {
            (*thread).eye.move_on(thread, (*thread).id);
            sys::machine::set_moment_word((*thread).eye.mine);
            (*thread).clean = core::ptr::null_mut();
        } else if (*thread).eye.relocked {
            (*thread).clean = core::ptr::null_mut();
        }
        done(thread, outer);
    }
}

/// Whether the thread has cells, clocks or its history in hand, or a turn, or records what it judges then.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn is_at_work(thread: *mut Thread) -> bool {
    // SAFETY: the caller's promise.
    on() && unsafe { (*thread).busy != 0 || (*thread).eye.beside.has_turn() }
}

/// Anything but a plain or atomic access.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn event(thread: *mut Thread, pc: usize, op: &Op) {
    // SAFETY: the caller's promise.
    unsafe {
        let id = (*thread).id;
        if let Op::Begin = op {
            if (*thread).eye.slot == 0 && !has_given_up() {
                (*thread).eye.settle(thread, id);
            }
            become_current(thread);
        }
        if let Op::Fork { .. } | Op::Join { .. } | Op::Begin | Op::End = op {
            if let Op::Begin | Op::End = op {
                log::tell_bare(thread, pc, op);
            } else {
                log::tell_anew(thread, pc, op);
            }
            (*thread).eye.relations = (*thread).eye.relations.wrapping_add(1);
        }
        // A handler that interrupts a change of clocks must not change them.
        if (*thread).eye.slot == 0 || (*thread).busy == ORDERING || has_given_up() {
            return;
        }
        let owner = (id, (*thread).busy | (*thread).holds == 0);
        match *op {
            Op::Access(Access { address, size, via: Via::Birth, .. }) => birth(thread, address, size),
            Op::Access(access) => judge(thread, &access, pc as u64),
            Op::Fence(order) => ordering(thread, |eye| eye.fence(order)),
            Op::Acquire { lock, mode } => acquired(thread, pc, lock, mode),
            Op::Release { lock, mode } => released(thread, lock, mode),
            Op::Join { child } => {
                ordering(thread, |eye| eye.join(owner, child.0));
                rest(&(*thread).eye.clock);
            }
            Op::End => end(thread, owner),
            Op::Signal { object, kind } => ordering(thread, |eye| eye.signal(owner, object, kind)),
            Op::Await { object, kind } => ordering(thread, |eye| eye.begin_wait(owner, id, object, kind)),
            Op::Wait { kind: SyncKind::Everything, .. } => ordering(thread, Eye::learn_all),
            Op::Wait { object, kind, woken } => {
                ordering(thread, |eye| eye.end_wait(owner, id, object, (kind, woken)));
            }
            Op::Arrive { barrier, count } => ordering(thread, |eye| eye.arrive(owner, id, barrier, count)),
            Op::Leave { barrier } => ordering(thread, |eye| eye.leave(owner, id, barrier)),
            Op::Alloc { address, size, kind } => born(thread, pc, owner, (address, size, kind)),
            Op::Free { address, size, kind } => freed::died(thread, pc, (address, size, kind)),
            Op::Forget { object } => forget(thread, owner, object),
            Op::Request { lock, mode } if owner.1 => nesting::request(thread, pc, lock, mode),
            Op::Fault { object, fault } => wrong(thread, pc, object, fault),
            Op::Request { .. } | Op::Fork { .. } | Op::Begin | Op::Branch | Op::Enter | Op::Exit => {}
            Op::HiddenBegin | Op::HiddenEnd => {}
        }
    }
}

/// The thread has taken a lock.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn acquired(thread: *mut Thread, pc: usize, lock: u64, mode: LockMode) {
    // SAFETY: the caller's promise.
    unsafe {
        let busy = (*thread).busy;
        if (*thread).eye.slot == 0 || busy == ORDERING || has_given_up() {
            return;
        }
        let owner = ((*thread).id, busy | (*thread).holds == 0);
        let node = if owner.1 { Eye::node_of_call(thread, pc as u64) } else { 0 };
        ordering(thread, |eye| eye.acquire(owner, lock, mode, node));
    }
}

/// The thread is about to give a lock back.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn released(thread: *mut Thread, lock: u64, mode: LockMode) {
    // SAFETY: the caller's promise.
    unsafe {
        let busy = (*thread).busy;
        if (*thread).eye.slot != 0 && busy != ORDERING && !has_given_up() {
            let owner = ((*thread).id, busy | (*thread).holds == 0);
            ordering(thread, |eye| eye.release(owner, lock, mode));
        }
    }
}

/// What is wrong and no race is written into the thread's stream, once for each place and object.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn wrong(thread: *mut Thread, pc: usize, object: u64, fault: Fault) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).busy != 0 || !nesting::is_first(nesting::of_fault(pc, object, fault as u64)) {
            return;
        }
        if fault.is_of_lock() {
            nesting::tell_fault(thread, pc, object, fault);
        } else {
            log::tell_anew(thread, pc, &Op::Fault { object, fault });
        }
    }
    report::counted();
}

/// The lock that the calling thread took last, of those that it holds; 0 if that is not known.
pub(crate) fn newest_lock() -> u64 {
    let Some(thread) = crate::hot::thread::current().filter(|_| on()) else { return 0 };
    // SAFETY: the calling thread's own state.
    let eye = unsafe { &(*thread).eye };
    eye.held.last().map_or(0, |held| held.lock)
}

/// The thread that `parent` is about to create knows what `parent` knows.
///
/// # Safety
/// `parent` is the calling thread's; nobody else knows the child yet.
pub(crate) unsafe fn fork(parent: *mut Thread, child: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe {
        if on() && (*parent).eye.slot != 0 && !has_given_up() {
            ordering(parent, |eye| eye.hand_on(&mut (*child).eye.clock));
            (*child).eye.settle(child, (*child).id);
        }
    }
}

/// Nobody joins the thread with this number, which has ended or is about to.
pub(crate) fn nobody_joins(id: u32) {
    if let Some(thread) = crate::hot::thread::current().filter(|_| on()) {
        // SAFETY: the calling thread's own state.
        order::forget_end((unsafe { (*thread).id }, true), id);
    }
}

/// The thread has ended.
///
/// # Safety
/// As for [`ordering`], at the thread's end.
unsafe fn end(thread: *mut Thread, owner: (u32, bool)) {
    // SAFETY: the calling thread's own state; what it had at hand is another's from here on.
    unsafe {
        let slot = (*thread).eye.slot;
        let mut last = 0;
        ordering(thread, |eye| last = eye.publish_end(owner, owner.0));
        (*thread).eye.slot = 0;
        sys::machine::set_moment_word(0);
        slots::give(slot, last);
        drop_thread(thread);
    }
}

/// Gives back what an ended thread, or one that never began, has of the detector's.
///
/// # Safety
/// `thread` is nobody's any more, or the calling thread's at its end.
pub(crate) unsafe fn drop_thread(thread: *mut Thread) {
    if on() && !has_given_up() {
        // SAFETY: the caller's promise.
        unsafe {
            let slot = (*thread).eye.slot;
            if slot != 0 {
                // It never began.
                slots::give(slot, (*thread).eye.clock.get(slot));
            }
            block::bequeath(&mut (*thread).eye.blocks);
            (*thread).eye.drop_all();
        }
    }
}

/// A block comes to life: its bytes have no past, and no object in it has.
///
/// # Safety
/// `thread` is the calling thread's; nobody else uses the block in order, unless its kind is `Benign`.
unsafe fn born(thread: *mut Thread, pc: usize, owner: (u32, bool), what: (u64, u64, BlockKind)) {
    let (address, size, kind) = what;
    if kind == BlockKind::Benign {
        return report::benign(address, address.saturating_add(size));
    }
    let end = address.saturating_add(size);
    // SAFETY: the calling thread's own state.
    unsafe { forget_within(thread, owner, (address, end), Family::is_in_memory) };
    // SAFETY: the calling thread's own state; the block is new, so nobody else uses it in order.
    unsafe {
        let outer = (*thread).busy;
        (*thread).busy = outer.max(JUDGING);
        compiler_fence(Ordering::SeqCst);
        // A load that was made before may not be told again.
        (*thread).spin.key = 0;
        let fresh = kind != BlockKind::Heap;
        // While nothing is looked at, all that the cells know of is known to everybody who will look.
        if looking() {
            shadow::clear(address as usize, size as usize, fresh, &mut (*thread).eye.blocks);
        }
        match kind {
            BlockKind::Heap | BlockKind::Mapping | BlockKind::Descriptor => {
                let node = Eye::node_of_call(thread, pc as u64);
                let (address, size, kind) = (address as usize, size as usize, kind as u32);
                shadow::note(&shadow::Noted { address, size, kind, node, thread: owner.0 });
            }
            BlockKind::ThreadLocal => (*thread).eye.thread_local = (address, size),
            BlockKind::Stack | BlockKind::Benign => {}
        }
        done(thread, outer);
    }
}

/// The objects of these families in a range of addresses are no more.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn forget_within(
    thread: *mut Thread,
    owner: (u32, bool),
    (start, end): (u64, u64),
    which: fn(Family) -> bool,
) {
    object::in_range(start, end, |at| {
        let mut told = nesting::Gone::default();
        // SAFETY: the calling thread's own state.
        unsafe {
            // Who holds a stripe is busy: a handler that interrupts it must not wait for another one, nor touch what is being taken out.
            let outer = (*thread).busy;
            (*thread).busy = ORDERING;
            compiler_fence(Ordering::SeqCst);
            if let Some(held) = stripes::hold(at as usize, owner) {
                held.forget();
                // SAFETY: the stripe is held.
                object::remove_near(at, (start, end), which, |lock| told.add(lock));
            }
            done(thread, outer);
            told.forget(thread);
        }
    });
}

/// The birth of a block, whose cells are clear, is a write to its first bytes.
///
/// # Safety
/// `thread` is the calling thread's; nobody else uses the block in order.
unsafe fn birth(thread: *mut Thread, address: u64, size: u64) {
    // SAFETY: the calling thread's own state.
    unsafe {
        if (*thread).ignore_writes != 0 || (*thread).busy != 0 || !looking() {
            return;
        }
        let eye = &mut (*thread).eye;
        let moment = eye.birth_anyway();
        let (mut at, mut left) = (address as usize, (size as usize).div_ceil(GRANULE));
        while left != 0 {
            let cells = shadow::cells(at, left);
            for cell in cells {
                if cell[0].load(Ordering::Relaxed) == word::WIDE {
                    span::leave(cell, 0);
                }
                if cell[0].load(Ordering::Relaxed) == 0 {
                    cell[0].store(moment, Ordering::Relaxed);
                }
            }
            if cells.is_empty() {
                return;
            }
            (at, left) = (at + cells.len() * GRANULE, left - cells.len());
        }
    }
}

/// An object is made or destroyed; its value, if it is an atomic, stays.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn forget(thread: *mut Thread, owner: (u32, bool), address: u64) {
    // SAFETY: the calling thread's own state.
    unsafe {
        nesting::forget(thread, address);
        // As above.
        let _holds = Holds::new(thread);
        let outer = (*thread).busy;
        (*thread).busy = outer.max(JUDGING);
        compiler_fence(Ordering::SeqCst);
        if let Some(_held) = stripes::hold(address as usize, owner) {
            // SAFETY: the stripe is held.
            object::remove(address, |family| !matches!(family, Family::Atomic | Family::Thread));
        }
        done(thread, outer);
    }
}
