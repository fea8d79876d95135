//! A floating tree moves in the same way whichever of its bodies its numbering starts from.

use catena::algorithm::kinematics::{Kinematics, Rerooted, forward_kinematics};
use catena::model::{
    ConstraintSpec, ForceRule, ForceSpec, JointKind, ModelBuilder, RuleSpec, SensorRule,
    SensorSpec, embedded,
};
use catena::random::Random;
use catena::spatial::{Motion, Pose, Vec3};
use catena::{Dynamics, Model, State};

/// Agreement required, relative to the largest number of its kind.
const ROUNDING: f64 = 1e-12;

/// A random floating tree of every kind of joint; joints of several freedoms have no rotors, springs or friction.
fn floating(n: usize, seed: u64) -> ModelBuilder {
    let mut builder = embedded::random_tree(n, seed);
    for (k, joint) in builder.joints.iter_mut().enumerate() {
        if k == 0 {
            joint.kind = JointKind::Free;
        } else if joint.parent == "world" {
            joint.parent = "body1".into();
        }
        if joint.kind.nv() != 1 {
            joint.dofs.clear();
        }
    }
    builder
}

/// Pose, velocity and acceleration of every link, in world axes.
fn motions(
    model: &Model,
    state: &State,
    vdot: &[f64],
    links: &[String],
) -> Vec<(Pose<f64>, [Motion<f64>; 2])> {
    let mut work = Kinematics::new(model);
    forward_kinematics(model, state.view(), vdot, &mut work);
    let frame = |name: &String| model.tree().frame(name).expect("every link is a frame");
    let links = links.iter().map(frame);
    links
        .map(|f| {
            (
                work.frame_pose(f),
                [work.frame_velocity(f), work.frame_acceleration(f)],
            )
        })
        .collect()
}

fn assert_near(a: &[f64], b: &[f64], what: &str) {
    let size = b.iter().fold(1e-300, |m: f64, x| m.max(x.abs()));
    for (a, b) in a.iter().zip(b) {
        let error = (a - b).abs() / size;
        assert!(error <= ROUNDING, "{what}: {a} and {b}, relative {error:e}");
    }
}

fn entries(vectors: impl Iterator<Item = Vec3<f64>>) -> Vec<f64> {
    vectors.flat_map(|v| v.to_array()).collect()
}

/// Energies, momenta, and the accelerations of all bodies under the same efforts.
#[test]
fn motions_do_not_depend_on_the_root() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..60u64 {
        let builder = floating(2 + (seed % 9) as usize, seed);
        let links: Vec<String> = builder.links.iter().map(|link| link.name.clone()).collect();
        let mut random = Random::new(seed);
        let root = &links[random.below(links.len())];
        let rerooted = Rerooted::new(&builder, root).expect("floats");
        let kind = |name: &String| {
            let joint = builder.joints.iter().find(|joint| joint.name == *name);
            joint.expect("known").kind.name()
        };
        kinds.extend(rerooted.exchanged().iter().map(kind));
        let (before, after) = (rerooted.before(), rerooted.after());
        let on_root = after.tree().frame(root).expect("a link").body;
        assert_eq!(after.tree().bodies[on_root].kind, JointKind::Free);
        assert_eq!(after.tree().parent(on_root), 0);
        let state = State::random(before, seed);
        let moved = rerooted.state(&state);
        let what = format!("random tree {seed} from {root}");

        let mut one = Dynamics::new(before);
        let mut other = Dynamics::new(after);
        let energy = one.mechanical_state(&state).expect("finite");
        let again = other.mechanical_state(&moved).expect("finite");
        for (a, b) in [
            (again.kinetic, energy.kinetic),
            (again.gravitational, energy.gravitational),
            (again.elastic, energy.elastic),
        ] {
            assert_near(&[a], &[b], &what);
        }
        assert_near(
            &again.momentum.to_array(),
            &energy.momentum.to_array(),
            &what,
        );

        let tau: Vec<f64> = (0..before.nv())
            .map(|_| random.uniform(-5.0, 5.0))
            .collect();
        let efforts = rerooted.efforts(&state, &tau);
        let vdot = one.forward(&state, &tau, &[]).expect("finite").to_vec();
        let vdot_again = other
            .forward(&moved, &efforts, &[])
            .expect("finite")
            .to_vec();
        let found = motions(after, &moved, &vdot_again, &links);
        let expected = motions(before, &state, &vdot, &links);
        for part in 0..2 {
            let of = |all: &[(Pose<f64>, [Motion<f64>; 2])]| {
                let angular = entries(all.iter().map(|m| m.1[part].angular));
                (angular, entries(all.iter().map(|m| m.1[part].linear)))
            };
            let ((a, b), (c, d)) = (of(&found), of(&expected));
            let what = format!("{what}, {}", ["velocities", "accelerations"][part]);
            assert_near(&a, &c, &what);
            assert_near(&b, &d, &what);
        }
        for (found, expected) in found.iter().zip(&expected) {
            let columns =
                |p: &Pose<f64>| entries([p.rotation.x, p.rotation.y, p.translation].into_iter());
            assert_near(&columns(&found.0), &columns(&expected.0), &what);
        }
    }
    // every kind took part
    for kind in JointKind::ALL {
        let expected = kind != JointKind::Fixed;
        assert_eq!(kinds.contains(kind.name()), expected, "{kind}: {kinds:?}");
    }
}

