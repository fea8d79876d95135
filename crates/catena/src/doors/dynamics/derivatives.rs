//! Derivatives, through the checked entry point.

use super::{Dynamics, DynamicsWork, Kept, Path, make_square};
use crate::Cpu;
use crate::algorithm::derivatives::inverse::PairRecursion;
use crate::algorithm::derivatives::pairs::Pairs;
use crate::algorithm::derivatives::sweeps::Sweeps;
use crate::algorithm::derivatives::{ForwardDerivatives, InverseDerivatives, forward};
use crate::algorithm::elements;
use crate::algorithm::factorization::columns::Columns;
use crate::algorithm::pack::{One, Pack};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::spatial::Force;
use crate::state::{State, StateView};
#[cfg(target_arch = "x86_64")]
use {
    super::{Quads, fused_view, lift},
    crate::algorithm::derivatives::pairs::PairRecord,
    crate::algorithm::derivatives::sweeps::SweepRecord,
    crate::algorithm::pack::{Record, Register},
    crate::arch::{Avx2Register, Avx512Register},
    crate::arch::{Links, QuadDerivatives},
    crate::scalar::{Fused, Vector, Wide},
};

/// Results and workspaces; quadratic in the number of freedoms, made when first requested.
#[derive(Clone, Debug)]
pub(super) struct Store {
    inverse: Option<InverseDerivatives>,
    forward: Option<ForwardDerivatives>,
    inverse_inertia: Matrix,
    workspaces: Workspaces,
}

/// Of which dynamics?
#[derive(Clone, Copy)]
enum Of {
    Inverse,
    /// With the factors of forward dynamics.
    Forward,
}

/// The workspaces of generic recursions.
#[derive(Clone, Debug)]
struct Plain {
    inverse: PairRecursion<f64>,
    pairs: Pairs<f64>,
    forward: forward::Recursion<f64>,
    sweeps: Sweeps<f64, One>,
    columns: Columns<f64, One>,
}

#[derive(Clone, Debug)]
enum Workspaces {
    Baseline(Plain),
    #[cfg(target_arch = "x86_64")]
    Avx2(Registers<Avx2Register>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Registers<Avx512Register>),
}

impl Plain {
    fn new(model: &Model) -> Self {
        Plain {
            inverse: PairRecursion::new(model),
            pairs: Pairs::new::<f64, One, f64>(model),
            forward: forward::Recursion::new(model),
            sweeps: Sweeps::new(model),
            columns: Columns::new(model),
        }
    }

    /// All three matrices. Are all entries found finite?
    fn run(
        &mut self,
        of: Of,
        door: &DynamicsWork<f64>,
        model: &Model,
        state: StateView<'_>,
        vdot: &[f64],
        loaded: bool,
        out: [&mut [f64]; 3],
    ) -> bool {
        let external = if loaded { &door.external[..] } else { &[] };
        let bad = match of {
            Of::Inverse => {
                self.inverse.run(model, state, vdot, external);
                let freedoms = &self.inverse.freedoms;
                (self.pairs).run::<f64, One, f64, true>(model, freedoms, out)
            }
            Of::Forward => {
                let factors = &door.forward.factors;
                (self.forward).run(model, state, vdot, external, factors);
                self.sweeps.run(model, &self.forward.freedoms, out)
            }
        };
        !bad.is_nan()
    }
}

/// The workspaces where bodies have a vector in a register, and matrices several columns.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
struct Registers<V: Vector> {
    recursion: QuadDerivatives,
    of_efforts: Vec<PairRecord<Wide<V>>>,
    pairs: Pairs<Wide<V>>,
    of_accelerations: Vec<SweepRecord<Wide<V>>>,
    sweeps: Sweeps<Fused, Register<V>>,
    columns: Columns<Fused, Register<V>>,
}

#[cfg(target_arch = "x86_64")]
impl<V: Vector> Registers<V> {
    fn new(model: &Model) -> Self {
        let packs = model.nv().div_ceil(V::LANES);
        Registers {
            recursion: QuadDerivatives::new(model),
            of_efforts: vec![PairRecord::zero(); packs],
            pairs: Pairs::new::<Fused, Register<V>, f64>(model),
            of_accelerations: vec![SweepRecord::zero(); packs],
            sweeps: Sweeps::new(model),
            columns: Columns::new(model),
        }
    }

