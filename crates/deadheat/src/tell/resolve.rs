//! From ids and addresses of one trace to names: the only place where a trace's tables and the
//! symbolizer meet.
//!
//! Invariant: no absolute address gets into a lock's id or a name that is compared across runs.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use deadheat_core::access::{Access as CoreAccess, MemoryOrder, Mode, Via};
use deadheat_core::event::{BlockKind, LockMode as CoreLockMode};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{Block, Race as CoreRace, RunOrder, Side};
use deadheat_core::wire::descriptor;
use deadheat_report::group::{RaceKey, is_own, is_runtime, maker_frame, race_id, race_key};
use deadheat_report::model::{
    Access, BIRTH, Frame, Hex, Location, Lock, LockMode, OBJECT, Operation, OrderHere, Race, Thread,
};
use deadheat_symbol::{DataSymbol, LocalVariable, ModuleKey, Symbolizer};
use deadheat_trace::tables::{ModuleId, Place};
use deadheat_trace::{Tables, Trace};

use super::collect::{Held, Kept};
use super::is_instrumented;
use super::owner::Owners;

/// How many frames of a stack are told; a recursion has more.
const MOST_FRAMES: usize = 256;

/// Resolves what one trace names by numbers.
pub(crate) struct Resolver<'a> {
    tables: &'a Tables,
    folder: &'a Path,
    symbolizer: Symbolizer,
    modules: Vec<ModuleKey>,
    frames: HashMap<PlaceId, Rc<[Frame]>>,
    /// Which modules are instrumented, as far as that was asked.
    instrumented: HashMap<ModuleId, bool>,
    owners: Owners,
}

impl<'a> Resolver<'a> {
    /// Files under `folder` are named relative to it.
    pub(crate) fn new(tables: &'a Tables, folder: &'a Path) -> Self {
        Resolver::with(Symbolizer::default(), tables, folder)
    }

    /// As [`Self::new`], of a trace whose process may still run.
    pub(crate) fn of(trace: &'a Trace, folder: &'a Path) -> Self {
        let symbolizer = Symbolizer::default();
        let symbolizer = match trace.run() {
            Some(run) => symbolizer.of_process(run.pid),
            None => symbolizer,
        };
        Resolver::with(symbolizer, trace.tables(), folder)
    }

    /// As [`Self::new`], with a symbolizer that may know the modules already.
    pub(crate) fn with(mut symbolizer: Symbolizer, tables: &'a Tables, folder: &'a Path) -> Self {
        let keys = tables.modules.iter();
        let modules = keys.map(|(_, row)| symbolizer.module(Path::new(&row.path), &row.build_id)).collect();
        let (frames, instrumented) = (HashMap::new(), HashMap::new());
        Resolver { tables, folder, symbolizer, modules, frames, instrumented, owners: Owners::default() }
    }

    /// Takes what owners of stacks did, to name their variables by.
    pub(crate) fn set_owners(&mut self, owners: Owners) {
        self.owners = owners;
    }

    /// The symbolizer, with what it knows by now.
    pub(crate) fn into_symbolizer(self) -> Symbolizer {
        self.symbolizer
    }

