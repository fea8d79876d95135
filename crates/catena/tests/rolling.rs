//! Rolling, knife edges and rows on velocities: their rows against differences, closed forms of the field, energy, and what is refused.

use catena::ClosedChain;
use catena::algorithm::constrained::{Axes, Route, Stabilisation, UserConstraint, UserRows};
use catena::algorithm::kinematics::Kinematics;
use catena::integrate::{Method, Tolerances};
use catena::model::{
    ConstraintSpec, ContactSpec, Inertial, JointKind, JointSpec, ModelBuilder, RuleSpec, Surface,
    embedded,
};
use catena::random::Random;
use catena::simulate::{Audit, Drift, Inputs, Integrator, Simulation, SimulationOptions};
use catena::spatial::{Sym3, Vec3};
use catena::{Model, State};
use std::sync::Arc;

fn model(name: &str) -> Model {
    embedded::model(name).expect("embedded")
}

fn ball() -> Inertial {
    Inertial {
        mass: 0.7,
        centre: Vec3::new(0.01, 0.02, -0.03),
        tensor: Sym3::new(0.02, 0.03, 0.025, 0.001, 0.0, -0.002),
    }
}

/// The disk of the embedded model on a free joint.
fn free_disk() -> Model {
    let mut builder = ModelBuilder::new("free-disk");
    let across = 0.125;
    builder.link(
        "disk",
        Inertial {
            mass: 2.0,
            centre: Vec3::zero(),
            tensor: Sym3::new(across, 2.0 * across, across, 0.0, 0.0, 0.0),
        },
    );
    builder.joint(JointSpec {
        start: vec![0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0],
        start_velocity: vec![3.0, 0.0, 0.0, 0.0, 6.0, 0.0],
        ..JointSpec::new("disk_joint", JointKind::Free, "world", "disk")
    });
    let wheel = ContactSpec::wheel("disk", Vec3::new(0.0, 1.0, 0.0), 0.5);
    builder.constraint(ConstraintSpec::new(
        "ground",
        RuleSpec::Contact(Box::new(wheel)),
    ));
    builder.build().expect("sound")
}

/// A wheel and a sphere, both off their links' origins, and an edge, on a plane that is fixed in a moving link; and a row on velocities.
fn moving_plane() -> Model {
    let mut builder = ModelBuilder::new("moving-plane");
    for link in ["table", "wheel", "sphere", "cog"] {
        builder.link(link, ball());
    }
    for (joint, parent, child) in [
        ("table_joint", "world", "table"),
        ("wheel_joint", "world", "wheel"),
        ("sphere_joint", "table", "sphere"),
    ] {
        builder.joint(JointSpec::new(joint, JointKind::Free, parent, child));
    }
    // its axis stays parallel to z of the table
    let in_plane = JointSpec::new("cog_joint", JointKind::Planar, "table", "cog");
    builder.joint(in_plane);
    let plane = ContactSpec {
        parent: "table".into(),
        origin: Vec3::new(0.1, -0.2, 0.3),
        normal: Vec3::new(0.2, -0.3, 1.0),
        centre: Vec3::new(-0.1, 0.05, 0.2),
        ..ContactSpec::wheel("wheel", Vec3::new(0.3, 1.0, -0.2), 0.4)
    };
    let contact = |contact: ContactSpec| RuleSpec::Contact(Box::new(contact));
    let round = ContactSpec {
        child: "sphere".into(),
        axis: None,
        ..plane.clone()
    };
    for (k, (name, surface, axis)) in [
        ("ball", Surface::Sphere(0.6), None),
        ("bowl", Surface::Sphere(-0.9), None),
        ("roller", Surface::Cylinder(0.5), None),
    ]
    .into_iter()
    .enumerate()
    {
        let on = ContactSpec {
            surface,
            axis,
            centre: Vec3::new(0.1 * k as f64, 0.05, 0.2),
            ..plane.clone()
        };
        builder.constraint(ConstraintSpec::new(name, contact(on)));
    }
    let upright = Vec3::new(0.0, 0.0, 1.0);
    for (name, radius, centre) in [("gear", 0.5, 0.1), ("ring", -0.7, -0.2)] {
        let on = ContactSpec {
            parent: "table".into(),
            origin: Vec3::new(0.1, -0.2, 0.3),
            normal: upright,
            surface: Surface::Cylinder(radius),
            centre: Vec3::new(centre, 0.05, 0.2),
            ..ContactSpec::wheel("cog", upright, 0.4)
        };
        builder.constraint(ConstraintSpec::new(name, contact(on)));
    }
    builder.constraint(ConstraintSpec::new("wheel_rolls", contact(plane)));
    builder.constraint(ConstraintSpec::new("sphere_rolls", contact(round)));
    builder.constraint(ConstraintSpec::new(
        "edge",
        RuleSpec::KnifeEdge {
            parent: "sphere".into(),
            child: "wheel".into(),
            point: Vec3::new(0.3, 0.1, -0.2),
            across: Vec3::new(1.0, 2.0, 0.5),
        },
    ));
    builder.constraint(ConstraintSpec::new(
        "rates",
        RuleSpec::Velocity {
            terms: vec![
                ("wheel_joint.wx".into(), 0.7),
                ("sphere_joint.y".into(), -1.3),
            ],
            rate: 0.25,
        },
    ));
    builder.build().expect("sound")
}

