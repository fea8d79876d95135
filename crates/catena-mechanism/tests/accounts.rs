//! Exact accounts of what mechanisms compute: ranks, corrections, operations, messages, and a digest of every bit of the results.
//!
//! A scale, a damping or a first guess may be changed in many ways that still give a right answer, with more work, a larger error or a misleading
//! figure beside it. The files in `accounts` say what came out. They are no truth by themselves: the comparisons and closed forms of the other tests
//! decide what is right. They say that nothing has changed unnoticed. Whoever changes a formulation or the kernels below it on purpose sees here what
//! it costs or saves, and writes them anew: `CATENA_UPDATE=1 cargo test -p catena-mechanism --test accounts`.
//!
//! They are those of the baseline path, whose bits are the same on every x86-64 processor.
#![cfg(target_arch = "x86_64")]

use catena::algorithm::constrained::{Axes, Stabilisation};
use catena::model::{Inertial, JointKind, JointSpec, ModelBuilder, embedded};
use catena::random::Random;
use catena::spatial::{Sym3, Vec3};
use catena::{ClosedChain, Cpu, Model, State};
use catena_mechanism::doctor::diagnose;
use catena_mechanism::{
    Formulation, Linearisation, Mechanism, Mode, Modes, Solution, SteadyMotion, laws,
};
use catena_testing::accounts::{self, in_words};
use catena_testing::draw::{numbers, wrenches};
use catena_testing::{parallelogram, random_closed};
use std::fmt::Debug;
use std::path::Path;

/// A hash of what is printed with all digits (Fowler, Noll and Vo).
fn digest(what: &dyn Debug) -> String {
    let hash = format!("{what:?}")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{hash:016x}")
}

/// Compares lines with those recorded in the file of this name.
fn compare(name: &str, lines: &[String]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accounts");
    accounts::compare(&folder.join(name), lines);
}

fn model(name: &str) -> Model {
    embedded::model(name).expect("embedded")
}

/// Closed mechanisms and a state of each.
fn closed() -> Vec<(Model, State)> {
    let mut list = Vec::new();
    for name in [
        "bricard",
        "slider-crank",
        "squeezer",
        "governor",
        "stewart",
        "particle-pendulum",
        "rolling-disk",
        "sleigh",
        "bicycle",
    ] {
        let model = model(name);
        let start = State::start(&model);
        let found = ClosedChain::new(&model).assemble(0.0, &start, &[]);
        list.push((model, found.expect("it can be closed").state));
    }
    for count in [1, 3] {
        let model = model(&format!("four-bar-{count}"));
        let state = parallelogram(&model, 1.2, 0.5);
        list.push((model, state));
    }
    for seed in 1..=12 {
        let (mut builder, mut state) =
            random_closed(5 + seed as usize % 4, 1 + seed as usize % 2, seed).expect("possible");
        if seed % 2 == 0 {
            builder.constraints.retain(|c| c.name != "motor");
        }
        let model = builder.build().expect("sound");
        // where the driver contradicts the loops the messages are recorded
        let _ = ClosedChain::new(&model).project(0.0, &mut state);
        list.push((model, state));
    }
    list
}

fn trees() -> Vec<(Model, State)> {
    let mut list = Vec::new();
    for name in ["stanford", "space-robot", "zoo", "floating-chain-4"] {
        let model = model(name);
        let state = State::random(&model, 5);
        list.push((model, state));
    }
    for seed in 1..=8 {
        let model = model(&format!("random-{}-{seed}", 2 + seed % 5));
        let state = State::random(&model, seed);
        list.push((model, state));
    }
    list
}

fn told(solution: &Solution) -> String {
    format!(
        "rank {:?} of {}, {} corrections, {:?} operations, condition {:.2e}, {}, {}",
        solution.rank,
        solution.rows,
        solution.corrections,
        solution.operations,
        solution.condition,
        solution.assumptions.join(" + "),
        digest(solution)
    )
}

#[test]
fn formulations_are_as_recorded() {
    Cpu::only_baseline();
    let mut lines = Vec::new();
    for (seed, (model, state)) in closed().iter().chain(&trees()).enumerate() {
        let mut random = Random::new(seed as u64);
        let tau = numbers(&mut random, model.nv(), 5.0);
        let external = wrenches(&mut random, model, 2.0);
        let mut mechanism = Mechanism::new(model);
        for formulation in Formulation::ALL {
            let found = mechanism.counted(formulation, 0.0, state, &tau, &external);
            let found = found.map_or_else(|error| in_words(&error), |found| told(&found));
            let (name, by) = (model.name(), formulation.name());
            lines.push(format!("{name}, {by}: {found}"));
        }
    }
    // loops that are open, in other axes
    let model = model("four-bar-1");
    let mut state = parallelogram(&model, 1.2, 0.5);
    state.q[1] += 0.01;
    for axes in [Axes::Parent, Axes::World] {
        let mut mechanism = Mechanism::with_axes(&model, axes);
        mechanism.stabilise(Stabilisation::critical(0.1));
        for formulation in Formulation::ALL {
            let found = mechanism.accelerations(formulation, 0.0, &state, &[0.3; 3], &[]);
            let found = found.map_or_else(|error| in_words(&error), |found| told(&found));
            lines.push(format!("open, {axes:?}, {}: {found}", formulation.name()));
        }
    }
    compare("formulations.txt", &lines);
}

