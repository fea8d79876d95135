//! A batch gives what single calls give: every question, on every path, for any number of states and threads.

use catena::model::{ConstraintSpec, Inertial, JointKind, JointSpec, RuleSpec, embedded};
use catena::random::Random;
use catena::spatial::{Force, Motion, Pose, Sym3, Vec3};
use catena::{Base, Batch, Cpu, Drive, Dynamics, ErrorKind, Model, ModelBuilder, State};
use catena_testing::assert_close;

/// The pendulum's condition number takes three of the sixteen digits.
const ALLOWED: f64 = 1e-10;

/// Every path that `CATENA_CPU` allows: all of them unless it is set.
fn paths() -> Vec<Cpu> {
    let all = [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512].into_iter();
    let most = std::env::var_os("CATENA_CPU").map_or(Cpu::Avx512, |_| Cpu::detect());
    all.filter(|cpu| *cpu <= most).collect()
}

/// States after one another, and inputs and wrenches for them.
struct Many {
    states: Vec<State>,
    q: Vec<f64>,
    v: Vec<f64>,
    input: Vec<f64>,
    external: Vec<Force<f64>>,
}

fn many(model: &Model, count: usize, base: Base<f64>) -> Many {
    let mut random = Random::new(7);
    let mut vec = || Vec3::from_array([(); 3].map(|()| random.uniform(-1.0, 1.0)));
    let external = (0..count * (model.body_count() + 1))
        .map(|_| Force::new(vec(), vec()))
        .collect();
    let mut states: Vec<State> = (0..count as u64).map(|k| State::random(model, k)).collect();
    states.iter_mut().for_each(|s| s.base = base);
    Many {
        q: states.iter().flat_map(|s| s.q.clone()).collect(),
        v: states.iter().flat_map(|s| s.v.clone()).collect(),
        input: (0..count * model.nv())
            .map(|k| (k as f64 * 0.7).sin())
            .collect(),
        external,
        states,
    }
}

fn moving_base() -> Base<f64> {
    let mut base = Base::fixed();
    base.pose = Pose::new(
        catena::spatial::Mat3::rotation_x(0.6, 0.8),
        Vec3::new(0.1, -0.2, 0.3),
    );
    let twist = |x: f64| Motion::new(Vec3::new(x, 0.2, -0.3), Vec3::new(0.5, -x, 0.1));
    (base.velocity, base.acceleration) = (twist(0.4), twist(-0.7));
    base
}

