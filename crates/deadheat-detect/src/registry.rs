//! The list of all analyses. The command line's help, `docs/analyses.md` and the tests read it.

use std::num::NonZeroU32;

use deadheat_core::race::Evidence;

use crate::csp::{Csp, Form};
use crate::detector::Detector;
use crate::findings::Findings;
use crate::hb::Hb;
use crate::lockset::Lockset;
use crate::lockset::state::Rules;
use crate::reversal::Reversal;
use crate::shb::Shb;
use crate::syncp::SyncPreserving;

/// What can be asked of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// List every unordered pair of places, each once, instead of at least one partner for each
    /// racy access. Takes more time, and memory for each byte: a member of 16 bytes in the set of
    /// what is remembered of it for each thread, place and sort of access (read or write, plain
    /// or atomic) that touched it, shared by bytes with the same past; and for each pair told.
    ///
    /// That is enough: of a place's accesses by one thread, the latest is ordered before a later
    /// access only if all are.
    pub all_pairs: bool,
    /// About how many bytes of memory an analysis may take, if it has such a limit. What it does there is in its chapter of
    /// `docs/analyses.md`; that it came to that it says by [`RaceSink::forgot`](deadheat_core::race::RaceSink::forgot) or
    /// [`RaceSink::undecided`](deadheat_core::race::RaceSink::undecided).
    pub memory_limit: Option<usize>,
    /// About how many steps an analysis may take, if it has such a limit (`csp`); that it came to that it says by
    /// [`RaceSink::stopped`](deadheat_core::race::RaceSink::stopped).
    pub work_limit: Option<u64>,
    /// Of how many events the windows are in which an analysis looks at a run, if it has windows.
    pub window: Option<NonZeroU32>,
}

/// One analysis.
pub struct Analysis {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub doc: &'static str,
    /// The paper that it comes from.
    pub paper: &'static str,
    /// What holds of its races, in a sentence.
    pub promise: &'static str,
    /// What it does where a trace is not well formed, in a sentence.
    pub ill_formed: &'static str,
    /// How strong the evidence is that it gives.
    pub evidence: Evidence,
    /// Makes one.
    pub new: fn(Options) -> Box<dyn Detector>,
}

/// Of an analysis that takes events as they come.
const AS_WRITTEN: &str = "Locks, creations and joins are taken as they are written, so an order that is told may be one in which a lock \
    has two holders or a thread acts before its creation.";

/// Of an analysis that plays each order.
const PLAYS: &str = "An order is told only if locks exclude in it, where a release by who does not hold the lock ends the section \
    of who has it longest; a late creation comes before what its thread does behind it.";

/// Of an analysis of the locks that each thread holds.
const HELD_BY_EACH: &str = "A lock counts as held by each thread that took it and did not give it back itself; creations and joins \
    order as in hb.";

