//! The natural orthogonal complement N and its decoupled factors N_l and N_d (DeNOC), with all that the papers derive from them.
//!
//! Saha (1995) sec. 2–4, Saha (1999) eqs. 11–31 and app. B, for trees and joints with several freedoms. Twists t = (ω; ċ) are those
//! of the **mass centres**, all vectors in **world axes**, as in the papers. j ≤ i means that body j is on the path from body i to the
//! base, or i itself.
//!
//! ```text
//! c_ij = c_j − c_i                           from mass centre i to mass centre j
//! B_ij = [1 0; c̃_ij 1]                       B_ij B_jk = B_ik,  B_ii = 1                                     (12–14)
//! p_k                                        twist of mass centre i per unit of freedom k of its joint       (13)
//! N_l has the blocks B_ij for j ≤ i          6n × 6n, one block row and column per body                      (16)
//! N_d = diag(P_1, …, P_n)                    6n × nv, P_i has the columns p_k of joint i                     (17)
//! t = N v,  N = N_l N_d                                                                                      (15)
//! M = diag(M_i),  M_i = diag(I_i, m_i 1)     I = Nᵀ M N, rotors on its diagonal                              (20)
//!
//! M̃_i = M_i + Σ_children Bᵀ M̃_c B            composite body                                                  (23b)
//! M̂_k = M_i + Σ_children Bᵀ (M̂ − ψ̂ ψᵀ)_c B   articulated body, for the last freedom k of joint i             (50)
//! M̂_k = M̂_k+1 − ψ̂_k+1 ψ_k+1ᵀ                 for the earlier ones
//! ψ̂_k = M̂_k p_k,  m̂_k = p_kᵀ ψ̂_k + J,  ψ_k = ψ̂_k / m̂_k                                                      (51)
//! ```
//!
//! The 1995 paper calls the complement T = T_l T_d. Here T_l (6nv × 6nv) and T_d (6nv × nv) have a block per **freedom**: a joint
//! with several freedoms is a chain of joints with one each, and massless bodies at the same mass centre between them. Where every
//! joint has one freedom they are N_l and N_d. With them the factors of I = U D Uᵀ have the closed form
//!
//! ```text
//! U = 1 + T_dᵀ (T_l − 1)ᵀ 𝒩 T_d,   𝒩 = diag(M̂_k / m̂_k),   D = diag(m̂_k)                                  (1995: 22a, b)
//! ```
//!
//! The rates, with ċ_ij = ċ_j − ċ_i, Ṁ_i = diag(ω̃_i I_i, 0), give the matrix of convective terms:
//!
//! ```text
//! Ḃ_ij = [0 0; ċ̃_ij 0],   Ṗ_i = Ω_i P_i + (the change of P_i relative to the body)
//! C = Nᵀ (M Ṅ + Ṁ N),   Ṅ = Ṅ_l N_d + N_l Ṅ_d                                                               (25)
//! D̃_i = Ṁ_i + Σ_children D̃_c,   H̃_ij = M̃_i Ḃ_ij + Σ_children B_ciᵀ H̃_ci                                     (28)
//! C_ij = P_iᵀ ( B_jiᵀ (M̃_j Ṗ_j + D̃_j P_j) + Σ_children B_ciᵀ H̃_cj P_j )      i ≤ j, c children of j          (29)
//! C_ij = P_iᵀ ( M̃_i B_ij Ṗ_j + (H̃_ij + D̃_i) P_j )                            j < i
//! ```
//!
//! A body without mass has its joint's origin in place of the mass centre. The objects are O(n) in size and cost; the matrices are
//! dense and formed on request. They are for inspection; computation is done by the recursions.

use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, RigidInertia, Vec3};
use crate::state::{Base, StateView};
use std::ops::Range;

/// The decoupled natural orthogonal complement.
pub const CARD: Card = Card {
    name: "Decoupled natural orthogonal complement (DeNOC)",
    question: "twists of the mass centres",
    call: "Denoc",
    file: "algorithm/natural_orthogonal_complement.rs",
    order: "O(n); its matrices O(n²)",
    source: "Saha 1995 (UDUᵀ), eqs. 2–22; Saha 1999, eqs. 11–31, app. B; Angeles & Lee 1988",
};

