//! Accelerations of a tree by the schemes that Saha's papers compare, through the library's own entry points.

use catena::error::{Error, ErrorKind, Result};
use catena::{Dynamics, Matrix, Model, State};

/// Schemes for accelerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Articulated bodies, O(n).
    ArticulatedBodies,
    /// Newton–Euler at v̇ = 0, I = U D Uᵀ by recursion, two substitutions, O(n): Saha.
    Factorization,
    /// Newton–Euler at v̇ = 0, the inertia matrix, Cholesky's factors of it, O(n³): Walker and Orin.
    Elimination,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Scheme; 3] = [
        Scheme::ArticulatedBodies,
        Scheme::Factorization,
        Scheme::Elimination,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::ArticulatedBodies => "articulated bodies, O(n)",
            Scheme::Factorization => "U D Uᵀ, O(n)",
            Scheme::Elimination => "Walker–Orin, O(n³)",
        }
    }
}

/// A model with workspaces for all schemes.
pub struct Accelerations {
    dynamics: Dynamics,
    rest: Vec<f64>,
    matrix: Matrix,
}

impl Accelerations {
    /// Workspaces for this tree.
    pub fn new(model: &Model) -> Self {
        Accelerations {
            dynamics: Dynamics::new(model),
            rest: vec![0.0; model.nv()],
            matrix: Matrix::zeros(model.nv(), model.nv()),
        }
    }

    /// Computes v̇ under these efforts.
    pub fn find(
        &mut self,
        scheme: Scheme,
        state: &State,
        tau: &[f64],
        vdot: &mut [f64],
    ) -> Result<()> {
        if scheme == Scheme::ArticulatedBodies {
            vdot.copy_from_slice(self.dynamics.forward(state, tau, &[])?);
            return Ok(());
        }
        let bias = self.dynamics.inverse(state, &self.rest, &[])?;
        for ((vdot, tau), bias) in vdot.iter_mut().zip(tau).zip(bias) {
            *vdot = tau - bias;
        }
        if scheme == Scheme::Factorization {
            self.dynamics.factorize(state)?;
            return self.dynamics.solve(vdot);
        }
        let inertia = self.dynamics.inertia(state)?.as_slice();
        self.matrix.as_mut_slice().copy_from_slice(inertia);
        match solve(&mut self.matrix, vdot) {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Singular,
                "the inertia matrix is not positive definite",
            )),
        }
    }
}

/// x ← A⁻¹ x by A = L Lᵀ, which replaces the lower triangle; false if there is no such L.
fn solve(a: &mut Matrix, x: &mut [f64]) -> bool {
    let n = x.len();
    for i in 0..n {
        for j in 0..=i {
            let (upper, lower) = a.as_mut_slice().split_at_mut(i * n);
            let row = &mut lower[..n];
            let other = if j < i { &upper[j * n..j * n + n] } else { &[] };
            let mut sum = row[j];
            for k in 0..j {
                sum -= row[k] * if j < i { other[k] } else { row[k] };
            }
            if j < i {
                row[j] = sum / other[j];
            } else if sum > 0.0 && sum.is_finite() {
                row[i] = sum.sqrt();
            } else {
                return false;
            }
        }
    }
    for i in 0..n {
        for k in 0..i {
            x[i] -= a[(i, k)] * x[k];
        }
        x[i] /= a[(i, i)];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= a[(k, i)] * x[k];
        }
        x[i] /= a[(i, i)];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::embedded;

    #[test]
    fn schemes_agree() {
        for name in ["stanford", "chain-20", "space-robot", "random-15-3"] {
            let model = embedded::model(name).expect("embedded");
            let mut accelerations = Accelerations::new(&model);
            let state = State::random(&model, 4);
            let tau = vec![0.3; model.nv()];
            let found = Scheme::ALL.map(|scheme| {
                let mut vdot = vec![0.0; model.nv()];
                let done = accelerations.find(scheme, &state, &tau, &mut vdot);
                done.expect("regular");
                vdot
            });
            let size = found[0].iter().fold(0.0f64, |m, x| m.max(x.abs()));
            for other in &found[1..] {
                for (a, b) in other.iter().zip(&found[0]) {
                    assert!((a - b).abs() < 1e-9 * size, "{name}: {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_factors_is_told() {
        let mut matrix = Matrix::identity(2);
        matrix[(1, 1)] = -1.0;
        assert!(!solve(&mut matrix, &mut [1.0, 1.0]));
    }
}
