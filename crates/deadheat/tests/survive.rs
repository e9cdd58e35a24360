//! What is left of a recording, and of what is told, when the program does not end well, or is more than one process.
//!
//! The programs are in `spec/survive`; each begins with a sentence that says what it does.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use deadheat_core::access::Mode;
use deadheat_core::event::Op;
use deadheat_trace::{Ending, Trace};

/// Kills of one program: 20 at full count.
fn kills() -> u32 {
    if std::env::var_os("DEADHEAT_ACCEPT").is_some_and(|value| value == "full") { 20 } else { 2 }
}

/// A folder of its own for each test, emptied first.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("survive").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Builds a program of `spec/survive` with the system's compiler.
fn build(folder: &Path, name: &str) -> PathBuf {
    build_with(folder, name, &[])
}

/// The same, with these arguments more.
fn build_with(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/survive").join(format!("{name}.c"));
    let program = folder.join(name);
    let status = Command::new(env!("CARGO_BIN_EXE_deadheat"))
        .args(["cc", "-O1", "-g", "-w", "-pthread", "-o"])
        .args([&program, &source])
        .args(arguments)
        .status()
        .expect("deadheat runs");
    assert!(status.success(), "{name}.c does not build");
    program
}

/// The program, recorded into `trace`.
fn recorded(program: &Path, trace: &Path) -> Command {
    let mut command = Command::new(program);
    let mut wire = std::ffi::OsString::from("1;mode=record;trace=");
    wire.push(trace);
    command.env(deadheat_core::wire::ENV, wire).stdout(Stdio::piped());
    command
}

