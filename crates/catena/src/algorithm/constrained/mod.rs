//! How does a system with closed loops, couplings and drivers move?
//!
//! Gauss's principle (Mufti 1983, remark 1): of all accelerations that satisfy the constraints, J a = b, the true ones are closest
//! to those of the free system in the metric of the inertia matrix. [`rows`] makes ξ, J and b of every constraint;
//! [`cut_loops`] solves on the tree's own factorization, [`along_tree`] does so loop by loop at linear cost; [`ClosedChain`]
//! is the checked entry point in `f64` and chooses between them. [`chosen_rows`] solves in any scalar, for generated code.

mod accuracy;
pub mod actuators;
pub mod along_tree;
pub mod assembly;
pub mod chosen_rows;
pub mod closed_chain;
pub mod complete_orthogonal;
mod contact_rows;
pub mod cut_loops;
pub mod derivatives;
mod elimination_plan;
pub mod freedoms;
pub(crate) mod friction;
mod joint_rows;
pub mod loads;
mod projection;
pub mod regularity;
pub mod rows;
mod sharp;
mod user;

pub use accuracy::Accuracy;
pub use actuators::ClosedEfforts;
pub use assembly::Assembled;
pub use closed_chain::{CLOSED, ClosedChain, ClosedMotion};
pub use complete_orthogonal::CompleteOrthogonal;
pub use cut_loops::{CutLoops, Route};
pub use derivatives::ClosedDerivatives;
pub use freedoms::Freedoms;
pub use friction::SharedFriction;
pub(crate) use joint_rows::MovingFrame;
pub use loads::{Loads, Sharing};
pub use regularity::Regularity;
pub(crate) use rows::rows_between;
pub use rows::{Axes, Block, Rows, Stabilisation};
pub use user::{UserConstraint, UserRows};
