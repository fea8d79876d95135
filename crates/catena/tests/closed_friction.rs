//! Dry friction in closed chains: what holds together with constraints, against models of one freedom and closed forms.

use catena::ClosedChain;
use catena::error::Result;
use catena::integrate::{self, Adaptive, FixedMethod, Method, System};
use catena::model::embedded;
use catena::model::{ConstraintSpec, Dof, Inertial, JointKind, JointSpec, Law, RuleSpec};
use catena::simulate::{Controller, Drift, Inputs, Integrator, Sample, Simulation, Table};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Model, ModelBuilder, State};
use catena_testing::random_closed;
use catena_testing::runs::{adaptive, bdf, forty_samples, try_run};

fn dof(friction: f64, damping: f64) -> Vec<Dof> {
    vec![Dof {
        friction,
        damping,
        ..Dof::default()
    }]
}

/// Two arms of 1 kg on joints of their own that turn together; their weight turns each with 0.981 N·m.
fn pair(levels: [f64; 2], damping: f64) -> Model {
    let mut builder = ModelBuilder::new("pair");
    builder.gravity = Vec3::new(0.0, 0.0, -9.81);
    for (name, level) in ["a", "b"].into_iter().zip(levels) {
        builder.link(
            name,
            Inertial {
                mass: 1.0,
                centre: Vec3::new(0.1, 0.0, 0.0),
                tensor: Sym3::new(0.01, 0.01, 0.01, 0.0, 0.0, 0.0),
            },
        );
        let mut joint = JointSpec::new(&format!("j{name}"), JointKind::Revolute, "world", name);
        joint.axes.first = Vec3::new(0.0, 1.0, 0.0);
        joint.dofs = dof(level, damping);
        builder.joint(joint);
    }
    builder.constraint(ConstraintSpec::new(
        "mimic",
        RuleSpec::Coupling {
            terms: vec![("ja".into(), 1.0), ("jb".into(), -1.0)],
            offset: 0.0,
        },
    ));
    // with multipliers: two freedoms that dry friction holds, and a row
    let model = builder.build().expect("sound");
    model.with_couplings_as_constraints()
}

/// Friction of both holds the weight of both, however it is shared: nothing moves at all, by any method. A little less friction lets
/// go at once, with what is left as acceleration.
#[test]
fn a_pair_is_held_together() {
    let fixed = |method| Integrator::Fixed { method, step: 0.01 };
    for levels in [[1.0, 1.0], [0.982, 0.982], [1.5, 0.47], [0.1, 1.9]] {
        let model = pair(levels, 1.0);
        let start = State::neutral(&model);
        for integrator in [
            adaptive(Method::Dop853, 1e-8),
            adaptive(Method::Tsitouras5, 1e-6),
            fixed(FixedMethod::RungeKutta4),
            fixed(FixedMethod::ImplicitMidpoint),
        ] {
            let done = try_run(
                &model,
                &start,
                Inputs::default(),
                forty_samples(integrator, 2.0),
            )
            .expect("it stands");
            for sample in &done.samples {
                assert_eq!(sample.state, start, "{levels:?} {integrator:?}");
                let [a, b] = sample.friction[..] else {
                    panic!("two freedoms")
                };
                assert!((a + b + 1.962).abs() < 1e-12, "{a} {b}");
                assert!(a.abs() <= levels[0] && b.abs() <= levels[1], "{a} {b}");
            }
            assert!(done.events.is_empty(), "{:?}", done.events);
            assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
            assert_eq!(done.audit.held.len(), 2);
            assert_eq!(done.audit.dissipated, 0.0);
        }
    }
    let model = pair([0.9, 1.0], 1.0);
    let done = try_run(
        &model,
        &State::neutral(&model),
        Inputs::default(),
        forty_samples(adaptive(Method::Dop853, 1e-8), 0.1),
    )
    .expect("it falls");
    let expected = (1.962 - 1.9) / 0.04;
    for a in &done.samples[0].vdot {
        assert!((a - expected).abs() < 1e-12, "{a} {expected}");
    }
    assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
}

