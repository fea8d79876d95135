//! A model as URDF.

use super::{Attributes, Refused, Xml, at_joints, efforts_at_joints, numbers, vector};
use crate::urdf::NO_LIMIT;
use catena::elementary;
use catena::error::Result;
use catena::model::{ConstraintSpec, Dof, JointKind, JointSpec, LinkSpec, ModelBuilder, RuleSpec};
use catena::spatial::{Mat3, Pose, Vec3};

/// Gravity that readers of URDF assume.
const GRAVITY: Vec3<f64> = Vec3::new(0.0, 0.0, -9.81);

/// Writes the model, or names what URDF cannot express.
pub(crate) fn to_urdf(builder: &ModelBuilder) -> Result<String> {
    let mut model = at_joints(builder);
    efforts_at_joints(&mut model);
    let mut refused = Refused::default();
    if model.gravity != GRAVITY {
        refused.push(format!("gravity ({})", vector(model.gravity)));
    }
    let mut xml = Xml::default();
    xml.text += "<?xml version=\"1.0\"?>\n";
    xml.open("robot", &[("name", model.name.clone())]);
    let closing = model
        .constraints
        .iter()
        .filter_map(|constraint| match &constraint.rule {
            RuleSpec::Joint(joint) => Some(&**joint),
            _ => None,
        });
    let mut joints = model.joints.iter().chain(closing);
    if joints.any(|joint| joint.parent == "world" || joint.child == "world") {
        xml.empty("link", &[("name", "world".into())]);
    }
    for spec in &model.links {
        link(&mut xml, spec);
    }
    for spec in &model.joints {
        joint(&mut xml, spec, &model, &mut refused);
    }
    for frame in &model.frames {
        frame_link(&mut xml, &frame.name, &frame.link, frame.link_from_frame);
    }
    for constraint in &model.constraints {
        match &constraint.rule {
            RuleSpec::Joint(joint) => closure(&mut xml, &constraint.name, joint, &mut refused),
            _ if mimic(constraint).is_some() => {}
            _ => refused.push(format!("constraint `{}`", constraint.name)),
        }
    }
    for force in &model.forces {
        refused.push(format!("force `{}`", force.name));
    }
    for spec in &model.actuators {
        if spec.lag != 0.0 || spec.rotor_inertia != 0.0 {
            refused.push(format!("lag or rotor of actuator `{}`", spec.name));
        }
        xml.open(
            "transmission",
            &[("name", format!("{}_transmission", spec.name))],
        );
        xml.text += "    <type>transmission_interface/SimpleTransmission</type>\n";
        xml.empty("joint", &[("name", spec.joint.clone())]);
        xml.open("actuator", &[("name", spec.name.clone())]);
        xml.text += &format!(
            "      <mechanicalReduction>{:?}</mechanicalReduction>\n",
            spec.gear
        );
        xml.close();
        xml.close();
    }
    xml.close();
    refused.into_result("URDF")?;
    Ok(xml.text)
}

fn link(xml: &mut Xml, spec: &LinkSpec) {
    let name = [("name", spec.name.clone())];
    let Some(inertial) = spec.inertial else {
        return xml.empty("link", &name);
    };
    xml.open("link", &name);
    xml.open("inertial", &[]);
    xml.empty("origin", &[("xyz", vector(inertial.centre))]);
    xml.empty("mass", &[("value", numbers(&[inertial.mass]))]);
    let tensor = inertial.tensor;
    let entries = [
        ("ixx", tensor.xx),
        ("ixy", tensor.xy),
        ("ixz", tensor.xz),
        ("iyy", tensor.yy),
        ("iyz", tensor.yz),
        ("izz", tensor.zz),
    ];
    let entries = entries.map(|(name, entry)| (name, numbers(&[entry])));
    xml.empty("inertia", &entries);
    xml.close();
    xml.close();
}

/// A frame is a link without mass.
fn frame_link(xml: &mut Xml, name: &str, parent: &str, at: Pose<f64>) {
    xml.empty("link", &[("name", name.into())]);
    let attributes = [("name", format!("{name}_frame")), ("type", "fixed".into())];
    xml.open("joint", &attributes);
    xml.empty("parent", &[("link", parent.into())]);
    xml.empty("child", &[("link", name.into())]);
    origin(xml, at);
    xml.close();
}

