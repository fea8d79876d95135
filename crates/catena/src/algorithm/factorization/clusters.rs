//! Solving with the inertia matrix of a tree whose joint coordinates are coupled, in O(n).
//!
//! The inertia matrix of the independent freedoms is Gᵀ I G ([`Couplings`]). It is never formed: the reverse Gaussian elimination of
//! `udu.rs` runs from cluster to cluster, where a cluster is a set of bodies whose joints are coupled, or one body with its joint.
//! Aggregated joints are Jain's (2009), the recursion over clusters is that of Chignoli, Adrian, Kim and Wensing (2023); here each
//! cluster is eliminated freedom by freedom, so that D stays diagonal:
//!
//! ```text
//! Sᵢ = Bᵢ S_parent + Pᵢ Gᵢ           twists of the bodies of a cluster, a column for each of its freedoms       (1)
//! Fᵢ = M̂ᵢ Sᵢ + Σ_children Bᵀ F_c      what moves them; F at the parent of the cluster: F₀ = Σ_roots Bᵀ Fᵢ       (2)
//! Δ = Σᵢ Gᵢᵀ (Pᵢᵀ Fᵢ + J Gᵢ)          the inertia of the cluster's joint                                        (3)
//! last freedom first:
//!   m̂ⱼ = Δⱼⱼ,   ψⱼ = F₀ⱼ/m̂ⱼ,   αₗⱼ = Δₗⱼ/m̂ⱼ   for l < j                                                       (4)
//!   Δₗᵢ −= αₗⱼ Δᵢⱼ,   F₀ₗ −= ψⱼ Δₗⱼ,   M̂₀ −= ψⱼ F₀ⱼᵀ        M̂₀ = Σᵢ Bᵀ M̂ᵢ B at the parent                      (5)
//! ```
//!
//! Solving takes one inward and one outward sweep:
//!
//! ```text
//! tips to base   b −= Gᵢᵀ Pᵢᵀ ηᵢ over the cluster;   last freedom first  bₗ −= αₗⱼ bⱼ,   η₀ += ψⱼ bⱼ              (6)
//! base to tips   xⱼ = bⱼ/m̂ⱼ − ψⱼᵀ μ₀ − Σ_{l<j} αₗⱼ xₗ,   μᵢ = B μ_parent + Pᵢ Gᵢ x                            (7)
//! ```
//!
//! The cost is linear in the number of clusters, and cubic in the freedoms of one cluster. A joint that is not coupled is eliminated as
//! in `udu.rs`.
//!
//! [`Couplings`]: crate::model::Couplings

use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::couplings::{Cluster, Couplings, Source};
use crate::model::joint::{Pivots, PivotsMut, any};
use crate::model::{Angles, Model};
use crate::scalar::{Parameter, Scalar, Task};
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose};

/// The factorization over clusters.
pub const CARD: Card = Card {
    name: "UDUᵀ factorization over clusters",
    question: "solve with the inertia matrix of coupled joints",
    call: "ClusterFactorization",
    file: "algorithm/factorization/clusters.rs",
    order: "O(n); O(n) per right-hand side",
    source: "Chignoli, Adrian, Kim & Wensing 2023; Jain 2009; eliminated as in Saha 1999",
};

/// D, U and the articulated inertias of one configuration of a tree with couplings.
///
/// The model of every method is the tree ([`Model::open_tree`]), positions are those of the tree, and right-hand sides belong to the
/// independent freedoms.
#[derive(Clone, Debug)]
pub struct ClusterFactorization<S> {
    angles: Angles<S>,
    pose: Vec<Pose<S>>,
    /// M̂ᵢ in body axes about the body's origin; inside a cluster including everything its own bodies carry.
    articulated: Vec<ArticulatedInertia<S>>,
    /// Per independent freedom: for an uncoupled joint as in [`Factorization`](super::Factorization), for a cluster in the axes and at
    /// the origin of its parent.
    psi: Vec<Force<S>>,
    inverse: Vec<S>,
    freed: Vec<S>,
    /// α of the clusters, one square after another.
    alpha: Vec<S>,
    eta: Vec<Force<S>>,
    mu: Vec<Motion<S>>,
    work: ClusterMatrices<S>,
}

