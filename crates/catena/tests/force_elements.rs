//! Force elements: forces are gradients of energies, actions equal reactions, runs keep the energy balance, closed forms come out, and
//! every route to the accelerations has them.

use catena::ClosedChain;
use catena::algorithm::elements::{act, element_wrenches, generalized};
use catena::algorithm::energy::mechanical_state;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inertial_parameters, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::integrate::FixedMethod;
use catena::model::{
    ForceRule, ForceSpec, GravityGradient, Inertial, JointKind, JointSpec, embedded,
};
use catena::random::Random;
use catena::scalar::{DoubleDouble, Dual};
use catena::simulate::{
    AnalyticBase, Inputs, NewtonMatrix, PrescribedBase, Simulation, SimulationOptions, Sinusoid,
};
use catena::spatial::{Force, Sym3, Vec3};
use catena::{
    Base, Batch, Drive, Dynamics, ErrorKind, Model, ModelBuilder, Scalar, State, StateView, laws,
};
use catena_testing::assert_close;
use catena_testing::elements::{load, spring};
use catena_testing::runs::{apart, bdf_with, explicit, free_run};

/// Trees whose first and last links are different bodies.
fn loaded(seed: u64, lossy: bool) -> Model {
    let mut builder = embedded::builder(&format!("random-{}-{}", 3 + seed % 5, seed + 1)).unwrap();
    load(&mut builder, seed, lossy);
    builder.build().unwrap()
}

/// At rest, Jᵀ w is −∂U/∂q, by dual numbers.
#[test]
fn forces_are_gradients_of_their_potentials() {
    type D = Dual<f64, 1>;
    for seed in 0..20 {
        let model = loaded(seed, false);
        let mut state = State::random(&model, seed + 50);
        state.v.fill(0.0);
        let efforts = Dynamics::new(&model).force_efforts(&state).unwrap();
        for (index, element) in model.forces().iter().enumerate() {
            for k in 0..model.nv() {
                let mut moved: State<D> = state.lift();
                let mut delta = vec![D::zero(); model.nv()];
                delta[k] = D::variable(0.0, 0);
                moved.step(&model, &delta);
                let still = vec![D::zero(); model.nv()];
                let mut kinematics = Kinematics::new(&model);
                let (q, v, base) = (&moved.q, &moved.v, &moved.base);
                forward_kinematics(&model, StateView { q, v, base }, &still, &mut kinematics);
                let mut wrenches = vec![Force::zero(); model.body_count() + 1];
                let slope = act(element, &model, &kinematics, &mut wrenches)
                    .energy
                    .derivative[0];
                let found = efforts[index][k];
                let size = 1.0 + found.abs();
                let name = &element.name;
                assert!(
                    (found + slope).abs() < 1e-12 * size,
                    "{seed} {name} {found} {slope}"
                );
            }
        }
    }
}

/// The laws of `catena check`, the one of force elements included.
#[test]
fn the_laws_hold() {
    for seed in 0..6 {
        let results = laws::run(&loaded(seed, true), 3, seed);
        let law = "power of force elements = work − energy rate − dissipation";
        assert!(results.iter().any(|r| r.law == law));
        for result in results {
            assert!(result.residual <= result.tolerance, "{seed} {result:?}");
        }
    }
}

