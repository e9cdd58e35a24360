//! Blocks behind each other: lists of those that no cell has.

use core::ptr::null_mut;

use super::block::Block;

/// Takes the first block of a list, and gives its class, too.
pub(super) fn first_of(list: &mut *mut Block) -> Option<(*mut Block, usize)> {
    let block = *list;
    if block.is_null() {
        return None;
    }
    // SAFETY: the list's blocks are the caller's.
    unsafe {
        *list = (*block).next;
        Some((block, (*block).class as usize))
    }
}

/// Takes the first blocks of a list, `count` at the most.
pub(super) fn cut(list: &mut *mut Block, count: usize) -> *mut Block {
    let first = *list;
    let mut last = first;
    if first.is_null() {
        return first;
    }
    // SAFETY: the list's blocks are the caller's.
    unsafe {
        for _ in 1..count {
            if (*last).next.is_null() {
                break;
            }
            last = (*last).next;
        }
        *list = core::mem::replace(&mut (*last).next, null_mut());
    }
    first
}

/// Puts the blocks of one list in front of another's.
pub(super) fn append(list: &mut *mut Block, first: *mut Block) {
    let mut last = first;
    if last.is_null() {
        return;
    }
    // SAFETY: the lists' blocks are the callers'.
    unsafe {
        while !(*last).next.is_null() {
            last = (*last).next;
        }
        (*last).next = *list;
    }
    *list = first;
}
