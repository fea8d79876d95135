//! Mechanisms given as graphs: which joints are cut, and that it does not matter.

use catena::ClosedChain;
use catena::State;
use catena::model::{AxisPair, Inertial, JointKind, JointSpec, ModelBuilder};
use catena::spatial::{Pose, Sym3, Vec3};

/// A four-bar with a spherical joint in it, as a graph; the rod is directed against the way from the ground if asked for.
fn ring(against: bool) -> ModelBuilder {
    let mut b = ModelBuilder::new("ring");
    for name in ["crank", "rod", "rocker"] {
        b.link(
            name,
            Inertial {
                mass: 1.0,
                centre: Vec3::new(0.5, 0.1, 0.0),
                tensor: Sym3::new(0.1, 0.2, 0.25, 0.0, 0.0, 0.0),
            },
        );
    }
    let x = |l: f64| Pose::shift(Vec3::new(l, 0.0, 0.0));
    let hinge = |name: &str, kind, parent: &str, from, child: &str, to| JointSpec {
        parent_from_joint: from,
        joint_from_child: to,
        axes: AxisPair {
            first: Vec3::new(0.0, 0.0, 1.0),
            second: Vec3::new(0.0, 1.0, 0.0),
        },
        ..JointSpec::new(name, kind, parent, child)
    };
    let [one, zero] = [x(1.0), x(0.0)];
    let round = JointKind::Revolute;
    b.joint(hinge("a", round, "world", zero, "crank", zero));
    match against {
        false => b.joint(hinge("b", JointKind::Universal, "crank", one, "rod", zero)),
        true => b.joint(hinge(
            "b",
            JointKind::Universal,
            "rod",
            zero,
            "crank",
            x(-1.0),
        )),
    };
    b.joint(hinge(
        "c",
        JointKind::Spherical,
        "rod",
        one,
        "rocker",
        x(-1.0),
    ));
    b.joint(hinge("d", round, "world", one, "rocker", zero));
    b
}

#[test]
fn joints_with_most_freedoms_are_cut() {
    let mut builder = ring(false);
    let found = builder.span(&[]).expect("possible");
    assert_eq!(found.cut, ["c"]);
    assert!(found.reversed.is_empty());
    let model = builder.build().expect("sound");
    assert_eq!(model.constraint_rows(), 3);
    // C* from the rod to the rocker, wherever these are numbered; C_c has full rank n together with S
    let column: Vec<i8> = model.cut_incidence_matrix().iter().map(|r| r[0]).collect();
    let body = |name: &str| model.tree().body(name).expect("there") - 1;
    assert_eq!((column[body("rod")], column[body("rocker")]), (1, -1));
    // T C*: signs of the joints on the loop
    let paths = model.tree().path_matrix();
    let signs: Vec<i8> = (0..3)
        .map(|k| (0..3).map(|l| paths[k][l] * column[l]).sum())
        .collect();
    assert_eq!(signs[body("crank")], -1);
    assert_eq!(signs[body("rod")], -1);
    assert_eq!(signs[body("rocker")], 1);
    assert!(builder.assumptions[0].contains("were cut: c"));
}

/// Cut here or there, directed so or so: the same mechanism, the same accelerations.
#[test]
fn cuts_can_be_chosen_and_do_not_matter() {
    let mut found = Vec::new();
    for (against, cut) in [(false, "c"), (false, "d"), (true, "d"), (true, "a")] {
        let mut builder = ring(against);
        let spanning = builder.span(&[cut]).expect("possible");
        assert_eq!(spanning.cut, [cut], "{spanning:?}");
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let tree = model.tree();
        let mut guess = State::neutral(&model);
        // a square: the crank up, the rod level, the rocker up; whatever is in the tree
        let mut set = |name: &str, angle: f64| {
            if let Some(dof) = tree.dofs.iter().find(|dof| dof.name == name) {
                guess.q[tree.bodies[dof.body].q] = angle;
            }
        };
        set("a", 1.5);
        set("d", 1.5);
        for k in 0..model.nv() {
            let dof = &tree.dofs[k];
            if dof.name.starts_with("b") {
                let body = &tree.bodies[dof.body];
                let first = dof.name.ends_with('1') || dof.name.ends_with("first");
                if first != against {
                    guess.q[body.q + k - body.v] = -1.5;
                }
            }
        }
        let Ok(closed) = chain.assemble(0.0, &guess, &[]) else {
            panic!("{against} {cut} does not close");
        };
        let motion = chain
            .forward(0.0, &closed.state, &vec![0.0; model.nv()], &[])
            .expect("closed");
        assert_eq!(model.nv() - motion.rank, closed.freedoms);
        found.push(closed.freedoms);
    }
    // 1 + 2 + 3 + 1 freedoms of joints, less 6 for the loop
    assert_eq!(found, [1, 1, 1, 1]);
}

#[test]
fn unknown_cuts_are_refused() {
    let error = ring(false).span(&["z"]).expect_err("unknown");
    assert!(error.message().contains("no joint `z`"));
}
