//! A tree with its inputs as an ODE on a manifold.
//!
//! y = (q, v, W, D): positions (quaternions as four numbers), velocities, the work done by efforts, external wrenches and a base
//! that moves, and the energy dissipated by damping and friction. W and D are integrated along with the motion, to the same
//! tolerance, so that the audit's energy balance is as accurate as the motion itself.
//!
//! ```text
//! q̇ = v for scalar coordinates,   ṗ = ½ p ∘ (0, ω) for a quaternion p
//! v̇ = forward dynamics
//! Ẇ = τ·v + Σ w·t + w₀·t₀,   Ḋ = (damping v − friction)·v + loss in soft stops
//! ```
//!
//! plus the power that force elements supply and dissipate; the energy they store is part of the energies.
//!
//! w₀ is the wrench with which the base acts on the tree, by inverse dynamics of the motion found, t₀ the base's twist.
//!
//! Stages of a step may carry quaternions slightly off unit length; they are normalised before they are used, and so is the accepted
//! state. The flow of ½ p ∘ ω stays on the sphere, so the order is preserved.
//!
//! Dry friction follows the sign of the velocity until [`TreeSystem::follow_friction`] is called; from then on each
//! freedom with dry friction slips or is held, and further event functions detect the end of a mode (see `dry_friction.rs`). From then
//! on stops are enforced, too; impacts add to D (see `stops.rs`, `impact.rs`).

mod accelerations;
mod control;
mod events;
mod implicit_form;
mod modes;
mod powers;

use super::closing::{Closing, Drift};
use super::control::{Actuated, Hold};
use super::dry_friction::DryFriction;
use super::equations::{self, EquationsOfMotion};
use super::inputs::{Controller, Inputs};
use super::stops::{self, Cushion, Gate};
use crate::Dynamics;
use crate::algorithm::constrained::UserConstraint;
use crate::doors::native::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{Mechanical, System};
use crate::model::Model;
use crate::spatial::Force;
use crate::state::{State, position_rates, step_kernel};
pub use accelerations::{Constrained, Response};
pub(crate) use events::{Cause, Overrun};
pub use events::{EventFunction, StateFunction};
pub(crate) use modes::Change;
use std::sync::Arc;

/// A model with its inputs, ready to be integrated. Of a sampled controller it knows only the held command; a
/// [`Simulation`](super::Simulation) runs the controller at its instants.
#[derive(Clone, Debug)]
pub struct TreeSystem {
    pub(super) model: Model,
    /// Dynamics of the model without dry friction, which enters as an effort, and with its loops open.
    pub(super) dynamics: Dynamics,
    /// Loops, couplings and drivers, where there are any.
    pub(super) closing: Option<Closing>,
    /// Where accelerations come from, if not from the recursions.
    equations: Option<equations::Chosen>,
    inputs: Inputs,
    pub(super) friction: DryFriction,
    /// Whether nothing but efforts acts on an open tree without quaternions, on a base at rest, and they change at instants of control only.
    only_efforts_act: bool,
    /// Freedoms with damping.
    damped: Vec<usize>,
    /// The sides of rigid stops, and of soft ones.
    pub(super) gates: Vec<Gate>,
    cushions: Vec<Cushion>,
    /// Freedoms with dry friction that the closed chain holds, in the order of its rows.
    held: Vec<usize>,
    /// Whether the modes of friction are tracked.
    followed: bool,
    events: Vec<EventFunction>,
    /// Time between samples, s.
    sample_interval: f64,
    pub(super) state: State,
    /// Whether the base of that state may differ from the one the inputs prescribe.
    is_elsewhere: bool,
    /// The state at which a sampled controller is evaluated.
    asked: State,
    /// The efforts that the controller demands of the actuators.
    demand: Vec<f64>,
    actuated: Actuated,
    /// The command of a sampled controller.
    hold: Option<Hold>,
    /// Error of the controller or of a load.
    complaint: Option<Error>,
    tau: Vec<f64>,
    resisted: Vec<f64>,
    external: Vec<Force<f64>>,
    /// `external` with the wrenches of force elements, for equations in other coordinates.
    loads: Vec<Force<f64>>,
    still: Vec<f64>,
    vdot: Vec<f64>,
    quaternions: Vec<usize>,
}

impl TreeSystem {
    /// The model driven by these inputs, on the base they prescribe. Loops are kept closed by projection. States and inputs have all
    /// coordinates of the tree: couplings are constraints here ([`Model::with_couplings_as_constraints`]).
    pub fn new(model: &Model, inputs: Inputs, events: Vec<EventFunction>) -> Result<Self> {
        TreeSystem::with_constraints(model, inputs, events, Vec::new(), Drift::default())
    }

