//! Suppression files: what they match, and what is said about those that are wrong.

use deadheat_report::model::{Access, Finding, Frame, Location, Race, Step, Thread};
use deadheat_report::suppress::{Pattern, Suppressions};
use proptest::prelude::*;

#[test]
fn patterns() {
    for (pattern, text, expected) in [
        ("foo", "a foo b", true),
        ("foo", "fo o", false),
        ("^foo", "foobar", true),
        ("^foo", "a foo", false),
        ("foo$", "a foo", true),
        ("foo$", "foofoo", true),
        ("foo$", "foo a", false),
        ("^foo$", "foo", true),
        ("^foo$", "foofoo", false),
        ("f*o", "a f b o c", true),
        ("^f*o$", "f b o", true),
        ("^f*o$", "f b o ", false),
        ("^ab*ba$", "aba", false),
        ("a*b*c", "acb", false),
        ("*", "x", true),
        ("foo", "", false),
        ("^*foo*$", "xfoox", true),
    ] {
        assert_eq!(Pattern::new(pattern).matches(text), expected, "{pattern} on {text}");
    }
}

/// The meaning of a pattern, written as plainly as can be: anchors off are stars.
fn plainly(pattern: &str, text: &str) -> bool {
    fn whole(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|skip| whole(rest, &text[skip..])),
            Some((byte, rest)) => text.first() == Some(byte) && whole(rest, &text[1..]),
        }
    }
    let (start, pattern) = pattern.strip_prefix('^').map_or(("*", pattern), |rest| ("", rest));
    let (end, pattern) = pattern.strip_suffix('$').map_or(("*", pattern), |rest| ("", rest));
    !text.is_empty() && whole(format!("{start}{pattern}{end}").as_bytes(), text.as_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]
    #[test]
    fn patterns_mean_what_they_say(pattern in "\\^?[ab*]{0,6}\\$?", text in "[ab]{0,8}") {
        prop_assert_eq!(Pattern::new(&pattern).matches(&text), plainly(&pattern, &text));
    }

    #[test]
    fn any_file_is_read(text in "(race|race_top|x|)[:#*^$ \n\t]{0,4}[a-z\u{e9}:*$^\n]{0,20}") {
        let mut read = Suppressions::default();
        let warnings = read.read("f", &text);
        prop_assert!(warnings.len() + read.rows().len() <= 2 * text.lines().count());
    }
}

fn frame(function: &str, file: &str, module: &str) -> Frame {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Frame { function: some(function), file: some(file), module: some(module), ..Frame::default() }
}

fn race() -> Race {
    let side = |frames| Access { frames, ..Access::default() };
    Race {
        count: 2,
        accesses: [
            side(vec![frame("ns::put(int)", "src/put.cpp", "app"), frame("worker", "src/main.cpp", "app")]),
            side(vec![frame("get", "", "libget.so.1"), frame("main", "src/main.cpp", "app")]),
        ],
        threads: vec![Thread {
            frames: vec![frame("start_pool", "src/pool.cpp", "app")],
            ..Thread::default()
        }],
        location: Location::Global {
            symbol: "table".to_owned(),
            part: ".next".to_owned(),
            offset: 8,
            size: 16,
            module: "app".to_owned(),
        },
        ..Race::default()
    }
}

fn suppressed(line: &str) -> bool {
    let mut read = Suppressions::default();
    assert_eq!(read.read("f", line), [""; 0], "{line}");
    let taken = read.take_race(&race());
    assert_eq!(read.unused().count(), usize::from(!taken));
    taken
}

