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
//! | brackets of (4) | `Columns::{by_q, by_v, by_rate}` |
//! | Ψ̈, Ψ̇ (angular), Φ | `Columns::{second, first, both}` |
//!
//! Everything is gathered about body origins; (4) and (5) use the origin of the tree's first body for all its freedoms, so
//! that a row is a loop of products over contiguous columns (the freedoms beyond a joint are numbered without gaps). Where
//! the base stands in the world never enters, nor does its linear velocity. Cost O(n d) products, O(n²) entries.

use super::pack::{
    One, Pack, put, set_force, set_inertia, set_mat, set_motion, set_vec, spread_vec,
};
use crate::algorithm::factorization::Factorization;
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

/// What (4) and (5) need of a pack of freedoms, about the origin of the tree's first body.
#[derive(Clone, Copy, Debug)]
struct Columns<M> {
    by_q: Force<M>,
    by_v: Force<M>,
    by_rate: Force<M>,
    /// 2B̃ᵀ s, of which only the angular part is not zero.
    back: Vec3<M>,
    axis: Motion<M>,
    first: Vec3<M>,
    second: Motion<M>,
    both: Motion<M>,
    /// One past the last freedom beyond each column.
    end: M,
}

/// Which freedoms lie beyond which.
#[derive(Clone, Debug)]
struct Reach {
    /// One past the last freedom beyond freedom k.
    end: Vec<usize>,
    /// One past the last freedom of the same rotation.
    stage: Vec<usize>,
    /// Least and greatest `end` of every pack.
    packs: Vec<(usize, usize)>,
}

impl Reach {
    fn new<P>(model: &Model<P>, width: usize) -> Self {
        let tree = model.tree();
        let (n, nv) = (model.body_count(), model.nv());
        let mut beyond: Vec<usize> = (0..=n)
            .map(|i| if i == 0 { nv } else { tree.dof_range(i).end })
            .collect();
        for i in (1..=n).rev() {
            let parent = tree.parent(i);
            if parent != 0 {
                beyond[parent] = beyond[parent].max(beyond[i]);
            }
        }
        let (mut end, mut stage) = (vec![0; nv], vec![0; nv]);
        for i in 1..=n {
            let range = tree.dof_range(i);
            let rotation = tree.bodies[i].kind.quaternion().map(|k| range.start + k);
            for k in range.clone() {
                end[k] = beyond[i];
                stage[k] = match rotation {
                    Some(first) if k >= first => range.end,
                    _ => k + 1,
                };
            }
        }
        let packs = end
            .chunks(width)
            .map(|ends| {
                let least = ends.iter().min().copied().unwrap_or(0);
                let greatest = ends.iter().max().copied().unwrap_or(0);
                (least, greatest)
            })
            .collect();
        Reach { end, stage, packs }
    }
}

/// Workspace of [`inverse_dynamics_derivatives`].
#[derive(Clone, Debug)]
pub struct InverseDerivativesWork<S: Scalar>(Work<S, One>);

impl<S: Scalar> InverseDerivativesWork<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        InverseDerivativesWork(Work::new(model))
    }
}

