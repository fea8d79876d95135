//! One run: an integrator moves a [`TreeSystem`], samples go out at equal intervals, an audit is kept.

use super::audit::{Audit, Auditor, Observation};
use super::inputs::{Controller, Inputs};
use super::tree_system::{EventFunction, Response, TreeSystem};
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{self, Adaptive, Fixed, FixedMethod, Method, Tolerances};
use crate::model::Model;
use crate::state::State;

/// How time is stepped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Integrator {
    /// Steps chosen to keep the tolerances.
    Adaptive {
        /// Runge–Kutta pair.
        method: Method,
        /// What to keep.
        tolerances: Tolerances,
        /// No step is longer than this, s.
        max_step: f64,
    },
    /// Steps of equal size.
    Fixed {
        /// Method.
        method: FixedMethod,
        /// Size of a step, s.
        step: f64,
    },
}

/// What to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How time is stepped.
    pub integrator: Integrator,
    /// Duration, s.
    pub duration: f64,
    /// Time between samples, s.
    pub interval: f64,
}

impl Default for Options {
    /// Ten seconds at a relative tolerance of 1e-8, a hundred samples a second.
    fn default() -> Self {
        Options {
            integrator: Integrator::Adaptive {
                method: Method::Dop853,
                tolerances: Tolerances {
                    relative: 1e-8,
                    absolute: 1e-10,
                },
                max_step: f64::INFINITY,
            },
            duration: 10.0,
            interval: 0.01,
        }
    }
}

/// What goes out at an instant.
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
    /// Kinetic, gravitational and elastic energy, J.
    pub energies: [f64; 3],
    /// Work done by efforts and external wrenches so far, J.
    pub work: f64,
    /// Energy lost to damping and friction so far, J.
    pub dissipated: f64,
}

/// An event that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// Name of the event function.
    pub name: String,
    /// When, s.
    pub time: f64,
}

enum Engine {
    Adaptive(Box<Adaptive>),
    Fixed {
        engine: Box<Fixed>,
        /// Steps between samples.
        every: u64,
        done: u64,
        /// Work and dissipation so far, and their powers at the last step: integrated by the trapezoidal rule.
        work: [f64; 2],
        power: [f64; 2],
    },
}

/// A run in progress.
pub struct Simulation {
    system: TreeSystem,
    engine: Engine,
    options: Options,
    auditor: Auditor,
    /// Samples that have gone out.
    samples: u64,
    /// Events that have happened: index of the event function, and when.
    happened: Vec<(usize, f64)>,
    /// Steps tried before the present stretch, and the time it began: to notice a run that goes nowhere.
    stretch: (u64, f64),
    y: Vec<f64>,
}

