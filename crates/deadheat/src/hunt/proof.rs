//! From the gate's bare addresses to a race that is told: both accesses as they stood when they
//! met, what happened around it, and what a replay needs.
//!
//! Invariant: what is told of an access is what the gate saw in the run that proved it. The
//! watched run only lends names: those of threads, of blocks, and of locks at equal addresses.

use std::collections::HashMap;
use std::path::Path;

use deadheat_core::access::{Access as CoreAccess, Mode};
use deadheat_core::event::LockMode;
use deadheat_core::gate::{self, flag, note};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSetId, Race as CoreRace, Side as CoreSide};
use deadheat_report::group::{key_frame, race_id};
use deadheat_report::model::{Access, Grade, Hex, Location, Race};
use deadheat_symbol::Symbolizer;
use deadheat_trace::Tables;
use deadheat_trace::tables::ModuleId;
use serde_json::{Value, json};

use super::gatefile::{self, path_text};
use super::nominate::place_text;
use super::nominators::CONFLICT;
use super::outcome::{Found, Loaded, Note, Outcome};
use super::targets::{Module, Rank, Target, bytes_of, code_text, file_name, group_of, hex};
use super::turns::{Moments, Order};
use crate::tell::collect::{Held, Kept};
use crate::tell::resolve::Resolver;

/// How many notes are told of a meeting.
const MOST_NOTES: usize = 24;

/// A thread that the watched run did not have.
const NOBODY: ThreadId = ThreadId(u32::MAX);

/// Tells what runs proved, in the names of the watched run.
pub(crate) struct Teller {
    tables: Tables,
    symbolizer: Option<Symbolizer>,
    folder: std::path::PathBuf,
    threads: HashMap<String, ThreadId>,
    /// The modules that gate files name: those of the tables in their order, then further ones.
    modules: Vec<Module>,
}

/// One meeting in a run.
pub(crate) struct Meeting<'a> {
    /// The number of the run.
    pub(crate) run: u64,
    /// The flags of its gate file.
    pub(crate) flags: u64,
    /// What came of the run.
    pub(crate) outcome: &'a Outcome,
    /// The targets that were armed in it, in the order of the gate file.
    pub(crate) armed: &'a [Target],
    /// Which of them met; `None` if a sample was held.
    pub(crate) target: Option<usize>,
    /// Its bound in milliseconds.
    pub(crate) bound_ms: f64,
    /// The side that was held, if the watch rule saw the other.
    pub(crate) held: Option<usize>,
    /// How many turns were over when one side was held and when they met.
    pub(crate) moments: Moments,
    /// The two accesses.
    pub(crate) found: [&'a Found; 2],
}

impl Teller {
    /// Tells in the names of these tables. Files under `folder` are named relative to it.
    pub(crate) fn new(tables: Tables, symbolizer: Symbolizer, folder: &Path) -> Teller {
        let rows = tables.threads.iter().map(|(id, _)| (tables.threads.path(id), id));
        let threads = rows.collect();
        let modules = tables
            .modules
            .iter()
            .map(|(_, row)| Module { name: file_name(&row.path).to_owned(), build_id: hex(&row.build_id) })
            .collect();
        Teller { tables, symbolizer: Some(symbolizer), folder: folder.to_owned(), threads, modules }
    }

    /// The symbolizer, to be given back.
    pub(crate) fn symbolizer(&mut self) -> &mut Option<Symbolizer> {
        &mut self.symbolizer
    }

    /// The number that gate files give to each module of a target.
    pub(crate) fn numbers(&mut self, target: &Target) -> Vec<usize> {
        let mut number = |module: &Module| {
            self.modules.iter().position(|other| other == module).unwrap_or_else(|| {
                self.modules.push(module.clone());
                self.modules.len() - 1
            })
        };
        target.modules.iter().map(&mut number).collect()
    }

    /// The modules that gate files name.
    pub(crate) fn modules(&self) -> Vec<gatefile::Module> {
        let row = |module: &Module| gatefile::Module {
            name: module.name.clone(),
            build_id: bytes_of(&module.build_id),
        };
        self.modules.iter().map(row).collect()
    }

