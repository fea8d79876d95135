//! Simulations from their beginning to their end, and how far apart they are.

use catena::error::Result;
use catena::integrate::{Method, Tolerances};
use catena::residual::{larger, largest, relative};
use catena::simulate::{
    Audit, Happened, Inputs, Integrator, NewtonMatrix, Sample, Simulation, SimulationOptions,
};
use catena::{Model, State};

/// The absolute tolerance is a hundredth of the relative one.
fn tolerances(rtol: f64) -> Tolerances {
    Tolerances {
        relative: rtol,
        absolute: 0.01 * rtol,
    }
}

/// An explicit method with steps of any length.
pub fn adaptive(method: Method, rtol: f64) -> Integrator {
    Integrator::Adaptive {
        method,
        tolerances: tolerances(rtol),
        max_step: f64::INFINITY,
    }
}

/// [`Method::Dop853`].
pub fn explicit(rtol: f64) -> Integrator {
    adaptive(Method::Dop853, rtol)
}

/// Backward differentiation formulas up to order 5.
pub fn bdf(rtol: f64) -> Integrator {
    bdf_with(rtol, NewtonMatrix::Automatic)
}

/// Backward differentiation formulas up to order 5, with a given matrix of Newton's method.
pub fn bdf_with(rtol: f64, matrix: NewtonMatrix) -> Integrator {
    Integrator::Bdf {
        tolerances: tolerances(rtol),
        max_step: f64::INFINITY,
        max_order: 5,
        matrix,
    }
}

/// A run of this length, with a sample at every interval.
pub fn options(integrator: Integrator, duration: f64, interval: f64) -> SimulationOptions {
    SimulationOptions {
        integrator,
        duration,
        interval,
    }
}

/// A run of this length, with forty samples after the first.
pub fn forty_samples(integrator: Integrator, duration: f64) -> SimulationOptions {
    options(integrator, duration, duration / 40.0)
}

/// A finished run.
pub struct Done {
    /// The first sample is that of the start.
    pub samples: Vec<Sample>,
    /// Events.
    pub events: Vec<Happened>,
    /// Its audit.
    pub audit: Audit,
}

impl Done {
    /// The last sample.
    pub fn last(&self) -> &Sample {
        self.samples.last().expect("samples")
    }

    /// When events of this name happened.
    pub fn times_of(&self, what: &str) -> Vec<f64> {
        let events = self.events.iter().filter(|event| event.name == what);
        events.map(|event| event.time).collect()
    }

    /// When an event of this name happened first.
    #[track_caller]
    pub fn time_of(&self, what: &str) -> f64 {
        let times = self.times_of(what);
        *times
            .first()
            .unwrap_or_else(|| panic!("{what}: {:?}", self.events))
    }
}

/// Makes all steps of a simulation.
pub fn to_the_end(mut simulation: Simulation) -> Result<(Vec<Sample>, Simulation)> {
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples)?;
    }
    Ok((samples, simulation))
}

/// A run to its end, or why it cannot come there.
pub fn try_run(
    model: &Model,
    state: &State,
    inputs: Inputs,
    options: SimulationOptions,
) -> Result<Done> {
    let simulation = Simulation::new(model, state, inputs, Vec::new(), options)?;
    let (samples, simulation) = to_the_end(simulation)?;
    Ok(Done {
        events: simulation.events(),
        audit: simulation.finish(),
        samples,
    })
}

/// A run to its end.
#[track_caller]
pub fn run(model: &Model, state: &State, inputs: Inputs, options: SimulationOptions) -> Done {
    try_run(model, state, inputs, options).unwrap_or_else(|error| panic!("{error}"))
}

/// A run without inputs, with twenty samples after the first: the samples and the audit.
#[track_caller]
pub fn free_run(
    model: &Model,
    state: &State,
    integrator: Integrator,
    duration: f64,
) -> (Vec<Sample>, Audit) {
    let options = options(integrator, duration, duration / 20.0);
    let done = run(model, state, Inputs::default(), options);
    (done.samples, done.audit)
}

/// Largest difference of coordinates and velocities over a run, relative to the largest of their kind, or to 1.
pub fn apart(a: &[Sample], b: &[Sample]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut worst: f64 = 0.0;
    for (a, b) in a.iter().zip(b) {
        for (a, b) in [(&a.state.q, &b.state.q), (&a.state.v, &b.state.v)] {
            worst = larger(worst, relative(a, b, largest(b).max(1.0)));
        }
    }
    worst
}

/// The worst residual of a law in an audit.
#[track_caller]
pub fn finding(audit: &Audit, name: &str) -> f64 {
    let found = audit.findings.iter().find(|found| found.name == name);
    found.unwrap_or_else(|| panic!("{name}: {audit:?}")).worst
}
