//! Hard numbers: what the program prints is right, or it says that it is not.

mod common;

use common::{Folder, numbers};

/// A link of 1e-309 kg with a large inertia: 1 / mass overflows.
const TINY_MASS: &str = r#"
format = "catena/1"
[[link]]
name = "a"
mass = 1
centre = [0.3, 0, 0]
inertia = [1, 1, 1]
[[link]]
name = "b"
mass = 1e-309
centre = [0.5, 0.1, 0]
inertia = [1, 1, 1]
[[joint]]
name = "j1"
type = "revolute"
child = "a"
[[joint]]
name = "j2"
type = "revolute"
axis = [0, 1, 0]
parent = "a"
child = "b"
origin = [1, 0, 0]
"#;

#[test]
fn what_is_not_a_number_is_neither_printed_nor_good() {
    let folder = Folder::new("tiny-mass");
    folder.write("tiny.toml", TINY_MASS);
    for command in ["evaluate tiny.toml --random 1", "check tiny.toml"] {
        let run = folder.run(command);
        assert_ne!(run.code, 0, "{command}\n{}", run.stdout);
        assert!(!run.stdout.contains("NaN"), "{command}\n{}", run.stdout);
        assert!(run.stderr.contains("mass of link `b`"), "{}", run.stderr);
    }
}

fn needle(moments: &str) -> String {
    format!(
        "format = \"catena/1\"\ngravity = [0, 0, 0]\n\
         [[link]]\nname = \"needle\"\nmass = 1\ncentre = [0, 0, 1]\ninertia = {moments}\n\
         [[joint]]\nname = \"spin\"\ntype = \"revolute\"\nchild = \"needle\"\n"
    )
}

#[test]
fn a_slender_body_keeps_its_digits() {
    let folder = Folder::new("needle");
    for (moments, inertia) in [("[1, 1, 1e-9]", 1e-9), ("[1, 1, 1e-12]", 1e-12)] {
        folder.write("needle.toml", &needle(moments));
        let run = folder.run("inverse needle.toml --a 1 --json");
        assert_eq!(run.code, 0, "{}", run.stderr);
        let tau = numbers(&run.json()["states"][0]["tau"])[0];
        assert!(
            (tau - inertia).abs() <= 4e-16 * inertia,
            "{moments}: {tau:e}"
        );
        let run = folder.run("forward needle.toml --tau 1 --json");
        assert_eq!(run.code, 0, "{}", run.stderr);
        let a = numbers(&run.json()["states"][0]["a"])[0];
        assert!((a * inertia - 1.0).abs() <= 1e-15, "{moments}: {a:e}");
        // efforts of the laws' random wrenches are rounded to 1e-16 N·m: this inertia turns that into more than 1e-6 of the accelerations asked for
        let run = folder.run("check needle.toml");
        assert!(!run.stdout.contains("FAILS"), "{moments}: {}", run.stdout);
        assert!(
            run.stderr.contains("2 of 21 laws are undecided"),
            "{}",
            run.stderr
        );
    }
}

/// The square of its length overflows, or vanishes.
#[test]
fn an_axis_may_have_any_length() {
    let folder = Folder::new("axes");
    let model = |axis: &str| {
        format!(
            "format = \"catena/1\"\n\
             [[link]]\nname = \"arm\"\nmass = 2\ncentre = [0.3, 0.2, 0.1]\ninertia = [1, 2, 2.5]\n\
             [[joint]]\nname = \"hinge\"\ntype = \"revolute\"\nchild = \"arm\"\naxis = {axis}\n"
        )
    };
    let tau = |axis: &str| {
        folder.write("arm.toml", &model(axis));
        let run = folder.run("inverse arm.toml --q 0.7 --v 1.1 --a 2 --json");
        assert_eq!(run.code, 0, "{axis}: {}", run.stderr);
        numbers(&run.json()["states"][0]["tau"])[0]
    };
    let right = tau("[0, 1, 1]");
    for axis in [
        "[0, 1e155, 1e155]",
        "[0, 1e300, 1e300]",
        "[0, 1.7e308, 1.7e308]",
    ] {
        let found = tau(axis);
        assert!(
            (found - right).abs() <= 1e-14 * right.abs(),
            "{axis}: {found} and {right}"
        );
    }
}

