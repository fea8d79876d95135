//! `catena optimize`: throws whose optimum is known in closed form.

mod common;

use common::{Folder, run_in};

/// A mass on a vertical slide.
const LIFT: &str = r#"format = "catena/1"
name = "lift"
gravity = [0, 0, -9.81]
[[link]]
name = "cabin"
mass = 2
[[joint]]
name = "lift"
type = "prismatic"
parent = "world"
child = "cabin"
axis = [0, 0, 1]
"#;

/// Thrown upward, it should be back after 1 s: v = g/2.
const STUDY: &str = r#"format = "catena-study/1"
name = "throw"
model = "lift.toml"
[[parameter]]
name = "speed"
unit = "m/s"
path = "v.lift"
uniform = [0, 10]
[run]
duration = 1
[[measure]]
name = "miss"
value = "last(q.lift) * last(q.lift)"
[[measure]]
name = "top"
unit = "m"
value = "max(q.lift)"
[optimize]
minimise = "miss"
tolerance = 1e-6
"#;

fn folder(name: &str, study: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("lift.toml", LIFT);
    folder.write("throw.toml", study);
    folder
}

#[test]
fn a_throw_comes_back() {
    let folder = folder("optimize-throw", STUDY);
    let run = run_in(
        folder.path(),
        &["optimize", "throw.toml", "-o", "best.json"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stderr, "wrote best.json\n");
    assert!(
        run.stdout
            .starts_with("throw: minimise miss of lift.toml, "),
        "{}",
        run.stdout
    );
    let text = std::fs::read_to_string(folder.path().join("best.json")).expect("it is there");
    let best: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let speed = best["parameters"]["speed"].as_f64().expect("a number");
    assert!((speed - 4.905).abs() < 1e-3, "{speed}");
    assert_eq!(best["satisfies"], true);
    let history = best["history"].as_array().expect("a list");
    assert_eq!(best["runs"], history.len());
    assert_eq!(
        history[best["best"].as_u64().expect("an index") as usize]["parameters"],
        best["parameters"]
    );
    // the same search again is the same, bit for bit
    let again = run_in(folder.path(), &["optimize", "throw.toml", "--json"]);
    assert_eq!(again.json(), best);
    let refused = run_in(
        folder.path(),
        &["optimize", "throw.toml", "-o", "best.json"],
    );
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("best.json already exists"),
        "{}",
        refused.stderr
    );
}

