//! The centroidal momentum matrix A_G, its rate, and the generalized Jacobian of a free-floating robot.
//!
//! Orin, Goswami & Lee (2013): h_G = A_G v is the momentum of all bodies, angular about their mass centre G. Column k is the momentum
//! of everything beyond freedom k due to this freedom, M̃ₖ sₖ, about G. Its rate follows from the operators of
//! [`inverse`](super::inverse), because V ×* M − M V × = 2B − (M V) ×̄*:
//!
//! ```text
//! A_G: column k = M̃ₖ sₖ                                                        (1)
//! Ȧ_G: column k = M̃ₖ ṡₖ + 2B̃ₖ sₖ − sₖ ×* h̃ₖ,   minus v_G × f in its angular part    (2)
//! ```
//!
//! (h̃ₖ: momentum of everything beyond freedom k; the last term of (2) because G moves; f is the linear part of (1)).
//!
//! Umetani & Yoshida (1989): the base of a robot that floats freely with zero momentum moves in response to joint rates θ̇,
//! and the twist of its end effector E is J* θ̇. With Θ the inertia of the whole robot about G and the columns of A_G of the joints only:
//!
//! ```text
//! ω = −Θ⁻¹ A_ω θ̇                                         rotation of the whole robot               (3)
//! J* = J + (1; −r̃) (−Θ⁻¹ A_ω) − (0; A_v / m)              r = E − G;  J, A: columns of the joints    (4)
//! ```
//!
//! The pose of the robot in the world does not enter (1–4). Cost O(n).

use super::inverse::{Beyond, Body, Gathered, Nothing, Outward, Sum, Visit, carried};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::{FrameInfo, Model};
use crate::scalar::{Parameter, Scalar};
use crate::space::{Components, Freedom};
use crate::spatial::{Force, Mat3, Motion, Sym3, Vec3};
use crate::state::StateView;

/// Centroidal momentum.
pub const CARD: Card = Card {
    name: "Centroidal momentum matrix, generalized Jacobian",
    question: "energy and momentum",
    call: "centroidal_momentum",
    file: "algorithm/derivatives/centroidal.rs",
    order: "O(n)",
    source: "Orin, Goswami & Lee 2013; Umetani & Yoshida 1989",
};

/// A_G, its rate and related quantities: workspace and result of [`centroidal_momentum`].
///
/// World axes; angular rows first, about the mass centre.
#[derive(Clone, Debug)]
pub struct CentroidalMomentum<S: Scalar = f64> {
    /// A_G, 6 × nv: h_G = A_G v is the momentum due to v.
    pub matrix: Matrix<S>,
    /// Ȧ_G, 6 × nv: ḣ_G = A_G v̇ + Ȧ_G v on a base at rest.
    pub rate: Matrix<S>,
    /// Ȧ_G v.
    pub bias: Force<S>,
    /// Total mass.
    pub mass: S,
    /// Mass centre, from the origin of the first body.
    pub centre: Vec3<S>,
    /// Inertia tensor of all bodies as one, about the mass centre.
    pub inertia: Sym3<S>,
    to_world: Mat3<S>,
    outward: Outward<Components<S>>,
    forks: Vec<Sum<Components<S>>>,
    gathered: Vec<Gathered<S>>,
    still: Vec<S>,
    spin: Vec<Vec3<S>>,
    offset: Vec<Vec3<S>>,
}

impl<S: Scalar> CentroidalMomentum<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        CentroidalMomentum {
            matrix: Matrix::zeros(6, nv),
            rate: Matrix::zeros(6, nv),
            bias: Force::zero(),
            mass: S::zero(),
            centre: Vec3::zero(),
            inertia: Sym3::zero(),
            to_world: Mat3::identity(),
            outward: Outward::new(model),
            forks: vec![Sum::none(); n],
            gathered: vec![Gathered::none(); nv],
            still: vec![S::zero(); nv],
            spin: vec![Vec3::zero(); n],
            offset: vec![Vec3::zero(); n],
        }
    }
}

