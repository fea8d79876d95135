//! The rows of a body that rolls on a plane, and of a knife edge.
//!
//! The plane is fixed in frame A (z is its normal n), the wheel or sphere in frame B, whose origin is its centre c; z of B is the wheel's axis a.
//! The contact is at c + g, and u is the velocity of the body's material there relative to that of the plane:
//!
//! ```text
//! sphere   g = −r n
//! wheel    g = −r (n − s a)/k,   s = n·a,   k = |a × n|          lowest point of the circle; none where the wheel lies flat
//! height   ξ = n·(c − p) − r k  (sphere: k = 1),   ξ̇ = n·u       the envelope: g moves within the circle
//! rolling  ξ̇ = e·u,  no ξ                                        wheel: e = a × n/k along, n × e across; sphere: x and y of A
//! edge     ξ̇ = e·u,  no ξ                                        e is the z axis of B, u the velocity of its origin
//! bias     ξ̈ = ė·u + e·u̇   at v̇ = 0
//! ```
//!
//! The rows of rolling and of the edge are linear in the velocities and not integrable: they have no residual of positions, and
//! limit velocities alone.

use super::joint_rows::{MovingFrame, Row};
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

/// What touches the plane.
#[derive(Clone, Copy)]
pub(crate) enum Round<S> {
    /// The edge of a wheel of this radius.
    Wheel(S),
    /// A sphere of this radius.
    Sphere(S),
}

/// Rows of a contact: height, then rolling along and across; and the contact's place, at which their forces act.
pub(crate) fn contact<S: Scalar>(
    a: &MovingFrame<S>,
    b: &MovingFrame<S>,
    round: Round<S>,
) -> ([Row<S>; 3], Vec3<S>) {
    let n = Moving::fixed(a.pose.rotation.z, a.omega);
    let (g, gap, along) = match round {
        Round::Sphere(radius) => {
            let g = n.times([-radius, S::zero()]);
            (g, radius, Moving::fixed(a.pose.rotation.x, a.omega))
        }
        Round::Wheel(radius) => {
            let axis = Moving::fixed(b.pose.rotation.z, b.omega);
            let heading = axis.cross(n);
            let [square, half_rate] = [
                heading.value.dot(heading.value),
                heading.value.dot(heading.rate),
            ];
            let k = square.sqrt();
            let per_k = k.recip();
            // 1/k and its rate
            let inverse = [per_k, -(half_rate * per_k * per_k * per_k)];
            let [s, s_rate] = n.dot(axis);
            let inward = n.plus(axis.times([-s, -s_rate])).times(inverse);
            let g = inward.times([-radius, S::zero()]);
            (g, radius * k, heading.times(inverse))
        }
    };
    let u = sliding(a, b, g);
    let height = n.value.dot(b.pose.translation - a.pose.translation) - gap;
    let across = n.cross(along);
    let rows = [
        n.along(u, height),
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
