//! Which bytes of a cell a representative stands for.

use crate::clock::blocks::Blocks;

/// The bytes of a cell that a representative stands for, and whole accesses that touched them.
pub(super) trait Extent: Copy {
    /// An access from `access.0`, `access.1` bytes, clipped to a cell.
    fn new(base: u64, clip: (u64, u64), access: (u64, u64)) -> Self;
    /// Whether it stands for the same bytes.
    fn same(&self, other: &Self) -> bool;
    /// Whether any of the bytes from `clip.0` to `clip.1` are among its own.
    fn meets(&self, base: u64, clip: (u64, u64)) -> bool;
    /// The first of these bytes whose races are not declared benign.
    fn common(&self, base: u64, clip: (u64, u64), blocks: &Blocks) -> Option<u64>;
    /// The first access: address and size.
    fn first(&self, base: u64) -> (u64, u64);
    /// The latest access.
    fn last(&self, base: u64) -> (u64, u64);
    /// `newer` is the latest access now, and the first too if `fresh` says so.
    fn advance(&mut self, newer: &Self, fresh: bool);
    /// What is left of it without the bytes from `gone.0` to `gone.1`; where that is two parts,
    /// the larger one first.
    fn without(&self, base: u64, gone: (u64, u64)) -> [Option<Self>; 2];
}

/// Bytes of a granule of eight, touched by accesses of at most [`super::shadow::FINE_MAX`] bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    mask: u8,
    first: Shape,
    last: Shape,
}

/// A small access: where it begins, seen from the granule, and its size.
#[derive(Clone, Copy, Debug)]
struct Shape {
    offset: i8,
    size: u8,
}

impl Shape {
    fn access(self, base: u64) -> (u64, u64) {
        (base.wrapping_add_signed(self.offset.into()), self.size.into())
    }
}

/// The bytes of a granule from `clip.0` to `clip.1`, which may be beyond it.
fn mask(base: u64, clip: (u64, u64)) -> u8 {
    let from = clip.0.saturating_sub(base).min(8) as u32;
    let to = clip.1.saturating_sub(base).min(8) as u32;
    ((1_u32 << to) - 1) as u8 & !((1_u32 << from) - 1) as u8
}

impl Extent for Bytes {
    #[inline]
    fn new(base: u64, clip: (u64, u64), access: (u64, u64)) -> Self {
        let shape = Shape { offset: access.0.wrapping_sub(base) as i8, size: access.1 as u8 };
        Self { mask: mask(base, clip), first: shape, last: shape }
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        self.mask == other.mask
    }

    #[inline]
    fn meets(&self, base: u64, clip: (u64, u64)) -> bool {
        self.mask & mask(base, clip) != 0
    }

    fn common(&self, base: u64, clip: (u64, u64), blocks: &Blocks) -> Option<u64> {
        let common = self.mask & mask(base, clip);
        (0..8).filter(|bit| common >> bit & 1 != 0).map(|bit| base + bit).find(|&at| !blocks.is_benign(at))
    }

    fn first(&self, base: u64) -> (u64, u64) {
        self.first.access(base)
    }

    fn last(&self, base: u64) -> (u64, u64) {
        self.last.access(base)
    }

    #[inline]
    fn advance(&mut self, newer: &Self, fresh: bool) {
        if fresh {
            self.first = newer.first;
        }
        self.last = newer.last;
    }

    fn without(&self, base: u64, gone: (u64, u64)) -> [Option<Self>; 2] {
        let left = self.mask & !mask(base, gone);
        [(left != 0).then_some(Self { mask: left, ..*self }), None]
    }
}

/// Bytes of a larger cell, touched by larger accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    clip: (u64, u64),
    first: (u64, u64),
    last: (u64, u64),
}

impl Extent for Span {
    fn new(_: u64, clip: (u64, u64), access: (u64, u64)) -> Self {
        Self { clip, first: access, last: access }
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        self.clip == other.clip
    }

    #[inline]
    fn meets(&self, _: u64, clip: (u64, u64)) -> bool {
        self.clip.0.max(clip.0) < self.clip.1.min(clip.1)
    }

    fn common(&self, _: u64, clip: (u64, u64), blocks: &Blocks) -> Option<u64> {
        blocks.first_not_benign(self.clip.0.max(clip.0), self.clip.1.min(clip.1))
    }

    fn first(&self, _: u64) -> (u64, u64) {
        self.first
    }

    fn last(&self, _: u64) -> (u64, u64) {
        self.last
    }

    fn advance(&mut self, newer: &Self, fresh: bool) {
        if fresh {
            self.first = newer.first;
        }
        self.last = newer.last;
    }

    fn without(&self, _: u64, gone: (u64, u64)) -> [Option<Self>; 2] {
        let part = |start: u64, end: u64| (start < end).then_some(Self { clip: (start, end), ..*self });
        let (start, end) = self.clip;
        match (part(start, end.min(gone.0)), part(start.max(gone.1), end)) {
            (Some(low), Some(high)) if high.clip.1 - high.clip.0 > low.clip.1 - low.clip.0 => {
                [Some(high), Some(low)]
            }
            (None, high) => [high, None],
            parts => parts.into(),
        }
    }
}
