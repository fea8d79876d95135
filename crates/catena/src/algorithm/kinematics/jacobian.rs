//! Geometric Jacobians: which twist of a frame do the joint rates produce?
//!
//! Column k is the twist of the frame per unit of freedom k: the joint's column Pₖ, at the frame's origin in world
//! axes. Rows: angular velocity, then velocity of the origin. J̇ v is the acceleration of the frame at v̇ = 0,
//! [`Kinematics::frame_acceleration`].

use super::Kinematics;
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::{FrameInfo, Model};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Motion, Pose};

/// Jacobians.
pub const CARD: Card = Card {
    name: "Geometric Jacobian",
    question: "Jacobian of a frame",
    call: "frame_jacobian",
    file: "algorithm/kinematics/jacobian.rs",
    order: "O(d)",
    source: "Whitney 1972; Saha 1999, eq. 17",
};

/// The 6×nv Jacobian of a frame, in world axes at the frame's origin. `kinematics` must be at the configuration in question.
pub fn frame_jacobian<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    kinematics: &Kinematics<S>,
    frame: &FrameInfo,
    jacobian: &mut Matrix<S>,
) {
    kernel(model, kinematics, frame, jacobian.as_mut_slice());
}

/// The computation itself, row after row, inlined into the caller so that it is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    kinematics: &Kinematics<S>,
    frame: &FrameInfo,
    jacobian: &mut [S],
) {
    let tree = model.tree();
    let nv = model.nv();
    for entry in jacobian.iter_mut() {
        *entry = S::zero();
    }
    let origin =
        kinematics.world_from_body[frame.body].point(frame.body_from_frame.translation.lift());
    let mut i = frame.body;
    while i != 0 {
        let info = tree.nodes[i];
        let pose = kinematics.world_from_body[i];
        let joint = model.joint_at(i, &kinematics.angles, &kinematics.pose[i]);
        let columns = joint.columns_in(pose.rotation);
        for k in 0..info.kind.nv() {
            let Motion { angular, linear } = columns[k];
            let linear = angular.cross_add(origin - pose.translation, linear);
            let column = [
                angular.x, angular.y, angular.z, linear.x, linear.y, linear.z,
            ];
            for row in 0..6 {
                jacobian[row * nv + info.v + k] = column[row];
            }
        }
        i = info.parent;
    }
}

/// The 6×nv Jacobian of a body, in body axes about its origin: its twist is J v (on a base at rest), and an external
/// wrench w on it is equivalent to the efforts Jᵀ w; so ∂τ/∂w = −Jᵀ in inverse dynamics.
pub fn body_jacobian<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    kinematics: &Kinematics<S>,
    body: usize,
    jacobian: &mut Matrix<S>,
) {
    let tree = model.tree();
    jacobian.clear();
    // outwards: the columns of an inner joint relative to the body
    let mut body_from_here = Pose::identity();
    let mut i = body;
    while i != 0 {
        let info = tree.nodes[i];
        let joint = model.joint_at(i, &kinematics.angles, &kinematics.pose[i]);
        for k in 0..info.kind.nv() {
            let column = body_from_here.motion_out(joint.column(k));
            for (row, value) in column.to_array().into_iter().enumerate() {
                jacobian[(row, info.v + k)] = value;
            }
        }
        body_from_here = body_from_here * kinematics.pose[i].inverse();
        i = info.parent;
    }
}