#[test]
fn choices_and_efforts_are_as_recorded() {
    Cpu::only_baseline();
    let mut lines = Vec::new();
    for count in [1, 20, 40] {
        let model = model(&format!("four-bar-{count}"));
        let state = parallelogram(&model, 0.9, -0.4);
        let found = Mechanism::new(&model).chosen(0.0, &state, &vec![0.1; model.nv()], &[]);
        let found = found.expect("closed");
        lines.push(format!("{}, chosen: {}", model.name(), told(&found)));
    }
    let mut cases = Vec::new();
    for (name, driven) in [
        ("four-bar-1", vec![0]),
        ("four-bar-1", vec![0, 2]),
        ("four-bar-1", vec![]),
        ("four-bar-1", vec![7]),
        ("four-bar-3", vec![0, 1, 2, 3]),
        ("slider-crank", vec![0]),
        ("squeezer", vec![0]),
        ("planar3", vec![0, 1, 2]),
    ] {
        cases.push((model(name), driven));
    }
    for (model, driven) in &cases {
        let state = match model.name().starts_with("four-bar") {
            true => parallelogram(model, 1.1, 0.3),
            false => {
                let found = ClosedChain::new(model).assemble(0.0, &State::start(model), &[]);
                found.expect("it can be closed").state
            }
        };
        let what = format!("{} driven at {driven:?}", model.name());
        let mut mechanism = match Mechanism::driving(model, driven) {
            Ok(mechanism) => mechanism,
            Err(error) => {
                lines.push(format!("{what}: {}", in_words(&error)));
                continue;
            }
        };
        let motion = ClosedChain::new(model)
            .forward(0.0, &state, &vec![0.0; model.nv()], &[])
            .expect("regular")
            .accelerations
            .to_vec();
        let mut wrong = motion.clone();
        wrong[0] += 1.0;
        for formulation in Formulation::ALL {
            for (vdot, kind) in [(&motion, "free"), (&wrong, "wrong")] {
                let found = mechanism.efforts(formulation, 0.0, &state, vdot, &[]);
                let found = found.map_or_else(|error| in_words(&error), |tau| digest(&tau));
                lines.push(format!("{what}, {kind}, {}: {found}", formulation.name()));
            }
        }
    }
    compare("efforts.txt", &lines);
}

#[test]
fn diagnoses_are_as_recorded() {
    Cpu::only_baseline();
    let mut lines = Vec::new();
    let mut cases = closed();
    let flat = model("four-bar-1");
    let folded = State::new(&flat, &[0.0; 3], &[0.0; 3]).expect("finite");
    cases.push((flat, folded));
    for (model, state) in &cases {
        for (time, guess) in [(0.0, state.clone()), (0.3, State::random(model, 3))] {
            let found = match diagnose(model, time, &guess, 3, 1) {
                Ok(found) => format!(
                    "{} rows, {} counted, {} free, {} redundant, {} left, smallest {:.2e}, {}",
                    found.rows,
                    found.counted,
                    found.freedoms(),
                    found.redundant(),
                    found.left,
                    found.here.smallest,
                    digest(&found)
                ),
                Err(error) => in_words(&error),
            };
            lines.push(format!("{} at {time}: {found}", model.name()));
        }
    }
    compare("diagnoses.txt", &lines);
}

fn oscillations(modes: &Modes) -> String {
    format!(
        "{} modes, residual {:.1e}, {}",
        modes.list.len(),
        modes.residual,
        digest(modes)
    )
}

fn first_displaced(modes: &Modes, displaced: &dyn Fn(&Mode) -> catena::Result<State>) -> String {
    modes.list.first().map_or(String::new(), |mode| {
        displaced(mode).map_or_else(|error| in_words(&error), |state| digest(&state.q))
    })
}

