//! What the methods with fixed steps share: motions, buffers, and sums of stages.

use super::Mechanical;
use crate::elementary::all_finite;
use crate::error::{Error, ErrorKind, Result};

/// Positions and velocities.
#[derive(Clone, Debug, Default)]
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
    /// History of the iteration of an implicit method.
    pub memory: Memory,
    /// Copy of that history during a shorter step.
    pub aside: Memory,
}

impl Workspace {
    pub fn new(nq: usize, nv: usize) -> Self {
        let velocities = || [(); 4].map(|()| vec![0.0; nv]);
        Workspace {
            q: vec![0.0; nq],
            q_other: vec![0.0; nq],
            v: velocities(),
            a: velocities(),
            delta: vec![0.0; nv],
            evaluations: 0,
            memory: Memory::new(nv),
            aside: Memory::new(nv),
        }
    }
}

/// Evaluates the acceleration at a stage, counts the evaluation, and checks the result.
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
    if all_finite(a) {
        return Ok(());
    }
    let component = a.iter().position(|x| !x.is_finite()).unwrap_or(0);
    Err(Error::new(
        ErrorKind::Integration,
        format!("acceleration {component} is {}", a[component]),
    )
    .hint("a smaller step may help; look for a force that divides by zero"))
}

/// sum ← start + Σ wᵢ xᵢ.
pub(super) fn combine<const N: usize>(sum: &mut [f64], start: &[f64], parts: [(f64, &[f64]); N]) {
    let (sum, start) = (&mut sum[..start.len()], start);
    // slices of one length, so that the loop has no checks within
    let parts = parts.map(|(weight, part)| (weight, &part[..start.len()]));
    for i in 0..start.len() {
        let mut total = 0.0;
        for (weight, part) in &parts {
            total += weight * part[i];
        }
        sum[i] = start[i] + total;
    }
}

/// sum ← Σ wᵢ xᵢ.
pub(super) fn weigh<const N: usize>(sum: &mut [f64], parts: [(f64, &[f64]); N]) {
    let parts = parts.map(|(weight, part)| (weight, &part[..sum.len()]));
    for i in 0..sum.len() {
        let mut total = 0.0;
        for (weight, part) in &parts {
            total += weight * part[i];
        }
        sum[i] = total;
    }
}

/// Accelerations at the middle of the last two steps.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub last: Vec<f64>,
    pub before: Vec<f64>,
    /// Number of previous steps stored, at most 2.
    pub steps: u64,
}

impl Memory {
    pub fn new(nv: usize) -> Self {
        Memory {
            last: vec![0.0; nv],
            before: vec![0.0; nv],
            steps: 0,
        }
    }

    pub fn copy_from(&mut self, other: &Memory) {
        self.last.copy_from_slice(&other.last);
        self.before.copy_from_slice(&other.before);
        self.steps = other.steps;
    }

    pub fn clear(&mut self) {
        self.last.fill(0.0);
        self.before.fill(0.0);
        self.steps = 0;
    }
}
