//! Linear couplings of joint coordinates, eliminated: against multipliers, dual numbers, and the laws.

use catena::ClosedChain;
use catena::algorithm::coupled::CoupledDynamics;
use catena::integrate::FixedMethod;
use catena::model::embedded::random_tree;
use catena::model::{ConstraintSpec, Inertial, JointKind, JointSpec, RuleSpec};
use catena::random::Random;
use catena::residual::{larger, largest, relative};
use catena::scalar::{Count, Dual, Lanes, Scalar};
use catena::spatial::{Force, Pose, Sym3, Vec3};
use catena::state::Base;
use catena::{Batch, Cpu, Drive, Dynamics, Matrix, Model, ModelBuilder, State, StateView};
use catena_testing::draw::{numbers, wrenches};

/// Larger differences of two methods are errors: round-off of the recursions, times the condition of random inertia matrices.
const TOLERANCE: f64 = 1e-10;

/// Adds random couplings: chains of followers, several terms, siblings, ancestors and descendants, whatever the seed gives.
fn couple(builder: &mut ModelBuilder, seed: u64) {
    let tree = builder.build().expect("a tree");
    let mut random = Random::new(seed ^ 0xc0);
    let plain: Vec<usize> = (0..tree.nv())
        .filter(|&k| {
            let body = &tree.tree().bodies[tree.tree().dofs[k].body];
            body.kind.quaternion().is_none()
        })
        .collect();
    if plain.len() < 3 {
        return;
    }
    let wanted = 1 + random.below(plain.len() / 2);
    for c in 0..wanted {
        let count = [1, 2, 2, 2, 3][random.below(5)];
        let mut terms: Vec<(String, f64)> = Vec::new();
        for _ in 0..count {
            let name = tree.tree().dofs[plain[random.below(plain.len())]]
                .name
                .clone();
            let ratio = random.uniform(0.3, 2.0) * [1.0, -1.0][random.below(2)];
            if terms.iter().all(|(other, _)| *other != name) {
                terms.push((name, ratio));
            }
        }
        if random.below(2) == 0 {
            terms[0].1 = 1.0;
        }
        let mut with = builder.clone();
        with.constraint(ConstraintSpec::new(
            &format!("coupling{c}"),
            RuleSpec::Coupling {
                terms,
                offset: random.uniform(-0.5, 0.5),
            },
        ));
        // a coupling that contradicts the others is left out
        if with.build().is_ok() {
            *builder = with;
        }
    }
}

fn random_coupled(seed: u64) -> Option<Model> {
    let mut builder = random_tree(4 + seed as usize % 14, seed);
    couple(&mut builder, seed);
    let model = builder.build().expect("sound");
    (model.couplings().is_some() && model.nv() > 0).then_some(model)
}

/// Efforts of the tree that act on the independent freedoms like these.
fn on_tree(model: &Model, tau: &[f64]) -> Vec<f64> {
    let couplings = model.couplings().expect("coupled");
    let mut all = vec![0.0; model.tree().nv];
    for (&k, &x) in couplings.freedoms().iter().zip(tau) {
        all[k] = x;
    }
    all
}

fn expanded(model: &Model, x: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; model.tree().nv];
    model
        .couplings()
        .expect("coupled")
        .expand_rates(x, &mut all);
    all
}

fn agree(what: &str, seed: u64, a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{what}, seed {seed}");
    let difference = relative(a, b, 1.0 + largest(a));
    assert!(
        difference < TOLERANCE,
        "{what}, seed {seed}: {difference:.1e}"
    );
}

/// Accelerations are those of the multipliers, with the couplings as rows; efforts give them back.
#[test]
fn multipliers_give_the_same_accelerations() {
    let (mut seen, mut worst) = (0, 0.0f64);
    for seed in 1..=150 {
        let Some(model) = random_coupled(seed) else {
            continue;
        };
        let mut random = Random::new(seed);
        let state = State::random(&model, seed);
        let tau = numbers(&mut random, model.nv(), 5.0);
        let external = wrenches(&mut random, &model, 2.0);
        let mut dynamics = Dynamics::new(&model);
        let vdot = dynamics
            .forward(&state, &tau, &external)
            .expect("possible")
            .to_vec();

        let whole = model.clone().with_couplings_as_constraints();
        assert!(whole.couplings().is_none() && whole.nv() == model.tree().nv);
        let mut chain = ClosedChain::new(&whole);
        let motion = chain
            .forward(
                0.0,
                &state.of_tree(&model),
                &on_tree(&model, &tau),
                &external,
            )
            .expect("closed");
        let all = expanded(&model, &vdot);
        let difference = relative(&all, motion.accelerations, 1.0 + largest(&all));
        worst = larger(worst, difference);
        assert!(difference < TOLERANCE, "seed {seed}: {difference:.1e}");

        let back = dynamics
            .inverse(&state, &vdot, &external)
            .expect("possible");
        agree("efforts", seed, back, &tau);
        seen += 1;
    }
    println!("{seen} models, worst {worst:.1e}");
    assert!(seen > 100, "only {seen}");
}

