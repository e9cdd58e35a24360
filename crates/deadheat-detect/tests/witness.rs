//! The checker of witnesses says which rule a reordering breaks, and where.

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{BlockKind, Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::witness::Witness;
use deadheat_detect::witness::{Broken, Rule, Run};

const X: u64 = 0x1000;
const Y: u64 = 0x2000;
const M: u64 = 0x9000;

const READ_X: Op = plain(X, Mode::Read);
const WRITE_X: Op = plain(X, Mode::Write);
const READ_Y: Op = plain(Y, Mode::Read);
const WRITE_Y: Op = plain(Y, Mode::Write);
const LOCK: Op = Op::Acquire { lock: M, mode: LockMode::Write };
const UNLOCK: Op = Op::Release { lock: M, mode: LockMode::Write };
const READ_LOCK: Op = Op::Acquire { lock: M, mode: LockMode::Read };
const READ_UNLOCK: Op = Op::Release { lock: M, mode: LockMode::Read };

const fn plain(address: u64, mode: Mode) -> Op {
    Op::Access(Access::plain(address, 4, mode))
}

const fn atomic(address: u64, mode: Mode) -> Op {
    Op::Access(Access { atomic: Some(MemoryOrder::Relaxed), ..Access::plain(address, 4, mode) })
}

const fn post(kind: SyncKind) -> Op {
    Op::Signal { object: M, kind }
}

const fn wait(kind: SyncKind, woken: bool) -> Op {
    Op::Wait { object: M, kind, woken }
}

fn run(ops: &[(u32, Op)]) -> Vec<Event> {
    let event = |&(thread, op)| Event {
        thread: ThreadId(thread),
        place: PlaceId::UNKNOWN,
        stack: StackId::EMPTY,
        times: 1,
        op,
    };
    ops.iter().map(event).collect()
}

/// Checks a reordering: how many events of which thread, and in which order; the accesses are those of threads 0 and 1.
fn check(
    ops: &[(u32, Op)],
    done: &[(u32, u64)],
    order: Option<&[(u32, u64)]>,
) -> Result<(usize, usize), Broken> {
    let threads = |list: &[(u32, u64)]| -> Vec<(ThreadId, u64)> {
        list.iter().map(|&(thread, events)| (ThreadId(thread), events)).collect()
    };
    let events = run(ops);
    let (done, order) = (threads(done), order.map(threads));
    let witness = Witness { first: 0, done: &done, order: order.as_deref() };
    Run::new(&events).check(&witness, (ThreadId(0), ThreadId(1)))
}

fn broken(rule: Rule, event: usize) -> Result<(usize, usize), Broken> {
    Err(Broken { rule, event: Some(event) })
}

fn nowhere(rule: Rule) -> Result<(usize, usize), Broken> {
    Err(Broken { rule, event: None })
}

#[test]
fn two_accesses_at_the_beginning() {
    assert_eq!(check(&[(0, WRITE_X), (1, READ_X)], &[], None), Ok((0, 1)));
}

#[test]
fn accesses_must_conflict() {
    assert_eq!(check(&[(0, READ_X), (1, READ_X)], &[], None), broken(Rule::Conflict, 1));
    assert_eq!(check(&[(0, WRITE_X), (1, READ_Y)], &[], None), broken(Rule::Conflict, 1));
    let atomics = [(0, atomic(X, Mode::Write)), (1, atomic(X, Mode::Write))];
    assert_eq!(check(&atomics, &[], None), broken(Rule::Conflict, 1));
    assert_eq!(check(&[(0, WRITE_X), (1, LOCK)], &[], None), broken(Rule::Conflict, 1));
}

#[test]
fn both_accesses_must_be_next() {
    assert_eq!(check(&[(0, WRITE_X), (1, READ_X)], &[(0, 1)], None), nowhere(Rule::Accesses));
}

#[test]
fn threads_do_what_they_did() {
    let ops = [(0, WRITE_Y), (0, WRITE_X), (1, READ_X)];
    assert_eq!(check(&ops, &[(0, 1)], None), Ok((1, 2)));
    assert_eq!(check(&ops, &[(0, 4)], None), nowhere(Rule::Count));
    assert_eq!(check(&ops, &[(0, 1), (0, 1)], None), nowhere(Rule::Count));
    assert_eq!(check(&ops, &[(7, 1)], None), nowhere(Rule::Count));
    assert_eq!(check(&ops, &[(0, 1)], Some(&[])), nowhere(Rule::Count));
    assert_eq!(check(&ops, &[(0, 1)], Some(&[(0, 1), (1, 1)])), nowhere(Rule::Count));
    assert_eq!(check(&ops, &[(0, 1)], Some(&[(0, 1)])), Ok((1, 2)));
}

#[test]
fn locks_exclude() {
    let ops = [(0, LOCK), (0, WRITE_X), (0, UNLOCK), (1, LOCK), (1, WRITE_X), (1, UNLOCK)];
    assert_eq!(check(&ops, &[(0, 1), (1, 1)], None), broken(Rule::Exclusion, 3));
    let ops = [(0, READ_LOCK), (0, WRITE_X), (0, READ_UNLOCK), (1, READ_LOCK), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(0, 1), (1, 1)], None), Ok((1, 4)));
    let ops = [(0, READ_LOCK), (0, WRITE_X), (0, READ_UNLOCK), (1, LOCK), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(0, 1), (1, 1)], None), broken(Rule::Exclusion, 3));
    let destroyed = [(0, LOCK), (0, WRITE_X), (0, UNLOCK), (1, Op::Forget { object: M }), (1, WRITE_X)];
    assert_eq!(check(&destroyed, &[(0, 1), (1, 1)], None), broken(Rule::Exclusion, 3));
}

