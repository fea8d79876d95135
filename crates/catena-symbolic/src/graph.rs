//! The graph behind [`Expr`](crate::Expr): hash-consed nodes, simplified as they are created.
//!
//! A [`Handle`] is the number of a node and a sign, so −x is x's node and costs nothing, and x − y is a sum.
//! Simplifications when a node is created:
//!
//! ```text
//! numbers            0, 1, ratios exact, other constants as doubles;  k·(l·x) = (k l)·x
//! signs              (−x)·y = −(x·y),  −x − y = −(x + y),  1/(−x) = −(1/x),  sin(−x) = −sin x,  cos(−x) = cos x
//! order              x + y and x·y by the age of their nodes
//! sums               x − x = 0,  x + x = 2·x,  (x + y) − y = x,  k·x + l·x = (k + l)·x
//! inverses           1/(1/x) = x,  x·(1/x) = 1,  √x·√x = x
//! squares            k·sin²x + k·cos²x = k
//! sums of angles     k·sin x·cos y ± k·cos x·sin y = k·sin(x ± y), and cosines alike
//! quarter turns      sin(x + π/2) = cos x, where the constant is a multiple of π/2 to 4 units in the last place
//! ```
//!
//! x·(1/x) = 1 and √x·√x = x hold where both sides are defined.

use crate::number::Number;
use catena::elementary;
use std::collections::HashMap;
use std::f64::consts::FRAC_PI_2;

/// A node and a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Handle(u32);

impl Handle {
    pub const ZERO: Handle = Handle(0);
    pub const ONE: Handle = Handle(2);

    pub fn new(node: usize, negative: bool) -> Self {
        Handle((node as u32) << 1 | u32::from(negative))
    }
    pub fn node(self) -> usize {
        (self.0 >> 1) as usize
    }
    pub fn negative(self) -> bool {
        self.0 & 1 == 1
    }
    pub fn signed(self, negative: bool) -> Self {
        // zero has one sign
        if self.node() == 0 {
            Handle::ZERO
        } else {
            Handle(self.0 ^ u32::from(negative))
        }
    }
    pub fn minus(self) -> Self {
        self.signed(true)
    }
    pub fn size(self) -> Self {
        Handle(self.0 & !1)
    }
}

/// Kind of a node. Operands of products, and the first operand of a sum, are never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Constant(Number),
    /// Index into the names.
    Symbol(u32),
    Add(Handle, Handle),
    Mul(Handle, Handle),
    Recip(Handle),
    Sqrt(Handle),
    Sin(Handle),
    Cos(Handle),
    /// `left < right ? yes : no`.
    Select {
        left: Handle,
        right: Handle,
        yes: Handle,
        no: Handle,
    },
}

/// An arena of nodes.
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    index: HashMap<Node, u32>,
    pub names: Vec<String>,
    symbols: HashMap<String, u32>,
}

/// Products are examined up to this many factors.
const FACTORS: usize = 6;

impl Graph {
    pub fn new() -> Self {
        let mut graph = Graph {
            nodes: Vec::new(),
            index: HashMap::new(),
            names: Vec::new(),
            symbols: HashMap::new(),
        };
        graph.intern(Node::Constant(Number::ZERO));
        graph.intern(Node::Constant(Number::ONE));
        graph
    }

    pub fn node(&self, handle: Handle) -> Node {
        self.nodes[handle.node()]
    }

    fn intern(&mut self, node: Node) -> Handle {
        let next = self.nodes.len();
        assert!(next < 1 << 31, "an expression graph holds 2³¹ nodes");
        let at = *self.index.entry(node).or_insert(next as u32) as usize;
        if at == next {
            self.nodes.push(node);
        }
        Handle::new(at, false)
    }

    pub fn number(&mut self, negative: bool, number: Number) -> Handle {
        self.intern(Node::Constant(number)).signed(negative)
    }

    pub fn constant(&mut self, x: f64) -> Handle {
        self.number(x < 0.0, Number::from_size(x))
    }

    pub fn symbol(&mut self, name: &str) -> Handle {
        let k = match self.symbols.get(name) {
            Some(&k) => k,
            None => {
                let k = self.names.len() as u32;
                self.names.push(name.to_string());
                self.symbols.insert(name.to_string(), k);
                k
            }
        };
        self.intern(Node::Symbol(k))
    }

    fn as_number(&self, handle: Handle) -> Option<Number> {
        match self.node(handle) {
            Node::Constant(number) => Some(number),
            _ => None,
        }
    }

    /// The value of a constant.
    pub fn value(&self, handle: Handle) -> Option<f64> {
        let size = self.as_number(handle)?.value();
        Some(if handle.negative() { -size } else { size })
    }

