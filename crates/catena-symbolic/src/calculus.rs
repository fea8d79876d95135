//! Operations on expressions: values, derivatives, substitution, and a test for zero.

use crate::expr::{Expr, with_graph};
use crate::graph::{Graph, Handle, Node};
use crate::number::Number;
use catena::Scalar;
use catena::elementary;
use catena::random::Random;
use std::collections::HashMap;

/// The nodes of these expressions, operands first.
pub(crate) fn reachable(graph: &Graph, roots: &[Handle]) -> Vec<usize> {
    let mut seen = vec![false; graph.nodes.len()];
    let mut stack: Vec<usize> = roots.iter().map(|root| root.node()).collect();
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut seen[node], true) {
            operands(graph.nodes[node], |x| stack.push(x.node()));
        }
    }
    // operands are older than their results
    (0..seen.len()).filter(|&node| seen[node]).collect()
}

/// The operands of a node.
pub(crate) fn operands(node: Node, mut each: impl FnMut(Handle)) {
    match node {
        Node::Constant(_) | Node::Symbol(_) => {}
        Node::Add(a, b) | Node::Mul(a, b) => {
            each(a);
            each(b);
        }
        Node::Recip(a) | Node::Sqrt(a) | Node::Sin(a) | Node::Cos(a) => each(a),
        Node::Select {
            left,
            right,
            yes,
            no,
        } => [left, right, yes, no].into_iter().for_each(each),
    }
}

fn handles(expressions: &[Expr]) -> Vec<Handle> {
    expressions.iter().map(|e| e.handle()).collect()
}

/// The values of expressions, where `symbol` gives those of the symbols by name.
pub fn evaluate(expressions: &[Expr], symbol: impl Fn(&str) -> f64) -> Vec<f64> {
    let roots = handles(expressions);
    with_graph(|graph| {
        let mut value = vec![0.0; graph.nodes.len()];
        let get = |value: &[f64], x: Handle| {
            let size: f64 = value[x.node()];
            if x.negative() { -size } else { size }
        };
        for node in reachable(graph, &roots) {
            value[node] = match graph.nodes[node] {
                Node::Constant(number) => number.value(),
                Node::Symbol(k) => symbol(&graph.names[k as usize]),
                Node::Add(a, b) => get(&value, a) + get(&value, b),
                Node::Mul(a, b) => get(&value, a) * get(&value, b),
                Node::Recip(a) => 1.0 / get(&value, a),
                Node::Sqrt(a) => get(&value, a).sqrt(),
                Node::Sin(a) => elementary::sin(get(&value, a)),
                Node::Cos(a) => elementary::cos(get(&value, a)),
                Node::Select {
                    left,
                    right,
                    yes,
                    no,
                } => {
                    let chosen = if get(&value, left) < get(&value, right) {
                        yes
                    } else {
                        no
                    };
                    get(&value, chosen)
                }
            };
        }
        roots.iter().map(|&root| get(&value, root)).collect()
    })
}

/// Rebuilds expressions with some of their parts replaced, simplifying again.
pub fn substitute(expressions: &[Expr], replace: &[(Expr, Expr)]) -> Vec<Expr> {
    let roots = handles(expressions);
    let mut known: HashMap<usize, Expr> = HashMap::new();
    for (part, by) in replace {
        let part = part.handle();
        let by = if part.negative() { -*by } else { *by };
        known.insert(part.node(), by);
    }
    for node in with_graph(|graph| reachable(graph, &roots)) {
        if known.contains_key(&node) {
            continue;
        }
        let get = |x: Handle| signed(known[&x.node()], x.negative());
        let made = match with_graph(|graph| graph.nodes[node]) {
            Node::Constant(_) | Node::Symbol(_) => Expr::from_handle(Handle::new(node, false)),
            Node::Add(a, b) => get(a) + get(b),
            Node::Mul(a, b) => get(a) * get(b),
            Node::Recip(a) => get(a).recip(),
            Node::Sqrt(a) => get(a).sqrt(),
            Node::Sin(a) => get(a).sin_cos().0,
            Node::Cos(a) => get(a).sin_cos().1,
            Node::Select {
                left,
                right,
                yes,
                no,
            } => Expr::select(get(left).less(get(right)), get(yes), get(no)),
        };
        known.insert(node, made);
    }
    roots
        .iter()
        .map(|root| signed(known[&root.node()], root.negative()))
        .collect()
}

fn signed(x: Expr, negative: bool) -> Expr {
    if negative { -x } else { x }
}

