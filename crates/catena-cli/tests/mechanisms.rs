//! `catena doctor` and `catena compare`, and mechanisms that are wrong: each says what is wrong with it.

mod common;

use common::{Folder, Run, good};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A four-bar in the plane: cranks of 1 m, a rod of 1 m, feet `ground` apart; `more` are further constraints.
fn four_bar(ground: f64, closing: &str, more: &str) -> String {
    let mut text =
        String::from("format = \"catena/1\"\nname = \"bars\"\ngravity = [0, -9.81, 0]\n");
    for link in ["crank", "rod", "rocker"] {
        text += &format!(
            "\n[[link]]\nname = \"{link}\"\nmass = 1\ncentre = [0.5, 0, 0]\ninertia = [0.01, 0.09, 0.09]\n"
        );
    }
    for (joint, parent, child, x) in [
        ("left", "world", "crank", 0.0),
        ("elbow", "crank", "rod", 1.0),
        ("right", "world", "rocker", ground),
    ] {
        text += &format!(
            "\n[[joint]]\nname = \"{joint}\"\ntype = \"revolute\"\nparent = \"{parent}\"\nchild = \"{child}\"\n\
             origin = [{x}, 0, 0]\naxis = [0, 0, 1]\n"
        );
    }
    text + closing + more
}

const PIN: &str = "\n[[constraint]]\nname = \"pin\"\ntype = \"revolute\"\nparent = \"rod\"\nchild = \"rocker\"\n\
                   origin = [1, 0, 0]\nchild_origin = [-1, 0, 0]\n";

fn driver(name: &str, coordinate: &str, law: &str) -> String {
    format!(
        "\n[[constraint]]\nname = \"{name}\"\ntype = \"driver\"\ncoordinate = \"{coordinate}\"\npolynomial = {law}\n"
    )
}

fn rope(length: f64) -> String {
    format!(
        "\n[[constraint]]\nname = \"rope\"\ntype = \"distance\"\nparent = \"world\"\nchild = \"rod\"\n\
         parent_point = [2, 0, 0]\nchild_point = [1, 0, 0]\nlength = {length}\n"
    )
}

