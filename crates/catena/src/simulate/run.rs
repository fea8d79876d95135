//! One run: an integrator advances a [`TreeSystem`], samples are returned at equal intervals, and audited.

mod checkpoint;
mod happenings;
mod verification;

use super::audit::{Audit, Auditor, Errors, Halved, Observation};
use super::base_motion::{PrescribedBase, RestingBase};
use super::closing::Drift;
use super::control::ActuatorUse;
use super::engine::Engine;
use super::equations::EquationsOfMotion;
use super::inputs::Inputs;
use super::options::{Integrator, SimulationOptions, check};
use super::stiffness::fastest_damping;
use super::tree_system::{Cause, Constrained, EventFunction, Response, TreeSystem};
use crate::doors::native::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{Statistics, examined};
use crate::model::Model;
use crate::residual::difference;
use crate::spatial::{Force, Motion};
use crate::state::{Base, State};
pub use happenings::Happened;
use happenings::{KINDS, Record, STRIKES};
pub use verification::verified_error;

/// A sample of the motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Time, s.
    pub time: f64,
    /// Positions, velocities, base.
    pub state: State,
    /// Efforts.
    pub tau: Vec<f64>,
    /// Accelerations.
    pub vdot: Vec<f64>,
    /// Efforts of dry friction, including holding efforts; zero where there is none.
    pub friction: Vec<f64>,
    /// Efforts of stops; zero where there are none.
    pub stops: Vec<f64>,
    /// Kinetic, gravitational and elastic energy, J; that of soft stops is elastic.
    pub energies: [f64; 3],
    /// Work done by efforts, external wrenches and a moving base so far, J.
    pub work: f64,
    /// Energy lost to damping, friction and stops so far, J.
    pub dissipated: f64,
    /// Residuals of energy balance, inverse dynamics and momentum balance.
    pub errors: Errors,
    /// Wrenches on the bodies 0…n by inputs, in body axes about the bodies' origins; empty if there are none.
    pub external: Vec<Force<f64>>,
    /// Forces and violations of the constraints, if any.
    pub constrained: Option<Constrained>,
}

/// A run in progress.
pub struct Simulation {
    system: TreeSystem,
    engine: Engine,
    options: SimulationOptions,
    auditor: Auditor,
    /// Samples returned so far, and the index of the last one.
    samples: u64,
    last_sample: u64,
    /// Events so far, and their times: indices of the event functions, then [`KINDS`] for each freedom with dry friction or a
    /// rigid stop and for each side of a soft stop.
    happened: Vec<(usize, f64)>,
    /// Records of each freedom with dry friction or a rigid stop, then of each side of a soft stop.
    records: Vec<Record>,
    /// Names of the events that end the run, and the time at which one of them has.
    ends: Vec<String>,
    ended: Option<f64>,
    /// How the actuators are used.
    uses: Vec<ActuatorUse>,
    /// Steps tried before the current stretch, and the time at which it began: to detect a run without progress.
    stretch: (u64, f64),
    compiled: bool,
    drift: Drift,
    start_moved: [f64; 2],
    y: Vec<f64>,
    /// Cost of the motion, if computed elsewhere.
    taken_over: Option<Statistics>,
}

impl Simulation {
    /// Sets up a run from a state at time 0.
    ///
    /// The base moves as the inputs prescribe. Without a prescription it is at rest in the pose of the state; a state with a moving base
    /// is rejected, since it gives only the beginning of that motion.
    ///
    /// A run of a model with couplings has all coordinates of the tree, and its inputs act on them; the state may be given in
    /// independent coordinates.
    pub fn new(
        model: &Model,
        initial: &State,
        inputs: Inputs,
        events: Vec<EventFunction>,
        options: SimulationOptions,
    ) -> Result<Self> {
        Simulation::with_closing(model, initial, inputs, events, options, Drift::default())
    }

    /// Sets up a run with a choice of how loops are kept closed.
    pub fn with_closing(
        model: &Model,
        initial: &State,
        inputs: Inputs,
        events: Vec<EventFunction>,
        options: SimulationOptions,
        drift: Drift,
    ) -> Result<Self> {
        Simulation::with_compiler(model, initial, inputs, events, options, drift, None)
    }

