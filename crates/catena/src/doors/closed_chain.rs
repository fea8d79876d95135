//! The checked entry point for closed chains in `f64`: states, accelerations, multipliers and loads.

mod accuracy;
pub mod actuators;
pub mod assembly;
pub mod derivatives;
pub mod freedoms;
pub(crate) mod friction;
pub mod loads;
mod projection;
pub mod regularity;
mod sharp;

pub use accuracy::Accuracy;
pub use actuators::ClosedEfforts;
pub use assembly::Assembled;
pub use derivatives::ClosedDerivatives;
pub use freedoms::Freedoms;
pub use friction::SharedFriction;
pub use loads::{Loads, Sharing};
pub use regularity::Regularity;

use crate::Dynamics;
use crate::algorithm::constrained::cut_loops::{CutLoops, Route};
use crate::algorithm::constrained::rows::{Axes, Rows, Stabilisation};
use crate::algorithm::constrained::{CLOSED, CONSISTENT, NOTHING, UserConstraint, UserRows};
use crate::doors::{all_finite, too_large};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::residual::larger;
use crate::scalar::{Count, Operations};
use crate::spatial::Force;
use crate::state::{State, StateView};
use sharp::Sharp;
use std::sync::Arc;

/// Maximum number of rows that are decomposed together where singular values, shared loads or minimum-norm changes are requested, at O(n m²). With
/// more rows assembly and consistent accelerations use sparse products instead, and commands omit what needs all rows at once.
pub const DENSE_ROWS: usize = 500;

/// Maximum number of entries of a matrix of all rows: 2 GB.
const MOST_NUMBERS: f64 = 2.5e8;

/// Rejects a matrix that does not fit into memory.
fn modest(what: &str, numbers: f64) -> Result<()> {
    if numbers <= MOST_NUMBERS {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("{what} would have {numbers:.1e} numbers, and at most {MOST_NUMBERS:.1e} are kept"),
    )
    .hint("accelerations, multipliers and simulations take any number of loops"))
}

/// Dynamics of a model with constraints, in `f64`.
///
/// ```
/// use catena::ClosedChain;
/// use catena::{State, model::embedded};
///
/// let model = embedded::model("four-bar-1")?;
/// let mut chain = ClosedChain::new(&model);
/// let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.5, -0.5, 0.5])?; // a parallelogram
/// let motion = chain.forward(0.0, &state, &[0.0; 3], &[])?;
/// assert!((motion.accelerations[0] - motion.accelerations[2]).abs() < 1e-12);
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClosedChain {
    model: Model,
    /// The checks of states and forces, and the algorithms of the tree.
    tree: Dynamics,
    user: Vec<Arc<dyn UserConstraint>>,
    user_rows: Vec<UserRows>,
    work: CutLoops,
    axes: Axes,
    stabilisation: Stabilisation,
    /// Held freedoms.
    held: Vec<usize>,
    /// The holonomic conditions, where there are nonholonomic ones as well.
    positions: Option<Box<ClosedChain>>,
    /// Workspace of double-double arithmetic, made when first needed.
    sharp: Option<Box<Sharp>>,
}

/// Rejects non-finite results.
fn finite(what: &str, x: &[f64]) -> Result<()> {
    if all_finite(x) {
        return Ok(());
    }
    Err(too_large(what))
}

/// Accelerations of a closed chain, with the multipliers.
#[derive(Clone, Copy, Debug)]
pub struct ClosedMotion<'a> {
    /// v̇.
    pub accelerations: &'a [f64],
    /// λ, one per row: unit loads are in [`Rows::wrench`]; for couplings and drivers it is the effort per unit coefficient. Where
    /// rows are dependent this is the minimum-norm vector of multipliers (along the tree: of each constraint);
    /// [`ClosedChain::loads`] can share differently.
    pub multipliers: &'a [f64],
    /// Number of independent rows.
    pub rank: usize,
}

impl ClosedChain {
    /// Workspaces for a model and its constraints. Couplings are constraints here, too: states have all coordinates of the tree
    /// ([`Model::with_couplings_as_constraints`]).
    pub fn new(model: &Model) -> Self {
        ClosedChain::with(model, Vec::new(), Axes::Parent)
    }

