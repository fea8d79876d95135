//! A model as MJCF.
//!
//! Links become bodies. A link without mass between two joints becomes no body: the joints on both sides are combined in the next body,
//! because MuJoCo rejects moving bodies without mass. Constraints between points and frames refer to sites; a loop
//! closed by a hinge becomes two points on its axis, a coupling of more than two coordinates a fixed tendon.

use super::{Attributes, Refused, Xml, at_joints, compensated_weights, numbers, vector};
use catena::error::Result;
use catena::model::{
    ActuatorSpec, ConstraintSpec, Dof, JointKind, JointSpec, LinkSpec, ModelBuilder, RuleSpec,
};
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use std::collections::{HashMap, HashSet};

/// Writes the model, or names what MJCF cannot express.
pub(crate) fn to_mjcf(builder: &ModelBuilder) -> Result<String> {
    let mut writing = Writing {
        model: at_joints(builder),
        xml: Xml::default(),
        refused: Refused::default(),
        sites: HashMap::new(),
        gravcomp: HashMap::new(),
    };
    writing.rotors();
    writing.gravcomp = compensated_weights(&writing.model, &mut writing.refused);
    writing.sites();
    writing.everything();
    writing.refused.into_result("MJCF")?;
    Ok(writing.xml.text)
}

struct Writing {
    model: ModelBuilder,
    xml: Xml,
    refused: Refused,
    /// Names and poses of sites on each link.
    sites: HashMap<String, Vec<(String, Pose<f64>)>>,
    /// Part of the weight of a link that a constant force compensates.
    gravcomp: HashMap<String, f64>,
}

/// Parts of the tree still to be written.
enum Next<'m> {
    /// A body, with joints of links without mass before it and its pose relative to the first of them.
    Body(Vec<(&'m JointSpec, Pose<f64>)>, &'m JointSpec),
    End,
}

impl Writing {
    /// Rotors of actuators turn with their joints.
    fn rotors(&mut self) {
        for actuator in &self.model.actuators {
            let rotor = actuator.gear * actuator.gear * actuator.rotor_inertia;
            for joint in self.model.joints.iter_mut().filter(|_| rotor != 0.0) {
                let own = |(suffix, _): &(&str, bool)| {
                    format!("{}{suffix}", joint.name) == actuator.joint
                };
                if let Some(k) = joint.kind.freedoms().iter().position(own) {
                    joint.dofs.resize(joint.kind.nv(), Dof::default());
                    joint.dofs[k].armature += rotor;
                }
            }
        }
    }

    /// Frames of the model, and those that constraints hold together.
    fn sites(&mut self) {
        let mut put = |link: &str, name: String, at| {
            self.sites.entry(link.into()).or_default().push((name, at));
        };
        for frame in &self.model.frames {
            put(&frame.link, frame.name.clone(), frame.link_from_frame);
        }
        for constraint in &self.model.constraints {
            if let RuleSpec::Joint(joint) = &constraint.rule {
                let [parent, child] = site_names(constraint);
                let (here, there) = (joint.parent_from_joint, joint.joint_from_child.inverse());
                put(&joint.parent, parent, here);
                put(&joint.child, child, there);
                if is_hinge(joint) {
                    let along = Pose::shift(joint.axes.first);
                    let [parent, child] = second_site_names(constraint);
                    put(&joint.parent, parent, here * along);
                    put(&joint.child, child, there * along);
                }
            }
        }
    }

    fn everything(&mut self) {
        let model = self.model.clone();
        self.xml.open("mujoco", &[("model", model.name.clone())]);
        self.remarks(&model);
        let compiler = [
            ("angle", "radian".into()),
            ("autolimits", "true".into()),
            ("inertiafromgeom", "false".into()),
        ];
        self.xml.empty("compiler", &compiler);
        self.xml
            .empty("option", &[("gravity", vector(model.gravity))]);
        self.bodies(&model);
        let tendons: Vec<&ConstraintSpec> = model
            .constraints
            .iter()
            .filter(|c| needs_tendon(c))
            .collect();
        if !tendons.is_empty() {
            self.xml.open("tendon", &[]);
            tendons
                .into_iter()
                .for_each(|constraint| self.tendon(constraint));
            self.xml.close();
        }
        if !model.constraints.is_empty() {
            self.xml.open("equality", &[]);
            model
                .constraints
                .iter()
                .for_each(|constraint| self.equality(constraint));
            self.xml.close();
        }
        if !model.actuators.is_empty() {
            self.xml.open("actuator", &[]);
            model
                .actuators
                .iter()
                .for_each(|actuator| self.actuator(actuator));
            self.xml.close();
        }
        self.xml.close();
    }