/// What acts between two bodies sums up to nothing, and two floating bodies keep their momentum.
#[test]
fn action_is_reaction() {
    for seed in 0..10 {
        let model = loaded(seed, true);
        let state = State::random(&model, seed);
        let mut kinematics = Kinematics::new(&model);
        let still = vec![0.0; model.nv()];
        forward_kinematics(&model, state.view(), &still, &mut kinematics);
        for element in model.forces().iter().filter(|e| e.is_internal()) {
            let mut wrenches = vec![Force::zero(); model.body_count() + 1];
            act(element, &model, &kinematics, &mut wrenches);
            let mut sum = Force::zero();
            for (wrench, pose) in wrenches.iter().zip(&kinematics.world_from_body) {
                sum += pose.force_out(*wrench);
            }
            assert!(sum.to_array().iter().all(|x| x.abs() < 1e-12), "{sum:?}");
        }
    }
    let mut builder = ModelBuilder::new("pair");
    builder.gravity = Vec3::zero();
    for (name, mass) in [("a", 2.0), ("b", 0.7)] {
        builder.link(
            name,
            Inertial {
                mass,
                centre: Vec3::new(0.1, 0.0, 0.2),
                tensor: Sym3::new(0.3, 0.2, 0.4, 0.0, 0.0, 0.0),
            },
        );
        builder.joint(JointSpec::new(name, JointKind::Free, "world", name));
    }
    let ends = [Vec3::new(0.3, 0.1, 0.0), Vec3::new(0.0, -0.2, 0.1)];
    builder.force(ForceSpec::new(
        "line",
        spring("a", "b", ends, [40.0, 1.0, 0.5]),
    ));
    builder.force(ForceSpec::new(
        "torsion",
        ForceRule::Torsion {
            parent: "a".into(),
            child: "b".into(),
            axis: Vec3::new(1.0, 2.0, 0.5),
            stiffness: 0.4,
            damping: 0.05,
            rest: 0.3,
        },
    ));
    let model = builder.build().unwrap();
    let mut start = State::neutral(&model);
    start.q[7] = 1.4; // b beside a
    start.v.copy_from_slice(&[
        0.1, 0.3, -0.2, 0.2, -0.1, 0.3, -0.4, 0.1, 0.2, 0.1, 0.2, -0.2,
    ]);
    let (samples, audit) = free_run(&model, &start, explicit(1e-12), 3.0);
    let mut dynamics = Dynamics::new(&model);
    let mut momentum = |state| {
        let found = dynamics.mechanical_state(state).unwrap();
        found.momentum.to_array()
    };
    let before = momentum(&samples[0].state);
    let after = momentum(&samples[20].state);
    assert_close(&after, &before, 1e-11, "momentum");
    assert!(audit.breaches().next().is_none(), "{audit:?}");
    assert_eq!(audit.elements.len(), 2);
    assert!(audit.dissipated > 0.01);
}

/// Random trees with random elements: the energy balance of the audit.
#[test]
fn runs_keep_the_energy_balance() {
    for seed in 0..12 {
        let model = loaded(seed, true);
        let state = State::random(&model, seed);
        let (_, audit) = free_run(&model, &state, explicit(1e-13), 0.5);
        for finding in &audit.findings {
            if finding.name == "energy balance" {
                assert!(finding.worst < 1e-10, "{seed}: {finding:?}");
            }
            assert_eq!(finding.kept(), Some(true), "{seed}: {finding:?}");
        }
        let springs: f64 = audit.elements.iter().map(|e| e.energies[1]).sum();
        assert!(springs.is_finite() && audit.elements.len() == 9);
    }
}

/// On a base that shakes, springs to the world move with it, and what moves it does work on them.
#[test]
fn a_moving_base_works_on_springs() {
    let model = loaded(3, true);
    let base = AnalyticBase {
        shakes: vec![Sinusoid {
            amplitude: Vec3::new(0.2, 0.1, -0.1),
            frequency: 1.3,
            phase: 0.2,
        }],
        rate: 0.7,
        ..AnalyticBase::default()
    };
    let inputs = Inputs {
        base: PrescribedBase::new(base),
        ..Inputs::default()
    };
    let options = SimulationOptions {
        integrator: explicit(1e-12),
        duration: 0.5,
        interval: 0.05,
    };
    let state = State::random(&model, 3);
    let mut simulation = Simulation::new(&model, &state, inputs, Vec::new(), options).unwrap();
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).unwrap();
    }
    let audit = simulation.finish();
    let energy = &audit.findings[0];
    assert!(
        energy.worst < 1e-10 && audit.work.abs() > 1e-3,
        "{energy:?}"
    );
}

