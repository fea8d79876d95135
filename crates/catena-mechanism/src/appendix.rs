//! The appendix: J x − H λ = u, Hᵀ x = b by orthogonal decompositions, with dependent rows or without.
//!
//! ```text
//! J = L Lᵀ,   B = L⁻¹ H,   w = L⁻¹ u,   c = b − Bᵀ w                                        (A-3)
//! QR          B P = Q R (pivoted),  (R Pᵀ)ᵀ = Z T:    λ = Z T⁻ᵀ T⁻¹ Zᵀ c                     (A-5)
//! SVD         B = V S Wᵀ:                             λ = W S⁻² Wᵀ c                         (A-10 … A-12)
//! x = L⁻ᵀ (w + B λ)
//! ```
//!
//! Both give the λ of minimum norm. Bᵀ B is never formed, so that dependent rows are distinguished from nearly dependent ones down to
//! 1e-9 of the largest singular value. The proximal iteration does not need to determine the rank:
//!
//! ```text
//! (J + μ H Hᵀ) δx = r + μ H s,   δλ = μ (s − Hᵀ δx),   r = u + H λ − J x,  s = b − Hᵀ x
//! ```
//!
//! Each step reduces the error along a singular value σ of B by 1/(1 + μ σ²), and λ never leaves the span of the rows.

use crate::dense::{
    Metric, RANK_TOLERANCE, Solved, Unknowns, column, hinges, inertia, rank_of, refine,
    refine_damped,
};
use crate::equations::Equations;
use crate::linear::{Mat, in_place, solve_lower, solve_upper};
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};

/// A solution by corrections is accepted if the equations hold to this, relative to their largest terms.
pub(crate) const ACCEPTED: f64 = 1e-12;

/// Solves by a complete orthogonal decomposition from a pivoted QR.
pub(crate) fn by_qr(equations: &Equations) -> Result<Solved> {
    let metric = Metric::new(equations)?;
    let b = metric.factor.lower_of(&metric.hinges);
    let across = b.transpose();
    let width = b.ncols();
    let qr = b.pivoted_qr();
    let (r, rank) = (qr.r(), qr.rank(RANK_TOLERANCE));
    let mut turned = Mat::zeros(width, rank); // (R Pᵀ)ᵀ
    for i in 0..rank {
        for (k, &original) in qr.order().iter().enumerate().skip(i) {
            turned[(original, i)] = r[(i, k)];
        }
    }
    let second = turned.qr();
    let (z, t) = (second.thin_q(), second.r());
    let (across_z, across_t) = (z.transpose(), t.transpose());
    let unknowns = refine(equations, 4, |u, right| {
        let w = metric.factor.lower_of_column(metric.force(u, right));
        let c = column(right) - &(&across * &w);
        let y = in_place(&across_z * &c, |y| {
            solve_upper(t, y);
            solve_lower(&across_t, y);
        });
        let lambda = &z * &y; // (A-5)
        let x = metric.factor.upper_of_column(w + &(&b * &lambda));
        (x.0, lambda.0)
    });
    // pivots in place of singular values: an estimate that needs no iteration
    let pivots: Vec<f64> = (0..rank).map(|k| r[(k, k)].abs()).collect();
    let mut assumptions = vec![];
    metric.note(&mut assumptions);
    rank_note(width, rank, &mut assumptions);
    Ok(Solved {
        unknowns,
        rank: Some(rank),
        condition: ratio(&pivots),
        assumptions,
        handed_over: false,
    })
}

