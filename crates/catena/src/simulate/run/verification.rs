//! The error of a run, estimated by a second, more accurate run.

use super::Simulation;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::simulate::inputs::Inputs;
use crate::simulate::options::{Integrator, SimulationOptions};
use crate::state::State;

/// Error of a run's end, estimated by a second run at a hundredth of its tolerance (or a quarter of its step): the largest
/// difference of any coordinate or velocity, relative to the largest of its kind at any time of the run.
pub fn verified_error(
    model: &Model,
    initial: &State,
    controller: &Inputs,
    options: &SimulationOptions,
    last: &State,
) -> Result<f64> {
    let mut sharper = options.clone();
    // enough samples to determine the scale of the motion
    sharper.interval = options.interval.max(options.duration / 64.0);
    match &mut sharper.integrator {
        Integrator::Adaptive { tolerances, .. } | Integrator::Bdf { tolerances, .. } => {
            tolerances.relative = (tolerances.relative * 0.01).max(1e-14);
            tolerances.absolute *= 0.01;
        }
        Integrator::Fixed { step, .. } => *step *= 0.25,
    }
    let mut run = Simulation::new(model, initial, controller.clone(), Vec::new(), sharper)?;
    let mut samples = Vec::new();
    while !run.finished() {
        run.advance(&mut samples)?;
    }
    let end = samples
        .last()
        .ok_or_else(|| Error::new(ErrorKind::Input, "the run has no end"))?;
    let size = |of: fn(&State) -> &[f64]| {
        let numbers = samples.iter().flat_map(|sample| of(&sample.state));
        numbers.fold(1e-12f64, |size, x| size.max(x.abs()))
    };
    let mut worst: f64 = 0.0;
    let kinds: [fn(&State) -> &[f64]; 2] = [|state| &state.q, |state| &state.v];
    for of in kinds {
        let size = size(of);
        for (a, b) in of(last).iter().zip(of(&end.state)) {
            let error = (a - b).abs() / size;
            if error > worst || error.is_nan() {
                worst = error;
            }
        }
    }
    Ok(worst)
}