/// ξ̇ is the rate of ξ, J v that of the rows, and J v̇ + bias the rate of ξ̇, along any motion, closed or not.
#[test]
fn rows_are_rates_of_each_other() {
    for (model, seeds) in [(moving_plane(), 1..6u64), (model("bicycle"), 6..9)] {
        let nv = model.nv();
        let mut chain = ClosedChain::new(&model);
        for seed in seeds {
            let mut random = Random::new(seed);
            let state = State::random(&model, seed);
            let a: Vec<f64> = (0..nv).map(|_| random.uniform(-1.0, 1.0)).collect();
            let h = 1e-5;
            let mut at = |t: f64| {
                let mut moved = state.clone();
                let step: Vec<f64> = (0..nv)
                    .map(|k| state.v[k] * t + 0.5 * a[k] * t * t)
                    .collect();
                moved.step(&model, &step);
                for (v, a) in moved.v.iter_mut().zip(&a) {
                    *v += a * t;
                }
                chain.rows(t, &moved).expect("finite").clone()
            };
            let [before, here, after] = [-h, 0.0, h].map(&mut at);
            let (mut along, mut second) = (vec![0.0; here.count()], vec![0.0; here.count()]);
            here.times(&state.v, &mut along);
            here.times(&a, &mut second);
            let mut row = 0;
            for constraint in model.constraints() {
                for k in 0..constraint.rows() {
                    let slope = (after.residual[row] - before.residual[row]) / (2.0 * h);
                    match k < constraint.position_rows() {
                        true => assert!((slope - here.rate[row]).abs() < 1e-7),
                        false => assert_eq!(here.residual[row], 0.0),
                    }
                    let given = if constraint.kind() == "velocity" {
                        0.25
                    } else {
                        0.0
                    };
                    assert!((along[row] - given - here.rate[row]).abs() < 1e-13);
                    let slope = (after.rate[row] - before.rate[row]) / (2.0 * h);
                    let exact = second[row] + here.bias[row];
                    assert!(
                        (slope - exact).abs() < 1e-7 * (1.0 + exact.abs()),
                        "{} row {k}: {slope} {exact}",
                        constraint.name
                    );
                    row += 1;
                }
            }
        }
    }
}

/// The height of a tilted wheel is that of the lowest of its points.
#[test]
fn a_wheel_touches_with_its_lowest_point() {
    let model = free_disk();
    let mut chain = ClosedChain::new(&model);
    for seed in 1..5 {
        let state = State::random(&model, seed);
        let rows = chain.rows(0.0, &state).expect("finite").clone();
        let pose = chain
            .tree()
            .kinematics(&state, &[0.0; 6])
            .expect("finite")
            .world_from_body[1];
        let mut lowest = Vec3::new(0.0, 0.0, f64::INFINITY);
        for k in 0..100_000 {
            let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 1e5).sin_cos();
            let point = pose.point(Vec3::new(0.5 * cos, 0.0, 0.5 * sin));
            if point.z < lowest.z {
                lowest = point;
            }
        }
        assert!((rows.residual[0] - lowest.z).abs() < 1e-8);
        assert!((rows.point[0] - lowest).norm() < 1e-4);
    }
}

