//! The reduced system after the elimination of unknowns: J y − G μ = u, Gᵀ y = b, solved as in the appendix (A-10 … A-12).

use crate::appendix::{ratio, ratio_of_extremes};
use crate::dense::{RANK_TOLERANCE, as_matrix, cost, lower, upper};
use catena::error::{Error, ErrorKind, Result};
use faer::linalg::solvers::Llt;
use faer::{Col, Mat, Side};

/// J = L Lᵀ and L⁻¹ G = V S Wᵀ.
pub(crate) struct Saddle {
    g: Mat<f64>,
    factor: Llt<f64>,
    /// L⁻¹ G.
    across: Mat<f64>,
    w: Mat<f64>,
    values: Vec<f64>,
    /// Independent columns of G.
    pub rank: usize,
    /// ρ of J + ρ G Gᵀ, where J alone is singular or nearly so.
    added: f64,
}

impl Saddle {
    pub fn new(j: Mat<f64>, g: Mat<f64>) -> Result<Self> {
        let (factor, added) = sound_factor(j, &g)?;
        let mut across = g.clone();
        lower(factor.L(), &mut across);
        let (w, values) = if across.ncols() == 0 || across.nrows() == 0 {
            (Mat::identity(g.ncols(), g.ncols()), Vec::new())
        } else {
            let svd = across.svd().map_err(|_| {
                Error::new(
                    ErrorKind::Singular,
                    "the singular values of the hinges do not converge",
                )
                .hint("use the decomposition by QR")
            })?;
            let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
            (svd.V().to_owned(), values)
        };
        let first = values.first().copied().unwrap_or(0.0);
        let rank = values
            .iter()
            .take_while(|&&s| s > RANK_TOLERANCE * first)
            .count();
        Ok(Saddle {
            g,
            factor,
            across,
            w,
            values,
            rank,
            added,
        })
    }

    /// y and the minimum-norm μ.
    pub fn solve(&self, u: Col<f64>, b: &Col<f64>) -> (Col<f64>, Col<f64>) {
        let mut force = u;
        if self.added != 0.0 {
            force += faer::Scale(self.added) * (&self.g * b);
        }
        let mut free = as_matrix(&force);
        lower(self.factor.L(), &mut free);
        let c = b - self.across.transpose() * free.col(0);
        let mut z = self.w.transpose() * c;
        for k in 0..z.nrows() {
            z[k] = match k < self.rank {
                true => z[k] / (self.values[k] * self.values[k]),
                false => 0.0,
            };
        }
        let mu: Col<f64> = &self.w * z;
        let mut y = as_matrix(&(free.col(0) + &self.across * &mu));
        upper(self.factor.L().transpose(), &mut y);
        (y.col(0).to_owned(), mu)
    }

    /// Orthonormal columns with G · column = 0.
    pub fn null(&self) -> Mat<f64> {
        self.w
            .subcols(self.rank, self.w.ncols() - self.rank)
            .to_owned()
    }

    /// An estimate of the condition of what is solved.
    pub fn condition(&self) -> f64 {
        let size = self.factor.L().nrows();
        let pivots: Vec<f64> = (0..size).map(|k| self.factor.L()[(k, k)].powi(2)).collect();
        ratio_of_extremes(&pivots).max(ratio(&self.values[..self.rank]))
    }

    /// Operations of the factorizations.
    pub fn operations(&self) -> f64 {
        let (size, width) = (self.g.nrows(), self.g.ncols());
        cost::cholesky(size) + cost::substitution(size, width) / 2.0 + cost::svd(size, width)
    }

    /// What was assumed.
    pub fn note(&self, assumptions: &mut Vec<String>) {
        if self.added != 0.0 {
            assumptions.push(
                "what is left has no inertia about some axis: J was replaced by J + ρ G Gᵀ, which has the same solution"
                    .into(),
            );
        }
    }
}

/// J = L Lᵀ, or J + ρ G Gᵀ if J has a direction without inertia.
fn sound_factor(mut j: Mat<f64>, g: &Mat<f64>) -> Result<(Llt<f64>, f64)> {
    let size = j.nrows();
    let largest = (0..size).fold(0.0f64, |m, k| m.max(j[(k, k)]));
    let sound = |factor: &Llt<f64>, j: &Mat<f64>| {
        (0..size).all(|k| {
            let pivot = factor.L()[(k, k)].powi(2);
            pivot > 1e-11 * j[(k, k)] && pivot > 1e-15 * largest
        })
    };
    if let Ok(factor) = j.llt(Side::Lower)
        && sound(&factor, &j)
    {
        return Ok((factor, 0.0));
    }
    let added = largest;
    j += faer::Scale(added) * (g * g.transpose());
    match j.llt(Side::Lower) {
        Ok(factor) if sound(&factor, &j) => Ok((factor, added)),
        _ => Err(Error::new(
            ErrorKind::Singular,
            "a freedom moves no inertia at this state: the accelerations of the bodies are not determined",
        )
        .hint("give the bodies it moves a mass, or the freedom a rotor")),
    }
}
