//! What a run that provokes answered: its gate file, read after its end.
//!
//! Invariant: any bytes are either read or refused with the file, the offset and the reason; what
//! a killed run left unfinished is left out.

use std::path::Path;
use std::time::Duration;

use deadheat_core::access::{MemoryOrder, Mode, Via};
use deadheat_core::gate::{
    self, MAX_PATH, access, descriptor, find, head, loaded, module, note, target, thread,
};

use super::gatefile::Code;
use super::turns::{Delay, Moments};
use crate::exit::Failure;

/// What came of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Outcome {
    /// The process that took the file; `None` if none did.
    pub(crate) taken: Option<u32>,
    /// Monotonic time at the start.
    pub(crate) started: Duration,
    /// The modules, in the order of the plan.
    pub(crate) modules: Vec<ModuleState>,
    /// The targets, in the order of the plan.
    pub(crate) targets: Vec<TargetState>,
    /// What the watch rule found.
    pub(crate) finds: Vec<Find>,
    /// What happened, in the order in which it was noted.
    pub(crate) notes: Vec<Note>,
    /// How many notes were made, also those for which there was no room.
    pub(crate) noted: u64,
    /// Steps of the watched order that were passed.
    pub(crate) passed: u64,
    /// The step, from 1, at which the order was given up.
    pub(crate) given_up: Option<u64>,
    /// Whether the runtime ended the program because all was decided.
    pub(crate) cut: bool,
    /// The most threads that lived at once.
    pub(crate) most_threads: u64,
    /// Targets that are not decided.
    pub(crate) open: u64,
    /// The paths of the threads that took turns.
    pub(crate) threads: Vec<Vec<u64>>,
    /// The turns that were noted, as the gate file has them.
    pub(crate) turns: Vec<u64>,
}

/// What became of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ModuleState {
    /// Whether and which.
    pub(crate) loaded: Loaded,
    /// What is added to the module's own addresses.
    pub(crate) bias: u64,
    /// Its lowest address.
    pub(crate) start: u64,
    /// The address behind its last.
    pub(crate) end: u64,
}

/// Whether a module was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Loaded {
    /// It was not.
    #[default]
    Never,
    /// It was.
    Yes,
    /// One of its name was, with another build id.
    Other,
}

/// What became of a target, as the runtime tells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Verdict {
    /// Not decided.
    #[default]
    Open,
    /// The two threads stood before conflicting accesses: a proof.
    Race,
    /// The wait was over before the other side came.
    None,
    /// Nobody who could have come was left running.
    Quiescent,
    /// Both came, but their accesses did not conflict this time.
    Moved,
    /// A side came when it could not be held.
    Busy,
}

/// A target's record.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TargetState {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The side, 0 or 1, for which a thread was held when the run ended.
    pub(crate) held: Option<usize>,
    /// When it was decided, since the start.
    pub(crate) decided: Duration,
    /// How long a thread was held for it.
    pub(crate) waited: Duration,
    /// How many turns were over when one side was held and when they met.
    pub(crate) moments: Moments,
    /// The side, 0 or 1, that was held when the other came.
    pub(crate) first: usize,
    /// If it was given up as quiescent: the delay that may help.
    pub(crate) delay: Option<Delay>,
    /// M: the accesses found, for each side.
    pub(crate) found: [Option<Found>; 2],
    /// What was counted of each side's descriptor.
    pub(crate) sides: [Counts; 2],
}

impl TargetState {
    /// Whether a side was never there: the run diverged from the one that was watched.
    pub(crate) fn lost(&self) -> bool {
        self.verdict == Verdict::Open && self.sides.iter().any(|side| side.reached.is_none())
    }
}

/// What was counted of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// The most matches that one thread counted.
    pub(crate) count: u64,
    /// When the N-th match was reached first, since the start.
    pub(crate) reached: Option<Duration>,
    /// How often the code address was passed, whoever did it.
    pub(crate) visits: u64,
}

