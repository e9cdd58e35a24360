//! The process starts; a thread that nobody announced appears.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_core::wire::{self, Mode, Wire, header};

use super::{block, byhand, exit, fork, modules, options, threads, together};
use crate::gate;
use crate::hot::thread::{self, Thread};
use crate::intercept::uring;
use crate::online;
use crate::sys;

const UNSET: u32 = 0;
const STARTING: u32 = 1;
const OFF: u32 = 2;
const RECORD: u32 = 3;
const PROVOKE: u32 = 4;
const _: () = assert!(UNSET < STARTING && STARTING < OFF && OFF < RECORD && RECORD < PROVOKE);

/// What the runtime is doing.
static STATE: AtomicU32 = AtomicU32::new(UNSET);

/// Whether events are looked at: recorded, or judged by the gate. Interceptors ask before they
/// touch the thread word: in a static program they run before there is one.
#[inline(always)]
pub(crate) fn recording() -> bool {
    STATE.load(Ordering::Relaxed) >= RECORD
}

/// Whether events are looked at but not recorded.
#[inline(always)]
pub(crate) fn light() -> bool {
    STATE.load(Ordering::Relaxed) == PROVOKE
}

/// Whether it is known what the runtime is doing. Before that (relocation, the start of a static
/// program) an interceptor does without the C library's look-up where it can.
#[inline(always)]
pub(crate) fn started() -> bool {
    STATE.load(Ordering::Relaxed) > STARTING
}

/// Nothing is looked at any more, in a process that has no trace.
pub(crate) fn stop() {
    STATE.store(OFF, Ordering::Release);
}

/// Runs before every constructor of the program and its libraries.
#[cfg(deadheat_object)]
#[used]
#[unsafe(link_section = ".preinit_array")]
static START: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;

/// Reads the wire and begins to record if it says so.
///
/// # Safety
/// The arguments are the program's.
pub(crate) unsafe extern "C" fn start(
    count: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if STATE.compare_exchange(UNSET, STARTING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return;
    }
    sys::resolve_all();
    // SAFETY: the environment is a list of texts that ends with a null.
    let state = match unsafe { wire_of(environment) } {
        // SAFETY: as above; the arguments are `count` texts.
        None => unsafe { by_hand(count, arguments, environment) },
        Some(text) => match Wire::parse(text) {
            Ok(Wire { mode: Mode::Record, gate, trace }) => {
                gate::let_none_pass();
                // SAFETY: the arguments are `count` texts; no other thread runs, and the environment is the program's.
                unsafe {
                    options::heed(&options::quietly(environment));
                    record(trace, gate, count, arguments)
                }
            }
            Ok(Wire { mode: mode @ (Mode::Detect | Mode::RecordAndDetect), trace, .. }) => {
                gate::let_none_pass();
                // SAFETY: the arguments are `count` texts; no other thread runs, and the environment is the program's.
                unsafe {
                    let texts = options::read(environment);
                    online::limit_memory(&texts);
                    together::begin(&texts);
                    exit::begin(&texts);
                    options::heed(&texts);
                    detect(record(trace, false, count, arguments), mode == Mode::RecordAndDetect)
                }
            }
            Ok(Wire { mode: Mode::Provoke, trace, .. }) => {
                // SAFETY: no other thread runs, and the environment is the program's.
                options::heed(&unsafe { options::quietly(environment) });
                provoke(trace)
            }
            Ok(Wire { mode: Mode::Off, .. }) => OFF,
            Err(reason) => {
                sys::say(b"deadheat: cannot use DEADHEAT_WIRE: ");
                sys::say(reason.as_bytes());
                sys::say(b"; nothing is recorded\n");
                OFF
            }
        },
    };
    STATE.store(state, Ordering::Release);
    if state >= RECORD {
        threads::adopt_first();
        uring::look();
        fork::register();
    }
}

/// Looks for races, if the trace was opened; beside a recording, or instead of one.
fn detect(state: u32, beside: bool) -> u32 {
    if state == RECORD {
        online::start(beside);
    }
    state
}

/// Nobody but a person started the program: looks for races, and tells them at the end.
///
/// # Safety
/// The arguments are `count` texts, and the environment is the program's. Called once, before any other
/// thread runs.
unsafe fn by_hand(count: c_int, arguments: *const *const c_char, environment: *const *const c_char) -> u32 {
    gate::let_none_pass();
    // SAFETY: the caller's promise.
    unsafe {
        if !byhand::begin(environment) {
            return OFF;
        }
        let state = detect(watch(None, count, arguments), false);
        if state != OFF {
            byhand::tell_before_signals();
            exit::tell_behind_quick_exits();
            exit::take_turn_behind_main();
        }
        state
    }
}

