//! What only x86-64 knows: system calls, the thread-local words, return addresses, 16-byte
//! atomics, where `longjmp` will land.

use core::arch::asm;

/// Number of this machine in ELF files.
pub(crate) const ELF_MACHINE: u64 = 62;

// The runtime is linked into executables only, so its thread-local words are at a fixed
// distance from the thread pointer ("local exec").
#[cfg(deadheat_object)]
core::arch::global_asm!(
    ".section .tbss.deadheat,\"awT\",@nobits",
    ".p2align 3",
    ".local deadheat_thread",
    ".type deadheat_thread, @object",
    ".size deadheat_thread, 48",
    "deadheat_thread:",
    ".zero 48",
    ".text",
);

/// The calling thread's first word: its `Thread`, or one of the small numbers of `hot::thread`.
#[cfg(deadheat_object)]
#[inline(always)]
pub(crate) fn thread_word() -> usize {
    let word;
    // SAFETY: reads the word defined above; the linker keeps the distance fixed.
    unsafe {
        asm!("mov {}, qword ptr fs:[deadheat_thread@tpoff]", out(reg) word,
            options(nostack, preserves_flags, readonly));
    }
    word
}

/// Sets the calling thread's first word, and takes back its [sixth](set_frames_word).
#[cfg(deadheat_object)]
#[inline(always)]
pub(crate) fn set_thread_word(word: usize) {
    set_frames_word(0);
    // SAFETY: writes the word defined above.
    unsafe {
        asm!("mov qword ptr fs:[deadheat_thread@tpoff], {}", in(reg) word,
            options(nostack, preserves_flags));
    }
}

/// Sets the calling thread's sixth word: its `Thread`, whose frames the hooks of entry and exit ([`shim_entry!`]) then change by themselves, or 0.
#[cfg(deadheat_object)]
#[inline(always)]
pub(crate) fn set_frames_word(word: usize) {
    // SAFETY: writes the sixth word defined above.
    unsafe {
        asm!("mov qword ptr fs:[deadheat_thread@tpoff + 40], {}", in(reg) word,
            options(nostack, preserves_flags));
    }
}

/// Sets the calling thread's third word: what the online detector's cells hold where a plain read of all bytes is nothing
/// new (`online::Eye::mine`); 0 for a thread that is not watched. The fourth is the same for a write. No cell has the fifth word any more.
#[cfg(deadheat_object)]
#[inline(always)]
pub(crate) fn set_moment_word(word: u64) {
    set_name_word(crate::online::NO_NAME);
    let write = word | 1 << crate::online::WRITE_BIT;
    // SAFETY: writes the third and the fourth word defined above.
    unsafe {
        asm!("mov qword ptr fs:[deadheat_thread@tpoff + 16], {}", "mov qword ptr fs:[deadheat_thread@tpoff + 24], {}",
            in(reg) word, in(reg) write, options(nostack, preserves_flags));
    }
}

/// Sets the calling thread's fifth word: what the first word of a cell may be instead where a plain read is nothing new in this
/// moment (`online::common`).
#[cfg(deadheat_object)]
#[inline(always)]
pub(crate) fn set_name_word(word: u64) {
    // SAFETY: writes the fifth word defined above.
    unsafe {
        asm!("mov qword ptr fs:[deadheat_thread@tpoff + 32], {}", in(reg) word,
            options(nostack, preserves_flags));
    }
}

/// The calling thread's fifth word.
#[cfg(deadheat_object)]
#[inline(always)]
pub(crate) fn name_word() -> u64 {
    let word;
    // SAFETY: reads the fifth word defined above.
    unsafe {
        asm!("mov {}, qword ptr fs:[deadheat_thread@tpoff + 32]", out(reg) word,
            options(nostack, preserves_flags, readonly));
    }
    word
}

/// Takes the return address that [`shim_through_thread!`] left for the function it jumped to.
#[cfg(deadheat_object)]
#[inline(always)]
pub(crate) fn caller_word() -> usize {
    let word;
    // SAFETY: reads the second word defined above.
    unsafe {
        asm!("mov {}, qword ptr fs:[deadheat_thread@tpoff + 8]", out(reg) word,
            options(nostack, preserves_flags, readonly));
    }
    word
}