#[test]
fn the_last_release_of_a_recursive_lock_gives_it_back() {
    let ops =
        [(0, LOCK), (0, LOCK), (0, UNLOCK), (0, WRITE_X), (0, UNLOCK), (1, LOCK), (1, UNLOCK), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(0, 3), (1, 2)], None), broken(Rule::Exclusion, 5));
}

#[test]
fn a_section_may_come_before_an_earlier_one() {
    let ops = [(0, LOCK), (0, WRITE_X), (0, UNLOCK), (1, LOCK), (1, UNLOCK), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(0, 1), (1, 2)], None), broken(Rule::Exclusion, 3));
    assert_eq!(check(&ops, &[(0, 1), (1, 2)], Some(&[(1, 2), (0, 1)])), Ok((1, 5)));
}

#[test]
fn reads_keep_their_writers() {
    let ops = [(0, WRITE_X), (0, WRITE_Y), (1, READ_Y), (1, READ_X)];
    assert_eq!(check(&ops, &[(1, 1)], None), broken(Rule::ReadsFrom, 2));
    // One that was not there: here thread 2 reads what nobody wrote yet.
    let ops = [(2, READ_Y), (2, WRITE_Y), (0, WRITE_Y), (0, WRITE_X), (1, READ_X)];
    assert_eq!(check(&ops, &[(0, 1), (2, 1)], None), Ok((3, 4)));
    assert_eq!(check(&ops, &[(0, 1), (2, 1)], Some(&[(0, 1), (2, 1)])), broken(Rule::ReadsFrom, 0));
    // A read-modify-write reads.
    let modify = atomic(Y, Mode::ReadWrite);
    let ops = [(0, WRITE_X), (0, modify), (1, modify), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(1, 1)], None), broken(Rule::ReadsFrom, 2));
    // Of a wide read each byte counts.
    let wide = Op::Access(Access::plain(Y, 8, Mode::Read));
    let ops =
        [(2, plain(Y, Mode::Write)), (0, WRITE_X), (0, plain(Y + 4, Mode::Write)), (1, wide), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(2, 1), (1, 1)], None), broken(Rule::ReadsFrom, 3));
}

#[test]
fn threads_begin_after_their_creation_and_end_before_they_are_joined() {
    let child = ThreadId(1);
    let ops = [(0, WRITE_Y), (0, Op::Fork { child }), (0, WRITE_X), (1, WRITE_X), (1, Op::End)];
    assert_eq!(check(&ops, &[(0, 2)], None), Ok((2, 3)));
    let ops = [(2, WRITE_Y), (2, Op::Fork { child }), (0, WRITE_X), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(2, 1)], None), broken(Rule::Missing(1), 3));
    let child = ThreadId(2);
    let ops = [(2, WRITE_Y), (2, Op::End), (0, Op::Join { child }), (0, WRITE_X), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(0, 1), (2, 1)], None), broken(Rule::Missing(1), 2));
}

