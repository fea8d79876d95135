//! Many states at once: one state per lane, the lanes of a register computed together, registers distributed over threads.

mod advance;
mod closed;
mod coupled;
mod derivatives;
mod lanes;
mod question;
mod rooms;
mod squares;
mod stages;
mod trajectories;

pub use advance::Drive;
pub use trajectories::Feedback;
pub(crate) use trajectories::{Stepping, Trajectories};

use crate::algorithm::inertia_matrix::Part;
use crate::arch::{InRegisters, PerRegister, Visitor};
use crate::doors::native::Compiled;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::FixedMethod;
use crate::model::{FrameInfo, Model};
use crate::scalar::{Task, Vector};
use crate::spatial::{Force, Mat3, Pose, Vec3};
use crate::state::{Base, State, check_length};
use crate::{Cpu, Dynamics};
use advance::Advance;
use coupled::What;
use lanes::{Given, Job, LaneWork, Question};
use question::{Factorize, Forward, FrameJacobian, FramePose, Inertia, Inverse, Solve};
use std::sync::{Mutex, PoisonError};

/// One workspace per thread.
#[derive(Clone, Debug)]
struct Works;

impl PerRegister for Works {
    type Of<V: Vector + Send + Sync> = LaneWork<V>;
}

/// Sets the number of workspaces, each with the code made for the model.
struct Resize<'a> {
    threads: usize,
    model: &'a Model,
    compiled: Option<&'a Compiled>,
}

impl Visitor<Works> for Resize<'_> {
    type Output = ();

    fn visit<V: Vector + Send + Sync>(self, works: &mut Vec<LaneWork<V>>) {
        works.resize_with(self.threads, || LaneWork::new(self.model));
        if let Some(compiled) = self.compiled {
            for work in works {
                work.io.native = compiled.lanes::<V>();
            }
        }
    }
}

/// The states that failed, over all threads.
struct Failed;

impl Visitor<Works> for Failed {
    type Output = Vec<usize>;

    fn visit<V: Vector + Send + Sync>(self, works: &mut Vec<LaneWork<V>>) -> Vec<usize> {
        let mut failed: Vec<usize> = works.iter().flat_map(|work| work.failed.clone()).collect();
        failed.sort_unstable();
        failed
    }
}

/// The loop over registers of states, to be compiled for their instruction set.
struct Loop<'a, 'b, Q, V: Vector> {
    question: Q,
    work: &'a mut LaneWork<V>,
    model: &'a Model,
    base: &'a Base<f64>,
    job: &'a mut Job<'b>,
}

impl<Q: Question, V: Vector> Task for Loop<'_, '_, Q, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        (self.work).run(self.question, self.model, self.base, self.job);
    }
}

/// A failed state of a batch, and the reason.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Number of the state, counted from 0.
    pub state: usize,
    /// The reason.
    pub error: Error,
}

/// Dynamics of one model at many states, all on the same base, which is at rest unless [set](Self::set_base).
///
/// States are stored one after another: `q` holds nq numbers per state, the others nv. Positions, velocities, accelerations and efforts of a
/// single state apply to all states; the length of the results gives the number of states. Quaternions must be of unit length. Each state is
/// computed independently: results do not depend on the other states nor on the number of threads (one unless [set](Self::threads)).
/// Workspaces are made when a quantity is first requested; nothing is allocated after that.
///
/// Where some states fail (a joint without inertia, non-finite numbers), the call returns an error that names the first of them;
/// [`failures`](Self::failures) lists all of them, with reasons, and the results of the others are valid.
///
/// ```
/// use catena::{Batch, model::embedded};
///
/// let model = embedded::model("chain-7")?;
/// let mut batch = Batch::new(&model).threads(2);
/// let states = 1000;
/// let q: Vec<f64> = (0..7 * states).map(|k| (k as f64).sin()).collect();
/// let (v, vdot) = (vec![0.1; 7 * states], vec![0.0; 7 * states]);
/// let mut tau = vec![0.0; 7 * states];
/// batch.inverse(&q, &v, &vdot, &mut tau)?;
/// let mut inertia = vec![0.0; 49 * states];
/// batch.inertia(&q, &mut inertia)?;
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    model: Model,
    cpu: Cpu,
    works: InRegisters<Works>,
    base: Base<f64>,
    /// Number of states with factors, which stay in the lanes that made them; 0 for none.
    with_factors: usize,
    /// Poses, or states at the end of their trajectories.
    poses: Vec<f64>,
    failures: Vec<Failure>,
    compiled: Option<Compiled>,
    /// Additional data for models with couplings.
    coupled: Option<Box<coupled::Coupled>>,
    /// Additional data for models with loops.
    closed: Option<Box<closed::Closed>>,
}