/// A growing effort on one of the two lets both go when the levels of both are used up, at (f₁ + f₂)/c.
#[test]
fn a_pair_lets_go_together() {
    let model = pair([0.7, 0.4], 0.0).with_gravity([0.0; 3]);
    let rate = 1.3;
    let table =
        Table::new(vec![0.0, 2.0], vec![vec![0.0, 0.0], vec![0.0, 2.0 * rate]]).expect("sound");
    let inputs = Inputs {
        controller: Controller::Table(table),
        ..Inputs::default()
    };
    for integrator in [
        adaptive(Method::Dop853, 1e-9),
        Integrator::Fixed {
            method: FixedMethod::RungeKutta4,
            step: 0.013,
        },
    ] {
        let done = try_run(
            &model,
            &State::neutral(&model),
            inputs.clone(),
            forty_samples(integrator, 2.0),
        )
        .expect("it moves on");
        let names: Vec<&str> = done.events.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["ja slips", "jb slips"]);
        let expected = 1.1 / rate;
        for event in &done.events {
            assert!(
                (event.time - expected).abs() < 1e-12,
                "{event:?} {expected}"
            );
        }
        // 0.04 φ̈ = c t − f
        let v = 0.5 * rate * (2.0 - expected).powi(2) / 0.04;
        assert!(
            (done.last().state.v[0] - v).abs() < 1e-7 * v,
            "{:?}",
            done.last().state
        );
    }
}

fn parallelogram(levels: [f64; 3]) -> Model {
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    for (joint, level) in builder.joints.iter_mut().zip(levels) {
        joint.dofs = dof(level, 0.0);
    }
    builder.build().expect("sound")
}

/// A parallelogram with friction in its three joints and a pendulum of one freedom with the same inertia, weight and friction: they stop
/// at the same times, turn back at the same, and stay where they are.
#[test]
fn a_parallelogram_stops_with_its_pendulum() {
    let levels = [2.0, 0.7, 1.3];
    let model = parallelogram(levels);
    let mut builder = ModelBuilder::new("pendulum");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    builder.link(
        "rod",
        Inertial {
            mass: 4.0,
            centre: Vec3::new(0.5, 0.0, 0.0),
            tensor: Sym3::new(1.0, 1.0, 2.0 / 3.0, 0.0, 0.0, 0.0),
        },
    );
    let mut joint = JointSpec::new("hinge", JointKind::Revolute, "world", "rod");
    joint.dofs = dof(levels.iter().sum(), 0.0);
    builder.joint(joint);
    let pendulum = builder.build().expect("sound");
    // up and stopped there; up, back and stopped; up to the top, where it is held upright
    for (phi, rate) in [(1.3, 0.5), (0.6, 2.0), (1.0, 2.5), (2.0, -1.5)] {
        let start = State::new(&model, &[phi, -phi, phi], &[rate, -rate, rate]).expect("finite");
        let alone = State::new(&pendulum, &[phi], &[rate]).expect("finite");
        for integrator in [
            adaptive(Method::Dop853, 1e-12),
            adaptive(Method::Verner9, 1e-11),
        ] {
            let duration = 0.6;
            let done = try_run(
                &model,
                &start,
                Inputs::default(),
                forty_samples(integrator, duration),
            )
            .expect("it moves on");
            let one = try_run(
                &pendulum,
                &alone,
                Inputs::default(),
                forty_samples(integrator, duration),
            )
            .expect("it moves on");
            let (a, b) = (done.last(), one.last());
            for (k, sign) in [1.0, -1.0, 1.0].into_iter().enumerate() {
                assert!((a.state.q[k] - sign * b.state.q[0]).abs() < 1e-9, "{phi}");
                assert!((a.state.v[k] - sign * b.state.v[0]).abs() < 1e-8, "{phi}");
            }
            assert_eq!(done.events.len(), 3 * one.events.len(), "{:?}", done.events);
            for (three, event) in done.events.chunks(3).zip(&one.events) {
                for other in three {
                    assert!(
                        (other.time - event.time).abs() < 1e-9,
                        "{other:?} {event:?}"
                    );
                    let what = |name: &str| name.split_once(' ').map(|(_, what)| what.to_string());
                    assert_eq!(what(&other.name), what(&event.name));
                }
            }
            assert!((a.dissipated - b.dissipated).abs() < 1e-8);
            assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
            // what is held is held: not a digit changes
            if let Some(stop) = one.events.iter().find(|e| e.name.contains("held")) {
                let still: Vec<&Sample> =
                    done.samples.iter().filter(|s| s.time > stop.time).collect();
                assert!(still.iter().all(|s| s.state.v == [0.0; 3]), "{phi}");
                let moved = still[0].state.q.iter().zip(&a.state.q);
                assert!(
                    moved.map(|(a, b)| (a - b).abs()).all(|d| d < 1e-13),
                    "{phi}"
                );
                let efforts: f64 = a.friction[0] - a.friction[1] + a.friction[2];
                assert!(
                    (efforts - b.friction[0]).abs() < 1e-8,
                    "{efforts} {:?}",
                    b.friction
                );
            }
        }
    }
}

