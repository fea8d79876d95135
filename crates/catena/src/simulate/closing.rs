//! Constraints in a simulation: accelerations under them, and how states are kept on them.
//!
//! By default every accepted step is projected onto position and velocity constraints, the smallest correction in the metric of
//! the inertia matrix; Baumgarte's stabilisation is the alternative. Where rows are dependent, a violated loop would make them independent
//! and the accelerations meaningless: there the stages of a step are projected too, and the rank stays that of the initial state. A
//! freedom that dry friction holds is an additional row, so that neither steps nor projections move it; such rows often
//! depend on those of the loops. Near a position where rows lose rank, stages and steps are projected in double-double arithmetic, so that
//! the run stays on its branch.
//!
//! Where all constraints are couplings of coordinates, and nothing is held, accelerations are those of the independent freedoms, in
//! O(n): v̇ = G v̇ of the reduced dynamics. Couplings are linear, so steps keep them to round-off, and projecting is q = G q + c.
//! Multipliers are then found for samples only.

use crate::ClosedChain;
use crate::Dynamics;
use crate::algorithm::constrained::{Stabilisation, UserConstraint};
use crate::closed_chain::friction::DEPENDENT;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Couplings, Model, Rule};
use crate::spatial::Force;
use crate::state::State;
use std::sync::Arc;

/// How a run keeps its loops closed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Drift {
    /// Every accepted step is projected onto the constraints, positions and velocities.
    #[default]
    Project,
    /// ξ̈ + α ξ̇ + β ξ = 0; [`Drift::baumgarte`] chooses both.
    Stabilise(Stabilisation),
}

impl Drift {
    /// Baumgarte's equations with critical damping (Mufti's remark 4) and a time constant of five fixed steps, which they can
    /// follow, or of 0.05 s with adaptive steps: violations vanish faster than a machine of a metre's size moves, and steps stay as long
    /// as with projection, whereas a shorter time constant makes the equations stiff. It does not depend on the length of the run.
    pub fn baumgarte(step: Option<f64>) -> Self {
        let time_constant = match step {
            Some(step) => 5.0 * step,
            None => 0.05,
        };
        Drift::Stabilise(Stabilisation::critical(time_constant))
    }

