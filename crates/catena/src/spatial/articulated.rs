//! Inertia of an articulated body: a symmetric 6×6 operator kept as three 3×3 blocks.

use super::{Force, Mat3, Motion, Pose, Sym3, Vec3};
use crate::scalar::Scalar;
use std::ops::Add;

/// ```text
/// [ moment ]   [ A   B ] [ angular acceleration ]
/// [ force  ] = [ Bᵀ  C ] [ linear acceleration  ]
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArticulatedInertia<S> {
    /// A.
    pub rotational: Sym3<S>,
    /// B.
    pub coupling: Mat3<S>,
    /// C.
    pub translational: Sym3<S>,
}

impl<S: Scalar> ArticulatedInertia<S> {
    /// No inertia.
    #[inline(always)]
    pub fn zero() -> Self {
        ArticulatedInertia {
            rotational: Sym3::zero(),
            coupling: Mat3::zero(),
            translational: Sym3::zero(),
        }
    }

    /// The wrench that gives the twist rate `m`.
    #[inline(always)]
    pub fn times(self, m: Motion<S>) -> Force<S> {
        Force::new(
            self.coupling
                .times_add(m.linear, self.rotational * m.angular),
            self.translational * m.linear + self.coupling.transpose_times(m.angular),
        )
    }

    /// The operator in other axes: `self` in b, the result in a, with a common origin.
    #[inline(always)]
    pub fn turned(self, a_from_b: Mat3<S>) -> Self {
        ArticulatedInertia {
            rotational: self.rotational.conjugate(a_from_b),
            coupling: self.coupling.conjugate(a_from_b),
            translational: self.translational.conjugate(a_from_b),
        }
    }

    /// The operator about another origin: `self` about a point at `p`, the result about the origin.
    ///
    /// ```text
    /// B' = B + p̃ C,   A' = A + p̃ Bᵀ + (p̃ B'ᵀ)ᵀ
    /// ```
    #[inline(always)]
    pub fn shifted(self, p: Vec3<S>) -> Self {
        let c = self.translational.full();
        let b = self.coupling;
        let shifted = Mat3 {
            x: p.cross_add(c.x, b.x),
            y: p.cross_add(c.y, b.y),
            z: p.cross_add(c.z, b.z),
        };
        // p̃ Bᵀ has the columns p × (row of B).
        let row = b.transpose();
        let new_row = shifted.transpose();
        let a = self.rotational;
        // entry (i, j) of p̃ Bᵀ is (p × row_j(B))_i, of (p̃ B'ᵀ)ᵀ it is (p × row_i(B'))_j
        ArticulatedInertia {
            rotational: Sym3::new(
                a.xx + cross_x(p, row.x + new_row.x),
                a.yy + cross_y(p, row.y + new_row.y),
                a.zz + cross_z(p, row.z + new_row.z),
                a.xy + cross_x(p, row.y) + cross_y(p, new_row.x),
                a.xz + cross_x(p, row.z) + cross_z(p, new_row.x),
                a.yz + cross_y(p, row.z) + cross_z(p, new_row.y),
            ),
            coupling: shifted,
            translational: self.translational,
        }
    }

    /// The inertia transformed to another frame: `self` is given in b, the result in a.
    #[inline(always)]
    pub fn seen_from(self, a_from_b: Pose<S>) -> Self {
        self.turned(a_from_b.rotation).shifted(a_from_b.translation)
    }

    /// M̂ − ψ̂ ψᵀ, which is symmetric because the two wrenches are parallel.
    #[inline(always)]
    pub fn minus_outer(self, psi_hat: Force<S>, psi: Force<S>) -> Self {
        let outer = |a: Vec3<S>, b: Vec3<S>| Mat3 {
            x: a * b.x,
            y: a * b.y,
            z: a * b.z,
        };
        let (n, f) = (psi_hat.moment, psi_hat.force);
        ArticulatedInertia {
            rotational: self.rotational - Sym3::from_upper(outer(n, psi.moment)),
            coupling: self.coupling - outer(n, psi.force),
            translational: self.translational - Sym3::from_upper(outer(f, psi.force)),
        }
    }

    /// The 6×6 matrix, angular part first.
    pub fn to_matrix(self) -> [[S; 6]; 6] {
        let (a, b, c) = (
            self.rotational.full().rows(),
            self.coupling.rows(),
            self.translational.full().rows(),
        );
        let mut m = [[S::zero(); 6]; 6];
        for i in 0..3 {
            for j in 0..3 {
                m[i][j] = a[i][j];
                m[i][j + 3] = b[i][j];
                m[j + 3][i] = b[i][j];
                m[i + 3][j + 3] = c[i][j];
            }
        }
        m
    }
}

#[inline(always)]
fn cross_x<S: Scalar>(a: Vec3<S>, b: Vec3<S>) -> S {
    a.y.mul_add(b.z, -(a.z * b.y))
}
#[inline(always)]
fn cross_y<S: Scalar>(a: Vec3<S>, b: Vec3<S>) -> S {
    a.z.mul_add(b.x, -(a.x * b.z))
}
#[inline(always)]
fn cross_z<S: Scalar>(a: Vec3<S>, b: Vec3<S>) -> S {
    a.x.mul_add(b.y, -(a.y * b.x))
}

impl<S: Scalar> Add for ArticulatedInertia<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        ArticulatedInertia {
            rotational: self.rotational + b.rotational,
            coupling: self.coupling + b.coupling,
            translational: self.translational + b.translational,
        }
    }
}
