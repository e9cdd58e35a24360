//! Names of addresses, and the interner under all tables of strings.

use std::collections::BTreeMap;

use deadheat_core::wire::{LOCK_BASE, VARIABLE_BASE};

use crate::hash;

/// Strings, each stored once, numbered from 0 in the order of their first use.
///
/// An open table of (part of the hash, number) beside one arena of bytes: 12 bytes a string
/// beside its own.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// All strings, one behind the other.
    arena: Vec<u8>,
    /// Where each string ends in the arena.
    ends: Vec<usize>,
    /// Per string: hash in the high half, number + 1 in the low; 0 is free.
    table: Vec<u64>,
}

impl Interner {
    /// The string's number.
    #[inline]
    pub(crate) fn intern(&mut self, name: &[u8]) -> u32 {
        if self.ends.len() * 2 >= self.table.len() {
            self.grow();
        }
        let hash = hash::of_bytes(name);
        let at = match self.probe(name, hash) {
            Ok(number) => return number,
            Err(at) => at,
        };
        let number = self.ends.len() as u32;
        self.arena.extend_from_slice(name);
        self.ends.push(self.arena.len());
        self.table[at] = hash >> 32 << 32 | u64::from(number + 1);
        number
    }

    /// The string's number, if it has one.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        self.probe(name, hash::of_bytes(name)).ok()
    }

    /// The string's number, or the free entry where it belongs.
    #[inline]
    fn probe(&self, name: &[u8], hash: u64) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.table[at];
            if entry == 0 {
                return Err(at);
            }
            let number = (entry as u32) - 1;
            if entry >> 32 == hash >> 32 && self.get(number) == name {
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
        self.table = vec![0; size];
        for number in 0..self.ends.len() as u32 {
            let hash = hash::of_bytes(self.get(number));
            let mut at = hash as usize & (size - 1);
            while self.table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = hash >> 32 << 32 | u64::from(number + 1);
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
