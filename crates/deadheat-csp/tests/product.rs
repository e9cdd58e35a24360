//! The product machine and the search, against the operational semantics taken by itself: verdicts, counterexamples,
//! their length, and that none of it depends on the number of threads.

mod support;

use deadheat_csp::cspm;
use deadheat_csp::{Action, Error, Event, Limits, Seen, Stage, Term, Terms, Verdict, traces};
use support::{Generator, Random, can_do, shortest, unfold};

/// States of a random term that the brute force is given.
const MOST: usize = 150;
/// Pairs of a state and a set of the specification's states that the brute force is given.
const MOST_PAIRS: usize = 600;

/// Checks random pairs of terms; gives how many were compared, and how many of those refinements fail.
fn compare(terminates: bool, rounds: u64, depth: usize) -> (usize, usize) {
    let (mut compared, mut fails) = (0, 0);
    for seed in 0..rounds {
        let mut g = Generator::new(seed * 7 + u64::from(terminates), terminates);
        let implementation = g.term(depth);
        let spec = match seed % 3 {
            // Something that allows much, so that counterexamples are long.
            0 => {
                let other = g.term(1);
                g.terms.external(&[implementation, other])
            }
            1 => {
                let all = g.terms.set(g.events.clone());
                let other = g.term(depth);
                let weak = g.terms.interleave(implementation, other);
                let nothing = g.terms.hide(other, all);
                g.terms.parallel(weak, all, nothing)
            }
            _ => g.term(depth),
        };
        let Some(spec_graph) = unfold(&mut g.terms, spec, MOST) else { continue };
        let Some(graph) = unfold(&mut g.terms, implementation, MOST) else { continue };
        let found = shortest(&spec_graph, spec, &graph, implementation, MOST_PAIRS);
        let Some(expected) = found else { continue };
        let outcome = g.check(spec, implementation, 1);
        compared += 1;
        match &outcome.verdict {
            Verdict::Holds => assert_eq!(expected, None, "seed {seed}"),
            Verdict::Fails(counterexample) => {
                fails += 1;
                let trace = counterexample.trace();
                assert!(can_do(&graph, implementation, &trace), "seed {seed}: {trace:?}");
                assert!(!can_do(&spec_graph, spec, &trace), "seed {seed}: {trace:?}");
                assert!(can_do(&spec_graph, spec, &trace[..trace.len() - 1]), "seed {seed}: {trace:?}");
                if terminates {
                    assert!(expected.is_some(), "seed {seed}");
                } else {
                    // Where nothing terminates a step of the product is a step of the semantics.
                    assert_eq!(expected, Some(counterexample.steps.len()), "seed {seed}");
                }
            }
            Verdict::OutOfMemory { stage, .. } => {
                // Few states can have very many sets of them.
                assert_eq!(*stage, Stage::Specification, "seed {seed}");
                compared -= 1;
            }
        }
        for jobs in [2, 3] {
            let other = g.check(spec, implementation, jobs);
            assert_eq!((&other.verdict, other.states), (&outcome.verdict, outcome.states), "seed {seed}");
        }
    }
    (compared, fails)
}

#[test]
fn verdicts_and_shortest_counterexamples_are_those_of_the_semantics() {
    let (compared, fails) = compare(false, 800, 3);
    assert!(compared > 400 && fails > 100 && compared - fails > 100, "{compared} {fails}");
}

#[test]
fn with_termination_verdicts_and_counterexamples_are_right() {
    let (compared, fails) = compare(true, 800, 3);
    assert!(compared > 400 && fails > 100 && compared - fails > 100, "{compared} {fails}");
}

/// `count` processes of `length` events that one mutex orders somewhat, and what they do together.
fn counters(terms: &mut Terms, count: usize, length: usize) -> deadheat_csp::Term {
    let stop = terms.stop();
    let take = terms.event("take");
    let give = terms.event("give");
    let mut threads = Vec::new();
    for thread in 0..count {
        let mut events = Vec::new();
        for step in 0..length {
            events.extend([take, terms.event(&format!("work.{thread}.{step}")), give]);
        }
        threads.push(terms.chain(&events, stop));
    }
    let threads = terms.interleave_all(&threads);
    let mutex = terms.declare("MUTEX");
    let call = terms.call(mutex);
    let body = terms.chain(&[take, give], call);
    terms.define(mutex, body);
    let set = terms.set([take, give]);
    terms.parallel(threads, set, call)
}

/// The events of four of them with eight steps each.
fn hidden_names() -> Vec<String> {
    let work = (0..4).flat_map(|thread| (0..8).map(move |step| format!("work.{thread}.{step}")));
    work.chain(["take", "give"].map(str::to_owned)).collect()
}

