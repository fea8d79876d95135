//! Accelerations v̇ from efforts τ in O(n): the UDUᵀ factorization and the bias forces in the same sweeps.
//!
//! Saha (1999), section 5.2, eqs. 33–37 and appendix B, merged with the bias so that one inward sweep does both (the
//! classical articulated-body form). Reference points are on the joints, accelerations are those of the bodies' origins:
//!
//! ```text
//! base to tips   ωᵢ = Rᵢᵀ ωₚ + Pᵢ v                                                     (1)
//!                βᵢ = twist rate of body i when v̇ᵢ = 0 and the parent does not accelerate (2)
//!                zᵢ = (ω × Ī ω;  ω × (ω × h)) − w(ext)                                   (3)
//! tips to base   ψ, 1/m̂, M̂' of joint i                                       (Factorization)
//!                τ̂ = τ − Pᵀ z,   z' = z + ψ τ̂ + M̂' β                                     (4)
//!                M̂ₚ += Bᵀ M̂' B,   zₚ += Bᵀ z'                                            (5)
//! base to tips   ṫᵢ = B ṫₚ + βᵢ,   v̇ᵢ = τ̂/m̂ − ψᵀ ṫᵢ,   ṫᵢ += Pᵢ v̇ᵢ        ṫ₀ = (ω̇₀; r̈₀ − g)  (6)
//! ```
//!
//! In (4) the component of z' along the joint is written as τ (minus the rotor's share), not summed, and M̂' has exact zeros
//! there: this keeps chains of hundreds of spherical joints accurate to round-off.
//!
//! The recursion is written over a `Space`: [`forward_dynamics`] runs it in components of any scalar, [`crate::Dynamics`] in
//! SIMD registers where the processor has AVX2.

use crate::algorithm::factorization::{Factorization, FactorsMut};
use crate::algorithm::{elements, passive};
use crate::card::Card;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar, Task};
use crate::space::{Components, Constants, Freed, JointIn, Space, in_space};
use crate::spatial::Force;
use crate::state::StateView;

/// Articulated bodies.
pub const CARD: Card = Card {
    name: "Articulated bodies through UDUᵀ (RFDSIM)",
    question: "forward dynamics",
    call: "forward_dynamics",
    file: "algorithm/forward_dynamics/articulated_bodies.rs",
    order: "O(n)",
    source: "Saha 1999, sec. 5.2, eqs. 33–37; Featherstone 1983",
};

/// Workspace of [`forward_dynamics`].
#[derive(Clone, Debug)]
#[doc(alias = "ABA")]
#[doc(alias = "RFDSIM")]
pub struct ForwardDynamics<S: Scalar> {
    /// The factorization of I(q), complete after a call: solve with it at no further cost.
    pub factors: Factorization<S>,
    recursion: ArticulatedBodies<Components<S>>,
}

impl<S: Scalar> ForwardDynamics<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        ForwardDynamics {
            factors: Factorization::new(model),
            recursion: ArticulatedBodies::new(model),
        }
    }
}

/// v̇ with I v̇ + C v + gravity + passive = τ + Jᵀ w(ext), where w(ext) includes force elements.
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing.
pub fn forward_dynamics<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    tau: &[S],
    external: &[Force<S>],
    work: &mut ForwardDynamics<S>,
    vdot: &mut [S],
) {
    let mut sum = Vec::new();
    let external = elements::loaded(model, state, external, &mut sum);
    kernel(model, state, tau, external, work, vdot);
}

/// The recursion in components, compiled once; `external` already includes the wrenches of force elements.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    tau: &[S],
    external: &[Force<S>],
    work: &mut ForwardDynamics<S>,
    vdot: &mut [S],
) {
    S::apart(InComponents {
        model,
        state,
        tau,
        external,
        work,
        vdot,
    });
}

/// The recursion in components, compiled once for every scalar.
struct InComponents<'a, S: Scalar, P> {
    model: &'a Model<P>,
    state: StateView<'a, S>,
    tau: &'a [S],
    external: &'a [Force<S>],
    work: &'a mut ForwardDynamics<S>,
    vdot: &'a mut [S],
}

impl<S: Scalar, P: Parameter<S>> Task for InComponents<'_, S, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let InComponents {
            model,
            state,
            tau,
            external,
            work,
            vdot,
        } = self;
        let factors = work.factors.parts();
        work.recursion
            .run(model, model, state, tau, external, factors, vdot);
    }
}

/// Data that the passes store at a body for one another.
#[derive(Clone, Copy, Debug)]
struct Body<E: Space> {
    /// (2)
    beta: E::Motion,
    /// (3), then gathers (5).
    z: E::Wrench,
}

/// Data kept where the tree branches.
#[derive(Clone, Copy, Debug)]
struct Fork<E: Space> {
    /// (1)
    omega: E::Spread,
    /// (6)
    rate: E::Motion,
}

/// Workspace of the recursion in a space; the factors are elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct ArticulatedBodies<E: Space> {
    body: Vec<Body<E>>,
    fork: Vec<Fork<E>>,
    effort: Vec<E::Number>, // τ minus passive forces
    freed: Vec<E::Number>,  // τ̂/m̂
}

