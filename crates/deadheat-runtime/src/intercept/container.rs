//! The functions of libstdc++ that link the nodes of `std::map`, `std::set` and `std::list`: they
//! are in the library, so nothing else sees what they touch.
//!
//! Recorded are the links that a call reads or changes for certain, and not what a tree's
//! rebalancing changes besides.

use super::touch::{reads, writes};
use crate::cold::start;

/// `std::_Rb_tree_node_base`; of a tree's header `parent` is the root, `left` the first node and
/// `right` the last.
#[repr(C)]
struct TreeNode {
    colour: u32,
    parent: *mut TreeNode,
    left: *mut TreeNode,
    right: *mut TreeNode,
}

/// `std::__detail::_List_node_base`
#[repr(C)]
struct ListNode {
    next: *mut ListNode,
    previous: *mut ListNode,
}

intercept! {
    /// `std::_Rb_tree_insert_and_rebalance`
    fn dh_wrap__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ / insert_and_rebalance(
        left: bool, node: *mut TreeNode, parent: *mut TreeNode, header: *mut TreeNode,
    ); pc {
        type Real = unsafe extern "C" fn(bool, *mut TreeNode, *mut TreeNode, *mut TreeNode);
        // SAFETY: the real function looks at all that is looked at here.
        unsafe {
            if start::recording() {
                writes(pc, node, 1);
                if parent == header {
                    writes(pc, &raw const (*header).parent, 3);
                } else if left {
                    writes(pc, &raw const (*parent).left, 1);
                    if parent == (*header).left {
                        writes(pc, &raw const (*header).left, 1);
                    }
                } else {
                    writes(pc, &raw const (*parent).right, 1);
                    if parent == (*header).right {
                        writes(pc, &raw const (*header).right, 1);
                    }
                }
            }
            real!("_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", Real)(left, node, parent, header);
        }
    }
}

intercept! {
    /// `std::_Rb_tree_rebalance_for_erase`
    fn dh_wrap__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ / rebalance_for_erase(
        node: *mut TreeNode, header: *mut TreeNode,
    ) -> *mut TreeNode; pc {
        type Real = unsafe extern "C" fn(*mut TreeNode, *mut TreeNode) -> *mut TreeNode;
        // SAFETY: the real function looks at all that is looked at here.
        unsafe {
            if start::recording() {
                let parent = (*node).parent;
                let link = if (*header).parent == node {
                    &raw const (*header).parent
                } else if (*parent).left == node {
                    &raw const (*parent).left
                } else {
                    &raw const (*parent).right
                };
                writes(pc, link, 1);
            }
            real!("_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", Real)(node, header)
        }
    }
}

macro_rules! steps {
    ($($export:ident / $inner:ident $name:literal $link:ident)*) => {$(
        intercept! {
            fn $export / $inner(node: *mut TreeNode) -> *mut TreeNode; pc {
                type Real = unsafe extern "C" fn(*mut TreeNode) -> *mut TreeNode;
                // SAFETY: the real function begins with this link.
                unsafe {
                    if start::recording() {
                        reads(pc, &raw const (*node).$link, 1);
                    }
                    real!($name, Real)(node)
                }
            }
        }
    )*};
}

steps! {
    dh_wrap__ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base / increment
        "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base" right
    dh_wrap__ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base / increment_const
        "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base" right
    dh_wrap__ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base / decrement
        "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base" colour
    dh_wrap__ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base / decrement_const
        "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base" colour
}

intercept! {
    /// `std::__detail::_List_node_base::_M_hook`
    fn dh_wrap__ZNSt8__detail15_List_node_base7_M_hookEPS0_ / hook(node: *mut ListNode, at: *mut ListNode); pc {
        type Real = unsafe extern "C" fn(*mut ListNode, *mut ListNode);
        // SAFETY: the real function changes these links.
        unsafe {
            if start::recording() {
                writes(pc, node, 1);
                writes(pc, &raw const (*(*at).previous).next, 1);
                writes(pc, &raw const (*at).previous, 1);
            }
            real!("_ZNSt8__detail15_List_node_base7_M_hookEPS0_", Real)(node, at);
        }
    }
}

intercept! {
    /// `std::__detail::_List_node_base::_M_unhook`
    fn dh_wrap__ZNSt8__detail15_List_node_base9_M_unhookEv / unhook(node: *mut ListNode); pc {
        type Real = unsafe extern "C" fn(*mut ListNode);
        // SAFETY: the real function reads the node's links and changes those to it.
        unsafe {
            if start::recording() {
                reads(pc, node, 1);
                writes(pc, &raw const (*(*node).previous).next, 1);
                writes(pc, &raw const (*(*node).next).previous, 1);
            }
            real!("_ZNSt8__detail15_List_node_base9_M_unhookEv", Real)(node);
        }
    }
}