impl Simulation {
    /// Sets up a run from a state at time 0.
    pub fn new(
        model: &Model,
        initial: &State,
        inputs: Inputs,
        events: Vec<EventFunction>,
        options: Options,
    ) -> Result<Self> {
        check(&options)?;
        let initial = State {
            base: initial.base,
            ..State::new(model, &initial.q, &initial.v)?
        };
        if initial.base != crate::state::Base::fixed() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the base of a simulation must be at rest in the world's frame",
            )
            .hint("make the base a body on a free or prismatic joint and drive it"));
        }
        let driven = !inputs.wrenches.is_empty();
        let mut system = TreeSystem::new(model, inputs, events)?;
        let y = system.pack(&initial);
        let engine = match options.integrator {
            Integrator::Adaptive {
                method,
                tolerances,
                max_step,
            } => {
                let mut engine = Adaptive::new(
                    method,
                    y.len(),
                    integrate::Options {
                        tolerances,
                        max_step,
                        ..integrate::Options::default()
                    },
                )?;
                engine.start(&mut system, 0.0, &y)?;
                Engine::Adaptive(Box::new(engine))
            }
            Integrator::Fixed { .. } if !model.constraints().is_empty() => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "integrators with a fixed step do not keep constraints",
                )
                .hint("choose one that chooses its steps, such as dopri5 or verner9"));
            }
            Integrator::Fixed { method, step } => {
                let mut engine = Fixed::new(method, model.nq(), model.nv(), step)?;
                engine.start(0.0, &initial.q, &initial.v)?;
                Engine::Fixed {
                    engine: Box::new(engine),
                    every: (options.interval / step).round().max(1.0) as u64,
                    done: 0,
                    work: [0.0; 2],
                    power: system.power_at(0.0, &initial)?,
                }
            }
        };
        Ok(Simulation {
            auditor: Auditor::new(model, driven),
            system,
            engine,
            options,
            samples: 0,
            happened: Vec::new(),
            stretch: (0, 0.0),
            y,
        })
    }

    /// Time reached, s.
    pub fn time(&self) -> f64 {
        match &self.engine {
            Engine::Adaptive(engine) => engine.time(),
            Engine::Fixed { engine, .. } => engine.time(),
        }
    }

    /// Events that have happened so far, in order.
    pub fn events(&self) -> Vec<Happened> {
        self.happened
            .iter()
            .map(|&(index, time)| Happened {
                name: self.system.event_functions()[index].name().to_string(),
                time,
            })
            .collect()
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.system.model()
    }

    /// Is the end reached and every sample out?
    pub fn finished(&self) -> bool {
        self.samples > self.last_sample()
    }

    fn last_sample(&self) -> u64 {
        let count = self.options.duration / self.options.interval;
        match self.options.integrator {
            // a multiple, as was checked
            Integrator::Fixed { .. } => count.round() as u64,
            Integrator::Adaptive { .. } => (count * (1.0 - 1e-12)).ceil() as u64,
        }
    }

    fn sample_time(&self, k: u64) -> f64 {
        (k as f64 * self.options.interval).min(self.options.duration)
    }

    /// Moves on by one step of the integrator and appends the samples that fall into it.
    pub fn advance(&mut self, samples: &mut Vec<Sample>) -> Result<()> {
        if self.samples == 0 {
            let y = self.y.clone();
            self.emit(0.0, &y, samples)?;
        }
        if self.finished() {
            return Ok(());
        }
        let end = self.options.duration;
        let reached = match &mut self.engine {
            Engine::Adaptive(engine) => {
                let outcome = match engine.step(&mut self.system, end) {
                    Ok(outcome) => outcome,
                    Err(error) => {
                        return Err(explain(error, &self.system, engine.worst_component()));
                    }
                };
                for event in outcome.events() {
                    self.happened.push((event.index, event.time));
                }
                let reached = engine.time();
                let tried = engine.statistics().steps + engine.statistics().rejected;
                if tried - self.stretch.0 >= STRETCH {
                    let (_, from) = std::mem::replace(&mut self.stretch, (tried, reached));
                    if let Some(error) = stuck(&self.system, engine.y(), (from, reached), end) {
                        return Err(error);
                    }
                }
                reached
            }
            Engine::Fixed {
                engine,
                done,
                work,
                power,
                ..
            } => {
                engine.step(&mut self.system)?;
                *done += 1;
                let state = State {
                    q: engine.q().to_vec(),
                    v: engine.v().to_vec(),
                    base: crate::state::Base::fixed(),
                };
                let now = self.system.power_at(engine.time(), &state)?;
                let Integrator::Fixed { step, .. } = self.options.integrator else {
                    unreachable!("a fixed engine comes with a fixed step");
                };
                for k in 0..2 {
                    work[k] += 0.5 * step * (power[k] + now[k]);
                }
                *power = now;
                engine.time()
            }
        };
        self.emit_up_to(reached, samples)
    }

    fn emit_up_to(&mut self, reached: f64, samples: &mut Vec<Sample>) -> Result<()> {
        match &mut self.engine {
            Engine::Adaptive(_) => {
                while !self.finished() && self.sample_time(self.samples) <= reached {
                    let time = self.sample_time(self.samples);
                    let mut y = std::mem::take(&mut self.y);
                    let Engine::Adaptive(engine) = &mut self.engine else {
                        unreachable!("matched above");
                    };
                    engine.interpolate(&mut self.system, time, &mut y)?;
                    let done = self.emit(time, &y, samples);
                    self.y = y;
                    done?;
                }
            }
            Engine::Fixed {
                engine,
                every,
                done,
                work,
                ..
            } => {
                if *done % *every == 0 {
                    let time = engine.time();
                    let mut y = engine.q().to_vec();
                    y.extend_from_slice(engine.v());
                    y.extend_from_slice(work);
                    self.emit(time, &y, samples)?;
                }
            }
        }
        Ok(())
    }

    fn emit(&mut self, time: f64, y: &[f64], samples: &mut Vec<Sample>) -> Result<()> {
        let state = self.system.unpack(y);
        let sample = self.observe(time, state, y[y.len() - 2], y[y.len() - 1])?;
        samples.push(sample);
        self.samples += 1;
        Ok(())
    }

    /// Completes a sample and shows it to the auditor.
    fn observe(&mut self, time: f64, state: State, work: f64, dissipated: f64) -> Result<Sample> {
        let Response {
            tau,
            external,
            vdot,
            constrained,
        } = self.system.response(time, &state)?;
        let dynamics = self.system.dynamics();
        let energies = self.auditor.observe(
            dynamics,
            &Observation {
                time,
                state: &state,
                tau: &tau,
                external: &external,
                vdot: &vdot,
                constrained: constrained.as_ref(),
                work,
                dissipated,
            },
        )?;
        Ok(Sample {
            time,
            state,
            tau,
            vdot,
            energies,
            work,
            dissipated,
        })
    }

    /// Everything needed to go on with the very same bits.
    pub fn checkpoint(&self) -> Vec<u64> {
        let mut words = vec![self.samples, self.happened.len() as u64];
        for &(index, time) in &self.happened {
            words.extend([index as u64, time.to_bits()]);
        }
        match &self.engine {
            Engine::Adaptive(engine) => words.extend(engine.checkpoint()),
            Engine::Fixed {
                engine,
                done,
                work,
                power,
                ..
            } => {
                words.push(*done);
                words.extend(work.iter().chain(power).map(|x| x.to_bits()));
                words.extend(engine.checkpoint());
            }
        }
        words
    }

    /// Goes back to a checkpoint of a run with the same model, inputs and options. `recorded` are the samples written until then:
    /// the auditor looks at them again.
    pub fn restore(&mut self, checkpoint: &[u64], recorded: &[Sample]) -> Result<()> {
        let foreign = || {
            Error::new(
                ErrorKind::Input,
                "the checkpoint does not belong to this run",
            )
        };
        let [samples, count, rest @ ..] = checkpoint else {
            return Err(foreign());
        };
        let (samples, count) = (*samples, *count as usize);
        if count > rest.len() / 2 {
            return Err(foreign());
        }
        let (happened, rest) = rest.split_at(2 * count);
        let happened: Vec<(usize, f64)> = happened
            .chunks_exact(2)
            .map(|pair| (pair[0] as usize, f64::from_bits(pair[1])))
            .collect();
        if happened
            .iter()
            .any(|&(index, _)| index >= self.system.event_functions().len())
        {
            return Err(foreign());
        }
        match &mut self.engine {
            Engine::Adaptive(engine) => engine.restore(rest)?,
            Engine::Fixed {
                engine,
                done,
                work,
                power,
                ..
            } => {
                if rest.len() < 5 {
                    return Err(foreign());
                }
                *done = rest[0];
                for k in 0..2 {
                    work[k] = f64::from_bits(rest[1 + k]);
                    power[k] = f64::from_bits(rest[3 + k]);
                }
                engine.restore(&rest[5..])?;
            }
        }
        if recorded.len() as u64 != samples {
            return Err(foreign());
        }
        self.samples = samples;
        self.happened = happened;
        if let Engine::Adaptive(engine) = &self.engine {
            let statistics = engine.statistics();
            self.stretch = (statistics.steps + statistics.rejected, engine.time());
        }
        for sample in recorded {
            self.observe(
                sample.time,
                sample.state.clone(),
                sample.work,
                sample.dissipated,
            )?;
        }
        Ok(())
    }

    /// Ends the run and gives its audit.
    pub fn finish(self) -> Audit {
        // a run should keep its energy to about its tolerance per step; a thousand times that is a breach
        let allowed = match self.options.integrator {
            Integrator::Adaptive { tolerances, .. } => {
                (1e3 * tolerances.relative).clamp(1e-11, 1e-2)
            }
            Integrator::Fixed { .. } => 1e-2,
        };
        let statistics = match &self.engine {
            Engine::Adaptive(engine) => {
                let s = engine.statistics();
                (s.steps, s.rejected, s.evaluations)
            }
            Engine::Fixed { engine, done, .. } => (*done, 0, engine.statistics().evaluations),
        };
        self.auditor.finish(allowed, statistics)
    }
}

