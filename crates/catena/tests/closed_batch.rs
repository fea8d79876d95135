//! Many states of closed chains at once, and code made for them: what one state gives, and the states that fail alone.

use catena::ClosedChain;
use catena::model::embedded;
use catena::random::Random;
use catena::residual::{difference, largest};
use catena::spatial::{Force, Vec3};
use catena::{Batch, CompiledChain, ErrorKind, Model, State};

const MODELS: [&str; 5] = [
    "four-bar-1",
    "four-bar-3",
    "bricard",
    "stewart",
    "four-bar-12",
];

/// An embedded model; four-bar linkages begin as rhombuses, not flat.
fn model(name: &str) -> Model {
    let mut builder = embedded::builder(name).expect("embedded");
    if name.starts_with("four-bar") {
        for joint in &mut builder.joints {
            let upright = joint.name.starts_with("foot");
            joint.start = vec![if upright { 1.1 } else { -1.1 }];
        }
    }
    builder.build().expect("a sound model")
}

/// Closed states near that which the model begins with, and efforts.
fn closed_states(model: &Model, count: usize) -> [Vec<f64>; 3] {
    let mut chain = ClosedChain::new(model);
    let mut first = State::start(model);
    chain.project(0.0, &mut first).expect("it can be closed");
    let mut random = Random::new(3);
    let [mut q, mut v, mut tau] = [(); 3].map(|()| Vec::new());
    for _ in 0..count {
        let mut state = first.clone();
        for v in &mut state.v {
            *v = random.uniform(-1.0, 1.0);
        }
        chain.project(0.0, &mut state).expect("a closed motion");
        let step: Vec<f64> = state.v.iter().map(|v| 0.1 * v).collect();
        state.step(model, &step);
        chain.project(0.0, &mut state).expect("it can be closed");
        q.extend(&state.q);
        v.extend(&state.v);
        tau.extend((0..model.nv()).map(|_| random.uniform(-1.0, 1.0)));
    }
    [q, v, tau]
}

fn state(model: &Model, q: &[f64], v: &[f64], k: usize) -> State {
    let (nq, nv) = (model.nq(), model.nv());
    let (q, v) = (&q[k * nq..(k + 1) * nq], &v[k * nv..(k + 1) * nv]);
    State::new(model, q, v).expect("a sound state")
}

/// The accelerations of every state, one by one.
fn one_by_one(
    model: &Model,
    [q, v, tau]: &[Vec<f64>; 3],
    external: &[Force<f64>],
    count: usize,
) -> Vec<f64> {
    let (nv, bodies) = (model.nv(), model.body_count() + 1);
    let mut chain = ClosedChain::new(model);
    (0..count)
        .flat_map(|k| {
            let tau = &tau[k * nv..(k + 1) * nv];
            let external = match external.is_empty() {
                true => &[],
                false => &external[k * bodies..(k + 1) * bodies],
            };
            let motion = chain.forward(0.0, &state(model, q, v, k), tau, external);
            motion.expect("it moves").accelerations.to_vec()
        })
        .collect()
}

#[test]
fn a_batch_is_the_chain_state_by_state() {
    let count = 11;
    for name in MODELS {
        let model = model(name);
        let given = closed_states(&model, count);
        let [q, v, tau] = &given;
        let wanted = one_by_one(&model, &given, &[], count);
        let mut wrenches = vec![Force::zero(); count * (model.body_count() + 1)];
        for (k, wrench) in wrenches.iter_mut().enumerate() {
            *wrench = Force::new(
                Vec3::new(0.1, 0.0, 0.2),
                Vec3::new(0.0, k as f64 % 3.0, 1.0),
            );
        }
        let loaded = one_by_one(&model, &given, &wrenches, count);
        for threads in [1, 2, 3, 20] {
            let mut batch = Batch::new(&model).threads(threads);
            let mut found = vec![0.0; wanted.len()];
            batch.forward(q, v, tau, &mut found).expect("all move");
            assert_eq!(found, wanted, "{name}");
            batch
                .forward_loaded(q, v, tau, &wrenches, &mut found)
                .expect("all move");
            assert_eq!(found, loaded, "{name}");
        }
    }
}

