//! The states of one variable: which locks may still protect it, and when none is left.
//!
//! Paper: Letko, Dynamic Detection and Healing of Low Level Data Races (Figure 1), which is Eraser (Savage and others,
//! TOCS 1997) with joins; read and write mode as in Eraser's section 2.3.
//!
//! Bytes that one thread alone uses (*Virgin*, *Exclusive*) need nothing but that thread, so whoever keeps the
//! variables keeps those in its own way and asks [`enters`] when another thread comes. A [`Variable`] is one that several threads use.
//!
//! Invariant: pure, and no memory of its own. Sets are numbers whose meaning [`Sets`] has; the same functions serve
//! while a program runs.

use deadheat_core::race::LockSetId;

/// What is taken into account beyond Eraser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// A thread whose end was seen no longer counts among those that use a variable (Letko's join rule).
    pub joins: bool,
    /// A variable whose only user so far did all it did with it before, by other order than that of locks, changes hands.
    pub hands_over: bool,
    /// What the thread that allocated a block does with it before any other thread does is its initialisation.
    pub initialises: bool,
}

impl Rules {
    /// Letko's algorithm, with the order of the run at the first change of threads.
    pub const LETKO: Rules = Rules { joins: true, hands_over: true, initialises: true };
    /// Eraser's.
    pub const ERASER: Rules = Rules { joins: false, hands_over: false, initialises: false };
}

/// What is known of the only user of a variable when another thread comes to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Its end was seen, and the thread that comes knows that.
    pub joined: bool,
    /// All it did with the variable is ordered before by something else than locks.
    pub ordered: bool,
}

/// Whether a variable of one thread becomes shared when another comes; otherwise it is that one's alone.
#[must_use]
pub const fn enters(rules: Rules, owner: Owner) -> bool {
    !(rules.joins && owner.joined || rules.hands_over && owner.ordered)
}

/// A set of locks each of which may protect a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Candidates(pub u32);

impl Candidates {
    /// No lock.
    pub const NONE: Candidates = Candidates(0);
}

/// A set of threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Users(pub u32);

/// What sets mean.
pub trait Sets {
    /// The candidates among `candidates` that `locks` holds, for writing in write mode; of all locks, if there are no candidates yet.
    fn held(&mut self, candidates: Option<Candidates>, locks: LockSetId, writes: bool) -> Candidates;
    /// The same threads and one more, in this row of the table of threads.
    fn with(&mut self, users: Users, row: u32) -> Users;
    /// Those whose end the present thread does not know.
    fn without_ended(&mut self, users: Users) -> Users;
    /// Whether there is none but perhaps `row`.
    fn is_at_most(&self, users: Users, row: u32) -> bool;
}

/// An access, as far as a state asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The thread's row.
    pub row: u32,
    /// Whether it writes.
    pub writes: bool,
    /// The locks that it holds.
    pub locks: LockSetId,
}

/// The states of a variable that several threads use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// They only read it since the second came.
    Shared,
    /// They write it, too.
    SharedModified,
    /// No lock protects it, and that was told.
    Race,
}

/// What an access makes of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is in the hands of the accessing thread alone.
    Alone,
    /// Nothing to tell.
    Fine,
    /// It is written and no lock is left; whoever tells that calls [`Variable::told`].
    Unprotected,
}

/// A variable that several threads use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable {
    phase: Phase,
    candidates: Candidates,
    users: Users,
}

impl Variable {
    /// The second thread comes to what was `owner`'s alone. What the owner wrote is forgiven.
    #[must_use]
    pub fn shared(owner: u32, step: Step, sets: &mut impl Sets) -> (Variable, Outcome) {
        let users = sets.with(Users::default(), owner);
        let users = sets.with(users, step.row);
        let candidates = sets.held(None, step.locks, step.writes);
        let mut variable = Variable { phase: Phase::Shared, candidates, users };
        let outcome = variable.check(step);
        (variable, outcome)
    }

    /// An access. `ended`: some of its users may have ended since its last one.
    pub fn step(&mut self, step: Step, ended: bool, sets: &mut impl Sets) -> Outcome {
        if ended {
            self.users = sets.without_ended(self.users);
            if sets.is_at_most(self.users, step.row) {
                return Outcome::Alone;
            }
        }
        self.users = sets.with(self.users, step.row);
        self.candidates = sets.held(Some(self.candidates), step.locks, step.writes);
        self.check(step)
    }

    fn check(&mut self, step: Step) -> Outcome {
        if step.writes && self.phase == Phase::Shared {
            self.phase = Phase::SharedModified;
        }
        match self.phase {
            Phase::SharedModified if self.candidates == Candidates::NONE => Outcome::Unprotected,
            Phase::Shared | Phase::SharedModified | Phase::Race => Outcome::Fine,
        }
    }

    /// It was told that no lock protects it.
    pub const fn told(&mut self) {
        self.phase = Phase::Race;
    }

