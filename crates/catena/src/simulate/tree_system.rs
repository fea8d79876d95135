//! A tree with its inputs, seen as an ODE on a manifold.
//!
//! y = (q, v, W, D): positions (quaternions as four numbers), velocities, the work done by efforts, external wrenches and a base
//! that moves, and the energy dissipated by damping and friction. W and D are integrated along with the motion, to the same
//! tolerance, so that the audit's energy balance is as accurate as the motion itself.
//!
//! ```text
//! q̇ = v for scalar coordinates,   ṗ = ½ p ∘ (0, ω) for a quaternion p
//! v̇ = forward dynamics
//! Ẇ = τ·v + Σ w·t + w₀·t₀,   Ḋ = (damping v − friction)·v + what soft stops lose
//! ```
//!
//! and what force elements bring in and dissipate; what they store is part of the energies.
//!
//! w₀ is the wrench with which the base acts on the tree, by inverse dynamics of the motion found, t₀ the base's twist.
//!
//! Stages of a step may carry quaternions slightly off unit length; they are normalised before they are used, and the accepted
//! state is normalised. The flow of ½ p ∘ ω stays on the sphere, so the order is preserved.
//!
//! Dry friction follows the sign of the velocity until [`TreeSystem::follow_friction`] is called; from then on each
//! freedom with dry friction slips or is held, and further event functions detect the end of a mode (see `dry_friction.rs`). From then
//! on stops hold, too; impacts add to D (see `stops.rs`, `impact.rs`).

use super::closing::{Closing, Drift};
use super::control::{Actuated, Hold, Law, Sensors};
use super::dry_friction::{DryFriction, Mode, Standing, Touch};
use super::equations::{self, EquationsOfMotion};
use super::inputs::{Controller, Inputs};
use super::stops::{self, BEYOND, Cushion, Gate, Press};
use crate::Dynamics;
use crate::algorithm::constrained::{Axes, Rows, UserConstraint};
use crate::algorithm::passive;
use crate::doors::native::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{Mechanical, System};
use crate::model::{DofInfo, Model};
use crate::spatial::{Force, Motion, Vec3};
use crate::state::{Base, State, position_rates, step_kernel};
use std::fmt;
use std::sync::Arc;

type Function = dyn Fn(f64, &State) -> f64 + Send + Sync;

/// A function of time and state whose changes of sign are events.
#[derive(Clone)]
pub struct StateFunction(Arc<Function>);

impl StateFunction {
    /// This function.
    pub fn new(function: impl Fn(f64, &State) -> f64 + Send + Sync + 'static) -> Self {
        StateFunction(Arc::new(function))
    }
}

impl fmt::Debug for StateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateFunction")
    }
}

impl PartialEq for StateFunction {
    /// Functions are equal if they are the same one.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// An event to be located during the motion.
#[derive(Clone, Debug, PartialEq)]
pub enum EventFunction {
    /// A position coordinate reaches a value: joint limits.
    Position {
        /// Index into q.
        coordinate: usize,
        /// The value.
        value: f64,
        /// Its name.
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
        /// Its name.
        name: String,
    },
    /// Any function of time and state changes its sign.
    Function {
        /// The function.
        function: StateFunction,
        /// Its name.
        name: String,
    },
}

impl EventFunction {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            EventFunction::Position { name, .. }
            | EventFunction::Plane { name, .. }
            | EventFunction::Function { name, .. } => name,
        }
    }
}

/// What acts at an instant, and the accelerations it causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Efforts.
    pub tau: Vec<f64>,
    /// Efforts of dry friction, holding efforts included; zero where there is none.
    pub friction: Vec<f64>,
    /// Efforts of stops; zero where there are none.
    pub stops: Vec<f64>,
    /// Wrenches on the bodies 0…n in body axes about the bodies' origins; empty if there are none.
    pub external: Vec<Force<f64>>,
    /// Accelerations.
    pub vdot: Vec<f64>,
    /// Under constraints: their efforts Jᵀλ, their multipliers, and the violations by positions, velocities and accelerations.
    pub constrained: Option<Constrained>,
}

/// Forces and violations of the constraints at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Constrained {
    /// Jᵀ λ: efforts of the constraints on the freedoms of the tree.
    pub efforts: Vec<f64>,
    /// λ, one per row.
    pub multipliers: Vec<f64>,
    /// Largest ξ (m, rad) and ξ̇, and ξ̈ relative to the accelerations involved.
    pub violations: [f64; 3],
}

/// Accelerations that other equations give to freedoms that are held, up to this fraction of the largest, are round-off.
const STAYS: f64 = 1e-9;

/// A change of what a freedom with dry friction or a rigid stop does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// Which of them.
    pub index: usize,
    pub before: Standing,
    pub after: Standing,
}

/// What an event of the system itself is about, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The mode of this freedom with dry friction or a rigid stop ends.
    Mode(usize),
    /// A limit is reached.
    Limit,
    /// The mode of this side of a soft stop ends, in the first or second way.
    Cushion(usize, usize),
}

/// What went wrong within a step without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// A freedom slips against its direction: it was released and came back.
    Turned(usize),
    /// A freedom is beyond a limit that it was at from the beginning.
    Beyond,
}

/// A model with its inputs, ready to be integrated. Of a sampled controller it knows the command that is held; a
/// [`Simulation`](super::Simulation) runs the controller at its instants.
#[derive(Clone, Debug)]
pub struct TreeSystem {
    pub(super) model: Model,
    /// Of the model without dry friction, which enters as an effort, and with its loops open.
    pub(super) dynamics: Dynamics,
    /// Loops, couplings and drivers, where there are any.
    pub(super) closing: Option<Closing>,
    /// Where accelerations come from, if not from the recursions.
    equations: Option<equations::Chosen>,
    inputs: Inputs,
    pub(super) friction: DryFriction,
    /// The sides of rigid stops, and of soft ones.
    pub(super) gates: Vec<Gate>,
    cushions: Vec<Cushion>,
    /// Freedoms with dry friction that the closed chain holds, in the order of its rows.
    held: Vec<usize>,
    /// Are the modes of friction tracked?
    followed: bool,
    events: Vec<EventFunction>,
    /// Time between samples, s.
    sample_interval: f64,
    pub(super) state: State,
    /// May the base of that state be another than the inputs prescribe?
    is_elsewhere: bool,
    /// The state that a sampled controller is asked at.
    asked: State,
    /// What the controller demands of the actuators.
    demand: Vec<f64>,
    actuated: Actuated,
    /// The command of a sampled controller.
    hold: Option<Hold>,
    /// What the controller or a load complained about.
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

