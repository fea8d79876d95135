//! Encoding of the few instructions that straight-line code of doubles needs (Intel's manual, volume 2).
//!
//! An instruction has a destination register, a source register and a last operand that may be in memory. With AVX-512 the prefix
//! is EVEX: 32 registers, and a number in memory can be broadcast to all lanes as it is read. With AVX2 it is VEX: 16 registers.

use catena::native::Width;

/// A register that holds numbers.
pub(super) type Register = u8;

/// The registers that hold addresses when the code is entered: its arguments, in order.
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

/// What an instruction is, before its operands.
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

    /// How many registers there are.
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
