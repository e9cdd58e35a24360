//! The machine code of the hot hooks: no call but tail calls, no stack frame on the common path.
//!
//! The object that is linked into programs is disassembled. Of each hook of a plain access (every size, aligned or not, volatile
//! or not, read, write or both), of function entry and of function exit it is checked that
//! * the hook itself, which returns where the access is nothing new to its moment, calls nothing and leaves the stack alone: it
//!   neither pushes nor moves the stack pointer, and stores nothing there; all of its code, not only one path (for entry and exit that is all there is, once the
//!   thread follows its calls);
//! * it goes on, if at all, by jumps to functions whose names are known ([`Part`]);
//! * those in which an access that is new to its moment is published where nothing but the thread's own or ordered accesses are,
//!   and the one that records, call nothing: they save registers of their caller's, may keep values below the stack pointer, and have no frame beyond these.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{deadheat, have, ok, project};

/// An instruction of a disassembly.
struct Instruction {
    mnemonic: String,
    operands: String,
    /// What its relocation names, if it has one.
    target: Option<String>,
}

/// The functions of an object by name.
type Code = BTreeMap<String, Vec<Instruction>>;

/// Where a hook goes on: the path of a Rust function as its mangled name has it.
#[derive(Clone, Copy)]
struct Part(&'static str);

/// Publishes an access that is new to its moment.
const PUBLISHES: Part = Part("6online5quick9on_access17h");
/// Does the same where other threads' ordered accesses are, too.
const FOLLOWS: Part = Part("6online5quick22on_access_after_others17h");
/// Does the same in the second of two cells alone.
const SECOND: Part = Part("6online5quick14on_second_cell17h");
/// Does the same for one that does not lie within one cell, as far as it looks whether it is new.
const ODD: Part = Part("6online6across13on_odd_access17h");
/// Appends an access to a recording.
const RECORDS: Part = Part("3hot6access9on_access17h");
/// Moves the pointer to the innermost frame, where the hook cannot do it by itself.
const ENTRY: Part = Part("3hot6access19on_entry_in_general17h");
/// Moves it back, as well.
const EXIT: Part = Part("3hot6access18on_exit_in_general17h");

/// What a function may do with the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stack {
    /// Look at its return address.
    Untouched,
    /// Save its caller's registers.
    Saved,
}

/// The registers that a function leaves to its caller as they were.
const SAVED: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];

/// The functions of an object.
fn disassembled(object: &Path, folder: &Path) -> Code {
    let mut command = Command::new("objdump");
    command.args(["-dr", "--no-show-raw-insn", "-M", "intel"]).arg(object);
    let text = String::from_utf8(ok(&mut command, folder).stdout).expect("objdump writes UTF-8");
    let in_text = text.split("Disassembly of section ").find(|section| section.starts_with(".text:"));
    let heads = in_text.unwrap_or("").lines().filter_map(|line| line.strip_suffix(">:")?.split_once(" <"));
    let functions: BTreeMap<i64, &str> =
        heads.filter_map(|(at, name)| Some((i64::from_str_radix(at, 16).ok()?, name))).collect();
    let mut code = Code::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(head) = line.strip_suffix(">:") {
            name = head.split_once('<').map_or_else(String::new, |(_, name)| name.to_owned());
            code.entry(name.clone()).or_default();
        } else if let Some((_, relocation)) = line.split_once(": R_X86_64_") {
            let named = relocation.split_whitespace().nth(1).map(|named| symbol(named, &functions));
            let last = code.get_mut(&name).and_then(|instructions| instructions.last_mut());
            last.expect("a relocation is behind its instruction").target = named;
        } else if let Some((_, text)) = line.split_once(":\t") {
            let text = text.split(['#', '<']).next().unwrap_or("").trim();
            let text = text.trim_start_matches("notrack ").trim_start_matches("bnd ");
            let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
            let instruction = Instruction {
                mnemonic: mnemonic.to_owned(),
                operands: operands.trim().to_owned(),
                target: None,
            };
            code.entry(name.clone()).or_default().push(instruction);
        }
    }
    code
}

