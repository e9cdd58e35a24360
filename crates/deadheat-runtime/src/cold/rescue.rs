//! Telling races without the command line: module and offset of both sides, and a file for whoever has it.

use deadheat_core::access::Mode;
use deadheat_core::wire::{block, header, module, race};

use crate::sys;

/// Words of a side before its calls.
const SIDE: usize = 6;
/// Words of a block before its calls.
const BLOCK: usize = 5;
const _: () = assert!(module::PATH_LEN == module::BUILD_ID_LEN + 4);

/// Tells the races of a trace.
pub(crate) fn tell(trace: &[u8], teller: &[u8]) {
    blocks(trace, block::RACES, |content| {
        let mut at = 0;
        while let Some(first) = word(content, at).filter(|first| first & 0xffff_ffff != 0) {
            one(trace, content, at);
            at += (first & 0xffff_ffff) as usize * 8;
        }
    });
    let mut path = *b"deadheat.\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let process = word(trace, header::PID).unwrap_or_default() & 0xffff_ffff;
    let digits = put_number(&mut path, 9, process);
    path[9 + digits..][..6].copy_from_slice(b".trace");
    // SAFETY: the path ends with a NUL.
    let file = unsafe { sys::create_file(path.as_ptr()) };
    let written = file.and_then(super::block::write_to);
    if teller.is_empty() {
        sys::say(b"deadheat: it is not known where the command line lies that tells more");
    } else {
        sys::say(b"deadheat: cannot run ");
        sys::say(teller);
        sys::say(b", which tells more");
    }
    if written.is_ok() {
        sys::say(b"; where there is another one: deadheat analyze ");
        sys::say(&path[..9 + digits + 6]);
    }
    sys::say(b"\n");
}

/// Calls for the content of each block of a kind.
fn blocks(trace: &[u8], kind: u32, mut each: impl FnMut(&[u8])) {
    let mut at = header::PAGE as usize;
    while let Some(first) = word(trace, at) {
        if first & 0xffff_ffff != u64::from(block::MAGIC) {
            at += header::PAGE as usize;
            continue;
        }
        let (size, used) = (word(trace, at + block::SIZE), word(trace, at + block::USED));
        let begin = at + block::HEADER;
        if first >> 32 == u64::from(kind)
            && let Some(content) = trace.get(begin..begin.saturating_add(used.unwrap_or(0) as usize))
        {
            each(content);
        }
        at += (size.unwrap_or(0) as usize).max(header::PAGE as usize);
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes([eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]]))
}

/// Tells one race: the record that begins at `at`.
fn one(trace: &[u8], content: &[u8], at: usize) {
    sys::say(b"deadheat: data race: ");
    let earlier = at + 3 * 8;
    side(trace, content, earlier);
    sys::say(b" and ");
    let counts = word(content, earlier + 5 * 8).unwrap_or_default();
    let (calls, locks) = ((counts & 0xffff_ffff) as usize, (counts >> 32) as usize);
    let mut later = earlier + (SIDE + calls) * 8;
    for _ in 0..locks {
        let calls = word(content, later + (2 + BLOCK - 1) * 8).unwrap_or_default() as usize;
        later += (2 + BLOCK + calls) * 8;
    }
    side(trace, content, later);
    sys::say(b"\n");
}

/// Tells one side: the access, the module and the offset in it.
fn side(trace: &[u8], content: &[u8], at: usize) {
    let field = |index: usize| word(content, at + index * 8).unwrap_or_default();
    let (flags, size, pc) = (field(0) >> 32, field(2), field(3));
    let access = race::access(flags, field(1), size);
    sys::say(match access.map(|access| access.mode) {
        Some(Mode::Write) => b"write of ",
        Some(Mode::Read) | None => b"read of ",
        Some(Mode::ReadWrite) => b"read and write of ",
    });
    say_number(size, 10);
    sys::say(if size == 1 { b" byte at " } else { b" bytes at " });
    if flags & race::SITE == 0 {
        return sys::say(b"a place that is not remembered");
    }
    // What is known is where the hook returns to: the byte before belongs to the access.
    let pc = pc.wrapping_sub(1);
    let mut bias = 0;
    blocks(trace, block::MODULES, |records| {
        let mut at = 0;
        while let Some(start) = word(records, at + module::START) {
            let end = word(records, at + module::END).unwrap_or_default();
            let lens = word(records, at + module::BUILD_ID_LEN).unwrap_or_default();
            let (id, path_len) = ((lens & 0xffff_ffff) as usize, (lens >> 32) as usize);
            let unloaded = word(records, at + module::FLAGS).unwrap_or_default() as u32 & module::UNLOADED;
            if bias == 0 && unloaded == 0 && (start..end).contains(&pc) {
                let path = at + module::SIZE + id;
                sys::say(records.get(path..path + path_len).unwrap_or(b"?"));
                bias = word(records, at + module::BIAS).unwrap_or_default().wrapping_add(1);
            }
            at += (module::SIZE + id + path_len).next_multiple_of(8);
        }
    });
    sys::say(b"+0x");
    say_number(pc.wrapping_sub(bias.saturating_sub(1)), 16);
}

/// Says a number.
fn say_number(number: u64, base: u64) {
    let mut digits = [0u8; 20];
    let len = put_digits(&mut digits, 0, number, base);
    sys::say(&digits[..len]);
}

/// Puts a number's decimal digits at a place, as far as there is room; gives how many.
pub(crate) fn put_number(text: &mut [u8], at: usize, number: u64) -> usize {
    put_digits(text, at, number, 10)
}

/// The same with another base, up to 16.
pub(crate) fn put_digits(text: &mut [u8], at: usize, number: u64, base: u64) -> usize {
    let mut count = 1;
    let mut rest = number / base;
    while rest > 0 {
        count += 1;
        rest /= base;
    }
    rest = number;
    for place in (0..count).rev() {
        if let Some(digit) = text.get_mut(at + place) {
            *digit = b"0123456789abcdef"[(rest % base) as usize];
        }
        rest /= base;
    }
    count
}