#[test]
fn batches_agree_with_single_calls() {
    for (name, base) in [
        ("stanford", Base::fixed()),
        ("zoo", moving_base()),
        ("pendulum-6", Base::fixed()),
        ("random-20-8", moving_base()),
    ] {
        let model = embedded::model(name).unwrap();
        let (nq, nv, bodies) = (model.nq(), model.nv(), model.body_count() + 1);
        let m = many(&model, 19, base);
        let frame = model.tree().frames.last().unwrap();
        let mut single = Dynamics::with_cpu(&model, Cpu::Baseline);
        for (cpu, threads, count) in paths()
            .into_iter()
            .flat_map(|cpu| [1, 4, 8, 13, 19].map(|count| (cpu, 1 + count % 3, count)))
        {
            let (q, v) = (&m.q[..count * nq], &m.v[..count * nv]);
            let input = &m.input[..count * nv];
            let mut batch = Batch::with_cpu(&model, cpu).threads(threads);
            batch.set_base(base).unwrap();
            let mut tau = vec![f64::NAN; count * nv];
            let (mut vdot, mut loaded_tau, mut loaded_vdot) =
                (tau.clone(), tau.clone(), tau.clone());
            let mut inertia = vec![f64::NAN; count * nv * nv];
            let mut jacobian = vec![f64::NAN; count * 6 * nv];
            let mut poses = vec![Pose::identity(); count];
            let external = &m.external[..count * bodies];
            batch.inverse(q, v, input, &mut tau).unwrap();
            batch.forward(q, v, input, &mut vdot).unwrap();
            batch
                .inverse_loaded(q, v, input, external, &mut loaded_tau)
                .unwrap();
            batch
                .forward_loaded(q, v, input, external, &mut loaded_vdot)
                .unwrap();
            batch.inertia(q, &mut inertia).unwrap();
            batch.jacobians(q, frame, &mut jacobian).unwrap();
            batch.frame_poses(q, frame, &mut poses).unwrap();
            // two right-hand sides per state
            let mut x: Vec<f64> = input.chunks(nv).flat_map(|b| [b, b].concat()).collect();
            batch.factorize(q).unwrap();
            batch.solve(&mut x).unwrap();
            for (k, state) in m.states[..count].iter().enumerate() {
                let own = k * nv..(k + 1) * nv;
                let wrenches = &external[k * bodies..(k + 1) * bodies];
                let what = format!("{name} {cpu:?} {count}: state {k}");
                let input = &input[own.clone()];
                assert_close(
                    &tau[own.clone()],
                    single.inverse(state, input, &[]).unwrap(),
                    ALLOWED,
                    &what,
                );
                assert_close(
                    &vdot[own.clone()],
                    single.forward(state, input, &[]).unwrap(),
                    ALLOWED,
                    &what,
                );
                let mut solution = input.to_vec();
                single.solve(&mut solution).unwrap();
                assert_close(&x[2 * k * nv..(2 * k + 1) * nv], &solution, ALLOWED, &what);
                assert_close(
                    &x[(2 * k + 1) * nv..(2 * k + 2) * nv],
                    &solution,
                    ALLOWED,
                    &what,
                );
                let loaded = single.inverse(state, input, wrenches).unwrap();
                assert_close(&loaded_tau[own.clone()], loaded, ALLOWED, &what);
                let loaded = single.forward(state, input, wrenches).unwrap();
                assert_close(&loaded_vdot[own.clone()], loaded, ALLOWED, &what);
                let expected = single.inertia(state).unwrap().as_slice();
                assert_close(
                    &inertia[k * nv * nv..(k + 1) * nv * nv],
                    expected,
                    ALLOWED,
                    &what,
                );
                let expected = single.jacobian(state, frame).unwrap().as_slice();
                assert_close(
                    &jacobian[k * 6 * nv..(k + 1) * 6 * nv],
                    expected,
                    ALLOWED,
                    &what,
                );
                let pose = single.frame_pose(state, frame).unwrap();
                for (a, b) in [
                    (poses[k].rotation.x, pose.rotation.x),
                    (poses[k].rotation.y, pose.rotation.y),
                    (poses[k].translation, pose.translation),
                ] {
                    assert_close(&a.to_array(), &b.to_array(), ALLOWED, &what);
                }
            }
        }
    }
}