/// The function that a relocation means: by its name, or by its place in the section that has all functions.
fn symbol(relocated: &str, functions: &BTreeMap<i64, &str>) -> String {
    /// A distance is told from the end of its four bytes.
    const SIZE: i64 = 4;
    let at = relocated.find(['-', '+']).unwrap_or(relocated.len());
    let (name, addend) = relocated.split_at(at);
    if name != ".text" {
        return name.to_owned();
    }
    let addend =
        addend.strip_prefix('+').map_or_else(|| addend.replace("0x", ""), |digits| digits.replace("0x", ""));
    let place = i64::from_str_radix(&addend, 16).unwrap_or(0) + SIZE;
    functions.get(&place).map_or_else(|| format!(".text+{place:#x}"), |function| (*function).to_owned())
}

/// Whether an instruction may go on elsewhere.
fn jumps(instruction: &Instruction) -> bool {
    instruction.mnemonic.starts_with('j')
}

/// What the code of a function does that it must not.
fn complaints(function: &str, code: &Code, stack: Stack) -> Vec<String> {
    let Some(instructions) = code.get(function).filter(|instructions| !instructions.is_empty()) else {
        return vec![format!("{function} is not there")];
    };
    let mut found = Vec::new();
    for Instruction { mnemonic, operands, target } in instructions {
        let saves = matches!(mnemonic.as_str(), "push" | "pop") && SAVED.contains(&operands.as_str());
        let below = operands.contains("[rsp-");
        // A load reads the return address; only what is written comes first.
        let looks = ["mov", "and", "lea", "cmp"].contains(&mnemonic.as_str()) && !operands.starts_with("rsp");
        let looks = looks && operands.split_once(',').is_some_and(|(to, _)| !to.contains("rsp"));
        let touches =
            operands.contains("rsp") || ["push", "pop", "enter", "leave"].contains(&mnemonic.as_str());
        let allowed = match stack {
            Stack::Untouched => looks && !below,
            Stack::Saved => saves || below,
        };
        let reached = jumps_through_memory(mnemonic, operands, target.as_deref());
        if mnemonic.starts_with("call") || reached || touches && !allowed {
            found.push(format!("{function}: {mnemonic} {operands} {}", target.as_deref().unwrap_or("")));
        }
    }
    found
}

/// Whether it is a jump to a place that the code does not name.
fn jumps_through_memory(mnemonic: &str, operands: &str, target: Option<&str>) -> bool {
    let named = target.is_some() || operands.starts_with(|first: char| first.is_ascii_hexdigit());
    mnemonic == "jmp"
        && (!named || operands.contains('[') || SAVED.contains(&operands) || operands.starts_with('r'))
}

/// The other functions that one goes on to.
fn goes_on_to(function: &str, code: &Code) -> BTreeSet<String> {
    let instructions = code.get(function).map_or(&[][..], Vec::as_slice);
    instructions.iter().filter(|one| jumps(one)).filter_map(|one| one.target.clone()).collect()
}

/// The hooks of plain accesses.
fn accesses() -> Vec<String> {
    let mut hooks = Vec::new();
    for mode in ["read", "write", "read_write", "volatile_read", "volatile_write"] {
        for size in [1, 2, 4, 8, 16] {
            hooks.push(format!("__tsan_{mode}{size}"));
            if size > 1 {
                hooks.push(format!("__tsan_unaligned_{mode}{size}"));
            }
        }
    }
    hooks
}

/// The runtime's object for programs, as `deadheat cc` names it to the linker.
fn object(folder: &Path) -> PathBuf {
    std::fs::write(folder.join("x.o"), b"").expect("write");
    let shown = ok(deadheat().args(["cc", "-###", "x.o"]), folder);
    let text = String::from_utf8_lossy(&shown.stdout) + String::from_utf8_lossy(&shown.stderr);
    let word = text.split([' ', '"']).find(|word| word.ends_with("rt-dynamic.o"));
    PathBuf::from(word.expect("the object is on the linker's command line"))
}

