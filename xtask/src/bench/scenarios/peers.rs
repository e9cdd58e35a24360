//! Helgrind and ThreadSanitizer on free runs of the scenarios: which pairs of lines they tell.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::super::tools::{LINES, words};

/// The lines of a race's two accesses, the smaller first.
pub(super) type Lines = [u64; 2];

/// A detector that looks at one run of a program, in the order that the run happens to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Peer {
    /// Valgrind's happens-before detector, on the native build.
    Helgrind,
    /// The compiler's own.
    Tsan,
}

impl Peer {
    /// Both, in the order in which they are told.
    pub(super) const ALL: [Peer; 2] = [Peer::Helgrind, Peer::Tsan];

    /// As tables have it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Peer::Helgrind => "Helgrind",
            Peer::Tsan => "TSan",
        }
    }

    /// As files and JSON have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::Helgrind => "helgrind",
            Peer::Tsan => "tsan",
        }
    }

    /// What it needs of the compiler.
    pub(super) fn flags(self) -> &'static [&'static str] {
        match self {
            Peer::Helgrind => &[LINES],
            Peer::Tsan => &[LINES, "-fsanitize=thread"],
        }
    }

    /// What comes before the program's name.
    pub(super) fn before(self) -> Vec<OsString> {
        match self {
            Peer::Helgrind => words(&["valgrind", "--tool=helgrind"]),
            Peer::Tsan => Vec::new(),
        }
    }

    /// With what a run ends that could be watched.
    pub(super) fn codes(self) -> &'static [i32] {
        match self {
            Peer::Helgrind => &[0],
            Peer::Tsan => &[0, 66],
        }
    }

    /// The line that says that it could not watch the run, if there is one: it ends as if it had found a race.
    pub(super) fn failure(self, messages: &str) -> Option<&str> {
        let says = match self {
            Peer::Helgrind => return None,
            Peer::Tsan => ["ERROR: ThreadSanitizer", "FATAL: ThreadSanitizer"],
        };
        messages.lines().find(|line| says.iter().any(|says| line.contains(says)))
    }

    /// The races that it tells: of each side the innermost line in the program's source. A race is left out if the tool
    /// has forgotten where one side was.
    pub(super) fn told(self, messages: &str, file: &str) -> BTreeSet<Lines> {
        let mut told = BTreeSet::new();
        let mut sides: Vec<Option<u64>> = Vec::new();
        // Whether the frames that come belong to the last side.
        let mut open = false;
        for line in messages.lines() {
            match self.part(line) {
                Part::Report => {
                    told.extend(pair(&sides));
                    sides.clear();
                    open = false;
                }
                Part::Side => {
                    sides.push(None);
                    open = true;
                }
                Part::Other => open = false,
                Part::Frame => {
                    if let (true, Some(side @ None)) = (open, sides.last_mut()) {
                        *side = line_in(line, file);
                    }
                }
                Part::Nothing => {}
            }
        }
        told.extend(pair(&sides));
        told
    }

    fn part(self, line: &str) -> Part {
        let text = match self {
            Peer::Helgrind => line.split_once("== ").map_or("", |(_, text)| text).trim_start(),
            Peer::Tsan => line.trim_start(),
        };
        let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
        match self {
            Peer::Helgrind if begins(&["-----", "---Thread"]) => Part::Report,
            Peer::Helgrind if begins(&["Possible data race during ", "This conflicts with a previous "]) => {
                Part::Side
            }
            Peer::Helgrind if begins(&["at 0x", "by 0x"]) => Part::Frame,
            Peer::Helgrind if text.is_empty() || begins(&["Locks held: "]) => Part::Nothing,
            Peer::Helgrind => Part::Other,
            Peer::Tsan if begins(&["WARNING: ThreadSanitizer: "]) => Part::Report,
            Peer::Tsan if begins(&["#"]) => Part::Frame,
            Peer::Tsan if !text.ends_with(':') => Part::Nothing,
            Peer::Tsan if text.contains(" of size ") && !begins(&["Location"]) => Part::Side,
            Peer::Tsan => Part::Other,
        }
    }
}

/// What a line of a report is.
enum Part {
    /// Where another report begins.
    Report,
    /// The head of an access.
    Side,
    /// The head of something else.
    Other,
    /// A frame of what was last.
    Frame,
    /// None of this.
    Nothing,
}

/// Both lines, if both are known.
fn pair(sides: &[Option<u64>]) -> Option<Lines> {
    let [Some(one), Some(other)] = *sides else { return None };
    Some([one.min(other), one.max(other)])
}

/// The line number behind the file's name.
fn line_in(frame: &str, file: &str) -> Option<u64> {
    let (_, rest) = frame.split_once(&format!("{file}:"))?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helgrind_is_read() {
        let text = "==7== ---Thread-Announcement---\n==7== Thread #3 was created\n==7==    by 0x1: main (p.c:30)\n\
            ==7== -----\n==7== Lock at 0x10 was first observed\n==7==    at 0x1: lock (p.c:8)\n\
            ==7== Possible data race during write of size 4 at 0x10C068 by thread #1\n==7== Locks held: none\n\
            ==7==    at 0x1: memset (string.c:3)\n==7==    by 0x2: main (p.c:32)\n==7==    by 0x2: main (p.c:40)\n==7== \n\
            ==7== This conflicts with a previous read of size 4 by thread #3\n==7== Locks held: 1, at address 0x10\n\
            ==7==    at 0x1: two (p.c:24)\n==7==  Address 0x10c068 is 0 bytes inside a block alloc'd\n\
            ==7==    at 0x1: main (p.c:2)\n==7== \n==7== -----\n\
            ==7== Possible data race during read of size 4 at 0x10C068 by thread #1\n==7==    at 0x1: two (p.c:9)\n\
            ==7== ERROR SUMMARY: 2 errors from 2 contexts\n";
        assert_eq!(Peer::Helgrind.told(text, "p.c"), BTreeSet::from([[24, 32]]));
    }

    #[test]
    fn tsan_is_read() {
        let text = "==================\nWARNING: ThreadSanitizer: data race (pid=1)\n\
            \x20 Read of size 4 at 0x1 by thread T2 (mutexes: write M0):\n    #0 memcpy <null> (p+0x1)\n\
            \x20   #1 two /x/p.c:24:12 (p+0x1)\n    #2 three /x/p.c:5:1 (p+0x1)\n\n\
            \x20 Previous atomic write of size 4 at 0x1 by main thread:\n    #0 main /x/p.c:12:2 (p+0x1)\n\n\
            \x20 Location is heap block of size 4 at 0x1 allocated by main thread:\n    #0 main /x/p.c:9:2 (p+0x1)\n\n\
            \x20 Thread T2 (tid=1, running) created by main thread at:\n    #0 main /x/p.c:30:5 (p+0x1)\n\
            SUMMARY: ThreadSanitizer: data race /x/p.c:24:12 in two\n\
            WARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 4 at 0x1 by thread T2:\n    #0 two /x/p.c:7:1 (p+0x1)\n\
            \x20 Previous read of size 4 at 0x1 by thread T1:\n    [failed to restore the stack]\n";
        assert_eq!(Peer::Tsan.told(text, "p.c"), BTreeSet::from([[12, 24]]));
        assert_eq!(Peer::Tsan.failure(text), None);
        let limited = "==7==Re-execing with unlimited virtual address space.\n==7==ERROR: ThreadSanitizer setrlimit() failed 22";
        assert_eq!(Peer::Tsan.failure(limited), Some("==7==ERROR: ThreadSanitizer setrlimit() failed 22"));
    }
}
