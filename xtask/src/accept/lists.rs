//! The acceptance lists: what has to hold, and the command that shows it.

/// One line of an acceptance list.
pub(super) struct Line {
    /// What the line is called on the command line and in the document.
    pub(super) name: &'static str,
    /// What has to hold, in a sentence.
    pub(super) says: &'static str,
    /// What is run, by `bash`, in the clone; `$OUT` is an empty folder, `$REPO` the working tree.
    pub(super) run: &'static str,
    /// The exit code that it must end with.
    pub(super) code: i32,
    /// Texts that its output must hold.
    pub(super) prints: &'static [&'static str],
    /// If the line holds, only output lines with one of these are kept; all if there is none.
    pub(super) keeps: &'static [&'static str],
    /// Where its random numbers begin, if it uses any.
    pub(super) seed: Option<&'static str>,
}

/// The acceptance lists by name.
pub(super) const LISTS: &[(&str, &[Line])] =
    &[("watch", WATCH), ("hunt", HUNT), ("online", ONLINE), ("predict", PREDICT)];

/// What tells how tests went.
const RESULTS: &[&str] = &["     Running ", "   Doc-tests ", "test result", "skipped"];

/// A line from which the others differ by what they say.
const PLAIN: Line = Line { name: "", says: "", run: "", code: 0, prints: &[], keeps: &[], seed: None };

