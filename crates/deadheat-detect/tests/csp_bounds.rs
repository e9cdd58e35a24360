//! `csp` with less memory or fewer steps than it takes: what it tells is less and no more, and it says what it left.

#[path = "support/std_format.rs"]
#[allow(dead_code, reason = "other tests read another format")]
mod std_format;

use std::collections::BTreeSet;

use deadheat_core::ids::PlaceId;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_detect::registry::{self, Options};

/// `T0` and `T3` come to `y` behind a read of `x` each; which of the two writes that they see comes first has to be tried.
const TO_BE_TRIED: &str = "\
T2|w(x)|1
T3|r(x)|2
T1|w(x)|3
T0|r(x)|4
T3|r(y)|5
T0|w(y)|6
";

#[derive(Default, Debug)]
struct Told {
    races: BTreeSet<[PlaceId; 2]>,
    checked: Option<u64>,
    undecided: u64,
    stopped: bool,
}

impl RaceSink for Told {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        self.races.insert([race.earlier.place, race.later.place]);
    }

    fn checked(&mut self, refinements: u64) {
        self.checked = Some(refinements);
    }

    fn undecided(&mut self, pairs: u64) {
        self.undecided += pairs;
    }

    fn stopped(&mut self) {
        self.stopped = true;
    }
}

/// What is told of the trace.
fn told(analysis: &str, options: Options) -> Told {
    let mut told = Told::default();
    let mut detector = (registry::find(analysis).expect("it is registered").new)(options);
    std_format::std_events(TO_BE_TRIED).iter().for_each(|event| detector.step(event, &mut told));
    detector.finish(&mut told);
    told
}

#[test]
fn refinements_are_counted_by_variable_and_two_threads() {
    let all = told("csp", Options::default());
    // Of the threads on `x` two only read; on `y` there are but two.
    assert_eq!((all.checked, all.undecided, all.stopped), (Some(6), 0, false), "{all:?}");
    assert_eq!(told("sync-reversal", Options::default()).checked, None);
}

#[test]
fn a_pair_for_which_memory_does_not_do_is_counted() {
    let all = told("csp", Options::default());
    let some = told("csp", Options { memory_limit: Some(0), ..Options::default() });
    assert_eq!((some.checked, some.undecided, some.stopped), (Some(6), 1, false), "{some:?}");
    assert!(some.races.is_subset(&all.races));
    assert_eq!(some.races.len() + 1, all.races.len(), "{some:?} {all:?}");
}

#[test]
fn with_more_steps_more_is_told_until_all_is() {
    let all = told("csp", Options::default());
    let mut before = Told::default();
    for steps in 1_u64.. {
        let now = told("csp", Options { work_limit: Some(steps), ..Options::default() });
        assert!(before.races.is_subset(&now.races) && before.checked <= now.checked, "{steps}: {now:?}");
        assert!(steps > 1 || (now.stopped && now.races.is_empty()), "{now:?}");
        if !now.stopped {
            assert_eq!((&now.races, now.checked), (&all.races, all.checked), "{steps} steps");
            break;
        }
        assert!(steps < 1000, "{now:?}");
        before = now;
    }
    assert!(!before.races.is_empty() && before.races.len() < all.races.len(), "{before:?}");
}