    /// The model driven by these inputs, with user-defined constraints besides the model's, and a choice of how to enforce them.
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
        let can_hold = !friction.freedoms.is_empty();
        let closing = Closing::new(&smooth, user, drift, can_hold);
        let is_closed = closing.is_some();
        let rate = inputs.rate.filter(|_| is_driven);
        Ok(TreeSystem {
            demand: vec![0.0; nv],
            hold: rate.map(|rate| Hold::new(rate, &actuated)),
            actuated,
            complaint: None,
            model: model.clone(),
            gates: stops::gates(model, &inputs.stops, &friction.freedoms, is_closed),
            cushions: stops::cushions(model, &inputs.stops),
            closing,
            equations: None,
            dynamics: Dynamics::new(&smooth.open_tree()),
            inputs,
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
            quaternions: model
                .bodies()
                .filter_map(|i| {
                    let body = &model.tree().bodies[i];
                    body.kind.quaternion().map(|k| body.q + k)
                })
                .collect(),
        })
    }

    /// From now on accelerations come from code that this compiler generates for the model, wherever the base is at rest and no external
    /// wrenches act. Returns false, without a change, for closed chains, models with force elements and those without freedoms.
    pub fn compile(&mut self, compiler: Compiler) -> Result<bool> {
        if self.closing.is_some() || !self.model.forces().is_empty() || self.model.nv() == 0 {
            return Ok(false);
        }
        let compiled = compiler(self.dynamics.model())?;
        compiled.expect_model(self.dynamics.model())?;
        self.dynamics = Dynamics::with_compiled(&compiled);
        Ok(true)
    }

    /// From now on accelerations, and the multipliers of constraints, come from these equations. Every state they are asked at is
    /// projected onto the constraints, unless violations decay by Baumgarte's equations. Which freedoms dry friction and rigid stops hold, by which
    /// efforts, and impacts at stops are found by the recursions; the efforts then act in the equations. A model with user-defined constraints is
    /// refused: the equations do not know their rows.
    pub fn choose_equations(&mut self, equations: Box<dyn EquationsOfMotion>) -> Result<()> {
        if let Some(closing) = &mut self.closing {
            if closing.has_user_constraints() {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "other equations of motion cannot be chosen: they do not know the rows of user-defined constraints",
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

    /// Do accelerations come from other equations than the recursions?
    pub(crate) fn has_own_equations(&self) -> bool {
        self.equations.is_some()
    }

    /// The checked algorithms for the model without its dry friction, which acts as an effort here, and with its loops open.
    pub fn dynamics(&mut self) -> &mut Dynamics {
        &mut self.dynamics
    }

    /// What acts from outside.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The events watched for.
    pub fn event_functions(&self) -> &[EventFunction] {
        &self.events
    }

    /// Event functions are also evaluated at the multiples of this time, s.
    pub(crate) fn set_sample_interval(&mut self, interval: f64) {
        self.sample_interval = interval;
    }

    /// y of a state at the start: no work done yet.
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

    /// Efforts, external wrenches and accelerations at an instant.
    pub fn response(&mut self, t: f64, state: &State) -> Result<Response> {
        let mut vdot = vec![0.0; self.model.nv()];
        self.load(t, &state.q, &state.v);
        self.state.base = state.base;
        self.is_elsewhere = true;
        self.accelerate(t, &mut vdot)?;
        if let Some(closing) = &mut self.closing {
            closing.complete(t, &self.state, &self.resisted, &self.external)?;
        }
        let mut constrained = self.closing.as_ref().map(|closing| Constrained {
            efforts: closing.efforts(),
            multipliers: closing.multipliers().to_vec(),
            violations: closing.violations(),
        });
        if let Some(constrained) = &mut constrained {
            self.share_holding(t, constrained)?;
        }
        let mut friction = vec![0.0; self.model.nv()];
        let mut stops = vec![0.0; self.model.nv()];
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            [friction[k], stops[k]] = self.friction.parts(j);
        }
        for cushion in &self.cushions {
            stops[cushion.freedom] += cushion.effort(&self.state.q, &self.state.v);
        }
        Ok(Response {
            tau: self.tau.clone(),
            friction,
            stops,
            external: self.external.clone(),
            vdot,
            constrained,
        })
    }

    /// Where holding efforts are not unique, dry friction gets efforts within its levels, and the constraints carry the
    /// rest. The holding efforts are subtracted from the efforts of the constraints.
    fn share_holding(&mut self, t: f64, constrained: &mut Constrained) -> Result<()> {
        let before = self.friction.efforts.clone();
        if !self.friction.unique && self.friction.holds() {
            self.prepare_friction(t)?;
            self.friction.share()?;
        }
        let mut shifted = vec![0.0; self.model.nv()];
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            if self.friction.modes[j] == Mode::Held {
                constrained.efforts[k] -= self.friction.efforts[j];
                shifted[k] = before[j] - self.friction.efforts[j];
            }
        }
        if let (Some(closing), false) = (&mut self.closing, self.friction.unique) {
            // I x = E (λ − λ') + Jᵀ μ with x = 0: what the constraints carry instead
            let (_, change) = closing.respond(&shifted);
            for (multiplier, change) in constrained.multipliers.iter_mut().zip(change) {
                *multiplier -= change;
            }
        }
        Ok(())
    }

    /// Mobility of the freedoms held, at the state loaded.
    fn prepare_friction(&mut self, t: f64) -> Result<()> {
        let Some(closing) = &mut self.closing else {
            return Ok(());
        };
        closing.prepare(t, &self.state)?;
        if self.friction.is_prepared(&self.state.q) {
            return Ok(());
        }
        let held = self.friction.held();
        let freedoms: Vec<usize> = held.iter().map(|&j| self.friction.freedoms[j]).collect();
        let alone = closing.open_mobility(&self.state, &freedoms)?;
        let respond = |x: &mut [f64]| {
            let (answer, _) = closing.respond(x);
            x.copy_from_slice(answer);
            Ok(())
        };
        self.friction.prepare(held, &self.state.q, respond, &alone)
    }

    /// Power of external actions, and power dissipated by damping and friction, at an instant.
    pub(crate) fn powers_at(&mut self, t: f64, y: &[f64]) -> Result<[f64; 2]> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let mut vdot = std::mem::take(&mut self.vdot);
        let prepared = match self.powers_need_accelerations() {
            true => self.accelerate(t, &mut vdot),
            false => self.drive(t).map(|()| self.friction.slip(&self.state.v)),
        };
        let done = prepared.and_then(|()| self.powers(&vdot));
        self.vdot = vdot;
        done
    }

    /// Do powers depend on accelerations? Those of a moving base, of constraints and of holding friction do.
    fn powers_need_accelerations(&self) -> bool {
        !self.inputs.base.is_fixed() || self.closing.is_some() || self.friction.holds()
    }

    /// Efforts at an instant of a continuous controller, as far as actuators give them.
    pub(super) fn efforts_at(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<&[f64]> {
        self.load(t, q, v);
        self.drive(t)?;
        Ok(&self.tau)
    }

    /// Evaluates the dynamics at the state loaded; v̇ goes out.
    pub(super) fn accelerate(&mut self, t: f64, vdot: &mut [f64]) -> Result<()> {
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        let holds = self.friction.holds();
        // with other equations, too: in a closed chain it projects the state, and leaves the rows that violations and power are judged by
        if self.equations.is_none() || self.closing.is_some() || holds {
            self.forward(t, vdot)?;
        }
        if holds {
            match &self.closing {
                None => self.friction.hold(&mut self.dynamics, vdot)?,
                Some(closing) => {
                    for (&j, effort) in self.held.iter().zip(closing.holding_efforts()) {
                        self.friction.efforts[j] = *effort;
                    }
                }
            }
        }
        self.forward_by_equations(t, vdot)
    }

    /// Accelerations from the equations that were chosen, if any, under the efforts of friction, holding ones included.
    fn forward_by_equations(&mut self, t: f64, vdot: &mut [f64]) -> Result<()> {
        if self.equations.is_none() {
            return Ok(());
        }
        self.resist();
        let Some(chosen) = &mut self.equations else {
            return Ok(());
        };
        let rows = self.closing.as_ref().map_or(0, |c| c.multipliers().len());
        let mut multipliers = vec![0.0; rows];
        let (tau, external) = (&self.resisted, &self.external);
        let equations = &mut chosen.0;
        equations.solve(t, &self.state, tau, external, vdot, &mut multipliers)?;
        // what is held stays at rest, not only to round-off
        let size = vdot.iter().fold(1.0f64, |size, x| size.max(x.abs()));
        for j in self.friction.held() {
            let own = &mut vdot[self.friction.freedoms[j]];
            if own.abs() < STAYS * size {
                *own = 0.0;
            }
        }
        if let Some(closing) = &mut self.closing {
            closing.adopt(vdot, &multipliers);
        }
        Ok(())
    }

    /// Efforts and external wrenches at the state loaded.
    fn drive(&mut self, t: f64) -> Result<()> {
        match &self.hold {
            Some(hold) => hold.efforts(t, &mut self.tau),
            None => {
                self.command(t)?;
                self.actuated.limit(&self.demand, &mut self.tau);
            }
        }
        let Self {
            inputs,
            state,
            dynamics,
            external,
            ..
        } = self;
        let done = inputs.external(t, state, dynamics, external);
        if let (Err(error), false) = (&done, self.inputs.loads.is_empty()) {
            self.complaint = Some(error.clone());
        }
        done
    }

    /// Lets the controller say what it demands at the state loaded.
    fn command(&mut self, t: f64) -> Result<()> {
        if matches!(self.inputs.controller, Controller::Own(_)) {
            return self.command_by_own(t);
        }
        let Self {
            inputs,
            state,
            model,
            dynamics,
            actuated,
            demand,
            ..
        } = self;
        inputs.efforts(t, state, model, dynamics, actuated, demand)
    }

    /// The same for a controller of one's own: it is taken out meanwhile, so that it can ask the rest for what sensors measure.
    fn command_by_own(&mut self, t: f64) -> Result<()> {
        let mut controller = std::mem::replace(&mut self.inputs.controller, Controller::None);
        if let Controller::Own(law) = &mut controller {
            let mut demand = std::mem::take(&mut self.demand);
            demand.fill(0.0);
            let done = match self.is_sampled() {
                true => self.ask_with_sensors(t, law, &mut demand),
                false => {
                    let mut sensors = Sensors::closed(self.model.tree());
                    (law.control()).efforts(t, &self.state, &mut sensors, &mut demand)
                }
            };
            let done = done.and_then(|()| self.actuated.check(t, &demand, &self.model));
            self.complaint = done.as_ref().err().cloned();
            self.demand = demand;
            self.inputs.controller = controller;
            return done;
        }
        self.inputs.controller = controller;
        Ok(())
    }

    fn ask_with_sensors(&mut self, t: f64, law: &mut Law, demand: &mut [f64]) -> Result<()> {
        let tree = Arc::clone(&self.model.tree);
        // the controller reads one copy of the state while sensors are measured with the other
        let mut asked = State {
            q: std::mem::take(&mut self.asked.q),
            v: std::mem::take(&mut self.asked.v),
            base: self.state.base,
        };
        asked.q.copy_from_slice(&self.state.q);
        asked.v.copy_from_slice(&self.state.v);
        let mut look = || self.measure(t, &asked);
        let mut sensors = Sensors::new(&tree, &mut look);
        let done = law.control().efforts(t, &asked, &mut sensors, demand);
        (self.asked.q, self.asked.v) = (asked.q, asked.v);
        done
    }

    /// What the model's sensors measure at an instant, under what acts then: six numbers each
    /// ([`Sensor::measures`](crate::model::Sensor::measures)).
    pub fn measure(&mut self, t: f64, state: &State) -> Result<Vec<[f64; 6]>> {
        if self.model.sensors().is_empty() {
            return Ok(Vec::new());
        }
        let response = self.response(t, state)?;
        let mut wrenches = response.external;
        if let Some(constrained) = &response.constrained {
            let multipliers = &constrained.multipliers;
            self.add_constraint_wrenches(t, state, multipliers, &mut wrenches)?;
        }
        self.dynamics.measure(state, &response.vdot, &wrenches)
    }

    /// Adds the wrenches of the model's constraints on the bodies.
    fn add_constraint_wrenches(
        &mut self,
        t: f64,
        state: &State,
        multipliers: &[f64],
        wrenches: &mut Vec<Force<f64>>,
    ) -> Result<()> {
        let kinematics = self.dynamics.kinematics(state, &self.still)?;
        let mut rows = Rows::new(&self.model, Axes::Parent);
        rows.evaluate(&self.model, t, &state.q, &state.v, kinematics);
        if rows.residual.len() < multipliers.len() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "sensors cannot be measured under constraints of one's own: what wrenches they exert on the bodies is not known",
            ));
        }
        wrenches.resize(self.model.body_count() + 1, Force::zero());
        rows.add_wrenches(&self.model, kinematics, multipliers, wrenches);
        Ok(())
    }

    /// What the controller or a load complained about, if anything: no shorter step helps.
    pub(crate) fn take_complaint(&mut self) -> Option<Error> {
        self.complaint.take()
    }

    /// Has this freedom an actuator?
    pub(crate) fn drives(&self, freedom: usize) -> bool {
        self.actuated.drives[freedom]
    }

    /// When a sampled controller runs next, s.
    pub(crate) fn next_sampling(&self) -> f64 {
        self.hold.as_ref().map_or(f64::INFINITY, Hold::next_time)
    }

    /// Is the controller sampled?
    pub(crate) fn is_sampled(&self) -> bool {
        self.hold.is_some()
    }

    /// Runs a sampled controller at its next instant, of which y is the state.
    pub(crate) fn sample(&mut self, y: &[f64]) -> Result<()> {
        let t = self.next_sampling();
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.command(t)?;
        if let Some(hold) = &mut self.hold {
            let (actuated, demand) = (&self.actuated, &self.demand);
            hold.take(|command| actuated.limit(demand, command));
        }
        Ok(())
    }

    /// What the controller demands at an instant; what it last demanded, if it is sampled.
    pub(crate) fn demand(&mut self, t: f64, y: &[f64]) -> Result<&[f64]> {
        if self.hold.is_none() {
            let (nq, nv) = (self.model.nq(), self.model.nv());
            self.load(t, &y[..nq], &y[nq..nq + nv]);
            self.command(t)?;
        }
        Ok(&self.demand)
    }

    /// The command that is held, the demand behind it and the state of the controller, for a checkpoint.
    pub(crate) fn control_checkpoint(&self) -> Vec<u64> {
        let saved = match &self.inputs.controller {
            Controller::Own(law) => law.save(),
            _ => Some(Vec::new()),
        };
        let mut words = match &saved {
            None => vec![0, 0],
            Some(numbers) => vec![1, numbers.len() as u64],
        };
        words.extend(saved.into_iter().flatten().map(f64::to_bits));
        if let Some(hold) = &self.hold {
            words.extend(self.demand.iter().map(|x| x.to_bits()));
            words.extend(hold.checkpoint());
        }
        words
    }

    /// Takes up what [`control_checkpoint`](Self::control_checkpoint) gave; the rest of the words goes out.
    pub(crate) fn restore_control<'a>(&mut self, words: &'a [u64]) -> Result<&'a [u64]> {
        let foreign = || {
            Error::new(
                ErrorKind::Input,
                "the checkpoint does not belong to this run",
            )
        };
        let [is_saved, count, rest @ ..] = words else {
            return Err(foreign());
        };
        if *is_saved == 0 {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the run cannot be resumed: its controller keeps a state that was not saved",
            )
            .hint("start the run anew, or let the controller save its state"));
        }
        let (saved, mut rest) = rest.split_at_checked(*count as usize).ok_or_else(foreign)?;
        if let Controller::Own(law) = &mut self.inputs.controller {
            let saved: Vec<f64> = saved.iter().map(|word| f64::from_bits(*word)).collect();
            law.control().restore(&saved)?;
        }
        if let Some(hold) = &mut self.hold {
            let (demand, after) = rest
                .split_at_checked(self.demand.len())
                .ok_or_else(foreign)?;
            for (x, word) in self.demand.iter_mut().zip(demand) {
                *x = f64::from_bits(*word);
            }
            rest = hold.restore(after).ok_or_else(foreign)?;
        }
        Ok(rest)
    }

    /// Accelerations from the current efforts and friction, by the recursions.
    fn forward(&mut self, t: f64, vdot: &mut [f64]) -> Result<()> {
        let is_plain = self.equations.is_none() && self.closing.is_none();
        if is_plain && self.friction.freedoms.is_empty() && self.cushions.is_empty() {
            let Self {
                dynamics,
                state,
                tau,
                external,
                ..
            } = self;
            vdot.copy_from_slice(dynamics.forward(state, tau, external)?);
            return Ok(());
        }
        self.resist();
        let (tau, external) = (&self.resisted, &self.external);
        match &mut self.closing {
            Some(closing) => closing.accelerate(t, &mut self.state, tau, external, vdot),
            None => {
                let found = self.dynamics.forward(&self.state, tau, external)?;
                vdot.copy_from_slice(found);
                Ok(())
            }
        }
    }

    /// Efforts with those of dry friction and soft stops.
    fn resist(&mut self) {
        self.resisted.copy_from_slice(&self.tau);
        for (&k, effort) in self.friction.freedoms.iter().zip(&self.friction.efforts) {
            self.resisted[k] += effort;
        }
        for cushion in &self.cushions {
            self.resisted[cushion.freedom] += cushion.effort(&self.state.q, &self.state.v);
        }
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

    /// Leaves of the difference between other velocities and those of a state what lasts: where violations of the constraints decay, the part
    /// that keeps them.
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

    /// Power of efforts, external wrenches and the base, and power lost to damping and friction.
    fn powers(&mut self, vdot: &[f64]) -> Result<[f64; 2]> {
        let mut powers = self.tree_powers(vdot)?;
        if let Some(closing) = &self.closing {
            powers[0] += closing.power(&self.state.v);
        }
        Ok(powers)
    }

    /// Power of efforts, external wrenches and the base without that of constraints, and dissipated power.
    fn tree_powers(&mut self, vdot: &[f64]) -> Result<[f64; 2]> {
        let state = &self.state;
        let mut work: f64 = self.tau.iter().zip(&state.v).map(|(tau, v)| tau * v).sum();
        if !self.external.is_empty() {
            let kinematics = self.dynamics.kinematics(state, &self.still)?;
            let pairs = self.external.iter().zip(&kinematics.velocity);
            // wrenches on the base itself have no effect
            work += pairs.skip(1).map(|(f, v)| f.dot(*v)).sum::<f64>();
        }
        if !self.inputs.base.is_fixed() {
            self.dynamics.inverse(state, vdot, &self.external)?;
            let rotation = state.base.pose.rotation;
            let twist = Motion::new(
                rotation.transpose_times(state.base.velocity.angular),
                rotation.transpose_times(state.base.velocity.linear),
            );
            work += self.dynamics.joint_wrench(0)?.dot(twist);
        }
        let mut lost = 0.0;
        if !self.model.forces().is_empty() {
            let [brought_in, dissipated] = self.dynamics.force_powers(state)?;
            work += brought_in;
            lost += dissipated;
        }
        let model = self.dynamics.model();
        lost += (0..model.nv())
            .map(|k| passive::dissipative_force(model, &state.v, k) * state.v[k])
            .sum::<f64>();
        for (&k, effort) in self.friction.freedoms.iter().zip(&self.friction.efforts) {
            lost -= effort * state.v[k];
        }
        let cushions = self.cushions.iter();
        lost += cushions
            .map(|cushion| cushion.lost(&state.q, &state.v))
            .sum::<f64>();
        Ok([work, lost])
    }

    fn event_values(&mut self, t: f64, q: &[f64], v: &[f64], values: &mut [f64]) {
        self.load(t, q, v);
        let (own, followed) = values.split_at_mut(self.events.len());
        for (event, value) in self.events.iter().zip(own) {
            *value = match event {
                EventFunction::Position {
                    coordinate, value, ..
                } => q[*coordinate] - value,
                EventFunction::Plane {
                    frame,
                    normal,
                    offset,
                    ..
                } => {
                    let frame = &self.model.tree().frames[*frame];
                    match self.dynamics.frame_pose(&self.state, frame) {
                        Ok(pose) => distance(*normal, *offset, pose.translation),
                        Err(_) => f64::NAN,
                    }
                }
                EventFunction::Function { function, .. } => (function.0)(t, &self.state),
            };
        }
        if followed.is_empty() {
            return;
        }
        let (friction, limits) = followed.split_at_mut(self.friction.freedoms.len());
        let (gates, cushions) = limits.split_at_mut(self.gates.len());
        for (gate, value) in self.gates.iter().zip(gates) {
            let rests = self.friction.touches[gate.index] == gate.touch();
            *value = match rests {
                true => 1.0,
                false => gate.distance(q) + gate.slack,
            };
        }
        for (cushion, values) in self.cushions.iter().zip(cushions.chunks_exact_mut(2)) {
            values.copy_from_slice(&cushion.watch(q, v));
        }
        let spare = if self.friction.holds() {
            let mut vdot = std::mem::take(&mut self.vdot);
            let spare = self
                .accelerate(t, &mut vdot)
                .and_then(|()| self.spare_of_held(t));
            self.vdot = vdot;
            spare.ok()
        } else {
            None
        };
        for (j, value) in friction.iter_mut().enumerate() {
            let k = self.friction.freedoms[j];
            *value = match self.friction.modes[j] {
                Mode::Slips(s) => s * v[k],
                Mode::Held => spare.as_ref().map_or(f64::NAN, |spare| spare[j]),
                Mode::BySign | Mode::Free => 1.0,
            };
        }
    }

    /// Remaining reserve of the holding friction of each freedom, after an evaluation at the state loaded. Where holding efforts are not
    /// unique, the same fraction of each level is left.
    fn spare_of_held(&mut self, t: f64) -> Result<Vec<f64>> {
        let all = 0..self.friction.freedoms.len();
        if self.friction.unique {
            return Ok(all.map(|j| self.friction.spare(j)).collect());
        }
        self.prepare_friction(t)?;
        let spare = 1.0 - self.friction.load_factor()?;
        let size = |j: usize| match self.friction.levels[j] > 0.0 {
            true => self.friction.levels[j],
            false => 1.0,
        };
        Ok(all.map(|j| spare * size(j)).collect())
    }

    /// The freedoms with dry friction or a rigid stop.
    pub(crate) fn friction_dofs(&self) -> impl Iterator<Item = &DofInfo> {
        let dofs = &self.model.tree().dofs;
        self.friction.freedoms.iter().map(|&k| &dofs[k])
    }

    /// For each side of a soft stop its freedom, and whether it is the lower one.
    pub(crate) fn cushion_dofs(&self) -> impl Iterator<Item = (&DofInfo, bool)> {
        let dofs = &self.model.tree().dofs;
        self.cushions
            .iter()
            .map(|cushion| (&dofs[cushion.freedom], cushion.is_lower()))
    }

    /// Is each side of a soft stop touched?
    pub(crate) fn cushions_touched(&self) -> Vec<bool> {
        let cushions = self.cushions.iter();
        cushions
            .map(|cushion| cushion.press != Press::Open)
            .collect()
    }

    /// What each freedom with dry friction or a rigid stop does.
    pub(crate) fn standings(&self) -> Vec<Standing> {
        let all = 0..self.friction.freedoms.len();
        all.map(|j| self.friction.standing(j)).collect()
    }

    /// What they do now that they did not do before.
    pub(super) fn changes_since(&self, before: &[Standing]) -> Vec<Change> {
        let pairs = before.iter().copied().zip(self.standings()).enumerate();
        pairs
            .filter(|(_, (before, after))| before != after)
            .map(|(index, (before, after))| Change {
                index,
                before,
                after,
            })
            .collect()
    }

    /// Modes and touches of all freedoms with dry friction or a rigid stop, and modes of soft stops, as words of a checkpoint.
    pub(crate) fn modes_checkpoint(&self) -> Vec<u64> {
        let modes = self.friction.modes.iter().zip(&self.friction.touches);
        let words = modes.flat_map(|(mode, touch)| [mode.to_word(), touch.to_word()]);
        let cushions = self.cushions.iter();
        words
            .chain(cushions.map(|cushion| cushion.press.to_word()))
            .collect()
    }

    /// Takes up what [`modes_checkpoint`](Self::modes_checkpoint) gave; the rest of the words goes out.
    pub(crate) fn restore_modes<'a>(&mut self, words: &'a [u64]) -> Option<&'a [u64]> {
        let friction = &mut self.friction;
        let (modes, rest) = words.split_at_checked(2 * friction.modes.len())?;
        let (presses, rest) = rest.split_at_checked(self.cushions.len())?;
        for (j, pair) in modes.chunks_exact(2).enumerate() {
            friction.modes[j] = Mode::from_word(pair[0])?;
            friction.touches[j] = Touch::from_word(pair[1])?;
        }
        for (cushion, word) in self.cushions.iter_mut().zip(presses) {
            cushion.press = Press::from_word(*word)?;
        }
        Some(rest)
    }

    /// What earlier states decided about the rank of the constraints, as words of a checkpoint; their number first.
    pub(crate) fn rank_checkpoint(&self) -> Vec<u64> {
        let words = self
            .closing
            .as_ref()
            .map_or(Vec::new(), Closing::checkpoint);
        std::iter::once(words.len() as u64).chain(words).collect()
    }

    /// What the event of this index is about, counted after those of the event functions.
    pub(crate) fn cause(&self, index: usize) -> Cause {
        let (modes, gates) = (self.friction.freedoms.len(), self.gates.len());
        if index < modes {
            Cause::Mode(index)
        } else if index < modes + gates {
            Cause::Limit
        } else {
            let index = index - modes - gates;
            Cause::Cushion(index / 2, index % 2)
        }
    }

    /// Lets a soft stop go to its next mode. Is it touched now, and was it before?
    pub(crate) fn change_cushion(&mut self, index: usize, which: usize, y: &[f64]) -> [bool; 2] {
        let cushion = &mut self.cushions[index];
        let was = cushion.press != Press::Open;
        cushion.change(which, &y[..self.model.nq()]);
        [cushion.press != Press::Open, was]
    }

    /// Speed of a freedom with a soft stop.
    pub(crate) fn cushion_speed(&self, index: usize, y: &[f64]) -> f64 {
        y[self.model.nq() + self.cushions[index].freedom].abs()
    }

    /// Energy in the springs of soft stops, J.
    pub(crate) fn stored(&self, state: &State) -> f64 {
        let cushions = self.cushions.iter();
        cushions.map(|cushion| cushion.stored(&state.q)).sum()
    }

    /// Stiffness and damping of the soft stop that presses on a freedom now.
    pub(crate) fn cushion_slopes(&self, freedom: usize) -> [f64; 2] {
        let presses = |c: &&Cushion| c.freedom == freedom && c.press == Press::Pressed;
        let pressed = self.cushions.iter().find(presses);
        pressed.map_or([0.0; 2], |cushion| [cushion.stiffness, cushion.damping])
    }

    /// Rigid stops need a start within their limits, up to round-off, which is removed.
    fn start_within_limits(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let slack = BEYOND * stops::slack(self.closing.is_some());
        for stop in self.inputs.stops.clone() {
            stop.check_start(&self.model, &y[..nq], slack)?;
            let locked = stop.limits.0 == stop.limits.1;
            let index = self
                .friction
                .freedoms
                .iter()
                .position(|&k| k == stop.freedom);
            let Some(j) = index.filter(|_| locked) else {
                continue;
            };
            if y[nq + stop.freedom] != 0.0 {
                let name = &self.model.tree().dofs[stop.freedom].name;
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("joint `{name}` moves at the start, but its limits are one position"),
                ));
            }
            self.friction.modes[j] = Mode::Held;
            self.friction.touches[j] = Touch::Both;
        }
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let outside = |gate: &Gate| gate.distance(&y[..nq]) < 0.0;
        let gates: Vec<Gate> = self.gates.iter().copied().filter(outside).collect();
        if !gates.is_empty() {
            self.prepare_response(t)?;
        }
        for gate in &gates {
            self.place_on(gate)?;
        }
        y[..nq].copy_from_slice(&self.state.q);
        for cushion in &mut self.cushions {
            cushion.begin(&y[..nq], &y[nq..nq + nv]);
        }
        Ok(())
    }

    /// Continues to hold the freedoms that the modes of a checkpoint hold, at its state.
    pub(crate) fn restore_holding(
        &mut self,
        t: f64,
        y: &[f64],
        ranks: Option<&[u64]>,
    ) -> Result<()> {
        if self.closing.is_none() || !self.followed {
            return Ok(());
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.hold_by_modes(t)?;
        if let (Some(closing), Some(words)) = (&mut self.closing, ranks) {
            closing.restore(words).ok_or_else(|| {
                Error::new(
                    ErrorKind::Input,
                    "the checkpoint does not belong to this run",
                )
            })?;
        }
        self.prepare_friction(t)?;
        self.friction.count_ways();
        Ok(())
    }

    /// From now on dry friction has modes, beginning with this state; velocities that are exactly zero stay so where friction
    /// holds. The caller must call [`choose_modes`](Self::choose_modes) at the friction's events.
    pub(crate) fn follow_friction(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        self.followed = true;
        let nothing = self.friction.freedoms.is_empty() && self.cushions.is_empty();
        if self.closing.is_some() && nothing {
            return Ok(());
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let rests: Vec<bool> = (0..nv).map(|k| y[nq + k] == 0.0).collect();
        if self.closing.is_some() {
            System::project(self, t, y);
        }
        if let Some(closing) = &mut self.closing {
            closing.check()?;
        }
        self.start_within_limits(t, y)?;
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            if self.friction.touches[j] == Touch::Both {
                continue;
            }
            let v = y[nq + k];
            self.friction.modes[j] = match self.friction.levels[j] > 0.0 {
                true if rests[k] => Mode::Held,
                true => Mode::Slips(v.signum()),
                false => Mode::Free,
            };
        }
        self.choose_modes(t, y, None)?;
        if self.has_no_modes() {
            // what is wrong with the start is told before the integrator begins
            self.load(t, &y[..nq], &y[nq..nq + nv]);
            let mut vdot = vec![0.0; nv];
            self.accelerate(t, &mut vdot)?;
        }
        Ok(())
    }

    /// Is there nothing that slips, is held or is stopped, in a tree?
    fn has_no_modes(&self) -> bool {
        self.friction.freedoms.is_empty() && self.closing.is_none()
    }

    /// Chooses modes again at an event. `stopped` is the freedom whose velocity has become zero, if it is that event; others
    /// that come to rest within the resolution of time stop with it, and so do those that constraints fix to freedoms at rest.
    /// Returns the changes.
    pub(crate) fn choose_modes(
        &mut self,
        t: f64,
        y: &mut [f64],
        stopped: Option<usize>,
    ) -> Result<Vec<Change>> {
        if self.has_no_modes() {
            return Ok(Vec::new());
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let before = self.standings();
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let mut vdot = vec![0.0; nv];
        self.accelerate(t, &mut vdot)?;
        self.come_to_limits(t, y, &vdot);
        let resolution = 8.0 * (t.abs().next_up() - t.abs());
        let mut resting = Vec::new();
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            let v = &mut y[nq + k];
            let at_rest = match self.friction.modes[j] {
                Mode::Held => true,
                Mode::Slips(s) => {
                    *v == 0.0 || stopped == Some(j) || s * *v <= vdot[k].abs() * resolution
                }
                Mode::BySign | Mode::Free => false,
            };
            if at_rest {
                *v = 0.0;
                self.state.v[k] = 0.0;
                // friction is switched off, for the accelerations without it
                self.friction.modes[j] = Mode::Held;
                resting.push(j);
            }
        }
        if resting.is_empty() {
            return Ok(Vec::new());
        }
        if self.closing.is_some() {
            self.come_to_rest_together(t, &mut resting)?;
        }
        let released = stopped.filter(|&j| before[j] != Standing::Moves);
        self.choose_for(t, &resting, released, &mut vdot)?;
        if self.closing.is_some() {
            self.hold_by_modes(t)?;
            y[nq..nq + nv].copy_from_slice(&self.state.v);
        }
        Ok(self.changes_since(&before))
    }

    /// Freedoms at rest at a limit touch it: they are held, until it is known whether they leave it.
    fn come_to_limits(&mut self, t: f64, y: &mut [f64], vdot: &[f64]) {
        let nq = self.model.nq();
        let fastest = self.state.v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let noise = match self.closing {
            Some(_) => 1e-13 * fastest,
            None => 0.0,
        };
        let resolution = 8.0 * (t.abs().next_up() - t.abs());
        for g in 0..self.gates.len() {
            let gate = self.gates[g];
            let (j, k) = (gate.index, gate.freedom);
            let is_slow = y[nq + k].abs() <= noise.max(vdot[k].abs() * resolution)
                || self.friction.modes[j] == Mode::Held;
            if self.friction.touches[j] == Touch::None && is_slow && self.is_at(&gate, t) {
                self.friction.modes[j] = Mode::Held;
                self.friction.touches[j] = gate.touch();
                if self.closing.is_none() {
                    y[gate.coordinate] = gate.limit;
                    self.state.q[gate.coordinate] = gate.limit;
                }
            }
        }
    }

    /// Lets the freedoms at rest, with their velocities zero and neither pushed nor held by friction, choose their modes.
    fn choose_for(
        &mut self,
        t: f64,
        resting: &[usize],
        released: Option<usize>,
        vdot: &mut [f64],
    ) -> Result<()> {
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        self.resist();
        let Some(closing) = &mut self.closing else {
            self.forward(t, vdot)?;
            let dynamics = &mut self.dynamics;
            return self
                .friction
                .choose(resting, released, vdot, |x| dynamics.solve(x), None);
        };
        closing.accelerate_free(t, &self.state, &self.resisted, &self.external, vdot)?;
        let freedoms: Vec<usize> = resting.iter().map(|&j| self.friction.freedoms[j]).collect();
        let alone = closing.open_mobility(&self.state, &freedoms)?;
        let respond = |x: &mut [f64]| {
            let (answer, _) = closing.respond(x);
            x.copy_from_slice(answer);
            Ok(())
        };
        self.friction
            .choose(resting, released, vdot, respond, Some(&alone))
    }

    /// The closed chain holds what the modes say, from the state loaded on.
    pub(super) fn hold_by_modes(&mut self, t: f64) -> Result<()> {
        let Some(closing) = &mut self.closing else {
            return Ok(());
        };
        self.held = self.friction.held();
        // in the order of the freedoms
        self.held.sort_by_key(|&j| self.friction.freedoms[j]);
        let freedoms: Vec<usize> = self
            .held
            .iter()
            .map(|&j| self.friction.freedoms[j])
            .collect();
        closing.hold(t, &self.state, &freedoms)
    }

    /// In a closed chain a freedom that comes to rest stops others: velocities are made consistent with `resting` being at rest, and
    /// freedoms that then cannot move are at rest, too.
    fn come_to_rest_together(&mut self, t: f64, resting: &mut Vec<usize>) -> Result<()> {
        self.hold_by_modes(t)?;
        let Some(closing) = &mut self.closing else {
            return Ok(());
        };
        let before = self.state.v.clone();
        if closing.settle_velocities(t, &mut self.state).is_err() {
            // a driver moves a freedom that is at rest at this instant only
            self.state.v = before;
            return Ok(());
        }
        let fixed = closing.fixed_freedoms(t, &self.state)?;
        let fastest = self.state.v.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        for (v, fixed) in self.state.v.iter_mut().zip(&fixed) {
            // others may be moved by drivers
            if *fixed && v.abs() <= 1e-9 * fastest {
                *v = 0.0;
            }
        }
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            let slips = matches!(self.friction.modes[j], Mode::Slips(_));
            if slips && fixed[k] && self.state.v[k] == 0.0 {
                self.friction.modes[j] = Mode::Held;
                resting.push(j);
            }
        }
        Ok(())
    }

    /// The equations of motion in implicit form, see `implicit.rs`.
    pub(crate) fn residual(
        &mut self,
        t: f64,
        y: &[f64],
        ydot: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let (q, v) = (&y[..nq], &y[nq..nq + nv]);
        let vdot = &ydot[nq..nq + nv];
        self.load(t, q, v);
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        position_rates(&self.model, q, v, &mut out[..nq]);
        for (out, rate) in out.iter_mut().zip(&ydot[..nq]) {
            *out = rate - *out;
        }
        let powers = self.powers(vdot)?;
        let efforts = self.dynamics.inverse(&self.state, vdot, &self.external)?;
        for (out, (effort, tau)) in out[nq..].iter_mut().zip(efforts.iter().zip(&self.tau)) {
            *out = effort - tau;
        }
        for cushion in &self.cushions {
            out[nq + cushion.freedom] -= cushion.effort(&self.state.q, &self.state.v);
        }
        let DryFriction {
            freedoms,
            efforts,
            modes,
            ..
        } = &self.friction;
        for ((&k, effort), mode) in freedoms.iter().zip(efforts).zip(modes) {
            match mode {
                Mode::Held => out[nq + k] = vdot[k],
                _ => out[nq + k] -= effort,
            }
        }
        for i in 0..2 {
            out[nq + nv + i] = ydot[nq + nv + i] - powers[i];
        }
        Ok(())
    }

    /// Prepares efforts (with dry friction) and external wrenches at an instant, for equations in other coordinates; the
    /// powers go out, without that of constraints.
    pub(crate) fn act(&mut self, t: f64, y: &[f64], vdot: &[f64]) -> Result<[f64; 2]> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        self.resist();
        if !self.model.forces().is_empty() {
            let mut loads = std::mem::take(&mut self.loads);
            let done = self
                .dynamics
                .loaded(&self.state, &self.external, &mut loads);
            self.loads = loads;
            done?;
        }
        self.tree_powers(vdot)
    }

    /// The result of [`act`](Self::act): the model without dry friction, efforts, wrenches on the bodies and the base's motion.
    pub(crate) fn acting(&self) -> (&Model, &[f64], &[Force<f64>], &Base<f64>) {
        let model = self.dynamics.model();
        let wrenches = match model.forces().is_empty() {
            true => &self.external,
            false => &self.loads,
        };
        (model, &self.resisted, wrenches, &self.state.base)
    }

    /// Which freedoms dry friction holds.
    pub(crate) fn held_freedoms(&self, held: &mut [bool]) {
        held.fill(false);
        for (&k, mode) in self.friction.freedoms.iter().zip(&self.friction.modes) {
            held[k] = *mode == Mode::Held;
        }
    }

    /// −∂(power)/∂v and −∂(power lost)/∂v, without the changes of the forces themselves.
    pub(crate) fn power_slopes(
        &mut self,
        t: f64,
        y: &[f64],
        work: &mut [f64],
        lost: &mut [f64],
    ) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        for k in 0..nv {
            work[k] = -self.tau[k];
            let [_, stopped] = self.cushion_slopes(k);
            let damping = self.model.dofs[k].damping + stopped;
            lost[k] = -2.0 * damping * self.state.v[k];
        }
        for (&k, effort) in self.friction.freedoms.iter().zip(&self.friction.efforts) {
            lost[k] += effort;
        }
        Ok(())
    }

    /// Is there anything that [`overrun`](Self::overrun) could find?
    pub(crate) fn can_overrun(&self) -> bool {
        !self.gates.is_empty() || !self.friction.freedoms.is_empty()
    }

    /// A freedom that was released and came back within a step, or is beyond a limit.
    pub(crate) fn overrun(&self, y: &[f64]) -> Option<Overrun> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        // projections onto constraints leave round-off of the largest velocity
        let noise = match self.closing {
            Some(_) => 1e-13 * y[nq..nq + nv].iter().fold(0.0f64, |m, v| m.max(v.abs())),
            None => 0.0,
        };
        let mut gates = self.gates.iter();
        let is_beyond = |gate: &Gate| {
            self.friction.touches[gate.index] == Touch::None
                && gate.distance(&y[..nq]) < -BEYOND * gate.slack
        };
        if gates.any(is_beyond) {
            return Some(Overrun::Beyond);
        }
        let freedoms = self.friction.freedoms.iter().zip(&self.friction.modes);
        freedoms
            .enumerate()
            .find(|(_, (k, mode))| matches!(mode, Mode::Slips(s) if s * y[nq + **k] < -noise))
            .map(|(j, _)| Overrun::Turned(j))
    }

    /// Holds a freedom unconditionally, and those that constraints fix to it.
    pub(crate) fn force_hold(&mut self, t: f64, index: usize, y: &mut [f64]) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.friction.modes[index] = Mode::Held;
        y[nq + self.friction.freedoms[index]] = 0.0;
        if self.closing.is_some() {
            self.load(t, &y[..nq], &y[nq..nq + nv]);
            let mut resting = self.friction.held();
            self.come_to_rest_together(t, &mut resting)?;
            y[nq..nq + nv].copy_from_slice(&self.state.v);
            self.restore_holding(t, y, None)?;
        }
        Ok(())
    }

    /// Does the holding effort of a freedom exceed its friction?
    pub(crate) fn overheld(&mut self, t: f64, y: &[f64]) -> Result<bool> {
        if !self.friction.holds() {
            return Ok(false);
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let mut vdot = std::mem::take(&mut self.vdot);
        let spare = self
            .accelerate(t, &mut vdot)
            .and_then(|()| self.spare_of_held(t));
        self.vdot = vdot;
        let spare = spare?;
        let friction = &self.friction;
        let largest = friction.efforts.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let size = |j: usize| match friction.levels[j] > 0.0 {
            true => friction.levels[j],
            false => largest,
        };
        Ok((0..friction.modes.len())
            .any(|j| friction.modes[j] == Mode::Held && spare[j] < -1e-9 * size(j)))
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

/// normal · p − offset. What is below the round-off of its own terms is zero: a motion within the plane crosses it nowhere.
fn distance(normal: [f64; 3], offset: f64, p: Vec3<f64>) -> f64 {
    // in a unit that lets products with the normal neither overflow nor vanish
    let (normal, unit) = Vec3::from_array(normal).scaled();
    let offset = offset / unit;
    let distance = normal.dot(p) - offset;
    match distance.abs() <= 8.0 * f64::EPSILON * (normal.norm() * p.norm() + offset.abs()) {
        true => 0.0,
        false => distance,
    }
}

fn normalise(quaternions: &[usize], q: &mut [f64]) {
    for &k in quaternions {
        let p = &mut q[k..k + 4];
        let scale = 1.0 / p.iter().map(|x| x * x).sum::<f64>().sqrt();
        p.iter_mut().for_each(|x| *x *= scale);
    }
}
