//! Forward dynamics by articulated bodies, written for symbols: joints are crossed in elementary steps.
//!
//! Saha (1999), section 5.2 and appendix B, as in [`catena::algorithm::forward_dynamics`]. There M̂ is transformed to the parent by whole
//! rotations, which is best for numbers. For expressions every step is a rotation in one plane or a shift along one axis (see
//! [`steps`](super::steps)), and zeros of the elimination are kept longer. Velocities enter only through the [`Reference`]: the recursion is that of
//! δ = v̇ − v̇° at rest.
//!
//! For a body moved by few freedoms the 21 numbers of the articulated inertia are too many. The first two freedoms of every path are solved
//! together: of the bodies beyond them only the part of M̂ that they move is computed, with T the twists of a body due to the freedoms before it,
//!
//! ```text
//! H += Tᵀ M̂' T,     M̂' = M̂ − M̂ p D⁻¹ pᵀ M̂,     H δ = φ − Σ Tᵀ f                          (1)
//! ```

use super::equations::{eliminated, solve};
use super::reference::Reference;
use super::steps::{Way, ways};
use crate::Expr;
use catena::model::JointKind;
use catena::spatial::{ArticulatedInertia, Force, Motion, Vec3};
use catena::{Matrix, Model, Scalar};

/// Freedoms along a path that are solved together: with three, six numbers of M̂ would be projected, which costs more than transforming M̂.
const LEADING: usize = 2;

/// A freedom and the twist of a body due to it.
type Twist = (usize, Motion<Expr>);

/// v̇ at (q, v, τ), of a model with rotor inertias `rotors`, and the inverses of the pivots; `effort` is τ minus passive forces.
pub(super) fn forward_dynamics(
    model: &Model<Expr>,
    rotors: &[Expr],
    q: &[Expr],
    v: &[Expr],
    effort: &[Expr],
) -> (Vec<Expr>, Vec<Expr>) {
    let (n, nv, tree) = (model.body_count(), model.nv(), model.tree());
    let (ways, kinematics) = ways(model, q);
    let reference = Reference::new(model, &kinematics, &ways, q, v);
    let columns = |i: usize| -> Vec<Motion<Expr>> {
        let count = tree.dof_range(i).len();
        (0..count)
            .map(|k| kinematics.joint_column(model, i, k))
            .collect()
    };
    // efforts that accelerate the rotors
    let effort: Vec<Expr> = (0..nv)
        .map(|l| effort[l] - rotors[l] * reference.vdot[l])
        .collect();

    // base to tips
    let (twists, leads) = leading_twists(model, &ways, &columns);

    // tips to base
    let mut inertia: Vec<ArticulatedInertia<Expr>> = (0..=n)
        .map(|i| match i {
            0 => ArticulatedInertia::zero(),
            _ => model.moments(i).articulated(),
        })
        .collect();
    let mut load = reference.load;
    let mut psi = vec![Force::<Expr>::zero(); nv];
    let (mut freed, mut inverse) = (effort.clone(), vec![Expr::zero(); nv]);
    let mut h = Matrix::<Expr>::zeros(nv, nv);
    // D⁻¹ pᵀ M̂ T of revolute joints beyond leading freedoms
    let mut factors: Vec<Option<Vec<Expr>>> = vec![None; n + 1];
    for i in (1..=n).rev() {
        let (way, parent) = (&ways[i], tree.parent(i));
        let (mut own, mut wrench) = (inertia[i], load[i]);
        let range = tree.dof_range(i);
        if let (true, Some(twists)) = (leads[i], &twists[i]) {
            project(own, wrench, twists, twists, &mut h, &mut freed);
            continue;
        }
        if let (true, true, Some(twists)) = (way.turning, parent != 0, &twists[i]) {
            // (1) without M̂'
            let l = range.start;
            let (a, b) = (own.rotational, own.coupling);
            let row = Force::new(Vec3::new(a.xz, a.yz, a.zz), Vec3::new(b.x.z, b.y.z, b.z.z));
            inverse[l] = (a.zz + rotors[l]).recip();
            freed[l] -= wrench.moment.z;
            let mut seen = twists.clone();
            if rotors[l].value() == Some(0.0) {
                // along the joint only the effort is left
                wrench.moment.z = effort[l];
                for (_, twist) in &mut seen {
                    twist.angular.z = Expr::zero();
                }
            }
            let mut factor: Vec<Expr> = Vec::new();
            for (at, (k, twist)) in seen.iter().enumerate() {
                let reached = row.dot(*twist);
                factor.push(reached * inverse[l]);
                for (before, (j, _)) in factor.iter().zip(&seen[..=at]) {
                    h[(*j, *k)] -= *before * reached;
                }
                let carried = factor[at] * freed[l];
                freed[*k] -= carried;
            }
            project(own, wrench, twists, &seen, &mut h, &mut freed);
            factors[i] = Some(factor);
            continue;
        }
        for (column, l) in columns(i).into_iter().zip(range).rev() {
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
            freed[l] -= wrench.dot(column);
            wrench += psi[l] * freed[l];
            if rotors[l].value() == Some(0.0) {
                // along the joint only the effort is left
                match kind {
                    JointKind::Revolute | JointKind::Continuous => wrench.moment.z = effort[l],
                    JointKind::Prismatic => wrench.force.z = effort[l],
                    _ => {}
                }
            }
        }
        if parent == 0 {
            continue;
        }
        if let Some(twists) = &twists[i] {
            project(own, wrench, twists, twists, &mut h, &mut freed);
            continue;
        }
        for step in way.inner.iter().chain(&way.outer) {
            own = step.inertia(own);
            wrench = step.force(wrench);
        }
        inertia[parent] = inertia[parent] + own;
        load[parent] += wrench;
    }

    // the leading freedoms
    let first: Vec<usize> = (1..=n)
        .filter(|i| leads[*i])
        .flat_map(|i| tree.dof_range(i))
        .collect();
    for &k in &first {
        h[(k, k)] += rotors[k];
    }
    let mut delta = vec![Expr::zero(); nv];
    solve_some(&h, &first, &freed, &mut delta, &mut inverse);

    // base to tips
    let mut rate = vec![Motion::<Expr>::zero(); n + 1];
    let mut vdot = vec![Expr::zero(); nv];
    for i in 1..=n {
        let range = tree.dof_range(i);
        if leads[i] {
            for l in range {
                vdot[l] = delta[l] + reference.vdot[l];
            }
            continue;
        }
        let mut own = match &twists[i] {
            Some(twists) => {
                let mut sum = Motion::zero();
                for (l, twist) in twists {
                    sum = sum + *twist * delta[*l];
                }
                sum
            }
            None => ways[i].motion_in(rate[tree.parent(i)]),
        };
        for (column, l) in columns(i).into_iter().zip(range) {
            // without a rotor the acceleration about an axis does not depend on its reference value
            let free = ways[i].turning && rotors[l].value() == Some(0.0);
            let before = own.angular.z;
            if free {
                own.angular.z = Expr::zero();
            }
            let mut change = freed[l] * inverse[l];
            match (&factors[i], &twists[i]) {
                (Some(factor), Some(twists)) => {
                    for (factor, (k, _)) in factor.iter().zip(twists) {
                        change -= *factor * delta[*k];
                    }
                }
                _ => change -= psi[l].dot(own),
            }
            own = own + column * change;
            if free {
                change -= before;
            }
            vdot[l] = change + reference.vdot[l];
        }
        rate[i] = own;
    }
    (vdot, inverse)
}

