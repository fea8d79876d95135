//! Closed chains at linear cost: loops are eliminated along the tree, each at the body where it closes.
//!
//! The equations of the cut loops (Mufti 65–73), I a = f + Jᵀ λ and J a = b, are eliminated from the tips to the base: joints by the
//! steps of the UDUᵀ factorization, and the multipliers of a loop as soon as the whole loop has been passed. This is constraint
//! propagation (Vereshchagin 1974) with early elimination of the multipliers (Sathya & Carpentier 2024); a loop closes at the lowest
//! common ancestor of its two branches. With η the wrench of a unit multiplier at a body and x = τ̂/m̂ its effect on a joint:
//!
//! ```text
//! joint i        x = (Jᵢᵀ − pᵀ η)/m̂,   η ← η + ψ τ̂          as a right-hand side of UDUᵀ, one per open row          (1)
//!                L ← L + xᵀ m̂ x                              for all rows open at i                                  (2)
//! closing c      L_cc = F Fᵀ,  G = F (FᵀF)⁻¹                 L_cc⁺ = G Gᵀ; rank by pivots                           (3)
//!                W_d = Gᵀ L_cd,   h = η_c G                                                                          (4)
//!                L_de ← L_de − W_dᵀ W_e,   η_d ← η_d − h W_d,   M̂ ← M̂ + h hᵀ                                         (5)
//! right side     y = Gᵀ β_c,   η ← η + h y,   β_d ← β_d − W_dᵀ y     β = b − what joints contribute               (6)
//! base to tips   λ_c = G (y + hᵀ μ − W_d λ_d),   a by UDUᵀ with τ̂/m̂ + x λ                                        (7)
//! ```
//!
//! L_cc is the Delassus matrix J I⁻¹ Jᵀ of everything the closing body carries, with that body fixed. It is positive semidefinite, its
//! null space is exactly that of dependent rows, and h hᵀ never exceeds the inertia of the rigid loop, so the order of elimination,
//! which the tree dictates, is stable.
//!
//! Assumption: a loop is coupled to a bounded number of others (those that share a joint, and those coupled through an elimination);
//! then the total cost is O(n + m). Where rows are dependent the accelerations and Jᵀλ are unique; λ has minimum norm within each
//! constraint, and those eliminated earlier carry as much as they can. Normal equations are formed here, so the solution is refined
//! with the residual of J a = b; rows whose pivot falls below 1e-13 of their own magnitude count as dependent.

use super::elimination_plan::{NOWHERE, Plan};
use super::rows::Rows;
use crate::algorithm::factorization::Factorization;
use crate::card::Card;
use crate::model::Model;
use crate::model::joint::{Pivots, any};
use crate::scalar::Scalar;
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, Sym3, Vec3};

/// Elimination along the tree.
pub const CARD: Card = Card {
    name: "Loops eliminated along the tree",
    question: "forward dynamics of closed chains",
    call: "ClosedChain, Route::AlongTree",
    file: "algorithm/constrained/along_tree.rs",
    order: "O(n + m) for loops with few neighbours",
    source: "Vereshchagin 1974; Sathya & Carpentier 2024; Mufti 1983, eqs. 65–73, on UDUᵀ",
};

/// A pivot below this fraction of its row's magnitude counts as zero.
const DEPENDENT: f64 = 1e-13;

/// A row below this fraction of the largest counts as zero.
const NOTHING: f64 = 1e-18;

/// Maximum number of corrections of a solution.
const REFINEMENTS: usize = 3;

/// Factors of I and of all loops at one configuration, and the last solution.
#[derive(Clone, Debug)]
pub(super) struct AlongTree<S = f64> {
    plan: Plan,
    pub factors: Factorization<S>,
    eta: Vec<Force<S>>,
    freed: Vec<S>,
    matrix: Vec<S>,
    /// G, which overwrites each constraint's own block.
    rank: Vec<usize>,
    most: Vec<usize>,
    /// Σ x m̂ x of each row, before eliminations.
    size: Vec<S>,
    /// Smallest pivot that was kept, relative to the largest row of its kind in its constraint.
    weakest: S,
    /// Solution: a and λ.
    pub a: Vec<S>,
    pub lambda: Vec<S>,
    bottom: Vec<Force<S>>,
    mu: Vec<Motion<S>>,
    free: Vec<S>,
    beta: Vec<S>,
    y: Vec<S>,
    still: Vec<S>,
    residual: Vec<S>,
    sum: [Vec<S>; 2],
    small: Small<S>,
}

