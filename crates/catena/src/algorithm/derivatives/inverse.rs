//! ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ = I of inverse dynamics, in one recursion and one sweep over pairs of freedoms.
//!
//! Singh, Russo & Wensing (2022), for every joint of this crate, with the composite operator in its smallest form. All
//! vectors are in the axes of the base. Column k of the motion space is sₖ; the frame just before freedom k moves with
//! V⁻, A⁻ (A: spatial acceleration, gravity included as −g of the base), the one just after with V⁺:
//!
//! ```text
//! Ψ̇ₖ = V⁻ × sₖ,   Ψ̈ₖ = A⁻ × sₖ + V⁻ × Ψ̇ₖ,   Φₖ = Ψ̇ₖ + V⁺ × sₖ                           (1)
//! ```
//!
//! A step δₖ carries everything beyond freedom k along rigidly and adds Ψ̇ₖ to its velocity, Ψ̈ₖ − V × Ψ̇ₖ to its
//! acceleration; a rate vₖ adds sₖ and Φₖ − V × sₖ. The wrench of a body, f = M A + V ×* M V, then changes by
//!
//! ```text
//! ∂f/∂qₖ = sₖ ×* f + M Ψ̈ₖ + 2B Ψ̇ₖ,     ∂f/∂vₖ = M Φₖ + 2B sₖ                                (2)
//! 2B = V ×* M − M V × + (M V) ×̄*   =  −2 [ ω̃ Σ + h̃ ṽ   0 ]                                  (3)
//!                                        [      p̃      0 ]      p = m v + ω × h
//! ```
//!
//! (3): written with the second moments Σ, the operator acts on the angular part alone and is one 3×3 block K and the linear
//! momentum p. Moving the reference point by d adds d̃ p̃ to K. Sums over everything beyond a joint (~) are gathered
//! once, and
//!
//! ```text
//! j beyond i:         ∂τᵢ/∂qⱼ = sᵢᵀ (sⱼ ×* f̃ⱼ + M̃ⱼ Ψ̈ⱼ + 2B̃ⱼ Ψ̇ⱼ),   ∂τᵢ/∂vⱼ = sᵢᵀ (M̃ⱼ Φⱼ + 2B̃ⱼ sⱼ)      (4)
//! i beyond j, or in   ∂τᵢ/∂qⱼ = (M̃ᵢ sᵢ)ᵀ Ψ̈ⱼ + (2B̃ᵢᵀ sᵢ)ᵀ Ψ̇ⱼ,         ∂τᵢ/∂vⱼ = (M̃ᵢ sᵢ)ᵀ Φⱼ + (2B̃ᵢᵀ sᵢ)ᵀ sⱼ   (5)
//! one rotation with j
//! ```
//!
//! The freedoms of a joint come one after another, as if massless bodies were between them, except the three rates of a
//! quaternion, which are one rotation with axes fixed in the child. Springs add their stiffness to the diagonal of ∂τ/∂q,
//! damping to that of ∂τ/∂v, rotors to that of I. Coulomb friction has slope 0 wherever it has one. External wrenches
//! are constant in body axes, so they enter through f̃ alone.
//!
//! | symbol | in code |
//! |---|---|
//! | sₖ, V⁻, V⁻ + V⁺, A⁻ | `Gathered::{axis, before, around, rate}` |
//! | M̃, K̃, p̃, f̃ | `Gathered::{inertia, convective, momentum, force}` |
//! | brackets of (4) | `pairs::{BY_Q, BY_V, MOMENTUM}` |
//! | Ψ̈, Ψ̇ (angular), Φ | `pairs::{SECOND, FIRST, BOTH}` |
//!
//! Everything is gathered about body origins; (4) and (5) use the origin of the tree's first body for all its freedoms, so
//! that a row is a loop of products over contiguous columns (the freedoms beyond a joint are numbered without gaps). Where
//! the base stands in the world never enters, nor does its linear velocity. Cost O(n d) products, O(n²) entries.

use super::pairs::{self, Numbers, Pairs};
use crate::algorithm::factorization::Factorization;
use crate::algorithm::pack::{
    One, Pack, Sink, set_force, set_inertia, set_mat, set_motion, set_vec, write_force,
    write_motion, write_vec,
};
use crate::algorithm::{Angles, Card};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::model::joint::{Joint, with_joint};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{AngularRate, Force, Mat3, Motion, RigidInertia, Sym3, Vec3};
use crate::state::Base;

