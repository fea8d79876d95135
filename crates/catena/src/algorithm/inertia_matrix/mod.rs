//! The generalized inertia matrix I(q) and the matrix C(q, v) of convective terms.

pub mod composite_bodies;
pub mod coriolis;
pub(crate) mod entries;

/// Which entries of a symmetric matrix are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// Entries on the diagonal and above it; the others are unspecified.
    Upper,
}

pub use composite_bodies::{CompositeBodies, inertia_matrix};
pub use coriolis::{CoriolisMatrix, coriolis_matrix};
