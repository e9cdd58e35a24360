//! Sets that cells have in common, under a model checker: every interleaving of a few threads.

#![allow(dead_code, reason = "the included files serve more than these tests")]

mod sys {
    pub(crate) mod primitive {
        //! Stands in for the runtime's `sys::primitive`.

        pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

        /// A locked operation is a fence on some machines; the model checker's is none.
        pub(crate) fn fence_after_locked() {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }
}

#[path = "../src/online/common.rs"]
mod common;

#[path = "../src/online/crowd.rs"]
mod crowd;

#[path = "../src/online/pair.rs"]
mod pair;

#[path = "../src/online/set.rs"]
mod set;

#[path = "../src/online/word.rs"]
mod word;

use std::sync::Arc;

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use common::{Memo, Row, Table};
use pair::Entered;
use set::{Not, Seen};
use word::{ATOMIC, WRITE};

/// Of the slots 1 to 6, what a thread knows and what all do.
#[derive(Clone, Copy)]
struct Knows {
    own: u32,
    clocks: [u64; 7],
    all: [u64; 7],
}

impl Seen for Knows {
    fn ordered(&self, word: u64) -> bool {
        word::slot(word) == self.own
            || self.clocks.get(word::slot(word) as usize).is_some_and(|&known| word::clock(word) <= known)
    }

    fn forgettable(&self, word: u64) -> bool {
        self.all.get(word::slot(word) as usize).is_some_and(|&known| word::clock(word) <= known)
    }
}

/// A thread that knows nothing of the others.
fn stranger(own: u32) -> Knows {
    Knows { own, clocks: [0; 7], all: [0; 7] }
}

/// One that knows what the others did at clock 1, and that all do.
fn learned(own: u32) -> Knows {
    Knows { own, clocks: [1; 7], all: [1; 7] }
}

const ALL: u64 = 0xff;

fn at(slot: u32, clock: u64, kind: u64) -> u64 {
    word::moment(slot, clock) | kind
}

/// A cell as `online` has it; a set of its own, if it has one, is `large`.
struct Cell {
    pair: [AtomicU64; 2],
    large: [AtomicU64; 6],
}

/// Where `large` is said to be.
const SOMEWHERE: usize = 64;

/// Two cells, and the few sets that they can have in common.
struct Shared<const ROWS: usize> {
    table: Table<ROWS>,
    cells: [Cell; 2],
}

impl<const ROWS: usize> Shared<ROWS> {
    fn new() -> Self {
        let word = |_| AtomicU64::new(0);
        let cell = |_| Cell { pair: std::array::from_fn(word), large: std::array::from_fn(word) };
        let row = |_| Row { age: AtomicU64::new(0), words: std::array::from_fn(word) };
        Shared { table: Table(std::array::from_fn(row)), cells: std::array::from_fn(cell) }
    }

    /// One whose first cell was read by these slots at clock 1.
    fn read_by(slots: &[u32]) -> Self {
        let shared = Self::new();
        for &slot in slots {
            assert!(shared.enter(0, at(slot, 1, 0), &stranger(slot)).is_empty());
        }
        shared
    }

    fn name(&self, cell: usize) -> bool {
        word::is_common(self.cells[cell].pair[0].load(Ordering::SeqCst))
    }

    fn enter(&self, cell: usize, mine: u64, seen: &Knows) -> Vec<u64> {
        self.enter_with(cell, mine, seen, &mut Memo::new())
    }

    /// The words that race with `mine`, which is in the cell afterwards.
    fn enter_with(&self, cell: usize, mine: u64, seen: &Knows, memo: &mut Memo) -> Vec<u64> {
        let cell = &self.cells[cell];
        let pair = &cell.pair;
        let mut races = Vec::new();
        let mut entered = match mine & ATOMIC {
            0 => pair::again::<true>(seen, pair, mine, true),
            _ => pair::again::<false>(seen, pair, mine, true),
        };
        if entered == Entered::No && mine & (WRITE | ATOMIC) == 0 {
            // As a range comes to it.
            entered = match common::over(memo, std::slice::from_ref(pair), mine) {
                (0, _) => Entered::No,
                (_, true) => Entered::Yes,
                (_, false) => Entered::There,
            };
        }
        if entered == Entered::No {
            entered = common::enter((&self.table, memo), seen, pair, mine, false);
        }
        if entered == Entered::No && !word::is_special(pair[0].load(Ordering::Relaxed)) {
            entered = pair::replace(seen, pair, mine);
        }
        if entered <= Entered::Yes {
            return races;
        }
        loop {
            let Some(set) = self.set_of(cell) else {
                thread::yield_now();
                continue;
            };
            match set::publish(set, mine, seen) {
                Ok(_) => {}
                Err(Not::Full) if set.len() == pair.len() => {
                    if common::enter((&self.table, memo), seen, pair, mine, true) == Entered::Yes {
                        return races;
                    }
                    grow(cell);
                    continue;
                }
                Err(_) => {
                    thread::yield_now();
                    continue;
                }
            }
            if set::look(set, mine, seen, |word| races.push(word)).is_ok() {
                return races;
            }
            thread::yield_now();
        }
    }

