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
        refused.stderr.contains("best.json is there already"),
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
