//! What an analysis remembers of memory, exact to the byte: ranges of bytes with the same past.
//!
//! Invariant: the cells do not overlap, and all bytes of a cell were always accessed together: an
//! access that covers a part of a cell divides it first. Where a variable is always accessed whole
//! it is one cell, found by one look into a table; else the cells of a range are found in
//! their order.
//!
//! Model: one value for each byte.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// The cells of a run, each with what is remembered of its bytes.
#[derive(Debug)]
pub struct Bytes<T> {
    cells: Vec<Cell<T>>,
    vacant: Vec<u32>,
    /// The cell that begins at an address.
    by_start: FxHashMap<u64, u32>,
    order: BTreeMap<u64, u32>,
}

#[derive(Debug)]
struct Cell<T> {
    start: u64,
    end: u64,
    past: T,
}

impl<T> Default for Bytes<T> {
    fn default() -> Self {
        Self { cells: Vec::new(), vacant: Vec::new(), by_start: FxHashMap::default(), order: BTreeMap::new() }
    }
}

impl<T: Clone + Default> Bytes<T> {
    /// Puts the numbers of the cells that make up the bytes from `start` to `end` into `found`, in their order. Cells are
    /// divided and made as needed. A number holds until the next call of any method that takes a range. `copied` is told of
    /// each value of which there is one more now.
    pub fn find(&mut self, start: u64, end: u64, found: &mut Vec<u32>, mut copied: impl FnMut(&T)) {
        found.clear();
        if start >= end {
            return;
        }
        if let Some(&number) = self.by_start.get(&start)
            && self.cells[number as usize].end == end
        {
            return found.push(number);
        }
        for at in [start, end] {
            if let Some(number) = self.divide(at) {
                copied(&self.cells[number as usize].past);
            }
        }
        let there: Vec<u32> = self.order.range(start..end).map(|(_, &number)| number).collect();
        let mut at = start;
        for number in there {
            let Cell { start: from, end: to, .. } = self.cells[number as usize];
            if at < from {
                found.push(self.make(at, from, T::default()));
            }
            found.push(number);
            at = to;
        }
        if at < end {
            found.push(self.make(at, end, T::default()));
        }
    }

    /// Forgets the bytes from `start` to `end`.
    pub fn clear(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        self.divide(start);
        self.divide(end);
        while let Some((&at, &number)) = self.order.range(start..end).next() {
            self.remove(at, number);
        }
    }

    /// What is remembered of a byte.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&T> {
        let (_, &number) = self.order.range(..=address).next_back()?;
        let cell = &self.cells[number as usize];
        (address < cell.end).then_some(&cell.past)
    }

    /// The first byte of a cell.
    #[must_use]
    pub fn start(&self, number: u32) -> u64 {
        self.cells[number as usize].start
    }

    /// What is remembered of a cell.
    #[must_use]
    pub fn past(&self, number: u32) -> &T {
        &self.cells[number as usize].past
    }

    /// The same, to be changed.
    pub fn past_mut(&mut self, number: u32) -> &mut T {
        &mut self.cells[number as usize].past
    }

    /// Forgets the cells of which `keep` says so. It may change the others.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let all: Vec<(u64, u32)> = self.order.iter().map(|(&at, &number)| (at, number)).collect();
        for (at, number) in all {
            if !keep(&mut self.cells[number as usize].past) {
                self.remove(at, number);
            }
        }
    }

    /// The number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// About how many bytes a cell takes beside what its value has on the heap.
    pub const CELL: usize = size_of::<Cell<T>>() + 48;

    fn remove(&mut self, at: u64, number: u32) {
        self.order.remove(&at);
        self.by_start.remove(&at);
        self.cells[number as usize].past = T::default();
        self.vacant.push(number);
    }

    /// Makes a cell that has `at` inside two cells; the number of the new one.
    fn divide(&mut self, at: u64) -> Option<u32> {
        let (&start, &number) = self.order.range(..at).next_back()?;
        let cell = &mut self.cells[number as usize];
        if cell.end <= at {
            return None;
        }
        // The longer part is likely to be divided again: it keeps what it has.
        let (end, past) = (cell.end, cell.past.clone());
        if at - start >= end - at {
            cell.end = at;
            Some(self.make(at, end, past))
        } else {
            cell.start = at;
            self.order.remove(&start);
            self.by_start.remove(&start);
            self.order.insert(at, number);
            self.by_start.insert(at, number);
            Some(self.make(start, at, past))
        }
    }

    fn make(&mut self, start: u64, end: u64, past: T) -> u32 {
        let cell = Cell { start, end, past };
        let number = match self.vacant.pop() {
            Some(number) => {
                self.cells[number as usize] = cell;
                number
            }
            None => {
                self.cells.push(cell);
                self.cells.len() as u32 - 1
            }
        };
        self.order.insert(start, number);
        self.by_start.insert(start, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of 40 bytes are written and cleared; each byte has the value written last.
    #[test]
    fn cells_are_bytes() {
        let mut bytes: Bytes<u32> = Bytes::default();
        let mut model = [None; 40];
        let mut found = Vec::new();
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for value in 1..4000 {
            let start = random(40);
            let end = (start + random(12)).min(40);
            if random(5) == 0 {
                bytes.clear(start, end);
                model[start as usize..end as usize].fill(None);
            } else {
                bytes.find(start, end, &mut found, |_| {});
                found.iter().for_each(|&number| *bytes.past_mut(number) = value);
                model[start as usize..end as usize].fill(Some(value));
            }
            for (at, expected) in model.iter().enumerate() {
                assert_eq!(bytes.at(at as u64).copied(), *expected, "byte {at} after step {value}");
            }
        }
        bytes.retain(|value| value.is_multiple_of(2));
        for (at, expected) in model.iter().enumerate() {
            assert_eq!(bytes.at(at as u64).copied(), expected.filter(|value| value.is_multiple_of(2)));
        }
    }

    #[test]
    fn what_is_always_accessed_whole_is_one_cell() {
        let mut bytes: Bytes<u32> = Bytes::default();
        let mut found = Vec::new();
        for _ in 0..3 {
            bytes.find(64, 4096, &mut found, |_| {});
            assert_eq!((found.len(), bytes.len()), (1, 1));
        }
        bytes.find(100, 104, &mut found, |_| {});
        assert_eq!((found.len(), bytes.len()), (1, 3));
    }
}
