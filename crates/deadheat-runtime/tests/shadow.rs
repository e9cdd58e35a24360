//! The shadow's sets against a brute force that forgets nothing.

#![allow(dead_code, reason = "the included files serve more than these tests")]

mod sys {
    pub(crate) mod primitive {
        //! Stands in for the runtime's `sys::primitive`.

        pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

        pub(crate) fn fence_after_locked() {}
    }
}

#[path = "../src/online/common.rs"]
mod common;

#[path = "../src/online/crowd.rs"]
mod crowd;

#[path = "../src/online/fewest.rs"]
mod fewest;

#[path = "../src/online/pair.rs"]
mod pair;

#[path = "../src/online/row.rs"]
mod row;

#[path = "../src/online/set.rs"]
mod set;

#[path = "../src/online/span.rs"]
mod span;

#[path = "../src/online/word.rs"]
mod word;

mod remembered;
mod words;

use std::sync::atomic::{AtomicU64, Ordering};

use deadheat_core::access::Mode;
use deadheat_core::rule::{self, Epoch};

use crowd::Came;
use pair::Entered;
use remembered::{Cell, Common, Knows, SLOTS};
use row::{Ends, Row};
use set::Seen;
use span::Worth;
use word::{ATOMIC, BYTES, WRITE};

/// A small random generator: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn mode(word: u64) -> Mode {
    if word & WRITE != 0 { Mode::Write } else { Mode::Read }
}

/// Whether an earlier access races with a later one, by the one race rule.
fn races(earlier: u64, later: u64, seen: &Knows) -> bool {
    let slot = word::slot(earlier);
    let known = if slot == seen.own { u64::MAX } else { seen.clocks[slot as usize] };
    let narrow = |clock: u64| u32::try_from(clock.min(u64::from(u32::MAX))).expect("it fits");
    let epoch = Epoch { thread: slot, clock: narrow(word::clock(earlier)) };
    let kind = |word: u64| (mode(word), word & ATOMIC != 0);
    earlier & later & BYTES != 0 && rule::races(epoch, kind(earlier), kind(later), narrow(known))
}

/// The bytes on which `later` races with any of `earlier`.
fn racing_bytes(earlier: impl IntoIterator<Item = u64>, later: u64) -> u64 {
    earlier.into_iter().fold(0, |bytes, word| bytes | word & later & BYTES)
}

/// Publishes an access in a cell with that history, which must tell what that says. Whether it races.
fn tells(cell: &mut Cell, mine: u64, seen: &Knows, common: &mut Common, history: &[u64]) -> bool {
    let earlier = history.iter().copied();
    let expected = racing_bytes(earlier.clone().filter(|&earlier| races(earlier, mine, seen)), mine);
    let Some(told) = cell.enter(mine, seen, common) else {
        let same = |&word: &u64| word::same_moment(word, mine) && word::outdoes(word, mine);
        let bytes = earlier.filter(same).fold(0, |bytes, word| bytes | word);
        assert_eq!(mine & BYTES & !bytes, 0, "{mine:x} was never made before");
        return false;
    };
    for &word in &told {
        assert!(
            earlier.clone().any(|earlier| word::same_kind(earlier, word) && races(earlier, mine, seen)),
            "{word:x} was never there, or does not race with {mine:x}"
        );
    }
    assert_eq!(racing_bytes(told.iter().copied(), mine), expected, "{mine:x} in {told:x?}");
    expected != 0
}

