//! Integration with steps of one size, on the manifold of the positions.

use super::{
    FixedMethod, Mechanical, Statistics, Words, at_time, implicit_midpoint, runge_kutta4,
    semi_implicit_euler,
};
use crate::error::{Error, ErrorKind, Result};
use crate::state::check_length;

/// An integrator with steps of one size. It owns its buffers and does not allocate while it runs.
///
/// Time is t₀ + k h with the integer k, so that it does not drift.
#[derive(Clone, Debug)]
pub struct Fixed {
    method: FixedMethod,
    size: f64,
    t_start: f64,
    motion: Motion,
    work: Workspace,
    statistics: Statistics,
}

/// Positions and velocities.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    pub q: Vec<f64>,
    pub v: Vec<f64>,
}

/// Buffers of all the methods.
#[derive(Clone, Debug)]
pub(super) struct Workspace {
    /// Positions at a stage.
    pub q: Vec<f64>,
    /// Positions at another stage.
    pub q_other: Vec<f64>,
    /// Velocities and accelerations at the stages.
    pub v: [Vec<f64>; 4],
    pub a: [Vec<f64>; 4],
    /// A displacement, velocity times time.
    pub delta: Vec<f64>,
    pub evaluations: u64,
    /// What the iteration of an implicit method remembers from step to step.
    pub memory: implicit_midpoint::Memory,
}

impl Workspace {
    fn new(nq: usize, nv: usize) -> Self {
        let velocities = || [(); 4].map(|()| vec![0.0; nv]);
        Workspace {
            q: vec![0.0; nq],
            q_other: vec![0.0; nq],
            v: velocities(),
            a: velocities(),
            delta: vec![0.0; nv],
            evaluations: 0,
            memory: implicit_midpoint::Memory::new(nv),
        }
    }
}

/// The acceleration at a stage, counted and checked.
pub(super) fn accelerate<S: Mechanical + ?Sized>(
    system: &mut S,
    t: f64,
    q: &[f64],
    v: &[f64],
    a: &mut [f64],
    evaluations: &mut u64,
) -> Result<()> {
    *evaluations += 1;
    system.acceleration(t, q, v, a)?;
    match a.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(component) => Err(Error::new(
            ErrorKind::Integration,
            format!("acceleration {component} is {}", a[component]),
        )
        .hint("a smaller step may help; look for a force that divides by zero")),
    }
}

/// sum ← start + Σ wᵢ xᵢ.
pub(super) fn combine<const N: usize>(sum: &mut [f64], start: &[f64], parts: [(f64, &[f64]); N]) {
    for (i, (sum, start)) in sum.iter_mut().zip(start).enumerate() {
        let mut total = 0.0;
        for (weight, part) in &parts {
            total += weight * part[i];
        }
        *sum = start + total;
    }
}

/// sum ← Σ wᵢ xᵢ.
pub(super) fn weigh<const N: usize>(sum: &mut [f64], parts: [(f64, &[f64]); N]) {
    for (i, sum) in sum.iter_mut().enumerate() {
        let mut total = 0.0;
        for (weight, part) in &parts {
            total += weight * part[i];
        }
        *sum = total;
    }
}

impl Fixed {
    /// An integrator for systems with this many positions and velocities, and steps of this size in s.
    pub fn new(method: FixedMethod, nq: usize, nv: usize, step: f64) -> Result<Self> {
        if !(step.is_finite() && step > 0.0) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the step of the integrator cannot be {step} s"),
            ));
        }
        Ok(Fixed {
            method,
            size: step,
            t_start: 0.0,
            motion: Motion {
                q: vec![0.0; nq],
                v: vec![0.0; nv],
            },
            work: Workspace::new(nq, nv),
            statistics: Statistics::default(),
        })
    }

    /// Begins at this time and motion.
    pub fn start(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<()> {
        check_length("positions q", q.len(), self.motion.q.len())?;
        check_length("velocities v", v.len(), self.motion.v.len())?;
        if !(t.is_finite() && q.iter().chain(v).all(|x| x.is_finite())) {
            return Err(Error::new(
                ErrorKind::Input,
                "the initial time, positions and velocities must be finite numbers",
            ));
        }
        self.t_start = t;
        self.motion.q.copy_from_slice(q);
        self.motion.v.copy_from_slice(v);
        self.statistics = Statistics::default();
        self.work.memory.clear();
        Ok(())
    }

    /// One step. On an error the motion is that at the step's beginning.
    pub fn step<S: Mechanical + ?Sized>(&mut self, system: &mut S) -> Result<()> {
        check_length(
            "positions of the system",
            system.position_count(),
            self.motion.q.len(),
        )?;
        check_length(
            "velocities of the system",
            system.velocity_count(),
            self.motion.v.len(),
        )?;
        let (t, h) = (self.time(), self.size);
        let (motion, work) = (&mut self.motion, &mut self.work);
        work.evaluations = 0;
        let outcome = match self.method {
            FixedMethod::RungeKutta4 => runge_kutta4::step(system, t, h, motion, work),
            FixedMethod::SemiImplicitEuler => semi_implicit_euler::step(system, t, h, motion, work),
            FixedMethod::ImplicitMidpoint => implicit_midpoint::step(system, t, h, motion, work),
        };
        self.statistics.evaluations += work.evaluations;
        outcome.map_err(|error| at_time(&error, t))?;
        self.statistics.steps += 1;
        Ok(())
    }

    /// The method.
    pub fn method(&self) -> FixedMethod {
        self.method
    }

    /// Size of a step, s.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Time reached, s.
    pub fn time(&self) -> f64 {
        self.t_start + self.statistics.steps as f64 * self.size
    }

    /// Positions there.
    pub fn q(&self) -> &[f64] {
        &self.motion.q
    }

    /// Velocities there.
    pub fn v(&self) -> &[f64] {
        &self.motion.v
    }

    /// What it has cost.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Everything needed to continue with the very same bits: numbers as their bits.
    pub fn checkpoint(&self) -> Vec<u64> {
        let mut words = self.identity().to_vec();
        words.extend([
            self.statistics.steps,
            self.statistics.rejected,
            self.statistics.evaluations,
            self.work.memory.steps,
        ]);
        let memory = &self.work.memory;
        let numbers = [
            &[self.t_start][..],
            &self.motion.q,
            &self.motion.v,
            &memory.last,
            &memory.before,
        ];
        words.extend(numbers.into_iter().flatten().map(|x| x.to_bits()));
        words
    }

    /// Goes back to a checkpoint made by an integrator with the same method, sizes and step; no [`start`](Self::start) is
    /// needed. On an error this integrator must be started anew.
    pub fn restore(&mut self, checkpoint: &[u64]) -> Result<()> {
        let mut words = Words::new(checkpoint);
        words.expect(&self.identity())?;
        self.statistics = Statistics {
            steps: words.word()?,
            rejected: words.word()?,
            evaluations: words.word()?,
        };
        let memory = &mut self.work.memory;
        memory.steps = words.word()?;
        self.t_start = words.number()?;
        for into in [
            &mut self.motion.q,
            &mut self.motion.v,
            &mut memory.last,
            &mut memory.before,
        ] {
            words.numbers(into)?;
        }
        words.end()
    }

    fn identity(&self) -> [u64; 5] {
        [
            u64::from_be_bytes(*b"catenaF1"),
            self.method as u64,
            self.motion.q.len() as u64,
            self.motion.v.len() as u64,
            self.size.to_bits(),
        ]
    }
}