#[cfg(not(deadheat_object))]
pub(crate) fn thread_word() -> usize {
    1
}

#[cfg(not(deadheat_object))]
pub(crate) fn set_thread_word(_: usize) {}

#[cfg(not(deadheat_object))]
pub(crate) fn set_frames_word(_: usize) {}

#[cfg(not(deadheat_object))]
pub(crate) fn set_moment_word(_: u64) {}

#[cfg(not(deadheat_object))]
pub(crate) fn set_name_word(_: u64) {}

#[cfg(not(deadheat_object))]
pub(crate) fn name_word() -> u64 {
    crate::online::NO_NAME
}

#[cfg(not(deadheat_object))]
pub(crate) fn caller_word() -> usize {
    0
}

/// Exports `$name`: puts its return address into the register of the argument behind its last
/// one and jumps to `$target`. Stable Rust cannot name the return address otherwise.
macro_rules! shim {
    ($(#[$doc:meta])* $name:ident, $register:literal, $target:path) => {
        #[cfg(deadheat_object)]
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {target}",
                target = sym $target,
            )
        }
    };
}

/// The steps of [`shim_access!`] while races are looked for: returns if the cell of the address in `rdi` shows that the access
/// is nothing new to its moment, else goes on behind `5:` with the access's word in `rdx` and the cell in `rcx`, one byte further
/// if it is new to the second of two cells alone, or, where it does not lie within one cell (two whole ones, if it has 16
/// bytes), behind `7:`. A cell's word shows that if it is the moment's word, for a read whether it writes or not, as far as the
/// access has bytes; what stands above that bit does not matter. A cell's first word shows a read also if it is the thread's fifth.
macro_rules! nothing_new {
    // The address's lowest bits are to be zero: they are rotated above all others, where they make the region one that is not there.
    (@whole_region) => {
        concat!("mov rcx, rdi\nror rcx, 3\nshr rcx, {region_log2} - 3\n", nothing_new!(@cells))
    };
    // At the region's place in the table are its cells.
    (@cells) => {
        concat!(
            "cmp rcx, {regions}\n",
            "jae 7f\n",
            "lea r8, [rip + {cells}]\n",
            "mov r8, qword ptr [r8 + 8 * rcx]\n",
            "test r8, r8\n",
            "jz 7f\n",
        )
    };
    (@moment read, $register:literal) => {
        concat!("mov ", $register, ", qword ptr fs:[deadheat_thread@tpoff + 16]\n")
    };
    (@moment write, $register:literal) => {
        concat!("mov ", $register, ", qword ptr fs:[deadheat_thread@tpoff + 24]\n")
    };
    (@whole read, $at:literal, $yes:literal, $no:literal) => {
        concat!(
            nothing_new!(@moment read, "rcx"),
            "xor rcx, qword ptr [r8 + 2 * rdi + ", $at, "]\nshl rcx, 64 - {write_bit}\njz ", $yes, "\n",
            nothing_new!(@moment read, "rcx"),
            "xor rcx, qword ptr [r8 + 2 * rdi + 8 + ", $at, "]\nshl rcx, 64 - {write_bit}\njz ", $yes, "\n",
            "mov rcx, qword ptr [r8 + 2 * rdi + ", $at, "]\n",
            "cmp rcx, qword ptr fs:[deadheat_thread@tpoff + 32]\njne ", $no, "\n",
        )
    };
    (@whole write, $at:literal, $yes:literal, $no:literal) => {
        concat!(
            nothing_new!(@moment write, "rcx"),
            "cmp rcx, qword ptr [r8 + 2 * rdi + ", $at, "]\nje ", $yes, "\n",
            "cmp rcx, qword ptr [r8 + 2 * rdi + 8 + ", $at, "]\njne ", $no, "\n",
        )
    };
    // Of a write no bit below the earlier ones may differ, of a read none below that of a write.
    (@part read) => {
        nothing_new!(
            @part read, "64 - {write_bit}",
            "jz 4f\nmov rcx, qword ptr [r8]\ncmp rcx, qword ptr fs:[deadheat_thread@tpoff + 32]\n"
        )
    };
    (@part write) => { nothing_new!(@part write, "63 - {write_bit}", "") };
    (@part $mode:ident, $shift:literal, $rest:literal) => {
        concat!(
            nothing_new!(@moment $mode, "rax"),
            "lea r8, [r8 + 2 * rdi]\nand r8, -16\n",
            "mov rcx, qword ptr [r8]\nxor rcx, rax\nand rcx, rdx\nshl rcx, ", $shift, "\njz 4f\n",
            "mov rcx, qword ptr [r8 + 8]\nxor rcx, rax\nand rcx, rdx\nshl rcx, ", $shift, "\n", $rest,
            "jnz 5f\n4:\nret\n5:\nand rdx, rax\nmov rcx, r8\n",
        )
    };
    ($mode:ident, 16) => {
        concat!(
            // Behind the last cell of a region there is one that is never written.
            nothing_new!(@whole_region),
            nothing_new!(@whole $mode, "0", "6f", "5f"), "6:\n",
            nothing_new!(@whole $mode, "16", "4f", "8f"), "4:\nret\n",
            "8:\ninc r8\n5:\n", nothing_new!(@moment $mode, "rdx"), "lea rcx, [r8 + 2 * rdi]\n",
        )
    };
    ($mode:ident, 8) => {
        concat!(
            nothing_new!(@whole_region),
            nothing_new!(@whole $mode, "0", "4f", "5f"), "4:\nret\n",
            "5:\n", nothing_new!(@moment $mode, "rdx"), "lea rcx, [r8 + 2 * rdi]\n",
        )
    };
    ($mode:ident, 4) => { nothing_new!($mode, 4, "2") };
    ($mode:ident, 2) => { nothing_new!($mode, 2, "1") };
    ($mode:ident, 1) => { nothing_new!($mode, 1, "0") };
    // Where it must be, so that it lies within a cell.
    ($mode:ident, $size:literal, $log2:literal) => {
        concat!(
            "mov rcx, rdi\nror rcx, ", $log2, "\nshr rcx, {region_log2} - ", $log2, "\n", nothing_new!(@cells),
            "mov ecx, edi\nmov rdx, (1 << ", $size, ") - 0x101\nrol dl, cl\n",
            nothing_new!(@part $mode),
        )
    };
    // Anywhere.
    ($mode:ident, [$size:literal]) => {
        concat!(
            "mov ecx, edi\nand ecx, 7\nmov edx, (1 << ", $size, ") - 1\nshl edx, cl\ncmp edx, 0x100\njae 7f\n",
            "mov rcx, rdi\nshr rcx, {region_log2}\n", nothing_new!(@cells), "or rdx, -256\n",
            nothing_new!(@part $mode),
        )
    };
}