/// Results are identical bit for bit, whatever the number of threads.
#[test]
fn threads_change_nothing() {
    let model = embedded::model("chain-12").unwrap();
    let mut m = many(&model, 41, Base::fixed());
    // beyond the range of the fast sine: the whole register takes the slow one
    m.q[3] = 3e5;
    let mut results = Vec::new();
    for threads in [1, 2, 3, 7] {
        let mut batch = Batch::new(&model).threads(threads);
        let mut vdot = vec![f64::NAN; m.v.len()];
        batch.forward(&m.q, &m.v, &m.input, &mut vdot).unwrap();
        results.push(vdot);
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Threads take parts of the states as they come: failures have the numbers of their states, in their order.
#[test]
fn failures_of_all_threads_are_numbered() {
    let model = embedded::model("chain-7").unwrap();
    let states = 5000;
    let bad: Vec<usize> = (0..states).step_by(97).collect();
    let mut m = many(&model, states, Base::fixed());
    let mut right = vec![f64::NAN; m.v.len()];
    let mut batch = Batch::new(&model).threads(3);
    batch.forward(&m.q, &m.v, &m.input, &mut right).unwrap();
    for state in &bad {
        m.q[7 * state + 2] = f64::NAN;
    }
    // in this order: what failed in the last call is forgotten
    for threads in [3, 1, 2] {
        let mut batch = Batch::new(&model).threads(threads);
        for _ in 0..2 {
            let mut vdot = vec![f64::NAN; m.v.len()];
            batch.forward(&m.q, &m.v, &m.input, &mut vdot).unwrap_err();
            let failed: Vec<usize> = batch.failures().iter().map(|f| f.state).collect();
            assert_eq!(failed, bad, "{threads} threads");
            for k in (0..states).filter(|k| !bad.contains(k)) {
                assert_eq!(vdot[7 * k..7 * k + 7], right[7 * k..7 * k + 7], "state {k}");
            }
        }
        // fewer states than threads have registers for
        let one = batch.forward(&m.q[7..14], &m.v[7..14], &m.input[7..14], &mut [0.0; 7]);
        assert!(one.is_ok() && batch.failures().is_empty());
    }
}

/// Long chains have matrices too large for lanes; their columns are in the lanes instead.
#[test]
fn large_inertia_matrices() {
    let model = embedded::model("chain-300").unwrap();
    let m = many(&model, 3, Base::fixed());
    let size = 300 * 300;
    let mut inertia = vec![f64::NAN; 3 * size];
    let mut batch = Batch::new(&model).threads(2);
    batch.inertia(&m.q, &mut inertia).unwrap();
    let mut single = Dynamics::with_cpu(&model, Cpu::Baseline);
    for k in 0..3 {
        let expected = single.inertia(&m.states[k]).unwrap().as_slice();
        assert_close(
            &inertia[k * size..(k + 1) * size],
            expected,
            ALLOWED,
            "chain-300",
        );
    }
    let mut q = m.q.clone();
    q[301] = f64::NAN;
    for error in [
        batch.inertia(&q, &mut inertia).unwrap_err(),
        batch.inertia_upper(&q, &mut inertia).unwrap_err(),
    ] {
        assert!(
            error.message().starts_with("state 1 of the batch: "),
            "{error}"
        );
    }
}

/// What is given once serves all states, to the last bit, with as many states as coordinates, too.
#[test]
fn one_row_serves_all_states() {
    for name in ["chain-7", "zoo", "four-bar-1", "geared"] {
        let model = match name {
            "geared" => geared(),
            _ => embedded::model(name).unwrap(),
        };
        let (nq, nv) = (model.nq(), model.nv());
        let start = State::start(&model);
        for count in [2, nv, 37] {
            let Many { q, v, input, .. } = many(&model, count, Base::fixed());
            let is_closed = !model.constraints().is_empty();
            // loops are closed at one state, the start
            let q = if is_closed { start.q.repeat(count) } else { q };
            let v = if is_closed { vec![0.0; v.len()] } else { v };
            let rows = [(q, nq), (v, nv), (input, nv)];
            for cpu in paths() {
                let mut batch = Batch::with_cpu(&model, cpu).threads(2);
                for common in 0..8usize {
                    let is_common = |k: usize| common & (1 << k) != 0;
                    let pick = |k: usize| -> (Vec<f64>, Vec<f64>) {
                        let (all, width) = &rows[k];
                        match is_common(k) {
                            true => (all[..*width].to_vec(), all[..*width].repeat(count)),
                            false => (all.clone(), all.clone()),
                        }
                    };
                    let ((q, all_q), (v, all_v), (x, all_x)) = (pick(0), pick(1), pick(2));
                    let mut found = vec![0.0; count * nv];
                    let mut right = found.clone();
                    batch.forward(&q, &v, &x, &mut found).unwrap();
                    batch.forward(&all_q, &all_v, &all_x, &mut right).unwrap();
                    assert_eq!(found, right, "{name} {count} {common} {cpu:?}");
                    if is_closed {
                        continue;
                    }
                    batch.inverse(&q, &v, &x, &mut found).unwrap();
                    batch.inverse(&all_q, &all_v, &all_x, &mut right).unwrap();
                    assert_eq!(found, right, "{name} {count} {common} {cpu:?}");
                    let mut found = vec![0.0; count * 3 * nv * nv];
                    let mut right = found.clone();
                    batch.forward_derivatives(&q, &v, &x, &mut found).unwrap();
                    (batch.forward_derivatives(&all_q, &all_v, &all_x, &mut right)).unwrap();
                    assert_eq!(found, right, "{name} {count} {common} {cpu:?}");
                }
            }
        }
    }
    // and its failures are those of all states
    let model = embedded::model("chain-3").unwrap();
    let mut out = vec![0.0; 15];
    let mut batch = Batch::new(&model);
    let error =
        (batch.inverse(&[0.0; 15], &[0.0, f64::NAN, 0.0], &[0.0; 3], &mut out)).unwrap_err();
    assert!(
        error.message().starts_with("state 0 of the batch"),
        "{error}"
    );
    assert_eq!(batch.failures().len(), 5);
}

/// A chain whose second joint turns with the first, and whose fourth turns against the third.
fn geared() -> Model {
    let mut builder = embedded::builder("chain-6").unwrap();
    let tree = builder.build().unwrap();
    let name = |k: usize| tree.tree().dofs[k].name.clone();
    for (k, ratio) in [(0, -0.7), (2, 1.3)] {
        builder.constraint(ConstraintSpec::new(
            &format!("gear{k}"),
            RuleSpec::Coupling {
                terms: vec![(name(k + 1), 1.0), (name(k), ratio)],
                offset: 0.1,
            },
        ));
    }
    let model = builder.build().unwrap();
    assert!(model.couplings().is_some());
    model
}

#[test]
fn wrong_lengths_and_numbers_are_refused() {
    let model = embedded::model("chain-3").unwrap();
    let mut batch = Batch::new(&model);
    let mut out = vec![0.0; 6];
    let error = batch
        .inverse(&[0.0; 5], &[0.0; 6], &[0.0; 6], &mut out)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "positions of a batch: 6 numbers are needed, 5 were given"
    );
    let error = batch
        .inverse_loaded(
            &[0.0; 6],
            &[0.0; 6],
            &[0.0; 6],
            &[Force::zero(); 3],
            &mut out,
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "external wrenches of a batch: 8 numbers are needed, 3 were given"
    );
    let error = batch.solve(&mut out).unwrap_err();
    assert_eq!(error.message(), "there is no factorization to solve with");
}

/// States that fail are named with their reasons, and do not spoil the others.
#[test]
fn failures_are_reported_by_state() {
    let model = embedded::model("chain-3").unwrap();
    let m = many(&model, 20, Base::fixed());
    let mut good = vec![0.0; 60];
    Batch::new(&model)
        .forward(&m.q, &m.v, &m.input, &mut good)
        .unwrap();
    for (cpu, threads) in paths().into_iter().flat_map(|cpu| [(cpu, 1), (cpu, 2)]) {
        let (mut q, mut v) = (m.q.clone(), m.v.clone());
        q[3 * 5 + 1] = f64::NAN;
        v[3 * 17 + 2] = f64::INFINITY;
        let mut vdot = vec![0.0; 60];
        let mut batch = Batch::with_cpu(&model, cpu).threads(threads);
        let error = batch.forward(&q, &v, &m.input, &mut vdot).unwrap_err();
        assert!(
            error.message().starts_with("state 5 of the batch: ")
                && error.message().ends_with("(and 1 more states failed)"),
            "{error}"
        );
        let failures = batch.failures();
        assert_eq!(
            failures.iter().map(|f| f.state).collect::<Vec<_>>(),
            [5, 17]
        );
        assert!(
            failures[1].error.message().contains("inf"),
            "{}",
            failures[1].error
        );
        for state in (0..20).filter(|k| ![5, 17].contains(k)) {
            let own = 3 * state..3 * state + 3;
            assert_close(&vdot[own.clone()], &good[own], ALLOWED, "a good state");
        }
        batch.forward(&m.q, &m.v, &m.input, &mut vdot).unwrap();
        assert!(batch.failures().is_empty());
    }
}

/// A point mass on a slide cannot be turned about the axis it lies on.
#[test]
fn singular_states_are_named() {
    let mut builder = ModelBuilder::new("boom");
    let inertial = |mass: f64| Inertial {
        mass,
        centre: Vec3::zero(),
        tensor: Sym3::zero(),
    };
    builder
        .link("boom", inertial(0.0))
        .link("load", inertial(1.0));
    let mut slide = JointSpec::new("slide", JointKind::Prismatic, "boom", "load");
    slide.axes.first = Vec3::new(1.0, 0.0, 0.0);
    builder
        .joint(JointSpec::new("turn", JointKind::Revolute, "world", "boom"))
        .joint(slide);
    let model = builder.build().unwrap();
    for cpu in paths() {
        let mut batch = Batch::with_cpu(&model, cpu);
        let mut vdot = [0.0; 6];
        let q = [0.1, 0.5, 0.2, 0.0, 0.3, 1.0];
        let error = batch
            .forward(&q, &[0.0; 6], &[1.0; 6], &mut vdot)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Singular);
        assert!(
            error
                .message()
                .starts_with("state 1 of the batch: joint `turn` cannot be accelerated"),
            "{error}"
        );
        assert!((vdot[0] - 4.0).abs() < 1e-12 && (vdot[4] - 1.0).abs() < 1e-12);
        assert_eq!(batch.factorize(&q).unwrap_err().kind(), ErrorKind::Singular);
    }
}

