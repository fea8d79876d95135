//! Recursions with a vector in each register against the same recursions in components, on every kind of joint and tree.

use catena::model::embedded;
use catena::random::Random;
use catena::residual::{difference, largest};
use catena::spatial::{Force, Motion, Vec3};
use catena::state::Base;
use catena::{Cpu, Dynamics, State};
use catena_testing::skipped_on_baseline;

/// Both paths do the same sums in another order: they agree to the round-off of one evaluation, taken relative to the
/// largest entry and, for accelerations, to the conditioning seen when the round trip is made.
#[test]
fn registers_and_numbers_agree() {
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    let mut names: Vec<String> = ["planar3", "stanford", "space-robot", "zoo", "pendulum-5"]
        .map(String::from)
        .to_vec();
    names.extend(["chain-40", "floating-chain-12", "spherical-chain-20"].map(String::from));
    names.extend((1..151).map(|seed| format!("random-{}-{seed}", 1 + seed % 24)));
    for name in &names {
        let model = embedded::model(name).expect("an embedded name");
        let (n, nv) = (model.body_count(), model.nv());
        let mut plain = Dynamics::with_cpu(&model, Cpu::Baseline);
        let mut quick = Dynamics::with_cpu(&model, Cpu::Avx2);
        let mut random = Random::new(7);
        for trial in 0..3 {
            let mut state = State::random(&model, trial);
            if trial == 1 {
                let vector = |r: &mut Random| {
                    Vec3::new(
                        r.uniform(-1.0, 1.0),
                        r.uniform(-1.0, 1.0),
                        r.uniform(-1.0, 1.0),
                    )
                };
                state.base = Base {
                    velocity: Motion::new(vector(&mut random), vector(&mut random)),
                    acceleration: Motion::new(vector(&mut random), vector(&mut random)),
                    ..Base::fixed()
                };
            }
            let input: Vec<f64> = (0..nv).map(|_| random.uniform(-1.0, 1.0)).collect();
            let mut external = Vec::new();
            if trial == 2 {
                external = (0..=n)
                    .map(|_| {
                        let mut v = || {
                            Vec3::new(
                                random.uniform(-1.0, 1.0),
                                random.uniform(-1.0, 1.0),
                                random.uniform(-1.0, 1.0),
                            )
                        };
                        Force::new(v(), v())
                    })
                    .collect();
            }
            let tau = plain
                .inverse(&state, &input, &external)
                .expect("τ")
                .to_vec();
            let other = quick
                .inverse(&state, &input, &external)
                .expect("τ")
                .to_vec();
            let error = difference(&tau, &other) / (1.0 + largest(&tau));
            assert!(
                error < 1e-13 * (n as f64).max(4.0),
                "{name}: inverse {error:e}"
            );
            for body in 0..=n {
                let (a, b) = (
                    plain.joint_wrench(body).unwrap(),
                    quick.joint_wrench(body).unwrap(),
                );
                let error = difference(&a.to_array(), &b.to_array());
                assert!(
                    error < 1e-12 * (1.0 + largest(&a.to_array())) * n as f64,
                    "{name}: wrench {body} {error:e}"
                );
            }

            // what the efforts give back must be the accelerations they were made for
            let back = quick.forward(&state, &tau, &external).expect("v̇").to_vec();
            let plain_back = plain.forward(&state, &tau, &external).expect("v̇").to_vec();
            let plain_error = difference(&plain_back, &input);
            let error = difference(&back, &input);
            assert!(
                error < 20.0 * plain_error + 1e-11,
                "{name}: forward {error:e}, generic {plain_error:e}"
            );

            // and the factors left behind solve
            let (mut x, mut y) = (input.clone(), input.clone());
            quick.solve(&mut x).expect("solution");
            plain.solve(&mut y).expect("solution");
            let error = difference(&x, &y) / (1e-300 + largest(&y));
            assert!(error < 1e-9, "{name}: solve {error:e}");
        }
    }
}

/// The inertia matrix too, column by column and by rows of registers.
#[test]
fn inertia_matrices_agree() {
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    let mut names: Vec<String> = (1..=30).map(|n| format!("chain-{n}")).collect();
    names.extend(["planar3", "stanford", "space-robot", "zoo", "pendulum-5"].map(String::from));
    names.extend(["floating-chain-12", "spherical-chain-20"].map(String::from));
    names.extend((1..151).map(|seed| format!("random-{}-{seed}", 1 + seed % 24)));
    for name in &names {
        let model = embedded::model(name).expect("an embedded name");
        let state = State::random(&model, 5);
        let mut plain = Dynamics::with_cpu(&model, Cpu::Baseline);
        let expected = plain.inertia(&state).expect("I").clone();
        for cpu in [Cpu::Avx2, Cpu::Avx512] {
            let mut quick = Dynamics::with_cpu(&model, cpu);
            let found = quick.inertia(&state).expect("I");
            let error = difference(found.as_slice(), expected.as_slice());
            let size = largest(expected.as_slice());
            assert!(
                error < 1e-13 * size,
                "{name} {cpu:?}: {error:e} of {size:e}"
            );
        }
    }
}
