//! Implicit integration of E(t, x, ẋ) = 0: backward differentiation formulas of order 1 to 5 with variable step and order.
//!
//! The method is that of DASSL and IDA (Brenan, Campbell & Petzold 1996, ch. 5; Hindmarsh et al. 2005): formulas with a fixed
//! leading coefficient on modified divided differences (`history`), Newton's method with a matrix kept over many steps
//! (`newton`), steps and order from estimates of the error at neighbouring orders (`integrator`).
//!
//! The linear systems of Newton's method are solved by the problem itself ([`Implicit::linearize`], [`Implicit::solve`]), which
//! knows its structure: a tree eliminates along its branches, [`DenseImplicit`] uses LU. The matrix may be approximate; the
//! iteration measures its own rate of convergence, and a poor approximation costs steps, not accuracy.
//!
//! ```
//! use catena::integrate::bdf::{Bdf, BdfOptions, DenseImplicit, Role};
//!
//! // ẋ = −1000 (x − y), 0 = y − cos t
//! let mut problem = DenseImplicit::new(2, |t, x: &[f64], rate: &[f64], out: &mut [f64]| {
//!     out[0] = rate[0] + 1000.0 * (x[0] - x[1]);
//!     out[1] = x[1] - f64::cos(t);
//!     Ok(())
//! })
//! .with_role(1, Role::Algebraic { index: 1 });
//!
//! let mut bdf = Bdf::new(2, BdfOptions::with_tolerance(1e-8))?;
//! bdf.start(&mut problem, 0.0, &[1.0, 1.0], &[0.0, 0.0])?;
//! while bdf.time() < 10.0 {
//!     bdf.step(&mut problem, 10.0)?;
//! }
//! assert!((bdf.x()[1] - 10f64.cos()).abs() < 1e-12);
//! # Ok::<(), catena::Error>(())
//! ```
//!
//! **Higher index.** Constraints on positions make multipliers of index 3, or, with the constraint's derivative as an additional
//! equation (Gear, Gupta & Leimkuhler), of index 2. Errors of such unknowns are larger than those of the others by 1/hᵏ⁻¹ without
//! harming them; a [`Role`] with the right index scales them by hᵏ⁻¹ in every norm, and
//! [`BdfOptions::exclude_algebraic`] leaves algebraic unknowns out of the error test altogether.

mod checkpoint;
mod consistent;
mod dense;
mod failure;
mod history;
mod integrator;
mod newton;

pub use consistent::Given;
pub use dense::{DenseImplicit, JacobianFn};
pub use integrator::Bdf;

use super::Tolerances;
use crate::card::Card;
use crate::error::{Error, ErrorKind, Result};

/// Backward differentiation formulas.
pub const CARD: Card = Card {
    name: "BDF 1 to 5, fixed leading coefficient",
    question: "integration in time",
    call: "Bdf",
    file: "integrate/bdf/mod.rs",
    order: "one residual and one solution per Newton iteration, 1 to 2 per step",
    source: "Brenan, Campbell & Petzold 1996, ch. 5; Hindmarsh et al. 2005",
};

/// Highest order: the formulas of order 6 and more are unstable or nearly so.
pub const MAX_ORDER: usize = 5;

/// Role of an unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Its derivative occurs in the equations.
    Differential,
    /// Only its value occurs.
    Algebraic {
        /// How often equations have to be differentiated to find its derivative: 1, 2 or 3. Errors are scaled by
        /// hⁱⁿᵈᵉˣ⁻¹, since they are larger by the inverse of that factor.
        index: u8,
    },
}

/// A problem E(t, x, ẋ) = 0 with the linear solver for Newton's method.
///
/// `linearize` must depend on its arguments only, so that a run continued from a checkpoint gives the same bits: the
/// integrator then calls it again with the arguments it last had.
pub trait Implicit {
    /// Number of unknowns, and of equations.
    fn dimension(&self) -> usize;

    /// E(t, x, ẋ). After an error or a non-finite number the step is repeated with a smaller size.
    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()>;

    /// Prepares to solve with the matrix ∂E/∂x + σ ∂E/∂ẋ at this point, exact or approximate. After an error (a singular matrix)
    /// the step is repeated with a smaller size.
    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()>;

    /// Overwrites the right-hand side with the solution for the matrix last prepared.
    fn solve(&mut self, rhs: &mut [f64]) -> Result<()>;

