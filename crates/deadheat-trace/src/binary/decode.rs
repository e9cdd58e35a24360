//! From a stream's bytes to entries of [`Ahead`], regardless of the other streams.
//!
//! Cost of a plain access: one prediction, one load from the table of known slots, one store of
//! the access. Everything else is out of line.
//!
//! Invariant: nothing is decoded behind a stamp at which addresses change their meaning before
//! that change has been made.

use deadheat_core::access::Access;
use deadheat_core::codec::{Fault, Key, Place, Predictor, Record, SLOTS, Taken, tag};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::kind::{Class, Kind};
use deadheat_core::plain::{Form, Plain, Strided};

use super::ahead::{Ahead, Behind, STEP, What};
use super::blocks::Stream;
use super::cursor::{Due, NEVER};
use super::merge::Shared;
use super::window::Window;
use crate::error::Error;
use crate::tables::Stacks;

/// A burst goes on with this many bytes in sight: more than an event and its numbers take.
const SIGHT: usize = 64;
const _: () = assert!(SIGHT >= deadheat_core::codec::MAX_EVENT + 16);

/// [`STEP`] records of the predicted events at the predicted addresses.
const PREDICTED: [u8; STEP] = [tag::EVENT; STEP];

/// So many records of that sort in a row may be those of a loop.
const LOOP: usize = 32;
/// A loop's body has at most so many accesses.
const BODY: usize = 32;
/// A loop goes round at least that often, and once more.
const TURNS: usize = 2;
const _: () = assert!(LOOP <= SIGHT);

/// What is known of a slot: the place, and the form of a plain access or a number above all
/// forms.
#[derive(Clone, Copy)]
struct Known {
    place: PlaceId,
    what: u32,
}

/// Not looked up yet.
const UNSET: u32 = 1 << 16;
const CALL: u32 = 2 << 16;
/// An access to a range, with the form that it has but for the size.
const RANGE: u32 = 3 << 16;
const ATOMIC: u32 = 4 << 16;
const LOCK: u32 = 5 << 16;
const HEAP: u32 = 6 << 16;
const OTHER: u32 = 7 << 16;
const _: () = assert!(Form::MASK < UNSET && size_of::<Known>() == 8);

const NOTHING: Known = Known { place: PlaceId::UNKNOWN, what: UNSET };

/// Why a burst ended.
enum Burst {
    /// Something comes that it cannot take.
    Slow,
    /// Enough was decoded.
    Full,
    /// An event of that slot at that address comes, whose numbers are not read yet.
    Event(u32, u64),
}

/// The state of one stream.
pub(super) struct Decoder {
    predictor: Box<Predictor>,
    known: Box<[Known; SLOTS]>,
    window: Window,
    pub(super) thread: ThreadId,
    stamp: u64,
    stack: StackId,
    /// The version of the module table that `known` was made with.
    generation: u64,
}

impl Decoder {
    /// A decoder at the start of a stream; `used` is one that is no longer needed.
    pub(super) fn start(stream: Stream, used: Option<Decoder>) -> Decoder {
        let (predictor, known, window) = match used {
            Some(Decoder { mut predictor, mut known, window, .. }) => {
                predictor.clear();
                known.fill(NOTHING);
                (predictor, known, window)
            }
            None => (Box::default(), Box::new([NOTHING; SLOTS]), Window::default()),
        };
        let thread = ThreadId(stream.thread);
        let window = Window::start(stream, window);
        Decoder { predictor, known, window, thread, stamp: 0, stack: StackId::EMPTY, generation: 0 }
    }

    /// Takes the stream out; the decoder is then good for another.
    pub(super) fn take_stream(&mut self) -> Stream {
        self.window.take_stream()
    }

