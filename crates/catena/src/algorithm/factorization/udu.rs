//! I = U D Uᵀ in O(n), without ever forming I.
//!
//! Saha, "The UDUᵀ decomposition of manipulator inertia matrix", and Saha (1999), appendix B: the reverse Gaussian
//! elimination of the inertia matrix, last freedom first, carried out symbolically, is a recursion over the bodies:
//!
//! ```text
//! tips to base   M̂ₖ = Mₖ + Σ_children Bᵀ (M̂_c − ψ̂_c ψ_cᵀ) B      articulated-body inertia        (50, 1.9)
//!                ψₖ = M̂ₖ pₖ / m̂ₖ,   m̂ₖ = pₖᵀ M̂ₖ pₖ + J                                       (51)
//! D = diag(m̂ₖ),  U has the entries αᵢₖ = pᵢᵀ Bₖᵢᵀ ψₖ for i on the path from k to the base, 1 on its diagonal   (54, 55)
//! ```
//!
//! Solving I x = b takes one inward and one outward sweep, eqs. 33–37 (`freed` is τ̂/m̂):
//!
//! ```text
//! tips to base   τ̂ₖ = bₖ − pₖᵀ η,   η ← η + ψₖ τ̂ₖ
//! base to tips   xₖ = τ̂ₖ/m̂ₖ − ψₖᵀ μ,   μ ← μ + pₖ xₖ
//! ```
//!
//! Physical meaning: M̂ₖ is the inertia of body k with everything beyond it free to move on its joints, and m̂ₖ the moment of
//! inertia (or mass) that the effort of freedom k accelerates. The recursion runs with the reference point on the joint,
//! where eliminated rows and columns are exact zeros (see [`Eliminated`](crate::spatial::Eliminated)); the papers' values
//! about the mass centre are given by [`Factorization::about_mass_centre`].
//!
//! A joint with several freedoms is eliminated inside its own block, last freedom first, so D stays diagonal;
//! [`Factorization::joint_block`] gives the block Pᵀ M̂ P itself. For a free base that is the papers' 6×6 block Î_e.

use super::{FactorsMut, FactorsRef};
use crate::card::Card;
use crate::elementary;
use crate::matrix::Matrix;
use crate::model::Angles;
use crate::model::Model;
use crate::model::joint::{Pivots, PivotsMut, any};
use crate::scalar::{Parameter, Scalar};
use crate::space::{Components, Space};
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose};

/// The factorization.
pub const CARD: Card = Card {
    name: "UDUᵀ factorization",
    question: "solve with the inertia matrix",
    call: "Factorization",
    file: "algorithm/factorization/udu.rs",
    order: "O(n); O(n) per right-hand side",
    source: "Saha 1995 (UDUᵀ), eqs. 17–39; Saha 1999, app. B; space robot: Saha, eqs. 11–30",
};

/// U, D and the articulated inertias of one configuration.
#[derive(Clone, Debug)]
pub struct Factorization<S> {
    pub(crate) angles: Angles<S>,
    pub(crate) pose: Vec<Pose<S>>,
    /// M̂ₖ, in body axes about the body's origin.
    pub(crate) articulated: Vec<ArticulatedInertia<S>>,
    /// ψₖ per freedom, in the axes the joint eliminates in.
    pub(crate) psi: Vec<Force<S>>,
    /// 1/m̂ₖ per freedom.
    pub(crate) inverse: Vec<S>,
    eta: Vec<Force<S>>,
    mu: Vec<Motion<S>>,
    freed: Vec<S>,
}

