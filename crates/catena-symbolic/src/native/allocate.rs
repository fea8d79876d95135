//! Register allocation, and the code that follows from it.
//!
//! The code has no branches, so the next use of every value is known. When a register is needed and none is free, the value
//! whose next use is farthest away is spilled to the frame (Belady), unless it is already in memory. A value in memory that
//! is used once is read by the instruction that uses it.

use super::encode::{Base, Encoder, Operand, Order, Place, Plain, Register};
use super::lower::{Step, Steps, Value};
use catena::native::Width;

/// The code of these steps, and the size of its frame in registers.
pub(super) fn assembled(steps: &Steps, width: Width) -> (Vec<u8>, usize) {
    let mut uses: Vec<Vec<u32>> = vec![Vec::new(); steps.home.len()];
    for (at, step) in steps.steps.iter().enumerate() {
        step.operands(|value| uses[value as usize].push(at as u32));
    }
    for list in &mut uses {
        list.reverse(); // the next use is the last entry
    }
    let mut allocation = Allocation {
        encoder: Encoder::new(width),
        register: vec![None; steps.home.len()],
        home: steps.home.clone(),
        uses,
        holds: vec![None; Encoder::registers(width) as usize],
        frame: 2 * steps.angles.len() as u32,
        free_slots: Vec::new(),
        released: Vec::new(),
        spilled: vec![false; steps.home.len()],
    };
    for (at, step) in steps.steps.iter().enumerate() {
        allocation.step(at as u32, step);
    }
    allocation.encoder.leave();
    (allocation.encoder.bytes, allocation.frame as usize)
}

struct Allocation {
    encoder: Encoder,
    /// Where a value is.
    register: Vec<Option<Register>>,
    home: Vec<Option<Place>>,
    /// When it is used, the next time last.
    uses: Vec<Vec<u32>>,
    holds: Vec<Option<Value>>,
    /// Length of the frame, and places in it that are free again.
    frame: u32,
    free_slots: Vec<u32>,
    /// Places that are free after this step: its instruction may still read them.
    released: Vec<u32>,
    spilled: Vec<bool>,
}

/// A value in memory that is used again within this many steps is loaded into a free register.
const SOON: u32 = 40;

impl Allocation {
    fn step(&mut self, now: u32, step: &Step) {
        self.free_slots.append(&mut self.released);
        match *step {
            Step::Add(to, a, b) => self.commutative(now, Plain::Add, to, a, b),
            Step::Mul(to, a, b) => self.commutative(now, Plain::Mul, to, a, b),
            Step::Sub(to, a, b) => self.ordered(now, Plain::Sub, to, a, b),
            Step::Div(to, a, b) => self.ordered(now, Plain::Div, to, a, b),
            Step::Sqrt(to, a) => {
                let a_in = self.in_register(a, &[]);
                self.used(now, &[a]);
                let to_in = self.place_result(to, &[]);
                self.encoder.sqrt(to_in, a_in);
            }
            Step::Fused {
                to,
                product,
                addend,
                negative_product,
                negative_addend,
            } => self.fused(now, to, product, addend, negative_product, negative_addend),
            Step::Select { to, of } => {
                let mut held: Vec<Value> = Vec::new();
                let registers = of.map(|value| {
                    let register = self.in_register(value, &held);
                    held.push(value);
                    register
                });
                let scratch = self.free_register(&held);
                self.holds[scratch as usize] = Some(to);
                self.register[to as usize] = Some(scratch);
                // the result is written last, so it may overwrite the comparison
                self.encoder.select(scratch, registers, scratch);
                self.used(now, &of);
                self.drop_if_unused(to);
            }
            Step::Store(value, index) => {
                let from = self.in_register(value, &[]);
                let base = Base::Output;
                self.encoder.store(Place { base, index }, from);
                self.used(now, &[value]);
            }
        }
    }

    fn commutative(&mut self, now: u32, what: Plain, to: Value, a: Value, b: Value) {
        // the operand in memory comes last
        let (a, b) = match (self.register[a as usize], self.register[b as usize]) {
            (None, Some(_)) => (b, a),
            (None, None) if self.is_constant(a) => (b, a),
            _ => (a, b),
        };
        self.ordered(now, what, to, a, b);
    }

    fn ordered(&mut self, now: u32, what: Plain, to: Value, a: Value, b: Value) {
        let source = self.in_register(a, &[b]);
        let last = self.operand(now, b, &[a]);
        self.used(now, &[a, b]);
        let to_in = self.place_result(to, &[]);
        self.encoder.plain(what, to_in, source, last);
    }

    fn fused(
        &mut self,
        now: u32,
        to: Value,
        [x, y]: [Value; 2],
        addend: Value,
        negative_product: bool,
        negative_addend: bool,
    ) {
        let all = [x, y, addend];
        // at most one operand stays in memory: the one that is needed least later
        let absent = |s: &Self, v: Value| s.register[v as usize].is_none();
        let mut kept: Option<Value> = None;
        for value in all {
            if absent(self, value)
                && kept.is_none_or(|k| self.later(now, value) > self.later(now, k))
            {
                kept = Some(value);
            }
        }
        // nor one that is used twice
        kept = kept.filter(|k| all.iter().filter(|value| *value == k).count() == 1);
        for value in all {
            if absent(self, value) && kept != Some(value) {
                self.in_register(value, &all);
            }
        }
        // an operand whose register may be overwritten
        let mut over = None;
        for value in [addend, x, y] {
            if kept != Some(value) && self.dies(now, value) {
                over = Some(value);
                break;
            }
        }
        // or the one in memory, or a copy of the addend
        let chosen = over.or(kept).unwrap_or(addend);
        let register = match (over, self.present(chosen)) {
            (Some(_), Operand::Register(register)) => register,
            (_, from) => {
                let register = self.free_register(&all);
                match from {
                    Operand::Register(from) => self.encoder.copy(register, from),
                    Operand::Memory(home) => self.encoder.load(register, home),
                }
                register
            }
        };
        let (order, source, last) = self.operands_of([x, y], addend, chosen);
        self.encoder.fused(
            order,
            negative_product,
            negative_addend,
            register,
            source,
            last,
        );
        self.used(now, &all);
        self.hold(to, register);
        self.drop_if_unused(to);
    }

