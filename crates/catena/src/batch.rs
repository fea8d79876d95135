//! Many states at once: one state per lane, the lanes of a register computed together.

mod derivatives;

use crate::Cpu;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::algorithm::inverse_dynamics::{InverseDynamics, recursive_newton_euler};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
#[cfg(target_arch = "x86_64")]
use crate::scalar::{Avx2Register, Avx512Register};
use crate::scalar::{Scalar, Vector, Wide};
use crate::state::{Base, check_length};

/// The workspaces of one kind of register.
#[derive(Clone, Debug)]
struct Work<V: Vector> {
    inverse: InverseDynamics<Wide<V>>,
    forward: ForwardDynamics<Wide<V>>,
    q: Vec<Wide<V>>,
    v: Vec<Wide<V>>,
    input: Vec<Wide<V>>,
    output: Vec<Wide<V>>,
}

/// Which of the two questions is asked.
#[derive(Clone, Copy)]
enum Question {
    Inverse,
    Forward,
}

/// Slices of a batch: states after one another.
struct Slices<'a> {
    q: &'a [f64],
    v: &'a [f64],
    input: &'a [f64],
    output: &'a mut [f64],
}

impl<V: Vector> Work<V> {
    fn new(model: &Model) -> Self {
        let zero = Wide::<V>::zero();
        Work {
            inverse: InverseDynamics::new(model),
            forward: ForwardDynamics::new(model),
            q: vec![zero; model.nq()],
            v: vec![zero; model.nv()],
            input: vec![zero; model.nv()],
            output: vec![zero; model.nv()],
        }
    }

    /// Register by register; the lanes that are left over at the end repeat the last state.
    #[inline(always)]
    fn run(&mut self, model: &Model, question: Question, slices: &mut Slices<'_>) {
        let (nq, nv) = (model.nq(), model.nv());
        let states = slices.output.len() / nv;
        let base = Base::fixed();
        let mut first = 0;
        while first < states {
            let used = V::LANES.min(states - first);
            gather(&mut self.q, slices.q, nq, first, used);
            gather(&mut self.v, slices.v, nv, first, used);
            gather(&mut self.input, slices.input, nv, first, used);
            match question {
                Question::Inverse => recursive_newton_euler::kernel(
                    model,
                    &self.q,
                    &self.v,
                    &self.input,
                    &base,
                    &[],
                    &mut self.inverse,
                    &mut self.output,
                ),
                Question::Forward => articulated_bodies::kernel(
                    model,
                    &self.q,
                    &self.v,
                    &self.input,
                    &base,
                    &[],
                    &mut self.forward,
                    &mut self.output,
                ),
            }
            for k in 0..nv {
                let lanes = self.output[k].0;
                for lane in 0..used {
                    slices.output[(first + lane) * nv + k] = lanes.lanes()[lane];
                }
            }
            first += used;
        }
    }
}

#[inline(always)]
fn gather<V: Vector>(into: &mut [Wide<V>], from: &[f64], size: usize, first: usize, used: usize) {
    for k in 0..size {
        let lanes = into[k].0.lanes_mut();
        for lane in 0..V::LANES {
            let state = first + if lane < used { lane } else { used - 1 };
            lanes[lane] = from[state * size + k];
        }
    }
}

/// The same loop compiled for AVX2 and for AVX-512; the features are those the registers ask for.
#[cfg(target_arch = "x86_64")]
mod compiled {
    use super::*;

    #[target_feature(enable = "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave")]
    pub(super) fn avx2(
        work: &mut Work<Avx2Register>,
        model: &Model,
        question: Question,
        slices: &mut Slices<'_>,
    ) {
        work.run(model, question, slices);
    }

    #[target_feature(
        enable = "adx,aes,avx512bitalg,avx512bw,avx512cd,avx512dq,avx512f,avx512ifma,avx512vbmi,avx512vbmi2,avx512vl,avx512vnni,avx512vpopcntdq,bmi1,bmi2,cmpxchg16b,fma,fxsr,gfni,lzcnt,movbe,pclmulqdq,popcnt,rdrand,rdseed,sha,vaes,vpclmulqdq,xsave,xsavec,xsaveopt,xsaves"
    )]
    pub(super) fn avx512(
        work: &mut Work<Avx512Register>,
        model: &Model,
        question: Question,
        slices: &mut Slices<'_>,
    ) {
        work.run(model, question, slices);
    }
}