/// Below a ceiling of half a metre the fastest throw has v²/2g = 0.5.
#[test]
fn a_throw_below_a_ceiling() {
    let study = format!("{STUDY}[[constraint]]\nmeasure = \"top\"\nhigh = 0.5\n");
    let study = study.replace("duration = 1\n", "duration = 1\ninterval = 1e-3\n");
    let folder = folder("optimize-ceiling", &study);
    let run = run_in(folder.path(), &["optimize", "throw.toml", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let speed = run.json()["parameters"]["speed"]
        .as_f64()
        .expect("a number");
    let expected = 9.81f64.sqrt();
    assert!((speed - expected).abs() < 1e-2, "{speed}");
}

#[test]
fn what_cannot_be_satisfied_fails() {
    let study = format!("{STUDY}[[constraint]]\nmeasure = \"top\"\nlow = 50\n");
    let folder = folder("optimize-impossible", &study);
    let run = run_in(folder.path(), &["optimize", "throw.toml"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(
        run.stderr
            .contains("no point that was tried satisfies the constraints"),
        "{}",
        run.stderr
    );
}

#[test]
fn mistakes() {
    let folder = folder("optimize-mistakes", STUDY);
    let sweep = run_in(folder.path(), &["sweep", "throw.toml"]);
    assert_eq!(sweep.code, 2);
    assert!(
        sweep
            .stderr
            .starts_with("error: the study has no [design]\n  --> throw.toml\n"),
        "{}",
        sweep.stderr
    );
    let (plain, _) = STUDY.split_once("[optimize]").expect("it has one");
    folder.write(
        "plain.toml",
        &format!("{plain}[design]\nkind = \"random\"\nsamples = 3\nseed = 1\n"),
    );
    let run = run_in(folder.path(), &["optimize", "plain.toml"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .starts_with("error: the study has no [optimize]\n"),
        "{}",
        run.stderr
    );
    folder.write(
        "typo.toml",
        &STUDY.replace("minimise = \"miss\"", "minimise = \"mis\""),
    );
    let run = run_in(folder.path(), &["optimize", "typo.toml"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("did you mean `miss`?"),
        "{}",
        run.stderr
    );
    let run = run_in(folder.path(), &["optimize", "throw.toml", "-o", "best.csv"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is not named .json"), "{}", run.stderr);
}

fn optimum(folder: &Folder, study: &str) -> serde_json::Value {
    folder.write("study.toml", study);
    let run = run_in(folder.path(), &["optimize", "study.toml", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.json()
}

fn with_gradients(study: &str) -> String {
    study.replace("[optimize]", "[optimize]\nmethod = \"slsqp\"")
}

/// With gradients the same optimum is found in fewer runs, without and with a ceiling.
#[test]
fn gradients_need_fewer_runs() {
    let folder = folder("optimize-gradients", STUDY);
    let ceiling = format!("{STUDY}[[constraint]]\nmeasure = \"top\"\nhigh = 1\n");
    // the top, of recorded instants 0.01 s apart, is a bit below v²/2g = 1 m
    for (study, wanted, apart) in [(STUDY, 4.905, 1e-5), (&ceiling, 4.4294, 1e-3)] {
        let without = optimum(&folder, study);
        let with = optimum(&folder, &with_gradients(study));
        assert_eq!(without["method"], "cobyla");
        assert!(without["gradients"].is_null());
        assert_eq!(with["method"], "slsqp");
        assert_eq!(with["gradients"]["runs"], 0);
        assert!(with["gradients"]["differences_because"].is_null());
        let speed = with["parameters"]["speed"].as_f64().expect("a number");
        assert!((speed - wanted).abs() < apart, "{speed}");
        let runs = |found: &serde_json::Value| found["runs"].as_u64().expect("a number");
        assert!(
            3 * runs(&with) < 2 * runs(&without),
            "{} {}",
            runs(&with),
            runs(&without)
        );
    }
}

/// Gains, an initial state and a mass at once: gradients lead to the optimum that is found without them, in a fraction of the runs.
#[test]
fn gradients_of_several_parameters() {
    let folder = Folder::new("optimize-several");
    let study = r#"format = "catena-study/1"
model = "planar3"
[[parameter]]
name = "stiff"
loguniform = [1, 200]
[[parameter]]
name = "damped"
loguniform = [0.5, 20]
[[parameter]]
name = "start"
path = "q.joint1"
uniform = [-0.5, 0.5]
[run]
duration = 1
interval = 0.02
controller = "computed-torque"
to = "joint1=30deg"
kp = "{stiff}"
kd = "{damped}"
unlimited = true
rtol = 1e-9
[[measure]]
name = "cost"
value = "integral((q.joint1 - 0.5)^2 + (v.joint1 - 1)^2 + 1e-3 * tau.joint1^2) + 0.1 * (ln(stiff) - 3)^2 + 0.1 * last(v.joint1)^2 + 0.01*start^2"
[optimize]
minimise = "cost"
tolerance = 1e-7
"#;
    let without = optimum(&folder, study);
    let with = optimum(&folder, &with_gradients(study));
    let cost = |found: &serde_json::Value| found["measures"]["cost"].as_f64().expect("a number");
    assert!(
        cost(&with) <= cost(&without) * (1.0 + 1e-4),
        "{} {}",
        cost(&with),
        cost(&without)
    );
    assert!(with["gradients"]["differences_because"].is_null());
    let runs = |found: &serde_json::Value| found["runs"].as_u64().expect("a number");
    assert!(
        2 * runs(&with) < runs(&without),
        "{} {}",
        runs(&with),
        runs(&without)
    );
}

/// Where there are no sensitivities, the report says why.
#[test]
fn differences_have_a_reason() {
    let folder = folder("optimize-differences", STUDY);
    let rubbing = LIFT.replace("axis = [0, 0, 1]", "axis = [0, 0, 1]\nfriction = 0.5");
    folder.write("lift.toml", &rubbing);
    folder.write("throw.toml", &with_gradients(STUDY));
    let run = run_in(folder.path(), &["optimize", "throw.toml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let reason = "because `lift` has dry friction, which sticks and slips\n";
    let line = run.stdout.lines().nth(1).expect("a second line");
    assert!(
        line.starts_with("gradients: differences from ") && run.stdout.contains(reason),
        "{}",
        run.stdout
    );
    // upward friction and gravity brake, downward friction carries: back after 1 s
    let found = run_in(folder.path(), &["optimize", "throw.toml", "--json"]).json();
    let speed = found["parameters"]["speed"].as_f64().expect("a number");
    let (up, down): (f64, f64) = (9.81 + 0.25, 9.81 - 0.25);
    let wanted = up / (1.0 + (up / down).sqrt());
    assert!((speed - wanted).abs() < 1e-4, "{speed} {wanted}");
    assert!(found["gradients"]["runs"].as_u64() > Some(1));
}

#[test]
fn an_unknown_method_is_refused() {
    let study = STUDY.replace("[optimize]", "[optimize]\nmethod = \"slsq\"");
    let folder = folder("optimize-unknown", &study);
    let run = run_in(folder.path(), &["optimize", "throw.toml"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("did you mean `slsqp`"),
        "{}",
        run.stderr
    );
}
