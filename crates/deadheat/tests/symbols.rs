//! Every hook that a compiler calls exists in the runtime.
//!
//! The corpus asks for every access, atomic operation, order and intrinsic that the languages
//! have. It is compiled by each compiler in several ways; the list of hooks is the object's own.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{clean, deadheat, have, ok, project, symbols};

/// The runtime's object for programs, as `deadheat cc` names it to the linker.
fn object(folder: &Path) -> PathBuf {
    std::fs::write(folder.join("x.o"), b"").expect("write");
    let shown = ok(deadheat().args(["cc", "-###", "x.o"]), folder);
    let text =
        format!("{}{}", String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    let word = text.split([' ', '"']).find(|word| word.ends_with("rt-dynamic.o"));
    PathBuf::from(word.expect("the object is on the linker's command line"))
}

/// The names that end a line of `nm` after one of these kinds.
fn names(file: &Path, kinds: &str) -> BTreeSet<String> {
    let of_kind = |line: &str| {
        let mut words = line.split_whitespace().rev();
        let (name, kind) = (words.next()?, words.next()?);
        (kind.len() == 1 && kinds.contains(kind)).then(|| name.to_owned())
    };
    symbols(file).lines().filter_map(of_kind).collect()
}

/// Compiles one file of the corpus; gives the hooks that it needs.
fn needed(command: &mut Command, folder: &Path, source: &str) -> BTreeSet<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    clean(command);
    ok(command.arg(corpus.join(source)).args(["-o", "corpus.o"]), folder);
    let needed = names(&folder.join("corpus.o"), "Uw");
    needed
        .into_iter()
        .filter(|name| name.starts_with("__tsan_") || name.starts_with("__sanitizer_"))
        .collect()
}

/// Fails if a hook is needed that the object lacks, or if hardly any is needed.
fn check(all: &BTreeSet<String>, object: &Path, at_least: usize) {
    let missing: Vec<_> = all.difference(&names(object, "TW")).cloned().collect();
    assert!(missing.is_empty(), "the runtime lacks {missing:?}");
    assert!(all.len() >= at_least, "the corpus calls for {} hooks only: {all:?}", all.len());
}

/// The ways in which the C and C++ corpus is compiled.
fn c_family(c: &str, cxx: &str, options: &[&[&str]], at_least: usize) {
    if !have(c) || !have(cxx) {
        return;
    }
    let folder = project(&format!("symbols-{c}"));
    let object = object(&folder);
    let mut all = BTreeSet::new();
    for level in ["-O0", "-O2"] {
        for more in options {
            for (compiler, source) in [(c, "accesses.c"), (c, "atomics.c"), (cxx, "objects.cc")] {
                let mut command = Command::new(compiler);
                command.args(["-fsanitize=thread", "-w", level, "-c"]).args(*more);
                all.extend(needed(&mut command, &folder, source));
            }
        }
    }
    check(&all, &object, at_least);
}

#[test]
fn of_gcc() {
    let volatile = "--param=tsan-distinguish-volatile=1";
    c_family("gcc", "g++", &[&["-mcx16"], &["-fno-builtin"], &[volatile]], 80);
}

#[test]
fn of_clang() {
    let pass = |option| ["-mllvm", option];
    let volatile = pass("-tsan-distinguish-volatile=1");
    let (compound, both) =
        (pass("-tsan-compound-read-before-write=1"), pass("-tsan-instrument-read-before-write=1"));
    let options: [&[&str]; 4] = [
        &["-mcx16"],
        &[],
        &["-mcx16", volatile[0], volatile[1], compound[0], compound[1]],
        &["-mcx16", volatile[0], volatile[1], both[0], both[1]],
    ];
    c_family("clang-19", "clang++-19", &options, 95);
}

