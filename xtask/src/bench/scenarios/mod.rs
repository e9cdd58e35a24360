//! The races of `spec/programs/prediction`: what each analysis finds from one run, recorded in the order that stands beside the
//! program, and what Helgrind and ThreadSanitizer find in free runs, on average.
//!
//! The evaluation of the paper on predicting and witnessing races by process algebra, rebuilt; its only table beside ours.
//! All builds are of one compiler, without optimisation. What is found is compared with the marks by the two accesses, for the other
//! tools by their two lines; what is told and not marked is counted apart and listed.

mod peers;
mod scenario;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::marks::Side;
use super::measure::Run;
use super::options::Options;
use super::table::{Table, short};
use super::tools::{self, LINES, Tools, make_folder, root, words};
use super::{Outcome, Stop};
use peers::{Lines, Peer};
use scenario::Scenario;

/// Free runs of each other tool.
pub(super) const RUNS: usize = 10;

/// The analyses of which the table has a column; it has the columns of others if `--by` names them.
const ANALYSES: [&str; 6] = ["hb", "shb", "lockset", "sync-preserving", "sync-reversal", "csp"];

/// The row of the paper's table 1: scenarios, lines of code, real races, events, checks, races, races that Helgrind found.
const PAPER: [&str; 7] = ["20", "952", "14", "20289", "28", "14", "11"];

/// What an analysis found in a scenario's recording.
struct Found {
    /// Marked races.
    real: usize,
    /// What is not marked.
    other: Vec<[Side; 2]>,
    /// How many refinements it checked, if it checks refinements and says so in the report's summary.
    checks: Option<u64>,
    /// How many seconds the command took from its start to its end, reading the trace and telling the races with the rest.
    seconds: f64,
}

/// What a tool found in free runs of a scenario.
#[derive(Default)]
struct Seen {
    /// Marked races, by run.
    real: Vec<usize>,
    /// What is not marked: in how many runs.
    other: BTreeMap<Lines, usize>,
}

/// What came of one scenario.
struct Row {
    scenario: Scenario,
    events: u64,
    found: Vec<Found>,
    seen: Vec<Seen>,
}

/// Builds, records, analyses and runs the scenarios, and prints the tables.
pub(super) fn run(options: &Options) -> Outcome<()> {
    super::valgrind::check()?;
    let tools = Tools::find(options)?;
    let by: Vec<String> = match options.by.as_slice() {
        [] => ANALYSES.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/scenarios"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let mut provenance = tools.provenance(options);
    provenance["valgrind"] = json!(super::valgrind::version());
    let mut rows = Vec::new();
    for scenario in scenario::all()? {
        if options.wants(&scenario.name) {
            eprintln!("bench: {}", scenario.name);
            let place = folder.join(&scenario.name);
            make_folder(&place)?;
            rows.push(Bench { tools: &tools, options, folder: place }.row(scenario, &by)?);
        }
    }
    if rows.is_empty() {
        return Err(Stop::usage("no scenario of that name; spec/programs/prediction has them"));
    }
    let all: Vec<Value> = rows.iter().map(|row| row.json(&by)).collect();
    let whole = json!({"provenance": &provenance, "runs": options.pairs, "scenarios": all});
    tools::write(&folder.join("scenarios.json"), format!("{whole:#}\n"))?;
    println!(
        "{} Built with -O0; {} free runs under {} and TSan.\n",
        tools::machine(&provenance),
        options.pairs,
        super::valgrind::version()
    );
    println!("{}", in_the_papers_form(&rows, &by).markdown());
    println!("{}", by_scenario(&rows, &by).markdown());
    print!("{}{}", slowest(&rows, &by), unmarked(&rows, &by));
    Ok(())
}

/// Records each scenario in its order, in a folder of its own; gives names and recordings.
pub(super) fn recorded(
    tools: &Tools,
    options: &Options,
    folder: &std::path::Path,
) -> Outcome<Vec<(String, PathBuf)>> {
    let mut all = Vec::new();
    for scenario in scenario::all()? {
        let place = folder.join(&scenario.name);
        make_folder(&place)?;
        let trace = place.join("t.dh");
        Bench { tools, options, folder: place }.record(&scenario)?;
        all.push((scenario.name, trace));
    }
    Ok(all)
}

/// Where one scenario is worked on.
struct Bench<'a> {
    tools: &'a Tools,
    options: &'a Options,
    folder: PathBuf,
}