/// A four-bar of unequal lengths with springs, damping and friction in all joints.
fn crank_rocker(levels: [f64; 3]) -> (Model, State) {
    let mut builder = ModelBuilder::new("crank-rocker");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let at = |x: f64| Pose::shift(Vec3::new(x, 0.0, 0.0));
    let links = [
        ("crank", 0.8, [0.12, 0.02], 0.02),
        ("rod", 1.5, [0.5, 0.1], 0.13),
        ("rocker", 1.1, [0.3, -0.05], 0.06),
    ];
    for (name, mass, [x, y], inertia) in links {
        builder.link(
            name,
            Inertial {
                mass,
                centre: Vec3::new(x, y, 0.0),
                tensor: Sym3::new(inertia, inertia, inertia, 0.0, 0.0, 0.0),
            },
        );
    }
    let joints = [
        ("j1", "world", "crank", 0.0),
        ("j2", "crank", "rod", 0.3),
        ("j3", "world", "rocker", 0.8),
    ];
    for ((name, parent, child, x), level) in joints.into_iter().zip(levels) {
        let mut joint = JointSpec::new(name, JointKind::Revolute, parent, child);
        joint.parent_from_joint = at(x);
        joint.dofs = dof(level, 0.05);
        builder.joint(joint);
    }
    builder.joints[0].dofs[0].stiffness = 3.0;
    builder.joints[0].dofs[0].rest = 0.4;
    builder.constraint(ConstraintSpec::joint(JointSpec {
        parent_from_joint: at(0.9),
        joint_from_child: at(-0.7),
        ..JointSpec::new("loop", JointKind::Revolute, "rod", "rocker")
    }));
    let model = builder.build().expect("sound");
    let mut guess = State::neutral(&model);
    guess.q = vec![0.7, -0.137, 1.295];
    guess.v[0] = 6.0;
    let found = ClosedChain::new(&model)
        .assemble(0.0, &guess, &[0])
        .expect("it closes");
    (model, found.state)
}

/// The crank-rocker as one equation for the angle of its crank: at each angle the loop is closed by Newton's method, velocities follow
/// from the loop, friction is an effort against them.
struct OneFreedom {
    chain: ClosedChain,
    state: State,
    levels: Vec<f64>,
    direction: f64,
}

impl OneFreedom {
    fn place(&mut self, y: &[f64]) -> Result<()> {
        self.state.q[0] = y[0];
        self.state.v.fill(0.0);
        self.state.v[0] = y[1];
        self.state = self.chain.assemble(0.0, &self.state, &[0])?.state;
        Ok(())
    }
}

impl System for OneFreedom {
    fn dimension(&self) -> usize {
        2
    }

    fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        self.place(&[y[0], self.direction])?;
        let efforts: Vec<f64> = self
            .levels
            .iter()
            .zip(&self.state.v)
            .map(|(f, v)| -f * v.signum())
            .collect();
        self.place(y)?;
        let motion = self.chain.forward(0.0, &self.state, &efforts, &[])?;
        (dy[0], dy[1]) = (y[1], motion.accelerations[0]);
        Ok(())
    }

    fn event_count(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], values: &mut [f64]) {
        values[0] = y[1];
    }
}

