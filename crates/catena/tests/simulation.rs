//! Motion in time: conservation, agreement of methods, controllers, events, restart.

use catena::integrate::{FixedMethod, Method};
use catena::model::embedded;
use catena::residual::larger;
use catena::simulate::{
    Controller, EventFunction, FrameWrench, Gains, Inputs, Integrator, Law, Simulation,
    SimulationOptions, StateFunction, Table, verified_error,
};
use catena::spatial::{Force, Vec3};
use catena::trajectory::{PointToPoint, Profile};
use catena::{Model, State};
use catena_testing::runs::{Done, adaptive, finding, options, run};

/// At rest, every plain coordinate at 0.4: nothing of the embedded models is in balance there.
fn tilted(model: &Model) -> State {
    let mut state = State::neutral(model);
    let step = vec![0.4; model.nv()];
    state.step(model, &step);
    state
}

/// Ten seconds of free fall at rtol 1e-12: relative energy drift at most 1e-10.
#[test]
fn energy_is_kept_in_free_fall() {
    for name in ["planar3", "pendulum-3", "chain-7"] {
        let model = embedded::model(name).unwrap();
        let Done { audit, .. } = run(
            &model,
            &tilted(&model),
            Inputs::default(),
            options(adaptive(Method::Verner9, 1e-12), 10.0, 0.1),
        );
        assert!(
            finding(&audit, "energy balance") <= 1e-10,
            "{name}: {audit:?}"
        );
    }
}

/// A free space robot keeps its momenta to 1e-11 over 100 s, whatever its joints do.
#[test]
fn momentum_of_a_free_robot() {
    let model = embedded::model("space-robot").unwrap();
    let mut state = State::random(&model, 3);
    state.v.iter_mut().for_each(|v| *v *= 0.3);
    let mut amplitude = vec![0.0; 12];
    amplitude[6..].fill(0.3);
    let inputs = Inputs {
        controller: Controller::Sine {
            amplitude,
            frequency: vec![1.3; 12],
        },
        ..Inputs::default()
    };
    let Done { audit, .. } = run(
        &model,
        &state,
        inputs,
        options(adaptive(Method::Verner9, 1e-12), 100.0, 1.0),
    );
    for law in ["linear momentum", "angular momentum about the mass centre"] {
        assert!(finding(&audit, law) <= 1e-11, "{law}: {audit:?}");
    }
    assert!(finding(&audit, "energy balance") <= 1e-10, "{audit:?}");
    assert!(finding(&audit, "length of quaternions") <= 1e-14);
}

/// Springs, dampers, friction, a constant effort and a wrench: the balance still closes.
#[test]
fn the_balance_closes_with_everything_on() {
    let model = embedded::model("zoo").unwrap();
    let inputs = Inputs {
        controller: Controller::Constant(vec![0.2; model.nv()]),
        wrenches: vec![FrameWrench {
            frame: model.tree().frames.len() - 1,
            wrench: Force::new(Vec3::new(0.1, 0.2, -0.1), Vec3::new(1.0, -0.5, 0.3)),
        }],
        ..Inputs::default()
    };
    let state = State::neutral(&model);
    let Done { audit, .. } = run(
        &model,
        &state,
        inputs,
        options(adaptive(Method::Dop853, 1e-9), 1.0, 0.05),
    );
    assert!(finding(&audit, "energy balance") < 1e-7, "{audit:?}");
    assert!(audit.work != 0.0 && audit.dissipated > 0.0);
}

#[test]
fn methods_agree() {
    let model = embedded::model("stanford").unwrap();
    let state = State::new(&model, &[0.1, 1.2, 0.1, 0.3, -0.4, 0.5], &[0.0; 6]).unwrap();
    let end = |options| {
        run(&model, &state, Inputs::default(), options)
            .samples
            .pop()
            .unwrap()
            .state
    };
    let exact = end(options(adaptive(Method::Verner9, 1e-13), 1.0, 1.0));
    let distance = |s: &State| {
        s.q.iter()
            .zip(&exact.q)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, larger)
    };
    for method in [
        Method::DormandPrince5,
        Method::Tsitouras5,
        Method::Verner6,
        Method::Dop853,
    ] {
        assert!(
            distance(&end(options(adaptive(method, 1e-11), 1.0, 1.0))) < 1e-9,
            "{method:?}"
        );
    }
    let fixed = |method, step| SimulationOptions {
        integrator: Integrator::Fixed { method, step },
        duration: 1.0,
        interval: 1.0,
    };
    assert!(distance(&end(fixed(FixedMethod::RungeKutta4, 1e-3))) < 1e-8);
    assert!(distance(&end(fixed(FixedMethod::ImplicitMidpoint, 1e-3))) < 1e-3);
    assert!(distance(&end(fixed(FixedMethod::SemiImplicitEuler, 1e-4))) < 1e-2);
}