impl<S: Scalar> Factorization<S> {
    /// A workspace for this model; call [`factorize`](Self::factorize) before anything else.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        Factorization {
            angles: Angles::new(model.tree()),
            pose: vec![Pose::identity(); n],
            articulated: vec![ArticulatedInertia::zero(); n],
            psi: vec![Force::zero(); nv],
            inverse: vec![S::zero(); nv],
            eta: vec![Force::zero(); n],
            mu: vec![Motion::zero(); n],
            freed: vec![S::zero(); nv],
        }
    }

    /// Where recursions over components write the factors.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> FactorsMut<'_, Components<S>> {
        FactorsMut {
            angles: &mut self.angles,
            pose: &mut self.pose,
            articulated: &mut self.articulated,
            psi: &mut self.psi,
            inverse: &mut self.inverse,
        }
    }

    /// Takes over the factors that a recursion found in another space, except the articulated inertias.
    pub(crate) fn take<E: Space<Number = S>>(&mut self, found: FactorsRef<'_, E>) {
        self.angles.fill_from(found.angles);
        for (to, from) in self.pose.iter_mut().zip(found.pose) {
            *to = E::pose_numbers(E::kept(from));
        }
        for (to, from) in self.psi.iter_mut().zip(found.psi) {
            *to = E::wrench_numbers(from);
        }
        self.inverse.copy_from_slice(found.inverse);
    }

    /// References to them for recursions over components.
    #[inline(always)]
    pub(crate) fn found(&self) -> FactorsRef<'_, Components<S>> {
        FactorsRef {
            angles: &self.angles,
            pose: &self.pose,
            psi: &self.psi,
            inverse: &self.inverse,
        }
    }

    /// Factorizes I(q).
    pub fn factorize<P: Parameter<S>>(&mut self, model: &Model<P>, q: &[S]) {
        self.factorize_kernel(model, q);
    }

    /// Solves I x = b in place: x overwrites b.
    pub fn solve<P: Parameter<S>>(&mut self, model: &Model<P>, x: &mut [S]) {
        self.solve_kernel(model, x);
    }

    /// [`factorize`](Self::factorize), inlined into the caller so that it is compiled for the caller's instruction set.
    #[inline(always)]
    pub(crate) fn factorize_kernel<P: Parameter<S>>(&mut self, model: &Model<P>, q: &[S]) {
        let tree = model.tree();
        let n = model.body_count();
        self.angles.fill(tree, q);
        for i in 1..=n {
            let info = tree.nodes[i];
            let setting = model.setting(i, &self.angles);
            self.pose[i] = any::pose(info.kind, setting, &q[info.q..]);
            self.articulated[i] = model.inertia::<S>(i).articulated();
        }
        for i in (1..=n).rev() {
            let info = tree.nodes[i];
            let rest = self.eliminate(model, i);
            if info.parent != 0 {
                self.articulated[info.parent] =
                    self.articulated[info.parent] + rest.seen_from(self.pose[i]); // (50)
            }
        }
    }

    /// Eliminates the freedoms of the joint of body i from M̂ᵢ, which must be complete.
    #[inline(always)]
    pub(crate) fn eliminate<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        i: usize,
    ) -> ArticulatedInertia<S> {
        let info = model.tree().nodes[i];
        let joint = model.joint_at(i, &self.angles, &self.pose[i]);
        let range = info.v..info.v + info.kind.nv();
        let pivots = PivotsMut {
            psi: &mut self.psi[range.clone()],
            inverse: &mut self.inverse[range.clone()],
            dofs: &model.dofs[range],
        };
        joint.eliminate(self.articulated[i], pivots)
    }

    /// [`solve`](Self::solve), inlined for the same reason.
    #[inline(always)]
    pub(crate) fn solve_kernel<P: Parameter<S>>(&mut self, model: &Model<P>, x: &mut [S]) {
        let tree = model.tree();
        let n = model.body_count();
        for eta in &mut self.eta {
            *eta = Force::zero();
        }
        for i in (1..=n).rev() {
            let info = tree.nodes[i];
            let joint = model.joint_at(i, &self.angles, &self.pose[i]);
            let range = info.v..info.v + info.kind.nv();
            let pivots = Pivots::of(range.clone(), &self.psi, &self.inverse, &model.dofs);
            let freed = &mut self.freed[range.clone()];
            let through = joint.inward(self.eta[i], &x[range], pivots, freed);
            if info.parent != 0 {
                self.eta[info.parent] += self.pose[i].force_out(through);
            }
        }
        self.mu[0] = Motion::zero();
        for i in 1..=n {
            let info = tree.nodes[i];
            let joint = model.joint_at(i, &self.angles, &self.pose[i]);
            let range = info.v..info.v + info.kind.nv();
            let pivots = Pivots::of(range.clone(), &self.psi, &self.inverse, &model.dofs);
            let carried = self.pose[i].motion_into(self.mu[info.parent]);
            let freed = &self.freed[range.clone()];
            self.mu[i] = joint.outward(carried, freed, pivots, &mut x[range]);
        }
    }

    /// x ← D^(−1/2) U⁻¹ x for an x whose entries belong to these bodies only: ascending, each with all its ancestors. Then
    /// xᵀ y is the product of two such x in the metric of I⁻¹ (Mufti A-3).
    pub fn half_solve<P: Parameter<S>>(&mut self, model: &Model<P>, bodies: &[usize], x: &mut [S]) {
        let tree = model.tree();
        for &i in bodies {
            self.eta[i] = Force::zero();
        }
        for &i in bodies.iter().rev() {
            let info = tree.nodes[i];
            let joint = model.joint_at(i, &self.angles, &self.pose[i]);
            let range = info.v..info.v + info.kind.nv();
            let pivots = Pivots::of(range.clone(), &self.psi, &self.inverse, &model.dofs);
            let freed = &mut self.freed[range.clone()];
            let through = joint.inward(self.eta[i], &x[range.clone()], pivots, freed);
            for k in range {
                x[k] = self.freed[k] / self.inverse[k].sqrt();
            }
            if info.parent != 0 {
                self.eta[info.parent] += self.pose[i].force_out(through);
            }
        }
    }

    /// Solves for many right-hand sides at once: each row of `rhs` is one b and is overwritten by its x.
    pub fn solve_rows<P: Parameter<S>>(&mut self, model: &Model<P>, rhs: &mut Matrix<S>) {
        for k in 0..rhs.rows() {
            self.solve(model, rhs.row_mut(k));
        }
    }

    /// The inverses of the pivots, 1/m̂ₖ per freedom.
    pub fn inverse_pivots(&self) -> &[S] {
        &self.inverse
    }

    /// The diagonal of D: m̂ₖ.
    pub fn d(&self) -> Vec<S> {
        let mut d = Vec::with_capacity(self.inverse.len());
        for inverse in &self.inverse {
            d.push(inverse.recip());
        }
        d
    }

    /// U, unit upper triangular, with entries only on the paths to the base.
    pub fn u<P: Parameter<S>>(&self, model: &Model<P>) -> Matrix<S> {
        let tree = model.tree();
        let nv = model.nv();
        let mut u = Matrix::identity(nv);
        for i in model.bodies() {
            for k in tree.dof_range(i) {
                // α = pᵀ ψ inside the joint's own block and then down the path
                let mut psi = self.psi(model, k);
                let mut j = i;
                loop {
                    let mut alpha = [S::zero(); 6];
                    let joint = model.joint_at(j, &self.angles, &self.pose[j]);
                    joint.project(psi, &mut alpha[..tree.nodes[j].kind.nv()]);
                    for (row, alpha) in tree.dof_range(j).zip(alpha) {
                        if row < k {
                            u[(row, k)] = alpha;
                        }
                    }
                    psi = self.pose[j].force_out(psi);
                    j = tree.parent(j);
                    if j == 0 {
                        break;
                    }
                }
            }
        }
        u
    }

    /// ψ of freedom k, in body axes about the body's origin. Inside a joint with several freedoms it is that of M̂ with the
    /// joint's later freedoms already eliminated.
    pub fn psi<P: Parameter<S>>(&self, model: &Model<P>, k: usize) -> Force<S> {
        let body = model.tree().dofs[k].body;
        let joint = model.joint_at(body, &self.angles, &self.pose[body]);
        joint.restore(self.psi[k])
    }

    /// I⁻¹, by nv solves.
    pub fn inverse_matrix<P: Parameter<S>>(&mut self, model: &Model<P>) -> Matrix<S> {
        let mut inverse = Matrix::identity(model.nv());
        self.solve_rows(model, &mut inverse);
        inverse
    }

    /// M̂ of a body, in body axes about the body's origin.
    pub fn articulated_inertia(&self, body: usize) -> ArticulatedInertia<S> {
        self.articulated[body]
    }

    /// M̂ of a body about its mass centre, in body axes: the papers' M̂ₖ. Needs a body with mass.
    pub fn about_mass_centre<P: Parameter<S>>(
        &self,
        model: &Model<P>,
        body: usize,
    ) -> ArticulatedInertia<S> {
        let inertia = model.inertia::<S>(body);
        let centre = inertia.first * inertia.mass.recip();
        self.articulated[body].shifted(-centre)
    }

    /// Pᵀ M̂ P with rotors: the block of the joint that carries a body, before any of its own freedoms is eliminated.
    pub fn joint_block<P: Parameter<S>>(&self, model: &Model<P>, body: usize) -> Matrix<S> {
        let info = model.tree().nodes[body];
        let nv = info.kind.nv();
        let mut block = Matrix::zeros(nv, nv);
        let joint = model.joint_at(body, &self.angles, &self.pose[body]);
        for k in 0..nv {
            let wrench = self.articulated[body].times(joint.column(k));
            joint.project(wrench, block.row_mut(k));
            block[(k, k)] += model.dofs[info.v + k].armature.lift();
        }
        block
    }

    /// m̂ₖ relative to the inertia of the body it belongs to: 0 for a freedom without inertia.
    pub(crate) fn relative_pivots<P: Parameter<S>>(&self, model: &Model<P>) -> Vec<S> {
        let tree = model.tree();
        (0..model.nv())
            .map(|k| {
                let body = tree.dofs[k].body;
                let m = self.articulated[body];
                let pitch: S = model.bodies[body].pitch.lift();
                let rotation = m.rotational.trace() + pitch * pitch * m.translational.trace();
                let scale = if tree.dofs[k].force_unit == "N" {
                    m.translational.trace()
                } else {
                    rotation
                };
                let armature: S = model.dofs[k].armature.lift();
                (self.inverse[k] * (scale + armature)).recip()
            })
            .collect()
    }
}

