//! Integration in time of ẏ = f(t, y), independent of models.
//!
//! | name | method | order | dense output | evaluations per step |
//! |---|---|---|---|---|
//! | `dopri5` | Dormand–Prince 5(4) | 5 | 4 | 6 |
//! | `tsit5` | Tsitouras 5(4) | 5 | 4 | 6 |
//! | `verner6` | Verner's robust 6(5) | 6 | 6 (3 more evaluations) | 8 |
//! | `dop853` | DOP853 | 8 | 7 (3 more) | 12 |
//! | `verner9` | Verner's robust 9(8) | 9 | 8 (4 more) | 16 |
//! | `rk4` | Runge–Kutta 4 on the manifold | 4 | 4, by a shorter step | 4 |
//! | `semi-implicit-euler` | symplectic Euler | 1 | 1, by a shorter step | 1 |
//! | `implicit-midpoint` | midpoint rule on the manifold | 2 | 2, by a shorter step | about 5 |
//!
//! The first five have variable steps ([`Adaptive`], over a [`System`]); the others a fixed step ([`Fixed`], over a
//! [`Mechanical`] system). Both own their buffers and do not allocate while they run, and both can be stopped and resumed
//! bit for bit ([`Adaptive::checkpoint`]).
//!
//! Implicit equations E(t, x, ẋ) = 0, and stiff ones, are for [`bdf`].
//!
//! ```
//! use catena::integrate::{Adaptive, Method, IntegratorOptions, System};
//!
//! struct Oscillator;
//! impl System for Oscillator {
//!     fn dimension(&self) -> usize {
//!         2
//!     }
//!     fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> catena::Result<()> {
//!         (dy[0], dy[1]) = (y[1], -y[0]);
//!         Ok(())
//!     }
//! }
//!
//! let mut integrator = Adaptive::new(Method::Verner9, 2, IntegratorOptions::with_tolerance(1e-12))?;
//! integrator.start(&mut Oscillator, 0.0, &[1.0, 0.0])?;
//! while integrator.time() < 10.0 {
//!     integrator.step(&mut Oscillator, 10.0)?;
//! }
//! assert!((integrator.y()[0] - 10f64.cos()).abs() < 1e-11);
//! # Ok::<(), catena::Error>(())
//! ```

mod adaptive;
pub mod bdf;
pub mod dop853;
pub mod dormand_prince5;
mod events;
mod fixed;
pub mod implicit_midpoint;
pub mod runge_kutta4;
pub mod semi_implicit_euler;
mod stages;
mod step_size;
pub mod tableau;
pub mod tsitouras5;
pub mod verner6;
pub mod verner9;

pub use adaptive::{Adaptive, StepOutcome};
pub use events::Event;
pub use fixed::Fixed;
pub use tableau::Tableau;

pub(crate) use adaptive::Rows;
pub(crate) use fixed::examined;
pub(crate) use step_size::{StepSize, Trial, first_size, joined, probing_size, ratio, smallest};

use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::str::FromStr;

/// A system ẏ = f(t, y), possibly on a manifold embedded in Rⁿ (unit quaternions).
pub trait System {
    /// Length of y.
    fn dimension(&self) -> usize;

    /// ẏ at (t, y). y may be slightly off the manifold: it is a stage of a step. After an error or a non-finite number
    /// the step is repeated with a smaller size.
    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()>;

    /// Projects y onto the manifold (normalises quaternions). Called for the end of every trial step and for every
    /// point of dense output.
    fn project(&mut self, _t: f64, _y: &mut [f64]) {}

    /// Number of trailing components that are integrals along the motion (work, heat), on which nothing else depends.
    /// Their errors are compared with the tolerance separately from those of the motion.
    fn integrals(&self) -> usize {
        0
    }

    /// The first time after t at which a derivative of f jumps, where that is known: rows of a table. Variable steps end
    /// there, since no method has its order across it.
    fn next_kink(&self, _t: f64) -> f64 {
        f64::INFINITY
    }

    /// Number of functions whose changes of sign are located.
    fn event_count(&self) -> usize {
        0
    }

    /// The values of those functions at (t, y).
    fn events(&mut self, _t: f64, _y: &[f64], _values: &mut [f64]) {}

    /// Time between output samples, s; their times are multiples of it. Event functions are evaluated there too, so that
    /// no change of sign that the samples show is missed.
    fn sample_interval(&self) -> f64 {
        f64::INFINITY
    }
}

