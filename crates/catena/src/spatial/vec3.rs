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

    /// Applies a function to each component.
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

/// 2⁶⁰⁰: times this, or divided by it, every component that is too small or too large to be squared can be.
const FAR: f64 = f64::from_bits((1023 + 600) << 52);

impl Vec3<f64> {
    /// Euclidean length, computed without overflow or underflow of squares.
    pub fn norm(self) -> f64 {
        let squared = self.dot(self);
        if (1e-280..1e300).contains(&squared) {
            return squared.sqrt();
        }
        let (scaled, unit) = self.scaled();
        scaled.dot(scaled).sqrt() * unit
    }

    /// The vector of length 1 in the same direction, however long or short this one is; none for zero and for non-finite vectors.
    pub fn unit(self) -> Option<Self> {
        let (scaled, _) = self.scaled();
        let length = scaled.norm();
        if length == 1.0 {
            return Some(scaled);
        }
        (length > 0.0 && length.is_finite()).then(|| scaled * (1.0 / length))
    }

    /// The vector in a unit in which its components can be squared, and that unit. A power of two: no digit changes.
    pub(crate) fn scaled(self) -> (Self, f64) {
        let largest = self.x.abs().max(self.y.abs()).max(self.z.abs());
        if largest > 1e140 {
            (self * (1.0 / FAR), FAR)
        } else if largest < 1e-140 {
            (self * FAR, 1.0 / FAR)
        } else {
            (self, 1.0)
        }
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

    /// The vector under a cyclic permutation of the axes: y becomes z, x becomes y, z becomes x.
    #[inline(always)]
    pub fn renamed(self) -> Self {
        Vec3::new(self.z, self.x, self.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Squares of the components would overflow or underflow.
    #[test]
    fn lengths_and_directions_of_any_size() {
        for size in [5e-324, 1e-310, 1e-200, 1e-150, 1.0, 1e150, 1e155, 1e300] {
            let v = Vec3::new(0.0, 3.0, -4.0) * size;
            let expected = 5.0 * size;
            assert!((v.norm() - expected).abs() <= 1e-15 * expected, "{size:e}");
            let unit = v.unit().expect("it has a direction");
            let error = unit - Vec3::new(0.0, 0.6, -0.8);
            assert!(error.norm() < 2e-16, "{size:e}: {unit:?}");
        }
        let largest = Vec3::new(f64::MAX, f64::MAX, 0.0).unit().expect("finite");
        assert!((largest.norm() - 1.0).abs() < 2e-16 && largest.x == largest.y);
        assert_eq!(Vec3::<f64>::zero().norm(), 0.0);
        assert_eq!(Vec3::<f64>::zero().unit(), None);
        assert!(Vec3::new(0.0, f64::NAN, 1.0).norm().is_nan());
        assert_eq!(Vec3::new(0.0, f64::NAN, 1.0).unit(), None);
        assert_eq!(Vec3::new(0.0, f64::INFINITY, 1.0).unit(), None);
    }
}
