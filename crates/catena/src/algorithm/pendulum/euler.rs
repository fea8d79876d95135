//! Euler parameters p = (e₀, e) as the paper uses them: of any length, since Newton's iterates leave the unit sphere.
//!
//! ```text
//! E = [−e  e₀1 + ẽ],  G = [−e  e₀1 − ẽ]  (3×4)      A = E Gᵀ, quadratic in p (body → inertial)
//! E Eᵀ = G Gᵀ = |p|² 1,   E p = G p = 0             ω = 2 G s, ω̇ = 2 G ṡ   (body axes)
//! Ȧ = 2 E(s) Gᵀ                                     s = ½ Gᵀ ω             (|p| = 1, p·s = 0)
//! ```

use crate::scalar::Scalar;
use crate::spatial::{Mat3, Vec3};

/// Four numbers (e₀, e₁, e₂, e₃).
pub type Four<S> = [S; 4];

/// x·y.
#[inline(always)]
pub fn dot<S: Scalar>(x: Four<S>, y: Four<S>) -> S {
    x[0].mul_add(y[0], x[1].mul_add(y[1], x[2].mul_add(y[2], x[3] * y[3])))
}

#[inline(always)]
fn vector<S: Copy>(x: Four<S>) -> Vec3<S> {
    Vec3::new(x[1], x[2], x[3])
}

/// A = E(p) G(p)ᵀ: a rotation matrix where |p| = 1.
#[inline(always)]
pub fn rotation<S: Scalar>([w, x, y, z]: Four<S>) -> Mat3<S> {
    let two = S::constant(2.0);
    let (ww, xx, yy, zz) = (w * w, x * x, y * y, z * z);
    let (w2, x2, y2) = (w * two, x * two, y * two);
    let (wx, wy, wz) = (w2 * x, w2 * y, w2 * z);
    let (xy, xz, yz) = (x2 * y, x2 * z, y2 * z);
    let (plus, minus) = (ww + xx, ww - xx);
    let (sum, difference) = (yy + zz, yy - zz);
    Mat3 {
        x: Vec3::new(plus - sum, xy + wz, xz - wy),
        y: Vec3::new(xy - wz, minus + difference, yz + wx),
        z: Vec3::new(xz + wy, yz - wx, minus - difference),
    }
}

/// Ȧ = 2 E(s) G(p)ᵀ: the rate of A as p moves by s.
#[inline(always)]
pub fn rotation_rate<S: Scalar>(p: Four<S>, s: Four<S>) -> Mat3<S> {
    let two = S::constant(2.0);
    let d = [s[0] * two, s[1] * two, s[2] * two, s[3] * two];
    let (ww, xx, yy, zz) = (p[0] * d[0], p[1] * d[1], p[2] * d[2], p[3] * d[3]);
    let wx = p[0].mul_add(d[1], p[1] * d[0]);
    let wy = p[0].mul_add(d[2], p[2] * d[0]);
    let wz = p[0].mul_add(d[3], p[3] * d[0]);
    let xy = p[1].mul_add(d[2], p[2] * d[1]);
    let xz = p[1].mul_add(d[3], p[3] * d[1]);
    let yz = p[2].mul_add(d[3], p[3] * d[2]);
    let (plus, minus) = (ww + xx, ww - xx);
    let (sum, difference) = (yy + zz, yy - zz);
    Mat3 {
        x: Vec3::new(plus - sum, xy + wz, xz - wy),
        y: Vec3::new(xy - wz, minus + difference, yz + wx),
        z: Vec3::new(xz + wy, yz - wx, minus - difference),
    }
}

/// G(p) x.
#[inline(always)]
pub fn g_times<S: Scalar>(p: Four<S>, x: Four<S>) -> Vec3<S> {
    let (e, v) = (vector(p), vector(x));
    v.cross_add(e, v.scale_add(p[0], e * -x[0]))
}

/// E(p) x.
#[inline(always)]
pub fn e_times<S: Scalar>(p: Four<S>, x: Four<S>) -> Vec3<S> {
    let (e, v) = (vector(p), vector(x));
    e.cross_add(v, v.scale_add(p[0], e * -x[0]))
}

/// G(p)ᵀ v.
#[inline(always)]
pub fn g_transpose_times<S: Scalar>(p: Four<S>, v: Vec3<S>) -> Four<S> {
    let e = vector(p);
    let Vec3 { x, y, z } = e.cross_add(v, v * p[0]);
    [-e.dot(v), x, y, z]
}

/// Columns of G(p).
#[inline(always)]
pub fn g_columns<S: Scalar>([w, x, y, z]: Four<S>) -> [Vec3<S>; 4] {
    [
        Vec3::new(-x, -y, -z),
        Vec3::new(w, -z, y),
        Vec3::new(z, w, -x),
        Vec3::new(-y, x, w),
    ]
}

/// Columns of E(p).
#[inline(always)]
pub fn e_columns<S: Scalar>([w, x, y, z]: Four<S>) -> [Vec3<S>; 4] {
    [
        Vec3::new(-x, -y, -z),
        Vec3::new(w, z, -y),
        Vec3::new(-z, w, x),
        Vec3::new(y, -x, w),
    ]
}

/// Columns of 2 E(p) ā, the derivative of A a with respect to p; ā = [0 −aᵀ; a −ã].
#[inline(always)]
pub fn turned_derivative<S: Scalar>(p: Four<S>, a: Vec3<S>) -> [Vec3<S>; 4] {
    let a = a * S::constant(2.0);
    let [e0, e1, e2, e3] = e_columns(p);
    let Vec3 { x, y, z } = a;
    [
        e1.scale_add(x, e2.scale_add(y, e3 * z)),
        e0.scale_add(-x, e2.scale_add(-z, e3 * y)),
        e0.scale_add(-y, e1.scale_add(z, e3 * -x)),
        e0.scale_add(-z, e1.scale_add(-y, e2 * x)),
    ]
}

/// Columns of 2 G(p) z⁺, the derivative of Aᵀ z with respect to p; z⁺ = [0 −zᵀ; z z̃].
#[inline(always)]
pub fn turned_back_derivative<S: Scalar>(p: Four<S>, z: Vec3<S>) -> [Vec3<S>; 4] {
    let Vec3 { x, y, z } = z * S::constant(2.0);
    let [g0, g1, g2, g3] = g_columns(p);
    [
        g1.scale_add(x, g2.scale_add(y, g3 * z)),
        g0.scale_add(-x, g2.scale_add(z, g3 * -y)),
        g0.scale_add(-y, g1.scale_add(-z, g3 * x)),
        g0.scale_add(-z, g1.scale_add(y, g2 * -x)),
    ]
}