/// I = Gᵀ I G by definition, its factors and its inverse; C v, gravity and the energy rate agree with it.
#[test]
fn matrices_obey_their_laws() {
    for seed in 1..=60 {
        let Some(model) = random_coupled(seed) else {
            continue;
        };
        let mut random = Random::new(seed);
        let (state, nv) = (State::random(&model, seed), model.nv());
        let mut dynamics = Dynamics::new(&model);
        let inertia = dynamics.inertia(&state).expect("finite").clone();

        // a column is the difference of two efforts
        let mut column = vec![0.0; nv];
        let bias = dynamics
            .inverse(&state, &column, &[])
            .expect("finite")
            .to_vec();
        for k in 0..nv {
            column.fill(0.0);
            column[k] = 1.0;
            let tau = dynamics.inverse(&state, &column, &[]).expect("finite");
            let own: Vec<f64> = tau.iter().zip(&bias).map(|(a, b)| a - b).collect();
            let size = 1.0 + largest(&bias) + largest(inertia.as_slice());
            assert!(relative(&own, inertia.row(k), size) < 1e-12, "seed {seed}");
        }

        let inverse = dynamics.inverse_inertia(&state).expect("regular").clone();
        let b = numbers(&mut random, nv, 1.0);
        let mut x = b.clone();
        dynamics.factorize(&state).expect("regular");
        dynamics.solve(&mut x).expect("regular");
        agree("I⁻¹ b", seed, &inverse.times(&b), &x);
        agree("I x", seed, &inertia.times(&x), &b);

        // det I is the product of the pivots
        let factors = dynamics.cluster_factorization(&state).expect("regular");
        let pivots: f64 = factors.inverse_pivots().iter().map(|x| x.ln()).sum();
        let log_determinant = log_determinant(inertia.clone());
        let size = 1.0 + log_determinant.abs();
        assert!(
            (pivots + log_determinant).abs() < 1e-9 * size,
            "seed {seed}"
        );

        // I = U D Uᵀ
        let (tree, couplings) = (
            model.clone().open_tree(),
            model.couplings().expect("coupled"),
        );
        let (u, d) = (factors.u(&tree, couplings), factors.d());
        let mut scaled = u.clone();
        for i in 0..nv {
            for (x, d) in scaled.row_mut(i).iter_mut().zip(&d) {
                *x *= d;
            }
        }
        let product = scaled.product(&u.transpose());
        agree("U D Uᵀ", seed, product.as_slice(), inertia.as_slice());

        // inverse dynamics without springs, dampers and friction is I v̇ + C v + gravity
        let smooth = model.clone().without_passive_forces();
        let mut plain = Dynamics::new(&smooth);
        let a = numbers(&mut random, nv, 1.0);
        let tau = plain.inverse(&state, &a, &[]).expect("finite").to_vec();
        let mut sum = plain.inertia(&state).expect("finite").times(&a);
        let convective = plain.coriolis(&state).expect("finite").times(&state.v);
        let gravity = plain.gravity(&state).expect("finite");
        for k in 0..nv {
            sum[k] += convective[k] + gravity[k];
        }
        agree("I v̇ + C v + gravity", seed, &sum, &tau);

        // T = ½ vᵀ I v, without rotors
        if (0..model.tree().nv).all(|k| model.dof(k).armature == 0.0) {
            let kinetic = dynamics.mechanical_state(&state).expect("finite").kinetic;
            let product: f64 = (inertia.times(&state.v).iter().zip(&state.v))
                .map(|(p, v)| 0.5 * p * v)
                .sum();
            assert!(
                (kinetic - product).abs() < 1e-11 * (1.0 + kinetic),
                "seed {seed}"
            );
        }

        // τ = Y π
        let y = plain.regressor(&state, &a).expect("finite").clone();
        let parameters = catena::algorithm::inverse_dynamics::inertial_parameters(&smooth);
        let mut rotors = vec![0.0; model.tree().nv];
        for (k, x) in expanded(&model, &a).into_iter().enumerate() {
            rotors[k] = model.dof(k).armature * x;
        }
        let mut of_rotors = vec![0.0; nv];
        (model.couplings().expect("coupled")).contract(&rotors, &mut of_rotors);
        let found: Vec<f64> = (y.times(&parameters).iter().zip(&of_rotors))
            .map(|(a, b)| a + b)
            .collect();
        agree("Y π", seed, &found, &tau);

        // J v is the frame's velocity
        let frame = model.tree().frames.last().expect("a frame").clone();
        let jacobian = dynamics.jacobian(&state, &frame).expect("finite").clone();
        let still = vec![0.0; nv];
        let twist = (dynamics.kinematics(&state, &still).expect("finite")).frame_velocity(&frame);
        agree("J v", seed, &jacobian.times(&state.v), &twist.to_array());
        let momentum = dynamics
            .centroidal_momentum(&state)
            .expect("finite")
            .clone();
        let mechanical = dynamics.mechanical_state(&state).expect("finite");
        let linear = &momentum.matrix.times(&state.v)[3..];
        agree(
            "momentum",
            seed,
            linear,
            &mechanical.momentum.force.to_array(),
        );
    }
}

