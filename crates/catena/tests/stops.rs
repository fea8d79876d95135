//! Joint limits that hold: impacts, rest, leaving and soft stops, against closed forms.

use catena::ClosedChain;
use catena::integrate::{FixedMethod, Method};
use catena::model::embedded;
use catena::model::{ConstraintSpec, Dof, Inertial, JointKind, JointSpec, RuleSpec};
use catena::simulate::{
    Controller, Inputs, Integrator, Simulation, SimulationOptions, Stop, StopKind, Table,
};
use catena::spatial::{Sym3, Vec3};
use catena::{Model, ModelBuilder, State};
use catena_testing::random_closed;
use catena_testing::runs::{Done, adaptive, bdf, forty_samples, try_run};

const GRAVITY: f64 = 9.81;

fn fixed(method: FixedMethod, step: f64) -> Integrator {
    Integrator::Fixed { method, step }
}

/// With a stop at every limit of the model.
fn run(model: &Model, state: &State, inputs: Inputs, options: SimulationOptions) -> Done {
    let inputs = Inputs {
        stops: Stop::all(model),
        ..inputs
    };
    try_run(model, state, inputs, options).expect("it moves on")
}

fn start(model: &Model, q: &[f64], v: &[f64]) -> State {
    State::new(model, q, v).expect("finite")
}

fn efforts(times: Vec<f64>, rows: Vec<Vec<f64>>) -> Inputs {
    Inputs {
        controller: Controller::Table(Table::new(times, rows).expect("sound")),
        ..Inputs::default()
    }
}

fn limited(low: f64, high: f64, restitution: f64) -> Dof {
    Dof {
        limits: Some((low, high)),
        restitution,
        ..Dof::default()
    }
}

/// A ball of 2 kg that moves up and down.
fn ball(dof: Dof) -> Model {
    let mut builder = ModelBuilder::new("ball");
    builder.gravity = Vec3::new(0.0, 0.0, -GRAVITY);
    builder.link(
        "ball",
        Inertial {
            mass: 2.0,
            ..Default::default()
        },
    );
    let mut joint = JointSpec::new("height", JointKind::Prismatic, "world", "ball");
    joint.dofs = vec![dof];
    builder.joint(joint);
    builder.build().expect("sound")
}

/// A rod of 1 kg with its centre 0.5 m below a hinge; inertia about it 0.35 kg·m².
fn pendulum(dof: Dof) -> Model {
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
    joint.dofs = vec![dof];
    builder.joint(joint);
    builder.build().expect("sound")
}

/// Square of the small-amplitude frequency of that pendulum.
const STIFF: f64 = 0.5 * GRAVITY / 0.35;

/// A ball that bounces: impacts at √(2h/g) + 2 v (e + e² + …)/g, v = √(2gh). Every method is exact for a constant acceleration (not semi-implicit
/// Euler), and the times are found to round-off.
#[test]
fn a_ball_bounces_at_the_exact_times() {
    let (h, e) = (0.7f64, 0.83f64);
    let model = ball(limited(0.25, f64::INFINITY, e));
    let state = start(&model, &[0.25 + h], &[0.0]);
    let speed = (2.0 * GRAVITY * h).sqrt();
    for integrator in [
        adaptive(Method::Dop853, 1e-10),
        adaptive(Method::Verner9, 1e-6),
        adaptive(Method::Tsitouras5, 1e-10),
        adaptive(Method::DormandPrince5, 1e-10),
        adaptive(Method::Verner6, 1e-10),
        fixed(FixedMethod::RungeKutta4, 0.017),
        fixed(FixedMethod::ImplicitMidpoint, 0.017),
    ] {
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(integrator, 3.9),
        );
        let times = done.times_of("height strikes its lower limit");
        assert!(times.len() >= 10, "{integrator:?}: {times:?}");
        let (mut time, mut v) = (speed / GRAVITY, speed);
        let mut lost = 0.0;
        for (k, found) in times.iter().enumerate() {
            assert!(
                (found - time).abs() < 1e-12,
                "{integrator:?} {k}: {found} {time}"
            );
            lost += v * v - (e * v).powi(2);
            v *= e;
            time += 2.0 * v / GRAVITY;
        }
        // m/2 (v² − e²v²) of each
        let [stop] = &done.audit.stops[..] else {
            panic!("{:?}", done.audit);
        };
        assert_eq!(stop.impacts as usize, times.len());
        assert!((stop.lost - lost).abs() < 1e-11, "{} {lost}", stop.lost);
        assert!((stop.hardest - speed).abs() < 1e-12);
        assert!((done.audit.dissipated - lost).abs() < 1e-11);
        assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
        assert!(done.audit.findings[0].worst < 1e-12, "{:?}", done.audit);
        assert!(done.samples.iter().all(|s| s.state.q[0] >= 0.25 - 1e-14));
    }
}

