//! The error that `Dynamics::accuracy` tells is the true one, and is small where nothing is lost.

use catena::algorithm::forward_dynamics::{WalkerOrin, forward_dynamics_walker_orin};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::laws::{self, DECIDED, LawResult, Verdict};
use catena::model::{AxisPair, ConstraintSpec, Inertial, JointKind, JointSpec, RuleSpec, embedded};
use catena::residual::{largest, relative};
use catena::scalar::DoubleDouble;
use catena::spatial::{Force, Pose, Sym3, Vec3};
use catena::{ClosedChain, Dynamics, ErrorKind, Model, ModelBuilder, State};

/// Seven links on revolute joints about different axes, the last one heavier than the others by this factor, as in docs/accuracy.md.
fn heavy_hand(factor: f64) -> Model {
    let mut builder = ModelBuilder::new("heavy hand");
    for k in 0..7 {
        let mass = if k == 6 { factor } else { 1.0 };
        let inertial = Inertial {
            mass,
            centre: Vec3::new(0.05, 0.0, 0.1),
            tensor: Sym3::new(0.01 * mass, 0.02 * mass, 0.015 * mass, 0.0, 0.0, 0.0),
        };
        let (name, parent) = match k {
            0 => ("link0".to_string(), "world".to_string()),
            _ => (format!("link{k}"), format!("link{}", k - 1)),
        };
        builder.link(&name, inertial);
        let axes = [
            Vec3::new(0.0, 0.0, 1.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(1.0, 0.0, 0.0),
        ];
        builder.joint(JointSpec {
            axes: AxisPair {
                first: axes[k % 3],
                ..AxisPair::default()
            },
            parent_from_joint: Pose::shift(Vec3::new(0.0, 0.0, 0.2)),
            ..JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &name)
        });
    }
    builder.build().expect("every body has inertia")
}

/// Efforts that give chosen accelerations are found in double-double arithmetic by another recursion, so that the right accelerations are known
/// in advance. The estimate is the error against them, up to what rounding these efforts to doubles does: that is the same kind of loss, and the reason for
/// the factor of ten.
#[test]
fn the_estimate_is_the_true_error() {
    for (factor, lost) in [
        (1.0, [0.0, 1e-13]),
        (1e6, [1e-13, 1e-8]),
        (1e12, [1e-7, 1e-1]),
    ] {
        let model = heavy_hand(factor);
        let mut dynamics = Dynamics::new(&model);
        let (mut worst, mut worst_true) = (0.0f64, 0.0f64);
        for seed in 1..=10 {
            let state = State::random(&model, seed);
            let wanted = State::random(&model, 100 + seed).v;
            let exact = state.lift::<DoubleDouble>();
            let lifted: Vec<DoubleDouble> = wanted.iter().map(|&x| x.into()).collect();
            let mut tau = lifted.clone();
            let mut work = InverseDynamics::new(&model);
            inverse_dynamics(&model, exact.view(), &lifted, &[], &mut work, &mut tau);
            let tau: Vec<f64> = tau.iter().map(|x| x.value()).collect();
            let found = dynamics
                .forward(&state, &tau, &[])
                .expect("finite")
                .to_vec();
            let estimate = dynamics.accuracy(&state, &tau, &[], &found).expect("known");
            worst = worst.max(estimate);
            worst_true = worst_true.max(relative(&found, &wanted, largest(&wanted).max(1.0)));
        }
        assert!((lost[0]..lost[1]).contains(&worst), "{factor:e}: {worst:e}");
        let enough = worst > 0.1 * worst_true || worst_true < 1e-13;
        assert!(enough, "{factor:e}: {worst:e} of {worst_true:e}");
    }
}

/// The zoo with two of its joints coupled to others.
fn coupled_zoo() -> Model {
    let mut builder = embedded::builder("zoo").expect("embedded");
    let tree = builder.build().expect("a tree");
    let plain = (tree.tree().dofs.iter())
        .filter(|dof| tree.tree().bodies[dof.body].kind.quaternion().is_none())
        .map(|dof| dof.name.clone());
    let plain: Vec<String> = plain.collect();
    for (k, pair) in plain.chunks_exact(2).take(2).enumerate() {
        let terms = vec![(pair[0].clone(), 1.0), (pair[1].clone(), -1.5)];
        let rule = RuleSpec::Coupling { terms, offset: 0.1 };
        builder.constraint(ConstraintSpec::new(&format!("coupling{k}"), rule));
    }
    builder.build().expect("couplings")
}

