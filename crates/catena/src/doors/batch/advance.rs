//! Many trajectories with a common step, each in its lane from the first step to the last.
//!
//! The methods are those of [`crate::integrate::Fixed`], equation by equation: [`runge_kutta4`](crate::integrate) (1)–(5) and
//! semi-implicit Euler (1)–(2).

use super::coupled::prepare_dynamics;
use super::lanes::{LaneWork, Place, not_positive};
use super::question::Question;
use crate::Dynamics;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::doors::native::Wides;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::scalar::{Scalar, Vector, Wide};
use crate::spatial::Force;
use crate::state::{Base, State, StateView, step_kernel};

/// Efforts that drive the joints of trajectories in lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive<'a> {
    /// Constant efforts, nv per trajectory.
    Efforts(&'a [f64]),
    /// stiffness · (target − q) − damping · v at the joints with scalar coordinates; nv targets per trajectory, of which those
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
    /// The present positions, those of the second stage and those of the stage that is evaluated.
    pub q: [Vec<Wide<V>>; 3],
    /// The present velocities, those of the second and third stage and those of the stage that is evaluated.
    pub v: [Vec<Wide<V>>; 4],
    /// Accelerations at the stages.
    pub a: [Vec<Wide<V>>; 4],
    delta: Vec<Wide<V>>,
    tau: Vec<Wide<V>>,
}

