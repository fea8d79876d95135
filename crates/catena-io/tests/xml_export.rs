//! Models written as URDF, MJCF and SDF and read again have the same dynamics; what cannot be written is named.

use catena::ClosedChain;
use catena::model::{
    AxisPair, ConstraintSpec, Dof, ForceAxes, ForceRule, ForceSpec, FrameSpec, Inertial, JointKind,
    JointSpec, RuleSpec, embedded,
};
use catena::random::Random;
use catena::residual::largest;
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_io::{
    ReadOptions, builder_from_mjcf, builder_from_sdf, builder_from_toml, builder_from_urdf,
    read_file, to_mjcf, to_sdf, to_urdf,
};
use std::path::Path;

fn from_mjcf(text: &str) -> ModelBuilder {
    builder_from_mjcf(text, "x.xml", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn from_urdf(text: &str) -> ModelBuilder {
    builder_from_urdf(text, "x.urdf", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn from_sdf(text: &str) -> ModelBuilder {
    builder_from_sdf(text, "x.sdf", &ReadOptions::default())
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

/// Loops as `<constraint>`: residuals and rows of every kind of joint that may close one are those of the model.
#[test]
fn urdf_closes_loops() {
    let mut random = Random::new(5);
    let mut pose = || {
        let state = [0; 6].map(|_| random.uniform(-1.0, 1.0));
        let [a, b, c, x, y, z] = state;
        let turned = |angle: f64| angle.sin_cos();
        let ((sa, ca), (sb, cb), (sc, cc)) = (turned(a), turned(b), turned(c));
        let rotation =
            Mat3::rotation_z(sa, ca) * Mat3::rotation_x(sb, cb) * Mat3::rotation_z(sc, cc);
        Pose::new(rotation, Vec3::new(x, y, z))
    };
    for kind in [
        JointKind::Fixed,
        JointKind::Revolute,
        JointKind::Continuous,
        JointKind::Prismatic,
        JointKind::Cylindrical,
        JointKind::Universal,
        JointKind::Spherical,
        JointKind::Planar,
    ] {
        for (parent, child) in [("link1", "link3"), ("world", "link2")] {
            let mut builder = embedded::builder("planar3").expect("an embedded model");
            builder.gravity = Vec3::new(0.0, 0.0, -9.81);
            let mut joint = JointSpec::new("closing", kind, parent, child);
            joint.parent_from_joint = pose();
            joint.joint_from_child = pose();
            let rotation = pose().rotation;
            (joint.axes.first, joint.axes.second) = (rotation.x, rotation.y);
            builder.constraint(ConstraintSpec::joint(joint));
            let again = from_urdf(&to_urdf(&builder).expect("URDF"));
            same_dynamics(kind.name(), &builder, &again);
            let models = [&builder, &again].map(|b| b.build().expect("sound"));
            for seed in 0..3 {
                let [one, other] = [0, 1].map(|k: usize| {
                    let model = &models[k];
                    let state = State::random(model, seed);
                    let mut chain = ClosedChain::new(model);
                    let rows = chain.rows(0.0, &state).expect("finite");
                    let numbers = rows.residual.iter().chain(&rows.rate).copied();
                    let dense = rows.dense(model.nv());
                    numbers
                        .chain(dense.as_slice().to_vec())
                        .collect::<Vec<f64>>()
                });
                assert_eq!(one.len(), other.len(), "{kind}");
                for (a, b) in one.iter().zip(&other) {
                    assert!((a - b).abs() < 1e-12, "{kind}: {a} {b}");
                }
            }
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
    let mut loops = embedded::builder("four-bar-1").expect("an embedded model");
    if let RuleSpec::Joint(joint) = &mut loops.constraints[0].rule {
        joint.kind = JointKind::Prismatic;
    }
    let error = to_mjcf(&loops).expect_err("a loop").to_string();
    assert!(
        error.starts_with("MJCF cannot express constraint `"),
        "{error}"
    );
    assert!(error.contains("hint: TOML and JSON"), "{error}");
}

fn drawn(random: &mut Random, reach: f64) -> Vec3<f64> {
    Vec3::from_array([(); 3].map(|()| random.uniform(-reach, reach)))
}

fn drawn_pose(random: &mut Random) -> Pose<f64> {
    let rotation = Mat3::from_quaternion(random.quaternion());
    Pose::new(rotation, drawn(random, 0.5))
}

/// A tree with every kind of joint that SDF has, frames of links anywhere, springs, limits, and a link that gravity does not pull.
fn random_tree(seed: u64) -> ModelBuilder {
    let mut random = Random::new(seed);
    let mut builder = ModelBuilder::new("tree");
    if seed % 2 == 1 {
        builder.gravity = drawn(&mut random, 10.0);
    }
    let kinds = [
        JointKind::Revolute,
        JointKind::Prismatic,
        JointKind::Continuous,
        JointKind::Spherical,
        JointKind::Universal,
        JointKind::Helical,
        JointKind::Fixed,
    ];
    let count = 3 + seed as usize % 6;
    for k in 0..count {
        let name = format!("link{k}");
        let [a, b, c] = [(); 3].map(|()| random.uniform(0.1, 0.2));
        // any mass on three rods is possible
        let tensor = Sym3::new(b + c, a + c, a + b, 0.0, 0.0, 0.0);
        let turned = tensor.conjugate(drawn_pose(&mut random).rotation);
        let inertial = Inertial {
            mass: random.uniform(0.5, 2.0),
            centre: drawn(&mut random, 0.2),
            tensor: turned,
        };
        builder.link(&name, inertial);
        let parent = match k {
            0 => "world".into(),
            _ => format!("link{}", random.below(k)),
        };
        let kind = match k == 0 && seed.is_multiple_of(3) {
            true => JointKind::Free,
            false => kinds[random.below(kinds.len())],
        };
        let axes = drawn_pose(&mut random).rotation;
        // half of the joints have the name of their link, which SDF cannot have
        let own = if k % 2 == 0 { "link" } else { "joint" };
        let mut joint = JointSpec::new(&format!("{own}{k}"), kind, &parent, &name);
        joint.axes = AxisPair {
            first: axes.x,
            second: axes.y,
        };
        if kind != JointKind::Free {
            joint.parent_from_joint = drawn_pose(&mut random);
            joint.joint_from_child = drawn_pose(&mut random);
        }
        if kind == JointKind::Helical {
            joint.pitch = random.uniform(-0.2, 0.2);
        }
        if kind.has_axis() {
            let dof = |random: &mut Random| Dof {
                damping: random.uniform(0.0, 1.0),
                friction: random.uniform(0.0, 1.0),
                stiffness: random.uniform(0.0, 5.0),
                rest: random.uniform(-1.0, 1.0),
                limits: Some((-2.0, random.uniform(0.0, 2.0))),
                max_effort: Some(random.uniform(1.0, 9.0)),
                ..Dof::default()
            };
            joint.dofs = (0..kind.nv()).map(|_| dof(&mut random)).collect();
        }
        builder.joint(joint);
    }
    builder.frames.push(FrameSpec {
        name: "tool::tip".into(),
        link: format!("link{}", count - 1),
        link_from_frame: drawn_pose(&mut random),
        place: Default::default(),
    });
    let last = builder
        .links
        .last()
        .and_then(|link| link.inertial)
        .expect("mass");
    let moves = builder
        .joints
        .iter()
        .any(|joint| joint.kind == JointKind::Free);
    if moves {
        builder.force(ForceSpec {
            name: format!("link{}_gravcomp", count - 1),
            rule: ForceRule::Constant {
                link: format!("link{}", count - 1),
                point: last.centre,
                force: builder.gravity * -last.mass,
                torque: Vec3::zero(),
                axes: ForceAxes::World,
            },
            place: Default::default(),
        });
    }
    builder
}

#[test]
fn random_trees_as_sdf() {
    let mut moving = 0;
    for seed in 0..60 {
        let builder = random_tree(seed);
        let what = format!("tree {seed}");
        let text = to_sdf(&builder).unwrap_or_else(|error| panic!("{what}: {error}"));
        let again = from_sdf(&text);
        if builder.build().expect("a model").nv() == 0 {
            continue;
        }
        moving += 1;
        same_dynamics(&what, &builder, &again);
        assert_eq!(builder.gravity, again.gravity);
        assert_eq!(builder.forces.len(), again.forces.len());
        assert_eq!(again.frames[0].name, "tool__tip");
        let limits = |builder: &ModelBuilder| -> Vec<_> {
            let model = builder.build().expect("a model");
            let dofs = model.tree().dofs.iter();
            dofs.map(|dof| (dof.limits, dof.max_effort)).collect()
        };
        assert_eq!(limits(&builder), limits(&again), "{what}");
    }
    assert!(moving > 50, "{moving}");
}

#[test]
fn models_as_sdf() {
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
        let again = from_sdf(&to_sdf(&builder).unwrap_or_else(|error| panic!("{name}: {error}")));
        same_dynamics(name, &builder, &again);
    }
    for name in [
        "double_pendulum.urdf",
        "two_link_arm.urdf",
        "two_link_arm.sdf",
    ] {
        let builder = model_file(name);
        let again = from_sdf(&to_sdf(&builder).expect("SDF"));
        same_dynamics(name, &builder, &again);
        let urdf = from_urdf(&to_urdf(&again).expect("URDF"));
        same_dynamics(name, &builder, &urdf);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdf");
    for name in ["rules", "before", "merged", "placed", "world"] {
        let path = folder.join(format!("{name}.sdf"));
        let builder = read_file(&path, &ReadOptions::default()).expect("a model");
        let again = from_sdf(&to_sdf(&builder).unwrap_or_else(|error| panic!("{name}: {error}")));
        same_dynamics(name, &builder, &again);
    }
}

/// Loops that are closed at zero, and couplings of two coordinates, come back as they were.
#[test]
fn loops_and_couplings_as_sdf() {
    for kind in [
        JointKind::Fixed,
        JointKind::Revolute,
        JointKind::Prismatic,
        JointKind::Helical,
        JointKind::Universal,
        JointKind::Spherical,
    ] {
        let mut builder = random_tree(8);
        let mut random = Random::new(5);
        let place = |builder: &ModelBuilder, link: &str| {
            let mut at = Pose::identity();
            let mut link = link.to_owned();
            while link != "world" {
                let joint = builder.joints.iter().find(|joint| joint.child == link);
                let joint = joint.expect("a joint");
                at = joint.parent_from_joint * joint.joint_from_child * at;
                link.clone_from(&joint.parent);
            }
            at
        };
        let mut joint = JointSpec::new("closure", kind, "link0", "link4");
        joint.parent_from_joint = drawn_pose(&mut random);
        joint.pitch = if kind == JointKind::Helical { 0.1 } else { 0.0 };
        joint.axes = AxisPair {
            first: Vec3::new(0.6, 0.8, 0.0),
            second: Vec3::new(-0.8, 0.6, 0.0),
        };
        joint.joint_from_child = (place(&builder, "link0") * joint.parent_from_joint).inverse()
            * place(&builder, "link4");
        builder.constraint(ConstraintSpec::joint(joint));
        let names: Vec<String> = builder
            .joints
            .iter()
            .filter(|joint| joint.kind.nv() == 1)
            .map(|joint| joint.name.clone())
            .collect();
        builder.constraint(ConstraintSpec {
            name: "gear".into(),
            rule: RuleSpec::Coupling {
                terms: vec![(names[0].clone(), 2.0), (names[1].clone(), -3.0)],
                offset: 0.5,
            },
            place: Default::default(),
        });
        let again = from_sdf(&to_sdf(&builder).unwrap_or_else(|error| panic!("{kind}: {error}")));
        same_dynamics(kind.name(), &builder, &again);
        let [one, other] = &again.constraints[..] else {
            panic!("{:?}", again.constraints);
        };
        assert_eq!(one.name, "closure");
        let RuleSpec::Joint(closure) = &one.rule else {
            panic!("{one:?}");
        };
        assert_eq!(
            (closure.kind, closure.pitch != 0.0),
            (kind, kind == JointKind::Helical)
        );
        let RuleSpec::Coupling { terms, offset } = &other.rule else {
            panic!("{other:?}");
        };
        assert_eq!((terms[0].1, terms[1].1, *offset), (1.0, -1.5, 0.25));
        // rows and right-hand sides of the loop at a state are the same up to their scale: accelerations are
        let accelerations = |builder: &ModelBuilder| {
            let mut closed = builder.clone();
            closed.constraints.truncate(1);
            let model = closed.build().expect("a model");
            let state = State::neutral(&model);
            let tau = vec![0.1; model.nv()];
            let mut chain = ClosedChain::new(&model);
            let motion = chain.forward(0.0, &state, &tau, &[]);
            motion.expect("accelerations").accelerations.to_vec()
        };
        let (a, b) = (accelerations(&builder), accelerations(&again));
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{kind}: {a} {b}");
        }
    }
}

/// Mechanisms with loops move in the same way.
#[test]
fn mechanisms_as_sdf() {
    for name in ["four-bar-1", "four-bar-2", "bricard"] {
        let builder = embedded::builder(name).expect("an embedded model");
        let again = from_sdf(&to_sdf(&builder).unwrap_or_else(|error| panic!("{name}: {error}")));
        assert_eq!(builder.constraints.len(), again.constraints.len());
        let accelerations = |builder: &ModelBuilder| {
            let model = builder.build().expect("a model");
            let tau: Vec<f64> = (0..model.nv()).map(|k| 1.0 + k as f64).collect();
            let mut chain = ClosedChain::new(&model);
            let motion = chain.forward(0.0, &State::neutral(&model), &tau, &[]);
            motion.expect("accelerations").accelerations.to_vec()
        };
        let (a, b) = (accelerations(&builder), accelerations(&again));
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() <= 1e-10 * a.abs().max(1.0), "{name}: {a} {b}");
        }
    }
}

#[test]
fn what_sdf_cannot_express_is_named() {
    let refused = |name: &str| {
        let builder = embedded::builder(name).expect("an embedded model");
        to_sdf(&builder).expect_err("inexpressible").to_string()
    };
    let error = refused("zoo");
    assert!(error.starts_with("SDF cannot express "), "{error}");
    assert!(error.contains("cylindrical joint `"), "{error}");
    let error = refused("rolling-disk");
    assert!(error.contains("constraint `"), "{error}");
    let error = refused("squeezer");
    assert!(error.contains("force `spring`"), "{error}");
    let error = refused("slider-crank");
    assert!(
        error.contains("which is open where all joints are at zero"),
        "{error}"
    );
}

/// A loop that closes with a hinge is two points of its axis in MJCF, and moves as before.
#[test]
fn hinges_close_loops_as_two_points() {
    let builder = embedded::builder("four-bar-1").expect("an embedded model");
    let text = to_mjcf(&builder).expect("MJCF");
    assert_eq!(text.matches("<connect ").count(), 2, "{text}");
    let accelerations = |builder: &ModelBuilder| {
        let model = builder.build().expect("a model");
        let state = State::new(&model, &[0.7, -0.7, 0.7], &[1.0, -1.0, 1.0]).expect("finite");
        let mut chain = ClosedChain::new(&model);
        let still = vec![0.0; model.nv()];
        let found = chain.forward(0.0, &state, &still, &[]).expect("a motion");
        found.accelerations.to_vec()
    };
    let (one, other) = (accelerations(&builder), accelerations(&from_mjcf(&text)));
    let off: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
    assert!(largest(&off) <= 1e-12 * largest(&one), "{one:?} {other:?}");
}

/// What actuators can give at most is the limit of their joints, where a format has no other place for it.
#[test]
fn efforts_of_actuators_are_limits_of_joints() {
    let text = r#"<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/><body name="b"><joint name="k" actuatorfrcrange="-2 2"/><geom size="0.1"/>
        </body></body></worldbody><actuator><motor name="m" joint="j" gear="10" ctrlrange="-3 3"/><motor name="n" joint="k" gear="10" ctrlrange="-3 3"/></actuator></mujoco>"#;
    let builder = from_mjcf(text);
    let efforts = |builder: &ModelBuilder| -> Vec<Option<f64>> {
        let joints = builder.joints.iter();
        joints.map(|joint| joint.dofs[0].max_effort).collect()
    };
    let urdf = from_urdf(&to_urdf(&builder).expect("URDF"));
    assert_eq!(efforts(&urdf), [Some(30.0), Some(2.0)]);
    let text = to_sdf(&builder).expect("SDF");
    assert_eq!(efforts(&from_sdf(&text)), [Some(30.0), Some(2.0)]);
    assert!(
        text.contains("actuators are not written, their efforts are limits of their joints: m, n")
    );
}

/// URDF requires effort and velocity in every `<limit>`, and a `<limit>` in every prismatic joint: a number that is read back as none.
#[test]
fn urdf_joints_without_limits_stay_unlimited() {
    let text = |joints: &str| {
        let body = "inertia = [1, 1, 1]\nmass = 1\n";
        format!(
            "format = \"catena/1\"\ngravity = [0, 0, -9.81]\n[[link]]\nname = \"a\"\n{body}[[link]]\nname = \"b\"\n{body}[[link]]\nname = \"c\"\n{body}{joints}"
        )
    };
    let joint = |name: &str, kind: &str, child: &str, more: &str| {
        format!(
            "[[joint]]\nname = \"{name}\"\ntype = \"{kind}\"\nchild = \"{child}\"\naxis = [0, 0, 1]\n{more}\n"
        )
    };
    let joints = joint(
        "turn",
        "revolute",
        "a",
        "limits = [-1, 2]\nmax_velocity = 3",
    ) + &joint("slide", "prismatic", "b", "")
        + &joint("spin", "continuous", "c", "max_effort = 5");
    let options = ReadOptions::default();
    let builder = builder_from_toml(&text(&joints), "x.toml", &options).expect("sound");
    let urdf = to_urdf(&builder).expect("URDF");
    for wanted in [
        r#"<limit lower="-1.0" upper="2.0" effort="1e16" velocity="3.0"/>"#,
        r#"<limit lower="-1e16" upper="1e16" effort="1e16" velocity="1e16"/>"#,
        r#"<limit effort="5.0" velocity="1e16"/>"#,
    ] {
        assert!(urdf.contains(wanted), "{urdf}");
    }
    let again = from_urdf(&urdf);
    for (before, after) in builder.joints.iter().zip(&again.joints) {
        let of = |joint: &JointSpec| joint.dofs.first().copied().unwrap_or_default();
        assert_eq!(of(before), of(after), "{}", before.name);
    }
}