/// Derivatives of inverse dynamics.
pub const CARD: Card = Card {
    name: "Derivatives of inverse dynamics",
    question: "derivatives of inverse dynamics",
    call: "inverse_dynamics_derivatives",
    file: "algorithm/derivatives/inverse.rs",
    order: "O(n d); O(n²) entries",
    source: "Singh, Russo & Wensing 2022; Carpentier & Mansard 2018",
};

/// ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ = I, nv × nv each. Row: effort; column: freedom.
#[derive(Clone, Debug)]
pub struct InverseDerivatives<S = f64> {
    /// ∂τ/∂q, along the increments of [`State::step`](crate::State::step).
    pub dq: Matrix<S>,
    /// ∂τ/∂v.
    pub dv: Matrix<S>,
    /// ∂τ/∂v̇, the inertia matrix.
    pub inertia: Matrix<S>,
}

impl<S: Scalar> InverseDerivatives<S> {
    /// Room for the derivatives of this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let nv = model.nv();
        InverseDerivatives {
            dq: Matrix::zeros(nv, nv),
            dv: Matrix::zeros(nv, nv),
            inertia: Matrix::zeros(nv, nv),
        }
    }
}

/// One body on the way out and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<S> {
    pub(crate) rotation: Mat3<S>,
    /// From the origin of the tree's first body.
    pub(crate) origin: Vec3<S>,
    /// From the origin of the parent.
    pub(crate) step: Vec3<S>,
    pub(super) velocity: Motion<S>,
    pub(super) rate: Motion<S>,
    pub(super) sum: Sum<S>,
}

/// What adds up over everything beyond a joint, about the body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum<S> {
    pub(super) inertia: RigidInertia<S>,
    pub(super) convective: Mat3<S>,
    pub(super) momentum: Vec3<S>,
    pub(super) force: Force<S>,
}

/// What (1–3) need of a pack of freedoms, about the origins of their bodies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered<M> {
    pub(super) axis: Motion<M>,
    pub(super) before: Motion<M>,
    pub(super) around: Motion<M>,
    pub(super) rate: Motion<M>,
    pub(super) origin: Vec3<M>,
    pub(super) inertia: RigidInertia<M>,
    pub(super) convective: Mat3<M>,
    pub(super) momentum: Vec3<M>,
    pub(super) force: Force<M>,
}

impl<M: Scalar> Gathered<M> {
    #[inline(always)]
    fn set<S: Scalar, K: Pack<S, Many = M>>(&mut self, lane: usize, sum: Sum<S>) {
        set_inertia::<S, K>(&mut self.inertia, lane, sum.inertia);
        set_mat::<S, K>(&mut self.convective, lane, sum.convective);
        set_vec::<S, K>(&mut self.momentum, lane, sum.momentum);
        set_force::<S, K>(&mut self.force, lane, sum.force);
    }
}

/// Workspace of [`inverse_dynamics_derivatives`].
#[derive(Clone, Debug)]
pub struct InverseDerivativesWork<S: Scalar>(Work<S, One>, Pairs<S>);

impl<S: Scalar> InverseDerivativesWork<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        InverseDerivativesWork(Work::new(model), Pairs::new::<S, One, P>(model))
    }
}

/// Workspace of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Work<S: Scalar, K: Pack<S>> {
    angles: Angles<S>,
    pub(super) body: Vec<Body<S>>,
    pub(super) gathered: Vec<Gathered<K::Many>>,
    pub(crate) packs: Vec<Numbers<K::Many>>,
}

impl<S: Scalar, K: Pack<S>> Work<S, K> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (zero, still, none) = (Vec3::zero(), Motion::zero(), Force::zero());
        let packs = model.nv().div_ceil(K::WIDTH);
        let body = Body {
            rotation: Mat3::identity(),
            origin: Vec3::zero(),
            step: Vec3::zero(),
            velocity: Motion::zero(),
            rate: Motion::zero(),
            sum: Sum::none(),
        };
        let gathered = Gathered {
            axis: still,
            before: still,
            around: still,
            rate: still,
            origin: zero,
            inertia: RigidInertia::zero(),
            convective: Mat3::zero(),
            momentum: zero,
            force: none,
        };
        Work {
            angles: Angles::new(model.tree()),
            body: vec![body; model.body_count() + 1],
            gathered: vec![gathered; packs],
            packs: vec![[K::Many::zero(); pairs::NUMBERS]; packs],
        }
    }
}

