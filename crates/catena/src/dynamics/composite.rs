//! The inertia matrix of one state, compiled for several processors.

use crate::Cpu;
#[cfg(target_arch = "x86_64")]
use crate::algorithm::inertia_matrix::composite_bodies::OneState;
use crate::algorithm::inertia_matrix::{CompositeBodies, Part, composite_bodies};
use crate::model::Model;
#[cfg(target_arch = "x86_64")]
use crate::scalar::{Avx2Register, Avx512Register, Fused};

/// Composite bodies, columns in the widest registers there are.
#[derive(Clone, Debug)]
pub(crate) enum Composite {
    Baseline(Box<CompositeBodies<f64>>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Box<OneState<Avx2Register>>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Box<OneState<Avx512Register>>),
}

#[cfg(target_arch = "x86_64")]
mod compiled {
    use super::*;
    use crate::arch::{with_avx2, with_avx512};

    with_avx2! {
        pub(super) fn avx2(model: &Model, q: &[Fused], work: &mut OneState<Avx2Register>, part: Part, inertia: &mut [Fused]) {
            work.inertia(model, q, part, inertia);
        }
    }

    with_avx512! {
        pub(super) fn avx512(model: &Model, q: &[Fused], work: &mut OneState<Avx512Register>, part: Part, inertia: &mut [Fused]) {
            work.inertia(model, q, part, inertia);
        }
    }
}

impl Composite {
    /// A workspace for this model on this path, or the best below it that the processor has.
    pub fn new(model: &Model, cpu: Cpu) -> Self {
        match cpu.min(Cpu::best()) {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 => Composite::Avx512(Box::new(OneState::new(model))),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 => Composite::Avx2(Box::new(OneState::new(model))),
            _ => Composite::Baseline(Box::new(CompositeBodies::new(model))),
        }
    }

    /// I(q), or a part of it, into a slice of nv × nv numbers.
    pub fn inertia(&mut self, model: &Model, q: &[f64], part: Part, inertia: &mut [f64]) {
        match self {
            Composite::Baseline(work) => {
                composite_bodies::kernel(model, q, work, part, inertia);
            }
            // SAFETY: these paths exist only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Composite::Avx2(work) => unsafe {
                compiled::avx2(
                    model,
                    Fused::slice(q),
                    work,
                    part,
                    Fused::slice_mut(inertia),
                );
            },
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Composite::Avx512(work) => unsafe {
                compiled::avx512(
                    model,
                    Fused::slice(q),
                    work,
                    part,
                    Fused::slice_mut(inertia),
                );
            },
        }
    }
}
