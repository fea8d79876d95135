//! `catena simulate`: bases that move, dry friction, fixed steps with events, and runs that are read back.

mod common;

use catena_io::run::read_run;
use common::{Folder, assert_close, numbers};
use serde_json::Value;

/// A pendulum with dry friction.
const PENDULUM: &str = "\
format = \"catena/1\"
name = \"pendulum\"
gravity = [0, 0, -9.81]

[[link]]
name = \"rod\"
mass = 1.0
centre = [0, 0, -0.5]
inertia = [0.1, 0.1, 0.1]

[[joint]]
name = \"hinge\"
type = \"revolute\"
parent = \"world\"
child = \"rod\"
axis = [0, 1, 0]
friction = 0.35
";

fn worst(value: &Value, name: &str) -> f64 {
    let laws = value["audit"]["laws"].as_array().expect("laws");
    let law = laws.iter().find(|law| law["law"] == name);
    law.and_then(|law| law["worst"].as_f64())
        .unwrap_or_else(|| panic!("{name} in {value}"))
}

/// A base that accelerates upward is a stronger gravity; the run records the base and can be read back as one.
#[test]
fn a_base_that_moves() {
    let folder = Folder::new("base");
    let json = |arguments: &str| {
        let run = folder.run(&format!("simulate {arguments} --json"));
        assert_eq!(run.code, 0, "{arguments}: {}", run.stderr);
        run.json()
    };
    folder.write("strong.toml", &PENDULUM.replace("-9.81", "-11.81"));
    folder.write("weak.toml", PENDULUM);
    let common = "--q 1.2 --duration 2 --rtol 1e-11";
    let moving = json(&format!("weak.toml --base accelerate:0,0,2 {common}"));
    let resting = json(&format!("strong.toml {common}"));
    assert_close(&numbers(&moving["q"]), &numbers(&resting["q"]), 1e-9);
    assert!(worst(&moving, "energy balance") < 1e-9);

    let wobble = "--base turn:0,0,90deg --base shake:0.1,0,0,2 --base swing:0,0,0.2,1";
    let run = json(&format!(
        "stanford {wobble} --duration 1 --rtol 1e-10 --interval 0.005 -o run.csv"
    ));
    assert!(worst(&run, "energy balance") < 1e-9);
    let written = read_run(&folder.path().join("run.csv")).expect("a run");
    let column = |name: &str| written.column(name).expect(name)[100];
    let t = 0.5f64;
    let tau = std::f64::consts::TAU;
    assert!((column("base.x") - 0.1 * (2.0 * tau * t).sin()).abs() < 1e-15);
    assert!((column("base.vx") - 0.2 * tau * (2.0 * tau * t).cos()).abs() < 1e-13);
    assert!((column("base.wz") - (tau / 4.0 + 0.2 * tau * (tau * t).cos())).abs() < 1e-13);
    // the poses of the run as a table: splines of order 4 through them
    let again = json("stanford --base run.csv --duration 1 --rtol 1e-10");
    assert_close(&numbers(&again["q"]), &numbers(&run["q"]), 1e-5);
    assert!(worst(&again, "energy balance") < 1e-9);
    // nothing drove the joints: the inverse dynamics of the run, base included, is nothing
    let inverse = folder
        .run("inverse stanford --trajectory run.csv --json")
        .json();
    for state in inverse["states"].as_array().expect("states") {
        assert!(
            numbers(&state["tau"]).iter().all(|x| x.abs() < 1e-9),
            "{state}"
        );
    }
}

/// Fixed steps locate events, and samples need not fall on steps; the order of the method is that of the time of the event.
#[test]
fn fixed_steps_have_events() {
    let folder = Folder::new("fixed-events");
    folder.write("free.toml", &PENDULUM.replace("friction = 0.35", ""));
    let time = |method: &str| {
        let run = folder.run(&format!(
            "simulate free.toml --q 1.2 --duration 1 {method} --plane rod:1,0,0,5 --plane rod:0,0,1,3 --json"
        ));
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.json()
    };
    // never crossed by the origin of a rod that does not move
    assert_eq!(time("--method rk4")["events"], serde_json::json!([]));
    folder.write(
        "limited.toml",
        &PENDULUM.replace("friction = 0.35", "limits = [-0.3, 2]"),
    );
    let event = |method: &str| {
        let run = folder.run(&format!(
            "simulate limited.toml --q 1.2 --duration 1 {method} --json"
        ));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let value = run.json();
        assert_eq!(value["events"][0]["event"], "hinge passes its lower limit");
        value["events"][0]["time"].as_f64().expect("a time")
    };
    let exact = event("--rtol 1e-12 --method verner9");
    for (method, coarse, order) in [
        ("rk4", 0.02, 4.0),
        ("implicit-midpoint", 0.01, 2.0),
        ("semi-implicit-euler", 0.003, 1.0),
    ] {
        let error = |step: f64| (event(&format!("--method {method} --step {step}")) - exact).abs();
        let measured = (error(coarse) / error(0.5 * coarse)).log2();
        assert!((measured - order).abs() < 0.6, "{method}: {measured}");
    }
}

