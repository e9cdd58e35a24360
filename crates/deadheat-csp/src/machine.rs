//! The product machine: a network whose states are packed into a few words.
//!
//! A component takes as many bits as its number of states needs, and lies within one word. The successors of a
//! state cost as much as there are rules that can happen, nearly: each rule has a *leader*, the one of its
//! components that offers the rule's label in the smallest part of its states (of `lock.t.m` the thread, not the mutex);
//! a leader's state lists the rules that it then leads, and for each of them the others are asked by one look into a
//! row of their targets.
//!
//! Simple model: [`crate::semantics`]; `tests/product.rs` holds the two together.

use crate::compile::{Network, Rule};
use crate::event::{Action, Seen};
use crate::lts::{Lts, Move};

/// A product's state has at most so many bits.
pub const MAX_BITS: usize = 64 * MAX_WORDS;
/// The same in words.
pub(crate) const MAX_WORDS: usize = 64;
/// A component has at most so many states.
pub(crate) const MAX_LOCAL_STATES: usize = 1 << 30;

/// In a row: no move from this state.
const NONE: u32 = u32::MAX;
/// In a row, from here on: several moves, this number less `MANY` in `Machine::several`.
const MANY: u32 = 1 << 31;
/// The number of a τ where actions that are seen are numbered.
pub(crate) const TAU: u32 = u32::MAX;

const _: () = assert!(MAX_LOCAL_STATES <= MANY as usize);

/// A packed state.
pub(crate) type State<const W: usize> = [u64; W];

/// Where in a packed state a component is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Field {
    word: u32,
    shift: u32,
    mask: u64,
}

impl Field {
    /// The component's state.
    pub(crate) fn get<const W: usize>(self, state: &State<W>) -> u32 {
        ((state[self.index::<W>()] >> self.shift) & self.mask) as u32
    }

    /// Changes the component's state from one to another.
    pub(crate) fn change<const W: usize>(self, state: &mut State<W>, from: u32, to: u32) {
        state[self.index::<W>()] ^= u64::from(from ^ to) << self.shift;
    }

    fn index<const W: usize>(self) -> usize {
        if W == 1 { 0 } else { self.word as usize }
    }
}

/// Where everything is.
pub(crate) struct Layout {
    /// Of each count of states that was asked for, in that order.
    pub(crate) fields: Vec<Field>,
    /// The words needed, at least 1.
    pub(crate) words: usize,
    /// The bits needed.
    pub(crate) bits: usize,
}

/// Places one field for each count of states, the first word with room for it.
pub(crate) fn layout(counts: impl IntoIterator<Item = usize>) -> Layout {
    let mut used: Vec<u32> = vec![0];
    let (mut fields, mut bits) = (Vec::new(), 0);
    for count in counts {
        let width = usize::BITS - count.saturating_sub(1).leading_zeros();
        bits += width as usize;
        let word = used.iter().position(|&used| used + width <= u64::BITS).unwrap_or_else(|| {
            used.push(0);
            used.len() - 1
        });
        // A field without bits stands at shift 0, where its mask of nothing gives 0.
        let shift = if width == 0 { 0 } else { used[word] };
        fields.push(Field { word: word as u32, shift, mask: (1u64 << width) - 1 });
        used[word] += width;
    }
    Layout { fields, words: used.len(), bits }
}

/// A component that has to agree with a rule's leader.
#[derive(Clone, Copy, Debug)]
struct Part {
    field: Field,
    /// The row starts with the target of this state.
    least: u32,
    /// The row, in `Machine::rows`.
    row: u32,
    length: u32,
}

/// A rule that a leader's state leads.
#[derive(Clone, Copy, Debug)]
struct Entry {
    rule: u32,
    /// The leader's state afterwards.
    to: u32,
    parts: (u32, u32),
    seen: u32,
}

/// A component that leads rules.
#[derive(Clone, Copy, Debug)]
struct Leader {
    field: Field,
    /// The entries of its state `s` are from `starts[base + s]` to the next.
    base: u32,
}

/// What a state can do next, as [`Machine::successors`] tells it.
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
    fields: Vec<Field>,
    leaders: Vec<Leader>,
    starts: Vec<u32>,
    entries: Vec<Entry>,
    parts: Vec<Part>,
    rows: Vec<u32>,
    several: Vec<Vec<u32>>,
    /// What is seen, by its number.
    seen: Vec<Seen>,
    actions: Vec<Action>,
}