const WATCH: &[Line] = &[
    Line {
        name: "demo",
        says: "The README's first command builds everything, compiles the demo with the system's compiler and \
               shows its race with both source lines (exit 66).",
        run: "$(sed -n 's/^\\$ \\(cargo run .*\\)$/\\1/p' README.md | head -1)",
        code: 66,
        prints: &["dead heat", "cache.c"],
        ..PLAIN
    },
    Line {
        name: "suite",
        says: "The README's second command passes all tests, here at the counts of `.ci/run`.",
        run: "DEADHEAT_FUZZ_SECONDS=20 cargo test --workspace --no-fail-fast",
        prints: &["test result: ok"],
        keeps: RESULTS,
        seed: Some("fixed, in the tests' sources"),
        ..PLAIN
    },
    Line {
        name: "programs",
        says: "Every program of spec/programs, 20 times in a row with gcc and clang at -O0 and -O2: exactly the \
               marked races are told, and none of its mended twin.",
        // As released: without optimisation the telling of so many runs takes two hours.
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat --test programs recorded/",
        prints: &["test result: ok"],
        keeps: RESULTS,
        ..PLAIN
    },
    Line {
        name: "oracle",
        says: "hb agrees with the brute-force oracle on all small traces and on 100 000 random ones.",
        run: "DEADHEAT_ACCEPT=full cargo test -p deadheat-detect --test oracle --test small -- --nocapture",
        prints: &["100000 traces of up to", "test result: ok"],
        keeps: &["     Running ", "test result", " traces "],
        seed: Some("0 to 99 999, one a random trace"),
        ..PLAIN
    },
    Line {
        name: "survive",
        says: "A program that is killed by SIGKILL, at 20 random moments, leaves every event whose hook returned; \
               other bad endings leave what was done.",
        run: "DEADHEAT_ACCEPT=full cargo test -p deadheat --test survive",
        prints: &["test a_killed_program_leaves_every_event_whose_hook_returned ... ok", "test result: ok"],
        keeps: &["     Running ", "test "],
        seed: Some("0x9e3779b9"),
        ..PLAIN
    },
    Line {
        name: "fuzz",
        says: "Ten minutes of coverage-guided fuzzing of each reader find no input that breaks it.",
        // All are built first. Each has its folders to itself; two run at a time.
        run: "targets=$(ls fuzz/fuzz_targets | sed 's/\\.rs$//'); \
              for t in $targets; do fuzz/run $t -runs=0 >$OUT/$t.log 2>&1 || { cat $OUT/$t.log; exit 1; }; done; \
              echo $targets | xargs -n1 -P2 sh -c \
              'fuzz/run $0 -seed=1 -timeout=60 -max_total_time=${DEADHEAT_FUZZ_SECONDS:-600} >$OUT/$0.log 2>&1'; \
              code=$?; for t in $targets; do echo \"$t: $(tail -1 $OUT/$t.log)\"; \
              [ $code = 0 ] || grep -E -A8 'ERROR|SUMMARY|Base64|panicked' $OUT/$t.log; done; \
              [ $code = 0 ] || cp -r fuzz/artifacts $REPO/fuzz/; exit $code",
        prints: &[
            "any: Done",
            "deadheat: Done",
            "rapidbin: Done",
            "records: Done",
            "shbee: Done",
            "std: Done",
        ],
        seed: Some("1, for each"),
        ..PLAIN
    },
    Line {
        name: "symbols",
        says: "Every `__tsan_*` hook that gcc, clang and rustc call for the compilers' corpus exists in the runtime.",
        run: "cargo test -p deadheat --test symbols",
        prints: &["test of_gcc ... ok", "test of_clang ... ok", "test of_rustc ... ok"],
        keeps: &["     Running ", "test "],
        ..PLAIN
    },
    Line {
        name: "facts",
        says: "spec/ holds at least 60 trace facts and 60 small programs, each with its mended twin.",
        run: "facts=$(find spec/traces -name '*.trace' | wc -l); \
              twins=$(find spec/programs -name '*_ok.c' -o -name '*_ok.cpp' | wc -l); \
              echo \"$facts facts, $twins programs with twins\"; [ $facts -ge 60 ] && [ $twins -ge 60 ]",
        ..PLAIN
    },
    Line {
        name: "install",
        says: "`cargo install --path` of the command line gives a binary that works in an empty folder.",
        run: "cargo install --quiet --path crates/deadheat --root $OUT/installed && mkdir $OUT/empty && cd $OUT/empty && \
              env -u CARGO_TARGET_DIR $OUT/installed/bin/deadheat demo",
        code: 66,
        prints: &["dead heat", "they met again"],
        ..PLAIN
    },
    Line {
        name: "package",
        says: "An install from the archives that `cargo package` makes of all crates gives the same, without the \
               source tree.",
        run: "cargo package --quiet --workspace --exclude xtask --no-verify --target-dir $OUT/packaged && mkdir $OUT/crates && \
              for a in $OUT/packaged/package/*.crate; do tar -C $OUT/crates -xzf $a; done && cd $OUT/crates && \
              patches=$(for d in deadheat-*-[0-9]*; do n=${d%-[0-9]*}; \
              echo \"--config patch.crates-io.$n.path='$OUT/crates/$d'\"; done) && \
              cargo install --quiet --path deadheat-[0-9]* --root $OUT/from-archives $patches && \
              mkdir $OUT/empty2 && cd $OUT/empty2 && $OUT/from-archives/bin/deadheat demo",
        code: 66,
        prints: &["dead heat", "they met again"],
        ..PLAIN
    },
    Line {
        name: "bench",
        says: "The bench over the kernels, side by side with native runs and clang 19's TSan, then all built by gcc.",
        run: "cargo xtask bench && cargo xtask bench --cc gcc",
        prints: &["geometric mean"],
        ..PLAIN
    },
    Line {
        name: "std",
        says: "hb on a large generated trace in STD text; beside RAPID's FastTrack if DEADHEAT_RAPID holds its \
               command line.",
        run: "cargo xtask bench std --generator $DEADHEAT_SHARED/traces/gen_std.py \
              ${DEADHEAT_RAPID:+--rapid \"$DEADHEAT_RAPID\"}",
        seed: Some("1, of the generator"),
        ..PLAIN
    },
    Line {
        name: "real",
        says: "pigz, pbzip2, xz, zstd and leveldb, unmodified, build through `deadheat build` by their own build \
               systems, run a real workload to the right result, and are analysed.",
        run: "cargo xtask bench real",
        prints: &["pigz", "pbzip2", "xz", "zstd", "leveldb"],
        ..PLAIN
    },
];

