//! The matrix C(q, v) of convective inertia terms, with C v the Coriolis and centrifugal efforts.
//!
//! Saha (1999), eqs. 25–29: C = Nᵀ (M Ṅ + Ṁ N), where N is the natural orthogonal complement (twists of the mass centres)
//! and Ṁᵢ = diag(ω̃ᵢ Iᵢ, 0). With this choice İ − 2C is skew-symmetric, for every kind of joint.
//!
//! Written with the reference point on the joint instead of the mass centre c, the column p of a joint contributes
//!
//! ```text
//! M ṗ + Y p,    Y p = [ (ω̃ I_c − m c̃ ṽ_c) p_ω ;  −m ṽ_c p_ω ]           p_ω: angular part of p
//! ```
//!
//! (the extra Y comes from the mass centre moving with v_c while the column is differentiated). Y is kept as two 3×3 blocks
//! that add up over composite bodies like M̃, and (29) becomes
//!
//! ```text
//! Cᵢⱼ = Pᵢᵀ (M̃ₘ Ṗⱼ + Ỹₘ Pⱼ)      m: the outer of i and j, columns carried to body m
//! ```
//!
//! Cost O(n d).

use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Angles;
use crate::model::Model;
use crate::model::joint::{AnyJoint, any};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Force, Mat3, Motion, Pose, RigidInertia, Vec3};
use crate::state::StateView;

/// The C matrix.
pub const CARD: Card = Card {
    name: "Convective inertia matrix",
    question: "Coriolis matrix",
    call: "coriolis_matrix",
    file: "algorithm/inertia_matrix/coriolis.rs",
    order: "O(n d)",
    source: "Saha 1999, eqs. 25–29",
};

/// Y: acts on the angular part of a column.
#[derive(Clone, Copy, Debug)]
struct Convective<S> {
    moment: Mat3<S>,
    force: Mat3<S>,
}

/// Workspace of [`coriolis_matrix`].
#[derive(Clone, Debug)]
pub struct CoriolisMatrix<S> {
    angles: Angles<S>,
    pose: Vec<Pose<S>>,
    velocity: Vec<Motion<S>>,
    composite: Vec<RigidInertia<S>>,
    convective: Vec<Convective<S>>,
}

impl<S: Scalar> CoriolisMatrix<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let n = model.body_count() + 1;
        let none = Convective {
            moment: Mat3::zero(),
            force: Mat3::zero(),
        };
        CoriolisMatrix {
            angles: Angles::new(model.tree()),
            pose: vec![Pose::identity(); n],
            velocity: vec![Motion::zero(); n],
            composite: vec![RigidInertia::zero(); n],
            convective: vec![none; n],
        }
    }
}

