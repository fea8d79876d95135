//! Bodies: where they are, what they are called, their copies, and the base.

use crate::common::{built, near, read, refusal, world};
use catena::model::JointKind;
use catena::{Dynamics, State};
use catena_io::{BaseOption, ReadOptions, model_from_mjcf};
use std::f64::consts::PI;

/// A body without joints stands where it is put; cameras and lights change nothing.
#[test]
fn bodies_without_joints_are_fixed_in_place() {
    let builder = read(&world(
        r#"<camera/><light/><body name="a"><joint name="j" axis="0 1 0"/><geom size="0.1"/><camera/><light/>
        <body name="b" pos="0.3 0 0.2" euler="0 0 90"><geom size="0.1" pos="0.1 0 0"/></body></body>"#,
    ));
    let joint = builder.joints.iter().find(|joint| joint.child == "b");
    let joint = joint.expect("it is there");
    assert_eq!((joint.kind, &joint.parent[..]), (JointKind::Fixed, "a"));
    near(
        &joint.parent_from_joint.translation.to_array(),
        &[0.3, 0.0, 0.2],
    );
    let ball = 4.0 / 3.0 * PI * 1e-3 * 1000.0;
    let model = builder.build().expect("a model");
    let mut dynamics = Dynamics::new(&model);
    let inertia = dynamics.inertia(&State::neutral(&model)).expect("finite");
    // two balls, one of them at (0.3, 0.1, 0.2)
    near(
        &[inertia[(0, 0)]],
        &[ball * (2.0 * 0.4 * 1e-2 + 0.09 + 0.04)],
    );
}

/// A rotation by a quaternion of no length is none.
#[test]
fn quaternions_have_a_length() {
    let body = |quat: &str| {
        world(&format!(
            "<body quat=\"{quat}\"><joint/><geom size=\"0.1\"/></body>"
        ))
    };
    for wrong in ["0 0 0 0", "0 1e-17 0 0", "1e200 0 0 1e200"] {
        let error = refusal(&body(wrong));
        assert!(error.contains("`quat`"), "{wrong}: {error}");
    }
    let joint = &read(&body("0 0 0 20")).joints[0];
    let x = joint.parent_from_joint.rotation.x.to_array();
    near(&x, &[-1.0, 0.0, 0.0]);
}

/// Bodies and joints without names get some that no other has, whatever others are called.
#[test]
fn made_up_names_are_free() {
    let builder = read(&world(
        r#"<body name="body_2"><joint name="body_3_joint"/><geom size="0.1"/>
        <body><joint/><geom size="0.1"/><body name="body_2_2"><joint/><geom size="0.1"/><body><joint/><geom size="0.1"/></body></body></body></body>"#,
    ));
    let names: Vec<&str> = builder.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(names, ["body_2", "body_2_3", "body_2_2", "body_4"]);
    let mut joints: Vec<&str> = builder.joints.iter().map(|joint| &joint.name[..]).collect();
    joints.sort_unstable();
    joints.dedup();
    assert_eq!(joints.len(), 4);
    builder.build().expect("all names differ");
}

