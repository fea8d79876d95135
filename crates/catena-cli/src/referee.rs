//! Where two methods in `f64` disagree, the recursions in double-double arithmetic decide which of them is right.

use catena::algorithm::coupled::CoupledDynamics;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::residual::larger;
use catena::scalar::DoubleDouble;
use catena::spatial::Force;
use catena::{Model, State};

/// The same numbers with more digits to come.
pub fn lifted(numbers: &[f64]) -> Vec<DoubleDouble> {
    numbers.iter().map(|&x| x.into()).collect()
}

fn loads(external: &[Force<f64>]) -> Vec<Force<DoubleDouble>> {
    let load = |f: &Force<f64>| Force::new(f.moment.lift(), f.force.lift());
    external.iter().map(load).collect()
}

/// The accelerations of a tree under these efforts.
pub fn accelerations(
    model: &Model,
    state: &State,
    effort: &[f64],
    external: &[Force<f64>],
) -> Vec<DoubleDouble> {
    let state = state.lift();
    let mut vdot = lifted(effort);
    if let Some(couplings) = model.couplings() {
        let tree = model.clone().open_tree();
        let tau = vdot.clone();
        let external = loads(external);
        CoupledDynamics::new(&tree, couplings).forward(
            &tree,
            couplings,
            state.view(),
            &tau,
            &external,
            &mut vdot,
        );
        return vdot;
    }
    let mut work = ForwardDynamics::new(model);
    forward_dynamics(
        model,
        state.view(),
        &lifted(effort),
        &loads(external),
        &mut work,
        &mut vdot,
    );
    vdot
}

/// The efforts of a tree that give it these accelerations.
pub fn efforts(
    model: &Model,
    state: &State,
    acceleration: &[f64],
    external: &[Force<f64>],
) -> Vec<DoubleDouble> {
    let state = state.lift();
    let mut tau = lifted(acceleration);
    if let Some(couplings) = model.couplings() {
        let tree = model.clone().open_tree();
        let vdot = tau.clone();
        let external = loads(external);
        CoupledDynamics::new(&tree, couplings).inverse(
            &tree,
            couplings,
            state.view(),
            &vdot,
            &external,
            &mut tau,
        );
        return tau;
    }
    let mut work = InverseDynamics::new(model);
    inverse_dynamics(
        model,
        state.view(),
        &lifted(acceleration),
        &loads(external),
        &mut work,
        &mut tau,
    );
    tau
}

/// Error of `f64` results, relative to the largest of the exact ones.
pub fn error(found: &[f64], right: &[DoubleDouble]) -> f64 {
    let scale = right.iter().fold(0.0, |m, x| larger(m, x.value().abs()));
    let off = found.iter().zip(right).fold(0.0, |m, (x, right)| {
        larger(m, (DoubleDouble::from(*x) - *right).value().abs())
    });
    // all numbers may be zero
    if off == 0.0 { 0.0 } else { off / scale }
}
