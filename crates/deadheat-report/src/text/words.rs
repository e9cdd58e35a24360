//! The phrases of the text: what lies at an address, what an access does, what a stack is.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::group::{MOST_ALSO, is_own, is_runtime, key_frame, maker_frame};
use crate::model::{
    ASKED, Access, BIRTH, Finding, Frame, Grade, LOCK_ORDER, Location, Lock, LockMode, OBJECT, Operation,
    OrderHere, Race, Run, Step, Suggestion, Thread,
};
use crate::text::name::short;

/// How many frames of a stack are told.
pub(crate) const MOST_FRAMES: usize = 6;
/// How many library frames behind an access and before one of the program's own share a line.
const FOLDED_LIBRARY_FRAMES: usize = 2;
/// How many frames of the stack that created a thread or a block are told.
const MOST_CREATION_FRAMES: usize = 3;

/// `1 race`, `2 races`, `3 accesses`.
pub(crate) fn number(count: u64, what: &str) -> String {
    let plural = if what.ends_with('s') { "es" } else { "s" };
    format!("{count} {what}{}", if count == 1 { "" } else { plural })
}

/// How much was seen of a run: threads, and what is counted of what they did.
pub(crate) fn amounts(run: &Run) -> Vec<String> {
    let mut amounts = vec![number(run.threads, "thread")];
    if run.accessed.is_none() {
        amounts.extend([number(run.events, "event"), number(run.accesses, "access")]);
    }
    amounts
}

/// What the race is on.
pub(crate) fn location(location: &Location, accesses: &[Access; 2]) -> String {
    // The end or the birth of a whole block does not begin at the byte that is raced for.
    let of_block = |access: &Access| access.op == Operation::Free || access.via.as_deref() == Some(BIRTH);
    let [one, other] = accesses;
    let size = match (one.size, other.size) {
        (one, other) if one == other => number(one, "byte"),
        (_, size) if of_block(one) && !of_block(other) => number(size, "byte"),
        (size, _) if of_block(other) && !of_block(one) => number(size, "byte"),
        (one, other) => format!("{one} and {other} bytes"),
    };
    // The offset is that of the first byte that both have: not of both, where one begins before.
    let meet = if size.contains(" and ") { " that meet" } else { "" };
    match location {
        Location::Global { symbol, part, .. } if !part.is_empty() => format!("`{symbol}{part}` ({size})"),
        Location::Global { offset, size: whole, .. }
            if *offset != 0 || *whole != 0 && *whole != accesses[0].size =>
        {
            format!("{} ({size}{meet} at offset {offset} of {whole})", object(location, accesses))
        }
        Location::Heap { size: whole, offset, .. } | Location::Mapping { size: whole, offset, .. } => {
            format!("{} ({size}{meet} at offset {offset} of {whole})", object(location, accesses))
        }
        Location::Stack { thread, variable: Some(_), .. } => {
            format!("{} on the stack of `{thread}` ({size})", object(location, accesses))
        }
        Location::Descriptor { .. } | Location::Named { .. } => object(location, accesses),
        Location::Global { .. } | Location::Stack { .. } | Location::Tls { .. } | Location::Unknown => {
            format!("{} ({size})", object(location, accesses))
        }
    }
}

/// The variable, block or the like that it is on, whichever part of it that is.
pub(crate) fn object(location: &Location, accesses: &[Access; 2]) -> String {
    match location {
        Location::Global { symbol, .. } => format!("`{symbol}`"),
        Location::Heap { frames, .. } => format!("heap block{}", from(maker_frame(frames))),
        Location::Mapping { frames, .. } => format!("mapping{}", from(maker_frame(frames))),
        Location::Stack { thread, function, variable, file, line } => {
            let function = function.as_ref().map_or(String::new(), |name| format!(" in `{}`", short(name)));
            match variable {
                Some(name) => {
                    format!("local variable `{name}`{function}{}", place(file.as_deref(), *line))
                }
                None => format!("the stack of `{thread}`{function}"),
            }
        }
        Location::Tls { symbol: Some(symbol), thread } => format!("thread-local `{symbol}` of `{thread}`"),
        Location::Tls { symbol: None, thread } => format!("thread-local storage of `{thread}`"),
        Location::Descriptor { number, frames, .. } => {
            format!("file descriptor {number}{}", from(key_frame(frames)))
        }
        Location::Named { name } => format!("`{name}`"),
        Location::Unknown => accesses[0].address.to_string(),
    }
}

