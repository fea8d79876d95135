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
//! | sₖ, V⁻, V⁻ + V⁺, A⁻ | `Freedom::{axis, before, around, rate}` |
//! | M̃, K̃, p̃, f̃ | `Sum::{inertia, convective, momentum, force}` |
//! | brackets of (4) | `pairs::{BY_Q, BY_V, MOMENTUM}` |
//! | Ψ̈, Ψ̇ (angular), Φ | `pairs::{SECOND, FIRST, BOTH}` |
//!
//! Everything is gathered about body origins; (4) and (5) use the origin of the tree's first body for all its freedoms, so
//! that a row is a loop of products over contiguous columns (the freedoms beyond a joint are numbered without gaps). Where
//! the base stands in the world never enters, nor does its linear velocity. Cost O(n d) products, O(n²) entries.

use super::pairs::{self, Numbers, Pairs};
use crate::algorithm::factorization::Factorization;
use crate::algorithm::pack::{One, Sink, write_force, write_motion, write_vec};
use crate::algorithm::{Angles, Card};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::model::joint::{Joint, JointKind, with_joint};
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

/// One body, as the way out leaves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<S> {
    pub(crate) rotation: Mat3<S>,
    /// From the origin of the tree's first body.
    pub(crate) origin: Vec3<S>,
    /// From the origin of the parent.
    pub(crate) step: Vec3<S>,
    pub(super) velocity: Motion<S>,
    pub(super) rate: Motion<S>,
}

/// What adds up over everything beyond a joint, about the body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum<S> {
    pub(crate) inertia: RigidInertia<S>,
    pub(crate) convective: Mat3<S>,
    pub(crate) momentum: Vec3<S>,
    pub(crate) force: Force<S>,
}

/// A freedom and the motions around it, about the origin of its body: sₖ, V⁻, V⁻ + V⁺, A⁻.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freedom<M> {
    pub(crate) axis: Motion<M>,
    pub(crate) before: Motion<M>,
    pub(crate) around: Motion<M>,
    pub(crate) rate: Motion<M>,
}

impl<M: Scalar> Freedom<M> {
    /// (1): Ψ̇, Ψ̈, Φ.
    #[inline(always)]
    pub(super) fn columns(&self) -> [Motion<M>; 3] {
        let s = self.axis;
        let first = self.before.cross(s);
        let second = self.rate.cross(s) + self.before.cross(first);
        [first, second, self.around.cross(s)]
    }

    #[inline(always)]
    fn none() -> Self {
        Freedom {
            axis: Motion::zero(),
            before: Motion::zero(),
            around: Motion::zero(),
            rate: Motion::zero(),
        }
    }
}

/// What (1–3) need of a freedom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathered<M> {
    pub(crate) freedom: Freedom<M>,
    /// Of the body.
    pub(crate) origin: Vec3<M>,
    pub(crate) sum: Sum<M>,
}

impl<M: Scalar> Gathered<M> {
    pub(super) fn none() -> Self {
        Gathered {
            freedom: Freedom::none(),
            origin: Vec3::zero(),
            sum: Sum::none(),
        }
    }
}

/// Workspace of [`inverse_dynamics_derivatives`].
#[derive(Clone, Debug)]
pub struct InverseDerivativesWork<S: Scalar>(Work<S>, Pairs<S>);

impl<S: Scalar> InverseDerivativesWork<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        InverseDerivativesWork(Work::new(model), Pairs::new::<S, One, P>(model))
    }
}

/// Workspace of a recursion from body to body and back, and the numbers it finds of every freedom.
#[derive(Clone, Debug)]
pub(crate) struct Recursion<S, B, const N: usize> {
    pub(super) outward: Outward<S>,
    /// What children that do not follow at once have handed on.
    pub(super) forks: Vec<B>,
    pub(crate) freedoms: Vec<[S; N]>,
}

impl<S: Scalar, B: Beyond<S>, const N: usize> Recursion<S, B, N> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        Recursion {
            outward: Outward::new(model),
            forks: vec![B::none(); model.body_count() + 1],
            freedoms: vec![[S::zero(); N]; model.nv()],
        }
    }
}

