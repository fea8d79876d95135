//! The doctor on mechanisms whose diagnosis is known.

use catena::ClosedChain;
use catena::model::embedded;
use catena::model::{ConstraintSpec, Dof, Inertial, JointKind, JointSpec, Law, RuleSpec};
use catena::spatial::{Sym3, Vec3};
use catena::{Model, State};
use catena_mechanism::doctor::{Diagnosis, diagnose};
use catena_testing::random_closed;

fn look(name: &str, q: &[f64]) -> (Model, Diagnosis) {
    let model = embedded::model(name).expect("embedded");
    let state = State::new(&model, q, &vec![0.0; model.nv()]).expect("finite");
    let diagnosis = diagnose(&model, 0.0, &state, 5, 1).expect("closed");
    (model, diagnosis)
}

/// Grübler counts −2 freedoms of a four-bar in space; it has one. Only forces in the plane are determined; a ball and a cylinder
/// in place of two of the hinges make it statically determinate.
#[test]
fn four_bar() {
    let (_, found) = look("four-bar-1", &[1.2, -1.2, 1.2]);
    assert_eq!(
        (found.counted, found.freedoms(), found.redundant()),
        (-2, 1, 3)
    );
    assert!(!found.is_singular());
    assert_eq!(found.undetermined.len(), 4, "{:?}", found.undetermined);
    for hinge in &found.undetermined {
        assert_eq!(
            (hinge.forces.len(), hinge.torques.len()),
            (1, 2),
            "{hinge:?}"
        );
        // out of the plane
        assert!(hinge.forces[0].z.abs() > 1.0 - 1e-9);
        let load = hinge.shortest.expect("computed");
        assert!(load.force.z.abs() < 1e-9 * load.force.norm());
    }
    assert_eq!(found.left, 0);
    let removed: Vec<_> = found.changes.iter().map(|c| (c.to, c.removes)).collect();
    assert_eq!(removed, [("spherical", 2), ("cylindrical", 1)]);
    assert_eq!(found.changes[0].name, "loop0");
    let rows: Vec<_> = found.dependent.iter().map(|d| &d.words[..]).collect();
    assert_eq!(rows, ["force along z", "torque about x", "torque about y"]);
}

/// Folded flat, a four-bar of equal lengths can move on along two branches: one freedom more than elsewhere.
#[test]
fn flat_four_bar_is_singular() {
    let (_, found) = look("four-bar-1", &[0.0, 0.0, 0.0]);
    assert!(found.is_singular(), "{found:?}");
    assert_eq!((found.here.freedoms, found.freedoms()), (2, 1));
}

/// Bricard's linkage moves although counting leaves no freedom.
#[test]
fn bricard() {
    let (model, found) = look("bricard", &[0.0; 5]);
    assert_eq!(found.counted, 0);
    assert_eq!(found.rows, model.constraint_rows());
    assert_eq!(found.here.freedoms, 1);
}

/// A tree has no findings.
#[test]
fn tree() {
    let (_, found) = look("stanford", &[0.1, 1.2, 0.05, 0.3, -0.4, 0.5]);
    assert_eq!(
        (found.counted, found.freedoms(), found.redundant()),
        (6, 6, 0)
    );
    assert!(found.undetermined.is_empty() && found.changes.is_empty());
}

/// What the doctor advises is true: a closing ball alone leaves one dependent row, the cylinder removes it. Here the models are
/// made by hand.
#[test]
fn advice_is_true() {
    for (closing, foot, left) in [
        (JointKind::Revolute, JointKind::Revolute, 3),
        (JointKind::Spherical, JointKind::Revolute, 1),
        (JointKind::Spherical, JointKind::Cylindrical, 0),
    ] {
        let mut builder = embedded::builder("four-bar-1").expect("embedded");
        if let RuleSpec::Joint(joint) = &mut builder.constraints[0].rule {
            joint.kind = closing;
        }
        let joint = builder.joints.iter_mut().find(|j| j.name == "foot0");
        let joint = joint.expect("there");
        joint.kind = foot;
        joint.start.clear(); // it is that of a hinge
        let model = builder.build().expect("sound");
        let q = match foot {
            JointKind::Revolute => vec![1.2, -1.2, 1.2],
            _ => vec![1.2, 0.0, -1.2, 1.2],
        };
        let state = State::new(&model, &q, &vec![0.0; model.nv()]).expect("finite");
        let found = diagnose(&model, 0.0, &state, 5, 1).expect("closed");
        assert_eq!(found.redundant(), left, "{closing:?} {foot:?}");
        assert_eq!(found.freedoms(), 1, "{closing:?} {foot:?}");
        assert_eq!(found.left, 0, "{closing:?} {foot:?}: {:?}", found.changes);
    }
}

