//! What the compilers' sanitizers share: places in words, reports, the allocator. A program that calls it under any of them links.
//!
//! Without debug information at hand a place has the name of an exported function, and its module and offset.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::cold::byhand;
use crate::cold::rescue::put_digits;
use crate::hot::thread;
use crate::online;
use crate::sys;

shim!(__sanitizer_print_stack_trace, "rdi", on_print_stack);

/// What the loader knows of an address.
#[repr(C)]
struct Known {
    module: *const c_char,
    base: usize,
    name: *const c_char,
    start: usize,
}

/// What the loader knows of an address, if it knows anything and is there to be asked.
fn known(address: usize) -> Option<Known> {
    type Ask = unsafe extern "C" fn(usize, *mut Known) -> c_int;
    let mut known = Known { module: null(), base: 0, name: null(), start: 0 };
    let ask = weak_address!("dladdr");
    // SAFETY: the C library's function, and our variable.
    let found = ask != 0 && unsafe { core::mem::transmute::<usize, Ask>(ask)(address, &raw mut known) } != 0;
    found.then_some(known)
}

/// A text that grows up to the room that there is; what does not fit is left out.
struct Text<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Text<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.room.len() - self.len);
        self.room[self.len..][..count].copy_from_slice(&bytes[..count]);
        self.len += count;
    }

    /// A text of the C library's, or other words if there is none.
    ///
    /// # Safety
    /// `text` is null or ends with a NUL.
    unsafe fn put_text(&mut self, text: *const c_char, none: &[u8]) {
        // SAFETY: the caller's promise.
        self.put(if text.is_null() { none } else { unsafe { CStr::from_ptr(text) }.to_bytes() });
    }

    fn put_number(&mut self, number: usize, base: u64) {
        let mut digits = [0; 20];
        let len = put_digits(&mut digits, 0, number as u64, base);
        self.put(&digits[..len]);
    }

    /// A place as a letter of a format asks for it.
    fn put_place(&mut self, letter: u8, pc: usize) {
        let known = known(pc);
        let (module, base) = known.as_ref().map_or((null(), 0), |known| (known.module, known.base));
        let (name, start) = known.as_ref().map_or((null(), pc), |known| (known.name, known.start));
        // SAFETY: texts of the loader's.
        unsafe {
            match letter {
                b'p' => self.put_hexadecimal(pc),
                b'm' => self.put_text(module, b"<unknown module>"),
                b'o' => self.put_hexadecimal(pc - base),
                b'f' => self.put_text(name, b"<unknown>"),
                b'q' if !name.is_null() => self.put_hexadecimal(pc - start),
                b'F' if !name.is_null() => {
                    self.put(b"in ");
                    self.put_text(name, b"");
                }
                b'M' | b'L' | b'S' if !module.is_null() => {
                    self.put(b"(");
                    self.put_text(module, b"");
                    self.put(b"+");
                    self.put_hexadecimal(pc - base);
                    self.put(b")");
                }
                b's' => self.put(b"<unknown file>"),
                b'l' | b'c' | b'n' => self.put(b"0"),
                b'%' => self.put(b"%"),
                _ => {}
            }
        }
    }

    fn put_hexadecimal(&mut self, number: usize) {
        self.put(b"0x");
        self.put_number(number, 16);
    }

    /// A place in the words of a format: a letter behind each `%`.
    fn put_format(&mut self, format: &[u8], mut put: impl FnMut(&mut Self, u8)) {
        let mut bytes = format.iter();
        while let Some(&byte) = bytes.next() {
            match byte {
                b'%' => put(self, bytes.next().copied().unwrap_or(b'%')),
                other => self.put(&[other]),
            }
        }
    }
}

/// The program's room for a text, which is ended by as many zeros as there is room for, up to two.
///
/// # Safety
/// The room is the program's, `format` a text.
unsafe fn fill(room: *mut c_char, size: usize, format: *const c_char, put: impl FnMut(&mut Text<'_>, u8)) {
    if room.is_null() || size == 0 || format.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let room = core::slice::from_raw_parts_mut(room.cast::<u8>(), size);
        let mut text = Text { room: &mut room[..size - 1], len: 0 };
        text.put_format(CStr::from_ptr(format).to_bytes(), put);
        let len = text.len;
        room[len..].iter_mut().take(2).for_each(|byte| *byte = 0);
    }
}

/// `__sanitizer_print_stack_trace`: the calling thread's stack, to standard error.
unsafe extern "C" fn on_print_stack(pc: usize) {
    let mut number = 0;
    let mut say = |call: usize| {
        let mut room = [0; 1024];
        let mut text = Text { room: &mut room, len: 0 };
        text.put(b"    #");
        text.put_number(number, 10);
        // The call is before where it returns to.
        text.put_format(b" %p %F %M", |text, letter| {
            text.put_place(letter, call - usize::from(letter != b'p'))
        });
        let len = text.len;
        sys::say(&room[..len]);
        sys::say(b"\n");
        number += 1;
    };
    say(pc);
    if let Some(thread) = thread::current() {
        // SAFETY: the calling thread's own state; frames below `top` are filled.
        unsafe {
            let mut frame = (*thread).top;
            while frame > (*thread).frames {
                frame = frame.sub(1);
                say((*frame).call as usize);
            }
        }
    }
    sys::say(b"\n");
}

/// A place of the code in the words of a format.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_symbolize_pc(
    pc: usize,
    format: *const c_char,
    room: *mut c_char,
    size: usize,
) {
    // SAFETY: the program's room.
    unsafe { fill(room, size, format, |text, letter| text.put_place(letter, pc)) };
}

