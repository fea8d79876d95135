//! Joints of a URDF file: those of the tree with limits and axes, those that close loops, mimicked ones, and their actuators.

use super::unread::{describe, urdf_name};
use super::{NO_LIMIT, Reading, elements};
use crate::nearest::advice;
use catena::error::{ErrorKind, Result, Warning};
use catena::model::{
    ActuatorSpec, ConstraintSpec, Dof, JointKind, JointSpec, ModelBuilder, RuleSpec,
};
use catena::spatial::{Mat3, Pose, Vec3};
use roxmltree::Node;
use std::collections::HashSet;

impl Reading<'_> {
    pub(super) fn joint(&mut self, element: Node<'_, '_>) -> Result<()> {
        let name = self.attribute(element, "name")?;
        let kind = self.joint_kind(element, name)?;
        self.note_attributes(element, &["name", "type"])?;
        let [origin, parent, child, axis, limit, dynamics, mimic] = self.parts(
            element,
            [
                "origin", "parent", "child", "axis", "limit", "dynamics", "mimic",
            ],
        )?;
        if let Some(mimic) = mimic {
            if kind == JointKind::Fixed {
                self.notes.without_effect("<mimic> of fixed joints");
            } else {
                self.mimic(name, mimic)?;
            }
        }
        let mut joint = JointSpec::new(
            name,
            kind,
            self.link_of(parent, element, "parent")?,
            self.link_of(child, element, "child")?,
        );
        joint.parent_from_joint = self.origin(origin)?;
        joint.place = self.place(element);
        self.axis(&mut joint, axis)?;
        self.limit_and_dynamics(&mut joint, limit, dynamics)?;
        self.builder.joints.push(joint);
        Ok(())
    }

    fn joint_kind(&self, element: Node<'_, '_>, name: &str) -> Result<JointKind> {
        let word = self.attribute(element, "type")?;
        Ok(match word {
            "fixed" => JointKind::Fixed,
            "revolute" => JointKind::Revolute,
            "continuous" => JointKind::Continuous,
            "prismatic" => JointKind::Prismatic,
            "planar" => JointKind::Planar,
            "floating" => JointKind::Free,
            _ => {
                let known = [
                    "fixed",
                    "revolute",
                    "continuous",
                    "prismatic",
                    "planar",
                    "floating",
                ];
                let message = format!("joint `{name}` has the unknown type `{word}`");
                let error = self.error(ErrorKind::Syntax, element, message);
                return Err(error.hint(advice(word, &known)));
            }
        })
    }

    fn link_of<'n>(
        &self,
        reference: Option<Node<'n, '_>>,
        joint: Node<'n, '_>,
        role: &str,
    ) -> Result<&'n str> {
        let Some(reference) = reference else {
            let message = format!("{} has no <{role}>", describe(joint));
            return Err(self.error(ErrorKind::Syntax, joint, message));
        };
        self.only_attributes(reference, &["link"])?;
        self.attribute(reference, "link")
    }

    pub(super) fn axis(&mut self, joint: &mut JointSpec, axis: Option<Node<'_, '_>>) -> Result<()> {
        match axis {
            Some(_) if !joint.kind.has_axis() => {
                let what = format!("<axis> of {} joints", joint.kind);
                self.notes.without_effect(&what);
            }
            Some(axis) => {
                self.only_attributes(axis, &["xyz"])?;
                joint.axes.first = Vec3::from_array(self.three(axis, "xyz")?);
            }
            None => {
                joint.axes.first = Vec3::new(1.0, 0.0, 0.0);
                if joint.kind.has_axis() {
                    self.notes.without_axis.push(joint.name.clone());
                }
            }
        }
        Ok(())
    }

    fn limit_and_dynamics(
        &mut self,
        joint: &mut JointSpec,
        limit: Option<Node<'_, '_>>,
        dynamics: Option<Node<'_, '_>>,
    ) -> Result<()> {
        let mut dof = Dof::default();
        if let Some(dynamics) = dynamics {
            self.known_or_foreign_attributes(dynamics, &["damping", "friction"])?;
            dof.damping = self.number_or(dynamics, "damping", 0.0)?;
            dof.friction = self.number_or(dynamics, "friction", 0.0)?;
            let acts = dof.damping != 0.0 || dof.friction != 0.0;
            if joint.kind.nv() > 1 && acts {
                let message = format!(
                    "<dynamics> of joint `{}`: URDF does not say how damping and friction act in a {} joint",
                    joint.name,
                    urdf_name(joint.kind)
                );
                return Err(self
                    .error(ErrorKind::Unsupported, dynamics, message)
                    .hint("set both to 0, or convert the model to TOML and give a number for each freedom"));
            }
        }
        if let Some(limit) = limit {
            self.note_attributes(limit, &["lower", "upper", "effort", "velocity"])?;
            let given = |key| limit.attribute(key).is_some();
            if given("lower") || given("upper") {
                let lower = self.number_or(limit, "lower", 0.0)?;
                let upper = self.number_or(limit, "upper", 0.0)?;
                let is_none = lower <= -NO_LIMIT && upper >= NO_LIMIT;
                dof.limits = (!is_none).then_some((lower, upper));
            }
            if given("effort") {
                let most = self.number(limit, "effort")?;
                dof.max_effort = (most < NO_LIMIT).then_some(most);
            }
            if given("velocity") {
                let most = self.number(limit, "velocity")?;
                dof.max_velocity = (most < NO_LIMIT).then_some(most);
            }
        }
        match joint.kind {
            JointKind::Revolute | JointKind::Prismatic if limit.is_none() => {
                self.notes.without_limit.push(joint.name.clone());
            }
            JointKind::Continuous if dof.limits.is_some() => {
                dof.limits = None;
                self.notes
                    .without_effect("position limit of continuous joints");
            }
            JointKind::Fixed | JointKind::Planar | JointKind::Free => {
                let kind = urdf_name(joint.kind);
                if limit.is_some() {
                    self.notes
                        .without_effect(&format!("<limit> of {kind} joints"));
                }
                if dynamics.is_some() {
                    self.notes
                        .without_effect(&format!("<dynamics> of {kind} joints"));
                }
                return Ok(());
            }
            _ => {}
        }
        if dof != Dof::default() {
            joint.dofs = vec![dof];
        }
        Ok(())
    }

    /// Reads a joint that closes a loop, with a frame and an axis on each of its links.
    pub(super) fn constraint(&mut self, element: Node<'_, '_>) -> Result<()> {
        self.only_attributes(element, &["name", "type"])?;
        let [
            parent,
            child,
            parent_origin,
            child_origin,
            parent_axis,
            child_axis,
        ] = self.parts(
            element,
            [
                "parent",
                "child",
                "parent_origin",
                "child_origin",
                "parent_axis",
                "child_axis",
            ],
        )?;
        let links = [
            self.link_of(parent, element, "parent")?,
            self.link_of(child, element, "child")?,
        ];
        let origins = [self.origin(parent_origin)?, self.origin(child_origin)?];
        let axes = [self.direction(parent_axis)?, self.direction(child_axis)?];
        self.closing_joint(element, links, origins, axes)
    }

    /// Reads a joint that closes a loop, with a pose on each of its links and one axis, in both.
    pub(super) fn loop_joint(&mut self, element: Node<'_, '_>) -> Result<()> {
        self.only_attributes(element, &["name", "type"])?;
        let [first, second, axis] = self.parts(element, ["link1", "link2", "axis"])?;
        let mut ends = Vec::new();
        for (end, role) in [(first, "link1"), (second, "link2")] {
            let Some(end) = end else {
                let message = format!("{} has no <{role}>", describe(element));
                return Err(self.error(ErrorKind::Syntax, element, message));
            };
            self.only_attributes(end, &["link", "xyz", "rpy"])?;
            ends.push((self.attribute(end, "link")?, self.pose(end)?));
        }
        let axis = self.direction(axis)?;
        let links = [ends[0].0, ends[1].0];
        self.closing_joint(element, links, [ends[0].1, ends[1].1], [axis, axis])
    }

    /// The constraint of a joint between two frames. The frame on the child is turned so that its axis is along that on the parent, or
    /// across it for a universal joint, whose two axes these are; about the axis the frame is turned only if the joint leaves that
    /// rotation free.
    fn closing_joint(
        &mut self,
        element: Node<'_, '_>,
        [parent, child]: [&str; 2],
        [parent_from_joint, child_from_joint]: [Pose<f64>; 2],
        axes: [Option<Vec3<f64>>; 2],
    ) -> Result<()> {
        let name = self.attribute(element, "name")?;
        let kind = self.closing_kind(element, name)?;
        let mut joint = JointSpec::new(name, kind, parent, child);
        joint.place = self.place(element);
        joint.parent_from_joint = parent_from_joint;
        let mut turned = Pose::identity();
        let x = Vec3::new(1.0, 0.0, 0.0);
        let first = axes[0].unwrap_or(x);
        if kind == JointKind::Universal {
            let Some(second) = axes[1] else {
                let message = format!("universal constraint `{name}` has no <child_axis>");
                return Err(self.error(ErrorKind::Syntax, element, message));
            };
            let across = perpendicular(first, second);
            turned = Pose::new(turn(second, across), Vec3::zero());
            joint.axes.first = first;
            joint.axes.second = across;
        } else if kind.has_axis() {
            joint.axes.first = first;
            let second = axes[1].unwrap_or(first);
            let skew = first.cross(second).norm();
            // a prismatic joint permits no rotation: its frames give the orientation of its links
            if kind == JointKind::Prismatic && (skew > 1e-9 || first.dot(second) < 0.0) {
                let message =
                    format!("prismatic constraint `{name}`: its axes differ on parent and child");
                return Err(self
                    .error(ErrorKind::Model, element, message)
                    .hint("turn <child_origin> by `rpy` so that both axes have the same numbers"));
            }
            turned = Pose::new(turn(second, first), Vec3::zero());
        }
        joint.joint_from_child = turned * child_from_joint.inverse();
        self.builder.assumptions.push(format!(
            "{kind} `{name}` closes a loop between `{parent}` and `{child}`"
        ));
        self.builder.constraints.push(ConstraintSpec::joint(joint));
        Ok(())
    }

    /// The kinds of joints that may close a loop.
    fn closing_kind(&self, element: Node<'_, '_>, name: &str) -> Result<JointKind> {
        let known = [
            ("fixed", JointKind::Fixed),
            ("revolute", JointKind::Revolute),
            ("continuous", JointKind::Continuous),
            ("prismatic", JointKind::Prismatic),
            ("cylindrical", JointKind::Cylindrical),
            ("universal", JointKind::Universal),
            ("spherical", JointKind::Spherical),
            ("ball", JointKind::Spherical),
            ("planar", JointKind::Planar),
        ];
        let word = self.attribute(element, "type")?;
        if let Some((_, kind)) = known.iter().find(|(known, _)| *known == word) {
            return Ok(*kind);
        }
        let message = format!("constraint `{name}` has the unknown type `{word}`");
        let error = self.error(ErrorKind::Syntax, element, message);
        Err(error.hint(advice(word, &known.map(|(known, _)| known))))
    }

    /// The unit vector of an axis, if there is one.
    fn direction(&self, axis: Option<Node<'_, '_>>) -> Result<Option<Vec3<f64>>> {
        let Some(axis) = axis else { return Ok(None) };
        self.only_attributes(axis, &["xyz"])?;
        let given = Vec3::from_array(self.three(axis, "xyz")?);
        let length = given.norm();
        if length.is_finite() && length > 1e-12 {
            return Ok(Some(given * (1.0 / length)));
        }
        let message = format!("{} has no direction", describe(axis));
        Err(self.error(ErrorKind::Model, axis, message))
    }
}