    /// Sets up a run with code that a compiler generates for the model, where the method is explicit and the compiler supports the model: see
    /// [`TreeSystem::compile`] and [`is_compiled`](Self::is_compiled). The audit uses the general recursions in any
    /// case.
    pub fn with_compiler(
        model: &Model,
        initial: &State,
        inputs: Inputs,
        events: Vec<EventFunction>,
        options: SimulationOptions,
        drift: Drift,
        compiler: Option<Compiler>,
    ) -> Result<Self> {
        let explicit = !matches!(options.integrator, Integrator::Bdf { .. });
        let choose = |system: &mut TreeSystem| match compiler {
            Some(compiler) if explicit => match system.compile(compiler) {
                Ok(compiled) => Ok(compiled),
                Err(error) if error.kind() == ErrorKind::Unsupported => Ok(false),
                Err(error) => Err(error),
            },
            _ => Ok(false),
        };
        Simulation::set_up(model, initial, inputs, events, options, drift, choose)
    }

    /// Sets up a run whose accelerations come from other equations of motion, by an explicit method: see
    /// [`TreeSystem::choose_equations`].
    pub fn with_equations(
        model: &Model,
        initial: &State,
        inputs: Inputs,
        events: Vec<EventFunction>,
        options: SimulationOptions,
        drift: Drift,
        equations: Box<dyn EquationsOfMotion>,
    ) -> Result<Self> {
        if matches!(options.integrator, Integrator::Bdf { .. }) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "implicit methods have equations of motion of their own",
            )
            .hint("choose an explicit method, for instance dop853"));
        }
        let choose = |system: &mut TreeSystem| {
            system.choose_equations(equations)?;
            Ok(false)
        };
        Simulation::set_up(model, initial, inputs, events, options, drift, choose)
    }

    /// `choose` sets the source of accelerations, and says whether that is code generated for the model.
    fn set_up(
        model: &Model,
        initial: &State,
        mut inputs: Inputs,
        events: Vec<EventFunction>,
        options: SimulationOptions,
        drift: Drift,
        choose: impl FnOnce(&mut TreeSystem) -> Result<bool>,
    ) -> Result<Self> {
        check(&options)?;
        inputs.base.check(options.duration)?;
        place_base(&initial.base, &mut inputs)?;
        let whole = model.clone().with_couplings_as_constraints();
        let initial = match initial.q.len() == whole.nq() {
            true => State::new(&whole, &initial.q, &initial.v)?,
            false => State::new(model, &initial.q, &initial.v)?.of_tree(model),
        };
        let model = &whole;
        let mut system = TreeSystem::with_constraints(model, inputs, events, Vec::new(), drift)?;
        let compiled = choose(&mut system)?;
        system.set_sample_interval(options.interval);
        let mut y = system.pack(&initial);
        // controllers, friction, the integrator and the first sample all start from the closed state
        system.close(0.0, &mut y)?;
        let actuators = system.inputs().actuators.iter().flatten();
        let uses = actuators.map(ActuatorUse::new).collect();
        if system.is_sampled() {
            system.sample(&y)?;
        }
        let rests: Vec<bool> = initial.v.iter().map(|v| *v == 0.0).collect();
        system.follow_friction(0.0, &mut y, &rests)?;
        let mut engine = Engine::new(options.integrator, &mut system, &y)?;
        let mut start = y.clone();
        engine.interpolate(&mut system, 0.0, &mut start)?;
        let start = system.unpack(0.0, &start);
        let start_moved = [
            difference(&start.q, &initial.q),
            difference(&start.v, &initial.v),
        ];
        let mut simulation = Simulation {
            auditor: Auditor::new(
                model,
                system.inputs().keep_momentum(model),
                options.integrator.resolved(),
                options.integrator.fixed_order(),
            ),
            records: Record::at_start(&system),
            system,
            engine,
            last_sample: last_sample(&options),
            options,
            samples: 0,
            happened: Vec::new(),
            ends: Vec::new(),
            ended: None,
            uses,
            stretch: (0, 0.0),
            compiled,
            drift,
            start_moved,
            y,
            taken_over: None,
        };
        simulation.look_at_actuators(0.0)?;
        Ok(simulation)
    }

    /// How the actuators of the inputs have been used so far.
    pub fn actuator_uses(&self) -> &[ActuatorUse] {
        &self.uses
    }

    /// Change of the given state by projection onto its constraints before the run: the largest change of a position and of a
    /// velocity. Violations of more than 1e-6 are rejected.
    pub fn start_moved(&self) -> [f64; 2] {
        self.start_moved
    }

    /// Do accelerations come from code generated for the model?
    pub fn is_compiled(&self) -> bool {
        self.compiled
    }

    /// Time reached, s.
    pub fn time(&self) -> f64 {
        self.ended.unwrap_or_else(|| self.engine.time())
    }

    /// The state at the time reached.
    pub fn state(&self) -> State {
        self.system.unpack(self.time(), &self.y)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.system.model()
    }

    /// Samples returned so far.
    pub fn sample_count(&self) -> u64 {
        self.samples
    }

    /// Do samples contain errors of the momentum?
    pub fn knows_momentum(&self) -> bool {
        self.auditor.knows_momentum()
    }

    /// The options of the simulation.
    pub(crate) fn parts(&self) -> (&TreeSystem, &SimulationOptions, &[f64]) {
        (&self.system, &self.options, &self.y)
    }

    /// Completes a run that has not begun with the motion (q, v, W and D) that its integrator would have found at the times of its
    /// samples. Everything else, including the audit, is as if it had; `phases` holds the sums that the auditor would have formed over
    /// fixed steps.
    pub(crate) fn take_over(
        &mut self,
        records: &[f64],
        statistics: Statistics,
        phases: &[f64],
        samples: &mut Vec<Sample>,
    ) -> Result<()> {
        let weights = (1..=statistics.steps).filter_map(examined);
        self.auditor.take_steps(phases, weights.sum());
        for (k, y) in records.chunks_exact(self.y.len()).enumerate() {
            let t = self.sample_time(k as u64);
            self.emit(t, y, samples)?;
            self.y.copy_from_slice(y);
        }
        self.taken_over = Some(statistics);
        Ok(())
    }

    /// Computes the samples of a given motion (q, v, W and D at their times) that is not that of the run. The run must not have begun, and is
    /// not changed.
    pub(super) fn look_along(&mut self, motion: &[f64], samples: &mut Vec<Sample>) -> Result<()> {
        let auditor = self.auditor.clone();
        let mut looked = Ok(());
        for (k, y) in motion.chunks_exact(self.y.len()).enumerate() {
            looked = self.emit(self.sample_time(k as u64), y, samples);
            if looked.is_err() {
                break;
            }
        }
        (self.samples, self.auditor) = (0, auditor);
        looked
    }

    /// When samples are taken, s.
    pub(crate) fn sample_times(options: &SimulationOptions) -> Vec<f64> {
        (0..=last_sample(options))
            .map(|k| (k as f64 * options.interval).min(options.duration))
            .collect()
    }

    /// From now on the run ends at the first event with one of these names, as [`events`](Self::events) gives them. Its last sample is
    /// the one at the event, after an impact if it is one.
    ///
    /// A name that no event of this run can have is an error.
    pub fn end_at(&mut self, events: Vec<String>) -> Result<()> {
        let known = self.event_names();
        if let Some(name) = events.iter().find(|name| !known.contains(name)) {
            let hint = match known.is_empty() {
                true => "the run has no events: it watches no function, and has neither dry friction nor stops".into(),
                false => format!("known are {}", known.join(", ")),
            };
            let message = format!("no event that could end the run is called `{name}`");
            return Err(Error::new(ErrorKind::Input, message).hint(hint));
        }
        self.ends = events;
        Ok(())
    }

    /// When an event ended the run, s.
    pub fn ended_at(&self) -> Option<f64> {
        self.ended
    }

    /// Is the end reached and every sample returned?
    pub fn finished(&self) -> bool {
        self.ended.is_some() || self.samples > self.last_sample
    }

    fn sample_time(&self, k: u64) -> f64 {
        (k as f64 * self.options.interval).min(self.options.duration)
    }

    /// Advances by one step of the integrator, or up to a change of dry friction or an event that ends the run, and appends the
    /// samples in it.
    pub fn advance(&mut self, samples: &mut Vec<Sample>) -> Result<()> {
        let before = self.happened.len();
        self.move_on(samples)?;
        let new = self.happened.len().saturating_sub(before);
        if self.ends.is_empty() || new == 0 || self.finished() {
            return Ok(());
        }
        // an action of dry friction or a stop, from which the integrator has started again
        let events = self.events();
        let mut happened = events[events.len() - new..].iter();
        match happened.find(|event| self.ends.contains(&event.name)) {
            Some(event) => self.end(event.time, samples),
            None => Ok(()),
        }
    }

    /// Ends the run at an event within the last step, with a sample there.
    fn end(&mut self, t: f64, samples: &mut Vec<Sample>) -> Result<()> {
        let mut y = std::mem::take(&mut self.y);
        let found = self.engine.interpolate(&mut self.system, t, &mut y);
        self.y = y;
        found?;
        self.look_at_actuators(t)?;
        self.ended = Some(t);
        // a regular sample may have this time already
        match self.samples > 0 && self.sample_time(self.samples - 1) >= t {
            true => Ok(()),
            false => {
                let y = self.y.clone();
                self.emit(t, &y, samples)
            }
        }
    }

    fn move_on(&mut self, samples: &mut Vec<Sample>) -> Result<()> {
        if self.samples == 0 {
            let y = self.y.clone();
            self.emit(0.0, &y, samples)?;
        }
        if self.finished() {
            return Ok(());
        }
        let sampling = self.system.next_sampling();
        let end = self.options.duration;
        let now = self.engine.time();
        if now >= sampling || is_near(now, sampling) {
            // the run stopped here because the controller failed
            let t = if is_near(now, sampling) {
                now
            } else {
                sampling
            };
            self.run_controller(t)?;
            return self.emit_up_to(t, t, samples);
        }
        let step = match self.engine.step(&mut self.system, end.min(sampling)) {
            Ok(step) => step,
            Err(error) => {
                if let Some(complaint) = self.system.take_complaint() {
                    return Err(complaint);
                }
                let component = self.engine.worst_component();
                return Err(explain(error, &self.system, component));
            }
        };
        let own = self.system.event_functions().len();
        // it is not an event when the friction of a held freedom becomes sufficient again
        let is_change = |index: usize, rising: bool| index >= own && !rising;
        // fixed steps may go beyond a sampling instant, or miss it by round-off
        let past = step.t > sampling && !is_near(step.t, sampling);
        let last = if past { sampling } else { step.t };
        let change = step
            .events()
            .iter()
            .find(|event| is_change(event.index, event.rising) && event.time <= last)
            .copied();
        let reached = match change {
            None if self.mend(last, step.size)? => return self.check_progress(step.t_old),
            None => last,
            Some(event) => match self.system.cause(event.index - own) {
                Cause::Limit => self.time_at_limit(event.time)?,
                _ => event.time,
            },
        };
        for event in step.events() {
            if event.index < own && event.time <= reached && event.time <= end {
                self.happened.push((event.index, event.time));
                let name = self.system.event_functions()[event.index].name();
                if self.ends.iter().any(|one| one == name) {
                    self.emit_up_to(event.time, f64::NEG_INFINITY, samples)?;
                    return self.end(event.time, samples);
                }
            }
        }
        let is_sampling = reached >= sampling || is_near(reached, sampling);
        if change.is_none() && !past {
            self.look_at_step();
        }
        // a sample at a sampling instant has the new efforts; one that may be the last follows an impact, which may be found in the next step only
        let may_end = change.is_some() && !self.ends.is_empty();
        let known = match is_sampling {
            true => before(sampling),
            false if may_end || !self.ends.is_empty() && reached < end => before(reached),
            false => reached,
        };
        self.emit_up_to(known.min(reached), f64::NEG_INFINITY, samples)?;
        if let Some(event) = change {
            match self.system.cause(event.index - own) {
                Cause::Mode(index) => self.change_friction(reached, Some(index))?,
                Cause::Limit => self.strike(reached)?,
                Cause::Cushion(index, which) => self.change_cushion(reached, index, which)?,
            }
        } else {
            let mut y = std::mem::take(&mut self.y);
            let found = self.engine.interpolate(&mut self.system, last, &mut y);
            let overheld = found.and_then(|()| self.system.overheld(last, &y));
            self.y = y;
            if overheld? {
                self.change_friction(last, None)?;
            }
        }
        self.look_at_actuators(reached)?;
        if is_sampling {
            self.run_controller(reached)?;
        }
        if is_sampling || may_end {
            self.emit_up_to(reached, reached, samples)?;
        }
        self.check_progress(reached)
    }

    /// Detects a run without progress: too many trial steps up to `reached`. Steps that are truncated or repeated
    /// because of dry friction count like any other.
    fn check_progress(&mut self, reached: f64) -> Result<()> {
        let own = self.system.event_functions().len();
        let recent = self.happened.iter().rev();
        let recent = recent.take_while(|(_, t)| reached - t < 1e-3 * self.options.duration);
        let (mut changes, mut impacts) = (0, 0);
        for &(index, from) in recent.filter(|(index, _)| *index >= own) {
            let kind = (index - own) % KINDS.len();
            let (count, most, what) = match kind < STRIKES {
                true => (&mut changes, MANY_CHANGES, "dry friction stuck and slipped"),
                false => (&mut impacts, MANY_IMPACTS, "stops were struck and left"),
            };
            *count += 1;
            if *count == most {
                return Err(Error::new(
                    ErrorKind::Integration,
                    format!(
                        "the run makes no progress: {what} {most} times from {from} s to {reached:?} s"
                    ),
                )
                .hint("a load changes its sign again and again against friction or a stop: check the controller and loads that depend on velocities"));
            }
        }
        let statistics = self.engine.statistics();
        let tried = statistics.steps + statistics.rejected;
        if tried - self.stretch.0 < STRETCH {
            return Ok(());
        }
        let (_, from) = std::mem::replace(&mut self.stretch, (tried, reached));
        let fixed = matches!(self.engine, Engine::Fixed(_));
        if fixed || reached - from >= 2e-6 * self.options.duration {
            return Ok(());
        }
        let error = |more: &str| {
            Error::new(
                ErrorKind::Integration,
                format!(
                    "the run makes no progress: {STRETCH} trial steps went from {from} s to {reached:?} s{more}"
                ),
            )
        };
        let state = self.system.unpack(reached, &self.y);
        let damping = fastest_damping(self.system.model(), &state).ok().flatten();
        Err(match damping.filter(|damping| damping.is_stiff(self.options.duration)) {
            Some(damping) => error(&format!(
                "; the damping of `{}` has a time constant of {:.1e} s on an inertia of {:.1e} (outboard joints free)",
                damping.name,
                damping.rate.recip(),
                damping.inertia
            ))
            .hint("stiff damping needs an implicit method (`--method bdf`)"),
            None => error("")
                .hint("loosen the tolerance, or use a fixed step: the system has a very short time constant"),
        })
    }

    /// Passes some of the fixed steps to the auditor.
    fn look_at_step(&mut self) {
        let Some(weight) = examined(self.engine.statistics().steps) else {
            return;
        };
        if let Some((size, [before, after, twice])) = self.engine.halved(&mut self.system) {
            self.auditor.observe_step(&Halved {
                size,
                before,
                after,
                twice,
                weight,
            });
        }
    }

    /// Runs a sampled controller at a time within the last step, and continues from there with its efforts.
    fn run_controller(&mut self, t: f64) -> Result<()> {
        let mut y = std::mem::take(&mut self.y);
        let mut go = || {
            self.engine.interpolate(&mut self.system, t, &mut y)?;
            self.system.sample(&y)?;
            let changes = self.system.choose_modes(t, &mut y, None)?;
            self.engine
                .restart(&mut self.system, t, &y, f64::INFINITY)?;
            Ok(changes)
        };
        let changes = go();
        self.y = y;
        self.note_changes(t, changes?);
        self.look_at_actuators(t)
    }

    /// Records demand and speed of the actuators at the state in `y`.
    fn look_at_actuators(&mut self, t: f64) -> Result<()> {
        if self.uses.is_empty() {
            return Ok(());
        }
        let nq = self.system.model().nq();
        let is_held = self.system.is_sampled();
        let demand = self.system.demand(t, &self.y)?;
        for used in &mut self.uses {
            let k = used.actuator.freedom;
            used.look(t, demand[k], self.y[nq + k], is_held);
        }
        Ok(())
    }

    /// Appends the samples up to a time; their states are those from `earliest` on, which they may miss by round-off.
    fn emit_up_to(&mut self, reached: f64, earliest: f64, samples: &mut Vec<Sample>) -> Result<()> {
        while !self.finished() && self.sample_time(self.samples) <= reached {
            let time = self.sample_time(self.samples);
            let mut y = std::mem::take(&mut self.y);
            let done = self
                .engine
                .interpolate(&mut self.system, time.max(earliest), &mut y)
                .and_then(|()| self.emit(time, &y, samples));
            self.y = y;
            done?;
        }
        Ok(())
    }

    fn emit(&mut self, time: f64, y: &[f64], samples: &mut Vec<Sample>) -> Result<()> {
        let state = self.system.unpack(time, y);
        let (work, dissipated) = (y[y.len() - 2], y[y.len() - 1]);
        let Response {
            tau,
            friction,
            stops,
            external,
            vdot,
            constrained,
        } = self.system.response(time, &state)?;
        let stored = self.system.stored(&state);
        let resisting: Vec<f64> = friction.iter().zip(&stops).map(|(a, b)| a + b).collect();
        let dynamics = self.system.dynamics();
        let (energies, errors) = self.auditor.observe(
            dynamics,
            &Observation {
                time,
                state: &state,
                tau: &tau,
                friction: &resisting,
                external: &external,
                vdot: &vdot,
                constrained: constrained.as_ref(),
                work,
                dissipated,
                stored,
            },
        )?;
        samples.push(Sample {
            time,
            state,
            tau,
            vdot,
            friction,
            stops,
            energies,
            work,
            dissipated,
            errors,
            external,
            constrained,
        });
        self.samples += 1;
        Ok(())
    }

    /// Ends the run and returns its audit.
    pub fn finish(self) -> Audit {
        let allowed = self.options.integrator.allowed();
        let samples = self.samples;
        let now = match (self.taken_over, self.ended) {
            (None, None) => self.time().min(self.options.duration),
            (_, Some(end)) => end,
            (Some(_), None) => self.options.duration,
        };
        let happened = (self.held(now), self.stopped(now));
        let closed = self.drift.allowed(allowed);
        let statistics = self.taken_over.unwrap_or_else(|| self.engine.statistics());
        self.auditor
            .finish(allowed, closed, statistics, happened, (now, samples))
    }
}

