//! What is added to a command line, and why.
//!
//! The compiler proper is told `-fsanitize=thread`; the linker never gets a runtime of the
//! compiler's own, although the caller, or we, may say `-fsanitize=thread` to the driver when
//! linking. With clang the driver is told `-fno-sanitize=thread` last, and the compiler proper
//! `-Xclang -fsanitize=thread`. With gcc `-fsanitize=thread` stays, because link-time
//! optimisation would lose the instrumentation without it, and the driver finds an empty
//! `libtsan` of ours first.

use std::ffi::OsString;

use super::line::{Line, Output};
use super::object::Object;
use super::real::{Family, Identity};

/// Arguments to put around the caller's.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Additions {
    /// In front: the caller's own options have the last word over them.
    pub(crate) before: Vec<OsString>,
    /// Behind: they have the last word.
    pub(crate) after: Vec<OsString>,
    /// What will not be understood of what is linked.
    pub(crate) warning: Option<&'static str>,
}

/// The first libgomp that has all functions that the runtime stands in for.
const LIBGOMP: u32 = 11;
/// Said where a static program's OpenMP is another.
const NO_OPENMP: &str = "OpenMP is not understood in a program that is linked with -static, but for that of gcc 11 and later: races \
                         will be told that its constructs prevent; link without -static";

/// Decides what is added. `object` is there if the line links.
pub(crate) fn plan(line: &Line, compiler: Identity, object: Option<&Object>) -> Additions {
    let mut additions = Additions::default();
    if line.foreign || !compiler.x86_64 {
        return additions;
    }
    match compiler.family {
        Family::Gcc => gcc(line, object, &mut additions),
        Family::Clang => clang(line, compiler.major, object, &mut additions),
    }
    if let Some(object) = object {
        link(line, compiler, object, &mut additions);
    }
    additions
}

fn gcc(line: &Line, object: Option<&Object>, additions: &mut Additions) {
    let before = &mut additions.before;
    if line.compiles {
        // Our runtime knows fences, so gcc's warning that its own does not would be wrong.
        before.extend(["-Wno-tsan".into(), "-fsanitize=thread".into()]);
        // What it expands in place has no hook: where the library's function does as well, that is to be called.
        before.push("-mstringop-strategy=libcall".into());
        debug(line, before);
    } else {
        before.push("-fsanitize=thread".into());
    }
    let Some(object) = object else { return };
    before.extend(["-B".into(), object.folder().into(), "-L".into(), object.folder().into()]);
    let loses = line.compiles || line.lto || line.thread == Some(true);
    if line.output == Output::StaticExecutable && line.has_libc {
        if loses {
            static_with_gcc(line, additions);
        } else {
            before.retain(|argument| argument != "-fsanitize=thread");
        }
    }
}

/// gcc's driver refuses `-static` together with `-fsanitize=thread`, except when it is not to
/// link the usual libraries: those we then name ourselves.
fn static_with_gcc(line: &Line, additions: &mut Additions) {
    additions.before.push("-nodefaultlibs".into());
    if line.cxx_library && !line.names_cxx_library {
        additions.after.extend(["-lstdc++".into(), "-lm".into()]);
    }
    additions.after.push("-Wl,--start-group".into());
    if line.openmp {
        additions.after.extend(["-lgomp".into(), "-ldl".into()]);
    }
    let libraries = ["-lgcc", "-lgcc_eh", "-lpthread", "-lc", "-Wl,--end-group"];
    additions.after.extend(libraries.map(OsString::from));
}

fn clang(line: &Line, major: u32, object: Option<&Object>, additions: &mut Additions) {
    // Marks options as such that need not be of use, lest `-Werror` turn that into an error.
    let quiet = |to: &mut Vec<OsString>, options: &[&str]| {
        let marks = major >= 14;
        to.extend(marks.then(|| "--start-no-unused-arguments".into()));
        to.extend(options.iter().map(OsString::from));
        to.extend(marks.then(|| "--end-no-unused-arguments".into()));
    };
    if line.compiles {
        let mut options = match object {
            None => vec!["-fsanitize=thread"],
            Some(_) if line.thread == Some(false) => vec![],
            Some(_) => vec!["-Xclang", "-fsanitize=thread"],
        };
        if major >= 12 && !line.own_pass_options {
            // `x++` is told as a read and a write, in one call.
            options.extend(["-mllvm", "-tsan-compound-read-before-write=1"]);
        }
        if object.is_some() {
            options.extend(line.tuning.iter().map(String::as_str));
        }
        if !line.debug {
            options.push("-g");
        }
        quiet(&mut additions.before, &options);
        if object.is_some() && line.thread != Some(false) {
            // The instrumentation leaves out what is larger: loops are not to be made of that, whatever processor they are for.
            quiet(&mut additions.after, &["-mprefer-vector-width=128"]);
        }
    }
    if object.is_some() && line.thread == Some(true) {
        quiet(&mut additions.after, &["-fno-sanitize=thread"]);
    }
}

/// Reports want source lines. Debug information changes no code.
fn debug(line: &Line, before: &mut Vec<OsString>) {
    if !line.debug {
        before.push("-g".into());
    }
}

/// The runtime for programs; for shared libraries the leave to lack it, since the program that
/// loads them has it.
fn link(line: &Line, compiler: Identity, object: &Object, additions: &mut Additions) {
    let is_program = [Output::Executable, Output::StaticExecutable].contains(&line.output);
    if line.rust && is_program && line.has_libc {
        // Read by the runtime (`intercept::deadly`).
        additions.before.push("-Wl,--defsym=deadheat_program_is_rust=1".into());
    }
    match line.output {
        Output::Relocatable => {}
        Output::SharedLibrary => {
            if line.refuses_undefined {
                additions.after.push("-Wl,-z,undefs".into());
            }
        }
        Output::Executable | Output::StaticExecutable if !line.has_libc => {}
        Output::Executable => {
            let mut list = OsString::from("--dynamic-list=");
            list.push(object.dynamic_list());
            let cxx = line.cxx_library && line.static_cxx_library;
            additions.before.extend([object.for_dynamic(cxx).into(), "-Xlinker".into(), list]);
            if cxx {
                additions.before.push(object.dynamic_arguments_cxx().into());
            }
            // Part of the C library since glibc 2.34, libraries of their own before.
            let libraries = ["-Wl,--push-state,--no-as-needed", "-lpthread", "-ldl", "-Wl,--pop-state"];
            additions.before.extend(libraries.map(OsString::from));
        }
        Output::StaticExecutable => {
            // Behind the program's own objects and in front of the libraries: by that the runtime
            // tells the program's calls of `memcpy` from those inside of the C library.
            let openmp = line.openmp && compiler.family == Family::Gcc && compiler.major >= LIBGOMP;
            additions.warning = (line.openmp && !openmp).then_some(NO_OPENMP);
            let (runtime, options) = (object.for_static(), object.static_arguments(line.cxx_library, openmp));
            let words = ["-x".into(), "none".into(), runtime.into(), options.into()];
            additions.after.splice(0..0, words);
        }
    }
}
