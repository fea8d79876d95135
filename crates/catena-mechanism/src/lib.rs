//! Mechanisms in maximal coordinates: every formulation of Mufti (1983) behind one interface.
//!
//! The unknowns are the accelerations of all bodies, x = (ω̇; r̈) of each, and the multipliers λ of all hinges, those of the tree and
//! those that close loops:
//!
//! ```text
//! J x − H λ = u        Newton and Euler for every body                                  (10, 49, 63)
//! Hᵀ x      = b        every hinge, coupling and driver, differentiated twice
//! ```
//!
//! [`Equations`] sets them up for any kinds of joints; a [`Formulation`] is a way to solve them. They all give the same motion,
//! and the same loads: where rows are dependent the loads are the minimum-norm solution over all hinges (A-12).
//!
//! ```
//! use catena::{State, model::embedded};
//! use catena_mechanism::{Formulation, Mechanism};
//!
//! let model = embedded::model("four-bar-1")?;
//! let mut mechanism = Mechanism::new(&model);
//! let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.5, -0.5, 0.5])?;
//! let one = mechanism.accelerations(Formulation::Lagrangian, 0.0, &state, &[0.0; 3], &[])?;
//! let other = mechanism.accelerations(Formulation::CutLoops, 0.0, &state, &[0.0; 3], &[])?;
//! assert!((one.accelerations[0] - other.accelerations[0]).abs() < 1e-10);
//! # Ok::<(), catena::Error>(())
//! ```
//!
//! Signs: λ and the loads act on the child of a hinge, the parent gets the opposite; Mufti's f and g have the other sign.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod appendix;
pub mod augmented;
pub mod barycentres;
mod by_formulation;
pub mod constraint_forces;
mod dense;
pub mod doctor;
pub mod equations;
mod formulation;
pub mod lagrangian;
pub mod laws;
mod linear;
pub mod linearisation;
pub mod made_again;
pub mod null_space;
pub mod rotational;
mod saddle;
pub mod steady;

pub use barycentres::AugmentedBodies;
pub use by_formulation::ByFormulation;
pub use equations::{Equations, Row};
pub use formulation::{Formulation, Mechanism, Solution};
pub use linearisation::{Behaviour, Linearisation, Mode, Modes};
pub use steady::SteadyMotion;