    /// The race that a meeting proves.
    pub(crate) fn race(&mut self, meeting: &Meeting<'_>) -> Race {
        let target = meeting.target.map(|number| &meeting.armed[number]);
        let kept = self.kept(meeting);
        let places = self.noted_places(meeting);
        let mut resolver = self.resolver();
        let mut race = resolver.race(&kept);
        let told: Vec<String> = places
            .iter()
            .map(|&place| {
                let frame = resolver.key(place, StackId::EMPTY);
                frame.map_or("?".to_owned(), |frame| place_text(&frame))
            })
            .collect();
        let symbolizer = resolver.into_symbolizer();
        self.symbolizer = Some(symbolizer);
        for (access, found) in race.accesses.iter_mut().zip(meeting.found) {
            access.thread = path_text(&found.path);
            if let Some(target) = target {
                name_locks(access, found, target);
            }
        }
        race.threads.retain(|thread| self.threads.contains_key(&thread.thread));
        if let Some(target) = target
            && (matches!(race.location, Location::Unknown)
                || !matches!(target.location, Location::Global { .. }))
        {
            race.location = target.location.clone();
        }
        race.grade = Grade::Proved;
        race.id = race_id(&race.accesses[0], &race.accesses[1]);
        let target = target.filter(|target| race.id == target.race);
        race.by = target.map_or(vec![CONFLICT.to_owned()], Target::nominators);
        if target.is_some_and(|target| target.rank == Rank::Unordered) {
            race.by.push("hb".to_owned());
        }
        race.witness = Some(self.witness(meeting, &race, &told));
        race
    }

    /// The group that a meeting proves.
    fn group(&self, meeting: &Meeting<'_>, race: &str) -> Option<String> {
        let code = |found: &Found| {
            let code = meeting.outcome.locate(found.pc)?;
            Some(code_text(&self.modules.get(code.module)?.name, Hex(code.offset)))
        };
        let [one, other] = meeting.found;
        Some(group_of(race, [code(one)?, code(other)?]))
    }

    /// What was held and what came of it, for a run in which something else went wrong.
    pub(crate) fn story(&mut self, meeting: &Meeting<'_>) -> Vec<String> {
        let places = self.noted_places(meeting);
        let mut resolver = self.resolver();
        let told: Vec<String> = places
            .iter()
            .map(|&place| {
                resolver.key(place, StackId::EMPTY).map_or("?".to_owned(), |frame| place_text(&frame))
            })
            .collect();
        let symbolizer = resolver.into_symbolizer();
        self.symbolizer = Some(symbolizer);
        sentences(meeting, &told)
    }

    fn resolver(&mut self) -> Resolver<'_> {
        let symbolizer = self.symbolizer.take().unwrap_or_default();
        Resolver::with(symbolizer, &self.tables, &self.folder)
    }

    /// The meeting in the numbers of the tables.
    fn kept(&mut self, meeting: &Meeting<'_>) -> Kept {
        let [earlier, later] = meeting.found.map(|found| self.side(meeting.outcome, found));
        let address = earlier.access.address.max(later.access.address);
        let locks = meeting.found.map(|found| {
            let lock = |&lock: &u64| Held {
                lock: self.in_watched_run(meeting.outcome, lock),
                mode: LockMode::Write,
                block: None,
            };
            found.locks.iter().map(lock).collect()
        });
        let race = CoreRace { earlier, later, address, block: None };
        Kept { race, locks, forgotten: [None; 2], count: 1, order: None, witness: None }
    }

    fn side(&mut self, outcome: &Outcome, found: &Found) -> CoreSide {
        let place = self.place(outcome, found.pc);
        let mut stack = StackId::EMPTY;
        for &call in found.calls.iter().rev() {
            let place = self.place(outcome, call);
            stack = self.tables.stacks.push(stack, place);
        }
        let access = CoreAccess {
            address: self.in_watched_run(outcome, found.address),
            size: found.length,
            mode: if found.would_fail { Mode::Read } else { found.mode },
            atomic: found.atomic,
            via: found.via,
        };
        let thread = self.threads.get(&path_text(&found.path)).copied().unwrap_or(NOBODY);
        CoreSide { thread, place, stack, access, locks: LockSetId::default() }
    }

    fn place(&mut self, outcome: &Outcome, pc: u64) -> PlaceId {
        let known = self.tables.modules.iter().count();
        match outcome.locate(pc) {
            Some(code) if code.module < known => {
                self.tables.places.code(ModuleId(code.module as u32), code.offset)
            }
            _ => PlaceId::UNKNOWN,
        }
    }

    /// Where the watched run had what lies at an address of this run, if that is in a module.
    fn in_watched_run(&self, outcome: &Outcome, address: u64) -> u64 {
        let lies = outcome
            .modules
            .iter()
            .position(|state| state.loaded == Loaded::Yes && (state.start..state.end).contains(&address));
        let Some(module) = lies else { return address };
        let load = self.tables.modules.loads().iter().rfind(|load| load.module.0 as usize == module);
        match load {
            Some(load) => address.wrapping_sub(outcome.modules[module].bias).wrapping_add(load.bias),
            None => address,
        }
    }

    /// The places of the notes that [`told_notes`] gives.
    fn noted_places(&mut self, meeting: &Meeting<'_>) -> Vec<PlaceId> {
        told_notes(meeting).iter().map(|note| self.place(meeting.outcome, note.pc)).collect()
    }

    /// What a replay needs, and what happened around the meeting.
    fn witness(&self, meeting: &Meeting<'_>, race: &Race, places: &[String]) -> Value {
        let flags = [
            (flag::CUT, "cut"),
            (flag::WATCH, "watch"),
            (flag::ANYBODY, "anybody"),
            (flag::PLACES, "places"),
            (flag::PARTS, "parts"),
        ];
        let flags: Vec<&str> =
            flags.iter().filter(|(bit, _)| meeting.flags & bit != 0).map(|(_, name)| *name).collect();
        let accesses = meeting.found.map(|found| {
            let code = meeting.outcome.locate(found.pc);
            let module = code.and_then(|code| self.modules.get(code.module));
            json!({
                "thread": path_text(&found.path),
                "module": module,
                "offset": code.map(|code| format!("{:#x}", code.offset)),
                "ms": milliseconds(found.time),
            })
        });
        let first = match (meeting.held, meeting.target) {
            (Some(side), _) => side,
            (None, Some(number)) => meeting.outcome.targets[number].first,
            (None, None) => 0,
        };
        let order = Order::until(meeting.outcome, meeting.moments, first);
        json!({
            "kind": if meeting.target.is_some() { "meeting" } else { "sample" },
            "version": 1,
            "run": meeting.run,
            "rule": if meeting.held.is_some() { "watch" } else { "descriptors" },
            "target": meeting.target.map(|number| &meeting.armed[number]),
            "held": meeting.held,
            "bound_ms": meeting.bound_ms,
            "flags": flags,
            "order": order.map(|order| order.to_json()),
            "accesses": accesses,
            "race": race.id,
            "group": self.group(meeting, &race.id),
            "story": sentences(meeting, places),
        })
    }
}

