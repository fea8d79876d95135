//! The example models are read, and mean what they should.

use catena::error::ErrorKind;
use catena::model::{JointKind, Model, ModelBuilder, embedded};
use catena::residual::larger;
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Dynamics, State};
use catena_io::document::{Item, Lines, Source, Table, parse_json, parse_toml};
use catena_io::{
    BaseOption, ReadOptions, builder_from_json, builder_from_toml, model_from_toml, read_model,
};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../models")
        .join(name)
}

fn read_example(name: &str) -> Model {
    read_model(&example(name), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn toml(text: &str) -> ModelBuilder {
    let text = format!("format = \"catena/1\"\n{text}");
    builder_from_toml(&text, "test.toml", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A model with one link and one joint, which has these keys.
fn one_joint(keys: &str) -> ModelBuilder {
    toml(&format!(
        "[[link]]\nname = \"arm\"\nmass = 1\n[[joint]]\nname = \"hinge\"\nchild = \"arm\"\n{keys}"
    ))
}

fn assert_close(a: Pose<f64>, b: Pose<f64>) {
    let rotation = a.rotation - b.rotation;
    let translation = a.translation - b.translation;
    let largest = [rotation.x, rotation.y, rotation.z, translation]
        .iter()
        .flat_map(|v| v.to_array())
        .fold(0.0, |largest, x| larger(largest, x.abs()));
    assert!(largest < 1e-15, "{a:?}\n{b:?}");
}

#[test]
fn every_example_is_read() {
    for entry in std::fs::read_dir(example("")).expect("the examples are there") {
        let path = entry.expect("readable").path();
        let known = ["toml", "json", "urdf"];
        if path
            .extension()
            .is_some_and(|e| known.iter().any(|k| e == *k))
        {
            read_model(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Both models answer the same to the same random state.
fn assert_same_dynamics(a: &Model, b: &Model) {
    assert_eq!(
        (a.nq(), a.nv(), a.body_count()),
        (b.nq(), b.nv(), b.body_count())
    );
    assert_eq!(a.gravity(), b.gravity());
    for seed in 1..=5 {
        let state = State::random(a, seed);
        let acceleration: Vec<f64> = state.v.iter().map(|v| 1.0 - v).collect();
        let mut of_a = Dynamics::new(a);
        let mut of_b = Dynamics::new(b);
        let effort_a = of_a
            .inverse(&state, &acceleration, &[])
            .expect("good input");
        let effort_b = of_b
            .inverse(&state, &acceleration, &[])
            .expect("good input");
        for (a, b) in effort_a.iter().zip(effort_b) {
            assert!((a - b).abs() <= 1e-13 * (1.0 + a.abs()), "{a} {b}");
        }
    }
}

#[test]
fn examples_are_the_embedded_models() {
    for (file, name) in [
        ("planar3.toml", "planar3"),
        ("stanford.toml", "stanford"),
        ("space_robot.toml", "space-robot"),
    ] {
        let model = read_example(file);
        assert_eq!(model.name(), name);
        assert_same_dynamics(&model, &embedded::model(name).expect("embedded"));
    }
}

#[test]
fn the_stanford_arm_holds_its_weight() {
    let model = read_example("stanford.toml");
    let mut state = State::neutral(&model);
    state.q[1] = FRAC_PI_2;
    let mut dynamics = Dynamics::new(&model);
    let holding = dynamics.gravity(&state).expect("good state");
    assert!((holding[1].abs() - 13.3416).abs() < 1e-12, "{holding:?}");
}

/// A base is fixed unless the file says otherwise, and it may say so.
#[test]
fn a_fixed_base_can_be_named() {
    let text = "[[link]]\nname = \"arm\"\nmass = 1\n[[joint]]\nname = \"hinge\"\nchild = \"arm\"\ntype = \"revolute\"\naxis = [0, 0, 1]";
    let joints = |builder: ModelBuilder| builder.joints.len();
    assert_eq!(
        joints(toml(&format!("base = \"fixed\"\n{text}"))),
        joints(toml(text))
    );
}

#[test]
fn a_free_base_is_the_first_joint() {
    let model = read_example("space_robot.toml");
    assert!(model.tree().is_free_floating());
    assert_eq!(model.nv(), 12);
    assert_eq!(model.tree().dofs[0].name, "root_joint.x");
    let fixed = ReadOptions {
        base: Some(BaseOption::Fixed),
        ..ReadOptions::default()
    };
    let model = read_model(&example("space_robot.toml"), &fixed).expect("good model");
    assert_eq!(model.nv(), 6);
}

#[test]
fn the_gripper_has_what_its_file_says() {
    let model = read_example("gripper.json");
    let tree = model.tree();
    assert_eq!((model.nq(), model.nv()), (6, 6));
    let dof = |name: &str| {
        tree.dofs
            .iter()
            .find(|d| d.name == name)
            .expect("a freedom")
    };
    assert_eq!(dof("lift").limits, Some((-PI, f64::INFINITY)));
    assert_eq!(dof("lift").max_velocity, Some(720f64.to_radians()));
    assert_eq!(dof("tilt.2").limits, Some((-FRAC_PI_4, FRAC_PI_4)));
    assert_eq!(dof("tilt.2").max_effort, Some(3.0));
    assert_eq!(dof("left").limits, Some((0.0, 0.04)));
    assert!(tree.frame("grasp point").is_some());
}

#[test]
fn both_pendulum_rods_are_the_same() {
    let model = read_example("double_pendulum.urdf");
    let (upper, lower) = (model.inertial(1), model.inertial(2));
    assert_eq!(upper.mass, lower.mass);
    // the moments of one are those of the other, though its file has them in other axes
    for (a, b) in [
        (upper.tensor.xx, lower.tensor.xx),
        (upper.tensor.yy, lower.tensor.yy),
        (upper.tensor.zz, lower.tensor.zz),
    ] {
        assert!((a - b).abs() < 1e-15, "{upper:?}\n{lower:?}");
    }
}

#[test]
fn rotations_agree_in_every_form() {
    for (form, expected) in [
        ("{ rpy = [\"30deg\", 0, 0] }", [1.0, 0.0, 0.0, PI / 6.0]),
        ("{ rpy = [0, 0, \"pi/2\"] }", [0.0, 0.0, 1.0, FRAC_PI_2]),
        (
            "{ quaternion = [0.5, 0.5, 0.5, 0.5] }",
            [1.0, 1.0, 1.0, 2.0 * PI / 3.0],
        ),
        (
            "{ quaternion = [0.7071, 0, 0.7071, 0] }",
            [0.0, 1.0, 0.0, FRAC_PI_2],
        ),
        (
            "{ axis = [0, 3, 0], angle = \"90deg\" }",
            [0.0, 1.0, 0.0, FRAC_PI_2],
        ),
        (
            "{ matrix = [[0, -1, 0], [1, 0, 0], [0, 0, 1]] }",
            [0.0, 0.0, 1.0, FRAC_PI_2],
        ),
    ] {
        let [x, y, z, angle] = expected;
        let axis = Vec3::new(x, y, z);
        let s = (angle / 2.0).sin() / axis.norm();
        let quaternion = [(angle / 2.0).cos(), s * x, s * y, s * z];
        let rotation = Mat3::from_quaternion(quaternion);
        let builder = one_joint(&format!(
            "type = \"revolute\"\norigin = [1, 2, 3]\nrotation = {form}\nchild_rotation = {form}"
        ));
        let joint = &builder.joints[0];
        assert_close(
            joint.parent_from_joint,
            Pose::new(rotation, Vec3::new(1.0, 2.0, 3.0)),
        );
        assert_close(joint.joint_from_child, Pose::new(rotation, Vec3::zero()));
    }
}

#[test]
fn denavit_hartenberg_in_both_conventions() {
    let builder = one_joint(
        "type = \"revolute\"\ndh = { a = 1, b = 2, alpha = \"90deg\", theta = \"90deg\" }",
    );
    let joint = &builder.joints[0];
    assert_close(joint.parent_from_joint, Pose::identity());
    // the turn by theta takes x to y; the turn by alpha about that axis takes z to x
    let rotation = Mat3::from_rows([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    assert_close(
        joint.joint_from_child,
        Pose::new(rotation, Vec3::new(0.0, 1.0, 2.0)),
    );

    let builder = one_joint(
        "type = \"prismatic\"\nmodified_dh = { a = 1, alpha = \"90deg\", d = 2, theta = \"90deg\" }",
    );
    let joint = &builder.joints[0];
    let about_x = Mat3::from_rows([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]);
    assert_close(
        joint.parent_from_joint,
        Pose::new(about_x, Vec3::new(1.0, 0.0, 0.0)),
    );
    let about_z = Mat3::from_rows([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_close(
        joint.joint_from_child,
        Pose::new(about_z, Vec3::new(0.0, 0.0, 2.0)),
    );
}

#[test]
fn degrees_apply_to_angles_and_not_to_lengths() {
    let builder = toml(
        r#"
angles = "deg"
[[link]]
name = "puck"
mass = 1
inertia = [1, 1, 1]
[[joint]]
name = "table"
type = "planar"
child = "puck"
damping = 0.5
rest = [1, 2, 180]
stiffness = [3, 4, 5]
limits = [[-1, 1], "none", [-90, "pi/4"]]
max_velocity = 90
max_effort = [1, "none", 2]
"#,
    );
    let dofs = &builder.joints[0].dofs;
    assert_eq!(dofs.len(), 3);
    assert!(dofs.iter().all(|dof| dof.damping == 0.5));
    assert_eq!([dofs[0].rest, dofs[1].rest, dofs[2].rest], [1.0, 2.0, PI]);
    assert_eq!(dofs[0].limits, Some((-1.0, 1.0)));
    assert_eq!(dofs[1].limits, None);
    assert_eq!(dofs[2].limits, Some((-FRAC_PI_2, FRAC_PI_4)));
    assert_eq!(dofs[0].max_velocity, Some(90.0));
    assert_eq!(dofs[2].max_velocity, Some(FRAC_PI_2));
    assert_eq!([dofs[0].max_effort, dofs[1].max_effort], [Some(1.0), None]);
}

#[test]
fn one_pair_of_limits_is_for_all_freedoms() {
    let builder =
        one_joint("type = \"universal\"\naxes = [[1, 0, 0], [0, 1, 0]]\nlimits = [-1, 2]");
    let limits: Vec<_> = builder.joints[0]
        .dofs
        .iter()
        .map(|dof| dof.limits)
        .collect();
    assert_eq!(limits, [Some((-1.0, 2.0)); 2]);
}

#[test]
fn inertia_in_every_form() {
    let tensor = |written: &str| {
        let builder = toml(&format!(
            "[[link]]\nname = \"arm\"\nmass = 1\ninertia = {written}"
        ));
        builder.links[0].inertial.expect("a mass").tensor
    };
    let full = tensor("[[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]]");
    assert_eq!(full, tensor("[1, 2, 2.5, 0.1, 0.2, 0.3]"));
    assert_eq!(tensor("[1, 2, 2.5]"), tensor("[1, 2, 2.5, 0, 0, 0]"));
}

#[test]
fn a_missing_parent_is_the_link_before() {
    let builder = toml(
        r#"
[[link]]
name = "a"
[[link]]
name = "b"
mass = 1
[[joint]]
name = "one"
type = "fixed"
child = "a"
[[joint]]
name = "two"
type = "prismatic"
child = "b"
"#,
    );
    let parents: Vec<_> = builder
        .joints
        .iter()
        .map(|joint| &joint.parent[..])
        .collect();
    assert_eq!(parents, ["world", "a"]);
    assert_eq!(builder.build().expect("good model").nv(), 1);
}

#[test]
fn everything_knows_its_line() {
    let text = "format = \"catena/1\"\n\n[[link]]\nname = \"a\"\nmass = 1\n\n[[joint]]\nname = \"j\"\n\
                type = \"prismatic\"\nchild = \"a\"\n\n[[frame]]\nname = \"f\"\nlink = \"a\"\n";
    let builder = builder_from_toml(text, "arm.toml", &ReadOptions::default()).expect("good model");
    assert_eq!(builder.name, "arm");
    assert_eq!(builder.links[0].place.to_string(), "arm.toml:3");
    assert_eq!(builder.joints[0].place.to_string(), "arm.toml:7");
    assert_eq!(builder.frames[0].place.to_string(), "arm.toml:12");

    let text = "{\"format\": \"catena/1\",\n\"link\": [\n{\"name\": \"a\",\n\"mass\": 1}],\n\"joint\": [\n\
                {\"name\": \"j\", \"type\": \"prismatic\", \"child\": \"a\"}]}";
    let builder = builder_from_json(text, "arm.json", &ReadOptions::default()).expect("good model");
    assert_eq!(builder.links[0].place.to_string(), "arm.json:3");
    assert_eq!(builder.joints[0].place.to_string(), "arm.json:6");
}

/// Every value of a file knows the line it stands on, in both formats.
#[test]
fn every_value_knows_its_line() {
    let toml = "a = 1\n\n[b]\nc = [\n2,\n3]\n";
    let json = "{\"a\": 1,\n\n\"b\": {\n\"c\": [\n2,\n3]}}";
    let (of_toml, of_json) = (Lines::new("x", toml), Lines::new("x", json));
    for (tree, lines) in [
        (parse_toml(toml, &of_toml), [1, 3, 4, 5, 6]),
        (parse_json(json, &of_json), [1, 3, 4, 5, 6]),
    ] {
        let tree = tree.expect("well formed");
        let source = Source {
            file: "x".into(),
            degrees: false,
        };
        let file = Table::new(&source, String::new(), &tree).expect("a table");
        let b = file.require("b").expect("there");
        let inner = b.table("a table").expect("a table");
        let c = inner.require("c").expect("there");
        let mut found = vec![file.require("a").expect("there").line(), b.line(), c.line()];
        found.extend(c.list().expect("a list").iter().map(Item::line));
        assert_eq!(found, lines);
    }
}

/// Values may stand in each other, but not without end.
#[test]
fn json_is_nested_so_deep_and_no_deeper() {
    let nested = |depth: usize| {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        parse_json(&text, &Lines::new("x.json", &text)).map(|_| ())
    };
    // the innermost list of 33 is within 32 others
    for depth in [1, 2, 32, 33] {
        nested(depth).unwrap_or_else(|error| panic!("{depth}: {error}"));
    }
    for depth in [34, 35, 100] {
        let error = nested(depth).expect_err("too deep");
        assert_eq!(
            error.message(),
            "malformed JSON: nested more than 32 deep",
            "{depth}"
        );
    }
}

#[test]
fn a_moving_base_is_noted() {
    let builder = toml(
        "base = \"moving\"\n[[link]]\nname = \"a\"\nmass = 1\n[[joint]]\nname = \"j\"\ntype = \"prismatic\"\nchild = \"a\"",
    );
    assert_eq!(builder.joints.len(), 1);
    assert!(
        builder.assumptions[0].contains("prescribed"),
        "{:?}",
        builder.assumptions
    );
}

#[test]
fn unphysical_inertia_is_read_with_a_warning_and_refused_by_strict() {
    let text = "format = \"catena/1\"\n[[link]]\nname = \"a\"\nmass = 1\ninertia = [1, 1, 3]\n[[joint]]\n\
                name = \"j\"\ntype = \"revolute\"\nchild = \"a\"";
    let model = model_from_toml(text, "a.toml", &ReadOptions::default()).expect("read");
    let [warning] = &model.tree().warnings[..] else {
        panic!("one warning, not {:?}", model.tree().warnings);
    };
    assert_eq!(
        warning.to_string(),
        "inertia of link `a` breaks the triangle inequality: its largest principal moment 3.000000e0 kg·m² exceeds the sum of \
         the others 2.000000e0 kg·m² by 50.00 %\n  --> a.toml:2"
    );
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    let refused = model_from_toml(text, "a.toml", &strict).expect_err("not physical");
    assert_eq!(refused.kind(), ErrorKind::Physics);
    assert_eq!(refused.message(), warning.message);
    let in_file = text.replace("\n[[link]]", "\nallow_unphysical = true\n[[link]]");
    let model = model_from_toml(&in_file, "a.toml", &ReadOptions::default()).expect("read");
    assert!(model.tree().warnings.is_empty());
    assert!(
        model
            .tree()
            .assumptions
            .iter()
            .any(|note| note.starts_with("accepted on request"))
    );
}

#[test]
fn a_byte_order_mark_and_dos_lines_are_accepted() {
    let text = std::fs::read_to_string(example("planar3.toml")).expect("there");
    let text = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let builder =
        builder_from_toml(&text, "planar3.toml", &ReadOptions::default()).expect("good model");
    assert_eq!(builder.joints.len(), 3);
}

#[test]
fn one_kind_of_joint_each() {
    for kind in JointKind::ALL {
        let more = match kind {
            JointKind::Universal => "axes = [[1, 0, 0], [0, 1, 0]]",
            JointKind::Helical => "pitch = 0.1",
            _ => "",
        };
        let builder = one_joint(&format!("type = \"{kind}\"\n{more}"));
        assert_eq!(builder.joints[0].kind, kind);
    }
}

/// A line break in a name would end the comment that contains it; an escape code would be executed by a terminal.
#[test]
fn names_with_control_characters_are_refused_in_every_format() {
    let toml = |model: &str, link: &str, joint: &str, frame: &str, note: &str| {
        format!(
            "format = \"catena/1\"\nname = \"{model}\"\nassumptions = [\"{note}\"]\n[[link]]\nname = \"{link}\"\nmass = 1\n\
             inertia = [1, 1, 1]\n[[joint]]\nname = \"{joint}\"\ntype = \"revolute\"\nchild = \"{link}\"\n\
             [[frame]]\nname = \"{frame}\"\nlink = \"{link}\"\n"
        )
    };
    let options = ReadOptions::default();
    let good = toml("m", "arm é", "joint \\\"1\\\"", "tool", "a note");
    assert!(catena_io::model_from_toml(&good, "x.toml", &options).is_ok());
    for hidden in [
        "\\n",
        "\\u001b[2J",
        "\\r",
        "\\u0000",
        "\\u007f",
        "\\u009b",
        "\\u2028",
        "\\u202e",
    ] {
        let bad = format!("a{hidden}b");
        for (what, text) in [
            ("model", toml(&bad, "l", "j", "f", "n")),
            ("link", toml("m", &bad, "j", "f", "n")),
            ("joint", toml("m", "l", &bad, "f", "n")),
            ("frame", toml("m", "l", "j", &bad, "n")),
            ("assumption", toml("m", "l", "j", "f", &bad)),
        ] {
            let error = catena_io::model_from_toml(&text, "x.toml", &options).expect_err(what);
            let message = error.to_string();
            assert!(message.contains(what), "{message}");
            assert!(
                message.contains("has the control character U+"),
                "{message}"
            );
            assert!(message.contains("--> x.toml"), "{message}");
            assert!(
                !message.chars().any(|c| c.is_control() && c != '\n'),
                "{message:?}"
            );
        }
    }
    let json = r#"{"format": "catena/1", "link": [{"name": "l", "mass": 1, "inertia": [1, 1, 1]}],
        "joint": [{"name": "j\u000ak", "type": "revolute", "child": "l"}]}"#;
    let error = catena_io::model_from_json(json, "x.json", &options).expect_err("a line break");
    assert!(error.message().contains("U+000A"), "{error}");
    let urdf = r#"<robot name="arm"><link name="base"/><link name="l"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j&#10;system('true'); %" type="continuous"><parent link="base"/><child link="l"/></joint></robot>"#;
    let error = catena_io::model_from_urdf(urdf, "x.urdf", &options).expect_err("a line break");
    assert!(error.to_string().contains("`j\\nsystem"), "{error}");
    assert_eq!(error.place().line, Some(3));
}

/// Positions and velocities that a model begins with, in the file's angles, and through a round trip.
#[test]
fn a_start_is_read() {
    let text = r#"
        angles = "deg"
        [[link]]
        name = "arm"
        mass = 1
        inertia = [1, 1, 1]
        [[link]]
        name = "ball"
        mass = 1
        inertia = [1, 1, 1]
        [[link]]
        name = "hand"
        mass = 1
        inertia = [1, 1, 1]
        [[joint]]
        name = "hinge"
        type = "revolute"
        child = "arm"
        start = 90
        start_velocity = 180
        [[joint]]
        name = "socket"
        type = "spherical"
        child = "ball"
        start = [0.6, 0.0, 0.8, 0.0]
        [[joint]]
        name = "cross"
        type = "cylindrical"
        child = "hand"
        start_velocity = [90, 0.25]
    "#;
    let builder = toml(text);
    let again = toml(&catena_io::to_toml(&builder).replace("format = \"catena/1\"", ""));
    for builder in [builder, again] {
        let model = builder.build().expect("sound");
        let start: State = State::start(&model);
        assert_eq!(start.q, [FRAC_PI_2, 0.6, 0.0, 0.8, 0.0, 0.0, 0.0]);
        assert_eq!(start.v, [PI, 0.0, 0.0, 0.0, FRAC_PI_2, 0.25]);
    }
    // digits of a quaternion that were left out
    let rounded = toml(&text.replace("[0.6, 0.0, 0.8, 0.0]", "[0.6003, 0.0, 0.8004, 0.0]"));
    let start: State = State::start(&rounded.build().expect("sound"));
    let length = start.q[1].hypot(start.q[3]);
    assert!((length - 1.0).abs() < 1e-15);
    assert!((start.q[3] / start.q[1] - 0.8004 / 0.6003).abs() < 1e-15);
}