#[test]
fn states_that_are_open_or_not_finite_fail_alone() {
    let model = model("four-bar-1");
    let given = closed_states(&model, 9);
    let wanted = one_by_one(&model, &given, &[], 9);
    let [mut q, mut v, tau] = given;
    let nv = model.nv();
    q[2 * nv] += 1e-3; // open
    v[4 * nv + 1] += 1e-3; // opening
    v[7 * nv] = f64::NAN;
    for mut batch in batches(&model) {
        let mut found = vec![0.0; wanted.len()];
        let error = batch
            .forward(&q, &v, &tau, &mut found)
            .expect_err("three fail");
        assert!(error.message().contains("state 2 of the batch"), "{error}");
        assert!(error.message().contains("is open by"), "{error}");
        assert!(error.message().contains("2 more states failed"), "{error}");
        let failed: Vec<usize> = batch.failures().iter().map(|f| f.state).collect();
        assert_eq!(failed, [2, 4, 7]);
        for k in (0..9).filter(|k| !failed.contains(k)) {
            let range = k * nv..(k + 1) * nv;
            let apart = difference(&found[range.clone()], &wanted[range]);
            assert!(apart < 1e-12 * largest(&wanted), "state {k}: {apart}");
        }
        let short = batch
            .forward(&q, &v[1..], &tau, &mut found)
            .expect_err("too short");
        assert_eq!(short.kind(), ErrorKind::Input);
    }
}

/// Without code and, where code can be made, with it.
fn batches(model: &Model) -> Vec<Batch> {
    let mut batches = vec![Batch::new(model).threads(2)];
    #[cfg(target_arch = "x86_64")]
    if let Some(compiled) = compiled(model) {
        batches.push(Batch::with_compiled(&compiled));
        batches.push(Batch::with_compiled(&compiled).threads(2));
    }
    batches
}

#[cfg(target_arch = "x86_64")]
fn compiled(model: &Model) -> Option<catena::native::Compiled> {
    use catena_symbolic::native::{NativeOptions, compile};
    if catena_testing::skipped_on_baseline(catena::Cpu::detect()) {
        return None;
    }
    let options = NativeOptions {
        cpu: catena::Cpu::detect(),
        ..NativeOptions::default()
    };
    Some(compile(model, &options).expect("code can be made"))
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_gives_the_accelerations_of_the_chain() {
    for name in MODELS {
        let model = model(name);
        let Some(compiled) = compiled(&model) else {
            return;
        };
        let count = 11;
        let given = closed_states(&model, count);
        let [q, v, tau] = &given;
        let wanted = one_by_one(&model, &given, &[], count);
        let close = |found: &[f64], wanted: &[f64], what: &str| {
            let apart = difference(found, wanted);
            assert!(
                apart <= 1e-11 * largest(wanted),
                "{name}, {what}: {apart:e}"
            );
        };
        let mut found = vec![0.0; wanted.len()];
        let mut batch = Batch::with_compiled(&compiled);
        batch.forward(q, v, tau, &mut found).expect("all move");
        close(&found, &wanted, "batch");
        let (mut single, mut general) = (CompiledChain::new(&compiled), ClosedChain::new(&model));
        for k in 0..count {
            let nv = model.nv();
            let (state, tau) = (state(&model, q, v, k), &tau[k * nv..(k + 1) * nv]);
            let whole = general.forward(0.0, &state, tau, &[]).expect("it moves");
            let motion = single.forward(0.0, &state, tau, &[]).expect("it moves");
            close(motion.accelerations, whole.accelerations, "one state");
            assert_eq!(motion.rank, whole.rank, "{name}");
            if whole.rank == model.constraint_rows() {
                close(motion.multipliers, whole.multipliers, "multipliers");
            }
        }
    }
}

/// Where rows lose rank the code has no answer, and the general algorithm gives its own.
#[test]
#[cfg(target_arch = "x86_64")]
fn dead_points_are_left_to_the_general_algorithm() {
    let model = model("four-bar-1");
    let Some(compiled) = compiled(&model) else {
        return;
    };
    let (mut single, mut general) = (CompiledChain::new(&compiled), ClosedChain::new(&model));
    for angle in [0.0, 1e-9, 1e-5, 1e-3] {
        let state = State::new(&model, &[angle, -angle, angle], &[0.0; 3]).expect("flat");
        let tau = [1.0, 0.0, 1.0];
        let wanted = general
            .forward(0.0, &state, &tau, &[])
            .map(|m| m.accelerations.to_vec());
        let found = single
            .forward(0.0, &state, &tau, &[])
            .map(|m| m.accelerations.to_vec());
        match (wanted, found) {
            (Ok(wanted), Ok(found)) if angle < 1e-7 => assert_eq!(wanted, found, "{angle}"),
            (Ok(wanted), Ok(found)) => {
                assert!(
                    difference(&wanted, &found) < 1e-9 * largest(&wanted),
                    "{angle}"
                );
            }
            (Err(wanted), Err(found)) => assert_eq!(wanted.message(), found.message()),
            (wanted, found) => panic!("{angle}: {wanted:?} and {found:?}"),
        }
    }
}