/// As [`shim!`], for hooks of plain accesses, whose only argument is an address. While races are looked for they return at
/// once where an access is nothing new, and else go to `$online` with its word and cell or to `$odd`; otherwise they
/// return at once if the gate's filter says that the access at this return address does not matter.
macro_rules! shim_access {
    ($name:ident, $target:path, $online:path, $odd:path, $mode:ident, $size:tt) => {
        #[cfg(deadheat_object)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "/* compared below bit {write_bit} */",
                "cmp byte ptr [rip + {on}], {looking}",
                "jne 3f",
                nothing_new!($mode, $size),
                "mov rsi, qword ptr [rsp]",
                "jmp {online}",
                "7:",
                "mov rsi, qword ptr [rsp]",
                "jmp {odd}",
                "3:",
                "ja 4f",
                "mov eax, dword ptr [rip + {mask}]",
                "and eax, dword ptr [rsp]",
                "lea rcx, [rip + {table}]",
                "cmp byte ptr [rcx + rax], 0",
                "jne 2f",
                "4:",
                "ret",
                "2:",
                "mov rsi, qword ptr [rsp]",
                "jmp {target}",
                on = sym $crate::online::ON,
                looking = const $crate::online::LOOKING,
                mask = sym $crate::gate::MASK,
                table = sym $crate::gate::TABLE,
                target = sym $target,
                online = sym $online,
                odd = sym $odd,
                cells = sym $crate::online::CELLS,
                region_log2 = const $crate::online::REGION_LOG2,
                regions = const $crate::online::REGIONS,
                write_bit = const $crate::online::WRITE_BIT,
            )
        }
    };
}