    /// Features that MuJoCo itself would reject or does not know.
    fn remarks(&mut self, model: &ModelBuilder) {
        let dofs = |joint: &JointSpec| joint.dofs.iter().any(|dof| dof.max_velocity.is_some());
        let fast: Vec<&str> = model
            .joints
            .iter()
            .filter(|j| dofs(j))
            .map(|j| &j.name[..])
            .collect();
        let starts = |joint: &&JointSpec| {
            joint.kind != JointKind::Free && joint.start.iter().any(|x| *x != 0.0)
                || joint.start_velocity.iter().any(|x| *x != 0.0)
        };
        let started: Vec<&str> = model
            .joints
            .iter()
            .filter(starts)
            .map(|j| &j.name[..])
            .collect();
        if !started.is_empty() {
            let names = started.join(", ");
            self.xml
                .comment(&format!("the initial state is not written: {names}"));
        }
        if !model.sensors.is_empty() {
            self.xml.comment("sensors are not written");
        }
        if !fast.is_empty() {
            self.xml.comment(&format!(
                "velocity limits are not written: {}",
                fast.join(", ")
            ));
        }
    }

    /// The tree of bodies, without recursion: it may be deep.
    fn bodies(&mut self, model: &ModelBuilder) {
        let mut carried: HashMap<&str, Vec<&JointSpec>> = HashMap::new();
        for joint in &model.joints {
            carried.entry(&joint.parent).or_default().push(joint);
        }
        let links: HashMap<&str, &LinkSpec> = model
            .links
            .iter()
            .map(|link| (&link.name[..], link))
            .collect();
        let named = self.named(model);
        self.xml.open("worldbody", &[]);
        self.write_sites("world");
        let on = |link: &str| carried.get(link).cloned().unwrap_or_default();
        let mut stack: Vec<Next<'_>> = on("world")
            .into_iter()
            .rev()
            .map(|joint| Next::Body(Vec::new(), joint))
            .collect();
        while let Some(next) = stack.pop() {
            let Next::Body(mut before, joint) = next else {
                self.xml.close();
                continue;
            };
            let link = links.get(&joint.child[..]).copied();
            let outward = on(&joint.child);
            let massless =
                link.is_none_or(|link| link.inertial.is_none_or(|inertial| inertial.mass == 0.0));
            let between = massless && !named.contains(&joint.child) && can_stand_together(joint);
            if let ([only], true) = (&outward[..], between)
                && (can_stand_together(only) || only.kind == JointKind::Spherical)
            {
                before.push((joint, joint.parent_from_joint));
                stack.push(Next::Body(before, only));
                continue;
            }
            self.body(&before, joint, link);
            stack.push(Next::End);
            stack.extend(
                outward
                    .into_iter()
                    .rev()
                    .map(|joint| Next::Body(Vec::new(), joint)),
            );
        }
        self.xml.close();
    }

    /// Links that are referred to elsewhere.
    fn named(&self, model: &ModelBuilder) -> HashSet<String> {
        let mut named: HashSet<String> = self.sites.keys().cloned().collect();
        for constraint in &model.constraints {
            if let RuleSpec::Distance { parent, child, .. } = &constraint.rule {
                named.extend([parent.clone(), child.clone()]);
            }
        }
        named
    }

    /// A body with its joints; it stays open for the bodies in it.
    fn body(
        &mut self,
        before: &[(&JointSpec, Pose<f64>)],
        joint: &JointSpec,
        link: Option<&LinkSpec>,
    ) {
        let mut poses: Vec<Pose<f64>> = before.iter().map(|(_, pose)| *pose).collect();
        poses.push(joint.parent_from_joint);
        let body = poses.iter().fold(Pose::identity(), |all, pose| all * *pose);
        let mut attributes: Attributes<'_> = vec![("name", joint.child.clone())];
        // the position of a free joint is that in the world
        if joint.kind == JointKind::Free && (joint.parent != "world" || body != Pose::identity()) {
            self.refused.push(format!(
                "free joint `{}` that is not at the origin of the world",
                joint.name
            ));
        }
        match (joint.kind, &joint.start[..]) {
            (JointKind::Free, &[x, y, z, ref quaternion @ ..]) => {
                attributes.push(("pos", numbers(&[x, y, z])));
                attributes.push(("quat", numbers(quaternion)));
            }
            _ => placement(&mut attributes, body),
        }
        if let Some(part) = self.gravcomp.get(&joint.child) {
            attributes.push(("gravcomp", numbers(&[*part])));
        }
        self.xml.open("body", &attributes);
        if let Some(inertial) = link
            .and_then(|link| link.inertial)
            .filter(|inertial| inertial.mass != 0.0 || inertial.tensor != Sym3::zero())
        {
            let tensor = inertial.tensor;
            let Sym3 {
                xx,
                yy,
                zz,
                xy,
                xz,
                yz,
            } = tensor;
            let inertia = match [xy, xz, yz] == [0.0; 3] {
                true => ("diaginertia", numbers(&[xx, yy, zz])),
                false => ("fullinertia", numbers(&[xx, yy, zz, xy, xz, yz])),
            };
            let attributes = [
                ("pos", vector(inertial.centre)),
                ("mass", numbers(&[inertial.mass])),
                inertia,
            ];
            self.xml.empty("inertial", &attributes);
        }
        // from the frame of each joint to that of the body
        for (k, (joint, _)) in before.iter().enumerate() {
            let outward = poses[k + 1..]
                .iter()
                .fold(Pose::identity(), |all, pose| all * *pose);
            self.joint(joint, outward.inverse());
        }
        self.joint(joint, Pose::identity());
        self.write_sites(&joint.child);
    }

