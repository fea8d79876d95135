//! Articulated inertias in registers.
//!
//! Symmetric blocks are stored in full, so every operation that forms them is symmetric to the last bit (ψ ψᵀ m̂ as (aᵢ aⱼ)/m̂,
//! sums of a matrix and its transpose), and M̂' p is written, not subtracted. This keeps long chains accurate, here as in
//! components (see `spatial::elimination`).

use super::links::Link;
use super::moments::QuadMoments;
use super::motions::{KeptPose, QuadMotion, QuadWrench};
use super::quad::{Quad, QuadMat};
use crate::scalar::Fused;
use crate::spatial::{ArticulatedInertia, Sym3};

/// An articulated inertia in three blocks, with D = Bᵀ in the place of B.
///
/// ```text
/// [ moment ]   [ A  Dᵀ ] [ angular acceleration ]
/// [ force  ] = [ D  C  ] [ linear acceleration  ]
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuadArticulated {
    pub rotational: QuadMat,
    pub coupling: QuadMat,
    pub translational: QuadMat,
}

/// An inertia after one freedom was eliminated.
pub(crate) struct Without {
    pub rest: QuadArticulated,
    pub psi: QuadWrench,
    /// 1/m̂.
    pub inverse: f64,
}

impl QuadArticulated {
    #[inline(always)]
    pub fn zero() -> Self {
        QuadArticulated {
            rotational: QuadMat::zero(),
            coupling: QuadMat::zero(),
            translational: QuadMat::zero(),
        }
    }

    /// A rigid body.
    #[inline(always)]
    pub fn rigid(link: &Link) -> Self {
        QuadArticulated {
            rotational: link.tensor,
            coupling: link.lever,
            translational: QuadMat {
                x: Quad::zero().blend::<0b0001>(link.mass),
                y: Quad::zero().blend::<0b0010>(link.mass),
                z: Quad::zero().blend::<0b0100>(link.mass),
            },
        }
    }

    /// Rigid bodies.
    #[inline(always)]
    pub fn of(moments: &QuadMoments) -> Self {
        let (s, mass) = (&moments.second, moments.mass);
        let trace = moments.trace();
        QuadArticulated {
            rotational: QuadMat {
                x: Quad::zero().blend::<0b0001>(trace) - s.x,
                y: Quad::zero().blend::<0b0010>(trace) - s.y,
                z: Quad::zero().blend::<0b0100>(trace) - s.z,
            },
            coupling: QuadMat::skew(moments.first, -1.0),
            translational: QuadMat {
                x: Quad::zero().blend::<0b0001>(mass),
                y: Quad::zero().blend::<0b0010>(mass),
                z: Quad::zero().blend::<0b0100>(mass),
            },
        }
    }

    /// The inertia about a point in which the present one is at `d`.
    #[inline(always)]
    pub fn moved(self, d: &Quad) -> Self {
        let (a, b, c) = (self.rotational, self.coupling, self.translational);
        let (rotational, coupling) = moved(a, b, c, d, d.yzx());
        QuadArticulated {
            rotational,
            coupling,
            translational: c,
        }
    }

    /// The inertia minus ψ ψᵀ m̂.
    #[inline(always)]
    pub fn without(self, psi: &QuadWrench, pivot: f64) -> Self {
        let pivot = Quad::splat(pivot);
        let (m, f) = (psi.moment.spread(), psi.force.spread());
        let d = self.coupling;
        QuadArticulated {
            rotational: minus_outer(self.rotational, psi.moment, m, pivot),
            coupling: QuadMat {
                x: (psi.force * m[0]).taken_from(pivot, d.x),
                y: (psi.force * m[1]).taken_from(pivot, d.y),
                z: (psi.force * m[2]).taken_from(pivot, d.z),
            },
            translational: minus_outer(self.translational, psi.force, f, pivot),
        }
    }

    #[inline(always)]
    pub fn plus(self, b: Self) -> Self {
        QuadArticulated {
            rotational: self.rotational.plus(b.rotational),
            coupling: self.coupling.plus(b.coupling),
            translational: self.translational.plus(b.translational),
        }
    }

