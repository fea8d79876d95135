//! A base with prescribed motion: equivalence with another gravity and with a driven joint, and a closed energy balance.

use catena::integrate::FixedMethod;
use catena::model::{Dof, Inertial, JointKind, JointSpec, embedded};
use catena::residual::difference;
use catena::simulate::{
    AnalyticBase, BaseMotion, BaseTable, Inputs, Integrator, PrescribedBase, RestingBase,
    Simulation, SimulationOptions, Sinusoid,
};
use catena::spatial::{Mat3, Motion, Pose, Sym3, Vec3};
use catena::{Base, Model, ModelBuilder, State};
use catena_testing::runs::{Done, explicit, finding, options, run};

fn on(motion: impl BaseMotion + 'static) -> Inputs {
    Inputs {
        base: PrescribedBase::new(motion),
        ..Inputs::default()
    }
}

/// Without dry friction, whose stops would only repeat what tests/dry_friction.rs shows.
fn random_tree(seed: u64) -> (Model, State) {
    let model = embedded::model(&format!("random-6-{seed}"))
        .unwrap()
        .without_passive_forces();
    let mut state = State::random(&model, seed);
    state.v.iter_mut().for_each(|v| *v *= 0.5);
    (model, state)
}

/// A base with the acceleration a is a base at rest in the gravity g − a. Tolerance: a hundred times that of the run, for a
/// second of motion.
#[test]
fn an_accelerated_base_is_another_gravity() {
    let acceleration = Vec3::new(1.0, -2.0, 3.0);
    for seed in [1, 4, 9] {
        let (model, state) = random_tree(seed);
        let inputs = on(AnalyticBase {
            velocity: Vec3::new(0.3, 0.2, -0.1),
            acceleration,
            ..AnalyticBase::default()
        });
        let Done {
            samples: moving,
            audit,
            ..
        } = run(&model, &state, inputs, options(explicit(1e-11), 1.0, 0.25));
        let gravity = (model.gravity() - acceleration).to_array();
        let elsewhere = model.clone().with_gravity(gravity);
        let Done {
            samples: resting, ..
        } = run(
            &elsewhere,
            &state,
            Inputs::default(),
            options(explicit(1e-11), 1.0, 0.25),
        );
        for (a, b) in moving.iter().zip(&resting) {
            assert!(difference(&a.state.q, &b.state.q) < 1e-9, "{seed}");
            assert!(difference(&a.state.v, &b.state.v) < 1e-9, "{seed}");
        }
        assert!(finding(&audit, "energy balance") < 1e-9, "{audit:?}");
        assert!(audit.work != 0.0);
    }
}

/// A base that rests tilted is gravity tilted the other way.
#[test]
fn a_tilted_base_is_a_tilted_gravity() {
    let (model, mut state) = random_tree(2);
    let rotation = Mat3::from_quaternion([0.8, 0.0, 0.6, 0.0]);
    let pose = Pose::new(rotation, Vec3::new(0.3, 1.0, -2.0));
    let Done {
        samples: tilted, ..
    } = run(
        &model,
        &state,
        on(RestingBase(pose)),
        options(explicit(1e-11), 1.0, 0.5),
    );
    let gravity = rotation.transpose_times(model.gravity()).to_array();
    let elsewhere = model.clone().with_gravity(gravity);
    let Done {
        samples: upright, ..
    } = run(
        &elsewhere,
        &state,
        Inputs::default(),
        options(explicit(1e-11), 1.0, 0.5),
    );
    assert!(difference(&tilted[2].state.q, &upright[2].state.q) < 1e-9);
    // the state may say where the base rests
    state.base.pose = pose;
    let Done { samples: same, .. } = run(
        &model,
        &state,
        Inputs::default(),
        options(explicit(1e-11), 1.0, 0.5),
    );
    assert_eq!(tilted, same);
}