/// Workspace of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Work<S: Scalar, K: Pack<S>> {
    angles: Angles<S>,
    pub(super) body: Vec<Body<S>>,
    pub(super) gathered: Vec<Gathered<K::Many>>,
    columns: Vec<Columns<K::Many>>,
    order: K::Many,
    reach: Reach,
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
        let columns = Columns {
            by_q: none,
            by_v: none,
            by_rate: none,
            back: zero,
            axis: still,
            first: zero,
            second: still,
            both: still,
            end: K::Many::zero(),
        };
        let reach = Reach::new(model, K::WIDTH);
        let mut columns = vec![columns; packs];
        for (k, &end) in reach.end.iter().enumerate() {
            K::set(
                &mut columns[k / K::WIDTH].end,
                k % K::WIDTH,
                S::constant(end as f64),
            );
        }
        let mut order = K::Many::zero();
        for lane in 0..K::WIDTH {
            K::set(&mut order, lane, S::constant(lane as f64));
        }
        Work {
            angles: Angles::new(model.tree()),
            body: vec![body; model.body_count() + 1],
            gathered: vec![gathered; packs],
            columns,
            order,
            reach,
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
            force: Force::new(
                d.cross_add(self.force.force, self.force.moment),
                self.force.force,
            ),
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

impl<M: Scalar> Columns<M> {
    /// (1) and the brackets of (4) and (5).
    #[inline(always)]
    fn fill(&mut self, g: &Gathered<M>) {
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
        self.back = s.linear.cross_add(p, k.transpose_times(s.angular)) * minus_two;
        self.by_q = force_seen(by_q, g.origin);
        self.by_v = force_seen(by_v, g.origin);
        self.by_rate = force_seen(by_rate, g.origin);
        self.axis = motion_seen(s, g.origin);
        self.first = first.angular;
        self.second = motion_seen(second, g.origin);
        self.both = motion_seen(both, g.origin);
    }
}

/// Entries (∂τ/∂q, ∂τ/∂v, I) of one row at a pack of columns.
type Entries<M> = (M, M, M);

/// Row i at columns beyond it, (4).
#[inline(always)]
fn beyond<M: Scalar, const INERTIA: bool>(axis: Motion<M>, c: &Columns<M>) -> Entries<M> {
    (
        dot(c.by_q, axis),
        dot(c.by_v, axis),
        if INERTIA {
            dot(c.by_rate, axis)
        } else {
            M::zero()
        },
    )
}

/// Row i at columns on the way to the base, (5).
#[inline(always)]
fn inwards<M: Scalar, const INERTIA: bool>(
    momentum: Force<M>,
    back: Vec3<M>,
    c: &Columns<M>,
) -> Entries<M> {
    (
        dot_add(momentum, c.second, back.dot(c.first)),
        dot_add(momentum, c.both, back.dot(c.axis.angular)),
        if INERTIA {
            dot(momentum, c.axis)
        } else {
            M::zero()
        },
    )
}

#[inline(always)]
fn dot<M: Scalar>(f: Force<M>, m: Motion<M>) -> M {
    let angular = f.moment.dot(m.angular);
    let linear = f.force.dot(m.linear);
    angular + linear
}

#[inline(always)]
fn dot_add<M: Scalar>(f: Force<M>, m: Motion<M>, c: M) -> M {
    let angular = f.moment.x.mul_add(
        m.angular.x,
        f.moment
            .y
            .mul_add(m.angular.y, f.moment.z.mul_add(m.angular.z, c)),
    );
    angular + f.force.dot(m.linear)
}

/// The first where the mask holds, the second elsewhere.
#[inline(always)]
fn merged<M: Scalar>(mask: M::Mask, yes: Entries<M>, no: Entries<M>) -> Entries<M> {
    (
        M::select(mask, yes.0, no.0),
        M::select(mask, yes.1, no.1),
        M::select(mask, yes.2, no.2),
    )
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
    kernel::<S, P, One, true>(
        model,
        [q, v, vdot],
        base,
        external,
        None,
        &mut work.0,
        [
            derivatives.dq.as_mut_slice(),
            derivatives.dv.as_mut_slice(),
            derivatives.inertia.as_mut_slice(),
        ],
    );
}

/// The recursion itself, inlined into the caller so that it is compiled for the caller's instruction set. Without `INERTIA`
/// the last output is not touched.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>, K: Pack<S>, const INERTIA: bool>(
    model: &Model<P>,
    state: [&[S]; 3],
    base: &Base<S>,
    external: &[Force<S>],
    known: Option<&Factorization<S>>,
    work: &mut Work<S, K>,
    out: [&mut [S]; 3],
) {
    recursion(model, state, base, external, known, work);
    sums_over_pairs::<S, P, K, INERTIA>(model, work, out);
}

/// The second half of the kernel, after [`recursion`].
#[inline(always)]
pub(crate) fn sums_over_pairs<S: Scalar, P: Parameter<S>, K: Pack<S>, const INERTIA: bool>(
    model: &Model<P>,
    work: &mut Work<S, K>,
    out: [&mut [S]; 3],
) {
    fill(work);
    let [dq, dv, inertia] = out;
    pairs::<S, K, INERTIA>(work, dq, dv, inertia);
    let (tree, nv) = (model.tree(), model.nv());
    if tree.has_passive_forces {
        for k in 0..nv {
            if tree.nodes[tree.dofs[k].body].kind.quaternion().is_none() {
                dq[k * nv + k] += model.dofs[k].stiffness.lift();
            }
            dv[k * nv + k] += model.dofs[k].damping.lift();
        }
    }
    if INERTIA && tree.has_rotors {
        for k in 0..nv {
            inertia[k * nv + k] += model.dofs[k].armature.lift();
        }
    }
}