/// The note that says what else the same places race on.
pub(crate) fn also(race: &Race) -> Option<String> {
    let mut others: Vec<String> = Vec::new();
    let own = object(&race.location, &race.accesses);
    for other in race.also.iter().map(|location| object(location, &race.accesses)) {
        let other = if other == own { format!("another {other}") } else { other };
        if !others.contains(&other) {
            others.push(other);
        }
    }
    let last = others.pop()?;
    let many = if race.also.len() == MOST_ALSO { ", and perhaps on others" } else { "" };
    let all = if others.is_empty() { last } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("the same places race on {all}, too{many}"))
}

/// How the races of a run spread over what they are on, those with the most first; nothing where they are few or all on something else.
pub(crate) fn spread(races: &[Race]) -> Vec<String> {
    const FEW: usize = 4;
    const MOST: usize = 8;
    let mut counts = BTreeMap::new();
    for race in races {
        *counts.entry(object(&race.location, &race.accesses)).or_insert(0) += 1;
    }
    let mut objects: Vec<(String, usize)> = counts.into_iter().collect();
    if races.len() <= FEW || objects.len() == races.len() {
        return Vec::new();
    }
    objects.sort_by_key(|(_, count)| Reverse(*count));
    let shown = if objects.len() > MOST + 1 { MOST } else { objects.len() };
    let (first, rest) = objects.split_at(shown);
    let mut lines: Vec<_> = first.iter().map(|(name, count)| format!("{count} on {name}")).collect();
    if !rest.is_empty() {
        let count: usize = rest.iter().map(|(_, count)| count).sum();
        lines.push(format!("{count} on {} others", rest.len()));
    }
    lines
}

/// Who allocated or opened what lies at an address, and where; nothing of what was always there.
pub(crate) fn made(location: &Location) -> Option<(&str, &[Frame])> {
    match location {
        Location::Heap { frames, thread, .. }
        | Location::Mapping { frames, thread, .. }
        | Location::Descriptor { frames, thread, .. } => Some((thread, frames)),
        Location::Global { .. }
        | Location::Stack { .. }
        | Location::Tls { .. }
        | Location::Named { .. }
        | Location::Unknown => None,
    }
}

/// `` from `make` src/a.c:7``.
fn from(frame: Option<&Frame>) -> String {
    let Some(frame) = frame else { return String::new() };
    let function = frame.function.as_ref().map_or(String::new(), |name| format!(" `{}`", short(name)));
    let place = place(frame.file.as_deref(), frame.line);
    if function.is_empty() && place.is_empty() { String::new() } else { format!(" from{function}{place}") }
}

/// `` a.c:7``, if it is known.
fn place(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!(" {}:{line}", file.rsplit('/').next().unwrap_or(file)),
        _ => String::new(),
    }
}

/// A thread with its name, if it has one.
pub(crate) fn thread(path: &str, name: &str) -> String {
    if name.is_empty() { format!("`{path}`") } else { format!("`{path}` ({name})") }
}

/// The label of a place: who does what there, holding what.
pub(crate) fn what_it_does(access: &Access) -> String {
    let who = who(access);
    let verb = match (access.via.as_deref(), access.op) {
        (_, Operation::Free) => "frees the block",
        (Some(BIRTH), _) => "allocates the block",
        (Some(OBJECT), Operation::Read) => "uses the object",
        (Some(OBJECT), _) => "makes or ends the object",
        (_, Operation::Read) => "reads",
        (_, Operation::Write) => "writes",
        (_, Operation::ReadWrite) => "reads and writes",
    };
    let order = match (&access.order, access.atomic) {
        (Some(order), true) => format!(" atomically ({order})"),
        (None, true) => " atomically".to_owned(),
        (_, false) => String::new(),
    };
    let inside = match (key_frame(&access.frames), access.frames.first()) {
        (Some(key), Some(top)) if key != top => {
            top.function.as_ref().map_or(String::new(), |name| format!(" in `{}`", short(name)))
        }
        _ => String::new(),
    };
    let here = match key_frame(&access.frames) {
        _ if access.clock.is_some() => String::new(),
        // Code that stands for several lines has none.
        Some(Frame { file: Some(_), line: None, function: Some(name), .. }) => {
            format!(" somewhere in `{}`", short(name))
        }
        _ => " here".to_owned(),
    };
    format!("{who} {verb}{here}{order}{inside}{}", circumstances(access))
}