    /// Whether unknown i is differential or algebraic. Queried at the start only.
    fn role(&self, _i: usize) -> Role {
        Role::Differential
    }

    /// Whether unknown i takes part in the error test. Queried at the start only. Auxiliary quadratures may be left out.
    fn tested(&self, _i: usize) -> bool {
        true
    }

    /// Name of unknown i in messages.
    fn name(&self, i: usize) -> String {
        format!("unknown {i}")
    }

    /// Projects x onto a manifold (normalises quaternions). Called after every accepted step and for every point of dense
    /// output; changes must be of the order of the error of a step.
    fn project(&mut self, _t: f64, _x: &mut [f64]) {}

    /// Number of functions whose changes of sign are located.
    fn event_count(&self) -> usize {
        0
    }

    /// The values of those functions at (t, x).
    fn events(&mut self, _t: f64, _x: &[f64], _values: &mut [f64]) {}

    /// Time between output samples, s; their times are multiples of it. Event functions are evaluated there too, so that
    /// no change of sign that the samples show is missed.
    fn sample_interval(&self) -> f64 {
        f64::INFINITY
    }
}

/// Settings of a [`Bdf`] integrator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BdfOptions {
    /// Error allowed in a step.
    pub tolerances: Tolerances,
    /// Highest order used, 1 to 5. Undamped oscillations need 2 or at most 3: the higher formulas are unstable near the
    /// imaginary axis.
    pub max_order: usize,
    /// Maximum step size, s.
    pub max_step: f64,
    /// A step that would have to be smaller is an error, s; the spacing of numbers at the time reached is a limit in any case.
    pub min_step: f64,
    /// First step to try, s; chosen from the derivative if not given.
    pub initial_step: Option<f64>,
    /// Whether algebraic unknowns are left out of the error test. Needed for multipliers of index 2 and 3 unless their
    /// [`Role`] says so; with index 1 it saves steps where only the differential unknowns matter.
    pub exclude_algebraic: bool,
    /// Allowed error of Newton's method, in units of the tolerance.
    pub newton_tolerance: f64,
    /// Maximum number of iterations of Newton's method.
    pub newton_iterations: usize,
    /// Initial number of parts of a step in which changes of sign of the event functions are searched. Parts in which a function may
    /// come near zero are divided further, as far as needed.
    pub event_parts: usize,
}

impl Default for BdfOptions {
    fn default() -> Self {
        BdfOptions {
            tolerances: Tolerances::default(),
            max_order: MAX_ORDER,
            max_step: f64::INFINITY,
            min_step: 0.0,
            initial_step: None,
            exclude_algebraic: false,
            newton_tolerance: 0.33,
            newton_iterations: 4,
            event_parts: 1,
        }
    }
}

impl BdfOptions {
    /// Equal relative and absolute tolerance, defaults otherwise.
    pub fn with_tolerance(tolerance: f64) -> Self {
        BdfOptions {
            tolerances: Tolerances {
                relative: tolerance,
                absolute: tolerance,
            },
            ..BdfOptions::default()
        }
    }

    fn check(&self) -> Result<()> {
        let common = super::IntegratorOptions {
            tolerances: self.tolerances,
            max_step: self.max_step,
            min_step: self.min_step,
            initial_step: self.initial_step,
            event_parts: self.event_parts,
        };
        common.check()?;
        let refuse = |what: &str, value: f64| {
            Err(Error::new(
                ErrorKind::Input,
                format!("{what} of the integrator cannot be {value}"),
            ))
        };
        if !(1..=MAX_ORDER).contains(&self.max_order) {
            return refuse("the highest order", self.max_order as f64);
        }
        if !(self.newton_tolerance > 0.0 && self.newton_tolerance <= 1.0) {
            return refuse("the tolerance of Newton's method", self.newton_tolerance);
        }
        if self.newton_iterations < 2 {
            return refuse(
                "the number of Newton iterations",
                self.newton_iterations as f64,
            );
        }
        Ok(())
    }
}

/// Cost of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BdfStatistics {
    /// Steps taken.
    pub steps: u64,
    /// Evaluations of E.
    pub residuals: u64,
    /// Matrices prepared.
    pub linearizations: u64,
    /// Right-hand sides solved for.
    pub solves: u64,
    /// Rejected steps: the error was too large.
    pub error_failures: u64,
    /// Rejected steps: Newton's method did not converge, or E or its matrix could not be used.
    pub convergence_failures: u64,
}
