//! The appendix: J x − H λ = u, Hᵀ x = b by orthogonal decompositions, with dependent rows or without.
//!
//! ```text
//! J = L Lᵀ,   B = L⁻¹ H,   w = L⁻¹ u,   c = b − Bᵀ w                                        (A-3)
//! QR          B P = Q R (pivoted),  (R Pᵀ)ᵀ = Z T:    λ = Z T⁻ᵀ T⁻¹ Zᵀ c                     (A-5)
//! SVD         B = V S Wᵀ:                             λ = W S⁻² Wᵀ c                         (A-10 … A-12)
//! x = L⁻ᵀ (w + B λ)
//! ```
//!
//! Both give the shortest λ. B is never squared, so that dependent rows are told from nearly dependent ones down to 1e-9 of the
//! largest singular value. The proximal iteration needs no decision about the rank at all:
//!
//! ```text
//! (J + μ H Hᵀ) δx = r + μ H s,   δλ = μ (s − Hᵀ δx),   r = u + H λ − J x,  s = b − Hᵀ x
//! ```
//!
//! Each step shrinks what is wrong along a singular value σ of B by 1/(1 + μ σ²), and λ never leaves the span of the rows.

use crate::dense::{
    Metric, RANK_TOLERANCE, Solved, as_matrix, column, hinges, inertia, lower, refine, upper,
    vector,
};
use crate::equations::Equations;
use catena::algorithm::constrained::CompleteOrthogonal;
use catena::error::{Error, ErrorKind, Result};
use catena::matrix::Matrix;
use faer::linalg::solvers::Solve;
use faer::{Col, Side};

/// A solution by corrections is accepted if the equations hold to this, relative to their largest terms.
pub(crate) const ACCEPTED: f64 = 1e-12;

/// By a pivoted QR decomposition, completed.
pub(crate) fn by_qr(equations: &Equations) -> Result<Solved> {
    let metric = Metric::new(equations)?;
    let mut b = metric.hinges.clone();
    lower(metric.factor.L(), &mut b);
    let (height, width) = (b.nrows(), b.ncols());
    let mut transposed = Matrix::zeros(width, height);
    for k in 0..width {
        for i in 0..height {
            transposed[(k, i)] = b[(i, k)];
        }
    }
    let mut decomposition = CompleteOrthogonal::new(height, width);
    decomposition.decompose(&transposed, RANK_TOLERANCE, usize::MAX);
    let unknowns = refine(equations, 4, |u, right| {
        let mut w = as_matrix(&metric.force(u, right));
        lower(metric.factor.L(), &mut w);
        let c = column(right) - b.transpose() * w.col(0);
        let mut lambda = vector(&c);
        decomposition.solve(&mut lambda);
        let mut x = as_matrix(&(w.col(0) + &b * column(&lambda)));
        upper(metric.factor.L().transpose(), &mut x);
        (x.col(0).iter().copied().collect(), lambda)
    });
    let values = decomposition.singular_values();
    let mut assumptions = vec![];
    metric.note(&mut assumptions);
    rank_note(width, decomposition.rank(), &mut assumptions);
    Ok(Solved {
        unknowns,
        rank: Some(decomposition.rank()),
        condition: ratio(&values),
        assumptions,
    })
}