fn joint(xml: &mut Xml, spec: &JointSpec, model: &ModelBuilder, refused: &mut Refused) {
    let dof = spec.dofs.first().copied().unwrap_or_default();
    let kind = match spec.kind {
        JointKind::Fixed => "fixed",
        JointKind::Revolute if dof.limits.is_none() => "continuous",
        JointKind::Revolute => "revolute",
        JointKind::Continuous => "continuous",
        JointKind::Prismatic => "prismatic",
        JointKind::Planar => "planar",
        JointKind::Free => "floating",
        other => return refused.push(format!("{other} joint `{}`", spec.name)),
    };
    xml.open(
        "joint",
        &[("name", spec.name.clone()), ("type", kind.into())],
    );
    xml.empty("parent", &[("link", spec.parent.clone())]);
    xml.empty("child", &[("link", spec.child.clone())]);
    origin(xml, spec.parent_from_joint);
    if spec.kind.has_axis() {
        xml.empty("axis", &[("xyz", vector(spec.axes.first))]);
    }
    match spec.kind.nv() {
        1 => freedom(xml, spec, &dof, refused),
        _ if spec.dofs.iter().any(|dof| *dof != Dof::default()) => {
            refused.push(format!(
                "rotors, springs, friction or limits of {} joint `{}`",
                spec.kind, spec.name
            ));
        }
        _ => {}
    }
    let own = model
        .constraints
        .iter()
        .filter_map(mimic)
        .find(|own| own.follower == spec.name);
    if let Some(own) = own {
        let attributes = [
            ("joint", own.leader.into()),
            ("multiplier", numbers(&[own.multiplier])),
            ("offset", numbers(&[own.offset])),
        ];
        xml.empty("mimic", &attributes);
    }
    xml.close();
}

/// A joint that closes a loop, as `<constraint>`: its frame and axis on each link. Those of a universal joint are its two axes.
fn closure(xml: &mut Xml, name: &str, joint: &JointSpec, refused: &mut Refused) {
    let kind = match joint.kind {
        JointKind::Fixed => "fixed",
        JointKind::Revolute => "revolute",
        JointKind::Continuous => "continuous",
        JointKind::Prismatic => "prismatic",
        JointKind::Cylindrical => "cylindrical",
        JointKind::Universal => "universal",
        JointKind::Spherical => "spherical",
        JointKind::Planar => "planar",
        other => return refused.push(format!("constraint `{name}`, a {other} joint")),
    };
    let axes = match joint.kind {
        JointKind::Universal => Some([joint.axes.first, joint.axes.second]),
        kind if kind.has_axis() => Some([joint.axes.first; 2]),
        _ => None,
    };
    xml.open(
        "constraint",
        &[("name", name.into()), ("type", kind.into())],
    );
    let child_from_joint = joint.joint_from_child.inverse();
    for (end, (link, from_joint)) in [
        (&joint.parent, joint.parent_from_joint),
        (&joint.child, child_from_joint),
    ]
    .into_iter()
    .enumerate()
    {
        let role = ["parent", "child"][end];
        xml.empty(role, &[("link", link.clone())]);
        placed(xml, &format!("{role}_origin"), from_joint);
        if let Some(axes) = axes {
            xml.empty(&format!("{role}_axis"), &[("xyz", vector(axes[end]))]);
        }
    }
    xml.close();
}

