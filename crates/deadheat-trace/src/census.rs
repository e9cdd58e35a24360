//! Counts of events by what they do, and the one word for each.

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::plain::Plain;

/// What sorts of event a trace holds, and how many of each.
#[derive(Clone, Debug, Default)]
pub struct Census {
    rows: Vec<(&'static str, u64, u64)>,
}

impl Census {
    /// Counts an event.
    pub fn step(&mut self, event: &Event) {
        self.add(word(&event.op), 1, u64::from(event.times));
    }

    /// Counts plain accesses.
    pub fn plain(&mut self, accesses: &[Plain]) {
        let mut counts = [0; 4];
        accesses.iter().for_each(|access| counts[access.form.mode() as usize & 3] += 1);
        for mode in [Mode::Read, Mode::Write, Mode::ReadWrite] {
            let count = counts[mode as usize];
            if count > 0 {
                self.add(access_word(&Access::plain(0, 1, mode)), count, count);
            }
        }
    }

    fn add(&mut self, word: &'static str, count: u64, times: u64) {
        match self.rows.iter_mut().find(|row| row.0 == word) {
            Some(row) => (row.1, row.2) = (row.1 + count, row.2 + times),
            None => self.rows.push((word, count, times)),
        }
    }

    /// Each sort: its word, how many events of it there are, and how many with their repeats.
    /// The most frequent comes first.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, u64, u64)> {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|&(word, count, _)| (std::cmp::Reverse(count), word));
        rows
    }
}

/// The word for what an event does.
#[must_use]
pub fn word(op: &Op) -> &'static str {
    match *op {
        Op::Access(access) => access_word(&access),
        Op::Fence(_) => "fence",
        Op::Request { .. } => "request",
        Op::Acquire { .. } => "acquire",
        Op::Release { .. } => "release",
        Op::Fork { .. } => "fork",
        Op::Join { .. } => "join",
        Op::Begin => "begin",
        Op::End => "end",
        Op::Signal { .. } => "signal",
        Op::Await { .. } => "await",
        Op::Wait { woken: true, .. } => "woken",
        Op::Wait { woken: false, .. } => "timed-out",
        Op::Arrive { .. } => "arrive",
        Op::Leave { .. } => "leave",
        Op::Branch => "branch",
        Op::Enter => "enter",
        Op::Exit => "exit",
        Op::Alloc { kind: BlockKind::Heap | BlockKind::Mapping | BlockKind::Descriptor, .. } => "alloc",
        Op::Alloc { kind: BlockKind::Stack | BlockKind::ThreadLocal, .. } => "alloc-thread",
        Op::Alloc { kind: BlockKind::Benign, .. } => "benign",
        Op::Free { kind: BlockKind::Heap | BlockKind::Mapping | BlockKind::Descriptor, .. } => "free",
        Op::Free { kind: BlockKind::Stack | BlockKind::ThreadLocal | BlockKind::Benign, .. } => "free-thread",
        Op::Forget { .. } => "forget",
        Op::HiddenBegin => "hidden-begin",
        Op::HiddenEnd => "hidden-end",
        Op::Fault { .. } => "fault",
    }
}

fn access_word(access: &Access) -> &'static str {
    match (access.atomic.is_some(), access.mode) {
        (false, Mode::Read) => "read",
        (false, Mode::Write) => "write",
        (false, Mode::ReadWrite) => "read-write",
        (true, Mode::Read) => "atomic-read",
        (true, Mode::Write) => "atomic-write",
        (true, Mode::ReadWrite) => "atomic-read-write",
    }
}
