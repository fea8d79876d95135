//! ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ = I⁻¹ of forward dynamics.
//!
//! Inverse dynamics of the accelerations that forward dynamics gives are the efforts it was given, whatever q and v:
//!
//! ```text
//! τ(q, v, v̇(q, v, τ)) = τ    ⇒    I ∂v̇/∂q = −∂τ/∂q,   I ∂v̇/∂v = −∂τ/∂v,   I ∂v̇/∂τ = 1        (at v̇ of this state)
//! ```
//!
//! (Carpentier & Mansard 2018.) The right-hand sides are never written down. Column j of ∂τ is what a motion of everything
//! beyond freedom j takes, Ψ̈ⱼ and Ψ̇ⱼ for ∂q, Φⱼ and sⱼ for ∂v (equations 1 and 2 of [`inverse`]), and the sweeps of UDUᵀ
//! over it are known in advance: bodies that are free to move on their joints answer a motion given to their root with their
//! *articulated* inertia M̂, and what they take for it by velocities is as well a 6×3 operator B̂ that a freedom is taken out of,
//!
//! ```text
//! tips to base   M̂ ← M̂ − ψₖ m̂ₖ ψₖᵀ,   m̂ₖ βₖ = B̂ᵀ sₖ,   B̂ ← B̂ − ψₖ m̂ₖ βₖᵀ,      sums over children, B̂ of a body: 2B      (1)
//! ```
//!
//! With that, where column j begins, and on the way from there to the base (rows k = j and inwards)
//!
//! ```text
//! gⱼ = M̂ⱼ Ψ̈ⱼ + B̂ⱼ Ψ̇ⱼ,   ŷₖ = sₖᵀ g,   g ← g − ψₖ ŷₖ,   and when the freedom's own rotation is done  g ← g + sⱼ ×* f̃ⱼ      (2)
//! ```
//!
//! and from the base to the tips, through all bodies, w = 0 at first:
//!
//! ```text
//! xₖ = −ψₖᵀ w − ŷₖ/m̂ₖ                     up to freedom j, on other branches without ŷ                                   (3)
//! w ← w + Ψ̈ⱼ                               when the joint of freedom j has been passed
//! xₖ = −ψₖᵀ w − βₖᵀ Ψ̇ⱼ                     beyond it                                                                     (4)
//! w ← w + sₖ xₖ
//! ```
//!
//! So rows beyond a column need no sweep inwards, rows before it no entry of ∂τ. For ∂v̇/∂τ there is ŷⱼ = −1 instead. Columns
//! are independent of one another and go through in packs, all three kinds together, in registers. Everything is in the axes of
//! the base; the reference point is the origin of the first body in every group of eight freedoms and moves with the sweep, so
//! that no digits are lost to a distant one. Springs and dampers add to the diagonal of ∂τ: their part is −I⁻¹ times it.
//! Cost O(n²), O(n) per column.
//!
//! External wrenches are constant in body axes. What a wrench w on body b adds, in body axes about the body's origin, is
//! ∂v̇/∂w = I⁻¹ Jᵀ with the body Jacobian J
//! ([`body_jacobian`](crate::algorithm::kinematics::body_jacobian)); ∂τ/∂w = −Jᵀ.

use super::inverse;
use super::sweeps::{self, Numbers, Sweeps};
use crate::algorithm::Card;
use crate::algorithm::factorization::Factorization;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::algorithm::pack::{
    GROUP, One, Pack, Sink, set_articulated, set_force, set_mat, set_vec, write_force,
    write_motion, write_vec,
};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::model::joint::{Joint, with_joint};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, Vec3};
use crate::state::Base;

/// Derivatives of forward dynamics.
pub const CARD: Card = Card {
    name: "Derivatives of forward dynamics",
    question: "derivatives of forward dynamics",
    call: "forward_dynamics_derivatives",
    file: "algorithm/derivatives/forward.rs",
    order: "O(n²)",
    source: "Carpentier & Mansard 2018; swept through UDUᵀ",
};

/// v̇ and its derivatives, nv × nv each. Row: acceleration; column: freedom.
#[derive(Clone, Debug)]
pub struct ForwardDerivatives<S = f64> {
    /// v̇.
    pub vdot: Vec<S>,
    /// ∂v̇/∂q, along the increments of [`State::step`](crate::State::step).
    pub dq: Matrix<S>,
    /// ∂v̇/∂v.
    pub dv: Matrix<S>,
    /// ∂v̇/∂τ, the inverse of the inertia matrix.
    pub dtau: Matrix<S>,
}

