//! A tree with its inputs, seen as an ODE on a manifold.
//!
//! y = (q, v, W, D): positions (quaternions as four numbers), velocities, the work done by efforts and external wrenches, and the
//! energy dissipated by damping and friction. W and D are integrated along with the motion, to the same tolerance, so that the
//! audit's energy balance is as sharp as the motion itself.
//!
//! ```text
//! q̇ = v where coordinates are plain,   ṗ = ½ p ∘ (0, ω) for a quaternion p
//! v̇ = forward dynamics
//! Ẇ = τ·v + Σ w·t,   Ḋ = (damping v + friction sign v)·v
//! ```
//!
//! Stages of a step may carry quaternions slightly off unit length; they are normalised before they are used, and the accepted
//! state is normalised. On the sphere the flow of ½ p ∘ ω stays, so this costs no order.

use super::closing::{Closing, Drift};
use super::inputs::Inputs;
use crate::Dynamics;
use crate::algorithm::constrained::UserConstraint;
use crate::algorithm::passive;
use crate::error::Result;
use crate::integrate::{Mechanical, System};
use crate::model::Model;
use crate::spatial::Force;
use crate::state::{Base, State};
use std::sync::Arc;

/// What is to be noticed while the system moves.
#[derive(Clone, Debug, PartialEq)]
pub enum EventFunction {
    /// A position coordinate reaches a value: joint limits.
    Position {
        /// Index into q.
        coordinate: usize,
        /// The value.
        value: f64,
        /// How to call it.
        name: String,
    },
    /// The origin of a frame crosses the plane normal · x = offset (world axes).
    Plane {
        /// Index of the frame.
        frame: usize,
        /// Normal of the plane.
        normal: [f64; 3],
        /// Its distance along the normal.
        offset: f64,
        /// How to call it.
        name: String,
    },
}

impl EventFunction {
    /// How to call it.
    pub fn name(&self) -> &str {
        match self {
            EventFunction::Position { name, .. } | EventFunction::Plane { name, .. } => name,
        }
    }
}

/// What acts at an instant, and the accelerations it causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Efforts.
    pub tau: Vec<f64>,
    /// Wrenches on the bodies 0…n in body axes about the bodies' origins; empty if there are none.
    pub external: Vec<Force<f64>>,
    /// Accelerations.
    pub vdot: Vec<f64>,
    /// Under constraints: their efforts Jᵀλ, their multipliers, and how far positions, velocities and accelerations are off.
    pub constrained: Option<Constrained>,
}

/// What constraints do at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Constrained {
    /// Jᵀ λ: efforts of the constraints on the freedoms of the tree.
    pub efforts: Vec<f64>,
    /// λ, one per row.
    pub multipliers: Vec<f64>,
    /// Largest ξ (m, rad) and ξ̇, and ξ̈ relative to the accelerations involved.
    pub violations: [f64; 3],
}

/// A model with its inputs, ready to be integrated.
#[derive(Clone, Debug)]
pub struct TreeSystem {
    dynamics: Dynamics,
    inputs: Inputs,
    base: Base<f64>,
    events: Vec<EventFunction>,
    state: State,
    tau: Vec<f64>,
    external: Vec<Force<f64>>,
    quaternions: Vec<usize>,
    /// Under constraints; `dynamics` is that of the tree with its loops open then.
    closing: Option<Closing>,
    model: Model,
}

impl TreeSystem {
    /// The model driven by these inputs, on a base at rest where it stands. Loops are kept closed by projection.
    pub fn new(model: &Model, inputs: Inputs, events: Vec<EventFunction>) -> Result<Self> {
        TreeSystem::with_constraints(model, inputs, events, Vec::new(), Drift::default())
    }

