//! Constraint forces first (eqs. 14, 50): the accelerations are eliminated.
//!
//! ```text
//! Hᵀ J⁻¹ H λ = b − Hᵀ J⁻¹ u,     x = J⁻¹ (u + H λ)                                     (14, 50; 12, 13)
//! ```
//!
//! The matrix has the square of the condition of the hinges, and with dependent rows it is singular: then the appendix takes over.

use crate::appendix;
use crate::dense::{Metric, Solved, column, refine, vector};
use crate::equations::Equations;
use catena::error::Result;
use faer::linalg::solvers::Solve;
use faer::{Col, Side};

pub(crate) fn solve(equations: &Equations) -> Result<Solved> {
    let metric = Metric::new(equations)?;
    let flexible = metric.factor.solve(&metric.hinges); // J⁻¹ H
    let compliance = metric.hinges.transpose() * &flexible;
    let rows = compliance.nrows();
    let mut assumptions = Vec::new();
    metric.note(&mut assumptions);
    if let Ok(factor) = compliance.llt(Side::Lower) {
        let pivots: Vec<f64> = (0..rows).map(|k| factor.L()[(k, k)].powi(2)).collect();
        if (0..rows).all(|k| pivots[k] > 1e-10 * compliance[(k, k)]) {
            let unknowns = refine(equations, 6, |u, right| {
                let free: Col<f64> = metric.factor.solve(metric.force(u, right));
                let lambda: Col<f64> =
                    factor.solve(column(right) - metric.hinges.transpose() * &free); // (14)
                let x = free + &flexible * &lambda; // (12), (13)
                (vector(&x), vector(&lambda))
            });
            return Ok(Solved {
                unknowns,
                rank: Some(rows),
                condition: appendix::ratio_of_extremes(&pivots),
                assumptions,
            });
        }
    }
    let mut solved = appendix::by_svd(equations)?;
    solved
        .assumptions
        .insert(0, "Hᵀ J⁻¹ H has no Cholesky factor: solved by SVD".into());
    Ok(solved)
}
