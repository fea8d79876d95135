//! The inertia matrix of one state.

use crate::Cpu;
use crate::algorithm::inertia_matrix::{CompositeBodies, Part, composite_bodies};
use crate::arch::InertiaMatrix;
use crate::model::Model;

/// Composite bodies, in registers where there are any.
#[derive(Clone, Debug)]
pub(crate) enum Composite {
    Baseline(Box<CompositeBodies<f64>>),
    Registers(InertiaMatrix),
}

impl Composite {
    /// A workspace for this model on this path, or the best below it that the processor has.
    pub fn new(model: &Model, cpu: Cpu) -> Self {
        match InertiaMatrix::new(model, cpu) {
            Some(work) => Composite::Registers(work),
            None => Composite::Baseline(Box::new(CompositeBodies::new(model))),
        }
    }

    /// I(q), or a part of it, into a slice of nv × nv numbers.
    pub fn inertia(&mut self, model: &Model, q: &[f64], part: Part, inertia: &mut [f64]) {
        match self {
            Composite::Baseline(work) => composite_bodies::kernel(model, q, work, part, inertia),
            Composite::Registers(work) => work.inertia(model, q, part, inertia),
        }
    }
}