fn log_determinant(mut a: Matrix) -> f64 {
    let mut sum = 0.0;
    for k in 0..a.rows() {
        sum += a[(k, k)].ln();
        for i in k + 1..a.rows() {
            let factor = a[(i, k)] / a[(k, k)];
            for j in k..a.rows() {
                a[(i, j)] -= factor * a[(k, j)];
            }
        }
    }
    sum
}

type D = Dual<f64, 1>;

/// Efforts or accelerations in dual numbers, along one direction of q or v.
fn along(
    model: &Model,
    state: &State,
    input: &[f64],
    external: &[Force<f64>],
    (of_q, forward): (bool, bool),
    k: usize,
) -> Vec<f64> {
    let tree = model.clone().open_tree();
    let couplings = model.couplings().expect("coupled");
    let mut lifted: State<D> = state.lift();
    let mut delta = vec![D::constant(0.0); model.nv()];
    delta[k] = D::variable(0.0, 0);
    match of_q {
        true => lifted.step(model, &delta),
        false => lifted.v[k] += delta[k],
    }
    let input: Vec<D> = input.iter().map(|&x| D::constant(x)).collect();
    let external: Vec<Force<D>> = (external.iter())
        .map(|f| Force::new(f.moment.map(D::constant), f.force.map(D::constant)))
        .collect();
    let mut work = CoupledDynamics::new(&tree, couplings);
    let mut out = vec![D::constant(0.0); model.nv()];
    match forward {
        true => work.forward(&tree, couplings, lifted.view(), &input, &external, &mut out),
        false => work.inverse(&tree, couplings, lifted.view(), &input, &external, &mut out),
    }
    out.iter().map(|x| x.derivative[0]).collect()
}

/// Derivatives of efforts and accelerations are those of the recursions in dual numbers.
#[test]
fn derivatives_are_those_of_dual_numbers() {
    for seed in 1..=25 {
        let Some(model) = random_coupled(seed) else {
            continue;
        };
        let mut random = Random::new(seed);
        let (state, nv) = (State::random(&model, seed), model.nv());
        let input = numbers(&mut random, nv, 1.0);
        let external = wrenches(&mut random, &model, 2.0);
        let mut dynamics = Dynamics::new(&model);
        for forward in [false, true] {
            let [dq, dv] = if forward {
                let found = dynamics
                    .forward_derivatives(&state, &input, &external)
                    .expect("finite");
                [found.dq.clone(), found.dv.clone()]
            } else {
                let found = dynamics
                    .inverse_derivatives(&state, &input, &external)
                    .expect("finite");
                [found.dq.clone(), found.dv.clone()]
            };
            for (of_q, matrix) in [(true, dq), (false, dv)] {
                let size = 1.0 + largest(matrix.as_slice());
                for k in 0..nv {
                    let column = along(&model, &state, &input, &external, (of_q, forward), k);
                    let found: Vec<f64> = (0..nv).map(|i| matrix[(i, k)]).collect();
                    let difference = relative(&found, &column, size);
                    let limit = if forward { 1e-8 } else { 1e-11 };
                    assert!(
                        difference < limit,
                        "seed {seed}, {forward}: {difference:.1e}"
                    );
                }
            }
        }
    }
}

