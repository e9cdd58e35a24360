//! Which modules are loaded, and where.
//!
//! Invariant: a module is in the trace before the first event of its code, because its own
//! constructor (`__tsan_init`) or the interceptor of `dlopen` looks for it first.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use deadheat_core::event::{BlockKind, Op};
use deadheat_core::wire::{block as layout, header, module};

use super::block::{self, Label};
use super::lock::Lock;
use crate::gate;
use crate::hot::log;
use crate::intercept;
use crate::sys::{self, allocator, c};

/// Modules that can be loaded at once; more are left out, their code has no name then.
const MAX_MODULES: usize = 4096;
/// Room for the records of one scan.
const SCRATCH: usize = 2 << 20;

#[derive(Clone, Copy)]
struct Known {
    bias: u64,
    start: u64,
    end: u64,
    seen: bool,
    /// Loaded by the running program, and its memory's new life not told yet.
    fresh: bool,
}

struct Table {
    lock: Lock,
    known: core::cell::UnsafeCell<[Known; MAX_MODULES]>,
    count: core::cell::UnsafeCell<usize>,
}

// SAFETY: both cells are touched under `lock` alone.
unsafe impl Sync for Table {}

const NONE: Known = Known { bias: 0, start: 0, end: 0, seen: false, fresh: false };
static TABLE: Table = Table {
    lock: Lock::new(),
    known: core::cell::UnsafeCell::new([NONE; MAX_MODULES]),
    count: core::cell::UnsafeCell::new(0),
};

/// How often anything was scanned: 0 only at the start, whose modules are there from stamp 0 on.
static SCANS: AtomicU64 = AtomicU64::new(0);

/// Records made by one scan.
struct Records {
    scratch: *mut u8,
    len: usize,
    stamp: u64,
}

/// Writes modules that came or went since the last scan.
pub(crate) fn scan() {
    let Ok(scratch) = sys::map_anonymous(SCRATCH) else { return };
    let stamp = if SCANS.fetch_add(1, Ordering::Relaxed) == 0 { 0 } else { log::next_stamp() };
    let mut records = Records { scratch, len: 0, stamp };
    TABLE.lock.acquire();
    // SAFETY: under the table's lock.
    let (known, count) = unsafe { (&mut *TABLE.known.get(), &mut *TABLE.count.get()) };
    known[..*count].iter_mut().for_each(|module| module.seen = false);
    // SAFETY: the callback takes the records as its data.
    unsafe { c::dl_iterate_phdr(each, (&raw mut records).cast()) };
    let mut at = 0;
    while at < *count {
        if known[at].seen {
            at += 1;
            continue;
        }
        records.put(&known[at], module::UNLOADED, &[], b"");
        *count -= 1;
        known[at] = known[*count];
    }
    TABLE.lock.release();
    if records.len > 0 {
        records.write();
    }
    // SAFETY: the scratch pages are ours.
    unsafe { sys::unmap(scratch, SCRATCH) };
    while let Some((start, end)) = next_fresh() {
        let life = Op::Alloc { address: start, size: end - start, kind: BlockKind::Mapping };
        log::event(0, &life);
    }
}

/// The segments of a module that was loaded where another may have been before.
fn next_fresh() -> Option<(u64, u64)> {
    TABLE.lock.with(|| {
        // SAFETY: under the table's lock.
        let known = unsafe { &mut (&mut *TABLE.known.get())[..*TABLE.count.get()] };
        let module = known.iter_mut().find(|module| module.fresh)?;
        module.fresh = false;
        Some((module.start, module.end))
    })
}

/// Size and alignment of the executable's thread-local storage.
static OWN_THREAD_LOCAL: (AtomicU64, AtomicU64) = (AtomicU64::new(0), AtomicU64::new(0));

/// The calling thread's copy of the executable's thread-local variables: address and size.
pub(crate) fn own_thread_local() -> Option<(u64, u64)> {
    let size = OWN_THREAD_LOCAL.0.load(Ordering::Relaxed);
    let alignment = OWN_THREAD_LOCAL.1.load(Ordering::Relaxed).max(1);
    (size != 0).then(|| (sys::machine::own_thread_local(size, alignment), size))
}

/// Whether `liburing` is or was loaded.
static URING: AtomicBool = AtomicBool::new(false);

/// Whether the library for `io_uring` was ever loaded.
pub(crate) fn has_uring() -> bool {
    URING.load(Ordering::Relaxed)
}

/// Whether a path is that library's.
fn is_uring(path: &[u8]) -> bool {
    path.rsplit(|&byte| byte == b'/').next().is_some_and(|name| name.starts_with(b"liburing.so"))
}

