//! The rows of a body that rolls on a plane, on a cylinder or on a sphere, and of a knife edge.
//!
//! The surface is fixed in frame A, whose origin p is on the plane or is the centre of the cylinder or sphere; z of A is the normal or the axis. The
//! wheel or sphere of radius r is fixed in frame B, whose origin is its centre c; z of B is the wheel's axis a. n is the normal of the surface
//! towards c, the contact is at c + g, and u is the velocity of the body's material there relative to that of the surface:
//!
//! ```text
//! sphere     g = −r n
//! wheel      g = −r (n − s a)/k,   s = n·a,   k = |a × n|        on a plane: lowest point of the circle; none where the wheel lies flat
//! normal     n = z of A;  h/|h| on a sphere;  h⊥/|h⊥| on a cylinder                  h = c − p, h⊥ across the axis; −n inside
//! height     ξ = n·h − r k (plane),  ±|h| − R − r (R < 0 inside),   ξ̇ = n·u          the envelope: g moves within the surface
//! rolling    ξ̇ = e·u,  no ξ
//! edge       ξ̇ = e·u,  no ξ                                      e is the z axis of B, u the velocity of its origin
//! bias       ξ̈ = ė·u + e·u̇   at v̇ = 0
//! ```
//!
//! Directions e of rolling: for a wheel on a plane a × n/k along it, n × e across; on a cylinder around it and along its axis, for a wheel
//! only around it; for a sphere on a plane x and y of A, on a sphere the same turned from z to n by the shortest rotation.
//!
//! The rows of rolling and of the edge are nonholonomic: linear in the velocities and not integrable. They have no position residual.

use super::joint_rows::{MovingFrame, Row};
use crate::model::Surface;
use crate::scalar::Scalar;
use crate::spatial::{Force, Vec3};

/// A vector and its rate at v̇ = 0.
#[derive(Clone, Copy)]
struct Moving<S> {
    value: Vec3<S>,
    rate: Vec3<S>,
}

impl<S: Scalar> Moving<S> {
    /// Fixed in a frame with this angular velocity.
    fn fixed(value: Vec3<S>, omega: Vec3<S>) -> Self {
        let rate = omega.cross(value);
        Moving { value, rate }
    }

    fn cross(self, b: Self) -> Self {
        Moving {
            value: self.value.cross(b.value),
            rate: self.rate.cross_add(b.value, self.value.cross(b.rate)),
        }
    }

    fn plus(self, b: Self) -> Self {
        Moving {
            value: self.value + b.value,
            rate: self.rate + b.rate,
        }
    }

    /// s·self, with the rate of s.
    fn times(self, [s, rate]: [S; 2]) -> Self {
        Moving {
            value: self.value * s,
            rate: self.rate * s + self.value * rate,
        }
    }

    fn dot(self, b: Self) -> [S; 2] {
        [
            self.value.dot(b.value),
            self.rate.dot(b.value) + self.value.dot(b.rate),
        ]
    }

    /// The row e·u for this direction e: a unit force along e on the child, at the point of u.
    fn along(self, u: Self, residual: S) -> Row<S> {
        let [rate, bias] = self.dot(u);
        let on_child = Force::new(Vec3::zero(), self.value);
        Row {
            residual,
            rate,
            bias,
            on_child,
            on_parent: -on_child,
        }
    }
}

/// Velocity, relative to the material of A, of the material of B at its origin plus g.
fn sliding<S: Scalar>(a: &MovingFrame<S>, b: &MovingFrame<S>, g: Moving<S>) -> Moving<S> {
    let moving = |f: &MovingFrame<S>| Moving {
        value: f.omega,
        rate: f.omega_rate,
    };
    let arm = Moving {
        value: b.pose.translation - a.pose.translation,
        rate: b.velocity - a.velocity,
    };
    let origins = Moving {
        value: b.velocity - a.velocity,
        rate: b.acceleration - a.acceleration,
    };
    let carried = moving(a).cross(arm.plus(g));
    let minus = [-S::one(), S::zero()];
    origins.plus(moving(b).cross(g)).plus(carried.times(minus))
}