/// ∫ dφ/√(1 − k² sin²φ) from a to b, by Gauss's rule in 64 parts.
fn elliptic(k: f64, a: f64, b: f64) -> f64 {
    let nodes = [
        (0.0, 128.0 / 225.0),
        (
            (5.0 - 2.0 * (10f64 / 7.0).sqrt()).sqrt() / 3.0,
            (322.0 + 13.0 * 70f64.sqrt()) / 900.0,
        ),
        (
            (5.0 + 2.0 * (10f64 / 7.0).sqrt()).sqrt() / 3.0,
            (322.0 - 13.0 * 70f64.sqrt()) / 900.0,
        ),
    ];
    let parts = 64;
    let half = 0.5 * (b - a) / f64::from(parts);
    let mut sum = 0.0;
    for part in 0..parts {
        let middle = a + half * f64::from(2 * part + 1);
        for (x, weight) in nodes {
            for side in if x == 0.0 { vec![0.0] } else { vec![-x, x] } {
                let s = k * (middle + half * side).sin();
                sum += weight / (1.0 - s * s).sqrt();
            }
        }
    }
    sum * half
}

/// A pendulum with the amplitude m passes an angle between its lowest point and m, on its way down, a time after its turning point.
fn time_from_turn(angle: f64, amplitude: f64) -> f64 {
    let k = (0.5 * amplitude).sin();
    let phi = ((0.5 * angle).sin() / k).asin();
    elliptic(k, phi, std::f64::consts::FRAC_PI_2) / STIFF.sqrt()
}

/// A pendulum falls against a wall below its lowest point, and leaves with a fraction e of its speed: ω² = 2 s (cos θ − cos m), s = m g l / I. Times by
/// elliptic integrals.
#[test]
fn a_pendulum_bounces_at_the_exact_times() {
    let (wall, first, e) = (0.3f64, 2.0f64, 0.7f64);
    let model = pendulum(limited(wall, 3.0, e));
    let state = start(&model, &[first], &[0.0]);
    let mut expected = Vec::new();
    let (mut time, mut amplitude) = (time_from_turn(wall, first), first);
    for _ in 0..6 {
        expected.push(time);
        let squared = 2.0 * STIFF * (wall.cos() - amplitude.cos()) * e * e;
        amplitude = (wall.cos() - squared / (2.0 * STIFF)).acos();
        time += 2.0 * time_from_turn(wall, amplitude);
    }
    for method in [Method::Verner9, Method::Dop853] {
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(adaptive(method, 1e-14), expected[5] + 0.01),
        );
        let times = done.times_of("hinge strikes its lower limit");
        assert_eq!(times.len(), 6, "{:?}", done.events);
        for (found, time) in times.iter().zip(&expected) {
            assert!((found - time).abs() < 1e-12, "{method}: {found} {time}");
        }
        assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
    }
}

/// A pendulum rests against a wall until a growing effort c t lifts it: at t = m g l sin θ / c. All methods, and bdf.
#[test]
fn a_pendulum_leaves_its_wall_when_the_load_reverses() {
    let wall = 0.4f64;
    let model = pendulum(limited(wall, 2.0, 0.0));
    let state = start(&model, &[wall], &[0.0]);
    let c = 1.3;
    let weight = 0.5 * GRAVITY * wall.sin();
    let leaves = weight / c;
    for integrator in [
        adaptive(Method::Dop853, 1e-9),
        adaptive(Method::Tsitouras5, 1e-6),
        adaptive(Method::Verner9, 1e-9),
        fixed(FixedMethod::RungeKutta4, 0.013),
        fixed(FixedMethod::ImplicitMidpoint, 0.013),
        fixed(FixedMethod::SemiImplicitEuler, 0.013),
        bdf(1e-8),
    ] {
        let inputs = efforts(vec![0.0, 4.0], vec![vec![0.0], vec![4.0 * c]]);
        let done = run(&model, &state, inputs, forty_samples(integrator, 2.0));
        let names: Vec<&str> = done.events.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["hinge leaves its lower limit"], "{integrator:?}");
        let time = done.events[0].time;
        assert!((time - leaves).abs() < 1e-12, "{integrator:?}: {time}");
        for sample in &done.samples {
            if sample.time < leaves {
                assert_eq!(sample.state, state, "{integrator:?}");
                let held = weight - c * sample.time;
                assert!((sample.stops[0] - held).abs() < 1e-12, "{integrator:?}");
            } else {
                assert_eq!(sample.stops[0], 0.0);
            }
        }
        assert!(done.last().state.q[0] > wall + 1e-3, "{integrator:?}");
        let [stop] = &done.audit.stops[..] else {
            panic!("{:?}", done.audit);
        };
        assert_eq!((stop.impacts, stop.rests), (0, 1));
        assert!((stop.duration - leaves).abs() < 1e-12);
        let is_first_order =
            matches!(integrator, Integrator::Fixed { method, .. } if method.order() == 1);
        assert!(
            is_first_order || done.audit.breaches().count() == 0,
            "{:?}",
            done.audit
        );
    }
}

