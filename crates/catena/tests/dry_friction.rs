//! Dry friction that slips, stops, holds and lets go: times and places against closed forms.

use catena::integrate::{FixedMethod, Method, Tolerances};
use catena::model::{Dof, Inertial, JointKind, JointSpec, embedded};
use catena::simulate::{
    Audit, Controller, Happened, Inputs, Integrator, NewtonMatrix, Simulation, SimulationOptions,
    Table,
};
use catena::spatial::{Sym3, Vec3};
use catena::trajectory::{PointToPoint, Profile};
use catena::{Model, ModelBuilder, State};
use catena_testing::runs::{adaptive, forty_samples, run};

const GRAVITY: f64 = 9.81;

fn balance(audit: &Audit) -> f64 {
    audit.findings[0].worst
}

fn friction(level: f64) -> Vec<Dof> {
    vec![Dof {
        friction: level,
        ..Dof::default()
    }]
}

/// A block of 2 kg on a slope of `angle`, upward positive.
fn slope(angle: f64, level: f64) -> Model {
    let mut builder = ModelBuilder::new("slope");
    builder.gravity = Vec3::new(0.0, 0.0, -GRAVITY);
    builder.link(
        "block",
        Inertial {
            mass: 2.0,
            ..Default::default()
        },
    );
    let mut joint = JointSpec::new("rail", JointKind::Prismatic, "world", "block");
    joint.axes.first = Vec3::new(angle.cos(), 0.0, angle.sin());
    joint.dofs = friction(level);
    builder.joint(joint);
    builder.build().unwrap()
}

fn integrators() -> [Integrator; 6] {
    let fixed = |method| Integrator::Fixed {
        method,
        step: 0.013,
    };
    [
        adaptive(Method::Dop853, 1e-9),
        adaptive(Method::Verner9, 1e-9),
        adaptive(Method::Tsitouras5, 1e-9),
        fixed(FixedMethod::RungeKutta4),
        fixed(FixedMethod::ImplicitMidpoint),
        fixed(FixedMethod::SemiImplicitEuler),
    ]
}

/// Pushed up a slope: it stops after v₀/(g sin α + f/m), and stays if m g sin α < f. A motion of constant acceleration is exact for
/// every method (the position is not for semi-implicit Euler), and so is the time of the stop.
#[test]
fn a_block_stops_on_a_slope_and_stays() {
    let (angle, level, speed) = (0.3f64, 8.0, 1.7);
    let model = slope(angle, level);
    let state = State::new(&model, &[0.0], &[speed]).unwrap();
    let deceleration = GRAVITY * angle.sin() + level / 2.0;
    let stop = speed / deceleration;
    for integrator in integrators() {
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(integrator, 1.0),
        );
        let [event] = &done.events[..] else {
            panic!("{integrator:?}: {:?}", done.events);
        };
        assert_eq!(event.name, "rail is held by dry friction");
        assert!(
            (event.time - stop).abs() < 1e-14,
            "{integrator:?}: {event:?}"
        );
        let last = done.samples.last().unwrap();
        assert_eq!(last.state.v[0], 0.0);
        let place = 0.5 * speed * stop;
        let is_first_order = matches!(
            integrator,
            Integrator::Fixed {
                method: FixedMethod::SemiImplicitEuler,
                ..
            }
        );
        let allowed = if is_first_order { 0.02 } else { 1e-13 };
        assert!((last.state.q[0] - place).abs() < allowed, "{integrator:?}");
        // friction holds what gravity pulls, and takes no more energy
        assert!((last.friction[0] - 2.0 * GRAVITY * angle.sin()).abs() < 1e-13);
        let after = done.samples.iter().filter(|sample| sample.time > stop);
        let dissipated: Vec<f64> = after.map(|sample| sample.dissipated).collect();
        assert!(
            dissipated.iter().all(|d| *d == dissipated[0]),
            "{integrator:?}"
        );
        if !is_first_order {
            assert!((dissipated[0] - level * place).abs() < 1e-8);
            assert!(
                balance(&done.audit) < 1e-8,
                "{integrator:?} {:?}",
                done.audit
            );
        }
        let [held] = &done.audit.held[..] else {
            panic!("{:?}", done.audit);
        };
        assert_eq!((held.name.as_str(), held.times), ("rail", 1));
        assert!((held.duration - (1.0 - stop)).abs() < 1e-13);
    }
}