/// A_G and Ȧ_G at (q, v). On a base with prescribed motion, A_G v is the part of the momentum that is due to v.
pub fn centroidal_momentum<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    result: &mut CentroidalMomentum<S>,
) {
    let tree = model.tree();
    let n = model.body_count();
    let (outward, forks, still) = (&mut result.outward, &mut result.forks, &result.still);
    outward.run(model, model, state, still, None, &mut Nothing);
    let mut keep = Keep(&mut result.gathered);
    outward.back(model, model, state, still, &[], None, forks, &mut keep);
    let (bodies, gathered) = (&result.outward.body, &result.gathered);

    // origins from that of body 1; angular momenta about body origins, summed from the tips
    let first = bodies[1].step;
    for i in 1..=n {
        let body = &bodies[i];
        result.offset[i] = match tree.parent(i) {
            0 => body.step - first,
            parent => result.offset[parent] + body.step,
        };
        result.spin[i] = Vec3::zero();
    }
    for i in (1..=n).rev() {
        let body = &bodies[i];
        let own = model.inertia::<S>(i);
        let r = body.rotation;
        // ω and v in body axes: the momentum of one body needs no rotated inertia
        let velocity = Motion::new(
            r.transpose_times(body.velocity.angular),
            r.transpose_times(body.velocity.linear),
        );
        result.spin[i] += r * own.momentum(velocity).moment;
        let parent = tree.parent(i);
        if parent != 0 {
            let sum = &gathered[tree.nodes[i].v].sum;
            let moment = body.step.cross_add(sum.momentum, result.spin[i]);
            result.spin[parent] += moment;
        }
    }
    let (mut mass, mut moment, mut momentum) = (S::zero(), Vec3::zero(), Vec3::zero());
    for i in 1..=n {
        if tree.parent(i) == 0 {
            let sum = &gathered[tree.nodes[i].v].sum;
            mass += sum.inertia.mass;
            moment += result.offset[i].scale_add(sum.inertia.mass, sum.inertia.first);
            momentum += sum.momentum;
        }
    }
    let centre = moment * mass.recip();
    let centre_velocity = momentum * mass.recip();
    let mut second = Sym3::zero();
    for i in 1..=n {
        if tree.parent(i) == 0 {
            let sum = &gathered[tree.nodes[i].v].sum;
            second = second + sum.shifted(&(result.offset[i] - centre)).inertia.second;
        }
    }
    let to_world = state.base.pose.rotation;
    result.to_world = to_world;
    result.mass = mass;
    result.centre = to_world * centre;
    result.inertia = second.trace_minus().conjugate(to_world);

    let minus_two = S::constant(-2.0);
    let mut bias = Force::zero();
    for k in 0..model.nv() {
        let body = tree.dofs[k].body;
        let Gathered { freedom, sum, .. } = &gathered[k];
        let arm = result.offset[body] - centre;
        let s = freedom.axis;
        let column = sum.inertia.momentum(s); // (1)
        let turning = freedom.around - freedom.before;
        let beyond = Force::new(result.spin[body], sum.momentum);
        let carried = carried(s, beyond);
        let convective =
            Force::new(sum.convective * s.angular, sum.momentum.cross(s.angular)) * minus_two;
        let rate = sum.inertia.momentum(turning.cross(s)) + convective - carried; // (2)
        let about_centre = arm.cross_add(column.force, column.moment);
        let mut rate_moment = arm.cross_add(rate.force, rate.moment);
        rate_moment -= centre_velocity.cross(column.force);
        let column = Force::new(to_world * about_centre, to_world * column.force);
        let rate = Force::new(to_world * rate_moment, to_world * rate.force);
        bias = bias.add_scaled(rate, state.v[k]);
        for (row, (a, b)) in column
            .to_array()
            .into_iter()
            .zip(rate.to_array())
            .enumerate()
        {
            result.matrix[(row, k)] = a;
            result.rate[(row, k)] = b;
        }
    }
    result.bias = bias;
}

/// Stores the results of every freedom.
struct Keep<'a, S: Scalar>(&'a mut [Gathered<S>]);

impl<S: Scalar> Visit<Components<S>> for Keep<'_, S> {
    type Beyond = Sum<Components<S>>;

    fn freedom(
        &mut self,
        at: usize,
        body: &Body<Components<S>>,
        freedom: &Freedom<Components<S>>,
        sum: &Self::Beyond,
        _rest: &mut Self::Beyond,
    ) {
        self.0[at] = Gathered {
            freedom: *freedom,
            origin: body.origin,
            sum: *sum,
        };
    }
}

/// J* of a frame of a free-floating robot, 6 × (nv − 6): its twist (world axes, at its origin) is J* θ̇ while the momentum is
/// zero. The first body must be on a free joint to the ground and carry all others.
///
/// `jacobian` is the frame's 6 × nv Jacobian in world axes, `centroidal` of the same configuration on a base at rest.
pub fn generalized_jacobian<S: Scalar>(
    centroidal: &CentroidalMomentum<S>,
    frame: &FrameInfo,
    jacobian: &Matrix<S>,
    generalized: &mut Matrix<S>,
) {
    let body = &centroidal.outward.body[frame.body];
    let at = body.rotation.times_add(
        frame.body_from_frame.translation.lift(),
        centroidal.offset[frame.body],
    );
    let arm = centroidal.to_world * at - centroidal.centre;
    let inverse = centroidal.inertia.inverse();
    let per_mass = centroidal.mass.recip();
    let a = &centroidal.matrix;
    for k in 0..generalized.columns() {
        let column = k + 6;
        let spin = Vec3::new(a[(0, column)], a[(1, column)], a[(2, column)]);
        let push = Vec3::new(a[(3, column)], a[(4, column)], a[(5, column)]);
        let omega = -(inverse * spin); // (3)
        let linear = omega.cross(arm) - push * per_mass;
        let added = Motion::new(omega, linear).to_array();
        for row in 0..6 {
            generalized[(row, k)] = jacobian[(row, column)] + added[row]; // (4)
        }
    }
}
