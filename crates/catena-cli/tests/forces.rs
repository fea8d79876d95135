//! Force elements and sensors on the command line: `info`, what a run records, the benchmark problems as files, refusals.

mod common;

use catena_io::run::read_run;
use common::{Folder, good, numbers, run};

const SWING: &str = r#"
format = "catena/1"
name = "swing"
[[link]]
name = "rod"
mass = 2
centre = [0, 0, -0.5]
inertia = [0.1, 0.1, 0.01]
[[joint]]
name = "pivot"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
[[frame]]
name = "tip"
link = "rod"
origin = [0, 0, -1]
[[force]]
name = "coil"
type = "spring"
parent = "world"
child = "rod"
parent_point = [1, 0, -1]
child_point = [0, 0, -1]
stiffness = 30
damping = 1
rest_length = 0.4
[[force]]
name = "air"
type = "drag"
link = "rod"
point = [0, 0, -1]
quadratic = 0.1
[[sensor]]
name = "imu"
type = "imu"
frame = "tip"
[[sensor]]
name = "cell"
type = "force_torque"
joint = "pivot"
"#;

#[test]
fn a_run_records_forces_and_sensors_in_all_formats() {
    let folder = Folder::new("forces");
    folder.write("swing.toml", SWING);
    let shown = folder.run("info swing.toml").stdout;
    assert!(shown.contains("30 N/m, 1 N·s/m, 0.4 m"), "{shown}");
    let record =
        "--record forces,sensors,joint.*,angular_momentum.*,actuator.* --record frame.tip.*";
    for name in ["run.csv", "run.parquet", "run.mcap"] {
        let run = folder.run(&format!(
            "simulate swing.toml --duration 1 --interval 0.1 --rtol 1e-10 {record} -o {name}"
        ));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stdout.contains("energy of force coil:"),
            "{}",
            run.stdout
        );
        let run = read_run(&folder.path().join(name)).expect(name);
        let column = |name: &str| run.column(name).unwrap_or_else(|| panic!("{name}"));
        for k in 0..run.row_count() {
            let at = |name: &str| column(name)[k];
            let (x, z) = (at("frame.tip.x"), at("frame.tip.z"));
            let length = (x - 1.0).hypot(z + 1.0);
            assert!((at("force.coil.length") - length).abs() < 1e-14);
            let tension = 30.0 * (length - 0.4) + at("force.coil.rate");
            assert!((at("force.coil.tension") - tension).abs() < 1e-13);
            let energy = 15.0 * (length - 0.4) * (length - 0.4);
            assert!((at("force.coil.energy") - energy).abs() < 1e-13);
            assert!((at("elastic") - energy).abs() < 1e-13);
            let speed = at("frame.tip.vx").hypot(at("frame.tip.vz"));
            let drag = at("force.air.x").hypot(at("force.air.z"));
            assert!((drag - 0.1 * speed * speed).abs() < 1e-14);
            assert!((at("force.air.dissipated") - drag * speed).abs() < 1e-14);
            // the specific force in axes of the tip
            let angle = at("q.pivot");
            let (ax, az) = (at("frame.tip.ax"), at("frame.tip.az") + 9.81);
            let felt = ax * angle.cos() - az * angle.sin();
            assert!((at("sensor.imu.sx") - felt).abs() < 1e-12);
            assert_eq!(at("sensor.imu.wy"), at("v.pivot"));
            // what the pivot carries, in axes of the world and of the rod
            let (fx, fz) = (at("joint.pivot.fx"), at("joint.pivot.fz"));
            let along = fx * angle.cos() - fz * angle.sin();
            assert!((at("sensor.cell.fx") - along).abs() < 1e-12);
            assert!(at("joint.pivot.ny").abs() < 1e-12, "nothing drives it");
            assert!((at("angular_momentum.y") - 0.1 * at("v.pivot")).abs() < 1e-14);
            assert_eq!(at("actuator.pivot.power"), 0.0);
        }
    }
    let wrong = folder.run("simulate swing.toml --record force.coli.* -o bad.csv");
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("no column is called `force.coli.*`"),
        "{}",
        wrong.stderr
    );
}

