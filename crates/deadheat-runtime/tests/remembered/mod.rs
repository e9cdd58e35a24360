//! A cell of the shadow as `online` keeps it, for one thread at a time: every way into it, one after the other.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{self, Memo, Table};
use crate::crowd::{self, Came};
use crate::fewest::fewest;
use crate::pair::{self, Entered};
use crate::set::{self, Not, Seen};
use crate::word::{self, ATOMIC, BYTES, WRITE};

pub(crate) const SLOTS: usize = 4;

/// By slot, what is known.
#[derive(Clone)]
pub(crate) struct Knows {
    pub(crate) own: u32,
    pub(crate) clocks: [u64; SLOTS + 1],
    /// What every thread knows.
    pub(crate) all: [u64; SLOTS + 1],
}

impl Seen for Knows {
    fn ordered(&self, word: u64) -> bool {
        // The slot of ends is nobody's.
        if word::is_freed(word) {
            return false;
        }
        word::slot(word) == self.own || word::clock(word) <= self.clocks[word::slot(word) as usize]
    }

    fn forgettable(&self, word: u64) -> bool {
        !word::is_freed(word) && word::clock(word) <= self.all[word::slot(word) as usize]
    }
}

/// The sets that cells have in common, few of them, and what each thread knows of them.
pub(crate) struct Common {
    table: Table<ROWS>,
    memos: Vec<Memo>,
}

const ROWS: usize = 16;

impl Common {
    pub(crate) fn new() -> Common {
        let word = || AtomicU64::new(0);
        let row = |_| common::Row { age: word(), words: std::array::from_fn(|_| word()) };
        let memos = (0..=SLOTS).map(|_| Memo::new()).collect();
        Common { table: Table(std::array::from_fn(row)), memos }
    }

    pub(crate) fn enter(&mut self, cell: &[AtomicU64; 2], mine: u64, seen: &Knows, full: bool) -> Entered {
        let memo = &mut self.memos[seen.own as usize];
        if mine & (WRITE | ATOMIC) == 0 {
            // As a range comes to it.
            match common::over(memo, std::slice::from_ref(cell), mine) {
                (0, _) => {}
                (_, new) => return if new { Entered::Yes } else { Entered::There },
            }
        }
        common::enter((&self.table, memo), seen, cell, mine, full)
    }
}

/// The cell of one granule, which grows as `online::block` lets it.
pub(crate) struct Cell<'a> {
    pair: &'a [AtomicU64; 2],
    large: Vec<AtomicU64>,
}

