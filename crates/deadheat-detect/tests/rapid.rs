//! `hb`, `shb` and `sync-preserving` against RAPID's engines on public traces: the same number of racy events and of
//! racy locations (the places at which racy events are).
//!
//! The traces are not part of the repository: `DEADHEAT_SHARED` names their folder; by default it
//! is `../shared` beside the workspace.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, ThreadId};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::witness::Run;
use deadheat_detect::{Options, registry};
use support::branches::with_some_branches;
use support::std_format::{rapidbin_events, std_events};

/// The racy events, and their places.
#[derive(Default)]
struct Racy {
    now: usize,
    events: BTreeSet<usize>,
    places: BTreeSet<PlaceId>,
}

impl RaceSink for Racy {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        self.events.insert(self.now);
        self.places.insert(race.later.place);
    }
}

fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("DEADHEAT_SHARED").map_or_else(beside, PathBuf::from).join("traces");
    folder.join("expected.json").is_file().then_some(folder)
}

/// The bytes of a file, which may be stored compressed; `None` if there is no `zstd` program.
fn read(file: &Path) -> Option<Vec<u8>> {
    if let Ok(bytes) = std::fs::read(file) {
        return Some(bytes);
    }
    let packed = format!("{}.zst", file.display());
    let output = Command::new("zstd").args(["-dcq", &packed]).output().ok()?;
    assert!(output.status.success(), "{packed}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// What an engine counted: racy events and, where given, locations.
type Count = (usize, Option<usize>);

/// The traces of `expected.json`, each with what an engine counted; `None` where it failed.
fn expected(json: &str, engine: &str) -> Vec<(String, Option<Count>)> {
    let mut rows = Vec::new();
    for row in json.split('}') {
        let Some((head, body)) = row.rsplit_once('{') else { continue };
        let Some((_, result)) = body.split_once(&format!("\"{engine}\":")) else { continue };
        let name = head.rsplit('"').nth(1).expect("a name before each row").to_owned();
        let result = result.trim_start();
        if result.starts_with("null") {
            rows.push((name, None));
            continue;
        }
        let number = |text: &str| text.trim().chars().take_while(char::is_ascii_digit).collect::<String>();
        let count = match result.strip_prefix('[') {
            Some(list) => {
                let (first, second) = list.split_once(',').expect("two counts");
                let second = number(second).parse().expect("a count");
                (number(first).parse().expect("a count"), Some(second))
            }
            None => (number(result).parse().expect("a count"), None),
        };
        rows.push((name, Some(count)));
    }
    rows
}

/// What `docs/traces.md` says that an analysis finds in a trace; `None` if the document is not here.
fn documented(name: &str, analysis: &str) -> Option<String> {
    // An archive of this crate alone does not carry it.
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md")).ok()?;
    let name = name.replace("(converted, req/branch dropped)", "");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let mut rows = text.lines().filter(|line| line.starts_with('|')).map(cells);
    let head = rows.next().expect("a table");
    let column =
        head.iter().position(|cell| *cell == format!("`{analysis}`")).expect("a column of the analysis");
    Some(rows.find(|row| row[1] == name).map_or_else(String::new, |row| row[column].clone()))
}

/// The events of a trace; `None` if there is no `zstd` program.
fn events(folder: &Path, name: &str) -> Option<Vec<Event>> {
    with_branches(folder, name, false)
}

/// The same with branches, where RAPID does not know them.
fn with_branches(folder: &Path, name: &str, branches: bool) -> Option<Vec<Event>> {
    let binary = name.strip_prefix("rapidbin(converted, req/branch dropped)/");
    let file = binary.map_or_else(|| folder.join(name), |name| folder.join("rapidbin").join(name));
    let bytes = read(&file)?;
    Some(match binary {
        Some(_) => rapidbin_events(&bytes, branches),
        None => std_events(std::str::from_utf8(&bytes).expect("a text")),
    })
}

fn agree(engine: &str, analysis: &str) {
    let Some(folder) = shared() else {
        return println!("skipped: needs the shared traces");
    };
    let json = std::fs::read_to_string(folder.join("expected.json")).expect("it is a file");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (name, count) in expected(&json, engine) {
        let Some((racy, places)) = count else { continue };
        let Some(events) = events(&folder, &name) else {
            return println!("skipped: needs zstd");
        };
        let mut detector = (registry::find(analysis).expect("it is registered").new)(Options::default());
        let mut sink = Racy::default();
        for (index, event) in events.iter().enumerate() {
            sink.now = index;
            detector.step(event, &mut sink);
        }
        let found = (sink.events.len(), sink.places.len());
        println!("{name}: {} events, {} racy at {} places", events.len(), found.0, found.1);
        if found.0 != racy || places.is_some_and(|places| places != found.1) {
            wrong.push(format!("{name}: {found:?}, RAPID has {racy} {places:?}"));
        }
        wrong.extend(differs(&name, analysis, found));
        checked += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(checked > 30, "{checked} traces");
}

/// How the document differs from what was found.
fn differs(name: &str, analysis: &str, (events, places): (usize, usize)) -> Option<String> {
    let written = documented(name, analysis)?;
    let found = format!("{events} ({places})");
    (written != found)
        .then(|| format!("docs/traces.md has {written:?} for {analysis} of {name}, it is {found}"))
}

#[test]
fn rapid_hb() {
    agree("HB", "hb");
}

#[test]
fn rapid_shb() {
    agree("SHB", "shb");
}

#[test]
fn rapid_sync_preserving() {
    agree("SyncPreserving", "sync-preserving");
}

/// RAPID counts more accesses of this trace: some that no correct reordering brings beside an earlier one (`docs/traces.md`).
const FEWER: &str = "real/bubblesort.std";

/// `OSR` can be exceeded, as it gives up where an order turns round more than what stays open.
#[test]
fn rapid_osr() {
    at_least_osr("sync-reversal");
}

#[test]
fn rapid_osr_csp() {
    at_least_osr("csp");
}

/// An analysis tells at least what `OSR` does, and each race with a witness that holds.
fn at_least_osr(analysis: &str) {
    let Some(folder) = shared() else {
        return println!("skipped: needs the shared traces");
    };
    let json = std::fs::read_to_string(folder.join("expected.json")).expect("it is a file");
    let (mut checked, mut wrong) = (0, Vec::new());
    for (name, count) in expected(&json, "OSR") {
        let Some(events) = events(&folder, &name) else {
            return println!("skipped: needs zstd");
        };
        let run = Run::new(&events);
        let mut sink = Proved { run: &run, racy: Racy::default(), undecided: 0 };
        let mut detector = (registry::find(analysis).expect("it is registered").new)(Options::default());
        let start = std::time::Instant::now();
        events.iter().for_each(|event| detector.step(event, &mut sink));
        detector.finish(&mut sink);
        let found = (sink.racy.events.len(), sink.racy.places.len());
        println!(
            "{name}: {} events, {} racy at {} places, {} pairs undecided, OSR {count:?} {:.2?}",
            events.len(),
            found.0,
            found.1,
            sink.undecided,
            start.elapsed()
        );
        let enough = count.is_none_or(|(racy, places)| {
            (found.0 >= racy || name == FEWER) && places.is_none_or(|places| found.1 >= places)
        });
        assert!(enough, "{name}: {found:?}, OSR {count:?}");
        wrong.extend(differs(&name, analysis, found));
        checked += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(checked > 30, "{checked} traces");
}

/// The racy accesses and the variables that they are of, and the pairs that were given up; for `csp=control` the run that
/// witnesses are checked against.
#[derive(Default)]
struct Forms<'a> {
    accesses: BTreeSet<(ThreadId, u64)>,
    variables: BTreeSet<u64>,
    undecided: u64,
    run: Option<Run<'a>>,
}

impl RaceSink for Forms<'_> {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("a race without a witness: {race:?}");
    }

    fn undecided(&mut self, pairs: u64) {
        self.undecided += pairs;
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        let threads = (race.earlier.thread, race.later.thread);
        if let Some(run) = &self.run {
            run.check_control(witness, threads).unwrap_or_else(|broken| panic!("{race:?}: {broken}"));
        }
        let done = witness.done.iter().find(|&&(thread, _)| thread == race.later.thread);
        self.accesses.insert((race.later.thread, done.map_or(0, |&(_, done)| done)));
        self.variables.insert(race.address);
    }
}

/// How often a branch is put behind a read where a trace has none.
const EACH: [u64; 2] = [4, 32];

/// The traces for which that is tried, besides those in RAPID's binary format; the others take too long.
const TEXTS: [&str; 6] = [
    "real/account.std",
    "real/bubblesort.std",
    "real/jigsaw.std",
    "real/lang.std",
    "real/mergesort.std",
    "real/twostage.std",
];

/// Bytes for the states of each search there.
const MEMORY: usize = 1 << 20;

/// What control flow rules out: `csp`, `csp=control` and `csp=paper` on public traces as they are, and with branches put in.
#[test]
fn control_flow() {
    let Some(folder) = shared() else {
        return println!("skipped: needs the shared traces");
    };
    let json = std::fs::read_to_string(folder.join("expected.json")).expect("it is a file");
    let mut rows = Vec::new();
    for (name, _) in expected(&json, "SHB") {
        let short = name.replace("(converted, req/branch dropped)", "");
        if !short.starts_with("rapidbin") && !TEXTS.contains(&short.as_str()) {
            continue;
        }
        let Some(events) = with_branches(&folder, &name, true) else {
            return println!("skipped: needs zstd");
        };
        let mut row = format!("| {short} | {} | {} |", events.len(), branches(&events));
        for analysis in ["csp", "csp=control"] {
            row.push_str(&told(analysis, &events));
        }
        for each in EACH {
            row.push_str(&told("csp=control", &with_some_branches(&events, each)));
        }
        row.push_str(&told("csp=paper", &events));
        println!("{row}");
        rows.push(row);
    }
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/csp-witness.md");
    let Ok(text) = std::fs::read_to_string(document) else {
        // An archive of this crate alone does not carry it.
        return println!("skipped: needs docs/csp-witness.md");
    };
    let lacking: Vec<&String> = rows.iter().filter(|row| !text.lines().any(|line| line == **row)).collect();
    assert!(
        lacking.is_empty() && rows.len() == 16,
        "{} rows; docs/csp-witness.md lacks {lacking:#?}",
        rows.len()
    );
}

fn branches(events: &[Event]) -> usize {
    events.iter().filter(|event| event.op == Op::Branch).count()
}

/// What a form of `csp` tells of a trace, as a cell.
fn told(analysis: &str, events: &[Event]) -> String {
    let run = (analysis == "csp=control").then(|| Run::new(events));
    let mut sink = Forms { run, ..Forms::default() };
    let options = Options { memory_limit: Some(MEMORY), ..Options::default() };
    let mut detector = (registry::find(analysis).expect("it is registered").new)(options);
    events.iter().for_each(|event| detector.step(event, &mut sink));
    detector.finish(&mut sink);
    let given_up = if sink.undecided > 0 { format!(", {} given up", sink.undecided) } else { String::new() };
    format!(" {} ({}){given_up} |", sink.accesses.len(), sink.variables.len())
}

/// Takes predicted races whose witnesses hold.
struct Proved<'a> {
    run: &'a Run<'a>,
    racy: Racy,
    undecided: u64,
}

impl RaceSink for Proved<'_> {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("a race without a witness: {race:?}");
    }

    fn undecided(&mut self, pairs: u64) {
        self.undecided += pairs;
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        let (_, later) = self
            .run
            .check(witness, (race.earlier.thread, race.later.thread))
            .unwrap_or_else(|broken| panic!("{race:?}: {broken}"));
        self.racy.events.insert(later);
        self.racy.places.insert(race.later.place);
    }
}
