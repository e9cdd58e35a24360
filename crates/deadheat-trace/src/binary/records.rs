//! The contents of the blocks that hold tables: modules, named places, names of addresses.
//!
//! Invariant: a record is taken whole or not at all; the rest of a block whose record is
//! impossible is refused with the record's offset.

use deadheat_core::wire::module;

use crate::hash::Map;
use crate::tables::{Load, ModuleId, Tables};

/// Named places by the number that stands for them in the events.
pub(super) type Named = Map<u64, deadheat_core::ids::PlaceId>;

/// Something wrong at an offset of a block's content.
pub(super) struct Wrong(pub(super) usize, pub(super) &'static str);

/// Takes a block of modules.
pub(super) fn modules(bytes: &[u8], tables: &mut Tables) -> Result<(), Wrong> {
    let mut at = 0;
    while let Some(fixed) = bytes.get(at..at + module::SIZE) {
        let flags = u32_at(fixed, module::FLAGS);
        let id_len = u32_at(fixed, module::BUILD_ID_LEN) as usize;
        let path_len = u32_at(fixed, module::PATH_LEN) as usize;
        let start = at + module::SIZE;
        let variable = bytes.get(start..).unwrap_or(&[]);
        let Some((build_id, rest)) = variable.split_at_checked(id_len) else {
            return Err(Wrong(at, "a module's build id does not fit its block"));
        };
        let Some(path) = rest.get(..path_len) else {
            return Err(Wrong(at, "a module's path does not fit its block"));
        };
        let load = Load {
            module: ModuleId(0),
            bias: u64_at(fixed, module::BIAS),
            start: u64_at(fixed, module::START),
            end: u64_at(fixed, module::END),
            loaded: u64_at(fixed, module::STAMP),
            unloaded: None,
        };
        if load.start > load.end {
            return Err(Wrong(at, "a module ends before it starts"));
        }
        if flags & module::UNLOADED != 0 {
            tables.modules.unload(load.start, load.loaded);
        } else if load.end != 0 {
            tables.modules.load(path, build_id, flags & module::INSTRUMENTED != 0, load);
        }
        at = (start + id_len + path_len).next_multiple_of(8);
    }
    Ok(())
}

/// Takes a block of named places.
pub(super) fn places(bytes: &[u8], tables: &mut Tables, named: &mut Named) -> Result<(), Wrong> {
    const FIXED: usize = 24;
    let mut at = 0;
    while let Some(fixed) = bytes.get(at..at + FIXED) {
        let [line, column, function, file] = [8, 12, 16, 20].map(|field| u32_at(fixed, field));
        let rest = bytes.get(at + FIXED..).unwrap_or(&[]);
        let text = rest.split_at_checked(function as usize);
        let Some((function, rest)) = text else {
            return Err(Wrong(at, "a place's function does not fit its block"));
        };
        let Some(file) = rest.get(..file as usize) else {
            return Err(Wrong(at, "a place's file does not fit its block"));
        };
        named.insert(u64_at(fixed, 0), tables.places.named(function, file, line, column));
        at = (at + FIXED + function.len() + file.len()).next_multiple_of(8);
    }
    Ok(())
}

/// Takes a block of names.
pub(super) fn names(bytes: &[u8], tables: &mut Tables) -> Result<(), Wrong> {
    const FIXED: usize = 16;
    let mut at = 0;
    while let Some(fixed) = bytes.get(at..at + FIXED) {
        let len = u32_at(fixed, 8) as usize;
        let Some(name) = bytes.get(at + FIXED..).and_then(|rest| rest.get(..len)) else {
            return Err(Wrong(at, "a name does not fit its block"));
        };
        tables.names.insert(u64_at(fixed, 0), name);
        at = (at + FIXED + len).next_multiple_of(8);
    }
    Ok(())
}

/// The little-endian number at `at`, which lies within `bytes`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

/// The little-endian number at `at`, which lies within `bytes`.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}
