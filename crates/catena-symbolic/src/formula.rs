//! A normal form for reading: sums of products of symbols with one sine or cosine each.
//!
//! Products of sines and cosines become sums of angles,
//!
//! ```text
//! cos a cos b = ½ cos(a − b) + ½ cos(a + b)      sin a cos b = ½ sin(a + b) + ½ sin(a − b)      …
//! ```
//!
//! so that equal expressions have equal formulas, and all cancellations are found: the inertia matrix of a planar arm appears as in
//! textbooks. Division is by symbols only.

use crate::calculus::reachable;
use crate::expr::{Expr, with_graph};
use crate::graph::{Graph, Handle, Node};
use crate::math::Math;
use catena::{Scalar, elementary};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

mod reading;
pub(crate) use reading::rounded;

/// Formulas are computed up to this many terms.
pub(crate) const LONGEST: usize = 600;
/// Terms this much smaller than the summands they result from are round-off.
const DUST: f64 = 1e-13;

/// 1, the cosine or the sine of a sum of whole multiples of symbols. The first multiple is positive.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Wave {
    angles: Vec<(String, i32)>,
    sine: bool,
}

/// A product: symbols with their exponents, and a sine or cosine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    wave: Wave,
    symbols: Vec<(String, i32)>,
}

/// A sum of products of numbers, symbols, and one sine or cosine each; it is independent of the graph it came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Formula {
    terms: BTreeMap<Term, f64>,
}

/// Adds integers by name; zeros are removed.
fn merged(a: &[(String, i32)], b: &[(String, i32)], sign: i32) -> Vec<(String, i32)> {
    let mut sum: BTreeMap<&str, i32> = BTreeMap::new();
    for (name, k) in a {
        *sum.entry(name).or_default() += k;
    }
    for (name, k) in b {
        *sum.entry(name).or_default() += sign * k;
    }
    sum.into_iter()
        .filter(|(_, k)| *k != 0)
        .map(|(name, k)| (name.to_string(), k))
        .collect()
}

/// A sine or cosine whose first multiple is positive, and its sign.
fn oriented(mut angles: Vec<(String, i32)>, sine: bool) -> (Wave, f64) {
    let mut sign = 1.0;
    match angles.first() {
        None if sine => return (Wave::default(), 0.0),
        Some((_, first)) if *first < 0 => {
            angles.iter_mut().for_each(|(_, k)| *k = -*k);
            if sine {
                sign = -1.0;
            }
        }
        _ => {}
    }
    (Wave { angles, sine }, sign)
}

impl Formula {
    /// The formulas of some expressions; None where they have square roots, comparisons or quotients by sums, or are too long.
    pub fn of(expressions: &[Expr]) -> Option<Vec<Formula>> {
        let roots: Vec<Handle> = expressions.iter().map(|e| e.handle()).collect();
        with_graph(|graph| {
            let mut known: HashMap<usize, Formula> = HashMap::new();
            for node in reachable(graph, &roots) {
                let get = |x: Handle| -> Formula {
                    let formula = &known[&x.node()];
                    match x.negative() {
                        true => formula.scaled(-1.0),
                        false => formula.clone(),
                    }
                };
                let made = Formula::of_node(graph, node, &get)?;
                if made.terms.len() > LONGEST {
                    return None;
                }
                known.insert(node, made);
            }
            let signed = roots.iter().map(|root| {
                let sign = if root.negative() { -1.0 } else { 1.0 };
                known[&root.node()].scaled(sign)
            });
            Some(signed.collect())
        })
    }

    /// The formula of a node, given those of its operands.
    pub(crate) fn of_node(
        graph: &Graph,
        node: usize,
        get: &dyn Fn(Handle) -> Formula,
    ) -> Option<Formula> {
        Some(match graph.nodes[node] {
            Node::Constant(number) => Formula::number(number.value()),
            Node::Symbol(k) => Formula::symbol(&graph.names[k as usize], 1),
            Node::Add(a, b) => get(a).plus(&get(b)),
            Node::Mul(a, b) => get(a).times(&get(b))?,
            Node::Recip(a) => get(a).inverse()?,
            Node::Sin(a) => get(a).wave(true)?,
            Node::Cos(a) => get(a).wave(false)?,
            Node::Sqrt(_) | Node::Select { .. } => return None,
        })
    }

