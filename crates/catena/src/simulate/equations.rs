//! Equations of motion other than the recursions of this crate, as the source of a run's accelerations.

use crate::error::Result;
use crate::spatial::Force;
use crate::state::State;
use std::fmt;

/// Equations of motion from which a run takes its accelerations: a formulation in maximal coordinates, or a user-defined one. The
/// run's audit checks them with the general recursions.
pub trait EquationsOfMotion: Send + Sync {
    /// Accelerations, and the multipliers of all rows of the model's constraints, at a state with closed loops under efforts and
    /// external wrenches (in body axes about the bodies' origins, the ground first; or none). Springs and dampers of the joints and force
    /// elements of the model act in addition; dry friction is among the efforts.
    fn solve(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        accelerations: &mut [f64],
        multipliers: &mut [f64],
    ) -> Result<()>;

    /// A copy with a workspace of its own.
    fn duplicate(&self) -> Box<dyn EquationsOfMotion>;
}

/// The equations of a system.
pub(super) struct Chosen(pub Box<dyn EquationsOfMotion>);

impl Clone for Chosen {
    fn clone(&self) -> Self {
        Chosen(self.0.duplicate())
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chosen(..)")
    }
}
