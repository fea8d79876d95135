//! Newton's method for the equations of a step, with a matrix kept as long as the iteration converges.
//!
//! The unknown of a step is e in x = x⁰ + e, ẋ = ẋ⁰ + c e. With the matrix A ≈ ∂E/∂x + c₀ ∂E/∂ẋ prepared at some earlier c₀
//!
//! ```text
//! A δ = E(t, x, ẋ),   e ← e − 2/(1 + c/c₀) δ                                                         (1)
//! ρ = (‖δₘ‖/‖δ₀‖)^(1/m)   rate of convergence;   converged if ρ/(1 − ρ) ‖δₘ‖ ≤ newton_tolerance       (2)
//! ```
//!
//! The factor in (1) compensates the change of c, on average between the parts of the matrix with and without it. The rate is
//! kept from step to step while matrix and c are unchanged, so that one iteration may be enough; it is not assumed to be better than
//! ρ/(1 − ρ) = 0.05, a departure from DASSL: a rate of 10⁻⁸ measured with a new matrix would accept every first iteration long after
//! the matrix has become outdated, and at a fixed step size the error would no longer show the order. The matrix is updated when c has
//! left [0.6 c₀, c₀/0.6], or when the iteration fails with an old one; if it fails with a new one, the step is too large.

use super::Implicit;
use super::failure::Failure;
use super::history::Coefficients;
use super::integrator::{Bdf, all_finite, rms};
use crate::elementary;

/// The matrix is kept while c/c₀ is between this and its inverse.
const KEPT_RATIO: f64 = 0.6;
/// Convergence rates above this count as divergence.
const SLOWEST_RATE: f64 = 0.9;
/// ρ/(1 − ρ) to begin with, after a new matrix and after a change of c.
const CAUTION_NEW_MATRIX: f64 = 20.0;
const CAUTION_NEW_LEADING: f64 = 100.0;
/// ρ/(1 − ρ) kept from one step to the next is at least this.
const LEAST_REMEMBERED: f64 = 0.05;
/// A first correction below this, in units of the Newton tolerance, counts as convergence.
const NEGLIGIBLE: f64 = 1e-4;

impl Bdf {
    /// Finds x and ẋ at the end of a step, in `x_next`, `xdot_next`, and the correction e in `correction`.
    pub(super) fn newton<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t: f64,
        c: &Coefficients,
    ) -> Result<(), Failure> {
        if c.leading != self.last_leading {
            self.caution = CAUTION_NEW_LEADING;
            self.last_leading = c.leading;
        }
        let ratio = c.leading / self.matrix.sigma;
        let mut renew = !self.matrix.valid || !(KEPT_RATIO..=1.0 / KEPT_RATIO).contains(&ratio);
        loop {
            self.history
                .predict(c, &mut self.x_next, &mut self.xdot_next);
            self.correction.fill(0.0);
            self.evaluate(problem, t)?;
            if renew {
                self.linearize(problem, t, c.leading)?;
            }
            match self.iterate(problem, t, c.leading) {
                Err(_) if !renew => renew = true,
                outcome => return outcome,
            }
        }
    }

    /// Evaluates E at `x_next`, `xdot_next`, into `work`.
    pub(super) fn evaluate<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t: f64,
    ) -> Result<(), Failure> {
        self.statistics.residuals += 1;
        problem
            .residual(t, &self.x_next, &self.xdot_next, &mut self.work)
            .map_err(|error| Failure::Refused {
                error,
                doing: "evaluating the equations",
            })?;
        all_finite(&self.work).map_err(|component| Failure::NotFinite {
            component,
            in_solution: false,
        })
    }

    /// Prepares a new matrix at `x_next`, `xdot_next`.
    pub(super) fn linearize<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t: f64,
        sigma: f64,
    ) -> Result<(), Failure> {
        self.statistics.linearizations += 1;
        self.matrix.valid = false;
        self.matrix.t = t;
        self.matrix.sigma = sigma;
        self.matrix.x.copy_from_slice(&self.x_next);
        self.matrix.xdot.copy_from_slice(&self.xdot_next);
        problem
            .linearize(t, &self.x_next, &self.xdot_next, sigma)
            .map_err(|error| Failure::Refused {
                error,
                doing: "preparing the matrix of Newton's method",
            })?;
        self.matrix.valid = true;
        self.caution = CAUTION_NEW_MATRIX;
        Ok(())
    }

    /// Solves A δ = E, in `work`.
    pub(super) fn solve<P: Implicit + ?Sized>(&mut self, problem: &mut P) -> Result<(), Failure> {
        self.statistics.solves += 1;
        problem
            .solve(&mut self.work)
            .map_err(|error| Failure::Refused {
                error,
                doing: "solving the linear system",
            })?;
        all_finite(&self.work).map_err(|component| Failure::NotFinite {
            component,
            in_solution: true,
        })
    }

    fn iterate<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t: f64,
        leading: f64,
    ) -> Result<(), Failure> {
        let relaxation = 2.0 / (1.0 + leading / self.matrix.sigma);
        let mut first = 0.0;
        let mut remembered = self.caution;
        for m in 0..self.options.newton_iterations {
            if m > 0 {
                self.evaluate(problem, t)?;
            }
            self.solve(problem)?;
            for i in 0..self.work.len() {
                let delta = relaxation * self.work[i];
                self.work[i] = delta;
                self.correction[i] -= delta;
                self.x_next[i] -= delta;
                self.xdot_next[i] -= leading * delta;
            }
            let size = rms(&self.work, &self.weights_all); // (2)
            if m == 0 {
                first = size;
                if size <= NEGLIGIBLE * self.options.newton_tolerance {
                    return Ok(());
                }
            } else {
                let rate = elementary::powf(size / first, 1.0 / m as f64);
                if rate.is_nan() || rate > SLOWEST_RATE {
                    return Err(self.no_convergence(rate));
                }
                self.caution = rate / (1.0 - rate);
                // the rate to keep: as the matrix becomes outdated, convergence becomes slower than measured
                remembered = self.caution.max(LEAST_REMEMBERED);
            }
            if self.caution * size <= self.options.newton_tolerance {
                self.caution = remembered;
                return Ok(());
            }
        }
        let rate = self.caution / (1.0 + self.caution);
        Err(self.no_convergence(rate))
    }

    fn no_convergence(&self, rate: f64) -> Failure {
        let mut component = (0, 0.0);
        for (i, (delta, weight)) in self.work.iter().zip(&self.weights_all).enumerate() {
            let scaled = (delta * weight).abs();
            if scaled > component.1 {
                component = (i, scaled);
            }
        }
        Failure::NoConvergence {
            rate,
            component: component.0,
        }
    }
}