#[test]
fn threads_share_the_work_and_find_the_same() {
    let mut terms = Terms::new();
    let system = counters(&mut terms, 4, 8);
    let last: Vec<_> = (0..4).map(|thread| terms.event(&format!("work.{thread}.7"))).collect();
    let all: Vec<_> =
        hidden_names().iter().map(|name| terms.event(name)).filter(|event| !last.contains(event)).collect();
    let all = terms.set(all);
    let hidden = terms.hide(system, all);
    let stop = terms.stop();
    let check = |terms: &mut Terms, spec, jobs| {
        traces(terms, spec, hidden, &Limits { memory: 1 << 30, jobs }).expect("guarded")
    };
    let one = check(&mut terms, stop, 1);
    let Verdict::Fails(counterexample) = &one.verdict else { panic!("{one:?}") };
    assert_eq!(counterexample.steps.len(), 7 * 3 + 2, "one thread alone, up to its last work");
    assert_eq!(counterexample.trace().len(), 1);
    let events = |action: &Action| match *action {
        Action::Tau(hidden) => hidden.expect("every τ is a hidden event"),
        Action::Event(event) => event,
        Action::Tick => panic!("nothing terminates"),
    };
    let names: Vec<&str> = counterexample.steps.iter().map(|step| terms.events.name(events(step))).collect();
    assert_eq!(names[..3], ["take", names[1], "give"]);
    let chosen: Vec<_> = last.iter().map(|&event| terms.prefix(event, stop)).collect();
    let mut spec = terms.external(&chosen);
    for _ in 0..3 {
        let chosen: Vec<_> = last.iter().map(|&event| terms.prefix(event, spec)).collect();
        spec = terms.external(&chosen);
    }
    for (spec, holds) in [(stop, false), (spec, true)] {
        let expected = check(&mut terms, spec, 1);
        assert_eq!(expected.verdict == Verdict::Holds, holds);
        assert!(!holds || expected.states > 9usize.pow(4), "{expected:?}");
        for jobs in [2, 3, 8] {
            let found = check(&mut terms, spec, jobs);
            assert_eq!((found.states, found.transitions), (expected.states, expected.transitions));
            assert_eq!(found.verdict, expected.verdict);
        }
    }
}

#[test]
fn memory_that_is_used_up_is_told_and_does_not_depend_on_threads() {
    let mut terms = Terms::new();
    let system = counters(&mut terms, 4, 8);
    let all: Vec<_> = hidden_names().iter().map(|name| terms.event(name)).collect();
    let all = terms.set(all);
    let hidden = terms.hide(system, all);
    let stop = terms.stop();
    for jobs in [1, 2, 5] {
        let outcome = traces(&mut terms, stop, hidden, &Limits { memory: 1 << 16, jobs }).expect("guarded");
        let expected = Verdict::OutOfMemory { stage: Stage::Product, states: (1 << 16) / 16 };
        assert_eq!(outcome.verdict, expected, "{jobs} jobs");
    }
}

#[test]
fn a_violation_in_the_layer_that_fills_the_memory_is_still_found() {
    let mut terms = Terms::new();
    let stop = terms.stop();
    // Layer n has n + 1 choose 1 … states; the bad event is possible at depth 6 only.
    let threads: Vec<_> = (0..6)
        .map(|thread| {
            let event = terms.event(&format!("go.{thread}"));
            terms.prefix(event, stop)
        })
        .collect();
    let goes: Vec<_> = (0..6).map(|thread| terms.event(&format!("go.{thread}"))).collect();
    let bad = terms.event("bad");
    let watcher = terms.prefix(bad, stop);
    let watcher = terms.chain(&[goes[0], goes[1]], watcher);
    let together = terms.interleave_all(&threads);
    let set = terms.set([goes[0], goes[1]]);
    let system = terms.parallel(together, set, watcher);
    let all = terms.set(goes);
    let hidden = terms.hide(system, all);
    let mut verdicts = Vec::new();
    for states in 1..80 {
        let memory = states * 16;
        // The leaves need theirs: only what the product is given is small.
        let outcome = traces(&mut terms, stop, hidden, &Limits { memory: memory.max(8192), jobs: 1 });
        verdicts.push(outcome.expect("guarded").verdict);
    }
    let last = verdicts.last().expect("some").clone();
    let Verdict::Fails(counterexample) = last else { panic!("{last:?}") };
    assert_eq!(counterexample.steps.len(), 3);
    assert_eq!(counterexample.trace(), [Seen::Event(bad)]);
}

