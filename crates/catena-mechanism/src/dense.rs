//! Dense matrices of the equations, and refinement of their solutions.

use crate::equations::Equations;
use catena::error::{Error, ErrorKind, Result};
use faer::linalg::solvers::Llt;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Col, Mat, MatRef, Par, Side};

/// Singular values below this fraction of the largest count as zero.
pub(crate) const RANK_TOLERANCE: f64 = 1e-9;

/// Accelerations of all bodies and multipliers of all rows.
#[derive(Clone, Debug)]
pub(crate) struct Unknowns {
    pub x: Vec<f64>,
    pub lambda: Vec<f64>,
    /// Largest relative residual of the equations.
    pub residual: f64,
    /// Corrections that were made.
    pub corrections: usize,
}

/// What a way of solving leaves besides the unknowns.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub unknowns: Unknowns,
    pub rank: Option<usize>,
    pub condition: f64,
    pub assumptions: Vec<String>,
}

pub(crate) fn column(values: &[f64]) -> Col<f64> {
    Col::from_fn(values.len(), |i| values[i])
}

pub(crate) fn vector(values: &Col<f64>) -> Vec<f64> {
    values.iter().copied().collect()
}

/// T y = c in place for a lower triangular T.
pub(crate) fn lower(t: MatRef<'_, f64>, c: &mut Mat<f64>) {
    solve_lower_triangular_in_place(t, c.as_mut(), Par::Seq);
}

/// T y = c in place for an upper triangular T.
pub(crate) fn upper(t: MatRef<'_, f64>, c: &mut Mat<f64>) {
    solve_upper_triangular_in_place(t, c.as_mut(), Par::Seq);
}

/// One column as a matrix.
pub(crate) fn as_matrix(c: &Col<f64>) -> Mat<f64> {
    Mat::from_fn(c.nrows(), 1, |i, _| c[i])
}

/// H, one column per row of Hᵀ.
pub(crate) fn hinges(equations: &Equations) -> Mat<f64> {
    let mut h = Mat::zeros(equations.unknowns(), equations.rows.len());
    for (k, row) in equations.rows.iter().enumerate() {
        for (body, entries) in &row.entries {
            for (i, entry) in entries.iter().enumerate() {
                h[(6 * (body - 1) + i, k)] = *entry;
            }
        }
    }
    h
}

/// J.
pub(crate) fn inertia(equations: &Equations) -> Mat<f64> {
    let size = equations.unknowns();
    let mut j = Mat::zeros(size, size);
    let mut unit = vec![0.0; size];
    let mut image = vec![0.0; size];
    for k in 0..size {
        unit[k] = 1.0;
        equations.inertia_times(&unit, &mut image);
        for i in 0..size {
            j[(i, k)] = image[i];
        }
        unit[k] = 0.0;
    }
    j
}

/// J = L Lᵀ. Where a body has no inertia about some axis, ρ H Hᵀ is added to J and ρ H b to u, which changes neither x nor λ.
pub(crate) struct Metric {
    pub hinges: Mat<f64>,
    pub factor: Llt<f64>,
    /// ρ, if it was needed.
    pub added: f64,
}

impl Metric {
    pub fn new(equations: &Equations) -> Result<Self> {
        let hinges = hinges(equations);
        let mut j = inertia(equations);
        let size = j.nrows();
        let largest = (0..size).fold(0.0f64, |m, k| m.max(j[(k, k)]));
        let sound = |factor: &Llt<f64>, j: &Mat<f64>| {
            (0..size).all(|k| {
                let pivot = factor.L()[(k, k)];
                pivot * pivot > 1e-11 * j[(k, k)] && pivot * pivot > 1e-15 * largest
            })
        };
        if let Ok(factor) = j.llt(Side::Lower)
            && sound(&factor, &j)
        {
            return Ok(Metric {
                hinges,
                factor,
                added: 0.0,
            });
        }
        let added = largest;
        j += faer::Scale(added) * (&hinges * hinges.transpose());
        match j.llt(Side::Lower) {
            Ok(factor) if sound(&factor, &j) => Ok(Metric {
                hinges,
                factor,
                added,
            }),
            _ => Err(Error::new(
                ErrorKind::Singular,
                "a freedom moves no inertia at this state: the accelerations of the bodies are not determined",
            )
            .hint("give the bodies it moves a mass, or the freedom a rotor")),
        }
    }

    /// u with what was added to J.
    pub fn force(&self, u: &[f64], b: &[f64]) -> Col<f64> {
        let mut force = column(u);
        if self.added != 0.0 {
            force += faer::Scale(self.added) * (&self.hinges * column(b));
        }
        force
    }

    pub fn note(&self, assumptions: &mut Vec<String>) {
        if self.added != 0.0 {
            assumptions.push(
                "some body has no inertia about an axis of its own: J was replaced by J + ρ H Hᵀ, which has the same solution"
                    .into(),
            );
        }
    }
}

/// Solves with `solve(u, b)`, then with the residuals as right sides, until they do not shrink any more.
pub(crate) fn refine(
    equations: &Equations,
    most: usize,
    mut solve: impl FnMut(&[f64], &[f64]) -> (Vec<f64>, Vec<f64>),
) -> Unknowns {
    let (size, rows) = (equations.unknowns(), equations.rows.len());
    let mut best = Unknowns {
        x: vec![0.0; size],
        lambda: vec![0.0; rows],
        residual: f64::INFINITY,
        corrections: 0,
    };
    let (mut x, mut lambda) = (best.x.clone(), best.lambda.clone());
    let (mut newton, mut hinges) = (equations.force.clone(), equations.right.clone());
    let mut product = vec![0.0; size];
    let mut slow = 0;
    for count in 0..=most {
        let (dx, dlambda) = solve(&newton, &hinges);
        for (x, d) in x.iter_mut().zip(&dx) {
            *x += d;
        }
        for (l, d) in lambda.iter_mut().zip(&dlambda) {
            *l += d;
        }
        equations.residuals(&x, &lambda, &mut newton, &mut hinges);
        equations.inertia_times(&x, &mut product);
        let force = largest(&product)
            .max(largest(&equations.force))
            .max(largest(&lambda));
        let motion = largest(&x).max(largest(&equations.right));
        let residual = relative(largest(&newton), force).max(relative(largest(&hinges), motion));
        let better = residual < best.residual;
        slow = if residual < 0.7 * best.residual {
            0
        } else {
            slow + 1
        };
        let enough = residual <= 4e-16 || slow == 2 || residual.is_nan();
        if better {
            best = Unknowns {
                x: x.clone(),
                lambda: lambda.clone(),
                residual,
                corrections: count,
            };
        }
        if enough {
            break;
        }
    }
    best
}

pub(crate) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| {
        if x.is_nan() {
            f64::INFINITY
        } else {
            m.max(x.abs())
        }
    })
}

fn relative(x: f64, scale: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / scale }
}
