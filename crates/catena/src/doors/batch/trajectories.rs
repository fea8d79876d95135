//! Many trajectories, each in its lane from start to end: each with its own state, inputs and, if wanted, model parameters.
//!
//! ```text
//! τ = effort + stiffness (target − q) − damping v                                   (1)
//! v̇ = forward dynamics,   Ẇ = τ·v,   Ḋ = Σ viscous damping v²                       (2)
//! ```
//!
//! The results of a lane depend on its own trajectory only. So the bits of a trajectory do not depend on its lane, on its neighbours or on
//! the number of threads.

mod adaptive;
mod fixed;

use super::lanes::not_positive;
use super::{Failure, each};
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::arch::{ForRegister, in_registers};
use crate::doors::native::{Compiled, FamilyCode, Wides};
use crate::error::{Error, ErrorKind};
use crate::integrate::{FixedMethod, Method, Statistics, Tolerances, at_time};
use crate::model::Model;
use crate::scalar::{Scalar, Task, Vector, Wide};
use crate::state::{Base, State, StateView};
use crate::{Cpu, Dynamics};
use std::sync::{Mutex, PoisonError};

/// Efforts that drive the joints of trajectories: effort + stiffness · (target − q) − damping · v at joints with scalar coordinates, the
/// effort alone at those with quaternions. Each has nv numbers per trajectory, or none at all where it is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feedback<'a> {
    /// Constant efforts.
    pub efforts: &'a [f64],
    /// Positions to hold, by freedom.
    pub targets: &'a [f64],
    /// Effort per unit of position error.
    pub stiffness: &'a [f64],
    /// Effort per unit of velocity.
    pub damping: &'a [f64],
}

impl<'a> Feedback<'a> {
    /// The four, in the order of (1).
    pub(crate) fn parts(&self) -> [&'a [f64]; 4] {
        [self.efforts, self.targets, self.stiffness, self.damping]
    }
}

/// How time is stepped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stepping {
    Fixed {
        method: FixedMethod,
        step: f64,
    },
    Adaptive {
        method: Method,
        tolerances: Tolerances,
        max_step: f64,
    },
}

/// Trajectories to be computed. The model is a tree without couplings, dry friction or force elements; states are valid, and numbers
/// finite.
#[derive(Clone, Copy)]
pub(crate) struct Trajectories<'a> {
    pub model: &'a Model,
    /// The model of each trajectory, all of the same structure; none where it is the same for all.
    pub models: &'a [&'a Model],
    pub q: &'a [f64],
    pub v: &'a [f64],
    pub feedback: Feedback<'a>,
    pub stepping: Stepping,
    /// When states are recorded, increasing from 0 or later; the last is the end.
    pub times: &'a [f64],
    /// Forward dynamics of the model, where it is the same for all.
    pub code: Option<&'a Compiled>,
    /// Forward dynamics of models that differ, and the parameters of each trajectory, one after the other.
    pub family: Option<(&'a FamilyCode, &'a [f64])>,
    pub cpu: Cpu,
    pub threads: usize,
}

/// Trajectories that a thread takes at once.
struct Piece<'a> {
    first: usize,
    count: usize,
    /// q, v, W and D at each of the times, trajectory after trajectory.
    records: &'a mut [f64],
    statistics: &'a mut [Statistics],
    /// Σ δ a, Σ a² and Σ v² of each freedom over fixed steps that are examined, trajectory after trajectory; none where not requested.
    phases: &'a mut [f64],
}

impl Trajectories<'_> {
    /// Numbers of a record: q, v, W and D.
    pub fn width(&self) -> usize {
        self.model.nq() + self.model.nv() + 2
    }

    /// Computes all of them. Returns those that fail, in order, with their reasons; their records are NaN from then on. `phases` receives the
    /// sums of an audit over fixed steps, three numbers for each freedom, or is empty.
    pub fn run(
        &self,
        records: &mut [f64],
        statistics: &mut [Statistics],
        phases: &mut [f64],
    ) -> Vec<Failure> {
        let all = All {
            of: self,
            records,
            statistics,
            phases,
        };
        let mut failures = in_registers(self.cpu, all);
        failures.sort_by_key(|failure| failure.state);
        failures
    }

    fn run_in<V: Vector + Send>(
        &self,
        mut records: &mut [f64],
        mut statistics: &mut [Statistics],
        mut phases: &mut [f64],
    ) -> Vec<Failure> {
        records.fill(f64::NAN);
        let all = statistics.len();
        let threads = self.threads.max(1);
        // enough pieces to keep all threads busy to the end, each long enough that lanes are seldom empty
        let size = (all.div_ceil(4 * threads).max(16 * V::LANES)).next_multiple_of(V::LANES);
        let per_trajectory = self.width() * self.times.len();
        let per_audit = phases.len() / all.max(1);
        let mut pieces = Vec::new();
        let mut first = 0;
        while first < all {
            let count = size.min(all - first);
            let (own, rest) = std::mem::take(&mut records).split_at_mut(count * per_trajectory);
            records = rest;
            let (counts, rest) = std::mem::take(&mut statistics).split_at_mut(count);
            statistics = rest;
            let (sums, rest) = std::mem::take(&mut phases).split_at_mut(count * per_audit);
            phases = rest;
            pieces.push(Piece {
                first,
                count,
                records: own,
                statistics: counts,
                phases: sums,
            });
            first += count;
        }
        let mut workers = vec![(); threads.min(pieces.len())];
        pieces.reverse();
        let queue = Mutex::new(pieces);
        let failures = Mutex::new(Vec::new());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
        each(&mut workers, |()| {
            let mut runs = Runs::<V>::new(self);
            let mut starters = Runs::<V>::new(self);
            while let Some(piece) = next() {
                let failed = match self.stepping {
                    Stepping::Fixed { method, step } => fixed::run(&mut runs, method, step, piece),
                    Stepping::Adaptive {
                        method,
                        tolerances,
                        max_step,
                    } => {
                        let both = (&mut runs, &mut starters);
                        adaptive::run(both, method, tolerances, max_step, piece)
                    }
                };
                let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.extend(failed);
            }
        });
        failures
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The model of a trajectory.
    fn model_of(&self, trajectory: usize) -> &Model {
        match self.models.get(trajectory) {
            Some(model) => model,
            None => self.model,
        }
    }
}