/// Impacts accumulate at t = √(2h/g) (1 + e)/(1 − e): there the ball is at rest, all its energy is lost, and the run continues.
#[test]
fn an_accumulation_of_impacts_ends_in_rest() {
    let h = 0.5f64;
    for e in [0.1f64, 0.5, 0.9, 0.98] {
        for floor in [0.0, -1.5, 1e-3] {
            let model = ball(limited(floor, 10.0, e));
            let state = start(&model, &[floor + h], &[0.0]);
            let fall = (2.0 * h / GRAVITY).sqrt();
            let end = fall * (1.0 + e) / (1.0 - e);
            for integrator in [
                adaptive(Method::Dop853, 1e-8),
                fixed(FixedMethod::RungeKutta4, 0.02),
                bdf(1e-7),
            ] {
                let is_bdf = matches!(integrator, Integrator::Bdf { .. });
                if is_bdf && e > 0.6 {
                    continue; // the same, slower
                }
                let done = run(
                    &model,
                    &state,
                    Inputs::default(),
                    forty_samples(integrator, 1.25 * end),
                );
                let rests = done.times_of("height rests against its lower limit");
                // a flight of 1e-14 m takes 1e-7 s; those left out take that over 1 − e
                let allowed = if is_bdf { 1e-5 } else { 3e-7 / (1.0 - e) };
                assert_eq!(rests.len(), 1, "{e} {floor} {integrator:?}");
                assert!(
                    (rests[0] - end).abs() < allowed,
                    "{e} {floor}: {} {end}",
                    rests[0]
                );
                let last = done.last();
                assert_eq!((last.state.q[0], last.state.v[0]), (floor, 0.0));
                assert!((last.stops[0] - 2.0 * GRAVITY).abs() < 1e-12);
                let [stop] = &done.audit.stops[..] else {
                    panic!("{:?}", done.audit);
                };
                let all = 2.0 * GRAVITY * h;
                let accuracy = if is_bdf { 1e-5 } else { 1e-11 };
                assert!((stop.lost - all).abs() < accuracy * all, "{e} {floor}");
                assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
            }
        }
    }
}

/// Two carts in a row, the second on the first, strike their limits at once: v⁺ from (1) and (2) of `impact.rs` by hand. The mobility is
/// A = [1/m₁, −1/m₁; −1/m₁, 1/m₁ + 1/m₂].
fn carts(limits: [Option<(f64, f64)>; 2], restitution: [f64; 2]) -> Model {
    let mut builder = ModelBuilder::new("carts");
    builder.gravity = Vec3::zero();
    for (i, (name, mass, parent)) in [("cart", 3.0, "world"), ("block", 2.0, "cart")]
        .into_iter()
        .enumerate()
    {
        builder.link(
            name,
            Inertial {
                mass,
                ..Default::default()
            },
        );
        let mut joint = JointSpec::new(&format!("{name}-rail"), JointKind::Prismatic, parent, name);
        joint.dofs = vec![Dof {
            limits: limits[i],
            restitution: restitution[i],
            ..Dof::default()
        }];
        builder.joint(joint);
    }
    builder.build().expect("sound")
}