/// The mass centre of every body in its own frame, index 0 unused; the origin for a body without mass.
pub fn mass_centres(model: &Model) -> Vec<Vec3<f64>> {
    let centre = |i: usize| match model.moments(i).mass == 0.0 {
        true => Vec3::zero(),
        false => model.inertial(i).centre,
    };
    (0..=model.body_count()).map(centre).collect()
}

/// [X; Y], a wrench for every angular velocity.
#[derive(Clone, Copy, Debug)]
struct Turned<S> {
    moment: Mat3<S>,
    force: Mat3<S>,
}

impl<S: Scalar> Turned<S> {
    fn zero() -> Self {
        Turned {
            moment: Mat3::zero(),
            force: Mat3::zero(),
        }
    }

    fn times(self, omega: Vec3<S>) -> Force<S> {
        Force::new(self.moment * omega, self.force * omega)
    }

    /// Bᵀ [X; Y] to a mass centre from which the present one is at `arm`.
    fn carried(self, arm: Vec3<S>) -> Self {
        Turned {
            moment: self.moment + self.force.cross_columns(arm),
            force: self.force,
        }
    }

    fn plus(self, other: Self) -> Self {
        Turned {
            moment: self.moment + other.moment,
            force: self.force + other.force,
        }
    }
}

/// N_l, N_d and related quantities at one state. Bodies are numbered from 1, freedoms from 0.
#[doc(alias = "DeNOC")]
#[doc(alias = "NOC")]
#[derive(Clone, Debug)]
pub struct Denoc<S> {
    parent: Vec<usize>,
    freedoms: Vec<Range<usize>>,
    body: Vec<usize>,
    rotor: Vec<S>,
    /// c_i.
    centre: Vec<Vec3<S>>,
    /// t_i.
    twist: Vec<Motion<S>>,
    /// M_i.
    own: Vec<ArticulatedInertia<S>>,
    /// p_k, ṗ_k.
    column: Vec<Motion<S>>,
    column_rate: Vec<Motion<S>>,
    /// M̃_i.
    composite: Vec<ArticulatedInertia<S>>,
    /// M̂_k, ψ̂_k, ψ_k, m̂_k.
    articulated: Vec<ArticulatedInertia<S>>,
    psi_hat: Vec<Force<S>>,
    psi: Vec<Force<S>>,
    pivot: Vec<S>,
}

impl<S: Scalar> Denoc<S> {
    /// The complement at positions q and velocities v; the rates are zero at v = 0 on a base at rest. `centres` are the mass centres in body frames,
    /// as [`mass_centres`] gives them.
    pub fn new<P: Parameter<S>>(
        model: &Model<P>,
        centres: &[Vec3<P>],
        q: &[S],
        v: &[S],
        base: &Base<S>,
    ) -> Self {
        let (n, nv, tree) = (model.body_count(), model.nv(), model.tree());
        let mut work = Kinematics::new(model);
        forward_kinematics(
            model,
            StateView { q, v, base },
            &vec![S::zero(); nv],
            &mut work,
        );
        let none = ArticulatedInertia::zero();
        let mut made = Denoc {
            parent: (0..=n).map(|i| tree.parent(i)).collect(),
            freedoms: (0..=n)
                .map(|i| if i == 0 { 0..0 } else { tree.dof_range(i) })
                .collect(),
            body: tree.dofs.iter().map(|dof| dof.body).collect(),
            rotor: model.dofs.iter().map(|dof| dof.armature.lift()).collect(),
            centre: vec![Vec3::zero(); n + 1],
            twist: vec![Motion::zero(); n + 1],
            own: vec![none; n + 1],
            column: vec![Motion::zero(); nv],
            column_rate: vec![Motion::zero(); nv],
            composite: vec![none; n + 1],
            articulated: vec![none; nv],
            psi_hat: vec![Force::zero(); nv],
            psi: vec![Force::zero(); nv],
            pivot: vec![S::zero(); nv],
        };
        for i in 1..=n {
            let c: Vec3<S> = centres[i].lift();
            let (pose, velocity) = (work.world_from_body[i], work.velocity[i]);
            // converts a motion of the body about its origin in body axes to one about the mass centre in world axes
            let outside = |m: Motion<S>| {
                Motion::new(
                    pose.rotation * m.angular,
                    pose.rotation * m.angular.cross_add(c, m.linear),
                )
            };
            made.centre[i] = pose.point(c);
            made.twist[i] = outside(velocity);
            let central = RigidInertia {
                first: Vec3::zero(),
                ..model.inertia::<S>(i).shifted(-c)
            };
            made.own[i] = central.turned(pose.rotation).articulated();
            let omega = made.twist[i].angular;
            let info = tree.nodes[i];
            let joint = model.joint_at(i, &work.angles, &work.pose[i]);
            for k in 0..info.kind.nv() {
                let p = outside(joint.column(k));
                let change = outside(joint.column_rate(k, &v[info.v..]));
                made.column[info.v + k] = p;
                made.column_rate[info.v + k] =
                    Motion::new(omega.cross(p.angular), omega.cross(p.linear)) + change;
            }
        }
        made.inertias();
        made
    }