    /// Replaces all entries by the stream's next ones. All before them must be delivered.
    pub(super) fn fill<const CALLS: bool>(&mut self, ahead: &mut Ahead, shared: &mut Shared<'_>) {
        if self.generation != shared.generation {
            self.generation = shared.generation;
            self.known.fill(NOTHING);
        }
        ahead.clear();
        match self.entries::<CALLS>(ahead, shared) {
            Ok(behind) => ahead.behind = behind,
            Err(error) => ahead.behind = Behind::Fault(error),
        }
    }

    fn entries<const CALLS: bool>(
        &mut self,
        ahead: &mut Ahead,
        shared: &mut Shared<'_>,
    ) -> Result<Behind, Error> {
        loop {
            if self.window.low() {
                self.window.refill(shared)?;
            }
            if ahead.is_full() {
                match self.window.sight().first() {
                    // Perhaps a repeat of the last event, or one follows in the next block.
                    None | Some(&tag::END | &tag::REPEAT) => {}
                    Some(_) => return Ok(Behind::More),
                }
            } else {
                match self.burst::<CALLS>(ahead, &mut shared.tables.stacks, shared.next_change) {
                    Burst::Full => continue,
                    Burst::Event(slot, address) => {
                        self.event::<CALLS>(slot, address, ahead, shared)?;
                        continue;
                    }
                    Burst::Slow if self.window.low() => continue,
                    Burst::Slow => {}
                }
            }
            if !self.record::<CALLS>(ahead, shared)? {
                return Ok(Behind::End);
            }
        }
    }

    /// Takes calls, returns and events of known slots until something else comes.
    ///
    /// One decision a record: what its slot makes. All else is out of the common way: numbers of
    /// more than two bytes, seldom events, and what is not known yet.
    #[inline(always)]
    fn burst<const CALLS: bool>(&mut self, ahead: &mut Ahead, stacks: &mut Stacks, change: Due) -> Burst {
        let Decoder { predictor, known, window, thread, .. } = self;
        let (mut stack, mut at, mut state, mut stamp) =
            (self.stack, window.at, predictor.resume(), self.stamp);
        let held = window.held();
        let (mut plains, mut count) = ahead.lend();
        let end = loop {
            let Some(bytes) = held.get(at..).and_then(|bytes| bytes.first_chunk::<SIGHT>()) else {
                break Burst::Slow;
            };
            let Some(room) = plains.get_mut(count..).and_then(|room| room.first_chunk_mut::<STEP>()) else {
                break Burst::Slow;
            };
            let (path, room_here) = ((&mut stack, &mut *stacks), (&mut *room, &mut count));
            let taken =
                predicted::<CALLS>((predictor, &mut state), known, &held[at..], path, room_here, ahead);
            at += taken;
            if taken > 0 {
                continue;
            }
            let Some(front) = bytes.first_chunk().and_then(|front| predictor.peek(&state, front)) else {
                // Returns from one to eight functions, or something seldom.
                match stacks.ancestor(stack, bytes[0] & 7) {
                    Some(up) if !CALLS && bytes[0] >> 3 == 1 => (stack, at) = (up, at + 1),
                    _ => break Burst::Slow,
                }
                ahead.solidify(count);
                continue;
            };
            let Known { place, what } = known[front.slot as usize % SLOTS];
            if what <= Form::MASK {
                let Some((address, len)) = predictor.take_event(&mut state, front) else { break Burst::Slow };
                at += len;
                room[0] = Plain { address, place, stack, form: Form::from_bits(what) };
                count += 1;
                continue;
            }
            if what == CALL && !CALLS {
                let Some(len) = predictor.take_call(&mut state, front) else { break Burst::Slow };
                at += len;
                stack = stacks.push(stack, place);
                ahead.solidify(count);
                continue;
            }
            let taken = match what & !0xffff {
                RANGE => predictor.take_event(&mut state, front),
                ATOMIC | LOCK | HEAP => predictor.take_stamped(&mut state, front),
                _ => None,
            };
            let Some((address, len)) = taken else { break Burst::Slow };
            at += len;
            let kind = predictor.key(front.slot).kind();
            let maker = Maker { thread: *thread, place, stack, address, before: count, change };
            let Some(numbers) = maker.make(what, kind, &bytes[len..], stamp, room, ahead) else {
                break Burst::Event(front.slot, address);
            };
            (at, count) = (at + numbers.len, count + usize::from(numbers.plain));
            stamp = numbers.stamp;
            if ahead.has_enough_others() {
                break Burst::Full;
            }
        };
        ahead.give_back(plains, count);
        predictor.pause(state);
        (self.stack, self.window.at, self.stamp) = (stack, at, stamp);
        end
    }