#[derive(Clone, Debug)]
enum Path {
    Baseline(Box<Work<[f64; 4]>>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Box<Work<Avx2Register>>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Box<Work<Avx512Register>>),
}

/// Dynamics of one model at many states, on a base at rest and without external wrenches.
///
/// States lie one after another: `q` holds nq numbers per state, the others nv. Quaternions must be of unit length. Nothing
/// is allocated after construction, but for derivatives at their first call.
#[derive(Clone, Debug)]
pub struct Batch {
    model: Model,
    path: Path,
    /// Made when first asked for.
    derivatives: Option<Box<derivatives::Store>>,
}

impl Batch {
    /// Workspaces for this model, on the best path this processor has.
    pub fn new(model: &Model) -> Self {
        Batch::with_cpu(model, Cpu::detect())
    }

    /// Workspaces for this model, on a given path or the best below it that the processor has.
    pub fn with_cpu(model: &Model, cpu: Cpu) -> Self {
        let path = match cpu.min(Cpu::best()) {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 => Path::Avx512(Box::new(Work::new(model))),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 => Path::Avx2(Box::new(Work::new(model))),
            _ => Path::Baseline(Box::new(Work::new(model))),
        };
        Batch {
            model: model.clone(),
            path,
            derivatives: None,
        }
    }

    /// States computed together.
    pub fn lanes(&self) -> usize {
        match self.path {
            Path::Baseline(_) => 4,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(_) => Avx2Register::LANES,
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(_) => Avx512Register::LANES,
        }
    }

    /// Efforts τ for every state.
    pub fn inverse(&mut self, q: &[f64], v: &[f64], vdot: &[f64], tau: &mut [f64]) -> Result<()> {
        self.run(Question::Inverse, q, v, vdot, tau)
    }

    /// Accelerations v̇ for every state.
    pub fn forward(&mut self, q: &[f64], v: &[f64], tau: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.run(Question::Forward, q, v, tau, vdot)
    }

    fn check_quaternions(&self, q: &[f64]) -> Result<()> {
        let tree = self.model.tree();
        for body in &tree.bodies[1..] {
            let Some(k) = body.kind.quaternion() else {
                continue;
            };
            for (state, q) in q.chunks_exact(self.model.nq()).enumerate() {
                let p = &q[body.q + k..body.q + k + 4];
                let squared = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
                if squared.is_nan() || (squared - 1.0).abs() > 1e-9 {
                    return Err(Error::new(
                        ErrorKind::Input,
                        format!(
                            "state {state} of the batch: quaternion of joint `{}` has length {:.9}, not 1",
                            body.joint,
                            squared.sqrt()
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        question: Question,
        q: &[f64],
        v: &[f64],
        input: &[f64],
        output: &mut [f64],
    ) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let states = output.len() / nv;
        check_length("results of a batch", output.len(), states * nv)?;
        check_length("positions of a batch", q.len(), states * nq)?;
        check_length("velocities of a batch", v.len(), states * nv)?;
        check_length("inputs of a batch", input.len(), states * nv)?;
        self.check_quaternions(q)?;
        let mut slices = Slices {
            q,
            v,
            input,
            output,
        };
        match &mut self.path {
            Path::Baseline(work) => work.run(&self.model, question, &mut slices),
            // SAFETY: these paths exist only where the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Path::Avx2(work) => unsafe {
                compiled::avx2(work, &self.model, question, &mut slices);
            },
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Path::Avx512(work) => unsafe {
                compiled::avx512(work, &self.model, question, &mut slices);
            },
        }
        match slices.output.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(at) => Err(Error::new(
                ErrorKind::Input,
                format!(
                    "state {} of the batch: the result for `{}` is not finite",
                    at / nv,
                    self.model.tree().dofs[at % nv].name
                ),
            )
            .hint("its positions, velocities or forces are not finite, or a joint has no inertia; `Dynamics` tells which")),
        }
    }
}
