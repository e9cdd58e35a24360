//! The calls that code makes, with the names of the functions called, where the code tells them.

use std::collections::HashSet;
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::image::Image;
use crate::operand::{CLOBBERED, immediate};

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
    /// To a thread-local variable of the calling thread.
    ThreadLocal,
}

/// The direct and indirect calls of a function for x86-64, whose code is in these ranges. `name`
/// gives a function's name.
pub(crate) fn calls(
    image: &Image,
    ranges: &[Range<u64>],
    name: &dyn Fn(u64) -> Option<String>,
) -> Vec<CallSite> {
    let decode = |range: &Range<u64>| -> Vec<Instruction> {
        let code = image.code(range.clone()).unwrap_or_default();
        Decoder::with_ip(64, code, range.start, DecoderOptions::NONE).into_iter().collect()
    };
    let parts: Vec<Vec<Instruction>> = ranges.iter().map(decode).collect();
    let branches = parts.iter().flatten();
    let targets: HashSet<u64> = branches
        .filter(|row| !matches!(row.flow_control(), FlowControl::Next | FlowControl::Call))
        .map(Instruction::near_branch_target)
        .collect();
    // A jump by a table may lead to anywhere: then little is known anywhere.
    let jumps = parts.iter().flatten().any(|row| row.flow_control() == FlowControl::IndirectBranch);
    let mut found = Vec::new();
    for (part, range) in parts.iter().zip(ranges) {
        let known = Known { targets: &targets, jumps };
        part_calls(part, range, &known, name, &mut found);
    }
    found
}

/// Where ways through a function join.
struct Known<'a> {
    /// Targets of branches.
    targets: &'a HashSet<u64>,
    /// Whether there are jumps with targets that are not known.
    jumps: bool,
}

fn part_calls(
    code: &[Instruction],
    range: &Range<u64>,
    known: &Known<'_>,
    name: &dyn Fn(u64) -> Option<String>,
    found: &mut Vec<CallSite>,
) {
    let mut effects = InstructionInfoFactory::new();
    let mut registers = Registers::default();
    for row in code {
        // Another way may lead here, with other contents.
        if known.targets.contains(&row.ip()) {
            registers = Registers::default();
        }
        let callee = match row.flow_control() {
            FlowControl::Call => name(row.near_branch_target()),
            // A jump out of the range in place of a call is the function's last.
            FlowControl::UnconditionalBranch if !range.contains(&row.near_branch_target()) => {
                name(row.near_branch_target())
            }
            FlowControl::IndirectCall => None,
            FlowControl::ConditionalBranch if known.jumps => {
                registers = Registers::default();
                continue;
            }
            FlowControl::Next | FlowControl::ConditionalBranch => {
                registers.step(row, &mut effects);
                continue;
            }
            _ => {
                registers = Registers::default();
                continue;
            }
        };
        let argument = registers.get(Register::RDI);
        found.push(CallSite { address: row.next_ip() - 1, callee, argument });
        match row.flow_control() {
            FlowControl::UnconditionalBranch => registers = Registers::default(),
            _ if known.jumps => registers = Registers::default(),
            _ => CLOBBERED.iter().for_each(|register| registers.set(*register, None)),
        }
    }
}

/// What is constant in the general registers on one way through the code.
#[derive(Default)]
struct Registers([Option<Argument>; 16]);

impl Registers {
    fn get(&self, register: Register) -> Option<Argument> {
        match register {
            Register::RSP => Some(Argument::Stack),
            _ if register.is_gpr64() => self.0[register.number()],
            _ => None,
        }
    }

    fn set(&mut self, register: Register, value: Option<Argument>) {
        if register.is_gpr64() {
            self.0[register.number()] = value;
        }
    }

    /// Takes an instruction: what it writes is unknown, unless it makes an address.
    fn step(&mut self, row: &Instruction, effects: &mut InstructionInfoFactory) {
        let value = self.value(row);
        for used in effects.info(row).used_registers() {
            if !matches!(used.access(), OpAccess::None | OpAccess::Read | OpAccess::CondRead) {
                self.set(used.register().full_register(), None);
            }
        }
        if value.is_some() {
            self.set(row.op0_register().full_register(), value);
        }
    }

    /// The address that an instruction makes.
    fn value(&self, row: &Instruction) -> Option<Argument> {
        let moved = |from: Option<Argument>, distance: i64| match from? {
            Argument::Address(at) => Some(Argument::Address(at.wrapping_add_signed(distance))),
            kept @ (Argument::Stack | Argument::ThreadLocal) => Some(kept),
        };
        match row.mnemonic() {
            Mnemonic::Mov | Mnemonic::Add if is_thread_pointer(row) => Some(Argument::ThreadLocal),
            Mnemonic::Add => moved(self.get(row.op0_register()), immediate(row)?),
            Mnemonic::Sub => moved(self.get(row.op0_register()), immediate(row)?.checked_neg()?),
            Mnemonic::Lea if row.is_ip_rel_memory_operand() => {
                Some(Argument::Address(row.ip_rel_memory_address()))
            }
            Mnemonic::Lea if row.memory_index() == Register::None => {
                moved(self.get(row.memory_base()), row.memory_displacement64() as i64)
            }
            Mnemonic::Mov if row.op0_register().is_gpr64() && row.op1_kind() == OpKind::Register => {
                self.get(row.op1_register())
            }
            Mnemonic::Mov if row.op0_register().is_gpr32() && row.op1_kind() == OpKind::Immediate32 => {
                Some(Argument::Address(u64::from(row.immediate32())))
            }
            _ => None,
        }
    }
}

