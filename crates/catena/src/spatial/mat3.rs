//! 3×3 matrices: general (stored by columns) and symmetric.

use super::Vec3;
use crate::scalar::{Parameter, Scalar};
use std::ops::{Add, Mul, Sub};

/// A 3×3 matrix, stored as three columns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mat3<S> {
    /// First column.
    pub x: Vec3<S>,
    /// Second column.
    pub y: Vec3<S>,
    /// Third column.
    pub z: Vec3<S>,
}

impl<S: Copy> Mat3<S> {
    /// The matrix with these columns.
    #[inline(always)]
    pub const fn from_columns(x: Vec3<S>, y: Vec3<S>, z: Vec3<S>) -> Self {
        Mat3 { x, y, z }
    }

    /// The matrix with these rows.
    #[inline(always)]
    pub fn from_rows(rows: [[S; 3]; 3]) -> Self {
        let [a, b, c] = rows;
        Mat3 {
            x: Vec3::new(a[0], b[0], c[0]),
            y: Vec3::new(a[1], b[1], c[1]),
            z: Vec3::new(a[2], b[2], c[2]),
        }
    }

    /// The rows as arrays.
    #[inline(always)]
    pub fn rows(self) -> [[S; 3]; 3] {
        [
            [self.x.x, self.y.x, self.z.x],
            [self.x.y, self.y.y, self.z.y],
            [self.x.z, self.y.z, self.z.z],
        ]
    }

    /// The transposed matrix.
    #[inline(always)]
    pub fn transpose(self) -> Self {
        Mat3 {
            x: Vec3::new(self.x.x, self.y.x, self.z.x),
            y: Vec3::new(self.x.y, self.y.y, self.z.y),
            z: Vec3::new(self.x.z, self.y.z, self.z.z),
        }
    }

    /// A model's matrix as a matrix of the computation.
    #[inline(always)]
    pub fn lift<T: Copy>(self) -> Mat3<T>
    where
        S: Parameter<T>,
    {
        Mat3 {
            x: self.x.lift(),
            y: self.y.lift(),
            z: self.z.lift(),
        }
    }
}

impl<S: Scalar> Mat3<S> {
    /// The identity.
    #[inline(always)]
    pub fn identity() -> Self {
        let (o, l) = (S::zero(), S::one());
        Mat3 {
            x: Vec3::new(l, o, o),
            y: Vec3::new(o, l, o),
            z: Vec3::new(o, o, l),
        }
    }

    /// The zero matrix.
    #[inline(always)]
    pub fn zero() -> Self {
        Mat3 {
            x: Vec3::zero(),
            y: Vec3::zero(),
            z: Vec3::zero(),
        }
    }

    /// Rotation about x by the angle with this sine and cosine.
    #[inline(always)]
    pub fn rotation_x(sin: S, cos: S) -> Self {
        Mat3::identity().times_rotation_x(sin, cos)
    }

    /// Rotation about z by the angle with this sine and cosine.
    #[inline(always)]
    pub fn rotation_z(sin: S, cos: S) -> Self {
        Mat3::identity().times_rotation_z(sin, cos)
    }

    /// `self` · Rz: only two columns change.
    #[inline(always)]
    pub fn times_rotation_z(self, sin: S, cos: S) -> Self {
        Mat3 {
            x: self.x.scale_add(cos, self.y * sin),
            y: self.y.scale_add(cos, self.x * -sin),
            z: self.z,
        }
    }

    /// `self` · Rx: only two columns change.
    #[inline(always)]
    pub fn times_rotation_x(self, sin: S, cos: S) -> Self {
        Mat3 {
            x: self.x,
            y: self.y.scale_add(cos, self.z * sin),
            z: self.z.scale_add(cos, self.y * -sin),
        }
    }

    /// Rotation matrix of a unit quaternion (w, x, y, z), body → parent.
    #[inline(always)]
    pub fn from_quaternion([w, x, y, z]: [S; 4]) -> Self {
        let two = S::constant(2.0);
        let (x2, y2, z2) = (x * two, y * two, z * two);
        let (wx, wy, wz) = (w * x2, w * y2, w * z2);
        let (xx, xy, xz) = (x * x2, x * y2, x * z2);
        let (yy, yz, zz) = (y * y2, y * z2, z * z2);
        let one = S::one();
        Mat3 {
            x: Vec3::new(one - (yy + zz), xy + wz, xz - wy),
            y: Vec3::new(xy - wz, one - (xx + zz), yz + wx),
            z: Vec3::new(xz + wy, yz - wx, one - (xx + yy)),
        }
    }