#[test]
fn several_impacts_at_once_follow_the_hand_computation() {
    let both = [Some((0.0, 9.0)), Some((0.0, 9.0))];
    for ([e1, e2], [u1, u2]) in [
        ([0.0, 0.0], [-1.0, -2.0]),
        ([0.5, 0.5], [-1.0, -2.0]),
        ([0.2, 0.9], [-1.0, -2.0]),
        ([0.9, 0.2], [-2.0, -0.5]),
    ] {
        let model = carts(both, [e1, e2]);
        // both arrive after 0.5 s
        let state = start(&model, &[-0.5 * u1, -0.5 * u2], &[u1, u2]);
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(adaptive(Method::Dop853, 1e-12), 0.6),
        );
        // A p = −(1 + e) u where both p are positive
        let (m1, m2) = (3.0, 2.0);
        let (b1, b2) = (-(1.0 + e1) * u1, -(1.0 + e2) * u2);
        let p2 = m2 * (b1 + b2);
        let p1 = m1 * b1 + p2;
        assert!(p1 > 0.0 && p2 > 0.0);
        let lost = -0.5 * (p1 * (1.0 - e1) * u1 + p2 * (1.0 - e2) * u2);
        let v = &done.last().state.v;
        assert!((v[0] + e1 * u1).abs() < 1e-12, "{v:?}");
        assert!((v[1] + e2 * u2).abs() < 1e-12, "{v:?}");
        assert!((done.audit.dissipated - lost).abs() < 1e-12);
        assert!(lost > 0.0);
        assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
        for event in done.events.iter().filter(|e| e.name.contains("strikes")) {
            assert!((event.time - 0.5).abs() < 1e-13, "{event:?}");
        }
    }
    // the cart rests against its limit, the block arrives at its lower one: p₂ = m₂ u (1 + e) on the cart holds it down, and the
    // upper one: the cart is dragged off. With the momentum: m₁ v₁ = p₂, v₂ + e u = 0, m₂ (v₁ + v₂) = m₂ u − p₂
    let e = 0.6;
    let model = carts([Some((0.0, 9.0)), Some((-1.0, 1.0))], [0.3, e]);
    let run_with = |u: f64| {
        let state = start(&model, &[0.0, 0.0], &[0.0, u]);
        run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(adaptive(Method::Dop853, 1e-12), 0.75),
        )
    };
    let done = run_with(-2.0);
    assert_eq!(done.last().state.v, [0.0, 1.2]);
    assert_eq!(done.last().state.q[0], 0.0);
    assert!((done.audit.dissipated - 0.5 * 2.0 * (4.0 - 1.44)).abs() < 1e-12);
    let done = run_with(2.0);
    let v1 = 2.0 * 2.0 * (1.0 + e) / 5.0;
    let v = &done.last().state.v;
    assert!(
        (v[0] - v1).abs() < 1e-12 && (v[1] + e * 2.0).abs() < 1e-12,
        "{v:?}"
    );
    let energy = 0.5 * 3.0 * v1 * v1 + 0.5 * 2.0 * (v1 - 1.2f64).powi(2);
    assert!((done.audit.dissipated - (4.0 - energy)).abs() < 1e-12);
}

/// At rest against a stop with friction on the same freedom, both act together: the load must exceed the friction to lift the ball, and
/// friction holds it nowhere else.
#[test]
fn friction_and_a_stop_hold_together() {
    let level = 4.0;
    let model = ball(Dof {
        friction: level,
        ..limited(0.0, 5.0, 0.0)
    });
    let state = start(&model, &[0.0], &[0.0]);
    let c = 10.0;
    let inputs = efforts(vec![0.0, 10.0], vec![vec![0.0], vec![10.0 * c]]);
    let leaves = (2.0 * GRAVITY + level) / c;
    for integrator in [adaptive(Method::Dop853, 1e-9), bdf(1e-8)] {
        let done = run(
            &model,
            &state,
            inputs.clone(),
            forty_samples(integrator, 3.0),
        );
        let names: Vec<&str> = done.events.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["height leaves its lower limit"]);
        assert!((done.events[0].time - leaves).abs() < 1e-12);
        for sample in &done.samples {
            let load = 2.0 * GRAVITY - c * sample.time;
            if sample.time < leaves {
                assert!((sample.stops[0] + sample.friction[0] - load).abs() < 1e-12);
                assert!(sample.stops[0] >= 0.0 && sample.friction[0].abs() <= level);
            }
        }
        assert!(done.audit.held.is_empty(), "{:?}", done.audit.held);
        assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
    }
    // dropped: it strikes with v² = 2 h (g − f/m)
    let state = start(&model, &[1.0], &[-1e-300]);
    let done = run(
        &model,
        &state,
        Inputs::default(),
        forty_samples(adaptive(Method::Dop853, 1e-10), 2.0),
    );
    let pull = GRAVITY - level / 2.0;
    let [time] = done.times_of("height strikes its lower limit")[..] else {
        panic!("{:?}", done.events);
    };
    assert!((time - (2.0 / pull).sqrt()).abs() < 1e-12);
    assert!((done.audit.stops[0].lost - 2.0 * pull).abs() < 1e-9);
    assert!((done.audit.dissipated - 2.0 * GRAVITY).abs() < 1e-8);
}

