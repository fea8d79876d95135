//! The algorithms on trees in every scalar, compared with `f64`.

use catena::algorithm::energy::mechanical_state;
use catena::algorithm::factorization::{EndEffector, Factorization, reverse_gaussian_elimination};
use catena::algorithm::forward_dynamics::{
    ForwardDynamics, WalkerOrin, forward_dynamics, forward_dynamics_walker_orin,
};
use catena::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use catena::model::embedded;
use catena::scalar::{Count, Dual, Fused, Lanes, Scalar};
use catena::spatial::{Force, Vec3};
use catena::{Matrix, Model, State, StateView};

/// All results at one state, by name.
fn everything<S: Scalar>(model: &Model, state: &State) -> Vec<(&'static str, Vec<S>)> {
    let s: State<S> = state.lift();
    let nv = model.nv();
    let x: Vec<S> = (0..nv)
        .map(|k| S::constant(0.1 + 0.05 * k as f64))
        .collect();
    let external: Vec<Force<S>> = (0..=model.body_count())
        .map(|k| {
            let c = |a: f64| S::constant(a + 0.1 * k as f64);
            Force::new(
                Vec3::new(c(0.1), c(-0.2), c(0.3)),
                Vec3::new(c(-0.3), c(0.2), c(0.1)),
            )
        })
        .collect();
    let zeros = || vec![S::zero(); nv];
    let mut results = Vec::new();

    let mut tau = zeros();
    inverse_dynamics(
        model,
        s.view(),
        &x,
        &external,
        &mut InverseDynamics::new(model),
        &mut tau,
    );
    results.push(("inverse dynamics", tau));

    let mut vdot = zeros();
    forward_dynamics(
        model,
        s.view(),
        &x,
        &external,
        &mut ForwardDynamics::new(model),
        &mut vdot,
    );
    results.push(("forward dynamics", vdot));

    let mut vdot = zeros();
    forward_dynamics_walker_orin(
        model,
        s.view(),
        &x,
        &external,
        &mut WalkerOrin::new(model),
        &mut vdot,
    );
    results.push(("Walker–Orin", vdot));

    let mut inertia = Matrix::zeros(nv, nv);
    inertia_matrix(
        model,
        &s.q,
        &mut CompositeBodies::new(model),
        inertia.as_mut_slice(),
    );
    let elimination = reverse_gaussian_elimination(&inertia);
    results.push(("elimination D", elimination.d.clone()));
    results.push(("elimination solve", elimination.solve(&x)));
    results.push(("inertia matrix", inertia.as_slice().to_vec()));

    let mut coriolis = Matrix::zeros(nv, nv);
    coriolis_matrix(
        model,
        s.view(),
        &mut CoriolisMatrix::new(model),
        &mut coriolis,
    );
    results.push(("C matrix", coriolis.as_slice().to_vec()));

    let mut factors = Factorization::new(model);
    factors.factorize(model, &s.q);
    let mut solution = x.clone();
    factors.solve(model, &mut solution);
    results.push(("I x = b", solution));
    results.push(("D", factors.d()));
    results.push(("U", factors.u(model).as_slice().to_vec()));
    let offset = Vec3::new(S::constant(0.1), S::constant(0.2), S::constant(0.3));
    if let Some(e) = EndEffector::new(model, &factors, 1, offset) {
        results.push(("Î_e", e.inertia(model, &factors).as_slice().to_vec()));
    }

    let mut kinematics = Kinematics::new(model);
    forward_kinematics(model, s.view(), &x, &mut kinematics);
    let frame = model.tree().frames.last().unwrap();
    let mut jacobian = Matrix::zeros(6, nv);
    frame_jacobian(model, &kinematics, frame, &mut jacobian);
    results.push(("Jacobian", jacobian.as_slice().to_vec()));
    results.push((
        "acceleration of a frame",
        kinematics.frame_acceleration(frame).to_array().to_vec(),
    ));
    let m = mechanical_state(model, &s.q, &s.v, &kinematics);
    results.push(("energies", vec![m.kinetic, m.gravitational, m.elastic]));
    results.push(("momentum", m.momentum.to_array().to_vec()));
    results
}