/// What hangs on a loop adds freedoms and takes nothing from the advice: two pendulums on one link of a four-bar, after each other.
#[test]
fn further_freedoms_do_not_matter() {
    let (_, alone) = look("four-bar-1", &[1.2, -1.2, 1.2]);
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    let mut parent = builder.links[0].name.clone();
    for name in ["upper", "lower"] {
        let bob = Inertial {
            mass: 1.0,
            centre: Vec3::new(0.0, -0.5, 0.0),
            tensor: Sym3::new(0.01, 0.01, 0.01, 0.0, 0.0, 0.0),
        };
        builder.link(name, bob);
        builder.joint(JointSpec::new(
            &format!("to_{name}"),
            JointKind::Revolute,
            &parent,
            name,
        ));
        parent = name.into();
    }
    let model = builder.build().expect("sound");
    let mut state = State::neutral(&model);
    for (joint, angle) in [("foot0", 1.2), ("top0", -1.2), ("foot1", 1.2)] {
        let body = (1..=model.body_count()).find(|&i| model.tree().bodies[i].joint == joint);
        state.q[model.tree().q_range(body.expect("there")).start] = angle;
    }
    let found = diagnose(&model, 0.0, &state, 5, 1).expect("closed");
    assert_eq!((found.freedoms(), found.redundant()), (3, 3));
    let changes = |found: &Diagnosis| -> Vec<_> {
        let all = found.changes.iter();
        all.map(|c| (c.name.clone(), c.to, c.removes)).collect()
    };
    assert_eq!(changes(&found), changes(&alone));
    assert_eq!(found.left, 0);
}

/// A ball where a hinge is already is not needed, and the doctor finds that out.
#[test]
fn superfluous_constraint() {
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    let mut again = builder.constraints[0].clone();
    again.name = "again".into();
    if let RuleSpec::Joint(joint) = &mut again.rule {
        joint.name = "again".into();
        joint.kind = JointKind::Spherical;
    }
    builder.constraint(again);
    let model = builder.build().expect("sound");
    let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
    let found = diagnose(&model, 0.0, &state, 5, 1).expect("closed");
    assert_eq!((found.redundant(), found.left), (6, 0));
    // either of the two
    assert_eq!(found.changes[0].to, "none");
}

/// On random closed mechanisms the freedoms are those of the decomposition in `catena`, and every change is confirmed by a model built
/// with it: the doctor recounts, here once more with the ranks of all hinges.
#[test]
fn random_mechanisms() {
    let (mut seen, mut changed) = (0, 0);
    for seed in 1..=60 {
        let size = 4 + seed as usize % 7;
        let Ok((builder, state)) = random_closed(size, 1 + seed as usize % 3, seed) else {
            continue;
        };
        let model = builder.build().expect("sound");
        let Ok(found) = diagnose(&model, 0.0, &state, 2, seed) else {
            continue;
        };
        seen += 1;
        let (rank, _) = ClosedChain::new(&model)
            .rank(0.0, &found.state)
            .expect("finite");
        assert_eq!(found.here.rank, rank, "seed {seed}");
        changed += usize::from(!found.changes.is_empty());
        let removed: usize = found.changes.iter().map(|change| change.removes).sum();
        assert_eq!(removed + found.left, found.redundant());
        assert_eq!(found.dependent.len(), found.redundant());
    }
    assert!(seen >= 40 && changed >= 5, "{seen} {changed}");
}

/// A long chain of loops: the advice grows with it, and is complete.
#[test]
fn many_loops() {
    let n = 40;
    let q: Vec<f64> = (0..2 * n + 1)
        .map(|k| if k % 2 == 0 { 1.1 } else { -1.1 })
        .collect();
    let (_, found) = look(&format!("four-bar-{n}"), &q);
    assert_eq!((found.freedoms(), found.redundant()), (1, 3 * n));
    let removed: usize = found.changes.iter().map(|change| change.removes).sum();
    assert_eq!((found.left, removed), (0, 3 * n));
}

/// Dry friction in three joints of a four-bar blocks its one motion: how they share the load is indeterminate. With friction in one joint it
/// is determined, and a freedom fixed by a driver has indeterminate friction.
#[test]
fn friction_that_is_not_unique() {
    let found = |levels: [f64; 3], driven: bool| {
        let mut builder = embedded::builder("four-bar-1").expect("embedded");
        for (joint, friction) in builder.joints.iter_mut().zip(levels) {
            joint.dofs = vec![Dof {
                friction,
                ..Dof::default()
            }];
        }
        if driven {
            builder.constraint(ConstraintSpec::new(
                "motor",
                RuleSpec::Driver {
                    coordinate: "foot0".into(),
                    law: Law::Polynomial(vec![1.2]),
                },
            ));
        }
        let model = builder.build().expect("sound");
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
        let shared = diagnose(&model, 0.0, &state, 2, 1)
            .expect("closed")
            .friction;
        let sets = shared.into_iter().map(|set| (set.freedoms, set.motions));
        sets.collect::<Vec<_>>()
    };
    assert_eq!(found([1.0, 0.5, 2.0], false), [(vec![0, 1, 2], 1)]);
    assert_eq!(found([0.0, 0.5, 2.0], false), [(vec![1, 2], 1)]);
    assert_eq!(found([0.0, 0.5, 0.0], false), []);
    assert_eq!(found([0.0, 0.5, 0.0], true), [(vec![1], 0)]);
}
