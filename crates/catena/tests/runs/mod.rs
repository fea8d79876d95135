//! Runs of models by explicit and implicit methods, and how far apart they are.

use catena::integrate::{Method, Tolerances};
use catena::residual::larger;
use catena::simulate::{
    Audit, Inputs, Integrator, NewtonMatrix, Sample, Simulation, SimulationOptions,
};
use catena::{Model, State};

/// Backward differentiation formulas, the absolute tolerance a hundredth of the relative one.
pub fn bdf(rtol: f64, matrix: NewtonMatrix) -> Integrator {
    Integrator::Bdf {
        tolerances: Tolerances {
            relative: rtol,
            absolute: 0.01 * rtol,
        },
        max_step: f64::INFINITY,
        max_order: 5,
        matrix,
    }
}

/// An explicit method at the same tolerances.
pub fn explicit(rtol: f64) -> Integrator {
    Integrator::Adaptive {
        method: Method::Dop853,
        tolerances: Tolerances {
            relative: rtol,
            absolute: 0.01 * rtol,
        },
        max_step: f64::INFINITY,
    }
}

/// Twenty-one samples of a run without inputs, and its audit.
pub fn run(
    model: &Model,
    state: &State,
    integrator: Integrator,
    duration: f64,
) -> (Vec<Sample>, Audit) {
    let options = SimulationOptions {
        integrator,
        duration,
        interval: duration / 20.0,
    };
    let mut simulation =
        Simulation::new(model, state, Inputs::default(), Vec::new(), options).unwrap();
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).unwrap();
    }
    (samples, simulation.finish())
}

/// Largest difference of coordinates and velocities over a run, relative to the largest of their kind.
pub fn difference(a: &[Sample], b: &[Sample]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut worst: f64 = 0.0;
    for (a, b) in a.iter().zip(b) {
        for (a, b) in [(&a.state.q, &b.state.q), (&a.state.v, &b.state.v)] {
            let size = b.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            for (a, b) in a.iter().zip(b) {
                worst = larger(worst, (a - b).abs() / size);
            }
        }
    }
    worst
}
