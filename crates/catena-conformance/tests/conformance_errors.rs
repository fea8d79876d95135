//! Broken cases: each has a message that names the file, the element and what is wrong with it.

use catena_conformance::{verify_file, verify_text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn text(name: &str) -> String {
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    std::fs::read_to_string(cases.join(format!("{name}.json"))).expect("the case is there")
}

/// What is done to a case: an entry set, or taken out.
enum Change {
    Set(&'static str, Value),
    Remove(&'static str),
}

use Change::{Remove, Set};

fn changed(name: &str, change: &Change) -> String {
    let mut case: Value = serde_json::from_str(&text(name)).expect("the case is JSON");
    let (Set(pointer, _) | Remove(pointer)) = change;
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = case.pointer_mut(parent).expect("the parent is there");
    match (change, parent) {
        (Set(_, value), Value::Object(entries)) => {
            entries.insert(key.into(), value.clone());
        }
        (Set(_, value), Value::Array(items)) => {
            items[key.parse::<usize>().expect("a number")] = value.clone();
        }
        (Remove(_), Value::Object(entries)) => {
            entries.remove(key).expect("the key is there");
        }
        (Remove(_), Value::Array(items)) => {
            items.remove(key.parse().expect("a number"));
        }
        _ => panic!("{pointer} is not inside anything"),
    }
    case.to_string()
}

#[test]
fn broken_cases_are_refused_with_their_element() {
    let tree = "tree6_mixed";
    let broken = [
        (tree, Remove("/format"), "`format` is missing"),
        (
            tree,
            Set("/format", json!("mbref/2")),
            "`format` is \"mbref/2\", which is not known; cases are of the format \"catena-case/1\"",
        ),
        (
            tree,
            Set("/format", json!(1)),
            "`format` must be a string, not the number 1",
        ),
        (tree, Remove("/kind"), "`kind` is missing"),
        (
            tree,
            Set("/kind", json!("multibody_acel")),
            "kind `multibody_acel` is not known",
        ),
        (
            tree,
            Set("/remark", json!("x")),
            "`remark` is not known here",
        ),
        (tree, Remove("/model"), "`model` is missing"),
        (
            tree,
            Set("/model/kind", json!("dh_chain")),
            "`model.kind` must be \"multibody\" here, not \"dh_chain\"",
        ),
        (
            tree,
            Set("/model/gravity", json!([0, 0])),
            "`model.gravity` must be a list of 3 numbers, not a list of 2",
        ),
        (
            tree,
            Set("/model/gravity/1", json!(null)),
            "`model.gravity[1]` must be a number, not null",
        ),
        (
            tree,
            Remove("/model/bodies/2/mass"),
            "`model.bodies[2].mass` is missing",
        ),
        (
            tree,
            Set("/model/bodies/2/mass", json!("1")),
            "`model.bodies[2].mass` must be a number, not the string \"1\"",
        ),
        (
            tree,
            Set("/model/bodies/2/mass", json!(-1)),
            "`model`: mass of link `body2` is negative (-1 kg)",
        ),
        (
            tree,
            Set("/model/bodies/2/inertia/0/1", json!(0.5)),
            "`model.bodies[2].inertia` is not symmetric: 0.5 and 0.004267",
        ),
        (
            tree,
            Set("/model/bodies/2/inertia", json!([1, 2, 3])),
            "`model.bodies[2].inertia[0]` must be a list of 3 numbers, not the number 1",
        ),
        (
            tree,
            Set("/model/bodies/2/colour", json!("red")),
            "`model.bodies[2].colour` is not known here",
        ),
        (
            tree,
            Remove("/model/joints/5"),
            "`model.joints` must be a list of 6 joints, one per body, not a list of 5",
        ),
        (
            tree,
            Set("/model/joints/1/type", json!("hinge")),
            "`model.joints[1].type` names an unknown joint type \"hinge\"",
        ),
        (
            tree,
            Remove("/model/joints/1/type"),
            "`model.joints[1].type` is missing",
        ),
        (
            tree,
            Set("/model/joints/1/parent", json!(6)),
            "`model.joints[1].parent` must be a whole number from -1 to 5, not the number 6",
        ),
        (
            tree,
            Set("/model/joints/1/parent", json!(0.5)),
            "`model.joints[1].parent` must be a whole number from -1 to 5, not the number 0.5",
        ),
        (
            tree,
            Set("/model/joints/1/child", json!(-1)),
            "`model.joints[1].child` must be a whole number from 0 to 5, not the number -1",
        ),
        (
            tree,
            Set("/model/joints/1/child", json!(2)),
            "`model`: link `body2` is the child of two joints, `joint1` and `joint2`: the tree would have a loop",
        ),
        (
            tree,
            Set("/model/joints/1/parent", json!(3)),
            "`model`: joint `joint1` is part of a cycle of joints that is not connected to the ground",
        ),
        (
            tree,
            Remove("/model/joints/1/lp"),
            "`model.joints[1].lp` is missing",
        ),
        (
            tree,
            Remove("/model/joints/1/axes"),
            "`model.joints[1].axes` is missing",
        ),
        (
            tree,
            Set("/model/joints/1/axes", json!([[0, 0, 0]])),
            "`model.joints[1].axes[0]` is not a direction: it has no usable length",
        ),
        (
            tree,
            Set("/model/joints/1/axes", json!([0, 0, 1])),
            "`model.joints[1].axes` must be a list of 1 axis, not a list of 3",
        ),
        (
            tree,
            Set(
                "/model/joints/2/axes/1",
                json!([0.6726705072807132, 0.7358430161032956, 0.07777817358817987]),
            ),
            "`model.joints[2].axes` must be two different directions: these are parallel",
        ),
        (
            tree,
            Set("/model/joints/4/axes", json!([[0, 0, 1]])),
            "`model.joints[4].axes` has no meaning for a spherical joint",
        ),
        (
            tree,
            Set("/model/joints/1/q0", json!([0, 0, 0, 0])),
            "`model.joints[1].q0` is not a rotation: it has no usable length",
        ),
        (
            tree,
            Set("/model/joints/1/pitch", json!(0.1)),
            "`model.joints[1].pitch` belongs to helical joints only",
        ),
        (
            tree,
            Set("/model/joints/1/type", json!("helical")),
            "`model.joints[1].pitch` is missing",
        ),
        (
            tree,
            Set("/model/joints/1/armature", json!([0.1, 0.2])),
            "`model.joints[1].armature` must be a list of 1 numbers, not a list of 2",
        ),
        (
            tree,
            Set("/model/joints/1/damping", json!([-0.1])),
            "`model`: damping of joint `joint1` must be a finite number ≥ 0, not -0.1",
        ),
        (tree, Remove("/q"), "`q` is missing"),
        (
            tree,
            Remove("/q/5"),
            "`q` must be a list of 6 lists, one per joint, not a list of 5",
        ),
        (
            tree,
            Set("/q/2", json!([0.1])),
            "`q[2]` must be a list of 2 numbers, not a list of 1",
        ),
        (
            tree,
            Set("/q/4", json!([0, 0, 0, 0])),
            "`q[4]` is not a rotation: its quaternion has no usable length",
        ),
        (
            tree,
            Set("/qd/1", json!(0.5)),
            "`qd[1]` must be a list of 1 numbers, not the number 0.5",
        ),
        (
            tree,
            Set("/tau/3", json!([1, 2])),
            "`tau[3]` must be a list of 1 numbers, not a list of 2",
        ),
        (
            tree,
            Remove("/external/0"),
            "`external` must be a list of 6 loads, one per body, not a list of 5",
        ),
        (
            tree,
            Set("/external/0", json!({"moment": [0, 0, 0]})),
            "`external[0].moment` is not known here",
        ),
        (
            tree,
            Set("/base_motion", json!({"r": [0, 0]})),
            "`base_motion.r` must be a list of 3 numbers, not a list of 2",
        ),
        (
            tree,
            Set("/base_motion", json!([])),
            "`base_motion` must be an object, not an empty list",
        ),
        (tree, Remove("/expected"), "`expected` is missing"),
        (
            tree,
            Set("/expected", json!({})),
            "`expected` is empty: there is nothing to compare",
        ),
        (
            tree,
            Set("/expected/foo", json!(1)),
            "`expected.foo`: expected quantity `foo` is unknown",
        ),
        (
            tree,
            Set("/expected/joint_acc", json!(null)),
            "`expected.joint_acc` must be a list of 6 lists, not null",
        ),
        (
            tree,
            Set("/expected/joint_acc/2", json!([1])),
            "`expected.joint_acc[2]` must be a list of 2 numbers, not a list of 1",
        ),
        (
            tree,
            Set("/expected/body_lin_acc/2/1", json!("x")),
            "`expected.body_lin_acc[2][1]` must be a number, not the string \"x\"",
        ),
        (
            tree,
            Set("/state/p", json!(1)),
            "`state.p`: expected quantity `state.p` is unknown",
        ),
        (
            tree,
            Set("/samples", json!([])),
            "`q` is given beside `samples`: it belongs inside the samples",
        ),
        (
            "planar3_inverse",
            Remove("/variants/0/model"),
            "`variants[0].model` is missing",
        ),
        (
            "planar3_inverse",
            Set("/variants/0/samples", json!([])),
            "the case expects nothing: a case without expected quantities proves nothing",
        ),
        (
            "planar3_inverse",
            Set("/variants", json!([])),
            "the case expects nothing: a case without expected quantities proves nothing",
        ),
        (
            "planar3_inverse",
            Remove("/variants/0/samples/3/tau"),
            "`variants[0].samples[3].tau` is missing",
        ),
        (
            "planar3_inverse",
            Set("/variants/0/samples/3/q", json!([1])),
            "`variants[0].samples[3].q` must be a list of 3 numbers, not a list of 1",
        ),
        (
            "planar3_inverse",
            Set("/trajectory/T", json!(0)),
            "`trajectory`: duration of the trajectory must be a positive time, not 0 s",
        ),
        (
            "planar3_inverse",
            Set("/trajectory/q1", json!([1])),
            "`trajectory.q1` must be a list of 3 numbers, not a list of 1",
        ),
        (
            "planar3_inverse",
            Set("/variants/0/model/links", json!([])),
            "`variants[0].model`: model `case` has no links",
        ),
        (
            "planar3_inverse",
            Set("/variants/0/model/links/1/type", json!("spherical")),
            "`variants[0].model.links[1].type` must be \"revolute\" or \"prismatic\", not \"spherical\"",
        ),
        (
            "planar3_inverse",
            Set("/variants/0/model/links/1/d", json!(1)),
            "`variants[0].model.links[1].d` is not known here",
        ),
        (
            "planar3_inverse",
            Set("/variants/0/model/links/1/alpha", json!([])),
            "`variants[0].model.links[1].alpha` must be a number, not an empty list",
        ),
        (
            "serial_matrices",
            Set("/samples/1/tau", json!([1, 2, 3])),
            "`samples[1].tau` is not known here",
        ),
        (
            "serial_matrices",
            Set("/samples/1/expected/M", json!(1)),
            "`samples[1].expected.M`: expected quantity `M` is unknown",
        ),
        (
            "serial_matrices",
            Set("/samples/1/expected/qdd", json!([1, 2, 3])),
            "`samples[1].expected.qdd`: expected quantity `qdd` is unknown",
        ),
        (
            "serial_matrices",
            Set("/samples/1/expected", json!(1)),
            "`samples[1].expected` must be an object, not the number 1",
        ),
        (
            tree,
            Set("/q/1/0", json!(1e20)),
            "the case proves nothing: its result depends on the last digits of its numbers",
        ),
        (
            "space6r_accel",
            Remove("/model/base"),
            "`model.base` is missing",
        ),
        (
            "space6r_accel",
            Remove("/model/base/o1"),
            "`model.base.o1` is missing",
        ),
        ("space6r_accel", Remove("/state"), "`state` is missing"),
        (
            "space6r_accel",
            Set("/state/quat0", json!([0, 0, 0, 0])),
            "`state.quat0` is not a rotation: it has no usable length",
        ),
        (
            "space6r_accel",
            Set("/samples", json!([])),
            "the case expects nothing: a case without expected quantities proves nothing",
        ),
        (
            "space6r_accel",
            Set("/samples", json!({})),
            "`samples` must be a list, not a table",
        ),
        (
            "space6r_accel",
            Set("/samples/1/external", json!([])),
            "`samples[1].external` must be a list of 7 loads, one per body, not an empty list",
        ),
        (
            "planar3_freefall",
            Set("/samples/2/qd/1", json!(null)),
            "`samples[2].qd[1]` must be a number, not null",
        ),
        (
            "planar3_freefall",
            Set("/samples/2/momentum", json!([0, 0, 0])),
            "`samples[2].momentum`: expected quantity `momentum` is unknown",
        ),
        (
            "planar3_freefall",
            Set("/samples/2", json!({"t": 0.3, "notes": "nothing"})),
            "`samples[2]` expects nothing besides its time",
        ),
        (
            "planar3_freefall",
            Set("/samples/2/t", json!(-0.3)),
            "`samples[2].t` must not be negative: the motion starts at 0",
        ),
        (
            "planar3_freefall",
            Remove("/samples/2/t"),
            "`samples[2].t` is missing",
        ),
        (
            "planar3_freefall",
            Set("/samples", json!([])),
            "the case expects nothing: a case without expected quantities proves nothing",
        ),
        (
            "planar3_freefall",
            Set("/tau", json!([0, 0])),
            "`tau` must be a list of 3 numbers, not a list of 2",
        ),
        (
            "planar3_freefall",
            Set("/tau_amp", json!([0, 0, 0])),
            "`tau` is given beside `tau_amp` or `tau_omega`: give one or the other",
        ),
        (
            "planar3_freefall",
            Set("/xe", json!([0, 0, 0])),
            "`xe` is not known here",
        ),
        (
            "space6r_sim",
            Remove("/tau_omega"),
            "`tau_omega` is missing",
        ),
        (
            "space6r_sim",
            Set("/samples/1/quat0", json!([1, 0, 0])),
            "`samples[1].quat0` must be a list of 4 numbers, not a list of 3",
        ),
        (
            "pendulum3",
            Set("/model/r", json!([[0, 0, 1]])),
            "`model.r` must be a list of 3 vectors, one per body, not a list of 1",
        ),
        (
            "pendulum3",
            Set("/p0/2", json!([0, 0, 0, 0])),
            "`p0[2]` is not a rotation: it has no usable length",
        ),
        (
            "pendulum3",
            Set("/samples/1/p/0", json!("x")),
            "`samples[1].p[0]` must be a list of 4 numbers, not the string \"x\"",
        ),
        (
            "pendulum3",
            Set("/samples/1/loop_gap", json!(0)),
            "`samples[1].loop_gap`: expected quantity `loop_gap` is unknown",
        ),
        (
            "tree_motion",
            Set("/alpha", json!(5)),
            "`alpha` has no meaning: the model has no loops",
        ),
        (
            "tree_motion",
            Set("/base_motion", json!({})),
            "`base_motion` is not known here",
        ),
    ];
    for (name, change, message) in broken {
        let (Set(pointer, _) | Remove(pointer)) = &change;
        let error = match verify_text(&changed(name, &change), "some/case.json") {
            Err(error) => error,
            Ok(report) => panic!("{name}, {pointer} changed, was not refused:\n{report}"),
        };
        assert_eq!(error.message(), message, "{name}, {pointer} changed");
        assert_eq!(error.place().file.as_deref(), Some("some/case.json"));
    }
}

#[test]
fn text_that_is_no_json_is_refused_with_its_line() {
    let broken = [
        ("", "the file is empty"),
        ("[]", "the case must be an object, not an empty list"),
        (
            "{\"format\": \"mbref/1\",\n\"gravity\": NaN}",
            "malformed JSON: expected value",
        ),
        (
            "{\"format\": \"mbref/1\",\n\"kind\":",
            "malformed JSON: EOF while parsing a value",
        ),
        (
            "{\"format\": \"mbref/1\", \"format\": \"mbref/1\"}",
            "`format` is given twice",
        ),
    ];
    for (text, message) in broken {
        let error = verify_text(text, "broken.json").expect_err("it is broken");
        assert_eq!(error.message(), message);
        assert_eq!(error.place().file.as_deref(), Some("broken.json"));
    }
    let error = verify_text(
        "{\"format\": \"mbref/1\",\n\"gravity\": NaN}",
        "broken.json",
    );
    assert_eq!(error.expect_err("it is broken").place().line, Some(2));
    let huge = text("tree6_mixed").replacen("\"mass\": 0.74", "\"mass\": 1e999", 1);
    let error = verify_text(&huge, "huge.json").expect_err("1e999 is no number");
    assert_eq!(
        error.message(),
        "`model.bodies[0].mass` must be a finite number, not inf"
    );
    assert_eq!(error.place().line, Some(12));
}

#[test]
fn a_missing_file_is_told() {
    let error = verify_file(Path::new("no/such/case.json")).expect_err("there is no such file");
    assert_eq!(error.message(), "the file does not exist");
    assert_eq!(error.place().file.as_deref(), Some("no/such/case.json"));
}

/// No single missing, null or strange entry makes the reader panic, and none makes a case pass that lacks something.
#[test]
fn every_entry_may_be_damaged_without_harm() {
    fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
        if !path.is_empty() {
            found.push(path.into());
        }
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointers(item, &format!("{path}/{index}"), found);
                }
            }
            Value::Object(entries) => {
                for (key, item) in entries {
                    pointers(item, &format!("{path}/{key}"), found);
                }
            }
            _ => {}
        }
    }
    let optional = [
        "/q0",
        "/notes",
        "/paper",
        "/title",
        "/id",
        "/name",
        "/accuracy",
        "/child",
    ];
    // in a simulation large numbers may take long, and change nothing
    let strange = [json!(null), json!("x"), json!([]), json!({}), json!(1e9)];
    for (name, damages, every) in [
        ("tree6_mixed", &strange[..], 3),
        ("space6r_accel", &strange, 3),
        ("space6r_sim", &strange[..4], 11),
        ("pendulum3", &strange[..4], 11),
    ] {
        let case: Value = serde_json::from_str(&text(name)).expect("the case is JSON");
        let mut found = Vec::new();
        pointers(&case, "", &mut found);
        for pointer in found.iter().step_by(every) {
            for damage in damages {
                let mut damaged = case.clone();
                *damaged.pointer_mut(pointer).expect("it is there") = damage.clone();
                let passed = verify_text(&damaged.to_string(), "x.json").is_ok_and(|r| r.passed());
                let informative = pointer.starts_with("/accuracy")
                    || optional.iter().any(|end| pointer.ends_with(end))
                    || (damage.is_null()
                        && (pointer.ends_with("/external") || pointer.ends_with("/state")));
                assert!(
                    !passed || informative,
                    "{name}: {pointer} = {damage} passed"
                );
            }
        }
    }
}

/// A sample that no run reaches is given up by the pace of the first steps, long before the maximum number of steps is reached.
#[test]
fn a_sample_out_of_reach_is_given_up_soon() {
    for name in ["space6r_sim", "fourbar_sim"] {
        for time in [1e200, 1e9] {
            let case = changed(name, &Set("/samples/1/t", json!(time)));
            let error = verify_text(&case, "far.json").expect_err("out of reach");
            let message = error.to_string();
            assert!(
                message.contains("is not reached within 100000 steps"),
                "{message}"
            );
            assert!(message.contains("the first 1000 came to"), "{message}");
        }
    }
}
