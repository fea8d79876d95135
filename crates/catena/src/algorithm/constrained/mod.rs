//! How does a system with closed loops, couplings and drivers move?
//!
//! Gauss's principle (Mufti 1983, remark 1): of all accelerations that satisfy the constraints, J a = b, the true ones are closest
//! to those of the free system in the metric of the inertia matrix. [`rows`] evaluates ξ, J and b of every constraint; [`cut_loops`]
//! solves with the tree's own factorization, [`along_tree`] loop by loop at linear cost; the checked entry point
//! [`ClosedChain`](crate::ClosedChain) chooses between them. [`chosen_rows`] solves in any scalar, for generated code.

pub mod along_tree;
pub mod chosen_rows;
pub mod complete_orthogonal;
mod contact_rows;
pub mod cut_loops;
mod elimination_plan;
mod joint_rows;
pub mod rows;
mod user;

pub use complete_orthogonal::CompleteOrthogonal;
pub use cut_loops::{CutLoops, Route};
pub(crate) use joint_rows::MovingFrame;
pub(crate) use rows::rows_between;
pub use rows::{Axes, Block, Rows, Stabilisation};
pub use user::{UserConstraint, UserRows};

/// Residuals (m, rad, m/s, rad/s) below which a loop counts as closed.
pub const CLOSED: f64 = 1e-6;

/// A right-hand side whose inconsistent part exceeds this fraction is rejected.
pub const CONSISTENT: f64 = 1e-6;

/// An inconsistency smaller than this, in m/s² or rad/s², is round-off where all rows demand zero acceleration.
pub(crate) const NOTHING: f64 = 1e-14;
