//! One race told once: ids, and what is the same.

mod common;

use std::collections::{BTreeSet, HashMap};

use common::{frame, race, reader, writer};
use deadheat_report::group::{Groups, join_findings, race_id, race_key};
use deadheat_report::model::{Access, Finding, Frame, Grade, Hex, Location, Operation, Race, Suggestion};

#[test]
fn ids_survive_what_does_not_matter() {
    let id = race_id(&writer(), &reader());
    assert_eq!(id, "dh-39bb7f9d", "an id that changes breaks what users wrote down");
    assert_eq!(race_id(&reader(), &writer()), id, "the order of the sides");
    let mut moved = writer();
    moved.thread = "main/7".to_owned();
    moved.address = Hex(1);
    moved.locks.clear();
    moved.frames.truncate(1);
    let top = &mut moved.frames[0];
    (top.line, top.function_line, top.column) = (Some(105), Some(103), None);
    (top.file, top.offset) = (Some("/elsewhere/cache.cpp".to_owned()), Some(Hex(9)));
    assert_eq!(race_id(&moved, &reader()), id, "thread, address, locks, callers, an edit above");
    let mut through = writer();
    through.frames.insert(0, frame("std::swap<int>", 1, "/usr/include/c++/12/utility", 2, 3));
    assert_eq!(race_id(&through, &reader()), id, "a library function that was not inlined before");
}

#[test]
fn ids_differ_by_what_matters() {
    let id = race_id(&writer(), &reader());
    let change = |change: &dyn Fn(&mut Access)| {
        let mut other = writer();
        change(&mut other);
        race_id(&other, &reader())
    };
    assert_ne!(change(&|a| a.frames[0].line = Some(6)), id);
    assert_ne!(change(&|a| a.frames[0].function = Some("Cache::get(int)".to_owned())), id);
    assert_ne!(change(&|a| a.op = Operation::ReadWrite), id);
    assert_ne!(change(&|a| a.atomic = true), id);
    assert_ne!(change(&|a| a.frames.clear()), id);
    assert_ne!(
        change(&|a| a.frames =
            vec![Frame { module: Some("m".to_owned()), offset: Some(Hex(1)), ..Frame::default() }]),
        id
    );
    assert_ne!(race_id(&writer(), &writer()), race_id(&reader(), &reader()));
}

#[test]
fn one_id_is_told_once() {
    let mut groups = Groups::default();
    groups.add(race());
    let mut proved = race();
    proved.grade = Grade::Proved;
    proved.by = vec!["conflict".to_owned(), "hb".to_owned()];
    let mut other = race();
    other.accesses[0].op = Operation::ReadWrite;
    groups.add(other);
    groups.add(proved);
    let races = groups.into_races();
    let told: Vec<_> = races.iter().map(|race| (race.grade, race.count, race.by.join(","))).collect();
    assert_eq!(told, [(Grade::Proved, 6, "hb,conflict".to_owned()), (Grade::Observed, 3, "hb".to_owned())]);
}

/// A race that lacks a stack, as its access is not remembered, is counted with one that has both.
#[test]
fn what_is_remembered_speaks_for_what_is_not() {
    let lacking = |change: fn(&mut Race)| {
        let mut race = race();
        let earlier = &mut race.accesses[0];
        (earlier.clock, earlier.frames, earlier.locks) = (Some(7), Vec::new(), Vec::new());
        change(&mut race);
        race
    };
    let told = |races: Vec<Race>| {
        let mut groups = Groups::default();
        races.into_iter().for_each(|race| groups.add(race));
        let races = groups.into_races();
        races.iter().map(|race| (race.accesses[0].clock, race.count)).collect::<Vec<_>>()
    };
    let same = lacking(|_| {});
    assert_eq!(told(vec![same.clone(), race()]), [(None, 6)], "the whole one comes later");
    assert_eq!(told(vec![race(), same.clone()]), [(None, 6)]);
    assert_eq!(told(vec![race(), lacking(|race| race.accesses.swap(0, 1))]), [(None, 6)]);
    assert_eq!(told(vec![same]), [(Some(7), 3)], "alone it is told");
    assert_eq!(
        told(vec![race(), lacking(|race| race.accesses[0].size = 1)]),
        [(None, 6)],
        "those bytes race"
    );
    let mut compound = race();
    compound.accesses[0].op = Operation::ReadWrite;
    assert_eq!(told(vec![compound, lacking(|race| race.accesses[0].op = Operation::Write)]), [(None, 6)]);
    for other in [
        |race: &mut Race| race.accesses[0].op = Operation::Read,
        |race: &mut Race| race.accesses[0].size = 16,
        |race: &mut Race| race.accesses[0].atomic = true,
        |race: &mut Race| race.accesses[1].frames[0].line = Some(8),
        |race: &mut Race| race.location = Location::Unknown,
        |race: &mut Race| {
            if let Location::Heap { size, .. } = &mut race.location {
                *size = 8;
            }
        },
    ] {
        assert_eq!(told(vec![race(), lacking(other)]), [(None, 3), (Some(7), 3)]);
    }
}

