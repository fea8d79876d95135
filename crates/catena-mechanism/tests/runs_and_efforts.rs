//! Simulation and inverse dynamics by every formulation agree with the recursions.

use catena::ClosedChain;
use catena::model::Dof;
use catena::model::embedded;
use catena::random::Random;
use catena::simulate::{Drift, Inputs, Sample, Simulation, Stop, StopKind};
use catena::{Dynamics, Model, State};
use catena_mechanism::{ByFormulation, Formulation, Mechanism};
use catena_testing::draw::{numbers, wrenches};
use catena_testing::random_closed;
use catena_testing::runs::{explicit, forty_samples, run, to_the_end};
use catena_testing::{assert_close, parallelogram};
use std::sync::atomic::Ordering;

fn formulations(model: &Model) -> impl Iterator<Item = Formulation> {
    let tree = model.constraints().is_empty();
    let massive = model.bodies().all(|body| model.inertial(body).mass > 0.0);
    Formulation::ALL.into_iter().filter(move |f| match f {
        Formulation::TreeNullSpace => tree,
        Formulation::Rotational => massive,
        _ => true,
    })
}

/// A run by a formulation, whose audit must be sound.
fn simulated(
    model: &Model,
    state: &State,
    by: Formulation,
    drift: Drift,
    duration: f64,
) -> Vec<Sample> {
    simulated_with(model, state, &Inputs::default(), by, drift, duration)
}

fn simulated_with(
    model: &Model,
    state: &State,
    inputs: &Inputs,
    by: Formulation,
    drift: Drift,
    duration: f64,
) -> Vec<Sample> {
    let equations = ByFormulation::new(model, by, drift);
    let counts = equations.counts();
    let options = forty_samples(explicit(1e-9), duration);
    let (inputs, events) = (inputs.clone(), Vec::new());
    let equations = Box::new(equations);
    let simulation =
        Simulation::with_equations(model, state, inputs, events, options, drift, equations)
            .unwrap_or_else(|error| panic!("{}, {}: {error}", model.name(), by.name()));
    let (samples, simulation) = to_the_end(simulation)
        .unwrap_or_else(|error| panic!("{}, {}: {error}", model.name(), by.name()));
    let audit = simulation.finish();
    let breach = audit.breaches().next();
    assert!(breach.is_none(), "{}, {breach:?}", by.name());
    assert!(counts[1].load(Ordering::Relaxed) > 40, "it was asked");
    samples
}

/// Trees, loops with dependent rows, loops of any joints, and wheels: the same motion, to a hundred times the tolerance.
#[test]
fn runs_by_every_formulation_are_those_of_the_recursions() {
    let mut systems = Vec::new();
    for name in ["planar3", "space-robot", "squeezer", "rolling-disk"] {
        let model = embedded::model(name).expect("embedded");
        let state = State::start(&model);
        systems.push((model, state));
    }
    let row = embedded::model("four-bar-2").expect("embedded");
    let state = parallelogram(&row, 1.2, 0.5);
    systems.push((row, state));
    let known = systems.len();
    for seed in 1..40 {
        let (mut builder, mut state) = random_closed(5, 1, seed).expect("embedded");
        let dofs = builder.joints.iter_mut().flat_map(|joint| &mut joint.dofs);
        dofs.for_each(|dof| dof.friction = 0.0);
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let (rank, _) = chain.rank(0.0, &state).expect("finite");
        if rank < model.nv() && chain.project(0.0, &mut state).is_ok() && systems.len() < known + 3
        {
            systems.push((model, state));
        }
    }
    assert_eq!(systems.len(), known + 3);
    for (model, state) in &systems {
        let name = model.name();
        // the squeezing mechanism turns a thousand times as fast as the others
        let duration = if name == "squeezer" { 4e-4 } else { 0.4 };
        let options = forty_samples(explicit(1e-9), duration);
        let own = run(model, state, Inputs::default(), options);
        for by in formulations(model) {
            let samples = simulated(model, state, by, Drift::Project, duration);
            let (last, wanted) = (samples.last().expect("samples"), own.last());
            let what = format!("{name}, {}", by.name());
            assert_close(&last.state.q, &wanted.state.q, 1e-7, &what);
            assert_close(&last.state.v, &wanted.state.v, 1e-6, &what);
        }
    }
}

/// With violations that decay, states are not on the constraints, and every formulation has the same terms for that.
#[test]
fn runs_with_stabilised_constraints_agree() {
    let model = embedded::model("four-bar-1").expect("embedded");
    let state = parallelogram(&model, 1.2, 0.5);
    let drift = Drift::baumgarte(None);
    let wanted = simulated(&model, &state, Formulation::CutLoops, drift, 0.4);
    for by in formulations(&model) {
        let found = simulated(&model, &state, by, drift, 0.4);
        let (found, wanted) = (found.last().unwrap(), wanted.last().unwrap());
        assert_close(&found.state.q, &wanted.state.q, 1e-7, by.name());
    }
}

