//! Sets whose threads' words are apart, under a model checker: every interleaving of a few threads.

#![allow(dead_code, reason = "the included files serve more than these tests")]

mod sys {
    pub(crate) mod primitive {
        //! Stands in for the runtime's `sys::primitive`.

        pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

        /// A locked operation is a fence on some machines; the model checker's is none.
        pub(crate) fn fence_after_locked() {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }

        /// What a barrier of all threads makes of a fence of the compiler.
        pub(crate) fn fence_beside_barrier() {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }
}

#[path = "../src/online/apart.rs"]
mod apart;

#[path = "../src/online/crowd.rs"]
mod crowd;

#[path = "../src/online/fewest.rs"]
mod fewest;

#[path = "../src/online/pair.rs"]
mod pair;

#[path = "../src/online/set.rs"]
mod set;

#[path = "../src/online/word.rs"]
mod word;

use std::sync::Arc;

use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;

use apart::{Kind, Place, Rest};
use pair::Entered;
use set::{Not, Seen};
use word::{ATOMIC, WRITE};

/// A thread that knows what is up to `known` in the slots 1 to 3.
#[derive(Clone, Copy)]
struct Knows([u64; 3]);

impl Seen for Knows {
    fn ordered(&self, word: u64) -> bool {
        let slot = (word::slot(word) as usize).checked_sub(1);
        slot.is_none_or(|slot| self.0.get(slot).is_some_and(|&known| word::clock(word) <= known))
    }
}

const NOTHING: Knows = Knows([0; 3]);
/// Where the blocks are said to be.
const SOMEWHERE: [usize; 2] = [64, 128];

fn at(slot: u32, clock: u64, kind: u64) -> u64 {
    word::moment(slot, clock) | kind
}

/// A cell as `online::part` has it: its words are in the first block, or apart, or in the second block.
struct Cell {
    first: AtomicU64,
    kind: Kind,
    others: [AtomicU64; 2],
    places: [Place; 3],
    rests: [&'static Rest; 3],
    blocks: [[AtomicU64; 6]; 2],
    /// Held while the cell is sealed: the model checker knows who waits for whom.
    sealing: Mutex<()>,
}

impl Cell {
    /// One whose words of `kind` are to be apart, and some of which are there; they are apart, unless it is `one` block.
    fn holding(kind: Kind, words: &[u64], one: bool) -> Cell {
        let none = || AtomicU64::new(0);
        let link = word::link(SOMEWHERE[0]);
        let cell = Cell {
            first: AtomicU64::new(link),
            kind,
            others: [none(), none()],
            places: std::array::from_fn(|_| [none(), none()]),
            rests: std::array::from_fn(|_| &*Box::leak(Box::new(std::array::from_fn(|_| none())))),
            blocks: std::array::from_fn(|_| std::array::from_fn(|_| none())),
            sealing: Mutex::new(()),
        };
        for (place, &word) in cell.blocks[0].iter().zip(words) {
            place.store(word, Ordering::SeqCst);
        }
        if !one {
            cell.part();
        }
        cell
    }

    /// The words that race with `mine`, which is in the cell afterwards.
    fn enter(&self, mine: u64, seen: &Knows) -> Vec<u64> {
        let (mut races, mut again) = (Vec::new(), false);
        loop {
            let link = self.first.load(Ordering::SeqCst);
            if link == word::SEALED {
                self.wait();
                continue;
            }
            if word::is_apart(link) {
                let entered = if Kind::of(mine) == Some(self.kind) {
                    apart::enter(seen, (&self.first, link), &self.others, self.place(mine), (mine, again))
                } else {
                    Entered::No
                };
                if entered <= Entered::Yes {
                    return races;
                }
                again |= entered == Entered::Met;
                self.unite();
                continue;
            }
            let set = &self.blocks[usize::from(link == word::link(SOMEWHERE[1]))];
            match set::publish(set, mine, seen) {
                Ok(_) => again = true,
                Err(Not::Sealed) => {
                    self.wait();
                    continue;
                }
                Err(Not::Full) => unreachable!("there is room"),
            }
            if set::look(set, mine, seen, |word| races.push(word)).is_ok() {
                return races;
            }
            self.wait();
        }
    }

