//! The product machine: a network whose states are packed into a few words.
//!
//! A component takes as many bits as its number of states needs, and lies within one word. Components that follow from
//! the others ([`crate::follow`]) are not stored: their states are summed up for each state that is expanded.
//!
//! The successors of a state cost as much as there are rules that can happen, nearly: each rule has a *leader*, the one of its
//! components that offers the rule's label in the smallest part of its states (of `lock.t.m` the thread, not the mutex);
//! a leader's state lists the rules that it then leads. What the other components have to agree to, and what the rule makes of
//! them, is one [`Op`] for each word of the state, so that a word is looked at once whatever is in it; a component with many
//! moves of one label has a row of targets instead.
//!
//! Simple model: [`crate::semantics`]; `tests/product.rs` holds the two together.

use crate::compile::{Network, Rule};
use crate::event::{Action, Seen};
use crate::follow::Plan;
use crate::lts::Move;
use crate::pack::{Field, State};

/// In a row: no move from this state.
const NONE: u32 = u32::MAX;
/// In a row, from here on: several moves, this number less `MANY` in `Machine::several`.
const MANY: u32 = 1 << 31;
/// The number of a τ where actions that are seen are numbered.
pub(crate) const TAU: u32 = u32::MAX;
/// A component with more moves of a label than this gets a row of them.
const FEW_MOVES: usize = 4;
/// The moves of a rule's components are combined up to so many ways; the rest get rows.
const FEW_WAYS: usize = 8;
/// So many words of sums are added at a time.
const LANES: usize = 4;

const _: () = assert!(crate::pack::MAX_LOCAL_STATES <= MANY as usize);

/// Where a component's state is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// In the packed state.
    Stored(Field),
    /// In the sum that [`Machine::sum`] makes.
    Follows(Field),
}

/// What a rule asks of a word of the state, and what it makes of it.
#[derive(Clone, Copy, Debug)]
struct Op {
    /// These bits have to be as in `value`.
    mask: u64,
    value: u64,
    /// Only these bits are kept, and then some of them changed.
    keep: u64,
    flip: u64,
}

impl Op {
    /// Asks nothing and changes nothing.
    const NOTHING: Op = Op { mask: 0, value: 0, keep: u64::MAX, flip: 0 };
}

/// What a rule asks of a word of the sums: these bits are as in `value`.
#[derive(Clone, Copy, Debug)]
struct Guard {
    word: u32,
    mask: u64,
    value: u64,
}

/// A component with many moves of a rule's label.
#[derive(Clone, Copy, Debug)]
struct Part {
    field: Field,
    /// The row starts with the target of this state.
    least: u32,
    /// The row, in `Machine::rows`.
    row: u32,
    length: u32,
}

/// A rule that a leader's state leads, in one of the ways that its other components allow.
#[derive(Clone, Copy, Debug)]
struct Entry<const W: usize> {
    /// For each word of the state; the leader is not asked again.
    ops: [Op; W],
    /// The first guard; if there is none, one that asks nothing.
    guard: Guard,
    rule: u32,
    seen: u32,
    /// The further guards.
    guards: (u32, u32),
    /// Of those that follow.
    asked: (u32, u32),
    /// Of those that are stored.
    parts: (u32, u32),
}

/// A component that leads rules.
#[derive(Clone, Copy, Debug)]
struct Leader {
    field: Field,
    /// The entries of its state `s` are from `starts[base + s]` to the next.
    base: u32,
}

/// What a rule takes in the machine, in bytes, roughly, where states have so many words.
pub(crate) fn bytes_a_rule(words: usize) -> usize {
    words * size_of::<Op>() + size_of::<Entry<0>>()
}

/// What a component contributes to the components that follow.
#[derive(Clone, Copy, Debug)]
struct Summand {
    field: Field,
    /// What its state `s` contributes is in `Machine::sums` from `row + s` times the width of a sum.
    row: u32,
}

/// What a state can do next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Successor<const W: usize> {
    /// The rule's number in the network.
    pub(crate) rule: u32,
    /// The number of what is seen, or [`TAU`].
    pub(crate) seen: u32,
    pub(crate) state: State<W>,
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Machine<const W: usize> {
    places: Vec<Place>,
    leaders: Vec<Leader>,
    /// Of each leader the rules that may lead to a state of it: (state, rule), sorted.
    ends: Vec<Vec<(u32, u32)>>,
    starts: Vec<u32>,
    entries: Vec<Entry<W>>,
    guards: Vec<Guard>,
    parts: Vec<Part>,
    rows: Vec<u32>,
    several: Vec<Vec<u32>>,
    summands: Vec<Summand>,
    sums: Vec<[u64; LANES]>,
    /// In each word of a sum the bits that count; its length is the width of a sum.
    masks: Vec<[u64; LANES]>,
    /// What is seen, by its number.
    seen: Vec<Seen>,
    actions: Vec<Action>,
}

