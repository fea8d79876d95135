//! Laws of expressions: sharing, simplification, calculus, and textbook formulas as identities.

use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::model::{Inertial, JointKind, JointSpec};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Base, Model, ModelBuilder, Scalar, StateView};
use catena_symbolic::{Expr, Program, evaluate, node_count, rates, scope, substitute};

fn symbol(name: &str) -> Expr {
    Expr::symbol(name)
}

#[test]
fn equal_expressions_are_the_same_node() {
    scope(|| {
        let (x, y, z) = (symbol("x"), symbol("y"), symbol("z"));
        assert_eq!(x * y + z, z + y * x);
        assert_eq!(-(x - y), y - x);
        assert_eq!((-x) * y, -(x * y));
        assert_eq!((-x) * (-y), x * y);
        assert_eq!((-x).recip(), -(x.recip()));
        assert_eq!(x / y, x * y.recip());
        let before = node_count();
        let _ = (x * y + z, z + y * x, -(x * y) - z, (x - y) + (y - x));
        assert_eq!(node_count(), before, "nothing new is made");
    });
}

#[test]
fn simplification() {
    scope(|| {
        let (x, y, k) = (symbol("x"), symbol("y"), symbol("k"));
        let (zero, one) = (Expr::zero(), Expr::one());
        let number = Expr::constant;
        assert_eq!(x * zero, zero);
        assert_eq!(x + zero, x);
        assert_eq!(x * one, x);
        assert_eq!(x * -one, -x);
        assert_eq!(x - x, zero);
        assert_eq!(x + x, number(2.0) * x);
        assert_eq!(number(2.0) * x + number(3.0) * x, number(5.0) * x);
        assert_eq!((x + y) - y, x);
        assert_eq!(number(0.5) * (number(4.0) * x), number(2.0) * x);
        assert_eq!(x * x.recip(), one);
        assert_eq!(x.recip().recip(), x);
        assert_eq!(x.sqrt() * x.sqrt(), x);
        let third = Expr::ratio(1, 3).unwrap();
        assert_eq!(third + third + third, one);
        assert_eq!(Expr::ratio(1, 0), None);
        let ((sx, cx), (sy, cy)) = (x.sin_cos(), y.sin_cos());
        assert_eq!(sx * sx + cx * cx, one);
        assert_eq!(k * (sx * sx) + (k * cx) * cx, k);
        assert_eq!(sx * cy + cx * sy, (x + y).sin_cos().0);
        assert_eq!(cx * cy - sx * sy, (x + y).sin_cos().1);
        assert_eq!(k * sx * cy - cx * sy * k, k * (x - y).sin_cos().0);
        assert_eq!(cx * cy + sx * sy, (x - y).sin_cos().1);
        let quarter = number(std::f64::consts::FRAC_PI_2);
        assert_eq!((x + quarter).sin_cos(), (cx, -sx));
        assert_eq!((x - quarter).sin_cos(), (-cx, sx));
        assert_eq!(quarter.sin_cos(), (one, zero));
        assert_eq!((-x).sin_cos(), (-sx, cx));
        let chosen = Expr::select(number(1.0).less(number(2.0)), x, y);
        assert_eq!(chosen, x);
        assert_eq!(Expr::select(x.less(y), k, k), k);
    });
}

#[test]
fn calculus() {
    scope(|| {
        let (x, y) = (symbol("x"), symbol("y"));
        let (s, c) = (x * y).sin_cos();
        let f = s / x + (x * c).sqrt() - Expr::select(x.less(y), x * x, y * x);
        let at = |name: &str| if name == "x" { 0.4 } else { 0.7 };
        let shifted =
            |h: f64| evaluate(&[f], |name| at(name) + if name == "x" { h } else { 0.0 })[0];
        let h = 1e-5;
        let difference = (shifted(h) - shifted(-h)) / (2.0 * h);
        let exact = evaluate(&[f.derivative(x)], at)[0];
        // the error of a central difference, h² times a third derivative, and round-off over h
        assert!((difference - exact).abs() < 1e-8, "{difference} {exact}");
        let rate = rates(&[f], &[(x, y)])[0];
        let along = evaluate(&[rate], at)[0];
        assert!((along - exact * 0.7).abs() < 1e-14);
        let replaced = substitute(&[f], &[(x, y)])[0];
        let value = evaluate(&[replaced], |_| 0.7)[0];
        let direct = evaluate(&[f], |_| 0.7)[0];
        assert!((value - direct).abs() < 1e-15);
    });
}

