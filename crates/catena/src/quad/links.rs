//! The constants of the bodies, laid out for registers.

use super::register::{Quad, QuadMat};
use crate::model::{Model, Node};
use crate::scalar::Fused;
use crate::spatial::{Mat3, Pose, RigidInertia, Sym3, Vec3};

/// One body and the joint that carries it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Where the body is in the tree, and its coordinates.
    pub node: Node,
    /// Rotor inertia, of a joint with one freedom.
    pub rotor: f64,
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
    /// Its trace, in all lanes.
    pub trace: Quad,
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
                    rotor: model.dofs.get(node.v).map_or(0.0, |dof| dof.armature),
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
                    trace: Quad::splat(inertia.second.trace()),
                    tensor: QuadMat::from_columns(inertia.tensor().full()),
                    lever: QuadMat::from_columns(Mat3::skew(inertia.first).transpose()),
                }
            })
            .collect()
    }
}

/// Where a body stands in its parent: rotation by columns and by rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuadPose {
    pub columns: QuadMat,
    pub rows: QuadMat,
    pub translation: Quad,
}

impl QuadPose {
    /// Turned about the joint's z by an angle.
    #[inline(always)]
    pub fn revolute(link: &Link, sin: Fused, cos: Fused) -> Self {
        let (s, c) = (Quad::splat(sin.0), Quad::splat(cos.0));
        let (x, y) = (link.columns.x, link.columns.y);
        let one = Quad::splat(1.0);
        let along = c.blend::<0b1100>(one); // (c, c, 1, 1)
        let across = s * Quad::new(1.0, -1.0, 0.0); // (s, −s, 0, 0)
        QuadPose {
            columns: QuadMat {
                x: x.mul_add(c, y * s),
                y: x.taken_from(s, y * c),
                z: link.columns.z,
            },
            rows: QuadMat {
                x: link.rows.x.mul_add(along, link.rows.x.swapped() * across),
                y: link.rows.y.mul_add(along, link.rows.y.swapped() * across),
                z: link.rows.z.mul_add(along, link.rows.z.swapped() * across),
            },
            translation: link.translation,
        }
    }

    /// Moved along the joint's z.
    #[inline(always)]
    pub fn prismatic(link: &Link, q: Fused) -> Self {
        let translation = link.columns.z.mul_add(Quad::splat(q.0), link.translation);
        QuadPose {
            columns: link.columns,
            rows: link.rows,
            translation,
        }
    }

    /// Any pose.
    #[inline(always)]
    pub fn general(pose: Pose<Fused>) -> Self {
        let translation = Quad::from_fused(pose.translation);
        QuadPose {
            columns: QuadMat::from_fused(pose.rotation),
            rows: QuadMat::from_fused(pose.rotation.transpose()),
            translation,
        }
    }
}

/// (0, 0, x, 0).
#[inline(always)]
pub(super) fn along_z(x: Fused) -> Quad {
    Quad::zero().blend::<0b0100>(Quad::splat(x.0))
}

/// ω × e_z x = (ω.y, −ω.x, 0) x.
#[inline(always)]
pub(super) fn cross_z(omega: Quad, x: Fused) -> Quad {
    omega.swapped() * (Quad::splat(x.0) * Quad::new(1.0, -1.0, 0.0))
}

/// Plain numbers of two registers.
#[inline(always)]
pub(super) fn fused_pair(a: Quad, b: Quad) -> (Vec3<Fused>, Vec3<Fused>) {
    (a.to_fused(), b.to_fused())
}

/// A symmetric matrix in plain numbers, from its columns.
#[inline(always)]
pub(super) fn symmetric(m: QuadMat) -> Sym3<Fused> {
    Sym3::from_upper(m.to_fused())
}
