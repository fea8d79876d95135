//! Which accelerations do given joint efforts produce?

pub mod articulated_bodies;
pub mod walker_orin;

pub use articulated_bodies::{ForwardDynamics, forward_dynamics};
pub use walker_orin::{WalkerOrin, forward_dynamics_walker_orin};
