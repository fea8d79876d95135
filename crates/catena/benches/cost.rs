//! Does the cost of inverse and forward dynamics stay linear, and what does a small robot cost?
//!
//! `cargo bench -p catena --bench cost` prints best times of many runs on one core; with `-- small` it leaves out the long
//! chains, and with `-- thresholds` it prints the sizes of `thresholds.rs` instead. A machine is noisy: compare numbers of one run with each
//! other. `CATENA_CPU` chooses the instructions.

use catena::algorithm::constrained::Route;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::integrate::{Fixed, FixedMethod};
use catena::model::embedded;
use catena::scalar::Count;
use catena::simulate::{Controller, Inputs, TreeSystem};
use catena::{Base, Batch, ClosedChain, Cpu, Drive, Dynamics, Scalar, State, StateView};
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

const MODELS: [&str; 8] = [
    "chain-6",
    "chain-7",
    "stanford",
    "chain-12",
    "floating-chain-12",
    "spherical-chain-10",
    "chain-100",
    "chain-1000",
];

fn one_by_one() {
    println!("one state at a time (ns, best of many)\n");
    println!(
        "{:<20} {:>9} {:>9} {:>9} {:>9}",
        "model", "inverse", "forward", "inertia", "factor"
    );
    for name in MODELS {
        let model = embedded::model(name).expect("embedded");
        let nv = model.nv();
        let state = State::random(&model, 1);
        let x = vec![0.5; nv];
        let mut d = Dynamics::new(&model);
        let calls = 1000 / nv + 1;
        let inverse = best(500, calls, || {
            drop(black_box(d.inverse(black_box(&state), &x, &[])))
        });
        let forward = best(500, calls, || {
            drop(black_box(d.forward(black_box(&state), &x, &[])))
        });
        let inertia = best(200, 100 / nv + 1, || {
            drop(black_box(d.inertia(black_box(&state))))
        });
        let factor = best(500, calls, || {
            drop(black_box(d.factorize(black_box(&state))))
        });
        println!("{name:<20} {inverse:>9.0} {forward:>9.0} {inertia:>9.0} {factor:>9.0}");
    }
}

fn batches() {
    println!(
        "\nmany states in lanes, one thread (ns per state, best of many); trajectories: per step of RK4\n"
    );
    println!(
        "{:<20} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}",
        "model", "inverse", "forward", "inertia", "factor", "solve", "jacobian", "trajectory"
    );
    for name in MODELS {
        let model = embedded::model(name).expect("embedded");
        let nv = model.nv();
        let count = if nv > 256 { 16 } else { 64 };
        let states: Vec<State> = (0..count).map(|k| State::random(&model, k)).collect();
        let count = count as usize;
        let q: Vec<f64> = states.iter().flat_map(|s| s.q.clone()).collect();
        let v: Vec<f64> = states.iter().flat_map(|s| s.v.clone()).collect();
        let input = vec![0.5; nv * count];
        let mut out = input.clone();
        let mut batch = Batch::new(&model);
        let (rounds, calls) = (2000 / nv + 20, 20 / nv + 1);
        let inverse = best(rounds, calls, || {
            drop(black_box(batch.inverse(&q, &v, &input, &mut out)))
        });
        let forward = best(rounds, calls, || {
            drop(black_box(batch.forward(&q, &v, &input, &mut out)))
        });
        let mut matrices = vec![0.0; nv * nv * if nv > 256 { 1 } else { count }];
        let matrix_states = matrices.len() / (nv * nv);
        let some = &q[..matrix_states * model.nq()];
        let inertia = best(rounds, 1, || {
            drop(black_box(batch.inertia(some, &mut matrices)))
        }) * count as f64
            / matrix_states as f64;
        let factor = best(rounds, calls, || drop(black_box(batch.factorize(&q))));
        let solve = best(rounds, calls, || {
            out.fill(0.5);
            drop(black_box(batch.solve(&mut out)))
        });
        let frame = model.tree().frames.last().expect("a frame").clone();
        let mut jacobians = vec![0.0; 6 * nv * count];
        let jacobian = best(rounds, calls, || {
            drop(black_box(batch.jacobians(&q, &frame, &mut jacobians)))
        });
        let (mut q_end, mut v_end) = (q.clone(), v.clone());
        let trajectory = best(rounds.min(100), 1, || {
            q_end.copy_from_slice(&q);
            v_end.copy_from_slice(&v);
            let drive = Drive::Efforts(&input);
            let method = FixedMethod::RungeKutta4;
            drop(black_box(
                batch.advance(method, 1e-6, 4, drive, &mut q_end, &mut v_end),
            ))
        }) / 4.0;
        print!("{name:<20}");
        for time in [
            inverse, forward, inertia, factor, solve, jacobian, trajectory,
        ] {
            print!(" {:>9.1}", time / count as f64);
        }
        println!();
    }
}