/// An id has 32 bits: of some ten thousand races two have the same one.
#[test]
fn two_races_whose_ids_agree_are_both_told() {
    let at = |line| {
        let mut access = writer();
        access.frames.truncate(1);
        access.frames[0].line = Some(line);
        access
    };
    let other = reader();
    let mut seen = HashMap::new();
    let agree = (1..).find_map(|line| Some((seen.insert(race_id(&at(line), &other), line)?, line)));
    let (first, second) = agree.expect("there are fewer ids than lines");
    let of = |line| Race { accesses: [at(line), other.clone()], count: 1, ..race() };
    let mut groups = Groups::default();
    [first, second, second].into_iter().for_each(|line| groups.add(of(line)));
    assert_eq!(groups.id(race_key(&at(first), &other)), race_id(&at(first), &other));
    let told: Vec<_> = groups.into_races().into_iter().map(|race| (race.id, race.count)).collect();
    let [(short, 1), (long, 2)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&**short, long.len()), (&*race_id(&at(first), &other), "dh-".len() + 16));
}

/// Functions of one name are many: those of one file alone, and what is written without a name.
#[test]
fn races_in_functions_of_one_name_are_told_apart() {
    let at = |file: &str, line: u32, function_line: u32| {
        let mut access = writer();
        access.frames.truncate(1);
        let frame = &mut access.frames[0];
        (frame.file, frame.line) = (Some(file.to_owned()), Some(line));
        frame.function_line = Some(function_line);
        access
    };
    let other = reader();
    let places =
        [at("src/a.c", 12, 10), at("src/b.c", 12, 10), at("src/a.c", 22, 20), at("./src/../src/a.c", 12, 10)];
    let ids: BTreeSet<_> = places.iter().map(|place| race_id(place, &other)).collect();
    assert_eq!(ids.len(), 1, "their shape is the same");
    let mut groups = Groups::default();
    for place in &places {
        groups.add(Race { accesses: [place.clone(), other.clone()], count: 1, ..race() });
    }
    let told: Vec<_> = groups.into_races().into_iter().map(|race| (race.id, race.count)).collect();
    let distinct: BTreeSet<_> = told.iter().map(|(id, _)| id).collect();
    let counts: Vec<_> = told.iter().map(|&(_, count)| count).collect();
    assert_eq!((counts, distinct.len(), ids.contains(&told[0].0)), (vec![2, 1, 1], 3, true));
}

/// The suggestion outlives the meeting with stronger evidence.
/// A macro or a function that is given this variable, then that one, has one race in each of its lines: what else it is on is told with it.
#[test]
fn what_else_the_same_places_race_on_is_told() {
    let on = |symbol: &str, offset| Location::Global {
        symbol: symbol.to_owned(),
        part: String::new(),
        offset,
        size: 8,
        module: "m".to_owned(),
    };
    let mut groups = Groups::default();
    for location in [on("a", 0), on("a", 4), on("b", 0), Location::Unknown, on("b", 4), on("c", 0)] {
        groups.add(Race { location, ..race() });
    }
    // A stronger grade takes its place.
    groups.add(Race { grade: Grade::Proved, location: on("d", 0), ..race() });
    let [told] = &groups.into_races()[..] else { panic!("one race") };
    let mut also = told.also.clone();
    also.sort_by_key(|location| format!("{location:?}"));
    assert_eq!((&told.location, &also[..]), (&on("d", 0), &[on("a", 0), on("b", 0), on("c", 0)][..]));
}

#[test]
fn a_suggestion_stays_with_its_race() {
    let suggestion = Some(Suggestion { lock: "m".to_owned(), ..Suggestion::default() });
    let mut groups = Groups::default();
    groups.add(Race { grade: Grade::Suspected, suggestion: suggestion.clone(), ..race() });
    groups.add(race());
    let races = groups.into_races();
    assert_eq!((races.len(), races[0].grade, &races[0].suggestion), (1, Grade::Observed, &suggestion));
}

#[test]
fn findings_in_the_same_places_are_one() {
    let leak = |line| Finding {
        kind: "thread-leak".to_owned(),
        count: 1,
        frames: vec![frame("start", 1, "a.c", line, 2)],
        ..Finding::default()
    };
    let joined = join_findings(vec![leak(3), leak(4), leak(3), leak(3)]);
    let counts: Vec<_> = joined.iter().map(|finding| (finding.frames[0].line, finding.count)).collect();
    assert_eq!(counts, [(Some(3), 3), (Some(4), 1)]);
    let steered = Finding { schedule: Some(serde_json::json!({"run": 1})), ..leak(3) };
    assert_eq!(join_findings(vec![steered.clone(), steered]).len(), 2, "each run has its own schedule");
}