#[test]
fn dry_friction_holds() {
    let folder = Folder::new("held");
    folder.write("pendulum.toml", PENDULUM);
    let run = folder.run("simulate pendulum.toml --q 1.2 --duration 10 -o run.csv");
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in [
        "hinge is held by dry friction",
        "  dry friction held hinge for ",
    ] {
        assert!(run.stdout.contains(part), "{}", run.stdout);
    }
    let value = folder
        .run("simulate pendulum.toml --q 1.2 --duration 10 --json")
        .json();
    assert_eq!(value["audit"]["held"][0]["freedom"], "hinge");
    assert_eq!(value["v"], serde_json::json!([0.0]));
    let q = numbers(&value["q"])[0];
    let written = read_run(&folder.path().join("run.csv")).expect("a run");
    let friction = written.column("friction.hinge").expect("friction");
    assert_eq!(friction[100].abs(), 0.35);
    let holding = 0.5 * 9.81 * q.sin();
    assert!((friction[1000] - holding).abs() < 1e-12, "{holding}");
    // a start at rest that friction holds
    let held = folder
        .run("simulate pendulum.toml --q 0.05 --duration 1 --json")
        .json();
    assert_eq!(numbers(&held["q"]), [0.05]);
    assert_eq!(held["audit"]["held"][0]["duration"], 1.0);
}

