//! Raw system calls: no `errno`, no cancellation point, no libc.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use super::machine::{number, stat, syscall};

/// An error of a system call: its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errno(pub(crate) i32);

pub(crate) const ENOSYS: i32 = 38;
pub(crate) const EOPNOTSUPP: i32 = 95;
pub(crate) const EEXIST: i32 = 17;
pub(crate) const EBADF: i32 = 9;
pub(crate) const EFBIG: i32 = 27;
pub(crate) const EINTR: i32 = 4;

fn result(value: isize) -> Result<usize, Errno> {
    if value < 0 { Err(Errno(-value as i32)) } else { Ok(value as usize) }
}

const PROT_READ_WRITE: usize = 3;
const MAP_SHARED: usize = 1;
const MAP_PRIVATE: usize = 2;
const MAP_ANONYMOUS: usize = 0x20;
const MAP_NORESERVE: usize = 0x4000;
const MAP_POPULATE: usize = 0x8000;

/// Fresh zero pages of the runtime's own.
pub(crate) fn map_anonymous(size: usize) -> Result<*mut u8, Errno> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: a new mapping where the kernel finds room disturbs nothing.
    result(unsafe { syscall(number::MMAP, [apart(size), size, PROT_READ_WRITE, flags, usize::MAX, 0]) })
        .map(|address| address as *mut u8)
}

/// Where the next mapping of the runtime's own is asked for, if there is room: one behind the other, far from where the kernel puts a program's. Between these they would leave holes as large as what the program
/// gives back: where the kernel aligns large mappings the next one as large has no room there, and each would be at a new address.
static APART: AtomicUsize = AtomicUsize::new(0x6800_0000_0000);

/// The address at which a mapping of so many bytes is asked for. Between two is a page: together the kernel would give them huge pages, of which little is used.
fn apart(size: usize) -> usize {
    const PAGE: usize = 4096;
    APART.fetch_add(size.next_multiple_of(PAGE) + PAGE, Ordering::Relaxed)
}

/// Part of a file, shared with it.
pub(crate) fn map_file(file: i32, offset: u64, size: usize, populate: bool) -> Result<*mut u8, Errno> {
    let flags = MAP_SHARED | if populate { MAP_POPULATE } else { 0 };
    let arguments = [apart(size), size, PROT_READ_WRITE, flags, file as usize, offset as usize];
    // SAFETY: a new mapping where the kernel finds room disturbs nothing.
    result(unsafe { syscall(number::MMAP, arguments) }).map(|address| address as *mut u8)
}

/// Gives back a mapping of the runtime's own.
///
/// # Safety
/// Nothing uses the range any more.
pub(crate) unsafe fn unmap(address: *mut u8, size: usize) {
    // SAFETY: the caller's promise. It cannot fail for a mapping of ours.
    unsafe { syscall(number::MUNMAP, [address as usize, size, 0, 0, 0, 0]) };
}

/// Makes private pages of the runtime's own zero again without touching them.
///
/// # Safety
/// Nothing relies on the range's content.
pub(crate) unsafe fn forget_pages(address: *mut u8, size: usize) {
    const MADV_DONTNEED: usize = 4;
    // SAFETY: the caller's promise.
    unsafe { syscall(number::MADVISE, [address as usize, size, MADV_DONTNEED, 0, 0, 0]) };
}

/// Makes the pages of a private mapping that are not there yet, so that they can be written. Where the system cannot do that (before
/// Linux 5.14), or has no memory, they come as they are touched.
pub(crate) fn populate(address: *mut u8, size: usize) {
    const MADV_POPULATE_WRITE: usize = 23;
    // SAFETY: it changes no content.
    unsafe { syscall(number::MADVISE, [address as usize, size, MADV_POPULATE_WRITE, 0, 0, 0]) };
}

