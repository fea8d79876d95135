//! Actuators: inputs at joints, and those that are none.

use crate::common::{TWO, built, folder, ignoring, near, read, refusal};
use catena_io::{ReadOptions, read_model};

#[test]
fn actuators_are_inputs_within_their_ranges() {
    let path = folder().join("joints.xml");
    let model = read_model(&path, &ReadOptions::default()).expect("a model");
    let actuators = model.actuators();
    let found: Vec<_> = actuators
        .iter()
        .map(|a| (&a.name[..], a.gear, a.max_effort, a.lag))
        .collect();
    assert_eq!(
        found,
        [
            ("hip", 20.0, Some(20.0), 0.0),
            ("hip_y", -3.0, Some(15.0), 0.0),
            ("elbow", 1.0, Some(10.0), 0.0),
            ("rail", 1.0, Some(6.0), 0.05),
        ]
    );
    let notes = &model.tree().assumptions;
    assert!(
        notes
            .iter()
            .any(|note| note.contains("`elbow` (position servo, kp 50, kv 0)")),
        "{notes:?}"
    );
}

/// A general actuator with a bias, another kind of gain or dynamics of its own is an effort that the note explains; any one of them is enough.
#[test]
fn general_actuators_that_are_no_motors_are_noted() {
    let notes = |attributes: &str| {
        let text = format!(
            "<mujoco>{TWO}<actuator><general name=\"g\" joint=\"ja\" {attributes}/></actuator></mujoco>"
        );
        let model = built(&text);
        let notes = model.tree().assumptions.iter();
        notes.filter(|note| note.contains("`g` (gain")).count()
    };
    for motor in [
        "",
        "gainprm=\"3\"",
        "biastype=\"none\" biasprm=\"0 -2 0\"",
        "biastype=\"affine\" biasprm=\"0 0 0\"",
        "dyntype=\"filter\" dynprm=\"0.1\"",
    ] {
        assert_eq!(notes(motor), 0, "{motor}");
    }
    for other in [
        "biastype=\"affine\" biasprm=\"0 -2 0\"",
        "gaintype=\"affine\" gainprm=\"1 2 3\"",
        "dyntype=\"integrator\"",
    ] {
        assert_eq!(notes(other), 1, "{other}");
    }
}

/// Several drives of a joint are one: their rotors resist together, each by the square of its own gear, and their efforts add up if all are bounded.
#[test]
fn drives_of_a_joint_act_together() {
    let drive = |second: &str| {
        let builder = read(&format!(
            "<mujoco>{TWO}<actuator><motor name=\"m\" joint=\"ja\" gear=\"3\" armature=\"0.2\" ctrlrange=\"-2 2\"/>\
             <motor name=\"n\" joint=\"ja\" gear=\"5\" armature=\"0.4\" {second}/></actuator></mujoco>"
        ));
        assert_eq!(builder.actuators.len(), 1);
        builder.actuators[0].clone()
    };
    let both = drive("ctrlrange=\"-1 1\"");
    let felt = both.gear * both.gear * both.rotor_inertia;
    near(&[felt], &[9.0 * 0.2 + 25.0 * 0.4]);
    assert_eq!(both.max_effort, Some(3.0 * 2.0 + 5.0 * 1.0));
    assert_eq!(drive("").max_effort, None);
}

/// Damping of a rotor acts at the joint times the square of the gear, in addition to the joint's own; a flag switches both off.
#[test]
fn damping_of_drives_acts_on_joints() {
    let damping = |flags: &str, joint: &str, second: &str| {
        let builder = read(&format!(
            r#"<mujoco>{flags}<worldbody><body><joint name="j" {joint}/><geom size="0.1"/></body></worldbody>
            <actuator><motor joint="j" gear="3" damping="0.5 0"/>{second}</actuator></mujoco>"#
        ));
        builder.joints[0]
            .dofs
            .first()
            .map_or(0.0, |dof| dof.damping)
    };
    near(&[damping("", "", "")], &[4.5]);
    near(&[damping("", "damping=\"0.25\"", "")], &[4.75]);
    let second = "<motor name=\"m\" joint=\"j\" gear=\"-2\" damping=\"0.1\"/>";
    near(&[damping("", "", second)], &[4.9]);
    let off = "<option><flag damper=\"disable\"/></option>";
    assert_eq!(damping(off, "damping=\"0.25\"", ""), 0.0);
}

