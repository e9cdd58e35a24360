//! A race as it was written down, for the program's own eyes: `__tsan_on_report` is called with it, and as long as that runs
//! it can be asked (`abi/report`).
//!
//! Invariant: the words of a record stay as they are, but for its count, which nothing here reads.

use core::ffi::c_void;
use core::ptr::null;

use deadheat_core::access::Access;
use deadheat_core::event::BlockKind;
use deadheat_core::wire::race;

use crate::hot::thread::{self, Thread};
use crate::sys::c::KeepErrno;

/// Words in front of the first side: what it is, its count, its address.
const HEADER: usize = 3;
/// Words of a side in front of its calls, and of a block in front of its own.
const SIDE: usize = 6;
const BLOCK: usize = 5;

/// A record.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// The address that is raced for.
    pub(crate) address: u64,
    words: &'static [u64],
}

/// One side of a race.
pub(crate) struct Side {
    /// The thread's number.
    pub(crate) thread: u32,
    /// What it did.
    pub(crate) access: Access,
    /// Where.
    pub(crate) stack: Stack,
    locks: usize,
    locks_at: usize,
}

/// A place and the calls that lead there.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    pc: u64,
    /// The outermost first.
    calls: &'static [u64],
}

/// The block that holds the raced-for address.
pub(crate) struct Block {
    /// What it is.
    pub(crate) kind: BlockKind,
    /// Who allocated it, or whose it is.
    pub(crate) thread: u32,
    /// Its first byte.
    pub(crate) address: u64,
    /// How many there are.
    pub(crate) size: u64,
    /// Where it was allocated.
    pub(crate) stack: Stack,
}

impl Stack {
    /// Its places, the innermost first: the calls' own addresses, not those of what comes behind them.
    pub(crate) fn places(self) -> impl Iterator<Item = u64> {
        let calls = core::iter::once(self.pc).chain(self.calls.iter().rev().copied());
        calls.filter(|&pc| pc != 0).map(|pc| pc - 1)
    }
}

impl Record {
    /// The record that begins at an address.
    ///
    /// # Safety
    /// There is one, and it stays mapped.
    unsafe fn at(record: *const u64) -> Record {
        // SAFETY: the caller's promise. The count, which changes, is not among the words.
        unsafe {
            let count = (record.read() & u64::from(u32::MAX)) as usize;
            let address = record.add(HEADER - 1).read();
            Record {
                address,
                words: core::slice::from_raw_parts(record.add(HEADER), count.saturating_sub(HEADER)),
            }
        }
    }

    /// Both sides: the earlier one and the later one.
    pub(crate) fn sides(&self) -> Option<[Side; 2]> {
        let (earlier, next) = self.side(0)?;
        Some([earlier, self.side(next)?.0])
    }

    /// The block, if it is known.
    pub(crate) fn block(&self) -> Option<Block> {
        let (_, next) = self.side(0)?;
        let (_, next) = self.side(next)?;
        self.block_at(next)?.0
    }

    /// The locks that a side holds.
    pub(crate) fn locks(&self, side: &Side) -> impl Iterator<Item = u64> {
        let mut at = side.locks_at;
        (0..side.locks).map_while(move |_| {
            let lock = *self.words.get(at)?;
            at = self.block_at(at + 2)?.1;
            Some(lock)
        })
    }

    /// The side at an index, and where the next part begins.
    fn side(&self, at: usize) -> Option<(Side, usize)> {
        let &[who, address, size, pc, _, counts] = self.words.get(at..at + SIDE)? else { return None };
        let (calls, locks) = ((counts & u64::from(u32::MAX)) as usize, (counts >> 32) as usize);
        let locks_at = at + SIDE + calls;
        let stack = Stack { pc, calls: self.words.get(at + SIDE..locks_at)? };
        let access = race::access(who >> 32, address, size)?;
        let mut next = locks_at;
        for _ in 0..locks {
            next = self.block_at(next + 2)?.1;
        }
        Some((Side { thread: who as u32, access, stack, locks, locks_at }, next))
    }

    /// The block at an index, if there is one, and where the next part begins.
    fn block_at(&self, at: usize) -> Option<(Option<Block>, usize)> {
        let &[who, address, size, pc, calls] = self.words.get(at..at + BLOCK)? else { return None };
        let next = at + BLOCK + calls as usize;
        let stack = Stack { pc, calls: self.words.get(at + BLOCK..next)? };
        let block = BlockKind::from_number(who as u32).map(|kind| Block {
            kind,
            thread: (who >> 32) as u32,
            address,
            size,
            stack,
        });
        Some((block, next))
    }
}

/// Shows the program the race that was written down at `record` just now, if it wants to see it: nothing that it does
/// meanwhile is looked at.
///
/// # Safety
/// `thread` is the calling thread's, and holds none of the runtime's locks. The record stays mapped.
pub(super) unsafe fn show(thread: *mut Thread, record: *const u64) {
    let callback = weak_address!("__tsan_on_report");
    if callback == 0 {
        return;
    }
    let _errno = KeepErrno::new();
    // SAFETY: the program's function, as the interface has it; the calling thread's own state.
    unsafe {
        let callback = core::mem::transmute::<usize, unsafe extern "C" fn(*const c_void)>(callback);
        let outer = core::mem::replace(&mut (*thread).shown, record);
        thread::internal(|| callback(record.cast()));
        (*thread).shown = outer;
    }
}

/// The record that the calling thread shows the program at present; null if it shows none.
pub(crate) fn shown() -> *const c_void {
    // SAFETY: `known` gives the calling thread's own state.
    thread::known().map_or(null(), |thread| unsafe { (*thread).shown.cast() })
}

/// The race that the program calls `report`, if it is shown at present.
pub(crate) fn of(report: *const c_void) -> Option<Record> {
    // SAFETY: what is shown is a record.
    (!report.is_null() && report == shown()).then(|| unsafe { Record::at(report.cast()) })
}