/// C(q, v).
///
/// On a moving base C v is the part of the bias that is due to the joint rates, with the base's angular velocity in the
/// rates of the columns; the terms due to the base's motion alone are in the bias of inverse dynamics.
pub fn coriolis_matrix<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    work: &mut CoriolisMatrix<S>,
    coriolis: &mut Matrix<S>,
) {
    let StateView { q, v, base } = state;
    let tree = model.tree();
    let n = model.body_count();
    work.angles.fill(tree, q);
    coriolis.clear();
    work.velocity[0] = Motion::new(
        base.pose.rotation.transpose_times(base.velocity.angular),
        base.pose.rotation.transpose_times(base.velocity.linear),
    );
    for i in 1..=n {
        let info = tree.nodes[i];
        let setting = model.setting(i, &work.angles);
        let pose = any::pose(info.kind, setting, &q[info.q..]);
        let carried = pose.motion_into(work.velocity[info.parent]);
        work.pose[i] = pose;
        let joint = AnyJoint {
            kind: info.kind,
            setting,
            pose: &pose,
        };
        work.velocity[i] = joint.plus(carried, &v[info.v..]);
        let inertia = model.inertia::<S>(i);
        work.composite[i] = inertia;
        work.convective[i] = own(inertia, work.velocity[i]);
    }
    for i in (1..=n).rev() {
        let info = tree.nodes[i];
        let (composite, convective) = (work.composite[i], work.convective[i]);
        if info.parent != 0 {
            let pose = work.pose[i];
            work.composite[info.parent] = work.composite[info.parent] + composite.seen_from(pose);
            let parent = work.convective[info.parent];
            let force = convective.force.conjugate(pose.rotation);
            work.convective[info.parent] = Convective {
                moment: parent.moment
                    + convective.moment.conjugate(pose.rotation)
                    + force.cross_columns(pose.translation),
                force: parent.force + force,
            };
        }
        // column j = i: wrenches M̃ Ṗ + Ỹ P; row i = i: wrenches M̃ P and Ỹᵀ P
        let nv = info.kind.nv();
        let mut column = [Force::zero(); 6];
        let mut row = [(Force::zero(), Vec3::zero()); 6];
        let (own, rates) = columns(model, work, v, i);
        for k in 0..nv {
            let p = own[k];
            column[k] = composite.momentum(rates[k])
                + Force::new(convective.moment * p.angular, convective.force * p.angular);
            row[k] = (
                composite.momentum(p),
                convective.moment.transpose_times(p.angular)
                    + convective.force.transpose_times(p.linear),
            );
        }
        let mut j = i;
        loop {
            let at = tree.nodes[j];
            let (there, rates) = columns(model, work, v, j);
            for l in 0..at.kind.nv() {
                for k in 0..nv {
                    coriolis[(at.v + l, info.v + k)] = column[k].dot(there[l]);
                    if j != i {
                        coriolis[(info.v + k, at.v + l)] =
                            row[k].0.dot(rates[l]) + row[k].1.dot(there[l].angular);
                    }
                }
            }
            if at.parent == 0 {
                break;
            }
            let pose = work.pose[j];
            for k in 0..nv {
                column[k] = pose.force_out(column[k]);
                // Ỹᵀ P involves only the angular part of a column, which is the same at every point
                row[k] = (pose.force_out(row[k].0), pose.rotation * row[k].1);
            }
            j = at.parent;
        }
    }
}

/// The columns p of the joint that carries a body, and their rates ṗ, in body axes.
#[inline(always)]
fn columns<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    work: &CoriolisMatrix<S>,
    v: &[S],
    body: usize,
) -> ([Motion<S>; 6], [Motion<S>; 6]) {
    let info = model.tree().nodes[body];
    let joint = model.joint_at(body, &work.angles, &work.pose[body]);
    let mut columns = [Motion::zero(); 6];
    let mut rates = [Motion::zero(); 6];
    for k in 0..info.kind.nv() {
        columns[k] = joint.column(k);
        rates[k] = work.velocity[body].cross(columns[k]) + joint.column_rate(k, &v[info.v..]);
    }
    (columns, rates)
}

/// Y of a single body.
#[inline(always)]
fn own<S: Scalar>(inertia: RigidInertia<S>, velocity: Motion<S>) -> Convective<S> {
    // a body without mass has its centre at the origin
    let (m, h, omega, v) = (
        inertia.mass,
        inertia.first,
        velocity.angular,
        velocity.linear,
    );
    let has_mass = S::zero().less(m);
    let inverse = S::select(
        has_mass,
        S::select(has_mass, m, S::one()).recip(),
        S::zero(),
    );
    let c = h * inverse;
    let momentum = v.scale_add(m, omega.cross(h));
    let velocity_of_centre = omega.cross_add(c, v);
    // I_c = Ī + h̃ c̃
    let central = inertia.tensor().full() + Mat3::skew(h) * Mat3::skew(c);
    Convective {
        moment: central.cross_columns(omega) - Mat3::skew(velocity_of_centre).cross_columns(h),
        force: Mat3::skew(-momentum),
    }
}
