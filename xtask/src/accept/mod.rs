//! `cargo xtask accept NAME`: runs an issue's acceptance lines at full count, in a fresh clone, and
//! writes what was run and what it printed to `docs/acceptance/NAME.md`.
//!
//! The same tests run with every `cargo test`, at about a twentieth of the counts.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::tidy::root;

/// Lines of a command's output that are kept.
const KEPT_LINES: usize = 60;

/// One line of an acceptance list.
struct Line {
    /// What has to hold, in a sentence.
    says: &'static str,
    /// What is run, by `bash`, in the clone; `$OUT` is an empty folder, `$REPO` the working tree.
    run: &'static str,
    /// The exit code that it must end with.
    code: i32,
    /// Texts that its output must hold.
    prints: &'static [&'static str],
}

/// The acceptance lists by name.
const LISTS: &[(&str, &[Line])] = &[("watch", WATCH)];

const WATCH: &[Line] = &[
    Line {
        says: "The README's first command builds everything, compiles the demo with the system's compiler and \
               shows its race with both source lines (exit 66).",
        run: "$(sed -n 's/^\\$ \\(cargo run .*\\)$/\\1/p' README.md | head -1)",
        code: 66,
        prints: &["unordered", "cache.c"],
    },
    Line {
        says: "The README's second command passes all tests, here at full count: every program of spec/programs 20 \
               times in a row with gcc and clang at -O0 and -O2, 100 000 random traces against the oracle, 20 kills, \
               ten minutes of fuzzing each reader.",
        run: "DEADHEAT_ACCEPT=full DEADHEAT_FUZZ_SECONDS=${DEADHEAT_FUZZ_SECONDS:-600} cargo test --workspace 2>&1 | \
              grep -E '^(test result|     Running|skipped|failures|error)|FAILED|panicked'; exit ${PIPESTATUS[0]}",
        code: 0,
        prints: &["test result: ok"],
    },
    Line {
        says: "spec/ holds at least 60 trace facts and 60 small programs, each with its mended twin.",
        run: "facts=$(find spec/traces -name '*.trace' | wc -l); \
              twins=$(find spec/programs -name '*_ok.c' -o -name '*_ok.cpp' | wc -l); \
              echo \"$facts facts, $twins programs with twins\"; [ $facts -ge 60 ] && [ $twins -ge 60 ]",
        code: 0,
        prints: &[],
    },
    Line {
        says: "`cargo install --path` of the command line gives a binary that works in an empty folder.",
        run: "cargo install --quiet --path crates/deadheat --root $OUT/installed && mkdir $OUT/empty && cd $OUT/empty && \
              env -u CARGO_TARGET_DIR $OUT/installed/bin/deadheat demo",
        code: 66,
        prints: &["unordered"],
    },
    Line {
        says: "An install from the archives that `cargo package` makes of all crates gives the same, without the \
               source tree.",
        run: "cargo package --quiet --workspace --exclude xtask --no-verify --target-dir $OUT/packaged && mkdir $OUT/crates && \
              for a in $OUT/packaged/package/*.crate; do tar -C $OUT/crates -xzf $a; done && cd $OUT/crates && \
              patches=$(for d in deadheat-*-[0-9]*; do n=${d%-[0-9]*}; \
              echo \"--config patch.crates-io.$n.path='$OUT/crates/$d'\"; done) && \
              cargo install --quiet --path deadheat-[0-9]* --root $OUT/from-archives $patches && \
              mkdir $OUT/empty2 && cd $OUT/empty2 && $OUT/from-archives/bin/deadheat demo",
        code: 66,
        prints: &["unordered"],
    },
    Line {
        says: "The bench over the kernels, side by side with native runs and clang 19's TSan.",
        run: "cargo xtask bench",
        code: 0,
        prints: &["geometric mean"],
    },
    Line {
        says: "pigz, pbzip2, xz, zstd and leveldb, unmodified, build through `deadheat build` by their own build \
               systems, run a real workload to the right result, and are analysed.",
        run: "cargo xtask bench real",
        code: 0,
        prints: &["pigz", "pbzip2", "xz", "zstd", "leveldb"],
    },
];