/// One run: threads read some granules, seldom write to one, and learn from each other at random. How many accesses raced, how many
/// sets were met that cells had in common, and how often one was found in more than one cell.
fn run_in_common(seed: u64) -> [usize; 3] {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut clocks = [[0u64; SLOTS + 1]; SLOTS + 1];
    let (mut now, mut all) = ([1u64; SLOTS + 1], [0u64; SLOTS + 1]);
    let pairs: [[AtomicU64; 2]; 4] = Default::default();
    let mut cells = pairs.each_ref().map(|pair| (Cell::of(pair), Vec::new()));
    let mut common = Common::new();
    let [mut found, mut named, mut shared] = [0; 3];
    for _ in 0..200 {
        let own = random.below(SLOTS as u64) as usize + 1;
        if random.below(25) == 0 {
            let teacher = random.below(SLOTS as u64) as usize + 1;
            clocks[teacher][teacher] = now[teacher];
            now[teacher] += 1;
            let taught = clocks[teacher];
            clocks[own].iter_mut().zip(taught).for_each(|(known, theirs)| *known = (*known).max(theirs));
        }
        if random.below(30) == 0 {
            // A barrier.
            let most: [u64; SLOTS + 1] = std::array::from_fn(|slot| if slot == 0 { 0 } else { now[slot] });
            clocks = [most; SLOTS + 1];
            now.iter_mut().for_each(|now| *now += 1);
        }
        if random.below(4) == 0 {
            all = std::array::from_fn(|slot| {
                (1..=SLOTS).map(|thread| clocks[thread][slot]).min().expect("there are threads")
            });
        }
        let bytes = [BYTES, 0x0f, 0xf0, 0x03][random.below(20).saturating_sub(16) as usize];
        let kind = if random.below(12) == 0 { [WRITE, WRITE, ATOMIC][random.below(3) as usize] } else { 0 };
        let mine = word::only(word::moment(own as u32, now[own]), bytes) | kind;
        let seen = Knows { own: own as u32, clocks: clocks[own], all };
        let (cell, history) = &mut cells[random.below(4) as usize];
        if random.below(30) == 0 {
            cell.begin();
            history.clear();
        }
        found += usize::from(tells(cell, mine, &seen, &mut common, history));
        history.push(mine);
        let name = cell.name();
        named += usize::from(name.is_some());
        let alike = cells.iter().filter(|(cell, _)| name.is_some() && cell.name() == name).count();
        shared += usize::from(alike > 1);
    }
    [found, named, shared]
}

/// One run: threads access one granule at random, and learn from each other at random. How many accesses raced, how
/// many plain and atomic words were double after an access.
fn run(seed: u64) -> [usize; 3] {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut clocks = [[0u64; SLOTS + 1]; SLOTS + 1];
    let mut now = [1u64; SLOTS + 1];
    let mut all = [0u64; SLOTS + 1];
    let pair = Default::default();
    let (mut cell, mut common) = (Cell::of(&pair), Common::new());
    let mut history: Vec<u64> = Vec::new();
    let ([mut found, mut doubles, mut atomic], sizes) = ([0; 3], [1, 2, 4, 8, 8, 8, 4, 3]);
    // Every other run is of aligned halves and less, without atomics, mostly of one thread, and
    // short: its cell often keeps its two words.
    let halves = seed.is_multiple_of(2);
    let mut own = 1;
    for _ in 0..if halves { 15 } else { 60 } {
        if !halves || random.below(4) == 0 {
            own = random.below(SLOTS as u64) as usize + 1;
        }
        if halves && random.below(2) == 0 {
            clocks[own][own] = now[own];
            now[own] += 1;
        }
        if random.below(3) == 0 {
            // What a thread knew at the end of its moment reaches another.
            let teacher = random.below(SLOTS as u64) as usize + 1;
            clocks[teacher][teacher] = now[teacher];
            // Now and then more moments lie between than a double word can say.
            now[teacher] += if random.below(6) == 0 { 1 + random.below(700) } else { 1 };
            let taught = clocks[teacher];
            clocks[own].iter_mut().zip(taught).for_each(|(known, theirs)| *known = (*known).max(theirs));
        }
        if random.below(8) == 0 {
            all = std::array::from_fn(|slot| {
                (1..=SLOTS).map(|thread| clocks[thread][slot]).min().expect("there are threads")
            });
        }
        let size = sizes[random.below(8) as usize];
        let kind =
            [0, WRITE, 0, WRITE, ATOMIC, ATOMIC | WRITE][random.below(if halves { 4 } else { 6 }) as usize];
        let size = if halves && size == 3 { 4 } else { size };
        let mut offset = random.below(9 - size as u64) as usize;
        if halves {
            offset = (offset / size * size).min(8 - size);
        }
        let bytes = word::bytes(offset, size);
        let mine = word::only(word::moment(own as u32, now[own]), bytes) | kind;
        let seen = Knows { own: own as u32, clocks: clocks[own], all };
        found += usize::from(tells(&mut cell, mine, &seen, &mut common, &history));
        doubles += cell.doubles(0);
        atomic += cell.doubles(ATOMIC);
        history.push(mine);
    }
    [found, doubles, atomic]
}

