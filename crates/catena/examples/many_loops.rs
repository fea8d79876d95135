//! What a step costs in a mechanism of N loops: `cargo run --release -p catena --example many_loops`.
//!
//! N four-bar linkages in a row, loops eliminated along the tree. A step is one of Runge and Kutta's of fourth order: four
//! evaluations of the accelerations, every stage and the end projected onto positions and velocities. Times are those of the processor
//! (where the system tells; else of the clock), the best of several rounds.

use catena::ClosedChain;
use catena::algorithm::constrained::Route;
use catena::integrate::FixedMethod;
use catena::model::embedded;
use catena::simulate::{Inputs, Integrator, Simulation, SimulationOptions};
use catena::{Error, State};
use std::time::Instant;

/// Number of times that everything is measured.
const ROUNDS: usize = 5;

/// Time this thread has run, s.
fn now(start: Instant) -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = ran.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |ns| 1e-9 * ns)
}

fn main() -> Result<(), Error> {
    let start = Instant::now();
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
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let q: Vec<f64> = (0..model.nv()).map(|k| 1.2 * sign(k)).collect();
        let v: Vec<f64> = (0..model.nv()).map(|k| -sign(k)).collect();
        let state = State::new(&model, &q, &v)?;
        let mut chain = ClosedChain::new(&model);
        let nothing = vec![0.0; model.nv()];
        // another state each time: factors of the last one are not used again
        let states: Vec<State> = (0..8)
            .map(|k| {
                let mut state = state.clone();
                let delta: Vec<f64> = v.iter().map(|v| 1e-3 * f64::from(k) * v).collect();
                state.step(&model, &delta);
                state
            })
            .collect();
        let calls = (40_000 / n).max(8);
        let mut forward = f64::INFINITY;
        for _ in 0..ROUNDS {
            let before = now(start);
            for k in 0..calls {
                chain.forward(0.0, &states[k % 8], &nothing, &[])?;
            }
            forward = forward.min((now(start) - before) / calls as f64);
        }
        let options = SimulationOptions {
            integrator: Integrator::Fixed {
                method: FixedMethod::RungeKutta4,
                step: 1e-3,
            },
            duration: 1.0,
            interval: 1.0,
        };
        let runs = (1000 / n).max(1);
        let steps = 20;
        let mut cost = f64::INFINITY;
        let mut samples = Vec::new();
        for _ in 0..ROUNDS {
            let mut simulations = (0..runs)
                .map(|_| {
                    let inputs = Inputs::default();
                    Simulation::new(&model, &state, inputs, Vec::new(), options.clone())
                })
                .collect::<Result<Vec<Simulation>, Error>>()?;
            for simulation in &mut simulations {
                simulation.advance(&mut samples)?; // the first step also writes a sample
            }
            let before = now(start);
            for simulation in &mut simulations {
                for _ in 0..steps {
                    simulation.advance(&mut samples)?;
                }
            }
            cost = cost.min((now(start) - before) / (runs * steps) as f64);
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
