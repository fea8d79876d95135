//! Formulas of time and state as a function that a run calls: a traced controller.
//!
//! Expressions have sums, products, quotients, roots and comparisons. Every other function is a call between straight-line programs:
//!
//! ```text
//! stage 1    arguments of the calls that need no other call     → calls
//! stage 2    arguments of the calls that need those of stage 1  → calls
//! …
//! last       the results
//! ```
//!
//! A program reads q, v and a list of further numbers: t first, then the results of the calls.

use crate::calculus::reachable;
use crate::expr::{Expr, with_graph};
use crate::graph::Node;
use crate::program::Program;
use catena::error::{Error, ErrorKind, Result};
use catena::native::Routine;
use catena::simulate::{Control, Sensors};
use catena::{Scalar, State, elementary};
use std::sync::Arc;

/// The numbers that programs read besides q and v: t and the results of calls.
const NUMBERS: &str = "tau";

#[derive(Clone, Copy, Debug)]
enum Elementary {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}

use Elementary::{One, Two};

/// The functions that can be called, by name.
const FUNCTIONS: &[(&str, Elementary)] = &[
    ("sin", One(elementary::sin)),
    ("cos", One(elementary::cos)),
    ("tan", One(elementary::tan)),
    ("arcsin", One(elementary::asin)),
    ("arccos", One(elementary::acos)),
    ("arctan", One(elementary::atan)),
    ("sinh", One(elementary::sinh)),
    ("cosh", One(elementary::cosh)),
    ("tanh", One(elementary::tanh)),
    ("exp", One(elementary::exp)),
    ("log", One(elementary::ln)),
    ("floor", One(f64::floor)),
    ("ceil", One(f64::ceil)),
    ("arctan2", Two(elementary::atan2)),
    ("hypot", Two(elementary::hypot)),
    ("power", Two(elementary::powf)),
];

#[derive(Clone, Copy, Debug, PartialEq)]
struct Call {
    /// Which of [`FUNCTIONS`].
    function: usize,
    /// The second one is unused by a function of one number.
    arguments: [Expr; 2],
    stage: usize,
}

/// Formulas under construction, inside a [`scope`](crate::scope).
#[derive(Clone, Debug)]
pub struct Trace {
    sizes: [usize; 2],
    calls: Vec<Call>,
}

impl Trace {
    /// Formulas of this many positions and velocities.
    pub fn new(positions: usize, velocities: usize) -> Self {
        Trace {
            sizes: [positions, velocities],
            calls: Vec::new(),
        }
    }

    /// t, q and v.
    pub fn inputs(&self) -> (Expr, Vec<Expr>, Vec<Expr>) {
        let [q, v] = self.sizes;
        (number(0), Expr::symbols("q", q), Expr::symbols("v", v))
    }

    /// The value of a function of one or two numbers, by its name; None where there is no such function with that many arguments.
    pub fn call(&mut self, name: &str, x: Expr, y: Option<Expr>) -> Option<Expr> {
        let found = FUNCTIONS
            .iter()
            .position(|(known, of)| *known == name && matches!(of, Two(_)) == y.is_some())?;
        let arguments = [x, y.unwrap_or(x)];
        if let [Some(x), Some(y)] = arguments.map(Expr::value) {
            return Some(Expr::constant(value(found, [x, y])));
        }
        let same = |call: &Call| call.function == found && call.arguments == arguments;
        let at = match self.calls.iter().position(same) {
            Some(at) => at,
            None => {
                let stage = self.stage(&arguments);
                self.calls.push(Call {
                    function: found,
                    arguments,
                    stage,
                });
                self.calls.len() - 1
            }
        };
        Some(number(1 + at))
    }

    /// The first stage in which these expressions can be computed.
    fn stage(&self, expressions: &[Expr]) -> usize {
        let roots: Vec<_> = expressions.iter().map(|e| e.handle()).collect();
        let called = with_graph(|graph| -> Vec<usize> {
            let nodes = reachable(graph, &roots).into_iter();
            let names = nodes.filter_map(|node| match graph.nodes[node] {
                Node::Symbol(k) => Some(graph.names[k as usize].as_str()),
                _ => None,
            });
            names.filter_map(index).filter(|k| *k > 0).collect()
        });
        let stages = called.into_iter().map(|k| 1 + self.calls[k - 1].stage);
        stages.max().unwrap_or(0)
    }

