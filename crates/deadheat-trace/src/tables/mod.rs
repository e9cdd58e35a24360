//! What the ids in a trace's events stand for.
//!
//! Invariant: ids are given in the order in which the streams are decoded, which depends on the
//! file's bytes only: two readings of one trace give the same ids.

mod modules;
mod names;
mod places;
mod stacks;
mod threads;

pub use modules::{Load, Module, ModuleId, Modules};
pub use names::Names;
pub(crate) use names::{Interner, Short};
pub use places::{Place, Places};
pub use stacks::Stacks;
pub use threads::{Thread, Threads};

/// The tables of one trace. They grow while it is driven.
#[derive(Debug, Default)]
pub struct Tables {
    /// Places in the code, by [`deadheat_core::ids::PlaceId`].
    pub places: Places,
    /// The tree of call sites, by [`deadheat_core::ids::StackId`].
    pub stacks: Stacks,
    /// Threads, by [`deadheat_core::ids::ThreadId`].
    pub threads: Threads,
    /// The program and its libraries, by [`ModuleId`].
    pub modules: Modules,
    /// Names of addresses, where the trace gives them.
    pub names: Names,
}
