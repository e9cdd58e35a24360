//! A file of machine code in memory: mapped, parsed, its sections readable. The home of the
//! crate's `unsafe`.
//!
//! Invariant: [`Image`] owns the bytes that its parsed views borrow. The views have the lifetime
//! `'static` in their types only; none leaves this crate's structs, which all hold the image.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use memmap2::Mmap;
use object::{Object, ObjectSection, SectionKind};

/// How the debug information is read: straight from the mapped file.
pub(crate) type Reader = EndianSlice<'static, RunTimeEndian>;

/// One mapped and parsed ELF file.
pub(crate) struct Image {
    object: object::File<'static>,
    /// Sections that were stored compressed: their boxes do not move, and are freed last.
    expanded: Mutex<Vec<Box<[u8]>>>,
    /// Dropped after `object`, which borrows it.
    _map: Mmap,
}

impl Image {
    /// Maps and parses a file.
    pub(crate) fn open(path: &Path) -> io::Result<Arc<Image>> {
        let file = File::open(path)?;
        // SAFETY: the mapping is private and read-only. Who promises that the file does not
        // shrink while it is mapped is the caller of this program: a build that overwrites the
        // file makes a new one, and a truncated one ends this process, not the one under test.
        let map = unsafe { Mmap::map(&file)? };
        let bytes: *const [u8] = &raw const *map;
        // SAFETY: the bytes live as long as `_map`, which lives as long as the `Image`; every
        // view made from them is kept beside an `Arc<Image>` (the module's invariant).
        let bytes: &'static [u8] = unsafe { &*bytes };
        let object = object::File::parse(bytes).map_err(io::Error::other)?;
        Ok(Arc::new(Image { object, expanded: Mutex::new(Vec::new()), _map: map }))
    }

    /// The parsed file.
    pub(crate) fn object(&self) -> &object::File<'static> {
        &self.object
    }

    /// The build id, if the linker left one.
    pub(crate) fn build_id(&self) -> Option<&[u8]> {
        self.object.build_id().ok().flatten()
    }

    /// Whether functions and lines can be read from it.
    pub(crate) fn has_debug_info(&self) -> bool {
        self.object.section_by_name(".debug_info").is_some_and(|section| section.size() > 0)
    }

    /// The debug sections, ready to be read lazily.
    pub(crate) fn dwarf(&self) -> Result<gimli::Dwarf<Reader>, gimli::Error> {
        gimli::Dwarf::load(|id| Ok(self.section(id.name())))
    }

    /// The machine code at a range of addresses, if it is all there.
    pub(crate) fn code(&self, range: Range<u64>) -> Option<&[u8]> {
        let length = range.end.checked_sub(range.start)?;
        self.object.sections().find_map(|section| section.data_range(range.start, length).ok()?)
    }

    /// Whether an address is one of machine code.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.object.sections().any(|section| {
            section.kind() == SectionKind::Text
                && address.checked_sub(section.address()).is_some_and(|at| at < section.size())
        })
    }

    /// One section, expanded if it is stored compressed; empty if it is not there.
    pub(crate) fn section(&self, name: &str) -> Reader {
        let endian = if self.object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let data = self.object.section_by_name(name).and_then(|found| found.uncompressed_data().ok());
        let data: &'static [u8] = match data {
            None => &[],
            Some(std::borrow::Cow::Borrowed(bytes)) => bytes,
            Some(std::borrow::Cow::Owned(bytes)) => self.keep(bytes.into_boxed_slice()),
        };
        EndianSlice::new(data, endian)
    }

    fn keep(&self, bytes: Box<[u8]>) -> &'static [u8] {
        let view: *const [u8] = &raw const *bytes;
        self.expanded.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        // SAFETY: the box is never changed or dropped before the `Image` is, and its bytes do
        // not move when the vector grows; the module's invariant keeps views beside the image.
        unsafe { &*view }
    }
}