    /// Tips to base: composite and articulated bodies.
    fn inertias(&mut self) {
        let n = self.body_count();
        self.composite.clone_from(&self.own);
        let mut articulated = self.own.clone();
        for i in (1..=n).rev() {
            let mut hat = articulated[i];
            for k in self.freedoms[i].clone().rev() {
                let p = self.column[k];
                self.articulated[k] = hat;
                self.psi_hat[k] = hat.times(p); // (51)
                self.pivot[k] = self.psi_hat[k].dot(p) + self.rotor[k];
                self.psi[k] = self.psi_hat[k] * self.pivot[k].recip();
                hat = hat.minus_outer(self.psi_hat[k], self.psi[k]);
            }
            let j = self.parent[i];
            if j != 0 {
                let arm = self.centre[i] - self.centre[j];
                self.composite[j] = self.composite[j] + self.composite[i].shifted(arm); // (23b)
                articulated[j] = articulated[j] + hat.shifted(arm); // (50)
            }
        }
    }

    /// Number of bodies n.
    pub fn body_count(&self) -> usize {
        self.parent.len() - 1
    }

    /// Number of freedoms.
    pub fn nv(&self) -> usize {
        self.body.len()
    }

    /// Parent of body i, 0 for the base.
    pub fn parent(&self, i: usize) -> usize {
        self.parent[i]
    }

    /// The freedoms of the joint that carries body i.
    pub fn freedoms(&self, i: usize) -> Range<usize> {
        self.freedoms[i].clone()
    }

    /// The body whose joint has freedom k.
    pub fn body_of(&self, k: usize) -> usize {
        self.body[k]
    }

    /// j ≤ i: is body j on the path from body i to the base, or i itself?
    pub fn carries(&self, j: usize, i: usize) -> bool {
        let mut at = i;
        while at > j {
            at = self.parent[at];
        }
        at == j
    }

    /// c_i, the mass centre of body i in the world.
    pub fn mass_centre(&self, i: usize) -> Vec3<S> {
        self.centre[i]
    }

    /// t_i, the angular velocity of body i and the velocity of its mass centre, including that of a moving base.
    pub fn twist(&self, i: usize) -> Motion<S> {
        self.twist[i]
    }

    /// p_k, the twist of its body's mass centre per unit of freedom k.
    pub fn column(&self, k: usize) -> Motion<S> {
        self.column[k]
    }

    /// ṗ_k.
    pub fn column_rate(&self, k: usize) -> Motion<S> {
        self.column_rate[k]
    }

    /// M_i = diag(I_i, m_i 1).
    pub fn extended_mass(&self, i: usize) -> ArticulatedInertia<S> {
        self.own[i]
    }

    /// M̃_i: body i and all beyond it, locked, about mass centre i.
    pub fn composite(&self, i: usize) -> ArticulatedInertia<S> {
        self.composite[i]
    }

