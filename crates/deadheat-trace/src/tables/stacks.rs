//! The tree of call sites.

use deadheat_core::ids::{PlaceId, StackId};

use crate::hash::Map;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    place: u32,
}

/// How many calls are remembered for [`Stacks::push`].
const RECENT: usize = 4096;

/// A call that was made lately: from a place, in a stack, giving a stack.
#[derive(Clone, Copy, Debug)]
struct Recent {
    parent: u32,
    place: u32,
    child: u32,
}

/// The tree: a node is a call site below a node; node 0 is the empty stack.
#[derive(Debug)]
pub struct Stacks {
    nodes: Vec<Node>,
    children: Map<(u32, u32), u32>,
    /// Calls made lately, each where [`recent`] says: most calls were made before.
    recent: Box<[Recent; RECENT]>,
}

/// Where a call is remembered.
#[inline]
fn recent(parent: u32, place: u32) -> usize {
    (parent.wrapping_mul(0x9e37_79b1) ^ place.wrapping_mul(0x85eb_ca6b)) as usize >> 16 & (RECENT - 1)
}

impl Default for Stacks {
    fn default() -> Self {
        let root = Node { parent: 0, place: 0 };
        // A child is never 0, the empty stack.
        let nothing = Recent { parent: 0, place: 0, child: 0 };
        Stacks { nodes: vec![root], children: Map::default(), recent: Box::new([nothing; RECENT]) }
    }
}

impl Stacks {
    /// The innermost call site and the stack that it was called in; `None` for the empty stack.
    #[must_use]
    #[inline]
    pub fn parent(&self, stack: StackId) -> Option<(StackId, PlaceId)> {
        if stack == StackId::EMPTY {
            return None;
        }
        let node = self.nodes.get(stack.0 as usize)?;
        Some((StackId(node.parent), PlaceId(node.place)))
    }

    /// The call sites from the innermost outwards.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = PlaceId> + '_ {
        let mut stack = stack;
        std::iter::from_fn(move || {
            let (parent, place) = self.parent(stack)?;
            stack = parent;
            Some(place)
        })
    }

    /// The stack after `more` + 1 returns; `None` if there are not as many.
    #[inline]
    pub(crate) fn ancestor(&self, mut stack: StackId, more: u8) -> Option<StackId> {
        for _ in 0..=more {
            stack = self.parent(stack)?.0;
        }
        Some(stack)
    }

    /// The stack that a call from `place` in `stack` made, if there was such a call.
    #[must_use]
    pub fn child(&self, stack: StackId, place: PlaceId) -> Option<StackId> {
        self.children.get(&(stack.0, place.0)).copied().map(StackId)
    }

    /// How many stacks there are, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether only the empty stack is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// The stack that a call from `place` in `stack` makes. One comparison if such a call was made
    /// lately.
    #[inline]
    pub fn push(&mut self, stack: StackId, place: PlaceId) -> StackId {
        let known = self.recent[recent(stack.0, place.0)];
        if known.parent == stack.0 && known.place == place.0 && known.child != 0 {
            return StackId(known.child);
        }
        self.push_other(stack, place)
    }

    #[cold]
    fn push_other(&mut self, stack: StackId, place: PlaceId) -> StackId {
        let next = self.nodes.len() as u32;
        let child = *self.children.entry((stack.0, place.0)).or_insert(next);
        if child == next {
            self.nodes.push(Node { parent: stack.0, place: place.0 });
        }
        self.recent[recent(stack.0, place.0)] = Recent { parent: stack.0, place: place.0, child };
        StackId(child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_have_one_id() {
        let mut stacks = Stacks::default();
        let a = stacks.push(StackId::EMPTY, PlaceId(5));
        let b = stacks.push(a, PlaceId(6));
        let c = stacks.push(a, PlaceId(7));
        assert_eq!(stacks.push(a, PlaceId(6)), b);
        assert_eq!(stacks.push(a, PlaceId(7)), c);
        assert_eq!(stacks.frames(c).collect::<Vec<_>>(), [PlaceId(7), PlaceId(5)]);
        assert_eq!(stacks.len(), 4);
    }
}
