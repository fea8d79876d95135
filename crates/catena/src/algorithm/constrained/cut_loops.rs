//! Closed chains on the tree: Mufti's last formulation, cut hinges on the equations of the tree.
//!
//! Mufti (1983), eqs. 65–73 and appendix, with his Jacobian matrix in the tree's own coordinates and UDUᵀ in place of LDLᵀ:
//!
//! ```text
//! tree           I a₀ = τ − C v − g …                     accelerations with every loop open     (67, 68)
//! half solves    B = D^(−1/2) U⁻¹ Jᵀ                      O(path) per row                          (A-3)
//! multipliers    BᵀB λ = b − J a₀,   BᵀB = J I⁻¹ Jᵀ       rank-revealing, min. norm       (72, A-5, A-12)
//! motion         I a = I a₀ + Jᵀ λ                        one more solve in O(n)                   (73)
//! ```
//!
//! Rows may be dependent: the accelerations are the same whichever rows are kept, and λ is the minimum-norm vector of
//! multipliers at the cut joints. For an inconsistent right-hand side there is no motion; its distance from consistency is returned.
//!
//! | symbol | in code |
//! |---|---|
//! | ξ, J, bias | `rows` |
//! | a₀, a | `free`, `vdot` |
//! | Bᵀ | `half`, one row per constraint row |
//! | λ | `lambda` |

use super::along_tree::{AlongTree, rows_reach};
use super::complete_orthogonal::{CompleteOrthogonal, RANK_TOLERANCE, norm};
use super::elimination_plan::Plan;
use super::rows::{Axes, Rows, Stabilisation};
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies, forward_dynamics};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::spatial::Force;
use crate::state::{Base, State, StateView};
use crate::thresholds::ROWS_TOGETHER;

/// Cut loops on the tree.
pub const CARD: Card = Card {
    name: "Cut loops on UDUᵀ",
    question: "forward dynamics of closed chains",
    call: "ClosedChain",
    file: "algorithm/constrained/cut_loops.rs",
    order: "O(n + m d + m² min(m, n)), m rows",
    source: "Mufti 1983, eqs. 65–73 and appendix (A-3, A-5, A-12), corrected",
};

/// Method for the multipliers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// All multipliers together by an orthogonal decomposition: the most robust, O(m³).
    CutLoops,
    /// Multipliers loop by loop along the tree, O(n + m).
    AlongTree,
}

/// Workspace and result.
#[derive(Clone, Debug)]
pub struct CutLoops<S: Scalar = f64> {
    /// The rows at the last state.
    pub rows: Rows<S>,
    /// Poses and velocities at the last state, accelerations at v̇ = 0.
    pub kinematics: Kinematics<S>,
    /// Forward dynamics of the tree; its factors are those of the last state.
    pub tree: ForwardDynamics<S>,
    /// B of the last state, decomposed; empty while loops are eliminated along the tree.
    pub decomposition: CompleteOrthogonal<S>,
    /// Elimination along the tree, if in use.
    pub(super) along: Option<Box<AlongTree<S>>>,
    /// Approximate number of multiplications of each method.
    pub(crate) costs: [f64; 2],
    /// Singular values below this fraction of the largest count as zero.
    pub tolerance: f64,
    /// Upper limit of the rank.
    pub most: usize,
    /// Accelerations of the tree with every loop open; along the tree: efforts minus those of the tree at v̇ = 0.
    pub free: Vec<S>,
    /// Accelerations.
    pub vdot: Vec<S>,
    /// Multipliers.
    pub lambda: Vec<S>,
    /// b of J v̇ = b.
    pub right_side: Vec<S>,
    /// Part of b − J a₀ that no motion can produce (length), and the length of the larger of b and J a₀.
    pub inconsistency: [S; 2],
    half: Matrix<S>,
    /// Held freedoms: the last rows.
    held: Vec<usize>,
    /// Positions at which the factors were computed, while they are valid for the rows.
    made_at: Option<Vec<S>>,
    inverse: InverseDynamics<S>,
    still: Vec<S>,
    correction: Vec<S>,
    /// Multipliers of the last correction.
    change: Vec<S>,
}

impl CutLoops {
    /// Workspace; `more` is the number of rows of constraints outside the model, `held` are held
    /// freedoms.
    pub(crate) fn new(model: &Model, axes: Axes, more: &[usize], held: &[usize]) -> Self {
        let rows = Rows::with_more(model, axes, more, held);
        let plan = Plan::new(model.tree(), &rows);
        let costs = [dense_cost(&rows, model.body_count(), model.nv()), plan.cost];
        let along = (rows.count() > ROWS_TOGETHER && costs[1] < costs[0])
            .then(|| Box::new(AlongTree::of(model, &rows, plan)));
        CutLoops::of(model, rows, along, costs, held)
    }

