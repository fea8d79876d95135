//! Many states of a model with couplings, in independent coordinates.
//!
//! Inverse and forward dynamics, factors and trajectories expand and contract in the lanes ([`CoupledDynamics`]). Matrices, Jacobians
//! and poses are computed for the tree at the expanded states, and contracted state by state.

use super::Batch;
use super::advance::Advance;
use super::lanes::{Given, Io, Place, Question, not_positive};
use super::rooms::{Rooms, couplings};
use crate::Dynamics;
use crate::algorithm::coupled::CoupledDynamics;
use crate::algorithm::factorization::ClusterFactorization;
use crate::doors::native::Wides;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::model::{Couplings, FrameInfo, Model};
use crate::scalar::{Vector, Wide};
use crate::spatial::{Force, Pose};
use crate::state::{Base, State, StateView, check_length};
use std::sync::Arc;

/// Additional data of a batch of a model with couplings.
#[derive(Clone, Debug)]
pub(super) struct Coupled {
    /// The tree, for quantities in independent coordinates.
    pub tree: Arc<Model>,
    /// Everything else is computed for the tree.
    pub of_tree: Box<Batch>,
    /// Expanded states and results of the tree.
    q: Vec<f64>,
    v: Vec<f64>,
    input: Vec<f64>,
    results: Vec<f64>,
}

impl Coupled {
    pub fn new(model: &Model, cpu: crate::Cpu) -> Self {
        let tree = model.clone().open_tree();
        Coupled {
            of_tree: Box::new(Batch::with_cpu(&tree, cpu)),
            tree: Arc::new(tree),
            q: Vec::new(),
            v: Vec::new(),
            input: Vec::new(),
            results: Vec::new(),
        }
    }
}

/// Quantities in independent coordinates need the tree besides the model.
#[derive(Clone, Copy)]
pub(super) struct InLanes<'a> {
    pub tree: &'a Model,
    pub what: What,
}

/// The quantities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Inverse,
    Forward,
}

impl Question for InLanes<'_> {
    const NEEDS_VELOCITIES: bool = true;

    type Ready<'w, V: Vector> = &'w mut CoupledDynamics<Wide<V>>;

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        // code writes pivots after its results
        io.make_room(io.native.forward.as_ref().map_or(0, Wides::outputs));
        rooms.coupled(self.tree, couplings(model))
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        base: &Base<Wide<V>>,
        loaded: bool,
        io: &mut Io<V>,
        dynamics: &mut Self::Ready<'_, V>,
        mut bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let nv = model.nv();
        let forward = self.what == What::Forward;
        let code = match self.what {
            What::Inverse => &mut io.native.inverse,
            What::Forward => &mut io.native.forward,
        };
        if let Some(code) = code
            && io.still
            && !loaded
        {
            code.run(&io.q, &io.v, &io.input, &mut io.output);
            if forward {
                bad = not_positive(&io.output[nv..2 * nv], bad);
            }
        } else {
            let state = StateView {
                q: &io.q,
                v: &io.v,
                base,
            };
            let input = &io.input[..nv];
            let external = if loaded { &io.external[..] } else { &[] };
            let (tree, couplings, out) = (self.tree, couplings(model), &mut io.output[..nv]);
            match self.what {
                What::Inverse => dynamics.inverse(tree, couplings, state, input, external, out),
                What::Forward => {
                    dynamics.forward(tree, couplings, state, input, external, out);
                    bad = not_positive(dynamics.factors.inverse_pivots(), bad);
                }
            }
        }
        io.hand_out(place, bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        input: &[f64],
        external: &[Force<f64>],
    ) -> Result<()> {
        match self.what {
            What::Inverse => dynamics.inverse(state, input, external).map(|_| ()),
            What::Forward => dynamics.forward(state, input, external).map(|_| ()),
        }
    }
}

/// Factors over clusters, one set per state, kept.
#[derive(Clone, Copy)]
pub(super) struct FactorizeClusters<'a>(pub &'a Model);

