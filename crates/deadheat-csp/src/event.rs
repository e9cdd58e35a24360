//! Events and what a process does: interned names, the two actions that are no events, sets.
//!
//! An event is a number; its name is kept for people and for text. Invariant: two names are the same
//! event exactly if they are the same text, and events are numbered in the order of their first mention,
//! so that the same model gives the same numbers.

use rustc_hash::FxHashMap;

/// An event, interned in an [`Events`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Event(pub(crate) u32);

impl Event {
    /// Its number: events are numbered from 0 in the order of their first mention.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The events of a model, by name.
#[derive(Clone, Default, Debug)]
pub struct Events {
    names: Vec<Box<str>>,
    ids: FxHashMap<Box<str>, Event>,
}

impl Events {
    /// The event of this name, new if nobody has named it before.
    pub fn intern(&mut self, name: &str) -> Event {
        if let Some(&event) = self.ids.get(name) {
            return event;
        }
        let event = Event(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.into());
        self.ids.insert(name.into(), event);
        event
    }

    /// The event of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Event> {
        self.ids.get(name).copied()
    }

    /// The event's name.
    pub fn name(&self, event: Event) -> &str {
        &self.names[event.index()]
    }

    /// How many events have been named.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no event has been named.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// What a process does in one step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// A step that nobody sees (τ). If it is one because an event was hidden: that event, by the name that
    /// it had where it was hidden. Processes do not differ by it; counterexamples tell it.
    Tau(Option<Event>),
    /// Successful termination (✓).
    Tick,
    /// An event.
    Event(Event),
}

impl Action {
    /// What is seen of it: nothing of a τ.
    pub fn seen(self) -> Option<Seen> {
        match self {
            Action::Tau(_) => None,
            Action::Tick => Some(Seen::Tick),
            Action::Event(event) => Some(Seen::Event(event)),
        }
    }
}

/// One element of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Seen {
    /// Successful termination.
    Tick,
    /// An event.
    Event(Event),
}