/// The order of fixed-step methods on a tree with ball joints: halving the step divides the error by 2^order.
#[test]
fn orders_on_the_manifold() {
    let model = embedded::model("pendulum-2").unwrap();
    let mut state = State::random(&model, 5);
    state.v.iter_mut().for_each(|v| *v *= 0.5);
    let end = |options| {
        run(&model, &state, Inputs::default(), options)
            .samples
            .pop()
            .unwrap()
            .state
    };
    let exact = end(options(adaptive(Method::Verner9, 1e-13), 0.4, 0.4));
    for (method, order, step) in [
        (FixedMethod::RungeKutta4, 4, 0.002),
        (FixedMethod::ImplicitMidpoint, 2, 0.002),
        (FixedMethod::SemiImplicitEuler, 1, 0.001),
    ] {
        let error = |step| {
            let s = end(SimulationOptions {
                integrator: Integrator::Fixed { method, step },
                duration: 0.4,
                interval: 0.4,
            });
            s.v.iter()
                .zip(&exact.v)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, larger)
        };
        let measured = (error(step) / error(step / 2.0)).log2();
        assert!(
            (measured - f64::from(order)).abs() < 0.3,
            "{method:?}: order {measured}"
        );
    }
}

#[test]
fn computed_torque_follows_on_fixed_and_free_bases() {
    for name in ["stanford", "space-robot"] {
        let model = embedded::model(name).unwrap();
        let state = State::neutral(&model);
        let from = vec![0.0; 6];
        let to = [0.5, 0.4, 0.1, -0.3, 0.2, 0.6];
        let inputs = Inputs {
            controller: Controller::ComputedTorque {
                motion: PointToPoint::new(Profile::Cycloid, &from, &to, 2.0)
                    .unwrap()
                    .into(),
                stiffness: 100.0.into(),
                damping: 20.0.into(),
            },
            ..Inputs::default()
        };
        let Done { samples, audit, .. } = run(
            &model,
            &state,
            inputs,
            options(adaptive(Method::Dop853, 1e-9), 2.0, 0.1),
        );
        let end = &samples.last().unwrap().state.q;
        for (q, wanted) in end[end.len() - 6..].iter().zip(to) {
            assert!((q - wanted).abs() < 1e-7, "{name}: {q} instead of {wanted}");
        }
        assert_eq!(audit.breaches().count(), 0, "{name}: {audit:?}");
    }
}

/// A function that computes what a controller computes gives the same motion; what it cannot give ends the run.
#[test]
fn efforts_from_a_function() {
    let model = embedded::model("stanford").unwrap();
    let state = State::neutral(&model);
    let to = [0.5, 0.4, 0.1, -0.3, 0.2, 0.6];
    let options = options(adaptive(Method::Dop853, 1e-10), 1.0, 0.1);
    let built_in = Inputs {
        controller: Controller::ProportionalDerivative {
            motion: PointToPoint::new(Profile::Cycloid, &to, &to, 1.0)
                .unwrap()
                .into(),
            stiffness: Gains::Same(30.0),
            damping: Gains::Same(8.0),
        },
        ..Inputs::default()
    };
    let own = Inputs {
        controller: Controller::Own(Law::fallible(move |_, state, tau| {
            for k in 0..6 {
                tau[k] = 30.0 * (to[k] - state.q[k]) - 8.0 * state.v[k];
            }
            Ok(())
        })),
        ..Inputs::default()
    };
    let Done {
        samples: expected, ..
    } = run(&model, &state, built_in, options.clone());
    let Done {
        samples: found,
        audit,
        ..
    } = run(&model, &state, own, options.clone());
    assert_eq!(audit.breaches().count(), 0, "{audit:?}");
    for (a, b) in found.iter().zip(&expected) {
        for (a, b) in a.state.q.iter().zip(&b.state.q) {
            assert!((a - b).abs() < 1e-8);
        }
    }
    let bad = Inputs {
        controller: Controller::Own(Law::fallible(|t, _, tau| {
            tau[2] = if t < 0.5 { 0.0 } else { f64::NAN };
            Ok(())
        })),
        ..Inputs::default()
    };
    let mut simulation = Simulation::new(&model, &state, bad, Vec::new(), options).unwrap();
    let mut samples = Vec::new();
    let error = loop {
        match simulation.advance(&mut samples) {
            Ok(()) => assert!(!simulation.finished()),
            Err(error) => break error,
        }
    };
    let message = error.to_string();
    assert!(
        message.contains("the controller's effort for `joint3` is NaN"),
        "{message}"
    );
    assert_eq!(simulation.state().q.len(), 6);
}

