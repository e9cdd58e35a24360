//! `deadheat trace` on traces that are text, so that no compiler is needed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const TEXT: &str = "\
T0|fork(T1)|1
T0|acq(l)|2
T0|acq(l)|3
T0|w(x)|4
T0|rel(l)|5
T0|rel(l)|6
T1|r(x)|7
T0|join(T1)|8
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("deadheat-trace-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        fs::write(path.join("t.std"), TEXT).expect("the temporary folder can be written");
        Folder(path)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).expect("it was written")
    }

    /// Runs `deadheat trace`: the code, standard output and standard error.
    fn trace(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
        let Output { status, stdout, stderr } =
            command.arg("trace").args(arguments).current_dir(&self.0).output().expect("deadheat starts");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        (status.code().expect("deadheat is not killed"), text(stdout), text(stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn events_one_a_line() {
    let folder = Folder::new("dump");
    let (code, out, err) = folder.trace(&["dump", "t.std"]);
    let expected = "\
1 main fork main/1 @1
2 main acquire 0x100000000000 l @2
3 main write 0x100000000 8 x @4
4 main release 0x100000000000 l @6
5 main/1 read 0x100000000 8 x @7
6 main join main/1 @8
";
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
    let (_, out, _) = folder.trace(&["dump", "t.std", "--thread", "main/1"]);
    assert_eq!(out, "5 main/1 read 0x100000000 8 x @7\n");
    let (_, out, _) = folder.trace(&["dump", "t.std", "--thread", "T0", "--from", "2", "--to", "3"]);
    assert_eq!(out.lines().count(), 2);
}

#[test]
fn to_our_own_file_and_back() {
    let folder = Folder::new("convert");
    let (code, out, err) = folder.trace(&["import", "--from", "std", "t.std"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(err.contains("6 events, 2 of them accesses, to t.dh"), "{err}");
    assert!(err.contains("mended: 1 reentrant acquires"), "{err}");
    let direct = folder.trace(&["dump", "t.std"]).1;
    assert_eq!(folder.trace(&["dump", "t.dh"]).1, direct);
    let (code, out, err) = folder.trace(&["-q", "export", "--to", "std", "t.dh"]);
    let lines: Vec<&str> = TEXT.lines().collect();
    let expected: Vec<&str> = [0, 1, 3, 5, 6, 7].into_iter().map(|line| lines[line]).collect();
    assert_eq!((code, out.lines().collect::<Vec<_>>(), err.as_str()), (0, expected, ""));
    assert_eq!(folder.trace(&["import", "t.dh"]).0, 2, "it would overwrite its input");
    assert_eq!(folder.trace(&["import", "--from", "dreams", "t.std"]).0, 2);
}

#[test]
fn what_a_trace_holds() {
    let folder = Folder::new("info");
    let (code, out, err) = folder.trace(&["info", "t.std"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for line in
        ["end        orderly", "events     6", "threads    2", "  main/1 T1", "  1 reentrant acquires"]
    {
        assert!(out.lines().any(|found| found == line), "{line} in {out}");
    }
}

#[test]
fn bad_input_ends_with_65_and_says_where() {
    let folder = Folder::new("bad");
    fs::write(folder.0.join("bad.std"), "T0|w(x)|1\nT0|leap(x)|2\n").expect("writable");
    let (code, out, err) = folder.trace(&["info", "bad.std"]);
    assert_eq!(code, 65);
    assert!(out.contains("events     1\n"), "what was read whole is told: {out}");
    assert!(err.starts_with("deadheat: bad.std:2:4: unknown operation"), "{err}");
    folder.trace(&["-q", "import", "t.std"]);
    let bytes = folder.read("t.dh");
    fs::write(folder.0.join("cut.dh"), &bytes[..bytes.len() - 5000]).expect("writable");
    let (code, _, err) = folder.trace(&["info", "cut.dh"]);
    let expected = format!("deadheat: cut.dh: byte {}: the file ends", bytes.len() - 5000);
    assert!(code == 65 && err.starts_with(&expected), "{code} {err}");
    let mut future = bytes.clone();
    future[8] += 1;
    fs::write(folder.0.join("future.dh"), future).expect("writable");
    assert_eq!(folder.trace(&["dump", "future.dh"]).0, 65);
    fs::write(folder.0.join("other"), "hello").expect("writable");
    assert_eq!(folder.trace(&["dump", "other"]).0, 65);
    assert_eq!(folder.trace(&["dump", "absent"]).0, 65);
}
