//! The calls that code makes, with the names of the functions called, where the code tells them.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, FlowControl};

use crate::image::Image;

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// The address of the call's last byte.
    pub address: u64,
    /// The mangled name of the function called; `None` of a call through a pointer, or through a
    /// table of addresses.
    pub callee: Option<String>,
}

/// The direct and indirect calls in a range of code for x86-64. `name` gives a function's name.
pub(crate) fn calls(
    image: &Image,
    range: &Range<u64>,
    name: &dyn Fn(u64) -> Option<String>,
    found: &mut Vec<CallSite>,
) {
    let Some(code) = image.code(range.clone()) else { return };
    let mut decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let callee = match instruction.flow_control() {
            // A jump out of the range in place of a call is the function's last.
            FlowControl::Call => name(instruction.near_branch_target()),
            FlowControl::UnconditionalBranch if !range.contains(&instruction.near_branch_target()) => {
                name(instruction.near_branch_target())
            }
            FlowControl::IndirectCall => None,
            _ => continue,
        };
        found.push(CallSite { address: instruction.next_ip() - 1, callee });
    }
}