/// Workspace for one constraint.
#[derive(Clone, Debug)]
struct Small<S> {
    f: Vec<S>,
    r: Vec<S>,
    column: Vec<S>,
    done: Vec<bool>,
}

impl<S: Scalar<Mask = bool> + PartialEq> AlongTree<S> {
    pub fn new(model: &Model, rows: &Rows<S>) -> Self {
        AlongTree::of(model, rows, Plan::new(model.tree(), rows))
    }

    pub fn of(model: &Model, rows: &Rows<S>, plan: Plan) -> Self {
        let (n, nv, m) = (model.body_count() + 1, model.nv(), rows.count());
        let widest = plan.widest;
        AlongTree {
            factors: Factorization::new(model),
            eta: vec![Force::zero(); plan.eta],
            freed: vec![S::zero(); plan.freed],
            matrix: vec![S::zero(); plan.matrix],
            rank: vec![0; plan.steps.len()],
            most: vec![usize::MAX; plan.steps.len()],
            size: vec![S::zero(); m],
            weakest: S::one(),
            a: vec![S::zero(); nv],
            lambda: vec![S::zero(); m],
            bottom: vec![Force::zero(); n],
            mu: vec![Motion::zero(); n],
            free: vec![S::zero(); nv],
            beta: vec![S::zero(); m],
            y: vec![S::zero(); m],
            still: vec![S::zero(); nv],
            residual: vec![S::zero(); m],
            sum: [vec![S::zero(); nv], vec![S::zero(); m]],
            small: Small {
                f: vec![S::zero(); widest * widest],
                r: vec![S::zero(); widest * widest],
                column: vec![S::zero(); widest],
                done: vec![false; widest],
            },
            plan,
        }
    }

    /// Number of independent rows of the last factorization.
    pub fn rank(&self) -> usize {
        self.rank.iter().sum()
    }

    /// Limits the rank of every constraint to its present value.
    pub fn keep_ranks(&mut self) {
        self.most.copy_from_slice(&self.rank);
    }

    /// The limits of the ranks.
    pub fn limits(&self) -> &[usize] {
        &self.most
    }

    /// Sets the limits of the ranks, one for each constraint.
    pub fn limit(&mut self, limits: &[usize]) {
        self.most.copy_from_slice(limits);
    }

    /// How close the rows are to losing rank: approximately a ratio of singular values.
    pub fn weakest(&self) -> S {
        self.weakest.sqrt()
    }

    /// Factors of I and of the loops, whose rows must have been evaluated.
    pub fn factorize(&mut self, model: &Model, q: &[S], rows: &Rows<S>) {
        let tree = model.tree();
        let n = model.body_count();
        let factors = &mut self.factors;
        factors.angles.fill(tree, q);
        for i in 1..=n {
            let info = tree.nodes[i];
            let setting = model.setting(i, &factors.angles);
            factors.pose[i] = any::pose(info.kind, setting, &q[info.q..]);
            factors.articulated[i] = model.inertia::<S>(i).articulated();
        }
        self.matrix.fill(S::zero());
        self.size.fill(S::zero());
        self.weakest = S::one();
        for i in (1..=n).rev() {
            for step in self.plan.closing_at[i].clone() {
                let gained = self.close(step, rows);
                self.factors.articulated[i] = self.factors.articulated[i] + gained;
            }
            let rest = self.factors.eliminate(model, i);
            let parent = tree.nodes[i].parent;
            if parent != 0 {
                self.factors.articulated[parent] =
                    self.factors.articulated[parent] + rest.seen_from(self.factors.pose[i]);
            }
            self.pass(model, i, rows);
        }
        for step in self.plan.closing_at[0].clone() {
            self.close(step, rows);
        }
    }

