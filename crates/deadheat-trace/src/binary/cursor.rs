//! One stream being read.
//!
//! Cost of a plain access: one prediction, one load from the table of known slots, one call of
//! the visitor. Everything else is out of line.
//!
//! Invariant: of a stream only a window of [`WINDOW`] bytes is held, and a window that is not
//! the last of its block always shows at least [`AHEAD`] bytes, more than any record takes.

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::codec::{Fault, Key, Predictor, Record, SLOTS, tag, varint};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::kind::{Class, Kind};

use super::blocks::Stream;
use super::merge::Shared;
use crate::error::{Error, ErrorKind};
use crate::tables::Tables;

/// Bytes of a stream that are held at a time.
const WINDOW: usize = 64 << 10;

/// A record is decoded only with this many bytes in sight, or with the block's last ones.
const AHEAD: usize = 512;
const _: () = assert!(AHEAD > 2 + 255 + deadheat_core::codec::MAX_EVENT && WINDOW >= 4 * AHEAD);

/// When a stream goes on: its next stamp doubled, plus one if an event has that stamp (a bare
/// mark of the same stamp comes first).
pub(super) type Due = u64;

/// A stream without a stamp comes last.
const NEVER: Due = Due::MAX;

/// Why a run over a stream stopped.
pub(super) enum Pause {
    /// The stream goes on then.
    Until(Due),
    /// The stream has no more events.
    Finished,
    /// The visitor wants no more.
    Stopped,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Not looked up yet.
    Unset,
    Plain,
    Call,
    Other,
}

/// Why a burst ended.
enum Burst {
    /// Something comes that it cannot take.
    Slow,
    /// An event of that slot at that address comes, whose numbers are not read yet.
    Event(u32, u64),
    /// The visitor wants no more.
    Stopped,
}

/// What one record led to.
enum Step {
    /// Nothing more.
    On,
    /// An event, whose numbers are not read yet.
    Event { key: Key, slot: u32, address: u64 },
    /// The run stops.
    Pause(Pause),
}

/// What is known of a slot: the place, and for plain accesses what they are.
#[derive(Clone, Copy)]
struct Known {
    place: PlaceId,
    shape: Shape,
    mode: Mode,
    via: Via,
    size: u8,
}

const UNSET: Known =
    Known { place: PlaceId::UNKNOWN, shape: Shape::Unset, mode: Mode::Read, via: Via::Code, size: 0 };

/// The state of one stream.
pub(super) struct Cursor {
    predictor: Box<Predictor>,
    known: Box<[Known]>,
    window: Vec<u8>,
    at: usize,
    end: usize,
    /// The file's offset of the window's first byte.
    base: u64,
    /// The next block of the stream.
    block: usize,
    /// Bytes of the present block behind the window.
    left: u64,
    /// The file ends within the present block.
    cut: bool,
    stream: Stream,
    thread: ThreadId,
    stamp: u64,
    stack: StackId,
    /// The version of the module table that `known` was made with.
    generation: u64,
    /// A stamped event that waits for its turn.
    pending: Option<Event>,
}

impl Cursor {
    /// A cursor at the start of a stream; `used` is one that is no longer needed.
    pub(super) fn start(stream: Stream, used: Option<Cursor>) -> Cursor {
        let (predictor, known, window) = match used {
            Some(used) => {
                let Cursor { mut predictor, mut known, window, .. } = used;
                predictor.clear();
                known.fill(UNSET);
                (predictor, known, window)
            }
            None => (Box::default(), vec![UNSET; SLOTS].into_boxed_slice(), Vec::new()),
        };
        let thread = ThreadId(stream.thread);
        Cursor {
            predictor,
            known,
            window,
            at: 0,
            end: 0,
            base: 0,
            block: 0,
            left: 0,
            cut: false,
            stream,
            thread,
            stamp: 0,
            stack: StackId::EMPTY,
            generation: 0,
            pending: None,
        }
    }

    /// Takes the stream out; the cursor is then good for another.
    pub(super) fn take_stream(&mut self) -> Stream {
        std::mem::take(&mut self.stream)
    }