/// With wrenches, couplings and free bases nothing is left out: the estimate stays at round-off where the models are well conditioned.
#[test]
fn ordinary_models_keep_their_digits() {
    let names = ["stanford", "zoo", "space-robot", "chain-40", "random-30-3"];
    let models = names.map(|name| embedded::model(name).expect("embedded"));
    for model in models.into_iter().chain([coupled_zoo()]) {
        let name = model.name();
        let mut dynamics = Dynamics::new(&model);
        let state = State::random(&model, 5);
        let tau = State::random(&model, 6).v;
        let mut external = vec![Force::zero(); model.body_count() + 1];
        external[model.body_count()] =
            Force::new(Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 2.0));
        let found = dynamics
            .forward(&state, &tau, &external)
            .expect("finite")
            .to_vec();
        let error = dynamics
            .accuracy(&state, &tau, &external, &found)
            .expect("known");
        // round-off of the recursion over up to 40 bodies
        assert!(error < 1e-11, "{name}: {error:e}");
        // wrong accelerations are seen as such
        let mut wrong = found.clone();
        wrong[0] += 1e-3 * largest(&found).max(1.0);
        let error = dynamics
            .accuracy(&state, &tau, &external, &wrong)
            .expect("known");
        assert!((error / 1e-3 - 1.0).abs() < 1e-6, "{name}: {error:e}");
    }
}

/// The error of a closed chain, and that of its tree with the loop open: both are round-off.
#[test]
fn closed_chains_mean_the_same() {
    let model = embedded::model("four-bar-1").expect("embedded");
    let state = State::start(&model);
    let mut chain = ClosedChain::new(&model);
    let found = chain.forward(0.0, &state, &[0.0; 3], &[]).expect("closed");
    let found = found.accelerations.to_vec();
    let error = chain
        .accuracy(0.0, &state, &[0.0; 3], &[], &found)
        .expect("known");
    assert!(error.error() < 1e-13, "{error:?}");
    let tree = model.open_tree();
    let mut dynamics = Dynamics::new(&tree);
    let found = dynamics
        .forward(&state, &[0.0; 3], &[])
        .expect("a tree")
        .to_vec();
    let error = dynamics
        .accuracy(&state, &[0.0; 3], &[], &found)
        .expect("known");
    assert!(error < 1e-13, "{error:e}");
}

#[test]
fn what_is_no_acceleration_is_refused() {
    let model = embedded::model("planar3").expect("embedded");
    let state = State::start(&model);
    let mut dynamics = Dynamics::new(&model);
    for wrong in [&[0.0; 2][..], &[0.0, f64::NAN, 0.0]] {
        let error = dynamics.accuracy(&state, &[0.0; 3], &[], wrong);
        assert_eq!(
            error.expect_err("no accelerations").kind(),
            ErrorKind::Input
        );
    }
}

/// The verdict on a law of a heavy hand: it holds where digits are left, and is undecided where two methods lose them all. It never "holds" to a
/// residual above the limit.
#[test]
fn laws_of_a_heavy_hand_are_undecided() {
    let verdicts = |factor: f64| -> Vec<LawResult> { laws::run(&heavy_hand(factor), 5, 1) };
    assert!(verdicts(1.0).iter().all(LawResult::holds));
    for factor in [1e12, 1e16] {
        let laws = verdicts(factor);
        let by = |verdict: Verdict| laws.iter().filter(|law| law.verdict() == verdict).count();
        assert_eq!(by(Verdict::Fails), 0, "{factor:e}: {laws:?}");
        assert!(by(Verdict::Undecided) >= 3, "{factor:e}: {laws:?}");
        for law in laws.iter().filter(|law| law.holds()) {
            assert!(law.residual <= DECIDED, "{factor:e}: {law:?}");
            assert!(
                law.residual == 0.0 || law.tolerance <= DECIDED,
                "{factor:e}: {law:?}"
            );
        }
    }
}

/// Walker and Orin's method has no result for the heaviest hand, or a wrong one; its error estimate shows which.
#[test]
fn another_method_has_its_own_error() {
    let model = heavy_hand(1e12);
    let mut dynamics = Dynamics::new(&model);
    let state = State::random(&model, 1);
    let tau = vec![1.0; 7];
    let mut twin = vec![0.0; 7];
    let mut work = WalkerOrin::new(&model);
    forward_dynamics_walker_orin(&model, state.view(), &tau, &[], &mut work, &mut twin);
    let error = dynamics.accuracy(&state, &tau, &[], &twin).expect("known");
    let found = dynamics
        .forward(&state, &tau, &[])
        .expect("finite")
        .to_vec();
    let own = dynamics.accuracy(&state, &tau, &[], &found).expect("known");
    let exact = dynamics
        .forward_double_double(&state, &tau, &[])
        .expect("finite");
    let exact: Vec<f64> = exact.iter().map(|a| a.value()).collect();
    let scale = largest(&exact).max(1.0);
    assert!((error / relative(&twin, &exact, scale) - 1.0).abs() < 1e-3);
    assert!((own / relative(&found, &exact, scale) - 1.0).abs() < 1e-3);
    assert!(own > 1e-9 && error > 1e-9, "{own:e} {error:e}");
}
