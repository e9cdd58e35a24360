//! The files of code that an order may name: the program, and libraries found as the loader
//! would find them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use deadheat_symbol::{Needs, NoCode, Symbolizer, needs};

use super::place::Place;
use crate::hunt::gatefile::Module;

/// Where the loader looks after the folders that the program and the environment name.
const FOLDERS: [&str; 8] = [
    "/usr/local/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
];

/// The longest call instruction of a hook: an offset may be that of any of its bytes.
const CALL: u64 = 5;

/// The code of a place.
pub(crate) struct Found {
    /// The module.
    pub(crate) module: Module,
    /// The ranges, in its own address space.
    pub(crate) ranges: Vec<Range<u64>>,
}

/// The program, and what it needs.
pub(crate) struct Modules {
    program: PathBuf,
    needs: Needs,
    symbolizer: Symbolizer,
}

impl Modules {
    /// Those of a program.
    pub(crate) fn of(program: &Path) -> Modules {
        // A script has none; what is asked of it says so.
        let needs = needs(program).unwrap_or_default();
        Modules { program: program.to_path_buf(), needs, symbolizer: Symbolizer::default() }
    }

    /// The code of a place, or why there is none.
    pub(crate) fn find(&mut self, place: &Place) -> Result<Found, String> {
        match place {
            Place::Offset { module, offset } => {
                let path = self.path(module)?;
                let key = self.symbolizer.module(&path, &[]);
                match self.symbolizer.is_code(key, *offset) {
                    Err(no_code) => Err(no_code.to_string()),
                    Ok(false) => Err(format!("there is no code at that offset of {}", path.display())),
                    Ok(true) => {
                        let call = *offset..offset.saturating_add(CALL);
                        found(&path, std::slice::from_ref(&call))
                    }
                }
            }
            Place::Line { module: Some(module), file, line } => {
                let path = self.path(module)?;
                let ranges = self.line(&path, file, *line).map_err(|no_code| no_code.to_string())?;
                found(&path, &ranges)
            }
            Place::Line { module: None, file, line } => self.anywhere(file, *line),
        }
    }

    fn line(&mut self, path: &Path, file: &str, line: u32) -> Result<Vec<Range<u64>>, NoCode> {
        let key = self.symbolizer.module(path, &[]);
        self.symbolizer.line(key, file, line)
    }

    /// A line of the program, or of the libraries that come with it.
    fn anywhere(&mut self, file: &str, line: u32) -> Result<Found, String> {
        let program = self.program.clone();
        let mut reason = match self.line(&program, file, line) {
            Ok(ranges) => return found(&program, &ranges),
            Err(reason) => reason,
        };
        for library in self.needs.libraries.clone() {
            let Some(path) = self.folders().into_iter().map(|folder| folder.join(&library)).find(is_file)
            else {
                continue;
            };
            match self.line(&path, file, line) {
                Ok(ranges) => return found(&path, &ranges),
                // Another library without debug information says nothing about this file.
                Err(NoCode::NoLine(near)) => reason = NoCode::NoLine(near),
                Err(_) => {}
            }
        }
        Err(reason.to_string())
    }

    /// The file of a module: a path, the program's name, or a library's name.
    fn path(&self, name: &str) -> Result<PathBuf, String> {
        if name.contains('/') {
            return if is_file(&name) { Ok(name.into()) } else { Err(format!("there is no file {name}")) };
        }
        if self.program.file_name().is_some_and(|own| own == name) {
            return Ok(self.program.clone());
        }
        let mut folders = self.folders();
        folders.extend(FOLDERS.map(PathBuf::from));
        let mut names: Vec<&str> =
            self.needs.libraries.iter().map(String::as_str).filter(|library| means(name, library)).collect();
        names.push(name);
        let files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        files.into_iter().find(is_file).ok_or_else(|| {
            format!("there is no module {name} beside the program or where the loader looks; write its path")
        })
    }

    /// The folders that are this program's own choice, or its user's.
    fn folders(&self) -> Vec<PathBuf> {
        let origin = self.program.parent().unwrap_or(Path::new(".")).to_path_buf();
        let own = origin.to_string_lossy();
        let expand = |folder: &String| folder.replace("${ORIGIN}", &own).replace("$ORIGIN", &own).into();
        let environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = self.needs.folders.iter().map(expand).collect();
        folders.extend(std::env::split_paths(&environment).filter(|folder| !folder.as_os_str().is_empty()));
        folders.push(origin);
        folders
    }
}

fn is_file(path: &impl AsRef<Path>) -> bool {
    path.as_ref().is_file()
}

/// Whether a name means a library: as it stands, or without its version, `lib` and `.so`.
fn means(name: &str, library: &str) -> bool {
    let versioned = |base: &str| {
        library.strip_prefix(base).is_some_and(|version| version.is_empty() || version.starts_with('.'))
    };
    versioned(name) || versioned(&format!("{name}.so")) || versioned(&format!("lib{name}.so"))
}

fn found(path: &Path, ranges: &[Range<u64>]) -> Result<Found, String> {
    let about = needs(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Found { module: Module { name, build_id: about.build_id }, ranges: ranges.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::means;

    #[test]
    fn names_of_libraries() {
        for name in ["libx.so.1", "libx.so", "x", "libx"] {
            assert!(means(name, "libx.so.1"), "{name}");
        }
        for name in ["lib", "y", "libx.so.12"] {
            assert!(!means(name, "libx.so.1"), "{name}");
        }
    }
}
