//! Reads a fact: a sentence, one column a thread, one expectation an analysis.
//!
//! ```text
//! # The sentence.
//!
//! a    | b
//! w(x) |
//!      | r(x+1:2)
//!
//! expect hb: 1-2
//! ```
//!
//! Events are numbered from 1 in the order of the lines. A name stands for an object or a
//! variable; `x+1:2` is two bytes from the second byte of `x` on, and a variable alone is its
//! first four bytes. The words of the operations are listed in [`operation`].

use std::collections::BTreeMap;

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Fault, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};

/// A pair of events, by their numbers.
pub(crate) type Pair = (usize, usize);

/// One fact.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) sentence: String,
    pub(crate) events: Vec<Event>,
    /// For each analysis its line and the pairs that it is expected to find.
    pub(crate) expected: BTreeMap<String, (usize, Vec<Pair>)>,
    /// What else it is expected to be found wrong, and in which line that stands: `possible 3-7` or `broken 3-7` for the
    /// requests of a cycle of locks, `double-lock 4 took 2` for a fault.
    pub(crate) findings: Option<(usize, Vec<String>)>,
}

/// What is wrong with a fact's text, and in which line.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) line: usize,
    pub(crate) reason: String,
}

/// Names are this far apart, so that ranges of a million bytes do not meet.
const APART: u64 = 1 << 24;
const DEFAULT_SIZE: u64 = 4;

struct Parser {
    threads: Vec<String>,
    names: Vec<String>,
    events: Vec<Event>,
}

/// Reads the text of a fact.
pub(crate) fn parse(text: &str) -> Result<Fact, Error> {
    let mut sentence = String::new();
    let mut expected = BTreeMap::new();
    let mut findings = None;
    let mut parser = Parser { threads: Vec::new(), names: Vec::new(), events: Vec::new() };
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let fail = |reason: String| Error { line: number, reason };
        if let Some(words) = line.strip_prefix('#') {
            sentence = format!("{sentence} {}", words.trim()).trim().to_owned();
        } else if let Some(rest) = line.strip_prefix("expect findings: ") {
            findings = Some((number, rest.split(", ").map(str::to_owned).collect()));
        } else if let Some(rest) = line.strip_prefix("expect ") {
            let (analysis, pairs) = expectation(rest, parser.events.len()).map_err(fail)?;
            if expected.insert(analysis.clone(), (number, pairs)).is_some() {
                return Err(fail(format!("a second expectation for {analysis}")));
            }
        } else if line.trim().is_empty() {
        } else if parser.threads.is_empty() {
            parser.threads = line.split('|').map(|name| name.trim().to_owned()).collect();
        } else {
            parser.event(line).map_err(fail)?;
        }
    }
    if sentence.is_empty() || parser.events.is_empty() {
        return Err(Error { line: 1, reason: "a fact needs a sentence and events".to_owned() });
    }
    Ok(Fact { sentence, events: parser.events, expected, findings })
}

fn expectation(rest: &str, events: usize) -> Result<(String, Vec<Pair>), String> {
    let (analysis, pairs) = rest.split_once(':').ok_or("no `:` after the analysis")?;
    let mut list = Vec::new();
    if pairs.trim() != "none" {
        for pair in pairs.split(',') {
            let numbers = pair
                .trim()
                .split_once('-')
                .and_then(|(earlier, later)| Some((earlier.parse().ok()?, later.parse().ok()?)));
            let (earlier, later) = numbers.ok_or_else(|| format!("`{}` is not a pair", pair.trim()))?;
            if earlier == 0 || earlier >= later || later > events {
                return Err(format!("there are no events {earlier}-{later}"));
            }
            list.push((earlier, later));
        }
    }
    Ok((analysis.trim().to_owned(), list))
}

