//! Vector clocks: what is known of each slot's past.

use super::list::List;
use super::word;

/// By slot, the last clock that is known. All zeros knows nothing.
#[repr(transparent)]
pub(crate) struct Clock(List<u64>);

impl Clock {
    /// Knows nothing.
    pub(crate) const fn new() -> Clock {
        Clock(List::new())
    }

    /// What is known of a slot.
    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> u64 {
        self.0.at(slot as usize).unwrap_or(0)
    }

    /// Sets what is known of a slot.
    pub(crate) fn set(&mut self, slot: u32, clock: u64) {
        if slot as usize >= self.0.len() {
            self.0.resize(slot as usize + 1, 0);
        }
        self.0[slot as usize] = clock;
    }

    /// One thread changes the clock all the time: it is to lie in no line of the processor's caches with another's.
    pub(crate) fn reserve_line(&mut self) {
        self.0.reserve_line();
    }

    /// Knows nothing and uses a line of the processor's caches as long as it has room there.
    ///
    /// # Safety
    /// The line is nobody else's, is for words, and lasts as long as the clock.
    pub(crate) unsafe fn borrow_line(&mut self, line: *mut u64) {
        // SAFETY: passed on.
        unsafe { self.0.borrow_line(line) };
    }

    /// How many slots it has room for.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.0.len()
    }

    /// Makes room for as many slots.
    pub(crate) fn widen(&mut self, width: usize) {
        self.0.resize(width.max(self.0.len()), 0);
    }

    /// Learns what another knows; `true` if anything of it was new.
    pub(crate) fn join(&mut self, other: &Clock) -> bool {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut new = false;
        for (own, &theirs) in self.0.iter_mut().zip(other.0.iter()) {
            if *own < theirs {
                *own = theirs;
                new = true;
            }
        }
        new
    }

    /// Knows what another knows and nothing else.
    pub(crate) fn assign(&mut self, other: &Clock) {
        self.assign_first(other, other.0.len());
    }

    /// As [`Self::assign`], of the first `width` slots.
    pub(crate) fn assign_first(&mut self, other: &Clock, width: usize) {
        self.0.resize(width, 0);
        self.0.copy_from_slice(&other.0[..width]);
    }

    /// Whether it has room for more than a few slots, and for far more than `width`.
    pub(crate) fn is_too_wide(&self, width: usize) -> bool {
        const FEW: usize = 64;
        const FAR: usize = 4;
        self.0.room() > FEW.max(FAR * width)
    }

    /// Forgets all and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets all and gives its memory back.
    pub(crate) fn drop_all(&mut self) {
        self.0.drop_all();
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl super::set::Seen for Clock {
    #[inline(always)]
    fn ordered(&self, word: u64) -> bool {
        self.0.at(word::slot(word) as usize).is_some_and(|known| word::clock(word) <= known)
    }
}
