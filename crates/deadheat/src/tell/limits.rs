//! What an analysis did not look at, or could not decide, and what was not heeded: notes of a report.

use std::collections::{BTreeMap, BTreeSet};

use deadheat_report::model::{Frame, Race};

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

/// Races in what libraries call that are not instrumented, or else of threads that they created: what order those make is not seen.
pub(super) fn by_libraries(races: &[Race]) -> impl Iterator<Item = String> + use<> {
    let (mut called, mut created) = (Libraries::default(), Libraries::default());
    for race in races {
        let callers = race.accesses.iter().flat_map(|access| access.frames.iter().skip(1));
        if !called.take(callers) {
            created.take(race.threads.iter().filter_map(|thread| thread.frames.first()));
        }
    }
    let called = called.most_frequent().map(|(races, library)| {
        format!(
            "{races} in code that a library calls which is not instrumented, `{library}`: what it orders is not seen. Build it with \
             deadheat, too, or leave them out by a suppression (called_from_lib:{library})"
        )
    });
    let created = created.most_frequent().map(|(races, library)| {
        format!(
            "{races} of threads that a library created which is not instrumented, `{library}`: what it orders is not seen. Build it \
             with deadheat, too"
        )
    });
    called.into_iter().chain(created)
}

/// Libraries that are not instrumented, and how many races have to do with them.
#[derive(Default)]
struct Libraries<'a> {
    times: BTreeMap<&'a str, usize>,
    races: usize,
}

impl<'a> Libraries<'a> {
    /// The languages' own libraries and OpenMP's: they make no order that is not known.
    const KNOWN: [&'static str; 9] = [
        "ld-linux",
        "libc.",
        "libc++",
        "libgcc_s.",
        "libgomp.",
        "libm.",
        "libomp.",
        "libpthread.",
        "libstdc++.",
    ];

    /// Counts a race that has these frames; `false` if none is of such a library.
    fn take(&mut self, frames: impl Iterator<Item = &'a Frame>) -> bool {
        let unseen = frames
            .filter(|frame| frame.library)
            .filter_map(|frame| frame.module.as_deref())
            .filter(|module| !Self::KNOWN.iter().any(|known| module.starts_with(known)));
        let unseen: BTreeSet<_> = unseen.collect();
        self.races += usize::from(!unseen.is_empty());
        unseen.iter().for_each(|&module| *self.times.entry(module).or_default() += 1);
        !unseen.is_empty()
    }

    /// How many races there are, as the beginning of a sentence, and the library that most have to do with.
    fn most_frequent(self) -> Option<(String, &'a str)> {
        let (library, _) = self.times.into_iter().max_by_key(|&(_, times)| times)?;
        let races =
            if self.races == 1 { "1 race is".to_owned() } else { format!("{} races are", self.races) };
        Some((races, library))
    }
}
