//! Mechanisms with many loops: assembly, consistent accelerations, efforts and freedoms by sparse products agree with what is known, and nothing of
//! quadratic size is allocated.

use catena::closed_chain::{DENSE_ROWS, Sharing};
use catena::model::embedded;
use catena::residual::{difference, largest};
use catena::{ClosedChain, ErrorKind, Model, State};

/// A row of four-bars swings as one parallelogram: all uprights have the angle φ, all levels −φ, and so have their rates.
fn parallelograms(n: usize, angle: f64, rate: f64) -> (Model, State) {
    let model = embedded::model(&format!("four-bar-{n}")).expect("embedded");
    let mut state = State::start(&model);
    for (k, body) in (0..).zip(&model.tree().bodies[1..]) {
        let sign = if body.name.starts_with("level") {
            -1.0
        } else {
            1.0
        };
        (state.q[k], state.v[k]) = (sign * angle, sign * rate);
    }
    (model, state)
}

/// More rows than are decomposed together.
const MANY: usize = 150;

#[test]
fn a_disturbed_row_is_assembled_again() {
    let (model, closed) = parallelograms(MANY, -1.0, 0.5);
    let mut chain = ClosedChain::new(&model);
    assert!(chain.row_count() > DENSE_ROWS);
    let mut guess = closed.clone();
    for (k, (q, v)) in guess.q.iter_mut().zip(&mut guess.v).enumerate().skip(1) {
        let shift = (k as f64).sin();
        *q += 1e-2 * shift;
        *v += 0.1 * shift;
    }
    // with the first angle and its rate held there is one closed state
    let found = chain
        .assemble(0.0, &guess, &[0])
        .expect("near a closed state");
    // positions are closed to 1e-10 at least, by Newton's steps to round-off of 150 m; the branch magnifies that little
    assert!(difference(&found.state.q, &closed.q) < 1e-9);
    assert!(difference(&found.state.v, &closed.v) < 1e-9);
    assert_eq!(found.freedoms, 1);
}

/// The nearest consistent accelerations, by sparse products because the row is too long for the dense decomposition, against their closed form:
/// every body has the mean of the guesses, each with its sign.
#[test]
fn accelerations_are_the_nearest_consistent_ones() {
    let (model, state) = parallelograms(MANY, -1.0, 0.5);
    let mut chain = ClosedChain::new(&model);
    let guess: Vec<f64> = (0..model.nv()).map(|k| (k as f64).cos()).collect();
    let found = chain
        .consistent_accelerations(0.0, &state, &guess)
        .expect("there are some");
    // consistent ones are a of the first upright: a·s + bias part; the nearest has the least squares a = mean of s·guess
    let signs: Vec<f64> = state.q.iter().map(|q| -q.signum()).collect();
    let mean = signs.iter().zip(&guess).map(|(s, g)| s * g).sum::<f64>() / signs.len() as f64;
    let expected: Vec<f64> = signs.iter().map(|s| s * mean).collect();
    let off = difference(&found, &expected);
    assert!(off < 1e-10, "{off:e}");
}

/// Efforts of all joints: those of minimum norm, orthogonal to what the loops carry, give the motion back.
#[test]
fn efforts_of_all_joints_give_the_motion_back() {
    let (model, state) = parallelograms(MANY, -1.0, 0.5);
    let mut chain = ClosedChain::new(&model);
    let nv = model.nv();
    let guess: Vec<f64> = (0..nv).map(|k| (k as f64).cos()).collect();
    let vdot = chain
        .consistent_accelerations(0.0, &state, &guess)
        .expect("there are some");
    let all: Vec<usize> = (0..nv).collect();
    let found = chain
        .inverse(0.0, &state, &vdot, &[], &all)
        .expect("closed");
    assert_eq!([found.freedoms, found.surplus], [1, nv - 1]);
    let back = chain
        .forward(0.0, &state, &found.efforts, &[])
        .expect("closed");
    // as `catena inverse` allows
    let off = difference(back.accelerations, &vdot);
    assert!(off < 1e-6 * largest(&vdot).max(1.0), "{off:e}");
    // f = u + Jᵀ λ, and u is along the one freedom
    let needed = chain
        .tree()
        .inverse(&state, &vdot, &[])
        .expect("a tree")
        .to_vec();
    let rows = chain.rows(0.0, &state).expect("finite");
    let mut sum = found.efforts.clone();
    rows.add_transpose_times(&found.multipliers, &mut sum);
    let scale = largest(&needed);
    assert!(difference(&sum, &needed) < 1e-9 * scale);
    let signs: Vec<f64> = state.q.iter().map(|q| -q.signum()).collect();
    let share = signs.iter().zip(&needed).map(|(s, f)| s * f).sum::<f64>() / nv as f64;
    let expected: Vec<f64> = signs.iter().map(|s| s * share).collect();
    assert!(difference(&found.efforts, &expected) < 1e-9 * scale);
}

/// The crank is the freedom, and everything turns with it.
#[test]
fn the_first_upright_is_the_freedom() {
    let (model, state) = parallelograms(MANY, -1.0, 0.5);
    let mut chain = ClosedChain::new(&model);
    let found = chain.freedoms(0.0, &state).expect("regular");
    assert_eq!(found.independent, [0]);
    for (k, q) in state.q.iter().enumerate() {
        assert!((found.basis[(k, 0)] + q.signum()).abs() < 1e-10, "{k}");
    }
}

/// What needs all rows as one matrix is refused where that does not fit into memory; accelerations, their error and the loads at the constraints are not.
#[test]
fn many_loops_are_answered_or_refused() {
    let (model, state) = parallelograms(20_000, -1.0, 0.5);
    let mut chain = ClosedChain::new(&model);
    let tau = vec![0.0; model.nv()];
    let motion = chain.forward(0.0, &state, &tau, &[]).expect("closed");
    let vdot = motion.accelerations.to_vec();
    assert_eq!(motion.rank, 40_000);
    let loads = chain.loads(&state, &tau, &[], Sharing::Constraints);
    assert!(loads.is_ok());
    let error = chain
        .accuracy(0.0, &state, &tau, &[], &vdot)
        .expect("known");
    // round-off of positions 20 km away from the origin
    assert!(error.error() < 1e-8, "{error:?}");
    let unsupported = |error: catena::Error| assert_eq!(error.kind(), ErrorKind::Unsupported);
    unsupported(chain.rank(0.0, &state).expect_err("too large"));
    unsupported(chain.freedoms(0.0, &state).expect_err("too large"));
    let shared = chain.loads(&state, &tau, &[], Sharing::AllJoints);
    unsupported(shared.expect_err("too large"));
    let crank = chain.inverse(0.0, &state, &vdot, &[], &[0]);
    unsupported(crank.expect_err("too large"));
}
