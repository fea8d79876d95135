//! Derivatives of closed chains against dual numbers through dense equations and against differences in twice the digits, their freedoms, and efforts of chosen actuators against forward
//! dynamics.

use catena::ClosedChain;
use catena::algorithm::constrained::chosen_rows::forward_dynamics_closed;
use catena::algorithm::constrained::{Axes, Route, Rows};
use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::model::embedded;
use catena::random::Random;
use catena::residual::larger;
use catena::scalar::{DoubleDouble, Dual, Scalar};
use catena::{Base, Matrix, Model, State, StateView};
use catena_testing::random_closed;

type D = Dual<f64, 1>;

/// v̇ and λ from [I −Jᵀ; J 0] densely, in numbers that carry a derivative. The elimination chooses pivots by value.
fn dense(model: &Model<D>, q: &[D], v: &[D], tau: &[D]) -> (Vec<D>, Vec<D>) {
    let nv = v.len();
    let base = Base::fixed();
    let zero = vec![D::zero(); nv];
    let mut kinematics = Kinematics::new(model);
    forward_kinematics(
        model,
        StateView { q, v, base: &base },
        &zero,
        &mut kinematics,
    );
    let mut rows: Rows<D> = Rows::new(model, Axes::Parent);
    rows.evaluate(model, D::zero(), q, v, &kinematics);
    let jacobian = rows.dense(nv);
    let m = rows.count();
    let mut bias = zero.clone();
    let mut work = InverseDynamics::new(model);
    inverse_dynamics(
        model,
        StateView { q, v, base: &base },
        &zero,
        &[],
        &mut work,
        &mut bias,
    );
    let mut inertia = Matrix::zeros(nv, nv);
    let mut composite = CompositeBodies::new(model);
    inertia_matrix(model, q, &mut composite, inertia.as_mut_slice());
    let size = nv + m;
    let mut a: Vec<Vec<D>> = vec![vec![D::zero(); size + 1]; size];
    for i in 0..nv {
        for j in 0..nv {
            a[i][j] = inertia[(i, j)];
        }
        for k in 0..m {
            a[i][nv + k] = -jacobian[(k, i)];
            a[nv + k][i] = jacobian[(k, i)];
        }
        a[i][size] = tau[i] - bias[i];
    }
    for k in 0..m {
        a[nv + k][size] = -rows.bias[k];
    }
    for p in 0..size {
        let best = (p..size)
            .max_by(|&i, &j| a[i][p].value.abs().total_cmp(&a[j][p].value.abs()))
            .expect("rows");
        a.swap(p, best);
        let pivot = a[p].clone();
        for row in a.iter_mut().skip(p + 1) {
            let factor = row[p] / pivot[p];
            for c in p..=size {
                row[c] -= factor * pivot[c];
            }
        }
    }
    let mut x = vec![D::zero(); size];
    for p in (0..size).rev() {
        let mut sum = a[p][size];
        for c in p + 1..size {
            sum -= a[p][c] * x[c];
        }
        x[p] = sum / a[p][p];
    }
    (x[..nv].to_vec(), x[nv..].to_vec())
}

fn lift(x: &[f64]) -> Vec<D> {
    x.iter().map(|&x| D::constant(x)).collect()
}

/// Random mechanisms with independent rows, at closed states.
fn mechanisms(count: usize) -> Vec<(Model, State, Vec<f64>, u64)> {
    let mut found = Vec::new();
    for seed in 1..4000u64 {
        let (builder, mut state) =
            random_closed(8 + seed as usize % 5, 1 + seed as usize % 3, seed).expect("possible");
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let (rank, values) = chain.rank(0.0, &state).expect("finite");
        let conditioned = values.last().is_some_and(|s| s / values[0] > 1e-3);
        if rank < chain.row_count() || rank >= model.nv() || !conditioned {
            continue;
        }
        if chain.project(0.0, &mut state).is_err() {
            continue;
        }
        let mut random = Random::new(seed);
        let tau = (0..model.nv()).map(|_| random.uniform(-3.0, 3.0)).collect();
        found.push((model, state, tau, seed));
        if found.len() == count {
            break;
        }
    }
    assert_eq!(found.len(), count);
    found
}

