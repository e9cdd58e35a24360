//! Sync-preserving races straight from the definition: sets of events, closed by looking at all of them again and again.

use deadheat_core::event::{BlockKind, Event, LockMode, Op, SyncKind};
use deadheat_detect::witness::Run;

/// A section: where it begins, where it ends if it does, on which lock and how.
#[derive(Clone, Copy)]
struct Section {
    acquire: usize,
    release: Option<usize>,
    lock: u64,
    mode: LockMode,
}

/// All sync-preserving races of a run: pairs of indices.
pub(crate) fn races(events: &[Event], run: &Run<'_>) -> Vec<(usize, usize)> {
    let sections = sections(events);
    let mut races = Vec::new();
    for other in 0..events.len() {
        for one in 0..other {
            if events[one].thread != events[other].thread && race(events, run, &sections, (one, other)) {
                races.push((one, other));
            }
        }
    }
    races
}

fn race(events: &[Event], run: &Run<'_>, sections: &[Section], (one, other): (usize, usize)) -> bool {
    run.lives(one, other).iter().any(|birth| {
        let mut set = vec![false; events.len()];
        for event in [one, other] {
            let before = (0..event).rev().find(|&at| events[at].thread == events[event].thread);
            before.into_iter().chain(run.begins(event).iter().copied()).for_each(|event| set[event] = true);
        }
        birth.iter().for_each(|&birth| set[birth] = true);
        close(events, run, sections, &mut set) && !set[one] && !set[other]
    })
}

/// Closes a set; `false` if a section would have to end that does not.
fn close(events: &[Event], run: &Run<'_>, sections: &[Section], set: &mut [bool]) -> bool {
    loop {
        let size = set.iter().filter(|inside| **inside).count();
        for event in (0..events.len()).rev() {
            if !set[event] {
                continue;
            }
            let before = (0..event).rev().find(|&at| events[at].thread == events[event].thread);
            let needed = before.into_iter().chain(run.needs(event)).chain(run.writers(event));
            let needed = needed.chain(signals(events, event));
            needed.for_each(|event| set[event] = true);
        }
        for one in sections.iter().filter(|one| set[one.acquire]).collect::<Vec<_>>() {
            for other in sections {
                let excludes = one.lock == other.lock
                    && (one.mode == LockMode::Write || other.mode == LockMode::Write)
                    && events[one.acquire].thread != events[other.acquire].thread;
                if excludes && one.acquire < other.acquire && set[other.acquire] {
                    match one.release {
                        Some(release) => set[release] = true,
                        None => return false,
                    }
                }
            }
        }
        if set.iter().filter(|inside| **inside).count() == size {
            return true;
        }
    }
}

/// The signals that a wait on a condition variable or a semaphore has seen.
fn signals(events: &[Event], wait: usize) -> Vec<usize> {
    let Op::Wait { object, kind, woken: true } = events[wait].op else { return Vec::new() };
    let last = |test: &dyn Fn(&Event) -> bool| (0..wait).rev().find(|&at| test(&events[at]));
    let born = last(&|event| makes_anew(event, object)).unwrap_or(0);
    let began = match kind {
        SyncKind::Semaphore => Some(born),
        SyncKind::Condition | SyncKind::ConditionAll => {
            let mine =
                |op| matches!(op, Op::Await { object: on, .. } | Op::Wait { object: on, .. } if on == object);
            last(&|event| event.thread == events[wait].thread && mine(event.op))
                .filter(|&at| matches!(events[at].op, Op::Await { .. }))
        }
        SyncKind::Once | SyncKind::Annotation | SyncKind::Everything => None,
    };
    let condition = |kind| matches!(kind, SyncKind::Condition | SyncKind::ConditionAll);
    let seen = |&at: &usize| match events[at].op {
        Op::Signal { object: on, kind: of } => {
            on == object && (of == kind || condition(of) && condition(kind))
        }
        _ => false,
    };
    began.filter(|&began| began >= born).map_or(Vec::new(), |began| (began..wait).filter(seen).collect())
}

/// Whether an event makes a lock or another object anew.
pub(crate) fn makes_anew(event: &Event, at: u64) -> bool {
    match event.op {
        Op::Forget { object } => object == at,
        Op::Alloc { address, size, kind } => {
            let owned = if address.is_multiple_of(8) { size.div_ceil(8) * 8 } else { size };
            kind != BlockKind::Benign && (address..address + owned).contains(&at)
        }
        _ => false,
    }
}

fn sections(events: &[Event]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let open = |lock: u64, sections: &[Section]| {
            sections.iter().position(|section| {
                section.lock == lock
                    && section.release.is_none()
                    && events[section.acquire].thread == event.thread
            })
        };
        match event.op {
            Op::Acquire { lock, mode } => match open(lock, &sections) {
                Some(section) => depths[section] += 1,
                None => {
                    sections.push(Section { acquire: index, release: None, lock, mode });
                    depths.push(1);
                }
            },
            Op::Release { lock, .. } => {
                if let Some(section) = open(lock, &sections) {
                    depths[section] -= 1;
                    if depths[section] == 0 {
                        sections[section].release = Some(index);
                    }
                }
            }
            // To make or destroy a lock needs it free.
            Op::Forget { object } => {
                let mode = LockMode::Write;
                sections.push(Section { acquire: index, release: Some(index), lock: object, mode });
                depths.push(0);
            }
            _ => {}
        }
    }
    sections
}
