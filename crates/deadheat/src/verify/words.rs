//! The answer in words, of sides that are there and did not meet.

use super::edges::{Edges, Step, Way, What};
use super::sites::Sites;
use super::{Answer, unordered};
use crate::hunt::targets::Target;

/// How many operations are named.
const MOST_NAMED: usize = 3;

/// Judges sides that are executed and that did not meet.
pub(super) fn judge(
    sites: &Sites,
    edges: &Edges,
    targets: &[Target],
    named: &dyn Fn(&Step) -> String,
    tries: u32,
) -> Answer {
    let [one, other] = match targets.first() {
        Some(target) => target.sides.each_ref().map(|side| &*side.place),
        None => sites.sides.each_ref().map(|side| side.first().map_or("?", |site| &site.text)),
    };
    let between = format!("the sides are now {one} and {other}");
    let free = edges.conflicts == 0 && targets.is_empty();
    if free && edges.both_atomic > 0 {
        return Answer::OrderedNow(vec!["both accesses are atomic".to_owned(), between]);
    }
    if free {
        return match sites.constant {
            true if one == other => {
                Answer::SiteGone(format!("no two threads go to the same memory there; {between}"))
            }
            true => {
                Answer::SiteGone(format!("each side goes to memory that the other does not touch; {between}"))
            }
            false => Answer::Apart(between),
        };
    }
    if targets.iter().any(unordered) {
        let times = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
        let told = format!("nothing ordered them in the watched run, though they did not meet in {times}");
        return Answer::StillRaces(vec![told, between], None);
    }
    let mut told = locks(targets);
    told.extend(ways(edges, named, told.is_empty()));
    if told.is_empty() {
        told.push("the synchronisation of other threads lies between them".to_owned());
    }
    told.push(between);
    Answer::OrderedNow(told)
}

/// The locks that both sides hold; none if there is a pair of accesses without.
fn locks(targets: &[Target]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for target in targets {
        let [one, other] = &target.sides;
        let mut both =
            one.locks.iter().filter(|lock| other.locks.iter().any(|held| held.address == lock.address));
        let Some(first) = both.next() else { return Vec::new() };
        for lock in std::iter::once(first).chain(both) {
            let text = format!("both hold the lock {}", lock.name);
            if told.len() < MOST_NAMED && !told.contains(&text) {
                told.push(text);
            }
        }
    }
    told
}

/// The operations that ordered them, most often used first; of locks only if `locks_too`.
fn ways(edges: &Edges, named: &dyn Fn(&Step) -> String, locks_too: bool) -> Vec<String> {
    let mut ways: Vec<(&Way, u64)> = edges.ways.iter().map(|(way, count)| (way, *count)).collect();
    ways.sort_by_key(|(way, count)| (std::cmp::Reverse(*count), way.release.place, way.acquire.place));
    let is_lock = |way: &Way| matches!((way.release.what, way.acquire.what), (What::Lock(_), What::Lock(_)));
    let mut told = Vec::new();
    for (way, _) in ways.into_iter().filter(|(way, _)| locks_too || !is_lock(way)) {
        // The beginning and the end of a thread are no place.
        let at = |step: &Step| match named(step) {
            place if place == "?" => String::new(),
            place => format!(" ({place})"),
        };
        let text = format!(
            "{}{} comes before {}{}",
            released(way.release.what),
            at(&way.release),
            acquired(way.acquire.what),
            at(&way.acquire)
        );
        if told.len() < MOST_NAMED && !told.contains(&text) {
            told.push(text);
        }
    }
    told
}

fn released(what: What) -> &'static str {
    match what {
        What::Lock(_) => "the unlocking of a lock",
        What::Sync => "a signal, post or first call",
        What::Atomic => "an atomic store that releases",
        What::Barrier => "the arrival at a barrier",
        What::Fork => "the creation of the thread",
        What::Join => "the end of the thread",
    }
}

fn acquired(what: What) -> &'static str {
    match what {
        What::Lock(_) => "the locking",
        What::Sync => "the wait for it",
        What::Atomic => "an atomic load that acquires",
        What::Barrier => "the leaving of the barrier",
        What::Fork => "its beginning",
        What::Join => "the joining",
    }
}
