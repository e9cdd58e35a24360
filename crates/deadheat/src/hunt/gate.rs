//! The gate file of one run: written before it, read after it, and gone with this value.

use std::path::{Path, PathBuf};

use deadheat_core::gate;

use super::gatefile::Plan;
use super::outcome::{self, Outcome};
use crate::exit::Failure;

/// A gate file beside a trace.
pub(crate) struct Gate {
    path: PathBuf,
}

impl Gate {
    /// Writes it beside the trace (absolute path) of a run.
    pub(crate) fn write(plan: &Plan, trace: &Path) -> Result<Gate, Failure> {
        let mut path = trace.as_os_str().to_owned();
        path.push(gate::ENDING);
        let gate = Gate { path: path.into() };
        plan.write(&gate.path)?;
        Ok(gate)
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