    /// As `block::set_of`: a common set becomes the cell's own before.
    fn set_of<'a>(&self, cell: &'a Cell) -> Option<&'a [AtomicU64]> {
        let first = cell.pair[0].load(Ordering::SeqCst);
        if !word::is_special(first) {
            return Some(&cell.pair);
        }
        if word::is_common(first) {
            let words = self.table.read(first);
            if words.get().len() <= 2 {
                let word = |at| words.get().get(at).copied().unwrap_or(0);
                common::become_pair(&cell.pair, first, [word(0), word(1)]);
            } else if seal(cell, first) {
                link(cell, words.get());
            }
            return None;
        }
        (word::linked(first) != 0).then_some(&cell.large)
    }
}

fn seal(cell: &Cell, first: u64) -> bool {
    cell.pair[0].compare_exchange(first, word::SEALED, Ordering::SeqCst, Ordering::Relaxed).is_ok()
}

fn link(cell: &Cell, words: &[u64]) {
    for (place, &word) in cell.large.iter().zip(words) {
        place.store(word, Ordering::Relaxed);
    }
    cell.pair[0].store(word::link(SOMEWHERE), Ordering::SeqCst);
}

/// As `block::grow`.
fn grow(cell: &Cell) {
    let first = cell.pair[0].load(Ordering::Acquire);
    if word::is_special(first) || !seal(cell, first) {
        return;
    }
    let mut words = Vec::new();
    words.push(first);
    set::seal(&cell.pair[1..], |word| words.push(word));
    link(cell, &words);
}

fn model(check: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(check);
}

/// Two threads, slots 1 and 2, access at once what neither knows of the other and some read before.
fn meet(readers: &'static [u32], one: u64, other: u64, knows: fn(u32) -> Knows) {
    model(move || {
        let shared = Arc::new(Shared::<4>::read_by(readers));
        assert_eq!(shared.name(0), readers.len() > 2);
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || theirs.enter(0, other, &knows(2)));
        let mut races = shared.enter(0, one, &knows(1));
        races.extend(thread.join().expect("the thread ends"));
        let meant = |&&word: &&u64| word == one || word == other;
        let before = races.iter().filter(|word| !meant(word)).count();
        assert!(races.iter().any(|word| meant(&word)), "missed");
        // A write races with all who read before unless it knows of them.
        let writes = [one, other].iter().filter(|&&word| word & WRITE != 0).count();
        let unknown = if knows(1).clocks[1] == 0 { readers.len() * writes } else { 0 };
        assert!(before >= unknown.min(readers.len()), "{races:x?}");
        assert!(unknown != 0 || before == 0, "{races:x?}");
    });
}

/// Of two accesses at once to a cell that has a common set, gets one, gives it up, or loses it to a write, one sees the other.
#[test]
fn of_two_accesses_at_once_one_sees_the_other() {
    for readers in [&[3, 4][..], &[3, 4, 5]] {
        meet(readers, at(1, 2, 0), at(2, 2, WRITE), stranger);
        meet(readers, at(1, 2, WRITE), at(2, 2, WRITE), stranger);
        meet(readers, at(1, 2, 0), at(2, 2, WRITE), learned);
        meet(readers, at(1, 2, WRITE), at(2, 2, ATOMIC), learned);
    }
}

/// Of reads at once none is lost, nor one before: who writes later races with each.
#[test]
fn of_reads_at_once_all_are_remembered() {
    for readers in [&[3, 4][..], &[3, 4, 5], &[3, 2], &[2, 3]] {
        for second in [word::only(at(2, 2, 0), 0x0f), at(2, 2, 0)] {
            model(move || {
                let shared = Arc::new(Shared::<4>::read_by(readers));
                let theirs = Arc::clone(&shared);
                let thread = thread::spawn(move || theirs.enter(0, second, &stranger(2)));
                assert!(shared.enter(0, at(1, 2, 0), &stranger(1)).is_empty());
                assert!(thread.join().expect("the thread ends").is_empty());
                let races = shared.enter(0, at(6, 9, WRITE), &stranger(6));
                let before = readers.iter().filter(|&&slot| slot != 2).map(|&slot| at(slot, 1, 0));
                for read in before.chain([at(1, 2, 0), second]) {
                    assert!(races.contains(&read), "{read:x} is not in {races:x?}");
                }
            });
        }
    }
}

/// A row is used again while somebody reads a cell that still names its last set, which all know: the read is remembered, and nobody races with what another cell's
/// readers did.
#[test]
fn a_row_that_is_used_again_says_nothing_of_other_cells() {
    for kind in [0, WRITE] {
        model(move || {
            let shared = Arc::new(Shared::<2>::read_by(&[3, 4, 5]));
            let theirs = Arc::clone(&shared);
            // In this order: the checker forgets a load for which the same word is loaded before it is changed.
            let thread =
                thread::spawn(move || assert!(theirs.enter(0, at(1, 2, kind), &learned(1)).is_empty()));
            for slot in [3, 4, 5] {
                assert!(shared.enter(1, at(slot, 2, 0), &learned(slot)).is_empty());
            }
            assert!(shared.name(1));
            thread.join().expect("the thread ends");
            assert_eq!(shared.enter(0, at(2, 2, WRITE), &learned(2)), [at(1, 2, kind)]);
        });
    }
}
