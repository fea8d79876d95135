//! Twists and wrenches. They are different types: a twist and a wrench pair to a power, nothing else.

use super::Vec3;
use crate::scalar::Scalar;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// A twist or a twist rate: angular part, and the linear part of a reference point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion<S> {
    /// Angular velocity or acceleration.
    pub angular: Vec3<S>,
    /// Linear velocity or acceleration of the reference point.
    pub linear: Vec3<S>,
}

/// A wrench: moment about a reference point, and force.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force<S> {
    /// Moment about the reference point.
    pub moment: Vec3<S>,
    /// Resultant force.
    pub force: Vec3<S>,
}

impl<S: Scalar> Motion<S> {
    /// The twist with these parts.
    #[inline(always)]
    pub const fn new(angular: Vec3<S>, linear: Vec3<S>) -> Self {
        Motion { angular, linear }
    }

    /// No motion.
    #[inline(always)]
    pub fn zero() -> Self {
        Motion::new(Vec3::zero(), Vec3::zero())
    }

    /// Components: angular, then linear.
    #[inline(always)]
    pub fn to_array(self) -> [S; 6] {
        let (a, l) = (self.angular, self.linear);
        [a.x, a.y, a.z, l.x, l.y, l.z]
    }

    /// v × m, the rate of change of a motion vector m that moves with the twist v.
    #[inline(always)]
    pub fn cross(self, m: Motion<S>) -> Motion<S> {
        Motion::new(
            self.angular.cross(m.angular),
            self.angular
                .cross_add(m.linear, self.linear.cross(m.angular)),
        )
    }
}

impl<S: Scalar> Force<S> {
    /// The wrench with these parts.
    #[inline(always)]
    pub const fn new(moment: Vec3<S>, force: Vec3<S>) -> Self {
        Force { moment, force }
    }

    /// No wrench.
    #[inline(always)]
    pub fn zero() -> Self {
        Force::new(Vec3::zero(), Vec3::zero())
    }

    /// Components: moment, then force.
    #[inline(always)]
    pub fn to_array(self) -> [S; 6] {
        let (n, f) = (self.moment, self.force);
        [n.x, n.y, n.z, f.x, f.y, f.z]
    }

    /// Power of the wrench along a twist with the same axes and reference point.
    #[inline(always)]
    pub fn dot(self, v: Motion<S>) -> S {
        self.moment.dot(v.angular) + self.force.dot(v.linear)
    }
}

impl<S: Scalar> Add for Motion<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Motion::new(self.angular + b.angular, self.linear + b.linear)
    }
}

impl<S: Scalar> Sub for Motion<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Motion::new(self.angular - b.angular, self.linear - b.linear)
    }
}

impl<S: Scalar> Mul<S> for Motion<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: S) -> Self {
        Motion::new(self.angular * s, self.linear * s)
    }
}

impl<S: Scalar> Add for Force<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Force::new(self.moment + b.moment, self.force + b.force)
    }
}

impl<S: Scalar> AddAssign for Force<S> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl<S: Scalar> Sub for Force<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Force::new(self.moment - b.moment, self.force - b.force)
    }
}

impl<S: Scalar> Neg for Force<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Force::new(-self.moment, -self.force)
    }
}

impl<S: Scalar> Mul<S> for Force<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: S) -> Self {
        Force::new(self.moment * s, self.force * s)
    }
}

impl<S: Scalar> Force<S> {
    /// The wrench with axes permuted as by [`Vec3::renamed`].
    #[inline(always)]
    pub fn renamed(self) -> Self {
        Force::new(self.moment.renamed(), self.force.renamed())
    }

    /// Both parts rotated about z.
    #[inline(always)]
    pub fn turned_z(self, sin: S, cos: S) -> Self {
        Force::new(
            self.moment.turned_z(sin, cos),
            self.force.turned_z(sin, cos),
        )
    }

    /// `self` + b s.
    #[inline(always)]
    pub fn add_scaled(self, b: Self, s: S) -> Self {
        Force::new(
            b.moment.scale_add(s, self.moment),
            b.force.scale_add(s, self.force),
        )
    }
}

impl<S: Scalar> Motion<S> {
    /// Both parts rotated about z.
    #[inline(always)]
    pub fn turned_z(self, sin: S, cos: S) -> Self {
        Motion::new(
            self.angular.turned_z(sin, cos),
            self.linear.turned_z(sin, cos),
        )
    }
}
