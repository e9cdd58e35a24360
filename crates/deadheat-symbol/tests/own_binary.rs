//! The test binary asks about itself: its own functions, lines and variables.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadheat_symbol::{Limits, ModuleKey, NoCode, Symbolizer};

static COUNTER: [u64; 4] = [1, 2, 3, 4];
const FIRST_LINE: u32 = line!() + 3;

#[inline(never)]
fn known_place(x: u64) -> u64 {
    // Room before and behind, so that an address in the middle is within the body.
    let mut sum = black_box(x);
    for value in black_box(&COUNTER) {
        sum = sum.wrapping_mul(31).wrapping_add(*value);
    }
    black_box(sum)
}
const LAST_LINE: u32 = line!() - 1;

/// The test binary's file, and what was added to its addresses when it was loaded.
fn own_file() -> (PathBuf, u64) {
    let file = std::env::current_exe().expect("the test binary has a path");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("this is Linux");
    let name = file.to_string_lossy();
    let first = maps.lines().find(|line| line.ends_with(&*name)).expect("the test binary is mapped");
    let start = first.split('-').next().expect("a mapping has a start");
    (file.clone(), u64::from_str_radix(start, 16).expect("which is hexadecimal"))
}

#[test]
fn a_function_of_this_file() {
    let (file, bias) = own_file();
    let mut symbolizer = Symbolizer::default();
    let module = symbolizer.module(&file, &[]);
    assert!(known_place(1) > 0);
    let address = known_place as *const () as usize as u64 - bias;
    assert!(symbolizer.has_debug_info(module));
    let code = symbolizer.code(module, address);
    let frame = code.frames.last().expect("debug information covers it");
    assert!(frame.function.as_deref().is_some_and(|name| name.ends_with("known_place")), "{frame:?}");
    assert!(frame.file.as_deref().is_some_and(|name| name.ends_with("own_binary.rs")), "{frame:?}");
    assert!(frame.line.is_some_and(|line| (FIRST_LINE - 1..=LAST_LINE).contains(&line)), "{frame:?}");
    // The profile may leave declarations out of the debug information.
    assert!(frame.first_line.is_none_or(|line| line == FIRST_LINE), "{frame:?}");
    assert!(!frame.inlined);
    let (name, offset) = code.symbol.clone().expect("the symbol table has it");
    assert!(name.ends_with("known_place"), "{name}");
    assert_eq!(offset, 0);
    assert!(symbolizer.take_warnings().is_empty());
}

#[test]
fn lines_and_names_lead_back() {
    let (file, bias) = own_file();
    let mut symbolizer = Symbolizer::default();
    let module = symbolizer.module(&file, &[]);
    let address = known_place as *const () as usize as u64 - bias;
    let function = symbolizer.function(module, "own_binary::known_place").expect("it is not inlined");
    assert!(function.iter().any(|range| range.start == address), "{function:?}");
    assert_eq!(symbolizer.line(module, "no_such_file.rs", 1), Err(NoCode::NoFile));
    assert_eq!(symbolizer.function(module, "no_such_function"), Err(NoCode::NoFunction));
    let near = match symbolizer.line(module, "own_binary.rs", LAST_LINE + 1) {
        Err(NoCode::NoLine(near)) => near,
        other => panic!("a constant has no code: {other:?}"),
    };
    for line in near {
        let code = symbolizer.line(module, "tests/own_binary.rs", line).expect("so it was said");
        for range in code {
            let told = symbolizer.code(module, range.start);
            assert!(told.frames.iter().any(|frame| frame.line == Some(line)), "{line}: {told:?}");
        }
    }
    let missing = symbolizer.module(Path::new("/nonexistent/module"), &[]);
    let words = symbolizer.line(missing, "a.c", 1).expect_err("there is no such file").to_string();
    assert!(words.starts_with("/nonexistent/module cannot be read"), "{words}");
}

#[test]
fn a_variable_of_this_file() {
    let (file, bias) = own_file();
    let mut symbolizer = Symbolizer::default();
    let module = symbolizer.module(&file, &[]);
    let address = &raw const COUNTER[2] as u64 - bias;
    let variable = symbolizer.data(module, address, 8).expect("the symbol table has it");
    assert!(variable.name.ends_with("COUNTER"), "{variable:?}");
    assert_eq!((variable.offset, variable.size), (16, 32));
    // The profile may leave variables out of the debug information.
    assert!(variable.part.is_none_or(|part| part == "[2]"));
    assert_eq!(symbolizer.data(module, u64::MAX, 1), None);
}

