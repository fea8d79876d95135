//! Checks that names are lines of text, unique, and refer to something that exists.

use super::model_error;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::model::Tree;
use crate::model::builder::ModelBuilder;
use crate::model::constraint::{ConstraintSpec, RuleSpec};
use crate::model::specs::{JointSpec, WORLD};
use crate::text::is_hidden;
use std::collections::{HashMap, HashSet};

/// Checks that names exist, are unique, and refer to something.
pub(in crate::model) fn names(builder: &ModelBuilder) -> Result<()> {
    texts(builder)?;
    let mut links = HashMap::from([(
        WORLD,
        &Place {
            file: None,
            line: None,
        },
    )]);
    for link in &builder.links {
        if link.name.is_empty() {
            return Err(model_error(&link.place, "a link has no name".into()));
        }
        if link.name == WORLD {
            return Err(model_error(
                &link.place,
                "a link cannot be called `world`: that is the ground".into(),
            ));
        }
        if links.insert(&link.name, &link.place).is_some() {
            return Err(model_error(
                &link.place,
                format!("two links are called `{}`", link.name),
            ));
        }
    }
    let mut joints = HashMap::new();
    let mut carried: HashMap<&str, &JointSpec> = HashMap::new();
    for joint in &builder.joints {
        if joint.name.is_empty() {
            return Err(model_error(&joint.place, "a joint has no name".into()));
        }
        if joints.insert(&joint.name, ()).is_some() {
            return Err(model_error(
                &joint.place,
                format!("two joints are called `{}`", joint.name),
            ));
        }
        for (role, link) in [("parent", &joint.parent), ("child", &joint.child)] {
            if !links.contains_key(link.as_str()) {
                let error = model_error(
                    &joint.place,
                    format!(
                        "joint `{}`: there is no link `{link}` to be its {role}",
                        joint.name
                    ),
                );
                return Err(match closest(link, links.keys().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
        if joint.child == WORLD {
            return Err(model_error(
                &joint.place,
                format!("joint `{}` has the ground as its child", joint.name),
            )
            .hint("swap parent and child"));
        }
        if joint.child == joint.parent {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` joins link `{}` to itself",
                    joint.name, joint.child
                ),
            ));
        }
        if let Some(other) = carried.insert(&joint.child, joint) {
            return Err(model_error(
                &joint.place,
                format!(
                    "link `{}` is the child of two joints, `{}` and `{}`: the tree would have a loop",
                    joint.child, other.name, joint.name
                ),
            )
            .hint("keep one of the joints in the tree and close the loop by a constraint of the other's type"));
        }
        if !joint.dofs.is_empty() && joint.dofs.len() != joint.kind.nv() {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` has {} freedom(s), but data are given for {}",
                    joint.name,
                    joint.kind.nv(),
                    joint.dofs.len()
                ),
            ));
        }
    }
    for link in &builder.links {
        if !carried.contains_key(link.name.as_str()) {
            return Err(model_error(
                &link.place,
                format!(
                    "link `{}` is not joined to anything: no joint has it as its child",
                    link.name
                ),
            )
            .hint("join it to another link, or to `world` by a fixed or free joint"));
        }
    }
    if builder.links.is_empty() {
        return Err(Error::new(
            ErrorKind::Model,
            format!("model `{}` has no links", builder.name),
        )
        .hint("a model needs links, and joints that move them"));
    }
    let mut frames: HashMap<&str, ()> = links.keys().map(|&name| (name, ())).collect();
    for frame in &builder.frames {
        if frame.name.is_empty() {
            return Err(model_error(&frame.place, "a frame has no name".into()));
        }
        if !links.contains_key(frame.link.as_str()) {
            return Err(model_error(
                &frame.place,
                format!("frame `{}`: there is no link `{}`", frame.name, frame.link),
            ));
        }
        if frames.insert(&frame.name, ()).is_some() {
            return Err(model_error(
                &frame.place,
                format!(
                    "two frames (or a frame and a link) are called `{}`",
                    frame.name
                ),
            ));
        }
    }
    constraint_names(builder, &links)?;
    force_names(builder, &links)
}

/// Checks that names and assumptions are lines of text: they appear in messages, tables and comments of generated code.
fn texts(builder: &ModelBuilder) -> Result<()> {
    let nowhere = Place::default();
    let links = builder.links.iter().map(|l| (&l.place, "link", &l.name));
    let joints = builder.joints.iter().map(|j| (&j.place, "joint", &j.name));
    let frames = builder.frames.iter().map(|f| (&f.place, "frame", &f.name));
    let constraints = builder.constraints.iter();
    let constraints = constraints.map(|c| (&c.place, "constraint", &c.name));
    let actuators = builder.actuators.iter();
    let actuators = actuators.map(|a| (&a.place, "actuator", &a.name));
    let names = links.chain(joints).chain(frames);
    let forces = builder.forces.iter().map(|f| (&f.place, "force", &f.name));
    let sensors = builder
        .sensors
        .iter()
        .map(|s| (&s.place, "sensor", &s.name));
    let names = names.chain(constraints).chain(actuators);
    let names = names.chain(forces).chain(sensors);
    for (place, what, name) in std::iter::once((&nowhere, "model", &builder.name)).chain(names) {
        if let Some(c) = name.chars().find(|c| is_hidden(*c)) {
            let message = format!(
                "the name of {what} `{name}` has the control character U+{:04X}",
                u32::from(c)
            );
            return Err(model_error(place, message).hint(
                "a name is a line of printed characters: letters, digits, `_`, `-` and the like",
            ));
        }
    }
    for note in &builder.assumptions {
        if let Some(c) = note.chars().find(|c| is_hidden(*c)) {
            let message = format!(
                "the assumption `{note}` has the control character U+{:04X}",
                u32::from(c)
            );
            return Err(model_error(&nowhere, message).hint("an assumption is a line of text"));
        }
    }
    Ok(())
}

/// Checks that constraints have unique names and refer to links.
fn constraint_names(builder: &ModelBuilder, links: &HashMap<&str, &Place>) -> Result<()> {
    let mut taken: HashMap<&str, &str> = HashMap::new();
    for joint in &builder.joints {
        taken.insert(&joint.name, "joint");
    }
    for spec in &builder.constraints {
        if spec.name.is_empty() {
            return Err(model_error(&spec.place, "a constraint has no name".into()));
        }
        if let Some(other) = taken.insert(&spec.name, "constraint") {
            let what = match other {
                "joint" => "a joint and a constraint are both",
                _ => "two constraints are",
            };
            return Err(model_error(
                &spec.place,
                format!("{what} called `{}`", spec.name),
            ));
        }
        let (parent, child) = match &spec.rule {
            RuleSpec::Joint(joint) => (&joint.parent, &joint.child),
            RuleSpec::Distance { parent, child, .. } => (parent, child),
            RuleSpec::Contact(contact) => (&contact.parent, &contact.child),
            RuleSpec::KnifeEdge { parent, child, .. } => (parent, child),
            RuleSpec::Coupling { .. } | RuleSpec::Driver { .. } | RuleSpec::Velocity { .. } => {
                continue;
            }
        };
        for link in [parent, child] {
            if !links.contains_key(link.as_str()) {
                let error = model_error(
                    &spec.place,
                    format!("constraint `{}`: there is no link `{link}`", spec.name),
                );
                return Err(match closest(link, links.keys().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
    }
    Ok(())
}

/// Checks that force elements have unique names and refer to links.
fn force_names(builder: &ModelBuilder, links: &HashMap<&str, &Place>) -> Result<()> {
    let mut taken = HashSet::new();
    for spec in &builder.forces {
        if spec.name.is_empty() {
            return Err(model_error(&spec.place, "a force has no name".into()));
        }
        if !taken.insert(&spec.name) {
            return Err(model_error(
                &spec.place,
                format!("two forces are called `{}`", spec.name),
            ));
        }
        for link in spec.rule.links() {
            if !links.contains_key(link) {
                let error = model_error(
                    &spec.place,
                    format!("force `{}`: there is no link `{link}`", spec.name),
                );
                return Err(match closest(link, links.keys().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
    }
    Ok(())
}

/// The error for a coordinate that does not exist.
pub(in crate::model) fn no_coordinate(tree: &Tree, spec: &ConstraintSpec, name: &str) -> Error {
    let message = format!(
        "constraint `{}`: there is no coordinate `{name}`",
        spec.name
    );
    let error = model_error(&spec.place, message);
    let known = || tree.dofs.iter().map(|dof| dof.name.as_str());
    let prefix = format!("{name}.");
    let own: Vec<&str> = known().filter(|dof| dof.starts_with(&prefix)).collect();
    if !own.is_empty() {
        return error.hint(format!("its coordinates are {}", own.join(", ")));
    }
    match closest(name, known()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("coordinates are called like their joints; fixed joints have none"),
    }
}

/// The name closest to a mistyped one.
fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|other| (distance(name, other), other))
        .filter(|&(d, _)| d <= 1 + name.chars().count() / 4)
        .min()
        .map(|(_, other)| other)
}

/// Number of letters to change, add or drop.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let change = before + usize::from(ca != cb);
            before = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}
