//! What else goes wrong in a run that provokes: a crash, a failed assertion, a hang. The threads
//! were only delayed, so the program can do the same by itself.

use std::time::Duration;

use deadheat_core::access::{Mode, Via};
use deadheat_report::model::{Finding, Grade};
use nix::sys::signal::Signal;
use serde_json::json;

use super::log::Provoked;
use super::outcome::{Found, Outcome};
use super::pool::Ended;
use crate::child::End;

/// Words of a failed assertion, as C, C++ and Rust programs say them.
const ASSERTIONS: [&str; 5] =
    ["Assertion", "assertion", "panicked at", "terminate called", "terminating due to"];
/// How much of what the program said is repeated.
const MOST_WORDS: usize = 200;

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cause {
    /// The finding's kind: `crash`, `assertion` or `hang`.
    kind: &'static str,
    /// What happened, the same in each run in which it does.
    what: String,
}

/// What went wrong in a run, if anything did that did not in the watched run.
pub(crate) fn cause(ended: &Ended, outcome: &Outcome, watched: End) -> Option<Cause> {
    if ended.stopped || outcome.cut || outcome.taken.is_none() || ended.end == watched {
        return None;
    }
    match ended.end {
        End::Exited(_) => None,
        End::TimedOut => Some(Cause { kind: "hang", what: "the program did not end in its time".to_owned() }),
        End::Signalled(Signal::SIGABRT) => {
            let said = ended.said.lines().find(|line| ASSERTIONS.iter().any(|word| line.contains(word)));
            Some(match said {
                Some(line) => {
                    Cause { kind: "assertion", what: line.trim().chars().take(MOST_WORDS).collect() }
                }
                None => Cause { kind: "crash", what: "the program was killed by SIGABRT".to_owned() },
            })
        }
        End::Signalled(signal) => {
            Some(Cause { kind: "crash", what: format!("the program was killed by {signal}") })
        }
    }
}

/// The finding of a run. `stories` is what the run noted about each of its targets.
pub(crate) fn tell(cause: &Cause, line: &Provoked, stories: &[Vec<String>]) -> Finding {
    let told: Vec<_> = line
        .targets
        .iter()
        .zip(stories)
        .filter(|(_, story)| !story.is_empty())
        .map(|(target, story)| json!({"target": target.id, "bound_ms": target.bound_ms, "story": story}))
        .collect();
    let armed: Vec<&str> = line.targets.iter().map(|target| target.id.as_str()).collect();
    // The last that was held before the end is what most likely led there.
    let held = stories.iter().flatten().filter(|told| told.contains(" is held before "));
    let last = held.max_by(|one, other| time_of(one).total_cmp(&time_of(other)));
    let led = last.map_or(String::new(), |told| {
        let what = told.split_once(": ").map_or(told.as_str(), |(_, what)| what);
        format!(", after {}", what.replacen(" is held before ", " was held before ", 1))
    });
    Finding {
        kind: cause.kind.to_owned(),
        grade: Some(Grade::Observed),
        message: format!("{} (re-run {}{led})", cause.what, line.number),
        schedule: Some(json!({
            "kind": "provocation",
            "cause": cause.what,
            "run": line.number,
            "targets": armed,
            "notes": told,
        })),
        ..Finding::default()
    }
}

fn time_of(sentence: &str) -> f64 {
    sentence.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// What makes two findings one.
pub(crate) fn key(finding: &Finding) -> (String, String) {
    let cause = finding.schedule.as_ref().and_then(|schedule| schedule["cause"].as_str());
    (finding.kind.clone(), cause.unwrap_or(&finding.message).to_owned())
}

/// An access that stands for none, where a story alone is wanted.
pub(crate) fn nowhere() -> &'static Found {
    static NOWHERE: Found = Found {
        pc: 0,
        address: 0,
        length: 0,
        mode: Mode::Read,
        atomic: None,
        via: Via::Code,
        would_fail: false,
        time: Duration::ZERO,
        kernel_id: 0,
        path: Vec::new(),
        locks: Vec::new(),
        calls: Vec::new(),
    };
    &NOWHERE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(end: End, said: &str) -> Ended {
        let said = said.to_owned();
        Ended { key: 3, end, stopped: false, asked: None, took: Duration::ZERO, said }
    }

    fn kind(end: End, said: &str) -> Option<&'static str> {
        let outcome = Outcome { taken: Some(1), ..Outcome::default() };
        cause(&ended(end, said), &outcome, End::Exited(0)).map(|cause| cause.kind)
    }

    #[test]
    fn ends_have_their_kinds() {
        let abort = End::Signalled(Signal::SIGABRT);
        assert_eq!(kind(abort, "p: p.c:3: main: Assertion `x' failed.\n"), Some("assertion"));
        assert_eq!(kind(abort, "free(): invalid pointer\n"), Some("crash"));
        assert_eq!(kind(End::Signalled(Signal::SIGSEGV), ""), Some("crash"));
        assert_eq!(kind(End::TimedOut, ""), Some("hang"));
        assert_eq!(kind(End::Exited(1), ""), None);
    }

    #[test]
    fn what_the_watched_run_did_too_is_no_finding() {
        let outcome = Outcome { taken: Some(1), ..Outcome::default() };
        let crash = End::Signalled(Signal::SIGSEGV);
        assert_eq!(cause(&ended(crash, ""), &outcome, crash), None);
        assert_eq!(cause(&ended(crash, ""), &Outcome::default(), End::Exited(0)), None);
    }

    #[test]
    fn the_last_that_was_held_is_named() {
        let cause = Cause { kind: "crash", what: "the program was killed by SIGSEGV".into() };
        let line = Provoked {
            number: 5,
            targets: vec![Default::default(), Default::default()],
            ..Provoked::default()
        };
        let stories = [
            vec!["12.000 ms: `main/1` is held before a.c:3 f".to_owned()],
            vec!["9.500 ms: `main/2` is held before a.c:9 g".to_owned()],
        ];
        let finding = tell(&cause, &line, &stories);
        assert_eq!(
            finding.message,
            "the program was killed by SIGSEGV (re-run 5, after `main/1` was held before a.c:3 f)"
        );
        assert_eq!(key(&finding).1, "the program was killed by SIGSEGV");
    }
}
