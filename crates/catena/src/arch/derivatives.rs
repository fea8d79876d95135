//! The matrices of derivatives of one state in registers.

use super::Of;
use super::cpu::{Cpu, with_avx2, with_avx512};
use super::lanes::{Avx2Register, Avx512Register};
use super::one_state::{OneState, fused_view, lift};
use super::records::QuadDerivatives;
use crate::algorithm::derivatives::pairs::{PairRecord, Pairs};
use crate::algorithm::derivatives::sweeps::{SweepRecord, Sweeps};
use crate::algorithm::factorization::columns::Columns;
use crate::algorithm::pack::{Record, Register};
use crate::model::Model;
use crate::scalar::{Fused, Vector, Wide};
use crate::state::{State, StateView};
use crate::thresholds::INVERSE_BY_TRIANGLE;

/// Derivatives of one state, with columns in the widest registers available.
#[derive(Clone, Debug)]
pub(crate) struct Derivatives(Widest);

#[derive(Clone, Debug)]
enum Widest {
    Avx2(MatricesIn<Avx2Register>),
    Avx512(MatricesIn<Avx512Register>),
}

#[allow(unsafe_code)]
impl Derivatives {
    /// Workspaces for this model; none where the processor has no registers or this path excludes them.
    pub fn new(model: &Model, cpu: Cpu) -> Option<Self> {
        Some(Derivatives(match cpu.min(Cpu::best()) {
            Cpu::Avx512 => Widest::Avx512(MatricesIn::new(model)),
            Cpu::Avx2 => Widest::Avx2(MatricesIn::new(model)),
            Cpu::Baseline => return None,
        }))
    }

    /// All three matrices. Returns whether all entries are finite.
    pub fn run(
        &mut self,
        of: Of,
        one: &OneState,
        model: &Model,
        state: &State,
        vdot: &[f64],
        loaded: bool,
        out: [&mut [f64]; 3],
    ) -> bool {
        let base = lift(&state.base);
        let (state, vdot) = (fused_view(state, &base), Fused::slice(vdot));
        let out = out.map(Fused::slice_mut);
        match &mut self.0 {
            // SAFETY: `new` makes this workspace only after detecting AVX2 and FMA.
            Widest::Avx2(work) => unsafe {
                avx2::recursion(work, of, one, model, state, vdot, loaded);
                avx2::matrices(work, of, model, out)
            },
            // SAFETY: `new` makes this workspace only after detecting AVX-512.
            Widest::Avx512(work) => unsafe {
                avx512::recursion(work, of, one, model, state, vdot, loaded);
                avx512::matrices(work, of, model, out)
            },
        }
    }

    /// I⁻¹ with the factors in components.
    pub fn inverse_inertia(&mut self, one: &OneState, model: &Model, out: &mut [f64]) {
        let out = Fused::slice_mut(out);
        match &mut self.0 {
            // SAFETY: `new` makes this workspace only after detecting AVX2 and FMA.
            Widest::Avx2(work) => unsafe { avx2::inverse_inertia(work, one, model, out) },
            // SAFETY: `new` makes this workspace only after detecting AVX-512.
            Widest::Avx512(work) => unsafe { avx512::inverse_inertia(work, one, model, out) },
        }
    }
}

macro_rules! compiled {
    ($with:ident, $register:ty) => {
        use super::*;

        $with! {
            #[inline(never)]
            pub(super) fn recursion(
                work: &mut MatricesIn<$register>,
                of: Of,
                one: &OneState,
                model: &Model,
                state: StateView<'_, Fused>,
                vdot: &[Fused],
                loaded: bool,
            ) {
                work.recursion(of, one, model, state, vdot, loaded);
            }

            pub(super) fn matrices(
                work: &mut MatricesIn<$register>,
                of: Of,
                model: &Model,
                out: [&mut [Fused]; 3],
            ) -> bool {
                work.matrices(of, model, out)
            }

            pub(super) fn inverse_inertia(
                work: &mut MatricesIn<$register>,
                one: &OneState,
                model: &Model,
                out: &mut [Fused],
            ) {
                work.columns.prepare(model, &one.in_components);
                work.columns.inverse(model, out);
            }
        }
    };
}

mod avx2 {
    compiled!(with_avx2, Avx2Register);
}

mod avx512 {
    compiled!(with_avx512, Avx512Register);
}

/// The workspaces where bodies have a vector in a register, and matrices several columns.
#[derive(Clone, Debug)]
struct MatricesIn<V: Vector> {
    recursion: QuadDerivatives,
    of_efforts: Vec<PairRecord<Wide<V>>>,
    pairs: Pairs<Wide<V>>,
    of_accelerations: Vec<SweepRecord<Wide<V>>>,
    sweeps: Sweeps<Fused, Register<V>>,
    columns: Columns<Fused, Register<V>>,
}

impl<V: Vector> MatricesIn<V> {
    fn new(model: &Model) -> Self {
        let packs = model.nv().div_ceil(V::LANES);
        MatricesIn {
            recursion: QuadDerivatives::new(model),
            of_efforts: vec![PairRecord::zero(); packs],
            pairs: Pairs::new::<Fused, Register<V>, f64>(model),
            of_accelerations: vec![SweepRecord::zero(); packs],
            sweeps: Sweeps::new(model),
            columns: Columns::new(model, INVERSE_BY_TRIANGLE),
        }
    }

    /// The recursion from body to body.
    #[inline(always)]
    fn recursion(
        &mut self,
        of: Of,
        one: &OneState,
        model: &Model,
        state: StateView<'_, Fused>,
        vdot: &[Fused],
        loaded: bool,
    ) {
        let external = if loaded { &one.external[..] } else { &[] };
        let (recursion, constants) = (&mut self.recursion, one.links(model));
        match of {
            Of::Inverse => recursion.of_efforts(constants, state, vdot, external),
            Of::Forward => {
                let factors = one.factors.found();
                recursion.of_accelerations(constants, factors, state, vdot, external);
            }
        }
    }

    /// All three matrices, after that. Returns whether all entries are finite.
    #[inline(always)]
    fn matrices(&mut self, of: Of, model: &Model, out: [&mut [Fused]; 3]) -> bool {
        let bad = match of {
            Of::Inverse => {
                let packs = &mut self.of_efforts;
                self.recursion.fill_of_efforts(packs);
                (self.pairs).run::<Fused, Register<V>, f64, true>(model, packs, out)
            }
            Of::Forward => {
                let packs = &mut self.of_accelerations;
                self.recursion.fill_of_accelerations(packs);
                self.sweeps.run(model, packs, out)
            }
        };
        V::all(bad.0.less(V::splat(1.0)))
    }
}
