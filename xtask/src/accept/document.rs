//! The document of an acceptance list: a section for each line, in the list's order.
//!
//! A section is replaced alone, under a lock of the file, so that runs of different lines, now or
//! at the same time, keep each other's.

use std::fs::OpenOptions;
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::lists::Line;

/// What a section's heading says of a line that nobody ran.
const NOT_RUN: &str = "not run";

/// Replaces the section of one line in the document at `path`; makes the document if need be.
pub(super) fn replace(
    path: &Path,
    list: &str,
    lines: &[Line],
    name: &str,
    section: &str,
) -> std::io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    let mut old = String::new();
    file.read_to_string(&mut old)?;
    let new = replaced(&old, list, lines, name, section);
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(new.as_bytes())
}

/// The heading of a line's section.
pub(super) fn heading(lines: &[Line], name: &str, verdict: &str) -> String {
    let number = lines.iter().position(|line| line.name == name).map_or(0, |index| index + 1);
    format!("## {number}. {name}: {verdict}")
}

/// The document with one section replaced.
fn replaced(old: &str, list: &str, lines: &[Line], name: &str, section: &str) -> String {
    let known = sections(old);
    let mut text = format!(
        "# Acceptance: {list}\n\nWritten by `cargo xtask accept {list}`, which runs every line in a fresh clone; \
         `--list` lists them,\n`cargo xtask accept {list} NAME…` runs some and replaces their sections here.\n"
    );
    for line in lines {
        let kept = known.iter().find(|(known, _)| *known == line.name).map(|(_, section)| section.as_str());
        let section = if line.name == name { Some(section) } else { kept };
        match section.and_then(|section| section.split_once('\n')) {
            // The number may have changed since.
            Some((first, rest)) => {
                let verdict = first.rsplit_once(": ").map_or(NOT_RUN, |(_, verdict)| verdict);
                let first = heading(lines, line.name, verdict);
                text.push_str(&format!("\n{first}\n{}\n", rest.trim_end()));
            }
            None => text.push_str(&format!("\n{}\n\n{}\n", heading(lines, line.name, NOT_RUN), line.says)),
        }
    }
    text
}

/// The sections that were run, by name; what stands between fences begins none.
fn sections(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        let title = line.strip_prefix("## ").filter(|_| !fenced);
        if let Some(title) = title {
            let title = title.split_once(". ").map_or(title, |(_, title)| title);
            found.push((title.split(':').next().unwrap_or(title), String::new()));
        }
        if let Some((_, section)) = found.last_mut() {
            section.push_str(line);
            section.push('\n');
        }
    }
    found.retain(|(_, section)| !section.lines().next().is_some_and(|first| first.ends_with(NOT_RUN)));
    found
}

#[cfg(test)]
mod tests {
    use super::super::lists::LISTS;
    use super::*;

    const FACTS: &str =
        "## 9. facts: holds\n\nsaid\n\n```console\n$ run\n## 1. demo: no heading\n```\n\nend\n";

    fn watch() -> &'static [Line] {
        LISTS.iter().find(|(name, _)| *name == "watch").expect("a list").1
    }

    #[test]
    fn a_section_that_was_never_run_says_so() {
        let text = replaced("", "watch", watch(), "facts", FACTS);
        assert_eq!(text.matches("not run").count(), watch().len() - 1, "{text}");
        assert!(text.contains("\n## 8. facts: holds\n\nsaid\n"), "{text}");
    }

    #[test]
    fn only_one_section_is_replaced_and_the_order_is_kept() {
        let first = replaced("", "watch", watch(), "facts", FACTS);
        let oracle = "## 4. oracle: holds\n\nonce\n";
        let second = replaced(&first, "watch", watch(), "oracle", oracle);
        assert!(second.contains(&FACTS.replace("## 9", "## 8")), "{second}");
        let third = replaced(&second, "watch", watch(), "oracle", "## 4. oracle: does not hold\n\ntwice\n");
        assert!(!third.contains("once") && third.contains("## 4. oracle: does not hold\n\ntwice\n"));
        assert!(third.find("twice") < third.find("## 8. facts: holds"), "{third}");
        assert_eq!(replaced(&third, "watch", watch(), "facts", FACTS), third);
    }

    #[test]
    fn concurrent_runs_lose_nothing() {
        let path = std::env::temp_dir().join(format!("deadheat-accept-{}.md", std::process::id()));
        std::thread::scope(|scope| {
            for line in watch() {
                let path = &path;
                scope.spawn(move || {
                    let section = format!("{}\n\nran\n", heading(watch(), line.name, "holds"));
                    replace(path, "watch", watch(), line.name, &section).expect("written");
                });
            }
        });
        let text = std::fs::read_to_string(&path).expect("a document");
        std::fs::remove_file(&path).expect("it can go");
        assert_eq!(text.matches(": holds\n\nran\n").count(), watch().len(), "{text}");
    }
}
