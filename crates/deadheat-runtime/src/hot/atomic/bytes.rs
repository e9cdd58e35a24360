//! Atomic operations on objects of any size.

use deadheat_core::access::{MemoryOrder, Mode};

use super::{Atom, Meant, Outcome, asked, perform};
use crate::hot::thread;

/// Carries out an operation of library code on an object of any size, and records it: its order with the first bytes, which have what it
/// did, and the other bytes as relaxed. Those are written before the operation, as whoever sees what it did may do with the object what he
/// likes, and read behind it, when it has learnt what it could; of what only may write they are read.
pub(crate) fn on_bytes<R>(
    pc: usize,
    (address, size): (usize, usize),
    (mode, order, surely): (Mode, u32, bool),
    operation: impl Fn() -> (R, Mode, u32),
) -> R {
    if size == 0 {
        return operation().0;
    }
    let others = if surely { mode } else { Mode::Read };
    if mode.writes() {
        on_others(pc, (address, size), others);
    }
    let result = perform(pc, address, part(address, size), Meant::to(mode, asked(order)), || {
        let (result, mode, order) = thread::internal(&operation);
        Outcome { result, mode, order: MemoryOrder::from_abi(asked(order)) }
    });
    if !mode.writes() {
        on_others(pc, (address, size), others);
    }
    result
}

/// The largest power of two that begins there and is no more than is left, as its logarithm.
fn part(at: usize, left: usize) -> u16 {
    at.trailing_zeros().min(left.ilog2()).min(u32::from(u64::LOG2)) as u16
}

/// Records accesses to all parts of an object but the first.
fn on_others(pc: usize, (address, size): (usize, usize), mode: Mode) {
    /// Who has larger objects than this has them for their order.
    const LARGEST: usize = 256;
    let order = MemoryOrder::Relaxed;
    let mut at = 1 << part(address, size);
    while at < size.min(LARGEST) {
        let log2 = part(address + at, size - at);
        perform(pc, address + at, log2, Meant::to(mode, order as u32), || Outcome {
            result: (),
            mode,
            order,
        });
        at += 1 << log2;
    }
}
