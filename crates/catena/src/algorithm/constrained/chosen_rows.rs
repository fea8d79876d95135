//! Accelerations of a closed chain in any scalar, with rows of the constraints that are chosen in advance.
//!
//! ```text
//! a₀ = I⁻¹ (τ − C v − g)                      the tree with its loops open                                  (1)
//! X  = I⁻¹ Jᵀ,   S = J X                      symmetric, positive definite if the rows are independent      (2)
//! S λ = b − J a₀                              reverse elimination, S = U D Uᵀ                               (3)
//! v̇  = a₀ + X λ                                                                             (Mufti 65–73)    (4)
//! ```
//!
//! No branch depends on a value: generated code, formulas and operation counts run this. The rows must be independent;
//! [`Freedoms::rows`](crate::closed_chain::Freedoms::rows) is such a choice. [`ClosedChain`](crate::ClosedChain) accepts dependent rows too, and
//! loses fewer digits near singular positions, because it never forms S.

use super::rows::{Axes, Rows, Stabilisation};
use super::{CLOSED, NOTHING};
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Force;
use crate::state::StateView;

/// Chosen rows.
pub const CARD: Card = Card {
    name: "Chosen rows on UDUᵀ",
    question: "forward dynamics of closed chains",
    call: "chosen_rows::forward_dynamics_closed",
    file: "algorithm/constrained/chosen_rows.rs",
    order: "O(m n + m² d + m³), m independent rows",
    source: "Mufti 1983, eqs. 65–73, in any scalar",
};

/// X and the factors of S: everything needed to solve I x − Jᵀ λ = f, J x = b.
#[derive(Clone, Debug)]
pub struct Closing<S> {
    jacobian: Matrix<S>,
    /// X, transposed: one row per constraint row.
    response: Matrix<S>,
    u: Matrix<S>,
    d: Vec<S>,
    /// The diagonal of S.
    size: Vec<S>,
}

impl<S: Scalar> Closing<S> {
    /// X and the factors of S, from J and a function that solves I x = b in place.
    pub fn new(jacobian: Matrix<S>, mut solve: impl FnMut(&mut [S])) -> Self {
        let m = jacobian.rows();
        let mut response = jacobian.clone();
        for k in 0..m {
            solve(response.row_mut(k)); // (2)
        }
        let mut s = Matrix::zeros(m, m);
        for i in 0..m {
            for k in i..m {
                s[(i, k)] = dot(jacobian.row(i), response.row(k)); // (2)
            }
        }
        let size = (0..m).map(|k| s[(k, k)]).collect();
        let mut u = Matrix::identity(m);
        for k in (0..m).rev() {
            let inverse = s[(k, k)].recip();
            for i in 0..k {
                let factor = s[(i, k)] * inverse;
                for j in 0..=i {
                    let carried = factor * s[(j, k)];
                    s[(j, i)] -= carried;
                }
                u[(i, k)] = factor;
            }
        }
        Closing {
            d: (0..m).map(|k| s[(k, k)]).collect(),
            jacobian,
            response,
            u,
            size,
        }
    }

    /// Turns x = I⁻¹ f into the solution with J x = b, and returns λ.
    pub fn apply(&self, b: &[S], x: &mut [S]) -> Vec<S> {
        let m = self.d.len();
        let mut lambda: Vec<S> = (0..m)
            .map(|k| b[k] - dot(self.jacobian.row(k), x))
            .collect();
        for k in (0..m).rev() {
            for i in 0..k {
                let carried = self.u[(i, k)] * lambda[k];
                lambda[i] -= carried;
            }
        }
        for (lambda, d) in lambda.iter_mut().zip(&self.d) {
            *lambda = *lambda / *d;
        }
        for k in 0..m {
            for i in 0..k {
                let carried = self.u[(i, k)] * lambda[i];
                lambda[k] -= carried;
            }
        }
        for (k, &lambda) in lambda.iter().enumerate() {
            for (x, &response) in x.iter_mut().zip(self.response.row(k)) {
                *x = response.mul_add(lambda, *x); // (4)
            }
        }
        lambda
    }

    /// The pivots of S, which are positive where the rows are independent.
    pub fn pivots(&self) -> &[S] {
        &self.d
    }
}

fn dot<S: Scalar>(a: &[S], b: &[S]) -> S {
    let mut sum = S::zero();
    for (&a, &b) in a.iter().zip(b) {
        sum = a.mul_add(b, sum);
    }
    sum
}

/// J and b of the chosen rows, and the residuals ξ and ξ̇ of all rows, at (t, q, v).
pub struct RowsAt<S> {
    /// J of the chosen rows.
    pub jacobian: Matrix<S>,
    /// b of J v̇ = b.
    pub right: Vec<S>,
    /// b of all rows.
    pub all_right: Vec<S>,
    /// All rows.
    pub all: Rows<S>,
}

