//! JUnit's XML: a suite for each program, a failed test case for each race and finding, named by what it is
//! known by, so that a dashboard shows which came and which went.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use crate::format::Style;
use crate::model::{Finding, Report};
use crate::text;

/// Writes reports as one document. A program in which nothing was found has one case that passed, or was
/// skipped if nothing could have been found.
///
/// # Errors
/// The stream cannot be written to.
pub fn write(reports: &[Report], style: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Document::new("deadheat");
    for report in reports {
        let sources = (style.sources)(&report.run);
        let mut suite = TestSuite::new(report.run.program.as_str());
        for race in &report.races {
            let what = format!("data race on {}", text::on_what(race));
            suite.add_test_case(failed(
                &format!("{} {what}", race.id),
                (race.grade.shown(), &what),
                &text::plain(race, &*sources),
            ));
        }
        for finding in &report.findings {
            let Finding { kind, message, .. } = finding;
            suite.add_test_case(failed(kind, (kind, message), &text::plain_finding(finding)));
        }
        if report.races.is_empty() && report.findings.is_empty() {
            // What could not race has not passed.
            let ran = report.run.has_accesses() && report.run.threads > 1;
            let status = if ran { TestCaseStatus::success() } else { TestCaseStatus::skipped() };
            suite.add_test_case(TestCase::new("no data race", status));
        }
        suite.set_system_out(report.summary.notes.join("\n"));
        document.add_test_suite(suite);
    }
    // As a text first: what is wrong with the stream is told as the stream tells it.
    out.write_all(document.to_string().map_err(io::Error::other)?.as_bytes())
}

fn failed(name: &str, (kind, message): (&str, &str), text: &str) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(message).set_description(text);
    TestCase::new(name, status)
}