/// A system of second order on a manifold, for the methods that need positions and velocities separately.
pub trait Mechanical {
    /// Length of q.
    fn position_count(&self) -> usize;

    /// Length of v.
    fn velocity_count(&self) -> usize;

    /// v̇ at (t, q, v).
    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()>;

    /// q ← q ⊕ δ along the manifold; δ is a velocity times a time.
    fn step(&mut self, q: &mut [f64], delta: &[f64]);

    /// Projects the end of a step onto constraints, such as closed loops.
    fn settle(&mut self, _t: f64, _q: &mut [f64], _v: &mut [f64]) -> Result<()> {
        Ok(())
    }

    /// Number of functions whose changes of sign are located.
    fn watched_count(&self) -> usize {
        0
    }

    /// The values of those functions at (t, q, v).
    fn watch(&mut self, _t: f64, _q: &[f64], _v: &[f64], _values: &mut [f64]) {}

    /// Time between output samples, s; their times are multiples of it. Event functions are evaluated there too, so that
    /// no change of sign that the samples show is missed.
    fn sample_interval(&self) -> f64 {
        f64::INFINITY
    }
}

/// Methods with variable steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Dormand–Prince 5(4).
    DormandPrince5,
    /// Tsitouras 5(4).
    Tsitouras5,
    /// Verner's robust 6(5).
    Verner6,
    /// DOP853.
    Dop853,
    /// Verner's robust 9(8).
    Verner9,
}

impl Method {
    /// All methods with variable steps, by increasing order.
    pub const ALL: [Method; 5] = [
        Method::DormandPrince5,
        Method::Tsitouras5,
        Method::Verner6,
        Method::Dop853,
        Method::Verner9,
    ];

    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Method::DormandPrince5 => "dopri5",
            Method::Tsitouras5 => "tsit5",
            Method::Verner6 => "verner6",
            Method::Dop853 => "dop853",
            Method::Verner9 => "verner9",
        }
    }

    /// Its order.
    pub const fn order(self) -> usize {
        self.tableau().order
    }

    /// Its coefficients.
    pub const fn tableau(self) -> &'static Tableau {
        match self {
            Method::DormandPrince5 => &dormand_prince5::TABLEAU,
            Method::Tsitouras5 => &tsitouras5::TABLEAU,
            Method::Verner6 => &verner6::TABLEAU,
            Method::Dop853 => &dop853::TABLEAU,
            Method::Verner9 => &verner9::TABLEAU,
        }
    }
}

/// Methods with a fixed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FixedMethod {
    /// The classical method of order 4, on the manifold.
    RungeKutta4,
    /// Velocity first, then position with the new velocity: order 1, symplectic for separable systems.
    SemiImplicitEuler,
    /// Midpoint rule on the manifold: order 2, symmetric; its energy error does not grow.
    ImplicitMidpoint,
}

impl FixedMethod {
    /// All methods with a fixed step.
    pub const ALL: [FixedMethod; 3] = [
        FixedMethod::RungeKutta4,
        FixedMethod::SemiImplicitEuler,
        FixedMethod::ImplicitMidpoint,
    ];

    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            FixedMethod::RungeKutta4 => "rk4",
            FixedMethod::SemiImplicitEuler => "semi-implicit-euler",
            FixedMethod::ImplicitMidpoint => "implicit-midpoint",
        }
    }

    /// Its order.
    pub const fn order(self) -> usize {
        match self {
            FixedMethod::RungeKutta4 => 4,
            FixedMethod::SemiImplicitEuler => 1,
            FixedMethod::ImplicitMidpoint => 2,
        }
    }
}

macro_rules! by_name {
    ($method:ty, $what:literal) => {
        impl fmt::Display for $method {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $method {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self> {
                Self::ALL
                    .into_iter()
                    .find(|method| method.name() == name)
                    .ok_or_else(|| {
                        Error::new(
                            ErrorKind::Input,
                            format!(concat!("no ", $what, " is called `{}`"), name),
                        )
                        .hint(format!(
                            "choose one of {}",
                            Self::ALL.map(Self::name).join(", ")
                        ))
                    })
            }
        }
    };
}

by_name!(Method, "integrator that chooses its steps");
by_name!(FixedMethod, "integrator with a fixed step");

/// Allowed error of a step: relative · |y| + absolute, per component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// Tolerance in proportion to the component.
    pub relative: f64,
    /// Tolerance in the component's unit.
    pub absolute: f64,
}