    /// Propagates all rows open at body i through its joint, (1) and (2).
    fn pass(&mut self, model: &Model, i: usize, rows: &Rows<S>) {
        let info = model.tree().nodes[i];
        let factors = &self.factors;
        let pose = factors.pose[i];
        let open = &self.plan.open[self.plan.open_at[i].clone()];
        let nv = info.kind.nv();
        let pivots = Pivots::of(
            info.v..info.v + nv,
            &factors.psi,
            &factors.inverse,
            &model.dofs,
        );
        let joint = model.joint_at(i, &factors.angles, &pose);
        for open in open {
            let block = &rows.blocks()[open.block];
            // which of the joint's freedoms have entries
            let mut entry = [NOWHERE; 6];
            let mut column = open.column;
            for k in 0..nv {
                if block.columns.get(column) == Some(&(info.v + k)) {
                    entry[k] = column;
                    column += 1;
                }
            }
            for r in 0..open.rows {
                let values = rows.row(block, r);
                let mut own = [S::zero(); 6];
                for k in 0..nv {
                    if entry[k] != NOWHERE {
                        own[k] = values[entry[k]];
                    }
                }
                let freed = &mut self.freed[open.freed + r * nv..open.freed + (r + 1) * nv];
                let eta = match open.eta {
                    NOWHERE => Force::zero(),
                    eta => self.eta[eta + r],
                };
                let through = joint.inward(eta, &own[..nv], pivots, freed);
                if open.parent_eta != NOWHERE {
                    let there = &mut self.eta[open.parent_eta + r];
                    let brought = pose.force_out(through);
                    *there = if open.first_there {
                        brought
                    } else {
                        *there + brought
                    };
                }
            }
        }
        for pair in &self.plan.pairs[self.plan.pairs_at[i].clone()] {
            let (c, d) = (&open[pair.earlier], &open[pair.later]);
            for r in 0..c.rows {
                let mut scaled = [S::zero(); 6];
                for k in 0..nv {
                    scaled[k] = self.freed[c.freed + r * nv + k] / pivots.inverse[k];
                }
                let own = pair.earlier == pair.later;
                let out = &mut self.matrix[pair.at + r * d.rows..pair.at + (r + 1) * d.rows];
                for s in if own { r } else { 0 }..d.rows {
                    let mut sum = S::zero();
                    for k in 0..nv {
                        sum += scaled[k] * self.freed[d.freed + s * nv + k];
                    }
                    out[s] += sum;
                    if own && s == r {
                        self.size[c.first + r] += sum;
                    }
                }
            }
        }
    }

    /// Eliminates the multipliers of a constraint, (3) to (5); returns the inertia that the body gains.
    fn close(&mut self, step: usize, rows: &Rows<S>) -> ArticulatedInertia<S> {
        let Plan {
            steps,
            later,
            updates,
            ..
        } = &self.plan;
        let own = &steps[step];
        let m = own.rows;
        let (diagonal, rest) = self.matrix[own.diagonal..].split_at_mut(m * m);
        let size = &self.size[own.first..own.first + m];
        let wrench = &rows.wrench[own.first..own.first + m];
        let (rank, weakest) =
            pseudo_factor(diagonal, m, size, wrench, self.most[step], &mut self.small);
        self.rank[step] = rank;
        self.weakest = least(self.weakest, weakest);
        let g = diagonal;
        let offset = own.diagonal + m * m;
        let column = &mut self.small.column;
        // W overwrites L_cd
        for d in &later[own.later.clone()] {
            let block = &mut rest[d.at - offset..d.at - offset + m * d.rows];
            for s in 0..d.rows {
                for r in 0..m {
                    column[r] = block[r * d.rows + s];
                }
                for j in 0..rank {
                    let mut sum = S::zero();
                    for r in 0..m {
                        sum += g[r * m + j] * column[r];
                    }
                    block[j * d.rows + s] = sum;
                }
            }
        }
        let mut update = own.updates;
        let range = own.later.clone();
        for i in range.clone() {
            let d = &later[i];
            for e in &later[i..range.end] {
                let at = updates[update] - offset;
                update += 1;
                let same = e.at == d.at;
                // blocks of later constraints follow those of this one
                let (left, right) = rest.split_at_mut(at);
                for j in 0..rank {
                    let wd = &left[d.at - offset + j * d.rows..];
                    let we = &left[e.at - offset + j * e.rows..];
                    for r in 0..d.rows {
                        let x = wd[r];
                        if x == S::zero() {
                            continue;
                        }
                        let out = &mut right[r * e.rows..(r + 1) * e.rows];
                        for s in if same { r } else { 0 }..e.rows {
                            out[s] -= x * we[s];
                        }
                    }
                }
            }
        }
        if own.eta == NOWHERE {
            return ArticulatedInertia::zero();
        }
        // h overwrites η
        let mut h = [Force::zero(); 6];
        let mut many = Vec::new();
        let h: &mut [Force<S>] = if m <= 6 {
            &mut h[..m]
        } else {
            many.resize(m, Force::zero());
            &mut many
        };
        let mut gained = ArticulatedInertia::zero();
        for (j, h) in h.iter_mut().enumerate().take(rank) {
            for r in 0..m {
                *h = h.add_scaled(self.eta[own.eta + r], g[r * m + j]);
            }
            gained = gained + square(*h);
        }
        self.eta[own.eta..own.eta + m].copy_from_slice(h);
        for d in &later[own.later.clone()] {
            let block = &rest[d.at - offset..];
            for s in 0..d.rows {
                let eta = &mut self.eta[d.eta + s];
                for (j, h) in h.iter().enumerate().take(rank) {
                    *eta = eta.add_scaled(*h, -block[j * d.rows + s]);
                }
            }
        }
        gained
    }