/// Matrices of one cluster at a time, sized for the largest.
#[derive(Clone, Debug)]
struct ClusterMatrices<S> {
    /// Place of a body in its cluster.
    place: Vec<usize>,
    /// Place of an independent freedom in its cluster.
    column: Vec<usize>,
    twists: Vec<Motion<S>>,
    wrenches: Vec<Force<S>>,
    through: Vec<Force<S>>,
    block: Vec<S>,
    rates: Vec<S>,
}

impl<S: Scalar> ClusterFactorization<S> {
    /// A workspace; call [`factorize`](Self::factorize) before anything else.
    pub fn new<P>(tree: &Model<P>, couplings: &Couplings<P>) -> Self {
        let (n, nv) = (tree.body_count() + 1, couplings.nv());
        let coupled = || couplings.clusters().iter().filter(|c| c.is_coupled);
        let largest = coupled().map(|c| c.freedoms.len()).max().unwrap_or(0);
        let columns = (coupled().map(|c| c.freedoms.len() * c.bodies.len()))
            .max()
            .unwrap_or(0);
        let mut work = ClusterMatrices {
            place: vec![0; n],
            column: vec![0; nv],
            twists: vec![Motion::zero(); columns],
            wrenches: vec![Force::zero(); columns],
            through: vec![Force::zero(); largest],
            block: vec![S::zero(); largest * largest],
            rates: vec![S::zero(); tree.nv()],
        };
        for cluster in couplings.clusters() {
            for (place, &body) in cluster.bodies.iter().enumerate() {
                work.place[body] = place;
            }
            for (column, &freedom) in cluster.freedoms.iter().enumerate() {
                work.column[freedom] = column;
            }
        }
        ClusterFactorization {
            angles: Angles::new(tree.tree()),
            pose: vec![Pose::identity(); n],
            articulated: vec![ArticulatedInertia::zero(); n],
            psi: vec![Force::zero(); nv],
            inverse: vec![S::zero(); nv],
            freed: vec![S::zero(); nv],
            alpha: vec![S::zero(); coupled().map(|c| c.freedoms.len().pow(2)).sum()],
            eta: vec![Force::zero(); n],
            mu: vec![Motion::zero(); n],
            work,
        }
    }

    /// The inverses of the pivots, 1/m̂ per independent freedom.
    pub fn inverse_pivots(&self) -> &[S] {
        &self.inverse
    }

    /// The diagonal of D: m̂ per independent freedom.
    pub fn d(&self) -> Vec<S> {
        self.inverse.iter().map(|inverse| inverse.recip()).collect()
    }

    /// U with Gᵀ I G = U D Uᵀ. It is unit triangular in the order of elimination: clusters from the tips to the base, in each the
    /// last freedom first.
    pub fn u<P: Parameter<S>>(&self, tree: &Model<P>, couplings: &Couplings<P>) -> Matrix<S> {
        let mut u = Matrix::identity(couplings.nv());
        let mut first = 0;
        for cluster in couplings.clusters() {
            let m = cluster.freedoms.len();
            for (j, &column) in cluster.freedoms.iter().enumerate() {
                let (mut at, mut psi) = (cluster.parent, self.psi[column]);
                if cluster.is_coupled {
                    for (l, &row) in cluster.freedoms[..j].iter().enumerate() {
                        u[(row, column)] = self.alpha[first + l * m + j];
                    }
                } else {
                    let i = cluster.bodies[0];
                    let joint = tree.joint_at(i, &self.angles, &self.pose[i]);
                    let mut along = [S::zero(); 6];
                    psi = joint.restore(psi);
                    joint.project(psi, &mut along[..m]);
                    for (l, &row) in cluster.freedoms[..j].iter().enumerate() {
                        u[(row, column)] = along[l];
                    }
                    psi = self.pose[i].force_out(psi);
                }
                // α = Gᵀ Pᵀ ψ down the path to the ground
                while at != 0 {
                    let info = tree.tree.nodes[at];
                    let joint = tree.joint_at(at, &self.angles, &self.pose[at]);
                    let mut along = [S::zero(); 6];
                    joint.project(psi, &mut along[..info.kind.nv()]);
                    for (k, &along) in along[..info.kind.nv()].iter().enumerate() {
                        match couplings.sources()[info.v + k] {
                            Source::Independent(row) => u[(row, column)] += along,
                            Source::Follower(f) => {
                                for &(source, ratio) in &couplings.followers()[f].terms {
                                    u[(source.v, column)] += ratio.lift() * along;
                                }
                            }
                        }
                    }
                    psi = self.pose[at].force_out(psi);
                    at = info.parent;
                }
            }
            if cluster.is_coupled {
                first += m * m;
            }
        }
        u
    }

