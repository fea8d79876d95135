//! The inertia matrix is what inverse dynamics says it is, on every path.

use catena::algorithm::factorization::{Factorization, SolveColumns};
use catena::model::{Inertial, JointKind, JointSpec, embedded};
use catena::random::Random;
use catena::residual::{largest, relative};
use catena::spatial::{Sym3, Vec3};
use catena::{Batch, Cpu, Dynamics, Matrix, ModelBuilder, State};

/// Column k is the effort for unit acceleration of freedom k, at rest and without gravity. Agreement is measured against
/// √(Iᵢᵢ Iⱼⱼ), the largest an entry can be: 1e-12 of it on chains of hundreds of joints, where both routes add up as many
/// roundings. The matrix is symmetric to the last bit.
#[test]
fn columns_are_efforts_of_unit_accelerations() {
    for name in [
        "stanford",
        "zoo",
        "floating-chain-12",
        "chain-100",
        "chain-300",
        "spherical-chain-40",
        "random-7-1",
        "random-30-2",
        "random-30-3",
        "random-90-4",
    ] {
        let model = embedded::model(name)
            .unwrap()
            .with_gravity([0.0; 3])
            .without_passive_forces();
        let nv = model.nv();
        let mut state = State::random(&model, 3);
        state.v.fill(0.0);
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut dynamics = Dynamics::with_cpu(&model, cpu);
            let inertia = dynamics.inertia(&state).unwrap().clone();
            // what an earlier call left behind does not matter
            let other = State::random(&model, 4);
            dynamics.inertia(&other).unwrap();
            assert_eq!(&inertia, dynamics.inertia(&state).unwrap());
            let mut unit = vec![0.0; nv];
            for k in 0..nv {
                unit[k] = 1.0;
                let column = dynamics.inverse(&state, &unit, &[]).unwrap();
                for i in 0..nv {
                    let largest = (inertia[(i, i)] * inertia[(k, k)]).sqrt();
                    let error = (inertia[(i, k)] - column[i]).abs();
                    assert!(
                        error <= 1e-12 * largest,
                        "{name} {cpu:?} ({i}, {k}): {} and {}",
                        inertia[(i, k)],
                        column[i]
                    );
                    assert_eq!(
                        inertia[(i, k)].to_bits(),
                        inertia[(k, i)].to_bits(),
                        "{name} {cpu:?} ({i}, {k})"
                    );
                }
                unit[k] = 0.0;
            }
        }
    }
}

/// The upper triangle alone has the bits of the whole matrix, one state at a time and in batches with remainders, whatever was in
/// its room before: trees of all joints, matrices with a state in each lane and with columns in the lanes.
#[test]
fn the_upper_triangle_is_that_of_the_whole_matrix() {
    let mut names: Vec<String> = ["chain-1", "chain-2", "stanford", "zoo", "space-robot"]
        .map(String::from)
        .to_vec();
    names.extend(["floating-chain-12", "spherical-chain-10", "chain-100"].map(String::from));
    names.extend((1..41).map(|seed| format!("random-{}-{seed}", 1 + seed % 33)));
    for name in &names {
        let model = embedded::model(name).unwrap();
        let nv = model.nv();
        let states: Vec<State> = (0..13).map(|k| State::random(&model, k)).collect();
        let q: Vec<f64> = states.iter().flat_map(|s| s.q.clone()).collect();
        let bits = |matrix: &[f64]| -> Vec<u64> {
            let entries = matrix.iter().enumerate();
            entries
                .filter(|(k, _)| k % nv >= k / nv)
                .map(|(_, x)| x.to_bits())
                .collect()
        };
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut dynamics = Dynamics::with_cpu(&model, cpu);
            for state in &states[..3] {
                let whole = bits(dynamics.inertia(state).unwrap().as_slice());
                dynamics.inertia(&states[4]).unwrap();
                let upper = bits(dynamics.inertia_upper(state).unwrap().as_slice());
                assert_eq!(whole, upper, "{name} {cpu:?}");
                assert_eq!(
                    whole,
                    bits(dynamics.inertia(state).unwrap().as_slice()),
                    "{name} {cpu:?}"
                );
            }
            let mut batch = Batch::with_cpu(&model, cpu);
            for count in [1, 8, 13] {
                let q = &q[..count * model.nq()];
                let mut whole = vec![f64::NAN; count * nv * nv];
                let mut upper = whole.clone();
                batch.inertia(q, &mut whole).unwrap();
                batch.inertia_upper(q, &mut upper).unwrap();
                for (k, (whole, upper)) in
                    whole.chunks(nv * nv).zip(upper.chunks(nv * nv)).enumerate()
                {
                    assert_eq!(bits(whole), bits(upper), "{name} {cpu:?}: {k} of {count}");
                    // and it is symmetric
                    for entry in 0..nv * nv {
                        let (row, column) = (entry / nv, entry % nv);
                        let (one, other) = (whole[entry], whole[column * nv + row]);
                        assert_eq!(one.to_bits(), other.to_bits(), "{name} {cpu:?}");
                    }
                }
            }
        }
    }
}

