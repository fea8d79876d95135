//! A model as SDF.
//!
//! Joints are placed relative to their parent and links relative to their joint, so that every pose of the model is a pose of the file.
//! Links and joints that share a name, and names with `::`, are renamed. A joint that closes a loop is a joint like others in SDF; it
//! is marked as the one to cut.

use super::urdf::rpy;
use super::{Attributes, Refused, Xml, compensated_weights, efforts_at_joints, numbers, vector};
use catena::elementary;
use catena::error::Result;
use catena::model::{
    AxisPair, ConstraintSpec, Dof, FrameSpec, Inertial, JointKind, JointSpec, LinkSpec,
    ModelBuilder, RuleSpec,
};
use catena::spatial::{Mat3, Pose, Vec3};
use std::collections::{HashMap, HashSet};
use std::f64::consts::PI;

/// A loop that is open by more than this, in metres or radians, is not closed.
const CLOSED: f64 = 1e-9;

/// Gravity of a model without a world.
const STANDARD_GRAVITY: [f64; 3] = [0.0, 0.0, -9.81];

/// Writes the model, or names what SDF cannot express.
pub(crate) fn to_sdf(builder: &ModelBuilder) -> Result<String> {
    let mut model = builder.clone();
    efforts_at_joints(&mut model);
    let mut writing = Writing {
        model: &model,
        names: Names::new(&model),
        xml: Xml::default(),
        refused: Refused::default(),
        mimics: HashMap::new(),
    };
    writing.mimics();
    writing.everything();
    writing.refused.into_result("SDF")?;
    Ok(writing.xml.text)
}

struct Writing<'m> {
    model: &'m ModelBuilder,
    names: Names,
    xml: Xml,
    refused: Refused,
    /// The couplings, by the joint and axis that follow.
    mimics: HashMap<(String, usize), Mimic>,
}

/// follower = multiplier · leader + offset.
struct Mimic {
    leader: (String, usize),
    multiplier: f64,
    offset: f64,
}

/// Names of links, joints and frames in the file, where all names in a model are different.
struct Names {
    links: HashMap<String, String>,
    joints: HashMap<String, String>,
    frames: HashMap<String, String>,
    changed: Vec<String>,
}

impl Names {
    fn new(model: &ModelBuilder) -> Self {
        let mut names = Names {
            links: HashMap::from([("world".into(), "world".into())]),
            joints: HashMap::new(),
            frames: HashMap::new(),
            changed: Vec::new(),
        };
        let mut taken = HashSet::from([String::from("world")]);
        let mut choose = |name: &str, kind: &str, changed: &mut Vec<String>| {
            let plain = name.replace("::", "__");
            let reserved = plain.starts_with("__") && plain.ends_with("__");
            let mut free = match reserved {
                true => format!("{kind}{plain}"),
                false => plain.clone(),
            };
            let mut number = 1;
            while !taken.insert(free.clone()) {
                free = match number {
                    1 => format!("{plain}_{kind}"),
                    _ => format!("{plain}_{kind}_{number}"),
                };
                number += 1;
            }
            if free != name {
                changed.push(format!("{kind} {name} is {free}"));
            }
            free
        };
        for link in &model.links {
            let free = choose(&link.name, "link", &mut names.changed);
            names.links.insert(link.name.clone(), free);
        }
        let closing = model.constraints.iter().filter_map(closing_joint);
        let all = model.joints.iter().map(|joint| &joint.name);
        // a free joint to the ground is not written
        let all = all.chain(closing.map(|(constraint, _)| &constraint.name));
        for joint in all {
            let free = choose(joint, "joint", &mut names.changed);
            names.joints.insert(joint.clone(), free);
        }
        for frame in &model.frames {
            let free = choose(&frame.name, "frame", &mut names.changed);
            names.frames.insert(frame.name.clone(), free);
        }
        names
    }

    fn link(&self, name: &str) -> String {
        self.links.get(name).cloned().unwrap_or(name.into())
    }

    fn joint(&self, name: &str) -> String {
        self.joints.get(name).cloned().unwrap_or(name.into())
    }

    /// The frame that poses of a link are relative to; the model is at the origin of the world.
    fn base(&self, link: &str) -> String {
        match link {
            "world" => "__model__".into(),
            _ => self.link(link),
        }
    }
}

fn closing_joint(constraint: &ConstraintSpec) -> Option<(&ConstraintSpec, &JointSpec)> {
    match &constraint.rule {
        RuleSpec::Joint(joint) => Some((constraint, joint)),
        _ => None,
    }
}

