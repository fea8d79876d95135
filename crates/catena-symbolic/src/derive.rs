//! The equations of motion of one model as formulas to read: I, C, g, τ, and the factors U, D with ψ.
//!
//! The algorithms run in [`Expr`]; what they leave is brought into the normal form of [`Formula`]. Pivots m̂ₖ that are not single numbers
//! or symbols stand as symbols `d[k]` in everything that divides by them, and have formulas of their own.

use crate::{Expr, Formula, scope, substitute};
use catena::algorithm::factorization::{Factorization, reverse_gaussian_elimination};
use catena::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::error::{Error, ErrorKind, Result};
use catena::{Base, Matrix, Model, Scalar, State};
use std::cell::Cell;

/// Which numbers of the model stay symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Masses `m[i]` of the bodies.
    pub masses: bool,
    /// Positions `a[i]` of joints in the frame before, and `c[i]` of mass centres: the components that are not zero.
    pub lengths: bool,
    /// Inertia tensors `J[i]` about the mass centres: the components that are not zero.
    pub inertias: bool,
    /// The acceleration of gravity `g`, where it is along an axis of the world.
    pub gravity: bool,
}

/// Formulas with more terms are not for reading.
const READABLE: usize = 150;
/// Up to this many freedoms I = U D Uᵀ is verified in symbols.
const VERIFIED: usize = 3;

/// One step of the elimination.
#[derive(Clone, Debug)]
pub struct Step {
    /// The freedom eliminated, from 0.
    pub k: usize,
    /// αᵢₖ for i < k.
    pub alpha: Vec<Formula>,
    /// The matrix after the step, row after row.
    pub reduced: Vec<Formula>,
}

/// The equations of a model. What is too long to read is None.
#[derive(Clone, Debug)]
pub struct Equations {
    /// Number of freedoms.
    pub nv: usize,
    /// I, row after row.
    pub inertia: Option<Vec<Formula>>,
    /// C, row after row.
    pub coriolis: Option<Vec<Formula>>,
    /// Efforts at rest.
    pub gravity: Option<Vec<Formula>>,
    /// τ = I v̇ + C v + g.
    pub effort: Option<Vec<Formula>>,
    /// m̂ₖ: the diagonal of D; pivots of later freedoms are symbols `d[k]`.
    pub pivots: Option<Vec<Formula>>,
    /// U, row after row.
    pub u: Option<Vec<Formula>>,
    /// ψₖ (moment, then force) in body axes about the body's origin, six for each freedom.
    pub psi: Option<Vec<Formula>>,
    /// The elimination, k = n … 2.
    pub elimination: Option<Vec<Step>>,
    /// Was I = U D Uᵀ, and that recursion and elimination have the same pivots, shown to hold whatever the symbols are? None where
    /// it was not tried: beyond three freedoms, or with rounded numbers among the coefficients.
    pub proved: Option<bool>,
    /// Largest entry of I − U D Uᵀ at a random state, relative to the largest of I.
    pub difference: f64,
    /// The symbols of the model's numbers, with their values.
    pub values: Vec<(String, f64)>,
}

impl Equations {
    /// Derives them. Springs, damping and friction are left out, rotor inertias are not.
    pub fn new(model: &Model, keep: Keep) -> Result<Self> {
        model.expect_tree()?;
        if model.nv() == 0 {
            return Err(Error::new(
                ErrorKind::Model,
                format!(
                    "`{}` has no freedoms: there is nothing to derive",
                    model.name()
                ),
            ));
        }
        let model = model.clone().without_passive_forces().swept(1e-14);
        let difference = factors_error(&model);
        Ok(scope(|| derived(&model, keep, difference)))
    }
}

/// max |I − U D Uᵀ| / max |I| in numbers.
fn factors_error(model: &Model) -> f64 {
    let (nv, state) = (model.nv(), State::random(model, 7));
    let mut inertia = vec![0.0; nv * nv];
    inertia_matrix(
        model,
        &state.q,
        &mut CompositeBodies::new(model),
        &mut inertia,
    );
    let mut factors = Factorization::new(model);
    factors.factorize(model, &state.q);
    let (u, d) = (factors.u(model), factors.d());
    let largest = inertia.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let product = product(&u, &d);
    let errors = inertia.iter().zip(&product).map(|(a, b)| (a - b).abs());
    errors.fold(0.0, f64::max) / largest
}

/// U D Uᵀ, row after row.
fn product<S: Scalar>(u: &Matrix<S>, d: &[S]) -> Vec<S> {
    let n = d.len();
    let mut product = Vec::with_capacity(n * n);
    for i in 0..n {
        for j in 0..n {
            let mut sum = S::zero();
            for k in i.max(j)..n {
                sum += u[(i, k)] * d[k] * u[(j, k)];
            }
            product.push(sum);
        }
    }
    product
}

/// The formulas, if all of them can be read.
fn formulas(expressions: &[Expr]) -> Option<Vec<Formula>> {
    let formulas = Formula::of(expressions)?;
    let readable = formulas.iter().all(|f| f.term_count() <= READABLE);
    readable.then_some(formulas)
}

