//! Sets that many cells have in common.
//!
//! Memory that some threads read has the same words in each of its cells: those of the moments in which they read it. So such a set is kept once, in a row of
//! a table, and the cell's first word names the row. A set never changes: whoever comes to the cell puts the name of another in, by one
//! compare-and-swap, or makes it a cell of two words again. The place of a set follows from its words, so that two threads that add the same find the same. What
//! a thread's present moment made of which set it keeps at hand ([`Memo`]): then an access to such a cell looks at the cell alone.
//!
//! **None is missed.** The compare-and-swap publishes and looks at once: what was in the cell is the set that was judged, and who comes later sees the new one.
//! A set goes with all its words when the cell gets other words, in the same step.
//!
//! **A row is used again when every thread knows all its accesses.** Nothing will race with them any more, so a cell that still names the row is as an empty one. The
//! name has the row's age, by which that shows; rows are read as a sequence lock is, and made without a lock.
//!
//! Rows are few, and so are the sets that a thread may make, unless they are found again often enough: memory that is read in ever new moments has a
//! [block](super::block) for each cell.

use super::crowd::harmless;
use super::pair::Entered;
use super::set::Seen;
use super::word::{
    self, ATOMIC, BYTES, NO_NAME, SEALED, WRITE, common, covers, is_common, is_freed, is_special, joins,
    outdoes, same_slot, stands_for, with,
};
use crate::sys::primitive::{AtomicU64, Ordering};

/// How many words a set has at the most.
pub(crate) const MOST: usize = 15;
/// How many rows there are.
pub(crate) const ROWS: usize = 1 << word::ROW_BITS;
/// In how many places a set can be.
const WAYS: usize = 8;

/// A set, sorted, zeros behind it.
#[repr(C, align(128))]
pub(crate) struct Row {
    /// Twice the row's age; odd while somebody makes a set of it. No name has the first age.
    pub(crate) age: AtomicU64,
    pub(crate) words: [AtomicU64; MOST],
}

/// The rows.
pub(crate) struct Table<const COUNT: usize>(pub(crate) [Row; COUNT]);

/// Words that are to become a set.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    words: [u64; MOST],
    len: usize,
}

impl Words {
    /// None.
    pub(crate) const fn new() -> Words {
        Words { words: [0; MOST], len: 0 }
    }

    /// The words.
    pub(crate) fn get(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// Puts one to its place; `false` without room.
    fn put(&mut self, word: u64) -> bool {
        if self.len == MOST {
            return false;
        }
        let at = self.get().iter().take_while(|&&other| other < word).count();
        self.words.copy_within(at..self.len, at + 1);
        self.words[at] = word;
        self.len += 1;
        true
    }

    /// Leaves out the words that are not to be kept.
    fn keep(&mut self, keep: impl Fn(u64) -> bool) {
        let (before, len) = (self.words, self.len);
        (self.words, self.len) = ([0; MOST], 0);
        for &word in before[..len].iter().filter(|&&word| keep(word)) {
            self.words[self.len] = word;
            self.len += 1;
        }
    }

    /// Whether `mine` is there already. If not, `all`, which is empty, gets the words that there are with it, whatever it makes up for left out. `None` if a
    /// word may race with it, or one set cannot say it.
    fn with(&self, seen: &impl Seen, mine: u64, all: &mut Words) -> Option<bool> {
        let mut new = mine;
        for &word in self.get() {
            if is_special(word) || is_freed(word) || word & ATOMIC != 0 {
                return None;
            }
            if same_slot(word, mine) {
                if stands_for(word, mine) {
                    return Some(true);
                }
                let both = if new == mine && joins(word, mine) { with(word, mine) } else { 0 };
                if both != 0 {
                    new = both;
                    continue;
                }
            } else if seen.forgettable(word) {
                continue;
            } else if !harmless(seen, word, mine) {
                return None;
            }
            let outdone = covers(mine, word) && outdoes(mine, word) && seen.ordered(word);
            if !outdone && !all.put(word) {
                return None;
            }
        }
        if (mine ^ new) & BYTES != 0 {
            // What its moment did to the granule so far makes up for more than the access alone.
            all.keep(|word| {
                same_slot(word, new) || !(covers(new, word) && outdoes(new, word) && seen.ordered(word))
            });
        }
        all.put(new).then_some(false)
    }
}

impl<const COUNT: usize> Table<COUNT> {
    /// The words of the set that a name stands for: none if its row has another by now.
    pub(crate) fn read(&self, name: u64) -> Words {
        let (row, age) = common(name);
        match self.0.get(row) {
            Some(row) if row.age.load(Ordering::Acquire) == age * 2 => {
                let words = row.read();
                if row.age.load(Ordering::Relaxed) == age * 2 { words } else { Words::new() }
            }
            _ => Words::new(),
        }
    }

