//! Closed chains: the laws their accelerations, multipliers and loads obey.

use catena::algorithm::constrained::{Axes, Stabilisation, UserConstraint, UserRows};
use catena::algorithm::kinematics::Kinematics;
use catena::closed_chain::{ClosedChain, Sharing};
use catena::model::embedded;
use catena::model::{ConstraintSpec, JointKind, JointSpec, Law, Rule, RuleSpec};
use catena::random::Random;
use catena::residual::{larger, largest};
use catena::spatial::{Force, Motion, Pose, Vec3};
use catena::{Dynamics, ErrorKind, Model, State};
use catena_testing::draw::numbers;
use catena_testing::random_closed;
use std::f64::consts::PI;
use std::sync::Arc;

/// A random closed model at a closed state with consistent velocities, if it can move.
fn closed(bodies: usize, loops: usize, seed: u64) -> Option<(Model, ClosedChain, State)> {
    let (builder, mut state) = random_closed(bodies, loops, seed).expect("possible");
    let model = builder.build().expect("sound");
    let mut chain = ClosedChain::new(&model);
    let (rank, _) = chain.rank(0.0, &state).expect("finite");
    // dependent rows may leave no velocities that the driver wants
    if rank == model.nv() || chain.project(0.0, &mut state).is_err() {
        return None;
    }
    Some((model, chain, state))
}

/// The two conditions that make a motion the true one: J a = b, and efforts of the motion by inverse dynamics equal τ + Jᵀλ.
/// With them Gauss's function is least, and there is no other such motion.
#[test]
fn accelerations_obey_constraints_and_newton() {
    let mut seen = 0;
    let mut worst = [0.0f64; 2];
    for seed in 1..=120 {
        let Some((model, mut chain, state)) = closed(10 + seed as usize % 7, 3, seed) else {
            continue;
        };
        seen += 1;
        let mut random = Random::new(seed);
        let nv = model.nv();
        let tau = numbers(&mut random, nv, 5.0);
        let external: Vec<Force<f64>> = (0..=model.body_count())
            .map(|_| {
                let x = numbers(&mut random, 6, 2.0);
                Force::new(Vec3::new(x[0], x[1], x[2]), Vec3::new(x[3], x[4], x[5]))
            })
            .collect();
        let Ok(motion) = chain.forward(0.0, &state, &tau, &external) else {
            continue; // the driver wants an acceleration that dependent rows forbid
        };
        let (vdot, lambda) = (motion.accelerations.to_vec(), motion.multipliers.to_vec());
        let rows = chain.rows(0.0, &state).expect("finite");
        let mut product = vec![0.0; lambda.len()];
        rows.times(&vdot, &mut product);
        let scale = 1.0 + largest(&rows.bias) + largest(&product);
        for (a, bias) in product.iter().zip(&rows.bias) {
            worst[0] = larger(worst[0], (a + bias).abs() / scale);
        }
        let mut efforts = tau.clone();
        rows.add_transpose_times(&lambda, &mut efforts);
        let tree = model.clone().open_tree();
        let mut dynamics = Dynamics::new(&tree);
        let needed = dynamics.inverse(&state, &vdot, &external).expect("finite");
        let scale = 1.0 + largest(&efforts) + largest(needed);
        for (a, b) in needed.iter().zip(&efforts) {
            worst[1] = larger(worst[1], (a - b).abs() / scale);
        }
    }
    println!("{seen} models, worst {:.1e} {:.1e}", worst[0], worst[1]);
    assert!(seen > 25, "only {seen}");
    // round-off times the condition of J I⁻¹ Jᵀ of random models
    assert!(worst[0] < 1e-10 && worst[1] < 1e-10, "{worst:?}");
}

