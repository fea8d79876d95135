//! Reduces the operations of expressions, based on how often each is used.
//!
//! * sin(x ± y) is written with the sines and cosines of x and y, which are needed anyway: two products instead of a sine;
//! * terms of a sum that are not used elsewhere are factored by their common factors, the most frequent one first:
//!   a·b + a·c + d·b = a·(b + c) + d·b.
//!
//! Products and sums used elsewhere are left unchanged, so nothing is computed twice.

use crate::calculus::{operands, reachable};
use crate::graph::{Graph, Handle, Node};

/// Rewrites expressions with fewer operations.
pub(crate) fn optimized(graph: &mut Graph, roots: &[Handle]) -> Vec<Handle> {
    let mut roots = lowered_angles(graph, roots);
    let mut cost = operation_count(graph, &roots);
    loop {
        let next = factored(graph, &roots);
        let next_cost = operation_count(graph, &next);
        if next_cost >= cost {
            return roots;
        }
        (roots, cost) = (next, next_cost);
    }
}

/// Additions, products and the rest together.
fn operation_count(graph: &Graph, roots: &[Handle]) -> usize {
    reachable(graph, roots)
        .into_iter()
        .filter(|&node| !matches!(graph.nodes[node], Node::Constant(_) | Node::Symbol(_)))
        .count()
}

/// Rebuilds every node with `make`, which receives the node and the new operands.
fn rebuilt(
    graph: &mut Graph,
    roots: &[Handle],
    mut make: impl FnMut(&mut Graph, Node, &[Handle]) -> Handle,
) -> Vec<Handle> {
    let mut new = vec![Handle::ZERO; graph.nodes.len()];
    for node in reachable(graph, roots) {
        let kind = graph.nodes[node];
        new[node] = match kind {
            Node::Constant(_) | Node::Symbol(_) => Handle::new(node, false),
            _ => make(graph, kind, &new),
        };
    }
    roots
        .iter()
        .map(|x| new[x.node()].signed(x.negative()))
        .collect()
}

/// A node rebuilt with new operands, without the simplifications that would undo the optimisation.
fn remade(graph: &mut Graph, kind: Node, new: &[Handle]) -> Handle {
    let get = |x: Handle| new[x.node()].signed(x.negative());
    match kind {
        Node::Constant(_) | Node::Symbol(_) => unreachable!("leaves stay what they are"),
        Node::Add(a, b) => graph.combine(get(a), get(b)),
        Node::Mul(a, b) => graph.mul(get(a), get(b)),
        Node::Recip(a) => graph.recip(get(a)),
        Node::Sqrt(a) => graph.sqrt(get(a)),
        Node::Sin(a) => graph.sin(get(a)),
        Node::Cos(a) => graph.cos(get(a)),
        Node::Select {
            left,
            right,
            yes,
            no,
        } => graph.select(get(left), get(right), get(yes), get(no)),
    }
}

fn lowered_angles(graph: &mut Graph, roots: &[Handle]) -> Vec<Handle> {
    rebuilt(graph, roots, |graph, kind, new| match kind {
        Node::Sin(angle) => sine_and_cosine(graph, angle).0,
        Node::Cos(angle) => sine_and_cosine(graph, angle).1,
        _ => remade(graph, kind, new),
    })
}

/// Sine and cosine of a sum of angles, from those of its parts. A constant part stays: it costs one addition.
fn sine_and_cosine(graph: &mut Graph, angle: Handle) -> (Handle, Handle) {
    if let Node::Add(a, b) = graph.node(angle)
        && graph.value(a).is_none()
        && graph.value(b).is_none()
    {
        let ((sa, ca), (sb, cb)) = (sine_and_cosine(graph, a), sine_and_cosine(graph, b));
        let (sc, cs) = (graph.mul(sa, cb), graph.mul(ca, sb));
        let (cc, ss) = (graph.mul(ca, cb), graph.mul(sa, sb));
        let sin = graph.combine(sc, cs).signed(angle.negative());
        return (sin, graph.combine(cc, ss.minus()));
    }
    (graph.sin(angle), graph.cos(angle))
}

/// A term of a sum: its sign and its factors.
#[derive(Clone, Debug)]
struct Term {
    negative: bool,
    factors: Vec<Handle>,
}

