//! One state with a vector in each register: the recursions of [`crate::Dynamics`] with their workspaces, compiled for AVX2.

use super::cpu::{Cpu, with_avx2};
use super::links::Link;
use super::registers::{Links, Registers};
use crate::algorithm::factorization::{Factorization, Factors};
use crate::algorithm::forward_dynamics::articulated_bodies::ArticulatedBodies;
use crate::algorithm::inverse_dynamics::recursive_newton_euler::NewtonEuler;
use crate::model::Model;
use crate::scalar::Fused;
use crate::spatial::{Force, Mat3, Motion, Pose, Vec3};
use crate::state::{Base, State, StateView};

/// The recursions in registers, and the factorization in components for what solves with it. Exists only where AVX2 and FMA were
/// detected.
#[derive(Clone, Debug)]
pub(crate) struct OneState {
    pub(super) external: Vec<Force<Fused>>,
    links: Vec<Link>,
    inverse: NewtonEuler<Registers>,
    forward: ArticulatedBodies<Registers>,
    pub(super) factors: Factors<Registers>,
    pub(super) in_components: Factorization<Fused>,
}

with_avx2! {
    fn inverse(one: &mut OneState, model: &Model, state: StateView<'_, Fused>, vdot: &[Fused], loaded: bool, tau: &mut [Fused]) {
        let external = if loaded { &one.external[..] } else { &[] };
        let constants = Links::new(model, &one.links);
        one.inverse.run(model, &constants, state, vdot, external, tau);
    }
    fn forward(one: &mut OneState, model: &Model, state: StateView<'_, Fused>, tau: &[Fused], loaded: bool, vdot: &mut [Fused]) {
        let external = if loaded { &one.external[..] } else { &[] };
        let constants = Links::new(model, &one.links);
        let factors = one.factors.parts();
        one.forward.run(model, &constants, state, tau, external, factors, vdot);
    }
    fn factorize(one: &mut OneState, model: &Model, q: &[Fused]) {
        one.in_components.factorize_kernel(model, q);
    }
    fn solve(one: &mut OneState, model: &Model, x: &mut [Fused]) {
        one.in_components.solve_kernel(model, x);
    }
}

#[allow(unsafe_code)]
impl OneState {
    /// Workspaces for this model; none where the processor lacks the instructions or this path excludes them.
    pub fn new(model: &Model, cpu: Cpu) -> Option<Self> {
        (cpu.min(Cpu::best()) >= Cpu::Avx2).then(|| OneState {
            external: vec![Force::zero(); model.body_count() + 1],
            links: Link::all(model),
            inverse: NewtonEuler::new(model),
            forward: ArticulatedBodies::new(model),
            factors: Factors::new(model),
            in_components: Factorization::new(model),
        })
    }

    /// The constants of the model.
    pub(super) fn links<'m>(&'m self, model: &'m Model) -> Links<'m> {
        Links::new(model, &self.links)
    }

    /// Stores wrenches on the bodies, if any.
    pub fn load(&mut self, external: &[Force<f64>]) {
        for (to, from) in self.external.iter_mut().zip(external) {
            *to = Force::new(from.moment.map(Fused), from.force.map(Fused));
        }
    }

    /// Efforts.
    pub fn inverse(
        &mut self,
        model: &Model,
        state: &State,
        vdot: &[f64],
        loaded: bool,
        tau: &mut [f64],
    ) {
        let base = lift(&state.base);
        let (state, vdot) = (fused_view(state, &base), Fused::slice(vdot));
        // SAFETY: `new` detected AVX2 and FMA.
        unsafe { inverse(self, model, state, vdot, loaded, Fused::slice_mut(tau)) }
    }

    /// Wrench through the joint of a body in the last inverse dynamics.
    pub fn joint_wrench(&self, body: usize) -> Force<f64> {
        let wrench = self.inverse.joint_wrench(body);
        let plain = |v: Vec3<Fused>| Vec3::new(v.x.0, v.y.0, v.z.0);
        Force::new(plain(wrench.moment), plain(wrench.force))
    }

    /// Accelerations; returns the inverses of the pivots.
    pub fn forward(
        &mut self,
        model: &Model,
        state: &State,
        tau: &[f64],
        loaded: bool,
        vdot: &mut [f64],
    ) -> &[f64] {
        let base = lift(&state.base);
        let (state, tau) = (fused_view(state, &base), Fused::slice(tau));
        // SAFETY: `new` detected AVX2 and FMA.
        unsafe { forward(self, model, state, tau, loaded, Fused::slice_mut(vdot)) }
        Fused::plain(&self.factors.inverse)
    }

    /// Factorizes I(q) over components; returns the inverses of the pivots.
    pub fn factorize(&mut self, model: &Model, q: &[f64]) -> &[f64] {
        // SAFETY: `new` detected AVX2 and FMA.
        unsafe { factorize(self, model, Fused::slice(q)) }
        Fused::plain(&self.in_components.inverse)
    }

    /// Copies the factors of the last forward dynamics to those in components.
    pub fn bring_factors(&mut self) {
        self.in_components.take(self.factors.found());
    }

    /// Solves I x = b with the factors in components.
    pub fn solve(&mut self, model: &Model, x: &mut [f64]) {
        // SAFETY: `new` detected AVX2 and FMA.
        unsafe { solve(self, model, Fused::slice_mut(x)) }
    }
}

/// A state in fused numbers; its base was lifted before.
pub(super) fn fused_view<'a>(state: &'a State, base: &'a Base<Fused>) -> StateView<'a, Fused> {
    StateView {
        q: Fused::slice(&state.q),
        v: Fused::slice(&state.v),
        base,
    }
}

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
