//! A problem from a function for E, solved by Gauss elimination.

use super::{Implicit, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;

/// Fills ∂E/∂x + σ ∂E/∂ẋ at (t, x, ẋ): the arguments are t, x, ẋ, σ and the matrix, which comes in as zeros.
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

    /// With a function for the matrix, instead of differences of E.
    #[must_use]
    pub fn with_jacobian(
        mut self,
        jacobian: impl FnMut(f64, &[f64], &[f64], f64, &mut Matrix) -> Result<()> + 'a,
    ) -> Self {
        self.jacobian = Some(Box::new(jacobian));
        self
    }

    /// Says what unknown i is.
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

    /// What brings x back onto its manifold after a step.
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

    /// Column by column: x and ẋ change together, by δ and σ δ.
    fn differences(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        self.x.copy_from_slice(x);
        self.xdot.copy_from_slice(xdot);
        (self.residual)(t, x, xdot, &mut self.before)?;
        let typical = x.iter().map(|x| x.abs()).fold(0.0, f64::max);
        for j in 0..x.len() {
            // large enough against x and against what ẋ / σ changes it by; a number that x + δ holds exactly
            let mut size = x[j].abs().max(1e-4 * typical);
            if sigma != 0.0 {
                size = size.max((xdot[j] / sigma).abs());
            }
            if size == 0.0 {
                size = 1.0;
            }
            let mut delta = f64::EPSILON.sqrt() * size;
            if sigma != 0.0 && xdot[j] * sigma < 0.0 {
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
                self.factors.matrix[(i, j)] = (self.after[i] - self.before[i]) * inverse;
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
                self.factors.matrix.clear();
                jacobian(t, x, xdot, sigma, &mut self.factors.matrix)?;
            }
            None => self.differences(t, x, xdot, sigma)?,
        }
        self.factors.factorize().map_err(|column| {
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
        self.factors.solve(rhs);
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

/// P A = L U, rows exchanged so that every pivot is the largest of its column, rows weighed by their largest entries.
#[derive(Clone, Debug)]
pub(crate) struct Lu {
    /// A, then its factors.
    pub(crate) matrix: Matrix,
    order: Vec<usize>,
    scale: Vec<f64>,
    work: Vec<f64>,
}

impl Lu {
    pub(crate) fn new(n: usize) -> Self {
        Lu {
            matrix: Matrix::zeros(n, n),
            order: (0..n).collect(),
            scale: vec![0.0; n],
            work: vec![0.0; n],
        }
    }

    /// Factorizes in place; the column without a pivot, if there is one.
    pub(crate) fn factorize(&mut self) -> std::result::Result<(), usize> {
        let n = self.order.len();
        for i in 0..n {
            let largest = self
                .matrix
                .row(i)
                .iter()
                .fold(0.0, |m: f64, a| m.max(a.abs()));
            self.scale[i] = if largest > 0.0 { 1.0 / largest } else { 0.0 };
            self.order[i] = i;
        }
        for k in 0..n {
            let mut pivot = (k, 0.0);
            for i in k..n {
                let row = self.order[i];
                let size = (self.matrix[(row, k)] * self.scale[row]).abs();
                if size > pivot.1 {
                    pivot = (i, size);
                }
            }
            // NaN never compares larger and ends here too
            if pivot.1 == 0.0 || !pivot.1.is_finite() {
                return Err(k);
            }
            self.order.swap(k, pivot.0);
            let top = self.order[k];
            let inverse = 1.0 / self.matrix[(top, k)];
            for i in k + 1..n {
                let row = self.order[i];
                let factor = self.matrix[(row, k)] * inverse;
                self.matrix[(row, k)] = factor;
                if factor != 0.0 {
                    for j in k + 1..n {
                        let a = self.matrix[(top, j)];
                        self.matrix[(row, j)] -= factor * a;
                    }
                }
            }
        }
        Ok(())
    }

    /// Overwrites the right-hand side by the solution.
    pub(crate) fn solve(&mut self, rhs: &mut [f64]) {
        let n = self.order.len();
        for k in 0..n {
            let row = self.order[k];
            let mut sum = rhs[row];
            for j in 0..k {
                sum -= self.matrix[(row, j)] * self.work[j];
            }
            self.work[k] = sum;
        }
        for k in (0..n).rev() {
            let row = self.order[k];
            let mut sum = self.work[k];
            for j in k + 1..n {
                sum -= self.matrix[(row, j)] * rhs[j];
            }
            rhs[k] = sum / self.matrix[(row, k)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lu;

    #[test]
    fn factors_solve_a_badly_scaled_system() {
        // a Hilbert-like matrix with rows scaled by powers of ten and a zero in the corner
        let n = 6;
        let entry = |i: usize, j: usize| {
            let a = if (i, j) == (0, 0) {
                0.0
            } else {
                1.0 / (1 + i + 2 * j) as f64
            };
            a * 10f64.powi(3 * i as i32 - 8)
        };
        let mut lu = Lu::new(n);
        let x: Vec<f64> = (0..n).map(|i| 1.0 - 0.3 * i as f64).collect();
        let mut rhs = vec![0.0; n];
        for i in 0..n {
            for j in 0..n {
                lu.matrix[(i, j)] = entry(i, j);
                rhs[i] += entry(i, j) * x[j];
            }
        }
        lu.factorize().unwrap();
        lu.solve(&mut rhs);
        for (a, b) in rhs.iter().zip(&x) {
            assert!((a - b).abs() < 1e-9, "{rhs:?}"); // condition about 1e6 after scaling
        }
    }

    #[test]
    fn a_dependent_column_is_named() {
        let mut lu = Lu::new(3);
        for i in 0..3 {
            for j in 0..3 {
                lu.matrix[(i, j)] = if j == 2 { 0.0 } else { (i * i + j) as f64 };
            }
        }
        assert_eq!(lu.factorize(), Err(2));
    }
}
