//! The states a command works on: typed, read from a file, or random.

use crate::coordinates::{Coordinate, Quantity, follower, position_of_freedom};
use crate::situation::{Situation, Wrench, find_frame};
use crate::{limits, names, number, output, state_file};
use catena::error::{Error, ErrorKind, Result};
use catena::{Model, State};
use clap::Args;
use std::path::PathBuf;

/// Positions and velocities, or where to find them. What is left out is as the model begins: zero (quaternions: identity) unless
/// its joints name a `start`.
#[derive(Args, Debug)]
pub struct StateArgument {
    /// Positions, in rad and m; also 90deg, pi/2, -3*pi/4; all in order, or some by name: elbow=30deg
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        help_heading = "State"
    )]
    q: Option<String>,

    /// Velocities, in rad/s and m/s; all in order, or some by name
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        help_heading = "State"
    )]
    v: Option<String>,

    /// File with one state or many: JSON or CSV
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["q", "v"],
        help_heading = "State"
    )]
    state: Option<PathBuf>,

    /// Random state of this seed
    #[arg(
        long,
        value_name = "SEED",
        conflicts_with_all = ["q", "v", "state"],
        help_heading = "State"
    )]
    random: Option<u64>,

    /// Number of random states: SEED, SEED + 1, …
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "random",
        help_heading = "State"
    )]
    states: u64,

    /// Wrench on a frame: world axes, force at the frame's origin; may be repeated
    #[arg(
        long,
        value_name = "FRAME:nx,ny,nz,fx,fy,fz",
        allow_hyphen_values = true,
        help_heading = "State"
    )]
    wrench: Vec<String>,
}

/// Accelerations.
#[derive(Args, Debug)]
pub struct AccelerationArgument {
    /// Accelerations, in rad/s² and m/s²
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        conflicts_with_all = ["state", "random"],
        help_heading = "State"
    )]
    pub a: Option<String>,
}

/// Efforts.
#[derive(Args, Debug)]
pub struct EffortArgument {
    /// Efforts of the joints, in N·m and N
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        conflicts_with_all = ["state", "random"],
        help_heading = "State"
    )]
    pub tau: Option<String>,
}

impl StateArgument {
    /// The seed, where the states are random.
    pub fn seed(&self) -> Option<u64> {
        self.random
    }

    /// Whether velocities are given, by `--v` or a file. Otherwise they are the initial ones of the model, or random.
    pub fn gives_velocities(&self) -> bool {
        self.v.is_some() || self.state.is_some()
    }

    /// The states, with the given accelerations and efforts.
    pub fn situations(
        &self,
        model: &Model,
        a: Option<&String>,
        tau: Option<&String>,
    ) -> Result<Vec<Situation>> {
        let wrenches = self.wrenches(model)?;
        let mut situations = if let Some(path) = &self.state {
            state_file::read(path, model)?
        } else if let Some(seed) = self.random {
            limits::count("--states", self.states, 1_000_000)?;
            limits::memory("states", self.states as usize, model.nq() + 3 * model.nv())?;
            (0..self.states)
                .map(|k| Situation::random(model, seed.wrapping_add(k)))
                .collect()
        } else {
            vec![self.typed(model, a, tau)?]
        };
        for situation in &mut situations {
            situation.wrenches.extend_from_slice(&wrenches);
        }
        if self.random.is_none() {
            warn_outside(model, situations.iter().map(|situation| &situation.state));
        }
        Ok(situations)
    }