/// As [`shim!`], for functions that leave no argument register free: the return address waits in
/// the thread's second word for [`caller_word`].
macro_rules! shim_through_thread {
    ($(#[$doc:meta])* $name:ident, $target:path) => {
        #[cfg(deadheat_object)]
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov rax, qword ptr [rsp]",
                "mov qword ptr fs:[deadheat_thread@tpoff + 8], rax",
                "jmp {target}",
                target = sym $target,
            )
        }
    };
}

/// Exports `$name`, a variadic function of `$fixed` named arguments: calls `$target` with these and, in
/// the register behind theirs, the address of a [`Variadic`].
macro_rules! shim_variadic {
    ($name:ident, $fixed:literal, $register:literal, $target:path) => {
        #[cfg(deadheat_object)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // Who is cancelled in the function is unwound.
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov qword ptr [rsp + 32], rdi",
                "mov qword ptr [rsp + 40], rsi",
                "mov qword ptr [rsp + 48], rdx",
                "mov qword ptr [rsp + 56], rcx",
                "mov qword ptr [rsp + 64], r8",
                "mov qword ptr [rsp + 72], r9",
                "test al, al",
                "jz 2f",
                "movaps xmmword ptr [rsp + 80], xmm0",
                "movaps xmmword ptr [rsp + 96], xmm1",
                "movaps xmmword ptr [rsp + 112], xmm2",
                "movaps xmmword ptr [rsp + 128], xmm3",
                "movaps xmmword ptr [rsp + 144], xmm4",
                "movaps xmmword ptr [rsp + 160], xmm5",
                "movaps xmmword ptr [rsp + 176], xmm6",
                "movaps xmmword ptr [rsp + 192], xmm7",
                "2:",
                "mov dword ptr [rsp], {general}",
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov qword ptr [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov qword ptr [rsp + 16], rax",
                concat!("mov ", $register, ", rsp"),
                "call {target}",
                "add rsp, 216",
                ".cfi_adjust_cfa_offset -216",
                "ret",
                ".cfi_endproc",
                general = const 8 * $fixed,
                target = sym $target,
            )
        }
    };
}

/// The bytes of a `struct stat`.
pub(crate) const STATUS: usize = 144;

/// What a `va_list` points to.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ArgumentList {
    /// Where the next general and the next vector register lie among those that were saved.
    offsets: [u32; 2],
    overflow: usize,
    saved: usize,
}

impl ArgumentList {
    /// The bytes of the general registers that are saved, and behind which offset none of the vector registers' is left.
    const GENERAL: u32 = 48;
    const VECTOR: u32 = 176;

    /// Takes the next argument, which is a number or a pointer.
    ///
    /// # Safety
    /// There is one, of such a type.
    pub(crate) unsafe fn word(&mut self) -> usize {
        let [general, _] = &mut self.offsets;
        if *general < Self::GENERAL {
            let at = self.saved + *general as usize;
            *general += 8;
            // SAFETY: the callee's caller saved its general registers there.
            return unsafe { (at as *const usize).read() };
        }
        let at = self.overflow;
        self.overflow += 8;
        // SAFETY: the caller's promise.
        unsafe { (at as *const usize).read() }
    }

    /// Passes by the next argument, which is a `double`.
    pub(crate) fn pass_double(&mut self) {
        let [_, vector] = &mut self.offsets;
        if *vector < Self::VECTOR {
            *vector += 16;
        } else {
            self.overflow += 8;
        }
    }

    /// Passes by the next argument, which is a `long double`.
    pub(crate) fn pass_long_double(&mut self) {
        self.overflow = self.overflow.next_multiple_of(16) + 16;
    }
}

