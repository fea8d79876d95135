//! The constants of the bodies, laid out for registers.

use super::quad::{Quad, QuadMat};
use crate::model::{Model, Node};
use crate::spatial::{Mat3, RigidInertia};

/// One body and the joint that carries it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The body's place in the tree, and its coordinates.
    pub node: Node,
    /// Rotation of the joint's placement, by columns and by rows.
    pub columns: QuadMat,
    pub rows: QuadMat,
    pub translation: Quad,
    pub translation_yzx: Quad,
    /// Mass in all lanes.
    pub mass: Quad,
    pub first: Quad,
    pub first_yzx: Quad,
    /// ∫ ρ ρᵀ dm.
    pub second: QuadMat,
    pub second_yzx: QuadMat,
    /// Inertia tensor about the body's origin.
    pub tensor: QuadMat,
    /// −h̃: force from angular acceleration.
    pub lever: QuadMat,
}

impl Link {
    /// The bodies of a model; entry 0, the ground, has no mass.
    pub fn all(model: &Model) -> Vec<Link> {
        model
            .bodies
            .iter()
            .enumerate()
            .map(|(i, body)| {
                let inertia = if i == 0 {
                    RigidInertia::zero()
                } else {
                    body.inertia
                };
                let second = QuadMat::from_columns(inertia.second.full());
                let (first, translation) = (
                    Quad::from_vec3(inertia.first),
                    Quad::from_vec3(body.placement.translation),
                );
                let node = model.tree().nodes[i];
                Link {
                    node,
                    columns: QuadMat::from_columns(body.placement.rotation),
                    rows: QuadMat::from_columns(body.placement.rotation.transpose()),
                    translation,
                    translation_yzx: translation.yzx(),
                    mass: Quad::splat(inertia.mass),
                    first,
                    first_yzx: first.yzx(),
                    second,
                    second_yzx: QuadMat {
                        x: second.x.yzx(),
                        y: second.y.yzx(),
                        z: second.z.yzx(),
                    },
                    tensor: QuadMat::from_columns(inertia.tensor().full()),
                    lever: QuadMat::from_columns(Mat3::skew(inertia.first).transpose()),
                }
            })
            .collect()
    }
}