#[test]
fn gravity_compensation_holds_still() {
    let model = embedded::model("stanford").unwrap();
    let state = State::new(&model, &[0.1, 1.2, 0.1, 0.3, -0.4, 0.5], &[0.0; 6]).unwrap();
    let inputs = Inputs {
        controller: Controller::GravityCompensation,
        ..Inputs::default()
    };
    let Done { samples, .. } = run(
        &model,
        &state,
        inputs,
        options(adaptive(Method::Dop853, 1e-8), 5.0, 1.0),
    );
    for (a, b) in samples.last().unwrap().state.q.iter().zip(&state.q) {
        assert!((a - b).abs() < 1e-10);
    }
}

/// A table of efforts is linear between its rows: a mass on a slide under a ramp moves by F t³ / (6 m T).
#[test]
fn a_ramp_of_force() {
    let mut builder = catena::ModelBuilder::new("cart");
    builder.gravity = Vec3::zero();
    builder.link(
        "cart",
        catena::model::Inertial {
            mass: 2.0,
            ..Default::default()
        },
    );
    builder.joint(catena::model::JointSpec::new(
        "rail",
        catena::model::JointKind::Prismatic,
        "world",
        "cart",
    ));
    let model = builder.build().unwrap();
    let table = Table::new(vec![0.0, 1.0], vec![vec![0.0], vec![6.0]]).unwrap();
    let inputs = Inputs {
        controller: Controller::Table(table),
        ..Inputs::default()
    };
    let Done { samples, audit, .. } = run(
        &model,
        &State::neutral(&model),
        inputs,
        options(adaptive(Method::Dop853, 1e-10), 1.0, 0.5),
    );
    assert!((samples.last().unwrap().state.q[0] - 6.0 / 12.0).abs() < 1e-12);
    assert!((audit.work - 0.5 * 2.0 * 1.5 * 1.5).abs() < 1e-9);
}

/// A body dropped from 1 m crosses the ground at √(2h/g), to round-off.
#[test]
fn the_time_of_an_event() {
    let mut builder = catena::ModelBuilder::new("drop");
    builder.link(
        "ball",
        catena::model::Inertial {
            mass: 1.0,
            tensor: catena::spatial::Sym3::new(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
            ..Default::default()
        },
    );
    builder.joint(catena::model::JointSpec::new(
        "free",
        catena::model::JointKind::Free,
        "world",
        "ball",
    ));
    let model = builder.build().unwrap();
    let mut state = State::neutral(&model);
    state.q[2] = 1.0;
    let events = vec![EventFunction::Plane {
        frame: 1,
        normal: [0.0, 0.0, 1.0],
        offset: 0.0,
        name: "ground".into(),
    }];
    let options = options(adaptive(Method::Dop853, 1e-12), 1.0, 0.1);
    let mut simulation =
        Simulation::new(&model, &state, Inputs::default(), events, options).unwrap();
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).unwrap();
    }
    let events = simulation.events();
    assert_eq!(events.len(), 1);
    let exact = (2.0f64 / 9.81).sqrt();
    assert!(
        (events[0].time - exact).abs() < 1e-14,
        "{}",
        events[0].time - exact
    );
}

/// Any function of time and state is watched, by every kind of method: a pendulum's bob turns back where its velocity is zero.
#[test]
fn functions_of_the_state_are_events() {
    let model = embedded::model("planar3").unwrap();
    let watch = || EventFunction::Function {
        function: StateFunction::new(|_, state| state.v[0]),
        name: "turns back".into(),
    };
    let times = |options: SimulationOptions| {
        let state = tilted(&model);
        let mut run =
            Simulation::new(&model, &state, Inputs::default(), vec![watch()], options).unwrap();
        let mut samples = Vec::new();
        while !run.finished() {
            run.advance(&mut samples).unwrap();
        }
        let events = run.events();
        assert!(events.iter().all(|event| event.name == "turns back"));
        events.iter().map(|event| event.time).collect::<Vec<f64>>()
    };
    let exact = times(options(adaptive(Method::Verner9, 1e-12), 1.0, 0.1));
    assert!(!exact.is_empty());
    let found = times(SimulationOptions {
        integrator: Integrator::Fixed {
            method: FixedMethod::RungeKutta4,
            step: 0.0007,
        },
        duration: 1.0,
        interval: 0.1,
    });
    assert_eq!(found.len(), exact.len());
    for (a, b) in found.iter().zip(&exact) {
        assert!((a - b).abs() < 1e-8, "{a} {b}");
    }
}

