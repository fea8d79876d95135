//! Derived equations, evaluated at random points, against the algorithms in numbers; and the two-link arm of textbooks.

use catena::algorithm::factorization::Factorization;
use catena::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::model::{
    Dof, ForceAxes, ForceRule, ForceSpec, Inertial, JointKind, JointSpec, embedded,
};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Base, Dynamics, Matrix, Model, ModelBuilder, Scalar, State, StateView};
use catena_symbolic::Formula;
use catena_symbolic::derive::{
    Derivation, Equations, Keep, Notation, Recursion, Style, Symbols, verify,
};
use catena_symbolic::{Expr, scope};
use catena_testing::elements::loaded;
use std::collections::HashMap;

const ALL: Keep = Keep::ALL;

/// Inverse dynamics on a base at rest.
fn efforts(model: &Model, q: &[f64], v: &[f64], vdot: &[f64]) -> Vec<f64> {
    let (base, mut tau) = (Base::fixed(), vec![0.0; model.nv()]);
    let (state, mut work) = (StateView { q, v, base: &base }, InverseDynamics::new(model));
    inverse_dynamics(model, state, vdot, &[], &mut work, &mut tau);
    tau
}

/// Links in a vertical plane: joints 0.4 m apart.
fn planar(name: &str, links: &[(&str, f64, f64, f64)]) -> Model {
    let mut builder = ModelBuilder::new(name);
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let mut parent = "world";
    for (name, mass, centre, zz) in links {
        builder.link(
            name,
            Inertial {
                mass: *mass,
                centre: Vec3::new(*centre, 0.0, 0.0),
                tensor: Sym3::new(0.5 * *zz, *zz, *zz, 0.0, 0.0, 0.0),
            },
        );
        let joint = format!("{name} joint");
        let mut joint = JointSpec::new(&joint, JointKind::Revolute, parent, name);
        if parent != "world" {
            joint.parent_from_joint = Pose::shift(Vec3::new(0.4, 0.0, 0.0));
        }
        builder.joint(joint);
        parent = name;
    }
    builder.build().unwrap()
}

fn two_links() -> Model {
    planar(
        "2R",
        &[("upper", 2.0, 0.15, 0.03), ("lower", 1.5, 0.1, 0.02)],
    )
}

fn three_links() -> Model {
    let links = [
        ("upper", 2.0, 0.15, 0.03),
        ("lower", 1.5, 0.1, 0.02),
        ("hand", 0.7, 0.05, 0.004),
    ];
    planar("3R", &links)
}

fn without_dry_friction(model: &Model) -> Model {
    model
        .clone()
        .with_friction(|_, [damping, _]| [damping, 0.0])
}

/// Compares every formula there is with numbers; tells how many groups there were.
fn compare(model: &Model, symbols: impl Into<Symbols>, seed: u64) -> usize {
    let equations = Equations::new(model, symbols).unwrap();
    let model = without_dry_friction(model);
    let (nv, state) = (model.nv(), State::random(&model, seed));
    let vdot: Vec<f64> = (0..nv).map(|k| 0.7 - 0.3 * k as f64).collect();
    let mut inertia = vec![0.0; nv * nv];
    let mut work = CompositeBodies::new(&model);
    inertia_matrix(&model, &state.q, &mut work, &mut inertia);
    let mut coriolis = Matrix::zeros(nv, nv);
    let mut work = CoriolisMatrix::new(&model);
    let base = Base::fixed();
    coriolis_matrix(
        &model,
        StateView {
            q: &state.q,
            v: &state.v,
            base: &base,
        },
        &mut work,
        &mut coriolis,
    );
    let inverse = |v: &[f64], vdot: &[f64]| efforts(&model, &state.q, v, vdot);
    let mut factors = Factorization::new(&model);
    factors.factorize(&model, &state.q);
    let d = factors.d();
    let mut psi = Vec::new();
    for k in 0..nv {
        let wrench = factors.psi(&model, k);
        psi.extend(wrench.moment.to_array());
        psi.extend(wrench.force.to_array());
    }
    let symbol = |name: &str| -> f64 {
        if let Some((_, value)) = equations.values.iter().find(|(known, _)| known == name) {
            return *value;
        }
        let (array, index) = name.trim_end_matches(']').split_once('[').unwrap();
        let index: usize = index.parse().unwrap();
        match array {
            "q" => state.q[index],
            "v" => state.v[index],
            "vdot" => vdot[index],
            "d" => d[index],
            _ => panic!("{name}"),
        }
    };
    let rest = vec![0.0; nv];
    let mut groups = 0;
    let mut check = |what: &str, formulas: &Option<Vec<Formula>>, numbers: &[f64]| {
        let Some(formulas) = formulas else { return };
        groups += 1;
        assert_eq!(formulas.len(), numbers.len());
        let size = numbers.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
        for (k, (formula, number)) in formulas.iter().zip(numbers).enumerate() {
            let value = formula.evaluate(symbol);
            // other orders of the same sums
            assert!(
                (value - number).abs() <= 1e-12 * size,
                "{}, {what}[{k}]: {value} and {number}",
                model.name()
            );
        }
    };
    check("I", &equations.inertia, &inertia);
    check("C", &equations.coriolis, coriolis.as_slice());
    let bare = model.clone().without_passive_forces();
    let gravity = efforts(&bare, &state.q, &rest, &rest);
    check("g", &equations.gravity, &gravity);
    let moving = efforts(&bare, &state.q, &state.v, &vdot);
    let passive: Vec<f64> = (inverse(&state.v, &vdot).iter().zip(&moving))
        .map(|(with, without)| with - without)
        .collect();
    check("s", &equations.passive, &passive);
    check("tau", &equations.effort, &inverse(&state.v, &vdot));
    check("D", &equations.pivots, &d);
    check("U", &equations.u, factors.u(&model).as_slice());
    check("psi", &equations.psi, &psi);
    for step in equations.elimination.iter().flatten() {
        let alpha: Vec<f64> = (0..step.k)
            .map(|i| factors.u(&model)[(i, step.k)])
            .collect();
        check("alpha", &Some(step.alpha.clone()), &alpha);
    }
    groups
}

