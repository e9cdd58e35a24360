//! Round trips: what one predictor writes, another reads.

extern crate std;

use std::boxed::Box;
use std::vec::Vec;

use super::*;
use crate::access::{Mode, Via};

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
