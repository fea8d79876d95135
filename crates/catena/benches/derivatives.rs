//! What do derivatives cost, one state at a time and in lanes?
//!
//! `cargo bench -p catena --bench derivatives [MODEL…]` prints best times of many runs on one core. A machine is noisy: compare
//! numbers of one run with each other.

use catena::model::embedded;
use catena::{Batch, Cpu, Dynamics, State};
use std::hint::black_box;
use std::time::Instant;

/// Best time of one call, in nanoseconds.
fn best(rounds: usize, calls: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / calls as f64);
    }
    best
}

/// One state at a time: inverse dynamics, its derivatives, forward dynamics, its derivatives.
fn single(name: &str) -> [f64; 4] {
    let model = embedded::model(name).expect("embedded");
    let nv = model.nv();
    let state = State::random(&model, 1);
    let x = vec![0.5; nv];
    let mut d = Dynamics::new(&model);
    let calls = 20_000 / (nv * nv) + 1;
    let rounds = if nv > 500 { 20 } else { 300 };
    [
        best(rounds, calls, || {
            drop(black_box(d.inverse(black_box(&state), &x, &[])))
        }),
        best(rounds, calls, || {
            drop(black_box(d.inverse_derivatives(black_box(&state), &x, &[])))
        }),
        best(rounds, calls, || {
            drop(black_box(d.forward(black_box(&state), &x, &[])))
        }),
        best(rounds, calls, || {
            drop(black_box(d.forward_derivatives(black_box(&state), &x, &[])))
        }),
    ]
}

/// Many states in lanes: derivatives of inverse and of forward dynamics, per state.
fn lanes(name: &str) -> [f64; 2] {
    let model = embedded::model(name).expect("embedded");
    let nv = model.nv();
    let count: usize = if nv > 500 { 8 } else { 64 };
    let states: Vec<State> = (0..count)
        .map(|k| State::random(&model, k as u64))
        .collect();
    let q: Vec<f64> = states.iter().flat_map(|s| s.q.clone()).collect();
    let v: Vec<f64> = states.iter().flat_map(|s| s.v.clone()).collect();
    let input = vec![0.5; nv * count];
    let mut of_inverse = vec![0.0; 2 * nv * nv * count];
    let mut of_forward = vec![0.0; 3 * nv * nv * count];
    let mut batch = Batch::new(&model);
    let rounds = if nv > 500 {
        3
    } else {
        100 + 20_000 / (nv * nv)
    };
    let inverse = best(rounds, 1, || {
        drop(black_box(batch.inverse_derivatives(
            &q,
            &v,
            &input,
            &mut of_inverse,
        )))
    });
    let forward = best(rounds, 1, || {
        drop(black_box(batch.forward_derivatives(
            &q,
            &v,
            &input,
            &mut of_forward,
        )))
    });
    [inverse, forward].map(|t| t / count as f64)
}

fn main() {
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    println!("processor path: {:?}, ns per state\n", Cpu::detect());
    println!(
        "{:<20} {:>10} {:>10} {:>10} {:>10}   in lanes: {:>10} {:>10}",
        "model", "inverse", "∂inverse", "forward", "∂forward", "∂inverse", "∂forward"
    );
    for name in [
        "chain-7",
        "stanford",
        "floating-chain-6",
        "floating-chain-12",
        "spherical-chain-10",
        "random-40-3",
        "chain-100",
        "chain-1000",
    ] {
        if !chosen.is_empty() && !chosen.iter().any(|c| c == name) {
            continue;
        }
        let [a, b, c, d] = single(name);
        let [e, f] = lanes(name);
        println!(
            "{name:<20} {a:>10.0} {b:>10.0} {c:>10.0} {d:>10.0}             {e:>10.0} {f:>10.0}"
        );
    }
}
