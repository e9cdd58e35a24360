//! Names of addresses, and the interner under all tables of strings.

use std::collections::BTreeMap;

use deadheat_core::wire::{LOCK_BASE, VARIABLE_BASE};

use crate::hash;

/// Strings, each stored once, numbered from 0 in the order of their first use.
///
/// An open table beside one arena of bytes. An entry holds a string of up to eight bytes whole,
/// so that most look-ups touch one cache line.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// All strings, one behind the other.
    arena: Vec<u8>,
    /// Where each string ends in the arena.
    ends: Vec<usize>,
    table: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Number + 1; 0 if the entry is free.
    number: u32,
    len: u32,
    /// The string's bytes, or if they are more than eight its hash.
    start: u64,
}

/// A name of one to eight bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short {
    bits: u64,
    len: usize,
}

impl Short {
    /// The first `len` bytes of `bits`; `len` is 1 to 8.
    #[inline(always)]
    pub(crate) fn new(bits: u64, len: usize) -> Short {
        Short { bits: bits << (8 * (8 - len)) >> (8 * (8 - len)), len }
    }

    /// The name.
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.bits.to_le_bytes()[..self.len].to_vec()
    }
}

/// What a table is searched for: the bytes if they are few, else their hash.
#[inline(always)]
fn start_of(name: &[u8]) -> u64 {
    match *name {
        [] => 0,
        [a] => u64::from(a),
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        _ if name.len() <= 8 => {
            let four =
                |at: usize| name[at..].first_chunk().map_or(0, |four| u64::from(u32::from_le_bytes(*four)));
            let last = name.len() - 4;
            four(0) | four(last) << (8 * last)
        }
        _ => hash::of_bytes(name),
    }
}

impl Interner {
    /// The string's number.
    #[inline]
    pub(crate) fn intern(&mut self, name: &[u8]) -> u32 {
        if self.ends.len() * 4 >= self.table.len() * 3 {
            self.grow();
        }
        let start = start_of(name);
        match self.probe(name, start) {
            Ok(number) => number,
            Err(at) => self.insert(name, start, at),
        }
    }

    /// The name's number, if it has one.
    #[inline(always)]
    fn look(&self, name: Short) -> Option<u32> {
        let mask = self.table.len().wrapping_sub(1);
        let mut at = hash::fold(name.bits, name.len as u64) as usize;
        loop {
            let entry = self.table.get(at & mask)?;
            if entry.start == name.bits && entry.len == name.len as u32 {
                return Some(entry.number - 1);
            }
            if entry.number == 0 {
                return None;
            }
            at += 1;
        }
    }

    #[cold]
    fn insert(&mut self, name: &[u8], start: u64, at: usize) -> u32 {
        let number = self.ends.len() as u32;
        self.arena.extend_from_slice(name);
        self.ends.push(self.arena.len());
        self.table[at] = Entry { number: number + 1, len: name.len() as u32, start };
        number
    }

    /// The string's number, if it has one.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        self.probe(name, start_of(name)).ok()
    }

    /// The string's number, or the free entry where it belongs.
    #[inline]
    fn probe(&self, name: &[u8], start: u64) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut at = hash::fold(start, name.len() as u64) as usize & mask;
        loop {
            let entry = &self.table[at];
            if entry.number == 0 {
                return Err(at);
            }
            let number = entry.number - 1;
            let alike = entry.start == start && entry.len == name.len() as u32;
            if alike && (name.len() <= 8 || self.get(number) == name) {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// The string of that number; empty if there is none.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends.get(number - 1).copied().unwrap_or(0) };
        self.ends.get(number).map_or(&[], |&end| &self.arena[start..end])
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(64);
        let old = std::mem::replace(&mut self.table, vec![Entry::default(); size]);
        for entry in old.into_iter().filter(|entry| entry.number != 0) {
            let mut at = hash::fold(entry.start, u64::from(entry.len)) as usize & (size - 1);
            while self.table[at].number != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = entry;
        }
    }
}

/// Names of addresses: variables and locks of imported traces.
#[derive(Debug, Default)]
pub struct Names {
    /// Variable k has the address [`VARIABLE_BASE`] + 8 k.
    variables: Interner,
    /// Lock k has the address [`LOCK_BASE`] + 8 k.
    locks: Interner,
    /// Names of any other addresses.
    others: BTreeMap<u64, Box<[u8]>>,
}

const STEP: u64 = 8;

impl Names {
    /// The address's name, if it has one (and that is UTF-8).
    #[must_use]
    pub fn get(&self, address: u64) -> Option<&str> {
        str::from_utf8(self.bytes(address)?).ok()
    }

    /// All named addresses: variables, locks, others.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        let addresses = |base: u64, count: usize| (0..count as u64).map(move |k| base + STEP * k);
        addresses(VARIABLE_BASE, self.variables.len())
            .chain(addresses(LOCK_BASE, self.locks.len()))
            .chain(self.others.keys().copied())
            .filter_map(|address| Some((address, self.get(address)?)))
    }

    fn bytes(&self, address: u64) -> Option<&[u8]> {
        let (base, names) = self.range_of(address);
        let offset = address.wrapping_sub(base);
        if offset % STEP == 0 && offset / STEP < names.len() as u64 {
            return Some(names.get((offset / STEP) as u32));
        }
        self.others.get(&address).map(|name| &**name)
    }

    fn range_of(&self, address: u64) -> (u64, &Interner) {
        if address < LOCK_BASE { (VARIABLE_BASE, &self.variables) } else { (LOCK_BASE, &self.locks) }
    }

    /// Gives an address a name.
    pub(crate) fn insert(&mut self, address: u64, name: &[u8]) {
        let (base, names) = self.range_of(address);
        if address == base + STEP * names.len() as u64 && names.find(name).is_none() {
            let names = if base == LOCK_BASE { &mut self.locks } else { &mut self.variables };
            names.intern(name);
        } else {
            self.others.insert(address, name.into());
        }
    }

    /// The address of the variable of that name.
    #[inline]
    pub(crate) fn variable(&mut self, name: &[u8]) -> u64 {
        VARIABLE_BASE + STEP * u64::from(self.variables.intern(name))
    }

    /// The address of a variable with a short name, if it is known.
    #[inline(always)]
    pub(crate) fn look_variable(&self, name: Short) -> Option<u64> {
        Some(VARIABLE_BASE + STEP * u64::from(self.variables.look(name)?))
    }

    /// The address of a lock with a short name, if it is known.
    #[inline(always)]
    pub(crate) fn look_lock(&self, name: Short) -> Option<u64> {
        Some(LOCK_BASE + STEP * u64::from(self.locks.look(name)?))
    }

    /// The address of the lock (or other object) of that name.
    #[inline]
    pub(crate) fn lock(&mut self, name: &[u8]) -> u64 {
        LOCK_BASE + STEP * u64::from(self.locks.intern(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_address() {
        let mut names = Names::default();
        let x = names.variable(b"x");
        for number in 0..10_000 {
            names.variable(format!("V{number}").as_bytes());
        }
        assert_eq!(names.variable(b"x"), x);
        assert_eq!(names.get(x), Some("x"));
        assert_eq!(names.get(x + 8 * 10_000), Some("V9999"));
        assert_eq!(names.get(x + 8 * 10_001), None);
        assert_eq!(names.get(x + 4), None);
        assert_eq!(names.get(0), None);
        let lock = names.lock(b"x");
        assert_eq!((lock, names.get(lock)), (LOCK_BASE, Some("x")));
        assert_eq!(names.iter().count(), 10_002);
    }
}
