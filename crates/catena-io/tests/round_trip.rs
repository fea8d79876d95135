//! A model that was written and read again is the same to the last bit.

use catena::model::{JointKind, ModelBuilder, RuleSpec, embedded};
use catena_io::{
    ReadOptions, builder_from_json, builder_from_toml, builder_from_urdf, to_json, to_toml,
};
use std::path::Path;

/// Everything but the places, in digits that tell every bit.
fn content(builder: &ModelBuilder) -> Vec<String> {
    let mut content = vec![format!(
        "{:?} {:?} {:?} {:?}",
        builder.name, builder.gravity, builder.assumptions, builder.allow_unphysical
    )];
    content.extend(
        builder
            .links
            .iter()
            .map(|l| format!("{:?} {:?}", l.name, l.inertial)),
    );
    content.extend(builder.joints.iter().map(|j| {
        // a joint keeps only the axes it has
        let axes = match j.kind {
            JointKind::Universal => format!("{:?}", j.axes),
            kind if kind.has_axis() => format!("{:?}", j.axes.first),
            _ => String::new(),
        };
        let poses = (j.parent_from_joint, j.joint_from_child);
        let dofs = match j.dofs.iter().all(|dof| *dof == Default::default()) {
            true => String::new(),
            false => format!("{:?}", j.dofs),
        };
        format!(
            "{:?} {:?} {:?} {:?} {poses:?} {axes} {:?} {dofs} {:?} {:?}",
            j.name, j.kind, j.parent, j.child, j.pitch, j.start, j.start_velocity
        )
    }));
    content.extend(
        builder
            .frames
            .iter()
            .map(|f| format!("{:?} {:?} {:?}", f.name, f.link, f.link_from_frame)),
    );
    content.extend(builder.constraints.iter().map(|c| {
        let rule = match &c.rule {
            RuleSpec::Joint(j) => {
                let axes = if j.kind.has_axis() {
                    j.axes.first
                } else {
                    Default::default()
                };
                format!(
                    "{:?} {:?} {:?} {:?} {:?} {axes:?} {:?}",
                    j.kind, j.parent, j.child, j.parent_from_joint, j.joint_from_child, j.pitch
                )
            }
            other => format!("{other:?}"),
        };
        format!("{:?} {rule}", c.name)
    }));
    let forces = builder.forces.iter();
    content.extend(forces.map(|f| format!("{:?} {:?}", f.name, f.rule)));
    let sensors = builder.sensors.iter();
    content.extend(sensors.map(|s| format!("{:?} {:?}", s.name, s.rule)));
    content
}

fn assert_survives(builder: &ModelBuilder) {
    let options = ReadOptions::default();
    let toml = to_toml(builder);
    let again =
        builder_from_toml(&toml, "again.toml", &options).unwrap_or_else(|e| panic!("{e}\n{toml}"));
    assert_eq!(content(builder), content(&again));
    let json = to_json(builder);
    let again =
        builder_from_json(&json, "again.json", &options).unwrap_or_else(|e| panic!("{e}\n{json}"));
    assert_eq!(content(builder), content(&again));
    serde_json::from_str::<serde_json::Value>(&json).expect("JSON as others read it");
}

#[test]
fn embedded_models_survive() {
    for name in [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "pendulum-3",
        "chain-4",
        "floating-chain-2",
        "four-bar-2",
        "bricard",
        "slider-crank",
        "squeezer",
        "governor",
        "stewart",
        "particle-pendulum",
        "rolling-disk",
        "sleigh",
        "bicycle",
    ] {
        assert_survives(&embedded::builder(name).expect("embedded"));
    }
    for seed in 1..=20 {
        let (builder, _) = catena_testing::random_closed(6, 9, seed).expect("possible");
        assert_survives(&builder);
    }
    for seed in 1..=40 {
        assert_survives(&embedded::builder(&format!("random-12-{seed}")).expect("embedded"));
    }
}

#[test]
fn example_files_survive() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    for (name, read) in [
        (
            "planar3.toml",
            builder_from_toml as fn(&str, &str, &ReadOptions) -> _,
        ),
        ("stanford.toml", builder_from_toml),
        ("space_robot.toml", builder_from_toml),
        ("squeezer.toml", builder_from_toml),
        ("governor.toml", builder_from_toml),
        ("car_axis.toml", builder_from_toml),
        ("gripper.json", builder_from_json),
        ("double_pendulum.urdf", builder_from_urdf),
    ] {
        let text = std::fs::read_to_string(folder.join(name)).expect("there");
        let builder: catena::error::Result<ModelBuilder> =
            read(&text, name, &ReadOptions::default());
        assert_survives(&builder.unwrap_or_else(|error| panic!("{error}")));
    }
}

#[test]
fn awkward_numbers_and_names_survive() {
    let mut builder = embedded::builder("zoo").expect("embedded");
    builder.name = "a \"quoted\" \\ name\n\twith \u{7f} \u{1} é 机".into();
    builder.assumptions = vec![String::new(), "πμ".into()];
    builder.allow_unphysical = true;
    builder.gravity.x = -0.0;
    builder.gravity.y = 1e-310; // subnormal
    builder.gravity.z = 1.0 / 3.0;
    for (k, joint) in builder.joints.iter_mut().enumerate() {
        joint.parent_from_joint.translation.x = -0.0;
        joint.parent_from_joint.translation.y = 1e300 / (k as f64 + 3.0);
        for dof in &mut joint.dofs {
            dof.limits = Some((f64::NEG_INFINITY, 0.1 + 0.2));
        }
        if let [first, _, ..] = &mut joint.dofs[..] {
            first.limits = None;
            first.max_velocity = Some(5e-324);
        }
    }
    assert_survives(&builder);
}
