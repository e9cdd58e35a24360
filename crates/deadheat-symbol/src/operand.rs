//! Which stack address a call passes, told from the machine code of the calling function.
//!
//! The function is interpreted with one question in mind: which registers hold a known distance
//! from the canonical frame address (CFA: the stack pointer before the call of the function)?
//! Such a distance is only told if it is the same on every path.
//!
//! Invariant: it never guesses. A function with code that cannot be decoded, with jumps whose
//! targets are not in the code, or with exception tables of an unusual form tells nothing.

use std::collections::HashMap;
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

/// Functions with more code than this are not interpreted.
const MOST_CODE: usize = 1 << 18;
/// The registers that a called function may change.
pub(crate) const CLOBBERED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];
/// What a call leaves on the stack below the CFA: the return address.
const RETURN_ADDRESS: i64 = 8;

/// One contiguous part of a function's code.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    /// The address of its first byte.
    pub(crate) address: u64,
    /// The code.
    pub(crate) code: &'a [u8],
}

/// Calls in this range that throw continue at this address.
pub(crate) type Pad = (Range<u64>, u64);

/// A call, as far as its caller's frame is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    /// Where it goes, if the code says.
    pub(crate) target: Option<u64>,
    /// The registers before it.
    registers: Registers,
}

impl Call {
    /// The distance from the CFA of the first argument.
    pub(crate) fn argument(&self) -> Option<i64> {
        self.registers.get(Register::RDI)
    }

    /// The distance from the CFA of a register, by its number in DWARF.
    pub(crate) fn register(&self, number: u16) -> Option<i64> {
        use Register::{R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
        let order = [RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15];
        order.get(usize::from(number)).and_then(|register| self.registers.get(*register))
    }
}

/// The distance from the CFA of each general register, where it is known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Registers([Option<i64>; 16]);

impl Registers {
    fn get(&self, register: Register) -> Option<i64> {
        if register.is_gpr64() { self.0[register.number()] } else { None }
    }

    fn set(&mut self, register: Register, value: Option<i64>) {
        if register.is_gpr64() {
            self.0[register.number()] = value;
        }
    }

    /// Keeps what both have; whether that is less than before.
    fn meet(&mut self, other: &Registers) -> bool {
        let before = *self;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            if *mine != theirs {
                *mine = None;
            }
        }
        *self != before
    }
}

/// The call whose instruction holds the address `at`, in the function that begins at `entry`.
pub(crate) fn call(parts: &[Part<'_>], entry: u64, pads: &[Pad], at: u64) -> Option<Call> {
    let code = decode(parts)?;
    let wanted = code.iter().position(|row| (row.ip()..row.next_ip()).contains(&at))?;
    let instruction = &code[wanted];
    if !matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
        return None;
    }
    let registers = interpret(&code, entry, pads)?[wanted]?;
    let direct = instruction.flow_control() == FlowControl::Call;
    Some(Call { target: direct.then(|| instruction.near_branch_target()), registers })
}

fn decode(parts: &[Part<'_>]) -> Option<Vec<Instruction>> {
    if parts.iter().map(|part| part.code.len()).sum::<usize>() > MOST_CODE {
        return None;
    }
    let mut code = Vec::new();
    for part in parts {
        let mut decoder = Decoder::with_ip(64, part.code, part.address, DecoderOptions::NONE);
        while decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.is_invalid() || instruction.flow_control() == FlowControl::IndirectBranch {
                return None;
            }
            code.push(instruction);
        }
    }
    Some(code)
}