    /// Factorizes the inertia matrix at these positions of the tree.
    pub fn factorize<P: Parameter<S>>(
        &mut self,
        tree: &Model<P>,
        couplings: &Couplings<P>,
        q: &[S],
    ) {
        S::apart(Factorize {
            to: self,
            tree,
            couplings,
            q,
        });
    }

    /// Solves Gᵀ I G x = b in place: x overwrites b.
    pub fn solve<P: Parameter<S>>(
        &mut self,
        tree: &Model<P>,
        couplings: &Couplings<P>,
        x: &mut [S],
    ) {
        S::apart(Solve {
            with: self,
            tree,
            couplings,
            x,
        });
    }

    /// Eliminates the one joint of a cluster that is not coupled.
    #[inline(always)]
    fn eliminate_joint<P: Parameter<S>>(&mut self, tree: &Model<P>, cluster: &Cluster) {
        let i = cluster.bodies[0];
        let own = own_freedoms(cluster);
        let joint = tree.joint_at(i, &self.angles, &self.pose[i]);
        let pivots = PivotsMut {
            psi: &mut self.psi[own.clone()],
            inverse: &mut self.inverse[own],
            dofs: &tree.dofs[tree.tree().dof_range(i)],
        };
        let rest = joint.eliminate(self.articulated[i], pivots);
        if cluster.parent != 0 {
            self.articulated[cluster.parent] =
                self.articulated[cluster.parent] + rest.seen_from(self.pose[i]);
        }
    }

    /// Eliminates the freedoms of a cluster of coupled joints.
    #[inline(always)]
    fn eliminate_cluster<P: Parameter<S>>(
        &mut self,
        tree: &Model<P>,
        couplings: &Couplings<P>,
        cluster: &Cluster,
        alpha: usize,
    ) {
        let m = cluster.freedoms.len();
        let work = &mut self.work;
        // base to tips
        for (place, &i) in cluster.bodies.iter().enumerate() {
            let info = tree.tree.nodes[i];
            let joint = tree.joint_at(i, &self.angles, &self.pose[i]);
            for j in 0..m {
                work.twists[place * m + j] = match info.parent == cluster.parent {
                    true => Motion::zero(),
                    false => self.pose[i].motion_into(work.twists[work.place[info.parent] * m + j]),
                };
            }
            for k in 0..info.kind.nv() {
                let column = joint.column(k);
                match couplings.sources()[info.v + k] {
                    Source::Independent(r) => {
                        let at = place * m + work.column[r];
                        work.twists[at] = work.twists[at] + column;
                    }
                    Source::Follower(f) => {
                        for &(source, ratio) in &couplings.followers()[f].terms {
                            let at = place * m + work.column[source.v];
                            work.twists[at] = work.twists[at] + column * ratio.lift(); // (1)
                        }
                    }
                }
            }
            for j in 0..m {
                let at = place * m + j;
                work.wrenches[at] = self.articulated[i].times(work.twists[at]);
            }
        }
        // tips to base
        work.block[..m * m].fill(S::zero());
        work.through[..m].fill(Force::zero());
        let mut whole = ArticulatedInertia::zero();
        for (place, &i) in cluster.bodies.iter().enumerate().rev() {
            let info = tree.tree.nodes[i];
            let (joint, nv) = (
                tree.joint_at(i, &self.angles, &self.pose[i]),
                info.kind.nv(),
            );
            for j in 0..m {
                let wrench = work.wrenches[place * m + j];
                let mut along = [S::zero(); 6];
                joint.project(wrench, &mut along[..nv]);
                for (k, &along) in along[..nv].iter().enumerate() {
                    let armature: S = tree.dofs[info.v + k].armature.lift();
                    match couplings.sources()[info.v + k] {
                        Source::Independent(r) => {
                            let l = work.column[r];
                            if l <= j {
                                work.block[l * m + j] += along;
                            }
                            if l == j {
                                work.block[l * m + j] += armature;
                            }
                        }
                        Source::Follower(f) => {
                            let terms = &couplings.followers()[f].terms;
                            let mut own = along;
                            for &(source, ratio) in terms {
                                if work.column[source.v] == j {
                                    own = armature.mul_add(ratio.lift(), own);
                                }
                            }
                            for &(source, ratio) in terms {
                                let l = work.column[source.v];
                                if l <= j {
                                    let at = l * m + j;
                                    work.block[at] = ratio.lift().mul_add(own, work.block[at]); // (3)
                                }
                            }
                        }
                    }
                }
                let out = self.pose[i].force_out(wrench);
                match info.parent == cluster.parent {
                    true => work.through[j] += out,
                    false => work.wrenches[work.place[info.parent] * m + j] += out, // (2)
                }
            }
            let seen = self.articulated[i].seen_from(self.pose[i]);
            match info.parent == cluster.parent {
                true => whole = whole + seen,
                false => self.articulated[info.parent] = self.articulated[info.parent] + seen,
            }
        }
        // last freedom first
        let alpha = &mut self.alpha[alpha..alpha + m * m];
        for j in (0..m).rev() {
            let r = cluster.freedoms[j];
            let inverse = work.block[j * m + j].recip();
            let across = work.through[j];
            let psi = across * inverse;
            (self.inverse[r], self.psi[r]) = (inverse, psi); // (4)
            for l in 0..j {
                let entry = work.block[l * m + j];
                alpha[l * m + j] = entry * inverse;
                for i in 0..=l {
                    let at = i * m + l;
                    work.block[at] =
                        (-alpha[l * m + j]).mul_add(work.block[i * m + j], work.block[at]);
                }
                work.through[l] = work.through[l].add_scaled(psi, -entry);
            }
            whole = whole.less_outer(psi, across); // (5)
        }
        if cluster.parent != 0 {
            self.articulated[cluster.parent] = self.articulated[cluster.parent] + whole;
        }
    }
}