    /// The wrench that gives a twist rate.
    #[inline(always)]
    pub fn times(self, rate: &QuadMotion) -> QuadWrench {
        let angular = rate.angular.spread_from_memory();
        let linear = rate.linear.spread_from_memory();
        QuadWrench {
            moment: self.rotational.times(angular) + self.coupling.transpose_times(rate.linear),
            force: self.coupling.times(angular) + self.translational.times(linear),
        }
    }

    /// Eliminates the rotation about z: `spatial::elimination`.
    #[inline(always)]
    pub fn eliminate_rotation_z(self, rotor: f64) -> Without {
        let (a, d, c) = (self.rotational, self.coupling, self.translational);
        let (moment, force) = (a.z, d.z); // M̂ p
        let inverse = 1.0 / (moment.z() + rotor);
        let scale = Quad::splat(inverse);
        let (m, f) = (moment.spread(), force.spread());
        let psi = QuadWrench {
            moment: (moment * scale).blend::<0b0100>(Quad::splat(1.0 - rotor * inverse)),
            force: force * scale,
        };
        // M̂' p = ψ J: row and column z are written
        let along = Quad::splat(rotor);
        let column = psi.moment * along;
        Without {
            rest: QuadArticulated {
                rotational: QuadMat {
                    x: (moment * m[0])
                        .taken_from(scale, a.x)
                        .blend::<0b0100>(column.xxx()),
                    y: (moment * m[1])
                        .taken_from(scale, a.y)
                        .blend::<0b0100>(column.yyy()),
                    z: column,
                },
                coupling: QuadMat {
                    x: (force * m[0]).taken_from(scale, d.x),
                    y: (force * m[1]).taken_from(scale, d.y),
                    z: psi.force * along,
                },
                translational: minus_outer(c, force, f, scale),
            },
            psi,
            inverse,
        }
    }

    /// Eliminates the translation along z.
    #[inline(always)]
    pub fn eliminate_translation_z(self, rotor: f64) -> Without {
        let (a, d, c) = (self.rotational, self.coupling, self.translational);
        let (moment, force) = (d.transpose().z, c.z); // M̂ p
        let inverse = 1.0 / (force.z() + rotor);
        let scale = Quad::splat(inverse);
        let (m, f) = (moment.spread(), force.spread());
        let psi = QuadWrench {
            moment: moment * scale,
            force: (force * scale).blend::<0b0100>(Quad::splat(1.0 - rotor * inverse)),
        };
        let along = Quad::splat(rotor);
        let column = psi.force * along;
        let row = psi.moment * along;
        Without {
            rest: QuadArticulated {
                rotational: minus_outer(a, moment, m, scale),
                coupling: QuadMat {
                    x: psi.force.taken_from(m[0], d.x).blend::<0b0100>(row.xxx()),
                    y: psi.force.taken_from(m[1], d.y).blend::<0b0100>(row.yyy()),
                    z: psi.force.taken_from(m[2], d.z).blend::<0b0100>(row.zzz()),
                },
                translational: QuadMat {
                    x: (force * f[0])
                        .taken_from(scale, c.x)
                        .blend::<0b0100>(column.xxx()),
                    y: (force * f[1])
                        .taken_from(scale, c.y)
                        .blend::<0b0100>(column.yyy()),
                    z: column,
                },
            },
            psi,
            inverse,
        }
    }

    /// The remaining inertia of a body, in its parent's frame.
    #[inline(always)]
    pub fn seen(self, kept: &KeptPose, translation_yzx: Quad) -> Self {
        let [a, d, c] = self.turned(&kept.rotation);
        let (rotational, coupling) = moved(a, d, c, &kept.translation, translation_yzx);
        QuadArticulated {
            rotational,
            coupling,
            translational: mirrored(c),
        }
    }

    /// The remaining inertia of a body in its parent's frame, plus the parent's own.
    #[inline(always)]
    pub fn seen_with(self, kept: &KeptPose, translation_yzx: Quad, parent: &Link) -> Self {
        let [a, d, c] = self.turned(&kept.rotation);
        let a = a.plus(parent.tensor);
        let (rotational, shifted) = moved(a, d, c, &kept.translation, translation_yzx);
        let mirrored = mirrored(c);
        QuadArticulated {
            rotational,
            coupling: shifted.plus(parent.lever),
            translational: QuadMat {
                x: mirrored.x + Quad::zero().blend::<0b0001>(parent.mass),
                y: mirrored.y + Quad::zero().blend::<0b0010>(parent.mass),
                z: mirrored.z + Quad::zero().blend::<0b0100>(parent.mass),
            },
        }
    }