impl Question for FactorizeClusters<'_> {
    const KEEPS: bool = true;

    type Ready<'w, V: Vector> = (&'w mut [ClusterFactorization<Wide<V>>], &'w mut [Wide<V>]);

    fn prepare<'w, V: Vector>(
        self,
        model: &Model,
        _io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        groups: usize,
    ) -> Self::Ready<'w, V> {
        let (tree, couplings) = (self.0, couplings(model));
        let make = || ClusterFactorization::new(tree, couplings);
        rooms.cluster_factors.resize_with(groups, make);
        rooms.tree_positions.resize(tree.nq(), Wide(V::splat(0.0)));
        (&mut rooms.cluster_factors, &mut rooms.tree_positions)
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        (all, positions): &mut Self::Ready<'_, V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let couplings = couplings(model);
        couplings.expand_positions(&io.q[..model.nq()], positions);
        let factors = &mut all[place.group::<V>()];
        factors.factorize(self.0, couplings, positions);
        not_positive(factors.inverse_pivots(), bad)
    }

    fn diagnose(
        self,
        dynamics: &mut Dynamics,
        state: &State,
        _input: &[f64],
        _external: &[Force<f64>],
    ) -> Result<()> {
        dynamics.factorize(state)
    }
}

/// Solves with those factors.
#[derive(Clone, Copy)]
pub(super) struct SolveClusters<'a> {
    pub tree: &'a Model,
    pub right_hand_sides: usize,
}

impl Question for SolveClusters<'_> {
    const IN_PLACE: bool = true;
    const KEEPS: bool = true;

    type Ready<'w, V: Vector> = &'w mut [ClusterFactorization<Wide<V>>];

    fn prepare<'w, V: Vector>(
        self,
        _model: &Model,
        _io: &mut Io<V>,
        rooms: &'w mut Rooms<V>,
        _groups: usize,
    ) -> Self::Ready<'w, V> {
        &mut rooms.cluster_factors
    }

    #[inline(always)]
    fn answer<V: Vector>(
        self,
        model: &Model,
        _base: &Base<Wide<V>>,
        _loaded: bool,
        io: &mut Io<V>,
        all: &mut Self::Ready<'_, V>,
        bad: Wide<V>,
        place: &mut Place<'_>,
    ) -> Wide<V> {
        let nv = model.nv();
        let factors = &mut all[place.group::<V>()];
        for k in 0..self.right_hand_sides {
            let x = &mut io.output[k * nv..(k + 1) * nv];
            factors.solve(self.tree, couplings(model), x);
        }
        io.hand_out(place, bad)
    }

    fn diagnose(
        self,
        _dynamics: &mut Dynamics,
        _state: &State,
        _input: &[f64],
        _external: &[Force<f64>],
    ) -> Result<()> {
        Ok(())
    }
}

impl Batch {
    pub(super) fn is_coupled(&self) -> bool {
        self.coupled.is_some()
    }

    /// The tree of a model with couplings.
    pub(super) fn tree(&self) -> Arc<Model> {
        let Some(coupled) = &self.coupled else {
            unreachable!("asked for models with couplings only")
        };
        Arc::clone(&coupled.tree)
    }

    pub(super) fn coupled_dynamics(
        &mut self,
        what: What,
        given: Given<'_>,
        output: &mut [f64],
    ) -> Result<()> {
        let tree = self.tree();
        let question = InLanes { tree: &tree, what };
        self.ask(question, given, output, self.model.nv())
    }

    pub(super) fn coupled_factorize(&mut self, q: &[f64]) -> Result<()> {
        let tree = self.tree();
        self.factorize_by(FactorizeClusters(&tree), q)
    }

    pub(super) fn coupled_solve(&mut self, x: &mut [f64], right_hand_sides: usize) -> Result<()> {
        let tree = self.tree();
        let question = SolveClusters {
            tree: &tree,
            right_hand_sides,
        };
        self.solve_by(question, x)
    }

