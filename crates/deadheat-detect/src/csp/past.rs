//! What has to have happened before an operation, as counts by thread: a cheap reason why two accesses cannot meet.
//!
//! For `csp=control`, where a read's writer comes first in some orders only. Each operation has two pasts: what comes before it
//! in every order that has it, and in every order that has it untainted. Of an operation that must not be tainted they are the same.
//!
//! Cost: twice the threads for each operation.

use super::model::{At, Model, Target};

/// The pasts of all operations of a model.
#[derive(Debug)]
pub(super) struct Pasts {
    width: usize,
    /// By thread: where its operations begin.
    bases: Vec<usize>,
    /// By operation and thread: how many of the thread's come with it.
    any: Vec<u32>,
    /// The same where it is not tainted.
    clean: Vec<u32>,
}

impl Pasts {
    /// Finds them.
    pub(super) fn new(model: &Model) -> Self {
        let mut ops: Vec<At> = Vec::new();
        let mut bases = Vec::new();
        for (thread, row) in (0..).zip(&model.rows) {
            bases.push(ops.len());
            ops.extend((0..row.len() as u32).map(|at| (thread, at)));
        }
        let width = model.threads();
        let none = vec![0; ops.len() * width];
        let mut pasts = Self { width, bases, any: none.clone(), clean: none };
        ops.sort_unstable_by_key(|&at| model.op(at).event);
        for at in ops {
            pasts.add(model, at);
        }
        pasts
    }

    fn row(&self, (thread, at): At) -> std::ops::Range<usize> {
        let row = (self.bases[thread as usize] + at as usize) * self.width;
        row..row + self.width
    }

    /// Adds an operation, behind all that come before it in the run.
    fn add(&mut self, model: &Model, at: At) {
        let (mut any, mut clean) = (vec![0; self.width], vec![0; self.width]);
        any[at.0 as usize] = at.1 + 1;
        let last = at.1.checked_sub(1).map(|last| (at.0, last));
        for &before in last.iter().chain(model.needs(at)) {
            join(&mut any, &self.any[self.row(before)]);
        }
        for &followed in last.iter().chain(model.follows(at)) {
            join(&mut clean, &self.clean[self.row(followed)]);
        }
        for value in model.reads(at) {
            let held = model.values[value as usize];
            let Some(setter) = held.setter else { continue };
            let past = if held.written { &self.clean } else { &self.any };
            join(&mut clean, &past[self.row(setter)]);
        }
        join(&mut clean, &any);
        let row = self.row(at);
        let decides = model.op(at).decides;
        self.any[row.clone()].copy_from_slice(if decides { &clean } else { &any });
        self.clean[row].copy_from_slice(&clean);
    }

    /// Whether an access comes before another one in every order that comes to that.
    pub(super) fn is_before(&self, model: &Model, access: Target, other: Target) -> bool {
        let last = other.at.checked_sub(1).map(|last| (other.thread, last));
        let mut before = last.iter().chain(model.target_needs(other));
        before.any(|&before| self.any[self.row(before)][access.thread as usize] > access.at)
    }
}

fn join(mine: &mut [u32], theirs: &[u32]) {
    for (mine, &theirs) in mine.iter_mut().zip(theirs) {
        *mine = (*mine).max(theirs);
    }
}