/// Wrenches of loop closures: those of a bar on two supports.
#[test]
fn a_run_records_constraints() {
    let folder = Folder::new("record-constraints");
    let start = "--q 1.2,-1.2,1.2 --v 0.4,-0.4,0.4";
    let run = folder.run(&format!(
        "simulate four-bar-1 {start} --duration 0.5 --interval 0.1 --rtol 1e-11 --record constraint.*,joint.*,centre.* -o run.csv"
    ));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = read_run(&folder.path().join("run.csv")).expect("a run");
    let column = |name: &str| run.column(name).unwrap_or_else(|| panic!("{name}"));
    for k in 0..run.row_count() {
        let at = |name: &str| column(name)[k];
        // all three rods of 1 kg hang on the two feet
        for (axis, gravity) in [("x", 0.0), ("y", -9.81)] {
            let sum = at(&format!("joint.foot0.f{axis}")) + at(&format!("joint.foot1.f{axis}"));
            let needed = 3.0 * (at(&format!("centre.a{axis}")) - gravity);
            assert!((sum - needed).abs() < 1e-9, "{sum} {needed}");
        }
        assert!(at("constraint.loop0.fx").is_finite());
        assert!(at("constraint.loop0.drift") < 1e-10);
        assert!(at("constraint.loop0.drift_rate") < 1e-10);
    }
}

/// `--loads` records the wrenches of all joints and constraints, and `plot` draws them.
#[test]
fn a_run_records_loads() {
    let folder = Folder::new("loads");
    for (model, loads) in [
        ("planar3", vec!["joint.joint1", "joint.joint3"]),
        ("four-bar-1", vec!["joint.foot0", "constraint.loop0"]),
    ] {
        let file = format!("{model}.csv");
        let command = format!("simulate {model} --duration 0.2 --interval 0.1");
        let named = folder.run(&format!(
            "{command} --record joint.* -o named.csv --overwrite"
        ));
        assert_eq!(named.code, 0, "{}", named.stderr);
        let run = folder.run(&format!("{command} --loads -o {file}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let run = read_run(&folder.path().join(&file)).expect("a run");
        let named = read_run(&folder.path().join("named.csv")).expect("a run");
        for load in &loads {
            for part in ["fx", "fy", "fz", "nx", "ny", "nz"] {
                let name = format!("{load}.{part}");
                let column = run.column(&name).unwrap_or_else(|| panic!("{name}"));
                if load.starts_with("joint") {
                    assert_eq!(Some(column), named.column(&name), "{name}");
                }
            }
        }
        let plot = folder.run(&format!("plot {file} --format svg"));
        assert_eq!(plot.code, 0, "{}", plot.stderr);
        let chart = folder.read(&format!("{model}-loads.svg"));
        for part in ["force (N)", "moment (N·m)"].iter().chain(&loads) {
            assert!(chart.contains(part), "{part}");
        }
    }
    let plot = folder.run("plot named.csv --columns joint.* --format svg");
    assert_eq!(plot.code, 0, "{}", plot.stderr);
    assert!(!plot.stderr.contains("loads"), "{}", plot.stderr);
    let run = folder.run("simulate planar3 --loads");
    assert_eq!(run.code, 2, "{}", run.stderr);
}

/// A run with forces that was stopped continues as if it had not been.
#[test]
fn a_recorded_run_is_resumed() {
    let folder = Folder::new("forces-resume");
    folder.write("swing.toml", SWING);
    let command = "simulate swing.toml --duration 1 --interval 0.001 --record forces,sensors";
    assert_eq!(folder.run(&format!("{command} -o whole.csv")).code, 0);
    let whole = folder.read("whole.csv");
    // the file as it was after its first block
    let mut kept = String::new();
    for line in whole.split_inclusive('\n') {
        kept += line;
        if line.contains(" checkpoint ") {
            break;
        }
    }
    assert!(kept.len() < whole.len());
    let path = folder.path().join("whole.csv");
    let a = read_run(&path).expect("a run");
    folder.write("whole.csv", &kept);
    let resumed = folder.run(&format!("{command} -o whole.csv --resume"));
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let b = read_run(&path).expect("a run");
    assert_eq!(a.columns, b.columns);
    assert_eq!(a.audit, b.audit);
}

/// The squeezer from its file, as its comment says: the published values.
#[test]
fn the_squeezer_is_a_plain_file() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/squeezer.toml");
    let found = good(&format!(
        "simulate {file} --duration 0.03 --interval 0.003 --rtol 1e-11 --json"
    ))
    .json();
    let q = numbers(&found["q"]);
    for (a, b) in q.iter().zip([15.81077119629904, -15.75637105984298]) {
        assert!((a - b).abs() < 1e-7, "{a} {b}");
    }
    assert_eq!(found["audit"]["forces"][0]["force"], "spring");
}

#[test]
fn what_knows_no_forces_refuses_them() {
    let folder = Folder::new("forces-refused");
    folder.write("swing.toml", SWING);
    let refused = folder.run("export-case swing.toml");
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert!(
        refused.stderr.contains("does not support force elements")
            && refused.stderr.contains("the spring `coil`"),
        "{}",
        refused.stderr
    );
    for command in [
        "generate swing.toml -o code",
        "derive swing.toml",
        "count swing.toml",
        "forward swing.toml --random 1",
        "inverse swing.toml --random 1",
        "evaluate swing.toml --random 1",
        "derivatives swing.toml --random 1",
        "check swing.toml",
        "factor swing.toml --random 1",
        "regressor swing.toml --random 1",
        "linearize swing.toml",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 0, "{command}: {}{}", run.stdout, run.stderr);
    }
    let shown = folder.run("evaluate swing.toml --q 0.3 --json").json();
    let state = shown.as_array().map_or(&shown, |states| &states[0]);
    assert_eq!(state["forces"][0]["name"], "coil");
    assert!(
        state["forces"][0]["tension"]
            .as_f64()
            .is_some_and(|t| t > 0.0)
    );
    assert_eq!(run("info squeezer").code, 0);
}

