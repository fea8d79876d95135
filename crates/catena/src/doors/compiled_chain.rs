//! Forward dynamics of closed chains by code made for the model, with the general algorithm as its fallback.

use super::all_finite;
use super::native::{Compiled, Single};
use crate::closed_chain::{ClosedChain, ClosedMotion};
use crate::error::Result;
use crate::model::Model;
use crate::spatial::Force;
use crate::state::State;

/// [`ClosedChain::forward`] by code made for the model.
///
/// The code eliminates rows that were chosen when it was generated, and computes numbers whose signs show whether the result satisfies
/// all rows at this state. Where it does not (open loops, a dead point, a change of rank), and under external wrenches or on a moving
/// base, [`ClosedChain`] takes over. Rows that the code leaves out because they follow from others have no multiplier; the
/// accelerations are the same.
///
/// ```
/// use catena::{CompiledChain, State, model::embedded};
/// # #[cfg(target_arch = "x86_64")] {
/// use catena_symbolic::native::{self, NativeOptions};
///
/// let model = embedded::model("four-bar-1")?;
/// let compiled = native::compile(&model, &NativeOptions::default())?;
/// let mut chain = CompiledChain::new(&compiled);
/// let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.5, -0.5, 0.5])?;
/// let motion = chain.forward(0.0, &state, &[0.0; 3], &[])?;
/// assert!((motion.accelerations[0] - motion.accelerations[2]).abs() < 1e-12);
/// # }
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompiledChain {
    general: ClosedChain,
    code: Option<Box<Single>>,
}

impl CompiledChain {
    /// Workspaces for the model of this code. Without code for its accelerations the general algorithm is always used.
    pub fn new(compiled: &Compiled) -> Self {
        CompiledChain {
            general: ClosedChain::new(compiled.model()),
            code: compiled.single().closed,
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.general.model()
    }

    /// The general algorithm, for everything else; it keeps nothing of states computed by code.
    pub fn general(&mut self) -> &mut ClosedChain {
        &mut self.general
    }

    /// As [`ClosedChain::forward`]; with code `rank` is the number of rows that it eliminates.
    pub fn forward(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<ClosedMotion<'_>> {
        if !self.answered(state, tau, external)? {
            return self.general.forward(time, state, tau, external);
        }
        let Some(code) = &self.code else {
            unreachable!("it was the code that answered")
        };
        let model = self.general.model();
        let (nv, rows) = (model.nv(), model.constraint_rows());
        let (results, signs) = code.results();
        let (accelerations, multipliers) = results.split_at(nv);
        Ok(ClosedMotion {
            accelerations,
            multipliers,
            // a sign for each freedom, three for each row, and one for each row that was chosen
            rank: signs.len() - nv - 3 * rows,
        })
    }

    /// Runs the code. Returns whether its result is that of the closed chain.
    fn answered(&mut self, state: &State, tau: &[f64], external: &[Force<f64>]) -> Result<bool> {
        let Some(code) = &mut self.code else {
            return Ok(false);
        };
        if !external.is_empty() || !state.base.is_fixed() {
            return Ok(false);
        }
        self.general.tree().check_forward(state, tau, external)?;
        code.run(&state.q, &state.v, tau);
        let (results, signs) = code.results();
        Ok(all_finite(results) && signs.iter().all(|&sign| sign > 0.0))
    }
}
