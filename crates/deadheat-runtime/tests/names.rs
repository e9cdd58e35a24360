//! Who a `pthread_t` names, however creators, children and joiners follow each other, and the table that holds it against a map.

#![allow(dead_code, reason = "the included file serves more than these tests")]

mod sys {
    //! Stands in for the runtime's `sys`.

    pub(crate) mod c {
        pub(crate) type Pthread = usize;
    }

    use std::alloc::{Layout, alloc_zeroed};

    pub(crate) fn map_anonymous(size: usize) -> Result<*mut u8, ()> {
        let pages = Layout::from_size_align(size, 4096).expect("a size of pages");
        // SAFETY: the size is not zero.
        Ok(unsafe { alloc_zeroed(pages) })
    }

    pub(crate) unsafe fn forget_pages(memory: *mut u8, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { memory.write_bytes(0, size) };
    }
}

#[path = "../src/cold/names.rs"]
mod names;

use std::collections::{BTreeMap, BTreeSet};

use names::Names;

/// Numbers that look random, the same ones for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Where a creator is that makes one thread after the other and joins each.
#[derive(Clone, Copy)]
enum Creator {
    /// About to say that a thread comes.
    Begins,
    /// It said so.
    Announced { id: u32 },
    /// The C library has made the thread.
    Made { id: u32, name: usize },
    /// It has said so.
    Said { id: u32, name: usize },
    /// It has asked whom it will wait for.
    Waits { id: u32, name: usize },
    /// The wait is over: the name is free.
    Waited { id: u32, name: usize },
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq)]
enum Child {
    Made,
    Begun,
    Ended,
}

/// The C library: it gives the name that became free last.
#[derive(Default)]
struct Library {
    free: Vec<usize>,
    made: usize,
}

impl Library {
    fn name(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            0x7f00_0000_0000 + (self.made << 16)
        })
    }
}

/// Everything at a moment of a run.
struct Run {
    names: Names,
    library: Library,
    children: BTreeMap<u32, (usize, Child)>,
    next: u32,
    /// How often a name was free for another while its joiner had not said so yet, and taken by an older thread.
    crossed: usize,
}

impl Run {
    fn step_of_creator(&mut self, creator: Creator) -> Creator {
        match creator {
            Creator::Begins => {
                self.next += 1;
                self.names.comes(self.next);
                Creator::Announced { id: self.next }
            }
            Creator::Announced { id } => {
                let name = self.library.name();
                self.children.insert(id, (name, Child::Made));
                self.crossed += usize::from(self.names.id_of(name).is_some_and(|other| other > id));
                Creator::Made { id, name }
            }
            Creator::Made { id, name } => {
                self.names.created(id, name, true);
                Creator::Said { id, name }
            }
            Creator::Said { id, name } => {
                assert_eq!(self.names.id_of(name), Some(id), "before the wait for thread {id}");
                Creator::Waits { id, name }
            }
            Creator::Waits { id, name } if self.children[&id].1 == Child::Ended => {
                assert_eq!(
                    self.names.next_leak(0).map(|_| ()),
                    Some(()),
                    "thread {id} has ended and is not joined"
                );
                self.library.free.push(name);
                self.children.remove(&id);
                Creator::Waited { id, name }
            }
            Creator::Waited { id, name } => {
                self.names.joined(id, name);
                Creator::Begins
            }
            Creator::Waits { .. } => creator,
        }
    }

    fn step_of_child(&mut self, id: u32) {
        let (name, state) = self.children[&id];
        let next = match state {
            Child::Made => {
                self.names.begun(id, name);
                Child::Begun
            }
            Child::Begun => {
                assert_eq!(self.names.id_of(name), Some(id), "in thread {id} itself");
                self.names.ended(id, name);
                Child::Ended
            }
            Child::Ended => return,
        };
        self.children.insert(id, (name, next));
    }
}

