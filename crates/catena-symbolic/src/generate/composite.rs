//! The inertia matrix by composite bodies, written for symbols: joints are crossed in elementary steps.
//!
//! Saha (1999), eqs. 23–24, as in [`catena::algorithm::inertia_matrix`]. There the moments of a composite body are transformed to its
//! parent by the whole rotation; that is best for numbers. For expressions a revolute joint is a rotation about z, and a placement that is
//! mostly one rotation about x or zeros and ones (see [`steps`](super::steps)).

use super::steps::{Step, placed};
use crate::Expr;
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::model::JointKind;
use catena::spatial::RigidInertia;
use catena::{Base, Matrix, Model, Scalar, StateView};

/// I(q), rotor inertias on its diagonal.
pub(super) fn inertia_matrix(model: &Model<Expr>, rotors: &[Expr], q: &[Expr]) -> Matrix<Expr> {
    let (n, nv) = (model.body_count(), model.nv());
    let tree = model.tree();
    let rest = vec![Expr::zero(); nv];
    let mut kinematics = Kinematics::new(model);
    forward_kinematics(
        model,
        StateView {
            q,
            v: &rest,
            base: &Base::fixed(),
        },
        &rest,
        &mut kinematics,
    );
    // where coordinates are zero, the pose of a revolute joint is its placement
    let mut home = Kinematics::new(model);
    let zero = vec![Expr::zero(); model.nq()];
    forward_kinematics(
        model,
        StateView {
            q: &zero,
            v: &rest,
            base: &Base::fixed(),
        },
        &rest,
        &mut home,
    );
    let ways: Vec<Vec<Step>> = (0..=n)
        .map(|i| match tree.bodies[i.max(1)].kind {
            _ if i == 0 => Vec::new(),
            JointKind::Revolute | JointKind::Continuous => {
                let (sin, cos) = q[tree.bodies[i].q].sin_cos();
                let mut steps = vec![Step::Turn { axis: 2, sin, cos }];
                steps.extend(placed(home.parent_from_body(i)));
                steps
            }
            _ => {
                let pose = kinematics.parent_from_body(i);
                vec![Step::Rotate(pose.rotation), Step::Shift(pose.translation)]
            }
        })
        .collect();
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
            for step in &ways[i] {
                own = step.rigid(own);
            }
            composite[body.parent] = composite[body.parent] + own; // (23b)
        }
        for k in 0..body.kind.nv() {
            // the wrench M̃ᵢ pₖ, carried to the base
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
                for step in &ways[j] {
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