    /// Takes one record of any sort; says whether the stream goes on.
    fn record<const CALLS: bool>(
        &mut self,
        ahead: &mut Ahead,
        shared: &mut Shared<'_>,
    ) -> Result<bool, Error> {
        let decoded = match self.predictor.decode(self.window.sight()) {
            Ok(decoded) => decoded,
            Err(fault) => return Err(self.window.fault(fault, shared)),
        };
        let start = self.window.at;
        self.window.at += decoded.len;
        match decoded.record {
            Record::Event { key, slot, defined, address } => {
                if key.kind().class() == Some(Class::Call) {
                    return Err(self.window.corrupt("an impossible event", shared));
                }
                if defined {
                    self.look_up(key, slot, shared);
                }
                self.event::<CALLS>(slot, address, ahead, shared)?;
                return Ok(true);
            }
            Record::Repeat(more) => {
                if !ahead.repeat(more, self.thread) {
                    return Err(self.window.corrupt("a repeat without an event before it", shared));
                }
                return Ok(true);
            }
            // A repeat of the last event may stand in the next block.
            Record::End => return self.window.next_block(shared),
            Record::Call { key, slot, .. } => {
                let place = self.look_up(key, slot, shared).place;
                self.call::<CALLS>(place, ahead, shared);
                return Ok(true);
            }
            Record::Pop(count) => self.pop::<CALLS>(count, ahead, &shared.tables.stacks),
            Record::Stamp(stamp) => {
                self.go_on_from(stamp, shared)?;
                self.wait(stamp << 1, What::Mark, ahead, shared);
            }
            Record::Name => {
                let name = &self.window.held()[start + 2..self.window.at];
                ahead.other(0, What::Name(String::from_utf8_lossy(name).into()));
            }
            // It was noted when the stream's first stamp was looked for.
            Record::Given(_) => {}
        }
        ahead.solidify(ahead.count());
        Ok(true)
    }

    fn call<const CALLS: bool>(&mut self, place: PlaceId, ahead: &mut Ahead, shared: &mut Shared<'_>) {
        if CALLS {
            ahead.other(0, What::Event(self.bare(place, Op::Enter)));
        }
        self.stack = shared.tables.stacks.push(self.stack, place);
        ahead.solidify(ahead.count());
    }

    /// Takes an event: reads what follows its address. Or a call, which has nothing there.
    #[inline]
    fn event<const CALLS: bool>(
        &mut self,
        slot: u32,
        address: u64,
        ahead: &mut Ahead,
        shared: &mut Shared<'_>,
    ) -> Result<(), Error> {
        let key = self.predictor.key(slot);
        let known = match self.known[slot as usize % SLOTS] {
            Known { what: UNSET, .. } => self.look_up(key, slot, shared),
            known => known,
        };
        let place = known.place;
        if known.what == CALL {
            self.call::<CALLS>(place, ahead, shared);
            return Ok(());
        }
        let kind = key.kind();
        if known.what == ATOMIC {
            self.stamp(shared)?;
            let event = self.bare(place, Op::Access(kind.unpack_atomic(address)));
            self.wait(self.stamp << 1 | 1, What::Event(event), ahead, shared);
            return Ok(());
        }
        let extra = if kind.has_extra() { self.number(shared)? } else { 0 };
        let stamped = kind.stamped();
        if stamped {
            self.stamp(shared)?;
        }
        let Some(op) = kind.unpack(address, extra) else {
            return Err(self.window.corrupt("an impossible event", shared));
        };
        let event = self.bare(place, op);
        if stamped {
            if let Op::Fork { child } | Op::Join { child } = op
                && child.0 >= shared.thread_limit
            {
                return Err(self.window.corrupt("an impossible thread number", shared));
            }
            self.wait(self.stamp << 1 | 1, What::Event(event), ahead, shared);
            return Ok(());
        }
        let form = if let Op::Access(access) = op { Form::of(&access) } else { None };
        match form {
            Some(form) => ahead.plain(Plain { address, place, stack: self.stack, form }),
            None => ahead.other(0, What::Event(event)),
        }
        Ok(())
    }

