//! Random traces of runs that could have been: locks exclude, threads begin before they act.

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};

use super::random::Random;

const ORDERS: [MemoryOrder; 6] = [
    MemoryOrder::Relaxed,
    MemoryOrder::Consume,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcqRel,
    MemoryOrder::SeqCst,
];
const CONDITION: u64 = 0x9100;
const BARRIER: u64 = 0x9200;
const SEMAPHORE: u64 = 0x9300;
const MAX_THREADS: usize = 7;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unborn,
    Running,
    Waiting,
    AtBarrier,
    Ended,
}

struct Thread {
    state: State,
    held: Vec<(u64, LockMode)>,
}

/// What a trace is made of.
struct Plan {
    /// Where the memory is that everybody accesses.
    base: u64,
    /// Sizes of plain accesses.
    sizes: &'static [u64],
    /// How far from the base they begin.
    spread: usize,
    /// The locks.
    locks: [u64; 2],
    /// How many arrive in a round of the barrier, 0 if that is not told.
    count: u32,
    /// Whether each event has a place of its own.
    places_differ: bool,
    /// Which families of events there are.
    families: Vec<usize>,
}

/// Makes one trace.
pub(crate) struct Generator {
    random: Random,
    plan: Plan,
    threads: Vec<Thread>,
    block: Option<(u64, u64)>,
    events: Vec<Event>,
}

impl Generator {
    /// The trace of a seed.
    pub(crate) fn trace(seed: u64) -> Vec<Event> {
        let mut random = Random(seed);
        let plan = Self::plan(&mut random);
        let everybody = random.one_in(2);
        let starts =
            |index: usize| if index == 0 || everybody && index < 4 { State::Running } else { State::Unborn };
        let threads =
            (0..MAX_THREADS).map(|index| Thread { state: starts(index), held: Vec::new() }).collect();
        let length = 5 + random.below(40);
        let mut generator = Self { random, plan, threads, block: None, events: Vec::new() };
        while generator.events.len() < length {
            generator.step();
        }
        generator.events
    }

    fn plan(random: &mut Random) -> Plan {
        let (base, sizes, spread): (u64, &'static [u64], usize) = match random.below(6) {
            0 => (0x1000, &[4], 8),
            1 => (0x1000, &[8], 16),
            2 => (0x10fc, &[1, 2, 4, 8], 16),
            3 => (0x1ff8, &[1, 2, 3, 4, 5, 8, 12, 16, 20], 16),
            4 => (0x1f80, &[1, 4, 8, 64, 256, 300, 1000], 300),
            _ => (0x1f00, &[1, 8, 256, 4096, 0x1_2000], 0x3000),
        };
        let inside = random.one_in(4);
        let locks = if inside { [base, base + 8] } else { [0x9000, 0x9008] };
        // Accesses are always there; of the others a random choice, so that races stay possible.
        let mut families = vec![0; 4];
        for family in 1..=9 {
            if random.one_in(3) {
                families.extend([family; 2]);
            }
        }
        let (count, places_differ) = (random.pick(&[0, 2, 3]), random.one_in(2));
        Plan { base, sizes, spread, locks, count, places_differ, families }
    }

    fn step(&mut self) {
        let running: Vec<usize> =
            (0..MAX_THREADS).filter(|&index| self.threads[index].state == State::Running).collect();
        let waiting: Vec<usize> = (0..MAX_THREADS)
            .filter(|&index| matches!(self.threads[index].state, State::Waiting | State::AtBarrier))
            .collect();
        if !waiting.is_empty() && (running.is_empty() || self.random.one_in(5)) {
            let thread = self.random.pick(&waiting);
            return self.wake(thread);
        }
        if running.is_empty() {
            // Only thread 0 never ends, so somebody runs or waits.
            unreachable!("nobody can act");
        }
        let thread = self.random.pick(&running);
        let families = std::mem::take(&mut self.plan.families);
        let family = self.random.pick(&families);
        self.plan.families = families;
        match family {
            0 => self.plain(thread),
            1 => self.atomic(thread),
            2 => self.fence(thread),
            3 => self.lock(thread),
            4 => self.fork_or_join(thread),
            5 => self.signal_or_wait(thread),
            6 => self.condition(thread),
            7 => self.arrive(thread),
            8 => self.alloc_or_free(thread),
            _ => self.forget(thread),
        }
    }

    fn push(&mut self, thread: usize, op: Op) {
        let number = if self.plan.places_differ { self.events.len() } else { self.random.below(3) };
        let place = PlaceId(number as u32 + 1);
        let stack = StackId(if self.plan.places_differ { 0 } else { self.random.below(2) as u32 });
        self.events.push(Event { thread: ThreadId(thread as u32), place, stack, times: 1, op });
    }

    fn plain(&mut self, thread: usize) {
        let size = self.random.pick(self.plan.sizes);
        let mut address = self.plan.base + self.random.below(self.plan.spread) as u64;
        if self.random.one_in(2) && size.is_power_of_two() {
            address &= !(size - 1);
        }
        let mode = self.random.pick(&[Mode::Read, Mode::Read, Mode::Write, Mode::Write, Mode::ReadWrite]);
        let via = self.random.pick(&[Via::Code, Via::Code, Via::Volatile, Via::MemoryFunction, Via::Vptr]);
        self.push(thread, Op::Access(Access { via, ..Access::plain(address, size, mode) }));
    }