fn simulation(model: &Model, start: &State, duration: f64, drift: Drift) -> Simulation {
    let options = SimulationOptions {
        duration,
        interval: duration / 20.0,
        integrator: Integrator::Adaptive {
            method: Method::Verner9,
            tolerances: Tolerances {
                relative: 1e-11,
                absolute: 1e-11,
            },
            max_step: f64::INFINITY,
        },
    };
    let inputs = Inputs::default();
    Simulation::with_closing(model, start, inputs, Vec::new(), options, drift).expect("sound")
}

fn run(model: &Model, start: &State, duration: f64) -> (Audit, State) {
    let mut simulation = simulation(model, start, duration, Drift::Project);
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).expect("it moves on");
    }
    let last = samples.pop().expect("samples").state;
    let audit = simulation.finish();
    assert_eq!(audit.breaches().count(), 0, "{:?}", audit.findings);
    (audit, last)
}

fn worst(audit: &Audit, name: &str) -> f64 {
    let found = audit.findings.iter().find(|f| f.name == name);
    found.expect("audited").worst
}

/// A tilted disk on a circle: (C + m r²) w Ω sin θ = A Ω² sin θ cos θ − m g r cos θ, with θ from the vertical to the axis, the
/// precession Ω and the angular velocity w about the axis. After any time it is where the circle says.
#[test]
fn a_disk_precesses_steadily() {
    let model = free_disk();
    let (mass, radius, gravity) = (2.0, 0.5, 9.81);
    let (across, along) = (mass * radius * radius / 4.0, mass * radius * radius / 2.0);
    for (theta, precession) in [(1.2f64, 1.5f64), (0.6, 4.0), (1.9, 2.5)] {
        let (sin, cos) = theta.sin_cos();
        let spin = (across * precession * precession * sin * cos - mass * gravity * radius * cos)
            / ((along + mass * radius * radius) * precession * sin);
        let half = 0.5 * (std::f64::consts::FRAC_PI_2 + theta);
        let state = State::new(
            &model,
            &[0.0, 0.0, radius * sin, half.cos(), half.sin(), 0.0, 0.0],
            &[-spin * radius, 0.0, 0.0, 0.0, spin, -precession * sin],
        )
        .expect("finite");
        let t = 1.7;
        let (audit, last) = run(&model, &state, t);
        let angle = precession * t;
        let reach = -spin * radius / precession;
        let exact = [
            reach * angle.sin(),
            reach * (1.0 - angle.cos()),
            radius * sin,
        ];
        for (q, exact) in last.q.iter().zip(exact) {
            assert!((q - exact).abs() < 1e-8, "{theta}: {q} {exact}");
        }
        assert!((last.v[4] - spin).abs() < 1e-8, "{theta}");
        let turning = last.v[3].hypot(last.v[5]);
        assert!((turning - precession * sin).abs() < 1e-8, "{theta}");
        assert!(worst(&audit, "energy balance") < 1e-9);
    }
}

/// A wobbling disk keeps its energy, stays on the plane, and does not slip; stabilised instead of projected, too.
#[test]
fn a_wobbling_disk_keeps_its_energy() {
    let model = free_disk();
    let mut guess = State::start(&model);
    guess.v[3] = 0.8;
    guess.v[5] = 0.5;
    let mut chain = ClosedChain::new(&model);
    let start = chain.assemble(0.0, &guess, &[3, 4, 5]).expect("it rolls");
    assert_eq!((start.rows, start.freedoms), ([3, 3], 3));
    let (audit, last) = run(&model, &start.state, 3.0);
    assert!(worst(&audit, "energy balance") < 1e-9);
    assert!(worst(&audit, "constraints, positions") < 1e-13);
    assert!(worst(&audit, "constraints, velocities") < 1e-12);
    let mut stabilised = simulation(&model, &start.state, 3.0, Drift::baumgarte(None));
    let mut samples = Vec::new();
    while !stabilised.finished() {
        stabilised.advance(&mut samples).expect("it moves on");
    }
    let other = samples.pop().expect("samples").state;
    for (a, b) in last.q.iter().zip(&other.q) {
        assert!((a - b).abs() < 1e-7, "{a} {b}");
    }
}

