//! Every command on embedded models: it runs, its JSON parses, and its key numbers are right.

mod common;

use common::{Folder, assert_close, good, numbers, run, run_in};
use serde_json::{Value, json};
use std::f64::consts::PI;
use std::io::Read;
use std::process::{Command, Stdio};

fn states(value: &Value) -> &Vec<Value> {
    value["states"].as_array().expect("a list of states")
}

#[test]
fn without_a_command_the_main_job_is_shown() {
    let run = good("");
    for line in run.stdout.lines() {
        assert!(width(line) <= 80, "{} columns: {line}", width(line));
    }
    for part in [
        "I(q) v̇ + C(q, v) v + g(q) = τ",
        "13.3416",
        "I = U D Uᵀ",
        "FORWARD DYNAMICS",
        "laws hold",
        "µs",
        "where to go next",
    ] {
        assert!(run.stdout.contains(part), "`{part}` is missing");
    }
}

/// Columns a line takes: marks above a letter take none.
fn width(line: &str) -> usize {
    line.chars()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .count()
}

#[test]
fn the_commands_the_tour_names_work() {
    let folder = Folder::new("tour");
    let tour = folder.run("").stdout;
    let next = tour.split("where to go next").nth(1).expect("a last part");
    let mut count = 0;
    for line in next.lines().filter(|line| line.contains("catena")) {
        let command = line.trim().split("   ").next().unwrap_or_default();
        let run = folder.run(command.trim_start_matches("catena"));
        assert_eq!(run.code, 0, "{command}\n{}", run.stderr);
        count += 1;
    }
    assert!(count >= 5);
}

#[test]
fn info() {
    let text = good("info stanford").stdout;
    for part in ["21.1 kg", "└─ link6", "prismatic", "tool", "assumptions"] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    let value = good("info zoo --matrices --json").json();
    assert_eq!(value["format"], "catena-info/1");
    assert_eq!(value["nv"], 20);
    assert_eq!(value["nq"], 22);
    assert_eq!(value["base"], "free");
    assert_eq!(value["freedoms"][6]["armature"], 0.02);
    assert_eq!(value["positions"][3]["name"], "free-joint.qw");
    // T S = 1
    let matrix = |key: &str| -> Vec<Vec<f64>> {
        value[key]
            .as_array()
            .expect("rows")
            .iter()
            .map(numbers)
            .collect()
    };
    let (s, t) = (matrix("incidence_matrix"), matrix("path_matrix"));
    for i in 0..9 {
        for j in 0..9 {
            let product: f64 = (0..9).map(|k| t[i][k] * s[k][j]).sum();
            assert_eq!(product, f64::from(u8::from(i == j)));
        }
    }
    let bare = good("info zoo --no-passive --json").json();
    assert_eq!(bare["freedoms"][6]["damping"], 0.0);
    assert_eq!(bare["freedoms"][6]["armature"], 0.02);
}

#[test]
fn very_deep_trees_are_drawn() {
    let text = good("info chain-3000").stdout;
    assert!(text.lines().all(|line| width(line) < 100));
}

#[test]
fn torque_of_the_paper() {
    let value = good("inverse stanford --trajectory paper --steps 20 --json").json();
    let states = states(&value);
    assert_eq!(states.len(), 21);
    let first = numbers(&states[0]["tau"]);
    assert_close(
        &first,
        &[0.0, 9.81 * (0.7 + 0.66), 0.0, 0.0, 0.0, 0.0],
        1e-12,
    );
    // instants of the reference data, t = 0.5 s
    let second = numbers(&states[1]["tau"]);
    let expected = [
        0.03131667234385625,
        13.332818214489917,
        -0.0014412399056160645,
        0.00010567462820717965,
        1.5252799486077193e-05,
        8.134743135531341e-05,
    ];
    assert_close(&second, &expected, 1e-13);
    let last = states.last().expect("an end");
    assert_close(
        &numbers(&last["q"]),
        &[PI / 3.0, PI / 3.0, 0.1, PI / 3.0, PI / 3.0, PI / 3.0],
        1e-15,
    );
}

#[test]
fn planar_arm_of_the_paper() {
    let value = good("inverse planar3 --trajectory paper --steps 20 --json").json();
    let tau = numbers(&states(&value)[2]["tau"]);
    let expected = [4.383072737180621, 1.5666278406206204, 0.32788205285923894];
    assert_close(&tau, &expected, 1e-13);
}