#[test]
fn formulas_evaluate_to_numbers() {
    let none = Keep::default();
    for seed in [1, 2] {
        for keep in [none, ALL] {
            assert_eq!(compare(&two_links(), keep, seed), 8);
            assert_eq!(compare(&embedded::model("planar3").unwrap(), keep, seed), 9);
        }
        // what is short enough of larger ones
        assert!(compare(&embedded::model("stanford").unwrap(), none, seed) > 0);
        assert!(compare(&embedded::model("chain-3").unwrap(), ALL, seed) > 2);
    }
}

/// Every number on its own, a rotor among them, and all of them together.
#[test]
fn single_numbers_may_be_symbols() {
    let mut builder = embedded::builder("planar3").expect("embedded");
    builder.joints[1].dofs = vec![Dof {
        armature: 0.02,
        ..Dof::default()
    }];
    let model = builder.build().expect("sound");
    let known = Symbols::known(&model);
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "link2.mass",
        "joint2.length",
        "joint2.rotor",
        "link3.inertia",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    // where the first joint is, is zero, and so is its damping
    assert!(names.contains(&"joint1.length"));
    assert!(Symbols::zero(&model).contains(&"joint1.damping".into()));
    for (name, single) in &known {
        let symbols = Symbols {
            single: single.clone(),
            ..Symbols::default()
        };
        assert_eq!(compare(&model, symbols.clone(), 1), 9, "{name}");
        let equations = Equations::new(&model, symbols).expect("it is small");
        let kept: Vec<&String> = equations.values.iter().map(|(symbol, _)| symbol).collect();
        assert_eq!(kept, single.iter().collect::<Vec<_>>(), "{name}");
    }
    let rotor = Symbols {
        single: vec!["rotor[1]".into()],
        ..Symbols::default()
    };
    for style in [
        Style::Closed,
        Style::Recursive(Notation::Catena),
        Style::Recursive(Notation::Paper),
    ] {
        let page = Derivation::new(&model, rotor.clone(), style, false).expect("it is small");
        assert!(
            page.document().markdown().contains("\\rho_{2}"),
            "{style:?}"
        );
    }
}

/// The planar arm with a spring and dampers, and friction that no formula has.
fn sprung() -> Model {
    let mut builder = embedded::builder("planar3").expect("embedded");
    builder.joints[0].dofs = vec![Dof {
        damping: 0.3,
        friction: 0.1,
        ..Dof::default()
    }];
    builder.joints[2].dofs = vec![Dof {
        stiffness: 2.5,
        rest: 0.4,
        damping: 0.7,
        armature: 0.01,
        ..Dof::default()
    }];
    builder.build().expect("sound")
}