/// The disk moves the same with heading, lean and spin as coordinates as with a quaternion.
#[test]
fn the_disk_moves_alike_in_other_coordinates() {
    let (free, angles) = (free_disk(), model("rolling-disk"));
    let mut state = State::start(&free);
    state.v[3] = 0.4;
    let mut chain = ClosedChain::new(&free);
    let start = chain.assemble(0.0, &state, &[3, 4, 5]).expect("it rolls");
    let mut other = State::start(&angles);
    other.v = vec![
        start.state.v[0],
        start.state.v[1],
        start.state.v[5],
        start.state.v[2],
        start.state.v[3],
        start.state.v[4],
    ];
    let (_, by_quaternion) = run(&free, &start.state, 1.0);
    let (_, by_angles) = run(&angles, &other, 1.0);
    for (k, j) in [(0, 0), (1, 1), (2, 3)] {
        let (a, b) = (by_quaternion.q[k], by_angles.q[j]);
        assert!((a - b).abs() < 1e-8, "{k}: {a} {b}");
    }
}

/// u = U tanh(κ t + φ₀), ω = √(2E/J) sech(κ t + φ₀), κ = m a U/J, and the heading by the Gudermannian.
#[test]
fn the_sleigh_follows_its_closed_form() {
    let model = model("sleigh");
    let (mass, reach, inertia) = (3.0f64, 0.4f64, 0.5f64);
    let about_edge = inertia + mass * reach * reach;
    let start: State = State::start(&model);
    let (u, omega): (f64, f64) = (start.v[0], start.v[2]);
    let energy: f64 = mass * u * u + about_edge * omega * omega; // 2E
    let top: f64 = (energy / mass).sqrt();
    let kappa = mass * reach * top / about_edge;
    let shift: f64 = (u / top).atanh();
    let t = 2.0;
    let (audit, last) = run(&model, &start, t);
    let gudermann = |x: f64| x.sinh().atan();
    let turn = (energy / about_edge).sqrt();
    let heading = turn / kappa * (gudermann(kappa * t + shift) - gudermann(shift));
    let (sin, cos) = last.q[2].sin_cos();
    assert!((last.q[2] - heading).abs() < 1e-10);
    assert!((last.v[2] - turn / (kappa * t + shift).cosh()).abs() < 1e-10);
    let forward = last.v[0] * cos + last.v[1] * sin;
    assert!((forward - top * (kappa * t + shift).tanh()).abs() < 1e-10);
    assert!((last.v[1] * cos - last.v[0] * sin).abs() < 1e-13);
    assert!(worst(&audit, "energy balance") < 1e-12);
}

/// Whipple's bicycle below, within and above its self-stable range, pushed sideways: energy to 1e-9.
#[test]
fn the_bicycle_keeps_its_energy() {
    let model = model("bicycle");
    let mut chain = ClosedChain::new(&model);
    for speed in [4.0, 4.6, 8.0] {
        let mut guess = State::start(&model);
        for v in &mut guess.v {
            *v *= speed / 4.6;
        }
        guess.v[3] = 0.3;
        let start = chain.assemble(0.0, &guess, &[0, 3]).expect("it rolls");
        assert_eq!((start.rows, start.freedoms), ([6, 6], 3));
        let (audit, last) = run(&model, &start.state, 1.5);
        assert!(worst(&audit, "energy balance") < 1e-9, "{speed}");
        assert!(worst(&audit, "constraints, velocities") < 1e-12, "{speed}");
        assert!(last.q[4].abs() > 1e-4, "{speed}: it leans");
    }
}