/// Stopped anywhere and continued from its checkpoint, a run has the same bits and the same audit.
#[test]
fn restart_gives_the_same_bits() {
    let model = embedded::model("zoo")
        .unwrap()
        .with_gravity([0.0, 0.0, -9.81]);
    let state = State::neutral(&model);
    let fixed = SimulationOptions {
        integrator: Integrator::Fixed {
            method: FixedMethod::RungeKutta4,
            step: 0.002,
        },
        duration: 0.4,
        interval: 0.02,
    };
    for options in [
        options(adaptive(Method::Dop853, 1e-8), 0.4, 0.01),
        options(adaptive(Method::Tsitouras5, 1e-6), 0.4, 0.03),
        fixed,
    ] {
        let new = || {
            Simulation::new(
                &model,
                &state,
                Inputs::default(),
                Vec::new(),
                options.clone(),
            )
            .unwrap()
        };
        let Done {
            samples: whole,
            audit,
            ..
        } = run(&model, &state, Inputs::default(), options.clone());
        for stop in [1, 2, 5, 9] {
            let mut first = new();
            let mut samples = Vec::new();
            for _ in 0..stop {
                first.advance(&mut samples).unwrap();
            }
            let checkpoint = first.checkpoint();
            drop(first);
            let mut second = new();
            second.restore(&checkpoint).unwrap();
            while !second.finished() {
                second.advance(&mut samples).unwrap();
            }
            assert_eq!(samples, whole);
            assert_eq!(second.finish(), audit);
        }
    }
}

/// The last sample is at the end, also where the interval does not divide the duration; events survive a restart.
#[test]
fn ends_and_events_are_complete() {
    let model = embedded::model("planar3").unwrap();
    let state = State::neutral(&model);
    let watch = || {
        vec![EventFunction::Position {
            coordinate: 0,
            value: -0.5,
            name: "past -0.5".into(),
        }]
    };
    let options = options(adaptive(Method::Dop853, 1e-8), 1.0, 0.3);
    let new =
        || Simulation::new(&model, &state, Inputs::default(), watch(), options.clone()).unwrap();
    let mut whole = new();
    let mut samples = Vec::new();
    while !whole.finished() {
        whole.advance(&mut samples).unwrap();
    }
    let times: Vec<f64> = samples.iter().map(|s| s.time).collect();
    assert_eq!(times, [0.0, 0.3, 0.6, 0.8999999999999999, 1.0]);
    assert!(!whole.events().is_empty());
    let mut first = new();
    let mut part = Vec::new();
    while first.events().is_empty() {
        first.advance(&mut part).unwrap();
    }
    let mut second = new();
    second.restore(&first.checkpoint()).unwrap();
    while !second.finished() {
        second.advance(&mut part).unwrap();
    }
    assert_eq!(second.events(), whole.events());
    assert_eq!(part, samples);
}

#[test]
fn the_error_estimate_is_an_estimate_of_the_error() {
    let model = embedded::model("chain-3").unwrap();
    let state = tilted(&model);
    let coarse = options(adaptive(Method::Dop853, 1e-6), 2.0, 2.0);
    let Done { samples, .. } = run(&model, &state, Inputs::default(), coarse.clone());
    let last = &samples.last().unwrap().state;
    let estimate = verified_error(&model, &state, &Inputs::default(), &coarse, last).unwrap();
    let Done { samples: sharp, .. } = run(
        &model,
        &state,
        Inputs::default(),
        options(adaptive(Method::Verner9, 1e-13), 2.0, 2.0),
    );
    let exact = &sharp.last().unwrap().state;
    let relative = |a: &[f64], b: &[f64]| {
        let size = b.iter().fold(1e-12f64, |m, x| m.max(x.abs()));
        a.iter()
            .zip(b)
            .fold(0.0, |m, (a, b)| larger(m, (a - b).abs()))
            / size
    };
    let truth = relative(&last.q, &exact.q).max(relative(&last.v, &exact.v));
    assert!(
        estimate > 0.3 * truth && estimate < 3.0 * truth,
        "{estimate:e} and {truth:e}"
    );
}

