//! The papers' variables for a free-floating robot: v = (t_e; θ̇), with t_e the twist of a point E.
//!
//! Saha, "Symbolic factorization of inertia matrix for space robot simulation". t_e = (ω; v_E) and w_e = (n_E; f_E) are in
//! inertial components. As the formulas stand, E must be fixed in the free body #0 (see NOTATION.md); the twist of a point on
//! another body follows from t_e and θ̇ by the kinematics of the arm.
//!
//! In our coordinates the free joint has (ẋ in joint axes; ω in body axes), so
//!
//! ```text
//! t_e = W u,   u = (ẋ; ω),   Î_e = W⁻ᵀ Û W⁻¹            Û = joint block of the factorization
//! ṫ_e = (R ω̇ ; ẍ + ω̇ × e + ω × (ω × e))                  e = E − origin of body 0, inertial
//! ```

use super::Factorization;
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::{JointKind, Model};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Force, Mat3, Motion, Vec3};

/// The space robot's end-effector variables.
pub const CARD: Card = Card {
    name: "End-effector variables of a free-floating robot",
    question: "solve with the inertia matrix",
    call: "EndEffector",
    file: "algorithm/factorization/end_effector.rs",
    order: "O(1) after the factorization",
    source: "Saha (space robot), eqs. 2–8, 11–30",
};

/// A point E fixed in the free body of a free-floating robot, at one configuration.
#[derive(Clone, Copy, Debug)]
pub struct EndEffector<S> {
    body: usize,
    /// Joint axes → inertial axes.
    joint_axes: Mat3<S>,
    /// Body axes → inertial axes.
    rotation: Mat3<S>,
    /// E − origin of the body, inertial components.
    offset: Vec3<S>,
}

impl<S: Scalar> EndEffector<S> {
    /// The point at `offset` (body axes, from the body's origin) of `body`, which must be on a free joint to the ground.
    /// `factors` must have been made at the configuration in question, on a base at rest.
    pub fn new<P: Parameter<S>>(
        model: &Model<P>,
        factors: &Factorization<S>,
        body: usize,
        offset: Vec3<S>,
    ) -> Option<Self> {
        let info = model.tree().bodies.get(body)?;
        if info.kind != JointKind::Free || info.parent != 0 {
            return None;
        }
        let rotation = factors.pose[body].rotation;
        Some(EndEffector {
            body,
            joint_axes: model.bodies[body].placement.rotation.lift(),
            rotation,
            offset: rotation * offset,
        })
    }

    /// t_e from the rates of the free joint.
    pub fn twist(&self, rates: &[S]) -> Motion<S> {
        let omega = self.rotation * Vec3::new(rates[3], rates[4], rates[5]);
        let linear = self.joint_axes * Vec3::new(rates[0], rates[1], rates[2]);
        Motion::new(omega, omega.cross_add(self.offset, linear))
    }

    /// ṫ_e from the rates of the free joint and their derivatives.
    pub fn twist_rate(&self, rates: &[S], derivatives: &[S]) -> Motion<S> {
        let omega = self.rotation * Vec3::new(rates[3], rates[4], rates[5]);
        // ω̇ of the body axes' components: the derivative of R ω is R ω̇, since ω × ω = 0
        let without_turning = self.twist(derivatives);
        Motion::new(
            without_turning.angular,
            omega.cross_add(omega.cross(self.offset), without_turning.linear),
        )
    }

    /// The generalized force of the free joint equivalent to a wrench w_e at E.
    pub fn joint_force(&self, wrench: Force<S>) -> [S; 6] {
        let f = self.joint_axes.transpose_times(wrench.force);
        let n = self
            .rotation
            .transpose_times(self.offset.cross_add(wrench.force, wrench.moment));
        [f.x, f.y, f.z, n.x, n.y, n.z]
    }

    /// Î_e, the 6×6 block of D that belongs to t_e (eq. 28 with k = 1): the only dense block of the factorization.
    pub fn inertia<P: Parameter<S>>(
        &self,
        model: &Model<P>,
        factors: &Factorization<S>,
    ) -> Matrix<S> {
        self.about_point(&factors.joint_block(model, self.body))
    }

    /// W⁻ᵀ A W⁻¹: an inertia matrix of the free joint's rates as one of t_e.
    pub fn about_point(&self, block: &Matrix<S>) -> Matrix<S> {
        // columns of W⁻¹: rates of the joint for the unit twists at E
        let mut back = Matrix::zeros(6, 6);
        for k in 0..6 {
            let mut unit = [S::zero(); 6];
            unit[k] = S::one();
            let omega = Vec3::new(unit[0], unit[1], unit[2]);
            let linear = Vec3::new(unit[3], unit[4], unit[5]) - omega.cross(self.offset);
            let x = self.joint_axes.transpose_times(linear);
            let w = self.rotation.transpose_times(omega);
            for (row, value) in [x.x, x.y, x.z, w.x, w.y, w.z].into_iter().enumerate() {
                back[(row, k)] = value;
            }
        }
        back.transpose().product(&block.product(&back))
    }
}