/// An access that was about to happen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Found {
    /// The hook's return address.
    pub(crate) pc: u64,
    /// The first byte.
    pub(crate) address: u64,
    /// The number of bytes.
    pub(crate) length: u64,
    /// Reads, writes, or both.
    pub(crate) mode: Mode,
    /// Whether it is atomic, and in which order.
    pub(crate) atomic: Option<MemoryOrder>,
    /// How the program came to make it.
    pub(crate) via: Via,
    /// A compare-exchange that would have failed, and so only reads.
    pub(crate) would_fail: bool,
    /// When, since the start.
    pub(crate) time: Duration,
    /// The kernel's number of the thread.
    pub(crate) kernel_id: u32,
    /// The thread's path; see [`super::gatefile::path_text`].
    pub(crate) path: Vec<u64>,
    /// Addresses of the locks held, the first taken first.
    pub(crate) locks: Vec<u64>,
    /// Return addresses of the calls, the last call first.
    pub(crate) calls: Vec<u64>,
}

/// A find of the watch rule.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Find {
    /// The target; `None` if a sample was held.
    pub(crate) target: Option<usize>,
    /// The side that was held, 0 or 1.
    pub(crate) side: usize,
    /// How many turns were over when it was held and when the other came.
    pub(crate) moments: Moments,
    /// The held access, then the other one.
    pub(crate) found: [Found; 2],
}

/// One line of what happened around the meeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    /// When, since the start.
    pub(crate) time: Duration,
    /// What: a number of [`gate::note`].
    pub(crate) what: u64,
    /// The target; of a step of the watched order, the step.
    pub(crate) target: usize,
    /// The side, 0 or 1.
    pub(crate) side: usize,
    /// The kernel's number of the thread.
    pub(crate) kernel_id: u32,
    /// The hook's return address.
    pub(crate) pc: u64,
}

impl Outcome {
    /// Leaves out what was decided or found at this monotonic time or later.
    pub(crate) fn forget_from(&mut self, time: Duration) {
        let until = time.saturating_sub(self.started);
        for target in &mut self.targets {
            if target.verdict != Verdict::Open && target.decided >= until {
                (target.verdict, target.found) = (Verdict::Open, [None, None]);
            }
        }
        self.finds.retain(|find| find.found.iter().all(|found| found.time < until));
    }

    /// Module and offset of a return address: those of the last byte of the call.
    pub(crate) fn locate(&self, pc: u64) -> Option<Code> {
        let at = pc.checked_sub(1)?;
        let within =
            |state: &ModuleState| state.loaded == Loaded::Yes && (state.start..state.end).contains(&at);
        let module = self.modules.iter().position(within)?;
        Some(Code { module, offset: at.wrapping_sub(self.modules[module].bias) })
    }
}

/// Reads the gate file of a run that has ended.
pub(crate) fn read(path: &Path) -> Result<Outcome, Failure> {
    let refuse = |at: usize, reason: &str| Failure::input(format!("{}: byte {at}: {reason}", path.display()));
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
    let (eights, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(refuse(bytes.len(), "the gate file ends within a word"));
    }
    let words: Vec<u64> = eights.iter().map(|eight| u64::from_ne_bytes(*eight)).collect();
    parse(&words).map_err(|Fault { word, reason }| refuse(8 * word, reason))
}

/// What is wrong, and at which word.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    word: usize,
    reason: &'static str,
}

/// The words of a gate file, and where the part at hand begins.
#[derive(Clone, Copy)]
struct Words<'a> {
    all: &'a [u64],
    at: usize,
}

impl<'a> Words<'a> {
    fn get(&self, index: usize) -> Result<u64, Fault> {
        let word = self.at.saturating_add(index);
        let missing = Fault { word: self.all.len(), reason: "the gate file ends early" };
        self.all.get(word).copied().ok_or(missing)
    }

    fn fault(&self, index: usize, reason: &'static str) -> Fault {
        Fault { word: self.at + index, reason }
    }

    /// A number that is at most `most`.
    fn small(&self, index: usize, most: usize, reason: &'static str) -> Result<usize, Fault> {
        match usize::try_from(self.get(index)?) {
            Ok(number) if number <= most => Ok(number),
            _ => Err(self.fault(index, reason)),
        }
    }

