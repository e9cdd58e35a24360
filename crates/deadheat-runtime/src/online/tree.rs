//! Calls as a tree: a node is a call site below a node, and 0 is the thread's first function.
//!
//! Lock-free: a node is filled before it is linked into the table, and never changes. When there are too many nodes (a
//! recursion of very many ways), deeper calls are told as their callers'.
//!
//! Cost: the table is large and shared; each thread remembers in a small one of its own ([`Near`]) where it came before.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::memory;
use crate::sys;

/// How many nodes there can be.
const NODES: usize = 1 << 22;
const TABLE: usize = 2 * NODES;

#[repr(C)]
struct Node {
    parent: AtomicU32,
    call: AtomicU64,
}

#[repr(C)]
struct Tree {
    count: AtomicU32,
    nodes: [Node; NODES],
    table: [AtomicU32; TABLE],
}

static TREE: AtomicPtr<Tree> = AtomicPtr::new(core::ptr::null_mut());

/// Maps the tree's memory, which is used as it grows; `false` if there is none.
pub(crate) fn start() -> bool {
    match sys::map_anonymous(size_of::<Tree>()) {
        Ok(tree) => TREE.store(tree.cast(), Ordering::Release),
        Err(_) => memory::none(),
    }
    !TREE.load(Ordering::Relaxed).is_null()
}

fn tree() -> &'static Tree {
    // SAFETY: it was mapped at the start, before the first event.
    unsafe { &*TREE.load(Ordering::Relaxed) }
}

/// Nodes that a thread came to, in pairs, the later one of which is the first, by where from: calls that follow each other are near each other. All
/// zeros is none.
pub(crate) type Near = [[AtomicU32; 2]; PAIRS];
const PAIRS: usize = 1 << 11;
/// Over so many pairs the calls below one node are spread.
const SPREAD_LOG2: u32 = 5;

/// The node of the call from `call` (a return address) below `parent`. `near` is the calling thread's.
#[inline(always)]
pub(crate) fn child(near: &Near, parent: u32, call: u64) -> u32 {
    let hash = call.wrapping_mul(SPREAD) >> (u64::BITS - SPREAD_LOG2);
    let [first, second] = &near[(2 * parent as usize + hash as usize) % PAIRS];
    let found = first.load(Ordering::Relaxed);
    if is_child(found, parent, call) { found } else { child_beside(first, second, parent, call) }
}

/// As [`child`], which is not the first of its pair.
#[inline(never)]
fn child_beside(first: &AtomicU32, second: &AtomicU32, parent: u32, call: u64) -> u32 {
    let found = second.load(Ordering::Relaxed);
    if is_child(found, parent, call) {
        return found;
    }
    let found = look_up(tree(), parent, call);
    second.store(first.load(Ordering::Relaxed), Ordering::Relaxed);
    first.store(found, Ordering::Relaxed);
    found
}

/// Whether a node, or 0, is that of a call below `parent`.
#[inline(always)]
fn is_child(found: u32, parent: u32, call: u64) -> bool {
    let node = &tree().nodes[found as usize % NODES];
    node.call.load(Ordering::Relaxed) == call && node.parent.load(Ordering::Relaxed) == parent && found != 0
}

/// Multiplied by it, what differs does so in the upper bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The places of the table where a call below a node with this hash may be, in the order in which they are looked at: a few
/// near twice the node's number, then as many anywhere in a larger and larger block around it, then all. A node has one child
/// in the middle, and children are numbered soon after their parents: most are in the first, and the table takes as many pages
/// as the tree needs.
fn places(parent: u32, hash: u64) -> impl Iterator<Item = usize> {
    let near = BLOCKS_LOG2.into_iter().flat_map(move |block| places_in(block, parent, hash));
    near.chain((0..TABLE).map(move |step| (hash as usize + step) % TABLE))
}

/// Those within one of the blocks.
#[inline(always)]
fn places_in(block: u32, parent: u32, hash: u64) -> impl Iterator<Item = usize> {
    let home = 2 * parent as usize % TABLE;
    let start = home >> block << block | hash.rotate_right(3 * block) as usize & ((1 << block) - 1);
    (0..FEW).map(move |step| start / FEW * FEW + (start + step) % FEW)
}

/// log2 of the entries of the blocks: a cache line, four pages, and so on.
const BLOCKS_LOG2: [u32; 6] = [4, 12, 14, 16, 18, 20];
const FEW: usize = 4;

/// What differs between two calls makes a difference in all bits.
fn hash_of(parent: u32, call: u64) -> u64 {
    let spread = u128::from(call ^ u64::from(parent) << 32) * u128::from(SPREAD);
    (spread >> 64) as u64 ^ spread as u64
}

/// An entry of the table: a node, and above it as much of its hash as there is room for.
fn entry(node: u32, hash: u64) -> u32 {
    (hash >> 32) as u32 & !(NODES as u32 - 1) | node
}

#[inline(never)]
fn look_up(tree: &Tree, parent: u32, call: u64) -> u32 {
    let hash = hash_of(parent, call);
    // Mostly it is here.
    for at in places_in(BLOCKS_LOG2[0], parent, hash) {
        let found = tree.table[at].load(Ordering::Acquire);
        if is_entry(found, hash, parent, call) {
            return found % NODES as u32;
        }
    }
    find_or_add(tree, parent, call, hash)
}

/// Whether an entry is that of a call below a node, which has this hash.
#[inline(always)]
fn is_entry(found: u32, hash: u64, parent: u32, call: u64) -> bool {
    let node = found % NODES as u32;
    found == entry(node, hash) && is_child(node, parent, call)
}

#[cold]
#[inline(never)]
fn find_or_add(tree: &Tree, parent: u32, call: u64, hash: u64) -> u32 {
    let mut fresh = 0;
    for at in places(parent, hash) {
        let mut found = tree.table[at].load(Ordering::Acquire);
        if found == 0 {
            if fresh == 0 {
                fresh = tree.count.fetch_add(1, Ordering::Relaxed) + 1;
                if fresh as usize >= NODES {
                    tree.count.store(NODES as u32, Ordering::Relaxed);
                    return parent;
                }
                let node = &tree.nodes[fresh as usize];
                node.parent.store(parent, Ordering::Relaxed);
                node.call.store(call, Ordering::Relaxed);
            }
            match tree.table[at].compare_exchange(0, entry(fresh, hash), Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return fresh,
                Err(other) => found = other,
            }
        }
        if is_entry(found, hash, parent, call) {
            return found % NODES as u32;
        }
    }
    parent
}

/// The node of the calls that lead to the innermost one of a node.
pub(crate) fn parent(node: u32) -> u32 {
    tree().nodes[node as usize % NODES].parent.load(Ordering::Relaxed)
}

/// The calls that lead to a node, the innermost first.
pub(crate) fn calls(node: u32) -> impl Iterator<Item = u64> + Clone {
    let mut at = node;
    core::iter::from_fn(move || {
        if at == 0 {
            return None;
        }
        let node = &tree().nodes[at as usize % NODES];
        at = node.parent.load(Ordering::Relaxed);
        Some(node.call.load(Ordering::Relaxed))
    })
}
