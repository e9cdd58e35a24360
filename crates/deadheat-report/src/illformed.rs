//! What a report says of a trace that no run can have: which rules it breaks, where first, and what the analyses make of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::model::{Frame, Lock};

/// A trace that is not well formed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IllFormed {
    /// The trace's path.
    pub trace: String,
    /// The rules that it breaks, each once.
    pub broken: Vec<Broken>,
    /// What each analysis that judged it does with such events.
    pub analyses: BTreeMap<String, String>,
}

/// A rule that every run keeps, and the first event that breaks it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Broken {
    /// The rule's name.
    pub rule: String,
    /// How many events break it.
    pub count: u64,
    /// The number of the first in the trace, from 1.
    pub event: u64,
    /// Its thread, by the path of its creation.
    pub thread: String,
    /// What it did and what is wrong with that, in words.
    pub message: String,
    /// The lock that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// The other thread: who holds that lock, or who was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// Where in the code.
    pub frames: Vec<Frame>,
}

impl IllFormed {
    /// All of it in one line, for people.
    #[must_use]
    pub fn warning(&self) -> String {
        let mut text = "warning: the trace is not well formed".to_owned();
        for (index, broken) in self.broken.iter().enumerate() {
            text.push_str(if index == 0 { ": " } else { "; " });
            let _ = write!(text, "{} is broken", broken.rule);
            if broken.count > 1 {
                let _ = write!(text, " {} times, first", broken.count);
            }
            let _ = write!(text, " by event {}: {}", broken.event, broken.message);
            if let Some(place) = broken.frames.first().and_then(place) {
                let _ = write!(text, " at {place}");
            }
        }
        text.push('.');
        for (name, does) in &self.analyses {
            let _ = write!(text, " {name}: {does}");
        }
        text
    }
}

/// A place in a source, or what is known of it.
fn place(frame: &Frame) -> Option<String> {
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => Some(format!("{file}:{line}")),
        (Some(file), None) => Some(file.clone()),
        (None, Some(line)) => Some(format!("line {line}")),
        (None, None) => frame.function.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_one_line() {
        let frame = Frame { file: Some("t.std".to_owned()), line: Some(7), ..Frame::default() };
        let broken = |rule: &str, count, frames| Broken {
            rule: rule.to_owned(),
            count,
            event: 2,
            message: "`T1` does it".to_owned(),
            frames,
            ..Broken::default()
        };
        let told = IllFormed {
            trace: "t.std".to_owned(),
            broken: vec![broken("late-fork", 1, vec![]), broken("acquire-held", 3, vec![frame])],
            analyses: BTreeMap::from([("hb".to_owned(), "It goes on.".to_owned())]),
        };
        assert_eq!(
            told.warning(),
            "warning: the trace is not well formed: late-fork is broken by event 2: `T1` does it; acquire-held is \
             broken 3 times, first by event 2: `T1` does it at t.std:7. hb: It goes on."
        );
    }
}
