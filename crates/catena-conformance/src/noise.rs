//! How many digits of a quantity the numbers of a case determine.
//!
//! A case is computed once as given and a few more times with every number of its models and states perturbed in the last
//! digits. The resulting change is the noise of a quantity: small where the quantity is well conditioned, large where large
//! terms cancel or the system is ill-conditioned. Entries that should be zero have noise, too, and need no special rule.
//!
//! A case whose orientations or pivots depend on the last digits, such as one with an angle of 10²⁰ rad or a massless arm, would
//! be all noise, and any result would pass. It is rejected.

use super::element::Element;
use super::report::{Comparison, Numbers, TOLERANCE};
use super::unknown_quantity;
use catena::error::{Error, ErrorKind, Result};
use catena::random::Random;
use catena::residual::larger;
use catena::{Dynamics, Model, State};
use catena_io::document::{Entry, Node, Value};
use std::cell::RefCell;

/// Largest relative change of a number.
pub(super) const SHAKE: f64 = 1e-14;

/// Number of perturbed copies.
const COPIES: u64 = 5;

/// The noise of a quantity is this many times the largest change observed: internal round-off is not perturbed, and copies are few.
const SAFETY: f64 = 30.0;

/// The main method may be noisier than another one, but not by more than this factor.
const EXCUSE: f64 = 100.0;

/// Largest noise of orientations (entries of rotation matrices) and pivots (relative) in a case that determines anything.
const UNDETERMINED: f64 = 1e-5;

/// Keys whose numbers are not those of a model or state.
const NOT_SHAKEN: &[&str] = &["parent", "child", "u", "expected", "accuracy"];

/// A subject whose quantities can be computed.
pub(super) trait Subject {
    /// A quantity by name, by every method, the main one first; none if the name is unknown.
    fn quantity(&mut self, name: &str) -> Result<Option<Vec<Numbers>>>;

