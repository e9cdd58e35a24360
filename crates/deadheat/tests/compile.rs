//! `deadheat cc` and `c++` as drop-ins: every way of calling a compiler, with gcc and clang.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{clean, deadheat, each_compiler, have, ok, output, project, races, said, symbols, with};

type Pair = (&'static str, &'static str);

fn cc(pair: Pair, folder: &Path, arguments: &str) {
    ok(with(pair).arg("cc").args(arguments.split_whitespace()), folder);
}

fn cxx(pair: Pair, folder: &Path, arguments: &str) {
    ok(with(pair).arg("c++").args(arguments.split_whitespace()), folder);
}

#[test]
fn in_steps_and_at_once() {
    each_compiler("steps", |pair, folder| {
        cc(pair, folder, "-c main.c");
        cc(pair, folder, "-O2 -c store.c -o store.o");
        cc(pair, folder, "main.o store.o -pthread -o program");
        races(folder, &["./program"]);
        cc(pair, folder, "-O1 -MMD -MF deps main.c store.o -o at-once");
        races(folder, &["./at-once"]);
        assert!(fs::read_to_string(folder.join("deps")).expect("deps").contains("store.h"));
        cxx(pair, folder, "main.cpp store.o -o cxx");
        races(folder, &["./cxx"]);
    });
}

#[test]
fn statically_linked() {
    each_compiler("static", |pair, folder| {
        cc(pair, folder, "-c main.c store.c");
        cc(pair, folder, "-static main.o store.o -o in-steps");
        races(folder, &["./in-steps"]);
        cc(pair, folder, "-static main.c store.c -o at-once");
        races(folder, &["./at-once"]);
        cxx(pair, folder, "-static -O1 main.cpp store.o -o cxx");
        races(folder, &["./cxx"]);
        cc(pair, folder, "-static-pie -fPIE main.c store.c -o pie");
        races(folder, &["./pie"]);
    });
}

/// clang's instrumentation leaves out accesses of more than 16 bytes, which it makes of loops where a processor has them.
#[test]
fn loops_for_processors_of_wide_vectors_are_seen() {
    const RACY: &str = "#include <pthread.h>\nint shared[1024];\n\
        __attribute__((noinline)) void fill(int *to, int n) { for (int i = 0; i < n; i++) to[i] = to[i] * 3 + 1; }\n\
        void *work(void *nothing) { fill(shared, 1024); return nothing; }\n\
        int main(void) { pthread_t thread; pthread_create(&thread, 0, work, 0); shared[500] = 1;\n\
        pthread_join(thread, 0); return 0; }\n";
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if !processor.split_whitespace().any(|has| has == "avx2") {
        return println!("skipped: needs a processor with AVX2");
    }
    each_compiler("vectors", |pair, folder| {
        fs::write(folder.join("racy.c"), RACY).expect("written");
        for options in ["-O3 -mavx2", "-O3 -march=x86-64-v3 -mprefer-vector-width=256"] {
            cc(pair, folder, &format!("{options} -g -pthread -o program racy.c"));
            let mut program = Command::new(folder.join("program"));
            clean(&mut program);
            let told = output(&mut program, folder);
            assert!(said(&told).contains("data race on `shared"), "{options}: {}", said(&told));
        }
    });
}

/// gcc fills and copies in place, without a hook, if it is not told to call the library where it can.
#[test]
fn what_the_compiler_would_fill_and_copy_in_place_is_seen() {
    const RACY: &str = "#include <pthread.h>\n#include <string.h>\n\
        char filled[300], copied[32], cold[32], other[32]; volatile unsigned size = 20;\n\
        static void fill(void) { memset(filled, 0, sizeof filled); }\n\
        static void copy(void) { unsigned n = size; if (n < 32) memcpy(copied, other, n); }\n\
        __attribute__((cold)) static void fill_seldom(void) { memset(cold, 54, size); }\n\
        void *work(void *nothing) { fill(); copy(); fill_seldom(); return nothing; }\n\
        int main(void) { pthread_t thread; pthread_create(&thread, 0, work, 0);\n\
        filled[200] = 1; copied[1] = 1; cold[1] = 1; pthread_join(thread, 0); return 0; }\n";
    each_compiler("in-place", |pair, folder| {
        fs::write(folder.join("racy.c"), RACY).expect("written");
        cc(pair, folder, "-O2 -g -pthread -o program racy.c");
        let mut program = Command::new(folder.join("program"));
        clean(&mut program);
        let told = output(&mut program, folder);
        for variable in ["filled", "copied", "cold"] {
            assert!(
                said(&told).contains(&format!("data race on `{variable}")),
                "{variable}: {}",
                said(&told)
            );
        }
    });
}

