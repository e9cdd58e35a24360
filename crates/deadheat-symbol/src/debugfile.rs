//! Where debug information lives when it is not in the module itself: by build id, or by the
//! name and checksum that `objcopy --add-gnu-debuglink` leaves.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::Object;

use crate::image::Image;

/// The folders that distributions install separate debug files under.
const DEBUG_FOLDERS: [&str; 1] = ["/usr/lib/debug"];

/// The separate debug file of `image` (which is the file at `path`), opened.
pub(crate) fn find(path: &Path, image: &Image) -> Option<Arc<Image>> {
    by_build_id(image).or_else(|| by_link(path, image))
}

/// The supplementary file that `dwz` moved common parts of the debug information to.
pub(crate) fn supplement(path: &Path, image: &Image) -> Option<Arc<Image>> {
    let (name, id) = image.object().gnu_debugaltlink().ok().flatten()?;
    let name = Path::new(OsStr::from_bytes(name));
    let beside = path.parent().map(|folder| folder.join(name));
    let named = beside.into_iter().chain(build_id_paths(id));
    named.filter_map(|file| Image::open(&file).ok()).find(|found| found.build_id() == Some(id))
}

fn by_build_id(image: &Image) -> Option<Arc<Image>> {
    let id = image.build_id()?;
    build_id_paths(id)
        .filter_map(|file| Image::open(&file).ok())
        .find(|found| found.build_id() == Some(id) && found.has_debug_info())
}

fn build_id_paths(id: &[u8]) -> impl Iterator<Item = PathBuf> {
    let name = id.split_first().map(|(first, rest)| {
        let mut name = format!(".build-id/{first:02x}/");
        for byte in rest {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name + ".debug"
    });
    name.into_iter().flat_map(|name| DEBUG_FOLDERS.map(|folder| Path::new(folder).join(&name)))
}

fn by_link(path: &Path, image: &Image) -> Option<Arc<Image>> {
    let (name, checksum) = image.object().gnu_debuglink().ok().flatten()?;
    let name = Path::new(OsStr::from_bytes(name));
    let folder = path.parent()?;
    let mut places = vec![folder.join(name), folder.join(".debug").join(name)];
    let inside = folder.strip_prefix("/").unwrap_or(folder);
    places.extend(DEBUG_FOLDERS.map(|debug| Path::new(debug).join(inside).join(name)));
    places.into_iter().filter(|place| place != path).find_map(|place| {
        let found = Image::open(&place).ok()?;
        let same = match (image.build_id(), found.build_id()) {
            (Some(one), Some(other)) => one == other,
            _ => crc32(&std::fs::read(&place).ok()?) == checksum,
        };
        (same && found.has_debug_info()).then_some(found)
    })
}

/// The checksum of a debuglink: CRC-32 as in gzip. Files with a build id never come here.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::{build_id_paths, crc32};

    #[test]
    fn checksum_of_the_standard_text() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_build_id_names_a_file() {
        let paths: Vec<_> = build_id_paths(&[0xab, 0x01, 0xff]).collect();
        assert_eq!(paths, [std::path::Path::new("/usr/lib/debug/.build-id/ab/01ff.debug")]);
        assert_eq!(build_id_paths(&[]).count(), 0);
    }
}
