//! The equations of a model with couplings in its independent freedoms: q_tree = G q + c is substituted into the equations of the tree.

use super::symbolic::symbolic;
use super::{
    Symbols, expect_usable, formulas, has_passive_forces, passive_efforts, without_dry_friction,
};
use crate::{Expr, Formula, scope, substitute};
use catena::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::error::Result;
use catena::model::Couplings;
use catena::{Base, Matrix, Model, Scalar, StateView};

/// I, C, g and τ of the independent freedoms. Their coordinates have the symbols of the tree: `q[k]` for the freedom k of the tree.
/// Parts that are too long to read are None.
#[derive(Clone, Debug)]
pub struct Independent {
    /// The independent freedoms, counted in the tree.
    pub freedoms: Vec<usize>,
    /// Gᵀ I G, row after row.
    pub inertia: Option<Vec<Formula>>,
    /// Gᵀ C G, row after row.
    pub coriolis: Option<Vec<Formula>>,
    /// Gᵀ g.
    pub gravity: Option<Vec<Formula>>,
    /// Gᵀ s of springs and dampers; none where the model has neither.
    pub passive: Option<Vec<Formula>>,
    /// Gᵀ w of force elements, in the names of their quantities in the tree; none without elements.
    pub loads: Option<Vec<Formula>>,
    /// Gᵀ τ.
    pub effort: Option<Vec<Formula>>,
}

impl Independent {
    /// Derives them from the tree of a model and its couplings.
    pub fn new(tree: &Model, couplings: &Couplings, symbols: &Symbols) -> Result<Self> {
        expect_usable(tree)?;
        let tree = without_dry_friction(tree);
        Ok(scope(|| derived(&tree, couplings, symbols)))
    }
}

fn derived(tree: &Model, couplings: &Couplings, symbols: &Symbols) -> Independent {
    let (nq, nv) = (tree.nq(), tree.nv());
    let loaded = symbolic(tree, symbols, &mut Vec::new()).model;
    let symbolic = loaded.clone().without_forces();
    let numbers = couplings.map(&Expr::constant);
    let rates = |name: &str| {
        let own = Expr::symbols(name, nv);
        let own: Vec<Expr> = couplings.freedoms().iter().map(|&k| own[k]).collect();
        let mut all = vec![Expr::zero(); nv];
        numbers.expand_rates(&own, &mut all);
        all
    };
    let own = Expr::symbols("q", nq);
    let own: Vec<Expr> = couplings.positions().iter().map(|&k| own[k]).collect();
    let mut q = vec![Expr::zero(); nq];
    numbers.expand_positions(&own, &mut q);
    let (v, vdot, rest) = (rates("v"), rates("vdot"), vec![Expr::zero(); nv]);
    let base = Base::fixed();
    let (q, base) = (&q[..], &base);
    let inverse = |v: &[Expr], vdot: &[Expr]| {
        let (mut tau, mut own) = (rest.clone(), vec![Expr::zero(); couplings.nv()]);
        let mut work = InverseDynamics::new(&symbolic);
        inverse_dynamics(
            &symbolic,
            StateView { q, v, base },
            vdot,
            &[],
            &mut work,
            &mut tau,
        );
        numbers.contract(&tau, &mut own);
        own
    };
    let mut inertia = Matrix::zeros(nv, nv);
    let mut work = CompositeBodies::new(&symbolic);
    inertia_matrix(&symbolic, q, &mut work, inertia.as_mut_slice());
    let mut coriolis = Matrix::zeros(nv, nv);
    let mut work = CoriolisMatrix::new(&symbolic);
    let v = &v[..];
    coriolis_matrix(
        &symbolic,
        StateView { q, v, base },
        &mut work,
        &mut coriolis,
    );
    let contracted = |list: &[Expr]| {
        let mut own = vec![Expr::zero(); couplings.nv()];
        numbers.contract(list, &mut own);
        own
    };
    // efforts at rest, springs aside
    let mut gravity = inverse(&rest, &rest);
    let springs = contracted(&passive_efforts(&symbolic, q, &rest));
    for (g, s) in gravity.iter_mut().zip(springs) {
        *g -= s;
    }
    let mut effort = inverse(v, &vdot);
    let mut loads = None;
    let has_forces = !loaded.forces().is_empty();
    if has_forces {
        let (quantities, of_tree) = super::elements::efforts(&loaded);
        // the quantities are those of the tree; coordinates become the independent ones
        let symbols = Expr::symbols("q", nq)
            .into_iter()
            .chain(Expr::symbols("v", nv));
        let replace: Vec<(Expr, Expr)> = symbols.zip(q.iter().chain(v.iter()).copied()).collect();
        let own = substitute(&contracted(&of_tree), &replace);
        for (effort, load) in effort.iter_mut().zip(&own) {
            *effort -= *load;
        }
        loads = quantities.and_then(|_| formulas(&own));
    }
    Independent {
        freedoms: couplings.freedoms().to_vec(),
        inertia: formulas(numbers.congruence(&inertia).as_slice()),
        coriolis: formulas(numbers.congruence(&coriolis).as_slice()),
        gravity: formulas(&gravity),
        passive: match has_passive_forces(tree) {
            true => formulas(&contracted(&passive_efforts(&symbolic, q, v))),
            false => None,
        },
        effort: match has_forces && loads.is_none() {
            true => None,
            false => formulas(&effort),
        },
        loads,
    }
}