    /// M̂_k: the articulated body that the effort of freedom k works against, about the mass centre of its body. Later freedoms
    /// of the same joint are eliminated.
    pub fn articulated(&self, k: usize) -> ArticulatedInertia<S> {
        self.articulated[k]
    }

    /// M̂_i of a body: everything beyond it on free joints, its own joint not eliminated.
    pub fn articulated_body(&self, i: usize) -> ArticulatedInertia<S> {
        self.articulated[self.freedoms[i].end - 1]
    }

    /// ψ̂_k = M̂_k p_k of the 1999 paper; ψ_k of the others.
    pub fn psi_hat(&self, k: usize) -> Force<S> {
        self.psi_hat[k]
    }

    /// ψ_k = M̂_k p_k / m̂_k of the 1999 paper; ψ̂_k of the others.
    pub fn psi(&self, k: usize) -> Force<S> {
        self.psi[k]
    }

    /// m̂_k, the entries of D.
    pub fn pivots(&self) -> &[S] {
        &self.pivot
    }

    /// Rotor inertias, which the papers do not have: they are added to the diagonal of Nᵀ M N.
    pub fn rotors(&self) -> &[S] {
        &self.rotor
    }

    /// c_ij = c_j − c_i.
    pub fn arm(&self, i: usize, j: usize) -> Vec3<S> {
        self.centre[j] - self.centre[i]
    }

    /// B_ij, by rows.
    pub fn transfer(&self, i: usize, j: usize) -> [[S; 6]; 6] {
        let mut b = lower_left(self.arm(i, j));
        for k in 0..6 {
            b[k][k] = S::one();
        }
        b
    }

    /// Ḃ_ij, by rows.
    pub fn transfer_rate(&self, i: usize, j: usize) -> [[S; 6]; 6] {
        lower_left(self.twist[j].linear - self.twist[i].linear)
    }

    /// B_ij m: the twist of mass centre i if body i were rigidly joined to body j of twist m.
    fn transferred(&self, i: usize, j: usize, m: Motion<S>) -> Motion<S> {
        Motion::new(m.angular, self.arm(i, j).cross_add(m.angular, m.linear))
    }

    /// N_l, 6n × 6n.
    #[doc(alias = "T_l")]
    pub fn nl(&self) -> Matrix<S> {
        let bodies: Vec<usize> = (1..=self.body_count()).collect();
        self.blocks(&bodies, &|i, j| self.transfer(i, j))
    }

    /// Ṅ_l.
    pub fn nl_rate(&self) -> Matrix<S> {
        let bodies: Vec<usize> = (1..=self.body_count()).collect();
        self.blocks(&bodies, &|i, j| self.transfer_rate(i, j))
    }

    /// T_l, 6nv × 6nv: N_l with a block per freedom.
    pub fn tl(&self) -> Matrix<S> {
        self.blocks(&self.body, &|i, j| self.transfer(i, j))
    }

    /// Blocks of pairs of bodies on a common path to the base, for the bodies of the list in its order.
    fn blocks(&self, bodies: &[usize], block: &dyn Fn(usize, usize) -> [[S; 6]; 6]) -> Matrix<S> {
        let mut matrix = Matrix::zeros(6 * bodies.len(), 6 * bodies.len());
        for (row, &i) in bodies.iter().enumerate() {
            for (column, &j) in bodies[..=row].iter().enumerate() {
                if self.carries(j, i) {
                    put(&mut matrix, 6 * row, 6 * column, &block(i, j));
                }
            }
        }
        matrix
    }

    /// N_d, 6n × nv.
    pub fn nd(&self) -> Matrix<S> {
        self.joints(&self.column)
    }

    /// Ṅ_d.
    pub fn nd_rate(&self) -> Matrix<S> {
        self.joints(&self.column_rate)
    }

    fn joints(&self, columns: &[Motion<S>]) -> Matrix<S> {
        let mut matrix = Matrix::zeros(6 * self.body_count(), self.nv());
        for (k, column) in columns.iter().enumerate() {
            for (row, x) in column.to_array().into_iter().enumerate() {
                matrix[(6 * (self.body[k] - 1) + row, k)] = x;
            }
        }
        matrix
    }

