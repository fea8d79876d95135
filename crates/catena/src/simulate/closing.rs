//! What a run needs to know of constraints: accelerations under them, and how states are kept on them.
//!
//! By default every accepted step is projected onto position and velocity constraints, the smallest correction in the metric of
//! the inertia matrix; Baumgarte's stabilisation is the alternative. Where rows depend on each other, an open loop would make
//! them independent and the accelerations meaningless: there the stages of a step are projected too, and the rank stays what it
//! was at the start. Near a position where rows lose rank, stages and steps are projected with twice the digits, so that the
//! run passes it on its branch.

use crate::algorithm::constrained::{ClosedChain, Stabilisation, UserConstraint};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, Rule};
use crate::spatial::Force;
use crate::state::State;
use std::sync::Arc;

/// How a run keeps its loops closed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Drift {
    /// Every accepted step is moved onto the constraints, positions and velocities.
    #[default]
    Project,
    /// ξ̈ + α ξ̇ + β ξ = 0; [`Drift::baumgarte`] chooses both.
    Stabilise(Stabilisation),
}

impl Drift {
    /// Baumgarte's equations with critical damping (Mufti's remark 4) and a time constant that needs no tuning: five steps of an
    /// integrator with steps of one size, else a five-hundredth of the run, and never more than 0.02 s. Violations are then
    /// forgotten long before the run ends, and the stabilisation is no stiffer than the steps can follow.
    pub fn baumgarte(step: Option<f64>, duration: f64) -> Self {
        let time_constant = match step {
            Some(step) => 5.0 * step,
            None => (duration / 500.0).min(0.02),
        };
        Drift::Stabilise(Stabilisation::critical(time_constant))
    }
}

/// A loop may be open by this much at the start, m or rad.
const CLOSED_AT_START: f64 = 1e-6;

#[derive(Clone, Debug)]
pub(super) struct Closing {
    chain: ClosedChain,
    drift: Drift,
    /// Do rows depend on each other? Known after the first projection.
    redundant: Option<bool>,
    failure: Option<Error>,
}

impl Closing {
    /// Nothing for a model without constraints.
    pub fn new(model: &Model, user: Vec<Arc<dyn UserConstraint>>, drift: Drift) -> Option<Self> {
        if model.constraints().is_empty() && user.is_empty() {
            return None;
        }
        let mut chain = ClosedChain::with(model, user, Default::default());
        if let Drift::Stabilise(stabilisation) = drift {
            chain.stabilise(stabilisation);
        }
        Some(Closing {
            chain,
            drift,
            redundant: None,
            failure: None,
        })
    }

    /// The first state of a run must be closed; it decides about the rank.
    fn begin(&mut self, t: f64, state: &mut State) -> Result<bool> {
        self.chain.evaluate(t, state);
        let (name, worst) = self.chain.worst_residual();
        if worst.is_nan() || worst > CLOSED_AT_START {
            return Err(Error::new(
                ErrorKind::Input,
                format!("constraint `{name}` is open by {worst:.3e} m or rad at the start"),
            )
            .hint("start from a closed state: `assemble` finds one"));
        }
        self.chain.project(t, state)?;
        self.chain.evaluate(t, state);
        self.chain.factorize(state)?;
        self.chain.keep_rank();
        Ok(self.chain.rank_found() < self.chain.row_count())
    }

    /// Moves a state onto the constraints. What fails is told by the next evaluation.
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

    /// Onto the constraints, with twice the digits where rows are near to losing rank.
    fn settle(&mut self, t: f64, state: &mut State) -> Result<()> {
        self.chain.project(t, state)?;
        if self.chain.is_weak() {
            self.chain.sharpen(t, state)?;
        }
        Ok(())
    }

    /// Accelerations at a state; a stage of a step with dependent rows, or with rows near to losing rank, is projected first.
    pub fn accelerate(
        &mut self,
        t: f64,
        state: &mut State,
        tau: &[f64],
        external: &[Force<f64>],
        vdot: &mut [f64],
    ) -> Result<()> {
        // told once: a shorter step may do
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        if self.redundant == Some(true) && self.drift == Drift::Project {
            self.chain.project_positions(t, state)?;
            self.chain.project_velocities(t, state)?;
        }
        self.chain.evaluate(t, state);
        self.chain.accelerate(state, tau, external)?;
        if self.drift == Drift::Project && self.chain.is_weak() {
            self.settle(t, state)?;
            self.chain.evaluate(t, state);
            self.chain.accelerate(state, tau, external)?;
            self.chain.refine_accelerations();
        }
        vdot.copy_from_slice(self.chain.motion().accelerations);
        Ok(())
    }

    /// Power of the constraint forces: only drivers and constraints of the user's own do work.
    pub fn power(&self, v: &[f64]) -> f64 {
        let (rows, lambda) = (self.chain.last_rows(), self.chain.motion().multipliers);
        let own = self.chain.model().constraints();
        let mut power = 0.0;
        for (index, block) in rows.blocks().iter().enumerate() {
            let works = own
                .get(index)
                .is_none_or(|c| matches!(c.rule, Rule::Driver { .. }));
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

    /// Jᵀ λ of the last evaluation.
    pub fn efforts(&self) -> Vec<f64> {
        let mut efforts = vec![0.0; self.chain.model().nv()];
        self.chain
            .last_rows()
            .add_transpose_times(self.chain.motion().multipliers, &mut efforts);
        efforts
    }

    /// What a projection said that no evaluation has told yet.
    pub fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Largest ξ and ξ̇, and largest ξ̈ relative to the accelerations involved, of the last evaluation.
    pub fn violations(&self) -> [f64; 3] {
        self.chain.violations()
    }

    /// Multipliers of the last evaluation.
    pub fn multipliers(&self) -> &[f64] {
        self.chain.motion().multipliers
    }
}
