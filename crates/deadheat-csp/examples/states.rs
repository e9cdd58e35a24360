//! How many product states a second, and what a state takes: `cargo run --release -p deadheat-csp --example states
//! [JOBS [FILE…]]`.
//!
//! Files are models in CSP_M, such as `deadheat model` writes. Each assertion is checked, bounded to some memory; the last
//! line has the sums. The rate is that of the search, from the first state to the verdict with its counterexample; reading a text
//! and compiling its product are told beside it. The clock counts processor time (Linux).
//!
//! Without files the models have the form of the witness paper's: threads that interleave, synchronised with mutexes, forks and joins,
//! beside a pattern that never blocks, all events hidden but `race`; no assertion fails, so that all of the product is
//! searched.

use std::time::Instant;

use deadheat_csp::cspm;
use deadheat_csp::{Limits, Outcome, Product, Verdict};

/// Threads that take mutexes in turns and access variables under one of them.
fn model(threads: usize, rounds: usize, mutexes: usize) -> String {
    let name = |prefix: &str, count: usize, between: &str| {
        (0..count).map(|index| format!("{prefix}{index}")).collect::<Vec<_>>().join(between)
    };
    let mut text = format!(
        "datatype T = {}\ndatatype M = {}\n",
        name("t", threads + 1, " | "),
        name("m", mutexes, " | ")
    );
    text.push_str("channel lock, unlock : T.M\nchannel read, write, start, end : T\n");
    text.push_str("channel fork, join : T.T\nchannel race\n");
    let main = format!("t{threads}");
    for thread in 0..threads {
        text.push_str(&format!("THREAD{thread} = start.t{thread} -> "));
        for round in 0..rounds {
            let mutex = if round % 2 == 0 { 0 } else { 1 + (thread + round) % (mutexes - 1).max(1) };
            let access = if round % 2 == 0 { format!("write.t{thread} -> ") } else { String::new() };
            text.push_str(&format!("lock.t{thread}.m{mutex} -> {access}unlock.t{thread}.m{mutex} -> "));
        }
        text.push_str(&format!("end.t{thread} -> STOP\n"));
    }
    let forks: String = (0..threads).map(|t| format!("fork.{main}.t{t} -> ")).collect();
    let joins: String = (0..threads).map(|t| format!("join.{main}.t{t} -> ")).collect();
    text.push_str(&format!("THREAD{threads} = {forks}{joins}STOP\n"));
    text.push_str(
        "FORK(i) = fork?t!i -> start.i -> STOP\nJOIN(i) = end.i -> join?t!i -> STOP\n\
         MUTEX(i) = lock?t!i -> unlock.t.i -> MUTEX(i)\n",
    );
    text.push_str(&format!("WORKERS = diff(T, {{{main}}})\n"));
    text.push_str("SYNC = {|start, end, fork, join, lock, unlock|}\n");
    text.push_str(
        "SYNCS = (||| i:WORKERS @ FORK(i)) ||| (||| i:WORKERS @ JOIN(i)) ||| (||| i:M @ MUTEX(i))\n",
    );
    text.push_str(&format!("PROGRAM = ({}) [|SYNC|] SYNCS\n", name("THREAD", threads + 1, " ||| ")));
    text.push_str(
        "RW = {read.t0, write.t0, read.t1, write.t1}\n\
         PATTERN = ERR /\\ ([] x:union(SYNC, RW) @ x -> PATTERN)\n\
         ERR = (read.t0 -> write.t1 -> race -> STOP) [] (read.t1 -> write.t0 -> race -> STOP)\n\
         \x20  [] (write.t0 -> read.t1 -> race -> STOP) [] (write.t0 -> write.t1 -> race -> STOP)\n\
         \x20  [] (write.t1 -> read.t0 -> race -> STOP) [] (write.t1 -> write.t0 -> race -> STOP)\n\
         assert STOP [T= (PROGRAM [|union(SYNC, RW)|] PATTERN) \\ diff(Events, {race})\n",
    );
    text
}

/// Memory for the states of an assertion.
const MEMORY: usize = 1 << 30;
/// What is timed is done again until it took so many seconds: the clock has hundredths.
const LEAST_SECONDS: f64 = 0.1;