/// Solves by the singular value decomposition.
pub(crate) fn by_svd(equations: &Equations) -> Result<Solved> {
    let metric = Metric::new(equations)?;
    let b = metric.factor.lower_of(&metric.hinges);
    let across = b.transpose();
    let (all, v) = b.right_svd().map_err(|_| {
        Error::new(
            ErrorKind::Singular,
            "the singular values of the hinges do not converge",
        )
        .hint("use the decomposition by QR")
    })?;
    let across_v = v.transpose();
    let rank = rank_of(&all);
    let unknowns = refine(equations, 4, |u, right| {
        let w = metric.factor.lower_of_column(metric.force(u, right));
        let c = column(right) - &(&across * &w);
        let mut y = &across_v * &c;
        for k in 0..y.nrows() {
            y[k] = if k < rank {
                y[k] / (all[k] * all[k])
            } else {
                0.0
            };
        }
        let lambda = &v * &y; // (A-12)
        let x = metric.factor.upper_of_column(w + &(&b * &lambda));
        (x.0, lambda.0)
    });
    let mut assumptions = vec![];
    metric.note(&mut assumptions);
    rank_note(b.ncols(), rank, &mut assumptions);
    Ok(Solved {
        unknowns,
        rank: Some(rank),
        condition: ratio(&all[..rank]),
        assumptions,
        handed_over: false,
    })
}

/// Solves by the proximal iteration.
pub(crate) fn proximal(equations: &Equations) -> Result<Solved> {
    let h = hinges(equations);
    let j = inertia(equations);
    let across = h.transpose();
    let penalty = &h * &across;
    let tried = damped(equations, |damping| {
        let weight = 1.0 / damping;
        let mut stiffened = j.clone();
        stiffened += &(weight * &penalty);
        let factor = stiffened.cholesky().ok_or_else(|| {
            Error::new(
                ErrorKind::Singular,
                "a freedom moves no inertia at this state",
            )
            .hint("give the bodies it moves a mass, or the freedom a rotor")
        })?;
        let unknowns = refine_damped(equations, MOST_CORRECTIONS, damping, |u, right| {
            let right = column(right);
            let x = factor.solve(column(u) + &(weight * &(&h * &right)));
            let lambda = weight * &(right - &(&across * &x));
            (x.0, lambda.0)
        });
        Ok((unknowns, ratio_of_extremes(&factor.pivots())))
    })?;
    let Damped {
        unknowns,
        condition,
        damping,
    } = match tried {
        Ok(tried) => tried,
        Err(residual) => return handed_over(equations, residual),
    };
    let assumptions = vec![format!(
        "hinges are springs of stiffness {:.1e} per unit acceleration, made rigid by corrections",
        1.0 / damping
    )];
    Ok(Solved {
        unknowns,
        rank: None,
        condition,
        assumptions,
        handed_over: false,
    })
}

/// Maximum number of corrections of a damped solution.
pub(crate) const MOST_CORRECTIONS: usize = 60;

/// A damped solution made exact by iterative refinement.
pub(crate) struct Damped {
    pub unknowns: Unknowns,
    pub condition: f64,
    pub damping: f64,
}

/// Solves with a regularisation of the multipliers that suits most rows, then with others. The error along a singular value σ of
/// J^(−1/2) H shrinks by ε/(ε + σ²) with each correction: ε must be far below the smallest nonzero σ². But round-off of the
/// residuals, divided by ε, enters indeterminate loads: ε should not be smaller than necessary.
///
/// Returns the residual that was reached if none of them is accepted.
pub(crate) fn damped(
    equations: &Equations,
    mut solve: impl FnMut(f64) -> Result<(Unknowns, f64)>,
) -> Result<std::result::Result<Damped, f64>> {
    let typical = typical_compliance(equations);
    let mut least = f64::INFINITY;
    for factor in [1e-5, 1e-7, 1e-3, 1e-9] {
        let damping = factor * typical;
        let (unknowns, condition) = match solve(damping) {
            Ok(solved) => solved,
            Err(error) if factor == 1e-5 => return Err(error),
            Err(_) => continue,
        };
        if unknowns.reachable <= ACCEPTED {
            return Ok(Ok(Damped {
                unknowns,
                condition,
                damping,
            }));
        }
        least = least.min(unknowns.reachable);
    }
    Ok(Err(least))
}

