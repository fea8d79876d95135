//! Derivatives, behind the same checked door.

use super::{Dynamics, Path, Work, make_square};
use crate::Cpu;
use crate::algorithm::derivatives::inverse::Work as InverseWork;
use crate::algorithm::derivatives::pairs::Pairs;
use crate::algorithm::derivatives::sweeps::Sweeps;
use crate::algorithm::derivatives::{ForwardDerivatives, InverseDerivatives, forward};
use crate::algorithm::factorization::columns::Columns;
use crate::algorithm::pack::One;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::spatial::Force;
use crate::state::{Base, State};
#[cfg(target_arch = "x86_64")]
use {
    super::{Quads, lift},
    crate::algorithm::derivatives::{pairs, sweeps},
    crate::algorithm::pack::Register,
    crate::quad::QuadDerivatives,
    crate::scalar::{Avx2Register, Avx512Register, Fused, Scalar, Vector, Wide},
};

/// Results and workspaces; quadratic in the number of freedoms, made when first asked for.
#[derive(Clone, Debug)]
pub(super) struct Store {
    inverse: Option<InverseDerivatives>,
    forward: Option<ForwardDerivatives>,
    inverse_inertia: Matrix,
    workspaces: Workspaces,
}

/// The workspaces of generic recursions.
#[derive(Clone, Debug)]
struct Plain {
    inverse: InverseWork<f64>,
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
            inverse: InverseWork::new(model),
            pairs: Pairs::new::<f64, One, f64>(model),
            forward: forward::Recursion::new(model),
            sweeps: Sweeps::new(model),
            columns: Columns::new(model),
        }
    }

    /// Are all entries found finite?
    fn inverse(
        &mut self,
        door: &Work<f64>,
        model: &Model,
        state: [&[f64]; 3],
        base: &Base<f64>,
        loaded: bool,
        out: [&mut [f64]; 3],
    ) -> bool {
        let external = if loaded { &door.external[..] } else { &[] };
        self.inverse.run(model, state, base, external);
        let freedoms = &self.inverse.freedoms;
        let bad = (self.pairs).run::<f64, One, f64, true>(model, freedoms, out);
        !bad.is_nan()
    }

    /// With the factors that forward dynamics has left. Are all entries found finite?
    fn forward(
        &mut self,
        door: &Work<f64>,
        model: &Model,
        state: [&[f64]; 3],
        base: &Base<f64>,
        loaded: bool,
        out: [&mut [f64]; 3],
    ) -> bool {
        let external = if loaded { &door.external[..] } else { &[] };
        let factors = &door.forward.factors;
        (self.forward).run(model, state, base, external, factors);
        !(self.sweeps)
            .run(model, &self.forward.freedoms, out)
            .is_nan()
    }

    /// With the factors that are there.
    fn inverse_inertia(&mut self, door: &Work<f64>, model: &Model, out: &mut [f64]) {
        self.columns.prepare(model, &door.forward.factors);
        self.columns.inverse(model, out);
    }
}

/// The workspaces where bodies have a vector in a register, and matrices several columns.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
struct Registers<V: Vector> {
    recursion: QuadDerivatives,
    of_efforts: Vec<pairs::Numbers<Wide<V>>>,
    pairs: Pairs<Wide<V>>,
    of_accelerations: Vec<sweeps::Numbers<Wide<V>>>,
    sweeps: Sweeps<Fused, Register<V>>,
    columns: Columns<Fused, Register<V>>,
}

#[cfg(target_arch = "x86_64")]
impl<V: Vector> Registers<V> {
    fn new(model: &Model) -> Self {
        let packs = model.nv().div_ceil(V::LANES);
        Registers {
            recursion: QuadDerivatives::new(model),
            of_efforts: vec![[Wide::zero(); pairs::NUMBERS]; packs],
            pairs: Pairs::new::<Fused, Register<V>, f64>(model),
            of_accelerations: vec![[Wide::zero(); sweeps::NUMBERS]; packs],
            sweeps: Sweeps::new(model),
            columns: Columns::new(model),
        }
    }

    #[inline(always)]
    fn inverse_recursion(
        &mut self,
        (door, quads): (&Work<Fused>, &Quads),
        model: &Model,
        state: [&[Fused]; 3],
        base: &Base<Fused>,
        loaded: bool,
    ) {
        let external = if loaded { &door.external[..] } else { &[] };
        (self.recursion).of_efforts(model, &quads.links, state, base, external);
    }

    /// After [`inverse_recursion`](Self::inverse_recursion). Are all entries found finite?
    #[inline(always)]
    fn inverse_matrices(&mut self, model: &Model, out: [&mut [Fused]; 3]) -> bool {
        self.recursion.fill_of_efforts(&mut self.of_efforts);
        let packs = &self.of_efforts;
        let bad = (self.pairs).run::<Fused, Register<V>, f64, true>(model, packs, out);
        V::all(bad.0.less(V::splat(1.0)))
    }