/// A time in milliseconds, to the microsecond.
pub(crate) fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// Gives locks that the watched run's side held at the same address the name that it had there.
fn name_locks(access: &mut Access, found: &Found, target: &Target) {
    for (lock, address) in access.locks.iter_mut().zip(&found.locks) {
        let mut held = target.sides.iter().flat_map(|side| &side.locks);
        if let Some(known) = held.find(|held| held.address.0 == *address)
            && lock.id == "unknown"
        {
            (lock.name, lock.id) = (known.name.clone(), known.id.clone());
        }
    }
}

/// The notes about the target that met, and those about others close before.
fn told_notes(meeting: &Meeting<'_>) -> Vec<Note> {
    let number = meeting.target.unwrap_or(gate::NO_TARGET as usize);
    let own = |note: &&Note| note.target == number && note.what != note::STEP;
    let notes: Vec<Note> = meeting.outcome.notes.iter().filter(own).copied().collect();
    notes[notes.len().saturating_sub(MOST_NOTES)..].to_vec()
}

/// The notes as sentences.
fn sentences(meeting: &Meeting<'_>, places: &[String]) -> Vec<String> {
    let known = known_threads(meeting.outcome);
    let notes = told_notes(meeting);
    let mut told = Vec::new();
    for (note, place) in notes.iter().zip(places) {
        let who = known.get(&note.kernel_id).cloned();
        let who = who.unwrap_or_else(|| format!("thread {}", note.kernel_id));
        let what = match note.what {
            note::HELD => format!("`{who}` is held before {place}"),
            note::MET => format!("`{who}` comes to {place}: both stand before their accesses"),
            note::FREED_BY_MEETING => format!("`{who}` goes on: they have met"),
            note::FREED_BY_TIME => format!("`{who}` goes on: its time is over"),
            note::FREED_BY_QUIET => format!("`{who}` goes on: nobody who could come is left running"),
            note::FREED_BY_MOVE => format!("`{who}` goes on: the other came, to other memory"),
            note::NOT_HELD => format!("`{who}` comes to {place} and cannot be held"),
            note::SEEN => format!("`{who}` accesses the same memory at {place} while the other is held"),
            _ => continue,
        };
        told.push(format!("{:.3} ms: {what}", milliseconds(note.time)));
    }
    told
}

/// Paths of the threads whose accesses the gate kept, by the kernel's numbers.
fn known_threads(outcome: &Outcome) -> HashMap<u32, String> {
    let found = outcome.targets.iter().flat_map(|target| target.found.iter().flatten());
    let found = found.chain(outcome.finds.iter().flat_map(|find| &find.found));
    found.map(|found| (found.kernel_id, path_text(&found.path))).collect()
}

/// The flags of a run that provokes: with the stacks of what meets. One that is watched goes on to
/// its end, and turns the order of what meets: what the program does then may be new.
pub(crate) fn flags(anybody: bool, watched: bool) -> u64 {
    let set = |wanted: bool, flag: u64| if wanted { flag } else { 0 };
    flag::WATCH
        | flag::CALLS
        | set(!watched, flag::CUT)
        | set(watched, flag::TURNED)
        | set(anybody, flag::ANYBODY)
}

/// Where an access was, for people.
pub(crate) fn where_was(access: &Access) -> String {
    key_frame(&access.frames).map_or("?".to_owned(), place_text)
}

const _: () = assert!(MOST_NOTES > 0 && gate::MAX_TARGETS <= 256);
