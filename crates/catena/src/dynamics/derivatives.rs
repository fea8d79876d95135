//! Derivatives, behind the same checked door.

use super::{Dynamics, Path, Work, finite_result, make_square};
use crate::algorithm::derivatives::inverse::{self, Work as InverseWork};
use crate::algorithm::derivatives::pack::{One, Pack};
use crate::algorithm::derivatives::{ForwardDerivatives, InverseDerivatives, forward};
use crate::algorithm::factorization::columns::Columns;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::spatial::Force;
use crate::state::{Base, State};
#[cfg(target_arch = "x86_64")]
use {super::lift, crate::algorithm::derivatives::pack::Four, crate::scalar::Fused};

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
    columns: Columns<S, K>,
}

#[derive(Clone, Debug)]
enum Workspaces {
    Baseline(Workspace<f64, One>),
    #[cfg(target_arch = "x86_64")]
    Fused(Workspace<Fused, Four>),
}

impl<S: Scalar, K: Pack<S>> Workspace<S, K> {
    fn new(model: &Model) -> Self {
        Workspace {
            inverse: InverseWork::new(model),
            columns: Columns::new(model),
        }
    }

    #[inline(always)]
    fn inverse_derivatives(
        &mut self,
        door: &mut Work<S>,
        model: &Model,
        state: [&[S]; 3],
        base: &Base<S>,
        loaded: bool,
        out: [&mut [S]; 3],
    ) {
        let external = if loaded { &door.external[..] } else { &[] };
        let work = &mut self.inverse;
        inverse::kernel::<S, f64, K, true>(model, state, base, external, work, out);
    }

    #[inline(always)]
    fn forward_derivatives(
        &mut self,
        door: &mut Work<S>,
        model: &Model,
        state: [&[S]; 3],
        base: &Base<S>,
        loaded: bool,
        vdot: &mut [S],
        out: [&mut [S]; 3],
    ) {
        let external = if loaded { &door.external[..] } else { &[] };
        let works = (&mut door.forward, &mut self.inverse, &mut self.columns);
        forward::kernel(model, state, base, external, works, vdot, out);
    }

    #[inline(always)]
    fn inverse_inertia(&mut self, door: &mut Work<S>, model: &Model, q: &[S], out: &mut [S]) {
        door.forward.factors.factorize_kernel(model, q);
        self.columns.prepare(model, &door.forward.factors);
        self.columns.inverse(model, out);
    }
}

/// The fused path: the same functions compiled with AVX2 and fused multiply-add. The features are those the registers ask
/// for.
#[cfg(target_arch = "x86_64")]
mod fused {
    use super::*;

    macro_rules! compiled_for_avx2 {
        ($(fn $name:ident(work, door, $($argument:ident: $type:ty),*);)*) => {$(
            #[target_feature(enable = "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave")]
            pub(super) fn $name(
                work: &mut Workspace<Fused, Four>,
                door: &mut Work<Fused>,
                $($argument: $type),*
            ) {
                work.$name(door, $($argument),*);
            }
        )*};
    }

    compiled_for_avx2! {
        fn inverse_derivatives(work, door, model: &Model, state: [&[Fused]; 3], base: &Base<Fused>, loaded: bool, out: [&mut [Fused]; 3]);
        fn forward_derivatives(work, door, model: &Model, state: [&[Fused]; 3], base: &Base<Fused>, loaded: bool, vdot: &mut [Fused], out: [&mut [Fused]; 3]);
        fn inverse_inertia(work, door, model: &Model, q: &[Fused], out: &mut [Fused]);
    }
}

