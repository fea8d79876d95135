//! Collects what a model is built from.

use super::actuator::ActuatorSpec;
use super::constraint::ConstraintSpec;
use super::force::ForceSpec;
use super::sensor::SensorSpec;
use super::specs::{FrameSpec, Inertial, JointSpec, LinkSpec};
use crate::error::Warning;
use crate::spatial::Vec3;

/// Collects links, joints and frames; [`build`](ModelBuilder::build) checks them and builds a [`Model`](crate::Model).
#[derive(Clone, Debug)]
pub struct ModelBuilder {
    /// Name of the model.
    pub name: String,
    /// Gravity, m/s², inertial components.
    pub gravity: Vec3<f64>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// Joints.
    pub joints: Vec<JointSpec>,
    /// Additional frames.
    pub frames: Vec<FrameSpec>,
    /// Constraints in addition to the joints: loops, couplings, drivers.
    pub constraints: Vec<ConstraintSpec>,
    /// Actuators; a model that names none has one on every joint with plain coordinates.
    pub actuators: Vec<ActuatorSpec>,
    /// Force elements: springs, dampers, loads, fields.
    pub forces: Vec<ForceSpec>,
    /// Sensors, whose numbers a run can record.
    pub sensors: Vec<SensorSpec>,
    /// What a reader assumed or left out; shown by `catena info`.
    pub assumptions: Vec<String>,
    /// Warnings of a reader; shown by every command.
    pub warnings: Vec<Warning>,
    /// Inertias that no rigid body can have are intended: they are noted as assumptions instead of warnings.
    pub allow_unphysical: bool,
    /// A freedom along which nothing has inertia gets a warning: inverse dynamics, kinematics and matrices are computed, and
    /// forward dynamics names it. Otherwise it is rejected.
    pub allow_immobile: bool,
    /// Reject inertias that no rigid body can have, and freedoms without inertia even if they are allowed. Negative masses and
    /// non-finite numbers are always rejected.
    pub strict: bool,
}

impl ModelBuilder {
    /// An empty model with standard gravity along −z.
    pub fn new(name: &str) -> Self {
        ModelBuilder {
            name: name.into(),
            gravity: Vec3::new(0.0, 0.0, -9.81),
            links: Vec::new(),
            joints: Vec::new(),
            frames: Vec::new(),
            constraints: Vec::new(),
            actuators: Vec::new(),
            forces: Vec::new(),
            sensors: Vec::new(),
            assumptions: Vec::new(),
            warnings: Vec::new(),
            allow_unphysical: false,
            allow_immobile: false,
            strict: false,
        }
    }

    /// Adds a link.
    pub fn link(&mut self, name: &str, inertial: Inertial) -> &mut Self {
        self.links.push(LinkSpec {
            name: name.into(),
            inertial: Some(inertial),
            ..LinkSpec::default()
        });
        self
    }

    /// Adds a joint.
    pub fn joint(&mut self, joint: JointSpec) -> &mut Self {
        self.joints.push(joint);
        self
    }

    /// Adds a constraint.
    pub fn constraint(&mut self, constraint: ConstraintSpec) -> &mut Self {
        self.constraints.push(constraint);
        self
    }

    /// Adds a force element.
    pub fn force(&mut self, force: ForceSpec) -> &mut Self {
        self.forces.push(force);
        self
    }
}
