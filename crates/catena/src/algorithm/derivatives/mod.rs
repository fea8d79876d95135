//! Derivatives of efforts and accelerations with respect to positions, velocities and efforts.
//!
//! Derivatives with respect to q are along the increments δ of [`State::step`](crate::State::step): δₖ = vₖ · time. For a
//! scalar coordinate that is the ordinary partial derivative; for a quaternion it is the derivative along a small
//! rotation about the child's axes (see NOTATION.md).

pub mod centroidal;
pub mod forward;
pub mod inverse;
pub(crate) mod pairs;
pub(crate) mod sweeps;

pub use centroidal::{CentroidalMomentum, centroidal_momentum, generalized_jacobian};
pub use forward::{ForwardDerivatives, ForwardDerivativesWork, forward_dynamics_derivatives};
pub use inverse::{InverseDerivatives, InverseDerivativesWork, inverse_dynamics_derivatives};
