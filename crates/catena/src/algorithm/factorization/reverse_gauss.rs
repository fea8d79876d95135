//! The reverse Gaussian elimination of an explicit inertia matrix, step by step as in the paper.
//!
//! Saha, "The UDUᵀ decomposition of manipulator inertia matrix", and Saha (1999), eqs. 40–46: for k = n, …, 2 the entries
//! of column k above the diagonal are eliminated,
//!
//! ```text
//! αᵢₖ = iᵢₖ / iₖₖ                         (i < k, entries of the matrix reduced so far)
//! Eₖ = 1 − αₖ eₖᵀ                          elementary upper triangular matrix
//! Lₖ = Eₖ Lₖ₊₁                            Lₙ₊₁ = I
//! ```
//!
//! so that E I = L₂ = D Uᵀ with E = E₂ ⋯ Eₙ, U = E⁻¹ (unit upper triangular, columns αₖ) and D the diagonal of L₂.
//! O(n³) as written; [`Factorization`](super::Factorization) does the same in O(n) by using the meaning of the entries. It is
//! kept as a readable third method: for teaching, and as an independent check in tests.

use crate::card::Card;
use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// Reverse Gaussian elimination.
pub const CARD: Card = Card {
    name: "Reverse Gaussian elimination",
    question: "solve with the inertia matrix",
    call: "reverse_gaussian_elimination",
    file: "algorithm/factorization/reverse_gauss.rs",
    order: "O(n³)",
    source: "Saha 1995 (UDUᵀ), app. A; Saha 1999, eqs. 40–46, 54",
};

/// One step.
#[derive(Clone, Debug)]
pub struct EliminationStep<S> {
    /// The freedom eliminated, counted from 0.
    pub k: usize,
    /// αᵢₖ for i < k.
    pub alpha: Vec<S>,
    /// Lₖ, the matrix after the step.
    pub reduced: Matrix<S>,
}

/// The whole elimination: I = U D Uᵀ.
#[derive(Clone, Debug)]
pub struct ReverseElimination<S> {
    /// Steps k = n, …, 2.
    pub steps: Vec<EliminationStep<S>>,
    /// Unit upper triangular.
    pub u: Matrix<S>,
    /// Diagonal.
    pub d: Vec<S>,
}

/// Eliminates the upper triangle of a symmetric positive definite matrix, last column first.
pub fn reverse_gaussian_elimination<S: Scalar>(inertia: &Matrix<S>) -> ReverseElimination<S> {
    let n = inertia.rows();
    let mut reduced = inertia.clone();
    let mut u = Matrix::identity(n);
    let mut steps = Vec::with_capacity(n.saturating_sub(1));
    for k in (1..n).rev() {
        let pivot = reduced[(k, k)];
        let mut alpha = Vec::with_capacity(k);
        for i in 0..k {
            let multiplier = reduced[(i, k)] / pivot;
            // row i ← row i − αᵢₖ row k; column k becomes zero by construction
            for j in 0..k {
                reduced[(i, j)] = reduced[(i, j)] - multiplier * reduced[(k, j)];
            }
            reduced[(i, k)] = S::zero();
            u[(i, k)] = multiplier;
            alpha.push(multiplier);
        }
        steps.push(EliminationStep {
            k,
            alpha,
            reduced: reduced.clone(),
        });
    }
    let mut d = Vec::with_capacity(n);
    for k in 0..n {
        d.push(reduced[(k, k)]);
    }
    ReverseElimination { steps, u, d }
}

impl<S: Scalar> ReverseElimination<S> {
    /// Solves I x = b: Uᵀ and U by substitution, D by division.
    pub fn solve(&self, b: &[S]) -> Vec<S> {
        let n = b.len();
        let mut x = b.to_vec();
        // U y = b
        for k in (0..n).rev() {
            for i in 0..k {
                x[i] = x[i] - self.u[(i, k)] * x[k];
            }
        }
        for k in 0..n {
            x[k] = x[k] / self.d[k];
        }
        // Uᵀ x = y
        for k in 0..n {
            for i in 0..k {
                x[k] = x[k] - self.u[(i, k)] * x[i];
            }
        }
        x
    }
}
