//! Straight-line programs: expressions extracted from their graph, optimised and ordered.

use crate::calculus::{operands, reachable};
use crate::expr::{Expr, with_graph};
use crate::graph::{Graph, Handle, Node};
use crate::optimize::optimized;
use crate::traffic::traffic;
use catena::elementary;
use catena::scalar::Operations;

/// A list of operations, each of earlier results, that computes the values of some expressions.
///
/// It is independent of the graph it was made from, can be sent to other threads, evaluated, and written as source code.
#[derive(Clone, Debug)]
pub struct Program {
    /// Names of the symbols used.
    pub symbols: Vec<String>,
    /// Every operation refers to earlier ones.
    pub(crate) operations: Vec<Node>,
    pub(crate) outputs: Vec<Handle>,
}

/// How the results of a program's operations are used.
pub(crate) struct Usage {
    /// Products that are used once, in a sum: they become fused multiply-adds.
    pub fusible: Vec<bool>,
    /// Results used by sines and cosines only.
    pub in_angle_only: Vec<bool>,
}

impl Program {
    /// How the results of the operations are used.
    pub(crate) fn usage(&self) -> Usage {
        let count = self.operations.len();
        let mut uses = vec![0u32; count];
        let mut in_sum = vec![false; count];
        let mut in_angle_only = vec![true; count];
        for &operation in &self.operations {
            operands(operation, |x| {
                uses[x.node()] += 1;
                in_sum[x.node()] = matches!(operation, Node::Add(..));
                if !matches!(operation, Node::Sin(_) | Node::Cos(_)) {
                    in_angle_only[x.node()] = false;
                }
            });
        }
        for output in &self.outputs {
            uses[output.node()] += 1;
            in_sum[output.node()] = false;
            in_angle_only[output.node()] = false;
        }
        let product = |x: usize| matches!(self.operations[x], Node::Mul(..));
        Usage {
            fusible: (0..count)
                .map(|x| uses[x] == 1 && in_sum[x] && product(x))
                .collect(),
            in_angle_only,
        }
    }

    /// The program that computes these expressions, with as few operations as the optimiser finds.
    pub fn new(outputs: &[Expr]) -> Self {
        let given: Vec<Handle> = outputs.iter().map(|e| e.handle()).collect();
        with_graph(|graph| {
            let roots = optimized(graph, &given);
            Self::scheduled_well(graph, &given, &roots)
        })
    }

    /// The program that computes these expressions as given.
    pub fn unoptimized(outputs: &[Expr]) -> Self {
        let roots: Vec<Handle> = outputs.iter().map(|e| e.handle()).collect();
        with_graph(|graph| Self::scheduled_well(graph, &roots, &roots))
    }

    /// In the order in which the outputs are given, in reverse, or in the order in which the expressions were created,
    /// whichever causes the least memory traffic: the entries of an inertia matrix are computed from the tips of a tree to its base.
    fn scheduled_well(graph: &Graph, given: &[Handle], roots: &[Handle]) -> Self {
        let plain: Vec<usize> = (0..roots.len()).collect();
        let backward: Vec<usize> = plain.iter().rev().copied().collect();
        let mut as_made = plain.clone();
        as_made.sort_by_key(|&at| given[at].node());
        [plain, backward, as_made]
            .into_iter()
            .map(|order| Self::scheduled(graph, roots, order))
            .min_by_key(traffic)
            .expect("there are three orders")
    }