    /// The rows in which a set can be, and the first one's number.
    fn places(&self, words: &Words) -> (usize, &[Row]) {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed =
            words.get().iter().fold(0, |sum: u64, &word| (sum.rotate_left(5) ^ word).wrapping_mul(FACTOR));
        let ways = WAYS.min(COUNT);
        let first = (mixed >> 32) as usize % (COUNT / ways) * ways;
        (first, &self.0[first..first + ways])
    }

    /// The name of the set with these words, if it is there.
    fn find(&self, words: &Words) -> Option<u64> {
        let (first, rows) = self.places(words);
        rows.iter().enumerate().find_map(|(at, row)| {
            let age = row.age.load(Ordering::Acquire);
            (age & 1 == 0 && age != 0 && row.has(words) && row.age.load(Ordering::Relaxed) == age)
                .then(|| word::name(first + at, age / 2))
        })
    }

    /// Makes a set of these words, if there is a row that is not used any more.
    fn make(&self, words: &Words, seen: &impl Seen) -> Option<u64> {
        let (first, rows) = self.places(words);
        rows.iter().enumerate().find_map(|(at, row)| {
            let age = row.age.load(Ordering::Acquire);
            let usable = age & 1 == 0
                && age / 2 < word::LAST_AGE
                && row.read().get().iter().all(|&word| seen.forgettable(word));
            let claim = |from, to| row.age.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed);
            if !usable || claim(age, age + 1).is_err() {
                return None;
            }
            for (place, &word) in row.words.iter().zip(&words.words) {
                place.store(word, Ordering::Release);
            }
            row.age.store(age + 2, Ordering::Release);
            Some(word::name(first + at, age / 2 + 1))
        })
    }

    /// In a forked child, where no cell names a row: all are free.
    pub(crate) fn forget_all(&self) {
        for row in &self.0 {
            let age = row.age.load(Ordering::Relaxed);
            if age != 0 {
                row.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
                row.age.store((age | 1) + 1, Ordering::Relaxed);
            }
        }
    }
}

impl Row {
    /// Whether it has these words and no others.
    fn has(&self, words: &Words) -> bool {
        let same = |(place, &word): (&AtomicU64, &u64)| place.load(Ordering::Acquire) == word;
        self.words.iter().zip(words.get()).all(same)
            && self.words.get(words.len).is_none_or(|place| place.load(Ordering::Acquire) == 0)
    }

    /// The words, which may be of two sets.
    fn read(&self) -> Words {
        let mut words = Words::new();
        for place in &self.words {
            let word = place.load(Ordering::Acquire);
            if word == 0 {
                break;
            }
            words.words[words.len] = word;
            words.len += 1;
        }
        words
    }
}

/// What an access of a thread's made of a cell.
#[derive(Clone, Copy)]
#[repr(C)]
struct Step {
    /// What the cell was: two words, or the name of a set and 0.
    from: [u64; 2],
    /// The access. What was harmless to it stays so.
    mine: u64,
    /// The name of the set with it.
    to: u64,
}

/// How many steps a thread keeps at hand: as many as two by the power of this.
const STEPS_LOG2: u32 = 5;

/// What a thread knows of sets. All zeros knows nothing.
#[repr(C)]
pub(crate) struct Memo {
    steps: [Step; 1 << STEPS_LOG2],
    /// What it made less what it found.
    spent: u32,
    denied: u32,
}

/// What a set costs that is made, in sets that are found.
const COST: u32 = 8;
/// What a thread may have spent and make another one.
const BUDGET: u32 = 32 * COST;
/// How often a thread is denied one until that counts as one found.
const DENIALS: u32 = 16;

impl Memo {
    /// Knows nothing.
    pub(crate) const fn new() -> Memo {
        Memo { steps: [Step { from: [0; 2], mine: 0, to: 0 }; 1 << STEPS_LOG2], spent: 0, denied: 0 }
    }

    #[inline(always)]
    fn place(from: [u64; 2], mine: u64) -> usize {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (from[0] ^ from[1].rotate_left(9) ^ mine.rotate_left(20)).wrapping_mul(FACTOR);
        (mixed >> (u64::BITS - STEPS_LOG2)) as usize
    }

    /// The name of what a cell becomes by an access.
    #[inline(always)]
    fn find(&self, from: [u64; 2], mine: u64) -> Option<u64> {
        let step = &self.steps[Memo::place(from, mine)];
        (step.from == from && step.mine == mine).then_some(step.to)
    }

    fn keep(&mut self, from: [u64; 2], mine: u64, to: u64) {
        self.steps[Memo::place(from, mine)] = Step { from, mine, to };
    }

    /// The set `words` with this name has the access, perhaps that to all bytes, too.
    fn learn(&mut self, name: u64, mine: u64, words: &Words) {
        for mine in [mine, mine | BYTES] {
            if words.get().iter().any(|&word| stands_for(word, mine)) {
                self.keep([name, 0], mine, name);
            }
        }
    }

    /// Whether a set is known to have the access.
    #[inline(always)]
    pub(crate) fn has(&self, name: u64, mine: u64) -> bool {
        self.find([name, 0], mine) == Some(name)
    }

