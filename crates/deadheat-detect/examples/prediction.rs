//! How long the analyses take for a trace in RAPID's text format, and how much memory.
//!
//! `cargo run --release -p deadheat-detect --example prediction -- TRACE.std [NAME] [all-pairs] [limit=BYTES] [work=STEPS]`

#[path = "../tests/support/std_format.rs"]
#[allow(dead_code, reason = "a test reads another format")]
mod std_format;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use deadheat_core::ids::PlaceId;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_detect::{Analysis, Options, registry};

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

    fn forgot(&mut self, events: u64) {
        println!("forgot {events} events");
    }

    fn checked(&mut self, refinements: u64) {
        println!("checked {refinements} refinements");
    }

    fn undecided(&mut self, pairs: u64) {
        println!("could not decide {pairs} pairs");
    }

    fn stopped(&mut self) {
        println!("did as much work as it may");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = arguments.first() else {
        return println!("which trace?");
    };
    let text = std::fs::read_to_string(file).expect("the trace can be read");
    let events = std_format::std_events(&text);
    drop(text);
    // The peak is from now on.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = resident("VmRSS:");
    let name = arguments.get(1).map_or("sync-preserving", String::as_str);
    let Some(analysis) = registry::find(name) else {
        return println!("no analysis {name}");
    };
    let all_pairs = arguments.iter().any(|argument| argument == "all-pairs");
    let limit = |name: &str| -> Option<u64> {
        arguments.iter().find_map(|argument| argument.strip_prefix(name)?.parse().ok())
    };
    let memory_limit = limit("limit=").map(|bytes| bytes as usize);
    let options = Options { all_pairs, memory_limit, work_limit: limit("work="), ..Options::default() };
    let (found, took) = run(analysis, &events, options);
    println!(
        "{name}: {} events, {} racy at {} places, {:.3} s of processor time, {} KiB more memory at most",
        events.len(),
        found.events.len(),
        found.places.len(),
        took.as_secs_f64(),
        resident("VmHWM:").saturating_sub(before),
    );
}

fn run(analysis: &Analysis, events: &[deadheat_core::event::Event], options: Options) -> (Racy, Duration) {
    let mut sink = Racy::default();
    let mut detector = (analysis.new)(options);
    let (start, wall) = (processor_time(), Instant::now());
    for (index, event) in events.iter().enumerate() {
        sink.now = index;
        detector.step(event, &mut sink);
    }
    detector.finish(&mut sink);
    let took = match (start, processor_time()) {
        (Some(start), Some(end)) => end.saturating_sub(start),
        _ => wall.elapsed(),
    };
    (sink, took)
}

/// What the process used of the processor, where the system says it.
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(stat.split(' ').next()?.parse().ok()?))
}

/// The memory that the process has, or at most had, in KiB; 0 where the system does not say it.
fn resident(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
