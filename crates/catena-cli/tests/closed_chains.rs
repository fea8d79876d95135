//! Closed chains through the program: benchmark problems, fixed steps, Baumgarte's equations, actuators, graphs.

mod common;

use common::{Folder, good, numbers, run, run_in};
use serde_json::json;
use std::f64::consts::PI;

/// Work and error of problems that run fast, at a tolerance where everything must hold.
#[test]
fn benchmark_problems_run() {
    let found = good("benchmark pendulum four-bar squeezer bricard --loops 1 --json").json();
    let problems = found["problems"].as_array().expect("a list");
    let names: Vec<&str> = problems.iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names, ["pendulum", "four-bar-1", "squeezer", "bricard"]);
    for problem in problems {
        assert!(
            problem["error"].as_f64().expect("known") < 1e-9,
            "{problem}"
        );
        assert!(
            problem["energy"].as_f64().expect("known") < 1e-8,
            "{problem}"
        );
        for drift in numbers(&problem["drift"]) {
            assert!(drift < 1e-10, "{problem}");
        }
        assert!(problem["evaluations"].as_u64().expect("known") > 0);
    }
    let text = good("benchmark pendulum --rtol 1e-9").stdout;
    assert!(text.contains("elliptic functions"), "{text}");
    let refused = run("benchmark six-bar");
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("no benchmark problem `six-bar`"),
        "{}",
        refused.stderr
    );
    assert_eq!(run("benchmark pendulum --method rk4").code, 2);
}

fn drift(command: &str) -> Vec<f64> {
    let audit = good(command).json()["audit"].clone();
    audit["laws"]
        .as_array()
        .unwrap_or_else(|| panic!("{audit}"))
        .iter()
        .filter(|finding| {
            finding["law"]
                .as_str()
                .is_some_and(|name| name.starts_with("constraints"))
        })
        .map(|finding| finding["worst"].as_f64().expect("a number"))
        .collect()
}

/// Both ways to keep loops closed, with adaptive and with fixed steps; the audit knows the three levels.
#[test]
fn loops_are_kept_closed() {
    let start = "simulate four-bar-1 --q 70deg,-70deg,70deg --v 1,-1,1 --duration 0.4 --json";
    for (options, allowed) in [
        ("", 1e-12),
        (" --closing projection --method rk4", 1e-12),
        (
            " --closing projection --method implicit-midpoint --step 0.002",
            1e-12,
        ),
        (" --closing baumgarte", 1e-4),
        (" --closing baumgarte --method rk4", 1e-4),
    ] {
        let found = drift(&format!("{start}{options}"));
        assert_eq!(found.len(), 3, "{options}");
        for level in found {
            assert!(level < allowed, "{options}: {level:.1e}");
        }
    }
}

/// Commands that were for trees take loops. The inertia of the parallelogram about its crank is known, and its regressor is that of
/// one freedom.
#[test]
fn every_command_takes_loops() {
    let at = "four-bar-1 --q 60deg,-60deg,60deg --v 1,-1,1";
    let found = good(&format!("evaluate {at} --a 2,-2,2 --json")).json();
    let freedoms = &found[0]["freedoms"];
    assert_eq!(freedoms["independent"], json!(["foot0"]));
    assert!((numbers(&freedoms["inertia"][0])[0] - 5.0 / 3.0).abs() < 1e-12);
    // (2/3 + 1) φ̈ + g (1 + 1) cos φ for rods of 1 kg and 1 m
    let expected = 5.0 / 3.0 * 2.0 + 9.81 * 2.0 * 0.5;
    assert!((numbers(&freedoms["inverse_tau"])[0] - expected).abs() < 1e-12);
    let regressor = good(&format!("regressor {at} --a 2,-2,2 --json")).json();
    assert!((numbers(&regressor["states"][0]["Y_pi"])[0] - expected).abs() < 1e-12);
    for model in ["four-bar-3", "slider-crank", "bricard", "stewart"] {
        let found = good(&format!("derivatives {model} --random 3 --json")).json();
        let difference = &found["states"][0]["checks"]["differences"];
        assert!(difference.as_f64().expect("a number") < 1e-7, "{model}");
        good(&format!("evaluate {model} --random 3"));
        good(&format!("regressor {model} --random 3"));
    }
    let counted = good("count four-bar-1").stdout;
    assert!(
        counted.contains("forward dynamics of the closed chain"),
        "{counted}"
    );
    let folder = Folder::new("loops-generated");
    let made = folder.run("generate slider-crank -f forward,forward_dq -o made");
    assert_eq!(made.code, 0, "{}", made.stderr);
}

