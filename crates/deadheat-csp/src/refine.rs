//! Traces refinement, `S [T= I`: every trace of I is one of S.
//!
//! S is brought to its normal form; the product of I's machine and S's automaton is searched breadth first, layer by
//! layer. A step of I that S does not have ends the search after its layer: among all such steps of the layer the least
//! (by packed state, then by rule) is told, so that the counterexample is a shortest one, counted in steps of I with its τ,
//! and does not depend on the number of threads. What led to it is found backwards from the layers (`path`), for
//! nothing but the states is kept.
//!
//! Threads share the states by their hash: each expands the states of its own shard into one box for each shard, then
//! each takes in what is in the boxes for its own. There is no lock and no order among threads.

use crate::compile::{self, Fault, Network, Stage};
use crate::event::{Action, Seen};
use crate::follow::Plan;
use crate::machine::{self, Machine, Successor, TAU};
use crate::normal::{self, Normal};
use crate::pack::{self, Field, State};
use crate::path::Path;
use crate::semantics::Error;
use crate::term::{Term, Terms};
use crate::visited::{self, Recent, Shard, hash, shard_of};

/// So many states of a shard are expanded before what came of them is taken in.
const ROUND: usize = 1 << 12;
/// With fewer states to expand than this threads are not worth their start.
const WORTH_THREADS: usize = 1 << 12;
/// More threads than this are not started.
const MAX_JOBS: usize = 1 << 8;

/// What a check may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of memory for the states, and once more for the specification and for the leaves. Fixed overhead of some
    /// megabytes is not counted.
    pub memory: usize,
    /// Threads, at least 1. The verdict does not depend on them.
    pub jobs: usize,
}

impl Default for Limits {
    /// One thread, 1 GiB.
    fn default() -> Self {
        Limits { memory: 1 << 30, jobs: 1 }
    }
}

/// What became of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every trace of the implementation is one of the specification.
    Holds,
    /// This one is not.
    Fails(Counterexample),
    /// Nobody knows: the memory was used up.
    OutOfMemory {
        /// In what.
        stage: Stage,
        /// After so many states.
        states: usize,
    },
}

/// A shortest way to do what the specification does not allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Each step of the implementation; the last is the one that the specification does not have.
    pub steps: Vec<Action>,
}

impl Counterexample {
    /// What is seen of it: a trace of the implementation and none of the specification.
    pub fn trace(&self) -> Vec<Seen> {
        self.steps.iter().filter_map(|step| step.seen()).collect()
    }
}

/// A verdict and what it took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// States of the product that were reached: of all layers up to the one that decided, and those after it.
    pub states: usize,
    /// Steps that were computed.
    pub transitions: u64,
    /// Bits of a packed state.
    pub bits: usize,
    /// Bytes that the states took, with the table that finds them.
    pub bytes: usize,
}

/// Checks `specification [T= implementation`.
pub fn traces(
    terms: &mut Terms,
    specification: Term,
    implementation: Term,
    limits: &Limits,
) -> Result<Outcome, Error> {
    Ok(Product::new(terms, specification, implementation, limits)?.search(limits))
}

/// The question `specification [T= implementation`, compiled: what is left is to search.
#[derive(Debug)]
pub struct Product(Result<Box<dyn Searched>, Outcome>);

impl Product {
    /// Compiles the question. Where the memory is not enough, each search will say so.
    pub fn new(
        terms: &mut Terms,
        specification: Term,
        implementation: Term,
        limits: &Limits,
    ) -> Result<Product, Error> {
        match compiled(terms, specification, implementation, limits) {
            Ok(ready) => Ok(Product(Ok(ready))),
            Err(Fault::Meaning(error)) => Err(error),
            Err(Fault::Memory(stage, states)) => {
                let verdict = Verdict::OutOfMemory { stage, states };
                Ok(Product(Err(Outcome { verdict, states, transitions: 0, bits: 0, bytes: 0 })))
            }
        }
    }

    /// Searches the product.
    pub fn search(&self, limits: &Limits) -> Outcome {
        match &self.0 {
            Ok(ready) => ready.search(limits),
            Err(outcome) => outcome.clone(),
        }
    }
}

/// Runs an expression with `W` bound to the least compiled width, in words, that a layout fits into.
macro_rules! with_words {
    ($layout:expr, $width:ident => $run:expr) => {
        match $layout.words {
            0..=1 => $crate::refine::with_words!(@ 1, $width, $run),
            2 => $crate::refine::with_words!(@ 2, $width, $run),
            3 => $crate::refine::with_words!(@ 3, $width, $run),
            4 => $crate::refine::with_words!(@ 4, $width, $run),
            5..=8 => $crate::refine::with_words!(@ 8, $width, $run),
            9..=16 => $crate::refine::with_words!(@ 16, $width, $run),
            17..=$crate::pack::MAX_WORDS => $crate::refine::with_words!(@ 64, $width, $run),
            _ => Err($crate::compile::Fault::Meaning($crate::semantics::Error::TooWide($layout.bits))),
        }
    };
    (@ $words:literal, $width:ident, $run:expr) => {{
        const $width: usize = $words;
        $run
    }};
}
pub(crate) use with_words;

