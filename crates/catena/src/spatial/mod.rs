//! Vectors, rotations, twists, wrenches and inertias: small fixed-size blocks over any [`Scalar`](crate::Scalar).
//!
//! A six-dimensional quantity is a pair of 3-vectors, angular part first. A 6×6 inertia is three 3×3 blocks; dense
//! 6×6 products are never formed. Conventions are stated in NOTATION.md.

mod articulated;
mod elimination;
mod inertia;
mod mat3;
mod motion;
mod pose;
mod vec3;

pub use articulated::ArticulatedInertia;
pub use elimination::Eliminated;
pub use inertia::{AngularRate, RigidInertia};
pub use mat3::{Mat3, Sym3};
pub use motion::{Force, Motion};
pub use pose::Pose;
pub use vec3::Vec3;
