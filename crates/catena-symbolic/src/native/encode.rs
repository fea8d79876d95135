//! Encoding of the few instructions that straight-line code of doubles needs (Intel's manual, volume 2).
//!
//! An instruction has a destination register, a source register and a last operand that may be in memory. With AVX-512 the prefix
//! is EVEX: 32 registers, and a number in memory can be broadcast to all lanes as it is read. With AVX2 it is VEX: 16 registers.

use catena::native::Width;

/// A register that holds numbers.
pub(super) type Register = u8;

/// The registers that hold addresses at the call: its arguments, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Sines, cosines and spilled values.
    Frame = 7, // rdi
    /// Constants.
    Constants = 6, // rsi
    Positions = 2,  // rdx
    Velocities = 1, // rcx
    /// Accelerations or efforts.
    Input = 8, // r8
    Output = 9,     // r9
}

/// A number, or a register of them, in memory: its index after the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub base: Base,
    pub index: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Register(Register),
    Memory(Place),
}

/// Sums, products and the like: destination = source ∘ operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    Add = 0x58,
    Mul = 0x59,
    Sub = 0x5c,
    Div = 0x5e,
}

/// Roles of the three operands of a fused multiply-add. The numbers are Intel's: of the operands 1 (the destination), 2
/// (the source) and 3 (the last), the first two digits are multiplied and the third is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Multiply13Add2 = 0x98,
    Multiply21Add3 = 0xa8,
    Multiply23Add1 = 0xb8,
}

const MAP_0F: u8 = 1;
const MAP_0F38: u8 = 2;
const MAP_0F3A: u8 = 3;
const PREFIX_66: u8 = 1;
const PREFIX_F2: u8 = 3;

/// Writes instructions.
pub(super) struct Encoder {
    pub bytes: Vec<u8>,
    width: Width,
}

/// An instruction without its operands.
#[derive(Clone, Copy)]
struct Opcode {
    map: u8,
    prefix: u8,
    code: u8,
    /// The bit that selects doubles; some VEX instructions require it clear.
    wide: bool,
    mask: u8,
}

impl Encoder {
    pub fn new(width: Width) -> Self {
        Encoder {
            bytes: Vec::new(),
            width,
        }
    }

    /// Number of registers.
    pub fn registers(width: Width) -> u8 {
        if extended(width) { 32 } else { 16 }
    }

    pub fn plain(&mut self, what: Plain, to: Register, source: Register, last: Operand) {
        self.instruction(self.arithmetic(what as u8), to, source, last);
    }

    pub fn sqrt(&mut self, to: Register, x: Register) {
        // scalar: the source fills the unused part of the register
        let source = if lanes(self.width) == 1 { x } else { 0 };
        self.instruction(self.arithmetic(0x51), to, source, Operand::Register(x));
    }

    /// ± product ± addend, by `order`.
    pub fn fused(
        &mut self,
        order: Order,
        negative_product: bool,
        negative_addend: bool,
        to: Register,
        source: Register,
        last: Operand,
    ) {
        let kind = match (negative_product, negative_addend) {
            (false, false) => 0,
            (false, true) => 2,
            (true, false) => 4,
            (true, true) => 6,
        };
        let single = u8::from(lanes(self.width) == 1);
        let opcode = Opcode {
            map: MAP_0F38,
            prefix: PREFIX_66,
            code: order as u8 + kind + single,
            wide: true,
            mask: 0,
        };
        self.instruction(opcode, to, source, last);
    }

    pub fn load(&mut self, to: Register, from: Place) {
        if from.base == Base::Constants && lanes(self.width) > 1 && extended(self.width) {
            // vbroadcastsd
            let opcode = Opcode {
                map: MAP_0F38,
                prefix: PREFIX_66,
                code: 0x19,
                wide: true,
                mask: 0,
            };
            return self.instruction_with(opcode, to, 0, Operand::Memory(from), false, 8);
        }
        self.instruction(self.arithmetic(0x10), to, 0, Operand::Memory(from));
    }

    pub fn store(&mut self, to: Place, from: Register) {
        self.instruction(self.arithmetic(0x11), from, 0, Operand::Memory(to));
    }

