//! Joints that follow others: commands take independent coordinates, and say what follows.

mod common;

use common::Folder;

/// Two arms on a column; the second follows the first by −2, with an offset.
const GEARED: &str = r#"
format = "catena/1"
name = "geared"

[[link]]
name = "column"
mass = 3.0
centre = [0.0, 0.0, 0.2]
inertia = [0.1, 0.1, 0.05]

[[link]]
name = "left"
mass = 1.0
centre = [0.2, 0.0, 0.0]
inertia = [0.01, 0.02, 0.02]

[[link]]
name = "right"
mass = 0.5
centre = [0.1, 0.0, 0.0]
inertia = [0.01, 0.01, 0.01]

[[joint]]
name = "turn"
type = "revolute"
parent = "world"
child = "column"
axis = [0.0, 0.0, 1.0]

[[joint]]
name = "lift"
type = "revolute"
parent = "column"
child = "left"
origin = [0.1, 0.0, 0.4]
axis = [0.0, 1.0, 0.0]

[[joint]]
name = "counter"
type = "revolute"
parent = "column"
child = "right"
origin = [-0.1, 0.0, 0.4]
axis = [0.0, 1.0, 0.0]
limits = [-1.0, 1.0]

[[constraint]]
name = "gear"
type = "coupling"
coordinates = ["counter", "lift"]
coefficients = [1.0, 2.0]
offset = 0.1
"#;

#[test]
fn independent_coordinates_are_typed_and_printed() {
    let folder = Folder::new("couplings");
    folder.write("geared.toml", GEARED);
    let info = folder.run("info geared.toml");
    assert!(info.stdout.contains("2 freedoms"), "{}", info.stdout);
    assert!(
        info.stdout.contains("counter = 0.1 − 2 lift"),
        "{}",
        info.stdout
    );
    let json = folder.run("info geared.toml --json").json();
    assert_eq!(json["couplings"][0]["follower"], "counter");
    assert_eq!(json["bodies"][2]["first_v"], serde_json::Value::Null);

    let forward = folder.run("forward geared.toml --q lift=20deg --v 1,2 --tau 0.1,0.2 --json");
    assert_eq!(forward.code, 0, "{}", forward.stderr);
    let state = &forward.json()["states"][0];
    assert_eq!(state["a"].as_array().map(Vec::len), Some(2));
    let by_rows =
        "forward geared.toml --q lift=20deg --v 1,2 --tau 0.1,0.2 --json --formulation cut-loops";
    let rows = folder.run(by_rows).json();
    let all = &rows["states"][0]["a"];
    for (k, at) in [(0, 0), (1, 1)] {
        let (a, b) = (state["a"][k].as_f64(), all[at].as_f64());
        let (a, b) = (a.expect("a number"), b.expect("a number"));
        assert!((a - b).abs() < 1e-10 * (1.0 + a.abs()), "{a} {b}");
    }

    let refused = folder.run("forward geared.toml --q counter=0.1");
    assert_eq!(refused.code, 2);
    assert_eq!(
        refused.stderr,
        "error: --q: `counter` follows others, counter = 0.1 − 2 lift (coupling `gear`)\n\
         hint: give `lift` instead; --open-loops frees all joints\n"
    );
    // limits of what follows are looked at, too
    let beyond = folder.run("forward geared.toml --q 0,1");
    assert!(
        beyond.stderr.contains("`counter` is at -1.9 rad"),
        "{}",
        beyond.stderr
    );
}

#[test]
fn every_command_takes_them() {
    let folder = Folder::new("coupled-commands");
    folder.write("geared.toml", GEARED);
    for command in [
        "evaluate geared.toml --random 1",
        "inverse geared.toml --random 1",
        "derivatives geared.toml --random 1",
        "derivatives geared.toml --random 1 --forward",
        "regressor geared.toml --random 1",
        "factor geared.toml --random 1 --full --inverse",
        "count geared.toml",
        "generate geared.toml",
        "derive geared.toml",
        "check geared.toml",
        "compare geared.toml --random 1",
        "doctor geared.toml",
        "linearize geared.toml --q 0,1.5",
        "ik geared.toml --target left:0.1,0,0.4 --q 0,0.1",
        "simulate geared.toml --q 0,0.2 --duration 0.2",
    ] {
        let done = folder.run(command);
        assert_eq!(done.code, 0, "{command}: {}{}", done.stdout, done.stderr);
    }
}

#[test]
fn loops_are_left_open_on_request() {
    let folder = Folder::new("open-loops");
    folder.write("geared.toml", GEARED);
    let open = folder.run("inverse geared.toml --open-loops --q 0,0.1,0.2 --json");
    assert_eq!(open.code, 0, "{}", open.stderr);
    assert_eq!(
        open.stderr,
        "note: 1 constraint is left open (--open-loops)\n"
    );
    let tau = &open.json()["states"][0]["tau"];
    assert_eq!(tau.as_array().map(Vec::len), Some(3));
    let loops = folder.run("derivatives four-bar-1 --open-loops");
    assert_eq!(loops.code, 0, "{}", loops.stderr);
    let count = folder.run("count geared.toml --open-loops");
    assert!(count.stdout.contains("3 freedoms"), "{}", count.stdout);
}

#[test]
fn the_complement_of_the_independent_freedoms() {
    let folder = Folder::new("coupled-denoc");
    folder.write("geared.toml", GEARED);
    let found = folder.run("denoc geared.toml --q 0.3,-0.2 --v 1,0.5 --json");
    assert_eq!(found.code, 0, "{}", found.stderr);
    let found = found.json();
    let state = &found["states"][0];
    // v_tree = G v: turn, lift, and counter = −2 lift
    assert_eq!(
        state["G"],
        serde_json::json!([[1.0, 0.0], [0.0, 1.0], [0.0, -2.0]])
    );
    let rows = state["N_G"].as_array().expect("rows");
    assert_eq!(rows.len(), 18);
    for key in ["I_G", "C_G"] {
        let residual = state["checks"][key].as_f64().expect("a number");
        assert!(residual < 1e-12, "{key}: {residual:e}");
    }
    let derived = folder.run("derive geared.toml --json").json();
    assert_eq!(
        derived["independent"]["I"].as_array().map(Vec::len),
        Some(2)
    );
}
