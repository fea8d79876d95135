//! What couplings cost: `cargo run --release -p catena --example coupled_joints`.
//!
//! A chain of N modules, each with a geared pair of joints: 2N joints, N couplings, N independent freedoms. Forward dynamics over clusters of
//! coupled joints, by multipliers along the tree, and of the tree with its couplings left open. Times are those of the processor (where the
//! system tells; else of the clock), the best of several rounds.

use catena::ClosedChain;
use catena::algorithm::constrained::Route;
use catena::model::{ConstraintSpec, Inertial, JointKind, JointSpec, RuleSpec};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Dynamics, Error, Model, ModelBuilder, State};
use std::time::Instant;

/// Number of times that everything is measured.
const ROUNDS: usize = 5;

/// Time this thread has run, s.
fn now(start: Instant) -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = ran.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |ns| 1e-9 * ns)
}

/// In each module the second joint turns by −0.7 of the first.
fn geared_chain(modules: usize) -> Result<Model, Error> {
    let mut builder = ModelBuilder::new("geared-chain");
    let rod = Inertial {
        mass: 1.0,
        centre: Vec3::new(0.1, 0.02, 0.05),
        tensor: Sym3::new(0.02, 0.03, 0.04, 0.001, 0.0, 0.002),
    };
    let mut parent = String::from("world");
    for k in 0..2 * modules {
        let link = format!("link{k}");
        builder.link(&link, rod);
        let mut joint = JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &link);
        joint.parent_from_joint = Pose::shift(Vec3::new(0.2, 0.0, 0.0));
        joint.axes.first = [Vec3::new(0.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 0.0)][k % 2];
        builder.joint(joint);
        parent = link;
    }
    for k in 0..modules {
        let terms = vec![
            (format!("joint{}", 2 * k + 1), 1.0),
            (format!("joint{}", 2 * k), 0.7),
        ];
        let rule = RuleSpec::Coupling { terms, offset: 0.0 };
        builder.constraint(ConstraintSpec::new(&format!("gear{k}"), rule));
    }
    builder.build()
}

/// The shortest time of a call, s.
fn best(
    start: Instant,
    calls: usize,
    mut call: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let before = now(start);
        for _ in 0..calls {
            call()?;
        }
        best = best.min((now(start) - before) / calls as f64);
    }
    Ok(best)
}

fn main() -> Result<(), Error> {
    let start = Instant::now();
    println!("      N   clusters µs/module   multipliers µs/module   open tree µs/module");
    for n in [10usize, 100, 300, 1000, 3000] {
        let model = geared_chain(n)?;
        let state = State::random(&model, 1);
        let whole = state.of_tree(&model);
        let tau = vec![0.1; model.nv()];
        let tree_tau = vec![0.1; model.tree().nv];
        let calls = (20_000 / n).max(4);
        let mut dynamics = Dynamics::new(&model);
        let clusters = best(start, calls, || {
            dynamics.forward(&state, &tau, &[]).map(|_| ())
        })?;
        let mut chain = ClosedChain::new(&model);
        chain.choose_route(Route::AlongTree);
        let multipliers = best(start, calls, || {
            chain.forward(0.0, &whole, &tree_tau, &[]).map(|_| ())
        })?;
        let mut open = Dynamics::new(&model.clone().open_tree());
        let tree = best(start, calls, || {
            open.forward(&whole, &tree_tau, &[]).map(|_| ())
        })?;
        let [clusters, multipliers, tree] =
            [clusters, multipliers, tree].map(|time| 1e6 * time / n as f64);
        println!("{n:7}   {clusters:18.3}   {multipliers:21.3}   {tree:19.3}");
    }
    Ok(())
}
