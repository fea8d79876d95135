//! Derivatives of motions with respect to parameters, against differences of whole runs.

use catena::integrate::{FixedMethod, Method, Tolerances};
use catena::model::{Dof, Inertial, embedded};
use catena::random::Random;
use catena::simulate::{
    CENTRAL, Controller, Gains, Inputs, Integrator, Neighbour, ONE_SIDED, Sample, Sensitivities,
    Simulation, SimulationOptions, Stop,
};
use catena::spatial::Vec3;
use catena::trajectory::{PointToPoint, Profile};
use catena::{ErrorKind, ModelBuilder, State};

/// What drives the joints.
#[derive(Clone, Copy)]
enum Drive {
    Nothing,
    Constant,
    ProportionalDerivative,
    ComputedTorque,
}

/// Parameters: mass and mass centre (in cm) of the last link, damping of the first joint, gravity, a gain, an initial position and an initial velocity.
const NAMES: [&str; 7] = [
    "mass", "centre", "damping", "gravity", "gain", "position", "velocity",
];

struct Case {
    model: &'static str,
    drive: Drive,
    integrator: Integrator,
}

fn builder(case: &Case, p: &[f64]) -> ModelBuilder {
    let mut builder = embedded::builder(case.model).expect("a model");
    let link = builder.links.last_mut().expect("a link");
    let inertial = link.inertial.expect("a mass");
    let centre = inertial.centre + Vec3::new(0.01 * p[1], 0.005 * p[1], 0.0);
    link.inertial = Some(Inertial {
        mass: inertial.mass * (1.0 + p[0]),
        centre,
        ..inertial
    });
    builder.gravity += Vec3::new(0.0, 0.3 * p[3], -p[3]);
    let scalar = |joint: &&mut catena::model::JointSpec| joint.kind.nv() == 1;
    let joint = builder.joints.iter_mut().find(scalar).expect("a joint");
    if joint.dofs.is_empty() {
        joint.dofs.push(Dof::default());
    }
    joint.dofs[0].damping += p[2];
    builder
}

fn set_up(case: &Case, p: &[f64]) -> Simulation {
    let model = builder(case, p).build().expect("a model");
    let mut state = State::random(&model, 5);
    state.base = catena::Base::fixed();
    let last = state.q.len() - 1;
    state.q[last] += p[5];
    state.v[0] += p[6];
    let nv = model.nv();
    let scalars = model.bodies().map(|i| &model.tree().bodies[i]);
    let scalars = scalars.filter(|body| body.kind.quaternion().is_none());
    let count = scalars.map(|body| body.kind.nv()).sum();
    let motion = || {
        let target: Vec<f64> = (0..count).map(|k| 0.3 - 0.1 * k as f64).collect();
        PointToPoint::new(Profile::Quintic, &vec![0.1; count], &target, 0.6)
            .expect("a motion")
            .into()
    };
    let controller = match case.drive {
        Drive::Nothing => Controller::None,
        Drive::Constant => {
            let tau = (0..nv).map(|k| (0.2 + p[4]) * (k as f64).cos()).collect();
            Controller::Constant(tau)
        }
        Drive::ProportionalDerivative => Controller::ProportionalDerivative {
            motion: motion(),
            stiffness: Gains::Same(2.0 + p[4]),
            damping: Gains::Same(0.03),
        },
        Drive::ComputedTorque => Controller::ComputedTorque {
            motion: motion(),
            stiffness: Gains::Same(20.0 + p[4]),
            damping: Gains::Same(4.0 - p[4]),
        },
    };
    let inputs = Inputs {
        controller,
        ..Inputs::default()
    };
    let options = SimulationOptions {
        integrator: case.integrator,
        duration: 0.5,
        interval: 0.13,
    };
    Simulation::new(&model, &state, inputs, Vec::new(), options).expect("a run")
}

