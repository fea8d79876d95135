//! Conformance cases: known values are reproduced, changed values are detected, and what is written can be read back.

use catena::model::{Inertial, JointKind, JointSpec, ModelBuilder, embedded};
use catena::residual::larger;
use catena::spatial::{Mat3, Pose, Vec3};
use catena_conformance::{Report, export_case, verify_file, verify_text};
use catena_mechanism::Formulation;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Cases that catena computes, with the quantities they expect.
const COMPUTED: &[(&str, &[&str])] = &[
    (
        "planar3_inverse",
        &["tau", "trajectory.q", "trajectory.qd", "trajectory.qdd"],
    ),
    (
        "stanford_inverse",
        &["tau", "trajectory.q", "trajectory.qd", "trajectory.qdd"],
    ),
    (
        "serial_matrices",
        &["gim", "C", "gravity_torque", "tau", "U", "D", "phi"],
    ),
    ("serial_forward", &["qdd"]),
    (
        "pendulum_newton3",
        &[
            "residual.G",
            "residual.Gdot",
            "residual.I1",
            "residual.I2",
            "residual.I3",
            "residual.F",
            "delta.R",
            "delta.V",
            "delta.P",
            "delta.S",
            "JR",
            "ER",
        ],
    ),
    ("space6r_accel", SPACE),
    ("space_gravity", SPACE),
    ("tree_several_roots", TREE),
    ("tree_mixed_chain", TREE),
    ("tree5_moving_base", TREE),
    ("tree6_mixed", TREE),
    ("baumgarte", TREE),
    ("two_loops", TREE),
    (
        "fourbar_rusr",
        &[
            "state.r",
            "state.R",
            "state.w",
            "state.v",
            "joint_acc",
            "body_lin_acc",
            "body_ang_acc",
            "hinge_force",
            "hinge_torque",
            "constraint_rank",
        ],
    ),
    ("bricard6r", REDUNDANT),
    ("parallelogram_redundant", REDUNDANT),
    (
        "tree6_spherical",
        &[
            "state.r",
            "state.R",
            "state.w",
            "state.v",
            "joint_acc",
            "body_lin_acc",
            "body_ang_acc",
            "hinge_force",
            "hinge_torque",
            "incidence_C",
            "T",
            "D_barycentre",
            "K",
        ],
    ),
];

/// Motions that catena computes, with the quantities they expect.
const SIMULATED: &[(&str, &[&str])] = &[
    ("planar3_freefall", CHAIN_MOTION),
    ("stanford_freefall", CHAIN_MOTION),
    ("stanford_freefall_alpha2plus", CHAIN_MOTION),
    (
        "space6r_sim",
        &[
            "x0",
            "quat0",
            "v0",
            "w0_body",
            "w0_inertial",
            "q",
            "qd",
            "kinetic",
            "linear_momentum",
            "angular_momentum_about_origin",
        ],
    ),
    ("pendulum3", PENDULUM_MOTION),
    ("pendulum10", PENDULUM_MOTION),
    (
        "fourbar_sim",
        &["q", "qd", "r", "v", "w", "kinetic", "potential", "loop_gap"],
    ),
    (
        "tree_motion",
        &[
            "q",
            "qd",
            "r",
            "R",
            "v",
            "w",
            "kinetic",
            "potential",
            "joint_acc",
            "hinge_force",
            "hinge_torque",
        ],
    ),
];

const CHAIN_MOTION: &[&str] = &["q", "qd", "kinetic", "potential"];

const PENDULUM_MOTION: &[&str] = &[
    "p",
    "s",
    "w_body",
    "R",
    "V",
    "Vdot",
    "wdot_body",
    "joint_force_on_child",
    "kinetic",
    "potential",
];

const REDUNDANT: &[&str] = &[
    "state.r",
    "state.R",
    "state.w",
    "state.v",
    "joint_acc",
    "body_lin_acc",
    "body_ang_acc",
    "hinge_force",
    "hinge_torque",
    "constraint_rows",
    "constraint_rank",
    "min_norm",
];

const SPACE: &[&str] = &[
    "w0",
    "v0",
    "t_e",
    "te_dot",
    "base_ang_acc",
    "base_lin_acc",
    "theta_dd",
    "kinetic",
    "linear_momentum",
    "angular_momentum_about_origin",
    "body_lin_acc",
    "body_ang_acc",
];

const TREE: &[&str] = &[
    "state.r",
    "state.R",
    "state.w",
    "state.v",
    "joint_acc",
    "body_lin_acc",
    "body_ang_acc",
    "hinge_force",
    "hinge_torque",
];

fn path(name: &str) -> PathBuf {
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    cases.join(format!("{name}.json"))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect("the case is there")
}

fn case(name: &str) -> Value {
    serde_json::from_str(&text(name)).expect("the case is JSON")
}

fn verify(case: &Value) -> Report {
    verify_text(&case.to_string(), "case.json").expect("the case can be read")
}

fn assert_passes(case: &Value) {
    let report = verify(case);
    assert!(report.passed(), "{report}");
}

