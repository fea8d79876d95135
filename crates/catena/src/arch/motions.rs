//! Poses, wrenches and twists in registers.

use super::quad::{Quad, QuadMat};

/// Pose of a body in its parent: rotation by columns, and translation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptPose {
    pub rotation: QuadMat,
    pub translation: Quad,
}

/// Moment and force on a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuadWrench {
    pub moment: Quad,
    pub force: Quad,
}

/// A twist or a twist rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuadMotion {
    pub angular: Quad,
    pub linear: Quad,
}
