//! One module: its file, checked against the build that was recorded, its symbols and its debug
//! information, each read when first needed.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::{Architecture, Object};

use crate::calls::{self, CallSite};
use crate::debugfile;
use crate::dwarf::Dwarf;
use crate::image::Image;
use crate::name::demangle;
use crate::reverse::{self, MOST_RANGES, NoCode, merged};
use crate::symbolizer::{Code, DataSymbol, Frame, LocalVariable};
use crate::table::{Table, Want};

/// How the names of the compiler's hooks begin.
const HOOKS: &str = "__tsan_";

/// Why a module answers nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Closed {
    /// The file cannot be opened or is no ELF file.
    Unreadable(String),
    /// The file is not the one that was recorded.
    Changed,
}

/// An opened module.
pub(crate) struct Module {
    path: PathBuf,
    image: Arc<Image>,
    table: Option<Table>,
    debug: Debug,
}

enum Debug {
    Unread,
    Absent,
    Ready(Box<Dwarf>),
}

impl Module {
    /// Opens the file; `build_id` is the recorded one (empty if none was). Where that is not the file any more, `running` is read if it is.
    pub(crate) fn open(path: &Path, build_id: &[u8], running: Option<&Path>) -> Result<Module, Closed> {
        let known = Some(build_id).filter(|id| !id.is_empty());
        let is_it = |image: &Arc<Image>| known.is_none_or(|id| image.build_id() == Some(id));
        let image = match Image::open(path) {
            Ok(image) if is_it(&image) => image,
            other => {
                let running = running.filter(|_| known.is_some()).and_then(|path| Image::open(path).ok());
                let reason =
                    other.map_or_else(|error| Closed::Unreadable(error.to_string()), |_| Closed::Changed);
                running.filter(is_it).ok_or(reason)?
            }
        };
        Ok(Module { path: path.to_path_buf(), image, table: None, debug: Debug::Unread })
    }

    /// The frames at a code address, and the symbol that it lies in.
    pub(crate) fn code(&mut self, address: u64) -> Code {
        let found = self.table().find(Want::Code, address);
        let symbol = found.map(|symbol| (demangle(symbol.name).into_owned(), address - symbol.address));
        let mut frames = match self.dwarf() {
            // Debug information that cannot be read counts as none for this address.
            Some(dwarf) => dwarf.frames(address).unwrap_or_default(),
            None => Vec::new(),
        };
        // With line tables alone (`-g1`) no entry says where a function is declared; the line of
        // its first instruction stands in, for the function that was not inlined.
        if let (Some((_, offset)), Some(outermost)) = (&symbol, frames.last_mut())
            && outermost.first_line.is_none()
        {
            let first = self.dwarf().and_then(|dwarf| dwarf.place(address - offset));
            // The first instruction may be of an inlined function.
            outermost.first_line = first
                .filter(|(file, line)| Some(file) == outermost.file.as_ref() && Some(*line) <= outermost.line)
                .map(|(_, line)| line);
        }
        let name = symbol.as_ref().map(|(name, _)| name.clone());
        match frames.last_mut() {
            Some(outermost) if outermost.function.is_none() => outermost.function = name,
            Some(_) => {}
            None if name.is_some() => frames.push(Frame { function: name, ..Frame::default() }),
            None => {}
        }
        Code { frames, symbol }
    }

    /// The variable at a data address, and the part of it that holds `size` bytes from there.
    pub(crate) fn data(&mut self, address: u64, size: u64) -> Option<DataSymbol> {
        let found = self.table().find(Want::Data, address)?;
        let (start, offset) = (found.address, address - found.address);
        let mut symbol =
            DataSymbol { name: demangle(found.name).into_owned(), offset, size: found.size, part: None };
        symbol.part = self.dwarf().and_then(|dwarf| dwarf.part(start, offset, size));
        Some(symbol)
    }

    /// The local variable whose address a hook is called with at a code address.
    pub(crate) fn local(&mut self, address: u64, offset: i64, size: u64) -> Option<LocalVariable> {
        if self.image.object().architecture() != Architecture::X86_64 {
            return None;
        }
        let image = Arc::clone(&self.image);
        let found = self.dwarf()?.local(&image, address, offset, size)?;
        // A call to another function of this module is no hook. One through a table of
        // addresses names nobody.
        let called = found.call.and_then(|target| self.table().find(Want::Code, target));
        called.is_none_or(|called| called.name.starts_with(HOOKS)).then_some(found)
    }

