//! One step of the reverse Gaussian elimination at one body: a freedom is eliminated from its articulated inertia.
//!
//! With p the direction of the freedom, J its rotor inertia and M̂ the articulated inertia
//!
//! ```text
//! m̂ = pᵀ M̂ p + J,   ψ = M̂ p / m̂,   M̂' = M̂ − ψ (M̂ p)ᵀ,   and therefore   M̂' p = ψ J
//! ```
//!
//! Two things keep long chains accurate. M̂ is stored symmetric: the usual formula A − A A⁻¹ Aᵀ leaves twice the antisymmetric
//! part of A behind, so that round-off doubles at every spherical joint until it dominates. And the row and column of
//! M̂' along p are *written* as ψ J (exactly zero without a rotor), never formed by subtraction, which avoids
//! cancellation. docs/peers/spherical-chains.md measures both.
//!
//! Directions are coordinate axes: rotation about z and translation along z. Other axes are reached by cyclic permutation (`renamed`).

use super::{ArticulatedInertia, Force, Mat3, Sym3, Vec3};
use crate::scalar::Scalar;

/// The articulated inertia after an elimination, and its factors.
#[derive(Clone, Copy, Debug)]
pub struct Eliminated<S> {
    /// M̂': the inertia transmitted to the parent.
    pub rest: ArticulatedInertia<S>,
    /// ψ = M̂ p / m̂.
    pub psi: Force<S>,
    /// 1/m̂; m̂ is the inertia that the freedom's own effort accelerates.
    pub inverse: S,
}

impl<S: Scalar> ArticulatedInertia<S> {
    /// Eliminates the rotation about z.
    #[inline(always)]
    pub fn eliminate_rotation_z(self, rotor: S) -> Eliminated<S> {
        let (a, b, c) = (self.rotational, self.coupling, self.translational);
        let row = Vec3::new(b.x.z, b.y.z, b.z.z); // force part of M̂ p
        let pivot = a.zz + rotor;
        let inverse = pivot.recip();
        let psi = Force::new(
            Vec3::new(a.xz * inverse, a.yz * inverse, S::one() - rotor * inverse),
            row * inverse,
        );
        let (m, f) = (psi.moment, psi.force);
        let rest = ArticulatedInertia {
            rotational: Sym3 {
                xx: (-m.x).mul_add(a.xz, a.xx),
                yy: (-m.y).mul_add(a.yz, a.yy),
                zz: m.z * rotor,
                xy: (-m.x).mul_add(a.yz, a.xy),
                xz: m.x * rotor,
                yz: m.y * rotor,
            },
            coupling: Mat3 {
                x: Vec3::new(
                    (-m.x).mul_add(row.x, b.x.x),
                    (-m.y).mul_add(row.x, b.x.y),
                    f.x * rotor,
                ),
                y: Vec3::new(
                    (-m.x).mul_add(row.y, b.y.x),
                    (-m.y).mul_add(row.y, b.y.y),
                    f.y * rotor,
                ),
                z: Vec3::new(
                    (-m.x).mul_add(row.z, b.z.x),
                    (-m.y).mul_add(row.z, b.z.y),
                    f.z * rotor,
                ),
            },
            translational: minus_outer(c, f, row),
        };
        Eliminated { rest, psi, inverse }
    }

    /// Eliminates the translation along z.
    #[inline(always)]
    pub fn eliminate_translation_z(self, rotor: S) -> Eliminated<S> {
        let (a, b, c) = (self.rotational, self.coupling, self.translational);
        let column = b.z; // moment part of M̂ p
        let pivot = c.zz + rotor;
        let inverse = pivot.recip();
        let psi = Force::new(
            column * inverse,
            Vec3::new(c.xz * inverse, c.yz * inverse, S::one() - rotor * inverse),
        );
        let (m, f) = (psi.moment, psi.force);
        let rest = ArticulatedInertia {
            rotational: minus_outer(a, m, column),
            coupling: Mat3 {
                x: m.scale_add(-c.xz, b.x),
                y: m.scale_add(-c.yz, b.y),
                z: m * rotor,
            },
            translational: Sym3 {
                xx: (-f.x).mul_add(c.xz, c.xx),
                yy: (-f.y).mul_add(c.yz, c.yy),
                zz: f.z * rotor,
                xy: (-f.x).mul_add(c.yz, c.xy),
                xz: f.x * rotor,
                yz: f.y * rotor,
            },
        };
        Eliminated { rest, psi, inverse }
    }

