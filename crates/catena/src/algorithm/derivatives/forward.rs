//! ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ = I⁻¹ of forward dynamics.
//!
//! Inverse dynamics inverts forward dynamics, whatever q and v:
//!
//! ```text
//! τ(q, v, v̇(q, v, τ)) = τ    ⇒    I ∂v̇/∂q = −∂τ/∂q,   I ∂v̇/∂v = −∂τ/∂v,   I ∂v̇/∂τ = 1        (at v̇ of this state)
//! ```
//!
//! (Carpentier & Mansard 2018.) The right-hand sides are never formed. Column j of ∂τ is the effort for a motion of everything
//! beyond freedom j, Ψ̈ⱼ and Ψ̇ⱼ for ∂q, Φⱼ and sⱼ for ∂v (equations 1 and 2 of [`inverse`]), and the result of the UDUᵀ sweeps over
//! it is known in advance: bodies that are free to move on their joints respond to a motion of their root with their *articulated*
//! inertia M̂, and to its velocity with a 6×3 operator B̂, from which freedoms are eliminated likewise,
//!
//! ```text
//! tips to base   M̂ ← M̂ − ψₖ m̂ₖ ψₖᵀ,   m̂ₖ βₖ = B̂ᵀ sₖ,   B̂ ← B̂ − ψₖ m̂ₖ βₖᵀ,      sums over children, B̂ of a body: 2B      (1)
//! ```
//!
//! With that, inward from the start of column j (rows k = j and towards the base)
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
//! So rows beyond a column need no inward sweep, rows before it no entry of ∂τ. For ∂v̇/∂τ there is ŷⱼ = −1 instead. Columns
//! are independent of one another and are processed in packs, all three kinds together, in registers. Everything is in the axes of
//! the base; the reference point is the origin of the first body in every group of eight freedoms and moves with the sweep, so
//! that no digits are lost to a distant one. Springs and dampers add a diagonal to ∂τ: their contribution is −I⁻¹ times it.
//! Cost O(n²), O(n) per column.
//!
//! External wrenches are constant in body axes. The effect of a wrench w on body b, in body axes about the body's origin, is
//! ∂v̇/∂w = I⁻¹ Jᵀ with the body Jacobian J
//! ([`body_jacobian`](crate::algorithm::kinematics::body_jacobian)); ∂τ/∂w = −Jᵀ.

use super::inverse::{self, Beyond, Body, Sum, Visit, force_seen, motion_seen, wrench_seen};
use super::sweeps::{SweepRecord, Sweeps};
use crate::algorithm::elements;
use crate::algorithm::factorization::{Factorization, FactorsRef};
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::algorithm::pack::{GROUP, One, Sink};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::space::{Components, Constants, Freedom, JointIn, Space, in_space};
use crate::spatial::{Force, Vec3};
use crate::state::StateView;

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
    /// Matrices for the derivatives of this model.
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
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing. They are
/// taken as constant in body axes, and so are those of force elements here; [`Dynamics`](crate::Dynamics) adds the derivatives of
/// the latter.
pub fn forward_dynamics_derivatives<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    tau: &[S],
    external: &[Force<S>],
    work: &mut ForwardDerivativesWork<S>,
    derivatives: &mut ForwardDerivatives<S>,
) {
    let mut sum = Vec::new();
    let external = elements::loaded(model, state, external, &mut sum);
    articulated_bodies::kernel(
        model,
        state,
        tau,
        external,
        &mut work.forward,
        &mut derivatives.vdot,
    );
    let (vdot, factors) = (&derivatives.vdot, &work.forward.factors);
    work.recursion.run(model, state, vdot, external, factors);
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

/// Sums over everything beyond a joint with the joints beyond free, about the body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free<E: Space> {
    pub(crate) inertia: E::Articulated,
    /// B̂: moments and forces by angular motion.
    pub(crate) moments: E::Matrix,
    pub(crate) forces: E::Matrix,
    /// f̃, from which nothing is eliminated.
    pub(crate) force: E::Wrench,
}

impl<E: Space> Beyond<E> for Free<E> {
    #[inline(always)]
    fn none() -> Self {
        Free {
            inertia: E::no_inertia(),
            moments: E::no_matrix(),
            forces: E::no_matrix(),
            force: E::wrench(E::zero(), E::zero()),
        }
    }

