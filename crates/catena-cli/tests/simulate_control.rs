//! `catena simulate` with controllers: gains and targets by name, actuators and their limits, formulas, processes.

mod common;

use catena_io::run::read_run;
use common::{Folder, numbers};
use serde_json::Value;

/// Two wheels about vertical axes, of inertia 0.5 each; the second one stands beside the first.
const WHEELS: &str = "\
format = \"catena/1\"
name = \"wheels\"

[[link]]
name = \"left\"
mass = 1
inertia = [0.3, 0.3, 0.5]

[[link]]
name = \"right\"
mass = 1
inertia = [0.3, 0.3, 0.5]

[[joint]]
name = \"port\"
type = \"revolute\"
parent = \"world\"
child = \"left\"
limits = [-2, 2]

[[joint]]
name = \"starboard\"
type = \"revolute\"
parent = \"world\"
child = \"right\"
origin = [1, 0, 0]
limits = [-2, 2]
max_effort = 1.5
";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("wheels.toml", WHEELS);
    let passive = format!("{WHEELS}\n[[actuator]]\nname = \"motor\"\njoint = \"starboard\"\n");
    folder.write("passive.toml", &passive);
    folder
}

fn json(folder: &Folder, arguments: &str) -> Value {
    let run = folder.run(&format!("simulate {arguments} --json"));
    assert_eq!(run.code, 0, "{arguments}: {}", run.stderr);
    run.json()
}

fn refused(folder: &Folder, arguments: &str) -> String {
    let run = folder.run(&format!("simulate {arguments}"));
    assert_eq!(run.code, 2, "{arguments}: {}{}", run.stdout, run.stderr);
    run.stderr
}

/// 0.5 q̈ + d q̇ + k (q − to) = 0 from rest.
fn oscillator(k: f64, d: f64, from: f64, to: f64, t: f64) -> f64 {
    let omega = (k / 0.5 - d * d).sqrt();
    to + (from - to) * (-d * t).exp() * ((omega * t).cos() + d / omega * (omega * t).sin())
}

#[test]
fn gains_targets_and_positions_by_name() {
    let folder = folder("by-name");
    let common = "--duration 1 --interval 0.1 --rtol 1e-11 --unlimited";
    // the target is reached at once: the controller is a spring at the target from there on
    let run = json(
        &folder,
        &format!(
            "wheels.toml --q starboard=-60deg --controller pd --to port=0 --kp port=7,starboard=9 --kd 0.6 {common}"
        ),
    );
    let q = numbers(&run["q"]);
    assert!(q[0].abs() < 1e-12);
    // it holds where it is
    assert!((q[1] + std::f64::consts::FRAC_PI_3).abs() < 1e-12);
    let run = json(
        &folder,
        &format!("wheels.toml --v port=0.5 --controller pd --kp port=7 --kd port=0.6 {common}"),
    );
    // q̇₀ = 0.5: 0.5 q̈ + 0.6 q̇ + 7 q = 0
    let omega = (14.0f64 - 0.36).sqrt();
    let wanted = 0.5 / omega * (-0.6f64).exp() * omega.sin();
    assert!((numbers(&run["q"])[0] - wanted).abs() < 1e-9);
    for (arguments, wanted) in [
        (
            "--q portt=1",
            "--q: there is no `portt`\nhint: did you mean `port`?",
        ),
        ("--q port=1,2", "--q: `2` names no coordinate"),
        ("--q port=1,port=2", "--q: `port` is given twice"),
        ("--q port=x", "--q: `x` is not a number"),
        ("--v port=1m", "--v: `1m` is not a number"),
        (
            "--controller pd --kp port=-3",
            "a gain must be a number ≥ 0, not -3",
        ),
        ("--controller pd --kp port=3deg", "--kp: `3deg` is an angle"),
        ("--controller pd --to stern=1", "--to: there is no `stern`"),
        (
            "--rate 100",
            "--rate and --unlimited: there is no controller",
        ),
    ] {
        let message = refused(&folder, &format!("wheels.toml {arguments}"));
        assert!(message.contains(wanted), "{arguments}: {message}");
    }
}

