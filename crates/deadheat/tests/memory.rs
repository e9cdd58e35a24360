//! What is there when memory is short: a limit that the user sets, or one of the system's.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{clean, deadheat, folder, ok, output, said};

/// A program of `tests/corpus`, in a folder of the test's own.
fn built(name: &str) -> PathBuf {
    built_of("memory.c", name)
}

fn built_of(source: &str, name: &str) -> PathBuf {
    let folder = folder("memory", name);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let headers = format!("-I{}", here.join("../../spec/programs").display());
    let arguments = ["cc", "-g", "-O1", "-pthread", "-o", "program", &headers];
    ok(deadheat().args(arguments).arg(here.join("tests/corpus").join(source)), &folder);
    folder
}

/// Runs the program over so many megabytes in a shell that does `first`.
fn run(folder: &Path, way: &str, first: &str, megabytes: u32, options: &str) -> Output {
    let script = format!("{first}{way}./program {megabytes}");
    let mut command = Command::new("sh");
    clean(&mut command);
    command.env("DEADHEAT_OPTIONS", options).args(["-c", &script]);
    output(&mut command, folder)
}

fn by_deadheat() -> String {
    format!("{} run -- ", env!("CARGO_BIN_EXE_deadheat"))
}

/// The most memory that the program had, in megabytes.
fn peak(output: &Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text.lines().find_map(|line| line.strip_prefix("peak ")?.parse::<u64>().ok());
    told.unwrap_or_else(|| panic!("no memory is told: {}", said(output))) / 1024
}

const REACHED: &str =
    "deadheat: memory_limit_mb is reached: accesses so far are forgotten, races with them are not told";
const NOTE: &str =
    "memory_limit_mb was reached, and earlier accesses were forgotten: races with them are not told";

#[test]
fn a_limit_of_memory_is_kept_and_only_what_is_certain_is_told() {
    const LIMIT: u64 = 140;
    let folder = built("limit");
    for way in [String::new(), by_deadheat()] {
        let free = run(&folder, &way, "", 24, "");
        assert_eq!(free.status.code(), Some(66), "{}", said(&free));
        assert!(peak(&free) > LIMIT + 60, "{}", said(&free));
        assert!(said(&free).contains("`early`") && said(&free).contains("`late`"), "{}", said(&free));
        assert!(!said(&free).contains("memory_limit_mb"), "{}", said(&free));
        let limited = run(&folder, &way, "", 24, &format!("memory_limit_mb={LIMIT}"));
        assert_eq!(limited.status.code(), Some(66), "{}", said(&limited));
        assert!(peak(&limited) < LIMIT + 30, "{}", said(&limited));
        assert_eq!(said(&limited).matches(REACHED).count(), 1, "{}", said(&limited));
        assert!(said(&limited).contains(NOTE), "{}", said(&limited));
        assert!(
            !said(&limited).contains("`early`") && said(&limited).contains("`late`"),
            "{}",
            said(&limited)
        );
    }
}

/// What was forgotten is in the recording of the same run: no difference, but said. What else differs is one.
#[test]
fn a_run_that_forgot_agrees_with_its_recording_as_far_as_it_remembers() {
    const FORGOT: &str = "; 1 of the recording the run could not find: memory_limit_mb was reached, and earlier accesses were forgotten";
    let folder = built("agree");
    for (options, agreed) in
        [("", "2 unordered in the recording: they agree\n"), ("memory_limit_mb=60", FORGOT)]
    {
        let mut command = deadheat();
        command.env("DEADHEAT_OPTIONS", options);
        let recorded = output(command.args(["run", "--trace", "t", "--", "./program", "12"]), &folder);
        assert_eq!(recorded.status.code(), Some(66), "{}", said(&recorded));
        assert_eq!(said(&recorded).contains("`early`"), options.is_empty(), "{}", said(&recorded));
        let agree = ok(deadheat().args(["trace", "agree", "t"]), &folder);
        assert!(said(&agree).contains(agreed), "{}", said(&agree));
    }
}

