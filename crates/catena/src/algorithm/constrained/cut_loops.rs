//! Closed chains on the tree: Mufti's last route, cut hinges on the equations of the tree.
//!
//! Mufti (1983), eqs. 65–73 and appendix, with his Jacobian matrix in the tree's own coordinates and UDUᵀ in place of LDLᵀ:
//!
//! ```text
//! tree           I a₀ = τ − C v − g …                     accelerations with every loop open     (67, 68)
//! half solves    B = D^(−1/2) U⁻¹ Jᵀ                      O(path) per row                          (A-3)
//! multipliers    BᵀB λ = b − J a₀,   BᵀB = J I⁻¹ Jᵀ       rank-revealing, shortest λ      (72, A-5, A-12)
//! motion         I a = I a₀ + Jᵀ λ                        one more solve in O(n)                   (73)
//! ```
//!
//! Rows may depend on each other: the accelerations are the same whichever are kept, and λ is the shortest vector of
//! multipliers at the cut joints. A right side that the rows cannot reach has no motion at all; how far off it is comes back.
//!
//! | symbol | in code |
//! |---|---|
//! | ξ, J, bias | `rows` |
//! | a₀, a | `free`, `vdot` |
//! | Bᵀ | `half`, one row per constraint row |
//! | λ | `lambda` |

use super::complete_orthogonal::{CompleteOrthogonal, RANK_TOLERANCE, norm};
use super::rows::{Axes, Rows, Stabilisation};
use crate::algorithm::Card;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::spatial::Force;
use crate::state::State;

/// Cut loops on the tree.
pub const CARD: Card = Card {
    name: "Cut loops on UDUᵀ",
    question: "forward dynamics of closed chains",
    call: "ClosedChain",
    file: "algorithm/constrained/cut_loops.rs",
    order: "O(n + m d + m² min(m, n)), m rows",
    source: "Mufti 1983, eqs. 65–73 and appendix (A-3, A-5, A-12), corrected",
};

/// Workspace and result.
#[derive(Clone, Debug)]
pub struct CutLoops {
    /// The rows at the last state.
    pub rows: Rows<f64>,
    /// Poses and velocities at the last state, accelerations at v̇ = 0.
    pub kinematics: Kinematics<f64>,
    /// Forward dynamics of the tree; its factors are those of the last state.
    pub tree: ForwardDynamics<f64>,
    /// B of the last state, decomposed.
    pub decomposition: CompleteOrthogonal,
    /// Singular values below this fraction of the largest count as zero.
    pub tolerance: f64,
    /// The rank is taken to be at most this.
    pub most: usize,
    /// Accelerations of the tree with every loop open.
    pub free: Vec<f64>,
    /// Accelerations.
    pub vdot: Vec<f64>,
    /// Multipliers.
    pub lambda: Vec<f64>,
    /// b of J v̇ = b.
    pub right_side: Vec<f64>,
    /// Part of b − J a₀ that no motion can produce (length), and the length of the larger of b and J a₀.
    pub inconsistency: [f64; 2],
    half: Matrix,
    still: Vec<f64>,
    correction: Vec<f64>,
}

impl CutLoops {
    /// Workspace; `more` counts the rows of constraints that the model does not know.
    pub(super) fn new(model: &Model, axes: Axes, more: &[usize]) -> Self {
        let rows = Rows::with_more(model, axes, more);
        let (m, nv) = (rows.count(), model.nv());
        CutLoops {
            rows,
            kinematics: Kinematics::new(model),
            tree: ForwardDynamics::new(model),
            decomposition: CompleteOrthogonal::new(nv, m),
            tolerance: RANK_TOLERANCE,
            most: usize::MAX,
            free: vec![0.0; nv],
            vdot: vec![0.0; nv],
            lambda: vec![0.0; m],
            right_side: vec![0.0; m],
            inconsistency: [0.0; 2],
            half: Matrix::zeros(m, nv),
            still: vec![0.0; nv],
            correction: vec![0.0; nv],
        }
    }

    /// Poses and velocities, then the model's rows. User constraints are the caller's to fill.
    pub(super) fn evaluate(&mut self, model: &Model, time: f64, state: &State) {
        forward_kinematics(
            model,
            &state.q,
            &state.v,
            &self.still,
            &state.base,
            &mut self.kinematics,
        );
        self.rows
            .evaluate(model, time, &state.q, &state.v, &self.kinematics);
    }

    /// B = D^(−1/2) U⁻¹ Jᵀ of the rows evaluated and the factors made, decomposed.
    pub(super) fn decompose(&mut self, model: &Model) {
        self.half.clear();
        for block in self.rows.blocks() {
            for k in 0..block.rows {
                let x = self.half.row_mut(block.first + k);
                for (&column, &entry) in block.columns.iter().zip(self.rows.row(block, k)) {
                    x[column] = entry;
                }
                self.tree.factors.half_solve(model, &block.support, x);
            }
        }
        self.decomposition
            .decompose(&self.half, self.tolerance, self.most);
    }

    /// Accelerations and multipliers; the rows must have been evaluated at this state.
    pub(super) fn solve(
        &mut self,
        model: &Model,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        stabilisation: Stabilisation,
    ) {
        forward_dynamics(
            model,
            &state.q,
            &state.v,
            tau,
            &state.base,
            external,
            &mut self.tree,
            &mut self.free,
        ); // (68)
        self.decompose(model); // (A-3)
        self.rows.right_side(stabilisation, &mut self.right_side);
        self.rows.times(&self.free, &mut self.lambda);
        let scale = norm(&self.lambda).max(norm(&self.right_side));
        for (lambda, b) in self.lambda.iter_mut().zip(&self.right_side) {
            *lambda = b - *lambda;
        }
        let outside = self.decomposition.solve(&mut self.lambda); // (A-12)
        self.inconsistency = [outside, scale];
        self.correction.fill(0.0);
        self.rows
            .add_transpose_times(&self.lambda, &mut self.correction);
        self.tree.factors.solve(model, &mut self.correction); // (73)
        for k in 0..self.vdot.len() {
            self.vdot[k] = self.free[k] + self.correction[k];
        }
    }

    /// The smallest step (in the metric of I) that removes ξ to first order, x = −I⁻¹ Jᵀ (J I⁻¹ Jᵀ)⁺ ξ, from a decomposition
    /// already made; it is kept as [`correction`](Self::correction).
    pub(super) fn remove_residual(&mut self, model: &Model) {
        self.lambda.copy_from_slice(&self.rows.residual);
        self.minimum_norm(model);
    }

    /// The smallest change of velocities that removes ξ̇. What of ξ̇ no change can remove comes back (length).
    pub(super) fn remove_rate(&mut self, model: &Model) -> f64 {
        self.lambda.copy_from_slice(&self.rows.rate);
        self.minimum_norm(model)
    }

    /// The last step or change of velocities.
    pub(super) fn correction(&self) -> &[f64] {
        &self.correction
    }

    /// −I⁻¹ Jᵀ (J I⁻¹ Jᵀ)⁺ c, where c is in `lambda`.
    fn minimum_norm(&mut self, model: &Model) -> f64 {
        for c in &mut self.lambda {
            *c = -*c;
        }
        let outside = self.decomposition.solve(&mut self.lambda);
        self.correction.fill(0.0);
        self.rows
            .add_transpose_times(&self.lambda, &mut self.correction);
        self.tree.factors.solve(model, &mut self.correction);
        outside
    }
}
