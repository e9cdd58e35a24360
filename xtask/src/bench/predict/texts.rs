//! `sync-preserving` and `sync-reversal` on STD texts, beside RAPID's SyncP and OSR.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::super::measure::{Cost, Run};
use super::super::recording::RACES;
use super::super::statistic::Quartiles;
use super::super::std_text::{generated, lines, rapid_words};
use super::super::table::{Table, mebibytes, millions, short, spread};
use super::super::tools::root;
use super::super::{Outcome, Stop};
use super::{Bench, cpu, each, json_of, peak};

/// Exit code of a run that was killed at its bound.
const KILLED: i32 = 128 + 9;

/// What RAPID took.
enum Rapid {
    /// Nobody gave its command line.
    Absent,
    /// It was over the bound; what it had used until then.
    Over(Cost),
    /// Its runs.
    Ran(Vec<Cost>),
}

impl Bench<'_> {
    /// Both analyses on a real trace and on a generated one.
    pub(super) fn texts(&self) -> Outcome<(Table, Value)> {
        let mut table = Table::new(&[
            "STD text",
            "events, M",
            "CPU s",
            "peak MiB",
            "RAPID, CPU s",
            "RAPID, peak MiB",
            "RAPID / deadheat, CPU",
        ]);
        let texts =
            [("derby", self.shared_text("derby")?), ("generated", generated(self.options, &self.folder)?)];
        let rapids =
            [("sync-preserving", &self.options.rapid_syncp), ("sync-reversal", &self.options.rapid_osr)];
        let mut all = json!({});
        for (name, text) in texts {
            let events = lines(&text)?;
            for (by, rapid) in rapids {
                let own = self.analyze(by, &text, &[]);
                let theirs = rapid.as_ref().map(|line| Run {
                    timeout: self.options.rapid_timeout,
                    ..self.run("rapid", rapid_words(line, &text))
                });
                let (ours, rapid) = self.in_turns(&own, theirs.as_ref())?;
                let title = format!("`{by}`, {name}");
                all[&title] = json!({"events": events, "ours": json_of(&ours), "rapid": rapid.json()});
                let [time, memory, ratio] = rapid.cells(&ours, self.options.rapid_timeout.as_secs());
                table.row(vec![title, millions(events), cpu(&ours), peak(&ours), time, memory, ratio]);
            }
        }
        Ok((table, all))
    }

    fn in_turns(&self, own: &Run, theirs: Option<&Run>) -> Outcome<(Vec<Cost>, Rapid)> {
        let mut ours = Vec::new();
        let mut rapid = theirs.map_or(Rapid::Absent, |_| Rapid::Ran(Vec::new()));
        for round in 0..self.options.pairs {
            ours.push(own.expect(&[0, RACES])?);
            let Some(theirs) = theirs.filter(|_| round < self.options.rapid_rounds) else { continue };
            if let Rapid::Ran(costs) = &mut rapid {
                let cost = theirs.measure()?;
                if cost.code == KILLED {
                    rapid = Rapid::Over(cost);
                } else {
                    costs.push(theirs.ended(cost, &[0])?);
                }
            }
        }
        Ok((ours, rapid))
    }

    /// The text of one of the public traces.
    pub(super) fn shared_text(&self, name: &str) -> Outcome<PathBuf> {
        let shared =
            std::env::var_os("DEADHEAT_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
        let packed = shared.join(format!("traces/real/{name}.std.zst"));
        if !packed.exists() {
            let why = format!("{} is not there; DEADHEAT_SHARED names the folder", packed.display());
            return Err(Stop::missing(why));
        }
        let text = self.folder.join(format!("{name}.std"));
        unpack(&packed, &text)?;
        Ok(text)
    }
}

impl Rapid {
    /// Time, memory, and its time by ours.
    fn cells(&self, ours: &[Cost], bound: u64) -> [String; 3] {
        match self {
            Rapid::Absent => ["-".into(), "-".into(), "-".into()],
            // Only the processor time that it got is compared, for the bound is on elapsed time.
            Rapid::Over(cost) => {
                let slowest = each(ours, |cost| cost.cpu).fold(0.0, f64::max);
                let time = format!("over {}, ended after {bound} s", short(cost.cpu));
                [time, mebibytes(cost.peak), format!("over {}", short(cost.cpu / slowest))]
            }
            Rapid::Ran(costs) => {
                let ratio = Quartiles::of_ratios(each(costs, |cost| cost.cpu), each(ours, |cost| cost.cpu));
                [cpu(costs), peak(costs), spread(ratio)]
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Rapid::Absent => Value::Null,
            Rapid::Over(cost) => json!({"over": json_of(&[*cost])}),
            Rapid::Ran(costs) => json_of(costs),
        }
    }
}

fn unpack(packed: &Path, text: &Path) -> Outcome<()> {
    let unfinished = text.with_extension("unfinished");
    let status = Command::new("zstd")
        .args(["--decompress", "--quiet", "--force", "-o"])
        .args([&unfinished, packed])
        .status()
        .map_err(|e| Stop::missing(format!("cannot run zstd: {e}; install zstd")))?;
    if !status.success() {
        return Err(Stop::failed(format!("zstd cannot read {}", packed.display())));
    }
    fs::rename(&unfinished, text).map_err(|e| Stop::failed(format!("cannot rename the trace: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rapid_took_is_told_or_that_it_took_too_long() {
        let cost = |cpu: f64| Cost { cpu, elapsed: cpu, peak: 2048.0, code: 0 };
        let ours = [cost(0.25), cost(0.5)];
        let ran = Rapid::Ran(vec![cost(50.0)]).cells(&ours, 120);
        assert_eq!(ran, ["50.0 (50.0 to 50.0)", "2.00", "200 (200 to 200)"]);
        let over = Rapid::Over(cost(60.0)).cells(&ours, 120);
        assert_eq!(over, ["over 60.0, ended after 120 s", "2.00", "over 120"]);
    }
}
