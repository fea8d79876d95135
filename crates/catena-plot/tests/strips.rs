//! Strips of every embedded kind of mechanism, and the geometry of the camera.

use catena::model::embedded;
use catena::{Model, State};
use catena_plot::{Bodies, Layout, View, strip};

mod common;
use common::{check, texts};

fn states(model: &Model, n: u64) -> Vec<State> {
    (0..n).map(|seed| State::random(model, seed)).collect()
}

fn labels(n: usize) -> Vec<String> {
    (0..n).map(|k| format!("t = {k} s")).collect()
}

#[test]
fn every_mechanism_can_be_drawn() {
    for name in [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "pendulum-3",
        "chain-30",
        "spherical-chain-4",
    ] {
        let model = embedded::model(name).unwrap();
        for n in [0, 1, 7] {
            let states = states(&model, n);
            let view = View::of(&model, &states).unwrap();
            for layout in [Layout::SideBySide, Layout::Superposed] {
                for bodies in [Bodies::Sticks, Bodies::Bones] {
                    for (width, height) in [(900, 420), (300, 900), (0, 0)] {
                        let view = View {
                            title: name.into(),
                            layout,
                            bodies,
                            width,
                            height,
                            ..view.clone()
                        };
                        check(&strip(&model, &states, &labels(states.len()), &view).unwrap());
                        check(&strip(&model, &states, &[], &view).unwrap());
                    }
                }
            }
        }
    }
}

#[test]
fn random_trees_can_be_drawn() {
    for seed in 0..30 {
        let model = embedded::random_tree(1 + seed as usize % 9, seed)
            .build()
            .unwrap();
        let states = states(&model, 3);
        let view = View::of(&model, &states).unwrap();
        check(&strip(&model, &states, &[], &view).unwrap());
    }
}

#[test]
fn labels_are_shown() {
    let model = embedded::model("planar3").unwrap();
    let states = states(&model, 4);
    let mut view = View::of(&model, &states).unwrap();
    for layout in [Layout::SideBySide, Layout::Superposed] {
        view.layout = layout;
        let svg = strip(&model, &states, &labels(4), &view).unwrap();
        let document = check(&svg);
        let texts = texts(&document);
        for label in labels(4) {
            assert!(texts.contains(&label), "{texts:?}");
        }
    }
    let refused = strip(&model, &states, &labels(3), &view).unwrap_err();
    assert!(refused.message().contains("4 instants"));
}

#[test]
fn planar_motions_are_seen_along_their_normal_to_scale() {
    let model = embedded::model("planar3").unwrap();
    let states = vec![State::new(&model, &[0.0, 0.5, 0.5], &[0.0; 3]).unwrap()];
    let view = View::of(&model, &states).unwrap();
    assert_eq!(view.direction, [0.0, 0.0, -1.0]);
    assert_eq!(view.up, [0.0, 1.0, 0.0]);
    let svg = strip(&model, &states, &[], &view).unwrap();
    let document = check(&svg);
    // the three links are 0.3, 0.25 and 0.22 m long; the last ends at the tool
    let mut lengths: Vec<f64> = document
        .descendants()
        .filter(|n| n.has_tag_name("line") && n.attribute("stroke-linecap").is_some())
        .map(|n| {
            let [x1, y1, x2, y2] =
                ["x1", "y1", "x2", "y2"].map(|a| n.attribute(a).unwrap().parse::<f64>().unwrap());
            (x2 - x1).hypot(y2 - y1)
        })
        .collect();
    assert_eq!(lengths.len(), 3);
    lengths.sort_by(|a, b| b.total_cmp(a));
    let scale = lengths[0] / 0.3;
    // coordinates have two decimals
    assert!((lengths[1] - 0.25 * scale).abs() < 0.05, "{lengths:?}");
    assert!((lengths[2] - 0.22 * scale).abs() < 0.05, "{lengths:?}");
}

