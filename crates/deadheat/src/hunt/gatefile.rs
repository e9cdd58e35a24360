//! What is said to a run that provokes: targets and the watched order, written as a gate file.
//!
//! Invariant: a [`Plan`] that is larger than a gate file may be is refused, never cut.

use std::path::Path;
use std::time::Duration;

use deadheat_core::gate::{
    self, FOREIGN, MAX_PATH, NAMED, code, descriptor, head, module, range, target, thread,
};

use super::manner::Sampling;
use super::turns::{self, Delay, Order};
use crate::exit::{Context, Failure};

/// Everything that a gate file says to a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan {
    /// The modules that codes speak of. Further ones may be named so that the outcome says
    /// where they lay.
    pub(crate) modules: Vec<Module>,
    /// The targets, at most [`gate::MAX_TARGETS`].
    pub(crate) targets: Vec<Armed>,
    /// How many steps the watched order has.
    pub(crate) steps: usize,
    /// The code ranges of the steps, at most [`gate::MAX_STEPS`].
    pub(crate) ranges: Vec<CodeRange>,
    /// Bits of [`gate::flag`].
    pub(crate) flags: u64,
    /// How long the order is kept at one place before it is given up.
    pub(crate) patience: Duration,
    /// Which accesses to hold beside those that match.
    pub(crate) sample: Option<Sample>,
    /// Room for finds of the watch rule.
    pub(crate) finds: usize,
    /// Room for notes.
    pub(crate) notes: usize,
    /// Whether turns are noted.
    pub(crate) turns: bool,
    /// The order of turns to keep, if there are any in it.
    pub(crate) order: Order,
}

/// Accesses that are held by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    /// About every so-many-th, and for how long at most.
    pub(crate) sampling: Sampling,
    /// What the choice depends on.
    pub(crate) seed: u64,
}

impl Sample {
    fn write(&self, words: &mut [u64]) {
        words[head::SAMPLE] = self.sampling.every;
        words[head::SAMPLE_DELAY] = nanoseconds(self.sampling.delay);
        words[head::SAMPLE_SEED] = self.seed;
    }
}

/// A module that codes speak of.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Module {
    /// The path's last part.
    pub(crate) name: String,
    /// Its build id; empty if it has none.
    pub(crate) build_id: Vec<u8>,
}

/// A place in a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Code {
    /// The module's index in [`Plan::modules`].
    pub(crate) module: usize,
    /// The address in the module's own address space, within the instruction.
    pub(crate) offset: u64,
}

/// A descriptor ⟨U, B, I, S, N⟩.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Descriptor {
    /// U, see [`path_of`].
    pub(crate) path: Vec<u64>,
    /// B: whether only that thread matches.
    pub(crate) only_thread: bool,
    /// I.
    pub(crate) code: Code,
    /// S: call sites, the last call first; empty stands for any stack.
    pub(crate) calls: Vec<Code>,
    /// N, from 1.
    pub(crate) ordinal: u64,
}

/// A target, and how long one side waits for the other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Armed {
    /// The descriptors.
    pub(crate) sides: [Descriptor; 2],
    /// The wait.
    pub(crate) bound: Duration,
    /// The side that is not to come first.
    pub(crate) delay: Option<Delay>,
}

/// A range of code that belongs to a step of the watched order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CodeRange {
    /// The step, from 0.
    pub(crate) step: usize,
    /// The first byte.
    pub(crate) from: Code,
    /// The offset behind the last byte, in the same module.
    pub(crate) to: u64,
}

