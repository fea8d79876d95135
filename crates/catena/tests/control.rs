//! Controllers of one's own, sampling, actuators and loads against closed forms.

use catena::error::Result;
use catena::integrate::FixedMethod;
use catena::model::{
    Actuator, ActuatorSpec, Dof, Inertial, JointKind, JointSpec, ModelBuilder, SensorRule,
    SensorSpec, embedded,
};
use catena::simulate::{
    Audit, Controller, Drift, EquationsOfMotion, FrameLoad, Gains, Inputs, Integrator, Law, Sample,
    Simulation, SimulationOptions, fastest_damping,
};
use catena::spatial::{Force, Sym3, Vec3};
use catena::trajectory::{PointToPoint, Profile};
use catena::{Dynamics, Model, State};
use catena_testing::runs::{bdf, explicit, options, to_the_end};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Inertia of the wheel about its axis, kg·m².
const INERTIA: f64 = 0.4;

/// A wheel about a vertical axis: I q̈ = τ.
fn wheel() -> ModelBuilder {
    let mut builder = ModelBuilder::new("wheel");
    builder.link(
        "disc",
        Inertial {
            mass: 1.0,
            centre: Vec3::zero(),
            tensor: Sym3::new(0.2, 0.2, INERTIA, 0.0, 0.0, 0.0),
        },
    );
    builder.joint(JointSpec::new("axle", JointKind::Revolute, "world", "disc"));
    builder
}

fn simulation(
    model: &Model,
    q: &[f64],
    v: &[f64],
    inputs: Inputs,
    options: SimulationOptions,
) -> Simulation {
    let start = State::new(model, q, v).unwrap();
    Simulation::new(model, &start, inputs, Vec::new(), options).unwrap()
}

fn expect_clean(audit: &Audit) {
    let breaches: Vec<_> = audit.breaches().collect();
    assert!(breaches.is_empty(), "{breaches:?}");
}

fn own(law: Law) -> Inputs {
    Inputs {
        controller: Controller::Own(law),
        ..Inputs::default()
    }
}

/// I q̈ + d q̇ + k q = 0, underdamped, from q₀ at rest.
fn oscillator(k: f64, d: f64, q0: f64, t: f64) -> f64 {
    let decay = d / (2.0 * INERTIA);
    let omega = (k / INERTIA - decay * decay).sqrt();
    q0 * (-decay * t).exp() * ((omega * t).cos() + decay / omega * (omega * t).sin())
}

/// A closure, a function and the built-in controller are the same spring and damper.
#[test]
fn proportional_derivative_is_a_damped_oscillator() {
    let model = wheel().build().unwrap();
    let (k, d) = (30.0, 1.5);
    let hold = PointToPoint::new(Profile::Cycloid, &[0.0], &[0.0], 1.0).unwrap();
    let spring = move |_: f64, q: &[f64], v: &[f64], tau: &mut [f64]| tau[0] = -k * q[0] - d * v[0];
    let controllers = [
        Controller::ProportionalDerivative {
            motion: hold.into(),
            stiffness: Gains::Each(vec![k]),
            damping: d.into(),
        },
        Controller::Own(Law::new(spring)),
        Controller::Own(Law::function(spring)),
    ];
    for controller in controllers {
        for (integrator, allowed) in [(explicit(1e-11), 1e-10), (bdf(1e-9), 1e-6)] {
            let inputs = Inputs {
                controller: controller.clone(),
                ..Inputs::default()
            };
            let run = simulation(
                &model,
                &[0.7],
                &[0.0],
                inputs,
                options(integrator, 2.0, 0.1),
            );
            let (samples, run) = to_the_end(run).unwrap();
            assert_eq!(samples.len(), 21);
            for sample in &samples {
                let exact = oscillator(k, d, 0.7, sample.time);
                let error = (sample.state.q[0] - exact).abs();
                assert!(error < allowed, "{controller:?} {}: {error:e}", sample.time);
            }
            expect_clean(&run.finish());
        }
    }
}

/// A drive with these limits on the axle.
fn drive(max_effort: Option<f64>, lag: f64) -> Model {
    let mut builder = wheel();
    builder.actuators.push(ActuatorSpec {
        max_effort,
        lag,
        ..ActuatorSpec::new("motor", "axle")
    });
    builder.build().unwrap()
}