impl<V: Vector> Stages<V> {
    pub fn new(model: &Model) -> Self {
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

/// A number of fixed steps.
#[derive(Clone, Copy)]
pub(crate) struct Advance<'a> {
    /// The tree of a model with couplings.
    pub coupled: Option<&'a Model>,
    pub classical: bool,
    pub step: f64,
    pub steps: usize,
    pub gains: Option<(f64, f64)>,
}

/// Efforts at a stage.
#[inline(always)]
fn drive<V: Vector>(
    gains: Option<(f64, f64)>,
    model: &Model,
    numbers: &[Wide<V>],
    q: &[Wide<V>],
    v: &[Wide<V>],
    tau: &mut [Wide<V>],
) {
    let Some((stiffness, damping)) = gains else {
        tau.copy_from_slice(numbers);
        return;
    };
    let (stiffness, damping) = (Wide::constant(stiffness), Wide::constant(damping));
    let (mut at, mut to) = (0, 0); // of the independent coordinates
    for i in 1..=model.body_count() {
        let info = model.tree().nodes[i];
        if info.kind.quaternion().is_some() {
            tau[to..to + info.kind.nv()].fill(Wide::zero());
            (at, to) = (at + info.kind.nq(), to + info.kind.nv());
            continue;
        }
        for k in 0..info.kind.nv() {
            if model.is_independent(info.v + k) {
                tau[to] = stiffness * (numbers[to] - q[at]) - damping * v[to];
                (at, to) = (at + 1, to + 1);
            }
        }
    }
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

impl<V: Vector> Stages<V> {
    /// q and v of stage k + 1 of the classical method from the results of stages 1…k: (1)–(3).
    #[inline(always)]
    pub fn classical_stage(&mut self, model: &Model, k: usize, h: f64) {
        let Stages {
            q: [q, q_second, q_stage],
            v: [v1, v2, v3, v_stage],
            a,
            delta,
            ..
        } = self;
        let (ahead, velocity) = match k {
            1 => (0.5 * h, &*v1),
            2 => (0.5 * h, &*v2),
            _ => (h, &*v3),
        };
        scaled(delta, ahead, velocity);
        if k == 3 {
            add_scaled(delta, -0.5 * h, v1);
            q_stage.copy_from_slice(q_second);
        } else {
            q_stage.copy_from_slice(q);
        }
        step_kernel(model, q_stage, delta);
        v_stage.copy_from_slice(v1);
        add_scaled(v_stage, ahead, &a[k - 1]);
        match k {
            1 => {
                q_second.copy_from_slice(q_stage);
                v2.copy_from_slice(v_stage);
            }
            2 => v3.copy_from_slice(v_stage),
            _ => {}
        }
    }

    /// The step of the classical method: (4) and (5).
    #[inline(always)]
    pub fn classical_end(&mut self, model: &Model, h: f64) {
        let Stages {
            q: [q, ..],
            v: [v1, v2, v3, v4],
            a: [a1, a2, a3, a4],
            delta,
            ..
        } = self;
        let (one, two, three) = (h / 12.0, h / 6.0, h / 4.0);
        for (first, last) in [(three, -one), (-one, three)] {
            scaled(delta, first, v1);
            add_scaled(delta, two, v2);
            add_scaled(delta, two, v3);
            add_scaled(delta, last, v4);
            step_kernel(model, q, delta); // (4)
        }
        add_scaled(v1, h / 6.0, a1);
        add_scaled(v1, h / 3.0, a2);
        add_scaled(v1, h / 3.0, a3);
        add_scaled(v1, h / 6.0, a4); // (5)
    }

    /// The step of semi-implicit Euler.
    #[inline(always)]
    pub fn euler_end(&mut self, model: &Model, h: f64) {
        add_scaled(&mut self.v[0], h, &self.a[0]); // (1)
        scaled(&mut self.delta, h, &self.v[0]);
        step_kernel(model, &mut self.q[0], &self.delta); // (2)
    }
}

impl Question for Advance<'_> {
    const NEEDS_VELOCITIES: bool = true;

    fn prepare<V: Vector>(self, model: &Model, work: &mut LaneWork<V>, _groups: usize) {
        match self.coupled {
            None => {
                work.forward
                    .get_or_insert_with(|| Box::new(ForwardDynamics::new(model)));
            }
            Some(tree) => prepare_dynamics(tree, model, work),
        }
        work.stages
            .get_or_insert_with(|| Box::new(Stages::new(model)));
        work.make_room(work.native.forward.as_ref().map_or(0, Wides::outputs));
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        _loaded: bool,
        work: &mut LaneWork<V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let Some(stages) = &mut work.stages else {
            return bad;
        };
        stages.q[0].copy_from_slice(&work.q[..model.nq()]);
        stages.v[0].copy_from_slice(&work.v[..model.nv()]);
        let h = self.step;
        let evaluations = if self.classical { 4 } else { 1 };
        // a single call of the recursion in a loop: it is long, and would be inlined at every call
        for evaluation in 0..self.steps * evaluations {
            let k = evaluation % evaluations;
            if k > 0 {
                stages.classical_stage(model, k, h);
            }
            let Stages { q, v, a, tau, .. } = &mut **stages;
            let (q, v) = if k == 0 {
                (&q[0], &v[0])
            } else {
                (&q[2], &v[3])
            };
            let state = StateView { q, v, base };
            drive(self.gains, model, &work.input[..model.nv()], q, v, tau);
            if let Some(code) = &mut work.native.forward
                && work.still
            {
                code.run(q, v, tau, &mut work.output);
                let (vdot, inverse_pivots) = work.output[..2 * model.nv()].split_at(model.nv());
                a[k].copy_from_slice(vdot);
                bad = not_positive(inverse_pivots, bad);
            } else if let (Some(tree), Some(couplings)) = (self.coupled, model.couplings()) {
                if let Some(forward) = &mut work.coupled {
                    forward.forward(tree, couplings, state, tau, &[], &mut a[k]);
                    bad = not_positive(forward.factors.inverse_pivots(), bad);
                }
            } else if let Some(forward) = &mut work.forward {
                forward_dynamics(model, state, tau, &[], forward, &mut a[k]);
                bad = not_positive(&forward.factors.inverse, bad);
            }
            if !self.classical {
                stages.euler_end(model, h);
            } else if k == 3 {
                stages.classical_end(model, h);
            }
        }
        let (nq, nv) = (model.nq(), model.nv());
        work.output[..nq].copy_from_slice(&stages.q[0]);
        work.output[nq..nq + nv].copy_from_slice(&stages.v[0]);
        work.hand_out(place, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        // an initial state that is rejected at once has its own reason
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
