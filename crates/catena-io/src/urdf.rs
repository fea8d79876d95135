//! URDF files.
//!
//! Two shapes of joints that close loops are read besides the standard, `<constraint>` and `<loop_joint>`; an empty one is unknown.
//! Elements without effect on the dynamics are listed among the model's assumptions. Unknown elements that may change the
//! motion are refused, or listed on request.

use crate::lines::Lines;
use crate::nearest::{advice, nearest};
use crate::root::{Base, join_root, roots};
use crate::xml::{self, XACRO_ADVICE, xacro};
use crate::{ReadOptions, placement};
use catena::error::{Error, ErrorKind, Place, Result, Warning};
use catena::model::{
    ActuatorSpec, ConstraintSpec, Dof, Inertial, JointKind, JointSpec, LinkSpec, ModelBuilder,
    RuleSpec,
};
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use roxmltree::Node;
use std::collections::{BTreeMap, HashSet};

/// Elements without effect on the dynamics.
const WITHOUT_EFFECT: &[&str] = &[
    "visual",
    "collision",
    "material",
    "sensor",
    "calibration",
    "safety_controller",
];
/// Elements for simulators and drivers, which may describe rotors, friction or contact.
const NOT_USED: &[&str] = &["transmission", "gazebo", "ros2_control"];

/// The elements that are read, each with its possible parents.
const READ: &[(&str, &[&str])] = &[
    ("robot", &[]),
    ("link", &["robot"]),
    ("joint", &["robot"]),
    ("inertial", &["link"]),
    ("mass", &["inertial"]),
    ("inertia", &["inertial"]),
    ("origin", &["inertial", "joint"]),
    ("parent", &["joint"]),
    ("child", &["joint"]),
    ("axis", &["joint"]),
    ("limit", &["joint"]),
    ("dynamics", &["joint"]),
    ("mimic", &["joint"]),
    ("parent_origin", &["constraint"]),
    ("parent_axis", &["constraint"]),
    ("child_origin", &["constraint"]),
    ("child_axis", &["constraint"]),
    ("link1", &["loop_joint"]),
    ("link2", &["loop_joint"]),
];
/// Parts of names of elements and attributes that concern the motion: one whose name contains any of them is not silently ignored.
const ACTS: &[&str] = &[
    "actuator",
    "armature",
    "axis",
    "bushing",
    "cable",
    "constraint",
    "coupl",
    "damp",
    "dynamic",
    "equality",
    "force",
    "friction",
    "gear",
    "gravity",
    "inerti",
    "joint",
    "kinematic",
    "loop",
    "mass",
    "mimic",
    "motor",
    "pitch",
    "pulley",
    "rotor",
    "screw",
    "spring",
    "stiff",
    "tendon",
    "torque",
    "weld",
    "wrench",
];

/// The hint for an unknown element.
const LEAVE_OUT: &str = "write the model in catena's own format, which has loops, gears, springs and rotors, or leave it out with `--ignore-unknown`";

/// Reads a URDF text; `name` is used where the robot has none.
pub(crate) fn read(
    text: &str,
    lines: &Lines,
    name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    let document = xml::parse(text, lines, "URDF")?;
    let mut reading = Reading {
        lines,
        ignore_unknown: options.ignore_unknown,
        builder: ModelBuilder::new(name),
        ground_is_a_link: false,
        notes: Notes::default(),
        mimics: Vec::new(),
    };
    reading.builder.strict = options.strict;
    reading.builder.allow_immobile = true;
    reading.robot(document.root_element())?;
    reading.finish(options)
}

/// What was left out or assumed, collected for a few lines of remarks.
#[derive(Default)]
struct Notes {
    without_effect: BTreeMap<String, usize>,
    not_used: BTreeMap<String, usize>,
    /// Number, and line of the first.
    unknown: BTreeMap<String, (usize, usize)>,
    massless: Vec<String>,
    without_limit: Vec<String>,
    without_axis: Vec<String>,
}

impl Notes {
    fn unknown(&mut self, what: String, line: usize) {
        self.unknown.entry(what).or_insert((0, line)).0 += 1;
    }

    fn without_effect(&mut self, what: &str) {
        *self.without_effect.entry(what.into()).or_default() += 1;
    }