/// A ball on a soft stop: from touching to leaving it is a damped oscillator. Without damping the contact takes π/ω + 2 atan(g/(ω v))/ω and no
/// energy is lost; with damping it ends where the push is zero, before the ball is back at the limit.
#[test]
fn a_soft_stop_follows_its_closed_form() {
    let (h, stiffness) = (0.3f64, 5e3);
    let speed = (2.0 * GRAVITY * h).sqrt();
    let touch = speed / GRAVITY;
    let omega = (stiffness / 2.0f64).sqrt();
    let soft = |damping: f64| {
        ball(Dof {
            limits: Some((0.0, f64::INFINITY)),
            stop_stiffness: stiffness,
            stop_damping: damping,
            ..Dof::default()
        })
    };
    let integrators = [
        adaptive(Method::Dop853, 1e-12),
        adaptive(Method::Tsitouras5, 1e-11),
        fixed(FixedMethod::RungeKutta4, 1e-4),
        bdf(1e-9),
    ];
    for integrator in integrators {
        let allowed = match integrator {
            Integrator::Adaptive { .. } => 1e-9,
            _ => 1e-5,
        };
        let model = soft(0.0);
        let state = start(&model, &[h], &[0.0]);
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(integrator, 1.0),
        );
        let leave =
            touch + (std::f64::consts::PI + 2.0 * (GRAVITY / (omega * speed)).atan()) / omega;
        let [touched, ..] = done.times_of("height touches its lower limit")[..] else {
            panic!("{:?}", done.events);
        };
        let [left, ..] = done.times_of("height leaves its lower limit")[..] else {
            panic!("{:?}", done.events);
        };
        assert!(
            (touched - touch).abs() < allowed,
            "{integrator:?} {touched}"
        );
        assert!(
            (left - leave).abs() < allowed,
            "{integrator:?} {left} {leave}"
        );
        assert!(done.audit.dissipated.abs() < 1e-12);
        assert_eq!(
            done.audit.breaches().count(),
            0,
            "{integrator:?} {:?}",
            done.audit
        );
        assert!(done.samples.iter().all(|s| s.stops[0] >= 0.0));
        // with damping: p̈ + 2 δ ṗ + ω² p = g, p(0) = 0, ṗ(0) = v
        let damping = 60.0;
        let model = soft(damping);
        let done = run(
            &model,
            &state,
            Inputs::default(),
            forty_samples(integrator, 2.5),
        );
        let decay = damping / 4.0;
        let beat = (omega * omega - decay * decay).sqrt();
        let rest = GRAVITY / (omega * omega);
        let depth = |t: f64| {
            let (s, c) = (beat * t).sin_cos();
            let fade = (-decay * t).exp();
            let (a, b) = (-rest, (speed - decay * rest) / beat);
            let p = rest + fade * (a * c + b * s);
            let rate = fade * ((b * beat - decay * a) * c - (a * beat + decay * b) * s);
            (p, rate)
        };
        let push = |t: f64| {
            let (p, rate) = depth(t);
            stiffness * p + damping * rate
        };
        let (mut low, mut high) = (1e-6, std::f64::consts::PI / beat);
        assert!(push(low) > 0.0 && push(high) < 0.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            match push(middle) > 0.0 {
                true => low = middle,
                false => high = middle,
            }
        }
        let (deep, rate) = depth(low);
        assert!(deep > 0.0 && rate < 0.0);
        // then it flies: back at the limit at p = deep + rate t + g t²/2 = 0
        let flight = (-rate - (rate * rate - 2.0 * GRAVITY * deep).sqrt()) / GRAVITY;
        let leave = touch + low + flight;
        let [left, ..] = done.times_of("height leaves its lower limit")[..] else {
            panic!("{:?}", done.events);
        };
        assert!(
            (left - leave).abs() < allowed,
            "{integrator:?} {left} {leave}"
        );
        assert_eq!(
            done.audit.breaches().count(),
            0,
            "{integrator:?} {:?}",
            done.audit
        );
        // at last it stands on its spring
        let last = done.last();
        assert!((last.state.q[0] + rest).abs() < 1e-4, "{:?}", last.state);
        assert!(done.samples.iter().all(|s| s.stops[0] >= 0.0));
        let stored = last.energies[2];
        assert!((stored - 0.5 * stiffness * last.state.q[0].powi(2)).abs() < 1e-12);
    }
}

