//! What tells accesses apart beside their moment and address, each stored once.

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::Event;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSetId, Side};
use rustc_hash::FxHashMap;

/// Who accessed where in the code, how many bytes how, holding what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    /// Who.
    pub thread: ThreadId,
    /// Where in the code.
    pub place: PlaceId,
    /// The call sites above that place.
    pub stack: StackId,
    /// The locks held.
    pub locks: LockSetId,
    /// How many bytes.
    pub size: u64,
    /// Reads, writes, or both.
    pub mode: Mode,
    /// The memory order of an atomic access.
    pub atomic: Option<MemoryOrder>,
    /// How the program came to make it.
    pub via: Via,
}

impl Site {
    /// That of an access that `event` makes.
    #[must_use]
    pub fn of(event: &Event, access: &Access, locks: LockSetId) -> Self {
        let &Event { thread, place, stack, .. } = event;
        let &Access { size, mode, atomic, via, .. } = access;
        Self { thread, place, stack, locks, size, mode, atomic, via }
    }

    /// The side of a race that it is at an address.
    #[must_use]
    pub fn side(&self, address: u64) -> Side {
        let &Self { thread, place, stack, locks, size, mode, atomic, via } = self;
        Side { thread, place, stack, access: Access { address, size, mode, atomic, via }, locks }
    }
}

/// The sites of a run.
#[derive(Debug, Default)]
pub struct Sites {
    sites: Vec<Site>,
    numbers: FxHashMap<Site, u32>,
}

impl Sites {
    /// The number of a site.
    pub fn number(&mut self, site: Site) -> u32 {
        let Self { sites, numbers } = self;
        *numbers.entry(site).or_insert_with(|| {
            sites.push(site);
            sites.len() as u32 - 1
        })
    }

    /// The site of a number.
    #[must_use]
    pub fn get(&self, number: u32) -> &Site {
        &self.sites[number as usize]
    }

    /// About how many bytes they take.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.sites.len() * (2 * size_of::<Site>() + 8)
    }
}