    /// With the factors that forward dynamics has left.
    #[inline(always)]
    fn forward_recursion(
        &mut self,
        (door, quads): (&Work<Fused>, &Quads),
        model: &Model,
        state: [&[Fused]; 3],
        base: &Base<Fused>,
        loaded: bool,
    ) {
        let external = if loaded { &door.external[..] } else { &[] };
        let (links, factors) = (&quads.links, &quads.forward);
        (self.recursion).of_accelerations(model, links, factors, state, base, external);
    }

    /// After [`forward_recursion`](Self::forward_recursion). Are all entries found finite?
    #[inline(always)]
    fn forward_matrices(&mut self, model: &Model, out: [&mut [Fused]; 3]) -> bool {
        self.recursion
            .fill_of_accelerations(&mut self.of_accelerations);
        let bad = self.sweeps.run(model, &self.of_accelerations, out);
        V::all(bad.0.less(V::splat(1.0)))
    }

    /// With the factors that are there.
    #[inline(always)]
    fn inverse_inertia(&mut self, door: &Work<Fused>, model: &Model, out: &mut [Fused]) {
        self.columns.prepare(model, &door.forward.factors);
        self.columns.inverse(model, out);
    }
}

/// The same functions compiled with AVX2 and fused multiply-add, and with AVX-512; the features are those the registers ask
/// for.
#[cfg(target_arch = "x86_64")]
mod compiled {
    use super::*;

    macro_rules! compiled {
        ($register:ty, $features:literal) => {
            compiled!(@recursion $register, $features, inverse_recursion);
            compiled!(@recursion $register, $features, forward_recursion);
            compiled!(@matrices $register, $features, inverse_matrices);
            compiled!(@matrices $register, $features, forward_matrices);

            #[target_feature(enable = $features)]
            pub(crate) fn inverse_inertia(
                work: &mut Registers<$register>,
                door: &Work<Fused>,
                model: &Model,
                out: &mut [Fused],
            ) {
                work.inverse_inertia(door, model, out);
            }
        };
        (@recursion $register:ty, $features:literal, $name:ident) => {
            #[target_feature(enable = $features)]
            #[inline(never)]
            pub(crate) fn $name(
                work: &mut Registers<$register>,
                door: (&Work<Fused>, &Quads),
                model: &Model,
                state: [&[Fused]; 3],
                base: &Base<Fused>,
                loaded: bool,
            ) {
                work.$name(door, model, state, base, loaded);
            }
        };
        (@matrices $register:ty, $features:literal, $name:ident) => {
            #[target_feature(enable = $features)]
            pub(crate) fn $name(
                work: &mut Registers<$register>,
                model: &Model,
                out: [&mut [Fused]; 3],
            ) -> bool {
                work.$name(model, out)
            }
        };
    }

    pub(super) mod avx2 {
        use super::*;
        compiled!(
            Avx2Register,
            "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave"
        );
    }

