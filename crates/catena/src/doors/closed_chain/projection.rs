//! Projection onto the constraints: the nearest closed state, and the nearest consistent velocities.
//!
//! Both corrections are the smallest in the metric of the inertia matrix (Gauss's own), so that they do not depend on units, move
//! light parts rather than heavy ones, and change the kinetic energy in second order only:
//!
//! ```text
//! q ← q ⊕ δ,   δ = −I⁻¹ Jᵀ (J I⁻¹ Jᵀ)⁺ ξ      until ξ vanishes (Newton)
//! v ← v + w,   w = −I⁻¹ Jᵀ (J I⁻¹ Jᵀ)⁺ ξ̇     once: it is linear
//! ```

use super::{ClosedChain, finite};
use crate::error::{Error, ErrorKind, Result};
use crate::state::State;

/// Residual at the level of round-off, m or rad.
const DONE: f64 = 1e-14;

/// A projection that leaves more than this has failed, m or rad, m/s or rad/s.
const FAILED: f64 = 1e-8;

/// Maximum number of Newton steps.
const MOST_STEPS: usize = 20;

impl ClosedChain {
    /// Moves a state that is nearly closed onto the constraints, positions and velocities.
    ///
    /// From far away use [`assemble`](Self::assemble), which is globalised.
    pub fn project(&mut self, time: f64, state: &mut State) -> Result<()> {
        self.tree.check(state)?;
        self.project_positions(time, state)?;
        self.project_velocities(time, state)?;
        finite("the closed state", &state.q)?;
        finite("the closed state", &state.v)
    }

    /// Projects the positions only; nonholonomic rows are not involved.
    pub(crate) fn project_positions(&mut self, time: f64, state: &mut State) -> Result<()> {
        if let Some(positions) = &mut self.positions {
            return positions.project_positions(time, state);
        }
        let mut before = f64::INFINITY;
        for _ in 0..MOST_STEPS {
            self.evaluate(time, state);
            let (_, worst) = self.worst(&self.work.rows.residual);
            // round-off is reached when a step no longer helps, or at once far from the origin
            let far = self
                .work
                .rows
                .point
                .iter()
                .fold(0.0f64, |m, p| m.max(p.dot(*p)));
            if worst < DONE.max(2.0 * f64::EPSILON * far.sqrt())
                || (worst < FAILED && worst > 0.5 * before)
            {
                break;
            }
            // factors of an earlier step are used as long as convergence is fast
            if before == f64::INFINITY || worst > 1e-3 * before {
                self.factorize(state)?;
            }
            before = worst;
            self.work.remove_residual(&self.model);
            state.step(&self.model, self.work.correction());
        }
        let (name, worst) = self.worst(&self.work.rows.residual);
        if worst < FAILED {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Integration,
            format!(
                "constraint `{name}` cannot be closed from here: {worst:.3e} m or rad are left"
            ),
        )
        .hint("start nearer to a closed state, or find one with `assemble`"))
    }

    /// Projects a change of velocities onto those the constraints allow: w ← w − I⁻¹ Jᵀ (J I⁻¹ Jᵀ)⁺ J w.
    pub(crate) fn keep_along(
        &mut self,
        time: f64,
        state: &State,
        change: &mut [f64],
    ) -> Result<()> {
        self.evaluate(time, state);
        self.factorize(state)?;
        self.work.remove_opening(&self.model, change);
        Ok(())
    }

    /// Projects the velocities only, at positions whose rows are evaluated.
    pub(crate) fn project_velocities(&mut self, time: f64, state: &mut State) -> Result<()> {
        self.evaluate(time, state);
        self.factorize(state)?;
        let scale = state.v.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        let outside = self.work.remove_rate(&self.model);
        if outside.is_nan() || outside >= FAILED * scale {
            let (name, worst) = self.worst(&self.work.rows.rate);
            return Err(Error::new(
                ErrorKind::Integration,
                format!(
                    "no velocities keep the constraints: {outside:.3e} m/s or rad/s contradict each other, the most at `{name}` ({worst:.3e})"
                ),
            )
            .hint("drivers or couplings may contradict the loops, or the mechanism is at a dead point"));
        }
        for (v, correction) in state.v.iter_mut().zip(self.work.correction()) {
            *v += correction;
        }
        Ok(())
    }
}
