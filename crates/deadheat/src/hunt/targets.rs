//! `targets.jsonl`: targets as they are exchanged between runs, machines and people, one a line.
//!
//! `docs/targets.md` describes the form. Invariant: fields are added, never renamed or given
//! another meaning, while [`VERSION`] stays; a reader skips fields that it does not know.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use deadheat_core::gate::{MAX_PATH, descriptor};
use deadheat_core::race::Evidence;
use deadheat_detect::registry;
use deadheat_report::model::{Hex, Location, Operation};
use deadheat_trace::tables::Modules;
use serde::{Deserialize, Serialize};

use super::folder::write_whole;
use super::gatefile;
use super::nominators::CONFLICT;
use super::turns::Delay;
use crate::exit::Failure;

/// The version of the form; each line carries it.
pub(crate) const VERSION: u32 = 1;

/// A target.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// [`VERSION`].
    pub(crate) version: u32,
    /// Its name: `t-` and a hash of both descriptors, stable over runs of one build.
    pub(crate) id: String,
    /// The pair of places, see [`group_of`]. Targets of one group are occasions for one race.
    #[serde(default)]
    pub(crate) group: String,
    /// The race that a meeting proves: the id that its report has.
    pub(crate) race: String,
    /// How likely the two accesses are to meet.
    pub(crate) rank: Rank,
    /// Who nominated it: `conflict`, names of analyses. Empty in files of earlier versions, which knew conflicts alone.
    #[serde(default)]
    pub(crate) by: Vec<String>,
    /// Who is to wait for the other at first, by a witness of the meeting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Delay>,
    /// The modules that the sides speak of.
    pub(crate) modules: Vec<Module>,
    /// The two accesses.
    pub(crate) sides: [Side; 2],
    /// What they are to.
    #[serde(default)]
    pub(crate) location: Location,
}

/// How likely the accesses of a target are to meet, most likely first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rank {
    /// Nothing ordered them in the watched run.
    Unordered,
    /// They are unordered in a predicted reordering of it.
    Predicted,
    /// Something ordered them, but no lock that both hold.
    NoCommonLock,
    /// Both hold a lock.
    CommonLock,
}

/// What targets are tried by, the first first: how strong the evidence is that the two can meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Standing {
    /// Nothing ordered them in the watched run.
    Observed,
    /// They are unordered in a predicted reordering of it.
    Predicted,
    /// No lock protects what they access, by the whole run.
    Suspected,
    /// They conflict, and something ordered them.
    Conflicting,
    /// The same, and both hold a lock.
    Locked,
}

/// A module that a target speaks of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Module {
    /// Its file's name.
    pub(crate) name: String,
    /// Its build id in hexadecimal; empty if it has none.
    #[serde(default)]
    pub(crate) build_id: String,
}

/// A code address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Code {
    /// The module's index in [`Target::modules`].
    pub(crate) module: usize,
    /// The address in the module's own address space.
    pub(crate) offset: Hex,
}

/// One side: its descriptor ⟨U, B, I, S, N⟩, and what a reader wants to know of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Side {
    /// U: the thread's spawn path.
    pub(crate) thread: String,
    /// B: whether only that thread matches.
    pub(crate) only_thread: bool,
    /// I: the code address.
    pub(crate) code: Code,
    /// S: call sites, the last call first.
    #[serde(default)]
    pub(crate) calls: Vec<Code>,
    /// N, from 1.
    pub(crate) ordinal: u64,
    /// What the access did.
    pub(crate) op: Operation,
    /// How many bytes it touched.
    pub(crate) size: u64,
    /// Whether it was atomic.
    #[serde(default)]
    pub(crate) atomic: bool,
    /// The locks that were held.
    #[serde(default)]
    pub(crate) locks: Vec<Held>,
    /// The place for people: `cache.c:14 put`.
    #[serde(default)]
    pub(crate) place: String,
}

/// A lock that was held at a side of a target.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Its name for people.
    pub(crate) name: String,
    /// What it is in every run.
    pub(crate) id: String,
    /// Where it lay in the watched run.
    pub(crate) address: Hex,
}

/// A part of all pairs: the `number`-th of `of`. A pair is in one part of each partition, and in the
/// same one whichever run nominates it, so that parts that nominate by themselves share nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    number: u64,
    of: u64,
}

impl Part {
    /// All pairs.
    pub(crate) const WHOLE: Part = Part { number: 1, of: 1 };