/// Copies stand where MuJoCo 4.0 has them, each turned by another multiple of `euler`, and have its names; those of a copy in a copy are added first.
#[test]
fn copies_are_made() {
    let text = r#"<mujoco><worldbody><body name="base" pos="1 0 0"><joint name="jb"/><geom size=".1"/>
        <replicate count="11" offset="0.1 0 0.05" euler="0 20 30" sep="-">
          <body name="l" pos="0 0.3 0"><joint name="j" axis="0 1 0"/><geom size=".05" pos="0.1 0 0"/><site name="s"/>
            <replicate count="2" offset="0 1 0"><body name="in"><joint name="k"/><geom size="0.02"/></body></replicate>
          </body>
          <geom size="0.01" pos="0 0 0.5"/>
        </replicate></body></worldbody></mujoco>"#;
    let builder = read(text);
    let names: Vec<&str> = builder.links.iter().map(|link| &link.name[..]).collect();
    let first = ["base", "l-00", "in0-00", "in1-00", "l-01", "in0-01"];
    assert_eq!((&names[..6], names.len()), (&first[..], 34));
    let joints: Vec<&str> = builder.joints.iter().map(|joint| &joint.name[..]).collect();
    assert_eq!(
        &joints[..6],
        ["jb", "j-00", "k0-00", "k1-00", "j-01", "k0-01"]
    );
    assert!(builder.frames.iter().any(|frame| frame.name == "s-10"));
    let place = |name: &str| {
        let joint = builder.joints.iter().find(|joint| joint.name == name);
        joint.expect(name).parent_from_joint
    };
    for (name, wanted) in [
        ("j-01", [-0.04095389, 0.25980762, 0.10130302]),
        ("j-02", [-0.00054341, 0.2, 0.23436594]),
        ("j-03", [0.11892238, 0.13660254, 0.33333528]),
        ("k1-07", [0.0, 1.0, 0.0]),
    ] {
        for (found, wanted) in place(name).translation.to_array().iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-8, "{name}: {:?}", place(name));
        }
    }
    for (wrong, told) in [
        ("", "has no attribute `count`"),
        (
            "count=\"1.5\"",
            "`count` of <replicate> must be a whole number",
        ),
        (
            "count=\"-1\"",
            "`count` of <replicate> must be a whole number",
        ),
        ("count=\"1000000000\"", "makes more than 100000 copies"),
        ("count=\"2\" pos=\"0 0 0\"", "unknown attribute `pos`"),
    ] {
        let body = "<body name=\"l\"><joint/><geom size=\"0.1\"/></body>";
        let found = refusal(&world(&format!("<replicate {wrong}>{body}</replicate>")));
        assert!(found.contains(told), "{wrong}: {found}");
    }
    // no copy is a copy less; what has no name gets none from being copied
    let links = |inside: &str| -> Vec<String> {
        let builder = read(&world(&format!(
            "<body name=\"a\"><joint/><geom size=\"0.1\"/>{inside}</body>"
        )));
        builder.links.into_iter().map(|link| link.name).collect()
    };
    let copied = |count: u32, name: &str| {
        links(&format!(
            "<replicate count=\"{count}\"><body {name}><joint/><geom size=\"0.1\"/></body></replicate>"
        ))
    };
    assert_eq!(copied(0, ""), ["a"]);
    assert_eq!(copied(1, "name=\"b\""), ["a", "b0"]);
    assert_eq!(copied(2, "name=\"\""), copied(2, ""));
    // the bound is one for the whole file
    let many = "<replicate count=\"60000\"/>";
    let found = refusal(&world(&format!("{many}{many}")));
    assert!(found.contains("makes more than 100000 copies"), "{found}");
    let many = "<replicate count=\"20000\"><site/><site/><site/></replicate>";
    let found = refusal(&world(&format!("{many}{many}")));
    assert!(found.contains("makes more than 100000 copies"), "{found}");
}

/// A body whose weight is compensated stays where it is put.
#[test]
fn gravity_compensation() {
    let text = world(
        r#"<body gravcomp="1"><joint/><geom size="0.1" pos="0.3 0 0"/>
           <body pos="0.5 0 0" gravcomp="0.25"><joint axis="0 1 0"/><geom size="0.1" mass="2" pos="0.5 0 0"/></body></body>"#,
    );
    let model = built(&text);
    let state = State::new(&model, &[0.4, 0.0], &[0.0; 2]).expect("a state");
    let mut dynamics = Dynamics::new(&model);
    let tau = dynamics.inverse(&state, &[0.0; 2], &[]).expect("efforts");
    near(tau, &[0.0, -0.75 * 2.0 * 9.81 * 0.5]);
}

/// States begin at MuJoCo's reference position.
#[test]
fn the_state_to_start_from() {
    let model = built(&world(
        r#"<body pos="1 2 3" euler="0 0 90"><freejoint/><geom size="0.1"/><body><joint ref="90"/><joint axis="1 0 0"/><geom size="0.1"/></body></body>"#,
    ));
    let half = 0.5f64.sqrt();
    near(
        &model.tree().start,
        &[1.0, 2.0, 3.0, half, 0.0, 0.0, half, PI / 2.0, 0.0],
    );
}

#[test]
fn the_base_on_request() {
    let read_with = |text: &str, base| {
        let options = ReadOptions {
            base: Some(base),
            ..ReadOptions::default()
        };
        model_from_mjcf(text, "x.xml", &options)
    };
    let fixed = world(
        "<body name=\"a\" pos=\"0 0 1\"><geom size=\"0.1\"/><body><joint/><geom size=\"0.1\"/></body></body>",
    );
    let free = world(
        "<body name=\"a\"><freejoint/><geom size=\"0.1\"/><body><joint/><geom size=\"0.1\"/></body></body>",
    );
    let hinged = world("<body name=\"a\"><joint name=\"h\"/><geom size=\"0.1\"/></body>");
    for text in [&fixed, &free] {
        assert_eq!(read_with(text, BaseOption::Free).expect("a model").nv(), 7);
        assert_eq!(read_with(text, BaseOption::Fixed).expect("a model").nv(), 1);
    }
    assert_eq!(
        read_with(&hinged, BaseOption::Fixed).expect("a model").nv(),
        1
    );
    let error = read_with(&hinged, BaseOption::Free)
        .expect_err("it is hinged")
        .to_string();
    assert!(
        error.starts_with("the base cannot be free: joint `h` joins body `a` to the ground"),
        "{error}"
    );
}
