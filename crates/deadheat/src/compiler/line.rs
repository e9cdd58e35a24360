//! What a compiler's command line asks for, as far as it matters to us.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::words;

/// What a link makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    /// A program that loads shared libraries, or may.
    Executable,
    /// A program that is linked statically.
    StaticExecutable,
    /// A shared library or plug-in.
    SharedLibrary,
    /// An object to be linked further (`-r`).
    Relocatable,
}

/// The facts of one command line, response files included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    /// There is something to compile or to link; else it is a question to the compiler.
    pub(crate) inputs: bool,
    /// Something of it is to be compiled.
    pub(crate) compiles: bool,
    /// The linker is run.
    pub(crate) links: bool,
    /// What it makes.
    pub(crate) output: Output,
    /// Whether the C library is linked, without which our runtime cannot be.
    pub(crate) has_libc: bool,
    /// An option says how much debug information to write.
    pub(crate) debug: bool,
    /// The last word about `-fsanitize=thread`, if there is one.
    pub(crate) thread: Option<bool>,
    /// Undefined symbols in a shared library are to be errors.
    pub(crate) refuses_undefined: bool,
    /// Link-time optimisation is asked for.
    pub(crate) lto: bool,
    /// The code is not for x86-64.
    pub(crate) foreign: bool,
    /// The compiler for C++ would link the C++ library.
    pub(crate) cxx_library: bool,
    /// The line names the C++ library.
    pub(crate) names_cxx_library: bool,
    /// The C++ library is to be linked into what is made.
    pub(crate) static_cxx_library: bool,
    /// `-mllvm` options are given that we would give as well.
    pub(crate) own_pass_options: bool,
    /// OpenMP is asked for; its library is linked, too.
    pub(crate) openmp: bool,
    /// Rust's standard library is linked.
    pub(crate) rust: bool,
    /// What is said about the instrumentation itself, as options of clang's compiler proper: its driver takes
    /// the words only where it is told to sanitize.
    pub(crate) tuning: Vec<String>,
}

/// Options whose value is the next argument.
const SEPARATE: [&str; 53] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-l",
    "-B",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-F",
    "-G",
    "-h",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-imultiarch",
    "-include-pch",
    "-iframework",
    "-ivfsoverlay",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-Xanalyzer",
    "-mllvm",
    "-target",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-wrapper",
    "-Ttext",
    "-Tdata",
    "-Tbss",
    "--param",
    "--sysroot",
    "--serialize-diagnostics",
];

/// Options that end the work before the link.
const NO_LINK: [&str; 17] = [
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--compile",
    "--assemble",
    "--preprocess",
    "--analyze",
    "--precompile",
    "-emit-ast",
    "-emit-llvm",
    "-emit-pch",
    "-rewrite-objc",
    "-verify-pch",
    "-extract-api",
];

/// Ends of names of what is compiled (or assembled).
const SOURCES: [&str; 34] = [
    "c", "i", "ii", "m", "mi", "mm", "mii", "M", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "cppm", "ixx",
    "s", "S", "sx", "asm", "f", "for", "ftn", "f90", "f95", "F", "F90", "d", "go", "adb", "ads", "ll", "bc",
];

/// Ends of names of headers, which are compiled to a form that is not linked.
const HEADERS: [&str; 9] = ["h", "hh", "H", "hp", "hxx", "hpp", "HPP", "h++", "tcc"];

impl Line {
    /// Reads a command line.
    pub(crate) fn read(arguments: &[OsString]) -> Line {
        let mut reader = Reader::default();
        let all = words::expand(arguments);
        let mut rest = all.iter().map(|argument| String::from_utf8_lossy(argument.as_bytes()).into_owned());
        while let Some(argument) = rest.next() {
            let value = if SEPARATE.contains(&argument.as_str()) { rest.next() } else { None };
            match value {
                Some(value) => reader.option_with_value(&argument, &value),
                None if argument.starts_with('-') && argument != "-" => reader.option(&argument),
                None => reader.input(&argument),
            }
        }
        reader.finish()
    }
}