/// Error of a run's end, estimated by a second run at a hundredth of its tolerance (or a quarter of its step): the largest
/// difference of any coordinate or velocity, relative to the largest of its kind.
pub fn verified_error(
    model: &Model,
    initial: &State,
    controller: &Inputs,
    options: &Options,
    last: &State,
) -> Result<f64> {
    let mut sharper = options.clone();
    sharper.interval = options.duration;
    match &mut sharper.integrator {
        Integrator::Adaptive { tolerances, .. } => {
            tolerances.relative = (tolerances.relative * 0.01).max(1e-14);
            tolerances.absolute *= 0.01;
        }
        Integrator::Fixed { step, .. } => *step *= 0.25,
    }
    let mut run = Simulation::new(model, initial, controller.clone(), Vec::new(), sharper)?;
    let mut samples = Vec::new();
    while !run.finished() {
        run.advance(&mut samples)?;
    }
    let end = samples
        .last()
        .ok_or_else(|| Error::new(ErrorKind::Input, "the run has no end"))?;
    let relative = |a: &[f64], b: &[f64]| {
        let size = b.iter().fold(1e-12f64, |m, x| m.max(x.abs()));
        a.iter()
            .zip(b)
            .fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
            / size
    };
    Ok(relative(&last.q, &end.state.q).max(relative(&last.v, &end.state.v)))
}