impl<S: Scalar> ForwardDerivatives<S> {
    /// Room for the derivatives of this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let nv = model.nv();
        ForwardDerivatives {
            vdot: vec![S::zero(); nv],
            dq: Matrix::zeros(nv, nv),
            dv: Matrix::zeros(nv, nv),
            dtau: Matrix::zeros(nv, nv),
        }
    }
}

/// Workspace of [`forward_dynamics_derivatives`].
#[derive(Clone, Debug)]
pub struct ForwardDerivativesWork<S: Scalar> {
    forward: ForwardDynamics<S>,
    recursion: Recursion<S, One>,
    sweeps: Sweeps<S, One>,
}

impl<S: Scalar> ForwardDerivativesWork<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        ForwardDerivativesWork {
            forward: ForwardDynamics::new(model),
            recursion: Recursion::new(model),
            sweeps: Sweeps::new(model),
        }
    }
}

/// v̇ of [`forward_dynamics`](crate::algorithm::forward_dynamics::forward_dynamics) and its derivatives at (q, v, τ).
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing. They
/// are taken as constant in body axes.
pub fn forward_dynamics_derivatives<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    tau: &[S],
    base: &Base<S>,
    external: &[Force<S>],
    work: &mut ForwardDerivativesWork<S>,
    derivatives: &mut ForwardDerivatives<S>,
) {
    articulated_bodies::kernel(
        model,
        q,
        v,
        tau,
        base,
        external,
        &mut work.forward,
        &mut derivatives.vdot,
    );
    let (state, factors) = ([q, v, &derivatives.vdot], &work.forward.factors);
    work.recursion.run(model, state, base, external, factors);
    work.recursion.fill(model);
    work.sweeps.run(
        model,
        &work.recursion.packs,
        [
            derivatives.dq.as_mut_slice(),
            derivatives.dv.as_mut_slice(),
            derivatives.dtau.as_mut_slice(),
        ],
    );
}

/// What adds up over everything beyond a joint while the joints beyond are free, about the body's origin.
#[derive(Clone, Copy, Debug)]
struct Free<S> {
    inertia: ArticulatedInertia<S>,
    /// B̂: moments and forces by angular motion.
    moments: Mat3<S>,
    forces: Mat3<S>,
    /// f̃, which needs no freedom.
    force: Force<S>,
}

impl<S: Scalar> Free<S> {
    #[inline(always)]
    fn zero() -> Self {
        Free {
            inertia: ArticulatedInertia::zero(),
            moments: Mat3::zero(),
            forces: Mat3::zero(),
            force: Force::zero(),
        }
    }

