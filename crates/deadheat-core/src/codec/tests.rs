//! Round trips: what one predictor writes, another reads.

extern crate std;

use std::boxed::Box;
use std::vec::Vec;

use super::*;
use crate::access::{Mode, Via};
use crate::kind::Class;

fn fresh() -> Box<Predictor> {
    Box::new(Predictor::new())
}

/// A small, repeatable source of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn write(events: &[(Key, u64)]) -> Vec<u8> {
    let mut predictor = fresh();
    let mut bytes = Vec::new();
    for &(key, address) in events {
        if let Some(packed) = predictor.encode_predicted(key, address) {
            bytes.extend_from_slice(&packed.bits.to_le_bytes()[..packed.len as usize]);
        } else {
            let mut out = [0; MAX_EVENT];
            let len = predictor.encode(key, address, &mut out);
            bytes.extend_from_slice(&out[..len]);
        }
    }
    bytes
}

fn read(bytes: &[u8]) -> Vec<(Key, u64)> {
    let mut predictor = fresh();
    let mut events = Vec::new();
    let mut at = 0;
    loop {
        let decoded = predictor.decode(&bytes[at..]).expect("our own bytes");
        at += decoded.len;
        match decoded.record {
            Record::Event { key, address, .. } => events.push((key, address)),
            Record::End => return events,
            other => panic!("{other:?}"),
        }
    }
}

fn load(pc: u64) -> Key {
    Key::new(pc, Kind::plain(3, Mode::Read, Via::Code))
}

#[test]
fn random_events_come_back() {
    for seed in 1..40 {
        let mut numbers = Numbers(seed);
        let places = 1 + numbers.next() % 30_000;
        let mut address = numbers.next();
        let mut events = Vec::new();
        for _ in 0..20_000 {
            let pc = 0x40_0000 + numbers.next() % places * 5;
            address = match numbers.next() % 4 {
                0 => numbers.next() >> (numbers.next() % 64),
                1 => address,
                2 => address.wrapping_sub(numbers.next() % 4096),
                _ => address.wrapping_add(8),
            };
            events.push((load(pc), address));
        }
        assert_eq!(read(&write(&events)), events, "seed {seed}");
    }
}

#[test]
fn a_scan_takes_a_byte_an_access() {
    let events: Vec<_> = (0..10_000).map(|i| (load(0x1000), 0x7f00_0000_0000 + 8 * i)).collect();
    let bytes = write(&events);
    assert!(bytes.len() < 10_040, "{} bytes", bytes.len());
    assert_eq!(read(&bytes), events);
}

#[test]
fn chasing_pointers_through_64_mib_takes_at_most_four_bytes_an_access() {
    let mut numbers = Numbers(7);
    let events: Vec<_> =
        (0..10_000).map(|_| (load(0x1000), 0x7f00_0000_0000 + numbers.next() % (1 << 20) * 64)).collect();
    let bytes = write(&events);
    assert!(bytes.len() <= 40_020, "{} bytes", bytes.len());
    assert_eq!(read(&bytes), events);
}

#[test]
fn the_same_address_twice_is_not_taken_for_a_stride() {
    let events = [(load(9), 100), (load(9), 108), (load(9), 108), (load(9), 108), (load(9), 0)];
    assert_eq!(read(&write(&events)), events);
}

#[test]
fn any_bytes_are_read_or_refused() {
    let mut numbers = Numbers(3);
    let mut predictor = fresh();
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..numbers.next() % 20).map(|_| numbers.next() as u8).collect();
        if let Ok(decoded) = predictor.decode(&bytes) {
            assert!(decoded.len <= bytes.len());
        }
    }
}

#[test]
fn varints_come_back() {
    for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
        let mut out = [0; 12];
        let end = put_varint(value, &mut out, 0);
        assert_eq!(varint(&out, 0), Ok((value, end)));
    }
    assert_eq!(varint(&[0xff; 12], 0), Err(Fault::Number));
    assert_eq!(varint(&[0x80], 0), Err(Fault::Short));
}

