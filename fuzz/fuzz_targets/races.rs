//! Feeds `deadheat_trace::fuzz::races`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| deadheat_trace::fuzz::races(bytes));
