//! Derivatives in the scalars that `tests/derivatives.rs` does not run them in (there: `f64`, dual numbers, registers).

use catena::algorithm::derivatives::{
    ForwardDerivatives, ForwardDerivativesWork, InverseDerivatives, InverseDerivativesWork,
    forward_dynamics_derivatives, inverse_dynamics_derivatives,
};
use catena::model::embedded;
use catena::scalar::{Count, Lanes, Scalar};
use catena::{Model, State, StateView};

fn everything<S: Scalar>(model: &Model, state: &State) -> Vec<Vec<S>> {
    let s: State<S> = state.lift();
    let x: Vec<S> = (0..model.nv())
        .map(|k| S::constant(0.1 + 0.05 * k as f64))
        .collect();
    let mut inverse = InverseDerivatives::new(model);
    inverse_dynamics_derivatives(
        model,
        s.view(),
        &x,
        &[],
        &mut InverseDerivativesWork::new(model),
        &mut inverse,
    );
    let mut forward = ForwardDerivatives::new(model);
    forward_dynamics_derivatives(
        model,
        s.view(),
        &x,
        &[],
        &mut ForwardDerivativesWork::new(model),
        &mut forward,
    );
    [
        inverse.dq,
        inverse.dv,
        inverse.inertia,
        forward.dq,
        forward.dv,
        forward.dtau,
    ]
    .map(|matrix| matrix.as_slice().to_vec())
    .to_vec()
}

fn compare<S: Scalar>(scalar: &str, tolerance: f64, value: impl Fn(S) -> f64) {
    for name in ["stanford", "space-robot", "zoo", "random-12-5"] {
        let model = embedded::model(name).unwrap();
        let state = State::random(&model, 21);
        let plain = everything::<f64>(&model, &state);
        let other = everything::<S>(&model, &state);
        for (k, (a, b)) in plain.iter().zip(&other).enumerate() {
            let size = a.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
            for (a, b) in a.iter().zip(b) {
                let difference = (a - value(*b)).abs() / size;
                assert!(
                    difference <= tolerance,
                    "{name}, matrix {k} in {scalar}: {difference:.1e}"
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
fn lanes() {
    compare::<Lanes<4>>("Lanes<4>", 1e-11, |x| x.lane(3));
}

#[test]
fn counting() {
    compare::<Count>("Count", 1e-11, |x| x.value());
}

/// A pair of freedoms costs the same wherever it is: the second difference of the count is constant along a chain.
#[test]
fn operation_counts_are_quadratic() {
    let count = |n: usize| {
        let model = embedded::model(&format!("chain-{n}")).unwrap();
        let variables = |k: usize| {
            (0..k)
                .map(|i| Count::variable(0.1 + i as f64))
                .collect::<Vec<_>>()
        };
        let (q, v, x) = (variables(n), variables(n), variables(n));
        let base = catena::Base::fixed();
        let mut work = InverseDerivativesWork::new(&model);
        let mut out = InverseDerivatives::new(&model);
        let ((), operations) = Count::measure(|| {
            inverse_dynamics_derivatives(
                &model,
                StateView {
                    q: &q,
                    v: &v,
                    base: &base,
                },
                &x,
                &[],
                &mut work,
                &mut out,
            )
        });
        operations
    };
    // six bodies are two periods of the chain's axes
    let [a, b, c, d] = [12, 18, 24, 30].map(count);
    assert_eq!((c - b) - (b - a), (d - c) - (c - b));
}