/// Each access that is new to its moment is told to race exactly on the bytes on which it races with any access before.
#[test]
fn a_cell_tells_what_a_memory_without_end_would_tell() {
    const RUNS: u64 = 20_000;
    let sum = |a: [usize; 3], b: [usize; 3]| std::array::from_fn(|at| a[at] + b[at]);
    let [found, doubles, atomic] = (1..=RUNS).map(run).fold([0; 3], sum);
    assert!(found > RUNS as usize, "{found} accesses raced");
    assert!(doubles > RUNS as usize / 2, "{doubles} plain words were double");
    assert!(atomic > RUNS as usize / 2, "{atomic} atomic words were double");
}

/// A thread that reads and writes a granule by halves and as a whole, in moments too far apart for double words, does not fill its set: a word that another one of it
/// makes up for gives its place to the next.
#[test]
fn accesses_far_apart_by_parts_take_no_more_room() {
    const APART: u64 = 1000;
    let (halves, other) = ([0x0f, 0xf0], word::moment(2, 1));
    for kind in [0, WRITE] {
        let set: [AtomicU64; 6] = Default::default();
        set[0].store(other, Ordering::Relaxed);
        let mut random = Random(7);
        for time in 1..=200 {
            let bytes = if random.below(4) == 0 { [BYTES, BYTES] } else { halves };
            for bytes in bytes {
                let mine = word::only(word::moment(1, time * APART), bytes) | kind;
                let mut clocks = [0; SLOTS + 1];
                clocks[2] = 1;
                let came = crowd::enter(&Knows { own: 1, clocks, all: [0; SLOTS + 1] }, &set, mine);
                assert!(matches!(came, Came::Yes(_) | Came::There(_)), "{came:?} at {time}: {set:x?}");
            }
        }
        let own = set.iter().filter(|word| word::same_slot(word.load(Ordering::Relaxed), word::moment(1, 1)));
        assert!(own.count() <= 2, "{set:x?}");
    }
}

/// A plain store that would take the place of its slot's earlier one is not put into a set that has an atomic access anywhere: what that shows has to end first.
#[test]
fn a_store_over_an_atomic_goes_no_short_way() {
    let store = |time| word::moment(1, time) | WRITE;
    for at in 0..2 {
        let set: [AtomicU64; 6] = Default::default();
        set[1 - at].store(store(4), Ordering::Relaxed);
        set[at].store(word::moment(2, 1) | WRITE | ATOMIC, Ordering::Relaxed);
        let seen = Knows { own: 1, clocks: [9; SLOTS + 1], all: [0; SLOTS + 1] };
        assert_eq!(crowd::enter(&seen, &set, store(6)), Came::No, "{set:x?}");
    }
}

