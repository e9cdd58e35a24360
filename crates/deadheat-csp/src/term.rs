//! Process terms: the syntax of the algebra, over interned events.
//!
//! Terms are values of a [`Terms`] and shared: the same term built twice is the same [`Term`], so that a
//! state of a process can be recognised by comparing two numbers. Recursion goes through named processes
//! ([`Terms::declare`], [`Terms::define`], [`Terms::call`]); parameters are no part of it, since each
//! instance of a parametrised definition is a process of its own here.

use rustc_hash::FxHashMap;

use crate::event::{Event, Events};

/// A process term of a [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Term(u32);

/// A named process of a [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Process(u32);

/// A set of events of a [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Set(u32);

/// A renaming of events of a [`Terms`]: a relation, an event may become several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Renaming(u32);

/// What a term is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// `STOP`: does nothing.
    Stop,
    /// `SKIP`: terminates.
    Skip,
    /// Ω: has terminated. Nobody writes it.
    Omega,
    /// `a -> P`
    Prefix(Event, Term),
    /// `P [] Q [] …`: the first event decides.
    External(Box<[Term]>),
    /// `P |~| Q |~| …`: decides by itself.
    Internal(Box<[Term]>),
    /// `P [|A|] Q`: events of the set together, all others each by itself. With the empty set `P ||| Q`.
    Parallel(Term, Set, Term),
    /// `P [A||B] Q`: each does events of its set only, those in both sets together.
    Alphabetised(Term, Set, Set, Term),
    /// `P \ A`: events of the set become τ.
    Hide(Term, Set),
    /// `P [[a <- b]]`
    Rename(Term, Renaming),
    /// `P /\ Q`: the first event of Q ends P.
    Interrupt(Term, Term),
    /// `P ; Q`: Q when P has terminated.
    Sequence(Term, Term),
    /// What the named process is defined as.
    Call(Process),
}

/// All terms, events, sets and named processes of a model.
#[derive(Clone, Default, Debug)]
pub struct Terms {
    /// The events.
    pub events: Events,
    nodes: Vec<Node>,
    ids: FxHashMap<Node, Term>,
    sets: Interner<Event>,
    renamings: Interner<(Event, Event)>,
    processes: Vec<(Box<str>, Option<Term>)>,
}

/// Numbers for sorted slices.
#[derive(Clone, Debug)]
struct Interner<T> {
    values: Vec<Box<[T]>>,
    ids: FxHashMap<Box<[T]>, u32>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: Vec::new(), ids: FxHashMap::default() }
    }
}

impl<T: Clone + Ord + std::hash::Hash> Interner<T> {
    fn intern(&mut self, mut values: Vec<T>) -> u32 {
        values.sort_unstable();
        values.dedup();
        let values: Box<[T]> = values.into();
        if let Some(&id) = self.ids.get(&values) {
            return id;
        }
        let id = number(self.values.len());
        self.values.push(values.clone());
        self.ids.insert(values, id);
        id
    }
}