/// Between sampling instants the effort is constant: the motion is an exact recursion, whatever the integrator and however its
/// steps fall. The controller has a state of its own, an integral.
#[test]
fn a_sampled_controller_is_an_exact_recursion() {
    let rate = 70.0;
    let (kp, kd, ki) = (12.0, 3.0, 20.0);
    let law = Law::with_state(&[0.0], move |t, q, v, state, tau| {
        let error = 0.5 * t - q[0];
        state[0] += error / rate;
        tau[0] = kp * error - kd * v[0] + ki * state[0];
    });
    let fixed = |method, step| Integrator::Fixed { method, step };
    for limit in [None, Some(0.3)] {
        let model = drive(limit, 0.0);
        for integrator in [
            explicit(1e-11),
            fixed(FixedMethod::RungeKutta4, 0.01),
            fixed(FixedMethod::RungeKutta4, 1.0 / 70.0),
            fixed(FixedMethod::ImplicitMidpoint, 0.0031),
            bdf(1e-11),
        ] {
            let inputs = Inputs {
                actuators: Some(model.actuators()),
                rate: Some(rate),
                ..own(law.clone())
            };
            let run = simulation(
                &model,
                &[-0.4],
                &[1.0],
                inputs,
                options(integrator, 2.0, 1.0 / rate),
            );
            let (samples, run) = to_the_end(run).unwrap();
            let (mut q, mut v, mut integral) = (-0.4, 1.0, 0.0);
            let (mut saturated, mut largest) = (0u32, 0.0f64);
            for (k, sample) in samples.iter().enumerate() {
                let error = (sample.state.q[0] - q).abs();
                assert!(error < 2e-10, "{integrator:?} {k}: {error:e}");
                let t = k as f64 / rate;
                assert!((sample.time - t).abs() < 1e-14);
                let e = 0.5 * t - q;
                integral += e / rate;
                let demand = kp * e - kd * v + ki * integral;
                let tau = demand.clamp(-limit.unwrap_or(1e9), limit.unwrap_or(1e9));
                assert!(
                    (sample.tau[0] - tau).abs() < 1e-8,
                    "{integrator:?} {k}: {} {tau}",
                    sample.tau[0]
                );
                largest = largest.max(demand.abs());
                if k + 1 < samples.len() {
                    saturated += u32::from(demand != tau);
                }
                let h = 1.0 / rate;
                q += h * v + 0.5 * h * h * tau / INERTIA;
                v += h * tau / INERTIA;
            }
            assert_eq!(samples.len(), 141);
            let used = &run.actuator_uses()[0];
            let duration = f64::from(saturated) / rate;
            assert!((used.saturated - duration).abs() < 1e-9, "{used:?}");
            assert!((used.largest_demand - largest).abs() < 1e-6);
            assert_eq!(saturated > 10, limit.is_some());
            expect_clean(&run.finish());
        }
    }
}

/// A lag after a held command has a closed form.
#[test]
fn a_lag_behind_a_sampled_controller() {
    let (rate, lag) = (25.0, 0.03);
    let model = drive(Some(2.0), lag);
    let law = Law::function(|t, q, _, tau| tau[0] = 5.0 * (9.0 * t).cos() - 3.0 * q[0]);
    let inputs = Inputs {
        actuators: Some(model.actuators()),
        rate: Some(rate),
        ..own(law)
    };
    let options = options(explicit(1e-11), 2.0, 1.0 / rate);
    let (samples, run) = to_the_end(simulation(&model, &[0.0], &[0.0], inputs, options)).unwrap();
    let (mut q, mut v, mut effort) = (0.0, 0.0, 0.0);
    let h = 1.0 / rate;
    for (k, sample) in samples.iter().enumerate() {
        assert!((sample.state.q[0] - q).abs() < 1e-9, "{k}");
        assert!((sample.tau[0] - effort).abs() < 1e-8, "{k}");
        let u = (5.0 * (9.0 * k as f64 / rate).cos() - 3.0 * q).clamp(-2.0, 2.0);
        let left = (-h / lag).exp();
        let gap = effort - u;
        q += h * v + (0.5 * h * h * u + gap * lag * (h - lag * (1.0 - left))) / INERTIA;
        v += (h * u + gap * lag * (1.0 - left)) / INERTIA;
        effort = u + gap * left;
    }
    expect_clean(&run.finish());
}

