//! Which thread a `pthread_t` names.
//!
//! A name is free for another thread as soon as the wait of whoever joins its thread is over, and before that is noted here. So a thread that begins says
//! itself whose its name is, whatever was known; its creator, who may say it first or long after the thread has been joined, is heard only as
//! long as the thread has not begun. Model: a map, held against one by a test that runs creators and joiners in any order.

use core::ptr::null_mut;

use crate::sys::c::Pthread;
use crate::sys::{forget_pages, map_anonymous};

/// What is known of each thread that is about to begin, or has begun and was neither joined nor succeeded by another of its name.
pub(crate) struct Names(*mut [Entry; ENTRIES]);

#[derive(Clone, Copy)]
struct Entry {
    /// A `pthread_t`, or [`coming`]; 0: none.
    key: usize,
    id: u32,
    /// Somebody has to join it.
    joinable: bool,
    /// Nobody can join it.
    detached: bool,
    /// Its last function has returned.
    ended: bool,
}

const NONE: Entry = Entry { key: 0, id: 0, joinable: false, detached: false, ended: false };

/// Concurrent threads that can be told apart; the kernel's default limit is half of it.
const ENTRIES: usize = 1 << 16;

/// The key of a thread that is about to begin: no `pthread_t`, which is an address.
const fn coming(id: u32) -> usize {
    (id as usize) << 1 | 1
}

/// Where a key is if nothing else is there. Threads that are about to begin are few at a time, and near each other.
const fn home(key: usize) -> usize {
    const COMING: usize = 256;
    if key % 2 == 1 { key / 2 % COMING } else { (key >> 6).wrapping_mul(0x9e37_79b9) % ENTRIES }
}

impl Names {
    /// Nothing is known.
    pub(crate) const fn new() -> Names {
        Names(null_mut())
    }

    /// A thread is about to be created.
    pub(crate) fn comes(&mut self, id: u32) {
        self.put(Entry { key: coming(id), id, ..NONE });
    }

    /// It was not created.
    pub(crate) fn failed(&mut self, id: u32) {
        self.remove(coming(id), id);
    }

    /// It was created, and has this name unless it has ended since then; `joinable`: somebody has to join it, unless it was detached
    /// since then. Gives whether that is the first to say that nobody has to, and its last function has returned already.
    pub(crate) fn created(&mut self, id: u32, name: Pthread, joinable: bool) -> bool {
        if self.find(coming(id)).is_some() {
            self.put(Entry { key: name, id, ..NONE });
        }
        let mut newly = false;
        let entry = self.note(name, id, |entry| {
            // It may have been detached before, as by itself, and that was heard.
            newly = !joinable && !entry.detached;
            entry.detached |= !joinable;
            entry.joinable = !entry.detached;
        });
        newly && entry.is_some_and(|entry| entry.ended)
    }

    /// The calling thread begins, and has this name.
    pub(crate) fn begun(&mut self, id: u32, name: Pthread) {
        self.remove(coming(id), id);
        if self.id_of(name) != Some(id) {
            self.put(Entry { key: name, id, ..NONE });
        }
    }

    /// The last function of a thread has returned. Gives whether nobody can join it.
    pub(crate) fn ended(&mut self, id: u32, name: Pthread) -> bool {
        self.note(name, id, |entry| entry.ended = true).is_some_and(|entry| entry.detached)
    }

    /// Nobody has to join the thread of this name any more. Gives its number if its last function has returned already.
    pub(crate) fn detached(&mut self, name: Pthread) -> Option<u32> {
        let id = self.id_of(name)?;
        let entry = self.note(name, id, |entry| (entry.joinable, entry.detached) = (false, true))?;
        entry.ended.then_some(id)
    }

    /// A thread was joined.
    pub(crate) fn joined(&mut self, id: u32, name: Pthread) {
        self.remove(name, id);
    }

    /// The number of the thread that has this name.
    pub(crate) fn id_of(&self, name: Pthread) -> Option<u32> {
        Some(self.entries()?[self.find(name)?].id)
    }

    /// The first place from `from` on of a thread that has ended and that somebody should have joined or detached, and its number.
    pub(crate) fn next_leak(&self, from: usize) -> Option<(usize, u32)> {
        let mut rest = self.entries()?[from..].iter().enumerate();
        let (at, entry) = rest.find(|(_, entry)| entry.joinable && entry.ended)?;
        Some((from + at, entry.id))
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        if !self.0.is_null() {
            // SAFETY: this table's memory alone, of which zeros are as good as before.
            unsafe { forget_pages(self.0.cast(), size_of::<[Entry; ENTRIES]>()) };
        }
    }

    fn entries(&self) -> Option<&[Entry; ENTRIES]> {
        // SAFETY: null, or this table's memory alone, which stays mapped; zeros are an entry.
        unsafe { self.0.as_ref() }
    }

    fn entries_mut(&mut self) -> Option<&mut [Entry; ENTRIES]> {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }

    fn find(&self, key: usize) -> Option<usize> {
        let entries = self.entries()?;
        let from = home(key);
        let places = (from..ENTRIES).chain(0..from);
        places.take_while(|&at| entries[at].key != 0).find(|&at| entries[at].key == key)
    }

    /// Takes the place of what has the same key. More threads than there are entries are not known.
    fn put(&mut self, new: Entry) {
        if self.0.is_null() {
            let Ok(memory) = map_anonymous(size_of::<[Entry; ENTRIES]>()) else { return };
            self.0 = memory.cast();
        }
        let Some(entries) = self.entries_mut() else { return };
        let from = home(new.key);
        let mut places = (from..ENTRIES).chain(0..from);
        if let Some(at) = places.find(|&at| entries[at].key == 0 || entries[at].key == new.key) {
            entries[at] = new;
        }
    }

    /// Changes a thread's entry, if it is there, and gives what it is then.
    fn note(&mut self, key: usize, id: u32, change: impl FnOnce(&mut Entry)) -> Option<Entry> {
        let at = self.find(key)?;
        let entry = self.entries_mut()?.get_mut(at).filter(|entry| entry.id == id)?;
        change(entry);
        Some(*entry)
    }

    /// Takes an entry out, unless it is another thread's. Those behind it that would have been in its place move up.
    fn remove(&mut self, key: usize, id: u32) {
        let Some(mut free) = self.find(key) else { return };
        let Some(entries) = self.entries_mut().filter(|entries| entries[free].id == id) else { return };
        entries[free] = NONE;
        let mut at = free;
        for _ in 1..ENTRIES {
            at = (at + 1) % ENTRIES;
            if entries[at].key == 0 {
                return;
            }
            let from_home = |to: usize| to.wrapping_sub(home(entries[at].key)) % ENTRIES;
            if from_home(free) < from_home(at) {
                entries[free] = core::mem::replace(&mut entries[at], NONE);
                free = at;
            }
        }
    }
}