/// The free tree's accelerations are nearer to nothing else that obeys the constraints (Gauss): a step along a motion the
/// constraints allow changes Gauss's function in second order only.
#[test]
fn gauss_function_is_least() {
    for seed in 1..=12 {
        let Some((model, mut chain, state)) = closed(11, 2, seed) else {
            continue;
        };
        let nv = model.nv();
        let tau = vec![0.3; nv];
        let Ok(motion) = chain.forward(0.0, &state, &tau, &[]) else {
            continue;
        };
        let vdot = motion.accelerations.to_vec();
        let mut dynamics = Dynamics::new(&model.clone().open_tree());
        let free = dynamics
            .forward(&state, &tau, &[])
            .expect("finite")
            .to_vec();
        let inertia = dynamics.inertia(&state).expect("finite").clone();
        let mut random = Random::new(seed);
        let wanted = numbers(&mut random, nv, 1.0);
        // a direction with J d = 0: the difference of two consistent accelerations
        let other: Vec<f64> = vdot.iter().zip(&wanted).map(|(a, w)| a + w).collect();
        let other = chain
            .consistent_accelerations(0.0, &state, &other)
            .expect("consistent");
        let d: Vec<f64> = other.iter().zip(&vdot).map(|(a, b)| a - b).collect();
        let away: Vec<f64> = vdot.iter().zip(&free).map(|(a, b)| a - b).collect();
        let slope: f64 = inertia
            .times(&away)
            .iter()
            .zip(&d)
            .map(|(x, y)| x * y)
            .sum();
        let size: f64 = inertia
            .times(&away)
            .iter()
            .zip(&d)
            .map(|(x, y)| (x * y).abs())
            .sum();
        assert!(
            slope.abs() < 1e-9 * (1.0 + size),
            "seed {seed}: {slope:.2e} of {size:.1e}"
        );
    }
}

/// d/dt (T + V) = τ·v + λ of drivers · their velocities − dissipation; rates of the energies by central differences along the motion
/// would lose digits, so the power of all efforts by inverse dynamics is compared instead.
#[test]
fn only_drivers_do_work() {
    for seed in 1..=40 {
        let Some((model, mut chain, state)) = closed(12, 2, seed) else {
            continue;
        };
        let tau = vec![0.0; model.nv()];
        let Ok(motion) = chain.forward(0.0, &state, &tau, &[]) else {
            continue;
        };
        let lambda = motion.multipliers.to_vec();
        let rows = chain.rows(0.0, &state).expect("finite").clone();
        let mut efforts = tau.clone();
        rows.add_transpose_times(&lambda, &mut efforts);
        let power: f64 = efforts.iter().zip(&state.v).map(|(e, v)| e * v).sum();
        let size: f64 = efforts
            .iter()
            .zip(&state.v)
            .map(|(e, v)| (e * v).abs())
            .sum();
        let mut drivers = 0.0;
        for (constraint, block) in model.constraints().iter().zip(rows.blocks()) {
            if let Rule::Driver { coordinate, .. } = &constraint.rule {
                drivers += lambda[block.first] * state.v[coordinate.v];
            }
        }
        assert!(
            (power - drivers).abs() < 1e-9 * (1.0 + size),
            "seed {seed}: {power} {drivers}"
        );
    }
}

/// The exact law of N four-bars on the parallelogram branch, with three dependent rows in every loop.
#[test]
fn four_bars_fall_as_they_must() {
    for n in [1usize, 2, 5, 12] {
        let model = embedded::model(&format!("four-bar-{n}")).expect("embedded");
        let mut chain = ClosedChain::new(&model);
        for phi in [PI / 2.0, 1.1, 2.4, -0.7] {
            let rate = -1.0;
            let mut q = vec![0.0; model.nq()];
            let mut v = vec![0.0; model.nv()];
            for (k, (q, v)) in q.iter_mut().zip(&mut v).enumerate() {
                let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
                (*q, *v) = (sign * phi, sign * rate);
            }
            let state = State::new(&model, &q, &v).expect("finite");
            let motion = chain
                .forward(0.0, &state, &vec![0.0; model.nv()], &[])
                .expect("closed");
            assert_eq!(motion.rank, 2 * n, "n {n}");
            let m = n as f64;
            let law = -9.81 * ((m + 1.0) / 2.0 + m) / ((m + 1.0) / 3.0 + m) * phi.cos();
            for (k, a) in motion.accelerations.iter().enumerate() {
                let expected = if k % 2 == 0 { law } else { -law };
                assert!(
                    (a - expected).abs() < 1e-11 * n as f64,
                    "n {n} φ {phi}: {a} {expected}"
                );
            }
        }
    }
}