    /// From body to body.
    #[inline(always)]
    fn recursion(
        &mut self,
        of: Of,
        (door, quads): (&DynamicsWork<Fused>, &Quads),
        model: &Model,
        state: StateView<'_, Fused>,
        vdot: &[Fused],
        loaded: bool,
    ) {
        let external = if loaded { &door.external[..] } else { &[] };
        let (recursion, links) = (&mut self.recursion, &quads.links[..]);
        let constants = Links::new(model, links);
        match of {
            Of::Inverse => recursion.of_efforts(constants, state, vdot, external),
            Of::Forward => {
                let factors = quads.factors.found();
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

/// I⁻¹ with the current factors.
#[inline(always)]
fn inverse_inertia<S: Scalar, K: Pack<S>>(
    columns: &mut Columns<S, K>,
    door: &DynamicsWork<S>,
    model: &Model,
    out: &mut [S],
) {
    columns.prepare(model, &door.forward.factors);
    columns.inverse(model, out);
}

/// The functions compiled with AVX2 and fused multiply-add, and with AVX-512.
#[cfg(target_arch = "x86_64")]
mod compiled {
    use super::*;
    use crate::arch::{with_avx2, with_avx512};

    macro_rules! compiled {
        ($with:ident, $register:ty) => {
            use super::*;

            $with! {
                #[inline(never)]
                pub(crate) fn recursion(
                    work: &mut Registers<$register>,
                    of: Of,
                    door: (&DynamicsWork<Fused>, &Quads),
                    model: &Model,
                    state: StateView<'_, Fused>,
                    vdot: &[Fused],
                    loaded: bool,
                ) {
                    work.recursion(of, door, model, state, vdot, loaded);
                }

                pub(crate) fn matrices(
                    work: &mut Registers<$register>,
                    of: Of,
                    model: &Model,
                    out: [&mut [Fused]; 3],
                ) -> bool {
                    work.matrices(of, model, out)
                }

                pub(crate) fn inverse_inertia(
                    work: &mut Registers<$register>,
                    door: &DynamicsWork<Fused>,
                    model: &Model,
                    out: &mut [Fused],
                ) {
                    super::super::inverse_inertia(&mut work.columns, door, model, out);
                }
            }
        };
    }

    pub(super) mod avx2 {
        compiled!(with_avx2, Avx2Register);
    }

    pub(super) mod avx512 {
        compiled!(with_avx512, Avx512Register);
    }
}

impl Workspaces {
    /// All three matrices. Returns whether all entries are finite. Springs, dampers and rotors are added later.
    fn run(
        &mut self,
        of: Of,
        path: &Path,
        model: &Model,
        state: &State,
        vdot: &[f64],
        loaded: bool,
        out: [&mut [f64]; 3],
    ) -> bool {
        match (self, path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.run(of, door, model, state.view(), vdot, loaded, out)
            }
            // SAFETY: this path exists only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx2(work), Path::Fused(door, quads)) => unsafe {
                let (door, base) = ((&**door, &**quads), lift(&state.base));
                let (state, vdot) = (fused_view(state, &base), Fused::slice(vdot));
                let out = out.map(Fused::slice_mut);
                compiled::avx2::recursion(work, of, door, model, state, vdot, loaded);
                compiled::avx2::matrices(work, of, model, out)
            },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx512(work), Path::Fused(door, quads)) => unsafe {
                let (door, base) = ((&**door, &**quads), lift(&state.base));
                let (state, vdot) = (fused_view(state, &base), Fused::slice(vdot));
                let out = out.map(Fused::slice_mut);
                compiled::avx512::recursion(work, of, door, model, state, vdot, loaded);
                compiled::avx512::matrices(work, of, model, out)
            },
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        }
    }

    /// I⁻¹ with the current factors.
    fn inverse_inertia(&mut self, path: &Path, model: &Model, out: &mut [f64]) {
        match (self, path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                inverse_inertia(&mut work.columns, door, model, out);
            }
            // SAFETY: this path exists only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx2(work), Path::Fused(door, _)) => unsafe {
                compiled::avx2::inverse_inertia(work, door, model, Fused::slice_mut(out));
            },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx512(work), Path::Fused(door, _)) => unsafe {
                compiled::avx512::inverse_inertia(work, door, model, Fused::slice_mut(out));
            },
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        }
    }
}