/// The registers before each instruction; `None` where no known path leads.
fn interpret(code: &[Instruction], entry: u64, pads: &[Pad]) -> Option<Vec<Option<Registers>>> {
    let index: HashMap<u64, usize> = code.iter().zip(0..).map(|(row, index)| (row.ip(), index)).collect();
    let mut effects = InstructionInfoFactory::new();
    let mut before: Vec<Option<Registers>> = vec![None; code.len()];
    let first = *index.get(&entry)?;
    let mut start = Registers::default();
    start.set(Register::RSP, Some(-RETURN_ADDRESS));
    before[first] = Some(start);
    let mut work = vec![first];
    while let Some(at) = work.pop() {
        let Some(registers) = before[at] else { continue };
        let instruction = &code[at];
        let after = step(&mut effects, instruction, registers);
        for target in successors(instruction, pads) {
            // A jump out of the function is a call in the last place.
            let Some(&next) = index.get(&target) else {
                if code.iter().any(|row| (row.ip()..row.next_ip()).contains(&target)) {
                    return None;
                }
                continue;
            };
            let changed = match &mut before[next] {
                Some(known) => known.meet(&after),
                unknown => {
                    *unknown = Some(after);
                    true
                }
            };
            if changed {
                work.push(next);
            }
        }
    }
    Some(before)
}

fn successors(instruction: &Instruction, pads: &[Pad]) -> Vec<u64> {
    let next = instruction.next_ip();
    match instruction.flow_control() {
        FlowControl::UnconditionalBranch => vec![instruction.near_branch_target()],
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
            vec![next, instruction.near_branch_target()]
        }
        FlowControl::Return | FlowControl::Exception => Vec::new(),
        FlowControl::Call | FlowControl::IndirectCall => {
            let thrown = pads.iter().filter(|(calls, _)| calls.contains(&instruction.ip()));
            std::iter::once(next).chain(thrown.map(|(_, pad)| *pad)).collect()
        }
        _ => vec![next],
    }
}

/// The registers after an instruction: those it writes are unknown, unless it is one of the few
/// that compilers make addresses of the frame with.
fn step(effects: &mut InstructionInfoFactory, instruction: &Instruction, before: Registers) -> Registers {
    let mut after = before;
    for used in effects.info(instruction).used_registers() {
        let kept = matches!(used.access(), OpAccess::None | OpAccess::Read | OpAccess::CondRead);
        if !kept {
            after.set(used.register().full_register(), None);
        }
    }
    let (target, source) = (instruction.op0_register(), instruction.op1_register());
    match instruction.mnemonic() {
        Mnemonic::Call => {
            CLOBBERED.iter().for_each(|register| after.set(*register, None));
            after.set(Register::RSP, before.get(Register::RSP));
        }
        Mnemonic::Push | Mnemonic::Pop if target != Register::RSP => {
            let moved = i64::from(instruction.stack_pointer_increment());
            after.set(Register::RSP, before.get(Register::RSP).map(|at| at + moved));
        }
        Mnemonic::Leave => after.set(Register::RSP, before.get(Register::RBP).map(|at| at + 8)),
        Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => {
            after.set(target, before.get(source));
        }
        Mnemonic::Lea if instruction.memory_index() == Register::None => {
            let moved = instruction.memory_displacement64() as i64;
            after.set(target, before.get(instruction.memory_base()).and_then(|at| at.checked_add(moved)));
        }
        Mnemonic::Add | Mnemonic::Sub => {
            if let Some(number) = immediate(instruction) {
                let moved =
                    if instruction.mnemonic() == Mnemonic::Add { Some(number) } else { number.checked_neg() };
                let sum = before.get(target).zip(moved).and_then(|(at, moved)| at.checked_add(moved));
                after.set(target, sum);
            }
        }
        _ => {}
    }
    after
}

