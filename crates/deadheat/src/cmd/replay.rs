//! `deadheat replay`: makes the meeting of a proof happen again.

use std::ffi::OsString;

use deadheat_core::gate::flag;
use deadheat_report::model::Access;
use serde_json::Value;

use crate::args::Common;
use crate::child::{self, End, Launch};
use crate::cmd::record::Program;
use crate::compiler::real::find_program;
use crate::exit::{Exit, Failure};
use crate::hunt::again::{self, Again, why_not};
use crate::hunt::gate::Gate;
use crate::hunt::outcome::Verdict;
use crate::hunt::proof::where_was;
use crate::hunt::witness::{self, Recalled, Witness};
use crate::say::say;
use crate::tell::output::{self, Output};
use crate::traces::Scratch;

/// Which proof to replay, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The race: a report, # and its id; or the id alone, of the newest report in this folder
    #[arg(value_name = "REPORT#ID")]
    race: String,
    /// How often to try
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    /// End the program as soon as the two have met
    #[arg(long, conflicts_with = "gdb")]
    until_met: bool,
    /// Run the program in gdb, which stops with both threads before their accesses
    #[arg(long)]
    gdb: bool,
    /// A further argument for gdb, such as -batch; may be given several times
    #[arg(long, value_name = "ARG", requires = "gdb", allow_hyphen_values = true)]
    gdb_arg: Vec<OsString>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    program: Program,
}

impl Args {
    /// The replay of a proof by a program without arguments, told into the file `output`.
    pub(crate) fn of(race: String, program: &str, output: &str) -> Args {
        Args {
            race,
            tries: 3,
            until_met: false,
            gdb: false,
            gdb_arg: Vec::new(),
            output: Output::to("json", output),
            program: Program::named(program),
        }
    }
}

/// Replays the proof. The code is 66 if the two met again, else the program's own.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let recalled = witness::recall(&args.race)?;
    let witness = recalled.witness()?;
    args.output.check()?;
    child::find(args.program.command())?;
    if args.gdb {
        in_gdb(args, &recalled, &witness, common)
    } else {
        again(args, &recalled, &witness, common)
    }
}

/// Runs the program until the two have met, as often as asked.
fn again(args: &Args, recalled: &Recalled, witness: &Witness, common: &Common) -> Result<Exit, Failure> {
    let id = &recalled.race.id;
    let run = Again {
        command: args.program.command(),
        timeout: args.program.timeout(),
        input: recalled.input(),
        order: witness.order(),
    };
    let flags = witness.flags() | if args.until_met { flag::CUT } else { 0 };
    let (mut end, mut why, mut others) = (End::Exited(0), "", Vec::new());
    for number in 1..=args.tries {
        // Where the watch rule saw one side elsewhere, each second try holds it there.
        let armed = [witness.pair(u64::from(number % 2 == 0))];
        let tried = run.go(&armed, &[], witness.patience(), flags)?;
        check(&tried.changed, tried.taken, &args.program)?;
        let (met, other): (Vec<_>, Vec<_>) = tried.races.iter().cloned().partition(|race| race.id == *id);
        if let Some(mut race) = met.into_iter().next() {
            if let Some(fields) = race.witness.as_mut().and_then(Value::as_object_mut) {
                fields.insert("order".to_owned(), witness.order.clone());
            }
            if !common.quiet {
                say!("deadheat: {id}: they met again in try {number} of {}", args.tries);
            }
            output::write(&[tried.report(vec![race], Vec::new())], &args.output, common);
            return Ok(Exit::Races);
        }
        others.extend(other.into_iter().map(|race| race.id));
        end = tried.end;
        why = tried.targets.first().map_or("", why_not);
    }
    let tries = if args.tries == 1 { "1 try".to_owned() } else { format!("{} tries", args.tries) };
    say!("deadheat: {id}: the two did not meet in {tries}; in the last, {why}");
    others.sort();
    others.dedup();
    if !others.is_empty() {
        say!("deadheat: others met: {}", others.join(", "));
    }
    Ok(end.exit())
}

/// A program that is not the one of the proof cannot replay it.
fn check(changed: &[String], taken: bool, program: &Program) -> Result<(), Failure> {
    if let Some(module) = changed.first() {
        return Err(Failure::input(format!(
            "{module} was built anew since the proof, so its places are elsewhere; ask `deadheat verify` whether \
             it is mended, or hunt again"
        )));
    }
    if !taken {
        let name = program.command()[0].to_string_lossy();
        return Err(Failure::missing(format!(
            "no process of {name} took what it was told: it has no deadheat runtime in it, or another version's; \
             build it again with `deadheat build`"
        )));
    }
    Ok(())
}

/// Runs the program in gdb, with a trap where the two meet.
fn in_gdb(args: &Args, recalled: &Recalled, witness: &Witness, common: &Common) -> Result<Exit, Failure> {
    let gdb = find_program("gdb".as_ref()).ok_or_else(|| {
        Failure::missing("there is no gdb in PATH; install it (Debian, Ubuntu: apt install gdb)")
    })?;
    let scratch = Scratch::make()?;
    let trace = scratch.path().join("run");
    let target = witness.pair(0);
    let flags = witness.flags() | flag::TRAP;
    let gate =
        Gate::write(&again::plan_of_one(&target, witness.order(), witness.patience(), flags)?, &trace)?;
    let command = gdb_command(&gdb, args, &recalled.race.accesses);
    let end = child::run(&Launch::provoked(&command, &trace, args.program.timeout()))?;
    let outcome = gate.outcome()?;
    let met = outcome.targets.first().filter(|state| state.verdict == Verdict::Race);
    if met.is_some() {
        return Ok(Exit::Races);
    }
    let id = &recalled.race.id;
    if let (Some(state), false) = (outcome.targets.first(), common.quiet) {
        say!("deadheat: {id}: the two did not meet: {}", why_not(state));
    }
    Ok(end.exit())
}

/// gdb's command line: run to the trap, and show where every thread stands.
fn gdb_command(gdb: &std::path::Path, args: &Args, accesses: &[Access; 2]) -> Vec<OsString> {
    let [one, other] = accesses.each_ref().map(|access| {
        let place = where_was(access).replace(['\\', '"', '\''], "?");
        format!("{} ({} of {} bytes at {place})", access.thread, access.op.name(), access.size)
    });
    let told = format!(
        "echo \\ndeadheat: where the program stopped with SIGTRAP, two threads stand before their accesses:\\n\
         \\040\\040{one}\\n\\040\\040{other}\\n\\n"
    );
    let mut command: Vec<OsString> = vec![gdb.into(), "-q".into()];
    command.extend(args.gdb_arg.iter().cloned());
    let settings = ["set pagination off", "set startup-with-shell off", "set disable-randomization on"];
    let steps = ["run", &told, "thread apply all backtrace", "info threads"];
    for step in settings.into_iter().chain(steps) {
        command.extend(["-ex".into(), step.into()]);
    }
    command.push("--args".into());
    command.extend(args.program.command().iter().cloned());
    command
}