    fn time(&self, index: usize) -> Result<Duration, Fault> {
        Ok(Duration::from_nanos(self.get(index)?))
    }

    /// As many words as the number at `len` says, from `from` on.
    fn list(&self, len: usize, from: usize, most: usize) -> Result<Vec<u64>, Fault> {
        let count = self.small(len, most, "this list is longer than it can be")?;
        (from..from + count).map(|index| self.get(index)).collect()
    }

    fn record(&self, index: usize, size: usize) -> Words<'a> {
        Words { all: self.all, at: self.at.saturating_add(index.saturating_mul(size)) }
    }

    /// The records whose count and place the head tells; all of them are in the file.
    fn table(&self, count: usize, at: usize, size: usize) -> Result<Vec<Words<'a>>, Fault> {
        let start = self.small(at, self.all.len(), "this table begins behind the end")?;
        let room = (self.all.len() - start) / size;
        let count = self.small(count, room, "this table is longer than the file")?;
        let table = Words { all: self.all, at: start };
        Ok((0..count).map(|index| table.record(index, size)).collect())
    }
}

fn parse(all: &[u64]) -> Result<Outcome, Fault> {
    let head = Words { all, at: 0 };
    if head.get(head::MAGIC)? != gate::MAGIC {
        return Err(head.fault(head::MAGIC, "this is no gate file"));
    }
    match head.get(head::WORDS)? {
        words if words == all.len() as u64 => {}
        words if words > all.len() as u64 => return Err(head.fault(all.len(), "the gate file ends early")),
        _ => return Err(head.fault(head::WORDS, "the gate file is longer than it says")),
    }
    let modules = head.table(head::MODULES, head::MODULES_AT, module::SIZE)?;
    let descriptors = head.table(head::DESCRIPTORS, head::DESCRIPTORS_AT, descriptor::SIZE)?;
    let targets = head.table(head::TARGETS, head::TARGETS_AT, target::SIZE)?;
    if descriptors.len() != 2 * targets.len() {
        return Err(head.fault(head::DESCRIPTORS, "there are not two descriptors a target"));
    }
    let finds = head.table(head::FINDS, head::FINDS_AT, find::SIZE)?;
    let notes = head.table(head::NOTES, head::NOTES_AT, note::SIZE)?;
    let (found, noted) = (head.get(head::FOUND)?, head.get(head::NOTED)?);
    let threads = head.table(head::THREADS, head::THREADS_AT, thread::SIZE)?;
    let turns = head.table(head::TURNS, head::TURNS_AT, 1)?;
    let (known, turned) = (head.get(head::KNOWN)?, head.get(head::TURNED)?);
    let taken = head.get(head::TAKEN)?;
    let given_up = head.get(head::GIVEN_UP)?;
    let first = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Outcome {
        taken: (taken & 1 == 1).then_some((taken >> 32) as u32),
        started: head.time(head::STARTED)?,
        modules: modules.iter().map(module_state).collect::<Result<_, _>>()?,
        targets: targets
            .iter()
            .zip(descriptors.as_chunks::<2>().0)
            .map(|(target, sides)| target_state(target, sides))
            .collect::<Result<_, _>>()?,
        finds: finds
            .iter()
            .take(first(found))
            .filter_map(|record| a_find(record, targets.len()).transpose())
            .collect::<Result<_, _>>()?,
        notes: notes
            .iter()
            .take(first(noted))
            .filter_map(|record| a_note(record).transpose())
            .collect::<Result<_, _>>()?,
        noted,
        passed: head.get(head::PASSED)?,
        given_up: (given_up > 0).then_some(given_up),
        cut: head.get(head::CUT)? != 0,
        most_threads: head.get(head::MOST_THREADS)?,
        open: head.get(head::OPEN)?,
        threads: threads
            .iter()
            .take(first(known))
            .map(|record| record.list(thread::PATH_LEN, thread::PATH, MAX_PATH))
            .collect::<Result<_, _>>()?,
        turns: turns.iter().take(first(turned)).map(|record| record.get(0)).collect::<Result<_, _>>()?,
    })
}