    /// T_d, 6nv × nv: N_d with a block per freedom.
    pub fn td(&self) -> Matrix<S> {
        let mut matrix = Matrix::zeros(6 * self.nv(), self.nv());
        for (k, column) in self.column.iter().enumerate() {
            for (row, x) in column.to_array().into_iter().enumerate() {
                matrix[(6 * k + row, k)] = x;
            }
        }
        matrix
    }

    /// N, 6n × nv: the twists of all mass centres are N v, plus those of a moving base. Column k has B_ij p_k for the bodies i that
    /// freedom k of joint j moves.
    #[doc(alias = "T")]
    pub fn n(&self) -> Matrix<S> {
        let mut matrix = Matrix::zeros(6 * self.body_count(), self.nv());
        for i in 1..=self.body_count() {
            let mut j = i;
            while j != 0 {
                for k in self.freedoms(j) {
                    let column = self.transferred(i, j, self.column[k]);
                    for (row, x) in column.to_array().into_iter().enumerate() {
                        matrix[(6 * (i - 1) + row, k)] = x;
                    }
                }
                j = self.parent[j];
            }
        }
        matrix
    }

    /// Ṅ = Ṅ_l N_d + N_l Ṅ_d, 6n × nv.
    pub fn n_rate(&self) -> Matrix<S> {
        let mut rate = self.nl_rate().product(&self.nd());
        let other = self.nl().product(&self.nd_rate());
        for (x, y) in rate.as_mut_slice().iter_mut().zip(other.as_slice()) {
            *x += *y;
        }
        rate
    }

    /// M = diag(M_i), 6n × 6n.
    pub fn mass(&self) -> Matrix<S> {
        let size = 6 * self.body_count();
        let mut matrix = Matrix::zeros(size, size);
        for i in 1..=self.body_count() {
            let block = self.own[i].to_matrix();
            put(&mut matrix, 6 * (i - 1), 6 * (i - 1), &block);
        }
        matrix
    }

    /// Ṁ = diag(Ṁ_i), Ṁ_i = diag(ω̃_i I_i, 0): not the derivative of M, but Ṁ t gives the gyroscopic moments.
    pub fn mass_rate(&self) -> Matrix<S> {
        let size = 6 * self.body_count();
        let mut matrix = Matrix::zeros(size, size);
        for i in 1..=self.body_count() {
            for (row, entries) in self.gyroscopic(i).rows().into_iter().enumerate() {
                for (column, x) in entries.into_iter().enumerate() {
                    matrix[(6 * (i - 1) + row, 6 * (i - 1) + column)] = x;
                }
            }
        }
        matrix
    }

    /// ω̃_i I_i.
    fn gyroscopic(&self, i: usize) -> Mat3<S> {
        let tensor = self.own[i].rotational.full();
        tensor.cross_columns(self.twist[i].angular)
    }

    /// 𝒩 = diag(M̂_k / m̂_k), 6nv × 6nv (1995: 22b).
    pub fn articulated_over_pivots(&self) -> Matrix<S> {
        let mut matrix = Matrix::zeros(6 * self.nv(), 6 * self.nv());
        for k in 0..self.nv() {
            let inverse = self.pivot[k].recip();
            let block = self.articulated[k].to_matrix();
            let block = block.map(|row| row.map(|x| x * inverse));
            put(&mut matrix, 6 * k, 6 * k, &block);
        }
        matrix
    }

    /// U = 1 + T_dᵀ (T_l − 1)ᵀ 𝒩 T_d, nv × nv (1995: 22a).
    pub fn u(&self) -> Matrix<S> {
        let (mut strictly, td) = (self.tl(), self.td());
        for k in 0..6 * self.nv() {
            strictly[(k, k)] = S::zero();
        }
        let wrenches = self.articulated_over_pivots().product(&td);
        let mut u = strictly.product(&td).transpose().product(&wrenches);
        for k in 0..self.nv() {
            u[(k, k)] += S::one();
        }
        u
    }

