//! `help=1`: the program tells its options.

use deadheat_core::options::HELP;

use crate::sys;

/// Tells all options on standard error.
pub(crate) fn tell() {
    sys::say(
        b"Options of deadheat in DEADHEAT_OPTIONS and TSAN_OPTIONS, name=value, and what they are usually:\n",
    );
    for (name, usual, says) in HELP {
        for part in ["  ", name, "=", usual, "\n      ", says, "\n"] {
            sys::say(part.as_bytes());
        }
    }
}
