//! Random programs: what which thread does, one step after the other.

/// A small random generator: xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// Whether what happens so often in a hundred times does.
    fn often(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// What a thread does in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Lock(usize),
    Unlock(usize),
    ReadLock(usize),
    WriteLock(usize),
    /// Of a read-write lock; whether it was held for writing.
    RwUnlock(usize, bool),
    Acquire(Part),
    Release(Part),
    Exchange(Part),
    /// By relaxed operations: a store, one that reads as well, and a load.
    Store(Part),
    Pass(Part),
    Look(Part),
    AcquireFence,
    ReleaseFence,
    /// Another thread is created.
    Create(usize),
    End,
    Join(usize),
    /// A block of the heap, and its size.
    Allocate(usize, usize),
    Free(usize, usize),
    Access(Access),
}

/// A part of an atomic that orders, or all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) atomic: usize,
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    /// The block; none is the program's own memory.
    pub(crate) block: Option<usize>,
    pub(crate) writes: bool,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) how: How,
}

/// How an access is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Plain,
    Atomic,
    /// By one of the C library's functions.
    Range(usize),
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) thread: usize,
    pub(crate) what: What,
}

/// A program.
pub(crate) struct Program {
    pub(crate) threads: usize,
    /// How many of them the first thread creates.
    pub(crate) first: usize,
    /// The size of the program's own memory.
    pub(crate) size: usize,
    pub(crate) steps: Vec<Step>,
}

/// How many mutexes, read-write locks, atomics that order, and blocks there are.
pub(crate) const MUTEXES: usize = 3;
pub(crate) const RW_LOCKS: usize = 2;
pub(crate) const ATOMICS: usize = 3;
pub(crate) const BLOCKS: usize = 4;

/// What a program does how often, in a hundred steps.
struct Style {
    orders: usize,
    ranges: usize,
    /// How many of these are of all bytes whose cells may be one.
    whole: usize,
    writes: usize,
    heap: usize,
    atomic: usize,
    /// How many of the operations on atomics that order are fences, or relaxed.
    fences: usize,
    /// How often the same thread goes on.
    stays: usize,
}

/// A program that is being made.
struct Making {
    random: Random,
    style: Style,
    program: Program,
    /// The threads that run, and those that are not created yet.
    running: Vec<usize>,
    later: Vec<usize>,
    mutexes: [Option<usize>; MUTEXES],
    writers: [Option<usize>; RW_LOCKS],
    readers: [Vec<usize>; RW_LOCKS],
    /// The sizes of the blocks that are there.
    blocks: [Option<usize>; BLOCKS],
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let threads = random.one_of(&[2, 2, 3, 4, 6, 8]);
    let first = 2.max(random.below(threads) + 1);
    // Behind a fence relaxed operations on other memory would order, too.
    let fences = random.one_of(&[0, 0, 50, 80]);
    let style = Style {
        orders: random.one_of(&[8, 20, 35]),
        ranges: random.one_of(&[5, 25, 50, 90]),
        whole: random.one_of(&[10, 40, 90]),
        writes: random.one_of(&[8, 40, 60]),
        heap: random.one_of(&[0, 0, 30, 60]),
        atomic: if fences == 0 { random.one_of(&[0, 6, 30]) } else { 0 },
        fences,
        stays: random.one_of(&[20, 60, 90]),
    };
    let count = random.one_of(&[150, 400, 900]);
    let program =
        Program { threads, first, size: random.one_of(&[16, 64, 256, 1536, 3072]), steps: Vec::new() };
    let mut making = Making {
        random,
        style,
        program,
        running: (0..first).collect(),
        later: (first..threads).collect(),
        mutexes: [None; MUTEXES],
        writers: [None; RW_LOCKS],
        readers: Default::default(),
        blocks: [None; BLOCKS],
    };
    while making.program.steps.len() < count {
        making.step();
    }
    making.give_back();
    making.program
}

impl Making {
    fn add(&mut self, thread: usize, what: What) {
        self.program.steps.push(Step { thread, what });
    }

    fn step(&mut self) {
        let last = self.program.steps.last().map(|step| step.thread);
        let thread = match last.filter(|last| self.running.contains(last)) {
            Some(last) if self.random.often(self.style.stays) => last,
            _ => self.random.one_of(&self.running),
        };
        if self.random.often(self.style.orders) { self.order(thread) } else { self.access(thread) }
    }

