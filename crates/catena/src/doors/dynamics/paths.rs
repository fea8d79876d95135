//! The recursions of one state with their workspaces: in plain numbers, and compiled for AVX2 with a vector in each register.

use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::algorithm::inverse_dynamics::{InverseDynamics, recursive_newton_euler};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::spatial::Force;
use crate::state::StateView;
#[cfg(target_arch = "x86_64")]
use {
    crate::algorithm::factorization::Factors,
    crate::algorithm::forward_dynamics::articulated_bodies::ArticulatedBodies,
    crate::algorithm::inverse_dynamics::recursive_newton_euler::NewtonEuler,
    crate::arch::{Link, Links, Registers},
    crate::scalar::Fused,
    crate::spatial::{Mat3, Motion, Pose, Vec3},
    crate::state::{Base, State},
};

/// The workspaces of one scalar.
#[derive(Clone, Debug)]
pub(super) struct DynamicsWork<S: Scalar> {
    pub inverse: InverseDynamics<S>,
    pub forward: ForwardDynamics<S>,
    pub external: Vec<Force<S>>,
}

impl<S: Scalar> DynamicsWork<S> {
    pub fn new(model: &Model) -> Self {
        DynamicsWork {
            inverse: InverseDynamics::new(model),
            forward: ForwardDynamics::new(model),
            external: vec![Force::zero(); model.body_count() + 1],
        }
    }

    #[inline(always)]
    pub fn inverse(
        &mut self,
        model: &Model,
        state: StateView<'_, S>,
        vdot: &[S],
        loaded: bool,
        tau: &mut [S],
    ) {
        let external = if loaded { &self.external[..] } else { &[] };
        recursive_newton_euler::kernel(model, state, vdot, external, &mut self.inverse, tau);
    }

    #[inline(always)]
    pub fn forward(
        &mut self,
        model: &Model,
        state: StateView<'_, S>,
        tau: &[S],
        loaded: bool,
        vdot: &mut [S],
    ) {
        let external = if loaded { &self.external[..] } else { &[] };
        articulated_bodies::kernel(model, state, tau, external, &mut self.forward, vdot);
    }
}

/// The fused path: functions compiled with AVX2 and fused multiply-add.
#[cfg(target_arch = "x86_64")]
pub(super) mod fused {
    use super::*;
    use crate::arch::with_avx2;

    with_avx2! {
        pub fn inverse(work: &mut DynamicsWork<Fused>, quads: &mut Quads, model: &Model, state: StateView<'_, Fused>, vdot: &[Fused], loaded: bool, tau: &mut [Fused]) {
            let external = if loaded { &work.external[..] } else { &[] };
            let constants = Links::new(model, &quads.links);
            quads.inverse.run(model, &constants, state, vdot, external, tau);
        }
        pub fn forward(work: &mut DynamicsWork<Fused>, quads: &mut Quads, model: &Model, state: StateView<'_, Fused>, tau: &[Fused], loaded: bool, vdot: &mut [Fused]) {
            let external = if loaded { &work.external[..] } else { &[] };
            let constants = Links::new(model, &quads.links);
            let factors = quads.factors.parts();
            quads.forward.run(model, &constants, state, tau, external, factors, vdot);
        }
        pub fn factorize(work: &mut DynamicsWork<Fused>, model: &Model, q: &[Fused]) {
            work.forward.factors.factorize_kernel(model, q);
        }
        pub fn solve(work: &mut DynamicsWork<Fused>, model: &Model, x: &mut [Fused]) {
            work.forward.factors.solve_kernel(model, x);
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Path {
    Baseline(Box<DynamicsWork<f64>>),
    #[cfg(target_arch = "x86_64")]
    Fused(Box<DynamicsWork<Fused>>, Box<Quads>),
}

impl Path {
    /// Stores wrenches on the bodies, if any.
    pub fn load(&mut self, external: &[Force<f64>]) {
        match self {
            Path::Baseline(work) => {
                for (to, from) in work.external.iter_mut().zip(external) {
                    *to = *from;
                }
            }
            #[cfg(target_arch = "x86_64")]
            Path::Fused(work, _) => {
                for (to, from) in work.external.iter_mut().zip(external) {
                    *to = Force::new(from.moment.map(Fused), from.force.map(Fused));
                }
            }
        }
    }

    /// Factorizes I(q) over components, and returns the inverses of the pivots.
    pub fn factorize(&mut self, model: &Model, q: &[f64]) -> &[f64] {
        match self {
            Path::Baseline(work) => {
                work.forward.factors.factorize(model, q);
                &work.forward.factors.inverse
            }
            #[cfg(target_arch = "x86_64")]
            Path::Fused(work, _) => {
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::factorize(work, model, Fused::slice(q));
                }
                Fused::plain(&work.forward.factors.inverse)
            }
        }
    }
}

/// The recursions that have a vector in each register.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
pub(super) struct Quads {
    pub links: Vec<Link>,
    pub inverse: NewtonEuler<Registers>,
    forward: ArticulatedBodies<Registers>,
    pub factors: Factors<Registers>,
}

#[cfg(target_arch = "x86_64")]
impl Quads {
    pub fn new(model: &Model) -> Self {
        Quads {
            links: Link::all(model),
            inverse: NewtonEuler::new(model),
            forward: ArticulatedBodies::new(model),
            factors: Factors::new(model),
        }
    }
}

/// A state in numbers of the fused path; its base was lifted before.
#[cfg(target_arch = "x86_64")]
pub(super) fn fused_view<'a>(state: &'a State, base: &'a Base<Fused>) -> StateView<'a, Fused> {
    StateView {
        q: Fused::slice(&state.q),
        v: Fused::slice(&state.v),
        base,
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) fn lift(base: &Base<f64>) -> Base<Fused> {
    let vec = |v: Vec3<f64>| Vec3::new(Fused(v.x), Fused(v.y), Fused(v.z));
    let motion = |m: Motion<f64>| Motion::new(vec(m.angular), vec(m.linear));
    let r = base.pose.rotation;
    Base {
        pose: Pose::new(
            Mat3::from_columns(vec(r.x), vec(r.y), vec(r.z)),
            vec(base.pose.translation),
        ),
        velocity: motion(base.velocity),
        acceleration: motion(base.acceleration),
    }
}