/// The arguments of a variadic function, as [`shim_variadic!`] lays them on the stack.
#[repr(C)]
pub(crate) struct Variadic {
    pub(crate) list: ArgumentList,
    aligned: usize,
    general: [usize; 6],
    vector: [u128; 8],
    unused: usize,
    /// The return address.
    pub(crate) pc: usize,
}

const _: () = assert!(core::mem::offset_of!(Variadic, pc) == 216);

/// Exports `$name`: calls `$before`, then goes to the function whose address that returned, with
/// the integer arguments as they were. For variadic functions of pointers, which leave the
/// floating-point registers unused.
macro_rules! shim_before {
    ($name:ident, $before:path) => {
        #[cfg(deadheat_object)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "call {before}",
                "mov r11, rax",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                before = sym $before,
            )
        }
    };
}

/// Exports `$name`, a function of up to three integer arguments that looks at its return address:
/// the real function that `$before` gives, then `$after`. It returns by way of an instruction of
/// its caller's, so that its return address is in its caller's code.
macro_rules! shim_around {
    ($name:ident, $before:path, $after:path) => {
        #[cfg(deadheat_object)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "mov rdi, qword ptr [rsp + 24]",
                "call {before}",
                "mov r11, rax",
                "mov r10, rdx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "test r10, r10",
                "jz 2f",
                "lea rax, [rip + 3f]",
                "push rax",
                "push r10",
                "jmp r11",
                "2:",
                "sub rsp, 8",
                "call r11",
                "add rsp, 8",
                "3:",
                "push rax",
                "call {after}",
                "pop rax",
                "ret",
                before = sym $before,
                after = sym $after,
            )
        }
    };
}

/// What [`shim_around!`] must know.
#[repr(C)]
pub(crate) struct Around {
    /// The real function.
    pub(crate) real: unsafe extern "C" fn(),
    /// An instruction in the caller's code that returns; 0 if none was found.
    pub(crate) back: usize,
}

/// A byte near `pc` that is, or can be executed as, a return instruction; 0 if there is none.
///
/// # Safety
/// `pc` is in code, whose page can therefore be read.
pub(crate) unsafe fn return_near(pc: usize) -> usize {
    const PAGE: usize = 4096;
    const RETURN: u8 = 0xc3;
    let page = pc & !(PAGE - 1);
    // SAFETY: the bytes are in the page of `pc`.
    (pc..page + PAGE).chain(page..pc).find(|&at| unsafe { *(at as *const u8) } == RETURN).unwrap_or(0)
}

/// The address of a C symbol, 0 if nothing defines it.
macro_rules! weak_address {
    ($symbol:expr) => {{
        let address: usize;
        // SAFETY: loads an entry of the global offset table, which the linker fills.
        #[allow(unused_unsafe, reason = "some callers are within unsafe blocks")]
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                out(reg) address,
                options(nostack, preserves_flags, readonly)
            );
        }
        address
    }};
}

/// A system call; the result is negative for an error (minus its number).
///
/// # Safety
/// As the call itself.
#[inline(always)]
pub(crate) unsafe fn syscall(number: usize, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel keeps all registers but those named; the caller vouches for the call.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4],
            in("r9") a[5], lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Orders what comes before a locked operation of this thread before what comes after: on this machine the operation
/// does that by itself.
#[inline(always)]
pub(crate) fn fence_after_locked() {
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
}

/// Tells the processor that the line of an address, which may be any, will be written soon.
#[inline(always)]
pub(crate) fn prefetch_to_write(address: usize) {
    // SAFETY: it changes nothing but the caches, and reports no fault. Old processors take it for no operation.
    unsafe { asm!("prefetchw byte ptr [{}]", in(reg) address, options(nostack, preserves_flags, readonly)) };
}

/// Tells the processor that this is a loop that waits.
#[inline(always)]
pub(crate) fn pause() {
    core::hint::spin_loop();
}