/// What a moment reads and then writes, part by part, is one word of a block in the end, which the cell then shows to the hook; two would be shown in turn.
#[test]
fn the_writes_of_a_moment_are_one_word_of_a_block() {
    let read = |time, bytes| word::only(word::moment(1, time), bytes);
    let seen = Knows { own: 1, clocks: [9; SLOTS + 1], all: [0; SLOTS + 1] };
    let set: [AtomicU64; 6] = Default::default();
    set[0].store(read(2, 0xfc) | WRITE, Ordering::Relaxed);
    for bytes in [0x0c, 0x30] {
        assert!(matches!(crowd::enter(&seen, &set, read(4, bytes)), Came::Yes(_)), "{set:x?}");
        assert!(matches!(crowd::enter(&seen, &set, read(4, bytes) | WRITE), Came::Yes(_)), "{set:x?}");
    }
    let both = read(4, 0x3c) | WRITE;
    assert!(set.iter().any(|word| word.load(Ordering::Relaxed) == both), "{set:x?}");
}

/// Threads that come in turn, each behind all before it, and access a granule part by part need no more words the more they are.
#[test]
fn parts_in_turn_need_few_words() {
    let set: [AtomicU64; 3] = Default::default();
    for turn in 1..=40 {
        let own = turn as u32 % SLOTS as u32 + 1;
        let seen = Knows { own, clocks: [turn - 1; SLOTS + 1], all: [0; SLOTS + 1] };
        for part in [0x03, 0x0c, 0x30, 0xc0] {
            let mine = word::only(word::moment(own, turn), part);
            if crowd::enter(&seen, &set, mine) == Came::No {
                assert_eq!(set::publish(&set, mine, &seen), Ok(true), "turn {turn}: {set:x?}");
            }
        }
    }
}

/// Threads that come in turn, each behind all before it, and write ever other bytes need no more words than there are bytes: each takes its own from those before it.
#[test]
fn writes_of_other_bytes_in_turn_need_few_words() {
    let set: [AtomicU64; 8] = Default::default();
    let mut random = Random(11);
    for turn in 1..=400 {
        let own = random.below(SLOTS as u64) as u32 + 1;
        let seen = Knows { own, clocks: [turn - 1; SLOTS + 1], all: [0; SLOTS + 1] };
        let size = 2 + random.below(6) as usize;
        let bytes = word::bytes(random.below(9 - size as u64) as usize, size);
        let mine = word::only(word::moment(own, turn), bytes) | WRITE;
        if crowd::enter(&seen, &set, mine) == Came::No {
            assert_eq!(set::publish(&set, mine, &seen), Ok(true), "turn {turn}: {set:x?}");
        }
    }
}

/// Threads that access a granule byte by byte, now these in a moment, now those, need no more words than a byte each, and others of the same bytes go.
#[test]
fn single_bytes_of_many_moments_need_a_word_each() {
    for kind in [0, WRITE] {
        let set: [AtomicU64; 19] = Default::default();
        let mut random = Random(13);
        for time in 1..=400 {
            let own = random.below(2) as u32 + 1;
            // Of one another they know nothing, and what they do does not matter to each other.
            let bytes = |own: u32| if kind == 0 { BYTES } else { [0x0f, 0xf0][own as usize - 1] };
            let seen = Knows { own, clocks: [0; SLOTS + 1], all: [0; SLOTS + 1] };
            for _ in 0..=random.below(3) {
                let mine = word::only(word::moment(own, time), 1 << random.below(8)) | kind;
                if mine & bytes(own) & BYTES != 0 {
                    let came = crowd::enter(&seen, &set, mine);
                    assert_ne!(came, Came::No, "at {time}: {set:x?}");
                }
            }
        }
    }
}

/// The same of cells that have sets in common, of which there are few, so that they are used again.
#[test]
fn cells_with_sets_in_common_tell_it_too() {
    const RUNS: u64 = 10_000;
    let sum = |a: [usize; 3], b: [usize; 3]| std::array::from_fn(|at| a[at] + b[at]);
    let [found, named, shared] = (1..=RUNS).map(run_in_common).fold([0; 3], sum);
    assert!(found > RUNS as usize, "{found} accesses raced");
    assert!(named > 10 * RUNS as usize, "{named} cells had a set in common");
    assert!(shared > RUNS as usize, "{shared} had it with another");
}