impl Batch {
    /// Workspaces for this model, on the best path this processor has.
    pub fn new(model: &Model) -> Self {
        Batch::with_cpu(model, Cpu::detect())
    }

    /// Workspaces for this model, on a given path or the best below it that the processor has.
    pub fn with_cpu(model: &Model, cpu: Cpu) -> Self {
        let cpu = cpu.min(Cpu::best());
        let mut works = InRegisters::new(cpu);
        works.visit(Resize {
            threads: 1,
            model,
            compiled: None,
        });
        Batch {
            model: model.clone(),
            cpu,
            works,
            base: Base::fixed(),
            with_factors: 0,
            poses: Vec::new(),
            failures: Vec::new(),
            compiled: None,
            coupled: (model.couplings()).map(|_| Box::new(coupled::Coupled::new(model, cpu))),
            closed: (!model.constraints().is_empty()).then(|| Box::new(closed::Closed::new())),
        }
    }

    /// Workspaces for the model of this code, which is used where possible: on a base at rest, without external wrenches.
    /// Everything else, and every check, is as in [`new`](Self::new).
    pub fn with_compiled(compiled: &Compiled) -> Self {
        let mut batch = Batch::new(compiled.model());
        batch.compiled = Some(compiled.clone());
        batch.threads(1)
    }