    /// I = Nᵀ M N, rotors on its diagonal (20).
    pub fn inertia(&self) -> Matrix<S> {
        let n = self.n();
        let mut inertia = n.transpose().product(&self.mass().product(&n));
        for (k, rotor) in self.rotor.iter().enumerate() {
            inertia[(k, k)] += *rotor;
        }
        inertia
    }

    /// C by (28) and (29), without Ṅ.
    pub fn coriolis(&self) -> Matrix<S> {
        let n = self.body_count();
        // D̃_j and Σ_children B_cjᵀ H̃_cj, both of which act on angular parts only
        let mut beyond = vec![Turned::zero(); n + 1];
        for i in (1..=n).rev() {
            beyond[i].moment = beyond[i].moment + self.gyroscopic(i);
            let j = self.parent[i];
            if j == 0 {
                continue;
            }
            let rate = Mat3::skew(self.twist[j].linear - self.twist[i].linear);
            let composite = self.composite[i];
            let added = Turned {
                moment: composite.coupling * rate, // M̃_i Ḃ_ij
                force: composite.translational.full() * rate,
            };
            let arm = self.centre[i] - self.centre[j];
            beyond[j] = beyond[j].plus(beyond[i].plus(added).carried(arm)); // (28)
        }
        let mut matrix = Matrix::zeros(self.nv(), self.nv());
        for j in 1..=n {
            for l in self.freedoms(j) {
                let wrench = self.composite[j].times(self.column_rate[l])
                    + beyond[j].times(self.column[l].angular);
                let mut i = j;
                while i != 0 {
                    // B_jiᵀ
                    let arm = self.centre[j] - self.centre[i];
                    let moment = arm.cross_add(wrench.force, wrench.moment);
                    let there = Force::new(moment, wrench.force);
                    for k in self.freedoms(i) {
                        matrix[(k, l)] = there.dot(self.column[k]); // (29), i ≤ j
                    }
                    i = self.parent[i];
                }
            }
            let mut i = self.parent[j];
            while i != 0 {
                for l in self.freedoms(i) {
                    let rate = self.twist[i].linear - self.twist[j].linear;
                    let (p, change) = (self.column[l], self.column_rate[l]);
                    let mut moved = self.transferred(j, i, change);
                    moved.linear = rate.cross_add(p.angular, moved.linear);
                    let wrench = self.composite[j].times(moved) + beyond[j].times(p.angular);
                    for k in self.freedoms(j) {
                        matrix[(k, l)] = wrench.dot(self.column[k]); // (29), i > j
                    }
                }
                i = self.parent[i];
            }
        }
        matrix
    }
}

impl Denoc<f64> {
    /// The first freedom whose pivot is not a positive finite number, from the tips.
    pub(crate) fn singular_freedom(&self) -> Option<usize> {
        (0..self.nv())
            .rev()
            .find(|&k| !(self.pivot[k].is_finite() && self.pivot[k] > 0.0))
    }

    /// Are all objects finite?
    pub(crate) fn is_finite(&self) -> bool {
        let motions = self.column.iter().chain(&self.column_rate);
        let wrenches = self.psi_hat.iter().chain(&self.psi);
        let operators = self.composite.iter().chain(&self.articulated);
        motions
            .chain(&self.twist)
            .flat_map(|m| m.to_array())
            .chain(wrenches.flat_map(|f| f.to_array()))
            .chain(self.centre.iter().flat_map(|c| c.to_array()))
            .chain(operators.flat_map(|m| m.to_matrix().into_iter().flatten()))
            .all(f64::is_finite)
    }
}

/// [0 0; ã 0].
fn lower_left<S: Scalar>(a: Vec3<S>) -> [[S; 6]; 6] {
    let mut block = [[S::zero(); 6]; 6];
    for (row, entries) in Mat3::skew(a).rows().into_iter().enumerate() {
        block[row + 3][..3].copy_from_slice(&entries);
    }
    block
}

fn put<S: Scalar>(matrix: &mut Matrix<S>, row: usize, column: usize, block: &[[S; 6]; 6]) {
    for (i, entries) in block.iter().enumerate() {
        matrix.row_mut(row + i)[column..column + 6].copy_from_slice(entries);
    }
}
