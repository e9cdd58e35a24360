//! The questions that can be asked, and the bounds on what is kept to answer them.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calls::CallSite;
use crate::module::{Closed, Module};
use crate::reverse::NoCode;

/// What stays in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many modules are open at a time.
    pub modules: usize,
    /// How many bytes of one module's debug information are parsed before the parsed form,
    /// which takes about as many bytes again, is dropped.
    pub parsed: u64,
    /// How many answers are kept.
    pub answers: usize,
}

impl Limits {
    /// The limits that the command line uses.
    pub const DEFAULT: Limits = Limits { modules: 12, parsed: 128 << 20, answers: 1 << 16 };
}

const _: () = assert!(Limits::DEFAULT.modules > 0 && Limits::DEFAULT.answers > 0);

/// A module that was named to a [`Symbolizer`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleKey(usize);

/// A source frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The function's name, demangled.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The line that the function is declared at, or that its code begins at.
    pub first_line: Option<u32>,
    /// Whether the function was inlined into the next frame's.
    pub inlined: bool,
}

/// What is known of a code address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// The source frames, innermost first. Without debug information at most one, which has
    /// the symbol's name only.
    pub frames: Vec<Frame>,
    /// The symbol that holds the address, demangled, and the address's offset in it.
    pub symbol: Option<(String, u64)>,
}

/// A variable that holds an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSymbol {
    /// Its name, demangled.
    pub name: String,
    /// The address's offset in it.
    pub offset: u64,
    /// Its size.
    pub size: u64,
    /// The part that is meant, as it is written behind the name: `.size`, `[3].next`; empty for
    /// the whole. `None` without debug information of the variable.
    pub part: Option<String>,
}

/// A local variable of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalVariable {
    /// Its name, and behind it the part that is meant: `cache.size`.
    pub name: String,
    /// The function that it belongs to, demangled; it may be inlined at the place asked for.
    pub function: Option<String>,
    /// The source file that declares it.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// The function that is called with its address, if the code names one.
    pub(crate) call: Option<u64>,
}

struct Slot {
    path: PathBuf,
    build_id: Vec<u8>,
    state: State,
    used: u64,
}

enum State {
    Unopened,
    Open(Box<Module>),
    Closed(Closed),
}

/// Answers what lies at an address of a module.
pub struct Symbolizer {
    limits: Limits,
    slots: Vec<Slot>,
    answers: HashMap<(ModuleKey, u64), Arc<Code>>,
    warnings: Vec<String>,
    clock: u64,
    running: Option<PathBuf>,
}

impl Default for Symbolizer {
    fn default() -> Self {
        Symbolizer::new(Limits::DEFAULT)
    }
}

impl Symbolizer {
    /// A symbolizer that has read nothing yet.
    #[must_use]
    pub fn new(limits: Limits) -> Symbolizer {
        let (slots, answers, warnings) = (Vec::new(), HashMap::new(), Vec::new());
        Symbolizer { limits, slots, answers, warnings, clock: 0, running: None }
    }

    /// A process that may still run one of the modules: where that module's file is gone, or another by now, what the process has is read, if it has
    /// the build id.
    #[must_use]
    pub fn of_process(self, process: u32) -> Symbolizer {
        Symbolizer { running: Some(format!("/proc/{process}/exe").into()), ..self }
    }

    /// Names a module: its file, and the build id that its file must have (empty if unknown).
    /// Nothing is opened.
    pub fn module(&mut self, path: &Path, build_id: &[u8]) -> ModuleKey {
        let named = |slot: &Slot| slot.path == path && slot.build_id == build_id;
        if let Some(index) = self.slots.iter().position(named) {
            return ModuleKey(index);
        }
        let (path, build_id) = (path.to_path_buf(), build_id.to_vec());
        self.slots.push(Slot { path, build_id, state: State::Unopened, used: 0 });
        ModuleKey(self.slots.len() - 1)
    }

    /// What lies at a code address (in the module's own, link-time address space).
    pub fn code(&mut self, module: ModuleKey, address: u64) -> Arc<Code> {
        if let Some(answer) = self.answers.get(&(module, address)) {
            return Arc::clone(answer);
        }
        let answer = Arc::new(self.open(module).map(|open| open.code(address)).unwrap_or_default());
        if self.answers.len() >= self.limits.answers {
            self.answers.clear();
        }
        self.answers.insert((module, address), Arc::clone(&answer));
        answer
    }

    /// The variable at a data address, and the part of it that holds `size` bytes from there.
    pub fn data(&mut self, module: ModuleKey, address: u64, size: u64) -> Option<DataSymbol> {
        self.open(module)?.data(address, size)
    }