/// It would take the place of the allocator that is followed: what it hands out again would look like a race.
#[test]
fn an_allocator_in_an_archive_is_not_linked_for_our_sake() {
    each_compiler("allocator", |pair, folder| {
        let functions = "void *malloc(unsigned long n) { abort(); }\n\
            void free(void *p) { abort(); }\n\
            void *__libc_malloc(unsigned long n) { return malloc(n); }\n\
            void __libc_free(void *p) { free(p); }\n";
        fs::write(folder.join("own.c"), format!("extern void abort(void);\n{functions}")).expect("writable");
        cc(pair, folder, "-fno-builtin -c own.c main.c store.c");
        ok(Command::new("ar").args(["rc", "libown.a", "own.o"]), folder);
        cc(pair, folder, "main.o store.o libown.a -o program");
        races(folder, &["./program"]);
    });
}

/// LLVM's OpenMP is not understood in a static program, which is said at the link, whatever comes of that.
#[test]
fn static_openmp_of_llvm_is_warned_of() {
    each_compiler("static-openmp", |pair, folder| {
        fs::write(folder.join("team.c"), "int main(void) {\n#pragma omp parallel\n    ;\n}\n")
            .expect("writable");
        for (options, is_static) in [("-fopenmp -static", true), ("-fopenmp", false), ("-static", false)] {
            let words = format!("cc {options} team.c -o team");
            let said = said(&output(with(pair).args(words.split(' ')), folder));
            let warned = said.contains("deadheat: warning: OpenMP is not understood");
            assert_eq!(warned, is_static && pair.0 != "gcc", "{words}\n{said}");
        }
    });
}

#[test]
fn archives_libraries_and_plugins() {
    each_compiler("libraries", |pair, folder| {
        cc(pair, folder, "-fPIC -c store.c");
        ok(Command::new("ar").args(["rcs", "libarchived.a", "store.o"]), folder);
        cc(pair, folder, "main.c -L. -larchived -o archived");
        races(folder, &["./archived"]);
        for (refusing, name) in [("", "plain"), ("-Wl,--no-undefined", "no"), ("-Wl,-z,defs", "defs")] {
            cc(pair, folder, &format!("-shared store.o {refusing} -o lib{name}.so"));
            cc(pair, folder, &format!("main.c -L. -l{name} -Wl,-rpath,$ORIGIN -o {name}"));
            races(folder, &[&format!("./{name}")]);
        }
        assert!(!symbols(&folder.join("libplain.so")).contains(" T __tsan_"), "a library has no runtime");
        cc(pair, folder, "-shared -fPIC -fsanitize=thread store.c -o at-once.so");
        cc(pair, folder, "plugin.c -ldl -o loads");
        races(folder, &["./loads", "./at-once.so"]);
    });
}

#[test]
fn response_files() {
    each_compiler("response", |pair, folder| {
        fs::write(folder.join("inner.rsp"), "-c 'main.c' \"store.c\"").expect("write");
        fs::write(folder.join("outer.rsp"), "-O1\n@inner.rsp\n").expect("write");
        fs::write(folder.join("link.rsp"), "main.o store.o -fsanitize=thread -o program").expect("write");
        cc(pair, folder, "@outer.rsp");
        cc(pair, folder, "@link.rsp");
        races(folder, &["./program"]);
    });
}

#[test]
fn the_build_system_asks_for_thread_sanitizer_itself() {
    each_compiler("sanitize", |pair, folder| {
        cc(pair, folder, "-fsanitize=thread -c main.c store.c");
        for (name, link) in [
            ("linked", "-fsanitize=thread main.o store.o"),
            ("at-once", "-fsanitize=thread main.c store.c"),
            ("lists", "-fsanitize=undefined,thread main.c store.c"),
            ("separate", "-fsanitize=undefined -fsanitize=thread main.o store.o"),
        ] {
            cc(pair, folder, &format!("{link} -o {name}"));
            races(folder, &[&format!("./{name}")]);
            let dynamic = ok(Command::new("readelf").args(["-d", name]), folder);
            assert!(!said(&dynamic).contains("libtsan"), "{name}");
            // The names of what ThreadSanitizer's own runtime is made of.
            assert!(!symbols(&folder.join(name)).contains("_ZN6__tsan"), "{name}");
        }
        cc(pair, folder, "-fno-sanitize=thread -c store.c -o bare.o");
        assert!(!symbols(&folder.join("bare.o")).contains("__tsan"));
        cc(pair, folder, "-fsanitize=thread main.c store.c -fno-sanitize=thread -o bare");
        let run = output(deadheat().args(["run", "--", "./bare"]), folder);
        assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    });
}

