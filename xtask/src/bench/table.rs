//! Tables in Markdown, and numbers as they are told there.

use std::fmt::Write as _;

use super::statistic::Quartiles;

/// A table under construction: the head, then rows of as many cells.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table; the first column is text, the others are numbers.
    pub(crate) fn new(head: &[&str]) -> Table {
        Table { head: head.iter().map(|&cell| cell.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.head.len());
        self.rows.push(cells);
    }

    /// The table's text.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        let mut line = |cells: &[String]| {
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        line(&self.head);
        let mut rule = vec!["---:".to_owned(); self.head.len()];
        rule[0] = "---".to_owned();
        line(&rule);
        for row in &self.rows {
            line(row);
        }
        text
    }
}

/// A median with its quartiles: `1.42 (1.38 to 1.51)`.
pub(crate) fn spread(quartiles: Quartiles) -> String {
    format!("{} ({} to {})", short(quartiles.median), short(quartiles.low), short(quartiles.high))
}

/// A number with about three digits that count.
pub(crate) fn short(value: f64) -> String {
    match value {
        _ if value.is_nan() => "-".to_owned(),
        _ if value.abs() >= 99.5 => format!("{value:.0}"),
        _ if value.abs() >= 9.95 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A count in millions.
pub(crate) fn millions(count: u64) -> String {
    short(count as f64 / 1e6)
}

/// Kibibytes, told in mebibytes.
pub(crate) fn mebibytes(kibibytes: f64) -> String {
    short(kibibytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_rule_and_its_rows() {
        let mut table = Table::new(&["name", "ratio"]);
        table.row(vec!["sort".to_owned(), spread(Quartiles { low: 1.0, median: 12.34, high: 123.4 })]);
        assert_eq!(table.markdown(), "| name | ratio |\n| --- | ---: |\n| sort | 12.3 (1.00 to 123) |\n");
    }
}