/// A unit vector across `first`, in the plane of both if they are not parallel.
fn perpendicular(first: Vec3<f64>, near: Vec3<f64>) -> Vec3<f64> {
    let across = near - first * first.dot(near);
    if across.norm() > 1e-6 {
        return across * (1.0 / across.norm());
    }
    let [x, y, z] = first.to_array();
    let other = match x.abs() < 0.6 {
        true => Vec3::new(0.0, -z, y),
        false => Vec3::new(-z, 0.0, x),
    };
    other * (1.0 / other.norm())
}

/// The rotation that takes one unit vector to another.
fn turn(from: Vec3<f64>, to: Vec3<f64>) -> Mat3<f64> {
    if (from - to).norm() < 1e-15 {
        return Mat3::identity();
    }
    let axis = match from.cross(to) {
        axis if axis.norm() > 1e-9 => axis * (1.0 / axis.norm()),
        _ => perpendicular(from, from),
    };
    let frame = |x: Vec3<f64>| {
        let x = x - axis * axis.dot(x);
        let x = x * (1.0 / x.norm());
        Mat3 {
            x,
            y: axis.cross(x),
            z: axis,
        }
    };
    frame(to) * frame(from).transpose()
}

/// Does an element of any vocabulary close a loop, by its name? One with only a text is a setting, such as `<loop>true</loop>` of an animation.
pub(super) fn closes_loop(element: Node<'_, '_>) -> bool {
    let lower = element.tag_name().name().to_lowercase();
    let named = ["loop", "constraint", "closure"];
    let exactly = ["equality", "connect", "weld"];
    let is_setting = elements(element).next().is_none() && element.attributes().next().is_none();
    let is_named = named.iter().any(|word| lower.contains(word));
    element.is_element() && !is_setting && (is_named || exactly.contains(&lower.as_str()))
}