/// An end of a block's life is met by every access behind it, ordered or not, of its own thread, too, until somebody who met it puts the write that it
/// is in its place; what races with it is what races with that write, and nothing else in the cell is lost or made up.
#[test]
fn an_end_is_met_by_whoever_comes_behind_it() {
    const RUNS: u64 = 20_000;
    let (mut met, mut raced) = (0, 0);
    for seed in 1..=RUNS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut clocks = [[0u64; SLOTS + 1]; SLOTS + 1];
        let mut now = [1u64; SLOTS + 1];
        let pair = Default::default();
        let (mut cell, mut common) = (Cell::of(&pair), Common::new());
        let (mut history, mut marked, mut ended_at): (Vec<u64>, u64, usize) = (Vec::new(), 0, 0);
        for _ in 0..30 {
            let own = random.below(SLOTS as u64) as usize + 1;
            if random.below(2) == 0 {
                let teacher = random.below(SLOTS as u64) as usize + 1;
                clocks[teacher][teacher] = now[teacher];
                now[teacher] += 1;
                let taught = clocks[teacher];
                clocks[own].iter_mut().zip(taught).for_each(|(known, theirs)| *known = (*known).max(theirs));
            }
            let seen = Knows { own: own as u32, clocks: clocks[own], all: [0; SLOTS + 1] };
            let ends = marked == 0 && random.below(8) == 0;
            let kind = [0, WRITE, ATOMIC, ATOMIC | WRITE][random.below(4) as usize];
            let bytes = word::bytes(random.below(5) as usize, 4);
            let moment = word::moment(own as u32, now[own]);
            let mine = if ends { moment | WRITE } else { word::only(moment, bytes) | kind };
            let expected =
                racing_bytes(history.iter().copied().filter(|&earlier| races(earlier, mine, &seen)), mine);
            let told = if ends {
                (marked, ended_at) = (mine, history.len());
                let Some(told) = cell.end(mine, &seen, &mut common) else {
                    history.push(mine);
                    continue;
                };
                told
            } else {
                let Some(told) = cell.enter(mine, &seen, &mut common) else {
                    // What another's moment had made before was not ordered before the end: the two raced.
                    let raced = word::slot(marked) != own as u32
                        && history[..ended_at].iter().any(|&word| word::same_moment(word, mine));
                    let behind = marked != 0 && seen.ordered(marked) && !raced;
                    assert!(!behind, "seed {seed}: {mine:x} did not meet the end");
                    history.push(mine);
                    continue;
                };
                let marks = told.iter().filter(|&&word| word::is_freed(word)).count();
                assert_eq!(marks != 0, marked != 0, "seed {seed}: {mine:x} met {told:x?}");
                if marked != 0 {
                    met += 1;
                    for place in cell.set() {
                        if word::is_freed(place.load(Ordering::Relaxed)) {
                            assert_eq!(word::of_freed(place.load(Ordering::Relaxed)), marked);
                            place.store(marked, Ordering::Relaxed);
                        }
                    }
                    marked = 0;
                }
                told
            };
            let told =
                told.into_iter().map(|word| if word::is_freed(word) { word::of_freed(word) } else { word });
            let told = told.filter(|&word| races(word, mine, &seen));
            assert_eq!(racing_bytes(told, mine), expected, "seed {seed}: {mine:x}");
            raced += usize::from(expected != 0);
            history.push(mine);
        }
    }
    assert!(met > RUNS as usize / 4 && raced > RUNS as usize, "{met} met an end, {raced} raced");
}

/// Whether a cell's own words show an access.
fn shows(pair: &[AtomicU64; 2], mine: u64) -> bool {
    pair::words(pair).into_iter().any(|word| word::stands_for(word::later(word), mine))
}

