//! `order.h` orders the programs' steps: no detector may see how.

use std::path::Path;
use std::process::Command;

use crate::build::{Compiler, Optimisation};

/// Uses all of the header, and one variable that the compiler must instrument.
const PROGRAM: &str = "#include \"order.h\"\n\
    int value;\n\
    int main(void) { dh_done(1); dh_step(1); dh_leave(2); dh_gone(2); dh_use(value); return 0; }\n";

/// The functions of the header.
const FUNCTIONS: [&str; 4] = ["dh_done", "dh_step", "dh_leave", "dh_gone"];

/// Compiles the header for C and for C++, and looks at the functions' machine code: it calls
/// nothing but the header's other functions.
pub(crate) fn check(root: &Path, compiler: Compiler, optimisation: Optimisation) -> Result<(), String> {
    for (command, language) in [(compiler.c(), "c"), (compiler.cxx(), "c++")] {
        let assembly = compile(command, language, root, optimisation)?;
        let mut function = "";
        let mut seen: Vec<&str> = Vec::new();
        let mut instrumented = false;
        for line in assembly.lines() {
            let code = line.split('#').next().unwrap_or(line).trim_end();
            if let Some(label) = code.strip_suffix(':').filter(|label| !label.starts_with(['.', '\t', ' '])) {
                function = label;
                seen.extend(FUNCTIONS.into_iter().filter(|name| label.contains(name)));
            }
            instrumented |= line.contains("__tsan_read4");
            let hidden = FUNCTIONS.iter().any(|name| function.contains(name));
            let mut words = line.split_whitespace();
            let leaves = match words.next() {
                Some("call" | "callq" | "bl") => true,
                Some("jmp" | "b") => words.next().is_some_and(|target| !target.starts_with('.')),
                _ => false,
            };
            if hidden && leaves && !FUNCTIONS.iter().any(|name| line.contains(name)) {
                return Err(format!("{command}: {function} calls something:{line}"));
            }
        }
        if !instrumented || seen.len() < FUNCTIONS.len() {
            return Err(format!("{command}: the code is not what this test looks for:\n{assembly}"));
        }
    }
    Ok(())
}

fn compile(command: &str, language: &str, root: &Path, optimisation: Optimisation) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("order-{command}{}.{language}", optimisation.flag()));
    std::fs::write(&source, PROGRAM).map_err(|error| error.to_string())?;
    let output = Command::new(command)
        .args(["-S", "-o", "-", "-fsanitize=thread", optimisation.flag(), "-x", language])
        .arg(format!("-I{}", root.display()))
        .arg(&source)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}