impl<E: Space> ArticulatedBodies<E> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        let (zero, still) = (E::zero(), E::motion(E::zero(), E::zero()));
        let body = Body {
            beta: still,
            z: E::wrench(zero, zero),
        };
        let fork = Fork {
            omega: E::spread(zero),
            rate: still,
        };
        ArticulatedBodies {
            body: vec![body; n],
            fork: vec![fork; n],
            effort: vec![E::Number::zero(); nv],
            freed: vec![E::Number::zero(); nv],
        }
    }

    /// v̇ and the factors of I(q); the arguments are those of [`forward_dynamics`].
    #[inline(always)]
    pub fn run<P: Parameter<E::Number>>(
        &mut self,
        model: &Model<P>,
        constants: &impl Constants<E>,
        state: StateView<'_, E::Number>,
        tau: &[E::Number],
        external: &[Force<E::Number>],
        factors: FactorsMut<'_, E>,
        vdot: &mut [E::Number],
    ) {
        let StateView { q, v, base } = state;
        let tree = model.tree();
        let n = model.body_count();
        E::fill(factors.angles, tree, q);
        self.effort.copy_from_slice(tau);
        if tree.has_passive_forces {
            for k in 0..model.nv() {
                self.effort[k] -= passive::passive_force(model, q, v, k);
            }
        }
        let (bodies, forks) = (&mut self.body[..=n], &mut self.fork[..=n]);
        let (poses, inertias) = (&mut factors.pose[..=n], &mut factors.articulated[..=n]);
        let nv = model.nv();
        let (psi, inverse) = (&mut factors.psi[..nv], &mut factors.inverse[..nv]);
        let (effort, freed) = (&self.effort[..nv], &mut self.freed[..nv]);
        let (v, vdot, dofs) = (&v[..nv], &mut vdot[..nv], &model.dofs[..nv]);

        // base to tips
        let to_base = base.pose.rotation;
        let mut omega = E::spread(E::vector(to_base.transpose_times(base.velocity.angular)));
        forks[0].omega = omega;
        for i in 1..=n {
            let info = constants.node(i);
            if info.parent + 1 != i {
                omega = forks[info.parent].omega;
            }
            let setting = constants.setting(i, factors.angles);
            let (turning, beta) = in_space!(E, info.kind, joint => {
                let pose = joint.pose(info.q, setting, q);
                poses[i] = pose;
                joint.bias(info.v, setting, &pose, omega, v) // (1, 2)
            });
            omega = E::spread(turning);
            if info.gathers {
                forks[i].omega = omega;
                inertias[i] = E::no_inertia();
            }
            // the moment is ω × Ī ω = (Σ ω) × ω
            let (inertia, lever) = (constants.inertia(i), E::lever(turning));
            let moment = E::cross(E::lever(E::second_times(inertia, omega)), turning);
            let force = E::cross(lever, E::cross(lever, E::first(inertia)));
            let z = E::wrench(moment, force); // (3)
            bodies[i] = Body { beta, z };
        }
        if !external.is_empty() {
            for i in 1..=n {
                let (z, load) = (bodies[i].z, E::wrench_of(external[i]));
                let moment = E::moment(&z) - E::moment(&load);
                bodies[i].z = E::wrench(moment, E::force(&z) - E::force(&load));
            }
        }

        // tips to base
        let mut inertia = E::rigid(constants.inertia(n));
        let mut z = bodies[n].z;
        for i in (1..=n).rev() {
            let info = constants.node(i);
            if info.gathers {
                inertia = E::joined(inertia, inertias[i]);
            }
            if E::KEEPS_INERTIAS {
                inertias[i] = inertia;
            }
            let (setting, pose) = (constants.setting(i, factors.angles), &poses[i]);
            let (rest, through, lever) = in_space!(E, info.kind, joint => {
                let out = Freed { psi, inverse, freed };
                let (rest, through) =
                    joint.eliminate(info.v, setting, pose, inertia, &z, effort, dofs, out);
                (rest, through, joint.lever(setting, E::kept(pose)))
            });
            let carried = E::inertia_times(&rest, &bodies[i].beta);
            let moment = E::moment(&through) + E::moment(&carried);
            let force = E::force(&through) + E::force(&carried); // (4)
            let parent = info.parent;
            if parent != 0 {
                let kept = E::kept(pose);
                let force = E::turn(kept, E::spread(force));
                let onto = bodies[parent].z;
                let arm = E::cross(lever, force) + E::moment(&onto);
                let sum = E::wrench(
                    E::turn_plus(kept, E::spread(moment), arm),
                    force + E::force(&onto),
                );
                if parent + 1 == i {
                    inertia = E::seen_with(rest, pose, lever, constants.inertia(parent)); // (5)
                    z = sum;
                    continue;
                }
                inertias[parent] = E::joined(inertias[parent], E::seen(rest, pose, lever));
                bodies[parent].z = sum;
            }
            if i > 1 {
                inertia = E::rigid(constants.inertia(i - 1));
                z = bodies[i - 1].z;
            }
        }

        // base to tips
        let lift = base.acceleration.linear - model.gravity.lift();
        let mut rate = E::motion(
            E::vector(to_base.transpose_times(base.acceleration.angular)),
            E::vector(to_base.transpose_times(lift)),
        );
        forks[0].rate = rate;
        for i in 1..=n {
            let info = constants.node(i);
            if info.parent + 1 != i {
                rate = forks[info.parent].rate;
            }
            let (setting, pose) = (constants.setting(i, factors.angles), &poses[i]);
            rate = in_space!(E, info.kind, joint => {
                let (beta, found) = (&bodies[i].beta, Freed { psi, inverse, freed });
                joint.outward(info.v, setting, pose, &rate, beta, dofs, found, vdot) // (6)
            });
            if info.gathers {
                forks[i].rate = rate;
            }
        }
    }
}