/// The number that an instruction adds or subtracts.
pub(crate) fn immediate(instruction: &Instruction) -> Option<i64> {
    let is_number = matches!(instruction.op1_kind(), OpKind::Immediate8to64 | OpKind::Immediate32to64);
    is_number.then(|| instruction.immediate(1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;

    /// What the last call in the code passes.
    fn passed(code: &[u8], pads: &[Pad]) -> Option<i64> {
        let part = Part { address: START, code };
        let rows = decode(std::slice::from_ref(&part))?;
        let last = rows.iter().rev().find(|row| row.flow_control() == FlowControl::Call)?;
        call(&[part], START, pads, last.next_ip() - 1)?.argument()
    }

    // push rbp; mov rbp, rsp; sub rsp, 16
    const PROLOGUE: [u8; 8] = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10];
    const CALL: [u8; 5] = [0xe8, 0, 1, 0, 0];

    fn code(parts: &[&[u8]]) -> Vec<u8> {
        [&PROLOGUE[..], &parts.concat()].concat()
    }

    #[test]
    fn an_address_below_the_frame_pointer() {
        // lea rax, [rbp-4]; mov rdi, rax
        assert_eq!(passed(&code(&[&[0x48, 0x8d, 0x45, 0xfc, 0x48, 0x89, 0xc7], &CALL]), &[]), Some(-20));
        // lea rdi, [rsp+8]
        assert_eq!(passed(&code(&[&[0x48, 0x8d, 0x7c, 0x24, 0x08], &CALL]), &[]), Some(-24));
    }

    #[test]
    fn a_register_that_calls_keep_and_one_that_they_do_not() {
        // lea rbx, [rsp+8]; call; mov rdi, rbx
        let kept = [&[0x48, 0x8d, 0x5c, 0x24, 0x08][..], &CALL, &[0x48, 0x89, 0xdf], &CALL].concat();
        assert_eq!(passed(&code(&[&kept]), &[]), Some(-24));
        // lea rdi, [rsp+8]; call
        let lost = [&[0x48, 0x8d, 0x7c, 0x24, 0x08][..], &CALL, &CALL].concat();
        assert_eq!(passed(&code(&[&lost]), &[]), None);
    }

    #[test]
    fn paths_that_disagree_tell_nothing() {
        // lea rdi, [rsp+8]; je over; lea rdi, [rsp]; over: call
        let paths = [0x48, 0x8d, 0x7c, 0x24, 0x08, 0x74, 0x04, 0x48, 0x8d, 0x3c, 0x24];
        assert_eq!(passed(&code(&[&paths, &CALL]), &[]), None);
        // The same with lea rdi, [rsp+8] on both.
        let paths = [0x48, 0x8d, 0x7c, 0x24, 0x08, 0x74, 0x05, 0x48, 0x8d, 0x7c, 0x24, 0x08];
        assert_eq!(passed(&code(&[&paths, &CALL]), &[]), Some(-24));
        // Loads, narrow writes and conditional moves are not understood.
        for unknown in [&[0x48, 0x8b, 0x3c, 0x24][..], &[0x89, 0xe7], &[0x48, 0x0f, 0x44, 0xfc]] {
            assert_eq!(passed(&code(&[unknown, &CALL]), &[]), None, "{unknown:x?}");
        }
    }

    #[test]
    fn an_exception_is_a_path_too() {
        // lea rbx, [rsp+8]; call; lea rbx, [rsp+8]; call; ret; pad: mov rdi, rbx; call
        let again = [&[0x48, 0x8d, 0x5c, 0x24, 0x08][..], &CALL].concat();
        let other = [&[0x48, 0x8d, 0x1c, 0x24][..], &CALL].concat();
        let pad = [&[0xc3, 0x48, 0x89, 0xdf][..], &CALL].concat();
        let same = code(&[&again, &again, &pad]);
        let at = START + (PROLOGUE.len() + 2 * again.len() + 1) as u64;
        assert_eq!(passed(&same, &[(START..at, at)]), Some(-24));
        assert_eq!(passed(&same, &[]), None);
        let differing = code(&[&again, &other, &pad]);
        assert_eq!(passed(&differing, &[(START..at - 1, at - 1)]), None);
    }

    #[test]
    fn unknown_jumps_tell_nothing() {
        // lea rdi, [rsp+8]; call; jmp rax
        let jumps = [&[0x48, 0x8d, 0x7c, 0x24, 0x08][..], &CALL, &[0xff, 0xe0]].concat();
        assert_eq!(passed(&code(&[&jumps]), &[]), None);
    }
}
