//! From a program to machine operations: fused multiply-adds, signs as subtractions.

use super::encode::{Base, Place};
use crate::Program;
use crate::graph::{Handle, Node};
use crate::program::Usage;
use catena::error::{Error, ErrorKind, Result};
use catena::native::Angle;
use std::collections::HashMap;

/// A value that is computed, or in memory from the beginning.
pub(super) type Value = u32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Add(Value, Value, Value),
    Sub(Value, Value, Value),
    Mul(Value, Value, Value),
    Div(Value, Value, Value),
    Sqrt(Value, Value),
    /// to = ± a·b ± c.
    Fused {
        to: Value,
        product: [Value; 2],
        addend: Value,
        negative_product: bool,
        negative_addend: bool,
    },
    Select {
        to: Value,
        /// left, right, yes, no.
        of: [Value; 4],
    },
    /// Writes an output.
    Store(Value, u32),
}

impl Step {
    /// What it reads.
    pub fn operands(&self, mut read: impl FnMut(Value)) {
        match *self {
            Step::Add(_, a, b) | Step::Sub(_, a, b) | Step::Mul(_, a, b) | Step::Div(_, a, b) => {
                read(a);
                read(b);
            }
            Step::Sqrt(_, a) | Step::Store(a, _) => read(a),
            Step::Fused {
                product, addend, ..
            } => {
                read(product[0]);
                read(product[1]);
                read(addend);
            }
            Step::Select { of, .. } => of.into_iter().for_each(read),
        }
    }
}

/// A program for a machine.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub steps: Vec<Step>,
    /// Place of a value that is in memory from the beginning.
    pub home: Vec<Option<Place>>,
    pub constants: Vec<f64>,
    /// Angles whose sines lie at the beginning of the frame, and then their cosines.
    pub angles: Vec<Angle>,
    /// Number of values of q, v and the input that it may read.
    pub inputs: [usize; 3],
}

/// The steps of a program whose symbols are entries of `q`, `v` and one of `vdot` and `tau`, with its results in these places.
pub(super) fn lowered(program: &Program, places: &[Option<u32>]) -> Result<Steps> {
    Lowering::new(program)?.done(places)
}

/// Indices of results among the outputs of code, and the number of outputs: among the first few results each distinct value is stored
/// once and zeros are not stored; the others follow one after another.
pub(super) fn places(program: &Program, shared: usize) -> (Vec<Option<u32>>, usize) {
    let mut known: HashMap<Handle, u32> = HashMap::new();
    let mut places = Vec::with_capacity(program.outputs.len());
    let mut count = 0;
    for (k, &output) in program.outputs.iter().enumerate() {
        let zero =
            matches!(program.operations[output.node()], Node::Constant(x) if x.value() == 0.0);
        let place = match known.get(&output) {
            _ if k < shared && zero => None,
            Some(&place) if k < shared => Some(place),
            _ => {
                known.insert(output, count);
                count += 1;
                Some(count - 1)
            }
        };
        places.push(place);
    }
    (places, count as usize)
}

struct Lowering<'a> {
    program: &'a Program,
    out: Steps,
    value: Vec<Option<Value>>,
    constants: HashMap<u64, Value>,
    /// The sine and cosine of an angle, by the operation that computes it.
    listed: HashMap<usize, [Value; 2]>,
    usage: Usage,
}

impl<'a> Lowering<'a> {
    fn new(program: &'a Program) -> Result<Self> {
        let mut lowering = Lowering {
            program,
            out: Steps::default(),
            value: vec![None; program.operations.len()],
            constants: HashMap::new(),
            listed: HashMap::new(),
            usage: program.usage(),
        };
        lowering.list_angles()?;
        Ok(lowering)
    }

