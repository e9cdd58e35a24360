//! `deadheat trace dump`: the events, one a line, as `docs/trace-format.md` describes.

use std::fmt::Write as _;
use std::io::{ErrorKind as IoKind, Write};
use std::path::PathBuf;

use deadheat_core::access::{Access, MemoryOrder, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, ThreadId};
use deadheat_core::race::Side;
use deadheat_trace::tables::Place;
use deadheat_trace::{Found, Tables, Trace, census};

use super::{failure, output};
use crate::exit::{Context, Exit, Failure};

/// What to print.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace
    trace: PathBuf,
    /// Only events of this thread, by spawn path (main/1), name or number
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only from this event on (the first is 1)
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    from: u64,
    /// Only up to this event
    #[arg(long, value_name = "NUMBER", default_value_t = u64::MAX, hide_default_value = true)]
    to: u64,
    /// Calls and returns too
    #[arg(long)]
    calls: bool,
    /// The call sites above each event, from the innermost outwards
    #[arg(long)]
    stacks: bool,
    /// The file to write; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Prints the events, and behind them the races that the run found by itself.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut trace = Trace::open(&args.trace).map_err(|error| failure(&error))?;
    trace.deliver_calls(args.calls);
    let mut out = output(args.output.as_deref())?;
    let (mut number, mut line, mut paths) = (0, String::new(), Vec::new());
    let mut written = Ok(());
    let read = trace.drive_while(|event, tables| {
        number += 1;
        if number < args.from {
            return true;
        }
        if number > args.to {
            return false;
        }
        let path = path(event.thread, tables, &mut paths);
        if args.thread.as_ref().is_some_and(|wanted| !is(event.thread, wanted, &path, tables)) {
            return true;
        }
        line.clear();
        let _ = write!(line, "{number} {path} ");
        tell(event, tables, args.stacks, &mut line);
        line.push('\n');
        written = out.write_all(line.as_bytes());
        written.is_ok()
    });
    let tables = trace.tables();
    for found in trace.found().iter().filter(|found| takes_part(args, found, tables)) {
        line.clear();
        race(found, tables, args.stacks, &mut line);
        written = written.and_then(|()| out.write_all(line.as_bytes()));
    }
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == IoKind::BrokenPipe => return Ok(Exit::SUCCESS),
        written => written.context(|| "cannot write the events".to_owned())?,
    }
    read.map(|_| Exit::SUCCESS).map_err(|error| failure(&error))
}

/// The thread's spawn path. A thread without a known parent keeps the path of its first event.
fn path(id: ThreadId, tables: &Tables, paths: &mut Vec<Option<String>>) -> String {
    if id.index() >= paths.len() {
        paths.resize(id.index() + 1, None);
    }
    paths[id.index()].get_or_insert_with(|| tables.threads.path(id)).clone()
}

fn is(id: ThreadId, wanted: &str, path: &str, tables: &Tables) -> bool {
    let name = tables.threads.get(id).map_or("", |thread| thread.name.as_str());
    wanted == path || wanted == name || wanted.parse() == Ok(id.0)
}

fn takes_part(args: &Args, found: &Found, tables: &Tables) -> bool {
    let is_wanted = |id, wanted: &str| is(id, wanted, &tables.threads.path(id), tables);
    let Found { race, .. } = found;
    args.thread
        .as_ref()
        .is_none_or(|wanted| [race.earlier, race.later].iter().any(|side| is_wanted(side.thread, wanted)))
}

fn race(found: &Found, tables: &Tables, stacks: bool, line: &mut String) {
    let what = if found.ordered { "use-after-free" } else { "race" };
    let _ = write!(line, "{what} {:#x}", found.race.address);
    if found.times > 1 {
        let _ = write!(line, " x{}", found.times);
    }
    let sides = [&found.race.earlier, &found.race.later];
    for (word, (side, of_side)) in [":", ";"].into_iter().zip(sides.into_iter().zip(&found.sides)) {
        let &Side { thread, place, stack, access, .. } = side;
        let _ = write!(line, "{word} {} ", tables.threads.path(thread));
        tell(&Event { thread, place, stack, times: 1, op: Op::Access(access) }, tables, stacks, line);
        let _ = write!(line, " clock {}", of_side.clock);
        for lock in &of_side.locks {
            line.push_str(" holds");
            object(lock.held.lock, tables, line);
            if lock.held.mode == LockMode::Read {
                line.push_str(" shared");
            }
        }
    }
    line.push('\n');
}