impl Parser {
    fn event(&mut self, line: &str) -> Result<(), String> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() != self.threads.len() {
            return Err(format!("{} columns, {} threads", cells.len(), self.threads.len()));
        }
        let mut filled = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
        let (Some((thread, text)), None) = (filled.next(), filled.next()) else {
            return Err("a line has one event".to_owned());
        };
        let op = operation(self, text)?;
        let place = PlaceId(self.events.len() as u32 + 1);
        let (thread, stack) = (ThreadId(thread as u32), StackId::EMPTY);
        self.events.push(Event { thread, place, stack, times: 1, op });
        Ok(())
    }

    fn thread(&self, name: &str) -> Result<ThreadId, String> {
        let index = self.threads.iter().position(|thread| thread == name);
        index.map(|index| ThreadId(index as u32)).ok_or_else(|| format!("there is no thread {name}"))
    }

    fn object(&mut self, name: &str) -> Result<u64, String> {
        if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric()) {
            return Err(format!("`{name}` is not a name"));
        }
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Ok((index as u64 + 1) * APART)
    }

    /// `x`, `x+1`, `x:8` or `x+1:8`: an address, and the size if one is written.
    fn range(&mut self, text: &str) -> Result<(u64, Option<u64>), String> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
        let (start, size) = match text.split_once(':') {
            Some((start, size)) => (start, Some(number(size)?)),
            None => (text, None),
        };
        let (name, offset) = match start.split_once('+') {
            Some((name, offset)) => (name, number(offset)?),
            None => (start, 0),
        };
        Ok((self.object(name)? + offset, size))
    }

    fn plain(&mut self, text: &str, mode: Mode, via: Via) -> Result<Op, String> {
        let (address, size) = self.range(text)?;
        Ok(Op::Access(Access { via, ..Access::plain(address, size.unwrap_or(DEFAULT_SIZE), mode) }))
    }

    fn atomic(&mut self, text: &str, order: &str, mode: Mode) -> Result<Op, String> {
        let (address, size) = self.range(text)?;
        let access = Access::plain(address, size.unwrap_or(DEFAULT_SIZE), mode);
        Ok(Op::Access(Access { atomic: Some(memory_order(order)?), ..access }))
    }
}

/// The plain accesses.
fn plain(word: &str) -> Option<(Mode, Via)> {
    Some(match word {
        "r" => (Mode::Read, Via::Code),
        "w" => (Mode::Write, Via::Code),
        "rw" => (Mode::ReadWrite, Via::Code),
        "volatile_r" => (Mode::Read, Via::Volatile),
        "volatile_w" => (Mode::Write, Via::Volatile),
        "vptr_r" => (Mode::Read, Via::Vptr),
        "vptr_w" => (Mode::Write, Via::Vptr),
        "memory_r" => (Mode::Read, Via::MemoryFunction),
        "memory_w" => (Mode::Write, Via::MemoryFunction),
        "object_r" => (Mode::Read, Via::Object),
        "object_w" => (Mode::Write, Via::Object),
        "birth" => (Mode::Write, Via::Birth),
        "system_w" => (Mode::Write, Via::System),
        _ => return None,
    })
}