/// A crank-rocker with friction in three joints stops when the equation of its one freedom does, to 1e-9 s, and stays.
#[test]
fn a_crank_rocker_stops_with_its_one_freedom() {
    let levels = [1.2, 0.5, 0.8];
    let (model, start) = crank_rocker(levels);
    let (smooth, _) = crank_rocker([0.0; 3]);
    let done = try_run(
        &model,
        &start,
        Inputs::default(),
        forty_samples(adaptive(Method::Dop853, 1e-12), 3.0),
    )
    .expect("it moves on");
    let mut one = OneFreedom {
        chain: ClosedChain::new(&smooth),
        state: start.clone(),
        levels: levels.to_vec(),
        direction: 1.0,
    };
    let mut engine = Adaptive::new(
        Method::Dop853,
        2,
        integrate::IntegratorOptions::with_tolerance(1e-12),
    )
    .expect("sound");
    engine
        .start(&mut one, 0.0, &[start.q[0], start.v[0]])
        .expect("finite");
    // it turns back as long as it accelerates when pushed by friction from the other side
    let mut stops = Vec::new();
    while engine.time() < 3.0 {
        let step = engine.step(&mut one, 3.0).expect("smooth");
        let Some(event) = step.events().first() else {
            continue;
        };
        let mut y = [0.0; 2];
        engine
            .interpolate(&mut one, event.time, &mut y)
            .expect("within");
        stops.push(event.time);
        let mut rate = [0.0; 2];
        one.direction = -one.direction;
        one.derivative(event.time, &[y[0], 0.0], &mut rate)
            .expect("smooth");
        if rate[1] * one.direction <= 0.0 {
            break;
        }
        engine
            .start(&mut one, event.time, &[y[0], 0.0])
            .expect("finite");
    }
    let last = *stops.last().expect("it stops");
    assert!(last < 2.0, "{stops:?}");
    for name in ["j1", "j2", "j3"] {
        let held = done.time_of(&format!("{name} is held by dry friction"));
        assert!((held - last).abs() < 1e-9, "{name}: {held} {stops:?}");
    }
    assert_eq!(done.events.len(), 3, "{:?}", done.events);
    for sample in done.samples.iter().filter(|s| s.time > last) {
        assert_eq!(sample.state.v, [0.0; 3]);
    }
    assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
}

/// By backward differentiation formulas in body coordinates: held, let go and stopped as by explicit methods.
#[test]
fn implicit_runs_hold_loops() {
    let bdf = bdf(1e-8);
    let model = pair([0.1, 1.9], 1.0);
    let start = State::neutral(&model);
    let done =
        try_run(&model, &start, Inputs::default(), forty_samples(bdf, 1.0)).expect("it stands");
    assert!(done.samples.iter().all(|sample| sample.state == start));
    let (model, start) = crank_rocker([1.2, 0.5, 0.8]);
    let explicit = adaptive(Method::Dop853, 1e-11);
    let exact = try_run(
        &model,
        &start,
        Inputs::default(),
        forty_samples(explicit, 2.0),
    )
    .expect("it stops");
    let done =
        try_run(&model, &start, Inputs::default(), forty_samples(bdf, 2.0)).expect("it stops");
    let what = "j1 is held by dry friction";
    assert!(
        (done.time_of(what) - exact.time_of(what)).abs() < 1e-5,
        "{:?}",
        done.events
    );
    assert_eq!(done.last().state.v, [0.0; 3]);
    assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
}

/// A random closed mechanism without a motor, with and without its friction, at a closed state.
fn mechanism(seed: u64) -> Option<[(Model, State); 2]> {
    let size = 4 + seed as usize % 7;
    let (mut builder, state) = random_closed(size, 1 + seed as usize % 3, seed).ok()?;
    builder.constraints.retain(|c| c.name != "motor");
    let make = |builder: &ModelBuilder| {
        let model = builder.build().ok()?;
        let mut chain = ClosedChain::new(&model);
        let mut state = state.clone();
        state.v.iter_mut().for_each(|v| *v *= 0.3);
        chain.project(0.0, &mut state).ok()?;
        let (rank, values) = chain.rank(0.0, &state).ok()?;
        // nothing to move, or a singular position
        let [largest, .., smallest] = values[..] else {
            return None;
        };
        (rank < model.nv() && smallest > 1e-3 * largest).then_some((model, state))
    };
    let rough = make(&builder)?;
    for joint in &mut builder.joints {
        joint.dofs.iter_mut().for_each(|dof| dof.friction = 0.0);
    }
    Some([rough, make(&builder)?])
}

