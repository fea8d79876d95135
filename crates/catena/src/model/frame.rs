//! Frames of a model.

use crate::spatial::Pose;

/// A named frame fixed in a body.
#[derive(Clone, Debug)]
pub struct FrameInfo {
    /// Name of the frame.
    pub name: String,
    /// Body it is fixed in; 0 is the ground.
    pub body: usize,
    /// Pose in the body frame.
    pub body_from_frame: Pose<f64>,
}