/// Springs and dampers are part of τ in every style, as numbers, as single symbols and all together.
#[test]
fn springs_and_dampers() {
    let model = sprung();
    let known = Symbols::known(&model);
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "joint1.damping",
        "joint3.stiffness",
        "joint3.rest",
        "joint3.damping",
        "joint3.rotor",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"joint2.damping") && !names.contains(&"joint1.rest"));
    let single = |list: &[&str]| Symbols {
        single: list.iter().map(ToString::to_string).collect(),
        ..Symbols::default()
    };
    let choices = [
        Symbols::default(),
        single(&["stiffness[2]"]),
        single(&["stiffness[2]", "rest[2]", "damping[0]"]),
        ALL.into(),
    ];
    for symbols in choices {
        // with every number a symbol some entries of the factors are too long
        let fewest = if symbols.single.is_empty() && symbols.keep == ALL {
            8
        } else {
            10
        };
        assert!(compare(&model, symbols.clone(), 1) >= fewest, "{symbols:?}");
        for notation in [Notation::Catena, Notation::Paper] {
            compare_recursion(&model, symbols.clone(), notation);
        }
    }
    let symbols = single(&["stiffness[2]", "rest[2]", "damping[2]"]);
    let equations = Equations::new(&model, symbols.clone()).expect("it is small");
    let passive = equations.passive.as_ref().expect("short");
    let text = |k: usize| passive[k].sympy(|name| name.replace(['[', ']', '.'], ""));
    assert_eq!([text(0), text(1)], ["0.3*v0".to_string(), "0".into()]);
    assert_eq!(text(2), "damping2*v2 + q2*stiffness2 - rest2*stiffness2");
    for style in [
        Style::Closed,
        Style::Recursive(Notation::Catena),
        Style::Recursive(Notation::Paper),
    ] {
        let page = Derivation::new(&model, symbols.clone(), style, false).expect("it is small");
        let markdown = page.document().markdown();
        assert!(
            markdown.contains("k_{3}") && markdown.contains("b_{3}"),
            "{markdown}"
        );
        assert!(page.sympy().contains("stiffness3"));
    }
}

/// I, C, g of the two-link arm as every textbook has them.
#[test]
fn the_two_link_arm_of_textbooks() {
    let equations = Equations::new(&two_links(), ALL).unwrap();
    let text = |formulas: &Option<Vec<Formula>>| -> Vec<String> {
        let formulas = formulas.as_ref().expect("short enough");
        formulas
            .iter()
            .map(|f| f.sympy(|name| name.replace(['[', ']', '.'], "")))
            .collect()
    };
    let elbow = "J2zz + c2x**(2)*m2";
    let coupling = format!("{elbow} + a2x*c2x*m2*cos(q1)");
    let shoulder = "J1zz + J2zz + a2x**(2)*m2 + c1x**(2)*m1 + c2x**(2)*m2 + 2*a2x*c2x*m2*cos(q1)";
    let inertia = [shoulder, coupling.as_str(), coupling.as_str(), elbow];
    assert_eq!(text(&equations.inertia), inertia);
    let h = "a2x*c2x*m2";
    assert_eq!(
        text(&equations.coriolis),
        [
            format!("-{h}*v1*sin(q1)"),
            format!("-{h}*v0*sin(q1) - {h}*v1*sin(q1)"),
            format!("{h}*v0*sin(q1)"),
            "0".into()
        ]
    );
    assert_eq!(
        text(&equations.gravity),
        [
            "a2x*g*m2*cos(q0) + c1x*g*m1*cos(q0) + c2x*g*m2*cos(q0 + q1)",
            "c2x*g*m2*cos(q0 + q1)"
        ]
    );
    assert_eq!(text(&equations.pivots)[1], elbow);
}

#[test]
fn what_is_too_long_is_left_out() {
    let equations = Equations::new(&embedded::model("random-6-5").unwrap(), ALL).unwrap();
    assert!(equations.effort.is_none());
}

