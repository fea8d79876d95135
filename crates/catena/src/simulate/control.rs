//! User-defined controllers, and actuators: from the effort a controller demands to the effort a joint receives.
//!
//! ```text
//! (t, q, v, sensors) → controller → demand → effort limit → zero-order hold → first-order lag → τ
//! ```
//!
//! Without a rate the controller is continuous: a function of (t, q, v), evaluated with the dynamics. With a rate it runs at
//! the instants k / rate and its efforts are held in between; steps of the integrator end at these instants. A lag τ̇ = (u − τ) / T
//! after a command u that is held has a closed form, so it adds no state to the integration.
//!
//! Sensors measure accelerations and loads, which the efforts cause. A sampled controller reads them under the efforts that act
//! until its instant, before its new command; for a continuous one this would be an algebraic loop, so it may not read them.

use crate::elementary::{self, all_finite};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Actuator, Model, Tree};
use crate::spatial::Force;
use crate::state::State;
use std::fmt;
use std::sync::Arc;

/// A user-defined controller. It is cloned with the inputs of a run: derive [`Clone`].
///
/// ```
/// use catena::error::Result;
/// use catena::simulate::{Control, Sensors};
/// use catena::State;
///
/// /// Proportional, with an integral that it keeps itself.
/// #[derive(Clone)]
/// struct ProportionalIntegral {
///     target: f64,
///     integral: f64,
/// }
///
/// impl Control for ProportionalIntegral {
///     fn efforts(&mut self, _t: f64, state: &State, _: &mut Sensors<'_>, tau: &mut [f64]) -> Result<()> {
///         let error = self.target - state.q[0];
///         self.integral += 0.001 * error;
///         tau[0] = 40.0 * error + 10.0 * self.integral;
///         Ok(())
///     }
///
///     fn save(&self) -> Option<Vec<f64>> {
///         Some(vec![self.integral])
///     }
///
///     fn restore(&mut self, saved: &[f64]) -> Result<()> {
///         self.integral = saved[0];
///         Ok(())
///     }
/// }
/// ```
pub trait Control: Duplicate + Send + Sync {
    /// Efforts at an instant; `tau` has an entry per freedom, all zero on entry.
    ///
    /// Without a rate this is called for the stages of every step, including rejected steps: its result may depend on t and the
    /// state only. With a rate it may read the sensors.
    fn efforts(
        &mut self,
        t: f64,
        state: &State,
        sensors: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()>;

    /// Its internal state, for the checkpoint of a run; empty if it has none. None: it cannot be saved, and a run with it
    /// cannot be resumed.
    fn save(&self) -> Option<Vec<f64>> {
        None
    }

    /// Restores the output of [`save`](Self::save).
    fn restore(&mut self, _saved: &[f64]) -> Result<()> {
        Ok(())
    }
}

type Look<'a> = dyn FnMut() -> Result<Vec<[f64; 6]>> + 'a;

/// The model's sensors as a sampled controller reads them: under the efforts that act until its instant. They are evaluated at
/// the first reading.
pub struct Sensors<'a> {
    tree: &'a Tree,
    /// None for a continuous controller.
    look: Option<&'a mut Look<'a>>,
    measured: Option<Vec<[f64; 6]>>,
}

impl<'a> Sensors<'a> {
    /// The sensors of a continuous controller, which may not read them.
    pub(super) fn closed(tree: &'a Tree) -> Self {
        Sensors {
            tree,
            look: None,
            measured: None,
        }
    }

    /// The sensors, evaluated by this function.
    pub(super) fn new(tree: &'a Tree, look: &'a mut Look<'a>) -> Self {
        Sensors {
            tree,
            look: Some(look),
            measured: None,
        }
    }

    /// Readings of the sensors, in the order of [`Model::sensors`]; [`Sensor::measures`](crate::model::Sensor::measures) gives
    /// the meaning of the numbers.
    pub fn all(&mut self) -> Result<&[[f64; 6]]> {
        let measured = match self.measured.take() {
            Some(measured) => measured,
            None => match &mut self.look {
                Some(look) => look()?,
                None => {
                    return Err(Error::new(
                        ErrorKind::Input,
                        "a continuous controller cannot use sensors: their readings depend on its efforts",
                    )
                    .hint("give the controller a rate (`--rate 1000`): it then reads them under its previous efforts"));
                }
            },
        };
        Ok(self.measured.insert(measured))
    }

