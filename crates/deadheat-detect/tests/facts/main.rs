//! Runs the facts of `spec/traces`: each file is a test of its own name, for all analyses.

mod parse;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use deadheat_core::event::{Event, Op};
use deadheat_core::finding::Finding;
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::oracle::Oracle;
use deadheat_detect::oracle::reorder::{Reads, races};
use deadheat_detect::registry::{self, ANALYSES, Analysis, FORMS, Options};
use deadheat_detect::witness::{Broken, Run};
use libtest_mimic::{Arguments, Failed, Trial};
use parse::{Fact, Pair, parse};

/// The facts that there must be at least.
const FACTS: usize = 60;

/// The pairs that are told, what else is found wrong, and what is wrong with the witnesses of the pairs.
struct Pairs<'a>(BTreeSet<Pair>, Vec<String>, (Checker<'a>, Vec<String>));

/// Whether a witness of a race of two threads is one, and of which accesses; `None` where a witness need not be one.
type Checker<'a> = &'a dyn Fn(&Witness<'_>, (ThreadId, ThreadId)) -> Option<Result<(usize, usize), Broken>>;

impl RaceSink for Pairs<'_> {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        // The place of an event is its number.
        self.0.insert((race.earlier.place.0 as usize, race.later.place.0 as usize));
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, locks: &dyn LockSets) {
        let (check, broken) = &mut self.2;
        let pair = (race.earlier.place.0 as usize, race.later.place.0 as usize);
        match check(witness, (race.earlier.thread, race.later.thread)) {
            None => {}
            Some(Ok((earlier, later))) if (earlier + 1, later + 1) == pair => {}
            Some(Ok(other)) => broken.push(format!("the witness of {pair:?} ends before {other:?} (from 0)")),
            Some(Err(rule)) => broken.push(format!("the witness of {pair:?}: {rule} (from 0)")),
        }
        self.race(race, locks);
    }

    fn finding(&mut self, finding: &Finding<'_>) {
        self.1.push(match *finding {
            Finding::Fault { fault, step, took: None, .. } => format!("{} {}", fault.name(), step.place.0),
            Finding::Fault { fault, step, took: Some(took), .. } => {
                format!("{} {} took {}", fault.name(), step.place.0, took.place.0)
            }
            Finding::LockOrder { possible, cycle } => {
                let mut asks: Vec<u32> = cycle.iter().map(|nesting| nesting.asks.place.0).collect();
                asks.sort_unstable();
                let asks: Vec<String> = asks.iter().map(ToString::to_string).collect();
                format!("{} {}", if possible { "possible" } else { "broken" }, asks.join("-"))
            }
            Finding::UseAfterFree { used, .. } => {
                format!("use-after-free {} of {}", used.later.place.0, used.earlier.place.0)
            }
        });
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/traces");
    if !folder.is_dir() {
        // An archive of this crate alone does not carry them.
        return println!("skipped: needs spec/traces");
    }
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let count = files.len();
    let mut trials: Vec<Trial> = files
        .into_iter()
        .map(|file| {
            let name = file.strip_prefix(&folder).unwrap_or(&file).with_extension("");
            let name = name.to_string_lossy().into_owned();
            let told = format!("spec/traces/{name}.trace");
            Trial::test(name, move || check_file(&file, &told))
        })
        .collect();
    trials.push(Trial::test("there-are-enough", move || match count {
        FACTS.. => Ok(()),
        _ => Err(format!("{count} facts, {FACTS} wanted").into()),
    }));
    trials.push(Trial::test("mistakes-are-told-with-their-line", mistakes));
    trials.push(Trial::test("every-kind-of-event-is-covered", move || every_kind(&folder)));
    libtest_mimic::run(&arguments, trials).exit();
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    for path in entries.map(|entry| entry.expect("the folder can be listed").path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "trace") {
            files.push(path);
        }
    }
}

/// The analysis that finds no races. A fact that says nothing of it expects nothing.
const FINDINGS: &str = "findings";

fn check_file(file: &Path, name: &str) -> Result<(), Failed> {
    let text = std::fs::read_to_string(file)?;
    let fact = parse(&text).map_err(|error| format!("{name}:{}: {}", error.line, error.reason))?;
    for analysis in ANALYSES {
        let (_, told) = run(analysis, &fact.events, Options::default())?;
        let (line, wanted) = fact.findings.as_ref().map_or((1, &[][..]), |(line, list)| (*line, &list[..]));
        if analysis.name == FINDINGS {
            if told != wanted {
                return Err(format!("{name}:{line}: {told:?}, not {wanted:?} ({})", fact.sentence).into());
            }
            continue;
        }
        let Some((line, pairs)) = fact.expected.get(analysis.name) else {
            return Err(format!("{name}: no expectation for {}", analysis.name).into());
        };
        let expected = pairs.iter().copied().collect();
        check(analysis, &fact, &expected)
            .map_err(|reason| format!("{name}:{line}: {reason} ({})", fact.sentence))?;
    }
    // Of other forms a fact need not say anything.
    for form in FORMS {
        let Some((line, pairs)) = fact.expected.get(form.name) else { continue };
        check(form, &fact, &pairs.iter().copied().collect())
            .map_err(|reason| format!("{name}:{line}: {reason} ({})", fact.sentence))?;
    }
    if let Some(unknown) = fact.expected.keys().find(|name| registry::find(name).is_none()) {
        return Err(format!("{name}: there is no analysis {unknown}").into());
    }
    Ok(())
}