#[test]
fn a_tiny_budget_gives_the_same_answers() {
    let (file, bias) = own_file();
    let address = known_place as *const () as usize as u64 - bias;
    let mut roomy = Symbolizer::default();
    let mut tight = Symbolizer::new(Limits { modules: 1, parsed: 0, answers: 1 });
    let (one, other) = (roomy.module(&file, &[]), tight.module(&file, &[]));
    let missing = tight.module(Path::new("/nonexistent/module"), &[]);
    for offset in (0..40).step_by(4) {
        assert_eq!(roomy.code(one, address + offset), tight.code(other, address + offset));
        assert_eq!(tight.code(missing, offset).frames, []);
    }
    assert_eq!(tight.take_warnings().len(), 1, "a missing module is told once");
}

#[test]
fn another_build_is_not_believed() {
    let (file, bias) = own_file();
    let address = known_place as *const () as usize as u64 - bias;
    let mut symbolizer = Symbolizer::default();
    let module = symbolizer.module(&file, b"another build");
    for _ in 0..2 {
        let code = symbolizer.code(module, address);
        assert_eq!((code.frames.len(), code.symbol.as_ref()), (0, None));
    }
    let warnings = symbolizer.take_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("was built anew since the run"), "{warnings:?}");
}

/// Runs a program; `None` (after saying so) if it is not installed.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<()> {
    match Command::new(program).args(arguments).current_dir(folder).status() {
        Ok(status) => {
            assert!(status.success(), "{program} {arguments:?}: {status}");
            Some(())
        }
        Err(_) => {
            println!("skipped: needs {program}");
            None
        }
    }
}

const SOURCE: &str = "\
_Thread_local int mine[3];
static int hits[8];
#include <pthread.h>
struct base { long first; };
typedef struct { struct base base; struct { int x, y[2]; } inner; union { int i; double d; struct { char c; short halves[3]; } parts; }; pthread_mutex_t mutex; } node;
node nodes[2][3];
static inline __attribute__((always_inline)) int
inner(int i)
{
    return hits[i]++ + mine[i & 1];
}
int
outer(int i)
{
    return inner(i) * 2;
}
";