/// Too steep for the friction: it turns back without being held, with the friction the other way round.
#[test]
fn a_block_turns_back_on_a_steep_slope() {
    let (angle, level, speed) = (0.6f64, 4.0, 1.7);
    let model = slope(angle, level);
    let state = State::new(&model, &[0.0], &[speed]).unwrap();
    let pull = GRAVITY * angle.sin();
    let stop = speed / (pull + level / 2.0);
    for integrator in integrators() {
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(integrator, 1.0),
        );
        assert!(done.events.is_empty(), "{integrator:?}: {:?}", done.events);
        let v = -(pull - level / 2.0) * (1.0 - stop);
        let last = done.samples.last().unwrap();
        assert!((last.state.v[0] - v).abs() < 1e-12, "{integrator:?}");
        assert_eq!(last.friction[0], level);
    }
}

/// A growing push c t: the block lets go at f/c, and is then at c (t − f/c)³/6m.
#[test]
fn a_block_lets_go_when_the_push_is_strong_enough() {
    let model = slope(0.0, 3.0);
    let state = State::neutral(&model);
    let table = Table::new(vec![0.0, 2.0], vec![vec![0.0], vec![10.0]]).unwrap();
    let inputs = Inputs {
        controller: Controller::Table(table),
        ..Inputs::default()
    };
    for integrator in integrators() {
        let done = run(
            &model,
            &state,
            inputs.clone(),
            forty_samples(integrator, 2.0),
        );
        let names: Vec<&str> = done.events.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["rail slips"], "{integrator:?}");
        assert!((done.events[0].time - 0.6).abs() < 1e-14, "{integrator:?}");
        let x = done.samples.last().unwrap().state.q[0];
        let exact = 5.0 * 1.4f64.powi(3) / 12.0;
        let allowed = match integrator {
            Integrator::Fixed { method, .. } if method.order() < 3 => 0.03,
            _ => 1e-8,
        };
        assert!((x - exact).abs() < allowed, "{integrator:?}: {x} {exact}");
        let held = &done.audit.held[0];
        assert!((held.duration - 0.6).abs() < 1e-14);
    }
}

fn pendulum(level: f64) -> Model {
    let mut builder = ModelBuilder::new("pendulum");
    builder.gravity = Vec3::new(0.0, 0.0, -GRAVITY);
    builder.link(
        "rod",
        Inertial {
            mass: 1.0,
            centre: Vec3::new(0.0, 0.0, -0.5),
            tensor: Sym3::new(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
        },
    );
    let mut joint = JointSpec::new("hinge", JointKind::Revolute, "world", "rod");
    joint.axes.first = Vec3::new(0.0, 1.0, 0.0);
    joint.dofs = friction(level);
    builder.joint(joint);
    builder.build().unwrap()
}

/// Between two turning points m g l (cos θ₂ − cos θ₁) = f |θ₂ − θ₁|; the last one is where gravity turns less than friction holds.
#[test]
fn a_pendulum_comes_to_rest_aslant() {
    let level = 0.35;
    let model = pendulum(level);
    let mut from = 1.2f64;
    let state = State::new(&model, &[from], &[0.0]).unwrap();
    let torque = 0.5 * GRAVITY;
    // turning points by bisection of the closed form
    let mut turns = 0;
    let mut path = 0.0;
    while torque * from.abs().sin() > level {
        let excess = |to: f64| torque * (to.cos() - from.cos()) - level * (from - to).abs();
        // it is fastest where gravity turns as much as friction holds, and loses speed after
        let (mut inside, mut outside) = ((level / torque).asin() * from.signum(), -from);
        for _ in 0..200 {
            let middle = 0.5 * (inside + outside);
            match excess(middle) > 0.0 {
                true => inside = middle,
                false => outside = middle,
            }
        }
        path += (from - inside).abs();
        from = inside;
        turns += 1;
        assert!(turns < 50, "it does not come to rest");
    }
    for integrator in [
        adaptive(Method::Dop853, 1e-11),
        adaptive(Method::Verner6, 1e-11),
    ] {
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(integrator, 15.0),
        );
        let [event] = &done.events[..] else {
            panic!("{:?}", done.events);
        };
        assert_eq!(event.name, "hinge is held by dry friction");
        let last = done.samples.last().unwrap();
        assert!(
            (last.state.q[0] - from).abs() < 1e-9,
            "{} {from}",
            last.state.q[0]
        );
        assert!((last.dissipated - level * path).abs() < 1e-8);
        assert!((last.friction[0].abs() - torque * from.abs().sin()).abs() < 1e-8);
        assert!(balance(&done.audit) < 1e-8, "{:?}", done.audit);
    }
    // held from the beginning: gravity turns less than friction holds
    let strong = pendulum(6.0);
    let done = run(
        &strong,
        &state,
        Inputs::default(),
        forty_samples(adaptive(Method::Dop853, 1e-6), 2.0),
    );
    assert!(done.samples.iter().all(|sample| sample.state == state));
    assert!(done.events.is_empty());
    assert_eq!(done.audit.held[0].duration, 2.0);
    assert_eq!(done.audit.dissipated, 0.0);
}

