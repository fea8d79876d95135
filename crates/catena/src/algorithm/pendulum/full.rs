//! The full system (eq. 4): all 14n corrections at once by LU factorization.
//!
//! The Jacobian is exact, or by central differences. Along one unknown (with its rate moving σ times as fast) E is a
//! polynomial of degree two at most: A and ω × Iω are quadratic in p, ω and ω̇ are linear in p, s and ṡ. A central
//! difference of such a function has no truncation error, so the steps are large and only round-off remains.

use super::Pendulum;
use super::blocks::{Blocks, jacobian};
use super::residual::residual_kernel;
use super::unknowns::UNKNOWNS;
use crate::dense::Lu;
use crate::scalar::{Parameter, Scalar};

/// Workspace of both full schemes.
#[derive(Clone, Debug)]
pub(super) struct Full<S> {
    lu: Lu<S>,
    blocks: Vec<Blocks<S>>,
    moved: [Vec<S>; 4],
}

impl<S: Scalar<Mask = bool>> Full<S> {
    pub fn new(bodies: usize) -> Self {
        let zeros = vec![S::zero(); bodies * UNKNOWNS];
        Full {
            lu: Lu::new(bodies * UNKNOWNS),
            blocks: vec![Blocks::zero(); bodies],
            moved: [(); 4].map(|()| zeros.clone()),
        }
    }

    /// J by its formulas.
    pub fn exact<P: Parameter<S>>(
        &mut self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
        x: &[S],
        xdot: &[S],
        sigma: S,
    ) {
        Blocks::fill(pendulum, x, xdot, sigma, &mut self.blocks);
        jacobian(
            pendulum,
            dependent,
            &self.blocks,
            sigma,
            self.lu.matrix_mut(),
        );
    }

    /// J by differences of E.
    pub fn differences<P: Parameter<S>>(
        &mut self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
        x: &[S],
        xdot: &[S],
        sigma: S,
    ) {
        let half = S::constant(0.5);
        let [moved, moved_rate, above, below] = &mut self.moved;
        moved.copy_from_slice(x);
        moved_rate.copy_from_slice(xdot);
        for column in 0..x.len() {
            moved[column] = x[column] + S::one();
            moved_rate[column] = xdot[column] + sigma;
            residual_kernel(pendulum, dependent, moved, moved_rate, above);
            moved[column] = x[column] - S::one();
            moved_rate[column] = xdot[column] - sigma;
            residual_kernel(pendulum, dependent, moved, moved_rate, below);
            moved[column] = x[column];
            moved_rate[column] = xdot[column];
            let matrix = self.lu.matrix_mut();
            for (row, (above, below)) in above.iter().zip(&*below).enumerate() {
                matrix[(row, column)] = (*above - *below) * half;
            }
        }
    }

    /// Factorizes J; the unknown without a pivot is the error.
    pub fn factorize(&mut self) -> Result<(), usize> {
        self.lu.factorize()
    }

    pub fn solve(&mut self, e: &[S], correction: &mut [S]) {
        self.lu.solve(e, correction);
    }
}