/// A link that no joint of the file carries.
fn is_free_root(joint: &JointSpec) -> bool {
    joint.kind == JointKind::Free && joint.parent == "world"
}

impl Writing<'_> {
    fn everything(&mut self) {
        let model = self.model;
        let weights = compensated_weights(model, &mut self.refused);
        for (link, part) in &weights {
            if (part - 1.0).abs() > 1e-12 {
                self.refused
                    .push(format!("a part of the weight of link `{link}`"));
            }
        }
        let version = "1.11";
        self.xml.open("sdf", &[("version", version.into())]);
        let of_the_world = |frame: &&FrameSpec| frame.link == "world";
        let in_world = model.gravity.to_array() != STANDARD_GRAVITY
            || model.frames.iter().any(|frame| of_the_world(&frame));
        if in_world {
            self.xml.open("world", &[("name", "default".into())]);
            self.xml.text("gravity", &[], &vector(model.gravity));
        }
        let name = match &model.name[..] {
            "" | "world" => "model".into(),
            name => name.replace("::", "__"),
        };
        self.xml.open("model", &[("name", name)]);
        self.remarks();
        let carried: HashMap<&str, &JointSpec> = model
            .joints
            .iter()
            .map(|joint| (&joint.child[..], joint))
            .collect();
        for link in &model.links {
            let lifted = weights.contains_key(&link.name);
            self.link(link, carried.get(&link.name[..]).copied(), lifted);
        }
        for joint in &model.joints {
            match joint.kind {
                JointKind::Free => self.free(joint),
                _ => self.joint(joint, &joint.name, None),
            }
        }
        let places = places(&carried, model);
        for constraint in &model.constraints {
            match &constraint.rule {
                RuleSpec::Joint(joint) => self.closure(constraint, joint, &places),
                // written with the joints that follow
                RuleSpec::Coupling { .. } => {}
                _ => self
                    .refused
                    .push(format!("constraint `{}`", constraint.name)),
            }
        }
        for frame in model.frames.iter().filter(|frame| !of_the_world(frame)) {
            self.frame(frame);
        }
        for actuator in &model.actuators {
            if actuator.lag != 0.0 || actuator.rotor_inertia != 0.0 {
                self.refused
                    .push(format!("lag or rotor of actuator `{}`", actuator.name));
            }
        }
        self.xml.close();
        if in_world {
            for frame in model.frames.iter().filter(of_the_world) {
                self.frame(frame);
            }
            self.xml.close();
        }
        self.xml.close();
    }

    /// Features that the file cannot express.
    fn remarks(&mut self) {
        let model = self.model;
        if !self.names.changed.is_empty() {
            let changed = self.names.changed.join(", ");
            self.xml
                .comment(&format!("names that SDF cannot have: {changed}"));
        }
        let starts = |joint: &&JointSpec| {
            !is_free_root(joint) && joint.start.iter().any(|x| *x != 0.0)
                || joint.start_velocity.iter().any(|x| *x != 0.0)
        };
        let started: Vec<&str> = model
            .joints
            .iter()
            .filter(starts)
            .map(|joint| &joint.name[..])
            .collect();
        if !started.is_empty() {
            let names = started.join(", ");
            self.xml
                .comment(&format!("the initial state is not written: {names}"));
        }
        let massless: Vec<&str> = model
            .links
            .iter()
            .filter(|link| link.inertial.is_none_or(|inertial| inertial.mass == 0.0))
            .map(|link| &link.name[..])
            .collect();
        if !massless.is_empty() {
            let names = massless.join(", ");
            self.xml.comment(&format!(
                "links without mass, which Gazebo does not accept: {names}"
            ));
        }
        if !model.actuators.is_empty() {
            let names = model.actuators.iter().map(|actuator| &actuator.name[..]);
            let names = names.collect::<Vec<_>>().join(", ");
            self.xml.comment(&format!(
                "actuators are not written, their efforts are limits of their joints: {names}"
            ));
        }
        if !model.sensors.is_empty() {
            self.xml.comment("sensors are not written");
        }
    }

    fn link(&mut self, link: &LinkSpec, joint: Option<&JointSpec>, lifted: bool) {
        self.xml
            .open("link", &[("name", self.names.link(&link.name))]);
        match joint {
            Some(joint) if is_free_root(joint) => self.pose(None, start(joint)),
            Some(joint) => {
                let name = self.names.joint(&joint.name);
                self.pose(Some(name), joint.joint_from_child);
            }
            None => {}
        }
        if lifted {
            self.xml.text("gravity", &[], "false");
        }
        let Inertial {
            mass,
            centre,
            tensor,
        } = link.inertial.unwrap_or_default();
        self.xml.open("inertial", &[]);
        if centre != Vec3::zero() {
            self.pose(None, Pose::shift(centre));
        }
        self.xml.text("mass", &[], &numbers(&[mass]));
        self.xml.open("inertia", &[]);
        for (tag, entry) in [
            ("ixx", tensor.xx),
            ("ixy", tensor.xy),
            ("ixz", tensor.xz),
            ("iyy", tensor.yy),
            ("iyz", tensor.yz),
            ("izz", tensor.zz),
        ] {
            self.xml.text(tag, &[], &numbers(&[entry]));
        }
        self.xml.close();
        self.xml.close();
        self.xml.close();
    }

    fn pose(&mut self, relative_to: Option<String>, pose: Pose<f64>) {
        let attributes: Attributes<'_> = relative_to
            .map(|name| ("relative_to", name))
            .into_iter()
            .collect();
        let angles = match pose.rotation == Mat3::identity() {
            true => [0.0; 3],
            false => rpy(pose.rotation),
        };
        let text = format!("{} {}", vector(pose.translation), numbers(&angles));
        self.xml.text("pose", &attributes, &text);
    }

    /// A free joint to the ground is no joint of the file.
    fn free(&mut self, joint: &JointSpec) {
        let plain = joint.parent_from_joint == Pose::identity()
            && joint.joint_from_child == Pose::identity();
        if !(is_free_root(joint) && plain) {
            self.refused.push(format!(
                "free joint `{}` that is not between the origins of the world and its link",
                joint.name
            ));
        }
        if joint.dofs.iter().any(|dof| *dof != Dof::default()) {
            self.refused.push(format!(
                "rotors, springs, friction or limits of free joint `{}`",
                joint.name
            ));
        }
    }

    /// Writes a joint. `cut` is for one that closes a loop: the difference of its frames at the link poses of the file.
    fn joint(&mut self, joint: &JointSpec, name: &str, cut: Option<Pose<f64>>) {
        let kind = match joint.kind {
            JointKind::Fixed => "fixed",
            JointKind::Continuous if !joint.dofs.iter().any(|dof| dof.limits.is_some()) => {
                "continuous"
            }
            JointKind::Revolute | JointKind::Continuous => "revolute",
            JointKind::Prismatic => "prismatic",
            JointKind::Helical => "screw",
            JointKind::Universal => "universal",
            JointKind::Spherical => "ball",
            JointKind::Cylindrical | JointKind::Planar | JointKind::Free => {
                return self.refused.push(format!("{} joint `{name}`", joint.kind));
            }
        };
        let attributes = [("name", self.names.joint(name)), ("type", kind.into())];
        self.xml.open("joint", &attributes);
        self.xml
            .text("parent", &[], &self.names.link(&joint.parent));
        self.xml.text("child", &[], &self.names.link(&joint.child));
        self.pose(
            Some(self.names.base(&joint.parent)),
            joint.parent_from_joint,
        );
        let turned = cut.map_or(Mat3::identity(), |pose| pose.rotation);
        let axes: &[(&str, Vec3<f64>)] = match joint.kind {
            JointKind::Universal => &[
                ("axis", joint.axes.first),
                ("axis2", turned * joint.axes.second),
            ],
            kind if kind.has_axis() => &[("axis", joint.axes.first)],
            _ => &[],
        };
        for (k, (tag, axis)) in axes.iter().enumerate() {
            self.xml.open(tag, &[]);
            self.xml.text("xyz", &[], &vector(*axis));
            let dof = joint.dofs.get(k).copied().unwrap_or_default();
            self.freedom(name, &dof);
            self.mimic(name, k);
            self.xml.close();
        }
        if axes.is_empty() && joint.dofs.iter().any(|dof| *dof != Dof::default()) {
            self.refused.push(format!(
                "rotors, springs, friction or limits of {} joint `{name}`",
                joint.kind
            ));
        }
        if joint.kind == JointKind::Helical {
            let advance = 2.0 * PI * joint.pitch;
            self.xml
                .text("screw_thread_pitch", &[], &numbers(&[advance]));
        }
        if cut.is_some() {
            self.xml.open("physics", &[]);
            self.xml.open("simbody", &[]);
            self.xml.text("must_be_loop_joint", &[], "true");
            self.xml.close();
            self.xml.close();
        }
        self.xml.close();
    }

    fn freedom(&mut self, name: &str, dof: &Dof) {
        super::stop(dof, name, &mut self.refused);
        if dof.armature != 0.0 {
            self.refused.push(format!("armature of joint `{name}`"));
        }
        let mut passive = vec![("damping", dof.damping), ("friction", dof.friction)];
        if dof.stiffness != 0.0 {
            passive.push(("spring_reference", dof.rest));
            passive.push(("spring_stiffness", dof.stiffness));
        }
        if passive.iter().any(|(_, value)| *value != 0.0) {
            self.xml.open("dynamics", &[]);
            for (tag, value) in passive {
                self.xml.text(tag, &[], &numbers(&[value]));
            }
            self.xml.close();
        }
        let (lower, upper) = dof.limits.unzip();
        let limits = [
            ("lower", lower),
            ("upper", upper),
            ("effort", dof.max_effort),
            ("velocity", dof.max_velocity),
        ];
        let given: Vec<(&str, f64)> = limits
            .into_iter()
            .filter_map(|(tag, value)| Some((tag, value.filter(|value| value.is_finite())?)))
            .collect();
        if !given.is_empty() {
            self.xml.open("limit", &[]);
            for (tag, value) in given {
                self.xml.text(tag, &[], &numbers(&[value]));
            }
            self.xml.close();
        }
    }

    /// Couplings of two coordinates, with the one that can follow following the other.
    fn mimics(&mut self) {
        for constraint in &self.model.constraints {
            let RuleSpec::Coupling { terms, offset } = &constraint.rule else {
                continue;
            };
            let pair = match &terms[..] {
                [(one, a), (other, b)] => self
                    .axis_of(one)
                    .zip(self.axis_of(other))
                    .map(|(one, other)| [(one, *a), (other, *b)]),
                _ => None,
            };
            let Some([(one, a), (other, b)]) = pair else {
                self.refused
                    .push(format!("constraint `{}`", constraint.name));
                continue;
            };
            let (follower, own, leader, lead) = match self.mimics.contains_key(&one) {
                false => (one, a, other, b),
                true => (other, b, one, a),
            };
            let mimic = Mimic {
                leader,
                multiplier: -lead / own,
                offset: offset / own,
            };
            if self.mimics.insert(follower, mimic).is_some() {
                self.refused
                    .push(format!("constraint `{}`", constraint.name));
            }
        }
    }

    /// The joint of a coordinate, and which of its axes it is about.
    fn axis_of(&self, coordinate: &str) -> Option<(String, usize)> {
        self.model.joints.iter().find_map(|joint| {
            let can = matches!(joint.kind, JointKind::Universal) || joint.kind.nv() == 1;
            let own = |(suffix, _): &(&str, bool)| format!("{}{suffix}", joint.name) == coordinate;
            let axis = joint.kind.freedoms().iter().position(own)?;
            can.then(|| (joint.name.clone(), axis))
        })
    }

    fn mimic(&mut self, joint: &str, axis: usize) {
        let Some(mimic) = self.mimics.get(&(joint.into(), axis)) else {
            return;
        };
        let (leader, of) = &mimic.leader;
        let axis = if *of == 0 { "axis" } else { "axis2" };
        let attributes = [("joint", self.names.joint(leader)), ("axis", axis.into())];
        self.xml.open("mimic", &attributes);
        self.xml
            .text("multiplier", &[], &numbers(&[mimic.multiplier]));
        self.xml.text("offset", &[], &numbers(&[mimic.offset]));
        self.xml.text("reference", &[], "0");
        self.xml.close();
    }

    /// A joint that closes a loop. The file has one frame for it: it must be closed at the link poses of the file.
    fn closure(
        &mut self,
        constraint: &ConstraintSpec,
        joint: &JointSpec,
        places: &HashMap<&str, Pose<f64>>,
    ) {
        let name = &constraint.name;
        // the world cannot be a child in SDF
        let exchanged = exchanged(joint);
        let joint = match &joint.child[..] {
            "world" => &exchanged,
            _ => joint,
        };
        let (Some(parent), Some(child)) =
            (places.get(&joint.parent[..]), places.get(&joint.child[..]))
        else {
            return; // refused with the joint that does not place it
        };
        let on_parent = *parent * joint.parent_from_joint;
        let on_child = *child * joint.joint_from_child.inverse();
        let off = on_parent.inverse() * on_child;
        if !is_closed(joint, off) {
            return self.refused.push(format!(
                "constraint `{name}`, which is open where all joints are at zero"
            ));
        }
        self.joint(joint, name, Some(off));
    }

    fn frame(&mut self, frame: &FrameSpec) {
        let name = self.names.frames.get(&frame.name).cloned();
        let mut attributes: Attributes<'_> = vec![("name", name.unwrap_or_default())];
        if frame.link != "world" {
            attributes.push(("attached_to", self.names.link(&frame.link)));
        }
        self.xml.open("frame", &attributes);
        self.pose(None, frame.link_from_frame);
        self.xml.close();
    }
}