fn check(analysis: &Analysis, fact: &Fact, expected: &BTreeSet<Pair>) -> Result<(), String> {
    let (all, _) = run(analysis, &fact.events, Options { all_pairs: true, ..Options::default() })?;
    if all != *expected {
        return Err(format!("all pairs of {} are {all:?}, not {expected:?}", analysis.name));
    }
    // Without all pairs each racy event has at least one partner, and a true one.
    let (some, _) = run(analysis, &fact.events, Options::default())?;
    let racy = |pairs: &BTreeSet<Pair>| pairs.iter().map(|&(_, later)| later).collect::<BTreeSet<_>>();
    if racy(&some) != racy(expected) || !some.is_subset(expected) {
        return Err(format!("{} finds {some:?} of {expected:?}", analysis.name));
    }
    // What the two brute forces are for.
    let truth: Vec<Pair> = match analysis.name {
        "hb" => Oracle::new(&fact.events).races(),
        "csp" => races(&fact.events, Reads::Kept).into_keys().collect(),
        "csp=control" => races(&fact.events, Reads::Control).into_keys().collect(),
        "csp=paper" => races(&fact.events, Reads::Free).into_keys().collect(),
        _ => return Ok(()),
    };
    let pairs: BTreeSet<Pair> = truth.iter().map(|&(earlier, later)| (earlier + 1, later + 1)).collect();
    if pairs != *expected {
        return Err(format!("the oracle finds {pairs:?}, not {expected:?}"));
    }
    Ok(())
}

/// What an analysis finds; an error if the witness of a predicted pair is none.
fn run(
    analysis: &Analysis,
    events: &[Event],
    options: Options,
) -> Result<(BTreeSet<Pair>, Vec<String>), String> {
    let mut detector = (analysis.new)(options);
    let run = Run::new(events);
    let check = |witness: &Witness<'_>, threads| match analysis.name {
        "csp=control" => Some(run.check_control(witness, threads)),
        "csp=paper" => None,
        _ => Some(run.check(witness, threads)),
    };
    let mut sink = Pairs(BTreeSet::new(), Vec::new(), (&check, Vec::new()));
    for event in events {
        detector.step(event, &mut sink);
    }
    detector.finish(&mut sink);
    let Pairs(pairs, told, (_, broken)) = sink;
    if broken.is_empty() {
        Ok((pairs, told))
    } else {
        Err(format!("{}: {}", analysis.name, broken.join(", ")))
    }
}

fn mistakes() -> Result<(), Failed> {
    let cases = [
        ("# s\na | b\nw(x) |\n| jump(x)\n", 4, "unknown operation `jump`"),
        ("# s\na | b\nw(x) | r(x)\n", 3, "a line has one event"),
        ("# s\na | b\nw(x)\n", 3, "1 columns, 2 threads"),
        ("# s\na | b\nw(x |\n", 3, "no `)` after `w(x`"),
        ("# s\na\nw(x)\nexpect hb: 1-2\n", 4, "there are no events 1-2"),
        ("# s\na\nload(x soon)\n", 3, "unknown memory order `soon`"),
        ("# s\na\nfork(c)\n", 3, "there is no thread c"),
        ("a\nw(x)\n", 1, "a fact needs a sentence and events"),
    ];
    for (text, line, reason) in cases {
        match parse(text) {
            Err(error) if (error.line, error.reason.as_str()) == (line, reason) => {}
            other => return Err(format!("{text:?} gives {other:?}").into()),
        }
    }
    Ok(())
}

/// Every kind of event of the alphabet is in some fact; a new kind fails to compile here first.
fn every_kind(folder: &Path) -> Result<(), Failed> {
    let mut files = Vec::new();
    collect(folder, &mut files);
    let mut seen = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let fact = parse(&text).map_err(|error| format!("{}: {}", file.display(), error.reason))?;
        seen.extend(fact.events.iter().map(|event| kind(&event.op)));
    }
    let missing: Vec<usize> = (0..KINDS).filter(|number| !seen.contains(number)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no fact about the kinds {missing:?}").into()) }
}

const KINDS: usize = 23;

fn kind(op: &Op) -> usize {
    match op {
        Op::Access(access) => usize::from(access.atomic.is_some()),
        Op::Fence(_) => 2,
        Op::Request { .. } => 3,
        Op::Acquire { .. } => 4,
        Op::Release { .. } => 5,
        Op::Fork { .. } => 6,
        Op::Join { .. } => 7,
        Op::Begin => 8,
        Op::End => 9,
        Op::Signal { .. } => 10,
        Op::Await { .. } => 11,
        Op::Wait { .. } => 12,
        Op::Arrive { .. } => 13,
        Op::Leave { .. } => 14,
        Op::Branch => 15,
        Op::Enter => 16,
        Op::Exit => 17,
        Op::Alloc { .. } => 18,
        Op::Free { .. } => 19,
        Op::Forget { .. } => 20,
        Op::HiddenBegin | Op::HiddenEnd => 21,
        Op::Fault { .. } => 22,
    }
}
