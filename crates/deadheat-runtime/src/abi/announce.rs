//! What a program may call to announce threads that it makes in its own way (RaceHunter's
//! `OnThreadCreateEvent`): so these have a creator, a spawn path that is the same in every run, and
//! an order with what came before them.

use core::ffi::c_ulong;

use deadheat_core::gate::FOREIGN;

use crate::cold::{start, threads};

shim!(
    /// `unsigned long deadheat_announce_thread(void)`: the calling thread is about to make a thread.
    /// Gives a token for [`deadheat_begin_thread`], 0 if nothing is watched.
    deadheat_announce_thread, "rdi", on_announce
);
shim!(
    /// `unsigned long deadheat_announce_named_thread(unsigned long number)`: the same for a thread
    /// that the program gives a number (0: none).
    deadheat_announce_named_thread, "rsi", on_announce_named
);
shim!(
    /// `void deadheat_begin_thread(unsigned long token)`: the calling thread, in which nothing
    /// was watched so far, is the one that the token was given for.
    deadheat_begin_thread, "rsi", on_begin
);

unsafe extern "C" fn on_announce(pc: usize) -> c_ulong {
    on_announce_named(0, pc)
}

extern "C" fn on_announce_named(number: c_ulong, pc: usize) -> c_ulong {
    if !start::recording() {
        return 0;
    }
    let number = number & (FOREIGN - 1);
    threads::prepare_child(pc, (0, 0), number, false).map_or(0, |child| child.token() as c_ulong)
}

unsafe extern "C" fn on_begin(token: c_ulong, _pc: usize) {
    if token != 0 {
        // SAFETY: the program passes on what it was given, once.
        unsafe { threads::begin_announced(token as usize) };
    }
}
