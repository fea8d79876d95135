//! The workspaces of the quantities of a batch.

use super::squares::Squares;
use super::stages::Stages;
use crate::algorithm::coupled::CoupledDynamics;
use crate::algorithm::derivatives::pairs::{PairRecord, Pairs};
use crate::algorithm::derivatives::sweeps::{SweepRecord, Sweeps};
use crate::algorithm::derivatives::{forward, inverse};
use crate::algorithm::factorization::{ClusterFactorization, Factorization};
use crate::algorithm::forward_dynamics::ForwardDynamics;
use crate::algorithm::inertia_matrix::CompositeBodies;
use crate::algorithm::inertia_matrix::entries::{Entries, EntryRecord};
use crate::algorithm::inverse_dynamics::InverseDynamics;
use crate::algorithm::kinematics::Kinematics;
use crate::algorithm::pack::{One, Record, Register, Sink};
use crate::model::{Couplings, Model};
use crate::scalar::{Fused, Scalar, Vector, Wide};
use std::marker::PhantomData;

/// The couplings of a model that has some.
pub(super) fn couplings(model: &Model) -> &Couplings {
    let Some(couplings) = model.couplings() else {
        unreachable!("asked for models with couplings only")
    };
    couplings
}

/// The workspaces of the quantities of one thread. Each is allocated when it is first requested.
#[derive(Clone, Debug)]
pub(crate) struct Rooms<V: Vector> {
    pub inverse: Option<Box<InverseDynamics<Wide<V>>>>,
    pub forward: Option<Box<ForwardDynamics<Wide<V>>>>,
    pub of_inertia: Option<Box<OfInertia<V>>>,
    pub kinematics: Option<Box<Kinematics<Wide<V>>>>,
    pub stages: Option<Box<Stages<V>>>,
    pub of_efforts: Option<Box<OfEfforts<V>>>,
    pub of_accelerations: Option<Box<OfAccelerations<V>>>,
    /// The factors of this thread's states, register after register.
    pub factors: Vec<Factorization<Wide<V>>>,
    /// For models with couplings: dynamics, the factors, and positions of the tree.
    pub coupled: Option<Box<CoupledDynamics<Wide<V>>>>,
    pub cluster_factors: Vec<ClusterFactorization<Wide<V>>>,
    pub tree_positions: Vec<Wide<V>>,
}

impl<V: Vector> Rooms<V> {
    pub fn new() -> Self {
        Rooms {
            inverse: None,
            forward: None,
            of_inertia: None,
            kinematics: None,
            stages: None,
            of_efforts: None,
            of_accelerations: None,
            factors: Vec::new(),
            coupled: None,
            cluster_factors: Vec::new(),
            tree_positions: Vec::new(),
        }
    }

    /// Workspace of forward dynamics.
    pub fn forward(&mut self, model: &Model) -> &mut ForwardDynamics<Wide<V>> {
        self.forward
            .get_or_insert_with(|| Box::new(ForwardDynamics::new(model)))
    }

    /// Workspace of dynamics with couplings.
    pub fn coupled(
        &mut self,
        tree: &Model,
        couplings: &Couplings,
    ) -> &mut CoupledDynamics<Wide<V>> {
        self.coupled
            .get_or_insert_with(|| Box::new(CoupledDynamics::new(tree, couplings)))
    }

    /// Workspace of poses and Jacobians.
    pub fn kinematics(&mut self, model: &Model) -> &mut Kinematics<Wide<V>> {
        self.kinematics
            .get_or_insert_with(|| Box::new(Kinematics::new(model)))
    }
}

/// Workspaces of inertia matrices, of one thread: bodies with a state in each lane, then state after state with a column in each
/// lane. Matrices with a state in each lane would be eight times too large for the L1 and L2 caches.
#[derive(Clone, Debug)]
pub(crate) struct OfInertia<V: Vector> {
    pub composite: CompositeBodies<Wide<V>>,
    pub transposed: Transposed<V, EntryRecord<Wide<V>>>,
    pub entries: Entries<Wide<V>>,
    /// Destinations of the numbers of small matrices, and of matrices computed by generated code.
    pub whole: Option<Squares<V>>,
    pub upper: Option<Squares<V>>,
}

/// Workspaces of the derivatives of inverse dynamics, of one thread: bodies with a state in each lane, then state after state
/// with a column in each lane.
#[derive(Clone, Debug)]
pub(crate) struct OfEfforts<V: Vector> {
    pub recursion: inverse::PairRecursion<Wide<V>>,
    pub transposed: Transposed<V, PairRecord<Wide<V>>>,
    /// Workspace for packs of columns, or for columns if states stay in the lanes to the end.
    pub pairs: Pairs<Wide<V>>,
    /// Destinations of the numbers that code computes.
    pub squares: Option<Squares<V>>,
}

/// Workspaces of the derivatives of forward dynamics, of one thread.
#[derive(Clone, Debug)]
pub(crate) struct OfAccelerations<V: Vector> {
    pub recursion: forward::Recursion<Wide<V>>,
    pub transposed: Transposed<V, SweepRecord<Wide<V>>>,
    pub sweeps: Sweeps<Fused, Register<V>>,
    pub in_lanes: Option<Sweeps<Wide<V>, One>>,
    pub vdot: Vec<Wide<V>>,
    /// Destinations of the numbers that code computes.
    pub squares: Option<Squares<V>>,
}

/// Transposes records of freedoms with a state in each lane to records of states with a freedom in each lane, in blocks as soon as
/// they are complete.
#[derive(Clone, Debug)]
pub(crate) struct Transposed<V, R> {
    nv: usize,
    /// Records of the last few freedoms.
    freedoms: Vec<R>,
    /// Records of each state.
    pub states: Vec<Vec<R>>,
    lanes: PhantomData<V>,
}

impl<V: Vector, R: Record<Wide<V>>> Transposed<V, R> {
    pub fn new(model: &Model) -> Self {
        let packs = model.nv().div_ceil(V::LANES);
        Transposed {
            nv: model.nv(),
            freedoms: vec![R::zero(); V::LANES],
            states: vec![vec![R::zero(); packs]; V::LANES],
            lanes: PhantomData,
        }
    }
}

impl<V: Vector, R: Record<Wide<V>>> Sink<R> for Transposed<V, R> {
    #[inline(always)]
    fn room(&mut self, freedom: usize) -> &mut R {
        &mut self.freedoms[freedom % V::LANES]
    }

    #[inline(always)]
    fn filled(&mut self, freedom: usize) {
        let (pack, lane) = (freedom / V::LANES, freedom % V::LANES);
        if lane > 0 {
            return;
        }
        let (freedoms, states) = (&self.freedoms[..V::LANES], &mut self.states[..V::LANES]);
        let zero = Wide::<V>::zero();
        for number in 0..freedoms[0].numbers().len() {
            let mut rows: [&[f64]; 8] = [zero.0.lanes(); 8];
            for k in 0..V::LANES {
                if freedom + k < self.nv {
                    rows[k] = freedoms[k].numbers()[number].0.lanes();
                }
            }
            let square = V::transposed(rows);
            for state in 0..V::LANES {
                states[state][pack].numbers_mut()[number] = Wide(square[state]);
            }
        }
    }
}
