//! Any tree, and any loops, in redundant coordinates: E(t, X, Ẋ) = 0 with a Newton step at linear cost.
//!
//! Unknowns of body i with parent a: position r and Euler parameters p of its frame in the world, velocity V of its origin (world
//! axes), angular velocity ω (own axes); of its joint: coordinates q, rates v, and the load w = (n, f) that it exerts on the body (n
//! about the body's origin in its own axes, f in world axes). Joint coordinates are included so that springs, dampers, rotors, friction
//! and controllers act directly on the coordinates they belong to; a joint of any kind is then six conditions. Of each cut joint: its
//! multipliers λ. With x = (r, p), u = (ω, V), P the joint's directions, T the rigid transport of twists from a to i:
//!
//! ```text
//! kinematics   ẋ = u,   q̇ = N(q) v                                                                     (1)
//! balance      M u̇ + gyroscopic − weight − external − w + Σ_c T_cᵀ w_c − Wᵀ λ = 0                       (2)
//! joint law    Pᵀ w + J v̇ + passive(q, v) − τ = 0                                                      (3)
//! position     ξ = (½ vee(E − Eᵀ);  r − r_a − R_a t(q)) = 0,   E = (R_a Q(q))ᵀ R                        (4)
//! velocity     ζ = u − T u_a − P v = 0                                                                 (5)
//! ```
//!
//! where (Q, t) is the pose that the joint gives the body in its parent. Three sets of these equations can be integrated:
//!
//! | [`Formulation`] | equations | index | constraints |
//! |---|---|---|---|
//! | `Index3` | (1) (2) (3) (4) | 3 | positions exactly, velocities to the tolerance |
//! | `Index2` | (1) (2) (3) (5) | 2 | velocities exactly; positions are projected after every step |
//! | `Stabilised` | (1) with multipliers μ, (2) to (5) | 2 | both exactly (Gear, Gupta & Leimkuhler 1985) |
//!
//! In the stabilised equations, ẋ = u + μ − Σ_c T_cᵀ μ_c and q̇ = N(q)(v − Pᵀ μ): the multipliers μ of (4) are zero except for integration errors.
//!
//! Newton's matrix couples each body to its parent only. `elimination.rs` eliminates the joints from the tips to the base, as the
//! articulated-body method does, here with a matrix that has all gyroscopic, geometric and stiff terms: O(n) in time and memory.
//! Loops are closed by a Schur complement on the rows of the cut joints (`cuts.rs`).

mod assembly;
mod blocks;
mod cuts;
mod elimination;
mod newton;
mod residual;

pub use newton::{BodyNewton, Line, Stiff};
pub use residual::{Acting, BodyEquations};

use crate::card::Card;
use crate::model::Model;

/// Redundant coordinates.
pub const CARD: Card = Card {
    name: "Body coordinates, elimination along the tree",
    question: "implicit equations of trees and loops",
    call: "BodyNewton",
    file: "algorithm/body_coordinates/mod.rs",
    order: "O(n) per Newton iteration, O(n m + m³) per matrix with m rows of cut joints",
    source: "after Chou 1989; Gear, Gupta & Leimkuhler 1985",
};

/// Which constraints are integrated; see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Formulation {
    /// Constraints on positions.
    Index3,
    /// Constraints on velocities.
    #[default]
    Index2,
    /// Both, with additional multipliers.
    Stabilised,
}

impl Formulation {
    /// Every formulation.
    pub const ALL: [Formulation; 3] = [
        Formulation::Index3,
        Formulation::Index2,
        Formulation::Stabilised,
    ];

    /// Name of the formulation.
    pub fn name(self) -> &'static str {
        match self {
            Formulation::Index3 => "index-3",
            Formulation::Index2 => "index-2",
            Formulation::Stabilised => "stabilised",
        }
    }

    /// The formulation with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Formulation::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// r, p, V, ω of a body: their offsets among its unknowns, and their number.
pub(crate) const POSITION: usize = 0;
pub(crate) const PARAMETERS: usize = 3;
pub(crate) const VELOCITY: usize = 7;
pub(crate) const TURNING: usize = 10;
const PER_BODY: usize = 13;

/// Layout of the unknowns: q, v, two integrals of powers; then every body; every load; every μ; λ; the μ of the cut joints.
/// Each equation has the index of the unknown it determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Which constraints.
    pub formulation: Formulation,
    /// Number of bodies.
    pub bodies: usize,
    /// Position coordinates of the joints.
    pub nq: usize,
    /// Velocity coordinates of the joints.
    pub nv: usize,
    /// Rows of the cut joints and other constraints.
    pub rows: usize,
}

impl Layout {
    /// Layout for a model.
    pub fn new(model: &Model, formulation: Formulation) -> Self {
        Layout {
            formulation,
            bodies: model.body_count(),
            nq: model.nq(),
            nv: model.nv(),
            rows: model.constraint_rows(),
        }
    }

    /// Number of unknowns.
    pub fn dimension(&self) -> usize {
        self.corrections() + if self.is_stabilised() { self.rows } else { 0 }
    }

    /// Are there multipliers μ besides λ?
    pub fn is_stabilised(&self) -> bool {
        self.formulation == Formulation::Stabilised
    }

    /// Offset of the two integrals.
    pub fn integrals(&self) -> usize {
        self.nq + self.nv
    }

    /// Offset of body i: r, p, V, ω.
    pub fn body(&self, i: usize) -> usize {
        self.integrals() + 2 + PER_BODY * (i - 1)
    }

    /// Offset of the load of the joint that carries body i: n, f.
    pub fn load(&self, i: usize) -> usize {
        self.body(self.bodies + 1) + 6 * (i - 1)
    }

    /// Offset of μ of that joint; there is none unless stabilised.
    pub fn correction(&self, i: usize) -> usize {
        self.load(self.bodies + 1) + 6 * (i - 1)
    }

    /// Offset of the multipliers of the cut joints.
    pub fn multipliers(&self) -> usize {
        if self.is_stabilised() {
            self.correction(self.bodies + 1)
        } else {
            self.load(self.bodies + 1)
        }
    }

    /// Offset of their μ; there are none unless stabilised.
    pub fn corrections(&self) -> usize {
        self.multipliers() + self.rows
    }
}
