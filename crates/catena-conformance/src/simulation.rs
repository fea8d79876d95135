//! Motion in time: what the kinds `serial_sim`, `space_sim`, `multibody_sim` and `pendulum_sim` have in common.
//!
//! A run is integrated by two methods that share no coefficient, at a tolerance far below that of the comparison, with steps
//! that end at the times of the samples. The quantities of a sample are computed from the states there.
//!
//! How many digits of a sample are determined is found as for a single state: the run is repeated with perturbed numbers. In
//! addition no entry is required to have more digits than an integration can give relative to the largest entries of its quantity.

use super::element::{Element, Object, informs};
use super::noise::{SHAKE, Subject, foundation_noise, routes_and_noise, shake};
use super::report::{Comparison, Numbers, SIMULATION_TOLERANCE};
use super::response::Situation;
use catena::algorithm::constrained::Stabilisation;
use catena::error::{ErrorKind, Result};
use catena::integrate::{Adaptive, IntegratorOptions, Method, System as _, Tolerances};
use catena::random::Random;
use catena::simulate::{Controller, Drift, Inputs, TreeSystem};
use catena::{Model, State};
use std::collections::HashMap;

/// Integrators; the first is the reference.
const METHODS: [Method; 2] = [Method::Verner9, Method::Dop853];

/// Error allowed in a step.
const TOLERANCES: Tolerances = Tolerances {
    relative: 1e-13,
    absolute: 1e-14,
};

/// A run that takes more steps than this is abandoned.
const MOST_STEPS: u64 = 100_000;

/// After this many steps a run that would take twice [`MOST_STEPS`] at its pace so far is abandoned, too.
const PACE_KNOWN: u64 = 1000;

/// Least noise of a quantity, relative to its scale over the run.
const FLOOR: f64 = 1e-11;

/// Where orientations have more noise than this, the run amplifies the last digits, and noise is no excuse for more than
/// the tolerance.
const AMPLIFIED: f64 = 1e-8;

/// Keys of every simulation besides those that all cases have and those of its initial state.
pub(super) const RUN_KEYS: &[&str] = &["model", "tau", "tau_amp", "tau_omega", "samples"];

/// Builds the subject of a sample from the situation at its time; the sample's own values only determine signs of quaternions.
type View = dyn Fn(Situation, &Object<'_>) -> Result<Box<dyn Subject>>;

/// A motion from given initial values, and its expected quantities.
pub(super) struct Run<'a> {
    pub model: Model,
    pub initial: State,
    pub inputs: Inputs,
    pub instants: Vec<Instant<'a>>,
    /// Stabilisation of the constraints; without it, states are projected onto them.
    pub stabilisation: Stabilisation,
    pub view: Box<View>,
}

/// A sample: the quantities expected at a time, by name.
pub(super) struct Instant<'a> {
    sample: Object<'a>,
    time: f64,
    expected: Vec<(String, Element<'a>)>,
}

/// Reads the samples of a run: a time `t` each, everything else is expected.
pub(super) fn read_instants<'a>(top: &Object<'a>) -> Result<Vec<Instant<'a>>> {
    let mut instants = Vec::new();
    for element in top.require("samples")?.list()? {
        let sample = element.open_object()?;
        let time = sample.require("t")?;
        if time.number()? < 0.0 {
            return Err(time.error("must not be negative: the motion starts at 0"));
        }
        let mut expected = sample.quantities("")?;
        expected.retain(|(name, _)| name != "t" && !informs(name));
        if expected.is_empty() {
            return Err(element.error("expects nothing besides its time"));
        }
        instants.push(Instant {
            time: time.number()?,
            sample,
            expected,
        });
    }
    Ok(instants)
}