/// Dry friction that slips, holds and lets go, in trees and in loops with dependent rows, and stops that are hit: the same motion by every formulation.
#[test]
fn friction_and_stops_act_in_every_formulation() {
    let with_friction = |name: &str, level: f64| {
        let mut builder = embedded::builder(name).expect("embedded");
        for joint in &mut builder.joints {
            for dof in &mut joint.dofs {
                dof.friction = level;
            }
            if joint.dofs.is_empty() {
                joint.dofs = vec![
                    Dof {
                        friction: level,
                        ..Dof::default()
                    };
                    joint.kind.nv()
                ];
            }
        }
        builder.build().expect("sound")
    };
    // an arm that falls from rest, whose joints stop and start; a row of four-bars that comes to rest
    let arm = with_friction("planar3", 0.4);
    let mut falling = State::start(&arm);
    falling.v[2] = 3.0;
    let row = with_friction("four-bar-2", 3.0);
    let swinging = parallelogram(&row, 1.2, 0.5);
    // the same arm with its second joint against a stop, which it hits, rests at and leaves
    let stop = Stop {
        freedom: 1,
        limits: (-0.2, 0.3),
        kind: StopKind::Rigid { restitution: 0.3 },
    };
    let stopped = (arm.clone(), falling.clone(), 0.6, vec![stop]);
    let free = [
        (arm, falling, 0.6, Vec::new()),
        (row, swinging, 1.0, Vec::new()),
    ];
    for (model, state, duration, stops) in free.into_iter().chain([stopped]) {
        let inputs = Inputs {
            stops,
            ..Inputs::default()
        };
        let options = forty_samples(explicit(1e-9), duration);
        let own = run(&model, &state, inputs.clone(), options);
        let held = |sample: &Sample| sample.state.v.iter().any(|v| v.abs() < 1e-14);
        assert!(own.samples.iter().skip(1).any(held), "{}", model.name());
        for by in formulations(&model) {
            let samples = simulated_with(&model, &state, &inputs, by, Drift::Project, duration);
            let (last, wanted) = (samples.last().expect("samples"), own.last());
            let what = format!("{}, {}", model.name(), by.name());
            assert_close(&last.state.q, &wanted.state.q, 1e-7, &what);
            assert_close(&last.state.v, &wanted.state.v, 1e-6, &what);
        }
    }
}

/// Multipliers of prescribed accelerations are the efforts of Newton and Euler's recursion.
#[test]
fn efforts_of_random_trees() {
    for seed in 1..=30 {
        let model = embedded::model(&format!("random-{}-{seed}", 1 + seed % 7)).expect("embedded");
        let mut random = Random::new(seed);
        let state = State::random(&model, seed);
        let vdot = numbers(&mut random, model.nv(), 3.0);
        let external = wrenches(&mut random, &model, 2.0);
        let mut dynamics = Dynamics::new(&model);
        let wanted = dynamics.inverse(&state, &vdot, &external).expect("finite");
        let all: Vec<usize> = (0..model.nv()).collect();
        let mut mechanism = Mechanism::driving(&model, &all).expect("freedoms of the model");
        for by in Formulation::ALL {
            let found = mechanism.efforts(by, 0.0, &state, &vdot, &external);
            let found = found.unwrap_or_else(|error| panic!("{seed}, {}: {error}", by.name()));
            assert_close(&found, wanted, 1e-9, &format!("{seed}, {}", by.name()));
        }
    }
}

/// As many freedoms are driven as a closed mechanism has.
#[test]
fn efforts_of_random_closed_mechanisms() {
    let mut seen = 0;
    for seed in 1..=60 {
        let (builder, mut state) = random_closed(3 + seed as usize % 4, 1, seed).expect("embedded");
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let (own, _) = chain.rank(0.0, &state).expect("finite");
        if own == model.nv() || chain.project(0.0, &mut state).is_err() {
            continue;
        }
        seen += 1;
        let mut driven: Vec<usize> = Vec::new();
        for k in 0..model.nv() {
            driven.push(k);
            let rank = chain.driving(&driven).rank(0.0, &state).expect("closed").0;
            if rank < own + driven.len() {
                driven.pop();
            }
        }
        let mut random = Random::new(seed);
        let wish = numbers(&mut random, model.nv(), 3.0);
        let external = wrenches(&mut random, &model, 2.0);
        let vdot = chain
            .consistent_accelerations(0.0, &state, &wish)
            .expect("closed");
        let wanted = chain
            .inverse(0.0, &state, &vdot, &external, &driven)
            .expect("determined")
            .efforts;
        let mut mechanism = Mechanism::driving(&model, &driven).expect("freedoms of the model");
        for by in formulations(&model) {
            let found = mechanism
                .efforts(by, 0.0, &state, &vdot, &external)
                .unwrap_or_else(|error| panic!("{seed}, {}: {error}", by.name()));
            assert_close(&found, &wanted, 1e-7, &format!("{seed}, {}", by.name()));
        }
        // one more actuator shares the efforts, with minimum norm; one fewer, and the motion is not determined
        if let Some(k) = (0..model.nv()).find(|k| !driven.contains(k)) {
            let more: Vec<usize> = driven.iter().copied().chain([k]).collect();
            let mut mechanism = Mechanism::driving(&model, &more).expect("freedoms of the model");
            let wanted = chain
                .inverse(0.0, &state, &vdot, &external, &more)
                .expect("determined")
                .efforts;
            for by in formulations(&model) {
                let found = mechanism
                    .efforts(by, 0.0, &state, &vdot, &external)
                    .unwrap_or_else(|error| panic!("{seed}, {}: {error}", by.name()));
                assert_close(&found, &wanted, 1e-7, &format!("{seed}, {}", by.name()));
            }
        }
        if let Some((_, fewer)) = driven.split_last() {
            let mut mechanism = Mechanism::driving(&model, fewer).expect("freedoms of the model");
            let by = Formulation::Lagrangian;
            let error = mechanism.efforts(by, 0.0, &state, &vdot, &external);
            let text = error.unwrap_err().to_string();
            assert!(text.contains("do not determine"), "{text}");
        }
    }
    assert!(seen >= 30, "{seen}");
}
