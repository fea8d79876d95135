//! One state at a time, with a three-vector in each register.
//!
//! The recursions of `algorithm` are written once for all scalars, and that is what lanes, dual numbers and symbols run. For one
//! state of plain numbers that leaves three quarters of a register empty. Here the recursions of inverse and forward dynamics, of their
//! derivatives and of the inertia matrix stand a second time, line for line, over a register that holds a whole vector: a rotation
//! is three multiply-adds instead of nine. Revolute and prismatic joints are written out; all others are set up, projected and eliminated by their one and only definition
//! (`model::joint`), between registers and numbers.
//!
//! The generic recursions are the witness: `tests/paths.rs` compares both on every model, `tests/derivatives.rs` derivatives.

mod derivatives;
mod records;

pub(crate) use derivatives::QuadDerivatives;