/// Many states in lanes and threads are the single states.
#[test]
fn batches_are_single_states() {
    for seed in [3, 5, 8, 13, 21] {
        let Some(model) = random_coupled(seed) else {
            continue;
        };
        for cpu in [Cpu::Baseline, Cpu::best()] {
            let (nq, nv, count) = (model.nq(), model.nv(), 21);
            let states: Vec<State> = (0..count).map(|k| State::random(&model, k)).collect();
            let q: Vec<f64> = states.iter().flat_map(|s| s.q.clone()).collect();
            let v: Vec<f64> = states.iter().flat_map(|s| s.v.clone()).collect();
            let mut random = Random::new(seed);
            let input = numbers(&mut random, nv * count as usize, 1.0);
            let count = count as usize;
            let mut batch = Batch::with_cpu(&model, cpu).threads(2);
            let mut tau = vec![0.0; count * nv];
            batch.inverse(&q, &v, &input, &mut tau).expect("possible");
            let mut vdot = vec![0.0; count * nv];
            batch.forward(&q, &v, &input, &mut vdot).expect("possible");
            let mut inertia = vec![0.0; count * nv * nv];
            batch.inertia(&q, &mut inertia).expect("possible");
            let mut of_efforts = vec![0.0; 2 * count * nv * nv];
            batch
                .inverse_derivatives(&q, &v, &input, &mut of_efforts)
                .expect("possible");
            let mut of_accelerations = vec![0.0; 3 * count * nv * nv];
            batch
                .forward_derivatives(&q, &v, &input, &mut of_accelerations)
                .expect("possible");
            let mut x = input.clone();
            batch.factorize(&q).expect("regular");
            batch.solve(&mut x).expect("regular");
            let frame = model.tree().frames.last().expect("a frame").clone();
            let mut jacobians = vec![0.0; count * 6 * nv];
            batch.jacobians(&q, &frame, &mut jacobians).expect("finite");
            let mut poses = vec![Pose::identity(); count];
            batch.frame_poses(&q, &frame, &mut poses).expect("finite");

            let mut dynamics = Dynamics::new(&model);
            for (k, state) in states.iter().enumerate() {
                let part = |x: &[f64], size: usize| x[k * size..(k + 1) * size].to_vec();
                let input = part(&input, nv);
                let single = dynamics.inverse(state, &input, &[]).expect("possible");
                agree("batch τ", seed, &part(&tau, nv), single);
                let single = dynamics.forward(state, &input, &[]).expect("possible");
                agree("batch v̇", seed, &part(&vdot, nv), single);
                let single = dynamics.inertia(state).expect("finite").as_slice();
                agree("batch I", seed, &part(&inertia, nv * nv), single);
                let single = dynamics
                    .inverse_derivatives(state, &input, &[])
                    .expect("finite");
                let both = [single.dq.as_slice(), single.dv.as_slice()].concat();
                agree("batch ∂τ", seed, &part(&of_efforts, 2 * nv * nv), &both);
                let single = dynamics
                    .forward_derivatives(state, &input, &[])
                    .expect("finite");
                let parts = [&single.dq, &single.dv, &single.dtau].map(Matrix::as_slice);
                let found = part(&of_accelerations, 3 * nv * nv);
                for (found, single) in found.chunks_exact(nv * nv).zip(parts) {
                    let difference = relative(found, single, 1.0 + largest(single));
                    assert!(difference < 1e-8, "batch ∂v̇, seed {seed}: {difference:.1e}");
                }
                dynamics.factorize(state).expect("regular");
                let mut single = input.clone();
                dynamics.solve(&mut single).expect("regular");
                agree("batch I⁻¹ b", seed, &part(&x, nv), &single);
                let single = dynamics.jacobian(state, &frame).expect("finite").as_slice();
                agree("batch J", seed, &part(&jacobians, 6 * nv), single);
                let pose = dynamics.frame_pose(state, &frame).expect("finite");
                let (found, known) = (poses[k].translation, pose.translation);
                agree("batch pose", seed, &found.to_array(), &known.to_array());
            }

            // a trajectory in lanes is that of single steps
            let (mut end_q, mut end_v) = (q.clone(), v.clone());
            let hold = Drive::Hold {
                targets: &input,
                stiffness: 0.5,
                damping: 0.1,
            };
            let method = FixedMethod::SemiImplicitEuler;
            let done = batch.advance(method, 1e-4, 3, hold, &mut end_q, &mut end_v);
            done.expect("possible");
            let mut state = states[4].clone();
            for _ in 0..3 {
                let mut tau = vec![0.0; nv];
                for k in 0..nv {
                    let dof = model.freedom(k);
                    let body = &model.tree().bodies[dof.body];
                    if body.kind.quaternion().is_none() {
                        let at = position_of(&model, k);
                        tau[k] = 0.5 * (input[4 * nv + k] - state.q[at]) - 0.1 * state.v[k];
                    }
                }
                let vdot = dynamics.forward(&state, &tau, &[]).expect("possible");
                for (v, a) in state.v.iter_mut().zip(vdot) {
                    *v += 1e-4 * a;
                }
                let delta: Vec<f64> = state.v.iter().map(|v| 1e-4 * v).collect();
                state.step(&model, &delta);
            }
            agree("trajectory", seed, &end_q[4 * nq..5 * nq], &state.q);
            agree("trajectory", seed, &end_v[4 * nv..5 * nv], &state.v);
        }
    }
}

