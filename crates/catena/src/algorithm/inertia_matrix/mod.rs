//! The generalized inertia matrix I(q) and the matrix C(q, v) of convective terms.

pub(crate) mod columns;
pub mod composite_bodies;
pub mod coriolis;

pub use composite_bodies::{CompositeBodies, inertia_matrix};
pub use coriolis::{CoriolisMatrix, coriolis_matrix};