fn compare<S: Scalar>(scalar: &str, tolerance: f64, value: impl Fn(S) -> f64) {
    for name in [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "random-12-5",
        "pendulum-4",
    ] {
        let model = embedded::model(name).unwrap();
        let state = State::random(&model, 21);
        let plain = everything::<f64>(&model, &state);
        let other = everything::<S>(&model, &state);
        assert_eq!(plain.len(), other.len());
        for ((what, a), (_, b)) in plain.iter().zip(&other) {
            let size = a.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
            for (k, (a, b)) in a.iter().zip(b).enumerate() {
                let difference = (a - value(*b)).abs() / size;
                assert!(
                    difference <= tolerance,
                    "{name}, {what}[{k}] in {scalar}: {a} and {} ({difference:.1e})",
                    value(*b)
                );
            }
        }
    }
}

#[test]
fn single_precision() {
    // 24 bits, and a condition number of up to 1e3 in these models
    compare::<f32>("f32", 2e-3, f64::from);
}

#[test]
fn fused() {
    compare::<Fused>("Fused", 1e-11, |x| x.0);
}

#[test]
fn lanes() {
    compare::<Lanes<4>>("Lanes<4>", 1e-11, |x| x.lane(3));
}

#[test]
fn dual_numbers() {
    compare::<Dual<f64, 2>>("Dual<f64, 2>", 1e-11, |x| x.value);
}

#[test]
fn counting() {
    compare::<Count>("Count", 1e-11, |x| x.value());
}

/// Different states in different lanes give what single calls give.
#[test]
fn lanes_hold_different_states() {
    let model = embedded::model("zoo").unwrap();
    let states: Vec<State> = (0..4).map(|k| State::random(&model, 50 + k)).collect();
    let pack = |part: fn(&State) -> &Vec<f64>| -> Vec<Lanes<4>> {
        (0..part(&states[0]).len())
            .map(|k| Lanes::from([0, 1, 2, 3].map(|lane: usize| part(&states[lane])[k])))
            .collect()
    };
    let (q, v) = (pack(|s| &s.q), pack(|s| &s.v));
    let one = vec![Lanes::<4>::constant(1.0); model.nv()];
    let base = catena::Base::fixed();
    let mut vdot = one.clone();
    forward_dynamics(
        &model,
        StateView {
            q: &q,
            v: &v,
            base: &base,
        },
        &one,
        &[],
        &mut ForwardDynamics::new(&model),
        &mut vdot,
    );
    for (lane, state) in states.iter().enumerate() {
        let mut single = vec![0.0; model.nv()];
        let efforts = vec![1.0; model.nv()];
        forward_dynamics(
            &model,
            state.view(),
            &efforts,
            &[],
            &mut ForwardDynamics::new(&model),
            &mut single,
        );
        let size = single.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        for (a, b) in vdot.iter().zip(&single) {
            assert!((a.lane(lane) - b).abs() <= 1e-11 * size);
        }
    }
}

/// A chain costs the same for every further body: the recursions are linear, to the last operation.
#[test]
fn operation_counts_are_linear() {
    let count = |n: usize| {
        let model = embedded::model(&format!("chain-{n}")).unwrap();
        let variables = |k: usize| {
            (0..k)
                .map(|i| Count::variable(0.1 + i as f64))
                .collect::<Vec<_>>()
        };
        let (q, v, x) = (variables(n), variables(n), variables(n));
        let base = catena::Base::fixed();
        let mut out = variables(n);
        let mut inverse = InverseDynamics::new(&model);
        let mut forward = ForwardDynamics::new(&model);
        let ((), a) = Count::measure(|| {
            inverse_dynamics(
                &model,
                StateView {
                    q: &q,
                    v: &v,
                    base: &base,
                },
                &x,
                &[],
                &mut inverse,
                &mut out,
            )
        });
        let ((), b) = Count::measure(|| {
            forward_dynamics(
                &model,
                StateView {
                    q: &q,
                    v: &v,
                    base: &base,
                },
                &x,
                &[],
                &mut forward,
                &mut out,
            )
        });
        (a, b)
    };
    // three bodies are one period of the chain's axes
    let (a, b, c) = (count(30), count(60), count(90));
    assert_eq!(b.0 - a.0, c.0 - b.0);
    assert_eq!(b.1 - a.1, c.1 - b.1);
}