    /// a and λ of I a = f + Jᵀ λ, J a = b, refined with the residual of the rows. Returns the norm of the remaining residual.
    pub fn solve(&mut self, model: &Model, rows: &Rows<S>, f: &[S], b: &[S]) -> S {
        self.sweep(model, f, b);
        let [mut sum, mut multipliers] = std::mem::take(&mut self.sum);
        let mut residual = std::mem::take(&mut self.residual);
        sum.copy_from_slice(&self.a);
        multipliers.copy_from_slice(&self.lambda);
        let mut left = remaining(rows, &sum, b, &mut residual);
        for _ in 0..REFINEMENTS {
            let reach = rows_reach(rows, &sum, b);
            if !(S::constant(16.0 * f64::EPSILON) * reach).less(left) {
                break;
            }
            let still = std::mem::take(&mut self.still);
            self.sweep(model, &still, &residual);
            self.still = still;
            for (x, d) in self.a.iter_mut().zip(&sum) {
                *x += *d;
            }
            for (x, d) in self.lambda.iter_mut().zip(&multipliers) {
                *x += *d;
            }
            let next = remaining(rows, &self.a, b, &mut residual);
            let half = S::constant(0.5) * left;
            if !(next.less(half) || next == half) {
                // no improvement: the remainder is inconsistent with the rows, or round-off
                if next.less(left) {
                    sum.copy_from_slice(&self.a);
                    multipliers.copy_from_slice(&self.lambda);
                    left = next;
                }
                break;
            }
            sum.copy_from_slice(&self.a);
            multipliers.copy_from_slice(&self.lambda);
            left = next;
        }
        self.a.copy_from_slice(&sum);
        self.lambda.copy_from_slice(&multipliers);
        self.sum = [sum, multipliers];
        self.residual = residual;
        left
    }

