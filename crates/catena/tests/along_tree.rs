//! Loops eliminated along the tree against all rows decomposed together, and against exact laws.

use catena::ClosedChain;
use catena::algorithm::constrained::Route;
use catena::model::embedded;
use catena::model::{ConstraintSpec, Inertial, JointKind, JointSpec};
use catena::random::Random;
use catena::residual::{larger, largest};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Model, ModelBuilder, State};
use catena_testing::parallelogram;
use catena_testing::random_closed;

/// Accelerations and efforts Jᵀλ (which are unique, whatever the redundancy) by both routes; the larger relative difference, and
/// that of the multipliers.
fn compare(model: &Model, state: &State, tau: &[f64]) -> Option<[f64; 2]> {
    let mut answers = Vec::new();
    for route in [Route::CutLoops, Route::AlongTree] {
        let mut chain = ClosedChain::new(model);
        chain.choose_route(route);
        let motion = chain.forward(0.0, state, tau, &[]).ok()?;
        let (a, lambda, rank) = (
            motion.accelerations.to_vec(),
            motion.multipliers.to_vec(),
            motion.rank,
        );
        let mut efforts = vec![0.0; model.nv()];
        let rows = chain.rows(0.0, state).expect("finite");
        rows.add_transpose_times(&lambda, &mut efforts);
        answers.push((a, efforts, lambda, rank));
    }
    let [one, two] = [&answers[0], &answers[1]];
    assert_eq!(one.3, two.3, "ranks");
    let difference = |x: &[f64], y: &[f64]| {
        let scale = 1.0 + largest(x);
        x.iter()
            .zip(y)
            .fold(0.0, |m, (x, y)| larger(m, (x - y).abs() / scale))
    };
    Some([
        difference(&one.0, &two.0).max(difference(&one.1, &two.1)),
        difference(&one.2, &two.2),
    ])
}

/// Random trees with loops of every kind of joint, distances, couplings and drivers, dependent or not.
#[test]
fn random_mechanisms_agree() {
    let (mut seen, mut worst) = (0, 0.0f64);
    for seed in 1..=150u64 {
        let bodies = 8 + seed as usize % 30;
        let loops = 1 + seed as usize % 5;
        let (builder, mut state) = random_closed(bodies, loops, seed).expect("possible");
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let (rank, values) = chain.rank(0.0, &state).expect("finite");
        if rank == model.nv() || chain.project(0.0, &mut state).is_err() {
            continue;
        }
        // where the rank itself is a matter of the threshold the routes may decide differently
        if values.last().is_some_and(|s| s / values[0] < 1e-6) {
            continue;
        }
        let mut random = Random::new(seed);
        let tau: Vec<f64> = (0..model.nv()).map(|_| random.uniform(-5.0, 5.0)).collect();
        let Some([difference, _]) = compare(&model, &state, &tau) else {
            continue;
        };
        seen += 1;
        assert!(difference < 1e-9, "seed {seed}: {difference:.1e}");
        worst = larger(worst, difference);
    }
    println!("{seen} mechanisms, worst {worst:.1e}");
    assert!(seen > 40, "only {seen}");
}

/// The exact law of N four-bars, with three dependent rows in every loop, for many loops; multipliers are the shortest here.
#[test]
fn many_four_bars_fall_as_they_must() {
    for n in [1usize, 7, 40, 400] {
        let model = embedded::model(&format!("four-bar-{n}")).expect("embedded");
        let mut chain = ClosedChain::new(&model);
        if n >= 7 {
            assert_eq!(chain.route(), Route::AlongTree, "{}", chain.route_reason());
        }
        chain.choose_route(Route::AlongTree);
        for phi in [1.57, 1.1, 2.4, -0.7] {
            let state = parallelogram(&model, phi, -1.0);
            let motion = chain
                .forward(0.0, &state, &vec![0.0; model.nv()], &[])
                .expect("closed");
            assert_eq!(motion.rank, 2 * n, "n {n}");
            let m = n as f64;
            let law = -9.81 * ((m + 1.0) / 2.0 + m) / ((m + 1.0) / 3.0 + m) * phi.cos();
            for (k, a) in motion.accelerations.iter().enumerate() {
                let expected = if k.is_multiple_of(2) { law } else { -law };
                // round-off travels along the row of loops
                assert!(
                    (a - expected).abs() < 1e-12 * (10.0 + m),
                    "n {n} φ {phi}: {a} {expected}"
                );
            }
        }
        if n <= 7 {
            let state = parallelogram(&model, 1.1, 0.3);
            let differences = compare(&model, &state, &vec![0.1; model.nv()]).expect("closed");
            assert!(largest(&differences) < 1e-9, "n {n}: {differences:?}");
        }
    }
}