impl<'a> Cell<'a> {
    pub(crate) fn of(pair: &'a [AtomicU64; 2]) -> Cell<'a> {
        Cell { pair, large: Vec::new() }
    }

    /// Its bytes have a new life.
    pub(crate) fn begin(&mut self) {
        self.pair.iter().for_each(|place| place.store(0, Ordering::Relaxed));
        self.large.clear();
    }

    /// The name of the set that it has in common with others.
    pub(crate) fn name(&self) -> Option<u64> {
        let first = self.pair[0].load(Ordering::Relaxed);
        (self.large.is_empty() && word::is_common(first)).then_some(first)
    }

    /// Gives it a set of its own.
    pub(crate) fn dissolve(&mut self, common: &Common) {
        let Some(name) = self.name() else { return };
        let words = common.table.read(name);
        if words.get().len() <= 2 {
            let word = |at| words.get().get(at).copied().unwrap_or(0);
            assert!(common::become_pair(self.pair, name, [word(0), word(1)]));
        } else {
            let places = words.get().len() + 1;
            self.large = words.get().iter().copied().chain([0; 3]).take(places).map(AtomicU64::new).collect();
        }
    }

    pub(crate) fn set(&self) -> &[AtomicU64] {
        if self.large.is_empty() { self.pair } else { &self.large }
    }

    /// Publishes an access if it has a set in common with others.
    pub(crate) fn enter_named(&mut self, mine: u64, seen: &Knows, common: &mut Common) -> Entered {
        match self.name() {
            None => Entered::No,
            // As the hook looks by itself.
            Some(name) if common.memos[seen.own as usize].has(name, mine) => Entered::There,
            Some(_) => common.enter(self.pair, mine, seen, false),
        }
    }

    /// The words that race with `mine`, which is in the cell afterwards; `None` if it is nothing new.
    pub(crate) fn enter(&mut self, mine: u64, seen: &Knows, common: &mut Common) -> Option<Vec<u64>> {
        match self.enter_named(mine, seen, common) {
            Entered::Yes => return Some(Vec::new()),
            Entered::There => return None,
            _ => self.dissolve(common),
        }
        if self.large.is_empty() {
            let over = |seen: &Knows, cell: &[AtomicU64; 2], mine| {
                if mine & (BYTES | ATOMIC) != BYTES {
                    return Entered::No;
                }
                match pair::over(seen, std::slice::from_ref(cell), mine) {
                    (1, true, _) => Entered::Yes,
                    (1, false, _) => Entered::There,
                    (_, _, entered) => entered,
                }
            };
            let again = |seen: &Knows, cell: &_, mine| match mine & ATOMIC {
                0 => pair::again::<true>(seen, cell, mine, true),
                _ => pair::again::<false>(seen, cell, mine, true),
            };
            let hook = |seen: &Knows, cell: &[AtomicU64; 2], mine| {
                let words = pair::words(cell);
                if mine & ATOMIC != 0 || words.iter().any(|&word| word::stands_for(word, mine)) {
                    return Entered::No;
                }
                let writes = mine & WRITE != 0;
                match pair::renew(writes, cell, words, mine) {
                    Entered::No if mine & BYTES == BYTES => pair::follow(writes, seen, cell, words, mine),
                    Entered::No => match pair::renew_own(cell, words, mine) {
                        Entered::No => pair::join(writes, seen, cell, words, mine),
                        entered => entered,
                    },
                    entered => entered,
                }
            };
            // Every other access is a range's.
            let first: &dyn Fn(&Knows, &[AtomicU64; 2], u64) -> Entered =
                if word::clock(mine).is_multiple_of(2) { &over } else { &hook };
            let ways = [first, &again, &|_: &_, _: &_, _| Entered::No, &pair::replace];
            for (at, enter) in ways.into_iter().enumerate() {
                let entered = match at {
                    2 => common.enter(self.pair, mine, seen, false),
                    _ => enter(seen, self.pair, mine),
                };
                match entered {
                    Entered::No => {}
                    Entered::Yes => return Some(Vec::new()),
                    Entered::There => return None,
                    entered => panic!("{entered:?} of an access that is new, with nobody else there"),
                }
            }
        }
        if !self.large.is_empty() {
            match come(seen, &self.large, mine) {
                Came::No => {}
                Came::Yes(_) => return Some(Vec::new()),
                Came::There(_) => return None,
                Came::Met(_) => return Some(self.look(mine, seen)),
            }
        }
        while set::publish(self.set(), mine, seen) == Err(Not::Full) {
            if self.large.is_empty() && common.enter(self.pair, mine, seen, true) == Entered::Yes {
                return Some(Vec::new());
            }
            self.grow();
        }
        Some(self.look(mine, seen))
    }

    fn grow(&mut self) {
        let mut words = Vec::new();
        set::seal(self.set(), |word| words.push(word));
        let count = fewest(&mut words);
        words.truncate(count);
        words.resize(self.set().len() * 2 + 1, 0);
        self.large = words.into_iter().map(AtomicU64::new).collect();
    }

    /// Puts the mark of the end of a block's life into the cell, as `online::freed` does; the words that race with it, or `None` if its
    /// moment had written all bytes before.
    pub(crate) fn end(&mut self, mine: u64, seen: &Knows, common: &mut Common) -> Option<Vec<u64>> {
        if self.name().is_none() && self.large.is_empty() && pair::end(seen, self.pair, mine) == Entered::Yes
        {
            return Some(Vec::new());
        }
        let races = self.enter(mine, seen, common);
        self.dissolve(common);
        for place in self.set() {
            if word::same_moment(place.load(Ordering::Relaxed), mine) {
                place.store(word::freed(mine), Ordering::Relaxed);
            }
        }
        races
    }

    /// How many words are double, plain or atomic ones.
    pub(crate) fn doubles(&self, atomic: u64) -> usize {
        let words = self.set().iter().map(|word| word.load(Ordering::Relaxed));
        words.filter(|&word| word::is_double(word) && word & ATOMIC == atomic).count()
    }

    pub(crate) fn look(&self, mine: u64, seen: &Knows) -> Vec<u64> {
        let mut races = Vec::new();
        set::look(self.set(), mine, seen, |word| races.push(word)).expect("nobody seals it");
        races
    }
}

/// As the hooks come into a block: a plain read in short, if that leads there.
fn come(seen: &Knows, set: &[AtomicU64], mine: u64) -> Came {
    let plain_read = mine & (WRITE | ATOMIC) == 0;
    let came = if plain_read { crowd::renew_in_short(seen, set, mine) } else { Came::No };
    if came == Came::No { crowd::enter(seen, set, mine) } else { came }
}