impl<const W: usize> Machine<W> {
    /// Builds the machine of a network whose stored components lie in these fields, in their order.
    pub(crate) fn new(net: &Network, plan: &Plan, fields: &[Field]) -> Machine<W> {
        let mut stored = fields.iter();
        let places = plan.follows.iter().zip(&plan.fields).map(|(&follows, &field)| match follows {
            true => Place::Follows(field),
            false => Place::Stored(stored.next().copied().unwrap_or_default()),
        });
        let mut machine = Machine {
            places: places.collect(),
            leaders: Vec::new(),
            ends: Vec::new(),
            starts: Vec::new(),
            entries: Vec::new(),
            guards: Vec::new(),
            parts: Vec::new(),
            rows: Vec::new(),
            several: Vec::new(),
            summands: Vec::new(),
            sums: Vec::new(),
            masks: lanes(&plan.masks).collect(),
            seen: Vec::new(),
            actions: net.rules.iter().map(|rule| rule.action).collect(),
        };
        machine.take_sums(plan);
        machine.take_rules(net, plan);
        machine
    }

    /// Takes over what the components contribute to those that follow.
    fn take_sums(&mut self, plan: &Plan) {
        for (place, sums) in self.places.iter().zip(&plan.sums) {
            if let (Place::Stored(field), false) = (*place, sums.is_empty()) {
                let row = (self.sums.len() / self.masks.len()) as u32;
                self.summands.push(Summand { field, row });
                self.sums.extend(sums.chunks(plan.masks.len()).flat_map(lanes));
            }
        }
    }

    fn take_rules(&mut self, net: &Network, plan: &Plan) {
        let seen = self.number_actions(net);
        let mut led: Vec<Vec<(u32, u32, Entry<W>)>> = vec![Vec::new(); net.components.len()];
        for (number, rule) in net.rules.iter().enumerate() {
            let Some(leader) = plan.leaders[number] else { continue };
            let (component, label) = rule.moves[leader];
            let Place::Stored(field) = self.places[component as usize] else { continue };
            let moves: Vec<Move> = plan.moves(net, component, label).collect();
            for mut entry in self.ways(net, plan, rule, leader) {
                (entry.rule, entry.seen) = (number as u32, seen[number]);
                for &Move { from, to, .. } in &moves {
                    let mut entry = entry;
                    entry.ops[field.word() as usize].flip |= field.placed(from ^ to);
                    led[component as usize].push((from, to, entry));
                }
            }
        }
        for (component, entries) in led.into_iter().enumerate().filter(|(_, entries)| !entries.is_empty()) {
            if let Place::Stored(field) = self.places[component] {
                self.lead(field, net.system(component as u32).states, entries);
            }
        }
    }

    /// The ways in which a rule can happen when its leader agrees. Each way's number is left open.
    fn ways(&mut self, net: &Network, plan: &Plan, rule: &Rule, leader: usize) -> Vec<Entry<W>> {
        let mut guards: Vec<Guard> = Vec::new();
        let (mut asked, mut parts) = (Vec::new(), Vec::new());
        let mut ways = vec![[Op::NOTHING; W]];
        for (index, &(component, label)) in rule.moves.iter().enumerate() {
            if index == leader {
                continue;
            }
            let states = net.system(component).states as usize;
            let moves: Vec<Move> = plan.moves(net, component, label).collect();
            match (self.places[component as usize], &moves[..]) {
                (Place::Follows(field), &[only]) => ask(&mut guards, field, only.from),
                // Its moves have different starts.
                (Place::Follows(_), all) if all.len() == states => {}
                (Place::Follows(field), _) => asked.push(self.row(field, &moves)),
                (Place::Stored(field), all) if constant(all, states) => {
                    ways.iter_mut().for_each(|ops| let_change(ops, field, None, all[0].to));
                }
                (Place::Stored(field), all)
                    if all.len() <= FEW_MOVES && ways.len() * all.len() <= FEW_WAYS =>
                {
                    let more = |mut ops: [Op; W], a_move: &Move| {
                        let_change(&mut ops, field, Some(a_move.from), a_move.to);
                        ops
                    };
                    ways = ways
                        .iter()
                        .flat_map(|ops| all.iter().map(move |a_move| more(*ops, a_move)))
                        .collect();
                }
                (Place::Stored(field), _) => parts.push(self.row(field, &moves)),
            }
        }
        let guard = if guards.is_empty() { Guard { word: 0, mask: 0, value: 0 } } else { guards.remove(0) };
        let guards = append(&mut self.guards, guards);
        let (asked, parts) = (append(&mut self.parts, asked), append(&mut self.parts, parts));
        let entry = |ops| Entry { ops, guard, rule: 0, seen: TAU, guards, asked, parts };
        ways.into_iter().map(entry).collect()
    }