/// The twists of each body due to the leading freedoms before it, and its own if it leads; none beyond bodies that do not lead.
fn leading_twists(
    model: &Model<Expr>,
    ways: &[Way],
    columns: &dyn Fn(usize) -> Vec<Motion<Expr>>,
) -> (Vec<Option<Vec<Twist>>>, Vec<bool>) {
    let (n, tree) = (model.body_count(), model.tree());
    let mut twists: Vec<Option<Vec<Twist>>> = vec![None; n + 1];
    let mut leads = vec![false; n + 1];
    (twists[0], leads[0]) = (Some(Vec::new()), true);
    for i in 1..=n {
        let parent = tree.parent(i);
        let Some(carried) = twists[parent].as_ref().filter(|_| leads[parent]) else {
            continue;
        };
        let into = |(l, twist): &Twist| (*l, ways[i].motion_in(*twist));
        let mut own: Vec<Twist> = carried.iter().map(into).collect();
        if own.len() + tree.dof_range(i).len() <= LEADING {
            leads[i] = true;
            own.extend(tree.dof_range(i).zip(columns(i)));
        }
        twists[i] = Some(own);
    }
    (twists, leads)
}

/// H x = b for the freedoms `of`, by the upper triangle of H, and the inverses of the pivots.
fn solve_some(h: &Matrix<Expr>, of: &[usize], b: &[Expr], x: &mut [Expr], inverse: &mut [Expr]) {
    let mut matrix = Matrix::zeros(of.len(), of.len());
    for (row, &k) in of.iter().enumerate() {
        for (column, &l) in of.iter().enumerate().skip(row) {
            matrix[(row, column)] = h[(k, l)];
        }
    }
    let factors = eliminated(matrix);
    let mut solution: Vec<Expr> = of.iter().map(|l| b[*l]).collect();
    solve(&factors, &mut solution);
    for (row, &l) in of.iter().enumerate() {
        x[l] = solution[row];
        inverse[l] = factors.1[row].recip();
    }
}

/// (1): an inertia and a wrench projected onto the leading freedoms, the wrench by `twists` and the inertia by `seen`.
fn project(
    inertia: ArticulatedInertia<Expr>,
    wrench: Force<Expr>,
    twists: &[Twist],
    seen: &[Twist],
    h: &mut Matrix<Expr>,
    freed: &mut [Expr],
) {
    for (at, (k, twist)) in twists.iter().enumerate() {
        freed[*k] -= wrench.dot(*twist);
        let moved = inertia.times(seen[at].1);
        for (j, other) in &seen[..=at] {
            h[(*j, *k)] += moved.dot(*other);
        }
    }
}

/// Eliminates one freedom of any direction.
fn eliminate(
    inertia: ArticulatedInertia<Expr>,
    column: Motion<Expr>,
    rotor: Expr,
) -> catena::spatial::Eliminated<Expr> {
    let hat = inertia.times(column);
    let inverse = (hat.dot(column) + rotor).recip();
    let psi = hat * inverse;
    catena::spatial::Eliminated {
        rest: inertia.minus_outer(hat, psi),
        psi,
        inverse,
    }
}
