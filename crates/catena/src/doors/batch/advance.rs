//! Many trajectories with a common step, each in its lane from the first step to the last.
//!
//! The methods are those of [`crate::integrate::Fixed`], equation by equation: [`runge_kutta4`](crate::integrate) (1)–(5) and
//! semi-implicit Euler (1)–(2).

use super::lanes::{Io, Place, Question, not_positive};
use super::rooms::{Rooms, couplings};
use super::stages::Stages;
use crate::Dynamics;
use crate::algorithm::coupled::CoupledDynamics;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::doors::native::Wides;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::scalar::{Scalar, Vector, Wide};
use crate::spatial::Force;
use crate::state::{Base, State, StateView};

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

/// The dynamics of the stages: of a tree, or of a model with couplings.
pub(crate) enum Accelerating<'w, 'a, V: Vector> {
    Tree(&'w mut ForwardDynamics<Wide<V>>),
    Coupled(&'a Model, &'w mut CoupledDynamics<Wide<V>>),
}

impl<'a> Question for Advance<'a> {
    const NEEDS_VELOCITIES: bool = true;

    type Ready<'w, V: Vector> = (&'w mut Stages<V>, Accelerating<'w, 'a, V>);

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        io.make_room(io.native.forward.as_ref().map_or(0, Wides::outputs));
        let stages = (rooms.stages).get_or_insert_with(|| Box::new(Stages::new(model)));
        let dynamics = match self.coupled {
            None => {
                let forward = &mut rooms.forward;
                let own = forward.get_or_insert_with(|| Box::new(ForwardDynamics::new(model)));
                Accelerating::Tree(own)
            }
            Some(tree) => {
                let make = || Box::new(CoupledDynamics::new(tree, couplings(model)));
                Accelerating::Coupled(tree, rooms.coupled.get_or_insert_with(make))
            }
        };
        (stages, dynamics)
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        (stages, dynamics): &mut Self::Ready<'_, V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        stages.q[0].copy_from_slice(&io.q[..model.nq()]);
        stages.v[0].copy_from_slice(&io.v[..model.nv()]);
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
            drive(self.gains, model, &io.input[..model.nv()], q, v, tau);
            if let Some(code) = &mut io.native.forward
                && io.still
            {
                code.run(q, v, tau, &mut io.output);
                let (vdot, inverse_pivots) = io.output[..2 * model.nv()].split_at(model.nv());
                a[k].copy_from_slice(vdot);
                bad = not_positive(inverse_pivots, bad);
            } else {
                let a = &mut a[k];
                bad = match dynamics {
                    Accelerating::Coupled(tree, forward) => {
                        forward.forward(tree, couplings(model), state, tau, &[], a);
                        not_positive(forward.factors.inverse_pivots(), bad)
                    }
                    Accelerating::Tree(forward) => {
                        forward_dynamics(model, state, tau, &[], forward, a);
                        not_positive(&forward.factors.inverse, bad)
                    }
                };
            }
            if !self.classical {
                stages.euler_end(model, h);
            } else if k == 3 {
                stages.classical_end(model, h);
            }
        }
        let (nq, nv) = (model.nq(), model.nv());
        io.output[..nq].copy_from_slice(&stages.q[0]);
        io.output[nq..nq + nv].copy_from_slice(&stages.v[0]);
        io.hand_out(place, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        // the error of a rejected initial state is that of forward dynamics
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
