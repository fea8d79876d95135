//! `catena simulate`: its numbers, its inputs, its files, and what happens when it is killed.

mod common;

use catena::residual::larger;
use catena_io::run::{Run, read_run};
use common::{Folder, assert_close, good, numbers, run};
use serde_json::Value;

/// A free body.
const BALL: &str = "\
format = \"catena/1\"
name = \"ball\"
gravity = [0, 0, -9.81]
base = \"free\"

[[link]]
name = \"ball\"
mass = 2.0
inertia = [0.1, 0.1, 0.1]
";

/// A law of the audit.
fn law<'a>(value: &'a Value, name: &str) -> &'a Value {
    value["audit"]["laws"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|law| law["law"] == name)
        .unwrap_or_else(|| panic!("no law `{name}` in {value}"))
}

fn assert_kept(value: &Value) {
    for law in value["audit"]["laws"].as_array().expect("laws") {
        assert_eq!(law["kept"], true, "{law}");
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// State of planar3 a second after it is let go at θ = 0: shared reference `planar3_freefall`, accurate to 3e-15.
const FREE_FALL_Q: [f64; 3] = [-2.254069437849631, -1.1012869306515984, -0.167747283551123];
const FREE_FALL_V: [f64; 3] = [4.839476221391319, 2.8521319122312785, -18.97705958709347];

#[test]
fn free_fall_of_the_paper() {
    for (method, tolerance) in [
        ("dop853", 1e-9),
        ("verner9", 1e-9),
        ("verner6", 1e-9),
        ("tsit5", 1e-9),
        ("dopri5", 1e-9),
    ] {
        let value = good(&format!(
            "simulate planar3 --duration 1 --method {method} --rtol 1e-12 --json"
        ))
        .json();
        assert_eq!(value["format"], "catena-simulate/1");
        assert_eq!(value["model"], "planar3");
        assert_eq!(value["samples"], 101);
        assert_eq!(value["time"], 1.0);
        assert_eq!(value["error"], Value::Null);
        assert_close(&numbers(&value["q"]), &FREE_FALL_Q, tolerance);
        assert_close(&numbers(&value["v"]), &FREE_FALL_V, 30.0 * tolerance);
        let energy = &value["audit"]["energy_end"];
        assert!((energy["kinetic"].as_f64().expect("a number") - 1.7875426844262436).abs() < 1e-8);
        assert_kept(&value);
        assert!(law(&value, "energy balance")["worst"].as_f64() < Some(1e-10));
    }
}

#[test]
fn methods_of_fixed_step() {
    for (method, step, tolerance) in [
        ("rk4", 0.001, 1e-4),
        ("implicit-midpoint", 0.0005, 0.05),
        ("semi-implicit-euler", 0.0001, 0.3),
    ] {
        let value = good(&format!(
            "simulate planar3 --duration 1 --method {method} --step {step} --json"
        ))
        .json();
        assert_eq!(value["samples"], 101, "{method}");
        assert_close(&numbers(&value["q"]), &FREE_FALL_Q, tolerance);
        assert_kept(&value);
    }
}

#[test]
fn second_run_estimates_the_error() {
    let value = good("simulate planar3 --duration 1 --rtol 1e-9 --verify --json").json();
    let estimate = value["audit"]["verified_error"].as_f64().expect("a number");
    let last = numbers(&value["v"]);
    let truth = last
        .iter()
        .zip(FREE_FALL_V)
        .fold(0.0, |m, (a, b)| larger(m, (a - b).abs()))
        / 18.97705958709347;
    assert!(
        estimate < 30.0 * truth && estimate > truth / 30.0,
        "{estimate} for {truth}"
    );
}

#[test]
fn text_for_people() {
    let text = good("simulate space-robot --random 1 --duration 1").stdout;
    for part in [
        "space-robot: 7 bodies",
        "shown: 11 of 101 instants, 6 of 13 coordinates",
        "linear momentum",
        "length of quaternions",
        "evaluations of the dynamics",
        "work done 0 J, dissipated 0 J",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    assert!(!text.contains("BREACH"), "{text}");
}

#[test]
fn the_last_sample_is_the_end() {
    for (arguments, samples, end) in [
        ("--duration 0.333", 35, 0.333),
        ("--duration 0.005", 2, 0.005),
        ("--duration 0.3 --interval 0.1", 4, 0.3),
        ("--duration 2 --interval 2", 2, 2.0),
        ("--duration 0.3 --interval 0.1 --method rk4", 4, 0.3),
    ] {
        let value = good(&format!("simulate stanford {arguments} --json")).json();
        assert_eq!(value["samples"], samples, "{arguments}");
        let time = value["time"].as_f64().expect("a number");
        assert!((time - end).abs() < 1e-15, "{arguments}: {time}");
    }
}

#[test]
fn controllers_on_a_fixed_base() {
    let value = good(
        "simulate stanford --q 0,90deg,0,0,0,0 --controller computed-torque \
         --to 60deg,30deg,0.1,10deg,20deg,30deg --duration 2 --json",
    )
    .json();
    let wanted = [60.0, 30.0, 0.0, 10.0, 20.0, 30.0].map(f64::to_radians);
    let wanted = [wanted[0], wanted[1], 0.1, wanted[3], wanted[4], wanted[5]];
    assert_close(&numbers(&value["q"]), &wanted, 1e-6);
    assert_close(&numbers(&value["v"]), &[0.0; 6], 1e-6);
    assert_kept(&value);

    let value = good(
        "simulate stanford --q 0,45deg,0.1,0,10deg,0 --controller gravity --duration 5 --json",
    )
    .json();
    let start = [0.0, 45f64.to_radians(), 0.1, 0.0, 10f64.to_radians(), 0.0];
    assert_close(&numbers(&value["q"]), &start, 1e-12);

    let value = good(
        "simulate planar3 --gravity 0,0,0 --controller pd --stiffness 10 --damping 2 \
         --to 1,-0.5,0.25 --move-time 1 --duration 5 --json",
    )
    .json();
    assert_close(&numbers(&value["q"]), &[1.0, -0.5, 0.25], 1e-6);
    assert_kept(&value);
}

#[test]
fn controllers_on_a_free_base() {
    let to = [1.0, 0.5, -0.5, 0.3, 0.2, 0.1];
    let command = "simulate space-robot --to 1,0.5,-0.5,0.3,0.2,0.1 --move-time 2 --json";
    let value = good(&format!(
        "{command} --controller computed-torque --duration 2"
    ))
    .json();
    assert_close(&numbers(&value["q"])[7..], &to, 1e-6);
    assert_kept(&value);
    law(&value, "linear momentum");
    law(&value, "angular momentum about the mass centre");

    let value = good(&format!("{command} --controller pd --duration 10")).json();
    assert_close(&numbers(&value["q"])[7..], &to, 1e-3);
    assert_kept(&value);

    // nothing to hold: the base falls as it would
    let value = good("simulate floating-chain-3 --controller gravity --duration 1 --json").json();
    assert_kept(&value);
}

#[test]
fn constant_efforts_also_from_a_random_start() {
    let folder = Folder::new("constant-efforts");
    folder.write("ball.toml", BALL);
    let run = folder.run(
        "simulate ball.toml --gravity 0,0,0 --tau 0,3,0,0,0,0 --duration 2 --json --q 1,0,0,1,0,0,0",
    );
    let q = numbers(&run.json()["q"]);
    assert_close(&q, &[1.0, 3.0, 0.0, 1.0, 0.0, 0.0, 0.0], 1e-12);
    // --tau is what acts, not the efforts of a random state
    let with = run_json("simulate planar3 --random 4 --tau 0,0,0 --duration 1 --json");
    let without = run_json("simulate planar3 --random 4 --duration 1 --json");
    assert_eq!(with["q"], without["q"]);
}

fn run_json(arguments: &str) -> Value {
    good(arguments).json()
}

#[test]
fn efforts_from_a_file_are_linear_between_rows() {
    let folder = Folder::new("efforts");
    folder.write("ball.toml", BALL);
    // force 6 t N along x on 2 kg: x = t³/2
    folder.write(
        "ramp.csv",
        "t,tau1,tau2,tau3,tau4,tau5,tau6\n0,0,0,0,0,0,0\n0.5,3,0,0,0,0,0\n2,12,0,0,0,0,0\n",
    );
    let command = "simulate ball.toml --gravity 0,0,0 --efforts ramp.csv --duration 1 --json";
    let run = folder.run(command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value = run.json();
    assert_close(&numbers(&value["q"])[..3], &[0.5, 0.0, 0.0], 1e-9);
    // work: ∫ 6 t · 1.5 t² dt
    assert!((value["audit"]["work"].as_f64().expect("a number") - 2.25).abs() < 1e-8);
    assert_kept(&value);
}

#[test]
fn a_wrench_pushes() {
    let folder = Folder::new("wrench");
    folder.write("ball.toml", BALL);
    let run = folder
        .run("simulate ball.toml --gravity 0,0,0 --wrench ball:0,0,0,0,4,0 --duration 3 --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value = run.json();
    assert_close(&numbers(&value["q"])[..3], &[0.0, 9.0, 0.0], 1e-10);
    assert!((value["audit"]["work"].as_f64().expect("a number") - 36.0).abs() < 1e-9);
    assert_kept(&value);
}

/// However long the normal is written: the same plane, the same instant.
#[test]
fn planes_have_normals_of_any_length() {
    let folder = Folder::new("normals");
    folder.write("ball.toml", BALL);
    for (normal, offset) in [("1", "1.2"), ("1e200", "1.2e200"), ("1e-200", "1.2e-200")] {
        let run = folder.run(&format!(
            "simulate ball.toml --q 0,0,1.7,1,0,0,0 --duration 1 --json --plane ball:0,0,{normal},{offset}"
        ));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let value = run.json();
        let events = value["events"].as_array().expect("events");
        assert_eq!(events.len(), 1, "{normal}");
        let time = events[0]["time"].as_f64().expect("a time");
        let exact = (2.0 * 0.5 / 9.81f64).sqrt();
        assert!(
            (time - exact).abs() <= 1e-12,
            "{normal}: {time}, not {exact}"
        );
    }
}

#[test]
fn events_are_located_to_round_off() {
    let folder = Folder::new("events");
    folder.write("ball.toml", BALL);
    let run = folder.run(
        "simulate ball.toml --q 0,0,1.7,1,0,0,0 --duration 1 --json \
         --plane ball:0,0,1,0 --plane ball:0,0,2,2.4",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value = run.json();
    let events = value["events"].as_array().expect("events");
    assert_eq!(events.len(), 2);
    for (event, (name, height)) in events.iter().zip([("0,0,2,2.4", 0.5), ("0,0,1,0", 1.7)]) {
        assert_eq!(event["event"], format!("ball crosses the plane {name}"));
        let time = event["time"].as_f64().expect("a time");
        let exact = (2.0 * height / 9.81f64).sqrt();
        assert!((time - exact).abs() <= 1e-12, "{time}, not {exact}");
    }
    // joint limits
    let limits = run_json("simulate zoo --random 2 --duration 3 --json");
    let name = limits["events"][0]["event"].as_str().expect("an event");
    assert!(name.ends_with("passes its lower limit"), "{name}");
    let none = run_json("simulate zoo --random 2 --duration 3 --no-limits --json");
    assert_eq!(none["events"].as_array().map(Vec::len), Some(0));
    assert_eq!(none["q"], limits["q"]);
}

#[test]
fn a_breach_is_an_exit_code() {
    let command = "simulate planar3 --duration 2 --method semi-implicit-euler --step 0.01";
    for options in ["", " --audit strict"] {
        let run = run(&format!("{command}{options}"));
        assert_eq!(run.code, 1);
        assert!(run.stdout.contains("BREACH"), "{}", run.stdout);
        assert!(
            run.stderr.starts_with("error: energy balance is off by ")
                && run.stderr.ends_with(", allowed 1e-2\n"),
            "{}",
            run.stderr
        );
    }
    let run = good(&format!("{command} --audit report"));
    assert!(run.stdout.contains("BREACH"), "{}", run.stdout);
    good("simulate planar3 --duration 2 --audit strict");
}

/// Arguments after `simulate` and the exact text on stderr.
const MISTAKES: &[(&str, &str)] = &[
    (
        "planar3 --method rk5",
        "error: --method: there is no method `rk5`\n\
         hint: methods are dop853, verner9, verner6, tsit5, dopri5, bdf, rk4, semi-implicit-euler, implicit-midpoint\n",
    ),
    (
        "planar3 --duration -1",
        "error: duration of the simulation must be positive, not -1\n",
    ),
    (
        "planar3 --interval 0",
        "error: interval between samples must be positive, not 0\n",
    ),
    (
        "planar3 --duration 1 --interval 3",
        "error: --interval: the duration (1 s) is not a multiple of the interval (3 s)\n\
         hint: the last sample is the end of the run; choose another interval or duration\n",
    ),
    (
        "planar3 --method rk4 --step 0",
        "error: step must be positive, not 0\n",
    ),
    (
        "planar3 --rtol -1",
        "error: the relative tolerance of the integrator cannot be -1\n",
    ),
    (
        "planar3 --random 1 --states 3",
        "error: a simulation starts from one state, 3 are given\n\
         hint: choose one by its time with `--at T`, or the last one with `--at end`\n",
    ),
    (
        "planar3 -o old.csv",
        "error: the run exists already\n  --> old.csv\n\
         hint: choose another name, or give --resume or --overwrite\n",
    ),
    (
        "planar3 -o old.txt",
        "error: the format of the run cannot be determined from the file's name\n  --> old.txt\n\
         hint: runs are named .csv, .parquet or .mcap\n",
    ),
    (
        "planar3 -o nowhere/run.csv",
        "error: the folder nowhere does not exist\n  --> nowhere/run.csv\nhint: create it first\n",
    ),
    (
        "planar3 -o none.parquet --resume",
        "error: the run does not exist\n  --> none.parquet\nhint: leave out --resume to start it\n",
    ),
    (
        "planar3 --duration 2 -o old.csv --resume",
        "error: the run is finished; there is nothing to resume\n  --> old.csv\n",
    ),
    (
        "planar3 --duration 3 --method tsit5 --efforts jump.csv -o stopped.csv --resume",
        "error: the run was made with another duration, method\n  --> stopped.csv\n\
         hint: give the same command again, with --resume; \
         it was `catena simulate planar3 --duration 2 --efforts jump.csv -o stopped.csv`\n",
    ),
    (
        "planar3 --duration 2 --efforts ramp.csv -o stopped.csv --resume",
        "error: the run was made with another drive\n  --> stopped.csv\n\
         hint: give the same command again, with --resume; \
         it was `catena simulate planar3 --duration 2 --efforts jump.csv -o stopped.csv`\n",
    ),
    (
        "stanford --duration 2 -o stopped.csv --resume",
        "error: the run was made with another model, start, drive\n  --> stopped.csv\n\
         hint: give the same command again, with --resume; \
         it was `catena simulate planar3 --duration 2 --efforts jump.csv -o stopped.csv`\n",
    ),
    (
        "planar3 --efforts states.csv",
        "error: efforts over time need columns for tau; there are none\n  --> states.csv:1\n\
         hint: name them tau1, … or tau:JOINT\n",
    ),
    (
        "planar3 --efforts timeless.csv",
        "error: efforts over time need a column `t` for the time\n  --> timeless.csv:1\n",
    ),
    (
        "planar3 --efforts backwards.csv",
        "error: times of a table must increase: 1 s is followed by 0.5 s\n  --> backwards.csv\n",
    ),
    (
        "planar3 --tau 1,2",
        "error: --tau: 3 numbers are needed, 2 were given\n\
         hint: in this order: joint1 (N·m), joint2 (N·m), joint3 (N·m)\n",
    ),
    (
        "planar3 --controller gravity --to 1,1,1",
        "error: --to, --move-time and --trajectory: gravity compensation follows no motion\n\
         hint: it holds the weight; `pd` and `computed-torque` follow a motion\n",
    ),
    (
        "pendulum-2 --controller pd",
        "error: --controller: `pendulum-2` has no joint with plain coordinates to control\n",
    ),
    (
        "stanford --controller pd --to 1,1",
        "error: --to: 6 numbers are needed, 2 were given\n\
         hint: in this order: joint1 (rad), joint2 (rad), joint3 (m), joint4 (rad), joint5 (rad), joint6 (rad)\n",
    ),
    (
        "stanford --controller pd --stiffness -3",
        "error: a gain must be a number ≥ 0, not -3\n",
    ),
    (
        "stanford --plane tool",
        "error: --plane: `tool` names no frame\n\
         hint: write --plane FRAME:nx,ny,nz,d for the plane n·x = d, world axes\n",
    ),
    (
        "stanford --plane tol:0,0,1,0",
        "error: `stanford` has no frame `tol`\nhint: did you mean `tool`?\n",
    ),
    (
        "stanford --plane tool:0,0,0,1",
        "error: --plane: the normal of the plane is zero\n",
    ),
    (
        "stanford --wrench world:0,0,0,0,0,1",
        "error: a wrench on frame `world` does nothing: it is fixed to the ground\n",
    ),
    (
        "stanford --resume",
        "error: the following required arguments were not provided:\n  --output <FILE>\n\n\
         Usage: catena simulate --output <FILE> --resume <MODEL>\n\nFor more information, try '--help'.\n",
    ),
];

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("simulate-mistakes");
    folder.write("states.csv", "t,q1,q2,q3\n0,1,2,3\n");
    folder.write("timeless.csv", "tau1,tau2,tau3\n1,2,3\n");
    folder.write("backwards.csv", "t,tau1,tau2,tau3\n1,1,2,3\n0.5,1,2,3\n");
    folder.write("ramp.csv", "t,tau1,tau2,tau3\n0,0,0,0\n2,1,0,0\n");
    folder.write("jump.csv", JUMP);
    assert_eq!(
        folder.run("simulate planar3 --duration 2 -o old.csv").code,
        0
    );
    // a run that could not continue
    let stopped = folder.run("simulate planar3 --duration 2 --efforts jump.csv -o stopped.csv");
    assert_eq!(stopped.code, 2);
    let mut wrong = String::new();
    for (arguments, message) in MISTAKES {
        let run = folder.run(&format!("simulate {arguments}"));
        if run.code != 2 || !run.stdout.is_empty() || run.stderr != *message {
            wrong += &format!(
                "catena simulate {arguments}\n  exit code {}, stdout {:?}\n{}\n  expected\n{message}\n",
                run.code, run.stdout, run.stderr
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Efforts that nothing can follow after a second.
const JUMP: &str = "t,tau1,tau2,tau3\n0,0,0,0\n1,0,0,0\n1.001,1e308,0,0\n";

#[test]
fn a_run_that_cannot_go_on_keeps_what_it_has() {
    let folder = Folder::new("simulate-failure");
    folder.write("jump.csv", JUMP);
    let command = "simulate planar3 --duration 2 --efforts jump.csv";
    let run = folder.run(&format!("{command} -o run.parquet"));
    assert_eq!(run.code, 2);
    assert!(
        run.stdout.contains("shown: 6 of 101 instants"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.starts_with("error: at t = 1"), "{}", run.stderr);
    assert!(
        run.stderr
            .ends_with("; run.parquet keeps 101 rows, up to time 1 s\n"),
        "{}",
        run.stderr
    );
    let kept = read(&folder, "run.parquet");
    assert!(!kept.finished);
    assert_eq!(kept.row_count(), 101);
    // the same numbers as those of a run that is not disturbed
    folder.run("simulate planar3 --duration 2 -o free.csv");
    let free = read(&folder, "free.csv");
    let [kept, free] =
        [&kept, &free].map(|run| run.column("q.joint1").expect("it is there").to_vec());
    assert_close(&kept, &free[..101], 1e-9);
    // without a file, on the screen and as JSON
    let value = folder.run(&format!("{command} --json")).json();
    assert_eq!(value["samples"], 101);
    assert!(
        value["error"]
            .as_str()
            .is_some_and(|error| error.starts_with("at t = 1"))
    );
}

fn read(folder: &Folder, name: &str) -> Run {
    read_run(&folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn what_is_in_a_run() {
    let folder = Folder::new("simulate-run");
    for name in ["run.csv", "run.parquet", "run.mcap"] {
        let done = folder.run(&format!(
            "simulate space-robot --random 5 --duration 1 --rtol 1e-9 -o {name}"
        ));
        assert_eq!(done.code, 0);
        assert_eq!(done.stderr, format!("wrote 101 rows to {name}\n"));
        let run = read(&folder, name);
        assert!(run.finished);
        let units: Vec<(&str, &str)> = run
            .header
            .columns
            .iter()
            .map(|column| (column.name.as_str(), column.unit.as_str()))
            .collect();
        assert_eq!(units[0], ("time", "s"));
        assert_eq!(units.len(), 1 + 13 + 3 * 12 + 5 + 4);
        for column in [("kinetic", "J"), ("dissipated", "J"), ("q.base.qw", "")] {
            assert!(units.contains(&column), "{column:?} is not in {units:?}");
        }
        let time = run.column("time").expect("times");
        assert_eq!((time[0], time[37], time[100]), (0.0, 0.37, 1.0));
        let metadata = &run.header.metadata;
        assert_eq!(
            metadata["program"],
            format!("catena {}", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(metadata["seed"], 5);
        assert_eq!(metadata["method"], "dop853");
        assert_eq!(metadata["rtol"], 1e-9);
        assert_eq!(metadata["command"][1], "space-robot");
        assert_eq!(metadata["model"]["name"], "space-robot");
        let audit = run.audit.expect("an audit");
        assert_eq!(audit["laws"][0]["law"], "energy balance");
        assert_eq!(audit["events"], serde_json::json!([]));
    }
}

#[cfg(unix)]
mod killed {
    use super::*;
    use catena::random::Random;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// Kills of each kind of file.
    const KILLS: usize = 8;

    /// Starts a run, kills it at a random moment, resumes it, and so on until enough kills have happened; then lets it end
    /// and compares with a run that nobody has killed.
    fn kill_and_resume(name: &str, seed: u64, arguments: &str) {
        let folder = Folder::new(&format!("killed-{name}"));
        let [whole, killed] = ["whole", "killed"].map(|part| folder.path().join(part));
        std::fs::create_dir(&whole).expect("a folder can be made");
        std::fs::create_dir(&killed).expect("a folder can be made");
        let began = Instant::now();
        end(start(&whole, arguments, name, ""));
        let full_time = began.elapsed().as_secs_f64();
        let expected = read_run(&whole.join(name)).expect("a run");
        assert!(expected.row_count() > 3000, "{}", expected.row_count());

        let path = killed.join(name);
        let mut random = Random::new(seed);
        let (mut kills, mut in_the_middle) = (0, 0);
        while kills < KILLS || in_the_middle < KILLS / 2 {
            let begun = read_run(&path).is_ok_and(|run| !run.finished);
            let mode = if begun { "--resume" } else { "--overwrite" };
            let mut child = start(&killed, arguments, name, mode);
            std::thread::sleep(Duration::from_secs_f64(random.uniform(0.0, full_time)));
            child.kill().expect("it can be killed");
            let output = child.wait_with_output().expect("it ends");
            let status = output.status;
            if status.success() {
                assert_same(&path, &expected, true);
                continue;
            }
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(status.signal(), Some(9), "{status}\n{stderr}");
            kills += 1;
            if read_run(&path).is_ok() {
                let rows = assert_same(&path, &expected, false);
                in_the_middle += usize::from(rows > 0 && rows < expected.row_count());
            }
        }
        let begun = read_run(&path).is_ok_and(|run| !run.finished);
        let mode = if begun { "--resume" } else { "--overwrite" };
        end(start(&killed, arguments, name, mode));
        assert_same(&path, &expected, true);
    }

    fn start(folder: &Path, arguments: &str, name: &str, mode: &str) -> Child {
        Command::new(env!("CARGO_BIN_EXE_catena"))
            .args(["simulate"])
            .args(words(arguments))
            .args(["-o", name])
            .args(words(mode))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started")
    }

    /// Lets a run end.
    fn end(child: Child) {
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
    }

    /// What is there must be the beginning of what is expected, to the last bit, or all of it, audit and metadata
    /// included. Tells the number of rows.
    fn assert_same(path: &Path, expected: &Run, to_the_end: bool) -> usize {
        let found = read_run(path).unwrap_or_else(|error| panic!("{error}"));
        let rows = found.row_count();
        for (found, expected) in found.columns.iter().zip(&expected.columns) {
            let differs = |k: &usize| found[*k].to_bits() != expected[*k].to_bits();
            assert_eq!((0..rows).find(differs), None);
        }
        assert_eq!(found.header, expected.header);
        if to_the_end {
            assert_eq!(rows, expected.row_count());
            assert_eq!(found.audit, expected.audit);
        }
        rows
    }

    #[test]
    fn csv() {
        kill_and_resume(
            "run.csv",
            1,
            "chain-12 --random 1 --duration 6 --interval 0.0005 --rtol 1e-11 --plane link12:0,0,1,-0.2",
        );
    }

    #[test]
    fn parquet() {
        kill_and_resume(
            "run.parquet",
            2,
            "space-robot --random 3 --controller computed-torque --to 1,0.5,-0.5,0.3,0.2,0.1 \
             --duration 10 --interval 0.0005 --method verner6 --rtol 1e-12",
        );
    }

    #[test]
    fn mcap() {
        kill_and_resume(
            "run.mcap",
            3,
            "pendulum-6 --random 2 --method implicit-midpoint --step 0.0005 --interval 0.001 --duration 10",
        );
    }

    #[test]
    fn implicit() {
        kill_and_resume(
            "implicit.csv",
            4,
            "stanford --random 2 --method bdf --rtol 1e-11 --controller pd --stiffness 1e5 --damping 1e4 \
             --to 1,1,0.5,0.3,0.2,0.1 --duration 20 --interval 0.001",
        );
    }

    #[test]
    fn a_full_disk_keeps_what_is_there() {
        let folder = Folder::new("full-disk");
        let command = "simulate planar3 --duration 40 -o run.csv";
        let full = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 1200; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_catena"))
            .args(words(command))
            .current_dir(folder.path())
            .output()
            .expect("a shell");
        assert_eq!(full.status.code(), Some(2));
        let stderr = String::from_utf8(full.stderr).expect("UTF-8");
        assert!(
            stderr.starts_with("error: the run cannot be written: "),
            "{stderr}"
        );
        assert!(
            stderr.contains("  --> run.csv\nhint: the file holds "),
            "{stderr}"
        );
        let stdout = String::from_utf8(full.stdout).expect("UTF-8");
        assert!(stdout.contains("energy balance"), "{stdout}");
        let kept = read(&folder, "run.csv");
        assert!(!kept.finished && kept.row_count() > 0);
        // when there is room again
        let resumed = folder.run(&format!("{command} --resume"));
        assert_eq!(resumed.code, 0, "{}", resumed.stderr);
        assert_eq!(resumed.stderr, "wrote 4001 rows to run.csv\n");
        folder.run("simulate planar3 --duration 40 -o whole.csv");
        let [found, whole] = [read(&folder, "run.csv"), read(&folder, "whole.csv")];
        assert_eq!(found.columns, whole.columns);
        assert_eq!(found.audit, whole.audit);
    }
}

/// A ball on a vertical line, and a mass on a spring with a limit just before its turning point.
const RISING: &str = "\
format = \"catena/1\"
[[link]]
name = \"ball\"
mass = 1
inertia = [1, 1, 1]
[[joint]]
name = \"up\"
type = \"prismatic\"
child = \"ball\"
";
const OSCILLATOR: &str = "\
format = \"catena/1\"
gravity = [0, 0, 0]
[[link]]
name = \"ball\"
mass = 1
inertia = [1, 1, 1]
[[joint]]
name = \"x\"
type = \"prismatic\"
child = \"ball\"
stiffness = 1
limits = [-10, 0.9999]
";

fn times(value: &Value) -> Vec<f64> {
    let events = value["events"].as_array().expect("events");
    let time = |event: &Value| event["time"].as_f64().expect("a time");
    events.iter().map(time).collect()
}

/// A ball passes a plane 8 mm below the top of its flight up and down: within one step, so that both ends of the step are below.
#[test]
fn a_plane_that_is_crossed_twice_in_a_step_is_seen() {
    let folder = Folder::new("twice");
    folder.write("ball.toml", RISING);
    for options in [
        "",
        "--interval 2",
        "--method tsit5",
        "--method verner9 --rtol 1e-3",
        "--method bdf",
        "--method rk4 --step 0.5",
        "--method implicit-midpoint --step 0.5",
    ] {
        let run = folder.run(&format!(
            "simulate ball.toml --v 10 --duration 2 --plane ball:0,0,1,5.09 --json {options}"
        ));
        assert_eq!(run.code, 0, "{options}: {}", run.stderr);
        let found = times(&run.json());
        let gravity = 9.81;
        let root = (100.0f64 - 2.0 * gravity * 5.09).sqrt();
        let exact = [(10.0 - root) / gravity, (10.0 + root) / gravity];
        // the speed there is 0.4 m/s: the method's error of position divides by it
        assert_eq!(found.len(), 2, "{options}: {found:?}");
        assert_close(
            &found,
            &exact,
            if options.contains("bdf") { 1e-4 } else { 1e-9 },
        );
    }
}

/// x = sin t passes 0.9999 six times in 20 s, for a hundredth of a second each time. Every passage of the computed motion is found: at
/// fine tolerances these are the six, at coarse ones those that samples every 0.1 ms show.
#[test]
fn limits_just_before_turning_points_are_seen() {
    let folder = Folder::new("turning");
    folder.write("osc.toml", OSCILLATOR);
    let turn = (1.0f64 - 0.9999 * 0.9999).sqrt().asin();
    let exact: Vec<f64> = (0..3)
        .flat_map(|k| [-turn, turn].map(|d| std::f64::consts::PI * (0.5 + 2.0 * f64::from(k)) + d))
        .collect();
    for digits in 3..=12 {
        let command = format!("simulate osc.toml --v 1 --duration 20 --rtol 1e-{digits}");
        let run = folder.run(&format!("{command} --audit report --json"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let found = times(&run.json());
        if digits >= 7 {
            assert_close(&found, &exact, 1e4 * 10f64.powi(-digits));
            continue;
        }
        let path = format!("osc-{digits}.csv");
        let run = folder.run(&format!(
            "{command} --interval 1e-4 --audit report -o {path}"
        ));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let rows = read_run(&folder.path().join(&path)).expect("a run");
        let beyond: Vec<bool> = (0..rows.row_count())
            .map(|k| rows.row(k)[1] >= 0.9999)
            .collect();
        let shown = beyond.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(found.len(), shown, "1e-{digits}: {found:?}");
    }
}

/// A second run decides about the exit code too: a chaotic motion at a coarse tolerance keeps its energy and is wrong all the same.
#[test]
fn a_verified_error_has_a_limit() {
    let folder = Folder::new("verify");
    folder.write(
        "dp.toml",
        "format = \"catena/1\"\ngravity = [0, -9.81, 0]\n\
         [[link]]\nname = \"a\"\nmass = 1.3\ncentre = [0.4, 0, 0]\ninertia = [0.1, 0.1, 0.11]\n\
         [[link]]\nname = \"b\"\nmass = 0.7\ncentre = [0.55, 0, 0]\ninertia = [0.05, 0.05, 0.06]\n\
         [[joint]]\nname = \"s\"\ntype = \"revolute\"\nchild = \"a\"\n\
         [[joint]]\nname = \"e\"\ntype = \"revolute\"\nchild = \"b\"\norigin = [0.9, 0, 0]\nparent = \"a\"\n",
    );
    let command = "simulate dp.toml --q 1.75,0.2 --v 0.5,6 --duration 15 --rtol 1e-3 --verify";
    for options in ["", "--audit strict"] {
        let run = folder.run(&format!("{command} {options}"));
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(
            run.stderr
                .contains("state at the end, by a second run is off by")
                && run.stderr.contains("at 15 s, allowed 1e-2"),
            "{}",
            run.stderr
        );
        assert!(run.stdout.contains("BREACH"), "{}", run.stdout);
    }
    assert_eq!(folder.run(&format!("{command} --audit report")).code, 0);
    good("simulate planar3 --duration 1 --verify=1e-4");
    let run = common::run("simulate planar3 --duration 1 --verify=1e-15");
    assert_eq!(run.code, 1, "{}", run.stdout);
    let run = common::run("simulate planar3 --duration 1 --verify=0");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("the limit must be positive, not 0"),
        "{}",
        run.stderr
    );
}

/// Energies that are all near zero are no breach: a mechanism at rest, one that moves less than the absolute tolerance, and one whose
/// energies and works are small in J.
#[test]
fn small_energies_are_no_breach() {
    let folder = Folder::new("small");
    folder.write(
        "arm.toml",
        "format = \"catena/1\"\ngravity = [0, 0, -9.81]\n\
         [[link]]\nname = \"a\"\nmass = 1\ncentre = [0.3, 0, 0.1]\ninertia = [0.1, 0.1, 0.1]\n\
         [[link]]\nname = \"b\"\nmass = 1\ncentre = [-0.3, 0, -0.1]\ninertia = [0.1, 0.1, 0.1]\n\
         [[joint]]\nname = \"j\"\ntype = \"revolute\"\nchild = \"a\"\naxis = [0.6, 0, 0.8]\nstiffness = 1\n\
         [[joint]]\nname = \"k\"\ntype = \"revolute\"\nchild = \"b\"\nparent = \"world\"\naxis = [0.6, 0, 0.8]\ndamping = 0.1\nstiffness = 1\n",
    );
    for (state, options) in [
        ("--q 0,0", "--gravity 0,0,0"),
        ("--q 1e-12,-1e-12", "--gravity 0,0,0"),
        ("--q 1e-9,1e-9 --v 1e-10,0", "--gravity 0,0,0"),
        ("--q 1e-7,1e-7", "--gravity 0,0,0 --rtol 1e-4"),
        ("--q 1e-6,-1e-6 --v 0,1e-6", "--gravity 0,0,0"),
        ("--q 1e-6,-1e-6 --v 0,1e-6", "--gravity 0,0,0 --tau=1e-8,0"),
        ("--q 0,0 --v 1e-13,0", "--gravity 0,0,1e-12"),
    ] {
        let run = folder.run(&format!(
            "simulate arm.toml {state} {options} --duration 20"
        ));
        assert_eq!(
            run.code, 0,
            "{state} {options}\n{}{}",
            run.stdout, run.stderr
        );
    }
    // what is large enough is judged as ever
    let run = folder.run(
        "simulate arm.toml --q 0.01,0 --gravity 0,0,0 --duration 20 --method semi-implicit-euler --step 0.3",
    );
    assert_eq!(run.code, 1, "{}", run.stdout);
}

/// A run that breaks down before anything has moved says nothing about the laws.
#[test]
fn one_instant_is_no_evidence() {
    let run = common::run("simulate planar3 --duration 1 --rtol 1e-300");
    assert_eq!(run.code, 2);
    assert!(run.stdout.contains("not seen"), "{}", run.stdout);
    let energy = run
        .stdout
        .lines()
        .find(|line| line.contains("energy balance"));
    assert!(
        energy.is_some_and(|line| line.ends_with("not seen")),
        "{}",
        run.stdout
    );
    let value = common::run("simulate planar3 --duration 1 --rtol 1e-300 --json").json();
    assert_eq!(law(&value, "energy balance")["kept"], Value::Null);
    assert_eq!(law(&value, "energy balance")["worst"], Value::Null);
}

/// The midpoint rule keeps the energy of an oscillator to round-off with any step, and turns it too slowly by h − 2 atan(h/2) a step: a
/// phase that the audit tells.
#[test]
fn the_audit_sees_the_phase_of_fixed_steps() {
    let folder = Folder::new("phase");
    folder.write("osc.toml", OSCILLATOR);
    let command =
        "simulate osc.toml --v 1 --duration 20 --method implicit-midpoint --no-limits --json";
    for (step, steps) in [(1.0, 20.0), (0.1, 200.0), (0.01, 2000.0)] {
        let run = folder.run(&format!("{command} --step {step}"));
        let value = run.json();
        let phase = law(&value, "phase, by steps of half the size");
        let exact = steps * (step - 2.0 * (step / 2.0f64).atan());
        let found = phase["worst"].as_f64().expect("a phase");
        assert!(
            (found - exact).abs() < 0.2 * exact,
            "{step} s: {found}, not {exact}"
        );
        assert_eq!(phase["kept"], exact < 1e-2, "{step} s");
        assert_eq!(
            run.code,
            i32::from(exact > 1e-2),
            "{step} s: {}",
            run.stderr
        );
        assert_eq!(law(&value, "energy balance")["kept"], true);
    }
}

/// A run that overflows says so; NaN is no size of an error.
#[test]
fn an_overflow_is_told_in_words() {
    let run = run("simulate planar3 --method rk4 --step 1 --v 1e3,1e3,1e3 --duration 200");
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("has no result at 1 s: numbers of the run overflow"),
        "{}",
        run.stderr
    );
    assert!(!(run.stdout + &run.stderr).contains("NaN"));
}