/// A four-bar of revolute joints with skew numbers, cut at one hinge or at another: same motion, same loads in every hinge.
#[test]
fn loads_do_not_depend_on_where_the_loop_is_cut() {
    let x = |l: f64| Pose::shift(Vec3::new(l, 0.0, 0.0));
    let lengths = [0.4, 0.9, 0.7];
    let ground = 1.0;
    let bar = |l: f64| catena::model::Inertial {
        mass: 1.0 + l,
        centre: Vec3::new(0.45 * l, 0.02, 0.03),
        tensor: catena::spatial::Sym3::new(
            0.02,
            0.04 + l * l / 12.0,
            0.03 + l * l / 12.0,
            0.003,
            0.002,
            0.001,
        ),
    };
    let build = |cut_at_coupler: bool| {
        let mut b = catena::ModelBuilder::new("four-bar");
        b.gravity = Vec3::new(0.3, -9.0, 1.0);
        for (name, l) in ["crank", "coupler", "rocker"].iter().zip(lengths) {
            b.link(name, bar(l));
        }
        let hinge = |name: &str, parent: &str, at: f64, child: &str| JointSpec {
            parent_from_joint: x(at),
            ..JointSpec::new(name, JointKind::Revolute, parent, child)
        };
        b.joint(hinge("a", "world", 0.0, "crank"));
        b.joint(hinge("b", "crank", lengths[0], "coupler"));
        let end = x(-lengths[2]);
        if cut_at_coupler {
            b.joint(hinge("d", "world", ground, "rocker"));
            b.constraint(ConstraintSpec::joint(JointSpec {
                joint_from_child: end,
                ..hinge("c", "coupler", lengths[1], "rocker")
            }));
        } else {
            b.joint(JointSpec {
                joint_from_child: end,
                ..hinge("c", "coupler", lengths[1], "rocker")
            });
            b.constraint(ConstraintSpec::joint(hinge("d", "world", ground, "rocker")));
        }
        b.build().expect("sound")
    };
    let (one, two) = (build(true), build(false));
    // closed positions of the first by assembly with the crank held; of the second from them
    let mut first = ClosedChain::new(&one);
    let guess = State::new(&one, &[1.1, -0.6, 1.4], &[2.0, 0.0, 0.0]).expect("finite");
    let state = first.assemble(0.0, &guess, &[0]).expect("it closes").state;
    let absolute = |s: &[f64], k: usize| s[..=k].iter().sum::<f64>();
    let (q, v) = (&state.q, &state.v);
    let other = State::new(
        &two,
        &[q[0], q[1], q[2] - absolute(q, 1)],
        &[v[0], v[1], v[2] - absolute(v, 1)],
    )
    .expect("finite");
    let mut second = ClosedChain::new(&two);
    let mut dynamics = [Vec::new(), Vec::new()];
    let mut loads = Vec::new();
    for (chain, state, out) in [(&mut first, &state, 0), (&mut second, &other, 1)] {
        let motion = chain
            .forward(0.0, state, &[0.7, 0.0, 0.0], &[])
            .expect("closed");
        assert_eq!(motion.rank, 2);
        dynamics[out] = motion.accelerations.to_vec();
        loads.push(
            chain
                .loads(state, &[0.7, 0.0, 0.0], &[], Sharing::AllJoints)
                .expect("known"),
        );
    }
    let (a, b) = (&dynamics[0], &dynamics[1]);
    assert!(
        (a[0] - b[0]).abs() < 1e-11 && (a[1] - b[1]).abs() < 1e-11,
        "{a:?} {b:?}"
    );
    assert!((loads[0].norm - loads[1].norm).abs() < 1e-11 * loads[0].norm);
    let same = |p: Force<f64>, q: Force<f64>| {
        (p.force - q.force).norm() + (p.moment - q.moment).norm() < 1e-10
    };
    assert!(same(loads[0].tree[1], loads[1].tree[1]), "hinge a");
    assert!(same(loads[0].tree[2], loads[1].tree[2]), "hinge b");
    assert!(same(loads[0].constraints[0], loads[1].tree[3]), "hinge c");
    assert!(same(loads[0].tree[3], loads[1].constraints[0]), "hinge d");
    let cut_only = first
        .loads(&state, &[0.7, 0.0, 0.0], &[], Sharing::Constraints)
        .expect("known");
    assert!(
        cut_only.norm > loads[0].norm,
        "{} {}",
        cut_only.norm,
        loads[0].norm
    );
}

/// A hinge given twice carries half of its load in each.
#[test]
fn duplicated_hinges_share_equally() {
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    let RuleSpec::Joint(joint) = builder.constraints[0].rule.clone() else {
        panic!("a joint");
    };
    let turned = Pose::new(
        catena::spatial::Mat3::rotation_z(0.6f64.sin(), 0.6f64.cos()),
        Vec3::zero(),
    );
    builder.constraint(ConstraintSpec::joint(JointSpec {
        name: "again".into(),
        parent_from_joint: joint.parent_from_joint * turned,
        ..*joint
    }));
    let model = builder.build().expect("sound");
    let mut chain = ClosedChain::new(&model);
    let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.5, -0.5, 0.5]).expect("finite");
    let tau = [0.4, 0.0, 0.0];
    chain.forward(0.0, &state, &tau, &[]).expect("closed");
    let loads = chain
        .loads(&state, &tau, &[], Sharing::AllJoints)
        .expect("known");
    let [a, b] = [loads.constraints[0], loads.constraints[1]];
    assert!((a.force - b.force).norm() < 1e-12 && a.force.norm() > 0.1);
    assert!((a.moment - b.moment).norm() < 1e-12);
}