/// The planar arm with three links, as an identity: I, the Christoffel form of C v, and gravity.
#[test]
fn the_three_link_arm_of_textbooks() {
    let equations = Equations::new(&three_links(), ALL).unwrap();
    let formulas = scope(|| {
        let symbol = Expr::symbol;
        let q = Expr::symbols("q", 3);
        let v = Expr::symbols("v", 3);
        let vdot = Expr::symbols("vdot", 3);
        let m = ["m[1]", "m[2]", "m[3]"].map(symbol);
        let c = ["c[1].x", "c[2].x", "c[3].x"].map(symbol);
        let j = ["J[1].zz", "J[2].zz", "J[3].zz"].map(symbol);
        let (a2, a3, g) = (symbol("a[2].x"), symbol("a[3].x"), symbol("g"));
        let cos = |x: Expr| x.sin_cos().1;
        let two = Expr::constant(2.0);
        // Spong, Siciliano and others: link lengths l₁ = a₂, l₂ = a₃
        let (c2, c3, c23) = (cos(q[1]), cos(q[2]), cos(q[1] + q[2]));
        let i33 = j[2] + m[2] * c[2] * c[2];
        let i23 = i33 + m[2] * a3 * c[2] * c3;
        let i13 = i23 + m[2] * a2 * c[2] * c23;
        let i22 = j[1]
            + m[1] * c[1] * c[1]
            + j[2]
            + m[2] * (a3 * a3 + c[2] * c[2] + two * a3 * c[2] * c3);
        let i12 = i22 + m[1] * a2 * c[1] * c2 + m[2] * a2 * (a3 * c2 + c[2] * c23);
        let i11 = j[0]
            + m[0] * c[0] * c[0]
            + j[1]
            + m[1] * (a2 * a2 + c[1] * c[1] + two * a2 * c[1] * c2)
            + j[2]
            + m[2]
                * (a2 * a2
                    + a3 * a3
                    + c[2] * c[2]
                    + two * a2 * a3 * c2
                    + two * a2 * c[2] * c23
                    + two * a3 * c[2] * c3);
        let inertia = [i11, i12, i13, i12, i22, i23, i13, i23, i33];
        let (q1, q12, q123) = (q[0], q[0] + q[1], q[0] + q[1] + q[2]);
        let g3 = m[2] * g * c[2] * cos(q123);
        let g2 = m[1] * g * c[1] * cos(q12) + m[2] * g * a3 * cos(q12) + g3;
        let g1 = (m[0] * c[0] + m[1] * a2 + m[2] * a2) * g * cos(q1) + g2;
        let gravity = [g1, g2, g3];
        // τ = I v̇ + ½ Σ (∂ₖIᵢⱼ + ∂ⱼIᵢₖ − ∂ᵢIⱼₖ) vⱼ vₖ + g
        let half = Expr::constant(0.5);
        let mut effort = Vec::new();
        for i in 0..3 {
            let mut sum = gravity[i];
            for a in 0..3 {
                sum += inertia[3 * i + a] * vdot[a];
                for b in 0..3 {
                    let christoffel = inertia[3 * i + a].derivative(q[b])
                        + inertia[3 * i + b].derivative(q[a])
                        - inertia[3 * a + b].derivative(q[i]);
                    sum += half * christoffel * v[a] * v[b];
                }
            }
            effort.push(sum);
        }
        [&inertia[..], &gravity[..], &effort[..]].map(|list| Formula::of(list).unwrap())
    });
    assert_eq!(equations.inertia.as_ref(), Some(&formulas[0]));
    assert_eq!(equations.gravity.as_ref(), Some(&formulas[1]));
    assert_eq!(equations.effort.as_ref(), Some(&formulas[2]));
}

/// I = U D Uᵀ, and what the eliminated entries are: in symbols up to three freedoms, in numbers for all.
#[test]
fn the_elimination_is_verified() {
    let mut tried = 0;
    let random = (1..=3).flat_map(|n| (1..=6).map(move |seed| format!("random-{n}-{seed}")));
    let fixed = ["planar3", "chain-1", "chain-2", "chain-3", "pendulum-1"].map(String::from);
    for name in fixed.into_iter().chain(random) {
        let model = embedded::model(&name).unwrap();
        if model.nv() > 3 {
            continue;
        }
        tried += 1;
        let found = verify(&model).unwrap();
        assert_eq!(found.proved, Some(true), "{name}");
        assert!(found.product < 1e-13, "{name}: {found:?}");
    }
    assert!(tried > 8, "{tried}");
    for name in [
        "stanford",
        "space-robot",
        "random-8-1",
        "random-8-2",
        "zoo",
        "chain-12",
    ] {
        let found = verify(&embedded::model(name).unwrap()).unwrap();
        assert_eq!(found.proved, None);
        assert!(found.product < 1e-13, "{name}: {found:?}");
        assert!(found.meaning < 1e-13, "{name}: {found:?}");
    }
    // inertias of thin links cancel: double precision alone would show 1e-12
    for n in 2..=5 {
        let found = verify(&embedded::model(&format!("pendulum-{n}")).unwrap()).unwrap();
        assert!(found.product < 1e-13, "pendulum-{n}: {found:?}");
        assert!(found.meaning < 1e-13, "pendulum-{n}: {found:?}");
    }
}

/// Every named step of the recursions, evaluated in order, ends in the numbers of the library's own.
#[test]
fn recursions_evaluate_to_numbers() {
    for (name, keep) in [
        ("planar3", ALL),
        ("stanford", ALL),
        ("stanford", Keep::default()),
        ("chain-4", ALL),
        ("space-robot", Keep::default()),
        ("random-5-3", ALL),
        ("random-6-8", Keep::default()),
        ("pendulum-2", ALL),
    ] {
        for notation in [Notation::Catena, Notation::Paper] {
            compare_recursion(&embedded::model(name).unwrap(), keep, notation);
        }
    }
}