/// Index of the last sample.
fn last_sample(options: &SimulationOptions) -> u64 {
    (options.duration / options.interval * (1.0 - 1e-12)).ceil() as u64
}

/// Are two times equal up to round-off?
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 8.0 * f64::EPSILON * a.abs()
}

/// The latest earlier time that is distinguishable from this one.
fn before(t: f64) -> f64 {
    t - 16.0 * f64::EPSILON * t.abs()
}

/// Places the base as in the initial state, if the inputs do not prescribe its motion.
fn place_base(initial: &Base<f64>, inputs: &mut Inputs) -> Result<()> {
    if initial.is_fixed() {
        return Ok(());
    }
    if !inputs.base.is_fixed() {
        return match *initial == inputs.base.at(0.0) {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Input,
                "the motion of the base is given by the state and by the inputs, and they differ at 0 s",
            )
            .hint("leave it out of the state")),
        };
    }
    if initial.velocity != Motion::zero() || initial.acceleration != Motion::zero() {
        return Err(Error::new(
            ErrorKind::Input,
            "the base of the initial state moves, but its further motion is not given",
        )
        .hint("give the motion of the base among the inputs (`--base`)"));
    }
    inputs.base = PrescribedBase::new(RestingBase(initial.pose));
    Ok(())
}

/// Trial steps considered together to detect a run without progress.
const STRETCH: u64 = 2_000;