/// Both routes, and all loads: the wheels of the bicycle at rest carry its weight.
#[test]
fn contact_forces_carry_the_weight() {
    let model = model("bicycle");
    let mut chain = ClosedChain::new(&model);
    let mut start = State::start(&model);
    start.v.fill(0.0);
    let none = vec![0.0; model.nv()];
    for route in [Route::CutLoops, Route::AlongTree] {
        chain.choose_route(route);
        let motion = chain.forward(0.0, &start, &none, &[]).expect("regular");
        assert!(motion.accelerations.iter().all(|a| a.abs() < 1e-11));
        let lambda = motion.multipliers;
        // moments about the rear contact: 85·0.3 + 4·0.9 + 3·1.02 over 1.02
        let front = 9.81 * (85.0 * 0.3 + 4.0 * 0.9 + 3.0 * 1.02) / 1.02;
        assert!((lambda[3] - front).abs() < 1e-9, "{lambda:?}");
        assert!((lambda[0] + lambda[3] - 94.0 * 9.81).abs() < 1e-9);
        for k in [1, 2, 4, 5] {
            assert!(lambda[k].abs() < 1e-9);
        }
    }
}

/// A uniform ball on a fixed ball, (7/5) (R + r) θ̈ = g sin θ, and a cylinder in a ring, (3/2) (R − r) θ̈ = −g sin θ.
#[test]
fn balls_and_wheels_roll_on_each_other() {
    let accelerate = |kind, pull, tensor: Sym3<f64>, contact: ContactSpec, q: &[f64]| {
        let mut builder = ModelBuilder::new("rolling");
        builder.gravity = pull;
        let own = Inertial {
            mass: 2.0,
            centre: Vec3::zero(),
            tensor,
        };
        builder.link("round", own);
        builder.joint(JointSpec::new("joint", kind, "world", "round"));
        let rule = RuleSpec::Contact(Box::new(contact));
        builder.constraint(ConstraintSpec::new("contact", rule));
        let model = builder.build().expect("sound");
        let state = State::new(&model, q, &vec![0.0; model.nv()]).expect("finite");
        let mut chain = ClosedChain::new(&model);
        let none = vec![0.0; model.nv()];
        let motion = chain.forward(0.0, &state, &none, &[]).expect("it rolls");
        let a = motion.accelerations;
        Vec3::new(a[0], a[1], a[2])
    };
    let (radius, theta, gravity) = (0.2, 0.4f64, 9.81);
    let (sin, cos) = theta.sin_cos();
    let about = 0.4 * 2.0 * radius * radius;
    let solid = Sym3::new(about, about, about, 0.0, 0.0, 0.0);
    let on_ball = ContactSpec {
        surface: Surface::Sphere(0.5),
        ..ContactSpec::sphere("round", radius)
    };
    let far = 0.7;
    let place = [far * sin, 0.0, far * cos, 1.0, 0.0, 0.0, 0.0];
    let down = Vec3::new(0.0, 0.0, -gravity);
    let found = accelerate(JointKind::Free, down, solid, on_ball, &place);
    let along = found.x * cos - found.z * sin;
    assert!((along - gravity * sin / 1.4).abs() < 1e-12, "{along}");

    let half = 0.5 * 2.0 * radius * radius;
    let cylinder = Sym3::new(half, half, half, 0.0, 0.0, 0.0);
    let axis = Vec3::new(0.0, 0.0, 1.0);
    let in_ring = ContactSpec {
        surface: Surface::Cylinder(-0.9),
        normal: axis,
        ..ContactSpec::wheel("round", axis, radius)
    };
    let found = accelerate(
        JointKind::Planar,
        Vec3::new(0.0, -gravity, 0.0),
        cylinder,
        in_ring.clone(),
        &[far * sin, -far * cos, 0.0],
    );
    let along = found.x * cos + found.y * sin;
    assert!((along + gravity * sin / 1.5).abs() < 1e-12, "{along}");

    // a wheel that may tilt leaves the plane of its track
    let mut builder = ModelBuilder::new("tilting");
    builder.link(
        "round",
        Inertial {
            mass: 2.0,
            centre: Vec3::zero(),
            tensor: cylinder,
        },
    );
    builder.joint(JointSpec::new("joint", JointKind::Free, "world", "round"));
    let rule = RuleSpec::Contact(Box::new(in_ring));
    builder.constraint(ConstraintSpec::new("contact", rule));
    let error = builder.build().unwrap_err().to_string();
    assert!(error.contains("the joints let the wheel tilt"), "{error}");
}