/// A demand that grows with time passes the limit at an instant that is known.
#[test]
fn continuous_efforts_saturate() {
    let mut builder = wheel();
    builder.joints[0].dofs = vec![Dof {
        max_effort: Some(5.0),
        max_velocity: Some(2.0),
        ..Dof::default()
    }];
    let model = builder.build().unwrap();
    let inputs = Inputs {
        actuators: Some(model.actuators()),
        ..own(Law::function(|t, _, _, tau| tau[0] = 10.0 * t))
    };
    let run = simulation(
        &model,
        &[0.0],
        &[0.0],
        inputs,
        options(explicit(1e-10), 1.0, 0.1),
    );
    let (samples, run) = to_the_end(run).unwrap();
    let used = &run.actuator_uses()[0];
    assert!((used.saturated - 0.5).abs() < 1e-12, "{used:?}");
    assert_eq!(used.largest_demand, 10.0);
    // v = 5 t² / I until 0.5 s, then it grows by 5 t / I
    let end = &samples[10];
    assert!((end.state.v[0] - (1.25 + 2.5) / INERTIA).abs() < 1e-8);
    assert_eq!(end.tau[0], 5.0);
    let too_fast = 1.0 - (2.0 * INERTIA / 5.0f64).sqrt();
    assert!((used.too_fast - too_fast).abs() < 0.02, "{used:?}");
    assert!((used.largest_speed - end.state.v[0]).abs() < 1e-12);
    expect_clean(&run.finish());
}

/// Joints without an actuator get nothing; those with one follow the motion all the same.
#[test]
fn computed_torque_of_an_underactuated_arm() {
    let mut builder = ModelBuilder::new("acrobot");
    for (name, parent) in [("upper", "world"), ("lower", "upper")] {
        builder.link(
            name,
            Inertial {
                mass: 1.0,
                centre: Vec3::new(0.0, 0.0, -0.5),
                tensor: Sym3::new(0.1, 0.1, 0.01, 0.0, 0.0, 0.0),
            },
        );
        let mut joint = JointSpec::new(&format!("to_{name}"), JointKind::Revolute, parent, name);
        joint.axes.first = Vec3::new(0.0, 1.0, 0.0);
        if parent != "world" {
            joint.parent_from_joint.translation = Vec3::new(0.0, 0.0, -1.0);
        }
        builder.joint(joint);
    }
    builder
        .actuators
        .push(ActuatorSpec::new("elbow motor", "to_lower"));
    let model = builder.build().unwrap();
    assert_eq!(model.actuators().len(), 1);
    let motion = PointToPoint::new(Profile::Cycloid, &[0.0, 0.0], &[0.0, 0.8], 1.0).unwrap();
    for integrator in [explicit(1e-10), bdf(1e-9)] {
        let inputs = Inputs {
            controller: Controller::ComputedTorque {
                motion: motion.clone().into(),
                stiffness: Gains::Each(vec![1.0, 100.0]),
                damping: 20.0.into(),
            },
            actuators: Some(model.actuators()),
            ..Inputs::default()
        };
        let options = options(integrator, 1.5, 0.05);
        let (samples, run) =
            to_the_end(simulation(&model, &[0.0; 2], &[0.0; 2], inputs, options)).unwrap();
        for sample in &samples {
            assert_eq!(sample.tau[0], 0.0);
            let wanted = motion.at(sample.time).q[1];
            let error = (sample.state.q[1] - wanted).abs();
            assert!(error < 1e-6, "{}: {error:e}", sample.time);
        }
        assert!(samples.last().unwrap().state.q[0].abs() > 1e-2);
        expect_clean(&run.finish());
    }
}

