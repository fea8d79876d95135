//! A reduced model has the efforts, accelerations and inertia matrix of the model it was made from.

use catena::model::{Inertial, JointKind, JointSpec, embedded};
use catena::random::Random;
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use catena::{Dynamics, ModelBuilder, State};

/// Relative to the largest number; the regrouped moments lose a digit or two where bodies are far from the ground.
const TOLERANCE: f64 = 1e-11;

fn close(name: &str, what: &str, a: &[f64], b: &[f64]) {
    let size = a.iter().fold(1e-6f64, |m, x| m.max(x.abs()));
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        let difference = (a - b).abs() / size;
        assert!(
            difference <= TOLERANCE,
            "{name}: {what}[{k}] {a} and {b}, {difference:.1e}"
        );
    }
}

#[test]
fn dynamics_of_reduced_models() {
    let mut names: Vec<String> = [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "chain-7",
        "pendulum-3",
        "floating-chain-6",
        "spherical-chain-3",
    ]
    .map(String::from)
    .to_vec();
    names.extend((1..40).map(|seed| format!("random-{}-{seed}", 1 + seed % 9)));
    for name in &names {
        let model = embedded::model(name).unwrap();
        let reduced = model.reduced(1e-14);
        let mut state = State::random(&model, 5);
        state.base = catena::Base::fixed();
        let mut shifted = state.clone();
        for (q, offset) in shifted.q.iter_mut().zip(&reduced.offset) {
            *q += offset;
        }
        let mut random = Random::new(9);
        let x: Vec<f64> = (0..model.nv()).map(|_| random.uniform(-1.0, 1.0)).collect();
        let (mut plain, mut other) = (Dynamics::new(&model), Dynamics::new(&reduced.model));
        close(
            name,
            "τ",
            plain.inverse(&state, &x, &[]).unwrap(),
            other.inverse(&shifted, &x, &[]).unwrap(),
        );
        let inertia = plain.inertia(&state).unwrap().clone();
        close(
            name,
            "I",
            inertia.as_slice(),
            other.inertia(&shifted).unwrap().as_slice(),
        );
        close(
            name,
            "v̇",
            plain.forward(&state, &x, &[]).unwrap(),
            other.forward(&shifted, &x, &[]).unwrap(),
        );
    }
}

/// New frames alone leave the kinematics of every frame unchanged.
#[test]
fn frames_of_aligned_models() {
    for name in ["stanford", "space-robot", "zoo", "chain-7", "random-9-4"] {
        let model = embedded::model(name).unwrap();
        let aligned = model.in_common_normal_frames(1e-14);
        let state = State::random(&model, 5);
        let mut shifted = state.clone();
        for (q, offset) in shifted.q.iter_mut().zip(&aligned.offset) {
            *q += offset;
        }
        let (mut plain, mut other) = (Dynamics::new(&model), Dynamics::new(&aligned.model));
        for (a, b) in model.tree().frames.iter().zip(&aligned.model.tree().frames) {
            let before = plain.jacobian(&state, a).unwrap().clone();
            let after = other.jacobian(&shifted, b).unwrap();
            close(name, &a.name, before.as_slice(), after.as_slice());
        }
        let before = plain.mechanical_state(&state).unwrap();
        let after = other.mechanical_state(&shifted).unwrap();
        close(
            name,
            "energies",
            &[before.kinetic, before.gravitational, before.elastic],
            &[after.kinetic, after.gravitational, after.elastic],
        );
    }
}

/// The numbers a chain of revolute joints is left with.
#[test]
fn revolute_chains_lose_their_masses() {
    let reduced = embedded::model("chain-7").unwrap().reduced(1e-14).model;
    for body in reduced.bodies() {
        let placement = reduced.placement(body);
        for row in placement.rotation.rows() {
            for entry in row {
                assert!(entry == 0.0 || entry.abs() == 1.0, "{body}: {placement:?}");
            }
        }
        assert_eq!(reduced.moments(body).mass, 0.0);
        assert_eq!(reduced.moments(body).first.z, 0.0);
        assert_eq!(reduced.moments(body).second.zz, 0.0);
    }
}

/// The last body of a chain has its origin on the common normal with the axis before, and its mass centre over x.
#[test]
fn tips() {
    let mut builder = ModelBuilder::new("tip");
    let mut parent = "world";
    for (k, name) in ["one", "two", "three"].into_iter().enumerate() {
        let inertial = Inertial {
            mass: 1.0,
            centre: Vec3::new(0.1, 0.2, 0.3),
            tensor: Sym3::new(0.1, 0.11, 0.12, 0.01, 0.02, 0.015),
        };
        builder.link(name, inertial);
        let mut joint = JointSpec::new(&format!("joint{k}"), JointKind::Revolute, parent, name);
        let turn = Mat3::from_quaternion(Random::new(k as u64).quaternion());
        joint.parent_from_joint = Pose::new(turn, Vec3::new(0.3, 0.4, 0.5));
        builder.joint(joint);
        parent = name;
    }
    let model = builder.build().unwrap();
    let reduced = model.reduced(1e-14);
    let place = reduced.model.placement(3);
    assert_eq!(place.translation.y, 0.0);
    assert_eq!(place.translation.z, 0.0);
    let h = reduced.model.moments(3).first;
    assert!(h.x > 0.0 && h.y == 0.0 && h.z == 0.0, "{h:?}");
    // in the frames of kinematics nothing is done for the mass
    let aligned = model.in_common_normal_frames(1e-14).model;
    assert!(aligned.moments(3).first.y != 0.0);
    let state = State::random(&model, 3);
    let mut moved = state.clone();
    for (q, offset) in moved.q.iter_mut().zip(&reduced.offset) {
        *q += offset;
    }
    let tau = [0.3, -0.2, 0.1];
    let mut ours = Dynamics::new(&reduced.model);
    let mut own = Dynamics::new(&model);
    close(
        "tip",
        "accelerations",
        own.forward(&state, &tau, &[]).unwrap(),
        ours.forward(&moved, &tau, &[]).unwrap(),
    );
}
