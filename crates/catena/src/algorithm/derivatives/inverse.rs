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
//! damping to that of ∂τ/∂v, rotors to that of I. The derivative of Coulomb friction is 0 wherever it exists. External wrenches
//! are constant in body axes, so they enter through f̃ alone.
//!
//! | symbol | in code |
//! |---|---|
//! | sₖ, V⁻, V⁻ + V⁺, A⁻ | `Freedom::{axis, before, around, rate}` |
//! | M̃, K̃, p̃, f̃ | `Sum::{inertia, convective, momentum, force}` |
//! | brackets of (4) | `by_q`, `by_v`, `momentum` of `PairRecord` |
//! | Ψ̈, Ψ̇ (angular), Φ | `second`, `first`, `both` of `PairRecord` |
//!
//! Everything is gathered about body origins; (4) and (5) use the origin of the tree's first body for all its freedoms, so
//! that a row is a loop of products over contiguous columns (the freedoms beyond a joint are numbered without gaps). The
//! pose of the base in the world and its linear velocity never enter. Cost O(n d) products, O(n²) entries.

use super::pairs::{PairRecord, Pairs};
use crate::algorithm::elements;
use crate::algorithm::factorization::FactorsRef;
use crate::algorithm::pack::{One, Record, Sink};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Angles;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar, Task};
use crate::space::{Components, Constants, Freedom, JointIn, Space, in_space};
use crate::spatial::{Force, Motion, Pose, Vec3};
use crate::state::StateView;

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
    /// ∂τ/∂v̇, the inertia matrix. Its moments are summed in the axes of the base: where a slender body turns about its own axis, an entry
    /// is accurate to round-off of the largest moment, and [`inertia_matrix`](crate::algorithm::inertia_matrix) keeps more digits.
    pub inertia: Matrix<S>,
}

impl<S: Scalar> InverseDerivatives<S> {
    /// Matrices for the derivatives of this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let nv = model.nv();
        InverseDerivatives {
            dq: Matrix::zeros(nv, nv),
            dv: Matrix::zeros(nv, nv),
            inertia: Matrix::zeros(nv, nv),
        }
    }
}

/// One body, after the outward pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<E: Space> {
    pub(crate) rotation: E::Matrix,
    /// Origin of the body, from that of the tree's first body.
    pub(crate) origin: E::Vector,
    /// Origin of the body, from that of the parent.
    pub(crate) step: E::Vector,
    pub(super) velocity: E::Motion,
    pub(super) rate: E::Motion,
}

/// Sums over everything beyond a joint, about the body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum<E: Space> {
    pub(crate) inertia: E::Moments,
    pub(crate) convective: E::Matrix,
    pub(crate) momentum: E::Vector,
    pub(crate) force: E::Wrench,
}

impl<M: Scalar> Freedom<Components<M>> {
    /// (1): Ψ̇, Ψ̈, Φ.
    #[inline(always)]
    pub(super) fn columns(&self) -> [Motion<M>; 3] {
        let s = self.axis;
        let first = self.before.cross(s);
        let second = self.rate.cross(s) + self.before.cross(first);
        [first, second, self.around.cross(s)]
    }
}

/// Data of a freedom that (1–3) need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathered<M: Scalar> {
    pub(crate) freedom: Freedom<Components<M>>,
    /// Origin of the body.
    pub(crate) origin: Vec3<M>,
    pub(crate) sum: Sum<Components<M>>,
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
pub struct InverseDerivativesWork<S: Scalar>(PairRecursion<S>, Pairs<S>);

impl<S: Scalar> InverseDerivativesWork<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        InverseDerivativesWork(PairRecursion::new(model), Pairs::new::<S, One, P>(model))
    }
}

/// Workspace of an outward and inward pass, and the records of all freedoms.
#[derive(Clone, Debug)]
pub(crate) struct Recursion<S: Scalar, B, R> {
    pub(super) outward: Outward<Components<S>>,
    /// Sums from children that are not numbered directly after their parent.
    pub(super) forks: Vec<B>,
    pub(crate) freedoms: Vec<R>,
}

impl<S: Scalar, B: Beyond<Components<S>>, R: Record<S>> Recursion<S, B, R> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        Recursion {
            outward: Outward::new(model),
            forks: vec![B::none(); model.body_count() + 1],
            freedoms: vec![R::zero(); model.nv()],
        }
    }
}

/// Recursion of the derivatives of inverse dynamics.
pub(crate) type PairRecursion<S> = Recursion<S, Sum<Components<S>>, PairRecord<S>>;

