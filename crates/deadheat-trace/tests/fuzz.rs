//! Fuzzing without a fuzzer: mutations of the kept inputs, the same in every run.
//!
//! `DEADHEAT_FUZZ_SECONDS` makes each target run that long instead of a fixed number of times,
//! `DEADHEAT_FUZZ_SEED` starts elsewhere. `fuzz/` holds the same targets for a coverage-guided
//! fuzzer.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Numbers, scratch};
use deadheat_trace::fuzz::{TARGETS, Target};

/// Mutations a target, unless a time is given.
const TIMES: u64 = 2000;

/// Inputs do not grow beyond this.
const SIZE_MAX: usize = 32 << 10;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} has no inputs", folder.display());
    paths.iter().map(|path| std::fs::read(path).expect("a readable input")).collect()
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Changes the input in one of the ways that fuzzers use.
fn mutate(input: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    const STRANGE: [u64; 12] =
        [0, 1, 7, 8, 0x7f, 0x80, 0xff, 0x1000, 0xffff, 0x7fff_ffff, u64::MAX >> 1, u64::MAX];
    let at = numbers.below(input.len() as u64) as usize;
    let len = (1 + numbers.below(16)) as usize;
    let end = (at + len).min(input.len());
    match numbers.below(9) {
        0 if !input.is_empty() => input[at] ^= 1 << numbers.below(8),
        1 if !input.is_empty() => input[at] = numbers.next() as u8,
        2 => drop(input.drain(at..end)),
        3 => {
            let copy = input[at..end].to_vec();
            input.splice(at..at, copy);
        }
        4 => input.truncate(at),
        5 => {
            let strange = STRANGE[numbers.below(12) as usize].to_le_bytes();
            let width = [1, 2, 4, 8][numbers.below(4) as usize].min(input.len() - at);
            input[at..at + width].copy_from_slice(&strange[..width]);
        }
        6 => input.splice(at..at, (0..len).map(|_| numbers.next() as u8)).for_each(drop),
        7 if !other.is_empty() => {
            let from = numbers.below(other.len() as u64) as usize;
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => {
            let from = numbers.below(other.len() as u64) as usize;
            let piece = &other[from..(from + len).min(other.len())];
            input.splice(at..at, piece.iter().copied()).for_each(drop);
        }
    }
    input.truncate(SIZE_MAX);
}

fn run(target: Target, name: &str, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        let path = scratch(&format!("fuzz-{name}.input"));
        let _ = std::fs::write(&path, input);
        eprintln!("{name}: the input is in {}", path.display());
        resume_unwind(panic);
    }
}

fn fuzz(name: &str) {
    let (_, target) = *TARGETS.iter().find(|(known, _)| *known == name).expect("a known target");
    let corpus = corpus(name);
    for input in &corpus {
        run(target, name, input);
    }
    let mut numbers = Numbers(number_from("DEADHEAT_FUZZ_SEED").unwrap_or(1) * 2 + 1);
    let until = number_from("DEADHEAT_FUZZ_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let mut times = 0;
    while until.map_or(times < TIMES, |until| Instant::now() < until) {
        let pick = |numbers: &mut Numbers| numbers.below(corpus.len() as u64) as usize;
        let mut input = corpus[pick(&mut numbers)].clone();
        let other = pick(&mut numbers);
        for _ in 0..=numbers.below(6) {
            mutate(&mut input, &corpus[other], &mut numbers);
        }
        run(target, name, &input);
        times += 1;
    }
    println!("{name}: {times} inputs");
}

#[test]
fn our_own_file() {
    fuzz("deadheat");
}

#[test]
fn records_of_our_own_file() {
    fuzz("records");
}

#[test]
fn races_of_our_own_file() {
    fuzz("races");
}

#[test]
fn std() {
    fuzz("std");
}

#[test]
fn shbee() {
    fuzz("shbee");
}

#[test]
fn rapidbin() {
    fuzz("rapidbin");
}

#[test]
fn any_format() {
    fuzz("any");
}
