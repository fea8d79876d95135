//! `catena sweep`: its numbers, its files, and what happens when it is killed.

mod common;

use common::{Folder, numbers, run_in, run_with};
use std::path::Path;

/// A study of the two-link arm; what differs between tests is put in place of the words in capitals.
const STUDY: &str = r#"format = "catena-study/1"
model = "arm.urdf"
[design]
kind = "latin-hypercube"
samples = 40
seed = 3
[[parameter]]
name = "payload"
unit = "kg"
path = "link.lower.mass"
uniform = [0.5, 3]
[[parameter]]
name = "friction"
path = "joint.*.friction"
loguniform = [0.01, 1]
[[parameter]]
name = "gain"
uniform = [50, 200]
[run]
duration = 1
interval = 0.05
controller = "pd"
to = "shoulder=60deg"
move_time = 0.5
kp = "{gain}"
[[measure]]
name = "peak"
unit = "N·m"
value = "max(abs(tau.shoulder)) / 30"
[[measure]]
name = "error"
value = "last(q.shoulder) - 60deg"
"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let arm = std::fs::read_to_string(models.join("two_link_arm.urdf")).expect("it is there");
    folder.write("arm.urdf", &arm);
    folder.write("study.toml", STUDY);
    folder
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).expect(name)
}

/// The rows of results in CSV, without the header.
fn rows(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(bytes(folder, name)).expect("UTF-8");
    let lines = text.lines().skip(1);
    let cells = |line: &str| line.split(',').map(String::from).collect();
    lines.map(cells).collect()
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let folder = folder("sweep-threads");
    for (jobs, name) in [
        ("1", "one.parquet"),
        ("2", "two.parquet"),
        ("5", "five.parquet"),
    ] {
        let run = run_in(
            folder.path(),
            &["sweep", "study.toml", "--jobs", jobs, "-o", name],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.stderr, format!("wrote 40 rows to {name}\n"));
    }
    let one = bytes(&folder, "one.parquet");
    assert!(one.starts_with(b"PAR1"));
    assert!(one == bytes(&folder, "two.parquet"));
    assert!(one == bytes(&folder, "five.parquet"));
}

