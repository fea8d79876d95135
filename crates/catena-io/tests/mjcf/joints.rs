//! Joints: several of a body, their references, springs, dampers, limits and efforts.

use crate::common::{TWO, built, near, read, world};
use catena::model::JointKind;
use catena::{Dynamics, State};
use std::f64::consts::PI;

/// Joints of one body act in their order, each where the ones before have left the body.
#[test]
fn several_joints_of_a_body_are_a_chain() {
    let builder = read(&world(
        r#"<body name="hand" pos="0 0 1">
        <joint name="a" type="slide" axis="2 0 0"/><joint name="b" axis="0 1 0" pos="0 0 0.5"/>
        <geom size="0.1"/></body>"#,
    ));
    let links: Vec<&str> = builder.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(links, ["hand.a", "hand"]);
    let lines: Vec<String> = (builder.links.iter().map(|link| &link.place))
        .chain(builder.joints.iter().map(|joint| &joint.place))
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines, ["x.xml:3", "x.xml:2", "x.xml:3", "x.xml:3"]);
    assert!(builder.links[0].inertial.is_none());
    let [a, b] = &builder.joints[..] else {
        panic!("two joints");
    };
    assert_eq!(
        (&a.parent[..], &a.child[..], &b.parent[..], &b.child[..]),
        ("world", "hand.a", "hand.a", "hand")
    );
    assert_eq!(a.axes.first.to_array(), [1.0, 0.0, 0.0]);
    // turned by a right angle about y at half a metre above the body: x = 0.3 − 0.5, z = 1 + 0.5
    let model = builder.build().expect("a model");
    let state = State::new(&model, &[0.3, PI / 2.0], &[0.0; 2]).expect("a state");
    let mut dynamics = Dynamics::new(&model);
    let frame = model
        .tree()
        .frames
        .iter()
        .find(|frame| frame.name == "hand")
        .expect("its frame")
        .clone();
    let kinematics = dynamics.kinematics(&state, &[0.0; 2]).expect("kinematics");
    near(
        &kinematics.frame_pose(&frame).translation.to_array(),
        &[-0.2, 0.0, 1.5],
    );
}

/// At its reference a joint leaves the body where the file has it.
#[test]
fn references_shift_coordinates() {
    let model = built(&world(
        r#"<body name="one" pos="0 0 1"><joint name="turn" axis="0 0 1" ref="90"/><geom size="0.1"/>
           <body name="two" pos="1 0 0"><joint name="push" type="slide" axis="1 0 0" ref="0.25"/><geom size="0.1"/></body></body>"#,
    ));
    let mut dynamics = Dynamics::new(&model);
    let frame = model
        .tree()
        .frames
        .iter()
        .find(|frame| frame.name == "two")
        .expect("its frame")
        .clone();
    for (q, expected) in [
        ([PI / 2.0, 0.25], [1.0, 0.0, 1.0]),
        ([PI, 0.5], [0.0, 1.25, 1.0]),
    ] {
        let state = State::new(&model, &q, &[0.0; 2]).expect("a state");
        let kinematics = dynamics.kinematics(&state, &[0.0; 2]).expect("kinematics");
        near(
            &kinematics.frame_pose(&frame).translation.to_array(),
            &expected,
        );
    }
}

#[test]
fn settings_of_joints() {
    let builder = read(&world(
        r#"<body><joint name="j" range="-90 45" stiffness="2" springref="30" damping="0.1" frictionloss="0.2" armature="0.3"
            actuatorfrcrange="-5 5"/><geom size="0.1"/></body>"#,
    ));
    let joint = &builder.joints[0];
    let dof = joint.dofs[0];
    assert_eq!(joint.kind, JointKind::Revolute);
    assert_eq!(
        (dof.stiffness, dof.damping, dof.friction, dof.armature),
        (2.0, 0.1, 0.2, 0.3)
    );
    near(&[dof.rest], &[PI / 6.0]);
    let (lower, upper) = dof.limits.expect("limits");
    near(&[lower, upper], &[-PI / 2.0, PI / 4.0]);
    assert_eq!(dof.max_effort, Some(5.0));
}