#[test]
fn text() {
    scope(|| {
        let (x, y) = (symbol("x"), symbol("y"));
        let text = |e: Expr| e.to_string();
        assert_eq!(text(x - y), "x - y");
        assert_eq!(text(y - x), "-(x - y)");
        assert_eq!(text((x + y) * x), "x*(x + y)");
        assert_eq!(text((x * y).recip()), "1/(x*y)");
        assert_eq!(text(-(x.sin_cos().0)), "-sin(x)");
        assert_eq!(text(x * Expr::constant(0.5)), "x*1/2");
    });
}

#[test]
fn zero_test() {
    scope(|| {
        let (x, y) = (symbol("x"), symbol("y"));
        let square = (x + y) * (x + y) - (x * x + y * y + x * y + y * x);
        assert_eq!(square.is_identically_zero(), Some(true));
        assert_eq!((square + x).is_identically_zero(), Some(false));
        let (s, c) = (x + y).sin_cos();
        let ((sx, cx), (sy, _)) = (x.sin_cos(), y.sin_cos());
        assert_eq!((s * cx - c * sx - sy).is_identically_zero(), Some(true));
        assert_eq!((s * cx + c * sx - sy).is_identically_zero(), Some(false));
        let fraction = x / (x + y) + y / (y + x) - Expr::one();
        assert_eq!(fraction.is_identically_zero(), Some(true));
        assert_eq!(x.sqrt().is_identically_zero(), None);
    });
}

/// Handles of another scope are refused, not misread.
#[test]
#[should_panic(expected = "outside the scope")]
fn handles_do_not_leave_their_scope() {
    let old = scope(|| symbol("x") * symbol("y"));
    scope(|| {
        let _ = old + Expr::one();
    });
}

#[test]
#[should_panic(expected = "inside `catena_symbolic::scope`")]
fn no_expression_without_a_scope() {
    let _ = Expr::one();
}

#[test]
fn programs_outlive_their_scope() {
    let program = scope(|| {
        let (x, y) = (symbol("x"), symbol("y"));
        Program::new(&[x * y + x * Expr::constant(3.0), (x + y).sin_cos().0])
    });
    let values = std::thread::spawn(move || program.evaluate(|n| if n == "x" { 0.5 } else { 2.0 }))
        .join()
        .unwrap();
    assert_eq!(values[0], 2.5);
    assert!((values[1] - 2.5f64.sin()).abs() < 1e-15);
}

/// A planar arm of massless rods with point masses at their ends; every number of the model is a symbol.
struct Planar {
    model: Model<Expr>,
    mass: Vec<Expr>,
    length: Vec<Expr>,
}

fn planar(n: usize) -> Planar {
    // distinct numbers, whose products are distinct too, so that each number of the model tells what it is
    let masses = [2.0, 5.0, 11.0];
    let lengths = [3.0, 7.0, 13.0];
    let mut builder = ModelBuilder::new("planar");
    builder.gravity = Vec3::new(0.0, -17.0, 0.0);
    builder.allow_unphysical = true;
    let mut parent = "world".to_string();
    for k in 0..n {
        let name = format!("link{k}");
        let end = Inertial {
            mass: masses[k],
            centre: Vec3::new(lengths[k], 0.0, 0.0),
            tensor: Sym3::zero(),
        };
        builder.link(&name, end);
        let mut joint = JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &name);
        if k > 0 {
            joint.parent_from_joint = Pose::shift(Vec3::new(lengths[k - 1], 0.0, 0.0));
        }
        builder.joint(joint);
        parent = name;
    }
    let numbers = builder.build().expect("the arm is sound");
    let mass: Vec<Expr> = (0..n).map(|k| symbol(&format!("m{k}"))).collect();
    let length: Vec<Expr> = (0..n).map(|k| symbol(&format!("l{k}"))).collect();
    let gravity = symbol("g");
    let model = numbers.map(|x| {
        for k in 0..n {
            for (value, formula) in [
                (masses[k], mass[k]),
                (lengths[k], length[k]),
                (masses[k] * lengths[k], mass[k] * length[k]),
                (
                    masses[k] * lengths[k] * lengths[k],
                    mass[k] * length[k] * length[k],
                ),
            ] {
                if x == value {
                    return formula;
                }
            }
        }
        match x {
            -17.0 => -gravity,
            _ => {
                assert!(x == 0.0 || x.abs() == 1.0, "{x} is not known");
                Expr::constant(x)
            }
        }
    });
    Planar {
        model,
        mass,
        length,
    }
}