/// This many changes of dry friction within a thousandth of a run count as no progress, and this many of stops, whose impacts may accumulate.
const MANY_CHANGES: usize = 1_000;

const MANY_IMPACTS: usize = 100_000;

/// Adds to an integrator's error the name of the coordinate, and the usual causes.
fn explain(error: Error, system: &TreeSystem, component: Option<usize>) -> Error {
    let tree = system.model().tree();
    let Some(k) = component.filter(|_| error.kind() == ErrorKind::Integration) else {
        return error;
    };
    let joint = |body: Option<&crate::model::BodyInfo>| {
        body.map_or(String::new(), |b| format!("`{}`", b.joint))
    };
    let (nq, nv) = (tree.nq, tree.nv);
    let what = if k < nq {
        let body = tree.bodies[1..]
            .iter()
            .find(|b| (b.q..b.q + b.kind.nq()).contains(&k));
        format!("the position of joint {}", joint(body))
    } else if k < nq + nv {
        format!("the velocity of `{}`", tree.dofs[k - nq].name)
    } else {
        "the energy balance".to_string()
    };
    let advice = error.advice().unwrap_or_default().to_string();
    Error::new(
        ErrorKind::Integration,
        format!("{}; the error is largest in {what}", error.message()),
    )
    .hint(format!(
        "{advice}{}stiff springs or damping and very light bodies need small steps",
        if advice.is_empty() { "" } else { "; " }
    ))
}
