//! Code and data addresses of a module to functions, files, lines and variables, and lines and
//! functions back to code, outside the program under test.
//!
//! Invariants:
//! * It knows nothing of races or traces: a question is (module, link-time address or source place).
//! * Nothing is read before it is asked for, and what stays in memory is bounded: at most
//!   [`Limits::modules`] modules are open, and a module whose parsed debug information
//!   outgrows [`Limits::parsed`] is closed and opened again when it is next needed.
//! * It never guesses: a module whose build id is not the expected one answers nothing, and
//!   says so once.
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(missing_docs)]

mod calls;
mod debugfile;
mod dwarf;
mod image;
mod local;
mod module;
mod name;
mod needs;
mod operand;
mod reverse;
mod symbolizer;
mod table;
mod unwind;
mod variable;

pub use calls::CallSite;
pub use name::demangle;
pub use needs::{Needs, needs};
pub use reverse::NoCode;
pub use symbolizer::{Code, DataSymbol, Frame, Limits, LocalVariable, ModuleKey, Symbolizer};