/// Opens the gate file and records nothing.
fn provoke(trace: &[u8]) -> u32 {
    if !open_gate(trace, true) {
        return OFF;
    }
    modules::scan();
    PROVOKE
}

/// Opens the gate file of the trace `trace`. It is another process's if a program starts programs.
fn open_gate(trace: &[u8], filtered: bool) -> bool {
    let mut path = [0u8; MAX_PATH];
    let ending = deadheat_core::gate::ENDING.as_bytes();
    let Some(room) = path.get_mut(..trace.len() + ending.len()) else { return false };
    room[..trace.len()].copy_from_slice(trace);
    room[trace.len()..].copy_from_slice(ending);
    CStr::from_bytes_until_nul(&path).is_ok_and(|path| gate::open(path, filtered))
}

/// The value of the wire's variable.
///
/// # Safety
/// As for [`variable`].
unsafe fn wire_of<'a>(environment: *const *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { variable(environment, wire::ENV) }
}

/// The value of an environment variable.
///
/// # Safety
/// The environment is a list of texts that ends with a null.
pub(crate) unsafe fn variable<'a>(environment: *const *const c_char, name: &str) -> Option<&'a [u8]> {
    let mut entry = environment;
    // SAFETY: the caller's promise.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry).to_bytes();
            if let Some(rest) = text.strip_prefix(name.as_bytes())
                && let Some(value) = rest.strip_prefix(b"=")
            {
                return Some(value);
            }
            entry = entry.add(1);
        }
    }
    None
}

/// Longest path of a trace, its ending for a child and NUL included.
const MAX_PATH: usize = 4096;
/// The trace's path as the command line gave it, for children.
static mut PATH: [u8; MAX_PATH] = [0; MAX_PATH];
static PATH_LEN: AtomicU32 = AtomicU32::new(0);

