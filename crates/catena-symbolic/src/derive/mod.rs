//! The equations of motion of one model as formulas to read: I, C, g, τ, and the factors U, D with ψ.
//!
//! The algorithms run in [`Expr`]; the results are brought into the normal form of [`Formula`]. Pivots m̂ₖ that are not single numbers
//! or symbols appear as symbols `d[k]` in everything divided by them, and have separate formulas.

use crate::{Expr, Formula, scope, substitute};
use catena::algorithm::factorization::{Factorization, reverse_gaussian_elimination};
use catena::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::passive::passive_force;
use catena::error::{Error, ErrorKind, Result};
use catena::model::Dof;
use catena::{Base, Matrix, Model, Scalar, StateView};

mod complement;
mod constraints;
mod document;
mod elements;
mod elimination;
mod independent;
mod names;
mod page;
mod paper;
mod recursion;
mod symbolic;
mod sympy;

pub use complement::Complement;
pub use constraints::ConstraintRows;
pub use document::{Block, Document, Line, Span};
pub use elements::{Elements, Quantity, Value};
pub use elimination::Verification;
pub use independent::Independent;
pub use page::{Derivation, Style};
pub use recursion::{Definition, Notation, Part, Recursion, Section};
use symbolic::symbolic;
pub(crate) use symbolic::{parametric, with_parameters};

/// Which numbers of the model stay symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Masses `m[i]` of the bodies.
    pub masses: bool,
    /// Positions `a[i]` of joints in the parent's frame, and `c[i]` of mass centres: the components that are not zero.
    pub lengths: bool,
    /// Inertia tensors `J[i]` about the mass centres: the components that are not zero.
    pub inertias: bool,
    /// The acceleration of gravity `g`, where it is along an axis of the world.
    pub gravity: bool,
    /// Rotor inertias `rotor[k]` of the freedoms.
    pub rotors: bool,
    /// `damping[k]`, `stiffness[k]`, where there is a spring `rest[k]`, and in generated code `friction[k]`.
    pub passive: bool,
    /// Rotations between a joint and the body before it that are more than right angles, by the three angles of Rz Rx Rz:
    /// `angle[i].first`, `.second`, `.third`, those that are not zero. For generated code; formulas have the numbers.
    pub rotations: bool,
}

impl Keep {
    /// Everything that formulas can have as symbols.
    pub const ALL: Keep = Keep {
        masses: true,
        lengths: true,
        inertias: true,
        gravity: true,
        rotors: true,
        passive: true,
        rotations: false,
    };

    /// Everything that generated code can be given.
    pub const EVERYTHING: Keep = Keep {
        rotations: true,
        ..Keep::ALL
    };
}

/// The numbers of a model that stay symbols in its formulas: kinds of them, and single ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// Kinds.
    pub keep: Keep,
    /// Single ones, by their symbols: `m[2]`, `a[1].x`, `rotor[0]`.
    pub single: Vec<String>,
}

impl From<Keep> for Symbols {
    fn from(keep: Keep) -> Self {
        Symbols {
            keep,
            single: Vec::new(),
        }
    }
}

impl Symbols {
    /// Resolves names of single numbers to their symbols: `LINK.mass`, `LINK.centre` and `LINK.inertia`, `JOINT.length` (position of the joint in the
    /// previous link), `JOINT.rotor`, `JOINT.stiffness`, `JOINT.rest` (where its spring is at rest) and `JOINT.damping`. A vector has symbols for its
    /// components that are not zero, one that is zero for all of them; a rotor inertia, and the rest position of a spring, may be zero. Others that
    /// are zero have no symbol and are left out: [`Symbols::zero`].
    pub fn known(model: &Model) -> Vec<(String, Vec<String>)> {
        let mut known = Vec::new();
        let xyz = ["x", "y", "z"];
        let axes = |letter: &str, i: usize, x: [f64; 3]| -> Vec<String> {
            let is_zero = x == [0.0; 3];
            let parts = x.into_iter().zip(xyz).filter(|(x, _)| is_zero || *x != 0.0);
            parts
                .map(|(_, axis)| format!("{letter}[{i}].{axis}"))
                .collect()
        };
        for i in model.bodies() {
            let info = &model.tree().bodies[i];
            let at = axes("a", i, model.placement(i).translation.to_array());
            known.push((format!("{}.length", info.joint), at));
            let mut at_joint = |what: &str, has: &dyn Fn(&Dof) -> bool| {
                let freedoms = (0..info.kind.nv()).map(|k| info.v + k);
                let freedoms = freedoms.filter(|&k| has(&model.dof(k)));
                let symbols = freedoms.map(|k| format!("{what}[{k}]")).collect();
                known.push((format!("{}.{what}", info.joint), symbols));
            };
            // a joint with a quaternion has no spring
            let springs = info.kind.quaternion().is_none();
            let mut freedoms = (0..info.kind.nv()).map(|k| model.dof(info.v + k));
            let has_rotor = freedoms.any(|dof| dof.armature != 0.0);
            at_joint("rotor", &|dof| !has_rotor || dof.armature != 0.0);
            at_joint("stiffness", &|dof| springs && dof.stiffness != 0.0);
            at_joint("rest", &|dof| springs && dof.stiffness != 0.0);
            at_joint("damping", &|dof| dof.damping != 0.0);
            let own = model.inertial(i);
            if own.mass == 0.0 {
                continue;
            }
            known.push((format!("{}.mass", info.name), vec![format!("m[{i}]")]));
            let centre = axes("c", i, own.centre.to_array());
            known.push((format!("{}.centre", info.name), centre));
            let t = own.tensor;
            let largest = t.xx.abs().max(t.yy.abs()).max(t.zz.abs());
            let tensor = ["xx", "yy", "zz", "xy", "xz", "yz"];
            let tensor = tensor.into_iter().zip([t.xx, t.yy, t.zz, t.xy, t.xz, t.yz]);
            let tensor = tensor.filter(|(_, x)| x.abs() > 1e-13 * largest);
            let tensor = tensor.map(|(part, _)| format!("J[{i}].{part}")).collect();
            known.push((format!("{}.inertia", info.name), tensor));
        }
        known.retain(|(_, symbols)| !symbols.is_empty());
        known
    }