/// The bicycle and the sleigh, turning.
fn rolling() -> Vec<(Model, State, Vec<f64>, u64)> {
    let mut found = Vec::new();
    for name in ["bicycle", "sleigh"] {
        let model = embedded::model(name).expect("embedded");
        for seed in 1..4 {
            let mut random = Random::new(seed);
            let mut guess = State::start(&model);
            let mut numbers = |size: f64| -> Vec<f64> {
                let one = |_| random.uniform(-size, size);
                (0..model.nv()).map(one).collect()
            };
            guess.step(&model, &numbers(0.3));
            for (v, change) in guess.v.iter_mut().zip(numbers(1.0)) {
                *v += change;
            }
            let tau = numbers(3.0);
            let mut chain = ClosedChain::new(&model);
            let state = chain.assemble(0.0, &guess, &[]).expect("it rolls").state;
            found.push((model.clone(), state, tau, seed));
        }
    }
    found
}

/// Friction jumps with the sign of the velocity; its derivative is zero on both sides, as in the tree's.
#[test]
fn derivatives_are_those_of_dual_numbers() {
    let mut worst = 0.0f64;
    for (model, state, tau, seed) in mechanisms(100).into_iter().chain(rolling()) {
        let nv = model.nv();
        let dual_model = model.map(D::constant);
        for route in [Route::CutLoops, Route::AlongTree] {
            let mut chain = ClosedChain::new(&model);
            chain.choose_route(route);
            let Ok(found) = chain.derivatives(0.0, &state, &tau, &[]) else {
                continue;
            };
            for which in 0..3 {
                for k in (0..nv).step_by(3) {
                    let mut dual = State {
                        q: lift(&state.q),
                        v: lift(&state.v),
                        base: Base::fixed(),
                    };
                    let mut effort = lift(&tau);
                    match which {
                        0 => {
                            let mut delta = vec![D::zero(); nv];
                            delta[k] = D::variable(0.0, 0);
                            dual.step(&dual_model, &delta);
                        }
                        1 => dual.v[k] = D::variable(state.v[k], 0),
                        _ => effort[k] = D::variable(tau[k], 0),
                    }
                    let (a, lambda) = dense(&dual_model, &dual.q, &dual.v, &effort);
                    let columns = [
                        (&found.accelerations[which], &a),
                        (&found.multipliers[which], &lambda),
                    ];
                    for (matrix, exact) in columns {
                        let scale = exact.iter().fold(1.0f64, |m, x| {
                            m.max(x.derivative[0].abs()).max(x.value.abs())
                        });
                        for (i, x) in exact.iter().enumerate() {
                            let error = (matrix[(i, k)] - x.derivative[0]).abs() / scale;
                            assert!(
                                error < 1e-9,
                                "seed {seed} {route:?} {which} ({i}, {k}): {} {}",
                                matrix[(i, k)],
                                x.derivative[0]
                            );
                            worst = larger(worst, error);
                        }
                    }
                }
            }
        }
    }
    println!("worst {worst:.1e}");
}