    /// Numbers what is seen in the order of the rules; gives the number for each rule.
    fn number_actions(&mut self, net: &Network) -> Vec<u32> {
        let mut numbers = rustc_hash::FxHashMap::default();
        let mut number = |action: Action| {
            action.seen().map_or(TAU, |seen| {
                *numbers.entry(seen).or_insert_with(|| {
                    self.seen.push(seen);
                    self.seen.len() as u32 - 1
                })
            })
        };
        net.rules.iter().map(|rule| number(rule.action)).collect()
    }

    /// Stores the targets of a component's moves by one label, from the least state that has one to the last.
    fn row(&mut self, field: Field, moves: &[Move]) -> Part {
        let row = self.rows.len() as u32;
        let (Some(first), Some(last)) = (moves.first(), moves.last()) else {
            return Part { field, least: 0, row, length: 0 };
        };
        let (least, length) = (first.from, last.from - first.from + 1);
        self.rows.resize(self.rows.len() + length as usize, NONE);
        for same in moves.chunk_by(|one, other| one.from == other.from) {
            let place = (row + same[0].from - least) as usize;
            self.rows[place] = match same {
                [only] => only.to,
                _ => {
                    self.several.push(same.iter().map(|a_move| a_move.to).collect());
                    MANY + (self.several.len() as u32 - 1)
                }
            };
        }
        Part { field, least, row, length }
    }

    fn lead(&mut self, field: Field, states: u32, mut entries: Vec<(u32, u32, Entry<W>)>) {
        entries.sort_by_key(|&(from, ..)| from);
        let mut ends: Vec<(u32, u32)> = entries.iter().map(|&(_, to, entry)| (to, entry.rule)).collect();
        ends.sort_unstable();
        ends.dedup();
        self.ends.push(ends);
        let base = self.starts.len() as u32;
        self.leaders.push(Leader { field, base });
        let mut next = entries.iter().peekable();
        for state in 0..=states {
            self.starts.push(self.entries.len() as u32);
            while let Some((.., entry)) = next.next_if(|(from, ..)| *from == state) {
                self.entries.push(*entry);
            }
        }
    }

    /// The first state: every component in its own.
    pub(crate) fn first(&self) -> State<W> {
        [0; W]
    }

    /// What is seen, by its number.
    pub(crate) fn seen(&self) -> &[Seen] {
        &self.seen
    }

    /// The action of a rule.
    pub(crate) fn action(&self, rule: u32) -> Action {
        self.actions[rule as usize]
    }

    /// Where a component is.
    pub(crate) fn place(&self, component: u32) -> Place {
        self.places[component as usize]
    }

    /// Room for a sum.
    pub(crate) fn room(&self) -> Vec<u64> {
        // At least one word: each entry has a guard.
        vec![0; self.masks.len().max(1) * LANES]
    }

    /// The states of the components that follow, in this state.
    pub(crate) fn sum(&self, state: &State<W>, sum: &mut [u64]) {
        let width = self.masks.len();
        let sum = &mut sum[..width * LANES];
        for (lane, (sum, masks)) in sum.as_chunks_mut::<LANES>().0.iter_mut().zip(&self.masks).enumerate() {
            *sum = [0; LANES];
            for summand in &self.summands {
                let more = &self.sums[(summand.row + summand.field.get(state)) as usize * width + lane];
                for ((sum, more), mask) in sum.iter_mut().zip(more).zip(masks) {
                    *sum = (*sum + more) & mask;
                }
            }
        }
    }