/// A load that pulls a wheel's rim back like a spring, and one that grows with time.
#[test]
fn loads_depend_on_time_and_state() {
    let mut builder = ModelBuilder::new("slider");
    builder.gravity = Vec3::zero();
    builder.link(
        "cart",
        Inertial {
            mass: 2.0,
            ..Inertial::default()
        },
    );
    builder.joint(JointSpec::new(
        "rail",
        JointKind::Prismatic,
        "world",
        "cart",
    ));
    let model = builder.build().unwrap();
    let frames = &model.tree().frames;
    let frame = frames.iter().position(|f| f.name == "cart").unwrap();
    let inputs = Inputs {
        loads: vec![
            FrameLoad::new(frame, |_, state| {
                Force::new(Vec3::zero(), Vec3::new(0.0, 0.0, -50.0 * state.q[0]))
            }),
            FrameLoad::new(frame, |t, _| {
                Force::new(Vec3::zero(), Vec3::new(0.0, 0.0, 4.0 * t))
            }),
        ],
        ..Inputs::default()
    };
    for (integrator, allowed) in [(explicit(1e-11), 1e-10), (bdf(1e-9), 1e-6)] {
        let options = options(integrator, 2.0, 0.1);
        let run = simulation(&model, &[0.3], &[0.0], inputs.clone(), options);
        let (samples, run) = to_the_end(run).unwrap();
        for sample in &samples {
            // 2 q̈ = 4 t − 50 q
            let (t, omega) = (sample.time, 5.0f64);
            let exact = 0.08 * t + 0.3 * (omega * t).cos() - 0.08 / omega * (omega * t).sin();
            assert!((sample.state.q[0] - exact).abs() < allowed, "{t}");
        }
        expect_clean(&run.finish());
    }
    let bad = Inputs {
        loads: vec![FrameLoad::new(frame, |t, _| {
            Force::new(Vec3::zero(), Vec3::new(0.0, 0.0, (0.5 - t).sqrt()))
        })],
        ..Inputs::default()
    };
    let message = failure(&model, bad);
    assert!(
        message.contains("the load on frame `cart` is not finite at 0."),
        "{message}"
    );
}

fn failure(model: &Model, inputs: Inputs) -> String {
    let start = State::neutral(model);
    let made = Simulation::new(
        model,
        &start,
        inputs,
        Vec::new(),
        options(explicit(1e-8), 1.0, 0.1),
    );
    let mut run = match made {
        Ok(run) => run,
        Err(error) => return error.message().to_string(),
    };
    let mut samples = Vec::new();
    loop {
        if let Err(error) = run.advance(&mut samples) {
            return error.message().to_string();
        }
        assert!(!run.finished(), "the run went well");
    }
}

#[test]
fn mistakes_are_named() {
    let model = drive(None, 0.02);
    let zero = Law::function(|_, _, _, _| {});
    let actuators = || Some(model.actuators());
    let lag = Inputs {
        actuators: actuators(),
        ..own(zero.clone())
    };
    let message = failure(&model, lag);
    assert_eq!(
        message,
        "actuator `motor` has a lag of 0.02 s: its controller needs a rate"
    );
    let rate = Inputs {
        rate: Some(0.0),
        ..own(zero)
    };
    assert_eq!(
        failure(&model, rate),
        "the rate of a controller must be positive, not 0 Hz"
    );
    let memory = own(Law::with_state(&[1.0], |_, _, _, _, _| {}));
    assert_eq!(
        failure(&model, memory),
        "a controller with a state of its own needs a rate"
    );
    let root = Law::new(move |t: f64, _: &[f64], _: &[f64], tau: &mut [f64]| {
        tau[0] = (0.4 - t).sqrt();
    });
    let message = failure(&model, own(root.clone()));
    assert!(
        message.contains("the controller's effort for `axle` is NaN at 0.4"),
        "{message}"
    );
    let sampled = Inputs {
        rate: Some(100.0),
        ..own(root)
    };
    assert_eq!(
        failure(&model, sampled),
        "the controller's effort for `axle` is NaN at 0.41 s"
    );
    let robot = embedded::model("planar3").unwrap();
    let second: Vec<Actuator> = robot.actuators()[1..2].to_vec();
    let name = &robot.tree().dofs[0].name;
    let passive = Inputs {
        actuators: Some(second),
        ..own(Law::function(|_, _, _, tau| tau[0] = 1.0))
    };
    let message = failure(&robot, passive);
    assert_eq!(
        message,
        format!("the controller gives `{name}` an effort of 1 at 0 s, but it has no actuator")
    );
    for (change, words) in [
        (
            (|spec| spec.joint = "axl".into()) as fn(&mut ActuatorSpec),
            "there is no freedom `axl`",
        ),
        (|spec| spec.gear = 0.0, "gear must be"),
        (|spec| spec.max_effort = Some(0.0), "max_effort must be"),
        (|spec| spec.lag = f64::NAN, "lag must be"),
    ] {
        let mut builder = wheel();
        let mut spec = ActuatorSpec::new("motor", "axle");
        change(&mut spec);
        builder.actuators.push(spec);
        let message = builder.build().unwrap_err().message().to_string();
        assert!(
            message.starts_with("actuator `motor`: ") && message.contains(words),
            "{message}"
        );
    }
    let mut builder = wheel();
    for name in ["first", "second"] {
        builder.actuators.push(ActuatorSpec::new(name, "axle"));
    }
    let message = builder.build().unwrap_err().message().to_string();
    assert_eq!(
        message,
        "actuator `second`: `axle` is driven by `first` already"
    );
}

