//! Inputs and events: controllers, efforts, wrenches, limits and planes.

use super::process::Process;
use super::{Arguments, ControllerKind, base};
use crate::coordinates::{Coordinate, Quantity};
use crate::expression::{Expression, Motion};
use crate::situation::{Situation, find_frame};
use crate::state_argument::{self, typed_list};
use crate::{json, names, number, state_file};
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Actuator, BodyInfo, Sensor};
use catena::simulate::{Controller, EventFunction, FrameWrench, Gains, Inputs, Law, Table};
use catena::spatial::{Force, Vec3};
use catena::trajectory::{PointToPoint, Profile, Reference, Sample, Sampled};
use catena::{Model, State};
use serde_json::{Value, json};
use std::path::Path;

/// Inputs of the model, for the library and for the metadata.
pub struct Drive {
    /// The inputs, for the library.
    pub inputs: Inputs,
    /// The controller, for the metadata of the run.
    pub description: Value,
    /// The motion of the base, for the metadata; null if it is at rest.
    pub base: Value,
}

pub(super) fn refusal(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Input, message)
}

impl Arguments {
    /// What acts on the model.
    pub fn drive(&self, model: &Model, start: &Situation) -> Result<Drive> {
        let wrenches = start
            .wrenches
            .iter()
            .map(|wrench| {
                let frame = frame_number(model, &wrench.frame)?;
                if model.tree().frames[frame].body == 0 {
                    return Err(refusal(format!(
                        "a wrench on frame `{}` does nothing: it is fixed to the ground",
                        wrench.frame
                    )));
                }
                let [moment, force] = [wrench.moment, wrench.force].map(Vec3::from_array);
                Ok(FrameWrench {
                    frame,
                    wrench: Force::new(moment, force),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let is_controlled = self.controller.is_some()
            || self.controller_command.is_some()
            || !self.effort.is_empty();
        let actuators = self.actuators(model);
        if !is_controlled && (self.rate.is_some() || self.unlimited) {
            return Err(refusal("--rate and --unlimited: there is no controller")
                .hint("give --controller, --effort or --controller-command"));
        }
        let (controller, mut description) = if let Some(kind) = self.controller {
            self.controller(kind, model, &actuators, &start.state)?
        } else if let Some(command) = &self.controller_command {
            self.process(command, model, &actuators)?
        } else if !self.effort.is_empty() {
            self.formulas(model, &actuators)?
        } else if let Some(path) = &self.efforts {
            let rows = state_file::read_efforts(path, model)?;
            let times: Vec<f64> = rows.iter().map(|row| row.time.unwrap_or(0.0)).collect();
            let efforts: Vec<Vec<f64>> = rows.into_iter().map(|row| row.effort).collect();
            let description = json!({
                "kind": "efforts",
                "file": path.display().to_string(),
                "rows": times.len(),
                "check": json::checksum(times.iter().chain(efforts.iter().flatten())),
            });
            let table =
                Table::new(times, efforts).map_err(|error| error.at(state_file::whole(path)))?;
            (Controller::Table(table), description)
        } else if let Some(text) = &self.tau {
            let tau = typed_list(model, Quantity::Effort, text)?;
            let description = json!({"kind": "constant", "tau": json::numbers(&tau)});
            (Controller::Constant(tau), description)
        } else {
            (Controller::None, Value::Null)
        };
        if is_controlled {
            description["rate"] = self.rate.into();
            description["unlimited"] = self.unlimited.into();
        }
        let (motion, base) = base::motion(&self.base)?;
        Ok(Drive {
            inputs: Inputs {
                controller,
                actuators: is_controlled.then_some(actuators),
                rate: self.rate,
                wrenches,
                stops: self.stops(model)?,
                base: motion,
                ..Inputs::default()
            },
            description,
            base,
        })
    }

    fn controller(
        &self,
        kind: ControllerKind,
        model: &Model,
        actuators: &[Actuator],
        start: &State,
    ) -> Result<(Controller, Value)> {
        if kind == ControllerKind::Gravity {
            if self.to.is_some() || self.move_time.is_some() || self.trajectory.is_some() {
                return Err(refusal(
                    "--to, --move-time and --trajectory: gravity compensation follows no motion",
                )
                .hint("it holds the weight; `pd` and `computed-torque` follow a motion"));
            }
            return Ok((Controller::GravityCompensation, json!({"kind": "gravity"})));
        }
        let plain = plain_coordinates(model);
        if plain.is_empty() || actuators.is_empty() {
            return Err(refusal(format!(
                "--controller: `{}` has no joint with plain coordinates to control",
                model.name()
            )));
        }
        let stiffness = gains("--kp", self.kp.as_deref(), 100.0, model, &plain)?;
        let damping = gains("--kd", self.kd.as_deref(), 20.0, model, &plain)?;
        let is_pd = kind == ControllerKind::Pd;
        let (motion, mut description) = match &self.trajectory {
            Some(path) => followed(path, model)?,
            None => self.to_a_point(model, &plain, actuators, start)?,
        };
        description["kind"] = if is_pd { "pd" } else { "computed-torque" }.into();
        for (key, gains) in [("stiffness", &stiffness), ("damping", &damping)] {
            description[key] = match gains {
                Gains::Same(gain) => (*gain).into(),
                Gains::Each(gains) => json::numbers(gains),
            };
        }
        let controller = match is_pd {
            true => Controller::ProportionalDerivative {
                motion,
                stiffness,
                damping,
            },
            false => Controller::ComputedTorque {
                motion,
                stiffness,
                damping,
            },
        };
        Ok((controller, description))
    }

    /// The motion along a cycloid from the start.
    fn to_a_point(
        &self,
        model: &Model,
        plain: &[usize],
        actuators: &[Actuator],
        start: &State,
    ) -> Result<(Reference, Value)> {
        let from: Vec<f64> = plain.iter().map(|&k| start.q[k]).collect();
        let to = match &self.to {
            None => from.clone(),
            Some(text) => {
                let all = Quantity::Position.coordinates(model);
                let wanted: Vec<_> = plain.iter().map(|&k| all[k].clone()).collect();
                let to = state_argument::typed_or_named("--to", text, &wanted, &from)?;
                let passive = |k: &usize| !actuators.iter().any(|a| a.coordinate == plain[*k]);
                // a list names all joints, including those that stay in place
                if let Some(k) = (0..plain.len()).filter(passive).find(|&k| to[k] != from[k]) {
                    return Err(
                        refusal(format!("--to: `{}` has no actuator", wanted[k].name)).hint(
                            format!(
                                "the actuators drive {}",
                                names::first_few(driven_names(model, actuators))
                            ),
                        ),
                    );
                }
                let mut target = start.clone();
                for (&k, to) in plain.iter().zip(&to) {
                    target.q[k] = *to;
                }
                state_argument::warn_outside(model, [&target]);
                to
            }
        };
        let duration = self.move_time.unwrap_or(self.duration);
        let motion = PointToPoint::new(Profile::Cycloid, &from, &to, duration)?;
        let description = json!({
            "from": json::numbers(&from),
            "to": json::numbers(&to),
            "move_time": duration,
        });
        Ok((motion.into(), description))
    }

    /// The actuators whose limits apply.
    fn actuators(&self, model: &Model) -> Vec<Actuator> {
        let mut actuators = model.actuators();
        if self.unlimited {
            for actuator in &mut actuators {
                actuator.max_effort = None;
            }
        }
        actuators
    }

    /// Efforts by formulas.
    fn formulas(&self, model: &Model, actuators: &[Actuator]) -> Result<(Controller, Value)> {
        let names = |quantity: Quantity| -> Vec<String> {
            let coordinates = quantity.coordinates(model).into_iter();
            coordinates.map(|coordinate| coordinate.name).collect()
        };
        let [positions, velocities] = [Quantity::Position, Quantity::Velocity].map(names);
        let measures = |sensor: &Sensor| {
            let measures = sensor.measures();
            measures.map(|(measure, _)| format!("{}.{measure}", sensor.name))
        };
        let sensors: Vec<String> = model.sensors().iter().flat_map(measures).collect();
        let mut motion = Motion {
            positions: &positions,
            velocities: &velocities,
            sensors: &sensors,
            looks_at_sensors: false,
        };
        let mut formulas: Vec<(usize, Expression)> = Vec::new();
        for text in &self.effort {
            let Some((name, formula)) = text.split_once('=') else {
                return Err(refusal(format!("--effort: `{text}` names no joint"))
                    .hint("write --effort \"shoulder=2*sin(3*t)-0.5*v.shoulder\""));
            };
            let k = driven(model, actuators, name.trim())?;
            if formulas.iter().any(|(other, _)| *other == k) {
                return Err(refusal(format!(
                    "--effort: `{}` is given twice",
                    name.trim()
                )));
            }
            let formula = formula.trim();
            let expression = Expression::parse(formula, &mut motion).map_err(|error| {
                let message = format!("--effort: {}", error.message());
                let hint = error.advice().map(str::to_string);
                let error = refusal(message);
                hint.map_or(error.clone(), |hint| error.hint(hint))
            })?;
            if motion.looks_at_sensors && self.rate.is_none() {
                return Err(refusal(format!(
                    "--effort: `{formula}` uses a sensor, which needs --rate"
                ))
                .hint("sensor readings depend on the efforts; with --rate 1000 they are taken under the previous ones"));
            }
            formulas.push((k, expression));
        }
        let needs_sensors = motion.looks_at_sensors;
        let law = Law::with_sensors(move |t, state, sensors, tau| {
            let (q, v) = (&state.q, &state.v);
            let sensors = match needs_sensors {
                true => sensors.all()?.as_flattened(),
                false => &[],
            };
            for (k, formula) in &formulas {
                tau[*k] = Motion::value(formula, t, [q, v, sensors]);
            }
            Ok(())
        });
        let description = json!({ "kind": "formulas", "efforts": self.effort });
        Ok((Controller::Own(law), description))
    }

    /// A process as the controller.
    fn process(
        &self,
        command: &str,
        model: &Model,
        actuators: &[Actuator],
    ) -> Result<(Controller, Value)> {
        let timeout = self.controller_timeout;
        if !(timeout > 0.0 && timeout <= 1e6) {
            return Err(refusal(format!(
                "--controller-timeout: a time up to 1e6 s, not {timeout}"
            )));
        }
        let rate = self.rate.unwrap_or_default();
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(refusal(format!("--rate must be positive, not {rate} Hz")));
        }
        let names = driven_names(model, actuators).map(String::from);
        let indices = actuators.iter().map(|actuator| actuator.freedom);
        let process = Process::start(command, model, names.zip(indices).collect(), rate, timeout)?;
        let description = json!({ "kind": "process", "command": command });
        Ok((Controller::Own(Law::new(process)), description))
    }

    /// The events that are reported.
    pub fn events(&self, model: &Model) -> Result<Vec<EventFunction>> {
        let mut events = self.reported_limits(model);
        for text in &self.plane {
            events.push(plane(text, model)?);
        }
        Ok(events)
    }
}

/// Names of the freedoms with an actuator.
fn driven_names<'a>(
    model: &'a Model,
    actuators: &'a [Actuator],
) -> impl Iterator<Item = &'a str> + Clone {
    let dofs = &model.tree().dofs;
    actuators.iter().map(|a| dofs[a.freedom].name.as_str())
}

/// The freedom of this name, which has an actuator.
fn driven(model: &Model, actuators: &[Actuator], name: &str) -> Result<usize> {
    let known = driven_names(model, actuators);
    if let Some(k) = known.clone().position(|known| known == name) {
        return Ok(actuators[k].freedom);
    }
    let is_passive = model.tree().dofs.iter().any(|dof| dof.name == name);
    let hint = match names::nearest(name, known.clone()).filter(|_| !is_passive) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the actuators drive {}", names::first_few(known)),
    };
    Err(refusal(match is_passive {
        true => format!("--effort: `{name}` has no actuator"),
        false => format!("--effort: there is no joint `{name}`"),
    })
    .hint(hint))
}

