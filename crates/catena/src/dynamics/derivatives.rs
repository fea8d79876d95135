//! Derivatives, behind the same checked door.

use super::{Dynamics, Path, Work, lift};
use crate::algorithm::derivatives::InverseDerivatives;
use crate::algorithm::derivatives::inverse::{self, Work as InverseWork};
#[cfg(target_arch = "x86_64")]
use crate::algorithm::derivatives::pack::Four;
use crate::algorithm::derivatives::pack::One;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::Fused;
use crate::spatial::Force;
use crate::state::{Base, State};

/// Results and workspaces; quadratic in the number of freedoms.
#[derive(Clone, Debug)]
pub(super) struct Store {
    inverse: InverseDerivatives,
    workspaces: Workspaces,
}

#[derive(Clone, Debug)]
enum Workspaces {
    Baseline(InverseWork<f64, One>),
    #[cfg(target_arch = "x86_64")]
    Fused(InverseWork<Fused, Four>),
}

/// The fused path: the same functions compiled with AVX2 and fused multiply-add. The features are those the registers ask
/// for.
#[cfg(target_arch = "x86_64")]
mod fused {
    use super::*;

    macro_rules! compiled_for_avx2 {
        ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
            #[target_feature(enable = "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave")]
            pub(super) fn $name($($argument: $type),*) $body
        )*};
    }

    compiled_for_avx2! {
        fn inverse_derivatives(
            work: &mut InverseWork<Fused, Four>,
            model: &Model,
            state: [&[Fused]; 3],
            base: &Base<Fused>,
            external: &[Force<Fused>],
            out: [&mut [Fused]; 3],
        ) {
            inverse::kernel::<Fused, f64, Four, true>(model, state, base, external, work, out);
        }
    }
}

impl Store {
    fn new(model: &Model, path: &Path) -> Self {
        Store {
            inverse: InverseDerivatives::new(model),
            workspaces: match path {
                Path::Baseline(_) => Workspaces::Baseline(InverseWork::new(model)),
                #[cfg(target_arch = "x86_64")]
                Path::Fused(_) => Workspaces::Fused(InverseWork::new(model)),
            },
        }
    }
}

/// The wrenches of a call, or none.
fn loads<S>(work: &Work<S>, loaded: bool) -> &[Force<S>] {
    if loaded { &work.external } else { &[] }
}

impl Dynamics {
    /// ∂τ/∂q, ∂τ/∂v and ∂τ/∂v̇ of [`inverse`](Self::inverse).
    ///
    /// Derivatives with respect to q are along the increments of [`State::step`]. External wrenches are taken as constant
    /// in body axes. Coulomb friction counts as constant.
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
        let InverseDerivatives { dq, dv, inertia } = &mut store.inverse;
        let out = [dq.as_mut_slice(), dv.as_mut_slice(), inertia.as_mut_slice()];
        match (&mut store.workspaces, &self.path) {
            (Workspaces::Baseline(work), Path::Baseline(door)) => {
                inverse::kernel::<f64, f64, One, true>(
                    model,
                    [&state.q, &state.v, vdot],
                    &state.base,
                    loads(door, loaded),
                    work,
                    out,
                );
            }
            #[cfg(target_arch = "x86_64")]
            (Workspaces::Fused(work), Path::Fused(door)) => {
                let slices = [&state.q[..], &state.v, vdot].map(Fused::slice);
                // SAFETY: this path exists only where AVX2 and FMA were detected.
                #[allow(unsafe_code)]
                unsafe {
                    fused::inverse_derivatives(
                        work,
                        model,
                        slices,
                        &lift(&state.base),
                        loads(door, loaded),
                        out.map(Fused::slice_mut),
                    );
                }
            }
            #[cfg(target_arch = "x86_64")]
            _ => unreachable!("workspaces are made for the path"),
        }
        finite_matrix("∂τ/∂q", model, &store.inverse.dq)?;
        finite_matrix("∂τ/∂v", model, &store.inverse.dv)?;
        Ok(&store.inverse)
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
