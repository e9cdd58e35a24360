//! The calls that code makes, with the names of the functions called, where the code tells them.

use std::collections::HashSet;
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::image::Image;

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// The address of the call's last byte.
    pub address: u64,
    /// The mangled name of the function called; `None` of a call through a pointer, or through a
    /// table of addresses.
    pub callee: Option<String>,
    /// The first argument, if it is of the same variable each time.
    pub argument: Option<Argument>,
}

/// Where an argument leads, each time that a call is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// To this address, in the module's own address space.
    Address(u64),
    /// To the stack of the calling thread.
    Stack,
}

/// The direct and indirect calls in a range of code for x86-64. `name` gives a function's name.
pub(crate) fn calls(
    image: &Image,
    range: &Range<u64>,
    name: &dyn Fn(u64) -> Option<String>,
    found: &mut Vec<CallSite>,
) {
    let Some(code) = image.code(range.clone()) else { return };
    let code: Vec<Instruction> =
        Decoder::with_ip(64, code, range.start, DecoderOptions::NONE).into_iter().collect();
    let targets: HashSet<u64> = code
        .iter()
        .filter(|row| !matches!(row.flow_control(), FlowControl::Next | FlowControl::Call))
        .map(Instruction::near_branch_target)
        .collect();
    let mut effects = InstructionInfoFactory::new();
    let mut argument = None;
    for row in &code {
        // Another way may lead here, with another argument.
        if targets.contains(&row.ip()) {
            argument = None;
        }
        let callee = match row.flow_control() {
            FlowControl::Call => name(row.near_branch_target()),
            // A jump out of the range in place of a call is the function's last.
            FlowControl::UnconditionalBranch if !range.contains(&row.near_branch_target()) => {
                name(row.near_branch_target())
            }
            FlowControl::IndirectCall => None,
            FlowControl::Next => {
                argument = constant(row, &mut effects, argument);
                continue;
            }
            _ => {
                argument = None;
                continue;
            }
        };
        found.push(CallSite { address: row.next_ip() - 1, callee, argument: argument.take() });
    }
}

/// The constant in the first argument's register after an instruction, `before` before it.
fn constant(
    row: &Instruction,
    effects: &mut InstructionInfoFactory,
    before: Option<Argument>,
) -> Option<Argument> {
    let writes = |access| !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead);
    let changed = effects
        .info(row)
        .used_registers()
        .iter()
        .any(|used| used.register().full_register() == Register::RDI && writes(used.access()));
    if !changed {
        return before;
    }
    match row.mnemonic() {
        Mnemonic::Lea if row.is_ip_rel_memory_operand() && row.op0_register() == Register::RDI => {
            Some(Argument::Address(row.ip_rel_memory_address()))
        }
        Mnemonic::Lea if row.memory_base() == Register::RSP && row.memory_index() == Register::None => {
            Some(Argument::Stack)
        }
        Mnemonic::Mov if row.op1_register() == Register::RSP => Some(Argument::Stack),
        Mnemonic::Mov if matches!(row.op1_kind(), OpKind::Immediate32) => {
            Some(Argument::Address(u64::from(row.immediate32())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_constant_in_the_first_register() {
        let after = |code: &[u8], before| {
            let row = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).decode();
            constant(&row, &mut InstructionInfoFactory::new(), before)
        };
        // lea rdi, [rip + 0x10]; lea rdi, [rsp + 8]; mov edi, 0x404040; mov rdi, rbx; mov rax, rdi
        assert_eq!(after(&[0x48, 0x8d, 0x7c, 0x24, 8], None), Some(Argument::Stack));
        assert_eq!(after(&[0x48, 0x8d, 0x3d, 0x10, 0, 0, 0], None), Some(Argument::Address(0x1017)));
        assert_eq!(after(&[0xbf, 0x40, 0x40, 0x40, 0], None), Some(Argument::Address(0x40_4040)));
        assert_eq!(after(&[0x48, 0x89, 0xdf], Some(Argument::Stack)), None);
        assert_eq!(after(&[0x48, 0x89, 0xf8], Some(Argument::Stack)), Some(Argument::Stack));
    }
}