#[test]
fn paper_is_the_cycloid_with_its_ends() {
    let paper = good("inverse planar3 --trajectory paper --steps 7 --json").stdout;
    let cycloid =
        good("inverse planar3 --trajectory cycloid --to pi,pi,pi --duration 10 --steps 7 --json")
            .stdout;
    assert_eq!(paper, cycloid);
    let quintic =
        good("inverse planar3 --trajectory quintic --to pi,180deg,1pi --steps 7 --json").stdout;
    assert_ne!(paper, quintic);
}

#[test]
fn units_of_angles() {
    let radians = good(&format!(
        "inverse planar3 --q {},0.25,{} --json",
        PI / 2.0,
        -0.75 * PI
    ))
    .json();
    let written = good("inverse planar3 --q 90deg,0.25rad,-3*pi/4 --json").json();
    assert_close(
        &numbers(&radians["states"][0]["tau"]),
        &numbers(&written["states"][0]["tau"]),
        1e-15,
    );
}

#[test]
fn forward_undoes_inverse() {
    for model in [
        "stanford",
        "space-robot",
        "zoo",
        "pendulum-3",
        "random-12-4",
    ] {
        let folder = Folder::new(&format!("undo-{model}"));
        let inverse = folder.run(&format!("inverse {model} --random 5 --states 3 --json"));
        assert_eq!(inverse.code, 0, "{}", inverse.stderr);
        folder.write("states.json", &inverse.stdout);
        let forward = folder.run(&format!("forward {model} --state states.json --json"));
        assert_eq!(forward.code, 0, "{}", forward.stderr);
        let (given, found) = (inverse.json(), forward.json());
        assert_eq!(states(&found).len(), 3);
        for (given, found) in states(&given).iter().zip(states(&found)) {
            assert_close(&numbers(&given["a"]), &numbers(&found["a"]), 1e-9);
            assert_eq!(given["tau"], found["tau"]);
            assert!(
                found["checks"]["inverse_returns_tau"]
                    .as_f64()
                    .unwrap_or(1.0)
                    < 1e-13
            );
            assert!(found["checks"]["walker_orin"].as_f64().unwrap_or(1.0) < 1e-10);
        }
    }
}

#[test]
fn tables_of_all_state_commands() {
    for command in ["inverse", "forward", "factor", "evaluate"] {
        for model in [
            "stanford",
            "space-robot",
            "zoo",
            "pendulum-2",
            "floating-chain-3",
        ] {
            let text = good(&format!("{command} {model} --random 1")).stdout;
            assert!(text.contains(model), "{command} {model}");
            assert!(!text.contains("NaN"), "{command} {model}");
        }
    }
}

#[test]
fn wrenches() {
    // a vertical force at the tool of the stretched planar arm: its moment about every joint is force times lever
    let still = good("inverse planar3 --json").json();
    let pushed = good("inverse planar3 --wrench tool:0,0,0,0,2,0 --json").json();
    let tau = |value: &Value| numbers(&value["states"][0]["tau"]);
    let difference: Vec<f64> = tau(&still)
        .iter()
        .zip(tau(&pushed))
        .map(|(a, b)| a - b)
        .collect();
    assert_close(&difference, &[2.0 * 0.77, 2.0 * 0.47, 2.0 * 0.22], 1e-14);
    // twice half of it, in two wrenches
    let twice =
        good("inverse planar3 --wrench tool:0,0,0,0,1,0 --wrench link3:0,0,0,0,1,0 --json").json();
    assert_close(&tau(&pushed), &tau(&twice), 1e-14);
}

#[test]
fn gravity_can_be_changed() {
    let value = good("inverse stanford --gravity 0,0,0 --q 0,1,0.1,1,1,1 --json").json();
    assert_close(&numbers(&value["states"][0]["tau"]), &[0.0; 6], 1e-14);
    let text = good("info stanford --gravity -1.5,0,2").stdout;
    assert!(text.contains("gravity (-1.5, 0, 2) m/s²"));
}