    /// Workspace in another scalar for the same rows, by the same method and with the same limits of rank. Nothing is factorized.
    pub(crate) fn map<T: Scalar<Mask = bool> + PartialEq>(
        &self,
        model: &Model,
        to: impl Fn(f64) -> T,
    ) -> CutLoops<T> {
        let rows = self.rows.map(to);
        let along = self.along.as_ref().map(|along| {
            let mut made = AlongTree::new(model, &rows);
            made.limit(along.limits());
            Box::new(made)
        });
        CutLoops {
            tolerance: self.tolerance,
            most: self.most,
            ..CutLoops::of(model, rows, along, self.costs, &self.held)
        }
    }
}

impl<S: Scalar<Mask = bool> + PartialEq> CutLoops<S> {
    fn of(
        model: &Model,
        rows: Rows<S>,
        along: Option<Box<AlongTree<S>>>,
        costs: [f64; 2],
        held: &[usize],
    ) -> Self {
        let (m, nv, zero) = (rows.count(), model.nv(), S::zero());
        CutLoops {
            rows,
            kinematics: Kinematics::new(model),
            tree: ForwardDynamics::new(model),
            decomposition: CompleteOrthogonal::new(0, 0),
            along,
            costs,
            tolerance: RANK_TOLERANCE,
            most: usize::MAX,
            free: vec![zero; nv],
            vdot: vec![zero; nv],
            lambda: vec![zero; m],
            right_side: vec![zero; m],
            inconsistency: [zero; 2],
            half: Matrix::zeros(0, 0),
            held: held.to_vec(),
            made_at: None,
            inverse: InverseDynamics::new(model),
            still: vec![zero; nv],
            correction: vec![zero; nv],
            change: vec![zero; m],
        }
    }
}

impl CutLoops {
    /// The method in use.
    pub(crate) fn route(&self) -> Route {
        match self.along {
            Some(_) => Route::AlongTree,
            None => Route::CutLoops,
        }
    }

    /// Changes the method.
    pub(crate) fn choose(&mut self, model: &Model, route: Route) {
        if route == self.route() {
            return;
        }
        self.made_at = None;
        self.along = match route {
            Route::CutLoops => None,
            Route::AlongTree => Some(Box::new(AlongTree::new(model, &self.rows))),
        };
    }

    /// Number of independent rows in the last factorization.
    pub(crate) fn rank(&self) -> usize {
        match &self.along {
            Some(along) => along.rank(),
            None => self.decomposition.rank(),
        }
    }

    /// How close the rows are to losing rank: the smallest nonzero pivot, relative to the largest row of its kind.
    pub(crate) fn weakest(&self) -> f64 {
        if let Some(along) = &self.along {
            return along.weakest();
        }
        let mut largest = [0.0f64; 2];
        for k in 0..self.half.rows() {
            let kind = &mut largest[self.kind(k)];
            *kind = kind.max(norm(self.half.row(k)));
        }
        (0..self.decomposition.rank()).fold(1.0f64, |least, j| {
            let (row, pivot) = self.decomposition.pivot(j);
            least.min(pivot / largest[self.kind(row)])
        })
    }

    /// 1 for a row of a force, 0 for a row of a moment or of coordinates.
    fn kind(&self, row: usize) -> usize {
        let force = self.rows.wrench[row].force;
        usize::from(force.dot(force) > 0.5)
    }

    /// The first freedom, from the tips, without inertia.
    pub(crate) fn singular_freedom(&self) -> Option<(usize, f64)> {
        let factors = match &self.along {
            Some(along) => &along.factors,
            None => &self.tree.factors,
        };
        factors.singular_freedom().map(|k| (k, factors.inverse[k]))
    }
}

impl<S: Scalar<Mask = bool> + PartialEq> CutLoops<S> {
    /// Factors at a configuration whose rows are evaluated. J of the model's constraints depends on q only, so its factors stay
    /// valid; `others` says that there are rows that may depend on more.
    pub(crate) fn factorize(&mut self, model: &Model, q: &[S], others: bool) {
        if !others && self.made_at.as_deref() == Some(q) {
            return;
        }
        match &mut self.along {
            Some(along) => along.factorize(model, q, &self.rows),
            None => self.factorize_dense(model, q),
        }
        self.made(q);
    }

    /// Records the positions of the factors.
    fn made(&mut self, q: &[S]) {
        let made_at = self.made_at.get_or_insert_default();
        made_at.clear();
        made_at.extend_from_slice(q);
    }