/// A mimic pair, both at their limits at once: the same motion is blocked twice. It rests, and leaves when the load reverses.
#[test]
fn limits_that_block_the_same_motion() {
    let mut builder = ModelBuilder::new("pair");
    builder.gravity = Vec3::new(0.0, 0.0, -GRAVITY);
    for name in ["a", "b"] {
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
        joint.dofs = vec![limited(-1.0, 0.5, 0.5)];
        builder.joint(joint);
    }
    builder.constraint(ConstraintSpec::new(
        "mimic",
        RuleSpec::Coupling {
            terms: vec![("ja".into(), 1.0), ("jb".into(), -1.0)],
            offset: 0.0,
        },
    ));
    let model = builder.build().expect("sound");
    let model = model.with_couplings_as_constraints();
    let torque = 2.0 * 0.1 * GRAVITY * 0.5f64.cos();
    for integrator in [
        adaptive(Method::Dop853, 1e-10),
        fixed(FixedMethod::RungeKutta4, 0.001),
        bdf(1e-8),
    ] {
        // against the weight from 3 s on, 1 N·m a second
        let rows = vec![vec![0.0; 2], vec![0.0; 2], vec![-7.0, 0.0]];
        let inputs = efforts(vec![0.0, 3.0, 10.0], rows);
        let state = start(&model, &[0.0; 2], &[0.0; 2]);
        let done = run(&model, &state, inputs, forty_samples(integrator, 6.0));
        for sample in &done.samples {
            assert!(sample.state.q.iter().all(|q| *q <= 0.5 + 1e-10));
        }
        let at = |t: f64| done.samples.iter().find(|s| s.time >= t).expect("in time");
        assert!((at(2.9).state.q[0] - 0.5).abs() < 1e-12, "{integrator:?}");
        assert!(at(2.9).state.v.iter().all(|v| v.abs() < 1e-12));
        let held: f64 = at(2.9).stops.iter().sum();
        assert!((held + torque).abs() < 1e-9, "{held} {torque}");
        let leaves = done.events.iter().rfind(|e| e.name.contains("leaves"));
        let leaves = leaves.expect("it leaves").time;
        assert!(
            (leaves - 3.0 - torque).abs() < 1e-9,
            "{integrator:?} {leaves}"
        );
        assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
    }
}

/// Limits that are one position lock a joint; what it carries moves on.
#[test]
fn equal_limits_lock_a_joint() {
    let model = carts([Some((0.5, 0.5)), Some((-1.0, 1.0))], [0.0, 1.0]);
    let state = start(&model, &[0.5, 0.0], &[0.0, 2.0]);
    let done = run(
        &model,
        &state,
        Inputs::default(),
        forty_samples(adaptive(Method::Dop853, 1e-10), 4.25),
    );
    for sample in &done.samples {
        assert_eq!((sample.state.q[0], sample.state.v[0]), (0.5, 0.0));
    }
    // to and fro between its limits, 2 m each way
    let strikes = done.events.iter().filter(|e| e.name.contains("strikes"));
    let times: Vec<f64> = strikes.map(|e| e.time).collect();
    assert_eq!(times.len(), 4, "{:?}", done.events);
    for (k, time) in times.iter().enumerate() {
        assert!((time - 0.5 - k as f64).abs() < 1e-12, "{times:?}");
    }
    assert!(done.audit.dissipated.abs() < 1e-12);
    let moving = start(&model, &[0.5, 0.0], &[1.0, 0.0]);
    let inputs = Inputs {
        stops: Stop::all(&model),
        ..Inputs::default()
    };
    let refused = try_run(&model, &moving, inputs, SimulationOptions::default()).err();
    let message = refused.expect("it is locked").to_string();
    assert!(
        message.contains("`cart-rail` moves at the start"),
        "{message}"
    );
}

/// Narrow limits around a start, and restitutions, some of them zero, where there are plain coordinates.
fn narrow(builder: &mut ModelBuilder, model: &Model, state: &State, seed: u64) {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut random = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 11) as f64 / (1u64 << 53) as f64
    };
    let tree = model.tree();
    for joint in &mut builder.joints {
        let Some(body) = tree.bodies[1..].iter().find(|b| b.joint == joint.name) else {
            continue;
        };
        let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
        let freedoms = joint.kind.freedoms().len();
        joint.dofs.resize(freedoms, Dof::default());
        for (k, dof) in joint.dofs.iter_mut().enumerate().take(plain) {
            let q = state.q[body.q + k];
            dof.limits = Some((q - 0.3 * random() - 1e-3, q + 0.3 * random() + 1e-3));
            dof.restitution = match random() < 0.4 {
                true => 0.0,
                false => 0.9 * random(),
            };
            dof.friction = match random() < 0.5 {
                true => 0.0,
                false => 0.3 * random(),
            };
        }
    }
}

/// A random tree or closed mechanism with stops and friction.
fn mechanism(seed: u64) -> Option<(Model, State)> {
    if seed.is_multiple_of(2) {
        let mut builder = embedded::builder(&format!("random-{}-{seed}", 2 + seed % 4)).ok()?;
        let model = builder.build().ok()?;
        let state = State::random(&model, seed);
        narrow(&mut builder, &model, &state, seed);
        return Some((builder.build().ok()?, state));
    }
    let size = 4 + seed as usize % 7;
    let (mut builder, mut state) = random_closed(size, 1 + seed as usize % 3, seed).ok()?;
    builder.constraints.retain(|c| c.name != "motor");
    let model = builder.build().ok()?;
    let mut chain = ClosedChain::new(&model);
    chain.project(0.0, &mut state).ok()?;
    let (rank, values) = chain.rank(0.0, &state).ok()?;
    let [largest, .., smallest] = values[..] else {
        return None;
    };
    if rank == model.nv() || smallest <= 1e-3 * largest {
        return None;
    }
    narrow(&mut builder, &model, &state, seed);
    Some((builder.build().ok()?, state))
}