/// Checks a hook: it goes on to exactly these, and of these the ones with a rule obey it.
fn check(hook: &str, code: &Code, parts: &[(Part, Option<Stack>)]) -> Vec<String> {
    let mut found = complaints(hook, code, Stack::Untouched);
    let reached = goes_on_to(hook, code);
    for function in &reached {
        match parts.iter().find(|(part, _)| function.contains(part.0)) {
            Some((_, Some(stack))) => found.extend(complaints(function, code, *stack)),
            Some((_, None)) => {}
            None => found.push(format!("{hook} goes on to {function}")),
        }
    }
    for (part, _) in parts {
        if !reached.iter().any(|function| function.contains(part.0)) {
            found.push(format!("{hook} never goes on to {}", part.0));
        }
    }
    found
}

#[test]
fn of_the_hot_hooks_calls_nothing_and_has_no_frame() {
    if !have("objdump") {
        return;
    }
    let folder = project("machine");
    let code = disassembled(&object(&folder), &folder);
    let ways = [(PUBLISHES, Some(Stack::Saved)), (ODD, Some(Stack::Saved)), (RECORDS, Some(Stack::Saved))];
    let mut found: Vec<String> = accesses().iter().flat_map(|hook| check(hook, &code, &ways)).collect();
    for part in [FOLLOWS, SECOND] {
        let of_part: Vec<&String> = code.keys().filter(|name| name.contains(part.0)).collect();
        assert!(!of_part.is_empty(), "{} is not there", part.0);
        found.extend(of_part.into_iter().flat_map(|name| complaints(name, &code, Stack::Saved)));
    }
    found.extend(check("__tsan_func_entry", &code, &[(ENTRY, None)]));
    found.extend(check("__tsan_func_exit", &code, &[(EXIT, None)]));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Functions as they must be and as they must not.
const WRONG: &str = "\
extern int callee(int), other(int);
int tail_calls(int value) { return value == 0 ? 1 : callee(value + 1); }
int calls(int value) { return callee(value) + 1; }
int has_a_frame(int value) { volatile int local[100]; local[value] = 1; return local[1]; }
int saves(int value) { __asm__ volatile(\"\" ::: \"rbx\"); return value; }
int keeps(int value) { volatile int local = value; return local; }
int jumps(int (*to)(int)) { return to(1); }
";

#[test]
fn wrong_functions_are_complained_of() {
    if !have("objdump") || !have("gcc") {
        return;
    }
    let folder = project("machine-wrong");
    std::fs::write(folder.join("wrong.c"), WRONG).expect("write");
    let flags = ["-O2", "-fomit-frame-pointer", "-fcf-protection=none", "-c", "wrong.c", "-o", "wrong.o"];
    ok(Command::new("gcc").args(flags), &folder);
    let code = disassembled(&folder.join("wrong.o"), &folder);
    let wrong = |function: &str, stack| !complaints(function, &code, stack).is_empty();
    for (function, untouched, saved) in [
        ("tail_calls", false, false),
        ("calls", true, true),
        ("has_a_frame", true, true),
        ("saves", true, false),
        ("keeps", true, false),
        ("jumps", true, true),
        ("is_not_there", true, true),
    ] {
        let told = (wrong(function, Stack::Untouched), wrong(function, Stack::Saved));
        assert_eq!(told, (untouched, saved), "{function}");
    }
    assert_eq!(goes_on_to("tail_calls", &code), BTreeSet::from(["callee".to_owned()]));
    let elsewhere = check("tail_calls", &code, &[(Part("other"), None)]);
    assert_eq!(elsewhere, ["tail_calls goes on to callee", "tail_calls never goes on to other"]);
}