    fn lines(&self) -> Vec<String> {
        let counted = |counts: &BTreeMap<String, usize>| {
            let words: Vec<_> = counts
                .iter()
                .map(|(what, n)| format!("{n} {what}"))
                .collect();
            words.join(", ")
        };
        let names = |names: &[String]| {
            let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            quoted.join(", ")
        };
        let mut notes = Vec::new();
        if !self.without_effect.is_empty() {
            let what = counted(&self.without_effect);
            notes.push(format!("ignored: {what} (no effect on the dynamics)"));
        }
        if !self.not_used.is_empty() {
            let what = counted(&self.not_used);
            notes.push(format!(
                "ignored: {what} (rotors, friction or contact described there are not used)"
            ));
        }
        if !self.unknown.is_empty() {
            let what: Vec<_> = self
                .unknown
                .iter()
                .map(|(what, (n, line))| match n {
                    1 => format!("{what} on line {line}"),
                    _ => format!("{n} {what}, the first on line {line}"),
                })
                .collect();
            notes.push(format!("left out, unknown: {}", what.join("; ")));
        }
        if !self.massless.is_empty() {
            notes.push(format!("links without mass: {}", names(&self.massless)));
        }
        if !self.without_limit.is_empty() {
            notes.push(format!(
                "joints without <limit>, which URDF requires: {}; taken as unlimited",
                names(&self.without_limit)
            ));
        }
        if !self.without_axis.is_empty() {
            notes.push(format!(
                "joints without <axis>: {}; the axis is x, as URDF says",
                names(&self.without_axis)
            ));
        }
        notes
    }
}

struct Reading<'a> {
    lines: &'a Lines,
    ignore_unknown: bool,
    builder: ModelBuilder,
    /// Is there a link called `world`?
    ground_is_a_link: bool,
    notes: Notes,
    /// Joints that follow others.
    mimics: Vec<String>,
}

