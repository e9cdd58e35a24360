//! A process algebra and its refinement checker. It knows nothing of races.
//!
//! | module | holds |
//! | --- | --- |
//! | [`event`], [`term`] | interned events; process terms, shared |
//! | [`semantics`] | what a term does next: the structural operational semantics |
//! | `lts`, `compile` | small processes unfolded; operators as rules over them |
//! | `follow`, `pack`, `machine` | what need not be stored; packed states; the product that makes successors |
//! | `normal`, `visited`, `path`, [`refine`] | `S [T= I` by breadth-first search; the shortest counterexample |
//! | [`cspm`] | the language in which models are written: text in, text out, meaning |
//!
//! The semantics are those of A. W. Roscoe, *Understanding Concurrent Systems*; the compilation is that of the FDR
//! family. Invariants: no input or output, no time; threads only where a search is told to use several
//! ([`refine::Limits::jobs`]), and the answer does not depend on them; memory is bounded and the bound is told.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod compile;
pub mod cspm;
pub mod event;
mod follow;
mod lts;
mod machine;
mod normal;
mod pack;
mod path;
pub mod refine;
pub mod semantics;
pub mod term;
mod visited;

pub use compile::Stage;
pub use event::{Action, Event, Events, Seen};
pub use pack::MAX_BITS;
pub use refine::{Counterexample, Limits, Outcome, Product, Verdict, traces};
pub use semantics::Error;
pub use term::{Process, Renaming, Set, Term, Terms};