    /// The function with these results.
    pub fn function(&self, results: &[Expr]) -> Result<Function> {
        let last = self.calls.iter().map(|call| call.stage + 1).max();
        let mut stages = Vec::new();
        for stage in 0..last.unwrap_or(0) {
            let own = || {
                self.calls
                    .iter()
                    .enumerate()
                    .filter(move |(_, c)| c.stage == stage)
            };
            let arguments: Vec<Expr> = own().flat_map(|(_, call)| call.arguments).collect();
            let calls = own().map(|(k, call)| (call.function, 1 + k)).collect();
            stages.push(Stage::new(&arguments, calls)?);
        }
        stages.push(Stage::new(results, Vec::new())?);
        Ok(Function {
            sizes: self.sizes,
            results: results.len(),
            numbers: vec![0.0; 1 + self.calls.len()],
            stages,
        })
    }

    /// A formula for reading, with its calls written out.
    pub fn text(&self, formula: Expr) -> String {
        let mut text = formula.to_string();
        // an argument has calls of earlier stages only
        for (k, call) in self.calls.iter().enumerate().rev() {
            let symbol = format!("{NUMBERS}[{}]", 1 + k);
            if !text.contains(&symbol) || text.len() > LONGEST {
                continue;
            }
            let (name, of) = FUNCTIONS[call.function];
            let count = if matches!(of, Two(_)) { 2 } else { 1 };
            let arguments: Vec<String> = call.arguments[..count]
                .iter()
                .map(Expr::to_string)
                .collect();
            text = text.replace(&symbol, &format!("{name}({})", arguments.join(", ")));
        }
        text.replace(&format!("{NUMBERS}[0]"), "t")
    }
}

/// Longest text in which calls are still written out.
const LONGEST: usize = 10_000;

fn number(k: usize) -> Expr {
    Expr::symbol(&format!("{NUMBERS}[{k}]"))
}

/// Which of the further numbers a symbol is.
fn index(symbol: &str) -> Option<usize> {
    let inside = symbol.strip_prefix(NUMBERS)?.strip_prefix('[')?;
    inside.strip_suffix(']')?.parse().ok()
}

fn value(function: usize, [x, y]: [f64; 2]) -> f64 {
    match FUNCTIONS[function].1 {
        One(f) => f(x),
        Two(f) => f(x, y),
    }
}

/// A program, and the calls of its results.
#[derive(Clone, Debug)]
struct Stage {
    program: Arc<Program>,
    /// Its machine code; none on a processor without an assembler.
    code: Option<Routine>,
    /// Functions, and the indices of their results among the numbers; each takes two of the program's results.
    calls: Vec<(usize, usize)>,
    arguments: Vec<f64>,
}

impl Stage {
    fn new(results: &[Expr], calls: Vec<(usize, usize)>) -> Result<Self> {
        let program = Program::new(results);
        Ok(Stage {
            code: code(&program)?,
            arguments: vec![0.0; 2 * calls.len()],
            calls,
            program: Arc::new(program),
        })
    }

