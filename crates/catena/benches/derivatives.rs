//! What do derivatives cost, one state at a time and in lanes?
//!
//! `cargo bench -p catena --bench derivatives [MODEL…]` prints best times of many runs on one core. A machine is noisy: compare
//! numbers of one run with each other.

use catena::model::embedded;
use catena::{Cpu, Dynamics, State};
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

fn main() {
    println!("processor path: {:?}, ns per state\n", Cpu::detect());
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let names = [
        "chain-7",
        "stanford",
        "floating-chain-6",
        "floating-chain-12",
        "spherical-chain-10",
        "random-40-3",
        "chain-100",
        "chain-1000",
    ];
    println!(
        "{:<20} {:>4} {:>11} {:>11}",
        "model", "nv", "inverse", "∂inverse"
    );
    for name in names {
        if !chosen.is_empty() && !chosen.iter().any(|c| c == name) {
            continue;
        }
        let model = embedded::model(name).expect("embedded");
        let nv = model.nv();
        let state = State::random(&model, 1);
        let x = vec![0.5; nv];
        let mut d = Dynamics::new(&model);
        let calls = 20_000 / (nv * nv) + 1;
        let rounds = if nv > 500 { 20 } else { 300 };
        let inverse = best(rounds, calls, || {
            drop(black_box(d.inverse(black_box(&state), &x, &[])))
        });
        let inverse_derivatives = best(rounds, calls, || {
            drop(black_box(d.inverse_derivatives(black_box(&state), &x, &[])))
        });
        let forward = best(rounds, calls, || {
            drop(black_box(d.forward(black_box(&state), &x, &[])))
        });
        let forward_derivatives = best(rounds, calls, || {
            drop(black_box(d.forward_derivatives(black_box(&state), &x, &[])))
        });
        println!(
            "{name:<20} {nv:>4} {inverse:>11.0} {inverse_derivatives:>11.0} {forward:>11.0} {forward_derivatives:>11.0}"
        );
    }
}
