//! The recursions of one state with their workspaces: in plain numbers, or with a vector in each register.

use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::algorithm::inverse_dynamics::{InverseDynamics, recursive_newton_euler};
use crate::arch::OneState;
use crate::model::Model;
use crate::spatial::Force;
use crate::state::StateView;

/// The workspaces of plain numbers.
#[derive(Clone, Debug)]
pub(super) struct DynamicsWork {
    pub inverse: InverseDynamics<f64>,
    pub forward: ForwardDynamics<f64>,
    pub external: Vec<Force<f64>>,
}

impl DynamicsWork {
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
        state: StateView<'_>,
        vdot: &[f64],
        loaded: bool,
        tau: &mut [f64],
    ) {
        let external = if loaded { &self.external[..] } else { &[] };
        recursive_newton_euler::kernel(model, state, vdot, external, &mut self.inverse, tau);
    }

    #[inline(always)]
    pub fn forward(
        &mut self,
        model: &Model,
        state: StateView<'_>,
        tau: &[f64],
        loaded: bool,
        vdot: &mut [f64],
    ) {
        let external = if loaded { &self.external[..] } else { &[] };
        articulated_bodies::kernel(model, state, tau, external, &mut self.forward, vdot);
    }
}

#[derive(Clone, Debug)]
pub(super) enum Path {
    Baseline(Box<DynamicsWork>),
    Registers(Box<OneState>),
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
            Path::Registers(one) => one.load(external),
        }
    }

    /// Factorizes I(q) over components, and returns the inverses of the pivots.
    pub fn factorize(&mut self, model: &Model, q: &[f64]) -> &[f64] {
        match self {
            Path::Baseline(work) => {
                work.forward.factors.factorize(model, q);
                &work.forward.factors.inverse
            }
            Path::Registers(one) => one.factorize(model, q),
        }
    }
}
