//! Helpers.

use crate::arch::{Link, Quad, QuadMat};
use crate::scalar::Fused;
use crate::spatial::{Pose, Sym3, Vec3};

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
