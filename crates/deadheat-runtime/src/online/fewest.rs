//! The fewest words that remember the same accesses.
//!
//! A thread that makes accesses to parts of a granule in some moments leaves words that later ones make up for together, or that one double word can say. They
//! are put in order where a cell gets other room, so that what two words can say need not stay in a [block](super::block).

use super::word::{
    self, ATOMIC, BYTES, WRITE, clock, is_freed, is_special, same_slot, same_slot_and_kind, with_plain,
};

/// Puts fewer words in the place of these where fewer remember the same accesses, as far as that matters to who comes later. Gives how many they are; they are the first
/// ones, in the order in which they were. What is atomic, and the end of a block's life, stays as it is.
pub(crate) fn fewest(words: &mut [u64]) -> usize {
    let mut count = words.len();
    while let Some(at) = (0..count).find(|&at| is_made_up_for(&words[..count], at)) {
        count = without(words, count, at);
    }
    while let Some((one, other, both)) = joinable(&words[..count]) {
        words[one] = both;
        count = without(words, count, other);
    }
    count
}

/// Two words that one can say, and that one.
fn joinable(words: &[u64]) -> Option<(usize, usize, u64)> {
    let pairs = (0..words.len()).flat_map(|one| (one + 1..words.len()).map(move |other| (one, other)));
    let mut joined = pairs
        .map(|(one, other)| (one, other, joined(words[one], words[other])))
        .filter(|&(.., both)| both != 0);
    joined.next()
}

/// Takes a word out of the first `count`.
fn without(words: &mut [u64], count: usize, at: usize) -> usize {
    words.copy_within(at + 1..count, at);
    count - 1
}

/// Whether a word is one of those that are dealt with here.
const fn is_plain(word: u64) -> bool {
    word & ATOMIC == 0 && word != 0 && !is_special(word) && !is_freed(word)
}

/// Whether others of these words make up for that one, each of its bytes.
pub(crate) fn is_made_up_for(words: &[u64], at: usize) -> bool {
    let word = words[at];
    if !is_plain(word) {
        return false;
    }
    let others = || words.iter().enumerate().filter(|&(other, _)| other != at).map(|(_, &other)| other);
    let own = || others().filter(|&other| is_plain(other) && same_slot(other, word));
    parts(word).into_iter().all(|part| {
        let by = own().flat_map(parts).filter(|&by| clock(by) >= clock(part) && (part & !by) & WRITE == 0);
        by.fold(part & BYTES, |left, by| left & !by) == 0
    })
}

/// The accesses that a plain word stands for; 0 is none.
const fn parts(word: u64) -> [u64; 2] {
    [word::later(word), word::earlier(word)]
}

/// The word for two; 0 if there is none.
fn joined(one: u64, other: u64) -> u64 {
    if !is_plain(one) || !is_plain(other) || !same_slot_and_kind(one, other) {
        return 0;
    }
    let (old, new) = if clock(one) <= clock(other) { (one, other) } else { (other, one) };
    // Of two of one moment, a double one can be the later.
    let (old, new) = if clock(old) == clock(new) && word::is_double(new) { (new, old) } else { (old, new) };
    if word::is_double(new) { 0 } else { with_plain(old, new) }
}
