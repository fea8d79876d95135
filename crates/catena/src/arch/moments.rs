//! Moments of rigid bodies in registers.

use super::links::Link;
use super::motions::QuadWrench;
use super::quad::{Quad, QuadMat};

/// Mass (in all lanes), first and second moments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuadMoments {
    pub mass: Quad,
    pub first: Quad,
    pub second: QuadMat,
}

impl QuadMoments {
    #[inline(always)]
    pub fn zero() -> Self {
        QuadMoments {
            mass: Quad::zero(),
            first: Quad::zero(),
            second: QuadMat::zero(),
        }
    }

    #[inline(always)]
    pub fn plus(self, b: Self) -> Self {
        QuadMoments {
            mass: self.mass + b.mass,
            first: self.first + b.first,
            second: self.second.plus(b.second),
        }
    }

    /// Moments of a body, rotated into these axes. Constants are broadcast as they are loaded.
    #[inline(always)]
    pub fn of(link: &Link, axes: &QuadMat) -> Self {
        let half = QuadMat {
            x: axes.times(link.second.x.spread_from_memory()),
            y: axes.times(link.second.y.spread_from_memory()),
            z: axes.times(link.second.z.spread_from_memory()),
        };
        QuadMoments {
            mass: link.mass,
            first: axes.times(link.first.spread_from_memory()),
            second: half.times_transposed(axes),
        }
    }

    /// The moments about an origin in which the present one is at `arm`: Σ + h rᵀ + r (h + m r)ᵀ.
    #[inline(always)]
    pub fn shifted(self, arm: &Quad) -> Self {
        let r = arm.spread_from_memory();
        let first = arm.mul_add(self.mass, self.first);
        let f = first.spread();
        let (h, s) = (self.first, self.second);
        QuadMoments {
            mass: self.mass,
            first,
            second: QuadMat {
                x: arm.mul_add(f[0], h.mul_add(r[0], s.x)),
                y: arm.mul_add(f[1], h.mul_add(r[1], s.y)),
                z: arm.mul_add(f[2], h.mul_add(r[2], s.z)),
            },
        }
    }

    /// The trace of the second moment, in all lanes.
    #[inline(always)]
    pub fn trace(&self) -> Quad {
        let s = &self.second;
        let diagonal = s.x.blend::<0b0010>(s.y).blend::<0b0100>(s.z);
        Quad::splat(diagonal.sum())
    }

    /// The moments in the axes to which `axes` rotates the present ones.
    #[inline(always)]
    pub fn turned(self, axes: &QuadMat) -> Self {
        let half = QuadMat {
            x: axes.times(self.second.x.spread()),
            y: axes.times(self.second.y.spread()),
            z: axes.times(self.second.z.spread()),
        };
        QuadMoments {
            mass: self.mass,
            first: axes.times(self.first.spread()),
            second: half.times_transposed(axes),
        }
    }

    /// Momentum of a rotation about z at unit rate: (−Σxz, −Σyz, Σxx + Σyy), (−h_y, h_x, 0).
    #[inline(always)]
    pub fn about_z(&self) -> QuadWrench {
        let s = &self.second;
        let along = s.x.xxx() + s.y.yyy();
        QuadWrench {
            moment: (Quad::zero() - s.z).blend::<0b0100>(along),
            force: self.first.swapped() * Quad::new(-1.0, 1.0, 0.0),
        }
    }
}