impl Factorization<f64> {
    /// ln det I.
    pub fn log_determinant(&self) -> f64 {
        -self.inverse.iter().map(|x| elementary::ln(*x)).sum::<f64>()
    }

    /// The first freedom, from the tips, whose pivot is not a positive finite number.
    pub(crate) fn singular_freedom(&self) -> Option<usize> {
        (0..self.inverse.len())
            .rev()
            .find(|&k| !(self.inverse[k].is_finite() && self.inverse[k] > 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Inertial, JointKind, JointSpec, ModelBuilder};
    use crate::spatial::{Sym3, Vec3};

    /// A nut of 2 kg on a screw that advances by p per radian: I + m p² relative to tr I + 3 m p².
    #[test]
    fn pivots_of_a_screw_are_relative_to_turning_and_sliding() {
        for pitch in [0.125, 0.25, -3.0] {
            let mut builder = ModelBuilder::new("screw");
            let nut = Inertial {
                mass: 2.0,
                centre: Vec3::zero(),
                tensor: Sym3::new(0.2, 0.3, 0.4, 0.0, 0.0, 0.0),
            };
            builder.link("nut", nut);
            let mut joint = JointSpec::new("screw", JointKind::Helical, "world", "nut");
            joint.pitch = pitch;
            joint.axes.first = Vec3::new(0.0, 0.0, 1.0);
            builder.joint(joint);
            let model = builder.build().expect("sound");
            let mut factors = Factorization::new(&model);
            factors.factorize(&model, &[0.7]);
            let square = 2.0 * pitch * pitch;
            let wanted = (0.4 + square) / (0.9 + 3.0 * square);
            let found = factors.relative_pivots(&model)[0];
            assert!((found - wanted).abs() < 1e-15, "{pitch}: {found} {wanted}");
        }
    }
}
