//! The programs of `spec/programs` with their races found while they run: the same marks as those of a recorded run
//! that is analysed, 20 times in a row with `DEADHEAT_ACCEPT=full`. Those with findings are started by hand, too, and those
//! that use OpenMP are linked statically, too.

#[path = "programs/build.rs"]
mod build;
#[path = "programs/every.rs"]
#[allow(dead_code, reason = "the suite of recorded runs uses more of it")]
mod every;
#[path = "programs/judge.rs"]
mod judge;
#[path = "programs/run.rs"]
mod run;
#[path = "programs/spec.rs"]
#[allow(dead_code, reason = "the suite of recorded runs uses more of it")]
mod spec;

use libtest_mimic::Arguments;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let mut trials = every::trials("online", spec::Found::Online);
    trials.extend(every::trials("byhand", spec::Found::ByHand));
    trials.extend(every::static_openmp_trials());
    libtest_mimic::run(&arguments, trials).exit();
}