#[test]
fn passive_forces_can_be_left_out() {
    let with = good("inverse zoo --random 3 --json").json();
    let without = good("inverse zoo --random 3 --no-passive --json").json();
    let tau = |value: &Value| numbers(&value["states"][0]["tau"]);
    assert!((tau(&with)[6] - tau(&without)[6]).abs() > 1e-3);
    assert_close(&tau(&with)[..6], &tau(&without)[..6], 1e-12);
}

#[test]
fn csv_is_written_and_read_back() {
    let folder = Folder::new("csv");
    let written = folder.run("inverse stanford --trajectory paper --steps 4 -o out.csv --json");
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert_eq!(written.stderr, "wrote 5 rows to out.csv\n");
    assert_eq!(folder.files(), ["out.csv"], "no temporary file is left");
    let text = folder.read("out.csv");
    assert!(text.starts_with("t [s],q:joint1 [rad],q:joint2 [rad],q:joint3 [m],"));
    assert!(text.contains("tau:joint3 [N]"));
    let read = folder.run("inverse stanford --trajectory out.csv --json");
    assert_eq!(read.stdout, written.stdout);
    let read = folder.run("inverse stanford --state out.csv --json");
    assert_eq!(read.stdout, written.stdout);
}

#[test]
fn csv_columns_by_number_name_and_in_degrees() {
    let folder = Folder::new("columns");
    folder.write("a.csv", "q1,q2,q3,v1,v2,v3\n0.1,0.2,0.3,1,2,3\n");
    folder.write(
        "b.csv",
        "# a comment\nv:joint3,joint2,joint1,joint3,v:joint1,v:joint2\n3,0.2,0.1,0.3,1,2\n",
    );
    folder.write(
        "c.csv",
        &format!(
            "q1 [deg],q2 [rad],q3 [deg],v1,v2,v3 [rad/s]\n{},0.2,0.3rad,1,2,3\n",
            0.1f64.to_degrees()
        ),
    );
    let run = |file: &str| {
        folder
            .run(&format!("inverse planar3 --state {file} --json"))
            .json()
    };
    let expected = run("a.csv");
    assert_eq!(run("b.csv"), expected);
    assert_close(
        &numbers(&run("c.csv")["states"][0]["tau"]),
        &numbers(&expected["states"][0]["tau"]),
        1e-15,
    );
}

#[test]
fn states_from_json() {
    let folder = Folder::new("json");
    folder.write("one.json", r#"{"q": ["90deg", 0, 0], "v": [1, 0, 0]}"#);
    folder.write(
        "many.json",
        r#"[{"q": [1.5707963267948966, 0, 0], "v": [1, 0, 0]}, {}]"#,
    );
    let one = folder.run("inverse planar3 --state one.json --json").json();
    let many = folder
        .run("inverse planar3 --state many.json --json")
        .json();
    assert_eq!(states(&many).len(), 2);
    assert_eq!(states(&one)[0], states(&many)[0]);
    assert_eq!(numbers(&states(&many)[1]["tau"])[0], 4.34583);
}

#[test]
fn a_base_that_falls_freely_takes_gravity_away() {
    let folder = Folder::new("base");
    folder.write(
        "fall.json",
        r#"{"base": {"position": [1, 2, 3], "linear_acceleration": [0, -9.81, 0]},
            "wrenches": [{"frame": "tool", "moment": [0, 0, 0.5]}]}"#,
    );
    let value = folder
        .run("inverse planar3 --state fall.json --json")
        .json();
    assert_close(&numbers(&states(&value)[0]["tau"]), &[-0.5; 3], 1e-14);
    assert_eq!(states(&value)[0]["base"]["linear_acceleration"][1], -9.81);
    // what was printed can be read again
    folder.write(
        "again.json",
        &folder
            .run("inverse planar3 --state fall.json --json")
            .stdout,
    );
    let again = folder
        .run("inverse planar3 --state again.json --json")
        .json();
    assert_eq!(again, value);
}