    /// Workspaces for a model with user-defined constraints, and a choice of axes for points on points.
    pub fn with(model: &Model, user: Vec<Arc<dyn UserConstraint>>, axes: Axes) -> Self {
        let counts: Vec<usize> = user.iter().map(|u| u.rows()).collect();
        let model = model.clone().with_couplings_as_constraints();
        let mixed = model.velocity_rows() > 0 || user.iter().any(|u| !u.on_positions());
        ClosedChain {
            positions: mixed.then(|| {
                let others = user.iter().filter(|u| u.on_positions()).cloned();
                let slippery = model.clone().without_velocity_rows();
                Box::new(ClosedChain::with(&slippery, others.collect(), axes))
            }),
            tree: Dynamics::new(&model.clone().open_tree()),
            user_rows: counts
                .iter()
                .map(|&rows| UserRows::new(rows, model.nv()))
                .collect(),
            work: CutLoops::new(&model, axes, &counts, &[]),
            model,
            user,
            axes,
            stabilisation: Stabilisation::default(),
            held: Vec::new(),
            sharp: None,
        }
    }

    /// Appends a row for each of these freedoms, which holds it; its multiplier is the holding effort.
    /// Their velocities must be zero.
    pub(crate) fn holding(&self, held: &[usize]) -> Self {
        let counts: Vec<usize> = self.user.iter().map(|u| u.rows()).collect();
        let mut work = CutLoops::new(&self.model, self.axes, &counts, held);
        work.tolerance = self.work.tolerance;
        ClosedChain {
            work,
            held: held.to_vec(),
            positions: (self.positions.as_ref()).map(|chain| Box::new(chain.holding(held))),
            sharp: None,
            ..self.clone()
        }
    }

    /// Appends a row for each of these freedoms, which prescribes its acceleration: see [`prescribe`](Self::prescribe). Its multiplier is
    /// the effort required.
    pub fn driving(&self, freedoms: &[usize]) -> Self {
        self.holding(freedoms)
    }

    /// Accelerations of the freedoms that are driven.
    pub fn prescribe(&mut self, accelerations: &[f64]) {
        let first = self.row_count() - self.held.len();
        for (bias, a) in self.work.rows.bias[first..].iter_mut().zip(accelerations) {
            *bias = -a;
        }
    }

    /// Sets accelerations and multipliers found by other means as those of the last evaluation.
    pub(crate) fn adopt(&mut self, accelerations: &[f64], multipliers: &[f64]) {
        self.work.vdot.copy_from_slice(accelerations);
        self.work.lambda.copy_from_slice(multipliers);
    }

    /// Held freedoms.
    pub(crate) fn held(&self) -> &[usize] {
        &self.held
    }

    /// I x = f + Jᵀ μ, J x = 0 with the last factors: x and μ.
    pub(crate) fn respond(&mut self, f: &[f64]) -> (&[f64], &[f64]) {
        let none = vec![0.0; self.row_count()];
        self.work.answer_to(&self.model, f, &none);
        self.work.answer()
    }

    /// The method for the multipliers.
    pub fn route(&self) -> Route {
        self.work.route()
    }

    /// Sets the method for the multipliers.
    pub fn choose_route(&mut self, route: Route) {
        self.work.choose(&self.model, route);
    }

    /// Multiplications of both methods: together, along the tree.
    pub fn route_costs(&self) -> [f64; 2] {
        self.work.costs
    }