/// A sample is the run that `simulate` makes with the same values, bit for bit.
#[test]
fn a_sample_is_a_run_of_simulate() {
    let folder = folder("sweep-simulate");
    let run = run_in(folder.path(), &["sweep", "study.toml", "-o", "all.csv"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rows = rows(&folder, "all.csv");
    assert_eq!(rows.len(), 40);
    let row = &rows[17];
    let [payload, friction, gain] = [&row[1], &row[2], &row[3]];
    let arm = String::from_utf8(bytes(&folder, "arm.urdf")).expect("UTF-8");
    let (upper, lower) = arm.split_once("<link name=\"lower\">").expect("two links");
    let lower = lower.replace(
        "<mass value=\"1\"/>",
        &format!("<mass value=\"{payload}\"/>"),
    );
    let arm = format!("{upper}<link name=\"lower\">{lower}");
    let arm = arm.replace("<dynamics ", &format!("<dynamics friction=\"{friction}\" "));
    folder.write("own.urdf", &arm);
    let gain = format!("--kp={gain}");
    let arguments = [
        "simulate",
        "own.urdf",
        "--duration",
        "1",
        "--interval",
        "0.05",
        "--controller",
        "pd",
        "--to",
        "shoulder=60deg",
        "--move-time",
        "0.5",
        &gain,
        "--accelerations",
        "general",
        "--json",
    ];
    let run = run_in(folder.path(), &arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let error = numbers(&run.json()["q"])[0] - 60f64.to_radians();
    assert_eq!(row[5], format!("{error:?}"));
}

/// Without dry friction, stops and controllers, samples run in lanes. They are the runs of `simulate` to round-off, and their bytes depend
/// neither on threads nor on which of them run together.
#[test]
fn samples_in_lanes() {
    in_lanes("sweep-lanes", "dop853", ("rtol", "1e-9"));
}

/// The end and the recorded instants are within steps.
#[test]
fn samples_of_fixed_steps_in_lanes() {
    in_lanes("sweep-fixed-lanes", "rk4", ("step", "0.003"));
    in_lanes(
        "sweep-euler-lanes",
        "semi-implicit-euler",
        ("step", "0.0007"),
    );
}

fn in_lanes(name: &str, method: &str, (key, number): (&str, &str)) {
    let folder = folder(name);
    let study = r#"format = "catena-study/1"
model = "arm.urdf"
[design]
kind = "sobol"
samples = 20
seed = 5
[[parameter]]
name = "payload"
path = "link.lower.mass"
uniform = [0.5, 3]
[[parameter]]
name = "damping"
path = "joint.*.damping"
uniform = [0.1, 1]
[[parameter]]
name = "angle"
path = "q.elbow"
uniform = [-1, 1]
[run]
duration = 0.5
interval = 0.1
method = "dop853"
rtol = 1e-9
[[measure]]
name = "end"
value = "last(q.shoulder)"
[[measure]]
name = "energy"
value = "audit.energy"
[[measure]]
name = "steps"
value = "steps"
"#;
    let settings = format!("method = \"{method}\"\n{key} = {number}\naudit = \"report\"\n");
    let study = &study.replace("method = \"dop853\"\nrtol = 1e-9\n", &settings);
    folder.write("lanes.toml", study);
    for (jobs, name) in [("1", "one.csv"), ("3", "three.csv")] {
        let run = run_in(
            folder.path(),
            &["sweep", "lanes.toml", "--jobs", jobs, "-o", name],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        if !catena_testing::skipped_on_baseline(catena::Cpu::detect()) {
            assert!(
                run.stderr.starts_with("samples ran in lanes, "),
                "{}",
                run.stderr
            );
        }
    }
    assert!(bytes(&folder, "one.csv") == bytes(&folder, "three.csv"));
    let all = rows(&folder, "one.csv");
    assert_eq!(all.len(), 20);
    // one of them alone, as the only sample of a list
    let row = &all[13];
    folder.write(
        "list.csv",
        &format!("payload,damping,angle\n{},{},{}\n", row[1], row[2], row[3]),
    );
    let alone = study.replace(
        "kind = \"sobol\"\nsamples = 20\nseed = 5\n",
        "kind = \"list\"\nfile = \"list.csv\"\n",
    );
    let alone = alone
        .replace("uniform = [0.5, 3]\n", "")
        .replace("uniform = [0.1, 1]\n", "")
        .replace("uniform = [-1, 1]\n", "");
    folder.write("alone.toml", &alone);
    let run = run_in(folder.path(), &["sweep", "alone.toml", "-o", "alone.csv"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(rows(&folder, "alone.csv")[0][1..], row[1..]);
    // and by `simulate`
    let arm = String::from_utf8(bytes(&folder, "arm.urdf")).expect("UTF-8");
    let (upper, lower) = arm.split_once("<link name=\"lower\">").expect("two links");
    let lower = lower.replace(
        "<mass value=\"1\"/>",
        &format!("<mass value=\"{}\"/>", row[1]),
    );
    let arm = format!("{upper}<link name=\"lower\">{lower}");
    let damped = with_damping(&arm, &row[2]);
    folder.write("own.urdf", &damped);
    let start = format!("--q=elbow={}", row[3]);
    let run = run_in(
        folder.path(),
        &[
            "simulate",
            "own.urdf",
            "--duration",
            "0.5",
            "--interval",
            "0.1",
            &format!("--method={method}"),
            &format!("--{key}={number}"),
            "--audit=report",
            &start,
            "--json",
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (end, expected) = (
        row[4].parse::<f64>().expect("a number"),
        numbers(&run.json()["q"])[0],
    );
    assert!((end - expected).abs() < 1e-12, "{end} {expected}");
    let steps = row[6].parse::<f64>().expect("a number");
    assert_eq!(run.json()["audit"]["steps"].as_f64(), Some(steps));
}

/// A joint with dry friction runs alone, whichever sample has it.
#[test]
fn samples_in_lanes_are_counted() {
    let folder = folder("sweep-some-lanes");
    let study = r#"format = "catena-study/1"
model = "arm.urdf"
[design]
kind = "grid"
[[parameter]]
name = "dry"
path = "joint.*.friction"
values = [0.1, 0, 0.2]
[run]
duration = 0.1
[[measure]]
name = "end"
value = "last(q.shoulder)"
"#;
    for values in ["[0.1, 0, 0.2]", "[0, 0.1, 0.2]"] {
        folder.write("some.toml", &study.replace("[0.1, 0, 0.2]", values));
        let run = run_in(folder.path(), &["sweep", "some.toml"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        if !catena_testing::skipped_on_baseline(catena::Cpu::detect()) {
            assert_eq!(run.stderr, "1 of 3 samples ran in lanes\n", "{values}");
        }
    }
}

/// Whole numbers reach options that take nothing else.
#[test]
fn whole_numbers_of_a_run() {
    let folder = folder("sweep-whole");
    let study = r#"format = "catena-study/1"
model = "arm.urdf"
[design]
kind = "grid"
[[parameter]]
name = "start"
values = [1, 2]
[run]
duration = 0.1
random = RANDOM
[[measure]]
name = "begin"
value = "first(q.shoulder)"
"#;
    let begins = |study: &str| {
        folder.write("whole.toml", study);
        let run = run_in(
            folder.path(),
            &["sweep", "whole.toml", "-o", "whole.csv", "--overwrite"],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        let rows = rows(&folder, "whole.csv");
        rows.into_iter()
            .map(|row| row[2].clone())
            .collect::<Vec<String>>()
    };
    let varied = begins(&study.replace("RANDOM", "\"{start}\""));
    assert_ne!(varied[0], varied[1]);
    let fixed = study.replace("name = \"start\"", "name = \"start\"\npath = \"v.elbow\"");
    let fixed = begins(&fixed.replace("RANDOM", "2"));
    assert_eq!(fixed, [varied[1].as_str(), varied[1].as_str()]);
}

/// A search that leaves the masses that exist: failed runs are reported, and a file that cannot be written does not lose the result.
#[test]
fn an_optimum_among_failures() {
    let folder = folder("sweep-optimum");
    let model = r#"{"format": "catena/1", "name": "lift", "gravity": [0, 0, -9.81],
"link": [{"name": "cabin", "mass": 2}],
"joint": [{"name": "lift", "type": "prismatic", "parent": "world", "child": "cabin"}]}"#;
    folder.write("lift.json", model);
    let study = r#"format = "catena-study/1"
model = "lift.json"
[[parameter]]
name = "mass"
path = "link.cabin.mass"
uniform = [-1, 3]
[run]
duration = 0.1
[[measure]]
name = "weight"
value = "9.81 * mass"
[optimize]
minimise = "weight"
tolerance = 1e-2
"#;
    folder.write("least.toml", study);
    let run = run_in(folder.path(), &["optimize", "least.toml", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = run.json();
    let history = found["history"].as_array().expect("a list");
    let reasons = history.iter().filter_map(|point| point["failure"].as_str());
    let reasons: Vec<&str> = reasons.collect();
    assert!(!reasons.is_empty());
    assert_eq!(found["failed"], reasons.len());
    // the name is that of a folder
    std::fs::create_dir(folder.path().join("taken.json")).expect("a folder");
    let arguments = ["optimize", "least.toml", "-o", "taken.json", "--overwrite"];
    let run = run_in(folder.path(), &arguments);
    assert_eq!(run.code, 2);
    let told = format!(", {} failed ({}); ", reasons.len(), reasons[0]);
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    assert!(run.stdout.contains("weight"), "{}", run.stdout);
    assert!(run.stderr.contains("is not a file"), "{}", run.stderr);
    // the name is that of the model
    let arguments = ["optimize", "least.toml", "-o", "lift.json", "--overwrite"];
    let run = run_in(folder.path(), &arguments);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("would replace"), "{}", run.stderr);
    // a bound that cannot be kept
    folder.write(
        "bound.toml",
        &format!("{study}[[constraint]]\nmeasure = \"weight\"\nlow = 100\n"),
    );
    let run = run_in(folder.path(), &["optimize", "bound.toml"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout.contains("violated: weight is ")
            && run.stdout.ends_with(" below its bound 100\n"),
        "{}",
        run.stdout
    );
}

/// The arm with this damping in all joints.
fn with_damping(arm: &str, damping: &str) -> String {
    let mut text = String::new();
    let mut rest = arm;
    while let Some((before, after)) = rest.split_once("damping=\"") {
        let (_, after) = after.split_once('"').expect("a closing quote");
        text += &format!("{before}damping=\"{damping}\"");
        rest = after;
    }
    text + rest
}

/// What cannot be computed is a row with its reason, and the others are there.
#[test]
fn failures_are_rows() {
    let folder = folder("sweep-failures");
    let text = STUDY
        .replace(
            "kind = \"latin-hypercube\"\nsamples = 40\nseed = 3",
            "kind = \"grid\"",
        )
        .replace("uniform = [0.5, 3]", "values = [1, -1, 2]")
        .replace("loguniform = [0.01, 1]", "values = [0.1]")
        .replace("uniform = [50, 200]", "range = [50, 100, 2]");
    folder.write("grid.toml", &text);
    let run = run_in(folder.path(), &["sweep", "grid.toml", "-o", "grid.csv"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout
            .contains("6 samples of arm.urdf, design grid, 2 failed"),
        "{}",
        run.stdout
    );
    let rows = rows(&folder, "grid.csv");
    let values: Vec<[&str; 2]> = rows.iter().map(|row| [&row[1][..], &row[3]]).collect();
    let wanted = [
        ["1.0", "50.0"],
        ["1.0", "100.0"],
        ["-1.0", "50.0"],
        ["-1.0", "100.0"],
        ["2.0", "50.0"],
        ["2.0", "100.0"],
    ];
    assert_eq!(values, wanted);
    for (k, row) in rows.iter().enumerate() {
        let failed = k == 2 || k == 3;
        assert_eq!(row[4].is_empty(), failed, "{row:?}");
        assert_eq!(row[6].contains("mass"), failed, "{row:?}");
    }
    let json = run_in(folder.path(), &["sweep", "grid.toml", "--json"]).json();
    assert_eq!(json["failed"], 2);
    assert_eq!(json["measures"][0]["count"], 4);
}

#[test]
fn a_list_of_samples() {
    let folder = folder("sweep-list");
    let text = STUDY
        .replace(
            "kind = \"latin-hypercube\"\nsamples = 40\nseed = 3",
            "kind = \"list\"\nfile = \"list.csv\"",
        )
        .replace("uniform = [0.5, 3]\n", "")
        .replace("loguniform = [0.01, 1]\n", "")
        .replace("uniform = [50, 200]\n", "");
    folder.write("study.toml", &text);
    folder.write(
        "list.csv",
        "gain, payload, friction\n100, 1, 0.1\n120, 2, 0.2\n",
    );
    let run = run_in(
        folder.path(),
        &["sweep", "study.toml", "-o", "list-results.csv"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rows = rows(&folder, "list-results.csv");
    assert_eq!(rows[1][..4], ["1", "2.0", "0.2", "120.0"]);
    folder.write(
        "list.csv",
        "gain, payload, friction\n100, 1, 0.1\n120, x, 0.2\n",
    );
    let run = run_in(folder.path(), &["sweep", "study.toml"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            2,
            "error: `payload`: `x` is not a finite number\n  --> list.csv:3\n"
        )
    );
}

/// What is wrong is reported with its line before anything is computed.
#[test]
fn mistakes() {
    let folder = folder("sweep-mistakes");
    for (old, new, message) in [
        (
            "model = \"arm.urdf\"",
            "model = \"stanfrod\"",
            "error: there is no embedded model `stanfrod`\n  --> study.toml:2\nhint: did you mean `stanford`?",
        ),
        (
            "link.lower.mass",
            "link.lowr.mass",
            "error: `link.lowr.mass`: there is no link `lowr`\n  --> study.toml:10\nhint: did you mean `lower`?",
        ),
        (
            "link.lower.mass",
            "q.elbo",
            "error: there is no coordinate `q.elbo`\n  --> study.toml:10\nhint: did you mean `q.elbow`?",
        ),
        (
            "move_time",
            "move_tim",
            "error: `run.move-tim` is not a setting of a run\n  --> study.toml:24\nhint: did you mean `move-time`?",
        ),
        (
            "duration = 1",
            "duration = true",
            "error: `run.duration` must be a value\n  --> study.toml:20",
        ),
        (
            "duration = 1",
            "duration = \"long\"",
            "error: invalid value 'long' for '--duration <T>': invalid float literal\n  --> study.toml:20",
        ),
        (
            "max(abs(tau.shoulder)) / 30",
            "max(abs(tau.sholder)) / 30",
            "error: measure `peak`: `max(abs(tau.sholder)) / 30`, column 9: the run has no column `tau.sholder`\n  --> study.toml:29\nhint: did you mean `tau.shoulder`?",
        ),
        (
            "max(abs(tau.shoulder)) / 30",
            "tau.shoulder",
            "error: measure `peak`: `tau.shoulder`, column 1: `tau.shoulder` is not one number\n  --> study.toml:29\nhint: take one number of a column, as last(tau.shoulder)",
        ),
        (
            "max(abs(tau.shoulder)) / 30",
            "max(mean(time))",
            "error: measure `peak`: `max(mean(time))`, column 5: `mean` over time stands within another such function\n  --> study.toml:29",
        ),
    ] {
        assert!(STUDY.contains(old), "{old}");
        folder.write("study.toml", &STUDY.replace(old, new));
        let run = run_in(folder.path(), &["sweep", "study.toml", "-o", "x.parquet"]);
        assert_eq!(run.code, 2, "{new}\n{}", run.stderr);
        assert!(run.stderr.starts_with(message), "{new}\n{}", run.stderr);
        assert!(!folder.path().join("x.parquet.journal").exists(), "{new}");
    }
}

/// A cluster is reached through an interpreter; what it lacks is named, and a helper that dies leaves a study that can be resumed.
#[cfg(unix)]
#[test]
fn a_cluster_that_cannot_be_reached() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("sweep-no-cluster");
    let on_cluster = |python: &str, more: &[&str]| {
        let words = ["sweep", "study.toml", "-o", "x.csv", "--engine", "ray"];
        let words = [&words[..], more].concat();
        let run = run_with(folder.path(), &words, &[("CATENA_PYTHON", python)]);
        assert_eq!(run.code, 2);
        run.stderr
    };
    let journal = folder.path().join("x.csv.journal");
    let said = on_cluster("./no-such-python", &[]);
    let wanted = "error: --engine ray: `./no-such-python` cannot be started: ";
    assert!(said.starts_with(wanted), "{said}");
    assert!(said.contains("`pip install . ray`"), "{said}");
    for (script, wanted) in [
        (
            "echo \"$0: No module named catena\" >&2; exit 1",
            "error: --engine ray: `./python` does not have the package catena\nhint: install catena and ray: `pip install . ray` in a clone of catena",
        ),
        (
            "echo 'error {\"message\": \"no cluster\", \"hint\": \"start one\"}'",
            "error: --engine ray: no cluster\nhint: start one\n",
        ),
        (
            "echo hello",
            "error: --engine ray: the process says `hello`\n",
        ),
        (
            "echo out of memory >&2",
            "error: --engine ray: the process that speaks with Ray has ended: out of memory\n",
        ),
    ] {
        folder.write("python", &format!("#!/bin/sh\n{script}\n"));
        let path = folder.path().join("python");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a script");
        let said = on_cluster("./python", &["--address", "127.0.0.1:6379"]);
        assert!(said.starts_with(wanted), "{said}");
        assert!(!journal.exists(), "{script}");
    }
    folder.write(
        "python",
        "#!/bin/sh\necho ready\necho samples 9\necho 12345678\ncat > sent\n",
    );
    let said = on_cluster("./python", &[]);
    let wanted = "error: samples have arrived damaged: a checksum is wrong\n";
    assert!(said.starts_with(wanted), "{said}");
    assert!(journal.exists());
    // what was sent: the study with its model, and what is missing
    let sent = String::from_utf8(bytes(&folder, "sent")).expect("UTF-8");
    let arm = String::from_utf8(bytes(&folder, "arm.urdf")).expect("UTF-8");
    assert!(
        sent.starts_with("{\"address\":null,\"shipment\":"),
        "{sent}"
    );
    assert!(sent.contains(&arm) && sent.contains(STUDY), "{sent}");
    assert!(sent.ends_with("{\"missing\":[[0,40]]}\n"), "{sent}");
}

#[cfg(unix)]
mod killed {
    use super::*;
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    fn samples(journal: &Path) -> usize {
        std::fs::read_to_string(journal).map_or(0, |text| text.lines().count().saturating_sub(1))
    }

    /// Kills the study twice after some samples, resumes it, and compares the file with that of a study nobody has killed.
    #[test]
    fn resumed_without_losing_or_repeating_a_sample() {
        let folder = folder("sweep-killed");
        folder.write(
            "study.toml",
            &STUDY.replace("samples = 40", "samples = 150"),
        );
        let run = run_in(
            folder.path(),
            &["sweep", "study.toml", "-o", "whole.parquet"],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        let journal = folder.path().join("killed.parquet.journal");
        let mut before = 0;
        for resume in [&[][..], &["--resume"]] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_catena"))
                .args(["sweep", "study.toml", "-o", "killed.parquet"])
                .args(resume)
                .current_dir(folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program can be started");
            let began = Instant::now();
            while samples(&journal) < before + 20 {
                assert!(began.elapsed() < Duration::from_secs(60), "no samples");
                sleep(Duration::from_millis(1));
            }
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
            let after = samples(&journal);
            assert!(after >= before + 20 && after < 150, "{before} {after}");
            before = after;
        }
        assert!(!folder.path().join("killed.parquet").exists());

        // half a line, as a kill in the middle of a write would leave it
        let mut text = std::fs::read_to_string(&journal).expect("a journal");
        let kept = text.lines().count() - 1;
        text += "0123abcd {\"sample\": 39";
        std::fs::write(&journal, &text).expect("it can be written");

        let again = run_in(
            folder.path(),
            &["sweep", "study.toml", "-o", "killed.parquet"],
        );
        assert_eq!(again.code, 2);
        assert!(
            again
                .stderr
                .contains("the study was begun and is not finished"),
            "{}",
            again.stderr
        );

        let changed = STUDY
            .replace("samples = 40", "samples = 150")
            .replace("[0.5, 3]", "[0.5, 4]");
        folder.write("changed.toml", &changed);
        let other = run_in(
            folder.path(),
            &["sweep", "changed.toml", "-o", "killed.parquet", "--resume"],
        );
        assert_eq!(other.code, 2);
        let wanted = "error: the study was begun with another study file\n  --> killed.parquet\n";
        assert!(other.stderr.starts_with(wanted), "{}", other.stderr);

        let arm = String::from_utf8(bytes(&folder, "arm.urdf")).expect("UTF-8");
        folder.write(
            "arm.urdf",
            &arm.replace("damping=\"0.1\"", "damping=\"0.2\""),
        );
        let other = run_in(
            folder.path(),
            &["sweep", "study.toml", "-o", "killed.parquet", "--resume"],
        );
        assert!(
            other.stderr.contains("begun with another model"),
            "{}",
            other.stderr
        );
        folder.write("arm.urdf", &arm);

        let run = run_in(
            folder.path(),
            &["sweep", "study.toml", "-o", "killed.parquet", "--resume"],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        let wanted = format!(
            "resumed: {kept} of 150 samples were already computed; left out 22 bytes of an incomplete line\nwrote 150 rows to killed.parquet\n"
        );
        assert_eq!(run.stderr, wanted);
        assert!(bytes(&folder, "whole.parquet") == bytes(&folder, "killed.parquet"));
        assert!(!journal.exists());
        let over = run_in(
            folder.path(),
            &["sweep", "study.toml", "-o", "killed.parquet", "--resume"],
        );
        assert!(
            over.stderr
                .contains("the study is finished; there is nothing to resume"),
            "{}",
            over.stderr
        );
    }
}

/// Exit code, output and messages of a command.
fn told(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let run = run_in(folder, arguments);
    (run.code, run.stdout, run.stderr)
}

/// A study of another command: its JSON is what measures are about.
const HOLDING: &str = r#"format = "catena-study/1"
model = "arm.urdf"
[design]
kind = "grid"
[[parameter]]
name = "payload"
path = "link.lower.mass"
values = [1, 2]
[[parameter]]
name = "lean"
path = "q.shoulder"
values = ["0deg", "30deg"]
[run]
command = "inverse"
a = "elbow=1"
[[measure]]
name = "effort"
value = "last(tau.shoulder)"
"#;

/// The numbers of `catena inverse` at this position, with the mass of the lower arm as in the file.
fn efforts(folder: &Folder, lean: &str) -> f64 {
    let typed = format!("shoulder={lean}");
    let arguments = [
        "inverse", "arm.urdf", "--q", &typed, "--a", "elbow=1", "--json",
    ];
    run_in(folder.path(), &arguments).json()["states"][0]["tau"][0]
        .as_f64()
        .expect("a number")
}

#[test]
fn other_commands_are_studied() {
    let folder = folder("sweep-commands");
    folder.write("holding.toml", HOLDING);
    let (code, _, errors) = told(
        folder.path(),
        &["sweep", "holding.toml", "-o", "holding.csv"],
    );
    assert_eq!(code, 0, "{errors}");
    let rows = rows(&folder, "holding.csv");
    let found: Vec<f64> = rows
        .iter()
        .map(|row| row[3].parse().expect("a number"))
        .collect();
    // the lower arm has 1 kg in the file
    assert_eq!(
        found[..2],
        [efforts(&folder, "0deg"), efforts(&folder, "30deg")]
    );
    assert!(found[3] > found[1] + 1.0, "{found:?}");

    let evaluate = HOLDING
        .replace("inverse", "evaluate")
        .replace("a = \"elbow=1\"\n", "");
    let evaluate = evaluate.replace("last(tau.shoulder)", "last(frames.lower.position.x) + last(inertia.shoulder.elbow) * 0 + last(potential_energy) * 0");
    folder.write("evaluate.toml", &evaluate);
    let (code, _, errors) = told(
        folder.path(),
        &["sweep", "evaluate.toml", "-o", "evaluate.csv"],
    );
    assert_eq!(code, 0, "{errors}");
    let place: f64 = self::rows(&folder, "evaluate.csv")[1][3]
        .parse()
        .expect("a number");
    assert!((place.abs() - 0.25).abs() < 1e-12, "{place}");

    let modes = evaluate.replace("\"evaluate\"", "\"linearize\"");
    let begin = modes.find("value = \"").expect("a formula");
    let modes = format!("{}value = \"last(modes.1.frequency)\"\n", &modes[..begin]);
    folder.write("modes.toml", &modes.replace("[\"0deg\", \"30deg\"]", "[0]"));
    let (code, _, errors) = told(folder.path(), &["sweep", "modes.toml", "-o", "modes.csv"]);
    assert_eq!(code, 0, "{errors}");

    folder.write(
        "tolerance.toml",
        "format = \"catena-study/1\"\nmodel = \"pendulum\"\n[design]\nkind = \"grid\"\n[[parameter]]\nname = \"tolerance\"\nvalues = [1e-6, 1e-9]\n\
         [[parameter]]\nname = \"scheme\"\nvalues = [\"tsit5\", \"dop853\"]\n[run]\ncommand = \"benchmark\"\nmethod = \"{scheme}\"\nrtol = \"{tolerance}\"\n\
         [[measure]]\nname = \"off\"\nvalue = \"last(error)\"\n",
    );
    let (code, _, errors) = told(folder.path(), &["sweep", "tolerance.toml", "-o", "off.csv"]);
    assert_eq!(code, 0, "{errors}");
    let rows = self::rows(&folder, "off.csv");
    let off: Vec<f64> = rows
        .iter()
        .map(|row| row[3].parse().expect("a number"))
        .collect();
    assert!(off[2] < 0.1 * off[0] && off[3] < 0.1 * off[1], "{off:?}");
    assert_eq!(rows[1][2], "dop853");
}

#[test]
fn wrong_commands_are_refused() {
    let folder = folder("sweep-wrong-commands");
    for (old, new, message) in [
        (
            "\"inverse\"",
            "\"invers\"",
            "`invers` is not a command that studies can run",
        ),
        (
            "\"inverse\"",
            "[\"inverse\", \"forward\"]",
            "`run.command` must be the name of a command",
        ),
        ("a = ", "tau = ", "`run.tau` is not a setting of a run"),
        (
            "last(tau.shoulder)",
            "last(tau.wrist)",
            "the run has no column `tau.wrist`",
        ),
        (
            "last(tau.shoulder)",
            "steps",
            "`steps` exists for simulations only",
        ),
        (
            "values = [\"0deg\", \"30deg\"]",
            "values = [1, 2]\nrelative = true",
            "`q.shoulder` cannot be relative",
        ),
        (
            "values = [1, 2]",
            "values = [\"light\", \"heavy\"]",
            "takes numbers, and the values are strings",
        ),
        ("values = [1, 2]", "values = [\"light\", 2]", "must be"),
        (
            "path = \"link.lower.mass\"\nvalues = [1, 2]",
            "values = [\"a\", \"a\"]",
            "has `a` twice",
        ),
        (
            "\"inverse\"\na = \"elbow=1\"",
            "\"benchmark\"",
            "has no model to change",
        ),
    ] {
        let text = HOLDING.replace(old, new);
        assert_ne!(text, HOLDING, "{old}");
        let text = match new.contains("benchmark") {
            true => text.replace("arm.urdf", "pendulum"),
            false => text,
        };
        folder.write("wrong.toml", &text);
        let (code, _, errors) = told(folder.path(), &["sweep", "wrong.toml"]);
        assert_eq!(code, 2, "{new}: {errors}");
        assert!(errors.contains(message), "{new}: {errors}");
    }
}

/// Texts vary settings: they are columns of results, and no part of formulas.
#[test]
fn methods_vary() {
    let folder = folder("sweep-texts");
    let study = "format = \"catena-study/1\"\nmodel = \"arm.urdf\"\n[design]\nkind = \"grid\"\n[[parameter]]\nname = \"scheme\"\nvalues = [\"rk4\", \"dopri5\", \"dop853\"]\n\
         [[parameter]]\nname = \"lean\"\npath = \"q.shoulder\"\nvalues = [0.5, 1]\n[run]\nduration = 0.2\nmethod = \"{scheme}\"\n[[measure]]\nname = \"end\"\nvalue = \"last(q.shoulder)\"\n";
    folder.write("texts.toml", study);
    for output in ["texts.csv", "texts.parquet"] {
        let (code, text, errors) = told(folder.path(), &["sweep", "texts.toml", "-o", output]);
        assert_eq!(code, 0, "{errors}");
        assert!(text.contains("rk4, dopri5, dop853"), "{text}");
        assert!(text.contains("what `end` depends on"), "{text}");
    }
    let rows = rows(&folder, "texts.csv");
    let schemes: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
    assert_eq!(
        schemes,
        ["rk4", "rk4", "dopri5", "dopri5", "dop853", "dop853"]
    );
    let end = |k: usize| rows[k][3].parse::<f64>().expect("a number");
    assert!((end(0) - end(4)).abs() < 1e-8 && end(0) != end(4));
    folder.write(
        "formula.toml",
        &study.replace("last(q.shoulder)", "last(q.shoulder) + scheme"),
    );
    let (code, _, errors) = told(folder.path(), &["sweep", "formula.toml"]);
    assert_eq!(code, 2);
    assert!(errors.contains("`scheme`"), "{errors}");
}