/// The efforts of a run: constant, `tau`, or `tau_amp` sin(`tau_omega` t); none if left out. `read` reads one number for
/// every freedom.
pub(super) fn read_controller(
    top: &Object<'_>,
    read: impl Fn(&Element<'_>) -> Result<Vec<f64>>,
) -> Result<Controller> {
    match (top.get("tau"), top.get("tau_amp"), top.get("tau_omega")) {
        (None, None, None) => Ok(Controller::None),
        (Some(tau), None, None) => Ok(Controller::Constant(read(&tau)?)),
        (Some(tau), ..) => {
            Err(tau.error("is given beside `tau_amp` or `tau_omega`: give one or the other"))
        }
        _ => Ok(Controller::Sine {
            amplitude: read(&top.require("tau_amp")?)?,
            frequency: read(&top.require("tau_omega")?)?,
        }),
    }
}

/// Gives a quaternion the sign of another one: p and −p are the same orientation. Returns whether it was negated.
pub(super) fn turn_towards(quaternion: &mut [f64], other: &[f64]) -> bool {
    let product: f64 = quaternion.iter().zip(other).map(|(a, b)| a * b).sum();
    let turn = product < 0.0;
    if turn {
        quaternion.iter_mut().for_each(|x| *x = -*x);
    }
    turn
}

impl Run<'_> {
    /// The situation at the time of every sample, by integration from the initial values.
    fn situations(&self, method: Method) -> Result<Vec<Situation>> {
        let drift = match self.stabilisation == Stabilisation::default() {
            true => Drift::Project,
            false => Drift::Stabilise(self.stabilisation),
        };
        let inputs = self.inputs.clone();
        let mut system =
            TreeSystem::with_constraints(&self.model, inputs, Vec::new(), Vec::new(), drift)?;
        let options = IntegratorOptions {
            tolerances: TOLERANCES,
            ..IntegratorOptions::default()
        };
        let mut engine = Adaptive::new(method, system.dimension(), options)?;
        let start = system.pack(&self.initial);
        engine.start(&mut system, 0.0, &start)?;
        let mut order: Vec<_> = self.instants.iter().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| a.time.total_cmp(&b.time));
        let mut situations = Vec::new();
        for (index, instant) in order {
            let blame = |error| instant.sample.element.blame(error);
            while engine.time() < instant.time {
                engine.step(&mut system, instant.time).map_err(blame)?;
                let steps = engine.statistics().steps;
                let pace = engine.time() / steps as f64;
                let is_far = instant.time > 2.0 * pace * MOST_STEPS as f64;
                if steps > MOST_STEPS || (steps >= PACE_KNOWN && is_far) {
                    let message = format!(
                        "at {} s is not reached within {MOST_STEPS} steps: the first {steps} came to {} s",
                        instant.time,
                        engine.time()
                    );
                    let sample = &instant.sample.element;
                    return Err(sample.error_of(ErrorKind::Integration, message));
                }
            }
            let state = system.unpack(instant.time, engine.y());
            let tau = system.response(instant.time, &state).map_err(blame)?.tau;
            let situation = Situation {
                state,
                tau,
                external: Vec::new(),
            };
            situations.push((index, situation));
        }
        situations.sort_by_key(|(index, _)| *index);
        Ok(situations.into_iter().map(|(_, it)| it).collect())
    }

    /// The subject of a sample at its situation.
    fn subject(&self, index: usize, situation: &Situation) -> Result<Box<dyn Subject>> {
        let sample = &self.instants[index].sample;
        (self.view)(situation.clone(), sample).map_err(|error| sample.element.blame_unplaced(error))
    }

    /// The situation with its state perturbed in the last digits.
    fn jostled(&self, situation: &Situation) -> Result<Situation> {
        let mut random = Random::new(0);
        let mut shaken = |x: &f64| shake(*x, &mut random);
        let q: Vec<_> = situation.state.q.iter().map(&mut shaken).collect();
        let v: Vec<_> = situation.state.v.iter().map(&mut shaken).collect();
        Ok(Situation {
            state: State::new(&self.model, &q, &v)?,
            ..situation.clone()
        })
    }
}

/// An expected quantity of one sample, as it was computed.
struct Found {
    routes: Vec<Numbers>,
    noise: Vec<f64>,
    /// Whether the run has amplified the last digits by this time.
    amplified: bool,
}

/// Runs a case as given, by every method, and its perturbed copies, and compares every expected quantity.
pub(super) fn compare<'a>(
    case: &Element<'a>,
    copies: &[Element<'a>],
    read: impl Fn(&Element<'a>) -> Result<Run<'a>>,
) -> Result<Comparison> {
    let follow = |run: &Run<'_>, method: Method| {
        let situations = run.situations(method);
        situations.map_err(|error| case.blame_unplaced(error))
    };
    let run = read(case)?;
    let [main, other] = [follow(&run, METHODS[0])?, follow(&run, METHODS[1])?];
    let mut shaken = Vec::new();
    for copy in copies {
        let copy = read(copy)?;
        shaken.push((follow(&copy, METHODS[0])?, copy));
    }

    // the scale of a quantity is that of all samples: it must be known before any of them is compared
    let mut routes_seen = Vec::new();
    let mut scales: HashMap<&str, f64> = HashMap::new();
    let mut found = Vec::new();
    for (index, instant) in run.instants.iter().enumerate() {
        let element = &instant.sample.element;
        let mut subject = run.subject(index, &main[index])?;
        routes_seen.extend(subject.routes());
        let mut second = run.subject(index, &other[index])?;
        let mut jostled = run.subject(index, &run.jostled(&main[index])?)?;
        let mut copies = Vec::new();
        for (situations, copy) in &shaken {
            copies.push(copy.subject(index, &situations[index])?);
        }
        let mut copies: Vec<_> = copies.iter_mut().map(|copy| &mut **copy).collect();
        let amplified = foundation_noise(element, &mut *subject, &mut copies)? > AMPLIFIED;
        for (name, expected) in &instant.expected {
            let (mut routes, mut noise) =
                routes_and_noise(element, (name, expected), &mut *subject, &mut copies)?;
            let scale = scales.entry(name).or_insert(0.0);
            *scale = scale.max(routes[0].largest());
            // where large terms cancel, their size counts
            if let Some(moved) = jostled.quantity(name)? {
                *scale = scale.max(routes[0].distance(&moved[0]) / SHAKE);
            }
            routes.extend(second.quantity(name)?.unwrap_or_default());
            noise.extend_from_within(..);
            found.push(Found {
                routes,
                noise,
                amplified,
            });
        }
    }

    let mut comparison = Comparison::new(SIMULATION_TOLERANCE);
    comparison.samples = run.instants.len();
    comparison.by(&routes_seen);
    let expected = run.instants.iter().flat_map(|instant| &instant.expected);
    for ((name, expected), mut found) in expected.zip(found) {
        let scale = scales.get(&name[..]).copied().unwrap_or(0.0);
        for noise in &mut found.noise {
            *noise = noise.max(FLOOR * scale);
            if found.amplified {
                *noise = noise.min(SIMULATION_TOLERANCE * scale);
            }
        }
        comparison.compare(name, expected, &found.routes, &found.noise)?;
    }
    Ok(comparison)
}