#[test]
fn leaves_that_grow_for_ever_end_by_the_bound() {
    let mut terms = Terms::new();
    let (up, down) = (terms.event("up"), terms.event("down"));
    let counter = terms.declare("COUNTER");
    let call = terms.call(counter);
    let stop = terms.stop();
    let below = terms.prefix(down, stop);
    let more = terms.interleave(below, call);
    let body = terms.prefix(up, more);
    terms.define(counter, body);
    let limits = Limits { memory: 1 << 16, jobs: 1 };
    let outcome = traces(&mut terms, call, call, &limits).map(|outcome| outcome.verdict);
    let bounded = matches!(outcome, Ok(Verdict::OutOfMemory { stage: Stage::Leaves, states: 256 }));
    assert!(bounded, "{outcome:?}");
    // Each of its states is one operator deeper than the one before.
    let nested = terms.declare("NESTED");
    let call = terms.call(nested);
    let later = terms.sequence(call, below);
    let body = terms.prefix(up, later);
    terms.define(nested, body);
    let outcome = traces(&mut terms, stop, call, &Limits { memory: 1 << 26, jobs: 1 });
    assert_eq!(outcome, Err(Error::TooDeep));
}

#[test]
fn processes_without_a_first_step_are_refused() {
    let mut terms = Terms::new();
    let itself = terms.declare("ITSELF");
    let call = terms.call(itself);
    let a = terms.event("a");
    let stop = terms.stop();
    let other = terms.prefix(a, stop);
    let body = terms.external(&[call, other]);
    terms.define(itself, body);
    let found = traces(&mut terms, stop, call, &Limits::default());
    assert_eq!(found, Err(Error::Unguarded("ITSELF".to_owned())));
    let nobody = terms.declare("NOBODY");
    let call = terms.call(nobody);
    let found = traces(&mut terms, call, stop, &Limits::default());
    assert_eq!(found, Err(Error::Undefined("NOBODY".to_owned())));
}

/// A process that does one event for ever and knows how often it did, modulo 3.
fn ring(terms: &mut Terms, event: Event) -> Term {
    let ring = terms.declare("RING");
    let call = terms.call(ring);
    let body = terms.chain(&[event, event, event], call);
    terms.define(ring, body);
    call
}

/// Threads with sections under mutexes, a semaphore and a register, and a race if two of them write side by side. If they `quit`, they
/// may also end in a section.
fn sections(random: &mut Random, threads: usize, quit: bool) -> String {
    let mut text = String::from(
        "datatype T = t0 | t1 | t2\ndatatype M = m0 | m1\nchannel lock, unlock : T.M\n\
         channel write, post, wait, quit : T\nchannel race\n",
    );
    for thread in 0..threads {
        text.push_str(&format!("THREAD{thread} = "));
        let mut open = String::new();
        for _ in 0..1 + random.below(2) {
            let mutex = random.below(2);
            let inner = ["write", "post", "wait", "write"][random.below(4)];
            let quit = if quit { format!("quit.t{thread} -> STOP [] ") } else { String::new() };
            text.push_str(&format!(
                "lock.t{thread}.m{mutex} -> ({quit}{inner}.t{thread} -> unlock.t{thread}.m{mutex} -> "
            ));
            open.push(')');
        }
        text.push_str(&format!("STOP{open}\n"));
    }
    let list = |name: &str, between: &str| {
        (0..threads).map(|thread| format!("{name}{thread}")).collect::<Vec<_>>().join(between)
    };
    text.push_str(&format!(
        "MUTEX(m) = lock?t!m -> unlock.t.m -> MUTEX(m)\n\
         ZERO = post?t -> ONE\nONE = post?t -> TWO [] wait?t -> ZERO\nTWO = wait?t -> ONE\n\
         LAST(t) = write?u -> if u == t then LAST(t) else write?v -> LAST(v)\n\
         SYNC = {{|lock, unlock, write, post, wait|}}\n\
         SYSTEM = ({}) [|SYNC|] (ZERO ||| MUTEX(m0) ||| MUTEX(m1) ||| LAST(t0))\n\
         PATTERN = ERROR /\\ ([] x:SYNC @ x -> PATTERN)\n\
         ERROR = [] t:T, u:T @ t != u & write.t -> write.u -> race -> STOP\n\
         assert STOP [T= (SYSTEM [|SYNC|] PATTERN) \\ diff(Events, {{race}})\n",
        list("THREAD", " ||| ")
    ));
    text
}

