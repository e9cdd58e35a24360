//! The options that the program and the environment give: read once, at the start.

use core::ffi::{CStr, c_char};

use deadheat_core::options;

use super::start;
use crate::sys;

/// Texts of options: the program's own, then those of [`options::VARIABLES`].
pub(crate) const TEXTS: usize = 1 + options::VARIABLES.len();

/// Reads them, and names what cannot be meant.
///
/// # Safety
/// Called before any other thread runs; the environment is the program's.
pub(crate) unsafe fn read<'a>(environment: *const *const c_char) -> [&'a [u8]; TEXTS] {
    // SAFETY: passed on.
    let texts = unsafe { quietly(environment) };
    let sources = ["__tsan_default_options"].into_iter().chain(options::VARIABLES);
    sources.zip(texts).for_each(|(source, text)| warn_of(source, text));
    texts
}

/// As [`read`], and says nothing.
///
/// # Safety
/// As there.
pub(crate) unsafe fn quietly<'a>(environment: *const *const c_char) -> [&'a [u8]; TEXTS] {
    // SAFETY: the caller's promise; the program's function has no argument and gives a text or null.
    unsafe {
        let mut texts = [text_of(weak_address!("__tsan_default_options")), b"", b""];
        for (text, name) in texts[1..].iter_mut().zip(options::VARIABLES) {
            *text = start::variable(environment, name).unwrap_or_default();
        }
        texts
    }
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

/// Names what cannot be meant.
fn warn_of(source: &str, text: &[u8]) {
    let warn = |wrong: &str, name: &[u8]| {
        for part in ["deadheat: warning: ", source, ": ", wrong, " `"] {
            sys::say(part.as_bytes());
        }
        sys::say(name);
        sys::say(b"`\n");
    };
    for (name, value) in options::words(text) {
        if let Some(wrong) = options::fault(name, value) {
            warn(wrong, name);
        }
    }
    if let Some(name) = options::unclosed(text) {
        warn("all behind it is taken for its value, since a quote is not closed, of", name);
    }
}
