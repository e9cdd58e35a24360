//! Which stretches of memory decide what orders there are.
//!
//! A byte's reads have to see their writes, and its accesses their block. Where what always comes before what ensures that
//! already, there is nothing to keep track of.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::run::{Cell, Number, Run, Use};

/// What an event does to a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Touch {
    pub(super) event: Number,
    pub(super) tests: bool,
    pub(super) sets: bool,
}

/// A register that is needed.
#[derive(Debug)]
pub(super) struct Needed {
    pub(super) address: u64,
    /// Whether it stands for the block, not for the value.
    pub(super) block: bool,
    pub(super) touches: Vec<Touch>,
}

/// The registers that some events of a run need; those for values only if reads keep their `writers`.
pub(super) fn needed(run: &Run, window: &Range<Number>, writers: bool) -> Vec<Needed> {
    let mut known: FxHashMap<Vec<Touch>, ()> = FxHashMap::default();
    let mut needed = Vec::new();
    for cell in &run.cells {
        for block in [true, false] {
            if !block && !writers {
                continue;
            }
            let touches = touches(cell, window, block);
            if is_ordered(run, &touches) || known.contains_key(&touches) {
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
    }));
    for life in lives {
        match touches.binary_search_by_key(&life, |touch| touch.event) {
            Ok(at) => touches[at].sets = true,
            Err(at) => touches.insert(at, Touch { event: life, tests: false, sets: true }),
        }
    }
    touches
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