#[test]
fn factor() {
    let value = good("factor stanford --random 2 --full --inverse --rhs 1,2,3,4,5,6 --json").json();
    let state = &states(&value)[0];
    let rows = |key: &str| -> Vec<Vec<f64>> {
        state[key]
            .as_array()
            .expect("rows")
            .iter()
            .map(numbers)
            .collect()
    };
    let (u, i, inverse, d) = (
        rows("U"),
        rows("I"),
        rows("I_inverse"),
        numbers(&state["D"]),
    );
    for r in 0..6 {
        for c in 0..6 {
            let product: f64 = (0..6).map(|k| u[r][k] * d[k] * u[c][k]).sum();
            assert!((product - i[r][c]).abs() < 1e-14);
            let one: f64 = (0..6).map(|k| i[r][k] * inverse[k][c]).sum();
            assert!((one - f64::from(u8::from(r == c))).abs() < 1e-10);
        }
    }
    let x = numbers(&state["solution"]);
    let b: Vec<f64> = (0..6)
        .map(|r| (0..6).map(|k| i[r][k] * x[k]).sum())
        .collect();
    assert_close(&b, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1e-10);
    let log: f64 = d.iter().map(|x| x.ln()).sum();
    assert!((state["log_determinant"].as_f64().expect("a number") - log).abs() < 1e-12);
}

#[test]
fn factor_of_a_free_base() {
    let value = good("factor space-robot --random 4 --end-effector 0.1,0.2,-0.3 --json").json();
    let state = &states(&value)[0];
    // the determinant of the 6×6 block is the product of its pivots, whatever the point
    let pivots: f64 = numbers(&state["D"])[..6].iter().map(|x| x.ln()).sum();
    for key in [&state["base_block"], &state["end_effector"]["inertia"]] {
        let block: Vec<Vec<f64>> = key.as_array().expect("rows").iter().map(numbers).collect();
        assert!((log_determinant(block) - pivots).abs() < 1e-11);
    }
    let text = good("factor space-robot --random 4 --end-effector 0,0,0").stdout;
    assert!(text.contains("t_e   ω"));
}

fn log_determinant(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut log = 0.0;
    for k in 0..n {
        log += a[k][k].ln();
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    log
}

#[test]
fn check() {
    for model in ["stanford", "space-robot", "zoo", "pendulum-20"] {
        let value = good(&format!("check {model} --states 3 --seed 7 --json")).json();
        assert_eq!(value["holds"], true);
        assert!(value["laws"].as_array().expect("laws").len() >= 10);
    }
    let text = good("check planar3 --states 2").stdout;
    assert!(text.contains("ok") && !text.contains("FAILS"));
}

#[test]
fn evaluate() {
    let value = good("evaluate stanford --random 9 --states 2 --json").json();
    let list = value.as_array().expect("a list");
    assert_eq!(list.len(), 2);
    let state = &list[0];
    let v = numbers(&state["v"]);
    let tool = state["frames"]
        .as_array()
        .and_then(|frames| frames.iter().find(|frame| frame["name"] == "tool"))
        .expect("the tool");
    // J v = velocity
    let rows: Vec<Vec<f64>> = tool["jacobian"]
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect();
    let twist: Vec<f64> = rows
        .iter()
        .map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum())
        .collect();
    let mut velocity = numbers(&tool["velocity"]["angular"]);
    velocity.extend(numbers(&tool["velocity"]["linear"]));
    assert_close(&twist, &velocity, 1e-14);
    // I a + C v + g = τ
    let a = numbers(&state["a"]);
    let inertia: Vec<Vec<f64>> = state["inertia"]
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect();
    let (cv, g) = (numbers(&state["coriolis_v"]), numbers(&state["gravity"]));
    let tau: Vec<f64> = (0..6)
        .map(|k| inertia[k].iter().zip(&a).map(|(i, a)| i * a).sum::<f64>() + cv[k] + g[k])
        .collect();
    assert_close(&tau, &numbers(&state["inverse_tau"]), 1e-12);
    // link frames that are no tips have no Jacobian unless named
    assert!(state["frames"][1].get("jacobian").is_none());
    let named = good("evaluate stanford --frames link2,tool --json").json();
    assert_eq!(named[0]["frames"].as_array().expect("frames").len(), 2);
    assert!(named[0]["frames"][0].get("jacobian").is_some());
}

#[test]
fn cases_go_out_and_come_back() {
    for model in ["stanford", "space-robot", "zoo"] {
        let folder = Folder::new(&format!("case-{model}"));
        let exported = folder.run(&format!("export-case {model} --states 2 -o case.json"));
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        assert_eq!(exported.stderr, "wrote case.json\n");
        let printed = folder.run(&format!("export-case {model} --states 2"));
        assert_eq!(printed.stdout, folder.read("case.json"));
        let verified = folder.run("verify case.json --json");
        assert_eq!(verified.code, 0, "{}", verified.stderr);
        assert_eq!(verified.json()["cases"][0]["passed"], true);
    }
}