/// The sleigh's edge, written in Rust.
#[derive(Debug)]
struct Edge;

impl UserConstraint for Edge {
    fn name(&self) -> &str {
        "edge"
    }

    fn rows(&self) -> usize {
        1
    }

    fn on_positions(&self) -> bool {
        false
    }

    fn evaluate(
        &self,
        _model: &Model,
        _time: f64,
        state: &State,
        _kinematics: &Kinematics<f64>,
        rows: &mut UserRows,
    ) {
        let (sin, cos) = state.q[2].sin_cos();
        let [x, y, turn] = [state.v[0], state.v[1], state.v[2]];
        rows.jacobian.row_mut(0).copy_from_slice(&[-sin, cos, 0.0]);
        rows.rate[0] = cos * y - sin * x;
        rows.bias[0] = -(cos * x + sin * y) * turn;
    }
}

/// User-defined rows give the accelerations of the model's own constraint, and corrections of positions ignore both.
#[test]
fn rows_in_rust_are_those_of_the_model() {
    let own = model("sleigh");
    let bare = own.clone().open_tree();
    let mut chain = ClosedChain::new(&own);
    let mut user = ClosedChain::with(&bare, vec![Arc::new(Edge)], Axes::Parent);
    assert_eq!((user.row_count(), user.velocity_row_count()), (1, 1));
    let (sin, cos) = 0.7f64.sin_cos();
    let state = State::new(&own, &[0.1, 0.2, 0.7], &[1.5 * cos, 1.5 * sin, -0.8]).expect("finite");
    let tau = [0.3, -0.2, 0.1];
    let a = chain.forward(0.0, &state, &tau, &[]).expect("regular");
    let b = user.forward(0.0, &state, &tau, &[]).expect("regular");
    for (a, b) in a.accelerations.iter().zip(b.accelerations) {
        assert!((a - b).abs() < 1e-14);
    }
    for chain in [&mut chain, &mut user] {
        let mut sliding = state.clone();
        sliding.v[1] += 0.1;
        chain.project(0.0, &mut sliding).expect("it glides");
        assert_eq!(sliding.q, state.q);
        assert!((sliding.v[1] * cos - sliding.v[0] * sin).abs() < 1e-15);
    }
}

/// A row with constant coefficients on plain coordinates is a coupling without its offset; a ball that does not spin about the vertical.
#[test]
fn rows_on_velocities_couple_rates() {
    let build = |rule: RuleSpec| {
        let mut builder = embedded::builder("planar3").expect("embedded");
        builder.constraint(ConstraintSpec::new("rule", rule));
        builder.build().expect("sound")
    };
    let names: Vec<String> = (model("planar3").tree().dofs.iter())
        .map(|dof| dof.name.clone())
        .collect();
    let terms = vec![(names[0].clone(), 2.0), (names[2].clone(), 1.0)];
    let on_rates = build(RuleSpec::Velocity {
        terms: terms.clone(),
        rate: 0.0,
    });
    let on_angles = build(RuleSpec::Coupling { terms, offset: 0.4 });
    let state =
        |model: &Model| State::new(model, &[0.1, 0.5, 0.2], &[0.3, -0.7, -0.6]).expect("finite");
    let on_angles = on_angles.with_couplings_as_constraints();
    let tau = [1.0, 2.0, -1.0];
    let (mut a, mut b) = (ClosedChain::new(&on_rates), ClosedChain::new(&on_angles));
    let a = a
        .forward(0.0, &state(&on_rates), &tau, &[])
        .expect("regular");
    let b = b
        .forward(0.0, &state(&on_angles), &tau, &[])
        .expect("regular");
    for (a, b) in a.accelerations.iter().zip(b.accelerations) {
        assert!((a - b).abs() < 1e-12);
    }
    assert_eq!(
        (on_rates.velocity_rows(), on_angles.velocity_rows()),
        (1, 0)
    );
}

