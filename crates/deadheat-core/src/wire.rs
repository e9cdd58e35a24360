//! What the command line and the runtime must agree on: the environment variable that carries
//! the mode, and the fixed parts of the trace file. Versioned together.

/// Version of the trace file.
pub const VERSION: u32 = 2;

/// The environment variable that the command line sets for the program under test.
pub const ENV: &str = "DEADHEAT_WIRE";

/// What the runtime is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Hooks return at once.
    Off,
    /// Write a trace.
    Record,
    /// Find races while the program runs, and write those into the trace's file.
    Detect,
    /// Both: write a trace, and find races while the program runs.
    RecordAndDetect,
    /// Hold accesses as the [gate file](crate::gate) says, and write no trace.
    Provoke,
}

/// The content of [`ENV`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire<'a> {
    /// What to do.
    pub mode: Mode,
    /// Whether there is a [gate file](crate::gate): beside a recording, or what is provoked.
    pub gate: bool,
    /// The trace file's absolute path; the gate file's is this and [`crate::gate::ENDING`].
    pub trace: &'a [u8],
}

impl<'a> Wire<'a> {
    /// Reads the variable's value: `1;mode=record;trace=PATH`, with `gate=1` before the path for a
    /// gate file beside it. The path comes last and takes the rest, whatever it holds. Unknown
    /// fields are skipped.
    ///
    /// # Errors
    /// A phrase that says what cannot be read.
    pub fn parse(text: &'a [u8]) -> Result<Self, &'static str> {
        let mut wire = Wire { mode: Mode::Off, gate: false, trace: b"" };
        let (version, mut rest) = split(text);
        if version != b"1" {
            return Err("it was written by another version of deadheat");
        }
        while !rest.is_empty() {
            if let Some(path) = rest.strip_prefix(b"trace=") {
                wire.trace = path;
                break;
            }
            let (field, tail) = split(rest);
            rest = tail;
            wire.gate |= field == b"gate=1";
            if let Some(mode) = field.strip_prefix(b"mode=") {
                wire.mode = match mode {
                    b"off" => Mode::Off,
                    b"record" => Mode::Record,
                    b"detect" => Mode::Detect,
                    b"record+detect" => Mode::RecordAndDetect,
                    b"provoke" => Mode::Provoke,
                    _ => return Err("it asks for a mode that this runtime does not have"),
                };
            }
        }
        if wire.mode != Mode::Off && wire.trace.is_empty() {
            return Err("it asks for a recording but names no file");
        }
        wire.gate |= wire.mode == Mode::Provoke;
        Ok(wire)
    }
}

fn split(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|&byte| byte == b';') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

/// The trace file's first page.
pub mod header {
    /// The first eight bytes of the file.
    pub const MAGIC: [u8; 8] = *b"DEADHEAT";
    /// Size of the first page, and the unit in which blocks are handed out.
    pub const PAGE: u64 = 4096;
    /// `u32`: [`super::VERSION`].
    pub const VERSION: usize = 8;
    /// `u64`: end of the space handed out to blocks, advanced atomically by the runtime.
    pub const END: usize = 16;
    /// `u32`: the process id.
    pub const PID: usize = 32;
    /// `u32`: the parent's process id if the process was forked off a recorded one, else 0.
    pub const FORKED_FROM: usize = 36;
    /// `u64`: start, nanoseconds since 1970.
    pub const STARTED: usize = 40;
    /// `u64`: bits of [`super::flag`].
    pub const FLAGS: usize = 48;
    /// `u64`: end, nanoseconds since 1970; 0 if the process did not end in an orderly way.
    pub const ENDED: usize = 56;
    /// `u64`: the machine: ELF's `e_machine` (62 for x86-64, 183 for aarch64).
    pub const MACHINE: usize = 64;
    /// `u32`: number of bytes of the command line at [`ARGUMENTS`].
    pub const ARGUMENTS_LEN: usize = 124;
    /// The command line, arguments separated by NUL, cut at the end of the page.
    pub const ARGUMENTS: usize = 128;
}

/// Bits of the header's flags.
pub mod flag {
    /// The process ended in an orderly way and the trace is whole.
    pub const CLEAN: u64 = 1;
    /// The recording stopped early: no space left for the trace.
    pub const NO_SPACE: u64 = 2;
    /// The trace was not recorded here but imported or written by a tool.
    pub const IMPORTED: u64 = 4;
    /// Races were looked for while the program ran: the streams tell of threads alone, and the races are in
    /// [blocks](super::block::RACES) of their own.
    pub const DETECTED: u64 = 8;
    /// An instrumented access was seen; set beside [`DETECTED`].
    pub const ACCESSED: u64 = 16;
    /// Set beside [`DETECTED`]: the streams tell of everything all the same, as in a recording.
    pub const RECORDED: u64 = 32;
    /// Set beside [`DETECTED`]: the memory that the process may have was reached, and accesses were forgotten.
    pub const FORGOT: u64 = 64;
    /// Set beside [`DETECTED`]: there was no memory, and from then on nothing was looked at.
    pub const GAVE_UP: u64 = 128;
}

/// A block's first bytes.
pub mod block {
    /// Size of a block's header in bytes.
    pub const HEADER: usize = 64;
    /// `u32` at 0, stored last when a block is set up: the bytes `DHBK`.
    pub const MAGIC: u32 = u32::from_le_bytes(*b"DHBK");
    /// `u32`: one of the kinds below.
    pub const KIND: usize = 4;
    /// `u64`: the block's size in bytes, a multiple of the page, header included.
    pub const SIZE: usize = 8;
    /// `u32`: the stream whose events it holds.
    pub const STREAM: usize = 16;
    /// `u32`: the stream's thread.
    pub const THREAD: usize = 20;
    /// `u32`: its number within the stream, from 0.
    pub const SEQUENCE: usize = 24;
    /// `u64`: bytes used after the header; for event blocks 0 (they end at the first zero).
    pub const USED: usize = 32;