/// The rotor behind a gear is heavier by the square of its ratio.
#[test]
fn rotors_turn_with_their_joints() {
    let mut builder = wheel();
    builder.actuators.push(ActuatorSpec {
        gear: -30.0,
        rotor_inertia: 2e-4,
        ..ActuatorSpec::new("motor", "axle")
    });
    let model = builder.build().unwrap();
    assert!((model.dof(0).armature - 0.18).abs() < 1e-15);
    let mut dynamics = catena::Dynamics::new(&model);
    let vdot = dynamics.forward(&State::neutral(&model), &[1.16], &[]);
    assert!((vdot.unwrap()[0] - 2.0).abs() < 1e-15);
}

/// Dry friction lets go at the instant at which the held effort exceeds it.
#[test]
fn friction_lets_go_at_a_sampling_instant() {
    let mut builder = wheel();
    builder.joints[0].dofs = vec![Dof {
        friction: 1.0,
        ..Dof::default()
    }];
    let model = builder.build().unwrap();
    let inputs = Inputs {
        rate: Some(10.0),
        ..own(Law::function(|t, _, _, tau| tau[0] = 2.2 * t))
    };
    for integrator in [
        explicit(1e-10),
        Integrator::Fixed {
            method: FixedMethod::RungeKutta4,
            step: 0.007,
        },
    ] {
        let options = options(integrator, 1.0, 0.1);
        let run = simulation(&model, &[0.0], &[0.0], inputs.clone(), options);
        let (samples, run) = to_the_end(run).unwrap();
        let events = run.events();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].name, "axle slips");
        assert!((events[0].time - 0.5).abs() < 1e-12, "{events:?}");
        // accelerations (τ − 1) / I from 0.5 s on, each for a tenth of a second
        let v: f64 = (5..10)
            .map(|k| 0.1 * (0.22 * f64::from(k) - 1.0) / INERTIA)
            .sum();
        let found: Vec<f64> = samples.iter().map(|sample| sample.state.v[0]).collect();
        assert!(
            (found[10] - v).abs() < 1e-9,
            "{integrator:?}: {found:?}, {v}"
        );
        expect_clean(&run.finish());
    }
}

/// A run that continues from a checkpoint has the same bits, and the same account of its actuators.
#[test]
fn resume_gives_the_same_bits() {
    let model = drive(Some(1.0), 0.01);
    let start = State::new(&model, &[0.5], &[0.0]).unwrap();
    let law = Law::with_state(&[0.0], |_, q, v, state, tau| {
        state[0] += 0.01 * q[0];
        tau[0] = -9.0 * q[0] - 0.5 * v[0] - 4.0 * state[0];
    });
    for integrator in [
        explicit(1e-9),
        bdf(1e-8),
        Integrator::Fixed {
            method: FixedMethod::RungeKutta4,
            step: 0.003,
        },
    ] {
        let make = |law: &Law| {
            let inputs = Inputs {
                actuators: Some(model.actuators()),
                rate: Some(100.0),
                ..own(law.clone())
            };
            let options = options(integrator, 2.0, 0.015_625);
            Simulation::new(&model, &start, inputs, Vec::new(), options).unwrap()
        };
        let (whole, run) = to_the_end(make(&law)).unwrap();
        let uses = run.actuator_uses().to_vec();
        let audit = run.finish();
        let mut first = make(&law);
        let mut samples = Vec::new();
        while samples.len() < 50 {
            first.advance(&mut samples).unwrap();
        }
        let checkpoint = first.checkpoint();
        let mut second = make(&law);
        second.restore(&checkpoint).unwrap();
        while !second.finished() {
            second.advance(&mut samples).unwrap();
        }
        assert_eq!(samples, whole, "{integrator:?}");
        assert_eq!(second.actuator_uses(), uses);
        assert!(uses[0].saturated > 0.1);
        assert_eq!(format!("{:?}", second.finish()), format!("{audit:?}"));

        // a closure keeps its state to itself
        let mut calls = 0;
        let closure = Law::new(move |_: f64, _: &[f64], _: &[f64], tau: &mut [f64]| {
            calls += 1;
            tau[0] = f64::from(calls % 2);
        });
        let mut run = make(&closure);
        for _ in 0..30 {
            run.advance(&mut samples).unwrap();
        }
        let checkpoint = run.checkpoint();
        let error = make(&closure).restore(&checkpoint).unwrap_err();
        assert_eq!(
            error.message(),
            "the run cannot be resumed: its controller keeps a state that was not saved"
        );
    }
}