    /// One solution, (6) and (7).
    pub fn sweep(&mut self, model: &Model, f: &[S], b: &[S]) {
        let tree = model.tree();
        let n = model.body_count();
        self.beta.copy_from_slice(b);
        self.bottom.fill(Force::zero());
        for i in (1..=n).rev() {
            for step in self.plan.closing_at[i].clone() {
                let gained = self.gather(step);
                self.bottom[i] += gained;
            }
            let info = tree.nodes[i];
            let factors = &self.factors;
            let open = &self.plan.open[self.plan.open_at[i].clone()];
            let nv = info.kind.nv();
            let range = info.v..info.v + nv;
            let pivots = Pivots::of(range.clone(), &factors.psi, &factors.inverse, &model.dofs);
            let joint = model.joint_at(i, &factors.angles, &factors.pose[i]);
            let free = &mut self.free[range.clone()];
            let through = joint.inward(self.bottom[i], &f[range], pivots, free);
            let mut effort = [S::zero(); 6];
            for k in 0..nv {
                effort[k] = free[k] / pivots.inverse[k];
            }
            for open in open {
                for r in 0..open.rows {
                    let mut sum = S::zero();
                    for k in 0..nv {
                        sum += self.freed[open.freed + r * nv + k] * effort[k];
                    }
                    self.beta[open.first + r] -= sum;
                }
            }
            if info.parent != 0 {
                self.bottom[info.parent] += factors.pose[i].force_out(through);
            }
        }
        for step in self.plan.closing_at[0].clone() {
            self.gather(step);
        }
        self.mu[0] = Motion::zero();
        for step in self.plan.closing_at[0].clone().rev() {
            self.spread(step, Motion::zero());
        }
        for i in 1..=n {
            let info = tree.nodes[i];
            let factors = &self.factors;
            let carried = factors.pose[i].motion_into(self.mu[info.parent]);
            let open = &self.plan.open[self.plan.open_at[i].clone()];
            let nv = info.kind.nv();
            let range = info.v..info.v + nv;
            let pivots = Pivots::of(range.clone(), &factors.psi, &factors.inverse, &model.dofs);
            let joint = model.joint_at(i, &factors.angles, &factors.pose[i]);
            let free = &mut self.free[range.clone()];
            for open in open {
                for r in 0..open.rows {
                    let lambda = self.lambda[open.first + r];
                    for k in 0..nv {
                        free[k] += self.freed[open.freed + r * nv + k] * lambda;
                    }
                }
            }
            self.mu[i] = joint.outward(carried, free, pivots, &mut self.a[range]);
            for step in self.plan.closing_at[i].clone().rev() {
                self.spread(step, self.mu[i]);
            }
        }
    }

    /// (6); returns the wrench that the body gains.
    fn gather(&mut self, step: usize) -> Force<S> {
        let own = &self.plan.steps[step];
        let (m, rank) = (own.rows, self.rank[step]);
        let g = &self.matrix[own.diagonal..own.diagonal + m * m];
        let mut gained = Force::zero();
        for j in 0..rank {
            let mut y = S::zero();
            for r in 0..m {
                y += g[r * m + j] * self.beta[own.first + r];
            }
            self.y[own.first + j] = y;
            if own.eta != NOWHERE {
                gained = gained.add_scaled(self.eta[own.eta + j], y);
            }
            for d in &self.plan.later[own.later.clone()] {
                let w = &self.matrix[d.at + j * d.rows..d.at + (j + 1) * d.rows];
                for (s, w) in w.iter().enumerate() {
                    self.beta[d.first + s] -= *w * y;
                }
            }
        }
        gained
    }

    /// λ of a constraint, (7).
    fn spread(&mut self, step: usize, mu: Motion<S>) {
        let own = &self.plan.steps[step];
        let (m, rank) = (own.rows, self.rank[step]);
        let g = &self.matrix[own.diagonal..own.diagonal + m * m];
        for r in 0..m {
            self.lambda[own.first + r] = S::zero();
        }
        for j in 0..rank {
            let mut t = self.y[own.first + j];
            if own.eta != NOWHERE {
                t += self.eta[own.eta + j].dot(mu);
            }
            for d in &self.plan.later[own.later.clone()] {
                let w = &self.matrix[d.at + j * d.rows..d.at + (j + 1) * d.rows];
                for (s, w) in w.iter().enumerate() {
                    t -= *w * self.lambda[d.first + s];
                }
            }
            for r in 0..m {
                self.lambda[own.first + r] += g[r * m + j] * t;
            }
        }
    }
}

/// The larger of two numbers.
fn most<S: Scalar>(a: S, b: S) -> S {
    S::select(a.less(b), b, a)
}

/// The smaller of two numbers.
fn least<S: Scalar>(a: S, b: S) -> S {
    S::select(b.less(a), b, a)
}

/// |x|.
fn size_of<S: Scalar>(x: S) -> S {
    S::select(x.less(S::zero()), -x, x)
}

/// residual = b − J a; its length.
fn remaining<S: Scalar>(rows: &Rows<S>, a: &[S], b: &[S], residual: &mut [S]) -> S {
    rows.times(a, residual);
    let mut sum = S::zero();
    for (r, b) in residual.iter_mut().zip(b) {
        *r = *b - *r;
        sum += *r * *r;
    }
    sum.sqrt()
}