#[test]
fn what_a_line_takes_out() {
    for (line, expected) in [
        ("race:put", true),
        ("race:^ns::put$", true),
        ("race:^ns::put(int)$", true),
        ("race:^put", false),
        ("race:worker", true),
        ("race:^main$", true),
        ("race:src/put.cpp", true),
        ("race:libget.so", true),
        ("race:^table$", true),
        ("race:^table.next$", true),
        ("race:start_pool", true),
        ("race:nothing", false),
        ("race_top:^get$", true),
        ("race_top:worker", false),
        ("race_top:table", false),
        ("called_from_lib:libget", true),
        ("called_from_lib:put", false),
        ("mutex:put", false),
        ("deadlock:put", false),
        ("  race:put  ", true),
        ("race :put", true),
    ] {
        assert_eq!(suppressed(line), expected, "{line}");
    }
}

#[test]
fn findings_have_their_own_types() {
    let finding = |kind: &str| Finding {
        kind: kind.to_owned(),
        frames: vec![frame("close_all", "a.c", "lib.so")],
        ..Finding::default()
    };
    for (line, kind, expected) in [
        ("mutex:close_all", "mutex-misuse", true),
        ("thread:close_all", "thread-leak", true),
        ("signal:close_all", "signal-unsafe", true),
        ("signal:close_all", "signal-errno", true),
        ("deadlock:close_all", "deadlock", true),
        ("deadlock:close_all", "lock-order", true),
        ("deadlock:close_all", "crash", false),
        ("race:close_all", "deadlock", false),
        ("called_from_lib:lib.so", "crash", true),
    ] {
        let mut read = Suppressions::default();
        read.read("f", line);
        assert_eq!(read.take_finding(&finding(kind)), expected, "{line} {kind}");
    }
}

#[test]
fn a_use_after_free_is_suppressed_as_a_race_is() {
    let race = race();
    let finding = Finding {
        kind: "use-after-free".to_owned(),
        accesses: Some(Box::new(race.accesses.clone())),
        threads: race.threads.clone(),
        location: race.location.clone(),
        ..Finding::default()
    };
    let function = |at: usize| race.accesses[at].frames[0].function.clone().expect("it has a name");
    for (line, expected) in [
        (format!("race:{}", function(0)), true),
        (format!("race:{}", function(1)), true),
        (format!("race_top:{}", function(0)), true),
        (format!("mutex:{}", function(0)), false),
        ("race:nothing_of_it".to_owned(), false),
    ] {
        let mut read = Suppressions::default();
        read.read("f", &line);
        assert_eq!(read.take_finding(&finding), expected, "{line}");
    }
}

#[test]
fn a_finding_is_suppressed_by_a_frame_of_any_of_its_steps() {
    let step = Step { frames: vec![frame("open_all", "a.c", "lib.so")], ..Step::default() };
    let finding = Finding { kind: "lock-order".to_owned(), steps: vec![step], ..Finding::default() };
    for (line, expected) in
        [("deadlock:open_all", true), ("deadlock:close_all", false), ("mutex:open_all", false)]
    {
        let mut read = Suppressions::default();
        read.read("f", line);
        assert_eq!(read.take_finding(&finding), expected, "{line}");
    }
}

#[test]
fn warnings_name_file_and_line() {
    let mut read = Suppressions::default();
    let text = "# comment\n\nrace: put\nfoo:bar\njust words\nrace:*\nrace:\r\n  # more\nrace:never\n";
    assert_eq!(
        read.read("sup.txt", text),
        [
            "sup.txt:3: the space after the colon is dropped (TSan would look for it)",
            "sup.txt:4: unknown type `foo`, the line is skipped; types are race, race_top, mutex, thread, \
             signal, called_from_lib, deadlock",
            "sup.txt:5: `just words` has no `type:` and suppresses nothing",
            "sup.txt:6: `race:*` would match everything and is skipped",
            "sup.txt:7: `race:` would match everything and is skipped",
        ]
    );
    assert!(read.take_race(&race()), "the line with a space still works");
    let unused: Vec<_> = read.unused().map(ToString::to_string).collect();
    assert_eq!(unused, ["sup.txt:9: race:never"]);
    assert_eq!(read.rows()[0].used, 2);
}