/// All analyses, in the order in which they are listed.
pub const ANALYSES: &[Analysis] = &[
    Analysis {
        name: "hb",
        doc: "Happens-before: accesses of the run that no synchronisation ordered",
        paper: "FastTrack (Flanagan and Freund, PLDI 2009); C++20, [intro.races] and [atomics.order]",
        promise: "A race is told for each access that conflicts with an earlier one of the run and that \
              nothing ordered after it, and for no other.",
        ill_formed: "A release publishes and an acquire learns, whoever holds the lock; what a thread did before its creation, or does \
                     behind its join, these do not order.",
        evidence: Evidence::Observed,
        new: |options| Box::new(Hb::new(options)),
    },
    Analysis {
        name: "sync-preserving",
        doc: "Prediction: accesses that meet in another order of the events, with sections on a lock in order and reads seeing their writes",
        paper: "Mathur, Pavlogiannis and Viswanathan, Optimal prediction of synchronization-preserving races (POPL 2021)",
        promise: "Each pair that is told comes with a reordering of the run up to both accesses in which locks exclude, \
                  each read sees its write, and all else that a thread waited for is there. In runs of plain accesses, locks, forks and joins a race \
                  is told for each access that has one with an earlier access in an order that keeps the order of sections on each lock.",
        ill_formed: AS_WRITTEN,
        evidence: Evidence::Predicted,
        new: |options| Box::new(SyncPreserving::new(options)),
    },
    Analysis {
        name: "sync-reversal",
        doc: "Prediction: accesses that meet in another order of the events, also of the sections on a lock, with reads seeing their writes",
        paper: "Shi, Mathur and Pavlogiannis, Optimistic prediction of synchronization-reversal data races (ICSE 2024)",
        promise: "Each pair that is told comes with a reordering of the run up to both accesses in which locks exclude, \
                  each read sees its write, and all else that a thread waited for is there.",
        ill_formed: PLAYS,
        evidence: Evidence::Predicted,
        new: |options| Box::new(Reversal::new(options)),
    },
    Analysis {
        name: "csp",
        doc: "Prediction: accesses that meet in any other order of the events in which locks exclude and reads see their writes",
        paper: "Carril and Tichy, Predicting and witnessing data races using CSP",
        promise: "Each pair that is told comes with a reordering of the run up to both accesses in which locks exclude, each \
                  read sees its write, and all else that a thread waited for is there. If the run fits into one window and the search \
                  into memory, a race is told for each access that has one with an earlier access in any such reordering.",
        ill_formed: PLAYS,
        evidence: Evidence::Predicted,
        new: |options| Box::new(Csp::new(Form::Exact, options)),
    },
    Analysis {
        name: "shb",
        doc: "Schedulable happens-before: races of the run that it could have had, also behind the first",
        paper: "Mathur, Kini and Viswanathan, What happens-after the first race? (OOPSLA 2018)",
        promise: "Each pair that is told comes with a beginning of the run in which both accesses are next. In runs of plain \
                  accesses, locks, forks and joins a race is told for each access that conflicts with an earlier one of the run and is ordered after it neither by \
                  happens-before nor by the writes that reads saw before.",
        ill_formed: AS_WRITTEN,
        evidence: Evidence::Predicted,
        new: |options| Box::new(Shb::new(options)),
    },
    Analysis {
        name: "findings",
        doc: "What is wrong and no race: misused locks, lock orders that can deadlock, leaked threads, the use of freed blocks, \
              unsafe handlers",
        paper: "Goodlock (Havelund, SPIN 2000; Bensalem and Havelund, PADTAD 2005) for lock orders",
        promise: "Each fault that a hook saw is told. A cycle of locks is told if no lock guards it, and as possible only if \
                  different threads ask for its locks and forks and joins do not order their requests. The use of a freed \
                  block is told if it is ordered behind the free, the block is small, and nothing else was there since.",
        ill_formed: "A release by who does not hold the lock changes nothing, and a lock may have several holders; freed blocks are ordered as by hb.",
        evidence: Evidence::Suspected,
        new: |options| Box::new(Findings::new(options)),
    },
    Analysis {
        name: "lockset",
        doc: "Locking discipline: what several threads use, one of them writing, and no lock protects at all accesses",
        paper: "Letko, Dynamic Detection and Healing of Low Level Data Races; Eraser (Savage and others, TOCS 1997)",
        promise: "None of its races need be one. A variable is told once, with two conflicting accesses of different threads, when \
                  no lock was held at all accesses since several threads use it and one of them writes it.",
        ill_formed: HELD_BY_EACH,
        evidence: Evidence::Suspected,
        new: |options| Box::new(Lockset::new(Rules::LETKO, options)),
    },
];

/// Other forms of them, to compare with: they stand in the chapters of those.
pub const FORMS: &[Analysis] = &[
    Analysis {
        name: "csp=control",
        doc: "The same for traces that have branches: only reads that a branch may depend on have to see their writes",
        paper: "Carril and Tichy, Predicting and witnessing data races using CSP; for control flow Huang, Meredith and Roșu, Maximal sound \
                predictive race detection with control flow abstraction (PLDI 2014)",
        promise: "Each pair that is told comes with an order of the events of the run up to both accesses in which locks exclude, each read \
                  that a branch of that order may depend on sees its write, and all else that a thread waited for is there. If the run fits into one \
                  window and the search into memory, a race is told for each access that has one with an earlier access in any such order.",
        ill_formed: PLAYS,
        evidence: Evidence::Suspected,
        new: |options| Box::new(Csp::new(Form::Control, options)),
    },
    Analysis {
        name: "csp=paper",
        doc: "The model as the paper prints it: reads may see anything, so that it tells what data can make impossible",
        paper: "Carril and Tichy, Predicting and witnessing data races using CSP",
        promise: "Each pair that is told comes with an order of the events of the run up to both accesses in which locks exclude and \
                  all else that a thread waited for but values is there.",
        ill_formed: PLAYS,
        evidence: Evidence::Suspected,
        new: |options| Box::new(Csp::new(Form::Paper, options)),
    },
    Analysis {
        name: "lockset=eraser",
        doc: "The same without joins, without the order at a change of hands, and without forgiving the initialisation of blocks",
        paper: "Eraser (Savage and others, TOCS 1997)",
        promise: "None of its races need be one.",
        ill_formed: HELD_BY_EACH,
        evidence: Evidence::Suspected,
        new: |options| Box::new(Lockset::new(Rules::ERASER, options)),
    },
];

/// All analyses, then their other forms.
pub fn all() -> impl Iterator<Item = &'static Analysis> {
    ANALYSES.iter().chain(FORMS)
}

/// The analysis, or the form of one, of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Analysis> {
    all().find(|analysis| analysis.name == name)
}