    /// Puts the operations in order, depth first: results are used at once where possible, so that
    /// few registers are occupied. Outputs are started in the given order.
    fn scheduled(graph: &Graph, roots: &[Handle], order: Vec<usize>) -> Self {
        let nodes = reachable(graph, roots);
        // registers that the evaluation of an operand needs at least (Sethi and Ullman): the operand that needs most goes first
        let mut need = vec![0u32; graph.nodes.len()];
        for &node in &nodes {
            let mut needs: Vec<u32> = Vec::new();
            operands(graph.nodes[node], |x| needs.push(need[x.node()]));
            needs.sort_unstable_by(|a, b| b.cmp(a));
            let held = needs.iter().enumerate().map(|(k, n)| n + k as u32);
            need[node] = held.max().unwrap_or(0).max(1);
        }
        let mut program = Program {
            symbols: Vec::new(),
            operations: Vec::new(),
            outputs: Vec::new(),
        };
        let mut place: Vec<Option<usize>> = vec![None; graph.nodes.len()];
        let mut symbol_at: Vec<Option<u32>> = vec![None; graph.names.len()];
        let mut stack: Vec<(usize, bool)> = Vec::new();
        for at in order {
            stack.push((roots[at].node(), false));
            while let Some((node, ready)) = stack.pop() {
                if place[node].is_some() {
                    continue;
                }
                let kind = graph.nodes[node];
                if !ready {
                    stack.push((node, true));
                    let mut waiting: Vec<usize> = Vec::new();
                    operands(kind, |x| waiting.push(x.node()));
                    waiting.sort_by_key(|&x| need[x]);
                    stack.extend(waiting.into_iter().map(|x| (x, false)));
                    continue;
                }
                let to = |x: Handle| {
                    let at = place[x.node()].expect("operands come first");
                    Handle::new(at, x.negative())
                };
                let operation = match kind {
                    Node::Constant(number) => Node::Constant(number),
                    Node::Symbol(k) => {
                        let symbols = &mut program.symbols;
                        let at = *symbol_at[k as usize].get_or_insert_with(|| {
                            symbols.push(graph.names[k as usize].clone());
                            symbols.len() as u32 - 1
                        });
                        Node::Symbol(at)
                    }
                    Node::Add(a, b) => Node::Add(to(a), to(b)),
                    Node::Mul(a, b) => Node::Mul(to(a), to(b)),
                    Node::Recip(a) => Node::Recip(to(a)),
                    Node::Sqrt(a) => Node::Sqrt(to(a)),
                    Node::Sin(a) => Node::Sin(to(a)),
                    Node::Cos(a) => Node::Cos(to(a)),
                    Node::Select {
                        left,
                        right,
                        yes,
                        no,
                    } => Node::Select {
                        left: to(left),
                        right: to(right),
                        yes: to(yes),
                        no: to(no),
                    },
                };
                place[node] = Some(program.operations.len());
                program.operations.push(operation);
            }
        }
        for root in roots {
            let at = place[root.node()].expect("the root was placed");
            program.outputs.push(Handle::new(at, root.negative()));
        }
        program
    }

    /// Number of outputs.
    pub fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// The values of the outputs, given those of the symbols by name.
    pub fn evaluate(&self, symbol: impl Fn(&str) -> f64) -> Vec<f64> {
        let inputs: Vec<f64> = self.symbols.iter().map(|name| symbol(name)).collect();
        let mut value: Vec<f64> = Vec::with_capacity(self.operations.len());
        let get = |value: &[f64], x: Handle| {
            let size: f64 = value[x.node()];
            if x.negative() { -size } else { size }
        };
        for &operation in &self.operations {
            let result = match operation {
                Node::Constant(number) => number.value(),
                Node::Symbol(k) => inputs[k as usize],
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
                } => match get(&value, left) < get(&value, right) {
                    true => get(&value, yes),
                    false => get(&value, no),
                },
            };
            value.push(result);
        }
        self.outputs.iter().map(|&x| get(&value, x)).collect()
    }

    /// Number of operations it takes. The sine and cosine of one angle count as one pair; signs cost nothing, as in
    /// [`Count`](catena::scalar::Count).
    pub fn operation_count(&self) -> Operations {
        let mut count = Operations::default();
        let mut angles = Vec::new();
        for operation in &self.operations {
            match operation {
                Node::Constant(_) | Node::Symbol(_) | Node::Select { .. } => {}
                Node::Add(..) => count.additions += 1,
                Node::Mul(..) => count.multiplications += 1,
                Node::Recip(_) => count.divisions += 1,
                Node::Sqrt(_) => count.square_roots += 1,
                Node::Sin(angle) | Node::Cos(angle) => angles.push(angle.node()),
            }
        }
        angles.sort_unstable();
        angles.dedup();
        count.sines = angles.len() as u64;
        count
    }

    /// Latency of the longest dependency chain in cycles, with those of current processors for sums and products (4), quotients
    /// (13) and roots (18). Sines and cosines come first in any case and are not counted.
    pub(crate) fn longest_chain(&self) -> u64 {
        let mut ready: Vec<u64> = Vec::with_capacity(self.operations.len());
        for &operation in &self.operations {
            let mut start = 0;
            operands(operation, |x| start = start.max(ready[x.node()]));
            ready.push(match operation {
                Node::Constant(_) | Node::Symbol(_) | Node::Sin(_) | Node::Cos(_) => 0,
                Node::Add(..) | Node::Mul(..) | Node::Select { .. } => start + 4,
                Node::Recip(_) => start + 13,
                Node::Sqrt(_) => start + 18,
            });
        }
        let results = self.outputs.iter().map(|x| ready[x.node()]);
        results.max().unwrap_or(0)
    }
}