impl<S: Scalar> PairRecursion<S> {
    /// The O(n) half, inlined into the caller so that it is compiled for the caller's instruction set.
    #[inline(always)]
    pub fn run<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        state: StateView<'_, S>,
        vdot: &[S],
        external: &[Force<S>],
    ) {
        let mut freedoms = std::mem::take(&mut self.freedoms);
        self.run_into(model, state, vdot, external, &mut freedoms[..]);
        self.freedoms = freedoms;
    }

    /// The O(n) half, with the records of freedoms passed to a sink as they are computed.
    #[inline(always)]
    pub fn run_into<P: Parameter<S>, T: Sink<PairRecord<S>> + ?Sized>(
        &mut self,
        model: &Model<P>,
        state: StateView<'_, S>,
        vdot: &[S],
        external: &[Force<S>],
        sink: &mut T,
    ) {
        let Recursion { outward, forks, .. } = self;
        outward.run_apart(model, state, vdot, None);
        let mut visit = IntoRecords(sink);
        outward.back(model, model, state, vdot, external, None, forks, &mut visit);
    }
}

/// The record of every freedom.
struct IntoRecords<'a, T: ?Sized>(&'a mut T);

impl<S: Scalar, T: Sink<PairRecord<S>> + ?Sized> Visit<Components<S>> for IntoRecords<'_, T> {
    type Beyond = Sum<Components<S>>;

    #[inline(always)]
    fn freedom(
        &mut self,
        at: usize,
        body: &Body<Components<S>>,
        freedom: &Freedom<Components<S>>,
        sum: &Self::Beyond,
        _rest: &mut Self::Beyond,
    ) {
        let gathered = Gathered {
            freedom: *freedom,
            origin: body.origin,
            sum: *sum,
        };
        brackets(&gathered, self.0.room(at));
        self.0.filled(at);
    }
}

impl<E: Space> Beyond<E> for Sum<E> {
    #[inline(always)]
    fn none() -> Self {
        Sum {
            inertia: E::no_moments(),
            convective: E::no_matrix(),
            momentum: E::zero(),
            force: E::wrench(E::zero(), E::zero()),
        }
    }

    #[inline(always)]
    fn of(own: Sum<E>) -> Self {
        own
    }