fn compare_recursion(model: &Model, symbols: impl Into<Symbols>, notation: Notation) {
    let recursion = Recursion::new(model, symbols, notation).unwrap();
    // the check that a page is held to
    let difference = recursion.difference(model);
    assert!(difference < 1e-13, "{}: {difference:e}", model.name());
    let model = without_dry_friction(model);
    let (nv, state) = (model.nv(), State::random(&model, 5));
    let vdot: Vec<f64> = (0..nv).map(|k| 0.7 - 0.3 * k as f64).collect();
    let inverse = |v: &[f64], vdot: &[f64]| efforts(&model, &state.q, v, vdot);
    let bias = inverse(&state.v, &vec![0.0; nv]);
    let found = recursion.evaluate(|name| {
        if let Some((_, value)) = recursion.values.iter().find(|(known, _)| known == name) {
            return *value;
        }
        let (array, index) = name.trim_end_matches(']').split_once('[').unwrap();
        let index: usize = index.parse().unwrap_or_else(|_| panic!("{name}"));
        match array {
            "q" => state.q[index],
            "v" => state.v[index],
            "vdot" => vdot[index],
            "bias" => bias[index],
            _ => panic!("{name} is used before it is defined"),
        }
    });
    let check = |what: &str, value: f64, number: f64, size: f64| {
        // other orders of the same sums
        assert!(
            (value - number).abs() <= 1e-12 * size,
            "{}, {what}: {value} and {number}",
            model.name()
        );
    };
    let size = |list: &[f64]| list.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
    let tau = inverse(&state.v, &vdot);
    let mut inertia = Matrix::zeros(nv, nv);
    let mut work = CompositeBodies::new(&model);
    inertia_matrix(&model, &state.q, &mut work, inertia.as_mut_slice());
    let mut factors = Factorization::new(&model);
    factors.factorize(&model, &state.q);
    let (u, d) = (factors.u(&model), factors.d());
    // how much the solution of I v̇ = τ − bias magnifies the last digits of τ
    let inverse_size = size(factors.inverse_matrix(&model).as_slice());
    let condition = size(inertia.as_slice()) * inverse_size;
    for k in 0..nv {
        check("tau", found[&format!("tau[{k}]")], tau[k], size(&tau));
        check("d", found[&format!("d[{k}]")], d[k], size(&d));
        let magnified = size(&vdot) * condition.max(1.0);
        check("vdot", found[&format!("vdot[{k}]")], vdot[k], magnified);
        for i in 0..=k {
            // zero where the one is not on the path of the other
            let entry = found.get(&format!("I[{i},{k}]")).copied().unwrap_or(0.0);
            check("I", entry, inertia[(i, k)], size(inertia.as_slice()));
            if i < k {
                let entry = found.get(&format!("alpha[{i},{k}]")).copied();
                check("U", entry.unwrap_or(0.0), u[(i, k)], size(u.as_slice()));
            }
        }
    }
    if model.tree().is_free_floating() {
        let block = factors.joint_block(&model, 1);
        for (i, k) in (0..6).flat_map(|k| (0..=k).map(move |i| (i, k))) {
            let entry = found[&format!("Ihat[{i},{k}]")];
            check("base block", entry, block[(i, k)], size(block.as_slice()));
        }
    }
}

/// The values of all names of a recursion at a state.
fn evaluated(
    recursion: &Recursion,
    state: &State,
    vdot: &[f64],
    bias: &[f64],
) -> HashMap<String, f64> {
    recursion.evaluate(|name| {
        let (array, index) = name.trim_end_matches(']').split_once('[').unwrap();
        let index: usize = index.parse().unwrap();
        match array {
            "q" => state.q[index],
            "v" => state.v[index],
            "vdot" => vdot[index],
            "bias" => bias[index],
            _ => panic!("{name} is used before it is defined"),
        }
    })
}