#[test]
fn known_values_are_met() {
    for (name, quantities) in COMPUTED {
        let report = verify_file(&path(name)).expect("the case can be read");
        assert!(report.passed(), "{report}");
        let compared: Vec<_> = report.quantities.iter().map(|q| &q.name[..]).collect();
        assert_eq!(compared, *quantities, "{name}");
        // far inside the tolerance: the noise is estimated generously
        let worst = report.worst().map_or(1.0, |quantity| quantity.relative);
        assert!(worst < 1e-11, "{report}");
    }
}

#[test]
fn known_motions_are_met() {
    for (name, quantities) in SIMULATED {
        let report = verify_file(&path(name)).expect("the case can be read");
        assert!(report.passed(), "{report}");
        let compared: Vec<_> = report.quantities.iter().map(|q| &q.name[..]).collect();
        assert_eq!(compared, *quantities, "{name}");
        let worst = report.worst().map_or(1.0, |quantity| quantity.relative);
        assert!(worst < 1e-10, "{report}");
    }
}

/// Every case of the folder is compared by a test.
#[test]
fn no_case_is_left_out() {
    let known: Vec<_> = COMPUTED
        .iter()
        .chain(SIMULATED)
        .map(|(name, _)| *name)
        .collect();
    let folder = std::fs::read_dir(path("x").with_file_name("")).expect("the cases are there");
    for entry in folder {
        let file = entry.expect("a file").path();
        if file.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert!(known.contains(&&name[..]), "no test treats {name}");
    }
}

/// Paths of all numbers below a value.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.into()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                numbers(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                numbers(item, &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// Where the values stand that a case expects, each with the name of its quantity.
fn expectations(name: &str, case: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    numbers(case, "", &mut found);
    let named = found.into_iter().filter_map(|path| {
        if name.ends_with("_inverse") {
            return path.contains("/tau/").then(|| ("tau".into(), path));
        }
        if let Some(rest) = path
            .strip_prefix("/state/")
            .filter(|_| name.starts_with("tree"))
        {
            let quantity = format!("state.{}", rest.split('/').next()?);
            return Some((quantity, path));
        }
        let (_, rest) = path.split_once("expected/")?;
        let mut parts = rest.split('/');
        let mut quantity = parts.next()?.to_string();
        if quantity == "residual" || quantity == "delta" {
            quantity = format!("{quantity}.{}", parts.next()?);
        }
        Some((quantity, path))
    });
    named.collect()
}

/// One unit more in the eighth significant digit.
fn with_changed_digit(case: &Value, path: &str) -> Value {
    with_digit_changed(case, path, 8)
}

fn with_digit_changed(case: &Value, path: &str, digit: i32) -> Value {
    let mut changed = case.clone();
    let entry = changed.pointer_mut(path).expect("the entry is there");
    let number = entry.as_f64().expect("it is a number");
    // a zero has no digits: it becomes something small
    let leading = if number == 0.0 { 1.0 } else { number.abs() };
    let unit = 10f64.powi(leading.log10().floor() as i32 + 1 - digit);
    *entry = json!(number + unit);
    changed
}

/// The path of an entry as reports write it: `samples[0].expected.tau[2]`.
fn element_path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if part.parse::<usize>().is_ok() {
            path += &format!("[{part}]");
        } else {
            path += if path.is_empty() { "" } else { "." };
            path += part;
        }
    }
    path
}

#[test]
fn one_changed_digit_is_caught_in_every_quantity() {
    for (name, _) in COMPUTED {
        let case = case(name);
        let expected = expectations(name, &case);
        let mut quantities: Vec<_> = expected.iter().map(|(quantity, _)| quantity).collect();
        quantities.sort();
        quantities.dedup();
        for quantity in quantities {
            let magnitude = |path: &str| {
                case.pointer(path)
                    .and_then(Value::as_f64)
                    .unwrap_or(0.0)
                    .abs()
            };
            let own: Vec<_> = expected.iter().filter(|(q, _)| q == quantity).collect();
            // smaller entries are tested below
            let largest = own
                .iter()
                .max_by(|a, b| magnitude(&a.1).total_cmp(&magnitude(&b.1)));
            let (_, path) = largest.expect("a quantity has entries");
            let report = verify(&with_changed_digit(&case, path));
            assert!(!report.passed(), "{name}: {path} was changed\n{report}");
            let off: Vec<_> = report.quantities.iter().filter(|q| !q.ok).collect();
            assert_eq!(off.len(), 1, "{name}: {path} was changed\n{report}");
            assert_eq!(&off[0].name, quantity, "{name}");
            assert_eq!(off[0].where_, element_path(path), "{name}");
            assert!(
                report
                    .to_string()
                    .contains(&format!("FAILED: `{quantity}` is off"))
            );
        }
    }
}

/// Where the values stand that a motion expects, each with the name of its quantity and its size.
fn motion_expectations(case: &Value) -> Vec<(String, String, f64)> {
    let mut found = Vec::new();
    numbers(&case["samples"], "/samples", &mut found);
    let named = found.into_iter().filter_map(|path| {
        let quantity = path.split('/').nth(3)?.to_string();
        let size = case.pointer(&path)?.as_f64()?.abs();
        (quantity != "t").then_some((quantity, path, size))
    });
    named.collect()
}