#[test]
fn states_outside_the_limits_are_warned_of_once() {
    let folder = folder("outside");
    let run = folder.run("simulate wheels.toml --q -90,90 --duration 0.1 --no-limits");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warning = "warning: `port` is at -90 rad, outside its limits -2 to 2 rad, and so 1 other is; \
                   plain numbers are radians: write -90deg for degrees\n";
    assert_eq!(run.stderr, warning);
    let run = folder.run("inverse wheels.toml --q starboard=2.5");
    assert_eq!(
        run.stderr,
        "warning: `starboard` is at 2.5 rad, outside its limits -2 to 2 rad\n"
    );
    let run = folder.run("inverse wheels.toml --q 2,-2");
    assert_eq!(run.stderr, "");
}

#[test]
fn actuators_limit_what_controllers_demand() {
    let folder = folder("limits");
    let run = folder.run(
        "simulate wheels.toml --controller pd --to 0,1 --move-time 0.001 --kp 10 --kd 0 --duration 0.3 --interval 0.1",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout
            .contains("  actuator starboard at its limit of 1.5 N·m for 0.29"),
        "{}",
        run.stdout
    );
    let value = json(
        &folder,
        "wheels.toml --effort starboard=2+0*t --duration 1 --interval 0.5",
    );
    // q = 1.5 t² / (2 · 0.5)
    assert!((numbers(&value["q"])[1] - 1.5).abs() < 1e-9);
    let used = &value["actuators"][1];
    assert_eq!(used["actuator"], "starboard");
    assert_eq!(
        (&used["saturated"], &used["largest_demand"]),
        (&1.0.into(), &2.0.into())
    );
    let value = json(
        &folder,
        "wheels.toml --effort starboard=2 --duration 1 --interval 0.5 --unlimited",
    );
    assert!((numbers(&value["q"])[1] - 2.0).abs() < 1e-9);
    // a passive joint gets nothing
    let value = json(
        &folder,
        "passive.toml --q port=0.5 --controller pd --to starboard=0.1 --duration 1",
    );
    assert_eq!(numbers(&value["q"])[0], 0.5);
    assert_eq!(value["actuators"].as_array().map(Vec::len), Some(1));
    let message = refused(&folder, "passive.toml --controller pd --to port=1");
    assert!(
        message.contains("--to: `port` has no actuator"),
        "{message}"
    );
    assert!(
        message.contains("the actuators drive starboard"),
        "{message}"
    );
    let message = refused(&folder, "passive.toml --effort port=1");
    assert!(
        message.contains("--effort: `port` has no actuator"),
        "{message}"
    );
}

#[test]
fn efforts_by_formulas() {
    let folder = folder("formulas");
    let common = "--duration 1 --interval 0.1 --rtol 1e-11";
    let run = json(
        &folder,
        &format!(
            "wheels.toml --q port=1 --effort port=-4*q.port-0.6*v.port --effort starboard=0.25*cos(2*t) {common}"
        ),
    );
    let q = numbers(&run["q"]);
    assert!((q[0] - oscillator(4.0, 0.6, 1.0, 0.0, 1.0)).abs() < 1e-9);
    // 0.5 q̈ = 0.25 cos 2t
    assert!((q[1] - 0.125 * (1.0 - 2.0f64.cos())).abs() < 1e-9);
    for (arguments, wanted) in [
        ("--effort port", "--effort: `port` names no joint"),
        (
            "--effort prt=1",
            "--effort: there is no joint `prt`\nhint: did you mean `port`?",
        ),
        (
            "--effort port=1 --effort port=2",
            "--effort: `port` is given twice",
        ),
        (
            "--effort port=2*sim(t)",
            "--effort: `2*sim(t)`, column 3: there is no function `sim`",
        ),
        (
            "--effort port=q.stern",
            "--effort: `q.stern`, column 1: there is no coordinate `q.stern`",
        ),
        ("--effort port=1 --controller pd", "cannot be used with"),
        (
            "--effort port=1 --rate 0",
            "the rate of a controller must be positive, not 0 Hz",
        ),
        (
            "--effort port=sqrt(0.35-t)",
            "the controller's effort for `port` is NaN at 0.3",
        ),
    ] {
        let message = refused(&folder, &format!("wheels.toml {arguments} {common}"));
        assert!(message.contains(wanted), "{arguments}: {message}");
    }
    // what was computed is kept
    let run = folder.run(&format!(
        "simulate wheels.toml --effort port=sqrt(0.35-t) {common} -o run.csv"
    ));
    assert!(
        run.stderr.contains("run.csv keeps 4 rows, up to time 0.3"),
        "{}",
        run.stderr
    );
    assert_eq!(
        read_run(&folder.path().join("run.csv"))
            .expect("a run")
            .row_count(),
        4
    );
}