fn factored(graph: &mut Graph, roots: &[Handle]) -> Vec<Handle> {
    let nodes = reachable(graph, roots);
    let mut uses = vec![0u32; graph.nodes.len()];
    let mut in_sum = vec![false; graph.nodes.len()];
    for &node in &nodes {
        let kind = graph.nodes[node];
        operands(kind, |x| {
            uses[x.node()] += 1;
            in_sum[x.node()] = matches!(kind, Node::Add(..));
        });
    }
    for root in roots {
        uses[root.node()] += 1;
        in_sum[root.node()] = false;
    }
    let mut new = vec![Handle::ZERO; graph.nodes.len()];
    for node in nodes {
        let kind = graph.nodes[node];
        new[node] = match kind {
            Node::Constant(_) | Node::Symbol(_) => Handle::new(node, false),
            Node::Add(..) if !(uses[node] == 1 && in_sum[node]) => {
                let mut terms = Vec::new();
                collect_terms(
                    graph,
                    &uses,
                    &new,
                    Handle::new(node, false),
                    true,
                    &mut terms,
                );
                match best_factor(&terms) {
                    Some(_) => sum_of(graph, terms),
                    None => remade(graph, kind, &new),
                }
            }
            _ => remade(graph, kind, &new),
        };
    }
    roots
        .iter()
        .map(|x| new[x.node()].signed(x.negative()))
        .collect()
}

fn collect_terms(
    graph: &Graph,
    uses: &[u32],
    new: &[Handle],
    x: Handle,
    top: bool,
    terms: &mut Vec<Term>,
) {
    match graph.node(x) {
        Node::Add(a, b) if top || uses[x.node()] == 1 => {
            for part in [a, b] {
                collect_terms(graph, uses, new, part.signed(x.negative()), false, terms);
            }
        }
        _ => {
            let mut term = Term {
                negative: x.negative(),
                factors: Vec::new(),
            };
            collect_factors(graph, uses, new, x.size(), &mut term);
            terms.push(term);
        }
    }
}

fn collect_factors(graph: &Graph, uses: &[u32], new: &[Handle], x: Handle, term: &mut Term) {
    match graph.node(x) {
        Node::Mul(a, b) if uses[x.node()] == 1 => {
            collect_factors(graph, uses, new, a, term);
            collect_factors(graph, uses, new, b, term);
        }
        _ => {
            let made = new[x.node()];
            term.negative ^= made.negative();
            term.factors.push(made.size());
        }
    }
}

/// The factor that most terms have, if two have one.
fn best_factor(terms: &[Term]) -> Option<Handle> {
    let mut factors: Vec<Handle> = Vec::new();
    for term in terms {
        let mut own = term.factors.clone();
        own.sort();
        own.dedup();
        factors.extend(own);
    }
    factors.sort();
    let mut best: Option<(usize, Handle)> = None;
    for group in factors.chunk_by(|a, b| a == b) {
        if group.len() >= 2 && group[0] != Handle::ONE && best.is_none_or(|(n, _)| group.len() > n)
        {
            best = Some((group.len(), group[0]));
        }
    }
    best.map(|(_, factor)| factor)
}

fn sum_of(graph: &mut Graph, mut terms: Vec<Term>) -> Handle {
    while let Some(factor) = best_factor(&terms) {
        let (mut with, without): (Vec<Term>, Vec<Term>) = terms
            .into_iter()
            .partition(|term| term.factors.contains(&factor));
        for term in &mut with {
            let at = term.factors.iter().position(|f| *f == factor);
            term.factors
                .swap_remove(at.expect("chosen because it has the factor"));
            if term.factors.is_empty() {
                term.factors.push(Handle::ONE);
            }
        }
        let inner = sum_of(graph, with);
        terms = without;
        terms.push(Term {
            negative: inner.negative(),
            factors: vec![factor, inner.size()],
        });
    }
    // terms that are not products first: each product is then added by a fused multiply-add
    terms.sort_by_key(|term| term.factors.len() > 1);
    let mut sum = Handle::ZERO;
    for mut term in terms {
        term.factors.sort();
        let mut product = Handle::ONE;
        for factor in term.factors {
            product = graph.mul(product, factor);
        }
        sum = graph.combine(sum, product.signed(term.negative));
    }
    sum
}
