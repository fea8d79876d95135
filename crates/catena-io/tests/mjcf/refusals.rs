//! What is refused: what cannot be represented, unknown names, numbers that are none.

use crate::common::{TWO, ignoring, read, refusal, world};
use catena_io::{ReadOptions, builder_from_mjcf, model_from_mjcf};

#[test]
fn what_cannot_be_represented_is_refused_by_name_or_left_out() {
    let body = r#"<worldbody><body name="a"><joint/><geom size="0.1"/><site name="s"/></body></worldbody>"#;
    for (name, text) in [
        (
            "fluid",
            format!("<mujoco><option density=\"1.2\"/>{body}</mujoco>"),
        ),
        (
            "fluid",
            format!("<mujoco><option viscosity=\"0.1\"/>{body}</mujoco>"),
        ),
        (
            "spatial",
            format!(
                "<mujoco>{body}<tendon><spatial><site site=\"s\"/></spatial></tendon></mujoco>"
            ),
        ),
        (
            "flex",
            format!("<mujoco>{body}<deformable><flex/></deformable></mujoco>"),
        ),
        (
            "plugin",
            world("<body><joint/><geom size=\"0.1\"/><plugin plugin=\"p\"/></body>"),
        ),
        (
            "composite",
            world("<body><joint/><geom size=\"0.1\"/><composite/></body>"),
        ),
        (
            "attach",
            world("<body><joint/><geom size=\"0.1\"/><attach/></body>"),
        ),
        (
            "stiffness",
            world("<body><joint type=\"ball\" stiffness=\"1\"/><geom size=\"0.1\"/></body>"),
        ),
        (
            "damping",
            world("<body><joint damping=\"1 0.5\"/><geom size=\"0.1\"/></body>"),
        ),
        (
            "polycoef",
            format!(
                "<mujoco>{TWO}<equality><joint joint1=\"ja\" joint2=\"jb\" polycoef=\"0 1 1 0 0\"/></equality></mujoco>"
            ),
        ),
        (
            "tendon",
            format!(
                "<mujoco>{TWO}<tendon><fixed stiffness=\"1\"><joint joint=\"ja\" coef=\"1\"/></fixed></tendon></mujoco>"
            ),
        ),
        (
            "muscle",
            format!("<mujoco>{TWO}<actuator><muscle joint=\"ja\"/></actuator></mujoco>"),
        ),
    ] {
        let error = refusal(&text);
        assert!(error.contains("x.xml:"), "{error}");
        assert!(error.contains(&format!("`--ignore {name}`")), "{error}");
        let builder = ignoring(&text, &[name]);
        let told = builder
            .assumptions
            .iter()
            .any(|note| note.starts_with("left out on request: "));
        assert!(told, "{name}: {:?}", builder.assumptions);
        builder
            .build()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn names_to_ignore_are_checked() {
    let options = ReadOptions {
        ignore: vec!["fluids".into()],
        ..ReadOptions::default()
    };
    let text = world("<body><joint/><geom size=\"0.1\"/></body>");
    let error = model_from_mjcf(&text, "x.xml", &options).expect_err("a mistyped name");
    assert_eq!(
        error.to_string(),
        "`fluids` is not a feature of MJCF files that can be ignored\nhint: did you mean `fluid`?"
    );
}

/// A section that nobody knows is a mistake, or left out on request and counted.
#[test]
fn unknown_sections() {
    let text = "<mujoco><sensors/><worldbody><body><joint/><geom size=\"0.1\"/></body></worldbody></mujoco>";
    let error = refusal(text);
    assert!(error.contains("did you mean `sensor`?"), "{error}");
    let options = ReadOptions {
        ignore_unknown: true,
        ..ReadOptions::default()
    };
    let builder = builder_from_mjcf(text, "x.xml", &options).expect("left out");
    let notes = builder.assumptions.join("\n");
    assert!(notes.contains("<sensors>"), "{notes}");
}

/// Attributes of defaults are those of their elements, and checked like them; joints of tendons have others.
#[test]
fn defaults_are_checked() {
    let with = |joint: &str| {
        format!(
            "<mujoco><default><joint {joint}/></default><worldbody><body><joint/><geom size=\"0.1\"/></body></worldbody></mujoco>"
        )
    };
    assert_eq!(read(&with("damping=\"2\"")).joints[0].dofs[0].damping, 2.0);
    let error = refusal(&with("dampin=\"2\""));
    assert!(error.contains("unknown attribute `dampin`"), "{error}");
    assert!(error.contains("did you mean `damping`?"), "{error}");
    let error = refusal(&format!(
        "<mujoco>{TWO}<tendon><fixed name=\"t\"><joint joint=\"ja\" coeff=\"1\"/></fixed></tendon></mujoco>"
    ));
    assert!(error.contains("unknown attribute `coeff`"), "{error}");
}

/// Attributes that an actuator, an equality or a joint of a tendon does not have.
#[test]
fn attributes_of_other_sections_are_checked() {
    for (inside, told) in [
        (
            "<actuator><motor joint=\"ja\" gearr=\"2\"/></actuator>",
            "<motor> has the unknown attribute `gearr`",
        ),
        (
            "<actuator><engine joint=\"ja\"/></actuator>",
            "<engine> is not known here",
        ),
        (
            "<equality><joint joint1=\"ja\" anchor=\"0 0 0\"/></equality>",
            "<joint> has the unknown attribute `anchor`",
        ),
        (
            "<equality><tendon tendon1=\"t\" joint1=\"ja\"/></equality>",
            "<tendon> has the unknown attribute `joint1`",
        ),
        (
            "<equality><weld body1=\"a\" polycoef=\"0\"/></equality>",
            "<weld> has the unknown attribute `polycoef`",
        ),
    ] {
        let error = refusal(&format!("<mujoco>\n{TWO}\n{inside}</mujoco>"));
        assert!(error.contains(told), "{inside}: {error}");
        assert!(error.contains("x.xml:6"), "{error}");
    }
}

#[test]
fn numbers_are_finite() {
    for (number, told) in [
        ("inf", "`mass` of <geom> must be finite: \"inf\""),
        ("nan", "`mass` of <geom> must be finite: \"nan\""),
        ("1e999", "`mass` of <geom> must be finite: \"1e999\""),
        ("one", "`mass` of <geom> is not a list of numbers: \"one\""),
        ("1 2", "`mass` of <geom> must have 1 number, not 2: \"1 2\""),
        ("-1", "`mass` of <geom> is negative: \"-1\""),
    ] {
        let error = refusal(&world(&format!(
            "<body><joint/><geom size=\"0.1\" mass=\"{number}\"/></body>"
        )));
        assert!(error.starts_with(told), "{error}");
    }
}
