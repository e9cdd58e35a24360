//! The program and its libraries, and where they lay in memory at which time.

use crate::hash::Map;

/// A module of one trace: its index in [`Modules`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ModuleId(pub u32);

/// An ELF file that was mapped into the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// Its path.
    pub path: String,
    /// Its build id; empty if it has none.
    pub build_id: Vec<u8>,
    /// Whether it calls our hooks.
    pub instrumented: bool,
}

/// A time for which a module lay at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// The module.
    pub module: ModuleId,
    /// What was added to the module's own addresses.
    pub bias: u64,
    /// The lowest address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// The stamp of its loading.
    pub loaded: u64,
    /// The stamp of its unloading, if that was seen.
    pub unloaded: Option<u64>,
}

/// The table of modules and of their loads.
#[derive(Debug, Default)]
pub struct Modules {
    rows: Vec<Module>,
    loads: Vec<Load>,
    index: Map<(Vec<u8>, Vec<u8>), u32>,
    /// The numbers of the loads by address, if no two of them overlap.
    sorted: Option<Vec<u32>>,
}

impl Modules {
    /// The module of that id.
    #[must_use]
    pub fn get(&self, id: ModuleId) -> Option<&Module> {
        self.rows.get(id.0 as usize)
    }

    /// All modules.
    pub fn iter(&self) -> impl Iterator<Item = (ModuleId, &Module)> {
        (0..).map(ModuleId).zip(&self.rows)
    }

    /// All loads, in the order of the file.
    #[must_use]
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// The module that lay at `address` when stamp `now` was given, and the address in the
    /// module's own address space. A module that lay there only later (its constructors run
    /// before its loading is noted) or only earlier is taken if there is no better one.
    #[must_use]
    pub fn locate(&self, address: u64, now: u64) -> Option<(ModuleId, u64)> {
        let load = match &self.sorted {
            Some(sorted) => {
                let after = sorted.partition_point(|&load| self.loads[load as usize].start <= address);
                let load = &self.loads[sorted[after.checked_sub(1)?] as usize];
                (address < load.end).then_some(load)?
            }
            None => self
                .loads
                .iter()
                .filter(|load| (load.start..load.end).contains(&address))
                .min_by_key(|load| load.distance(now))?,
        };
        Some((load.module, address.wrapping_sub(load.bias)))
    }

    /// The stamps at which an address may change its meaning, in order.
    pub(crate) fn changes(&self) -> Vec<u64> {
        if self.sorted.is_some() {
            return Vec::new();
        }
        let mut stamps: Vec<u64> =
            self.loads.iter().flat_map(|load| [Some(load.loaded), load.unloaded]).flatten().collect();
        stamps.sort_unstable();
        stamps.dedup();
        stamps
    }

    /// Notes a load; `path` and `build_id` say of which module.
    pub(crate) fn load(&mut self, path: &[u8], build_id: &[u8], instrumented: bool, load: Load) {
        let next = self.rows.len() as u32;
        let id = *self.index.entry((path.to_vec(), build_id.to_vec())).or_insert(next);
        if id == next {
            let path = String::from_utf8_lossy(path).into_owned();
            self.rows.push(Module { path, build_id: build_id.to_vec(), instrumented });
        }
        self.rows[id as usize].instrumented |= instrumented;
        self.loads.push(Load { module: ModuleId(id), ..load });
    }

    /// Notes that what lies at `start` is unloaded.
    pub(crate) fn unload(&mut self, start: u64, stamp: u64) {
        let open = |load: &&mut Load| load.start == start && load.unloaded.is_none();
        if let Some(load) = self.loads.iter_mut().rev().find(open) {
            load.unloaded = Some(stamp);
        }
    }

    /// Prepares for [`Self::locate`], when all loads are noted.
    pub(crate) fn settle(&mut self) {
        let mut sorted: Vec<u32> = (0..self.loads.len() as u32).collect();
        sorted.sort_by_key(|&load| self.loads[load as usize].start);
        let apart = sorted
            .windows(2)
            .all(|pair| self.loads[pair[0] as usize].end <= self.loads[pair[1] as usize].start);
        self.sorted = apart.then_some(sorted);
    }
}

impl Load {
    /// How far from `now` the load's time is: alive, then the next to come, then the last gone.
    fn distance(&self, now: u64) -> (u8, u64) {
        match self.unloaded {
            _ if self.loaded > now => (1, self.loaded - now),
            Some(unloaded) if unloaded <= now => (2, now - unloaded),
            _ => (0, now - self.loaded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(start: u64, end: u64, loaded: u64) -> Load {
        Load { module: ModuleId(0), bias: start, start, end, loaded, unloaded: None }
    }

    #[test]
    fn an_address_means_what_lay_there_at_the_time() {
        let mut modules = Modules::default();
        modules.load(b"/bin/a", b"", true, load(0x1000, 0x2000, 0));
        modules.load(b"/lib/one.so", b"1", true, load(0x5000, 0x6000, 10));
        modules.unload(0x5000, 20);
        modules.load(b"/lib/two.so", b"2", true, load(0x5800, 0x7000, 30));
        modules.settle();
        let at = |address, now| modules.locate(address, now).map(|(module, offset)| (module.0, offset));
        assert_eq!(at(0x1010, 5), Some((0, 0x10)));
        assert_eq!(at(0x5900, 15), Some((1, 0x900)));
        assert_eq!(at(0x5900, 35), Some((2, 0x100)));
        assert_eq!(at(0x5900, 25), Some((2, 0x100)), "not loaded yet, but nothing better");
        assert_eq!(at(0x5100, 99), Some((1, 0x100)), "gone, but nothing better");
        assert_eq!(at(0x2000, 5), None);
        assert_eq!(modules.changes(), [0, 10, 20, 30]);
    }

    #[test]
    fn a_module_loaded_again_is_one_module() {
        let mut modules = Modules::default();
        modules.load(b"/lib/one.so", b"1", false, load(0x5000, 0x6000, 10));
        modules.load(b"/lib/one.so", b"1", true, load(0x9000, 0xa000, 30));
        modules.settle();
        assert_eq!(modules.iter().count(), 1);
        assert_eq!(modules.locate(0x9004, 40), Some((ModuleId(0), 4)));
        assert!(modules.changes().is_empty());
    }
}
