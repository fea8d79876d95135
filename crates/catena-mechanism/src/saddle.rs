//! The reduced system after the elimination of unknowns: J y − G μ = u, Gᵀ y = b, solved as in the appendix (A-10 … A-12).

use crate::appendix::{ratio, ratio_of_extremes};
use crate::dense::rank_of;
use crate::linear::{Cholesky, Col, Mat};
use catena::error::{Error, ErrorKind, Result};

/// J = L Lᵀ and L⁻¹ G = V S Wᵀ.
pub(crate) struct Saddle {
    g: Mat,
    factor: Cholesky,
    /// L⁻¹ G.
    across: Mat,
    w: Mat,
    values: Vec<f64>,
    /// Independent columns of G.
    pub rank: usize,
    /// ρ of J + ρ G Gᵀ, where J alone is singular or nearly so.
    added: f64,
}

impl Saddle {
    pub fn new(j: Mat, g: Mat) -> Result<Self> {
        let (factor, added) = sound_factor(j, &g)?;
        let across = factor.lower_of(&g);
        let (w, values) = if across.ncols() == 0 || across.nrows() == 0 {
            (Mat::identity(g.ncols()), Vec::new())
        } else {
            let (values, v) = across.right_svd().map_err(|_| {
                Error::new(
                    ErrorKind::Singular,
                    "the singular values of the hinges do not converge",
                )
                .hint("use the decomposition by QR")
            })?;
            (v, values)
        };
        let rank = rank_of(&values);
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
    pub fn solve(&self, u: Col, b: &Col) -> (Col, Col) {
        let force = match self.added == 0.0 {
            true => u,
            false => u + &(self.added * &(&self.g * b)),
        };
        let free = self.factor.lower_of_column(force);
        let c = b.clone() - &(&self.across.transpose() * &free);
        let mut z = &self.w.transpose() * &c;
        for k in 0..z.nrows() {
            z[k] = match k < self.rank {
                true => z[k] / (self.values[k] * self.values[k]),
                false => 0.0,
            };
        }
        let mu = &self.w * &z;
        let y = self.factor.upper_of_column(free + &(&self.across * &mu));
        (y, mu)
    }

    /// Orthonormal columns with G · column = 0.
    pub fn null(&self) -> Mat {
        self.w.subcols(self.rank, self.w.ncols() - self.rank)
    }

    /// An estimate of the condition number of the system.
    pub fn condition(&self) -> f64 {
        ratio_of_extremes(&self.factor.pivots()).max(ratio(&self.values[..self.rank]))
    }

    /// Assumptions made.
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
fn sound_factor(mut j: Mat, g: &Mat) -> Result<(Cholesky, f64)> {
    let size = j.nrows();
    let largest = (0..size).fold(0.0f64, |m, k| m.max(j[(k, k)]));
    let sound = |factor: &Cholesky, j: &Mat| {
        let pivots = factor.pivots().into_iter().enumerate();
        pivots.fold(true, |sound, (k, pivot)| {
            sound && pivot > 1e-11 * j[(k, k)] && pivot > 1e-15 * largest
        })
    };
    if let Some(factor) = j.cholesky()
        && sound(&factor, &j)
    {
        return Ok((factor, 0.0));
    }
    let added = largest;
    j += &(added * &(g * &g.transpose()));
    match j.cholesky() {
        Some(factor) if sound(&factor, &j) => Ok((factor, added)),
        _ => Err(Error::new(
            ErrorKind::Singular,
            "a freedom moves no inertia at this state: the accelerations of the bodies are not determined",
        )
        .hint("give the bodies it moves a mass, or the freedom a rotor")),
    }
}