/// Every scalar, the checked entry point and batches give the same results.
#[test]
fn all_routes_agree() {
    for seed in 0..10 {
        let model = loaded(seed, true);
        let state = State::random(&model, seed + 7);
        let nv = model.nv();
        let mut random = Random::new(seed);
        let tau: Vec<f64> = (0..nv).map(|_| random.uniform(-1.0, 1.0)).collect();
        let mut dynamics = Dynamics::new(&model);
        let vdot = dynamics.forward(&state, &tau, &[]).unwrap().to_vec();
        let back = dynamics.inverse(&state, &vdot, &[]).unwrap().to_vec();
        assert_close(&back, &tau, 1e-10, "inverse");

        let mut resting = state.clone();
        resting.v.fill(0.0);
        let held = dynamics
            .inverse(&resting, &vec![0.0; nv], &[])
            .unwrap()
            .to_vec();
        assert_close(dynamics.gravity(&state).unwrap(), &held, 0.0, "gravity");

        // as external wrenches on the model without elements
        let bare = model.clone().without_forces();
        let mut kinematics = Kinematics::new(&model);
        let still = vec![0.0; nv];
        forward_kinematics(&model, state.view(), &still, &mut kinematics);
        let mut wrenches = vec![Force::zero(); model.body_count() + 1];
        element_wrenches(&model, &kinematics, &mut wrenches);
        let mut plain = Dynamics::new(&bare);
        assert_close(
            plain.forward(&state, &tau, &wrenches).unwrap(),
            &vdot,
            1e-12,
            "external",
        );
        let without = plain.forward(&state, &tau, &[]).unwrap();
        assert!(without.iter().zip(&vdot).any(|(a, b)| (a - b).abs() > 1e-3));

        // in twice the digits
        type DD = DoubleDouble;
        let lifted: State<DD> = state.lift();
        let efforts: Vec<DD> = tau.iter().map(|&x| DD::constant(x)).collect();
        let mut work = ForwardDynamics::new(&model);
        let mut found = vec![DD::zero(); nv];
        let (q, v, base) = (&lifted.q, &lifted.v, &lifted.base);
        forward_dynamics(
            &model,
            StateView { q, v, base },
            &efforts,
            &[],
            &mut work,
            &mut found,
        );
        let found: Vec<f64> = found.iter().map(|x| x.value()).collect();
        assert_close(&found, &vdot, 1e-9, "double-double");

        let mut batch = Batch::new(&model);
        let (q, v) = (state.q.repeat(5), state.v.repeat(5));
        let mut many = vec![0.0; 5 * nv];
        batch.forward(&q, &v, &tau.repeat(5), &mut many).unwrap();
        assert_close(&many[4 * nv..], &vdot, 1e-10, "batch");
        batch.inverse(&q, &v, &vdot.repeat(5), &mut many).unwrap();
        assert_close(&many[4 * nv..], &tau, 1e-10, "batch");
        // one step of Euler's method: v + h v̇ without efforts
        let (mut q, mut v) = (q.clone(), v.clone());
        let (step, rest) = (1e-3, vec![0.0; 5 * nv]);
        let drive = Drive::Efforts(&rest);
        let method = FixedMethod::SemiImplicitEuler;
        batch
            .advance(method, step, 1, drive, &mut q, &mut v)
            .unwrap();
        let vdot = dynamics.forward(&state, &rest[..nv], &[]).unwrap();
        let wanted: Vec<f64> = state
            .v
            .iter()
            .zip(vdot)
            .map(|(v, a)| v + step * a)
            .collect();
        assert_close(&v[4 * nv..], &wanted, 1e-11, "advance");
    }
}