/// Differences of accelerations and multipliers in double-double arithmetic, (8 (f₁ − f₋₁) − (f₂ − f₋₂)) / 12 h: their own error is of the order
/// h⁴ = 1e-16 times a fifth derivative.
#[test]
fn derivatives_are_those_of_differences() {
    const STEP: f64 = 1e-4;
    let mut worst = 0.0f64;
    for (model, state, tau, seed) in mechanisms(100).into_iter().chain(rolling()) {
        let nv = model.nv();
        let mut chain = ClosedChain::new(&model);
        let found = chain.derivatives(0.0, &state, &tau, &[]).expect("closed");
        let rows: Vec<usize> = (0..chain.row_count()).collect();
        for which in 0..3 {
            for k in (which..nv).step_by(3) {
                // friction jumps where a velocity changes its sign
                if which == 1 && model.dof(k).friction != 0.0 && state.v[k].abs() <= 2.0 * STEP {
                    continue;
                }
                let at = |steps: f64| -> Vec<DoubleDouble> {
                    let move_by = DoubleDouble::from(steps * STEP);
                    let mut moved: State<DoubleDouble> = state.lift();
                    let mut effort: Vec<DoubleDouble> = tau.iter().map(|&x| x.into()).collect();
                    // the step of nothing too, which gives quaternions length one in these digits
                    let mut delta = vec![DoubleDouble::zero(); nv];
                    match which {
                        0 => delta[k] = move_by,
                        1 => moved.v[k] += move_by,
                        _ => effort[k] += move_by,
                    }
                    moved.step(&model, &delta);
                    let time = DoubleDouble::zero();
                    let view = moved.view();
                    let (a, lambda) =
                        forward_dynamics_closed(&model, &rows, time, view, &effort, &[]);
                    a.into_iter().chain(lambda).collect()
                };
                let [far, near, back, far_back] = [2.0, 1.0, -1.0, -2.0].map(at);
                let slope = |i: usize| -> f64 {
                    let eight = DoubleDouble::from(8.0);
                    let sum = eight * (near[i] - back[i]) - (far[i] - far_back[i]);
                    (sum / DoubleDouble::from(12.0 * STEP)).value()
                };
                let slopes: Vec<f64> = (0..near.len()).map(slope).collect();
                let entry = |i: usize| match i < nv {
                    true => found.accelerations[which][(i, k)],
                    false => found.multipliers[which][(i - nv, k)],
                };
                for range in [0..nv, nv..slopes.len()] {
                    let scale = range.clone().fold(1.0f64, |m, i| {
                        m.max(slopes[i].abs()).max(near[i].value().abs())
                    });
                    for i in range {
                        let error = (entry(i) - slopes[i]).abs() / scale;
                        worst = larger(worst, error);
                        assert!(
                            error < 1e-9,
                            "seed {seed} {which} ({i}, {k}), v {}: {error:.1e}",
                            state.v[k]
                        );
                    }
                }
            }
        }
    }
    println!("worst {worst:.1e}");
}

/// Of a hundred mechanisms: J Z = 0, inverse dynamics along Z returns the efforts without any multiplier, and the accelerations by chosen rows
/// are those of the library.
#[test]
fn freedoms_have_the_equations_of_the_mechanism() {
    let mut worst = [0.0f64; 3];
    for (model, state, tau, seed) in mechanisms(100) {
        let mut chain = ClosedChain::new(&model);
        let Ok(motion) = chain.forward(0.0, &state, &tau, &[]) else {
            panic!("seed {seed} is closed");
        };
        let (vdot, lambda) = (motion.accelerations.to_vec(), motion.multipliers.to_vec());
        let freedoms = chain.freedoms(0.0, &state).expect("independent rows");
        assert_eq!(freedoms.independent.len() + lambda.len(), model.nv());
        let jacobian = chain.rows(0.0, &state).expect("finite").dense(model.nv());
        let largest = |x: &[f64]| x.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let size = largest(freedoms.basis.as_slice()) * largest(jacobian.as_slice());
        let kept = jacobian.product(&freedoms.basis);
        for x in kept.as_slice() {
            worst[0] = larger(worst[0], x.abs() / size);
        }
        let efforts = chain.tree().inverse(&state, &vdot, &[]).expect("finite");
        let size = largest(efforts) * largest(freedoms.basis.as_slice());
        let (own, given) = (freedoms.contract(efforts), freedoms.contract(&tau));
        for (own, given) in own.iter().zip(&given) {
            worst[1] = larger(worst[1], (own - given).abs() / size);
        }
        let (rows, view) = (&freedoms.rows, state.view());
        let (a, multipliers) = forward_dynamics_closed(&model, rows, 0.0, view, &tau, &[]);
        let size = largest(&vdot).max(largest(&lambda));
        for (x, y) in a.iter().chain(&multipliers).zip(vdot.iter().chain(&lambda)) {
            worst[2] = larger(worst[2], (x - y).abs() / size);
        }
    }
    let [kept, efforts, code] = worst;
    println!("worst {kept:.1e} {efforts:.1e} {code:.1e}");
    assert!(worst.iter().all(|x| *x < 1e-9), "{worst:?}");
}