/// By the singular value decomposition.
pub(crate) fn by_svd(equations: &Equations) -> Result<Solved> {
    let metric = Metric::new(equations)?;
    let mut b = metric.hinges.clone();
    lower(metric.factor.L(), &mut b);
    let svd = b.thin_svd().map_err(|_| {
        Error::new(
            ErrorKind::Singular,
            "the singular values of the hinges do not converge",
        )
        .hint("use the decomposition by QR")
    })?;
    let all: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    let first = all.first().copied().unwrap_or(0.0);
    let rank = all
        .iter()
        .take_while(|&&s| s > RANK_TOLERANCE * first)
        .count();
    let unknowns = refine(equations, 4, |u, right| {
        let mut w = as_matrix(&metric.force(u, right));
        lower(metric.factor.L(), &mut w);
        let c = column(right) - b.transpose() * w.col(0);
        let mut y = svd.V().transpose() * c;
        for k in 0..y.nrows() {
            y[k] = if k < rank {
                y[k] / (all[k] * all[k])
            } else {
                0.0
            };
        }
        let lambda: Col<f64> = svd.V() * y; // (A-12)
        let mut x = as_matrix(&(w.col(0) + &b * &lambda));
        upper(metric.factor.L().transpose(), &mut x);
        (x.col(0).iter().copied().collect(), vector(&lambda))
    });
    let mut assumptions = vec![];
    metric.note(&mut assumptions);
    rank_note(b.ncols(), rank, &mut assumptions);
    Ok(Solved {
        unknowns,
        rank: Some(rank),
        condition: ratio(&all[..rank]),
        assumptions,
    })
}

/// By the proximal iteration.
pub(crate) fn proximal(equations: &Equations) -> Result<Solved> {
    let h = hinges(equations);
    let mut j = inertia(equations);
    let weight = 1e5 / mean_compliance(equations);
    j += faer::Scale(weight) * (&h * h.transpose());
    let factor = j.llt(Side::Lower).map_err(|_| {
        Error::new(
            ErrorKind::Singular,
            "a freedom moves no inertia at this state",
        )
        .hint("give the bodies it moves a mass, or the freedom a rotor")
    })?;
    let unknowns = refine(equations, 60, |u, right| {
        let right = column(right);
        let x: Col<f64> = factor.solve(&column(u) + faer::Scale(weight) * (&h * &right));
        let lambda = faer::Scale(weight) * (right - h.transpose() * &x);
        (vector(&x), vector(&lambda))
    });
    if unknowns.residual.is_nan() || unknowns.residual > ACCEPTED {
        return handed_over(equations, unknowns.residual);
    }
    let diagonal = factor.L().diagonal();
    let pivots: Vec<f64> = diagonal.column_vector().iter().map(|l| l * l).collect();
    let assumptions = vec![format!(
        "hinges are springs of stiffness {weight:.1e} per unit acceleration, made rigid in {} corrections",
        unknowns.corrections
    )];
    Ok(Solved {
        condition: ratio_of_extremes(&pivots),
        rank: None,
        unknowns,
        assumptions,
    })
}

/// Corrections that do not get there: the singular value decomposition does, or tells that nothing can.
pub(crate) fn handed_over(equations: &Equations, residual: f64) -> Result<Solved> {
    let mut solved = by_svd(equations)?;
    solved.assumptions.insert(
        0,
        format!("corrections stop at a residual of {residual:.1e}: solved by SVD"),
    );
    Ok(solved)
}

/// Mean over the rows of Σ h² / J: the size of the diagonal of Hᵀ J⁻¹ H, bodies without inertia left out.
pub(crate) fn mean_compliance(equations: &Equations) -> f64 {
    let diagonal: Vec<f64> = equations.inertia[1..]
        .iter()
        .flat_map(|(mass, tensor)| [tensor.x.x, tensor.y.y, tensor.z.z, *mass, *mass, *mass])
        .collect();
    let floor = 1e-6 * diagonal.iter().fold(0.0f64, |m, x| m.max(*x));
    let mut sum = 0.0;
    for row in &equations.rows {
        for (body, entries) in &row.entries {
            for (k, h) in entries.iter().enumerate() {
                sum += h * h
                    / diagonal[6 * (body - 1) + k]
                        .max(floor)
                        .max(f64::MIN_POSITIVE);
            }
        }
    }
    if sum > 0.0 && sum.is_finite() {
        sum / equations.rows.len() as f64
    } else {
        1.0
    }
}

pub(crate) fn rank_note(rows: usize, rank: usize, assumptions: &mut Vec<String>) {
    if rank < rows {
        assumptions.push(format!(
            "{} of {rows} rows depend on the others: the loads are the shortest vector in all hinges",
            rows - rank
        ));
    }
}

/// Largest by smallest of sorted numbers.
fn ratio(sorted: &[f64]) -> f64 {
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