/// What the page of the papers says about the same thing in both notations: ξ, γ, ψ and η are those of the joints, seen from the mass
/// centres, and τ̂ is the same number. Components without a name of their own are left out.
#[test]
fn the_steps_of_the_papers_are_ours_about_the_mass_centres() {
    for name in ["planar3", "stanford", "random-5-3", "random-6-8", "zoo"] {
        let model = embedded::model(name).unwrap();
        let ours = Recursion::new(&model, Keep::default(), Notation::Catena).unwrap();
        let papers = Recursion::new(&model, Keep::default(), Notation::Paper).unwrap();
        let smooth = without_dry_friction(&model);
        let (nv, state) = (model.nv(), State::random(&model, 6));
        let vdot: Vec<f64> = (0..nv).map(|k| 0.4 - 0.2 * k as f64).collect();
        let bias = efforts(&smooth, &state.q, &state.v, &vec![0.0; nv]);
        let [ours, papers] = [&ours, &papers].map(|it| evaluated(it, &state, &vdot, &bias));
        let mut compared = 0;
        // three components under one name, or under two in the papers
        let vector = |of: &HashMap<String, f64>, name: &str, prefix: &str| {
            let part = |axis: &str| of.get(&format!("{name}.{prefix}{axis}")).copied();
            Some(Vec3::new(part("x")?, part("y")?, part("z")?))
        };
        let mut same = |what: String, a: Option<Vec3<f64>>, b: Option<Vec3<f64>>| {
            let (Some(a), Some(b)) = (a, b) else { return };
            compared += 1;
            let (a, b) = (a.to_array(), b.to_array());
            let size = b.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for (a, b) in a.iter().zip(b) {
                assert!((a - b).abs() < 1e-11 * size, "{name}, {what}: {a} and {b}");
            }
        };
        for i in 1..=model.body_count() {
            let c = match model.moments(i).mass == 0.0 {
                true => Vec3::zero(),
                false => model.inertial(i).centre,
            };
            let own = |quantity: &str| vector(&ours, &format!("{quantity}[{i}]"), "");
            let of_paper =
                |quantity: &str, part: &str| vector(&papers, &format!("{quantity}[{i}]"), part);
            let (omega, alpha, acceleration) = (own("omega"), own("domega"), own("acc"));
            same(format!("ν {i}"), of_paper("nu", "w"), omega);
            same(format!("ξ {i}"), of_paper("xi", "w"), alpha);
            let at_centre = match (omega, alpha, acceleration) {
                (Some(w), Some(a), Some(r)) => Some(r + a.cross(c) + w.cross(w.cross(c))),
                _ => None,
            };
            same(format!("ξ {i}, linear"), of_paper("xi", "v"), at_centre);
            let (n, f) = (own("n"), own("f"));
            same(format!("γ {i}, force"), of_paper("gamma", "f"), f);
            let about = n.zip(f).map(|(n, f)| n - c.cross(f));
            same(format!("γ {i}, moment"), of_paper("gamma", "n"), about);
            for k in model.tree().dof_range(i) {
                for what in ["psihat", "psi"] {
                    let of = |all| {
                        let name = format!("{what}[{k}]");
                        vector(all, &name, "n").zip(vector(all, &name, "f"))
                    };
                    let moved = of(&ours).map(|(n, f)| n - c.cross(f));
                    same(format!("{what} {k}"), of(&papers).map(|(n, _)| n), moved);
                }
                let (a, b) = (
                    ours[&format!("tauhat[{k}]")],
                    papers[&format!("tauhat[{k}]")],
                );
                assert!(
                    (a - b).abs() < 1e-10 * a.abs().max(1.0),
                    "{name} {k}: {a} {b}"
                );
            }
        }
        assert!(name == "planar3" || compared > 5, "{name}: {compared}");
    }
}