/// That of derivatives of inverse dynamics.
pub(crate) type Work<S> = Recursion<S, Sum<S>, { pairs::NUMBERS }>;

impl<S: Scalar> Work<S> {
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
        let mut freedoms = std::mem::take(&mut self.freedoms);
        self.run_into(model, state, base, external, &mut freedoms[..]);
        self.freedoms = freedoms;
    }

    /// The same, with the numbers of freedoms handed on as they are found.
    #[inline(always)]
    pub fn run_into<P: Parameter<S>, T: Sink<S, { pairs::NUMBERS }> + ?Sized>(
        &mut self,
        model: &Model<P>,
        state: [&[S]; 3],
        base: &Base<S>,
        external: &[Force<S>],
        sink: &mut T,
    ) {
        self.outward.run(model, state, base, None);
        let mut visit = IntoNumbers(sink);
        let Recursion { outward, forks, .. } = self;
        outward.back(model, state, external, None, forks, &mut visit);
    }
}

/// The numbers of every freedom.
struct IntoNumbers<'a, T: ?Sized>(&'a mut T);

impl<S: Scalar, T: Sink<S, { pairs::NUMBERS }> + ?Sized> Visit<S> for IntoNumbers<'_, T> {
    type Beyond = Sum<S>;

    #[inline(always)]
    fn freedom(
        &mut self,
        at: usize,
        body: &Body<S>,
        freedom: &Freedom<S>,
        sum: &Sum<S>,
        _rest: &mut Sum<S>,
    ) {
        let gathered = Gathered {
            freedom: *freedom,
            origin: body.origin,
            sum: *sum,
        };
        numbers(&gathered, self.0.room(at));
        self.0.filled(at);
    }
}

impl<S: Scalar> Beyond<S> for Sum<S> {
    #[inline(always)]
    fn none() -> Self {
        Sum {
            inertia: RigidInertia::zero(),
            convective: Mat3::zero(),
            momentum: Vec3::zero(),
            force: Force::zero(),
        }
    }

    #[inline(always)]
    fn of(own: Sum<S>) -> Self {
        own
    }