/// Runs a command on a model written for it.
fn on(model: &str, arguments: &str) -> Run {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let folder = Folder::new(&format!("bars{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    folder.write("bars.toml", model);
    folder.run(arguments)
}

/// It is refused with exit code 2 and a message that has all of these.
fn refused(model: &str, arguments: &str, says: &[&str]) {
    let run = on(model, arguments);
    assert_eq!(
        run.code, 2,
        "catena {arguments}\n{}\n{}",
        run.stdout, run.stderr
    );
    assert_eq!(run.stdout, "", "catena {arguments}");
    assert!(!run.stderr.contains("internal error"), "{}", run.stderr);
    for part in says {
        assert!(
            run.stderr.contains(part),
            "catena {arguments}: `{part}` in\n{}",
            run.stderr
        );
    }
}

#[test]
fn a_sound_mechanism_is_diagnosed() {
    let run = on(
        &four_bar(2.0, PIN, ""),
        "doctor bars.toml --q 53deg,-47deg,114deg --json",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = &run.json()["states"][0]["diagnosis"];
    assert_eq!(found["freedoms_by_counting"], -2);
    assert_eq!(found["freedoms"], 1);
    assert_eq!(found["redundant_rows"], 3);
    assert_eq!(found["dependent_rows_left"], 0);
    assert_eq!(found["dependent"].as_array().expect("a list").len(), 3);
    assert_eq!(found["changes"][0]["joint"], "pin");
    assert_eq!(found["changes"][0]["to"], "spherical");
    assert_eq!(found["changes"][0]["removes"], 2);
    assert_eq!(found["changes"][1]["removes"], 1);
    assert!(found["contradiction"].is_null());
}

/// Feet too far apart: every command says which loop, and the doctor by how much at least.
#[test]
fn unclosable() {
    let model = four_bar(4.0, PIN, "");
    let left = "1.000e0 m or rad are left";
    refused(
        &model,
        "assemble bars.toml --q 1,-0.9,1.7",
        &["`pin` cannot be closed", left, "hint: "],
    );
    refused(
        &model,
        "doctor bars.toml",
        &[
            "`pin` cannot be closed: at least 1.000e0",
            "check the lengths and axes of its loop",
        ],
    );
    refused(
        &model,
        "compare bars.toml --random 1",
        &["`pin` cannot be closed", left],
    );
    for command in ["forward bars.toml", "simulate bars.toml --duration 0.1"] {
        refused(
            &model,
            command,
            &["`pin` cannot be closed", "check the lengths"],
        );
    }
}

/// One freedom, two drivers: positions that the loop does not have together, or velocities.
#[test]
fn inconsistent_drivers() {
    let positions = four_bar(
        2.0,
        PIN,
        &(driver("motor", "left", "[1.2, 1]") + &driver("brake", "right", "[1.2, -1]")),
    );
    refused(
        &positions,
        "doctor bars.toml --q 53deg,-47deg,114deg",
        &[
            "the loops can be closed, but not where drivers `motor`, `brake` put their coordinates at t = 0 s",
            "hint: give fewer drivers, or other laws",
        ],
    );
    refused(
        &positions,
        "assemble bars.toml",
        &["cannot be closed from this guess"],
    );
    refused(
        &positions,
        "forward bars.toml",
        &["cannot be closed from this guess"],
    );
    // closed to round-off, but the rocker turns slower than the crank there
    let laws = driver("motor", "left", "[0.927902, 1]")
        + &driver("brake", "right", "[1.9898572197230644, 1]");
    let velocities = four_bar(2.0, PIN, &laws);
    let q = "--q 0.927902,-0.8145518843607679,1.9898572197230644";
    let run = on(&velocities, &format!("doctor bars.toml {q}"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout
            .contains("drivers         `motor`, `brake` cannot be followed here: "),
        "{}",
        run.stdout
    );
    refused(
        &velocities,
        &format!("assemble bars.toml {q}"),
        &["no velocities of the free coordinates keep"],
    );
    refused(
        &velocities,
        &format!("forward bars.toml {q}"),
        &["no velocities of the free coordinates keep"],
    );
}

#[test]
fn duplicate_constraints() {
    let twice = four_bar(2.0, PIN, &PIN.replace("\"pin\"", "\"again\""));
    for command in ["info", "doctor", "compare", "simulate"] {
        refused(
            &twice,
            &format!("{command} bars.toml"),
            &[
                "constraints `pin` and `again` are the same",
                "bars.toml:",
                "hint: remove one of them",
            ],
        );
    }
    let motors = driver("motor", "left", "[0, 1]") + &driver("other", "left", "[0, 2]");
    refused(
        &four_bar(2.0, PIN, &motors),
        "doctor bars.toml",
        &["drivers `motor` and `other` both move `left`"],
    );
    // not the same words, but the same demands: the doctor finds out
    let ball = PIN
        .replace("\"pin\"", "\"ball\"")
        .replace("\"revolute\"", "\"spherical\"");
    let run = on(
        &four_bar(2.0, PIN, &ball),
        "doctor bars.toml --q 53deg,-47deg,114deg",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("6 rows are dependent"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("left out removes"), "{}", run.stdout);
}

#[test]
fn lengths_of_zero() {
    for command in ["info", "doctor", "assemble", "forward"] {
        refused(
            &four_bar(2.0, "", &rope(0.0)),
            &format!("{command} bars.toml"),
            &[
                "constraint `rope`: a distance must be a positive length, not 0 m",
                "use a constraint of the type point",
            ],
        );
    }
    // both ends at one point: the rope has no direction there, and the doctor starts from elsewhere
    let model = four_bar(2.0, "", &rope(0.5));
    let run = on(&model, "forward bars.toml");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("assembly moved"), "{}", run.stdout);
    let run = on(&model, "doctor bars.toml");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("2 freedoms"), "{}", run.stdout);
    // a crank without length: the rest is a triangle, and the crank turns alone
    let no_crank = four_bar(1.0, PIN, "")
        .replace("origin = [1, 0, 0]\naxis", "origin = [0, 0, 0]\naxis")
        .replacen("name = \"right\"\ntype = \"revolute\"\nparent = \"world\"\nchild = \"rocker\"\norigin = [0", "name = \"right\"\ntype = \"revolute\"\nparent = \"world\"\nchild = \"rocker\"\norigin = [1", 1);
    let run = on(&no_crank, "doctor bars.toml --q 0.3,0.7,2 --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json()["states"][0]["diagnosis"]["freedoms"], 1);
}

/// All formulations on an embedded mechanism, in words, as JSON and as a picture.
#[test]
fn formulations_are_compared() {
    let run = good("compare four-bar-1 --q 70deg,-70deg,70deg --json");
    let state = &run.json()["states"][0]["formulations"];
    let all = state.as_object().expect("by name");
    assert_eq!(all.len(), 12);
    for (name, answer) in all {
        if name == "tree-null-space" {
            assert!(answer["refused"].is_string());
            continue;
        }
        assert_eq!(answer["handed_over"], false, "{name}");
        for key in ["motion_difference", "load_difference", "residual"] {
            assert!(
                answer[key].as_f64().expect("a number") < 1e-12,
                "{name} {key}"
            );
        }
        let operations = answer["operations"].as_f64().expect("a number");
        match name.as_str() {
            // on the tree: three bodies and five rows, counted in the scalar that counts
            "cut-loops" => assert!((250.0..450.0).contains(&operations), "{operations}"),
            "along-tree" => assert!((350.0..650.0).contains(&operations), "{operations}"),
            _ => assert!(operations > 1000.0, "{name}: {operations}"),
        }
    }
    let folder = Folder::new("cost");
    let run = folder.run("compare stanford --random 1 --sizes 1,2 -o cost.svg --json");
    assert_eq!((run.code, &run.stderr[..]), (0, "wrote cost.svg\n"));
    let costs = &run.json()["costs"];
    assert_eq!(costs[1]["bodies"], 12);
    let of = |size: usize| costs[size]["formulations"]["svd"]["operations"].as_f64();
    // dense decompositions grow with about the cube: iterations and zeros count as they are
    let growth = of(1).expect("a number") / of(0).expect("a number");
    assert!((4.0..12.0).contains(&growth), "{growth}");
    let picture = folder.read("cost.svg");
    assert!(picture.starts_with("<svg") && picture.contains("augmented-bodies"));
}