/// Heavy links on light ones with spherical joints: the inertia matrix has a condition number beyond double precision, and the two
/// routes disagree.
const UNEVEN: &str = r#"
format = "catena/1"
[[link]]
name = "l0"
mass = 0.004769203757571425
centre = [0.0011654292596923303, 0.0011630606822266953, 0]
inertia = [3.241454243029291e-14, 3.241454243029291e-14, 3.241454243029291e-14]
[[link]]
name = "l1"
mass = 0.0001987389763554436
centre = [0.0017520753044555437, 0.0009241090674061757, 0]
inertia = [7.534671774613787e-14, 7.534671774613787e-14, 7.534671774613787e-14]
[[link]]
name = "l2"
mass = 690249.9712445115
centre = [9.427094699520296, 5.5232519403389455, 0]
inertia = [221126.14442914177, 221126.14442914177, 221126.14442914177]
[[link]]
name = "l3"
mass = 46.375827799461426
centre = [0.004606713833319708, 0.0018898303723685588, 0]
inertia = [7.462634530237938e-07, 7.462634530237938e-07, 7.462634530237938e-07]
[[joint]]
name = "j0"
type = "revolute"
child = "l0"
origin = [4.01379405391453, 0, 0]
[[joint]]
name = "j1"
type = "revolute"
child = "l1"
parent = "l0"
origin = [6.883095589992966e-06, 0, 0]
[[joint]]
name = "j2"
type = "spherical"
child = "l2"
parent = "l1"
origin = [0.0011156686100193527, 0, 0]
[[joint]]
name = "j3"
type = "spherical"
child = "l3"
parent = "l2"
origin = [0.0009964738769782813, 0, 0]
"#;

#[test]
fn routes_agree_only_within_their_limit() {
    let folder = Folder::new("uneven");
    folder.write("uneven.toml", UNEVEN);
    let mut disagreed = 0;
    for model in ["uneven.toml"] {
        for seed in 1..=5 {
            let run = folder.run(&format!("forward {model} --random {seed} --json"));
            let checks = &run.json()["states"][0]["checks"];
            let number = |key: &str| checks[key].as_f64();
            let allowed = number("allowed").expect("a limit");
            let passed = ["inverse_returns_tau", "walker_orin"]
                .iter()
                .all(|key| number(key).is_some_and(|apart| apart <= allowed));
            let sharp = number("twice_the_digits");
            assert_eq!(passed, sharp.is_none(), "{model} {seed}: {checks}");
            let right = sharp.is_none_or(|error| error <= allowed);
            assert_eq!(
                run.code == 0,
                right,
                "{model} {seed}: {checks}\n{}",
                run.stderr
            );
            let text = folder
                .run(&format!("forward {model} --random {seed}"))
                .stdout;
            let agrees = number("walker_orin").is_some_and(|apart| apart <= allowed);
            assert_eq!(text.contains("Cholesky) agrees"), agrees, "{text}");
            assert_eq!(text.contains("Cholesky) disagrees"), !agrees, "{text}");
            disagreed += usize::from(!agrees);
        }
    }
    assert!(disagreed > 0, "the model is meant to tell the routes apart");
}

/// Seven links on revolute joints, the last of which is this many times as heavy as the others.
fn chain_with_hand(ratio: f64) -> String {
    let mut chain = String::from("format = \"catena/1\"\n");
    for k in 1..=7 {
        let mass = if k == 7 { ratio } else { 1.0 };
        let inertia = 0.1 * mass;
        chain += &format!(
            "[[link]]\nname = \"l{k}\"\nmass = {mass:?}\ncentre = [0.5, 0, 0]\n\
             inertia = [{inertia:?}, {inertia:?}, {inertia:?}]\n\
             [[joint]]\nname = \"j{k}\"\ntype = \"revolute\"\nchild = \"l{k}\"\n"
        );
        if k > 1 {
            chain += &format!(
                "parent = \"l{}\"\norigin = [1, 0, 0]\nrotation = {{ rpy = [1.5, 0.3, 0] }}\n",
                k - 1
            );
        }
    }
    chain
}

/// Of a chain whose last link is 10¹² times as heavy inverse dynamics returns the efforts: only more digits tell the error.
#[test]
fn digits_lost_to_a_heavy_hand_are_told() {
    let folder = Folder::new("heavy-hand");
    folder.write("hand.toml", &chain_with_hand(1e12));
    for command in [
        "forward hand.toml --random 1",
        "evaluate hand.toml --random 1",
        "simulate hand.toml --random 1 --duration 0.01 --interval 0.01",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 1, "{command}: {}{}", run.stdout, run.stderr);
        assert!(
            run.stderr.contains("double-double arithmetic"),
            "{}",
            run.stderr
        );
    }
    let run = folder.run("evaluate hand.toml --random 1 --json");
    let error = run.json()[0]["forward_a_error"].as_f64();
    assert!(error.is_some_and(|error| error > 1e-9), "{error:?}");
    // a hand like the other links
    folder.write("light.toml", &chain_with_hand(1.0));
    for command in [
        "evaluate light.toml --random 1",
        "simulate light.toml --random 1 --duration 0.1",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
    }
    // at rest, where every acceleration is a difference of forces
    let run = folder.run("simulate planar3 --q -90deg,0,0 --duration 0.1");
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// What rests on the inertia matrix of a heavy hand has lost digits: pivots, derivatives, laws. Nothing is printed that is no number.
#[test]
fn nothing_about_a_heavy_hand_is_called_right() {
    let folder = Folder::new("heavier-hand");
    for (name, ratio) in [("hand.toml", 1e12), ("heavier.toml", 1e16)] {
        folder.write(name, &chain_with_hand(ratio));
        for (command, words) in [
            ("forward", "double precision loses digits"),
            ("factor", "double precision loses digits"),
            ("derivatives --forward", "double precision loses digits"),
            ("check", "undecided"),
        ] {
            for seed in 1..=3 {
                let state = match command {
                    "check" => format!("--seed {seed}"),
                    _ => format!("--random {seed}"),
                };
                let run = folder.run(&format!("{command} {name} {state}"));
                let text = format!("{}{}", run.stdout, run.stderr);
                // a state at which a pivot is lost altogether is refused
                assert!([1, 2].contains(&run.code), "{command} {name}: {text}");
                let told = text.contains(words) || text.contains("no inertia");
                assert!(told, "{command} {name}: {text}");
                for number in text.split([' ', ',', ';', '\n']) {
                    assert!(
                        !["NaN", "inf", "-inf"].contains(&number),
                        "{command} {name}: {text}"
                    );
                }
            }
        }
    }
    let run = folder.run("check hand.toml --json");
    let found = run.json();
    let laws = found["laws"].as_array().expect("a list").clone();
    let undecided = laws.iter().filter(|law| law["verdict"] == "undecided");
    assert_eq!(found["undecided"], undecided.clone().count());
    assert!(undecided.clone().count() > 2, "{found}");
    assert!(
        undecided
            .clone()
            .all(|law| law["holds"] == false && law["tolerance"].as_f64() > Some(1e-6))
    );
    assert!(laws.iter().all(|law| law["verdict"] != "fails"), "{found}");
    // a hand like the other links
    folder.write("light.toml", &chain_with_hand(1.0));
    for command in [
        "check light.toml",
        "factor light.toml --random 1",
        "derivatives light.toml --forward --random 1",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
        assert!(
            !run.stdout.contains("digits") && !run.stdout.contains("undecided"),
            "{}",
            run.stdout
        );
    }
}

