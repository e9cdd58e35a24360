//! Places in the code.

use deadheat_core::ids::PlaceId;

use super::modules::ModuleId;
use super::names::Interner;
use crate::hash::Map;

/// What a [`PlaceId`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// Not known.
    Unknown,
    /// An address within the instruction that made the event (a call of a hook, or a call).
    Code {
        /// The module.
        module: ModuleId,
        /// The address in the module's own (link-time) address space.
        offset: u64,
    },
    /// A place with a name. Imported traces often give a line alone.
    Named {
        /// The function; may be empty.
        function: &'a str,
        /// The file; may be empty.
        file: &'a str,
        /// The line, from 1; 0 if not known.
        line: u32,
        /// The column, from 1; 0 if not known.
        column: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Row {
    Unknown,
    Code { module: u32, offset: u64 },
    Named { function: u32, file: u32, line: u32, column: u32 },
}

/// The table of places; row 0 is the unknown place.
#[derive(Debug)]
pub struct Places {
    rows: Vec<Row>,
    index: Map<Row, u32>,
    strings: Interner,
}

impl Default for Places {
    fn default() -> Self {
        Places { rows: vec![Row::Unknown], index: Map::default(), strings: Interner::default() }
    }
}

impl Places {
    /// What the id stands for.
    #[must_use]
    pub fn get(&self, id: PlaceId) -> Place<'_> {
        match self.rows.get(id.0 as usize) {
            None | Some(Row::Unknown) => Place::Unknown,
            Some(&Row::Code { module, offset }) => Place::Code { module: ModuleId(module), offset },
            Some(&Row::Named { function, file, line, column }) => {
                Place::Named { function: self.text(function), file: self.text(file), line, column }
            }
        }
    }

    /// How many places there are, the unknown one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether only the unknown place is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.len() <= 1
    }

    /// All places but the unknown one.
    pub fn iter(&self) -> impl Iterator<Item = (PlaceId, Place<'_>)> {
        (1..self.rows.len() as u32).map(|id| (PlaceId(id), self.get(PlaceId(id))))
    }

    /// The id of a place in a module.
    pub fn code(&mut self, module: ModuleId, offset: u64) -> PlaceId {
        self.id(Row::Code { module: module.0, offset })
    }

    /// The id of a named place.
    pub fn named(&mut self, function: &[u8], file: &[u8], line: u32, column: u32) -> PlaceId {
        let function = self.string(function);
        let file = self.string(file);
        self.id(Row::Named { function, file, line, column })
    }

    fn string(&mut self, bytes: &[u8]) -> u32 {
        match str::from_utf8(bytes) {
            Ok(_) => self.strings.intern(bytes),
            Err(_) => self.strings.intern(String::from_utf8_lossy(bytes).as_bytes()),
        }
    }

    fn id(&mut self, row: Row) -> PlaceId {
        let next = self.rows.len() as u32;
        let id = *self.index.entry(row).or_insert(next);
        if id == next {
            self.rows.push(row);
        }
        PlaceId(id)
    }

    fn text(&self, number: u32) -> &str {
        str::from_utf8(self.strings.get(number)).unwrap_or("")
    }
}