    pub(super) fn coupled_advance(
        &mut self,
        advance: Advance<'_>,
        given: Given<'_>,
        moved: &mut [f64],
    ) -> Result<()> {
        let tree = self.tree();
        let question = Advance {
            coupled: Some(&tree),
            ..advance
        };
        let size = self.model.nq() + self.model.nv();
        self.ask(question, given, moved, size)
    }

    /// Computes the tree at the expanded states, and contracts its results, `each` numbers per state, state by state.
    fn ask_tree(
        &mut self,
        given: Given<'_>,
        (each, out): (usize, &mut [f64]),
        (of_tree, ask): (
            usize,
            impl FnOnce(&mut Batch, Given<'_>, &mut [f64]) -> Result<()>,
        ),
        contract: impl Fn(&Couplings, &[f64], &mut [f64]),
    ) -> Result<()> {
        let nv = self.model.nv();
        let states = out.len() / each.max(1);
        check_length("results of a batch", out.len(), states * each)?;
        let given = given.of(&self.model, states);
        let has_velocities = !given.v.is_empty() || !given.input.is_empty();
        let rows = |what: &str, x: &[f64], width: usize, is_common: bool| match is_common {
            true => Ok(()),
            false => check_length(what, x.len(), states * width),
        };
        rows(
            "positions of a batch",
            given.q,
            self.model.nq(),
            given.common[0],
        )?;
        if has_velocities {
            rows("velocities of a batch", given.v, nv, given.common[1])?;
            rows("inputs of a batch", given.input, nv, given.common[2])?;
        }
        let Some(mut coupled) = self.coupled.take() else {
            unreachable!("asked for models with couplings only")
        };
        let couplings = couplings(&self.model);
        let (tree_nq, tree_nv) = (coupled.tree.nq(), coupled.tree.nv());
        coupled.q.resize(states * tree_nq, 0.0);
        let rates = if has_velocities { states * tree_nv } else { 0 };
        coupled.v.resize(rates, 0.0);
        coupled.input.resize(rates, 0.0);
        for k in 0..states {
            let [q, v, input] = given.at(&self.model, k);
            couplings.expand_positions(q, &mut coupled.q[k * tree_nq..(k + 1) * tree_nq]);
            if has_velocities {
                let place = k * tree_nv..(k + 1) * tree_nv;
                couplings.expand_rates(v, &mut coupled.v[place.clone()]);
                couplings.expand_rates(input, &mut coupled.input[place]);
            }
        }
        coupled.results.resize(states * of_tree, 0.0);
        coupled.of_tree.base = self.base;
        let expanded = Given {
            q: &coupled.q,
            v: &coupled.v,
            input: &coupled.input,
            ..Given::default()
        };
        let done = ask(&mut coupled.of_tree, expanded, &mut coupled.results);
        self.failures.clone_from(&coupled.of_tree.failures);
        if done.is_ok() || !self.failures.is_empty() {
            let results = coupled.results.chunks_exact(of_tree);
            for (to, from) in out.chunks_exact_mut(each).zip(results) {
                contract(couplings, from, to);
            }
        }
        self.coupled = Some(coupled);
        done
    }

    pub(super) fn coupled_inertia(&mut self, q: &[f64], inertia: &mut [f64]) -> Result<()> {
        let (nv, n) = (self.model.nv(), self.model.tree().nv);
        self.ask_tree(
            Given::positions(q),
            (nv * nv, inertia),
            (
                n * n,
                |tree: &mut Batch, of_tree: Given<'_>, out: &mut [f64]| {
                    tree.inertia(of_tree.q, out)
                },
            ),
            |couplings, from, to| {
                congruence(couplings, n, from, to);
                for i in 0..nv {
                    for j in 0..i {
                        to[i * nv + j] = to[j * nv + i];
                    }
                }
            },
        )
    }