    /// Adds an entry that has to wait for its moment.
    #[inline(always)]
    fn wait(&self, due: Due, what: What, ahead: &mut Ahead, shared: &Shared<'_>) {
        ahead.other(due, what);
        if due >= shared.next_change {
            ahead.bar();
        }
    }

    #[inline]
    fn number(&mut self, shared: &Shared<'_>) -> Result<u64, Error> {
        self.window.number().map_err(|fault| self.window.fault(fault, shared))
    }

    /// Reads an event's stamp.
    #[inline(always)]
    fn stamp(&mut self, shared: &Shared<'_>) -> Result<(), Error> {
        let more = self.number(shared)?;
        match self.stamp.checked_add(more) {
            Some(stamp) => self.go_on_from(stamp, shared),
            None => Err(self.window.corrupt("a stamp beyond all bounds", shared)),
        }
    }

    #[inline]
    fn go_on_from(&mut self, stamp: u64, shared: &Shared<'_>) -> Result<(), Error> {
        if stamp > u64::MAX >> 1 {
            return Err(self.window.corrupt("a stamp beyond all bounds", shared));
        }
        if stamp < self.stamp {
            return Err(self.window.corrupt("a stamp smaller than the one before", shared));
        }
        self.stamp = stamp;
        Ok(())
    }

    fn bare(&self, place: PlaceId, op: Op) -> Event {
        Event { thread: self.thread, place, stack: self.stack, times: 1, op }
    }