const HUNT: &[Line] = &[
    Line {
        name: "demo",
        says: "The README's first command proves the demonstration's race, replays the proof and shows it.",
        run: "$(sed -n 's/^\\$ \\(cargo run .*\\)$/\\1/p' README.md | head -1)",
        code: 66,
        prints: &["dead heat", "cache.c", "they met again"],
        ..PLAIN
    },
    Line {
        name: "hunts",
        says: "Every program of spec/hunts, 20 hunts with each compiler: each marked pair is proved in at least \
               19 of them by at most 2 re-runs that arm it, no other pair in any, and of the mended twins and \
               the correct programs nothing. Every proof of every hunt replays in 20 of 20 tries.",
        run: "DEADHEAT_ACCEPT=full cargo test -p deadheat --test hunts",
        prints: &["test result: ok"],
        keeps: &["     Running ", "test result", "skipped", "re-runs that armed"],
        ..PLAIN
    },
    Line {
        name: "nomination",
        says: "The nomination agrees with brute force, and 10 million events with 10 000 conflicting pairs of \
               places become ranked targets in under 5 s and 500 MiB.",
        run: "cargo test -p deadheat-detect --test conflict && \
              cargo run --release -p deadheat-detect --example nomination",
        prints: &["test result: ok"],
        seed: Some("fixed, in the tests' sources"),
        ..PLAIN
    },
    Line {
        name: "resumed",
        says: "A hunt that is killed at random and resumed, and one in three parts that are merged, prove what \
               undisturbed ones do, on each racy program of which 20 undisturbed hunts agree.",
        run: "DEADHEAT_ACCEPT=full cargo test -p deadheat --test resume -- --nocapture",
        prints: &["test result: ok"],
        keeps: &["     Running ", "test ", " proved, seed ", "  killed ", "do not agree"],
        seed: Some("told beside each program"),
        ..PLAIN
    },
    Line {
        name: "mended",
        says: "`deadheat verify` gives the right answer about each race of each racy program on its mended twin.",
        run: "DEADHEAT_ACCEPT=full cargo test -p deadheat --test verify -- --nocapture",
        prints: &["test result: ok"],
        keeps: &["     Running ", "test ", ": ordered now", ": site gone", ": could not reach"],
        ..PLAIN
    },
    Line {
        name: "commands",
        says: "A hunt is set in order and replayed from the outside, and programs that do not behave are hunted: \
               it ends, says what helps, and leaves nothing running.",
        run: "cargo test -p deadheat --test hunt --test order --test replay --test unruly",
        prints: &["test result: ok"],
        keeps: RESULTS,
        ..PLAIN
    },
];