/// The freedoms of a cluster of one uncoupled joint: they are consecutive.
#[inline(always)]
fn own_freedoms(cluster: &Cluster) -> std::ops::Range<usize> {
    let first = cluster.freedoms[0];
    first..first + cluster.freedoms.len()
}

/// [`ClusterFactorization::factorize`] as a task.
struct Factorize<'a, S, P> {
    to: &'a mut ClusterFactorization<S>,
    tree: &'a Model<P>,
    couplings: &'a Couplings<P>,
    q: &'a [S],
}

impl<S: Scalar, P: Parameter<S>> Task for Factorize<'_, S, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Factorize {
            to,
            tree,
            couplings,
            q,
        } = self;
        to.angles.fill(tree.tree(), q);
        for i in tree.bodies() {
            let info = tree.tree.nodes[i];
            let setting = tree.setting(i, &to.angles);
            to.pose[i] = any::pose(info.kind, setting, &q[info.q..]);
            to.articulated[i] = tree.inertia::<S>(i).articulated();
        }
        let mut alpha = to.alpha.len();
        for cluster in couplings.clusters().iter().rev() {
            if cluster.is_coupled {
                alpha -= cluster.freedoms.len().pow(2);
                to.eliminate_cluster(tree, couplings, cluster, alpha);
            } else {
                to.eliminate_joint(tree, cluster);
            }
        }
    }
}

/// [`ClusterFactorization::solve`] as a task.
struct Solve<'a, S, P> {
    with: &'a mut ClusterFactorization<S>,
    tree: &'a Model<P>,
    couplings: &'a Couplings<P>,
    x: &'a mut [S],
}

impl<S: Scalar, P: Parameter<S>> Task for Solve<'_, S, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Solve {
            with,
            tree,
            couplings,
            x,
        } = self;
        with.inward(tree, couplings, x);
        with.outward(tree, couplings, x);
    }
}