/// Where an access lay whose stack is not remembered.
fn forgotten(access: &Access) -> Option<String> {
    let clock = access.clock?;
    let next = clock.saturating_add(1);
    Some(format!(
        "its stack and locks are not remembered: it lay between the synchronisations that made the thread's clock {clock} and {next}"
    ))
}

/// How often something was seen.
pub(crate) fn times(count: u64) -> String {
    if count <= 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Which locks were held, or where an access lay of which that is not remembered.
fn circumstances(access: &Access) -> String {
    if let Some(between) = forgotten(access) {
        return format!("; {between}");
    }
    if access.locks.is_empty() {
        // Locks of Rust are atomics and calls of the kernel, and where a block is allocated the detector in the program does not look: that none was held is not known.
        let is_rust = key_frame(&access.frames).and_then(|frame| frame.file.as_deref());
        let is_rust = is_rust.is_some_and(|file| file.ends_with(".rs"));
        let is_known = !is_rust && access.via.as_deref() != Some(BIRTH);
        return if is_known { ", holding no lock".to_owned() } else { String::new() };
    }
    let names: Vec<_> = access
        .locks
        .iter()
        .map(|lock| match lock.mode {
            LockMode::Write => format!("`{}`", lock.shown()),
            LockMode::Read => format!("`{}` for reading", lock.shown()),
        })
        .collect();
    format!(", holding {}", names.join(", "))
}

/// The note with an access's stack.
pub(crate) fn stack_of(access: &Access) -> String {
    let who = who(access);
    let what = match (access.via.as_deref(), access.op, access.atomic) {
        (_, Operation::Free, _) => "free".to_owned(),
        (Some(BIRTH), ..) => "allocation".to_owned(),
        (Some(OBJECT), Operation::Read, _) => "use of the object".to_owned(),
        (Some(OBJECT), ..) => "making or end of the object".to_owned(),
        (_, op, false) => op.name().to_owned(),
        (_, op, true) => format!("atomic {}", op.name()),
    };
    let of_object = access.via.as_deref() == Some(OBJECT) && access.op != Operation::Free;
    // An object is used as a whole: of how many bytes that is told says nothing.
    let what = if of_object { what } else { format!("{what} of {}", number(access.size, "byte")) };
    let circumstances = circumstances(access);
    if !access.frames.is_empty() {
        format!("{what} by {who}{circumstances}:{}", stack(&access.frames))
    } else if access.clock.is_some() {
        format!("{what} by {who}{circumstances}")
    } else {
        format!("{what} by {who}{circumstances}; its place is not known")
    }
}

/// The frames of a stack, each on a line of its own, innermost first.
pub(crate) fn stack(frames: &[Frame]) -> String {
    lines(frames, MOST_FRAMES)
}

/// How the accesses of a proof met, step by step; nothing if that is not told.
pub(crate) fn story_lines(race: &Race) -> Vec<&str> {
    let story = race.witness.as_ref().and_then(|witness| witness.get("story")?.as_array());
    story.into_iter().flatten().filter_map(|line| line.as_str()).collect()
}

/// The note that tells how the accesses of a proof met.
pub(crate) fn story(race: &Race) -> Option<String> {
    let lines = story_lines(race);
    let run = race.witness.as_ref()?.get("run").and_then(serde_json::Value::as_u64);
    let within = run.map_or(String::new(), |run| format!(" in re-run {run}"));
    (!lines.is_empty()).then(|| format!("how they met{within}:\n  {}", lines.join("\n  ")))
}

/// What the order of the run says of the accesses of a suspected race.
pub(crate) fn order_here(race: &Race) -> Option<&'static str> {
    Some(match race.order_here? {
        OrderHere::Unordered => {
            "no common lock; unordered here: nothing in this run ordered the two accesses"
        }
        OrderHere::Locks => {
            "no common lock; ordered here by locks that passed from one thread to the other: another run may go otherwise"
        }
        OrderHere::Other => {
            "no common lock; ordered here by something that is no lock (a creation, a join, an atomic, a wait): this may be \
             no race at all"
        }
    })
}

