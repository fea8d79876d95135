//! The root link, which is not the child of any joint, and how it is attached.

use crate::BaseOption;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{JointKind, JointSpec, LinkSpec, ModelBuilder};
use std::collections::HashSet;

/// How the root link is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Fixed,
    Free,
    /// On the ground of the tree, which moves as prescribed.
    Moving,
}

impl From<BaseOption> for Base {
    fn from(option: BaseOption) -> Self {
        match option {
            BaseOption::Fixed => Base::Fixed,
            BaseOption::Free => Base::Free,
        }
    }
}

/// The links that are not the child of any joint.
pub(crate) fn roots(builder: &ModelBuilder) -> Vec<&LinkSpec> {
    let carried: HashSet<&str> = builder.joints.iter().map(|j| &j.child[..]).collect();
    builder
        .links
        .iter()
        .filter(|link| !carried.contains(&link.name[..]))
        .collect()
}

/// Joins the single root link to the ground, if no joint does so already.
///
/// Where there is no root, or there are several, the model is left unchanged: building it reports the link that is not connected.
pub(crate) fn join_root(builder: &mut ModelBuilder, base: Base) -> Result<()> {
    if base == Base::Moving {
        builder
            .assumptions
            .push("the ground is a base whose motion is prescribed with the state".into());
    }
    if let Some(grounded) = builder.joints.iter().find(|j| j.parent == "world") {
        if base == Base::Free {
            return Err(Error::new(
                ErrorKind::Model,
                format!(
                    "the base cannot be free: joint `{}` joins link `{}` to the ground",
                    grounded.name, grounded.child
                ),
            )
            .at(grounded.place.clone())
            .hint("leave that joint out, or keep the base fixed"));
        }
        return Ok(());
    }
    let [root] = roots(builder)[..] else {
        return Ok(());
    };
    let kind = match base {
        Base::Fixed | Base::Moving => JointKind::Fixed,
        Base::Free => JointKind::Free,
    };
    let mut joint = JointSpec::new(&unused_name(builder), kind, "world", &root.name);
    joint.place = root.place.clone();
    let note = format!(
        "root link `{}` is joined to the ground by a {kind} joint (`{}` was added)",
        root.name, joint.name
    );
    builder.assumptions.push(note);
    // first, so that coordinates are numbered from the root
    builder.joints.insert(0, joint);
    Ok(())
}

/// `root_joint`, with a number if the model has one already.
fn unused_name(builder: &ModelBuilder) -> String {
    let taken: HashSet<&str> = builder.joints.iter().map(|j| &j.name[..]).collect();
    let mut name = String::from("root_joint");
    let mut number = 2;
    while taken.contains(&name[..]) {
        name = format!("root_joint_{number}");
        number += 1;
    }
    name
}