#[test]
fn the_end_of_a_rod_is_found_from_its_inertia() {
    // the last rod of the pendulum has no frame at its end: rods of equal length must look equally long
    let model = embedded::model("pendulum-2").unwrap();
    let states = vec![State::neutral(&model)];
    let view = View {
        bodies: Bodies::Sticks,
        distance: f64::INFINITY,
        ..View::along([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    };
    let svg = strip(&model, &states, &[], &view).unwrap();
    let document = check(&svg);
    let ends: Vec<[f64; 2]> = document
        .descendants()
        .filter(|n| n.has_tag_name("line") && n.attribute("stroke-linecap").is_some())
        .map(|n| ["y1", "y2"].map(|a| n.attribute(a).unwrap().parse::<f64>().unwrap()))
        .collect();
    assert_eq!(ends.len(), 2);
    assert!(
        (ends[0][1] - ends[0][0] - (ends[1][1] - ends[1][0])).abs() < 0.05,
        "{ends:?}"
    );
}

#[test]
fn nearer_bodies_look_larger() {
    // two rods of a folded pendulum, one toward the eye, one away from it
    let model = embedded::model("pendulum-1").unwrap();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let turn = |sign: f64| State::new(&model, &[half, 0.0, sign * half, 0.0], &[0.0; 3]).unwrap();
    let states = vec![turn(1.0), turn(-1.0)];
    let view = View {
        bodies: Bodies::Sticks,
        layout: Layout::Superposed,
        ..View::along([1.0, 0.0, -0.5], [0.0, 0.0, 1.0])
    };
    let svg = strip(&model, &states, &[], &view).unwrap();
    let document = check(&svg);
    let mut lengths: Vec<f64> = document
        .descendants()
        .filter(|n| n.has_tag_name("line") && n.attribute("stroke-linecap").is_some())
        .map(|n| {
            let [x1, y1, x2, y2] =
                ["x1", "y1", "x2", "y2"].map(|a| n.attribute(a).unwrap().parse::<f64>().unwrap());
            (x2 - x1).hypot(y2 - y1)
        })
        .collect();
    lengths.sort_by(f64::total_cmp);
    // the eye is 4 rods away; depths of the ends are ± 1/√1.25
    let depth = 1.0 / 1.25f64.sqrt();
    let expected = (4.0 + depth) / (4.0 - depth);
    assert!(
        (lengths[1] / lengths[0] - expected).abs() < 1e-3,
        "{lengths:?}, {expected}"
    );
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let model = embedded::model("planar3").unwrap();
    let states = states(&model, 1);
    let view = View::along([0.0; 3], [0.0, 0.0, 1.0]);
    assert!(
        strip(&model, &states, &[], &view)
            .unwrap_err()
            .message()
            .contains("viewing direction")
    );
    let mut broken = states.clone();
    broken[0].q[1] = f64::NAN;
    assert!(View::of(&model, &broken).is_err());
    // looking along the vertical is fine
    let view = View::along([0.0, -1.0, 0.0], [0.0, 1.0, 0.0]);
    check(&strip(&model, &states, &[], &view).unwrap());
}

/// A robot that drifts away is followed, and its root drawn as the box with its inertia: twelve edges in every instant.
#[test]
fn a_drifting_robot_is_followed_with_its_spacecraft() {
    let model = embedded::model("space-robot").unwrap();
    let at = |x: f64| {
        let mut state = State::neutral(&model);
        state.q[0] = x;
        state
    };
    let near = [at(0.0), at(0.1)];
    assert!(!View::of(&model, &near).unwrap().follow);
    let states = [at(0.0), at(30.0), at(60.0)];
    let view = View::of(&model, &states).unwrap();
    assert!(view.follow);
    let drawn = strip(&model, &states, &[], &view).unwrap();
    let still = [at(0.0), at(0.0), at(0.0)];
    assert_eq!(drawn, strip(&model, &still, &[], &view).unwrap());
    let fixed = embedded::model("stanford").unwrap();
    assert!(!View::of(&fixed, &[State::neutral(&fixed)]).unwrap().follow);
    assert_eq!(drawn.matches("stroke-width=\"1\"").count(), 36);
}
