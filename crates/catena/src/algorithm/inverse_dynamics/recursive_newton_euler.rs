//! Efforts τ that produce a given motion (q, v, v̇): the recursive Newton–Euler algorithm, Saha's RIDIM.
//!
//! Saha (1999), section 5.1, in body axes and with the reference point on the joint instead of the mass centre.
//! Since the acceleration of a point ρ of body i is aᵢ + Ωᵢ ρ, Ωᵢ = ω̃̇ᵢ + ω̃ᵢ ω̃ᵢ, no linear velocity is needed:
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
//! | ωᵢ, ω̇ᵢ, aᵢ, Ωᵢ | `BodyMotion` | body axes; a of the body's origin |
//! | m, h, Σ | [`RigidInertia`](crate::spatial::RigidInertia) | mass and moments about the body's origin |
//! | nᵢ, fᵢ | `wrench[i]` | first the body's own wrench, then the wrench through its joint |
//! | P, bias | `space::JointIn` | directions of the joint; ωₚ × ω_J, 2 ωₚ × v_J and the change of P |
//!
//! The printed recursion omits the propagation matrix B in ν; ours does not, see (3).
//! Cost O(n). Along a chain, data for the next body stays in registers; memory is used only where the tree branches.
//!
//! The recursion is written over a `Space`: [`inverse_dynamics`] runs it in components of any scalar, [`crate::Dynamics`] in
//! SIMD registers where the processor has AVX2.

use crate::algorithm::{elements, passive};
use crate::card::Card;
use crate::model::Angles;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::space::{BodyMotion, Components, Constants, JointIn, Space, in_space};
use crate::spatial::{Force, Pose, Vec3};
use crate::state::{Base, StateView};

/// Recursive Newton–Euler.
pub const CARD: Card = Card {
    name: "Recursive Newton–Euler (RIDIM)",
    question: "inverse dynamics",
    call: "inverse_dynamics",
    file: "algorithm/inverse_dynamics/recursive_newton_euler.rs",
    order: "O(n)",
    source: "Saha 1999, sec. 5.1, eq. 30; Luh, Walker & Paul 1980",
};

/// Workspace of [`inverse_dynamics`].
#[derive(Clone, Debug)]
#[doc(alias = "RNEA")]
#[doc(alias = "RIDIM")]
pub struct InverseDynamics<S: Scalar>(NewtonEuler<Components<S>>);

impl<S: Scalar> InverseDynamics<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        InverseDynamics(NewtonEuler::new(model))
    }

    /// Wrench that the ground exerts on the whole system, in base axes about the base's origin; after a call.
    pub fn base_reaction(&self) -> Force<S> {
        self.joint_wrench(0)
    }

    /// Wrench through the joint that carries a body, exerted on it by its parent, in body axes about the body's origin;
    /// after a call.
    pub fn joint_wrench(&self, body: usize) -> Force<S> {
        self.0.joint_wrench(body)
    }
}

/// τ = I v̇ + C v + gravity + passive − Jᵀ w(ext), where w(ext) includes force elements.
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing.
pub fn inverse_dynamics<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    vdot: &[S],
    external: &[Force<S>],
    work: &mut InverseDynamics<S>,
    tau: &mut [S],
) {
    let mut sum = Vec::new();
    let external = elements::loaded(model, state, external, &mut sum);
    kernel(model, state, vdot, external, work, tau);
}

/// The recursion in components, inlined into the caller so that it is compiled for the caller's instruction set. `external` already
/// includes the wrenches of force elements.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    vdot: &[S],
    external: &[Force<S>],
    work: &mut InverseDynamics<S>,
    tau: &mut [S],
) {
    work.0.run(model, model, state, vdot, external, tau);
}

/// Workspace of the recursion in a space.
#[derive(Clone, Debug)]
pub(crate) struct NewtonEuler<E: Space> {
    angles: Angles<E::Number>,
    pose: Vec<E::Kept>,
    moving: Vec<BodyMotion<E>>, // written only for bodies with children not numbered directly after them
    wrench: Vec<E::Wrench>,     // (4, 5), then (7)
}