    /// Adds the successors of a state to a list. The room is for a sum.
    pub(crate) fn successors(&self, state: &State<W>, room: &mut [u64], found: &mut Vec<Successor<W>>) {
        self.sum(state, room);
        for leader in &self.leaders {
            let at = (leader.base + leader.field.get(state)) as usize;
            for entry in &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize] {
                let Some(next) = self.agreed(entry, state, room) else { continue };
                if entry.parts.0 == entry.parts.1 {
                    found.push(Successor { rule: entry.rule, seen: entry.seen, state: next });
                } else {
                    self.branch(state, entry, next, found);
                }
            }
        }
    }

    /// What a rule makes of a state but for its components with rows, if all of those agree that are asked here.
    /// All words are asked before there is a branch: whether a rule can happen is hard to foresee.
    #[inline(always)]
    fn agreed(&self, entry: &Entry<W>, state: &State<W>, room: &[u64]) -> Option<State<W>> {
        let wrong = |guard: &Guard| room[guard.word as usize] & guard.mask ^ guard.value;
        let mut disagree = wrong(&entry.guard);
        let mut next = *state;
        for (word, op) in next.iter_mut().zip(&entry.ops) {
            disagree |= *word & op.mask ^ op.value;
            *word = *word & op.keep ^ op.flip;
        }
        let further = || self.guards[range(entry.guards)].iter().all(|guard| wrong(guard) == 0);
        let agrees = |part: &Part| self.target(part, part.field.of(room)) != NONE;
        let asked = || self.parts[range(entry.asked)].iter().all(agrees);
        (disagree == 0 && further() && asked()).then_some(next)
    }

    fn target(&self, part: &Part, now: u32) -> u32 {
        let offset = now.wrapping_sub(part.least);
        if offset < part.length { self.rows[(part.row + offset) as usize] } else { NONE }
    }

    /// Goes on with a rule some of whose components have rows, in each way that they allow.
    fn branch(&self, state: &State<W>, entry: &Entry<W>, next: State<W>, found: &mut Vec<Successor<W>>) {
        let first = found.len();
        found.push(Successor { rule: entry.rule, seen: entry.seen, state: next });
        for part in &self.parts[range(entry.parts)] {
            let now = part.field.get(state);
            let target = self.target(part, now);
            if target == NONE {
                found.truncate(first);
                return;
            }
            let one = [target];
            let targets = if target < MANY { &one[..] } else { &self.several[(target - MANY) as usize] };
            let end = found.len();
            for &target in &targets[1..] {
                for index in first..end {
                    let mut other = found[index];
                    part.field.change(&mut other.state, now, target);
                    found.push(other);
                }
            }
            for successor in &mut found[first..end] {
                part.field.change(&mut successor.state, now, targets[0]);
            }
        }
    }

    /// Of each leader, the rules that may have led to a state of it: (state, rule), sorted.
    pub(crate) fn ends(&self) -> &[Vec<(u32, u32)>] {
        &self.ends
    }

    /// The state of each leader.
    pub(crate) fn led<'a>(&'a self, state: &'a State<W>) -> impl Iterator<Item = u32> + 'a {
        self.leaders.iter().map(|leader| leader.field.get(state))
    }
}

/// A vector's words, some at a time, filled up with zeros.
fn lanes(words: &[u64]) -> impl Iterator<Item = [u64; LANES]> + '_ {
    words.chunks(LANES).map(|part| {
        let mut lanes = [0; LANES];
        lanes[..part.len()].copy_from_slice(part);
        lanes
    })
}

/// Appends to a list and gives the place.
fn append<T>(list: &mut Vec<T>, more: Vec<T>) -> (u32, u32) {
    let first = list.len() as u32;
    list.extend(more);
    (first, list.len() as u32)
}

fn range((from, to): (u32, u32)) -> std::ops::Range<usize> {
    from as usize..to as usize
}

/// Whether a component of so many states has one move from each state, all to one state.
fn constant(moves: &[Move], states: usize) -> bool {
    moves.len() == states
        && moves.iter().zip(0..).all(|(a_move, from)| (a_move.from, a_move.to) == (from, moves[0].to))
}

/// Asks for a field's content.
fn ask(guards: &mut Vec<Guard>, field: Field, value: u32) {
    let word = field.word();
    let same = guards.iter_mut().find(|guard| guard.word == word);
    let (mask, value) = (field.bits(), field.placed(value));
    match same {
        Some(guard) => (guard.mask, guard.value) = (guard.mask | mask, guard.value | value),
        None => guards.push(Guard { word, mask, value }),
    }
}

/// Lets a field change, from any content or from one.
fn let_change<const W: usize>(ops: &mut [Op; W], field: Field, from: Option<u32>, to: u32) {
    let op = &mut ops[field.word() as usize];
    match from {
        Some(from) => {
            op.mask |= field.bits();
            op.value |= field.placed(from);
            op.flip |= field.placed(from ^ to);
        }
        None => {
            op.keep &= !field.bits();
            op.flip |= field.placed(to);
        }
    }
}