    fn atomic(&mut self, thread: usize) {
        let size = self.random.pick(&[1, 2, 4, 4, 4, 4, 8, 8, 16]);
        let address = (self.plan.base + self.random.pick(&[0, 0, 0, 0, 1, 4, 6, 8])) & !(size - 1);
        let mode = self.random.pick(&[Mode::Read, Mode::Write, Mode::ReadWrite]);
        let order = Some(self.random.pick(&ORDERS));
        self.push(thread, Op::Access(Access { atomic: order, ..Access::plain(address, size, mode) }));
    }

    fn fence(&mut self, thread: usize) {
        let order = self.random.pick(&ORDERS);
        self.push(thread, Op::Fence(order));
    }

    fn lock(&mut self, thread: usize) {
        let lock = self.random.pick(&self.plan.locks);
        let holds = |other: &Thread| other.held.iter().any(|&(held, _)| held == lock);
        let mine = self.threads[thread].held.iter().rev().find(|&&(held, _)| held == lock).copied();
        if let Some((_, mode)) = mine
            && !self.random.one_in(4)
        {
            let held = &mut self.threads[thread].held;
            let index = held.iter().rposition(|&(held, _)| held == lock).expect("it is held");
            held.remove(index);
            return self.push(thread, Op::Release { lock, mode });
        }
        let mode = match mine {
            Some((_, mode)) => mode,
            None => self.random.pick(&[LockMode::Write, LockMode::Read]),
        };
        let others = || self.threads.iter().enumerate().filter(|&(index, _)| index != thread);
        let written = |(_, other): (usize, &Thread)| other.held.contains(&(lock, LockMode::Write));
        let taken = if mode == LockMode::Write {
            others().any(|(_, other)| holds(other))
        } else {
            others().any(written)
        };
        if !taken {
            self.threads[thread].held.push((lock, mode));
            self.push(thread, Op::Acquire { lock, mode });
        }
    }

    fn fork_or_join(&mut self, thread: usize) {
        let other = self.random.below(MAX_THREADS);
        let child = ThreadId(other as u32);
        match self.threads[other].state {
            State::Unborn => {
                self.threads[other].state = State::Running;
                self.push(thread, Op::Fork { child });
            }
            State::Ended => self.push(thread, Op::Join { child }),
            State::Running if other != 0 && other == thread && self.threads[thread].held.is_empty() => {
                self.threads[thread].state = State::Ended;
                self.push(thread, Op::End);
            }
            State::Running | State::Waiting | State::AtBarrier => {}
        }
    }

    fn signal_or_wait(&mut self, thread: usize) {
        let kind = self.random.pick(&[SyncKind::Semaphore, SyncKind::Once, SyncKind::Annotation]);
        let woken = !self.random.one_in(4);
        let op = if self.random.one_in(2) {
            Op::Signal { object: SEMAPHORE, kind }
        } else {
            Op::Wait { object: SEMAPHORE, kind, woken }
        };
        self.push(thread, op);
    }

    fn condition(&mut self, thread: usize) {
        let kind = self.random.pick(&[SyncKind::Condition, SyncKind::ConditionAll]);
        if self.random.one_in(2) {
            return self.push(thread, Op::Signal { object: CONDITION, kind });
        }
        self.threads[thread].state = State::Waiting;
        self.push(thread, Op::Await { object: CONDITION, kind: SyncKind::Condition });
    }

    fn arrive(&mut self, thread: usize) {
        self.threads[thread].state = State::AtBarrier;
        self.push(thread, Op::Arrive { barrier: BARRIER, count: self.plan.count });
    }

    fn wake(&mut self, thread: usize) {
        let op = if self.threads[thread].state == State::AtBarrier {
            Op::Leave { barrier: BARRIER }
        } else {
            let woken = !self.random.one_in(4);
            Op::Wait { object: CONDITION, kind: SyncKind::Condition, woken }
        };
        self.threads[thread].state = State::Running;
        self.push(thread, op);
    }

    fn alloc_or_free(&mut self, thread: usize) {
        let kind = BlockKind::Heap;
        if let Some((address, size)) = self.block.take() {
            let size = if self.random.one_in(3) { 0 } else { size };
            return self.push(thread, Op::Free { address, size, kind });
        }
        if self.threads.iter().any(|thread| !thread.held.is_empty()) {
            return;
        }
        let address = self.plan.base + self.random.pick(&[0, 0, 8, 16, 3]);
        let size = self.random.pick(&[1, 4, 8, 13, 24, 24, 300, 0x1_3000]);
        let size = if self.plan.spread < 100 { size.min(24) } else { size };
        self.block = Some((address, size));
        self.push(thread, Op::Alloc { address, size, kind });
    }

    fn forget(&mut self, thread: usize) {
        let lock = self.random.pick(&self.plan.locks);
        let held = self.threads.iter().any(|thread| thread.held.iter().any(|&(held, _)| held == lock));
        let object = if held { CONDITION } else { self.random.pick(&[lock, CONDITION, SEMAPHORE]) };
        self.push(thread, Op::Forget { object });
    }
}
