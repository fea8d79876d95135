//! Inertia of a rigid body by its ten moments.

use super::{ArticulatedInertia, Force, Mat3, Motion, Pose, Sym3, Vec3};
use crate::scalar::{Parameter, Scalar};
use std::ops::Add;

/// Mass, first moment and second moment of a rigid body about the origin of its frame, in its axes.
///
/// The second-moment matrix Σ = ∫ ρ ρᵀ dm is kept instead of the inertia tensor tr(Σ) 1 − Σ: moments of a composite body
/// are sums, a change of frame is a congruence, and Newton–Euler's equations need fewer products (see
/// [`RigidInertia::newton_euler`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RigidInertia<S> {
    /// ∫ dm.
    pub mass: S,
    /// ∫ ρ dm = mass · centre.
    pub first: Vec3<S>,
    /// ∫ ρ ρᵀ dm.
    pub second: Sym3<S>,
}

impl<S: Copy> RigidInertia<S> {
    /// A model's inertia as an inertia of the computation.
    #[inline(always)]
    pub fn lift<T: Copy>(self) -> RigidInertia<T>
    where
        S: Parameter<T>,
    {
        RigidInertia {
            mass: self.mass.lift(),
            first: self.first.lift(),
            second: self.second.lift(),
        }
    }
}

impl<S: Scalar> RigidInertia<S> {
    /// No mass at all.
    #[inline(always)]
    pub fn zero() -> Self {
        RigidInertia {
            mass: S::zero(),
            first: Vec3::zero(),
            second: Sym3::zero(),
        }
    }

    /// The moments from mass, mass centre and the inertia tensor about the mass centre.
    #[inline(always)]
    pub fn from_centre(mass: S, centre: Vec3<S>, tensor: Sym3<S>) -> Self {
        // tensor = tr(Σ) 1 − Σ  ⇒  Σ = ½ tr(tensor) 1 − tensor
        let half = tensor.trace() * S::constant(0.5);
        let central = Sym3::isotropic(half) - tensor;
        RigidInertia {
            mass,
            first: centre * mass,
            second: central.add_scaled(Sym3::outer(centre), mass),
        }
    }

    /// Inertia tensor about the origin of the frame.
    #[inline(always)]
    pub fn tensor(self) -> Sym3<S> {
        self.second.trace_minus()
    }

    /// Momentum of the body moving with this twist: (angular about the origin; linear).
    #[inline(always)]
    pub fn momentum(self, v: Motion<S>) -> Force<S> {
        Force::new(
            self.first.cross_add(v.linear, self.tensor() * v.angular),
            v.linear.scale_add(self.mass, v.angular.cross(self.first)),
        )
    }

    /// Newton–Euler: the wrench that gives the body angular acceleration `alpha` and its origin the acceleration `a`
    /// while it rotates with `omega`.
    ///
    /// Every point ρ accelerates by a + Ω ρ with Ω = α̃ + ω̃ ω̃, so
    ///
    /// ```text
    /// f = ∫ (a + Ω ρ) dm      = m a + Ω h
    /// n = ∫ ρ × (a + Ω ρ) dm  = h × a + vee(Ω Σ),   vee(A) = (A₃₂ − A₂₃, A₁₃ − A₃₁, A₂₁ − A₁₂)
    /// ```
    #[inline(always)]
    pub fn newton_euler(self, rate: AngularRate<S>, a: Vec3<S>) -> Force<S> {
        let omega = rate.0;
        let s = self.second.full();
        let row = omega.transpose();
        let vee = Vec3::new(
            row.z.dot(s.y) - row.y.dot(s.z),
            row.x.dot(s.z) - row.z.dot(s.x),
            row.y.dot(s.x) - row.x.dot(s.y),
        );
        Force::new(
            self.first.cross_add(a, vee),
            omega.times_add(self.first, a * self.mass),
        )
    }