    /// Invalidates the factors.
    pub(crate) fn forget(&mut self) {
        self.made_at = None;
    }

    /// The tree's own factors and the decomposition of all rows, whatever the method. The factors are those of forward dynamics,
    /// as in [`solve`](Self::solve), to the last bit: results must not depend on which of the two was called first.
    pub(crate) fn factorize_dense(&mut self, model: &Model, q: &[S]) {
        self.made_at = None;
        let (still, base) = (&self.still, Base::fixed());
        articulated_bodies::kernel(
            model,
            StateView {
                q,
                v: still,
                base: &base,
            },
            still,
            &[],
            &mut self.tree,
            &mut self.free,
        );
        self.decompose(model);
    }
}

impl CutLoops {
    /// Limits the rank to its present value.
    pub(crate) fn keep_rank(&mut self) {
        self.made_at = None;
        match &mut self.along {
            Some(along) => along.keep_ranks(),
            None => self.most = self.decomposition.rank(),
        }
    }

    /// The limits of the rank: one, or one for each constraint along the tree.
    pub(crate) fn rank_limits(&self) -> &[usize] {
        match &self.along {
            Some(along) => along.limits(),
            None => std::slice::from_ref(&self.most),
        }
    }

    /// Sets the limits of the rank.
    pub(crate) fn limit_rank(&mut self, limits: &[usize]) {
        self.made_at = None;
        match &mut self.along {
            Some(along) => along.limit(limits),
            None => self.most = limits[0],
        }
    }

    /// Poses and velocities, then the model's rows. User constraints are filled by the caller.
    pub(crate) fn evaluate(&mut self, model: &Model, time: f64, state: &State) {
        forward_kinematics(model, state.view(), &self.still, &mut self.kinematics);
        self.rows
            .evaluate(model, time, &state.q, &state.v, &self.kinematics);
    }
}

impl<S: Scalar<Mask = bool> + PartialEq> CutLoops<S> {
    /// Decomposes B = D^(−1/2) U⁻¹ Jᵀ of the rows evaluated, with the present factors.
    fn decompose(&mut self, model: &Model) {
        let (m, nv) = (self.rows.count(), model.nv());
        if self.half.rows() != m {
            self.half = Matrix::zeros(m, nv);
            self.decomposition = CompleteOrthogonal::new(nv, m);
        }
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
    pub(crate) fn solve(
        &mut self,
        model: &Model,
        state: StateView<'_, S>,
        tau: &[S],
        external: &[Force<S>],
        stabilisation: Stabilisation,
        others: bool,
    ) {
        self.rows.right_side(stabilisation, &mut self.right_side);
        if self.along.is_some() {
            self.factorize(model, state.q, others);
            self.solve_along(model, state, tau, external);
            return;
        }
        forward_dynamics(model, state, tau, external, &mut self.tree, &mut self.free); // (68); it leaves the factors of the tree
        if others || self.made_at.as_deref() != Some(state.q) {
            self.decompose(model); // (A-3)
            self.made(state.q);
        }
        self.rows.times(&self.free, &mut self.lambda);
        let [reach, scale] = [norm(&self.lambda), norm(&self.right_side)];
        let scale = S::select(scale.less(reach), reach, scale);
        for (lambda, b) in self.lambda.iter_mut().zip(&self.right_side) {
            *lambda = *b - *lambda;
        }
        let outside = self.decomposition.solve(&mut self.lambda); // (A-12)
        self.inconsistency = [outside, scale];
        self.correction.fill(S::zero());
        self.rows
            .add_transpose_times(&self.lambda, &mut self.correction);
        self.tree.factors.solve(model, &mut self.correction); // (73)
        for k in 0..self.vdot.len() {
            self.vdot[k] = self.free[k] + self.correction[k];
        }
        self.drive_held();
    }

    /// Accelerations and multipliers, by elimination along the tree.
    fn solve_along(
        &mut self,
        model: &Model,
        state: StateView<'_, S>,
        tau: &[S],
        external: &[Force<S>],
    ) {
        inverse_dynamics(
            model,
            state,
            &self.still,
            external,
            &mut self.inverse,
            &mut self.free,
        );
        for (f, tau) in self.free.iter_mut().zip(tau) {
            *f = *tau - *f;
        }
        let Some(along) = &mut self.along else {
            return;
        };
        let outside = along.solve(model, &self.rows, &self.free, &self.right_side);
        self.vdot.copy_from_slice(&along.a);
        self.lambda.copy_from_slice(&along.lambda);
        self.inconsistency = [outside, rows_reach(&self.rows, &along.a, &self.right_side)];
        self.drive_held();
    }

    /// Held freedoms have the accelerations of their rows, zero unless they are driven, without round-off.
    fn drive_held(&mut self) {
        let first = self.rows.count() - self.held.len();
        for (&k, bias) in self.held.iter().zip(&self.rows.bias[first..]) {
            self.vdot[k] = S::zero() - *bias;
        }
    }
}

impl CutLoops {
    /// The smallest step (in the metric of I) that removes `c` to first order, x = −I⁻¹ Jᵀ (J I⁻¹ Jᵀ)⁺ c, with the present factors; it is
    /// kept as [`correction`](Self::correction). Returns the norm of the part of c that no step can remove.
    pub(crate) fn remove(&mut self, model: &Model, c: &[f64]) -> f64 {
        for (change, c) in self.change.iter_mut().zip(c) {
            *change = -c;
        }
        if let Some(along) = &mut self.along {
            let outside = along.solve(model, &self.rows, &self.still, &self.change);
            self.correction.copy_from_slice(&along.a);
            stay(&self.held, &mut self.correction);
            self.change.copy_from_slice(&along.lambda);
            return outside;
        }
        let outside = self.decomposition.solve(&mut self.change);
        self.correction.fill(0.0);
        self.rows
            .add_transpose_times(&self.change, &mut self.correction);
        self.tree.factors.solve(model, &mut self.correction);
        stay(&self.held, &mut self.correction);
        outside
    }