/// A pendulum with a motor in its joint, an IMU at its tip and a load cell in its joint.
fn measured_pendulum(lag: f64) -> Model {
    let mut builder = ModelBuilder::new("pendulum");
    builder.link(
        "rod",
        Inertial {
            mass: 1.3,
            centre: Vec3::new(0.4, 0.1, 0.0),
            tensor: Sym3::new(0.02, 0.05, 0.06, 0.0, 0.0, 0.0),
        },
    );
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    builder.joint(JointSpec::new("pivot", JointKind::Revolute, "world", "rod"));
    builder.actuators.push(ActuatorSpec {
        lag,
        ..ActuatorSpec::new("motor", "pivot")
    });
    let imu = SensorRule::Imu {
        frame: "rod".into(),
    };
    let cell = SensorRule::ForceTorque {
        joint: "pivot".into(),
        frame: None,
    };
    builder.sensors.push(SensorSpec::new("imu", imu));
    builder.sensors.push(SensorSpec::new("cell", cell));
    builder.build().unwrap()
}

/// What a controller saw at an instant: the time, and the numbers of both sensors.
type Seen = (f64, [[f64; 6]; 2]);

/// A run with a controller that feeds sensors back, and what it saw.
fn seen_by_a_controller(model: &Model) -> (Vec<Sample>, Vec<Seen>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let book = Arc::clone(&seen);
    let law = Law::with_sensors(move |t, _, sensors, tau| {
        let [imu, cell] = [sensors.of("imu")?, sensors.of("cell")?];
        book.lock().unwrap().push((t, [imu, cell]));
        tau[0] = 0.3 * cell[1] - 0.8 * imu[2] + (5.0 * t).sin();
        Ok(())
    });
    let inputs = Inputs {
        actuators: Some(model.actuators()),
        rate: Some(50.0),
        ..own(law)
    };
    let options = options(explicit(1e-10), 1.0, 0.02);
    let (samples, run) = to_the_end(simulation(model, &[0.4], &[0.2], inputs, options)).unwrap();
    expect_clean(&run.finish());
    let seen = seen.lock().unwrap().clone();
    (samples, seen)
}

/// With a lag efforts do not jump: what the controller saw at an instant is what a record of that instant has.
#[test]
fn a_controller_sees_what_is_recorded() {
    let model = measured_pendulum(0.05);
    let (samples, seen) = seen_by_a_controller(&model);
    let mut dynamics = Dynamics::new(&model);
    let mut compared = 0;
    for sample in &samples {
        let Some((_, seen)) = seen.iter().find(|(t, _)| (t - sample.time).abs() < 1e-12) else {
            continue;
        };
        let recorded = (dynamics.measure(&sample.state, &sample.vdot, &sample.external)).unwrap();
        for (seen, recorded) in seen.iter().zip(&recorded) {
            for (seen, recorded) in seen.iter().zip(recorded) {
                assert!((seen - recorded).abs() < 1e-11, "{}", sample.time);
            }
        }
        compared += 1;
    }
    assert!(compared >= 50, "{compared}");
}

/// Without a lag it sees what its command before causes, at first none.
#[test]
fn a_controller_sees_what_its_last_command_causes() {
    let model = measured_pendulum(0.0);
    let (samples, seen) = seen_by_a_controller(&model);
    let mut dynamics = Dynamics::new(&model);
    let mut before = 0.0;
    for (sample, (t, seen)) in samples.iter().zip(&seen) {
        assert!((sample.time - t).abs() < 1e-12);
        let vdot = dynamics
            .forward(&sample.state, &[before], &[])
            .unwrap()
            .to_vec();
        let wanted = dynamics.measure(&sample.state, &vdot, &[]).unwrap();
        for (seen, wanted) in seen.iter().flatten().zip(wanted.iter().flatten()) {
            assert!((seen - wanted).abs() < 1e-11, "{t} s: {seen} {wanted}");
        }
        before = sample.tau[0];
    }
    assert!(seen.len() >= 50);
}