    fn found(&mut self) {
        self.spent = self.spent.saturating_sub(1);
    }

    /// Whether the thread may make another set.
    fn may_make(&mut self) -> bool {
        if self.spent < BUDGET {
            self.spent += COST;
            return true;
        }
        self.denied = self.denied.wrapping_add(1);
        if self.denied.is_multiple_of(DENIALS) {
            self.found();
        }
        false
    }
}

/// Publishes a plain access in a cell that was `from` (two words, or the name of a set and 0), if its thread knows what that becomes by it.
#[inline(always)]
pub(crate) fn known(memo: &mut Memo, cell: &[AtomicU64; 2], from: [u64; 2], mine: u64) -> Option<Entered> {
    let to = memo.find(from, mine)?;
    memo.found();
    Some(put(cell, from, to))
}

/// Publishes a plain read in neighbouring cells that name sets, as long as its thread knows what those become by it: in how many, and whether that is new to any.
#[inline]
pub(crate) fn over(memo: &mut Memo, cells: &[[AtomicU64; 2]], mine: u64) -> (usize, bool) {
    // An empty cell is none of them.
    let (mut from, mut to, mut new) = (NO_NAME, NO_NAME, false);
    for (at, cell) in cells.iter().enumerate() {
        let first = cell[0].load(Ordering::Acquire);
        if first != from {
            let next = if is_common(first) { memo.find([first, 0], mine) } else { None };
            let Some(next) = next else { return (at, new) };
            (from, to) = (first, next);
        }
        if from == to {
            continue;
        }
        match put(cell, [from, 0], to) {
            Entered::Yes => new = true,
            _ => return (at, new),
        }
        memo.found();
    }
    (cells.len(), new)
}

/// Publishes a plain access in a cell that names a set, or in one of two words that has no room (`full`) or had none when the same access met the same. If another's word
/// may race with it nothing is done.
#[inline(never)]
pub(crate) fn enter<const COUNT: usize>(
    (table, memo): (&Table<COUNT>, &mut Memo),
    seen: &impl Seen,
    cell: &[AtomicU64; 2],
    mine: u64,
    full: bool,
) -> Entered {
    let first = cell[0].load(Ordering::Acquire);
    let named = is_common(first);
    if mine & ATOMIC != 0 || !named && (is_special(first) || mine & WRITE != 0) {
        return Entered::No;
    }
    let from = [first, if named { 0 } else { cell[1].load(Ordering::Acquire) }];
    if let Some(entered) = known(memo, cell, from, mine) {
        return entered;
    }
    if !named && (!full || from[1] == 0) {
        return Entered::No;
    }
    let before = if named { table.read(first) } else { Words { len: 2, ..Words::new() }.of(from) };
    let mut words = Words::new();
    match before.with(seen, mine, &mut words) {
        Some(false) => {}
        Some(true) if named => {
            memo.learn(first, mine, &before);
            return Entered::There;
        }
        _ => return Entered::No,
    }
    if words.len <= cell.len() {
        let few = [words.words[0], words.words[1]];
        return if named && become_pair(cell, first, few) { Entered::Yes } else { Entered::No };
    }
    if mine & WRITE != 0 {
        return Entered::No;
    }
    let to = match table.find(&words) {
        Some(name) => {
            memo.found();
            Some(name)
        }
        None if memo.may_make() => table.make(&words, seen),
        None => None,
    };
    let Some(to) = to else { return Entered::No };
    memo.keep(from, mine, to);
    memo.learn(to, mine, &words);
    put(cell, from, to)
}

impl Words {
    /// These two, in order.
    fn of(mut self, [one, other]: [u64; 2]) -> Words {
        self.words[..2].copy_from_slice(&[one.min(other), one.max(other)]);
        self
    }
}

/// Puts the name of a set into a cell that is as it was.
fn put(cell: &[AtomicU64; 2], from: [u64; 2], to: u64) -> Entered {
    let swap = |from, to| cell[0].compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    if is_common(from[0]) {
        if from[0] == to {
            return Entered::There;
        }
        return if swap(from[0], to) { Entered::Yes } else { Entered::No };
    }
    if !swap(from[0], SEALED) {
        return Entered::No;
    }
    let other = cell[1].swap(SEALED, Ordering::SeqCst);
    let same = other == from[1];
    if !same {
        cell[1].store(other, Ordering::Release);
    }
    cell[0].store(if same { to } else { from[0] }, Ordering::SeqCst);
    if same { Entered::Yes } else { Entered::No }
}

/// Makes a cell that names a set one of two words; `false` if it names another by now.
pub(crate) fn become_pair(cell: &[AtomicU64; 2], name: u64, words: [u64; 2]) -> bool {
    let sealed = cell[0].compare_exchange(name, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    if sealed {
        cell[1].store(words[1], Ordering::Release);
        cell[0].store(words[0], Ordering::SeqCst);
    }
    sealed
}
