//! A program that is started by hand: no command line waits for its trace.
//!
//! The trace is in memory alone, so that the program has no descriptor that it does not expect. Where races were found, a
//! copy of the process writes it into a file without a name, and becomes the command line that linked the program, which
//! tells them.
//!
//! Invariant: while the copy is waited for no handler runs on the waiting thread, and the program learns of no child.

use core::ffi::{CStr, c_char};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use deadheat_core::options;
use deadheat_core::wire::header;

use super::lock::Lock;
use super::options::{self as options_given, TEXTS, text_of};
use super::{block, exit, rescue, start, together};
use crate::abi::common::before_death;
use crate::intercept::deadly;
use crate::{online, sys};

/// Whether the program was started by hand.
static ON: AtomicU32 = AtomicU32::new(0);
/// Whether the first race ends the process.
static HALTS: AtomicU32 = AtomicU32::new(0);
/// Whether it does so by the signal of `abort`.
static ABORTS: AtomicU32 = AtomicU32::new(0);
/// Records that have been told.
static TOLD: AtomicU32 = AtomicU32::new(0);
/// Whether any of them was worth a word: else all were suppressed.
static WORTH: AtomicU32 = AtomicU32::new(0);
/// How the command line ends that had something to say.
const SAID: i32 = options::TOLD as i32;
/// One thread tells at a time.
static TELLING: Lock = Lock::new();

/// The path of the command line, written here before the program is linked.
#[repr(C)]
struct Linked {
    mark: [u8; options::PATH_MARK.len()],
    path: [u8; options::PATH_ROOM],
}

#[used]
static LINKED: Linked = Linked { mark: options::PATH_MARK, path: [0; options::PATH_ROOM] };

/// What is kept of the environment, which the program may change. Each ends with a NUL.
struct Kept {
    texts: [*const c_char; TEXTS],
    teller: *const c_char,
}

static mut KEPT: Kept = Kept { texts: [c"".as_ptr(); TEXTS], teller: c"".as_ptr() };

/// Whether the program was started by hand, and races are looked for.
pub(crate) fn on() -> bool {
    ON.load(Ordering::Relaxed) != 0
}

/// Reads the options; `false` if nothing is to be looked for.
///
/// # Safety
/// Called once, before any other thread runs; the environment is the program's.
pub(crate) unsafe fn begin(environment: *const *const c_char) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let texts = options_given::read(environment);
        online::limit_memory(&texts);
        together::begin(&texts);
        exit::begin(&texts);
        options_given::heed(&texts);
        let flag = |name| options::value(&texts, name).and_then(options::yes);
        if flag("report_bugs") == Some(false) {
            return false;
        }
        HALTS.store(u32::from(flag("halt_on_error") == Some(true)), Ordering::Relaxed);
        ABORTS.store(u32::from(flag("abort_on_error") == Some(true)), Ordering::Relaxed);
        let teller = match start::variable(environment, options::TELLER) {
            Some(path) if !path.is_empty() => keep(path),
            // What is there now, and not what the compiler saw.
            _ => core::hint::black_box((&raw const LINKED.path).cast()),
        };
        KEPT = Kept { texts: texts.map(keep), teller };
    }
    ON.store(1, Ordering::Relaxed);
    true
}

/// Has the races told before a signal ends the process. Called once, before any other thread runs.
pub(crate) fn tell_before_signals() {
    // SAFETY: the kept texts end with a NUL.
    deadly::begin(&texts().map(|text| unsafe { CStr::from_ptr(text).to_bytes() }));
}

/// A copy of the text; no text if there is no memory for it.
fn keep(text: &[u8]) -> *const c_char {
    if text.is_empty() {
        return c"".as_ptr();
    }
    let Ok(copy) = sys::map_anonymous(text.len() + 1) else { return c"".as_ptr() };
    // SAFETY: the mapping is longer than the text, and zero behind it.
    unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len()) };
    copy as *const c_char
}

/// In a forked child, whose trace is begun: it has found nothing yet.
pub(crate) fn in_child() {
    TOLD.store(0, Ordering::Relaxed);
    WORTH.store(0, Ordering::Relaxed);
    TELLING.release();
    exit::in_child();
    deadly::in_child();
}

/// A race was found: tells it and ends the process, if the first one is to. One that is suppressed ends nothing.
pub(crate) fn halt() {
    if HALTS.load(Ordering::Relaxed) != 0 {
        let code = exit::leave(0);
        if WORTH.load(Ordering::Relaxed) != 0 {
            before_death();
            if ABORTS.load(Ordering::Relaxed) != 0 {
                deadly::abort();
            }
            sys::exit(code);
        }
    }
}

/// Tells the races that have not been told yet, and gives the code with which a process ends that would end with `code`.
pub(crate) fn tell(code: i32) -> i32 {
    // A child of `vfork`, or one that the program made by a system call, is not what was watched.
    if !on() || online::records() == 0 || !is_ours() {
        return code;
    }
    let quiet = sys::Quiet::new();
    let process = sys::process_id();
    TELLING.with(|| {
        let found = online::records();
        if found != TOLD.swap(found, Ordering::Relaxed) {
            // SAFETY: the copy makes a copy of its own, waits and ends.
            let told = match unsafe { sys::copy_process() } {
                Ok(0) => sys::exit(see_to_it(&quiet, process)),
                Ok(copy) => answer(sys::wait_for(copy)).unwrap_or_else(rescue),
                Err(_) => rescue(),
            };
            if told == SAID {
                WORTH.store(1, Ordering::Relaxed);
            }
        }
    });
    if WORTH.load(Ordering::Relaxed) == 0 {
        return code;
    }
    // SAFETY: the kept texts end with a NUL.
    let texts = texts().map(|text| unsafe { CStr::from_ptr(text).to_bytes() });
    match options::exit_code(&texts) {
        0 => code,
        races => i32::from(races),
    }
}