    #[inline(always)]
    fn shifted(self, d: Vec3<S>) -> Self {
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

impl<S: Scalar> Sum<S> {
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

/// s ×* f.
#[inline(always)]
pub(super) fn carried<M: Scalar>(s: Motion<M>, f: Force<M>) -> Force<M> {
    Force::new(
        s.angular.cross_add(f.moment, s.linear.cross(f.force)),
        s.angular.cross(f.force),
    )
}

/// The brackets of (4) and (5).
#[inline(always)]
pub(crate) fn numbers<M: Scalar>(g: &Gathered<M>, numbers: &mut Numbers<M>) {
    let s = g.freedom.axis;
    let [first, second, both] = g.freedom.columns();
    let minus_two = M::constant(-2.0);
    let Sum {
        inertia,
        convective: k,
        momentum: p,
        force,
    } = g.sum;
    let by_rate = inertia.momentum(s);
    let carried = carried(s, force);
    let convective_q = Force::new(k * first.angular, p.cross(first.angular)) * minus_two;
    let convective_v = Force::new(k * s.angular, p.cross(s.angular)) * minus_two;
    let by_q = carried + inertia.momentum(second) + convective_q;
    let by_v = inertia.momentum(both) + convective_v;
    let back = s.linear.cross_add(p, k.transpose_times(s.angular)) * minus_two;
    write_motion(numbers, pairs::AXIS, motion_seen(s, g.origin));
    write_motion(numbers, pairs::SECOND, motion_seen(second, g.origin));
    write_motion(numbers, pairs::BOTH, motion_seen(both, g.origin));
    write_force(numbers, pairs::MOMENTUM, force_seen(by_rate, g.origin));
    write_force(numbers, pairs::BY_Q, force_seen(by_q, g.origin));
    write_force(numbers, pairs::BY_V, force_seen(by_v, g.origin));
    write_vec(numbers, pairs::BACK, back);
    write_vec(numbers, pairs::FIRST, first.angular);
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
    work.1.run::<S, One, P, true>(
        model,
        &work.0.freedoms,
        [
            derivatives.dq.as_mut_slice(),
            derivatives.dv.as_mut_slice(),
            derivatives.inertia.as_mut_slice(),
        ],
    );
}

/// What adds up on the way back, about body origins.
pub(crate) trait Beyond<S: Scalar>: Copy {
    /// Of no body.
    fn none() -> Self;

    /// Of a body alone.
    fn of(own: Sum<S>) -> Self;

    fn plus(self, b: Self) -> Self;

    /// The same about a point from which the present one is seen at `d`.
    fn shifted(self, d: Vec3<S>) -> Self;
}

/// What is done at every freedom on the way back, the last one first.
pub(super) trait Visit<S: Scalar> {
    type Beyond: Beyond<S>;

    /// `whole`: of everything beyond the joint; `rest` is what the parent gets to see of it.
    fn freedom(
        &mut self,
        at: usize,
        body: &Body<S>,
        freedom: &Freedom<S>,
        whole: &Self::Beyond,
        rest: &mut Self::Beyond,
    );
}

/// The way from the base to the tips, and what it leaves. It leaves little: what can be found again from two neighbouring bodies
/// is, on the way back, because many states in lanes do not fit into the nearest cache.
#[derive(Clone, Debug)]
pub(crate) struct Outward<S> {
    angles: Angles<S>,
    pub(super) body: Vec<Body<S>>,
}

impl<S: Scalar> Outward<S> {
    pub fn new<P>(model: &Model<P>) -> Self {
        let body = Body {
            rotation: Mat3::identity(),
            origin: Vec3::zero(),
            step: Vec3::zero(),
            velocity: Motion::zero(),
            rate: Motion::zero(),
        };
        Outward {
            angles: Angles::new(model.tree()),
            body: vec![body; model.body_count() + 1],
        }
    }

    /// Base to tips: rotations, velocities and accelerations, in the axes of the base. Poses are known with factors.
    #[inline(always)]
    pub fn run<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        [q, v, vdot]: [&[S]; 3],
        base: &Base<S>,
        known: Option<&Factorization<S>>,
    ) {
        let tree = model.tree();
        match known {
            None => self.angles.fill(tree, q),
            Some(factors) => {
                self.angles.sin.copy_from_slice(&factors.angles.sin);
                self.angles.cos.copy_from_slice(&factors.angles.cos);
            }
        }
        let to_base = base.pose.rotation;
        let ground = &mut self.body[0];
        // seen by an observer who flies along with the base's origin
        ground.velocity = Motion::new(to_base.transpose_times(base.velocity.angular), Vec3::zero());
        ground.rate = Motion::new(
            to_base.transpose_times(base.acceleration.angular),
            to_base.transpose_times(base.acceleration.linear - model.gravity.lift()),
        );
        for i in 1..=model.body_count() {
            let info = tree.nodes[i];
            let parent = &self.body[info.parent];
            let setting = model.setting(i, &self.angles);
            self.body[i] = with_joint!(info.kind, J => {
                let pose = match known {
                    None => J::<S>::pose(setting, &q[info.q..]),
                    Some(factors) => factors.pose[i],
                };
                let (rotation, step, origin) = if info.parent == 0 {
                    (pose.rotation, pose.translation, Vec3::zero())
                } else {
                    let step = parent.rotation * pose.translation;
                    (parent.rotation * pose.rotation, step, parent.origin + step)
                };
                let joint = J::<S>::at(setting, &pose);
                let (before, rates) = (carried_along(parent, step), [&v[info.v..], &vdot[info.v..]]);
                let [velocity, rate] =
                    through(joint, info.kind, rotation, before, rates, &mut [Freedom::none(); 6]);
                Body { rotation, origin, step, velocity, rate }
            });
        }
    }

    /// Tips to base: what adds up over everything beyond each joint.
    #[inline(always)]
    pub(super) fn back<P: Parameter<S>, W: Visit<S>>(
        &self,
        model: &Model<P>,
        [q, v, vdot]: [&[S]; 3],
        external: &[Force<S>],
        known: Option<&Factorization<S>>,
        forks: &mut [W::Beyond],
        visit: &mut W,
    ) {
        let tree = model.tree();
        for i in 1..=model.body_count() {
            if tree.nodes[i].gathers {
                forks[i] = W::Beyond::none();
            }
        }
        let mut freedoms = [Freedom::none(); 6];
        // of the body after this one, if it is a child
        let mut next = W::Beyond::none();
        for i in (1..=model.body_count()).rev() {
            let info = tree.nodes[i];
            let body = &self.body[i];
            let turned = model.inertia::<S>(i).turned(body.rotation);
            let mut own = Sum::of_body(turned, body.velocity, body.rate);
            if !external.is_empty() {
                let (w, turn) = (external[i], body.rotation);
                own.force = own.force - Force::new(turn * w.moment, turn * w.force);
            }
            let mut whole = W::Beyond::of(own).plus(next);
            if info.gathers {
                whole = whole.plus(forks[i]);
            }
            let mut rest = whole;
            let setting = model.setting(i, &self.angles);
            with_joint!(info.kind, J => {
                let pose = match known {
                    None => J::<S>::pose(setting, &q[info.q..]),
                    Some(factors) => factors.pose[i],
                };
                let joint = J::<S>::at(setting, &pose);
                let before = carried_along(&self.body[info.parent], body.step);
                let rates = [&v[info.v..], &vdot[info.v..]];
                through(joint, info.kind, body.rotation, before, rates, &mut freedoms);
            });
            for k in (0..info.kind.nv()).rev() {
                visit.freedom(info.v + k, body, &freedoms[k], &whole, &mut rest);
            }
            if info.parent == 0 {
                next = W::Beyond::none();
            } else if info.parent + 1 == i {
                next = rest.shifted(body.step);
            } else {
                forks[info.parent] = forks[info.parent].plus(rest.shifted(body.step));
                next = W::Beyond::none();
            }
        }
    }
}

/// Velocity and acceleration of a point of the parent at the body's origin.
#[inline(always)]
fn carried_along<S: Scalar>(parent: &Body<S>, step: Vec3<S>) -> [Motion<S>; 2] {
    let (velocity, rate) = (parent.velocity, parent.rate);
    [
        Motion::new(
            velocity.angular,
            velocity.angular.cross_add(step, velocity.linear),
        ),
        Motion::new(rate.angular, rate.angular.cross_add(step, rate.linear)),
    ]
}

/// Through the freedoms of a joint, one after another: the motion beyond the last.
#[inline(always)]
fn through<S: Scalar, J: Joint<S>>(
    joint: J,
    kind: JointKind,
    rotation: Mat3<S>,
    [mut velocity, mut rate]: [Motion<S>; 2],
    [v, vdot]: [&[S]; 2],
    freedoms: &mut [Freedom<S>; 6],
) -> [Motion<S>; 2] {
    let one_rotation = match kind.quaternion() {
        Some(first) => first,
        None => usize::MAX,
    };
    let (mut held, mut held_rate) = (velocity, rate);
    for k in 0..J::NV {
        let axis = joint.column_in(k, rotation);
        if k <= one_rotation {
            (held, held_rate) = (velocity, rate);
        }
        let first = held.cross(axis);
        velocity = velocity + axis * v[k];
        rate = rate + axis * vdot[k] + first * v[k];
        freedoms[k] = Freedom {
            axis,
            before: held,
            around: held + velocity,
            rate: held_rate,
        };
    }
    if J::NV > 1 && one_rotation < J::NV {
        // all axes of one rotation turn with the body
        for k in one_rotation..J::NV {
            freedoms[k].around = held + velocity;
        }
    }
    [velocity, rate]
}