fn tell(event: &Event, tables: &Tables, stacks: bool, line: &mut String) {
    line.push_str(census::word(&event.op));
    operands(&event.op, tables, line);
    line.push_str(" @");
    place(event.place, tables, line);
    if event.times > 1 {
        let _ = write!(line, " x{}", event.times);
    }
    if stacks {
        for site in tables.stacks.frames(event.stack) {
            line.push_str(" <");
            place(site, tables, line);
        }
    }
}

fn operands(op: &Op, tables: &Tables, line: &mut String) {
    match *op {
        Op::Access(access) => access_operands(&access, tables, line),
        Op::Fence(order) => {
            let _ = write!(line, " {}", order_word(order));
        }
        Op::Request { lock, mode } | Op::Acquire { lock, mode } | Op::Release { lock, mode } => {
            object(lock, tables, line);
            if mode == LockMode::Read {
                line.push_str(" shared");
            }
        }
        Op::Fork { child } | Op::Join { child } => {
            let _ = write!(line, " {}", tables.threads.path(child));
        }
        Op::Signal { object: at, kind }
        | Op::Await { object: at, kind }
        | Op::Wait { object: at, kind, .. } => {
            object(at, tables, line);
            let _ = write!(line, " {}", sync_word(kind));
        }
        Op::Arrive { barrier, count } => {
            object(barrier, tables, line);
            let _ = write!(line, " {count}");
        }
        Op::Leave { barrier } => object(barrier, tables, line),
        Op::Forget { object: at } => object(at, tables, line),
        Op::Alloc { address, size, kind } | Op::Free { address, size, kind } => {
            let _ = write!(line, " {address:#x} {size} {}", block_word(kind));
        }
        Op::Fault { object: at, fault } => {
            if fault.is_of_lock() {
                object(at, tables, line);
            } else {
                let _ = write!(line, " {at}");
            }
            let _ = write!(line, " {}", fault.name());
        }
        Op::Begin | Op::End | Op::Branch | Op::Enter | Op::Exit | Op::HiddenBegin | Op::HiddenEnd => {}
    }
}

fn access_operands(access: &Access, tables: &Tables, line: &mut String) {
    let _ = write!(line, " {:#x} {}", access.address, access.size);
    if let Some(order) = access.atomic {
        let _ = write!(line, " {}", order_word(order));
    }
    let via = match access.via {
        Via::Code => "",
        Via::Volatile => " volatile",
        Via::Vptr => " vptr",
        Via::MemoryFunction => " memory-function",
        Via::System => " system",
        Via::Free => " free",
        Via::Object => " object",
        Via::Birth => " birth",
    };
    line.push_str(via);
    if let Some(name) = tables.names.get(access.address) {
        let _ = write!(line, " {name}");
    }
}

fn object(address: u64, tables: &Tables, line: &mut String) {
    let _ = write!(line, " {address:#x}");
    if let Some(name) = tables.names.get(address) {
        let _ = write!(line, " {name}");
    }
}

pub(super) fn place(id: PlaceId, tables: &Tables, line: &mut String) {
    let _ = match tables.places.get(id) {
        Place::Unknown => write!(line, "?"),
        Place::Code { module, offset } => {
            let path = tables.modules.get(module).map_or("", |module| module.path.as_str());
            write!(line, "{}+{offset:#x}", path.rsplit('/').next().unwrap_or(path))
        }
        Place::Named { function: "", file: "", line: number, .. } => write!(line, "{number}"),
        Place::Named { function, file: "", .. } => write!(line, "{function}"),
        Place::Named { function: "", file, line: number, column } => write!(line, "{file}:{number}:{column}"),
        Place::Named { function, file, line: number, column } => {
            write!(line, "{file}:{number}:{column}({function})")
        }
    };
}

fn order_word(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Consume => "consume",
        MemoryOrder::Acquire => "acquire",
        MemoryOrder::Release => "release",
        MemoryOrder::AcqRel => "acq_rel",
        MemoryOrder::SeqCst => "seq_cst",
    }
}

fn sync_word(kind: SyncKind) -> &'static str {
    match kind {
        SyncKind::Condition => "condition",
        SyncKind::ConditionAll => "condition-all",
        SyncKind::Semaphore => "semaphore",
        SyncKind::Once => "once",
        SyncKind::Annotation => "annotation",
        SyncKind::Everything => "everything",
    }
}

fn block_word(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Heap => "heap",
        BlockKind::Mapping => "mapping",
        BlockKind::Stack => "stack",
        BlockKind::ThreadLocal => "thread-local",
        BlockKind::Benign => "benign",
        BlockKind::Descriptor => "descriptor",
    }
}