    /// Sets the number of threads; 0 is the number of processors.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        self.works.visit(Resize {
            threads,
            model: &self.model,
            compiled: self.compiled.as_ref(),
        });
        if let Some(coupled) = &mut self.coupled {
            let of_tree = coupled.of_tree.clone().threads(threads);
            *coupled.of_tree = of_tree;
        }
        self.with_factors = 0;
        self
    }

    /// Puts all states on a base with this pose and motion.
    pub fn set_base(&mut self, base: Base<f64>) -> Result<()> {
        let mut state = State::neutral(&self.model);
        state.base = base;
        Dynamics::with_cpu(&self.model, Cpu::Baseline)
            .kinematics(&state, &vec![0.0; self.model.nv()])?;
        self.base = base;
        Ok(())
    }

    /// Sets the time at which drivers of closed chains are evaluated, in s; 0 unless set.
    pub fn set_time(&mut self, time: f64) {
        if let Some(closed) = &mut self.closed {
            closed.time = time;
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Which path is taken.
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// States computed together.
    pub fn lanes(&self) -> usize {
        match self.cpu {
            Cpu::Baseline | Cpu::Avx2 => 4,
            Cpu::Avx512 => 8,
        }
    }

    /// The failed states of the last call; their results are meaningless.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Computes efforts τ for every state.
    pub fn inverse(&mut self, q: &[f64], v: &[f64], vdot: &[f64], tau: &mut [f64]) -> Result<()> {
        self.inverse_loaded(q, v, vdot, &[], tau)
    }

    /// Computes efforts τ for every state under external wrenches: one on every body 0…n of every state, in body axes about the body's
    /// origin, or an empty slice.
    pub fn inverse_loaded(
        &mut self,
        q: &[f64],
        v: &[f64],
        vdot: &[f64],
        external: &[Force<f64>],
        tau: &mut [f64],
    ) -> Result<()> {
        self.model.expect_tree()?;
        let given = Given {
            q,
            v,
            input: vdot,
            external,
            ..Given::default()
        };
        if self.is_coupled() {
            return self.coupled_dynamics(What::Inverse, given, tau);
        }
        self.ask(Inverse, given, tau, self.model.nv())
    }

    /// Computes accelerations v̇ for every state.
    pub fn forward(&mut self, q: &[f64], v: &[f64], tau: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.forward_loaded(q, v, tau, &[], vdot)
    }

    /// Computes accelerations v̇ for every state under external wrenches, given as for [`inverse_loaded`](Self::inverse_loaded).
    ///
    /// Loops of the model are kept closed, as [`ClosedChain::forward`](crate::closed_chain::ClosedChain::forward) does for one
    /// state, with the same results: to the last bit, or to round-off where there is code for the model. States with open loops fail.
    pub fn forward_loaded(
        &mut self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        external: &[Force<f64>],
        vdot: &mut [f64],
    ) -> Result<()> {
        let given = Given {
            q,
            v,
            input: tau,
            external,
            ..Given::default()
        };
        if self.closed.is_some() {
            return self.closed_forward(given, vdot);
        }
        if self.is_coupled() {
            return self.coupled_dynamics(What::Forward, given, vdot);
        }
        self.ask(Forward, given, vdot, self.model.nv())
    }

    /// Computes the inertia matrix I(q) of every state: nv × nv numbers each, row after row.
    pub fn inertia(&mut self, q: &[f64], inertia: &mut [f64]) -> Result<()> {
        if self.is_coupled() {
            return self.coupled_inertia(q, inertia);
        }
        let size = self.model.nv() * self.model.nv();
        let question = Inertia(Part::Whole);
        self.ask(question, Given::positions(q), inertia, size)
    }

    /// Computes the upper triangle of the inertia matrix I(q) of every state: nv × nv numbers each, row after
    /// row, of which those on the diagonal and above it are those of [`inertia`](Self::inertia). **Entries below the diagonal
    /// are unspecified.**
    pub fn inertia_upper(&mut self, q: &[f64], inertia: &mut [f64]) -> Result<()> {
        if self.is_coupled() {
            return self.coupled_inertia(q, inertia);
        }
        let size = self.model.nv() * self.model.nv();
        let question = Inertia(Part::Upper);
        self.ask(question, Given::positions(q), inertia, size)
    }

    /// Factorizes I(q) = U D Uᵀ of every state and keeps the factors for [`solve`](Self::solve).
    pub fn factorize(&mut self, q: &[f64]) -> Result<()> {
        if self.is_coupled() {
            return self.coupled_factorize(q);
        }
        self.factorize_by(Factorize, q)
    }

    /// Factorizes every state; a call that fails leaves no factors.
    fn factorize_by<Q: Question>(&mut self, question: Q, q: &[f64]) -> Result<()> {
        self.with_factors = 0;
        let states = q.len() / self.model.nq().max(1);
        check_length("positions of a batch", q.len(), states * self.model.nq())?;
        let given = Given::positions(q);
        let job = Job {
            given,
            output: &mut [],
            states,
        };
        self.run(question, job);
        self.explain(question, given)?;
        self.with_factors = states;
        Ok(())
    }

    /// Solves I x = b with the factors of the last [`factorize`](Self::factorize), in place: one or more right-hand sides
    /// for every state, the same number for all.
    pub fn solve(&mut self, x: &mut [f64]) -> Result<()> {
        let (nv, states) = (self.model.nv(), self.with_factors);
        if states == 0 {
            return Err(
                Error::new(ErrorKind::Input, "there is no factorization to solve with")
                    .hint("call `factorize` first"),
            );
        }
        let right_hand_sides = x.len() / (states * nv).max(1);
        check_length(
            "right-hand sides of a batch",
            x.len(),
            right_hand_sides.max(1) * states * nv,
        )?;
        if self.is_coupled() {
            return self.coupled_solve(x, right_hand_sides);
        }
        self.solve_by(Solve { right_hand_sides }, x)
    }

    /// Solves the right-hand sides with the factors that are kept.
    fn solve_by<Q: Question>(&mut self, question: Q, x: &mut [f64]) -> Result<()> {
        let given = Given::default();
        let job = Job {
            given,
            output: x,
            states: self.with_factors,
        };
        self.run(question, job);
        self.explain(question, given)
    }

    /// Computes the Jacobian of a frame at every state: 6 × nv numbers each, row after row (angular rows first, world axes, at the
    /// frame's origin).
    pub fn jacobians(&mut self, q: &[f64], frame: &FrameInfo, jacobians: &mut [f64]) -> Result<()> {
        self.check_frame(frame)?;
        if self.is_coupled() {
            return self.coupled_jacobians(q, frame, jacobians);
        }
        let size = 6 * self.model.nv();
        self.ask(FrameJacobian(frame), Given::positions(q), jacobians, size)
    }

    /// Computes the pose of a frame in the world at every state.
    pub fn frame_poses(
        &mut self,
        q: &[f64],
        frame: &FrameInfo,
        poses: &mut [Pose<f64>],
    ) -> Result<()> {
        self.check_frame(frame)?;
        if self.is_coupled() {
            return self.coupled_frame_poses(q, frame, poses);
        }
        let mut numbers = std::mem::take(&mut self.poses);
        numbers.resize(12 * poses.len(), 0.0);
        let done = self.ask(FramePose(frame), Given::positions(q), &mut numbers, 12);
        for (pose, n) in poses.iter_mut().zip(numbers.chunks_exact(12)) {
            *pose = Pose::new(
                Mat3::from_columns(
                    Vec3::new(n[0], n[1], n[2]),
                    Vec3::new(n[3], n[4], n[5]),
                    Vec3::new(n[6], n[7], n[8]),
                ),
                Vec3::new(n[9], n[10], n[11]),
            );
        }
        self.poses = numbers;
        done
    }

    /// Advances every state along its trajectory by a number of fixed steps in s, in place, each in its lane: many simulations
    /// at little more than the cost of a few.
    ///
    /// Each trajectory is that of [`Fixed`](crate::integrate::Fixed) to round-off. The implicit midpoint rule is not offered:
    /// its iterations end at different times in different lanes.
    ///
    /// ```
    /// use catena::integrate::FixedMethod;
    /// use catena::{Batch, Drive, model::embedded};
    ///
    /// let model = embedded::model("chain-7")?;
    /// let count = 100;
    /// let mut q: Vec<f64> = (0..7 * count).map(|k| (k as f64).sin()).collect();
    /// let mut v = vec![0.0; 7 * count];
    /// let hold = Drive::Hold { targets: &vec![0.0; 7 * count], stiffness: 100.0, damping: 20.0 };
    /// let mut batch = Batch::new(&model).threads(0);
    /// batch.advance(FixedMethod::RungeKutta4, 1e-3, 50, hold, &mut q, &mut v)?;
    /// # Ok::<(), catena::Error>(())
    /// ```
    pub fn advance(
        &mut self,
        method: FixedMethod,
        step: f64,
        steps: usize,
        drive: Drive<'_>,
        q: &mut [f64],
        v: &mut [f64],
    ) -> Result<()> {
        if !(step.is_finite() && step > 0.0) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the step of the integrator cannot be {step} s"),
            ));
        }
        if method == FixedMethod::ImplicitMidpoint {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the implicit midpoint rule does not run in lanes",
            )
            .hint(
                "use `FixedMethod::RungeKutta4` or `SemiImplicitEuler`, or simulate one by one",
            ));
        }
        let gains = drive.gains();
        if gains.is_some_and(|(k, d)| !(k.is_finite() && d.is_finite())) {
            return Err(Error::new(
                ErrorKind::Input,
                "stiffness and damping must be finite numbers",
            ));
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let question = Advance {
            classical: method == FixedMethod::RungeKutta4,
            step,
            steps,
            gains,
            coupled: None,
        };
        let states = q.len() / nq.max(1);
        let mut moved = std::mem::take(&mut self.poses);
        moved.resize(states * (nq + nv), 0.0);
        let given = Given {
            q,
            v,
            input: drive.numbers(),
            ..Given::default()
        };
        let done = match self.is_coupled() {
            true => self.coupled_advance(question, given, &mut moved),
            false => self.ask(question, given, &mut moved, nq + nv),
        };
        if done.is_ok() || !self.failures.is_empty() {
            for (k, motion) in moved.chunks_exact(nq + nv).enumerate() {
                q[k * nq..(k + 1) * nq].copy_from_slice(&motion[..nq]);
                v[k * nv..(k + 1) * nv].copy_from_slice(&motion[nq..]);
            }
        }
        self.poses = moved;
        done
    }

    fn check_frame(&self, frame: &FrameInfo) -> Result<()> {
        if frame.body <= self.model.body_count() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Input,
            format!(
                "there is no body {}: model `{}` has {}",
                frame.body,
                self.model.name(),
                self.model.body_count()
            ),
        ))
    }

    /// Checks the lengths, computes `size` numbers for every state, and explains failures.
    fn ask<Q: Question>(
        &mut self,
        question: Q,
        given: Given<'_>,
        output: &mut [f64],
        size: usize,
    ) -> Result<()> {
        self.failures.clear();
        let (states, given) = self.count_states::<Q>(given, output.len(), size)?;
        let job = Job {
            given,
            output,
            states,
        };
        self.run(question, job);
        self.explain(question, given)
    }

    /// Checks the lengths and counts the states, with `size` results for each; inputs of a single state are repeated for all states.
    fn count_states<'a, Q: Question>(
        &self,
        given: Given<'a>,
        results: usize,
        size: usize,
    ) -> Result<(usize, Given<'a>)> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let states = results / size.max(1);
        check_length("results of a batch", results, states * size)?;
        let given = given.of(&self.model, states);
        let rows = |what: &str, x: &[f64], width: usize, is_common: bool| match is_common {
            true => Ok(()),
            false => check_length(what, x.len(), states * width),
        };
        let [q, v, input] = given.common;
        rows("positions of a batch", given.q, nq, q)?;
        if Q::NEEDS_VELOCITIES {
            rows("velocities of a batch", given.v, nv, v)?;
            rows("inputs of a batch", given.input, nv, input)?;
        }
        let external = given.external;
        if !external.is_empty() {
            let wrenches = states * (self.model.body_count() + 1);
            check_length("external wrenches of a batch", external.len(), wrenches)?;
        }
        Ok((states, given))
    }

    fn run<Q: Question>(&mut self, question: Q, job: Job<'_>) {
        self.failures.clear();
        self.works.visit(Share {
            question,
            model: &self.model,
            base: &self.base,
            job,
        });
    }

    /// Finds the reasons of all failures; returns an error if there are any.
    fn explain<Q: Question>(&mut self, question: Q, given: Given<'_>) -> Result<()> {
        let failed = self.works.visit(Failed);
        match failed.is_empty() {
            true => Ok(()),
            false => self.explain_states(question, &failed, given),
        }
    }

    /// Adds these states to the failures, with their reasons; the first failure is the error.
    fn explain_states<Q: Question>(
        &mut self,
        question: Q,
        failed: &[usize],
        given: Given<'_>,
    ) -> Result<()> {
        let external = given.external;
        let (nq, nv, bodies) = (
            self.model.nq(),
            self.model.nv(),
            self.model.body_count() + 1,
        );
        let mut dynamics = Dynamics::with_cpu(&self.model, self.cpu);
        let or_zero = |x: &[f64], size: usize| match x.is_empty() {
            true => vec![0.0; size],
            false => x.to_vec(),
        };
        for &state in failed {
            let [q, v, input] = given.at(&self.model, state);
            let single = State {
                q: or_zero(q, nq),
                v: or_zero(v, nv),
                base: self.base,
            };
            let wrenches = match external.is_empty() {
                true => &[],
                false => &external[state * bodies..(state + 1) * bodies],
            };
            let reason = question.diagnose(&mut dynamics, &single, &or_zero(input, nv), wrenches);
            let error = reason.err().unwrap_or_else(|| {
                Error::new(ErrorKind::Input, "the result is not finite")
                    .hint("numbers are not finite, or too large for double precision")
            });
            self.failures.push(Failure { state, error });
        }
        self.failures.sort_by_key(|failure| failure.state);
        self.first_failure()
    }

    /// Returns the first failure as the error of the whole call.
    fn first_failure(&self) -> Result<()> {
        let Some(Failure { state, error }) = self.failures.first() else {
            return Ok(());
        };
        let others = match self.failures.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more states failed)"),
        };
        let mut first = Error::new(
            error.kind(),
            format!("state {state} of the batch: {}{others}", error.message()),
        )
        .at(error.place().clone());
        if let Some(advice) = error.advice() {
            first = first.hint(advice);
        }
        Err(first)
    }
}