impl<S: Scalar> RowsAt<S> {
    /// Evaluates the constraints of a model.
    pub fn new<P: Parameter<S>>(
        model: &Model<P>,
        chosen: &[usize],
        time: S,
        state: StateView<'_, S>,
    ) -> Self {
        let StateView { q, v, .. } = state;
        let still = vec![S::zero(); v.len()];
        let mut kinematics = Kinematics::new(model);
        forward_kinematics(model, state, &still, &mut kinematics);
        let mut all = Rows::new(model, Axes::Parent);
        all.evaluate(model, time, q, v, &kinematics);
        let dense = all.dense(v.len());
        let mut jacobian = Matrix::zeros(chosen.len(), v.len());
        for (k, &row) in chosen.iter().enumerate() {
            jacobian.row_mut(k).copy_from_slice(dense.row(row));
        }
        let mut b = vec![S::zero(); all.count()];
        all.right_side(Stabilisation::default(), &mut b);
        RowsAt {
            jacobian,
            right: chosen.iter().map(|&row| b[row]).collect(),
            all_right: b,
            all,
        }
    }

    /// Numbers that are all positive where `vdot` is the motion of the closed chain, whichever rows were chosen: the loops are
    /// closed, the chosen rows are independent enough to keep ten digits, and every row, chosen or not, is satisfied. `free` are
    /// the accelerations with the loops open.
    pub fn signs(&self, closing: &Closing<S>, free: &[S], vdot: &[S]) -> Vec<S> {
        let squared = |x: f64| S::constant(x * x);
        let mut signs = Vec::new();
        let mut sizes = S::zero();
        for &size in &closing.size {
            sizes += size;
        }
        let least = S::constant(STRONG * STRONG) * sizes;
        for (&pivot, &size) in closing.d.iter().zip(&closing.size) {
            signs.push(pivot - S::constant(INDEPENDENT) * size - least);
        }
        for &x in self.all.residual.iter().chain(&self.all.rate) {
            signs.push(squared(CLOSED) - x * x);
        }
        let mut reach = vec![S::zero(); self.all_right.len()];
        self.all.times(free, &mut reach);
        let scale = dot(&reach, &reach) + dot(&self.all_right, &self.all_right);
        let allowed = squared(SATISFIED).mul_add(scale, squared(NOTHING));
        self.all.times(vdot, &mut reach);
        for (&reach, &b) in reach.iter().zip(&self.all_right) {
            signs.push(allowed - (b - reach) * (b - reach));
        }
        signs
    }
}

/// A pivot of S below this fraction of its diagonal entry calls for the orthogonal decomposition.
const INDEPENDENT: f64 = 1e-6;

/// So does a row shorter than this fraction of all rows (in the metric of I⁻¹): it may be a zero row with round-off. The general
/// algorithm drops rows a thousand times shorter.
const STRONG: f64 = 1e-6;

/// A row counts as satisfied when its remainder is below this fraction of b and of J a₀.
const SATISFIED: f64 = 1e-12;

/// v̇ and λ of the chosen rows.
pub fn forward_dynamics_closed<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    chosen: &[usize],
    time: S,
    state: StateView<'_, S>,
    tau: &[S],
    external: &[Force<S>],
) -> (Vec<S>, Vec<S>) {
    let Solution { vdot, lambda, .. } = Solution::new(model, chosen, time, state, tau, external);
    (vdot, lambda)
}

/// v̇ and λ of the chosen rows, and numbers that are all positive where they are those of all rows: the inverse pivots of I, then
/// [`RowsAt::signs`].
pub fn forward_dynamics_signed<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    chosen: &[usize],
    time: S,
    state: StateView<'_, S>,
    tau: &[S],
) -> [Vec<S>; 3] {
    let found = Solution::new(model, chosen, time, state, tau, &[]);
    let mut signs = found.tree.factors.inverse_pivots().to_vec();
    signs.extend(found.rows.signs(&found.closing, &found.free, &found.vdot));
    [found.vdot, found.lambda, signs]
}

/// The steps (1) to (4).
struct Solution<S: Scalar> {
    tree: ForwardDynamics<S>,
    rows: RowsAt<S>,
    closing: Closing<S>,
    free: Vec<S>,
    vdot: Vec<S>,
    lambda: Vec<S>,
}

impl<S: Scalar> Solution<S> {
    fn new<P: Parameter<S>>(
        model: &Model<P>,
        chosen: &[usize],
        time: S,
        state: StateView<'_, S>,
        tau: &[S],
        external: &[Force<S>],
    ) -> Self {
        let mut free = vec![S::zero(); state.v.len()];
        let mut tree = ForwardDynamics::new(model);
        forward_dynamics(model, state, tau, external, &mut tree, &mut free); // (1)
        let rows = RowsAt::new(model, chosen, time, state);
        let closing = Closing::new(rows.jacobian.clone(), |x| tree.factors.solve(model, x)); // (2)
        let mut vdot = free.clone();
        let lambda = closing.apply(&rows.right, &mut vdot); // (3), (4)
        Solution {
            tree,
            rows,
            closing,
            free,
            vdot,
            lambda,
        }
    }
}
