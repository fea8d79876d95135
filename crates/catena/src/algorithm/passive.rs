//! Springs, viscous and Coulomb friction in the joints.
//!
//! ```text
//! passive = stiffness (q − rest) + damping v + friction sign(v),   sign(0) = 0
//! ```
//!
//! This is the effort the actuator must add to overcome them: inverse dynamics adds it, forward dynamics subtracts it.

use crate::card::Card;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};

/// Springs and friction.
pub const CARD: Card = Card {
    name: "Springs and friction",
    question: "passive joint forces",
    call: "passive_force",
    file: "algorithm/passive.rs",
    order: "O(n)",
    source: "definition",
};

/// The passive effort of velocity coordinate k.
#[inline(always)]
pub fn passive_force<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    k: usize,
) -> S {
    let dof = &model.dofs[k];
    let body = model.tree().nodes[model.tree().dofs[k].body];
    let friction = dissipative_force(model, v, k);
    if body.kind.quaternion().is_some() {
        friction // such a joint has no spring
    } else {
        let stretch = q[body.q + (k - body.v)] - dof.rest.lift();
        dof.stiffness.lift().mul_add(stretch, friction)
    }
}

/// Damping and friction of velocity coordinate k: the passive effort without the spring.
#[inline(always)]
pub fn dissipative_force<S: Scalar, P: Parameter<S>>(model: &Model<P>, v: &[S], k: usize) -> S {
    let dof = &model.dofs[k];
    let zero = S::zero();
    let sign = S::select(
        zero.less(v[k]),
        S::one(),
        S::select(v[k].less(zero), -S::one(), zero),
    );
    dof.damping.lift().mul_add(v[k], dof.friction.lift() * sign)
}

/// Energy stored in the springs.
pub fn spring_energy<S: Scalar, P: Parameter<S>>(model: &Model<P>, q: &[S]) -> S {
    let mut energy = S::zero();
    for (k, dof) in model.dofs.iter().enumerate() {
        let body = model.tree().nodes[model.tree().dofs[k].body];
        if body.kind.quaternion().is_none() {
            let stretch = q[body.q + (k - body.v)] - dof.rest.lift();
            energy += S::constant(0.5) * dof.stiffness.lift() * stretch * stretch;
        }
    }
    energy
}
