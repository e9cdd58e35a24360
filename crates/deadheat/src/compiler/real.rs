//! The real compilers: which they are, and what kind.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::words;
use crate::cache;
use crate::exit::Failure;
use crate::launchers;

/// Marks that a compiler of ours is running: if it starts itself, it would do so for ever.
const INSIDE: &str = "DEADHEAT_INSIDE_COMPILER";

/// Which compiler is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    /// `cc`
    C,
    /// `c++`
    Cxx,
}

impl Language {
    /// The variable that names the real compiler.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Language::C => "DEADHEAT_CC",
            Language::Cxx => "DEADHEAT_CXX",
        }
    }

    /// The real compiler if none is named.
    fn default_compiler(self) -> &'static str {
        match self {
            Language::C => "cc",
            Language::Cxx => "c++",
        }
    }

    /// Debian's package that has it.
    fn package(self) -> &'static str {
        match self {
            Language::C => "gcc",
            Language::Cxx => "g++",
        }
    }
}

/// Which family of compilers, and so of options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// The GNU compilers.
    Gcc,
    /// LLVM's.
    Clang,
}

/// What a compiler says that it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    /// Its family.
    pub(crate) family: Family,
    /// Its major version.
    pub(crate) major: u32,
    /// It makes code for x86-64 unless told otherwise.
    pub(crate) x86_64: bool,
}

/// A real compiler.
#[derive(Debug)]
pub(crate) struct Real {
    language: Language,
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Real {
    /// The compiler that `DEADHEAT_CC` or `DEADHEAT_CXX` names (it may have arguments, such as
    /// `ccache gcc`), else the system's.
    pub(crate) fn find(language: Language) -> Result<Real, Failure> {
        let named = std::env::var_os(language.variable()).unwrap_or_default();
        Real::from_words(language, &named, language.variable())
    }

    /// The compiler that `text`, the value of `variable`, names.
    pub(crate) fn from_words(language: Language, text: &OsStr, variable: &str) -> Result<Real, Failure> {
        let mut words = words::split(text.as_bytes()).into_iter();
        let name = words.next().unwrap_or_else(|| language.default_compiler().into());
        let Some(program) = find_program(&name) else {
            return Err(Failure::missing(format!(
                "there is no compiler {}; install one (Debian: apt install {}) or name another in {variable}",
                name.to_string_lossy(),
                language.package(),
            )));
        };
        Ok(Real { language, program, arguments: words.collect() })
    }

    /// The compiler that is this file.
    pub(crate) fn at(language: Language, program: PathBuf) -> Real {
        Real { language, program, arguments: Vec::new() }
    }

    /// The system's compiler although it is missing: calling it says so.
    pub(crate) fn absent(language: Language) -> Real {
        Real::at(language, language.default_compiler().into())
    }

    /// The compiler that this command names, for this language.
    pub(crate) fn named(language: Language, name: &str) -> Option<Real> {
        Some(Real::at(language, find_program(OsStr::new(name))?))
    }

    /// Which language it is for.
    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// What names it in `DEADHEAT_CC` or `DEADHEAT_CXX`.
    pub(crate) fn words(&self) -> OsString {
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        launchers::join([self.program.as_os_str()].into_iter().chain(arguments))
    }

    /// A call of it, without arguments of the caller's, in which our launchers are not found.
    pub(crate) fn command(&self) -> Result<Command, Failure> {
        if std::env::var_os(INSIDE).is_some() {
            return Err(Failure::missing(format!(
                "{} leads back to deadheat itself; name the real compiler in {}",
                self.shown(),
                self.language.variable()
            )));
        }
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env(INSIDE, "1");
        if let Some(path) = launchers::path_without() {
            command.env("PATH", path);
        }
        Ok(command)
    }

    /// As a person would type it.
    pub(crate) fn shown(&self) -> String {
        let mut shown = self.program.display().to_string();
        for argument in &self.arguments {
            shown.push(' ');
            shown.push_str(&argument.to_string_lossy());
        }
        shown
    }

    /// What tells this compiler from another, and from itself after an update.
    pub(crate) fn fingerprint(&self) -> String {
        let mut parts = vec![describe(&self.program)];
        for argument in &self.arguments {
            // In `ccache gcc` the compiler proper is an argument.
            parts.push(
                find_program(argument)
                    .map_or_else(|| argument.to_string_lossy().into_owned(), |program| describe(&program)),
            );
        }
        cache::name_of(parts.iter().map(String::as_bytes))
    }

    /// What it is: asked once, then known by its fingerprint.
    pub(crate) fn identity(&self) -> Result<Identity, Failure> {
        let note = cache::folder()?.join("compilers").join(self.fingerprint());
        if let Some(known) = std::fs::read_to_string(&note).ok().and_then(|text| Identity::parse(&text)) {
            return Ok(known);
        }
        let identity = self.ask()?;
        cache::ensure(&note, identity.text().as_bytes(), 0o600)?;
        Ok(identity)
    }

    fn ask(&self) -> Result<Identity, Failure> {
        let output = self
            .command()?
            .args(["-dM", "-E", "-x", "c", "/dev/null"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                Failure::missing(format!("cannot run the compiler {}: {error}", self.shown()))
            })?;
        let macros = String::from_utf8_lossy(&output.stdout);
        let value = |name: &str| {
            macros
                .lines()
                .find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix(' '))
        };
        let family = [("__clang_major__", Family::Clang), ("__GNUC__", Family::Gcc)]
            .into_iter()
            .find_map(|(name, family)| Some((family, value(name)?.trim().parse().ok()?)));
        match family {
            Some((family, major)) => {
                let x86_64 = value("__x86_64__").is_some() && value("__ILP32__").is_none();
                Ok(Identity { family, major, x86_64 })
            }
            None => {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.lines().next().map_or(String::new(), |line| format!(" ({line})"));
                Err(Failure::missing(format!(
                    "{} is neither gcc nor clang, or does not work{said}; name one of these in {}",
                    self.shown(),
                    self.language.variable()
                )))
            }
        }
    }
}

impl Identity {
    fn text(self) -> String {
        let family = match self.family {
            Family::Gcc => "gcc",
            Family::Clang => "clang",
        };
        format!("{family} {} {}\n", self.major, if self.x86_64 { "x86-64" } else { "other" })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let family = match words.next()? {
            "gcc" => Family::Gcc,
            "clang" => Family::Clang,
            _ => return None,
        };
        Some(Identity { family, major: words.next()?.parse().ok()?, x86_64: words.next()? == "x86-64" })
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text().trim_end())
    }
}

fn describe(program: &Path) -> String {
    match std::fs::metadata(program) {
        Ok(found) => {
            format!("{} {} {}.{}", program.display(), found.len(), found.mtime(), found.mtime_nsec())
        }
        Err(_) => program.display().to_string(),
    }
}

/// Finds a program as the shell does: a name with a slash is a path, another one is looked for
/// in the folders of `PATH`.
pub(crate) fn find_program(name: &OsStr) -> Option<PathBuf> {
    let runs =
        |path: &Path| path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok();
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| runs(path));
    }
    let path = launchers::path_without()?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| runs(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_back() {
        for family in [Family::Gcc, Family::Clang] {
            let identity = Identity { family, major: 19, x86_64: true };
            assert_eq!(Identity::parse(&identity.text()), Some(identity));
        }
        assert_eq!(Identity::parse("tcc 1 x86-64"), None);
        assert_eq!(Identity::parse(""), None);
    }
}