/// A system at rest exchanges no energy; round-off of its potential energy is no breach.
#[test]
fn rest_is_no_breach() {
    let model = embedded::model("stanford").unwrap();
    let state = State::new(&model, &[0.0, 0.785, 0.1, 0.0, 0.17, 0.0], &[0.0; 6]).unwrap();
    let inputs = Inputs {
        controller: Controller::GravityCompensation,
        ..Inputs::default()
    };
    let Done { audit, .. } = run(
        &model,
        &state,
        inputs,
        options(adaptive(Method::Dop853, 1e-8), 2.0, 0.1),
    );
    assert_eq!(audit.breaches().count(), 0, "{audit:?}");
}

#[test]
fn bad_settings_are_refused() {
    let model = embedded::model("chain-2").unwrap();
    let state = State::neutral(&model);
    let try_options = |options| {
        Simulation::new(&model, &state, Inputs::default(), Vec::new(), options)
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default()
    };
    assert_eq!(
        try_options(options(adaptive(Method::Dop853, 1e-8), -1.0, 0.1)),
        "duration of the simulation must be positive, not -1"
    );
    assert_eq!(
        try_options(SimulationOptions {
            integrator: Integrator::Fixed {
                method: FixedMethod::RungeKutta4,
                step: 0.0
            },
            duration: 1.0,
            interval: 0.01,
        }),
        "step must be positive, not 0"
    );
    let inputs = Inputs {
        controller: Controller::Constant(vec![1.0]),
        ..Inputs::default()
    };
    let error = Simulation::new(
        &model,
        &state,
        inputs,
        Vec::new(),
        SimulationOptions::default(),
    )
    .err()
    .unwrap();
    assert_eq!(
        error.to_string(),
        "constant efforts: 2 numbers are needed, 1 was given"
    );
    assert!(Table::new(vec![0.0, 0.0], vec![vec![1.0], vec![2.0]]).is_err());
}

/// A run that an event ends has its last sample there, with the balance of its energies, by every kind of method.
#[test]
fn an_event_ends_a_run_with_a_sample() {
    let model = embedded::model("planar3").unwrap();
    let start = tilted(&model);
    let step = 0.003;
    let fixed = |method| Integrator::Fixed { method, step };
    for integrator in [
        adaptive(Method::Dop853, 1e-10),
        adaptive(Method::Verner9, 1e-10),
        fixed(FixedMethod::RungeKutta4),
        fixed(FixedMethod::ImplicitMidpoint),
    ] {
        let event = |name: &str, value| EventFunction::Position {
            coordinate: 0,
            value,
            name: name.into(),
        };
        let events = vec![event("down", 0.2), event("later", 0.1), event("early", 0.3)];
        let options = options(integrator, 3.0, 0.1);
        let mut run =
            Simulation::new(&model, &start, Inputs::default(), events, options).expect("sound");
        let unknown = run.end_at(vec!["down".into(), "never".into()]).unwrap_err();
        let message =
            "no event that could end the run is called `never`\nhint: known are down, later, early";
        assert_eq!(unknown.to_string(), message);
        run.end_at(vec!["down".into()]).expect("it is watched");
        let mut samples = Vec::new();
        while !run.finished() {
            run.advance(&mut samples).expect("smooth");
        }
        let names: Vec<String> = run.events().into_iter().map(|event| event.name).collect();
        assert_eq!(names, ["early", "down"], "{integrator:?}");
        let end = run.events()[1].time;
        assert_eq!((run.ended_at(), run.time()), (Some(end), end));
        let last = &samples[samples.len() - 1];
        assert_eq!(last.time, end, "{integrator:?}");
        assert!((last.state.q[0] - 0.2).abs() < 1e-9, "{:?}", last.state.q);
        assert_eq!(last.state.q, run.state().q);
        assert!(samples.windows(2).all(|pair| pair[0].time < pair[1].time));
        assert!(samples.len() as f64 - 2.0 <= end / 0.1);
        let count = samples.len();
        run.advance(&mut samples).expect("nothing more");
        assert_eq!(samples.len(), count);
        let audit = run.finish();
        assert!(
            audit.breaches().next().is_none(),
            "{integrator:?}: {audit:?}"
        );
    }
}
