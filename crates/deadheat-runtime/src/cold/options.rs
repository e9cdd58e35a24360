//! The options that the program and the environment give: read once, at the start.

use core::ffi::{CStr, c_char};

use deadheat_core::options;

use super::{help, rescue, start};
use crate::hot::atomic;
use crate::intercept::{descriptor, memory};
use crate::sys;

/// Texts of options: the program's own, then those of [`options::VARIABLES`].
pub(crate) const TEXTS: usize = 1 + options::VARIABLES.len();

/// Reads them, and names what cannot be meant.
///
/// # Safety
/// Called before any other thread runs; the environment is the program's.
pub(crate) unsafe fn read<'a>(environment: *const *const c_char) -> [&'a [u8]; TEXTS] {
    // SAFETY: passed on.
    let texts = unsafe { given(environment) };
    let sources = ["__tsan_default_options"].into_iter().chain(options::VARIABLES);
    sources.zip(texts).for_each(|(source, text)| warn_of(source.as_bytes(), text));
    let texts = texts.map(|text| with_files(text, true));
    if options::value(&texts, "help").and_then(options::yes) == Some(true) {
        help::tell();
    }
    texts
}

/// As [`read`], and says nothing.
///
/// # Safety
/// As there.
pub(crate) unsafe fn quietly<'a>(environment: *const *const c_char) -> [&'a [u8]; TEXTS] {
    // SAFETY: passed on.
    unsafe { given(environment) }.map(|text| with_files(text, false))
}

/// The texts as they are given.
///
/// # Safety
/// As for [`read`].
unsafe fn given<'a>(environment: *const *const c_char) -> [&'a [u8]; TEXTS] {
    // SAFETY: the caller's promise; the program's function has no argument and gives a text or null.
    unsafe {
        let mut texts = [text_of(weak_address!("__tsan_default_options")), b"", b""];
        for (text, name) in texts[1..].iter_mut().zip(options::VARIABLES) {
            *text = start::variable(environment, name).unwrap_or_default();
        }
        texts
    }
}

/// What the texts say of all modes: it holds from now on.
pub(crate) fn heed(texts: &[&[u8]]) {
    memory::begin(texts);
    descriptor::begin(texts);
    atomic::begin(texts);
}

/// What a function of the program's gives, if it has one.
///
/// # Safety
/// The function has no argument, and gives a text or null.
pub(crate) unsafe fn text_of<'a>(function: usize) -> &'a [u8] {
    if function == 0 {
        return b"";
    }
    // SAFETY: the caller's promise.
    unsafe {
        let function = core::mem::transmute::<usize, unsafe extern "C" fn() -> *const c_char>(function);
        let text = function();
        if text.is_null() { b"" } else { CStr::from_ptr(text).to_bytes() }
    }
}

/// A text with what is in the files that it names. What cannot be meant there is named, too, if that is wanted.
fn with_files(text: &[u8], warns: bool) -> &[u8] {
    /// For all files together.
    const ROOM: usize = 1 << 20;
    if !options::includes(text) {
        return text;
    }
    let Ok(room) = sys::map_anonymous(ROOM) else { return text };
    let mut len = 0;
    let mut read = |name, must| {
        let found = in_file(name);
        match found {
            Some(more) if warns => warn_of(name, more),
            None if warns && must => warn(b"include", "there is no file to read of up to 32 KiB", name),
            _ => {}
        }
        found
    };
    let mut is_full = false;
    let mut put = |piece: &[u8]| {
        // What does not fit ends it.
        is_full |= len + piece.len() > ROOM;
        if !is_full {
            // SAFETY: the mapping is that long.
            unsafe { core::ptr::copy_nonoverlapping(piece.as_ptr(), room.add(len), piece.len()) };
            len += piece.len();
        }
    };
    options::flatten(text, &mut read, &mut put);
    // SAFETY: so much was written, and nobody writes there any more.
    unsafe { core::slice::from_raw_parts(room, len) }
}

/// What is in the file of this name, in which `%p` is the process, and `%b` and `%d` are the program's file and its folder.
fn in_file<'a>(name: &[u8]) -> Option<&'a [u8]> {
    const LONGEST: usize = 32 << 10;
    let mut program = [0; 4096];
    let len = sys::read_link(c"/proc/self/exe", &mut program);
    let program = &program[..len];
    let (folder, file) =
        program.split_at(program.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1));
    let mut number = [0; 21];
    rescue::put_number(&mut number, 0, u64::from(sys::process_id()));
    let number = CStr::from_bytes_until_nul(&number).ok()?.to_bytes();
    let (mut path, mut at) = ([0; 4096], 0);
    let mut add = |piece: &[u8]| {
        // The last byte stays a NUL.
        let room = path[..4095].get_mut(at..at + piece.len())?;
        room.copy_from_slice(piece);
        at += piece.len();
        Some(())
    };
    let mut rest = name;
    while let [first, tail @ ..] = rest {
        let (piece, behind) = match rest {
            [b'%', b'p', behind @ ..] => (number, behind),
            [b'%', b'b', behind @ ..] => (file, behind),
            [b'%', b'd', behind @ ..] => (folder, behind),
            _ => (core::slice::from_ref(first), tail),
        };
        add(piece)?;
        rest = behind;
    }
    let room = sys::map_anonymous(LONGEST + 1).ok()?;
    // SAFETY: the mapping is that long, and nobody else knows of it.
    let room = unsafe { core::slice::from_raw_parts_mut(room, LONGEST + 1) };
    let len = sys::read_small(CStr::from_bytes_until_nul(&path).ok()?, room)?;
    (len <= LONGEST).then_some(&room[..len])
}

/// Names what cannot be meant.
fn warn_of(source: &[u8], text: &[u8]) {
    let warn = |wrong: &str, name: &[u8]| warn(source, wrong, name);
    for (name, value) in options::words(text) {
        if let Some(wrong) = options::fault(name, value) {
            warn(wrong, name);
        }
    }
    if let Some(name) = options::unclosed(text) {
        warn("all behind it is taken for its value, since a quote is not closed, of", name);
    }
}

fn warn(source: &[u8], wrong: &str, name: &[u8]) {
    let parts = [b"deadheat: warning: ", source, b": ", wrong.as_bytes(), b" `", name, b"`\n"];
    parts.into_iter().for_each(sys::say);
}
