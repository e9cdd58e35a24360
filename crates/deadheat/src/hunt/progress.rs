//! How far a hunt is, while it goes on: one line that is rewritten on a terminal, a line now and
//! then elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};

use super::plan::Counts;
use crate::args::{Common, When};
use crate::say::say;

/// Time between two lines where they cannot be rewritten.
const BETWEEN_LINES: Duration = Duration::from_secs(5);
/// Time between two changes of the line on a terminal.
pub(crate) const BETWEEN_CHANGES: Duration = Duration::from_millis(200);
/// Width of the bar in characters.
const WIDTH: u64 = 20;

/// Shows progress.
pub(crate) struct Progress {
    shown: Shown,
    started: Instant,
    last: Instant,
    dirty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Never,
    Lines,
    Bar,
}

/// A line that is said if this value lives for a while: what is waited for.
pub(crate) struct Advice {
    _over: Option<mpsc::Sender<()>>,
}

impl Advice {
    /// Says it after this time; never if there is none.
    pub(crate) fn after(time: Option<Duration>, said: String) -> Advice {
        let Some(time) = time else { return Advice { _over: None } };
        let (over, waiting) = mpsc::channel();
        // Signals are for the thread that watches over the program.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
        std::thread::spawn(move || {
            if waiting.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout) {
                say!("{said}");
            }
        });
        if let Ok(before) = before {
            let _ = before.thread_set_mask();
        }
        Advice { _over: Some(over) }
    }
}

/// What there is to show.
pub(crate) struct Now<'a> {
    /// The schedule's counts.
    pub(crate) counts: &'a Counts,
    /// Runs that are over.
    pub(crate) runs: u64,
    /// Time left, if it is known.
    pub(crate) left: Option<Duration>,
}

impl Progress {
    /// As the options say. `--progress always` gives lines where there is no terminal.
    pub(crate) fn new(common: &Common) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let shown = match (common.progress, terminal) {
            (When::Never, _) => Shown::Never,
            (When::Auto, _) if common.quiet => Shown::Never,
            (_, true) => Shown::Bar,
            (_, false) => Shown::Lines,
        };
        let now = Instant::now();
        Progress { shown, started: now, last: now, dirty: false }
    }

    /// Shows it, unless that was done just now.
    pub(crate) fn show(&mut self, now: &Now<'_>) {
        let between = match self.shown {
            Shown::Never => return,
            Shown::Lines => BETWEEN_LINES,
            Shown::Bar => BETWEEN_CHANGES,
        };
        if self.last.elapsed() < between {
            return;
        }
        self.last = Instant::now();
        let text = text(now, self.started.elapsed());
        if self.shown == Shown::Lines {
            say!("deadheat: {text}");
        } else {
            let _ = write!(std::io::stderr(), "\r\x1b[2K{} {text}", bar(now.counts));
            self.dirty = true;
        }
    }

    /// Says something that is worth a line of its own.
    pub(crate) fn say(&mut self, text: &str) {
        if self.shown != Shown::Never {
            self.clear();
            say!("deadheat: {text}");
        }
    }

    /// Makes room for other text.
    pub(crate) fn clear(&mut self) {
        if self.dirty {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
            self.dirty = false;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn done(counts: &Counts) -> u64 {
    counts.proved + counts.missed
}

fn bar(counts: &Counts) -> String {
    let full = (done(counts) * WIDTH).checked_div(counts.pairs).unwrap_or(WIDTH);
    let (full, empty) = ("=".repeat(full as usize), " ".repeat((WIDTH - full) as usize));
    format!("[{full}{empty}]")
}

fn text(now: &Now<'_>, since: Duration) -> String {
    let Counts { pairs, proved, .. } = *now.counts;
    let done = done(now.counts);
    let left = now.left.map_or(String::new(), |left| format!(", about {} left", span(left)));
    format!(
        "{done} of {pairs} pairs done, {proved} proved, {} left; {} runs in {}{left}",
        pairs - done,
        now.runs,
        span(since)
    )
}

/// A time for people: `0.4 s`, `12 s`, `3 min 20 s`.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..9.95 => format!("{seconds:.1} s"),
        ..99.5 => format!("{seconds:.0} s"),
        _ => format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_counts_pairs() {
        let counts = Counts { pairs: 12, proved: 2, missed: 4, under_way: 6, ..Counts::default() };
        let now = Now { counts: &counts, runs: 9, left: Some(Duration::from_secs(200)) };
        assert_eq!(
            text(&now, Duration::from_millis(1500)),
            "6 of 12 pairs done, 2 proved, 6 left; 9 runs in 1.5 s, about 3 min 20 s left"
        );
        assert_eq!(bar(&counts), "[==========          ]");
        assert_eq!(bar(&Counts::default()), "[====================]");
    }
}