/// A variable in the words of a format.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_symbolize_global(
    address: usize,
    format: *const c_char,
    room: *mut c_char,
    size: usize,
) {
    let put = |text: &mut Text<'_>, letter: u8| match letter {
        b'g' => {
            let name = known(address).map_or(null(), |known| known.name);
            // SAFETY: a text of the loader's.
            unsafe { text.put_text(name, b"<unknown>") };
        }
        other => text.put_place(other, address),
    };
    // SAFETY: the program's room.
    unsafe { fill(room, size, format, put) };
}

/// A place's module, which is cut to the room for it, and the offset in it: 1, or 0 if there is none.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_module_and_offset_for_pc(
    pc: usize,
    module: *mut c_char,
    size: usize,
    offset: *mut usize,
) -> c_int {
    let Some(known) = known(pc).filter(|known| !known.module.is_null()) else { return 0 };
    // SAFETY: the program's room and variable; a text of the loader's.
    unsafe {
        fill(module, size, c"%m".as_ptr(), |text, _| text.put_text(known.module, b""));
        if !offset.is_null() {
            offset.write(pc - known.base);
        }
    }
    1
}

/// A line that sums up what the program found by itself.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_report_error_summary(text: *const c_char) {
    sys::say(b"SUMMARY: deadheat: ");
    // SAFETY: the program's text.
    sys::say(if text.is_null() { b"" } else { unsafe { CStr::from_ptr(text) }.to_bytes() });
    sys::say(b"\n");
}

/// Where races are told of a program that is started by hand, from now on: what `log_path` says.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_set_report_path(path: *const c_char) {
    if !path.is_null() {
        // SAFETY: the program's text.
        byhand::tell_into(unsafe { CStr::from_ptr(path) }.to_bytes());
    }
}

/// The same by the number of a descriptor: standard output or standard error.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_set_report_fd(file: *mut c_void) {
    match file as usize {
        1 => byhand::tell_into(b"stdout"),
        2 => byhand::tell_into(b"stderr"),
        _ => sys::say(
            b"deadheat: warning: __sanitizer_set_report_fd: races are told to descriptors 1 and 2 alone\n",
        ),
    }
}

/// What was said last of where races are told.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_report_path() -> *const c_char {
    byhand::told_into()
}

/// What the program wants to be called before a race ends it.
static BEFORE_DEATH: AtomicUsize = AtomicUsize::new(0);

/// The function that is called before a race ends the process (`halt_on_error`).
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_set_death_callback(function: usize) {
    BEFORE_DEATH.store(function, Ordering::Relaxed);
}

/// A race ends the process.
pub(crate) fn before_death() {
    let function = BEFORE_DEATH.swap(0, Ordering::Relaxed);
    if function != 0 {
        // SAFETY: the program's function, which has no argument.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn()>(function)() };
    }
}

/// The heap block, live or freed, that holds an address: where it begins, and its size. Known where races are looked for.
fn block(address: usize) -> Option<(usize, usize)> {
    if online::on() { online::heap_block(address) } else { None }
}

/// Whether a heap block begins at an address.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_ownership(address: usize) -> c_int {
    c_int::from(block(address).is_some_and(|(begin, _)| begin == address))
}

/// How many bytes were asked for where a heap block begins, else 0.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_allocated_size(address: usize) -> usize {
    block(address).filter(|&(begin, _)| begin == address).map_or(0, |(_, size)| size)
}

/// The same.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_allocated_size_fast(address: usize) -> usize {
    // SAFETY: as for the other.
    unsafe { __sanitizer_get_allocated_size(address) }
}

/// Where the heap block begins that holds an address, or null.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_allocated_begin(address: usize) -> usize {
    block(address).map_or(0, |(begin, _)| begin)
}

/// How many bytes a block of so many takes: as many.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_estimated_allocated_size(size: usize) -> usize {
    size
}

/// The C library's account of its heap, in bytes.
#[derive(Default)]
#[repr(C)]
struct Account {
    from_break: usize,
    counts: [usize; 2],
    mappings: usize,
    mapped: usize,
    unused: [usize; 2],
    used: usize,
    free: usize,
    keeps: usize,
}

fn account() -> Account {
    let ask = weak_address!("mallinfo2");
    if ask == 0 {
        return Account::default();
    }
    // SAFETY: the C library's function.
    unsafe { core::mem::transmute::<usize, unsafe extern "C" fn() -> Account>(ask)() }
}

/// How many bytes are in the program's blocks.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_current_allocated_bytes() -> usize {
    let Account { used, mapped, .. } = account();
    used + mapped
}

/// How many bytes the heap has.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_heap_size() -> usize {
    let Account { from_break, mapped, .. } = account();
    from_break + mapped
}

/// How many bytes of it are in no block.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_get_free_bytes() -> usize {
    account().free
}

/// Gives memory that is in no block back to the system.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_purge_allocator() {
    let trim = weak_address!("malloc_trim");
    if trim != 0 {
        // SAFETY: the C library's function.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(usize) -> c_int>(trim)(0) };
    }
}

/// Whether the calling thread is the first that asks, and may tell of a crash.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __sanitizer_acquire_crash_state() -> c_int {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    c_int::from(ASKED.swap(1, Ordering::Relaxed) == 0)
}

/// What old annotations ask: whether the detector knows happens-before alone.
#[allow(non_snake_case, reason = "the name is given")]
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn ThreadSanitizerQuery(what: *const c_char) -> *const c_char {
    // SAFETY: the program's text.
    let asked = !what.is_null() && unsafe { CStr::from_ptr(what) } == c"pure_happens_before";
    (if asked { c"1" } else { c"0" }).as_ptr()
}

/// How much slower than by itself the program is said to be under a detector.
#[allow(non_snake_case, reason = "the name is given")]
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn ValgrindSlowdown() -> f64 {
    10.0
}
