//! The generalized inertia matrix I(q) and the matrix C(q, v) of convective terms.

pub mod composite_bodies;
pub mod coriolis;
pub(crate) mod entries;

pub use composite_bodies::{CompositeBodies, inertia_matrix};
pub use coriolis::{CoriolisMatrix, coriolis_matrix};