/// A tower: each storey is a parallelogram on the platform of the one below, so every loop closes at another body and couples to all
/// others through the tree.
fn tower(storeys: usize) -> Model {
    let mut b = ModelBuilder::new("tower");
    b.gravity = Vec3::new(0.4, -9.0, 0.7);
    let body = |mass: f64, l: f64| Inertial {
        mass,
        centre: Vec3::new(0.4 * l, 0.03, 0.02),
        tensor: Sym3::new(0.03, 0.05, 0.06, 0.004, 0.002, 0.001),
    };
    let at = |x: f64, y: f64| Pose::shift(Vec3::new(x, y, 0.0));
    let hinge = |name: String, parent: &str, from: Pose<f64>, child: &str| JointSpec {
        parent_from_joint: from,
        ..JointSpec::new(&name, JointKind::Revolute, parent, child)
    };
    let mut below = "world".to_string();
    for k in 0..storeys {
        let names = ["left", "right", "floor"].map(|x| format!("{x}{k}"));
        for (name, l) in names.iter().zip([1.0, 1.0, 0.6]) {
            b.link(name, body(1.0 + 0.1 * (k % 3) as f64, l));
        }
        let [left, right, floor] = &names;
        b.joint(hinge(format!("a{k}"), &below, at(0.0, 0.0), left));
        b.joint(hinge(format!("b{k}"), left, at(1.0, 0.0), floor));
        b.joint(hinge(format!("c{k}"), &below, at(0.6, 0.0), right));
        b.constraint(ConstraintSpec::joint(JointSpec {
            joint_from_child: at(-0.6, 0.0),
            ..hinge(format!("d{k}"), right, at(1.0, 0.0), floor)
        }));
        below = floor.clone();
    }
    b.build().expect("sound")
}

#[test]
fn towers_of_loops_agree() {
    for storeys in [1, 2, 5, 12] {
        let model = tower(storeys);
        let mut chain = ClosedChain::new(&model);
        // a parallelogram at angle φ: floors stay parallel to the ground
        let names = |k: usize| ["a", "b", "c"].map(|x| format!("{x}{k}"));
        let (mut q, mut v) = (vec![0.0; model.nq()], vec![0.0; model.nv()]);
        for k in 0..storeys {
            let phi = 1.0 + 0.1 * k as f64;
            let rate = 0.5 - 0.07 * k as f64;
            for (name, sign) in names(k).iter().zip([1.0, -1.0, 1.0]) {
                let tree = model.tree();
                let dof = (0..model.nv())
                    .find(|&i| &tree.dofs[i].name == name)
                    .expect("there");
                (q[dof], v[dof]) = (sign * phi, sign * rate);
            }
        }
        let state = State::new(&model, &q, &v).expect("finite");
        chain.choose_route(Route::AlongTree);
        let motion = chain
            .forward(0.0, &state, &vec![0.0; model.nv()], &[])
            .expect("closed");
        assert_eq!(motion.rank, 2 * storeys);
        let differences = compare(&model, &state, &vec![0.2; model.nv()]).expect("closed");
        assert!(differences[0] < 1e-9, "{storeys} storeys: {differences:?}");
    }
}

/// Projection by both routes ends in the same place, up to the square of the way: steps that use factors of a step before differ.
#[test]
fn projections_agree() {
    let model = embedded::model("four-bar-7").expect("embedded");
    let mut ends = Vec::new();
    for route in [Route::CutLoops, Route::AlongTree] {
        let mut state = parallelogram(&model, 1.1, 0.4);
        for (k, (q, v)) in state.q.iter_mut().zip(&mut state.v).enumerate() {
            *q += 1e-5 * (k as f64).sin();
            *v += 1e-4 * (k as f64).cos();
        }
        let mut chain = ClosedChain::new(&model);
        chain.choose_route(route);
        chain.project(0.0, &mut state).expect("near");
        let rows = chain.rows(0.0, &state).expect("finite");
        assert!(largest(&rows.residual) < 1e-14 && largest(&rows.rate) < 1e-13);
        ends.push(state);
    }
    for (a, b) in ends[0].q.iter().zip(&ends[1].q) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
    for (a, b) in ends[0].v.iter().zip(&ends[1].v) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}
