//! Derivatives of many states at once.

use super::{Batch, Path, gather};
use crate::algorithm::derivatives::pack::One;
use crate::algorithm::derivatives::{forward, inverse};
use crate::algorithm::factorization::columns::Columns;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
#[cfg(target_arch = "x86_64")]
use crate::scalar::{Avx2Register, Avx512Register};
use crate::scalar::{Scalar, Vector, Wide};
use crate::state::{Base, State, check_length};
use crate::{Cpu, Dynamics};

/// Workspaces and matrices of one kind of register.
#[derive(Clone, Debug)]
struct Work<V: Vector> {
    forward: ForwardDynamics<Wide<V>>,
    inverse: inverse::Work<Wide<V>, One>,
    columns: Columns<Wide<V>, One>,
    q: Vec<Wide<V>>,
    v: Vec<Wide<V>>,
    input: Vec<Wide<V>>,
    vdot: Vec<Wide<V>>,
    matrices: [Vec<Wide<V>>; 3],
}

/// Inputs of a batch, states after one another, and its results: nv × nv numbers per state, by rows.
struct Slices<'a> {
    q: &'a [f64],
    v: &'a [f64],
    input: &'a [f64],
    out: [&'a mut [f64]; 3],
}

impl<V: Vector> Work<V> {
    fn new(model: &Model) -> Self {
        let zero = Wide::<V>::zero();
        let nv = model.nv();
        let matrix = vec![zero; nv * nv];
        Work {
            forward: ForwardDynamics::new(model),
            inverse: inverse::Work::new(model),
            columns: Columns::new(model),
            q: vec![zero; model.nq()],
            v: vec![zero; nv],
            input: vec![zero; nv],
            vdot: vec![zero; nv],
            matrices: [matrix.clone(), matrix.clone(), matrix],
        }
    }

    /// Register by register; the lanes that are left over at the end repeat the last state.
    #[inline(always)]
    fn run<const FORWARD: bool>(&mut self, model: &Model, slices: &mut Slices<'_>) {
        let (nq, nv) = (model.nq(), model.nv());
        let states = slices.input.len() / nv;
        let base = Base::fixed();
        let mut first = 0;
        while first < states {
            let used = V::LANES.min(states - first);
            gather(&mut self.q, slices.q, nq, first, used);
            gather(&mut self.v, slices.v, nv, first, used);
            gather(&mut self.input, slices.input, nv, first, used);
            let [dq, dv, third] = &mut self.matrices;
            if FORWARD {
                articulated_bodies::kernel(
                    model,
                    &self.q,
                    &self.v,
                    &self.input,
                    &base,
                    &[],
                    &mut self.forward,
                    &mut self.vdot,
                );
                forward::kernel(
                    model,
                    [&self.q, &self.v, &self.vdot],
                    &base,
                    &[],
                    &self.forward.factors,
                    (&mut self.inverse, &mut self.columns),
                    [dq, dv, third],
                );
            } else {
                inverse::kernel::<Wide<V>, f64, One, false>(
                    model,
                    [&self.q, &self.v, &self.input],
                    &base,
                    &[],
                    None,
                    &mut self.inverse,
                    [dq, dv, &mut []],
                );
            }
            for (matrix, out) in self.matrices.iter().zip(&mut slices.out) {
                if !out.is_empty() {
                    scatter(matrix, out, first, used);
                }
            }
            first += used;
        }
    }
}

/// The lanes of a matrix to the matrices of their states, eight entries at a time.
#[inline(always)]
fn scatter<V: Vector>(matrix: &[Wide<V>], out: &mut [f64], first: usize, used: usize) {
    let size = matrix.len();
    let mut k = 0;
    while k + 8 <= size {
        let entries = &matrix[k..k + 8];
        for lane in 0..used {
            let at = (first + lane) * size + k;
            let row = &mut out[at..at + 8];
            for e in 0..8 {
                row[e] = entries[e].0.lanes()[lane];
            }
        }
        k += 8;
    }
    for k in k..size {
        for lane in 0..used {
            out[(first + lane) * size + k] = matrix[k].0.lanes()[lane];
        }
    }
}

/// The same loops compiled for AVX2 and for AVX-512; the features are those the registers ask for.
#[cfg(target_arch = "x86_64")]
mod compiled {
    use super::*;

    #[target_feature(enable = "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave")]
    pub(super) fn avx2<const FORWARD: bool>(
        work: &mut Work<Avx2Register>,
        model: &Model,
        slices: &mut Slices<'_>,
    ) {
        work.run::<FORWARD>(model, slices);
    }

    #[target_feature(
        enable = "adx,aes,avx512bitalg,avx512bw,avx512cd,avx512dq,avx512f,avx512ifma,avx512vbmi,avx512vbmi2,avx512vl,avx512vnni,avx512vpopcntdq,bmi1,bmi2,cmpxchg16b,fma,fxsr,gfni,lzcnt,movbe,pclmulqdq,popcnt,rdrand,rdseed,sha,vaes,vpclmulqdq,xsave,xsavec,xsaveopt,xsaves"
    )]
    pub(super) fn avx512<const FORWARD: bool>(
        work: &mut Work<Avx512Register>,
        model: &Model,
        slices: &mut Slices<'_>,
    ) {
        work.run::<FORWARD>(model, slices);
    }
}

/// Matrices of larger models, times the lanes, no longer fit into the nearer caches: such states are computed one after
/// another, columns side by side in the registers.
const LARGE: usize = 32;

/// Made when derivatives are first asked for.
#[derive(Clone, Debug)]
pub(super) struct Store(Workspaces);