/// The code that the command line ended with, if it did its work. A loader that does not find a library ends with one, too.
fn answer(code: Option<i32>) -> Option<i32> {
    code.filter(|code| [0, SAID].contains(code))
}

/// Whether the calling process is the one that the trace is of.
pub(crate) fn is_ours() -> bool {
    let page = block::header_page();
    // SAFETY: the first page stays mapped; the field is aligned.
    !page.is_null() && unsafe { page.add(header::PID).cast::<u32>().read() } == sys::process_id()
}

/// What the program says of where its races are told, in place of the last text of options, which is in it; or null.
static INTO: AtomicPtr<c_char> = AtomicPtr::new(null_mut());

fn texts() -> [*const c_char; TEXTS] {
    // SAFETY: nothing is written there once the program runs.
    let mut texts = unsafe { KEPT.texts };
    let into = INTO.load(Ordering::Acquire);
    if !into.is_null() {
        texts[TEXTS - 1] = into;
    }
    texts
}

/// Has races told into what a path says, as `log_path` does.
pub(crate) fn tell_into(path: &[u8]) {
    if !on() {
        return;
    }
    let quote: &[u8] = if path.contains(&b'\'') { b"\"" } else { b"'" };
    // SAFETY: nothing is written there once the program runs, and the text ends with a NUL.
    let before = unsafe { CStr::from_ptr(KEPT.texts[TEXTS - 1]).to_bytes() };
    let parts = [before, b":log_path=", quote, path, quote];
    let Ok(room) = sys::map_anonymous(parts.iter().map(|part| part.len()).sum::<usize>() + 1) else { return };
    let mut at = room;
    for part in parts {
        // SAFETY: the mapping is as long as all parts and a NUL.
        unsafe {
            core::ptr::copy_nonoverlapping(part.as_ptr(), at, part.len());
            at = at.add(part.len());
        }
    }
    INTO.store(room.cast(), Ordering::Release);
}

/// Where races are told: what `log_path` says last, and `stderr` if nobody said.
pub(crate) fn told_into() -> *const c_char {
    // SAFETY: the kept texts end with a NUL.
    let texts = texts().map(|text| unsafe { CStr::from_ptr(text).to_bytes() });
    match options::value(&texts, "log_path") {
        Some(path) if on() && !path.is_empty() => keep(path),
        _ => c"stderr".as_ptr(),
    }
}

/// Tells what can be told here; ends as the command line would.
fn rescue() -> i32 {
    if online::certain() == 0 {
        // Whether locks are taken in opposite orders only the command line knows.
        return 0;
    }
    // SAFETY: the path ends with a NUL.
    let teller = unsafe { CStr::from_ptr(teller()).to_bytes() };
    rescue::tell(block::in_memory(), teller);
    SAID
}

/// The path of the command line.
fn teller() -> *const c_char {
    // SAFETY: nothing is written there once the program runs.
    unsafe { KEPT.teller }
}

/// In a copy of the process: waits for the command line. The program is told of the end of what becomes another program,
/// but not of that of a mere copy, which this is.
fn see_to_it(quiet: &sys::Quiet, process: u32) -> i32 {
    sys::keep_children();
    // SAFETY: the copy becomes another program or ends.
    let told = match unsafe { sys::copy_process() } {
        Ok(0) => become_teller(quiet, process),
        Ok(copy) => answer(sys::wait_for(copy)),
        Err(_) => None,
    };
    told.unwrap_or_else(rescue)
}

/// In the copy of that copy: becomes the command line; where there is none, tells what can be told without it.
fn become_teller(quiet: &sys::Quiet, process: u32) -> ! {
    let teller = teller();
    if let Ok(file) = sys::create_nameless()
        && block::write_to(file).is_ok()
    {
        // Where there is no /proc it is read from there.
        sys::make_input(file);
        let mut path = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0";
        rescue::put_number(&mut path, 14, file as u64);
        let mut number = [0u8; 21];
        rescue::put_number(&mut number, 0, u64::from(process));
        // SAFETY: as above; the program's function gives a text or null.
        unsafe {
            let own = weak_address!("__tsan_default_suppressions");
            let suppressions = text_of(own);
            let [first, second, third] = texts();
            let arguments = [
                teller,
                options::COMMAND.as_ptr(),
                path.as_ptr().cast(),
                number.as_ptr().cast(),
                first,
                second,
                third,
                if suppressions.is_empty() { c"".as_ptr() } else { suppressions.as_ptr().cast() },
                null(),
            ];
            let environment = environment();
            quiet.restore();
            sys::become_program(teller.cast(), arguments.as_ptr().cast(), environment.cast());
        }
    }
    sys::exit(rescue())
}

/// The environment as the program has it now.
fn environment() -> *const *const c_char {
    static NONE: [usize; 1] = [0];
    let variable = weak_address!("environ") as *const *const *const c_char;
    // SAFETY: the C library's variable.
    let list = if variable.is_null() { null() } else { unsafe { *variable } };
    if list.is_null() { NONE.as_ptr().cast() } else { list }
}