/// Back at the first root the coordinates are the first ones.
#[test]
fn there_and_back() {
    let builder = embedded::builder("space-robot").expect("embedded");
    let there = Rerooted::new(&builder, "link6").expect("floats");
    assert_eq!(there.exchanged().len(), 6);
    let back = Rerooted::new(there.builder(), "spacecraft").expect("floats");
    let state = State::random(there.before(), 5);
    let again = back.state(&there.state(&state));
    assert_near(&again.v, &state.v, "velocities");
    let sign = (again.q[3] * state.q[3]).signum();
    let quaternion: Vec<f64> = again.q[3..7].iter().map(|x| sign * x).collect();
    assert_near(&quaternion, &state.q[3..7], "orientation");
    assert_near(&again.q[..3], &state.q[..3], "position");
    assert_near(&again.q[7..], &state.q[7..], "joints");
}

/// The model begins in the same posture, with the hand where it was.
#[test]
fn starts_are_carried_over() {
    let mut builder = embedded::builder("space-robot").expect("embedded");
    builder.joints[2].start = vec![0.7];
    let rerooted = Rerooted::new(&builder, "link6").expect("floats");
    let links: Vec<String> = builder.links.iter().map(|link| link.name.clone()).collect();
    let rest = vec![0.0; 12];
    let at = |model: &Model| motions(model, &State::start(model), &rest, &links);
    let positions = |model: &Model| entries(at(model).iter().map(|m| m.0.translation));
    assert_near(
        &positions(rerooted.after()),
        &positions(rerooted.before()),
        "start",
    );
    let hand = rerooted.after().tree().body("link6").expect("there");
    assert_eq!(hand, 1);
}

#[test]
fn what_does_not_float_is_refused() {
    let refused = |name: &str, link: &str| {
        let builder = embedded::builder(name).expect("embedded");
        Rerooted::new(&builder, link)
            .expect_err("refused")
            .to_string()
    };
    assert!(refused("stanford", "link6").contains("joins it to the ground"));
    assert!(refused("space-robot", "hand").contains("there is no link `hand`"));
    assert!(refused("space-robot", "world").contains("there is no link `world`"));
    let mut builder = floating(4, 3);
    builder.joints[1].kind = JointKind::Spherical;
    builder.joints[1].dofs = vec![
        catena::model::Dof {
            damping: 0.1,
            ..Default::default()
        };
        3
    ];
    let child = builder.joints[1].child.clone();
    let error = Rerooted::new(&builder, &child).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("does not have when the tree is numbered from another link")
    );
}

/// What is fixed to the free joint, or measured from its zero, belongs to one root.
#[test]
fn what_belongs_to_the_free_joint_is_refused() {
    let refused = |change: &dyn Fn(&mut ModelBuilder), words: &str| {
        let mut builder = embedded::builder("space-robot").expect("embedded");
        change(&mut builder);
        let error = Rerooted::new(&builder, "link6").expect_err("refused");
        assert!(error.to_string().contains(words), "{error}");
        // the same link: nothing changes
        let root = builder.joints[0].child.clone();
        Rerooted::new(&builder, &root).expect("as it was");
    };
    let free = embedded::builder("space-robot").expect("embedded").joints[0]
        .name
        .clone();
    refused(
        &|builder| {
            builder.joints[0].dofs = vec![
                catena::model::Dof {
                    damping: 0.1,
                    ..Default::default()
                };
                6
            ];
        },
        "has rotors, springs, friction or limits",
    );
    refused(
        &|builder| {
            let rule = RuleSpec::Velocity {
                terms: vec![(format!("{free}.x"), 1.0)],
                rate: 1.0,
            };
            builder.constraint(ConstraintSpec::new("row", rule));
        },
        "is driven, coupled or actuated",
    );
    refused(
        &|builder| {
            let rule = ForceRule::Torsion {
                parent: "world".into(),
                child: builder.joints[0].child.clone(),
                axis: Vec3::new(0.0, 0.0, 1.0),
                stiffness: 5.0,
                damping: 0.0,
                rest: 0.0,
            };
            builder.forces.push(ForceSpec::new("spring", rule));
        },
        "would change with the root",
    );
    refused(
        &|builder| {
            let rule = SensorRule::ForceTorque {
                joint: builder.joints[3].name.clone(),
                frame: None,
            };
            builder.sensors.push(SensorSpec::new("wrist", rule));
        },
        "measures the wrench",
    );
}
