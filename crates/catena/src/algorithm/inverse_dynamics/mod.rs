//! Which joint efforts produce a given motion?

pub mod recursive_newton_euler;
pub mod regressor;

pub use recursive_newton_euler::{InverseDynamics, inverse_dynamics};
pub use regressor::{inertial_parameters, regressor};