impl<S: Scalar> Sum<S> {
    #[inline(always)]
    fn none() -> Self {
        Sum {
            inertia: RigidInertia::zero(),
            convective: Mat3::zero(),
            momentum: Vec3::zero(),
            force: Force::zero(),
        }
    }

    /// A single body, in the common axes about its own origin.
    #[inline(always)]
    fn of_body(inertia: RigidInertia<S>, velocity: Motion<S>, rate: Motion<S>) -> Self {
        let (omega, v) = (velocity.angular, velocity.linear);
        let turning = AngularRate::new(omega, rate.angular);
        let of_origin = omega.cross_add(v, rate.linear);
        let h = inertia.first;
        // K = ω̃ Σ + h̃ ṽ, and h̃ ṽ = v hᵀ − (h·v) 1
        let spun = inertia.second.full().cross_columns(omega);
        let along = -h.dot(v);
        let convective = Mat3 {
            x: v.scale_add(h.x, Vec3::new(spun.x.x + along, spun.x.y, spun.x.z)),
            y: v.scale_add(h.y, Vec3::new(spun.y.x, spun.y.y + along, spun.y.z)),
            z: v.scale_add(h.z, Vec3::new(spun.z.x, spun.z.y, spun.z.z + along)),
        };
        Sum {
            inertia,
            convective, // (3)
            momentum: omega.cross_add(h, v * inertia.mass),
            force: inertia.newton_euler(turning, of_origin),
        }
    }

    /// The same about a point from which the present one is seen at `d`.
    #[inline(always)]
    pub(super) fn shifted(self, d: Vec3<S>) -> Self {
        let RigidInertia {
            mass,
            first: h,
            second: s,
        } = self.inertia;
        let first = d.scale_add(mass, h);
        let (k, p) = (self.convective, self.momentum);
        let along = -d.dot(p);
        Sum {
            inertia: RigidInertia {
                mass,
                first,
                second: Sym3::new(
                    h.x.mul_add(d.x, d.x.mul_add(first.x, s.xx)),
                    h.y.mul_add(d.y, d.y.mul_add(first.y, s.yy)),
                    h.z.mul_add(d.z, d.z.mul_add(first.z, s.zz)),
                    h.x.mul_add(d.y, d.x.mul_add(first.y, s.xy)),
                    h.x.mul_add(d.z, d.x.mul_add(first.z, s.xz)),
                    h.y.mul_add(d.z, d.y.mul_add(first.z, s.yz)),
                ),
            },
            // K + d̃ p̃, and d̃ p̃ = p dᵀ − (d·p) 1
            convective: Mat3 {
                x: p.scale_add(d.x, Vec3::new(k.x.x + along, k.x.y, k.x.z)),
                y: p.scale_add(d.y, Vec3::new(k.y.x, k.y.y + along, k.y.z)),
                z: p.scale_add(d.z, Vec3::new(k.z.x, k.z.y, k.z.z + along)),
            },
            momentum: p,
            force: force_seen(self.force, d),
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Sum {
            inertia: self.inertia + b.inertia,
            convective: self.convective + b.convective,
            momentum: self.momentum + b.momentum,
            force: self.force + b.force,
        }
    }
}

/// The twist about a point from which the present one is seen at `d`.
#[inline(always)]
pub(super) fn motion_seen<S: Scalar>(m: Motion<S>, d: Vec3<S>) -> Motion<S> {
    Motion::new(m.angular, d.cross_add(m.angular, m.linear))
}

/// The wrench about a point from which the present one is seen at `d`.
#[inline(always)]
pub(super) fn force_seen<S: Scalar>(f: Force<S>, d: Vec3<S>) -> Force<S> {
    Force::new(d.cross_add(f.force, f.moment), f.force)
}

/// (1) and the brackets of (4) and (5), of a pack.
#[inline(always)]
fn numbers<M: Scalar>(g: &Gathered<M>) -> Numbers<M> {
    let s = g.axis;
    let first = g.before.cross(s);
    let second = g.rate.cross(s) + g.before.cross(first);
    let both = g.around.cross(s); // (1)
    let minus_two = M::constant(-2.0);
    let (k, p) = (g.convective, g.momentum);
    let by_rate = g.inertia.momentum(s);
    let carried = Force::new(
        s.angular
            .cross_add(g.force.moment, s.linear.cross(g.force.force)),
        s.angular.cross(g.force.force),
    );
    let convective_q = Force::new(k * first.angular, p.cross(first.angular)) * minus_two;
    let convective_v = Force::new(k * s.angular, p.cross(s.angular)) * minus_two;
    let by_q = carried + g.inertia.momentum(second) + convective_q;
    let by_v = g.inertia.momentum(both) + convective_v;
    let back = s.linear.cross_add(p, k.transpose_times(s.angular)) * minus_two;
    let mut numbers = [M::zero(); pairs::NUMBERS];
    write_motion(&mut numbers, pairs::AXIS, motion_seen(s, g.origin));
    write_motion(&mut numbers, pairs::SECOND, motion_seen(second, g.origin));
    write_motion(&mut numbers, pairs::BOTH, motion_seen(both, g.origin));
    write_force(&mut numbers, pairs::MOMENTUM, force_seen(by_rate, g.origin));
    write_force(&mut numbers, pairs::BY_Q, force_seen(by_q, g.origin));
    write_force(&mut numbers, pairs::BY_V, force_seen(by_v, g.origin));
    write_vec(&mut numbers, pairs::BACK, back);
    write_vec(&mut numbers, pairs::FIRST, first.angular);
    numbers
}

/// ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ of [`inverse_dynamics`](crate::algorithm::inverse_dynamics::inverse_dynamics) at (q, v, v̇).
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing. They
/// are taken as constant in body axes.
pub fn inverse_dynamics_derivatives<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    vdot: &[S],
    base: &Base<S>,
    external: &[Force<S>],
    work: &mut InverseDerivativesWork<S>,
    derivatives: &mut InverseDerivatives<S>,
) {
    work.0.run(model, [q, v, vdot], base, external);
    work.0.fill();
    work.1.run::<S, One, P, true>(
        model,
        &work.0.packs,
        [
            derivatives.dq.as_mut_slice(),
            derivatives.dv.as_mut_slice(),
            derivatives.inertia.as_mut_slice(),
        ],
    );
}