/// Runs the chore: `NAME`, optionally followed by the numbers of the lines to run.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let name = arguments.first().and_then(|name| name.to_str()).unwrap_or("");
    let Some((name, lines)) = LISTS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = LISTS.iter().map(|(name, _)| *name).collect();
        eprintln!("usage: cargo xtask accept NAME [LINE…], NAME one of: {}", names.join(", "));
        return ExitCode::from(2);
    };
    let wanted: Vec<usize> =
        arguments[1..].iter().filter_map(|number| number.to_str()?.parse().ok()).collect();
    let scratch = std::env::temp_dir().join(format!("deadheat-accept-{}", std::process::id()));
    let result = accept(name, lines, &wanted, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("accept {name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn accept(name: &str, lines: &[Line], wanted: &[usize], scratch: &Path) -> std::io::Result<bool> {
    let out = scratch.join("out");
    let clone = scratch.join("clone");
    fs::create_dir_all(&out)?;
    let cloned = Command::new("git").args(["clone", "--quiet"]).arg(root()).arg(&clone).status()?;
    if !cloned.success() {
        return Ok(false);
    }
    let mut text = heading(name);
    let mut all = true;
    for (index, line) in lines.iter().enumerate() {
        if !wanted.is_empty() && !wanted.contains(&(index + 1)) {
            continue;
        }
        eprintln!("{}. {}", index + 1, line.says);
        let holds = one(index + 1, line, &clone, &out, &mut text)?;
        eprintln!("   {}", if holds { "holds" } else { "DOES NOT HOLD" });
        all &= holds;
    }
    let file = root().join("docs/acceptance").join(format!("{name}.md"));
    fs::create_dir_all(file.parent().unwrap_or(&out))?;
    fs::write(&file, tidied(&text, scratch))?;
    eprintln!("written to {}", file.display());
    Ok(all)
}

/// Who ran what, where.
fn heading(name: &str) -> String {
    let asked = |command: &str| {
        let output = Command::new("bash").args(["-c", command]).current_dir(root()).output();
        output.map_or_else(
            |_| String::new(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    format!(
        "# Acceptance: {name}\n\nWritten by `cargo xtask accept {name}`. Random tests use the fixed seeds that are in \
         their sources.\n\n- date: {}\n- commit: {}\n- machine: {}, {} cores, {} of memory, Linux {}\n- compilers: {}; {}; {}\n",
        asked("date -u +%Y-%m-%d"),
        asked("git rev-parse HEAD; git status --porcelain --untracked-files=no | sed 's/^/ changed:/'"),
        asked("sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1"),
        asked("nproc"),
        asked("free -h | awk '/^Mem/ {print $2}'"),
        asked("uname -r"),
        asked("rustc --version"),
        asked("gcc --version | head -1"),
        asked("clang-19 --version | head -1"),
    )
}

/// Runs one line and appends its outcome; gives whether it holds.
fn one(number: usize, line: &Line, clone: &Path, out: &Path, text: &mut String) -> std::io::Result<bool> {
    let begun = Instant::now();
    let output = Command::new("bash")
        .args(["-c", line.run])
        .current_dir(clone)
        .env("OUT", out)
        .env("REPO", root())
        .env("DEADHEAT_SHARED", shared())
        .output()?;
    let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed.push_str(&String::from_utf8_lossy(&output.stderr));
    let code = output.status.code().unwrap_or(-1);
    let missing: Vec<&str> = line.prints.iter().copied().filter(|part| !printed.contains(part)).collect();
    let holds = code == line.code && missing.is_empty();
    let lines: Vec<&str> = printed.lines().collect();
    let kept = &lines[lines.len().saturating_sub(KEPT_LINES)..];
    let verdict = if holds { "holds" } else { "does not hold" };
    let _ = write!(
        text,
        "\n## {number}. {verdict}\n\n{}\n\n```console\n$ {}\n{}\n```\n\nexit code {code}, {:.0} s\n",
        line.says,
        line.run,
        kept.join("\n"),
        begun.elapsed().as_secs_f64(),
    );
    if !missing.is_empty() {
        let _ = writeln!(text, "\nnot printed: {}", missing.join(", "));
    }
    Ok(holds)
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
    plain.replace(&*scratch.to_string_lossy(), "SCRATCH").replace(&tree, "REPO")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_folders_are_taken_out() {
        let text = tidied("\u{1b}[1;31merror\u{1b}[0m in /tmp/x/clone/a.c", Path::new("/tmp/x"));
        assert_eq!(text, "error in SCRATCH/clone/a.c");
    }
}