/// Falls back to the singular value decomposition where the corrections do not converge.
pub(crate) fn handed_over(equations: &Equations, residual: f64) -> Result<Solved> {
    let mut solved = by_svd(equations)?;
    solved.handed_over = true;
    solved.assumptions.insert(
        0,
        format!("corrections stop at a residual of {residual:.1e}: solved by SVD"),
    );
    Ok(solved)
}

/// Geometric mean over the rows of Σ h² / J: the size of the diagonal of Hᵀ J⁻¹ H.
///
/// A rod has no inertia about its own axis, and 1/J there says nothing about its hinges: for rotations the mean of the principal
/// moments is used, which does not depend on the body's orientation. Bodies without mass or without rotational inertia are left out.
pub(crate) fn typical_compliance(equations: &Equations) -> f64 {
    let ease: Vec<[f64; 2]> = equations
        .inertia
        .iter()
        .map(|(mass, tensor)| {
            let turning = (tensor.x.x + tensor.y.y + tensor.z.z) / 3.0;
            [turning, *mass].map(|j| if j > 0.0 { 1.0 / j } else { 0.0 })
        })
        .collect();
    let (mut sum, mut count) = (0.0, 0usize);
    for row in &equations.rows {
        let mut own = 0.0;
        for (body, h) in &row.entries {
            let [turning, moving] = ease[*body];
            own += turning * (h[0] * h[0] + h[1] * h[1] + h[2] * h[2]);
            own += moving * (h[3] * h[3] + h[4] * h[4] + h[5] * h[5]);
        }
        if own > 0.0 && own.is_finite() {
            sum += elementary::ln(own);
            count += 1;
        }
    }
    match count {
        0 => 1.0,
        n => elementary::exp(sum / n as f64),
    }
}

pub(crate) fn rank_note(rows: usize, rank: usize, assumptions: &mut Vec<String>) {
    if rank < rows {
        assumptions.push(format!(
            "{} of {rows} rows are dependent: the loads are the minimum-norm solution over all hinges",
            rows - rank
        ));
    }
}

/// Ratio of the largest to the smallest of sorted numbers.
pub(crate) fn ratio(sorted: &[f64]) -> f64 {
    match (sorted.first(), sorted.last()) {
        (Some(first), Some(last)) => first / last,
        _ => 1.0,
    }
}

pub(crate) fn ratio_of_extremes(values: &[f64]) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for x in values {
        low = low.min(x.abs());
        high = high.max(x.abs());
    }
    if values.is_empty() { 1.0 } else { high / low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equations::Row;
    use catena::spatial::{Mat3, Vec3};

    /// A torque row and a force row against the closed form; the compliance does not depend on the orientation, and twice the inertia has half of it.
    #[test]
    fn compliance_is_that_of_the_mean_moment_in_any_orientation() {
        let principal = |factor: f64| Mat3 {
            x: Vec3::new(factor, 0.0, 0.0),
            y: Vec3::new(0.0, 2.0 * factor, 0.0),
            z: Vec3::new(0.0, 0.0, 6.0 * factor),
        };
        let row = |k: usize| {
            let mut entries = [0.0; 6];
            (entries[k], entries[k + 1]) = (0.6, 0.8);
            Row {
                entries: vec![(1, entries)],
            }
        };
        let of = |turn: Mat3<f64>, factor: f64| {
            let tensor = turn * principal(factor) * turn.transpose();
            typical_compliance(&Equations {
                rows: vec![row(0), row(1), row(3), row(4)],
                inertia: vec![(0.0, Mat3::identity()), (4.0 * factor, tensor)],
                ..Equations::default()
            })
        };
        let expected = (1.0f64 / 3.0 / 4.0).sqrt();
        for turn in [
            Mat3::identity(),
            Mat3::rotation_z(0.6, 0.8) * Mat3::rotation_x(-0.8, 0.6),
        ] {
            assert!((of(turn, 1.0) / expected - 1.0).abs() < 1e-14);
            assert!((of(turn, 2.0) / expected - 0.5).abs() < 1e-14);
        }
    }
}
