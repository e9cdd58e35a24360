//! What only x86-64 knows of functions that exceptions and cancelled threads go through: their frames have no code to be run then but what is named, and
//! the unwinder finds its way through them. Rust's own frames would end the program.

use core::ffi::{c_int, c_void};

/// Exports `$name`, a function of up to three integer arguments whose work `$make` may do: it is called with them and, in the register behind theirs, the
/// return address, and gives an [`Or`]. Where that has no result, the other function is gone to as if it had been called itself.
macro_rules! shim_or {
    ($(#[$doc:meta])* $name:ident, $register:literal, $make:path) => {
        #[cfg(deadheat_object)]
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                concat!("mov ", $register, ", qword ptr [rsp + 24]"),
                "call {make}",
                "mov r11, rdx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "test rax, rax",
                "jz 2f",
                "ret",
                "2:",
                "jmp r11",
                make = sym $make,
            )
        }
    };
}

/// Exports `$name`, the hook of a store of 8 bytes that is told the new value as well: `$write`, the hook of such a store, is gone to as if it had been called itself, unless that value
/// is there already.
macro_rules! shim_unless_same {
    ($(#[$doc:meta])* $name:ident, $write:ident) => {
        #[cfg(deadheat_object)]
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "cmp qword ptr [rdi], rsi",
                "jne {write}",
                "ret",
                write = sym $write,
            )
        }
    };
}

/// Exports `$name`, a function of three arguments of which the third is another for the function that is gone to: `$make` gives, of the arguments and the
/// return address, that function and the argument.
macro_rules! shim_third {
    ($(#[$doc:meta])* $name:ident, $make:path) => {
        #[cfg(deadheat_object)]
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "mov rcx, qword ptr [rsp + 16]",
                "sub rsp, 8",
                "call {make}",
                "add rsp, 8",
                "pop rsi",
                "pop rdi",
                "jmp rax",
                make = sym $make,
            )
        }
    };
}

/// What [`shim_or!`] must know.
#[repr(C)]
pub(crate) struct Or {
    /// The result; 0 if there is none.
    pub(crate) result: usize,
    /// The function to go to then.
    pub(crate) other: usize,
}

/// Exports `$name`, a function of an object and a routine that calls the routine: `$before(object, routine, pc, stack)` gives the real function and the
/// routine to pass to it, `$after(object, pc, result, passed)` is called when it has returned and gives the result, and `$left`, an unwinder's personality
/// routine, when it is left otherwise; [`kept_at`] tells that the caller's stack pointer. `stack` is just below that. The routine has a section of its own,
/// `.text.0.NAME`: GNU ld takes two local ones of the same section for one.
macro_rules! shim_caller {
    ($name:ident, $before:path, $after:path, $left:path) => {
        #[cfg(deadheat_object)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                // Told as a distance of 32 bits from where that is.
                ".cfi_personality 0x1b, {left}",
                "push rbx",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_offset rbx, -16",
                "lea rbx, [rsp + 16]",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "sub rsp, 24",
                ".cfi_adjust_cfa_offset 24",
                "mov rdx, qword ptr [rbx - 8]",
                "lea rcx, [rbx - 8]",
                "call {before}",
                "mov qword ptr [rsp], rdx",
                "mov rdi, qword ptr [rsp + 24]",
                "mov rsi, rdx",
                "call rax",
                "mov rdi, qword ptr [rsp + 24]",
                "mov rsi, qword ptr [rbx - 8]",
                "mov edx, eax",
                "mov rcx, qword ptr [rsp]",
                "call {after}",
                "add rsp, 32",
                ".cfi_adjust_cfa_offset -32",
                "pop rbx",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                left = sym $left,
                before = sym $before,
                after = sym $after,
            )
        }
    };
}

/// What `$before` of [`shim_caller!`] and `$make` of [`shim_third!`] give: the real function, and the routine to pass to it. What `$begin` of
/// [`shim_routine!`] gives: the routine, and its object.
#[repr(C)]
pub(crate) struct Two(pub(crate) usize, pub(crate) usize);

/// A routine of up to one argument to be called in another's place, as `$name`: `$begin()` gives that and its object, `$end(object)` is called when it has returned, and `$left`, an
/// unwinder's personality routine in a section of its own, when it is left otherwise; [`kept_at`] tells that the object.
macro_rules! shim_routine {
    ($name:ident, $begin:path, $end:path, $left:path) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                ".cfi_personality 0x1b, {left}",
                "push rbx",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_offset rbx, -16",
                "sub rsp, 16",
                ".cfi_adjust_cfa_offset 16",
                "mov qword ptr [rsp], rdi",
                "call {begin}",
                "mov rbx, rdx",
                "mov rdi, qword ptr [rsp]",
                "call rax",
                "mov rdi, rbx",
                "call {end}",
                "add rsp, 16",
                ".cfi_adjust_cfa_offset -16",
                "pop rbx",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                left = sym $left,
                begin = sym $begin,
                end = sym $end,
            )
        }
    };
}

/// What the frame that the unwinder is at keeps: that of [`shim_routine!`] the object, that of [`shim_caller!`] the caller's stack pointer. `None` if the
/// program has no unwinder that says so.
///
/// # Safety
/// `context` is the unwinder's.
pub(crate) unsafe fn kept_at(context: *mut c_void) -> Option<usize> {
    type Register = unsafe extern "C" fn(*mut c_void, c_int) -> usize;
    const RBX: c_int = 3;
    let register = weak_address!("_Unwind_GetGR");
    // SAFETY: the unwinder's own function, of that type; the caller's promise.
    (register != 0).then(|| unsafe { core::mem::transmute::<usize, Register>(register)(context, RBX) })
}
