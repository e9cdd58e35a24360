//! SARIF 2.1.0: what code scanning services and editors read.
//!
//! A result is a race: its place is the later access's, the earlier one's is related, and its code flow has
//! one thread flow for each of the two, from the thread's outermost call to its access. Of a predicted race the operations before that
//! are told, too, each with its place in the order (`executionOrder`), and those of other threads in flows of their own. A result is
//! known over runs by the race's id. A finding is a result, too: its other places are related, and its code flow has one thread flow
//! for each thread, to all that it did there. Files below the root are told relative to it, with `/`.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::format::Style;
use crate::group::key_frame;
use crate::model::{Finding, Frame, Location, Race, Report, Thread};
use crate::place::Place;
use crate::reordering::Reordering;
use crate::side::{Side, by_thread};
use crate::text::{self, columns, words};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of the place that relative files are relative to.
const ROOT: &str = "SRCROOT";
/// What a result's fingerprint is called; the number counts ways of making it.
const FINGERPRINT: &str = "deadheatId/v1";
/// How many frames of a stack are told: services refuse a flow of more than some thousand places.
const MOST_FRAMES: usize = 100;

/// The rule of races.
const RACE: &str = "data-race";

/// Writes reports as one log, a run for each.
///
/// # Errors
/// The stream cannot be written to.
pub fn write(reports: &[Report], style: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let runs: Vec<Value> = reports.iter().map(|report| run(report, style)).collect();
    let log = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": runs });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    out.write_all(b"\n")
}