    /// Names of single numbers that have no symbol, because they are zero.
    pub fn zero(model: &Model) -> Vec<String> {
        let mut names = Vec::new();
        for info in &model.tree().bodies[1..] {
            for what in ["mass", "centre", "inertia"] {
                names.push(format!("{}.{what}", info.name));
            }
            for what in ["rotor", "stiffness", "rest", "damping"] {
                names.push(format!("{}.{what}", info.joint));
            }
        }
        let known = Symbols::known(model);
        names.retain(|name| known.iter().all(|(known, _)| known != name));
        names
    }
}

/// Formulas with more terms are too long to read.
const READABLE: usize = 150;

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

/// The equations of a model. Parts that are too long to read are None.
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
    /// Efforts of springs and dampers: k (q − q̄) + b v; none where the model has neither.
    pub passive: Option<Vec<Formula>>,
    /// Force elements: their quantities, and their efforts w; none without elements.
    pub elements: Option<Elements>,
    /// τ = I v̇ + C v + g, and the efforts of springs and dampers, minus those of force elements.
    pub effort: Option<Vec<Formula>>,
    /// m̂ₖ: the diagonal of D; pivots of later freedoms are symbols `d[k]`.
    pub pivots: Option<Vec<Formula>>,
    /// U, row after row.
    pub u: Option<Vec<Formula>>,
    /// ψₖ (moment, then force) in body axes about the body's origin, six for each freedom.
    pub psi: Option<Vec<Formula>>,
    /// The elimination, k = n … 2.
    pub elimination: Option<Vec<Step>>,
    /// For a tree on a free base: the block I_e of I that belongs to it (the composite of all bodies) and Î_e, that block with all joints free of
    /// effort (the articulated body of the base), 6 × 6, row after row.
    pub base: Option<[Option<Vec<Formula>>; 2]>,
    /// N_l and N_d, for models of up to four bodies.
    pub complement: Option<Complement>,
    /// The symbols of the model's numbers, with their values.
    pub values: Vec<(String, f64)>,
}

impl Equations {
    /// Derives them. Dry friction is left out; springs, dampers and rotor inertias are not. Couplings are left open: the equations
    /// are those of the tree.
    pub fn new(model: &Model, symbols: impl Into<Symbols>) -> Result<Self> {
        let symbols = symbols.into();
        let model = &model.clone().with_couplings(None);
        expect_usable(model)?;
        let model = without_dry_friction(model);
        Ok(scope(|| derived(&model, &symbols)))
    }
}

/// Verifies I = U D Uᵀ and the meaning of the eliminated entries for a model.
pub fn verify(model: &Model) -> Result<Verification> {
    let model = &model.clone().with_couplings(None);
    expect_usable(model)?;
    let model = model.clone().without_passive_forces().swept(1e-14);
    Ok(Verification::new(&model))
}

/// Maximum number of freedoms of a model whose equations are derived: the verification takes n³ steps, and longer equations are unreadable.
const MOST_FREEDOMS: usize = 60;