#[test]
fn of_rustc() {
    let folder = project("symbols-rustc");
    let object = object(&folder);
    let rustc = || {
        let mut command = Command::new("rustc");
        command.env("RUSTC_BOOTSTRAP", "1").args([
            "--edition=2024",
            "-Zsanitizer=thread",
            "-Zexternal-clangrt",
        ]);
        command.arg("-Cunsafe-allow-abi-mismatch=sanitizer");
        command
    };
    if !have("rustc") {
        return;
    }
    let mut all = BTreeSet::new();
    for level in ["-Copt-level=0", "-Copt-level=3"] {
        all.extend(needed(rustc().args([level, "--emit=obj"]), &folder, "every_access.rs"));
    }
    check(&all, &object, 50);
    // The object lives in a Rust program, beside that program's own standard library.
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/every_access.rs");
    let link = format!("-Clink-arg={}", object.display());
    ok(rustc().args([link.as_str(), "-o", "program"]).arg(corpus), &folder);
    ok(&mut Command::new(folder.join("program")), &folder);
    ok(deadheat().args(["record", "-q", "-o", "T", "--", "./program"]), &folder);
    assert!(folder.join("T").is_file());
}

/// The functions that a header declares whose names begin like one of these.
fn declared(header: &Path, beginnings: &[&str]) -> BTreeSet<String> {
    let text = std::fs::read_to_string(header).expect("the compiler's header");
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices('(') {
        let before = &text[..at];
        let name = &before[before.trim_end_matches(is_part).len()..];
        if beginnings.iter().any(|beginning| name.starts_with(beginning)) {
            names.insert(name.to_owned());
        }
    }
    names
}

/// What the program itself may define, and the runtime calls.
const OF_THE_PROGRAM: &str = "__tsan_default_options __tsan_default_suppressions __tsan_on_finalize __tsan_on_initialize \
    __sanitizer_free_hook __sanitizer_ignore_free_hook __sanitizer_malloc_hook";

/// What the common headers declare and clang's runtime of the thread sanitizer does not have either: their names hold this.
const OF_OTHERS: [&str; 5] =
    ["contiguous_container", "switch_fiber", "memory_profile", "weak_hook", "return_address"];

/// Names of the thread sanitizer's interface that no header declares.
const UNDECLARED: &str = "__tsan_java_init __tsan_java_fini __tsan_java_alloc __tsan_java_free __tsan_java_move \
    __tsan_java_find __tsan_java_finalize __tsan_java_mutex_lock __tsan_java_mutex_unlock \
    __tsan_java_mutex_read_lock __tsan_java_mutex_read_unlock __tsan_java_mutex_lock_rec \
    __tsan_java_mutex_unlock_rec __tsan_java_acquire __tsan_java_release __tsan_java_release_store \
    __tsan_read1_pc __tsan_read2_pc __tsan_read4_pc __tsan_read8_pc __tsan_read16_pc __tsan_write1_pc \
    __tsan_write2_pc __tsan_write4_pc __tsan_write8_pc __tsan_write16_pc __tsan_read_range_pc \
    __tsan_write_range_pc __tsan_testonly_barrier_init __tsan_testonly_barrier_wait \
    __tsan_testonly_shadow_stack_current_size ThreadSanitizerQuery ValgrindSlowdown WTFAnnotateHappensBefore \
    WTFAnnotateHappensAfter WTFAnnotateBenignRaceSized __interceptor_malloc __interceptor_free __interceptor_fopen";

#[test]
fn of_the_interfaces() {
    if !have("clang-19") {
        return;
    }
    let folder = project("symbols-interfaces");
    let object = object(&folder);
    let resources = ok(Command::new("clang-19").arg("-print-resource-dir"), &folder);
    let headers = Path::new(String::from_utf8_lossy(&resources.stdout).trim()).join("include/sanitizer");
    let mut all: BTreeSet<String> = UNDECLARED.split_whitespace().map(str::to_owned).collect();
    all.extend(declared(&headers.join("tsan_interface.h"), &["__tsan_"]));
    let of_calls = ["__sanitizer_syscall_pre_impl_", "__sanitizer_syscall_post_impl_"];
    all.extend(declared(&headers.join("linux_syscall_hooks.h"), &of_calls));
    for header in ["common_interface_defs.h", "allocator_interface.h"] {
        all.extend(declared(&headers.join(header), &["__sanitizer_"]));
    }
    let of_program: Vec<&str> = OF_THE_PROGRAM.split_whitespace().collect();
    let is_of_others = |name: &str| OF_OTHERS.iter().any(|part| name.contains(part));
    all.retain(|name| !of_program.contains(&name.as_str()) && !is_of_others(name));
    check(&all, &object, 700);
}