/// Compares the 16 bytes at `address` with `expected` and stores `new` if they are equal; gives
/// the bytes found. Sequentially consistent.
///
/// # Safety
/// `address` is valid for writes and aligned to 16 bytes.
pub(crate) unsafe fn compare_exchange_16(address: *mut u128, expected: u128, new: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: `rbx` is saved around its use (the compiler lets no operand name it, but may choose
    // it for an operand that names none; so all are named); the caller vouches for the address.
    unsafe {
        asm!("xchg rsi, rbx", "lock cmpxchg16b [rdi]", "mov rbx, rsi",
            inout("rsi") new as u64 => _, in("rdi") address,
            in("rcx") (new >> 64) as u64,
            inlateout("rax") expected as u64 => low,
            inlateout("rdx") (expected >> 64) as u64 => high,
            options(nostack));
    }
    u128::from(high) << 64 | u128::from(low)
}

/// The stack pointer that `longjmp` to this `jmp_buf` will restore, as glibc stores it (rotated
/// and combined with the thread's pointer guard).
///
/// # Safety
/// `buffer` was filled by `setjmp`.
pub(crate) unsafe fn jump_target_stack(buffer: *const u64) -> u64 {
    let guard: u64;
    // SAFETY: the pointer guard is at this place of the thread control block on x86-64 glibc; a
    // filled `jmp_buf` holds the stack pointer in its seventh word.
    unsafe {
        asm!("mov {}, qword ptr fs:[0x30]", out(reg) guard, options(nostack, preserves_flags, readonly));
        buffer.add(6).read().rotate_right(17) ^ guard
    }
}

/// Where the fields of the kernel's `struct stat` are, and how large it is.
pub(crate) mod stat {
    pub(crate) const SIZE: usize = 144;
    pub(crate) const DEVICE: usize = 0;
    pub(crate) const INODE: usize = 8;
    pub(crate) const MODE: usize = 24;
}

/// Where the executable's thread-local storage of the calling thread begins: it ends at the thread
/// pointer, which the thread control block repeats in its first word.
pub(crate) fn own_thread_local(size: u64, alignment: u64) -> u64 {
    let pointer: u64;
    // SAFETY: the first word of the thread control block is its own address.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly));
    }
    pointer - size.next_multiple_of(alignment)
}

/// Where in the context that a handler is given the signals are that are blocked when it has returned.
pub(crate) const BLOCKED_BEHIND_HANDLER: usize = 296;

/// System call numbers.
pub(crate) mod number {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const FSTAT: usize = 5;
    pub(crate) const CLONE: usize = 56;
    pub(crate) const EXECVE: usize = 59;
    pub(crate) const EXIT: usize = 60;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const MEMFD_CREATE: usize = 319;
    pub(crate) const LSEEK: usize = 8;
    pub(crate) const MMAP: usize = 9;
    pub(crate) const MUNMAP: usize = 11;
    pub(crate) const RT_SIGACTION: usize = 13;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const PWRITE64: usize = 18;
    pub(crate) const SCHED_YIELD: usize = 24;
    pub(crate) const MINCORE: usize = 27;
    pub(crate) const MADVISE: usize = 28;
    pub(crate) const SHMCTL: usize = 31;
    pub(crate) const GETPID: usize = 39;
    pub(crate) const GETSOCKNAME: usize = 51;
    pub(crate) const GETPEERNAME: usize = 52;
    pub(crate) const GETSOCKOPT: usize = 55;
    pub(crate) const RT_SIGPENDING: usize = 127;
    pub(crate) const GETCWD: usize = 79;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const RT_TGSIGQUEUEINFO: usize = 297;
    pub(crate) const FUTEX: usize = 202;
    pub(crate) const TGKILL: usize = 234;
    pub(crate) const EXIT_GROUP: usize = 231;
    pub(crate) const CLOCK_GETTIME: usize = 228;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const FALLOCATE: usize = 285;
    pub(crate) const FCNTL: usize = 72;
    pub(crate) const GETRLIMIT: usize = 97;
    pub(crate) const GETTID: usize = 186;
    pub(crate) const READLINKAT: usize = 267;
    pub(crate) const SECCOMP: usize = 317;
    pub(crate) const MEMBARRIER: usize = 324;
}