/// Derivatives of both dynamics against dual numbers through the whole recursion.
#[test]
fn derivatives_have_the_elements() {
    type D = Dual<f64, 1>;
    for seed in 0..10 {
        let model = loaded(seed, true);
        let state = State::random(&model, seed + 3);
        let nv = model.nv();
        let mut random = Random::new(seed);
        let input: Vec<f64> = (0..nv).map(|_| random.uniform(-1.0, 1.0)).collect();
        let mut dynamics = Dynamics::new(&model);
        let inverse = dynamics
            .inverse_derivatives(&state, &input, &[])
            .unwrap()
            .clone();
        let forward = dynamics
            .forward_derivatives(&state, &input, &[])
            .unwrap()
            .clone();
        for k in 0..nv {
            for which in 0..2 {
                let mut moved: State<D> = state.lift();
                if which == 0 {
                    let mut delta = vec![D::zero(); nv];
                    delta[k] = D::variable(0.0, 0);
                    moved.step(&model, &delta);
                } else {
                    moved.v[k] = D::variable(state.v[k], 0);
                }
                let given: Vec<D> = input.iter().map(|&x| D::constant(x)).collect();
                let (q, v, base) = (&moved.q, &moved.v, &moved.base);
                let mut out = vec![D::zero(); nv];
                let mut work = InverseDynamics::new(&model);
                inverse_dynamics(
                    &model,
                    StateView { q, v, base },
                    &given,
                    &[],
                    &mut work,
                    &mut out,
                );
                let wanted: Vec<f64> = out.iter().map(|x| x.derivative[0]).collect();
                let matrix = if which == 0 { &inverse.dq } else { &inverse.dv };
                let found: Vec<f64> = (0..nv).map(|i| matrix[(i, k)]).collect();
                assert_close(
                    &found,
                    &wanted,
                    1e-10,
                    &format!("{seed} inverse {which} {k}"),
                );
                let mut work = ForwardDynamics::new(&model);
                forward_dynamics(
                    &model,
                    StateView { q, v, base },
                    &given,
                    &[],
                    &mut work,
                    &mut out,
                );
                let wanted: Vec<f64> = out.iter().map(|x| x.derivative[0]).collect();
                let matrix = if which == 0 { &forward.dq } else { &forward.dv };
                let found: Vec<f64> = (0..nv).map(|i| matrix[(i, k)]).collect();
                assert_close(
                    &found,
                    &wanted,
                    1e-8,
                    &format!("{seed} forward {which} {k}"),
                );
            }
        }
    }
}

/// Batches have the same derivatives, of small models and of one whose columns are in the lanes.
#[test]
fn derivatives_of_batches_have_the_elements() {
    let states = 5;
    let mut builder = embedded::builder("chain-40").unwrap();
    load(&mut builder, 3, true);
    let mut models: Vec<Model> = (0..4).map(|seed| loaded(seed, true)).collect();
    models.push(builder.build().unwrap());
    for model in &models {
        let (nv, mut dynamics) = (model.nv(), Dynamics::new(model));
        let all: Vec<State> = (0..states).map(|k| State::random(model, k + 7)).collect();
        let q: Vec<f64> = all.iter().flat_map(|state| state.q.clone()).collect();
        let v: Vec<f64> = all.iter().flat_map(|state| state.v.clone()).collect();
        let input: Vec<f64> = (0..v.len()).map(|k| (k as f64).sin()).collect();
        let mut batch = Batch::new(model).threads(2);
        let mut inverse = vec![0.0; v.len() * 2 * nv];
        let mut forward = vec![0.0; v.len() * 3 * nv];
        batch
            .inverse_derivatives(&q, &v, &input, &mut inverse)
            .unwrap();
        batch
            .forward_derivatives(&q, &v, &input, &mut forward)
            .unwrap();
        for (k, state) in all.iter().enumerate() {
            let given = &input[k * nv..(k + 1) * nv];
            let wanted = dynamics.inverse_derivatives(state, given, &[]).unwrap();
            let wanted = [wanted.dq.as_slice(), wanted.dv.as_slice()].concat();
            let size = 2 * nv * nv;
            assert_close(
                &inverse[k * size..(k + 1) * size],
                &wanted,
                1e-11,
                "inverse",
            );
            let wanted = dynamics.forward_derivatives(state, given, &[]).unwrap();
            let [dq, dv, dtau] = [&wanted.dq, &wanted.dv, &wanted.dtau].map(|m| m.as_slice());
            let wanted = [dq, dv, dtau].concat();
            let size = 3 * nv * nv;
            assert_close(&forward[k * size..(k + 1) * size], &wanted, 1e-8, "forward");
        }
    }
}