/// Keeps the trace's path for children, and opens the trace.
///
/// # Safety
/// The arguments are `count` texts; no other thread runs.
unsafe fn record(trace: &[u8], gated: bool, count: c_int, arguments: *const *const c_char) -> u32 {
    const ENDING: usize = 32;
    if trace.len() + ENDING > MAX_PATH {
        sys::say(b"deadheat: the trace's path is too long; nothing is recorded\n");
        return OFF;
    }
    // SAFETY: written once, before any other thread runs; the path was found to fit.
    unsafe { core::ptr::copy_nonoverlapping(trace.as_ptr(), (&raw mut PATH).cast(), trace.len()) };
    PATH_LEN.store(trace.len() as u32, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { watch(gated.then_some(trace), count, arguments) }
}

/// Opens the trace, and the gate file beside this one if there is one.
///
/// # Safety
/// As for [`record`].
unsafe fn watch(gate: Option<&[u8]>, count: c_int, arguments: *const *const c_char) -> u32 {
    if !open_trace(0) {
        return OFF;
    }
    // SAFETY: the arguments are `count` texts; the page is mapped and ours alone so far.
    unsafe { note_arguments(block::header_page(), count, arguments) };
    if let Some(trace) = gate {
        open_gate(trace, false);
    }
    modules::scan();
    RECORD
}

/// Creates this process's trace file: the path given, or that with the process id behind it.
pub(crate) fn open_trace(forked_from: u32) -> bool {
    let opened =
        if byhand::on() { block::begin_in_memory().map(|page| (None, page)) } else { map_first(forked_from) };
    let Ok((file, page)) = opened else {
        if byhand::on() {
            online::without_memory();
            return false;
        }
        sys::say(b"deadheat: cannot create the trace file; nothing is recorded\n");
        return false;
    };
    // SAFETY: the page is mapped and known to nobody else yet; all fields are aligned.
    unsafe {
        page.add(header::VERSION).cast::<u32>().write(wire::VERSION);
        page.add(header::END).cast::<u64>().write(header::PAGE);
        page.add(header::PID).cast::<u32>().write(sys::process_id());
        page.add(header::FORKED_FROM).cast::<u32>().write(forked_from);
        page.add(header::STARTED).cast::<u64>().write(sys::now());
        page.add(header::MACHINE).cast::<u64>().write(sys::machine::ELF_MACHINE);
        core::sync::atomic::fence(Ordering::Release);
        page.cast::<u64>().write_volatile(u64::from_le_bytes(header::MAGIC));
    }
    block::begin_file(file, page);
    true
}

/// Creates the trace file and maps its first page.
fn map_first(forked_from: u32) -> Result<(Option<i32>, *mut u8), sys::Errno> {
    let file = create_file(forked_from != 0)?;
    sys::allocate_file(file, 0, header::PAGE as usize)?;
    Ok((Some(file), sys::map_file(file, 0, header::PAGE as usize, true)?))
}

/// Copies the command line of the parent's first page into the child's.
pub(crate) fn copy_arguments(from: *const u8, to: *mut u8) {
    // SAFETY: both are first pages of trace files.
    unsafe {
        let len = from.add(header::ARGUMENTS_LEN).cast::<u32>().read();
        to.add(header::ARGUMENTS_LEN).cast::<u32>().write(len);
        let len = (len as usize).min(header::PAGE as usize - header::ARGUMENTS);
        core::ptr::copy_nonoverlapping(from.add(header::ARGUMENTS), to.add(header::ARGUMENTS), len);
    }
}

/// The path of the trace file that this process has created.
static mut CREATED: [u8; MAX_PATH] = [0; MAX_PATH];

/// Opens the trace file again, of which the program has closed the descriptor.
pub(crate) fn open_again() -> Result<i32, sys::Errno> {
    // SAFETY: it does not change while others run, and ends with a NUL.
    unsafe { sys::open_again((&raw const CREATED).cast()) }
}

fn create_file(child: bool) -> Result<i32, sys::Errno> {
    const TRIES: u32 = 10_000;
    let len = PATH_LEN.load(Ordering::Relaxed) as usize;
    let mut path = [0u8; MAX_PATH];
    // SAFETY: `PATH` does not change once it is set, and is as long as `path`.
    unsafe { core::ptr::copy_nonoverlapping((&raw const PATH).cast(), path.as_mut_ptr(), len) };
    let mut number = u32::from(child);
    loop {
        let mut at = len;
        if number > 0 {
            at = put_number(&mut path, at, sys::process_id());
        }
        if number > 1 {
            at = put_number(&mut path, at, number);
        }
        path[at] = 0;
        // SAFETY: the path ends with a NUL.
        match unsafe { sys::create_file(path.as_ptr()) } {
            Err(sys::Errno(sys::EEXIST)) if number < TRIES => number += 1,
            other => {
                // SAFETY: no other thread runs; both have the same length.
                unsafe { core::ptr::copy_nonoverlapping(path.as_ptr(), (&raw mut CREATED).cast(), at + 1) };
                return other;
            }
        }
    }
}

/// Appends a dot and a number; gives the position behind it.
fn put_number(path: &mut [u8; MAX_PATH], at: usize, number: u32) -> usize {
    let mut digits = [0u8; 10];
    let mut count = 0;
    let mut rest = number;
    while rest > 0 || count == 0 {
        digits[count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    path[at] = b'.';
    for i in 0..count {
        path[at + 1 + i] = digits[count - 1 - i];
    }
    at + 1 + count
}

/// Notes the program's arguments in the first page of the trace's file, as far as there is room.
///
/// # Safety
/// `page` is that page, which nobody else uses; the arguments are `count` texts.
unsafe fn note_arguments(page: *mut u8, count: c_int, arguments: *const *const c_char) {
    let room = header::PAGE as usize - header::ARGUMENTS;
    let mut len = 0;
    // SAFETY: the caller's promise; writes stay within the page.
    unsafe {
        for i in 0..count.max(0) as usize {
            for &byte in CStr::from_ptr(*arguments.add(i)).to_bytes_with_nul() {
                if len < room {
                    page.add(header::ARGUMENTS + len).write(byte);
                    len += 1;
                }
            }
        }
        page.add(header::ARGUMENTS_LEN).cast::<u32>().write(len as u32);
    }
}

/// The calling thread has no `Thread`: gives it one if the process is recorded.
pub(crate) fn attach() -> Option<*mut Thread> {
    match STATE.load(Ordering::Acquire) {
        PROVOKE => threads::adopt_foreign(),
        RECORD if !block::stopped() => threads::adopt_foreign(),
        RECORD | OFF => {
            sys::machine::set_thread_word(thread::UNWATCHED);
            None
        }
        _ => None,
    }
}