/// Distributes the states to the workspaces, whole registers to each, and runs them. A thread takes another part of the remaining
/// states whenever it has finished one, ever smaller parts towards the end: a thread that wakes late or runs slowly does less.
struct Share<'a, Q> {
    question: Q,
    model: &'a Model,
    base: &'a Base<f64>,
    job: Job<'a>,
}

impl<Q: Question> Visitor<Works> for Share<'_, Q> {
    type Output = ();

    fn visit<V: Vector + Send + Sync>(self, works: &mut Vec<LaneWork<V>>) {
        let Share {
            question,
            model,
            base,
            mut job,
        } = self;
        if let [work] = &mut works[..] {
            work.prepare(question, model, &job);
            V::apart(Loop {
                question,
                work,
                model,
                base,
                job: &mut job,
            });
            return;
        }
        let threads = works.len();
        let registers = |states: usize| states.div_ceil(V::LANES);
        if !Q::KEEPS {
            for work in &mut *works {
                work.prepare(question, model, &job);
            }
            let used = &mut works[..threads.min(registers(job.states)).max(1)];
            let left = Mutex::new(Left { job, first: 0 });
            each(used, |work| {
                while let Some((mut part, first)) = take(&left, |states| {
                    registers(states).div_ceil(2 * threads) * V::LANES
                }) {
                    let known = work.failed.len();
                    V::apart(Loop {
                        question,
                        work,
                        model,
                        base,
                        job: &mut part,
                    });
                    for state in &mut work.failed[known..] {
                        *state += first;
                    }
                }
            });
            return;
        }
        // each thread is always given the same states, whose data its workspace keeps
        let chunk = registers(job.states).div_ceil(threads) * V::LANES;
        let mut first = 0;
        let mut tasks = Vec::with_capacity(works.len());
        for work in works {
            let (part, rest) = {
                let count = chunk.min(job.states);
                job.split(count)
            };
            job = rest;
            work.prepare(question, model, &part);
            let start = first;
            first += part.states;
            tasks.push((work, part, start));
        }
        each(&mut tasks, |(work, part, start)| {
            V::apart(Loop {
                question,
                work,
                model,
                base,
                job: part,
            });
            for state in &mut work.failed {
                *state += *start;
            }
        });
    }
}