/// Each formulation by name, for closed chains and for trees.
#[test]
fn formulations_are_chosen_by_name() {
    for model in ["four-bar-1 --q 60deg,-60deg,60deg", "stanford --random 1"] {
        let by = |name: &str| {
            let found = good(&format!("forward {model} --formulation {name} --json")).json();
            numbers(&found["states"][0]["a"])
        };
        let expected = by("cut-loops");
        for name in [
            "lagrangian",
            "constraint-forces",
            "relative-rates",
            "along-tree",
            "qr",
        ] {
            for (a, b) in by(name).iter().zip(&expected) {
                assert!(
                    (a - b).abs() < 1e-9 * (1.0 + b.abs()),
                    "{model}, {name}: {a} {b}"
                );
            }
        }
    }
}

/// A mechanism at rest stays closed by Baumgarte's equations for any duration, and their numbers can be given.
#[test]
fn baumgarte_at_rest_is_no_breach() {
    let rest = "simulate four-bar-3 --closing baumgarte --v 0,0,0,0,0,0,0 --q -90deg,90deg,-90deg,90deg,-90deg,90deg,-90deg";
    for duration in [0.5, 5.0, 50.0] {
        good(&format!("{rest} --duration {duration}"));
    }
    let swinging = "simulate four-bar-1 --q 70deg,-70deg,70deg --duration 0.4 --closing";
    good(&format!("{swinging} baumgarte --alpha 100"));
    good(&format!("{swinging} baumgarte --alpha 100 --beta 4000"));
    let refused = run(&format!("{swinging} projection --alpha 100"));
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("--closing baumgarte"),
        "{}",
        refused.stderr
    );
    let refused = run(&format!("{swinging} baumgarte --beta -1"));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

/// Six legs hold a Stewart platform, five do not; all freedoms of the tree as actuators are more than enough.
#[test]
fn actuators_are_chosen() {
    let legs = "leg0,leg1,leg2,leg3,leg4,leg5";
    let found = good(
        "inverse four-bar-1 --q 60deg,-60deg,60deg --v 1,-1,1 --a 2,-2,2 --actuators foot0 --json",
    );
    let state = &found.json()["states"][0];
    assert_eq!(state["checks"]["freedoms"], json!(1));
    assert_eq!(state["checks"]["surplus"], json!(0));
    // (2/3 + 1) φ̈ + g (1 + 1) cos φ for rods of 1 kg and 1 m
    let tau = numbers(&state["tau"]);
    let expected = 5.0 / 3.0 * 2.0 + 9.81 * 2.0 * 0.5;
    assert!((tau[0] - expected).abs() < 1e-12, "{tau:?}");
    assert_eq!(&tau[1..], [0.0, 0.0]);
    let shared = good("inverse four-bar-1 --q 60deg,-60deg,60deg --a 2,-2,2");
    assert!(
        shared.stdout.contains("3 actuators for 1 freedom"),
        "{}",
        shared.stdout
    );
    assert!(shared.stdout.contains("2 efforts could be chosen freely"));
    let few = run("inverse stewart --random 3 --actuators leg0,leg1");
    assert_eq!(few.code, 2, "{}", few.stdout);
    assert!(few.stderr.contains("govern 2 of them"), "{}", few.stderr);
    let enough = good(&format!("inverse stewart --random 3 --actuators {legs}"));
    assert!(enough.stdout.contains("6 actuators for 6 freedoms"));
    let unknown = run("inverse four-bar-1 --actuators foot9");
    assert!(
        unknown.stderr.contains("has no freedom `foot9`"),
        "{}",
        unknown.stderr
    );
    assert!(
        run("inverse planar3 --actuators joint1")
            .stderr
            .contains("there are no loops")
    );
}

/// A ring of hinges with no word about which of them carries what.
const RING: &str = r#"
format = "catena/1"
name = "ring"
cut = "automatic"

[[link]]
name = "crank"
mass = 1.0
centre = [0.2, 0, 0]
inertia = [0.01, 0.02, 0.02]

[[link]]
name = "rod"
mass = 1.0
centre = [0.4, 0, 0]
inertia = [0.01, 0.08, 0.08]