    /// Its state.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Who uses it.
    #[must_use]
    pub const fn users(&self) -> Users {
        self.users
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets as bits: users by row; of locks the lower two bits are held in write mode, the upper two in read mode.
    struct Bits {
        ended: u32,
    }

    fn held(LockSetId(locks): LockSetId, writes: bool) -> u32 {
        let (write, read) = (locks & 3, locks >> 2);
        if writes { write } else { write | read }
    }

    impl Sets for Bits {
        fn held(&mut self, candidates: Option<Candidates>, locks: LockSetId, writes: bool) -> Candidates {
            Candidates(candidates.map_or(3, |candidates| candidates.0) & held(locks, writes))
        }

        fn with(&mut self, Users(users): Users, row: u32) -> Users {
            Users(users | 1 << row)
        }

        fn without_ended(&mut self, Users(users): Users) -> Users {
            Users(users & !self.ended)
        }

        fn is_at_most(&self, Users(users): Users, row: u32) -> bool {
            users & !(1 << row) == 0
        }
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum State {
        Virgin,
        Exclusive(u32),
        Shared,
        SharedModified,
        Race,
    }

    /// What is kept of bytes, as whoever keeps them does.
    #[derive(Clone, Copy)]
    enum Kept {
        Virgin,
        Exclusive(u32),
        Several(Variable),
    }

    impl Kept {
        fn state(self) -> State {
            match self {
                Kept::Virgin => State::Virgin,
                Kept::Exclusive(row) => State::Exclusive(row),
                Kept::Several(variable) => match variable.phase() {
                    Phase::Shared => State::Shared,
                    Phase::SharedModified => State::SharedModified,
                    Phase::Race => State::Race,
                },
            }
        }

        fn step(self, step: Step, rules: Rules, sets: &mut Bits) -> Kept {
            let (mut variable, outcome) = match self {
                Kept::Virgin => return Kept::Exclusive(step.row),
                Kept::Exclusive(row) => {
                    let owner = Owner { joined: sets.ended >> row & 1 != 0, ordered: false };
                    if row == step.row || !enters(rules, owner) {
                        return Kept::Exclusive(step.row);
                    }
                    Variable::shared(row, step, sets)
                }
                Kept::Several(mut variable) => {
                    let outcome = variable.step(step, rules.joins, sets);
                    (variable, outcome)
                }
            };
            match outcome {
                Outcome::Alone => return Kept::Exclusive(step.row),
                Outcome::Fine => {}
                Outcome::Unprotected => variable.told(),
            }
            Kept::Several(variable)
        }
    }

    /// The rules, line by line as they are written down.
    #[derive(Clone, Copy)]
    struct Model {
        state: State,
        threads: u32,
        candidates: u32,
    }

    impl Model {
        fn access(&mut self, Step { row: t, writes, locks }: Step, joins: bool, ended: u32) {
            if joins {
                self.threads &= !ended;
                if self.state != State::Virgin && self.threads & !(1 << t) == 0 {
                    (self.state, self.candidates) = (State::Exclusive(t), 3);
                }
            }
            self.threads |= 1 << t;
            let shared = if writes { State::SharedModified } else { State::Shared };
            match self.state {
                State::Virgin => self.state = State::Exclusive(t),
                State::Exclusive(u) if u == t => {}
                State::Exclusive(_) => (self.state, self.candidates) = (shared, held(locks, writes)),
                State::Shared => {
                    self.state = shared;
                    self.candidates &= held(locks, writes);
                }
                State::SharedModified | State::Race => self.candidates &= held(locks, writes),
            }
            if self.state == State::SharedModified && self.candidates == 0 {
                self.state = State::Race;
            }
        }
    }

    const THREADS: u32 = 3;
    const LOCKS: [u32; 5] = [0, 0b0001, 0b0011, 0b0100, 0b1001];
    /// An access of a thread, or that its end is known to all, or that it is back.
    const SYMBOLS: u32 = THREADS * 2 * LOCKS.len() as u32 + THREADS;

    fn follow(left: u32, kept: Kept, model: Model, ended: u32, rules: Rules, seen: &mut [u64; 5]) {
        seen[match model.state {
            State::Virgin => 0,
            State::Exclusive(_) => 1,
            State::Shared => 2,
            State::SharedModified => 3,
            State::Race => 4,
        }] += 1;
        for symbol in (0..SYMBOLS).filter(|_| left > 0) {
            let (row, rest) = (symbol % THREADS, symbol / THREADS);
            if rest == 2 * LOCKS.len() as u32 {
                follow(left - 1, kept, model, ended ^ 1 << row, rules, seen);
                continue;
            }
            // Who acts has not ended.
            if ended >> row & 1 != 0 {
                continue;
            }
            let step = Step { row, writes: rest % 2 == 1, locks: LockSetId(LOCKS[rest as usize / 2]) };
            let mut next = model;
            next.access(step, rules.joins, ended);
            let kept = kept.step(step, rules, &mut Bits { ended });
            assert_eq!(kept.state(), next.state, "{step:?}");
            follow(left - 1, kept, next, ended, rules, seen);
        }
    }

    #[test]
    fn all_short_sequences_go_through_the_states_as_written() {
        for rules in [Rules { hands_over: false, ..Rules::LETKO }, Rules::ERASER] {
            let mut seen = [0; 5];
            let model = Model { state: State::Virgin, threads: 0, candidates: 3 };
            follow(4, Kept::Virgin, model, 0, rules, &mut seen);
            println!("{rules:?}: {seen:?}");
            assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
        }
    }

    #[test]
    fn what_all_came_before_changes_hands() {
        let ordered = Owner { joined: false, ordered: true };
        assert!(!enters(Rules::LETKO, ordered));
        assert!(enters(Rules::ERASER, ordered));
    }
}