/// A run is a trajectory for computed torque, and one of its rows a start.
#[test]
fn runs_are_read_back() {
    let folder = Folder::new("read-back");
    let json = |arguments: &str| {
        let run = folder.run(&format!("simulate {arguments} --json"));
        assert_eq!(run.code, 0, "{arguments}: {}", run.stderr);
        run.json()
    };
    let fall = json("stanford --q 0.1,0.9,0.1,0.3,0.4,0.5 --duration 0.5 --rtol 1e-11 -o fall.csv");
    // without gravity the arm follows only because it is driven
    let driven = json(
        "stanford --gravity 0,0,0 --q 0.1,0.9,0.1,0.3,0.4,0.5 --duration 0.5 --rtol 1e-11 \
         --controller computed-torque --trajectory fall.csv",
    );
    assert_close(&numbers(&driven["q"]), &numbers(&fall["q"]), 1e-8);
    // from the middle of the run to its end
    let rest = json("stanford --state fall.csv --at 0.2 --duration 0.3 --rtol 1e-11");
    assert_close(&numbers(&rest["q"]), &numbers(&fall["q"]), 1e-9);
    let more = json("stanford --state fall.csv --at end --duration 0.1");
    assert_eq!(more["samples"], 11);
    // efforts of a run drive another one
    json("planar3 --controller gravity --q 0.1,0.2,0.3 --duration 0.2 -o held.csv");
    let again = json("planar3 --efforts held.csv --q 0.1,0.2,0.3 --duration 0.2");
    assert_close(&numbers(&again["q"]), &[0.1, 0.2, 0.3], 1e-9);
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("input-mistakes");
    folder.write("poses.csv", "t,x,y,z\n0,0,0,0\n1,0,0,1\n");
    folder.write("half.csv", "t,x,y\n0,0,0\n1,0,0\n");
    folder.write("wrong.csv", "t,x,y,zz\n0,0,0,0\n");
    folder.write("feet.csv", "t,x [ft],y,z\n0,0,0,0\n1,0,0,0\n");
    folder.write("word.csv", "t,x,y,z\n0,0,0,0\n1,0,up,0\n");
    folder.write("flip.csv", "t,qw,qx,qy,qz\n0,1,0,0,0\n1,0,1,0,0\n");
    folder.write(
        "moving.json",
        "{\"q\": [0, 0, 0], \"base\": {\"linear_velocity\": [1, 0, 0]}}",
    );
    folder.run("simulate planar3 --duration 0.1 -o run.csv");
    let mut wrong = String::new();
    for (arguments, message) in [
        (
            "--base poses.csv --duration 2",
            "error: the motion of the base ends at 1 s, the simulation at 2 s\n\
             hint: give more rows, or a shorter duration\n",
        ),
        (
            "--base half.csv",
            "error: some columns of the position are missing: z\n  --> half.csv:1\n",
        ),
        (
            "--base wrong.csv",
            "error: a motion of the base has no column `zz`\n  --> wrong.csv:1\nhint: did you mean `qz`?\n",
        ),
        (
            "--base feet.csv",
            "error: column `x` is in m, not in `ft`\n  --> feet.csv:1\n",
        ),
        (
            "--base word.csv",
            "error: column `y`: `up` is not a number\n  --> word.csv:3\nhint: write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4\n",
        ),
        (
            "--base flip.csv",
            "error: the base turns by more than 120° up to the row at 1 s\n  --> flip.csv\n\
             hint: give more rows: the motion between these two is ambiguous\n",
        ),
        (
            "--base run.csv",
            "error: there is no motion of the base in this file\n  --> run.csv:1\n\
             hint: the columns are t, x, y, z (m) and qw, qx, qy, qz; a run has them if it was made with --base\n",
        ),
        (
            "--base poses.csv --base turn:0,0,1",
            "error: --base: `poses.csv` cannot be combined with another motion\n\
             hint: write a file of poses (FILE.csv), or move:vx,vy,vz (m/s), accelerate:ax,ay,az (m/s²), \
             turn:wx,wy,wz (rad/s), shake:dx,dy,dz,HZ (m) or swing:rx,ry,rz,HZ (rad)\n",
        ),
        (
            "--base turn:0,0,0",
            "error: --base: the axis of a rotation cannot be zero\n",
        ),
        (
            "--base shake:0,0,1deg,1",
            "error: --base shake: `1deg` is not a number\nhint: write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4\n",
        ),
        (
            "--state moving.json",
            "error: the base of the initial state moves, but its further motion is not given\n\
             hint: give the motion of the base among the inputs (`--base`)\n",
        ),
        (
            "--state run.csv --at noon",
            "error: --at: `noon` is not a number\nhint: write a time in s, or `end` for the last row\n",
        ),
        (
            "--state run.csv --at 0.033",
            "error: --at: no state is at 0.033 s\nhint: there are 11 times, from 0 s to 0.1 s\n",
        ),
        (
            "--controller pd --trajectory poses.csv",
            "error: there is no column `x`\n  --> poses.csv:1\n\
             hint: columns are t, q1…q3, v1…v3, a1…a3, tau1…tau3, or q:NAME and so on with the names joint1, joint2, joint3\n",
        ),
    ] {
        let run = folder.run(&format!("simulate planar3 {arguments}"));
        if run.code != 2 || !run.stdout.is_empty() || run.stderr != message {
            wrong += &format!(
                "{arguments}\n{}{}expected\n{message}\n",
                run.stdout, run.stderr
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Limits that hold: impacts, restitution by name, resumed runs, and what is refused.
#[test]
fn limits_hold() {
    let folder = Folder::new("stops");
    let limited = PENDULUM.replace("friction = 0.35", "limits = [0.3, 2]");
    folder.write("door.toml", &limited);
    let command = "simulate door.toml --q 1.2 --duration 2 --interval 0.02 --limits stop";
    let run = folder.run(&format!(
        "{command} --restitution hinge=0.5 --json -o run.csv"
    ));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value = run.json();
    assert_eq!(value["events"][0]["event"], "hinge strikes its lower limit");
    let stop = &value["audit"]["stops"][0];
    assert_eq!(stop["freedom"], "hinge");
    assert!(stop["impacts"].as_u64() > Some(3), "{stop}");
    assert_eq!(stop["rests"], 1);
    assert_eq!(value["q"][0], 0.3);
    let text = folder.read("run.csv");
    assert!(text.contains("stop.hinge"), "{text:.400}");
    let other = folder.run(&format!("{command} -o run.csv --resume"));
    assert_eq!(other.code, 2);
    let rigid = folder.run(command);
    assert_eq!(rigid.code, 0, "{}", rigid.stderr);
    for part in [
        "hinge rests against its lower limit",
        "  hinge struck its limits 1 time at up to ",
    ] {
        assert!(rigid.stdout.contains(part), "{}", rigid.stdout);
    }
    let soft = folder.run(
        "simulate door.toml --q 1.2 --duration 2 --limits soft --stop-stiffness 500 --stop-damping 5",
    );
    assert_eq!(soft.code, 0, "{}", soft.stderr);
    assert!(
        soft.stdout.contains("  hinge touched its soft limits "),
        "{}",
        soft.stdout
    );
    for (arguments, message) in [
        (
            "--q 0.1 --limits stop",
            "joint `hinge` starts at 0.1 rad, below its lower limit of 0.3 rad",
        ),
        (
            "--q 1 --limits soft",
            "--limits soft: the stop of joint `hinge` has no stiffness",
        ),
        (
            "--q 1 --restitution 0.5",
            "--restitution: the limits do not hold",
        ),
        (
            "--q 1 --limits stop --restitution 2",
            "the restitution of `hinge` must be from 0 to 1, not 2",
        ),
        (
            "--q 1 --limits stop --restitution elbow=0.5",
            "--restitution: there is no `elbow`",
        ),
        (
            "--q 1 --limits stop --stop-damping 5",
            "--stop-damping: the stop of joint `hinge` is rigid",
        ),
    ] {
        let run = folder.run(&format!("simulate door.toml --duration 1 {arguments}"));
        assert_eq!(run.code, 2, "{arguments}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{arguments}: {}", run.stderr);
    }
    // a target outside the limits is warned of
    let aims = folder.run("simulate door.toml --q 1 --duration 0.1 --controller pd --to 90");
    assert!(
        aims.stderr
            .contains("warning: `hinge` is at 90 rad, outside its limits 0.3 to 2 rad"),
        "{}",
        aims.stderr
    );
}