    /// Eliminates the screw motion about and along z with this pitch: p = (e_z; pitch e_z).
    ///
    /// M̂' p = ψ J gives the column of the rotation from that of the translation: M̂' (e_z; 0) = ψ J − pitch M̂' (0; e_z).
    #[inline(always)]
    pub fn eliminate_screw_z(self, pitch: S, rotor: S) -> Eliminated<S> {
        let (a, b, c) = (self.rotational, self.coupling, self.translational);
        let moment = b.z.scale_add(pitch, Vec3::new(a.xz, a.yz, a.zz));
        let force = Vec3::new(c.xz, c.yz, c.zz).scale_add(pitch, Vec3::new(b.x.z, b.y.z, b.z.z));
        let pivot = force.z.mul_add(pitch, moment.z) + rotor;
        let inverse = pivot.recip();
        let psi = Force::new(moment * inverse, force * inverse);
        let (m, f) = (psi.moment, psi.force);
        let translational = minus_outer(c, f, force);
        let bx = m.scale_add(-force.x, b.x);
        let by = m.scale_add(-force.y, b.y);
        let bz = m.scale_add(-force.z, b.z);
        let row = Vec3::new(
            f.x.mul_add(rotor, -(pitch * translational.xz)),
            f.y.mul_add(rotor, -(pitch * translational.yz)),
            f.z.mul_add(rotor, -(pitch * translational.zz)),
        );
        let rest = ArticulatedInertia {
            rotational: Sym3 {
                xx: (-m.x).mul_add(moment.x, a.xx),
                yy: (-m.y).mul_add(moment.y, a.yy),
                zz: m.z.mul_add(rotor, -(pitch * row.z)),
                xy: (-m.x).mul_add(moment.y, a.xy),
                xz: m.x.mul_add(rotor, -(pitch * bz.x)),
                yz: m.y.mul_add(rotor, -(pitch * bz.y)),
            },
            coupling: Mat3 {
                x: Vec3::new(bx.x, bx.y, row.x),
                y: Vec3::new(by.x, by.y, row.y),
                z: Vec3::new(bz.x, bz.y, row.z),
            },
            translational,
        };
        Eliminated { rest, psi, inverse }
    }

    /// M̂ − ψ pᵀ for a ψ parallel to p, in any direction: known zeros of coordinate axes are not used.
    #[inline(always)]
    pub fn less_outer(self, psi: Force<S>, p: Force<S>) -> Self {
        let (m, b) = (psi.moment, self.coupling);
        ArticulatedInertia {
            rotational: minus_outer(self.rotational, m, p.moment),
            coupling: Mat3 {
                x: m.scale_add(-p.force.x, b.x),
                y: m.scale_add(-p.force.y, b.y),
                z: m.scale_add(-p.force.z, b.z),
            },
            translational: minus_outer(self.translational, psi.force, p.force),
        }
    }

    /// The operator with axes permuted as by [`Vec3::renamed`].
    #[inline(always)]
    pub fn renamed(self) -> Self {
        ArticulatedInertia {
            rotational: self.rotational.renamed(),
            coupling: self.coupling.renamed(),
            translational: self.translational.renamed(),
        }
    }

    /// The operator in axes rotated about z.
    #[inline(always)]
    pub fn turned_z(self, sin: S, cos: S) -> Self {
        ArticulatedInertia {
            rotational: self.rotational.turned_z(sin, cos),
            coupling: self.coupling.turned_z(sin, cos),
            translational: self.translational.turned_z(sin, cos),
        }
    }
}

/// c − a bᵀ, known to be symmetric.
#[inline(always)]
fn minus_outer<S: Scalar>(c: Sym3<S>, a: Vec3<S>, b: Vec3<S>) -> Sym3<S> {
    Sym3 {
        xx: (-a.x).mul_add(b.x, c.xx),
        yy: (-a.y).mul_add(b.y, c.yy),
        zz: (-a.z).mul_add(b.z, c.zz),
        xy: (-a.x).mul_add(b.y, c.xy),
        xz: (-a.x).mul_add(b.z, c.xz),
        yz: (-a.y).mul_add(b.z, c.yz),
    }
}