    /// Readings of the sensor of this name.
    pub fn of(&mut self, name: &str) -> Result<[f64; 6]> {
        let sensors = &self.tree.sensors;
        let Some(index) = sensors.iter().position(|sensor| sensor.name == name) else {
            let known: Vec<&str> = sensors.iter().map(|sensor| sensor.name.as_str()).collect();
            let message = format!("model `{}` has no sensor `{name}`", self.tree.name);
            return Err(
                Error::new(ErrorKind::Input, message).hint(match known.is_empty() {
                    true => "it has none; name them in [[sensor]] tables".to_string(),
                    false => format!("its sensors are {}", known.join(", ")),
                }),
            );
        };
        Ok(self.all()?[index])
    }
}

impl fmt::Debug for Sensors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sensors({})", self.tree.sensors.len())
    }
}

/// A boxed copy, available for every cloneable controller.
pub trait Duplicate {
    /// A copy.
    fn duplicate(&self) -> Box<dyn Control>;
}

impl<T: Control + Clone + 'static> Duplicate for T {
    fn duplicate(&self) -> Box<dyn Control> {
        Box::new(self.clone())
    }
}

impl<F> Control for F
where
    F: FnMut(f64, &[f64], &[f64], &mut [f64]) + Clone + Send + Sync + 'static,
{
    fn efforts(
        &mut self,
        t: f64,
        state: &State,
        _: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()> {
        self(t, &state.q, &state.v, tau);
        Ok(())
    }
}

/// A user-defined controller, as the inputs hold it.
pub struct Law(Box<dyn Control>);

impl Law {
    /// This controller, which may be a closure `|t, q, v, tau|`. The captured state of a closure cannot be saved, so a run with
    /// it cannot be resumed; see [`function`](Self::function) and [`with_state`](Self::with_state).
    pub fn new(control: impl Control + 'static) -> Self {
        Law(Box::new(control))
    }

    /// A stateless function of time and state.
    pub fn function(
        law: impl Fn(f64, &[f64], &[f64], &mut [f64]) + Clone + Send + Sync + 'static,
    ) -> Self {
        Law::new(WithState {
            law: move |t: f64, q: &[f64], v: &[f64], _: &mut [f64], tau: &mut [f64]| {
                law(t, q, v, tau);
            },
            memory: Vec::new(),
        })
    }

    /// A stateless function of time and state that may fail: its error ends the run.
    pub fn fallible(
        law: impl Fn(f64, &State, &mut [f64]) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Law::with_sensors(move |t, state, _, tau| law(t, state, tau))
    }

    /// A stateless sampled controller that reads the model's sensors: `|t, state, sensors, tau|`. Its error ends the run.
    pub fn with_sensors(
        law: impl Fn(f64, &State, &mut Sensors<'_>, &mut [f64]) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Law::new(Fallible(Arc::new(law)))
    }

    /// A sampled controller with internal state: `|t, q, v, state, tau|` updates the state and writes the efforts.
    pub fn with_state(
        start: &[f64],
        law: impl Fn(f64, &[f64], &[f64], &mut [f64], &mut [f64]) + Clone + Send + Sync + 'static,
    ) -> Self {
        Law::new(WithState {
            law,
            memory: start.to_vec(),
        })
    }

    /// Takes the controller out and leaves a placeholder without efforts.
    pub(super) fn lend(&mut self) -> Law {
        Law(std::mem::replace(&mut self.0, Box::new(Lent)))
    }

    pub(super) fn control(&mut self) -> &mut dyn Control {
        &mut *self.0
    }

    /// Its internal state; none if that cannot be saved.
    pub fn save(&self) -> Option<Vec<f64>> {
        self.0.save()
    }
}

impl Clone for Law {
    fn clone(&self) -> Self {
        Law(self.0.duplicate())
    }
}

impl fmt::Debug for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Law")
    }
}

