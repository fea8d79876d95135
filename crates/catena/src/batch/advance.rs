//! Many trajectories with a common step, each in its lane from the first step to the last.
//!
//! The methods are those of [`crate::integrate::Fixed`], equation by equation: [`runge_kutta4`](crate::integrate) (1)–(5) and
//! semi-implicit Euler (1)–(2).

use super::lanes::{Work, not_positive};
use super::question::Question;
use crate::Dynamics;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::scalar::{Scalar, Vector, Wide};
use crate::spatial::Force;
use crate::state::{Base, State, step_kernel};

/// What drives the joints of trajectories in lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive<'a> {
    /// Constant efforts, nv per trajectory.
    Efforts(&'a [f64]),
    /// stiffness · (target − q) − damping · v at the joints with plain coordinates; nv targets per trajectory, of which those
    /// of joints with quaternions are not used.
    Hold {
        /// Positions to hold, by freedom.
        targets: &'a [f64],
        /// Effort per unit of position error.
        stiffness: f64,
        /// Effort per unit of velocity.
        damping: f64,
    },
}

impl<'a> Drive<'a> {
    /// The nv numbers per trajectory.
    pub(super) fn numbers(self) -> &'a [f64] {
        match self {
            Drive::Efforts(numbers)
            | Drive::Hold {
                targets: numbers, ..
            } => numbers,
        }
    }

    /// Stiffness and damping of a held joint.
    pub(super) fn gains(self) -> Option<(f64, f64)> {
        match self {
            Drive::Efforts(_) => None,
            Drive::Hold {
                stiffness, damping, ..
            } => Some((stiffness, damping)),
        }
    }
}

/// Buffers of the stages.
#[derive(Clone, Debug)]
pub(crate) struct Stages<V: Vector> {
    q: [Vec<Wide<V>>; 3],
    v: [Vec<Wide<V>>; 4],
    a: [Vec<Wide<V>>; 4],
    delta: Vec<Wide<V>>,
    tau: Vec<Wide<V>>,
}

impl<V: Vector> Stages<V> {
    fn new(model: &Model) -> Self {
        let (q, v) = (
            vec![Wide::zero(); model.nq()],
            vec![Wide::zero(); model.nv()],
        );
        Stages {
            q: [q.clone(), q.clone(), q],
            v: [v.clone(), v.clone(), v.clone(), v.clone()],
            a: [v.clone(), v.clone(), v.clone(), v.clone()],
            delta: v.clone(),
            tau: v,
        }
    }
}

/// So many steps of one size.
#[derive(Clone, Copy)]
pub(crate) struct Advance {
    pub classical: bool,
    pub step: f64,
    pub steps: usize,
    pub gains: Option<(f64, f64)>,
}

/// v̇ at a stage.
#[inline(always)]
fn accelerate<V: Vector>(
    gains: Option<(f64, f64)>,
    model: &Model,
    base: &Base<Wide<V>>,
    numbers: &[Wide<V>],
    (q, v): (&[Wide<V>], &[Wide<V>]),
    (tau, forward): (&mut [Wide<V>], &mut ForwardDynamics<Wide<V>>),
    a: &mut [Wide<V>],
    bad: Wide<V>,
) -> Wide<V> {
    match gains {
        None => tau.copy_from_slice(numbers),
        Some((stiffness, damping)) => {
            let (stiffness, damping) = (Wide::constant(stiffness), Wide::constant(damping));
            let tree = model.tree();
            for i in 1..=model.body_count() {
                let info = tree.nodes[i];
                for k in 0..info.kind.nv() {
                    let (at, to) = (info.q + k, info.v + k);
                    tau[to] = match info.kind.quaternion() {
                        None => stiffness * (numbers[to] - q[at]) - damping * v[to],
                        Some(_) => Wide::zero(),
                    };
                }
            }
        }
    }
    articulated_bodies::kernel(model, q, v, tau, base, &[], forward, a);
    not_positive(&forward.factors.inverse, bad)
}

/// sum ← w x.
#[inline(always)]
fn scaled<V: Vector>(sum: &mut [Wide<V>], w: f64, x: &[Wide<V>]) {
    let w = Wide::constant(w);
    for k in 0..sum.len() {
        sum[k] = w * x[k];
    }
}

/// sum ← sum + w x.
#[inline(always)]
fn add_scaled<V: Vector>(sum: &mut [Wide<V>], w: f64, x: &[Wide<V>]) {
    let w = Wide::constant(w);
    for k in 0..sum.len() {
        sum[k] = w.mul_add(x[k], sum[k]);
    }
}

