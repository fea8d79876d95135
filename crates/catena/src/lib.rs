//! Rigid multibody dynamics: trees of bodies on a fixed, moving or free base, at a cost linear in the number of bodies.
//!
//! ```
//! use catena::{Dynamics, State, model::embedded};
//!
//! let model = embedded::model("stanford")?;
//! let mut dynamics = Dynamics::new(&model);
//! let state = State::new(&model, &[0.1, 1.2, 0.05, 0.3, -0.4, 0.5], &[0.0; 6])?;
//! let holding = dynamics.inverse(&state, &[0.0; 6], &[])?.to_vec();
//! let accelerations = dynamics.forward(&state, &holding, &[])?;
//! assert!(accelerations.iter().all(|a| a.abs() < 1e-12));
//! # Ok::<(), catena::Error>(())
//! ```
//!
//! Modules: [`model`] (trees and how to build them), [`algorithm`] (one file per published algorithm),
//! [`scalar`] (the numbers they run in), [`spatial`] (vectors, twists, inertias), [`state`], [`laws`] (laws any model must
//! obey).

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod algorithm;
mod arch;
pub mod benchmark;
mod box_minimum;
mod building;
mod card;
pub mod catalogue;
pub mod dense;
mod doors;
pub mod elementary;
pub mod error;
pub mod integrate;
pub mod laws;
pub mod matrix;
pub mod model;
pub mod random;
pub mod residual;
pub mod scalar;
pub mod simulate;
pub mod skyline;
mod space;
pub mod spatial;
pub mod state;
pub mod text;
pub mod thresholds;
pub mod trajectory;

pub use arch::Cpu;
pub use doors::{
    Batch, ClosedChain, CompiledChain, Drive, Dynamics, Failure, Feedback, closed_chain,
    inverse_kinematics, native,
};
pub use error::{Error, ErrorKind, Place, Result, Warning};
pub use matrix::Matrix;
pub use model::{Model, ModelBuilder};
pub use scalar::{Parameter, Scalar};
pub use state::{Base, State, StateView};

/// The README's example is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
