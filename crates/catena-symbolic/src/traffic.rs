//! Memory traffic of a program, with the registers of a usual processor.
//!
//! The code has no branches, so the next use of every value is known: when all registers are taken, the value whose next use is
//! farthest away is spilled (Belady). No compiler does better with the same order of operations; orders are compared by it.

use crate::calculus::operands;
use crate::graph::Node;
use crate::program::Program;
use std::collections::BTreeSet;

/// Registers of AVX2 and of 64-bit ARM without the upper half.
const REGISTERS: usize = 16;

/// Number of loads, including inputs and constants, and of spills. Stores of outputs are not counted: every order does each once.
pub(crate) fn traffic(program: &Program) -> usize {
    let operations = &program.operations;
    let fusible = program.usage().fusible;
    // operands of an operation; fused products belong to their sum
    let reads: Vec<Vec<usize>> = (0..operations.len())
        .map(|at| {
            let mut list = Vec::new();
            if !fusible[at] {
                collect(operations, &fusible, at, &mut list);
            }
            list
        })
        .collect();
    let mut uses: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
    for (at, list) in reads.iter().enumerate().rev() {
        for &x in list {
            if uses[x].last() != Some(&at) {
                uses[x].push(at); // the next use is the last entry
            }
        }
    }
    // numbers in registers by their next use
    let mut held: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut stored: Vec<bool> = operations.iter().map(|node| in_memory(*node)).collect();
    let mut count = 0;
    for (at, list) in reads.iter().enumerate() {
        if list.is_empty() {
            continue;
        }
        for &x in list {
            if uses[x].last() != Some(&at) {
                continue; // read twice
            }
            if !held.remove(&(at, x)) {
                count += 1;
            }
            uses[x].pop();
        }
        let mut stay: Vec<usize> = list.clone();
        stay.push(at);
        stay.sort_unstable();
        stay.dedup();
        for x in stay {
            if let Some(&next) = uses[x].last() {
                held.insert((next, x));
            }
        }
        while held.len() > REGISTERS {
            let (_, x) = held.pop_last().expect("it is not empty");
            if !stored[x] {
                stored[x] = true;
                count += 1;
            }
        }
    }
    count
}

/// Inputs, constants, and the sines and cosines that are computed first.
fn in_memory(node: Node) -> bool {
    matches!(
        node,
        Node::Constant(_) | Node::Symbol(_) | Node::Sin(_) | Node::Cos(_)
    )
}

fn collect(operations: &[Node], fusible: &[bool], at: usize, list: &mut Vec<usize>) {
    operands(operations[at], |x| match fusible[x.node()] {
        true => collect(operations, fusible, x.node(), list),
        false => list.push(x.node()),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expr, scope};
    use catena::Scalar;

    /// The sum and the product of n squares: all squares are live until the second.
    fn squares(n: usize) -> usize {
        scope(|| {
            let squares: Vec<Expr> = Expr::symbols("a", n).iter().map(|a| *a * *a).collect();
            let sum = squares.iter().fold(Expr::zero(), |sum, x| sum + *x);
            let product = squares.iter().fold(Expr::one(), |product, x| product * *x);
            traffic(&Program::unoptimized(&[sum, product]))
        })
    }

    #[test]
    fn registers_suffice_or_not() {
        assert_eq!(squares(10), 10);
        // one register holds the sum: values that do not fit into registers are stored once and loaded once
        assert_eq!(squares(30), 30 + 2 * (30 - (REGISTERS - 1)));
    }
}