    fn write_sites(&mut self, link: &str) {
        for (name, at) in self.sites.get(link).cloned().unwrap_or_default() {
            let mut attributes: Attributes<'_> = vec![("name", name)];
            placement(&mut attributes, at);
            self.xml.empty("site", &attributes);
        }
    }

    /// The joints of MJCF that make up one of ours, which is `at` this pose in the body.
    fn joint(&mut self, spec: &JointSpec, at: Pose<f64>) {
        let axis = at.rotation * spec.axes.first;
        let parts: Vec<(&str, &str, Vec3<f64>)> = match spec.kind {
            JointKind::Fixed => Vec::new(),
            JointKind::Revolute | JointKind::Continuous => vec![("", "hinge", axis)],
            JointKind::Prismatic => vec![("", "slide", axis)],
            JointKind::Cylindrical => vec![(".angle", "hinge", axis), (".slide", "slide", axis)],
            JointKind::Universal => {
                let second = at.rotation * spec.axes.second;
                vec![(".1", "hinge", axis), (".2", "hinge", second)]
            }
            JointKind::Planar if spec.axes.first == Vec3::new(0.0, 0.0, 1.0) => {
                let Mat3 { x, y, z } = at.rotation;
                vec![
                    (".x", "slide", x),
                    (".y", "slide", y),
                    (".angle", "hinge", z),
                ]
            }
            JointKind::Spherical => vec![("", "ball", axis)],
            JointKind::Free => vec![("", "free", axis)],
            JointKind::Planar | JointKind::Helical => {
                let what = format!("{} joint `{}`", spec.kind, spec.name);
                return self.refused.push(what);
            }
        };
        if !spec.kind.has_axis() && spec.dofs.iter().any(|dof| *dof != spec.dofs[0]) {
            self.refused.push(format!(
                "different freedoms of {} joint `{}`",
                spec.kind, spec.name
            ));
        }
        for (k, (suffix, kind, axis)) in parts.into_iter().enumerate() {
            let mut attributes: Attributes<'_> = vec![("name", format!("{}{suffix}", spec.name))];
            if kind != "hinge" {
                attributes.push(("type", kind.into()));
            }
            if at.translation != Vec3::zero() {
                attributes.push(("pos", vector(at.translation)));
            }
            if matches!(kind, "hinge" | "slide") {
                attributes.push(("axis", vector(axis)));
            }
            let dof = spec.dofs.get(k).copied().unwrap_or_default();
            self.freedom(&mut attributes, &spec.name, &dof);
            self.xml.empty("joint", &attributes);
        }
    }

    fn freedom(&mut self, attributes: &mut Attributes<'_>, name: &str, dof: &Dof) {
        super::stop(dof, name, &mut self.refused);
        for (key, value) in [
            ("armature", dof.armature),
            ("damping", dof.damping),
            ("frictionloss", dof.friction),
            ("stiffness", dof.stiffness),
            ("springref", dof.rest),
        ] {
            if value != 0.0 {
                attributes.push((key, numbers(&[value])));
            }
        }
        if let Some((lower, upper)) = dof.limits {
            if !(lower.is_finite() && upper.is_finite() && lower < upper) {
                self.refused
                    .push(format!("limits {lower}, {upper} of joint `{name}`"));
            }
            attributes.push(("range", numbers(&[lower, upper])));
        }
        if let Some(effort) = dof
            .max_effort
            .filter(|effort| *effort > 0.0 && effort.is_finite())
        {
            attributes.push(("actuatorfrcrange", numbers(&[-effort, effort])));
        }
    }