    /// Lists the angles whose sines are needed; all are computed before the call.
    fn list_angles(&mut self) -> Result<()> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.program.operations.len()];
        for &operation in &self.program.operations {
            if let Node::Sin(x) | Node::Cos(x) = operation
                && !std::mem::replace(&mut seen[x.node()], true)
            {
                order.push(x.node());
                let angle = self.angle(x.node()).ok_or_else(|| {
                    Error::new(
                        ErrorKind::Unsupported,
                        "an angle of this model is more than a coordinate and a constant",
                    )
                    .hint("such a model runs on the general recursions")
                })?;
                self.out.angles.push(angle);
            }
        }
        let count = order.len() as u32;
        for (k, at) in order.into_iter().enumerate() {
            let pair =
                [0, count].map(|first| self.new_value(Some((Base::Frame, first + k as u32))));
            self.listed.insert(at, pair);
        }
        Ok(())
    }

    /// A coordinate times a constant, plus a constant: joints that follow others turn by a multiple of a coordinate.
    fn angle(&self, at: usize) -> Option<Angle> {
        let (position, factor, offset) = self.affine(Handle::new(at, false))?;
        Some(Angle {
            position: position?,
            factor,
            offset,
        })
    }

    /// Position, factor and offset of factor · q + offset; a constant has no position.
    fn affine(&self, x: Handle) -> Option<(Option<usize>, f64, f64)> {
        let sign = if x.negative() { -1.0 } else { 1.0 };
        let (position, factor, offset) = match self.program.operations[x.node()] {
            Node::Constant(number) => (None, 0.0, number.value()),
            Node::Symbol(k) => match self.place(k) {
                Some((Base::Positions, index)) => (Some(index as usize), 1.0, 0.0),
                _ => return None,
            },
            Node::Add(a, b) => {
                let (a, b) = (self.affine(a)?, self.affine(b)?);
                let position = match (a.0, b.0) {
                    (Some(p), Some(q)) if p != q => return None,
                    (p, q) => p.or(q),
                };
                (position, a.1 + b.1, a.2 + b.2)
            }
            Node::Mul(a, b) => match (self.affine(a)?, self.affine(b)?) {
                ((None, _, k), (p, factor, offset)) | ((p, factor, offset), (None, _, k)) => {
                    (p, k * factor, k * offset)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((position, sign * factor, sign * offset))
    }

    /// Location of a symbol's number.
    fn place(&self, symbol: u32) -> Option<(Base, u32)> {
        let name = &self.program.symbols[symbol as usize];
        let (array, index) = name.trim_end_matches(']').split_once('[')?;
        let base = match array {
            "q" => Base::Positions,
            "v" => Base::Velocities,
            "vdot" | "tau" => Base::Input,
            _ => return None,
        };
        Some((base, index.parse().ok()?))
    }

    fn new_value(&mut self, home: Option<(Base, u32)>) -> Value {
        self.out
            .home
            .push(home.map(|(base, index)| Place { base, index }));
        self.out.home.len() as Value - 1
    }

    fn constant(&mut self, x: f64) -> Value {
        if let Some(&value) = self.constants.get(&x.to_bits()) {
            return value;
        }
        let place = (Base::Constants, self.out.constants.len() as u32);
        self.out.constants.push(x);
        let value = self.new_value(Some(place));
        self.constants.insert(x.to_bits(), value);
        value
    }

    /// The value of an operation, without sign.
    fn size(&mut self, x: Handle) -> Value {
        if let Node::Constant(number) = self.program.operations[x.node()] {
            return self.constant(number.value());
        }
        self.value[x.node()].expect("operands come first")
    }

    /// The value of an operand with its sign.
    fn signed(&mut self, x: Handle) -> Value {
        if !x.negative() {
            return self.size(x);
        }
        if let Node::Constant(number) = self.program.operations[x.node()] {
            return self.constant(-number.value());
        }
        let (minus, size, to) = (self.constant(-1.0), self.size(x), self.new_value(None));
        self.out.steps.push(Step::Mul(to, minus, size));
        to
    }

    fn sum(&mut self, a: Handle, b: Handle) -> Value {
        let (first, second) = (self.usage.fusible[a.node()], self.usage.fusible[b.node()]);
        if first && second {
            self.product(a.node());
        }
        let fused = if second {
            Some((b, a))
        } else if first {
            Some((a, b))
        } else {
            None
        };
        if let Some((product, addend)) = fused {
            let Node::Mul(x, y) = self.program.operations[product.node()] else {
                unreachable!("only products are fused");
            };
            let (negative_product, negative_addend) = (product.negative(), addend.negative());
            let (product, addend) = ([self.size(x), self.size(y)], self.size(addend));
            let to = self.new_value(None);
            self.out.steps.push(Step::Fused {
                to,
                product,
                addend,
                negative_product,
                negative_addend,
            });
            return to;
        }
        let (x, y) = (self.signed(a), self.size(b));
        let to = self.new_value(None);
        self.out.steps.push(if b.negative() {
            Step::Sub(to, x, y)
        } else {
            Step::Add(to, x, y)
        });
        to
    }

    fn product(&mut self, at: usize) {
        let Node::Mul(a, b) = self.program.operations[at] else {
            unreachable!("only products come here");
        };
        let (a, b) = (self.size(a), self.size(b));
        let to = self.new_value(None);
        self.out.steps.push(Step::Mul(to, a, b));
        self.value[at] = Some(to);
    }

    fn done(mut self, places: &[Option<u32>]) -> Result<Steps> {
        let mut stores: Vec<Vec<(u32, bool)>> = vec![Vec::new(); self.program.operations.len()];
        for (place, output) in places.iter().zip(&self.program.outputs) {
            let (stores, negative) = (&mut stores[output.node()], output.negative());
            if let Some(place) = *place
                && !stores.contains(&(place, negative))
            {
                stores.push((place, negative));
            }
        }
        for at in 0..self.program.operations.len() {
            match self.program.operations[at] {
                Node::Constant(_) => {}
                Node::Symbol(k) => {
                    let place = self.place(k).ok_or_else(|| {
                        Error::new(
                            ErrorKind::Unsupported,
                            format!(
                                "`{}` is not an entry of q, v, vdot or tau",
                                self.program.symbols[k as usize]
                            ),
                        )
                    })?;
                    let array = match place.0 {
                        Base::Positions => 0,
                        Base::Velocities => 1,
                        _ => 2,
                    };
                    let read = &mut self.out.inputs[array];
                    *read = (*read).max(place.1 as usize + 1);
                    self.value[at] = Some(self.new_value(Some(place)));
                }
                Node::Add(a, b) => {
                    if !(self.listed.contains_key(&at) && self.usage.in_angle_only[at]) {
                        self.value[at] = Some(self.sum(a, b));
                    }
                }
                Node::Mul(..) if self.usage.fusible[at] => {}
                Node::Mul(..) if self.listed.contains_key(&at) && self.usage.in_angle_only[at] => {}
                Node::Mul(..) => self.product(at),
                Node::Recip(a) => {
                    let (one, a, to) = (self.constant(1.0), self.size(a), self.new_value(None));
                    self.out.steps.push(Step::Div(to, one, a));
                    self.value[at] = Some(to);
                }
                Node::Sqrt(a) => {
                    let (a, to) = (self.signed(a), self.new_value(None));
                    self.out.steps.push(Step::Sqrt(to, a));
                    self.value[at] = Some(to);
                }
                Node::Sin(a) => self.value[at] = Some(self.listed[&a.node()][0]),
                Node::Cos(a) => self.value[at] = Some(self.listed[&a.node()][1]),
                Node::Select {
                    left,
                    right,
                    yes,
                    no,
                } => {
                    let of = [left, right, yes, no].map(|x| self.signed(x));
                    let to = self.new_value(None);
                    self.out.steps.push(Step::Select { to, of });
                    self.value[at] = Some(to);
                }
            }
            let mut signed = [None; 2];
            for &(k, negative) in &stores[at] {
                let value = *signed[usize::from(negative)]
                    .get_or_insert_with(|| self.signed(Handle::new(at, negative)));
                self.out.steps.push(Step::Store(value, k));
            }
        }
        Ok(self.out)
    }
}