/// Ids are 32 bits wide; the memory for more would have ended long before.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl Terms {
    /// No terms yet.
    pub fn new() -> Terms {
        Terms::default()
    }

    /// The event of this name.
    pub fn event(&mut self, name: &str) -> Event {
        self.events.intern(name)
    }

    /// The set of these events.
    pub fn set(&mut self, events: impl IntoIterator<Item = Event>) -> Set {
        Set(self.sets.intern(events.into_iter().collect()))
    }

    /// The events of a set, ascending.
    pub fn members(&self, set: Set) -> &[Event] {
        &self.sets.values[set.0 as usize]
    }

    /// Whether the set has the event.
    pub fn contains(&self, set: Set, event: Event) -> bool {
        self.members(set).binary_search(&event).is_ok()
    }

    /// The renaming with these pairs (old, new). An event in no pair keeps its name.
    pub fn renaming(&mut self, pairs: impl IntoIterator<Item = (Event, Event)>) -> Renaming {
        Renaming(self.renamings.intern(pairs.into_iter().collect()))
    }

    /// What the event becomes; nothing if it keeps its name.
    pub fn renamed(&self, renaming: Renaming, event: Event) -> &[(Event, Event)] {
        let pairs = &self.renamings.values[renaming.0 as usize];
        let from = pairs.partition_point(|pair| pair.0 < event);
        let to = pairs.partition_point(|pair| pair.0 <= event);
        &pairs[from..to]
    }

    /// What a term is made of.
    pub fn node(&self, term: Term) -> &Node {
        &self.nodes[term.0 as usize]
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no term yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn make(&mut self, node: Node) -> Term {
        if let Some(&term) = self.ids.get(&node) {
            return term;
        }
        let term = Term(number(self.nodes.len()));
        self.nodes.push(node.clone());
        self.ids.insert(node, term);
        term
    }

    /// `STOP`
    pub fn stop(&mut self) -> Term {
        self.make(Node::Stop)
    }

    /// `SKIP`
    pub fn skip(&mut self) -> Term {
        self.make(Node::Skip)
    }

    pub(crate) fn omega(&mut self) -> Term {
        self.make(Node::Omega)
    }

    /// `a -> P`
    pub fn prefix(&mut self, event: Event, then: Term) -> Term {
        self.make(Node::Prefix(event, then))
    }

    /// `a -> b -> … -> P`
    pub fn chain(&mut self, events: &[Event], then: Term) -> Term {
        events.iter().rev().fold(then, |then, &event| self.prefix(event, then))
    }

    /// `P [] Q [] …`; of one term that term, of none `STOP`.
    pub fn external(&mut self, choices: &[Term]) -> Term {
        match choices {
            [] => self.stop(),
            &[only] => only,
            _ => self.make(Node::External(choices.into())),
        }
    }

    /// `P |~| Q |~| …`; of one term that term, of none `STOP`.
    pub fn internal(&mut self, choices: &[Term]) -> Term {
        match choices {
            [] => self.stop(),
            &[only] => only,
            _ => self.make(Node::Internal(choices.into())),
        }
    }

    /// `P ||| Q`
    pub fn interleave(&mut self, left: Term, right: Term) -> Term {
        let nothing = self.set([]);
        self.parallel(left, nothing, right)
    }

    /// `P ||| Q ||| …`, as a balanced tree; of none `SKIP`.
    pub fn interleave_all(&mut self, terms: &[Term]) -> Term {
        let nothing = self.set([]);
        self.parallel_all(nothing, terms)
    }

    /// `P [|A|] Q [|A|] …`, as a balanced tree; of none `SKIP`.
    pub fn parallel_all(&mut self, set: Set, terms: &[Term]) -> Term {
        match terms {
            [] => self.skip(),
            &[only] => only,
            _ => {
                let (left, right) = terms.split_at(terms.len() / 2);
                let left = self.parallel_all(set, left);
                let right = self.parallel_all(set, right);
                self.parallel(left, set, right)
            }
        }
    }

    /// `P [|A|] Q`
    pub fn parallel(&mut self, left: Term, set: Set, right: Term) -> Term {
        self.make(Node::Parallel(left, set, right))
    }

    /// `P [A||B] Q`
    pub fn alphabetised(&mut self, left: Term, lefts: Set, rights: Set, right: Term) -> Term {
        self.make(Node::Alphabetised(left, lefts, rights, right))
    }

    /// `P \ A`
    pub fn hide(&mut self, term: Term, set: Set) -> Term {
        self.make(Node::Hide(term, set))
    }

    /// `P [[a <- b, …]]`
    pub fn rename(&mut self, term: Term, renaming: Renaming) -> Term {
        self.make(Node::Rename(term, renaming))
    }

    /// `P /\ Q`
    pub fn interrupt(&mut self, term: Term, by: Term) -> Term {
        self.make(Node::Interrupt(term, by))
    }

    /// `P ; Q`
    pub fn sequence(&mut self, first: Term, second: Term) -> Term {
        self.make(Node::Sequence(first, second))
    }

    /// A new named process, not defined yet. The name is for people: two processes may share it.
    pub fn declare(&mut self, name: &str) -> Process {
        self.processes.push((name.into(), None));
        Process(number(self.processes.len() - 1))
    }

    /// Says what a named process is.
    pub fn define(&mut self, process: Process, body: Term) {
        self.processes[process.0 as usize].1 = Some(body);
    }

    /// The named process as a term.
    pub fn call(&mut self, process: Process) -> Term {
        self.make(Node::Call(process))
    }

    /// The name of a process.
    pub fn process_name(&self, process: Process) -> &str {
        &self.processes[process.0 as usize].0
    }

    /// What a process is defined as, if it is.
    pub fn body(&self, process: Process) -> Option<Term> {
        self.processes[process.0 as usize].1
    }
}