fn run(report: &Report, style: &Style<'_>) -> Value {
    let at = Places { folder: &report.run.folder, style };
    let mut rules = vec![json!({
        "id": RACE,
        "name": "DataRace",
        "shortDescription": { "text": "Two threads access the same memory, one of them writes, and nothing orders them." },
        "fullDescription": { "text": "A data race is undefined behaviour in C, C++ and Rust. Order the two accesses, \
            by a lock that both hold or by waiting for one before the other, or make both atomic." },
        "defaultConfiguration": { "level": "error" },
    })];
    let mut kinds: Vec<&str> = report.findings.iter().map(|finding| finding.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    rules.extend(kinds.iter().map(|kind| json!({ "id": kind, "shortDescription": { "text": kind } })));
    let races = report.races.iter().map(|race| at.race(race));
    let results: Vec<Value> =
        races.chain(report.findings.iter().map(|finding| at.finding(finding))).collect();
    let notes = report.summary.notes.iter();
    let notes: Vec<Value> =
        notes.map(|note| json!({ "level": "note", "message": { "text": note } })).collect();
    json!({
        "tool": { "driver": { "name": "deadheat", "version": report.run.deadheat, "rules": rules } },
        "invocations": [{
            "executionSuccessful": true,
            "commandLine": command_line(report),
            "arguments": report.run.arguments,
            "toolExecutionNotifications": notes,
        }],
        "originalUriBaseIds": { ROOT: { "uri": format!("{}/", file_uri(&style.root.to_string_lossy())) } },
        "columnKind": "utf16CodeUnits",
        "results": results,
    })
}

fn command_line(report: &Report) -> String {
    let mut words = vec![report.run.program.as_str()];
    words.extend(report.run.arguments.iter().map(String::as_str));
    words.join(" ")
}

/// Places of one run.
struct Places<'a, 's> {
    folder: &'a str,
    style: &'a Style<'s>,
}

impl Places<'_, '_> {
    fn race(&self, race: &Race) -> Value {
        let [earlier, later] = race.accesses.each_ref().map(Side::of);
        let message = format!(
            "{}: data race on {}: {}; {}.",
            race.grade.shown(),
            text::on_what(race),
            later.what,
            earlier.what,
        );
        let mut result = json!({
            "ruleId": RACE,
            "ruleIndex": 0,
            "level": race.grade.level(),
            "message": { "text": message },
            "locations": self.places(key_frame(later.frames)),
            "relatedLocations": self.related(std::slice::from_ref(&earlier), &race.threads, &race.location),
            "codeFlows": [{ "threadFlows": self.flows(race) }],
            "stacks": [self.stack(&later), self.stack(&earlier)],
            "occurrenceCount": race.count.max(1),
            "partialFingerprints": { FINGERPRINT: race.id },
            "properties": { "id": race.id, "grade": race.grade.name(), "by": race.by },
        });
        if race.accesses.iter().any(|access| access.frames.is_empty()) {
            // A flow without a place says nothing, and is not allowed.
            if let Some(result) = result.as_object_mut() {
                result.remove("codeFlows");
            }
        }
        result
    }

    fn finding(&self, finding: &Finding) -> Value {
        let Finding { kind, grade, message, frames, threads, location, .. } = finding;
        let mut sides = Side::all(finding);
        sides.retain(|side| !words::visible(side.frames).is_empty());
        let flows: Vec<Value> = by_thread(&sides).iter().map(|own| self.flow(own)).collect();
        // The one where the finding is told to be comes first, and has the result's place.
        sides.sort_by_key(|side| *side.frames != frames[..]);
        let mut result = json!({
            "ruleId": kind,
            "level": grade.unwrap_or_default().level(),
            "message": { "text": words::graded(finding, message) },
            "locations": self.places(key_frame(sides.first().map_or(frames, |side| side.frames))),
            "occurrenceCount": finding.count.max(1),
        });
        let stacks = sides.iter().map(|side| self.stack(side)).collect();
        let related = self.related(sides.get(1..).unwrap_or_default(), threads, location);
        for (property, values) in [("stacks", stacks), ("relatedLocations", related)] {
            if !values.is_empty() {
                result[property] = Value::Array(values);
            }
        }
        if !flows.is_empty() {
            result["codeFlows"] = json!([{ "threadFlows": flows }]);
        }
        if let Some(grade) = grade {
            result["properties"] = json!({ "grade": grade.name() });
        }
        result
    }

    /// The places beside that of a result: other sides, and where the threads and the memory come from.
    fn related(&self, sides: &[Side<'_>], threads: &[Thread], location: &Location) -> Vec<Value> {
        let mut related: Vec<Value> =
            sides.iter().map(|side| self.said(key_frame(side.frames), &side.what)).collect();
        for row in threads.iter().filter(|row| !row.frames.is_empty()) {
            related.push(self.said(key_frame(&row.frames), &words::who_created(row)));
        }
        if let Some((thread, frames)) = words::made(location)
            && !frames.is_empty()
        {
            related
                .push(self.said(key_frame(frames), &format!("the block was allocated by `{thread}` here")));
        }
        related.retain(|place| !place["physicalLocation"].is_null());
        related.iter_mut().zip(1..).for_each(|(place, number)| place["id"] = json!(number));
        related
    }

    /// How the two threads came to their accesses; of a predicted race also what each thread did before, in the order that
    /// brings the accesses together.
    fn flows(&self, race: &Race) -> Vec<Value> {
        let mut flows: Vec<Value> =
            race.accesses.iter().map(|access| self.flow(&[&Side::of(access)])).collect();
        let Some(reordering) = Reordering::of(race) else { return flows };
        let acts = reordering.operations.as_deref().unwrap_or_default();
        let acts: Vec<_> = (1_u64..).zip(acts).collect();
        for (index, thread) in reordering.threads.iter().enumerate() {
            let own = acts.iter().filter(|(_, act)| act.thread == index && !act.frames.is_empty());
            let mut steps: Vec<Value> = own
                .map(|(number, act)| {
                    json!({
                        "location": self.said(key_frame(&act.frames), &columns::deed(act, &reordering)),
                        "nestingLevel": 0,
                        "executionOrder": number,
                        "importance": "important",
                    })
                })
                .collect();
            if let Some(flow) = flows.get_mut(index) {
                let calls = flow["locations"].as_array_mut().map(std::mem::take).unwrap_or_default();
                steps.extend(calls);
                // The accesses come behind all else, side by side.
                if let Some(access) = steps.last_mut() {
                    access["executionOrder"] = json!(acts.len() + 1);
                }
                flow["locations"] = json!(steps);
            } else if !steps.is_empty() {
                flows.push(
                    json!({ "id": thread, "message": { "text": format!("`{thread}`") }, "locations": steps }),
                );
            }
        }
        flows
    }

    /// How a thread came to its sides, one behind the other; there is at least one.
    fn flow(&self, own: &[&Side<'_>]) -> Value {
        let steps: Vec<Value> = own.iter().flat_map(|side| self.calls(side)).collect();
        json!({ "id": own[0].thread, "message": { "text": own[0].who }, "locations": steps })
    }

    /// How a thread came to a side, from the outermost call on.
    fn calls(&self, side: &Side<'_>) -> Vec<Value> {
        let frames: Vec<&Frame> = words::visible(side.frames).into_iter().take(MOST_FRAMES).collect();
        let steps = frames.iter().enumerate().rev().map(|(depth, frame)| {
            let what = match (depth, &frame.function) {
                (0, _) => side.what.clone(),
                (_, Some(function)) => format!("`{function}` calls"),
                (_, None) => "calls".to_owned(),
            };
            let importance = if depth == 0 { "essential" } else { "unimportant" };
            let mut step = json!({
                "location": self.said(Some(frame), &what),
                "nestingLevel": frames.len() - 1 - depth,
                "importance": importance,
            });
            if let Some(turn) = side.turn.filter(|_| depth == 0) {
                step["executionOrder"] = json!(turn);
            }
            step
        });
        steps.collect()
    }

    fn stack(&self, side: &Side<'_>) -> Value {
        let frames = words::visible(side.frames).into_iter().take(MOST_FRAMES);
        let frames: Vec<Value> = frames
            .map(|frame| {
                let mut told = json!({ "location": self.place(frame) });
                if let Some(module) = &frame.module {
                    told["module"] = json!(module);
                }
                told
            })
            .collect();
        json!({ "message": { "text": side.what }, "frames": frames })
    }

    fn places(&self, frame: Option<&Frame>) -> Vec<Value> {
        frame.map(|frame| self.place(frame)).into_iter().filter(|place| *place != json!({})).collect()
    }

    fn said(&self, frame: Option<&Frame>, message: &str) -> Value {
        let mut place = frame.map_or(json!({}), |frame| self.place(frame));
        place["message"] = json!({ "text": message });
        place
    }

    fn place(&self, frame: &Frame) -> Value {
        let mut place = json!({});
        if let Some(file) = &frame.file {
            let mut physical = json!({ "artifactLocation": self.artifact(file) });
            if let Some(line) = frame.line {
                physical["region"] = json!({ "startLine": line });
                if let Some(column) = frame.column {
                    physical["region"]["startColumn"] = json!(column);
                }
            }
            place["physicalLocation"] = physical;
        }
        if let Some(function) = &frame.function {
            place["logicalLocations"] = json!([{ "fullyQualifiedName": function, "kind": "function" }]);
        }
        place
    }

    fn artifact(&self, file: &str) -> Value {
        match Place::of(file, self.folder, self.style.root) {
            Place::Inside(path) => json!({ "uri": encoded(&path), "uriBaseId": ROOT }),
            Place::Outside(path) => json!({ "uri": file_uri(&path) }),
        }
    }
}

fn file_uri(path: &str) -> String {
    format!("file://{}", encoded(path))
}

/// A path as part of a URI (RFC 3986): all but unreserved characters and `/` by their bytes.
fn encoded(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                text.push(char::from(byte));
            }
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_uri_with_its_bytes_encoded() {
        assert_eq!(encoded("src/a b/ü%.c"), "src/a%20b/%C3%BC%25.c");
        assert_eq!(file_uri("/home/a.c"), "file:///home/a.c");
    }
}