/// Two slides along one line, a hinge across it, and a slide on the hinge: pushed out far enough, all entries are finite, but some methods
/// have a moment that overflows on the way. They refuse; none returns it.
#[test]
fn moments_on_the_way_overflow() {
    let mut builder = ModelBuilder::new("crane");
    let inertial = || Inertial {
        mass: 1.0,
        centre: Vec3::zero(),
        tensor: Sym3::new(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    };
    let mut carrier = "world";
    for (link, kind) in [
        ("first", JointKind::Prismatic),
        ("second", JointKind::Prismatic),
        ("arm", JointKind::Revolute),
        ("load", JointKind::Prismatic),
    ] {
        let mut joint = JointSpec::new(&format!("to-{link}"), kind, carrier, link);
        if kind == JointKind::Prismatic {
            joint.axes.first = Vec3::new(1.0, 0.0, 0.0);
        }
        builder.link(link, inertial()).joint(joint);
        carrier = link;
    }
    let model = builder.build().unwrap();
    let mut state = State::random(&model, 1);
    state.q.copy_from_slice(&[0.0, 1e200, 0.0, 1e150]);
    let mut refused = 0;
    for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
        let mut dynamics = Dynamics::with_cpu(&model, cpu);
        match dynamics.inertia(&state) {
            Ok(inertia) => assert!(inertia.as_slice().iter().all(|x| x.is_finite())),
            Err(error) => {
                assert!(error.to_string().contains("overflows"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused < 3, "the generic recursion knows");
}

/// Slides pushed out so far that products of distances overflow: every method refuses. The last model has more freedoms
/// than small matrices have.
#[test]
fn what_overflows_is_refused() {
    let mut cases = Vec::new();
    for name in ["stanford", "random-40-9"] {
        let model = embedded::model(name).unwrap();
        let mut state = State::random(&model, 1);
        for dof in &model.tree().dofs {
            let body = &model.tree().bodies[dof.body];
            if body.kind == JointKind::Prismatic {
                state.q[body.q] = 1e200;
            }
        }
        cases.push((model, state));
    }
    for (model, state) in cases {
        let name = model.name();
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut dynamics = Dynamics::with_cpu(&model, cpu);
            let mut batch = Batch::with_cpu(&model, cpu);
            let mut out = vec![0.0; model.nv() * model.nv()];
            let told = [
                dynamics.inertia(&state).map(drop).unwrap_err(),
                dynamics.inertia_upper(&state).map(drop).unwrap_err(),
                batch.inertia(&state.q, &mut out).unwrap_err(),
                batch.inertia_upper(&state.q, &mut out).unwrap_err(),
            ];
            for error in told {
                let told = error.to_string();
                assert!(told.contains("overflows"), "{name} {cpu:?}: {told}");
            }
            // what it leaves behind does not matter
            dynamics.inertia_upper(&State::random(&model, 2)).unwrap();
        }
    }
}

/// The logarithm of the determinant, from the factors of the tree and from an elimination of the dense matrix. 1e-11 for each of the logarithms that
/// are added.
#[test]
fn the_determinant_is_that_of_the_matrix() {
    for name in ["stanford", "zoo", "random-7-1", "spherical-chain-10"] {
        let model = embedded::model(name).unwrap();
        let state = State::random(&model, 8);
        let mut factors = Factorization::new(&model);
        factors.factorize(&model, &state.q);
        let matrix = Dynamics::new(&model).inertia(&state).unwrap().clone();
        let nv = model.nv();
        let mut rows: Vec<Vec<f64>> = (0..nv).map(|k| matrix.row(k).to_vec()).collect();
        let mut sum = 0.0;
        for k in 0..nv {
            // positive definite: no pivot is zero
            sum += rows[k][k].ln();
            let own = rows[k].clone();
            for row in &mut rows[k + 1..] {
                let factor = row[k] / own[k];
                (k..nv).for_each(|j| row[j] -= factor * own[j]);
            }
        }
        let apart = (factors.log_determinant() - sum).abs();
        assert!(apart < 1e-11 * nv as f64, "{name}: {apart}");
    }
}

/// Many right-hand sides together are solved as each of them alone: with factors written out, and by the recursion that long chains have, for every
/// number of columns that leaves a part of a group of four, and for more than are in work at a time. Both ways use the same factors: 1e-12 of the largest entry.
#[test]
fn columns_are_solved_together() {
    for name in [
        "chain-7",
        "zoo",
        "chain-120",
        "random-60-4",
        "spherical-chain-25",
    ] {
        let model = embedded::model(name).unwrap();
        let nv = model.nv();
        let state = State::random(&model, 2);
        let mut factors = Factorization::new(&model);
        factors.factorize(&model, &state.q);
        let mut solver = SolveColumns::new(&model);
        solver.prepare(&model, &factors);
        let mut inverse = Matrix::zeros(nv, nv);
        solver.inverse(&model, &mut inverse);
        for c in 0..nv {
            let mut unit = vec![0.0; nv];
            unit[c] = 1.0;
            factors.solve(&model, &mut unit);
            let column: Vec<f64> = (0..nv).map(|k| inverse[(k, c)]).collect();
            let apart = relative(&column, &unit, largest(&unit));
            assert!(apart < 1e-12, "{name}, column {c} of the inverse: {apart}");
        }
        let mut random = Random::new(9);
        for columns in [1, 3, 4, 5, 9, 50] {
            let mut x = Matrix::zeros(nv, columns);
            (x.as_mut_slice().iter_mut()).for_each(|x| *x = random.uniform(-1.0, 1.0));
            let given = x.clone();
            solver.solve(&model, &mut x);
            for c in 0..columns {
                let mut one: Vec<f64> = (0..nv).map(|k| given[(k, c)]).collect();
                factors.solve(&model, &mut one);
                let together: Vec<f64> = (0..nv).map(|k| x[(k, c)]).collect();
                let apart = relative(&together, &one, largest(&one));
                assert!(apart < 1e-12, "{name}, {columns} columns: {apart}");
            }
        }
    }
}

/// The block of a joint is what is left of the inertia matrix at its freedoms after those of all bodies that it carries are eliminated
/// (the Schur complement), rotors included; to 1e-9 of the entries before, for random trees with joints of several freedoms.
#[test]
fn joint_blocks_are_schur_complements() {
    let mut several = 0;
    for seed in 1..=40 {
        let model = embedded::model(&format!("random-8-{seed}")).unwrap();
        let state = State::random(&model, seed);
        let whole = Dynamics::new(&model).inertia(&state).unwrap().clone();
        let mut factors = Factorization::new(&model);
        factors.factorize(&model, &state.q);
        let tree = model.tree();
        for body in 1..=model.body_count() {
            let freedoms =
                |of: usize| tree.bodies[of].v..tree.bodies[of].v + tree.bodies[of].kind.nv();
            let carried = (1..=model.body_count())
                .filter(|&other| other != body && tree.path_to_ground(other).any(|at| at == body));
            let below: Vec<usize> = carried.flat_map(freedoms).collect();
            let own: Vec<usize> = freedoms(body).collect();
            let mut left = whole.clone();
            for (at, &k) in below.iter().enumerate() {
                for &i in own.iter().chain(&below[at + 1..]) {
                    let share = left[(i, k)] / left[(k, k)];
                    for &j in own.iter().chain(&below[at + 1..]) {
                        left[(i, j)] -= share * left[(k, j)];
                    }
                }
            }
            let block = factors.joint_block(&model, body);
            several += usize::from(own.len() > 1 && own[0] > 1);
            for (a, &i) in own.iter().enumerate() {
                for (b, &j) in own.iter().enumerate() {
                    let largest = (whole[(i, i)] * whole[(j, j)]).sqrt();
                    let error = (block[(a, b)] - left[(i, j)]).abs();
                    assert!(
                        error <= 1e-9 * largest,
                        "seed {seed}, body {body}: {error:e}"
                    );
                }
            }
        }
    }
    assert!(several > 20, "{several}");
}

/// The factors that forward dynamics leaves behind solve I x = b as those that are made for it, also after those of another state:
/// 1e-11 of the largest entry.
#[test]
fn forward_dynamics_leaves_factors() {
    for name in ["stanford", "zoo", "random-7-1", "floating-chain-12"] {
        let model = embedded::model(name).unwrap();
        let nv = model.nv();
        let [other, state] = [1, 2].map(|seed| State::random(&model, seed));
        let right: Vec<f64> = (0..nv).map(|k| 1.0 - 0.1 * k as f64).collect();
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut dynamics = Dynamics::with_cpu(&model, cpu);
            dynamics.factorize(&state).unwrap();
            let mut wanted = right.clone();
            dynamics.solve(&mut wanted).unwrap();
            dynamics.factorize(&other).unwrap();
            dynamics.forward(&state, &vec![0.0; nv], &[]).unwrap();
            let mut found = right.clone();
            dynamics.solve(&mut found).unwrap();
            let apart = relative(&found, &wanted, largest(&wanted));
            assert!(apart < 1e-11, "{name} {cpu:?}: {apart}");
        }
    }
}