    /// Events of one stream.
    pub const EVENTS: u32 = 1;
    /// Modules loaded or unloaded; see [`super::module`].
    pub const MODULES: u32 = 2;
    /// Named places, written by imports: records `place:u64 line:u32 column:u32
    /// function_len:u32 file_len:u32 function file`, padded to 8 bytes. `place` is the number
    /// that stands for the place where a code address would.
    pub const PLACES: u32 = 3;
    /// Names of addresses (variables and locks of imported traces): records
    /// `address:u64 len:u32 0:u32 name`, padded to 8 bytes.
    pub const NAMES: u32 = 4;
    /// Races that were found while the program ran; see [`super::race`].
    pub const RACES: u32 = 5;
}

/// The notional cells of open file descriptors, in memory of the runtime's own.
pub mod descriptor {
    /// Bytes of a cell.
    pub const CELL: u64 = 32;
    /// Bytes of all cells; they begin at a multiple of this. Descriptors with higher numbers have none.
    pub const SPAN: u64 = 1 << 20;

    /// The descriptor that a cell belongs to.
    #[must_use]
    pub const fn number(address: u64) -> u64 {
        address % SPAN / CELL
    }
}

/// A record of a races block, in words of 8 bytes, little end first:
///
/// ```text
/// record   size in words | kind << 32, times, address, earlier side, later side, block
/// side     thread | flags << 32, address, size, pc, clock, frames | locks << 32,
///          frames x call (the outermost first), locks x (lock, mode, block)
/// block    kind | thread << 32, address, size, pc, frames, frames x call
/// ```
///
/// `address` of the record is the first byte that both sides touch; a call is a return address; a mode is a
/// [`LockMode`](crate::event::LockMode)'s number. A record's size counts its first word; a size of 0 words ends the
/// block. A block that is not there has its first five words all the same.
pub mod race {
    use crate::access::{self, Access, MemoryOrder, Via};

    /// Kind of a record: a race.
    pub const RACE: u64 = 1;
    /// Kind of a record: a block was freed, and used behind that. It is as a race whose earlier side is the end of the block's life.
    pub const USE_AFTER_FREE: u64 = 2;
    /// Where in a record it says how often the race was seen; counted up in place.
    pub const TIMES: usize = 1;
    /// Flags of a side, from bit 0: two bits of the [`Mode`](crate::access::Mode).
    pub const MODE: u64 = 3;
    /// The access is atomic.
    pub const ATOMIC: u64 = 1 << 2;
    /// Where the three bits of the [`MemoryOrder`] begin.
    pub const ORDER_SHIFT: u32 = 3;
    /// Where the three bits of [`Via`] begin.
    pub const VIA_SHIFT: u32 = 6;
    /// The site of the access is known: its address, size, place and stack are its own. Else they are not
    /// remembered any more: the address is the race's, the place is 0.
    pub const SITE: u64 = 1 << 9;
    /// The kind of a block that is not there.
    pub const NO_BLOCK: u32 = u32::MAX;