/// The states that no thread has taken yet, and the number of the first.
struct Left<'a> {
    job: Job<'a>,
    first: usize,
}

/// The next states for a thread, as many of the remaining ones as `size` gives, and the number of the first; none at the end.
fn take<'a>(left: &Mutex<Left<'a>>, size: impl Fn(usize) -> usize) -> Option<(Job<'a>, usize)> {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    let states = left.job.states;
    if states == 0 {
        return None;
    }
    let count = size(states).min(states);
    let job = std::mem::take(&mut left.job);
    let (part, rest) = job.split(count);
    let first = left.first;
    *left = Left {
        job: rest,
        first: first + count,
    };
    Some((part, first))
}

/// Runs the function on every task, each on its own thread; this thread takes the first and need not be woken for it.
pub(crate) fn each<T: Send>(tasks: &mut [T], run: impl Fn(&mut T) + Sync) {
    let run = &run;
    match tasks {
        [] => {}
        [task] => run(task),
        #[cfg(feature = "rayon")]
        [first, others @ ..] => rayon::in_place_scope(|scope| {
            for task in others {
                scope.spawn(move |_| run(task));
            }
            run(first);
        }),
        #[cfg(not(feature = "rayon"))]
        [first, others @ ..] => std::thread::scope(|scope| {
            for task in others {
                scope.spawn(move || run(task));
            }
            run(first);
        }),
    }
}
