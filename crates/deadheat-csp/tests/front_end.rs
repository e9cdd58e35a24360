//! Another front end for CSP_M takes what we write: the models in our documents, those of our tests, and our own text of each.
//!
//! `DEADHEAT_CSPM` is its command line, with `{}` for the file; it succeeds if it takes the file. Without it the test says that it was
//! skipped.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use deadheat_csp::cspm;
use support::texts::{BINDINGS, HEAD, MODEL};

/// Texts that no front end may take: it would take anything.
const WRONG: [&str; 4] = [
    "P = -> STOP\n",
    "channel a\nP = a -> Q\n",
    "channel c : {0..1}\nP = c.0.1 -> STOP\nassert STOP [T= P\n",
    "channel a\nassert STOP [T= a\n",
];

/// The models of our documents and tests, each with a name for its file.
fn texts() -> Vec<(String, String)> {
    let mut texts = vec![("model".to_owned(), MODEL.to_owned())];
    for (number, (written, meant)) in BINDINGS.iter().enumerate() {
        texts.push((format!("binding-{number}"), format!("{HEAD}S = {written}\nassert S [T= {meant}\n")));
    }
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/csp.md");
    // An archive of this crate alone does not carry it.
    let document = fs::read_to_string(document).unwrap_or_default();
    let blocks = document.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    texts.extend(blocks.enumerate().map(|(number, block)| (format!("document-{number}"), block.to_owned())));
    texts
}

fn ask(command: &str, folder: &Path, name: &str, text: &str) -> Output {
    let file = folder.join(name).with_extension("csp");
    fs::write(&file, text).expect("the text can be written");
    let command = command.replace("{}", &format!("'{}'", file.display()));
    Command::new("sh").args(["-c", &command]).output().expect("sh can be run")
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn another_front_end_takes_our_texts() {
    let Ok(command) = std::env::var("DEADHEAT_CSPM") else {
        return println!(
            "skipped: needs DEADHEAT_CSPM, the command line of another front end, {{}} for the file"
        );
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("front-end");
    fs::create_dir_all(&folder).expect("a folder for the texts");
    for (number, wrong) in WRONG.iter().enumerate() {
        let output = ask(&command, &folder, &format!("wrong-{number}"), wrong);
        assert!(!output.status.success(), "it takes anything: {wrong}\n{}", said(&output));
    }
    let texts = texts();
    for (name, text) in &texts {
        let script = cspm::read(text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        for (name, text) in [(name.clone(), text.clone()), (format!("{name}-again"), script.to_string())] {
            let output = ask(&command, &folder, &name, &text);
            assert!(output.status.success(), "{name}:\n{text}\n{}", said(&output));
        }
    }
    println!("{} texts and our own text of each were taken", texts.len());
}