    /// The local variable whose address a hook is called with, by the call that holds the code
    /// address: the one that holds the `size` bytes from `offset` on behind that address, or before
    /// it. It is
    /// told from the machine code and the debug information, for x86-64, and only if it is the
    /// only possible one.
    pub fn local(
        &mut self,
        module: ModuleKey,
        address: u64,
        offset: i64,
        size: u64,
    ) -> Option<LocalVariable> {
        self.open(module)?.local(address, offset, size)
    }

    /// The thread-local variable at an offset in the module's thread-local block.
    pub fn thread_local(&mut self, module: ModuleKey, offset: u64) -> Option<DataSymbol> {
        self.open(module)?.thread_local(offset)
    }

    /// The code of a source line, in the module's own address space: every range of it, inlined
    /// copies included. `file` is the end of the source file's path, in whole parts.
    ///
    /// # Errors
    /// [`NoCode`] says why there is none.
    pub fn line(&mut self, module: ModuleKey, file: &str, line: u32) -> Result<Vec<Range<u64>>, NoCode> {
        self.opened(module)?.line(file, line)
    }

    /// The code of the functions of a name, mangled or demangled, with or without parameters:
    /// every range of it, inlined copies included where debug information tells them.
    ///
    /// # Errors
    /// [`NoCode`] says why there is none.
    pub fn function(&mut self, module: ModuleKey, name: &str) -> Result<Vec<Range<u64>>, NoCode> {
        self.opened(module)?.function(name)
    }

    /// Whether the module's symbols tell of a function of this very name that is the module's own.
    pub fn defines(&mut self, module: ModuleKey, name: &str) -> bool {
        self.open(module).is_some_and(|open| open.defines(name))
    }

    /// The calls that the functions of a name make, told from the machine code, for x86-64.
    ///
    /// # Errors
    /// [`NoCode`] says why that cannot be told.
    pub fn calls(&mut self, module: ModuleKey, name: &str) -> Result<Vec<CallSite>, NoCode> {
        self.opened(module)?.calls(name)
    }

    /// Whether there is machine code at an address of the module's own address space.
    ///
    /// # Errors
    /// [`NoCode`] says why that cannot be told.
    pub fn is_code(&mut self, module: ModuleKey, address: u64) -> Result<bool, NoCode> {
        Ok(self.opened(module)?.is_code(address))
    }

    fn opened(&mut self, module: ModuleKey) -> Result<&mut Module, NoCode> {
        self.open(module);
        if let Some(Slot { path, state: State::Closed(reason), .. }) = self.slots.get(module.0) {
            return Err(NoCode::Module(what(path, reason)));
        }
        self.open(module).ok_or(NoCode::NoDebugInfo)
    }

    /// Whether the module has debug information (its own, or in a separate file).
    pub fn has_debug_info(&mut self, module: ModuleKey) -> bool {
        self.open(module).is_some_and(Module::has_debug_info)
    }

    /// What the user should know about the answers so far: modules that changed or are gone.
    /// Each is told once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn open(&mut self, key: ModuleKey) -> Option<&mut Module> {
        self.clock += 1;
        let clock = self.clock;
        if matches!(self.slots.get(key.0)?.state, State::Unopened) {
            self.make_room();
            let slot = &mut self.slots[key.0];
            slot.state = match Module::open(&slot.path, &slot.build_id, self.running.as_deref()) {
                Ok(module) => State::Open(Box::new(module)),
                Err(reason) => {
                    let what = what(&slot.path, &reason);
                    self.warnings.push(format!("{what}; its functions and lines are not told"));
                    State::Closed(reason)
                }
            };
        }
        let slot = self.slots.get_mut(key.0)?;
        slot.used = clock;
        let State::Open(module) = &mut slot.state else { return None };
        if module.parsed() > self.limits.parsed {
            module.forget_parsed();
        }
        Some(module)
    }

    /// Closes the module that was not used for the longest time, if too many are open.
    fn make_room(&mut self) {
        let open = |slot: &&mut Slot| matches!(slot.state, State::Open(_));
        if self.slots.iter_mut().filter(open).count() >= self.limits.modules
            && let Some(oldest) = self.slots.iter_mut().filter(open).min_by_key(|slot| slot.used)
        {
            oldest.state = State::Unopened;
        }
    }
}

/// Why a module answers nothing, in words.
fn what(path: &Path, reason: &Closed) -> String {
    let path = path.display();
    match reason {
        Closed::Changed => format!("{path} was built anew since the run"),
        Closed::Unreadable(reason) => format!("{path} cannot be read: {reason}"),
    }
}
