//! `catena space`, `catena barycentres`, and `--root` in other commands.

mod common;

use common::{assert_close, good, numbers, run};
use serde_json::Value;

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    value
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect()
}

/// Rotor inertias of the free joint are part of I_e and Î_e: the command's own checks hold.
#[test]
fn rotors_of_the_free_joint() {
    let run = good("space random-3-2 --random 3 --point 0.1,-0.2,0.3 --json");
    let state = &run.json()["states"][0];
    let [base, base_hat] = ["I_e", "I_e_hat"].map(|key| matrix(&state[key]));
    for k in 0..6 {
        assert!(base[k][k] >= base_hat[k][k] && base_hat[k][k] > 0.0);
    }
}

/// [I_e I_em; I_emᵀ I_m] = U [Î_e 0; Î_emᵀ L̂_m] from the printed numbers, from the spacecraft and from the hand.
#[test]
fn the_block_form_is_the_inertia_matrix() {
    for root in ["spacecraft", "link6", "link3"] {
        let run = good(&format!(
            "space space-robot --root {root} --random 4 --point 0.1,-0.2,0.3 --json"
        ));
        let record = run.json();
        assert_eq!(record["root"], root);
        let state = &record["states"][0];
        let [
            base,
            coupling,
            arm,
            base_hat,
            alpha,
            upper,
            coupling_hat,
            lower,
        ] = [
            "I_e",
            "I_em",
            "I_m",
            "I_e_hat",
            "alpha_e",
            "U_m",
            "I_em_hat_transposed",
            "L_m_hat",
        ]
        .map(|key| matrix(&state[key]));
        let n = arm.len();
        assert_eq!(n, 6);
        let size = base[0][0].abs().max(arm[0][0].abs());
        for i in 0..n {
            for j in 0..n {
                // U_m L̂_m
                let arms: f64 = (0..n).map(|k| upper[i][k] * lower[k][j]).sum();
                assert!((arms - arm[i][j]).abs() < 1e-10 * size);
                // Î_e + α_e Î_emᵀ
                let mixed: f64 = (0..n).map(|k| alpha[i][k] * coupling_hat[k][j]).sum();
                assert!((base_hat[i][j] + mixed - base[i][j]).abs() < 1e-10 * size);
                // α_e L̂_m
                let across: f64 = (0..n).map(|k| alpha[i][k] * lower[k][j]).sum();
                assert!((across - coupling[i][j]).abs() < 1e-10 * size);
                if j > i {
                    assert_eq!(lower[i][j], 0.0);
                }
            }
        }
    }
}

/// At zero momentum J* θ̇ is the frame's twist; A_G v is the momentum.
#[test]
fn the_generalized_jacobian_is_that_of_zero_momentum() {
    let record = good("space space-robot --random 2 --json").json();
    let state = &record["states"][0];
    let (jacobian, centroidal) = (
        matrix(&state["generalized_jacobian"]),
        matrix(&state["centroidal"]),
    );
    assert_eq!((jacobian.len(), jacobian[0].len()), (6, 6));
    assert_eq!((centroidal.len(), centroidal[0].len()), (6, 12));
    let v = numbers(&state["v"]);
    let momentum: Vec<f64> = centroidal
        .iter()
        .map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum())
        .collect();
    assert_close(&momentum, &numbers(&state["momentum"]), 1e-9);
    assert_eq!(matrix(&state["operational_inertia"]).len(), 6);
}

#[test]
fn every_command_numbers_from_another_link() {
    for command in [
        "info", "denoc", "factor", "evaluate", "forward", "inverse", "check", "simulate",
    ] {
        let options = match command {
            "simulate" => "--duration 0.1",
            _ => "",
        };
        let run = run(&format!(
            "{command} space-robot --root link6 {options} --json"
        ));
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
    }
    let text = good("info space-robot --root link6").stdout;
    assert!(text.contains("the tree is numbered from link `link6`"));
    let mass = |options: &str| {
        let record = good(&format!("info space-robot {options} --json")).json();
        record["mass"].as_f64().expect("a number")
    };
    assert!((mass("--root link6") - mass("")).abs() < 1e-12);
}

/// Barycentres: K is symmetric, and off its diagonal m d̃_ij d̃_ji from the printed D.
#[test]
fn augmented_bodies_are_printed() {
    let text = good("barycentres floating-chain-2 --random 1").stdout;
    assert!(
        text.contains("K (kg·m²)") && text.contains("check: Σ m_k d_ik = 0"),
        "{text}"
    );
    let record = good("barycentres space-robot --random 3 --json").json();
    let state = &record["states"][0];
    let mass = record["mass"].as_f64().expect("a number");
    let d: Vec<Vec<Vec<f64>>> = state["D"]
        .as_array()
        .expect("rows")
        .iter()
        .map(matrix)
        .collect();
    let k = matrix(&state["K"]);
    for i in 0..7 {
        for j in (0..7).filter(|&j| j != i) {
            // ã b̃ = b aᵀ − (a·b) 1
            let (a, b) = (&d[i][j], &d[j][i]);
            let dot: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
            for row in 0..3 {
                for column in 0..3 {
                    let own = if row == column { dot } else { 0.0 };
                    let expected = mass * (b[row] * a[column] - own);
                    let found = k[3 * i + row][3 * j + column];
                    assert!((found - expected).abs() < 1e-9 * mass, "{i} {j}");
                    assert!((found - k[3 * j + column][3 * i + row]).abs() < 1e-9 * mass);
                }
            }
        }
    }
}

#[test]
fn mistakes() {
    for (command, message) in [
        ("space stanford", "is not a tree that floats freely"),
        ("space space-robot --root hand", "there is no link `hand`"),
        ("space space-robot --point 1,2", "--point"),
        ("space space-robot --frame nowhere", "nowhere"),
        ("barycentres stanford", "it does not float"),
        ("barycentres zoo", "translational freedom"),
        ("forward stanford --root link6", "joins it to the ground"),
    ] {
        let run = run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{command}: {}", run.stderr);
    }
}