    #[inline(always)]
    fn shifted(self, d: &E::Vector) -> Self {
        Sum {
            inertia: E::shifted(self.inertia, d),
            convective: E::plus_cross_cross(self.convective, d, self.momentum), // K + d̃ p̃
            momentum: self.momentum,
            force: wrench_seen::<E>(&self.force, *d),
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Sum {
            inertia: E::add_moments(self.inertia, b.inertia),
            convective: E::matrix_sum(self.convective, b.convective),
            momentum: self.momentum + b.momentum,
            force: E::wrench_sum(&self.force, &b.force),
        }
    }
}

impl<E: Space> Sum<E> {
    /// A single body, in the common axes about its own origin.
    #[inline(always)]
    fn of_body(inertia: E::Moments, velocity: &E::Motion, rate: &E::Motion) -> Self {
        let (angular, v) = (E::angular(velocity), E::linear(velocity));
        let omega = E::lever(angular);
        let turning = E::angular_rate(angular, E::spread(angular), E::angular(rate));
        let of_origin = E::cross_plus(omega, v, E::linear(rate));
        let (h, spun) = (E::first_of(&inertia), E::second_spun(&inertia, omega));
        Sum {
            inertia,
            convective: E::plus_cross_cross(spun, &h, v), // (3): K = ω̃ Σ + h̃ ṽ
            momentum: E::linear_momentum(&inertia, omega, v),
            force: E::newton_euler(&inertia, &turning, of_origin),
        }
    }
}

/// The wrench about a point in which the present one is at `d`.
#[inline(always)]
pub(super) fn wrench_seen<E: Space>(f: &E::Wrench, d: E::Vector) -> E::Wrench {
    let moment = E::cross_plus(E::lever(d), E::force(f), E::moment(f));
    E::wrench(moment, E::force(f))
}

/// The twist about a point in which the present one is at `d`.
#[inline(always)]
pub(super) fn motion_seen<S: Scalar>(m: Motion<S>, d: Vec3<S>) -> Motion<S> {
    Motion::new(m.angular, d.cross_add(m.angular, m.linear))
}

/// The wrench about a point in which the present one is at `d`.
#[inline(always)]
pub(super) fn force_seen<S: Scalar>(f: Force<S>, d: Vec3<S>) -> Force<S> {
    wrench_seen::<Components<S>>(&f, d)
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
pub(crate) fn brackets<M: Scalar>(g: &Gathered<M>, record: &mut PairRecord<M>) {
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
    *record = PairRecord {
        axis: motion_seen(s, g.origin).to_array(),
        momentum: force_seen(by_rate, g.origin).to_array(),
        back: back.to_array(),
        by_q: force_seen(by_q, g.origin).to_array(),
        by_v: force_seen(by_v, g.origin).to_array(),
        first: first.angular.to_array(),
        second: motion_seen(second, g.origin).to_array(),
        both: motion_seen(both, g.origin).to_array(),
    };
}

/// ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ of [`inverse_dynamics`](crate::algorithm::inverse_dynamics::inverse_dynamics) at (q, v, v̇).
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing. They are
/// taken as constant in body axes, and so are those of force elements here; [`Dynamics`](crate::Dynamics) adds the derivatives of
/// the latter.
pub fn inverse_dynamics_derivatives<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    vdot: &[S],
    external: &[Force<S>],
    work: &mut InverseDerivativesWork<S>,
    derivatives: &mut InverseDerivatives<S>,
) {
    let mut sum = Vec::new();
    let external = elements::loaded(model, state, external, &mut sum);
    work.0.run(model, state, vdot, external);
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

/// Quantities summed in the inward pass, about body origins.
pub(crate) trait Beyond<E: Space>: Copy {
    /// The sums of no body.
    fn none() -> Self;

    /// The sums of a body alone.
    fn of(own: Sum<E>) -> Self;

    fn plus(self, b: Self) -> Self;

    /// The sums about a point in which the present one is at `d`.
    fn shifted(self, d: &E::Vector) -> Self;
}

/// Action at every freedom in the outward pass.
pub(crate) trait Pass<E: Space> {
    fn freedom(&mut self, at: usize, origin: E::Vector, freedom: &Freedom<E>);
}

/// Nothing: the inward pass recomputes the freedoms.
pub(super) struct Nothing;

impl<E: Space> Pass<E> for Nothing {
    #[inline(always)]
    fn freedom(&mut self, _at: usize, _origin: E::Vector, _freedom: &Freedom<E>) {}
}

/// Action at every freedom in the inward pass, the last one first.
pub(crate) trait Visit<E: Space> {
    type Beyond: Beyond<E>;

    /// Are freedoms recomputed in the inward pass?
    const FINDS_AGAIN: bool = true;

    /// `whole`: of everything beyond the joint; `rest` is the part passed to the parent.
    fn freedom(
        &mut self,
        at: usize,
        body: &Body<E>,
        freedom: &Freedom<E>,
        whole: &Self::Beyond,
        rest: &mut Self::Beyond,
    );
}

/// The outward pass and its results. It stores little: whatever can be recomputed from two neighbouring bodies
/// is recomputed in the inward pass, because a batch of states in SIMD lanes does not fit into the L1 cache.
#[derive(Clone, Debug)]
pub(crate) struct Outward<E: Space> {
    angles: Angles<E::Number>,
    pub(super) body: Vec<Body<E>>,
}

impl<S: Scalar> Outward<Components<S>> {
    /// [`run`](Self::run), compiled once for every scalar.
    #[inline(always)]
    pub fn run_apart<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        state: StateView<'_, S>,
        vdot: &[S],
        known: Option<FactorsRef<'_, Components<S>>>,
    ) {
        S::apart(InComponents {
            outward: self,
            model,
            state,
            vdot,
            known,
        });
    }
}

/// The outward pass in components.
struct InComponents<'a, S: Scalar, P> {
    outward: &'a mut Outward<Components<S>>,
    model: &'a Model<P>,
    state: StateView<'a, S>,
    vdot: &'a [S],
    known: Option<FactorsRef<'a, Components<S>>>,
}

impl<S: Scalar, P: Parameter<S>> Task for InComponents<'_, S, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (model, state, vdot) = (self.model, self.state, self.vdot);
        self.outward
            .run(model, model, state, vdot, self.known, &mut Nothing);
    }
}

impl<E: Space> Outward<E> {
    pub fn new<P>(model: &Model<P>) -> Self {
        let still = E::motion(E::zero(), E::zero());
        let body = Body {
            rotation: E::rotation(E::kept(&E::pose(Pose::identity()))),
            origin: E::zero(),
            step: E::zero(),
            velocity: still,
            rate: still,
        };
        Outward {
            angles: E::angles(model.tree()),
            body: vec![body; model.body_count() + 1],
        }
    }

