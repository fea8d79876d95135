//! Embedded models with closed loops.

use super::constraint::ConstraintSpec;
use super::{AxisPair, Inertial, JointKind, JointSpec, ModelBuilder};
use crate::spatial::{Pose, Sym3, Vec3};

/// A uniform slender rod of 1 kg from the origin to (1, 0, 0).
fn rod() -> Inertial {
    let across = 1.0 / 12.0;
    Inertial {
        mass: 1.0,
        centre: Vec3::new(0.5, 0.0, 0.0),
        tensor: Sym3::new(0.0, across, across, 0.0, 0.0, 0.0),
    }
}

/// Initial angle of the rods of a row of four-bars, rad.
const ASLANT: f64 = std::f64::consts::FRAC_PI_3;

/// 2N+1 equal rods: N+1 upright ones hinged to the ground 1 m apart, N level ones joining their tops; every hinge is a revolute
/// joint about z. With all coordinates zero the rods lie along x, where two branches meet; upright rods have the angle φ, level ones
/// −φ on the parallelogram branch. Initially they hang at an angle, from which they swing without passing that position.
pub(super) fn four_bar(n: usize) -> ModelBuilder {
    let mut builder = ModelBuilder::new(&format!("four-bar-{n}"));
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let at = |x: f64| Pose::shift(Vec3::new(x, 0.0, 0.0));
    for k in 0..=n {
        let upright = format!("upright{k}");
        builder.link(&upright, rod());
        builder.joint(JointSpec {
            parent_from_joint: at(k as f64),
            start: vec![-ASLANT],
            ..JointSpec::new(&format!("foot{k}"), JointKind::Revolute, "world", &upright)
        });
        if k < n {
            let level = format!("level{k}");
            builder.link(&level, rod());
            builder.joint(JointSpec {
                parent_from_joint: at(1.0),
                start: vec![ASLANT],
                ..JointSpec::new(&format!("top{k}"), JointKind::Revolute, &upright, &level)
            });
        }
    }
    for k in 0..n {
        builder.constraint(ConstraintSpec::joint(JointSpec {
            parent_from_joint: at(1.0),
            joint_from_child: at(-1.0),
            ..JointSpec::new(
                &format!("loop{k}"),
                JointKind::Revolute,
                &format!("level{k}"),
                &format!("upright{}", k + 1),
            )
        }));
    }
    builder
}

/// Bricard's mechanism: five rods of 1 m and 1 kg with a square section of 0.1 m, six revolute joints whose axes are y, z, x, y,
/// z, x at the corners of a cube; the ground closes the loop. Grübler's formula gives 0 degrees of freedom; it has one. With all
/// coordinates zero it is closed.
pub(super) fn bricard() -> ModelBuilder {
    let mut builder = ModelBuilder::new("bricard");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let corners = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, -1.0, 0.0],
        [1.0, -1.0, 1.0],
        [0.0, -1.0, 1.0],
        [0.0, 0.0, 1.0],
    ]
    .map(Vec3::from_array);
    let axes = [1, 2, 0, 1, 2, 0].map(|k: usize| {
        let mut axis = [0.0; 3];
        axis[k] = 1.0;
        AxisPair {
            first: Vec3::from_array(axis),
            ..AxisPair::default()
        }
    });
    let side = 0.1 * 0.1 / 6.0; // of a square bar about its own axis
    let across = (1.0 + 0.01) / 12.0;
    let mut parent = "world".to_string();
    for k in 0..5 {
        let along = corners[k + 1] - corners[k];
        let [x, y, z] = along
            .to_array()
            .map(|c| if c == 0.0 { across } else { side });
        let name = format!("rod{}", k + 1);
        builder.link(
            &name,
            Inertial {
                mass: 1.0,
                centre: along * 0.5,
                tensor: Sym3::new(x, y, z, 0.0, 0.0, 0.0),
            },
        );
        let before = match k {
            0 => Vec3::zero(),
            _ => corners[k] - corners[k - 1],
        };
        builder.joint(JointSpec {
            parent_from_joint: Pose::shift(before),
            axes: axes[k],
            ..JointSpec::new(&format!("hinge{k}"), JointKind::Revolute, &parent, &name)
        });
        parent = name;
    }
    builder.constraint(ConstraintSpec::joint(JointSpec {
        parent_from_joint: Pose::shift(corners[5] - corners[4]),
        joint_from_child: Pose::shift(-corners[5]),
        axes: axes[5],
        ..JointSpec::new("hinge5", JointKind::Revolute, &parent, "world")
    }));
    builder
}

/// The spatial rigid slider-crank: a crank of 0.08 m about an axis along x, a rod of 0.3 m on a spherical joint, a slider along x on
/// a universal joint that closes the loop. Closed with the crank up at `STATE` of its test.
pub(super) fn slider_crank() -> ModelBuilder {
    let mut builder = ModelBuilder::new("slider-crank");
    let bar = |mass: f64, centre: Vec3<f64>, [x, y, z]: [f64; 3]| Inertial {
        mass,
        centre,
        tensor: Sym3::new(x, y, z, 0.0, 0.0, 0.0),
    };
    let (crank, rod) = (0.08, 0.3);
    builder.link(
        "crank",
        bar(0.12, Vec3::new(0.0, 0.0, crank / 2.0), [1e-4, 1e-5, 1e-4]),
    );
    builder.link(
        "rod",
        bar(0.5, Vec3::new(rod / 2.0, 0.0, 0.0), [4e-4, 4e-3, 4e-3]),
    );
    builder.link("slider", bar(2.0, Vec3::zero(), [1e-4, 1e-4, 1e-4]));
    let axis = |first: Vec3<f64>, second: Vec3<f64>| AxisPair { first, second };
    let x = Vec3::new(1.0, 0.0, 0.0);
    builder.joint(JointSpec {
        parent_from_joint: Pose::shift(Vec3::new(0.0, 0.1, 0.12)),
        axes: axis(x, x),
        ..JointSpec::new("crank_pin", JointKind::Revolute, "world", "crank")
    });
    builder.joint(JointSpec {
        parent_from_joint: Pose::shift(Vec3::new(0.0, 0.0, crank)),
        ..JointSpec::new("ball", JointKind::Spherical, "crank", "rod")
    });
    builder.joint(JointSpec {
        axes: axis(x, x),
        start: vec![0.2],
        ..JointSpec::new("slide", JointKind::Prismatic, "world", "slider")
    });
    // one pin along x of the slider, the other fixed in the rod across it
    builder.constraint(ConstraintSpec::joint(JointSpec {
        joint_from_child: Pose::shift(Vec3::new(-rod, 0.0, 0.0)),
        axes: axis(x, Vec3::new(0.0, 0.0, 1.0)),
        ..JointSpec::new("cross", JointKind::Universal, "slider", "rod")
    }));
    builder
}