/// Runs random mechanisms with friction: energy never grows, what is held is at rest and held with no more than its level, and the runs
/// cost at most three times the evaluations they cost without friction, every one of them: each reversal of a freedom ends a smooth
/// stretch, and the next one begins with steps as long as before. How many were seen, and how many samples were held.
fn random_mechanisms(seeds: std::ops::Range<u64>, wanted: usize) -> (usize, usize) {
    let (mut seen, mut held, mut dearest) = (0, 0, 0.0f64);
    let mut cost = [0.0; 2];
    for seed in seeds {
        if seen == wanted {
            break;
        }
        let Some([(model, state), (smooth, _)]) = mechanism(seed) else {
            continue;
        };
        let options = forty_samples(adaptive(Method::Dop853, 1e-7), 1.0);
        let Ok(frictionless) = try_run(&smooth, &state, Inputs::default(), options.clone()) else {
            continue; // it runs into a singular position
        };
        let done = try_run(&model, &state, Inputs::default(), options)
            .unwrap_or_else(|error| panic!("{seed}: {error}"));
        seen += 1;
        let energy = |s: &Sample| s.energies.iter().sum::<f64>();
        let scale = done.audit.findings[0].scale;
        for pair in done.samples.windows(2) {
            let gained = energy(&pair[1]) - energy(&pair[0]);
            assert!(gained < 1e-5 * scale, "{seed}: {gained:e} of {scale:e} J");
        }
        for sample in &done.samples {
            for k in 0..model.nv() {
                let level = model.dof(k).friction;
                let (v, effort) = (sample.state.v[k], sample.friction[k]);
                if level > 0.0 && v == 0.0 {
                    assert!(
                        effort.abs() <= level * (1.0 + 1e-9),
                        "{seed}: {effort} {level}"
                    );
                    held += 1;
                }
            }
        }
        let [dear, cheap] = [&done.audit, &frictionless.audit].map(|a| a.evaluations as f64);
        dearest = dearest.max(dear / cheap);
        cost = [cost[0] + dear, cost[1] + cheap];
        assert!(
            dear <= 3.0 * cheap,
            "{seed}: {dear} {cheap} {:?}",
            done.events
        );
        let breaches: Vec<_> = done.audit.breaches().collect();
        assert!(breaches.is_empty(), "{seed}: {breaches:?}");
    }
    let [dear, cheap] = cost;
    println!(
        "{seen} mechanisms, {held} samples of held freedoms, {:.2} times as dear, one {dearest:.2} times",
        dear / cheap
    );
    (seen, held)
}

#[test]
fn random_mechanisms_lose_energy() {
    let (seen, held) = random_mechanisms(1..4000, 200);
    assert!(seen == 200 && held > 1000, "{seen} {held}");
}

/// Stopped, checkpointed and taken up again: the same bits and the same events.
#[test]
fn a_restart_goes_on_with_what_is_held() {
    for integrator in [adaptive(Method::Dop853, 1e-9), bdf(1e-7)] {
        goes_on(integrator);
    }
}

fn goes_on(integrator: Integrator) {
    let (model, start) = crank_rocker([1.2, 0.5, 0.8]);
    let options = forty_samples(integrator, 2.0);
    let new = || {
        Simulation::new(
            &model,
            &start,
            Inputs::default(),
            Vec::new(),
            options.clone(),
        )
        .expect("sound")
    };
    let done = try_run(&model, &start, Inputs::default(), options.clone()).expect("it moves on");
    for at in [0.1, 1.0, 1.6] {
        let mut first = new();
        let mut samples = Vec::new();
        while first.time() < at {
            first.advance(&mut samples).expect("it moves on");
        }
        let mut second = new();
        second.restore(&first.checkpoint()).expect("its own");
        while !second.finished() {
            second.advance(&mut samples).expect("it moves on");
        }
        assert_eq!(samples, done.samples, "{at}");
        assert_eq!(second.events(), done.events, "{at}");
        assert_eq!(second.finish(), done.audit, "{at}");
    }
}