    /// Where the words of an access's slot are.
    fn place(&self, mine: u64) -> (&Place, impl FnOnce() -> &'static Rest) {
        let at = word::slot(mine) as usize - 1;
        let rest = self.rests[at];
        (&self.places[at], move || rest)
    }

    fn wait(&self) {
        drop(self.sealing.lock().expect("nobody panics"));
    }

    fn seal(&self, is: fn(u64) -> bool) -> bool {
        let first = self.first.load(Ordering::SeqCst);
        let sealed = || self.first.compare_exchange(first, word::SEALED, Ordering::SeqCst, Ordering::Relaxed);
        is(first) && sealed().is_ok()
    }

    /// As `part::part`.
    fn part(&self) {
        let _sealing = self.sealing.lock().expect("nobody panics");
        if !self.seal(|first| first == word::link(SOMEWHERE[0])) {
            return;
        }
        let mut others = self.others.iter();
        set::seal(&self.blocks[0], |word| {
            let (place, rest) = self.place(word);
            if Kind::of(word) != Some(self.kind) || !apart::put(place, rest, word) {
                others.next().expect("there is room").store(word, Ordering::Relaxed);
            }
        });
        self.first.store(word::apart(word::link(SOMEWHERE[0])), Ordering::SeqCst);
    }

    /// As `part::unite`.
    fn unite(&self) {
        let _sealing = self.sealing.lock().expect("nobody panics");
        if !self.seal(word::is_apart) {
            return;
        }
        fence(Ordering::SeqCst);
        let rests = self.rests.iter().copied().flatten();
        let all = self.others.iter().chain(self.places.iter().flatten()).chain(rests);
        let words = all.map(|place| place.load(Ordering::Acquire)).filter(|&word| word != 0);
        for (place, word) in self.blocks[1].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        self.first.store(word::link(SOMEWHERE[1]), Ordering::SeqCst);
    }
}

/// Explores all runs with `DEADHEAT_ACCEPT=full`, or those of at most `most` switches of threads that could go on. Else those of one switch less, and at most
/// three.
fn explore(most: Option<usize>, check: impl Fn() + Send + Sync + 'static) {
    let full = std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full");
    let mut model = loom::model::Builder::new();
    model.preemption_bound = if full { most } else { Some(most.map_or(3, |most| most - 1)) };
    model.check(check);
}

fn model(check: impl Fn() + Send + Sync + 'static) {
    explore(None, check);
}

/// Slots 1 and 2 access at once what is apart and what some did before.
fn meet(kind: Kind, before: &[u64], accesses: [u64; 2]) {
    let before = before.to_vec();
    model(move || {
        let cell = Arc::new(Cell::holding(kind, &before, false));
        let theirs = Arc::clone(&cell);
        let thread = thread::spawn(move || theirs.enter(accesses[1], &NOTHING));
        let mut races = cell.enter(accesses[0], &NOTHING);
        races.extend(thread.join().expect("the thread ends"));
        let missed = !races.iter().any(|word| accesses.contains(word));
        assert_eq!(missed, !word::conflict(accesses[0], accesses[1]), "{races:x?}");
        for &word in &before {
            let slot = word::slot(word);
            let conflicts = |&&mine: &&u64| word::slot(mine) != slot && word::conflict(word, mine);
            let count = accesses.iter().filter(conflicts).count();
            // A later access of its thread's may have taken its place.
            let told = races.iter().filter(|&&other| word::slot(other) == slot).count();
            assert!(told >= count, "{word:x} is told {told} times in {races:x?}");
        }
    });
}

/// Of two accesses at once that conflict one sees the other, whichever of them unites the words.
#[test]
fn of_two_accesses_at_once_one_sees_the_other() {
    let read = at(3, 1, 0);
    for before in [&[][..], &[at(3, 1, 0)], &[at(1, 1, 0)]] {
        meet(Kind::Reads, before, [at(1, 2, 0), at(2, 2, WRITE)]);
        meet(Kind::Reads, before, [at(1, 2, 0), at(2, 2, WRITE | ATOMIC)]);
        meet(Kind::Reads, before, [at(1, 2, WRITE), at(2, 2, WRITE)]);
        meet(Kind::Reads, before, [at(1, 2, 0), at(2, 2, 0)]);
    }
    for atomic in [ATOMIC, WRITE | ATOMIC] {
        meet(Kind::Atomics, &[], [at(1, 2, atomic), at(2, 2, WRITE)]);
        meet(Kind::Atomics, &[], [at(1, 2, WRITE | ATOMIC), at(2, 2, 0)]);
        meet(Kind::Atomics, &[at(3, 1, WRITE | ATOMIC)], [at(1, 2, atomic), at(2, 2, 0)]);
    }
    // What is there of another kind.
    meet(Kind::Reads, &[at(3, 1, WRITE), at(2, 1, 0)], [at(1, 2, 0), at(2, 2, 0)]);
    meet(Kind::Atomics, &[read, at(2, 1, ATOMIC)], [at(1, 2, WRITE | ATOMIC), at(2, 2, ATOMIC)]);
}

/// Of reads at once, while somebody unites the words, none is lost: who writes later races with each.
#[test]
fn of_reads_at_once_all_are_remembered() {
    model(|| {
        let cell = Arc::new(Cell::holding(Kind::Reads, &[at(3, 1, 0), at(2, 1, 0)], false));
        let theirs = Arc::clone(&cell);
        let thread = thread::spawn(move || theirs.enter(at(2, 2, 0), &NOTHING));
        // An atomic load does not matter to them, but does not belong there.
        assert!(cell.enter(at(1, 1, ATOMIC), &NOTHING).is_empty());
        assert!(thread.join().expect("the thread ends").is_empty());
        let races = cell.enter(at(1, 2, WRITE), &NOTHING);
        for read in [at(3, 1, 0), at(2, 2, 0)] {
            assert!(races.contains(&read), "{read:x} is not in {races:x?}");
        }
    });
}

/// What two words can say of a thread's accesses is in two, and what they cannot is beside them; nothing is lost.
#[test]
fn a_place_has_what_two_words_can_say_and_more_beside() {
    loom::model(|| {
        let part = |clock, bytes| word::only(at(1, clock, 0), bytes);
        let cell = Cell::holding(Kind::Reads, &[], false);
        let place = &cell.places[0];
        let enter = |mine| {
            let link = cell.first.load(Ordering::SeqCst);
            apart::enter(&NOTHING, (&cell.first, link), &cell.others, cell.place(mine), (mine, false))
        };
        assert_eq!(enter(part(2, 0x0f)), Entered::Yes);
        assert_eq!(enter(part(2, 0x03)), Entered::There);
        // One word for both halves.
        assert_eq!(enter(part(4, 0xf0)), Entered::Yes);
        assert_eq!(place[1].load(Ordering::SeqCst), 0);
        // Too far from each other for one.
        assert_eq!(enter(part(4000, 0x0f)), Entered::Yes);
        assert_eq!(enter(part(8000, 0x01)), Entered::Yes);
        assert_eq!(enter(part(8000, 0x01)), Entered::There);
        let races = cell.enter(at(2, 2, WRITE), &NOTHING);
        for read in [part(4, 0xf0), part(4000, 0x0e), part(8000, 0x01)] {
            assert!(races.contains(&read), "{read:x} is not in {races:x?}");
        }
    });
}

/// Whatever bytes a thread reads in however many moments, there is room for it, and the last read of each byte is remembered, by its moment.
#[test]
fn each_byte_has_its_last_read() {
    let mut model = loom::model::Builder::new();
    model.max_branches = 100_000;
    model.check(|| {
        let cell = Cell::holding(Kind::Reads, &[], false);
        let (mut last, mut state) = ([0; 8], 17_u64);
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut clock = 2;
        for _ in 0..60 {
            // Moments near each other, which a double word can say, and far from each other.
            clock += [0, 2, 2, 4, 2000][random(5) as usize];
            let size = [1, 1, 2, 4, 8][random(5) as usize];
            let bytes = word::bytes((random(8 / size) * size) as usize, size as usize);
            let mine = word::only(at(1, clock, 0), bytes);
            let link = cell.first.load(Ordering::SeqCst);
            let came =
                apart::enter(&NOTHING, (&cell.first, link), &cell.others, cell.place(mine), (mine, false));
            assert!(came <= Entered::Yes, "{came:?}");
            (0..8).filter(|byte| bytes >> byte & 1 != 0).for_each(|byte| last[byte] = clock);
            let places = cell.places[0].iter().chain(cell.rests[0]);
            let words: Vec<u64> = places.map(|place| place.load(Ordering::SeqCst)).collect();
            let said = words.iter().flat_map(|&word| [word::later(word), word::earlier(word)]);
            let said: Vec<u64> = said.collect();
            for (byte, &clock) in last.iter().enumerate() {
                let of_byte =
                    said.iter().filter(|&&word| word >> byte & 1 != 0).map(|&word| word::clock(word));
                assert_eq!(of_byte.max().unwrap_or(0), clock, "byte {byte} in {words:x?}");
            }
        }
    });
}

/// Who reads other bytes of what he has, while somebody unites the words, loses none of them.
#[test]
fn who_takes_bytes_from_his_own_word_hides_none() {
    let part = |clock, bytes| word::only(at(1, clock, 0), bytes);
    for byte in [0x01, 0x02, 0x04, 0x08] {
        model(move || {
            let before = [part(2, 0x03), part(3000, 0x04), part(6000, 0x08)];
            let cell = Arc::new(Cell::holding(Kind::Reads, &before, false));
            let theirs = Arc::clone(&cell);
            let write = word::only(at(2, 2, WRITE), byte);
            let thread = thread::spawn(move || theirs.enter(write, &NOTHING));
            let mut races = cell.enter(part(9000, 0x01), &NOTHING);
            races.extend(thread.join().expect("the thread ends"));
            assert!(races.iter().any(|race| race & byte != 0), "missed: {races:x?}");
            let races = cell.enter(at(3, 2, WRITE), &NOTHING);
            let read =
                races.iter().filter(|&&race| word::slot(race) == 1).fold(0, |all, race| all | race & 0x0f);
            assert_eq!(read, 0x0f, "{races:x?}");
        });
    }
}

/// Of accesses while the words are put apart none is lost, and of two that conflict one sees the other.
#[test]
fn who_comes_while_words_are_put_apart_is_remembered_and_judged() {
    for theirs in [at(2, 2, 0), at(2, 2, WRITE)] {
        model(move || {
            let cell = Arc::new(Cell::holding(Kind::Reads, &[at(3, 1, 0), at(2, 1, 0)], true));
            let other = Arc::clone(&cell);
            let thread = thread::spawn(move || other.enter(theirs, &NOTHING));
            cell.part();
            let mut races = cell.enter(at(1, 2, 0), &NOTHING);
            races.extend(thread.join().expect("the thread ends"));
            assert_eq!(races.contains(&at(3, 1, 0)), theirs & WRITE != 0, "{races:x?}");
            let met = races.contains(&at(1, 2, 0)) || races.contains(&theirs);
            assert_eq!(met, theirs & WRITE != 0, "{races:x?}");
            let races = cell.enter(at(1, 3, WRITE), &NOTHING);
            assert!(races.contains(&theirs) && races.contains(&at(3, 1, 0)), "{races:x?}");
        });
    }
}

/// A read that was published before the words were put apart, but not judged, is judged behind that: of it and a write at once one sees the other.
#[test]
fn what_was_published_and_not_judged_is_judged_behind_that() {
    explore(Some(3), || {
        let cell = Arc::new(Cell::holding(Kind::Reads, &[], true));
        let accesses = [at(1, 2, 0), at(2, 2, WRITE)];
        let threads = accesses.map(|mine| {
            let cell = Arc::clone(&cell);
            thread::spawn(move || cell.enter(mine, &NOTHING))
        });
        cell.part();
        let races = threads.into_iter().flat_map(|thread| thread.join().expect("the thread ends"));
        assert!(races.count() > 0, "missed");
    });
}
