//! libc by family. An interceptor of `X` is exported as `dh_wrap_X`; the link renames it.
//!
//! Order of things: what releases is recorded before the real call, what acquires after it.

/// Exports an interceptor: `dh_wrap_NAME(arguments…)`, with the caller's return address as `$pc`.
macro_rules! intercept {
    ($(#[$doc:meta])* $visible:vis fn $export:ident / $inner:ident ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?; $pc:ident $body:block) => {
        intercept!(@shim [$($argument)*] $export, $inner);

        $(#[$doc])*
        $visible unsafe extern "C" fn $inner($($argument: $type,)* $pc: usize) $(-> $result)? {
            $body
        }
    };
    (@shim [] $export:ident, $inner:ident) => { shim!($export, "rdi", $inner); };
    (@shim [$a:ident] $export:ident, $inner:ident) => { shim!($export, "rsi", $inner); };
    (@shim [$a:ident $b:ident] $export:ident, $inner:ident) => { shim!($export, "rdx", $inner); };
    (@shim [$a:ident $b:ident $c:ident] $export:ident, $inner:ident) => { shim!($export, "rcx", $inner); };
    (@shim [$a:ident $b:ident $c:ident $d:ident] $export:ident, $inner:ident) => { shim!($export, "r8", $inner); };
    (@shim [$a:ident $b:ident $c:ident $d:ident $e:ident] $export:ident, $inner:ident) => { shim!($export, "r9", $inner); };
}

/// Exports interceptors of functions that only touch memory: `NAME(arguments…)`, with what is recorded before the real function
/// is called and after it. `$pc` is the caller's return address, `$got` the result.
macro_rules! functions {
    ($($export:ident / $inner:ident $name:literal ($($argument:ident: $type:ty),* $(,)?) -> $result:ty, $pc:ident,
       before $before:expr, after $got:ident $after:expr;)*) => {$(
        intercept! {
            fn $export / $inner($($argument: $type),*) -> $result; $pc {
                type Real = unsafe extern "C" fn($($type),*) -> $result;
                // SAFETY: passed on; what is named is what the program hands over.
                #[allow(unused_unsafe, clippy::let_unit_value, clippy::unused_unit, reason = "some have nothing to record")]
                unsafe {
                    let function = real!($name, Real);
                    let looks = || {
                        $crate::cold::start::recording()
                            && $crate::intercept::touch::is_of_library(function as usize)
                    };
                    if looks() {
                        $before
                    }
                    let $got = function($($argument),*);
                    if looks() {
                        $after
                    }
                    $got
                }
            }
        }
    )*};
}

mod barrier;
mod between;
mod caller;
mod cancel;
mod change;
mod clock;
mod clone;
mod condition;
mod confine;
mod container;
pub(crate) mod deadly;
pub(crate) mod descriptor;
mod directive;
mod environment;
mod exception;
mod exit;
mod file;
mod format;
mod future;
pub(crate) mod handling;
mod heap;
mod jump;
mod libatomic;
mod libcxx;
mod load;
mod look_up;
pub(crate) mod memory;
mod message;
mod mutex;
mod number;
mod once;
mod open;
mod openmp;
mod operator_new;
mod path;
mod poll;
mod queue;
mod rwlock;
mod scan;
mod semaphore;
mod sent;
mod signal;
mod socket;
mod state;
mod stream;
mod string;
mod syscall;
mod thread;
mod timer;
mod told;
mod touch;
mod unwinder;
pub(crate) mod uring;
mod waiting;
mod wide;
pub(crate) mod words;

pub(crate) use caller::forget as forget_callers;
pub(crate) use heap::BORN;
pub(crate) use openmp::Task;
pub(crate) use waiting::{Freed, LARGEST as LARGEST_WAITING, lock_for_fork, unlock_after_fork};