/// The list of operations.
fn operation(parser: &mut Parser, text: &str) -> Result<Op, String> {
    let (word, rest) = text.split_once('(').unwrap_or((text, ")"));
    let inside = rest.strip_suffix(')').ok_or_else(|| format!("no `)` after `{text}`"))?;
    let (first, second) = inside.split_once(' ').unwrap_or((inside, ""));
    if let Some((mode, via)) = plain(word) {
        return parser.plain(first, mode, via);
    }
    let once = SyncKind::Once;
    Ok(match word {
        "load" | "failed_cas" => parser.atomic(first, second, Mode::Read)?,
        "store" => parser.atomic(first, second, Mode::Write)?,
        "rmw" => parser.atomic(first, second, Mode::ReadWrite)?,
        "fence" => Op::Fence(memory_order(first)?),
        "req" => Op::Request { lock: parser.object(first)?, mode: LockMode::Write },
        "acq" => Op::Acquire { lock: parser.object(first)?, mode: LockMode::Write },
        "rel" => Op::Release { lock: parser.object(first)?, mode: LockMode::Write },
        "read_req" => Op::Request { lock: parser.object(first)?, mode: LockMode::Read },
        "read_acq" => Op::Acquire { lock: parser.object(first)?, mode: LockMode::Read },
        "read_rel" => Op::Release { lock: parser.object(first)?, mode: LockMode::Read },
        "fork" => Op::Fork { child: parser.thread(first)? },
        "join" => Op::Join { child: parser.thread(first)? },
        "begin" => Op::Begin,
        "end" => Op::End,
        "signal" => signal(parser, first, SyncKind::Condition)?,
        "broadcast" => signal(parser, first, SyncKind::ConditionAll)?,
        "await" => Op::Await { object: parser.object(first)?, kind: SyncKind::Condition },
        "woken" => wait(parser, first, SyncKind::Condition, true)?,
        "timed_out" => wait(parser, first, SyncKind::Condition, false)?,
        "post" => signal(parser, first, SyncKind::Semaphore)?,
        "wait" => wait(parser, first, SyncKind::Semaphore, true)?,
        "wait_failed" => wait(parser, first, SyncKind::Semaphore, false)?,
        "once_done" => signal(parser, first, once)?,
        "once_seen" => wait(parser, first, once, true)?,
        "before" => signal(parser, first, SyncKind::Annotation)?,
        "after" => wait(parser, first, SyncKind::Annotation, true)?,
        "after_all" => Op::Wait { object: 0, kind: SyncKind::Everything, woken: true },
        "arrive" => {
            let count = second.parse().map_err(|_| format!("`{second}` is not a count"))?;
            Op::Arrive { barrier: parser.object(first)?, count }
        }
        "leave" => Op::Leave { barrier: parser.object(first)? },
        "alloc" => {
            let (address, size) = parser.range(first)?;
            let size = size.ok_or("a new block has a size")?;
            Op::Alloc { address, size, kind: block_kind(second)? }
        }
        "free" => {
            let (address, size) = parser.range(first)?;
            Op::Free { address, size: size.unwrap_or(0), kind: block_kind(second)? }
        }
        "forget" => Op::Forget { object: parser.object(first)? },
        "enter" => Op::Enter,
        "exit" => Op::Exit,
        "branch" => Op::Branch,
        "hidden_begin" => Op::HiddenBegin,
        "hidden_end" => Op::HiddenEnd,
        "fault" => {
            let fault = Fault::ALL.into_iter().find(|fault| fault.name() == second);
            let fault = fault.ok_or_else(|| format!("unknown fault `{second}`"))?;
            Op::Fault { object: parser.object(first)?, fault }
        }
        _ => return Err(format!("unknown operation `{word}`")),
    })
}

fn signal(parser: &mut Parser, name: &str, kind: SyncKind) -> Result<Op, String> {
    Ok(Op::Signal { object: parser.object(name)?, kind })
}

fn wait(parser: &mut Parser, name: &str, kind: SyncKind, woken: bool) -> Result<Op, String> {
    Ok(Op::Wait { object: parser.object(name)?, kind, woken })
}

fn memory_order(word: &str) -> Result<MemoryOrder, String> {
    Ok(match word {
        "relaxed" => MemoryOrder::Relaxed,
        "consume" => MemoryOrder::Consume,
        "acquire" => MemoryOrder::Acquire,
        "release" => MemoryOrder::Release,
        "acq_rel" => MemoryOrder::AcqRel,
        "seq_cst" => MemoryOrder::SeqCst,
        _ => return Err(format!("unknown memory order `{word}`")),
    })
}

fn block_kind(word: &str) -> Result<BlockKind, String> {
    Ok(match word {
        "" => BlockKind::Heap,
        "mapping" => BlockKind::Mapping,
        "stack" => BlockKind::Stack,
        "tls" => BlockKind::ThreadLocal,
        "benign" => BlockKind::Benign,
        "descriptor" => BlockKind::Descriptor,
        _ => return Err(format!("unknown kind of block `{word}`")),
    })
}
