//! Which joint efforts produce a given motion?

pub mod recursive_newton_euler;

pub use recursive_newton_euler::{InverseDynamics, inverse_dynamics};