/// Changes one unit in the seventh digit of an entry; only this entry must be reported.
fn assert_seventh_digit_is_seen(name: &str, case: &Value, quantity: &str, path: &str) {
    let report = verify(&with_digit_changed(case, path, 7));
    let off: Vec<_> = report.quantities.iter().filter(|q| !q.ok).collect();
    assert_eq!(off.len(), 1, "{name}: {path} was changed\n{report}");
    assert_eq!(off[0].name, quantity, "{name}");
    assert_eq!(off[0].where_, element_path(path), "{name}");
}

#[test]
fn one_changed_digit_is_caught_in_every_quantity_of_a_motion() {
    for (name, quantities) in SIMULATED {
        let case = case(name);
        let expected = motion_expectations(&case);
        for quantity in *quantities {
            // a gap that is zero but for round-off has no seventh digit
            if *quantity == "loop_gap" {
                continue;
            }
            let own = expected.iter().filter(|(q, ..)| q == quantity);
            let largest = own.max_by(|a, b| a.2.total_cmp(&b.2));
            let (_, path, _) = largest.expect("a quantity has entries");
            assert_seventh_digit_is_seen(name, &case, quantity, path);
        }
    }
}

/// In small entries, too: the tolerance is not that of their large neighbours. Every third one is tried.
#[test]
fn one_changed_digit_is_caught_in_small_entries_of_a_motion() {
    for name in ["stanford_freefall", "space6r_sim", "pendulum3"] {
        let case = case(name);
        let expected = motion_expectations(&case);
        for (quantity, path, size) in expected.iter().step_by(3) {
            let own = expected.iter().filter(|(q, ..)| q == quantity);
            let largest = own.map(|(_, _, size)| *size).fold(0.0, larger);
            if *size > 1e-3 * largest {
                assert_seventh_digit_is_seen(name, &case, quantity, path);
            }
        }
    }
}

fn negate(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(negate),
        Value::Number(number) => *value = json!(-number.as_f64().expect("a number")),
        _ => {}
    }
}

/// p and −p are the same orientation, and s is the rate of either.
#[test]
fn quaternions_of_a_motion_may_have_either_sign() {
    let mut pendulum = case("pendulum3");
    negate(&mut pendulum["samples"][2]["p"][1]);
    let report = verify(&pendulum);
    let off: Vec<_> = report.quantities.iter().filter(|q| !q.ok).collect();
    assert_eq!(off.len(), 1, "{report}");
    assert!(off[0].where_.starts_with("samples[2].s[1]"), "{report}");
    negate(&mut pendulum["samples"][2]["s"][1]);
    assert_passes(&pendulum);
    // without a p to compare with, s may have either sign
    for sample in pendulum["samples"].as_array_mut().expect("samples") {
        sample.as_object_mut().expect("an object").remove("p");
    }
    assert_passes(&pendulum);
    // initial values are normalised, and have either sign
    negate(&mut pendulum["p0"][0]);
    assert_passes(&pendulum);

    let mut space = case("space6r_sim");
    negate(&mut space["samples"][5]["quat0"]);
    assert_passes(&space);

    let mut tree = case("tree_motion");
    negate(&mut tree["samples"][1]["q"][3]);
    assert_passes(&tree);
    negate(&mut tree["samples"][1]["q"][1]);
    assert!(!verify(&tree).passed());
}

#[test]
fn samples_of_a_motion_may_come_in_any_order() {
    let mut motion = case("planar3_freefall");
    let samples = motion["samples"].as_array_mut().expect("samples");
    samples.reverse();
    let again = samples[3].clone();
    samples.insert(7, again);
    assert_passes(&motion);
    let samples = motion["samples"].as_array_mut().expect("samples");
    let (first, rest) = samples.split_at_mut(1);
    std::mem::swap(&mut first[0]["t"], &mut rest[0]["t"]);
    assert!(!verify(&motion).passed());
}