/// Batches on all processors, and trajectories one by one.
fn threads() {
    let model = embedded::model("chain-7").expect("embedded");
    let count = 16_384;
    let q: Vec<f64> = (0..7 * count).map(|k| (k as f64).sin()).collect();
    let v = vec![0.1; 7 * count];
    let mut out = v.clone();
    println!("\nchain-7, {count} states, forward dynamics (ns per state)\n");
    for threads in [1, 2, 4] {
        let mut batch = Batch::new(&model).threads(threads);
        let time = best(30, 1, || {
            drop(black_box(batch.forward(&q, &v, &v, &mut out)))
        });
        println!("{threads:>3} threads {:>9.1}", time / count as f64);
    }
    let inputs = Inputs {
        controller: Controller::Constant(vec![0.1; 7]),
        wrenches: Vec::new(),
        ..Inputs::default()
    };
    let mut system = TreeSystem::new(&model, inputs, Vec::new()).expect("inputs fit");
    let mut single = Fixed::new(FixedMethod::RungeKutta4, 7, 7, 1e-3).expect("a step");
    let one = best(50, 1, || {
        single.start(0.0, &q[..7], &v[..7]).expect("finite");
        for _ in 0..100 {
            single.step(&mut system).expect("regular");
        }
    });
    let mut batch = Batch::new(&model);
    let (mut q_end, mut v_end) = (q[..7 * 512].to_vec(), v[..7 * 512].to_vec());
    let many = best(10, 1, || {
        q_end.copy_from_slice(&q[..7 * 512]);
        v_end.copy_from_slice(&v[..7 * 512]);
        let drive = Drive::Efforts(&v[..7 * 512]);
        let method = FixedMethod::RungeKutta4;
        drop(black_box(
            batch.advance(method, 1e-3, 100, drive, &mut q_end, &mut v_end),
        ))
    }) / 512.0;
    println!(
        "\ntrajectories of 100 steps of RK4 per second and core: {:.0} one by one, {:.0} in lanes",
        1e9 / one,
        1e9 / many
    );
}