/// Inverse dynamics is Y π and the efforts of the elements, −Jᵀ w.
#[test]
fn the_regressor_leaves_the_elements_out() {
    let mut builder = embedded::builder("chain-7").unwrap();
    let ends = [Vec3::new(3.0, -4.0, 2.0), Vec3::new(0.1, 0.2, 0.3)];
    let last = builder.links[6].name.clone();
    let coil = spring("world", &last, ends, [30.0, 0.7, 1.1]);
    builder.force(ForceSpec::new("coil", coil));
    let model = builder.build().unwrap();
    let state = State::random(&model, 3);
    let vdot = vec![0.4; 7];
    let mut dynamics = Dynamics::new(&model);
    let parameters: Vec<f64> = inertial_parameters(&model);
    let mut found = dynamics
        .regressor(&state, &vdot)
        .unwrap()
        .times(&parameters);
    let mut kinematics = Kinematics::new(&model);
    let still = vec![0.0; 7];
    forward_kinematics(&model, state.view(), &still, &mut kinematics);
    let mut wrenches = vec![Force::zero(); model.body_count() + 1];
    element_wrenches(&model, &kinematics, &mut wrenches);
    let mut efforts = vec![0.0; 7];
    generalized(&model, &kinematics, &mut wrenches, &mut efforts);
    for (found, effort) in found.iter_mut().zip(&efforts) {
        *found -= effort;
    }
    let wanted = dynamics.inverse(&state, &vdot, &[]).unwrap();
    assert_close(&found, wanted, 1e-12, "Y π and the elements");
    // a field acts on the inertias themselves
    let error = Dynamics::new(&loaded(1, true))
        .regressor(
            &State::random(&loaded(1, true), 1),
            &vec![0.0; loaded(1, true).nv()],
        )
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.message().contains("gravity gradient"),
        "{}",
        error.message()
    );
}

/// A closed chain with elements is the closed chain under their wrenches.
#[test]
fn closed_chains_have_the_elements() {
    let mut builder = embedded::builder("four-bar-2").unwrap();
    load(&mut builder, 4, true);
    let model = builder.build().unwrap();
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let q: Vec<f64> = (0..model.nv()).map(|k| sign(k) * 1.2).collect();
    let v: Vec<f64> = (0..model.nv()).map(|k| sign(k) * 0.4).collect();
    let state = State::new(&model, &q, &v).unwrap();
    let tau = vec![0.2; model.nv()];
    let mut chain = ClosedChain::new(&model);
    let found = chain.forward(0.0, &state, &tau, &[]).unwrap();
    let (accelerations, multipliers) = (found.accelerations.to_vec(), found.multipliers.to_vec());
    let mut kinematics = Kinematics::new(&model);
    let still = vec![0.0; model.nv()];
    forward_kinematics(&model, state.view(), &still, &mut kinematics);
    let mut wrenches = vec![Force::zero(); model.body_count() + 1];
    element_wrenches(&model, &kinematics, &mut wrenches);
    let mut bare = ClosedChain::new(&model.clone().without_forces());
    let wanted = bare.forward(0.0, &state, &tau, &wrenches).unwrap();
    assert_close(&accelerations, wanted.accelerations, 1e-11, "accelerations");
    assert_close(&multipliers, wanted.multipliers, 1e-11, "multipliers");
    let loads = chain.loads(&state, &tau, &[], Default::default()).unwrap();
    let others = bare
        .loads(&state, &tau, &wrenches, Default::default())
        .unwrap();
    for (a, b) in loads.tree.iter().zip(&others.tree) {
        assert_close(&a.to_array(), &b.to_array(), 1e-10, "loads");
    }
}

