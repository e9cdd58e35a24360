//! `cargo xtask accept LIST [LINE…]`: runs lines of an issue's acceptance list at full count, in a
//! fresh clone, and writes what was run and what it printed to `docs/acceptance/LIST.md`.
//!
//! The same tests run with every `cargo test`, at about a twentieth of the counts.

mod document;
mod lists;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::tidy::root;
use lists::{LISTS, Line};

/// Lines of a command's output that are kept.
const KEPT_LINES: usize = 200;

/// Where one run of the chore works; nothing of it remains.
struct Place {
    /// The folder of it all.
    scratch: PathBuf,
    /// The clone of the working tree's commit.
    clone: PathBuf,
    /// An empty folder for the lines.
    out: PathBuf,
}

/// How a line went.
struct Outcome {
    printed: String,
    code: i32,
    seconds: f64,
}

/// Runs the chore: a list's name, optionally followed by names or numbers of the lines to run.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or("")).collect();
    let named = words.iter().find(|word| !word.starts_with('-'));
    let Some((list, lines)) = LISTS.iter().find(|(known, _)| Some(known) == named) else {
        let names: Vec<&str> = LISTS.iter().map(|(name, _)| *name).collect();
        eprintln!("usage: cargo xtask accept LIST [--list] [LINE…], LIST one of: {}", names.join(", "));
        return ExitCode::from(2);
    };
    if words.contains(&"--list") {
        for (index, line) in lines.iter().enumerate() {
            println!("{:2}. {:8} {}", index + 1, line.name, line.says);
        }
        return ExitCode::SUCCESS;
    }
    let wanted = match wanted(lines, words.iter().skip(1)) {
        Ok(wanted) => wanted,
        Err(word) => {
            eprintln!("accept {list}: there is no line {word}; --list lists them");
            return ExitCode::from(2);
        }
    };
    let scratch = std::env::temp_dir().join(format!("deadheat-accept-{}", std::process::id()));
    let place = Place { clone: scratch.join("clone"), out: scratch.join("out"), scratch };
    let result = accept(list, lines, &wanted, &place);
    let _ = fs::remove_dir_all(&place.scratch);
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("accept {list}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The lines that are named or numbered, in the list's order; all if none is.
fn wanted<'a>(lines: &[Line], words: impl Iterator<Item = &'a &'a str>) -> Result<Vec<&Line>, &'a str> {
    let mut chosen = Vec::new();
    for word in words {
        let by_number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let index = by_number.or_else(|| lines.iter().position(|line| line.name == *word));
        chosen.push(index.filter(|&index| index < lines.len()).ok_or(*word)?);
    }
    let is_wanted = |index| chosen.is_empty() || chosen.contains(&index);
    Ok(lines.iter().enumerate().filter(|(index, _)| is_wanted(*index)).map(|(_, line)| line).collect())
}

fn accept(list: &str, lines: &[Line], wanted: &[&Line], place: &Place) -> std::io::Result<bool> {
    fs::create_dir_all(&place.out)?;
    let cloned = Command::new("git").args(["clone", "--quiet"]).arg(root()).arg(&place.clone).status()?;
    if !cloned.success() {
        return Ok(false);
    }
    let path = root().join("docs/acceptance").join(format!("{list}.md"));
    fs::create_dir_all(path.parent().unwrap_or(&place.out))?;
    let mut all = true;
    for line in wanted {
        eprintln!("{}: {}", line.name, line.says);
        let outcome = outcome(line, place)?;
        let (holds, section) = section(lines, line, &outcome, &provenance(line, &place.clone));
        document::replace(&path, list, lines, line.name, &tidied(&section, &place.scratch))?;
        eprintln!("   {}, {:.0} s", if holds { "holds" } else { "DOES NOT HOLD" }, outcome.seconds);
        all &= holds;
    }
    eprintln!("written to {}", path.display());
    Ok(all)
}

/// Who ran what, where.
fn provenance(line: &Line, clone: &Path) -> String {
    let asked = |command: &str| {
        let output = Command::new("bash").args(["-c", command]).current_dir(clone).output();
        output.map_or_else(
            |_| String::new(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let seed = line.seed.map_or_else(String::new, |seed| format!("- seed: {seed}\n"));
    format!(
        "- date: {}\n- commit: {}\n- machine: {}, {} cores, {} of memory, Linux {}\n- compilers: {}; {}; {}\n{seed}",
        asked("date -u '+%Y-%m-%d %H:%M UTC'"),
        asked("git rev-parse HEAD"),
        asked("sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1"),
        asked("nproc"),
        asked("free -h | awk '/^Mem/ {print $2}'"),
        asked("uname -r"),
        asked("rustc --version"),
        asked("gcc --version | head -1"),
        asked("clang-19 --version | head -1"),
    )
}

/// Runs one line.
///
/// The clone has a target folder of its own: in one that is shared, cargo takes two checkouts of
/// the same crate for one, and this one is soon gone.
fn outcome(line: &Line, place: &Place) -> std::io::Result<Outcome> {
    let begun = Instant::now();
    let (mut reader, writer) = std::io::pipe()?;
    let mut command = Command::new("bash");
    command
        .args(["-c", line.run])
        .current_dir(&place.clone)
        .env("OUT", &place.out)
        .env("REPO", root())
        .env("DEADHEAT_SHARED", shared())
        .env("CARGO_TARGET_DIR", place.scratch.join("target"))
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = command.spawn()?;
    // The pipe ends when the child has the only writing ends and ends.
    drop(command);
    let mut printed = Vec::new();
    reader.read_to_end(&mut printed)?;
    let code = child.wait()?.code().unwrap_or(-1);
    let printed = String::from_utf8_lossy(&printed).into_owned();
    Ok(Outcome { printed, code, seconds: begun.elapsed().as_secs_f64() })
}

/// Whether a line holds, and its section of the document.
fn section(lines: &[Line], line: &Line, outcome: &Outcome, provenance: &str) -> (bool, String) {
    let Outcome { printed, code, seconds } = outcome;
    let missing: Vec<&str> = line.prints.iter().copied().filter(|part| !printed.contains(part)).collect();
    let holds = *code == line.code && missing.is_empty();
    let verdict = if holds { "holds" } else { "does not hold" };
    let mut text = format!(
        "{}\n\n{}\n\n{provenance}\n```console\n$ {}\n{}\n```\n\nexit code {code}, {seconds:.0} s\n",
        document::heading(lines, line.name, verdict),
        line.says,
        line.run,
        kept(printed, if holds { line.keeps } else { &[] }),
    );
    if !missing.is_empty() {
        let _ = writeln!(text, "\nnot printed: {}", missing.join(", "));
    }
    (holds, text)
}

/// The end of what was printed, of the lines that say something.
fn kept(printed: &str, keeps: &[&str]) -> String {
    let says = |line: &&str| keeps.is_empty() || keeps.iter().any(|part| line.contains(part));
    let lines: Vec<&str> = printed.lines().filter(says).collect();
    let mut text = String::new();
    for line in &lines[lines.len().saturating_sub(KEPT_LINES)..] {
        // Nothing printed may end the fence around it.
        text.push_str(if line.starts_with("```") { " " } else { "" });
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.trim_end().to_owned()
}

/// The folder with the public traces, as the tests find it from the working tree.
fn shared() -> PathBuf {
    std::env::var_os("DEADHEAT_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
}

/// The text without escape sequences and this machine's folders.
fn tidied(text: &str, scratch: &Path) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        let tail = &rest[at..];
        let end = tail.find('m').map_or(tail.len(), |end| end + 1);
        rest = &tail[end..];
    }
    plain.push_str(rest);
    let tree = root().to_string_lossy().into_owned();
    let plain = plain.replace(&*scratch.to_string_lossy(), "SCRATCH").replace(&tree, "REPO");
    match std::env::var("HOME") {
        Ok(home) if home.len() > 1 => plain.replace(&home, "HOME"),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Vec<&'static str>, String> {
        let (_, lines) = LISTS[0];
        let chosen = wanted(lines, words.iter()).map_err(str::to_owned)?;
        Ok(chosen.iter().map(|line| line.name).collect())
    }

    #[test]
    fn lines_are_chosen_by_name_or_number() {
        assert_eq!(names(&["fuzz", "1"]), Ok(vec!["demo", "fuzz"]));
        assert_eq!(names(&[]).map(|all| all.len()), Ok(LISTS[0].1.len()));
        assert_eq!(names(&["fuss"]), Err("fuss".to_owned()));
        assert_eq!(names(&["0"]), Err("0".to_owned()));
        assert_eq!(names(&["99"]), Err("99".to_owned()));
    }

    #[test]
    fn a_line_that_holds_keeps_what_says_something_and_another_keeps_all() {
        let lines = LISTS[0].1;
        let line = lines.iter().find(|line| line.name == "programs").expect("a line");
        let printed = "noise\n```\ntest result: ok. 1 passed\n".to_owned();
        let mut outcome = Outcome { printed, code: 0, seconds: 1.0 };
        let (holds, text) = section(lines, line, &outcome, "- date: today\n");
        assert!(holds && text.starts_with("## 3. programs: holds\n"), "{text}");
        assert!(!text.contains("noise") && text.contains("test result: ok. 1 passed"), "{text}");
        outcome.code = 101;
        let (holds, text) = section(lines, line, &outcome, "- date: today\n");
        assert!(!holds && text.contains("noise\n ```\n") && text.contains("exit code 101, 1 s"), "{text}");
    }

    #[test]
    fn colours_and_folders_are_taken_out() {
        let text = tidied("\u{1b}[1;31merror\u{1b}[0m in /tmp/x/clone/a.c", Path::new("/tmp/x"));
        assert_eq!(text, "error in SCRATCH/clone/a.c");
    }
}
