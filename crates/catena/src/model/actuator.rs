//! Actuators: which joints are driven, and the limits of their drives.

use crate::error::Place;

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
    /// Largest effort, N·m or N; `None` means the joint's own limit applies, if it has one.
    pub max_effort: Option<f64>,
    /// Largest speed, rad/s or m/s; `None` means the joint's own limit applies, if it has one.
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