fn expect_usable(model: &Model) -> Result<()> {
    model.expect_tree()?;
    if model.nv() > MOST_FREEDOMS {
        let message = format!(
            "equations are derived for up to {MOST_FREEDOMS} freedoms; `{}` has {}",
            model.name(),
            model.nv()
        );
        return Err(Error::new(ErrorKind::Unsupported, message)
            .hint("a part of the model with fewer joints has the same form of equations"));
    }
    if model.nv() == 0 {
        return Err(Error::new(
            ErrorKind::Model,
            format!(
                "`{}` has no freedoms: there is nothing to derive",
                model.name()
            ),
        ));
    }
    Ok(())
}

/// The model without dry friction, which has no formula, and with round-off set to zero.
fn without_dry_friction(model: &Model) -> Model {
    let smooth = |_: usize, [damping, _]: [f64; 2]| [damping, 0.0];
    model.clone().with_friction(smooth).swept(1e-14)
}

/// Whether a joint has a spring or a damper.
fn has_passive_forces(model: &Model) -> bool {
    let mut dofs = (0..model.nv()).map(|k| model.dof(k));
    dofs.any(|dof| dof.stiffness != 0.0 || dof.damping != 0.0)
}

/// Efforts of springs and dampers, for every freedom.
fn passive_efforts(symbolic: &Model<Expr>, q: &[Expr], v: &[Expr]) -> Vec<Expr> {
    let effort = |k: usize| passive_force(symbolic, q, v, k);
    (0..symbolic.nv()).map(effort).collect()
}

/// The formulas, if all of them are short enough to read.
fn formulas(expressions: &[Expr]) -> Option<Vec<Formula>> {
    let formulas = Formula::of(expressions)?;
    let readable = formulas.iter().all(|f| f.term_count() <= READABLE);
    readable.then_some(formulas)
}

/// The pivots that become symbols: those that are not already numbers or symbols.
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

fn derived(model: &Model, symbols: &Symbols) -> Equations {
    let nv = model.nv();
    let mut values = Vec::new();
    let loaded = symbolic(model, symbols, &mut values).model;
    let symbolic = loaded.clone().without_forces();
    let [v, vdot] = ["v", "vdot"].map(|name| Expr::symbols(name, nv));
    let q = Expr::symbols("q", model.nq());
    let rest = vec![Expr::zero(); nv];
    let base = Base::fixed();
    let inverse = |v: &[Expr], vdot: &[Expr]| {
        let mut tau = rest.clone();
        let mut work = InverseDynamics::new(&symbolic);
        inverse_dynamics(
            &symbolic,
            StateView {
                q: &q,
                v,
                base: &base,
            },
            vdot,
            &[],
            &mut work,
            &mut tau,
        );
        tau
    };
    // efforts at rest, springs aside
    let mut gravity = inverse(&rest, &rest);
    for (g, s) in gravity
        .iter_mut()
        .zip(passive_efforts(&symbolic, &q, &rest))
    {
        *g -= s;
    }
    let mut inertia = Matrix::zeros(nv, nv);
    let mut work = CompositeBodies::new(&symbolic);
    inertia_matrix(&symbolic, &q, &mut work, inertia.as_mut_slice());
    let mut coriolis = Matrix::zeros(nv, nv);
    let mut work = CoriolisMatrix::new(&symbolic);
    coriolis_matrix(
        &symbolic,
        StateView {
            q: &q,
            v: &v,
            base: &base,
        },
        &mut work,
        &mut coriolis,
    );

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

    let base = model.tree().is_free_floating().then(|| {
        let range = model.tree().dof_range(1);
        let mut block = Vec::new();
        for i in range.clone() {
            block.extend(range.clone().map(|j| inertia[(i, j)]));
        }
        let articulated = factors.joint_block(&symbolic, 1);
        [formulas(&block), replaced(articulated.as_slice())]
    });
    let mut effort = inverse(&v, &vdot);
    let elements = (!loaded.forces().is_empty()).then(|| {
        let (quantities, efforts) = elements::efforts(&loaded);
        for (effort, load) in effort.iter_mut().zip(&efforts) {
            *effort -= *load;
        }
        Elements {
            efforts: quantities.as_ref().and_then(|_| formulas(&efforts)),
            quantities,
        }
    });
    Equations {
        nv,
        inertia: formulas(inertia.as_slice()),
        coriolis: formulas(coriolis.as_slice()),
        gravity: formulas(&gravity),
        passive: match has_passive_forces(model) {
            true => formulas(&passive_efforts(&symbolic, &q, &v)),
            false => None,
        },
        effort: match &elements {
            // undefined names would be meaningless
            Some(found) if found.quantities.is_none() => None,
            _ => formulas(&effort),
        },
        elements,
        pivots: pivot_formulas(&d, &names),
        u: replaced(u.as_slice()),
        psi: replaced(&psi),
        elimination,
        base,
        complement: Complement::new(model, &symbolic, &q),
        values,
    }
}