/// The joint with parent and child exchanged; the sign of its coordinates does not matter where it closes a loop.
fn exchanged(joint: &JointSpec) -> JointSpec {
    let AxisPair { first, second } = joint.axes;
    JointSpec {
        parent: joint.child.clone(),
        child: joint.parent.clone(),
        parent_from_joint: joint.joint_from_child.inverse(),
        joint_from_child: joint.parent_from_joint.inverse(),
        axes: match joint.kind {
            JointKind::Universal => AxisPair {
                first: second,
                second: first,
            },
            _ => joint.axes,
        },
        ..joint.clone()
    }
}

/// Initial pose of a free link.
fn start(joint: &JointSpec) -> Pose<f64> {
    match joint.start[..] {
        [x, y, z, w, i, j, k] => Pose::new(Mat3::from_quaternion([w, i, j, k]), Vec3::new(x, y, z)),
        _ => Pose::identity(),
    }
}

/// Poses of the links in the file: free ones at their initial poses, all other joints at zero.
fn places<'m>(
    carried: &HashMap<&'m str, &'m JointSpec>,
    model: &'m ModelBuilder,
) -> HashMap<&'m str, Pose<f64>> {
    let mut places = HashMap::from([("world", Pose::identity())]);
    for link in &model.links {
        // inwards to a link whose pose is known, then back
        let mut path = Vec::new();
        let mut at = &link.name[..];
        while !places.contains_key(at) && path.len() <= model.joints.len() {
            let Some(joint) = carried.get(at) else { break };
            path.push(*joint);
            at = &joint.parent;
        }
        let Some(mut place) = places.get(at).copied() else {
            continue;
        };
        for joint in path.into_iter().rev() {
            let moved = match is_free_root(joint) {
                true => start(joint),
                false => Pose::identity(),
            };
            place = place * joint.parent_from_joint * moved * joint.joint_from_child;
            places.insert(&joint.child, place);
        }
    }
    places
}