/// Two links and a slide on a turntable; the table is the base, or a body on a driven joint.
fn arm(on_table: bool) -> Model {
    let mut builder = ModelBuilder::new("arm");
    let mut parent = "world";
    if on_table {
        builder.link(
            "table",
            Inertial {
                mass: 1.0,
                centre: Vec3::zero(),
                tensor: Sym3::new(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
            },
        );
        let mut joint = JointSpec::new("turn", JointKind::Revolute, "world", "table");
        joint.axes.first = Vec3::new(0.6, 0.0, 0.8);
        joint.dofs = vec![Dof {
            armature: 1e10,
            ..Dof::default()
        }];
        builder.joint(joint);
        parent = "table";
    }
    for (name, kind, axis) in [
        ("upper", JointKind::Revolute, Vec3::new(0.0, 1.0, 0.0)),
        ("slide", JointKind::Prismatic, Vec3::new(1.0, 0.0, 0.0)),
        ("lower", JointKind::Revolute, Vec3::new(0.0, 0.6, 0.8)),
    ] {
        builder.link(
            name,
            Inertial {
                mass: 1.5,
                centre: Vec3::new(0.2, 0.05, 0.0),
                tensor: Sym3::new(0.02, 0.03, 0.04, 0.001, 0.0, 0.002),
            },
        );
        let mut joint = JointSpec::new(&format!("{name}-joint"), kind, parent, name);
        joint.axes.first = axis;
        joint.parent_from_joint.translation = Vec3::new(0.3, 0.1, 0.2);
        if kind == JointKind::Prismatic {
            joint.dofs = vec![Dof {
                stiffness: 40.0,
                ..Dof::default()
            }];
        }
        builder.joint(joint);
        parent = name;
    }
    builder.build().unwrap()
}

/// A base that turns at a constant rate does what a revolute joint with a rotor of 10¹⁰ kg·m² does, which the arm cannot
/// slow down by more than 10⁻⁹ of its rate.
#[test]
fn a_turning_base_is_a_driven_joint() {
    let rate = 2.0;
    let (q, v) = ([0.4, 0.1, -0.3], [0.5, 0.0, 1.0]);
    let model = arm(false);
    let state = State::new(&model, &q, &v).unwrap();
    let inputs = on(AnalyticBase {
        axis: Vec3::new(0.6, 0.0, 0.8),
        rate,
        ..AnalyticBase::default()
    });
    let Done {
        samples: based,
        audit,
        ..
    } = run(&model, &state, inputs, options(explicit(1e-11), 2.0, 0.5));
    assert!(finding(&audit, "energy balance") < 1e-9, "{audit:?}");
    let model = arm(true);
    let state = State::new(&model, &[0.0, q[0], q[1], q[2]], &[rate, v[0], v[1], v[2]]).unwrap();
    let Done {
        samples: driven, ..
    } = run(
        &model,
        &state,
        Inputs::default(),
        options(explicit(1e-11), 2.0, 0.5),
    );
    for (a, b) in based.iter().zip(&driven) {
        assert!((b.state.q[0] - rate * b.time).abs() < 1e-8);
        assert!(difference(&a.state.q, &b.state.q[1..]) < 1e-7, "{}", a.time);
    }
}

fn wobble() -> AnalyticBase {
    AnalyticBase {
        velocity: Vec3::new(0.1, 0.0, 0.2),
        acceleration: Vec3::new(0.0, 0.3, 0.0),
        shakes: vec![Sinusoid {
            amplitude: Vec3::new(0.05, 0.0, 0.1),
            frequency: 1.5,
            phase: 0.4,
        }],
        axis: Vec3::new(1.0, 1.0, 1.0),
        rate: 0.7,
        angular_acceleration: 0.2,
        swings: vec![Sinusoid {
            amplitude: 0.3,
            frequency: 0.8,
            phase: 0.0,
        }],
        ..AnalyticBase::default()
    }
}

/// The balance with the base's work closes at the tolerance of the run, for analytic motions, closures and tables, with
/// springs, dampers and dry friction in the joints.
#[test]
fn the_balance_closes() {
    let model = embedded::model("random-8-3").unwrap();
    let state = State::neutral(&model);
    let times: Vec<f64> = (0..=60).map(|k| f64::from(k) / 60.0).collect();
    let poses: Vec<([f64; 3], [f64; 4])> = times
        .iter()
        .map(|t| {
            let (sin, cos) = (0.5 * t * t).sin_cos();
            (
                [0.1 * (3.0 * t).sin(), 0.0, 0.2 * t * t],
                [cos, 0.0, sin, 0.0],
            )
        })
        .collect();
    let table = BaseTable::new(times, &poses).unwrap();
    let closure = |t: f64| {
        let base = wobble().at(t);
        Base {
            velocity: Motion::new(base.velocity.angular, base.velocity.linear),
            ..base
        }
    };
    for (name, inputs) in [
        ("analytic", on(wobble())),
        ("closure", on(closure)),
        ("table", on(table)),
    ] {
        let Done { audit, .. } = run(&model, &state, inputs, options(explicit(1e-9), 1.0, 0.1));
        assert!(
            finding(&audit, "energy balance") < 1e-7,
            "{name}: {audit:?}"
        );
        assert!(
            finding(&audit, "inverse dynamics of the motion") < 1e-12,
            "{name}"
        );
        assert!(audit.work.abs() > 0.1, "{name}: {audit:?}");
    }
    // the trapezoidal rule for the work: order 2
    let error = |step: f64| {
        let options = SimulationOptions {
            integrator: Integrator::Fixed {
                method: FixedMethod::RungeKutta4,
                step,
            },
            duration: 1.0,
            interval: 0.1,
        };
        let smooth = model.clone().without_passive_forces();
        let Done { audit, .. } = run(&smooth, &state, on(wobble()), options);
        finding(&audit, "energy balance")
    };
    let order = (error(0.002) / error(0.001)).log2();
    assert!((order - 2.0).abs() < 0.2, "{order}");
}

/// What hangs on a free joint does not notice how the base moves: its momentum is that of free fall.
#[test]
fn a_free_robot_does_not_notice_the_base() {
    let model = embedded::model("space-robot").unwrap();
    let state = State::random(&model, 3);
    let Done { audit, .. } = run(
        &model,
        &state,
        on(wobble()),
        options(explicit(1e-11), 5.0, 0.5),
    );
    for law in [
        "linear momentum",
        "angular momentum about the mass centre",
        "energy balance",
    ] {
        assert!(finding(&audit, law) < 1e-8, "{law}: {audit:?}");
    }
}

#[test]
fn motions_that_contradict_themselves_are_refused() {
    let model = embedded::model("chain-2").unwrap();
    let state = State::neutral(&model);
    let refusal = |state: &State, inputs: Inputs| {
        Simulation::new(
            &model,
            state,
            inputs,
            Vec::new(),
            SimulationOptions::default(),
        )
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
    };
    let sliding = |t: f64| Base {
        pose: Pose::shift(Vec3::new(t.sin(), 0.0, 0.0)),
        velocity: Motion::new(Vec3::zero(), Vec3::new(t.cos(), 0.0, 0.0)),
        acceleration: Motion::zero(),
    };
    let message = refusal(&state, on(sliding));
    assert!(
        message.starts_with("the acceleration of the base at ")
            && message.contains("is not the derivative of its velocity"),
        "{message}"
    );
    let still = ([0.0; 3], [1.0, 0.0, 0.0, 0.0]);
    let short = BaseTable::new(vec![0.0, 5.0], &[still, still]).unwrap();
    let message = refusal(&state, on(short));
    assert!(
        message.starts_with("the motion of the base ends at 5 s, the simulation at 10 s"),
        "{message}"
    );
    let mut moving = state.clone();
    moving.base.velocity.linear.x = 1.0;
    let message = refusal(&moving, Inputs::default());
    assert!(
        message.starts_with("the base of the initial state moves"),
        "{message}"
    );
    let message = refusal(&moving, on(wobble()));
    assert!(message.contains("they differ at 0 s"), "{message}");
}
