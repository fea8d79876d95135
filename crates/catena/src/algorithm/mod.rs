//! One folder per question, one file per published algorithm.
//!
//! Each algorithm has a workspace made once by `new(&model)`; calls do not allocate afterwards, except for models with force elements. The functions are generic over
//! the scalar and do not check their input: [`crate::Dynamics`] is the checked entry point in `f64`.
//!
//! Every algorithm has a [`Card`](crate::catalogue::Card); [`catalogue::ALL`](crate::catalogue::ALL) lists them.

pub mod body_coordinates;
pub mod constrained;
pub mod coupled;
pub mod derivatives;
pub mod elements;
pub mod energy;
pub mod factorization;
pub mod forward_dynamics;
pub mod inertia_matrix;
pub mod inverse_dynamics;
pub mod kinematics;
pub mod natural_orthogonal_complement;
pub(crate) mod pack;
pub mod passive;
pub mod pendulum;
pub(crate) mod relations;