#[test]
fn a_changed_digit_is_caught() {
    let folder = Folder::new("digit");
    folder.run("export-case planar3 --states 1 -o case.json");
    let case = folder.read("case.json");
    let (before, after) = case.split_once("\"joint_acc\"").expect("accelerations");
    // the fifth digit after the first decimal point of the accelerations
    let point = after.find('.').expect("a number") + 5;
    let digit = after.as_bytes()[point];
    let other = if digit == b'5' { '6' } else { '5' };
    let changed = format!(
        "{before}\"joint_acc\"{}{other}{}",
        &after[..point],
        &after[point + 1..]
    );
    folder.write("changed.json", &changed);
    let run = folder.run("verify changed.json case.json");
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("OFF at"), "{}", run.stdout);
    assert!(
        run.stdout
            .contains("1 of 2 cases passed, 1 off, 0 not usable"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr.starts_with("error: planar3: `joint_acc` at "),
        "{}",
        run.stderr
    );
}

#[test]
fn models_and_algorithms() {
    let text = good("models").stdout;
    assert!(text.contains("stanford") && text.contains("pendulum-N"));
    let value = good("models --json").json();
    assert!(value["models"].as_array().expect("models").len() >= 6);
    let text = good("algorithms").stdout;
    assert!(text.contains("UDUᵀ factorization"));
    let value = good("algorithms --json").json();
    for card in value["algorithms"].as_array().expect("cards") {
        assert!(
            card["source"]
                .as_str()
                .is_some_and(|source| !source.is_empty())
        );
    }
}

#[test]
fn convert_there_and_back() {
    for model in ["stanford", "space-robot", "zoo", "random-20-3"] {
        let folder = Folder::new(&format!("convert-{model}"));
        for file in ["m.toml", "m.json"] {
            let run = folder.run(&format!("convert {model} -o {file}"));
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert_eq!(run.stderr, format!("wrote {file}\n"));
            let direct = folder
                .run(&format!("inverse {model} --random 1 --json"))
                .json();
            let through = folder
                .run(&format!("inverse {file} --random 1 --json"))
                .json();
            assert_eq!(direct["states"], through["states"], "{model} {file}");
        }
        assert_eq!(
            folder.run(&format!("convert {model}")).stdout,
            folder.read("m.toml")
        );
        assert_eq!(
            folder.run(&format!("convert {model} --json")).stdout,
            folder.read("m.json")
        );
    }
}

#[test]
fn free_base_of_a_file() {
    let folder = Folder::new("free");
    folder.write(
        "two.urdf",
        r#"<robot name="two">
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
</robot>"#,
    );
    assert_eq!(folder.run("info two.urdf --json").json()["nv"], 1);
    assert_eq!(
        folder.run("info two.urdf --free-base --json").json()["nv"],
        7
    );
}

#[test]
fn completions_and_manual() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(
            good(&format!("completions {shell}"))
                .stdout
                .contains("export-case")
        );
    }
    assert!(good("man").stdout.contains(".TH catena"));
    assert!(good("man inverse").stdout.contains("trajectory"));
}

