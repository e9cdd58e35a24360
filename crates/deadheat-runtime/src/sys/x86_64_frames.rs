//! What only x86-64 knows of the calls that a thread follows: the hooks of function entry and exit change its frames by themselves.

/// Exports the hook of a function's entry, which fills the next frame with its return address and its caller's stack pointer. Where the
/// thread is not said to follow its calls ([`set_frames_word`]), or has no frame left, `$target` gets the two.
///
/// A handler may come before the frame is the innermost one: it leaves the next frame as it was (`intercept::signal`).
macro_rules! shim_entry {
    ($name:ident, $target:path) => {
        #[cfg(deadheat_object)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov rax, qword ptr fs:[deadheat_thread@tpoff + 40]",
                "lea rsi, [rsp + 8]",
                "test rax, rax",
                "je {target}",
                "mov rcx, qword ptr [rax + {top}]",
                "cmp rcx, qword ptr [rax + {end}]",
                "je {target}",
                "mov qword ptr [rcx + {call}], rdi",
                "mov qword ptr [rcx + {stack}], rsi",
                "add rcx, {size}",
                "mov qword ptr [rax + {top}], rcx",
                "ret",
                top = const core::mem::offset_of!(Thread, top),
                end = const core::mem::offset_of!(Thread, frames_end),
                call = const core::mem::offset_of!(Frame, call),
                stack = const core::mem::offset_of!(Frame, stack),
                size = const size_of::<Frame>(),
                target = sym $target,
            )
        }
    };
}

/// Exports the hook of a function's exit, which takes back the innermost frame, if there is one. `$target` does that where the thread is not said to
/// follow its calls.
///
/// `top` is changed first: whatever a handler makes of `low` is compared with that. It may find `top` one before the first frame
/// (`cold::threads`, `STATE_SIZE`).
macro_rules! shim_exit {
    ($name:ident, $target:path) => {
        #[cfg(deadheat_object)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov rax, qword ptr fs:[deadheat_thread@tpoff + 40]",
                "test rax, rax",
                "je {target}",
                "mov rcx, qword ptr [rax + {top}]",
                "sub rcx, {size}",
                "mov qword ptr [rax + {top}], rcx",
                "cmp rcx, qword ptr [rax + {low}]",
                "jb 2f",
                "ret",
                "2:",
                "cmp rcx, qword ptr [rax + {frames}]",
                "jb 3f",
                "mov qword ptr [rax + {low}], rcx",
                "mov qword ptr [rax + {clean}], 0",
                "ret",
                "3:",
                "add rcx, {size}",
                "mov qword ptr [rax + {top}], rcx",
                "ret",
                top = const core::mem::offset_of!(Thread, top),
                frames = const core::mem::offset_of!(Thread, frames),
                low = const core::mem::offset_of!(Thread, low),
                clean = const core::mem::offset_of!(Thread, clean),
                size = const size_of::<Frame>(),
                target = sym $target,
            )
        }
    };
}