    /// Explains the choice of the method by the number of operations.
    pub fn route_reason(&self) -> String {
        let [dense, along] = self.work.costs;
        let [together, one_by_one] = match self.row_count() {
            1 => ["the one row is decomposed", "1 row is eliminated"].map(String::from),
            m => [
                format!("all {m} rows are decomposed together"),
                format!("{m} rows are eliminated loop by loop"),
            ],
        };
        match self.route() {
            Route::CutLoops => format!(
                "{together}: safest, about {dense:.0} multiplications (along the tree {along:.0})"
            ),
            Route::AlongTree => format!(
                "{one_by_one} along the tree: about {along:.0} multiplications (together {dense:.0})"
            ),
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The algorithms of the tree with its loops open, for kinematics, energies and matrices.
    pub fn tree(&mut self) -> &mut Dynamics {
        &mut self.tree
    }

    /// User-defined constraints.
    pub fn user_constraints(&self) -> &[Arc<dyn UserConstraint>] {
        &self.user
    }

    /// Axes of points on points.
    pub fn axes(&self) -> Axes {
        self.axes
    }

    /// Number of constraint rows.
    pub fn row_count(&self) -> usize {
        self.work.rows.count()
    }

    /// Lets violations decay: ξ̈ + α ξ̇ + β ξ = 0. States with open loops are then accepted.
    pub fn stabilise(&mut self, stabilisation: Stabilisation) {
        self.stabilisation = stabilisation;
    }

    /// How violations decay; not at all unless set.
    pub fn stabilisation(&self) -> Stabilisation {
        self.stabilisation
    }

    /// Singular values below this fraction of the largest count as zero; 1e-9 unless set.
    pub fn set_rank_tolerance(&mut self, tolerance: f64) {
        self.work.tolerance = tolerance;
        self.work.forget();
        if let Some(positions) = &mut self.positions {
            positions.set_rank_tolerance(tolerance);
        }
    }

    /// Number of nonholonomic rows, which constrain velocities only.
    pub fn velocity_row_count(&self) -> usize {
        let of_positions = self.positions.as_ref();
        of_positions.map_or(0, |chain| self.row_count() - chain.row_count())
    }

    /// The holonomic conditions, where there are nonholonomic ones as well.
    pub fn on_positions(&mut self) -> Option<&mut ClosedChain> {
        self.positions.as_deref_mut()
    }

    /// ξ, ξ̇, J and bias of every constraint at a state; J is the same at every level.
    pub fn rows(&mut self, time: f64, state: &State) -> Result<&Rows<f64>> {
        self.tree.check(state)?;
        self.evaluate(time, state);
        let rows = &self.work.rows;
        for (what, x) in [
            ("the violation of the constraints", &rows.residual),
            ("the rate of the constraints", &rows.rate),
            ("the bias of the constraints", &rows.bias),
        ] {
            finite(what, x)?;
        }
        for block in 0..rows.blocks().len() {
            finite("the Jacobian of the constraints", rows.entries(block))?;
        }
        Ok(&self.work.rows)
    }

    /// Number of independent rows at a state, and the singular values of D^(−1/2) U⁻¹ Jᵀ, largest first.
    pub fn rank(&mut self, time: f64, state: &State) -> Result<(usize, Vec<f64>)> {
        self.decompose(time, state)?;
        let decomposition = &self.work.decomposition;
        let values = decomposition.singular_values();
        finite("the rows of the constraints", &values)?;
        Ok((decomposition.rank(), values))
    }

    /// Number of independent rows at a state by the method in use, without the singular values of [`rank`](Self::rank): O(n + m) where loops are
    /// eliminated along the tree.
    pub fn independent_rows(&mut self, time: f64, state: &State) -> Result<usize> {
        self.rows(time, state)?;
        self.factorize(state)?;
        Ok(self.work.rank())
    }

    /// Rejects a request that needs all rows as one matrix where that does not fit into memory.
    fn require_dense(&self) -> Result<()> {
        let numbers = self.row_count() as f64 * self.model.nv() as f64;
        modest("the matrix of all rows of the constraints", numbers)
    }

    /// Decomposes the rows at a state.
    fn decompose(&mut self, time: f64, state: &State) -> Result<()> {
        self.tree.check(state)?;
        self.require_dense()?;
        self.evaluate(time, state);
        self.work.factorize_dense(&self.model, &state.q);
        let factors = &self.work.tree.factors;
        match factors.singular_freedom() {
            Some(k) => Err(self.tree.singular(k, factors.inverse[k])),
            None => Ok(()),
        }
    }

    /// Accelerations and multipliers under efforts and external wrenches (as [`Dynamics::forward`] takes them).
    ///
    /// The loops must be closed to 1e-6 in position and velocity, unless violations are stabilised.
    pub fn forward(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<ClosedMotion<'_>> {
        self.tree.check_forward(state, tau, external)?;
        self.evaluate(time, state);
        if self.stabilisation == Stabilisation::default() {
            self.check_closed()?;
        }
        self.accelerate(state, tau, external)?;
        let [outside, scale] = self.work.inconsistency;
        if outside > (CONSISTENT * scale).max(NOTHING) {
            return Err(self.inconsistent(outside, scale));
        }
        finite("the multipliers of the constraints", &self.work.lambda)?;
        Ok(self.motion())
    }

    /// Rejects a state that violates the constraints on positions or velocities by more than 1e-6.
    pub fn require_closed(&mut self, time: f64, state: &State) -> Result<()> {
        self.rows(time, state)?;
        self.check_closed()
    }

    /// Evaluates all rows at a state.
    pub(crate) fn evaluate(&mut self, time: f64, state: &State) {
        self.work.evaluate(&self.model, time, state);
        let first = self.model.constraints().len();
        for (k, user) in self.user.iter().enumerate() {
            let rows = &mut self.user_rows[k];
            rows.clear();
            user.evaluate(&self.model, time, state, &self.work.kinematics, rows);
            let at = self.work.rows.blocks()[first + k].first;
            let range = at..at + rows.residual.len();
            self.work.rows.residual[range.clone()].copy_from_slice(&rows.residual);
            self.work.rows.rate[range.clone()].copy_from_slice(&rows.rate);
            self.work.rows.bias[range].copy_from_slice(&rows.bias);
            self.work
                .rows
                .entries_mut(first + k)
                .copy_from_slice(rows.jacobian.as_slice());
        }
    }

    /// Factorizes I and decomposes B at a state whose rows are evaluated.
    pub(crate) fn factorize(&mut self, state: &State) -> Result<()> {
        self.work
            .factorize(&self.model, &state.q, !self.user.is_empty());
        if let Some((k, inverse)) = self.work.singular_freedom() {
            return Err(self.tree.singular(k, inverse));
        }
        Ok(())
    }

    /// Computes accelerations at a state whose rows have been evaluated, whether its loops are closed or not.
    pub(crate) fn accelerate(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        self.work.solve(
            &self.model,
            state.view(),
            tau,
            external,
            self.stabilisation,
            !self.user.is_empty(),
        );
        if let Some((k, inverse)) = self.work.singular_freedom() {
            return Err(self.tree.singular(k, inverse));
        }
        let known = self.work.inconsistency.iter().all(|x| x.is_finite());
        if !(known && self.work.vdot.iter().all(|a| a.is_finite())) {
            return Err(Error::new(
                ErrorKind::Singular,
                "the accelerations of the closed chain are not finite",
            )
            .hint("a loop may be rotated by 180° against its joint, a wheel may lie flat, or a state is too large for double precision"));
        }
        Ok(())
    }

    /// Operation count of the accelerations at a state, by the method in use, with the rows of the last evaluation given. It includes
    /// forward dynamics of the tree, or its inverse dynamics where loops are eliminated along it.
    pub fn count(&self, state: &State, tau: &[f64], external: &[Force<f64>]) -> Operations {
        let list = |x: &[f64]| -> Vec<Count> { x.iter().copied().map(Count::variable).collect() };
        let (q, v, tau) = (list(&state.q), list(&state.v), list(tau));
        let load = |w: &Force<f64>| {
            Force::new(w.moment.map(Count::variable), w.force.map(Count::variable))
        };
        let external: Vec<Force<Count>> = external.iter().map(load).collect();
        let mut work = self.work.map(&self.model, Count::variable);
        // the motion of a base at rest consists of zeros, which cost nothing
        let base = state.lift::<Count>().base;
        let state = StateView {
            q: &q,
            v: &v,
            base: &base,
        };
        let model = &self.model;
        let ((), operations) = Count::measure(|| {
            work.solve(model, state, &tau, &external, self.stabilisation, true);
        });
        operations
    }

    pub(crate) fn motion(&self) -> ClosedMotion<'_> {
        ClosedMotion {
            accelerations: &self.work.vdot,
            multipliers: &self.work.lambda,
            rank: self.work.rank(),
        }
    }

    /// Loads in all joints of the last [`forward`](Self::forward), which must have been at this state with these forces.
    pub fn loads(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        sharing: Sharing,
    ) -> Result<Loads> {
        self.tree.check_forward(state, tau, external)?;
        if self.route() == Route::AlongTree && sharing == Sharing::AllJoints {
            self.require_dense()?;
            // indeterminate loads are found from all rows together
            self.work.factorize_dense(&self.model, &state.q);
        }
        let loads = loads::loads(self, state, tau, external, sharing);
        for load in loads.tree.iter().chain(&loads.constraints) {
            finite("a load in the joints", &load.to_array())?;
        }
        finite("a load in the joints", &loads.multipliers)?;
        finite("the length of the loads", &[loads.norm])?;
        Ok(loads)
    }

    /// The rows of the last evaluation.
    pub(crate) fn last_rows(&self) -> &Rows<f64> {
        &self.work.rows
    }

    /// The limits of the rank, which [`keep_rank`](Self::keep_rank) set, as words of a checkpoint.
    pub(crate) fn rank_words(&self) -> Vec<u64> {
        let of_positions = self.positions.iter().flat_map(|chain| chain.rank_words());
        let own = self.work.rank_limits().iter().map(|&limit| limit as u64);
        own.chain(of_positions).collect()
    }

    /// Restores the output of [`rank_words`](Self::rank_words) and returns the remaining words.
    pub(crate) fn restore_rank<'a>(&mut self, words: &'a [u64]) -> Option<&'a [u64]> {
        let (limits, rest) = words.split_at_checked(self.work.rank_limits().len())?;
        let limits: Vec<usize> = limits.iter().map(|&limit| limit as usize).collect();
        self.work.limit_rank(&limits);
        match &mut self.positions {
            Some(positions) => positions.restore_rank(rest),
            None => Some(rest),
        }
    }

    /// Determines the rank at a closed state and limits it to that from then on. Returns whether there are dependent rows.
    pub(crate) fn keep_rank(&mut self, time: f64, state: &State) -> Result<bool> {
        self.evaluate(time, state);
        self.factorize(state)?;
        self.work.keep_rank();
        let redundant = self.work.rank() < self.row_count();
        match &mut self.positions {
            Some(positions) => Ok(positions.keep_rank(time, state)? || redundant),
            None => Ok(redundant),
        }
    }

    /// Largest ξ and ξ̇, and largest ξ̈ relative to the accelerations involved, of the last solution. The part of ξ̈ that
    /// stabilisation adds on purpose is not counted, nor is the part of it that no motion can produce: where loops are open,
    /// dependent rows contradict each other by −α ξ̇ − β ξ and by their biases.
    pub fn violations(&self) -> [f64; 3] {
        let work = &self.work;
        let mut second = vec![0.0; work.rows.count()];
        work.rows.times(&work.vdot, &mut second);
        let largest = |x: &[f64]| x.iter().fold(0.0, |m, x| larger(m, x.abs()));
        let scale = 1.0 + work.inconsistency[1];
        for (second, b) in second.iter_mut().zip(&work.right_side) {
            *second = (*second - b) / scale;
        }
        let mut unmet = largest(&second);
        if self.stabilisation != Stabilisation::default() {
            unmet -= unmet.min(work.inconsistency[0] / scale);
        }
        [
            largest(&work.rows.residual),
            largest(&work.rows.rate),
            unmet,
        ]
    }

    /// Name of the constraint a row belongs to, and the row's number in it.
    pub fn row_owner(&self, row: usize) -> (&str, usize) {
        let blocks = self.work.rows.blocks();
        let index = blocks
            .iter()
            .position(|b| row < b.first + b.rows)
            .unwrap_or(0);
        (self.constraint_name(index), row - blocks[index].first)
    }

    /// Name of a constraint, user-defined ones last.
    pub fn constraint_name(&self, index: usize) -> &str {
        let own = self.model.constraints();
        if let Some(constraint) = own.get(index) {
            return &constraint.name;
        }
        match self.user.get(index - own.len()) {
            Some(user) => user.name(),
            None => {
                let held = self.held[index - own.len() - self.user.len()];
                &self.model.tree().dofs[held].name
            }
        }
    }

    /// The constraint with the largest entry of `values` (one per row), and that entry.
    fn worst<'a>(&'a self, values: &[f64]) -> (&'a str, f64) {
        let mut worst = (0, 0.0f64);
        for (k, x) in values.iter().enumerate() {
            if x.is_nan() || x.abs() > worst.1 {
                worst = (k, x.abs());
            }
        }
        if values.is_empty() {
            return ("", 0.0);
        }
        (self.row_owner(worst.0).0, worst.1)
    }

    /// Checks the constraints on positions and velocities.
    fn check_closed(&self) -> Result<()> {
        match self.violation() {
            None => Ok(()),
            Some(what) => Err(Error::new(
                ErrorKind::Input,
                format!("constraint {what} at this state"),
            )
            .hint("find a closed state with `assemble`, or let violations decay with `stabilise`")),
        }
    }

    /// The worst violation of the evaluated rows, in words, if it exceeds round-off.
    pub(crate) fn violation(&self) -> Option<String> {
        let rows = &self.work.rows;
        for (values, on_velocities, unit) in [
            (&rows.residual, false, "m or rad"),
            (&rows.rate, true, "m/s or rad/s"),
        ] {
            let (name, worst) = self.worst(values);
            if worst.is_nan() || worst > CLOSED {
                let own = self.model.constraints().iter().find(|c| *c.name == *name);
                let what = match on_velocities {
                    false => "is open",
                    true if own.is_some_and(|c| c.rows() > c.position_rows()) => "slips",
                    true => "is opening",
                };
                return Some(format!("`{name}` {what} by {worst:.3e} {unit}"));
            }
        }
        None
    }

    fn inconsistent(&self, outside: f64, scale: f64) -> Error {
        Error::new(
            ErrorKind::Singular,
            format!(
                "the constraints contradict each other at this state: {outside:.3e} of {scale:.3e} m/s² or rad/s² cannot be met with {} independent rows of {}",
                self.work.rank(),
                self.work.rows.count()
            ),
        )
        .hint("drivers or couplings may contradict the loops, or the mechanism is at a dead point")
    }
}
