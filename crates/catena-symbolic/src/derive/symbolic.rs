//! A model whose numbers are symbols.

use super::{Keep, Symbols};
use crate::{Expr, evaluate, scope};
use catena::elementary;
use catena::spatial::{Mat3, Sym3, Vec3};
use catena::{Model, Scalar};
use std::cell::Cell;

/// A model whose numbers are symbols.
pub(super) struct Symbolic {
    pub model: Model<Expr>,
    /// Rotor inertias of the freedoms.
    pub rotors: Vec<Expr>,
    /// The bodies about their mass centres; entry 0 is the ground.
    pub bodies: Vec<Central>,
}

/// A body about its mass centre, in its axes. Without mass it has its origin in place of a mass centre.
#[derive(Clone, Copy)]
pub(super) struct Central {
    pub mass: Expr,
    pub centre: Vec3<Expr>,
    pub tensor: Sym3<Expr>,
}

/// The model with symbols for the selected numbers.
pub(super) fn symbolic(
    model: &Model,
    symbols: &Symbols,
    values: &mut Vec<(String, f64)>,
) -> Symbolic {
    let symbol = |name: &str, _: usize| Expr::symbol(name);
    with_symbols(model, symbols, Purpose::Formulas, &symbol, values)
}

/// Purpose of the symbols.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// For formulas to read.
    Formulas,
    /// For parameters of generated code.
    Code,
    /// For proofs that hold for any numbers.
    Proof,
}

/// The model with the symbols `p[0]`, `p[1]`, … in the order of `values`, and its rotor inertias.
pub(crate) fn parametric(
    model: &Model,
    keep: Keep,
    values: &mut Vec<(String, f64)>,
) -> (Model<Expr>, Vec<Expr>) {
    let symbol = |_: &str, k: usize| Expr::symbol(&format!("p[{k}]"));
    let made = with_symbols(model, &keep.into(), Purpose::Code, &symbol, values);
    (made.model, made.rotors)
}

/// The model with other values of the numbers that may be symbols, in their order.
pub(crate) fn with_parameters(model: &Model, keep: Keep, parameters: &[f64]) -> Model {
    scope(|| {
        let (symbolic, _) = parametric(model, keep, &mut Vec::new());
        let value = |name: &str| {
            let index = name.trim_start_matches("p[").trim_end_matches(']');
            let index: usize = index.parse().expect("symbols are entries of p");
            parameters[index]
        };
        symbolic.map(|x| evaluate(&[x], value)[0])
    })
}

/// The model with symbols for everything that is not 0 or ±1, rotations too: three angles each. Identities that hold for it hold exactly
/// for any numbers. Also returns the rotor inertias.
pub(super) fn general(model: &Model) -> (Model<Expr>, Vec<Expr>) {
    let symbol = |name: &str, _: usize| Expr::symbol(name);
    let keep = Keep {
        rotors: true,
        rotations: true,
        ..Keep::ALL
    };
    let made = with_symbols(
        model,
        &keep.into(),
        Purpose::Proof,
        &symbol,
        &mut Vec::new(),
    );
    (made.model, made.rotors)
}

/// The angles of R = Rz(first) Rx(second) Rz(third), with as few and as small ones about z as possible.
fn angles(rotation: Mat3<f64>) -> [f64; 3] {
    use std::f64::consts::PI;
    let (x, y, z) = (rotation.x, rotation.y, rotation.z);
    let sine = elementary::hypot(z.x, z.y);
    if sine < 1e-12 {
        return [
            elementary::atan2(x.y, x.x),
            elementary::atan2(sine, z.z),
            0.0,
        ];
    }
    // z = (sin first sin second, −cos first sin second, cos second), the last row likewise with third
    let one = [
        elementary::atan2(z.x, -z.y),
        elementary::atan2(sine, z.z),
        elementary::atan2(x.z, y.z),
    ];
    let opposite = |angle: f64| if angle > 0.0 { angle - PI } else { angle + PI };
    let other = [opposite(one[0]), -one[1], opposite(one[2])];
    let size = |a: [f64; 3]| a[0].abs() + a[2].abs();
    let chosen = if size(other) < size(one) { other } else { one };
    chosen.map(|angle| if angle.abs() < 1e-15 { 0.0 } else { angle })
}

