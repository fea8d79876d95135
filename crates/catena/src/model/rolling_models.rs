//! Embedded models that roll and glide: nonholonomic constraints.

use super::constraint::{ConstraintSpec, ContactSpec, RuleSpec};
use super::{AxisPair, Inertial, JointKind, JointSpec, ModelBuilder};
use crate::elementary;
use crate::spatial::{Pose, Sym3, Vec3};
use std::f64::consts::PI;

/// Left, seen along x with z up.
const LEFT: Vec3<f64> = Vec3 {
    x: 0.0,
    y: 1.0,
    z: 0.0,
};

fn rolling(name: &str, contact: ContactSpec) -> ConstraintSpec {
    ConstraintSpec::new(name, RuleSpec::Contact(Box::new(contact)))
}

/// A uniform thin disk of 2 kg and radius 0.5 m on the ground z = 0, by its centre (x, y, z), heading, lean to the right and spin; links
/// without mass carry it. It starts upright and rolls along x at 3 m/s.
pub(super) fn disk() -> ModelBuilder {
    let (mass, radius, speed) = (2.0, 0.5, 3.0);
    let across = mass * radius * radius / 4.0;
    let nothing = Inertial {
        mass: 0.0,
        centre: Vec3::zero(),
        tensor: Sym3::zero(),
    };
    let mut builder = ModelBuilder::new("rolling-disk");
    for link in ["heading", "centre", "leaning"] {
        builder.link(link, nothing);
    }
    builder.link(
        "disk",
        Inertial {
            mass,
            tensor: Sym3::new(across, 2.0 * across, across, 0.0, 0.0, 0.0),
            ..nothing
        },
    );
    let axis = |first: Vec3<f64>| AxisPair {
        first,
        ..AxisPair::default()
    };
    builder.joint(JointSpec {
        start_velocity: vec![speed, 0.0, 0.0],
        ..JointSpec::new("plane", JointKind::Planar, "world", "heading")
    });
    builder.joint(JointSpec {
        start: vec![radius],
        ..JointSpec::new("height", JointKind::Prismatic, "heading", "centre")
    });
    builder.joint(JointSpec {
        axes: axis(Vec3::new(1.0, 0.0, 0.0)),
        ..JointSpec::new("lean", JointKind::Revolute, "centre", "leaning")
    });
    builder.joint(JointSpec {
        axes: axis(LEFT),
        start_velocity: vec![speed / radius],
        ..JointSpec::new("spin", JointKind::Continuous, "leaning", "disk")
    });
    builder.constraint(rolling("ground", ContactSpec::wheel("disk", LEFT, radius)));
    builder
}

/// Chaplygin's sleigh: 3 kg, 0.5 kg·m² about its mass centre, which is 0.4 m ahead of the edge. The link's origin is on the edge, which points along
/// x.
pub(super) fn sleigh() -> ModelBuilder {
    let mut builder = ModelBuilder::new("sleigh");
    builder.link(
        "sleigh",
        Inertial {
            mass: 3.0,
            centre: Vec3::new(0.4, 0.0, 0.0),
            tensor: Sym3::new(0.1, 0.4, 0.5, 0.0, 0.0, 0.0),
        },
    );
    builder.joint(JointSpec {
        start_velocity: vec![1.0, 0.0, 2.0],
        ..JointSpec::new("plane", JointKind::Planar, "world", "sleigh")
    });
    builder.constraint(ConstraintSpec::new(
        "edge",
        RuleSpec::KnifeEdge {
            parent: "world".into(),
            child: "sleigh".into(),
            point: Vec3::zero(),
            across: LEFT,
        },
    ));
    builder
}

/// Whipple's bicycle with the parameters of Meijaard, Papadopoulos, Ruina and Schwab (2007), x forward, y left, z up. The frame's origin
/// is the rear hub. It starts upright and straight at 4.6 m/s, within its self-stable range.
pub(super) fn bicycle() -> ModelBuilder {
    let (wheelbase, trail, tilt, speed) = (1.02, 0.08, PI / 10.0, 4.6);
    let (rear, front) = (0.3, 0.35);
    let (sin, cos) = elementary::sin_cos(tilt);
    let rear_hub = Vec3::new(0.0, 0.0, rear);
    let front_hub = Vec3::new(wheelbase, 0.0, front);
    let up_the_steer_axis = Vec3::new(-sin, 0.0, cos);
    // 0.9 m up from where the axis meets the ground, the trail ahead of the front contact
    let head = Vec3::new(wheelbase + trail, 0.0, 0.0) + up_the_steer_axis * 0.9;
    let wheel = |mass: f64, xx: f64, yy: f64| Inertial {
        mass,
        centre: Vec3::zero(),
        tensor: Sym3::new(xx, yy, xx, 0.0, 0.0, 0.0),
    };
    let axis = |first: Vec3<f64>| AxisPair {
        first,
        ..AxisPair::default()
    };
    let mut builder = ModelBuilder::new("bicycle");
    builder.link(
        "frame",
        Inertial {
            mass: 85.0,
            centre: Vec3::new(0.3, 0.0, 0.9) - rear_hub,
            tensor: Sym3::new(9.2, 11.0, 2.8, 0.0, -2.4, 0.0),
        },
    );
    builder.link("rear_wheel", wheel(2.0, 0.0603, 0.12));
    builder.link(
        "fork",
        Inertial {
            mass: 4.0,
            centre: Vec3::new(0.9, 0.0, 0.7) - head,
            tensor: Sym3::new(0.05892, 0.06, 0.00708, 0.0, 0.00756, 0.0),
        },
    );
    builder.link("front_wheel", wheel(3.0, 0.1405, 0.28));
    builder.joint(JointSpec {
        start: vec![0.0, 0.0, rear, 1.0, 0.0, 0.0, 0.0],
        start_velocity: vec![speed, 0.0, 0.0, 0.0, 0.0, 0.0],
        ..JointSpec::new("frame_joint", JointKind::Free, "world", "frame")
    });
    builder.joint(JointSpec {
        axes: axis(LEFT),
        start_velocity: vec![speed / rear],
        ..JointSpec::new("rear_hub", JointKind::Continuous, "frame", "rear_wheel")
    });
    builder.joint(JointSpec {
        axes: axis(up_the_steer_axis),
        parent_from_joint: Pose::shift(head - rear_hub),
        ..JointSpec::new("steer", JointKind::Revolute, "frame", "fork")
    });
    builder.joint(JointSpec {
        axes: axis(LEFT),
        parent_from_joint: Pose::shift(front_hub - head),
        start_velocity: vec![speed / front],
        ..JointSpec::new("front_hub", JointKind::Continuous, "fork", "front_wheel")
    });
    for (name, child, radius) in [
        ("rear_contact", "rear_wheel", rear),
        ("front_contact", "front_wheel", front),
    ] {
        builder.constraint(rolling(name, ContactSpec::wheel(child, LEFT, radius)));
    }
    builder
}