    /// The cross-product matrix ã, with ã b = a × b.
    #[inline(always)]
    pub fn skew(a: Vec3<S>) -> Self {
        let o = S::zero();
        Mat3 {
            x: Vec3::new(o, a.z, -a.y),
            y: Vec3::new(-a.z, o, a.x),
            z: Vec3::new(a.y, -a.x, o),
        }
    }

    /// Aᵀ v.
    #[inline(always)]
    pub fn transpose_times(self, v: Vec3<S>) -> Vec3<S> {
        Vec3::new(self.x.dot(v), self.y.dot(v), self.z.dot(v))
    }

    /// A v + c.
    #[inline(always)]
    pub fn times_add(self, v: Vec3<S>, c: Vec3<S>) -> Vec3<S> {
        self.x
            .scale_add(v.x, self.y.scale_add(v.y, self.z.scale_add(v.z, c)))
    }

    /// a × each column of `self`, i.e. ã · `self`.
    #[inline(always)]
    pub fn cross_columns(self, a: Vec3<S>) -> Self {
        Mat3 {
            x: a.cross(self.x),
            y: a.cross(self.y),
            z: a.cross(self.z),
        }
    }

    /// R `self` Rᵀ for a rotation (or any matrix) R.
    #[inline(always)]
    pub fn conjugate(self, r: Mat3<S>) -> Self {
        // (R B) Rᵀ: column j of the product with Rᵀ is Σ_k (R B)_k R_jk.
        let rb = r * self;
        let rt = r.transpose();
        rb * rt
    }
}

impl Mat3<f64> {
    /// The unit quaternion (w, x, y, z) of a rotation, body → parent: computed from its largest component, which is positive, so that nothing is lost to
    /// cancellation.
    pub fn to_quaternion(self) -> [f64; 4] {
        let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = self.rows();
        // four times the squares of w, x, y, z
        let squares = [
            1.0 + xx + yy + zz,
            1.0 + xx - yy - zz,
            1.0 - xx + yy - zz,
            1.0 - xx - yy + zz,
        ];
        let mut largest = 0;
        for k in 1..4 {
            if squares[k] > squares[largest] {
                largest = k;
            }
        }
        // four times their products with the largest
        let p = match largest {
            0 => [squares[0], zy - yz, xz - zx, yx - xy],
            1 => [zy - yz, squares[1], xy + yx, xz + zx],
            2 => [xz - zx, xy + yx, squares[2], yz + zy],
            _ => [yx - xy, xz + zx, yz + zy, squares[3]],
        };
        let length = p.iter().map(|x| x * x).sum::<f64>().sqrt();
        p.map(|x| x / length)
    }
}

impl<S: Scalar> Mul<Vec3<S>> for Mat3<S> {
    type Output = Vec3<S>;
    #[inline(always)]
    fn mul(self, v: Vec3<S>) -> Vec3<S> {
        self.x.scale_add(v.x, self.y.scale_add(v.y, self.z * v.z))
    }
}

impl<S: Scalar> Mul for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Mat3 {
            x: self * b.x,
            y: self * b.y,
            z: self * b.z,
        }
    }
}

impl<S: Scalar> Mul<S> for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: S) -> Self {
        Mat3 {
            x: self.x * s,
            y: self.y * s,
            z: self.z * s,
        }
    }
}

impl<S: Scalar> Add for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Mat3 {
            x: self.x + b.x,
            y: self.y + b.y,
            z: self.z + b.z,
        }
    }
}

impl<S: Scalar> Sub for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Mat3 {
            x: self.x - b.x,
            y: self.y - b.y,
            z: self.z - b.z,
        }
    }
}

/// A symmetric 3×3 matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sym3<S> {
    /// Entry (1,1).
    pub xx: S,
    /// Entry (2,2).
    pub yy: S,
    /// Entry (3,3).
    pub zz: S,
    /// Entry (1,2).
    pub xy: S,
    /// Entry (1,3).
    pub xz: S,
    /// Entry (2,3).
    pub yz: S,
}

