//! Models written as URDF, MJCF and SDF, where these can express them.
//!
//! In the first two the frame of a link is at its joint; [`at_joints`] moves it there. Features that a format cannot express
//! are collected in [`Refused`] and named in one error.

mod mjcf;
mod sdf;
mod urdf;

pub(crate) use mjcf::to_mjcf;
pub(crate) use sdf::to_sdf;
pub(crate) use urdf::to_urdf;

use catena::error::{Error, ErrorKind, Result};
use catena::model::{
    Dof, ForceAxes, ForceRule, Inertial, JointKind, JointSpec, ModelBuilder, RuleSpec,
};
use catena::spatial::{Pose, Vec3};
use std::collections::HashMap;

/// Features that a format cannot express.
#[derive(Default)]
struct Refused(Vec<String>);

impl Refused {
    fn push(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }

    /// Returns one error that names the first few features, if there are any.
    fn into_result(self, format: &str) -> Result<()> {
        const NAMED: usize = 5;
        let Refused(all) = self;
        if all.is_empty() {
            return Ok(());
        }
        let more = match all.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = all[..all.len().min(NAMED)].join(", ");
        let message = format!("{format} cannot express {named}{more}");
        Err(Error::new(ErrorKind::Unsupported, message)
            .hint("TOML and JSON, catena's own formats, can"))
    }
}

/// The model with the frame of every link moved to its joint.
fn at_joints(builder: &ModelBuilder) -> ModelBuilder {
    let mut model = builder.clone();
    // new frame of a link ← its old one
    let mut moved: HashMap<String, Pose<f64>> = HashMap::new();
    for joint in &mut model.joints {
        let to_child = std::mem::replace(&mut joint.joint_from_child, Pose::identity());
        if to_child == Pose::identity() {
            continue;
        }
        match joint.kind {
            JointKind::Fixed => joint.parent_from_joint = joint.parent_from_joint * to_child,
            _ => {
                moved.insert(joint.child.clone(), to_child);
            }
        }
    }
    for link in &mut model.links {
        if let (Some(pose), Some(inertial)) = (moved.get(&link.name), &mut link.inertial) {
            *inertial = Inertial {
                mass: inertial.mass,
                centre: pose.point(inertial.centre),
                tensor: inertial.tensor.conjugate(pose.rotation),
            };
        }
    }
    let on_parent = |joint: &mut JointSpec| {
        if let Some(pose) = moved.get(&joint.parent) {
            joint.parent_from_joint = *pose * joint.parent_from_joint;
        }
    };
    model.joints.iter_mut().for_each(on_parent);
    for frame in &mut model.frames {
        if let Some(pose) = moved.get(&frame.link) {
            frame.link_from_frame = *pose * frame.link_from_frame;
        }
    }
    for force in &mut model.forces {
        if let ForceRule::Constant { link, point, .. } = &mut force.rule
            && let Some(pose) = moved.get(link)
        {
            *point = pose.point(*point);
        }
    }
    for constraint in &mut model.constraints {
        if let RuleSpec::Joint(joint) = &mut constraint.rule {
            on_parent(joint);
            if let Some(pose) = moved.get(&joint.child) {
                joint.joint_from_child = joint.joint_from_child * pose.inverse();
            }
        }
    }
    model
}

/// Numbers with enough digits to read them back.
fn numbers(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
    words.join(" ")
}

fn vector(vector: Vec3<f64>) -> String {
    numbers(&vector.to_array())
}

/// An XML text under construction.
#[derive(Default)]
struct Xml {
    text: String,
    open: Vec<String>,
}

/// Attributes of an element, in their order.
type Attributes<'a> = Vec<(&'a str, String)>;

impl Xml {
    fn element(&mut self, tag: &str, attributes: &[(&str, String)], end: &str) {
        let indent = "  ".repeat(self.open.len());
        self.text += &format!("{indent}<{tag}");
        for (name, value) in attributes {
            self.text += &format!(" {name}=\"{}\"", escaped(value));
        }
        self.text += end;
        self.text += "\n";
    }

    /// An element with nothing in it.
    fn empty(&mut self, tag: &str, attributes: &[(&str, String)]) {
        self.element(tag, attributes, "/>");
    }

    /// An element with a text.
    fn text(&mut self, tag: &str, attributes: &[(&str, String)], text: &str) {
        let end = format!(">{}</{tag}>", escaped(text));
        self.element(tag, attributes, &end);
    }

    /// An element in which others follow, until it is closed.
    fn open(&mut self, tag: &str, attributes: &[(&str, String)]) {
        self.element(tag, attributes, ">");
        self.open.push(tag.into());
    }

    fn close(&mut self) {
        let tag = self.open.pop().expect("every close has its open");
        let indent = "  ".repeat(self.open.len());
        self.text += &format!("{indent}</{tag}>\n");
    }

    /// A remark; two hyphens would end it.
    fn comment(&mut self, remark: &str) {
        let indent = "  ".repeat(self.open.len());
        let remark = remark.replace("--", "- -");
        self.text += &format!("{indent}<!-- {remark} -->\n");
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            other => escaped.push(other),
        }
    }
    escaped
}

/// These files cannot express the behaviour of a joint at its limits.
fn stop(dof: &Dof, name: &str, refused: &mut Refused) {
    let numbers = [dof.restitution, dof.stop_stiffness, dof.stop_damping];
    if numbers.iter().any(|x| *x != 0.0) {
        refused.push(format!("restitution or stop of joint `{name}`"));
    }
}

/// Forces at mass centres against the weight, as the fraction of the weight of a link that they compensate; others have no counterpart.
fn compensated_weights(model: &ModelBuilder, refused: &mut Refused) -> HashMap<String, f64> {
    let mut compensated: HashMap<String, f64> = HashMap::new();
    for force in &model.forces {
        let part = match &force.rule {
            ForceRule::Constant {
                link,
                point,
                force,
                torque,
                axes: ForceAxes::World,
            } if *torque == Vec3::zero() => {
                let own = model.links.iter().find(|own| own.name == *link);
                own.and_then(|own| own.inertial).and_then(|inertial| {
                    let weight = model.gravity * inertial.mass;
                    let part = -weight.dot(*force) / weight.dot(weight);
                    let off = (weight * part + *force).norm() + (inertial.centre - *point).norm();
                    (off <= 1e-12 * (1.0 + force.norm())).then(|| (link.clone(), part))
                })
            }
            _ => None,
        };
        match part {
            Some((link, part)) => *compensated.entry(link).or_default() += part,
            None => refused.push(format!("force `{}`", force.name)),
        }
    }
    compensated
}

/// Efforts of actuators as those of their joints, for formats whose actuators have no limits.
fn efforts_at_joints(model: &mut ModelBuilder) {
    for actuator in &model.actuators {
        let Some(most) = actuator.max_effort else {
            continue;
        };
        for joint in &mut model.joints {
            let freedoms = joint.kind.freedoms().iter();
            let names = freedoms.map(|(suffix, _)| format!("{}{suffix}", joint.name));
            let Some(k) = names.into_iter().position(|name| name == actuator.joint) else {
                continue;
            };
            joint.dofs.resize(joint.kind.nv(), Dof::default());
            let own = &mut joint.dofs[k].max_effort;
            *own = Some(own.map_or(most, |own| own.min(most)));
        }
    }
}
