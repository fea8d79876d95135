//! What a step costs in a mechanism of N loops: `cargo run --release -p catena --example many_loops`.
//!
//! N four-bar linkages in a row, loops eliminated along the tree. A step is one of Runge and Kutta's of fourth order: four
//! evaluations of the accelerations, every stage and the end projected onto positions and velocities. Times are the best of several
//! rounds.

use catena::algorithm::constrained::{ClosedChain, Route};
use catena::integrate::FixedMethod;
use catena::model::embedded;
use catena::simulate::{Inputs, Integrator, Options, Simulation};
use catena::{Error, State};
use std::time::Instant;

fn main() -> Result<(), Error> {
    let most = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(5000);
    println!("      N   rows   forward µs/loop   step µs/loop   route");
    let mut costs = Vec::new();
    for n in [10usize, 20, 50, 100, 200, 500, 1000, 2000, 5000] {
        if n > most {
            break;
        }
        let model = embedded::model(&format!("four-bar-{n}"))?;
        let sign = |k: usize| if k % 2 == 0 { 1.0 } else { -1.0 };
        let q: Vec<f64> = (0..model.nv()).map(|k| 1.2 * sign(k)).collect();
        let v: Vec<f64> = (0..model.nv()).map(|k| -sign(k)).collect();
        let state = State::new(&model, &q, &v)?;
        let mut chain = ClosedChain::new(&model);
        let nothing = vec![0.0; model.nv()];
        chain.forward(0.0, &state, &nothing, &[])?;
        let rounds = (20_000 / n).clamp(3, 400);
        let mut forward = f64::INFINITY;
        for k in 0..rounds {
            // another state each time: factors of the last one are not used again
            let mut state = state.clone();
            state.v.iter_mut().for_each(|v| *v *= 1.0 + 1e-3 * k as f64);
            state.step(
                &model,
                &v.iter().map(|v| 1e-4 * k as f64 * v).collect::<Vec<f64>>(),
            );
            let before = Instant::now();
            chain.forward(0.0, &state, &nothing, &[])?;
            forward = forward.min(before.elapsed().as_secs_f64());
        }
        let step = 1e-3;
        let options = Options {
            integrator: Integrator::Fixed {
                method: FixedMethod::RungeKutta4,
                step,
            },
            duration: 1.0,
            interval: 1.0,
        };
        let mut simulation =
            Simulation::new(&model, &state, Inputs::default(), Vec::new(), options)?;
        let mut samples = Vec::new();
        let mut cost = f64::INFINITY;
        for _ in 0..(2000 / n).clamp(4, 50) {
            let before = Instant::now();
            simulation.advance(&mut samples)?;
            cost = cost.min(before.elapsed().as_secs_f64());
        }
        let per_loop = |seconds: f64| 1e6 * seconds / n as f64;
        let route = match chain.route() {
            Route::AlongTree => "along the tree",
            Route::CutLoops => "together",
        };
        println!(
            "{n:7} {:6} {:16.2} {:14.2}   {route}",
            chain.row_count(),
            per_loop(forward),
            per_loop(cost)
        );
        costs.push((per_loop(forward), per_loop(cost)));
    }
    let spread = |of: fn(&(f64, f64)) -> f64| {
        let least = costs.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = costs.iter().map(of).fold(0.0, f64::max);
        100.0 * (most / least - 1.0)
    };
    println!(
        "dearest loop against cheapest: forward {:+.0} %, step {:+.0} %",
        spread(|c| c.0),
        spread(|c| c.1)
    );
    Ok(())
}