/// How many accesses the suggested lock protects.
pub(crate) fn suggestion(suggestion: &Suggestion) -> String {
    let Suggestion { lock, held_at, of, instances, .. } = suggestion;
    let each = if *instances > 1 { format!(" ({instances} locks, one an object)") } else { String::new() };
    format!("`{lock}`{each} protects {held_at} of {}", number(*of, "access"))
}

/// Whether an access holds the suggested lock in a mode that protects it.
pub(crate) fn holds(access: &Access, suggestion: &Suggestion) -> bool {
    let protects = |lock: &Lock| {
        (&lock.id, &lock.name) == (&suggestion.id, &suggestion.lock)
            && (lock.mode == LockMode::Write || access.op == Operation::Read)
    };
    access.locks.iter().any(protects)
}

/// The thread of an access.
pub(crate) fn who(access: &Access) -> String {
    thread(&access.thread, &access.thread_name)
}

/// Who created a thread.
pub(crate) fn who_created(row: &Thread) -> String {
    let by = row.created_by.as_deref().unwrap_or("?");
    format!("{} was created by `{by}`", thread(&row.thread, &row.name))
}

/// The grade of a finding, where that needs a word: what was observed needs none, and has no accesses that were unordered.
pub(crate) fn weak_grade(finding: &Finding) -> Option<Grade> {
    finding.grade.filter(|grade| *grade < Grade::Observed)
}

/// What is said of a finding, behind its grade where that needs a word.
pub(crate) fn graded(finding: &Finding, what: &str) -> String {
    weak_grade(finding).map_or(what.to_owned(), |grade| format!("{}: {what}", grade.shown()))
}

/// The stack that is a finding's own; nothing if its accesses have it, or its steps: a lock order is all in them.
pub(crate) fn own_frames(finding: &Finding) -> &[Frame] {
    let in_steps = finding.kind == LOCK_ORDER && !finding.steps.is_empty();
    if finding.accesses.is_some() || in_steps { &[] } else { &finding.frames }
}

/// The thread of a step.
pub(crate) fn who_stepped(step: &Step) -> String {
    thread(&step.thread, &step.thread_name)
}

/// The label of a step of a finding: who took which lock, or asks for it.
pub(crate) fn what_a_step_does(step: &Step) -> String {
    let reading = if step.lock.mode == LockMode::Read { " for reading" } else { "" };
    let what = if step.what == ASKED { "asks for" } else { "took" };
    format!("{} {what} `{}`{reading}", who_stepped(step), step.lock.shown())
}

/// The note with a step of a finding.
pub(crate) fn step(step: &Step) -> String {
    format!("{}:{}", what_a_step_does(step), stack(&step.frames))
}

/// The notes that say where threads come from: one for those that the same stack created.
pub(crate) fn creations(threads: &[Thread]) -> Vec<String> {
    let mut notes: Vec<(Vec<String>, &str, String)> = Vec::new();
    for row in threads {
        let Some(by) = row.created_by.as_deref() else { continue };
        let (who, origin) = (thread(&row.thread, &row.name), origin(&row.frames));
        match notes.iter_mut().find(|note| (note.1, &note.2) == (by, &origin)) {
            Some((all, ..)) => all.push(who),
            None => notes.push((vec![who], by, origin)),
        }
    }
    let tell = |(who, by, origin): (Vec<String>, &str, String)| match &who[..] {
        [one] => format!("{one} was created by `{by}`{origin}"),
        all => format!("{} were created by `{by}`{origin}", all.join(" and ")),
    };
    notes.into_iter().map(tell).collect()
}

/// The note that says where a block comes from.
pub(crate) fn allocation(by: &str, frames: &[Frame]) -> String {
    format!("the block was allocated by `{by}`{}", origin(frames))
}

/// The stack that created something, if any of it is worth telling.
fn origin(frames: &[Frame]) -> String {
    let told = lines(outside_libraries(frames), MOST_CREATION_FRAMES);
    if told.is_empty() { told } else { format!(":{told}") }
}

/// A stack from the program's innermost own frame on: which function of a library created the
/// thread or allocated the block is nothing to a reader.
fn outside_libraries(frames: &[Frame]) -> &[Frame] {
    &frames[frames.iter().position(is_own).unwrap_or(0)..]
}