#[test]
fn whoever_waits_for_a_thread_finds_its_number_in_any_order_of_steps() {
    const CREATORS: usize = 4;
    let mut crossed = 0;
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut run = Run {
            names: Names::new(),
            library: Library::default(),
            children: BTreeMap::new(),
            next: 0,
            crossed: 0,
        };
        let mut creators = [Creator::Begins; CREATORS];
        for _ in 0..5_000 {
            let who = random.below(2 * CREATORS);
            if let Some(creator) = creators.get_mut(who) {
                *creator = run.step_of_creator(*creator);
            } else if !run.children.is_empty() {
                let child = random.below(run.children.len());
                let id = *run.children.keys().nth(child).expect("as many as that");
                run.step_of_child(id);
            }
        }
        crossed += run.crossed;
    }
    assert!(crossed > 100, "the older of two threads took the other's name {crossed} times");
}

#[test]
fn a_creator_that_comes_late_changes_nothing() {
    const NAME: usize = 0x7f00_0000;
    let mut names = Names::new();
    names.comes(1);
    names.begun(1, NAME);
    names.ended(1, NAME);
    // Somebody else joined it, and its name is another's.
    names.joined(1, NAME);
    names.comes(2);
    names.created(2, NAME, false);
    names.created(1, NAME, true);
    assert_eq!(names.id_of(NAME), Some(2));
    assert_eq!(names.next_leak(0), None);
}

#[test]
fn a_thread_that_detached_itself_stays_detached_when_its_creator_comes() {
    const NAME: usize = 0x7f00_0000;
    for ends_first in [false, true] {
        let mut names = Names::new();
        names.comes(1);
        names.begun(1, NAME);
        assert_eq!(names.detached(NAME), None);
        if ends_first {
            assert!(names.ended(1, NAME), "nobody can join it");
        }
        assert!(!names.created(1, NAME, true), "its end was heard");
        assert_eq!(names.next_leak(0), None);
        if !ends_first {
            assert!(names.ended(1, NAME), "nobody can join it");
        }
        assert_eq!(names.next_leak(0), None);
    }
}

#[test]
fn whoever_says_last_that_nobody_joins_an_ended_thread_is_told() {
    const NAME: usize = 0x7f00_0000;
    let mut names = Names::new();
    names.comes(1);
    names.begun(1, NAME);
    assert!(!names.ended(1, NAME), "somebody may join it");
    assert!(names.created(1, NAME, false));
    names.comes(2);
    names.begun(2, NAME);
    names.ended(2, NAME);
    assert!(!names.created(2, NAME, true));
    assert_eq!(names.detached(NAME), Some(2));
}

#[test]
fn the_table_is_a_map() {
    // Some of these begin their search at the same place, some at the last one.
    let keys: Vec<usize> = (0..400_000).map(|n| 0x7f00_0000_0000 + (n << 6)).collect();
    let mut random = Random(7);
    let few: Vec<usize> = (0..200).map(|_| keys[random.below(keys.len())]).collect();
    let (mut names, mut map) = (Names::new(), BTreeMap::new());
    for turn in 0..20_000 {
        let name = few[random.below(few.len())];
        match (random.below(2), map.get(&name)) {
            (0, Some(&id)) => {
                names.joined(id, name);
                map.remove(&name);
            }
            _ => {
                names.begun(turn, name);
                map.insert(name, turn);
            }
        }
        names.joined(turn + 1, name);
        assert_eq!(names.id_of(name), map.get(&name).copied());
    }
    for name in few {
        assert_eq!(names.id_of(name), map.get(&name).copied());
    }
    names.clear();
    assert_eq!(map.keys().find(|&&name| names.id_of(name).is_some()), None);
}

#[test]
fn entries_that_stood_in_a_row_are_found_when_one_goes() {
    // More threads than places between homes: long rows, also over the table's end.
    const THREADS: u32 = 60_000;
    let name = |id: u32| 0x7f00_0000_0000 + (id as usize) * 0x2340;
    let mut names = Names::new();
    (1..=THREADS).for_each(|id| names.begun(id, name(id)));
    let gone: BTreeSet<u32> = (1..=THREADS).filter(|id| id % 3 != 0).collect();
    gone.iter().for_each(|&id| names.joined(id, name(id)));
    for id in 1..=THREADS {
        let expected = (!gone.contains(&id)).then_some(id);
        assert_eq!(names.id_of(name(id)), expected);
    }
}
