//! Files named without the beginning of their paths, where it says nothing to who reads of them.

use std::collections::HashMap;
use std::io;

use serde_json::Value;

use crate::control::changed;
use crate::model::Report;
use crate::source::Sources;

/// The names that files had, by those that they have now.
#[derive(Default)]
pub struct Names(HashMap<String, String>);

impl Names {
    /// The text of the files, whatever they are called now.
    #[must_use]
    pub fn sources<'a>(&'a self, real: Box<dyn Sources + 'a>) -> Box<dyn Sources + 'a> {
        Box::new(Renamed { names: self, real })
    }
}

struct Renamed<'a> {
    names: &'a Names,
    real: Box<dyn Sources + 'a>,
}

impl Sources for Renamed<'_> {
    fn text(&self, file: &str) -> Option<String> {
        self.real.text(self.names.0.get(file).map_or(file, String::as_str))
    }
}

/// The reports with each file's path from where `prefix` ends in it, as ThreadSanitizer's `strip_path_prefix` has it; and what they were called.
///
/// # Errors
/// None: what is a report's is JSON.
pub fn strip(reports: &[Report], prefix: &str) -> io::Result<(Vec<Report>, Names)> {
    let mut names = HashMap::new();
    let reports = changed(reports, &mut |value| strip_all(value, prefix, &mut names))?;
    Ok((reports, Names(names)))
}

fn strip_all(value: &mut Value, prefix: &str, names: &mut HashMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(path) if key == "file" => {
                        if let Some(rest) = stripped(path, prefix) {
                            let short = rest.to_owned();
                            names.insert(short.clone(), std::mem::replace(path, short));
                        }
                    }
                    field => strip_all(field, prefix, names),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| strip_all(value, prefix, names)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is left of a path; `None` if that is all of it, or nothing.
fn stripped<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    let (_, rest) = path.split_once(prefix)?;
    let rest = rest.strip_prefix("./").unwrap_or(rest);
    (rest.len() < path.len() && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_where_the_prefix_ends() {
        for (path, prefix, left) in [
            ("/src/project/src/a.c", "/src/project/", Some("src/a.c")),
            ("/src/project/./a.c", "/project/", Some("a.c")),
            ("/src/project/a.c", "/elsewhere/", None),
            ("/src/a.c", "/src/a.c", None),
            ("a.c", "", None),
        ] {
            assert_eq!(stripped(path, prefix), left, "{path} without {prefix}");
        }
    }
}
