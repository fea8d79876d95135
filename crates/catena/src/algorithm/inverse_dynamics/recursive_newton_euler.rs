//! Efforts τ that produce a given motion (q, v, v̇): the recursive Newton–Euler algorithm, Saha's RIDIM.
//!
//! Saha (1999), section 5.1, in body axes and with the reference point on the joint instead of the mass centre. With
//! acceleration of a point ρ of body i being aᵢ + Ωᵢ ρ, Ωᵢ = ω̃̇ᵢ + ω̃ᵢ ω̃ᵢ, no linear velocity is needed:
//!
//! ```text
//! base to tips   ωᵢ = Rᵢᵀ ωₚ + Pᵢ v                                        (1)
//!                ω̇ᵢ = Rᵢᵀ ω̇ₚ + Pᵢ v̇ + bias                                 (2)
//!                aᵢ = Rᵢᵀ (aₚ + Ωₚ rᵢ) + Pᵢ v̇ + bias        a₀ = r̈₀ − g      (3)
//!                fᵢ = m aᵢ + Ωᵢ h − fᵢ(ext)                                (4)
//!                nᵢ = h × aᵢ + vee(Ωᵢ Σ) − nᵢ(ext)                         (5)
//! tips to base   τᵢ = Pᵢᵀ (nᵢ; fᵢ) + J v̇ + passive                         (6)
//!                fₚ += Rᵢ fᵢ,   nₚ += Rᵢ nᵢ + rᵢ × Rᵢ fᵢ                     (7)
//! ```
//!
//! | symbol | in code | meaning |
//! |---|---|---|
//! | Rᵢ, rᵢ | `pose[i]` | body i in its parent |
//! | ωᵢ, ω̇ᵢ, aᵢ, Ωᵢ | `Moving` | body axes; a of the body's origin |
//! | m, h, Σ | [`RigidInertia`](crate::spatial::RigidInertia) | mass and moments about the body's origin |
//! | nᵢ, fᵢ | `force[i]` | first the body's own wrench, then the wrench through its joint |
//! | bias | `Joint::bias` | ωₚ × ω_J, 2 ωₚ × v_J and the change of P |
//!
//! The printed recursion omits the propagation matrix B in ν; ours has no such shortcut (see the header's (3)).
//! Cost O(n). A chain keeps what the next body needs in registers; memory is used only where the tree branches.

use crate::algorithm::{Angles, Card, passive};
use crate::model::Model;
use crate::model::joint::{Joint, with_joint};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{AngularRate, Force, Motion, Pose, Vec3};
use crate::state::Base;

/// Recursive Newton–Euler.
pub const CARD: Card = Card {
    name: "Recursive Newton–Euler (RIDIM)",
    question: "inverse dynamics",
    call: "inverse_dynamics",
    file: "algorithm/inverse_dynamics/recursive_newton_euler.rs",
    order: "O(n)",
    source: "Saha 1999, sec. 5.1, eq. 30; Luh, Walker & Paul 1980",
};

/// What a body passes on to its children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving<S> {
    pub omega: Vec3<S>,
    /// ω̇ and a.
    pub rate: Motion<S>,
    /// Ω = ω̃̇ + ω̃ ω̃.
    pub turning: AngularRate<S>,
}

impl<S: Scalar> Moving<S> {
    #[inline(always)]
    pub fn new(omega: Vec3<S>, rate: Motion<S>) -> Self {
        Moving {
            omega,
            rate,
            turning: AngularRate::new(omega, rate.angular),
        }
    }

    /// The base: its prescribed motion, in its own axes, falling upwards with −g.
    #[inline(always)]
    pub fn base(base: &Base<S>, gravity: Vec3<S>) -> Self {
        let r = base.pose.rotation;
        Moving::new(
            r.transpose_times(base.velocity.angular),
            Motion::new(
                r.transpose_times(base.acceleration.angular),
                r.transpose_times(base.acceleration.linear - gravity),
            ),
        )
    }
}

/// Workspace of [`inverse_dynamics`].
#[derive(Clone, Debug)]
#[doc(alias = "RNEA")]
#[doc(alias = "RIDIM")]
pub struct InverseDynamics<S> {
    angles: Angles<S>,
    pose: Vec<Pose<S>>,
    moving: Vec<Moving<S>>, // written only for bodies whose children do not follow at once
    force: Vec<Force<S>>,   // (4, 5), then (7)
}

