//! Makes the objects that are linked into programs under test, and that this crate embeds.
//!
//! The runtime's and the core's sources are compiled once more, directly and always optimised,
//! then linked into one relocatable object in which everything but the entry points is local:
//! such an object can live in any program, even in a Rust program beside that program's own
//! standard library. It comes in three forms. In `rt-dynamic.o` an interceptor has the name of the
//! function that it stands for, weakly, so that a program's own definition wins; in
//! `rt-static.o` it is called `__wrap_NAME`, for the linker's `--wrap`. `rt-dynamic-c++.o` is for
//! a dynamic program with the C++ library in it: what is C++'s is wrapped, all else is not.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An interceptor for NAME is exported by the runtime as this plus NAME.
const INTERCEPTOR: &str = "dh_wrap_";
/// A program that defines NAME itself calls the interceptor by this plus NAME.
const ALIAS: &str = "__interceptor_";
/// How the names of the C++ library's functions begin.
const CXX: [&str; 4] = ["_Z", "__cxa_guard_", "__cxa_end_catch", "__cxa_decrement_exception_"];
/// Those of them that only libc++ has: no program that links another one has them, and one that does has them with what else it uses.
const LIBCXX: [&str; 2] = ["_ZNSt3__1", "__cxa_decrement_exception_"];
/// Those of them that a program may define itself: `operator new` and `operator delete`.
const OPERATORS: [&str; 2] = ["_Zn", "_Zd"];
/// How the names begin that all sanitizers' runtimes have: another one may be linked, too, and has them then.
const SHARED: &str = "__sanitizer_";
/// Functions that a static program had better not be made to contain: the linker warns of them, or they have names that a program may well give to a
/// function of its own, which would be called in their place.
const NOT_IN_STATIC_PROGRAMS: [&str; 27] = [
    "access",
    "bind",
    "chdir",
    "chmod",
    "chown",
    "dlclose",
    "dlmopen",
    "dlopen",
    "getaddrinfo",
    "getgrgid",
    "getgrgid_r",
    "getgrnam",
    "getgrnam_r",
    "gethostbyname",
    "getnameinfo",
    "getpwnam",
    "getpwnam_r",
    "getpwuid",
    "getpwuid_r",
    "glob",
    "iconv",
    "link",
    "symlink",
    "times",
    "truncate",
    "unlink",
    "wait",
];
/// How the names begin that the C library has only since version 2.38: a static program calls them itself, unseen, as an older one lacks them.
const NEWER: &str = "__isoc23_";
/// How the names of libatomic's functions begin: the runtime does without them where they are not there.
const LIBATOMIC: &str = "__atomic_";
/// How the names of libgomp's functions begin. They are no part of a static program that does not use them.
const LIBGOMP: [&str; 2] = ["GOMP_", "omp_"];
/// The same for LLVM's OpenMP: what of a static program is that library's own cannot be told there, so they are left alone.
const LIBOMP: [&str; 2] = ["ompt_", "__kmpc_"];
/// What the compiler may call although the source does not, is exported as this plus its name.
const OWN: &str = "dh_own_";
/// Those functions: left undefined they would reach the program's, that is, our interceptors.
const MEMORY_FUNCTIONS: [&str; 6] = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"];

/// What is one section in the object: a linker is slow with thousands, and would leave out none of them. Left apart are the unwinder's personality routines,
/// `.text.0.NAME`.
const SECTIONS: &str = "SECTIONS {
  .text 0 : { *(.text .text.[!0]*) }
  .rodata 0 : { *(.rodata .rodata.*) }
  .data.rel.ro 0 : { *(.data.rel.ro .data.rel.ro.*) }
  .data 0 : { *(.data .data.*) }
  .bss 0 : { *(.bss .bss.*) }
  .tdata 0 : { *(.tdata .tdata.*) }
  .tbss 0 : { *(.tbss .tbss.*) }
}
";