/// All trajectories, for any register.
struct All<'a, 'b> {
    of: &'a Trajectories<'b>,
    records: &'a mut [f64],
    statistics: &'a mut [Statistics],
    phases: &'a mut [f64],
}

impl ForRegister for All<'_, '_> {
    type Output = Vec<Failure>;

    fn run<V: Vector + Send + Sync>(self) -> Vec<Failure> {
        (self.of).run_in::<V>(self.records, self.statistics, self.phases)
    }
}

/// The trajectories in the lanes of a register: their equations of motion.
struct Runs<'a, V: Vector> {
    all: &'a Trajectories<'a>,
    /// Where models differ.
    models: Option<Model<Wide<V>>>,
    forward: ForwardDynamics<Wide<V>>,
    code: Option<Wides>,
    code_output: Vec<Wide<V>>,
    base: Base<Wide<V>>,
    quaternions: Vec<usize>,
    /// Position of each freedom, where it is a scalar.
    coordinates: Vec<Option<usize>>,
    /// The parts of (1); those that are zero for all trajectories are empty.
    feedback: [Vec<Wide<V>>; 4],
    /// Damping of the joints.
    viscous: Vec<Wide<V>>,
    /// Efforts, and then the parameters that code of a family reads.
    input: Vec<Wide<V>>,
    /// Positions with quaternions of unit length.
    q: Vec<Wide<V>>,
}

impl<'a, V: Vector> Runs<'a, V> {
    fn new(all: &'a Trajectories<'a>) -> Self {
        let model = all.model;
        let zeros = vec![Wide::zero(); model.nv()];
        let bodies = &model.tree().bodies[1..];
        let code = match all.models.is_empty() {
            true => all.code.and_then(|code| code.lanes::<V>().forward),
            false => all.family.and_then(|(code, _)| code.lanes::<V>()),
        };
        let parameters = all
            .family
            .map_or(0, |(code, _)| code.family().parameter_count());
        let mut coordinates = vec![None; model.nv()];
        for body in bodies
            .iter()
            .filter(|body| body.kind.quaternion().is_none())
        {
            for k in 0..body.kind.nv() {
                coordinates[body.v + k] = Some(body.q + k);
            }
        }
        let outputs = code.as_ref().map_or(0, Wides::outputs);
        Runs {
            all,
            models: (!all.models.is_empty() && code.is_none()).then(|| Model::in_lanes(model)),
            forward: ForwardDynamics::new(model),
            code,
            code_output: vec![Wide::zero(); outputs.max(2 * model.nv())],
            base: State::neutral(model).lift().base,
            quaternions: bodies
                .iter()
                .filter_map(|body| body.kind.quaternion().map(|k| body.q + k))
                .collect(),
            coordinates,
            feedback: (all.feedback.parts()).map(|part| match part.is_empty() {
                true => Vec::new(),
                false => zeros.clone(),
            }),
            viscous: model
                .dofs
                .iter()
                .map(|dof| Wide::constant(dof.damping))
                .collect(),
            input: vec![Wide::zero(); model.nv() + parameters],
            q: vec![Wide::zero(); model.nq()],
        }
    }

