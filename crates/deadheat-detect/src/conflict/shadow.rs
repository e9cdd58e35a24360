//! The shadow: from an address to the representatives of the accesses to its bytes.
//!
//! Cells come in four sizes: granules of 8 bytes, pages of 512, regions of 128 KiB, and one for
//! all of memory. An access is remembered in the cells of the finest size of which it touches
//! about nine or fewer, exact to the byte, and meets what is remembered in cells of every size:
//! of its own cells and of coarser ones what came since the last such access of its class, and of
//! finer ones, which it looks at only where there are some, those of pages that other threads
//! touched since.
//!
//! Invariant: what gave way because of a limit is counted.

use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

use super::extent::{Bytes, Span};
use super::judge::Judge;
use super::reps::{Head, Limits, Reps};

/// No page.
const NONE: u32 = u32::MAX;
const GRANULE: u64 = 8;
const PAGE: u64 = 512;
const REGION: u64 = 1 << 17;
const GRANULES: usize = (PAGE / GRANULE) as usize;
const PAGES: usize = (REGION / PAGE) as usize;
/// Accesses of at most so many bytes are remembered in granules,
pub(super) const FINE_MAX: u64 = 64;
/// of so many in pages,
const PAGED_MAX: u64 = 8 * PAGE;
/// of so many in regions, and larger ones in the one cell for all.
const REGIONAL_MAX: u64 = 8 * REGION;
/// The number of regions that are found without hashing.
const RECENT: usize = 1 << 9;
/// There are at most so many representatives and rows of granules (64 bytes each),
const FINE_REPS_MAX: usize = 3 << 20;
/// so many in coarser cells (about 100 bytes each),
const COARSE_REPS_MAX: usize = 1 << 19;
/// so many pages (about 320 bytes each),
const PAGES_MAX: usize = 3 << 17;
/// and so many regions (about 1100 bytes each).
const REGIONS_MAX: usize = 1 << 15;
/// So many pages are asked whether they are one thread's before one of several gives way.
const ASKED: usize = 16;

// An offset from a granule fits `reps::Shape`.
const _: () = assert!(FINE_MAX < i8::MAX as u64);

/// Who touched a cell last, and when others did.
#[derive(Clone, Copy, Debug)]
struct Touch {
    thread: ThreadId,
    /// The position behind the latest access; 0 before the first.
    last: u64,
    /// The same of the latest access by another thread than `thread`.
    others: u64,
}

impl Touch {
    const NEVER: Touch = Touch { thread: ThreadId(u32::MAX), last: 0, others: 0 };

    #[inline]
    fn touch(&mut self, thread: ThreadId, at: u64) {
        if self.thread != thread {
            self.others = self.last;
            self.thread = thread;
        }
        self.last = at + 1;
    }

    /// The position behind the latest access by another thread than this one.
    fn others(&self, thread: ThreadId) -> u64 {
        if self.thread == thread { self.others } else { self.last }
    }
}

#[derive(Debug)]
struct Page {
    base: u64,
    heads: [Head; GRANULES],
    spans: Head,
    touch: Touch,
    /// Whether an atomic access was ever here.
    atomics: bool,
    live: bool,
}

#[derive(Debug)]
struct Region {
    base: u64,
    pages: [u32; PAGES],
    spans: Head,
    touch: Touch,
}

/// All cells.
#[derive(Debug)]
pub(super) struct Shadow {
    recent: Box<[(u64, u32); RECENT]>,
    numbers: FxHashMap<u64, u32>,
    regions: Vec<Region>,
    pages: Vec<Page>,
    free_pages: Vec<u32>,
    fine: Reps<Bytes>,
    coarse: Reps<Span>,
    all: Head,
    /// The page, and the region, that is the next to give way.
    hands: (usize, usize),
    forgotten: u64,
}

fn page_end(address: u64) -> u64 {
    (address | (PAGE - 1)).saturating_add(1)
}

fn region_end(address: u64) -> u64 {
    (address | (REGION - 1)).saturating_add(1)
}