type Outcome<T> = Result<T, String>;

fn main() {
    if let Err(message) = make() {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1);
    }
}

fn make() -> Outcome<()> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?;
    if !target.starts_with("x86_64-") || !target.contains("-linux-") {
        return Err(format!("deadheat runs on x86-64 Linux, not on {target}"));
    }
    let core = sources("deadheat-core", "DEP_DEADHEAT_CORE_ROOT")?;
    let runtime = sources("deadheat-runtime", "DEP_DEADHEAT_RUNTIME_ROOT")?;
    println!("cargo::rerun-if-changed=build.rs");
    for root in [&core, &runtime] {
        println!("cargo::rerun-if-changed={}", root.join("src").display());
    }
    let archive = compile(&out, &target, &core, &runtime)?;
    let exports = exports(&archive)?;
    let merged = merge(&out, &archive, &exports)?;
    check(&merged, &exports)?;
    name(&out, &merged, &exports)?;
    stand_in_for_libtsan(&out, &target)?;
    identify(&out)
}

/// Where a crate's sources are: beside this crate's in a checkout, else where its own build script
/// says.
///
/// Cargo remembers what a build script says in the target folder. If two checkouts share one, that
/// may be the other's path, perhaps of a checkout that is gone. The relative path is always our own.
fn sources(name: &str, told: &str) -> Outcome<PathBuf> {
    let beside = Path::new("..").join(name);
    if beside.join("src/lib.rs").is_file() { Ok(beside) } else { variable(told).map(PathBuf::from) }
}

/// Compiles core and runtime to a static library.
fn compile(out: &Path, target: &str, core: &Path, runtime: &Path) -> Outcome<PathBuf> {
    let rustc = |root: &Path, name: &str, kind: &str| {
        let mut command = Command::new(variable("RUSTC")?);
        command.args(["--edition=2024", "--cap-lints=allow", "--crate-name", name, "--crate-type", kind]);
        command.args(["-Copt-level=3", "-Cpanic=abort", "-Crelocation-model=pic", "-Ccodegen-units=1"]);
        command.args(["-Cembed-bitcode=yes", "-Cdebug-assertions=no", "--cfg=deadheat_object"]);
        command.arg("--out-dir").arg(out).arg(root.join("src").join("lib.rs"));
        if variable("HOST")? != target {
            command.args(["--target", target]);
        }
        Ok::<_, String>(command)
    };
    run(&mut rustc(core, "deadheat_core", "rlib")?)?;
    let library = out.join("libdeadheat_core.rlib");
    let mut link = rustc(runtime, "deadheat_runtime", "staticlib")?;
    link.arg("-Clto=fat").arg("--extern").arg(format!("deadheat_core={}", library.display()));
    run(&mut link)?;
    Ok(out.join("libdeadheat_runtime.a"))
}

