//! Embedded models with closed loops.

use super::constraint::{ConstraintSpec, Law, RuleSpec};
use super::embedded::{random_pose, random_tree};
use super::{AxisPair, Inertial, JointKind, JointSpec, ModelBuilder};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::elementary;
use crate::error::Result;
use crate::random::Random;
use crate::spatial::{Mat3, Pose, Sym3, Vec3};
use crate::state::State;

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
/// z, x at the corners of a cube; the ground closes the loop. Counting gives no degree of freedom, but it has one. With all
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

/// A random tree with random loops that are closed at a random state, which is returned, too; its velocities are random and not
/// consistent. Kinds of joints, distances and couplings alternate; the last constraint is a driver.
pub fn random_closed(bodies: usize, loops: usize, seed: u64) -> Result<(ModelBuilder, State)> {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut builder = random_tree(bodies, seed);
    let model = builder.build()?;
    let state = State::random(&model, seed);
    let mut kinematics = Kinematics::new(&model);
    let still = vec![0.0; model.nv()];
    forward_kinematics(&model, state.view(), &still, &mut kinematics);
    let kinds = [
        JointKind::Revolute,
        JointKind::Spherical,
        JointKind::Universal,
        JointKind::Prismatic,
        JointKind::Cylindrical,
        JointKind::Helical,
        JointKind::Planar,
        JointKind::Fixed,
    ];
    let frames = &model.tree().frames;
    let mut made = 0;
    let mut tries = 0;
    while made < loops && tries < 50 * loops {
        tries += 1;
        let [a, b] = [random.below(frames.len()), random.below(frames.len())];
        let (a, b) = (&frames[a], &frames[b]);
        if a.body == b.body {
            continue;
        }
        let (world_from_a, world_from_b) = (kinematics.frame_pose(a), kinematics.frame_pose(b));
        let parent_from_joint = random_pose(&mut random);
        let name = format!("loop{made}");
        if made % 9 == 8 {
            let [p, q] = [random_pose(&mut random), random_pose(&mut random)];
            let between = world_from_a.point(p.translation) - world_from_b.point(q.translation);
            builder.constraint(ConstraintSpec::new(
                &name,
                RuleSpec::Distance {
                    parent: a.name.clone(),
                    child: b.name.clone(),
                    parent_point: p.translation,
                    child_point: q.translation,
                    length: between.norm(),
                },
            ));
        } else {
            let kind = kinds[made % 9];
            let pitch = 0.2;
            let moved = random_motion(&mut random, kind, pitch);
            let world_from_moved = world_from_a * parent_from_joint * moved;
            builder.constraint(ConstraintSpec::joint(JointSpec {
                parent_from_joint,
                joint_from_child: world_from_moved.inverse() * world_from_b,
                axes: AxisPair {
                    first: match kind {
                        JointKind::Universal => Vec3::new(1.0, 0.0, 0.0),
                        _ => Vec3::new(0.0, 0.0, 1.0),
                    },
                    second: Vec3::new(0.0, 0.0, 1.0),
                },
                pitch: if kind == JointKind::Helical {
                    pitch
                } else {
                    0.0
                },
                ..JointSpec::new(&name, kind, &a.name, &b.name)
            }));
        }
        made += 1;
    }
    let tree = model.tree();
    let plain: Vec<usize> = (0..model.nv())
        .filter(|&v| {
            let body = &tree.bodies[tree.dofs[v].body];
            body.kind.quaternion().is_none_or(|k| v - body.v < k)
        })
        .collect();
    let position = |v: usize| {
        let body = &tree.bodies[tree.dofs[v].body];
        state.q[body.q + v - body.v]
    };
    if let [first, .., last] = plain[..] {
        let (c, d) = (random.uniform(0.5, 2.0), random.uniform(-2.0, -0.5));
        builder.constraint(ConstraintSpec::new(
            "gear",
            RuleSpec::Coupling {
                terms: vec![
                    (tree.dofs[last].name.clone(), d),
                    (tree.dofs[first].name.clone(), c),
                ],
                offset: c * position(first) + d * position(last),
            },
        ));
        let middle = plain[plain.len() / 2];
        builder.constraint(ConstraintSpec::new(
            "motor",
            RuleSpec::Driver {
                coordinate: tree.dofs[middle].name.clone(),
                law: Law::Polynomial(vec![position(middle), 0.3, -0.7]),
            },
        ));
    }
    Ok((builder, state))
}

/// How a joint of this kind may have moved.
fn random_motion(random: &mut Random, kind: JointKind, pitch: f64) -> Pose<f64> {
    let mut angle = || random.uniform(-1.5, 1.5);
    let about_z = |angle: f64| {
        Pose::new(
            Mat3::rotation_z(elementary::sin(angle), elementary::cos(angle)),
            Vec3::zero(),
        )
    };
    let shift = |x: f64, y: f64, z: f64| Pose::shift(Vec3::new(x, y, z));
    match kind {
        JointKind::Revolute => about_z(angle()),
        JointKind::Prismatic => shift(0.0, 0.0, angle()),
        JointKind::Cylindrical => about_z(angle()) * shift(0.0, 0.0, angle()),
        JointKind::Helical => {
            let theta = angle();
            about_z(theta) * shift(0.0, 0.0, pitch * theta)
        }
        JointKind::Universal => {
            let theta = angle();
            Pose::new(
                Mat3::rotation_x(elementary::sin(theta), elementary::cos(theta)),
                Vec3::zero(),
            ) * about_z(angle())
        }
        JointKind::Planar => shift(angle(), angle(), 0.0) * about_z(angle()),
        JointKind::Spherical => Pose::new(Mat3::from_quaternion(random.quaternion()), Vec3::zero()),
        _ => Pose::identity(),
    }
}