    fn typed(&self, model: &Model, a: Option<&String>, tau: Option<&String>) -> Result<Situation> {
        let mut situation = Situation::start(model);
        let read = |quantity, text: Option<&String>, default: &[f64]| match text {
            Some(text) => typed_list(model, quantity, text),
            None => Ok(default.to_vec()),
        };
        let q = read(Quantity::Position, self.q.as_ref(), &situation.state.q)?;
        let v = read(Quantity::Velocity, self.v.as_ref(), &situation.state.v)?;
        situation.state = State::new(model, &q, &v)?;
        if let Some(text) = &self.v {
            let names: Vec<&str> = text
                .split(',')
                .filter_map(|part| part.split_once('='))
                .map(|(name, _)| name.trim())
                .collect();
            let is_named = |&k: &usize| names.contains(&model.freedom(k).name.as_str());
            situation.named = (0..model.nv()).filter(is_named).collect();
        }
        situation.acceleration = read(Quantity::Acceleration, a, &situation.acceleration)?;
        situation.effort = read(Quantity::Effort, tau, &situation.effort)?;
        Ok(situation)
    }

    fn wrenches(&self, model: &Model) -> Result<Vec<Wrench>> {
        self.wrench
            .iter()
            .map(|text| {
                let Some((frame, numbers)) = text.rsplit_once(':') else {
                    return Err(Error::new(
                        ErrorKind::Input,
                        format!("--wrench: `{text}` names no frame"),
                    )
                    .hint("write --wrench FRAME:nx,ny,nz,fx,fy,fz (N·m and N, world axes)"));
                };
                find_frame(model, frame)?;
                let [nx, ny, nz, fx, fy, fz] = number::vector::<6>("--wrench", numbers)?;
                Ok(Wrench {
                    frame: frame.into(),
                    moment: [nx, ny, nz],
                    force: [fx, fy, fz],
                })
            })
            .collect()
    }
}

/// Reads a list of one of the quantities of a state, as typed after `--q` and the like: all in order, or some by name.
pub fn typed_list(model: &Model, quantity: Quantity, text: &str) -> Result<Vec<f64>> {
    let neutral = match quantity {
        Quantity::Position => State::start(model).q,
        Quantity::Velocity => State::start(model).v,
        _ => vec![0.0; model.nv()],
    };
    let what = format!("--{}", quantity.key());
    for name in text.split(',').filter_map(|part| part.split_once('=')) {
        let name = name.0.trim();
        if let Some((how, advice)) = follower(model, name) {
            let message = format!("{what}: `{name}` follows others, {how}");
            return Err(Error::new(ErrorKind::Input, message).hint(advice));
        }
    }
    typed_or_named(&what, text, &quantity.coordinates(model), &neutral)
}

/// Reads numbers that belong to these coordinates: all in order, or some by name (`elbow=30deg,wrist=0.1`), the others stay as
/// they are.
pub fn typed_or_named(
    what: &str,
    text: &str,
    coordinates: &[Coordinate],
    otherwise: &[f64],
) -> Result<Vec<f64>> {
    if !text.contains('=') {
        return typed_numbers(what, text, coordinates);
    }
    let mut numbers = otherwise.to_vec();
    let mut seen = vec![false; numbers.len()];
    for part in text.split(',') {
        let refuse = |message: String| Error::new(ErrorKind::Input, format!("{what}: {message}"));
        let Some((name, written)) = part.split_once('=') else {
            return Err(refuse(format!("`{part}` names no coordinate"))
                .hint("give all numbers in order, or each with its name: elbow=30deg,wrist=0.1"));
        };
        let name = name.trim();
        let Some(k) = coordinates.iter().position(|c| c.name == name) else {
            let known = || coordinates.iter().map(|c| c.name.as_str());
            return Err(refuse(format!("there is no `{name}`")).hint(
                match names::nearest(name, known()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", names::first_few(known())),
                },
            ));
        };
        if std::mem::replace(&mut seen[k], true) {
            return Err(refuse(format!("`{name}` is given twice")));
        }
        let one = std::slice::from_ref(&coordinates[k]);
        numbers[k] = typed_numbers(what, written, one)?[0];
    }
    Ok(numbers)
}