impl<S: Scalar> ClusterFactorization<S> {
    #[inline(always)]
    fn inward<P: Parameter<S>>(&mut self, tree: &Model<P>, couplings: &Couplings<P>, x: &mut [S]) {
        self.eta.fill(Force::zero());
        let mut first = self.alpha.len();
        for cluster in couplings.clusters().iter().rev() {
            if !cluster.is_coupled {
                let i = cluster.bodies[0];
                let own = own_freedoms(cluster);
                let joint = tree.joint_at(i, &self.angles, &self.pose[i]);
                let pivots = Pivots {
                    psi: &self.psi[own.clone()],
                    inverse: &self.inverse[own.clone()],
                    dofs: &tree.dofs[tree.tree().dof_range(i)],
                };
                let freed = &mut self.freed[own.clone()];
                let through = joint.inward(self.eta[i], &x[own], pivots, freed);
                self.eta[cluster.parent] += self.pose[i].force_out(through);
                continue;
            }
            let m = cluster.freedoms.len();
            first -= m * m;
            for &i in cluster.bodies.iter().rev() {
                let info = tree.tree.nodes[i];
                let (joint, nv) = (
                    tree.joint_at(i, &self.angles, &self.pose[i]),
                    info.kind.nv(),
                );
                let mut along = [S::zero(); 6];
                joint.project(self.eta[i], &mut along[..nv]);
                for (k, &along) in along[..nv].iter().enumerate() {
                    match couplings.sources()[info.v + k] {
                        Source::Independent(r) => x[r] -= along,
                        Source::Follower(f) => {
                            for &(source, ratio) in &couplings.followers()[f].terms {
                                let ratio: S = ratio.lift();
                                x[source.v] = (-ratio).mul_add(along, x[source.v]);
                            }
                        }
                    }
                }
                // also onto the parent of the cluster
                let out = self.pose[i].force_out(self.eta[i]);
                self.eta[info.parent] += out;
            }
            for j in (0..m).rev() {
                let r = cluster.freedoms[j];
                let rest = x[r];
                for l in 0..j {
                    let at = cluster.freedoms[l];
                    x[at] = (-self.alpha[first + l * m + j]).mul_add(rest, x[at]);
                }
                let onto = self.eta[cluster.parent];
                self.eta[cluster.parent] = onto.add_scaled(self.psi[r], rest);
                self.freed[r] = rest * self.inverse[r]; // (6)
            }
        }
    }

    #[inline(always)]
    fn outward<P: Parameter<S>>(&mut self, tree: &Model<P>, couplings: &Couplings<P>, x: &mut [S]) {
        self.mu[0] = Motion::zero();
        let mut first = 0;
        for cluster in couplings.clusters() {
            if !cluster.is_coupled {
                let i = cluster.bodies[0];
                let own = own_freedoms(cluster);
                let joint = tree.joint_at(i, &self.angles, &self.pose[i]);
                let pivots = Pivots {
                    psi: &self.psi[own.clone()],
                    inverse: &self.inverse[own.clone()],
                    dofs: &tree.dofs[tree.tree().dof_range(i)],
                };
                let carried = self.pose[i].motion_into(self.mu[cluster.parent]);
                let freed = &self.freed[own.clone()];
                self.mu[i] = joint.outward(carried, freed, pivots, &mut x[own]);
                continue;
            }
            let m = cluster.freedoms.len();
            let base = self.mu[cluster.parent];
            for (j, &r) in cluster.freedoms.iter().enumerate() {
                let mut rate = self.freed[r] - self.psi[r].dot(base);
                for (l, &at) in cluster.freedoms[..j].iter().enumerate() {
                    rate = (-self.alpha[first + l * m + j]).mul_add(x[at], rate);
                }
                x[r] = rate;
            }
            first += m * m;
            for &i in &cluster.bodies {
                let info = tree.tree.nodes[i];
                let range = info.v..info.v + info.kind.nv();
                for k in range.clone() {
                    self.work.rates[k] = match couplings.sources()[k] {
                        Source::Independent(r) => x[r],
                        Source::Follower(f) => {
                            let mut rate = S::zero();
                            for &(source, ratio) in &couplings.followers()[f].terms {
                                rate = ratio.lift().mul_add(x[source.v], rate);
                            }
                            rate
                        }
                    };
                }
                let carried = self.pose[i].motion_into(self.mu[info.parent]);
                let joint = tree.joint_at(i, &self.angles, &self.pose[i]);
                self.mu[i] = joint.plus(carried, &self.work.rates[range]); // (7)
            }
        }
    }
}
