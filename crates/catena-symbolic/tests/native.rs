//! Machine code made for a model, against the general recursions.
#![cfg(target_arch = "x86_64")]

use catena::integrate::FixedMethod;
use catena::model::{Inertial, JointKind, JointSpec, embedded};
use catena::native::{Code, Compiled, Kernel, Width};
use catena::random::Random;
use catena::residual::larger;
use catena::simulate::{Drift, Inputs, Integrator, Simulation, SimulationOptions};
use catena::spatial::{Force, Mat3, Pose, Sym3, Vec3};
use catena::{Base, Batch, Cpu, Drive, Dynamics, Model, ModelBuilder, State};
use catena_symbolic::native::{NativeOptions, compile, for_simulation};
use catena_testing::skipped_on_baseline;

fn at_rest(model: &Model, seed: u64) -> State {
    let mut state = State::random(model, seed);
    state.base = Base::fixed();
    state
}

fn worst(found: &[f64], wanted: &[f64]) -> f64 {
    let size = wanted.iter().fold(1e-300f64, |m, x| m.max(x.abs()));
    let distance = |(a, b): (&f64, &f64)| (a - b).abs() / size;
    found.iter().zip(wanted).map(distance).fold(0.0, larger)
}

/// Round-off of two orders of summation, times the condition of the inertia matrices of these models (up to 1e4).
const SAME: f64 = 1e-11;

/// ‖I‖ ‖I⁻¹‖ in the norm of row sums: round-off of derivatives of accelerations grows with it.
fn condition(model: &Model, dynamics: &mut Dynamics, state: &State) -> f64 {
    let norm = |matrix: &[f64]| {
        let rows = matrix.chunks(model.nv());
        let sums = rows.map(|row| row.iter().map(|x| x.abs()).sum());
        sums.fold(0.0, larger)
    };
    let inertia = norm(dynamics.inertia(state).expect("sound").as_slice());
    let mut factors = dynamics.factorization(state).expect("sound");
    inertia * norm(factors.inverse_matrix(model).as_slice())
}