/// Digits that are lost at the beginning are reported before a run that may not come to its end, and at its end.
#[test]
fn lost_digits_are_told_before_the_run() {
    let folder = Folder::new("heavy-run");
    folder.write("hand.toml", &chain_with_hand(1e12));
    let run = folder.run("simulate hand.toml --random 1 --duration 0.01 --interval 0.001");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(
        lines[0].starts_with("note: the accelerations have lost digits at 0 s"),
        "{}",
        run.stderr
    );
    assert!(
        lines[1..]
            .iter()
            .any(|line| line.starts_with("error: the accelerations have lost digits")),
        "{}",
        run.stderr
    );
}

/// A thousand loops are answered at once, and as many as do not fit into dense matrices without them.
#[test]
fn a_thousand_loops_are_answered() {
    for command in ["forward", "assemble", "inverse"] {
        let run = common::run(&format!("{command} four-bar-1000"));
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
        // `inverse` leaves nothing out
        assert_eq!(
            run.stdout.to_lowercase().contains("left out"),
            command != "inverse",
            "{command}"
        );
    }
    let run = common::run("forward four-bar-20000 --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let checks = &run.json()["states"][0]["checks"];
    assert_eq!(checks["rank"], 40_000);
    assert!(checks["smallest_singular_value"].is_null());
    assert!(
        checks["twice_the_digits"].as_f64() < Some(1e-9),
        "{}",
        checks["twice_the_digits"]
    );
    for (command, words) in [
        ("inverse four-bar-20000 --actuators foot0", "numbers"),
        ("forward four-bar-20000 --formulation lagrangian", "rows"),
    ] {
        let run = common::run(command);
        assert_eq!(run.code, 2, "{}", run.stdout);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

/// Chains that are too long for a second method of O(n³) have an error by more digits.
#[test]
fn long_chains_have_an_error() {
    let run = common::run("forward chain-10000 --random 1 --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let checks = &run.json()["states"][0]["checks"];
    assert!(checks["walker_orin"].is_null());
    let error = checks["twice_the_digits"].as_f64();
    assert!(error.is_some_and(|error| error < 1e-10), "{checks}");
}

#[test]
fn a_point_too_far_away_is_refused() {
    let run = common::run("factor space-robot --random 1 --end-effector=1e200,0,0 --json");
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("overflows"), "{}", run.stderr);
    assert_eq!(run.stdout, "");
}

#[test]
fn loads_that_overflow_are_refused() {
    let folder = Folder::new("heavy");
    let run = folder.run("forward four-bar-1 --q 60deg,-60deg,60deg --gravity 0,-1e300,0 --json");
    let text = format!("{}{}", run.stdout, run.stderr);
    assert!(!text.contains("inf") && !text.contains("null"), "{text}");
    let run = folder.run("evaluate stanford --random 1 --v 1e200,0,0,0,0,0 --json");
    assert_ne!(run.code, 0, "{}", run.stdout);
}

/// All three bars along one line: the mechanism can fold on or turn on.
#[test]
fn forward_remarks_on_singular_positions() {
    let run = common::run("forward four-bar-1 --q 0,0,0");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("Remark: singular position"),
        "{}",
        run.stdout
    );
    let run = common::run("forward four-bar-1 --q 60deg,-60deg,60deg");
    assert!(!run.stdout.contains("Remark"), "{}", run.stdout);
}