    fn number(x: f64) -> Self {
        let mut formula = Formula::default();
        if x != 0.0 {
            formula.terms.insert(Term::default(), x);
        }
        formula
    }

    pub(crate) fn symbol(name: &str, exponent: i32) -> Self {
        let term = Term {
            symbols: vec![(name.to_string(), exponent)],
            ..Term::default()
        };
        Formula {
            terms: BTreeMap::from([(term, 1.0)]),
        }
    }

    pub(crate) fn scaled(&self, k: f64) -> Self {
        let terms = self.terms.iter().map(|(term, c)| (term.clone(), k * c));
        Formula {
            terms: terms.collect(),
        }
    }

    /// Adds up terms, and drops those that cancel.
    fn sum(terms: impl IntoIterator<Item = (Term, f64)>) -> Self {
        let mut sums: BTreeMap<Term, (f64, f64)> = BTreeMap::new();
        for (term, c) in terms {
            let (sum, size) = sums.entry(term).or_default();
            *sum += c;
            *size += c.abs();
        }
        let kept = sums
            .into_iter()
            .filter(|(_, (sum, size))| sum.abs() > DUST * size);
        Formula {
            terms: kept.map(|(term, (sum, _))| (term, sum)).collect(),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let all = self.terms.iter().chain(&other.terms);
        Self::sum(all.map(|(term, c)| (term.clone(), *c)))
    }

    fn times(&self, other: &Self) -> Option<Self> {
        if self.terms.len() * other.terms.len() > 10 * LONGEST {
            return None;
        }
        let mut products = Vec::new();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let symbols = merged(&a.symbols, &b.symbols, 1);
                let (u, v) = (&a.wave, &b.wave);
                let mut push = |angles, sine, c: f64| {
                    let (wave, sign) = oriented(angles, sine);
                    let term = Term {
                        wave,
                        symbols: symbols.clone(),
                    };
                    products.push((term, c * sign * x * y));
                };
                if u.angles.is_empty() || v.angles.is_empty() {
                    push(merged(&u.angles, &v.angles, 1), u.sine || v.sine, 1.0);
                    continue;
                }
                let sum = merged(&u.angles, &v.angles, 1);
                let difference = merged(&u.angles, &v.angles, -1);
                let (of_sum, of_difference) = match (u.sine, v.sine) {
                    (false, false) => (0.5, 0.5),
                    (true, true) => (-0.5, 0.5),
                    (true, false) => (0.5, 0.5),
                    (false, true) => (0.5, -0.5),
                };
                push(sum, u.sine != v.sine, of_sum);
                push(difference, u.sine != v.sine, of_difference);
            }
        }
        products.retain(|(_, c)| *c != 0.0);
        Some(Self::sum(products))
    }

    /// 1/x of a single product of symbols.
    fn inverse(&self) -> Option<Self> {
        let mut terms = self.terms.iter();
        let (Some((term, c)), None) = (terms.next(), terms.next()) else {
            return None;
        };
        if !term.wave.angles.is_empty() {
            return None;
        }
        let term = Term {
            symbols: merged(&[], &term.symbols, -1),
            ..Term::default()
        };
        Some(Formula {
            terms: BTreeMap::from([(term, c.recip())]),
        })
    }

    /// The sine or cosine of a sum of whole multiples of symbols and a number.
    fn wave(&self, sine: bool) -> Option<Self> {
        let (mut angles, mut phase) = (Vec::new(), 0.0);
        for (term, &c) in &self.terms {
            match &term.symbols[..] {
                _ if !term.wave.angles.is_empty() => return None,
                [] => phase = c,
                [(name, 1)] if c.fract() == 0.0 && c.abs() < 1e6 => {
                    angles.push((name.clone(), c as i32));
                }
                _ => return None,
            }
        }
        angles.sort();
        let of = |sine| {
            let (wave, sign) = oriented(angles.clone(), sine);
            let symbols = Vec::new();
            (Term { wave, symbols }, sign)
        };
        let ((s, s_sign), (c, c_sign)) = (of(true), of(false));
        let (sin, cos) = elementary::sin_cos(phase);
        let terms = match sine {
            true => [(s, s_sign * cos), (c, c_sign * sin)],
            false => [(c, c_sign * cos), (s, -s_sign * sin)],
        };
        Some(Self::sum(terms.into_iter().filter(|(_, c)| *c != 0.0)))
    }

    /// Is it zero?
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Number of its terms.
    pub fn term_count(&self) -> usize {
        self.terms.len()
    }

    /// Its value, given those of the symbols by name.
    pub fn evaluate<S: Scalar>(&self, symbol: impl Fn(&str) -> S) -> S {
        let mut sum = S::zero();
        for (term, c) in &self.terms {
            let mut product = S::constant(*c);
            for (name, exponent) in &term.symbols {
                let value = symbol(name);
                for _ in 0..exponent.unsigned_abs() {
                    product = match *exponent > 0 {
                        true => product * value,
                        false => product / value,
                    };
                }
            }
            if !term.wave.angles.is_empty() {
                let mut angle = S::zero();
                for (name, k) in &term.wave.angles {
                    angle += S::constant(f64::from(*k)) * symbol(name);
                }
                let (sine, cosine) = angle.sin_cos();
                product *= if term.wave.sine { sine } else { cosine };
            }
            sum += product;
        }
        sum
    }

    /// For reading: the terms of a sum, each with whether it is subtracted; `name` writes the symbols. Terms with the same sine or
    /// cosine, or the same mass, are collected: m₂ (a² + c²) + 2 m₂ a c cos q₂.
    pub fn math(&self, name: &dyn Fn(&str) -> Math) -> Vec<(bool, Math)> {
        let list: Vec<(Term, f64)> = self.terms.iter().map(|(t, c)| (t.clone(), *c)).collect();
        reading::sum(list, name)
    }

    /// The terms of the sum as LaTeX.
    pub fn latex(&self, name: &dyn Fn(&str) -> Math) -> String {
        reading::joined(self.math(name)).latex()
    }

    /// Names of the symbols it contains, each once.
    pub fn symbols(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for term in self.terms.keys() {
            let own = term.symbols.iter().chain(&term.wave.angles);
            names.extend(own.map(|(name, _)| name.as_str()));
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Is it a number, or one symbol times a number? Such a formula needs no name.
    pub fn is_plain(&self) -> bool {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (None, _) => true,
            (Some((term, _)), None) => {
                term.wave.angles.is_empty()
                    && match &term.symbols[..] {
                        [] => true,
                        [(_, exponent)] => *exponent == 1,
                        _ => false,
                    }
            }
            _ => false,
        }
    }

    /// The formula as a Python expression for SymPy; `name` writes the symbols. Numbers are exact.
    pub fn sympy(&self, name: impl Fn(&str) -> String) -> String {
        self.written(|term, c| {
            let mut factors = vec![match c.fract() == 0.0 {
                true => format!("{c}"),
                false => format!("{c:?}"),
            }];
            for (symbol, exponent) in &term.symbols {
                factors.push(match exponent {
                    1 => name(symbol),
                    _ => format!("{}**({exponent})", name(symbol)),
                });
            }
            if !term.wave.angles.is_empty() {
                let function = if term.wave.sine { "sin" } else { "cos" };
                factors.push(format!("{function}({})", angle(&term.wave, &name, "*")));
            }
            if c == 1.0 && factors.len() > 1 {
                factors.remove(0);
            }
            factors.join("*")
        })
    }

    /// Terms with their signs between them.
    fn written(&self, term: impl Fn(&Term, f64) -> String) -> String {
        let mut text = String::new();
        for (k, (which, c)) in self.terms.iter().enumerate() {
            text += match (k, *c < 0.0) {
                (0, true) => "-",
                (0, false) => "",
                (_, true) => " - ",
                (_, false) => " + ",
            };
            text += &term(which, c.abs());
        }
        if text.is_empty() {
            text.push('0');
        }
        text
    }
}

fn angle(wave: &Wave, name: &impl Fn(&str) -> String, times: &str) -> String {
    let mut text = String::new();
    for (k, (symbol, multiple)) in wave.angles.iter().enumerate() {
        text += match (k, *multiple < 0) {
            (0, _) => "",
            (_, true) => " - ",
            (_, false) => " + ",
        };
        if multiple.abs() != 1 {
            let _ = write!(text, "{}{times}", multiple.abs());
        }
        text += &name(symbol);
    }
    text
}
