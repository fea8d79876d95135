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

use super::inverse::{self, Beyond, Body, Freedom, Sum, Visit, force_seen, motion_seen};
use super::sweeps::{self, Numbers, Sweeps};
use crate::algorithm::Card;
use crate::algorithm::factorization::Factorization;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::algorithm::pack::{GROUP, One, Sink, write_force, write_motion, write_vec};
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
    recursion: Recursion<S>,
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
    work.sweeps.run(
        model,
        &work.recursion.freedoms,
        [
            derivatives.dq.as_mut_slice(),
            derivatives.dv.as_mut_slice(),
            derivatives.dtau.as_mut_slice(),
        ],
    );
}

/// What adds up over everything beyond a joint while the joints beyond are free, about the body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free<S> {
    pub(crate) inertia: ArticulatedInertia<S>,
    /// B̂: moments and forces by angular motion.
    pub(crate) moments: Mat3<S>,
    pub(crate) forces: Mat3<S>,
    /// f̃, which needs no freedom.
    pub(crate) force: Force<S>,
}

impl<S: Scalar> Beyond<S> for Free<S> {
    #[inline(always)]
    fn none() -> Self {
        Free {
            inertia: ArticulatedInertia::zero(),
            moments: Mat3::zero(),
            forces: Mat3::zero(),
            force: Force::zero(),
        }
    }

    #[inline(always)]
    fn of(own: Sum<S>) -> Self {
        let minus_two = S::constant(-2.0);
        Free {
            inertia: own.inertia.articulated(),
            moments: own.convective * minus_two,
            forces: Mat3::skew(own.momentum) * minus_two,
            force: own.force,
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
            force: force_seen(self.force, d),
        }
    }
}

impl<S: Scalar> Free<S> {
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

/// What a column needs of its body and joint, about the body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joined<M> {
    pub(crate) free: Free<M>,
    pub(crate) psi: Force<M>,
    pub(crate) back: Vec3<M>,
    pub(crate) inverse: M,
}

/// Workspace of the half that is linear in the number of bodies.
pub(crate) type Recursion<S> = inverse::Recursion<S, Free<S>, { sweeps::NUMBERS }>;

impl<S: Scalar> Recursion<S> {
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
        let mut freedoms = std::mem::take(&mut self.freedoms);
        self.run_into(model, state, base, external, factors, &mut freedoms[..]);
        self.freedoms = freedoms;
    }

    /// The same, with the numbers of freedoms handed on as they are found.
    #[inline(always)]
    pub fn run_into<P: Parameter<S>, T: Sink<S, { sweeps::NUMBERS }> + ?Sized>(
        &mut self,
        model: &Model<P>,
        state: [&[S]; 3],
        base: &Base<S>,
        external: &[Force<S>],
        factors: &Factorization<S>,
        sink: &mut T,
    ) {
        let known = Some(factors);
        self.outward.run(model, state, base, known);
        let inverse::Recursion { outward, forks, .. } = self;
        let mut visit = TakeOut {
            model,
            bodies: &outward.body,
            factors,
            sink,
        };
        outward.back(model, state, external, known, forks, &mut visit);
    }
}

/// Takes out every freedom and hands on its numbers.
struct TakeOut<'a, S, P, T: ?Sized> {
    model: &'a Model<P>,
    bodies: &'a [Body<S>],
    factors: &'a Factorization<S>,
    sink: &'a mut T,
}

impl<S: Scalar, P: Parameter<S>, T: Sink<S, { sweeps::NUMBERS }> + ?Sized> Visit<S>
    for TakeOut<'_, S, P, T>
{
    type Beyond = Free<S>;

    #[inline(always)]
    fn freedom(
        &mut self,
        at: usize,
        body: &Body<S>,
        freedom: &Freedom<S>,
        whole: &Free<S>,
        rest: &mut Free<S>,
    ) {
        let tree = self.model.tree();
        let (i, factors) = (tree.dofs[at].body, self.factors);
        let setting = self.model.setting(i, &factors.angles);
        let psi = with_joint!(tree.nodes[i].kind, J => {
            J::<S>::at(setting, &factors.pose[i]).restore(factors.psi[at])
        });
        let psi = Force::new(body.rotation * psi.moment, body.rotation * psi.force);
        let inverse = factors.inverse[at];
        let (left, back) = rest.without(freedom.axis, psi, inverse); // (1)
        *rest = left;
        let joined = Joined {
            free: *whole,
            psi,
            back,
            inverse,
        };
        let reference = self.bodies[tree.dofs[at / GROUP * GROUP].body].origin;
        let room = self.sink.room(at);
        numbers(freedom, body.origin, reference, &joined, room);
        self.sink.filled(at);
    }
}

/// What the sweeps need of a freedom, about a reference point; that and the body's origin are seen from the same point.
#[inline(always)]
pub(crate) fn numbers<M: Scalar>(
    freedom: &Freedom<M>,
    origin: Vec3<M>,
    reference: Vec3<M>,
    joined: &Joined<M>,
    numbers: &mut Numbers<M>,
) {
    let Free {
        inertia,
        moments,
        forces,
        force,
    } = joined.free;
    let s = freedom.axis;
    let [first, second, both] = freedom.columns();
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
    let carried = inverse::carried(s, force);
    let d = origin - reference;
    write_motion(numbers, sweeps::AXIS, motion_seen(s, d));
    write_motion(numbers, sweeps::SECOND, motion_seen(second, d));
    write_motion(numbers, sweeps::BOTH, motion_seen(both, d));
    write_force(numbers, sweeps::MINUS_PSI, force_seen(-joined.psi, d));
    write_force(numbers, sweeps::BY_Q, force_seen(by_q, d));
    write_force(numbers, sweeps::BY_V, force_seen(by_v, d));
    write_force(numbers, sweeps::CARRIED, force_seen(carried, d));
    write_vec(numbers, sweeps::MINUS_BACK, -joined.back);
    write_vec(numbers, sweeps::FIRST, first.angular);
    write_vec(numbers, sweeps::ORIGIN, origin);
    numbers[sweeps::MINUS_INVERSE] = -joined.inverse;
}