/// Placeholder for a controller that is lent.
#[derive(Clone)]
struct Lent;

impl Control for Lent {
    fn efforts(&mut self, _: f64, _: &State, _: &mut Sensors<'_>, _: &mut [f64]) -> Result<()> {
        Ok(())
    }
}

type Function = dyn Fn(f64, &State, &mut Sensors<'_>, &mut [f64]) -> Result<()> + Send + Sync;

#[derive(Clone)]
struct Fallible(Arc<Function>);

impl Control for Fallible {
    fn efforts(
        &mut self,
        t: f64,
        state: &State,
        sensors: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()> {
        (self.0)(t, state, sensors, tau)
    }

    fn save(&self) -> Option<Vec<f64>> {
        Some(Vec::new())
    }
}

#[derive(Clone)]
struct WithState<F> {
    law: F,
    memory: Vec<f64>,
}

impl<F> Control for WithState<F>
where
    F: Fn(f64, &[f64], &[f64], &mut [f64], &mut [f64]) + Clone + Send + Sync + 'static,
{
    fn efforts(
        &mut self,
        t: f64,
        state: &State,
        _: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()> {
        (self.law)(t, &state.q, &state.v, &mut self.memory, tau);
        Ok(())
    }

    fn save(&self) -> Option<Vec<f64>> {
        Some(self.memory.clone())
    }

    fn restore(&mut self, saved: &[f64]) -> Result<()> {
        crate::state::check_length("saved numbers", saved.len(), self.memory.len())?;
        self.memory.copy_from_slice(saved);
        Ok(())
    }
}

type Wrench = dyn Fn(f64, &State) -> Force<f64> + Send + Sync;

/// A wrench that depends on time and state, on a frame: world axes, the force at the frame's origin.
#[derive(Clone)]
pub struct FrameLoad {
    /// Index of the frame in the tree.
    pub frame: usize,
    wrench: Arc<Wrench>,
}

impl FrameLoad {
    /// This function of time and state.
    pub fn new(
        frame: usize,
        wrench: impl Fn(f64, &State) -> Force<f64> + Send + Sync + 'static,
    ) -> Self {
        FrameLoad {
            frame,
            wrench: Arc::new(wrench),
        }
    }

    /// The wrench at an instant; an error if it is non-finite.
    pub(super) fn at(&self, t: f64, state: &State, model: &Model) -> Result<Force<f64>> {
        let wrench = (self.wrench)(t, state);
        match wrench.to_array().iter().all(|x| x.is_finite()) {
            true => Ok(wrench),
            false => Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the load on frame `{}` is not finite at {t} s",
                    model.tree().frames[self.frame].name
                ),
            )),
        }
    }
}

impl fmt::Debug for FrameLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameLoad({})", self.frame)
    }
}

/// Proportional and derivative gains: one number for all joints, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub enum Gains {
    /// One number for all joints.
    Same(f64),
    /// One for each joint coordinate without quaternion, in the order of the motion to follow.
    Each(Vec<f64>),
}

impl Gains {
    /// The gain of a coordinate.
    pub fn at(&self, k: usize) -> f64 {
        match self {
            Gains::Same(gain) => *gain,
            Gains::Each(gains) => gains[k],
        }
    }

    /// The gain, if it is the same for all.
    pub(super) fn common(&self) -> Option<f64> {
        match self {
            Gains::Same(gain) => Some(*gain),
            Gains::Each(gains) => {
                let first = *gains.first()?;
                gains.iter().all(|gain| *gain == first).then_some(first)
            }
        }
    }

    /// Checks that there is one gain per coordinate, all of them numbers ≥ 0.
    pub(super) fn check(&self, count: usize) -> Result<()> {
        let gains = match self {
            Gains::Same(gain) => std::slice::from_ref(gain),
            Gains::Each(gains) => {
                crate::state::check_length("gains", gains.len(), count)?;
                gains
            }
        };
        match gains.iter().find(|gain| !gain.is_finite() || **gain < 0.0) {
            None => Ok(()),
            Some(gain) => Err(Error::new(
                ErrorKind::Input,
                format!("a gain must be a number ≥ 0, not {gain}"),
            )),
        }
    }
}