/// Runs a program whose core must not be dumped.
fn status(mut command: Command) -> (ExitStatus, String) {
    let output = command.output().expect("the program runs");
    (output.status, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How often each thread wrote eight bytes, and how the trace ends.
fn writes(trace: &Path) -> (Vec<u64>, Ending) {
    let mut trace = Trace::open(trace).expect("a trace");
    let mut counts = vec![0; 8];
    let summary = trace
        .drive(|event| {
            if let Op::Access(access) = event.op
                && (access.mode, access.size) == (Mode::Write, 8)
                && let Some(count) = counts.get_mut(event.thread.index())
            {
                *count += u64::from(event.times);
            }
        })
        .expect("a readable trace");
    (counts, summary.ending)
}

#[test]
fn a_killed_program_leaves_every_event_whose_hook_returned() {
    let folder = folder("killed");
    let program = build(&folder, "killed");
    // Moments between 5 and 150 ms after the first write, from a fixed seed.
    let mut seed = 0x9e37_79b9_u64;
    for round in 0..kills() {
        let trace = folder.join(format!("{round}.trace"));
        let counters = folder.join(format!("{round}.counters"));
        let mut child = recorded(&program, &trace).arg(&counters).spawn().expect("the program starts");
        let begun = Instant::now();
        while returned(&counters).iter().all(|&count| count == 0) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the program never wrote");
            sleep(Duration::from_millis(1));
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sleep(Duration::from_micros(5_000 + seed % 145_000));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let returned = returned(&counters);
        let (written, ending) = writes(&trace);
        assert_eq!(ending, Ending::Cut);
        for (thread, &count) in returned.iter().enumerate() {
            // The last write of a thread may be recorded without its hook having returned.
            let recorded = written[thread + 1];
            assert!(
                recorded == count || recorded == count + 1,
                "round {round}, thread {thread}: {recorded} recorded, {count} returned"
            );
        }
        fs::remove_file(trace).expect("the trace can go");
    }
}

/// The program's own counts; zeros as long as there is no file.
fn returned(counters: &Path) -> [u64; 4] {
    let bytes = fs::read(counters).unwrap_or_default();
    let count = |thread: usize| {
        let at = thread * 64;
        bytes.get(at..at + 8).map_or(0, |eight| u64::from_le_bytes(eight.try_into().unwrap_or_default()))
    };
    [count(0), count(1), count(2), count(3)]
}

#[test]
fn a_program_that_closes_the_trace_s_descriptor_is_recorded_all_the_same() {
    let folder = folder("closes");
    let program = build(&folder, "closes");
    for way in ["all", "one"] {
        let (trace, file) = (folder.join(way), folder.join("file"));
        let mut command = recorded(&program, &trace);
        command.arg(way).arg(&file);
        let (status, size) = status(command);
        assert!(status.success(), "{way}: {status}");
        // What is the program's own is as it left it.
        assert_eq!(size, "0", "{way}");
        let (counts, ending) = writes(&trace);
        assert_eq!((&counts[1..4], ending), (&[20_000; 3][..], Ending::Clean), "{way}");
    }
}

#[test]
fn an_overflowing_stack_leaves_its_calls() {
    let folder = folder("overflow");
    let trace = folder.join("t");
    let (status, _) = status(recorded(&build(&folder, "overflow"), &trace));
    assert_eq!(status.signal(), Some(11), "{status}");
    let mut trace = Trace::open(&trace).expect("a trace");
    let summary = trace.drive(|_| {}).expect("a readable trace");
    assert_eq!(summary.ending, Ending::Cut);
    assert!(summary.accesses > 1000, "{} accesses", summary.accesses);
}

#[test]
fn an_aborted_program_leaves_what_it_did() {
    let folder = folder("aborted");
    let trace = folder.join("t");
    let (status, _) = status(recorded(&build(&folder, "aborted"), &trace));
    assert_eq!(status.signal(), Some(6), "{status}");
    let mut trace = Trace::open(&trace).expect("a trace");
    let mut joined = false;
    let mut written_after = false;
    let summary = trace
        .drive(|event| match event.op {
            Op::Join { .. } => joined = true,
            Op::Access(access) if joined => written_after |= access.mode.writes(),
            _ => {}
        })
        .expect("a readable trace");
    assert_eq!(summary.ending, Ending::Cut);
    assert!(joined && written_after);
}

#[test]
fn without_space_the_recording_stops_and_the_program_goes_on() {
    let folder = folder("full");
    let program = build(&folder, "full");
    let (plain_status, expected) = status({
        let mut command = Command::new(&program);
        command.env(deadheat_core::wire::ENV, "1;mode=off").stdout(Stdio::piped());
        command
    });
    assert!(plain_status.success());
    let trace = folder.join("t");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 2000; exec \"$0\""]).arg(&program);
    let mut wire = std::ffi::OsString::from("1;mode=record;trace=");
    wire.push(&trace);
    let output = limited.env(deadheat_core::wire::ENV, wire).output().expect("the program runs");
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("no space left for the trace"), "{message}");
    let mut trace = Trace::open(&trace).expect("a trace");
    let summary = trace.drive(|_| {}).expect("a readable trace");
    assert_eq!(summary.ending, Ending::NoSpace);
    assert!(summary.accesses > 100_000, "{} accesses", summary.accesses);
}

#[test]
fn each_process_records_for_itself() {
    let folder = folder("family");
    let program = build(&folder, "family");
    let (status, _) = status(recorded(&program, &folder.join("t")));
    assert_eq!(status.code(), Some(7));
    let mut traces: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('t')))
        .collect();
    traces.sort();
    assert_eq!(traces.len(), 3, "{traces:?}");
    for path in traces {
        let mut trace = Trace::open(&path).expect("a trace");
        let (mut forks, mut joins) = (0, 0);
        let summary = trace
            .drive(|event| match event.op {
                Op::Fork { .. } => forks += 1,
                Op::Join { .. } => joins += 1,
                _ => {}
            })
            .expect("a readable trace");
        assert_eq!((forks, joins, summary.ending), (1, 1, Ending::Clean), "{}", path.display());
    }
}