    /// Allowed violations of the constraints, of their rates and of their second rates, for a run with this allowed error.
    /// Projected steps are closed to round-off, whatever the error. With Baumgarte's equations violations scale with the
    /// error, and the rate of a violation that decays at α or √β is that many times its size.
    pub(super) fn allowed(self, error: f64) -> [f64; 3] {
        match self {
            Drift::Project => [1e-9; 3],
            Drift::Stabilise(Stabilisation { alpha, beta }) => {
                let rate = alpha.abs().max(beta.abs().sqrt()).max(10.0);
                [10.0 * error, 10.0 * rate * error, 1e-9]
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Closing {
    /// The constraints without held freedoms.
    chain: ClosedChain,
    /// The constraints with the freedoms that dry friction holds, while it holds some.
    holding: Option<Box<ClosedChain>>,
    drift: Drift,
    /// Whether rows are dependent, including those of held freedoms. Known after the first projection.
    redundant: Option<bool>,
    failure: Option<Error>,
    /// Where all constraints are couplings.
    independent: Option<Box<Independent>>,
    /// Whether all stages of a step are projected, even if rows are independent.
    every_stage: bool,
}

/// The dynamics in independent coordinates.
#[derive(Clone, Debug)]
struct Independent {
    dynamics: Dynamics,
    couplings: Couplings,
    state: State,
    tau: Vec<f64>,
}

impl Independent {
    /// None unless all constraints of the model are couplings that can be eliminated.
    fn new(model: &Model) -> Option<Box<Self>> {
        let mut reduced = model.clone();
        reduced.eliminate_couplings().ok()?;
        let couplings = reduced.couplings()?.clone();
        Some(Box::new(Independent {
            state: State::neutral(&reduced),
            tau: vec![0.0; reduced.nv()],
            dynamics: Dynamics::new(&reduced),
            couplings,
        }))
    }

    fn load(&mut self, state: &State) {
        let couplings = &self.couplings;
        couplings.independent_positions(&state.q, &mut self.state.q);
        couplings.independent_rates(&state.v, &mut self.state.v);
        self.state.base = state.base;
    }

    /// Computes the accelerations of the tree.
    fn accelerate(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        vdot: &mut [f64],
    ) -> Result<()> {
        self.load(state);
        self.couplings.contract(tau, &mut self.tau);
        let found = self.dynamics.forward(&self.state, &self.tau, external)?;
        self.couplings.expand_rates(found, vdot);
        Ok(())
    }

    /// Sets the dependent coordinates.
    fn project(&mut self, state: &mut State) {
        self.load(state);
        self.couplings.expand_positions(&self.state.q, &mut state.q);
        self.couplings.expand_rates(&self.state.v, &mut state.v);
    }
}

impl Closing {
    /// None for a model without constraints. With `holds`, dry friction or stops may hold freedoms.
    pub fn new(
        model: &Model,
        user: Vec<Arc<dyn UserConstraint>>,
        drift: Drift,
        holds: bool,
    ) -> Option<Self> {
        if model.constraints().is_empty() && user.is_empty() {
            return None;
        }
        let independent = match user.is_empty() && !holds && drift == Drift::Project {
            true => Independent::new(model),
            false => None,
        };
        let mut chain = ClosedChain::with(model, user, Default::default());
        if let Drift::Stabilise(stabilisation) = drift {
            chain.stabilise(stabilisation);
        }
        Some(Closing {
            chain,
            holding: None,
            drift,
            redundant: None,
            failure: None,
            independent,
            every_stage: false,
        })
    }

    /// Projects every state at which accelerations are requested, for equations that need closed loops and all rows.
    pub fn project_stages(&mut self) {
        self.every_stage = true;
        self.independent = None;
    }

    /// Are there constraints besides the model's?
    pub fn has_user_constraints(&self) -> bool {
        !self.chain.user_constraints().is_empty()
    }

    /// Sets accelerations and multipliers found by other equations at the state of the last
    /// [`accelerate`](Self::accelerate).
    pub fn adopt(&mut self, accelerations: &[f64], multipliers: &[f64]) {
        match &mut self.holding {
            None => self.chain.adopt(accelerations, multipliers),
            Some(holding) => {
                // the accelerations were found under efforts that include those holding freedoms
                let mut all = holding.motion().multipliers.to_vec();
                all[..multipliers.len()].copy_from_slice(multipliers);
                holding.adopt(accelerations, &all);
            }
        }
    }

    /// The rows in force.
    fn rows_now(&mut self) -> &mut ClosedChain {
        self.holding.as_deref_mut().unwrap_or(&mut self.chain)
    }

    fn last(&self) -> &ClosedChain {
        self.holding.as_deref().unwrap_or(&self.chain)
    }

    /// The initial state of a run must satisfy the constraints on positions and velocities; it determines the rank.
    fn begin(&mut self, t: f64, state: &mut State) -> Result<bool> {
        let chain = self.rows_now();
        chain.evaluate(t, state);
        if let Some(what) = chain.violation() {
            return Err(Error::new(
                ErrorKind::Input,
                format!("constraint {what} at the start"),
            )
            .hint(
                "start from a closed state with velocities that keep it closed: `assemble` finds one",
            ));
        }
        chain.project(t, state)?;
        chain.keep_rank(t, state)
    }

    /// Holds these freedoms, whose velocities are zero, from now on; releases the others.
    pub fn hold(&mut self, t: f64, state: &State, held: &[usize]) -> Result<()> {
        self.holding = match held.is_empty() {
            true => None,
            false => Some(Box::new(self.chain.holding(held))),
        };
        self.redundant = Some(self.rows_now().keep_rank(t, state)?);
        Ok(())
    }

    /// The rank determined at earlier states, as words of a checkpoint: it cannot be recovered from the present one.
    pub fn checkpoint(&self) -> Vec<u64> {
        let redundant = match self.redundant {
            Some(redundant) => u64::from(redundant),
            None => 2,
        };
        let holding = self.holding.iter().flat_map(|chain| chain.rank_words());
        let ranks = self.chain.rank_words().into_iter().chain(holding);
        std::iter::once(redundant).chain(ranks).collect()
    }

    /// Restores the output of [`checkpoint`](Self::checkpoint), with the same freedoms held.
    pub fn restore(&mut self, words: &[u64]) -> Option<()> {
        let (&redundant, words) = words.split_first()?;
        self.redundant = match redundant {
            0 => Some(false),
            1 => Some(true),
            2 => None,
            _ => return None,
        };
        let mut rest = self.chain.restore_rank(words)?;
        if let Some(holding) = &mut self.holding {
            rest = holding.restore_rank(rest)?;
        }
        rest.is_empty().then_some(())
    }

    /// Makes velocities consistent with the constraints and the held freedoms.
    pub fn settle_velocities(&mut self, t: f64, state: &mut State) -> Result<()> {
        self.rows_now().project_velocities(t, state)
    }

    /// Whether violations decay by Baumgarte's equations.
    pub fn lets_decay(&self) -> bool {
        self.drift != Drift::Project
    }

    /// Projects a change of velocities onto those the constraints allow.
    pub fn keep_along(&mut self, t: f64, state: &State, change: &mut [f64]) -> Result<()> {
        self.rows_now().keep_along(t, state, change)
    }

    /// Holding efforts of the last evaluation: one solution where they are not unique.
    pub fn holding_efforts(&self) -> &[f64] {
        let all = self.last().motion().multipliers;
        &all[self.chain.row_count()..]
    }

    /// Prepares [`respond`](Self::respond) at a state.
    pub fn prepare(&mut self, t: f64, state: &State) -> Result<()> {
        self.chain.evaluate(t, state);
        self.chain.factorize(state)
    }

    /// Accelerations due to these efforts alone under the constraints, with nothing held, and the multipliers.
    pub fn respond(&mut self, efforts: &[f64]) -> (&[f64], &[f64]) {
        self.chain.respond(efforts)
    }

    /// Mobility of each freedom in the open tree: see [`ClosedChain::open_mobility`].
    pub fn open_mobility(&mut self, state: &State, freedoms: &[usize]) -> Result<Vec<f64>> {
        self.chain.open_mobility(state, freedoms)
    }

    /// Which freedoms cannot move at all under the constraints and with the held freedoms?
    pub fn fixed_freedoms(&mut self, t: f64, state: &State) -> Result<Vec<bool>> {
        let nv = state.v.len();
        let all: Vec<usize> = (0..nv).collect();
        let open = self.open_mobility(state, &all)?;
        let chain = self.rows_now();
        chain.evaluate(t, state);
        chain.factorize(state)?;
        let mut unit = vec![0.0; nv];
        let mut fixed = Vec::with_capacity(nv);
        for k in 0..nv {
            unit.fill(0.0);
            unit[k] = 1.0;
            fixed.push(chain.respond(&unit).0[k] <= DEPENDENT * open[k]);
        }
        Ok(fixed)
    }

    /// Projects a state onto the constraints. A failure is reported by the next evaluation.
    pub fn project(&mut self, t: f64, state: &mut State) {
        self.failure = match self.redundant {
            None => match self.begin(t, state) {
                Ok(redundant) => {
                    self.redundant = Some(redundant);
                    None
                }
                Err(error) => Some(error),
            },
            Some(_) if self.drift == Drift::Project => self.settle(t, state).err(),
            Some(_) => None,
        };
    }

    /// Projects onto the constraints, in double-double arithmetic where rows are close to losing rank.
    fn settle(&mut self, t: f64, state: &mut State) -> Result<()> {
        if let (Some(independent), None) = (&mut self.independent, &self.holding) {
            independent.project(state);
            return Ok(());
        }
        let chain = self.rows_now();
        chain.project(t, state)?;
        if chain.is_weak() {
            chain.sharpen(t, state)?;
        }
        Ok(())
    }

    /// Computes accelerations at a state; a stage of a step with dependent rows, or with rows close to losing rank, is projected first.
    pub fn accelerate(
        &mut self,
        t: f64,
        state: &mut State,
        tau: &[f64],
        external: &[Force<f64>],
        vdot: &mut [f64],
    ) -> Result<()> {
        // reported once: a shorter step may succeed
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        if let (Some(independent), None) = (&mut self.independent, &self.holding) {
            return independent.accelerate(state, tau, external, vdot);
        }
        let (drift, all) = (self.drift, self.every_stage);
        let projected = all || self.redundant == Some(true);
        let chain = self.rows_now();
        if projected && drift == Drift::Project {
            chain.project_positions(t, state)?;
            chain.project_velocities(t, state)?;
        }
        chain.evaluate(t, state);
        chain.accelerate(state, tau, external)?;
        if drift == Drift::Project && chain.is_weak() {
            self.settle(t, state)?;
            let chain = self.rows_now();
            chain.evaluate(t, state);
            chain.accelerate(state, tau, external)?;
            chain.refine_accelerations();
        }
        vdot.copy_from_slice(self.last().motion().accelerations);
        Ok(())
    }

    /// Computes the multipliers at a state where [`accelerate`](Self::accelerate) needed none.
    pub fn complete(
        &mut self,
        t: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        if self.independent.is_none() || self.holding.is_some() {
            return Ok(());
        }
        self.chain.evaluate(t, state);
        self.chain.accelerate(state, tau, external)
    }

    /// Computes accelerations with nothing held, at a closed state.
    pub fn accelerate_free(
        &mut self,
        t: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        vdot: &mut [f64],
    ) -> Result<()> {
        self.chain.evaluate(t, state);
        self.chain.accelerate(state, tau, external)?;
        vdot.copy_from_slice(self.chain.motion().accelerations);
        Ok(())
    }

    /// Power of the constraint forces: only drivers, rows with a prescribed rate and user-defined constraints do work.
    pub fn power(&self, v: &[f64]) -> f64 {
        let chain = self.last();
        let (rows, lambda) = (chain.last_rows(), chain.motion().multipliers);
        let own = self.chain.model().constraints();
        let mut power = 0.0;
        for (index, block) in rows.blocks().iter().enumerate() {
            let works = own
                .get(index)
                .is_none_or(|c| matches!(c.rule, Rule::Driver { .. } | Rule::Velocity { .. }));
            if !works {
                continue;
            }
            for k in 0..block.rows {
                let rate: f64 = block
                    .columns
                    .iter()
                    .zip(rows.row(block, k))
                    .map(|(&column, entry)| entry * v[column])
                    .sum();
                power += lambda[block.first + k] * rate;
            }
        }
        power
    }

    /// Jᵀ λ of the last evaluation: efforts of constraints and holding efforts.
    pub fn efforts(&self) -> Vec<f64> {
        let chain = self.last();
        let mut efforts = vec![0.0; chain.model().nv()];
        chain
            .last_rows()
            .add_transpose_times(chain.motion().multipliers, &mut efforts);
        efforts
    }

    /// Returns the error of a projection that has not been reported yet.
    pub fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Largest ξ and ξ̇, and largest ξ̈ relative to the accelerations involved, of the last evaluation.
    pub fn violations(&self) -> [f64; 3] {
        self.last().violations()
    }

    /// Multipliers of the constraints of the last evaluation.
    pub fn multipliers(&self) -> &[f64] {
        let all = self.last().motion().multipliers;
        &all[..self.chain.row_count()]
    }
}