    pub fn copy(&mut self, to: Register, from: Register) {
        let opcode = Opcode {
            map: MAP_0F,
            prefix: PREFIX_66,
            code: 0x28,
            wide: true,
            mask: 0,
        };
        self.instruction(opcode, to, 0, Operand::Register(from));
    }

    /// `to` = left < right ? yes : no, with `scratch` free for use.
    pub fn select(
        &mut self,
        to: Register,
        [left, right, yes, no]: [Register; 4],
        scratch: Register,
    ) {
        const LESS_QUIETLY: u8 = 0x11;
        let compare = self.arithmetic(0xc2);
        if extended(self.width) {
            let mask = 1;
            self.instruction(compare, mask, left, Operand::Register(right));
            self.bytes.push(LESS_QUIETLY);
            let blend = Opcode {
                map: MAP_0F38,
                prefix: PREFIX_66,
                code: 0x65,
                wide: true,
                mask,
            };
            self.instruction(blend, to, no, Operand::Register(yes));
        } else {
            self.instruction(compare, scratch, left, Operand::Register(right));
            self.bytes.push(LESS_QUIETLY);
            let blend = Opcode {
                map: MAP_0F3A,
                prefix: PREFIX_66,
                code: 0x4b,
                wide: false,
                mask: 0,
            };
            self.instruction(blend, to, no, Operand::Register(yes));
            self.bytes.push(scratch << 4);
        }
    }

    /// Back to the caller.
    pub fn leave(&mut self) {
        if lanes(self.width) > 1 {
            self.bytes.extend([0xc5, 0xf8, 0x77]); // vzeroupper
        }
        self.bytes.push(0xc3); // ret
    }

    /// An instruction of the first map, of one number or of all lanes.
    fn arithmetic(&self, code: u8) -> Opcode {
        Opcode {
            map: MAP_0F,
            prefix: if lanes(self.width) == 1 {
                PREFIX_F2
            } else {
                PREFIX_66
            },
            code,
            wide: true,
            mask: 0,
        }
    }

    fn instruction(&mut self, opcode: Opcode, to: Register, source: Register, last: Operand) {
        let constant = matches!(
            last,
            Operand::Memory(Place {
                base: Base::Constants,
                ..
            })
        );
        let spread = constant && lanes(self.width) > 1 && extended(self.width);
        let step = if spread { 8 } else { 8 * lanes(self.width) };
        self.instruction_with(opcode, to, source, last, spread, step);
    }

    /// Prefix, opcode and operands; numbers in memory are `step` bytes apart, and broadcast to the lanes on request.
    fn instruction_with(
        &mut self,
        opcode: Opcode,
        to: Register,
        source: Register,
        last: Operand,
        spread: bool,
        step: usize,
    ) {
        let (low, third, fourth) = match last {
            Operand::Register(r) => (r & 7, r >> 3 & 1, r >> 4 & 1),
            Operand::Memory(place) => (place.base as u8 & 7, place.base as u8 >> 3, 0),
        };
        let bit = |set: u8, at: u8| (1 - set) << at; // prefixes hold these bits inverted
        if extended(self.width) {
            let length = if lanes(self.width) == 8 { 2 } else { 0 };
            self.bytes.extend([
                0x62,
                bit(to >> 3 & 1, 7)
                    | bit(fourth, 6)
                    | bit(third, 5)
                    | bit(to >> 4 & 1, 4)
                    | opcode.map,
                u8::from(opcode.wide) << 7 | (!source & 15) << 3 | 1 << 2 | opcode.prefix,
                length << 5 | u8::from(spread) << 4 | bit(source >> 4, 3) | opcode.mask,
            ]);
        } else {
            let length = u8::from(lanes(self.width) == 4);
            self.bytes.extend([
                0xc4,
                bit(to >> 3, 7) | 1 << 6 | bit(third, 5) | opcode.map,
                u8::from(opcode.wide) << 7 | (!source & 15) << 3 | length << 2 | opcode.prefix,
            ]);
        }
        self.bytes.push(opcode.code);
        let fields = (to & 7) << 3 | low;
        match last {
            Operand::Register(_) => self.bytes.push(0b1100_0000 | fields),
            Operand::Memory(place) => self.address(fields, place, step),
        }
    }

