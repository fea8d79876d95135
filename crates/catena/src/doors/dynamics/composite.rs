//! The inertia matrix of one state, compiled for several processors.

use crate::Cpu;
use crate::algorithm::inertia_matrix::{CompositeBodies, Part, composite_bodies};
#[cfg(target_arch = "x86_64")]
use crate::arch::{Avx2Register, Avx512Register};
use crate::model::Model;
#[cfg(target_arch = "x86_64")]
use crate::scalar::Fused;
#[cfg(target_arch = "x86_64")]
use one_state::OneState;

/// Composite bodies, with columns in the widest registers available.
#[derive(Clone, Debug)]
pub(crate) enum Composite {
    Baseline(Box<CompositeBodies<f64>>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Box<OneState<Avx2Register>>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Box<OneState<Avx512Register>>),
}

/// One state, with a vector in each register while it proceeds body by body, and several columns in each after that.
#[cfg(target_arch = "x86_64")]
mod one_state {
    use super::*;
    use crate::algorithm::inertia_matrix::composite_bodies::Composites;
    use crate::algorithm::inertia_matrix::entries::add_rotors;
    use crate::algorithm::inertia_matrix::entries::{Entries, EntryRecord};
    use crate::algorithm::pack::{Record, Register};
    use crate::arch::{Columns, Link, Links, Registers};
    use crate::scalar::{Vector, Wide};
    use crate::space::Space;
    use crate::thresholds::COLUMN_BY_COLUMN;

    #[derive(Clone, Debug)]
    pub(crate) struct OneState<V: Vector> {
        links: Vec<Link>,
        recursion: Composites<Registers>,
        columns: Columns,
        packs: Vec<EntryRecord<Wide<V>>>,
        entries: Entries<Wide<V>>,
    }

    impl<V: Vector> OneState<V> {
        pub fn new(model: &Model) -> Self {
            OneState {
                links: Link::all(model),
                recursion: Composites::new(model),
                columns: Columns::new(model),
                packs: vec![EntryRecord::zero(); model.nv().div_ceil(V::LANES)],
                entries: Entries::new::<Fused, Register<V>, f64>(model),
            }
        }

        /// I(q), or a part of it.
        #[inline(always)]
        pub fn inertia(&mut self, model: &Model, q: &[Fused], part: Part, inertia: &mut [Fused]) {
            if model.nv() <= COLUMN_BY_COLUMN {
                return self.by_columns(model, q, part, inertia);
            }
            self.fill_packs(model, q);
            Entries::refer::<Fused, Register<V>>(&mut self.packs);
            self.entries
                .run::<Fused, Register<V>, f64>(model, &self.packs, part, inertia);
        }

        /// Each column carried to the base.
        #[inline(always)]
        fn by_columns(&mut self, model: &Model, q: &[Fused], part: Part, inertia: &mut [Fused]) {
            let links = &self.links[..];
            let (constants, work) = (Links::new(model, links), &mut self.recursion);
            work.outward::<f64, true>(model, &constants, q, &mut self.columns);
            if !model.tree().is_chain {
                inertia.fill(Fused(0.0));
            }
            let mut passed = Registers::no_moments();
            for i in (1..=model.body_count()).rev() {
                work.inward(&constants, i, &mut passed);
                let node = links[i].node;
                for k in node.v..node.v + node.kind.nv() {
                    self.columns.walk(k, &work.own[k], part, inertia);
                }
            }
            add_rotors(model, inertia);
        }

        /// Directions P and wrenches M̃P of all freedoms about the origins of their bodies, and these origins.
        #[inline(always)]
        fn fill_packs(&mut self, model: &Model, q: &[Fused]) {
            let links = &self.links[..];
            let (constants, work) = (Links::new(model, links), &mut self.recursion);
            work.outward::<f64, true>(model, &constants, q, &mut ());
            let mut passed = Registers::no_moments();
            for i in (1..=model.body_count()).rev() {
                work.inward(&constants, i, &mut passed);
                let node = links[i].node;
                for k in node.v..node.v + node.kind.nv() {
                    let along = Registers::motion_numbers(&work.along[k]);
                    let wrench = Registers::wrench_numbers(&work.own[k]);
                    let origin = Registers::components(work.frame[i].origin);
                    let (pack, lane) = (&mut self.packs[k / V::LANES], k % V::LANES);
                    let vectors = [
                        along.angular,
                        along.linear,
                        wrench.moment,
                        wrench.force,
                        origin,
                    ];
                    for (part, vector) in vectors.iter().enumerate() {
                        let numbers = &mut pack.numbers_mut()[3 * part..3 * part + 3];
                        numbers[0].0.lanes_mut()[lane] = vector.x.0;
                        numbers[1].0.lanes_mut()[lane] = vector.y.0;
                        numbers[2].0.lanes_mut()[lane] = vector.z.0;
                    }
                }
            }
        }
    }
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
            // SAFETY: as above.
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