    /// Newton–Euler's wrench without accelerations: centrifugal and gyroscopic terms.
    #[inline(always)]
    pub fn gyroscopic(self, omega: Vec3<S>) -> Force<S> {
        // ω × (ω × h) = ω (ω·h) − h (ω·ω);  moment ω × (Ī ω) = −ω × (Σ ω)
        Force::new(
            (self.second * omega).cross(omega),
            omega.cross(omega.cross(self.first)),
        )
    }

    /// Momentum of the body rotating about an axis through the origin.
    #[inline(always)]
    pub fn momentum_of_turning(self, omega: Vec3<S>) -> Force<S> {
        Force::new(self.tensor() * omega, omega.cross(self.first))
    }

    /// Momentum of the body translating without rotation.
    #[inline(always)]
    pub fn momentum_of_sliding(self, v: Vec3<S>) -> Force<S> {
        Force::new(self.first.cross(v), v * self.mass)
    }

    /// The inertia in other axes about the same origin: `self` in those of b, the result in those of a.
    #[inline(always)]
    pub fn turned(self, a_from_b: Mat3<S>) -> Self {
        RigidInertia {
            mass: self.mass,
            first: a_from_b * self.first,
            second: self.second.conjugate(a_from_b),
        }
    }

    /// The inertia about another origin, in which the present one is at `p`, in the same axes.
    #[inline(always)]
    pub fn shifted(self, p: Vec3<S>) -> Self {
        // ∫ (ρ + p)(ρ + p)ᵀ dm = Σ + h pᵀ + p (h + m p)ᵀ
        let (turned, second) = (self.first, self.second);
        let first = p.scale_add(self.mass, turned);
        RigidInertia {
            mass: self.mass,
            first,
            second: Sym3::new(
                turned.x.mul_add(p.x, p.x.mul_add(first.x, second.xx)),
                turned.y.mul_add(p.y, p.y.mul_add(first.y, second.yy)),
                turned.z.mul_add(p.z, p.z.mul_add(first.z, second.zz)),
                turned.x.mul_add(p.y, p.x.mul_add(first.y, second.xy)),
                turned.x.mul_add(p.z, p.x.mul_add(first.z, second.xz)),
                turned.y.mul_add(p.z, p.y.mul_add(first.z, second.yz)),
            ),
        }
    }

    /// The inertia transformed to another frame: `self` is given in b, the result in a.
    #[inline(always)]
    pub fn seen_from(self, a_from_b: Pose<S>) -> Self {
        self.turned(a_from_b.rotation).shifted(a_from_b.translation)
    }

    /// The inertia as three 3×3 blocks.
    #[inline(always)]
    pub fn articulated(self) -> ArticulatedInertia<S> {
        ArticulatedInertia {
            rotational: self.tensor(),
            coupling: Mat3::skew(self.first),
            translational: Sym3::isotropic(self.mass),
        }
    }
}

impl<S: Scalar> Add for RigidInertia<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        RigidInertia {
            mass: self.mass + b.mass,
            first: self.first + b.first,
            second: self.second + b.second,
        }
    }
}

/// Ω = α̃ + ω̃ ω̃: the acceleration of a point ρ of a rotating body is a + Ω ρ.
#[derive(Clone, Copy, Debug)]
pub struct AngularRate<S>(pub Mat3<S>);

impl<S: Scalar> AngularRate<S> {
    /// Ω from angular velocity and acceleration: six products.
    #[inline(always)]
    pub fn new(omega: Vec3<S>, alpha: Vec3<S>) -> Self {
        let (xx, yy, zz) = (omega.x * omega.x, omega.y * omega.y, omega.z * omega.z);
        let (xy, xz, yz) = (omega.x * omega.y, omega.x * omega.z, omega.y * omega.z);
        AngularRate(Mat3 {
            x: Vec3::new(-(yy + zz), xy + alpha.z, xz - alpha.y),
            y: Vec3::new(xy - alpha.z, -(xx + zz), yz + alpha.x),
            z: Vec3::new(xz + alpha.y, yz - alpha.x, -(xx + yy)),
        })
    }
}