#[test]
fn the_short_way_decodes_what_the_long_way_decodes() {
    for seed in 1..60 {
        let mut numbers = Numbers(seed);
        let mut bytes = Vec::new();
        let mut writer = fresh();
        let mut out = [0; MAX_EVENT];
        let mut address = 1 << 40;
        for _ in 0..5000 {
            let pc = 0x1000 + numbers.next() % 300;
            address = match numbers.next() % 4 {
                0 => numbers.next() >> (numbers.next() % 64),
                1 => address,
                _ => address.wrapping_add(8 * (numbers.next() % 3)),
            };
            let len = if numbers.next().is_multiple_of(5) {
                writer.encode_call(pc, &mut out)
            } else {
                writer.encode(load(pc), address, &mut out)
            };
            bytes.extend_from_slice(&out[..len]);
        }
        // Some bytes are wrong, so that the short way must refuse what the long way refuses.
        for _ in 0..seed % 4 {
            let at = (numbers.next() % bytes.len() as u64) as usize;
            bytes[at] = numbers.next() as u8;
        }
        both_ways(&bytes, seed);
    }
}

fn both_ways(bytes: &[u8], seed: u64) {
    let (mut short, mut long) = (fresh(), fresh());
    let (mut at, mut short_ways) = (0, 0);
    loop {
        let stored = bytes[at..].first_chunk().and_then(|bytes| {
            let mut place = short.resume();
            let front = short.peek(&place, bytes).filter(|front| short.key(front.slot) != Key(0))?;
            let kind = short.key(front.slot).kind();
            let (address, len) = match kind.class()? {
                Class::Call => (0, short.take_call(&mut place, front)?),
                Class::Plain | Class::Range => short.take_event(&mut place, front)?,
                Class::Atomic | Class::Sync => short.take_stamped(&mut place, front)?,
            };
            short.pause(place);
            Some((front.slot, kind, address, len))
        });
        let decoded = long.decode(&bytes[at..]);
        if let Some((slot, kind, address, len)) = stored {
            short_ways += 1;
            let decoded = decoded.expect("the short way takes no fault");
            let key = long.key(slot);
            let expected = if kind == Kind::CALL {
                Record::Call { key, slot, defined: false }
            } else {
                Record::Event { key, slot, defined: false, address }
            };
            assert_eq!((decoded.record, decoded.len), (expected, len), "seed {seed}, byte {at}");
            at += len;
            continue;
        }
        assert_eq!(short.decode(&bytes[at..]), decoded, "seed {seed}, byte {at}");
        match decoded {
            Ok(Decoded { record: Record::End, .. }) | Err(_) => break,
            Ok(decoded) => at += decoded.len,
        }
    }
    assert!(short_ways > 0 || !seed.is_multiple_of(4), "seed {seed}");
}

#[test]
fn an_address_out_of_line_is_told_whole_and_once() {
    let events: Vec<_> = (0..1000).map(|i| (load(9), 4096 + i * i * 3)).collect();
    let bytes = write(&events);
    assert_eq!(read(&bytes), events);
    assert!(bytes.len() < 3100, "{} bytes", bytes.len());
}

#[test]
fn locks_and_the_accesses_between_them_do_not_disturb_each_other() {
    let (lock, unlock) = (load_of(0x300a, 1), load_of(0x300c, 2));
    let mut events = Vec::new();
    for i in 0..1000_u64 {
        let at = 0x5000 + i % 2 * 0x40;
        events.extend([(lock, at), (load(3), 0x7000_0000 + i * 24), (unlock, at)]);
    }
    let bytes = write(&events);
    assert_eq!(read(&bytes), events);
    assert!(bytes.len() < 4100, "{} bytes", bytes.len());
}

fn load_of(kind: u16, pc: u64) -> Key {
    Key::new(pc, Kind(kind))
}
