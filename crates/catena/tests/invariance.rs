//! The answer does not depend on how the same mechanism is described.

use catena::model::embedded::random_tree;
use catena::model::{Inertial, JointKind, JointSpec, LinkSpec};
use catena::random::Random;
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Dynamics, Model, State};

/// Positions, velocities and accelerations by joint name.
fn values_of<'a>(model: &Model, joint: &str, x: &'a [f64], positions: bool) -> &'a [f64] {
    let tree = model.tree();
    let body = model
        .bodies()
        .find(|&i| tree.bodies[i].joint == joint)
        .expect("joint exists");
    if positions {
        &x[tree.q_range(body)]
    } else {
        &x[tree.dof_range(body)]
    }
}

/// The state of `from`, joint by joint, for `to`.
fn same_state(from: &Model, state: &State, to: &Model) -> State {
    let (mut q, mut v) = (Vec::new(), Vec::new());
    for i in to.bodies() {
        let joint = &to.tree().bodies[i].joint;
        q.extend_from_slice(values_of(from, joint, &state.q, true));
        v.extend_from_slice(values_of(from, joint, &state.v, false));
    }
    State::new(to, &q, &v).unwrap()
}

fn assert_same_accelerations(first: &Model, second: &Model, seed: u64, what: &str) {
    let state = State::random(first, seed);
    let tau = vec![0.5; first.nv()];
    let a = Dynamics::new(first)
        .forward(&state, &tau, &[])
        .unwrap()
        .to_vec();
    let again = same_state(first, &state, second);
    let b = Dynamics::new(second)
        .forward(&again, &tau, &[])
        .unwrap()
        .to_vec();
    let scale = a.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    for i in first.bodies() {
        let joint = &first.tree().bodies[i].joint;
        let (x, y) = (
            values_of(first, joint, &a, false),
            values_of(second, joint, &b, false),
        );
        for (x, y) in x.iter().zip(y) {
            // the two runs round differently; a well-conditioned tree keeps ten digits
            assert!(
                (x - y).abs() <= 1e-9 * scale,
                "{what}, seed {seed}: `{joint}` {x} and {y}"
            );
        }
    }
}

#[test]
fn renumbered_bodies() {
    for seed in 1..=30 {
        let builder = random_tree(15, seed);
        let mut shuffled = builder.clone();
        let mut random = Random::new(seed + 1000);
        for k in (1..shuffled.joints.len()).rev() {
            shuffled.joints.swap(k, random.below(k + 1));
        }
        let (first, second) = (builder.build().unwrap(), shuffled.build().unwrap());
        assert_same_accelerations(&first, &second, seed, "renumbered");
    }
}

#[test]
fn a_body_split_by_a_fixed_joint() {
    for seed in 1..=30 {
        let builder = random_tree(10, seed);
        let mut split = builder.clone();
        let mut random = Random::new(seed + 2000);
        // halve a link: one half stays, the other hangs on a fixed joint in a frame of its own
        let k = random.below(split.links.len());
        let whole = split.links[k].inertial.unwrap();
        let half = Inertial {
            mass: 0.5 * whole.mass,
            centre: whole.centre,
            tensor: whole.tensor.add_scaled(whole.tensor, -0.5),
        };
        split.links[k].inertial = Some(half);
        let there = Pose::new(
            Mat3::from_quaternion(random.quaternion()),
            Vec3::new(0.3, -0.2, 0.1),
        );
        let in_its_own_frame = Inertial::from_moments(half.moments().seen_from(there.inverse()));
        let parent = split.links[k].name.clone();
        split.links.push(LinkSpec {
            name: "other-half".into(),
            inertial: Some(in_its_own_frame),
            ..LinkSpec::default()
        });
        split.joint(JointSpec {
            parent_from_joint: there,
            ..JointSpec::new("weld", JointKind::Fixed, &parent, "other-half")
        });
        let (first, second) = (builder.build().unwrap(), split.build().unwrap());
        assert_same_accelerations(&first, &second, seed, "split");
    }
}

/// A spherical joint is three revolute joints with massless links between; there the three are not native but must agree.
#[test]
fn a_universal_joint_is_two_revolute_joints() {
    let body = random_tree(1, 3).links[0].inertial.unwrap();
    let mut native = catena::ModelBuilder::new("native");
    native.link("body", body);
    let mut joint = JointSpec::new("u", JointKind::Universal, "world", "body");
    joint.axes.first = Vec3::new(1.0, 0.0, 0.0);
    joint.axes.second = Vec3::new(0.0, 1.0, 0.0);
    native.joint(joint);
    let mut split = catena::ModelBuilder::new("split");
    split.links.push(LinkSpec {
        name: "cross".into(),
        ..LinkSpec::default()
    });
    split.link("body", body);
    let mut first = JointSpec::new("a", JointKind::Revolute, "world", "cross");
    first.axes.first = Vec3::new(1.0, 0.0, 0.0);
    let mut second = JointSpec::new("b", JointKind::Revolute, "cross", "body");
    second.axes.first = Vec3::new(0.0, 1.0, 0.0);
    split.joint(first).joint(second);
    let (native, split) = (native.build().unwrap(), split.build().unwrap());
    let (q, v, tau) = ([0.4, -0.7], [1.1, 0.6], [0.3, -0.2]);
    let forward = |model: &Model| {
        let state = State::new(model, &q, &v).unwrap();
        Dynamics::new(model)
            .forward(&state, &tau, &[])
            .unwrap()
            .to_vec()
    };
    let (a, b) = (forward(&native), forward(&split));
    for (x, y) in a.iter().zip(&b) {
        assert!((x - y).abs() < 1e-12 * x.abs().max(1.0), "{x} {y}");
    }
}