#[test]
fn link_time_optimisation() {
    each_compiler("lto", |pair, folder| {
        let linker = if pair.0 == "gcc" { "" } else { "-fuse-ld=lld-19" };
        if pair.0 != "gcc" && !have("ld.lld-19") {
            return;
        }
        cc(pair, folder, "-O2 -flto -c main.c store.c");
        cc(pair, folder, &format!("-O2 -flto {linker} main.o store.o -o program"));
        races(folder, &["./program"]);
        cc(pair, folder, &format!("{linker} main.o store.o -o silent"));
        races(folder, &["./silent"]);
        cc(pair, folder, &format!("-O2 -flto -static {linker} main.o store.o -o static"));
        races(folder, &["./static"]);
    });
}

#[test]
fn what_is_not_linked() {
    each_compiler("other", |pair, folder| {
        let text = |arguments: &[&str]| said(&ok(with(pair).arg("cc").args(arguments), folder));
        assert!(text(&["-S", "store.c", "-o", "-"]).contains("__tsan_"));
        assert!(text(&["-E", "store.c"]).contains("store_put"));
        assert!(text(&["-M", "store.c"]).contains("store.h"));
        assert!(text(&["-###", "main.c", "store.c", "-o", "never"]).contains("rt-dynamic.o"));
        assert!(!folder.join("never").exists());
        assert!(text(&["--version"]).to_lowercase().contains(&pair.0[..3]));
        assert!(text(&["-print-file-name=libc.so"]).contains("libc"));
        cc(pair, folder, "-fsyntax-only store.c");
        cc(pair, folder, "-r main.c store.c -nostdlib -o partly.o");
        assert!(!symbols(&folder.join("partly.o")).contains(" T __tsan"));
        cc(pair, folder, "partly.o -o program");
        races(folder, &["./program"]);
        let foreign = said(&output(with(pair).args(["cc", "-m32", "-###", "-c", "store.c"]), folder));
        assert!(!foreign.contains("fsanitize"), "{foreign}");
    });
}

#[test]
fn standard_input() {
    each_compiler("input", |pair, folder| {
        let mut command = with(pair);
        command.args(["cc", "-x", "c", "-", "-o", "program"]).current_dir(folder).stdin(Stdio::piped());
        let mut child = command.spawn().expect("deadheat runs");
        let source = b"#include \"store.c\"\n#include \"main.c\"\n";
        child.stdin.take().expect("piped").write_all(source).expect("written");
        assert!(child.wait().expect("ended").success());
        races(folder, &["./program"]);
    });
}

#[test]
fn messages_and_codes_come_through() {
    each_compiler("messages", |pair, folder| {
        fs::write(folder.join("bad.c"), "int main(void) { int unused; return x; }\n").expect("write");
        for arguments in [&["-c", "-Wall", "bad.c"][..], &["-c", "none.c"], &["-bogus", "-c", "store.c"], &[]]
        {
            let ours = output(with(pair).arg("cc").args(arguments), folder);
            let theirs = output(Command::new(pair.0).args(arguments), folder);
            assert_eq!(said(&ours), said(&theirs).replace("/usr/bin/", ""), "{arguments:?}");
        }
        // gcc warns of fences, which its own runtime does not know; ours does.
        fs::write(folder.join("fence.c"), "void f(void) { __atomic_thread_fence(5); }\n").expect("write");
        cc(pair, folder, "-O1 -Wall -Wextra -Werror -c fence.c");
        fs::write(folder.join("asm.s"), "f: ret\n").expect("write");
        cc(pair, folder, "-Wall -Werror -c asm.s");
        cc(pair, folder, "-c -g0 store.c -o nodebug.o");
        let sections = said(&ok(Command::new("readelf").args(["-S", "nodebug.o"]), folder));
        assert!(!sections.contains(".debug_line"), "{sections}");
    });
}