    /// The order of the operands when `over` is overwritten: source and last.
    fn operands_of(
        &self,
        [x, y]: [Value; 2],
        addend: Value,
        over: Value,
    ) -> (Order, Register, Operand) {
        let (order, source, last) = if over == addend && !(over == x || over == y) {
            let swap = self.register[x as usize].is_none();
            let (x, y) = if swap { (y, x) } else { (x, y) };
            (Order::Multiply23Add1, x, y)
        } else {
            let other = if over == x { y } else { x };
            if self.register[addend as usize].is_none() {
                (Order::Multiply21Add3, other, addend)
            } else {
                (Order::Multiply13Add2, addend, other)
            }
        };
        let source = self.register[source as usize].expect("one operand at most is in memory");
        let last = self.present(last);
        (order, source, last)
    }

    fn is_constant(&self, value: Value) -> bool {
        matches!(self.home[value as usize], Some(place) if place.base == Base::Constants)
    }

    /// Its next use.
    fn later(&self, now: u32, value: Value) -> u32 {
        let next = self.uses[value as usize].iter().rev().find(|&&at| at > now);
        next.copied().unwrap_or(u32::MAX)
    }

    fn dies(&self, now: u32, value: Value) -> bool {
        self.later(now, value) == u32::MAX
    }

    /// A value as last operand: its register, or its place in memory.
    fn operand(&mut self, now: u32, value: Value, others: &[Value]) -> Operand {
        if self.register[value as usize].is_none() {
            let next = self.later(now, value);
            let room = self.holds.iter().any(Option::is_none);
            if next != u32::MAX && next < now + SOON && room {
                return Operand::Register(self.in_register(value, others));
            }
        }
        self.present(value)
    }

    fn present(&self, value: Value) -> Operand {
        match self.register[value as usize] {
            Some(register) => Operand::Register(register),
            None => Operand::Memory(self.home[value as usize].expect("a value is somewhere")),
        }
    }

    /// Loads a value into a register, without evicting the other operands.
    fn in_register(&mut self, value: Value, others: &[Value]) -> Register {
        if let Some(register) = self.register[value as usize] {
            return register;
        }
        let home = self.home[value as usize].expect("a value is somewhere");
        let register = self.free_register(others);
        self.encoder.load(register, home);
        self.hold(value, register);
        register
    }

    fn hold(&mut self, value: Value, register: Register) {
        self.holds[register as usize] = Some(value);
        self.register[value as usize] = Some(register);
    }

    /// A register for a result.
    fn place_result(&mut self, to: Value, others: &[Value]) -> Register {
        let register = self.free_register(others);
        self.hold(to, register);
        self.drop_if_unused(to);
        register
    }

    fn drop_if_unused(&mut self, value: Value) {
        if self.uses[value as usize].is_empty()
            && let Some(register) = self.register[value as usize].take()
        {
            self.holds[register as usize] = None;
        }
    }

    /// A free register, or one freed by spilling the value whose next use is farthest away.
    fn free_register(&mut self, keep: &[Value]) -> Register {
        if let Some(register) = self.holds.iter().position(Option::is_none) {
            return register as Register;
        }
        let mut farthest: Option<(u64, usize)> = None;
        for (register, held) in self.holds.iter().enumerate() {
            let value = held.expect("all are in use");
            if keep.contains(&value) {
                continue;
            }
            let next = u64::from(
                self.uses[value as usize]
                    .last()
                    .copied()
                    .unwrap_or(u32::MAX),
            );
            // at equal distance a value that is already in memory is evicted first
            let rank = 2 * next + u64::from(self.home[value as usize].is_some());
            if farthest.is_none_or(|(best, _)| rank > best) {
                farthest = Some((rank, register));
            }
        }
        let (_, register) = farthest.expect("there are more registers than operands");
        let value = self.holds[register].take().expect("it is in use");
        self.register[value as usize] = None;
        if self.home[value as usize].is_none() {
            let index = self.free_slots.pop().unwrap_or_else(|| {
                self.frame += 1;
                self.frame - 1
            });
            let base = Base::Frame;
            let place = Place { base, index };
            self.home[value as usize] = Some(place);
            self.spilled[value as usize] = true;
            self.encoder.store(place, register as Register);
        }
        register as Register
    }

    /// The operands of this step have been read: those without a further use free their registers and places.
    fn used(&mut self, now: u32, values: &[Value]) {
        for &value in values {
            let uses = &mut self.uses[value as usize];
            while uses.last().is_some_and(|&at| at <= now) {
                uses.pop();
            }
            if uses.is_empty() {
                if let Some(register) = self.register[value as usize].take()
                    && self.holds[register as usize] == Some(value)
                {
                    self.holds[register as usize] = None;
                }
                if self.spilled[value as usize]
                    && let Some(place) = self.home[value as usize].take()
                {
                    self.released.push(place.index);
                }
            }
        }
    }
}