impl<E: Space> NewtonEuler<E> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let n = model.body_count() + 1;
        NewtonEuler {
            angles: E::angles(model.tree()),
            pose: vec![*E::kept(&E::pose(Pose::identity())); n],
            moving: vec![BodyMotion::new([E::zero(); 3]); n],
            wrench: vec![E::wrench(E::zero(), E::zero()); n],
        }
    }

    /// Wrench through the joint that carries a body (0: that of the ground on the whole system), after a call.
    pub fn joint_wrench(&self, body: usize) -> Force<E::Number> {
        E::wrench_numbers(&self.wrench[body])
    }

    /// τ; the arguments are those of [`inverse_dynamics`].
    #[inline(always)]
    pub fn run<P: Parameter<E::Number>>(
        &mut self,
        model: &Model<P>,
        constants: &impl Constants<E>,
        state: StateView<'_, E::Number>,
        vdot: &[E::Number],
        external: &[Force<E::Number>],
        tau: &mut [E::Number],
    ) {
        let StateView { q, v, base } = state;
        let tree = model.tree();
        let n = model.body_count();
        E::fill(&mut self.angles, tree, q);
        let (poses, wrenches) = (&mut self.pose[..=n], &mut self.wrench[..=n]);
        let nv = model.nv();
        let (v, vdot, tau) = (&v[..nv], &vdot[..nv], &mut tau[..nv]);

        // base to tips
        let mut before = at_base(base, model.gravity.lift());
        self.moving[0] = before;
        for i in 1..=n {
            let info = constants.node(i);
            if info.parent + 1 != i {
                before = self.moving[info.parent];
            }
            let setting = constants.setting(i, &self.angles);
            let moved = in_space!(E, info.kind, joint => {
                let pose = joint.pose(info.q, setting, q);
                poses[i] = *E::kept(&pose);
                joint.carry(info.v, setting, &pose, &before, v, vdot) // (1, 2, 3)
            });
            before = BodyMotion::new(moved);
            if info.gathers {
                self.moving[i] = before;
            }
            let (inertia, turning, a) = (constants.inertia(i), &before.turning, before.linear);
            let force = E::times_first_plus(turning, inertia, E::mass_times(inertia, a)); // (4)
            let moment = E::first_cross(inertia, a);
            let moment = E::second_crosses_plus(inertia, turning, moment); // (5)
            wrenches[i] = E::wrench(E::settle(moment), force);
        }
        if !external.is_empty() {
            for i in 1..=n {
                let (own, load) = (wrenches[i], E::wrench_of(external[i]));
                let moment = E::moment(&own) - E::moment(&load);
                wrenches[i] = E::wrench(moment, E::force(&own) - E::force(&load));
            }
        }

        // tips to base
        wrenches[0] = E::wrench(E::zero(), E::zero());
        let mut through = wrenches[n];
        for i in (1..=n).rev() {
            let info = constants.node(i);
            wrenches[i] = through;
            let (setting, pose) = (constants.setting(i, &self.angles), &poses[i]);
            let lever = in_space!(E, info.kind, joint => {
                joint.project(info.v, setting, pose, &through, tau); // (6)
                joint.lever(setting, pose)
            });
            let force = E::turn(pose, E::spread(E::force(&through)));
            let parent = &mut wrenches[info.parent];
            let moment = E::cross(lever, force) + E::moment(parent);
            let sum = E::wrench(
                E::turn_plus(pose, E::spread(E::moment(&through)), moment),
                force + E::force(parent),
            ); // (7)
            if info.parent + 1 == i {
                through = sum;
            } else {
                *parent = sum;
                through = wrenches[i - 1];
            }
        }
        wrenches[0] = through; // body 1 is on the ground

        if tree.has_rotors {
            for k in 0..nv {
                tau[k] = model.dofs[k].armature.lift().mul_add(vdot[k], tau[k]);
            }
        }
        if tree.has_passive_forces {
            for k in 0..nv {
                tau[k] += passive::passive_force(model, q, v, k);
            }
        }
    }
}

/// The base: its prescribed motion, in its own axes, with gravity as an acceleration −g.
#[inline(always)]
fn at_base<E: Space>(base: &Base<E::Number>, gravity: Vec3<E::Number>) -> BodyMotion<E> {
    let r = base.pose.rotation;
    let a = base.acceleration.linear - gravity;
    BodyMotion::new([
        E::vector(r.transpose_times(base.velocity.angular)),
        E::vector(r.transpose_times(base.acceleration.angular)),
        E::vector(r.transpose_times(a)),
    ])
}
