//! Accelerations by forming I and factorizing it densely: the classical O(n³) method, kept as an independent check.
//!
//! Walker & Orin (1982): φ = τ − (inverse dynamics at v̇ = 0), I by composite bodies, then I v̇ = φ by Cholesky's I = L Lᵀ.

use crate::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Force;
use crate::state::StateView;

/// Walker and Orin.
pub const CARD: Card = Card {
    name: "Composite bodies and Cholesky",
    question: "forward dynamics",
    call: "forward_dynamics_walker_orin",
    file: "algorithm/forward_dynamics/walker_orin.rs",
    order: "O(n³)",
    source: "Walker & Orin 1982, method 3",
};

/// Workspace of [`forward_dynamics_walker_orin`].
#[derive(Clone, Debug)]
pub struct WalkerOrin<S: Scalar> {
    bodies: CompositeBodies<S>,
    bias: InverseDynamics<S>,
    inertia: Matrix<S>,
    still: Vec<S>,
    phi: Vec<S>,
}

impl<S: Scalar> WalkerOrin<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let nv = model.nv();
        WalkerOrin {
            bodies: CompositeBodies::new(model),
            bias: InverseDynamics::new(model),
            inertia: Matrix::zeros(nv, nv),
            still: vec![S::zero(); nv],
            phi: vec![S::zero(); nv],
        }
    }
}

/// v̇ with I v̇ = τ − bias, by dense Cholesky.
pub fn forward_dynamics_walker_orin<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    tau: &[S],
    external: &[Force<S>],
    work: &mut WalkerOrin<S>,
    vdot: &mut [S],
) {
    inertia_matrix(
        model,
        state.q,
        &mut work.bodies,
        work.inertia.as_mut_slice(),
    );
    inverse_dynamics(
        model,
        state,
        &work.still,
        external,
        &mut work.bias,
        &mut work.phi,
    );
    for k in 0..model.nv() {
        vdot[k] = tau[k] - work.phi[k];
    }
    cholesky(&mut work.inertia);
    cholesky_solve(&work.inertia, vdot);
}

/// A = L Lᵀ; L replaces the lower triangle.
fn cholesky<S: Scalar>(a: &mut Matrix<S>) {
    for j in 0..a.rows() {
        for k in 0..j {
            let factor = -a[(j, k)];
            for i in j..a.rows() {
                a[(i, j)] = factor.mul_add(a[(i, k)], a[(i, j)]);
            }
        }
        let inverse = a[(j, j)].sqrt().recip();
        for i in j..a.rows() {
            a[(i, j)] *= inverse;
        }
    }
}

fn cholesky_solve<S: Scalar>(l: &Matrix<S>, x: &mut [S]) {
    let n = x.len();
    for i in 0..n {
        for k in 0..i {
            x[i] -= l[(i, k)] * x[k];
        }
        x[i] = x[i] / l[(i, i)];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= l[(k, i)] * x[k];
        }
        x[i] = x[i] / l[(i, i)];
    }
}
