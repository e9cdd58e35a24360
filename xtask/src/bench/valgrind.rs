//! Helgrind and DRD, Valgrind's race detectors, on the native build.

use std::ffi::OsString;
use std::fs;

use serde_json::{Value, json};

use super::compare::{Build, Comparison, Manner, Subject, costs, each};
use super::measure::Cost;
use super::statistic::{Quartiles, geometric_mean};
use super::table::{Table, mebibytes, short, spread};
use super::tools::{first_line, words};
use super::{Outcome, Stop};

/// A tool of Valgrind's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    /// Happens-before, with stacks of the earlier accesses.
    Helgrind,
    /// Happens-before over segments.
    Drd,
}

impl Tool {
    /// All of them, in the order in which they are told.
    pub(crate) const ALL: [Tool; 2] = [Tool::Helgrind, Tool::Drd];

    /// As `valgrind --tool` and file names have it.
    fn name(self) -> &'static str {
        match self {
            Tool::Helgrind => "helgrind",
            Tool::Drd => "drd",
        }
    }

    /// As tables have it.
    fn title(self) -> &'static str {
        match self {
            Tool::Helgrind => "Helgrind",
            Tool::Drd => "DRD",
        }
    }

    /// How many races its messages tell.
    fn races_in(self, messages: &str) -> usize {
        let says = |line: &str| match self {
            Tool::Helgrind => line.contains("Possible data race during "),
            Tool::Drd => line.contains("Conflicting load by ") || line.contains("Conflicting store by "),
        };
        messages.lines().filter(|line| says(line)).count()
    }
}

/// What was measured of one tool.
#[derive(Default)]
pub(crate) struct Watched {
    /// Runs that came to their end: those of the first rounds, one each.
    pub(crate) costs: Vec<Cost>,
    /// The bound in seconds that a run went over; none was made after it.
    pub(crate) over: Option<u64>,
    /// Most races of a run.
    pub(crate) races: usize,
}

impl Watched {
    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        json!({"runs": costs(&self.costs), "over_seconds": self.over, "races": self.races})
    }

    /// Median and quartiles of a ratio, or why there are none.
    fn told(&self, ratio: Quartiles) -> String {
        match self.over {
            Some(seconds) if self.costs.is_empty() => format!("over {seconds} s"),
            Some(seconds) => format!("{}, then over {seconds} s", spread(ratio)),
            None => spread(ratio),
        }
    }
}

/// Fails if there is no Valgrind.
pub(crate) fn check() -> Outcome<()> {
    match first_line("valgrind", &["--version"]) {
        Some(_) => Ok(()),
        None => Err(Stop::missing("valgrind cannot be run; install valgrind")),
    }
}

impl Subject {
    /// One run of the native build under a tool. `Some` is what it cost and the file of its output, unless it took too long.
    pub(crate) fn watched(
        &self,
        tool: Tool,
        watched: &mut Watched,
        manner: Manner,
    ) -> Outcome<Option<String>> {
        if watched.over.is_some() {
            return Ok(None);
        }
        let before = words(&["valgrind", &format!("--tool={}", tool.name())]);
        let mut run = self.run(Build::Native, before, manner);
        let output = format!("{}.{}", self.output, tool.name());
        run.output = run.folder.join(&output);
        run.messages = run.folder.join(format!("{}.{}.messages", self.name, tool.name()));
        let cost = run.measure()?;
        if cost.code != 0 && cost.elapsed >= manner.timeout.as_secs_f64() {
            watched.over = Some(manner.timeout.as_secs());
            return Ok(None);
        }
        run.ended(cost, &[0])?;
        let messages = fs::read(&run.messages).unwrap_or_default();
        watched.races = watched.races.max(tool.races_in(&String::from_utf8_lossy(&messages)));
        watched.costs.push(cost);
        Ok(Some(output))
    }
}

/// Time, memory and races of both tools beside the others.
pub(crate) fn table(comparisons: &[Comparison]) -> String {
    let columns: Vec<String> = Tool::ALL
        .iter()
        .flat_map(|tool| {
            let name = tool.title();
            [
                format!("{name} / native, CPU"),
                format!("deadheat / {name}, CPU"),
                format!("deadheat / {name}, elapsed"),
                format!("peak MiB: {name}"),
                format!("races: {name}"),
            ]
        })
        .collect();
    let mut head = vec!["program"];
    head.extend(columns.iter().map(String::as_str));
    let mut table = Table::new(&head);
    let mut means = [const { Vec::new() }; Tool::ALL.len()];
    for c in comparisons {
        let mut row = vec![c.name.clone()];
        for (watched, means) in c.watched.iter().zip(&mut means) {
            let ratios = [
                Comparison::cpu_ratio(&watched.costs, &c.native),
                Comparison::cpu_ratio(&c.record, &watched.costs),
                Comparison::elapsed_ratio(&c.record, &watched.costs),
            ];
            if !watched.costs.is_empty() {
                means.push(ratios.map(|ratio| ratio.median));
            }
            row.extend(ratios.map(|ratio| watched.told(ratio)));
            row.push(mebibytes(Quartiles::of(each(&watched.costs, |cost| cost.peak)).median));
            row.push(if watched.costs.is_empty() { "-".to_owned() } else { watched.races.to_string() });
        }
        table.row(row);
    }
    let mut row = vec!["geometric mean of those that ended".to_owned()];
    for means in means {
        for which in 0..3 {
            let ratios: Vec<f64> = means.iter().map(|medians| medians[which]).collect();
            row.push(format!("**{}**", short(geometric_mean(&ratios))));
        }
        row.extend([String::new(), String::new()]);
    }
    table.row(row);
    table.markdown()
}

/// Valgrind's version, as it tells it.
pub(crate) fn version() -> String {
    first_line::<OsString>("valgrind", &["--version".into()]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn races_are_counted_as_each_tool_words_them() {
        let helgrind = "==1== Possible data race during write of size 4 at 0x1 by thread #3\n\
                        ==1== This conflicts with a previous write of size 4 by thread #2\n\
                        ==1== Possible data race during read of size 4 at 0x1 by thread #1\n";
        assert_eq!((Tool::Helgrind.races_in(helgrind), Tool::Drd.races_in(helgrind)), (2, 0));
        let drd = "==1== Conflicting store by thread 3 at 0x1 size 4\n==1== Other segment start (thread 2)\n";
        assert_eq!((Tool::Drd.races_in(drd), Tool::Helgrind.races_in(drd)), (1, 0));
    }

    #[test]
    fn a_tool_that_takes_too_long_is_told_so() {
        let cost = |cpu| Cost { cpu, elapsed: cpu, peak: 2048.0, code: 0 };
        let comparison = Comparison {
            name: "sort".to_owned(),
            native: vec![cost(1.0), cost(1.0)],
            record: vec![cost(10.0), cost(10.0)],
            watched: vec![
                Watched { costs: vec![cost(40.0), cost(40.0)], over: None, races: 2 },
                Watched { costs: Vec::new(), over: Some(300), races: 0 },
            ],
            ..Comparison::default()
        };
        let text = table(&[comparison]);
        let row = text.lines().nth(2).unwrap_or_default();
        assert_eq!(
            row,
            "| sort | 40.0 (40.0 to 40.0) | 0.25 (0.25 to 0.25) | 0.25 (0.25 to 0.25) | 2.00 | 2 \
             | over 300 s | over 300 s | over 300 s | - | - |"
        );
        assert!(
            text.ends_with("| **40.0** | **0.25** | **0.25** |  |  | **-** | **-** | **-** |  |  |\n"),
            "{text}"
        );
    }
}
