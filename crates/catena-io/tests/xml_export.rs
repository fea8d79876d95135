//! Models written as URDF and MJCF and read again have the same dynamics; what cannot be written is named.

use catena::model::embedded;
use catena::residual::largest;
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_io::{ReadOptions, builder_from_mjcf, builder_from_urdf, read_file, to_mjcf, to_urdf};
use std::path::Path;

fn from_mjcf(text: &str) -> ModelBuilder {
    builder_from_mjcf(text, "x.xml", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn from_urdf(text: &str) -> ModelBuilder {
    builder_from_urdf(text, "x.urdf", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Efforts and accelerations at random states agree to 1e-12 of their size.
fn same_dynamics(what: &str, one: &ModelBuilder, other: &ModelBuilder) {
    let tree = |builder: &ModelBuilder| -> Model {
        builder
            .build()
            .unwrap_or_else(|error| panic!("{what}: {error}"))
            .open_tree()
    };
    let (one, other) = (tree(one), tree(other));
    assert_eq!(one.nv(), other.nv(), "{what}");
    let (mut here, mut there) = (Dynamics::new(&one), Dynamics::new(&other));
    for seed in 0..5 {
        let state = State::random(&one, seed);
        let mut again = State::neutral(&other);
        again.q.clone_from(&state.q);
        again.v.clone_from(&state.v);
        let input: Vec<f64> = (0..one.nv()).map(|k| (k as f64 + 1.0).sin()).collect();
        let compare = |name: &str, a: &[f64], b: &[f64]| {
            let off: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
            let size = largest(a).max(1.0);
            assert!(largest(&off) <= 1e-12 * size, "{what}, {name}: {a:?} {b:?}");
        };
        let tau = here.inverse(&state, &input, &[]).expect("efforts").to_vec();
        compare(
            "inverse",
            &tau,
            there.inverse(&again, &input, &[]).expect("efforts"),
        );
        let inertia = here.inertia(&state).expect("a matrix").as_slice().to_vec();
        compare(
            "inertia",
            &inertia,
            there.inertia(&again).expect("a matrix").as_slice(),
        );
    }
}

fn model_file(name: &str) -> ModelBuilder {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../models")
        .join(name);
    read_file(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn urdf_to_mjcf_to_urdf() {
    for name in ["double_pendulum.urdf", "two_link_arm.urdf"] {
        let builder = model_file(name);
        let mjcf = from_mjcf(&to_mjcf(&builder).expect("MJCF"));
        same_dynamics(name, &builder, &mjcf);
        let urdf = from_urdf(&to_urdf(&mjcf).expect("URDF"));
        same_dynamics(name, &builder, &urdf);
    }
}

/// Trees with frames of links away from their joints, every kind of joint that has a counterpart, constraints and actuators.
#[test]
fn models_as_mjcf() {
    for name in [
        "stanford",
        "chain-7",
        "space-robot",
        "floating-chain-4",
        "spherical-chain-3",
        "pendulum-3",
        "planar3",
    ] {
        let builder = embedded::builder(name).expect("an embedded model");
        let again = from_mjcf(&to_mjcf(&builder).unwrap_or_else(|error| panic!("{name}: {error}")));
        same_dynamics(name, &builder, &again);
        assert_eq!(builder.constraints.len(), again.constraints.len());
        assert_eq!(builder.gravity, again.gravity);
    }
}

#[test]
fn mjcf_to_mjcf() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mjcf");
    for name in [
        "shapes",
        "joints",
        "compiler",
        "classes",
        "meshes",
        "springdamper",
    ] {
        let path = folder.join(format!("{name}.xml"));
        let builder = read_file(&path, &ReadOptions::default()).expect("a model");
        let again = from_mjcf(&to_mjcf(&builder).unwrap_or_else(|error| panic!("{name}: {error}")));
        same_dynamics(name, &builder, &again);
        let actuators = |builder: &ModelBuilder| {
            let model = builder.build().expect("a model");
            let all = model.actuators().into_iter();
            all.map(|a| (a.name, a.freedom, a.gear, a.max_effort, a.lag))
                .collect::<Vec<_>>()
        };
        assert_eq!(actuators(&builder), actuators(&again), "{name}");
    }
}

/// Couplings and loops come back as they were.
#[test]
fn constraints_come_back() {
    let text = r#"<mujoco><worldbody>
      <body name="a" pos="1 0 0"><joint name="ja"/><geom size="0.1" pos="0.2 0 0"/></body>
      <body name="b" pos="0 2 0"><joint name="jb"/><joint name="jc" axis="1 0 0"/><geom size="0.1" pos="0.2 0 0.1"/></body>
    </worldbody><tendon><fixed name="t"><joint joint="ja" coef="2"/><joint joint="jb" coef="3"/><joint joint="jc" coef="-1"/></fixed></tendon>
    <equality><connect name="c" body1="a" body2="b" anchor="0 0 1"/><weld name="w" body1="b"/>
      <joint name="j" joint1="ja" joint2="jb" polycoef="0.5 2 0 0 0"/><tendon name="s" tendon1="t" polycoef="0.1 0 0 0 0"/></equality></mujoco>"#;
    let builder = from_mjcf(text);
    let again = from_mjcf(&to_mjcf(&builder).expect("MJCF"));
    same_dynamics("constraints", &builder, &again);
    assert_eq!(again.constraints.len(), 4);
    for (one, other) in builder.constraints.iter().zip(&again.constraints) {
        assert_eq!(one.name, other.name);
        use catena::model::RuleSpec::{Coupling, Joint};
        match (&one.rule, &other.rule) {
            (Joint(one), Joint(other)) => {
                assert_eq!(
                    (one.kind, &one.parent, &one.child),
                    (other.kind, &other.parent, &other.child)
                );
                let off = one.joint_from_child.translation - other.joint_from_child.translation;
                assert!(off.norm() < 1e-15);
            }
            (
                Coupling { terms, offset },
                Coupling {
                    terms: more,
                    offset: other,
                },
            ) => {
                assert_eq!(terms, more);
                assert!((offset - other).abs() < 1e-15);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let springs = r#"<mujoco><option gravity="0 0 -1"/><worldbody><body><joint name="j" stiffness="1" armature="2"/><geom size="0.1"/>
        <body name="b"><joint name="s" type="ball"/><geom size="0.1"/></body></body></worldbody></mujoco>"#;
    let error = to_urdf(&from_mjcf(springs))
        .expect_err("springs")
        .to_string();
    let expected = "URDF cannot express gravity (0.0 0.0 -1.0), armature of joint `j`, stiffness of joint `j`, spherical joint `s`";
    assert!(error.starts_with(expected), "{error}");
    let loops = embedded::builder("four-bar-1").expect("an embedded model");
    let error = to_mjcf(&loops).expect_err("a loop").to_string();
    assert!(
        error.starts_with("MJCF cannot express constraint `"),
        "{error}"
    );
    assert!(error.contains("hint: TOML and JSON"), "{error}");
}
