//! Inverse and forward dynamics of trees whose joint coordinates are coupled, in the independent coordinates.
//!
//! ```text
//! inverse   τ = Gᵀ τ_tree(G q + c, G v, G v̇)                                     (1)
//! forward   v̇ = (Gᵀ I G)⁻¹ (τ − Gᵀ τ_tree(G q + c, G v, 0))                       (2)
//! ```
//!
//! The recursions are those of the tree. In (2) the efforts at v̇ = 0 are those of inverse dynamics, and the inertia matrix is
//! factorized over clusters (`factorization/clusters.rs`): O(n), regardless of the number of couplings.

use crate::algorithm::factorization::ClusterFactorization;
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::card::Card;
use crate::model::{Couplings, Model};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Force;
use crate::state::StateView;

/// Forward dynamics over clusters.
pub const CARD: Card = Card {
    name: "Articulated clusters of coupled joints",
    question: "forward dynamics of coupled joints",
    call: "CoupledDynamics",
    file: "algorithm/coupled.rs",
    order: "O(n)",
    source: "Chignoli, Adrian, Kim & Wensing 2023; Jain 2009",
};

/// Dynamics in the independent coordinates of a tree with couplings. The model of every method is the tree
/// ([`Model::open_tree`]); states, accelerations and efforts are those of the independent freedoms.
#[derive(Clone, Debug)]
pub struct CoupledDynamics<S: Scalar> {
    /// The factorization of the last forward dynamics.
    pub factors: ClusterFactorization<S>,
    inverse: InverseDynamics<S>,
    q: Vec<S>,
    v: Vec<S>,
    vdot: Vec<S>,
    tau: Vec<S>,
}

impl<S: Scalar> CoupledDynamics<S> {
    /// A workspace.
    pub fn new<P>(tree: &Model<P>, couplings: &Couplings<P>) -> Self {
        CoupledDynamics {
            factors: ClusterFactorization::new(tree, couplings),
            inverse: InverseDynamics::new(tree),
            q: vec![S::zero(); tree.nq()],
            v: vec![S::zero(); tree.nv()],
            vdot: vec![S::zero(); tree.nv()],
            tau: vec![S::zero(); tree.nv()],
        }
    }

    /// Efforts τ that produce the accelerations v̇.
    pub fn inverse<P: Parameter<S>>(
        &mut self,
        tree: &Model<P>,
        couplings: &Couplings<P>,
        state: StateView<'_, S>,
        vdot: &[S],
        external: &[Force<S>],
        tau: &mut [S],
    ) {
        couplings.expand_rates(vdot, &mut self.vdot);
        self.of_tree(tree, couplings, state, external);
        couplings.contract(&self.tau, tau); // (1)
    }

    /// Accelerations v̇ that the efforts τ produce.
    pub fn forward<P: Parameter<S>>(
        &mut self,
        tree: &Model<P>,
        couplings: &Couplings<P>,
        state: StateView<'_, S>,
        tau: &[S],
        external: &[Force<S>],
        vdot: &mut [S],
    ) {
        self.vdot.fill(S::zero());
        self.of_tree(tree, couplings, state, external);
        couplings.contract(&self.tau, vdot);
        for (x, &tau) in vdot.iter_mut().zip(tau) {
            *x = tau - *x;
        }
        self.factors.factorize(tree, couplings, &self.q);
        self.factors.solve(tree, couplings, vdot); // (2)
    }

    /// Efforts of the tree, all joints independent.
    fn of_tree<P: Parameter<S>>(
        &mut self,
        tree: &Model<P>,
        couplings: &Couplings<P>,
        state: StateView<'_, S>,
        external: &[Force<S>],
    ) {
        couplings.expand_positions(state.q, &mut self.q);
        couplings.expand_rates(state.v, &mut self.v);
        let whole = StateView {
            q: &self.q,
            v: &self.v,
            base: state.base,
        };
        let (work, tau) = (&mut self.inverse, &mut self.tau);
        inverse_dynamics(tree, whole, &self.vdot, external, work, tau);
    }
}