#[test]
fn what_is_missing_is_named() {
    let folder = project("missing");
    let output =
        output(deadheat().args(["cc", "-c", "main.c"]).env("DEADHEAT_CC", "no-such-compiler"), &folder);
    assert_eq!(output.status.code(), Some(69));
    assert!(said(&output).contains("no-such-compiler") && said(&output).contains("apt install gcc"));
}

#[test]
fn a_compiler_that_is_deadheat_again_is_refused() {
    let folder = project("circle");
    let itself = format!("{} cc", env!("CARGO_BIN_EXE_deadheat"));
    let output = output(deadheat().args(["cc", "-c", "main.c"]).env("DEADHEAT_CC", itself), &folder);
    assert_eq!(output.status.code(), Some(69), "{}", said(&output));
}

#[test]
fn by_its_name() {
    let folder = project("name");
    for (name, source) in [("deadheat-cc", "main.c"), ("deadheat-c++", "main.cpp")] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_deadheat"), folder.join(name)).expect("linked");
        let mut command = Command::new(folder.join(name));
        common::clean(&mut command);
        ok(command.args(["-O1", source, "-x", "c", "store.c", "-o", "program", "-lstdc++"]), &folder);
        races(&folder, &["./program"]);
    }
}

#[test]
fn ccache_in_front_and_behind() {
    if !have("ccache") {
        return;
    }
    each_compiler("ccache", |pair, folder| {
        let behind = (&*format!("ccache {}", pair.0), pair.1);
        for _ in 0..2 {
            ok(with(behind).args(["cc", "-c", "store.c", "main.c"]), folder);
            ok(with(behind).args(["cc", "store.o", "main.o", "-o", "program"]), folder);
            races(folder, &["./program"]);
            let script =
                "ccache $CC -c store.c && ccache $CC -c main.c && ccache $CC main.o store.o -o program";
            ok(with(pair).args(["build", "--", "sh", "-e", "-c", script]), folder);
            races(folder, &["./program"]);
        }
    });
}

#[test]
fn a_new_cache_filled_by_many_at_once() {
    each_compiler("cache", |pair, folder| {
        // Blanks and commas in the path are what the linker's options could stumble over.
        let cache = folder.join("a cache, new");
        let start = |number: u32| {
            let name = format!("program{number}");
            let mut command = with(pair);
            command.args(["cc", "main.c", "store.c", "-o", &name]).env("DEADHEAT_CACHE", &cache);
            (command.current_dir(folder).spawn().expect("deadheat runs"), format!("./{name}"))
        };
        let started: Vec<_> = (0..8).map(start).collect();
        let names = started.into_iter().map(|(mut child, name)| {
            assert!(child.wait().expect("ended").success());
            name
        });
        let names: Vec<_> = names.collect();
        races(folder, &[&names[7]]);
        // A file that was cut off is made anew.
        let runtime = fs::read_dir(&cache).expect("cache").flatten();
        let runtime = runtime.map(|entry| entry.path()).find(|path| path.join("rt-dynamic.o").exists());
        fs::write(runtime.expect("the runtime").join("rt-dynamic.o"), "").expect("cut");
        let mut command = with(pair);
        command.args(["cc", "main.c", "store.c", "-o", "again"]).env("DEADHEAT_CACHE", &cache);
        ok(&mut command, folder);
        races(folder, &["./again"]);
    });
}

/// Each in a namespace of processes of its own, as a build's sandboxes are: all are number 1 there.
#[test]
fn a_new_cache_filled_by_many_of_one_number() {
    let namespace = ["--user", "--map-root-user", "--pid", "--fork"];
    let allowed =
        || Command::new("unshare").args(namespace).arg("true").status().is_ok_and(|it| it.success());
    if !have("unshare") || !allowed() {
        println!("skipped: needs unshare, and leave to use it");
        return;
    }
    each_compiler("cache-numbers", |pair, folder| {
        for round in 0..4 {
            let cache = folder.join(format!("cache{round}"));
            let start = |number: u32| {
                let inner = with(pair);
                let mut command = Command::new("unshare");
                command.args(namespace).arg(inner.get_program()).args(["cc", "main.c", "store.c", "-o"]);
                command.arg(format!("program{number}")).env("DEADHEAT_CACHE", &cache).current_dir(folder);
                let variables = inner.get_envs().filter_map(|(name, value)| Some((name, value?)));
                command.envs(variables).spawn().expect("unshare runs")
            };
            let started: Vec<_> = (0..8).map(start).collect();
            for mut child in started {
                assert!(child.wait().expect("ended").success());
            }
            races(folder, &["./program7"]);
        }
    });
}