const ONLINE: &[Line] = &[
    Line {
        name: "programs",
        says: "Every program of spec/programs, 20 times in a row with gcc and clang at -O0 and -O2, with its races found while it \
               runs: exactly the marked ones are told, and none of its mended twin. Those with findings are started by hand, too.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat --test programs online/",
        prints: &["test result: ok"],
        keeps: RESULTS,
        ..PLAIN
    },
    Line {
        name: "stacks",
        says: "Of the races that the racy programs of spec/programs tell, five times in a row with gcc and clang at -O0 and -O2, and \
               of those of the real programs, at most one in a hundred lacks a stack.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat --test stacks -- --nocapture && \
              cargo xtask bench real --online --pairs 1",
        prints: &["stacks: gcc: ", "stacks: clang-19: ", "test result: ok", "deadheat's that lack a stack"],
        keeps: &["     Running ", "test result", "skipped", "stacks: ", "| "],
        ..PLAIN
    },
    Line {
        name: "same",
        says: "Recorded and detected in the same run, five times each: the races that the run finds and those that hb finds in its \
               recording are the same, on every program of spec/programs and on real programs.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat --test programs same/ && cargo xtask bench real --same",
        prints: &["test result: ok", "they agree"],
        keeps: &["     Running ", "test result", "skipped", "| "],
        ..PLAIN
    },
    Line {
        name: "beside",
        says: "Programs about which clang 19's ThreadSanitizer is wrong or forgets: deadheat tells exactly the marked races.",
        run: "cargo test --release -p deadheat --test beside -- --nocapture --test-threads 1",
        prints: &["test result: ok", "beside fences", "beside child"],
        keeps: &["     Running ", "test result", "skipped", "beside "],
        ..PLAIN
    },
    Line {
        name: "random",
        says: "Random programs in which threads take turns that the detector does not see, 500 as each compiler makes them: each step that races is told as \
               the program runs, and no other, as a brute force says that keeps every access to every byte; and hb finds the same pairs in recordings of them.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat --test random -- --nocapture",
        prints: &["clang-19: ", "gcc: ", "test result: ok"],
        keeps: &["     Running ", "test result", "steps that race", "skipped"],
        seed: Some("1 to 500"),
        ..PLAIN
    },
    Line {
        name: "stress",
        says: "64 threads over shared structures for ten minutes: exactly the planted races are told, and memory stays flat.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat --test stress -- --nocapture",
        prints: &["600 s, 64 threads, the 4 planted races", "test result: ok"],
        keeps: &["     Running ", "test result", "planted races"],
        ..PLAIN
    },
    Line {
        name: "loom",
        says: "The shadow's sets, the clocks and the runtime's locks under a model checker: every interleaving of a few threads; the \
               sets beside a brute force that forgets nothing.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat-runtime --test model --test apart --test common --test shadow",
        prints: &["test result: ok"],
        keeps: &["     Running ", "test "],
        ..PLAIN
    },
    Line {
        name: "miri",
        says: "The runtime's locks, sets, clocks and memory with threads that run, under Miri, in eight schedules \
               (docs/checking.md says what else there is and why it is not run so).",
        run: "cargo +nightly miri --version 2>/dev/null || { echo 'skipped: needs miri (rustup component add miri rust-src \
              --toolchain nightly)'; exit 0; }; \
              MIRIFLAGS='-Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-many-seeds=0..8' \
              cargo +nightly miri test -p deadheat-runtime --test threads",
        prints: &["test result: ok"],
        keeps: &["     Running ", "test ", "skipped"],
        seed: Some("0 to 7, Miri's"),
        ..PLAIN
    },
    Line {
        name: "tsan",
        says: "The same under clang's ThreadSanitizer, and the sets' brute force; the standard library is built with it.",
        run: "[ -d \"$(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src\" ] || { echo 'skipped: needs rust-src (rustup \
              component add rust-src --toolchain nightly)'; exit 0; }; \
              RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu \
              -p deadheat-runtime --test threads --test shadow",
        prints: &["test result: ok"],
        keeps: &["     Running ", "test ", "skipped"],
        ..PLAIN
    },
    Line {
        name: "micro",
        says: "What single operations cost, in instructions and in time, beside clang 19's ThreadSanitizer.",
        run: "cargo xtask bench micro",
        prints: &["function entry and exit"],
        ..PLAIN
    },
    Line {
        name: "machine",
        says: "The machine code of the hot hooks: no call but tail calls, no stack frame on the common path.",
        run: "cargo test --release -p deadheat --test machine",
        prints: &["test of_the_hot_hooks_calls_nothing_and_has_no_frame ... ok"],
        keeps: &["     Running ", "test "],
        ..PLAIN
    },
    Line {
        name: "bench",
        says: "The bench over the kernels and over real programs, their races found while they run, side by side with native runs, \
               clang 19's ThreadSanitizer, Helgrind and DRD (these once, and for at most a minute), with 2 threads and with 4.",
        run: "t='--online --valgrind-rounds 1 --timeout 60 --threads 2,4'; cargo xtask bench $t && cargo xtask bench real $t",
        prints: &["geometric mean"],
        ..PLAIN
    },
    Line {
        name: "llvm",
        says: "LLVM's own tests of ThreadSanitizer, if DEADHEAT_TSAN_TESTS names their folder (compiler-rt/test/tsan); \
               DEADHEAT_TSAN_RUNNER can name what runs them against a compiler; docs/tsan-compatibility.md says what they came to.",
        run: "[ -n \"$DEADHEAT_TSAN_TESTS\" ] || { echo 'skipped: needs DEADHEAT_TSAN_TESTS'; exit 0; }; \
              cargo build --quiet --release -p deadheat && d=$CARGO_TARGET_DIR/release/deadheat && \
              export DEADHEAT_CC=clang-19 DEADHEAT_CXX=clang++-19 && \
              python3 ${DEADHEAT_TSAN_RUNNER:-$DEADHEAT_SHARED/tools/tsan_lit.py} --tests $DEADHEAT_TSAN_TESTS --cc \"$d cc\" \
              --cxx \"$d c++\" --shim $DEADHEAT_SHARED/tools/tsan_testonly_shim.c --env DEADHEAT_OPTIONS=format=tsan --deflake 3 \
              --timeout 20 --mode verdict -j 2 -o $OUT/llvm.csv | tee $OUT/llvm.txt && \
              n() { n=0; for k in \"$@\"; do v=$(sed -n \"s|.*'expects $k': \\([0-9]*\\).*|\\1|p\" $OUT/llvm.txt); \
              n=$((n + ${v:-0})); done; } && \
              share() { n \"$2\"; ok=$n; n \"$2\" \"$3\" \"$4\"; [ $n -gt 0 ] && [ $((100 * ok)) -ge $(($1 * n)) ] && \
              echo \"$2: $ok of $n, at least $1 %\"; } && \
              share 99 'race: reported' 'race: MISSED' && \
              share 99 'silence: silent' 'silence: FALSE race' 'silence: other report/failure' && \
              share 80 'other kind: ok' 'other kind: WRONG'",
        prints: &["at least 99 %", "at least 80 %"],
        ..PLAIN
    },
];