/// The first half of the kernel, linear in the number of bodies. Factors of the same configuration, where there are any, know
/// its poses.
#[inline(always)]
pub(crate) fn recursion<S: Scalar, P: Parameter<S>, K: Pack<S>>(
    model: &Model<P>,
    state: [&[S]; 3],
    base: &Base<S>,
    external: &[Force<S>],
    known: Option<&Factorization<S>>,
    work: &mut Work<S, K>,
) {
    outwards(model, state, base, external, known, work);
    gather::<S, P, K, false>(model, work);
}

/// (1) and the brackets of (4) and (5), where the recursion has not done it.
#[inline(always)]
fn fill<S: Scalar, K: Pack<S>>(work: &mut Work<S, K>) {
    if K::WIDTH > 1 {
        for k in 0..work.columns.len() {
            work.columns[k].fill(&work.gathered[k]);
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
    gather::<S, P, One, true>(model, work);
}

/// ∂τ/∂q and ∂τ/∂v side by side in the first packs of each row of a panel, `width` packs a row.
#[inline(always)]
pub(crate) fn into_panel<S: Scalar, P: Parameter<S>, K: Pack<S>>(
    model: &Model<P>,
    work: &mut Work<S, K>,
    panel: &mut [K::Many],
    width: usize,
) {
    fill(work);
    let work = &*work;
    let tree = model.tree();
    let packs = work.columns.len();
    for i in 0..work.reach.end.len() {
        let row = Row::of(work, i);
        let out = &mut panel[i * width..i * width + 2 * packs];
        let (dq, dv) = out.split_at_mut(packs);
        for g in 0..packs {
            let entries = row.entries::<false>(work, g);
            (dq[g], dv[g]) = (entries.0, entries.1);
        }
        if tree.has_passive_forces {
            let (own, lane) = (i / K::WIDTH, i % K::WIDTH);
            if tree.nodes[tree.dofs[i].body].kind.quaternion().is_none() {
                let stiff = K::lane(&dq[own], lane) + model.dofs[i].stiffness.lift();
                K::set(&mut dq[own], lane, stiff);
            }
            let damped = K::lane(&dv[own], lane) + model.dofs[i].damping.lift();
            K::set(&mut dv[own], lane, damped);
        }
    }
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
fn gather<S: Scalar, P, K: Pack<S>, const KEEP: bool>(model: &Model<P>, work: &mut Work<S, K>) {
    let tree = model.tree();
    for i in (1..=model.body_count()).rev() {
        let info = tree.nodes[i];
        let sum = work.body[i].sum;
        if info.parent != 0 {
            let shifted = sum.shifted(work.body[i].step);
            let parent = &mut work.body[info.parent];
            parent.sum = parent.sum.plus(shifted);
        }
        for at in info.v..info.v + info.kind.nv() {
            let g = &mut work.gathered[at / K::WIDTH];
            let lane = at % K::WIDTH;
            if K::WIDTH == 1 && !KEEP {
                // nothing to wait for: the pack is complete, and nobody asks for it later
                let mut complete = *g;
                complete.set::<S, K>(lane, sum);
                work.columns[at].fill(&complete);
            } else {
                g.set::<S, K>(lane, sum);
            }
        }
    }
}

/// Every entry, row after row; what a pack writes past the end of its row is overwritten by the next.
#[inline(always)]
fn pairs<S: Scalar, K: Pack<S>, const INERTIA: bool>(
    work: &Work<S, K>,
    dq: &mut [S],
    dv: &mut [S],
    inertia: &mut [S],
) {
    let reach = &work.reach;
    let nv = reach.end.len();
    let packs = work.columns.len();
    for i in 0..nv {
        let row = Row::of(work, i);
        let start = i * nv;
        let room = packs * K::WIDTH;
        if start + room <= dq.len() {
            row.write::<INERTIA>(
                work,
                &mut dq[start..start + room],
                &mut dv[start..start + room],
                if INERTIA {
                    &mut inertia[start..start + room]
                } else {
                    &mut []
                },
            );
        } else {
            // the last row: no room past its end
            for g in 0..packs {
                let at = start + g * K::WIDTH;
                let entries = row.entries::<INERTIA>(work, g);
                put::<S, K>(dq, at, entries.0);
                put::<S, K>(dv, at, entries.1);
                if INERTIA {
                    put::<S, K>(inertia, at, entries.2);
                }
            }
        }
    }
}

/// What row i multiplies its columns with.
#[derive(Clone, Copy)]
struct Row<S: Scalar, K: Pack<S>> {
    number: usize,
    stage: usize,
    end: usize,
    axis: Motion<K::Many>,
    momentum: Force<K::Many>,
    back: Vec3<K::Many>,
}

impl<S: Scalar, K: Pack<S>> Row<S, K> {
    #[inline(always)]
    fn of(work: &Work<S, K>, i: usize) -> Self {
        let own = &work.columns[i / K::WIDTH];
        let lane = i % K::WIDTH;
        Row {
            number: i,
            stage: work.reach.stage[i],
            end: work.reach.end[i],
            axis: Motion::new(
                spread_vec::<S, K>(&own.axis.angular, lane),
                spread_vec::<S, K>(&own.axis.linear, lane),
            ),
            momentum: Force::new(
                spread_vec::<S, K>(&own.by_rate.moment, lane),
                spread_vec::<S, K>(&own.by_rate.force, lane),
            ),
            back: spread_vec::<S, K>(&own.back, lane),
        }
    }

    /// The whole row: columns on the way to the base, the pack where they end, columns beyond, zeros.
    #[inline(always)]
    fn write<const INERTIA: bool>(
        &self,
        work: &Work<S, K>,
        dq: &mut [S],
        dv: &mut [S],
        inertia: &mut [S],
    ) {
        let packs = work.columns.len();
        let nv = work.reach.end.len();
        let boundary = (self.stage - 1) / K::WIDTH;
        // columns whose packs lie beyond this row altogether
        let whole = if self.end == nv {
            packs
        } else {
            self.end / K::WIDTH
        };
        let whole = if whole > boundary {
            whole
        } else {
            boundary + 1
        };
        for g in 0..boundary {
            let (least, greatest) = work.reach.packs[g];
            let entries = if least > self.number {
                inwards::<_, INERTIA>(self.momentum, self.back, &work.columns[g])
            } else if greatest > self.number {
                self.entries::<INERTIA>(work, g)
            } else {
                none()
            };
            store::<S, K, INERTIA>(entries, g * K::WIDTH, dq, dv, inertia);
        }
        let entries = self.entries::<INERTIA>(work, boundary);
        store::<S, K, INERTIA>(entries, boundary * K::WIDTH, dq, dv, inertia);
        let beyond_row = &work.columns[boundary + 1..whole];
        let mut at = (boundary + 1) * K::WIDTH;
        for columns in beyond_row {
            let entries = beyond::<_, INERTIA>(self.axis, columns);
            store::<S, K, INERTIA>(entries, at, dq, dv, inertia);
            at += K::WIDTH;
        }
        for g in whole..packs {
            let entries = if g * K::WIDTH < self.end {
                self.entries::<INERTIA>(work, g)
            } else {
                none()
            };
            store::<S, K, INERTIA>(entries, g * K::WIDTH, dq, dv, inertia);
        }
    }

    /// One pack of the row, whatever it holds.
    #[inline(always)]
    fn entries<const INERTIA: bool>(&self, work: &Work<S, K>, g: usize) -> Entries<K::Many> {
        let c = &work.columns[g];
        let (least, greatest) = work.reach.packs[g];
        let first = g * K::WIDTH;
        let boundary = (self.stage - 1) / K::WIDTH;
        let mut entries = none();
        if g <= boundary && greatest > self.number {
            entries = inwards::<_, INERTIA>(self.momentum, self.back, c);
            if K::WIDTH > 1 && least <= self.number {
                let number = K::spread(S::constant(self.number as f64));
                entries = merged(number.less(c.end), entries, none());
            }
        }
        if g >= boundary && first < self.end && first + K::WIDTH > self.stage {
            let mut outer = beyond::<_, INERTIA>(self.axis, c);
            if K::WIDTH > 1 {
                if self.end < first + K::WIDTH {
                    let room = K::spread(S::constant((self.end - first) as f64));
                    outer = merged(work.order.less(room), outer, none());
                }
                if g == boundary {
                    let inner = K::spread(S::constant((self.stage - first) as f64));
                    outer = merged(work.order.less(inner), entries, outer);
                }
            }
            entries = outer;
        }
        entries
    }
}

#[inline(always)]
fn none<M: Scalar>() -> Entries<M> {
    (M::zero(), M::zero(), M::zero())
}

#[inline(always)]
fn store<S: Scalar, K: Pack<S>, const INERTIA: bool>(
    entries: Entries<K::Many>,
    at: usize,
    dq: &mut [S],
    dv: &mut [S],
    inertia: &mut [S],
) {
    K::store(entries.0, &mut dq[at..at + K::WIDTH]);
    K::store(entries.1, &mut dv[at..at + K::WIDTH]);
    if INERTIA {
        K::store(entries.2, &mut inertia[at..at + K::WIDTH]);
    }
}