#[derive(Clone, Debug)]
enum Workspaces {
    OneByOne(Box<(Dynamics, State)>),
    Baseline(Work<[f64; 4]>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Work<Avx2Register>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Work<Avx512Register>),
}

impl Store {
    fn new(model: &Model, path: &Path) -> Self {
        if model.nv() > LARGE {
            let cpu = match path {
                Path::Baseline(_) => Cpu::Baseline,
                #[cfg(target_arch = "x86_64")]
                Path::Avx2(_) => Cpu::Avx2,
                #[cfg(target_arch = "x86_64")]
                Path::Avx512(_) => Cpu::Avx512,
            };
            let door = (Dynamics::with_cpu(model, cpu), State::neutral(model));
            return Store(Workspaces::OneByOne(Box::new(door)));
        }
        Store(match path {
            Path::Baseline(_) => Workspaces::Baseline(Work::new(model)),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(_) => Workspaces::Avx2(Work::new(model)),
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(_) => Workspaces::Avx512(Work::new(model)),
        })
    }

    fn run<const FORWARD: bool>(&mut self, model: &Model, slices: &mut Slices<'_>) -> Result<()> {
        match &mut self.0 {
            Workspaces::OneByOne(door) => return one_by_one::<FORWARD>(door, model, slices),
            Workspaces::Baseline(work) => work.run::<FORWARD>(model, slices),
            // SAFETY: these workspaces exist only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Workspaces::Avx2(work) => unsafe { compiled::avx2::<FORWARD>(work, model, slices) },
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Workspaces::Avx512(work) => unsafe { compiled::avx512::<FORWARD>(work, model, slices) },
        }
        Ok(())
    }
}

fn one_by_one<const FORWARD: bool>(
    (dynamics, state): &mut (Dynamics, State),
    model: &Model,
    slices: &mut Slices<'_>,
) -> Result<()> {
    let (nq, nv) = (model.nq(), model.nv());
    for k in 0..slices.input.len() / nv {
        state.q.copy_from_slice(&slices.q[k * nq..(k + 1) * nq]);
        state.v.copy_from_slice(&slices.v[k * nv..(k + 1) * nv]);
        let input = &slices.input[k * nv..(k + 1) * nv];
        let about = |error: Error| {
            let text = format!("state {k} of the batch: {error}");
            Error::new(error.kind(), text).hint(error.advice().unwrap_or_default())
        };
        let matrices = if FORWARD {
            let d = dynamics
                .forward_derivatives(state, input, &[])
                .map_err(about)?;
            [Some(&d.dq), Some(&d.dv), Some(&d.dtau)]
        } else {
            let d = dynamics
                .inverse_derivatives(state, input, &[])
                .map_err(about)?;
            [Some(&d.dq), Some(&d.dv), None]
        };
        for (matrix, out) in matrices.into_iter().zip(&mut slices.out) {
            if let Some(matrix) = matrix {
                out[k * nv * nv..(k + 1) * nv * nv].copy_from_slice(matrix.as_slice());
            }
        }
    }
    Ok(())
}

impl Batch {
    /// ∂τ/∂q and ∂τ/∂v for every state: nv × nv numbers per state, by rows (row: effort; column: freedom), states after one
    /// another. Conventions as in [`Dynamics::inverse_derivatives`](crate::Dynamics::inverse_derivatives).
    pub fn inverse_derivatives(
        &mut self,
        q: &[f64],
        v: &[f64],
        vdot: &[f64],
        dq: &mut [f64],
        dv: &mut [f64],
    ) -> Result<()> {
        self.derivatives_of::<false>(q, v, vdot, [dq, dv, &mut []])
    }

    /// ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ for every state, laid out as by [`inverse_derivatives`](Self::inverse_derivatives).
    pub fn forward_derivatives(
        &mut self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        dq: &mut [f64],
        dv: &mut [f64],
        dtau: &mut [f64],
    ) -> Result<()> {
        self.derivatives_of::<true>(q, v, tau, [dq, dv, dtau])
    }

    fn derivatives_of<const FORWARD: bool>(
        &mut self,
        q: &[f64],
        v: &[f64],
        input: &[f64],
        out: [&mut [f64]; 3],
    ) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let states = input.len() / nv;
        check_length("inputs of a batch", input.len(), states * nv)?;
        check_length("positions of a batch", q.len(), states * nq)?;
        check_length("velocities of a batch", v.len(), states * nv)?;
        for matrix in &out[..if FORWARD { 3 } else { 2 }] {
            check_length("derivatives of a batch", matrix.len(), states * nv * nv)?;
        }
        self.check_quaternions(q)?;
        let mut slices = Slices { q, v, input, out };
        let model = &self.model;
        self.derivatives
            .get_or_insert_with(|| Box::new(Store::new(model, &self.path)))
            .run::<FORWARD>(model, &mut slices)?;
        for matrix in slices.out {
            if let Some(at) = first_not_finite(matrix) {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "state {} of the batch: the derivative of `{}` is not finite",
                        at / (nv * nv),
                        model.tree().dofs[at / nv % nv].name
                    ),
                )
                .hint("its positions, velocities or forces are not finite, or a joint has no inertia; `Dynamics` tells which"));
            }
        }
        Ok(())
    }
}

/// Where the first number that is not finite stands.
fn first_not_finite(x: &[f64]) -> Option<usize> {
    if crate::dynamics::all_finite_in_lanes(x) {
        return None;
    }
    x.iter().position(|x| !x.is_finite())
}
