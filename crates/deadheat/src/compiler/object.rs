//! The runtime's objects: embedded in this program, written to the cache for the linker.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use deadheat_core::options::{PATH_MARK, PATH_ROOM};

use crate::cache;
use crate::exit::Failure;

const DYNAMIC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rt-dynamic.o"));
const DYNAMIC_CXX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rt-dynamic-c++.o"));
const STATIC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rt-static.o"));
const DYNAMIC_LIST: &str = include_str!(concat!(env!("OUT_DIR"), "/dynamic.list"));
const DYNAMIC_ARGUMENTS_CXX: &str = include_str!(concat!(env!("OUT_DIR"), "/dynamic-c++.args"));
const STATIC_ARGUMENTS: &str = include_str!(concat!(env!("OUT_DIR"), "/static.args"));
const STATIC_ARGUMENTS_CXX: &str = include_str!(concat!(env!("OUT_DIR"), "/static-c++.args"));
const STATIC_ARGUMENTS_OPENMP: &str = include_str!(concat!(env!("OUT_DIR"), "/static-openmp.args"));
const EMPTY_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtsan_preinit.o"));
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// The runtime as files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Object {
    folder: PathBuf,
}

impl Object {
    /// Writes what is not there yet.
    pub(crate) fn install() -> Result<Object, Failure> {
        let teller = std::env::current_exe().unwrap_or_default();
        let teller = teller.as_os_str().as_bytes();
        let identity = cache::name_of([identity().as_bytes(), teller]);
        let folder = cache::folder()?.join(format!("runtime-{identity}"));
        for (name, object) in
            [("rt-dynamic.o", DYNAMIC), ("rt-dynamic-c++.o", DYNAMIC_CXX), ("rt-static.o", STATIC)]
        {
            let file = folder.join(name);
            if !cache::is_there(&file, object.len()) {
                cache::ensure(&file, &naming(object, teller), 0o600)?;
            }
        }
        for (name, content) in [
            ("dynamic.list", DYNAMIC_LIST.as_bytes()),
            ("libtsan_preinit.o", EMPTY_OBJECT),
            ("libtsan.a", EMPTY_ARCHIVE),
        ] {
            cache::ensure(&folder.join(name), content, 0o600)?;
        }
        Ok(Object { folder })
    }

    /// The folder that has them all, and with them an empty `libtsan` for gcc's driver to find.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// For programs with a dynamic loader. `cxx`: the C++ library is linked into it.
    pub(crate) fn for_dynamic(&self, cxx: bool) -> PathBuf {
        self.folder.join(if cxx { "rt-dynamic-c++.o" } else { "rt-dynamic.o" })
    }

    /// The linker's options for a program that has the C++ library in it, as one argument for the compiler.
    pub(crate) fn dynamic_arguments_cxx(&self) -> String {
        for_linker(&[DYNAMIC_ARGUMENTS_CXX])
    }

    /// The linker's list of what such a program offers to its libraries and plug-ins.
    pub(crate) fn dynamic_list(&self) -> PathBuf {
        self.folder.join("dynamic.list")
    }

    /// For programs that are linked statically.
    pub(crate) fn for_static(&self) -> PathBuf {
        self.folder.join("rt-static.o")
    }

    /// The linker's options that go with it, as one argument for the compiler. `cxx`: the C++
    /// library is linked; `openmp`: libgomp is.
    pub(crate) fn static_arguments(&self, cxx: bool, openmp: bool) -> String {
        let of_cxx = if cxx { STATIC_ARGUMENTS_CXX } else { "" };
        let of_openmp = if openmp { STATIC_ARGUMENTS_OPENMP } else { "" };
        for_linker(&[STATIC_ARGUMENTS, of_cxx, of_openmp])
    }
}

/// Lists of the linker's options as one argument for the compiler.
fn for_linker(lists: &[&str]) -> String {
    lists
        .iter()
        .flat_map(|list| list.split_whitespace())
        .fold(String::from("-Wl"), |list, option| list + "," + option)
}

/// An object with the path of the command line in it, which the program runs to have its races told. One that is too long
/// stays out: the program then says that it does not know it.
fn naming(object: &[u8], teller: &[u8]) -> Vec<u8> {
    let mut object = object.to_vec();
    let mark = memchr::memmem::find(&object, &PATH_MARK);
    if let Some(at) = mark.filter(|_| teller.len() < PATH_ROOM) {
        let begin = at + PATH_MARK.len();
        object[begin..begin + teller.len()].copy_from_slice(teller);
    }
    object
}

/// Changes with the content of the objects.
pub(crate) fn identity() -> &'static str {
    env!("DEADHEAT_RUNTIME_ID")
}
