//! Does the cost of inverse and forward dynamics stay linear, and what does a small robot cost?
//!
//! `cargo bench -p catena --bench cost` prints best times of many runs on one core. A machine is noisy: compare numbers of one
//! run with each other.

use catena::model::embedded;
use catena::{Batch, Cpu, Dynamics, State};
use std::hint::black_box;
use std::time::Instant;

/// Best time of one call, in nanoseconds, over at least `rounds` rounds.
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

fn small_robots() {
    println!("one state at a time, and many in lanes (ns per state, best of many)\n");
    println!(
        "{:<20} {:>9} {:>9} {:>9} {:>9}   batch: {:>8} {:>8}",
        "model", "inverse", "forward", "inertia", "factor", "inverse", "forward"
    );
    for name in [
        "chain-6",
        "chain-7",
        "stanford",
        "chain-12",
        "floating-chain-12",
        "spherical-chain-10",
        "chain-100",
        "chain-1000",
    ] {
        let model = embedded::model(name).expect("embedded");
        let nv = model.nv();
        let state = State::random(&model, 1);
        let x = vec![0.5; nv];
        let mut d = Dynamics::new(&model);
        let calls = 4000 / nv + 1;
        let inverse = best(200, calls, || {
            drop(black_box(d.inverse(black_box(&state), &x, &[])))
        });
        let forward = best(200, calls, || {
            drop(black_box(d.forward(black_box(&state), &x, &[])))
        });
        let inertia = if nv <= 1000 {
            best(100, calls, || drop(black_box(d.inertia(black_box(&state)))))
        } else {
            f64::NAN
        };
        let factor = best(200, calls, || {
            drop(black_box(d.factorize(black_box(&state))))
        });
        let count = 64;
        let states: Vec<State> = (0..count).map(|k| State::random(&model, k)).collect();
        let q: Vec<f64> = states.iter().flat_map(|s| s.q.clone()).collect();
        let v: Vec<f64> = states.iter().flat_map(|s| s.v.clone()).collect();
        let input = vec![0.5; nv * count as usize];
        let mut out = input.clone();
        let mut batch = Batch::new(&model);
        let rounds = 400 / nv + 20;
        let many_inverse = best(rounds, calls / 64 + 1, || {
            drop(black_box(batch.inverse(&q, &v, &input, &mut out)))
        }) / count as f64;
        let many_forward = best(rounds, calls / 64 + 1, || {
            drop(black_box(batch.forward(&q, &v, &input, &mut out)))
        }) / count as f64;
        println!(
            "{name:<20} {inverse:>9.0} {forward:>9.0} {inertia:>9.0} {factor:>9.0}          {many_inverse:>8.1} {many_forward:>8.1}"
        );
    }
}

fn linear_cost() {
    println!("\ntime per body (ns) of a revolute chain; flat means O(n)\n");
    println!("{:>8} {:>10} {:>10}", "bodies", "inverse", "forward");
    let (mut least, mut most) = ([f64::INFINITY; 2], [0.0f64; 2]);
    for n in [100, 200, 500, 1000, 2000, 5000, 10_000] {
        let model = embedded::model(&format!("chain-{n}")).expect("embedded");
        let mut state = State::random(&model, 1);
        state.v.iter_mut().for_each(|v| *v *= 0.01);
        let x = vec![0.5; n];
        let mut d = Dynamics::new(&model);
        let calls = 20_000 / n;
        let times = [
            best(60, calls, || {
                drop(black_box(d.inverse(black_box(&state), &x, &[])))
            }) / n as f64,
            best(60, calls, || {
                drop(black_box(d.forward(black_box(&state), &x, &[])))
            }) / n as f64,
        ];
        for k in 0..2 {
            least[k] = least[k].min(times[k]);
            most[k] = most[k].max(times[k]);
        }
        println!("{n:>8} {:>10.1} {:>10.1}", times[0], times[1]);
    }
    println!(
        "\nspread (most ÷ least): inverse {:.2}, forward {:.2}",
        most[0] / least[0],
        most[1] / least[1]
    );
}

fn main() {
    println!("processor path: {:?}\n", Cpu::detect());
    small_robots();
    if std::env::args().all(|a| a != "small") {
        linear_cost();
    }
}