    #[inline(always)]
    fn of(own: Sum<E>) -> Self {
        Free {
            inertia: E::rigid_of(&own.inertia),
            moments: E::matrix_scaled(own.convective, -2.0),
            forces: E::skew_scaled(own.momentum, -2.0),
            force: own.force,
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Free {
            inertia: E::joined(self.inertia, b.inertia),
            moments: E::matrix_sum(self.moments, b.moments),
            forces: E::matrix_sum(self.forces, b.forces),
            force: E::wrench_sum(&self.force, &b.force),
        }
    }

    #[inline(always)]
    fn shifted(self, d: &E::Vector) -> Self {
        Free {
            inertia: E::moved(self.inertia, d),
            moments: E::plus_cross_columns(self.moments, E::lever(*d), &self.forces),
            forces: self.forces,
            force: wrench_seen::<E>(&self.force, *d),
        }
    }
}

impl<E: Space> Free<E> {
    /// Eliminates a freedom, (1): returns the remainder, and β m̂.
    #[inline(always)]
    fn without(self, axis: &E::Motion, psi: &E::Wrench, inverse: E::Number) -> (Self, E::Vector) {
        let (turn, slide) = (E::angular(axis), E::linear(axis));
        let back = E::transposes_times(&self.moments, turn, &self.forces, slide);
        let spread = E::spread(back);
        let rest = Free {
            inertia: E::without(self.inertia, psi, inverse),
            moments: E::minus_outer(self.moments, E::moment(psi), spread),
            forces: E::minus_outer(self.forces, E::force(psi), spread),
            force: self.force,
        };
        (rest, back)
    }
}

/// Eliminates freedom `at` of body i from `rest`, (1): returns its ψ in the axes of the base, and β m̂.
#[inline(always)]
pub(crate) fn take_out<E: Space>(
    constants: &impl Constants<E>,
    factors: FactorsRef<'_, E>,
    (i, at): (usize, usize),
    body: &Body<E>,
    axis: &E::Motion,
    rest: &mut Free<E>,
) -> (E::Wrench, E::Vector) {
    let setting = constants.setting(i, factors.angles);
    let kept = E::kept(&factors.pose[i]);
    let psi = in_space!(E, constants.node(i).kind, joint => {
        joint.restore(setting, kept, &factors.psi[at])
    });
    let psi = E::wrench(
        E::times(&body.rotation, E::spread(E::moment(&psi))),
        E::times(&body.rotation, E::spread(E::force(&psi))),
    );
    let (left, back) = rest.without(axis, &psi, factors.inverse[at]);
    *rest = left;
    (psi, back)
}

/// Data of a body and its joint that a column needs, about the body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joined<M: Scalar> {
    pub(crate) free: Free<Components<M>>,
    pub(crate) psi: Force<M>,
    pub(crate) back: Vec3<M>,
    pub(crate) inverse: M,
}

/// Workspace of the O(n) half.
pub(crate) type Recursion<S> = inverse::Recursion<S, Free<Components<S>>, SweepRecord<S>>;

impl<S: Scalar> Recursion<S> {
    /// Computes the record of every freedom from the state, its acceleration and its factors.
    #[inline(always)]
    pub fn run<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        state: StateView<'_, S>,
        vdot: &[S],
        external: &[Force<S>],
        factors: &Factorization<S>,
    ) {
        let mut freedoms = std::mem::take(&mut self.freedoms);
        self.run_into(model, state, vdot, external, factors, &mut freedoms[..]);
        self.freedoms = freedoms;
    }

    /// The O(n) half, with the records of freedoms passed to a sink as they are computed.
    #[inline(always)]
    pub fn run_into<P: Parameter<S>, T: Sink<SweepRecord<S>> + ?Sized>(
        &mut self,
        model: &Model<P>,
        state: StateView<'_, S>,
        vdot: &[S],
        external: &[Force<S>],
        factors: &Factorization<S>,
        sink: &mut T,
    ) {
        let factors = factors.found();
        let known = Some(factors);
        let inverse::Recursion { outward, forks, .. } = self;
        outward.run_apart(model, state, vdot, known);
        let mut visit = TakeOut {
            model,
            bodies: &outward.body,
            factors,
            sink,
        };
        outward.back(
            model, model, state, vdot, external, known, forks, &mut visit,
        );
    }
}

/// Eliminates every freedom and passes its record on.
struct TakeOut<'a, S: Scalar, P, T: ?Sized> {
    model: &'a Model<P>,
    bodies: &'a [Body<Components<S>>],
    factors: FactorsRef<'a, Components<S>>,
    sink: &'a mut T,
}

impl<S: Scalar, P: Parameter<S>, T: Sink<SweepRecord<S>> + ?Sized> Visit<Components<S>>
    for TakeOut<'_, S, P, T>
{
    type Beyond = Free<Components<S>>;

    #[inline(always)]
    fn freedom(
        &mut self,
        at: usize,
        body: &Body<Components<S>>,
        freedom: &Freedom<Components<S>>,
        whole: &Self::Beyond,
        rest: &mut Self::Beyond,
    ) {
        let dofs = &self.model.tree().dofs;
        let (place, inverse) = ((dofs[at].body, at), self.factors.inverse[at]);
        let (psi, back) = take_out(self.model, self.factors, place, body, &freedom.axis, rest);
        let joined = Joined {
            free: *whole,
            psi,
            back: back * inverse,
            inverse,
        };
        let reference = self.bodies[dofs[at / GROUP * GROUP].body].origin;
        let room = self.sink.room(at);
        terms(freedom, body.origin, reference, &joined, room);
        self.sink.filled(at);
    }
}

/// Data of a freedom that the sweeps need, about a reference point; this point and the body's origin are relative to the same point.
#[inline(always)]
pub(crate) fn terms<M: Scalar>(
    freedom: &Freedom<Components<M>>,
    origin: Vec3<M>,
    reference: Vec3<M>,
    joined: &Joined<M>,
    record: &mut SweepRecord<M>,
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
    *record = SweepRecord {
        axis: motion_seen(s, d).to_array(),
        minus_psi: force_seen(-joined.psi, d).to_array(),
        minus_back: (-joined.back).to_array(),
        minus_inverse: [-joined.inverse],
        second: motion_seen(second, d).to_array(),
        first: first.angular.to_array(),
        both: motion_seen(both, d).to_array(),
        by_q: force_seen(by_q, d).to_array(),
        by_v: force_seen(by_v, d).to_array(),
        carried: force_seen(carried, d).to_array(),
        origin: origin.to_array(),
    };
}
