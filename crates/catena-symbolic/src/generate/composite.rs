//! The inertia matrix by composite bodies, written for symbols: through a turning joint in two steps.
//!
//! Saha (1999), eqs. 23–24, as in [`catena::algorithm::inertia_matrix`]. There the moments of a composite body are taken to its
//! parent by the whole rotation placement · Rz(θ); that is best for numbers. For expressions the turn about z comes first,
//!
//! ```text
//! t = cos θ (Σxx − Σyy) − 2 sin θ Σxy
//! Σxx' = Σyy + t cos θ      Σyy' = Σxx − t cos θ      Σxy' = Σxy + t sin θ            (1)
//! ```
//!
//! four products instead of twelve, and the constant placement after it is mostly zeros and ones, which cost nothing.

use crate::Expr;
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::model::JointKind;
use catena::spatial::{Force, Pose, RigidInertia, Sym3};
use catena::{Base, Matrix, Model, Scalar};

/// A joint that turns about z, after its placement: the pose in two steps.
struct Turn {
    placement: Pose<Expr>,
    sin: Expr,
    cos: Expr,
}

/// From a body to its parent.
enum Way {
    Turn(Turn),
    Pose(Pose<Expr>),
}

impl Way {
    fn inertia(&self, own: RigidInertia<Expr>) -> RigidInertia<Expr> {
        match self {
            Way::Pose(pose) => own.seen_from(*pose),
            Way::Turn(Turn {
                placement,
                sin,
                cos,
            }) => {
                let (s, h) = (own.second, own.first);
                let t = *cos * (s.xx - s.yy) - *sin * (s.xy + s.xy);
                let turned = RigidInertia {
                    mass: own.mass,
                    first: h.turned_z(*sin, *cos),
                    second: Sym3::new(
                        s.yy + t * *cos,
                        s.xx - t * *cos,
                        s.zz,
                        s.xy + t * *sin,
                        s.xz * *cos - s.yz * *sin,
                        s.xz * *sin + s.yz * *cos,
                    ), // (1)
                };
                turned.seen_from(*placement)
            }
        }
    }

    fn force(&self, f: Force<Expr>) -> Force<Expr> {
        match self {
            Way::Pose(pose) => pose.force_out(f),
            Way::Turn(Turn {
                placement,
                sin,
                cos,
            }) => placement.force_out(Force::new(
                f.moment.turned_z(*sin, *cos),
                f.force.turned_z(*sin, *cos),
            )),
        }
    }
}

/// I(q), rotor inertias on its diagonal.
pub(super) fn inertia_matrix(model: &Model<Expr>, rotors: &[f64], q: &[Expr]) -> Matrix<Expr> {
    let (n, nv) = (model.body_count(), model.nv());
    let tree = model.tree();
    let rest = vec![Expr::zero(); nv];
    let mut kinematics = Kinematics::new(model);
    forward_kinematics(model, q, &rest, &rest, &Base::fixed(), &mut kinematics);
    // where coordinates are zero, the pose of a turning joint is its placement
    let mut home = Kinematics::new(model);
    let zero = vec![Expr::zero(); model.nq()];
    forward_kinematics(model, &zero, &rest, &rest, &Base::fixed(), &mut home);
    let ways: Vec<Way> = (0..=n)
        .map(|i| match tree.bodies[i.max(1)].kind {
            _ if i == 0 => Way::Pose(Pose::identity()),
            JointKind::Revolute | JointKind::Continuous => {
                let (sin, cos) = q[tree.bodies[i].q].sin_cos();
                Way::Turn(Turn {
                    placement: home.parent_from_body(i),
                    sin,
                    cos,
                })
            }
            _ => Way::Pose(kinematics.parent_from_body(i)),
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
            composite[body.parent] = composite[body.parent] + ways[i].inertia(composite[i]); // (23b)
        }
        for k in 0..body.kind.nv() {
            // the wrench M̃ᵢ pₖ, carried down to the base
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
                wrench = ways[j].force(wrench);
                j = at.parent;
            }
        }
    }
    for k in 0..nv {
        inertia[(k, k)] += Expr::constant(rotors[k]);
    }
    inertia
}