/// The C names that the runtime's own object defines.
fn exports(archive: &Path) -> Outcome<BTreeSet<String>> {
    let list = run(Command::new("nm").args(["-A", "-P", "-g", "--defined-only"]).arg(archive))?;
    let mut names = BTreeSet::new();
    for line in list.lines() {
        // `libX.a[member.o]: name T value size`
        let Some((place, symbol)) = line.split_once("]: ") else { continue };
        let own = place.rsplit('[').next().is_some_and(|member| member.starts_with("deadheat_runtime"));
        let name = symbol.split(' ').next().unwrap_or("");
        let mangled = ["_ZN", "_R", "rust_", "__rust", "DW."].iter().any(|start| name.starts_with(start));
        if own && !mangled && !name.is_empty() {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

/// Links what the entry points need into one object of few sections.
fn merge(out: &Path, archive: &Path, exports: &BTreeSet<String>) -> Outcome<PathBuf> {
    let (needed, merged) = (out.join("rt-needed.o"), out.join("rt-merged.o"));
    let mut arguments = String::from("-r --force-group-allocation --gc-sections\n");
    for name in exports {
        let _ = writeln!(arguments, "--undefined={name}");
    }
    for name in MEMORY_FUNCTIONS {
        if exports.contains(&format!("{OWN}{name}")) {
            let _ = writeln!(arguments, "--defsym={name}={OWN}{name}");
        }
    }
    for name in exports.iter().filter_map(|name| name.strip_prefix(INTERCEPTOR)) {
        let _ = writeln!(arguments, "--defsym={ALIAS}{name}={INTERCEPTOR}{name}");
    }
    let (file, script) = (out.join("merge.args"), out.join("merge.ld"));
    write(&file, &arguments)?;
    write(&script, SECTIONS)?;
    let mut at_file = std::ffi::OsString::from("@");
    at_file.push(&file);
    run(Command::new("ld").arg(at_file).arg("-o").arg(&needed).arg(archive))?;
    run(Command::new("ld").args(["-r", "-T"]).arg(&script).arg("-o").arg(&merged).arg(&needed))?;
    Ok(merged)
}

/// Sees to it that the object calls nothing that it intercepts.
fn check(merged: &Path, exports: &BTreeSet<String>) -> Outcome<()> {
    let list = run(Command::new("nm").args(["-P", "-g", "--undefined-only"]).arg(merged))?;
    for line in list.lines() {
        let name = line.split(' ').next().unwrap_or("");
        if MEMORY_FUNCTIONS.contains(&name) {
            return Err(format!("the runtime needs {name} but does not define {OWN}{name}"));
        }
        if exports.contains(&format!("{INTERCEPTOR}{name}")) {
            return Err(format!("the runtime calls {name}, which it intercepts, by its plain name"));
        }
    }
    Ok(())
}

/// Makes all but the entry points local and gives the interceptors their names; writes the
/// lists for the linker that go with them.
fn name(out: &Path, merged: &Path, exports: &BTreeSet<String>) -> Outcome<()> {
    let [mut global, mut weak, mut plain, mut wrapped, mut mixed] = [const { String::new() }; 5];
    let mut dynamic_list = String::from("{\n");
    let [mut static_arguments, mut static_arguments_cxx, mut static_arguments_openmp] =
        [const { String::new() }; 3];
    let [mut shared, mut mixed_arguments] = [const { String::new() }; 2];
    let own: String =
        MEMORY_FUNCTIONS.iter().map(|name| format!("{name} {OWN}{name}_by_compiler\n")).collect();
    for name in exports.iter().filter(|name| !name.starts_with(OWN)) {
        let _ = writeln!(global, "{name}");
        if name.starts_with(SHARED) {
            let _ = writeln!(shared, "{name}");
        }
        let public = match name.strip_prefix(INTERCEPTOR) {
            Some(function) => {
                let _ = writeln!(global, "{ALIAS}{function}");
                let _ = writeln!(weak, "{name}");
                let _ = writeln!(plain, "{name} {function}");
                let _ = writeln!(wrapped, "{name} __wrap_{function}");
                // The real function is only referred to weakly, which brings no member out of an
                // archive: ask for it, and for C++'s where C++ is linked.
                let begins = |starts: &[&str]| starts.iter().any(|start| function.starts_with(start));
                let cxx = begins(&CXX);
                if cxx && !begins(&OPERATORS) && !begins(&LIBCXX) {
                    let _ = writeln!(mixed, "{name} __wrap_{function}");
                    let _ = writeln!(mixed_arguments, "--undefined={function}\n--wrap={function}");
                } else {
                    let _ = writeln!(mixed, "{name} {function}");
                }
                let asked = if cxx { &mut static_arguments_cxx } else { &mut static_arguments };
                if begins(&LIBGOMP) {
                    let _ = writeln!(static_arguments_openmp, "--undefined={function}\n--wrap={function}");
                } else if !begins(&LIBOMP) && !begins(&[NEWER]) && !NOT_IN_STATIC_PROGRAMS.contains(&function)
                {
                    if !begins(&[LIBATOMIC]) && !begins(&LIBCXX) {
                        let _ = writeln!(asked, "--undefined={function}");
                    }
                    let _ = writeln!(static_arguments, "--wrap={function}");
                }
                function
            }
            None => name,
        };
        let _ = writeln!(dynamic_list, "  {public};");
    }
    dynamic_list.push_str("};\n");
    for (file, list) in [
        ("dynamic.list", dynamic_list),
        ("static.args", static_arguments),
        ("static-c++.args", static_arguments_cxx),
        ("static-openmp.args", static_arguments_openmp),
        ("dynamic-c++.args", mixed_arguments),
    ] {
        write(&out.join(file), &list)?;
    }
    let objcopy = |options: &[_], from: &Path, to: &Path| objcopy(out, options, from, to);
    let local = out.join("rt-local.o");
    let keep = [
        ("--redefine-syms", "own.syms", &*own),
        ("--keep-global-symbols", "global.syms", &*global),
        ("--weaken-symbols", "shared.syms", &*shared),
    ];
    objcopy(&keep, merged, &local)?;
    let unnamed = out.join("rt-weak.o");
    objcopy(&[("--weaken-symbols", "weak.syms", &*weak)], &local, &unnamed)?;
    objcopy(&[("--redefine-syms", "plain.syms", &*plain)], &unnamed, &out.join("rt-dynamic.o"))?;
    objcopy(&[("--redefine-syms", "mixed.syms", &*mixed)], &unnamed, &out.join("rt-dynamic-c++.o"))?;
    objcopy(&[("--redefine-syms", "wrapped.syms", &*wrapped)], &local, &out.join("rt-static.o"))
}

/// Copies an object with these options, each with a file in `out` of that name and text.
fn objcopy(out: &Path, options: &[(&str, &str, &str)], from: &Path, to: &Path) -> Outcome<()> {
    let mut command = Command::new("objcopy");
    for (option, file, text) in options {
        let path = out.join(file);
        write(&path, text)?;
        command.arg(format!("{option}={}", path.display()));
    }
    run(command.arg("--strip-debug").arg(from).arg(to)).map(drop)
}

/// An empty object, under the name that gcc's driver looks for with `-fsanitize=thread`.
fn stand_in_for_libtsan(out: &Path, target: &str) -> Outcome<()> {
    let source = out.join("empty.rs");
    write(&source, "#![no_std]\n")?;
    let mut command = Command::new(variable("RUSTC")?);
    command.args(["--crate-type=rlib", "--edition=2024", "-Cpanic=abort", "-Ccodegen-units=1"]);
    command.arg(format!("--emit=obj={}", out.join("libtsan_preinit.o").display())).arg(source);
    if variable("HOST")? != target {
        command.args(["--target", target]);
    }
    run(&mut command).map(drop)
}

/// A number that changes with the objects' content (FNV-1a): the name of their folder.
fn identify(out: &Path) -> Outcome<()> {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for name in [
        "rt-dynamic.o",
        "rt-dynamic-c++.o",
        "rt-static.o",
        "dynamic.list",
        "static.args",
        "libtsan_preinit.o",
    ] {
        let content =
            std::fs::read(out.join(name)).map_err(|error| format!("cannot read {name}: {error}"))?;
        for byte in content {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    println!("cargo::rustc-env=DEADHEAT_RUNTIME_ID={hash:032x}");
    Ok(())
}

fn variable(name: &str) -> Outcome<String> {
    println!("cargo::rerun-if-env-changed={name}");
    std::env::var(name).map_err(|_| format!("{name} is not set; this build script runs under cargo only"))
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs a tool; gives what it printed.
fn run(command: &mut Command) -> Outcome<String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        format!(
            "cannot run {tool}: {error}; building deadheat needs GNU binutils (Debian: apt install binutils)"
        )
    })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{tool} failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
    }
}