fn neighbours(case: &Case, at: &[f64], k: usize, one_sided: bool) -> Vec<Neighbour> {
    let h = 1e-3;
    let stencil = if one_sided { ONE_SIDED } else { CENTRAL };
    let there = stencil.into_iter().map(|(offset, weight)| {
        let mut p = at.to_vec();
        p[k] += offset * h;
        Neighbour {
            offset: offset * h,
            weight: weight / h,
            run: set_up(case, &p),
        }
    });
    there.collect()
}

fn sensitivities(case: &Case, at: &[f64]) -> Sensitivities {
    // the stencil of one parameter goes to one side
    let all = (0..at.len()).map(|k| neighbours(case, at, k, k == 2));
    let all: Vec<Vec<Neighbour>> = all.collect();
    set_up(case, at).sensitivities(&all).expect("derivatives")
}

/// q, v, work and dissipated energy at all samples.
fn numbers(samples: &[Sample]) -> Vec<f64> {
    let mut numbers = Vec::new();
    for sample in samples {
        numbers.extend_from_slice(&sample.state.q);
        numbers.extend_from_slice(&sample.state.v);
        numbers.extend_from_slice(&[sample.work, sample.dissipated]);
    }
    numbers
}

fn motion(case: &Case, p: &[f64]) -> Vec<f64> {
    let mut run = set_up(case, p);
    let mut samples = Vec::new();
    while !run.finished() {
        run.advance(&mut samples).expect("a step");
    }
    numbers(&samples)
}

/// Derivatives by differences of fourth order of whole runs.
fn differences(case: &Case, at: &[f64], k: usize) -> Vec<f64> {
    let h = 3e-4;
    let mut slopes = vec![0.0; motion(case, at).len()];
    for (offset, weight) in CENTRAL {
        let mut p = at.to_vec();
        p[k] += offset * h;
        for (slope, x) in slopes.iter_mut().zip(motion(case, &p)) {
            *slope += weight / h * x;
        }
    }
    slopes
}

fn adaptive(method: Method) -> Integrator {
    Integrator::Adaptive {
        method,
        tolerances: Tolerances {
            relative: 1e-12,
            absolute: 1e-13,
        },
        max_step: f64::INFINITY,
    }
}

fn fixed(method: FixedMethod) -> Integrator {
    Integrator::Fixed { method, step: 5e-3 }
}

/// The largest difference, as a part of the largest derivative of the parameter.
fn worst(case: &Case, at: &[f64]) -> f64 {
    let found = sensitivities(case, at);
    let mut worst: f64 = 0.0;
    for (k, name) in NAMES.iter().enumerate() {
        let wanted = differences(case, at, k);
        let size = wanted.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        if matches!(case.drive, Drive::Nothing) && *name == "gain" {
            assert!(found.slopes[k].iter().all(|x| *x == 0.0));
            continue;
        }
        assert!(
            size > 1e-4,
            "{name} of {} has no effect: {size}",
            case.model
        );
        let apart = found.slopes[k].iter().zip(&wanted);
        let apart = apart.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(apart.is_finite());
        worst = worst.max(apart / size);
    }
    worst
}

/// Runs of a tolerance of 1e-12 have errors of that order and somewhat more at their end, which differences with h = 3e-4 divide by h.
#[test]
fn derivatives_of_motions_with_variable_steps() {
    let mut random = Random::new(3);
    let mut all: f64 = 0.0;
    for (model, drive, method) in [
        ("stanford", Drive::Nothing, Method::Dop853),
        ("stanford", Drive::ProportionalDerivative, Method::Verner9),
        ("stanford", Drive::ComputedTorque, Method::Dop853),
        ("space-robot", Drive::Constant, Method::Dop853),
        ("space-robot", Drive::ProportionalDerivative, Method::Dop853),
    ] {
        let case = Case {
            model,
            drive,
            integrator: adaptive(method),
        };
        let at: Vec<f64> = NAMES.iter().map(|_| random.uniform(0.02, 0.1)).collect();
        let error = worst(&case, &at);
        println!("{model}, {method}: {error:e}");
        all = all.max(error);
    }
    assert!(all < 1e-7, "{all:e}");
}

