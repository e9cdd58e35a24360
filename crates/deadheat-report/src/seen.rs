//! Which of a run's programs showed what is told: a reader of a suite asks which test to start again.
//!
//! Invariant: one row for each command, and no more than [`MOST_COMMANDS`].

use serde::{Deserialize, Serialize};

use crate::model::Run;

/// How many commands are remembered of one race or finding.
pub const MOST_COMMANDS: usize = 64;
/// How many of them are told in a text.
const MOST_TOLD: usize = 4;
/// Commands are told up to so many characters.
const LONG: usize = 96;

/// A program of a run that had several, with its arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SeenIn {
    /// The program's path, as it was started.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How many processes of this command showed it.
    pub processes: u64,
    /// How often they did, all together.
    pub count: u64,
}

impl SeenIn {
    /// What the one process of a run saw `count` times.
    #[must_use]
    pub fn of(run: &Run, count: u64) -> Self {
        let (program, arguments) = (run.program.clone(), run.arguments.clone());
        SeenIn { program, arguments, processes: 1, count }
    }

    fn command(&self) -> String {
        let words: Vec<&str> =
            [&self.program].into_iter().chain(&self.arguments).map(String::as_str).collect();
        let command = words.join(" ");
        match command.char_indices().nth(LONG) {
            Some((end, _)) => format!("{}…", &command[..end]),
            None => command,
        }
    }
}

/// Adds what other processes saw of the same.
pub(crate) fn join(rows: &mut Vec<SeenIn>, others: Vec<SeenIn>) {
    for other in others {
        let same = |row: &SeenIn| (&row.program, &row.arguments) == (&other.program, &other.arguments);
        if let Some(at) = rows.iter().position(same) {
            rows[at].processes += other.processes;
            rows[at].count += other.count;
        } else if rows.len() < MOST_COMMANDS {
            rows.push(other);
        }
    }
}

/// In which commands something was seen, in words; `None` if the run had one program alone.
pub(crate) fn told(rows: &[SeenIn]) -> Option<String> {
    let one = |row: &SeenIn| {
        let processes =
            if row.processes > 1 { format!(" ({} processes)", row.processes) } else { String::new() };
        format!("`{}`{processes}", row.command())
    };
    let mut commands: Vec<String> = rows.iter().take(MOST_TOLD).map(one).collect();
    let left = rows.len().saturating_sub(MOST_TOLD);
    if left > 0 {
        commands.push(if rows.len() < MOST_COMMANDS {
            format!("{left} more")
        } else {
            "many more".to_owned()
        });
    }
    let last = commands.pop()?;
    Some(if commands.is_empty() { last } else { format!("{} and {last}", commands.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::{MOST_COMMANDS, SeenIn, join, told};

    fn row(program: &str, arguments: &[&str]) -> SeenIn {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        SeenIn { program: program.to_owned(), arguments, processes: 1, count: 2 }
    }

    #[test]
    fn a_command_has_one_row() {
        let mut rows = vec![row("./a", &["1"])];
        join(&mut rows, vec![row("./a", &["2"]), row("./a", &["1"])]);
        assert_eq!(rows, [SeenIn { processes: 2, count: 4, ..row("./a", &["1"]) }, row("./a", &["2"])]);
        assert_eq!(told(&rows).as_deref(), Some("`./a 1` (2 processes) and `./a 2`"));
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn many_commands_are_cut() {
        let mut rows = Vec::new();
        join(&mut rows, (0..6).map(|number| row("t", &[&number.to_string()])).collect());
        assert_eq!(told(&rows).as_deref(), Some("`t 0`, `t 1`, `t 2`, `t 3` and 2 more"));
        join(&mut rows, (0..1000).map(|number| row("t", &[&number.to_string()])).collect());
        assert_eq!(rows.len(), MOST_COMMANDS);
        assert_eq!(
            told(&rows).as_deref(),
            Some(
                "`t 0` (2 processes), `t 1` (2 processes), `t 2` (2 processes), `t 3` (2 processes) and many more"
            )
        );
        assert_eq!(told(&[row("t", &[&"ä".repeat(200)])]), Some(format!("`t {}…`", "ä".repeat(94))));
    }
}
