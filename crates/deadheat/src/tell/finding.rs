//! From what an analysis found wrong, and is no race, to what is told of it.

use deadheat_core::event::{Fault, LockMode as CoreLockMode};
use deadheat_core::finding::{Finding as CoreFinding, Nesting, Step as CoreStep};
use deadheat_core::ids::ThreadId;
use deadheat_core::race::Block;
use deadheat_report::model::{
    ASKED, Finding, Grade, Hex, LOCK_ORDER, Operation, Race, Step, TOOK, USE_AFTER_FREE,
};

use super::collect::{self, Held};
use super::resolve::Resolver;

/// Something wrong that was kept.
#[derive(Clone)]
pub(crate) enum Kept {
    /// What a hook judged.
    Fault {
        /// What it is.
        fault: Fault,
        /// The lock's address, the leaked thread's number, or the signal's.
        object: u64,
        /// The block that the lock lies in.
        block: Option<Block>,
        /// Who did it.
        step: CoreStep,
        /// Who took the lock.
        took: Option<CoreStep>,
    },
    /// A cycle of locks.
    LockOrder {
        /// Whether it can deadlock.
        possible: bool,
        /// Its requests.
        cycle: Vec<Nesting>,
    },
    /// A block that was used behind its end.
    UseAfterFree(Box<collect::Kept>),
}

impl From<&CoreFinding<'_>> for Kept {
    fn from(finding: &CoreFinding<'_>) -> Kept {
        match *finding {
            CoreFinding::Fault { fault, object, block, step, took } => {
                Kept::Fault { fault, object, block, step, took }
            }
            CoreFinding::LockOrder { possible, cycle } => Kept::LockOrder { possible, cycle: cycle.to_vec() },
            CoreFinding::UseAfterFree { used, locks } => {
                Kept::UseAfterFree(Box::new(collect::once(used, locks)))
            }
        }
    }
}

/// The kind of a fault.
fn kind(fault: Fault) -> &'static str {
    match fault {
        Fault::ThreadLeak => "thread-leak",
        Fault::IgnoredAtEnd => "ignored-at-end",
        Fault::SignalErrno => "signal-errno",
        Fault::SignalUnsafe => "signal-unsafe",
        Fault::UnlockNotHeld
        | Fault::DoubleLock
        | Fault::DestroyLocked
        | Fault::InvalidLock
        | Fault::ReadLockOfWritten
        | Fault::ReadUnlockOfWritten
        | Fault::HeldHere => "mutex-misuse",
    }
}

