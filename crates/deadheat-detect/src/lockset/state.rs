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
