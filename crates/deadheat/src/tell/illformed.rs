//! A trace that no run can have: what is told of that.

use deadheat_core::event::LockMode;
use deadheat_report::illformed::{Broken, IllFormed};
use deadheat_trace::Trace;
use deadheat_trace::wellformed::{Doubts, First};

use super::Judged;
use super::collect::Held;
use super::resolve::Resolver;

const RELEASE: &str = "release-not-held";

/// What to tell of a trace's events, if they break a rule.
pub(super) fn tell(
    trace: &Trace,
    doubts: &Doubts,
    judged: &[Judged<'_>],
    resolver: &mut Resolver<'_>,
) -> Option<IllFormed> {
    let mut broken: Vec<Broken> =
        doubts.broken().map(|(rule, _, count, first)| self::broken(rule, count, &first, resolver)).collect();
    // Texts of other tools are mended as they are read.
    let dirt = trace.summary().dirt;
    if let Some(first) = dirt.first_release_not_held {
        broken.push(self::broken(RELEASE, dirt.releases_not_held, &first, resolver));
    }
    if broken.is_empty() {
        return None;
    }
    broken.sort_by_key(|broken| broken.event);
    let does = |judged: &Judged<'_>| (judged.analysis.name.to_owned(), judged.analysis.ill_formed.to_owned());
    Some(IllFormed {
        trace: trace.path().to_string_lossy().into_owned(),
        broken,
        analyses: judged.iter().map(does).collect(),
    })
}

fn broken(rule: &str, count: u64, first: &First, resolver: &mut Resolver<'_>) -> Broken {
    let lock = first.lock.map(|lock| resolver.lock(&Held { lock, mode: LockMode::Write, block: None }));
    let thread = resolver.path(first.thread);
    let other = first.other.map(|other| resolver.path(other));
    let message = message(rule, &thread, lock.as_ref().map(|lock| lock.name.as_str()), other.as_deref());
    let frames = resolver.up_to_own(first.place, first.stack);
    Broken { rule: rule.to_owned(), count, event: first.event, thread, message, lock, other, frames }
}

fn message(rule: &str, thread: &str, lock: Option<&str>, other: Option<&str>) -> String {
    let (lock, other) = (lock.unwrap_or("?"), other.map(|other| format!("`{other}`")));
    let somebody = other.as_deref().unwrap_or("nobody");
    match rule {
        "acquire-held" => format!("`{thread}` takes `{lock}`, which {somebody} holds"),
        RELEASE => format!("`{thread}` gives back `{lock}`, which {somebody} holds"),
        "late-fork" => format!("`{thread}` creates {somebody}, which was there before"),
        "event-before-begin" => format!("`{thread}` begins behind its first event"),
        "event-after-end" => format!("`{thread}` goes on behind its end"),
        _ => format!("`{thread}` goes on behind its join"),
    }
}