impl<const W: usize> Machine<W> {
    /// Builds the machine of a network whose components lie in these fields.
    pub(crate) fn new(net: &Network, fields: &[Field]) -> Machine<W> {
        let mut machine = Machine {
            fields: fields.to_vec(),
            leaders: Vec::new(),
            starts: Vec::new(),
            entries: Vec::new(),
            parts: Vec::new(),
            rows: Vec::new(),
            several: Vec::new(),
            seen: Vec::new(),
            actions: net.rules.iter().map(|rule| rule.action).collect(),
        };
        let seen = machine.number_actions(net);
        let labels: Vec<Labels> = net.systems.iter().map(Labels::new).collect();
        let of = |component: u32| &labels[net.components[component as usize] as usize];
        let mut led: Vec<Vec<(u32, Entry)>> = vec![Vec::new(); net.components.len()];
        // Of the rows of one component and label there is one copy: rules share it.
        let mut known = rustc_hash::FxHashMap::default();
        for (number, rule) in net.rules.iter().enumerate() {
            let Some(leader) = leader(net, &labels, rule) else { continue };
            let first = machine.parts.len() as u32;
            for (index, &(component, label)) in rule.moves.iter().enumerate() {
                if index != leader {
                    let part = *known.entry((component, label)).or_insert_with(|| {
                        let field = fields[component as usize];
                        machine.row(field, of(component).moves(net.system(component), label))
                    });
                    machine.parts.push(part);
                }
            }
            let parts = (first, machine.parts.len() as u32);
            let (component, label) = rule.moves[leader];
            for index in of(component).range(label) {
                let a_move = of(component).nth(net.system(component), index);
                let entry = Entry { rule: number as u32, to: a_move.to, parts, seen: seen[number] };
                led[component as usize].push((a_move.from, entry));
            }
        }
        for (component, entries) in led.into_iter().enumerate().filter(|(_, entries)| !entries.is_empty()) {
            machine.lead(fields[component], net.system(component as u32).states, entries);
        }
        machine
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
    fn row(&mut self, field: Field, moves: impl Iterator<Item = Move>) -> Part {
        let moves: Vec<Move> = moves.collect();
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

    fn lead(&mut self, field: Field, states: u32, mut entries: Vec<(u32, Entry)>) {
        entries.sort_by_key(|&(from, _)| from);
        let base = self.starts.len() as u32;
        self.leaders.push(Leader { field, base });
        let mut next = entries.iter().peekable();
        for state in 0..=states {
            self.starts.push(self.entries.len() as u32);
            while let Some((_, entry)) = next.next_if(|(from, _)| *from == state) {
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

    /// Tells each successor of a state.
    pub(crate) fn successors(&self, state: &State<W>, mut tell: impl FnMut(Successor<W>)) {
        for leader in &self.leaders {
            let now = leader.field.get(state);
            let at = (leader.base + now) as usize;
            let range = self.starts[at] as usize..self.starts[at + 1] as usize;
            'rules: for entry in &self.entries[range] {
                let mut next = *state;
                leader.field.change(&mut next, now, entry.to);
                let (first, end) = entry.parts;
                for index in first..end {
                    let part = &self.parts[index as usize];
                    let now = part.field.get(state);
                    let target = self.target(part, now);
                    if target >= MANY {
                        if target != NONE {
                            self.branch(state, entry, (index, end), next, &mut tell);
                        }
                        continue 'rules;
                    }
                    part.field.change(&mut next, now, target);
                }
                tell(Successor { rule: entry.rule, seen: entry.seen, state: next });
            }
        }
    }

    fn target(&self, part: &Part, now: u32) -> u32 {
        let offset = now.wrapping_sub(part.least);
        if offset < part.length { self.rows[(part.row + offset) as usize] } else { NONE }
    }

    /// Goes on with a rule from the part on that has several moves.
    #[cold]
    fn branch(
        &self,
        state: &State<W>,
        entry: &Entry,
        (index, end): (u32, u32),
        next: State<W>,
        tell: &mut impl FnMut(Successor<W>),
    ) {
        let mut open = vec![(index, next)];
        while let Some((index, next)) = open.pop() {
            if index == end {
                tell(Successor { rule: entry.rule, seen: entry.seen, state: next });
                continue;
            }
            let part = &self.parts[index as usize];
            let now = part.field.get(state);
            let target = self.target(part, now);
            let one = [target];
            let targets = match target {
                NONE => &[][..],
                MANY.. => &self.several[(target - MANY) as usize],
                _ => &one,
            };
            for &target in targets {
                let mut next = next;
                part.field.change(&mut next, now, target);
                open.push((index + 1, next));
            }
        }
    }

    /// The field of a component.
    pub(crate) fn field(&self, component: u32) -> Field {
        self.fields[component as usize]
    }
}

/// The moves of a system by label.
struct Labels {
    /// Indices of moves, sorted by label, then by state.
    order: Vec<u32>,
    /// Where a label's moves start in `order`; one more than there are labels.
    starts: Vec<u32>,
}

impl Labels {
    fn new(lts: &Lts) -> Labels {
        let mut order: Vec<u32> = (0..lts.moves.len() as u32).collect();
        order.sort_by_key(|&index| lts.moves[index as usize].label);
        let labels = order.last().map_or(0, |&last| lts.moves[last as usize].label + 1);
        let before = |label| order.partition_point(|&index| lts.moves[index as usize].label < label) as u32;
        let starts = (0..=labels).map(before).collect();
        Labels { order, starts }
    }

    fn range(&self, label: u32) -> std::ops::Range<usize> {
        let at = label as usize;
        if at + 1 >= self.starts.len() {
            return 0..0;
        }
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    fn nth(&self, lts: &Lts, index: usize) -> Move {
        lts.moves[self.order[index] as usize]
    }

    fn moves<'a>(&'a self, lts: &'a Lts, label: u32) -> impl Iterator<Item = Move> + 'a {
        self.range(label).map(|index| self.nth(lts, index))
    }
}

/// Which of a rule's moves leads: the one that is offered in the smallest part of its component's states. None
/// where one of the labels is never offered: the rule cannot happen.
fn leader(net: &Network, labels: &[Labels], rule: &Rule) -> Option<usize> {
    let mut best: Option<(usize, u64, u64)> = None;
    for (index, &(component, label)) in rule.moves.iter().enumerate() {
        let offered = labels[net.components[component as usize] as usize].range(label).len() as u64;
        let states = u64::from(net.system(component).states);
        if offered == 0 {
            return None;
        }
        if best.is_none_or(|(_, least, of)| offered * of < least * states) {
            best = Some((index, offered, states));
        }
    }
    best.map(|(index, ..)| index)
}