/// Limits, damping and friction of a joint with one coordinate.
fn freedom(xml: &mut Xml, spec: &JointSpec, dof: &Dof, refused: &mut Refused) {
    super::stop(dof, &spec.name, refused);
    if dof.armature != 0.0 {
        refused.push(format!("armature of joint `{}`", spec.name));
    }
    if dof.stiffness != 0.0 {
        refused.push(format!("stiffness of joint `{}`", spec.name));
    }
    let limits = match (dof.limits, spec.kind) {
        (Some((lower, upper)), _) if !(lower.is_finite() && upper.is_finite()) => {
            return refused.push(format!("one-sided limit of joint `{}`", spec.name));
        }
        // without lower and upper, readers take 0 for both
        (None, JointKind::Prismatic) => Some((-NO_LIMIT, NO_LIMIT)),
        (limits, _) => limits,
    };
    let most = [dof.max_effort, dof.max_velocity];
    if limits.is_some() || most != [None; 2] {
        let mut limit: Attributes<'_> = Vec::new();
        if let Some((lower, upper)) = limits {
            limit.extend([("lower", numbers(&[lower])), ("upper", numbers(&[upper]))]);
        }
        // URDF requires both in every <limit>
        for (key, value) in ["effort", "velocity"].into_iter().zip(most) {
            limit.push((key, numbers(&[value.unwrap_or(NO_LIMIT)])));
        }
        xml.empty("limit", &limit);
    }
    if dof.damping != 0.0 || dof.friction != 0.0 {
        let attributes = [
            ("damping", numbers(&[dof.damping])),
            ("friction", numbers(&[dof.friction])),
        ];
        xml.empty("dynamics", &attributes);
    }
}

/// follower = multiplier · leader + offset.
struct Mimic<'a> {
    follower: &'a str,
    leader: &'a str,
    multiplier: f64,
    offset: f64,
}

/// A coupling of two coordinates as the first following the second.
fn mimic(constraint: &ConstraintSpec) -> Option<Mimic<'_>> {
    let RuleSpec::Coupling { terms, offset } = &constraint.rule else {
        return None;
    };
    let [(follower, own), (leader, other)] = &terms[..] else {
        return None;
    };
    Some(Mimic {
        follower,
        leader,
        multiplier: -other / own,
        offset: offset / own,
    })
}

fn origin(xml: &mut Xml, pose: Pose<f64>) {
    placed(xml, "origin", pose);
}

fn placed(xml: &mut Xml, tag: &str, pose: Pose<f64>) {
    if pose == Pose::identity() {
        return;
    }
    let angles = rpy(pose.rotation);
    xml.empty(
        tag,
        &[("xyz", vector(pose.translation)), ("rpy", numbers(&angles))],
    );
}

/// Roll, pitch and yaw of a rotation. Roll and pitch are those of the rotation that remains after removing the yaw, so that
/// an inaccurate yaw, where the pitch is near a right angle, does no harm.
pub(super) fn rpy(rotation: Mat3<f64>) -> [f64; 3] {
    let [x, _, _] = [rotation.x, rotation.y, rotation.z];
    let yaw = match x.x == 0.0 && x.y == 0.0 {
        true => 0.0,
        false => elementary::atan2(x.y, x.x),
    };
    let (sin, cos) = elementary::sin_cos(yaw);
    let left = Mat3::rotation_z(-sin, cos) * rotation;
    let [[xx, _, _], [_, yy, yz], [zx, _, _]] = left.rows();
    [elementary::atan2(-yz, yy), elementary::atan2(-zx, xx), yaw]
}

#[cfg(test)]
mod tests {
    use super::rpy;
    use crate::placement::from_rpy;
    use std::f64::consts::FRAC_PI_2;

    /// Also where roll and yaw turn about the same axis, or nearly so.
    #[test]
    fn angles_rebuild_the_rotation() {
        for pitch in [
            0.0,
            0.4,
            -1.2,
            FRAC_PI_2,
            -FRAC_PI_2,
            FRAC_PI_2 - 1e-9,
            1e-9 - FRAC_PI_2,
            FRAC_PI_2 - 1e-16,
        ] {
            for roll in [0.0, 1.0, 3.1, -2.2, FRAC_PI_2] {
                for yaw in [0.0, 0.7, -3.0, FRAC_PI_2] {
                    let rotation = from_rpy([roll, pitch, yaw]);
                    let off = from_rpy(rpy(rotation)) - rotation;
                    for entry in off.rows().as_flattened() {
                        assert!(entry.abs() < 1e-15, "{roll} {pitch} {yaw}: {entry:e}");
                    }
                }
            }
        }
    }
}