    /// The flags of an access, without [`SITE`].
    #[must_use]
    pub const fn flags(access: &Access) -> u64 {
        let atomic = match access.atomic {
            Some(order) => ATOMIC | (order as u64) << ORDER_SHIFT,
            None => 0,
        };
        access.mode as u64 | atomic | (access.via as u64) << VIA_SHIFT
    }

    /// The access that flags speak of; `None` if it neither reads nor writes.
    #[must_use]
    pub const fn access(flags: u64, address: u64, size: u64) -> Option<Access> {
        let mode = match flags & MODE {
            1 => access::Mode::Read,
            2 => access::Mode::Write,
            3 => access::Mode::ReadWrite,
            _ => return None,
        };
        let order = MemoryOrder::from_abi((flags >> ORDER_SHIFT) as u32);
        let atomic = if flags & ATOMIC == 0 { None } else { Some(order) };
        let via = Via::from_bits((flags >> VIA_SHIFT) as u32 & 7);
        Some(Access { address, size, mode, atomic, via })
    }
}

/// A record of a modules block: the fields below, then the build id, then the path, padded to
/// eight bytes.
pub mod module {
    /// `u64`: what was added to the module's own addresses when it was loaded.
    pub const BIAS: usize = 0;
    /// `u64`: the lowest address of its segments.
    pub const START: usize = 8;
    /// `u64`: the address behind its last segment.
    pub const END: usize = 16;
    /// `u64`: the stamp at which it was loaded (or unloaded).
    pub const STAMP: usize = 24;
    /// `u32`: bit 0: it is unloaded here, not loaded; bit 1: it calls our hooks.
    pub const FLAGS: usize = 32;
    /// `u32`: length of the build id.
    pub const BUILD_ID_LEN: usize = 36;
    /// `u32`: length of the path.
    pub const PATH_LEN: usize = 40;
    /// Size of the fixed part.
    pub const SIZE: usize = 48;

    /// Flag: unloaded at this stamp.
    pub const UNLOADED: u32 = 1;
    /// Flag: the module is instrumented.
    pub const INSTRUMENTED: u32 = 2;
}

/// Addresses given to the variables of imported traces: this plus 8 × its number.
pub const VARIABLE_BASE: u64 = 1 << 32;

/// Addresses given to the locks of imported traces: this plus 8 × its number.
pub const LOCK_BASE: u64 = 1 << 44;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_takes_the_rest() {
        let wire = Wire::parse(b"1;mode=record;later=7;trace=/tmp/a;b=c").expect("well formed");
        assert_eq!(wire, Wire { mode: Mode::Record, gate: false, trace: b"/tmp/a;b=c" });
    }

    #[test]
    fn races_can_be_found_beside_a_recording() {
        let mode = |text| Wire::parse(text).map(|wire| wire.mode);
        assert_eq!(mode(b"1;mode=record+detect;trace=/t"), Ok(Mode::RecordAndDetect));
        assert!(mode(b"1;mode=record+detect").is_err());
    }

    #[test]
    fn what_is_provoked_has_a_gate_file() {
        let gate = |text| Wire::parse(text).map(|wire| (wire.mode, wire.gate));
        assert_eq!(gate(b"1;mode=provoke;trace=/t"), Ok((Mode::Provoke, true)));
        assert_eq!(gate(b"1;mode=record;gate=1;trace=/t"), Ok((Mode::Record, true)));
    }

    #[test]
    fn every_access_comes_back_from_its_flags() {
        use crate::access::{Access, MemoryOrder, Mode, Via};
        for mode in [Mode::Read, Mode::Write, Mode::ReadWrite] {
            for via in (0..8).map(Via::from_bits) {
                for atomic in (0..6).map(MemoryOrder::from_abi).map(Some).chain([None]) {
                    let access = Access { address: 64, size: 3, mode, atomic, via };
                    let flags = race::flags(&access);
                    assert!(flags < race::SITE, "{access:?}");
                    assert_eq!(race::access(flags | race::SITE, 64, 3), Some(access));
                }
            }
        }
        assert_eq!(race::access(race::SITE, 64, 3), None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [&b""[..], b"2;mode=record;trace=/t", b"1;mode=dance", b"1;mode=record"] {
            assert!(Wire::parse(text).is_err(), "{text:?}");
        }
    }
}