    /// Base to tips: rotations, velocities and accelerations, in the axes of the base. Poses are known with factors.
    #[inline(always)]
    pub fn run<P: Parameter<E::Number>>(
        &mut self,
        model: &Model<P>,
        constants: &impl Constants<E>,
        state: StateView<'_, E::Number>,
        vdot: &[E::Number],
        known: Option<FactorsRef<'_, E>>,
        pass: &mut impl Pass<E>,
    ) {
        let StateView { q, v, base } = state;
        match known {
            None => E::fill(&mut self.angles, model.tree(), q),
            Some(factors) => self.angles.fill_from(factors.angles),
        }
        let to_base = base.pose.rotation;
        let ground = &mut self.body[0];
        // relative to an observer moving with the base's origin
        let omega = to_base.transpose_times(base.velocity.angular);
        ground.velocity = E::motion(E::vector(omega), E::zero());
        let lift = base.acceleration.linear - model.gravity.lift();
        ground.rate = E::motion(
            E::vector(to_base.transpose_times(base.acceleration.angular)),
            E::vector(to_base.transpose_times(lift)),
        );
        let mut freedoms = [Freedom::none(); 6];
        for i in 1..=model.body_count() {
            let info = constants.node(i);
            let parent = &self.body[info.parent];
            let setting = constants.setting(i, &self.angles);
            self.body[i] = in_space!(E, info.kind, joint => {
                let pose = match known {
                    None => joint.pose(info.q, setting, q),
                    Some(factors) => factors.pose[i],
                };
                let kept = E::kept(&pose);
                let (rotation, step, origin) = if info.parent == 0 {
                    (E::rotation(kept), E::translation(kept), E::zero())
                } else {
                    let step = E::times(&parent.rotation, E::spread(E::translation(kept)));
                    let rotation = E::times_rotation(&parent.rotation, kept);
                    (rotation, step, parent.origin + step)
                };
                let before = carried_along(parent, step);
                let [velocity, rate] =
                    joint.through(info.v, setting, kept, &rotation, before, [v, vdot], &mut freedoms);
                Body { rotation, origin, step, velocity, rate }
            });
            for k in 0..info.kind.nv() {
                pass.freedom(info.v + k, self.body[i].origin, &freedoms[k]);
            }
        }
    }

    /// Tips to base: sums over everything beyond each joint.
    #[inline(always)]
    pub fn back<W: Visit<E>>(
        &self,
        model: &Model<impl Parameter<E::Number>>,
        constants: &impl Constants<E>,
        StateView { q, v, .. }: StateView<'_, E::Number>,
        vdot: &[E::Number],
        external: &[Force<E::Number>],
        known: Option<FactorsRef<'_, E>>,
        forks: &mut [W::Beyond],
        visit: &mut W,
    ) {
        for i in 1..=model.body_count() {
            if constants.node(i).gathers {
                forks[i] = W::Beyond::none();
            }
        }
        let mut freedoms = [Freedom::none(); 6];
        // of the body after this one, if it is a child
        let mut next = W::Beyond::none();
        for i in (1..=model.body_count()).rev() {
            let info = constants.node(i);
            let body = &self.body[i];
            let turned = E::moments(constants.inertia(i), &body.rotation);
            let mut own = Sum::of_body(turned, &body.velocity, &body.rate);
            if !external.is_empty() {
                let (w, turn) = (E::wrench_of(external[i]), &body.rotation);
                own.force = E::wrench(
                    E::moment(&own.force) - E::times(turn, E::spread(E::moment(&w))),
                    E::force(&own.force) - E::times(turn, E::spread(E::force(&w))),
                );
            }
            let mut whole = W::Beyond::of(own).plus(next);
            if info.gathers {
                whole = whole.plus(forks[i]);
            }
            let mut rest = whole;
            if W::FINDS_AGAIN {
                let setting = constants.setting(i, &self.angles);
                let before = carried_along(&self.body[info.parent], body.step);
                in_space!(E, info.kind, joint => {
                    let pose = match known {
                        None => joint.pose(info.q, setting, q),
                        Some(factors) => factors.pose[i],
                    };
                    let kept = E::kept(&pose);
                    joint.through(info.v, setting, kept, &body.rotation, before, [v, vdot], &mut freedoms);
                });
            }
            for k in (0..info.kind.nv()).rev() {
                visit.freedom(info.v + k, body, &freedoms[k], &whole, &mut rest);
            }
            if info.parent == 0 {
                next = W::Beyond::none();
            } else if info.parent + 1 == i {
                next = rest.shifted(&body.step);
            } else {
                forks[info.parent] = forks[info.parent].plus(rest.shifted(&body.step));
                next = W::Beyond::none();
            }
        }
    }
}

/// Velocity and acceleration of a point of the parent at the body's origin.
#[inline(always)]
fn carried_along<E: Space>(parent: &Body<E>, step: E::Vector) -> [E::Motion; 2] {
    let (velocity, rate) = (&parent.velocity, &parent.rate);
    let r = E::lever(step);
    [
        E::motion(E::angular(velocity), E::linear_at(velocity, r)),
        E::motion(E::angular(rate), E::linear_at(rate, r)),
    ]
}