impl Shadow {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            recent: Box::new([(u64::MAX, 0); RECENT]),
            numbers: FxHashMap::default(),
            regions: Vec::new(),
            pages: Vec::new(),
            free_pages: Vec::new(),
            fine: Reps::new(limits),
            coarse: Reps::new(limits),
            all: Head::EMPTY,
            hands: (0, 0),
            forgotten: 0,
        }
    }

    /// How many representatives gave way to others.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten + self.fine.forgotten + self.coarse.forgotten
    }

    /// An access meets what is remembered and is remembered itself. Tells whether its bytes are
    /// near some that were accessed atomically.
    #[inline]
    pub(super) fn access(&mut self, judge: &mut Judge<'_>) -> bool {
        let (start, end) = (judge.now.address, judge.end());
        self.make_room();
        if judge.now.size <= FINE_MAX {
            let middle = page_end(start).min(end);
            let atomics = self.fine((start, middle), judge);
            return if middle < end { self.fine((middle, end), judge) | atomics } else { atomics };
        }
        if judge.now.size <= PAGED_MAX {
            self.paged((start, end), judge);
        } else if judge.now.size <= REGIONAL_MAX {
            self.regional((start, end), judge);
        } else {
            self.anywhere((start, end), judge);
        }
        true
    }

    /// The part of a small access that is in one page.
    #[inline]
    fn fine(&mut self, (start, end): (u64, u64), judge: &mut Judge<'_>) -> bool {
        let region = self.region(start);
        let number = self.page(region, start);
        let page = &mut self.pages[number];
        let alone = page.touch.others(judge.thread) == 0;
        let mut since = u64::MAX;
        let mut at = start;
        while at < end {
            let base = at & !(GRANULE - 1);
            let stop = base.saturating_add(GRANULE).min(end);
            let head = &mut page.heads[(base / GRANULE) as usize % GRANULES];
            since = since.min(self.fine.visit((head, alone), (base, (at, stop)), judge));
            at = stop;
        }
        let (thread, now) = (judge.thread, judge.now.at);
        page.touch.touch(thread, now);
        page.atomics |= judge.sort.atomic;
        let (atomics, spans) = (page.atomics, page.spans);
        let region = &mut self.regions[region];
        region.touch.touch(thread, now);
        for head in [spans, region.spans, self.all] {
            if !head.is_empty() {
                self.coarse.walk(head, since, (0, (start, end)), judge);
            }
        }
        atomics
    }

    fn paged(&mut self, (start, end): (u64, u64), judge: &mut Judge<'_>) {
        let (thread, now) = (judge.thread, judge.now.at);
        let mut at = start;
        while at < end {
            let part = (at, page_end(at).min(end));
            let region = self.region(at);
            let number = self.page(region, at);
            let page = &mut self.pages[number];
            let since = self.coarse.visit((&mut page.spans, false), (0, part), judge);
            let others = page.touch.others(thread);
            page.touch.touch(thread, now);
            if others > since {
                self.granules(number, part, since, judge);
            }
            let region = &mut self.regions[region];
            region.touch.touch(thread, now);
            for head in [region.spans, self.all].into_iter().filter(|head| !head.is_empty()) {
                self.coarse.walk(head, since, (0, part), judge);
            }
            at = part.1;
        }
    }

    fn regional(&mut self, (start, end): (u64, u64), judge: &mut Judge<'_>) {
        let mut at = start;
        while at < end {
            let part = (at, region_end(at).min(end));
            let number = self.region(at);
            let region = &mut self.regions[number];
            let since = self.coarse.visit((&mut region.spans, false), (0, part), judge);
            self.under_region(number, part, since, judge);
            self.regions[number].touch.touch(judge.thread, judge.now.at);
            self.coarse.walk(self.all, since, (0, part), judge);
            at = part.1;
        }
    }

    fn anywhere(&mut self, (start, end): (u64, u64), judge: &mut Judge<'_>) {
        let since = self.coarse.visit((&mut self.all, false), (0, (start, end)), judge);
        for number in self.regions_in(start, end) {
            let base = self.regions[number].base;
            let part = (start.max(base), end.min(region_end(base)));
            self.under_region(number, part, since, judge);
        }
    }

    /// Meets what is in a region. The region's own chain is met by those of its own size.
    fn under_region(&mut self, number: usize, part: (u64, u64), since: u64, judge: &mut Judge<'_>) {
        let thread = judge.thread;
        let region = &self.regions[number];
        if region.touch.others(thread) <= since {
            return;
        }
        if judge.now.size > REGIONAL_MAX {
            self.coarse.walk(region.spans, since, (0, part), judge);
        }
        let mut at = part.0;
        while at < part.1 {
            let stop = page_end(at).min(part.1);
            let page = region.pages[(at / PAGE) as usize % PAGES];
            if page != NONE {
                let page = page as usize;
                if self.pages[page].touch.others(thread) > since {
                    self.coarse.walk(self.pages[page].spans, since, (0, (at, stop)), judge);
                    self.granules(page, (at, stop), since, judge);
                }
            }
            at = stop;
        }
    }

    /// Meets what is in the granules of a page.
    fn granules(&self, page: usize, (start, end): (u64, u64), since: u64, judge: &mut Judge<'_>) {
        let page = &self.pages[page];
        let first = ((start - page.base) / GRANULE) as usize;
        let last = ((end - 1 - page.base) / GRANULE) as usize;
        for (index, &head) in page.heads.iter().enumerate().take(last + 1).skip(first) {
            if !head.is_empty() {
                let base = page.base + index as u64 * GRANULE;
                self.fine.walk(head, since, (base, (start, end)), judge);
            }
        }
    }

    /// Bytes get a new life: what was accessed there is forgotten.
    pub(super) fn clear(&mut self, start: u64, end: u64) {
        if !self.all.is_empty() {
            self.coarse.clear(&mut self.all, 0, (start, end));
        }
        for number in self.regions_in(start, end) {
            let base = self.regions[number].base;
            let (from, to) = (start.max(base), end.min(region_end(base)));
            if !self.regions[number].spans.is_empty() {
                self.coarse.clear(&mut self.regions[number].spans, 0, (from, to));
            }
            let mut at = from;
            while at < to {
                let part = (at, page_end(at).min(to));
                let page = self.regions[number].pages[(at / PAGE) as usize % PAGES];
                if page != NONE {
                    self.clear_in_page(page as usize, part);
                }
                at = part.1;
            }
        }
    }

    fn clear_in_page(&mut self, number: usize, part: (u64, u64)) {
        let page = &mut self.pages[number];
        if part == (page.base, page_end(page.base)) {
            self.drop_page(number);
            return;
        }
        if !page.spans.is_empty() {
            self.coarse.clear(&mut page.spans, 0, part);
        }
        let first = ((part.0 - page.base) / GRANULE) as usize;
        let last = ((part.1 - 1 - page.base) / GRANULE) as usize;
        for index in first..=last {
            if !page.heads[index].is_empty() {
                self.fine.clear(&mut page.heads[index], page.base + index as u64 * GRANULE, part);
            }
        }
    }

    /// The number of the region of an address.
    #[inline]
    fn region(&mut self, address: u64) -> usize {
        let name = address / REGION;
        let (known, number) = self.recent[name as usize % RECENT];
        if known == name { number as usize } else { self.look_up(name) }
    }

    #[cold]
    fn look_up(&mut self, name: u64) -> usize {
        let number = match self.numbers.get(&name) {
            Some(&number) => number,
            None => {
                let base = name * REGION;
                let region = Region { base, pages: [NONE; PAGES], spans: Head::EMPTY, touch: Touch::NEVER };
                let number = if self.regions.len() < REGIONS_MAX {
                    self.regions.push(region);
                    self.regions.len() - 1
                } else {
                    let number = self.forget_region();
                    let gone = std::mem::replace(&mut self.regions[number], region).base / REGION;
                    self.numbers.remove(&gone);
                    self.recent[gone as usize % RECENT] = (u64::MAX, 0);
                    number
                };
                self.numbers.insert(name, number as u32);
                number as u32
            }
        };
        self.recent[name as usize % RECENT] = (name, number);
        number as usize
    }

    /// The number of the page of an address.
    #[inline]
    fn page(&mut self, region: usize, address: u64) -> usize {
        let number = self.regions[region].pages[(address / PAGE) as usize % PAGES];
        if number != NONE { number as usize } else { self.new_page(region, address) }
    }

    #[cold]
    fn new_page(&mut self, region: usize, address: u64) -> usize {
        if self.free_pages.is_empty() && self.pages.len() >= PAGES_MAX {
            self.forget_page();
        }
        let base = address & !(PAGE - 1);
        let (touch, heads) = (Touch::NEVER, [Head::EMPTY; GRANULES]);
        let page = Page { base, heads, spans: Head::EMPTY, touch, atomics: false, live: true };
        let number = match self.free_pages.pop() {
            Some(number) => {
                self.pages[number as usize] = page;
                number
            }
            None => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
        };
        self.regions[region].pages[(address / PAGE) as usize % PAGES] = number;
        number as usize
    }

    /// The regions that have a byte from `start` to `end`, in the order of addresses or of birth.
    fn regions_in(&self, start: u64, end: u64) -> Vec<usize> {
        if start >= end {
            return Vec::new();
        }
        let (first, last) = (start / REGION, (end - 1) / REGION);
        if last - first < self.regions.len() as u64 {
            let numbers = (first..=last).filter_map(|name| self.numbers.get(&name));
            return numbers.map(|&number| number as usize).collect();
        }
        let inside = |region: &Region| (first..=last).contains(&(region.base / REGION));
        (0..self.regions.len()).filter(|&number| inside(&self.regions[number])).collect()
    }

    /// Keeps memory within its bounds.
    #[inline]
    fn make_room(&mut self) {
        if self.fine.len() >= FINE_REPS_MAX || self.coarse.len() >= COARSE_REPS_MAX {
            self.forget_pages();
        }
    }

    #[cold]
    fn forget_pages(&mut self) {
        while self.fine.len() >= FINE_REPS_MAX {
            self.forget_page();
        }
        while self.coarse.len() >= COARSE_REPS_MAX {
            self.forget_region();
        }
    }

    /// One page gives way: the next that one thread alone touched, if there is one near.
    fn forget_page(&mut self) {
        let count = self.pages.len();
        let near = (0..count).map(|step| (self.hands.0 + step) % count);
        let mut live = near.filter(|&number| self.pages[number].live);
        let Some(first) = live.next() else { return };
        let alone = |&number: &usize| self.pages[number].touch.others == 0;
        let chosen = std::iter::once(first).chain(live.take(ASKED)).find(alone).unwrap_or(first);
        self.hands.0 = (chosen + 1) % count;
        self.forgotten += self.drop_page(chosen);
    }

    /// One region gives way: nothing is remembered in it then.
    fn forget_region(&mut self) -> usize {
        let number = self.hands.1 % self.regions.len();
        self.hands.1 = number + 1;
        for index in 0..PAGES {
            let page = self.regions[number].pages[index];
            if page != NONE {
                self.forgotten += self.drop_page(page as usize);
            }
        }
        let region = &mut self.regions[number];
        self.forgotten += self.coarse.drop_all(&mut region.spans);
        region.touch = Touch::NEVER;
        number
    }

    /// Drops a page; how many representatives it had.
    fn drop_page(&mut self, number: usize) -> u64 {
        let page = &mut self.pages[number];
        let mut count = self.coarse.drop_all(&mut page.spans);
        for head in &mut page.heads {
            count += self.fine.drop_all(head);
        }
        page.live = false;
        let address = page.base;
        if let Some(&region) = self.numbers.get(&(address / REGION)) {
            self.regions[region as usize].pages[(address / PAGE) as usize % PAGES] = NONE;
        }
        self.free_pages.push(number as u32);
        count
    }
}