/// Pages say what they should, in every format.
#[test]
fn pages() {
    let page = Derivation::new(&two_links(), ALL, Style::Closed, true).unwrap();
    let document = page.document();
    let markdown = document.markdown();
    for part in [
        "I_{22} &= J_{2zz} + m_{2} c_{2x}^{2}",
        "2 m_{2} a_{2x} c_{2x} \\cos q_{2}",
        "\\cos \\left(q_{1} + q_{2}\\right)",
        "holds identically",
        "E_{2} &= \\begin{bmatrix}",
    ] {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
    assert!(document.latex().contains("\\end{document}"));
    assert!(document.html().contains("<mtable>"));
    let page = Derivation::new(
        &embedded::model("stanford").unwrap(),
        Keep::default(),
        Style::Recursive(Notation::Catena),
        true,
    )
    .unwrap();
    assert!(
        page.document()
            .markdown()
            .contains("composite of bodies 4, 5")
    );
    assert!(page.sympy().contains("steps = ["));
}

/// The base block of a body with one joint on a free base, in closed form.
#[test]
fn the_base_block() {
    let model = embedded::model("floating-chain-1").unwrap();
    let equations = Equations::new(&model, Keep::default()).unwrap();
    let [composite, articulated] = equations.base.as_ref().expect("the base is free");
    let state = State::random(&model, 4);
    let mut inertia = Matrix::zeros(7, 7);
    let mut work = CompositeBodies::new(&model);
    inertia_matrix(&model, &state.q, &mut work, inertia.as_mut_slice());
    let mut factors = Factorization::new(&model);
    factors.factorize(&model, &state.q);
    let (block, d) = (factors.joint_block(&model, 1), factors.d());
    let symbol = |name: &str| {
        let (array, index) = name.trim_end_matches(']').split_once('[').unwrap();
        let index: usize = index.parse().unwrap();
        if array == "q" {
            state.q[index]
        } else {
            d[index]
        }
    };
    let mut compared = 0;
    for i in 0..6 {
        for j in 0..6 {
            let pairs = [(composite, inertia[(i, j)]), (articulated, block[(i, j)])];
            for (formulas, number) in pairs {
                let Some(formulas) = formulas else { continue };
                let value = formulas[6 * i + j].evaluate(symbol);
                // sums of up to 150 terms
                assert!(
                    (value - number).abs() < 1e-12,
                    "{i} {j}: {value} and {number}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= 36, "{compared}");
}

/// N_l and N_d as formulas are those in numbers, and (1999: 13) for the planar arm: p = (e; e × d).
#[test]
fn the_complement_is_that_in_numbers() {
    for name in ["planar3", "random-3-5", "random-3-8"] {
        let model = embedded::model(name).unwrap();
        let equations = Equations::new(&model, Keep::ALL).unwrap();
        let Some(it) = &equations.complement else {
            assert_ne!(name, "planar3");
            continue;
        };
        let state = State::random(&model, 4);
        let denoc = catena::Dynamics::new(&model).denoc(&state).unwrap();
        let values = &equations.values;
        let value = |symbol: &str| match symbol.strip_prefix("q[") {
            Some(index) => state.q[index.trim_end_matches(']').parse::<usize>().unwrap()],
            None => values.iter().find(|(n, _)| n == symbol).unwrap().1,
        };
        for (formulas, matrix) in [(&it.nl, denoc.nl()), (&it.nd, denoc.nd())] {
            assert_eq!(formulas.len(), matrix.as_slice().len());
            for (formula, number) in formulas.iter().zip(matrix.as_slice()) {
                let found = formula.evaluate(value);
                assert!((found - number).abs() < 1e-11, "{name}: {found} {number}");
            }
        }
    }
}

/// A parallelogram: the closure of its planar rows, by hand in the axes of the coupler, and the equation that the multipliers enter.
#[test]
fn constraints_of_rows_of_parallelograms_are_derived() {
    for (name, independent) in [("four-bar-2", 4), ("four-bar-3", 6)] {
        let model = embedded::model(name).expect("embedded");
        let style = Style::Recursive(Notation::Catena);
        let derivation = Derivation::new(&model, Keep::default(), style, false).expect("derivable");
        let rows = derivation.constraints.as_ref().expect("loops");
        assert_eq!(rows.names.len(), independent, "{name}");
        let note = rows.note.as_deref().expect("it has dead points");
        assert!(note.contains("dead points"), "{note}");
    }
}

#[test]
fn constraints_are_derived() {
    let model = embedded::model("four-bar-1").expect("embedded");
    let derivation =
        Derivation::new(&model, Keep::default(), Style::Closed, false).expect("derivable");
    let rows = derivation.constraints.as_ref().expect("a loop");
    assert_eq!((rows.names.len(), rows.others.len()), (2, 3));
    let (xi, jacobian) = (
        rows.residual.as_ref().expect("short"),
        rows.jacobian.as_ref().expect("short"),
    );
    let q = [0.3f64, 0.5, -0.7];
    // ends of both rods, seen from the coupler
    let closure = |q: [f64; 3]| {
        let end = [
            q[0].cos() + (q[0] + q[1]).cos(),
            q[0].sin() + (q[0] + q[1]).sin(),
        ];
        let other = [1.0 + q[2].cos(), q[2].sin()];
        let (s, c) = (q[0] + q[1]).sin_cos();
        let d = [other[0] - end[0], other[1] - end[1]];
        [c * d[0] + s * d[1], c * d[1] - s * d[0]]
    };
    let at = |formula: &Formula, q: [f64; 3]| {
        formula.evaluate(|name: &str| {
            let index: usize = name
                .trim_start_matches("q[")
                .trim_end_matches(']')
                .parse()
                .expect("a position");
            q[index]
        })
    };
    for k in 0..2 {
        assert!((at(&xi[k], q) - closure(q)[k]).abs() < 1e-12, "{k}");
        for j in 0..3 {
            let h = 1e-5;
            let moved = |sign: f64| {
                let mut q = q;
                q[j] += sign * h;
                closure(q)[k]
            };
            // J is that of the velocities seen from the coupler: equal to the gradient
            let slope = (moved(1.0) - moved(-1.0)) / (2.0 * h);
            assert!(
                (at(&jacobian[3 * k + j], q) - slope).abs() < 1e-8,
                "{k} {j}"
            );
        }
    }
    let page = derivation.document().markdown();
    assert!(
        page.contains("\\lambda") && page.contains("Rows that follow from these"),
        "{page}"
    );
    assert!(derivation.sympy().contains("J_xi = Matrix(["));
}

/// Two links in a plane with a damped spring, a rope, torsion about the joints' axes, drag and a thrust: every effort is short enough to read.
fn simply_loaded() -> Model {
    let mut builder = embedded::builder("planar3").expect("embedded");
    let links: Vec<String> = builder.links.iter().map(|l| l.name.clone()).collect();
    let at = Vec3::new(0.2, 0.1, 0.0);
    for (name, rest_length, tension_only) in [("spring", 0.4, false), ("rope", 1.3, true)] {
        let rule = ForceRule::Spring {
            parent: "world".into(),
            child: links[usize::from(!tension_only)].clone(),
            parent_point: Vec3::new(1.0, 0.5, 0.0),
            child_point: at,
            stiffness: 4.0,
            damping: 0.3,
            rest_length,
            tension_only,
        };
        builder.force(ForceSpec::new(name, rule));
    }
    let torsion = ForceRule::Torsion {
        parent: links[0].clone(),
        child: links[2].clone(),
        axis: Vec3::new(0.0, 0.0, 1.0),
        stiffness: 1.3,
        damping: 0.2,
        rest: 0.4,
    };
    builder.force(ForceSpec::new("torsion", torsion));
    let drag = ForceRule::Drag {
        link: links[0].clone(),
        point: at,
        linear: 0.2,
        quadratic: 0.3,
        flow: Vec3::new(0.5, 0.0, 0.0),
    };
    builder.force(ForceSpec::new("air", drag));
    let thrust = ForceRule::Constant {
        link: links[2].clone(),
        point: at,
        force: Vec3::new(1.0, 2.0, 0.0),
        torque: Vec3::zero(),
        axes: ForceAxes::Link,
    };
    builder.force(ForceSpec::new("thrust", thrust));
    builder.build().expect("sound")
}

/// Force elements in every style: the page verifies them against the library in twice the digits, and the efforts are those of inverse
/// dynamics at further states.
#[test]
fn force_elements_have_formulas() {
    let planar = loaded("planar3", 3);
    for (model, closed) in [
        (embedded::model("squeezer").expect("embedded"), true),
        (embedded::model("governor").expect("embedded"), true),
        (simply_loaded(), true),
        (planar, false),
        (loaded("stanford", 3), false),
    ] {
        let name = model.name().to_string();
        for style in [
            Style::Closed,
            Style::Recursive(Notation::Catena),
            Style::Recursive(Notation::Paper),
        ] {
            let page = Derivation::new(&model, Keep::default(), style, false).expect("derived");
            let difference = page.verification.difference();
            assert!(difference < 1e-13, "{name} {style:?}: {difference:e}");
            if style == Style::Closed {
                assert_eq!(page.verification.loads.is_some(), closed, "{name}");
            }
            let text = page.document().markdown();
            assert!(text.contains(&*model.forces()[0].name), "{name}");
            page.sympy();
        }
        if !closed {
            continue;
        }
        let tree = model.clone().open_tree();
        let equations = Equations::new(&tree, Keep::ALL).expect("derived");
        let elements = equations.elements.as_ref().expect("there are some");
        let Some(effort) = &equations.effort else {
            continue; // with every number a symbol it is long
        };
        let mut dynamics = Dynamics::new(&tree);
        for seed in 1..4 {
            let mut state = State::random(&tree, seed);
            state.base = Base::fixed();
            let vdot = State::random(&tree, seed + 10).v;
            let wanted = dynamics
                .inverse(&state, &vdot, &[])
                .expect("finite")
                .to_vec();
            let mut known: Vec<(String, f64)> = equations.values.clone();
            for (array, list) in [("q", &state.q), ("v", &state.v), ("vdot", &vdot)] {
                let names = (0..list.len()).map(|k| format!("{array}[{k}]"));
                known.extend(names.zip(list.iter().copied()));
            }
            let find = |known: &[(String, f64)], name: &str| {
                let found = known.iter().find(|(symbol, _)| symbol == name);
                found.unwrap_or_else(|| panic!("{name} has no value")).1
            };
            for quantity in elements.quantities.iter().flatten().flatten() {
                let value = quantity.value.evaluate(|symbol: &str| find(&known, symbol));
                known.push((quantity.name.clone(), value));
            }
            let size = wanted.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            for (formula, wanted) in effort.iter().zip(&wanted) {
                let found = formula.evaluate(|symbol: &str| find(&known, symbol));
                assert!(
                    (found - wanted).abs() < 1e-11 * size,
                    "{name}: {found} {wanted}"
                );
            }
        }
    }
}
