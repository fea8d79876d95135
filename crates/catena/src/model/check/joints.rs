//! Checks that a joint has finite placements and axes, and freedoms with valid numbers.

use super::{finite_vector, model_error, pose};
use crate::error::Result;
use crate::model::JointKind;
use crate::model::specs::JointSpec;
use crate::residual::within;

pub(super) fn joint_numbers(joint: &JointSpec) -> Result<()> {
    let what = |part: &str| format!("{part} of joint `{}`", joint.name);
    pose(&joint.parent_from_joint, &joint.place, || what("placement"))?;
    pose(&joint.joint_from_child, &joint.place, || {
        what("child placement")
    })?;
    finite_vector(joint.axes.first, &joint.place, || what("axis"))?;
    finite_vector(joint.axes.second, &joint.place, || what("second axis"))?;
    if !joint.pitch.is_finite() {
        return Err(model_error(
            &joint.place,
            format!("{} is not finite", what("pitch")),
        ));
    }
    if joint.kind == JointKind::Helical && joint.pitch == 0.0 {
        return Err(model_error(
            &joint.place,
            format!("helical joint `{}` has pitch 0", joint.name),
        )
        .hint("give `pitch` in metres per radian, or make it revolute"));
    }
    for (name, given, needed) in [
        ("start", &joint.start, joint.kind.nq()),
        ("start_velocity", &joint.start_velocity, joint.kind.nv()),
    ] {
        if !given.is_empty() && given.len() != needed {
            return Err(model_error(
                &joint.place,
                format!(
                    "{}: {}",
                    what(name),
                    crate::text::needed_and_given(needed, given.len())
                ),
            ));
        }
        if given.iter().any(|x| !x.is_finite()) {
            return Err(model_error(
                &joint.place,
                format!("{} is not finite", what(name)),
            ));
        }
    }
    if let (Some(k), false) = (joint.kind.quaternion(), joint.start.is_empty()) {
        let length = joint.start[k..].iter().map(|x| x * x).sum::<f64>().sqrt();
        if !within((length - 1.0).abs(), 1e-9) {
            return Err(model_error(
                &joint.place,
                format!(
                    "{}: its quaternion has length {length}, not 1",
                    what("start")
                ),
            ));
        }
    }
    for dof in &joint.dofs {
        for (name, value) in [
            ("armature", dof.armature),
            ("damping", dof.damping),
            ("friction", dof.friction),
            ("stiffness", dof.stiffness),
            ("restitution", dof.restitution),
            ("stop_stiffness", dof.stop_stiffness),
            ("stop_damping", dof.stop_damping),
        ] {
            if !value.is_finite() || value < 0.0 {
                return Err(model_error(
                    &joint.place,
                    format!("{} must be a finite number ≥ 0, not {value}", what(name)),
                ));
            }
        }
        if dof.restitution > 1.0 {
            return Err(model_error(
                &joint.place,
                format!(
                    "{} must be at most 1, not {}",
                    what("restitution"),
                    dof.restitution
                ),
            ));
        }
        if dof.stop_damping > 0.0 && dof.stop_stiffness == 0.0 {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` has `stop_damping` but no `stop_stiffness`",
                    joint.name
                ),
            )
            .hint("a soft stop needs a stiffness; a rigid one has a `restitution` instead"));
        }
        if dof.restitution > 0.0 && dof.stop_stiffness > 0.0 {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` has a `restitution` and a `stop_stiffness`",
                    joint.name
                ),
            )
            .hint("a stop is rigid, with a `restitution`, or soft, with `stop_stiffness` and `stop_damping`"));
        }
        if !dof.rest.is_finite() {
            return Err(model_error(
                &joint.place,
                format!("{} is not finite", what("rest position")),
            ));
        }
        if dof.stiffness != 0.0 && joint.kind.quaternion().is_some() {
            return Err(model_error(
                &joint.place,
                format!(
                    "a {} joint such as `{}` cannot carry a coordinate spring",
                    joint.kind, joint.name
                ),
            )
            .hint("springs act on joints whose positions are plain coordinates"));
        }
        if let Some((lower, upper)) = dof.limits
            && (lower > upper || lower.is_nan() || upper.is_nan())
        {
            return Err(model_error(
                &joint.place,
                format!(
                    "limits of joint `{}`: lower {lower} is above upper {upper}",
                    joint.name
                ),
            ));
        }
    }
    Ok(())
}