impl Store {
    fn new(model: &Model, path: &Path, widest: Cpu) -> Self {
        Store {
            inverse: None,
            forward: None,
            inverse_inertia: Matrix::zeros(0, 0),
            workspaces: match path {
                Path::Baseline(_) => Workspaces::Baseline(Plain::new(model)),
                #[cfg(target_arch = "x86_64")]
                Path::Fused(..) if widest == Cpu::Avx512 => {
                    Workspaces::Avx512(Registers::new(model))
                }
                #[cfg(target_arch = "x86_64")]
                Path::Fused(..) => Workspaces::Avx2(Registers::new(model)),
            },
        }
    }
}

impl Dynamics {
    /// ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ = I of [`inverse`](Self::inverse).
    ///
    /// Derivatives with respect to q are along the increments of [`State::step`]. External wrenches are taken as constant
    /// in body axes, Coulomb friction as constant; force elements change with the state.
    pub fn inverse_derivatives(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<&InverseDerivatives> {
        if self.is_coupled() {
            return self.coupled_inverse_derivatives(state, vdot, external);
        }
        self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        let loaded = self.load(state, external)?;
        let slopes = self.force_slopes(state);
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .inverse
            .get_or_insert_with(|| InverseDerivatives::new(model));
        let InverseDerivatives { dq, dv, inertia } = derivatives;
        let out = [dq, dv, inertia].map(Matrix::as_mut_slice);
        if let Some(native) = &mut self.native
            && let Some(code) = &mut native.codes.inverse_derivatives
            && !loaded
            && state.base.is_fixed()
        {
            code.run(&state.q, &state.v, vdot);
            share_out(code.results().0, out);
            derivatives.check(model)?;
            return Ok(derivatives);
        }
        let path = &self.path;
        let finite = (store.workspaces).run(Of::Inverse, path, model, state, vdot, loaded, out);
        // springs, dampers and rotors are added after the entries have been tested
        let tree = model.tree();
        if let Some([along_q, along_v]) = &slopes {
            subtract(&mut derivatives.dq, along_q);
            subtract(&mut derivatives.dv, along_v);
        }
        if !finite || tree.has_passive_forces || tree.has_rotors || slopes.is_some() {
            derivatives.check(model)?;
        }
        Ok(derivatives)
    }

    /// v̇ of [`forward`](Self::forward) with ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ = I⁻¹; conventions as in
    /// [`inverse_derivatives`](Self::inverse_derivatives). The factorization is kept: see [`solve`](Self::solve).
    pub fn forward_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<&ForwardDerivatives> {
        if self.is_coupled() {
            return self.coupled_forward_derivatives(state, tau, external);
        }
        if let Some(native) = &self.native
            && native.codes.forward_derivatives.is_some()
            && external.is_empty()
            && self.model.forces().is_empty()
            && state.base.is_fixed()
        {
            return self.compiled_forward_derivatives(state, tau);
        }
        self.general_forward(state, tau, external)?;
        let slopes = self.force_slopes(state);
        let loaded = !external.is_empty() || slopes.is_some();
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .forward
            .get_or_insert_with(|| ForwardDerivatives::new(model));
        let ForwardDerivatives { vdot, dq, dv, dtau } = derivatives;
        vdot.copy_from_slice(&self.vdot);
        let out = [dq, dv, dtau].map(Matrix::as_mut_slice);
        let path = &self.path;
        let finite = (store.workspaces).run(Of::Forward, path, model, state, vdot, loaded, out);
        if let Some([along_q, along_v]) = &slopes {
            // I ∂v̇ = … + Jᵀ ∂w
            add_product(&mut derivatives.dq, &derivatives.dtau, along_q);
            add_product(&mut derivatives.dv, &derivatives.dtau, along_v);
        }
        if !finite || model.tree().has_passive_forces || slopes.is_some() {
            let kept = std::mem::replace(&mut self.factors, Kept::None);
            derivatives.check(model)?;
            self.factors = kept;
        }
        Ok(derivatives)
    }

    /// Jᵀ ∂w/∂q and Jᵀ ∂w/∂v of the force elements, if there are any.
    fn force_slopes(&self, state: &State) -> Option<[Matrix; 2]> {
        let has_forces = !self.model.forces().is_empty();
        has_forces.then(|| elements::slopes(&self.model, state))
    }

    /// Derivatives of forward dynamics by code generated for the model.
    fn compiled_forward_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
    ) -> Result<&ForwardDerivatives> {
        self.factors = Kept::None;
        self.model.expect_tree()?;
        self.check_forward(state, tau, &[])?;
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .forward
            .get_or_insert_with(|| ForwardDerivatives::new(model));
        let ForwardDerivatives { vdot, dq, dv, dtau } = derivatives;
        if let Some(native) = &mut self.native
            && let Some(code) = &mut native.codes.forward_derivatives
        {
            code.run(&state.q, &state.v, tau);
            let (found, inverse_pivots) = code.results();
            share_out(found, [dq, dv, dtau].map(Matrix::as_mut_slice));
            vdot.copy_from_slice(&found[found.len() - model.nv()..]);
            self.vdot.copy_from_slice(vdot);
            super::check_pivots_of(model, inverse_pivots)?;
            super::finite_result("accelerations", model, &self.vdot)?;
            derivatives.check(model)?;
            native.positions.copy_from_slice(&state.q);
            self.factors = Kept::AtPositions;
        }
        Ok(derivatives)
    }

