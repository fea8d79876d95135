//! The inertia matrix of one state in registers.

use super::columns::Columns;
use super::cpu::{Cpu, with_avx2, with_avx512};
use super::lanes::{Avx2Register, Avx512Register};
use super::links::Link;
use super::registers::{Links, Registers};
use crate::algorithm::inertia_matrix::Part;
use crate::algorithm::inertia_matrix::composite_bodies::Composites;
use crate::algorithm::inertia_matrix::entries::{Entries, EntryRecord, add_rotors};
use crate::algorithm::pack::{Record, Register};
use crate::model::Model;
use crate::scalar::{Fused, Vector, Wide};
use crate::space::Space;
use crate::spatial::Vec3;
use crate::thresholds::COLUMN_BY_COLUMN;

/// Composite bodies, with columns in the widest registers available.
#[derive(Clone, Debug)]
pub(crate) struct InertiaMatrix(Widest);

#[derive(Clone, Debug)]
enum Widest {
    Avx2(Box<ColumnsIn<Avx2Register>>),
    Avx512(Box<ColumnsIn<Avx512Register>>),
}

impl InertiaMatrix {
    /// A workspace for this model; none where the processor has no registers or this path excludes them.
    pub fn new(model: &Model, cpu: Cpu) -> Option<Self> {
        Some(InertiaMatrix(match cpu.min(Cpu::best()) {
            Cpu::Avx512 => Widest::Avx512(Box::new(ColumnsIn::new(model))),
            Cpu::Avx2 => Widest::Avx2(Box::new(ColumnsIn::new(model))),
            Cpu::Baseline => return None,
        }))
    }

    /// I(q), or a part of it, into a slice of nv × nv numbers.
    #[allow(unsafe_code)]
    pub fn inertia(&mut self, model: &Model, q: &[f64], part: Part, inertia: &mut [f64]) {
        let (q, inertia) = (Fused::slice(q), Fused::slice_mut(inertia));
        match &mut self.0 {
            // SAFETY: `new` detected the instructions.
            Widest::Avx2(work) => unsafe { avx2(model, q, work, part, inertia) },
            // SAFETY: as above.
            Widest::Avx512(work) => unsafe { avx512(model, q, work, part, inertia) },
        }
    }
}

with_avx2! {
    fn avx2(model: &Model, q: &[Fused], work: &mut ColumnsIn<Avx2Register>, part: Part, inertia: &mut [Fused]) {
        work.inertia(model, q, part, inertia);
    }
}

with_avx512! {
    fn avx512(model: &Model, q: &[Fused], work: &mut ColumnsIn<Avx512Register>, part: Part, inertia: &mut [Fused]) {
        work.inertia(model, q, part, inertia);
    }
}

/// A vector in each register while it proceeds body by body, and several columns in each after that.
#[derive(Clone, Debug)]
struct ColumnsIn<V: Vector> {
    links: Vec<Link>,
    recursion: Composites<Registers>,
    columns: Columns,
    packs: Vec<EntryRecord<Wide<V>>>,
    entries: Entries<Wide<V>>,
}

impl<V: Vector> ColumnsIn<V> {
    fn new(model: &Model) -> Self {
        ColumnsIn {
            links: Link::all(model),
            recursion: Composites::new(model),
            columns: Columns::new(model),
            packs: vec![EntryRecord::zero(); model.nv().div_ceil(V::LANES)],
            entries: Entries::new::<Fused, Register<V>, f64>(model),
        }
    }

    /// I(q), or a part of it.
    #[inline(always)]
    fn inertia(&mut self, model: &Model, q: &[Fused], part: Part, inertia: &mut [Fused]) {
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
                set(&mut pack.axis[..3], lane, along.angular);
                set(&mut pack.axis[3..], lane, along.linear);
                set(&mut pack.moment, lane, wrench.moment);
                set(&mut pack.force, lane, wrench.force);
                set(&mut pack.origin, lane, origin);
            }
        }
    }
}

/// Sets one lane of three numbers.
#[inline(always)]
fn set<V: Vector>(numbers: &mut [Wide<V>], lane: usize, vector: Vec3<Fused>) {
    numbers[0].0.lanes_mut()[lane] = vector.x.0;
    numbers[1].0.lanes_mut()[lane] = vector.y.0;
    numbers[2].0.lanes_mut()[lane] = vector.z.0;
}