/// Derivatives of many expressions along one direction: `seeds` are pairs of a symbol and its rate.
///
/// One pass over the graph from the symbols up (forward differentiation).
pub fn rates(expressions: &[Expr], seeds: &[(Expr, Expr)]) -> Vec<Expr> {
    let roots = handles(expressions);
    let nodes = with_graph(|graph| reachable(graph, &roots));
    let mut rate: HashMap<usize, Expr> = HashMap::new();
    for (symbol, seed) in seeds {
        let handle = symbol.handle();
        rate.insert(handle.node(), signed(*seed, handle.negative()));
    }
    for node in nodes {
        if rate.contains_key(&node) {
            continue;
        }
        let zero = Expr::zero();
        let get = |x: Handle| {
            let size = rate.get(&x.node()).copied().unwrap_or(zero);
            signed(size, x.negative())
        };
        let own = Expr::from_handle(Handle::new(node, false));
        let of = Expr::from_handle;
        let made = match with_graph(|graph| graph.nodes[node]) {
            Node::Constant(_) | Node::Symbol(_) => zero,
            Node::Add(a, b) => get(a) + get(b),
            Node::Mul(a, b) => get(a) * of(b) + of(a) * get(b),
            Node::Recip(a) => -(own * own * get(a)),
            Node::Sqrt(a) => get(a) * (own + own).recip(),
            Node::Sin(a) => of(a).sin_cos().1 * get(a),
            Node::Cos(a) => -(of(a).sin_cos().0 * get(a)),
            Node::Select {
                left,
                right,
                yes,
                no,
            } => Expr::select(of(left).less(of(right)), get(yes), get(no)),
        };
        if !made.is_zero() {
            rate.insert(node, made);
        }
    }
    roots
        .iter()
        .map(|root| {
            let size = rate.get(&root.node()).copied().unwrap_or(Expr::zero());
            signed(size, root.negative())
        })
        .collect()
}

/// Derivatives of one expression with respect to many symbols: one pass from the expression down (reverse differentiation).
pub fn gradient(expression: Expr, by: &[Expr]) -> Vec<Expr> {
    let root = expression.handle();
    let nodes = with_graph(|graph| reachable(graph, &[root]));
    let mut adjoint: HashMap<usize, Expr> = HashMap::new();
    adjoint.insert(root.node(), signed(Expr::one(), root.negative()));
    for node in nodes.into_iter().rev() {
        let Some(&weight) = adjoint.get(&node) else {
            continue;
        };
        let own = Expr::from_handle(Handle::new(node, false));
        let of = Expr::from_handle;
        let mut give = |to: Handle, share: Expr| {
            let share = signed(share, to.negative());
            let sum = adjoint.entry(to.node()).or_insert_with(Expr::zero);
            *sum += share;
        };
        match with_graph(|graph| graph.nodes[node]) {
            Node::Constant(_) | Node::Symbol(_) => {}
            Node::Add(a, b) => {
                give(a, weight);
                give(b, weight);
            }
            Node::Mul(a, b) => {
                give(a, weight * of(b));
                give(b, weight * of(a));
            }
            Node::Recip(a) => give(a, -(own * own * weight)),
            Node::Sqrt(a) => give(a, weight * (own + own).recip()),
            Node::Sin(a) => give(a, weight * of(a).sin_cos().1),
            Node::Cos(a) => give(a, -(weight * of(a).sin_cos().0)),
            Node::Select {
                left,
                right,
                yes,
                no,
            } => {
                let mask = of(left).less(of(right));
                give(yes, Expr::select(mask, weight, Expr::zero()));
                give(no, Expr::select(mask, Expr::zero(), weight));
            }
        }
    }
    by.iter()
        .map(|symbol| {
            let handle = symbol.handle();
            let sum = adjoint.get(&handle.node()).copied();
            signed(sum.unwrap_or(Expr::zero()), handle.negative())
        })
        .collect()
}

/// ∂expressions/∂symbols, row after row: forward differentiation where there are fewer symbols, reverse otherwise.
pub fn jacobian(expressions: &[Expr], by: &[Expr]) -> Vec<Expr> {
    if expressions.len() < by.len() {
        return expressions.iter().flat_map(|e| gradient(*e, by)).collect();
    }
    let columns: Vec<Vec<Expr>> = by
        .iter()
        .map(|symbol| rates(expressions, &[(*symbol, Expr::one())]))
        .collect();
    let mut matrix = Vec::with_capacity(expressions.len() * by.len());
    for row in 0..expressions.len() {
        matrix.extend(columns.iter().map(|column| column[row]));
    }
    matrix
}

impl Expr {
    /// Derivative with respect to a symbol.
    #[must_use]
    pub fn derivative(self, by: Expr) -> Expr {
        rates(&[self], &[(by, Expr::one())])[0]
    }

