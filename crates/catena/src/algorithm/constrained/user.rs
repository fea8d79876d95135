//! Constraints written in Rust.

use crate::algorithm::kinematics::Kinematics;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::state::State;
use std::fmt::Debug;

/// A user-defined constraint: ξ(t, q) = 0, with its rates; or nonholonomic rows, A(q) v = c(t).
///
/// ```text
/// ξ̇ = J v + ∂ξ/∂t,     ξ̈ = J v̇ + bias           nonholonomic: ξ̇ = A v − c,  bias = Ȧ v − ċ
/// ```
pub trait UserConstraint: Debug + Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// Number of scalar conditions.
    fn rows(&self) -> usize;

    /// Whether its rows are holonomic. Nonholonomic rows leave ξ zero, and position corrections ignore them.
    fn on_positions(&self) -> bool {
        true
    }

    /// Writes the rows at an instant. `kinematics` holds poses, velocities and accelerations (at v̇ = 0) of all bodies.
    fn evaluate(
        &self,
        model: &Model,
        time: f64,
        state: &State,
        kinematics: &Kinematics<f64>,
        rows: &mut UserRows,
    );
}

/// The output of a [`UserConstraint`]; zero on entry.
#[derive(Clone, Debug)]
pub struct UserRows {
    /// ξ.
    pub residual: Vec<f64>,
    /// J, one row per condition, one column per velocity coordinate.
    pub jacobian: Matrix,
    /// ξ̇ = J v + ∂ξ/∂t.
    pub rate: Vec<f64>,
    /// ξ̈ at v̇ = 0.
    pub bias: Vec<f64>,
}

impl UserRows {
    pub(crate) fn new(rows: usize, nv: usize) -> Self {
        UserRows {
            residual: vec![0.0; rows],
            jacobian: Matrix::zeros(rows, nv),
            rate: vec![0.0; rows],
            bias: vec![0.0; rows],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.jacobian.clear();
        for part in [&mut self.residual, &mut self.rate, &mut self.bias] {
            part.fill(0.0);
        }
    }
}