/// Bounds of the effort at a joint, on either side; a hinge without limits turns on and on.
#[test]
fn largest_efforts_of_joints() {
    let joint = |attributes: &str| {
        let builder = read(&world(&format!(
            "<body><joint {attributes}/><geom size=\"0.1\"/></body>"
        )));
        let dof = builder.joints[0].dofs.first().copied();
        (builder.joints[0].kind, dof.and_then(|dof| dof.max_effort))
    };
    assert_eq!(joint("armature=\"1\""), (JointKind::Continuous, None));
    assert_eq!(joint("range=\"-1 1\""), (JointKind::Revolute, None));
    for (range, largest) in [
        ("-5 2", Some(5.0)),
        ("-2 5", Some(5.0)),
        ("1 3", Some(3.0)),
        ("0 0", None),
    ] {
        let found = joint(&format!("actuatorfrcrange=\"{range}\""));
        assert_eq!(found, (JointKind::Continuous, largest), "{range}");
    }
    let driven = |attributes: &str| {
        let builder = read(&format!(
            "<mujoco>{TWO}<actuator><motor joint=\"ja\" {attributes}/></actuator></mujoco>"
        ));
        builder.actuators[0].max_effort
    };
    assert_eq!(driven("ctrlrange=\"-3 2\" gear=\"-2\""), Some(6.0));
    assert_eq!(driven("ctrlrange=\"-3 2\" forcerange=\"-1 2\""), Some(2.0));
    assert_eq!(driven("ctrlrange=\"0 0\""), None);
}

/// A pendulum that its weight pulls, and a slide with a load: inertia, time constant and damping ratio give spring and damper, whatever else acts.
#[test]
fn springs_from_time_constants() {
    let (time, ratio) = (0.1f64, 0.7f64);
    let of = |joint: &str| {
        let builder = read(&world(&format!(
            r#"<body><joint {joint} springdamper="{time} {ratio}"/>
               <inertial pos="0.5 0 0" mass="2" diaginertia="0.3 0.4 0.5"/></body>"#
        )));
        builder.joints[0].dofs[0]
    };
    for (joint, inertia) in [
        (r#"axis="0 1 0""#, 0.4 + 2.0 * 0.25),
        (r#"axis="0 0 1""#, 0.5 + 2.0 * 0.25),
        (r#"type="slide" axis="0 0 1""#, 2.0),
    ] {
        let dof = of(joint);
        let expected = [2.0 * inertia / time, inertia / (time * ratio).powi(2)];
        near(&[dof.damping, dof.stiffness], &expected);
    }
    // a pair that is not positive asks for nothing
    for pair in ["0.1 0", "0 0.7", "-0.1 0.7", "0.1 -1"] {
        let builder = read(&world(&format!(
            "<body><joint damping=\"2\" springdamper=\"{pair}\"/><geom size=\"0.1\"/></body>"
        )));
        let dof = builder.joints[0].dofs[0];
        assert_eq!((dof.damping, dof.stiffness), (2.0, 0.0), "{pair}");
    }
}

/// What `<flag>` switches off is not there.
#[test]
fn flags_switch_off() {
    let joint = r#"<body><joint range="-1 1" stiffness="2" damping="1" frictionloss="3"/><geom size="0.1"/></body>"#;
    let off = |flag: &str| {
        let text = format!(
            "<mujoco><option><flag {flag}=\"disable\"/></option><worldbody>{joint}</worldbody></mujoco>"
        );
        let builder = read(&text);
        let dof = builder.joints[0].dofs.first().copied().unwrap_or_default();
        (
            builder.gravity.z,
            dof.stiffness,
            dof.damping,
            dof.friction,
            dof.limits.is_some(),
        )
    };
    assert_eq!(off("gravity"), (0.0, 2.0, 1.0, 3.0, true));
    assert_eq!(off("spring"), (-9.81, 0.0, 1.0, 3.0, true));
    assert_eq!(off("damper"), (-9.81, 2.0, 0.0, 3.0, true));
    assert_eq!(off("frictionloss"), (-9.81, 2.0, 1.0, 0.0, true));
    assert_eq!(off("limit"), (-9.81, 2.0, 1.0, 3.0, false));
    assert_eq!(off("constraint"), (-9.81, 2.0, 1.0, 0.0, false));
}
