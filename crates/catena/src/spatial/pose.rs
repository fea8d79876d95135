//! Position and orientation of one frame in another.

use super::{Force, Mat3, Motion, Vec3};
use crate::scalar::{Parameter, Scalar};
use std::ops::Mul;

/// The pose of a frame in another. Variables are named `a_from_b`: `a_from_b * b_from_c` is `a_from_c`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose<S> {
    /// Axes of b in components of a (columns).
    pub rotation: Mat3<S>,
    /// Origin of b in components of a.
    pub translation: Vec3<S>,
}

impl<S: Copy> Pose<S> {
    /// The pose with this rotation and translation.
    #[inline(always)]
    pub const fn new(rotation: Mat3<S>, translation: Vec3<S>) -> Self {
        Pose {
            rotation,
            translation,
        }
    }

    /// A model's pose as a pose of the computation.
    #[inline(always)]
    pub fn lift<T: Copy>(self) -> Pose<T>
    where
        S: Parameter<T>,
    {
        Pose::new(self.rotation.lift(), self.translation.lift())
    }
}

impl<S: Scalar> Pose<S> {
    /// The two frames coincide.
    #[inline(always)]
    pub fn identity() -> Self {
        Pose::new(Mat3::identity(), Vec3::zero())
    }

    /// A translation.
    #[inline(always)]
    pub fn shift(translation: Vec3<S>) -> Self {
        Pose::new(Mat3::identity(), translation)
    }

    /// b_from_a.
    #[inline(always)]
    pub fn inverse(self) -> Self {
        let rotation = self.rotation.transpose();
        Pose::new(rotation, -(rotation * self.translation))
    }

    /// A point given in b, in components of a.
    #[inline(always)]
    pub fn point(self, p: Vec3<S>) -> Vec3<S> {
        self.rotation.times_add(p, self.translation)
    }

    /// A twist (or twist rate without its centripetal part) of a rigid body, from axes and origin of a to those of b.
    #[inline(always)]
    pub fn motion_into(self, m: Motion<S>) -> Motion<S> {
        let at_b = m.angular.cross_add(self.translation, m.linear);
        Motion::new(
            self.rotation.transpose_times(m.angular),
            self.rotation.transpose_times(at_b),
        )
    }

    /// A twist from axes and origin of b to those of a.
    #[inline(always)]
    pub fn motion_out(self, m: Motion<S>) -> Motion<S> {
        let angular = self.rotation * m.angular;
        let linear = self
            .translation
            .cross_add(angular, self.rotation * m.linear);
        Motion::new(angular, linear)
    }

    /// A wrench from axes and origin of b to those of a.
    #[inline(always)]
    pub fn force_out(self, f: Force<S>) -> Force<S> {
        let force = self.rotation * f.force;
        let moment = self.translation.cross_add(force, self.rotation * f.moment);
        Force::new(moment, force)
    }

    /// A wrench from axes and origin of a to those of b.
    #[inline(always)]
    pub fn force_into(self, f: Force<S>) -> Force<S> {
        let moment = f.force.cross_add(self.translation, f.moment);
        Force::new(
            self.rotation.transpose_times(moment),
            self.rotation.transpose_times(f.force),
        )
    }
}

impl<S: Scalar> Mul for Pose<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Pose::new(self.rotation * b.rotation, self.point(b.translation))
    }
}
