//! RAPID's trace formats.

use std::collections::HashMap;

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};

/// Turns names into events.
#[derive(Default)]
struct Builder {
    /// Whether branches are events, which they are not to RAPID.
    branches: bool,
    numbers: HashMap<String, u64>,
    threads: HashMap<String, ThreadId>,
    events: Vec<Event>,
}

impl Builder {
    fn thread(&mut self, name: &str) -> ThreadId {
        let next = ThreadId(self.threads.len() as u32);
        *self.threads.entry(name.to_owned()).or_insert(next)
    }

    fn object(&mut self, name: &str) -> u64 {
        let next = 0x1_0000 + 8 * self.numbers.len() as u64;
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    fn push(&mut self, thread: &str, op: &str, operand: &str, place: u32) {
        let access = |address, mode| Op::Access(Access::plain(address, 8, mode));
        let mode = LockMode::Write;
        let op = match op {
            "r" => access(self.object(&format!("V{operand}")), Mode::Read),
            "w" => access(self.object(&format!("V{operand}")), Mode::Write),
            "acq" => Op::Acquire { lock: self.object(&format!("L{operand}")), mode },
            "rel" => Op::Release { lock: self.object(&format!("L{operand}")), mode },
            "fork" => Op::Fork { child: self.thread(operand) },
            "join" => Op::Join { child: self.thread(operand) },
            "begin" => Op::Begin,
            "end" => Op::End,
            "branch" if self.branches => Op::Branch,
            "branch" => return,
            // RAPID's reader takes a request, which it does not know, for the event before it
            // come again; its counts for the two traces that have requests are of that.
            "req" => {
                let before = self.events.last().copied();
                return self.events.extend(before);
            }
            other => panic!("unknown operation {other}"),
        };
        let (thread, place) = (self.thread(thread), PlaceId(place + 1));
        self.events.push(Event { thread, place, stack: StackId::EMPTY, times: 1, op });
    }
}

/// The events of a trace in RAPID's text format.
pub(crate) fn std_events(text: &str) -> Vec<Event> {
    let mut builder = Builder::default();
    for line in text.lines() {
        let mut fields = line.split('|');
        let (Some(thread), Some(call), Some(place)) = (fields.next(), fields.next(), fields.next()) else {
            panic!("not three fields: {line}");
        };
        let (op, operand) = call.split_once('(').unwrap_or((call, ""));
        let place = place.trim().parse().expect("a number as location");
        builder.push(thread, op, operand.trim_end_matches(')'), place);
    }
    builder.events
}

/// The events of a trace in RAPID's binary format, with its branches or without.
pub(crate) fn rapidbin_events(bytes: &[u8], branches: bool) -> Vec<Event> {
    const HEADER: usize = 2 + 4 + 4 + 8;
    let ops = ["acq", "rel", "r", "w", "fork", "join", "begin", "end", "req", "branch"];
    let mut builder = Builder { branches, ..Builder::default() };
    for word in bytes[HEADER..].chunks_exact(8) {
        let word = u64::from_be_bytes(word.try_into().expect("eight bytes"));
        let (thread, op) = (word & 0x3ff, ops[(word >> 10 & 0xf) as usize]);
        let (operand, place) = (word >> 14 & 0x3_ffff_ffff, word >> 48 & 0x7fff);
        if op == "req" {
            continue;
        }
        builder.push(&thread.to_string(), op, &operand.to_string(), place as u32);
    }
    builder.events
}