fn compiled(
    terms: &mut Terms,
    spec: Term,
    implementation: Term,
    limits: &Limits,
) -> Result<Box<dyn Searched>, Fault> {
    let normal = normal::normal(terms, spec, limits.memory)?;
    let mut net = compile::network(terms, implementation, limits.memory)?;
    let plan = Plan::new(&mut net, limits.memory);
    let layout = pack::layout(plan.stored(&net).chain([normal.nodes()]));
    if net.rules.len().saturating_mul(machine::bytes_a_rule(layout.words)) > limits.memory {
        return Err(Fault::Memory(Stage::Leaves, plan.stored(&net).sum()));
    }
    with_words!(layout, W => {
        let (components, node) = layout.fields.split_at(layout.fields.len() - 1);
        let machine = Machine::<W>::new(&net, &plan, components);
        let spec = Specification::new(&normal, machine.seen(), node[0]);
        Ok(Box::new(Ready { net, plan, machine, spec, bits: layout.bits }))
    })
}

/// A product whose states have any number of words.
trait Searched: std::fmt::Debug {
    fn search(&self, limits: &Limits) -> Outcome;
}

/// A product whose states have so many words.
#[derive(Debug)]
struct Ready<const W: usize> {
    net: Network,
    plan: Plan,
    machine: Machine<W>,
    spec: Specification,
    bits: usize,
}

/// The specification by the numbers that the machine gives to what is seen.
#[derive(Debug)]
pub(crate) struct Specification {
    starts: Vec<u32>,
    moves: Vec<(u32, u32)>,
    /// Where in a packed state the node is.
    pub(crate) field: Field,
}

impl Specification {
    fn new(normal: &Normal, seen: &[Seen], field: Field) -> Specification {
        let numbers: rustc_hash::FxHashMap<Seen, u32> = seen.iter().copied().zip(0..).collect();
        let mut spec = Specification { starts: vec![0], moves: Vec::new(), field };
        for node in 0..normal.nodes() {
            let known = |&(seen, to): &(Seen, u32)| numbers.get(&seen).map(|&seen| (seen, to));
            let mut moves: Vec<(u32, u32)> = normal.moves(node).iter().filter_map(known).collect();
            moves.sort_unstable();
            spec.moves.extend(moves);
            spec.starts.push(spec.moves.len() as u32);
        }
        spec
    }

    /// The node after something is seen, if the specification allows it.
    fn next(&self, node: u32, seen: u32) -> Option<u32> {
        let moves = self.of(node);
        let index = moves.partition_point(|a_move| a_move.0 < seen);
        moves.get(index).filter(|a_move| a_move.0 == seen).map(|a_move| a_move.1)
    }

    /// The state of the product after a step from `state`, if the specification allows it.
    pub(crate) fn after<const W: usize>(&self, state: &State<W>, step: &Successor<W>) -> Option<State<W>> {
        let mut after = step.state;
        if step.seen != TAU {
            let node = self.field.get(state);
            self.field.change(&mut after, node, self.next(node, step.seen)?);
        }
        Some(after)
    }