    /// x and μ of I x = f + Jᵀ μ, J x = b, with the present factors; [`answer`](Self::answer) gives them.
    pub(crate) fn answer_to(&mut self, model: &Model, f: &[f64], b: &[f64]) {
        if let Some(along) = &mut self.along {
            along.solve(model, &self.rows, f, b);
            self.correction.copy_from_slice(&along.a);
            self.change.copy_from_slice(&along.lambda);
            return;
        }
        self.free.copy_from_slice(f);
        self.tree.factors.solve(model, &mut self.free);
        self.rows.times(&self.free, &mut self.change);
        for (change, b) in self.change.iter_mut().zip(b) {
            *change = b - *change;
        }
        self.decomposition.solve(&mut self.change);
        self.correction.copy_from_slice(f);
        self.rows
            .add_transpose_times(&self.change, &mut self.correction);
        self.tree.factors.solve(model, &mut self.correction);
    }

    /// The last answer, or the last correction and its multipliers.
    pub(crate) fn answer(&self) -> (&[f64], &[f64]) {
        (&self.correction, &self.change)
    }

    /// Removes ξ.
    pub(crate) fn remove_residual(&mut self, model: &Model) {
        let residual = std::mem::take(&mut self.rows.residual);
        self.remove(model, &residual);
        self.rows.residual = residual;
    }

    /// Removes ξ̇ by a change of velocities.
    pub(crate) fn remove_rate(&mut self, model: &Model) -> f64 {
        let rate = std::mem::take(&mut self.rows.rate);
        let outside = self.remove(model, &rate);
        self.rows.rate = rate;
        outside
    }

    /// Projects a change of velocities w onto the null space of J, in the metric of I.
    pub(crate) fn remove_opening(&mut self, model: &Model, change: &mut [f64]) {
        let mut opening = vec![0.0; self.rows.count()];
        self.rows.times(change, &mut opening);
        self.remove(model, &opening);
        for (w, correction) in change.iter_mut().zip(&self.correction) {
            *w += correction;
        }
    }

    /// Applies the last correction to the accelerations.
    pub(crate) fn refine(&mut self) {
        for (vdot, correction) in self.vdot.iter_mut().zip(&self.correction) {
            *vdot += correction;
        }
        for (lambda, change) in self.lambda.iter_mut().zip(&self.change) {
            *lambda += change;
        }
    }

    /// The last step or change of velocities.
    pub(crate) fn correction(&self) -> &[f64] {
        &self.correction
    }
}

/// Held freedoms do not move, not even by round-off.
fn stay(held: &[usize], x: &mut [f64]) {
    for &k in held {
        x[k] = 0.0;
    }
}

/// Approximate number of multiplications of the decomposition.
fn dense_cost(rows: &Rows<f64>, bodies: usize, nv: usize) -> f64 {
    let m = rows.count() as f64;
    let solves: usize = rows
        .blocks()
        .iter()
        .map(|block| block.rows * block.support.len())
        .sum();
    300.0 * bodies as f64 + 40.0 * solves as f64 + 2.0 * m * m.min(nv as f64) * nv as f64
}