#[test]
fn sensors_need_a_rate_and_a_name() {
    let model = measured_pendulum(0.0);
    let start = State::new(&model, &[0.4], &[0.2]).unwrap();
    for (rate, name, wanted) in [
        (None, "imu", "a continuous controller cannot use sensors"),
        (Some(50.0), "gyro", "model `pendulum` has no sensor `gyro`"),
    ] {
        let law = Law::with_sensors(move |_, _, sensors, _| sensors.of(name).map(|_| ()));
        let inputs = Inputs { rate, ..own(law) };
        let options = options(explicit(1e-8), 1.0, 0.1);
        let made = Simulation::new(&model, &start, inputs, Vec::new(), options);
        let error = made.and_then(|mut run| {
            let mut samples = Vec::new();
            while !run.finished() {
                run.advance(&mut samples)?;
            }
            Ok(())
        });
        let error = error.unwrap_err();
        assert!(error.message().contains(wanted), "{}", error.message());
    }
}

/// Damping on next to no inertia is found, with its freedom and its rate.
#[test]
fn stiff_damping_is_named() {
    let mut builder = wheel();
    builder.joints[0].dofs = vec![Dof {
        damping: 2.0,
        ..Dof::default()
    }];
    let model = builder.build().unwrap();
    let found = fastest_damping(&model, &State::neutral(&model))
        .unwrap()
        .unwrap();
    assert_eq!(found.name, "axle");
    assert!((found.rate - 2.0 / INERTIA).abs() < 1e-12);
    assert!((found.inertia - INERTIA).abs() < 1e-15);
    assert!(!found.is_stiff(10.0) && found.is_stiff(1e6));
    let loose = wheel().build().unwrap();
    assert_eq!(
        fastest_damping(&loose, &State::neutral(&loose)).unwrap(),
        None
    );
}

/// A chain's equations of motion, counted.
struct Counted {
    dynamics: Dynamics,
    count: Arc<AtomicUsize>,
}

impl EquationsOfMotion for Counted {
    fn solve(
        &mut self,
        _time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        accelerations: &mut [f64],
        _multipliers: &mut [f64],
    ) -> Result<()> {
        self.count.fetch_add(1, Ordering::Relaxed);
        accelerations.copy_from_slice(self.dynamics.forward(state, tau, external)?);
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn EquationsOfMotion> {
        Box::new(Counted {
            dynamics: self.dynamics.clone(),
            count: Arc::clone(&self.count),
        })
    }
}

/// The dynamics of a plain tree under a sampled controller are evaluated at the stages of the steps, at samples, and for the halves of the
/// steps that the audit examines (100, then one in ten up to 400, then one in twenty): not for powers, nor for modes of friction where there is none.
#[test]
fn a_sampled_controller_costs_no_evaluations() {
    let model = embedded::model("chain-7").unwrap();
    for (method, stages) in [
        (FixedMethod::RungeKutta4, 4),
        (FixedMethod::SemiImplicitEuler, 1),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let equations = Counted {
            dynamics: Dynamics::new(&model),
            count: Arc::clone(&count),
        };
        let mut inputs = own(Law::function(|_, _, v, tau| {
            tau.iter_mut().zip(v).for_each(|(tau, v)| *tau = -v);
        }));
        inputs.rate = Some(1000.0);
        let options = SimulationOptions {
            integrator: Integrator::Fixed { method, step: 1e-3 },
            duration: 1.0,
            interval: 1.0,
        };
        let start = State::new(&model, &[0.3; 7], &[0.0; 7]).unwrap();
        let simulation = Simulation::with_equations(
            &model,
            &start,
            inputs,
            Vec::new(),
            options,
            Drift::default(),
            Box::new(equations),
        );
        let (samples, simulation) = to_the_end(simulation.unwrap()).unwrap();
        assert_eq!(samples.len(), 2);
        let (steps, examined) = (simulation.finish().steps as usize, 160);
        let most = stages * (steps + 2 * examined) + 10;
        let count = count.load(Ordering::Relaxed);
        assert!(
            count <= most,
            "{method:?}: {count} evaluations, at most {most}"
        );
    }
}