    /// A node's moves.
    pub(crate) fn of(&self, node: u32) -> &[(u32, u32)] {
        &self.moves[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }
}

/// A step that the specification does not have: the state before it, and the rule.
type Violation<const W: usize> = Option<(State<W>, u32)>;

/// What one thread does in a round: the states of its shard to expand, and what comes of them.
struct Work<const W: usize> {
    /// The next state to expand, and the end of the layer.
    at: usize,
    end: usize,
    /// New states, maybe, for each shard.
    boxes: Vec<Vec<State<W>>>,
    /// What came lately.
    recent: Recent<W>,
    /// Room for the machine's sums, and for a state's successors.
    room: Vec<u64>,
    found: Vec<Successor<W>>,
    violation: Violation<W>,
    transitions: u64,
}

impl<const W: usize> Searched for Ready<W> {
    fn search(&self, limits: &Limits) -> Outcome {
        search(self, limits)
    }
}

fn search<const W: usize>(product: &Ready<W>, limits: &Limits) -> Outcome {
    let count = limits.jobs.clamp(1, MAX_JOBS);
    // Shards are not filled to the last state evenly: half is safe.
    let most = (limits.memory / visited::bytes_a_state(W)).min(visited::MAX_STATES / 2 * count);
    let mut shards: Vec<Shard<W>> = (0..count).map(|_| Shard::new()).collect();
    let first = product.machine.first();
    let mut works: Vec<Work<W>> =
        (0..count).map(|_| Work::new(count, first, product.machine.room())).collect();
    shards[shard_of(hash(&first), count)].insert_all(&[first]);
    // For each layer, where it starts in each shard.
    let mut layers = vec![vec![0; count]];
    loop {
        for (work, shard) in works.iter_mut().zip(&shards) {
            (work.at, work.end) = (work.end, shard.len());
        }
        layers.push(works.iter().map(|work| work.end).collect());
        let full = product.layer(&mut shards, &mut works, most);
        let states = shards.iter().map(Shard::len).sum::<usize>();
        let violation = works.iter().filter_map(|work| work.violation).min();
        let over = works.iter().zip(&shards).all(|(work, shard)| work.end == shard.len());
        let verdict = match violation {
            Some((state, rule)) => {
                let path =
                    Path::new(&product.net, &product.plan, &product.machine, &product.spec, &shards, &layers);
                Verdict::Fails(Counterexample { steps: path.to(state, rule) })
            }
            None if full => Verdict::OutOfMemory { stage: Stage::Product, states: most },
            None if over => Verdict::Holds,
            None => continue,
        };
        return Outcome {
            verdict,
            states: if full { most } else { states },
            transitions: works.iter().map(|work| work.transitions).sum(),
            bits: product.bits,
            bytes: shards.iter().map(Shard::bytes).sum(),
        };
    }
}

impl<const W: usize> Work<W> {
    fn new(shards: usize, first: State<W>, room: Vec<u64>) -> Work<W> {
        Work {
            at: 0,
            end: 0,
            boxes: vec![Vec::new(); shards],
            recent: Recent::new(first),
            room,
            found: Vec::new(),
            violation: None,
            transitions: 0,
        }
    }

    /// Whether there is more to expand than a thread's start is worth.
    fn much(works: &[Work<W>]) -> bool {
        works.iter().map(|work| work.end - work.at).sum::<usize>() >= WORTH_THREADS
    }
}

impl<const W: usize> Ready<W> {
    /// Expands a layer. Gives whether more states than `most` were found; from then on none is taken in, and the rest
    /// of the layer is looked through for violations only.
    fn layer(&self, shards: &mut [Shard<W>], works: &mut [Work<W>], most: usize) -> bool {
        let mut full = false;
        while works.iter().any(|work| work.at < work.end) {
            if works.len() == 1 || !Work::much(works) {
                for (work, shard) in works.iter_mut().zip(&*shards) {
                    self.expand(shard, work, full);
                }
                for (index, shard) in shards.iter_mut().enumerate() {
                    take_in(shard, works, index);
                }
            } else {
                std::thread::scope(|scope| {
                    for (work, shard) in works.iter_mut().zip(&*shards) {
                        scope.spawn(move || self.expand(shard, work, full));
                    }
                });
                std::thread::scope(|scope| {
                    let works = &*works;
                    for (index, shard) in shards.iter_mut().enumerate() {
                        scope.spawn(move || take_in(shard, works, index));
                    }
                });
            }
            works.iter_mut().flat_map(|work| &mut work.boxes).for_each(Vec::clear);
            full = full || shards.iter().map(Shard::len).sum::<usize>() > most;
        }
        full
    }

    /// Expands the next states of a shard.
    fn expand(&self, shard: &Shard<W>, work: &mut Work<W>, only_look: bool) {
        let end = work.end.min(work.at + ROUND);
        let count = work.boxes.len();
        let Work { boxes, recent, room, found, violation, transitions, .. } = work;
        recent.suit(shard.len());
        for index in work.at..end {
            let state = shard.get(index);
            found.clear();
            self.machine.successors(state, room, found);
            *transitions += found.len() as u64;
            for next in found.iter() {
                let Some(after) = self.spec.after(state, next) else {
                    let this = (*state, next.rule);
                    *violation = Some(violation.map_or(this, |least| least.min(this)));
                    continue;
                };
                if only_look {
                    continue;
                }
                let hash = hash(&after);
                if recent.is_new(&after, hash) {
                    boxes[if count == 1 { 0 } else { shard_of(hash, count) }].push(after);
                }
            }
        }
        work.at = end;
    }
}

fn take_in<const W: usize>(shard: &mut Shard<W>, works: &[Work<W>], index: usize) {
    for work in works {
        shard.insert_all(&work.boxes[index]);
    }
}
