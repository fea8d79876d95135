//! Where are the bodies, and how do they move?

pub mod forward;
pub mod jacobian;
pub mod rerooting;

pub use forward::{Kinematics, forward_kinematics};
pub use jacobian::{body_jacobian, frame_jacobian};
pub use rerooting::Rerooted;
