//! The text format of shbee: `1,WRITE,3,A.java:10:13,7`.
//!
//! A `SIGNAL` and the `WAIT` of the same number are ordered, whatever caused it: a thread's
//! creation, its end, a notification.

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};

use super::import::{Import, Parsed, SIZE, Wrong, number};
use super::lines::Parser;
use crate::hash::Map;
use crate::tables::Interner;

const OPERATIONS: [(&str, What); 14] = [
    ("READ", What::Read),
    ("RD", What::Read),
    ("WRITE", What::Write),
    ("WR", What::Write),
    ("LOCK", What::Lock),
    ("LK", What::Lock),
    ("UNLOCK", What::Unlock),
    ("UK", What::Unlock),
    ("SIGNAL", What::Signal),
    ("SIG", What::Signal),
    ("SIGNALJOIN", What::Signal),
    ("SIGNALNOTIFY", What::Signal),
    ("WAIT", What::Wait),
    ("WT", What::Wait),
];

/// More spellings of a wait.
const WAITS: [&str; 2] = ["WAITJOIN", "WAITNOTIFY"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Read,
    Write,
    Lock,
    Unlock,
    Signal,
    Wait,
}

/// Reads shbee's logs.
#[derive(Default)]
pub(crate) struct Shbee {
    locations: Interner,
    /// Place ids by number of the location.
    places: Vec<PlaceId>,
    /// Who signalled each object last, and where.
    signalled: Map<u64, (ThreadId, PlaceId)>,
    name: Vec<u8>,
}

impl Parser for Shbee {
    fn line(&mut self, line: &[u8], import: &mut Import<'_>) -> Result<Option<Parsed>, Wrong> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut at = 0;
        let mut fields = [(0, &b""[..]); 4];
        for (found, text) in fields.iter_mut().zip(line.split(|&byte| byte == b',')) {
            *found = (at, text.trim_ascii());
            at += text.len() + 1;
        }
        let [(_, thread), (op_at, operation), (id_at, id), (_, location)] = fields;
        if thread.is_empty() {
            return Err(Wrong(0, "the thread's number is missing"));
        }
        let Some(what) = what(operation) else {
            return Err(Wrong(op_at, "unknown operation: known are READ WRITE LOCK UNLOCK SIGNAL WAIT"));
        };
        if id.is_empty() {
            return Err(Wrong(id_at, "the object's number is missing"));
        }
        let thread = import.thread(thread);
        let place = self.place(location, import);
        Ok(Some((thread, place, self.op(what, id, (thread, place), import))))
    }
}

impl Shbee {
    fn op(&mut self, what: What, id: &[u8], by: (ThreadId, PlaceId), import: &mut Import<'_>) -> Op {
        let (mode, kind) = (LockMode::Write, SyncKind::Annotation);
        let names = &mut import.tables.names;
        match what {
            What::Read => Op::Access(Access::plain(names.variable(id), SIZE, Mode::Read)),
            What::Write => Op::Access(Access::plain(names.variable(id), SIZE, Mode::Write)),
            What::Lock => Op::Acquire { lock: names.lock(id), mode },
            What::Unlock => Op::Release { lock: names.lock(id), mode },
            What::Signal | What::Wait => {
                self.name.clear();
                self.name.extend_from_slice(b"signal ");
                self.name.extend_from_slice(id);
                let object = names.lock(&self.name);
                if what == What::Signal {
                    self.signalled.insert(object, by);
                    return Op::Signal { object, kind };
                }
                // A thread whose first event waits for a signal was created by the signaller.
                if let Some(&(parent, place)) = self.signalled.get(&object)
                    && parent != by.0
                {
                    import.tables.threads.fork(parent, by.0, (place, StackId::EMPTY));
                }
                Op::Wait { object, kind, woken: true }
            }
        }
    }

    /// The place of `file:line:column`, or of anything else as a function's name.
    fn place(&mut self, location: &[u8], import: &mut Import<'_>) -> PlaceId {
        if location.is_empty() || location == b"nil" {
            return PlaceId::UNKNOWN;
        }
        let index = self.locations.intern(location) as usize;
        if index == self.places.len() {
            let mut parts = location.rsplitn(3, |&byte| byte == b':');
            let column = parts.next().and_then(small);
            let line = parts.next().and_then(small);
            let places = &mut import.tables.places;
            self.places.push(match (parts.next(), line, column) {
                (Some(file), Some(line), Some(column)) => places.named(b"", file, line, column),
                _ => places.named(location, b"", 0, 0),
            });
        }
        self.places[index]
    }
}

fn what(operation: &[u8]) -> Option<What> {
    let known = OPERATIONS.iter().find(|(name, _)| name.as_bytes() == operation);
    match known {
        Some(&(_, what)) => Some(what),
        None => WAITS.iter().any(|name| name.as_bytes() == operation).then_some(What::Wait),
    }
}

fn small(digits: &[u8]) -> Option<u32> {
    u32::try_from(number(digits)?).ok()
}

/// Whether the first lines look like a log of shbee.
pub(crate) fn looks_like_shbee(head: &[u8]) -> bool {
    let Some(line) = head.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()) else {
        return false;
    };
    line.split(|&byte| byte == b',').nth(1).is_some_and(|operation| what(operation.trim_ascii()).is_some())
}
