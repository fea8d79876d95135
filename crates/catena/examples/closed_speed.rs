//! Time of one call of closed-chain forward dynamics, as JSON: `peers/run.sh closed-chains` puts it beside Pinocchio's.
//!
//! * `ring`: twelve revolute joints in a row, the tip of the last link held at a point: 3 rows;
//! * `four-bar-N`: N four-bar linkages in a row, each closed at a point: 3 N rows, N of them dependent.

use catena::algorithm::constrained::ClosedChain;
use catena::model::{ConstraintSpec, RuleSpec, embedded};
use catena::spatial::Vec3;
use catena::{Dynamics, Error, ModelBuilder, State};
use std::time::Instant;

/// How often everything is measured, and for how long about.
const ROUNDS: usize = 20;
const SECONDS: f64 = 0.02;

fn ring() -> Result<(ModelBuilder, State), Error> {
    let mut builder = embedded::builder("chain-12")?;
    let tree = builder.build()?;
    let q: Vec<f64> = (0..12).map(|k| 0.3 + 0.2 * f64::from(k).sin()).collect();
    let v: Vec<f64> = (0..12).map(|k| 0.5 * f64::from(k).cos()).collect();
    let state = State::new(&tree, &q, &v)?;
    let tip = Vec3::new(0.0, 0.0, 0.2);
    let mut dynamics = Dynamics::new(&tree);
    let frame = tree
        .tree()
        .frame("link12")
        .cloned()
        .ok_or_else(|| Error::new(catena::ErrorKind::Model, "there is no link12"))?;
    let held = dynamics.frame_pose(&state, &frame)?.point(tip);
    builder.constraint(ConstraintSpec::point("tip", "world", held, "link12", tip));
    Ok((builder, state))
}

fn four_bars(n: usize) -> Result<(ModelBuilder, State), Error> {
    let mut builder = embedded::builder(&format!("four-bar-{n}"))?;
    let end = Vec3::new(1.0, 0.0, 0.0);
    for constraint in &mut builder.constraints {
        if let RuleSpec::Joint(joint) = &constraint.rule {
            let (parent, child) = (joint.parent.clone(), joint.child.clone());
            *constraint = ConstraintSpec::point(&constraint.name, &parent, end, &child, end);
        }
    }
    let model = builder.build()?;
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let q: Vec<f64> = (0..model.nv()).map(|k| 1.1 * sign(k)).collect();
    let v: Vec<f64> = (0..model.nv()).map(|k| -sign(k)).collect();
    let state = State::new(&model, &q, &v)?;
    Ok((builder, state))
}

fn main() -> Result<(), Error> {
    let problems = [
        ("ring", ring()?),
        ("four-bar-1", four_bars(1)?),
        ("four-bar-10", four_bars(10)?),
        ("four-bar-100", four_bars(100)?),
    ];
    for (name, (builder, mut state)) in problems {
        let model = builder.build()?;
        let mut chain = ClosedChain::new(&model);
        chain.project(0.0, &mut state)?;
        // a second closed state, so that factors of the last call are never those of the next
        let mut other = state.clone();
        let delta: Vec<f64> = state.v.iter().map(|v| 1e-3 * v).collect();
        other.step(&model, &delta);
        chain.project(0.0, &mut other)?;
        let tau = vec![0.0; model.nv()];
        let a = chain
            .forward(0.0, &state, &tau, &[])?
            .accelerations
            .to_vec();
        let mut best = f64::INFINITY;
        let mut calls = 1;
        for _ in 0..ROUNDS {
            let before = Instant::now();
            for _ in 0..calls {
                chain.forward(0.0, &other, &tau, &[])?;
                chain.forward(0.0, &state, &tau, &[])?;
            }
            let seconds = before.elapsed().as_secs_f64();
            best = best.min(0.5 * seconds / calls as f64);
            calls = ((SECONDS / best) as usize).max(1);
        }
        println!(
            "{{\"name\": \"{name}\", \"seconds\": {best:e}, \"q\": {:?}, \"v\": {:?}, \"a\": {a:?}}}",
            state.q, state.v
        );
    }
    Ok(())
}