    /// The blocks in other axes; symmetric ones are so up to round-off.
    #[inline(always)]
    fn turned(self, rotation: &QuadMat) -> [QuadMat; 3] {
        [
            turned_symmetric(self.rotational, rotation),
            turned(self.coupling, rotation),
            turned_symmetric(self.translational, rotation),
        ]
    }

    #[inline(always)]
    pub fn to_fused(self) -> ArticulatedInertia<Fused> {
        ArticulatedInertia {
            rotational: Sym3::from_upper(self.rotational.to_fused()),
            coupling: self.coupling.to_fused().transpose(),
            translational: Sym3::from_upper(self.translational.to_fused()),
        }
    }

    #[inline(always)]
    pub fn from_fused(inertia: ArticulatedInertia<Fused>) -> Self {
        QuadArticulated {
            rotational: QuadMat::from_fused(inertia.rotational.full()),
            coupling: QuadMat::from_fused(inertia.coupling.transpose()),
            translational: QuadMat::from_fused(inertia.translational.full()),
        }
    }
}

/// A and D of an inertia about a point in which the present one is at p: D' = D − C p̃ and A' = A + W + Wᵀ,
/// W = ½ p̃ (D + D'). The term that is ready last is added last.
#[inline(always)]
fn moved(
    a: QuadMat,
    d: QuadMat,
    c: QuadMat,
    translation: &Quad,
    translation_yzx: Quad,
) -> (QuadMat, QuadMat) {
    let p = translation.spread_from_memory();
    // columns of C p̃: C_y p.z − C_z p.y and so on around
    let shifted = QuadMat {
        x: c.z.mul_add(p[1], c.y.taken_from(p[2], d.x)),
        y: c.x.mul_add(p[2], c.z.taken_from(p[0], d.y)),
        z: c.y.mul_add(p[0], c.x.taken_from(p[1], d.z)),
    };
    let half = Quad::splat(0.5);
    let (arm, half_yzx) = (*translation * half, translation_yzx * half);
    let sum = d.plus(shifted);
    let w = QuadMat {
        x: Quad::cross_of(arm, half_yzx, sum.x) + a.x * half,
        y: Quad::cross_of(arm, half_yzx, sum.y) + a.y * half,
        z: Quad::cross_of(arm, half_yzx, sum.z) + a.z * half,
    };
    (w.plus(w.transpose()), shifted)
}

/// c − b bᵀ scale, symmetric to the last bit.
#[inline(always)]
fn minus_outer(c: QuadMat, b: Quad, spread: [Quad; 3], scale: Quad) -> QuadMat {
    QuadMat {
        x: (b * spread[0]).taken_from(scale, c.x),
        y: (b * spread[1]).taken_from(scale, c.y),
        z: (b * spread[2]).taken_from(scale, c.z),
    }
}

/// R M Rᵀ of a symmetric M, symmetric up to round-off: (M Rᵀ)ᵀ Rᵀ.
#[inline(always)]
fn turned_symmetric(m: QuadMat, r: &QuadMat) -> QuadMat {
    m.times_transposed(r).transpose().times_transposed(r)
}

/// R M Rᵀ.
#[inline(always)]
fn turned(m: QuadMat, r: &QuadMat) -> QuadMat {
    let half = m.times_transposed(r);
    QuadMat {
        x: r.times(half.x.spread()),
        y: r.times(half.y.spread()),
        z: r.times(half.z.spread()),
    }
}

/// The lower triangle of a matrix written into its upper one.
#[inline(always)]
fn mirrored(m: QuadMat) -> QuadMat {
    let t = m.transpose();
    QuadMat {
        x: m.x,
        y: m.y.blend::<0b0001>(t.y),
        z: m.z.blend::<0b0011>(t.z),
    }
}