/// Every trajectory in its lane agrees with that of a separate simulation.
#[test]
fn trajectories_agree_with_single_simulations() {
    use catena::integrate::{Fixed, FixedMethod};
    use catena::simulate::{Controller, Inputs, TreeSystem};
    use catena::trajectory::{PointToPoint, Profile};
    for name in ["stanford", "pendulum-3", "floating-chain-3"] {
        let model = embedded::model(name).unwrap();
        let (nq, nv, count, steps, h) = (model.nq(), model.nv(), 11, 40, 2e-3);
        let m = many(&model, count, Base::fixed());
        let plain: Vec<usize> = model
            .bodies()
            .filter(|&i| model.tree().bodies[i].kind.quaternion().is_none())
            .flat_map(|i| model.tree().dof_range(i))
            .collect();
        for (method, cpu) in [FixedMethod::RungeKutta4, FixedMethod::SemiImplicitEuler]
            .into_iter()
            .flat_map(|method| paths().into_iter().map(move |cpu| (method, cpu)))
        {
            let hold = Drive::Hold {
                targets: &m.input,
                stiffness: 2.0,
                damping: 0.02,
            };
            for drive in [Drive::Efforts(&m.input), hold] {
                let mut batch = Batch::with_cpu(&model, cpu).threads(2);
                let (mut q, mut v) = (m.q.clone(), m.v.clone());
                batch
                    .advance(method, h, steps, drive, &mut q, &mut v)
                    .unwrap();
                for k in 0..count {
                    let numbers = &m.input[k * nv..(k + 1) * nv];
                    let controller = match drive {
                        Drive::Efforts(_) => Controller::Constant(numbers.to_vec()),
                        Drive::Hold {
                            stiffness, damping, ..
                        } => {
                            let at: Vec<f64> = plain.iter().map(|&k| numbers[k]).collect();
                            Controller::ProportionalDerivative {
                                motion: PointToPoint::new(Profile::Cycloid, &at, &at, 1.0)
                                    .unwrap()
                                    .into(),
                                stiffness: stiffness.into(),
                                damping: damping.into(),
                            }
                        }
                    };
                    let inputs = Inputs {
                        controller,
                        wrenches: Vec::new(),
                        ..Inputs::default()
                    };
                    let mut system = TreeSystem::new(&model, inputs, Vec::new()).unwrap();
                    let mut single = Fixed::new(method, nq, nv, h).unwrap();
                    single.start(0.0, &m.states[k].q, &m.states[k].v).unwrap();
                    for _ in 0..steps {
                        single.step(&mut system).unwrap();
                    }
                    let what = format!("{name} {method:?} {cpu:?} trajectory {k}");
                    assert_close(&q[k * nq..(k + 1) * nq], single.q(), ALLOWED, &what);
                    assert_close(&v[k * nv..(k + 1) * nv], single.v(), ALLOWED, &what);
                }
            }
        }
    }
}
