//! A list that grows, in the runtime's own memory.

use core::ops::{Deref, DerefMut};
use core::ptr::null_mut;

use super::pool;

/// Bytes of a line of the processor's caches.
pub(super) const LINE: usize = 64;

/// As a `Vec` of plain values. All zeros is an empty one; it is not freed unless [`List::drop_all`] is called.
#[repr(C)]
pub(crate) struct List<T: Copy> {
    items: *mut T,
    len: u32,
    /// How many items there is room for, and [`BORROWED`].
    room: u32,
}

/// Set beside a list's room if its memory is not the pool's.
const BORROWED: u32 = 1 << 31;

impl<T: Copy> List<T> {
    /// An empty list.
    pub(crate) const fn new() -> Self {
        List { items: null_mut(), len: 0, room: 0 }
    }

    /// How many items there is room for.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        (self.room & !BORROWED) as usize
    }

    /// Makes room for `count` items in all.
    #[inline(always)]
    fn reserve(&mut self, count: usize) {
        if count > self.room() {
            self.grow(count);
        }
    }

    /// Empties the list, which has no memory yet, into a line of the processor's caches that it uses as long as it has room there.
    ///
    /// # Safety
    /// The line is nobody else's, is aligned for items, and lasts as long as the list.
    pub(super) unsafe fn borrow_line(&mut self, line: *mut T) {
        *self = List { items: line, len: 0, room: (LINE / size_of::<T>()) as u32 | BORROWED };
    }

    /// Takes a line of the processor's caches at least, which no other list has a part of.
    pub(super) fn reserve_line(&mut self) {
        self.reserve(LINE / size_of::<T>());
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, count: usize) {
        let bytes = pool::room(count * size_of::<T>());
        let items = pool::take(bytes).cast::<T>();
        if !self.items.is_null() {
            // SAFETY: the new memory has room for the items that are there.
            unsafe { core::ptr::copy_nonoverlapping(self.items, items, self.len as usize) };
            self.give_back();
        }
        self.items = items;
        self.room = (bytes / size_of::<T>()) as u32;
    }

    /// The item at an index, if it is there.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> Option<T> {
        // SAFETY: `len` items are there.
        (index < self.len as usize).then(|| unsafe { *self.items.add(index) })
    }

    /// Puts an item at the end.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        self.reserve(self.len as usize + 1);
        // SAFETY: there is room for it.
        unsafe { self.items.add(self.len as usize).write(item) };
        self.len += 1;
    }

    /// Makes the list `len` items long, new ones being `item`.
    pub(crate) fn resize(&mut self, len: usize, item: T) {
        self.reserve(len);
        for at in self.len as usize..len {
            // SAFETY: there is room for them.
            unsafe { self.items.add(at).write(item) };
        }
        self.len = len as u32;
    }

    /// Takes an item out, the rest keeping its order.
    pub(crate) fn remove(&mut self, at: usize) -> T {
        let item = self[at];
        // Mostly it is the last one: locks are given back in the opposite order.
        if at + 1 < self.len as usize {
            self.copy_within(at + 1.., at);
        }
        self.len -= 1;
        item
    }

    /// Takes an item out; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize) -> T {
        let item = self[at];
        self[at] = self[self.len as usize - 1];
        self.len -= 1;
        item
    }

    /// Makes the list empty and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes the list empty and gives its memory back.
    pub(crate) fn drop_all(&mut self) {
        self.give_back();
        *self = List::new();
    }

    /// Gives its memory back, which is not used any more, unless it is borrowed.
    fn give_back(&self) {
        if !self.items.is_null() && self.room & BORROWED == 0 {
            // SAFETY: it was taken for `room` items, and nobody else has it.
            unsafe { pool::give(self.items.cast(), self.room as usize * size_of::<T>()) };
        }
    }
}

impl<T: Copy> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        if self.items.is_null() {
            return &[];
        }
        // SAFETY: `len` items are there.
        unsafe { core::slice::from_raw_parts(self.items, self.len as usize) }
    }
}

impl<T: Copy> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.items.is_null() {
            return &mut [];
        }
        // SAFETY: `len` items are there.
        unsafe { core::slice::from_raw_parts_mut(self.items, self.len as usize) }
    }
}
