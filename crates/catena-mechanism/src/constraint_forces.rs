//! Constraint forces first (eqs. 14, 50): the accelerations are eliminated.
//!
//! ```text
//! Hᵀ J⁻¹ H λ = b − Hᵀ J⁻¹ u,     x = J⁻¹ (u + H λ)                                     (14, 50; 12, 13)
//! ```
//!
//! The matrix has the squared condition number of the hinges, and with dependent rows it is singular: then its eigenvectors identify
//! them, as long as it is clear which of its eigenvalues are zero; otherwise the SVD of the appendix is used.

use crate::appendix;
use crate::dense::{Metric, Solved, column, refine};
use crate::equations::Equations;
use crate::linear::Col;
use catena::error::Result;
use catena::residual::within;

/// Eigenvalues of Hᵀ J⁻¹ H below this fraction of the largest are round-off of its products.
const ROUND_OFF: f64 = 1e-13;

/// Eigenvalues between the two limits are neither clearly zero nor clearly nonzero.
const DOUBTFUL: f64 = 1e-11;

/// A residual above this is not round-off: a nearly dependent row has an eigenvalue that is the square of a small number,
/// and was taken for zero.
const SOLVED: f64 = 1e-12;

pub(crate) fn solve(equations: &Equations) -> Result<Solved> {
    let metric = Metric::new(equations)?;
    let flexible = metric.factor.solve_columns(&metric.hinges); // J⁻¹ H
    let across = metric.hinges.transpose();
    let compliance = &across * &flexible;
    let rows = compliance.nrows();
    let mut assumptions = Vec::new();
    metric.note(&mut assumptions);
    let both = |u: &[f64], right: &[f64], multipliers: &dyn Fn(Col) -> Col| {
        let free = metric.factor.solve(metric.force(u, right));
        let lambda = multipliers(column(right) - &(&across * &free)); // (14)
        let x = free + &(&flexible * &lambda); // (12), (13)
        (x.0, lambda.0)
    };
    if let Some(factor) = compliance.cholesky() {
        let pivots = factor.pivots();
        if (0..rows).all(|k| pivots[k] > 1e-10 * compliance[(k, k)]) {
            let unknowns = refine(equations, 6, |u, right| {
                both(u, right, &|c| factor.solve(c))
            });
            return Ok(Solved {
                unknowns,
                rank: Some(rows),
                condition: appendix::ratio_of_extremes(&pivots),
                assumptions,
                handed_over: false,
            });
        }
    }
    // dependent rows: C = Hᵀ J⁻¹ H = W Λ Wᵀ, and the minimum-norm λ has no component along eigenvectors of eigenvalue zero
    // (it has no negative eigenvalues: they are its singular values)
    if let Ok((values, w)) = compliance.right_svd() {
        let largest = values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let positive = |x: f64| x > ROUND_OFF * largest;
        let clear = values
            .iter()
            .all(|&x| x.abs() < ROUND_OFF * largest || x > DOUBTFUL * largest);
        if clear {
            let rank = values.iter().filter(|&&x| positive(x)).count();
            let across_w = w.transpose();
            let unknowns = refine(equations, 6, |u, right| {
                both(u, right, &|c| {
                    let mut y = &across_w * &c;
                    for (y, &value) in y.iter_mut().zip(&values) {
                        *y = if positive(value) {
                            *y / (value * value)
                        } else {
                            0.0
                        };
                    }
                    // C Λ⁻² instead of Λ⁻¹: a product with Hᵀ has no null-space component, however large the error of W
                    &across * &(&flexible * &(&w * &y))
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
