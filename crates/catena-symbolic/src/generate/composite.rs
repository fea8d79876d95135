//! The inertia matrix by composite bodies, written for symbols: joints are crossed in elementary steps.
//!
//! Saha (1999), eqs. 23–24, as in [`catena::algorithm::inertia_matrix`]. There the moments of a composite body are transformed to its
//! parent by the whole rotation; that is best for numbers. For expressions a revolute joint is a rotation about z, and a placement that is
//! mostly one rotation about x or zeros and ones (see [`steps`](super::steps)).

use super::steps::ways;
use crate::Expr;
use catena::spatial::RigidInertia;
use catena::{Matrix, Model};

/// I(q), rotor inertias on its diagonal.
pub(super) fn inertia_matrix(model: &Model<Expr>, rotors: &[Expr], q: &[Expr]) -> Matrix<Expr> {
    let (n, nv) = (model.body_count(), model.nv());
    let tree = model.tree();
    let (ways, kinematics) = ways(model, q);
    let mut composite: Vec<RigidInertia<Expr>> = (0..=n)
        .map(|i| match i {
            0 => RigidInertia::zero(),
            _ => model.moments(i),
        })
        .collect();
    let mut inertia = Matrix::zeros(nv, nv);
    for i in (1..=n).rev() {
        let body = &tree.bodies[i];
        if body.parent != 0 {
            let mut own = composite[i];
            for step in ways[i].steps() {
                own = step.rigid(own);
            }
            composite[body.parent] = composite[body.parent] + own; // (23b)
        }
        for k in 0..body.kind.nv() {
            // the wrench M̃ᵢ pₖ, propagated to the base
            let mut wrench = composite[i].momentum(kinematics.joint_column(model, i, k));
            let mut j = i;
            loop {
                let at = &tree.bodies[j];
                for l in 0..at.kind.nv() {
                    let entry = wrench.dot(kinematics.joint_column(model, j, l)); // (24)
                    inertia[(body.v + k, at.v + l)] = entry;
                    inertia[(at.v + l, body.v + k)] = entry;
                }
                if at.parent == 0 {
                    break;
                }
                for step in ways[j].steps() {
                    wrench = step.force(wrench);
                }
                j = at.parent;
            }
        }
    }
    for k in 0..nv {
        inertia[(k, k)] += rotors[k];
    }
    inertia
}