/// A thread that has ended leaves less than half a kilobyte behind, and is told as if it had left all.
#[test]
fn threads_that_have_ended_take_little() {
    let folder = built_of("threads.c", "threads");
    for way in [String::new(), by_deadheat()] {
        let found = run(&folder, &way, "", 0, "");
        assert_eq!(found.status.code(), Some(66), "{}", said(&found));
        let text = said(&found);
        assert!(text.contains("`shared`") && text.contains("`main/1` was created by `main`"), "{text}");
        assert!(text.contains("`main/4002` was created by `main`"), "{text}");
        let came = text.lines().find_map(|line| line.strip_prefix("came ")?.parse::<i64>().ok());
        assert!(came.is_some_and(|kilobytes| kilobytes < 1500), "{text}");
    }
}

/// Nor do threads that nobody joins, however many there were: clocks have no place for each of them, and what a late one does is told.
#[test]
fn threads_that_nobody_joined_take_little() {
    let folder = built_of("detached.c", "detached");
    for count in [10, 70_000] {
        let found = run(&folder, "", "", count, "");
        assert_eq!(found.status.code(), Some(66), "{}", said(&found));
        assert!(said(&found).contains("`shared`") && said(&found).contains("1 race "), "{}", said(&found));
        assert!(peak(&found) < 80, "{}", said(&found));
    }
}