    /// The model driven by these inputs, with user-defined constraints in addition to the model's, and a choice of how to enforce them.
    pub fn with_constraints(
        model: &Model,
        inputs: Inputs,
        events: Vec<EventFunction>,
        user: Vec<Arc<dyn UserConstraint>>,
        drift: Drift,
    ) -> Result<Self> {
        let model = &model.clone().with_couplings_as_constraints();
        inputs.check(model)?;
        let nv = model.nv();
        let mut smooth = model.clone();
        smooth.dofs.iter_mut().for_each(|dof| dof.friction = 0.0);
        let actuated = Actuated::new(nv, inputs.actuators.as_deref());
        let is_driven = !matches!(inputs.controller, Controller::None);
        let friction = DryFriction::new(model, &inputs.stops);
        let damped = (0..nv).filter(|&k| smooth.dofs[k].damping != 0.0).collect();
        let can_hold = !friction.freedoms.is_empty();
        let closing = Closing::new(&smooth, user, drift, can_hold);
        let is_closed = closing.is_some();
        let rate = inputs.rate.filter(|_| is_driven);
        let hold = rate.map(|rate| Hold::new(rate, &actuated));
        let cushions = stops::cushions(model, &inputs.stops);
        let quaternions: Vec<usize> = model
            .bodies()
            .filter_map(|i| {
                let body = &model.tree().bodies[i];
                body.kind.quaternion().map(|k| body.q + k)
            })
            .collect();
        let only_efforts_act = hold.as_ref().map_or(!is_driven, |hold| !hold.is_late())
            && inputs.has_no_wrenches()
            && inputs.base.is_fixed()
            && model.forces().is_empty()
            && friction.freedoms.is_empty()
            && cushions.is_empty()
            && quaternions.is_empty()
            && !is_closed;
        Ok(TreeSystem {
            demand: vec![0.0; nv],
            hold,
            only_efforts_act,
            actuated,
            complaint: None,
            model: model.clone(),
            gates: stops::gates(model, &inputs.stops, &friction.freedoms, is_closed),
            cushions,
            closing,
            equations: None,
            dynamics: Dynamics::new(&smooth.open_tree()),
            inputs,
            damped,
            friction,
            held: Vec::new(),
            followed: false,
            events,
            sample_interval: f64::INFINITY,
            state: State::neutral(model),
            is_elsewhere: true,
            asked: State::neutral(model),
            tau: vec![0.0; nv],
            resisted: vec![0.0; nv],
            external: Vec::new(),
            loads: Vec::new(),
            still: vec![0.0; nv],
            vdot: vec![0.0; nv],
            quaternions,
        })
    }

    /// From now on takes accelerations from code that this compiler generates for the model, wherever the base is at rest and no
    /// external wrenches act. Returns false, without any change, for closed chains, models with force elements and those without freedoms.
    pub fn compile(&mut self, compiler: Compiler) -> Result<bool> {
        if self.closing.is_some() || !self.model.forces().is_empty() || self.model.nv() == 0 {
            return Ok(false);
        }
        let compiled = compiler(self.dynamics.model())?;
        compiled.expect_model(self.dynamics.model())?;
        self.dynamics = Dynamics::with_compiled(&compiled);
        Ok(true)
    }