    /// Base and displacement, as short as possible. With EVEX the short displacement counts numbers, not bytes.
    fn address(&mut self, fields: u8, place: Place, step: usize) {
        let bytes = place.index as usize * step;
        let short = if extended(self.width) {
            place.index as usize
        } else {
            bytes
        };
        if bytes == 0 {
            self.bytes.push(fields);
        } else if short < 128 {
            self.bytes.extend([0b0100_0000 | fields, short as u8]);
        } else {
            self.bytes.push(0b1000_0000 | fields);
            let long = i32::try_from(bytes).expect("the frame is smaller than 2 GB");
            self.bytes.extend(long.to_le_bytes());
        }
    }
}

fn lanes(width: Width) -> usize {
    width.lanes()
}

fn extended(width: Width) -> bool {
    width.extended()
}

/// Every instruction in every form, read back by an independent disassembler.
#[cfg(test)]
mod tests {
    use super::{Base, Encoder, Operand, Order, Place, Plain, Register, extended, lanes};
    use catena::Cpu;
    use catena::native::Width;
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register as Name};

    const BASES: [(Base, Name); 6] = [
        (Base::Frame, Name::RDI),
        (Base::Constants, Name::RSI),
        (Base::Positions, Name::RDX),
        (Base::Velocities, Name::RCX),
        (Base::Input, Name::R8),
        (Base::Output, Name::R9),
    ];
    /// Near the limits of short displacements, and far away.
    const INDICES: [u32; 12] = [0, 1, 3, 4, 5, 15, 16, 31, 127, 128, 129, 1_000_000];

    fn widths() -> [Width; 4] {
        [
            Width::single(Cpu::Avx2),
            Width::lanes_of(Cpu::Avx2),
            Width::single(Cpu::Avx512),
            Width::lanes_of(Cpu::Avx512),
        ]
    }

    fn registers(width: Width) -> std::ops::Range<Register> {
        0..Encoder::registers(width)
    }

    /// Pairs of registers in which each field of the prefixes takes every value.
    fn pairs(width: Width) -> impl Iterator<Item = (Register, Register)> {
        let corners = |r: Register| matches!(r, 0 | 7 | 8 | 15 | 16 | 31);
        let all = registers(width).flat_map(move |to| registers(width).map(move |from| (to, from)));
        all.filter(move |&(to, from)| corners(to) || corners(from))
    }

    /// The disassembler's name of a register.
    fn name(width: Width, register: Register) -> Name {
        let first = match lanes(width) {
            1 => Name::XMM0,
            4 => Name::YMM0,
            _ => Name::ZMM0,
        };
        first + u32::from(register)
    }

    /// All places tested.
    fn places() -> impl Iterator<Item = Place> {
        let at = |(base, _)| INDICES.map(|index| Place { base, index });
        BASES.into_iter().flat_map(at)
    }

    /// Registers and places as last operands.
    fn operands(width: Width) -> impl Iterator<Item = Operand> {
        let registers = registers(width).map(Operand::Register);
        registers.chain(places().map(Operand::Memory))
    }

    /// What the encoder writes, read back; nothing may be left over.
    fn decoded(width: Width, write: impl Fn(&mut Encoder)) -> Vec<Instruction> {
        let mut encoder = Encoder::new(width);
        write(&mut encoder);
        let mut decoder = Decoder::new(64, &encoder.bytes, DecoderOptions::NONE);
        let mut found = Vec::new();
        while decoder.can_decode() {
            let instruction = decoder.decode();
            assert!(!instruction.is_invalid(), "{:02x?}", encoder.bytes);
            found.push(instruction);
        }
        found
    }

    fn only(width: Width, write: impl Fn(&mut Encoder)) -> Instruction {
        let found = decoded(width, write);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0]
    }

    /// Operand `k` is this register.
    fn assert_register(instruction: &Instruction, k: u32, wanted: Name) {
        assert_eq!(instruction.op_kind(k), OpKind::Register, "{instruction:?}");
        assert_eq!(instruction.op_register(k), wanted, "{instruction:?}");
    }

    /// Operand `k` is this place; constants of AVX-512 code in lanes are single numbers that are broadcast.
    fn assert_place(width: Width, instruction: &Instruction, k: u32, place: Place) {
        let spread = place.base == Base::Constants && lanes(width) == 8;
        let step = if spread { 8 } else { 8 * lanes(width) as u64 };
        let base = BASES.iter().find(|(base, _)| *base == place.base);
        assert_eq!(instruction.op_kind(k), OpKind::Memory, "{instruction:?}");
        assert_eq!(Some(instruction.memory_base()), base.map(|(_, name)| *name));
        assert_eq!(instruction.memory_index(), Name::None);
        assert_eq!(
            instruction.memory_displacement64(),
            u64::from(place.index) * step,
            "{instruction:?}"
        );
        let is_load = instruction.mnemonic() == Mnemonic::Vbroadcastsd;
        assert_eq!(instruction.is_broadcast(), spread && !is_load);
    }

    fn assert_last(width: Width, instruction: &Instruction, k: u32, last: Operand) {
        match last {
            Operand::Register(register) => {
                assert_register(instruction, k, name(width, register));
            }
            Operand::Memory(place) => assert_place(width, instruction, k, place),
        }
        assert_eq!(instruction.op_mask(), Name::None);
    }

    #[test]
    fn sums_and_products() {
        for width in widths() {
            let single = lanes(width) == 1;
            for (what, of_one, of_lanes) in [
                (Plain::Add, Mnemonic::Vaddsd, Mnemonic::Vaddpd),
                (Plain::Mul, Mnemonic::Vmulsd, Mnemonic::Vmulpd),
                (Plain::Sub, Mnemonic::Vsubsd, Mnemonic::Vsubpd),
                (Plain::Div, Mnemonic::Vdivsd, Mnemonic::Vdivpd),
            ] {
                for (to, source) in pairs(width) {
                    for last in operands(width) {
                        let found = only(width, |e| e.plain(what, to, source, last));
                        assert_eq!(found.mnemonic(), if single { of_one } else { of_lanes });
                        assert_register(&found, 0, name(width, to));
                        assert_register(&found, 1, name(width, source));
                        assert_last(width, &found, 2, last);
                    }
                }
            }
        }
    }

    #[test]
    fn fused_products() {
        use Mnemonic::*;
        // by order, then by the signs of product and addend; one number and lanes
        let table = [
            (
                Order::Multiply13Add2,
                [
                    (Vfmadd132sd, Vfmadd132pd),
                    (Vfmsub132sd, Vfmsub132pd),
                    (Vfnmadd132sd, Vfnmadd132pd),
                    (Vfnmsub132sd, Vfnmsub132pd),
                ],
            ),
            (
                Order::Multiply21Add3,
                [
                    (Vfmadd213sd, Vfmadd213pd),
                    (Vfmsub213sd, Vfmsub213pd),
                    (Vfnmadd213sd, Vfnmadd213pd),
                    (Vfnmsub213sd, Vfnmsub213pd),
                ],
            ),
            (
                Order::Multiply23Add1,
                [
                    (Vfmadd231sd, Vfmadd231pd),
                    (Vfmsub231sd, Vfmsub231pd),
                    (Vfnmadd231sd, Vfnmadd231pd),
                    (Vfnmsub231sd, Vfnmsub231pd),
                ],
            ),
        ];
        let signs = [(false, false), (false, true), (true, false), (true, true)];
        for width in widths() {
            let single = lanes(width) == 1;
            for (order, mnemonics) in table {
                for ((product, addend), (of_one, of_lanes)) in signs.into_iter().zip(mnemonics) {
                    for (to, source) in pairs(width) {
                        for last in operands(width) {
                            let write =
                                |e: &mut Encoder| e.fused(order, product, addend, to, source, last);
                            let found = only(width, write);
                            assert_eq!(found.mnemonic(), if single { of_one } else { of_lanes });
                            assert_register(&found, 0, name(width, to));
                            assert_register(&found, 1, name(width, source));
                            assert_last(width, &found, 2, last);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn loads_and_stores() {
        for width in widths() {
            let single = lanes(width) == 1;
            let moves = if single {
                Mnemonic::Vmovsd
            } else {
                Mnemonic::Vmovupd
            };
            for register in registers(width) {
                for place in places() {
                    let found = only(width, |e| e.load(register, place));
                    let spread = place.base == Base::Constants && lanes(width) == 8;
                    let wanted = if spread {
                        Mnemonic::Vbroadcastsd
                    } else {
                        moves
                    };
                    assert_eq!(found.mnemonic(), wanted);
                    assert_register(&found, 0, name(width, register));
                    assert_place(width, &found, 1, place);
                    // constants are not written
                    if place.base == Base::Constants {
                        continue;
                    }
                    let found = only(width, |e| e.store(place, register));
                    assert_eq!(found.mnemonic(), moves);
                    assert_place(width, &found, 0, place);
                    assert_register(&found, 1, name(width, register));
                }
            }
        }
    }

    #[test]
    fn copies_and_roots() {
        for width in widths() {
            let single = lanes(width) == 1;
            for to in registers(width) {
                for from in registers(width) {
                    let found = only(width, |e| e.copy(to, from));
                    assert_eq!(found.mnemonic(), Mnemonic::Vmovapd);
                    assert_register(&found, 0, name(width, to));
                    assert_register(&found, 1, name(width, from));
                    let found = only(width, |e| e.sqrt(to, from));
                    let last = found.op_count() - 1;
                    assert_eq!(
                        (found.mnemonic(), last),
                        if single {
                            (Mnemonic::Vsqrtsd, 2)
                        } else {
                            (Mnemonic::Vsqrtpd, 1)
                        }
                    );
                    assert_register(&found, 0, name(width, to));
                    assert_register(&found, 1, name(width, from));
                    assert_register(&found, last, name(width, from));
                }
            }
        }
    }

    #[test]
    fn choices() {
        const LESS_QUIETLY: u8 = 0x11;
        for width in widths() {
            let single = lanes(width) == 1;
            let count = Encoder::registers(width);
            for k in registers(width) {
                // registers that differ, each of them everywhere once
                let r = |step: u8| (k + step) % count;
                let (to, left, right, yes, no, scratch) = (k, r(1), r(2), r(5), r(9), r(13));
                let found = decoded(width, |e| e.select(to, [left, right, yes, no], scratch));
                assert_eq!(found.len(), 2, "{found:?}");
                let (compare, blend) = (&found[0], &found[1]);
                assert_eq!(
                    compare.mnemonic(),
                    if single {
                        Mnemonic::Vcmpsd
                    } else {
                        Mnemonic::Vcmppd
                    }
                );
                assert_register(compare, 1, name(width, left));
                assert_register(compare, 2, name(width, right));
                assert_eq!(compare.immediate8(), LESS_QUIETLY);
                assert_register(blend, 0, name(width, to));
                assert_register(blend, 1, name(width, no));
                assert_register(blend, 2, name(width, yes));
                if extended(width) {
                    assert_register(compare, 0, Name::K1);
                    assert_eq!(blend.mnemonic(), Mnemonic::Vblendmpd);
                    assert_eq!(blend.op_mask(), Name::K1);
                    assert!(!blend.zeroing_masking());
                } else {
                    assert_register(compare, 0, name(width, scratch));
                    assert_eq!(blend.mnemonic(), Mnemonic::Vblendvpd);
                    assert_register(blend, 3, name(width, scratch));
                }
            }
        }
    }

    #[test]
    fn ends() {
        for width in widths() {
            let found: Vec<Mnemonic> = decoded(width, Encoder::leave)
                .iter()
                .map(Instruction::mnemonic)
                .collect();
            let wanted: &[Mnemonic] = match lanes(width) {
                1 => &[Mnemonic::Ret],
                _ => &[Mnemonic::Vzeroupper, Mnemonic::Ret],
            };
            assert_eq!(found, wanted);
        }
    }
}
