//! Statement 1 of RaceHunter over real re-runs: the descriptors of all accesses are unique within
//! a run, and equal in runs whose accesses were forced to come in opposite orders.

mod common;
#[path = "../../deadheat-detect/tests/support/statement1.rs"]
mod statement1;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{deadheat, have, ok, said, with};
use deadheat_core::event::Op;
use deadheat_core::ids::{PlaceId, StackId};
use deadheat_detect::conflict::{Calls, Conflict, Options};
use deadheat_trace::tables::Place;
use deadheat_trace::{Tables, Trace};
use statement1::{Made, Told, descriptors};

/// Programs of `spec/hunts/racy` whose threads do the same in every run, and whose first race is
/// between two lines of different threads.
const PROGRAMS: [&str; 9] = [
    "adjacent_bytes",
    "bit_fields",
    "far_apart",
    "fourth_round",
    "function_table",
    "grandchildren",
    "memcpy",
    "recursion",
    "stack_variable",
];

/// A code address that holds over runs: module and offset.
type Code = (String, u64);

/// A run: its accesses, and the descriptors of the sides of its targets with their accesses.
struct Run {
    accesses: Vec<Made<Code>>,
    sides: Vec<(usize, Told<Code>)>,
}

struct Stacks<'a>(&'a Tables);

impl Calls for Stacks<'_> {
    fn calls(&self, stack: StackId) -> Vec<PlaceId> {
        self.0.stacks.frames(stack).collect()
    }
}

fn code(tables: &Tables, place: PlaceId) -> Code {
    match tables.places.get(place) {
        Place::Code { module, offset } => {
            let path = tables.modules.get(module).map(|module| module.path.clone());
            (path.unwrap_or_default(), offset)
        }
        other => panic!("a recorded place: {other:?}"),
    }
}

fn read(path: &Path) -> Run {
    let mut trace = Trace::open(path).expect("a trace");
    let mut conflict = Conflict::new(Options::default());
    let (mut events, mut at) = (Vec::new(), Vec::new());
    let mut count = 0;
    trace
        .drive(|event| {
            conflict.step(event);
            if matches!(event.op, Op::Access(_) | Op::Free { .. }) {
                at.push(count);
                events.push(*event);
            }
            count += 1;
        })
        .expect("a whole trace");
    let tables = trace.tables();
    let codes = |places: Vec<PlaceId>| places.into_iter().map(|place| code(tables, place)).collect();
    let accesses = events
        .iter()
        .map(|event| Made {
            thread: tables.threads.path(event.thread),
            place: code(tables, event.place),
            calls: codes(Stacks(tables).calls(event.stack)),
        })
        .collect();
    let nomination = conflict.finish(&Stacks(tables));
    let sides = nomination.targets.iter().flat_map(|target| &target.sides).map(|side| {
        let told = side.descriptor.clone();
        let index = at.iter().position(|&at| at == side.at).expect("a side is an access");
        let told = Told {
            thread: tables.threads.path(told.thread),
            only_thread: told.only_thread,
            place: code(tables, told.place),
            calls: codes(told.calls),
            ordinal: told.ordinal,
        };
        (index, told)
    });
    Run { accesses, sides: sides.collect() }
}

/// The first two lines that a program marks as sides of race 1.
fn lines(source: &Path) -> [usize; 2] {
    let text = fs::read_to_string(source).expect("a program");
    let mut marked = (1..).zip(text.lines()).filter(|(_, line)| line.contains("//~ race 1:"));
    let mut next = || marked.next().expect("two marked lines").0;
    [next(), next()]
}

/// Records the program with two lines passed in that order.
fn record(folder: &Path, name: &str, [first, second]: [usize; 2]) -> Run {
    fs::write(folder.join("o.order"), format!("{name}.c:{first}\n{name}.c:{second}\n")).expect("written");
    let _ = fs::remove_file(folder.join("t.dh"));
    let arguments = ["record", "-o", "t.dh", "--order", "o.order", "--order-patience", "300s", "--", "./p"];
    let output = ok(deadheat().args(arguments), folder);
    assert!(!said(&output).contains("warning"), "{name}: the order was kept\n{}", said(&output));
    read(&folder.join("t.dh"))
}

fn check(compilers: (&'static str, &'static str)) {
    if !have(compilers.0) {
        return;
    }
    let hunts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/hunts/racy");
    for name in PROGRAMS {
        let folder: PathBuf =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("statement1").join(compilers.0).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the test");
        let source = hunts.join(format!("{name}.c"));
        let mut build = with(compilers);
        ok(build.args(["cc", "-O1", "-g", "-pthread", "-o", "p"]).arg(&source), &folder);
        let [one, other] = lines(&source);
        let runs = [[one, other], [other, one]].map(|order| record(&folder, name, order));
        let told: [BTreeMap<_, _>; 2] = runs.each_ref().map(|run| descriptors(&run.accesses));
        assert_eq!(told[0], told[1], "{name}: the same in both orders");
        for run in &runs {
            assert!(!run.sides.is_empty(), "{name}: something is nominated");
            for (index, side) in &run.sides {
                assert_eq!(*side, statement1::describe(&run.accesses, *index), "{name}");
            }
        }
    }
}

#[test]
fn descriptors_hold_over_opposite_orders_with_gcc() {
    check(common::COMPILERS[0]);
}

#[test]
fn descriptors_hold_over_opposite_orders_with_clang() {
    check(common::COMPILERS[1]);
}