/// A sampled controller: between samples the motion is a parabola.
#[test]
fn a_rate_holds_the_efforts() {
    let folder = folder("rate");
    let run = json(
        &folder,
        "wheels.toml --q port=1 --effort port=-4*q.port-0.6*v.port --rate 20 --duration 1 --rtol 1e-11",
    );
    let (mut q, mut v, h) = (1.0, 0.0, 0.05);
    for _ in 0..20 {
        let a = (-4.0 * q - 0.6 * v) / 0.5;
        q += h * v + 0.5 * h * h * a;
        v += h * a;
    }
    assert!((numbers(&run["q"])[0] - q).abs() < 1e-10);
    assert!((numbers(&run["v"])[0] - v).abs() < 1e-10);
}

/// Processes, in the language of the shell, which reads line by line.
#[cfg(unix)]
mod processes {
    use super::*;

    /// A spring at the first joint.
    const SPRING: &str = r#"
read -r hello
while read -r line; do
  printf '%s\n' "$line" | awk '{
    match($0, /"q":\[[^,\]]*/); q = substr($0, RSTART + 5, RLENGTH - 5)
    match($0, /"v":\[[^,\]]*/); v = substr($0, RSTART + 5, RLENGTH - 5)
    printf "{\"tau\": [%.17g, 0], \"state\": []}\n", -4 * q - 0.6 * v }'
