//! A program as lines of source code; differences between languages are in a [`Dialect`].

use super::Function;
use crate::graph::{Handle, Node};
use crate::program::Usage;

/// Syntax of a language.
pub(super) trait Dialect {
    /// A number.
    fn number(&self, x: f64) -> String {
        format!("{x:?}")
    }
    /// An entry of an input or output.
    fn entry(&self, array: &str, index: usize) -> String {
        format!("{array}[{index}]")
    }
    /// A new variable.
    fn declare(&self, name: &str, value: &str) -> String;
    /// An output.
    fn store(&self, entry: &str, value: &str) -> String;
    /// Sets entries `first` … `last` − 1 of an output to zero, where the language has a short form.
    fn clear(&self, _array: &str, _first: usize, _last: usize) -> Option<String> {
        None
    }
    /// a · b + c.
    fn fused(&self, a: &str, b: &str, c: &str) -> String;
    /// √x.
    fn sqrt(&self, x: &str) -> String;
    /// left < right ? yes : no.
    fn select(&self, left: &str, right: &str, yes: &str, no: &str) -> String;
    /// A number where a variable is expected.
    fn constant(&self, x: f64) -> String {
        self.number(x)
    }
    /// Sine and cosine of angle k of the list computed first.
    fn listed_sine(&self, k: usize) -> (String, String);
    /// Lines that set `sin` and `cos` to those of a computed angle.
    fn sin_cos(&self, angle: &str, sin: &str, cos: &str) -> Vec<String>;
}

/// The body of a function.
pub(super) struct Body {
    /// Angles whose sines and cosines are all computed first.
    pub angles: Vec<String>,
    /// The statements after that.
    pub lines: Vec<String>,
}

pub(super) fn body(function: &Function, dialect: &dyn Dialect) -> Body {
    let program = &function.program;
    let operations = &program.operations;
    let Usage {
        fusible,
        in_angle_only,
    } = program.usage();
    let mut walk = Walk {
        function,
        dialect,
        text: vec![String::new(); operations.len()],
        angles: Vec::new(),
        listed: Vec::new(),
        lines: Vec::new(),
        temporaries: 0,
    };
    // outputs are stored as soon as they are computed; zeros of matrices first, many at a time
    let mut stores: Vec<Vec<(usize, bool)>> = vec![Vec::new(); operations.len()];
    let cleared = walk.clear_zeros();
    for (k, output) in program.outputs.iter().enumerate() {
        if cleared[k] {
            continue;
        }
        stores[output.node()].push((k, output.negative()));
    }
    for (at, &operation) in operations.iter().enumerate() {
        match operation {
            Node::Constant(number) => walk.text[at] = dialect.number(number.value()),
            Node::Symbol(k) => {
                let (array, index) = function.place(&program.symbols[k as usize]);
                walk.text[at] = dialect.entry(array, index);
            }
            Node::Add(a, b) => {
                if in_angle_only[at] && walk.simple_angle(operation) {
                    // written where the angles are listed
                    walk.text[at] = walk.sum(a, b);
                } else {
                    let (first, second) = (fusible[a.node()], fusible[b.node()]);
                    if first && second {
                        walk.name_product(a.node());
                    }
                    let value = if second {
                        walk.fused(b, &walk.text[a.node()].clone())
                    } else if first {
                        walk.fused(a, &walk.signed(b))
                    } else {
                        walk.sum(a, b)
                    };
                    walk.name(at, &value);
                }
            }
            Node::Mul(..) if fusible[at] => {}
            Node::Mul(..) => walk.name_product(at),
            Node::Recip(a) => {
                let value = format!("{} / {}", dialect.number(1.0), walk.text[a.node()]);
                walk.name(at, &value);
            }
            Node::Sqrt(a) => {
                let value = dialect.sqrt(&walk.signed(a));
                walk.name(at, &value);
            }
            Node::Sin(a) => walk.text[at] = walk.sine(a).0,
            Node::Cos(a) => walk.text[at] = walk.sine(a).1,
            Node::Select {
                left,
                right,
                yes,
                no,
            } => {
                let [left, right, yes, no] = [left, right, yes, no].map(|x| walk.whole(x));
                let value = dialect.select(&left, &right, &yes, &no);
                walk.name(at, &value);
            }
        }
        for &(k, negative) in &stores[at] {
            let (array, index) = output_place(function, k);
            let entry = dialect.entry(array, index);
            let value = walk.whole(Handle::new(at, negative));
            let line = dialect.store(&entry, &value);
            walk.lines.push(line);
        }
    }
    Body {
        angles: walk.angles,
        lines: walk.lines,
    }
}