/// Whether the code address belongs to a known module.
pub(crate) fn knows(pc: u64) -> bool {
    TABLE.lock.with(|| {
        // SAFETY: under the table's lock.
        let known = unsafe { &(&*TABLE.known.get())[..*TABLE.count.get()] };
        known.iter().any(|module| (module.start..module.end).contains(&pc))
    })
}

/// The C library's and the loader's code: from, to.
static SYSTEM: [(AtomicU64, AtomicU64); 2] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 2];

/// Notes where the C library or the loader is, if it is this module. Linked statically they are no modules.
fn note_system(module: &Known) {
    if weak_address!("__real_malloc") != 0 {
        return;
    }
    let symbols = [allocator::library(), weak_address!("_r_debug") as u64];
    for ((start, end), symbol) in SYSTEM.iter().zip(symbols) {
        if (module.start..module.end).contains(&symbol) {
            start.store(module.start, Ordering::Relaxed);
            end.store(module.end, Ordering::Relaxed);
        }
    }
}

/// Whether the code address is the loader's.
pub(crate) fn is_loader(pc: u64) -> bool {
    let (start, end) = &SYSTEM[1];
    (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&pc)
}

/// The code of the OpenMP library: where it is, and its size.
static OPENMP: (AtomicU64, AtomicU64) = (AtomicU64::new(0), AtomicU64::new(0));

/// Notes where the OpenMP library is, if it is this module.
fn note_openmp(module: &Known, path: &[u8]) {
    const NAMES: [&[u8]; 3] = [b"libgomp", b"libomp", b"libiomp5"];
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let is =
        |start: &[u8]| name.strip_prefix(start).is_some_and(|rest| matches!(rest.first(), Some(b'.' | b'-')));
    if NAMES.iter().any(|start| is(start)) {
        OPENMP.0.store(module.start, Ordering::Relaxed);
        OPENMP.1.store(module.end - module.start, Ordering::Relaxed);
    }
}

/// Whether the code address is the OpenMP library's, which guards what is its own by means that nobody sees.
#[inline]
pub(crate) fn is_openmp(pc: u64) -> bool {
    pc.wrapping_sub(OPENMP.0.load(Ordering::Relaxed)) < OPENMP.1.load(Ordering::Relaxed)
}

/// Whether the code address is the C library's or the loader's.
pub(crate) fn is_system(pc: u64) -> bool {
    SYSTEM
        .iter()
        .any(|(start, end)| (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&pc))
}

/// Forgets all modules, so that the next scan writes them into a new trace.
pub(crate) fn forget() {
    SCANS.store(0, Ordering::Relaxed);
    // SAFETY: under the table's lock.
    TABLE.lock.with(|| unsafe { *TABLE.count.get() = 0 });
}

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    TABLE.lock.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    TABLE.lock.release();
}

/// `dl_iterate_phdr`'s callback; runs under the table's lock.
unsafe extern "C" fn each(info: *mut c::Module, _: usize, records: *mut c_void) -> c_int {
    const LOAD: u32 = 1;
    const NOTE: u32 = 4;
    const THREAD_LOCAL: u32 = 7;
    // SAFETY: the C library passes a valid description; the data is `scan`'s; the table's lock is
    // held by the calling thread.
    unsafe {
        let info = &*info;
        let records = &mut *records.cast::<Records>();
        let headers = core::slice::from_raw_parts(info.headers, info.header_count as usize);
        let (mut start, mut end) = (u64::MAX, 0);
        let mut build_id: &[u8] = &[];
        let mut thread_local = (0, 0);
        for header in headers {
            let address = info.bias.wrapping_add(header.address);
            if header.kind == THREAD_LOCAL {
                thread_local = (header.size, header.alignment);
            } else if header.kind == LOAD {
                start = start.min(address);
                end = end.max(address + header.size);
            } else if header.kind == NOTE && build_id.is_empty() {
                build_id =
                    build_id_in(core::slice::from_raw_parts(address as *const u8, header.size as usize));
            }
        }
        if end == 0 {
            return 0;
        }
        let (known, count) = (&mut *TABLE.known.get(), &mut *TABLE.count.get());
        if let Some(old) = known[..*count].iter_mut().find(|old| old.start == start && old.end == end) {
            old.seen = true;
            return 0;
        }
        if *count == MAX_MODULES {
            return 0;
        }
        let found = Known { bias: info.bias, start, end, seen: true, fresh: records.stamp != 0 };
        known[*count] = found;
        note_system(&found);
        *count += 1;
        let mut own = [0u8; 4096];
        let name = CStr::from_ptr(info.name).to_bytes();
        let first = *count == 1;
        if first {
            OWN_THREAD_LOCAL.0.store(thread_local.0, Ordering::Relaxed);
            OWN_THREAD_LOCAL.1.store(thread_local.1, Ordering::Relaxed);
        }
        let path = if name.is_empty() && first { own_path(&mut own) } else { name };
        URING.fetch_or(is_uring(path), Ordering::Relaxed);
        let flags = if first { module::INSTRUMENTED } else { 0 };
        note_openmp(&found, path);
        intercept::forget_callers();
        records.put(&found, flags, build_id, path);
        if gate::on() {
            gate::module_loaded(info.bias, (start, end), build_id, path);
        }
    }
    0
}

