//! Derived equations, evaluated at random points, against the algorithms in numbers; and the two-link arm of textbooks.

use catena::algorithm::factorization::Factorization;
use catena::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::model::{Inertial, JointKind, JointSpec, embedded};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Base, Matrix, Model, ModelBuilder, State};
use catena_symbolic::Formula;
use catena_symbolic::derive::{Equations, Keep};

const ALL: Keep = Keep {
    masses: true,
    lengths: true,
    inertias: true,
    gravity: true,
};

/// Two links in a vertical plane: a₂ = 0.4 m, mass centres at 0.15 and 0.1 m.
fn two_links() -> Model {
    let mut builder = ModelBuilder::new("2R");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    for (name, mass, centre, zz) in [("upper", 2.0, 0.15, 0.03), ("lower", 1.5, 0.1, 0.02)] {
        builder.link(
            name,
            Inertial {
                mass,
                centre: Vec3::new(centre, 0.0, 0.0),
                tensor: Sym3::new(0.01, zz, zz, 0.0, 0.0, 0.0),
            },
        );
    }
    let revolute = JointKind::Revolute;
    builder.joint(JointSpec::new("shoulder", revolute, "world", "upper"));
    let mut elbow = JointSpec::new("elbow", revolute, "upper", "lower");
    elbow.parent_from_joint = Pose::shift(Vec3::new(0.4, 0.0, 0.0));
    builder.joint(elbow);
    builder.build().unwrap()
}

/// Compares every formula there is with numbers; tells how many groups there were.
fn compare(model: &Model, keep: Keep, seed: u64) -> usize {
    let equations = Equations::new(model, keep).unwrap();
    let model = model.clone().without_passive_forces();
    let (nv, state) = (model.nv(), State::random(&model, seed));
    let vdot: Vec<f64> = (0..nv).map(|k| 0.7 - 0.3 * k as f64).collect();
    let mut inertia = vec![0.0; nv * nv];
    let mut work = CompositeBodies::new(&model);
    inertia_matrix(&model, &state.q, &mut work, &mut inertia);
    let mut coriolis = Matrix::zeros(nv, nv);
    let mut work = CoriolisMatrix::new(&model);
    let base = Base::fixed();
    coriolis_matrix(&model, &state.q, &state.v, &base, &mut work, &mut coriolis);
    let inverse = |v: &[f64], vdot: &[f64]| {
        let mut tau = vec![0.0; nv];
        let mut work = InverseDynamics::new(&model);
        inverse_dynamics(&model, &state.q, v, vdot, &base, &[], &mut work, &mut tau);
        tau
    };
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
    check("g", &equations.gravity, &inverse(&rest, &rest));
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
    assert!(equations.difference < 1e-13);
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

/// I, C, g of the two-link arm as every textbook has them.
#[test]
fn the_two_link_arm_of_textbooks() {
    let equations = Equations::new(&two_links(), ALL).unwrap();
    assert_eq!(equations.proved, Some(true));
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
    assert!(equations.proved.is_none());
}