    pub(super) fn coupled_jacobians(
        &mut self,
        q: &[f64],
        frame: &FrameInfo,
        jacobians: &mut [f64],
    ) -> Result<()> {
        let (nv, n) = (self.model.nv(), self.model.tree().nv);
        self.ask_tree(
            Given::positions(q),
            (6 * nv, jacobians),
            (
                6 * n,
                |tree: &mut Batch, of_tree: Given<'_>, out: &mut [f64]| {
                    tree.jacobians(of_tree.q, frame, out)
                },
            ),
            |couplings, from, to| {
                for (to, from) in to.chunks_exact_mut(nv).zip(from.chunks_exact(n)) {
                    couplings.contract(from, to);
                }
            },
        )
    }

    pub(super) fn coupled_frame_poses(
        &mut self,
        q: &[f64],
        frame: &FrameInfo,
        poses: &mut [Pose<f64>],
    ) -> Result<()> {
        let states = poses.len();
        // nothing to contract: the poses are written by the tree
        self.ask_tree(
            Given::positions(q),
            (1, &mut vec![0.0; states]),
            (1, |tree: &mut Batch, of_tree: Given<'_>, _: &mut [f64]| {
                tree.frame_poses(of_tree.q, frame, poses)
            }),
            |_, _, _| {},
        )
    }

    pub(super) fn coupled_inverse_derivatives(
        &mut self,
        given: Given<'_>,
        derivatives: &mut [f64],
    ) -> Result<()> {
        let (nv, n) = (self.model.nv(), self.model.tree().nv);
        self.ask_tree(
            given,
            (2 * nv * nv, derivatives),
            (
                2 * n * n,
                |tree: &mut Batch, of_tree: Given<'_>, out: &mut [f64]| {
                    tree.inverse_derivatives(of_tree.q, of_tree.v, of_tree.input, out)
                },
            ),
            |couplings, from, to| {
                for (to, from) in to.chunks_exact_mut(nv * nv).zip(from.chunks_exact(n * n)) {
                    congruence(couplings, n, from, to);
                }
            },
        )
    }

    /// Computes ∂v̇/∂x = −I⁻¹ ∂τ/∂x at the accelerations found: a solve for each column.
    pub(super) fn coupled_forward_derivatives(
        &mut self,
        given: Given<'_>,
        derivatives: &mut [f64],
    ) -> Result<()> {
        let nv = self.model.nv();
        let (square, kept) = (nv * nv, self.with_factors);
        let states = derivatives.len() / (3 * square).max(1);
        check_length("results of a batch", derivatives.len(), states * 3 * square)?;
        let mut vdot = vec![0.0; states * nv];
        self.coupled_dynamics(What::Forward, given, &mut vdot)?;
        let mut of_efforts = vec![0.0; states * 2 * square];
        let accelerated = Given {
            input: &vdot,
            ..given
        };
        self.coupled_inverse_derivatives(accelerated, &mut of_efforts)?;
        // columns of the three right-hand sides, one after another
        for (to, from) in
            (derivatives.chunks_exact_mut(3 * square)).zip(of_efforts.chunks_exact(2 * square))
        {
            for part in 0..2 {
                for i in 0..nv {
                    for j in 0..nv {
                        to[part * square + j * nv + i] = -from[part * square + i * nv + j];
                    }
                }
            }
            to[2 * square..].fill(0.0);
            for k in 0..nv {
                to[2 * square + k * nv + k] = 1.0;
            }
        }
        match given.of(&self.model, states).common[0] {
            true => self.coupled_factorize(&given.q.repeat(states))?,
            false => self.coupled_factorize(given.q)?,
        }
        self.coupled_solve(derivatives, 3 * nv)?;
        for matrix in derivatives.chunks_exact_mut(square) {
            for i in 0..nv {
                for j in 0..i {
                    matrix.swap(i * nv + j, j * nv + i);
                }
            }
        }
        // these factors were not requested
        self.with_factors = if kept == 0 { 0 } else { states };
        Ok(())
    }
}

/// Gᵀ A G of a matrix stored by rows.
fn congruence(couplings: &Couplings, n: usize, from: &[f64], to: &mut [f64]) {
    let mut whole = Matrix::zeros(n, n);
    whole.as_mut_slice().copy_from_slice(from);
    to.copy_from_slice(couplings.congruence(&whole).as_slice());
}
