//! The runtime that lives in the program under test.
#![no_std]