impl Plan {
    /// Writes the gate file.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let what = || format!("cannot write {}", path.display());
        let words = self.words().context(what)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        std::fs::write(path, bytes).context(what)
    }

    /// The words of the gate file, or what is too large for it.
    pub(crate) fn words(&self) -> Result<Vec<u64>, String> {
        self.check()?;
        let mut words = vec![0; head::SIZE];
        let mut room = |count: usize, size: usize| {
            let at = words.len();
            words.resize(at + count * size, 0);
            at
        };
        let modules = room(self.modules.len(), module::SIZE);
        let descriptors = room(2 * self.targets.len(), descriptor::SIZE);
        let targets = room(self.targets.len(), target::SIZE);
        let ranges = room(self.ranges.len(), range::SIZE);
        let finds = room(self.finds, gate::find::SIZE);
        let notes = room(self.notes, gate::note::SIZE);
        let (most_threads, most_turns) = if self.turns { (turns::THREADS, turns::ROOM) } else { (0, 0) };
        let (most_threads, most_turns) =
            (most_threads.max(self.order.threads.len()), most_turns.max(self.order.turns.len()));
        let threads = room(most_threads, thread::SIZE);
        let turns = room(most_turns, 1);
        write_order(&self.order, &mut words, threads, turns);
        for (index, row) in self.modules.iter().enumerate() {
            write_module(row, &mut words[modules + index * module::SIZE..]);
        }
        for (index, row) in self.targets.iter().flat_map(|target| &target.sides).enumerate() {
            write_descriptor(row, &mut words[descriptors + index * descriptor::SIZE..]);
        }
        for (index, row) in self.targets.iter().enumerate() {
            words[targets + index * target::SIZE + target::BOUND] = nanoseconds(row.bound);
            words[targets + index * target::SIZE + target::DELAY] = row.delay.map_or(0, Delay::word);
        }
        for (index, row) in self.ranges.iter().enumerate() {
            let at = ranges + index * range::SIZE;
            words[at + range::STEP] = row.step as u64;
            words[at + range::FROM] = word_of(row.from);
            words[at + range::TO] = code(row.from.module as u64, row.to);
        }
        for (at, value) in [
            (head::MAGIC, gate::MAGIC),
            (head::WORDS, words.len() as u64),
            (head::MODULES, self.modules.len() as u64),
            (head::MODULES_AT, modules as u64),
            (head::DESCRIPTORS, 2 * self.targets.len() as u64),
            (head::DESCRIPTORS_AT, descriptors as u64),
            (head::TARGETS, self.targets.len() as u64),
            (head::TARGETS_AT, targets as u64),
            (head::RANGES, self.ranges.len() as u64),
            (head::RANGES_AT, ranges as u64),
            (head::STEPS, self.steps as u64),
            (head::FINDS, self.finds as u64),
            (head::FINDS_AT, finds as u64),
            (head::NOTES, self.notes as u64),
            (head::NOTES_AT, notes as u64),
            (head::FLAGS, self.flags),
            (head::PATIENCE, nanoseconds(self.patience)),
            (head::THREADS, most_threads as u64),
            (head::THREADS_AT, threads as u64),
            (head::TURNS, most_turns as u64),
            (head::TURNS_AT, turns as u64),
            (head::KNOWN, self.order.threads.len() as u64),
            (head::KEPT, self.order.turns.len() as u64),
            (head::PAUSE, self.order.pause as u64),
            (head::FIRST, self.order.first as u64),
        ] {
            words[at] = value;
        }
        if let Some(sample) = &self.sample {
            sample.write(&mut words);
        }
        Ok(words)
    }

    fn check(&self) -> Result<(), String> {
        let most = |what: &str, count: usize, most: usize| {
            if count > most { Err(format!("{count} {what}, but at most {most} fit")) } else { Ok(()) }
        };
        most("targets", self.targets.len(), gate::MAX_TARGETS)?;
        most("steps", self.steps, gate::MAX_STEPS)?;
        most("code ranges", self.ranges.len(), gate::MAX_STEPS)?;
        most("modules", self.modules.len(), usize::from(u16::MAX))?;
        for path in &self.order.threads {
            most("numbers in a thread's path", path.len(), MAX_PATH)?;
        }
        for side in self.targets.iter().flat_map(|target| &target.sides) {
            most("numbers in a thread's path", side.path.len(), MAX_PATH)?;
            most("call sites", side.calls.len(), descriptor::MAX_CALLS)?;
            for code in std::iter::once(&side.code).chain(&side.calls) {
                self.check_module(code)?;
            }
        }
        for range in &self.ranges {
            self.check_module(&range.from)?;
            most("steps", range.step + 1, self.steps)?;
        }
        Ok(())
    }

    fn check_module(&self, code: &Code) -> Result<(), String> {
        if code.module < self.modules.len() {
            return Ok(());
        }
        Err(format!("a place is in module {}, but there are {}", code.module, self.modules.len()))
    }
}