    /// Delivers events up to (and not including) the one due at `limit`, which belongs to the
    /// stream numbered `rival`; `own` is this stream's number.
    pub(super) fn run<const CALLS: bool>(
        &mut self,
        shared: &mut Shared<'_>,
        own: u32,
        (limit, rival): (Due, u32),
        visit: &mut impl FnMut(&Event, &Tables) -> bool,
    ) -> Result<Pause, Error> {
        if self.generation != shared.generation {
            self.generation = shared.generation;
            self.known.fill(UNSET);
        }
        if let Some(event) = self.pending.take()
            && !self.deliver_stamped(&event, shared, visit)
        {
            return Ok(Pause::Stopped);
        }
        loop {
            if self.end - self.at < AHEAD && self.left > 0 {
                self.refill(shared)?;
            }
            let (key, slot, address) = match self.burst::<CALLS>(shared, visit) {
                Burst::Stopped => return Ok(Pause::Stopped),
                Burst::Event(slot, address) => (self.predictor.key(slot), slot, address),
                Burst::Slow => match self.record::<CALLS>(shared, (limit, rival, own), visit)? {
                    Step::On => continue,
                    Step::Event { key, slot, address } => (key, slot, address),
                    Step::Pause(pause) => return Ok(pause),
                },
            };
            let place = match self.known[slot as usize % SLOTS] {
                Known { shape: Shape::Unset, .. } => self.look_up(key, slot, shared).place,
                known => known.place,
            };
            let event = self.event(key, place, address, shared)?;
            if !key.kind().stamped() {
                shared.count(u64::from(event.times));
                if !visit(&event, shared.tables) {
                    return Ok(Pause::Stopped);
                }
                continue;
            }
            let due = self.stamp << 1 | 1;
            if (due, own) > (limit, rival) {
                self.pending = Some(event);
                return Ok(Pause::Until(due));
            }
            if !self.deliver_stamped(&event, shared, visit) {
                return Ok(Pause::Stopped);
            }
        }
    }

    /// Takes calls, returns and plain accesses of known slots until something else comes.
    #[inline(always)]
    fn burst<const CALLS: bool>(
        &mut self,
        shared: &mut Shared<'_>,
        visit: &mut impl FnMut(&Event, &Tables) -> bool,
    ) -> Burst {
        let (thread, mut stack, mut at, mut accesses) = (self.thread, self.stack, self.at, 0);
        let window = &self.window[..self.end];
        let tables = &mut *shared.tables;
        let end = loop {
            let Some(stored) = self.predictor.decode_known(window.get(at..).unwrap_or(&[])) else {
                // Returns from one to eight functions.
                match window.get(at) {
                    Some(&first) if !CALLS && first >> 3 == 1 => {
                        let Some(up) = tables.stacks.ancestor(stack, first & 7) else { break Burst::Slow };
                        stack = up;
                        at += 1;
                        continue;
                    }
                    _ => break Burst::Slow,
                }
            };
            let known = self.known[stored.slot as usize % SLOTS];
            if known.shape == Shape::Plain {
                let next = at + stored.len;
                // What follows may be a repeat of it, perhaps in the stream's next block.
                if window.get(next).is_none_or(|&next| next <= tag::REPEAT) {
                    at = next;
                    break Burst::Event(stored.slot, stored.address);
                }
                at = next;
                let (address, size) = (stored.address, u64::from(known.size));
                let access = Access { address, size, mode: known.mode, atomic: None, via: known.via };
                let event = Event { thread, place: known.place, stack, times: 1, op: Op::Access(access) };
                accesses += 1;
                if !visit(&event, tables) {
                    break Burst::Stopped;
                }
            } else if known.shape == Shape::Call {
                at += stored.len;
                let op = Op::Enter;
                let event = Event { thread, place: known.place, stack, times: 1, op };
                stack = tables.stacks.push(stack, known.place);
                if CALLS && !visit(&event, tables) {
                    break Burst::Stopped;
                }
            } else {
                at += stored.len;
                break Burst::Event(stored.slot, stored.address);
            }
        };
        (self.stack, self.at) = (stack, at);
        shared.count_many(accesses);
        end
    }

    /// Takes one record of any sort.
    fn record<const CALLS: bool>(
        &mut self,
        shared: &mut Shared<'_>,
        (limit, rival, own): (Due, u32, u32),
        visit: &mut impl FnMut(&Event, &Tables) -> bool,
    ) -> Result<Step, Error> {
        let decoded = match self.predictor.decode(&self.window[self.at..self.end]) {
            Ok(decoded) => decoded,
            Err(fault) => return Err(self.fault(fault, shared)),
        };
        let start = self.at;
        self.at += decoded.len;
        match decoded.record {
            Record::Event { key, slot, defined, address } => {
                if defined {
                    self.look_up(key, slot, shared);
                }
                return Ok(Step::Event { key, slot, address });
            }
            Record::Call { key, slot, .. } => return self.call::<CALLS>(key, slot, shared, visit),
            Record::Pop(count) => {
                if !self.pop::<CALLS>(count, shared, visit) {
                    return Ok(Step::Pause(Pause::Stopped));
                }
            }
            Record::Stamp(stamp) => {
                self.go_on_from(stamp, shared)?;
                let due = stamp << 1;
                if (due, own) > (limit, rival) {
                    return Ok(Step::Pause(Pause::Until(due)));
                }
            }
            Record::Name => {
                let name = String::from_utf8_lossy(&self.window[start + 2..self.at]).into_owned();
                shared.tables.threads.see(self.thread).name = name;
            }
            Record::Repeat(_) => return Err(self.corrupt("a repeat without an event before it", shared)),
            Record::End => {
                if !self.next_block(shared)? {
                    return Ok(Step::Pause(Pause::Finished));
                }
            }
        }
        Ok(Step::On)
    }