/// Implicit integration, in joint and in body coordinates, follows the explicit one.
#[test]
fn implicit_runs_have_the_elements() {
    let model = loaded(2, true);
    let state = State::random(&model, 2);
    let (exact, _) = free_run(&model, &state, explicit(1e-12), 0.5);
    for matrix in [
        NewtonMatrix::Joints,
        NewtonMatrix::Bodies(Default::default()),
    ] {
        let (found, audit) = free_run(&model, &state, bdf_with(1e-9, matrix), 0.5);
        let error = apart(&found, &exact);
        assert!(error < 1e-6, "{matrix:?}: {error:e}");
        assert!(audit.breaches().next().is_none(), "{matrix:?} {audit:?}");
    }
}

/// A slender rod along z on a hinge, or a ball that floats, in a field.
fn rod(joint: JointKind, axis: Vec3<f64>, field: GravityGradient) -> Model {
    let mut builder = ModelBuilder::new("rod");
    builder.gravity = Vec3::zero();
    let about = if joint == JointKind::Free { 2.0 } else { 0.0 };
    builder.link(
        "rod",
        Inertial {
            mass: 3.0,
            centre: Vec3::zero(),
            tensor: Sym3::new(2.0, 2.0, about, 0.0, 0.0, 0.0),
        },
    );
    let mut spec = JointSpec::new("pivot", joint, "world", "rod");
    spec.axes.first = axis;
    builder.joint(spec);
    builder.force(ForceSpec::new("field", ForceRule::GravityGradient(field)));
    builder.build().unwrap()
}

/// A dumbbell in orbit librates with √3 n in the plane of the orbit and with 2 n out of it (Hughes 1986, ch. 9).
#[test]
fn librations_of_a_dumbbell() {
    let n = 0.31;
    let (up, normal) = (Vec3::new(0.0, 0.0, 1.0), Vec3::new(0.0, -1.0, 0.0));
    let field = GravityGradient::Orbit {
        rate: n,
        up,
        normal,
    };
    for (axis, wanted) in [
        (Vec3::new(0.0, 1.0, 0.0), 3.0 * n * n),
        (Vec3::new(1.0, 0.0, 0.0), 4.0 * n * n),
    ] {
        let model = rod(JointKind::Revolute, axis, field);
        let mut dynamics = Dynamics::new(&model);
        let state = State::neutral(&model);
        let slope = dynamics
            .forward_derivatives(&state, &[0.0], &[])
            .unwrap()
            .dq[(0, 0)];
        assert!((slope + wanted).abs() < 1e-14, "{slope} {wanted}");
        // a quarter of a period from rest at a small angle
        let start = State::new(&model, &[1e-4], &[0.0]).unwrap();
        let quarter = std::f64::consts::FRAC_PI_2 / wanted.sqrt();
        let (samples, _) = free_run(&model, &start, explicit(1e-12), quarter);
        // the period grows by φ²/16, relative
        assert!(
            samples[20].state.q[0].abs() < 1e-4 * 1e-8,
            "{:?}",
            samples[20].state.q
        );
    }
    // Newton's field about a centre far away: 3 μ/d³
    let (mu, distance) = (4e5, 60.0);
    for uniform in [true, false] {
        let field = GravityGradient::Centre {
            mu,
            centre: Vec3::new(0.0, 0.0, -distance),
            uniform,
        };
        let model = rod(JointKind::Revolute, Vec3::new(0.0, 1.0, 0.0), field);
        let state = State::neutral(&model);
        let mut dynamics = Dynamics::new(&model);
        let slope = dynamics
            .forward_derivatives(&state, &[0.0], &[])
            .unwrap()
            .dq[(0, 0)];
        let wanted = -3.0 * mu / distance.powi(3);
        assert!(
            (slope - wanted).abs() < 1e-12 * wanted.abs(),
            "{slope} {wanted}"
        );
    }
}