fn module_state(record: &Words<'_>) -> Result<ModuleState, Fault> {
    let loaded = match record.get(module::STATE)? {
        loaded::NEVER => Loaded::Never,
        loaded::YES => Loaded::Yes,
        loaded::OTHER => Loaded::Other,
        _ => return Err(record.fault(module::STATE, "there is no such state of a module")),
    };
    Ok(ModuleState {
        loaded,
        bias: record.get(module::BIAS)?,
        start: record.get(module::START)?,
        end: record.get(module::END)?,
    })
}

fn target_state(record: &Words<'_>, sides: &[Words<'_>; 2]) -> Result<TargetState, Fault> {
    let verdict = match record.get(target::VERDICT)? {
        gate::verdict::OPEN => Verdict::Open,
        gate::verdict::RACE => Verdict::Race,
        gate::verdict::NONE => Verdict::None,
        gate::verdict::QUIESCENT => Verdict::Quiescent,
        gate::verdict::MOVED => Verdict::Moved,
        gate::verdict::BUSY => Verdict::Busy,
        _ => return Err(record.fault(target::VERDICT, "there is no such verdict")),
    };
    let held = record.small(target::HELD, 2, "a target has two sides")?;
    let found = Words { at: record.at + target::FOUND, ..*record };
    Ok(TargetState {
        verdict,
        held: held.checked_sub(1),
        decided: record.time(target::DECIDED)?,
        waited: record.time(target::WAITED)?,
        moments: Moments::of(record.get(target::TURNS)?),
        delay: Delay::of(record.get(target::DELAY)?).filter(|_| verdict == Verdict::Quiescent),
        first: record.small(target::FIRST, 1, "a target has two sides")?,
        found: [an_access(&found)?, an_access(&found.record(1, access::SIZE))?],
        sides: [counts(&sides[0])?, counts(&sides[1])?],
    })
}

fn counts(record: &Words<'_>) -> Result<Counts, Fault> {
    let reached = record.get(descriptor::REACHED)?;
    Ok(Counts {
        count: record.get(descriptor::COUNT)?,
        reached: (reached > 0).then(|| Duration::from_nanos(reached)),
        visits: record.get(descriptor::VISITS)?,
    })
}

/// The access of a record; `None` if there is none.
fn an_access(record: &Words<'_>) -> Result<Option<Found>, Fault> {
    let how = record.get(access::HOW)?;
    let mode = match how & 3 {
        1 => Mode::Read,
        2 => Mode::Write,
        3 => Mode::ReadWrite,
        // Not written yet when the run was killed.
        _ => return Ok(None),
    };
    let byte = |shift: u32| u32::from((how >> shift) as u8);
    Ok(Some(Found {
        pc: record.get(access::PC)?,
        address: record.get(access::ADDRESS)?,
        length: record.get(access::LENGTH)?,
        mode,
        atomic: (how & access::ATOMIC != 0).then(|| MemoryOrder::from_abi(byte(8))),
        via: Via::from_bits(byte(16) & 0xff),
        would_fail: how & access::WOULD_FAIL != 0,
        time: record.time(access::TIME)?,
        kernel_id: record.get(access::KERNEL_ID)? as u32,
        path: record.list(access::PATH_LEN, access::PATH, MAX_PATH)?,
        locks: record.list(access::LOCKS_LEN, access::LOCKS, access::MAX_LOCKS)?,
        calls: record.list(access::CALLS_LEN, access::CALLS, access::MAX_CALLS)?,
    }))
}