/// 200 random mechanisms, half of them closed, with friction and stops at all limits: limits are kept to 1e-10, stops push and do
/// not pull, the balance of energy closes with the impacts in it.
#[test]
fn random_mechanisms_stay_within_their_limits() {
    let (mut seen, mut impacts, mut rests, mut closed) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    let mut worst = 0.0f64;
    for seed in 1..2000 {
        if seen == 200 {
            break;
        }
        let Some((model, state)) = mechanism(seed) else {
            continue;
        };
        let inputs = Inputs {
            stops: Stop::all(&model),
            ..Inputs::default()
        };
        let options = forty_samples(adaptive(Method::Dop853, 1e-7), 0.3);
        let done = match try_run(&model, &state, inputs, options.clone()) {
            Ok(done) => done,
            Err(error) => {
                // without stops it may fail, too: a singular position
                if try_run(&model, &state, Inputs::default(), options).is_ok() {
                    failures.push(format!("{seed}: {error}"));
                }
                continue;
            }
        };
        seen += 1;
        closed += usize::from(!model.constraints().is_empty());
        for stop in Stop::all(&model) {
            let body = &model.tree().bodies[model.tree().dofs[stop.freedom].body];
            let coordinate = body.q + stop.freedom - body.v;
            for sample in &done.samples {
                let q = sample.state.q[coordinate];
                let beyond = (stop.limits.0 - q).max(q - stop.limits.1);
                worst = worst.max(beyond);
                assert!(beyond < 1e-10, "{seed}: {beyond:e} at {} s", sample.time);
                let push = sample.stops[stop.freedom];
                let is_low = (q - stop.limits.0).abs() < 1e-9;
                let is_high = (q - stop.limits.1).abs() < 1e-9;
                assert!(push == 0.0 || is_low || is_high, "{seed}: {push}");
                assert!(push >= -1e-9 || is_high, "{seed}: {push}");
                assert!(push <= 1e-9 || is_low, "{seed}: {push}");
            }
        }
        let breaches: Vec<_> = done.audit.breaches().collect();
        assert!(breaches.is_empty(), "{seed}: {breaches:?}");
        for stop in &done.audit.stops {
            assert!(stop.lost >= 0.0, "{seed}: {stop:?}");
            impacts += stop.impacts;
            rests += stop.rests;
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    println!(
        "{seen} mechanisms, {closed} closed, {impacts} impacts, {rests} rests, beyond {worst:e}"
    );
    assert!(seen == 200 && closed > 60, "{seen} {closed}");
    assert!(impacts > 1000 && rests > 200, "{impacts} {rests}");
}

/// Trees and closed chains, stopped, checkpointed and taken up again: the same bits, events and audit.
#[test]
fn a_restart_goes_on_with_its_stops() {
    let mut models: Vec<(Model, State)> = Vec::new();
    models.extend([22, 25, 31, 32].into_iter().filter_map(mechanism));
    let soft = ball(Dof {
        limits: Some((0.0, 2.0)),
        stop_stiffness: 900.0,
        stop_damping: 10.0,
        ..Dof::default()
    });
    let state = start(&soft, &[0.4], &[0.0]);
    models.push((soft, state));
    let bare = models.clone().into_iter();
    models.extend(bare.map(|(model, state)| (model.without_passive_forces(), state)));
    for (model, state) in &models {
        for integrator in [
            adaptive(Method::Dop853, 1e-8),
            fixed(FixedMethod::RungeKutta4, 0.01),
        ] {
            let inputs = Inputs {
                stops: Stop::all(model),
                ..Inputs::default()
            };
            let options = forty_samples(integrator, 0.5);
            let new = || {
                Simulation::new(model, state, inputs.clone(), Vec::new(), options.clone())
                    .expect("sound")
            };
            let done = try_run(model, state, inputs.clone(), options.clone()).expect("it runs");
            for at in [0.1, 0.3, 0.45] {
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
                assert_eq!(samples, done.samples, "{} {at}", model.name());
                assert_eq!(second.events(), done.events);
                assert_eq!(second.finish(), done.audit);
            }
        }
    }
}

/// A run that ends with an impact at the time of a sample ends with the velocity after it; one restored after that has ended, too, and
/// one restored from a time before has not ended.
#[test]
fn the_last_sample_follows_an_impact() {
    let model = carts([Some((-1.0, 1.0)), None], [0.5, 0.0]);
    let state = start(&model, &[0.0, 0.0], &[1.0, 0.0]);
    for integrator in [
        adaptive(Method::Dop853, 1e-8),
        fixed(FixedMethod::RungeKutta4, 0.125),
    ] {
        let new = || {
            let inputs = Inputs {
                stops: Stop::all(&model),
                ..Inputs::default()
            };
            let options = SimulationOptions {
                interval: 0.5,
                ..forty_samples(integrator, 2.0)
            };
            let mut run =
                Simulation::new(&model, &state, inputs, Vec::new(), options).expect("sound");
            run.end_at(vec!["cart-rail strikes its upper limit".into()])
                .expect("there is a stop");
            run
        };
        let (mut run, mut samples) = (new(), Vec::new());
        let at_start = run.checkpoint();
        while !run.finished() {
            run.advance(&mut samples).expect("it moves on");
        }
        let times: Vec<f64> = samples.iter().map(|sample| sample.time).collect();
        assert_eq!(times.len(), 3, "{times:?}");
        let last = &samples[2].state;
        assert!((times[2] - 1.0).abs() < 1e-12 && (last.q[0] - 1.0).abs() < 1e-12);
        assert!(
            (last.v[0] + 0.5).abs() < 1e-12,
            "{integrator:?}: {times:?} {:?} {:?}",
            last.v,
            run.ended_at()
        );
        assert_eq!(run.state().v, last.v);

        let mut other = new();
        other.restore(&run.checkpoint()).expect("its own");
        assert_eq!(other.ended_at(), run.ended_at());
        assert_eq!(other.state().v, run.state().v);
        other.advance(&mut samples).expect("nothing more");
        assert_eq!(samples.len(), 3);
        let mut again = new();
        again.restore(&run.checkpoint()).expect("its own");
        again.restore(&at_start).expect("its own");
        assert!(!again.finished() && again.time() == 0.0);
        assert_eq!(other.finish(), run.finish());
    }
}

/// What cannot be is refused, with the joint, the value and the limit.
#[test]
fn wrong_stops_are_refused() {
    let model = ball(limited(0.0, 1.0, 0.0));
    let refused = |state: &State, stop: Stop| {
        let inputs = Inputs {
            stops: vec![stop],
            ..Inputs::default()
        };
        let error = try_run(&model, state, inputs, SimulationOptions::default()).err();
        error.expect("refused").message().to_string()
    };
    let rigid = |restitution| Stop {
        freedom: 0,
        limits: (0.0, 1.0),
        kind: StopKind::Rigid { restitution },
    };
    let inside = start(&model, &[0.5], &[0.0]);
    assert_eq!(
        refused(&start(&model, &[-0.25], &[0.0]), rigid(0.0)),
        "joint `height` starts at -0.25 m, below its lower limit of 0 m, which is a rigid stop"
    );
    assert_eq!(
        refused(&start(&model, &[1.5], &[0.0]), rigid(0.0)),
        "joint `height` starts at 1.5 m, above its upper limit of 1 m, which is a rigid stop"
    );
    assert_eq!(
        refused(&inside, rigid(1.5)),
        "the restitution of `height` must be from 0 to 1, not 1.5"
    );
    assert_eq!(
        refused(&inside, rigid(f64::NAN)),
        "the restitution of `height` must be from 0 to 1, not NaN"
    );
    let soft = |stiffness, damping| Stop {
        kind: StopKind::Soft { stiffness, damping },
        ..rigid(0.0)
    };
    assert_eq!(
        refused(&inside, soft(0.0, 1.0)),
        "the soft stop of `height` needs a positive stiffness, not 0"
    );
    assert_eq!(
        refused(&inside, soft(1.0, -1.0)),
        "the damping of the soft stop of `height` must not be negative, not -1"
    );
    let reversed = Stop {
        limits: (1.0, 0.0),
        ..rigid(0.0)
    };
    assert_eq!(
        refused(&inside, reversed),
        "the stop of `height`: lower limit 1 is above upper limit 0"
    );
    let elsewhere = Stop {
        freedom: 3,
        ..rigid(0.0)
    };
    assert_eq!(
        refused(&inside, elsewhere),
        "a stop acts on freedom 3, and there are 1"
    );
    // a start beyond a soft stop is a start with its spring pressed
    let inputs = Inputs {
        stops: vec![soft(1e3, 10.0)],
        ..Inputs::default()
    };
    let pressed = start(&model, &[-0.01], &[0.0]);
    let done = try_run(
        &model,
        &pressed,
        inputs,
        forty_samples(adaptive(Method::Dop853, 1e-8), 0.5),
    );
    let done = done.expect("it is pressed");
    assert!((done.samples[0].stops[0] - 10.0).abs() < 1e-12);
    assert_eq!(done.audit.breaches().count(), 0, "{:?}", done.audit);
}