    pub(super) mod avx512 {
        use super::*;
        compiled!(
            Avx512Register,
            "adx,aes,avx512bitalg,avx512bw,avx512cd,avx512dq,avx512f,avx512ifma,avx512vbmi,avx512vbmi2,avx512vl,avx512vnni,avx512vpopcntdq,bmi1,bmi2,cmpxchg16b,fma,fxsr,gfni,lzcnt,movbe,pclmulqdq,popcnt,rdrand,rdseed,sha,vaes,vpclmulqdq,xsave,xsavec,xsaveopt,xsaves"
        );
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
    /// in body axes, Coulomb friction as constant.
    pub fn inverse_derivatives(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<&InverseDerivatives> {
        self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        self.load(external)?;
        let loaded = !external.is_empty();
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .inverse
            .get_or_insert_with(|| InverseDerivatives::new(model));
        let InverseDerivatives { dq, dv, inertia } = derivatives;
        let out = [dq, dv, inertia].map(Matrix::as_mut_slice);
        let slices = [&state.q[..], &state.v, vdot];
        if let Some(native) = &mut self.native
            && let Some(code) = &mut native.codes.inverse_derivatives
            && !loaded
            && state.base == Base::fixed()
        {
            code.run(&state.q, &state.v, vdot);
            share_out(code.results().0, out);
            finite_matrix("∂τ/∂q", model, &derivatives.dq)?;
            finite_matrix("∂τ/∂v", model, &derivatives.dv)?;
            finite_matrix("∂τ/∂v̇", model, &derivatives.inertia)?;
            return Ok(derivatives);
        }
        let finite = match (&mut store.workspaces, &self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.inverse(door, model, slices, &state.base, loaded, out)
            }
            // SAFETY: these paths exist only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx2(work), Path::Fused(door, quads)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx2::inverse_recursion(
                    work,
                    (door, quads),
                    model,
                    slices,
                    &base,
                    loaded,
                );
                compiled::avx2::inverse_matrices(work, model, out)
            },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx512(work), Path::Fused(door, quads)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx512::inverse_recursion(
                    work,
                    (door, quads),
                    model,
                    slices,
                    &base,
                    loaded,
                );
                compiled::avx512::inverse_matrices(work, model, out)
            },
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        };
        // springs, dampers and rotors come after the entries have been looked at
        let tree = model.tree();
        if !finite || tree.has_passive_forces || tree.has_rotors {
            finite_matrix("∂τ/∂q", model, &derivatives.dq)?;
            finite_matrix("∂τ/∂v", model, &derivatives.dv)?;
            finite_matrix("∂τ/∂v̇", model, &derivatives.inertia)?;
        }
        Ok(derivatives)
    }

    /// v̇ of [`forward`](Self::forward) with ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ = I⁻¹; the same conventions as
    /// [`inverse_derivatives`](Self::inverse_derivatives). The factorization is kept: see [`solve`](Self::solve).
    pub fn forward_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<&ForwardDerivatives> {
        if let Some(native) = &self.native
            && native.codes.forward_derivatives.is_some()
            && external.is_empty()
            && state.base == Base::fixed()
        {
            return self.compiled_forward_derivatives(state, tau);
        }
        self.general_forward(state, tau, external)?;
        let loaded = !external.is_empty();
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        let derivatives = store
            .forward
            .get_or_insert_with(|| ForwardDerivatives::new(model));
        let ForwardDerivatives { vdot, dq, dv, dtau } = derivatives;
        vdot.copy_from_slice(&self.vdot);
        let slices = [&state.q[..], &state.v, vdot];
        let out = [dq, dv, dtau].map(Matrix::as_mut_slice);
        let finite = match (&mut store.workspaces, &self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.forward(door, model, slices, &state.base, loaded, out)
            }
            // SAFETY: these paths exist only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx2(work), Path::Fused(door, quads)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx2::forward_recursion(
                    work,
                    (door, quads),
                    model,
                    slices,
                    &base,
                    loaded,
                );
                compiled::avx2::forward_matrices(work, model, out)
            },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx512(work), Path::Fused(door, quads)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx512::forward_recursion(
                    work,
                    (door, quads),
                    model,
                    slices,
                    &base,
                    loaded,
                );
                compiled::avx512::forward_matrices(work, model, out)
            },
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        };
        if !finite || model.tree().has_passive_forces {
            finite_matrix("∂v̇/∂q", model, &derivatives.dq)?;
            finite_matrix("∂v̇/∂v", model, &derivatives.dv)?;
            finite_matrix("∂v̇/∂τ", model, &derivatives.dtau)?;
        }
        Ok(derivatives)
    }

    /// The same by code made for the model.
    fn compiled_forward_derivatives(
        &mut self,
        state: &State,
        tau: &[f64],
    ) -> Result<&ForwardDerivatives> {
        self.model.expect_tree()?;
        self.check_forward(state, tau, &[])?;
        self.factorized = false;
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
            if let Some(k) = super::not_positive(inverse_pivots) {
                return Err(super::singular(model, k));
            }
            native.positions.copy_from_slice(&state.q);
            native.factors_wanted = true;
            self.factorized = true;
        }
        super::finite_result("accelerations", model, &self.vdot)?;
        finite_matrix("∂v̇/∂q", model, &derivatives.dq)?;
        finite_matrix("∂v̇/∂v", model, &derivatives.dv)?;
        finite_matrix("∂v̇/∂τ", model, &derivatives.dtau)?;
        Ok(derivatives)
    }

    /// I⁻¹ in O(n²). The factorization is kept: see [`solve`](Self::solve).
    pub fn inverse_inertia(&mut self, state: &State) -> Result<&Matrix> {
        self.factorize(state)?;
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path, self.widest)));
        make_square(&mut store.inverse_inertia, model.nv());
        let out = store.inverse_inertia.as_mut_slice();
        match (&mut store.workspaces, &self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.inverse_inertia(door, model, out);
            }
            // SAFETY: these paths exist only where the processor has the instructions.
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
        Ok(&store.inverse_inertia)
    }
}

/// Matrices that lie one after another.
fn share_out(from: &[f64], out: [&mut [f64]; 3]) {
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
            true => format!(
                "{what}: the row of `{}` overflows",
                model.tree().dofs[row].name
            ),
            false => format!("{what}: row {} overflows", row + 1),
        },
    )
    .hint("positions, velocities or forces are too large for double precision"))
}

/// Are all numbers finite? In eight sums, so that they are computed side by side.
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
