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

fn point(mass: f64, centre: Vec3<f64>) -> Inertial {
    Inertial {
        mass,
        centre,
        tensor: Sym3::new(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    }
}

fn driver(name: &str, coordinate: &str, law: Vec<f64>) -> ConstraintSpec {
    let rule = RuleSpec::Driver {
        coordinate: coordinate.into(),
        law: Law::Polynomial(law),
    };
    ConstraintSpec::new(name, rule)
}

/// Two drivers of a parallelogram must agree; a third one elsewhere has no part in it. By how much they disagree is proportional to it.
#[test]
fn drivers_that_contradict_each_other() {
    let of = |one: f64, other: f64| {
        let mut builder = embedded::builder("four-bar-1").expect("embedded");
        builder.link("bob", point(1.0, Vec3::new(0.0, -0.5, 0.0)));
        builder.joint(JointSpec::new("swing", JointKind::Revolute, "world", "bob"));
        builder.constraint(driver("alone", "swing", vec![0.0, 3.0]));
        builder.constraint(driver("motor", "foot0", vec![1.2, one]));
        builder.constraint(driver("brake", "foot1", vec![1.2, other]));
        let model = builder.build().expect("sound");
        let mut state = State::neutral(&model);
        for (joint, angle) in [("foot0", 1.2), ("top0", -1.2), ("foot1", 1.2)] {
            let body = (1..=model.body_count()).find(|&i| model.tree().bodies[i].joint == joint);
            state.q[model.tree().q_range(body.expect("there")).start] = angle;
        }
        let found = diagnose(&model, 0.0, &state, 2, 1).expect("closed");
        assert_eq!((found.freedoms(), found.redundant()), (0, 4));
        found.contradiction
    };
    assert!(of(0.5, 0.5).is_none());
    // of rates of 10⁶ a millionth of a millionth is round-off
    assert!(of(1e6, 1e6 + 1e-4).is_none());
    let worst = |one: f64, other: f64| {
        let found = of(one, other).expect("they differ");
        assert_eq!(found.drivers, ["motor", "brake"]);
        found.rate
    };
    let unit = worst(1.0, 0.0);
    assert!(unit > 0.1 && unit < 1.0, "{unit}");
    for (one, other) in [(0.5f64, 0.25f64), (0.25, 0.5), (-2.0, 1.0), (1e-7, 0.0)] {
        let wanted = unit * (one - other).abs();
        assert!(
            (worst(one, other) - wanted).abs() < 1e-9 * wanted.max(1e-3),
            "{one} {other}"
        );
    }
}

/// A bar that is too short to reach, whatever is tried, and drivers that hold its end too far away.
#[test]
fn what_cannot_be_closed() {
    let with = |length: f64, laws: &[(&str, &str, f64)]| {
        let mut builder = catena::ModelBuilder::new("crane");
        for (name, parent, at) in [("upper", "world", 0.0), ("lower", "upper", 1.0)] {
            builder.link(name, point(1.0, Vec3::new(0.5, 0.0, 0.0)));
            let mut joint =
                JointSpec::new(&format!("to_{name}"), JointKind::Revolute, parent, name);
            joint.parent_from_joint = catena::spatial::Pose::shift(Vec3::new(at, 0.0, 0.0));
            builder.joint(joint);
        }
        let rule = RuleSpec::Distance {
            parent: "world".into(),
            child: "lower".into(),
            parent_point: Vec3::new(5.0, 0.0, 0.0),
            child_point: Vec3::new(1.0, 0.0, 0.0),
            length,
        };
        builder.constraint(ConstraintSpec::new("bar", rule));
        for (name, coordinate, angle) in laws {
            builder.constraint(driver(name, coordinate, vec![*angle]));
        }
        let model = builder.build().expect("sound");
        let state = State::new(&model, &[0.4, 0.3], &[0.0; 2]).expect("finite");
        diagnose(&model, 0.0, &state, 2, 1).map(|found| found.freedoms())
    };
    let told =
        |length: f64, laws: &[(&str, &str, f64)]| with(length, laws).expect_err("open").to_string();
    assert_eq!(with(3.5, &[]).expect("closed"), 1);
    // two metres of arm, five metres away
    let short = told(1.5, &[]);
    assert!(
        short.starts_with("constraint `bar` cannot be closed: at least ")
            && short.ends_with(
                " m or rad are left from the guess and from 20 others\nhint: check the lengths and axes of its loop"
            ),
        "{short}"
    );
    let one = told(3.2, &[("hoist", "to_upper", 3.0)]);
    assert!(
        one.starts_with(
            "the loops can be closed, but not where driver `hoist` puts its coordinate at t = 0 s: "
        ) && one.ends_with("\nhint: give another law"),
        "{one}"
    );
    let two = told(3.2, &[("hoist", "to_upper", 3.0), ("jib", "to_lower", 0.1)]);
    assert!(
        two.starts_with("the loops can be closed, but not where drivers `hoist`, `jib` put their coordinates at t = 0 s: ")
            && two.ends_with("\nhint: give fewer drivers, or other laws"),
        "{two}"
    );
    // neither with the drivers nor without them
    let never = told(1.5, &[("hoist", "to_upper", 3.0)]);
    assert!(never.contains("cannot be closed: at least"), "{never}");
}

/// Everything that stands twice depends on the first: a bar, a gear and a universal joint, whose torque is along none of its axes once it is bent.
#[test]
fn loads_in_words() {
    let words = |found: &Diagnosis| -> Vec<(String, usize, String, bool)> {
        let rows = found.dependent.iter();
        rows.map(|d| (d.name.clone(), d.row, d.words.clone(), d.load.is_some()))
            .collect()
    };
    let pair = |kind: JointKind| {
        let mut builder = catena::ModelBuilder::new("pair");
        for (name, parent) in [("one", "world"), ("other", "one")] {
            builder.link(name, point(1.0, Vec3::new(0.3, 0.2, 0.1)));
            let mut joint = JointSpec::new(&format!("to_{name}"), kind, parent, name);
            if kind == JointKind::Universal {
                joint.axes.first = Vec3::new(1.0, 0.0, 0.0);
            }
            builder.joint(joint);
        }
        builder
    };
    let seen = |builder: catena::ModelBuilder, q: &[f64]| {
        let model = builder
            .build()
            .expect("sound")
            .with_couplings_as_constraints();
        let state = State::new(&model, q, &vec![0.0; model.nv()]).expect("finite");
        diagnose(&model, 0.0, &state, 2, 1).expect("closed")
    };
    let mut bars = pair(JointKind::Revolute);
    let ends = [
        ("world", Vec3::new(2.0, 0.0, 0.0)),
        ("other", Vec3::new(0.3, 0.4, 0.0)),
    ];
    for (name, [(parent, parent_point), (child, child_point)]) in
        [("bar", ends), ("again", [ends[1], ends[0]])]
    {
        let rule = RuleSpec::Distance {
            parent: parent.into(),
            child: child.into(),
            parent_point,
            child_point,
            length: 1.9,
        };
        bars.constraint(ConstraintSpec::new(name, rule));
    }
    let found = seen(bars, &[0.2, 0.3]);
    assert_eq!(
        words(&found),
        [("again".into(), 0, "force along the bar".into(), true)]
    );
    assert_eq!(
        (found.changes[0].to, found.changes[0].removes, found.left),
        ("none", 1, 0)
    );
    let mut gears = pair(JointKind::Revolute);
    for (name, c) in [("gear", 1.0), ("again", 2.0)] {
        let rule = RuleSpec::Coupling {
            terms: vec![("to_one".into(), c), ("to_other".into(), -2.0 * c)],
            offset: 0.0,
        };
        gears.constraint(ConstraintSpec::new(name, rule));
    }
    let found = seen(gears, &[0.2, 0.1]);
    assert_eq!(words(&found), [("again".into(), 0, "effort".into(), false)]);
    // what the gears share is no load between bodies, but indeterminate all the same
    let names: Vec<&str> = found.undetermined.iter().map(|u| &u.name[..]).collect();
    assert!(
        names.contains(&"gear") && names.contains(&"again"),
        "{names:?}"
    );
    let mut cross = catena::ModelBuilder::new("cross");
    cross.link("one", point(1.0, Vec3::new(0.3, 0.2, 0.1)));
    let joint = |name: &str| {
        let mut joint = JointSpec::new(name, JointKind::Universal, "world", "one");
        joint.axes.first = Vec3::new(1.0, 0.0, 0.0);
        joint
    };
    cross.joint(joint("stands"));
    let rule = RuleSpec::Joint(Box::new(joint("again")));
    cross.constraint(ConstraintSpec::new("again", rule));
    let found = seen(cross.clone(), &[0.5, 0.3]);
    let told: Vec<String> = words(&found)
        .into_iter()
        .map(|(.., words, _)| words)
        .collect();
    assert_eq!(
        told,
        [
            "force along x",
            "force along y",
            "force along z",
            "torque across the axes"
        ]
    );
    let straight = seen(cross, &[0.0, 0.0]);
    assert_eq!(words(&straight)[3].2, "torque about y");
}

/// Of changes that remove as many rows, those of closing constraints come first, even if they are left out: a bar between the middles of the uprights of
/// a parallelogram goes before a hinge of the tree changes.
#[test]
fn closing_constraints_change_first() {
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    let middle = Vec3::new(0.5, 0.0, 0.0);
    let rule = RuleSpec::Distance {
        parent: "upright0".into(),
        child: "upright1".into(),
        parent_point: middle,
        child_point: middle,
        length: 1.0,
    };
    builder.constraint(ConstraintSpec::new("bar", rule));
    let model = builder.build().expect("sound");
    let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("finite");
    let found = diagnose(&model, 0.0, &state, 5, 1).expect("closed");
    assert_eq!((found.freedoms(), found.redundant(), found.left), (1, 4, 0));
    let changes: Vec<_> = found
        .changes
        .iter()
        .map(|c| (&c.name[..], c.to, c.removes))
        .collect();
    assert_eq!(
        changes,
        [
            ("loop0", "spherical", 2),
            ("bar", "none", 1),
            ("foot0", "cylindrical", 1)
        ]
    );
}