/// A particle in axes that turn with an orbit: Hill's equations, of which ẏ = −2 n x is a closed curve of two by one.
#[test]
fn a_particle_follows_hill() {
    let n = 0.7;
    let field = GravityGradient::Orbit {
        rate: n,
        up: Vec3::new(1.0, 0.0, 0.0),
        normal: Vec3::new(0.0, 0.0, 1.0),
    };
    let model = rod(JointKind::Free, Vec3::new(0.0, 0.0, 1.0), field);
    let mut start = State::neutral(&model);
    start.q[0] = 0.5;
    start.v[1] = -2.0 * n * 0.5;
    let period = std::f64::consts::TAU / n;
    let (samples, audit) = free_run(&model, &start, explicit(1e-12), period);
    for sample in &samples {
        let phase = n * sample.time;
        let wanted = [0.5 * phase.cos(), -phase.sin(), 0.0];
        assert_close(&sample.state.q[..3], &wanted, 1e-10, "place");
    }
    assert!(audit.findings[0].worst < 1e-10);
}

/// A circular orbit around a centre: a ball is drawn like a particle.
#[test]
fn a_circular_orbit_closes() {
    let field = GravityGradient::Centre {
        mu: 5.0,
        centre: Vec3::new(-2.0, 0.0, 0.0),
        uniform: true,
    };
    let model = rod(JointKind::Free, Vec3::new(0.0, 0.0, 1.0), field);
    let mut start = State::neutral(&model);
    let speed = (5.0f64 / 2.0).sqrt();
    start.v[1] = speed;
    let period = std::f64::consts::TAU * 2.0 / speed;
    let (samples, _) = free_run(&model, &start, explicit(1e-12), period);
    assert_close(&samples[20].state.q[..3], &[0.0; 3], 1e-9, "place");
}

/// m g = c₁ v + c₂ v² at the end of a fall.
#[test]
fn drag_has_a_terminal_velocity() {
    let mut builder = ModelBuilder::new("fall");
    builder.link(
        "stone",
        Inertial {
            mass: 2.0,
            centre: Vec3::zero(),
            tensor: Sym3::zero(),
        },
    );
    builder.joint(JointSpec::new(
        "fall",
        JointKind::Prismatic,
        "world",
        "stone",
    ));
    let (linear, quadratic, wind) = (0.5, 0.8, 1.5);
    builder.force(ForceSpec::new(
        "air",
        ForceRule::Drag {
            link: "stone".into(),
            point: Vec3::zero(),
            linear,
            quadratic,
            flow: Vec3::new(0.0, 0.0, wind),
        },
    ));
    let model = builder.build().unwrap();
    let (samples, audit) = free_run(&model, &State::neutral(&model), explicit(1e-11), 20.0);
    let weight = 2.0 * 9.81;
    let speed = ((linear * linear + 4.0 * quadratic * weight).sqrt() - linear) / (2.0 * quadratic);
    let found = samples[20].state.v[0];
    assert!((found - (wind - speed)).abs() < 1e-9, "{found} {speed}");
    assert!(audit.breaches().next().is_none(), "{audit:?}");
}

fn on_a_slide(tension_only: bool, rest_length: f64) -> Model {
    let mut builder = ModelBuilder::new("slide");
    builder.gravity = Vec3::zero();
    builder.link(
        "block",
        Inertial {
            mass: 1.0,
            centre: Vec3::zero(),
            tensor: Sym3::zero(),
        },
    );
    builder.joint(JointSpec::new(
        "slide",
        JointKind::Prismatic,
        "world",
        "block",
    ));
    builder.force(ForceSpec::new(
        "rope",
        ForceRule::Spring {
            parent: "world".into(),
            child: "block".into(),
            parent_point: Vec3::zero(),
            child_point: Vec3::zero(),
            stiffness: 10.0,
            damping: 3.0,
            rest_length,
            tension_only,
        },
    ));
    builder.build().unwrap()
}