/// A base that accelerates is a gravity that leans; loops to the base included.
#[test]
fn a_moving_base_is_a_leaning_gravity() {
    let model = embedded::model("four-bar-2").expect("embedded");
    let mut state = State::new(
        &model,
        &[1.2, -1.2, 1.2, -1.2, 1.2],
        &[0.5, -0.5, 0.5, -0.5, 0.5],
    )
    .expect("finite");
    let tau = vec![0.1; 5];
    let push = Vec3::new(1.0, 2.0, 0.5);
    let leaning = model
        .clone()
        .with_gravity((model.gravity() - push).to_array());
    let expected = ClosedChain::new(&leaning)
        .forward(0.0, &state, &tau, &[])
        .expect("closed")
        .accelerations
        .to_vec();
    state.base.acceleration = Motion::new(Vec3::zero(), push);
    state.base.velocity = Motion::new(Vec3::zero(), Vec3::new(3.0, 1.0, 2.0));
    let mut chain = ClosedChain::new(&model);
    let found = chain.forward(0.0, &state, &tau, &[]).expect("closed");
    for (a, b) in found.accelerations.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-11, "{a} {b}");
    }
}

/// q₀ + 2 q₂ = 3 (1 + sin t) q₁(0) …: a user's row equals the coupling and the driver it imitates.
#[derive(Debug)]
struct Imitation {
    driver: bool,
}

impl UserConstraint for Imitation {
    fn name(&self) -> &str {
        "imitation"
    }

    fn rows(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        _model: &Model,
        time: f64,
        state: &State,
        _kinematics: &Kinematics<f64>,
        rows: &mut UserRows,
    ) {
        if self.driver {
            let [s, rate, second] = law().at(time);
            rows.residual[0] = state.q[0] - s;
            rows.rate[0] = state.v[0] - rate;
            rows.bias[0] = -second;
            rows.jacobian[(0, 0)] = 1.0;
        } else {
            rows.residual[0] = 1.5 * state.q[0] - 0.5 * state.q[2];
            rows.rate[0] = 1.5 * state.v[0] - 0.5 * state.v[2];
            rows.jacobian[(0, 0)] = 1.5;
            rows.jacobian[(0, 2)] = -0.5;
        }
    }
}

fn law() -> Law {
    Law::Sine {
        offset: 0.2,
        amplitude: 0.4,
        frequency: 3.0,
        phase: 0.1,
    }
}

