//! The gate file of one run: written before it, read after it, and gone with this value.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use deadheat_core::{gate, wire};

use super::gatefile::Plan;
use super::outcome::{self, Outcome};
use crate::exit::Failure;

/// A gate file beside a trace.
pub(crate) struct Gate {
    path: PathBuf,
    wire: OsString,
}

impl Gate {
    /// Writes it beside the trace (absolute path) of a run in this mode of the wire.
    pub(crate) fn write(plan: &Plan, trace: &Path, mode: &str) -> Result<Gate, Failure> {
        let mut path = trace.as_os_str().to_owned();
        path.push(gate::ENDING);
        let mut wire = OsString::from(format!("1;mode={mode};gate=1;trace="));
        wire.push(trace);
        let gate = Gate { path: path.into(), wire };
        plan.write(&gate.path)?;
        Ok(gate)
    }

    /// The environment variable that sends a run through it.
    pub(crate) fn variable(&self) -> (OsString, OsString) {
        (wire::ENV.into(), self.wire.clone())
    }

    /// What the run answered.
    pub(crate) fn outcome(&self) -> Result<Outcome, Failure> {
        outcome::read(&self.path)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
