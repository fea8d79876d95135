//! Where two methods in `f64` disagree, the recursions in double-double arithmetic decide which of them is right.

use crate::situation::Situation;
use catena::Model;
use catena::algorithm::coupled::CoupledDynamics;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::residual::{largest, relative};
use catena::scalar::DoubleDouble;
use catena::spatial::Force;

fn lifted(numbers: &[f64]) -> Vec<DoubleDouble> {
    numbers.iter().map(|&x| x.into()).collect()
}

fn loads(external: &[Force<f64>]) -> Vec<Force<DoubleDouble>> {
    let load = |f: &Force<f64>| Force::new(f.moment.lift(), f.force.lift());
    external.iter().map(load).collect()
}

/// The accelerations of a tree under the efforts of a situation.
pub fn accelerations(
    model: &Model,
    situation: &Situation,
    external: &[Force<f64>],
) -> Vec<DoubleDouble> {
    let state = situation.state.lift();
    let mut vdot = lifted(&situation.effort);
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
        &lifted(&situation.effort),
        &loads(external),
        &mut work,
        &mut vdot,
    );
    vdot
}

/// The efforts of a tree that give it the accelerations of a situation.
pub fn efforts(model: &Model, situation: &Situation, external: &[Force<f64>]) -> Vec<DoubleDouble> {
    let state = situation.state.lift();
    let mut tau = lifted(&situation.acceleration);
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
        &lifted(&situation.acceleration),
        &loads(external),
        &mut work,
        &mut tau,
    );
    tau
}

/// Error of `f64` results, relative to the largest of the exact ones.
pub fn error(found: &[f64], right: &[DoubleDouble]) -> f64 {
    let right: Vec<f64> = right.iter().map(|x| x.value()).collect();
    relative(found, &right, largest(&right))
}