[[link]]
name = "rocker"
mass = 1.0
centre = [0.3, 0, 0]
inertia = [0.01, 0.05, 0.05]

[[joint]]
name = "a"
type = "revolute"
parent = "world"
child = "crank"

[[joint]]
name = "b"
type = "revolute"
parent = "crank"
child = "rod"
origin = [0.4, 0, 0]

[[joint]]
name = "c"
type = "spherical"
parent = "rod"
child = "rocker"
origin = [0.9, 0, 0]
child_origin = [-0.7, 0, 0]

[[joint]]
name = "d"
type = "revolute"
parent = "world"
child = "rocker"
origin = [1.0, 0, 0]
"#;

#[test]
fn graphs_are_cut() {
    let folder = Folder::new("graphs");
    folder.write("ring.toml", RING);
    let info = run_in(
        folder.path(),
        &["info", "ring.toml", "--json", "--matrices"],
    )
    .json();
    assert_eq!(info["constraints"][0]["name"], "c");
    assert_eq!(info["constraints"][0]["rows"], json!(3));
    assert_eq!(info["cut_incidence_matrix"], json!([[0], [1], [-1]]));
    folder.write("other.toml", &RING.replace("\"automatic\"", "[\"d\"]"));
    let info = run_in(folder.path(), &["info", "other.toml"]);
    assert!(info.stdout.contains("were cut: d"), "{}", info.stdout);
    folder.write("wrong.toml", &RING.replace("\"automatic\"", "[\"e\"]"));
    let wrong = run_in(folder.path(), &["info", "wrong.toml"]);
    assert!(
        wrong.stderr.contains("no joint `e` to cut"),
        "{}",
        wrong.stderr
    );
    let closed = run_in(
        folder.path(),
        &[
            "assemble",
            "ring.toml",
            "--q",
            "1.1,-0.6,1.4",
            "--hold",
            "a",
        ],
    );
    assert_eq!(closed.code, 0, "{}", closed.stderr);
}

/// A rhombus with one crank held closes in two ways; a third is not made up.
#[test]
fn branches_can_be_asked_for() {
    let guess = "assemble four-bar-1 --q 70deg,-70deg,70deg --hold foot0 --json --branch";
    let state = |branch: &str| {
        let found = good(&format!("{guess} {branch}")).json();
        numbers(&found["states"][0]["q"])
    };
    let (open, folded) = (state("1"), state("2"));
    let held = 70f64.to_radians();
    for (found, wanted) in [(&open, [held, -held, held]), (&folded, [held, PI, PI])] {
        for (found, wanted) in found.iter().zip(wanted) {
            // a whole turn is none
            assert!(
                (0.5 * (found - wanted)).sin().abs() < 1e-9,
                "{found} {wanted}"
            );
        }
    }
    let refused = run(&format!("{guess} 3"));
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("branch 3 was not found"),
        "{}",
        refused.stderr
    );
}

/// Every formulation by name, the same accelerations.
#[test]
fn a_formulation_can_be_forced() {
    let command = "forward four-bar-1 --q 70deg,-70deg,70deg --v 1,-1,1 --json";
    let accelerations = |more: &str| {
        let found = good(&format!("{command}{more}")).json();
        numbers(&found["states"][0]["a"])
    };
    let wanted = accelerations("");
    for name in [
        "lagrangian",
        "constraint-forces",
        "rotational",
        "augmented-bodies",
        "relative-rates",
        "null-space",
        "svd",
    ] {
        let found = accelerations(&format!(" --formulation {name}"));
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-9, "{name}: {found} {wanted}");
        }
    }
    // a tree at rest, where all accelerations are round-off
    let tree = good("forward chain-3 --formulation svd --json").json();
    let found = numbers(&tree["states"][0]["a"]);
    assert!(found.iter().all(|a| a.abs() < 1e-12), "{found:?}");
}

