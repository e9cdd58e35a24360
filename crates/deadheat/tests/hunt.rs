//! `deadheat hunt` and `deadheat merge` on small programs: what is proved, what is kept, what is
//! said when something is wrong. Which races are proved in which programs is `tests/hunts`.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::hunting::{build, built, lines, proved, run};
use common::{deadheat, interruptible, ok, said};
use serde_json::Value;

const COUNTER: &str = "#include <pthread.h>
#include <stdio.h>
static int counter, other;
static void *work(void *p) {
    counter++;
    other++;
    return p;
}
int main(void) {
    pthread_t a, b;
    int c = getchar();
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    printf(\"input %d\\n\", c);
    return c == EOF ? 3 : 0;
}
";

const LOCKED: &str = "#include <pthread.h>
static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 7;
}
";

/// The worker is done in time in the watched run; held, it is not.
const ASSERTION: &str = "#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int result, done;
static void *worker(void *p) {
    usleep(1000);
    result = 1;
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    return p;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    usleep(30000);
    assert(__atomic_load_n(&done, __ATOMIC_RELAXED));
    int seen = result;
    pthread_join(a, 0);
    return seen - 1;
}
";

#[test]
fn a_race_is_proved_and_told() {
    let Some(folder) = built("proved", COUNTER) else { return };
    let output = run(&folder, &["hunt", "--", "./p"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let text = said(&output);
    for words in ["dead heat: data race on `counter`", "how they met in re-run", "hunted", "p.c:5"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert_eq!(text.matches("input -1").count(), 1, "only the watched run's output is shown\n{text}");
    let report = lines(&folder.join("deadheat.hunt/report.jsonl"));
    assert_eq!(report[0]["mode"], "hunt");
    let race = report.iter().find(|line| line["type"] == "race").expect("a race");
    assert_eq!(race["grade"], "proved");
    assert_eq!(race["witness"]["kind"], "meeting");
    assert!(race["witness"]["target"]["sides"][0]["code"]["offset"].is_string());
    let hunt = &report.last().expect("a summary")["hunt"];
    assert!(hunt["proved"].as_u64() >= Some(2), "{hunt}");
    assert_eq!(hunt["pairs"], hunt["proved"].as_u64().unwrap_or(0) + hunt["missed"].as_u64().unwrap_or(0));
    // The same names as the happens-before report of the watched run has.
    let analyzed = run(&folder, &["analyze", "--format", "json", "deadheat.hunt/first.trace"]);
    for id in proved(&folder.join("deadheat.hunt")) {
        assert!(said(&analyzed).contains(&id), "{id}\n{}", said(&analyzed));
    }
}

#[test]
fn what_a_lock_orders_is_not_told_and_the_programs_code_is_kept() {
    let Some(folder) = built("locked", LOCKED) else { return };
    let output = run(&folder, &["hunt", "--", "./p"]);
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert!(said(&output).contains("no race proved"), "{}", said(&output));
    assert!(said(&output).contains("0 proved"), "{}", said(&output));
}

#[test]
fn input_is_replayed() {
    let Some(folder) = built("input", COUNTER) else { return };
    fs::write(folder.join("in"), "x").expect("written");
    let mut command = deadheat();
    let input = fs::File::open(folder.join("in")).expect("there");
    command.args(["hunt", "--show-output", "--fail-on", "proved", "--", "./p"]).stdin(input);
    let output = common::output(&mut command, &folder);
    assert!(said(&output).matches("input 120").count() >= 1, "{}", said(&output));
    assert!(!said(&output).contains("input -1"), "{}", said(&output));
}

#[test]
fn an_assertion_that_fails_by_a_delay_is_a_finding() {
    let Some(folder) = built("assertion", ASSERTION) else { return };
    let output = run(&folder, &["hunt", "--format", "json", "--", "./p"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let report = lines(&folder.join("deadheat.hunt/report.jsonl"));
    let findings: Vec<_> = report.iter().filter(|line| line["type"] == "finding").collect();
    let [finding] = findings[..] else { panic!("one finding\n{}", said(&output)) };
    assert_eq!(finding["kind"], "assertion");
    let message = finding["message"].as_str().expect("a message");
    assert!(message.contains("Assertion `__atomic_load_n"), "{message}");
    assert!(message.contains("was held before p.c:7 worker"), "{message}");
    assert_eq!(finding["schedule"]["kind"], "provocation");
}

#[test]
fn limits_end_a_hunt_and_resuming_goes_on() {
    let Some(folder) = built("limits", COUNTER) else { return };
    let whole = run(&folder, &["hunt", "-o", "whole", "--", "./p"]);
    assert_eq!(whole.status.code(), Some(66), "{}", said(&whole));
    let one = run(&folder, &["hunt", "-o", "part", "-j1", "--max-runs", "1", "--", "./p"]);
    assert_eq!(lines(&folder.join("part/runs.jsonl")).len(), 2, "{}", said(&one));
    // As if it had been killed while it wrote.
    let runs = folder.join("part/runs.jsonl");
    let text = fs::read_to_string(&runs).expect("there");
    fs::write(&runs, format!("{text}{{\"kind\":\"prov")).expect("written");
    let resumed = run(&folder, &["hunt", "--resume", "part"]);
    assert_eq!(resumed.status.code(), Some(66), "{}", said(&resumed));
    assert!(said(&resumed).contains("was not finished"), "{}", said(&resumed));
    assert_eq!(proved(&folder.join("part")), proved(&folder.join("whole")));
    let first = run(&folder, &["hunt", "-o", "first", "-j1", "--until-first", "--", "./p"]);
    assert_eq!(first.status.code(), Some(66), "{}", said(&first));
    assert_eq!(lines(&folder.join("first/runs.jsonl")).len(), 2, "{}", said(&first));
}

#[test]
fn parts_join_to_the_whole_in_any_order() {
    let Some(folder) = built("parts", COUNTER) else { return };
    run(&folder, &["hunt", "-o", "whole", "--", "./p"]);
    for part in ["1", "2", "3"] {
        let slice = format!("slice:{part}/3");
        run(
            &folder,
            &["hunt", "-o", part, "--targets", "whole/targets.jsonl", "--partition", &slice, "--", "./p"],
        );
    }
    for (order, name) in [(["1", "2", "3"], "up"), (["3", "1", "2"], "down")] {
        let output = run(&folder, &["merge", order[0], order[1], order[2], "-o", name]);
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        assert_eq!(proved(&folder.join(name)), proved(&folder.join("whole")), "{}", said(&output));
    }
    assert_eq!(
        fs::read(folder.join("up/report.jsonl")).expect("there"),
        fs::read(folder.join("down/report.jsonl")).expect("there")
    );
}

#[test]
fn targets_of_another_build_are_refused() {
    let Some(folder) = built("rebuilt", COUNTER) else { return };
    run(&folder, &["hunt", "-o", "old", "--", "./p"]);
    build(&folder, &COUNTER.replace("counter++", "counter += 2"));
    let output = run(&folder, &["hunt", "-o", "new", "--targets", "old/targets.jsonl", "--", "./p"]);
    assert_eq!(output.status.code(), Some(65), "{}", said(&output));
    assert!(said(&output).contains("another build of p:"), "{}", said(&output));
    fs::write(folder.join("torn"), "{\"version\":1}\n").expect("written");
    let output = run(&folder, &["hunt", "-o", "new", "--targets", "torn", "--", "./p"]);
    assert_eq!(output.status.code(), Some(65), "{}", said(&output));
    assert!(said(&output).contains("torn:1: "), "{}", said(&output));
}

#[test]
fn what_cannot_be_hunted_is_said() {
    let Some(folder) = built("cannot", COUNTER) else { return };
    let plain = run(&folder, &["hunt", "-o", "plain", "--", "true"]);
    assert_eq!(plain.status.code(), Some(69), "{}", said(&plain));
    assert!(said(&plain).contains("has no deadheat runtime in it"), "{}", said(&plain));
    let missing = run(&folder, &["hunt", "-o", "plain", "--", "./nothing"]);
    assert_eq!(missing.status.code(), Some(69), "{}", said(&missing));
    let setup = run(&folder, &["hunt", "-o", "setup", "--setup", "exit 4", "--", "./p"]);
    assert_eq!(setup.status.code(), Some(69), "{}", said(&setup));
    assert!(said(&setup).contains("--setup `exit 4` failed"), "{}", said(&setup));
    let resume = run(&folder, &["hunt", "--resume", "nowhere"]);
    assert_eq!(resume.status.code(), Some(65), "{}", said(&resume));
    let mine = run(&folder, &["hunt", "-o", ".", "--", "./p"]);
    assert_eq!(mine.status.code(), Some(2), "{}", said(&mine));
    build(&folder, "int main(void) { return 0; }");
    let single = run(&folder, &["hunt", "-o", "single", "--", "./p"]);
    assert_eq!(single.status.code(), Some(0), "{}", said(&single));
    assert!(said(&single).contains("no "), "{}", said(&single));
}

#[test]
fn state_is_put_back_around_each_run() {
    let source = COUNTER
        .replace("int c = getchar();", "int c = fopen(\"state\", \"r\") ? 1 : EOF; remove(\"state\");");
    let Some(folder) = built("state", &source) else { return };
    let commands = ["--setup", "touch state; echo $DEADHEAT_RUN >>../state-ups", "--teardown", "rm -f state"];
    let _ = fs::remove_file(folder.join("../state-ups"));
    let mut arguments = vec!["hunt", "--isolate", "--fail-on", "proved"];
    arguments.extend(commands);
    arguments.extend(["--", "./p"]);
    let output = run(&folder, &arguments);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(!said(&output).contains("ended in another way"), "{}", said(&output));
}

#[test]
fn an_interrupted_hunt_tells_what_it_found() {
    let source = LOCKED.replace("int main(void) {", "#include <unistd.h>\nint main(void) { usleep(300000);");
    let Some(folder) = built("interrupted", &source) else { return };
    let mut command = interruptible();
    command.args(["hunt", "--", "./p"]).current_dir(&folder).stdin(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("started");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let pid = child.id().to_string();
    ok(Command::new("kill").args(["-INT", &pid]), &folder);
    let output = child.wait_with_output().expect("it ends");
    let text = said(&output);
    // On a machine that is slow or fast enough it may not have begun or be over.
    if output.status.code() == Some(130) && text.contains("hunted") {
        assert!(text.contains("--resume"), "{text}");
    }
}

/// A record is copied whole while one of its fields is set. The source is of the copier's own making.
const RECORD: &str = "#include <pthread.h>
#include <string.h>
struct record { long fields[8]; } source, shared;
static void *copier(void *size) {
    memcpy(&shared, &source, *(unsigned long *)size);
    return 0;
}
int main(void) {
    pthread_t a;
    unsigned long size = sizeof(struct record);
    pthread_create(&a, 0, copier, &size);
    shared.fields[5] = 1;
    pthread_join(a, 0);
    return 0;
}
";

/// Sizes and ordinals of the copier's side in the targets, and its side of the proofs.
fn copies(folder: &Path) -> (Vec<(u64, u64)>, Vec<Value>) {
    let of = |line: &Value, key: &str| line[key].as_array().expect("two sides").clone();
    let targets = lines(&folder.join("targets.jsonl"));
    let sides = targets.iter().flat_map(|target| of(target, "sides"));
    let copied = sides.filter(|side| side["place"].as_str().is_some_and(|place| place.ends_with(" copier")));
    let number = |value: &Value| value.as_u64().expect("a number");
    let told = copied.map(|side| (number(&side["size"]), number(&side["ordinal"]))).collect();
    let report = lines(&folder.join("report.jsonl"));
    let proved = report.iter().filter(|line| line["grade"] == "proved").flat_map(|race| of(race, "accesses"));
    (told, proved.filter(|side| side["frames"][0]["function"] == "copier").collect())
}

#[test]
fn memory_functions_are_one_access_or_seen_inside() {
    let Some(folder) = built("record", RECORD) else { return };
    let output = run(&folder, &["hunt", "-o", "folded", "--", "./p"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let (targets, proved) = copies(&folder.join("folded"));
    // The copy reads its source, and then writes: both are accesses of the call.
    assert_eq!(targets, [(64, 2)]);
    assert_eq!(proved[0]["size"], 64);
    let output = run(&folder, &["hunt", "--no-fold-memory", "-o", "parts", "--", "./p"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let (targets, proved) = copies(&folder.join("parts"));
    // Eight words are read, and of the eight that are written the sixth is met.
    assert_eq!(targets, [(8, 14)]);
    assert_eq!(proved[0]["size"], 8);
    // A replay sees inside too: folded, the call has no fourteenth access.
    let id = self::proved(&folder.join("parts")).pop_first().expect("a proof");
    let witness = format!("parts/report.jsonl#{id}");
    let output = run(&folder, &["replay", &witness, "--", "./p"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
}
