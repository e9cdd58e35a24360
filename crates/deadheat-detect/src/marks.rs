//! Sets of numbers that are in use, for who sweeps what nothing names any more.

/// Which of the numbers below a bound are in use.
pub(crate) struct Marks {
    bits: Vec<u64>,
}

impl Marks {
    /// Marks for the numbers below `bound`.
    pub(crate) fn below(bound: usize) -> Self {
        Self { bits: vec![0; bound.div_ceil(64)] }
    }

    /// Marks a number; `true` if it was not marked yet.
    #[inline]
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        let word = &mut self.bits[number as usize / 64];
        let bit = 1 << (number % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Whether a number is marked.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.bits[number as usize / 64] >> (number % 64) & 1 != 0
    }
}