    /// I⁻¹ in O(n²). The factorization is kept: see [`solve`](Self::solve).
    pub fn inverse_inertia(&mut self, state: &State) -> Result<&Matrix> {
        if self.is_coupled() {
            return self.coupled_inverse_inertia(state);
        }
        self.factorize(state)?;
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        make_square(&mut store.inverse_inertia, model.nv());
        let out = store.inverse_inertia.as_mut_slice();
        (store.workspaces).inverse_inertia(&self.path, model, out);
        finite_matrix("I⁻¹", model, &store.inverse_inertia)?;
        Ok(&store.inverse_inertia)
    }
}

impl InverseDerivatives {
    /// Are all entries finite?
    pub(super) fn check(&self, model: &Model) -> Result<()> {
        finite_matrix("∂τ/∂q", model, &self.dq)?;
        finite_matrix("∂τ/∂v", model, &self.dv)?;
        finite_matrix("∂τ/∂v̇", model, &self.inertia)
    }
}

impl ForwardDerivatives {
    /// Are all entries finite?
    pub(super) fn check(&self, model: &Model) -> Result<()> {
        finite_matrix("∂v̇/∂q", model, &self.dq)?;
        finite_matrix("∂v̇/∂v", model, &self.dv)?;
        finite_matrix("∂v̇/∂τ", model, &self.dtau)
    }
}

/// a − b, in place.
fn subtract(a: &mut Matrix, b: &Matrix) {
    for (a, b) in a.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *a -= b;
    }
}

/// a + b c, in place.
fn add_product(a: &mut Matrix, b: &Matrix, c: &Matrix) {
    for i in 0..a.rows() {
        for k in 0..c.rows() {
            let factor = b[(i, k)];
            for (a, c) in a.row_mut(i).iter_mut().zip(c.row(k)) {
                *a += factor * c;
            }
        }
    }
}

/// Matrices stored one after another.
pub(super) fn share_out(from: &[f64], out: [&mut [f64]; 3]) {
    let mut rest = from;
    for out in out {
        let (own, others) = rest.split_at(out.len());
        out.copy_from_slice(own);
        rest = others;
    }
}

pub(super) fn finite_matrix(what: &str, model: &Model, matrix: &Matrix) -> Result<()> {
    if all_finite(matrix.as_slice()) {
        return Ok(());
    }
    let at = matrix
        .as_slice()
        .iter()
        .position(|x| !x.is_finite())
        .unwrap_or(0);
    let row = at / matrix.columns();
    Err(Error::new(
        ErrorKind::Input,
        match matrix.rows() == model.nv() {
            true => format!("{what}: the row of `{}` overflows", model.freedom(row).name),
            false => format!("{what}: row {} overflows", row + 1),
        },
    )
    .hint("positions, velocities or forces are too large for double precision"))
}

/// Are all numbers finite? In eight independent sums.
fn all_finite(x: &[f64]) -> bool {
    let mut sums = [0.0; 8];
    let (eights, rest) = x.as_chunks::<8>();
    for eight in eights {
        for (sum, x) in sums.iter_mut().zip(eight) {
            *sum += x * 0.0;
        }
    }
    super::all_finite(&sums) && super::all_finite(rest)
}