/// One run: threads access ranges of a few granules at random, and learn from each other at random. How many accesses raced in cells that the row gave back,
/// and in how many cells it published by itself what was new to them.
fn run_ranges(seed: u64) -> [usize; 2] {
    const CELLS: usize = 4;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut clocks = [[0u64; SLOTS + 1]; SLOTS + 1];
    let mut now = [1u64; SLOTS + 1];
    let pairs: [[AtomicU64; 2]; CELLS] = Default::default();
    let mut cells = pairs.each_ref().map(Cell::of);
    let mut common = Common::new();
    let mut history: [Vec<u64>; CELLS] = Default::default();
    let [mut raced, mut published] = [0; 2];
    for _ in 0..30 {
        let own = random.below(if seed.is_multiple_of(2) { 2 } else { SLOTS as u64 }) as usize + 1;
        if random.below(2) == 0 {
            let teacher = random.below(SLOTS as u64) as usize + 1;
            clocks[teacher][teacher] = now[teacher];
            now[teacher] += if random.below(6) == 0 { 1 + random.below(700) } else { 1 };
            let taught = clocks[teacher];
            clocks[own].iter_mut().zip(taught).for_each(|(known, theirs)| *known = (*known).max(theirs));
        }
        let seen = Knows { own: own as u32, clocks: clocks[own], all: [0; SLOTS + 1] };
        let moment = word::moment(own as u32, now[own]);
        let first = random.below(8 * CELLS as u64) as usize;
        if random.below(8) == 0 {
            // An atomic one now and then, which no range makes.
            let mine = word::only(moment, 1 << (first % 8)) | ATOMIC | [0, WRITE][random.below(2) as usize];
            let _ = cells[first / 8].enter(mine, &seen, &mut common);
            history[first / 8].push(mine);
            continue;
        }
        // Mostly ends of words, as where they are copied.
        let last = (first + random.below(20) as usize).min(8 * CELLS - 1);
        let (first, last) = if random.below(2) == 0 { (first & !7, last | 7) } else { (first, last) };
        let kind = [0, WRITE][random.below(2) as usize];
        let mine = |at: usize| {
            let (from, to) = (first.max(8 * at), last.min(8 * at + 7));
            word::only(moment, word::bytes(from - 8 * at, to + 1 - from)) | kind
        };
        let touched = first / 8..last / 8 + 1;
        let known: [bool; CELLS] =
            std::array::from_fn(|at| touched.contains(&at) && shows(&pairs[at], mine(at)));
        let mut row =
            Row::new(&pairs[touched.clone()], moment | kind, Ends { first: first % 8, last: last % 8 });
        let mut given = [false; CELLS];
        loop {
            let next = if kind == WRITE { row.publish::<true>(&seen) } else { row.publish::<false>(&seen) };
            let Some((pair, word, entered)) = next else { break };
            let at = pairs.iter().position(|other| std::ptr::eq(other, pair)).expect("it is one of them");
            assert_eq!((word, entered, given[at]), (mine(at), Entered::No, false), "seed {seed}: {at}");
            given[at] = true;
            raced += usize::from(tells(&mut cells[at], word, &seen, &mut common, &history[at]));
        }
        let mut new = false;
        for at in touched {
            if !known[at] && !given[at] {
                (new, published) = (true, published + 1);
                let races = history[at].iter().any(|&earlier| races(earlier, mine(at), &seen));
                assert!(!races, "seed {seed}: {:x} raced in {at}", mine(at));
            }
            history[at].push(mine(at));
        }
        assert_eq!(row.is_new(), new, "seed {seed}");
    }
    [raced, published]
}

/// As above, of accesses to ranges: where a row goes into a cell by itself nothing races, and what it leaves out is there already.
#[test]
fn a_range_tells_in_each_cell_what_a_memory_without_end_would_tell() {
    const RUNS: u64 = 20_000;
    let sum = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let [raced, published] = (1..=RUNS).map(run_ranges).fold([0; 2], sum);
    assert!(raced > RUNS as usize, "{raced} accesses raced");
    assert!(published > RUNS as usize, "{published} cells were published in");
}