impl<S: Copy> Sym3<S> {
    /// The symmetric matrix with these entries: diagonal, then xy, xz, yz.
    #[inline(always)]
    pub const fn new(xx: S, yy: S, zz: S, xy: S, xz: S, yz: S) -> Self {
        Sym3 {
            xx,
            yy,
            zz,
            xy,
            xz,
            yz,
        }
    }

    /// A function of every entry.
    pub fn map<T: Copy>(self, f: impl Fn(S) -> T) -> Sym3<T> {
        Sym3::new(
            f(self.xx),
            f(self.yy),
            f(self.zz),
            f(self.xy),
            f(self.xz),
            f(self.yz),
        )
    }

    /// The symmetric matrix with all nine entries.
    #[inline(always)]
    pub fn full(self) -> Mat3<S> {
        Mat3 {
            x: Vec3::new(self.xx, self.xy, self.xz),
            y: Vec3::new(self.xy, self.yy, self.yz),
            z: Vec3::new(self.xz, self.yz, self.zz),
        }
    }

    /// A model's matrix as a matrix of the computation.
    #[inline(always)]
    pub fn lift<T: Copy>(self) -> Sym3<T>
    where
        S: Parameter<T>,
    {
        Sym3::new(
            self.xx.lift(),
            self.yy.lift(),
            self.zz.lift(),
            self.xy.lift(),
            self.xz.lift(),
            self.yz.lift(),
        )
    }
}

impl<S: Scalar> Sym3<S> {
    /// The zero matrix.
    #[inline(always)]
    pub fn zero() -> Self {
        let o = S::zero();
        Sym3::new(o, o, o, o, o, o)
    }

    /// s · 1.
    #[inline(always)]
    pub fn isotropic(s: S) -> Self {
        let o = S::zero();
        Sym3::new(s, s, s, o, o, o)
    }

    /// The upper triangle of a matrix known to be symmetric.
    #[inline(always)]
    pub fn from_upper(m: Mat3<S>) -> Self {
        Sym3::new(m.x.x, m.y.y, m.z.z, m.y.x, m.z.x, m.z.y)
    }

    /// a aᵀ.
    #[inline(always)]
    pub fn outer(a: Vec3<S>) -> Self {
        Sym3::new(
            a.x * a.x,
            a.y * a.y,
            a.z * a.z,
            a.x * a.y,
            a.x * a.z,
            a.y * a.z,
        )
    }

    /// xx + yy + zz.
    #[inline(always)]
    pub fn trace(self) -> S {
        self.xx + self.yy + self.zz
    }

    /// tr(Σ) 1 − Σ: the inertia tensor that belongs to the second-moment matrix Σ.
    #[inline(always)]
    pub fn trace_minus(self) -> Self {
        Sym3::new(
            self.yy + self.zz,
            self.xx + self.zz,
            self.xx + self.yy,
            -self.xy,
            -self.xz,
            -self.yz,
        )
    }

    /// R `self` Rᵀ, forming only the six distinct entries.
    #[inline(always)]
    pub fn conjugate(self, r: Mat3<S>) -> Self {
        let ra = r * self.full();
        let rt = r.transpose();
        // Entry (i, j) = Σ_k (R A)_ik R_jk.
        let rows = ra.transpose();
        let (r0, r1, r2) = (rows.x, rows.y, rows.z);
        Sym3::new(
            r0.dot(rt.x),
            r1.dot(rt.y),
            r2.dot(rt.z),
            r0.dot(rt.y),
            r0.dot(rt.z),
            r1.dot(rt.z),
        )
    }

    /// `self` + s b.
    #[inline(always)]
    pub fn add_scaled(self, b: Self, s: S) -> Self {
        Sym3::new(
            b.xx.mul_add(s, self.xx),
            b.yy.mul_add(s, self.yy),
            b.zz.mul_add(s, self.zz),
            b.xy.mul_add(s, self.xy),
            b.xz.mul_add(s, self.xz),
            b.yz.mul_add(s, self.yz),
        )
    }