/// A row with a given rate does work, which the balance of energy counts; q is free of it.
#[test]
fn a_given_rate_does_work() {
    let mut builder = embedded::builder("sleigh").expect("embedded");
    builder.constraint(ConstraintSpec::new(
        "turning",
        RuleSpec::Velocity {
            terms: vec![("plane.angle".into(), 1.0)],
            rate: 2.0,
        },
    ));
    let model = builder.build().expect("sound");
    let (audit, last) = run(&model, &State::start(&model), 1.0);
    assert!(worst(&audit, "energy balance") < 1e-10);
    assert!((last.q[2] - 2.0).abs() < 1e-10);
    // u̇ = a ω²
    let (sin, cos) = last.q[2].sin_cos();
    let forward = last.v[0] * cos + last.v[1] * sin;
    assert!((forward - (1.0 + 0.4 * 4.0)).abs() < 1e-9);
}

/// A guess off the plane is assembled; only the height is closed, and velocities are made to roll. Velocities that slip are refused.
#[test]
fn states_that_slip_are_refused_or_made_to_roll() {
    let model = model("bicycle");
    let mut chain = ClosedChain::new(&model);
    assert_eq!((chain.row_count(), chain.velocity_row_count()), (6, 4));
    let mut guess = State::start(&model);
    guess.q[2] += 0.05;
    guess.q[8] = 0.3; // steered
    let found = chain.assemble(0.0, &guess, &[7]).expect("it closes");
    assert!(found.residuals[0] < 1e-14 && found.residuals[1] < 1e-13);
    assert_eq!(found.state.q[8], 0.3);
    let mut slipping = State::start(&model);
    slipping.v[1] = 0.2;
    let none = vec![0.0; model.nv()];
    let error = chain
        .forward(0.0, &slipping, &none, &[])
        .expect_err("it slips");
    assert!(
        error.message().contains("_contact` slips by 2.000e-1"),
        "{error}"
    );
    let error = Simulation::new(
        &model,
        &slipping,
        Inputs::default(),
        Vec::new(),
        SimulationOptions::default(),
    )
    .err()
    .expect("it slips");
    assert!(error.message().contains("_contact` slips by"), "{error}");
    // stabilised, it is accepted and the slip dies out
    chain.stabilise(Stabilisation::critical(0.1));
    let motion = chain.forward(0.0, &slipping, &none, &[]).expect("accepted");
    assert!(motion.accelerations[1] < -1.0);
}

/// Impossible constraints are rejected, and the message says what is wrong.
#[test]
fn impossible_constraints_are_told() {
    let refused = |rule: RuleSpec, words: &str| {
        let mut builder = embedded::builder("sleigh").expect("embedded");
        builder.constraint(ConstraintSpec::new("rule", rule));
        let error = builder.build().expect_err("impossible");
        assert!(error.message().contains(words), "{error}");
    };
    let wheel = ContactSpec::wheel("sleigh", Vec3::new(0.0, 1.0, 0.0), 0.3);
    let contact = |contact: ContactSpec| RuleSpec::Contact(Box::new(contact));
    refused(
        contact(ContactSpec {
            radius: 0.0,
            ..wheel.clone()
        }),
        "constraint `rule`: a radius must be a positive length, not 0 m",
    );
    refused(
        contact(ContactSpec {
            axis: Some(Vec3::zero()),
            ..wheel.clone()
        }),
        "constraint `rule`: the axis has zero length",
    );
    refused(
        contact(ContactSpec {
            normal: Vec3::new(f64::NAN, 0.0, 1.0),
            ..wheel.clone()
        }),
        "the normal of constraint `rule` is not finite",
    );
    refused(
        contact(ContactSpec {
            child: "slay".into(),
            ..wheel
        }),
        "constraint `rule`: there is no link `slay`",
    );
    refused(
        contact(ContactSpec {
            surface: Surface::Cylinder(-0.2),
            ..ContactSpec::sphere("sleigh", 0.3)
        }),
        "a radius of 0.3 m does not fit into one of 0.2 m",
    );
    refused(
        RuleSpec::Velocity {
            terms: Vec::new(),
            rate: 0.0,
        },
        "constraint `rule` couples nothing",
    );
    refused(
        RuleSpec::KnifeEdge {
            parent: "world".into(),
            child: "sleigh".into(),
            point: Vec3::zero(),
            across: Vec3::new(0.0, 2.0, 0.0),
        },
        "constraints `edge` and `rule` are the same",
    );
}