/// The frames that are told, each on a line; a recursion's equal frames share one, and so do those of libraries that follow each
/// other. Which of a library's functions made the access is told.
fn lines(frames: &[Frame], most: usize) -> String {
    let shown = visible(frames);
    let mut runs: Vec<(usize, String, usize)> = Vec::new();
    let mut rest = shown.as_slice();
    let some_own = shown.iter().any(|frame| is_own(frame));
    while let Some((first, behind)) = rest.split_first() {
        let index = shown.len() - rest.len();
        let of_library = rest.iter().take_while(|frame| !is_own(frame)).count();
        if some_own && index > 0 && of_library >= FOLDED_LIBRARY_FRAMES {
            runs.push((index, format!("library code, {of_library} frames"), 1));
            rest = &rest[of_library..];
            continue;
        }
        let line = frame_line(first);
        match runs.last_mut() {
            Some((_, last, times)) if *last == line => *times += 1,
            _ => runs.push((index, line, 1)),
        }
        rest = behind;
    }
    let mut text = String::new();
    // A line that says that one is left out would take the place of that one.
    let most = if runs.len() == most + 1 { most + 1 } else { most };
    for (index, line, times) in runs.iter().take(most) {
        let times = if *times == 1 { String::new() } else { format!(", {times} times") };
        text += &format!("\n  #{index} {line}{times}");
    }
    let left = runs.get(most).map_or(0, |(index, ..)| shown.len() - index);
    if left > 0 {
        text += &format!("\n  and {left} more");
    }
    text
}

/// A frame in one line.
pub(crate) fn frame_line(frame: &Frame) -> String {
    let mut text = frame.function.as_deref().map(short).unwrap_or_default();
    let mut add = |part: String| {
        if !text.is_empty() {
            text.push(' ');
        }
        text += &part;
    };
    match (&frame.file, frame.line, frame.column) {
        (Some(file), Some(line), Some(column)) => add(format!("{}:{line}:{column}", within_sources(file))),
        (Some(file), Some(line), None) => add(format!("{}:{line}", within_sources(file))),
        (None, Some(line), _) => add(format!("line {line}")),
        (file, None, _) => {
            if let Some(file) = file {
                add(within_sources(file).to_owned());
            }
            if let (Some(module), Some(offset)) = (&frame.module, frame.offset) {
                add(format!("({module}+{offset})"));
            }
        }
    }
    if text.is_empty() { "?".to_owned() } else { text }
}

/// The path of a source file without what leads to Rust's standard library, or to what cargo fetched: that is where the machine has them.
fn within_sources(file: &str) -> &str {
    if let Some((_, path)) = file.split_once("/rustlib/src/rust/") {
        return path;
    }
    // One folder for the registry, or the compiler's commit, is between.
    let fetched = file.split_once("/registry/src/").map(|(_, path)| path);
    let path = fetched.or_else(|| file.strip_prefix("/rustc/")).and_then(|path| path.split_once('/'));
    path.map_or(file, |(_, path)| path)
}

/// The frames that a reader wants: none of the runtime's, none outside `main` or what Rust calls the same, and no library
/// frames outside the program's outermost own one.
pub(crate) fn visible(frames: &[Frame]) -> Vec<&Frame> {
    /// Rust's own backtraces end before it, too.
    const RUST_START: &str = "__rust_begin_short_backtrace";
    let starts = |frame: &Frame| frame.function.as_ref().is_some_and(|name| name.contains(RUST_START));
    let mut shown = Vec::new();
    for frame in frames.iter().filter(|frame| !is_machinery(frame)) {
        if starts(frame) && !shown.is_empty() {
            break;
        }
        shown.push(frame);
        if frame.function.as_deref() == Some("main") {
            break;
        }
    }
    if let Some(outermost) = shown.iter().rposition(|frame| is_own(frame)) {
        shown.truncate(outermost + 1);
    }
    shown
}

/// Whether a frame is deadheat's own, or of the start of a program or thread.
fn is_machinery(frame: &Frame) -> bool {
    const STARTS: [&str; 2] = ["__libc_start_", "__clone"];
    const NAMES: [&str; 5] = ["_start", "start_thread", "clone", "clone3", "execute_native_thread_routine"];
    let name = frame.function.as_deref().unwrap_or("");
    is_runtime(frame) || NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}