    /// Is this identically zero?
    ///
    /// The expression is evaluated modulo the prime 2⁶¹ − 1 at three random points, sines and cosines by the rational
    /// parametrisation of the circle and the addition theorems, doubles as exact ratios. A false "yes" has a probability of
    /// about (degree/2⁶¹)³; a false "no" is impossible. None where square roots or comparisons are involved.
    pub fn is_identically_zero(self) -> Option<bool> {
        let root = self.handle();
        for seed in [1, 2, 3] {
            let value = with_graph(|graph| Modular::new(seed).evaluate(graph, root))?;
            if value != 0 {
                return Some(false);
            }
        }
        Some(true)
    }
}

const PRIME: u64 = (1 << 61) - 1;

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn plus(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

fn minus(a: u64) -> u64 {
    (PRIME - a) % PRIME
}

fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    result
}

fn inverse(a: u64) -> u64 {
    power(a, PRIME - 2)
}

/// A random point modulo [`PRIME`].
struct Modular {
    seed: u64,
    value: HashMap<usize, u64>,
}

impl Modular {
    fn new(seed: u64) -> Self {
        Modular {
            seed,
            value: HashMap::new(),
        }
    }

    fn random(&self, node: usize, salt: u64) -> u64 {
        let mut random = Random::new(self.seed.wrapping_mul(1_000_003) ^ (node as u64) << 8 ^ salt);
        random.bits() % (PRIME - 2) + 1
    }

    fn number(number: Number) -> Option<u64> {
        match number {
            Number::Ratio(n, d) => Some(times(n % PRIME, inverse(d % PRIME))),
            Number::Float(bits) => {
                let exponent = (bits >> 52 & 0x7ff) as i64;
                if exponent == 0x7ff {
                    return None;
                }
                let fraction = bits & ((1 << 52) - 1);
                let (mantissa, exponent) = match exponent {
                    0 => (fraction, -1074),
                    _ => (fraction | 1 << 52, exponent - 1075),
                };
                let two = power(2, exponent.unsigned_abs());
                let scale = if exponent < 0 { inverse(two) } else { two };
                Some(times(mantissa, scale))
            }
        }
    }

    /// Sine and cosine of an angle: by the addition theorem for sums, by a random point of the circle for anything else.
    fn circle(&self, graph: &Graph, angle: Handle) -> (u64, u64) {
        let (sin, cos) = match graph.node(angle) {
            Node::Add(a, b) => {
                let ((sa, ca), (sb, cb)) = (self.circle(graph, a), self.circle(graph, b));
                (
                    plus(times(sa, cb), times(ca, sb)),
                    plus(times(ca, cb), minus(times(sa, sb))),
                )
            }
            Node::Mul(a, b) => {
                let whole = |x: Handle| match graph.node(x) {
                    Node::Constant(Number::Ratio(n @ 1..=64, 1)) => Some(n),
                    _ => None,
                };
                match (whole(a), whole(b)) {
                    (Some(n), _) => self.multiple(graph, n, b),
                    (_, Some(n)) => self.multiple(graph, n, a),
                    _ => self.point(angle.node()),
                }
            }
            _ => self.point(angle.node()),
        };
        if angle.negative() {
            (minus(sin), cos)
        } else {
            (sin, cos)
        }
    }

    fn multiple(&self, graph: &Graph, n: u64, angle: Handle) -> (u64, u64) {
        let (s, c) = self.circle(graph, angle);
        let (mut sin, mut cos) = (0, 1);
        for _ in 0..n {
            (sin, cos) = (
                plus(times(sin, c), times(cos, s)),
                plus(times(cos, c), minus(times(sin, s))),
            );
        }
        (sin, cos)
    }

    fn point(&self, node: usize) -> (u64, u64) {
        let t = self.random(node, 1);
        let square = times(t, t);
        let scale = inverse(plus(1, square));
        (
            times(times(2, t), scale),
            times(plus(1, minus(square)), scale),
        )
    }

    fn evaluate(&mut self, graph: &Graph, root: Handle) -> Option<u64> {
        for node in reachable(graph, &[root]) {
            let get = |x: Handle| {
                let size = self.value[&x.node()];
                if x.negative() { minus(size) } else { size }
            };
            let made = match graph.nodes[node] {
                Node::Constant(number) => Self::number(number)?,
                Node::Symbol(_) => self.random(node, 0),
                Node::Add(a, b) => plus(get(a), get(b)),
                Node::Mul(a, b) => times(get(a), get(b)),
                Node::Recip(a) => inverse(get(a)),
                Node::Sin(a) => self.circle(graph, a).0,
                Node::Cos(a) => self.circle(graph, a).1,
                Node::Sqrt(_) | Node::Select { .. } => return None,
            };
            self.value.insert(node, made);
        }
        let size = self.value[&root.node()];
        Some(if root.negative() { minus(size) } else { size })
    }
}
