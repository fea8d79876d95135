//! The scalar [`Expr`]: a handle into a graph of expressions.

use crate::graph::{Graph, Handle, Node};
use crate::number::Number;
use catena::{Parameter, Scalar};
use std::cell::RefCell;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};
use std::sync::atomic::{AtomicU32, Ordering};

/// A symbolic expression.
///
/// It is a small handle into the graph of expressions of the innermost [`scope`] of its thread. Equal expressions are the
/// same node, so `==` compares structure. A handle is valid only inside its scope: using it elsewhere (after the scope has
/// ended, in an inner scope, on another thread) panics with a message that says so; it never reads another graph's node.
///
/// ```
/// use catena::Scalar;
/// use catena_symbolic::{Expr, scope};
///
/// scope(|| {
///     let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
///     let (s, c) = x.sin_cos();
///     assert_eq!(y * (s * s) + y * (c * c), y);
///     assert_eq!((x + y) - y, x);
///     assert_eq!((x * y).derivative(x), y);
/// });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Expr {
    handle: Handle,
    graph: u32,
}

struct Scope {
    id: u32,
    graph: Graph,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` in a separate graph, which is dropped with all its expressions when `work` ends, or panics.
///
/// Results that must outlive the scope are extracted as a [`Program`](crate::Program), as text, or as numbers.
pub fn scope<R>(work: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            SCOPES.with_borrow_mut(|scopes| scopes.pop());
        }
    }
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    SCOPES.with_borrow_mut(|scopes| {
        scopes.push(Scope {
            id,
            graph: Graph::new(),
        });
    });
    let _leave = Leave;
    work()
}

/// The graph of the innermost scope, with its number.
fn with_scope<R>(work: impl FnOnce(&mut Graph, u32) -> R) -> R {
    SCOPES.with_borrow_mut(|scopes| match scopes.last_mut() {
        Some(scope) => work(&mut scope.graph, scope.id),
        None => panic!("expressions live inside `catena_symbolic::scope`"),
    })
}

/// The graph of the innermost scope.
pub(crate) fn with_graph<R>(work: impl FnOnce(&mut Graph) -> R) -> R {
    with_scope(|graph, _| work(graph))
}

/// Number of nodes of the innermost scope's graph.
pub fn node_count() -> usize {
    with_graph(|graph| graph.nodes.len())
}

impl Expr {
    fn make(build: impl FnOnce(&mut Graph) -> Handle) -> Self {
        with_scope(|graph, id| Expr {
            handle: build(graph),
            graph: id,
        })
    }

    pub(crate) fn from_handle(handle: Handle) -> Self {
        Self::make(|_| handle)
    }

    pub(crate) fn handle(self) -> Handle {
        with_scope(|_, id| self.handle_in(id))
    }

    fn handle_in(self, id: u32) -> Handle {
        assert!(
            self.graph == id,
            "an expression was used outside the scope it was made in"
        );
        self.handle
    }

    fn one_of(self, build: impl FnOnce(&mut Graph, Handle) -> Handle) -> Self {
        with_scope(|graph, id| Expr {
            handle: build(graph, self.handle_in(id)),
            graph: id,
        })
    }

    fn two_of(self, other: Self, build: impl FnOnce(&mut Graph, Handle, Handle) -> Handle) -> Self {
        with_scope(|graph, id| Expr {
            handle: build(graph, self.handle_in(id), other.handle_in(id)),
            graph: id,
        })
    }

    /// The symbol with this name; the same name is the same symbol.
    pub fn symbol(name: &str) -> Self {
        Self::make(|graph| graph.symbol(name))
    }

    /// The symbols `name[0]`, `name[1]`, …
    pub fn symbols(name: &str, count: usize) -> Vec<Self> {
        (0..count)
            .map(|k| Self::symbol(&format!("{name}[{k}]")))
            .collect()
    }

    /// An exact ratio; None where the denominator is 0 or either is too large (above 2⁵³ in lowest terms).
    pub fn ratio(numerator: i64, denominator: i64) -> Option<Self> {
        let negative = (numerator < 0) != (denominator < 0);
        let number = Number::ratio(
            u128::from(numerator.unsigned_abs()),
            u128::from(denominator.unsigned_abs()),
        )?;
        Some(Self::make(|graph| graph.number(negative, number)))
    }

    /// Was it made in the innermost scope of this thread? Elsewhere it cannot be used.
    pub fn is_usable(self) -> bool {
        SCOPES.with_borrow(|scopes| scopes.last().is_some_and(|scope| scope.id == self.graph))
    }

    /// Its value, if it is a constant.
    pub fn value(self) -> Option<f64> {
        with_scope(|graph, id| graph.value(self.handle_in(id)))
    }

    /// Is this the constant 0?
    pub fn is_zero(self) -> bool {
        self.value() == Some(0.0)
    }

    /// x − y as one sum.
    fn minus(self, other: Self) -> Self {
        self.two_of(other, |graph, x, y| graph.add(x, y.minus()))
    }
}

impl Add for Expr {
    type Output = Self;
    #[inline(never)]
    fn add(self, other: Self) -> Self {
        self.two_of(other, Graph::add)
    }
}

impl Sub for Expr {
    type Output = Self;
    #[inline(never)]
    fn sub(self, other: Self) -> Self {
        self.minus(other)
    }
}

impl Mul for Expr {
    type Output = Self;
    #[inline(never)]
    fn mul(self, other: Self) -> Self {
        self.two_of(other, Graph::mul)
    }
}

/// One reciprocal serves all divisions by the same expression.
impl Div for Expr {
    type Output = Self;
    #[inline(never)]
    fn div(self, other: Self) -> Self {
        self.two_of(other, |graph, x, y| {
            let inverse = graph.recip(y);
            graph.mul(x, inverse)
        })
    }
}

impl Neg for Expr {
    type Output = Self;
    #[inline(never)]
    fn neg(self) -> Self {
        self.one_of(|_, x| x.minus())
    }
}

impl AddAssign for Expr {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Expr {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl MulAssign for Expr {
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

/// The comparison `left < right` as an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    left: Expr,
    right: Expr,
}

impl Scalar for Expr {
    type Mask = Comparison;

    #[inline(never)]
    fn constant(x: f64) -> Self {
        Self::make(|graph| graph.constant(x))
    }
    fn less(self, other: Self) -> Comparison {
        Comparison {
            left: self,
            right: other,
        }
    }
    #[inline(never)]
    fn select(mask: Comparison, yes: Self, no: Self) -> Self {
        let (left, right) = (mask.left.handle(), mask.right.handle());
        yes.two_of(no, |graph, yes, no| graph.select(left, right, yes, no))
    }
    #[inline(never)]
    fn sqrt(self) -> Self {
        self.one_of(Graph::sqrt)
    }
    #[inline(never)]
    fn sin_cos(self) -> (Self, Self) {
        (self.one_of(Graph::sin), self.one_of(Graph::cos))
    }
    #[inline(never)]
    fn recip(self) -> Self {
        self.one_of(Graph::recip)
    }
}

impl Parameter<Expr> for Expr {
    fn lift(self) -> Expr {
        self
    }
}

/// The formula, with every shared part written out: for short expressions.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = with_graph(|graph| {
            let mut text = String::new();
            write_formula(graph, self.handle, 0, &mut text);
            text
        });
        f.write_str(&text)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}#{}",
            if self.handle.negative() { "−" } else { "" },
            self.handle.node()
        )
    }
}

/// Longest formula that is written out.
const LONGEST: usize = 100_000;

/// Precedence: 0 anything, 1 inside a sum after a sign, 2 inside a product, 3 below a fraction bar.
fn write_formula(graph: &Graph, x: Handle, binding: u8, text: &mut String) {
    if text.len() > LONGEST {
        if !text.ends_with('…') {
            text.push('…');
        }
        return;
    }
    let sum = matches!(graph.node(x), Node::Add(..));
    let product = matches!(
        graph.node(x),
        Node::Mul(..) | Node::Recip(_) | Node::Constant(Number::Ratio(..))
    );
    let brackets = (x.negative() && binding > 0)
        || (sum && (binding > 0 || x.negative()))
        || (product && binding > 2);
    if x.negative() && brackets && sum {
        text.push('-');
        return write_formula(graph, x.size(), 2, text);
    }
    if brackets {
        text.push('(');
    }
    if x.negative() {
        text.push('-');
    }
    match graph.node(x) {
        Node::Constant(Number::Ratio(n, 1)) => text.push_str(&n.to_string()),
        Node::Constant(Number::Ratio(n, d)) => text.push_str(&format!("{n}/{d}")),
        Node::Constant(number) => text.push_str(&format!("{:?}", number.value())),
        Node::Symbol(k) => text.push_str(&graph.names[k as usize]),
        Node::Add(a, b) => {
            write_formula(graph, a, 0, text);
            text.push_str(if b.negative() { " - " } else { " + " });
            write_formula(graph, b.size(), 1, text);
        }
        Node::Mul(a, b) => {
            write_formula(graph, a, 2, text);
            text.push('*');
            write_formula(graph, b, 2, text);
        }
        Node::Recip(a) => {
            text.push_str("1/");
            write_formula(graph, a, 3, text);
        }
        Node::Sqrt(a) => call(graph, "sqrt", &[a], text),
        Node::Sin(a) => call(graph, "sin", &[a], text),
        Node::Cos(a) => call(graph, "cos", &[a], text),
        Node::Select {
            left,
            right,
            yes,
            no,
        } => call(graph, "if_less", &[left, right, yes, no], text),
    }
    if brackets {
        text.push(')');
    }
}

fn call(graph: &Graph, name: &str, arguments: &[Handle], text: &mut String) {
    text.push_str(name);
    text.push('(');
    for (k, &argument) in arguments.iter().enumerate() {
        if k > 0 {
            text.push_str(", ");
        }
        write_formula(graph, argument, 0, text);
    }
    text.push(')');
}