impl<S: Scalar> InverseDynamics<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let n = model.body_count() + 1;
        let rest = Moving::new(Vec3::zero(), Motion::zero());
        InverseDynamics {
            angles: Angles::new(model.tree()),
            pose: vec![Pose::identity(); n],
            moving: vec![rest; n],
            force: vec![Force::zero(); n],
        }
    }

    /// Wrench that the ground exerts on the whole system, in base axes about the base's origin; after a call.
    pub fn base_reaction(&self) -> Force<S> {
        self.force[0]
    }

    /// Wrench through the joint that carries a body, exerted on it by its parent, in body axes about the body's origin;
    /// after a call.
    pub fn joint_wrench(&self, body: usize) -> Force<S> {
        self.force[body]
    }
}

/// τ = I v̇ + C v + gravity + passive − Jᵀ w(ext).
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing.
pub fn inverse_dynamics<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    vdot: &[S],
    base: &Base<S>,
    external: &[Force<S>],
    work: &mut InverseDynamics<S>,
    tau: &mut [S],
) {
    kernel(model, q, v, vdot, base, external, work, tau);
}

/// The recursion itself, inlined into the caller so that it is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    vdot: &[S],
    base: &Base<S>,
    external: &[Force<S>],
    work: &mut InverseDynamics<S>,
    tau: &mut [S],
) {
    let tree = model.tree();
    let n = model.body_count();
    work.angles.fill(tree, q);

    // base to tips
    let mut before = Moving::base(base, model.gravity.lift());
    work.moving[0] = before;
    for i in 1..=n {
        let info = tree.nodes[i];
        if info.parent + 1 != i {
            before = work.moving[info.parent];
        }
        let setting = model.setting(i, &work.angles);
        let pose = with_joint!(info.kind, J => { J::<S>::pose(setting, &q[info.q..]) });
        work.pose[i] = pose;
        let carried = Motion::new(pose.rotation.transpose_times(before.omega), Vec3::zero());
        let at_joint = before
            .turning
            .0
            .times_add(pose.translation, before.rate.linear);
        let rate = Motion::new(
            pose.rotation.transpose_times(before.rate.angular),
            pose.rotation.transpose_times(at_joint),
        );
        let (omega, rate) = with_joint!(info.kind, J => {
            let (v, vdot) = (&v[info.v..], &vdot[info.v..]);
            let joint = J::<S>::at(setting, &pose);
            let bias = joint.bias(carried.angular, v);
            (
                joint.plus(carried, v).angular,       // (1)
                joint.plus(rate + bias, vdot),        // (2, 3)
            )
        });
        before = Moving::new(omega, rate);
        if info.gathers {
            work.moving[i] = before;
        }
        let inertia = model.inertia::<S>(i);
        work.force[i] = inertia.newton_euler(before.turning, before.rate.linear); // (4, 5)
    }
    if !external.is_empty() {
        for i in 1..=n {
            work.force[i] = work.force[i] - external[i];
        }
    }

    // tips to base
    work.force[0] = Force::zero();
    let mut passed_down = Force::zero();
    for i in (1..=n).rev() {
        let info = tree.nodes[i];
        let through = work.force[i] + passed_down;
        work.force[i] = through;
        let setting = model.setting(i, &work.angles);
        with_joint!(info.kind, J => {
            let joint = J::<S>::at(setting, &work.pose[i]);
            joint.project(through, &mut tau[info.v..info.v + J::<S>::NV]); // (6)
        });
        passed_down = work.pose[i].force_out(through); // (7)
        if info.parent + 1 != i {
            work.force[info.parent] += passed_down;
            passed_down = Force::zero();
        }
    }
    work.force[0] += passed_down;

    if tree.has_rotors {
        for k in 0..model.nv() {
            tau[k] = model.dofs[k].armature.lift().mul_add(vdot[k], tau[k]);
        }
    }
    if tree.has_passive_forces {
        for k in 0..model.nv() {
            tau[k] += passive::passive_force(model, q, v, k);
        }
    }
}