/// What the runtime maps stays out of the way of what the program maps: large mappings that come and go have the addresses of those before them, and not ever others, each in a region of its own.
#[test]
fn what_is_mapped_and_given_back_leaves_nothing() {
    let folder = built_of("remapped.c", "remapped");
    let output = run(&folder, "", "", 500, "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = said(&output);
    let mappings = text.lines().find_map(|line| line.strip_prefix("mappings ")?.parse::<u32>().ok());
    assert!(mappings.is_some_and(|mappings| mappings < 150), "{text}");
}

/// What is known of atomics goes with the block that they are in, also if the C library gives its memory to no other.
#[test]
fn atomics_that_are_freed_take_nothing() {
    let folder = built_of("counters.c", "counters");
    let output = run(&folder, "", "", 40, "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(peak(&output) < 90, "{}", said(&output));
}

/// An object keeps no number for each thread that there ever was, of which everybody knows: seven hundred threads that ran at once leave little in what two others publish later, and what is handed
/// on by that is known to whoever comes to it.
#[test]
fn what_is_published_behind_many_threads_takes_little() {
    let folder = built_of("published.c", "published");
    let [few, many] = [2, 700].map(|count| {
        let found = run(&folder, "", "", count, "");
        assert_eq!(found.status.code(), Some(66), "{}", said(&found));
        assert!(said(&found).contains("`shared`") && said(&found).contains("1 race "), "{}", said(&found));
        peak(&found)
    });
    assert!(many < few + 130, "{few} and {many}");
}

/// An allocator that stands in for the C library's is not used by the runtime, nor looked at while that works, and no block of the one comes to
/// the other.
#[test]
fn an_allocator_of_the_program_s_own_stays_out_of_the_way() {
    let folder = built_of("allocates.c", "allocator");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let (library, program) = (corpus.join("allocator.c"), corpus.join("allocates.c"));
    let plain = ["-O1", "-g", "-fPIC", "-shared", "-fno-builtin", "-o", "liballocator.so"];
    let linked =
        ["-pthread", "-o", "program", "-L.", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-lallocator"];
    for ours in [true, false] {
        let mut compiler = if ours { deadheat() } else { Command::new("cc") };
        ok(compiler.args(ours.then_some("cc")).args(plain).arg(&library), &folder);
        for position in ["-pie", "-no-pie"] {
            ok(deadheat().args(["cc", "-g", position]).arg(&program).args(linked), &folder);
            let silent = run(&folder, "", "", 0, "");
            assert_eq!(silent.status.code(), Some(0), "{}", said(&silent));
            assert!(said(&silent).contains("done") && !said(&silent).contains("race"), "{}", said(&silent));
        }
    }
}

/// The limits of address space, in megabytes, that are tried: from what a program without deadheat needs to what is plenty.
const SPACES: [u32; 7] = [128, 192, 320, 512, 768, 1280, 8192];

/// The stacks of threads are small, so that the program itself needs little.
/// A page of cells that is looked at before it is written would come by two faults, and the second interrupts the other processors.
#[test]
fn pages_of_cells_come_some_at_once() {
    let folder = built_of("faults.c", "faults");
    let output = run(&folder, "", "", 0, "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told: Vec<usize> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [faults, pages] = told[..] else { panic!("no faults are told: {}", said(&output)) };
    // The program's own pages come one by one, and have twice as many of cells; a page that is asked for counts as one fault.
    let of_cells = faults.saturating_sub(pages);
    if kernel_is_before((5, 14)) {
        eprintln!("skipped: needs Linux 5.14");
        return;
    }
    assert!(of_cells < 3 * pages, "{of_cells} faults for {} pages of cells", 2 * pages);
}

/// A program that ends at any system call which it does not know itself does not end by the detector's: no pages are asked for ahead, nor what a
/// descriptor is.
#[test]
fn a_confined_program_does_not_end_by_the_detector() {
    for (program, way) in [("confined", 0), ("confined", 1), ("strict", 0), ("strict", 1)] {
        let folder = built_of(&format!("{program}.c"), program);
        let output = run(&folder, "", "", way, "");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.starts_with("no filter") {
            eprintln!("skipped: needs seccomp");
            return;
        }
        assert!(output.status.success() && text == "done\n", "{}", said(&output));
    }
}

/// Whether the system is older than this one.
fn kernel_is_before(version: (u32, u32)) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.split(['.', '-']).map_while(|part| part.trim().parse::<u32>().ok());
    parts.next().zip(parts.next()).is_some_and(|here| here < version)
}

fn limited_to(space: u32) -> String {
    format!("ulimit -s 1024; ulimit -v {}; ", space * 1024)
}

#[test]
fn without_memory_one_line_says_so() {
    let folder = built("none");
    for way in ["", "exec "] {
        let mut ended = [0; 2];
        for space in SPACES {
            let found = run(&folder, way, &limited_to(space), 1, "");
            let text = said(&found);
            let lines = text.lines().filter(|line| line.contains("no memory")).count();
            match found.status.code() {
                Some(70) => {
                    assert_eq!(lines, 1, "{space}: {text}");
                    assert!(text.contains("die_without_memory=0"), "{space}: {text}");
                    ended[0] += 1;
                }
                Some(66) => {
                    assert!(lines == 0 && text.contains("data race"), "{space}: {text}");
                    ended[1] += 1;
                }
                _ => panic!("{space}: {text}"),
            }
        }
        assert!(ended[0] > 0 && ended[1] > 0, "{ended:?}");
    }
}

/// Under the command line the same line is said, and nothing of how the program was built.
#[test]
fn a_program_that_has_no_memory_at_all_is_not_taken_for_another() {
    let folder = built("nothing");
    for (options, code) in [("", 70), ("die_without_memory=0", 0)] {
        let mut command = deadheat();
        let script = format!("{}exec ./program 1", limited_to(128));
        command.env("DEADHEAT_OPTIONS", options).args(["run", "--", "sh", "-c", &script]);
        let found = output(&mut command, &folder);
        let text = said(&found);
        assert_eq!(found.status.code(), Some(code), "{text}");
        assert_eq!(text.matches("deadheat: no memory for the race detector itself").count(), 1, "{text}");
        assert!(text.contains("there was no memory to look for races to the end"), "{text}");
        assert!(!text.contains("no instrumented access was seen"), "{text}");
    }
}

#[test]
fn if_asked_the_program_goes_on_undetected() {
    let folder = built("undetected");
    let mut ended = [0; 2];
    for space in SPACES {
        let first = limited_to(space);
        let found = run(&folder, "", &first, 1, "die_without_memory=0");
        let text = said(&found);
        let lines = text.lines().filter(|line| line.contains("the program runs undetected")).count();
        match (found.status.code(), lines, text.contains("peak ")) {
            (Some(0), 1, true) => ended[0] += 1,
            // What is found before the memory is used up is told.
            (Some(66), 0..=1, true) => ended[1] += 1,
            // In how many regions the program's memory lies is up to the system, and there may be none left for one of its threads.
            (Some(3), 1, false) => {}
            _ => panic!("{space}: {text}"),
        }
    }
    assert!(ended[0] > 0 && ended[1] > 0, "{ended:?}");
}