/// The find of a record; `None` if it is not whole.
fn a_find(record: &Words<'_>, targets: usize) -> Result<Option<Find>, Fault> {
    if record.get(find::WHOLE)? == 0 {
        return Ok(None);
    }
    let target = match record.get(find::TARGET)? {
        gate::NO_TARGET => None,
        _ => {
            let none = "there is no such target";
            let last = targets.checked_sub(1).ok_or(record.fault(find::TARGET, none))?;
            Some(record.small(find::TARGET, last, none)?)
        }
    };
    let found = Words { at: record.at + find::FOUND, ..*record };
    let (one, other) = (an_access(&found)?, an_access(&found.record(1, access::SIZE))?);
    let (Some(one), Some(other)) = (one, other) else {
        return Err(record.fault(find::FOUND, "a find lacks an access"));
    };
    Ok(Some(Find {
        target,
        side: record.small(find::SIDE, 1, "a target has two sides")?,
        moments: Moments::of(record.get(find::TURNS)?),
        found: [one, other],
    }))
}

/// The note of a record; `None` if it was not written.
fn a_note(record: &Words<'_>) -> Result<Option<Note>, Fault> {
    let what = record.get(note::WHAT)?;
    if what == 0 {
        return Ok(None);
    }
    Ok(Some(Note {
        time: record.time(note::TIME)?,
        what: what & 0xff,
        target: (what >> 8 & 0xffff) as usize,
        side: (what >> 24 & 1) as usize,
        kernel_id: record.get(note::KERNEL_ID)? as u32,
        pc: record.get(note::PC)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::gatefile::{Armed, CodeRange, Descriptor, Module, Plan};
    use super::super::turns::Order;
    use super::*;

    fn plan() -> Plan {
        let side = |offset| Descriptor {
            path: vec![1, 2],
            only_thread: true,
            code: Code { module: 1, offset },
            calls: vec![Code { module: 0, offset: 5 }],
            ordinal: 3,
        };
        Plan {
            modules: vec![
                Module { name: "program".into(), build_id: vec![1; 20] },
                Module { name: "libstore.so".into(), build_id: vec![] },
            ],
            targets: vec![
                Armed { sides: [side(0x10), side(0x20)], bound: Duration::from_millis(7), delay: None },
                Armed::default(),
            ],
            steps: 1,
            ranges: vec![CodeRange { step: 0, from: Code { module: 0, offset: 8 }, to: 12 }],
            flags: gate::flag::CUT,
            patience: Duration::from_secs(1),
            sample: None,
            finds: 2,
            notes: 3,
            turns: false,
            order: Order { threads: vec![vec![1]], turns: vec![0, 0], pause: 1, first: 0 },
        }
    }

    fn put(words: &mut [u64], at: usize, values: &[(usize, u64)]) {
        values.iter().for_each(|&(index, value)| words[at + index] = value);
    }

    fn table(words: &[u64], at: usize) -> usize {
        words[at] as usize
    }

    /// A file as the runtime might leave it.
    fn answered() -> Vec<u64> {
        let mut words = plan().words().expect("it fits");
        let modules = table(&words, head::MODULES_AT);
        let lies =
            [(module::STATE, 1), (module::BIAS, 0x4000), (module::START, 0x4000), (module::END, 0x9000)];
        put(&mut words, modules + module::SIZE, &lies);
        let descriptors = table(&words, head::DESCRIPTORS_AT);
        put(
            &mut words,
            descriptors,
            &[(descriptor::COUNT, 3), (descriptor::REACHED, 40), (descriptor::VISITS, 9)],
        );
        let targets = table(&words, head::TARGETS_AT);
        put(&mut words, targets, &[(target::VERDICT, gate::verdict::RACE), (target::DECIDED, 99)]);
        let how = 2 | access::ATOMIC | 3 << 8 | 1 << 16;
        let made = [
            (access::PC, 0x4011),
            (access::ADDRESS, 0x8000),
            (access::LENGTH, 4),
            (access::HOW, how),
            (access::PATH_LEN, 1),
            (access::PATH, 2),
            (access::LOCKS_LEN, 1),
            (access::LOCKS, 0x7000),
            (access::CALLS_LEN, 2),
            (access::CALLS + 1, 0x4021),
        ];
        put(&mut words, targets + target::FOUND, &made);
        let finds = table(&words, head::FINDS_AT);
        put(&mut words, finds, &[(find::WHOLE, 1), (find::TARGET, 1), (find::SIDE, 1)]);
        put(&mut words, finds + find::FOUND, &made);
        put(&mut words, finds + find::FOUND + access::SIZE, &made);
        let notes = table(&words, head::NOTES_AT);
        put(&mut words, notes, &[(note::WHAT, note::MET | 1 << 8 | 1 << 24), (note::PC, 0x4011)]);
        put(&mut words, 0, &[(head::TAKEN, 1 | 77 << 32), (head::FOUND, 2), (head::NOTED, 5)]);
        words
    }

    #[test]
    fn nothing_is_read_from_a_file_that_nobody_took() {
        let outcome = parse(&plan().words().expect("it fits")).expect("well formed");
        assert_eq!(outcome.taken, None);
        assert_eq!(outcome.targets.len(), 2);
        assert!(outcome.targets.iter().all(|target| target.lost() && target.found == [None, None]));
        assert!(outcome.finds.is_empty() && outcome.notes.is_empty());
    }

    #[test]
    fn an_answer_is_read_whole() {
        let outcome = parse(&answered()).expect("well formed");
        assert_eq!((outcome.taken, outcome.noted), (Some(77), 5));
        assert_eq!(outcome.locate(0x4011), Some(Code { module: 1, offset: 0x10 }));
        assert_eq!(outcome.locate(0x4000), None);
        let target = &outcome.targets[0];
        assert_eq!((target.verdict, target.held), (Verdict::Race, None));
        assert_eq!(target.sides[0].reached, Some(Duration::from_nanos(40)));
        let found = target.found[0].as_ref().expect("an access");
        assert_eq!((found.pc, found.length, found.mode), (0x4011, 4, Mode::Write));
        assert_eq!((found.atomic, found.via), (Some(MemoryOrder::Release), Via::Volatile));
        assert_eq!((&found.path[..], &found.locks[..]), (&[2][..], &[0x7000][..]));
        assert_eq!(found.calls, [0, 0x4021]);
        assert_eq!(target.found[1], None);
        // The second find is counted but was not finished.
        assert_eq!(outcome.finds.len(), 1);
        assert_eq!((outcome.finds[0].target, outcome.finds[0].side), (Some(1), 1));
        let note = outcome.notes[0];
        assert_eq!((note.what, note.target, note.side, outcome.notes.len()), (note::MET, 1, 1, 1));
    }

    #[test]
    fn what_came_after_a_run_was_asked_to_end_is_forgotten() {
        let ns = Duration::from_nanos;
        let mut outcome = Outcome { started: ns(1000), ..parse(&answered()).expect("well formed") };
        outcome.forget_from(ns(1100));
        assert_eq!((outcome.targets[0].verdict, outcome.finds.len()), (Verdict::Race, 1));
        outcome.forget_from(ns(1099));
        assert_eq!((outcome.targets[0].verdict, outcome.finds.len()), (Verdict::Open, 1));
        assert_eq!(outcome.targets[0].found, [None, None]);
        outcome.forget_from(ns(1000));
        assert!(outcome.finds.is_empty());
    }

    #[test]
    fn a_torn_file_is_refused_with_its_place() {
        let words = answered();
        for len in 0..words.len() {
            let fault = parse(&words[..len]).expect_err("it is torn");
            assert_eq!(fault.word, len, "{}", fault.reason);
        }
    }

    #[test]
    fn no_word_makes_the_reader_panic() {
        let words = answered();
        for at in 0..words.len() {
            for value in [1, 3, 200, 1 << 20, u64::MAX] {
                let mut changed = words.clone();
                changed[at] = value;
                let _ = parse(&changed).map(|outcome| outcome.locate(value));
            }
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let scratch = crate::traces::Scratch::make().expect("a folder");
        let path = scratch.path().join("t.gate");
        plan().write(&path).expect("written");
        assert_eq!(read(&path).expect("well formed").targets.len(), 2);
        let bytes = std::fs::read(&path).expect("there");
        std::fs::write(&path, &bytes[..1001]).expect("torn");
        let error = read(&path).expect_err("torn").to_string();
        assert!(error.contains("t.gate: byte 1001: "), "{error}");
    }
}
