//! The tree of calls, whatever its shape, against a map: every call has one node, and a small tree takes few pages.

#![allow(dead_code, reason = "the included file serves more than these tests")]

mod sys {
    //! Stands in for the runtime's `sys`.

    use std::alloc::{Layout, alloc_zeroed};
    use std::sync::OnceLock;

    /// The only memory that was mapped.
    pub(crate) static MAPPED: OnceLock<&[u64]> = OnceLock::new();

    pub(crate) fn map_anonymous(size: usize) -> Result<*mut u8, ()> {
        let pages = Layout::from_size_align(size, 4096).expect("a size of pages");
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc_zeroed(pages) };
        // SAFETY: it is there for good, and looked at when nobody writes.
        MAPPED.set(unsafe { std::slice::from_raw_parts(memory.cast(), size / 8) }).expect("one map");
        Ok(memory)
    }
}

mod memory {
    //! There always is memory here.

    pub(crate) fn none() {
        unreachable!("there is memory")
    }
}

#[path = "../src/online/tree.rs"]
mod tree;

use std::collections::BTreeMap;
use std::sync::Mutex;

/// The tree is one, and so each test starts at a node of its own; one at a time, as pages are counted.
static ALONE: Mutex<u64> = Mutex::new(0);

/// What one thread remembers of the nodes, and what it was told of each.
struct Walker {
    near: Box<tree::Near>,
    told: BTreeMap<(u32, u64), u32>,
}

impl Walker {
    fn new() -> Walker {
        // SAFETY: all zeros is none.
        Walker { near: unsafe { Box::new_zeroed().assume_init() }, told: BTreeMap::new() }
    }

    fn child(&mut self, parent: u32, call: u64) -> u32 {
        let node = tree::child(&self.near, parent, call);
        assert_eq!(tree::parent(node), parent);
        assert_eq!(tree::calls(node).next(), Some(call));
        assert_eq!(*self.told.entry((parent, call)).or_insert(node), node);
        node
    }
}

/// Numbers that look random, the same ones for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Shapes of trees: how many calls there are in each level's functions, the outermost first, and how many pages their nodes and the
/// table may take at the most.
const SHAPES: &[(&[u64], usize)] = &[
    (&[1, 1, 1, 1, 1, 1, 1, 1], 3),
    (&[8, 8, 8], 30),
    (&[24, 24, 24], 400),
    (&[48, 48, 48], 1500),
    (&[20_000], 300),
    (&[2, 10_000], 400),
    (&[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2], 150),
];

/// Paths that come in no order: each node is met again by who comes again, and pages are taken as nodes are.
#[test]
fn every_shape_has_one_node_for_each_call_and_few_pages() {
    let mut begun = begin();
    for (shape, most) in SHAPES {
        *begun += 1;
        let mut walker = Walker::new();
        let root = tree::child(&walker.near, 0, *begun);
        let before = pages();
        let mut random = Random(*begun);
        let paths: u64 = shape.iter().product();
        for _ in 0..3 * paths {
            let mut node = root;
            for (level, calls) in (1..).zip(*shape) {
                node = walker.child(node, 0x40_0000 + level * 0x10_0000 + 5 * random.below(*calls));
            }
        }
        let mut nodes: Vec<u32> = walker.told.values().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), walker.told.len(), "two calls have one node: {shape:?}");
        let taken = pages() - before;
        assert!(taken <= *most, "{shape:?}: {} nodes, {taken} pages", nodes.len());
    }
}

/// Threads that come the same ways at once are told the same nodes.
#[test]
fn threads_agree() {
    let mut begun = begin();
    *begun += 1;
    let root = tree::child(&Walker::new().near, 0, *begun);
    let walk = |seed| {
        let mut walker = Walker::new();
        let mut random = Random(seed);
        for _ in 0..20_000 {
            let node = walker.child(root, random.below(30));
            walker.child(node, random.below(30));
        }
        walker.told
    };
    let told: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || walk(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert!(told.iter().all(|other| *other == told[0]) && told[0].len() == 30 * 31);
}

fn begin() -> std::sync::MutexGuard<'static, u64> {
    let begun = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if sys::MAPPED.get().is_none() {
        assert!(tree::start());
    }
    begun
}

/// How many pages of what was mapped have something in them.
fn pages() -> usize {
    sys::MAPPED
        .get()
        .expect("it was mapped")
        .chunks(512)
        .filter(|page| page.iter().any(|word| *word != 0))
        .count()
}