fn word_of(place: Code) -> u64 {
    code(place.module as u64, place.offset)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn write_module(row: &Module, words: &mut [u64]) {
    let id = &row.build_id[..row.build_id.len().min(module::MAX_ID)];
    let name = row.name.as_bytes();
    let name = &name[name.len().saturating_sub(module::MAX_NAME)..];
    words[module::ID_LEN] = id.len() as u64;
    write_bytes(id, &mut words[module::ID..]);
    words[module::NAME_LEN] = name.len() as u64;
    write_bytes(name, &mut words[module::NAME..]);
}

/// Writes the order to where threads and turns begin.
fn write_order(order: &Order, words: &mut [u64], threads: usize, turns: usize) {
    for (index, path) in order.threads.iter().enumerate() {
        let at = threads + index * thread::SIZE;
        words[at + thread::PATH_LEN] = path.len() as u64;
        words[at + thread::PATH..][..path.len()].copy_from_slice(path);
    }
    for (index, &thread) in order.turns.iter().enumerate() {
        words[turns + index] = thread as u64 + 1;
    }
}

fn write_bytes(bytes: &[u8], words: &mut [u64]) {
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(eight);
    }
}

fn write_descriptor(row: &Descriptor, words: &mut [u64]) {
    words[descriptor::CODE] = word_of(row.code);
    words[descriptor::ONLY_THREAD] = u64::from(row.only_thread);
    words[descriptor::ORDINAL] = row.ordinal;
    words[descriptor::PATH_LEN] = row.path.len() as u64;
    words[descriptor::PATH..][..row.path.len()].copy_from_slice(&row.path);
    words[descriptor::CALLS_LEN] = row.calls.len() as u64;
    for (word, &call) in words[descriptor::CALLS..].iter_mut().zip(&row.calls) {
        *word = word_of(call);
    }
}

/// A thread's path in numbers, from `main/1/2` (the first thread is `main`), `?1/2` (a thread
/// whose creation was not seen) or `main/#7` (the program named the thread 7).
pub(crate) fn path_of(text: &str) -> Option<Vec<u64>> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|&number| number < FOREIGN);
    let mut parts = text.split('/');
    let mut path = match parts.next()? {
        "main" => Vec::new(),
        other => vec![number(other.strip_prefix('?')?)? | FOREIGN],
    };
    for part in parts {
        path.push(match part.strip_prefix('#') {
            Some(name) => number(name)? | NAMED,
            None => number(part)?,
        });
    }
    Some(path)
}

/// The text that [`path_of`] reads.
pub(crate) fn path_text(path: &[u64]) -> String {
    let (mut text, rest) = match path {
        [first, rest @ ..] if first & (FOREIGN | NAMED) == FOREIGN => {
            (format!("?{}", first & !FOREIGN), rest)
        }
        whole => ("main".to_owned(), whole),
    };
    for number in rest {
        let mark = if number & NAMED == 0 { "" } else { "#" };
        text += &format!("/{mark}{}", number & !(NAMED | FOREIGN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_they_are_written() {
        for (text, path) in [
            ("main", vec![]),
            ("main/2/1", vec![2, 1]),
            ("?3/1", vec![FOREIGN | 3, 1]),
            ("main/#12", vec![NAMED | 12]),
        ] {
            assert_eq!(path_of(text), Some(path.clone()), "{text}");
            assert_eq!(path_text(&path), text);
        }
        for text in ["", "1", "main/", "main/x", "?", "main/#"] {
            assert_eq!(path_of(text), None, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let module = Module::default();
        let many = |count| Plan {
            modules: vec![module.clone()],
            targets: vec![Armed::default(); count],
            ..Plan::default()
        };
        assert!(many(gate::MAX_TARGETS).words().is_ok());
        assert!(many(gate::MAX_TARGETS + 1).words().is_err());
        let mut elsewhere = many(1);
        elsewhere.targets[0].sides[1].code.module = 1;
        assert!(elsewhere.words().is_err());
        let mut deep = many(1);
        deep.targets[0].sides[0].path = vec![1; MAX_PATH + 1];
        assert!(deep.words().is_err());
    }
}