    /// Writes the initial state of a trajectory into a lane.
    fn place(&mut self, lane: usize, trajectory: usize, q: &mut [Wide<V>], v: &mut [Wide<V>]) {
        let (nq, nv) = (self.all.model.nq(), self.all.model.nv());
        let set = |into: &mut [Wide<V>], from: &[f64]| {
            for (into, x) in into.iter_mut().zip(from) {
                into.0.lanes_mut()[lane] = *x;
            }
        };
        let start = &self.all.q[trajectory * nq..(trajectory + 1) * nq];
        set(q, start);
        for &k in &self.quaternions {
            let p = &start[k..k + 4];
            let scale = 1.0 / p.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (into, x) in q[k..k + 4].iter_mut().zip(p) {
                into.0.lanes_mut()[lane] = x * scale;
            }
        }
        let of = |x: &'a [f64]| &x[trajectory * nv..(trajectory + 1) * nv];
        set(v, of(self.all.v));
        for (into, from) in self.feedback.iter_mut().zip(self.all.feedback.parts()) {
            if !from.is_empty() {
                set(into, of(from));
            }
        }
        if let Some(model) = self.all.models.get(trajectory) {
            for (into, dof) in self.viscous.iter_mut().zip(&model.dofs) {
                into.0.lanes_mut()[lane] = dof.damping;
            }
            if let Some(models) = &mut self.models {
                models.set_lane(lane, model);
            }
        }
        if let Some((_, parameters)) = self.all.family {
            let count = self.input.len() - nv;
            let own = &parameters[trajectory * count..(trajectory + 1) * count];
            set(&mut self.input[nv..], own);
        }
    }

    /// (1)
    #[inline(always)]
    fn drive(&mut self, q: &[Wide<V>], v: &[Wide<V>]) {
        let [efforts, targets, stiffness, damping] = &self.feedback;
        for k in 0..self.viscous.len() {
            let mut tau = match efforts.is_empty() {
                true => Wide::zero(),
                false => efforts[k],
            };
            if let Some(at) = self.coordinates[k] {
                if !stiffness.is_empty() {
                    let target = match targets.is_empty() {
                        true => Wide::zero(),
                        false => targets[k],
                    };
                    tau = stiffness[k].mul_add(target - q[at], tau);
                }
                if !damping.is_empty() {
                    tau -= damping[k] * v[k];
                }
            }
            self.input[k] = tau;
        }
    }

    /// Ẇ and Ḋ of (2) under the efforts that [`drive`](Self::drive) found.
    #[inline(always)]
    fn powers(&self, v: &[Wide<V>]) -> [Wide<V>; 2] {
        let (mut work, mut lost) = (Wide::zero(), Wide::zero());
        for k in 0..self.viscous.len() {
            work = self.input[k].mul_add(v[k], work);
            lost = (self.viscous[k] * v[k]).mul_add(v[k], lost);
        }
        [work, lost]
    }

    /// v̇ at a state; `bad` becomes NaN in the lanes where it does not exist.
    #[inline(always)]
    fn accelerate(
        &mut self,
        q: &[Wide<V>],
        v: &[Wide<V>],
        vdot: &mut [Wide<V>],
        bad: Wide<V>,
    ) -> Wide<V> {
        self.drive(q, v);
        V::apart(Accelerate {
            runs: self,
            q,
            v,
            vdot,
            bad,
        })
    }

    /// Reason why a trajectory ends at this time: the error of dynamics at a state near it, or else `otherwise`.
    fn explain(
        &self,
        trajectory: usize,
        t: f64,
        q: &[f64],
        v: &[f64],
        otherwise: Error,
    ) -> Failure {
        let model = self.all.model_of(trajectory);
        let reason = State::new(model, q, v).and_then(|state| {
            let mut dynamics = Dynamics::with_cpu(model, self.all.cpu);
            let none = vec![0.0; model.nv()];
            dynamics.forward(&state, &none, &[]).map(|_| ())
        });
        let error = match reason {
            Err(error) if error.kind() == ErrorKind::Singular => at_time(&error, t),
            _ => otherwise,
        };
        Failure {
            state: trajectory,
            error,
        }
    }
}

/// The evaluation of forward dynamics, compiled once.
struct Accelerate<'r, 'a, V: Vector> {
    runs: &'r mut Runs<'a, V>,
    q: &'r [Wide<V>],
    v: &'r [Wide<V>],
    vdot: &'r mut [Wide<V>],
    bad: Wide<V>,
}

impl<V: Vector> Task for Accelerate<'_, '_, V> {
    type Output = Wide<V>;

    #[inline(always)]
    fn run(self) -> Wide<V> {
        let Accelerate {
            runs,
            q,
            v,
            vdot,
            bad,
        } = self;
        let nv = vdot.len();
        if let Some(code) = &mut runs.code {
            code.run(q, v, &runs.input, &mut runs.code_output);
            vdot.copy_from_slice(&runs.code_output[..nv]);
            return not_positive(&runs.code_output[nv..2 * nv], bad);
        }
        let base = &runs.base;
        let state = StateView { q, v, base };
        let (tau, forward) = (&runs.input[..nv], &mut runs.forward);
        match &runs.models {
            None => forward_dynamics(runs.all.model, state, tau, &[], forward, vdot),
            Some(models) => forward_dynamics(models, state, tau, &[], forward, vdot),
        }
        not_positive(&runs.forward.factors.inverse, bad)
    }
}

/// A record of a lane.
fn record<V: Vector>(piece: &mut Piece<'_>, at: usize, lane: usize, parts: &[&[Wide<V>]]) {
    let width: usize = parts.iter().map(|part| part.len()).sum();
    let into = &mut piece.records[at * width..(at + 1) * width];
    let numbers = parts.iter().flat_map(|part| part.iter());
    for (into, number) in into.iter_mut().zip(numbers) {
        *into = number.lane(lane);
    }
}