    /// k·x as (k, x): the number may be one.
    fn coefficient(&self, x: Handle) -> (Number, Handle) {
        match self.node(x) {
            Node::Mul(a, b) => match (self.as_number(a), self.as_number(b)) {
                (Some(k), _) => (k, b),
                (_, Some(k)) => (k, a),
                _ => (Number::ONE, x.size()),
            },
            _ => (Number::ONE, x.size()),
        }
    }

    pub fn add(&mut self, x: Handle, y: Handle) -> Handle {
        match self.identity(x, y) {
            Some(simpler) => simpler,
            None => self.combine(x, y),
        }
    }

    /// x + y without the identities of sines and cosines.
    pub fn combine(&mut self, x: Handle, y: Handle) -> Handle {
        if x == Handle::ZERO {
            return y;
        }
        if y == Handle::ZERO {
            return x;
        }
        if let (Some(a), Some(b)) = (self.as_number(x), self.as_number(y)) {
            let (negative, size) = a.add(b, x.negative() != y.negative());
            return self.number(negative, size).signed(x.negative());
        }
        // like terms
        let ((k, u), (l, v)) = (self.coefficient(x), self.coefficient(y));
        if u == v {
            // also x − x = 0
            let (negative, size) = k.add(l, x.negative() != y.negative());
            let k = self.number(negative, size);
            return self.mul(k, u).signed(x.negative());
        }
        if let Some(rest) = self.cancel(x, y).or_else(|| self.cancel(y, x)) {
            return rest;
        }
        let (x, y) = if x.node() <= y.node() { (x, y) } else { (y, x) };
        let negative = x.negative();
        self.intern(Node::Add(x.signed(negative), y.signed(negative)))
            .signed(negative)
    }

    /// (p + q) + y where y is −p or −q.
    fn cancel(&self, x: Handle, y: Handle) -> Option<Handle> {
        let Node::Add(p, q) = self.node(x) else {
            return None;
        };
        let (p, q) = (p.signed(x.negative()), q.signed(x.negative()));
        if p == y.minus() {
            Some(q)
        } else if q == y.minus() {
            Some(p)
        } else {
            None
        }
    }

    /// The factors of a product, if it has no more than [`FACTORS`].
    fn factors(&self, x: Handle, list: &mut Vec<Handle>) -> bool {
        if let Node::Mul(a, b) = self.node(x) {
            self.factors(a, list) && self.factors(b, list)
        } else {
            list.push(x.size());
            list.len() <= FACTORS
        }
    }

    /// Squares and sums of angles: x + y where the two products differ in two sines or cosines.
    fn identity(&mut self, x: Handle, y: Handle) -> Option<Handle> {
        let (Node::Mul(..), Node::Mul(..)) = (self.node(x), self.node(y)) else {
            return None;
        };
        let (mut a, mut b) = (Vec::new(), Vec::new());
        if !self.factors(x, &mut a) || !self.factors(y, &mut b) || a.len() != b.len() {
            return None;
        }
        let mut common = Vec::new();
        a.retain(|f| match b.iter().position(|g| g == f) {
            Some(at) => {
                b.swap_remove(at);
                common.push(*f);
                false
            }
            None => true,
        });
        let ([a0, a1], [b0, b1]) = (&a[..], &b[..]) else {
            return None;
        };
        let same = x.negative() == y.negative();
        let combined = self
            .two_angles([*a0, *a1], [*b0, *b1], same)
            .or_else(|| {
                let swapped = self.two_angles([*b0, *b1], [*a0, *a1], same)?;
                Some(if same { swapped } else { swapped.minus() })
            })?
            .signed(x.negative());
        common.sort();
        let mut product = combined;
        for factor in common {
            product = self.mul(product, factor);
        }
        Some(product)
    }

