//! Sensors of a model: where they are attached, and what they measure.

use super::frame::FrameInfo;
use crate::error::Place;

/// A sensor as the user named it.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorSpec {
    /// Name.
    pub name: String,
    /// What it measures.
    pub rule: SensorRule,
    /// Where it was defined.
    pub place: Place,
}

impl SensorSpec {
    /// A sensor with this name.
    pub fn new(name: &str, rule: SensorRule) -> Self {
        SensorSpec {
            name: name.into(),
            rule,
            place: Place::default(),
        }
    }
}

/// What a sensor measures, links and joints by name.
#[derive(Clone, Debug, PartialEq)]
pub enum SensorRule {
    /// Angular velocity and specific force: [`SensorKind::Imu`].
    Imu {
        /// The link or frame it is fixed to, in whose axes it measures.
        frame: String,
    },
    /// The wrench through a joint: [`SensorKind::ForceTorque`].
    ForceTorque {
        /// The joint; not a fixed one.
        joint: String,
        /// The link or frame in whose axes, and about whose origin, it measures; `None` means the joint's child.
        frame: Option<String>,
    },
}

/// A sensor of a model.
#[derive(Clone, Debug)]
pub struct Sensor {
    /// Name.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
    /// Where it is.
    pub frame: FrameInfo,
}

/// What a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensorKind {
    /// Angular velocity ω and specific force s of its frame, in its own axes:
    ///
    /// ```text
    /// s = a − g          a the acceleration of its origin, g the gravity there
    /// ```
    ///
    /// At rest s has the magnitude g and points up, in free fall it is zero. Where the world's axes turn with an orbit
    /// ([`GravityGradient`](super::GravityGradient)), ω and a are those in inertial axes.
    Imu,
    /// Force f and torque n with which the parent of a joint acts on its child, including efforts of the joint, in axes of the frame
    /// and about its origin.
    ForceTorque {
        /// The body that the joint carries.
        body: usize,
    },
}

impl Sensor {
    /// Its type: `imu` or `force_torque`.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            SensorKind::Imu => "imu",
            SensorKind::ForceTorque { .. } => "force_torque",
        }
    }

    /// Names and units of the six numbers it measures.
    pub fn measures(&self) -> [(&'static str, &'static str); 6] {
        match self.kind {
            SensorKind::Imu => [
                ("wx", "rad/s"),
                ("wy", "rad/s"),
                ("wz", "rad/s"),
                ("sx", "m/s²"),
                ("sy", "m/s²"),
                ("sz", "m/s²"),
            ],
            SensorKind::ForceTorque { .. } => [
                ("fx", "N"),
                ("fy", "N"),
                ("fz", "N"),
                ("nx", "N·m"),
                ("ny", "N·m"),
                ("nz", "N·m"),
            ],
        }
    }
}