/// The body that touches the surface.
#[derive(Clone, Copy)]
pub(crate) enum Round<S> {
    /// The edge of a wheel of this radius.
    Wheel(S),
    /// A sphere of this radius.
    Sphere(S),
}

/// A number and its rate.
fn quotient<S: Scalar>([a, a_rate]: [S; 2], [b, b_rate]: [S; 2]) -> [S; 2] {
    let inverse = b.recip();
    let value = a * inverse;
    [value, (a_rate - value * b_rate) * inverse]
}

/// The length of a vector and its rate.
fn length<S: Scalar>(x: Moving<S>) -> [S; 2] {
    let size = x.value.dot(x.value).sqrt();
    [size, x.value.dot(x.rate) * size.recip()]
}

/// Rows of a contact: height, then rolling along and across; and the contact point, at which their forces act.
pub(crate) fn contact<S: Scalar>(
    a: &MovingFrame<S>,
    b: &MovingFrame<S>,
    surface: Surface<S>,
    round: Round<S>,
) -> ([Row<S>; 3], Vec3<S>) {
    let z = Moving::fixed(a.pose.rotation.z, a.omega);
    let constant = |x: S| [x, S::zero()];
    let one = constant(S::one());
    let minus = constant(-S::one());
    let h = Moving {
        value: b.pose.translation - a.pose.translation,
        rate: b.velocity - a.velocity,
    };
    let (n, n_h, gap) = match surface {
        Surface::Plane => (z, z.value.dot(h.value), S::zero()),
        Surface::Sphere(radius) | Surface::Cylinder(radius) => {
            let away = match surface {
                Surface::Cylinder(_) => h.plus(z.times(z.dot(h)).times(minus)),
                _ => h,
            };
            let outside = S::select(radius.less(S::zero()), -S::one(), S::one());
            let distance = length(away);
            let outward = away.times(quotient(one, distance));
            (
                outward.times(constant(outside)),
                outside * distance[0],
                radius,
            )
        }
    };
    let x = Moving::fixed(a.pose.rotation.x, a.omega);
    let (g, reach, along) = match (round, surface) {
        (Round::Wheel(radius), Surface::Plane) => {
            let axis = Moving::fixed(b.pose.rotation.z, b.omega);
            let heading = axis.cross(n);
            let k = length(heading);
            let inverse = quotient(one, k);
            let [s, s_rate] = n.dot(axis);
            let inward = n.plus(axis.times([-s, -s_rate])).times(inverse);
            let g = inward.times(constant(-radius));
            (g, radius * k[0], heading.times(inverse))
        }
        (Round::Wheel(radius) | Round::Sphere(radius), _) => {
            let along = match surface {
                Surface::Plane => x,
                Surface::Cylinder(_) => z.cross(n),
                // x − (x·n)/(1 + z·n) (n + z)
                Surface::Sphere(_) => {
                    let [cos, cos_rate] = z.dot(n);
                    let [part, part_rate] = quotient(x.dot(n), [S::one() + cos, cos_rate]);
                    x.plus(n.plus(z).times([-part, -part_rate]))
                }
            };
            (n.times(constant(-radius)), radius, along)
        }
    };
    let u = sliding(a, b, g);
    let across = n.cross(along);
    let rows = [
        n.along(u, n_h - gap - reach),
        along.along(u, S::zero()),
        across.along(u, S::zero()),
    ];
    (rows, b.pose.translation + g.value)
}

/// Row of a knife edge: no velocity of B's origin across the edge, along z of B.
pub(crate) fn knife_edge<S: Scalar>(a: &MovingFrame<S>, b: &MovingFrame<S>) -> Row<S> {
    let here = Moving {
        value: Vec3::zero(),
        rate: Vec3::zero(),
    };
    let u = sliding(a, b, here);
    Moving::fixed(b.pose.rotation.z, b.omega).along(u, S::zero())
}