    /// Whether a target is in the part.
    pub(crate) fn has(self, target: &Target) -> bool {
        hash(std::slice::from_ref(&target.group)) % self.of == self.number - 1
    }

    /// The parts of which this is one.
    pub(crate) fn all(self) -> impl Iterator<Item = Part> {
        (1..=self.of).map(move |number| Part { number, ..self })
    }
}

impl FromStr for Part {
    type Err = String;

    /// Reads `slice:m/n`.
    fn from_str(text: &str) -> Result<Part, String> {
        let parts = text.strip_prefix("slice:").and_then(|part| part.split_once('/'));
        match parts.map(|(number, of)| (number.parse(), of.parse())) {
            Some((Ok(number), Ok(of))) if (1..=of).contains(&number) => Ok(Part { number, of }),
            _ => Err("it must be slice:m/n with 1 <= m <= n".to_owned()),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slice:{}/{}", self.number, self.of)
    }
}

impl Target {
    /// The target with its id and its group filled in.
    pub(crate) fn named(mut self) -> Target {
        let mut sides = self.sides.each_ref().map(|side| self.key(side));
        sides.sort();
        self.id = format!("t-{:012x}", hash(&sides));
        self.group = group_of(&self.race, self.codes());
        self
    }

    /// The target with these sides matched by their code alone: by any thread, whatever it was called
    /// by, the first time. Its name stays.
    pub(crate) fn loosened(&self, sides: [bool; 2]) -> Target {
        let mut target = self.clone();
        let loose = target.sides.iter_mut().zip(sides).filter(|(_, loose)| *loose);
        loose.for_each(|(side, _)| {
            side.only_thread = false;
            side.calls.clear();
            side.ordinal = 1;
        });
        target
    }

    /// How strong the evidence is that the two can meet.
    pub(crate) fn standing(&self) -> Standing {
        let suspects = |name: &String| {
            registry::find(name).is_some_and(|analysis| analysis.evidence == Evidence::Suspected)
        };
        match self.rank {
            Rank::Unordered => Standing::Observed,
            Rank::Predicted => Standing::Predicted,
            Rank::NoCommonLock | Rank::CommonLock if self.by.iter().any(suspects) => Standing::Suspected,
            Rank::NoCommonLock => Standing::Conflicting,
            Rank::CommonLock => Standing::Locked,
        }
    }

    /// Who nominated it, by name.
    pub(crate) fn nominators(&self) -> Vec<String> {
        if self.by.is_empty() { vec![CONFLICT.to_owned()] } else { self.by.clone() }
    }

    /// What a descriptor is in every run of one build.
    fn key(&self, side: &Side) -> String {
        let code = |code: &Code| {
            let name = self.modules.get(code.module).map_or("", |module| &module.name);
            code_text(name, code.offset)
        };
        let calls: Vec<String> = side.calls.iter().map(code).collect();
        let thread = if side.only_thread { &side.thread } else { "" };
        format!("{}\0{thread}\0{}\0{}", code(&side.code), calls.join(" "), side.ordinal)
    }

    /// The code addresses of both sides, each spelled out.
    pub(crate) fn codes(&self) -> [String; 2] {
        self.sides.each_ref().map(|side| {
            let name = self.modules.get(side.code.module).map_or("", |module| &module.name);
            code_text(name, side.code.offset)
        })
    }