/// Is this a motion that the joint permits?
fn is_closed(joint: &JointSpec, off: Pose<f64>) -> bool {
    let unit = |axis: Vec3<f64>| axis.unit().unwrap_or(axis);
    let axis = unit(joint.axes.first);
    let along = off.translation.dot(axis);
    let across = (off.translation - axis * along).norm();
    let distance = off.translation.norm();
    let turn = (off.rotation - Mat3::identity())
        .rows()
        .as_flattened()
        .iter()
        .fold(0.0_f64, |most, entry| most.max(entry.abs()));
    let tilt = (off.rotation * axis - axis).norm();
    let gap = match joint.kind {
        JointKind::Fixed => distance.max(turn),
        JointKind::Prismatic => across.max(turn),
        JointKind::Revolute | JointKind::Continuous => distance.max(tilt),
        JointKind::Helical => {
            // the angle about the axis, from the image of a vector across it
            let x = unit(perpendicular(axis));
            let turned = off.rotation * x;
            let angle = elementary::atan2(axis.cross(x).dot(turned), x.dot(turned));
            across.max(tilt).max((along - joint.pitch * angle).abs())
        }
        JointKind::Universal => {
            let second = off.rotation * unit(joint.axes.second);
            distance.max(axis.dot(second).abs())
        }
        JointKind::Spherical => distance,
        // these are rejected by their kind
        JointKind::Cylindrical | JointKind::Planar | JointKind::Free => 0.0,
    };
    gap <= CLOSED
}

/// A vector across another one.
fn perpendicular(axis: Vec3<f64>) -> Vec3<f64> {
    match axis.x.abs() < 0.6 {
        true => axis.cross(Vec3::new(1.0, 0.0, 0.0)),
        false => axis.cross(Vec3::new(0.0, 1.0, 0.0)),
    }
}
