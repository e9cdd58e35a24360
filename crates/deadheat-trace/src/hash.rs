//! The hash behind the reader's tables: deterministic, and cheap for small keys.
//!
//! Invariant: no result depends on the order of a hash table.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with this module's hash.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Folded>>;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies to 128 bits and folds the halves together.
#[inline(always)]
pub(crate) fn fold(left: u64, right: u64) -> u64 {
    let wide = u128::from(left ^ FACTOR) * u128::from(right ^ 0xd6e8_feb8_6659_fd93);
    wide as u64 ^ (wide >> 64) as u64
}

/// Hashes bytes, eight at a time.
#[inline]
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    let mut state = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        state = fold(state, u64::from_le_bytes(eight));
    }
    let mut last = 0;
    for &byte in chunks.remainder() {
        last = last << 8 | u64::from(byte);
    }
    fold(state, last)
}

/// A hasher for integers and pairs of them.
#[derive(Default)]
pub(crate) struct Folded(u64);

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = fold(self.0, of_bytes(bytes));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = fold(self.0, u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = fold(self.0, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_one_byte_hash_apart() {
        let mut seen = std::collections::HashSet::new();
        for number in 0..100_000 {
            assert!(seen.insert(of_bytes(format!("V{number}").as_bytes())), "V{number}");
        }
    }
}