#[test]
fn help_tells_the_exit_codes() {
    let text = good("--help").stdout;
    assert!(text.contains(
        "Exit codes: 0 done, 1 a check or verification failed, 2 bad usage or bad input"
    ));
    for command in [
        "info",
        "inverse",
        "forward",
        "factor",
        "evaluate",
        "check",
        "verify",
        "export-case",
        "convert",
    ] {
        assert!(text.contains(command));
        good(&format!("{command} --help"));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_catena"))
        .args(["inverse", "chain-3000", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut first = [0; 10];
    let mut stdout = program.stdout.take().expect("a pipe");
    stdout.read_exact(&mut first).expect("some bytes");
    drop(stdout);
    let output = program.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn output_is_the_same_every_time() {
    for command in [
        "inverse zoo --random 3 --json",
        "info zoo",
        "check planar3 --states 2",
        "export-case zoo",
    ] {
        assert_eq!(run(command).stdout, run(command).stdout);
    }
}

/// What `assemble` prints is a state file; `forward` takes it, and the exact law of the parallelogram comes out.
#[test]
fn closed_chains_are_assembled_and_accelerated() {
    let folder = Folder::new("closed_chains");
    let assembled =
        good("assemble four-bar-1 --q 60deg,-50deg,80deg --v 1,0,0 --hold foot0 --json");
    let checks = &assembled.json()["states"][0]["checks"];
    assert_eq!((&checks["rows"], &checks["rank"]), (&json!(5), &json!(2)));
    assert_eq!(checks["freedoms"], json!(1));
    folder.write("closed.json", &assembled.stdout);
    let forward = run_in(
        folder.path(),
        &["forward", "four-bar-1", "--state", "closed.json", "--json"],
    );
    let state = &forward.json()["states"][0];
    // φ̈ = −g (1 + 1)/(2/3 + 1) cos 60°
    assert_close(&numbers(&state["a"]), &[-5.886, 5.886, -5.886], 1e-12);
    let loads = &state["checks"]["loads"];
    assert_eq!(loads[0]["constraint"], "loop0");
    assert_eq!(
        good("info bricard --json").json()["constraints"][0]["rows"],
        json!(5)
    );
    good("forward bricard --random 1");
    good("simulate bricard --duration 1");
}

/// Light links under strong efforts: accelerations of thousands of rad/s², where a difference over a step of 1e-6 is good to four digits
/// only. Dual numbers are exact; there is one verdict, and it decides the exit code.
#[test]
fn derivatives_are_checked_to_round_off() {
    let folder = Folder::new("derivatives");
    let link = |name: &str, mass: &str, centre: &str, inertia: [&str; 6]| {
        let [xx, xy, xz, yy, yz, zz] = inertia;
        format!(
            "<link name='{name}'><inertial><origin xyz='{centre}'/><mass value='{mass}'/>\
             <inertia ixx='{xx}' ixy='{xy}' ixz='{xz}' iyy='{yy}' iyz='{yz}' izz='{zz}'/></inertial></link>"
        )
    };
    let joint = |name: &str, parent: &str, child: &str, origin: &str| {
        format!(
            "<joint name='{name}' type='revolute'><origin xyz='{origin}'/><parent link='{parent}'/><child link='{child}'/>\
             <axis xyz='1 0 0'/><limit lower='0' upper='0' effort='0' velocity='0'/><dynamics damping='0.05'/></joint>"
        )
    };
    let first = [
        "0.00040827",
        "1.2675E-09",
        "1.8738E-05",
        "0.00038791",
        "3.5443E-08",
        "3.6421E-05",
    ];
    let second = [
        "0.0011753",
        "-3.854E-13",
        "-2.9304E-08",
        "0.0011666",
        "-5.2365E-12",
        "1.4553E-05",
    ];
    let robot = [
        "<robot name='light'><link name='base'/>".to_string(),
        link("link1", "0.26703", "0.0086107 2.1727E-06 0.036012", first),
        link("link2", "0.33238", "-0.0050107 1.9371E-10 0.10088", second),
        joint("joint1", "base", "link1", "0.0060872 0 0.035"),
        joint("joint2", "link1", "link2", "0.023 0 0.1"),
        "</robot>".to_string(),
    ];
    folder.write("light.urdf", &robot.concat());
    let command =
        "derivatives light.urdf --no-passive --forward --q 2.2,0 --v 1.5,-0.2 --tau=-5,-6";
    let run = folder.run(command);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("check: dual numbers agree, "),
        "{}",
        run.stdout
    );
    assert!(!run.stderr.contains("disagree"), "{}", run.stderr);
    let found = folder.run(&format!("{command} --json")).json();
    let checks = &states(&found)[0]["checks"];
    assert!(checks["dual_numbers"].as_f64() < Some(1e-11), "{checks}");
    // every joint, with passive forces and on free bases
    for model in ["stanford", "zoo", "space-robot", "planar3", "chain-30"] {
        for what in ["", "--forward"] {
            let run = good(&format!("derivatives {model} --random 5 {what} --json"));
            for state in states(&run.json()) {
                let checks = &state["checks"];
                assert!(
                    checks["dual_numbers"].as_f64() <= checks["allowed"].as_f64(),
                    "{checks}"
                );
                assert!(checks["allowed"].as_f64() < Some(1e-8), "{checks}");
            }
        }
    }
}
