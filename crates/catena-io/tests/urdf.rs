//! How a URDF file is read, and what is reported about the rest.

use catena::model::JointKind;
use catena::{Dynamics, State};
use catena_io::{BaseOption, ReadOptions, builder_from_urdf, model_from_urdf, read_model};
use std::path::Path;

const ARM: &str = r#"
  <link name="arm">
    <inertial>
      <origin xyz="0.1 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0"/>
    </inertial>
  </link>"#;

fn robot(inside: &str) -> String {
    format!("<robot name=\"r\">\n{inside}\n</robot>\n")
}

fn hinge(kind: &str, inside: &str) -> String {
    format!(
        "<joint name=\"hinge\" type=\"{kind}\"><parent link=\"base\"/><child link=\"arm\"/>{inside}</joint>"
    )
}

fn read(text: &str) -> catena::ModelBuilder {
    builder_from_urdf(text, "r.urdf", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a robot, leaving out unknown elements.
fn read_ignoring(text: &str) -> catena::ModelBuilder {
    let options = ReadOptions {
        ignore_unknown: true,
        ..ReadOptions::default()
    };
    builder_from_urdf(text, "x.urdf", &options).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    match builder_from_urdf(text, "x.urdf", &ReadOptions::default()) {
        Ok(_) => panic!("accepted:\n{text:.500}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn joints_of_every_type() {
    for (word, kind) in [
        ("fixed", JointKind::Fixed),
        ("revolute", JointKind::Revolute),
        ("continuous", JointKind::Continuous),
        ("prismatic", JointKind::Prismatic),
        ("planar", JointKind::Planar),
        ("floating", JointKind::Free),
    ] {
        let text = robot(&format!("<link name=\"base\"/>{ARM}{}", hinge(word, "")));
        let builder = read(&text);
        assert_eq!(builder.joints[1].kind, kind);
        let model = builder
            .build()
            .expect("a model, of no freedoms if the joint is fixed");
        assert_eq!(model.nv() == 0, kind == JointKind::Fixed);
    }
}

#[test]
fn everything_left_out_is_told() {
    let text = r#"<robot name="r" colour="red">
  <material name="steel"/>
  <link name="base">
    <visual/><visual/><collision/>
    <contact/>
  </link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual/>
  </link>
  <link name="tip"/>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="arm"/>
    <safety_controller k_velocity="1"/><calibration rising="0"/>
  </joint>
  <joint name="weld" type="fixed">
    <parent link="arm"/><child link="tip"/><axis xyz="0 0 0"/><limit effort="1" velocity="1"/>
  </joint>
  <transmission name="t"/>
  <gazebo/><gazebo/>
  <ros2_control name="c" type="system"/>
  <loop_joint/>
  <loop_joint/>
</robot>"#;
    let builder = read_ignoring(text);
    assert_eq!(
        builder.assumptions,
        [
            "ignored: 1 <axis> of fixed joints, 1 <calibration>, 1 <collision>, 1 <limit> of fixed joints, \
             1 <material>, 1 <safety_controller>, 3 <visual> (no effect on the dynamics)",
            "ignored: 2 <gazebo>, 1 <ros2_control>, 1 <transmission> \
             (rotors, friction or contact described there are not used)",
            "left out, unknown: <contact> on line 5; 2 <loop_joint>, the first on line 22; \
             attribute `colour` of <robot> on line 1",
            "links without mass: `base`, `tip`",
            "joints without <limit>, which URDF requires: `hinge`; taken as unlimited",
            "joints without <axis>: `hinge`; the axis is x, as URDF says",
            "root link `base` is joined to the ground by a fixed joint (`root_joint` was added)",
        ]
    );
}

#[test]
fn elements_of_other_vocabularies_are_not_taken_for_urdf() {
    let text = robot(&format!(
        "<link name=\"base\"/>{ARM}{}<d:joint name=\"j\" type=\"ball\"/>",
        hinge("continuous", "<axis xyz=\"0 0 1\"/><d:axis/>")
    ))
    .replace("<robot ", "<robot xmlns:d=\"http://example.org/d\" ");
    let notes = read_ignoring(&text).assumptions;
    assert_eq!(
        notes[0],
        "left out, unknown: <d:axis> on line 9; <d:joint> on line 9"
    );
    assert!(refused(&text).contains("<d:axis> in joint `hinge` is unknown"));
}

/// What concerns the motion, looks mistyped or is in the wrong place is not silently ignored: the message names it, its
/// line and what to do.
#[test]
fn what_may_change_the_motion_is_refused() {
    let with = |inside: &str, joint: &str, link: &str| {
        let arm = ARM.replace("</link>", &format!("{link}</link>"));
        robot(&format!(
            "<link name=\"base\"/>{arm}{}{inside}",
            hinge("revolute", joint)
        ))
    };
    let loops = "<loop_joint name=\"l\"/>";
    assert!(read_ignoring(&with(loops, "", "")).build().is_ok());
    for (text, what) in [
        (
            with(loops, "", ""),
            "<loop_joint> in <robot> is unknown and may change the motion",
        ),
        (
            with("<constraint type=\"weld\"/>", "", ""),
            "<constraint> in <robot> is unknown",
        ),
        (
            with("<linear_spring_damper/>", "", ""),
            "<linear_spring_damper> in <robot>",
        ),
        (
            with("", "<rotor_inertia value=\"1\"/>", ""),
            "<rotor_inertia> in joint `hinge`",
        ),
        (
            with("", "<gear_ratio value=\"100\"/>", ""),
            "<gear_ratio> in joint `hinge`",
        ),
        (
            with("", "", "<gravity>0</gravity>"),
            "<gravity> in link `arm`",
        ),
        (
            with("", "<dinamics damping=\"1\"/>", ""),
            "<dinamics> in joint `hinge` is not known",
        ),
        (
            with("", "<orgin xyz=\"1 0 0\"/>", ""),
            "<orgin> in joint `hinge` is not known",
        ),
        (
            with("", "<Mimic joint=\"x\"/>", ""),
            "<Mimic> in joint `hinge` is not known",
        ),
        (
            with("", "", "<mass value=\"1\"/>"),
            "<mass> in link `arm` is out of place",
        ),
        (
            with("", "", "<origin xyz=\"1 0 0\"/>"),
            "<origin> in link `arm` is out of place",
        ),
        (
            with(
                "<gazebo><joint name=\"c\" type=\"revolute\"><parent>a</parent><child>b</child></joint></gazebo>",
                "",
                "",
            ),
            "<gazebo> adds a joint",
        ),
        (
            with(
                "<mujoco><equality><connect body1=\"arm\" body2=\"base\" anchor=\"0 0 0\"/></equality></mujoco>",
                "",
                "",
            ),
            "<equality> in <mujoco> is not read: a loop would stay open",
        ),
        (
            with(
                "<extra><loop_joint name=\"pin\" type=\"revolute\"><link1 link=\"arm\"/><link2 link=\"base\"/></loop_joint></extra>",
                "",
                "",
            ),
            "<loop_joint> in <extra> is not read: a loop would stay open",
        ),
        (
            with(
                "",
                "",
                "<wrapper><more><weld link=\"base\"/></more></wrapper>",
            ),
            "<weld> in <wrapper> is not read: a loop would stay open",
        ),
        (
            with("", "", "").replace("type=\"revolute\"", "type=\"revolute\" armature=\"0.1\""),
            "attribute `armature` of joint `hinge` is unknown",
        ),
    ] {
        let message = refused(&text);
        assert!(message.contains(what), "{message}");
        assert!(message.contains("x.urdf:"), "{message}");
        assert!(message.contains("hint: "), "{message}");
    }
    // elements that only state defaults
    for link in [
        "<gravity>1</gravity><kinematic>0</kinematic>",
        "<origin xyz=\"0 0 0\" rpy=\"0 -0 0\"/>",
        "<contact/>",
        "<actor><loop>true</loop></actor>",
    ] {
        let notes = read(&with("", "", link)).assumptions;
        assert!(notes[0].starts_with("left out, unknown: <"), "{notes:?}");
    }
}

/// The parser compares every attribute with every other.
#[test]
fn an_element_with_very_many_attributes_is_refused_at_once() {
    let attributes: String = (0..200_000).map(|k| format!(" a{k}=\"1\"")).collect();
    let text = robot(&format!("<link name=\"base\"{attributes}/>"));
    let before = std::time::Instant::now();
    let message = refused(&text);
    assert!(before.elapsed().as_secs() < 5);
    assert!(message.contains("more than 1000 attributes"), "{message}");
    // equals signs in comments and values are not attributes
    let note = "= ".repeat(5000);
    let text = robot(&format!(
        "<!-- {note} --><link name=\"base\"/>{ARM}{}",
        hinge("revolute", "")
    ));
    assert_eq!(read(&text).joints.len(), 2);
    assert!(builder_from_urdf(&format!("é{note}"), "x.urdf", &ReadOptions::default()).is_err());
}

#[test]
fn a_default_namespace_changes_nothing() {
    let text = robot(&format!(
        "<link name=\"base\"/>{ARM}{}",
        hinge("revolute", "")
    ))
    .replace("<robot ", "<robot xmlns=\"http://example.org/urdf\" ");
    assert_eq!(read(&text).joints.len(), 2);
}

#[test]
fn numbers_arrive() {
    let inside = "<origin xyz=\"1 2 3\" rpy=\"0 0 1.5707963267948966\"/><axis xyz=\"0 0 -1\"/>\
                  <limit lower=\"-1\" upper=\"2\" effort=\"3\" velocity=\"4\"/>\
                  <dynamics damping=\"0.5\" friction=\"0.25\"/>";
    let builder = read(&robot(&format!(
        "<link name=\"base\"/>{ARM}{}",
        hinge("revolute", inside)
    )));
    let joint = &builder.joints[1];
    assert_eq!(
        joint.parent_from_joint.translation.to_array(),
        [1.0, 2.0, 3.0]
    );
    assert_eq!(
        joint.parent_from_joint.rotation.x.to_array(),
        [0.0, 1.0, 0.0]
    );
    assert_eq!(joint.axes.first.to_array(), [0.0, 0.0, -1.0]);
    let dof = joint.dofs[0];
    assert_eq!(
        (dof.limits, dof.max_effort, dof.max_velocity),
        (Some((-1.0, 2.0)), Some(3.0), Some(4.0))
    );
    assert_eq!((dof.damping, dof.friction), (0.5, 0.25));
    let arm = builder.links[1].inertial.expect("mass");
    assert_eq!(
        (arm.mass, arm.centre.to_array(), arm.tensor.xy),
        (2.0, [0.1, 0.0, 0.0], 0.01)
    );
}

#[test]
fn inertia_is_turned_to_link_axes() {
    // a quarter turn about z takes x to y: the moments about x and y change places, the product its sign
    let text = robot(&format!(
        "<link name=\"base\"/>{}{}",
        ARM.replace("xyz=\"0.1 0 0\"", "rpy=\"0 0 1.5707963267948966\""),
        hinge("revolute", "")
    ));
    let tensor = read(&text).links[1].inertial.expect("mass").tensor;
    assert_eq!(
        [tensor.xx, tensor.yy, tensor.zz, tensor.xy],
        [0.2, 0.1, 0.25, -0.01]
    );
}

/// A needle whose own axes are turned in the link, spun about its own axis: the moment that the file gives, to the last digits. In
/// axes of the link it is a difference of numbers a billion times as large.
#[test]
fn a_turned_needle_keeps_its_digits() {
    for (k, [roll, pitch, yaw]) in [[0.3, -0.8, 1.9], [-2.5, 0.4, 0.1], [0.0, 0.7, 0.0]]
        .into_iter()
        .enumerate()
    {
        // the needle's z in the link: the third column of Rz Ry Rx
        let ((sr, cr), (sp, cp), (sy, cy)) =
            (f64::sin_cos(roll), f64::sin_cos(pitch), f64::sin_cos(yaw));
        let z = [cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr];
        for ratio in [1e-6, 1.25e-9, 1e-12] {
            let text = robot(&format!(
                "<link name=\"base\"/><link name=\"arm\"><inertial>\
                 <origin xyz=\"{x:e} {y:e} {w:e}\" rpy=\"{roll} {pitch} {yaw}\"/><mass value=\"1\"/>\
                 <inertia ixx=\"1\" iyy=\"1\" izz=\"{ratio:e}\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>\
                 </inertial></link>{}",
                hinge(
                    "continuous",
                    &format!("<axis xyz=\"{:e} {:e} {:e}\"/>", z[0], z[1], z[2])
                ),
                x = 2.0 * z[0],
                y = 2.0 * z[1],
                w = 2.0 * z[2],
            ));
            let model = model_from_urdf(&text, "r.urdf", &ReadOptions::default()).expect("sound");
            let state = State::new(&model, &[0.4], &[0.0]).expect("finite");
            let found = Dynamics::new(&model).inertia(&state).expect("sound")[(0, 0)];
            let error = (found - ratio).abs() / ratio;
            assert!(error < 3e-15, "{k}, {ratio:e}: {found:e} ({error:.1e})");
        }
    }
}

#[test]
fn a_free_base_on_request() {
    let free = ReadOptions {
        base: Some(BaseOption::Free),
        ..ReadOptions::default()
    };
    let text = robot(&format!(
        "{ARM}{}<joint name=\"root_joint\" type=\"fixed\"><parent link=\"arm\"/><child link=\"tip\"/></joint>",
        "<link name=\"tip\"/>"
    ));
    let model = model_from_urdf(&text, "r.urdf", &free).expect("good model");
    assert_eq!(model.nv(), 6);
    assert_eq!(model.tree().bodies[1].joint, "root_joint_2");
}

#[test]
fn a_root_called_world_is_the_ground() {
    let text = robot(&format!(
        "<link name=\"world\"/>{ARM}{}",
        hinge("revolute", "").replace("base", "world")
    ));
    let builder = read(&text);
    assert_eq!((builder.links.len(), builder.joints.len()), (1, 1));
    assert_eq!(builder.build().expect("good model").nv(), 1);
    let free = ReadOptions {
        base: Some(BaseOption::Free),
        ..ReadOptions::default()
    };
    let error = builder_from_urdf(&text, "r.urdf", &free).expect_err("it is on the ground");
    assert!(
        error.message().starts_with("the base cannot be free"),
        "{error}"
    );
}

#[test]
fn deep_nesting_is_no_danger() {
    let deep = "<x>".repeat(200_000) + &"</x>".repeat(200_000);
    let text = robot(&format!(
        "<link name=\"base\"/>{ARM}{}{deep}",
        hinge("revolute", "")
    ));
    assert_eq!(
        model_from_urdf(&text, "r.urdf", &ReadOptions::default())
            .expect("good model")
            .nv(),
        1
    );
    assert!(
        builder_from_urdf(
            &"<robot>".repeat(200_000),
            "r.urdf",
            &ReadOptions::default()
        )
        .is_err()
    );
}

#[test]
fn a_long_chain_is_read() {
    let mut text = String::from("<link name=\"l0\"/>\n");
    for k in 1..=2000 {
        text += &format!(
            "<link name=\"l{k}\"><inertial><mass value=\"1\"/>\
             <inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>\n\
             <joint name=\"j{k}\" type=\"continuous\"><parent link=\"l{}\"/><child link=\"l{k}\"/></joint>\n",
            k - 1
        );
    }
    let model =
        model_from_urdf(&robot(&text), "chain.urdf", &ReadOptions::default()).expect("good model");
    assert_eq!(model.nv(), 2000);
}

#[test]
fn xml_with_a_robot_is_urdf() {
    let folder = std::env::temp_dir().join(format!("catena-io-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let path = folder.join("robot.XML");
    let text = robot(&format!(
        "<link name=\"base\"/>{ARM}{}",
        hinge("revolute", "")
    ));
    std::fs::write(&path, text).expect("writable");
    let model = read_model(Path::new(&path), &ReadOptions::default()).expect("good model");
    assert_eq!(model.name(), "r");
    std::fs::remove_dir_all(&folder).expect("removable");
}

/// A joint that mimics another follows it, q = multiplier · other + offset, and is no freedom of its own; as a constraint it keeps
/// its coordinate.
#[test]
fn mimicking_joints_are_coupled() {
    let finger = |name: &str, mimic: &str| {
        format!(
            r#"<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}_joint" type="prismatic"><parent link="base"/><child link="{name}"/><axis xyz="0 1 0"/>
<limit lower="0" upper="1" effort="1" velocity="1"/>{mimic}</joint>"#
        )
    };
    let text = robot(&format!(
        "<link name=\"base\"/>{}{}",
        finger("left", ""),
        finger(
            "right",
            "<mimic joint=\"left_joint\" multiplier=\"-2\" offset=\"0.1\"/>"
        )
    ));
    let builder = read(&text);
    let model = builder.build().expect("sound");
    assert_eq!((model.nv(), model.constraint_rows()), (1, 0));
    assert_eq!(model.freedom(0).name, "left_joint");
    let only = catena::State::new(&model, &[0.3], &[0.2]).expect("finite");
    let mut dynamics = catena::Dynamics::new(&model);
    let a = dynamics.forward(&only, &[5.0], &[]).expect("possible")[0];
    assert!((a - 1.0).abs() < 1e-14);

    let model = model.with_couplings_as_constraints();
    assert_eq!((model.nv(), model.constraint_rows()), (2, 1));
    let mut chain = catena::closed_chain::ClosedChain::new(&model);
    let state = catena::State::new(&model, &[0.3, -0.5], &[0.2, -0.4]).expect("finite");
    // masses 1 and 1 on one freedom: (1 + 4) a = 5 of the left finger's effort
    let motion = chain
        .forward(0.0, &state, &[5.0, 0.0], &[])
        .expect("coupled");
    assert!((motion.accelerations[0] - 1.0).abs() < 1e-14);
    assert!((motion.accelerations[1] + 2.0).abs() < 1e-14);
}

/// Files as shipped: a finger without inertia, and one that follows a joint that is not there, are read with a warning.
/// `strict` refuses both.
#[test]
fn flaws_of_shipped_files_are_warned_of() {
    let inertial = r#"<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"#;
    let robot = |inertial: &str, mimic: &str| {
        format!(
            r#"<robot name="r"><link name="base"/><link name="arm">{inertial}</link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>{mimic}</joint></robot>"#
        )
    };
    for (text, warning, refusal) in [
        (
            robot("", ""),
            "joint `hinge` cannot be moved by finite forces: body `arm` and what it carries have no inertia along its freedom `hinge`; accelerations and simulations are rejected\n  --> r.urdf:2",
            "joint `hinge` cannot be moved by finite forces: body `arm` and what it carries have no inertia along its freedom `hinge`\n  --> r.urdf:2\nhint: give `arm` mass and inertia, give the joint a rotor (`armature`), or make the joint fixed",
        ),
        (
            robot(inertial, r#"<mimic joint="other"/>"#),
            "joint `hinge` mimics `other`, which does not exist: it is left free\n  --> r.urdf:2",
            "constraint `hinge_mimic`: there is no coordinate `other`\n  --> r.urdf:2\nhint: coordinates are called like their joints; fixed joints have none",
        ),
    ] {
        let model = model_from_urdf(&text, "r.urdf", &ReadOptions::default()).expect("a warning");
        let warnings: Vec<String> = model
            .tree()
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(warnings, [warning]);
        let strict = ReadOptions {
            strict: true,
            ..ReadOptions::default()
        };
        let error = model_from_urdf(&text, "r.urdf", &strict).expect_err("refused");
        assert_eq!(error.to_string(), refusal);
    }
    // what can be computed is, and the freedom is named where it matters
    let model =
        model_from_urdf(&robot("", ""), "r.urdf", &ReadOptions::default()).expect("a warning");
    let mut dynamics = Dynamics::new(&model);
    let state = State::neutral(&model);
    assert_eq!(
        dynamics.inverse(&state, &[1.0], &[]).expect("efforts"),
        [0.0]
    );
    let error = dynamics
        .forward(&state, &[1.0], &[])
        .expect_err("no inertia");
    assert!(
        error.message().contains("no inertia along `hinge`"),
        "{error}"
    );
}

/// A parallelogram whose last joint is a `<constraint>` or a `<loop_joint>`: the accelerations are those of the embedded model, and of its
/// crank alone, 5/3 φ̈ + 2 g cos φ = 0.
#[test]
fn loops_are_closed_by_constraints() {
    let rod = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><origin xyz=\"0.5 0 0\"/><mass value=\"1\"/>\
             <inertia ixx=\"0.001\" iyy=\"0.0833333333333333\" izz=\"0.0833333333333333\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>"
        )
    };
    let joint = |name: &str, parent: &str, child: &str, xyz: &str| {
        format!(
            "<joint name=\"{name}\" type=\"continuous\"><origin xyz=\"{xyz}\"/><parent link=\"{parent}\"/>\
             <child link=\"{child}\"/><axis xyz=\"0 0 1\"/></joint>"
        )
    };
    let closings = [
        "<constraint name=\"pin\" type=\"revolute\"><parent link=\"coupler\"/><parent_origin xyz=\"1 0 0\"/><parent_axis xyz=\"0 0 1\"/>\
         <child link=\"rocker\"/><child_origin xyz=\"1 0 0\"/><child_axis xyz=\"0 0 1\"/></constraint>",
        // the same axis, from a frame that is turned about x
        "<constraint name=\"pin\" type=\"revolute\"><parent link=\"coupler\"/><parent_origin xyz=\"1 0 0\"/><parent_axis xyz=\"0 0 1\"/>\
         <child link=\"rocker\"/><child_origin xyz=\"1 0 0\" rpy=\"1.5707963267948966 0 0\"/><child_axis xyz=\"0 1 0\"/></constraint>",
        "<loop_joint name=\"pin\" type=\"revolute\"><link1 link=\"coupler\" xyz=\"1 0 0\"/><link2 link=\"rocker\" xyz=\"1 0 0\"/>\
         <axis xyz=\"0 0 1\"/></loop_joint>",
        "<constraint name=\"pin\" type=\"ball\"><parent link=\"coupler\"/><parent_origin xyz=\"1 0 0\"/>\
         <child link=\"rocker\"/><child_origin xyz=\"1 0 0\"/></constraint>",
    ];
    for closing in closings {
        let text = format!(
            "<robot name=\"bars\"><link name=\"world\"/>{}{}{}{}{}{}{closing}</robot>",
            rod("crank"),
            rod("coupler"),
            rod("rocker"),
            joint("foot", "world", "crank", "0 0 0"),
            joint("top", "crank", "coupler", "1 0 0"),
            joint("other", "world", "rocker", "1 0 0"),
        );
        let mut builder = read(&text);
        builder.gravity = catena::spatial::Vec3::new(0.0, -9.81, 0.0);
        let model = builder.build().expect("sound");
        assert_eq!(model.constraints().len(), 1);
        let mut chain = catena::closed_chain::ClosedChain::new(&model);
        let phi = 1.1f64;
        let state = catena::State::new(&model, &[phi, -phi, phi], &[0.0; 3]).expect("three joints");
        let motion = chain.forward(0.0, &state, &[0.0; 3], &[]).expect("closed");
        let expected = -9.81 * 2.0 * phi.cos() / (5.0 / 3.0);
        assert!(
            (motion.accelerations[0] - expected).abs() < 1e-9,
            "{closing}"
        );
    }
    let wrong = |closing: &str| {
        let text = format!(
            "<robot name=\"r\"><link name=\"world\"/>{}{}{closing}</robot>",
            rod("a"),
            joint("j", "world", "a", "0 0 0")
        );
        builder_from_urdf(&text, "r.urdf", &ReadOptions::default())
            .and_then(|builder| builder.build())
            .expect_err("refused")
            .to_string()
    };
    for (closing, message) in [
        (
            "<constraint name=\"c\" type=\"rolling\"><parent link=\"a\"/><child link=\"world\"/></constraint>",
            "unknown type `rolling`",
        ),
        (
            "<constraint name=\"c\" type=\"ball\"><parent link=\"a\"/></constraint>",
            "has no <child>",
        ),
        (
            "<constraint name=\"c\" type=\"ball\"><parent link=\"a\"/><child link=\"b\"/></constraint>",
            "`b`",
        ),
        (
            "<constraint name=\"c\" type=\"revolute\"><parent link=\"a\"/><parent_axis xyz=\"0 0 0\"/><child link=\"world\"/></constraint>",
            "no direction",
        ),
        (
            "<loop_joint name=\"c\" type=\"ball\"><link1 link=\"a\"/></loop_joint>",
            "has no <link2>",
        ),
    ] {
        let found = wrong(closing);
        assert!(found.contains(message), "{closing}\n{found}");
    }
}