impl<S: Scalar, K: Pack<S>> Work<S, K> {
    /// The half that is linear in the number of bodies. Inlined into the caller so that it is compiled for the caller's
    /// instruction set.
    #[inline(always)]
    pub fn run<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        state: [&[S]; 3],
        base: &Base<S>,
        external: &[Force<S>],
    ) {
        let mut packs = std::mem::take(&mut self.packs);
        self.run_into(model, state, base, external, &mut packs[..]);
        self.packs = packs;
    }

    /// The same, with the numbers of freedoms handed on as they are found, where each is a pack.
    #[inline(always)]
    pub fn run_into<P: Parameter<S>, T: Sink<K::Many, { pairs::NUMBERS }> + ?Sized>(
        &mut self,
        model: &Model<P>,
        state: [&[S]; 3],
        base: &Base<S>,
        external: &[Force<S>],
        sink: &mut T,
    ) {
        outwards(model, state, base, external, None, self);
        gather::<S, P, K, T, false>(model, self, sink);
    }

    /// Then what is done pack by pack, in wider registers.
    #[inline(always)]
    pub fn fill(&mut self) {
        if K::WIDTH > 1 {
            for k in 0..self.packs.len() {
                self.packs[k] = numbers(&self.gathered[k]);
            }
        }
    }
}

/// Sums over everything beyond each joint, without their derivatives.
#[inline(always)]
pub(super) fn sums<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: [&[S]; 3],
    base: &Base<S>,
    work: &mut Work<S, One>,
) {
    outwards(model, state, base, &[], None, work);
    gather::<S, P, One, [Numbers<S>], true>(model, work, &mut []);
}