    /// What the reader should know about the names.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        self.symbolizer.take_warnings()
    }

    /// Whether the program has a function of this name, as far as its symbols tell.
    pub(super) fn has_function(&mut self, name: &str) -> bool {
        self.modules.first().is_some_and(|&program| self.symbolizer.defines(program, name))
    }

    /// The id of a race, without resolving more than it needs.
    pub(crate) fn id(&mut self, race: &CoreRace) -> String {
        let [one, other] = self.sides(race);
        race_id(&one, &other)
    }

    /// As [`Self::id`], what the race is told apart from others by.
    pub(crate) fn race_key(&mut self, race: &CoreRace) -> RaceKey {
        let [one, other] = self.sides(race);
        race_key(&one, &other)
    }

    /// The two accesses of a race as far as its id needs them.
    fn sides(&mut self, race: &CoreRace) -> [Access; 2] {
        let mut side = |side: &Side| Access {
            op: operation(&side.access),
            atomic: side.access.atomic.is_some(),
            frames: self.key(side.place, side.stack).into_iter().collect(),
            ..Access::default()
        };
        [side(&race.earlier), side(&race.later)]
    }

    /// The frame that `key_frame` finds in the whole stack.
    pub(crate) fn key(&mut self, place: PlaceId, stack: StackId) -> Option<Frame> {
        let tables = self.tables;
        let mut first = None;
        let mut seen = 0;
        for site in std::iter::once(place).chain(tables.stacks.frames(stack)) {
            let frames = self.place(site);
            if let Some(own) = frames.iter().find(|frame| is_own(frame)) {
                return Some(own.clone());
            }
            first = first.or_else(|| frames.first().cloned());
            seen += frames.len();
            if seen >= MOST_FRAMES {
                break;
            }
        }
        first
    }

    /// A race with its names. Its id, grade and analyses are for the caller to fill in.
    pub(crate) fn race(&mut self, kept: &Kept) -> Race {
        let CoreRace { earlier, later, .. } = &kept.race;
        let mut access = |side, index: usize| Access {
            clock: kept.forgotten[index],
            ..self.access(side, &kept.locks[index])
        };
        let mut accesses = [access(earlier, 0), access(later, 1)];
        tell_apart(&mut accesses, &kept.locks);
        let mut threads = vec![self.thread(earlier.thread)];
        if later.thread != earlier.thread {
            threads.push(self.thread(later.thread));
        }
        let location = self.location(&kept.race);
        let order_here = kept.order.map(order_here);
        Race { count: kept.count, accesses, threads, location, order_here, ..Race::default() }
    }

    fn access(&mut self, side: &Side, locks: &[Held]) -> Access {
        let CoreAccess { address, size, atomic, via, .. } = side.access;
        Access {
            thread: self.tables.threads.path(side.thread),
            thread_name: self.thread_name(side.thread),
            op: operation(&side.access),
            atomic: atomic.is_some(),
            order: atomic.map(|order| order_name(order).to_owned()),
            via: via_name(via).map(str::to_owned),
            size,
            address: Hex(address),
            frames: self.stack(side.place, side.stack),
            clock: None,
            locks: locks.iter().map(|held| self.lock(held)).collect(),
        }
    }

    /// A thread as the path of its creation.
    pub(super) fn path(&self, id: ThreadId) -> String {
        self.tables.threads.path(id)
    }

    pub(super) fn thread_name(&self, id: ThreadId) -> String {
        self.tables.threads.get(id).map_or(String::new(), |row| row.name.clone())
    }

    pub(super) fn thread(&mut self, id: ThreadId) -> Thread {
        let row = self.tables.threads.get(id);
        let parent = row.and_then(|row| row.parent);
        let frames = match (row, parent) {
            (Some(row), Some(_)) => self.stack(row.created_at.0, row.created_at.1),
            _ => Vec::new(),
        };
        Thread {
            thread: self.tables.threads.path(id),
            name: self.thread_name(id),
            created_by: parent.map(|parent| self.tables.threads.path(parent)),
            frames,
        }
    }

    /// The frames of a place and of the call sites above it, innermost first.
    pub(super) fn stack(&mut self, place: PlaceId, stack: StackId) -> Vec<Frame> {
        let tables = self.tables;
        let mut frames = self.place(place).to_vec();
        for site in tables.stacks.frames(stack) {
            // What calls `main` is nobody's question, and to name it means to read the C library's debug
            // information, which takes longer than all else where it is installed.
            let is_main = frames.last().is_some_and(|frame| frame.function.as_deref() == Some("main"));
            if is_main || frames.len() >= MOST_FRAMES {
                break;
            }
            frames.extend_from_slice(&self.place(site));
        }
        frames
    }

    /// The frames of a place and of the call sites above it up to the first in the program's own sources; if none is, those of
    /// the place.
    pub(super) fn up_to_own(&mut self, place: PlaceId, stack: StackId) -> Vec<Frame> {
        let tables = self.tables;
        let mut frames = Vec::new();
        for site in std::iter::once(place).chain(tables.stacks.frames(stack)) {
            for frame in self.place(site).iter() {
                frames.push(frame.clone());
                if is_own(frame) {
                    return frames;
                }
            }
            if frames.len() >= MOST_FRAMES {
                break;
            }
        }
        self.place(place).to_vec()
    }

    fn place(&mut self, place: PlaceId) -> Rc<[Frame]> {
        if let Some(known) = self.frames.get(&place) {
            return Rc::clone(known);
        }
        let frames: Rc<[Frame]> = match self.tables.places.get(place) {
            Place::Unknown => Rc::default(),
            Place::Code { module, offset } => self.code(module, offset).into(),
            Place::Named { function, file, line, column } => {
                let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
                let number = |number: u32| (number > 0).then_some(number);
                let (function, file) = (text(function), text(file));
                Rc::new([Frame {
                    function,
                    file,
                    line: number(line),
                    column: number(column),
                    ..Frame::default()
                }])
            }
        };
        self.frames.insert(place, Rc::clone(&frames));
        frames
    }

    fn code(&mut self, module: ModuleId, offset: u64) -> Vec<Frame> {
        let name = self.module_name(module);
        let Some(&key) = self.modules.get(module.0 as usize) else { return Vec::new() };
        let code = self.symbolizer.code(key, offset);
        let symbol_offset = code.symbol.as_ref().map(|(_, offset)| Hex(*offset));
        let whole = Frame { module: Some(name), offset: Some(Hex(offset)), ..Frame::default() };
        if code.frames.is_empty() {
            return vec![Frame { library: self.is_library(module, None), ..whole }];
        }
        let file = code.frames.first().and_then(|known| known.file.as_deref());
        let whole = Frame { library: self.is_library(module, file), ..whole };
        let frame = |known: &deadheat_symbol::Frame| Frame {
            function: known.function.clone(),
            file: known.file.as_deref().map(|file| self.relative(file)),
            line: known.line,
            column: known.column,
            function_line: known.first_line,
            symbol_offset: symbol_offset.filter(|_| known.line.is_none()),
            inlined: known.inlined,
            ..whole.clone()
        };
        // What the runtime is called is nothing that a suppression or an id may speak of.
        code.frames.iter().map(frame).filter(|frame| !is_runtime(frame)).collect()
    }

    /// Whether a module is a library that is not instrumented: the system's, or one of which no source is known. What it has
    /// a source in elsewhere may be the program's, built in another way.
    fn is_library(&mut self, module: ModuleId, file: Option<&str>) -> bool {
        let Some(row) = self.tables.modules.get(module) else { return false };
        let path = row.path.strip_prefix("/usr").unwrap_or(&row.path);
        let is_system = ["/lib/", "/lib32/", "/lib64/"].iter().any(|folder| path.starts_with(folder));
        // The first is the program itself.
        if module == ModuleId(0) || (file.is_some() && !is_system) {
            return false;
        }
        let instrumented = self.instrumented.entry(module);
        !*instrumented.or_insert_with(|| is_instrumented(Path::new(&row.path)))
    }

    fn relative(&self, file: &str) -> String {
        // So some build systems, Bazel among them, have their compilers name the folder that they run in.
        const WHEREVER: &str = "/proc/self/cwd";
        let path = Path::new(file);
        let within = path.strip_prefix(WHEREVER).or_else(|_| path.strip_prefix(self.folder));
        within.unwrap_or(path).to_string_lossy().into_owned()
    }

    fn module_name(&self, module: ModuleId) -> String {
        let path = self.tables.modules.get(module).map_or("?", |row| row.path.as_str());
        path.rsplit('/').next().unwrap_or(path).to_owned()
    }

    /// What a race is on.
    pub(crate) fn location(&mut self, race: &CoreRace) -> Location {
        let address = race.address;
        let sides = [&race.earlier, &race.later].map(|side| side.access);
        let starting = sides.iter().filter(|access| access.address == address);
        let size = starting.map(|access| access.size).min().unwrap_or(1);
        if let Some(name) = self.tables.names.get(address) {
            return Location::Named { name: name.to_owned() };
        }
        match &race.block {
            Some(block) if block.kind == BlockKind::Stack => self.on_stack(race, block.thread),
            Some(block) => self.in_block(block, address, size),
            None => self.global(address, size).unwrap_or_default(),
        }
    }

    fn in_block(&mut self, block: &Block, address: u64, bytes: u64) -> Location {
        let Block { size, kind, thread, place, stack, .. } = *block;
        let offset = address - block.address;
        let thread = self.tables.threads.path(thread);
        match kind {
            BlockKind::Heap => Location::Heap { size, offset, thread, frames: self.stack(place, stack) },
            BlockKind::Mapping => match self.global(address, bytes) {
                // A library that the program mapped by itself, or through the loader.
                Some(global) => global,
                None => Location::Mapping { size, offset, thread, frames: self.stack(place, stack) },
            },
            BlockKind::Stack => unnamed_on_stack(thread),
            BlockKind::Descriptor => {
                let number = descriptor::number(block.address);
                Location::Descriptor { number, thread, frames: self.stack(place, stack) }
            }
            // Races there are not told.
            BlockKind::Benign => Location::default(),
            BlockKind::ThreadLocal => Location::Tls { symbol: self.thread_local(offset), thread },
        }
    }

    /// The variable of a thread's stack, where the code of an access by that thread tells it.
    fn on_stack(&mut self, race: &CoreRace, owner: ThreadId) -> Location {
        let sides = [&race.earlier, &race.later];
        let own = sides.into_iter().filter(|side| side.thread == owner).map(|side| {
            let size = (side.access.end()).saturating_sub(race.address);
            (side.place, side.access, size)
        });
        let size = sides.iter().map(|side| side.access.end().saturating_sub(race.address)).min();
        let spoken: Vec<_> =
            self.owners.of(race).map(|owned| (owned.place, owned.access, size.unwrap_or(1))).collect();
        let found = own
            .chain(spoken)
            .find_map(|(place, access, size)| self.local(place, &access, (race.address, size)));
        let thread = self.tables.threads.path(owner);
        let Some(LocalVariable { name, function, file, line, .. }) = found else {
            return unnamed_on_stack(thread);
        };
        let file = file.map(|file| self.relative(&file));
        Location::Stack { thread, function, variable: Some(name), file, line }
    }

    /// The local variable that holds some bytes (address and length), by an access that the owner of
    /// the stack made in the variable's frame. Only hooks tell: an intercepted function may have
    /// been called with more than one address.
    fn local(
        &mut self,
        place: PlaceId,
        access: &CoreAccess,
        (address, size): (u64, u64),
    ) -> Option<LocalVariable> {
        let by_hook = matches!(access.via, Via::Code | Via::Volatile | Via::Vptr);
        let Place::Code { module, offset } = self.tables.places.get(place) else { return None };
        let key = *self.modules.get(module.0 as usize)?;
        let behind = address.wrapping_sub(access.address).cast_signed();
        if by_hook { self.symbolizer.local(key, offset, behind, size) } else { None }
    }

    /// The thread-local variable at an offset in the executable's thread-local block. The
    /// executable is the first module of a trace; blocks of libraries are not told.
    fn thread_local(&mut self, offset: u64) -> Option<String> {
        let executable = *self.modules.first()?;
        let DataSymbol { name, offset, .. } = self.symbolizer.thread_local(executable, offset)?;
        Some(if offset == 0 { name } else { format!("{name}+{offset}") })
    }

    /// The name of what lies at an address, if it is known without a race.
    pub(crate) fn variable(&mut self, address: u64) -> Option<String> {
        if let Some(name) = self.tables.names.get(address) {
            return Some(name.to_owned());
        }
        match self.global(address, 1)? {
            Location::Global { symbol, part, .. } => Some(symbol + &part),
            _ => None,
        }
    }

    fn global(&mut self, address: u64, bytes: u64) -> Option<Location> {
        // The latest load counts: a race is told after the run.
        let (id, inside) = self.tables.modules.locate(address, u64::MAX)?;
        let module = self.module_name(id);
        let symbol =
            self.modules.get(id.0 as usize).and_then(|key| self.symbolizer.data(*key, inside, bytes));
        Some(match symbol {
            Some(DataSymbol { name, offset, size, part }) => {
                Location::Global { symbol: name, part: part.unwrap_or_default(), offset, size, module }
            }
            None => {
                let symbol = format!("{module}+{inside:#x}");
                Location::Global { symbol, part: String::new(), offset: 0, size: 0, module }
            }
        })
    }

    /// A lock's name, and its class: what it is in every run.
    pub(crate) fn lock(&mut self, held: &Held) -> Lock {
        let mode = match held.mode {
            CoreLockMode::Write => LockMode::Write,
            CoreLockMode::Read => LockMode::Read,
        };
        let (name, id) = self.object("lock", (held.lock, 1), held.block.as_ref());
        Lock { name, id, mode, address: None }
    }

    /// The name of some bytes that are used as `what` (a lock, …), and what they are in every run. Of a lock only the first byte
    /// is known to be its own.
    pub(super) fn object(
        &mut self,
        what: &str,
        (address, bytes): (u64, u64),
        block: Option<&Block>,
    ) -> (String, String) {
        if let Some(name) = self.tables.names.get(address) {
            return (name.to_owned(), name.to_owned());
        }
        let location = match block {
            Some(block) => self.in_block(block, address, bytes),
            None => self.global(address, bytes).unwrap_or_default(),
        };
        object_name(what, &location, address)
    }
}