/// A process that gets the sensors by name is the formula with the same sensors, bit for bit.
#[test]
fn sensors_close_the_loop() {
    let folder = Folder::new("sensors");
    folder.write("swing.toml", SWING);
    folder.write(
        "brake.py",
        "import json, sys\n\
         hello = json.loads(sys.stdin.readline())\n\
         assert hello['sensors']['cell'] == ['fx', 'fy', 'fz', 'nx', 'ny', 'nz']\n\
         for line in sys.stdin:\n\
         \x20   see = json.loads(line)['sensors']\n\
         \x20   effort = 0.1 * see['cell']['fx'] - 0.5 * see['imu']['wy']\n\
         \x20   print(json.dumps({'tau': [effort]}), flush=True)\n",
    );
    let common = ["--q", "0.4", "--rate", "50", "--duration", "1"];
    let columns = |name: &str, more: [&str; 2]| {
        let words = ["simulate", "swing.toml", "-o", name];
        let all: Vec<&str> = words.iter().chain(&common).chain(&more).copied().collect();
        let run = common::run_in(folder.path(), &all);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let run = read_run(&folder.path().join(name)).expect("readable");
        run.column("q.pivot").expect("a column").to_vec()
    };
    let formula = columns(
        "formula.csv",
        ["--effort", "pivot=0.1*sensor.cell.fx-0.5*sensor.imu.wy"],
    );
    let process = columns("process.csv", ["--controller-command", "python3 brake.py"]);
    let free = columns("free.csv", ["--effort", "pivot=0"]);
    assert_eq!(formula, process);
    assert_ne!(formula, free);
    let refused = folder.run("simulate swing.toml --effort pivot=sensor.imu.wy");
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("uses a sensor, which needs --rate"),
        "{}",
        refused.stderr
    );
    let refused = folder.run("simulate swing.toml --rate 50 --effort pivot=sensor.imu.ww");
    assert!(
        refused.stderr.contains("did you mean `sensor.imu.w"),
        "{}",
        refused.stderr
    );
}