/// What cells say, if they are a span after they were given its words.
fn contents(cells: &[[AtomicU64; 2]]) -> Vec<[u64; 2]> {
    let copy: Vec<_> = cells.iter().map(|cell| pair::words(cell).map(AtomicU64::new)).collect();
    if pair::words(&copy[0])[0] == word::WIDE {
        assert!(span::unfold(&copy));
    }
    copy.iter().map(pair::words).collect()
}

type Pair = [AtomicU64; 2];

/// Whether cells are a span.
fn is_span(cells: &[Pair]) -> bool {
    pair::words(&cells[0])[0] == word::WIDE
}

/// A life ends in cells that may be a span, and in others. Whether it ended in a span.
fn end_alike(spans: &[Pair], cells: &[Pair], end: u64, seen: &Knows) -> bool {
    let each = |cells: &[Pair]| cells.iter().map(|cell| pair::end(seen, cell, end)).collect::<Vec<_>>();
    let (entered, expected) = (span::end(seen, spans, end), each(cells));
    if entered == Entered::No {
        assert!(!is_span(spans) || span::unfold(spans));
        assert_eq!(each(spans), expected);
    } else {
        assert!(expected.iter().all(|&expected| expected == entered), "{entered:?} {expected:?}");
    }
    entered == Entered::Yes
}

/// An access goes over cells that may be a span, and over others. Whether it was published in a span.
fn go_over_alike(spans: &[Pair], cells: &[Pair], mine: u64, seen: &Knows, worth: &mut Worth) -> bool {
    let (entered, expected) = (span::over(seen, spans, mine, worth), pair::over(seen, cells, mine));
    let found = match entered {
        Entered::There | Entered::Yes => (cells.len(), entered == Entered::Yes, Entered::No),
        _ => {
            assert_eq!(entered, Entered::No, "nobody else is there");
            assert!(!is_span(spans) || span::unfold(spans));
            pair::over(seen, spans, mine)
        }
    };
    assert_eq!(found, expected);
    entered == Entered::Yes
}

/// One run: threads access some cells at random, all of them or one, and learn from each other; lives end and begin. The cells are a span where they can be one, and
/// others beside them never are: both must say the same all the time. How many accesses were published in a span, and how many ends.
fn run_spans(seed: u64) -> [usize; 2] {
    const CELLS: usize = 3;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut clocks = [[0u64; SLOTS + 1]; SLOTS + 1];
    let mut now = [1u64; SLOTS + 1];
    let spans: [[AtomicU64; 2]; CELLS] = Default::default();
    let cells: [[AtomicU64; 2]; CELLS] = Default::default();
    let [mut published, mut ended] = [0; 2];
    // In every other run they are made wherever they can be.
    let mut worth = Worth(0);
    for _ in 0..40 {
        if seed.is_multiple_of(2) {
            worth = Worth(Worth::MOST);
        }
        let own = random.below(3) as usize + 1;
        if random.below(2) == 0 {
            let teacher = random.below(3) as usize + 1;
            clocks[teacher][teacher] = now[teacher];
            now[teacher] += 1;
            let taught = clocks[teacher];
            clocks[own].iter_mut().zip(taught).for_each(|(known, theirs)| *known = (*known).max(theirs));
        }
        let seen = Knows { own: own as u32, clocks: clocks[own], all: [0; SLOTS + 1] };
        let moment = word::moment(own as u32, now[own]);
        let kind = [0, WRITE][random.below(2) as usize];
        match random.below(12) {
            0 => {
                let at = random.below(CELLS as u64) as usize;
                let kind = [kind, ATOMIC, ATOMIC | WRITE][random.below(3) as usize];
                let mine = word::only(moment, [BYTES, 0x0f, 0x01][random.below(3) as usize]) | kind;
                assert!(!is_span(&spans) || span::unfold(&spans));
                let entered = pair::again::<false>(&seen, &spans[at], mine, true);
                assert_eq!(entered, pair::again::<false>(&seen, &cells[at], mine, true), "seed {seed}");
            }
            1 => ended += usize::from(end_alike(&spans, &cells, moment | WRITE, &seen)),
            2 => {
                let birth = [0, moment | WRITE][random.below(2) as usize];
                let begin = |cells: &[Pair]| {
                    for [one, other] in cells {
                        one.store(birth, Ordering::Relaxed);
                        other.store(0, Ordering::Relaxed);
                    }
                };
                if !span::begin(&spans, birth) {
                    begin(&spans);
                }
                begin(&cells);
            }
            _ => published += usize::from(go_over_alike(&spans, &cells, moment | kind, &seen, &mut worth)),
        }
        assert_eq!(contents(&spans), contents(&cells), "seed {seed}");
    }
    [published, ended]
}

