//! A memory access, as every analysis sees it.

/// What an access does to its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Mode {
    /// Only reads.
    Read = 1,
    /// Only writes.
    Write = 2,
    /// Reads, then writes (a compound assignment, a successful read-modify-write).
    ReadWrite = 3,
}

impl Mode {
    /// Whether the bytes are read.
    #[must_use]
    pub const fn reads(self) -> bool {
        self as u8 & 1 != 0
    }

    /// Whether the bytes are written.
    #[must_use]
    pub const fn writes(self) -> bool {
        self as u8 & 2 != 0
    }
}

/// The memory order of an atomic access or a fence, as in C11 and C++20.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum MemoryOrder {
    /// No ordering beyond the location's own modification order.
    Relaxed = 0,
    /// Treated as acquire, as every compiler does.
    Consume = 1,
    /// Later accesses stay after it.
    Acquire = 2,
    /// Earlier accesses stay before it.
    Release = 3,
    /// Both.
    AcqRel = 4,
    /// Both, and one total order of all such operations.
    SeqCst = 5,
}

impl MemoryOrder {
    /// Whether an operation of this order synchronises with a release that it reads from.
    #[must_use]
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Consume | Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether an operation of this order can be synchronised with by an acquire that reads it.
    #[must_use]
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }

    /// The order with the ABI's number (0 relaxed to 5 seq_cst); larger numbers, which no
    /// compiler emits, count as seq_cst. Bits above the low three (hardware lock elision
    /// hints) are dropped.
    #[must_use]
    pub const fn from_abi(number: u32) -> Self {
        match number & 7 {
            0 => Self::Relaxed,
            1 => Self::Consume,
            2 => Self::Acquire,
            3 => Self::Release,
            4 => Self::AcqRel,
            _ => Self::SeqCst,
        }
    }
}

/// One access to a range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// The first byte's address.
    pub address: u64,
    /// The number of bytes, at least 1 (0 only for an empty range, which touches nothing).
    pub size: u64,
    /// Reads, writes, or both.
    pub mode: Mode,
    /// The memory order if the access is atomic. A compare-exchange that failed is an atomic
    /// read with its failure order.
    pub atomic: Option<MemoryOrder>,
    /// How the program came to make it.
    pub via: Via,
}

/// How the program came to make an access: told in reports, and used to tell a deliberate
/// access apart from one that the library made for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Via {
    /// An ordinary load or store in the program's own code.
    Code = 0,
    /// A `volatile` load or store.
    Volatile = 1,
    /// The load or store of an object's virtual table pointer.
    Vptr = 2,
    /// A memory or string function called by the program, folded into one access.
    MemoryFunction = 3,
    /// A system call's buffer (`read`, `write`, …).
    System = 4,
    /// The end of a block's life (`free`, `munmap`, `delete`): a write to all its bytes.
    Free = 5,
    /// The use of a lock, condition variable, barrier or file descriptor as the thing in memory that it is: a read, or
    /// a write where it is made or destroyed.
    Object = 6,
    /// The birth of a block on the heap or of a mapping: a write to its first bytes. Always a range. Later accesses of
    /// its thread are told from it.
    Birth = 7,
}

impl Via {
    /// The one with that number; numbers that none has count as [`Via::Free`].
    #[must_use]
    #[inline]
    pub const fn from_bits(number: u32) -> Self {
        match number {
            0 => Self::Code,
            1 => Self::Volatile,
            2 => Self::Vptr,
            3 => Self::MemoryFunction,
            4 => Self::System,
            6 => Self::Object,
            7 => Self::Birth,
            _ => Self::Free,
        }
    }
}

impl Access {
    /// A plain access of the program's own code.
    #[must_use]
    pub const fn plain(address: u64, size: u64, mode: Mode) -> Self {
        Self { address, size, mode, atomic: None, via: Via::Code }
    }

    /// The address behind the last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}