/// Place of the position of an independent freedom with a plain coordinate.
fn position_of(model: &Model, k: usize) -> usize {
    let couplings = model.couplings().expect("coupled");
    let freedom = couplings.freedoms()[k];
    let body = &model.tree().bodies[model.tree().dofs[freedom].body];
    let at = body.q + (freedom - body.v);
    couplings.positions().partition_point(|&q| q < at)
}

/// A chain of n modules; in each a geared pair: the second joint turns by −0.7 of the first.
fn geared_chain(n: usize) -> Model {
    let mut builder = ModelBuilder::new("geared-chain");
    let rod = Inertial {
        mass: 1.0,
        centre: Vec3::new(0.1, 0.02, 0.05),
        tensor: Sym3::new(0.02, 0.03, 0.04, 0.001, 0.0, 0.002),
    };
    for k in 0..2 * n {
        builder.link(&format!("link{k}"), rod);
        let parent = match k {
            0 => "world".to_string(),
            k => format!("link{}", k - 1),
        };
        let mut joint = JointSpec::new(
            &format!("joint{k}"),
            JointKind::Revolute,
            &parent,
            &format!("link{k}"),
        );
        joint.parent_from_joint = Pose::shift(Vec3::new(0.2, 0.0, 0.0));
        joint.axes.first = [Vec3::new(0.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 0.0)][k % 2];
        builder.joint(joint);
    }
    for k in 0..n {
        let terms = vec![
            (format!("joint{}", 2 * k + 1), 1.0),
            (format!("joint{}", 2 * k), 0.7),
        ];
        builder.constraint(ConstraintSpec::new(
            &format!("gear{k}"),
            RuleSpec::Coupling { terms, offset: 0.1 },
        ));
    }
    builder.build().expect("sound")
}

/// The number of operations of forward dynamics is linear in the number of modules, each with a coupling.
#[test]
fn the_cost_is_linear() {
    let count = |n: usize| {
        let model = geared_chain(n);
        let tree = model.clone().open_tree();
        let couplings = model.couplings().expect("coupled");
        assert_eq!((model.nv(), tree.nv()), (n, 2 * n));
        let x = vec![Count::variable(0.3); n];
        let mut out = x.clone();
        let mut work = CoupledDynamics::new(&tree, couplings);
        let base = Base::fixed();
        let state = StateView {
            q: &x,
            v: &x,
            base: &base,
        };
        let (_, counted) = Count::measure(|| {
            work.forward(&tree, couplings, state, &x, &[], &mut out);
        });
        counted.total() as f64
    };
    let [a, b, c] = [20, 40, 60].map(count);
    assert_eq!(c - b, b - a, "{a} {b} {c}");
    println!("{} operations per module", (b - a) / 20.0);
}

