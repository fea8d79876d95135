//! `catena denoc` and `catena linearize`.

mod common;

use common::{Folder, good, numbers, run};
use serde_json::Value;
use std::process::Command;

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect()
}

fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    a.iter()
        .map(|row| {
            (0..b[0].len())
                .map(|j| row.iter().zip(b).map(|(x, other)| x * other[j]).sum())
                .collect()
        })
        .collect()
}

fn transposed(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..a[0].len())
        .map(|j| a.iter().map(|row| row[j]).collect())
        .collect()
}

fn assert_close(a: &[Vec<f64>], b: &[Vec<f64>]) {
    assert_eq!((a.len(), a[0].len()), (b.len(), b[0].len()));
    for (x, y) in a.iter().flatten().zip(b.iter().flatten()) {
        assert!((x - y).abs() < 1e-11, "{x} {y}");
    }
}

/// What is printed satisfies the papers' identities, without the program's own arithmetic.
#[test]
fn the_printed_matrices_satisfy_the_identities() {
    let value = good("denoc space-robot --random 2 --json").json();
    let evaluated = good("evaluate space-robot --random 2 --json").json();
    let state = &value["states"][0];
    let n = product(&rows(&state["N_l"]), &rows(&state["N_d"]));
    assert_eq!((n.len(), n[0].len()), (42, 12));
    assert_close(&n, &rows(&state["N"]));
    let mut mass = vec![vec![0.0; 42]; 42];
    for (i, block) in state["M"].as_array().expect("blocks").iter().enumerate() {
        for (r, row) in rows(block).into_iter().enumerate() {
            mass[6 * i + r][6 * i..6 * i + 6].copy_from_slice(&row);
        }
    }
    let inertia = product(&transposed(&n), &product(&mass, &n));
    assert_close(&inertia, &rows(&evaluated[0]["inertia"]));
    let (u, d) = (rows(&state["U"]), numbers(&state["m_hat"]));
    let scaled: Vec<Vec<f64>> = u
        .iter()
        .map(|row| row.iter().zip(&d).map(|(x, d)| x * d).collect())
        .collect();
    assert_close(&product(&scaled, &transposed(&u)), &inertia);
    assert_close(&rows(&state["C"]), &rows(&evaluated[0]["coriolis"]));
}

#[test]
fn text_names_bodies_and_freedoms() {
    let text = good("denoc planar3 --q 10deg,20deg,30deg --full").stdout;
    for part in ["link3 vy", "M̂ of link2", "joint1", "check: I = Nᵀ M N"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let text = good("denoc four-bar-1 --q 1.2,-1.2,1.2").stdout;
    assert!(text.contains("the loops of the model are open"));
}

#[test]
fn files() {
    let folder = Folder::new("denoc-files");
    for file in ["n.npz", "n.csv", "n.json"] {
        let run = folder.run(&format!("denoc zoo --random 1 --states 2 -o {file}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.stderr, format!("wrote {file}\n"));
    }
    let csv = folder.read("n.csv");
    assert!(csv.starts_with("state,matrix,row,column,value\n1,c,1,1,"));
    assert!(csv.contains("\n2,N_l,1,1,1.0\n"));
    let found = Command::new("python3")
        .args(["-c", "import numpy"])
        .output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 has no NumPy");
        return;
    }
    let script = "
import json, numpy
a, b = numpy.load('n.npz'), json.load(open('n.json'))['states']
assert set(a.files) <= set(b[0]) and len(a.files) == 17
for name in a.files:
    assert numpy.array_equal(a[name], numpy.array([state[name] for state in b])), name
";
    let output = Command::new("python3")
        .args(["-c", script])
        .current_dir(folder.path())
        .output()
        .expect("python3 runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn modes_of_a_pendulum() {
    let value = good("linearize planar3 --q -1.2,0.1,0.1 --json").json();
    let state = &value["states"][0];
    let a = rows(&state["A"]);
    assert_eq!(a.len(), 6);
    assert!(
        state["checks"]["difference_quotients"]
            .as_f64()
            .expect("a number")
            < 1e-7
    );
    // the sum of λ² over all pairs is the trace of the lower left block
    let squares: f64 = state["modes"]
        .as_array()
        .expect("modes")
        .iter()
        .map(|mode| {
            let value = numbers(&mode["value"]);
            value[0] * value[0] - value[1] * value[1]
        })
        .sum();
    let trace: f64 = (0..3).map(|k| a[3 + k][k]).sum();
    assert!((squares - trace).abs() < 1e-9 * squares.abs());
}

#[test]
fn mode_shapes_are_drawn() {
    let folder = Folder::new("linearize-drawing");
    for model in [
        "four-bar-1 --q 1.2,-1.2,1.2 --hold",
        "chain-3 --random 1",
        "stewart --hold",
        "bicycle --v frame_joint.x=5",
    ] {
        let run = folder.run(&format!("linearize {model} -o modes.svg"));
        assert_eq!(run.code, 0, "{model}: {}", run.stderr);
        let svg = folder.read("modes.svg");
        assert!(
            svg.starts_with("<svg") && svg.contains("mode 1 +"),
            "{model}"
        );
    }
}

#[test]
fn mistakes() {
    for (command, message) in [
        ("denoc chain-201", "takes models with up to 200 freedoms"),
        ("denoc planar3 -o n.txt", "end it with .npz, .csv or .json"),
        ("denoc planar3 --q nan,0,0", "nan"),
        (
            "linearize floating-chain-2",
            "has no equilibrium near this state",
        ),
        (
            "linearize planar3 --v 1,0,0",
            "this is not a steady motion of `planar3`",
        ),
        (
            "linearize planar3 --wrench link3:0,0,0,1,0,0",
            "not part of the linear equations",
        ),
        (
            "linearize planar3 -o modes.png",
            "end the name of the file with .svg",
        ),
        ("linearize four-bar-1 --q 0,0,0 --hold", "lose rank"),
        (
            "linearize chain-501",
            "takes models with up to 500 freedoms",
        ),
    ] {
        let run = run(command);
        assert_eq!(run.code, 2, "{command}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(message), "{command}: {}", run.stderr);
    }
}
