//! States as JSON.

use super::{line, whole};
use crate::coordinates::Quantity;
use crate::situation::{Situation, Wrench, find_frame};
use crate::state_argument::not_an_angle;
use crate::{names, number};
use catena::error::{Error, ErrorKind, Result};
use catena::spatial::{Mat3, Motion, Pose, Vec3};
use catena::{Base, Model, State};
use serde_json::{Map, Value};
use std::path::Path;

/// Keys of a state; `checks` is written by the program itself with a result.
const KEYS: [&str; 8] = ["t", "q", "v", "a", "tau", "base", "wrenches", "checks"];

/// Reads one state, a list of states, or the output of `--json`.
pub fn read(text: &str, path: &Path, model: &Model) -> Result<Vec<Situation>> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let what = message.split(" at line").next().unwrap_or(&message);
        Error::new(ErrorKind::Syntax, format!("not JSON: {what}")).at(line(path, error.line()))
    })?;
    let states = match &value {
        Value::Array(states) => states.as_slice(),
        // what `--json` printed
        Value::Object(object) if object.contains_key("states") => match &object["states"] {
            Value::Array(states) => states.as_slice(),
            _ => {
                return Err(Error::new(ErrorKind::Syntax, "`states` is not a list").at(whole(path)));
            }
        },
        _ => std::slice::from_ref(&value),
    };
    states
        .iter()
        .enumerate()
        .map(|(index, state)| {
            json_state(state, model).map_err(|error| {
                let mut told = Error::new(
                    error.kind(),
                    match states.len() {
                        1 => error.message().to_string(),
                        _ => format!("state {}: {}", index + 1, error.message()),
                    },
                )
                .at(whole(path));
                if let Some(hint) = error.advice() {
                    told = told.hint(hint);
                }
                told
            })
        })
        .collect()
}

fn json_state(value: &Value, model: &Model) -> Result<Situation> {
    let object = object_with(value, "a state", &KEYS)?;
    let mut situation = Situation::start(model);
    if let Some(time) = object.get("t").filter(|time| !time.is_null()) {
        situation.time = Some(json_number("t", time)?.value);
    }
    let list = |quantity: Quantity, default: &[f64]| match object.get(quantity.key()) {
        Some(list) => json_coordinates(model, quantity, list),
        None => Ok(default.to_vec()),
    };
    let q = list(Quantity::Position, &situation.state.q)?;
    let v = list(Quantity::Velocity, &situation.state.v)?;
    situation.state = State::new(model, &q, &v)?;
    situation.acceleration = list(Quantity::Acceleration, &situation.acceleration)?;
    situation.effort = list(Quantity::Effort, &situation.effort)?;
    if let Some(base) = object.get("base") {
        situation.state.base = json_base(base)?;
    }
    if let Some(wrenches) = object.get("wrenches") {
        let Value::Array(wrenches) = wrenches else {
            return Err(syntax("`wrenches` is not a list"));
        };
        for wrench in wrenches {
            situation.wrenches.push(json_wrench(wrench, model)?);
        }
    }
    Ok(situation)
}

fn json_coordinates(model: &Model, quantity: Quantity, value: &Value) -> Result<Vec<f64>> {
    let key = quantity.key();
    let coordinates = quantity.coordinates(model);
    let Value::Array(items) = value else {
        return Err(syntax(format!("`{key}` is not a list of numbers")));
    };
    if items.len() != coordinates.len() {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "`{key}`: {} needed, {} given",
                number::counted(coordinates.len(), "number is", "numbers are"),
                items.len()
            ),
        )
        .hint(format!(
            "in this order: {}",
            names::first_few(coordinates.iter().map(|c| c.name.as_str()))
        )));
    }
    coordinates
        .iter()
        .zip(items)
        .map(|(coordinate, item)| {
            let typed = json_number(key, item)?;
            match typed.is_angle && !coordinate.is_angle {
                true => Err(not_an_angle(
                    &format!("`{key}`"),
                    item.as_str().unwrap_or_default(),
                    &coordinate.name,
                    coordinate.unit,
                )),
                false => Ok(typed.value),
            }
        })
        .collect()
}

/// A number, or a string with a number in it such as `"90deg"`.
fn json_number(key: &str, value: &Value) -> Result<number::Typed> {
    let typed = match value {
        Value::Number(number) => number.as_f64().map(|value| number::Typed {
            value,
            is_angle: false,
        }),
        Value::String(text) => number::parse(text),
        _ => None,
    };
    typed.ok_or_else(|| number::not_a_number(&format!("`{key}`"), &value.to_string()))
}

fn json_base(value: &Value) -> Result<Base<f64>> {
    let object = object_with(
        value,
        "`base`",
        &[
            "position",
            "quaternion",
            "angular_velocity",
            "linear_velocity",
            "angular_acceleration",
            "linear_acceleration",
        ],
    )?;
    let vector = |key: &str| -> Result<Vec3<f64>> {
        object.get(key).map_or(Ok(Vec3::zero()), |value| {
            json_vector::<3>(key, value).map(Vec3::from_array)
        })
    };
    let mut p = match object.get("quaternion") {
        Some(value) => json_vector::<4>("quaternion", value)?,
        None => [1.0, 0.0, 0.0, 0.0],
    };
    let length = p.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() > 1e-3 {
        return Err(Error::new(
            ErrorKind::Input,
            format!("`base`: its quaternion has length {length:.6}, not 1"),
        )
        .hint("give (w, x, y, z) of unit length; identity is 1, 0, 0, 0"));
    }
    p = p.map(|x| x / length);
    Ok(Base {
        pose: Pose::new(Mat3::from_quaternion(p), vector("position")?),
        velocity: Motion::new(vector("angular_velocity")?, vector("linear_velocity")?),
        acceleration: Motion::new(
            vector("angular_acceleration")?,
            vector("linear_acceleration")?,
        ),
    })
}

fn json_wrench(value: &Value, model: &Model) -> Result<Wrench> {
    let object = object_with(value, "a wrench", &["frame", "moment", "force"])?;
    let Some(Value::String(frame)) = object.get("frame") else {
        return Err(syntax("a wrench names no `frame`"));
    };
    find_frame(model, frame)?;
    let vector = |key: &str| match object.get(key) {
        Some(value) => json_vector::<3>(key, value),
        None => Ok([0.0; 3]),
    };
    Ok(Wrench {
        frame: frame.clone(),
        moment: vector("moment")?,
        force: vector("force")?,
    })
}

fn json_vector<const N: usize>(key: &str, value: &Value) -> Result<[f64; N]> {
    let numbers: Option<Vec<f64>> = match value {
        Value::Array(items) => items.iter().map(Value::as_f64).collect(),
        _ => None,
    };
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| syntax(format!("`{key}` is not a list of {N} numbers")))
}

fn object_with<'a>(value: &'a Value, what: &str, known: &[&str]) -> Result<&'a Map<String, Value>> {
    let Value::Object(object) = value else {
        return Err(syntax(format!("{what} is not an object")));
    };
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(object),
        Some(key) => {
            let hint = match names::nearest(key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("expected one of: {}", known.join(", ")),
            };
            Err(syntax(format!("{what} has an unknown key `{key}`")).hint(hint))
        }
    }
}

fn syntax(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Syntax, what)
}