fn with_symbols(
    model: &Model,
    symbols: &Symbols,
    purpose: Purpose,
    symbol: &dyn Fn(&str, usize) -> Expr,
    values: &mut Vec<(String, f64)>,
) -> Symbolic {
    let Symbols { keep, single } = symbols;
    let mut kept = |is_kept: bool, name: String, value: f64| {
        let is_single = single.contains(&name);
        // named numbers, and the rest position of a spring, are parameters even if zero
        if is_single || is_kept && (value != 0.0 || name.starts_with("rest")) {
            let made = symbol(&name, values.len());
            values.push((name, value));
            made
        } else {
            Expr::constant(value)
        }
    };
    let xyz = ["x", "y", "z"];
    // in the order in which `Model::map` traverses a model
    let mut numbers: Vec<Expr> = Vec::new();
    let mut bodies = Vec::new();
    for i in 0..=model.body_count() {
        let (placement, moments) = (model.placement(i), model.moments(i));
        let r = placement.rotation;
        let exact = |x: &f64| x.fract() == 0.0;
        let right = [r.x, r.y, r.z]
            .iter()
            .all(|c| c.to_array().iter().all(exact));
        let columns = if keep.rotations && purpose != Purpose::Formulas && !right {
            let mut of = angles(r).into_iter().zip(["first", "second", "third"]);
            let [first, second, third] = [0; 3].map(|_| {
                let (angle, name) = of.next().expect("there are three");
                // in a proof no angle is special
                let angle = if purpose == Purpose::Proof {
                    1.0
                } else {
                    angle
                };
                kept(true, format!("angle[{i}].{name}"), angle).sin_cos()
            });
            let r = Mat3::rotation_z(first.0, first.1)
                * Mat3::rotation_x(second.0, second.1)
                * Mat3::rotation_z(third.0, third.1);
            [r.x, r.y, r.z]
        } else {
            [r.x, r.y, r.z].map(|c| c.map(Expr::constant))
        };
        for column in columns {
            numbers.extend(column.to_array());
        }
        for (x, axis) in placement.translation.to_array().into_iter().zip(xyz) {
            numbers.push(kept(keep.lengths && i > 0, format!("a[{i}].{axis}"), x));
        }
        let second = moments.second;
        let none = single.is_empty() && !(keep.masses || keep.lengths || keep.inertias);
        let inertial = model.inertial(i);
        let t = inertial.tensor;
        let largest = t.xx.abs().max(t.yy.abs()).max(t.zz.abs());
        let clean = |x: f64| if x.abs() <= 1e-13 * largest { 0.0 } else { x };
        if i == 0 || moments.mass == 0.0 || none {
            numbers.push(Expr::constant(moments.mass));
            numbers.extend(moments.first.to_array().map(Expr::constant));
            let s = second;
            numbers.extend([s.xx, s.yy, s.zz, s.xy, s.xz, s.yz].map(Expr::constant));
            bodies.push(Central {
                mass: Expr::constant(moments.mass),
                centre: inertial.centre.map(Expr::constant),
                tensor: t.map(|x| Expr::constant(clean(x))),
            });
        } else {
            let mass = kept(keep.masses, format!("m[{i}]"), moments.mass);
            let mut c = [Expr::zero(); 3];
            for ((c, x), axis) in c.iter_mut().zip(inertial.centre.to_array()).zip(xyz) {
                *c = kept(keep.lengths, format!("c[{i}].{axis}"), x);
            }
            let mut tensor =
                |name: &str, x: f64| kept(keep.inertias, format!("J[{i}].{name}"), clean(x));
            let (xx, yy, zz) = (tensor("xx", t.xx), tensor("yy", t.yy), tensor("zz", t.zz));
            let (xy, xz, yz) = (tensor("xy", t.xy), tensor("xz", t.xz), tensor("yz", t.yz));
            bodies.push(Central {
                mass,
                centre: Vec3::from_array(c),
                tensor: Sym3::new(xx, yy, zz, xy, xz, yz),
            });
            // second moments: Σ = ½ tr J − J about the mass centre, and m c cᵀ
            let half = Expr::constant(0.5);
            numbers.push(mass);
            numbers.extend(c.map(|c| mass * c));
            numbers.push((yy + zz - xx) * half + mass * c[0] * c[0]);
            numbers.push((xx + zz - yy) * half + mass * c[1] * c[1]);
            numbers.push((xx + yy - zz) * half + mass * c[2] * c[2]);
            numbers.push(mass * c[0] * c[1] - xy);
            numbers.push(mass * c[0] * c[2] - xz);
            numbers.push(mass * c[1] * c[2] - yz);
        }
        let pitch = purpose == Purpose::Proof;
        numbers.push(kept(pitch, format!("pitch[{i}]"), model.pitch(i)));
    }
    let mut rotors = Vec::new();
    let passive = keep.passive && purpose != Purpose::Proof;
    for k in 0..model.nv() {
        let dof = model.dof(k);
        rotors.push(kept(keep.rotors, format!("rotor[{k}]"), dof.armature));
        numbers.push(rotors[k]);
        numbers.push(kept(passive, format!("damping[{k}]"), dof.damping));
        numbers.push(kept(passive, format!("friction[{k}]"), dof.friction));
        numbers.push(kept(passive, format!("stiffness[{k}]"), dof.stiffness));
        let spring = passive && dof.stiffness != 0.0;
        numbers.push(kept(spring, format!("rest[{k}]"), dof.rest));
    }
    let gravity = model.gravity().to_array();
    let along_axis = gravity.iter().filter(|x| **x != 0.0).count() == 1;
    for (x, axis) in gravity.into_iter().zip(xyz) {
        if along_axis || purpose != Purpose::Code {
            let size = kept(keep.gravity && along_axis, "g".into(), x.abs());
            numbers.push(if x < 0.0 { -size } else { size });
        } else {
            numbers.push(kept(keep.gravity, format!("g.{axis}"), x));
        }
    }
    let next = Cell::new(0);
    let mapped = model.map(|_| {
        let at = next.replace(next.get() + 1);
        numbers[at]
    });
    debug_assert_eq!(next.get(), numbers.len());
    Symbolic {
        model: mapped,
        rotors,
        bodies,
    }
}
