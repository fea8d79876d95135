//! Equations that the papers print wrongly: each is computed as printed and as corrected, next to a method that knows nothing of either.
//!
//! The corrected form holds to round-off, and the printed one is off by much more than that. docs/theory has the tables, and says how
//! each misprint is known; `cargo test -p catena --test misprints -- --nocapture` prints by how much the printed forms are off.

use catena::algorithm::natural_orthogonal_complement::Denoc;
use catena::model::embedded;
use catena::residual::{largest, relative};
use catena::spatial::{Motion, Vec3};
use catena::{Dynamics, Matrix, Model, State};

/// Sums of a few bodies a metre apart.
const ROUNDING: f64 = 1e-12;
/// A misprint is not a matter of digits.
const WRONG: f64 = 1e-2;

fn arm(name: &str) -> (Model, State, Denoc<f64>) {
    let model = embedded::model(name).expect("embedded");
    let state = State::random(&model, 11);
    let it = Dynamics::new(&model).denoc(&state).expect("a state");
    (model, state, it)
}

/// Says by how much each form is off, relative to the largest expected number, and asserts what the page says of them.
fn compare(equation: &str, printed: &[f64], corrected: &[f64], expected: &[f64]) {
    let size = largest(expected).max(1.0);
    let printed = relative(printed, expected, size);
    let corrected = relative(corrected, expected, size);
    println!("{equation}: printed off by {printed:.1e}, corrected by {corrected:.1e}");
    assert!(corrected <= ROUNDING, "{equation}: {corrected:.1e}");
    assert!(
        printed >= WRONG,
        "{equation}: the printed form holds to {printed:.1e}"
    );
}