/// Gains as typed: one for all, one for each coordinate, or some by name.
fn gains(
    what: &str,
    text: Option<&str>,
    otherwise: f64,
    model: &Model,
    plain: &[usize],
) -> Result<Gains> {
    let Some(text) = text else {
        return Ok(Gains::Same(otherwise));
    };
    let all = Quantity::Position.coordinates(model);
    let coordinates: Vec<Coordinate> = plain
        .iter()
        .map(|&k| Coordinate {
            name: all[k].name.clone(),
            unit: "units of effort per unit of motion",
            is_angle: false,
        })
        .collect();
    if !text.contains([',', '=']) {
        let one = state_argument::typed_numbers(what, text, &coordinates[..1])?;
        return Ok(Gains::Same(one[0]));
    }
    let otherwise = vec![otherwise; plain.len()];
    let gains = state_argument::typed_or_named(what, text, &coordinates, &otherwise)?;
    Ok(Gains::Each(gains))
}

/// The motion in a file: its joints with plain coordinates.
fn followed(path: &Path, model: &Model) -> Result<(Reference, Value)> {
    let rows = state_file::read_trajectory(path, model)?;
    let tree = model.tree();
    let bodies = || {
        let all = tree.bodies[1..].iter();
        all.filter(|body| body.kind.quaternion().is_none())
    };
    let samples: Vec<Sample> = rows
        .iter()
        .map(|row| {
            let pick = |numbers: &[f64], of: &dyn Fn(&BodyInfo) -> usize| {
                let ranges = bodies().map(|body| of(body)..of(body) + body.kind.nv());
                ranges.flat_map(|range| numbers[range].to_vec()).collect()
            };
            Sample {
                time: row.time.unwrap_or(0.0),
                q: pick(&row.state.q, &|body| body.q),
                v: pick(&row.state.v, &|body| body.v),
                vdot: pick(&row.acceleration, &|body| body.v),
            }
        })
        .collect();
    let numbers = samples
        .iter()
        .flat_map(|s| s.q.iter().chain(&s.v).chain(&s.vdot).chain([&s.time]));
    let description = json!({
        "file": path.display().to_string(),
        "rows": samples.len(),
        "check": json::checksum(numbers),
    });
    let motion = Sampled::new(samples).map_err(|error| error.at(state_file::whole(path)))?;
    Ok((motion.into(), description))
}