impl Reading<'_> {
    /// Makes a joint follow another one: q = multiplier · other + offset, a separate constraint.
    pub(super) fn mimic(&mut self, name: &str, mimic: Node<'_, '_>) -> Result<()> {
        self.only_attributes(mimic, &["joint", "multiplier", "offset"])?;
        let other = self.attribute(mimic, "joint")?;
        let number = |key: &str, default: f64| match mimic.attribute(key) {
            Some(_) => self.number(mimic, key),
            None => Ok(default),
        };
        let (multiplier, offset) = (number("multiplier", 1.0)?, number("offset", 0.0)?);
        self.mimics.push(name.into());
        let mut terms = vec![(name.into(), 1.0)];
        if multiplier != 0.0 {
            terms.push((other.into(), -multiplier));
        }
        self.builder.assumptions.push(format!(
            "joint `{name}` mimics `{other}`: a constraint `{name}_mimic` couples them"
        ));
        self.builder.constraints.push(ConstraintSpec {
            name: format!("{name}_mimic"),
            rule: RuleSpec::Coupling { terms, offset },
            place: self.place(mimic),
        });
        Ok(())
    }

    /// A joint that mimics a missing one moves independently, with a warning.
    pub(super) fn leave_out_mimics_of_nothing(&mut self) {
        let ModelBuilder {
            joints,
            constraints,
            warnings,
            ..
        } = &mut self.builder;
        let joints: HashSet<&str> = joints.iter().map(|joint| &joint.name[..]).collect();
        constraints.retain(|constraint| {
            let RuleSpec::Coupling { terms, .. } = &constraint.rule else {
                return true;
            };
            let missing = terms.iter().find(|(name, _)| !joints.contains(&name[..]));
            if let (Some((missing, _)), Some((name, _))) = (missing, terms.first()) {
                let message = format!(
                    "joint `{name}` mimics `{missing}`, which does not exist: it is left free"
                );
                let place = constraint.place.clone();
                warnings.push(Warning { message, place });
            }
            missing.is_none()
        });
    }

    /// Reads a transmission, which names the joints that have an actuator, and its gear.
    pub(super) fn transmission(&mut self, element: Node<'_, '_>) -> Result<()> {
        let parts = |name: &'static str| {
            elements(element).filter(move |part| part.tag_name().name() == name)
        };
        let reduction = element
            .descendants()
            .find(|part| part.tag_name().name() == "mechanicalReduction");
        let gear = match reduction {
            Some(part) => {
                let written = part.text().unwrap_or_default();
                self.parse(part, "mechanicalReduction", written)?
            }
            None => 1.0,
        };
        if parts("joint").next().is_none() {
            return self.note_element(element);
        }
        for joint in parts("joint") {
            let name = self.attribute(joint, "name")?;
            let mut spec = ActuatorSpec::new(name, name);
            if let Some(motor) = parts("actuator").find_map(|part| part.attribute("name")) {
                spec.name = motor.into();
            }
            // exporters write 0 where none is known
            spec.gear = if gear == 0.0 { 1.0 } else { gear };
            spec.place = self.place(joint);
            self.builder.actuators.push(spec);
        }
        Ok(())
    }

    /// Transmissions to joints that cannot be driven are noted; without transmissions, joints that follow others have no
    /// actuator of their own.
    pub(super) fn actuators(&mut self) {
        let drivable: Vec<String> = self
            .builder
            .joints
            .iter()
            .filter(|joint| joint.kind.nv() == 1)
            .map(|joint| joint.name.clone())
            .collect();
        let mut seen = HashSet::new();
        let mut dropped = Vec::new();
        self.builder.actuators.retain(|spec| {
            let keep = drivable.contains(&spec.joint) && seen.insert(spec.joint.clone());
            if !keep {
                dropped.push(format!("`{}`", spec.joint));
            }
            keep
        });
        if !dropped.is_empty() {
            self.builder.assumptions.push(format!(
                "<transmission> of {} left out: no joint with one freedom, or driven by another",
                dropped.join(", ")
            ));
        }
        if self.builder.actuators.is_empty() && !self.mimics.is_empty() {
            let own = drivable.iter().filter(|name| !self.mimics.contains(name));
            let specs = own.map(|name| ActuatorSpec::new(name, name)).collect();
            self.builder.actuators = specs;
        }
    }
}
