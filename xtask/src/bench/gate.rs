//! What a provocation costs in which nothing armed is hit: the kernels, linked to hooks that only
//! return (`bench/hooks`), beside the same kernels provoked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use deadheat_core::{gate, wire};

use super::kernels::{name_of, sources};
use super::measure::Run;
use super::options::Options;
use super::statistic::{Quartiles, geometric_mean};
use super::table::{Table, short, spread};
use super::tools::{self, Tools, make_folder, root};
use super::{Outcome, Stop};

/// Builds and measures the kernels that were asked for, and prints the table.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/bench-gate"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let hooks = folder.join("hooks.o");
    let source = root().join("bench/hooks/hooks.c");
    execute(Command::new(&tools.cc).args(["-O2", "-c", "-o"]).arg(&hooks).arg(&source))?;
    println!("{}", tools::paragraph(&tools.provenance(options)));
    let head = ["program", "hooks only, CPU s", "provoked / hooks, CPU", "provoked / hooks, elapsed"];
    let mut table = Table::new(&head);
    let mut means = (Vec::new(), Vec::new());
    for source in sources(options)? {
        let name = name_of(&source);
        eprintln!("bench: {name}");
        compile(&tools, &source, &hooks, &folder)?;
        let (alone, cpu, elapsed) = compare(options, &folder, &name)?;
        means.0.push(cpu.median);
        means.1.push(elapsed.median);
        table.row(vec![name, short(alone.median), spread(cpu), spread(elapsed)]);
    }
    let mean = |values: &[f64]| format!("**{}**", short(geometric_mean(values)));
    table.row(vec!["geometric mean".to_owned(), String::new(), mean(&means.0), mean(&means.1)]);
    println!("{}", table.markdown());
    Ok(())
}

/// Builds a kernel with hooks that only return, and with the runtime.
fn compile(tools: &Tools, source: &Path, hooks: &Path, folder: &Path) -> Outcome<()> {
    let plus = source.extension().is_some_and(|kind| kind == "cpp");
    let compiler = if plus { &tools.cxx } else { &tools.cc };
    let standard = if plus { "-std=c++17" } else { "-std=gnu11" };
    let flags = [standard, "-O2", "-g", "-pthread"];
    let object = folder.join("kernel.o");
    let name = name_of(source);
    let mut command = Command::new(compiler);
    execute(command.args(flags).args(["-fsanitize=thread", "-c", "-o"]).arg(&object).arg(source))?;
    let mut command = Command::new(compiler);
    execute(
        command.args(["-pthread", "-o"]).arg(folder.join(format!("{name}.hooks"))).arg(&object).arg(hooks),
    )?;
    let mut command = Command::new(&tools.deadheat);
    command.arg(if plus { "c++" } else { "cc" });
    command.env("DEADHEAT_CC", &tools.cc).env("DEADHEAT_CXX", &tools.cxx);
    execute(command.args(flags).arg("-o").arg(folder.join(&name)).arg(source))
}

/// Hooks' processor time, and the ratios of processor and elapsed time.
fn compare(options: &Options, folder: &Path, name: &str) -> Outcome<(Quartiles, Quartiles, Quartiles)> {
    let trace = folder.join(format!("{name}.run"));
    let run = |program: String, wire: Option<std::ffi::OsString>| Run {
        words: tools::words(&[format!("./{program}"), options.threads[0].to_string()]),
        environment: vec![(wire::ENV, wire)],
        folder: folder.to_owned(),
        output: folder.join(format!("{program}.out")),
        messages: folder.join(format!("{program}.err")),
        timeout: options.timeout,
    };
    let mut words = std::ffi::OsString::from("1;mode=provoke;trace=");
    words.push(&trace);
    let (hooks, provoked) = (run(format!("{name}.hooks"), None), run(name.to_owned(), Some(words)));
    let mut costs = (Vec::new(), Vec::new());
    for round in 0..options.pairs {
        armed(&trace)?;
        if round % 2 == 0 {
            costs.0.push(hooks.expect(&[0])?);
            costs.1.push(provoked.expect(&[0])?);
        } else {
            costs.1.push(provoked.expect(&[0])?);
            costs.0.push(hooks.expect(&[0])?);
        }
    }
    let (alone, gated) = costs;
    let cpu = Quartiles::of_ratios(gated.iter().map(|c| c.cpu), alone.iter().map(|c| c.cpu));
    let elapsed = Quartiles::of_ratios(gated.iter().map(|c| c.elapsed), alone.iter().map(|c| c.elapsed));
    Ok((Quartiles::of(alone.iter().map(|c| c.cpu)), cpu, elapsed))
}

/// Writes a gate file with one target in a module that is not there.
fn armed(trace: &Path) -> Outcome<()> {
    use gate::{descriptor, head, target};
    let descriptors = head::SIZE;
    let targets = descriptors + 2 * descriptor::SIZE;
    let mut words = vec![0u64; targets + target::SIZE];
    words[head::MAGIC] = gate::MAGIC;
    words[head::WORDS] = words.len() as u64;
    words[head::DESCRIPTORS] = 2;
    words[head::DESCRIPTORS_AT] = descriptors as u64;
    words[head::TARGETS] = 1;
    words[head::TARGETS_AT] = targets as u64;
    words[head::FLAGS] = gate::flag::WATCH;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut path = trace.as_os_str().to_owned();
    path.push(gate::ENDING);
    tools::write(&PathBuf::from(path), bytes)
}

fn execute(command: &mut Command) -> Outcome<()> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Stop::missing(format!("cannot run {shown}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Stop::failed(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr))))
}