/// For fixed steps the derivatives are those of the discrete motion, however inaccurate that is.
#[test]
fn derivatives_of_motions_with_fixed_steps() {
    let mut random = Random::new(4);
    let mut all: f64 = 0.0;
    for (model, drive) in [
        ("stanford", Drive::ProportionalDerivative),
        ("space-robot", Drive::Constant),
    ] {
        for method in [FixedMethod::RungeKutta4, FixedMethod::SemiImplicitEuler] {
            let case = Case {
                model,
                drive,
                integrator: fixed(method),
            };
            let at: Vec<f64> = NAMES.iter().map(|_| random.uniform(0.02, 0.1)).collect();
            let error = worst(&case, &at);
            println!("{model}, {method}: {error:e}");
            all = all.max(error);
        }
    }
    assert!(all < 2e-8, "{all:e}");
}

/// The motion that is returned is that of the run, and the samples along it are those of the run.
#[test]
fn the_motion_is_that_of_the_run() {
    for integrator in [
        adaptive(Method::Dop853),
        fixed(FixedMethod::RungeKutta4),
        fixed(FixedMethod::SemiImplicitEuler),
    ] {
        let case = Case {
            model: "space-robot",
            drive: Drive::Constant,
            integrator,
        };
        let at = [0.05; NAMES.len()];
        let found = sensitivities(&case, &at);
        let wanted = motion(&case, &at);
        let apart = found.motion.iter().zip(&wanted);
        let apart = apart.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(apart < 1e-10, "{apart:e}");
        let mut run = set_up(&case, &at);
        let samples = run.samples_along(&wanted).expect("samples");
        // quaternions of unit length are normalised once more
        let along = numbers(&samples);
        let apart = along.iter().zip(&wanted);
        let apart = apart.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(along.len() == wanted.len() && apart < 1e-15, "{apart:e}");
        // and the run is as it was
        assert_eq!(run.sample_count(), 0);
        let mut whole = Vec::new();
        while !run.finished() {
            run.advance(&mut whole).expect("a step");
        }
        assert_eq!(numbers(&whole), wanted);
    }
}

/// What has no derivatives is refused with the reason.
#[test]
fn obstacles() {
    let case = Case {
        model: "stanford",
        drive: Drive::Nothing,
        integrator: adaptive(Method::Dop853),
    };
    let at = [0.05; NAMES.len()];
    let refused = |run: Simulation, others: Vec<Vec<Neighbour>>, reason: &str| {
        let error = run.sensitivities(&others).expect_err(reason);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(reason), "{error}");
    };
    let around = || vec![neighbours(&case, &at, 0, false)];
    refused(set_up(&case, &at), Vec::new(), "there is no parameter");
    let other = Case {
        integrator: fixed(FixedMethod::RungeKutta4),
        ..case
    };
    refused(set_up(&other, &at), around(), "how time is stepped");
    let other = Case {
        integrator: fixed(FixedMethod::ImplicitMidpoint),
        ..case
    };
    refused(set_up(&other, &at), around(), "iterates");
    let other = Case {
        model: "space-robot",
        ..case
    };
    refused(set_up(&other, &at), around(), "bodies or joints");
    let with = |change: &dyn Fn(&mut ModelBuilder), inputs: &dyn Fn(&catena::Model) -> Inputs| {
        let mut builder = builder(&case, &at);
        change(&mut builder);
        let model = builder.build().expect("a model");
        let options = SimulationOptions {
            integrator: case.integrator,
            ..SimulationOptions::default()
        };
        let state = State::neutral(&model);
        Simulation::new(&model, &state, inputs(&model), Vec::new(), options).expect("a run")
    };
    let none = |_: &catena::Model| Inputs::default();
    let rough = |builder: &mut ModelBuilder| builder.joints[0].dofs[0].friction = 1.0;
    refused(with(&rough, &none), around(), "dry friction");
    let stopped = |builder: &mut ModelBuilder| builder.joints[0].dofs[0].limits = Some((-9.0, 9.0));
    let stops = |model: &catena::Model| Inputs {
        stops: Stop::all(model),
        ..Inputs::default()
    };
    refused(with(&stopped, &stops), around(), "joint limits stop");
}