fn check(options: &Options) -> Result<()> {
    let positive = |what: &str, x: f64| {
        if x > 0.0 && !x.is_nan() {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::Input,
                format!("{what} must be positive, not {x}"),
            ))
        }
    };
    positive("duration of the simulation", options.duration)?;
    positive("interval between samples", options.interval)?;
    if !options.duration.is_finite() || !options.interval.is_finite() {
        return Err(Error::new(
            ErrorKind::Input,
            "duration and interval must be finite",
        ));
    }
    if let Integrator::Fixed { step, .. } = options.integrator {
        positive("step", step)?;
        let ratio = options.interval / step;
        if (ratio - ratio.round()).abs() > 1e-6 * ratio || ratio.round() < 1.0 {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the interval between samples ({} s) is not a multiple of the step ({step} s)",
                    options.interval
                ),
            ));
        }
        let count = options.duration / options.interval;
        if (count - count.round()).abs() > 1e-6 * count.max(1.0) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "with a fixed step the duration ({} s) must be a multiple of the interval between samples ({} s)",
                    options.duration, options.interval
                ),
            ));
        }
    }
    Ok(())
}

/// So many trial steps are looked at together, to notice a run that goes nowhere.
const STRETCH: u64 = 2_000;

/// What to say of a run that goes nowhere. Dry friction that holds a joint is the usual reason: its velocity then trembles about
/// zero, and the run would take millions of steps; without such a joint a thousand million are too many.
fn stuck(system: &TreeSystem, y: &[f64], (from, reached): (f64, f64), end: f64) -> Option<Error> {
    let model = system.model();
    let speed = |k: usize| y[model.nq() + k].abs();
    let held = (0..model.nv())
        .filter(|&k| model.dofs[k].friction > 0.0 && speed(k) < 1e-4)
        .min_by(|&a, &b| speed(a).total_cmp(&speed(b)));
    let progress = format!(
        "the run makes no progress: {STRETCH} trial steps went from {from} s to {reached} s"
    );
    match held {
        Some(k) if reached - from < 1e-3 * end => Some(
            Error::new(
                ErrorKind::Integration,
                format!("{progress}; `{}` seems to stick", model.tree().dofs[k].name),
            )
            .hint(
                "Coulomb friction jumps when a joint stops, and an explicit method cannot hold it still: \
                 replace the friction by damping, or use a fixed step",
            ),
        ),
        _ if reached - from < 2e-6 * end => Some(
            Error::new(ErrorKind::Integration, progress)
                .hint("loosen the tolerance, or use a fixed step: something in this system is very fast"),
        ),
        _ => None,
    }
}

/// Says which coordinate an integrator's complaint is about, and what often causes it.
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
    Error::new(ErrorKind::Integration, format!("{}; it is {what} that cannot be followed", error.message()))
        .hint(format!(
            "{advice}{}stiff springs or damping, dry friction at standstill and very light bodies need small steps",
            if advice.is_empty() { "" } else { "; " }
        ))
}

impl Inputs {
    /// Does any controller or wrench act?
    pub fn is_idle(&self) -> bool {
        matches!(self.controller, Controller::None) && self.wrenches.is_empty()
    }
}
