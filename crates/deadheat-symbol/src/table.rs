//! The symbol table of a module, sorted by address: which function, variable or thread-local
//! variable an address lies in.
//!
//! Invariant: 16 bytes a symbol are kept; names and sizes are read from the mapped file when
//! they are asked for.

use std::ops::Range;
use std::sync::Arc;

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SymbolIndex, SymbolKind};

use crate::image::Image;

/// How many symbols before an address are tried: aliases and symbols nested in others.
const NESTED: usize = 32;

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// A function.
    Code,
    /// A variable.
    Data,
    /// A thread-local variable; its address is its offset in the module's thread-local block.
    ThreadLocal,
}

/// A symbol that holds an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found<'a> {
    /// The mangled name.
    pub(crate) name: &'a str,
    /// The symbol's first address.
    pub(crate) address: u64,
    /// Its size; 0 where the table does not say.
    pub(crate) size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    address: u64,
    index: u32,
}

/// The sorted symbols of one image.
pub(crate) struct Table {
    image: Arc<Image>,
    dynamic: bool,
    code: Vec<Entry>,
    data: Vec<Entry>,
    thread_local: Vec<Entry>,
}

impl Table {
    /// Reads the full symbol table; a stripped file still has its dynamic one.
    pub(crate) fn read(image: &Arc<Image>) -> Table {
        let full = image.object().symbol_table().is_some_and(|table| table.symbols().next().is_some());
        let mut made = Table {
            image: Arc::clone(image),
            dynamic: !full,
            code: Vec::new(),
            data: Vec::new(),
            thread_local: Vec::new(),
        };
        if full {
            made.fill(image.object().symbols());
        } else {
            made.fill(image.object().dynamic_symbols());
        }
        for list in [&mut made.code, &mut made.data, &mut made.thread_local] {
            list.sort_unstable();
            list.shrink_to_fit();
        }
        made
    }

    /// Whether it has only the symbols that the module exports.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.dynamic
    }

    fn fill<'a>(&mut self, symbols: impl Iterator<Item = impl ObjectSymbol<'a>>) {
        for symbol in symbols {
            if symbol.is_undefined() {
                continue;
            }
            let list = match symbol.kind() {
                SymbolKind::Text => &mut self.code,
                SymbolKind::Data => &mut self.data,
                SymbolKind::Tls => &mut self.thread_local,
                _ => continue,
            };
            if let Ok(index) = u32::try_from(symbol.index().0) {
                list.push(Entry { address: symbol.address(), index });
            }
        }
    }

    /// The symbol that holds `address`.
    pub(crate) fn find(&self, want: Want, address: u64) -> Option<Found<'_>> {
        let list = match want {
            Want::Code => &self.code,
            Want::Data => &self.data,
            Want::ThreadLocal => &self.thread_local,
        };
        let end = list.partition_point(|entry| entry.address <= address);
        let start = end.saturating_sub(NESTED);
        let mut best: Option<Found<'_>> = None;
        for entry in list[start..end].iter().rev() {
            if best.is_some_and(|found| found.address != entry.address) {
                break;
            }
            let Some(found) = self.symbol(entry.index) else { continue };
            // A function without a size (written in assembly) reaches up to the next symbol of
            // its section.
            let nearest = end > 0 && list[end - 1].address == entry.address;
            let holds = address - found.address < found.size
                || (found.size == 0
                    && want == Want::Code
                    && nearest
                    && self.same_section(found.address, address));
            // Of aliases the shortest name, then the first in the alphabet: a stable choice.
            if holds
                && best.is_none_or(|other| (found.name.len(), found.name) < (other.name.len(), other.name))
            {
                best = Some(found);
            }
        }
        best
    }

    /// Adds the ranges of the functions that `is` takes by their mangled names.
    pub(crate) fn functions(&self, is: impl Fn(&str) -> bool, found: &mut Vec<Range<u64>>) {
        let named = self.code.iter().filter_map(|entry| self.symbol(entry.index));
        let sized = named.filter(|symbol| symbol.size > 0 && is(symbol.name));
        found.extend(sized.map(|symbol| symbol.address..symbol.address.saturating_add(symbol.size)));
    }

    fn same_section(&self, one: u64, other: u64) -> bool {
        self.image.object().sections().any(|section| {
            let holds =
                |address: u64| address.checked_sub(section.address()).is_some_and(|at| at < section.size());
            holds(one) && holds(other)
        })
    }

    fn symbol(&self, index: u32) -> Option<Found<'_>> {
        let index = SymbolIndex(index as usize);
        let object = self.image.object();
        let table = if self.dynamic { object.dynamic_symbol_table() } else { object.symbol_table() };
        let symbol = table?.symbol_by_index(index).ok()?;
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        Some(Found { name, address: symbol.address(), size: symbol.size() })
    }
}
