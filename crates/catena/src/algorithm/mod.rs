//! One folder per question, one file per published algorithm.
//!
//! Each algorithm has a workspace made once by `new(&model)`; calls do not allocate afterwards. The functions are generic over
//! the scalar and do not check their input: [`crate::Dynamics`] is the checked entry point in `f64`.
//!
//! Every file carries a [`Card`]; [`ALL`] lists them, `ALGORITHMS.md` and `catena algorithms` show them.

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

use crate::integrate;

/// Description of an algorithm: the record shown by `ALGORITHMS.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Usual name.
    pub name: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// The function or type to call.
    pub call: &'static str,
    /// The file it is in, below `crates/catena/src`.
    pub file: &'static str,
    /// Cost in the number of bodies n and depth d.
    pub order: &'static str,
    /// Where it was published.
    pub source: &'static str,
}

/// Every algorithm of the crate.
pub const ALL: &[Card] = &[
    kinematics::forward::CARD,
    kinematics::jacobian::CARD,
    natural_orthogonal_complement::CARD,
    crate::inverse_kinematics::CARD,
    inverse_dynamics::recursive_newton_euler::CARD,
    inertia_matrix::composite_bodies::CARD,
    inertia_matrix::coriolis::CARD,
    factorization::udu::CARD,
    factorization::clusters::CARD,
    factorization::columns::CARD,
    factorization::operational::CARD,
    factorization::end_effector::CARD,
    factorization::reverse_gauss::CARD,
    forward_dynamics::articulated_bodies::CARD,
    forward_dynamics::walker_orin::CARD,
    coupled::CARD,
    constrained::rows::CARD,
    constrained::cut_loops::CARD,
    constrained::along_tree::CARD,
    constrained::chosen_rows::CARD,
    crate::closed_chain::freedoms::CARD,
    crate::closed_chain::assembly::CARD,
    crate::closed_chain::actuators::CARD,
    crate::closed_chain::derivatives::CARD,
    inverse_dynamics::regressor::CARD,
    derivatives::inverse::CARD,
    derivatives::forward::CARD,
    energy::CARD,
    derivatives::centroidal::CARD,
    passive::CARD,
    elements::CARD,
    pendulum::CARD,
    body_coordinates::CARD,
    integrate::dormand_prince5::CARD,
    integrate::tsitouras5::CARD,
    integrate::verner6::CARD,
    integrate::dop853::CARD,
    integrate::verner9::CARD,
    integrate::runge_kutta4::CARD,
    integrate::semi_implicit_euler::CARD,
    integrate::implicit_midpoint::CARD,
    integrate::bdf::CARD,
];