impl From<f64> for Gains {
    fn from(gain: f64) -> Self {
        Gains::Same(gain)
    }
}

/// Which freedoms have an actuator, its effort limit and its lag; one entry per freedom.
#[derive(Clone, Debug)]
pub(crate) struct Actuated {
    pub drives: Vec<bool>,
    pub limit: Vec<f64>,
    pub lag: Vec<f64>,
}

impl Actuated {
    /// Without a list every freedom takes any effort.
    pub fn new(nv: usize, actuators: Option<&[Actuator]>) -> Self {
        let mut actuated = Actuated {
            drives: vec![actuators.is_none(); nv],
            limit: vec![f64::INFINITY; nv],
            lag: vec![0.0; nv],
        };
        for actuator in actuators.into_iter().flatten() {
            let k = actuator.freedom;
            actuated.drives[k] = true;
            actuated.limit[k] = actuator.max_effort.unwrap_or(f64::INFINITY);
            actuated.lag[k] = actuator.lag;
        }
        actuated
    }

    /// The efforts of the actuators for a demand.
    pub fn limit(&self, demand: &[f64], tau: &mut [f64]) {
        for (tau, (demand, limit)) in tau.iter_mut().zip(demand.iter().zip(&self.limit)) {
            *tau = demand.clamp(-limit, *limit);
        }
    }

    /// Checks that a controller's demand is finite, and zero at joints without an actuator.
    pub fn check(&self, t: f64, demand: &[f64], model: &Model) -> Result<()> {
        let name = |k: usize| &model.tree().dofs[k].name;
        if !all_finite(demand)
            && let Some(k) = demand.iter().position(|x| !x.is_finite())
        {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the controller's effort for `{}` is {} at {t} s",
                    name(k),
                    demand[k]
                ),
            ));
        }
        let pairs = demand.iter().zip(&self.drives);
        match pairs
            .into_iter()
            .position(|(x, drives)| !drives && *x != 0.0)
        {
            None => Ok(()),
            Some(k) => Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the controller gives `{}` an effort of {} at {t} s, but it has no actuator",
                    name(k),
                    demand[k]
                ),
            )
            .hint("name it among the actuators of the model, or give it no effort")),
        }
    }
}

/// A command held from one sampling instant to the next, and the lag behind it.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    rate: f64,
    /// Number of instants so far.
    taken: u64,
    /// Time of the last one, s.
    time: f64,
    /// Efforts commanded then, within the limits.
    command: Vec<f64>,
    /// Efforts of the actuators then.
    before: Vec<f64>,
    lag: Vec<f64>,
    /// Whether any actuator has a lag.
    is_late: bool,
}

impl Hold {
    pub fn new(rate: f64, actuated: &Actuated) -> Self {
        let nv = actuated.lag.len();
        Hold {
            rate,
            taken: 0,
            time: 0.0,
            command: vec![0.0; nv],
            before: vec![0.0; nv],
            is_late: actuated.lag.iter().any(|lag| *lag != 0.0),
            lag: actuated.lag.clone(),
        }
    }

    /// When the controller runs next, s: instants are k / rate, each rounded once.
    pub fn next_time(&self) -> f64 {
        self.taken as f64 / self.rate
    }

    /// When the last command was taken, s.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Do efforts follow commands with a lag?
    pub fn is_late(&self) -> bool {
        self.is_late
    }

    /// The efforts at a time since the last instant.
    pub fn efforts(&self, t: f64, tau: &mut [f64]) {
        if !self.is_late {
            tau.copy_from_slice(&self.command);
            return;
        }
        for (k, tau) in tau.iter_mut().enumerate() {
            *tau = self.effort(t, k);
        }
    }

    fn effort(&self, t: f64, k: usize) -> f64 {
        let (from, to) = (self.before[k], self.command[k]);
        match self.lag[k] {
            0.0 => to,
            lag => to + (from - to) * elementary::exp(-(t - self.time) / lag),
        }
    }

