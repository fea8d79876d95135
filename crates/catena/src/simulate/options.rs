//! Options of a simulation: integrator, duration, and sampling interval.

use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{FixedMethod, Method, Tolerances};
use crate::simulate::implicit::NewtonMatrix;

/// How time is stepped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Integrator {
    /// Variable steps that satisfy the tolerances.
    Adaptive {
        /// Runge–Kutta pair.
        method: Method,
        /// The tolerances.
        tolerances: Tolerances,
        /// Maximum step size, s.
        max_step: f64,
    },
    /// Implicit: backward differentiation formulas with variable step and order that satisfy the tolerances. For stiff joints.
    Bdf {
        /// The tolerances.
        tolerances: Tolerances,
        /// Maximum step size, s.
        max_step: f64,
        /// Highest order, 1 to 5.
        max_order: usize,
        /// How the linear systems are solved.
        matrix: NewtonMatrix,
    },
    /// Steps of equal size.
    Fixed {
        /// Method.
        method: FixedMethod,
        /// Size of a step, s.
        step: f64,
    },
}

impl Integrator {
    /// Allowed relative error of the laws. A run should balance its energy to about its tolerance per step; a thousand times that
    /// is a breach.
    pub(super) fn allowed(&self) -> f64 {
        match self {
            Integrator::Adaptive { tolerances, .. } | Integrator::Bdf { tolerances, .. } => {
                (1e3 * tolerances.relative).clamp(1e-11, 1e-2)
            }
            Integrator::Fixed { .. } => 1e-2,
        }
    }

    /// Positions and velocities below this need not have the relative accuracy: the tolerance is absolute there. Fixed steps of size h
    /// have no tolerance, but a velocity below ε/h moves no coordinate of order 1 by more than its round-off within a step.
    pub(super) fn resolved(&self) -> f64 {
        match self {
            Integrator::Adaptive { tolerances, .. } | Integrator::Bdf { tolerances, .. } => {
                tolerances.absolute / self.allowed()
            }
            Integrator::Fixed { step, .. } => f64::EPSILON / step / self.allowed(),
        }
    }

    /// The order of a fixed-step method.
    pub(super) fn fixed_order(&self) -> Option<usize> {
        match self {
            Integrator::Fixed { method, .. } => Some(method.order()),
            _ => None,
        }
    }
}

/// Options of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationOptions {
    /// How time is stepped.
    pub integrator: Integrator,
    /// Duration, s.
    pub duration: f64,
    /// Time between samples, s.
    pub interval: f64,
}

impl Default for SimulationOptions {
    /// Ten seconds at a relative tolerance of 1e-8, a hundred samples a second.
    fn default() -> Self {
        SimulationOptions {
            integrator: Integrator::Adaptive {
                method: Method::Dop853,
                tolerances: Tolerances {
                    relative: 1e-8,
                    absolute: 1e-10,
                },
                max_step: f64::INFINITY,
            },
            duration: 10.0,
            interval: 0.01,
        }
    }
}

/// More samples would fill disks and take days.
const MOST_SAMPLES: f64 = 1e8;

/// More steps of a fixed size would take weeks.
const MOST_STEPS: f64 = 1e12;

pub(in crate::simulate) fn check(options: &SimulationOptions) -> Result<()> {
    let positive = |what: &str, x: f64| {
        if x > 0.0 && !x.is_nan() {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::Input,
                format!("{what} must be positive, not {x}"),
            ))
        }
    };
    positive("duration of the simulation", options.duration)?;
    positive("interval between samples", options.interval)?;
    if !options.duration.is_finite() || !options.interval.is_finite() {
        return Err(Error::new(
            ErrorKind::Input,
            "duration and interval must be finite",
        ));
    }
    let samples = options.duration / options.interval;
    if samples > MOST_SAMPLES {
        let message = format!(
            "{:?} s with a sample every {:?} s are {samples:.1e} samples; at most {MOST_SAMPLES:e} are taken",
            options.duration, options.interval
        );
        return Err(Error::new(ErrorKind::Input, message).hint("take samples farther apart"));
    }
    if let Integrator::Fixed { step, .. } = options.integrator {
        positive("step", step)?;
        let steps = options.duration / step;
        if steps > MOST_STEPS {
            let message = format!(
                "{:?} s in steps of {step:?} s are {steps:.1e} steps; at most {MOST_STEPS:e} are taken",
                options.duration
            );
            return Err(Error::new(ErrorKind::Input, message).hint("take longer steps"));
        }
    }
    Ok(())
}
