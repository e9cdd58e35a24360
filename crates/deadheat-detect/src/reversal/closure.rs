//! What must, and what had better, come before two accesses.

use crate::run::{Number, Run};

/// Which critical sections are closed, if their ends need neither access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Closing {
    /// Of two that exclude each other the one that began first, if it can be, else the other.
    Needed,
    /// All.
    All,
}

/// The least cut that has what the threads of two accesses did before them, whatever that needs, and the ends of
/// sections; `None` if one access needs the other, or a lock would be held twice.
pub(super) fn closure(run: &Run, pair: [Number; 2], closing: Closing) -> Option<Vec<u32>> {
    let mut cut = run.base().to_vec();
    pair.iter().for_each(|&access| run.include_past(&mut cut, access));
    let free = |cut: &[u32]| !pair.iter().any(|&access| run.has(cut, access));
    if !free(&cut) {
        return None;
    }
    let mut tried = cut.clone();
    let mut close = |cut: &mut Vec<u32>, section: u32| {
        let Some(end) = run.sections.all[section as usize].given else { return false };
        tried.copy_from_slice(cut);
        run.include(&mut tried, end);
        let can = free(&tried);
        if can {
            cut.copy_from_slice(&tried);
        }
        can
    };
    loop {
        let mut open = open(run, &cut);
        open.sort_unstable();
        if closing == Closing::All && open.iter().any(|&section| close(&mut cut, section)) {
            continue;
        }
        let excluded =
            |&one: &u32| open.iter().any(|&other| one != other && run.sections.exclude(one, other));
        let mut twice = open.iter().copied().filter(excluded).peekable();
        if twice.peek().is_none() {
            return Some(cut);
        }
        if !twice.any(|section| close(&mut cut, section)) {
            return None;
        }
    }
}

/// The sections that are open in a cut.
pub(super) fn open(run: &Run, cut: &[u32]) -> Vec<u32> {
    (0..run.threads()).flat_map(|thread| open_of(run, cut, thread).iter().copied()).collect()
}

fn open_of<'a>(run: &'a Run, cut: &[u32], thread: usize) -> &'a [u32] {
    match cut[thread].checked_sub(1) {
        Some(last) => run.inside(run.row(thread)[last as usize]),
        None => &[],
    }
}