/// All kernels, one state and lanes, both sets of instructions, on chains, trees with all joints, free bases, springs, dampers, rotors.
#[test]
fn code_agrees_with_the_general_recursions() {
    let mut names: Vec<String> = [
        "stanford",
        "planar3",
        "chain-7",
        "floating-chain-3",
        "spherical-chain-3",
        "space-robot",
    ]
    .map(String::from)
    .to_vec();
    names.extend((1..=24).map(|seed| format!("random-{}-{seed}", 2 + seed % 9)));
    let mut compared = 0;
    for name in &names {
        let model = embedded::model(name).expect("it is embedded");
        for cpu in [Cpu::Avx2, Cpu::Avx512] {
            if cpu > Cpu::detect() {
                eprintln!("skipped: {name} needs {cpu:?}");
                continue;
            }
            let options = NativeOptions {
                kernels: Kernel::ALL.to_vec(),
                cpu,
                ..NativeOptions::default()
            };
            let compiled = match compile(&model, &options) {
                Ok(compiled) => compiled,
                Err(error) => panic!("{name}: {error}"),
            };
            let mut general = Dynamics::with_cpu(&model, Cpu::Baseline);
            for seed in 0..4 {
                let (state, x) = (at_rest(&model, 10 + seed), at_rest(&model, 20 + seed).v);
                // beyond 1e5 the condition decides: random-8-15, 24 freedoms, has 3e5
                let same = SAME.max(1e-16 * condition(&model, &mut general, &state));
                for kernel in Kernel::ALL {
                    for width in [Width::single(cpu), Width::lanes_of(cpu)] {
                        let Some(code) = compiled.code(kernel, width) else {
                            continue;
                        };
                        let found = code.try_out(&state.q, &state.v, &x);
                        let wanted = general.kernel_results(kernel, &state, &x).expect("sound");
                        let error = worst(&found, &wanted);
                        assert!(error <= same, "{name}, {kernel:?}, {width:?}: {error:e}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(
        compared > 1000 || Cpu::detect() == Cpu::Baseline,
        "{compared}"
    );
}

/// The entry points: results, factors, joint wrenches, batches and their remainders, motion in lanes.
#[test]
fn doors_with_code_answer_as_those_without() {
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    for name in [
        "chain-7",
        "random-6-3",
        "floating-chain-3",
        "chain-2",
        "random-12-5",
    ] {
        let model = embedded::model(name).expect("it is embedded");
        let options = NativeOptions {
            kernels: Kernel::ALL.to_vec(),
            ..NativeOptions::default()
        };
        let compiled = compile(&model, &options).expect("it can be compiled");
        let (mut general, mut fast) = (Dynamics::new(&model), Dynamics::with_compiled(&compiled));
        let nv = model.nv();
        let wrench = Force::new(Vec3::new(0.1, 0.2, 0.3), Vec3::new(1.0, -2.0, 0.5));
        for seed in 0..3 {
            let (state, x) = (State::random(&model, seed), at_rest(&model, 50 + seed).v);
            for (moving, loaded) in [(false, false), (true, false), (false, true)] {
                let mut state = state.clone();
                if !moving {
                    state.base = Base::fixed();
                }
                let external = vec![wrench; if loaded { model.body_count() + 1 } else { 0 }];
                let close = |a: &[f64], b: &[f64]| assert!(worst(a, b) <= SAME, "{name}");
                let tau = general
                    .inverse(&state, &x, &external)
                    .expect("sound")
                    .to_vec();
                close(fast.inverse(&state, &x, &external).expect("sound"), &tau);
                for body in 0..=model.body_count() {
                    let (a, b) = (
                        fast.joint_wrench(body).unwrap(),
                        general.joint_wrench(body).unwrap(),
                    );
                    close(&a.to_array(), &b.to_array());
                }
                let vdot = general
                    .forward(&state, &x, &external)
                    .expect("sound")
                    .to_vec();
                close(fast.forward(&state, &x, &external).expect("sound"), &vdot);
                let (mut a, mut b) = (x.clone(), x.clone());
                fast.solve(&mut a).expect("factors are there");
                general.solve(&mut b).expect("factors are there");
                close(&a, &b);
                let wanted = general
                    .forward_derivatives(&state, &x, &external)
                    .expect("sound")
                    .clone();
                let found = fast
                    .forward_derivatives(&state, &x, &external)
                    .expect("sound");
                close(&found.vdot, &wanted.vdot);
                close(found.dq.as_slice(), wanted.dq.as_slice());
                close(found.dv.as_slice(), wanted.dv.as_slice());
                close(found.dtau.as_slice(), wanted.dtau.as_slice());
                let (mut a, mut b) = (x.clone(), x.clone());
                fast.solve(&mut a).expect("factors are there");
                general.solve(&mut b).expect("factors are there");
                close(&a, &b);
                let whole = fast.inertia(&state).expect("sound").clone();
                let upper = fast.inertia_upper(&state).expect("sound");
                for k in (0..nv * nv).filter(|k| k % nv >= k / nv) {
                    assert_eq!(
                        whole.as_slice()[k],
                        upper.as_slice()[k],
                        "{name}, entry {k}"
                    );
                }
            }
        }
        let (mut general, mut fast) = (
            Batch::new(&model),
            Batch::with_compiled(&compiled).threads(2),
        );
        for states in [1, 7, 8, 19] {
            let all: Vec<State> = (0..states).map(|k| at_rest(&model, k)).collect();
            let q: Vec<f64> = all.iter().flat_map(|s| s.q.clone()).collect();
            let v: Vec<f64> = all.iter().flat_map(|s| s.v.clone()).collect();
            let (mut a, mut b) = (vec![0.0; v.len()], vec![0.0; v.len()]);
            fast.inverse(&q, &v, &v, &mut a).expect("sound");
            general.inverse(&q, &v, &v, &mut b).expect("sound");
            assert!(worst(&a, &b) <= SAME);
            fast.forward(&q, &v, &v, &mut a).expect("sound");
            general.forward(&q, &v, &v, &mut b).expect("sound");
            assert!(worst(&a, &b) <= SAME);
            let size = 3 * nv * nv * states as usize;
            let (mut a, mut b) = (vec![0.0; size], vec![0.0; size]);
            fast.forward_derivatives(&q, &v, &v, &mut a).expect("sound");
            general
                .forward_derivatives(&q, &v, &v, &mut b)
                .expect("sound");
            assert!(worst(&a, &b) <= SAME);
            let two = size / 3 * 2;
            fast.inverse_derivatives(&q, &v, &v, &mut a[..two])
                .expect("sound");
            general
                .inverse_derivatives(&q, &v, &v, &mut b[..two])
                .expect("sound");
            assert!(worst(&a[..two], &b[..two]) <= SAME);
            let one = size / 3;
            fast.inertia(&q, &mut a[..one]).expect("sound");
            general.inertia(&q, &mut b[..one]).expect("sound");
            assert!(worst(&a[..one], &b[..one]) <= SAME);
            // the triangle alone, over numbers that must not be seen again
            b.fill(f64::NAN);
            fast.inertia_upper(&q, &mut b[..one]).expect("sound");
            for k in (0..one).filter(|k| k % nv >= k / nv % nv) {
                assert_eq!(a[k].to_bits(), b[k].to_bits(), "{name}, entry {k}");
            }
            let (mut q_fast, mut v_fast, mut q_general, mut v_general) =
                (q.clone(), v.clone(), q, v);
            let method = FixedMethod::RungeKutta4;
            fast.advance(
                method,
                1e-3,
                20,
                Drive::Efforts(&vec![0.0; nv * states as usize]),
                &mut q_fast,
                &mut v_fast,
            )
            .expect("sound");
            general
                .advance(
                    method,
                    1e-3,
                    20,
                    Drive::Efforts(&vec![0.0; nv * states as usize]),
                    &mut q_general,
                    &mut v_general,
                )
                .expect("sound");
            assert!(worst(&q_fast, &q_general) <= 1e-10 && worst(&v_fast, &v_general) <= 1e-10);
        }
    }
}

/// What the general recursions refuse, the code refuses, with the same message.
#[test]
fn refusals_are_the_same() {
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    let model = embedded::model("chain-7").expect("it is embedded");
    let compiled = compile(&model, &NativeOptions::default()).expect("it can be compiled");
    let (mut general, mut fast) = (Dynamics::new(&model), Dynamics::with_compiled(&compiled));
    let mut state = at_rest(&model, 1);
    let wrong = [[f64::NAN; 7], [1e308; 7]];
    for tau in wrong {
        let a = fast
            .forward(&state, &tau, &[])
            .expect_err("refused")
            .to_string();
        let b = general
            .forward(&state, &tau, &[])
            .expect_err("refused")
            .to_string();
        assert_eq!(a, b);
    }
    state.v[3] = f64::INFINITY;
    let a = fast
        .inverse(&state, &[0.0; 7], &[])
        .expect_err("refused")
        .to_string();
    let b = general
        .inverse(&state, &[0.0; 7], &[])
        .expect_err("refused")
        .to_string();
    assert_eq!(a, b);
    let mut batch = Batch::with_compiled(&compiled);
    let (mut q, v) = (vec![0.1; 70], vec![0.0; 70]);
    q[24] = f64::NAN;
    let mut out = vec![0.0; 70];
    batch
        .forward(&q, &v, &v, &mut out)
        .expect_err("one state is no state");
    assert_eq!(batch.failures().len(), 1);
    assert_eq!(batch.failures()[0].state, 3);
}

/// A point mass on the axis of the first joint: its pivot is zero there, and the refusal is that of the general recursion.
#[test]
fn a_joint_without_inertia_is_named() {
    use catena::model::{Inertial, JointKind, JointSpec, ModelBuilder};
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    let mut builder = ModelBuilder::new("point on two axes");
    builder.link("arm", Inertial::default());
    let point = Inertial {
        mass: 1.0,
        centre: Vec3::new(0.0, 0.0, 1.0),
        ..Inertial::default()
    };
    builder.link("point", point);
    builder.joint(JointSpec::new("turn", JointKind::Revolute, "world", "arm"));
    let mut second = JointSpec::new("tilt", JointKind::Revolute, "arm", "point");
    second.axes.first = Vec3::new(1.0, 0.0, 0.0);
    builder.joint(second);
    let model = builder.build().expect("it can be built");
    let compiled = compile(&model, &NativeOptions::default()).expect("random states are good");
    let (mut general, mut fast) = (Dynamics::new(&model), Dynamics::with_compiled(&compiled));
    let state = State::new(&model, &[0.3, 0.0], &[0.0, 0.0]).expect("a state");
    let wanted = general
        .forward(&state, &[0.1, 0.1], &[])
        .expect_err("no inertia");
    let found = fast
        .forward(&state, &[0.1, 0.1], &[])
        .expect_err("no inertia");
    assert_eq!(found.to_string(), wanted.to_string());
    assert!(found.to_string().contains("turn"), "{found}");
    let mut batch = Batch::with_compiled(&compiled);
    let mut out = [0.0; 4];
    let states = [0.3, 0.0, 0.3, 0.7];
    batch
        .forward(&states, &[0.0; 4], &[0.1; 4], &mut out)
        .expect_err("one has no inertia");
    assert_eq!(batch.failures().len(), 1);
}

/// Motions with code and without are equal, and both audits are clean.
#[test]
fn simulations_with_code_end_where_those_without_end() {
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    for name in ["stanford", "random-8-5", "space-robot"] {
        let model = embedded::model(name).expect("it is embedded");
        let start = at_rest(&model, 3);
        let ends: Vec<Vec<f64>> = [None, Some(for_simulation as catena::native::Compiler)]
            .into_iter()
            .map(|compiler| {
                let mut options = SimulationOptions {
                    duration: 0.5,
                    ..SimulationOptions::default()
                };
                if let Integrator::Adaptive { tolerances, .. } = &mut options.integrator {
                    (tolerances.relative, tolerances.absolute) = (1e-12, 1e-12);
                }
                let mut run = Simulation::with_compiler(
                    &model,
                    &start,
                    Inputs::default(),
                    Vec::new(),
                    options,
                    Drift::default(),
                    compiler,
                )
                .expect("sound");
                assert_eq!(run.is_compiled(), compiler.is_some());
                let mut samples = Vec::new();
                while !run.finished() {
                    run.advance(&mut samples).expect("sound");
                }
                assert_eq!(run.finish().breaches().count(), 0, "{name}");
                samples.pop().expect("samples").state.q
            })
            .collect();
        assert!(worst(&ends[1], &ends[0]) <= 1e-9, "{name}");
    }
}

/// Code is bound to its model and question: the smallest change of a number makes it another model's.
#[test]
fn code_of_another_model_is_refused() {
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    let model = embedded::model("chain-1").expect("it is embedded");
    let compiled = compile(&model, &NativeOptions::default()).expect("it can be compiled");
    let width = Width::single(Cpu::detect());
    let code = |kernel| {
        let code: &Code = compiled.code(kernel, width).expect("it was made");
        code.clone()
    };
    let time = std::time::Duration::ZERO;
    let bound = |model: &Model, kernel, code| Compiled::new(model, vec![(kernel, code)], time);
    bound(&model, Kernel::Inverse, code(Kernel::Inverse)).expect("its own");
    for changed in [
        embedded::model("pendulum-1").expect("it is embedded"),
        model.clone().with_gravity([0.0, 0.0, -9.8]),
        model.with_other_last_digits(1),
    ] {
        assert_ne!(changed.fingerprint(), model.fingerprint());
        bound(&changed, Kernel::Inverse, code(Kernel::Inverse)).expect_err("another model's");
    }
    // with one freedom I and τ are both a single number
    bound(&model, Kernel::Inertia, code(Kernel::Inverse)).expect_err("another question");
}

/// A needle on an arm: code keeps the digits of its smallest moment as the general recursion does.
#[test]
fn code_keeps_the_digits_of_needles() {
    if skipped_on_baseline(Cpu::detect()) {
        return;
    }
    let mut random = Random::new(7);
    for seed in 0..6 {
        let ratio = 10f64.powf(random.uniform(-12.0, -6.0));
        let mut builder = ModelBuilder::new("arm");
        let mut parent = "world".to_string();
        for k in 0..3 {
            let name = format!("link{k}");
            let tensor = match k {
                2 => Sym3::new(1.0, 1.0, ratio, 0.0, 0.0, 0.0),
                _ => Sym3::new(1.0, 1.5, 2.0, 0.1, 0.0, -0.2),
            };
            builder.link(
                &name,
                Inertial {
                    mass: 1.0,
                    centre: Vec3::new(0.0, 0.0, 1.0),
                    tensor,
                },
            );
            let joint = format!("joint{k}");
            let mut joint = JointSpec::new(&joint, JointKind::Revolute, &parent, &name);
            let at = Vec3::from_array([(); 3].map(|()| random.uniform(-1.0, 1.0)));
            joint.parent_from_joint = Pose::new(Mat3::from_quaternion(random.quaternion()), at);
            builder.joint(joint);
            parent = name;
        }
        let model = builder.build().expect("it has inertia");
        let options = NativeOptions {
            kernels: Kernel::ALL.to_vec(),
            ..NativeOptions::default()
        };
        let compiled = compile(&model, &options).expect("it can be compiled");
        let state = State::random(&model, seed);
        let single = Dynamics::with_compiled(&compiled)
            .inertia(&state)
            .expect("sound")[(2, 2)];
        let mut batch = vec![0.0; 9];
        Batch::with_compiled(&compiled)
            .inertia(&state.q, &mut batch)
            .expect("sound");
        for found in [single, batch[8]] {
            let error = (found - ratio).abs() / ratio;
            assert!(error < 3e-15, "{seed}, ratio {ratio:e}: {error:.1e}");
        }
    }
}