    /// Holds a new command, given by the closure, from now on.
    pub fn take(&mut self, command: impl FnOnce(&mut [f64])) {
        let time = self.next_time();
        match self.is_late {
            true => (0..self.before.len()).for_each(|k| self.before[k] = self.effort(time, k)),
            false => self.before.copy_from_slice(&self.command),
        }
        self.time = time;
        self.taken += 1;
        command(&mut self.command);
    }

    pub fn checkpoint(&self) -> Vec<u64> {
        let mut words = vec![self.taken, self.time.to_bits()];
        words.extend(self.command.iter().chain(&self.before).map(|x| x.to_bits()));
        words
    }

    /// Restores a checkpoint and returns the remaining words; none if the words are not its own.
    pub fn restore<'a>(&mut self, words: &'a [u64]) -> Option<&'a [u64]> {
        let (own, rest) = words.split_at_checked(2 + 2 * self.command.len())?;
        if own[0] >= 1 << 53 {
            return None;
        }
        (self.taken, self.time) = (own[0], f64::from_bits(own[1]));
        let into = self.command.iter_mut().chain(&mut self.before);
        for (x, word) in into.zip(&own[2..]) {
            *x = f64::from_bits(*word);
        }
        Some(rest)
    }
}

/// How an actuator was used in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorUse {
    /// The actuator.
    pub actuator: Actuator,
    /// Largest magnitude of the effort that the controller demanded.
    pub largest_demand: f64,
    /// Time during which the demand exceeded its limit, s.
    pub saturated: f64,
    /// Largest speed of its joint.
    pub largest_speed: f64,
    /// Time during which its joint exceeded the speed limit, s.
    pub too_fast: f64,
    /// At the last observation: time, demand and speed.
    last: Option<[f64; 3]>,
}

impl ActuatorUse {
    pub(super) fn new(actuator: &Actuator) -> Self {
        ActuatorUse {
            actuator: actuator.clone(),
            largest_demand: 0.0,
            saturated: 0.0,
            largest_speed: 0.0,
            too_fast: 0.0,
            last: None,
        }
    }

    /// Observes demand and speed. Between two observations both are taken as linear; a demand that is held is constant.
    pub(super) fn look(&mut self, t: f64, demand: f64, speed: f64, is_held: bool) {
        let (demand, speed) = (demand.abs(), speed.abs());
        self.largest_demand = self.largest_demand.max(demand);
        self.largest_speed = self.largest_speed.max(speed);
        let Some([t_old, demand_old, speed_old]) = self.last.replace([t, demand, speed]) else {
            return;
        };
        let effort = self.actuator.max_effort.unwrap_or(f64::INFINITY);
        let fastest = self.actuator.max_velocity.unwrap_or(f64::INFINITY);
        let demand = if is_held { demand_old } else { demand };
        self.saturated += (t - t_old) * part_above(effort, demand_old, demand);
        self.too_fast += (t - t_old) * part_above(fastest, speed_old, speed);
    }

    pub(super) fn checkpoint(&self) -> [u64; 8] {
        let [t, demand, speed] = self.last.unwrap_or_default();
        let numbers = [
            self.largest_demand,
            self.saturated,
            self.largest_speed,
            self.too_fast,
            t,
            demand,
            speed,
        ]
        .map(f64::to_bits);
        let [a, b, c, d, e, f, g] = numbers;
        [a, b, c, d, e, f, g, u64::from(self.last.is_some())]
    }

    pub(super) fn restore(&mut self, words: &[u64]) {
        let number = |k: usize| f64::from_bits(words[k]);
        self.largest_demand = number(0);
        self.saturated = number(1);
        self.largest_speed = number(2);
        self.too_fast = number(3);
        self.last = (words[7] == 1).then(|| [number(4), number(5), number(6)]);
    }
}

/// The fraction of the interval from a to b that lies above a limit.
fn part_above(limit: f64, a: f64, b: f64) -> f64 {
    match (a > limit, b > limit) {
        (true, true) => 1.0,
        (false, false) => 0.0,
        (true, false) => (a - limit) / (a - b),
        (false, true) => (b - limit) / (b - a),
    }
}