/// What has been seen of a command line.
#[derive(Default)]
struct Reader {
    sources: bool,
    headers: bool,
    objects: bool,
    no_link: bool,
    output: Option<Output>,
    no_libraries: bool,
    libc: bool,
    debug: bool,
    thread: Option<bool>,
    refuses_undefined: bool,
    lto: bool,
    foreign: bool,
    no_cxx_library: bool,
    names_cxx_library: bool,
    static_cxx_library: bool,
    own_pass_options: bool,
    openmp: bool,
    names_openmp: bool,
    rust: bool,
    tuning: Vec<String>,
    language: Option<String>,
    linker_z: bool,
}

impl Reader {
    fn option_with_value(&mut self, option: &str, value: &str) {
        match option {
            "-x" => self.language = (value != "none").then(|| value.to_owned()),
            "-Xlinker" => self.linker(value),
            "-z" => self.linker_keyword(value),
            "-l" => self.library(value),
            "-target" | "-arch" => self.foreign = !value.starts_with("x86_64"),
            "-mllvm" => self.own_pass_options |= value.starts_with("-tsan-"),
            _ => {}
        }
        if option == "-l" {
            self.objects = true;
        }
    }

    fn option(&mut self, option: &str) {
        if let Some(words) = option.strip_prefix("-Wl,") {
            words.split(',').for_each(|word| self.linker(word));
        } else if let Some(list) = option.strip_prefix("-fsanitize=") {
            if list.split(',').any(|name| name == "thread") {
                self.thread = Some(true);
            }
        } else if let Some(list) = option.strip_prefix("-fno-sanitize=") {
            if list.split(',').any(|name| name == "thread" || name == "all") {
                self.thread = Some(false);
            }
        } else if let Some(words) = tuning(option) {
            self.tuning.extend(words);
        } else if let Some(language) = option.strip_prefix("-x") {
            self.language = (language != "none").then(|| language.to_owned());
        } else if let Some(keyword) = option.strip_prefix("-z") {
            self.linker_keyword(keyword);
        } else if let Some(triple) = option.strip_prefix("--target=") {
            self.foreign = !triple.starts_with("x86_64");
        } else if let Some(name) = option.strip_prefix("-l") {
            self.library(name);
            self.objects = true;
        } else if NO_LINK.contains(&option) {
            self.no_link = true;
        } else {
            self.flag(option);
        }
    }

    fn flag(&mut self, option: &str) {
        match option {
            "-shared" | "--shared" => self.output = Some(Output::SharedLibrary),
            "-r" => self.output = Some(Output::Relocatable),
            "-static" | "--static" | "-static-pie" => {
                self.output.get_or_insert(Output::StaticExecutable);
            }
            "-nostdlib" | "-nodefaultlibs" | "-nolibc" | "--no-standard-libraries" => {
                self.no_libraries = true
            }
            "-nostdlib++" => self.no_cxx_library = true,
            "-static-libstdc++" => self.static_cxx_library = true,
            "-m32" | "-mx32" | "-m16" => self.foreign = true,
            "-m64" => self.foreign = false,
            "-fno-lto" => self.lto = false,
            "-fno-openmp" => self.openmp = false,
            _ if is_openmp(option) => self.openmp = true,
            _ if option == "-flto" || option.starts_with("-flto=") => self.lto = true,
            _ => self.debug |= asks_for_debug_information(option),
        }
    }

    /// One word for the linker.
    fn linker(&mut self, word: &str) {
        if std::mem::take(&mut self.linker_z) {
            return self.linker_keyword(word);
        }
        match word {
            "-z" => self.linker_z = true,
            "--no-undefined" | "-no-undefined" | "--unresolved-symbols=report-all" => {
                self.refuses_undefined = true;
            }
            "-shared" | "--shared" | "-Bshareable" => self.output = Some(Output::SharedLibrary),
            "-r" | "-i" | "-Ur" | "--relocatable" => self.output = Some(Output::Relocatable),
            _ => {
                if let Some(keyword) = word.strip_prefix("-z") {
                    self.linker_keyword(keyword);
                } else if let Some(name) = word.strip_prefix("-l") {
                    self.library(name);
                }
            }
        }
    }

    fn linker_keyword(&mut self, keyword: &str) {
        match keyword {
            "defs" => self.refuses_undefined = true,
            "undefs" => self.refuses_undefined = false,
            _ => {}
        }
    }

    fn library(&mut self, name: &str) {
        self.names_cxx_library |= ["stdc++", "c++", "supc++", ":libstdc++.a"].contains(&name);
        self.names_openmp |= ["gomp", "omp", "iomp5", ":libgomp.a"].contains(&name);
        self.libc |= name == "c" || name == ":libc.so" || name == ":libc.so.6" || name == ":libc.a";
    }

