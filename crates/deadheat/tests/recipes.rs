//! `docs/recipes.md` as it stands: its files are written into a tiny project, its commands run there.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{clean, each_compiler, folder, have, ok, output, said};

const PAGE: &str = include_str!("../../../docs/recipes.md");

/// What a command that tells races says behind itself.
const RACES: &str = "# exit code 66";

/// A fenced block: what stands behind its fence, and its lines.
struct Block<'a> {
    kind: &'a str,
    text: String,
}

/// The blocks of a section of the page.
fn blocks(section: &str) -> Vec<Block<'static>> {
    let heading = format!("## {section}\n");
    let (_, after) = PAGE.split_once(&heading).expect("the section is there");
    let mut blocks: Vec<Block<'static>> = Vec::new();
    let mut open = false;
    for line in after.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            if !open {
                blocks.push(Block { kind, text: String::new() });
            }
            open = !open;
        } else if open {
            let text = &mut blocks.last_mut().expect("a block is open").text;
            text.push_str(line);
            text.push('\n');
        } else if line.starts_with("## ") {
            break;
        }
    }
    blocks
}

/// Follows a section in a project, with one pair of compilers.
fn follow(section: &str, pair: (&str, &str), folder: &Path) {
    let mut commands = 0;
    for block in blocks(section) {
        if let Some((_, file)) = block.kind.split_once(' ') {
            fs::create_dir_all(folder.join(file).parent().expect("a folder")).expect("a folder");
            fs::write(folder.join(file), &block.text).expect("written");
            continue;
        }
        assert_eq!(block.kind, "sh", "{section}: a block is a file or commands");
        commands += 1;
        let result = output(&mut shell(&block.text, pair), folder);
        let races = block.text.contains(RACES);
        let expected = if races { 66 } else { 0 };
        assert_eq!(result.status.code(), Some(expected), "{}\n{}", block.text, said(&result));
        let told = fs::read_to_string(folder.join("races.txt")).unwrap_or_default();
        assert!(!races || (said(&result) + &told).contains("store."), "{}\n{}", block.text, said(&result));
    }
    assert!(commands > 0, "{section}: nothing is run");
}

/// The commands of a block, with `deadheat` on the `PATH`. The first that fails is the last.
fn shell(commands: &str, (c, cxx): (&str, &str)) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_deadheat")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(own.to_owned()).chain(std::env::split_paths(&path));
    let mut command = Command::new("sh");
    clean(&mut command);
    command.env("PATH", std::env::join_paths(folders).expect("a PATH"));
    command.env("DEADHEAT_CC", c).env("DEADHEAT_CXX", cxx);
    command.args(["-e", "-c", commands]);
    command
}

#[test]
fn cmake() {
    if have("cmake") && have("make") {
        each_compiler("recipe-cmake", |pair, folder| {
            follow("CMake", pair, folder);
            let defects =
                fs::read_dir(folder.join("build-deadheat/Testing")).expect("CTest's folder").flatten();
            let logs = defects.filter(|entry| entry.path().join("DynamicAnalysis.xml").is_file()).count();
            assert_eq!(logs, 1, "CTest has looked for defects");
        });
    }
}

#[test]
fn meson() {
    if have("meson") && have("ninja") {
        each_compiler("recipe-meson", |pair, folder| follow("Meson", pair, folder));
    }
}

#[test]
fn autoconf() {
    if have("autoconf") && have("make") {
        each_compiler("recipe-autoconf", |pair, folder| {
            ok(Command::new("rm").arg("Makefile"), folder);
            ok(&mut Command::new("autoconf"), folder);
            follow("autoconf and make", pair, folder);
        });
    }
}

#[test]
fn bazel() {
    if have("bazel") {
        each_compiler("recipe-bazel", |pair, project| {
            without_network(project, &folder("recipe-bazel", pair.0));
            follow("Bazel", pair, project);
        });
    }
}

/// A crate in whose program, and in whose test, two threads write one variable in no order: the standard library would make one by its own
/// locks, were one thread at its end before the other began.
const CRATE: [(&str, &str); 3] = [
    ("Cargo.toml", "[package]\nname = 'program'\nversion = '0.1.0'\nedition = '2024'\n[workspace]\n"),
    (
        "src/main.rs",
        "mod store;\n\
         fn main() {\n  let both = std::sync::Barrier::new(2);\n  let store = |value| {\n    both.wait();\n    \
         store::SHARED.store(value);\n  };\n  std::thread::scope(|scope| {\n    scope.spawn(|| store(1));\n    \
         store(2);\n  });\n}\n\
         #[test]\nfn stores() {\n  main();\n}\n",
    ),
    (
        "src/store.rs",
        "use std::cell::UnsafeCell;\n\
         pub struct Shared(UnsafeCell<u32>);\nunsafe impl Sync for Shared {}\n\
         pub static SHARED: Shared = Shared(UnsafeCell::new(0));\n\
         impl Shared {\n  pub fn store(&self, value: u32) { unsafe { *self.0.get() = value } }\n}\n",
    ),
];

#[test]
fn cargo() {
    let project = folder("recipe-cargo", "rustc");
    for (file, text) in CRATE {
        fs::create_dir_all(project.join(file).parent().expect("a folder")).expect("a folder");
        fs::write(project.join(file), text).expect("written");
    }
    let root = output(Command::new("rustc").args(["+nightly", "--print", "sysroot"]), &project);
    let root = String::from_utf8_lossy(&root.stdout).trim().to_owned();
    if !Path::new(&root).join("lib/rustlib/src/rust/library/vendor").is_dir() {
        println!("skipped: needs a nightly toolchain with rust-src");
        return;
    }
    follow("Cargo", ("cc", "c++"), &project);
}

/// Where Debian's Bazel has its rules. What it would fetch is packaged, but for the rules for C++ of its own time, which only pass on
/// what is built in, and what measures coverage.
const RULES: &str = "/usr/share/bazel";

/// Lets Bazel work in a folder of its own and, where it is Debian's, without a network.
fn without_network(project: &Path, own: &Path) {
    let mut settings = format!("startup --batch --output_user_root={}\n", own.join("output").display());
    if Path::new(RULES).join("tools/skylib").is_dir() {
        let names = ["library", "binary", "test", "toolchain", "toolchain_suite"];
        let pass_on =
            |name: &str| format!("def cc_{name}(**attributes):\n    native.cc_{name}(**attributes)\n");
        let coverage = "sh_binary(name = 'coverage_report_generator', srcs = ['nothing.sh'], \
                        visibility = ['//visibility:public'])\n";
        for (file, text) in [
            ("rules_cc/WORKSPACE", String::new()),
            ("rules_cc/cc/BUILD", String::new()),
            ("rules_cc/cc/defs.bzl", names.map(pass_on).concat()),
            ("coverage/WORKSPACE", String::new()),
            ("coverage/BUILD", coverage.to_owned()),
            ("coverage/nothing.sh", "#!/bin/sh\n".to_owned()),
        ] {
            let file = own.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("written");
        }
        let packaged = |name: &str| Path::new(RULES).join(name);
        for (name, path) in [
            ("rules_cc", own.join("rules_cc")),
            ("remote_coverage_tools", own.join("coverage")),
            ("rules_java", packaged("rules/java")),
            ("rules_proto", packaged("rules/proto")),
            ("bazel_skylib", packaged("tools/skylib")),
            ("platforms", packaged("tools/platforms")),
        ] {
            settings += &format!("build --override_repository={name}={}\n", path.display());
        }
    }
    fs::write(project.join(".bazelrc"), settings).expect("written");
}