#[test]
fn user_constraints_are_constraints() {
    let time = 0.7;
    for driver in [false, true] {
        let mut builder = embedded::builder("chain-4").expect("embedded");
        let rule = if driver {
            RuleSpec::Driver {
                coordinate: "joint1".into(),
                law: law(),
            }
        } else {
            RuleSpec::Coupling {
                terms: vec![("joint1".into(), 1.5), ("joint3".into(), -0.5)],
                offset: 0.0,
            }
        };
        builder.constraint(ConstraintSpec::new("own", rule));
        let model = builder
            .build()
            .expect("sound")
            .with_couplings_as_constraints();
        let tree = model.clone().open_tree();
        let mut state = State::random(&model, 4);
        let mut chain = ClosedChain::new(&model);
        state = chain.assemble(time, &state, &[]).expect("closes").state;
        let tau = vec![0.2; model.nv()];
        let expected = chain.forward(time, &state, &tau, &[]).expect("closed");
        let user: Vec<Arc<dyn UserConstraint>> = vec![Arc::new(Imitation { driver })];
        let mut other = ClosedChain::with(&tree, user, Axes::Parent);
        let found = other.forward(time, &state, &tau, &[]).expect("closed");
        assert_eq!(expected.accelerations, found.accelerations);
        assert_eq!(expected.multipliers, found.multipliers);
        // a joint that is driven needs the effort λ: inverse dynamics says the same
        if driver {
            let (vdot, lambda) = (found.accelerations.to_vec(), found.multipliers[0]);
            let mut dynamics = Dynamics::new(&tree);
            let needed = dynamics.inverse(&state, &vdot, &[]).expect("finite");
            assert!((needed[0] - tau[0] - lambda).abs() < 1e-11);
            let [_, _, second] = law().at(time);
            assert!((vdot[0] - second).abs() < 1e-12);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_numbers() {
    let model = embedded::model("four-bar-1").expect("embedded");
    let mut dynamics = Dynamics::new(&model);
    let closed = State::new(&model, &[1.2, -1.2, 1.2], &[0.5, -0.5, 0.5]).expect("finite");
    for error in [
        dynamics
            .forward(&closed, &[0.0; 3], &[])
            .expect_err("a tree's"),
        dynamics
            .inverse(&closed, &[0.0; 3], &[])
            .expect_err("a tree's"),
    ] {
        assert!(
            error.message().contains("has 1 constraint besides"),
            "{error}"
        );
        assert!(
            error
                .advice()
                .is_some_and(|hint| hint.contains("ClosedChain"))
        );
    }
    let mut chain = ClosedChain::new(&model);
    let open = State::new(&model, &[1.2, -1.2, 1.3], &[0.0; 3]).expect("finite");
    let error = chain.forward(0.0, &open, &[0.0; 3], &[]).expect_err("open");
    assert!(
        error.message().starts_with("constraint `loop0` is open by"),
        "{error}"
    );
    let opening = State::new(&model, &[1.2, -1.2, 1.2], &[0.5, -0.5, 0.6]).expect("finite");
    let error = chain
        .forward(0.0, &opening, &[0.0; 3], &[])
        .expect_err("opening");
    assert!(
        error
            .message()
            .starts_with("constraint `loop0` is opening by"),
        "{error}"
    );
    // stabilised, the open one is accepted
    chain.stabilise(Stabilisation::critical(0.1));
    assert!(chain.forward(0.0, &open, &[0.0; 3], &[]).is_ok());

    // two drivers that the loop does not let go together
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    for (name, coordinate, second) in [("m0", "foot0", 1.0), ("m1", "foot1", 2.0)] {
        builder.constraint(ConstraintSpec::new(
            name,
            RuleSpec::Driver {
                coordinate: coordinate.into(),
                law: Law::Polynomial(vec![1.2, 0.5, 0.5 * second]),
            },
        ));
    }
    let model = builder.build().expect("sound");
    let error = ClosedChain::new(&model)
        .forward(0.0, &closed, &[0.0; 3], &[])
        .expect_err("contradiction");
    assert_eq!(error.kind(), ErrorKind::Singular);
    assert!(
        error
            .message()
            .starts_with("the constraints contradict each other"),
        "{error}"
    );
}

/// From a rough guess the four-bar closes with its crank held; the guess chooses one of its two branches; an impossible one is reported.
#[test]
fn assembly_finds_branches_and_tells_what_cannot_close() {
    let model = embedded::model("four-bar-1").expect("embedded");
    let mut chain = ClosedChain::new(&model);
    let mut ends = Vec::new();
    for guess in [[1.0, -0.8, 1.2], [1.0, 2.8, 2.9]] {
        let guess = State::new(&model, &guess, &[0.7, 0.0, 0.0]).expect("finite");
        let found = chain.assemble(0.0, &guess, &[0]).expect("it closes");
        assert!(
            found.residuals[0] < 1e-14 && found.residuals[1] < 1e-14,
            "{found:?}"
        );
        assert_eq!((found.state.q[0], found.state.v[0]), (1.0, 0.7));
        assert_eq!((found.rows, found.freedoms), ([5, 2], 1));
        ends.push(found.state.q[2]);
    }
    // the parallelogram, and the one folded upon the ground
    assert!((ends[0] - 1.0).abs() < 1e-13, "{ends:?}");
    assert!((ends[1] - PI).abs() < 1e-13, "{ends:?}");
    let guess = State::new(&model, &[1.0, -0.3, -1.0], &[0.0; 3]).expect("finite");
    let error = chain
        .assemble(0.0, &guess, &[0, 2])
        .expect_err("too far apart");
    assert!(
        error
            .message()
            .starts_with("constraint `loop0` cannot be closed"),
        "{error}"
    );

    // random loops, opened by a third of a radian or metre in every coordinate
    let mut closed_again = 0;
    for seed in 1..=20 {
        let (builder, state) = random_closed(9, 2, seed).expect("possible");
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let mut guess = state.clone();
        let mut random = Random::new(seed);
        guess.step(&model, &numbers(&mut random, model.nv(), 0.3));
        match chain.assemble(0.0, &guess, &[]) {
            Ok(found) => {
                assert!(found.residuals[0] < 1e-12, "{seed}");
                closed_again += 1;
            }
            // positions always close; velocities that the motor wants may be forbidden where rows depend on each other
            Err(error) => assert!(
                error.message().starts_with("no velocities"),
                "{seed}: {error}"
            ),
        }
    }
    assert!(closed_again >= 12, "only {closed_again} of 20");
}