    /// Names of the methods for accelerations and loads, where there are several.
    fn routes(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Differences that are always accepted, by method; none where the list is shorter.
    fn floors(&self, _name: &str) -> Vec<f64> {
        Vec::new()
    }

    /// Entries of the bodies' rotation matrices, and logarithms of the pivots of the inertia matrix.
    fn foundations(&mut self) -> Result<Numbers>;
}

/// [`Subject::foundations`] of a state.
pub(super) fn foundations(dynamics: &mut Dynamics, state: &State) -> Result<Numbers> {
    let pivots = dynamics.factorization(state)?.d();
    let logarithms = pivots.into_iter().map(f64::ln).collect::<Vec<_>>();
    let kinematics = dynamics.kinematics(state, &vec![0.0; state.v.len()])?;
    let rotations = kinematics.world_from_body.iter().map(|pose| pose.rotation);
    Ok(Numbers::list([
        Numbers::from(logarithms),
        Numbers::list(rotations),
    ]))
}

/// A state of a case, and its expected quantities, by name.
pub(super) struct Sample<'a, T> {
    pub element: Element<'a>,
    pub subject: T,
    pub expected: Vec<(String, Element<'a>)>,
}

/// Copies of a case with perturbed numbers.
pub(super) fn shaken_copies(case: &Node) -> Vec<(u64, Node)> {
    (1..=COPIES)
        .map(|copy| (copy, shaken(case, &mut Random::new(copy))))
        .collect()
}

fn shaken(node: &Node, random: &mut Random) -> Node {
    let value = match &node.value {
        Value::Number(number) => Value::Number(shake(*number, random)),
        Value::List(nodes) => Value::List(nodes.iter().map(|node| shaken(node, random)).collect()),
        Value::Table(entries) => {
            let entries = entries.iter().map(|entry| {
                if NOT_SHAKEN.contains(&entry.key.as_str()) {
                    return entry.clone();
                }
                Entry {
                    key: entry.key.clone(),
                    line: entry.line,
                    node: shaken(&entry.node, random),
                }
            });
            Value::Table(entries.collect())
        }
        other => other.clone(),
    };
    Node {
        line: node.line,
        value,
    }
}

/// A model with all its constants perturbed one by one, as by round-off when a model is built from its description.
pub(super) fn shaken_model(model: &Model, copy: u64) -> Model {
    let random = RefCell::new(Random::new(copy));
    model.map(|number| shake(number, &mut random.borrow_mut()))
}

pub(super) fn shake(number: f64, random: &mut Random) -> f64 {
    number * (1.0 + random.uniform(-SHAKE, SHAKE))
}

/// The error for a case whose results are all noise: nothing can be said about it.
fn undetermined(sample: &Element<'_>) -> Error {
    let what = "proves nothing: its result depends on the last digits of its numbers";
    sample.error_of(ErrorKind::Input, what)
}

/// Noise of the orientations and pivots of a sample; an error where it exceeds `UNDETERMINED`.
pub(super) fn foundation_noise<T: Subject + ?Sized>(
    sample: &Element<'_>,
    subject: &mut T,
    copies: &mut [&mut T],
) -> Result<f64> {
    let blame = |error| sample.blame(error);
    let given = subject.foundations().map_err(blame)?;
    let mut largest = 0.0f64;
    for copy in copies {
        let moved = copy.foundations().map_err(blame)?;
        let noise = SAFETY * given.distance(&moved);
        let determined = noise < UNDETERMINED;
        if !determined {
            return Err(undetermined(sample));
        }
        largest = larger(largest, noise);
    }
    Ok(largest)
}

/// An expected quantity by every method, and the noise of each.
pub(super) fn routes_and_noise<T: Subject + ?Sized>(
    sample: &Element<'_>,
    (name, expected): (&str, &Element<'_>),
    subject: &mut T,
    copies: &mut [&mut T],
) -> Result<(Vec<Numbers>, Vec<f64>)> {
    let blame = |error| expected.blame(error);
    let Some(routes) = subject.quantity(name).map_err(blame)? else {
        return Err(unknown_quantity(expected, name));
    };
    let mut noise = vec![0.0f64; routes.len()];
    for copy in copies {
        let moved = copy.quantity(name).map_err(blame)?;
        let moved = moved.unwrap_or_default();
        for (noise, (given, moved)) in noise.iter_mut().zip(routes.iter().zip(&moved)) {
            *noise = noise.max(SAFETY * given.distance(moved));
        }
    }
    if !noise.iter().all(|noise| noise.is_finite()) {
        return Err(undetermined(sample));
    }
    // an instability of the main method does not excuse it; a method with exact zeros where others sum terms has no noise to compare with
    let others = noise[1..].iter().copied().filter(|noise| *noise > 0.0);
    noise[0] = noise[0].min(EXCUSE * others.fold(f64::INFINITY, f64::min));
    for (noise, floor) in noise.iter_mut().zip(subject.floors(name)) {
        *noise = noise.max(floor);
    }
    Ok((routes, noise))
}

/// Reads the samples of a case as given and of its perturbed copies, and compares every expected quantity.
pub(super) fn compare<'a, T: Subject>(
    case: &Element<'a>,
    copies: &[Element<'a>],
    read: impl Fn(&Element<'a>) -> Result<Vec<Sample<'a, T>>>,
) -> Result<Comparison> {
    let mut comparison = Comparison::new(TOLERANCE);
    let samples = read(case)?;
    let mut shaken = copies.iter().map(read).collect::<Result<Vec<_>>>()?;
    for (index, mut sample) in samples.into_iter().enumerate() {
        comparison.samples += 1;
        let Sample {
            element,
            subject,
            expected,
        } = &mut sample;
        let copies = shaken.iter_mut().map(|copy| &mut copy[index].subject);
        let mut copies: Vec<_> = copies.collect();
        foundation_noise(element, subject, &mut copies)?;
        comparison.by(&subject.routes());
        for (name, expected) in expected {
            let (routes, noise) =
                routes_and_noise(element, (name, expected), subject, &mut copies)?;
            comparison.compare(name, expected, &routes, &noise)?;
        }
    }
    Ok(comparison)
}
