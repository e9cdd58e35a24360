//! The tree of call sites.

use deadheat_core::ids::{PlaceId, StackId};

use crate::hash::Map;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    place: u32,
    /// The child that was entered last: most calls repeat it.
    latest: u32,
}

/// The tree: a node is a call site below a node; node 0 is the empty stack.
#[derive(Debug)]
pub struct Stacks {
    nodes: Vec<Node>,
    children: Map<(u32, u32), u32>,
}

impl Default for Stacks {
    fn default() -> Self {
        let root = Node { parent: 0, place: 0, latest: 0 };
        Stacks { nodes: vec![root], children: Map::default() }
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
        let node = self.nodes.get(stack.0 as usize)?;
        match self.nodes.get(node.latest as usize) {
            Some(latest) if node.latest != 0 && latest.place == place.0 => Some(StackId(node.latest)),
            _ => self.children.get(&(stack.0, place.0)).copied().map(StackId),
        }
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

    /// The stack that a call from `place` in `stack` makes. One comparison if the last call in
    /// `stack` was from the same place.
    #[inline]
    pub fn push(&mut self, stack: StackId, place: PlaceId) -> StackId {
        let parent = stack.0 as usize;
        let latest = self.nodes[parent].latest;
        if latest != 0 && self.nodes[latest as usize].place == place.0 {
            return StackId(latest);
        }
        self.push_other(stack, place)
    }

    #[cold]
    fn push_other(&mut self, stack: StackId, place: PlaceId) -> StackId {
        let next = self.nodes.len() as u32;
        let id = *self.children.entry((stack.0, place.0)).or_insert(next);
        if id == next {
            self.nodes.push(Node { parent: stack.0, place: place.0, latest: 0 });
        }
        self.nodes[stack.0 as usize].latest = id;
        StackId(id)
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