/// Drives that have no place in a model are reported by every command.
#[test]
fn actuators_without_a_joint_are_warned_about() {
    let text = format!(
        "<mujoco>{TWO}<actuator><motor name=\"m\" joint=\"ja\"/><motor name=\"n\" site=\"sa\"/></actuator></mujoco>"
    );
    let builder = read(&text);
    assert_eq!(builder.actuators.len(), 1);
    assert_eq!(
        builder.warnings[0].message,
        "actuator `n` is left out: only joints with one freedom are driven here, by an effort"
    );
    let text = r#"<mujoco><worldbody><body><joint name="ball" type="ball"/><geom size="0.1"/>
        <body><joint name="hinge"/><geom size="0.1"/></body></body></worldbody>
        <actuator><motor name="x" joint="ball"/><motor name="y" joint="hinge" gear="0"/><motor name="z" joint="hinge"/>
        <adhesion name="w" joint="hinge"/></actuator></mujoco>"#;
    let builder = read(text);
    let names: Vec<&str> = builder.actuators.iter().map(|a| &a.name[..]).collect();
    assert_eq!(names, ["z"]);
    assert_eq!(
        builder.warnings[0].message,
        "3 actuators (`x`, `y`, `w`) are left out: only joints with one freedom are driven here, by an effort"
    );
}

/// Names of many are cut short after six.
#[test]
fn long_lists_of_names() {
    let told = |count: usize| {
        let motors: String = (0..count)
            .map(|k| format!("<motor name=\"m{k}\" site=\"sa\"/>"))
            .collect();
        let text = format!("<mujoco>{TWO}<actuator>{motors}</actuator></mujoco>");
        read(&text).warnings[0].message.clone()
    };
    let six = "(`m0`, `m1`, `m2`, `m3`, `m4`, `m5`";
    assert!(told(6).starts_with(&format!("6 actuators {six}) are left out")));
    assert!(told(7).starts_with(&format!("7 actuators {six}, …) are left out")));
}

/// Dampers and cylinders are driven by something else than efforts; a cylinder with a force of its own acts without being driven.
#[test]
fn dampers_and_cylinders_are_no_inputs() {
    let of = |inside: &str| format!("<mujoco>{TWO}<actuator>{inside}</actuator></mujoco>");
    let text = of(
        "<damper name=\"d\" joint=\"ja\" kv=\"2\" ctrlrange=\"0 1\"/>\
         <cylinder name=\"c\" joint=\"ja\" area=\"0.1\"/>",
    );
    let builder = read(&text);
    assert!(builder.actuators.is_empty());
    let told: Vec<&str> = builder.warnings.iter().map(|w| &w.message[..]).collect();
    assert_eq!(
        told,
        [
            "actuator `d` is left out: the input of a damper is a damping, here it would be an effort",
            "actuator `c` is left out: the input of a cylinder is a pressure, here it would be an effort",
        ]
    );
    let idle = read(&of("<cylinder name=\"c\" joint=\"ja\" bias=\"0 0 0\"/>"));
    assert!(idle.actuators.is_empty() && idle.warnings.len() == 1);
    let pushes = of("<cylinder name=\"c\" joint=\"ja\" bias=\"1 0 0\"/>");
    let refused = refusal(&pushes);
    assert!(
        refused.contains("actuator `c` is a cylinder with a force of its own (`bias`)"),
        "{refused}"
    );
    let left_out = ignoring(&pushes, &["cylinder"]).assumptions.join("\n");
    assert!(
        left_out.contains("left out on request: actuator `c`"),
        "{left_out}"
    );
}

/// Plugins drive nothing that is known here, and are refused.
#[test]
fn plugins_that_drive_are_refused() {
    let text = format!(
        "<mujoco>{TWO}<actuator><plugin name=\"p\" joint=\"ja\" plugin=\"x\"/></actuator></mujoco>"
    );
    let error = refusal(&text);
    assert!(
        error.contains("actuator `p` is a plugin, which is not supported"),
        "{error}"
    );
    assert!(error.contains("`--ignore plugin`"), "{error}");
    assert!(ignoring(&text, &["plugin"]).actuators.is_empty());
}
