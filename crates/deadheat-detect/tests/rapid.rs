//! `hb`, `shb` and `sync-preserving` against RAPID's engines on public traces: the same number of racy events and of
//! racy locations (the places at which racy events are).
//!
//! The traces are not part of the repository: `DEADHEAT_SHARED` names their folder; by default it
//! is `../shared` beside the workspace.

mod support;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_detect::{Options, registry};

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

/// Turns names into events.
#[derive(Default)]
struct Builder {
    numbers: HashMap<String, u64>,
    threads: HashMap<String, ThreadId>,
    events: Vec<Event>,
}

impl Builder {
    fn thread(&mut self, name: &str) -> ThreadId {
        let next = ThreadId(self.threads.len() as u32);
        *self.threads.entry(name.to_owned()).or_insert(next)
    }

    fn object(&mut self, name: &str) -> u64 {
        let next = 0x1_0000 + 8 * self.numbers.len() as u64;
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    fn push(&mut self, thread: &str, op: &str, operand: &str, place: u32) {
        let access = |address, mode| Op::Access(Access::plain(address, 8, mode));
        let mode = LockMode::Write;
        let op = match op {
            "r" => access(self.object(&format!("V{operand}")), Mode::Read),
            "w" => access(self.object(&format!("V{operand}")), Mode::Write),
            "acq" => Op::Acquire { lock: self.object(&format!("L{operand}")), mode },
            "rel" => Op::Release { lock: self.object(&format!("L{operand}")), mode },
            "fork" => Op::Fork { child: self.thread(operand) },
            "join" => Op::Join { child: self.thread(operand) },
            "begin" => Op::Begin,
            "end" => Op::End,
            // RAPID's reader takes a request, which it does not know, for the event before it
            // come again; its counts for the two traces that have requests are of that.
            "req" => {
                let before = self.events.last().copied();
                return self.events.extend(before);
            }
            other => panic!("unknown operation {other}"),
        };
        let (thread, place) = (self.thread(thread), PlaceId(place + 1));
        self.events.push(Event { thread, place, stack: StackId::EMPTY, times: 1, op });
    }
}

fn std_events(text: &str) -> Vec<Event> {
    let mut builder = Builder::default();
    for line in text.lines() {
        let mut fields = line.split('|');
        let (Some(thread), Some(call), Some(place)) = (fields.next(), fields.next(), fields.next()) else {
            panic!("not three fields: {line}");
        };
        let (op, operand) = call.split_once('(').unwrap_or((call, ""));
        let place = place.trim().parse().expect("a number as location");
        builder.push(thread, op, operand.trim_end_matches(')'), place);
    }
    builder.events
}

fn rapidbin_events(bytes: &[u8]) -> Vec<Event> {
    const HEADER: usize = 2 + 4 + 4 + 8;
    let ops = ["acq", "rel", "r", "w", "fork", "join", "begin", "end", "req", "branch"];
    let mut builder = Builder::default();
    for word in bytes[HEADER..].chunks_exact(8) {
        let word = u64::from_be_bytes(word.try_into().expect("eight bytes"));
        let (thread, op) = (word & 0x3ff, ops[(word >> 10 & 0xf) as usize]);
        let (operand, place) = (word >> 14 & 0x3_ffff_ffff, word >> 48 & 0x7fff);
        if op == "req" || op == "branch" {
            continue;
        }
        builder.push(&thread.to_string(), op, &operand.to_string(), place as u32);
    }
    builder.events
}

/// What an engine counted: racy events and, where given, locations.
type Count = (usize, Option<usize>);

/// The traces of `expected.json`, each with what an engine counted; without those on which it failed or did not run.
fn expected(json: &str, engine: &str) -> Vec<(String, Count)> {
    let mut rows = Vec::new();
    for row in json.split('}') {
        let Some((head, body)) = row.rsplit_once('{') else { continue };
        let Some((_, result)) = body.split_once(&format!("\"{engine}\":")) else { continue };
        let name = head.rsplit('"').nth(1).expect("a name before each row").to_owned();
        let result = result.trim_start();
        if result.starts_with("null") {
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
        rows.push((name, count));
    }
    rows
}

/// The events of a trace; `None` if there is no `zstd` program.
fn events(folder: &Path, name: &str) -> Option<Vec<Event>> {
    let binary = name.strip_prefix("rapidbin(converted, req/branch dropped)/");
    let file = binary.map_or_else(|| folder.join(name), |name| folder.join("rapidbin").join(name));
    let bytes = read(&file)?;
    Some(match binary {
        Some(_) => rapidbin_events(&bytes),
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
    for (name, (racy, places)) in expected(&json, engine) {
        let Some(events) = events(&folder, &name) else {
            return println!("skipped: needs zstd");
        };
        let analysis = registry::find(analysis).expect("it is registered");
        let mut detector = (analysis.new)(Options::default());
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
        checked += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(checked > 30, "{checked} traces");
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