/// Gives each lock its address of whose name another one has that was held at the other access: as if both had held one lock.
fn tell_apart(accesses: &mut [Access; 2], held: &[Vec<Held>; 2]) {
    let [one, other] = accesses;
    for (lock, of_one) in one.locks.iter_mut().zip(&held[0]) {
        for (like, of_other) in other.locks.iter_mut().zip(&held[1]) {
            if lock.name == like.name && of_one.lock != of_other.lock {
                (lock.address, like.address) = (Some(Hex(of_one.lock)), Some(Hex(of_other.lock)));
            }
        }
    }
}

fn unnamed_on_stack(thread: String) -> Location {
    Location::Stack { thread, function: None, variable: None, file: None, line: None }
}

fn object_name(what: &str, location: &Location, address: u64) -> (String, String) {
    let at = |offset: u64| if offset == 0 { String::new() } else { format!("+{offset}") };
    match location {
        Location::Global { symbol, part, offset, module, .. } => {
            let part = if part.is_empty() { at(*offset) } else { part.clone() };
            let name = format!("{symbol}{part}");
            (name.clone(), format!("{module}:{name}"))
        }
        Location::Heap { offset, frames, .. } => block_lock("heap block", *offset, frames),
        Location::Mapping { offset, frames, .. } => block_lock("mapping", *offset, frames),
        Location::Stack { thread, .. } => {
            (format!("{what} on the stack of {thread}"), format!("stack:{thread}"))
        }
        Location::Tls { symbol: Some(symbol), thread } => {
            (format!("thread-local {symbol} of {thread}"), format!("tls:{symbol}:{thread}"))
        }
        Location::Tls { symbol: None, thread } => {
            (format!("thread-local {what} of {thread}"), format!("tls:{thread}"))
        }
        Location::Named { name } => (name.clone(), name.clone()),
        Location::Descriptor { number, .. } => {
            (format!("file descriptor {number}"), format!("descriptor:{number}"))
        }
        Location::Unknown => (format!("{what} {address:#x}"), "unknown".to_owned()),
    }
}

