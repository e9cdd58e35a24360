//! Where exceptions that leave a call are caught: the landing pads of a function.
//!
//! Invariant: pads are told all or not at all.

use addr2line::gimli::{self, BaseAddresses, EhFrame, Pointer, Reader as _, UnwindSection};
use object::{Object, ObjectSection};

use crate::image::{Image, Reader};
use crate::operand::Pad;

/// The encodings that gcc and clang use in their tables: none, and numbers of variable length.
const OMITTED: u8 = 0xff;
const VARIABLE_LENGTH: u8 = 0x01;

/// The pads of the code that holds `address`, and none if it has no table of them. `None` if
/// the tables cannot be read.
pub(crate) fn pads(image: &Image, address: u64) -> Option<Vec<Pad>> {
    let section_address = |name: &str| image.object().section_by_name(name).map(|found| found.address());
    let mut bases = BaseAddresses::default();
    bases = bases.set_eh_frame(section_address(".eh_frame")?);
    if let Some(text) = section_address(".text") {
        bases = bases.set_text(text);
    }
    let frames = image.section(".eh_frame");
    let frames = EhFrame::from(frames);
    let row = frames.fde_for_address(&bases, address, EhFrame::cie_from_offset).ok()?;
    let table = match row.lsda() {
        None => return Some(Vec::new()),
        Some(Pointer::Direct(table)) => table,
        Some(Pointer::Indirect(_)) => return None,
    };
    let start = section_address(".gcc_except_table")?;
    let mut bytes = image.section(".gcc_except_table");
    bytes.skip(usize::try_from(table.checked_sub(start)?).ok()?).ok()?;
    read(bytes, row.initial_address()).ok()?
}

/// Reads the table of a function that begins at `function`.
fn read(mut bytes: Reader, function: u64) -> gimli::Result<Option<Vec<Pad>>> {
    if bytes.read_u8()? != OMITTED {
        return Ok(None);
    }
    if bytes.read_u8()? != OMITTED {
        bytes.read_uleb128()?;
    }
    if bytes.read_u8()? != VARIABLE_LENGTH {
        return Ok(None);
    }
    let length = bytes.read_uleb128()?;
    let mut rows = bytes;
    rows.truncate(usize::try_from(length).unwrap_or(usize::MAX))?;
    let mut pads = Vec::new();
    while !rows.is_empty() {
        let [start, length, pad, _action] =
            [rows.read_uleb128()?, rows.read_uleb128()?, rows.read_uleb128()?, rows.read_uleb128()?];
        if pad != 0 {
            let start = function.wrapping_add(start);
            pads.push((start..start.wrapping_add(length), function.wrapping_add(pad)));
        }
    }
    Ok(Some(pads))
}
