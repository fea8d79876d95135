//! Forward dynamics by articulated bodies, written for symbols: through a joint in elementary steps.
//!
//! Saha (1999), section 5.2 and appendix B, as in [`catena::algorithm::forward_dynamics`]. There M̂ is taken to the parent by whole rotations,
//! which is best for numbers. For expressions every step is one angle in one plane or a shift along one axis (see [`steps`](super::steps)), and
//! what the elimination left as zeros stays zero for longer. Velocity products enter where they are shortest: ω × e q̇ between the two turns,
//! ω × (ω × a) in the axes of the parent.

use super::steps::{Step, placed};
use crate::{Expr, rates};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::model::JointKind;
use catena::spatial::{ArticulatedInertia, Force, Mat3, Motion, Sym3, Vec3};
use catena::{Base, Model, Scalar};

/// A joint: what happens inside, and the steps to the parent.
struct Way {
    inner: Vec<Step>,
    outer: Vec<Step>,
    /// The whole translation, in the axes of the parent; the last outer step is a shift.
    arm: Vec3<Expr>,
    /// Is the joint's own motion e_z q̇, about z, which the inner steps leave alone?
    turning: bool,
}

/// Ω = ω ωᵀ − ω·ω 1: six products, whatever it is multiplied with.
fn centripetal(omega: Vec3<Expr>) -> Mat3<Expr> {
    let Vec3 { x, y, z } = omega;
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (xy, xz, yz) = (x * y, x * z, y * z);
    Mat3::from_rows([
        [-(yy + zz), xy, xz],
        [xy, -(xx + zz), yz],
        [xz, yz, -(xx + yy)],
    ])
}

/// −ω × Σ ω by the products of ω, which the centripetal terms have too: four products with numbers for each component.
fn gyroscopic(s: Sym3<Expr>, omega: Vec3<Expr>) -> Vec3<Expr> {
    let Vec3 { x, y, z } = omega;
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (xy, xz, yz) = (x * y, x * z, y * z);
    Vec3::new(
        (s.yy - s.zz) * yz + s.yz * (zz - yy) + s.xy * xz - s.xz * xy,
        (s.zz - s.xx) * xz + s.xz * (xx - zz) + s.yz * xy - s.xy * yz,
        (s.xx - s.yy) * xy + s.xy * (yy - xx) + s.xz * yz - s.yz * xz,
    )
}

