//! Who walks through the shadow's cells, and what the shadow wants of them.

/// What a cell says of its bytes.
pub(crate) trait Past: Copy + Eq {
    /// Bytes without a past.
    const EMPTY: Self;
    /// Whether cells that say this are counted by who keeps what they name.
    fn is_counted(self) -> bool;
    /// A number that is made of all that it says, so that to ask for it is to fetch it.
    fn bits(self) -> u64;
}

/// Keeps what cells name, and counts these cells.
pub(crate) trait Keeper<C> {
    /// So many more cells say the same as this one.
    fn copied(&mut self, cell: C, more: u32);
    /// So many cells that said this are no more.
    fn dropped(&mut self, cell: C, fewer: u32);
    /// The cell will be copied and dropped without a word.
    fn pin(&mut self, cell: C);
}

/// What visits cells.
pub(crate) trait Visitor<C>: Keeper<C> {
    /// The new value of `count` cells that follow each other and say the same; the first one's
    /// first byte is at `address`.
    fn visit(&mut self, cell: C, address: u64, count: u32) -> C;
    /// Whether every visit gives the empty cell.
    fn only_clears(&self) -> bool {
        false
    }
}

/// Leaves no past.
pub(super) struct Clear<'a, K>(pub(super) &'a mut K);

impl<C, K: Keeper<C>> Keeper<C> for Clear<'_, K> {
    fn copied(&mut self, cell: C, more: u32) {
        self.0.copied(cell, more);
    }

    fn dropped(&mut self, cell: C, fewer: u32) {
        self.0.dropped(cell, fewer);
    }

    fn pin(&mut self, cell: C) {
        self.0.pin(cell);
    }
}

impl<C: Past, K: Keeper<C>> Visitor<C> for Clear<'_, K> {
    fn visit(&mut self, cell: C, _: u64, count: u32) -> C {
        self.0.dropped(cell, count);
        C::EMPTY
    }

    fn only_clears(&self) -> bool {
        true
    }
}