/// A cart on a rail, a block on the cart, a growing push between them: first the block slips on the cart, at f₂/c, then the cart
/// on its rail, at (f₁ + f₂)/c. Accelerations after that: m₁ ẍ₁ = f₁ + f₂ − c t, m₂ (ẍ₁ + ẍ₂) = c t − f₂.
#[test]
fn two_coupled_slides() {
    let (m1, m2, f1, f2, c) = (3.0, 1.0, 4.0, 1.5, 5.0);
    let mut builder = ModelBuilder::new("carts");
    builder.gravity = Vec3::zero();
    for (name, mass, level, parent) in [("cart", m1, f1, "world"), ("block", m2, f2, "cart")] {
        builder.link(
            name,
            Inertial {
                mass,
                ..Default::default()
            },
        );
        let mut joint = JointSpec::new(&format!("{name}-rail"), JointKind::Prismatic, parent, name);
        joint.dofs = friction(level);
        builder.joint(joint);
    }
    let model = builder.build().unwrap();
    let table = Table::new(vec![0.0, 2.0], vec![vec![0.0, 0.0], vec![0.0, 2.0 * c]]).unwrap();
    let inputs = Inputs {
        controller: Controller::Table(table),
        ..Inputs::default()
    };
    let (first, second) = (f2 / c, (f1 + f2) / c);
    for integrator in integrators() {
        let done = run(
            &model,
            &State::neutral(&model),
            inputs.clone(),
            forty_samples(integrator, 2.0),
        );
        let names: Vec<&str> = done.events.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["block-rail slips", "cart-rail slips"]);
        assert!(
            (done.events[0].time - first).abs() < 1e-13,
            "{integrator:?}"
        );
        assert!(
            (done.events[1].time - second).abs() < 1e-13,
            "{integrator:?}"
        );
        let last = &done.samples.last().unwrap().state;
        let v1 = -0.5 * c * (2.0 - second).powi(2) / m1;
        let v12 = 0.5 * c * (2.0 - first).powi(2) / m2;
        let allowed = match integrator {
            Integrator::Fixed { method, .. } if method.order() < 2 => 0.1,
            _ => 1e-8,
        };
        assert!(
            (last.v[0] - v1).abs() < allowed,
            "{integrator:?}: {}",
            last.v[0]
        );
        assert!(
            (last.v[0] + last.v[1] - v12).abs() < allowed,
            "{integrator:?}"
        );
    }
}