    /// From now on takes accelerations and the multipliers of constraints from these equations. Every state at which they are evaluated is
    /// projected onto the constraints, unless violations decay by Baumgarte's equations. Which freedoms dry friction and rigid stops hold, by which
    /// efforts, and impacts at stops are found by the recursions; the efforts then act in the equations. A model with user-defined constraints is
    /// rejected: the equations have no access to their rows.
    pub fn choose_equations(&mut self, equations: Box<dyn EquationsOfMotion>) -> Result<()> {
        if let Some(closing) = &mut self.closing {
            if closing.has_user_constraints() {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "other equations of motion cannot be chosen: they do not include the rows of user-defined constraints",
                )
                .hint("run it by the recursions"));
            }
            closing.project_stages();
        }
        self.equations = Some(equations::Chosen(equations));
        Ok(())
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether accelerations come from equations other than the recursions.
    pub(crate) fn has_own_equations(&self) -> bool {
        self.equations.is_some()
    }

    /// The checked algorithms for the model without its dry friction, which acts as an effort here, and with its loops open.
    pub fn dynamics(&mut self) -> &mut Dynamics {
        &mut self.dynamics
    }

    /// The external inputs.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The events to detect.
    pub fn event_functions(&self) -> &[EventFunction] {
        &self.events
    }

    /// Event functions are also evaluated at the multiples of this time, s.
    pub(crate) fn set_sample_interval(&mut self, interval: f64) {
        self.sample_interval = interval;
    }

    /// Initial y of a state: no work done yet.
    pub fn pack(&self, state: &State) -> Vec<f64> {
        let mut y = state.q.clone();
        y.extend_from_slice(&state.v);
        y.extend_from_slice(&[0.0, 0.0]);
        y
    }

    /// The state in y at time t.
    pub fn unpack(&self, t: f64, y: &[f64]) -> State {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let mut state = State {
            q: y[..nq].to_vec(),
            v: y[nq..nq + nv].to_vec(),
            base: self.inputs.base.at(t),
        };
        normalise(&self.quaternions, &mut state.q);
        state
    }

    pub(super) fn load(&mut self, t: f64, q: &[f64], v: &[f64]) {
        self.state.q.copy_from_slice(q);
        self.state.v.copy_from_slice(v);
        if !self.inputs.base.is_fixed() || self.is_elsewhere {
            self.state.base = self.inputs.base.at(t);
            self.is_elsewhere = false;
        }
        normalise(&self.quaternions, &mut self.state.q);
    }

    /// Projects the difference between other velocities and those of a state onto the part that lasts: where violations of the constraints
    /// decay, the part that satisfies them.
    pub(super) fn keep_lasting(
        &mut self,
        t: f64,
        q: &[f64],
        v: &[f64],
        other: &mut [f64],
    ) -> Result<()> {
        if !self.closing.as_ref().is_some_and(Closing::lets_decay) {
            return Ok(());
        }
        self.load(t, q, v);
        let mut change: Vec<f64> = other.iter().zip(v).map(|(other, v)| other - v).collect();
        if let Some(closing) = &mut self.closing {
            closing.keep_along(t, &self.state, &mut change)?;
        }
        for ((other, v), change) in other.iter_mut().zip(v).zip(change) {
            *other = v + change;
        }
        Ok(())
    }
}

impl System for TreeSystem {
    fn dimension(&self) -> usize {
        self.model.nq() + self.model.nv() + 2
    }

    fn integrals(&self) -> usize {
        2
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        position_rates(&self.model, &y[..nq], &y[nq..nq + nv], &mut dy[..nq]);
        self.accelerate(t, &mut dy[nq..nq + nv])?;
        let powers = self.powers(&dy[nq..nq + nv])?;
        dy[nq + nv..].copy_from_slice(&powers);
        Ok(())
    }

    fn next_kink(&self, t: f64) -> f64 {
        self.inputs.next_kink(t)
    }

    fn project(&mut self, t: f64, y: &mut [f64]) {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        normalise(&self.quaternions, &mut y[..nq]);
        if self.closing.is_some() {
            self.load(t, &y[..nq], &y[nq..nq + nv]);
        }
        if let Some(closing) = &mut self.closing {
            closing.project(t, &mut self.state);
            y[..nq].copy_from_slice(&self.state.q);
            y[nq..nq + nv].copy_from_slice(&self.state.v);
        }
    }

    fn event_count(&self) -> usize {
        let followed = match self.followed {
            true => self.friction.freedoms.len() + self.gates.len() + 2 * self.cushions.len(),
            false => 0,
        };
        self.events.len() + followed
    }

    fn events(&mut self, t: f64, y: &[f64], values: &mut [f64]) {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.event_values(t, &y[..nq], &y[nq..nq + nv], values);
    }

    fn sample_interval(&self) -> f64 {
        self.sample_interval
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
        let is_plain = self.only_efforts_act && self.equations.is_none();
        if is_plain && self.dynamics.forward_by_code(q, v, &self.tau, vdot) {
            return Ok(());
        }
        self.load(t, q, v);
        self.accelerate(t, vdot)
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        if !self.quaternions.is_empty() {
            return step_kernel(&self.model, q, delta);
        }
        // couplings are constraints here: every coordinate moves on its own
        for (q, delta) in q.iter_mut().zip(delta) {
            *q += delta;
        }
    }

    fn settle(&mut self, t: f64, q: &mut [f64], v: &mut [f64]) -> Result<()> {
        if self.closing.is_none() {
            return Ok(());
        }
        self.load(t, q, v);
        if let Some(closing) = &mut self.closing {
            closing.project(t, &mut self.state);
            closing.check()?;
        }
        q.copy_from_slice(&self.state.q);
        v.copy_from_slice(&self.state.v);
        Ok(())
    }

    fn watched_count(&self) -> usize {
        System::event_count(self)
    }

    fn watch(&mut self, t: f64, q: &[f64], v: &[f64], values: &mut [f64]) {
        self.event_values(t, q, v, values);
    }

    fn sample_interval(&self) -> f64 {
        self.sample_interval
    }
}

fn normalise(quaternions: &[usize], q: &mut [f64]) {
    for &k in quaternions {
        let p = &mut q[k..k + 4];
        let scale = 1.0 / p.iter().map(|x| x * x).sum::<f64>().sqrt();
        p.iter_mut().for_each(|x| *x *= scale);
    }
}
