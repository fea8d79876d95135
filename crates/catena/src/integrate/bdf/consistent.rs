//! Initial values that satisfy the equations.
//!
//! *Given the differential unknowns*, find the algebraic ones and the derivatives of the others: with an artificial step η the matrix
//! A = ∂E/∂x + ∂E/∂ẋ/η has the right columns for both,
//!
//! ```text
//! A δ = E(t, x, ẋ),   x_a ← x_a − λ δ_a,   ẋ_d ← ẋ_d − λ δ_d/η                                       (1)
//! ```
//!
//! up to ∂E/∂x_d δ_d, which is of order η: the iteration converges linearly, the faster the smaller η (Brown, Hindmarsh & Petzold
//! 1998). *Given the derivatives*, find all of x: the same with ∂E/∂x alone. λ is halved until ‖A⁻¹E‖ decreases; a smaller η is
//! tried when that fails. This is for index 1: for a problem of higher index the caller must satisfy the hidden constraints.

use super::failure::Failure;
use super::integrator::{Bdf, check_numbers, rms};
use super::{Implicit, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::at_time;
use crate::state::check_length;

/// Which of the initial values are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// The differential unknowns; algebraic unknowns and derivatives are sought. Guesses of them are taken from the arguments.
    Differential {
        /// A time in which the solution changes little, s: for example a thousandth of the first output time.
        scale: f64,
    },
    /// All derivatives (zeros for equilibrium); all unknowns are sought.
    Derivatives,
}

const ITERATIONS: usize = 20;
const HALVINGS: usize = 30;
const SMALLER_SCALES: usize = 5;
/// ‖A⁻¹E‖ at which the values are consistent, in units of the tolerance.
const ENOUGH: f64 = 1e-4;

impl Bdf {
    /// Makes x and ẋ consistent at a time; on success they satisfy the equations to a small fraction of the tolerance.
    ///
    /// The integrator must be started afterwards.
    pub fn make_consistent<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t: f64,
        x: &mut [f64],
        xdot: &mut [f64],
        given: Given,
    ) -> Result<()> {
        self.check_sizes(problem, x, xdot)?;
        check_numbers(t, x, xdot)?;
        let sigma = match given {
            Given::Derivatives => 0.0,
            Given::Differential { scale } => {
                if !(scale > 0.0 && scale.is_finite()) {
                    return Err(Error::new(
                        ErrorKind::Input,
                        format!("the time scale for consistent values cannot be {scale} s"),
                    ));
                }
                1.0 / scale
            }
        };
        self.learn_roles(problem);
        self.x.copy_from_slice(x);
        self.xdot.copy_from_slice(xdot);
        self.weigh(1.0);
        self.matrix.valid = false;
        let tries = if sigma == 0.0 { 1 } else { SMALLER_SCALES };
        let mut failure = None;
        let mut sigma = sigma;
        for _ in 0..tries {
            match self.seek(problem, t, sigma) {
                Ok(()) => {
                    x.copy_from_slice(&self.x);
                    xdot.copy_from_slice(&self.xdot);
                    self.matrix.valid = false;
                    return Ok(());
                }
                Err(reason) => failure = Some(reason),
            }
            self.x.copy_from_slice(x);
            self.xdot.copy_from_slice(xdot);
            sigma *= 10.0;
        }
        self.matrix.valid = false;
        Err(match failure {
            Some(Failure::Refused { error, doing }) => {
                let error = at_time(&error, t);
                let refused = Error::new(error.kind(), format!("{} ({doing})", error.message()));
                match error.advice() {
                    Some(advice) => refused.hint(advice),
                    None => refused,
                }
            }
            Some(Failure::NotFinite {
                component,
                in_solution: false,
            }) => Error::new(
                ErrorKind::Integration,
                format!("at t = {t} s: equation {component} is not finite at the initial values"),
            ),
            failure => {
                let component = failure.and_then(|f| f.component());
                let about = component.map_or_else(String::new, |i| {
                    format!("; {} changes most", problem.name(i))
                });
                Error::new(
                    ErrorKind::Integration,
                    format!("at t = {t} s: no consistent initial values found{about}"),
                )
                .hint(
                    "begin nearer to the solution, give a smaller time scale, and see that algebraic unknowns are declared; \
                     constraints of index 2 and 3 must be satisfied by the values given",
                )
            }
        })
    }

    fn seek<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t: f64,
        sigma: f64,
    ) -> std::result::Result<(), Failure> {
        self.x_next.copy_from_slice(&self.x);
        self.xdot_next.copy_from_slice(&self.xdot);
        self.evaluate(problem, t)?;
        for _ in 0..ITERATIONS {
            self.linearize(problem, t, sigma)?;
            self.solve(problem)?;
            // correction holds δ while work is used for trial points
            self.correction.copy_from_slice(&self.work);
            let size = rms(&self.correction, &self.weights_all);
            let mut part = 1.0;
            let mut halvings = 0;
            loop {
                for i in 0..self.work.len() {
                    let delta = part * self.correction[i];
                    let differential = self.roles[i] == Role::Differential;
                    if sigma == 0.0 || !differential {
                        self.x_next[i] = self.x[i] - delta;
                    } else {
                        self.xdot_next[i] = self.xdot[i] - sigma * delta;
                    }
                }
                let tried = self.evaluate(problem, t).and_then(|()| self.solve(problem));
                let left = match tried {
                    Ok(()) => rms(&self.work, &self.weights_all),
                    Err(_) => f64::INFINITY,
                };
                if left <= (1.0 - 1e-4 * part) * size || left <= 1e-2 * ENOUGH {
                    break;
                }
                halvings += 1;
                if halvings > HALVINGS {
                    // round-off, if the correction was already small
                    return if size <= ENOUGH {
                        Ok(())
                    } else {
                        Err(self.no_decrease())
                    };
                }
                part *= 0.5;
            }
            self.x.copy_from_slice(&self.x_next);
            self.xdot.copy_from_slice(&self.xdot_next);
            let left = rms(&self.work, &self.weights_all);
            if part == 1.0 && left <= ENOUGH {
                return Ok(());
            }
            self.evaluate(problem, t)?;
        }
        Err(self.no_decrease())
    }

    fn no_decrease(&self) -> Failure {
        let mut worst = (0, 0.0);
        for (i, (delta, weight)) in self.correction.iter().zip(&self.weights_all).enumerate() {
            let scaled = (delta * weight).abs();
            if scaled > worst.1 {
                worst = (i, scaled);
            }
        }
        Failure::NoConvergence {
            rate: 1.0,
            component: worst.0,
        }
    }

    fn check_sizes<P: Implicit + ?Sized>(
        &self,
        problem: &P,
        x: &[f64],
        xdot: &[f64],
    ) -> Result<()> {
        check_length("unknowns of the problem", problem.dimension(), self.x.len())?;
        check_length("initial values x", x.len(), self.x.len())?;
        check_length("initial derivatives", xdot.len(), self.x.len())
    }
}
