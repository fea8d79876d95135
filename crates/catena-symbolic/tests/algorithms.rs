//! Every algorithm of catena in symbols, evaluated at random states, against the same algorithm in numbers.

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
use catena::scalar::Dual;
use catena::spatial::{Force, Vec3};
use catena::{Base, Matrix, Model, Scalar, State, StateView};
use catena_symbolic::{Expr, Program, evaluate, gradient, jacobian, scope};

/// All results at one state, by name.
fn everything<S: Scalar>(model: &Model, q: &[S], v: &[S], x: &[S]) -> Vec<(&'static str, Vec<S>)> {
    let nv = model.nv();
    let base = Base::fixed();
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
    let mut out = zeros();
    let mut work = InverseDynamics::new(model);
    inverse_dynamics(
        model,
        StateView { q, v, base: &base },
        x,
        &external,
        &mut work,
        &mut out,
    );
    results.push(("inverse dynamics", out));
    let mut out = zeros();
    let mut work = ForwardDynamics::new(model);
    forward_dynamics(
        model,
        StateView { q, v, base: &base },
        x,
        &external,
        &mut work,
        &mut out,
    );
    results.push(("forward dynamics", out));
    let mut out = zeros();
    let mut work = WalkerOrin::new(model);
    forward_dynamics_walker_orin(
        model,
        StateView { q, v, base: &base },
        x,
        &external,
        &mut work,
        &mut out,
    );
    results.push(("Walker–Orin", out));
    let mut inertia = Matrix::zeros(nv, nv);
    let mut work = CompositeBodies::new(model);
    inertia_matrix(model, q, &mut work, inertia.as_mut_slice());
    let elimination = reverse_gaussian_elimination(&inertia);
    results.push(("elimination", elimination.solve(x)));
    results.push(("inertia matrix", inertia.as_slice().to_vec()));
    let mut coriolis = Matrix::zeros(nv, nv);
    let mut work = CoriolisMatrix::new(model);
    coriolis_matrix(
        model,
        StateView { q, v, base: &base },
        &mut work,
        &mut coriolis,
    );
    results.push(("C matrix", coriolis.as_slice().to_vec()));
    let mut factors = Factorization::new(model);
    factors.factorize(model, q);
    let mut solution = x.to_vec();
    factors.solve(model, &mut solution);
    results.push(("I x = b", solution));
    results.push(("D", factors.d()));
    results.push(("U", factors.u(model).as_slice().to_vec()));
    let offset = Vec3::new(S::constant(0.1), S::constant(0.2), S::constant(0.3));
    if let Some(e) = EndEffector::new(model, &factors, 1, offset) {
        results.push(("Î_e", e.inertia(model, &factors).as_slice().to_vec()));
    }
    let mut kinematics = Kinematics::new(model);
    forward_kinematics(model, StateView { q, v, base: &base }, x, &mut kinematics);
    let frame = model.tree().frames.last().unwrap();
    let mut jacobian = Matrix::zeros(6, nv);
    frame_jacobian(model, &kinematics, frame, &mut jacobian);
    results.push(("Jacobian", jacobian.as_slice().to_vec()));
    results.push((
        "acceleration of a frame",
        kinematics.frame_acceleration(frame).to_array().to_vec(),
    ));
    let m = mechanical_state(model, q, v, &kinematics);
    results.push(("energies", vec![m.kinetic, m.gravitational, m.elastic]));
    results.push(("momentum", m.momentum.to_array().to_vec()));
    results
}

/// The value of `name[k]`.
fn entry(arrays: &[(&str, &[f64])], symbol: &str) -> f64 {
    let (name, index) = symbol.trim_end_matches(']').split_once('[').unwrap();
    let (_, numbers) = arrays.iter().find(|(array, _)| *array == name).unwrap();
    numbers[index.parse::<usize>().unwrap()]
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(1e-3f64, |m, x| m.max(x.abs()))
}

#[test]
fn symbols_evaluate_to_numbers() {
    for name in [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "random-6-5",
        "pendulum-3",
    ] {
        let model = embedded::model(name).unwrap();
        let state = State::random(&model, 21);
        let x: Vec<f64> = (0..model.nv()).map(|k| 0.1 + 0.05 * k as f64).collect();
        let plain = everything::<f64>(&model, &state.q, &state.v, &x);
        scope(|| {
            let (q, v) = (
                Expr::symbols("q", model.nq()),
                Expr::symbols("v", model.nv()),
            );
            let symbolic = everything(&model, &q, &v, &Expr::symbols("x", model.nv()));
            let arrays: [(&str, &[f64]); 3] = [("q", &state.q), ("v", &state.v), ("x", &x)];
            for ((what, numbers), (_, formulas)) in plain.iter().zip(&symbolic) {
                let direct = evaluate(formulas, |symbol| entry(&arrays, symbol));
                let program = Program::new(formulas);
                let optimised = program.evaluate(|symbol| entry(&arrays, symbol));
                let size = largest(numbers);
                // other orders of the same sums: round-off times the condition numbers of these models (up to 1e3)
                let tolerance = 1e-12 * size;
                for (k, number) in numbers.iter().enumerate() {
                    for value in [direct[k], optimised[k]] {
                        assert!(
                            (value - number).abs() <= tolerance,
                            "{name}, {what}[{k}]: {value} and {number}"
                        );
                    }
                }
            }
        });
    }
}

/// Forward and reverse differentiation of the graph against dual numbers.
#[test]
fn derivatives_of_the_graph() {
    let model = embedded::model("stanford").unwrap();
    let state = State::random(&model, 4);
    let nv = model.nv();
    let x: Vec<f64> = (0..nv).map(|k| 0.3 - 0.1 * k as f64).collect();
    let mut expected = vec![0.0; nv * nv];
    let lift = |numbers: &[f64]| -> Vec<Dual<f64, 1>> {
        numbers.iter().map(|x| Dual::constant_value(*x)).collect()
    };
    for column in 0..nv {
        let mut q = lift(&state.q);
        q[column].derivative[0] = 1.0;
        let mut tau = lift(&x);
        let mut work = InverseDynamics::new(&model);
        let base = Base::fixed();
        let (v, x) = (lift(&state.v), lift(&x));
        inverse_dynamics(
            &model,
            StateView {
                q: &q,
                v: &v,
                base: &base,
            },
            &x,
            &[],
            &mut work,
            &mut tau,
        );
        for row in 0..nv {
            expected[row * nv + column] = tau[row].derivative[0];
        }
    }
    scope(|| {
        let [q, v, vdot] = ["q", "v", "x"].map(|name| Expr::symbols(name, nv));
        let mut tau = q.clone();
        let mut work = InverseDynamics::new(&model);
        let base = Base::fixed();
        inverse_dynamics(
            &model,
            StateView {
                q: &q,
                v: &v,
                base: &base,
            },
            &vdot,
            &[],
            &mut work,
            &mut tau,
        );
        let forward = jacobian(&tau, &q);
        let reverse: Vec<Expr> = tau.iter().flat_map(|t| gradient(*t, &q)).collect();
        let arrays: [(&str, &[f64]); 3] = [("q", &state.q), ("v", &state.v), ("x", &x)];
        for way in [forward, reverse] {
            let values = evaluate(&way, |symbol| entry(&arrays, symbol));
            for (value, number) in values.iter().zip(&expected) {
                assert!((value - number).abs() <= 1e-13 * largest(&expected));
            }
        }
    });
}
