//! What tasks depend on.
//!
//! Tasks of one parent that name the same address are ordered by what they say of it: a later one that reads comes after
//! the earlier ones that write, and so on. Each address has three objects: what its writers, its readers and its sets
//! (`mutexinoutset`, `inoutset`) did. A task acquires at its start those that it comes after, and releases its own at its
//! end. That is exact: what has released an object without being waited for waits itself for the acquiring task.

use core::ptr::null_mut;

use super::{Object, Task, acquire, acquire_fulfilled, forget, release};
use crate::online::{list, pool};

/// How a task depends on an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It reads.
    In,
    /// It writes.
    Out,
    /// It writes, as others of this kind do, one after the other in any order.
    MutexInOutSet,
    /// It writes, as others of this kind do at the same time.
    InOutSet,
}

/// The address that stands for all memory (`omp_all_memory`).
pub(super) const ALL_MEMORY: usize = 0;

/// What the tasks of one parent do with one address.
#[repr(C)]
struct Node {
    writers: Object,
    readers: Object,
    sets: Object,
    address: usize,
    next: *mut Node,
}

const BUCKETS: usize = 64;

/// The addresses that the children of one task depend on.
pub(super) struct Table {
    buckets: [*mut Node; BUCKETS],
}

impl Table {
    /// The node of an address, made if need be.
    ///
    /// # Safety
    /// The calling thread runs the task that `table` belongs to.
    unsafe fn node(table: &mut *mut Table, address: usize) -> *mut Node {
        if table.is_null() {
            *table = pool::take(size_of::<Table>()).cast();
            // SAFETY: fresh memory of the runtime's own.
            unsafe { table.write(Table { buckets: [null_mut(); BUCKETS] }) };
        }
        let bucket = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) % BUCKETS;
        // SAFETY: nodes live as long as their table.
        unsafe {
            let first = (**table).buckets[bucket];
            let mut node = first;
            while !node.is_null() {
                if (*node).address == address {
                    return node;
                }
                node = (*node).next;
            }
            let node = pool::take(size_of::<Node>()).cast::<Node>();
            let [writers, readers, sets] = [const { Object(0) }; 3];
            node.write(Node { writers, readers, sets, address, next: first });
            (**table).buckets[bucket] = node;
            node
        }
    }

    /// Gives a table back.
    ///
    /// # Safety
    /// It is null, or nobody uses it any more.
    pub(super) unsafe fn drop(pc: usize, table: *mut Table) {
        if table.is_null() {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            for mut node in (*table).buckets {
                while !node.is_null() {
                    let next = (*node).next;
                    for object in [&(*node).writers, &(*node).readers, &(*node).sets] {
                        forget(pc, object);
                    }
                    pool::give(node.cast(), size_of::<Node>());
                    node = next;
                }
            }
            pool::give(table.cast(), size_of::<Table>());
        }
    }
}

/// One dependence of a task.
#[derive(Clone, Copy)]
struct Dependence {
    node: *mut Node,
    kind: Kind,
}

/// The dependences of a task.
pub(super) struct List(list::List<Dependence>);

impl List {
    /// None.
    pub(super) const fn new() -> List {
        List(list::List::new())
    }

    /// Adds a dependence; with the first one comes that of each on all memory.
    ///
    /// # Safety
    /// The calling thread runs `parent`.
    pub(super) unsafe fn add(&mut self, parent: *mut Task, address: usize, kind: Kind) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.0.is_empty() {
                let node = Table::node(&mut (*parent).table, ALL_MEMORY);
                self.0.push(Dependence { node, kind: Kind::In });
            }
            let node = Table::node(&mut (*parent).table, address);
            self.0.push(Dependence { node, kind });
        }
    }

    /// The task comes after those that it depends on.
    pub(super) fn acquire(&self, pc: usize) {
        for dependence in self.0.iter() {
            // SAFETY: nodes live as long as the parent, which lives as long as its children.
            let node = unsafe { &*dependence.node };
            acquire(pc, &raw const node.writers);
            if dependence.kind != Kind::In {
                acquire(pc, &raw const node.readers);
            }
            if dependence.kind != Kind::InOutSet {
                acquire(pc, &raw const node.sets);
            }
        }
        if !self.0.is_empty() {
            acquire_fulfilled(pc);
        }
    }

    /// Those that depend on the task come after it.
    pub(super) fn release(&self, pc: usize) {
        for dependence in self.0.iter() {
            // SAFETY: as above.
            let node = unsafe { &*dependence.node };
            release(
                pc,
                match dependence.kind {
                    Kind::In => &raw const node.readers,
                    Kind::Out => &raw const node.writers,
                    Kind::MutexInOutSet | Kind::InOutSet => &raw const node.sets,
                },
            );
        }
    }

    /// Gives the list back.
    pub(super) fn drop_all(&mut self) {
        self.0.drop_all();
    }
}