    fn input(&mut self, name: &str) {
        self.rust |= is_rust_s_library(name);
        let end = name.rsplit_once('.').map_or("", |(_, end)| end);
        match &self.language {
            Some(language) if language.ends_with("header") => self.headers = true,
            Some(_) => self.sources = true,
            None if name == "-" || SOURCES.contains(&end) => self.sources = true,
            None if HEADERS.contains(&end) => self.headers = true,
            None => self.objects = true,
        }
    }

    fn finish(self) -> Line {
        let links = !self.no_link && (self.sources || self.objects && !self.headers);
        Line {
            inputs: self.sources || self.headers || self.objects,
            compiles: self.sources || self.headers,
            links,
            output: self.output.unwrap_or(Output::Executable),
            has_libc: !self.no_libraries || self.libc,
            debug: self.debug,
            thread: self.thread,
            refuses_undefined: self.refuses_undefined,
            lto: self.lto,
            foreign: self.foreign,
            cxx_library: !self.no_cxx_library && !self.no_libraries,
            names_cxx_library: self.names_cxx_library,
            static_cxx_library: self.static_cxx_library,
            own_pass_options: self.own_pass_options,
            openmp: self.openmp || self.names_openmp,
            rust: self.rust,
            tuning: self.tuning,
        }
    }
}

/// Whether an input is the standard library of Rust, as its compiler names it.
fn is_rust_s_library(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.starts_with("libstd-") && file.ends_with(".rlib")
}

/// Whether an option has the driver link OpenMP's library.
fn is_openmp(option: &str) -> bool {
    ["-fopenmp", "-fopenmp=", "-ftree-parallelize-loops="]
        .iter()
        .any(|known| if known.ends_with('=') { option.starts_with(known) } else { option == *known })
}

/// Whether an option is one of those that say how much debug information to write, none
/// (`-g0`) included. Others that begin alike only say how.
fn asks_for_debug_information(option: &str) -> bool {
    const KINDS: [&str; 10] =
        ["gdb", "dwarf", "split-dwarf", "stabs", "line-", "mlt", "full", "used", "codeview", "ctf"];
    option.strip_prefix("-g").is_some_and(|kind| {
        kind.is_empty()
            || kind.starts_with(|digit: char| digit.is_ascii_digit())
            || KINDS.iter().any(|known| kind.starts_with(known))
    })
}