#[test]
fn ropes_do_not_push() {
    for (tension_only, q, v, wanted) in [
        (false, 0.5, 0.0, -5.0),
        (true, 0.5, 0.0, 0.0),
        (true, 0.5, 2.0, 0.0),
        (true, 1.5, 0.0, 5.0),
        (true, 1.5, 1.0, 8.0),
        (true, 1.5, -9.0, 0.0), // the damper alone would push
    ] {
        let model = on_a_slide(tension_only, 1.0);
        let state = State::new(&model, &[q], &[v]).unwrap();
        let mut dynamics = Dynamics::new(&model);
        let action = dynamics.force_actions(&state).unwrap()[0];
        assert_eq!(action.measures, [wanted, q, v]);
        assert!(action.dissipated >= 0.0);
        assert!((dynamics.forward(&state, &[0.0], &[]).unwrap()[0] + wanted).abs() < 1e-14);
    }
}

#[test]
fn a_spring_without_length_is_named() {
    let model = on_a_slide(false, 1.0);
    let error = Dynamics::new(&model)
        .forward(&State::neutral(&model), &[0.0], &[])
        .expect_err("no direction");
    assert_eq!(error.kind(), ErrorKind::Singular);
    assert!(error.message().contains("spring `rope` has zero length"));
    let error = Dynamics::new(&model)
        .mechanical_state(&State::neutral(&model))
        .expect_err("no direction");
    assert!(error.message().contains("spring `rope` has zero length"));
}

/// The angle of a torsion spring is that of a joint about its axis, whatever the frames of the links.
#[test]
fn torsion_about_a_joint_is_its_spring() {
    let mut builder = embedded::builder("planar3").unwrap();
    let joint = builder.joints[1].clone();
    let (rest, stiffness) = (0.3, 2.0);
    builder.force(ForceSpec::new(
        "torsion",
        ForceRule::Torsion {
            parent: joint.parent.clone(),
            child: joint.child.clone(),
            axis: Vec3::new(0.0, 0.0, 1.0),
            stiffness,
            damping: 0.4,
            rest,
        },
    ));
    let model = builder.build().unwrap();
    let state = State::new(&model, &[0.2, -1.1, 0.5], &[0.3, 0.6, -0.1]).unwrap();
    let mut dynamics = Dynamics::new(&model);
    let action = dynamics.force_actions(&state).unwrap()[0];
    let torque = stiffness * (-1.1 - rest) + 0.4 * 0.6;
    assert_close(&action.measures, &[torque, -1.1, 0.6], 1e-14, "torsion");
    let efforts = dynamics.force_efforts(&state).unwrap();
    assert_close(&efforts[0], &[0.0, -torque, 0.0], 1e-13, "efforts");
    assert!((action.energy - 0.5 * stiffness * 1.4 * 1.4).abs() < 1e-13);
}

/// Energies of the state have those of the elements.
#[test]
fn energies_are_part_of_the_state() {
    let model = loaded(5, false);
    let state = State::random(&model, 5);
    let mut dynamics = Dynamics::new(&model);
    let actions = dynamics.force_actions(&state).unwrap();
    let all: f64 = actions.iter().map(|action| action.energy).sum();
    let whole = dynamics.mechanical_state(&state).unwrap();
    let bare = model.clone().without_forces();
    let mut kinematics = Kinematics::new(&bare);
    let still = vec![0.0; bare.nv()];
    forward_kinematics(
        &bare,
        StateView {
            q: &state.q,
            v: &state.v,
            base: &Base::fixed(),
        },
        &still,
        &mut kinematics,
    );
    let alone = mechanical_state(&bare, &state.q, &state.v, &kinematics);
    let difference = whole.gravitational + whole.elastic - alone.gravitational - alone.elastic;
    assert!(
        (difference - all).abs() < 1e-9 * all.abs(),
        "{difference} {all}"
    );
}
