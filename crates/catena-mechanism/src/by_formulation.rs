//! Simulation by a formulation: every evaluation of a run solves the equations in maximal coordinates.

use crate::{Formulation, Mechanism};
use catena::error::Result;
use catena::simulate::{Drift, EquationsOfMotion};
use catena::spatial::Force;
use catena::{Model, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A formulation as the source of a run's accelerations.
pub struct ByFormulation {
    formulation: Formulation,
    mechanism: Mechanism,
    /// Number of times that another formulation had to take over, and of evaluations; shared with duplicates.
    counts: Arc<[AtomicUsize; 2]>,
}

impl ByFormulation {
    /// A formulation with loops kept closed, or with violations that decay. Dry friction is left to the run: it is part of its efforts.
    pub fn new(model: &Model, formulation: Formulation, drift: Drift) -> Self {
        let smooth = |_: usize, [damping, _]: [f64; 2]| [damping, 0.0];
        let mut mechanism = Mechanism::new(&model.clone().with_friction(smooth));
        if let Drift::Stabilise(stabilisation) = drift {
            mechanism.stabilise(stabilisation);
        }
        ByFormulation {
            formulation,
            mechanism,
            counts: Arc::default(),
        }
    }

    /// Counts how often another formulation had to take over, and the evaluations, during a run.
    pub fn counts(&self) -> Arc<[AtomicUsize; 2]> {
        Arc::clone(&self.counts)
    }
}

impl EquationsOfMotion for ByFormulation {
    fn solve(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        accelerations: &mut [f64],
        multipliers: &mut [f64],
    ) -> Result<()> {
        let found = (self.mechanism).accelerations(self.formulation, time, state, tau, external)?;
        accelerations.copy_from_slice(&found.accelerations);
        multipliers.copy_from_slice(&found.multipliers);
        self.counts[0].fetch_add(usize::from(found.handed_over), Ordering::Relaxed);
        self.counts[1].fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn EquationsOfMotion> {
        Box::new(ByFormulation {
            formulation: self.formulation,
            mechanism: self.mechanism.again(),
            counts: Arc::clone(&self.counts),
        })
    }
}
