//! The sides of a race or a finding: who did what, and where. Every form that shows stacks shows these.

use crate::group::key_frame;
use crate::model::{ASKED, Access, Finding, Frame, Grade, LOCK_ORDER, Step};
use crate::text::words;

/// One of the things that were done, with its stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Side<'a> {
    /// The thread's path.
    pub(crate) thread: &'a str,
    /// The thread, in words.
    pub(crate) who: String,
    /// What it does there, in words.
    pub(crate) what: String,
    /// Where, innermost first.
    pub(crate) frames: &'a [Frame],
    /// Of a predicted lock order: the place in the order that ends in the deadlock, from 1. All threads take a lock, then all
    /// ask for the next.
    pub(crate) turn: Option<u32>,
}

impl<'a> Side<'a> {
    /// An access.
    pub(crate) fn of(access: &'a Access) -> Side<'a> {
        let (who, what) = (words::who(access), words::what_it_does(access));
        Side { thread: &access.thread, who, what, frames: &access.frames, turn: None }
    }

    /// All sides of a finding, in the order in which they were done.
    pub(crate) fn all(finding: &'a Finding) -> Vec<Side<'a>> {
        let accesses = finding.accesses.iter().flat_map(|accesses| accesses.iter()).map(Side::of);
        let predicted = finding.kind == LOCK_ORDER && finding.grade == Some(Grade::Predicted);
        let steps = finding.steps.iter().map(|step| Side::of_step(step, predicted));
        accesses.chain(steps).chain(Side::own(finding)).collect()
    }

    fn of_step(step: &'a Step, predicted: bool) -> Side<'a> {
        let (who, what) = (words::who_stepped(step), words::what_a_step_does(step));
        let turn = predicted.then_some(if step.what == ASKED { 2 } else { 1 });
        Side { thread: &step.thread, who, what, frames: &step.frames, turn }
    }

    /// Where a finding is told to be, if no access and no step tells that. Of a thread that leaked that is where it was created.
    fn own(finding: &'a Finding) -> Option<Side<'a>> {
        let frames = Some(words::own_frames(finding)).filter(|frames| !frames.is_empty())?;
        let born = finding.threads.iter().find(|row| row.created_by.is_some() && row.frames == frames);
        let thread = born.and_then(|row| row.created_by.as_deref()).unwrap_or(&finding.thread);
        let name = finding.threads.iter().find(|row| row.thread == thread).map_or("", |row| &row.name);
        let who = if thread.is_empty() { "a thread".to_owned() } else { words::thread(thread, name) };
        let what = born.map_or_else(|| format!("{who} is here"), words::who_created);
        Some(Side { thread, who, what, frames, turn: None })
    }

    /// The place that it is known by, in one line.
    pub(crate) fn place(&self) -> Option<String> {
        key_frame(self.frames).map(words::frame_line)
    }
}

/// The sides of each thread, in the order in which the threads first come.
pub(crate) fn by_thread<'s, 'a>(sides: &'s [Side<'a>]) -> Vec<Vec<&'s Side<'a>>> {
    let mut threads: Vec<Vec<&Side<'_>>> = Vec::new();
    for side in sides {
        match threads.iter_mut().find(|of| of[0].thread == side.thread) {
            Some(of) => of.push(side),
            None => threads.push(vec![side]),
        }
    }
    threads
}