fn linear(found: catena::Result<Linearisation>) -> String {
    let found = match found {
        Ok(found) => found,
        Err(error) => return in_words(&error),
    };
    let modes = match found.modes() {
        Ok(modes) => modes,
        Err(error) => return in_words(&error),
    };
    let matrices = [
        &found.spread,
        &found.mass,
        &found.damping,
        &found.stiffness,
        &found.a,
        &found.b,
    ];
    format!(
        "{} iterations, from the guess {}, differences {:?}, {}, {}, {}",
        found.iterations,
        found.from_guess,
        found.by_differences().expect("finite"),
        oscillations(&modes),
        first_displaced(&modes, &|mode| found.displaced(mode, 0.1)),
        digest(&(
            matrices,
            &found.independent,
            found.residual,
            &found.state.q,
            &found.effort
        ))
    )
}

#[test]
fn linearisations_are_as_recorded() {
    Cpu::only_baseline();
    let mut lines = Vec::new();
    for (model, state) in closed().iter().chain(&trees()) {
        let mut still = state.clone();
        still.v.fill(0.0);
        let name = model.name();
        let held = linear(Linearisation::held(model, &still));
        lines.push(format!("{name}, held: {held}"));
        let free = linear(Linearisation::new(model, &still, &vec![0.0; model.nv()]));
        lines.push(format!("{name}, free: {free}"));
    }
    for seed in 1..=4 {
        let model = model("chain-4");
        let state = State::random(&model, seed);
        let found = linear(Linearisation::new(&model, &state, &[0.0, -0.2, 0.1, 0.0]));
        lines.push(format!("chain-4 from {seed}: {found}"));
    }
    compare("linearisations.txt", &lines);
}

/// A point mass on a rod that swings about a horizontal axis, which turns about a vertical one.
fn conical_pendulum() -> Model {
    let mut builder = ModelBuilder::new("conical pendulum");
    builder.gravity = Vec3::new(0.0, 0.0, -9.81);
    builder.link("yoke", Inertial::default());
    let bob = Inertial {
        mass: 1.7,
        centre: Vec3::new(0.0, 0.0, -1.0),
        tensor: Sym3::zero(),
    };
    builder.link("bob", bob);
    builder.joint(JointSpec::new("spin", JointKind::Revolute, "world", "yoke"));
    let mut swing = JointSpec::new("swing", JointKind::Revolute, "yoke", "bob");
    swing.axes.first = Vec3::new(0.0, 1.0, 0.0);
    builder.joint(swing);
    builder.build().expect("sound")
}

#[test]
fn steady_motions_are_as_recorded() {
    Cpu::only_baseline();
    let mut cases = Vec::new();
    for (speed, guess) in [(4.0, 0.8), (6.0, 1.0), (12.0, -1.2), (1.0, 0.5)] {
        let model = conical_pendulum();
        let mut state = State::neutral(&model);
        (state.q[1], state.v[0]) = (guess, speed);
        cases.push((model, state));
    }
    for speed in [3.0, 6.0] {
        let model = model("governor");
        let mut state = State::start(&model);
        state.v[0] = speed;
        cases.push((model, state));
    }
    for (name, share) in [
        ("rolling-disk", 0.3),
        ("rolling-disk", 1.0),
        ("bicycle", 1.0),
        ("sleigh", 1.0),
        ("stewart", 1.0),
        ("space-robot", 1.0),
    ] {
        let model = model(name);
        let mut state = State::start(&model);
        state.v.iter_mut().for_each(|v| *v *= share);
        cases.push((model, state));
    }
    let mut lines = Vec::new();
    for (model, state) in &cases {
        let effort = vec![0.0; model.nv()];
        for (found, how) in [
            (SteadyMotion::new(model, state, &effort), "here"),
            (SteadyMotion::near(model, state, &effort), "near"),
        ] {
            let found = found.and_then(|found| Ok((found.modes()?, found)));
            let found = match found {
                Ok(((modes, zeros), found)) => format!(
                    "{} iterations, from the guess {}, leaves {:.1e}, {zeros} zeros, {}, {}, {}",
                    found.iterations,
                    found.from_guess,
                    found.leaves,
                    oscillations(&modes),
                    first_displaced(&modes, &|mode| found.displaced(mode, 0.1)),
                    digest(&(
                        [&found.spread, &found.a, &found.b],
                        &found.variables,
                        found.residual,
                        found.leaves,
                        &found.state.q
                    ))
                ),
                Err(error) => in_words(&error),
            };
            lines.push(format!("{} {how}: {found}", model.name()));
        }
    }
    compare("steady.txt", &lines);
}

#[test]
fn laws_are_as_recorded() {
    Cpu::only_baseline();
    let mut lines = Vec::new();
    for name in [
        "four-bar-1",
        "bricard",
        "slider-crank",
        "squeezer",
        "stewart",
    ] {
        for law in laws::run(&model(name), 2, 1) {
            lines.push(format!(
                "{name}, {}, {}: {:e} of {:e}",
                law.law, law.routes, law.residual, law.tolerance
            ));
        }
    }
    compare("laws.txt", &lines);
}
