//! A model whose numbers are symbols.

use super::Keep;
use crate::{Expr, evaluate, scope};
use catena::spatial::{Mat3, Vec3};
use catena::{Model, Scalar};
use std::cell::Cell;

/// The model with symbols for the numbers that are kept.
pub(super) fn symbolic(model: &Model, keep: Keep, values: &mut Vec<(String, f64)>) -> Model<Expr> {
    with_symbols(model, keep, false, &|name, _| Expr::symbol(name), values)
}

/// The same with the symbols `p[0]`, `p[1]`, … in the order of `values`.
pub(crate) fn parametric(
    model: &Model,
    keep: Keep,
    values: &mut Vec<(String, f64)>,
) -> Model<Expr> {
    let symbol = |_: &str, k: usize| Expr::symbol(&format!("p[{k}]"));
    with_symbols(model, keep, false, &symbol, values)
}

/// The model with other values of the numbers that may be symbols, in their order.
pub(crate) fn with_parameters(model: &Model, keep: Keep, parameters: &[f64]) -> Model {
    scope(|| {
        let symbolic = parametric(model, keep, &mut Vec::new());
        let value = |name: &str| {
            let index = name.trim_start_matches("p[").trim_end_matches(']');
            let index: usize = index.parse().expect("symbols are entries of p");
            parameters[index]
        };
        symbolic.map(|x| evaluate(&[x], value)[0])
    })
}

/// The model with symbols for everything that is not 0 or ±1, rotations too: three angles each. What holds for it holds exactly, whatever
/// the numbers are. Rotor inertias beside it.
pub(super) fn general(model: &Model) -> (Model<Expr>, Vec<Expr>) {
    let rotor = |k: usize| match model.dof(k).armature {
        0.0 => Expr::zero(),
        _ => Expr::symbol(&format!("rotor[{k}]")),
    };
    (
        with_symbols(
            model,
            Keep::ALL,
            true,
            &|name, _| Expr::symbol(name),
            &mut Vec::new(),
        ),
        (0..model.nv()).map(rotor).collect(),
    )
}

/// A rotation by three angles, unless its entries are 0 and ±1.
fn rotation(body: usize, rotation: Mat3<f64>, general: bool) -> [Vec3<Expr>; 3] {
    let columns = [rotation.x, rotation.y, rotation.z];
    let exact = |x: &f64| x.fract() == 0.0;
    if !general || columns.iter().all(|c| c.to_array().iter().all(exact)) {
        return columns.map(|c| c.map(Expr::constant));
    }
    let [first, second, third] = ["first", "second", "third"]
        .map(|angle| Expr::symbol(&format!("{angle}[{body}]")).sin_cos());
    let r = Mat3::rotation_z(first.0, first.1)
        * Mat3::rotation_x(second.0, second.1)
        * Mat3::rotation_z(third.0, third.1);
    [r.x, r.y, r.z]
}

fn with_symbols(
    model: &Model,
    keep: Keep,
    general: bool,
    symbol: &dyn Fn(&str, usize) -> Expr,
    values: &mut Vec<(String, f64)>,
) -> Model<Expr> {
    let mut kept = |is_kept: bool, name: String, value: f64| {
        if is_kept && value != 0.0 {
            let made = symbol(&name, values.len());
            values.push((name, value));
            made
        } else {
            Expr::constant(value)
        }
    };
    let xyz = ["x", "y", "z"];
    // in the order in which `Model::map` goes through a model
    let mut numbers: Vec<Expr> = Vec::new();
    for i in 0..=model.body_count() {
        let (placement, moments) = (model.placement(i), model.moments(i));
        for column in rotation(i, placement.rotation, general) {
            numbers.extend(column.to_array());
        }
        for (x, axis) in placement.translation.to_array().into_iter().zip(xyz) {
            numbers.push(kept(keep.lengths && i > 0, format!("a[{i}].{axis}"), x));
        }
        let second = moments.second;
        if i == 0 || moments.mass == 0.0 || !(keep.masses || keep.lengths || keep.inertias) {
            numbers.push(Expr::constant(moments.mass));
            numbers.extend(moments.first.to_array().map(Expr::constant));
            let s = second;
            numbers.extend([s.xx, s.yy, s.zz, s.xy, s.xz, s.yz].map(Expr::constant));
        } else {
            let inertial = model.inertial(i);
            let mass = kept(keep.masses, format!("m[{i}]"), moments.mass);
            let mut c = [Expr::zero(); 3];
            for ((c, x), axis) in c.iter_mut().zip(inertial.centre.to_array()).zip(xyz) {
                *c = kept(keep.lengths, format!("c[{i}].{axis}"), x);
            }
            let t = inertial.tensor;
            let largest = t.xx.abs().max(t.yy.abs()).max(t.zz.abs());
            let mut tensor = |name: &str, x: f64| {
                let x = if x.abs() <= 1e-13 * largest { 0.0 } else { x };
                kept(keep.inertias, format!("J[{i}].{name}"), x)
            };
            let (xx, yy, zz) = (tensor("xx", t.xx), tensor("yy", t.yy), tensor("zz", t.zz));
            let (xy, xz, yz) = (tensor("xy", t.xy), tensor("xz", t.xz), tensor("yz", t.yz));
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
        numbers.push(kept(general, format!("pitch[{i}]"), model.pitch(i)));
    }
    for k in 0..model.nv() {
        let dof = model.dof(k);
        numbers.push(kept(general, format!("rotor[{k}]"), dof.armature));
        let of = [dof.damping, dof.friction, dof.stiffness, dof.rest];
        numbers.extend(of.map(Expr::constant));
    }
    let gravity = model.gravity().to_array();
    let along_axis = gravity.iter().filter(|x| **x != 0.0).count() == 1;
    for x in gravity {
        let size = kept(keep.gravity && along_axis, "g".into(), x.abs());
        numbers.push(if x < 0.0 { -size } else { size });
    }
    let next = Cell::new(0);
    let mapped = model.map(|_| {
        let at = next.replace(next.get() + 1);
        numbers[at]
    });
    debug_assert_eq!(next.get(), numbers.len());
    mapped
}
