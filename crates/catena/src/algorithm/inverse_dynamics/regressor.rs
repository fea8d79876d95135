//! Inverse dynamics is linear in the inertias of the bodies: τ = Y(q, v, v̇) π.
//!
//! Atkeson, An & Hollerbach (1986). Ten parameters per body, in body axes about the body's origin, body after body:
//!
//! ```text
//! π = (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz)        h = m c; I: inertia tensor about the origin
//! ```
//!
//! With a the acceleration of the origin minus gravity, α = ω̇ and Ω = α̃ + ω̃ ω̃, the wrench of one body is linear in them,
//!
//! ```text
//! f = m a + Ω h,    n = h × a + I α + ω × I ω                                       (1)
//! ```
//!
//! and each of its ten columns is propagated to the base like the wrenches of inverse dynamics. Rotors, springs, friction
//! and external wrenches are not inertias of bodies: they are not in Y π. Cost O(n d).

use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{AngularRate, Force, Vec3};
use crate::state::StateView;

/// The regressor.
pub const CARD: Card = Card {
    name: "Regressor of the inertial parameters",
    question: "identification",
    call: "regressor",
    file: "algorithm/inverse_dynamics/regressor.rs",
    order: "O(n d)",
    source: "Atkeson, An & Hollerbach 1986",
};

/// Names of the ten parameters of a body, in order.
pub const PARAMETERS: [&str; 10] = [
    "m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz",
];

/// π of a model: ten numbers for each moving body.
pub fn inertial_parameters<S: Scalar, P: Parameter<S>>(model: &Model<P>) -> Vec<S> {
    let mut parameters = Vec::with_capacity(10 * model.body_count());
    for i in model.bodies() {
        let inertia = model.inertia::<S>(i);
        let (h, t) = (inertia.first, inertia.tensor());
        parameters.extend([
            inertia.mass,
            h.x,
            h.y,
            h.z,
            t.xx,
            t.yy,
            t.zz,
            t.xy,
            t.xz,
            t.yz,
        ]);
    }
    parameters
}

/// Y(q, v, v̇) into a matrix of nv × 10 n; `work` is filled with the kinematics of the state.
pub fn regressor<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    vdot: &[S],
    work: &mut Kinematics<S>,
    y: &mut Matrix<S>,
) {
    let tree = model.tree();
    forward_kinematics(model, state, vdot, work);
    y.clear();
    let gravity: Vec3<S> = model.gravity.lift();
    for i in 1..=model.body_count() {
        let to_body = work.world_from_body[i].rotation;
        let rate = work.acceleration[i];
        let a = rate.linear - to_body.transpose_times(gravity);
        let mut columns = ten_wrenches(work.velocity[i].angular, rate.angular, a);
        let mut j = i;
        loop {
            let at = tree.nodes[j];
            let joint = model.joint_at(j, &work.angles, &work.pose[j]);
            let nv = at.kind.nv();
            for (k, column) in columns.iter().enumerate() {
                let mut efforts = [S::zero(); 6];
                joint.project(*column, &mut efforts[..nv]);
                for row in 0..nv {
                    y[(at.v + row, 10 * (i - 1) + k)] = efforts[row];
                }
            }
            if at.parent == 0 {
                break;
            }
            for column in &mut columns {
                *column = work.pose[j].force_out(*column);
            }
            j = at.parent;
        }
    }
}

/// (1): the wrench per unit of each parameter.
fn ten_wrenches<S: Scalar>(omega: Vec3<S>, alpha: Vec3<S>, a: Vec3<S>) -> [Force<S>; 10] {
    let (o, none) = (S::zero(), Vec3::zero());
    let turning = AngularRate::new(omega, alpha).0;
    // e × a for the three axes e
    let lever = [
        Vec3::new(o, -a.z, a.y),
        Vec3::new(a.z, o, -a.x),
        Vec3::new(-a.y, a.x, o),
    ];
    // E α + ω × E ω, E being 1 in one place (and its mirror)
    let gyration = [
        (Vec3::new(alpha.x, o, o), Vec3::new(omega.x, o, o)),
        (Vec3::new(o, alpha.y, o), Vec3::new(o, omega.y, o)),
        (Vec3::new(o, o, alpha.z), Vec3::new(o, o, omega.z)),
        (
            Vec3::new(alpha.y, alpha.x, o),
            Vec3::new(omega.y, omega.x, o),
        ),
        (
            Vec3::new(alpha.z, o, alpha.x),
            Vec3::new(omega.z, o, omega.x),
        ),
        (
            Vec3::new(o, alpha.z, alpha.y),
            Vec3::new(o, omega.z, omega.y),
        ),
    ];
    let mut wrenches = [Force::zero(); 10];
    wrenches[0] = Force::new(none, a);
    for (k, column) in [turning.x, turning.y, turning.z].into_iter().enumerate() {
        wrenches[1 + k] = Force::new(lever[k], column);
    }
    for (k, (spun_up, spun)) in gyration.into_iter().enumerate() {
        wrenches[4 + k] = Force::new(omega.cross_add(spun, spun_up), none);
    }
    wrenches
}