impl Resolver<'_> {
    /// A finding with its names.
    pub(super) fn finding(&mut self, kept: &Kept) -> Finding {
        match kept {
            Kept::Fault { fault, object, block, step, took } => {
                let lock = Held { lock: *object, mode: CoreLockMode::Write, block: *block };
                self.fault(*fault, lock, step, took.as_ref())
            }
            Kept::LockOrder { possible, cycle } => self.lock_order(*possible, cycle),
            Kept::UseAfterFree(kept) => self.use_after_free(kept),
        }
    }

    fn use_after_free(&mut self, kept: &collect::Kept) -> Finding {
        let Race { accesses, threads, location, count, .. } = self.race(kept);
        let [end, user] = &accesses;
        let freed =
            if end.thread == user.thread { "it freed".to_owned() } else { format!("`{}` freed", end.thread) };
        let what = match user.op {
            Operation::Free => "frees",
            Operation::Read => "reads",
            Operation::Write | Operation::ReadWrite => "writes to",
        };
        let again = if user.op == Operation::Free { " already" } else { " before" };
        Finding {
            kind: USE_AFTER_FREE.to_owned(),
            grade: Some(Grade::Observed),
            message: format!("`{}` {what} a block that {freed}{again}", user.thread),
            count,
            thread: user.thread.clone(),
            frames: user.frames.clone(),
            accesses: Some(Box::new(accesses)),
            location,
            threads,
            ..Finding::default()
        }
    }

    /// `of`: the lock, or with its address the leaked thread's number, or the signal's.
    fn fault(&mut self, fault: Fault, of: Held, step: &CoreStep, took: Option<&CoreStep>) -> Finding {
        let object = of.lock;
        let mut finding = Finding {
            kind: kind(fault).to_owned(),
            grade: Some(Grade::Observed),
            count: 1,
            thread: self.path(step.thread),
            ..Finding::default()
        };
        if fault.is_of_lock() {
            fault.name().clone_into(&mut finding.sort);
            finding.frames = self.stack(step.place, step.stack);
            finding.steps = took.map(|took| self.step(TOOK, took, &of)).into_iter().collect();
            if object != 0 {
                finding.lock = Some(self.lock(&of));
                finding.address = Some(Hex(object));
            }
            let threads: Vec<_> = [Some(step), took].into_iter().flatten().map(|step| step.thread).collect();
            finding.threads = self.threads_of(&threads);
        } else if let Fault::ThreadLeak | Fault::IgnoredAtEnd = fault {
            let thread = ThreadId(u32::try_from(object).unwrap_or(u32::MAX));
            finding.thread = self.path(thread);
            finding.threads = self.threads_of(&[thread]);
            finding.frames = finding.threads.first().map_or(Vec::new(), |row| row.frames.clone());
        } else {
            finding.signal = u32::try_from(object).ok();
            finding.frames = self.stack(step.place, step.stack);
            finding.threads = self.threads_of(&[step.thread]);
        }
        finding.message = message(fault, object, &finding);
        finding
    }

    fn lock_order(&mut self, possible: bool, cycle: &[Nesting]) -> Finding {
        let mut steps = Vec::new();
        for nesting in cycle {
            let held = Held { lock: nesting.held, mode: nesting.held_mode, block: nesting.held_block };
            let wanted =
                Held { lock: nesting.wanted, mode: nesting.wanted_mode, block: nesting.wanted_block };
            steps.push(self.step(TOOK, &nesting.took, &held));
            steps.push(self.step(ASKED, &nesting.asks, &wanted));
        }
        tell_apart(&mut steps);
        let names: Vec<_> = steps
            .iter()
            .filter(|step| step.what == TOOK)
            .map(|step| format!("`{}`", step.lock.shown()))
            .collect();
        let order = match &names[..] {
            [one, other] => format!("{one} and {other} are locked in opposite orders"),
            [others @ .., last] => format!("{} and {last} are locked in a circle", others.join(", ")),
            [] => String::new(),
        };
        let message = if possible {
            format!("{order}: the threads can wait for each other for ever")
        } else {
            format!("{order}, but in this run never by different threads at a time")
        };
        let threads: Vec<_> = cycle.iter().map(|nesting| nesting.asks.thread).collect();
        let first = steps.get(1);
        Finding {
            kind: LOCK_ORDER.to_owned(),
            grade: Some(if possible { Grade::Predicted } else { Grade::Suspected }),
            message,
            count: 1,
            thread: first.map_or(String::new(), |step| step.thread.clone()),
            frames: first.map_or(Vec::new(), |step| step.frames.clone()),
            threads: self.threads_of(&threads),
            steps,
            ..Finding::default()
        }
    }

    fn step(&mut self, what: &str, step: &CoreStep, lock: &Held) -> Step {
        Step {
            what: what.to_owned(),
            thread: self.path(step.thread),
            thread_name: self.thread_name(step.thread),
            lock: self.lock(lock),
            address: Hex(lock.lock),
            frames: self.stack(step.place, step.stack),
        }
    }

    fn threads_of(&mut self, threads: &[ThreadId]) -> Vec<deadheat_report::model::Thread> {
        let mut threads = threads.to_vec();
        threads.sort_unstable();
        threads.dedup();
        threads.into_iter().map(|id| self.thread(id)).collect()
    }
}

/// Gives each lock its address of whose name another one of the steps has.
fn tell_apart(steps: &mut [Step]) {
    let of = |step: &Step| (step.lock.name.clone(), step.address);
    let all: Vec<_> = steps.iter().map(of).collect();
    for step in steps {
        if all.iter().any(|(name, address)| *name == step.lock.name && *address != step.address) {
            step.lock.address = Some(step.address);
        }
    }
}

/// What is wrong, in a sentence.
fn message(fault: Fault, object: u64, finding: &Finding) -> String {
    let lock = finding.lock.as_ref().map_or(String::new(), |lock| format!("`{}`", lock.name));
    let thread = &finding.thread;
    match fault {
        Fault::UnlockNotHeld => format!("{lock} is unlocked by `{thread}`, which does not hold it"),
        Fault::DoubleLock => {
            format!("{lock} is locked by `{thread}` while it is held and cannot be held twice")
        }
        Fault::DestroyLocked => format!("{lock} is destroyed while it is held"),
        Fault::InvalidLock => format!("{lock} is used, but it was destroyed or never made"),
        Fault::ReadLockOfWritten => format!("{lock} is locked for reading while it is held for writing"),
        Fault::ReadUnlockOfWritten => format!("{lock} is unlocked by a reader while it is held for writing"),
        Fault::HeldHere => format!("`{thread}` holds a lock where none may be held"),
        Fault::ThreadLeak => format!("`{thread}` was neither joined nor detached when the process ended"),
        Fault::IgnoredAtEnd => format!("`{thread}` ended while its accesses were ignored"),
        Fault::SignalErrno => format!("the handler of signal {object} leaves another `errno` than it found"),
        Fault::SignalUnsafe => format!("the handler of signal {object} calls what no handler may call"),
    }
}
