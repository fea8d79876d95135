//! Derivatives, behind the same checked door.

use super::{Dynamics, Path, Work, make_square};
use crate::Cpu;
use crate::algorithm::derivatives::inverse::Work as InverseWork;
use crate::algorithm::derivatives::pairs::Pairs;
use crate::algorithm::derivatives::sweeps::Sweeps;
use crate::algorithm::derivatives::{ForwardDerivatives, InverseDerivatives, forward};
use crate::algorithm::factorization::columns::Columns;
use crate::algorithm::pack::{One, Pack};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::spatial::Force;
use crate::state::{Base, State};
#[cfg(target_arch = "x86_64")]
use {
    super::lift,
    crate::algorithm::pack::Register,
    crate::scalar::{Avx2Register, Avx512Register, Fused},
};

/// Results and workspaces; quadratic in the number of freedoms, made when first asked for.
#[derive(Clone, Debug)]
pub(super) struct Store {
    inverse: Option<InverseDerivatives>,
    forward: Option<ForwardDerivatives>,
    inverse_inertia: Matrix,
    workspaces: Workspaces,
}

/// The workspaces of one scalar and the packs it comes in.
#[derive(Clone, Debug)]
struct Workspace<S: Scalar, K: Pack<S>> {
    inverse: InverseWork<S, K>,
    pairs: Pairs<K::Many>,
    forward: forward::Recursion<S, K>,
    sweeps: Sweeps<S, K>,
    columns: Columns<S, K>,
}

#[derive(Clone, Debug)]
enum Workspaces {
    Baseline(Workspace<f64, One>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Workspace<Fused, Register<Avx2Register>>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Workspace<Fused, Register<Avx512Register>>),
}

impl<S: Scalar, K: Pack<S>> Workspace<S, K> {
    fn new(model: &Model) -> Self {
        Workspace {
            inverse: InverseWork::new(model),
            pairs: Pairs::new::<S, K, f64>(model),
            forward: forward::Recursion::new(model),
            sweeps: Sweeps::new(model),
            columns: Columns::new(model),
        }
    }

    #[inline(always)]
    fn inverse_recursion(
        &mut self,
        door: &Work<S>,
        model: &Model,
        state: [&[S]; 3],
        base: &Base<S>,
        loaded: bool,
    ) {
        let external = if loaded { &door.external[..] } else { &[] };
        self.inverse.run(model, state, base, external);
    }

    /// After [`inverse_recursion`](Self::inverse_recursion).
    #[inline(always)]
    fn inverse_matrices(&mut self, model: &Model, out: [&mut [S]; 3]) {
        self.inverse.fill();
        let packs = &self.inverse.packs;
        self.pairs.run::<S, K, f64, true>(model, packs, out);
    }

    /// With the factors that forward dynamics has left.
    #[inline(always)]
    fn forward_recursion(
        &mut self,
        door: &Work<S>,
        model: &Model,
        state: [&[S]; 3],
        base: &Base<S>,
        loaded: bool,
    ) {
        let external = if loaded { &door.external[..] } else { &[] };
        let factors = &door.forward.factors;
        (self.forward).run(model, state, base, external, factors);
    }

    /// After [`forward_recursion`](Self::forward_recursion).
    #[inline(always)]
    fn forward_matrices(&mut self, model: &Model, out: [&mut [S]; 3]) {
        self.forward.fill(model);
        self.sweeps.run(model, &self.forward.packs, out);
    }

    /// With the factors that are there.
    #[inline(always)]
    fn inverse_inertia(&mut self, door: &Work<S>, model: &Model, out: &mut [S]) {
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
        ($pack:ty, $features:literal) => {
            compiled!(@recursion $pack, $features, inverse_recursion);
            compiled!(@recursion $pack, $features, forward_recursion);
            compiled!(@matrices $pack, $features, inverse_matrices);
            compiled!(@matrices $pack, $features, forward_matrices);

            #[target_feature(enable = $features)]
            pub(crate) fn inverse_inertia(
                work: &mut Workspace<Fused, $pack>,
                door: &Work<Fused>,
                model: &Model,
                out: &mut [Fused],
            ) {
                work.inverse_inertia(door, model, out);
            }
        };
        // a recursion from body to body gains from the number of registers, not from their width
        (@recursion $pack:ty, $features:literal, $name:ident) => {
            #[target_feature(enable = $features)]
            #[inline(never)]
            pub(crate) fn $name(
                work: &mut Workspace<Fused, $pack>,
                door: &Work<Fused>,
                model: &Model,
                state: [&[Fused]; 3],
                base: &Base<Fused>,
                loaded: bool,
            ) {
                work.$name(door, model, state, base, loaded);
            }
        };
        (@matrices $pack:ty, $features:literal, $name:ident) => {
            #[target_feature(enable = $features)]
            pub(crate) fn $name(
                work: &mut Workspace<Fused, $pack>,
                model: &Model,
                out: [&mut [Fused]; 3],
            ) {
                work.$name(model, out);
            }
        };
    }

    pub(super) mod avx2 {
        use super::*;
        compiled!(
            Register<Avx2Register>,
            "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave"
        );
    }

    pub(super) mod avx512 {
        use super::*;
        compiled!(
            Register<Avx512Register>,
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
                Path::Baseline(_) => Workspaces::Baseline(Workspace::new(model)),
                #[cfg(target_arch = "x86_64")]
                Path::Fused(..) if widest == Cpu::Avx512 => {
                    Workspaces::Avx512(Workspace::new(model))
                }
                #[cfg(target_arch = "x86_64")]
                Path::Fused(..) => Workspaces::Avx2(Workspace::new(model)),
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
            return Ok(derivatives);
        }
        match (&mut store.workspaces, &self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.inverse_recursion(door, model, slices, &state.base, loaded);
                work.inverse_matrices(model, out);
            }
            // SAFETY: these paths exist only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx2(work), Path::Fused(door, _)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx2::inverse_recursion(work, door, model, slices, &base, loaded);
                compiled::avx2::inverse_matrices(work, model, out);
            },
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx512(work), Path::Fused(door, _)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx512::inverse_recursion(work, door, model, slices, &base, loaded);
                compiled::avx512::inverse_matrices(work, model, out);
            },
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        }
        finite_matrix("∂τ/∂q", model, &derivatives.dq)?;
        finite_matrix("∂τ/∂v", model, &derivatives.dv)?;
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
        self.export_factors();
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
        match (&mut store.workspaces, &self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.forward_recursion(door, model, slices, &state.base, loaded);
                work.forward_matrices(model, out);
            }
            // SAFETY: these paths exist only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx2(work), Path::Fused(door, _)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx2::forward_recursion(work, door, model, slices, &base, loaded);
                compiled::avx2::forward_matrices(work, model, out);
            },
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            (Workspaces::Avx512(work), Path::Fused(door, _)) => unsafe {
                let (slices, out) = (slices.map(Fused::slice), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                compiled::avx512::forward_recursion(work, door, model, slices, &base, loaded);
                compiled::avx512::forward_matrices(work, model, out);
            },
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        }
        finite_matrix("∂v̇/∂q", model, &derivatives.dq)?;
        finite_matrix("∂v̇/∂v", model, &derivatives.dv)?;
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
