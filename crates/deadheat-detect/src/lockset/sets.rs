//! What the sets of a variable mean: locks that may protect it, and threads that use it. Each set is stored once.

use deadheat_core::event::LockMode;
use deadheat_core::race::{LockSetId, LockSets};
use deadheat_core::rule::Epoch;
use rustc_hash::FxHashMap;

use super::state::{Candidates, Sets, Users};
use crate::clock::lockset::LockTable;
use crate::clock::vector::Clock;

/// How many answers about candidates are found without hashing.
const NEAR: usize = 1 << 12;

/// Candidates (all locks if there are none yet), the locks held, and whether that is to write.
type Question = (Option<Candidates>, LockSetId, bool);

/// All sets.
#[derive(Debug)]
pub(crate) struct Known {
    candidates: Vec<Box<[u64]>>,
    candidates_of: FxHashMap<Box<[u64]>, Candidates>,
    answers: FxHashMap<Question, Candidates>,
    near: Box<[(Question, Candidates)]>,
    /// Each a bit for each row.
    users: Vec<Box<[u64]>>,
    users_of: FxHashMap<Box<[u64]>, Users>,
    one_more: FxHashMap<(Users, u32), Users>,
    ends: Ends,
}

/// Whose end was seen.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// By row: the first moment of each who saw it, which is one thread in most runs.
    seen: Vec<Vec<Epoch>>,
    count: u32,
}

impl Ends {
    /// The end of the thread in a row was seen; that thread's next access is at `epoch`.
    pub(crate) fn add(&mut self, row: usize, epoch: Epoch) {
        if row >= self.seen.len() {
            self.seen.resize(row + 1, Vec::new());
        }
        self.seen[row].push(epoch);
        self.count += 1;
    }

    /// Whether who has seen `clock` knows of the end of the thread in a row.
    pub(crate) fn knows(&self, clock: &Clock, row: u32) -> bool {
        self.seen.get(row as usize).is_some_and(|ends| ends.iter().any(|&end| clock.covers(end)))
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

impl Default for Known {
    fn default() -> Self {
        let none: Box<[u64]> = Box::default();
        Self {
            candidates: vec![none.clone()],
            candidates_of: FxHashMap::from_iter([(none.clone(), Candidates::NONE)]),
            answers: FxHashMap::default(),
            // The empty set has no part but itself.
            near: vec![((Some(Candidates::NONE), LockSetId(0), false), Candidates::NONE); NEAR].into(),
            users: vec![none.clone()],
            users_of: FxHashMap::from_iter([(none, Users::default())]),
            one_more: FxHashMap::default(),
            ends: Ends::default(),
        }
    }
}

impl Known {
    /// Whose end was seen.
    pub(crate) fn ends(&mut self) -> &mut Ends {
        &mut self.ends
    }

    /// Whether a row is among some users.
    #[inline]
    pub(crate) fn uses(&self, users: Users, row: u32) -> bool {
        let words = &self.users[users.0 as usize];
        words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 != 0)
    }

    /// Whether the end of one of them was seen, by whomever.
    pub(crate) fn has_ended(&self, users: Users) -> bool {
        let seen = self.ends.seen.iter().enumerate().filter(|(_, ends)| !ends.is_empty());
        seen.into_iter().any(|(row, _)| self.uses(users, row as u32))
    }

    /// Forgets all sets, but not whose end was seen.
    pub(crate) fn forget(&mut self) {
        let ends = std::mem::take(&mut self.ends);
        *self = Self { ends, ..Self::default() };
    }

    /// The bytes that the sets take, about.
    pub(crate) fn memory(&self) -> usize {
        const EACH: usize = 64;
        (self.candidates.len() + self.answers.len() + self.users.len() + self.one_more.len()) * EACH
    }

    fn users_of(&mut self, mut words: Vec<u64>) -> Users {
        while words.last() == Some(&0) {
            words.pop();
        }
        let words = words.into_boxed_slice();
        if let Some(&known) = self.users_of.get(&words) {
            return known;
        }
        let users = Users(self.users.len() as u32);
        self.users.push(words.clone());
        self.users_of.insert(words, users);
        users
    }

    fn answer(&mut self, question: Question, locks: &LockTable) -> Candidates {
        if let Some(&known) = self.answers.get(&question) {
            return known;
        }
        let (from, held, writes) = question;
        let from = from.map(|from| &self.candidates[from.0 as usize]);
        let counts = |mode| !writes || mode == LockMode::Write;
        let mut left: Vec<u64> = locks
            .locks(held)
            .iter()
            .filter(|held| counts(held.mode) && from.is_none_or(|from| from.contains(&held.lock)))
            .map(|held| held.lock)
            .collect();
        left.sort_unstable();
        let left = left.into_boxed_slice();
        let next = Candidates(self.candidates.len() as u32);
        let answer = *self.candidates_of.entry(left.clone()).or_insert(next);
        if answer == next {
            self.candidates.push(left);
        }
        self.answers.insert(question, answer);
        answer
    }
}

/// The sets, with the locks and what the present thread has seen.
pub(crate) struct Meaning<'a> {
    pub(crate) known: &'a mut Known,
    pub(crate) locks: &'a LockTable,
    pub(crate) clock: &'a Clock,
}

impl Sets for Meaning<'_> {
    #[inline]
    fn held(&mut self, candidates: Option<Candidates>, locks: LockSetId, writes: bool) -> Candidates {
        if candidates == Some(Candidates::NONE) {
            return Candidates::NONE;
        }
        let question = (candidates, locks, writes);
        let number = candidates.map_or(0, |candidates| candidates.0);
        let at = (number.wrapping_mul(31) ^ locks.0 << 1 ^ u32::from(writes)) as usize % NEAR;
        if self.known.near[at].0 != question {
            self.known.near[at] = (question, self.known.answer(question, self.locks));
        }
        self.known.near[at].1
    }

    #[inline]
    fn with(&mut self, users: Users, row: u32) -> Users {
        if self.known.uses(users, row) {
            return users;
        }
        if let Some(&known) = self.known.one_more.get(&(users, row)) {
            return known;
        }
        let mut words = self.known.users[users.0 as usize].to_vec();
        words.resize(words.len().max(row as usize / 64 + 1), 0);
        words[row as usize / 64] |= 1 << (row % 64);
        let more = self.known.users_of(words);
        self.known.one_more.insert((users, row), more);
        more
    }

    fn without_ended(&mut self, users: Users) -> Users {
        let mut words = self.known.users[users.0 as usize].to_vec();
        let mut changed = false;
        for (index, word) in words.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                if self.known.ends.knows(self.clock, index as u32 * 64 + bit) {
                    *word &= !(1 << bit);
                    changed = true;
                }
            }
        }
        if changed { self.known.users_of(words) } else { users }
    }

    fn is_at_most(&self, users: Users, row: u32) -> bool {
        let words = &self.known.users[users.0 as usize];
        words.iter().enumerate().all(|(index, &word)| {
            let own = if row as usize / 64 == index { 1 << (row % 64) } else { 0 };
            word & !own == 0
        })
    }
}
