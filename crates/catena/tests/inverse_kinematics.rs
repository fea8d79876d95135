//! Inverse kinematics: what was reached is looked at by forward kinematics.

use catena::ClosedChain;
use catena::inverse_kinematics::{Goal, InverseKinematics, Search, Target};
use catena::model::embedded;
use catena::residual::{difference, largest};
use catena::spatial::{Mat3, Vec3};
use catena::{Dynamics, Model, State};

fn target(model: &Model, state: &State, name: &str) -> Target {
    let frame = model.tree().frame(name).expect("a frame").clone();
    let pose = Dynamics::new(&model.clone().open_tree())
        .frame_pose(state, &frame)
        .expect("a pose");
    Target {
        frame,
        position: pose.translation,
        rotation: Some(pose.rotation),
    }
}

fn moved(model: &Model, state: &State, size: f64) -> State {
    let mut moved = state.clone();
    let delta: Vec<f64> = (0..model.nv())
        .map(|k| size * (1.0 + k as f64).sin())
        .collect();
    moved.step(model, &delta);
    moved
}

#[test]
fn poses_are_reached() {
    for name in ["stanford", "chain-7", "space-robot", "zoo"] {
        let model = embedded::model(name).expect("an embedded model");
        let last = model.tree().frames.last().expect("a frame").name.clone();
        let mut kinematics = InverseKinematics::new(&model);
        for seed in 1..6 {
            let state = State::random(&model, seed);
            let wanted = target(&model, &state, &last);
            let goal = Goal {
                targets: vec![wanted.clone()],
                centre: None,
            };
            let start = moved(&model, &state, 0.2);
            let found = kinematics
                .reach(&goal, &start, &Search::default())
                .expect("a search");
            assert!(found.converged, "{name} {seed}: {:e}", found.residual());
            let there = target(&model, &found.state, &last);
            let [p, q] = [&there, &wanted].map(|t| t.position.to_array());
            let [r, s] = [&there, &wanted].map(|t| t.rotation.expect("one").rows().concat());
            assert!(difference(&p, &q) < 1e-8 && difference(&r, &s) < 1e-8);
        }
    }
}

#[test]
fn half_a_turn_about_any_axis() {
    let model = embedded::model("floating-chain-6").expect("an embedded model");
    let first = model.tree().frames[1].clone();
    let mut kinematics = InverseKinematics::new(&model);
    for axis in [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.6, 0.0, -0.8],
    ] {
        let [x, y, z] = axis;
        let goal = Goal {
            targets: vec![Target {
                frame: first.clone(),
                position: Vec3::zero(),
                rotation: Some(Mat3::from_quaternion([0.0, x, y, z])),
            }],
            centre: None,
        };
        let found = kinematics
            .reach(&goal, &State::neutral(&model), &Search::default())
            .expect("a search");
        assert!(found.converged, "{axis:?}: {:?}", found.left);
    }
}

/// Changes of positions undo steps, on every kind of joint.
#[test]
fn change_is_the_inverse_of_step() {
    for name in ["zoo", "space-robot", "stanford"] {
        let model = embedded::model(name).expect("an embedded model");
        for seed in 1..10 {
            let state = State::random(&model, seed);
            for size in [1e-12, 1e-4, 0.3, 2.0] {
                let next = moved(&model, &state, size);
                let delta = state.change_to(&model, &next);
                let expected: Vec<f64> = (0..model.nv())
                    .map(|k| size * (1.0 + k as f64).sin())
                    .collect();
                let error = difference(&delta, &expected);
                assert!(
                    error < 1e-14 + 1e-13 * size,
                    "{name} {seed} {size}: {error:e}"
                );
            }
            // the other quaternion of the same rotation
            let mut same = state.clone();
            for body in &model.tree().bodies[1..] {
                if let Some(k) = body.kind.quaternion() {
                    same.q[body.q + k..body.q + k + 4]
                        .iter_mut()
                        .for_each(|x| *x = -*x);
                }
            }
            assert!(largest(&state.change_to(&model, &same)) < 1e-14);
        }
    }
}

#[test]
fn loops_stay_closed_and_motions_are_differentiated() {
    let model = embedded::model("four-bar-1").expect("an embedded model");
    let name = model.tree().frames[2].name.clone();
    let at = |t: f64| {
        let angle = 1.2 + 0.3 * t.sin();
        State::new(&model, &[angle, -angle, angle], &[0.0; 3]).expect("a state")
    };
    let times: Vec<f64> = (0..101).map(|k| 0.01 * k as f64).collect();
    let goals: Vec<Goal> = times
        .iter()
        .map(|&t| Goal {
            targets: vec![target(&model, &at(t), &name)],
            centre: None,
        })
        .collect();
    let motion = InverseKinematics::new(&model)
        .follow(&times, &goals, &at(0.1), &Search::default())
        .expect("a motion");
    let mut chain = ClosedChain::new(&model);
    for instant in &motion {
        let t = instant.time;
        assert!(instant.converged);
        chain.require_closed(t, &instant.state).expect("closed");
        assert!(difference(&instant.state.q, &at(t).q) < 1e-8);
        let rate = 0.3 * t.cos();
        assert!(difference(&instant.state.v, &[rate, -rate, rate]) < 1e-6);
        let second = -0.3 * t.sin();
        assert!(difference(&instant.accelerations, &[second, -second, second]) < 1e-4);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let model = embedded::model("stanford").expect("an embedded model");
    let state = State::random(&model, 1);
    let mut kinematics = InverseKinematics::new(&model);
    let good = Goal {
        targets: vec![target(&model, &state, "tool")],
        centre: None,
    };
    let mut refused = |goal: &Goal, search: Search, words: &str| {
        let error = kinematics.reach(goal, &state, &search).expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(&Goal::default(), Search::default(), "there is no target");
    let zero = Search {
        tolerance: 0.0,
        ..Search::default()
    };
    refused(&good, zero, "must be positive");
    let mut bad = good.clone();
    bad.targets[0].position.x = f64::NAN;
    refused(&bad, Search::default(), "is not finite");
    let mut bad = good.clone();
    bad.targets[0].rotation = Some(Mat3::identity() * -1.0);
    refused(&bad, Search::default(), "no rotation matrix");
    for (times, words) in [
        (vec![0.0, 1.0], "at least 3 instants"),
        (vec![0.0, 1.0, 1.0], "must increase"),
        (vec![0.0, 1.0, f64::NAN], "is NaN"),
    ] {
        let goals = vec![good.clone(); times.len()];
        let error = kinematics
            .follow(&times, &goals, &state, &Search::default())
            .expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// Out of reach, a search ends by itself, stretched out towards the target, however many iterations it has.
#[test]
fn what_is_out_of_reach_ends_the_search() {
    let model = embedded::model("stanford").expect("an embedded model");
    let mut kinematics = InverseKinematics::new(&model);
    let start = State::random(&model, 3);
    let frame = model.tree().frame("tool").expect("a frame").clone();
    let search = Search {
        iterations: 1_000_000,
        ..Search::default()
    };
    // the arm turns about z at the base: the second joint's offset of 0.1 m keeps its tool away from the axis
    let target = Target {
        frame,
        position: Vec3::new(0.0, 0.0, 3.1),
        rotation: None,
    };
    let goal = Goal {
        targets: vec![target],
        centre: None,
    };
    let found = kinematics.reach(&goal, &start, &search).expect("a search");
    assert!(!found.converged);
    let distance = found.left.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((distance - 0.1).abs() < 1e-6, "{distance}");
    assert!(found.iterations < 10_000, "{} iterations", found.iterations);
}
