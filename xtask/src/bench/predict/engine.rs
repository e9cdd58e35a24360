//! How many product states the engine searches in a second, on the models of the scenarios and of jigsaw.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::super::table::Table;
use super::super::tools::{make_folder, root};
use super::super::{Outcome, Stop, scenarios};
use super::Bench;

impl Bench<'_> {
    /// Writes the models and lets the engine's own measurement search them.
    pub(super) fn engine(&self) -> Outcome<(Table, Value)> {
        let place = self.folder.join("models");
        make_folder(&place)?;
        let mut groups = vec![("jigsaw", self.models("jigsaw", &self.shared_text("jigsaw")?, &place)?)];
        let mut all = Vec::new();
        for (name, trace) in scenarios::recorded(self.tools, self.options, &self.folder)? {
            all.extend(self.models(&name, &trace, &place)?);
        }
        groups.push(("scenarios", all));
        let mut table = Table::new(&[
            "models of",
            "models",
            "checks",
            "states",
            "bytes a state",
            "compile, CPU s",
            "search, CPU s",
            "M states / CPU s",
        ]);
        let mut whole = json!({});
        for (name, models) in groups {
            let sum = measured(&models)?;
            whole[name] = sum.clone();
            let text = |field: &str| sum[field].as_str().unwrap_or("-").to_owned();
            table.row(vec![
                name.to_owned(),
                models.len().to_string(),
                text("checks"),
                text("states"),
                text("bytes"),
                text("compile"),
                text("search"),
                text("rate"),
            ]);
        }
        Ok((table, whole))
    }

    /// The models of a trace's variables.
    fn models(&self, name: &str, trace: &Path, place: &Path) -> Outcome<Vec<PathBuf>> {
        let mut list = self.words(&["model", "--quiet"]);
        list.push(trace.into());
        let run = self.run("model", list);
        run.expect(&[0])?;
        let text = std::fs::read_to_string(&run.output)
            .map_err(|e| Stop::failed(format!("cannot read {}: {e}", run.output.display())))?;
        let mut models = Vec::new();
        for variable in text.lines().filter_map(|line| line.split_whitespace().next()) {
            let model = place.join(format!("{name}-{variable}.csp"));
            let mut write = self.words(&["model", "--quiet", "--variable", variable, "-o"]);
            write.extend([model.clone().into(), trace.into()]);
            self.run("model", write).expect(&[0])?;
            models.push(model);
        }
        Ok(models)
    }
}

/// What `crates/deadheat-csp/examples/states.rs` says of the models: the last line it prints.
fn measured(models: &[PathBuf]) -> Outcome<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--release", "--quiet", "--package", "deadheat-csp", "--example", "states", "--", "1"])
        .args(models)
        .current_dir(root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| Stop::missing(format!("cannot run cargo: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().next_back().and_then(last_line);
    let sum = last.filter(|_| output.status.success());
    sum.ok_or_else(|| Stop::failed(format!("the example `states` failed:\n{text}")))
}

/// `all: 3 assertions, 1200 states, 14.2 bytes a state, 0.012 s to compile, 0.001 s to search, 3.10 M states a second`.
fn last_line(line: &str) -> Option<Value> {
    let mut parts = line.strip_prefix("all: ")?.split(", ");
    let mut before = |name: &str| parts.next()?.strip_suffix(name).map(str::to_owned);
    let checks = before(" assertions")?;
    let states = before(" states")?;
    let bytes = before(" bytes a state")?;
    let compile = before(" s to compile")?;
    let search = before(" s to search")?;
    let rate = before(" M states a second")?;
    Some(json!({
        "checks": checks, "states": states, "bytes": bytes, "compile": compile, "search": search, "rate": rate,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_has_the_sums() {
        let line = "all: 3 assertions, 1200 states, 14.2 bytes a state, 0.012 s to compile, 0.001 s to search, \
                    3.10 M states a second";
        let sum = last_line(line).unwrap_or_default();
        assert_eq!((&sum["checks"], &sum["states"]), (&json!("3"), &json!("1200")));
        assert_eq!((&sum["compile"], &sum["search"]), (&json!("0.012"), &json!("0.001")));
        assert_eq!((&sum["bytes"], &sum["rate"]), (&json!("14.2"), &json!("3.10")));
        assert_eq!(last_line("4 jobs"), None);
    }
}