/// A lock inside of a block is known by where the block comes from.
fn block_lock(kind: &str, offset: u64, frames: &[Frame]) -> (String, String) {
    let Some(frame) = maker_frame(frames) else {
        return (format!("{kind}+{offset}"), format!("{kind}+{offset}"));
    };
    let function = frame.function.as_deref().unwrap_or("?");
    let module = frame.module.as_deref().unwrap_or("?");
    let within = match (frame.line, frame.function_line, frame.offset) {
        (Some(line), first, _) => (i64::from(line) - i64::from(first.unwrap_or(0))).to_string(),
        (None, _, Some(offset)) => offset.to_string(),
        (None, _, None) => String::new(),
    };
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" {}:{line}", file.rsplit('/').next().unwrap_or(file)),
        _ => String::new(),
    };
    let name = format!("{kind} from {function}{place}+{offset}");
    (name, format!("{kind}:{module}:{function}:{within}+{offset}"))
}

/// What an access does, as reports tell it.
pub(crate) fn operation(access: &CoreAccess) -> Operation {
    match (access.via, access.mode) {
        (Via::Free, _) => Operation::Free,
        (_, Mode::Read) => Operation::Read,
        (_, Mode::Write) => Operation::Write,
        (_, Mode::ReadWrite) => Operation::ReadWrite,
    }
}

/// What the order of the run says, as reports tell it.
pub(super) fn order_here(order: RunOrder) -> OrderHere {
    match order {
        RunOrder::Unordered => OrderHere::Unordered,
        RunOrder::ByLocks => OrderHere::Locks,
        RunOrder::Otherwise => OrderHere::Other,
    }
}

fn order_name(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Consume => "consume",
        MemoryOrder::Acquire => "acquire",
        MemoryOrder::Release => "release",
        MemoryOrder::AcqRel => "acq_rel",
        MemoryOrder::SeqCst => "seq_cst",
    }
}

fn via_name(via: Via) -> Option<&'static str> {
    match via {
        Via::Code | Via::Free => None,
        Via::Birth => Some(BIRTH),
        Via::Object => Some(OBJECT),
        Via::Volatile => Some("volatile"),
        Via::Vptr => Some("vptr"),
        Via::MemoryFunction => Some("memory-function"),
        Via::System => Some("system"),
    }
}
