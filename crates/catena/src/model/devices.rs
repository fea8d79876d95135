//! Actuators and sensors of a model: the freedoms, bodies and frames that their descriptions name.

use super::tree::{BodyInfo, Tree};
use super::{Actuator, ActuatorSpec, JointKind, Model, Sensor, SensorKind, SensorRule, SensorSpec};
use crate::error::{Error, ErrorKind, Result};

impl ActuatorSpec {
    /// Finds the freedom it drives.
    pub(super) fn resolve(&self, tree: &Tree, before: &[Actuator]) -> Result<Actuator> {
        let refuse = |message: String| {
            Error::new(
                ErrorKind::Model,
                format!("actuator `{}`: {message}", self.name),
            )
            .at(self.place.clone())
        };
        let Some(k) = tree.dofs.iter().position(|dof| dof.name == self.joint) else {
            let error = refuse(format!("there is no freedom `{}`", self.joint));
            let prefix = format!("{}.", self.joint);
            let own: Vec<&str> = tree
                .dofs
                .iter()
                .map(|dof| dof.name.as_str())
                .filter(|name| name.starts_with(&prefix))
                .collect();
            return Err(match own.is_empty() {
                false => error.hint(format!("its freedoms are {}", own.join(", "))),
                true => error.hint("freedoms are called like their joints; fixed joints have none"),
            });
        };
        let dof = &tree.dofs[k];
        let Some(coordinate) = plain_coordinate(&tree.bodies[dof.body], k) else {
            return Err(refuse(format!(
                "`{}` has no coordinate of its own that it could drive",
                self.joint
            ))
            .hint("actuators drive joints whose positions are plain coordinates"));
        };
        if let Some(other) = before.iter().find(|other| other.freedom == k) {
            return Err(refuse(format!(
                "`{}` is driven by `{}` already",
                self.joint, other.name
            )));
        }
        for (what, value, zero_is_sound) in [
            ("gear", Some(self.gear), false),
            ("rotor_inertia", Some(self.rotor_inertia), true),
            ("max_effort", self.max_effort, false),
            ("max_velocity", self.max_velocity, false),
            ("lag", Some(self.lag), true),
        ] {
            let Some(value) = value else { continue };
            // the sign of a gear only gives the direction of the rotor
            let size = if what == "gear" { value.abs() } else { value };
            if !size.is_finite() || size < 0.0 || (size == 0.0 && !zero_is_sound) {
                let sound = if zero_is_sound {
                    "≥ 0"
                } else {
                    "other than 0"
                };
                let sound = if what.starts_with("max") {
                    "> 0"
                } else {
                    sound
                };
                return Err(refuse(format!(
                    "{what} must be a finite number {sound}, not {value}"
                )));
            }
        }
        Ok(Actuator {
            name: self.name.clone(),
            freedom: k,
            coordinate,
            gear: self.gear,
            rotor_inertia: self.rotor_inertia,
            max_effort: self.max_effort.or(given(dof.max_effort)),
            max_velocity: self.max_velocity.or(given(dof.max_velocity)),
            lag: self.lag,
        })
    }
}

/// The position coordinate of a freedom; none where a quaternion takes its place.
fn plain_coordinate(body: &BodyInfo, freedom: usize) -> Option<usize> {
    let kind: JointKind = body.kind;
    let rank = freedom - body.v;
    (kind.quaternion().is_none() && rank < kind.nq()).then_some(body.q + rank)
}

/// Exporters write a limit of 0 where none is known.
fn given(limit: Option<f64>) -> Option<f64> {
    limit.filter(|limit| *limit > 0.0)
}

impl<P> Model<P> {
    /// The actuators: those that the model names. A model that names none has one on every joint with plain coordinates,
    /// within the limits of effort and speed of that joint; a limit of 0 is taken as not given.
    pub fn actuators(&self) -> Vec<Actuator> {
        let tree = self.tree();
        if !tree.actuators.is_empty() {
            return tree.actuators.clone();
        }
        let freedoms = tree.dofs.iter().enumerate();
        freedoms
            .filter_map(|(k, dof)| {
                Some(Actuator {
                    name: dof.name.clone(),
                    freedom: k,
                    coordinate: plain_coordinate(&tree.bodies[dof.body], k)?,
                    gear: 1.0,
                    rotor_inertia: 0.0,
                    max_effort: given(dof.max_effort),
                    max_velocity: given(dof.max_velocity),
                    lag: 0.0,
                })
            })
            .collect()
    }
}

impl SensorSpec {
    /// Resolves the link, frame or joint it is attached to.
    pub(super) fn resolve(&self, tree: &Tree, before: &[Sensor]) -> Result<Sensor> {
        let refuse = |message: String| {
            Error::new(
                ErrorKind::Model,
                format!("sensor `{}`: {message}", self.name),
            )
            .at(self.place.clone())
        };
        if self.name.is_empty() {
            let message = "a sensor has no name";
            return Err(Error::new(ErrorKind::Model, message).at(self.place.clone()));
        }
        if before.iter().any(|other| other.name == self.name) {
            let message = format!("two sensors are called `{}`", self.name);
            return Err(Error::new(ErrorKind::Model, message).at(self.place.clone()));
        }
        let frame = |name: &str| {
            tree.frame(name).cloned().ok_or_else(|| {
                refuse(format!("there is no link or frame `{name}`"))
                    .hint("`catena info` lists the frames")
            })
        };
        match &self.rule {
            SensorRule::Imu { frame: name } => Ok(Sensor {
                name: self.name.clone(),
                kind: SensorKind::Imu,
                frame: frame(name)?,
            }),
            SensorRule::ForceTorque { joint, frame: name } => {
                let known = (1..tree.bodies.len()).find(|&i| tree.bodies[i].joint == *joint);
                let Some(body) = known else {
                    return Err(refuse(format!("there is no joint `{joint}` that moves"))
                        .hint("links joined by a fixed joint are one body: loads inside it are not computed"));
                };
                let frame = match name {
                    Some(name) => frame(name)?,
                    None => frame(&tree.bodies[body].name)?,
                };
                let parent = tree.bodies[body].parent;
                if ![body, parent].contains(&frame.body) {
                    return Err(refuse(format!(
                        "frame `{}` is on neither side of joint `{joint}`",
                        frame.name
                    )));
                }
                Ok(Sensor {
                    name: self.name.clone(),
                    kind: SensorKind::ForceTorque { body },
                    frame,
                })
            }
        }
    }
}

impl<P> Model<P> {
    /// The sensors that the model names.
    pub fn sensors(&self) -> &[Sensor] {
        &self.tree().sensors
    }
}
