//! `deadheat cc` and `deadheat c++`: drop-in compilers.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::compiler::{self, Language};
use crate::exit::{Exit, Failure};

/// What the compiler is given. Nothing here is an option of deadheat's.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// What the compiler is given, unchanged
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl Args {
    /// The call that these arguments mean.
    pub(crate) fn call(self, language: Language) -> Call {
        Call { language, arguments: self.arguments }
    }
}

/// One call of a compiler.
pub(crate) struct Call {
    language: Language,
    arguments: Vec<OsString>,
}

/// Whether this process was started as a compiler: `deadheat cc …`, or under the name
/// `deadheat-cc`. Such a command line is the compiler's and is not looked at by our own parser.
pub(crate) fn as_compiler(arguments: &[OsString]) -> Option<Call> {
    let by_name = |name: &OsStr, c: &str, cxx: &str| {
        if name == c {
            Some(Language::C)
        } else if name == cxx {
            Some(Language::Cxx)
        } else {
            None
        }
    };
    let name = Path::new(arguments.first()?).file_name()?;
    if let Some(language) = by_name(name, "deadheat-cc", "deadheat-c++") {
        return Some(Call { language, arguments: arguments[1..].to_vec() });
    }
    let language = by_name(arguments.get(1)?, "cc", "c++")?;
    Some(Call { language, arguments: arguments[2..].to_vec() })
}

/// Runs the real compiler in this process's place.
pub(crate) fn run(call: Call) -> Result<Exit, Failure> {
    Err(compiler::replace_process(call.language, &call.arguments))
}