impl Store {
    fn new(model: &Model, path: &Path) -> Self {
        Store {
            inverse: None,
            forward: None,
            inverse_inertia: Matrix::zeros(0, 0),
            workspaces: match path {
                Path::Baseline(_) => Workspaces::Baseline(Workspace::new(model)),
                #[cfg(target_arch = "x86_64")]
                Path::Fused(_) => Workspaces::Fused(Workspace::new(model)),
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
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path)));
        let derivatives = store
            .inverse
            .get_or_insert_with(|| InverseDerivatives::new(model));
        let InverseDerivatives { dq, dv, inertia } = derivatives;
        let out = [dq, dv, inertia].map(Matrix::as_mut_slice);
        match (&mut store.workspaces, &mut self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                let slices = [&state.q[..], &state.v, vdot];
                work.inverse_derivatives(door, model, slices, &state.base, loaded, out);
            }
            #[cfg(target_arch = "x86_64")]
            (Workspaces::Fused(work), Path::Fused(door)) => {
                let slices = [&state.q[..], &state.v, vdot].map(Fused::slice);
                let out = out.map(Fused::slice_mut);
                let base = lift(&state.base);
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::inverse_derivatives(work, door, model, slices, &base, loaded, out);
                }
            }
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
        self.check_state(state)?;
        self.check_vector("efforts", tau)?;
        self.load(external)?;
        self.factorized = false;
        let loaded = !external.is_empty();
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path)));
        let derivatives = store
            .forward
            .get_or_insert_with(|| ForwardDerivatives::new(model));
        let ForwardDerivatives { vdot, dq, dv, dtau } = derivatives;
        let out = [dq, dv, dtau].map(Matrix::as_mut_slice);
        match (&mut store.workspaces, &mut self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                let slices = [&state.q[..], &state.v, tau];
                work.forward_derivatives(door, model, slices, &state.base, loaded, vdot, out);
            }
            #[cfg(target_arch = "x86_64")]
            (Workspaces::Fused(work), Path::Fused(door)) => {
                let slices = [&state.q[..], &state.v, tau].map(Fused::slice);
                let (vdot, out) = (Fused::slice_mut(vdot), out.map(Fused::slice_mut));
                let base = lift(&state.base);
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::forward_derivatives(work, door, model, slices, &base, loaded, vdot, out);
                }
            }
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        }
        self.check_pivots()?;
        self.factorized = true;
        let Some(Store {
            forward: Some(derivatives),
            ..
        }) = self.derivatives.as_deref()
        else {
            unreachable!("made above")
        };
        finite_result("accelerations", &self.model, &derivatives.vdot)?;
        finite_matrix("∂v̇/∂q", &self.model, &derivatives.dq)?;
        finite_matrix("∂v̇/∂v", &self.model, &derivatives.dv)?;
        Ok(derivatives)
    }

    /// I⁻¹ in O(n²). The factorization is kept: see [`solve`](Self::solve).
    pub fn inverse_inertia(&mut self, state: &State) -> Result<&Matrix> {
        self.check_state(state)?;
        self.factorized = false;
        let model = &self.model;
        let store = self
            .derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path)));
        make_square(&mut store.inverse_inertia, model.nv());
        let out = store.inverse_inertia.as_mut_slice();
        match (&mut store.workspaces, &mut self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                work.inverse_inertia(door, model, &state.q, out);
            }
            #[cfg(target_arch = "x86_64")]
            (Workspaces::Fused(work), Path::Fused(door)) => {
                let (q, out) = (Fused::slice(&state.q), Fused::slice_mut(out));
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::inverse_inertia(work, door, model, q, out);
                }
            }
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        }
        self.check_pivots()?;
        self.factorized = true;
        match self.derivatives.as_deref() {
            Some(store) => Ok(&store.inverse_inertia),
            None => unreachable!("made above"),
        }
    }
}

fn finite_matrix(what: &str, model: &Model, matrix: &Matrix) -> Result<()> {
    if all_finite(matrix.as_slice()) {
        return Ok(());
    }
    let at = matrix
        .as_slice()
        .iter()
        .position(|x| !x.is_finite())
        .unwrap_or(0);
    Err(Error::new(
        ErrorKind::Input,
        format!(
            "{what}: the row of `{}` overflows",
            model.tree().dofs[at / matrix.columns()].name
        ),
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
