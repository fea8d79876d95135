//! The pendulum for the implicit integrator: E(X, Ẋ) = 0 with Newton steps by any of the four schemes.

use super::{Newton, Pendulum, Scheme, UNKNOWNS, dependent_parameters, residual};
use crate::error::Result;
use crate::integrate::bdf::{Implicit, Role};

/// A pendulum that [`Bdf`](crate::integrate::bdf::Bdf) can integrate.
///
/// Positions and velocities both satisfy their constraints in every step, to the accuracy of Newton's method: there is no drift,
/// and no projection.
#[derive(Clone, Debug)]
pub struct ImplicitPendulum {
    pendulum: Pendulum,
    newton: Newton,
    /// u of every body, chosen where the equations were last linearized.
    dependent: Vec<u8>,
    equations: Vec<f64>,
}

impl ImplicitPendulum {
    /// The pendulum at X, with Newton steps by this scheme.
    pub fn new(pendulum: &Pendulum, scheme: Scheme, x: &[f64]) -> Self {
        let n = pendulum.bodies();
        let mut dependent = vec![0; n];
        dependent_parameters(x, &mut dependent);
        ImplicitPendulum {
            pendulum: pendulum.clone(),
            newton: Newton::new(scheme, n),
            dependent,
            equations: vec![0.0; n * UNKNOWNS],
        }
    }

    /// The pendulum itself.
    pub fn pendulum(&self) -> &Pendulum {
        &self.pendulum
    }
}

impl Implicit for ImplicitPendulum {
    fn dimension(&self) -> usize {
        self.equations.len()
    }

    fn residual(&mut self, _t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        residual(&self.pendulum, &self.dependent, x, xdot, out);
        Ok(())
    }

    fn linearize(&mut self, _t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        dependent_parameters(x, &mut self.dependent);
        self.newton
            .factorize(&self.pendulum, &self.dependent, x, xdot, sigma)
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        self.equations.copy_from_slice(rhs);
        self.newton.solve(&self.pendulum, &self.equations, rhs);
        Ok(())
    }

    /// R is determined by G alone; the rates of all other unknowns appear in the equations.
    fn role(&self, i: usize) -> Role {
        if i % UNKNOWNS < 3 {
            Role::Algebraic { index: 1 }
        } else {
            Role::Differential
        }
    }

    fn name(&self, i: usize) -> String {
        let (body, unknown) = (i / UNKNOWNS + 1, i % UNKNOWNS);
        let name = [
            "x", "y", "z", "vx", "vy", "vz", "p0", "p1", "p2", "p3", "s0", "s1", "s2", "s3",
        ][unknown];
        format!("{name} of body {body}")
    }
}