/// v̇ at (q, v, τ), of a model with rotor inertias `rotors`, and the inverses of the pivots; `effort` is τ less passive forces.
pub(super) fn forward_dynamics(
    model: &Model<Expr>,
    rotors: &[Expr],
    q: &[Expr],
    v: &[Expr],
    effort: &[Expr],
) -> (Vec<Expr>, Vec<Expr>) {
    let (n, nv, tree) = (model.body_count(), model.nv(), model.tree());
    let rest = vec![Expr::zero(); nv];
    let zero = vec![Expr::zero(); model.nq()];
    let (mut kinematics, mut home) = (Kinematics::new(model), Kinematics::new(model));
    forward_kinematics(model, q, &rest, &rest, &Base::fixed(), &mut kinematics);
    forward_kinematics(model, &zero, &rest, &rest, &Base::fixed(), &mut home);
    let turning = |i: usize| {
        matches!(
            tree.bodies[i].kind,
            JointKind::Revolute | JointKind::Continuous
        )
    };
    let ways: Vec<Way> = (0..=n)
        .map(|i| match i {
            0 => Way {
                inner: Vec::new(),
                outer: Vec::new(),
                arm: Vec3::zero(),
                turning: false,
            },
            _ if turning(i) => {
                let (sin, cos) = q[tree.bodies[i].q].sin_cos();
                let place = home.parent_from_body(i);
                Way {
                    inner: vec![Step::Turn { axis: 2, sin, cos }],
                    outer: placed(place),
                    arm: place.translation,
                    turning: true,
                }
            }
            _ => {
                let pose = kinematics.parent_from_body(i);
                Way {
                    inner: Vec::new(),
                    outer: vec![Step::Rotate(pose.rotation), Step::Shift(pose.translation)],
                    arm: pose.translation,
                    turning: false,
                }
            }
        })
        .collect();
    let columns = |i: usize| -> Vec<Motion<Expr>> {
        let count = tree.dof_range(i).len();
        (0..count)
            .map(|k| kinematics.joint_column(model, i, k))
            .collect()
    };

    // base to tips: velocities and what comes of their products
    let still = Motion::new(Vec3::zero(), Vec3::zero());
    let mut omega = vec![Vec3::<Expr>::zero(); n + 1];
    // ω̇ and r̈ of the body when no freedom and no parent accelerates: after the outer steps, and after the inner ones
    let (mut beta_outer, mut beta_inner) = (vec![still; n + 1], vec![still; n + 1]);
    let mut carried_linear = vec![Vec3::<Expr>::zero(); n + 1];
    let mut z = vec![Force::<Expr>::zero(); n + 1];
    for i in 1..=n {
        let way = &ways[i];
        let parent = omega[tree.parent(i)];
        carried_linear[i] = centripetal(parent) * way.arm;
        let mut carried = Motion::new(parent, Vec3::zero());
        for step in way.outer.iter().rev() {
            carried = step.motion_in(Motion::new(carried.angular, Vec3::zero()));
        }
        let range = tree.dof_range(i);
        if way.turning {
            let rate = v[range.start];
            let mid = carried.angular;
            // ω × e q̇ is the same before and after the turn about e
            beta_outer[i].angular = Vec3::new(mid.y * rate, -(mid.x * rate), Expr::zero());
            for step in way.inner.iter().rev() {
                carried = step.motion_in(carried);
            }
            omega[i] = carried.angular + Vec3::new(Expr::zero(), Expr::zero(), rate);
        } else {
            let seeds = seeds(model, q, v, i);
            let (mut own, mut rate) = (Motion::zero(), Motion::zero());
            for (column, l) in columns(i).iter().zip(range) {
                own = own + *column * v[l];
                let changing = rates(&column.to_array(), &seeds);
                let changing = Motion::new(
                    Vec3::new(changing[0], changing[1], changing[2]),
                    Vec3::new(changing[3], changing[4], changing[5]),
                );
                rate = rate + changing * v[l];
            }
            let inside = carried.angular;
            omega[i] = inside + own.angular;
            let two = Expr::constant(2.0);
            beta_inner[i] = Motion::new(
                rate.angular + omega[i].cross(own.angular),
                rate.linear + inside.cross(own.linear) * two + own.angular.cross(own.linear),
            );
        }
        let moments = model.moments(i);
        z[i] = Force::new(
            gyroscopic(moments.second, omega[i]),
            centripetal(omega[i]) * moments.first,
        );
    }

    // tips to base
    let mut inertia: Vec<ArticulatedInertia<Expr>> = (0..=n)
        .map(|i| match i {
            0 => ArticulatedInertia::zero(),
            _ => model.moments(i).articulated(),
        })
        .collect();
    let mut psi = vec![Force::<Expr>::zero(); nv];
    let (mut freed, mut inverse) = (rest.clone(), rest.clone());
    for i in (1..=n).rev() {
        let way = &ways[i];
        let range = tree.dof_range(i);
        let (mut own, mut load) = (inertia[i], z[i]);
        for (column, l) in columns(i).into_iter().zip(range.clone()).rev() {
            let rotor = rotors[l];
            let kind = tree.bodies[i].kind;
            let reduced = match kind {
                JointKind::Revolute | JointKind::Continuous => own.eliminate_rotation_z(rotor),
                JointKind::Prismatic => own.eliminate_translation_z(rotor),
                _ => eliminate(own, column, rotor),
            };
            own = reduced.rest;
            psi[l] = reduced.psi;
            inverse[l] = reduced.inverse;
            freed[l] = effort[l] - load.dot(column);
            load += psi[l] * freed[l];
            if rotors[l].value() == Some(0.0) {
                // along the joint nothing but the effort is left
                match kind {
                    JointKind::Revolute | JointKind::Continuous => load.moment.z = effort[l],
                    JointKind::Prismatic => load.force.z = effort[l],
                    _ => {}
                }
            }
        }
        let parent = tree.parent(i);
        if parent == 0 {
            continue;
        }
        load += own.times(beta_inner[i]);
        for step in &way.inner {
            own = step.inertia(own);
            load = step.force(load);
        }
        load += own.times(beta_outer[i]);
        let (last, first) = way.outer.split_last().expect("a shift comes last");
        for step in first {
            own = step.inertia(own);
            load = step.force(load);
        }
        // the centripetal part of r̈ is shortest in the axes of the parent, which these are
        load += own.times(Motion::new(Vec3::zero(), carried_linear[i]));
        own = last.inertia(own);
        load = last.force(load);
        inertia[parent] = inertia[parent] + own;
        z[parent] += load;
    }

    // base to tips
    let gravity = model.gravity();
    let mut rate = vec![Motion::new(Vec3::zero(), -gravity); n + 1];
    let mut vdot = rest;
    for i in 1..=n {
        let way = &ways[i];
        let mut own = rate[tree.parent(i)];
        own.linear += carried_linear[i];
        for step in way.outer.iter().rev() {
            own = step.motion_in(own);
        }
        own = own + beta_outer[i];
        for step in way.inner.iter().rev() {
            own = step.motion_in(own);
        }
        own = own + beta_inner[i];
        for (column, l) in columns(i).into_iter().zip(tree.dof_range(i)) {
            vdot[l] = freed[l] * inverse[l] - psi[l].dot(own);
            own = own + column * vdot[l];
        }
        rate[i] = own;
    }
    (vdot, inverse)
}

/// How the positions of a joint move with its velocities.
fn seeds(model: &Model<Expr>, q: &[Expr], v: &[Expr], body: usize) -> Vec<(Expr, Expr)> {
    let info = &model.tree().bodies[body];
    let mut seeds: Vec<(Expr, Expr)> = Vec::new();
    for k in 0..info.kind.nv() {
        for (at, from) in super::direction(info.kind, k) {
            let rate = match from {
                None => v[info.v + k],
                Some((from, half)) => q[info.q + from] * Expr::constant(half) * v[info.v + k],
            };
            let place = q[info.q + at];
            match seeds.iter_mut().find(|(known, _)| *known == place) {
                Some((_, sum)) => *sum += rate,
                None => seeds.push((place, rate)),
            }
        }
    }
    seeds
}

/// One freedom of any direction taken out.
fn eliminate(
    inertia: ArticulatedInertia<Expr>,
    column: Motion<Expr>,
    rotor: Expr,
) -> catena::spatial::Eliminated<Expr> {
    let hat = inertia.times(column);
    let inverse = (hat.dot(column) + rotor).recip();
    let psi = hat * inverse;
    catena::spatial::Eliminated {
        rest: crate::derive::subtracted(inertia, hat, psi),
        psi,
        inverse,
    }
}