    /// Something that may order threads.
    fn order(&mut self, thread: usize) {
        match self.random.below(10) {
            0..=3 => self.lock(thread),
            4..=5 => self.rw_lock(thread),
            6..=7 => {
                const PARTS: [(usize, usize); 9] =
                    [(0, 16), (0, 8), (8, 8), (4, 4), (2, 2), (6, 2), (3, 1), (7, 1), (9, 1)];
                // Mostly they are of one size.
                let (offset, size) = if self.random.often(60) { (0, 4) } else { self.random.one_of(&PARTS) };
                let part = Part { atomic: self.random.below(ATOMICS), offset, size };
                let ordering = [What::Acquire(part), What::Release(part), What::Exchange(part)];
                let relaxed = [What::Store(part), What::Pass(part)];
                let fenced = [
                    What::AcquireFence,
                    What::ReleaseFence,
                    What::Look(part),
                    What::Store(part),
                    What::Store(part),
                    What::Pass(part),
                ];
                let what = if self.random.often(self.style.fences) {
                    self.random.one_of(&fenced)
                } else if self.random.often(80) {
                    self.random.one_of(&ordering)
                } else {
                    self.random.one_of(&relaxed)
                };
                self.add(thread, what);
            }
            8 => {
                if let Some(child) = self.later.pop() {
                    self.add(thread, What::Create(child));
                    self.running.push(child);
                }
            }
            _ => self.join(thread),
        }
    }

    fn lock(&mut self, thread: usize) {
        let at = self.random.below(MUTEXES);
        match self.mutexes[at] {
            None => {
                self.mutexes[at] = Some(thread);
                self.add(thread, What::Lock(at));
            }
            Some(holder) if holder == thread => {
                self.mutexes[at] = None;
                self.add(thread, What::Unlock(at));
            }
            Some(_) => {}
        }
    }

    fn rw_lock(&mut self, thread: usize) {
        let at = self.random.below(RW_LOCKS);
        if self.writers[at] == Some(thread) {
            self.writers[at] = None;
            self.add(thread, What::RwUnlock(at, true));
        } else if let Some(reader) = self.readers[at].iter().position(|&reader| reader == thread) {
            self.readers[at].remove(reader);
            self.add(thread, What::RwUnlock(at, false));
        } else if self.writers[at].is_none() {
            if self.readers[at].is_empty() && self.random.often(40) {
                self.writers[at] = Some(thread);
                self.add(thread, What::WriteLock(at));
            } else {
                self.readers[at].push(thread);
                self.add(thread, What::ReadLock(at));
            }
        }
    }

    /// A thread that holds nothing, and which another one created, ends and is joined.
    fn join(&mut self, thread: usize) {
        let holds = |&other: &usize| {
            self.mutexes.contains(&Some(other))
                || self.writers.contains(&Some(other))
                || self.readers.iter().any(|readers| readers.contains(&other))
        };
        let ends = |&at: &usize| {
            let other = self.running[at];
            other >= self.program.first && other != thread && !holds(&other)
        };
        if let Some(at) = (0..self.running.len()).find(ends) {
            let other = self.running.swap_remove(at);
            self.add(other, What::End);
            self.add(thread, What::Join(other));
        }
    }

    fn access(&mut self, thread: usize) {
        let (mut block, mut room) = (None, self.program.size);
        if self.random.often(self.style.heap) {
            let at = self.random.below(BLOCKS);
            let Some(size) = self.blocks[at] else {
                let size = self.random.one_of(&[8, 24, 40, 100, 512, 776, 1500, 3000]);
                self.blocks[at] = Some(size);
                return self.add(thread, What::Allocate(at, size));
            };
            if self.random.often(6) {
                self.blocks[at] = None;
                return self.add(thread, What::Free(at, size));
            }
            (block, room) = (Some(at), size);
        }
        let writes = self.random.often(self.style.writes);
        if self.random.often(self.style.ranges) {
            let whole = self.random.often(self.style.whole);
            let sizes: &[usize] =
                if whole { &[512, 512, 1024] } else { &[1, 3, 8, 16, 24, 40, 64, 100, 512, 600, 1300] };
            let size = self.random.one_of(sizes).min(room);
            let offset = self.random.below(room - size + 1);
            let step = if whole { 512 } else { self.random.one_of(&[1, 8, 8, 512]) };
            let how = How::Range(self.random.below(3));
            let access = Access { block, writes, offset: offset / step * step, size, how };
            return self.add(thread, What::Access(access));
        }
        let size = self.random.one_of(&[1, 2, 4, 8, 8, 8, 16, 16]).min(room);
        let step = if self.random.often(75) { size.min(8) } else { 1 };
        let mut offset = self.random.below(room - size + 1) / step * step;
        let count = if self.random.often(70) { 1 } else { 2 + self.random.below(6) };
        for _ in 0..count {
            let atomic = size <= 8 && offset.is_multiple_of(size) && self.random.often(self.style.atomic);
            let how = if atomic { How::Atomic } else { How::Plain };
            if offset + size <= room {
                self.add(thread, What::Access(Access { block, writes, offset, size, how }));
            }
            offset += size;
        }
    }

    /// Every lock is given back.
    fn give_back(&mut self) {
        for at in 0..MUTEXES {
            if let Some(thread) = self.mutexes[at] {
                self.add(thread, What::Unlock(at));
            }
        }
        for at in 0..RW_LOCKS {
            if let Some(thread) = self.writers[at] {
                self.add(thread, What::RwUnlock(at, true));
            }
            for thread in std::mem::take(&mut self.readers[at]) {
                self.add(thread, What::RwUnlock(at, false));
            }
        }
    }
}
