//! Random mechanisms with closed loops.

use crate::draw;
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::elementary;
use catena::model::embedded::random_tree;
use catena::model::{AxisPair, ConstraintSpec, JointKind, JointSpec, Law, ModelBuilder, RuleSpec};
use catena::random::Random;
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Result, State};

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
        let parent_from_joint = draw::pose(&mut random);
        let name = format!("loop{made}");
        if made % 9 == 8 {
            let [p, q] = [draw::pose(&mut random), draw::pose(&mut random)];
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