/// In trees with all kinds of joints, every sample obeys the law of friction: held with no more than the level and at rest, or
/// slipping with the level against the motion. The balance closes, and a restart gives the same bits.
#[test]
fn the_law_holds_in_trees() {
    let mut held = 0;
    for seed in [3, 5, 8] {
        let model = embedded::model(&format!("random-5-{seed}")).unwrap();
        let mut state = State::random(&model, seed);
        state.v.iter_mut().for_each(|v| *v *= 0.2);
        let options = forty_samples(adaptive(Method::Dop853, 1e-8), 2.0);
        let done = run(&model, &state, Inputs::default(), options.clone());
        for sample in &done.samples {
            for k in 0..model.nv() {
                let level = model.dof(k).friction;
                let (v, effort) = (sample.state.v[k], sample.friction[k]);
                if v == 0.0 {
                    assert!(
                        effort.abs() <= level * (1.0 + 1e-9),
                        "{seed}: {effort} {level}"
                    );
                    held += usize::from(level > 0.0);
                } else {
                    assert_eq!(effort, -level * v.signum(), "{seed}");
                }
            }
        }
        assert!(balance(&done.audit) < 1e-6, "{seed}: {:?}", done.audit);
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
        let mut first = new();
        let mut samples = Vec::new();
        while first.time() < 0.7 {
            first.advance(&mut samples).unwrap();
        }
        let mut second = new();
        second.restore(&first.checkpoint()).unwrap();
        while !second.finished() {
            second.advance(&mut samples).unwrap();
        }
        assert_eq!(samples, done.samples);
        assert_eq!(second.events(), done.events);
        assert_eq!(second.finish(), done.audit);
    }
    assert!(held > 20, "friction held nothing: {held}");
}

/// Computed torque overcomes dry friction in the direction it wants to go, and comes to rest there.
#[test]
fn computed_torque_with_dry_friction() {
    let model = pendulum(0.5);
    let motion = PointToPoint::new(Profile::Cycloid, &[0.0], &[1.0], 1.0).unwrap();
    let inputs = Inputs {
        controller: Controller::ComputedTorque {
            motion: motion.into(),
            stiffness: 100.0.into(),
            damping: 20.0.into(),
        },
        ..Inputs::default()
    };
    let done = run(
        &model,
        &State::neutral(&model),
        inputs,
        forty_samples(adaptive(Method::Dop853, 1e-9), 2.0),
    );
    let last = done.samples.last().unwrap();
    assert!((last.state.q[0] - 1.0).abs() < 1e-6, "{:?}", last.state);
    assert_eq!(last.state.v[0], 0.0);
    assert!(done.audit.held[0].duration > 0.9, "{:?}", done.audit.held);
}

/// A push that exceeds the friction for a moment only lets the block slip then: f = F sin ωt passes the level shortly before its top.
/// However long the steps of a block at rest are, the moment is found.
#[test]
fn a_short_push_beyond_the_friction_is_not_missed() {
    let (level, frequency) = (8.0, 0.5);
    let model = slope(0.0, level);
    let state = State::new(&model, &[0.0], &[0.0]).unwrap();
    let inputs = || Inputs {
        controller: Controller::Sine {
            amplitude: vec![level * 1.0005],
            frequency: vec![frequency],
        },
        ..Inputs::default()
    };
    let start = (1.0f64 / 1.0005).asin() / frequency;
    for integrator in [
        adaptive(Method::Dop853, 1e-3),
        adaptive(Method::Dop853, 1e-9),
        adaptive(Method::Tsitouras5, 1e-6),
        Integrator::Fixed {
            method: FixedMethod::RungeKutta4,
            step: 0.7,
        },
        Integrator::Bdf {
            tolerances: Tolerances {
                relative: 1e-6,
                absolute: 1e-8,
            },
            max_step: f64::INFINITY,
            max_order: 5,
            matrix: NewtonMatrix::Automatic,
        },
    ] {
        let run_options = SimulationOptions {
            integrator,
            duration: 5.6,
            interval: 5.6,
        };
        let done = run(&model, &state, inputs(), run_options);
        let slips = |event: &&Happened| event.name == "rail slips";
        let first = done.events.iter().find(slips);
        let first = first.unwrap_or_else(|| panic!("{integrator:?}: {:?}", done.events));
        assert!(
            (first.time - start).abs() < 1e-9,
            "{integrator:?}: {first:?}, not {start}"
        );
        assert!(done.samples[1].state.q[0] > 0.0, "{integrator:?}");
    }
}
