//! Sync-preserving races straight from the definition: sets of events, closed by looking at all of them again and again.

use deadheat_core::event::{Event, LockMode, Op};
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