#[test]
fn waits_keep_what_they_learned_from() {
    for kind in [SyncKind::Once, SyncKind::Annotation] {
        let ops = [(0, WRITE_X), (0, post(kind)), (1, wait(kind, true)), (1, WRITE_X)];
        assert_eq!(check(&ops, &[(1, 1)], None), broken(Rule::Missing(1), 2), "{kind:?}");
    }
    let condition = SyncKind::Condition;
    let begins = Op::Await { object: M, kind: condition };
    let ops = [(1, begins), (0, WRITE_X), (0, post(condition)), (1, wait(condition, true)), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(1, 2)], None), broken(Rule::Waits, 3));
    // Any signal that comes while it waits does.
    let ops = [
        (1, begins),
        (0, WRITE_X),
        (0, post(condition)),
        (2, post(condition)),
        (1, wait(condition, true)),
        (1, WRITE_X),
    ];
    assert_eq!(check(&ops, &[(2, 1), (1, 2)], None), Ok((1, 5)));
    assert_eq!(check(&ops, &[(2, 1), (1, 2)], Some(&[(2, 1), (1, 2)])), broken(Rule::Waits, 4));
    let late = [(1, begins), (0, WRITE_X), (0, post(condition)), (1, wait(condition, false)), (1, WRITE_X)];
    assert_eq!(check(&late, &[(1, 2)], None), Ok((1, 4)));
    // A post that nobody else takes does.
    let semaphore = SyncKind::Semaphore;
    let ops = [(0, WRITE_X), (0, post(semaphore)), (1, wait(semaphore, true)), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(1, 1)], None), broken(Rule::Waits, 2));
    let ops =
        [(0, WRITE_X), (0, post(semaphore)), (2, post(semaphore)), (1, wait(semaphore, true)), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(2, 1), (1, 1)], None), Ok((0, 4)));
    // A semaphore that gave nothing might give something if the wait that took it were not there.
    let ops = [(0, WRITE_X), (0, wait(semaphore, true)), (1, wait(semaphore, false)), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(1, 1)], None), broken(Rule::Missing(1), 2));
    let all = wait(SyncKind::Everything, true);
    assert_eq!(check(&[(0, WRITE_X), (1, all), (1, WRITE_X)], &[(1, 1)], None), broken(Rule::Missing(0), 1));
}

#[test]
fn barriers_keep_their_rounds() {
    let (arrive, leave) = (Op::Arrive { barrier: M, count: 2 }, Op::Leave { barrier: M });
    let ops = [(0, WRITE_X), (0, arrive), (1, arrive), (1, leave), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(1, 2)], None), broken(Rule::Missing(1), 3));
    let ops = [(2, arrive), (3, arrive), (1, arrive), (1, WRITE_X), (0, WRITE_X)];
    assert_eq!(check(&ops, &[(1, 1)], None), broken(Rule::Missing(0), 2));
}

#[test]
fn memory_lives_as_it_did() {
    let alloc = Op::Alloc { address: X, size: 8, kind: BlockKind::Heap };
    let free = Op::Free { address: X, size: 8, kind: BlockKind::Heap };
    let ops = [(2, alloc), (0, WRITE_X), (1, WRITE_X)];
    assert_eq!(check(&ops, &[], None), broken(Rule::Conflict, 2));
    assert_eq!(check(&ops, &[(2, 1)], None), Ok((1, 2)));
    // The end of a life is a write; the next life is another.
    assert_eq!(check(&[(2, alloc), (0, WRITE_X), (1, free)], &[(2, 1)], None), Ok((1, 2)));
    let ops = [(2, alloc), (0, WRITE_X), (3, free), (4, alloc), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(2, 1)], None), broken(Rule::Conflict, 4));
    let ops = [(2, alloc), (3, free), (4, alloc), (0, WRITE_X), (1, WRITE_X)];
    assert_eq!(check(&ops, &[(2, 1), (4, 1)], None), broken(Rule::Missing(1), 2));
    assert_eq!(check(&ops, &[(2, 1), (3, 1), (4, 1)], None), Ok((3, 4)));
}