/// A span says what its cells would say if each were accessed by itself.
#[test]
fn a_span_says_what_its_cells_would_say() {
    const RUNS: u64 = 20_000;
    let sum = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let [published, ended] = (1..=RUNS).map(run_spans).fold([0; 2], sum);
    assert!(published > 4 * RUNS as usize, "{published} accesses were published in a span");
    assert!(ended > RUNS as usize / 4, "{ended} lives ended in one");
}

/// A look over neighbouring cells stops at the first one to which the access is new.
#[test]
fn a_range_is_new_from_the_first_cell_that_does_not_show_it() {
    fn check<const WRITES: bool>(random: &mut Random) -> usize {
        let kind = if WRITES { WRITE } else { 0 };
        let moment = word::moment(1, 4);
        let mut any = || match random.below(8) {
            0 => 0,
            1 => word::moment(1 + random.below(2) as u32, 3 + random.below(2)) | WRITE,
            2 => word::only(moment, random.below(256)) | kind,
            3 => word::with(word::moment(1, 2) | kind, word::only(moment, 0x0f) | kind),
            4 => moment | ATOMIC | kind,
            _ => moment | kind,
        };
        let words: [[u64; 2]; 4] = std::array::from_fn(|_| [any(), any()]);
        let cells = words.map(|cell| cell.map(AtomicU64::new));
        let cells = &cells[..1 + random.below(4) as usize];
        let ends = (0xff << random.below(8), 0xff >> random.below(8));
        let bytes = |at: usize| {
            let head = if at == 0 { ends.0 } else { BYTES };
            head & if at + 1 == cells.len() { ends.1 } else { BYTES } & BYTES
        };
        let shows = |at: usize| {
            let mine = word::only(moment, bytes(at)) | kind;
            words[at].iter().any(|&word| word::stands_for(word::later(word), mine))
        };
        let expected = (0..cells.len()).find(|&at| !shows(at));
        assert_eq!(pair::first_new::<WRITES>(cells, moment, ends), expected, "{words:x?} {ends:x?}");
        let from_to = Ends {
            first: ends.0.trailing_zeros() as usize,
            last: 7 - (ends.1 as u8).leading_zeros() as usize,
        };
        if cells.len() > 1 || from_to.first <= from_to.last {
            let known = row::is_known::<WRITES>(cells, moment, from_to);
            assert_eq!(known, expected.is_none(), "{words:x?} {from_to:?}");
        }
        for cell in words {
            let here = cell.iter().any(|&word| word::stands_for(word::later(word), moment | kind));
            assert_eq!(pair::is_here::<WRITES>(cell, moment), here, "{cell:x?}");
        }
        expected.unwrap_or(0)
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let far: usize = (0..20_000).map(|_| check::<true>(&mut random) + check::<false>(&mut random)).sum();
    assert!(far > 10_000, "{far} cells were gone over");
}