fn efforts(model: &Model<Expr>) -> Vec<Expr> {
    let n = model.nv();
    let [q, v, a] = ["q", "v", "a"].map(|name| Expr::symbols(name, n));
    let mut tau = q.clone();
    let mut work = InverseDynamics::new(model);
    inverse_dynamics(
        model,
        StateView {
            q: &q,
            v: &v,
            base: &Base::fixed(),
        },
        &a,
        &[],
        &mut work,
        &mut tau,
    );
    tau
}

/// The textbook equations of the planar arm with two links and point masses (Craig, Spong, and others).
#[test]
fn two_link_arm() {
    scope(|| {
        let Planar {
            model,
            mass: m,
            length: l,
        } = planar(2);
        let [q, v, a] = ["q", "v", "a"].map(|name| Expr::symbols(name, 2));
        let g = symbol("g");
        let two = Expr::constant(2.0);
        let (s2, c2) = q[1].sin_cos();
        let (c1, c12) = (q[0].sin_cos().1, (q[0] + q[1]).sin_cos().1);
        let coupling = m[1] * l[0] * l[1];
        let second = m[1] * l[1] * l[1] * (a[0] + a[1])
            + coupling * c2 * a[0]
            + coupling * s2 * v[0] * v[0]
            + m[1] * l[1] * g * c12;
        let first = m[1] * l[1] * l[1] * (a[0] + a[1])
            + coupling * c2 * (two * a[0] + a[1])
            + (m[0] + m[1]) * l[0] * l[0] * a[0]
            - coupling * s2 * v[1] * v[1]
            - two * coupling * s2 * v[0] * v[1]
            + m[1] * l[1] * g * c12
            + (m[0] + m[1]) * l[0] * g * c1;
        let tau = efforts(&model);
        assert_eq!((tau[0] - first).is_identically_zero(), Some(true));
        assert_eq!((tau[1] - second).is_identically_zero(), Some(true));
        // and a wrong sign is noticed
        let wrong = second - coupling * s2 * v[0] * v[0] * two;
        assert_eq!((tau[1] - wrong).is_identically_zero(), Some(false));
    });
}

/// Inertia matrix of the planar arm with three links: Σ over masses of the dot products of the lever arms.
#[test]
fn three_link_arm() {
    scope(|| {
        let Planar {
            model,
            mass: m,
            length: l,
        } = planar(3);
        let q = Expr::symbols("q", 3);
        let mut inertia = vec![Expr::zero(); 9];
        inertia_matrix(&model, &q, &mut CompositeBodies::new(&model), &mut inertia);
        let (c2, c3) = (q[1].sin_cos().1, q[2].sin_cos().1);
        let c23 = (q[1] + q[2]).sin_cos().1;
        let (l1, l2, l3) = (l[0], l[1], l[2]);
        let two = Expr::constant(2.0);
        let i33 = m[2] * l3 * l3;
        let i23 = i33 + m[2] * l2 * l3 * c3;
        let i13 = i23 + m[2] * l1 * l3 * c23;
        let i22 = (m[1] + m[2]) * l2 * l2 + i33 + two * m[2] * l2 * l3 * c3;
        let i12 = i22 + (m[1] + m[2]) * l1 * l2 * c2 + m[2] * l1 * l3 * c23;
        let i11 = (m[0] + m[1] + m[2]) * l1 * l1
            + i22
            + two * (m[1] + m[2]) * l1 * l2 * c2
            + two * m[2] * l1 * l3 * c23;
        let expected = [i11, i12, i13, i12, i22, i23, i13, i23, i33];
        for (k, (a, b)) in inertia.iter().zip(expected).enumerate() {
            assert_eq!((*a - b).is_identically_zero(), Some(true), "entry {k}");
        }
        // the efforts of the same arm have this matrix as their derivatives by the accelerations
        let tau = efforts(&model);
        let a = Expr::symbols("a", 3);
        for i in 0..3 {
            for j in 0..3 {
                let entry = tau[i].derivative(a[j]) - expected[i * 3 + j];
                assert_eq!(entry.is_identically_zero(), Some(true));
            }
        }
    });
}

/// Regrouping in symbols leaves the efforts unchanged, as an identity.
#[test]
fn regrouping_is_an_identity() {
    scope(|| {
        let model = planar(3).model;
        let before = efforts(&model);
        let after = efforts(&model.regrouped());
        for (a, b) in before.iter().zip(after) {
            assert_eq!((*a - b).is_identically_zero(), Some(true));
        }
    });
}