/// An option of clang's driver about the instrumentation, in the words of its compiler proper.
fn tuning(option: &str) -> Option<Vec<String>> {
    let pass = |names: &[&str]| {
        let words = names.iter().flat_map(|name| ["-mllvm".to_owned(), format!("-tsan-instrument-{name}=0")]);
        Some(words.collect())
    };
    match option {
        "-fno-sanitize-thread-memory-access" => pass(&["memory-accesses", "memintrinsics"]),
        "-fno-sanitize-thread-func-entry-exit" => pass(&["func-entry-exit"]),
        "-fno-sanitize-thread-atomics" => pass(&["atomics"]),
        _ => {
            let list = option
                .strip_prefix("-fsanitize-ignorelist=")
                .or_else(|| option.strip_prefix("-fsanitize-blacklist="))?;
            Some(vec!["-Xclang".to_owned(), format!("-fsanitize-ignorelist={list}")])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Line {
        Line::read(&words::split(text.as_bytes()))
    }

    #[test]
    fn what_is_done() {
        let stages = |text| {
            let line = read(text);
            (line.inputs, line.compiles, line.links)
        };
        assert_eq!(stages("--version"), (false, false, false));
        assert_eq!(stages("-v -o x -I y -MF z"), (false, false, false));
        assert_eq!(stages("-print-file-name=libc.so"), (false, false, false));
        for text in
            ["-c a.c", "a.cc -S -o -", "-E -x c -", "-xc++ - -fsyntax-only", "-MM a.c", "a.h", "-c a.s -o a"]
        {
            assert_eq!(stages(text), (true, true, false), "{text}");
        }
        for text in ["a.c", "-o x a.o b.cpp -MMD -MF d", "-x c - -o x", "-x c a -x none b.o", "-### a.c"] {
            assert_eq!(stages(text), (true, true, true), "{text}");
        }
        for text in ["a.o", "-o x liba.a -lm", "-shared libx.so.1", "-o x -Wl,--whole-archive a.a"] {
            assert_eq!(stages(text), (true, false, true), "{text}");
        }
    }

    #[test]
    fn what_a_link_makes() {
        let output = |text| read(text).output;
        assert_eq!(output("a.o"), Output::Executable);
        assert!(read("a.o /x/libstd-0123456789abcdef.rlib -lc").rust && !read("libstd-a.a libstd.rlib").rust);
        assert_eq!(output("a.o -pie -Wl,-Bstatic -la -Wl,-Bdynamic"), Output::Executable);
        assert_eq!(output("-static a.o"), Output::StaticExecutable);
        assert_eq!(output("-static-pie a.o"), Output::StaticExecutable);
        assert_eq!(output("a.o -shared -static"), Output::SharedLibrary);
        assert_eq!(output("-static -Wl,-soname,x,-shared a.o"), Output::SharedLibrary);
        assert_eq!(output("-r a.o"), Output::Relocatable);
        assert_eq!(output("-Xlinker -r a.o"), Output::Relocatable);
        assert!(!read("-nostdlib a.o").has_libc);
        assert!(read("-nostdlib a.o -lgcc -lc").has_libc);
        assert!(read("-static-libstdc++ a.o").static_cxx_library);
        assert_eq!(output("-static-libstdc++ a.o"), Output::Executable);
    }

    #[test]
    fn the_last_word_on_instrumentation_counts() {
        let thread = |text| read(text).thread;
        assert_eq!(thread("a.c"), None);
        assert_eq!(thread("-fsanitize=undefined,thread a.c"), Some(true));
        assert_eq!(thread("-fsanitize=thread -fno-sanitize=thread a.c"), Some(false));
        assert_eq!(thread("-fno-sanitize=all -fsanitize=thread a.c"), Some(true));
        assert_eq!(thread("-fsanitize=undefined a.c"), None);
    }

    #[test]
    fn what_is_not_to_be_instrumented_is_passed_on() {
        let tuning = |text| read(text).tuning.join(" ");
        assert_eq!(tuning("-fno-sanitize-thread-atomics a.c"), "-mllvm -tsan-instrument-atomics=0");
        assert_eq!(tuning("-fsanitize-ignorelist=x a.c"), "-Xclang -fsanitize-ignorelist=x");
        assert_eq!(tuning("-fsanitize=thread a.c"), "");
    }

    #[test]
    fn undefined_symbols_are_refused_in_many_spellings() {
        for text in
            ["-Wl,--no-undefined", "-Wl,-z,defs", "-Wl,-zdefs", "-z defs", "-Xlinker -z -Xlinker defs"]
        {
            assert!(read(&format!("-shared a.o {text}")).refuses_undefined, "{text}");
        }
        assert!(!read("-shared a.o -Wl,-z,now,-z,relro").refuses_undefined);
        assert!(!read("-shared a.o -Wl,-z,defs -Wl,-z,undefs").refuses_undefined);
    }

    #[test]
    fn debug_options() {
        for text in ["-g", "-g0", "-g3", "-ggdb3", "-gdwarf-5", "-gline-tables-only"] {
            assert!(read(text).debug, "{text}");
        }
        for text in ["-gz", "-gcolumn-info", "-O2", "-gno-record-gcc-switches", "-o -g"] {
            assert!(!read(text).debug, "{text}");
        }
    }

    #[test]
    fn openmp_in_many_spellings() {
        for text in [
            "-fopenmp a.c",
            "-fopenmp=libomp a.c",
            "-ftree-parallelize-loops=4 a.c",
            "a.o -lgomp",
            "a.o -l omp",
        ] {
            assert!(read(text).openmp, "{text}");
        }
        for text in ["a.c", "-fopenmp-simd a.c", "-fopenmp -fno-openmp a.c", "-o -fopenmp a.c"] {
            assert!(!read(text).openmp, "{text}");
        }
    }

    #[test]
    fn other_machines() {
        assert!(read("-m32 a.c").foreign);
        assert!(!read("-m32 -m64 a.c").foreign);
        assert!(read("--target=aarch64-linux-gnu a.c").foreign);
        assert!(!read("-target x86_64-linux-gnu a.c").foreign);
    }
}
