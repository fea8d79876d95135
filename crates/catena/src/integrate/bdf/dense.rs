//! A problem given by a function for E, solved by Gaussian elimination.

use super::{Implicit, Role};
use crate::dense::Lu;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;

/// Fills ∂E/∂x + σ ∂E/∂ẋ at (t, x, ẋ): the arguments are t, x, ẋ, σ and the matrix, zero on entry.
pub type JacobianFn<'a> = dyn FnMut(f64, &[f64], &[f64], f64, &mut Matrix) -> Result<()> + 'a;

/// A problem of moderate size: E is a function, its matrix comes from another or from differences, and linear systems are
/// solved by LU with partial pivoting. Allocates at construction only.
pub struct DenseImplicit<'a, F> {
    residual: F,
    jacobian: Option<Box<JacobianFn<'a>>>,
    roles: Vec<Role>,
    names: Vec<String>,
    project: Option<Box<ProjectFn<'a>>>,
    events: Option<(usize, Box<EventsFn<'a>>)>,
    factors: Lu,
    x: Vec<f64>,
    xdot: Vec<f64>,
    before: Vec<f64>,
    after: Vec<f64>,
}

type ProjectFn<'a> = dyn FnMut(f64, &mut [f64]) + 'a;
type EventsFn<'a> = dyn FnMut(f64, &[f64], &mut [f64]) + 'a;

impl<'a, F> DenseImplicit<'a, F>
where
    F: FnMut(f64, &[f64], &[f64], &mut [f64]) -> Result<()>,
{
    /// A problem of n equations: `residual` has the arguments t, x, ẋ and E.
    pub fn new(n: usize, residual: F) -> Self {
        let zeros = vec![0.0; n];
        DenseImplicit {
            residual,
            jacobian: None,
            roles: vec![Role::Differential; n],
            names: Vec::new(),
            project: None,
            events: None,
            factors: Lu::new(n),
            x: zeros.clone(),
            xdot: zeros.clone(),
            before: zeros.clone(),
            after: zeros,
        }
    }

    /// Sets a function for the matrix, instead of differences of E.
    #[must_use]
    pub fn with_jacobian(
        mut self,
        jacobian: impl FnMut(f64, &[f64], &[f64], f64, &mut Matrix) -> Result<()> + 'a,
    ) -> Self {
        self.jacobian = Some(Box::new(jacobian));
        self
    }

    /// Sets the role of unknown i.
    ///
    /// # Panics
    ///
    /// If there is no unknown i.
    #[must_use]
    pub fn with_role(mut self, i: usize, role: Role) -> Self {
        self.roles[i] = role;
        self
    }

    /// Names of the unknowns, for messages.
    #[must_use]
    pub fn with_names(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|name| (*name).to_string()).collect();
        self
    }

    /// The projection of x onto its manifold after a step.
    #[must_use]
    pub fn with_projection(mut self, project: impl FnMut(f64, &mut [f64]) + 'a) -> Self {
        self.project = Some(Box::new(project));
        self
    }

    /// Functions whose changes of sign are located: t, x and the values.
    #[must_use]
    pub fn with_events(
        mut self,
        count: usize,
        events: impl FnMut(f64, &[f64], &mut [f64]) + 'a,
    ) -> Self {
        self.events = Some((count, Box::new(events)));
        self
    }

    /// Computes the matrix column by column from differences: x and ẋ change together, by δ and σ δ.
    fn differences(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        self.x.copy_from_slice(x);
        self.xdot.copy_from_slice(xdot);
        (self.residual)(t, x, xdot, &mut self.before)?;
        let typical = x.iter().map(|x| x.abs()).fold(0.0, f64::max);
        for j in 0..x.len() {
            // large enough relative to x and to ẋ / σ, and exactly representable in x + δ
            let mut size = x[j].abs().max(1e-4 * typical);
            if sigma != 0.0 {
                size = size.max((xdot[j] / sigma).abs());
            }
            if size == 0.0 {
                size = 1.0;
            }
            let mut delta = f64::EPSILON.sqrt() * size;
            if xdot[j] * sigma < 0.0 {
                delta = -delta;
            }
            let moved = x[j] + delta;
            delta = moved - x[j];
            self.x[j] = moved;
            self.xdot[j] = xdot[j] + sigma * delta;
            (self.residual)(t, &self.x, &self.xdot, &mut self.after)?;
            self.x[j] = x[j];
            self.xdot[j] = xdot[j];
            let inverse = 1.0 / delta;
            for i in 0..x.len() {
                self.factors.matrix_mut()[(i, j)] = (self.after[i] - self.before[i]) * inverse;
            }
        }
        Ok(())
    }
}

impl<F> Implicit for DenseImplicit<'_, F>
where
    F: FnMut(f64, &[f64], &[f64], &mut [f64]) -> Result<()>,
{
    fn dimension(&self) -> usize {
        self.roles.len()
    }

    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        (self.residual)(t, x, xdot, out)
    }

    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        match &mut self.jacobian {
            Some(jacobian) => {
                self.factors.matrix_mut().clear();
                jacobian(t, x, xdot, sigma, self.factors.matrix_mut())?;
            }
            None => self.differences(t, x, xdot, sigma)?,
        }
        self.factors.factorize_scaled().map_err(|column| {
            Error::new(
                ErrorKind::Singular,
                format!(
                    "the matrix of the equations is singular: its column for {} depends on those before it",
                    self.name(column)
                ),
            )
            .hint(
                "an equation may be missing or occur twice; where constraints determine multipliers, a redundant one leaves \
                 them undetermined",
            )
        })
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        self.factors.solve_in_place(rhs);
        Ok(())
    }

    fn role(&self, i: usize) -> Role {
        self.roles[i]
    }

    fn name(&self, i: usize) -> String {
        match self.names.get(i) {
            Some(name) => format!("`{name}`"),
            None => format!("unknown {i}"),
        }
    }

    fn project(&mut self, t: f64, x: &mut [f64]) {
        if let Some(project) = &mut self.project {
            project(t, x);
        }
    }

    fn event_count(&self) -> usize {
        self.events.as_ref().map_or(0, |(count, _)| *count)
    }

    fn events(&mut self, t: f64, x: &[f64], values: &mut [f64]) {
        if let Some((_, events)) = &mut self.events {
            events(t, x, values);
        }
    }
}