/// Keeps pages small: memory that is touched here and there would take two megabytes each time.
pub(crate) fn no_huge_pages(address: *mut u8, size: usize) {
    const MADV_NOHUGEPAGE: usize = 15;
    // SAFETY: it changes nothing but how the range is mapped.
    unsafe { syscall(number::MADVISE, [address as usize, size, MADV_NOHUGEPAGE, 0, 0, 0]) };
}

/// Which pages of a mapping of the runtime's own are in memory, the lowest bit of a byte each. All, if the kernel does not tell.
pub(crate) fn resident(address: *mut u8, pages: &mut [u8]) {
    const PAGE: usize = 4096;
    let arguments = [address as usize, pages.len() * PAGE, pages.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: the kernel writes one byte for each page.
    if result(unsafe { syscall(number::MINCORE, arguments) }).is_err() {
        pages.fill(1);
    }
}

/// Whether something is mapped at an address; yes, if the kernel does not tell.
pub(crate) fn is_mapped(address: usize) -> bool {
    const PAGE: usize = 4096;
    const NOT_MAPPED: Errno = Errno(12);
    let mut page = 0u8;
    let arguments = [address & !(PAGE - 1), PAGE, &raw mut page as usize, 0, 0, 0];
    // SAFETY: the kernel writes one byte for the page.
    !matches!(result(unsafe { syscall(number::MINCORE, arguments) }), Err(NOT_MAPPED))
}

/// Whether eight bytes at an address that is a multiple of eight can be read, as the kernel finds: it looks at them before it sees that it is asked for nothing.
pub(crate) fn can_read(address: usize) -> bool {
    const NOTHING: usize = usize::MAX;
    const EFAULT: Errno = Errno(14);
    let arguments = [NOTHING, address, 0, size_of::<u64>(), 0, 0];
    // SAFETY: the kernel reads the bytes, if it can, and changes nothing.
    !matches!(result(unsafe { syscall(number::RT_SIGPROCMASK, arguments) }), Err(EFAULT))
}

/// Lets every thread of the process pass a full memory barrier, now; `false` if the kernel cannot.
pub(crate) fn barrier_for_all() -> bool {
    const EXPEDITED: usize = 1 << 3;
    const REGISTER: usize = 1 << 4;
    const EPERM: i32 = 1;
    // SAFETY: plain numbers.
    let call = |command| result(unsafe { syscall(number::MEMBARRIER, [command, 0, 0, 0, 0, 0]) });
    match call(EXPEDITED) {
        Err(Errno(EPERM)) => call(REGISTER).and_then(|_| call(EXPEDITED)).is_ok(),
        other => other.is_ok(),
    }
}

/// The largest size that a file may have (`ulimit -f`); beyond it the kernel would send a signal.
fn file_size_limit() -> u64 {
    const RLIMIT_FSIZE: usize = 1;
    let mut limit = [u64::MAX; 2];
    // SAFETY: the buffer holds a `rlimit`.
    unsafe { syscall(number::GETRLIMIT, [RLIMIT_FSIZE, limit.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    limit[0]
}

/// Reserves space of a file, so that touching its mapping later cannot fail.
pub(crate) fn allocate_file(file: i32, offset: u64, size: usize) -> Result<(), Errno> {
    if offset + size as u64 > file_size_limit() {
        return Err(Errno(EFBIG));
    }
    // SAFETY: plain numbers.
    let reserved =
        result(unsafe { syscall(number::FALLOCATE, [file as usize, 0, offset as usize, size, 0, 0]) });
    match reserved {
        Err(Errno(EOPNOTSUPP | ENOSYS)) => write_zeros(file, offset, size),
        Err(Errno(EINTR)) => allocate_file(file, offset, size),
        other => other.map(|_| ()),
    }
}

/// Reserves space by writing it, for file systems that know no other way.
fn write_zeros(file: i32, offset: u64, size: usize) -> Result<(), Errno> {
    static ZEROS: [u8; 4096] = [0; 4096];
    let mut done = 0;
    while done < size {
        let len = ZEROS.len().min(size - done);
        let arguments = [file as usize, ZEROS.as_ptr() as usize, len, offset as usize + done, 0, 0];
        // SAFETY: the buffer is `len` bytes long.
        match result(unsafe { syscall(number::PWRITE64, arguments) }) {
            Ok(0) => return Err(Errno(28)),
            Ok(written) => done += written,
            Err(Errno(EINTR)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Creates a file for reading and writing; fails if it exists. The descriptor is moved above the
/// low numbers, which programs expect to be handed out in order.
///
/// # Safety
/// `path` ends with a NUL.
pub(crate) unsafe fn create_file(path: *const u8) -> Result<i32, Errno> {
    const CREATE_NEW: usize = 0o2 | 0o100 | 0o200 | 0o2000000;
    // SAFETY: the caller's promise for the path.
    unsafe { open_high(path, CREATE_NEW) }
}

/// # Safety
/// As [`create_file`].
unsafe fn open_high(path: *const u8, flags: usize) -> Result<i32, Errno> {
    const AT_FDCWD: usize = -100isize as usize;
    const F_DUPFD_CLOEXEC: usize = 1030;
    const FIRST_DESCRIPTOR: usize = 200;
    // SAFETY: the caller's promise for the path.
    let low = result(unsafe { syscall(number::OPENAT, [AT_FDCWD, path as usize, flags, 0o644, 0, 0]) })?;
    // SAFETY: plain numbers.
    let high = result(unsafe { syscall(number::FCNTL, [low, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR, 0, 0, 0]) });
    match high {
        Ok(high) => {
            close(low as i32);
            Ok(high as i32)
        }
        Err(_) => Ok(low as i32),
    }
}

/// Makes a file the standard input as well.
pub(crate) fn make_input(file: i32) {
    // SAFETY: plain numbers.
    unsafe { syscall(number::DUP3, [file as usize, 0, 0, 0, 0, 0]) };
}

/// Opens a file again that [`create_file`] has created.
///
/// # Safety
/// `path` ends with a NUL.
pub(crate) unsafe fn open_again(path: *const u8) -> Result<i32, Errno> {
    const READ_WRITE: usize = 0o2 | 0o2000000;
    // SAFETY: the caller's promise for the path.
    unsafe { open_high(path, READ_WRITE) }
}

/// Creates a file that has no name, and that programs which are started from here inherit.
pub(crate) fn create_nameless() -> Result<i32, Errno> {
    // SAFETY: the name ends with a NUL.
    result(unsafe { syscall(number::MEMFD_CREATE, [c"deadheat".as_ptr() as usize, 0, 0, 0, 0, 0]) })
        .map(|file| file as i32)
}

/// Writes all of it at the file's position.
pub(crate) fn write_all(file: i32, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let arguments = [file as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
        // SAFETY: the buffer is as long as said.
        match result(unsafe { syscall(number::WRITE, arguments) }) {
            Ok(written) => bytes = &bytes[written.min(bytes.len())..],
            Err(Errno(EINTR)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A copy of the process with the calling thread alone, which waits until the copy has ended or become another program; 0 in the copy. Its end is told to nobody: no signal, and only
/// [`wait_for`] finds it. Nothing that the program or the C library registered for forks runs.
///
/// # Safety
/// The copy makes system calls of its own and ends, or becomes another program.
pub(crate) unsafe fn copy_process() -> Result<u32, Errno> {
    // A debugger takes a copy that sends no signal for a thread of the program, and what it becomes for what the program became, unless it is waited for.
    const CLONE_VFORK: usize = 0x4000;
    // SAFETY: no memory is shared; the caller's promise for the rest.
    result(unsafe { syscall(number::CLONE, [CLONE_VFORK, 0, 0, 0, 0, 0]) }).map(|process| process as u32)
}

/// Waits until a copy ends: its exit code, or `None` if a signal killed it.
pub(crate) fn wait_for(process: u32) -> Option<i32> {
    const ALL_KINDS: usize = 0x4000_0000;
    let mut status = 0i32;
    loop {
        let arguments = [process as usize, &raw mut status as usize, ALL_KINDS, 0, 0, 0];
        // SAFETY: the buffer holds a number.
        match result(unsafe { syscall(number::WAIT4, arguments) }) {
            Err(Errno(EINTR)) => {}
            Err(_) => return None,
            Ok(_) => return (status & 0x7f == 0).then_some(status >> 8 & 0xff),
        }
    }
}

/// Becomes another program; returns only if that fails.
///
/// # Safety
/// The path ends with a NUL, both lists with a null, and so do their texts with a NUL.
pub(crate) unsafe fn become_program(
    path: *const u8,
    arguments: *const *const u8,
    environment: *const *const u8,
) {
    let arguments = [path as usize, arguments as usize, environment as usize, 0, 0, 0];
    // SAFETY: the caller's promise.
    unsafe { syscall(number::EXECVE, arguments) };
}

/// Closes a descriptor of the runtime's own.
pub(crate) fn close(file: i32) {
    // SAFETY: plain numbers.
    unsafe { syscall(number::CLOSE, [file as usize, 0, 0, 0, 0, 0]) };
}

/// Writes a message to standard error.
pub(crate) fn say(message: &[u8]) {
    // SAFETY: the buffer is as long as said.
    unsafe { syscall(number::WRITE, [2, message.as_ptr() as usize, message.len(), 0, 0, 0]) };
}

/// The process id.
pub(crate) fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(number::GETPID, [0; 6]) as u32 }
}

/// The kernel's number of the calling thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(number::GETTID, [0; 6]) as u32 }
}

/// Lets another thread run; where the program is [confined](is_confined), waits a moment.
pub(crate) fn yield_now() {
    const MOMENT: u32 = 64;
    if is_confined() {
        (0..MOMENT).for_each(|_| core::hint::spin_loop());
        return;
    }
    // SAFETY: no arguments.
    unsafe { syscall(number::SCHED_YIELD, [0; 6]) };
}

/// Whether the program has put a filter on its system calls, or is about to.
static CONFINED: AtomicBool = AtomicBool::new(false);

/// The program puts a filter on its system calls: from now on the runtime makes none but those that it cannot do without, and that programs with threads make themselves.
pub(crate) fn confine() {
    CONFINED.store(true, Ordering::Relaxed);
}

/// Whether that is so.
pub(crate) fn is_confined() -> bool {
    CONFINED.load(Ordering::Relaxed)
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> u64 {
    let mut time = [0u64; 2];
    // SAFETY: the buffer holds a `timespec`.
    unsafe { syscall(number::CLOCK_GETTIME, [0, time.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}

/// Ends the process at once.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: plain numbers; it does not return.
        unsafe { syscall(number::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Reads a symbolic link; gives the number of bytes, 0 if it cannot be read.
pub(crate) fn read_link(path: &core::ffi::CStr, buffer: &mut [u8]) -> usize {
    const AT_FDCWD: usize = -100isize as usize;
    let arguments = [AT_FDCWD, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0];
    // SAFETY: the path ends with a NUL; the buffer is as long as said.
    result(unsafe { syscall(number::READLINKAT, arguments) }).unwrap_or(0)
}

/// Writes the path of the working folder; gives the number of its bytes, 0 if it cannot be told, and one less than there is room for at the most.
pub(crate) fn working_folder(buffer: &mut [u8]) -> usize {
    let arguments = [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0];
    // SAFETY: the buffer is as long as said. The kernel counts the NUL.
    result(unsafe { syscall(number::GETCWD, arguments) }).map_or(0, |len| len.saturating_sub(1))
}

/// What the kernel says of a descriptor.
pub(crate) struct Status {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) mode: u32,
}

/// What kind of file a descriptor is, and which.
pub(crate) fn status(file: i32) -> Result<Status, Errno> {
    let mut buffer = [0u64; stat::SIZE / 8];
    // SAFETY: the buffer holds a `struct stat`.
    result(unsafe { syscall(number::FSTAT, [file as usize, buffer.as_mut_ptr() as usize, 0, 0, 0, 0]) })?;
    Ok(Status {
        device: buffer[stat::DEVICE / 8],
        inode: buffer[stat::INODE / 8],
        mode: buffer[stat::MODE / 8] as u32,
    })
}

/// How many bytes a segment of shared memory has; 0 if that cannot be asked.
pub(crate) fn segment_size(segment: i32) -> usize {
    const IPC_STAT: usize = 2;
    /// Where a `struct shmid_ds` tells it.
    const SIZE_AT: usize = 48;
    let mut buffer = [0usize; 16];
    // SAFETY: the buffer holds a `struct shmid_ds`.
    let asked = unsafe {
        syscall(number::SHMCTL, [segment as usize, IPC_STAT, buffer.as_mut_ptr() as usize, 0, 0, 0])
    };
    if result(asked).is_ok() { buffer[SIZE_AT / size_of::<usize>()] } else { 0 }
}

/// What is known of whom a socket talks to.
pub(crate) enum Peer {
    /// It is a connected internet stream socket: its own and the peer's port.
    Ports(u16, u16),
    /// It is an internet stream socket that is not connected, or cannot be asked.
    NotYet,
    /// It is another socket.
    Untold,
}

/// Whom a socket talks to.
pub(crate) fn peer(socket: i32) -> Peer {
    const SOL_SOCKET: usize = 1;
    const SO_TYPE: usize = 3;
    const SOCK_STREAM: u32 = 1;
    let (mut kind, mut len) = (0u32, size_of::<u32>() as u32);
    let arguments = [socket as usize, SOL_SOCKET, SO_TYPE, &raw mut kind as usize, &raw mut len as usize, 0];
    // SAFETY: the buffer is as long as said.
    let asked = result(unsafe { syscall(number::GETSOCKOPT, arguments) });
    let own = port(number::GETSOCKNAME, socket);
    match (asked, own, kind) {
        (Err(_), ..) | (_, Err(_), _) => Peer::NotYet,
        (_, Ok(Some(own)), SOCK_STREAM) => match port(number::GETPEERNAME, socket) {
            Ok(Some(peer)) => Peer::Ports(own, peer),
            _ => Peer::NotYet,
        },
        _ => Peer::Untold,
    }
}

/// The port in the address that a system call gives for a socket, if that has one.
fn port(call: usize, socket: i32) -> Result<Option<u16>, Errno> {
    const INTERNET: [u16; 2] = [2, 10];
    let mut address = [0u16; 64];
    let mut len = size_of_val(&address) as u32;
    let arguments = [socket as usize, address.as_mut_ptr() as usize, &raw mut len as usize, 0, 0, 0];
    // SAFETY: the buffer is as long as said.
    result(unsafe { syscall(call, arguments) })?;
    Ok(INTERNET.contains(&address[0]).then_some(address[1]))
}

/// Nanoseconds of a clock that only goes forward.
pub(crate) fn monotonic() -> u64 {
    const CLOCK_MONOTONIC: usize = 1;
    let mut time = [0u64; 2];
    let arguments = [CLOCK_MONOTONIC, time.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the buffer holds a `timespec`.
    unsafe { syscall(number::CLOCK_GETTIME, arguments) };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}

/// Waits while the word is `expected`, for at most so many nanoseconds; may return early.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, at_most: u64) {
    const WAIT_PRIVATE: usize = 128;
    let time = [at_most / 1_000_000_000, at_most % 1_000_000_000];
    let arguments = [word.as_ptr() as usize, WAIT_PRIVATE, expected as usize, time.as_ptr() as usize, 0, 0];
    // SAFETY: the word is aligned and lives, the buffer holds a `timespec`.
    unsafe { syscall(number::FUTEX, arguments) };
}

/// Wakes all who wait on the word.
pub(crate) fn futex_wake(word: &AtomicU32) {
    wake(word, i32::MAX);
}

/// Wakes one who waits on the word.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    wake(word, 1);
}

fn wake(word: &AtomicU32, most: i32) {
    const WAKE_PRIVATE: usize = 129;
    // SAFETY: the word is aligned and lives.
    unsafe { syscall(number::FUTEX, [word.as_ptr() as usize, WAKE_PRIVATE, most as usize, 0, 0, 0]) };
}

/// Sends the calling thread the signal at which a debugger stops.
pub(crate) fn trap() {
    const SIGTRAP: u32 = 5;
    send_self(SIGTRAP);
}

/// Sends the calling thread a signal.
pub(crate) fn send_self(signal: u32) {
    let (process, thread) = (process_id() as usize, thread_id() as usize);
    // SAFETY: plain numbers.
    unsafe { syscall(number::TGKILL, [process, thread, signal as usize, 0, 0, 0]) };
}

/// How many bytes of the process are in memory; `None` if the kernel does not tell.
pub(crate) fn resident_size() -> Option<usize> {
    const PAGE: usize = 4096;
    let mut text = [0u8; 128];
    let len = read_small(c"/proc/self/statm", &mut text)?;
    let mut words = text[..len].split(|&byte| byte == b' ');
    let pages: usize = core::str::from_utf8(words.nth(1)?).ok()?.parse().ok()?;
    Some(pages * PAGE)
}

/// Reads the beginning of a file; gives how much that is.
pub(crate) fn read_small(path: &core::ffi::CStr, text: &mut [u8]) -> Option<usize> {
    const AT_FDCWD: usize = -100isize as usize;
    const READ_ONLY: usize = 0o2000000;
    let arguments = [AT_FDCWD, path.as_ptr() as usize, READ_ONLY, 0, 0, 0];
    // SAFETY: the path ends with a NUL.
    let file = result(unsafe { syscall(number::OPENAT, arguments) }).ok()?;
    // SAFETY: the buffer is as long as said.
    let len =
        result(unsafe { syscall(number::READ, [file, text.as_mut_ptr() as usize, text.len(), 0, 0, 0]) });
    close(file as i32);
    len.ok()
}

/// Opens a file that is there for reading and writing; gives its descriptor and its size.
pub(crate) fn open_existing(path: &core::ffi::CStr) -> Result<(i32, usize), Errno> {
    const AT_FDCWD: usize = -100isize as usize;
    const READ_WRITE: usize = 0o2 | 0o2000000;
    const FROM_END: usize = 2;
    let arguments = [AT_FDCWD, path.as_ptr() as usize, READ_WRITE, 0, 0, 0];
    // SAFETY: the path ends with a NUL.
    let file = result(unsafe { syscall(number::OPENAT, arguments) })?;
    // SAFETY: plain numbers.
    let size = result(unsafe { syscall(number::LSEEK, [file, 0, FROM_END, 0, 0, 0]) })?;
    Ok((file as i32, size))
}

/// Whether the thread of this process with that number sleeps in the kernel. One that was woken
/// does not, though it may not have run since. Where the kernel does not tell: `true`.
pub(crate) fn sleeps(thread: u32) -> bool {
    let mut path = *b"/proc/self/task/0000000000/stat\0";
    const DIGITS: core::ops::Range<usize> = 16..26;
    let mut rest = thread;
    for digit in path[DIGITS].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The kernel takes no leading zeros: the number is moved to the front of its room.
    let zeros = path[DIGITS].iter().take_while(|&&digit| digit == b'0').count().min(DIGITS.len() - 1);
    path.copy_within(DIGITS.start + zeros.., DIGITS.start);
    let mut text = [0u8; 128];
    let Ok(path) = core::ffi::CStr::from_bytes_until_nul(&path) else { return true };
    let Some(len) = read_small(path, &mut text) else { return true };
    let text = &text[..len];
    // `number (name) state …`; the name may hold anything.
    let state = text.iter().rposition(|&byte| byte == b')').and_then(|at| text.get(at + 2));
    matches!(state, None | Some(b'S'))
}