    fn call<const CALLS: bool>(
        &mut self,
        key: Key,
        slot: u32,
        shared: &mut Shared<'_>,
        visit: &mut impl FnMut(&Event, &Tables) -> bool,
    ) -> Result<Step, Error> {
        let place = self.look_up(key, slot, shared).place;
        let event = self.bare(place, Op::Enter);
        self.stack = shared.tables.stacks.push(self.stack, place);
        if CALLS && !visit(&event, shared.tables) {
            return Ok(Step::Pause(Pause::Stopped));
        }
        Ok(Step::On)
    }

    /// The first moment at which the stream takes part in the merge: its first stamp.
    ///
    /// Reads up to there without delivering (but a name that the thread has from the start is
    /// noted, so that its creator's events can tell it); the cursor is then of no more use.
    pub(super) fn first_due(&mut self, shared: &mut Shared<'_>) -> Result<Due, Error> {
        loop {
            if self.end - self.at < AHEAD && self.left > 0 {
                self.refill(shared)?;
            }
            let bytes = &self.window[self.at..self.end];
            // What is wrong with the stream is told when its turn comes.
            let Ok(decoded) = self.predictor.decode(bytes) else { return Ok(NEVER) };
            self.at += decoded.len;
            match decoded.record {
                Record::Stamp(stamp) => return Ok(stamp.min(u64::MAX >> 1) << 1),
                Record::Event { key, .. } => {
                    let Ok(stamp) = self.skip_numbers(key.kind()) else { return Ok(NEVER) };
                    if let Some(stamp) = stamp {
                        return Ok(stamp.min(u64::MAX >> 1) << 1 | 1);
                    }
                }
                Record::End => {
                    if self.cut || !self.next_block(shared)? {
                        return Ok(NEVER);
                    }
                }
                Record::Name => {
                    let name = &self.window[self.at - decoded.len + 2..self.at];
                    let name = String::from_utf8_lossy(name).into_owned();
                    *shared.tables.threads.name(self.thread) = name;
                }
                Record::Call { .. } | Record::Pop(_) | Record::Repeat(_) => {}
            }
        }
    }

    fn skip_numbers(&mut self, kind: Kind) -> Result<Option<u64>, Fault> {
        if kind.has_extra() {
            self.number()?;
        }
        if kind.stamped() { self.number().map(Some) } else { Ok(None) }
    }

    fn number(&mut self) -> Result<u64, Fault> {
        let (number, at) = varint(&self.window[..self.end], self.at)?;
        self.at = at;
        Ok(number)
    }

    /// Makes the event: reads what follows its address, and its repeats.
    #[inline]
    fn event(
        &mut self,
        key: Key,
        place: PlaceId,
        address: u64,
        shared: &mut Shared<'_>,
    ) -> Result<Event, Error> {
        let kind = key.kind();
        let extra =
            if kind.has_extra() { self.number().map_err(|fault| self.fault(fault, shared))? } else { 0 };
        if kind.stamped() {
            let ahead = self.number().map_err(|fault| self.fault(fault, shared))?;
            let Some(stamp) = self.stamp.checked_add(ahead) else {
                return Err(self.corrupt("a stamp beyond all bounds", shared));
            };
            self.go_on_from(stamp, shared)?;
        }
        let Some(op) = kind.unpack(address, extra) else {
            return Err(self.corrupt("an impossible event", shared));
        };
        if let Op::Fork { child } | Op::Join { child } = op
            && child.0 >= shared.thread_limit
        {
            return Err(self.corrupt("an impossible thread number", shared));
        }
        let mut event = self.bare(place, op);
        if self.window[..self.end].get(self.at).is_none_or(|&next| next <= tag::REPEAT) {
            self.repeats(&mut event, shared)?;
        }
        Ok(event)
    }

    fn go_on_from(&mut self, stamp: u64, shared: &Shared<'_>) -> Result<(), Error> {
        if stamp > u64::MAX >> 1 {
            return Err(self.corrupt("a stamp beyond all bounds", shared));
        }
        if stamp < self.stamp {
            return Err(self.corrupt("a stamp smaller than the one before", shared));
        }
        self.stamp = stamp;
        Ok(())
    }