/// Whether an instruction reads the address of the thread's own storage: `fs:[0]`.
fn is_thread_pointer(row: &Instruction) -> bool {
    row.op0_register().is_gpr64()
        && row.op1_kind() == OpKind::Memory
        && row.segment_prefix() == Register::FS
        && (row.memory_base(), row.memory_index()) == (Register::None, Register::None)
        && row.memory_displacement64() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first argument's register after this code.
    fn after(code: &[u8]) -> Option<Argument> {
        let mut registers = Registers::default();
        let mut effects = InstructionInfoFactory::new();
        for row in Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE) {
            registers.step(&row, &mut effects);
        }
        registers.get(Register::RDI)
    }

    #[test]
    fn what_is_constant_in_the_first_register() {
        // lea rdi, [rsp + 8]; lea rdi, [rip + 0x10]; mov edi, 0x404040
        assert_eq!(after(&[0x48, 0x8d, 0x7c, 0x24, 8]), Some(Argument::Stack));
        assert_eq!(after(&[0x48, 0x8d, 0x3d, 0x10, 0, 0, 0]), Some(Argument::Address(0x1017)));
        assert_eq!(after(&[0xbf, 0x40, 0x40, 0x40, 0]), Some(Argument::Address(0x40_4040)));
        // lea rbx, [rsp + 8]; mov rdi, rbx
        assert_eq!(after(&[0x48, 0x8d, 0x5c, 0x24, 8, 0x48, 0x89, 0xdf]), Some(Argument::Stack));
        // lea rdi, [rip + 0x10]; lea rdi, [rdi + 4]
        let moved = [0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, 0x48, 0x8d, 0x7f, 4];
        assert_eq!(after(&moved), Some(Argument::Address(0x101b)));
    }

    #[test]
    fn what_is_of_the_thread_itself() {
        // mov rdi, fs:[0]; add rdi, -4
        let read = [0x64, 0x48, 0x8b, 0x3c, 0x25, 0, 0, 0, 0, 0x48, 0x83, 0xc7, 0xfc];
        assert_eq!(after(&read), Some(Argument::ThreadLocal));
        // mov rdi, [rip]; add rdi, fs:[0]
        let added = [0x48, 0x8b, 0x3d, 0, 0, 0, 0, 0x64, 0x48, 0x03, 0x3c, 0x25, 0, 0, 0, 0];
        assert_eq!(after(&added), Some(Argument::ThreadLocal));
        // mov rdi, fs:[0x10]
        assert_eq!(after(&[0x64, 0x48, 0x8b, 0x3c, 0x25, 0x10, 0, 0, 0]), None);
    }

    #[test]
    fn what_is_not_is_unknown() {
        // lea rdi, [rsp + 8], and then: mov rdi, rbx; mov edi, ebx; inc rdi; lea rdi, [rdi + rax]
        let set = [0x48, 0x8d, 0x7c, 0x24, 8];
        let lost = [&[0x48, 0x89, 0xdf][..], &[0x89, 0xdf], &[0x48, 0xff, 0xc7], &[0x48, 0x8d, 0x3c, 0x07]];
        for lost in lost {
            assert_eq!(after(&[&set[..], lost].concat()), None, "{lost:x?}");
        }
        // mov rax, rdi
        assert_eq!(after(&[&set[..], &[0x48, 0x89, 0xf8]].concat()), Some(Argument::Stack));
    }

    #[test]
    fn calls_keep_some_registers_and_branches_none() {
        let found = |code: &[u8]| {
            let rows: Vec<_> = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).into_iter().collect();
            let targets = rows.iter().filter(|row| row.flow_control() == FlowControl::ConditionalBranch);
            let targets = targets.map(Instruction::near_branch_target).collect();
            let (range, mut found) = (0x1000..0x1000 + code.len() as u64, Vec::new());
            let known = Known { targets: &targets, jumps: false };
            part_calls(&rows, &range, &known, &|_| None, &mut found);
            found.iter().map(|call| call.argument).collect::<Vec<_>>()
        };
        const CALL: [u8; 5] = [0xe8, 0, 1, 0, 0];
        // lea rbx, [rsp + 8]; mov rdi, rbx; call; call; mov rdi, rbx; call
        let kept =
            [&[0x48, 0x8d, 0x5c, 0x24, 8, 0x48, 0x89, 0xdf][..], &CALL, &CALL, &[0x48, 0x89, 0xdf], &CALL];
        assert_eq!(found(&kept.concat()), [Some(Argument::Stack), None, Some(Argument::Stack)]);
        // lea rdi, [rsp + 8]; je to the next; call
        let branch = [&[0x48, 0x8d, 0x7c, 0x24, 8, 0x74, 0][..], &CALL];
        assert_eq!(found(&branch.concat()), [None]);
    }
}