/// Processor seconds of this process so far, in hundredths at best: all threads, user and system.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .map(|rest| rest.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect())
        .unwrap_or_default();
    fields.get(11..13).map_or(0.0, |ticks| ticks.iter().sum::<u64>() as f64 / 100.0)
}

/// What something gives, and the processor seconds that it takes.
fn timed<T>(mut run: impl FnMut() -> T) -> (T, f64) {
    let mut turns = 1;
    loop {
        let start = processor_seconds();
        for _ in 1..turns {
            std::hint::black_box(run());
        }
        let given = run();
        let took = processor_seconds() - start;
        if took > LEAST_SECONDS {
            return (given, took / f64::from(turns));
        }
        // The clock is looked at seldom: that takes longer than a small search.
        turns *= 2;
    }
}

/// Checks every assertion of the files.
fn files(jobs: usize, names: &[String]) {
    let limits = Limits { memory: MEMORY, jobs };
    let (mut states, mut bytes, mut seconds, mut before) = (0.0, 0.0, 0.0, 0.0);
    let mut checked = 0;
    for name in names {
        let text = std::fs::read_to_string(name).expect("the file can be read");
        let script = cspm::read(&text).unwrap_or_else(|error| panic!("{name}:{error}"));
        let mut model = cspm::model(&script).unwrap_or_else(|error| panic!("{name}:{error}"));
        for assertion in model.assertions.clone() {
            let (product, compiled) = timed(|| {
                Product::new(&mut model.terms, assertion.specification, assertion.implementation, &limits)
                    .expect("the model has a meaning")
            });
            let (outcome, took) = timed(|| product.search(&limits));
            let Outcome { states: found, transitions, bits, bytes: taken, .. } = outcome;
            println!(
                "{name}: {found} states of {bits} bits, {transitions} transitions, {taken} bytes, \
                 {compiled:.6} s to compile, {took:.6} s to search"
            );
            states += found as f64;
            bytes += taken as f64;
            seconds += took;
            before += compiled;
            checked += 1;
        }
    }
    println!(
        "all: {checked} assertions, {states} states, {:.1} bytes a state, {before:.3} s to compile, \
         {seconds:.3} s to search, {:.2} M states a second",
        bytes / states,
        states / seconds / 1e6
    );
}

fn main() {
    let jobs = std::env::args().nth(1).and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
    let names: Vec<String> = std::env::args().skip(2).collect();
    if names.is_empty() { shapes(jobs) } else { files(jobs, &names) }
}

/// Models of several sizes.
fn shapes(jobs: usize) {
    println!("{jobs} jobs");
    println!("threads rounds mutexes |   states transitions bits bytes/state seconds states/s states/s/job");
    for (threads, rounds, mutexes) in [(4, 4, 3), (5, 4, 3), (4, 12, 4), (6, 4, 4), (4, 20, 6), (7, 4, 4)] {
        let script = match cspm::read(&model(threads, rounds, mutexes)) {
            Ok(script) => script,
            Err(error) => panic!("{error}"),
        };
        let mut model = cspm::model(&script).expect("the model is right");
        let assertion = model.assertions[0].clone();
        let limits = Limits { memory: 4 << 30, jobs };
        let product =
            Product::new(&mut model.terms, assertion.specification, assertion.implementation, &limits)
                .expect("the model has a meaning");
        let start = Instant::now();
        let outcome = product.search(&limits);
        let seconds = start.elapsed().as_secs_f64();
        assert!(
            matches!(outcome.verdict, Verdict::Holds | Verdict::OutOfMemory { .. }),
            "{:?}",
            outcome.verdict
        );
        let states = outcome.states as f64;
        println!(
            "{threads:7} {rounds:6} {mutexes:7} | {:8} {:11} {:4} {:11.1} {seconds:7.3} {:7.2} M {:7.2} M",
            outcome.states,
            outcome.transitions,
            outcome.bits,
            outcome.bytes as f64 / states,
            states / seconds / 1e6,
            states / seconds / 1e6 / jobs as f64,
        );
    }
}