/// The larger of the norms of b and of the sums |J| |a|: the scale of round-off of the residual.
pub(super) fn rows_reach<S: Scalar<Mask = bool>>(rows: &Rows<S>, a: &[S], b: &[S]) -> S {
    let mut sums = [S::zero(); 2];
    for block in rows.blocks() {
        for k in 0..block.rows {
            let mut sum = S::zero();
            for (&column, entry) in block.columns.iter().zip(rows.row(block, k)) {
                sum += size_of(*entry * a[column]);
            }
            sums[0] += sum * sum;
            sums[1] += b[block.first + k] * b[block.first + k];
        }
    }
    most(sums[0], sums[1]).sqrt()
}

/// h hᵀ as an inertia.
fn square<S: Scalar>(h: Force<S>) -> ArticulatedInertia<S> {
    let Vec3 { x, y, z } = h.force;
    ArticulatedInertia {
        rotational: Sym3::outer(h.moment),
        coupling: Mat3 {
            x: h.moment * x,
            y: h.moment * y,
            z: h.moment * z,
        },
        translational: Sym3::outer(h.force),
    }
}

/// G of a positive semidefinite matrix given by its upper triangle, in place: a⁺ = G Gᵀ. Returns the rank, and the smallest
/// pivot relative to the largest row of its kind.
///
/// Pivots are chosen and compared relative to the magnitude of the row before elimination, which is the scale of round-off.
fn pseudo_factor<S: Scalar<Mask = bool>>(
    a: &mut [S],
    m: usize,
    size: &[S],
    wrench: &[Force<S>],
    limit: usize,
    small: &mut Small<S>,
) -> (usize, S) {
    let Small { f, r, done, .. } = small;
    let largest = size.iter().fold(S::zero(), |x, &s| most(x, s));
    for i in 0..m {
        done[i] = !(S::constant(NOTHING) * largest).less(size[i]);
        for j in 0..i {
            a[i * m + j] = a[j * m + i];
        }
    }
    let is_force = |i: usize| S::constant(0.5).less(wrench[i].force.dot(wrench[i].force));
    let mut rank = 0;
    let mut weakest = S::one();
    while rank < m.min(limit) {
        let mut best = (m, S::constant(DEPENDENT));
        for i in 0..m {
            let ratio = a[i * m + i] / size[i];
            if !done[i] && best.1.less(ratio) {
                best = (i, ratio);
            }
        }
        let p = best.0;
        if p == m {
            break;
        }
        let mut kind = size[p];
        for i in 0..m {
            if is_force(i) == is_force(p) {
                kind = most(kind, size[i]);
            }
        }
        weakest = least(weakest, a[p * m + p] / kind);
        done[p] = true;
        let root = a[p * m + p].sqrt();
        for i in 0..m {
            f[i * m + rank] = a[i * m + p] / root;
        }
        f[p * m + rank] = root;
        for i in 0..m {
            let x = f[i * m + rank];
            for j in 0..m {
                a[i * m + j] -= x * f[j * m + rank];
            }
        }
        for i in 0..m {
            a[i * m + p] = S::zero();
            a[p * m + i] = S::zero();
        }
        rank += 1;
    }
    // F = Q R by Gram-Schmidt, twice; G = Q R⁻ᵀ
    for j in 0..rank {
        for i in 0..rank {
            r[j * m + i] = S::zero();
        }
        for _ in 0..2 {
            for k in 0..j {
                let mut dot = S::zero();
                for i in 0..m {
                    dot += f[i * m + k] * f[i * m + j];
                }
                r[k * m + j] += dot;
                for i in 0..m {
                    let part = dot * f[i * m + k];
                    f[i * m + j] -= part;
                }
            }
        }
        let mut norm = S::zero();
        for i in 0..m {
            norm += f[i * m + j] * f[i * m + j];
        }
        let norm = norm.sqrt();
        r[j * m + j] = norm;
        for i in 0..m {
            f[i * m + j] = f[i * m + j] / norm;
        }
    }
    a[..m * m].fill(S::zero());
    for i in 0..m {
        // row i of G: g Rᵀ = q
        for j in (0..rank).rev() {
            let mut sum = f[i * m + j];
            for k in j + 1..rank {
                sum -= a[i * m + k] * r[j * m + k];
            }
            a[i * m + j] = sum / r[j * m + j];
        }
    }
    (rank, weakest)
}