/// Every mass, moment and length of the model, one after the other. Zeros and ones are left alone: some of them belong to rotations,
/// which are none any more if one of their numbers changes.
#[test]
fn masses_and_lengths_count() {
    let model = embedded::model("slider-crank").expect("embedded");
    let mut chain = ClosedChain::new(&model);
    let mut guess = State::neutral(&model);
    let tree = model.tree();
    guess.q[tree.bodies[tree.body("slider").expect("there")].q] = 0.2;
    guess.v[0] = 6.0;
    let state = chain.assemble(0.0, &guess, &[0]).expect("it closes").state;
    let tau = vec![0.1; model.nv()];
    let numbers = std::cell::RefCell::new(Vec::new());
    model.map(|x| numbers.borrow_mut().push(x));
    let numbers = numbers.into_inner();
    let mut checked = 0;
    for (k, x) in numbers.iter().enumerate() {
        if [0.0, 1.0].contains(&x.abs()) {
            continue;
        }
        let at = std::cell::Cell::new(0usize);
        let varied = model.map(|x| {
            let here = at.replace(at.get() + 1);
            if here == k {
                D::variable(x, 0)
            } else {
                D::constant(x)
            }
        });
        let [(a, lambda)] = chain
            .parameter_derivatives(0.0, &state, &tau, &[], &varied)
            .expect("closed");
        let (exact, multipliers) = dense(&varied, &lift(&state.q), &lift(&state.v), &lift(&tau));
        let scale = exact
            .iter()
            .chain(&multipliers)
            .fold(1.0f64, |m, x| m.max(x.derivative[0].abs()));
        for (found, exact) in a
            .iter()
            .chain(&lambda)
            .zip(exact.iter().chain(&multipliers))
        {
            assert!(
                (found - exact.derivative[0]).abs() < 1e-9 * scale,
                "number {k}: {found} {}",
                exact.derivative[0]
            );
        }
        checked += usize::from(scale > 1.0);
    }
    println!("{checked} of {} numbers matter", numbers.len());
    assert!(checked > 5);
}

/// Forward dynamics under the efforts found gives the motion asked for; with more actuators than needed they are shorter.
#[test]
fn actuators_produce_the_motion() {
    let mut seen = 0;
    for (model, state, tau, seed) in mechanisms(12) {
        let nv = model.nv();
        let mut chain = ClosedChain::new(&model);
        let Ok(motion) = chain.forward(0.0, &state, &tau, &[]) else {
            continue;
        };
        let vdot = motion.accelerations.to_vec();
        let freedoms = nv - motion.rank;
        let all: Vec<usize> = (0..nv).collect();
        let shortest = chain.inverse(0.0, &state, &vdot, &[], &all).expect("all");
        assert_eq!(shortest.freedoms, freedoms);
        assert_eq!(shortest.surplus, nv - freedoms);
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(norm(&shortest.efforts) <= norm(&tau) * (1.0 + 1e-9));
        // half of the freedoms, if they govern all
        let some: Vec<usize> = (0..nv).step_by(2).collect();
        let mut tried = vec![shortest];
        match chain.inverse(0.0, &state, &vdot, &[], &some) {
            Ok(efforts) => tried.push(efforts),
            Err(error) => assert!(error.message().contains("govern"), "{error}"),
        }
        for efforts in tried {
            let back = chain
                .forward(0.0, &state, &efforts.efforts, &[])
                .expect("closed");
            let scale = vdot.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for (a, b) in back.accelerations.iter().zip(&vdot) {
                assert!((a - b).abs() < 1e-9 * scale, "seed {seed}: {a} {b}");
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn too_few_actuators_are_refused() {
    let model = embedded::model("stewart").expect("embedded");
    let problem = catena::benchmark::problem("stewart").expect("there");
    let mut chain = ClosedChain::new(&model);
    let legs: Vec<usize> = (0..model.nv())
        .filter(|&k| model.tree().dofs[k].name.starts_with("leg"))
        .collect();
    let still = chain
        .consistent_accelerations(0.0, &problem.start, &vec![0.0; model.nv()])
        .expect("at rest");
    let holding = chain
        .inverse(0.0, &problem.start, &still, &[], &legs)
        .expect("six legs");
    assert_eq!((holding.freedoms, holding.surplus), (6, 0));
    let error = chain
        .inverse(0.0, &problem.start, &still, &[], &legs[..5])
        .expect_err("five legs");
    assert!(
        error
            .message()
            .contains("6 freedoms at this state and the actuators govern 5"),
        "{error}"
    );
    let error = chain
        .inverse(0.0, &problem.start, &still, &[], &[legs[0], legs[0]])
        .expect_err("twice");
    assert!(error.message().contains("named twice"), "{error}");
}
