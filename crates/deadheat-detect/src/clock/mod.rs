//! What the analyses share: clocks, threads, lock sets, blocks, synchronisation objects, and
//! the order that they make together.

pub mod atomics;
pub mod barrier;
pub mod blocks;
pub mod bytes;
pub mod condition;
pub mod limit;
pub mod links;
pub mod lockset;
pub mod objects;
pub mod order;
pub mod past;
pub mod sites;
pub mod threads;
pub mod vector;