#[test]
fn what_follows_from_the_others_is_not_stored() {
    let (mut fails, mut holds) = (0, 0);
    for seed in 0..120 {
        let (threads, quit) = (2 + seed as usize % 2, seed >= 60);
        let text = sections(&mut Random(seed * 77 + 5), threads, quit);
        let script = cspm::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut model = cspm::model(&script).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (spec, system) = (model.assertions[0].specification, model.assertions[0].implementation);
        let spec_graph = unfold(&mut model.terms, spec, 1).expect("STOP");
        let graph = unfold(&mut model.terms, system, 20_000).expect("a small model");
        let expected = shortest(&spec_graph, spec, &graph, system, 20_000).expect("a small model");
        let outcome = traces(&mut model.terms, spec, system, &Limits::default()).expect("guarded");
        let found = match outcome.verdict {
            Verdict::Holds => None,
            Verdict::Fails(counterexample) => Some(counterexample.steps.len()),
            Verdict::OutOfMemory { .. } => panic!("{text}"),
        };
        assert_eq!(found, expected, "{text}");
        *(if found.is_some() { &mut fails } else { &mut holds }) += 1;
        // Threads of at most 7 places, or 9 if they quit in two sections, as it must be known in which; the register and the pattern; neither
        // the mutexes nor the semaphore.
        let places = if quit { 4 } else { 3 };
        assert!(outcome.bits <= 3 * places + 3 + 4, "{} bits:\n{text}", outcome.bits);
    }
    assert!(fails > 20 && holds > 20, "{fails} fail, {holds} hold");
}

/// What is before a reset could have been any of 8^20 states, and was one of few.
#[test]
fn the_way_back_over_what_forgets_is_found() {
    let mut registers = String::from("channel up, reset, bad\nFREE = up -> FREE [] reset -> FREE\n");
    for value in 0..8 {
        let next = if value < 7 { format!("up -> C{}", value + 1) } else { "STOP".to_owned() };
        registers += &match value {
            0..3 => format!("C{value} = {next}\n"),
            _ => format!("C{value} = {next} [] reset -> DONE\n"),
        };
    }
    registers += "DONE = bad -> STOP\nALL = {| up, reset, bad |}\nP1 = C0\n";
    for count in 2..=20 {
        registers += &format!("P{count} = P{} [| ALL |] C0\n", count - 1);
    }
    registers += "assert FREE [T= P20\n";
    let script = cspm::read(&registers).unwrap_or_else(|error| panic!("{error}\n{registers}"));
    let mut model = cspm::model(&script).unwrap_or_else(|error| panic!("{error}\n{registers}"));
    let (spec, system) = (model.assertions[0].specification, model.assertions[0].implementation);
    let outcome = traces(&mut model.terms, spec, system, &Limits::default()).expect("guarded");
    let Verdict::Fails(counterexample) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
    let events = ["up", "up", "up", "reset", "bad"].map(|name| Seen::Event(model.terms.event(name)));
    assert_eq!(counterexample.trace(), events);
}

#[test]
fn wide_products_take_several_words() {
    for count in [20, 70, 200, 700] {
        let mut terms = Terms::new();
        let stop = terms.stop();
        // All threads take part in one path: many bits and few states. Three states in a ring are numbered so that an event
        // does not add the same to each: they have to be stored.
        let events: Vec<_> = (0..count).map(|n| terms.event(&format!("e.{n}"))).collect();
        let right: Vec<_> = events.iter().map(|&event| ring(&mut terms, event)).collect();
        let all = terms.interleave_all(&right);
        let set = terms.set(events.clone());
        let driver = terms.chain(&events, stop);
        let system = terms.parallel(all, set, driver);
        let outcome = traces(&mut terms, stop, system, &Limits::default()).expect("guarded");
        let Verdict::Fails(counterexample) = outcome.verdict else {
            panic!("{count}: {:?}", outcome.verdict)
        };
        assert_eq!(counterexample.trace(), [Seen::Event(events[0])]);
        assert!(outcome.bits >= 2 * count, "{}", outcome.bits);
        let spec = terms.chain(&events, stop);
        let outcome = traces(&mut terms, spec, system, &Limits::default()).expect("guarded");
        assert_eq!(outcome.verdict, Verdict::Holds, "{count}");
    }
    let mut terms = Terms::new();
    let (a, stop) = (terms.event("a"), terms.stop());
    let leaf = terms.chain(&[a, a, a], stop);
    let leaves = vec![leaf; 3000];
    let system = terms.interleave_all(&leaves);
    let outcome = traces(&mut terms, stop, system, &Limits::default());
    assert_eq!(outcome, Err(Error::TooWide(6000)));
}
