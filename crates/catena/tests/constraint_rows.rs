//! ξ, J and bias of every kind of constraint: J and the rates against dual numbers, on open and on closed loops.

use catena::algorithm::constrained::{Axes, Rows};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::residual::larger;
use catena::scalar::Dual;
use catena::{Base, Model, Scalar, State};
use catena_testing::random_closed;

fn rows<S: Scalar>(model: &Model, axes: Axes, time: S, state: &State<S>) -> Rows<S> {
    let mut kinematics = Kinematics::new(model);
    let still = vec![S::zero(); model.nv()];
    forward_kinematics(model, state.view(), &still, &mut kinematics);
    let mut rows = Rows::new(model, axes);
    rows.evaluate(model, time, &state.q, &state.v, &kinematics);
    rows
}

type Once = Dual<f64, 1>;
type Twice = Dual<Once, 1>;

/// q ⊕ ε v + ε²/2 v̇ at t + ε: residual, rate and second rate along a motion come out of one evaluation of ξ in nested duals.
fn along(model: &Model, axes: Axes, time: f64, state: &State, direction: &[f64]) -> Vec<[f64; 3]> {
    let epsilon = Twice {
        value: Once::variable(0.0, 0),
        derivative: [Once::constant_value(1.0)],
    };
    let mut moved: State<Twice> = state.lift();
    let delta: Vec<Twice> = direction
        .iter()
        .map(|&v| Twice::constant(v) * epsilon)
        .collect();
    moved.step(model, &delta);
    let rows = rows(model, axes, Twice::constant(time) + epsilon, &moved);
    rows.residual
        .iter()
        .map(|xi| {
            [
                xi.value.value,
                xi.value.derivative[0],
                xi.derivative[0].derivative[0],
            ]
        })
        .collect()
}

/// Along q ⊕ v t the velocities of plain coordinates and child-axis turning rates are constant: v̇ = 0, so ξ̈ is the bias.
#[test]
fn rates_are_derivatives_of_residuals() {
    let mut worst = 0.0f64;
    let mut kinds = std::collections::HashSet::new();
    for seed in 1..=60 {
        let (builder, mut state) =
            random_closed(2 + seed as usize % 11, 9, seed).expect("possible");
        let model = builder.build().expect("sound");
        // on every third model the loops are closed, on the others wide open
        if seed % 3 != 0 {
            let away = State::random(&model, seed + 500);
            state = away;
        }
        let time = 0.37;
        for axes in [Axes::Parent, Axes::World] {
            let exact = rows(&model, axes, time, &state);
            let jacobian = exact.dense(model.nv());
            let expected = along(&model, axes, time, &state, &state.v);
            let reference = along(&model, axes, time, &state, &vec![0.0; model.nv()]);
            for (row, [residual, rate, second]) in expected.into_iter().enumerate() {
                let block = exact
                    .blocks()
                    .iter()
                    .position(|b| row < b.first + b.rows)
                    .unwrap();
                let kind = model.constraints()[block].kind();
                kinds.insert(kind);
                // a half turn is a pole of tilt and turn: entries grow without bound near it
                let size = 1.0
                    + jacobian.row(row).iter().map(|x| x.abs()).sum::<f64>()
                    + second.abs()
                    + exact.residual[row].powi(2);
                for (what, error) in [
                    ("residual", exact.residual[row] - residual),
                    ("rate", exact.rate[row] - rate),
                    ("bias", exact.bias[row] - second),
                ] {
                    worst = larger(worst, error.abs() / size);
                    assert!(
                        error.abs() < 1e-11 * size,
                        "seed {seed} {axes:?} row {row} of {kind}: {what} off by {error:.2e} of {size:.1e}"
                    );
                }
                // ξ̇ = J v + ∂ξ/∂t
                let product: f64 = jacobian
                    .row(row)
                    .iter()
                    .zip(&state.v)
                    .map(|(j, v)| j * v)
                    .sum();
                let error = exact.rate[row] - product - reference[row][1];
                assert!(
                    error.abs() < 1e-11 * size,
                    "seed {seed} row {row} of {kind}: {error:.2e}"
                );
            }
        }
    }
    assert_eq!(kinds.len(), 11, "{kinds:?}");
    println!("worst {worst:.2e}");
}

/// Closed loops have no residual, their unit wrenches are orthonormal, and a row has entries on its loop only.
#[test]
fn closed_loops_have_orthonormal_wrenches() {
    for seed in 1..=30 {
        let (builder, mut state) = random_closed(4 + seed as usize % 9, 9, seed).expect("possible");
        let model = builder.build().expect("sound");
        state.base = Base::fixed();
        let rows = rows(&model, Axes::Parent, 0.0, &state);
        for (xi, block) in rows.residual.iter().zip(0..) {
            assert!(xi.abs() < 1e-13, "seed {seed} row {block}: {xi:.1e}");
        }
        for (index, block) in rows.blocks().iter().enumerate() {
            if model.constraints()[index].bodies().is_none() {
                continue;
            }
            for i in block.first..block.first + block.rows {
                for j in block.first..block.first + block.rows {
                    let (a, b) = (rows.wrench[i], rows.wrench[j]);
                    let product = a.moment.dot(b.moment) + a.force.dot(b.force);
                    let expected = f64::from(u8::from(i == j));
                    assert!(
                        (product - expected).abs() < 1e-13,
                        "seed {seed}: {i} {j}: {product}"
                    );
                }
            }
        }
    }
}