impl Advance {
    #[inline(always)]
    fn classical_step<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        numbers: &[Wide<V>],
        stages: &mut Stages<V>,
        forward: &mut ForwardDynamics<Wide<V>>,
        mut bad: Wide<V>,
    ) -> Wide<V> {
        let h = self.step;
        let Stages {
            q: [q, q2, q_stage],
            v: [v1, v2, v3, v4],
            a: [a1, a2, a3, a4],
            delta,
            tau,
        } = stages;
        // v₁ is the velocity itself and becomes the next one at the end
        bad = accelerate(
            self.gains,
            model,
            base,
            numbers,
            (q, v1),
            (tau, forward),
            a1,
            bad,
        );

        q2.copy_from_slice(q);
        scaled(delta, 0.5 * h, v1);
        step_kernel(model, q2, delta);
        v2.copy_from_slice(v1);
        add_scaled(v2, 0.5 * h, a1);
        bad = accelerate(
            self.gains,
            model,
            base,
            numbers,
            (q2, v2),
            (tau, forward),
            a2,
            bad,
        ); // (1)

        q_stage.copy_from_slice(q);
        scaled(delta, 0.5 * h, v2);
        step_kernel(model, q_stage, delta);
        v3.copy_from_slice(v1);
        add_scaled(v3, 0.5 * h, a2);
        bad = accelerate(
            self.gains,
            model,
            base,
            numbers,
            (q_stage, v3),
            (tau, forward),
            a3,
            bad,
        ); // (2)

        q_stage.copy_from_slice(q2);
        scaled(delta, h, v3);
        add_scaled(delta, -0.5 * h, v1);
        step_kernel(model, q_stage, delta);
        v4.copy_from_slice(v1);
        add_scaled(v4, h, a3);
        bad = accelerate(
            self.gains,
            model,
            base,
            numbers,
            (q_stage, v4),
            (tau, forward),
            a4,
            bad,
        ); // (3)

        let (one, two, three) = (h / 12.0, h / 6.0, h / 4.0);
        scaled(delta, three, v1);
        add_scaled(delta, two, v2);
        add_scaled(delta, two, v3);
        add_scaled(delta, -one, v4);
        step_kernel(model, q, delta);
        scaled(delta, -one, v1);
        add_scaled(delta, two, v2);
        add_scaled(delta, two, v3);
        add_scaled(delta, three, v4);
        step_kernel(model, q, delta); // (4)
        add_scaled(v1, h / 6.0, a1);
        add_scaled(v1, h / 3.0, a2);
        add_scaled(v1, h / 3.0, a3);
        add_scaled(v1, h / 6.0, a4); // (5)
        bad
    }

    #[inline(always)]
    fn euler_step<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        numbers: &[Wide<V>],
        stages: &mut Stages<V>,
        forward: &mut ForwardDynamics<Wide<V>>,
        mut bad: Wide<V>,
    ) -> Wide<V> {
        let Stages {
            q: [q, ..],
            v: [v, ..],
            a: [a, ..],
            delta,
            tau,
        } = stages;
        bad = accelerate(
            self.gains,
            model,
            base,
            numbers,
            (q, v),
            (tau, forward),
            a,
            bad,
        );
        add_scaled(v, self.step, a); // (1)
        scaled(delta, self.step, v);
        step_kernel(model, q, delta); // (2)
        bad
    }
}

impl Question for Advance {
    const NEEDS_VELOCITIES: bool = true;

    fn prepare<V: Vector>(self, model: &Model, work: &mut Work<V>, _groups: usize) {
        work.forward
            .get_or_insert_with(|| Box::new(ForwardDynamics::new(model)));
        work.stages
            .get_or_insert_with(|| Box::new(Stages::new(model)));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        _loaded: bool,
        _group: usize,
        work: &mut Work<V>,
        mut bad: Wide<V>,
    ) -> Wide<V> {
        let (Some(forward), Some(stages)) = (&mut work.forward, &mut work.stages) else {
            return bad;
        };
        stages.q[0].copy_from_slice(&work.q);
        stages.v[0].copy_from_slice(&work.v);
        let mut step = 0;
        while step < self.steps {
            bad = if self.classical {
                self.classical_step(model, base, &work.input, stages, forward, bad)
            } else {
                self.euler_step(model, base, &work.input, stages, forward, bad)
            };
            step += 1;
        }
        let (nq, nv) = (model.nq(), model.nv());
        work.output[..nq].copy_from_slice(&stages.q[0]);
        work.output[nq..nq + nv].copy_from_slice(&stages.v[0]);
        bad
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        // a start that is refused at once has its own reason
        dynamics.forward(state, input, external)?;
        Err(Error::new(
            ErrorKind::Integration,
            format!(
                "the motion cannot be followed through {} steps of {} s",
                self.steps, self.step
            ),
        )
        .hint("a joint loses its inertia on the way, or the step is too large for the motion"))
    }
}