/// A driver turns what friction brakes: friction follows the driver to and fro and does not stop it.
#[test]
fn drivers_turn_against_friction() {
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    for joint in &mut builder.joints {
        joint.dofs = dof(0.5, 0.0);
    }
    builder.constraint(ConstraintSpec::new(
        "motor",
        RuleSpec::Driver {
            coordinate: "foot0".into(),
            law: Law::Sine {
                offset: 1.2,
                amplitude: 0.5,
                frequency: 2.0,
                phase: 0.0,
            },
        },
    ));
    let model = builder.build().expect("sound");
    let start = State::new(&model, &[1.2, -1.2, 1.2], &[1.0, -1.0, 1.0]).expect("finite");
    let done = try_run(
        &model,
        &start,
        Inputs::default(),
        forty_samples(adaptive(Method::Dop853, 1e-9), 4.0),
    )
    .expect("it moves on");
    assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
    // 1.5 N·m along ∫ |cos 2t| dt: to π/4, twice from there to and fro, and from 5π/4 to 4
    let way = 0.5 + 2.0 + 0.5 * (1.0 - 8f64.sin());
    assert!(
        (done.audit.dissipated - 1.5 * way).abs() < 1e-6,
        "{} {way}",
        done.audit.dissipated
    );
}

/// Velocities that open a loop are refused, and what projection moves is reported.
#[test]
fn velocities_that_open_a_loop_are_refused() {
    let (model, start) = crank_rocker([0.0; 3]);
    let options = forty_samples(adaptive(Method::Dop853, 1e-8), 0.1);
    let mut opening = start.clone();
    opening.v = vec![6.0, 0.0, 0.0];
    for drift in [Drift::Project, Drift::baumgarte(None)] {
        let error = Simulation::with_closing(
            &model,
            &opening,
            Inputs::default(),
            Vec::new(),
            options.clone(),
            drift,
        )
        .err()
        .expect("it opens");
        assert!(
            error.message().contains("constraint `loop` is opening by"),
            "{error}"
        );
    }
    let mut nearly = start.clone();
    nearly.q[2] += 3e-7;
    nearly.v[1] += 2e-7;
    let simulation = Simulation::new(
        &model,
        &nearly,
        Inputs::default(),
        Vec::new(),
        options.clone(),
    )
    .expect("nearly closed");
    let [positions, velocities] = simulation.start_moved();
    assert!(positions > 1e-8 && positions < 1e-6, "{positions:e}");
    assert!(velocities > 1e-8 && velocities < 1e-5, "{velocities:e}");
    let simulation =
        Simulation::new(&model, &start, Inputs::default(), Vec::new(), options).expect("closed");
    let [positions, velocities] = simulation.start_moved();
    assert!(
        positions < 1e-12 && velocities < 1e-10,
        "{positions:e} {velocities:e}"
    );
}

/// An effort that shakes the pair loose and lets it stop again thousands of times within a moment of a long run: the run says that it makes
/// no progress.
#[test]
fn shaking_is_no_progress() {
    let model = pair([0.7, 0.4], 0.0).with_gravity([0.0; 3]);
    let count = 4000;
    let times: Vec<f64> = (0..count).map(|k| 1e-5 * f64::from(k)).collect();
    let efforts = (0..count).map(|k| vec![if k % 8 == 1 { 4.0 } else { 0.0 }, 0.0]);
    let inputs = Inputs {
        controller: Controller::Table(Table::new(times, efforts.collect()).expect("sound")),
        ..Inputs::default()
    };
    let integrator = adaptive(Method::DormandPrince5, 1e-6);
    let error = try_run(
        &model,
        &State::neutral(&model),
        inputs,
        forty_samples(integrator, 1000.0),
    )
    .err()
    .expect("it goes nowhere");
    assert!(
        error.message().contains("the run makes no progress"),
        "{error}"
    );
}