/// Motions that can be written down.
#[test]
fn simple_motions_are_met() {
    // a wheel driven by a constant and by an alternating torque: J θ̈ = τ
    let inertia = [[0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.4]];
    let link = json!({
        "type": "revolute", "a": 0.0, "b": 0.1, "alpha": 0.0, "theta": 0.0, "mass": 2.0,
        "r": [0.0, 0.0, 0.0], "inertia": inertia,
    });
    let t = 1.3f64;
    let mut wheel = json!({
        "format": "catena-case/1", "id": "wheel", "kind": "serial_sim",
        "model": {"kind": "dh_chain", "gravity": [1.0, 2.0, -9.81], "links": [link]},
        "q0": [0.2], "qd0": [0.5], "tau": [3.0],
        "samples": [{
            "t": t, "q": [0.2 + 0.5 * t + 3.75 * t * t], "qd": [0.5 + 7.5 * t], "qdd": [7.5],
            "kinetic": 0.2 * (0.5 + 7.5 * t).powi(2), "potential": 1.962, "linear_momentum": [0.0, 0.0, 0.0],
        }],
    });
    assert_passes(&wheel);
    wheel["tau"] = json!(null);
    wheel["tau_amp"] = json!([3.0]);
    wheel["tau_omega"] = json!([2.0]);
    let gain = 3.0 / 0.4 / 2.0;
    wheel["samples"] = json!([{
        "t": t,
        "q": [0.2 + (0.5 + gain) * t - gain / 2.0 * (2.0 * t).sin()],
        "qd": [0.5 + gain * (1.0 - (2.0 * t).cos())],
    }]);
    assert_passes(&wheel);

    // a stone that falls without turning, and one under constant loads
    let mut stone = json!({
        "format": "catena-case/1", "id": "stone", "kind": "multibody_sim",
        "model": {"kind": "multibody", "gravity": [0.0, 0.0, -10.0],
            "bodies": [{"mass": 2.0, "inertia": inertia}],
            "joints": [{"type": "free", "parent": -1, "child": 0}]},
        "q0": [[1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]], "qd0": [[3.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
        "samples": [{
            "t": 2.0, "q": [[7.0, 2.0, -17.0, 1.0, 0.0, 0.0, 0.0]], "qd": [[3.0, 0.0, -20.0, 0.0, 0.0, 0.0]],
            "r": [[7.0, 2.0, -17.0]], "w": [[0.0, 0.0, 0.0]], "hinge_force": [[0.0, 0.0, 0.0]],
            "kinetic": 409.0, "potential": -340.0,
        }],
    });
    assert_passes(&stone);
    stone["external"] = json!([{"force": [0.0, 4.0, 20.0], "torque": [0.0, 0.0, 0.8]}]);
    stone["samples"] = json!([{
        "t": 2.0, "r": [[7.0, 6.0, 3.0]], "v": [[3.0, 4.0, 0.0]], "w": [[0.0, 0.0, 4.0]],
        "q": [[7.0, 6.0, 3.0, 2f64.cos(), 0.0, 0.0, 2f64.sin()]],
    }]);
    assert_passes(&stone);

    // arms that hang still and stay, as far as the digits of π go
    let mut still = case("planar3_freefall");
    still["q0"] = json!([-std::f64::consts::FRAC_PI_2, 0.0, 0.0]);
    let hanging = -(0.5 * 0.15 + 0.4 * 0.425 + 0.3 * 0.66) * 9.81;
    still["samples"] = json!([
        {"t": 0.4, "q": still["q0"], "qd": [0.0, 0.0, 0.0], "kinetic": 0.0, "potential": hanging},
    ]);
    assert_passes(&still);

    // a robot that starts from rest has no momentum, however it moves
    let mut robot = case("space6r_sim");
    robot["state"]["v0"] = json!([0.0, 0.0, 0.0]);
    robot["state"]["w0_body"] = json!([0.0, 0.0, 0.0]);
    robot["state"]["qd"] = json!([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let nothing = json!([0.0, 0.0, 0.0]);
    robot["samples"] = json!([
        {"t": 3.0, "linear_momentum": nothing, "angular_momentum_about_origin": nothing, "potential": 0.0},
    ]);
    assert_passes(&robot);
    robot["samples"][0]["angular_momentum_about_origin"] = json!([0.0, 1e-6, 0.0]);
    assert!(!verify(&robot).passed());
}

/// A motion so long that it depends on the last digits proves nothing.
#[test]
fn chaos_is_refused() {
    let mut long = case("planar3_freefall");
    long["samples"] = json!([{"t": 1.0, "kinetic": 1.7875426844262436}]);
    assert_passes(&long);
    long["samples"][0]["t"] = json!(30.0);
    let error = verify_text(&long.to_string(), "x.json").expect_err("it proves nothing");
    assert_eq!(
        error.message(),
        "`samples[0]` proves nothing: its result depends on the last digits of its numbers"
    );
    long["samples"][0]["t"] = json!(1e9);
    let error = verify_text(&long.to_string(), "x.json").expect_err("it takes for ever");
    let message = error.message();
    assert!(
        message
            .starts_with("`samples[0]` at 1000000000 s is not reached within 100000 steps: the first 1000 came to "),
        "{message}"
    );
}

/// Small entries are held to their own digits, not to those of their large neighbours.
#[test]
fn one_changed_digit_is_caught_in_every_entry_above_the_noise() {
    for name in [
        "planar3_inverse",
        "space6r_accel",
        "tree5_moving_base",
        "tree6_mixed",
    ] {
        let case = case(name);
        let magnitude = |path: &str| {
            let value = case.pointer(path).and_then(Value::as_f64);
            value.unwrap_or(0.0).abs()
        };
        let expected = expectations(name, &case);
        for (quantity, path) in &expected {
            let own = expected.iter().filter(|(other, _)| other == quantity);
            let largest = own.map(|(_, path)| magnitude(path)).fold(0.0, larger);
            if magnitude(path) < 3e-4 * largest || largest == 0.0 {
                continue;
            }
            let report = verify(&with_changed_digit(&case, path));
            let off: Vec<_> = report.quantities.iter().filter(|q| !q.ok).collect();
            assert_eq!(off.len(), 1, "{name}: {path} was changed\n{report}");
            assert_eq!(&off[0].name, quantity, "{name}");
        }
    }
}

#[test]
fn written_cases_are_read_back() {
    let models = [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "chain-7",
        "pendulum-5",
        "floating-chain-6",
        "random-4-1",
        "random-6-2",
        "random-8-3",
        "random-10-1",
        "random-12-5",
    ];
    for name in models {
        let model = embedded::model(name).expect("the model is embedded");
        let text = export_case(name, &model, 3, 11).expect("it can be written");
        let report = verify_text(&text, "case.json").expect("it can be read");
        assert!(report.passed(), "{report}");
        assert_eq!(report.samples, 3);
        assert_eq!(report.id, name);
        for quantity in &report.quantities {
            // loads that should be zero are noise, and measured against it; linear accelerations of the
            // pendulum's slender rods are what is left of angular ones several thousand times larger
            let left_over = quantity.name.starts_with("hinge") || quantity.name == "body_lin_acc";
            let limit = if left_over { 1e-11 } else { 1e-12 };
            assert!(quantity.relative < limit, "{report}");
        }
    }
}

/// A ball on a string: no inertia about its own centre.
#[test]
fn a_point_mass_is_read_back() {
    let mut builder = ModelBuilder::new("ball");
    let mass_at = |x: f64| Inertial {
        mass: 0.7,
        centre: Vec3::new(x, 0.37, -0.11),
        ..Inertial::default()
    };
    builder.link("first", mass_at(0.31));
    builder.link("second", mass_at(-0.23));
    let mut joint = JointSpec::new("upper", JointKind::Revolute, "world", "first");
    joint.axes.first = Vec3::new(1.0, 2.0, 3.0);
    builder.joint(joint);
    builder.joint(JointSpec::new(
        "lower",
        JointKind::Universal,
        "first",
        "second",
    ));
    builder.joints[1].parent_from_joint = Pose::shift(Vec3::new(0.2, 0.9, -0.4));
    let model = builder.build().expect("it is a model");
    let text = export_case("ball", &model, 2, 1).expect("it can be written");
    let report = verify_text(&text, "case.json").expect("it can be read");
    assert!(report.passed(), "{report}");
}

/// Long chains of balls and large trees lose digits; the noise measures how many.
#[test]
fn large_systems_are_read_back() {
    for name in [
        "pendulum-60",
        "chain-60",
        "random-40-5",
        "random-60-6",
        "random-60-9",
    ] {
        let model = embedded::model(name).expect("the model is embedded");
        let text = export_case(name, &model, 2, 5).expect("it can be written");
        let report = verify_text(&text, "case.json").expect("it can be read");
        assert!(report.passed(), "{report}");
        let worst = report.worst().map_or(1.0, |quantity| quantity.relative);
        assert!(worst < 2e-11, "{report}");
    }
}

#[test]
fn a_written_case_is_the_same_every_time_and_differs_between_seeds() {
    let model = embedded::model("zoo").expect("the model is embedded");
    let write = |seed| export_case("zoo", &model, 2, seed).expect("it can be written");
    assert_eq!(write(1), write(1));
    assert_ne!(write(1), write(2));
    let none = export_case("zoo", &model, 0, 1).expect_err("nothing to write");
    assert_eq!(none.message(), "a case needs at least one state");
}

/// A tree with its bodies renumbered and its joints in another order.
fn renumbered(case: &Value) -> Value {
    let mut turned = case.clone();
    let bodies = case["model"]["bodies"].as_array().expect("bodies").len();
    let new = |old: i64| {
        if old < 0 {
            old
        } else {
            bodies as i64 - 1 - old
        }
    };
    let reverse = |value: &mut Value| {
        if let Some(list) = value.as_array_mut() {
            list.reverse();
        }
    };
    for joint in turned["model"]["joints"].as_array_mut().expect("joints") {
        joint["parent"] = json!(new(joint["parent"].as_i64().expect("a number")));
        joint["child"] = json!(new(joint["child"].as_i64().expect("a number")));
    }
    // bodies in reverse, and per-body lists with them; joints rotated by one, and per-joint lists with them
    reverse(&mut turned["model"]["bodies"]);
    reverse(&mut turned["external"]);
    for key in ["r", "R", "w", "v"] {
        reverse(&mut turned["state"][key]);
    }
    for key in ["body_lin_acc", "body_ang_acc"] {
        reverse(&mut turned["expected"][key]);
    }
    for path in [
        "/model/joints",
        "/q",
        "/qd",
        "/tau",
        "/expected/joint_acc",
        "/expected/hinge_force",
        "/expected/hinge_torque",
    ] {
        if let Some(list) = turned.pointer_mut(path).and_then(Value::as_array_mut) {
            list.rotate_left(1);
        }
    }
    turned
}

#[test]
fn the_order_of_bodies_and_joints_does_not_matter() {
    for name in ["tree5_moving_base", "tree6_mixed"] {
        assert_passes(&renumbered(&case(name)));
    }
}

#[test]
fn directions_and_quaternions_of_any_length_are_normalised() {
    fn stretch(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(stretch),
            Value::Number(number) => *value = json!(7.5 * number.as_f64().expect("a number")),
            _ => {}
        }
    }
    let mut case = case("tree6_mixed");
    for joint in case["model"]["joints"].as_array_mut().expect("joints") {
        for key in ["q0", "axes"] {
            if let Some(value) = joint.get_mut(key) {
                stretch(value);
            }
        }
    }
    case["q"][4]
        .as_array_mut()
        .expect("a quaternion")
        .iter_mut()
        .for_each(stretch);
    case["q"][0].as_array_mut().expect("a pose")[3..]
        .iter_mut()
        .for_each(stretch);
    // a second axis that is not orthogonal to the first counts by its orthogonal part
    let axes = case["model"]["joints"][2]["axes"].clone();
    for k in 0..3 {
        let [first, second] = [&axes[0][k], &axes[1][k]].map(|x| x.as_f64().expect("a number"));
        case["model"]["joints"][2]["axes"][1][k] = json!(second + 0.3 * first);
    }
    assert_passes(&case);
}

/// A free joint is measured from the inertial frame: the motion of the base does not matter to it.
#[test]
fn a_moving_base_does_not_move_a_floating_tree() {
    let base_motion = case("tree5_moving_base")["base_motion"].clone();
    let mut floating = case("tree6_mixed");
    floating["base_motion"] = base_motion;
    assert_passes(&floating);

    // both kinds of trees side by side
    let mut both = case("tree5_moving_base");
    let other = case("tree6_mixed");
    let shift = both["model"]["bodies"].as_array().expect("bodies").len() as i64;
    both["external"] = json!(vec![
        json!({"force": [0, 0, 0], "torque": [0, 0, 0]});
        shift as usize
    ]);
    let mut joints = other["model"]["joints"].clone();
    for joint in joints.as_array_mut().expect("joints") {
        for key in ["parent", "child"] {
            let number = joint[key].as_i64().expect("a number");
            joint[key] = json!(if number < 0 { number } else { number + shift });
        }
    }
    let mut append = |path: &str, more: &Value| {
        let list = both.pointer_mut(path).and_then(Value::as_array_mut);
        list.expect("a list")
            .extend(more.as_array().expect("a list").iter().cloned());
    };
    append("/model/joints", &joints);
    for path in [
        "/model/bodies",
        "/q",
        "/qd",
        "/tau",
        "/external",
        "/state/r",
        "/state/R",
        "/state/w",
        "/state/v",
        "/expected/joint_acc",
        "/expected/body_lin_acc",
        "/expected/body_ang_acc",
        "/expected/hinge_force",
        "/expected/hinge_torque",
    ] {
        append(path, other.pointer(path).expect("the other tree has it"));
    }
    assert_passes(&both);
}

#[test]
fn one_state_and_a_list_of_samples_say_the_same() {
    let mut case = case("tree6_mixed");
    let mut sample = json!({});
    for key in ["q", "qd", "tau", "external", "state", "expected"] {
        sample[key] = case[key].take();
        case.as_object_mut().expect("an object").remove(key);
    }
    case["samples"] = json!([sample]);
    case["format"] = json!("catena-case/1");
    assert_passes(&case);
}

#[test]
fn the_same_keys_may_stand_in_a_sample_or_in_the_case() {
    // the model of all samples
    let mut matrices = case("serial_matrices");
    let first = matrices["samples"][0].clone();
    matrices["model"] = first["model"].clone();
    matrices["samples"] = json!([first]);
    matrices["samples"][0]
        .as_object_mut()
        .expect("an object")
        .remove("model");
    assert_passes(&matrices);
    // the state of one sample
    let mut space = case("space6r_accel");
    space["samples"][0]["state"] = space["state"].clone();
    assert_passes(&space);
    // a case without variants
    let mut inverse = case("planar3_inverse");
    let variant = inverse["variants"][0].clone();
    inverse
        .as_object_mut()
        .expect("an object")
        .remove("variants");
    inverse["model"] = variant["model"].clone();
    inverse["samples"] = variant["samples"].clone();
    assert_passes(&inverse);
}

/// `serial_forward` undoes `serial_inverse`.
#[test]
fn serial_forward_gives_the_accelerations_back() {
    let inverse = case("stanford_inverse");
    let samples: Vec<Value> = inverse["variants"]
        .as_array()
        .expect("variants")
        .iter()
        .flat_map(|variant| {
            let samples = variant["samples"].as_array().expect("samples");
            samples.iter().map(|sample| {
                json!({
                    "model": variant["model"],
                    "q": sample["q"],
                    "qd": sample["qd"],
                    "tau": sample["tau"],
                    "expected": {"qdd": sample["qdd"]},
                })
            })
        })
        .collect();
    let mut forward = json!({
        "format": "mbref/1",
        "id": "forward",
        "kind": "serial_forward",
        "samples": samples,
    });
    let report = verify(&forward);
    assert!(report.passed(), "{report}");
    assert_eq!(report.samples, 105);
    forward["samples"][52]["expected"]["qdd"][3] = json!(0.5);
    let report = verify(&forward);
    assert_eq!(report.quantities[0].where_, "samples[52].expected.qdd[3]");
    assert!(!report.passed());
}

/// Values that ought to be zero are compared without a rule of their own.
#[test]
fn zeros_do_not_fail_on_noise() {
    let zero = json!([0.0, 0.0, 0.0]);
    let body =
        json!({"mass": 2.0, "inertia": [[0.3, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.4]]});
    // a wheel on a skew axis through its mass centre, driven and turning: the mass centre rests
    let axis = [0.3, -0.5, 0.7];
    let wheel = json!({
        "format": "catena-case/1", "id": "wheel", "kind": "multibody_accel",
        "model": {"kind": "multibody", "gravity": [1.0, 2.0, -9.81], "bodies": [body], "joints": [{
            "type": "revolute", "parent": -1, "lp": [0.0, 0.0, 0.0], "axes": [axis],
            "lc": axis.map(|x| 0.37 * x),
        }]},
        "q": [[0.4]], "qd": [[3.0]], "tau": [[1.7]],
        "expected": {"body_lin_acc": [zero]},
    });
    assert_passes(&wheel);
    // a free body in free fall, and one at rest where nothing acts
    let mut falling = json!({
        "format": "catena-case/1", "id": "stone", "kind": "multibody_accel",
        "model": {"kind": "multibody", "gravity": [0.1, 0.2, -9.81], "bodies": [body], "joints": [{
            "type": "free", "parent": -1, "child": 0,
        }]},
        "q": [[1.0, 2.0, 3.0, 0.5, 0.1, -0.7, 0.3]],
        "qd": [[0.3, 0.1, -0.2, 0.0, 0.0, 0.0]],
        "expected": {
            "joint_acc": [[0.1, 0.2, -9.81, 0.0, 0.0, 0.0]],
            "body_lin_acc": [[0.1, 0.2, -9.81]], "body_ang_acc": [zero],
            "hinge_force": [zero], "hinge_torque": [zero],
            "constraint_rank": 0, "linear_momentum": [0.6, 0.2, -0.4],
        },
    });
    assert_passes(&falling);
    falling["model"]["gravity"] = zero.clone();
    falling["qd"] = json!([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]);
    falling["expected"] = json!({"joint_acc": [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]], "hinge_force": [zero], "kinetic": 0.0});
    assert_passes(&falling);
    // a chain whose axes are along gravity, because its twist angles say so to 16 digits
    let link = json!({
        "type": "revolute", "a": 0.3, "b": 0.1, "alpha": 0.0, "theta": 0.0, "mass": 1.5, "r": [0.1, 0.05, 0.02],
        "inertia": [[0.02, 0.001, 0.0], [0.001, 0.03, 0.002], [0.0, 0.002, 0.04]],
    });
    let turned = json!({
        "type": "revolute", "a": 0.0, "b": 0.2, "alpha": std::f64::consts::PI, "theta": 0.0, "mass": 1.0,
        "r": [0.0, 0.1, 0.0], "inertia": [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]],
    });
    let level = json!({
        "format": "catena-case/1", "id": "level", "kind": "serial_matrices",
        "samples": [{
            "model": {"kind": "dh_chain", "gravity": [0.0, 0.0, -9.81], "links": [turned, link]},
            "q": [0.4, 0.7], "qd": [0.0, 1.2], "qdd": [0.0, 0.0],
            "expected": {"gravity_torque": [0.0, 5e-16]},
        }],
    });
    assert_passes(&level);
    // an arm held still against gravity
    let mut held = json!({
        "format": "catena-case/1", "id": "held", "kind": "serial_forward",
        "samples": [],
    });
    let stanford = &case("stanford_inverse")["variants"][0];
    held["samples"] = json!([{
        "model": stanford["model"], "q": stanford["samples"][0]["q"], "qd": [0, 0, 0, 0, 0, 0],
        "tau": stanford["samples"][0]["tau"], "expected": {"qdd": [0, 0, 0, 0, 0, 0]},
    }]);
    assert_passes(&held);
}

/// Cases of trees and loops are reproduced by every formulation of the equations of motion, not by one that replaces another; the null
/// space of the graph is that of trees.
#[test]
fn every_formulation_takes_part() {
    for (case, tree) in [
        ("tree6_mixed", true),
        ("tree5_moving_base", true),
        ("two_loops", false),
        ("baumgarte", false),
        ("bricard6r", false),
        ("parallelogram_redundant", false),
        ("fourbar_sim", false),
    ] {
        let report = verify_file(&path(case)).expect("the case can be read");
        assert!(report.passed(), "{report}");
        for formulation in Formulation::ALL {
            let takes_part = report.routes.iter().any(|r| r == formulation.name());
            let expected = tree || formulation != Formulation::TreeNullSpace;
            assert_eq!(takes_part, expected, "{case}, {}", formulation.name());
        }
    }
}

#[test]
fn a_report_without_quantities_is_no_pass() {
    let mut report = verify_file(&path("tree6_mixed")).expect("the case can be read");
    assert!(report.passed());
    assert!(report.to_string().ends_with("  passed"));
    report.quantities.clear();
    assert!(!report.passed());
    assert!(report.to_string().ends_with("FAILED: nothing was compared"));
}

fn vector(value: &Value) -> Vec3<f64> {
    let component = |k: usize| value[k].as_f64().expect("a number");
    Vec3::new(component(0), component(1), component(2))
}

fn matrix(value: &Value) -> Mat3<f64> {
    Mat3::from_rows([0, 1, 2].map(|k| vector(&value[k]).to_array()))
}

/// Angular and linear part of each freedom of a joint at its hinge point, as `docs/conformance.md` defines them.
fn freedoms(joint: &Value, parent: Mat3<f64>, child: Mat3<f64>) -> Vec<(Vec3<f64>, Vec3<f64>)> {
    let none = Vec3::zero();
    let axis = |k: usize| parent * vector(&joint["axes"][k]);
    let rest = Mat3::from_quaternion([0, 1, 2, 3].map(|k| joint["q0"][k].as_f64().unwrap_or(0.0)));
    let turning = |m: Mat3<f64>| [m.x, m.y, m.z].map(|column| (column, none));
    let sliding = |m: Mat3<f64>| [m.x, m.y, m.z].map(|column| (none, column));
    match joint["type"].as_str().expect("a type") {
        "revolute" => vec![(axis(0), none)],
        "prismatic" => vec![(none, axis(0))],
        "helical" => vec![(axis(0), axis(0) * joint["pitch"].as_f64().expect("a pitch"))],
        "cylindrical" => vec![(axis(0), none), (none, axis(0))],
        "universal" => {
            let second = child * rest.transpose_times(vector(&joint["axes"][1]));
            vec![(axis(0), none), (second, none)]
        }
        "spherical" => turning(child).to_vec(),
        "planar" => vec![
            (none, axis(0)),
            (none, axis(1)),
            (axis(0).cross(axis(1)), none),
        ],
        "free" => [sliding(parent * rest), turning(child)].concat(),
        other => panic!("{other} is no joint type"),
    }
}

/// Newton's and Euler's equations of every body, and no work of the constraints, from the case alone.
#[test]
fn written_loads_balance_every_body() {
    for name in ["zoo", "random-12-5", "random-20-3"] {
        let model = embedded::model(name).expect("the model is embedded");
        let text = export_case(name, &model, 2, 3).expect("it can be written");
        let case: Value = serde_json::from_str(&text).expect("it is JSON");
        for sample in case["samples"].as_array().expect("samples") {
            balance(&case["model"], sample);
        }
    }
}

fn balance(model: &Value, sample: &Value) {
    let (state, expected) = (&sample["state"], &sample["expected"]);
    let bodies = model["bodies"].as_array().expect("bodies");
    let position = |body: usize| vector(&state["r"][body]);
    let rotation = |body: usize| matrix(&state["R"][body]);
    let mut forces: Vec<Vec3<f64>> = Vec::new();
    let mut torques: Vec<Vec3<f64>> = Vec::new();
    for (body, own) in bodies.iter().enumerate() {
        let weight = vector(&model["gravity"]) * own["mass"].as_f64().expect("a mass");
        forces.push(vector(&sample["external"][body]["force"]) + weight);
        torques.push(vector(&sample["external"][body]["torque"]));
    }
    for (index, joint) in model["joints"]
        .as_array()
        .expect("joints")
        .iter()
        .enumerate()
    {
        let child = joint["child"].as_u64().expect("a child") as usize;
        let parent = usize::try_from(joint["parent"].as_i64().expect("a parent")).ok();
        let parent_rotation = parent.map_or(Mat3::identity(), rotation);
        let hinge = position(child) + rotation(child) * vector(&joint["lc"]);
        let constraint = (
            vector(&expected["hinge_torque"][index]),
            vector(&expected["hinge_force"][index]),
        );
        let mut force = -constraint.1;
        let mut torque = -constraint.0;
        for (k, (angular, linear)) in freedoms(joint, parent_rotation, rotation(child))
            .iter()
            .enumerate()
        {
            let work = constraint.0.dot(*angular) + constraint.1.dot(*linear);
            let size = constraint.0.norm() + constraint.1.norm();
            assert!(
                work.abs() <= 1e-10 * (size + 1.0),
                "joint {index} works: {work}"
            );
            let of = |key: &str| joint[key][k].as_f64().unwrap_or(0.0);
            let at = |list: &Value| list[index][k].as_f64().expect("a number");
            let v = at(&sample["qd"]);
            let spring = of("stiffness") * (at(&sample["q"]) - of("rest"));
            let lost = of("armature") * at(&expected["joint_acc"]) + of("damping") * v;
            let effort = at(&sample["tau"]) - lost - of("friction") * v.signum() - spring;
            torque += *angular * effort;
            if joint["type"] != "helical" {
                force += *linear * effort;
            }
        }
        forces[child] += force;
        torques[child] += torque + (hinge - position(child)).cross(force);
        if let Some(parent) = parent {
            forces[parent] -= force;
            torques[parent] -= torque + (hinge - position(parent)).cross(force);
        }
    }
    for (body, own) in bodies.iter().enumerate() {
        let acceleration = vector(&expected["body_lin_acc"][body]);
        let inertial = acceleration * own["mass"].as_f64().expect("a mass");
        let turned = rotation(body);
        let tensor = turned * matrix(&own["inertia"]) * turned.transpose();
        let spin = vector(&state["w"][body]);
        let rate = tensor * vector(&expected["body_ang_acc"][body]) + spin.cross(tensor * spin);
        let off = (inertial - forces[body])
            .norm()
            .max((rate - torques[body]).norm());
        let size = inertial.norm() + forces[body].norm() + rate.norm() + torques[body].norm();
        assert!(
            off <= 1e-10 * (size + 1.0),
            "body {body} is out of balance by {off}"
        );
    }
}

/// The example in the document is a case, and its numbers are right.
#[test]
fn the_example_in_the_document_holds() {
    let document = include_str!("../../../docs/conformance.md");
    let (_, rest) = document
        .split_once("```json two-bodies.json\n")
        .expect("there is an example");
    let (example, _) = rest.split_once("```").expect("it ends");
    let report = verify_text(example, "conformance.md").expect("the example can be read");
    assert!(report.passed(), "{report}");
}