/// The path of the running program; where there is no `/proc`, that by which it was started.
fn own_path(buffer: &mut [u8; 4096]) -> &[u8] {
    const AT_EXECFN: u64 = 31;
    type GetAuxiliary = unsafe extern "C" fn(u64) -> u64;
    let len = sys::read_link(c"/proc/self/exe", buffer);
    let ask = weak_address!("getauxval");
    if len != 0 || ask == 0 {
        return &buffer[..len];
    }
    // SAFETY: the C library's function, which gives a text that stays, or 0.
    let name = unsafe {
        match core::mem::transmute::<usize, GetAuxiliary>(ask)(AT_EXECFN) {
            0 => return &[],
            name => CStr::from_ptr(name as *const c_char).to_bytes(),
        }
    };
    let mut len = 0;
    if !name.starts_with(b"/") {
        len = sys::working_folder(buffer);
        buffer[len] = b'/';
        len += 1;
    }
    let Some(room) = buffer.get_mut(len..len + name.len()) else { return &[] };
    room.copy_from_slice(name);
    &buffer[..len + name.len()]
}

/// The build id among a segment of notes.
fn build_id_in(mut notes: &[u8]) -> &[u8] {
    const BUILD_ID: u32 = 3;
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).map_or(0, |four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
    };
    while notes.len() >= 12 {
        let name_len = (word(notes, 0) as usize).next_multiple_of(4);
        let len = word(notes, 4) as usize;
        let content = 12 + name_len;
        let Some(next) = content.checked_add(len.next_multiple_of(4)) else { return &[] };
        if word(notes, 8) == BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return notes.get(content..content + len).unwrap_or(&[]);
        }
        let Some(rest) = notes.get(next..) else { return &[] };
        notes = rest;
    }
    &[]
}

impl Records {
    fn put(&mut self, known: &Known, flags: u32, build_id: &[u8], path: &[u8]) {
        let size = (module::SIZE + build_id.len() + path.len()).next_multiple_of(8);
        if self.len + size > SCRATCH {
            return;
        }
        // SAFETY: the record fits the scratch pages, which are ours alone.
        unsafe {
            let record = self.scratch.add(self.len);
            record.add(module::BIAS).cast::<u64>().write(known.bias);
            record.add(module::START).cast::<u64>().write(known.start);
            record.add(module::END).cast::<u64>().write(known.end);
            record.add(module::STAMP).cast::<u64>().write(self.stamp);
            record.add(module::FLAGS).cast::<u32>().write(flags);
            record.add(module::BUILD_ID_LEN).cast::<u32>().write(build_id.len() as u32);
            record.add(module::PATH_LEN).cast::<u32>().write(path.len() as u32);
            let tail = record.add(module::SIZE);
            core::ptr::copy_nonoverlapping(build_id.as_ptr(), tail, build_id.len());
            core::ptr::copy_nonoverlapping(path.as_ptr(), tail.add(build_id.len()), path.len());
        }
        self.len += size;
    }

    /// Copies the records into a block; its length is stored last.
    fn write(&self) {
        let size = (layout::HEADER + self.len).next_multiple_of(header::PAGE as usize);
        let label = Label { kind: layout::MODULES, stream: 0, thread: 0, sequence: 0, used: 0 };
        let Some(block) = block::take(size, &label) else { return };
        // SAFETY: the block is mapped, large enough and ours until it is unmapped.
        unsafe {
            let content = block.start.add(layout::HEADER);
            core::ptr::copy_nonoverlapping(self.scratch, content, self.len);
            core::sync::atomic::fence(Ordering::Release);
            block.start.add(layout::USED).cast::<u64>().write_volatile(self.len as u64);
            block::close(block.start, block.size);
        }
    }
}
