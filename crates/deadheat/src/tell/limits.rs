//! What an analysis did not look at, or could not decide, and what was not heeded: notes of a report.

use super::Judged;
use super::resolve::Resolver;

/// What an analysis could not tell for want of memory.
pub(super) fn forgotten(judged: &Judged<'_>) -> Option<String> {
    let (name, events) = (judged.analysis.name, judged.found.forgotten());
    (events > 0).then(|| {
        format!(
            "{name} had to forget the first {events} events of the run, as its memory was full: races of later ones with \
             those are not told; --memory-limit MIB gives it more"
        )
    })
}

/// Pairs that an analysis could not decide for want of memory.
pub(super) fn undecided(judged: &Judged<'_>) -> Option<String> {
    let (name, pairs) = (judged.analysis.name, judged.found.undecided());
    let pairs = match pairs {
        0 => return None,
        1 => "1 pair".to_owned(),
        many => format!("{many} pairs"),
    };
    Some(format!(
        "{name} could not say of {pairs} of accesses whether they can race, as its memory was full: --memory-limit MIB \
         gives it more"
    ))
}

/// Races whose witness was not kept for want of memory.
pub(super) fn unwitnessed(judged: &Judged<'_>) -> Option<String> {
    let (name, races) = (judged.analysis.name, judged.found.unwitnessed());
    (races > 0)
        .then(|| format!("{name} has witnesses that are too long to be kept: {races} races are told without"))
}

/// Suppressions that the program brings along: they are in no trace.
pub(super) fn unheeded(resolver: &mut Resolver<'_>) -> Option<String> {
    const OWN: &str = "__tsan_default_suppressions";
    resolver.has_function(OWN).then(|| {
        format!(
            "the program's {OWN}() holds only where it is started by hand; here --suppressions FILE suppresses"
        )
    })
}
