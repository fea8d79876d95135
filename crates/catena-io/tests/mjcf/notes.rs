//! Notes: what is different from MuJoCo is reported, and nothing else.

use crate::common::{BODY, TWO, built, near, notes_of, read, refusal, world};

/// What MuJoCo does with a model and catena does not is listed among the assumptions.
#[test]
fn what_is_different_is_noted() {
    let builder = read(
        r#"<mujoco>
        <compiler settotalmass="4" alignfree="true"/>
        <option integrator="RK4"><flag actuation="disable"/></option>
        <worldbody>
          <body name="target" mocap="true"><geom size="0.1"/></body>
          <body name="loose"><freejoint/><geom size="0.1"/></body>
          <body name="a"><joint name="ja" range="-1 1" limited="true" frictionloss="0.1"/><geom size="0.1"/>
            <body name="b"><joint name="jb"/><geom size="0.1"/>
              <body name="c"><joint name="wrist" type="ball" range="0 1" limited="true"/><geom size="0.1"/></body>
            </body>
          </body>
        </worldbody>
        <tendon><fixed name="string" limited="true" range="0 1"><joint joint="ja" coef="1"/></fixed></tendon>
        <equality><joint joint1="ja" joint2="jb" active="false"/></equality>
        <actuator><motor name="one" joint="ja"/><motor name="two" joint="ja"/></actuator>
        </mujoco>"#,
    );
    let lines = builder.assumptions.join("\n");
    for said in [
        "all masses are multiplied by ",
        "settotalmass is 4 kg",
        "actuators `one` and `two` both drive `ja`: they are one input",
        "actuation is disabled in the file; the actuators are inputs here nevertheless",
        "MuJoCo treats joint limits (1), dry friction of joints (1) as soft constraints",
        "ignored: integrator of <option> (MuJoCo's numerical method)",
        "1 equality constraints are not active and left out",
        "bodies that MuJoCo's user moves (mocap) are at rest: `target`",
        "limits of ball joints are not kept: joint `wrist`",
        "limits of tendons are not kept: ",
        "free bodies keep the frame of the file (alignfree is not applied)",
    ] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
    let mass: f64 = builder
        .links
        .iter()
        .filter_map(|link| Some(link.inertial?.mass))
        .sum();
    near(&[mass], &[4.0]);
}

/// A model of which everything is represented has one note, that it has no actuators.
#[test]
fn nothing_is_noted_without_need() {
    let undriven =
        "the file has no actuators: every joint with plain coordinates is treated as actuated";
    let model = |inside: &str| format!("<mujoco>{inside}{BODY}</mujoco>");
    assert_eq!(notes_of(&model("")), [undriven]);
    let with = |note: &str| [note.to_string(), undriven.into()];
    // declarations, and models that are attached elsewhere, need no note
    assert_eq!(
        notes_of(&model("<extension/><asset><model/></asset>")),
        [undriven]
    );
    assert_eq!(
        notes_of(&model("<contact><exclude/></contact>")),
        with("contacts are not modelled: 0 <geom> contribute mass at most")
    );
    assert_eq!(
        notes_of(&model(
            "<size/><statistic/><visual/><custom/><sensor/><keyframe/><sensor/>"
        )),
        with(
            "ignored: 1 <custom>, 1 <keyframe>, 2 <sensor>, 1 <size>, 1 <statistic>, 1 <visual> (no effect on the dynamics)"
        )
    );
    assert_eq!(
        notes_of(&model(
            "<asset><texture/><material/><material/><skin/><hfield/></asset><deformable><skin/></deformable>"
        )),
        with(
            "ignored: 1 <hfield>, 2 <material>, 2 <skin>, 1 <texture> (no effect on the dynamics)"
        )
    );
    let error = refusal(&model("<asset><sound/></asset>"));
    assert!(error.starts_with("<sound> is not known here"), "{error}");
    // driven, and nothing switched off
    let motor = format!("<mujoco>{BODY}<actuator><motor joint=\"j\"/></actuator></mujoco>");
    assert_eq!(notes_of(&motor), Vec::<String>::new());
    let off = "<option><flag actuation=\"disable\"/></option>";
    assert_eq!(notes_of(&model(off)), [undriven]);
}

/// Equalities are counted, those that are switched off, too.
#[test]
fn equalities_are_counted() {
    let notes = |inside: &str| {
        let text =
            format!("<mujoco>{TWO}{inside}<actuator><motor joint=\"ja\"/></actuator></mujoco>");
        notes_of(&text).join("\n")
    };
    let three = "<equality><connect body1=\"a\" anchor=\"0 0 1\"/><weld body1=\"b\"/><joint joint1=\"ja\" active=\"false\"/></equality>";
    let found = notes(three);
    assert!(
        found.contains("MuJoCo treats equality constraints (2) as soft constraints"),
        "{found}"
    );
    assert!(
        found.contains("1 equality constraints are not active and left out"),
        "{found}"
    );
    let off = "<option><flag equality=\"disable\"/></option>";
    let found = notes(&format!("{off}{three}"));
    assert!(!found.contains("as soft constraints"), "{found}");
    assert!(
        found.contains("3 equality constraints are not active and left out"),
        "{found}"
    );
}

/// Shapes touch nothing here, which is noted with their number.
#[test]
fn geoms_that_could_touch_are_noted() {
    let notes = |geoms: &str| {
        let model = built(&world(&format!(
            "<body><joint/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>{geoms}</body>"
        )));
        let notes = model.tree().assumptions.iter();
        notes
            .filter(|note| note.starts_with("contacts are not modelled"))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(notes("").is_empty());
    assert_eq!(
        notes("<geom size=\"0.1\"/><geom size=\"0.2\"/>"),
        ["contacts are not modelled: 2 <geom> contribute mass at most"]
    );
}

/// Frames of free bodies are noted where they would be aligned.
#[test]
fn aligned_frames_of_free_bodies_are_noted() {
    let told = |joint: &str| {
        let text = world(&format!("<body>{joint}<geom size=\"0.1\"/></body>"));
        let notes = notes_of(&text);
        notes.iter().any(|note| note.contains("alignfree"))
    };
    assert!(told("<freejoint align=\"true\"/>"));
    assert!(!told("<freejoint align=\"false\"/>"));
    assert!(!told("<freejoint/>"));
    assert!(!told("<joint type=\"free\"/>"));
}

/// Limits of balls are noted where they would hold; free joints have none.
#[test]
fn limits_of_balls_are_noted() {
    let told = |option: &str, joint: &str| {
        let notes = notes_of(&format!(
            "<mujoco>{option}<worldbody><body><joint {joint}/><geom size=\"0.1\"/></body></worldbody></mujoco>"
        ));
        notes
            .iter()
            .any(|note| note.contains("limits of ball joints"))
    };
    let off = "<option><flag limit=\"disable\"/></option>";
    assert!(told("", "type=\"ball\" range=\"0 1\""));
    assert!(!told("", "type=\"ball\""));
    assert!(!told("", "type=\"ball\" range=\"0 1\" limited=\"false\""));
    assert!(!told("", "type=\"free\" limited=\"true\""));
    assert!(!told(off, "type=\"ball\" range=\"0 1\""));
}
