//! Constraint forces first (eqs. 14, 50): the accelerations are eliminated.
//!
//! ```text
//! Hᵀ J⁻¹ H λ = b − Hᵀ J⁻¹ u,     x = J⁻¹ (u + H λ)                                     (14, 50; 12, 13)
//! ```
//!
//! The matrix has the squared condition number of the hinges, and with dependent rows it is singular: then its eigenvectors identify
//! them, as long as it is clear which of its eigenvalues are zero; otherwise the SVD of the appendix is used.

use crate::appendix;
use crate::dense::{Metric, Solved, column, cost, refine, vector};
use crate::equations::Equations;
use catena::error::Result;
use catena::residual::within;
use faer::linalg::solvers::Solve;
use faer::{Col, Side};

/// Eigenvalues of Hᵀ J⁻¹ H below this fraction of the largest are round-off of its products.
const ROUND_OFF: f64 = 1e-13;

/// Eigenvalues between the two limits are neither clearly zero nor clearly nonzero.
const DOUBTFUL: f64 = 1e-11;

/// A residual above this is no round-off: a row that is nearly dependent has an eigenvalue that is the square of something
/// small, and was taken for zero.
const SOLVED: f64 = 1e-12;

pub(crate) fn solve(equations: &Equations) -> Result<Solved> {
    let metric = Metric::new(equations)?;
    let flexible = metric.factor.solve(&metric.hinges); // J⁻¹ H
    let compliance = metric.hinges.transpose() * &flexible;
    let (size, rows) = (flexible.nrows(), compliance.nrows());
    let mut assumptions = Vec::new();
    metric.note(&mut assumptions);
    let mut operations = metric.operations()
        + cost::substitution(size, rows) / 2.0
        + cost::product(rows, size, rows) / 2.0
        + cost::cholesky(rows);
    let both = |u: &[f64], right: &[f64], multipliers: &dyn Fn(Col<f64>) -> Col<f64>| {
        let free: Col<f64> = metric.factor.solve(metric.force(u, right));
        let lambda = multipliers(column(right) - metric.hinges.transpose() * &free); // (14)
        let x = free + &flexible * &lambda; // (12), (13)
        (vector(&x), vector(&lambda))
    };
    if let Ok(factor) = compliance.llt(Side::Lower) {
        let pivots: Vec<f64> = (0..rows).map(|k| factor.L()[(k, k)].powi(2)).collect();
        if (0..rows).all(|k| pivots[k] > 1e-10 * compliance[(k, k)]) {
            let unknowns = refine(equations, 6, |u, right| {
                both(u, right, &|c| factor.solve(c))
            });
            return Ok(Solved {
                unknowns,
                rank: Some(rows),
                condition: appendix::ratio_of_extremes(&pivots),
                assumptions,
                operations,
                handed_over: false,
            });
        }
    }
    // dependent rows: C = Hᵀ J⁻¹ H = W Λ Wᵀ, and the minimum-norm λ has no component along eigenvectors of eigenvalue zero
    operations += cost::svd(rows, rows);
    if let Ok(eigen) = compliance.self_adjoint_eigen(Side::Lower) {
        let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let largest = values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let positive = |x: f64| x > ROUND_OFF * largest;
        let clear = values
            .iter()
            .all(|&x| x.abs() < ROUND_OFF * largest || x > DOUBTFUL * largest);
        if clear {
            let rank = values.iter().filter(|&&x| positive(x)).count();
            let w = eigen.U();
            let unknowns = refine(equations, 6, |u, right| {
                both(u, right, &|c| {
                    let mut y = w.transpose() * c;
                    for (y, &value) in y.iter_mut().zip(&values) {
                        *y = if positive(value) {
                            *y / (value * value)
                        } else {
                            0.0
                        };
                    }
                    // C Λ⁻² instead of Λ⁻¹: a product with Hᵀ has no null-space component, however large the error of W
                    metric.hinges.transpose() * (&flexible * (w * y))
                })
            });
            if !within(unknowns.residual, SOLVED) {
                return handed_over(
                    equations,
                    format!(
                        "rows that are nearly dependent leave a residual of {:.1e} in Hᵀ J⁻¹ H: solved by SVD",
                        unknowns.residual
                    ),
                );
            }
            let least = values.iter().filter(|&&x| positive(x));
            let condition = largest / least.fold(largest, |m, x| m.min(*x));
            appendix::rank_note(rows, rank, &mut assumptions);
            return Ok(Solved {
                unknowns,
                rank: Some(rank),
                condition,
                assumptions,
                operations,
                handed_over: false,
            });
        }
    }
    handed_over(
        equations,
        "Hᵀ J⁻¹ H does not show clearly which rows are dependent: solved by SVD".into(),
    )
}

fn handed_over(equations: &Equations, why: String) -> Result<Solved> {
    let mut solved = appendix::by_svd(equations)?;
    solved.handed_over = true;
    solved.assumptions.insert(0, why);
    Ok(solved)
}