    /// The variable at an offset in the module's thread-local block.
    pub(crate) fn thread_local(&mut self, offset: u64) -> Option<DataSymbol> {
        let found = self.table().find(Want::ThreadLocal, offset)?;
        let name = demangle(found.name).into_owned();
        Some(DataSymbol { name, offset: offset - found.address, size: found.size, part: None })
    }

    /// The code of a source line.
    pub(crate) fn line(&mut self, file: &str, line: u32) -> Result<Vec<Range<u64>>, NoCode> {
        let image = Arc::clone(&self.image);
        let Some(dwarf) = self.dwarf() else { return Err(NoCode::NoDebugInfo) };
        reverse::line(dwarf.sections(), &|address| image.is_code(address), file, line)
    }

    /// The code of a function.
    pub(crate) fn function(&mut self, name: &str) -> Result<Vec<Range<u64>>, NoCode> {
        let mut found = Vec::new();
        self.table().functions(|symbol| reverse::is_name(symbol, name), &mut found);
        let image = Arc::clone(&self.image);
        if let Some(dwarf) = self.dwarf() {
            reverse::function(dwarf.sections(), name, &mut found);
        }
        found.retain(|range| range.start < range.end && image.is_code(range.start));
        match found.len() {
            0 => Err(NoCode::NoFunction),
            1..=MOST_RANGES => Ok(merged(found)),
            _ => Err(NoCode::TooMany),
        }
    }

    /// Whether a function of this very name is among the symbols.
    pub(crate) fn defines(&mut self, name: &str) -> bool {
        let mut found = Vec::new();
        self.table().functions(|symbol| symbol == name, &mut found);
        !found.is_empty()
    }

    /// The calls that the functions of a name make.
    pub(crate) fn calls(&mut self, name: &str) -> Result<Vec<CallSite>, NoCode> {
        if self.image.object().architecture() != Architecture::X86_64 {
            return Err(NoCode::NoDebugInfo);
        }
        let ranges = self.function(name)?;
        let image = Arc::clone(&self.image);
        let table = self.table();
        let name = |at: u64| {
            table
                .find(Want::Code, at)
                .filter(|symbol| symbol.address == at)
                .map(|symbol| symbol.name.to_owned())
        };
        Ok(calls::calls(&image, &ranges, &name))
    }

    /// Whether there is machine code at an address.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.image.is_code(address)
    }

    /// Whether functions and lines can be told for it.
    pub(crate) fn has_debug_info(&mut self) -> bool {
        self.dwarf().is_some()
    }

    /// The bytes of debug information parsed so far.
    pub(crate) fn parsed(&self) -> u64 {
        match &self.debug {
            Debug::Ready(dwarf) => dwarf.parsed(),
            Debug::Unread | Debug::Absent => 0,
        }
    }

    /// Forgets the parsed debug information; the next question reads what it needs again.
    pub(crate) fn forget_parsed(&mut self) {
        if matches!(self.debug, Debug::Ready(_)) {
            self.debug = Debug::Unread;
        }
    }

    fn table(&mut self) -> &Table {
        let (path, image) = (&self.path, &self.image);
        self.table.get_or_insert_with(|| {
            let table = Table::read(image);
            if !table.is_dynamic() {
                return table;
            }
            // A stripped module: its debug file, if there is one, has the full table.
            debugfile::find(path, image).map_or(table, |debug| Table::read(&debug))
        })
    }

    fn dwarf(&mut self) -> Option<&mut Dwarf> {
        if matches!(self.debug, Debug::Unread) {
            self.debug = match self.read_dwarf() {
                Some(dwarf) => Debug::Ready(Box::new(dwarf)),
                None => Debug::Absent,
            };
        }
        match &mut self.debug {
            Debug::Ready(dwarf) => Some(dwarf),
            Debug::Unread | Debug::Absent => None,
        }
    }

    fn read_dwarf(&self) -> Option<Dwarf> {
        let image = if self.image.has_debug_info() {
            Arc::clone(&self.image)
        } else {
            debugfile::find(&self.path, &self.image)?
        };
        let supplement = debugfile::supplement(&self.path, &image);
        Dwarf::read(&image, supplement).ok()
    }
}