#[test]
fn a_stripped_library_and_its_debug_file() {
    let folder = std::env::temp_dir().join(format!("deadheat-symbol-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
    let made = make_stripped(&folder);
    if made.is_some() {
        check_stripped(&folder);
    }
    std::fs::remove_dir_all(&folder).expect("what was made can be removed");
}

fn make_stripped(folder: &Path) -> Option<()> {
    std::fs::write(folder.join("lib.c"), SOURCE).expect("the temporary folder can be written");
    run("cc", &["-g", "-O2", "-shared", "-fPIC", "lib.c", "-o", "full.so"], folder)?;
    run(
        "cc",
        &["-g1", "-O0", "-fno-inline", "-shared", "-fPIC", "-nostdlib", "lib.c", "-o", "lines.so"],
        folder,
    )?;
    run("objcopy", &["--only-keep-debug", "full.so", "side.debug"], folder)?;
    run("objcopy", &["--strip-all", "--add-gnu-debuglink=side.debug", "full.so", "linked.so"], folder)?;
    run("objcopy", &["--strip-all", "full.so", "bare.so"], folder)
}

fn check_stripped(folder: &Path) {
    let mut symbolizer = Symbolizer::default();
    let full = symbolizer.module(&folder.join("full.so"), &[]);
    let linked = symbolizer.module(&folder.join("linked.so"), &[]);
    let bare = symbolizer.module(&folder.join("bare.so"), &[]);
    // Where `outer` lies is found by asking about every address.
    let inlined = (0..0x4000).find(|&at| symbolizer.code(full, at).frames.len() == 2);
    let inlined = inlined.expect("the inlined call has two frames");
    let code = symbolizer.code(full, inlined);
    let told: Vec<_> =
        code.frames.iter().map(|f| (f.function.as_deref(), f.line, f.first_line, f.inlined)).collect();
    assert_eq!(told[0], (Some("inner"), Some(10), Some(8), true));
    assert_eq!(told[1], (Some("outer"), Some(15), Some(13), false));
    let copy = symbolizer.line(full, "lib.c", 10).expect("the inlined line has code");
    assert!(copy.iter().any(|range| range.contains(&inlined)), "{copy:?}");
    assert_eq!(symbolizer.line(linked, "lib.c", 10), Ok(copy), "from the debug file");
    for (name, line) in [("inner", 10), ("outer", 15)] {
        let ranges = symbolizer.function(full, name).expect("both have code");
        let code = symbolizer.line(full, "lib.c", line).expect("both have code");
        assert!(code.iter().all(|at| ranges.iter().any(|range| range.contains(&at.start))), "{name}");
    }
    check_calls(&mut symbolizer, &folder.join("lines.so"));
    assert_eq!(symbolizer.line(bare, "lib.c", 10), Err(NoCode::NoDebugInfo));
    let lines = symbolizer.module(&folder.join("lines.so"), &[]);
    let outer = (0..0x4000).find_map(|at| symbolizer.code(lines, at).frames.last().cloned());
    let outer = outer.filter(|frame| frame.function.as_deref() == Some("outer"));
    assert_eq!(outer.and_then(|frame| frame.first_line), Some(13), "from the line table alone");
    assert_eq!(symbolizer.code(linked, inlined), code, "the debug file is found by its link");
    let stripped = symbolizer.code(bare, inlined);
    assert_eq!(stripped.frames.len(), 1);
    assert_eq!(stripped.frames[0].function.as_deref(), Some("outer"), "from the dynamic table");
    assert_eq!(stripped.frames[0].line, None);

    let hits = (0..0x8000).find_map(|at| symbolizer.data(full, at, 4).filter(|found| found.name == "hits"));
    let hits = hits.expect("a static variable is found");
    assert_eq!((hits.offset, hits.size), (0, 32));
    check_parts(&mut symbolizer, full);
    let mine = symbolizer.thread_local(full, 4).expect("a thread-local variable is found");
    assert_eq!((mine.name.as_str(), mine.offset, mine.size), ("mine", 4, 12));
}

/// `outer` calls `inner`, which is not exported but has a symbol.
fn check_calls(symbolizer: &mut Symbolizer, path: &Path) {
    let module = symbolizer.module(path, &[]);
    let Ok(calls) = symbolizer.calls(module, "outer") else {
        println!("skipped: needs x86-64");
        return;
    };
    // `always_inline` leaves no call; what is there has a place in the function.
    let function = symbolizer.function(module, "outer").expect("it has calls");
    assert!(calls.iter().all(|call| function.iter().any(|range| range.contains(&call.address))));
    assert_eq!(symbolizer.calls(module, "nobody"), Err(NoCode::NoFunction));
}

/// The parts of `nodes[1][2]`: a member of a member, an element, a union's by its size, and a
/// library's type as a whole.
fn check_parts(symbolizer: &mut Symbolizer, module: ModuleKey) {
    let start =
        (0..0x8000).find(|&at| symbolizer.data(module, at, 8).is_some_and(|found| found.name == "nodes"));
    let start = start.expect("a global variable is found");
    let whole = symbolizer.data(module, start, 8).expect("it was found before").size;
    let node = start + whole / 6 * 5;
    for (offset, size, part) in [
        (0, 8, "[1][2].base.first"),
        (8, 4, "[1][2].inner.x"),
        (16, 4, "[1][2].inner.y[1]"),
        (24, 4, "[1][2].i"),
        (24, 8, "[1][2].d"),
        (24, 1, "[1][2].parts.c"),
        (28, 2, "[1][2].parts.halves[1]"),
        (32, 4, "[1][2].mutex"),
        (36, 4, "[1][2].mutex"),
        (0, whole / 6, "[1][2]"),
    ] {
        let found = symbolizer.data(module, node + offset, size).expect("it is within the variable");
        assert_eq!(found.part.as_deref(), Some(part), "{size} bytes at {offset}");
    }
    let all = symbolizer.data(module, start, whole).expect("it was found before");
    assert_eq!(all.part.as_deref(), Some(""));
}
