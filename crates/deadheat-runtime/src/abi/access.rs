//! Plain accesses, function entry and exit, ranges.
//!
//! The hooks come before the access they announce.

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::kind::Kind;

use crate::cold::{modules, start};
use crate::hot::access::{on_access, on_entry_in_general, on_exit_in_general};
use crate::hot::log;
use crate::hot::thread::{Frame, Thread};
use crate::online;

const fn kind(log2: u16, mode: Mode, via: Via) -> u16 {
    Kind::plain(log2, mode, via).0
}

/// The hook of a plain access of a [`Kind`], as its bits.
macro_rules! access {
    ($name:ident, $mode:ident $size:tt, $kind:block) => {
        shim_access!(
            $name,
            on_access::<$kind>,
            online::on_access::<$kind>,
            online::on_odd_access::<$kind>,
            $mode,
            $size
        );
    };
}

access!(__tsan_read1, read 1, { kind(0, Mode::Read, Via::Code) });
access!(__tsan_read2, read 2, { kind(1, Mode::Read, Via::Code) });
access!(__tsan_read4, read 4, { kind(2, Mode::Read, Via::Code) });
access!(__tsan_read8, read 8, { kind(3, Mode::Read, Via::Code) });
access!(__tsan_read16, read 16, { kind(4, Mode::Read, Via::Code) });
access!(__tsan_unaligned_read2, read[2], { kind(1, Mode::Read, Via::Code) });
access!(__tsan_unaligned_read4, read[4], { kind(2, Mode::Read, Via::Code) });
access!(__tsan_unaligned_read8, read 8, { kind(3, Mode::Read, Via::Code) });
access!(__tsan_unaligned_read16, read 16, { kind(4, Mode::Read, Via::Code) });

access!(__tsan_write1, write 1, { kind(0, Mode::Write, Via::Code) });
access!(__tsan_write2, write 2, { kind(1, Mode::Write, Via::Code) });
access!(__tsan_write4, write 4, { kind(2, Mode::Write, Via::Code) });
access!(__tsan_write8, write 8, { kind(3, Mode::Write, Via::Code) });
access!(__tsan_write16, write 16, { kind(4, Mode::Write, Via::Code) });
access!(__tsan_unaligned_write2, write[2], { kind(1, Mode::Write, Via::Code) });
access!(__tsan_unaligned_write4, write[4], { kind(2, Mode::Write, Via::Code) });
access!(__tsan_unaligned_write8, write 8, { kind(3, Mode::Write, Via::Code) });
access!(__tsan_unaligned_write16, write 16, { kind(4, Mode::Write, Via::Code) });

access!(__tsan_read_write1, write 1, { kind(0, Mode::ReadWrite, Via::Code) });
access!(__tsan_read_write2, write 2, { kind(1, Mode::ReadWrite, Via::Code) });
access!(__tsan_read_write4, write 4, { kind(2, Mode::ReadWrite, Via::Code) });
access!(__tsan_read_write8, write 8, { kind(3, Mode::ReadWrite, Via::Code) });
access!(__tsan_read_write16, write 16, { kind(4, Mode::ReadWrite, Via::Code) });
access!(__tsan_unaligned_read_write2, write[2], { kind(1, Mode::ReadWrite, Via::Code) });
access!(__tsan_unaligned_read_write4, write[4], { kind(2, Mode::ReadWrite, Via::Code) });
access!(__tsan_unaligned_read_write8, write 8, { kind(3, Mode::ReadWrite, Via::Code) });
access!(__tsan_unaligned_read_write16, write 16, { kind(4, Mode::ReadWrite, Via::Code) });

access!(__tsan_volatile_read1, read 1, { kind(0, Mode::Read, Via::Volatile) });
access!(__tsan_volatile_read2, read 2, { kind(1, Mode::Read, Via::Volatile) });
access!(__tsan_volatile_read4, read 4, { kind(2, Mode::Read, Via::Volatile) });
access!(__tsan_volatile_read8, read 8, { kind(3, Mode::Read, Via::Volatile) });
access!(__tsan_volatile_read16, read 16, { kind(4, Mode::Read, Via::Volatile) });
access!(__tsan_unaligned_volatile_read2, read[2], { kind(1, Mode::Read, Via::Volatile) });
access!(__tsan_unaligned_volatile_read4, read[4], { kind(2, Mode::Read, Via::Volatile) });
access!(__tsan_unaligned_volatile_read8, read 8, { kind(3, Mode::Read, Via::Volatile) });
access!(__tsan_unaligned_volatile_read16, read 16, { kind(4, Mode::Read, Via::Volatile) });
access!(__tsan_volatile_write1, write 1, { kind(0, Mode::Write, Via::Volatile) });
access!(__tsan_volatile_write2, write 2, { kind(1, Mode::Write, Via::Volatile) });
access!(__tsan_volatile_write4, write 4, { kind(2, Mode::Write, Via::Volatile) });
access!(__tsan_volatile_write8, write 8, { kind(3, Mode::Write, Via::Volatile) });
access!(__tsan_volatile_write16, write 16, { kind(4, Mode::Write, Via::Volatile) });
access!(__tsan_unaligned_volatile_write2, write[2], { kind(1, Mode::Write, Via::Volatile) });
access!(__tsan_unaligned_volatile_write4, write[4], { kind(2, Mode::Write, Via::Volatile) });
access!(__tsan_unaligned_volatile_write8, write 8, { kind(3, Mode::Write, Via::Volatile) });
access!(__tsan_unaligned_volatile_write16, write 16, { kind(4, Mode::Write, Via::Volatile) });

access!(__tsan_vptr_read, read 8, { kind(3, Mode::Read, Via::Vptr) });
access!(dh_vptr_write, write 8, { kind(3, Mode::Write, Via::Vptr) });
shim_unless_same!(
    /// A store of a virtual table pointer; storing the value that is there already (a constructor or
    /// destructor of a class without its own functions) is no change that anybody could see.
    __tsan_vptr_update,
    dh_vptr_write
);
shim!(__tsan_read_range, "rdx", on_read_range);
shim!(__tsan_write_range, "rdx", on_write_range);
shim!(__tsan_init, "rdi", on_init);
shim_entry!(__tsan_func_entry, on_entry_in_general);
shim_exit!(__tsan_func_exit, on_exit_in_general);

unsafe extern "C" fn on_read_range(address: usize, size: usize, pc: usize) {
    range(address, size, Mode::Read, pc);
}

unsafe extern "C" fn on_write_range(address: usize, size: usize, pc: usize) {
    range(address, size, Mode::Write, pc);
}

fn range(address: usize, size: usize, mode: Mode, pc: usize) {
    let via = Via::Code;
    log::range(pc, &Access { address: address as u64, size: size as u64, mode, atomic: None, via });
}

/// A module's own constructor: it may be a library that was loaded since the last look.
unsafe extern "C" fn on_init(pc: usize) {
    if start::recording() && !modules::knows(pc as u64) {
        modules::scan();
    }
}