    /// a₀a₁ ± b₀b₁, with a plus if `same`.
    fn two_angles(&mut self, a: [Handle; 2], b: [Handle; 2], same: bool) -> Option<Handle> {
        for [p, q] in [a, [a[1], a[0]]] {
            for [r, s] in [b, [b[1], b[0]]] {
                match (self.node(p), self.node(q), self.node(r), self.node(s)) {
                    // sin² + cos²
                    (Node::Sin(u), Node::Sin(v), Node::Cos(w), Node::Cos(z))
                        if same && u == v && w == z && u == w =>
                    {
                        return Some(Handle::ONE);
                    }
                    // sin u cos v ± cos u sin v
                    (Node::Sin(u), Node::Cos(v), Node::Cos(w), Node::Sin(z))
                        if u == w && v == z && u != v =>
                    {
                        let angle = self.add(u, v.signed(!same));
                        return Some(self.sin(angle));
                    }
                    // cos u cos v ∓ sin u sin v
                    (Node::Cos(u), Node::Cos(v), Node::Sin(w), Node::Sin(z))
                        if u == w && v == z && u != v =>
                    {
                        let angle = self.add(u, v.signed(same));
                        return Some(self.cos(angle));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    pub fn mul(&mut self, x: Handle, y: Handle) -> Handle {
        let negative = x.negative() != y.negative();
        let (x, y) = (x.size(), y.size());
        let (x, y) = if x.node() <= y.node() { (x, y) } else { (y, x) };
        if x == Handle::ZERO {
            return x;
        }
        if x == Handle::ONE {
            return y.signed(negative);
        }
        let product = match (self.as_number(x), self.as_number(y)) {
            (Some(a), Some(b)) => self.number(false, a.mul(b)),
            (Some(a), None) => self.scale(a, y),
            (None, Some(b)) => self.scale(b, x),
            (None, None) => match (self.node(x), self.node(y)) {
                (Node::Recip(u), _) if u == y => Handle::ONE,
                (_, Node::Recip(v)) if v == x => Handle::ONE,
                (Node::Sqrt(u), Node::Sqrt(v)) if u == v => u,
                _ => self.intern(Node::Mul(x, y)),
            },
        };
        product.signed(negative)
    }

    fn scale(&mut self, k: Number, x: Handle) -> Handle {
        let (l, rest) = self.coefficient(x);
        let k = self.number(false, k.mul(l));
        if k == Handle::ONE {
            return rest;
        }
        let (a, b) = if k.node() <= rest.node() {
            (k, rest)
        } else {
            (rest, k)
        };
        self.intern(Node::Mul(a, b))
    }

    pub fn recip(&mut self, x: Handle) -> Handle {
        match self.node(x) {
            Node::Constant(number) => self.number(x.negative(), number.recip()),
            Node::Recip(inner) => inner.signed(x.negative()),
            Node::Mul(a, b) if self.as_number(a).is_some() || self.as_number(b).is_some() => {
                let (a, b) = (self.recip(a), self.recip(b));
                self.mul(a, b).signed(x.negative())
            }
            _ => self.intern(Node::Recip(x.size())).signed(x.negative()),
        }
    }

    pub fn sqrt(&mut self, x: Handle) -> Handle {
        match self.node(x) {
            Node::Constant(number) if !x.negative() => {
                let root = number.sqrt();
                self.number(false, root)
            }
            _ => self.intern(Node::Sqrt(x)),
        }
    }

    /// x as (rest, quarters): x = rest + quarters · π/2, where the constant part of x is such a multiple.
    fn quarters(&self, x: Handle) -> (Handle, i64) {
        let Node::Add(p, q) = self.node(x) else {
            return (x, 0);
        };
        for (constant, rest) in [(p, q), (q, p)] {
            if let Some(k) = self.value(constant) {
                let quarters = (k / FRAC_PI_2).round();
                let dust = 4.0 * f64::EPSILON * k.abs();
                if quarters.abs() < 1e6 && (k - quarters * FRAC_PI_2).abs() <= dust {
                    let quarters = quarters as i64;
                    return match x.negative() {
                        false => (rest, quarters),
                        true => (rest.minus(), -quarters),
                    };
                }
            }
        }
        (x, 0)
    }

    pub fn sin(&mut self, x: Handle) -> Handle {
        let (rest, quarters) = self.quarters(x);
        match quarters.rem_euclid(4) {
            0 => self.plain_sin(rest),
            1 => self.plain_cos(rest),
            2 => self.plain_sin(rest).minus(),
            _ => self.plain_cos(rest).minus(),
        }
    }

    pub fn cos(&mut self, x: Handle) -> Handle {
        let (rest, quarters) = self.quarters(x);
        match quarters.rem_euclid(4) {
            0 => self.plain_cos(rest),
            1 => self.plain_sin(rest).minus(),
            2 => self.plain_cos(rest).minus(),
            _ => self.plain_sin(rest),
        }
    }

    fn plain_sin(&mut self, x: Handle) -> Handle {
        match self.value(x) {
            Some(value) => self.constant(snapped(elementary::sin(value))),
            None => self.intern(Node::Sin(x.size())).signed(x.negative()),
        }
    }

    fn plain_cos(&mut self, x: Handle) -> Handle {
        match self.value(x) {
            Some(value) => self.constant(snapped(elementary::cos(value))),
            None => self.intern(Node::Cos(x.size())),
        }
    }

    pub fn select(&mut self, left: Handle, right: Handle, yes: Handle, no: Handle) -> Handle {
        if yes == no {
            return yes;
        }
        match (self.value(left), self.value(right)) {
            (Some(a), Some(b)) if a < b => yes,
            (Some(_), Some(_)) => no,
            _ => self.intern(Node::Select {
                left,
                right,
                yes,
                no,
            }),
        }
    }
}

/// Sines and cosines of constants that are 0 or ±1 to 4 units in the last place of one are exactly that.
fn snapped(x: f64) -> f64 {
    if (x - x.round()).abs() <= 4.0 * f64::EPSILON {
        x.round()
    } else {
        x
    }
}
