//! What a module asks the loader for: libraries, and folders to look for them in.

use std::io;
use std::path::Path;

use object::elf;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object};

use crate::image::Image;

/// What a module says of itself and of the libraries that it needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Its build id; empty if it has none.
    pub build_id: Vec<u8>,
    /// The names of the libraries that are loaded with it.
    pub libraries: Vec<String>,
    /// The folders that it wants them looked for in, as written: `$ORIGIN` is its own.
    pub folders: Vec<String>,
}

/// Reads what the file of a module says.
///
/// # Errors
/// The file cannot be read or is no ELF file.
pub fn needs(path: &Path) -> io::Result<Needs> {
    let image = Image::open(path)?;
    let mut needs = Needs { build_id: image.build_id().unwrap_or_default().to_vec(), ..Needs::default() };
    if let object::File::Elf64(file) = image.object() {
        read_dynamic(file, &mut needs).map_err(io::Error::other)?;
    }
    Ok(needs)
}

fn read_dynamic(file: &ElfFile64<'static, Endianness>, needs: &mut Needs) -> object::read::Result<()> {
    let (endian, data) = (file.endian(), file.data());
    let Some(strings) = file.section_by_name(".dynstr") else { return Ok(()) };
    let strings = object::ObjectSection::data(&strings)?;
    let text = |at: u64| {
        let rest = usize::try_from(at).ok().and_then(|at| strings.get(at..))?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    for header in file.elf_program_headers() {
        for row in header.dynamic(endian, data)?.into_iter().flatten() {
            let (tag, value) = (row.d_tag.get(endian), row.d_val.get(endian));
            match tag {
                elf::DT_NEEDED => needs.libraries.extend(text(value)),
                elf::DT_RUNPATH | elf::DT_RPATH => {
                    let folders = text(value).unwrap_or_default();
                    needs.folders.extend(folders.split(':').map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
