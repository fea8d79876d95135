//! Laws of closed mechanisms hold on embedded and random ones, and are not empty.

use catena::model::{ConstraintSpec, Law, RuleSpec, embedded};
use catena_mechanism::laws;

#[test]
fn embedded_mechanisms() {
    for name in [
        "four-bar-1",
        "four-bar-3",
        "bricard",
        "slider-crank",
        "squeezer",
        "stewart",
        "particle-pendulum",
    ] {
        let model = embedded::model(name).expect("embedded");
        let found = laws::run(&model, 3, 1);
        assert!(found.len() >= 13, "{name}: {found:#?}");
        for law in &found {
            assert!(law.holds(), "{name}: {law:?}");
        }
    }
}

/// Parallelograms in a row fold flat where all their bars are aligned; assembly from random guesses often ends beside such a dead point.
#[test]
fn states_are_away_from_dead_points() {
    for (name, states) in [("four-bar-2", 10), ("four-bar-3", 10), ("four-bar-10", 2)] {
        let model = embedded::model(name).expect("embedded");
        for seed in 1..=5 {
            for law in laws::run(&model, states, seed) {
                assert!(law.holds(), "{name}, seed {seed}: {law:?}");
            }
        }
    }
}

#[test]
fn random_mechanisms() {
    for seed in 0..40 {
        let loops = 1 + seed as usize % 2;
        let (mut builder, closed) =
            catena_testing::random_closed(7, loops, seed).expect("possible");
        // its driver may ask for velocities that the loops do not have
        builder.constraints.retain(|c| c.name != "motor");
        let model = builder.build().expect("sound");
        for body in &model.tree().bodies[1..] {
            let joint = builder.joints.iter_mut().find(|j| j.name == body.joint);
            let q = closed.q[body.q..body.q + body.kind.nq()].to_vec();
            joint.expect("a joint of the model").start = q;
        }
        let model = builder.build().expect("sound");
        for law in laws::run(&model, 1, seed) {
            assert!(law.holds(), "seed {seed}: {law:?}");
        }
    }
}

#[test]
fn a_driven_mechanism() {
    let mut builder = embedded::builder("four-bar-2").expect("embedded");
    let rule = RuleSpec::Driver {
        coordinate: "foot0".into(),
        law: Law::Polynomial(vec![1.1, 0.7, -0.4]),
    };
    builder.constraint(ConstraintSpec::new("motor", rule));
    let model = builder.build().expect("sound");
    for law in laws::run(&model, 5, 1) {
        assert!(law.holds(), "{law:?}");
    }
}

#[test]
fn trees_have_none() {
    assert!(laws::run(&embedded::model("stanford").expect("embedded"), 3, 1).is_empty());
}