impl Reading<'_> {
    fn robot(&mut self, robot: Node<'_, '_>) -> Result<()> {
        if robot.tag_name().name() != "robot" {
            let found = robot.tag_name().name();
            let message = format!("a URDF file starts with <robot>, this one with <{found}>");
            let error = self.error(ErrorKind::Unsupported, robot, message);
            return Err(
                error.hint("models are read from URDF, and from catena's own TOML and JSON")
            );
        }
        let is_xacro = |node: &Node<'_, '_>| {
            node.tag_name()
                .namespace()
                .is_some_and(|uri| uri.contains("xacro"))
        };
        if let Some(macro_call) = robot.descendants().find(is_xacro) {
            return Err(xacro(self.place(macro_call)));
        }
        match robot.attribute("name") {
            Some(name) => self.builder.name = name.into(),
            None => self.builder.assumptions.push(format!(
                "the robot has no name; it is called `{}` after the file",
                self.builder.name
            )),
        }
        self.note_attributes(robot, &["name", "version"])?;
        for element in elements(robot) {
            match tag(element) {
                "link" => self.link(element)?,
                "joint" => self.joint(element)?,
                "transmission" => self.transmission(element)?,
                "constraint" if elements(element).next().is_some() => self.constraint(element)?,
                "loop_joint" if elements(element).next().is_some() => self.loop_joint(element)?,
                _ => self.note_element(element)?,
            }
        }
        if self.builder.links.is_empty() && !self.ground_is_a_link {
            return Err(self.error(ErrorKind::Model, robot, "the robot has no links"));
        }
        Ok(())
    }

    fn link(&mut self, element: Node<'_, '_>) -> Result<()> {
        let name = self.attribute(element, "name")?;
        self.note_attributes(element, &["name"])?;
        let mut link = LinkSpec {
            name: name.into(),
            place: self.place(element),
            ..LinkSpec::default()
        };
        for part in elements(element) {
            match tag(part) {
                "inertial" if link.inertial.is_none() => {
                    let (inertial, axes) = self.inertial(part, name)?;
                    link.set_turned(inertial, axes);
                }
                "inertial" => return Err(self.twice(part, element)),
                _ => self.note_element(part)?,
            }
        }
        if name == "world" && !self.ground_is_a_link {
            self.ground_is_a_link = true;
            if link.inertial.is_some() {
                self.builder
                    .assumptions
                    .push("mass of link `world` has no effect: it is the ground".into());
            }
            return Ok(());
        }
        if link.inertial.is_none_or(|inertial| inertial.mass == 0.0) {
            self.notes.massless.push(name.into());
        }
        self.builder.links.push(link);
        Ok(())
    }

    /// Mass properties, with the tensor in axes of its own, and those axes.
    fn inertial(&mut self, element: Node<'_, '_>, link: &str) -> Result<(Inertial, Mat3<f64>)> {
        let [origin, mass, inertia] = self.parts(element, ["origin", "mass", "inertia"])?;
        self.note_attributes(element, &[])?;
        let link_from_centre = self.origin(origin)?;
        let missing = |what: &str| {
            let message = format!("<inertial> of link `{link}` has no <{what}>");
            self.error(ErrorKind::Syntax, element, message)
                .hint("leave <inertial> out for a link without mass")
        };
        let mass = mass.ok_or_else(|| missing("mass"))?;
        let inertia = inertia.ok_or_else(|| missing("inertia"))?;
        self.only_attributes(mass, &["value"])?;
        let entries = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"];
        self.only_attributes(inertia, &entries)?;
        let mut tensor = [0.0; 6];
        for (entry, key) in tensor.iter_mut().zip(entries) {
            *entry = self.number(inertia, key)?;
        }
        let [xx, yy, zz, xy, xz, yz] = tensor;
        let inertial = Inertial {
            mass: self.number(mass, "value")?,
            centre: link_from_centre.translation,
            tensor: Sym3::new(xx, yy, zz, xy, xz, yz),
        };
        Ok((inertial, link_from_centre.rotation))
    }

    fn joint(&mut self, element: Node<'_, '_>) -> Result<()> {
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

    /// A joint that closes a loop, with a frame and an axis on each of its links.
    fn constraint(&mut self, element: Node<'_, '_>) -> Result<()> {
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

    /// A joint that closes a loop, with a pose on each of its links and one axis, in both.
    fn loop_joint(&mut self, element: Node<'_, '_>) -> Result<()> {
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
    /// across it for a universal joint, whose two axes these are; about the axis nothing turns that the joint does not leave free.
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
            // a prismatic joint leaves no rotation: its frames say how its links stand
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

    /// The joint follows another one: q = multiplier · other + offset, a constraint of its own.
    fn mimic(&mut self, name: &str, mimic: Node<'_, '_>) -> Result<()> {
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

    /// Transmissions name the joints that have an actuator, and its gear.
    fn transmission(&mut self, element: Node<'_, '_>) -> Result<()> {
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
            // exporters write 0 where they know none
            spec.gear = if gear == 0.0 { 1.0 } else { gear };
            spec.place = self.place(joint);
            self.builder.actuators.push(spec);
        }
        Ok(())
    }

    /// Transmissions to joints that cannot be driven are noted; without transmissions, joints that follow others have no
    /// actuator of their own.
    fn actuators(&mut self) {
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

    fn axis(&mut self, joint: &mut JointSpec, axis: Option<Node<'_, '_>>) -> Result<()> {
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
                dof.limits = Some((lower, upper));
            }
            if given("effort") {
                dof.max_effort = Some(self.number(limit, "effort")?);
            }
            if given("velocity") {
                dof.max_velocity = Some(self.number(limit, "velocity")?);
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

    /// The pose of an <origin>, the identity where there is none.
    fn origin(&self, origin: Option<Node<'_, '_>>) -> Result<Pose<f64>> {
        let Some(origin) = origin else {
            return Ok(Pose::identity());
        };
        self.only_attributes(origin, &["xyz", "rpy"])?;
        self.pose(origin)
    }

    /// The pose of the attributes `xyz` and `rpy`.
    fn pose(&self, origin: Node<'_, '_>) -> Result<Pose<f64>> {
        let three_or_zero = |key| match origin.attribute(key) {
            Some(_) => self.three(origin, key),
            None => Ok([0.0; 3]),
        };
        let translation = Vec3::from_array(three_or_zero("xyz")?);
        let rotation = match three_or_zero("rpy")? {
            [0.0, 0.0, 0.0] => Mat3::identity(),
            angles => placement::from_rpy(angles),
        };
        Ok(Pose::new(rotation, translation))
    }

    /// Connects the root to the ground and lists what was left out.
    fn finish(mut self, options: &ReadOptions) -> Result<ModelBuilder> {
        let base = options.base.map_or(Base::Fixed, Base::from);
        self.actuators();
        let notes = self.notes.lines();
        self.builder.assumptions.extend(notes);
        if !options.strict {
            self.leave_out_mimics_of_nothing();
        }
        self.one_root()?;
        join_root(&mut self.builder, base)?;
        Ok(self.builder)
    }

    /// A joint that mimics one that is not there moves on its own, with a warning.
    fn leave_out_mimics_of_nothing(&mut self) {
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
                    "joint `{name}` mimics `{missing}`, which is not there: it is left free"
                );
                let place = constraint.place.clone();
                warnings.push(Warning { message, place });
            }
            missing.is_none()
        });
    }

    /// More than one root is refused here; a missing root, unknown and repeated names are reported by the builder.
    fn one_root(&self) -> Result<()> {
        let mut known: HashSet<&str> = self.builder.links.iter().map(|l| &l.name[..]).collect();
        if self.ground_is_a_link {
            known.insert("world");
        }
        for joint in &self.builder.joints {
            if joint.parent == "world" && !self.ground_is_a_link {
                let message = format!(
                    "joint `{}`: there is no link `world` to be its parent",
                    joint.name
                );
                return Err(Error::new(ErrorKind::Model, message)
                    .at(joint.place.clone())
                    .hint("add <link name=\"world\"/>"));
            }
            if !known.contains(&joint.parent[..]) || !known.contains(&joint.child[..]) {
                return Ok(());
            }
        }
        let mut all: Vec<(&str, Place)> = roots(&self.builder)
            .into_iter()
            .map(|link| (&link.name[..], link.place.clone()))
            .collect();
        let grounded = self.builder.joints.iter().any(|j| j.child == "world");
        if self.ground_is_a_link && !grounded {
            all.insert(0, ("world", Place::default()));
        }
        if let [(first, _), (second, place), ..] = &all[..] {
            let message = format!("the robot has two root links, `{first}` and `{second}`");
            return Err(Error::new(ErrorKind::Model, message)
                .at(place.clone())
                .hint("every link but one must be the child of a joint"));
        }
        Ok(())
    }

    /// The children with these names, each at most once; others are noted.
    fn parts<'n, 'i, const N: usize>(
        &mut self,
        element: Node<'n, 'i>,
        names: [&str; N],
    ) -> Result<[Option<Node<'n, 'i>>; N]> {
        let mut parts = [None; N];
        for part in elements(element) {
            match names.iter().position(|name| tag(part) == *name) {
                Some(index) if parts[index].is_none() => parts[index] = Some(part),
                Some(_) => return Err(self.twice(part, element)),
                None => self.note_element(part)?,
            }
        }
        Ok(parts)
    }

    fn twice(&self, part: Node<'_, '_>, whole: Node<'_, '_>) -> Error {
        let message = format!(
            "{} has more than one <{}>",
            describe(whole),
            part.tag_name().name()
        );
        self.error(ErrorKind::Syntax, part, message)
    }

    /// Counts an element that is left out; refuses one that may change the motion.
    fn note_element(&mut self, element: Node<'_, '_>) -> Result<()> {
        let written = format!("<{}>", element.tag_name().name());
        if WITHOUT_EFFECT.contains(&tag(element)) {
            self.no_loop_inside(element)?;
            self.notes.without_effect(&written);
        } else if NOT_USED.contains(&tag(element)) {
            self.no_loop_inside(element)?;
            *self.notes.not_used.entry(written).or_default() += 1;
        } else {
            let uri = element.tag_name().namespace().unwrap_or_default();
            let written = match element.lookup_prefix(uri) {
                Some(prefix) => format!("<{prefix}:{}>", element.tag_name().name()),
                None => written,
            };
            if !self.ignore_unknown {
                self.expect_harmless(element, &written)?;
            }
            self.no_loop_inside(element)?;
            self.notes.unknown(written, self.line(element));
        }
        Ok(())
    }

    /// Refuses an element that is in the wrong place, looks mistyped or concerns the motion.
    fn expect_harmless(&self, element: Node<'_, '_>, written: &str) -> Result<()> {
        let name = element.tag_name().name();
        let holder = element.parent_element();
        let within = holder.map_or(String::new(), |holder| format!(" in {}", describe(holder)));
        let refused = |what: String, hint: String| {
            Err(self.error(ErrorKind::Unsupported, element, what).hint(hint))
        };
        if let Some((_, holders)) = READ.iter().find(|(read, _)| *read == tag(element)) {
            if says_nothing(element) {
                return Ok(());
            }
            let places: Vec<String> = holders.iter().map(|h| format!("<{h}>")).collect();
            return refused(
                format!("{written}{within} is out of place"),
                match places.is_empty() {
                    true => "a file has one <robot>".into(),
                    false => format!("it belongs in {}", places.join(" or ")),
                },
            );
        }
        let siblings: Vec<&str> = READ
            .iter()
            .filter(|(_, holders)| holder.is_some_and(|h| holders.contains(&h.tag_name().name())))
            .map(|(read, _)| *read)
            .collect();
        let slip = match tag(element) {
            "" => None, // of another vocabulary
            _ => nearest(&name.to_lowercase(), &siblings),
        };
        if let Some(near) = slip {
            return refused(
                format!("{written}{within} is not known"),
                format!("did you mean <{near}>? Leave it out with `--ignore-unknown`"),
            );
        }
        if acts(name) && !says_nothing(element) {
            return refused(
                format!("{written}{within} is unknown and may change the motion"),
                LEAVE_OUT.into(),
            );
        }
        Ok(())
    }

    /// Joints that a simulator adds close loops, and so do elements of other vocabularies within an element that is not read.
    fn no_loop_inside(&self, element: Node<'_, '_>) -> Result<()> {
        if self.ignore_unknown {
            return Ok(());
        }
        let inside = || element.descendants().filter(|node| *node != element);
        let adds_joint = |node: &Node<'_, '_>| {
            let has = |name| elements(*node).any(|part| part.tag_name().name() == name);
            node.tag_name().name() == "joint" && has("parent") && has("child")
        };
        let holder = element.tag_name().name();
        let (found, message) = if let Some(joint) = inside().find(adds_joint) {
            let message =
                format!("<{holder}> adds a joint, which is not read: a loop would stay open");
            (joint, message)
        } else if let Some(found) = inside().find(|node| closes_loop(*node)) {
            let message = format!(
                "<{}> in <{holder}> is not read: a loop would stay open",
                found.tag_name().name()
            );
            (found, message)
        } else {
            return Ok(());
        };
        let error = self.error(ErrorKind::Unsupported, found, message);
        Err(error.hint(LEAVE_OUT))
    }

    /// Counts attributes that are left out; refuses those that may change the motion.
    fn note_attributes(&mut self, element: Node<'_, '_>, known: &[&str]) -> Result<()> {
        let owner = element.tag_name().name();
        for attribute in element.attributes() {
            let name = attribute.name();
            if attribute.namespace().is_none() && known.contains(&name) {
                continue;
            }
            // limits are stored, not enforced
            if acts(name) && owner != "limit" && !self.ignore_unknown {
                let message = format!(
                    "attribute `{name}` of {} is unknown and may change the motion",
                    describe(element)
                );
                let error = self.error(ErrorKind::Unsupported, element, message);
                return Err(error.hint(LEAVE_OUT));
            }
            let what = format!("attribute `{name}` of <{owner}>");
            self.notes.unknown(what, self.line(element));
        }
        Ok(())
    }

    /// Refuses attributes that could change the meaning of the known ones.
    /// Attributes that vendors add (Panda's `<dynamics D= K=>`) are no part of URDF: they are listed. One that looks like a
    /// mistyped known one, or names a spring or a rotor, would change the dynamics and is refused.
    fn known_or_foreign_attributes(&mut self, element: Node<'_, '_>, known: &[&str]) -> Result<()> {
        for attribute in element.attributes() {
            let name = attribute.name();
            if known.contains(&name) {
                continue;
            }
            let acts = ["stiff", "spring", "armature", "inertia", "rest"];
            let lower = name.to_lowercase();
            if nearest(name, known).is_some() || acts.iter().any(|word| lower.contains(word)) {
                return self.only_attributes(element, known);
            }
            let what = format!("attribute `{name}` of <{}>", element.tag_name().name());
            self.notes.unknown(what, self.line(element));
        }
        Ok(())
    }

    fn only_attributes(&self, element: Node<'_, '_>, known: &[&str]) -> Result<()> {
        let unknown = element
            .attributes()
            .find(|a| a.namespace().is_some() || !known.contains(&a.name()));
        let Some(attribute) = unknown else {
            return Ok(());
        };
        let message = format!(
            "{} has the unknown attribute `{}`",
            describe(element),
            attribute.name()
        );
        Err(self
            .error(ErrorKind::Unsupported, element, message)
            .hint(advice(attribute.name(), known)))
    }

    fn attribute<'n>(&self, element: Node<'n, '_>, key: &str) -> Result<&'n str> {
        element.attribute(key).ok_or_else(|| {
            let message = format!("{} has no attribute `{key}`", describe(element));
            self.error(ErrorKind::Syntax, element, message)
        })
    }

    fn number(&self, element: Node<'_, '_>, key: &str) -> Result<f64> {
        let written = self.attribute(element, key)?;
        self.parse(element, key, written)
    }

    fn number_or(&self, element: Node<'_, '_>, key: &str, otherwise: f64) -> Result<f64> {
        match element.attribute(key) {
            Some(written) => self.parse(element, key, written),
            None => Ok(otherwise),
        }
    }

    fn three(&self, element: Node<'_, '_>, key: &str) -> Result<[f64; 3]> {
        let written = self.attribute(element, key)?;
        let words: Vec<&str> = written.split_whitespace().collect();
        let [x, y, z] = words[..] else {
            let message = format!(
                "{} must have 3 numbers in `{key}`, not {}: \"{written}\"",
                describe(element),
                words.len()
            );
            return Err(self.error(ErrorKind::Syntax, element, message));
        };
        Ok([
            self.parse(element, key, x)?,
            self.parse(element, key, y)?,
            self.parse(element, key, z)?,
        ])
    }

    fn parse(&self, element: Node<'_, '_>, key: &str, written: &str) -> Result<f64> {
        match written.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            found => {
                let expected = if found.is_ok() {
                    "a finite number"
                } else {
                    "a number"
                };
                let message = format!(
                    "`{key}` of {} must be {expected}, not \"{written}\"",
                    describe(element)
                );
                let error = self.error(ErrorKind::Syntax, element, message);
                let is_macro = written.contains("${") || written.contains("$(");
                Err(if is_macro {
                    error.hint(XACRO_ADVICE)
                } else {
                    error
                })
            }
        }
    }

    fn line(&self, element: Node<'_, '_>) -> usize {
        self.lines.line(element.range().start)
    }

    fn place(&self, element: Node<'_, '_>) -> Place {
        self.lines.place(element.range().start)
    }

    fn error(&self, kind: ErrorKind, element: Node<'_, '_>, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(self.place(element))
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

fn elements<'n, 'i>(parent: Node<'n, 'i>) -> impl Iterator<Item = Node<'n, 'i>> {
    parent.children().filter(Node::is_element)
}

/// The element's name; empty for elements of another vocabulary, such as <drake:joint>.
fn tag<'n>(element: Node<'n, '_>) -> &'n str {
    let inherited = element
        .parent_element()
        .and_then(|parent| parent.tag_name().namespace());
    if element.tag_name().namespace() == inherited {
        element.tag_name().name()
    } else {
        ""
    }
}

/// Does this name concern the motion?
pub(crate) fn acts(name: &str) -> bool {
    let lower = name.to_lowercase();
    ACTS.iter().any(|word| lower.contains(word))
}

/// Does an element of any vocabulary close a loop, by its name? One with a text alone is a setting, such as `<loop>true</loop>` of an animation.
fn closes_loop(element: Node<'_, '_>) -> bool {
    let lower = element.tag_name().name().to_lowercase();
    let named = ["loop", "constraint", "closure"];
    let exactly = ["equality", "connect", "weld"];
    let is_setting = elements(element).next().is_none() && element.attributes().next().is_none();
    let is_named = named.iter().any(|word| lower.contains(word));
    element.is_element() && !is_setting && (is_named || exactly.contains(&lower.as_str()))
}

/// Some elements only state defaults: gravity acts, the link is not driven, the origin is that of the link.
fn says_nothing(element: Node<'_, '_>) -> bool {
    let text = element.text().unwrap_or_default().trim();
    match element.tag_name().name() {
        "gravity" => ["1", "true"].contains(&text),
        "kinematic" => ["0", "false"].contains(&text),
        "origin" => element.attributes().all(|attribute| {
            let mut numbers = attribute.value().split_whitespace();
            numbers.all(|number| number.parse() == Ok(0.0))
        }),
        _ => false,
    }
}

/// "<mass> of link `arm`", "joint `elbow`".
fn describe(element: Node<'_, '_>) -> String {
    let tag = element.tag_name().name();
    let name = |node: Node<'_, '_>| {
        let kind = node.tag_name().name();
        let name = node.attribute("name")?;
        ["link", "joint"]
            .contains(&kind)
            .then(|| format!("{kind} `{name}`"))
    };
    if let Some(own) = name(element) {
        return own;
    }
    match element.ancestors().skip(1).find_map(name) {
        Some(owner) => format!("<{tag}> of {owner}"),
        None => format!("<{tag}>"),
    }
}

/// The kind's name in URDF.
fn urdf_name(kind: JointKind) -> &'static str {
    match kind {
        JointKind::Free => "floating",
        other => other.name(),
    }
}
