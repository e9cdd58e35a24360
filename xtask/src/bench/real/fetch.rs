//! Source packages by `apt-get source`, with a configuration, lists and a cache of our own.
//!
//! The system's sources are taken as they are, asked for sources instead of programs. So nothing of the
//! system is changed, and no host is named here. Where the system's own release has no longer the
//! source, that of a further suite is taken, and the table says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::tools::{make_folder, write};
use crate::bench::{Outcome, Stop};

/// A source package on disk.
pub(crate) struct Fetched {
    /// Its unpacked source.
    pub(crate) folder: PathBuf,
    /// Its name and version.
    pub(crate) package: String,
    /// The suite that it is from.
    pub(crate) release: String,
}

/// The name that stands for what the system itself installs from.
const OWN: &str = "own";

/// Fetches and unpacks a source package, unless it was before.
pub(crate) fn source(package: &str, work: &Path, further: &str) -> Outcome<Fetched> {
    let mut why = String::new();
    for suite in [OWN, further] {
        let folder = work.join("sources").join(suite).join(package);
        if let Some(fetched) = unpacked(&folder, suite) {
            return Ok(fetched);
        }
        let configuration = configure(work, suite)?;
        if folder.exists() {
            let _ = fs::remove_dir_all(&folder);
        }
        make_folder(&folder)?;
        match apt(&configuration, &["source", "--quiet=2", package], &folder) {
            Ok(()) => {
                if let Some(fetched) = unpacked(&folder, suite) {
                    return Ok(fetched);
                }
            }
            Err(stop) => why = stop.why,
        }
    }
    Err(Stop::missing(format!("the source of {package} cannot be had: {why}")))
}

/// What an earlier fetch left: one unpacked folder and the `.dsc` that describes it.
fn unpacked(folder: &Path, suite: &str) -> Option<Fetched> {
    let entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    let source = entries.iter().find(|path| path.is_dir())?;
    let description = entries.iter().find(|path| path.extension().is_some_and(|kind| kind == "dsc"))?;
    let package = description.file_stem()?.to_string_lossy().replacen('_', " ", 1);
    let release = if suite == OWN { own_codename() } else { suite.to_owned() };
    Some(Fetched { folder: source.clone(), package, release })
}

fn own_codename() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    line.unwrap_or("the system's release").to_owned()
}

/// Writes the configuration for a suite and fetches its lists, once.
fn configure(work: &Path, suite: &str) -> Outcome<PathBuf> {
    let folder = work.join("apt").join(suite);
    let configuration = folder.join("apt.conf");
    if configuration.exists() {
        return Ok(configuration);
    }
    for part in ["parts", "lists/partial", "cache/archives/partial"] {
        make_folder(&folder.join(part))?;
    }
    let mut written = 0;
    for file in system_sources() {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let name = file.file_name().unwrap_or_default();
        let kind = file.extension().unwrap_or_default();
        let changed = if kind == "sources" { stanzas(&text, suite) } else { one_liners(&text, suite) };
        if !changed.is_empty() {
            write(&folder.join("parts").join(name), changed)?;
            written += 1;
        }
    }
    if written == 0 {
        return Err(Stop::missing("no package sources are configured in /etc/apt; real programs need them"));
    }
    let path = |part: &str| folder.join(part).display().to_string();
    let text = format!(
        "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"{}\";\nDir::State::lists \"{}\";\n\
         Dir::Cache \"{}\";\nAPT::Sandbox::User \"root\";\n",
        path("parts"),
        path("lists"),
        path("cache")
    );
    let unproved = folder.join("apt.conf.unproved");
    write(&unproved, text)?;
    apt(&unproved, &["update", "--quiet=2"], &folder)?;
    fs::rename(&unproved, &configuration).map_err(|e| Stop::failed(format!("cannot rename: {e}")))?;
    Ok(configuration)
}

/// The system's lists of sources, in either notation.
fn system_sources() -> Vec<PathBuf> {
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let known = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "list" || kind == "sources");
    let mut files: Vec<PathBuf> = parts.map(|entry| entry.path()).filter(known).collect();
    files.push(PathBuf::from("/etc/apt/sources.list"));
    files
}

/// The stanzas of a `.sources` file, asked for sources; for a further suite only those of the main
/// archive, which are the ones that have a suite without a dash or slash.
fn stanzas(text: &str, suite: &str) -> String {
    let mut out = String::new();
    for stanza in text.split("\n\n") {
        let plain = |line: &str| main_suite(line.strip_prefix("Suites:").unwrap_or("")).is_some();
        if suite != OWN && !stanza.lines().any(plain) {
            continue;
        }
        for line in stanza.lines().filter(|line| !line.starts_with('#')) {
            match line.split_once(':') {
                Some(("Types", _)) => out.push_str("Types: deb-src"),
                Some(("Suites", _)) if suite != OWN => out.push_str(&format!("Suites: {suite}")),
                _ => out.push_str(line),
            }
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// The `deb` lines of a `.list` file, asked for sources.
fn one_liners(text: &str, suite: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("deb ")) {
        match main_suite(line) {
            Some(own) if suite != OWN => {
                out.push_str(&format!(
                    "deb-src {}\n",
                    line.replace(&format!(" {own} "), &format!(" {suite} "))
                ));
            }
            _ if suite == OWN => out.push_str(&format!("deb-src {line}\n")),
            _ => {}
        }
    }
    out
}

/// The word among these that is the system's own codename.
fn main_suite(words: &str) -> Option<String> {
    let own = own_codename();
    words.split_whitespace().find(|&word| word == own).map(str::to_owned)
}

fn apt(configuration: &Path, arguments: &[&str], folder: &Path) -> Outcome<()> {
    let output = Command::new("apt-get")
        .args(arguments)
        .env("APT_CONFIG", configuration)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Stop::missing(format!("cannot run apt-get: {e}; real programs need a Debian system")))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = why.lines().filter(|line| line.starts_with("E:")).collect();
    Err(Stop::missing(format!("apt-get {}: {}", arguments.join(" "), lines.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_become_sources() {
        let text = "Types: deb\n# a remark\nURIs: u\nSuites: s s-updates\n\nTypes: deb\nURIs: v\nSuites: s-security\n";
        let wanted =
            "Types: deb-src\nURIs: u\nSuites: s s-updates\n\nTypes: deb-src\nURIs: v\nSuites: s-security\n\n";
        assert_eq!(stanzas(text, OWN), wanted);
        assert_eq!(one_liners("# x\ndeb u s main\ndeb-src u s main\n", OWN), "deb-src u s main\n");
    }

    #[test]
    fn a_further_suite_is_asked_of_the_main_archive_alone() {
        let own = own_codename();
        let text =
            format!("Types: deb\nURIs: u\nSuites: {own} x\n\nTypes: deb\nURIs: v\nSuites: {own}-security\n");
        assert_eq!(stanzas(&text, "next"), "Types: deb-src\nURIs: u\nSuites: next\n\n");
        let text = format!("deb u {own} main\ndeb v {own}-security main\n");
        assert_eq!(one_liners(&text, "next"), "deb-src u next main\n");
    }
}
