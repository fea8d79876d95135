//! Actuators: which joints are driven, and the limits of their drives.

use super::JointKind;
use super::Model;
use super::tree::{BodyInfo, Tree};
use crate::error::{Error, ErrorKind, Place, Result};

/// An actuator as the user named it. Limits are those at the joint, on the output side of the gear.
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorSpec {
    /// Name.
    pub name: String,
    /// The joint it drives: the name of its freedom.
    pub joint: String,
    /// Turns of the rotor per turn of the joint (rad/m for a joint that slides).
    pub gear: f64,
    /// Inertia of the rotor about its own axis, kg·m²: adds gear² times itself to the armature of the joint.
    pub rotor_inertia: f64,
    /// Largest effort, N·m or N; none for the joint's own limit, if it has one.
    pub max_effort: Option<f64>,
    /// Largest speed, rad/s or m/s; none for the joint's own.
    pub max_velocity: Option<f64>,
    /// Time constant T of its effort, T τ̇ = u − τ, s; 0 for an effort without lag.
    pub lag: f64,
    /// Where it was defined.
    pub place: Place,
}

impl ActuatorSpec {
    /// A drive without gear, rotor, lag or limits of its own.
    pub fn new(name: &str, joint: &str) -> Self {
        ActuatorSpec {
            name: name.into(),
            joint: joint.into(),
            gear: 1.0,
            rotor_inertia: 0.0,
            max_effort: None,
            max_velocity: None,
            lag: 0.0,
            place: Place::default(),
        }
    }

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

/// An actuator of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator {
    /// Name.
    pub name: String,
    /// The freedom it drives: index into v.
    pub freedom: usize,
    /// Its coordinate: index into q.
    pub coordinate: usize,
    /// Turns of the rotor per turn of the joint.
    pub gear: f64,
    /// Inertia of the rotor about its own axis, kg·m²; already part of the joint's armature.
    pub rotor_inertia: f64,
    /// Largest effort at the joint, N·m or N.
    pub max_effort: Option<f64>,
    /// Largest speed of the joint, rad/s or m/s.
    pub max_velocity: Option<f64>,
    /// Time constant of its effort, s; 0 for an effort without lag.
    pub lag: f64,
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