    /// The descriptors as a gate file holds them; `modules` gives the number of each module of
    /// this target in the gate file. `None` if a gate file cannot hold them: a thread of too deep
    /// a path.
    pub(crate) fn descriptors(&self, modules: &[usize]) -> Option<[gatefile::Descriptor; 2]> {
        let [one, other] = &self.sides;
        Some([one.descriptor(modules)?, other.descriptor(modules)?])
    }
}

impl Side {
    fn descriptor(&self, modules: &[usize]) -> Option<gatefile::Descriptor> {
        let code =
            |code: &Code| Some(gatefile::Code { module: *modules.get(code.module)?, offset: code.offset.0 });
        let path = gatefile::path_of(&self.thread)?;
        if path.len() > MAX_PATH {
            return None;
        }
        Some(gatefile::Descriptor {
            path,
            only_thread: self.only_thread,
            code: code(&self.code)?,
            calls: self.calls.iter().take(descriptor::MAX_CALLS).map(code).collect::<Option<_>>()?,
            ordinal: self.ordinal,
        })
    }
}

/// A code address spelled out.
pub(crate) fn code_text(module: &str, offset: Hex) -> String {
    format!("{module}+{offset}")
}

/// The group of a pair of places: the race that it is told as, and both code addresses. One race
/// may have several (a line compiled to several places), and one pair of addresses several races
/// (those of a library, known by its callers).
pub(crate) fn group_of(race: &str, mut codes: [String; 2]) -> String {
    codes.sort();
    let [one, other] = codes;
    format!("g-{:012x}", hash(&[race.to_owned(), one, other]))
}

/// FNV-1a, 64 bits folded to 48.
fn hash(parts: &[String]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash >> 48 ^ hash) & 0xffff_ffff_ffff
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal; what is none ends them.
pub(crate) fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    pairs.map_while(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Writes targets, one a line.
pub(crate) fn write(targets: &[Target], out: &mut dyn Write) -> std::io::Result<()> {
    for target in targets {
        serde_json::to_writer(&mut *out, target)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes the file anew: whole, or not at all.
pub(crate) fn write_file(targets: &[Target], path: &Path) -> Result<(), Failure> {
    write_whole(path, |file| write(targets, file))
}

/// Reads a target file. `torn` says that a last line which is no target is one that a killed
/// hunt did not finish, and is left out.
pub(crate) fn read(path: &Path, torn: bool) -> Result<Vec<Target>, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
    parse(&path.display().to_string(), &bytes, torn)
}

fn parse(name: &str, bytes: &[u8], torn: bool) -> Result<Vec<Target>, Failure> {
    let mut targets = Vec::new();
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n').zip(1_u64..).peekable();
    while let Some((line, number)) = lines.next() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let unfinished = torn && lines.peek().is_none() && !line.ends_with(b"\n");
        match target_of(line) {
            Ok(target) => targets.push(target),
            Err(_) if unfinished => {}
            Err(reason) => return Err(Failure::input(format!("{name}:{number}: {reason}"))),
        }
    }
    Ok(targets)
}

fn target_of(line: &[u8]) -> Result<Target, String> {
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let Head { version } = serde_json::from_slice(line).map_err(|error| format!("no target: {error}"))?;
    if version > VERSION {
        return Err(format!("version {version} is of a later deadheat; this one reads {VERSION}"));
    }
    let target: Target = serde_json::from_slice(line).map_err(|error| format!("no target: {error}"))?;
    for side in &target.sides {
        if gatefile::path_of(&side.thread).is_none() {
            return Err(format!("`{}` is no thread", side.thread));
        }
        if std::iter::once(&side.code).chain(&side.calls).any(|code| code.module >= target.modules.len()) {
            return Err("a code address is in a module that is not listed".to_owned());
        }
    }
    Ok(target)
}

/// Whether the targets of a file are of the build that was watched; if not, which module is of
/// another.
pub(crate) fn check_build(targets: &[Target], path: &Path, modules: &Modules) -> Result<(), Failure> {
    for (target, line) in targets.iter().zip(1..) {
        for module in &target.modules {
            let mut alike = modules.iter().filter(|(_, row)| file_name(&row.path) == module.name).peekable();
            let Some(&(_, now)) = alike.peek() else { continue };
            if !alike.any(|(_, row)| hex(&row.build_id) == module.build_id) {
                return Err(Failure::input(format!(
                    "{}:{line}: the target is of another build of {}: {}, and it is now {}; nominate anew \
                     (hunt without --targets)",
                    path.display(),
                    module.name,
                    shown(&module.build_id),
                    shown(&hex(&now.build_id)),
                )));
            }
        }
    }
    Ok(())
}

fn shown(build_id: &str) -> String {
    if build_id.is_empty() { "one without a build id".to_owned() } else { format!("build id {build_id}") }
}

/// A path's last part.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A target for tests: two places of one module.
    pub(crate) fn target(race: &str, rank: Rank, places: [u64; 2], ordinal: u64) -> Target {
        let side = |offset| Side {
            thread: "main/1".into(),
            only_thread: false,
            code: Code { module: 0, offset: Hex(offset) },
            calls: Vec::new(),
            ordinal,
            op: Operation::Write,
            size: 4,
            atomic: false,
            locks: Vec::new(),
            place: String::new(),
        };
        Target {
            version: VERSION,
            id: String::new(),
            group: String::new(),
            race: race.into(),
            rank,
            by: vec![CONFLICT.into()],
            delay: None,
            modules: vec![Module { name: "program".into(), build_id: "0a0b".into() }],
            sides: places.map(side),
            location: Location::Unknown,
        }
        .named()
    }

    fn text(targets: &[Target]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(targets, &mut bytes).expect("written");
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let targets =
            [target("dh-1", Rank::Unordered, [1, 2], 1), target("dh-2", Rank::CommonLock, [3, 4], 9)];
        assert_eq!(parse("t", &text(&targets), false).expect("well formed"), targets);
    }

    #[test]
    fn ids_do_not_depend_on_the_order_of_sides_and_tell_ordinals_apart() {
        let id = |places, ordinal| target("dh-1", Rank::Unordered, places, ordinal).id;
        assert_eq!(id([1, 2], 1), id([2, 1], 1));
        assert_ne!(id([1, 2], 1), id([1, 2], 2));
        assert_ne!(id([1, 2], 1), id([1, 3], 1));
    }

    #[test]
    fn unknown_fields_are_skipped_and_faults_have_their_line() {
        let line = String::from_utf8(text(&[target("dh-1", Rank::Predicted, [1, 2], 1)])).expect("text");
        let later = line.replacen('{', "{\"later\":[1],", 1);
        assert_eq!(parse("t", later.as_bytes(), false).expect("well formed").len(), 1);
        let newer = line.replacen("\"version\":1", "\"version\":9", 1);
        for wrong in ["{", "{}", &newer, &line.replacen("main/1", "moon", 1)] {
            let text = format!("{line}\n{wrong}\n");
            let error = parse("t", text.as_bytes(), true).expect_err(wrong).to_string();
            assert!(error.starts_with("t:3: "), "{error}");
        }
    }

    #[test]
    fn who_nominated_is_kept_and_conflicts_did_where_nobody_is_named() {
        let mut target = target("dh-1", Rank::Predicted, [1, 2], 1);
        target.by = vec!["sync-reversal".into()];
        target.delay = Some(Delay { side: 1, turn: 2 });
        let line = String::from_utf8(text(std::slice::from_ref(&target))).expect("text");
        assert_eq!(parse("t", line.as_bytes(), false).expect("well formed"), [target]);
        let older = line.replacen(r#""by":["sync-reversal"],"delay":{"side":1,"turn":2},"#, "", 1);
        assert_ne!(older, line);
        let [read] = &parse("t", older.as_bytes(), false).expect("well formed")[..] else {
            panic!("{older}")
        };
        assert_eq!((read.nominators(), read.delay), (vec![CONFLICT.to_owned()], None));
    }

    #[test]
    fn a_torn_last_line_is_left_out_if_a_hunt_wrote_it() {
        let bytes =
            text(&[target("dh-1", Rank::Unordered, [1, 2], 1), target("dh-2", Rank::Unordered, [3, 4], 1)]);
        for len in bytes.len() / 2 + 2..bytes.len() - 1 {
            assert_eq!(parse("t", &bytes[..len], true).expect("mended").len(), 1);
            assert!(parse("t", &bytes[..len], false).is_err());
        }
    }

    #[test]
    fn parts_are_read_and_written() {
        assert_eq!("slice:2/3".parse(), Ok(Part { number: 2, of: 3 }));
        assert_eq!(Part { number: 2, of: 3 }.to_string(), "slice:2/3");
        for wrong in ["slice:0/3", "slice:4/3", "2/3", "slice:2", "hash:1/2", "slice:x/y"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_pair_is_in_one_part_whatever_else_was_nominated() {
        let parts: Vec<Part> = Part { number: 2, of: 3 }.all().collect();
        assert_eq!(parts.len(), 3);
        let mut sizes = [0; 3];
        for place in 0..300 {
            let in_part = |ordinal| {
                let one = target("dh-1", Rank::Unordered, [place, 1000], ordinal);
                let owners: Vec<_> = (0..3).filter(|&part| parts[part].has(&one)).collect();
                let [owner] = owners[..] else { panic!("{owners:?}") };
                owner
            };
            assert_eq!(in_part(1), in_part(2), "occasions of one pair stay together");
            sizes[in_part(1)] += 1;
        }
        assert!(sizes.iter().all(|&size| size > 60), "{sizes:?}");
        assert!(Part::WHOLE.has(&target("dh-1", Rank::Unordered, [1, 2], 1)));
    }

    #[test]
    fn build_ids_read_back() {
        assert_eq!(bytes_of(&hex(&[0, 255, 17])), [0, 255, 17]);
        assert_eq!(bytes_of("0axx"), [10]);
    }
}