/// Lanes compute what single numbers do.
#[test]
fn lanes_are_single_numbers() {
    let model = geared_chain(5);
    let (tree, couplings) = (
        model.clone().open_tree(),
        model.couplings().expect("coupled"),
    );
    let state = State::random(&model, 4);
    let forward = |tau: &[f64]| {
        let mut work = CoupledDynamics::<f64>::new(&tree, couplings);
        let mut out = vec![0.0; 5];
        work.forward(&tree, couplings, state.view(), tau, &[], &mut out);
        out
    };
    type L = Lanes<4>;
    let lifted: State<L> = state.lift();
    let tau: Vec<L> = (0..5).map(|k| L::constant(0.1 * k as f64)).collect();
    let mut work = CoupledDynamics::<L>::new(&tree, couplings);
    let mut out = vec![L::constant(0.0); 5];
    work.forward(&tree, couplings, lifted.view(), &tau, &[], &mut out);
    let single = forward(&[0.0, 0.1, 0.2, 0.1 * 3.0, 0.4]);
    for (wide, single) in out.iter().zip(single) {
        for lane in wide.0 {
            assert!((lane - single).abs() < 1e-12 * (1.0 + single.abs()));
        }
    }
}

fn three_joints(constraints: &[(&[(&str, f64)], f64)]) -> catena::Result<Model> {
    let mut builder = ModelBuilder::new("three");
    let body = Inertial {
        mass: 1.0,
        centre: Vec3::new(0.1, 0.0, 0.0),
        tensor: Sym3::new(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    };
    for (name, parent) in [("a", "world"), ("b", "a"), ("c", "b")] {
        builder.link(name, body);
        let mut joint = JointSpec::new(&format!("{name}_joint"), JointKind::Revolute, parent, name);
        joint.parent_from_joint = Pose::shift(Vec3::new(0.3, 0.0, 0.0));
        builder.joint(joint);
    }
    for (k, (terms, offset)) in constraints.iter().enumerate() {
        builder.constraint(ConstraintSpec::new(
            &format!("coupling{k}"),
            RuleSpec::Coupling {
                terms: terms
                    .iter()
                    .map(|(n, c)| (format!("{n}_joint"), *c))
                    .collect(),
                offset: *offset,
            },
        ));
    }
    builder.build()
}

/// Which coordinates follow, and by what: chains of followers, redundant and contradictory couplings.
#[test]
fn elimination_chooses_and_explains() {
    // a mimics b, b mimics c
    let model = three_joints(&[
        (&[("a", 1.0), ("b", -2.0)], 0.5),
        (&[("b", 1.0), ("c", -3.0)], 0.25),
    ])
    .expect("sound");
    assert_eq!((model.nq(), model.nv()), (1, 1));
    assert_eq!(model.freedom(0).name, "c_joint");
    let all = State::new(&model, &[0.1], &[2.0])
        .expect("fits")
        .of_tree(&model);
    agree("q", 0, &all.q, &[2.0 * (3.0 * 0.1 + 0.25) + 0.5, 0.55, 0.1]);
    agree("v", 0, &all.v, &[12.0, 6.0, 2.0]);

    // written for none of its coordinates: the last follows
    let model = three_joints(&[(&[("a", 2.0), ("b", 4.0)], 0.0)]).expect("sound");
    let names: Vec<&str> = model
        .freedoms()
        .iter()
        .map(|dof| dof.name.as_str())
        .collect();
    assert_eq!(names, ["a_joint", "c_joint"]);

    // twice the first one
    let model = three_joints(&[
        (&[("a", 1.0), ("b", -2.0)], 0.5),
        (&[("a", 2.0), ("b", -4.0)], 1.0),
    ])
    .expect("sound");
    assert_eq!(model.nv(), 2);
    assert!(
        (model.tree().assumptions.iter()).any(|note| note.contains("`coupling1` follows")),
        "{:?}",
        model.tree().assumptions
    );
    let error = three_joints(&[
        (&[("a", 1.0), ("b", -2.0)], 0.5),
        (&[("a", 2.0), ("b", -4.0)], 0.9),
    ])
    .expect_err("a contradiction");
    assert!(
        error.message().contains("`coupling1` contradicts"),
        "{error}"
    );

    // all coordinates are constant
    let model = three_joints(&[
        (&[("a", 1.0)], 0.5),
        (&[("b", 1.0)], 0.2),
        (&[("c", 1.0), ("a", -1.0)], 0.0),
    ])
    .expect("sound");
    assert_eq!(model.nv(), 0);
    let mut dynamics = Dynamics::new(&model);
    let state = State::neutral(&model);
    assert!(
        dynamics
            .forward(&state, &[], &[])
            .expect("nothing")
            .is_empty()
    );
    let frame = model.tree().frame("c").expect("there").clone();
    let x = (dynamics.frame_pose(&state, &frame).expect("finite"))
        .translation
        .x;
    assert!((x - (0.3 + 0.3 * 0.5f64.cos() + 0.3 * 0.7f64.cos())).abs() < 1e-15);
}