/// One rule for all commands: a closed state is used unchanged, any other is assembled, and the change is reported.
#[test]
fn states_move_only_with_a_word() {
    let moved = "The given state does not close the loops; assembly moved positions by up to";
    let projected = "The given velocities slip or open loops; projection changed them";
    for command in ["simulate", "forward", "inverse", "compare"] {
        let duration = if command == "simulate" {
            "--duration 0.01"
        } else {
            ""
        };
        let said = |state: &str| {
            let found = run(&format!("{command} {state} {duration}"));
            assert_eq!(found.code, 0, "{command} {state}: {}", found.stderr);
            format!("{}{}", found.stdout, found.stderr)
        };
        let closed = said("four-bar-1 --q 70deg,-70deg,70deg");
        assert!(!closed.contains("a guess that"), "{command}: {closed}");
        for state in [
            "four-bar-1 --q 70deg,-70deg,70deg --v 6,0,0",
            "rolling-disk --v plane.x=2",
        ] {
            let told = said(state);
            assert!(told.contains(projected), "{command} {state}: {told}");
            assert!(!told.contains("does not close"), "{command} {state}");
        }
        for state in [
            "four-bar-1 --q 70deg,-70deg,71deg",
            "four-bar-1 --random 3",
            "slider-crank",
            "stewart --q plate.z=1.1",
        ] {
            let told = said(state);
            assert!(told.contains(moved), "{command} {state}: {told}");
        }
        // as the model begins
        let told = said("stewart");
        assert!(!told.contains("a guess that"), "{command}: {told}");
    }
    let found = good("doctor four-bar-1 --q 70deg,-70deg,75deg --positions 0");
    assert!(
        found.stdout.contains("positions moved by up to"),
        "{}",
        found.stdout
    );
    let found = good("doctor four-bar-1 --q 70deg,-70deg,70deg --positions 0");
    assert!(!found.stdout.contains("moved"), "{}", found.stdout);
}