    fn run(&mut self, q: &[f64], v: &[f64], numbers: &[f64], results: &mut [f64]) {
        match &mut self.code {
            Some(code) => code.run(q, v, numbers, results),
            None => results.copy_from_slice(&interpreted(&self.program, q, v, numbers)),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn code(program: &Program) -> Result<Option<Routine>> {
    match catena::Cpu::detect() {
        catena::Cpu::Baseline => Ok(None),
        _ => crate::native::routine(program).map(Some),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn code(_: &Program) -> Result<Option<Routine>> {
    Ok(None)
}

/// The results of a program, operation by operation.
fn interpreted(program: &Program, q: &[f64], v: &[f64], numbers: &[f64]) -> Vec<f64> {
    program.evaluate(|name| {
        let (array, k) = name
            .trim_end_matches(']')
            .split_once('[')
            .unwrap_or_default();
        let array = match array {
            "q" => q,
            "v" => v,
            _ => numbers,
        };
        k.parse().map_or(f64::NAN, |k: usize| array[k])
    })
}

/// Formulas of t, q and v that are evaluated by machine code, without allocation; operation by operation on processors without an assembler.
///
/// ```
/// use catena_symbolic::{Function, Trace, scope};
///
/// let mut function = scope(|| -> catena::error::Result<Function> {
///     let mut trace = Trace::new(1, 1);
///     let (t, q, v) = trace.inputs();
///     let wave = trace.call("sin", t + q[0], None).expect("a function of one number");
///     trace.function(&[wave * v[0]])
/// })?;
/// let mut effort = [0.0];
/// function.evaluate(0.5, &[0.25], &[2.0], &mut effort);
/// assert!((effort[0] - 2.0 * 0.75f64.sin()).abs() < 1e-15);
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Function {
    sizes: [usize; 2],
    results: usize,
    /// t, then the results of the calls.
    numbers: Vec<f64>,
    /// The last one computes the results.
    stages: Vec<Stage>,
}

impl Function {
    /// Numbers of positions, velocities and results.
    pub fn sizes(&self) -> [usize; 3] {
        [self.sizes[0], self.sizes[1], self.results]
    }

    /// The results. Panics where the slices are not of these sizes.
    pub fn evaluate(&mut self, t: f64, q: &[f64], v: &[f64], results: &mut [f64]) {
        assert_eq!(
            [q.len(), v.len(), results.len()],
            self.sizes(),
            "sizes of the function"
        );
        self.numbers[0] = t;
        let Some((last, before)) = self.stages.split_last_mut() else {
            return;
        };
        for stage in before {
            let mut arguments = std::mem::take(&mut stage.arguments);
            stage.run(q, v, &self.numbers, &mut arguments);
            for (&(function, to), pair) in stage.calls.iter().zip(arguments.chunks_exact(2)) {
                self.numbers[to] = value(function, [pair[0], pair[1]]);
            }
            stage.arguments = arguments;
        }
        last.run(q, v, &self.numbers, results);
    }
}

impl Control for Function {
    fn efforts(
        &mut self,
        t: f64,
        state: &State,
        _: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()> {
        let given = [state.q.len(), state.v.len(), tau.len()];
        if given != self.sizes() {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the function takes and gives {:?} positions, velocities and efforts, the model has {given:?}", self.sizes()),
            )
            .hint("trace the function for this model"));
        }
        self.evaluate(t, &state.q, &state.v, tau);
        Ok(())
    }

    fn save(&self) -> Option<Vec<f64>> {
        Some(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope;

    /// Calls of calls, comparisons and quotients: code, program and Rust's own functions agree.
    #[test]
    fn stages_compute_what_is_written() {
        let mut function = scope(|| {
            let mut trace = Trace::new(2, 2);
            let (t, q, v) = trace.inputs();
            let inner = trace.call("tanh", q[0] * v[1], None).expect("tanh");
            let outer = trace
                .call("arctan2", inner + t, Some(q[1]))
                .expect("arctan2");
            let chosen = Expr::select(q[0].less(v[0]), outer, inner / (q[1] + Expr::constant(3.0)));
            assert!(trace.call("tanh", t, Some(t)).is_none());
            assert!(trace.call("gamma", t, None).is_none());
            assert_eq!(trace.text(outer), "arctan2(t + tanh(q[0]*v[1]), q[1])");
            trace.function(&[chosen, outer * Expr::constant(2.0)])
        })
        .expect("it can be assembled");
        for k in 0..20 {
            let x = f64::from(k) * 0.37;
            let (t, q, v) = (x, [x.sin(), (2.0 * x).cos()], [(3.0 * x).sin(), x - 2.0]);
            let inner = (q[0] * v[1]).tanh();
            let outer = (inner + t).atan2(q[1]);
            let chosen = if q[0] < v[0] {
                outer
            } else {
                inner / (q[1] + 3.0)
            };
            let mut found = [0.0; 2];
            function.evaluate(t, &q, &v, &mut found);
            let last = &function.stages[2];
            let slow = interpreted(&last.program, &q, &v, &function.numbers);
            for (k, wanted) in [chosen, 2.0 * outer].into_iter().enumerate() {
                assert!((found[k] - wanted).abs() <= 1e-14, "{found:?}, {wanted}");
                assert!((slow[k] - wanted).abs() <= 1e-14, "{slow:?}, {wanted}");
            }
        }
    }
}
