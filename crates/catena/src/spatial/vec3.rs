//! Three-dimensional vectors.

use crate::scalar::{Parameter, Scalar};
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// A vector with three components.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3<S> {
    /// First component.
    pub x: S,
    /// Second component.
    pub y: S,
    /// Third component.
    pub z: S,
}

impl<S> Vec3<S> {
    /// The vector (x, y, z).
    #[inline(always)]
    pub const fn new(x: S, y: S, z: S) -> Self {
        Vec3 { x, y, z }
    }
}

impl<S: Copy> Vec3<S> {
    /// The components as an array.
    #[inline(always)]
    pub fn to_array(self) -> [S; 3] {
        [self.x, self.y, self.z]
    }

    /// The vector with these components.
    #[inline(always)]
    pub fn from_array([x, y, z]: [S; 3]) -> Self {
        Vec3 { x, y, z }
    }

    /// The same function applied to each component.
    #[inline(always)]
    pub fn map<T>(self, f: impl Fn(S) -> T) -> Vec3<T> {
        Vec3::new(f(self.x), f(self.y), f(self.z))
    }

    /// A model's vector as a vector of the computation.
    #[inline(always)]
    pub fn lift<T: Copy>(self) -> Vec3<T>
    where
        S: Parameter<T>,
    {
        // no closure here: it would not be inlined into code compiled for a wider instruction set
        Vec3::new(self.x.lift(), self.y.lift(), self.z.lift())
    }
}

impl<S: Scalar> Vec3<S> {
    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        Vec3::new(S::zero(), S::zero(), S::zero())
    }

    /// a · b.
    #[inline(always)]
    pub fn dot(self, b: Self) -> S {
        self.x.mul_add(b.x, self.y.mul_add(b.y, self.z * b.z))
    }

    /// `self` · b + c.
    #[inline(always)]
    pub fn dot_add(self, b: Self, c: S) -> S {
        self.x
            .mul_add(b.x, self.y.mul_add(b.y, self.z.mul_add(b.z, c)))
    }

    /// a × b.
    #[inline(always)]
    pub fn cross(self, b: Self) -> Self {
        Vec3::new(
            self.y.mul_add(b.z, -(self.z * b.y)),
            self.z.mul_add(b.x, -(self.x * b.z)),
            self.x.mul_add(b.y, -(self.y * b.x)),
        )
    }

    /// a × b + c.
    #[inline(always)]
    pub fn cross_add(self, b: Self, c: Self) -> Self {
        Vec3::new(
            self.y.mul_add(b.z, (-self.z).mul_add(b.y, c.x)),
            self.z.mul_add(b.x, (-self.x).mul_add(b.z, c.y)),
            self.x.mul_add(b.y, (-self.y).mul_add(b.x, c.z)),
        )
    }

    /// a s + c.
    #[inline(always)]
    pub fn scale_add(self, s: S, c: Self) -> Self {
        Vec3::new(
            self.x.mul_add(s, c.x),
            self.y.mul_add(s, c.y),
            self.z.mul_add(s, c.z),
        )
    }
}

impl<S: Scalar> Add for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Vec3::new(self.x + b.x, self.y + b.y, self.z + b.z)
    }
}

impl<S: Scalar> Sub for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Vec3::new(self.x - b.x, self.y - b.y, self.z - b.z)
    }
}

impl<S: Scalar> AddAssign for Vec3<S> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl<S: Scalar> SubAssign for Vec3<S> {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl<S: Scalar> Neg for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Vec3::new(-self.x, -self.y, -self.z)
    }
}

impl<S: Scalar> Mul<S> for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: S) -> Self {
        Vec3::new(self.x * s, self.y * s, self.z * s)
    }
}

impl Vec3<f64> {
    /// Euclidean length.
    pub fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }
}

impl<S: Scalar> Vec3<S> {
    /// Rotated about z by the angle with this sine and cosine.
    #[inline(always)]
    pub fn turned_z(self, sin: S, cos: S) -> Self {
        Vec3::new(
            self.x.mul_add(cos, -(self.y * sin)),
            self.x.mul_add(sin, self.y * cos),
            self.z,
        )
    }

    /// The same vector with axes renamed in a circle: what was y is called z, x is called y, z is called x.
    #[inline(always)]
    pub fn renamed(self) -> Self {
        Vec3::new(self.z, self.x, self.y)
    }
}