    #[inline(always)]
    fn of(body: &inverse::Sum<S>) -> Self {
        let minus_two = S::constant(-2.0);
        Free {
            inertia: body.inertia.articulated(),
            moments: body.convective * minus_two,
            forces: Mat3::skew(body.momentum) * minus_two,
            force: body.force,
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Free {
            inertia: self.inertia + b.inertia,
            moments: self.moments + b.moments,
            forces: self.forces + b.forces,
            force: self.force + b.force,
        }
    }

    /// About a point from which the present one is seen at `d`.
    #[inline(always)]
    fn shifted(self, d: Vec3<S>) -> Self {
        let (m, f) = (self.moments, self.forces);
        Free {
            inertia: self.inertia.shifted(d),
            moments: Mat3 {
                x: d.cross_add(f.x, m.x),
                y: d.cross_add(f.y, m.y),
                z: d.cross_add(f.z, m.z),
            },
            forces: f,
            force: inverse::force_seen(self.force, d),
        }
    }

    /// Takes out a freedom, (1): what is left, and β.
    #[inline(always)]
    fn without(self, axis: Motion<S>, psi: Force<S>, inverse: S) -> (Self, Vec3<S>) {
        let pivot = inverse.recip();
        let (m, f) = (psi.moment, psi.force);
        let full = psi * pivot;
        let inertia = self.inertia.less_outer(psi, full);
        let (turn, slide) = (axis.angular, axis.linear);
        let back = Vec3::new(
            turn.dot(self.moments.x) + slide.dot(self.forces.x),
            turn.dot(self.moments.y) + slide.dot(self.forces.y),
            turn.dot(self.moments.z) + slide.dot(self.forces.z),
        );
        let rest = Free {
            inertia,
            moments: Mat3 {
                x: m.scale_add(-back.x, self.moments.x),
                y: m.scale_add(-back.y, self.moments.y),
                z: m.scale_add(-back.z, self.moments.z),
            },
            forces: Mat3 {
                x: f.scale_add(-back.x, self.forces.x),
                y: f.scale_add(-back.y, self.forces.y),
                z: f.scale_add(-back.z, self.forces.z),
            },
            force: self.force,
        };
        (rest, back * inverse)
    }
}

/// What the columns of a pack of freedoms need of their bodies and joints, about the bodies' origins.
#[derive(Clone, Copy, Debug)]
struct Joined<M> {
    free: Free<M>,
    psi: Force<M>,
    back: Vec3<M>,
    inverse: M,
}

/// Workspace of the half that is linear in the number of bodies.
#[derive(Clone, Debug)]
pub(crate) struct Recursion<S: Scalar, K: Pack<S>> {
    pub inverse: inverse::Work<S, K>,
    /// Sums over the children of a body.
    free: Vec<Free<S>>,
    has_children: Vec<bool>,
    /// The child that is numbered last comes first.
    comes_first: Vec<bool>,
    joined: Vec<Joined<K::Many>>,
    pub packs: Vec<Numbers<K::Many>>,
}

impl<S: Scalar, K: Pack<S>> Recursion<S, K> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let packs = model.nv().div_ceil(K::WIDTH);
        let n = model.body_count();
        let (mut has_children, mut comes_first) = (vec![false; n + 1], vec![false; n + 1]);
        for i in (1..=n).rev() {
            let parent = model.tree().parent(i);
            comes_first[i] = !has_children[parent];
            has_children[parent] = true;
        }
        Recursion {
            inverse: inverse::Work::new(model),
            free: vec![Free::zero(); n + 1],
            has_children,
            comes_first,
            joined: vec![
                Joined {
                    free: Free::zero(),
                    psi: Force::zero(),
                    back: Vec3::zero(),
                    inverse: K::Many::zero(),
                };
                packs
            ],
            packs: vec![[K::Many::zero(); sweeps::NUMBERS]; packs],
        }
    }

    /// From the state, its acceleration and its factors to the numbers of every freedom.
    #[inline(always)]
    pub fn run<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        state: [&[S]; 3],
        base: &Base<S>,
        external: &[Force<S>],
        factors: &Factorization<S>,
    ) {
        let mut packs = std::mem::take(&mut self.packs);
        self.run_into(model, state, base, external, factors, &mut packs[..]);
        self.packs = packs;
    }

    /// The same, with the numbers of freedoms handed on as they are found, where each is a pack.
    #[inline(always)]
    pub fn run_into<P: Parameter<S>, T: Sink<K::Many, { sweeps::NUMBERS }> + ?Sized>(
        &mut self,
        model: &Model<P>,
        state: [&[S]; 3],
        base: &Base<S>,
        external: &[Force<S>],
        factors: &Factorization<S>,
        sink: &mut T,
    ) {
        let known = Some(factors);
        inverse::outwards(model, state, base, external, known, &mut self.inverse);
        let tree = model.tree();
        for i in (1..=model.body_count()).rev() {
            let info = tree.nodes[i];
            let body = &self.inverse.body[i];
            let (rotation, step) = (body.rotation, body.step);
            let mut free = Free::of(&body.sum);
            if self.has_children[i] {
                free = free.plus(self.free[i]);
            }
            let whole = free;
            let setting = model.setting(i, &factors.angles);
            with_joint!(info.kind, J => {
                let joint = J::<S>::at(setting, &factors.pose[i]);
                for k in (0..J::<S>::NV).rev() {
                    let at = info.v + k;
                    let psi = joint.restore(factors.psi[at]);
                    let psi = Force::new(rotation * psi.moment, rotation * psi.force);
                    let axis = joint.column_in(k, rotation);
                    let inverse = factors.inverse[at];
                    let (rest, back) = free.without(axis, psi, inverse); // (1)
                    free = rest;
                    self.join(model, at, sink, Joined { free: whole, psi, back, inverse });
                }
            });
            if info.parent != 0 {
                let shifted = free.shifted(step);
                let parent = &mut self.free[info.parent];
                *parent = if self.comes_first[i] {
                    shifted
                } else {
                    parent.plus(shifted)
                };
            }
        }
    }

    /// Then what is done pack by pack, in wider registers.
    #[inline(always)]
    pub fn fill<P>(&mut self, model: &Model<P>) {
        if K::WIDTH > 1 {
            for pack in 0..self.packs.len() {
                self.packs[pack] = self.numbers(model, pack, &self.joined[pack]);
            }
        }
    }

    /// Puts a freedom into its pack.
    #[inline(always)]
    fn join<P, T: Sink<K::Many, { sweeps::NUMBERS }> + ?Sized>(
        &mut self,
        model: &Model<P>,
        at: usize,
        sink: &mut T,
        one: Joined<S>,
    ) {
        let lane = at % K::WIDTH;
        let pack = &mut self.joined[at / K::WIDTH];
        set_articulated::<S, K>(&mut pack.free.inertia, lane, one.free.inertia);
        set_mat::<S, K>(&mut pack.free.moments, lane, one.free.moments);
        set_mat::<S, K>(&mut pack.free.forces, lane, one.free.forces);
        set_force::<S, K>(&mut pack.free.force, lane, one.free.force);
        set_force::<S, K>(&mut pack.psi, lane, one.psi);
        set_vec::<S, K>(&mut pack.back, lane, one.back);
        K::set(&mut pack.inverse, lane, one.inverse);
        if K::WIDTH == 1 {
            // nothing to wait for
            sink.take(at, self.numbers(model, at, &self.joined[at]));
        }
    }

    /// What the sweeps need of a pack, about the reference point of its group.
    #[inline(always)]
    fn numbers<P>(
        &self,
        model: &Model<P>,
        pack: usize,
        joined: &Joined<K::Many>,
    ) -> Numbers<K::Many> {
        let known = &self.inverse.gathered[pack];
        let Free {
            inertia,
            moments,
            forces,
            force,
        } = joined.free;
        let s = known.axis;
        let first = known.before.cross(s);
        let second = known.rate.cross(s) + known.before.cross(first);
        let both = known.around.cross(s);
        let of_q = inertia.times(second);
        let of_v = inertia.times(both);
        let by_q = Force::new(
            moments.times_add(first.angular, of_q.moment),
            forces.times_add(first.angular, of_q.force),
        );
        let by_v = Force::new(
            moments.times_add(s.angular, of_v.moment),
            forces.times_add(s.angular, of_v.force),
        );
        let carried = Force::new(
            s.angular
                .cross_add(force.moment, s.linear.cross(force.force)),
            s.angular.cross(force.force),
        );
        let reference = model.tree().dofs[pack * K::WIDTH / GROUP * GROUP].body;
        let reference = self.inverse.body[reference].origin;
        let origin = known.origin;
        let d = Vec3::new(
            origin.x - K::spread(reference.x),
            origin.y - K::spread(reference.y),
            origin.z - K::spread(reference.z),
        );
        let mut numbers = [K::Many::zero(); sweeps::NUMBERS];
        write_motion(&mut numbers, sweeps::AXIS, inverse::motion_seen(s, d));
        write_motion(
            &mut numbers,
            sweeps::SECOND,
            inverse::motion_seen(second, d),
        );
        write_motion(&mut numbers, sweeps::BOTH, inverse::motion_seen(both, d));
        write_force(
            &mut numbers,
            sweeps::MINUS_PSI,
            inverse::force_seen(-joined.psi, d),
        );
        write_force(&mut numbers, sweeps::BY_Q, inverse::force_seen(by_q, d));
        write_force(&mut numbers, sweeps::BY_V, inverse::force_seen(by_v, d));
        write_force(
            &mut numbers,
            sweeps::CARRIED,
            inverse::force_seen(carried, d),
        );
        write_vec(&mut numbers, sweeps::MINUS_BACK, -joined.back);
        write_vec(&mut numbers, sweeps::FIRST, first.angular);
        write_vec(&mut numbers, sweeps::ORIGIN, origin);
        numbers[sweeps::MINUS_INVERSE] = -joined.inverse;
        numbers
    }
}