/// Warns of the first state with positions outside their limits.
pub fn warn_outside<'a>(model: &Model, states: impl IntoIterator<Item = &'a State>) {
    if let Some(warning) = outside(model, states) {
        output::complain(&format!("warning: {warning}"));
    }
}

/// The warning about the first state with positions outside their limits.
fn outside<'a>(model: &Model, states: impl IntoIterator<Item = &'a State>) -> Option<String> {
    if model.couplings().is_some() {
        // coordinates that follow others have limits, too
        let tree = model.clone().open_tree();
        let all: Vec<State> = states.into_iter().map(|one| one.of_tree(model)).collect();
        return outside(&tree, &all);
    }
    let limited: Vec<(usize, f64, f64)> = model
        .tree()
        .dofs
        .iter()
        .zip(position_of_freedom(model))
        .filter_map(|(dof, q)| {
            let (low, high) = dof.limits?;
            Some((q?, low, high))
        })
        .collect();
    let is_beyond = |state: &State, &(k, low, high): &(usize, f64, f64)| {
        let slack = 1e-9 * (1.0 + state.q[k].abs());
        state.q[k] < low - slack || state.q[k] > high + slack
    };
    let state = states
        .into_iter()
        .find(|state| limited.iter().any(|limits| is_beyond(state, limits)))?;
    let mut found = limited.iter().filter(|limits| is_beyond(state, limits));
    let &(k, low, high) = found.next()?;
    let value = state.q[k];
    let coordinate = &Quantity::Position.coordinates(model)[k];
    let unit = coordinate.unit;
    let mut text = format!(
        "`{}` is at {} {unit}, outside its limits {} to {} {unit}",
        coordinate.name,
        number::six(value),
        number::six(low),
        number::six(high)
    );
    match found.count() {
        0 => {}
        more => {
            text += &format!(
                ", and so {}",
                number::counted(more, "other is", "others are")
            );
        }
    }
    if coordinate.is_angle && value.abs() > std::f64::consts::TAU {
        text += &format!(
            "; plain numbers are radians: write {}deg for degrees",
            number::six(value)
        );
    }
    Some(text)
}

/// Reads a list of one of the quantities of a state; `what` names it in messages.
pub fn numbers_of(model: &Model, quantity: Quantity, what: &str, text: &str) -> Result<Vec<f64>> {
    typed_numbers(what, text, &quantity.coordinates(model))
}

/// Reads a list of numbers that belong to these coordinates.
pub fn typed_numbers(what: &str, text: &str, coordinates: &[Coordinate]) -> Result<Vec<f64>> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() != coordinates.len() {
        let order: Vec<String> = coordinates
            .iter()
            .take(13)
            .map(|c| match c.unit {
                "" => c.name.clone(),
                unit => format!("{} ({unit})", c.name),
            })
            .collect();
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "{what}: {} needed, {} given",
                number::counted(coordinates.len(), "number is", "numbers are"),
                match parts.len() {
                    1 => "1 was".to_string(),
                    n => format!("{n} were"),
                }
            ),
        )
        .hint(format!(
            "in this order: {}",
            names::first_few(order.iter().map(String::as_str))
        )));
    }
    coordinates
        .iter()
        .zip(parts)
        .map(|(coordinate, part)| match number::parse(part) {
            None => Err(number::not_a_number(what, part)),
            Some(typed) if typed.is_angle && !coordinate.is_angle => {
                Err(not_an_angle(what, part, &coordinate.name, coordinate.unit))
            }
            Some(typed) => Ok(typed.value),
        })
        .collect()
}

/// The error for an angle in place of another quantity.
pub fn not_an_angle(what: &str, text: &str, name: &str, unit: &str) -> Error {
    let kind = match unit {
        "" => "a component of a quaternion".to_string(),
        unit => format!("in {unit}"),
    };
    Error::new(
        ErrorKind::Input,
        format!(
            "{what}: `{}` is an angle, but `{name}` is {kind}",
            text.trim()
        ),
    )
}
