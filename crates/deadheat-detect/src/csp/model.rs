//! What of a run decides which orders it can have: the model's processes, as data.
//!
//! Paper: section 2.2. A thread is the row of its operations; FORKS, JOINS and whatever else has to wait for one event of another
//! thread are [`Model::needs`]; MUTEXES are locks, here also for reading. Beyond the paper: semaphores, condition variables, and
//! *registers*: a stretch of memory whose value, or whose block, events test and set. An operation is *tainted* if it reads another
//! value than in the run, or follows a tainted one (`csp=control`).
//!
//! Invariants: what is not in a row can come whenever the operations of its thread before it have. No two operations set the
//! same value.

use deadheat_core::event::LockMode;

use crate::run::Number;

/// Something that a register can hold: its place in [`Model::values`].
pub(super) type Value = u32;

/// An operation: its thread's row, and its place there.
pub(super) type At = (u32, u32);

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Nothing; it waits for others, or others for it.
    Step,
    /// Takes a lock.
    Take { lock: u32, mode: LockMode },
    /// Gives it back.
    Give { lock: u32, mode: LockMode },
    /// Tests and sets registers: where in [`Model::touches`] the blocks that it tests begin, the values that it tests, what it sets,
    /// and where that ends.
    Touch([u32; 4]),
    /// Posts to a semaphore.
    Post { semaphore: u32 },
    /// Waits for a post.
    Draw { semaphore: u32 },
    /// Signals a condition variable.
    Signal { condition: u32 },
    /// Begins a wait.
    Await { wait: u32 },
    /// Ends one that a signal has to have reached.
    Wake { wait: u32 },
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) event: Number,
    pub(super) act: Act,
    /// Where in [`Model::needs`] those begin that have to come before it, the writers of what it reads among them, and where
    /// each of the two ends.
    pub(super) needs: [u32; 3],
    /// Where in [`Model::needs`] the signals are that it saw, of which one may do.
    pub(super) saw: [u32; 2],
    /// Where in [`Model::needs`] the operations of other threads are that it follows: it is tainted if they are.
    pub(super) follows: [u32; 2],
    /// Whether its thread does what it does next by what it has read: it must not be tainted.
    pub(super) decides: bool,
}

/// What a register can hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) register: u32,
    /// Who sets it; `None`: it was there at the start.
    pub(super) setter: Option<At>,
    /// Whether that writes it: it is tainted with its setter.
    pub(super) written: bool,
}

/// What a thread does while it has a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) mode: LockMode,
    /// Where it takes it; `None`: it has it at the start.
    pub(super) take: Option<u32>,
    pub(super) give: Option<u32>,
}

/// A lock.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) address: u64,
    /// By thread: its sections.
    pub(super) sections: Vec<Vec<Section>>,
}

/// How a wait stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waiting {
    Not,
    Begun,
    Reached,
}

/// A wait that a signal has to reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) condition: u32,
    /// How it stands at the start.
    pub(super) first: Waiting,
    /// Where it begins and ends, if here.
    pub(super) begin: Option<At>,
    pub(super) end: Option<At>,
}

/// A register: what it holds at the start, and its operations by thread.
#[derive(Debug)]
pub(super) struct Register {
    pub(super) first: Value,
    /// What it is for: an address whose value, or whose block, it stands for.
    pub(super) address: u64,
    pub(super) block: bool,
    /// By thread: where it sets it, and to what.
    pub(super) sets: Vec<Vec<(u32, Value)>>,
    /// By thread: where it tests it, and for what.
    pub(super) tests: Vec<Vec<(u32, Value)>>,
}

/// The model of a part of a run.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) rows: Vec<Vec<Op>>,
    pub(super) needs: Vec<At>,
    pub(super) touches: Vec<Value>,
    pub(super) values: Vec<Held>,
    pub(super) registers: Vec<Register>,
    pub(super) locks: Vec<Lock>,
    /// What each semaphore counts at the start, and where threads post to and draw from it.
    pub(super) semaphores: Vec<Semaphore>,
    pub(super) waits: Vec<Wait>,
    /// By condition variable: its address.
    pub(super) conditions: Vec<u64>,
    /// Whether reads need not keep their writers that nothing depends on.
    pub(super) control: bool,
    /// By thread: the operations by which others may learn that it is tainted.
    pub(super) tells: Vec<Vec<u32>>,
}

/// A semaphore.
#[derive(Debug)]
pub(super) struct Semaphore {
    pub(super) address: u64,
    pub(super) first: i64,
    /// By thread: where it draws from it.
    pub(super) draws: Vec<Vec<u32>>,
}

/// A thread before an access: what a race is asked of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Target {
    pub(super) thread: u32,
    /// How many operations the thread has done.
    pub(super) at: u32,
    /// Whether the access is the next operation, and what that waits for counts.
    pub(super) own: bool,
}

impl Model {
    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.rows.len()
    }

    /// An operation.
    pub(super) fn op(&self, (thread, at): At) -> &Op {
        &self.rows[thread as usize][at as usize]
    }

    /// What has to come before an operation, besides those of its thread.
    pub(super) fn needs(&self, at: At) -> &[At] {
        let [from, _, to] = self.op(at).needs;
        &self.needs[from as usize..to as usize]
    }

    /// The signals that a wait saw.
    pub(super) fn saw(&self, at: At) -> &[At] {
        let [from, to] = self.op(at).saw;
        &self.needs[from as usize..to as usize]
    }

    /// The operations that an operation follows in other threads.
    pub(super) fn follows(&self, at: At) -> &[At] {
        let [from, to] = self.op(at).follows;
        &self.needs[from as usize..to as usize]
    }

    /// The values that an operation reads.
    pub(super) fn reads(&self, at: At) -> impl Iterator<Item = Value> + '_ {
        let tests = self.tests(self.op(at).act).iter().copied();
        tests.filter(|&value| !self.registers[self.register(value)].block)
    }

    /// What has to come before an access for it to be next, besides the operations of its thread.
    pub(super) fn target_needs(&self, target: Target) -> &[At] {
        if !target.own {
            return &[];
        }
        let [from, to, _] = self.op((target.thread, target.at)).needs;
        &self.needs[from as usize..to as usize]
    }

    /// The blocks in which an access has to be.
    pub(super) fn target_tests(&self, target: Target) -> &[Value] {
        if !target.own {
            return &[];
        }
        let Act::Touch([from, to, ..]) = self.op((target.thread, target.at)).act else { return &[] };
        &self.touches[from as usize..to as usize]
    }

    /// What an operation tests of registers.
    pub(super) fn tests(&self, act: Act) -> &[Value] {
        let Act::Touch([from, _, to, _]) = act else { return &[] };
        &self.touches[from as usize..to as usize]
    }

    /// What an operation sets registers to.
    pub(super) fn sets(&self, act: Act) -> &[Value] {
        let Act::Touch([.., from, to]) = act else { return &[] };
        &self.touches[from as usize..to as usize]
    }

    /// The register that can hold a value.
    pub(super) fn register(&self, value: Value) -> usize {
        self.values[value as usize].register as usize
    }

    /// Where the access of an event is, of a thread by its row.
    pub(super) fn target(&self, thread: usize, event: Number) -> Target {
        let row = &self.rows[thread];
        let at = row.partition_point(|op| op.event < event);
        let own = row.get(at).is_some_and(|op| op.event == event);
        Target { thread: thread as u32, at: at as u32, own }
    }
}
