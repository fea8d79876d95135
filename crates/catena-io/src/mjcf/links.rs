//! Bodies and their joints as links and joints of a model.
//!
//! Several joints of one body act in sequence, each in the frame of the body as moved by the joints before it: a chain of links
//! without mass, the last of which is the body.

use super::body::{Bodies, Body, unused};
use super::joint::{Joint, Kind};
use crate::BaseOption;
use crate::placement::from_axis_angle;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{
    AxisPair, Dof, ForceAxes, ForceRule, ForceSpec, FrameSpec, JointKind, JointSpec, LinkSpec,
    ModelBuilder,
};
use catena::spatial::{Mat3, Pose, Vec3};
use std::collections::HashSet;

/// Fixes or frees the only body in the world, as the user requested.
pub(super) fn set_base(bodies: &mut Bodies, base: BaseOption) -> Result<()> {
    let roots: Vec<usize> = (1..bodies.all.len())
        .filter(|&k| bodies.all[k].parent == 0)
        .collect();
    let refuse = |body: &Body, why: String| {
        let word = if base == BaseOption::Free {
            "free"
        } else {
            "fixed"
        };
        let message = format!("the base cannot be {word}: {why}");
        Err(Error::new(ErrorKind::Model, message).at(body.place.clone()))
    };
    let [root] = roots[..] else {
        return match roots.get(1) {
            Some(&second) => {
                let second = &bodies.all[second];
                refuse(
                    second,
                    format!("body `{}` is a second one in the world", second.name),
                )
            }
            None => Ok(()),
        };
    };
    let root = &mut bodies.all[root];
    let is_free = root.joints.iter().any(|joint| joint.kind == Kind::Free);
    match (base, &root.joints[..]) {
        (BaseOption::Free, []) => root.joints.push(Joint {
            name: format!("{}_joint", root.name),
            kind: Kind::Free,
            anchor: Vec3::zero(),
            axis: Vec3::new(0.0, 0.0, 1.0),
            reference: 0.0,
            dof: Dof::default(),
            springdamper: None,
            place: root.place.clone(),
        }),
        (BaseOption::Free, [joint, ..]) if !is_free => {
            return refuse(
                root,
                format!(
                    "joint `{}` joins body `{}` to the ground",
                    joint.name, root.name
                ),
            );
        }
        (BaseOption::Fixed, [_]) if is_free => root.joints.clear(),
        _ => {}
    }
    Ok(())
}

/// Adds links, joints and frames to the model.
pub(super) fn emit(bodies: &Bodies, builder: &mut ModelBuilder) {
    let mut links: HashSet<String> = bodies.all.iter().map(|body| body.name.clone()).collect();
    let all_joints = || bodies.all.iter().flat_map(|body| &body.joints);
    let mut joints: HashSet<String> = all_joints().map(|joint| joint.name.clone()).collect();
    for body in bodies.all.iter().skip(1) {
        let parent = &bodies.all[body.parent].name;
        let mut link = LinkSpec {
            name: body.name.clone(),
            place: body.place.clone(),
            ..LinkSpec::default()
        };
        if let Some(mass) = &body.mass {
            mass.put(&mut link);
        }
        let Some((last, first)) = body.joints.split_last() else {
            let name = unused(&format!("{}_fixed", body.name), &mut joints);
            builder.links.push(link);
            builder.joints.push(JointSpec {
                parent_from_joint: body.at,
                place: body.place.clone(),
                ..JointSpec::new(&name, JointKind::Fixed, parent, &body.name)
            });
            continue;
        };
        // links without mass between the joints
        let mut before = (parent.clone(), body.at);
        for joint in first {
            let name = unused(&format!("{}.{}", body.name, joint.name), &mut links);
            builder.links.push(LinkSpec {
                name: name.clone(),
                place: joint.place.clone(),
                ..LinkSpec::default()
            });
            builder.joints.push(joint.spec(&before.0, before.1, &name));
            before = (name, Pose::identity());
        }
        builder.links.push(link);
        builder
            .joints
            .push(last.spec(&before.0, before.1, &body.name));
    }
    let mut frames = links;
    for body in &bodies.all {
        for site in &body.sites {
            let name = match frames.insert(site.name.clone()) {
                true => site.name.clone(),
                false => unused(&format!("{}_site", site.name), &mut frames),
            };
            builder.frames.push(FrameSpec {
                name,
                link: body.name.clone(),
                link_from_frame: site.at,
                place: site.place.clone(),
            });
        }
    }
    lift(bodies, builder);
}

/// `gravcomp`: a constant force at the mass centre of a body, against its weight or a part of it.
fn lift(bodies: &Bodies, builder: &mut ModelBuilder) {
    for (index, body) in bodies.all.iter().enumerate() {
        let Some(mass) = body.mass else { continue };
        let force = builder.gravity * (-mass.mass * body.gravcomp);
        if force == Vec3::zero() || bodies.moving(index) == 0 {
            continue;
        }
        builder.forces.push(ForceSpec {
            name: format!("{}_gravcomp", body.name),
            rule: ForceRule::Constant {
                link: body.name.clone(),
                point: mass.at.translation,
                force,
                torque: Vec3::zero(),
                axes: ForceAxes::World,
            },
            place: body.place.clone(),
        });
    }
}

impl Joint {
    /// The joint from one link to the next; `at` is the frame of the body in the first link, before this joint moves it.
    fn spec(&self, parent: &str, at: Pose<f64>, child: &str) -> JointSpec {
        let limited = self.dof.limits.is_some();
        let kind = match self.kind {
            Kind::Hinge if limited => JointKind::Revolute,
            Kind::Hinge => JointKind::Continuous,
            Kind::Slide => JointKind::Prismatic,
            Kind::Ball => JointKind::Spherical,
            Kind::Free => JointKind::Free,
        };
        let mut spec = JointSpec::new(&self.name, kind, parent, child);
        spec.place = self.place.clone();
        spec.axes = AxisPair {
            first: self.axis,
            ..AxisPair::default()
        };
        if self.dof != Dof::default() {
            spec.dofs = vec![self.dof; kind.nv()];
        }
        // initial states are MuJoCo's; the position of a free joint is that of the body in the world
        if self.kind == Kind::Free {
            spec.start = at.translation.to_array().to_vec();
            spec.start.extend(at.rotation.to_quaternion());
        } else {
            if self.reference != 0.0 {
                spec.start = vec![self.reference];
            }
            spec.parent_from_joint = at * Pose::shift(self.anchor) * self.back_to_zero();
            spec.joint_from_child = Pose::shift(-self.anchor);
        }
        spec
    }

    /// The transformation from the pose of the body at the joint's reference to that at zero.
    fn back_to_zero(&self) -> Pose<f64> {
        match self.kind {
            Kind::Hinge => Pose::new(from_axis_angle(self.axis, -self.reference), Vec3::zero()),
            Kind::Slide => Pose::new(Mat3::identity(), self.axis * -self.reference),
            _ => Pose::identity(),
        }
    }
}
