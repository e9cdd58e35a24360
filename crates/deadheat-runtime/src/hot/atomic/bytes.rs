//! Atomic operations on objects of any size.

use deadheat_core::access::{MemoryOrder, Mode};

use super::{Atom, Meant, Outcome, perform};
use crate::hot::thread;

/// Carries out an operation of library code on an object of any size, and records it: its order with the first bytes, and the other
/// bytes as relaxed. It gives what it did, which is what it was meant to, or less.
pub(crate) fn on_bytes<R>(
    pc: usize,
    (address, size): (usize, usize),
    (mode, order): (Mode, u32),
    operation: impl Fn() -> (R, Mode, u32),
) -> R {
    /// Who has larger objects than this has them for their order.
    const LARGEST: usize = 256;
    /// The largest power of two that begins there and is no more than is left, as its logarithm.
    fn part(at: usize, left: usize) -> u16 {
        at.trailing_zeros().min(left.ilog2()).min(u32::from(u64::LOG2)) as u16
    }
    if size == 0 {
        return operation().0;
    }
    let first = part(address, size);
    let (result, mode) = perform(pc, address, first, Meant::to(mode, order), || {
        let (result, mode, order) = thread::internal(&operation);
        Outcome { result: (result, mode), mode, order: MemoryOrder::from_abi(order) }
    });
    let mut at = 1 << first;
    while at < size.min(LARGEST) {
        let log2 = part(address + at, size - at);
        let relaxed = MemoryOrder::Relaxed;
        perform(pc, address + at, log2, Meant::to(mode, relaxed as u32), || Outcome {
            result: (),
            mode,
            order: relaxed,
        });
        at += 1 << log2;
    }
    result
}