fn matrix(rows: [[f64; 6]; 6]) -> Matrix {
    let mut m = Matrix::zeros(6, 6);
    for (row, entries) in rows.into_iter().enumerate() {
        m.row_mut(row).copy_from_slice(&entries);
    }
    m
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Saha 1995, eq. 16: i_ij = p_iᵀ M̃_i B_ij p_j, printed for i = 1, …, j. It holds for i ≥ j.
#[test]
fn entries_of_the_inertia_matrix_are_those_below_the_diagonal() {
    for name in ["chain-7", "stanford"] {
        let (model, state, it) = arm(name);
        let entry = |i: usize, j: usize| {
            let p = it.column(j - 1).to_array();
            let carried = matrix(it.transfer(i, j)).times(&p);
            let momentum = matrix(it.composite(i).to_matrix()).times(&carried);
            dot(&it.column(i - 1).to_array(), &momentum)
        };
        let n = model.nv();
        let (mut printed, mut corrected) = (Matrix::zeros(n, n), Matrix::zeros(n, n));
        for i in 1..=n {
            for j in 1..=i {
                for place in [(i - 1, j - 1), (j - 1, i - 1)] {
                    corrected[place] = entry(i, j);
                    printed[place] = entry(j, i);
                }
            }
        }
        let mut dynamics = Dynamics::new(&model);
        let expected = dynamics.inertia(&state).expect("a state").as_slice();
        let what = format!("{name}, 1995, eq. 16");
        compare(&what, printed.as_slice(), corrected.as_slice(), expected);
    }
}

/// Saha 1999, eq. 29 for i ≤ j: the first term is p_iᵀ B_jiᵀ M̃_j Ω_j p_j, printed with B_ii, which is the unit matrix.
#[test]
fn convective_terms_are_carried_from_body_to_body() {
    for name in ["chain-7", "stanford"] {
        let (model, state, it) = arm(name);
        let corrected = it.coriolis();
        let mut printed = corrected.clone();
        for j in 1..=model.nv() {
            let rate = it.column_rate(j - 1).to_array();
            let momentum = matrix(it.composite(j).to_matrix()).times(&rate);
            for i in 1..j {
                let p = it.column(i - 1).to_array();
                let carried = matrix(it.transfer(j, i)).transpose().times(&momentum);
                printed[(i - 1, j - 1)] += dot(&p, &momentum) - dot(&p, &carried);
            }
        }
        let mut dynamics = Dynamics::new(&model);
        let still = vec![0.0; model.nv()];
        let moving = dynamics
            .inverse(&state, &still, &[])
            .expect("a state")
            .to_vec();
        let at_rest = State {
            v: still.clone(),
            ..state.clone()
        };
        let weight = dynamics.inverse(&at_rest, &still, &[]).expect("a state");
        let expected: Vec<f64> = moving.iter().zip(weight).map(|(a, b)| a - b).collect();
        let what = format!("{name}, 1999, eq. 29");
        let (printed, corrected) = (printed.times(&state.v), corrected.times(&state.v));
        compare(&what, &printed, &corrected, &expected);
    }
}

/// Saha 1999, sec. 5.1: ν_i = p_i θ̇_i + ν_{i−1} leaves out B. Its upper half is ω nevertheless, its lower half is no velocity.
#[test]
fn twists_without_transfer_are_right_in_their_upper_half_only() {
    let (model, state, it) = arm("chain-7");
    let (mut printed, mut corrected, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    let (mut without, mut with) = (Motion::zero(), Motion::zero());
    for i in 1..=model.nv() {
        let own = it.column(i - 1) * state.v[i - 1];
        without = without + own;
        if i > 1 {
            let carried = matrix(it.transfer(i, i - 1)).times(&with.to_array());
            let part = |k: usize| Vec3::new(carried[k], carried[k + 1], carried[k + 2]);
            with = Motion::new(part(0), part(3));
        }
        with = with + own;
        let omega = it.twist(i).angular;
        assert!((without.angular - omega).norm() <= ROUNDING * omega.norm().max(1.0));
        printed.extend(without.linear.to_array());
        corrected.extend(with.linear.to_array());
        expected.extend(it.twist(i).linear.to_array());
    }
    compare("1999, sec. 5.1, ν", &printed, &corrected, &expected);
}

/// Saha, space robot, eq. 15: D is printed as its inverse.
#[test]
fn the_diagonal_factor_is_not_its_inverse() {
    let (model, state, it) = arm("floating-chain-5");
    let with = |d: &dyn Fn(f64) -> f64| {
        let mut scaled = it.u();
        for row in 0..model.nv() {
            for (column, pivot) in it.pivots().iter().enumerate() {
                scaled[(row, column)] *= d(*pivot);
            }
        }
        scaled.product(&it.u().transpose())
    };
    let (printed, corrected) = (with(&|pivot| 1.0 / pivot), with(&|pivot| pivot));
    let mut dynamics = Dynamics::new(&model);
    let expected = dynamics.inertia(&state).expect("a state").as_slice();
    let what = "space robot, eq. 15";
    compare(what, printed.as_slice(), corrected.as_slice(), expected);
}

/// Saha, space robot, eq. 26: M̂_kk = M̂_k − ψ̂_k ψ_kᵀ, printed with two equal factors. With its joint free the body offers no inertia
/// along it: M̂_kk p_k = 0.
#[test]
fn an_articulated_body_is_free_along_its_joint() {
    let (model, _, it) = arm("chain-7");
    let (mut printed, mut corrected) = (Vec::new(), Vec::new());
    for k in 0..model.nv() {
        // our ψ is the paper's ψ̂, normalised, and our ψ̂ its ψ
        let (normalised, plain, p) = (it.psi(k), it.psi_hat(k), it.column(k));
        let left = |a, b| it.articulated(k).minus_outer(a, b).times(p).to_array();
        printed.extend(left(normalised, normalised));
        corrected.extend(left(normalised, plain));
    }
    let expected = vec![0.0; printed.len()];
    compare("space robot, eq. 26", &printed, &corrected, &expected);
}

/// Saha, space robot, eq. 4: t_e is called the twist of the end-effector. t_i = B_ie t_e + Σ B_ij p_j θ̇_j, behind all of its formulas, holds if
/// E is on body 0, the one that floats.
#[test]
fn the_point_of_the_twist_is_on_the_floating_body() {
    let (model, state, it) = arm("floating-chain-5");
    let n = model.body_count();
    let energy = |of: usize| -> f64 {
        let bodies = (1..=n).map(|i| {
            let mut twist = matrix(it.transfer(i, of)).times(&it.twist(of).to_array());
            for j in 2..=i {
                let p = it.column(it.freedoms(j).start) * state.v[it.freedoms(j).start];
                let carried = matrix(it.transfer(i, j)).times(&p.to_array());
                for (x, y) in twist.iter_mut().zip(carried) {
                    *x += y;
                }
            }
            let momentum = matrix(it.extended_mass(i).to_matrix()).times(&twist);
            0.5 * dot(&twist, &momentum)
        });
        bodies.sum()
    };
    let mut dynamics = Dynamics::new(&model);
    let expected = dynamics.mechanical_state(&state).expect("a state").kinetic;
    compare(
        "space robot, eq. 4",
        &[energy(n)],
        &[energy(1)],
        &[expected],
    );
}

/// Mufti, eqs. 42 and 49, for a pin between two bodies that float: Ω = −Cᵀω = P γ̇, printed without the sign; −Qᵀ Cᵀ ω̇ = Q̇ᵀ Cᵀ ω, printed
/// with Q in place of Q̇, which is zero.
#[test]
fn pins_turn_with_the_body_that_carries_them() {
    let model = embedded::model("floating-chain-2").expect("embedded");
    let state = State::random(&model, 11);
    let mut dynamics = Dynamics::new(&model);
    let vdot: Vec<f64> = (0..model.nv()).map(|k| 0.3 * k as f64 - 0.7).collect();
    let kinematics = dynamics.kinematics(&state, &vdot).expect("a state");
    let in_world = |i: usize, x: Vec3<f64>| kinematics.world_from_body[i].rotation * x;
    let omega = |i: usize| in_world(i, kinematics.velocity[i].angular);
    let rate = |i: usize| in_world(i, kinematics.acceleration[i].angular);
    let axis = kinematics.world_from_body[2].rotation.z;
    // Cᵀ: the body that the arc leaves minus the one that it enters
    let difference = omega(1) - omega(2);
    let expected = (axis * state.v[6]).to_array();
    let (printed, corrected) = (difference.to_array(), (-difference).to_array());
    compare("Mufti, eq. 42", &printed, &corrected, &expected);
    let across = [
        kinematics.world_from_body[2].rotation.x,
        kinematics.world_from_body[2].rotation.y,
    ];
    // two directions across the axis that turn with the carrying body
    let expected = across.map(|q| -q.dot(rate(1) - rate(2)));
    let corrected = across.map(|q| omega(1).cross(q).dot(difference));
    let printed = across.map(|q| q.dot(difference));
    compare("Mufti, eq. 49", &printed, &corrected, &expected);
}