const PREDICT: &[Line] = &[
    Line {
        name: "scenarios",
        says: "All marked races of the 20 scenarios of spec/programs/prediction are told by csp from one recorded run each, no pair that is \
               not marked, and each witness is accepted; beside the other analyses, Helgrind and ThreadSanitizer.",
        run: "cargo test --release -p deadheat --test prediction && cargo xtask bench scenarios",
        prints: &["test result: ok", "| `csp` |"],
        keeps: &["     Running ", "test result", "skipped", "| "],
        ..PLAIN
    },
    Line {
        name: "nominated",
        says: "Hunts prove the races of the scenarios within 2 re-runs, and one that the conflicts of the watched run do not show in 10.",
        run: "cargo test --release -p deadheat --test nominated",
        prints: &["test result: ok"],
        keeps: RESULTS,
        ..PLAIN
    },
    Line {
        name: "oracle",
        says: "What is promised to be sound is among all correct reorderings, and what is promised to be complete is all of them: on all \
               small traces of each sort of synchronisation, and on 100 000 random ones.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat-detect --test small --test reorder --test reversal \
              --test prediction --test csp --test shorten -- --nocapture",
        prints: &["test result: ok", "of 81920 traces looked at", "100000 traces"],
        keeps: &["     Running ", "test result", "test orders_of", " traces"],
        seed: Some("fixed, in the tests' sources"),
        ..PLAIN
    },
    Line {
        name: "misused",
        says: "Ill-formed traces: no analysis ends early, and every witness that it tells is accepted.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat-detect --test misused -- --nocapture",
        prints: &["test result: ok"],
        seed: Some("fixed, in the test's source"),
        ..PLAIN
    },
    Line {
        name: "models",
        says: "Models that `deadheat model` writes are read back, `csp check` says of each what the analysis does, and another front end \
               takes them if DEADHEAT_CSPM holds its command line.",
        run: "cargo test --release -p deadheat-csp --test front_end -- --nocapture && \
              cargo test --release -p deadheat --test models -- --nocapture --test-threads 1",
        prints: &["test result: ok"],
        ..PLAIN
    },
    Line {
        name: "traces",
        says: "The races of the public traces, by analysis, are those of docs/traces.md and of the known results.",
        run: "cargo test --release -p deadheat-detect --test rapid",
        prints: &["test result: ok"],
        keeps: RESULTS,
        ..PLAIN
    },
    Line {
        name: "claims",
        says: "What the papers claim, beside what was measured: states, windows, control flow, joins.",
        run: "DEADHEAT_ACCEPT=full cargo test --release -p deadheat --test claims --test alarms -- --nocapture && \
              cargo test --release -p deadheat-detect --test rapid control_flow -- --nocapture",
        prints: &["test result: ok"],
        ..PLAIN
    },
    Line {
        name: "speed",
        says: "How fast predictions are made; beside RAPID's if DEADHEAT_RAPID_SYNCP and DEADHEAT_RAPID_OSR hold its command lines.",
        run: "cargo xtask bench predict --generator $DEADHEAT_SHARED/traces/gen_std.py \
              ${DEADHEAT_RAPID_SYNCP:+--rapid-syncp \"$DEADHEAT_RAPID_SYNCP\"} ${DEADHEAT_RAPID_OSR:+--rapid-osr \"$DEADHEAT_RAPID_OSR\"}",
        prints: &["sync-preserving"],
        ..PLAIN
    },
];
