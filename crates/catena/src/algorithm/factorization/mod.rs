//! The UDUᵀ factorization of the inertia matrix, and its applications.

pub mod clusters;
pub mod columns;
pub mod end_effector;
mod factors;
pub mod operational;
pub mod reverse_gauss;
pub mod udu;

pub use clusters::ClusterFactorization;
pub use columns::SolveColumns;
pub use end_effector::EndEffector;
pub(crate) use factors::{Factors, FactorsMut, FactorsRef};
pub(crate) use operational::operational_inertia_of;
pub use operational::{OperationalInertia, operational_inertia, operational_inverse};
pub use reverse_gauss::{EliminationStep, ReverseElimination, reverse_gaussian_elimination};
pub use udu::Factorization;
