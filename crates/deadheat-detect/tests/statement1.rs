//! Statement 1 of RaceHunter: descriptors are unique within a run and equal over re-runs, and those
//! that the nomination makes are these.
//!
//! Each random program has threads that do the same in every run; its runs differ in how the
//! threads interleave, and so in the order in which threads that others create come to life.

mod support;

use std::collections::BTreeMap;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_detect::conflict::{Calls, Conflict, Options, Side};
use support::full;
use support::random::Random;
use support::statement1::{Made, Told, describe, descriptors};

/// Stacks that end with each other, as by recursion.
const STACKS: [&[u32]; 7] = [&[], &[90], &[90, 91], &[92, 91], &[92], &[90, 90], &[90, 90, 91]];

struct Stacks;

impl Calls for Stacks {
    fn calls(&self, stack: StackId) -> Vec<PlaceId> {
        STACKS[stack.0 as usize].iter().map(|&place| PlaceId(place)).collect()
    }
}

/// What a thread does next.
#[derive(Clone, Copy)]
enum Step {
    Access {
        place: u32,
        stack: u32,
        address: u64,
        mode: Mode,
    },
    /// Creates the thread with this index of the program.
    Fork(usize),
}

/// A program: the steps of each thread; the first one runs from the start.
fn program(random: &mut Random) -> Vec<Vec<Step>> {
    let count = 2 + random.below(4);
    let mut threads: Vec<Vec<Step>> = (0..count).map(|_| Vec::new()).collect();
    for thread in &mut threads {
        for _ in 0..3 + random.below(10) {
            thread.push(Step::Access {
                place: 1 + random.below(4) as u32,
                stack: random.below(STACKS.len()) as u32,
                address: 0x1000 + random.below(3) as u64,
                mode: random.pick(&[Mode::Read, Mode::Write]),
            });
        }
    }
    for child in 1..count {
        let parent = random.below(child);
        let at = random.below(threads[parent].len() + 1);
        threads[parent].insert(at, Step::Fork(child));
    }
    threads
}

/// One run: its events, in which threads are numbered as they come to life, and their spawn paths.
fn run(program: &[Vec<Step>], random: &mut Random) -> (Vec<Event>, Vec<String>) {
    let mut done = vec![0; program.len()];
    let mut alive = vec![(0, 0)];
    let mut paths = vec!["main".to_owned()];
    let mut forks = vec![0; program.len()];
    let mut events = vec![event(0, 0, 0, Op::Begin)];
    loop {
        let runnable: Vec<(usize, u32)> =
            alive.iter().copied().filter(|&(thread, _)| done[thread] < program[thread].len()).collect();
        if runnable.is_empty() {
            return (events, paths);
        }
        let (thread, id) = random.pick(&runnable);
        match program[thread][done[thread]] {
            Step::Access { place, stack, address, mode } => {
                let access = Access { address, size: 1, mode, atomic: None, via: Via::Code };
                events.push(event(id, place, stack, Op::Access(access)));
            }
            Step::Fork(child) => {
                let number = paths.len() as u32;
                forks[thread] += 1;
                paths.push(format!("{}/{}", paths[id as usize], forks[thread]));
                alive.push((child, number));
                events.push(event(id, 80, 0, Op::Fork { child: ThreadId(number) }));
                events.push(event(number, 0, 0, Op::Begin));
            }
        }
        done[thread] += 1;
    }
}

fn event(thread: u32, place: u32, stack: u32, op: Op) -> Event {
    Event { thread: ThreadId(thread), place: PlaceId(place), stack: StackId(stack), times: 1, op }
}

/// The accesses of a run, and where each stands among the events.
fn made(events: &[Event], paths: &[String]) -> Vec<(usize, Made<PlaceId>)> {
    let accesses = events.iter().enumerate().filter(|(_, event)| matches!(event.op, Op::Access(_)));
    let made = |event: &Event| Made {
        thread: paths[event.thread.index()].clone(),
        place: event.place,
        calls: Stacks.calls(event.stack),
    };
    accesses.map(|(at, event)| (at, made(event))).collect()
}

/// The descriptor of a side with the thread's path.
fn told(side: &Side, paths: &[String]) -> Told<PlaceId> {
    let descriptor = side.descriptor.clone();
    Told {
        thread: paths[descriptor.thread.index()].clone(),
        only_thread: descriptor.only_thread,
        place: descriptor.place,
        calls: descriptor.calls,
        ordinal: descriptor.ordinal,
    }
}

#[test]
fn descriptors_are_unique_and_equal_over_re_runs() {
    let programs = if full() { 3_000 } else { 300 };
    let (mut sides, mut renumbered) = (0, 0u64);
    for seed in 0..programs {
        let mut random = Random(seed);
        let program = program(&mut random);
        let mut first: Option<(BTreeMap<_, _>, Vec<String>)> = None;
        for _ in 0..3 {
            let (events, paths) = run(&program, &mut random);
            let (positions, accesses): (Vec<usize>, Vec<_>) = made(&events, &paths).into_iter().unzip();
            let all = descriptors(&accesses);
            let each = (0..accesses.len()).map(|index| describe(&accesses, index));
            let by_position: BTreeMap<usize, Told<PlaceId>> = positions.into_iter().zip(each).collect();
            let mut conflict = Conflict::new(Options::default());
            events.iter().for_each(|event| conflict.step(event));
            for side in conflict.finish(&Stacks).targets.iter().flat_map(|target| &target.sides) {
                assert_eq!(by_position[&(side.at as usize)], told(side, &paths), "program {seed}");
                sides += 1;
            }
            match &first {
                None => first = Some((all, paths)),
                Some((before, numbers)) => {
                    assert_eq!(*before, all, "program {seed}");
                    renumbered += u64::from(*numbers != paths);
                }
            }
        }
    }
    assert!(
        sides > 1000 && renumbered * 10 > programs,
        "{sides} sides, {renumbered} runs with other numbers"
    );
}