impl Bench<'_> {
    fn row(&self, scenario: Scenario, by: &[String]) -> Outcome<Row> {
        self.record(&scenario)?;
        let (mut found, mut events) = (Vec::new(), 0);
        for analysis in by {
            let (report, seconds) = self.analyze(analysis)?;
            let line = |sort: &str| {
                let lines = report.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                lines.into_iter().find(|line| line["type"] == sort).unwrap_or_default()
            };
            events = line("run")["events"].as_u64().unwrap_or_default();
            let told = scenario.marks.told(&report);
            let real = told.intersection(scenario.marks.races()).count();
            let other = told.difference(scenario.marks.races()).cloned().collect();
            if scenario.told.get(analysis).is_some_and(|&says| says != real) {
                eprintln!(
                    "bench: {}: {analysis} finds {real}, which is not what the program says",
                    scenario.name
                );
            }
            found.push(Found { real, other, checks: line("summary")["checks"].as_u64(), seconds });
        }
        let seen = Peer::ALL.iter().map(|&peer| self.watch(&scenario, peer)).collect::<Outcome<_>>()?;
        Ok(Row { scenario, events, found, seen })
    }

    /// Compiles for deadheat and records one run in the scenario's order.
    fn record(&self, scenario: &Scenario) -> Outcome<()> {
        let deadheat = self.tools.deadheat.as_os_str();
        let mut build = words(&[deadheat]);
        build.extend(words(&["cc", "-O0", LINES, "-pthread", "-o", "recorded"]));
        build.push(scenario.source.clone().into_os_string());
        self.run("build", build).expect(&[0])?;
        let mut record = words(&[deadheat]);
        record.extend(words(&["record", "-o", "t.dh", "--order-patience", "300s", "--order"]));
        record.push(scenario.source.with_extension("order").into_os_string());
        record.extend(words(&["--", "./recorded"]));
        let run = self.run("record", record);
        run.expect(&[0])?;
        match read(&run.messages)? {
            messages if messages.contains("warning") => {
                Err(Stop::failed(format!("{}: the order was not kept\n{messages}", scenario.name)))
            }
            _ => Ok(()),
        }
    }

    /// The report of an analysis of the recording, and how many seconds that took.
    fn analyze(&self, analysis: &str) -> Outcome<(String, f64)> {
        let mut analyze = words(&[self.tools.deadheat.as_os_str()]);
        analyze.extend(words(&[
            "analyze",
            "t.dh",
            "--format",
            "json",
            "--fail-on",
            "proved",
            "--by",
            analysis,
        ]));
        let run = self.run("analyze", analyze);
        let cost = run.expect(&[0])?;
        Ok((read(&run.output)?, cost.elapsed))
    }

    /// Compiles for another tool and runs the program freely under it, as often as was asked for.
    fn watch(&self, scenario: &Scenario, peer: Peer) -> Outcome<Seen> {
        let mut build = words(&[self.tools.cc.as_str(), "-O0", "-pthread", "-o", peer.name()]);
        build.extend(words(peer.flags()));
        build.push(scenario.source.clone().into_os_string());
        self.run("build", build).expect(&[0])?;
        let mut command = peer.before();
        command.push(format!("./{}", peer.name()).into());
        let run = self.run(&format!("run-{}", peer.name()), command);
        let file = format!("{}.c", scenario.name);
        let mut seen = Seen::default();
        for _ in 0..self.options.pairs {
            run.expect(peer.codes())?;
            let messages = read(&run.messages)?;
            if let Some(line) = peer.failure(&messages) {
                return Err(Stop::failed(format!(
                    "{}: {} watched nothing: {line}",
                    scenario.name,
                    peer.name()
                )));
            }
            seen.add(&scenario.lines_of_races(), peer.told(&messages, &file));
        }
        Ok(seen)
    }

    fn run(&self, name: &str, words: Vec<OsString>) -> Run {
        let removed = ["DEADHEAT_WIRE", "DEADHEAT_OPTIONS", "TSAN_OPTIONS"].map(|name| (name, None));
        let compiler = ("DEADHEAT_CC", Some(OsString::from(&self.tools.cc)));
        Run {
            words,
            environment: removed.into_iter().chain([compiler]).collect(),
            folder: self.folder.clone(),
            output: self.folder.join(format!("{name}.out")),
            messages: self.folder.join(format!("{name}.err")),
            timeout: self.options.timeout,
        }
    }
}