    /// The same with constraints of the user's own besides the model's, and a choice of how to keep them.
    pub fn with_constraints(
        model: &Model,
        inputs: Inputs,
        events: Vec<EventFunction>,
        user: Vec<Arc<dyn UserConstraint>>,
        drift: Drift,
    ) -> Result<Self> {
        inputs.check(model)?;
        Ok(TreeSystem {
            dynamics: Dynamics::new(&model.clone().open_tree()),
            closing: Closing::new(model, user, drift),
            model: model.clone(),
            inputs,
            base: Base::fixed(),
            events,
            state: State::neutral(model),
            tau: vec![0.0; model.nv()],
            external: Vec::new(),
            quaternions: model
                .bodies()
                .filter_map(|i| {
                    let body = &model.tree().bodies[i];
                    body.kind.quaternion().map(|k| body.q + k)
                })
                .collect(),
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The checked algorithms of the model; of the tree with its loops open, if the model has constraints.
    pub fn dynamics(&mut self) -> &mut Dynamics {
        &mut self.dynamics
    }

    /// The events watched for.
    pub fn event_functions(&self) -> &[EventFunction] {
        &self.events
    }

    /// y of a state at the start: no work done yet.
    pub fn pack(&self, state: &State) -> Vec<f64> {
        let mut y = state.q.clone();
        y.extend_from_slice(&state.v);
        y.extend_from_slice(&[0.0, 0.0]);
        y
    }

    /// The state in y.
    pub fn unpack(&self, y: &[f64]) -> State {
        let (nq, nv) = (self.model().nq(), self.model().nv());
        let mut state = State {
            q: y[..nq].to_vec(),
            v: y[nq..nq + nv].to_vec(),
            base: self.base,
        };
        normalise(&self.quaternions, &mut state.q);
        state
    }

    /// Efforts, external wrenches and accelerations at an instant.
    pub fn response(&mut self, t: f64, state: &State) -> Result<Response> {
        let mut tau = vec![0.0; self.model().nv()];
        let mut external = Vec::new();
        self.inputs
            .efforts(t, state, &mut self.dynamics, &mut tau)?;
        self.inputs
            .external(state, &mut self.dynamics, &mut external)?;
        let mut vdot = vec![0.0; tau.len()];
        let constrained = match &mut self.closing {
            None => {
                vdot.copy_from_slice(self.dynamics.forward(state, &tau, &external)?);
                None
            }
            Some(closing) => {
                closing.accelerate(t, &mut state.clone(), &tau, &external, &mut vdot)?;
                Some(Constrained {
                    efforts: closing.efforts(),
                    multipliers: closing.multipliers().to_vec(),
                    violations: closing.violations(),
                })
            }
        };
        Ok(Response {
            tau,
            external,
            vdot,
            constrained,
        })
    }

    /// Power of efforts and external wrenches, and power lost to damping and friction, at an instant.
    pub(crate) fn power_at(&mut self, t: f64, state: &State) -> Result<[f64; 2]> {
        self.load(&state.q, &state.v);
        self.inputs
            .efforts(t, &self.state, &mut self.dynamics, &mut self.tau)?;
        self.inputs
            .external(&self.state, &mut self.dynamics, &mut self.external)?;
        let (work, lost) = self.powers()?;
        Ok([work, lost])
    }

    /// Evaluates the dynamics at the state loaded; v̇ goes out.
    fn accelerate(&mut self, t: f64, vdot: &mut [f64]) -> Result<()> {
        self.inputs
            .efforts(t, &self.state, &mut self.dynamics, &mut self.tau)?;
        self.inputs
            .external(&self.state, &mut self.dynamics, &mut self.external)?;
        if let Some(closing) = &mut self.closing {
            return closing.accelerate(t, &mut self.state, &self.tau, &self.external, vdot);
        }
        vdot.copy_from_slice(
            self.dynamics
                .forward(&self.state, &self.tau, &self.external)?,
        );
        Ok(())
    }

    fn load(&mut self, q: &[f64], v: &[f64]) {
        self.state.q.copy_from_slice(q);
        self.state.v.copy_from_slice(v);
        self.state.base = self.base;
        normalise(&self.quaternions, &mut self.state.q);
    }

    /// Power of efforts and external wrenches, and power lost to damping and friction.
    fn powers(&mut self) -> Result<(f64, f64)> {
        let state = &self.state;
        let mut work: f64 = self.tau.iter().zip(&state.v).map(|(tau, v)| tau * v).sum();
        if !self.external.is_empty() {
            let zero = vec![0.0; state.v.len()];
            let kinematics = self.dynamics.kinematics(state, &zero)?;
            work += self
                .external
                .iter()
                .zip(&kinematics.velocity)
                .map(|(f, v)| f.dot(*v))
                .sum::<f64>();
        }
        if let Some(closing) = &self.closing {
            work += closing.power(&state.v);
        }
        let model = self.dynamics.model();
        let lost = (0..model.nv())
            .map(|k| passive::dissipative_force(model, &state.v, k) * state.v[k])
            .sum();
        Ok((work, lost))
    }
}

impl System for TreeSystem {
    fn dimension(&self) -> usize {
        self.model().nq() + self.model().nv() + 2
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        let (nq, nv) = (self.model().nq(), self.model().nv());
        self.load(&y[..nq], &y[nq..nq + nv]);
        position_rates(
            self.dynamics.model(),
            &y[..nq],
            &y[nq..nq + nv],
            &mut dy[..nq],
        );
        self.accelerate(t, &mut dy[nq..nq + nv])?;
        let (work, lost) = self.powers()?;
        dy[nq + nv] = work;
        dy[nq + nv + 1] = lost;
        Ok(())
    }

    fn project(&mut self, t: f64, y: &mut [f64]) {
        let (nq, nv) = (self.model().nq(), self.model().nv());
        normalise(&self.quaternions, &mut y[..nq]);
        if self.closing.is_some() {
            self.load(&y[..nq], &y[nq..nq + nv]);
        }
        if let Some(closing) = &mut self.closing {
            closing.project(t, &mut self.state);
            y[..nq].copy_from_slice(&self.state.q);
            y[nq..nq + nv].copy_from_slice(&self.state.v);
        }
    }

    fn event_count(&self) -> usize {
        self.events.len()
    }

    fn events(&mut self, _t: f64, y: &[f64], values: &mut [f64]) {
        let state = self.unpack(y);
        for (event, value) in self.events.iter().zip(values) {
            *value = match event {
                EventFunction::Position {
                    coordinate, value, ..
                } => y[*coordinate] - value,
                EventFunction::Plane {
                    frame,
                    normal,
                    offset,
                    ..
                } => {
                    let frame = self.dynamics.model().tree().frames[*frame].clone();
                    match self.dynamics.frame_pose(&state, &frame) {
                        Ok(pose) => {
                            let p = pose.translation.to_array();
                            normal.iter().zip(p).map(|(n, x)| n * x).sum::<f64>() - offset
                        }
                        Err(_) => f64::NAN,
                    }
                }
            };
        }
    }
}

impl Mechanical for TreeSystem {
    fn position_count(&self) -> usize {
        self.model().nq()
    }

    fn velocity_count(&self) -> usize {
        self.model().nv()
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.load(q, v);
        self.accelerate(t, vdot)
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        self.state.q.copy_from_slice(q);
        let Self {
            dynamics, state, ..
        } = self;
        state.step(dynamics.model(), delta);
        q.copy_from_slice(&self.state.q);
    }
}

/// q̇ of every joint.
fn position_rates(model: &Model, q: &[f64], v: &[f64], rates: &mut [f64]) {
    for body in &model.tree().bodies[1..] {
        let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
        rates[body.q..body.q + plain].copy_from_slice(&v[body.v..body.v + plain]);
        if let Some(k) = body.kind.quaternion() {
            let p = &q[body.q + k..body.q + k + 4];
            let w = &v[body.v + k..body.v + k + 3];
            // ½ p ∘ (0, ω), ω in child axes
            let rate = [
                -p[1] * w[0] - p[2] * w[1] - p[3] * w[2],
                p[0] * w[0] + p[2] * w[2] - p[3] * w[1],
                p[0] * w[1] - p[1] * w[2] + p[3] * w[0],
                p[0] * w[2] + p[1] * w[1] - p[2] * w[0],
            ];
            for (out, rate) in rates[body.q + k..].iter_mut().zip(rate) {
                *out = 0.5 * rate;
            }
        }
    }
}

fn normalise(quaternions: &[usize], q: &mut [f64]) {
    for &k in quaternions {
        let p = &mut q[k..k + 4];
        let scale = 1.0 / p.iter().map(|x| x * x).sum::<f64>().sqrt();
        p.iter_mut().for_each(|x| *x *= scale);
    }
}