/// What rolls, by file and by name: modes, freedoms, assembled speeds, and what is refused.
#[test]
fn what_rolls_is_taken_or_refused() {
    let found = good("linearize bicycle --v frame_joint.x=5 --json").json();
    let state = &found["states"][0];
    assert_eq!(state["zero_eigenvalues"], json!(6));
    let castering = numbers(&state["modes"][2]["value"]);
    assert!((castering[0] + 14.078_389_692_798_22).abs() < 1e-10);
    let doctor = good("doctor bicycle --json").json();
    let diagnosis = &doctor["states"][0]["diagnosis"];
    assert_eq!(diagnosis["velocity_rows"], json!(4));
    assert_eq!(diagnosis["here"]["position_freedoms"], json!(7));
    let speed = good("assemble bicycle --v frame_joint.x=8 --json").json();
    let v = numbers(&speed["states"][0]["v"]);
    assert!((v[0] - 8.0).abs() < 1e-12 && (v[6] - 8.0 / 0.3).abs() < 1e-12);
    let folder = Folder::new("rolling");
    for (command, words) in [
        (
            "simulate bicycle --duration 1 --interval 0.5 --method bdf",
            "which integration in the coordinates of the bodies (BDF) does not support",
        ),
        ("convert bicycle -o bicycle.urdf", "URDF cannot express"),
        ("convert bicycle -o bicycle.xml", "MJCF cannot express"),
        ("linearize bicycle --hold", "are for equilibria"),
        (
            "linearize bicycle --tau steer=1",
            "this is not a steady motion of `bicycle`",
        ),
    ] {
        let refused = folder.run(command);
        assert_eq!(refused.code, 2, "{command}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    let made = folder.run("convert bicycle -o bicycle.toml");
    assert_eq!(made.code, 0, "{}", made.stderr);
    let again = folder.run("linearize bicycle.toml --v frame_joint.x=5 --json");
    let again = numbers(&again.json()["states"][0]["modes"][2]["value"]);
    assert!((again[0] - castering[0]).abs() < 1e-10);
    let derived = folder.run("derive sleigh");
    assert!(derived.stdout.contains("Rows on velocities alone"));
}

/// In a steady motion accelerations and efforts are round-off: checks are relative to what they are differences of.
#[test]
fn steady_motions_pass_their_checks() {
    for model in ["bicycle", "bicycle --v frame_joint.x=8", "rolling-disk"] {
        for command in ["inverse", "regressor"] {
            good(&format!("{command} {model}"));
        }
    }
}

/// Wheels on a cart that moves in a plane: the row on positions already holds by the joint and limits nothing.
#[test]
fn rows_that_limit_nothing_are_linearised() {
    let folder = Folder::new("planar-cart");
    let cart = r#"
format = "catena/1"
name = "cart"
[[link]]
name = "cart"
mass = 1
inertia = [0.01, 0.01, 0.01]
[[joint]]
name = "plane"
type = "planar"
child = "cart"
origin = [0, 0, 0.2]
"#;
    let touch = |kind: &str| {
        format!(
            "[[constraint]]\nname = \"touch\"\ntype = \"{kind}\"\nchild = \"cart\"\nradius = 0.2\n"
        )
    };
    let wheel = r#"
start_velocity = [1, 0, 0]
[[link]]
name = "wheel"
mass = 1
inertia = [0.01, 0.02, 0.01]
[[joint]]
name = "hub"
type = "continuous"
parent = "cart"
child = "wheel"
axis = [0, 1, 0]
start_velocity = 5
[[constraint]]
name = "roll"
type = "rolling"
child = "wheel"
axis = [0, 1, 0]
radius = 0.2
"#;
    folder.write("slides.toml", &format!("{cart}{}", touch("contact")));
    folder.write("turns.toml", &format!("{cart}{}", touch("rolling")));
    folder.write("drives.toml", &format!("{cart}{wheel}"));
    for name in ["slides", "turns", "drives"] {
        let found = folder.run(&format!("linearize {name}.toml"));
        assert_eq!(found.code, 0, "{name}: {}", found.stderr);
    }
    // position and velocity: 3 and 1, 4 and 2
    for (name, zeros) in [("turns", 4), ("drives", 6)] {
        let found = folder.run(&format!("linearize {name}.toml --json")).json();
        assert_eq!(found["states"][0]["zero_eigenvalues"], json!(zeros));
    }
}

/// Commands for floating trees refuse constraints; a wheel whose mass centre is on its hinge is no trouble to them.
#[test]
fn commands_for_trees_refuse_constraints() {
    for (command, words) in [
        ("space", "`bicycle` is not a tree that floats freely"),
        ("barycentres", "`bicycle` has constraints"),
    ] {
        let refused = run(&format!("{command} bicycle"));
        assert_eq!(refused.code, 2, "{command}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
        assert!(refused.stderr.contains("--open-loops"), "{command}");
        let open = run(&format!("{command} bicycle --open-loops"));
        assert_eq!(open.code, 0, "{command}: {}", open.stderr);
    }
    let folder = Folder::new("hub");
    folder.write(
        "hub.toml",
        r#"
format = "catena/1"
name = "hub"
[[link]]
name = "frame"
mass = 2
centre = [0.013, 0.027, 0.031]
inertia = [0.1, 0.1, 0.1]
[[link]]
name = "wheel"
mass = 1
inertia = [0.05, 0.05, 0.05]
[[joint]]
name = "base"
type = "free"
child = "frame"
start = [0.1, 0.2, 0.3, 1, 0, 0, 0]
[[joint]]
name = "hub"
type = "revolute"
parent = "frame"
child = "wheel"
origin = [0.53, 0.11, 0.07]
axis = [0, 1, 0]
start_velocity = 3
"#,
    );
    let found = folder.run("barycentres hub.toml");
    assert_eq!(found.code, 0, "{}", found.stderr);
}

/// Baumgarte's equations with every method: round-off of a mechanism at rest, contradictions of dependent rows and violations that decay are no breach.
#[test]
fn baumgarte_gives_no_false_verdict() {
    for arguments in [
        "slider-crank --gravity 0,0,0 --method rk4",
        "slider-crank --gravity 0,0,0 --method implicit-midpoint",
        "slider-crank --method implicit-midpoint --duration 3",
        "bricard --method bdf",
        "bricard --method semi-implicit-euler --duration 3",
        "bricard --method implicit-midpoint --duration 3",
    ] {
        let command = format!("simulate {arguments} --closing baumgarte");
        let found = run(&command);
        assert_eq!(found.code, 0, "{command}: {}", found.stderr);
    }
}

/// With more actuators than freedoms every formulation gives the efforts of minimum norm, as the recursions do.
#[test]
fn surplus_actuators_with_a_formulation() {
    let efforts = |command: &str| numbers(&good(command).json()["states"][0]["tau"]);
    let wanted = efforts("inverse four-bar-3 --json");
    for by in ["qr", "lagrangian", "null-space"] {
        let found = efforts(&format!("inverse four-bar-3 --formulation {by} --json"));
        assert_eq!(found.len(), wanted.len());
        for (a, b) in found.iter().zip(&wanted) {
            assert!((a - b).abs() < 1e-9, "{by}: {a} {b}");
        }
    }
    let tree = "inverse planar3 --a 1,2,3 --json";
    let wanted = efforts(tree);
    let found = efforts(&format!("{tree} --formulation tree-null-space"));
    for (a, b) in found.iter().zip(&wanted) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

/// A model that begins in motion has an equilibrium all the same; velocities that are asked for must be those of a steady motion.
#[test]
fn linearisation_leaves_out_velocities_of_the_start() {
    let found = run("linearize governor");
    assert_eq!(found.code, 0, "{}", found.stderr);
    assert!(
        found
            .stderr
            .contains("the model's initial velocities are left out"),
        "{}",
        found.stderr
    );
    let refused = run("linearize planar3 --v 1,0,0");
    assert_eq!(refused.code, 2);
    assert!(
        refused
            .stderr
            .contains("this is not a steady motion of `planar3`"),
        "{}",
        refused.stderr
    );
}

/// The governor's steady rotation is found from the state that the model begins with, or from other velocities; at rest the message says how.
#[test]
fn steady_rotations_are_found() {
    let record = good("linearize governor --steady --json").json();
    assert_eq!(record["about"], "steady motion");
    let state = &record["states"][0];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    // both sides alike
    assert!((number(&state["q"][2]) - number(&state["q"][3])).abs() < 1e-12);
    assert_eq!(state["zero_eigenvalues"], 2);
    assert!(number(&state["checks"]["accelerations_left"]) < 1e-9);
    // and a run from there stays
    let list = |key: &str| {
        let numbers = state[key].as_array().expect("a list").iter();
        let texts: Vec<String> = numbers.map(|x| x.to_string()).collect();
        texts.join(",")
    };
    let later = good(&format!(
        "simulate governor --q={} --v={} --duration 1 --rtol 1e-10 --json",
        list("q"),
        list("v")
    ))
    .json();
    for k in 1..4 {
        let moved = number(&later["q"][k]) - number(&state["q"][k]);
        assert!(moved.abs() < 1e-8, "{k}: {moved:e}");
    }
    let by_speed = good("linearize governor --v 7,0,0,0 --json").json();
    assert_eq!(by_speed["states"][0]["v"][0], 7.0);
    let at_rest = run("linearize governor");
    assert!(
        at_rest.stderr.contains("--steady uses them"),
        "{}",
        at_rest.stderr
    );
    let refused = run("linearize governor --v 0,0,1,0");
    assert_eq!(refused.code, 2);
}

/// Where the loops are nearly singular, or a rod is 10¹² times as heavy as the others, accelerations lose digits: the commands say how many, and why.
#[test]
fn digits_lost_in_loops_are_told() {
    let folder = Folder::new("heavy-rod");
    assert_eq!(folder.run("convert four-bar-1 -o bar.toml").code, 0);
    let text = folder.read("bar.toml");
    let (before, rod) = text.split_once("name = \"level0\"").expect("a rod");
    let rod =
        rod.replacen("mass = 1.0", "mass = 1e12", 1)
            .replacen("0.08333333333333333", "8.3e10", 2);
    folder.write("heavy.toml", &format!("{before}name = \"level0\"{rod}"));
    for command in [
        "evaluate heavy.toml --q=1,-1,1",
        "forward heavy.toml --q=1,-1,1 --tau 1,2,3",
        "evaluate four-bar-1 --q=1e-8,-1e-8,1e-8 --v=1,-1,1",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 1, "{command}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("lost digits"), "{}", run.stderr);
        let why = "near a singular position or with masses that differ by many powers of ten";
        assert!(run.stdout.contains(why), "{}", run.stdout);
    }
    let error = |command: &str, name: &str| {
        let found = folder.run(&format!("evaluate {command} --json")).json();
        found[0][name].as_f64().expect("a number")
    };
    assert!(error("heavy.toml --q=1,-1,1", "forward_a_error") > 1e-9);
    assert!(error("four-bar-1 --q=1,-1,1", "forward_a_error_closed") < 1e-14);
    // a state that its user closed to seven digits is used as it is
    let open = "four-bar-1 --q=1.0000001,-1,1";
    assert!(error(open, "forward_a_error") < 1e-14);
    assert!((1e-9..1e-6).contains(&error(open, "forward_a_error_closed")));
    assert_eq!(folder.run(&format!("forward {open}")).code, 0);
    // nearer to the singular position than rows are told apart
    let flat = "evaluate four-bar-1 --q=1e-10,-1e-10,1e-10 --v=1,-1,1";
    let flat = folder.run(flat).stdout;
    assert!(flat.contains("a row counts as dependent"), "{flat}");
}