/// The pivots that become symbols: those that are not numbers or symbols already.
fn named(pivots: &[Expr]) -> Vec<(Expr, Expr)> {
    let names = Expr::symbols("d", pivots.len());
    let long = |pivot: &Expr| match Formula::of(&[*pivot]) {
        Some(formula) => formula[0].term_count() > 1,
        None => true,
    };
    pivots
        .iter()
        .zip(names)
        .filter(|(pivot, _)| long(pivot))
        .map(|(pivot, name)| (*pivot, name))
        .collect()
}

/// Formulas of the pivots, each with the symbols of the other ones.
fn pivot_formulas(pivots: &[Expr], names: &[(Expr, Expr)]) -> Option<Vec<Formula>> {
    let mut all = Vec::new();
    for pivot in pivots {
        let others: Vec<(Expr, Expr)> = names
            .iter()
            .filter(|(other, _)| other != pivot)
            .copied()
            .collect();
        all.extend(formulas(&substitute(&[*pivot], &others))?);
    }
    Some(all)
}

fn derived(model: &Model, keep: Keep, difference: f64) -> Equations {
    let nv = model.nv();
    let mut values = Vec::new();
    let symbolic = symbolic(model, keep, &mut values);
    let [v, vdot] = ["v", "vdot"].map(|name| Expr::symbols(name, nv));
    let q = Expr::symbols("q", model.nq());
    let rest = vec![Expr::zero(); nv];
    let base = Base::fixed();
    let inverse = |v: &[Expr], vdot: &[Expr]| {
        let mut tau = rest.clone();
        let mut work = InverseDynamics::new(&symbolic);
        inverse_dynamics(&symbolic, &q, v, vdot, &base, &[], &mut work, &mut tau);
        tau
    };
    let mut inertia = Matrix::zeros(nv, nv);
    let mut work = CompositeBodies::new(&symbolic);
    inertia_matrix(&symbolic, &q, &mut work, inertia.as_mut_slice());
    let mut coriolis = Matrix::zeros(nv, nv);
    let mut work = CoriolisMatrix::new(&symbolic);
    coriolis_matrix(&symbolic, &q, &v, &base, &mut work, &mut coriolis);

    let mut factors = Factorization::new(&symbolic);
    factors.factorize(&symbolic, &q);
    let (u, d) = (factors.u(&symbolic), factors.d());
    let mut psi = Vec::new();
    for k in 0..nv {
        let wrench = factors.psi(&symbolic, k);
        psi.extend(wrench.moment.to_array());
        psi.extend(wrench.force.to_array());
    }
    let names = named(&d);
    let replaced = |expressions: &[Expr]| formulas(&substitute(expressions, &names));

    let steps = reverse_gaussian_elimination(&inertia);
    let names_of_steps = named(&steps.d);
    let mut elimination = Some(Vec::new());
    for step in &steps.steps {
        // the pivots eliminated so far have names; the others are entries of this matrix
        let known: Vec<(Expr, Expr)> = names_of_steps
            .iter()
            .filter(|(pivot, _)| steps.d[step.k..].contains(pivot))
            .copied()
            .collect();
        let alpha = formulas(&substitute(&step.alpha, &known));
        let reduced = formulas(&substitute(step.reduced.as_slice(), &known));
        elimination = match (elimination, alpha, reduced) {
            (Some(mut list), Some(alpha), Some(reduced)) => {
                list.push(Step {
                    k: step.k,
                    alpha,
                    reduced,
                });
                Some(list)
            }
            _ => None,
        };
    }

    let proved = (nv <= VERIFIED).then(|| {
        let product = product(&steps.u, &steps.d);
        let pairs = product.iter().zip(inertia.as_slice());
        let pairs = pairs.chain(steps.d.iter().zip(&d));
        let mut differences = pairs.map(|(a, b)| *a - *b);
        differences.all(|x| x.is_identically_zero() == Some(true))
    });
    Equations {
        nv,
        inertia: formulas(inertia.as_slice()),
        coriolis: formulas(coriolis.as_slice()),
        gravity: formulas(&inverse(&rest, &rest)),
        effort: formulas(&inverse(&v, &vdot)),
        pivots: pivot_formulas(&d, &names),
        u: replaced(u.as_slice()),
        psi: replaced(&psi),
        elimination,
        // rounded coefficients are no proof of anything
        proved: proved.filter(|proved| *proved),
        difference,
        values,
    }
}

/// The model with symbols for the numbers that are kept.
fn symbolic(model: &Model, keep: Keep, values: &mut Vec<(String, f64)>) -> Model<Expr> {
    let mut kept = |is_kept: bool, name: String, value: f64| {
        if is_kept && value != 0.0 {
            values.push((name.clone(), value));
            Expr::symbol(&name)
        } else {
            Expr::constant(value)
        }
    };
    let xyz = ["x", "y", "z"];
    // in the order in which `Model::map` goes through a model
    let mut numbers: Vec<Expr> = Vec::new();
    for i in 0..=model.body_count() {
        let (placement, moments) = (model.placement(i), model.moments(i));
        let rotation = placement.rotation;
        for column in [rotation.x, rotation.y, rotation.z] {
            numbers.extend(column.to_array().map(Expr::constant));
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
        numbers.push(Expr::constant(model.pitch(i)));
    }
    for k in 0..model.nv() {
        let dof = model.dof(k);
        let of = [
            dof.armature,
            dof.damping,
            dof.friction,
            dof.stiffness,
            dof.rest,
        ];
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