    /// Adds the repeats that follow the event. They may stand in the stream's next block.
    #[cold]
    fn repeats(&mut self, event: &mut Event, shared: &mut Shared<'_>) -> Result<(), Error> {
        loop {
            match self.window[..self.end].get(self.at) {
                Some(&tag::REPEAT) => {
                    self.at += 1;
                    let more = self.number().map_err(|fault| self.fault(fault, shared))?;
                    let times = u64::from(event.times).saturating_add(more);
                    event.times = u32::try_from(times).unwrap_or(u32::MAX);
                }
                None | Some(&tag::END) => {
                    // At the end of a cut block the event itself is still whole.
                    if self.cut || !self.next_block(shared)? {
                        return Ok(());
                    }
                    continue;
                }
                Some(_) => return Ok(()),
            }
            if self.end - self.at < AHEAD && self.left > 0 {
                self.refill(shared)?;
            }
        }
    }

    #[inline]
    fn deliver_stamped(
        &mut self,
        event: &Event,
        shared: &mut Shared<'_>,
        visit: &mut impl FnMut(&Event, &Tables) -> bool,
    ) -> bool {
        if let Op::Access(_) = event.op {
            shared.count(u64::from(event.times));
        } else {
            shared.note(event);
        }
        visit(event, shared.tables)
    }

    fn bare(&self, place: PlaceId, op: Op) -> Event {
        Event { thread: self.thread, place, stack: self.stack, times: 1, op }
    }

    #[inline]
    fn pop<const CALLS: bool>(
        &mut self,
        count: u64,
        shared: &mut Shared<'_>,
        visit: &mut impl FnMut(&Event, &Tables) -> bool,
    ) -> bool {
        for left in (0..count).rev() {
            let Some((parent, _)) = shared.tables.stacks.parent(self.stack) else {
                shared.dirt.returns_too_many = shared.dirt.returns_too_many.saturating_add(left + 1);
                return true;
            };
            self.stack = parent;
            if CALLS && !visit(&self.bare(PlaceId::UNKNOWN, Op::Exit), shared.tables) {
                return false;
            }
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, key: Key, slot: u32, shared: &mut Shared<'_>) -> Known {
        let kind = key.kind();
        let mut known = Known { place: shared.place(key.pc(), self.stamp), shape: Shape::Other, ..UNSET };
        match kind.class() {
            Some(Class::Plain) => {
                if let Some(Op::Access(access)) = kind.unpack(0, 0) {
                    known.shape = Shape::Plain;
                    (known.mode, known.via, known.size) = (access.mode, access.via, access.size as u8);
                }
            }
            Some(Class::Call) => known.shape = Shape::Call,
            _ => {}
        }
        self.known[slot as usize % SLOTS] = known;
        known
    }

    /// Moves on to the stream's next block; says whether there is one.
    fn next_block(&mut self, shared: &mut Shared<'_>) -> Result<bool, Error> {
        if self.cut && self.at == self.end {
            return Err(shared.error(ErrorKind::Truncated, self.position(), "the file ends within a block"));
        }
        let Some(&block) = self.stream.blocks.get(self.block) else { return Ok(false) };
        self.block += 1;
        (self.at, self.end) = (0, 0);
        (self.base, self.left, self.cut) = (block.start, block.len, block.cut);
        self.refill(shared)?;
        Ok(true)
    }

    /// Moves what is left of the window to its front and fills it up from the file.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, shared: &mut Shared<'_>) -> Result<(), Error> {
        let kept = self.end - self.at;
        self.window.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        (self.at, self.end) = (0, kept);
        let more = self.left.min((WINDOW - kept) as u64) as usize;
        if self.window.len() < kept + more {
            self.window.resize(kept + more, 0);
        }
        let from = self.base + kept as u64;
        let got = shared.read(&mut self.window[kept..kept + more], from)?;
        self.end = kept + got;
        self.left -= more as u64;
        if got < more {
            (self.left, self.cut) = (0, true);
        }
        Ok(())
    }

    fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    #[cold]
    fn fault(&self, fault: Fault, shared: &Shared<'_>) -> Error {
        if fault == Fault::Short && self.cut {
            let end = self.base + self.end as u64;
            return shared.error(ErrorKind::Truncated, end, "the file ends within a block");
        }
        self.corrupt(fault.reason(), shared)
    }

    #[cold]
    fn corrupt(&self, reason: &str, shared: &Shared<'_>) -> Error {
        shared.error(ErrorKind::Corrupt, self.position(), reason)
    }
}