impl Default for Tolerances {
    /// 10⁻⁸ of both kinds.
    fn default() -> Self {
        Tolerances {
            relative: 1e-8,
            absolute: 1e-8,
        }
    }
}

/// Settings of an [`Adaptive`] integrator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegratorOptions {
    /// Error allowed in a step.
    pub tolerances: Tolerances,
    /// Maximum step size, s.
    pub max_step: f64,
    /// A step that would have to be smaller is an error, s; the spacing of numbers at the time reached is a limit in any case.
    pub min_step: f64,
    /// First step to try, s; chosen from the derivative if not given.
    pub initial_step: Option<f64>,
    /// Initial number of parts of a step in which changes of sign of the event functions are searched. Parts in which a function may
    /// come near zero are divided further, as far as needed.
    pub event_parts: usize,
}

impl Default for IntegratorOptions {
    fn default() -> Self {
        IntegratorOptions {
            tolerances: Tolerances::default(),
            max_step: f64::INFINITY,
            min_step: 0.0,
            initial_step: None,
            event_parts: 1,
        }
    }
}

impl IntegratorOptions {
    /// Equal relative and absolute tolerance, defaults otherwise.
    pub fn with_tolerance(tolerance: f64) -> Self {
        IntegratorOptions {
            tolerances: Tolerances {
                relative: tolerance,
                absolute: tolerance,
            },
            ..IntegratorOptions::default()
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |what: &str, value: f64| {
            Err(Error::new(
                ErrorKind::Input,
                format!("{what} of the integrator cannot be {value}"),
            ))
        };
        let Tolerances { relative, absolute } = self.tolerances;
        if !(relative.is_finite() && relative >= 0.0) {
            return refuse("the relative tolerance", relative);
        }
        if !(absolute.is_finite() && absolute >= 0.0) {
            return refuse("the absolute tolerance", absolute);
        }
        if relative == 0.0 && absolute == 0.0 {
            return refuse("both tolerances", 0.0);
        }
        if !(self.min_step.is_finite() && self.min_step >= 0.0) {
            return refuse("the smallest step", self.min_step);
        }
        if self.max_step.is_nan() || self.max_step <= self.min_step {
            return refuse("the largest step", self.max_step);
        }
        match self.initial_step {
            Some(step) if !(step.is_finite() && step > 0.0) => refuse("the first step", step),
            _ if self.event_parts == 0 => refuse("the number of parts of a step", 0.0),
            _ => Ok(()),
        }
    }
}

/// Cost of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Steps taken.
    pub steps: u64,
    /// Rejected steps.
    pub rejected: u64,
    /// Evaluations of the derivative, including those for dense output.
    pub evaluations: u64,
}

/// The error with the time at which it arose.
pub(crate) fn at_time(error: &Error, t: f64) -> Error {
    let mut timed = Error::new(error.kind(), format!("at t = {t} s: {}", error.message()))
        .at(error.place().clone());
    if let Some(advice) = error.advice() {
        timed = timed.hint(advice);
    }
    timed
}

/// Reads a checkpoint, word by word.
struct Words<'a> {
    rest: std::slice::Iter<'a, u64>,
}

impl<'a> Words<'a> {
    fn new(words: &'a [u64]) -> Self {
        Words { rest: words.iter() }
    }

    fn word(&mut self) -> Result<u64> {
        self.rest.next().copied().ok_or_else(Self::foreign)
    }

    /// A number of steps, evaluations and the like: none is so large that it could overflow.
    fn count(&mut self) -> Result<u64> {
        match self.word()? {
            count if count < 1 << 53 => Ok(count),
            _ => Err(Self::foreign()),
        }
    }

    fn number(&mut self) -> Result<f64> {
        self.word().map(f64::from_bits)
    }

    fn numbers(&mut self, into: &mut [f64]) -> Result<()> {
        for x in into {
            *x = self.number()?;
        }
        Ok(())
    }

    /// Rejects the checkpoint unless the next words are these.
    fn expect(&mut self, words: &[u64]) -> Result<()> {
        for &word in words {
            if self.word()? != word {
                return Err(Self::foreign());
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        match self.rest.next() {
            None => Ok(()),
            Some(_) => Err(Self::foreign()),
        }
    }

    fn foreign() -> Error {
        Error::new(
            ErrorKind::Input,
            "this checkpoint was made by an integrator with another method, size or setting",
        )
        .hint("continue a run with the settings it was started with")
    }
}