/// The output array and index of output number k.
fn output_place(function: &Function, mut k: usize) -> (&'static str, usize) {
    for array in &function.outputs {
        if k < array.length {
            return (array.name, k);
        }
        k -= array.length;
    }
    unreachable!("the program has as many outputs as the arrays hold")
}

struct Walk<'a> {
    function: &'a Function,
    dialect: &'a dyn Dialect,
    /// How the value of each operation is written.
    text: Vec<String>,
    angles: Vec<String>,
    /// Angles by operation: sine and cosine as written.
    listed: Vec<(usize, (String, String))>,
    lines: Vec<String>,
    temporaries: usize,
}

/// Shorter runs of zeros are stored one by one.
const RUN: usize = 4;

impl Walk<'_> {
    /// Sets runs of outputs that are zero; returns which.
    fn clear_zeros(&mut self) -> Vec<bool> {
        let program = &self.function.program;
        let outputs = &program.outputs;
        let is_zero = |k: usize| match program.operations[outputs[k].node()] {
            Node::Constant(number) => number.value() == 0.0,
            _ => false,
        };
        let mut cleared = vec![false; outputs.len()];
        let mut k = 0;
        while k < outputs.len() {
            let (array, first) = output_place(self.function, k);
            let mut length = 0;
            while k + length < outputs.len()
                && is_zero(k + length)
                && output_place(self.function, k + length).0 == array
            {
                length += 1;
            }
            if length >= RUN
                && let Some(line) = self.dialect.clear(array, first, first + length)
            {
                self.lines.push(line);
                cleared[k..k + length].fill(true);
            }
            k += length.max(1);
        }
        cleared
    }

    fn operation(&self, x: usize) -> Node {
        self.function.program.operations[x]
    }

    fn signed(&self, x: Handle) -> String {
        let size = &self.text[x.node()];
        if x.negative() {
            format!("-{size}")
        } else {
            size.clone()
        }
    }

    /// A value that may be a constant, where a variable is expected.
    fn whole(&self, x: Handle) -> String {
        match self.operation(x.node()) {
            Node::Constant(number) => {
                let size = number.value();
                self.dialect
                    .constant(if x.negative() { -size } else { size })
            }
            _ => self.signed(x),
        }
    }

    fn sum(&self, a: Handle, b: Handle) -> String {
        let sign = if b.negative() { '-' } else { '+' };
        format!("{} {sign} {}", self.signed(a), self.text[b.node()])
    }

    fn name(&mut self, at: usize, value: &str) {
        let name = format!("t{}", self.temporaries);
        self.temporaries += 1;
        self.lines.push(self.dialect.declare(&name, value));
        self.text[at] = name;
    }

    fn name_product(&mut self, at: usize) {
        let Node::Mul(a, b) = self.operation(at) else {
            unreachable!("only products come here");
        };
        let value = format!("{} * {}", self.text[a.node()], self.text[b.node()]);
        self.name(at, &value);
    }

    /// ± the product + addend.
    fn fused(&self, product: Handle, addend: &str) -> String {
        let Node::Mul(a, b) = self.operation(product.node()) else {
            unreachable!("only products come here");
        };
        // a number first, so that it takes the sign
        let (a, b) = match self.operation(b.node()) {
            Node::Constant(_) => (b, a),
            _ => (a, b),
        };
        let a = self.signed(Handle::new(a.node(), product.negative()));
        self.dialect.fused(&a, &self.text[b.node()], addend)
    }

    /// A coordinate, or one with a constant added.
    fn simple_angle(&self, operation: Node) -> bool {
        match operation {
            Node::Symbol(_) => true,
            Node::Add(a, b) => {
                let (a, b) = (self.operation(a.node()), self.operation(b.node()));
                matches!(
                    (a, b),
                    (Node::Symbol(_), Node::Constant(_)) | (Node::Constant(_), Node::Symbol(_))
                )
            }
            _ => false,
        }
    }

    fn sine(&mut self, angle: Handle) -> (String, String) {
        let at = angle.node();
        if let Some((_, pair)) = self.listed.iter().find(|(node, _)| *node == at) {
            return pair.clone();
        }
        let pair = if self.simple_angle(self.operation(at)) {
            let k = self.angles.len();
            let text = match self.operation(at) {
                Node::Add(a, b) => self.sum(a, b),
                _ => self.text[at].clone(),
            };
            self.angles.push(text);
            self.dialect.listed_sine(k)
        } else {
            let k = self.temporaries;
            self.temporaries += 1;
            let (sin, cos) = (format!("s{k}"), format!("c{k}"));
            let angle = self.text[at].clone();
            self.lines.extend(self.dialect.sin_cos(&angle, &sin, &cos));
            (sin, cos)
        };
        self.listed.push((at, pair.clone()));
        pair
    }
}