/// Base to tips: axes, velocities, accelerations and the bodies' own wrenches, in the axes of the base.
#[inline(always)]
pub(super) fn outwards<S: Scalar, P: Parameter<S>, K: Pack<S>>(
    model: &Model<P>,
    [q, v, vdot]: [&[S]; 3],
    base: &Base<S>,
    external: &[Force<S>],
    known: Option<&Factorization<S>>,
    work: &mut Work<S, K>,
) {
    let tree = model.tree();
    match known {
        None => work.angles.fill(tree, q),
        Some(factors) => {
            work.angles.sin.copy_from_slice(&factors.angles.sin);
            work.angles.cos.copy_from_slice(&factors.angles.cos);
        }
    }
    let to_base = base.pose.rotation;
    let ground = &mut work.body[0];
    // seen by an observer who flies along with the base's origin
    ground.velocity = Motion::new(to_base.transpose_times(base.velocity.angular), Vec3::zero());
    ground.rate = Motion::new(
        to_base.transpose_times(base.acceleration.angular),
        to_base.transpose_times(base.acceleration.linear - model.gravity.lift()),
    );
    for i in 1..=model.body_count() {
        let info = tree.nodes[i];
        let parent = &work.body[info.parent];
        let setting = model.setting(i, &work.angles);
        let pose = match known {
            None => with_joint!(info.kind, J => { J::<S>::pose(setting, &q[info.q..]) }),
            Some(factors) => factors.pose[i],
        };
        let (rotation, step, origin) = if info.parent == 0 {
            (pose.rotation, pose.translation, Vec3::zero())
        } else {
            let step = parent.rotation * pose.translation;
            (parent.rotation * pose.rotation, step, parent.origin + step)
        };
        // the parent's motion at the new origin
        let (before, rate_before) = (parent.velocity, parent.rate);
        let mut velocity = Motion::new(
            before.angular,
            before.angular.cross_add(step, before.linear),
        );
        let mut rate = Motion::new(
            rate_before.angular,
            rate_before.angular.cross_add(step, rate_before.linear),
        );
        let rotation_start = match info.kind.quaternion() {
            Some(first) => first,
            None => usize::MAX,
        };
        with_joint!(info.kind, J => {
            let joint = J::<S>::at(setting, &pose);
            let mut held = velocity;
            let mut held_rate = rate;
            for k in 0..J::<S>::NV {
                let at = info.v + k;
                let axis = joint.column_in(k, rotation);
                if k <= rotation_start {
                    (held, held_rate) = (velocity, rate);
                }
                let first = held.cross(axis);
                velocity = velocity + axis * v[at];
                rate = rate + axis * vdot[at] + first * v[at];
                let g = &mut work.gathered[at / K::WIDTH];
                let lane = at % K::WIDTH;
                set_motion::<S, K>(&mut g.axis, lane, axis);
                set_motion::<S, K>(&mut g.before, lane, held);
                set_motion::<S, K>(&mut g.around, lane, held + velocity);
                set_motion::<S, K>(&mut g.rate, lane, held_rate);
                set_vec::<S, K>(&mut g.origin, lane, origin);
            }
            if J::<S>::NV > 1 && rotation_start < J::<S>::NV {
                // one rotation: all its axes turn with the body
                for k in rotation_start..J::<S>::NV {
                    let at = info.v + k;
                    set_motion::<S, K>(&mut work.gathered[at / K::WIDTH].around, at % K::WIDTH, held + velocity);
                }
            }
        });
        let own = model.inertia::<S>(i);
        let turned = RigidInertia {
            mass: own.mass,
            first: rotation * own.first,
            second: own.second.conjugate(rotation),
        };
        let mut sum = Sum::of_body(turned, velocity, rate);
        if !external.is_empty() {
            let w = external[i];
            sum.force = sum.force - Force::new(rotation * w.moment, rotation * w.force);
        }
        work.body[i] = Body {
            rotation,
            origin,
            step,
            velocity,
            rate,
            sum,
        };
    }
}

/// Tips to base: sums over everything beyond each joint.
#[inline(always)]
fn gather<
    S: Scalar,
    P,
    K: Pack<S>,
    T: Sink<K::Many, { pairs::NUMBERS }> + ?Sized,
    const KEEP: bool,
>(
    model: &Model<P>,
    work: &mut Work<S, K>,
    sink: &mut T,
) {
    let tree = model.tree();
    for i in (1..=model.body_count()).rev() {
        let info = tree.nodes[i];
        let sum = work.body[i].sum;
        if info.parent != 0 {
            let shifted = sum.shifted(work.body[i].step);
            let parent = &mut work.body[info.parent];
            parent.sum = parent.sum.plus(shifted);
        }
        for at in (info.v..info.v + info.kind.nv()).rev() {
            let g = &mut work.gathered[at / K::WIDTH];
            let lane = at % K::WIDTH;
            if K::WIDTH == 1 && !KEEP {
                // nothing to wait for: the pack is complete, and nobody asks for it later
                let mut complete = *g;
                complete.set::<S, K>(lane, sum);
                sink.take(at, numbers(&complete));
            } else {
                g.set::<S, K>(lane, sum);
            }
        }
    }
}