/// A plane as typed.
fn plane(text: &str, model: &Model) -> Result<EventFunction> {
    let Some((name, numbers)) = text.rsplit_once(':') else {
        return Err(refusal(format!("--plane: `{text}` names no frame"))
            .hint("write --plane FRAME:nx,ny,nz,d for the plane n·x = d, world axes"));
    };
    let frame = frame_number(model, name)?;
    let [x, y, z, offset] = number::vector::<4>("--plane", numbers)?;
    if [x, y, z] == [0.0; 3] {
        return Err(refusal("--plane: the normal of the plane is zero"));
    }
    Ok(EventFunction::Plane {
        frame,
        normal: [x, y, z],
        offset,
        name: format!("{name} crosses the plane {numbers}"),
    })
}

fn frame_number(model: &Model, name: &str) -> Result<usize> {
    let found = find_frame(model, name)?;
    let frames = &model.tree().frames;
    Ok(frames
        .iter()
        .position(|frame| std::ptr::eq(frame, found))
        .unwrap_or_else(|| unreachable!("the frame was found among them")))
}

/// Position coordinates of joints without quaternions.
fn plain_coordinates(model: &Model) -> Vec<usize> {
    model.tree().bodies[1..]
        .iter()
        .filter(|body| body.kind.quaternion().is_none())
        .flat_map(|body| body.q..body.q + body.kind.nq())
        .collect()
}