/// Additions, multiplications and divisions that a call takes, counted by running it in counting numbers, and how many of
/// them per nanosecond that is.
fn rates() {
    println!("\noperations counted (sines and cosines not included), and GFLOP/s of one core\n");
    println!(
        "{:<20} {:<10} {:>10} {:>10} {:>10}",
        "model", "call", "operations", "one state", "in lanes"
    );
    for name in ["chain-7", "chain-100"] {
        let model = embedded::model(name).expect("embedded");
        let nv = model.nv();
        let state = State::random(&model, 1);
        let x = vec![0.5; nv];
        let variables =
            |x: &[f64]| -> Vec<Count> { x.iter().map(|&x| Count::variable(x)).collect() };
        let (q, v, c) = (variables(&state.q), variables(&state.v), variables(&x));
        let base = Base::fixed();
        let mut out = vec![Count::constant(0.0); nv * nv];
        let mut inverse = InverseDynamics::new(&model);
        let mut forward = ForwardDynamics::new(&model);
        let mut bodies = CompositeBodies::<Count>::new(&model);
        let counts = [
            Count::measure(|| {
                inverse_dynamics(
                    &model,
                    StateView {
                        q: &q,
                        v: &v,
                        base: &base,
                    },
                    &c,
                    &[],
                    &mut inverse,
                    &mut out[..nv],
                );
            }),
            Count::measure(|| {
                forward_dynamics(
                    &model,
                    StateView {
                        q: &q,
                        v: &v,
                        base: &base,
                    },
                    &c,
                    &[],
                    &mut forward,
                    &mut out[..nv],
                );
            }),
            Count::measure(|| inertia_matrix(&model, &q, &mut bodies, &mut out)),
        ];
        let mut d = Dynamics::new(&model);
        let calls = 1000 / nv + 1;
        let single = [
            best(500, calls, || {
                drop(black_box(d.inverse(black_box(&state), &x, &[])))
            }),
            best(500, calls, || {
                drop(black_box(d.forward(black_box(&state), &x, &[])))
            }),
            best(500, calls, || drop(black_box(d.inertia(black_box(&state))))),
        ];
        let states = 64;
        let (q, v, x) = (
            state.q.repeat(states),
            state.v.repeat(states),
            x.repeat(states),
        );
        let mut out = vec![0.0; states * nv];
        let mut matrices = vec![0.0; states * nv * nv];
        let mut batch = Batch::new(&model);
        let many = [
            best(500, 1, || {
                drop(black_box(batch.inverse(&q, &v, &x, &mut out)))
            }),
            best(500, 1, || {
                drop(black_box(batch.forward(&q, &v, &x, &mut out)))
            }),
            best(500, 1, || drop(black_box(batch.inertia(&q, &mut matrices)))),
        ];
        for (k, call) in ["inverse", "forward", "inertia"].into_iter().enumerate() {
            let operations = counts[k].1.total() - counts[k].1.sines;
            let rate = |time: f64| operations as f64 / time;
            println!(
                "{name:<20} {call:<10} {operations:>10} {:>10.1} {:>10.1}",
                rate(single[k]),
                rate(many[k] / states as f64)
            );
        }
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

/// Times of the methods on both sides of a size at which one takes over from the other.
///
/// The second method is extrapolated to the largest size of the first, by the power of n between two of its own sizes. The last column
/// is the ratio of the first to the second there: below 1 the first method should serve larger models, above 1 smaller ones.
fn thresholds() {
    println!("methods on both sides of a size n of `thresholds.rs` (ns per state, best of many)\n");
    println!(
        "{:<20} {:<20} {:>4} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "size", "quantity", "n", "3n/4", "n", "n + 1", "5n/4 + 1", "ratio"
    );
    type Time = fn(&str) -> f64;
    let inertia: Time = |name| single(name, |d, state| drop(black_box(d.inertia(state))));
    let inverse: Time = |name| single(name, |d, state| drop(black_box(d.inverse_inertia(state))));
    let operational: Time = |name| {
        let model = embedded::model(name).expect("embedded");
        let last = model.tree().frames.last().expect("a frame").clone();
        single(name, |d, state| {
            drop(black_box(d.operational_inertia(state, &last)))
        })
    };
    let lanes: Time = |name| {
        many(name, 1, |batch, [q, _, _], out| {
            batch.inertia(q, out).expect("finite");
        })
    };
    let derivatives: Time = |name| {
        many(name, 2, |batch, [q, v, vdot], out| {
            batch.inverse_derivatives(q, v, vdot, out).expect("finite");
        })
    };
    let sizes: [(&str, &str, usize, Time); 6] = [
        ("COLUMN_BY_COLUMN", "inertia", 16, inertia),
        ("MATRICES_IN_LANES", "inertia, batch", 20, lanes),
        ("MATRICES_IN_LANES", "derivatives, batch", 20, derivatives),
        ("INVERSE_BY_TRIANGLE", "inverse inertia", 8, inverse),
        ("EXPLICIT_TRIANGLE", "operational inertia", 28, operational),
        ("MATRIX_IN_CACHE", "inertia", 64, inertia),
    ];
    for (size, quantity, n, time) in sizes {
        let at = [3 * n / 4, n, n + 1, 5 * n / 4 + 1];
        let [smaller, last, first, larger] = at.map(|n| time(&format!("chain-{n}")));
        let ratio = |k: usize| at[k] as f64 / at[2] as f64;
        let power = (larger / first).ln() / ratio(3).ln();
        let second = first * ratio(1).powf(power);
        println!(
            "{size:<20} {quantity:<20} {n:>4} {smaller:>9.0} {last:>9.0} {first:>9.0} {larger:>9.0} {:>8.2}",
            last / second
        );
    }
    println!("\nROWS_TOGETHER = 12: closed chains by both routes (ns)\n");
    println!(
        "{:<12} {:>5} {:>12} {:>12}",
        "model", "rows", "together", "along tree"
    );
    for name in [
        "four-bar-1",
        "four-bar-2",
        "four-bar-3",
        "four-bar-4",
        "four-bar-6",
    ] {
        let model = embedded::model(name).expect("embedded");
        let (state, tau) = (State::start(&model), vec![0.0; model.nv()]);
        let mut chain = ClosedChain::new(&model);
        let [together, along] = [Route::CutLoops, Route::AlongTree].map(|route| {
            chain.choose_route(route);
            best(300, 20, || {
                drop(black_box(chain.forward(0.0, &state, &tau, &[])))
            })
        });
        let rows = model.constraint_rows();
        println!("{name:<12} {rows:>5} {together:>12.0} {along:>12.0}");
    }
}

/// Of one state at a time.
fn single(name: &str, call: impl Fn(&mut Dynamics, &State)) -> f64 {
    let model = embedded::model(name).expect("embedded");
    let (state, mut dynamics) = (State::random(&model, 1), Dynamics::new(&model));
    best(300, 1000 / model.nv() + 1, || {
        call(&mut dynamics, black_box(&state))
    })
}

/// Per state of a batch on one thread, with this number of matrices as the result.
fn many(name: &str, matrices: usize, call: impl Fn(&mut Batch, [&[f64]; 3], &mut [f64])) -> f64 {
    const STATES: usize = 256;
    let model = embedded::model(name).expect("embedded");
    let (nv, state) = (model.nv(), State::random(&model, 1));
    let [q, v, vdot] = [&state.q, &state.v, &state.v].map(|x| x.repeat(STATES));
    let mut out = vec![0.0; STATES * matrices * nv * nv];
    let mut batch = Batch::new(&model);
    let all = best(100, 1, || {
        call(&mut batch, [&q, &v, &vdot], black_box(&mut out))
    });
    all / STATES as f64
}

fn main() {
    println!("processor path: {:?}\n", Cpu::wanted().expect("CATENA_CPU"));
    if std::env::args().any(|a| a == "thresholds") {
        return thresholds();
    }
    one_by_one();
    batches();
    threads();
    rates();
    if std::env::args().all(|a| a != "small") {
        linear_cost();
    }
}
