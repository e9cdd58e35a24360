//! Which stretches of memory decide what orders there are.
//!
//! A byte's reads have to see their writes, and its accesses their block. Where what always comes before what ensures that
//! already, there is nothing to keep track of; but of what a thread wrote that may itself have read otherwise.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::Form;
use crate::run::{Cell, Number, Run, Use};

/// What an event does to a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Touch {
    pub(super) event: Number,
    pub(super) tests: bool,
    pub(super) sets: bool,
    /// Whether it sets it as a new life of the memory begins, not by a write.
    pub(super) begins: bool,
}

/// A register that is needed.
#[derive(Debug)]
pub(super) struct Needed {
    pub(super) address: u64,
    /// Whether it stands for the block, not for the value.
    pub(super) block: bool,
    pub(super) touches: Vec<Touch>,
}

/// The registers that some events of a run need; those for values only if reads see certain writes.
pub(super) fn needed(run: &Run, window: &Range<Number>, form: Form) -> Vec<Needed> {
    let mut known: FxHashMap<Vec<Touch>, ()> = FxHashMap::default();
    let mut needed = Vec::new();
    for cell in &run.cells {
        for block in [true, false] {
            if !block && form == Form::Paper {
                continue;
            }
            let touches = touches(cell, window, block);
            let told = form == Form::Control && !block && is_handed_on(run, &touches);
            if is_ordered(run, &touches) && !told || known.contains_key(&touches) {
                continue;
            }
            known.insert(touches.clone(), ());
            needed.push(Needed { address: cell.address, block, touches });
        }
    }
    needed
}

/// The uses of a cell in a window.
pub(super) fn uses<'a>(cell: &'a Cell, window: &Range<Number>) -> &'a [Use] {
    let from = cell.uses.partition_point(|at| at.event < window.start);
    let to = cell.uses.partition_point(|at| at.event < window.end);
    &cell.uses[from..to]
}

fn touches(cell: &Cell, window: &Range<Number>, block: bool) -> Vec<Touch> {
    let lives = cell.lives.iter().copied().filter(|life| window.contains(life));
    if block && lives.clone().next().is_none() {
        return Vec::new();
    }
    let mut touches: Vec<Touch> = Vec::new();
    let accesses = uses(cell, window).iter().filter(|at| !at.birth);
    touches.extend(accesses.map(|at| Touch {
        event: at.event,
        tests: block || at.mode.reads(),
        sets: !block && at.mode.writes(),
        begins: false,
    }));
    for life in lives {
        match touches.binary_search_by_key(&life, |touch| touch.event) {
            Ok(at) => (touches[at].sets, touches[at].begins) = (true, true),
            Err(at) => touches.insert(at, Touch { event: life, tests: false, sets: true, begins: true }),
        }
    }
    touches
}

/// Whether a thread reads what another one wrote.
fn is_handed_on(run: &Run, touches: &[Touch]) -> bool {
    let mut writer = None;
    touches.iter().any(|touch| {
        let (thread, _) = run.place(touch.event);
        let handed_on = touch.tests && writer.is_some_and(|writer| writer != thread);
        if touch.sets {
            writer = Some(thread).filter(|_| !touch.begins);
        }
        handed_on
    })
}

/// Whether each test comes behind what it sees and before what it does not, in every order.
fn is_ordered(run: &Run, touches: &[Touch]) -> bool {
    if !touches.iter().any(|touch| touch.tests) || !touches.iter().any(|touch| touch.sets) {
        return true;
    }
    let mut set: Option<Number> = None;
    let mut tests: Vec<Number> = Vec::new();
    for touch in touches {
        let behind = |&one: &Number| run.before(one, touch.event);
        if !set.iter().all(behind) || touch.sets && !tests.iter().all(behind) {
            return false;
        }
        if touch.sets {
            set = Some(touch.event);
            tests.clear();
        }
        if touch.tests {
            let (thread, _) = run.place(touch.event);
            tests.retain(|&other| run.place(other).0 != thread);
            tests.push(touch.event);
        }
    }
    true
}