    fn pop<const CALLS: bool>(&mut self, count: u64, ahead: &mut Ahead, stacks: &Stacks) {
        for left in (0..count).rev() {
            let Some((parent, _)) = stacks.parent(self.stack) else {
                ahead.other(0, What::Excess(left + 1));
                return;
            };
            self.stack = parent;
            if CALLS {
                ahead.other(0, What::Event(self.bare(PlaceId::UNKNOWN, Op::Exit)));
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, key: Key, slot: u32, shared: &mut Shared<'_>) -> Known {
        let known = Known { place: shared.place(key.pc(), self.stamp), what: what(key.kind()) };
        self.known[slot as usize % SLOTS] = known;
        known
    }

    /// The first moment at which the stream takes part in the merge: its first stamp.
    ///
    /// Reads up to there without delivering (but a name or number that the thread has from the
    /// start is noted, so that its creator's events can tell it); the decoder is then of no more use.
    pub(super) fn first_due(&mut self, shared: &mut Shared<'_>) -> Result<Due, Error> {
        loop {
            if self.window.low() {
                self.window.refill(shared)?;
            }
            // What is wrong with the stream is told when its turn comes.
            let Ok(decoded) = self.predictor.decode(self.window.sight()) else { return Ok(NEVER) };
            let start = self.window.at;
            self.window.at += decoded.len;
            match decoded.record {
                Record::Stamp(stamp) => return Ok(stamp.min(u64::MAX >> 1) << 1),
                Record::Event { key, .. } => {
                    let Ok(stamp) = self.skip_numbers(key.kind()) else { return Ok(NEVER) };
                    if let Some(stamp) = stamp {
                        return Ok(stamp.min(u64::MAX >> 1) << 1 | 1);
                    }
                }
                Record::End => {
                    if self.window.cut() || !self.window.next_block(shared)? {
                        return Ok(NEVER);
                    }
                }
                Record::Name => {
                    let name = &self.window.held()[start + 2..self.window.at];
                    *shared.tables.threads.name(self.thread) = String::from_utf8_lossy(name).into_owned();
                }
                Record::Given(number) => shared.tables.threads.give(self.thread, number),
                Record::Call { .. } | Record::Pop(_) | Record::Repeat(_) => {}
            }
        }
    }

    fn skip_numbers(&mut self, kind: Kind) -> Result<Option<u64>, Fault> {
        if kind.has_extra() {
            self.window.number()?;
        }
        if kind.stamped() { self.window.number().map(Some) } else { Ok(None) }
    }
}

/// What a slot of that kind makes.
fn what(kind: Kind) -> u32 {
    // Of a size that has a form.
    let sample = kind.unpack(0, 1);
    match (kind.class(), sample) {
        (Some(Class::Call), _) => CALL,
        (Some(Class::Plain), Some(Op::Access(access))) => Form::of(&access).map_or(OTHER, Form::bits),
        (Some(Class::Range), Some(Op::Access(access))) => {
            Form::of(&access).map_or(OTHER, |form| RANGE | form.bits())
        }
        (Some(Class::Atomic), Some(_)) => ATOMIC,
        _ if kind.is_lock() => LOCK,
        _ if kind.is_heap() => HEAP,
        _ => OTHER,
    }
}

/// Takes turns of a loop, or up to [`STEP`] records of the predicted events at the predicted addresses, if
/// several of these are in front of `bytes`; gives how many records it took.
#[inline(always)]
fn predicted<const CALLS: bool>(
    (predictor, state): (&mut Predictor, &mut Place),
    known: &[Known; SLOTS],
    bytes: &[u8],
    (stack, stacks): (&mut StackId, &mut Stacks),
    (room, count): (&mut [Plain; STEP], &mut usize),
    ahead: &mut Ahead,
) -> usize {
    if bytes.first_chunk() != Some(&PREDICTED) {
        return 0;
    }
    if bytes.first_chunk() == Some(&[tag::EVENT; LOOP]) {
        let taken = looped(predictor, state, known, (bytes, *stack), (ahead, *count));
        if taken > 0 {
            return taken;
        }
    }
    let (mut added, mut latest_call) = (0, usize::MAX);
    let taken = predictor.decode_run(state, STEP, |slot, address| {
        let Known { place, what } = known[slot as usize % SLOTS];
        if what <= Form::MASK {
            room[added % STEP] = Plain { address, place, stack: *stack, form: Form::from_bits(what) };
            added += 1;
            Taken::Plain
        } else if what == CALL && !CALLS {
            *stack = stacks.push(*stack, place);
            latest_call = added;
            Taken::Call
        } else {
            Taken::No
        }
    });
    *count += added;
    if latest_call == added {
        ahead.solidify(*count);
    }
    taken
}

/// Takes as many turns of a loop of plain accesses as the records in front of `bytes` are those of predicted
/// events at predicted addresses, but for the last turn: so that an event follows which a record behind
/// them can repeat. Gives how many records were taken; 0, and nothing changed, if there is no such loop.
#[inline(never)]
fn looped(
    predictor: &mut Predictor,
    state: &mut Place,
    known: &[Known; SLOTS],
    (bytes, stack): (&[u8], StackId),
    (ahead, before): (&mut Ahead, usize),
) -> usize {
    let mut slots = [0; BODY];
    let Some(len) = predictor.find_loop(state, &mut slots) else { return 0 };
    let body = &slots[..len];
    if body.iter().any(|&slot| known[slot as usize % SLOTS].what > Form::MASK) {
        return 0;
    }
    let (steps, _) = bytes.as_chunks::<STEP>();
    let run = steps.iter().take_while(|&&step| step == PREDICTED).count() * STEP;
    let turns = (run / len).saturating_sub(1);
    if turns < TURNS {
        return 0;
    }
    ahead.looped(
        before,
        turns as u32,
        body.iter().map(|&slot| {
            let (address, stride) = predictor.decode_turns(state, slot, turns as u32);
            let Known { place, what } = known[slot as usize % SLOTS];
            Strided { first: Plain { address, place, stack, form: Form::from_bits(what) }, stride }
        }),
    );
    turns * len
}

/// What is known of an event before its numbers are read.
struct Maker {
    thread: ThreadId,
    place: PlaceId,
    stack: StackId,
    address: u64,
    /// How many plain accesses come before it.
    before: usize,
    /// The moment at which addresses change their meaning next.
    change: Due,
}

/// What the numbers of an event told.
struct Numbers {
    /// How many bytes they took.
    len: usize,
    /// The stream's stamp behind the event.
    stamp: u64,
    /// The event's moment; 0 if it has none.
    due: Due,
    /// It turned out to be a plain access.
    plain: bool,
}

impl Maker {
    /// Makes the event from the numbers that stand in front of `bytes`. `None`, and nothing made, if
    /// they are not of one or two bytes each, or it is none of those that come often.
    #[inline(always)]
    fn make(
        &self,
        what: u32,
        kind: Kind,
        bytes: &[u8],
        stamp: u64,
        room: &mut [Plain; STEP],
        ahead: &mut Ahead,
    ) -> Option<Numbers> {
        let Maker { place, stack, address, .. } = *self;
        match what & !0xffff {
            RANGE => {
                let (size, len) = short(bytes, 0)?;
                let form = Form::from_bits(what);
                let sized = form.of_size(size);
                if let Some(form) = sized {
                    room[0] = Plain { address, place, stack, form };
                } else {
                    let (mode, via) = (form.mode(), form.via());
                    self.add(0, Op::Access(Access { address, size, mode, atomic: None, via }), ahead);
                }
                Some(Numbers { len, stamp, due: 0, plain: sized.is_some() })
            }
            ATOMIC => {
                let numbers = Numbers::stamp(bytes, 0, stamp)?;
                self.add(numbers.due, Op::Access(kind.unpack_atomic(address)), ahead);
                Some(numbers)
            }
            LOCK => {
                let numbers = Numbers::stamp(bytes, 0, stamp)?;
                self.add(numbers.due, kind.unpack_lock(address), ahead);
                Some(numbers)
            }
            HEAP => {
                let (size, at) = short(bytes, 0)?;
                let numbers = Numbers::stamp(bytes, at, stamp)?;
                self.add(numbers.due, kind.unpack_heap(address, size), ahead);
                Some(numbers)
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn add(&self, due: Due, op: Op, ahead: &mut Ahead) {
        let Maker { thread, place, stack, before, .. } = *self;
        ahead.event(before, due, Event { thread, place, stack, times: 1, op });
        if due >= self.change {
            ahead.bar();
        }
    }
}

impl Numbers {
    /// Reads the stamp at `bytes[at..]`, the last of an event's numbers.
    #[inline(always)]
    fn stamp(bytes: &[u8], at: usize, stamp: u64) -> Option<Numbers> {
        let (more, len) = short(bytes, at)?;
        let stamp = stamp + more;
        if stamp > u64::MAX >> 1 {
            return None;
        }
        Some(Numbers { len, stamp, due: stamp << 1 | 1, plain: false })
    }
}

/// Reads a varint of one or two bytes; gives the position behind it too.
#[inline(always)]
fn short(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let &[low, high] = bytes.get(at..)?.first_chunk()?;
    let more = low >> 7;
    if more & high >> 7 != 0 {
        return None;
    }
    let high = high & more.wrapping_neg();
    Some((u64::from(low & 0x7f) | u64::from(high) << 7, at + 1 + usize::from(more)))
}
