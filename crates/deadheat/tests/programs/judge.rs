//! Comparing what a run told with what its program's marks say.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::run::Outcome;
use crate::spec::{Found, Pair, Program, Side};

/// The exit code that says that races were found.
const RACES: i32 = 66;
/// The kind of a finding that is a prediction.
const LOCK_ORDER: &str = "lock-order";

/// Says what is wrong with an outcome, if anything is.
pub(crate) fn judge(program: &Program, outcome: &Outcome, found: Found) -> Result<(), String> {
    let mut fault = String::new();
    let mut told = BTreeSet::new();
    for race in &outcome.races {
        let pair = pair(program, race);
        check_stacks(program, race, &mut fault);
        let expected = |found| program.locations.get(&(pair.clone(), found));
        if let Some(expected) = expected(found).or_else(|| expected(Found::Offline)) {
            let location = location(&race["location"], expected);
            if location != *expected {
                let _ = writeln!(fault, "{pair}: location `{location}`, expected `{expected}`");
            }
        }
        told.insert(pair);
    }
    for pair in program.races.difference(&told) {
        let _ = writeln!(fault, "not told: {pair}");
    }
    for pair in told.difference(&program.races) {
        let _ = writeln!(fault, "told, but not marked: {pair}");
    }
    let findings: BTreeSet<_> = outcome.findings.iter().map(|finding| named(program, finding)).collect();
    for (word, lines) in program.findings.difference(&findings) {
        let _ = writeln!(fault, "not told: {word} at {lines:?}");
    }
    for (word, lines) in findings.difference(&program.findings) {
        let _ = writeln!(fault, "told, but not marked: {word} at {lines:?}");
    }
    // A lock order is a prediction; by hand it counts as with other tools.
    let counts = |word: &str| word != LOCK_ORDER || found == Found::ByHand;
    let fails = !program.races.is_empty() || program.findings.iter().any(|(word, _)| counts(word));
    let expected = if fails { RACES } else { 0 };
    if outcome.code != expected {
        let _ = writeln!(fault, "exit code {}, expected {expected}", outcome.code);
    }
    if fault.is_empty() {
        return Ok(());
    }
    for line in outcome.races.iter().chain(&outcome.findings) {
        let _ = writeln!(fault, "{line}");
    }
    Err(format!("{}\n{fault}{}", program.path.display(), outcome.stderr))
}

/// A finding as its marks would name it: by the innermost frame in the program's own files, or those of its requests.
fn named(program: &Program, finding: &Value) -> (String, BTreeSet<String>) {
    let word = finding["sort"].as_str().or(finding["kind"].as_str()).unwrap_or_default().to_owned();
    let line = |stack: &Value| {
        let frame = own_frames(program, stack).next()?;
        let file = base_name(frame["file"].as_str()?);
        Some(format!("{file}:{}", frame["line"]))
    };
    let lines = if word == LOCK_ORDER {
        let steps = finding["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        steps.iter().filter(|step| step["what"] == "asked").filter_map(line).collect()
    } else {
        line(finding).into_iter().collect()
    };
    (word, lines)
}

fn pair(program: &Program, race: &Value) -> Pair {
    Pair::new(side(program, &race["accesses"][0]), side(program, &race["accesses"][1]))
}

/// An access as a mark would name it: by its innermost frame in the program's own files.
fn side(program: &Program, access: &Value) -> Side {
    let operation = match access["op"].as_str() {
        Some("read-write") => "write",
        Some(other) => other,
        None => "none",
    };
    let atomic = if access["atomic"] == true { "atomic " } else { "" };
    let operation = format!("{atomic}{operation}");
    match own_frames(program, access).next() {
        Some(frame) => Side {
            file: base_name(frame["file"].as_str().unwrap_or_default()).to_owned(),
            line: frame["line"].as_u64().unwrap_or_default(),
            operation,
        },
        None => Side { file: "nowhere".to_owned(), line: 0, operation },
    }
}

fn own_frames<'a>(program: &'a Program, access: &'a Value) -> impl Iterator<Item = &'a Value> {
    let frames = access["frames"].as_array().map(Vec::as_slice).unwrap_or_default();
    frames.iter().filter(|frame| frame["file"].as_str().is_some_and(|file| program.owns(file)))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn check_stacks(program: &Program, race: &Value, fault: &mut String) {
    for access in race["accesses"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let side = side(program, access);
        let Some(expected) = program.stacks.get(&side) else { continue };
        let functions: Vec<&str> = own_frames(program, access)
            .map(|frame| frame["function"].as_str().unwrap_or("?"))
            .map(|function| function.split('(').next().unwrap_or(function))
            .collect();
        if functions != *expected {
            let _ =
                writeln!(fault, "{side}: stack {}, expected {}", functions.join(" < "), expected.join(" < "));
        }
    }
}

/// A location in the words of the directive, as far as the directive goes into detail.
fn location(location: &Value, expected: &str) -> String {
    let kind = location["kind"].as_str().unwrap_or("none").to_owned();
    if !expected.contains(' ') {
        return kind;
    }
    let name = ["symbol", "variable", "name"].iter().find_map(|key| location[key].as_str()).unwrap_or("?");
    match location["offset"].as_u64() {
        Some(offset) if offset > 0 => format!("{kind} {name}+{offset}"),
        _ => format!("{kind} {name}"),
    }
}