done
"#;

    fn with(name: &str, script: &str) -> Folder {
        let folder = folder(name);
        folder.write("control.sh", script);
        folder
    }

    const COMMAND: [&str; 6] = [
        "simulate",
        "wheels.toml",
        "--controller-command",
        "sh control.sh",
        "--rate",
        "20",
    ];

    fn start(folder: &Folder, more: &str) -> common::Run {
        let mut words: Vec<&str> = COMMAND.to_vec();
        words.extend(more.split_whitespace());
        common::run_in(folder.path(), &words)
    }

    #[test]
    fn a_process_is_the_formula() {
        let folder = with("process", SPRING);
        let common = "--q port=1 --duration 1 --rtol 1e-11 --interval 0.05";
        let run = start(&folder, &format!("{common} --json"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let formula = json(
            &folder,
            &format!("wheels.toml --effort port=-4*q.port-0.6*v.port --rate 20 {common}"),
        );
        let (found, wanted) = (numbers(&run.json()["q"]), numbers(&formula["q"]));
        common::assert_close(&found, &wanted, 1e-14);
    }

    #[test]
    fn processes_that_fail() {
        let common = "--duration 1 --interval 0.1 -o run.csv";
        for (name, eleventh, wanted) in [
            (
                "dies",
                "exit 3",
                "at 0.5 s the process has ended (exit status: 3)",
            ),
            (
                "garbage",
                "echo hello",
                "at 0.5 s the process answered `hello`: that is not JSON",
            ),
            (
                "length",
                "echo '{\"tau\": [0]}'",
                "at 0.5 s the process answered `{\"tau\": [0]}`: ",
            ),
            (
                "nothing",
                "echo '{\"tau\": [0, null]}'",
                "the effort for `starboard` is not a number",
            ),
            (
                "nan",
                "echo '{\"tau\": [0, NaN]}'",
                "at 0.5 s the process answered `{\"tau\": [0, NaN]}`: that is not JSON",
            ),
            (
                "hangs --controller-timeout 2",
                "true",
                "at 0.5 s the process did not answer within 2 s",
            ),
        ] {
            let script = format!(
                "read -r hello\nn=0\nwhile read -r line; do\n  n=$((n + 1))\n  \
                 if [ $n = 11 ]; then {eleventh}; else echo '{{\"tau\": [0, 0]}}'; fi\ndone\n"
            );
            let (name, more) = name.split_once(' ').unwrap_or((name, ""));
            let folder = with(name, &script);
            let run = start(&folder, &format!("{common} {more}"));
            assert_eq!(run.code, 2, "{name}: {}", run.stderr);
            assert!(run.stderr.contains(wanted), "{name}: {}", run.stderr);
            assert!(
                run.stderr.contains("run.csv keeps 5 rows"),
                "{name}: {}",
                run.stderr
            );
            let kept = read_run(&folder.path().join("run.csv")).expect("a run");
            assert_eq!(kept.row_count(), 5, "{name}");
        }
        let folder = with("missing", "");
        let words = [
            "simulate",
            "wheels.toml",
            "--controller-command",
            "no-such-program x",
        ];
        let run = common::run_in(folder.path(), &[&words[..], &["--rate", "20"]].concat());
        assert!(
            run.stderr.contains("`no-such-program` cannot be started"),
            "{}",
            run.stderr
        );
        let run = common::run_in(folder.path(), &words);
        assert!(run.stderr.contains("--rate"), "{}", run.stderr);
    }

    /// What a process hands out as its state comes back with the next request, also after a resume; without it a resume is
    /// refused.
    #[test]
    fn resume_needs_the_state_of_the_process() {
        let counting = r#"
read -r hello
while read -r line; do
  n=0
  case $line in *'"state":['*) n=${line##*'"state":['}; n=${n%%[].]*} ;; esac
  if [ LIMIT = 1 ] && [ "$n" -ge 30 ]; then exit 1; fi
  echo "{\"tau\": [$((n % 7 - 3))e-1, 0], \"state\": [$((n + 1))]}"
done
"#;
        let common = "--duration 4 --interval 0.1";
        let folder = with("counting", &counting.replace("LIMIT", "0"));
        let whole = start(&folder, &format!("{common} -o whole.csv"));
        assert_eq!(whole.code, 0, "{}", whole.stderr);
        folder.write("control.sh", &counting.replace("LIMIT", "1"));
        let part = start(&folder, &format!("{common} -o part.csv"));
        assert_eq!(part.code, 2, "{}", part.stderr);
        folder.write("control.sh", &counting.replace("LIMIT", "0"));
        let rest = start(&folder, &format!("{common} -o part.csv --resume"));
        assert_eq!(rest.code, 0, "{}", rest.stderr);
        let [whole, part] =
            ["whole.csv", "part.csv"].map(|name| read_run(&folder.path().join(name)).expect(name));
        assert_eq!(whole.row_count(), part.row_count());
        for k in 0..whole.row_count() {
            assert_eq!(whole.row(k), part.row(k), "{k}");
        }

        let forgetful = "read -r hello\nfor n in 1 2 3 4 5 6 7 8 9; do read -r line; echo '{\"tau\": [0, 0]}'; done\n";
        let folder = with("forgetful", forgetful);
        let part = start(&folder, &format!("{common} -o part.csv"));
        assert_eq!(part.code, 2, "{}", part.stderr);
        let rest = start(&folder, &format!("{common} -o part.csv --resume"));
        assert_eq!(rest.code, 2);
        assert!(
            rest.stderr
                .contains("its controller keeps a state that was not saved"),
            "{}",
            rest.stderr
        );
    }
}

#[test]
fn info_shows_the_actuators_that_are_named() {
    let folder = folder("info");
    let text = folder.run("info passive.toml").stdout;
    assert!(text.contains("motor      starboard"), "{text}");
    let value = folder.run("info passive.toml --json").json();
    assert_eq!(value["actuators"][0]["freedom"], "starboard");
    assert_eq!(value["actuators"][0]["max_effort"], 1.5);
    assert!(!folder.run("info wheels.toml").stdout.contains("actuator"));
}

/// Frames and the mass centre in all formats; names that do not exist are refused.
#[test]
fn chosen_columns() {
    let folder = folder("record");
    let common = "--controller pd --to starboard=1 --duration 1 --interval 0.1";
    for name in ["run.csv", "run.parquet", "run.mcap"] {
        let record = "--record frame.right.*,centre.*,momentum.* --record tau.*";
        let run = folder.run(&format!("simulate wheels.toml {common} {record} -o {name}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let run = read_run(&folder.path().join(name)).expect(name);
        let column = |name: &str| run.column(name).expect(name);
        for k in 0..run.row_count() {
            let angle = column("q.starboard")[k];
            assert_eq!(column("frame.right.x")[k], 1.0);
            assert!((column("frame.right.qz")[k] - (0.5 * angle).sin()).abs() < 1e-15);
            assert_eq!(column("frame.right.wz")[k], column("v.starboard")[k]);
            assert_eq!(column("frame.right.alphaz")[k], column("a.starboard")[k]);
            assert_eq!(column("centre.x")[k], 0.5);
            assert_eq!(column("momentum.x")[k], 0.0);
        }
        assert!(run.column("frame.left.x").is_none());
    }
    let message = refused(
        &folder,
        &format!("wheels.toml {common} --record frame.rigth.x -o bad.csv"),
    );
    assert!(
        message.contains("--record: no column is called `frame.rigth.x`"),
        "{message}"
    );
    assert!(
        message.contains("did you mean `frame.right.x`?"),
        "{message}"
    );
}

#[path = "../examples/own_controller.rs"]
mod own_controller;

/// The example runs, and the page shows it as it is.
#[test]
fn the_example_is_that_of_the_page() {
    own_controller::main().expect("the example runs");
    let example = include_str!("../examples/own_controller.rs");
    let page = include_str!("../../../docs/tutorials/own-controller.md");
    assert!(page.contains(&format!("```rust\n{example}```")));
}

/// A process gets what the page says, and its answer is accepted.
#[test]
fn the_protocol_is_that_of_the_page() {
    let page = include_str!("../../../docs/tutorials/own-controller.md");
    let blocks: Vec<&str> = page
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("an end").0.trim_end())
        .collect();
    let [greeting, exchange] = blocks[..] else {
        panic!("{blocks:?}");
    };
    let (request, answer) = exchange.split_once('\n').expect("two lines");
    let folder = common::Folder::new("protocol");
    let arm = include_str!("../../../models/two_link_arm.urdf");
    folder.write("arm.urdf", arm);
    folder.write("answer", &format!("{answer}\n"));
    folder.write(
        "control.sh",
        "while read -r line; do echo \"$line\" >> seen; case $line in *format*) ;; *) cat answer ;; esac; done\n",
    );
    let run = common::run_in(
        folder.path(),
        &[
            "simulate",
            "arm.urdf",
            "--controller-command",
            "sh control.sh",
            "--rate",
            "500",
            "--duration",
            "0.01",
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let seen = folder.read("seen");
    let mut lines = seen.lines();
    assert_eq!(lines.next(), Some(greeting));
    assert_eq!(lines.next(), Some(request));
    assert!(
        lines
            .next()
            .is_some_and(|next| next.contains("\"state\":[0.01,0.02]"))
    );
}