#[test]
fn thousands_of_threads_are_told_apart() {
    let folder = folder("crowd");
    let trace = folder.join("t");
    let (status, out) = status(recorded(&build(&folder, "crowd"), &trace));
    assert!(status.success());
    assert_eq!(out, "3000\n");
    let mut trace = Trace::open(&trace).expect("a trace");
    let (mut forks, mut joins, mut ends) = (0, 0, 0);
    trace
        .drive(|event| match event.op {
            Op::Fork { .. } => forks += 1,
            Op::Join { .. } => joins += 1,
            Op::End => ends += 1,
            _ => {}
        })
        .expect("a readable trace");
    assert_eq!((forks, joins), (3000, 2000));
    // A detached thread may still be on its way out when the program ends.
    assert!((2000..=3000).contains(&ends), "{ends} ends");
}

#[test]
fn any_randomisation_and_no_overcommit_will_do() {
    let folder = folder("limits");
    let program = build(&folder, "crowd");
    // An address space of a quarter of what a fixed shadow would want.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 16000000; exec \"$0\""]).arg(&program);
    let mut wire = std::ffi::OsString::from("1;mode=record;trace=");
    wire.push(folder.join("t"));
    limited.env(deadheat_core::wire::ENV, wire).arg0("sh");
    let output = limited.output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What the first lines of a report say of the race of `ends`.
const RACE: &str = "data race on `shared` (4 bytes)";

/// Starts the program by hand, by a command: its code, and all that was said.
fn by_hand(command: &mut Command) -> (Option<i32>, String) {
    for variable in ["DEADHEAT", "DEADHEAT_OPTIONS", "TSAN_OPTIONS"] {
        command.env_remove(variable);
    }
    let output = command.output().expect("the program runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn threads_that_end_the_process_at_once_do_so_one_by_one() {
    const TRIES: usize = 5;
    for (name, link) in [("ends", &[][..]), ("ends-static", &["-static"])] {
        let program = build_with(&folder(name), "ends", link);
        for way in ["", "exit", "goes", "went", "alone"].repeat(TRIES) {
            let (code, said) = by_hand(Command::new(&program).arg(way));
            assert_eq!((code, said.matches("deadheat: ").count()), (Some(66), 1), "{name} {way}: {said}");
            assert!(said.contains(RACE), "{name} {way}: {said}");
        }
    }
}

#[test]
fn a_debugger_sees_the_program_end_behind_its_races() {
    let debugger = |arguments: &[&str], program: &Path| {
        let mut command = Command::new("gdb");
        command.args(["-q", "-batch"]).args(arguments).arg("--args").arg(program).arg("alone");
        command
    };
    let program = build(&folder("debugged"), "ends");
    if debugger(&[], &program).output().is_err() {
        eprintln!("skipped: needs gdb");
        return;
    }
    let (_, said) = by_hand(&mut debugger(&["-ex", "run"], &program));
    assert!(said.contains(RACE) && said.contains("exited with code 0102"), "{said}");
}

#[test]
fn what_is_put_in_the_place_of_a_running_program_hides_nothing() {
    let (code, said) = by_hand(&mut Command::new(build(&folder("replaced"), "replaced")));
    assert_eq!(code, Some(66), "{said}");
    assert!(said.contains("data race on `value` (4 bytes)") && said.contains("replaced.c:9:10"), "{said}");
    assert!(!said.contains("cannot be read") && !said.contains("built anew"), "{said}");
}

/// Where `/proc` is not mounted the trace cannot be opened by its name.
#[test]
fn races_are_told_where_there_is_no_proc() {
    let in_it = |what: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork"]);
        command.args(["sh", "-c", &format!("mount -t tmpfs none /proc && {what}")]);
        command
    };
    if !in_it("true").output().is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: needs namespaces of its own");
        return;
    }
    let program = build(&folder("no-proc"), "ends");
    let (code, said) = by_hand(&mut in_it(&format!("{} alone", program.display())));
    assert_eq!(code, Some(66), "{said}");
    assert!(said.contains(RACE) && said.contains("ends.c:"), "{said}");
}