    /// Inverse of a positive definite matrix, by cofactors after one division.
    #[inline(always)]
    pub fn inverse(self) -> Self {
        let cxx = self.yy.mul_add(self.zz, -(self.yz * self.yz));
        let cxy = self.xz.mul_add(self.yz, -(self.xy * self.zz));
        let cxz = self.xy.mul_add(self.yz, -(self.xz * self.yy));
        let cyy = self.xx.mul_add(self.zz, -(self.xz * self.xz));
        let cyz = self.xy.mul_add(self.xz, -(self.xx * self.yz));
        let czz = self.xx.mul_add(self.yy, -(self.xy * self.xy));
        let scale = self
            .xx
            .mul_add(cxx, self.xy.mul_add(cxy, self.xz * cxz))
            .recip();
        Sym3::new(
            cxx * scale,
            cyy * scale,
            czz * scale,
            cxy * scale,
            cxz * scale,
            cyz * scale,
        )
    }
}

impl<S: Scalar> Mul<Vec3<S>> for Sym3<S> {
    type Output = Vec3<S>;
    #[inline(always)]
    fn mul(self, v: Vec3<S>) -> Vec3<S> {
        self.full() * v
    }
}

impl<S: Scalar> Add for Sym3<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Sym3::new(
            self.xx + b.xx,
            self.yy + b.yy,
            self.zz + b.zz,
            self.xy + b.xy,
            self.xz + b.xz,
            self.yz + b.yz,
        )
    }
}

impl<S: Scalar> Sub for Sym3<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Sym3::new(
            self.xx - b.xx,
            self.yy - b.yy,
            self.zz - b.zz,
            self.xy - b.xy,
            self.xz - b.xz,
            self.yz - b.yz,
        )
    }
}

impl<S: Scalar> Mat3<S> {
    /// The matrix in axes rotated about z: Rz `self` Rzᵀ.
    #[inline(always)]
    pub fn turned_z(self, sin: S, cos: S) -> Self {
        let (x, y, z) = (
            self.x.turned_z(sin, cos),
            self.y.turned_z(sin, cos),
            self.z.turned_z(sin, cos),
        );
        Mat3 {
            x: x.scale_add(cos, y * -sin),
            y: x.scale_add(sin, y * cos),
            z,
        }
    }

    /// The matrix with axes permuted as by [`Vec3::renamed`].
    #[inline(always)]
    pub fn renamed(self) -> Self {
        Mat3 {
            x: self.z.renamed(),
            y: self.x.renamed(),
            z: self.y.renamed(),
        }
    }
}

impl<S: Scalar> Sym3<S> {
    /// The matrix in axes rotated about z: Rz `self` Rzᵀ.
    #[inline(always)]
    pub fn turned_z(self, sin: S, cos: S) -> Self {
        let (cc, cs, ss) = (cos * cos, cos * sin, sin * sin);
        let cross = (cs + cs) * self.xy;
        Sym3 {
            xx: cc.mul_add(self.xx, ss.mul_add(self.yy, -cross)),
            yy: ss.mul_add(self.xx, cc.mul_add(self.yy, cross)),
            zz: self.zz,
            xy: cs.mul_add(self.xx - self.yy, (cc - ss) * self.xy),
            xz: cos.mul_add(self.xz, -(sin * self.yz)),
            yz: sin.mul_add(self.xz, cos * self.yz),
        }
    }

    /// The matrix with axes permuted as by [`Vec3::renamed`].
    #[inline(always)]
    pub fn renamed(self) -> Self {
        Sym3 {
            xx: self.zz,
            yy: self.xx,
            zz: self.yy,
            xy: self.xz,
            xz: self.yz,
            yz: self.xy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every component is the largest once, and has either sign.
    #[test]
    fn quaternions_of_rotations() {
        for largest in 0..4 {
            for signs in 0..16 {
                let mut p = [0.1, 0.3, 0.5, 0.0];
                p[3] = (1.0f64 - 0.35).sqrt();
                p.rotate_right(largest);
                for (k, x) in p.iter_mut().enumerate() {
                    *x *= if signs >> k & 1 == 0 { 1.0 } else { -1.0 };
                }
                let found = Mat3::from_quaternion(p).to_quaternion();
                let turned = p[(3 + largest) % 4].signum();
                for (found, expected) in found.iter().zip(p) {
                    assert!((found - turned * expected).abs() < 1e-15, "{p:?} {found:?}");
                }
            }
        }
    }
}