fn read(path: &Path) -> Outcome<String> {
    let bytes = fs::read(path).map_err(|e| Stop::failed(format!("cannot read {}: {e}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Seen {
    fn add(&mut self, marked: &[Lines], told: impl IntoIterator<Item = Lines>) {
        let mut real = 0;
        for lines in told {
            if marked.contains(&lines) {
                real += 1;
            } else {
                *self.other.entry(lines).or_default() += 1;
            }
        }
        self.real.push(real);
    }

    /// Marked races in a run, on average.
    fn average(&self) -> f64 {
        self.real.iter().sum::<usize>() as f64 / self.real.len() as f64
    }
}

impl Row {
    fn json(&self, by: &[String]) -> Value {
        let sides = |[one, other]: &[Side; 2]| json!([{"line": one.0, "op": one.1}, {"line": other.0, "op": other.1}]);
        let found = by.iter().zip(&self.found).map(|(name, found)| {
            let other: Vec<Value> = found.other.iter().map(sides).collect();
            (name.clone(), json!({"races": found.real, "unmarked": other, "checks": found.checks, "seconds": found.seconds}))
        });
        let seen = Peer::ALL.iter().zip(&self.seen).map(|(peer, seen)| {
            let other: Vec<Value> =
                seen.other.iter().map(|(lines, runs)| json!({"lines": lines, "runs": runs})).collect();
            (peer.name().to_owned(), json!({"races": seen.real, "unmarked": other}))
        });
        json!({
            "name": self.scenario.name, "lines": self.scenario.lines, "marked": self.scenario.marks.count(),
            "events": self.events, "found": found.collect::<serde_json::Map<_, _>>(),
            "seen": seen.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// The paper's table 1, its row and ours: one for each analysis.
fn in_the_papers_form(rows: &[Row], by: &[String]) -> Table {
    let mut table = Table::new(&[
        "",
        "Scenarios",
        "LOC",
        "Real races",
        "Trace size",
        "Checks",
        "Races",
        "unmarked",
        "HG-Races",
        "TSan-Races",
    ]);
    let mut paper: Vec<String> = PAPER.map(str::to_owned).to_vec();
    paper.insert(6, "–".to_owned());
    table.row([vec!["the paper".to_owned()], paper, vec!["–".to_owned()]].concat());
    let total = |figure: &dyn Fn(&Row) -> usize| rows.iter().map(figure).sum::<usize>().to_string();
    let average = |peer: usize| short(rows.iter().map(|row| row.seen[peer].average()).sum::<f64>());
    for (number, name) in by.iter().enumerate() {
        let checks: Option<Vec<u64>> = rows.iter().map(|row| row.found[number].checks).collect();
        table.row(vec![
            format!("`{name}`"),
            rows.len().to_string(),
            total(&|row| row.scenario.lines),
            total(&|row| row.scenario.marks.count()),
            total(&|row| row.events as usize),
            checks.map_or_else(|| "–".to_owned(), |checks| checks.iter().sum::<u64>().to_string()),
            total(&|row| row.found[number].real),
            total(&|row| row.found[number].other.len()),
            average(0),
            average(1),
        ]);
    }
    table
}

/// A row for each scenario.
fn by_scenario(rows: &[Row], by: &[String]) -> Table {
    let checking = |number: &usize| rows.iter().any(|row| row.found[*number].checks.is_some());
    let checking: Vec<usize> = (0..by.len()).filter(checking).collect();
    let mut head = ["scenario", "LOC", "real races", "events"].map(str::to_owned).to_vec();
    head.extend(checking.iter().map(|&number| format!("checks of {}", by[number])));
    head.extend(by.iter().cloned());
    head.extend(Peer::ALL.map(|peer| peer.title().to_owned()));
    let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for row in rows {
        let Scenario { name, lines, marks, .. } = &row.scenario;
        let mut cells =
            vec![name.clone(), lines.to_string(), marks.count().to_string(), row.events.to_string()];
        let checks =
            |&number: &usize| row.found[number].checks.map_or_else(|| "–".to_owned(), |n| n.to_string());
        cells.extend(checking.iter().map(checks));
        cells.extend(row.found.iter().map(|found| match found.other.len() {
            0 => found.real.to_string(),
            other => format!("{} + {other}", found.real),
        }));
        cells.extend(row.seen.iter().map(|seen| short(seen.average())));
        table.row(cells);
    }
    table
}

/// Of each analysis the scenario that took longest, a line each.
fn slowest(rows: &[Row], by: &[String]) -> String {
    let mut text = String::new();
    for (number, name) in by.iter().enumerate() {
        let seconds = |row: &Row| row.found[number].seconds;
        let longest = rows.iter().max_by(|one, other| seconds(one).total_cmp(&seconds(other)));
        text += &longest.map_or_else(String::new, |row| {
            format!("- `{name}` took at most {:.3} s, for `{}`\n", seconds(row), row.scenario.name)
        });
    }
    text
}

/// What was told and is not marked, a line each.
fn unmarked(rows: &[Row], by: &[String]) -> String {
    let mut text = String::new();
    for row in rows {
        let name = &row.scenario.name;
        for (analysis, found) in by.iter().zip(&row.found) {
            for [(one, does), (other, doing)] in &found.other {
                text += &format!("- `{name}`, lines {one} ({does}) and {other} ({doing}): `{analysis}`\n");
            }
        }
        for (peer, seen) in Peer::ALL.iter().zip(&row.seen) {
            for ([one, other], runs) in &seen.other {
                let of = seen.real.len();
                text += &format!(
                    "- `{name}`, lines {one} and {other}: {} in {runs} of {of} runs\n",
                    peer.title()
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "docs/csp-witness.md";

    /// The rows of the document's table by scenario, each by its columns' names.
    fn documented() -> Vec<BTreeMap<String, String>> {
        let text = fs::read_to_string(root().join(DOCUMENT)).expect("the document is there");
        let cells = |line: &str| -> Vec<String> {
            line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
        };
        let mut lines = text.lines().skip_while(|line| !line.starts_with("| scenario |"));
        let head = cells(lines.next().expect("the table by scenario"));
        let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
        rows.map(|row| head.iter().cloned().zip(cells(row)).collect()).collect()
    }

    #[test]
    fn the_document_says_what_the_scenarios_say() {
        let scenarios = scenario::all().unwrap_or_else(|stop| panic!("{}", stop.why));
        let rows = documented();
        let names: Vec<&str> = rows.iter().map(|row| row["scenario"].as_str()).collect();
        let wanted: Vec<&str> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        assert_eq!(names, wanted, "{DOCUMENT} has a row for each scenario");
        let mut wrong = Vec::new();
        for (row, scenario) in rows.iter().zip(&scenarios) {
            let mut wanted = scenario.told.clone();
            wanted.insert("LOC".to_owned(), scenario.lines);
            wanted.insert("real races".to_owned(), scenario.marks.count());
            for (column, count) in wanted {
                let told = row.get(&column).map_or("no column", String::as_str);
                if told != count.to_string() {
                    wrong.push(format!("{}, {column}: {told}, not {count}", scenario.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{DOCUMENT}: {wrong:#?}");
    }

    #[test]
    fn refinements_are_told_where_an_analysis_counts_them() {
        let source = Path::new("p.c");
        let found = |checks| Found { real: 1, other: Vec::new(), checks, seconds: 0.25 };
        let row = |checks| Row {
            scenario: Scenario::of(source, "x = 1; //~ race 1: write, race 1: write\n"),
            events: 7,
            found: vec![found(None), found(checks)],
            seen: vec![
                Seen { real: vec![0, 1], ..Seen::default() },
                Seen { real: vec![0], ..Seen::default() },
            ],
        };
        let by = ["hb", "csp"].map(str::to_owned);
        let rows = [row(Some(2)), row(Some(3))];
        let text = in_the_papers_form(&rows, &by).markdown();
        assert!(text.ends_with("| `csp` | 2 | 2 | 2 | 14 | 5 | 2 | 0 | 1.00 | 0.00 |\n"), "{text}");
        let text = by_scenario(&rows, &by).markdown();
        let head = "| scenario | LOC | real races | events | checks of csp | hb | csp | Helgrind | TSan |\n";
        assert!(
            text.starts_with(head) && text.ends_with("| p | 1 | 1 | 7 | 3 | 1 | 1 | 0.50 | 0.00 |\n"),
            "{text}"
        );
        let mut rows = rows;
        rows[1].found[1].seconds = 0.5;
        let text = slowest(&rows, &by);
        assert!(
            text.contains("took at most 0.250 s")
                && text.ends_with("- `csp` took at most 0.500 s, for `p`\n")
        );
        let text = by_scenario(&[row(None)], &by).markdown();
        assert!(
            text.starts_with("| scenario | LOC | real races | events | hb | csp | Helgrind | TSan |\n"),
            "{text}"
        );
    }

    #[test]
    fn what_is_not_marked_is_counted_apart() {
        let mut seen = Seen::default();
        seen.add(&[[1, 2], [2, 3]], [[1, 2], [4, 4]]);
        seen.add(&[[1, 2], [2, 3]], [[4, 4]]);
        assert_eq!((seen.average(), seen.other), (0.5, BTreeMap::from([([4, 4], 2)])));
    }
}
