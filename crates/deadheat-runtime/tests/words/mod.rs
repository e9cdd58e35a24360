//! Single words: their fields, and what they say.

use std::collections::BTreeSet;

use deadheat_core::rule;

use super::mode;
use super::word::{self, ATOMIC, BYTES, WRITE};

/// What is left of a word is what it said of the other bytes, where one word can say that.
#[test]
fn what_is_left_of_a_word_is_what_it_said_of_other_bytes() {
    let single = word::only(word::moment(3, 9), 0x3c) | WRITE;
    let double = word::with(word::moment(3, 5), word::only(word::moment(3, 9), 0x3c));
    let (newer, older) = (word::moment(3, 9), word::moment(3, 5));
    for (word, bytes, left) in [
        (single, 0xc3, single),
        (single, 0x0f, word::only(single, 0x30)),
        (single, 0x7e, 0),
        (double, 0x3f, word::only(older, 0xc0)),
        (double, 0xd3, word::only(newer, 0x2c)),
        (double, 0x0f, double),
        (double, 0xff, 0),
    ] {
        assert_eq!(word::without(word, bytes), left, "{word:x} without {bytes:x}");
    }
}

/// The words' rules are those of the one race rule.
#[test]
fn conflicts_are_those_of_the_rule() {
    let kinds = [0, WRITE, ATOMIC, ATOMIC | WRITE];
    let mut conflicting = BTreeSet::new();
    for (one, other) in kinds.into_iter().flat_map(|one| kinds.map(|other| (one, other))) {
        let (a, b) = (word::moment(1, 1) | one, word::moment(2, 1) | other);
        let expected = rule::conflicts(mode(a), one & ATOMIC != 0, mode(b), other & ATOMIC != 0);
        assert_eq!(word::conflict(a, b), expected, "{one:x} {other:x}");
        if expected {
            conflicting.insert((one, other));
        }
    }
    // Whatever conflicts with what is outdone conflicts with what outdoes it.
    for (new, old) in kinds.into_iter().flat_map(|new| kinds.map(|old| (new, old))) {
        if word::outdoes(new, old) {
            assert!(kinds.iter().all(|&third| {
                !conflicting.contains(&(old, third)) || conflicting.contains(&(new, third))
            }));
        }
    }
}

/// Fields come back as they went in, up to their last values.
#[test]
fn words_keep_their_fields() {
    for (slot, clock) in [(1, 1), (word::LAST_SLOT, word::LAST_CLOCK), (77, 1 << 27)] {
        let word = word::moment(slot, clock);
        assert_eq!((word::slot(word), word::clock(word), word & BYTES), (slot, clock, BYTES));
        assert!(!word::is_special(word | WRITE | ATOMIC) && !word::is_freed(word | WRITE | ATOMIC));
        let end = word | WRITE;
        let mark = word::freed(end);
        assert!(word::is_freed(mark) && !word::is_special(mark) && word::of_freed(mark) == end);
        for kind in [0, WRITE, ATOMIC, ATOMIC | WRITE] {
            assert!((0..8).all(|at| word::conflict(mark, word::only(word::moment(1, 1), 1 << at) | kind)));
        }
    }
    assert!(word::is_special(word::SEALED) && word::linked(word::SEALED) == 0);
    for (slot, clock) in [(1, 1), (word::LAST_SLOT, word::LAST_CLOCK), (77, 1 << 27)] {
        for kind in [0, WRITE] {
            let word = word::moment(slot, clock) | kind;
            let said = word::said(word);
            assert!(word::can_be_said(word) && word::is_said(said) && word::meant(said) == word);
        }
        let end = word::moment(slot, clock) | WRITE;
        assert_eq!(word::meant(word::said(end) | word::ENDED), word::freed(end));
    }
    assert!(word::meant(word::said(0)) == 0 && word::is_said(word::said(0)) && !word::is_said(word::SEALED));
    assert!(word::is_special(word::WIDE) && word::linked(word::WIDE) == 0 && !word::is_common(word::WIDE));
    let address = 0x7fff_ffff_ffc0;
    assert!(word::is_special(word::link(address)) && word::linked(word::link(address)) == address);
    assert_eq!(word::bytes(3, 4), 0b0111_1000);
}