    /// The sum of coordinates of a coupling.
    fn tendon(&mut self, constraint: &ConstraintSpec) {
        let RuleSpec::Coupling { terms, .. } = &constraint.rule else {
            return;
        };
        self.xml.open("fixed", &[("name", constraint.name.clone())]);
        for (joint, c) in terms {
            self.xml.empty(
                "joint",
                &[("joint", joint.clone()), ("coef", numbers(&[*c]))],
            );
        }
        self.xml.close();
    }

    fn equality(&mut self, constraint: &ConstraintSpec) {
        let name = ("name", constraint.name.clone());
        match &constraint.rule {
            RuleSpec::Joint(joint)
                if matches!(joint.kind, JointKind::Fixed | JointKind::Spherical) =>
            {
                let [parent, child] = site_names(constraint);
                let tag = if joint.kind == JointKind::Fixed {
                    "weld"
                } else {
                    "connect"
                };
                self.xml
                    .empty(tag, &[name, ("site1", parent), ("site2", child)]);
            }
            // two points of its axis stay together; one of the six rows follows from the others
            RuleSpec::Joint(joint) if is_hinge(joint) => {
                for ([parent, child], end) in [
                    (site_names(constraint), ""),
                    (second_site_names(constraint), "_axis"),
                ] {
                    let name = ("name", format!("{}{end}", constraint.name));
                    let sites = [name, ("site1", parent), ("site2", child)];
                    self.xml.empty("connect", &sites);
                }
            }
            RuleSpec::Coupling { offset, .. } if needs_tendon(constraint) => {
                let polynomial = ("polycoef", numbers(&[*offset, 0.0, 0.0, 0.0, 0.0]));
                self.xml.empty(
                    "tendon",
                    &[name, ("tendon1", constraint.name.clone()), polynomial],
                );
            }
            RuleSpec::Coupling { terms, offset } => {
                let (follower, own) = &terms[0];
                let mut attributes = vec![name, ("joint1", follower.clone())];
                let mut slope = 0.0;
                if let Some((leader, c)) = terms.get(1) {
                    attributes.push(("joint2", leader.clone()));
                    slope = -c / own;
                }
                attributes.push(("polycoef", numbers(&[offset / own, slope, 0.0, 0.0, 0.0])));
                self.xml.empty("joint", &attributes);
            }
            RuleSpec::Joint(joint) => {
                let what = format!("constraint `{}`, a {} joint", constraint.name, joint.kind);
                self.refused.push(what);
            }
            RuleSpec::Distance { .. }
            | RuleSpec::Driver { .. }
            | RuleSpec::Contact(_)
            | RuleSpec::KnifeEdge { .. }
            | RuleSpec::Velocity { .. } => {
                self.refused
                    .push(format!("constraint `{}`", constraint.name));
            }
        }
    }

    fn actuator(&mut self, spec: &ActuatorSpec) {
        let mut attributes: Attributes<'_> =
            vec![("name", spec.name.clone()), ("joint", spec.joint.clone())];
        attributes.push(("gear", numbers(&[spec.gear])));
        if let Some(effort) = spec.max_effort {
            let force = effort / spec.gear.abs();
            attributes.push(("forcerange", numbers(&[-force, force])));
        }
        if spec.lag == 0.0 {
            return self.xml.empty("motor", &attributes);
        }
        attributes.push(("dyntype", "filter".into()));
        attributes.push(("dynprm", numbers(&[spec.lag])));
        self.xml.empty("general", &attributes);
    }
}

/// Can this joint be combined with others after it in one body? Quaternions cannot: their axes would be those of another body.
/// A ball joint may be the last one, whose axes are the body's own.
fn can_stand_together(joint: &JointSpec) -> bool {
    !matches!(joint.kind, JointKind::Fixed) && joint.kind.quaternion().is_none()
}

/// Is the coupling one of more than two coordinates?
fn needs_tendon(constraint: &ConstraintSpec) -> bool {
    matches!(&constraint.rule, RuleSpec::Coupling { terms, .. } if terms.len() != 1 && terms.len() != 2)
}

/// Does this joint turn about an axis?
fn is_hinge(joint: &JointSpec) -> bool {
    matches!(joint.kind, JointKind::Revolute | JointKind::Continuous)
}

fn second_site_names(constraint: &ConstraintSpec) -> [String; 2] {
    site_names(constraint).map(|name| format!("{name}_axis"))
}

fn site_names(constraint: &ConstraintSpec) -> [String; 2] {
    ["a", "b"].map(|end| format!("{}_{end}", constraint.name))
}

/// Writes the parts of a pose that differ from the identity.
fn placement(attributes: &mut Attributes<'_>, at: Pose<f64>) {
    if at.translation != Vec3::zero() {
        attributes.push(("pos", vector(at.translation)));
    }
    if at.rotation != Mat3::identity() {
        attributes.push(("quat", numbers(&at.rotation.to_quaternion())));
    }
}
