//! The checks a model passes before any number is computed from it.

mod constraints;
mod inertias;
mod joints;
mod names;

use super::builder::ModelBuilder;
use super::specs::WORLD;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::residual::{largest, within};
use crate::spatial::{Mat3, Pose, Vec3};
use constraints::constraint_numbers;
pub(super) use constraints::{Said, constraint};
use inertias::inertial;
pub(super) use inertias::unphysical_inertia;
use joints::joint_numbers;
pub(super) use names::{names, no_coordinate};
use std::collections::HashMap;

fn model_error(place: &Place, message: String) -> Error {
    Error::new(ErrorKind::Model, message).at(place.clone())
}

/// Checks that every number is finite and physically possible.
pub(super) fn numbers(builder: &ModelBuilder) -> Result<()> {
    finite_vector(builder.gravity, &Place::default(), || "gravity".into())?;
    for link in &builder.links {
        inertial(link)?;
        if builder.strict
            && let Some(message) = unphysical_inertia(link)
        {
            return Err(Error::new(ErrorKind::Physics, message)
                .at(link.place.clone())
                .hint("check units and axes of the tensor, or load it with a warning by leaving out `--strict`"));
        }
    }
    for joint in &builder.joints {
        joint_numbers(joint)?;
    }
    for frame in &builder.frames {
        pose(&frame.link_from_frame, &frame.place, || {
            format!("pose of frame `{}`", frame.name)
        })?;
    }
    for spec in &builder.constraints {
        constraint_numbers(spec)?;
    }
    Ok(())
}

fn finite_vector(v: Vec3<f64>, place: &Place, what: impl Fn() -> String) -> Result<()> {
    if v.to_array().iter().all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(model_error(place, format!("{} is not finite", what())))
    }
}

fn pose(pose: &Pose<f64>, place: &Place, what: impl Fn() -> String) -> Result<()> {
    finite_vector(pose.translation, place, &what)?;
    let r = pose.rotation;
    for column in [r.x, r.y, r.z] {
        finite_vector(column, place, &what)?;
    }
    let product = r.transpose() * r - Mat3::identity();
    let off = largest(product.rows().as_flattened());
    if !within(off, 1e-9) || r.x.cross(r.y).dot(r.z) < 0.0 {
        return Err(model_error(
            place,
            format!("{} has a rotation that is not a rotation matrix", what()),
        ));
    }
    Ok(())
}

/// Joints in an order that visits parents before children and follows each branch to its end.
pub(super) fn tree_order(builder: &ModelBuilder) -> Result<Vec<usize>> {
    let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
    for (k, joint) in builder.joints.iter().enumerate() {
        children.entry(&joint.parent).or_default().push(k);
    }
    let mut order = Vec::with_capacity(builder.joints.len());
    let mut stack: Vec<usize> = children.get(WORLD).cloned().unwrap_or_default();
    stack.reverse();
    while let Some(joint) = stack.pop() {
        order.push(joint);
        if let Some(next) = children.get(builder.joints[joint].child.as_str()) {
            stack.extend(next.iter().rev());
        }
    }
    if order.len() < builder.joints.len() {
        let mut seen = vec![false; builder.joints.len()];
        order.iter().for_each(|&k| seen[k] = true);
        let lost = seen.iter().position(|&s| !s).unwrap_or(0);
        let joint = &builder.joints[lost];
        return Err(model_error(
            &joint.place,
            format!(
                "joint `{}` is part of a cycle of joints that is not connected to the ground",
                joint.name
            ),
        )
        .hint("join one of its links to `world`, and give every link one parent"));
    }
    Ok(order)
}
