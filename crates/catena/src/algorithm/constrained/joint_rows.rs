//! The rows of one cut joint: residual ξ, its rates, and the wrench of a unit multiplier on the child.
//!
//! Everything is written in the axes of the joint frame A on the parent. With R and p the orientation and position of the
//! child's frame B in A, Ω and u = ṗ their rates:
//!
//! ```text
//! slide   ξ = eᵢ·p                                  no motion along eᵢ; the force acts at the origin of B (ERRATA of remark 5)
//! tilt    ξ = −2 z_y/(1 + z_z),  2 z_x/(1 + z_z)    z = z axis of B: the two z axes coincide
//! cross   ξ = z_x                                   universal joint: x of A orthogonal to z of B
//! turn    ξ = 2 vee(R − Rᵀ)/(1 + tr R)              no rotation at all; 2 tan(θ/2) times the axis of rotation
//! screw   ξ = h sin(p_z/h − θ)/√(1 + h²)            advance h per radian
//! ```
//!
//! When the joint is closed the gradients with respect to (Ω, u) are orthonormal, so the norm of the multipliers is that of force
//! and torque. Tilt and turn have a pole, not a false zero, where B is rotated by 180°.

use crate::model::JointKind;
use crate::scalar::Scalar;
use crate::spatial::{Force, Mat3, Pose, Vec3};

/// Axes in which the three rows of a point on a point are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// Axes of the parent's frame: freedoms of common ancestors have no entries, whether the loop is closed or not.
    #[default]
    Parent,
    /// World axes, as in Mufti's paper: equivalent where the loop is closed, but stabilised equations differ while it is open, and
    /// freedoms of common ancestors have entries then.
    World,
}

/// A frame on a body: its pose and motion, in world axes; accelerations are those at v̇ = 0.
#[derive(Clone, Copy)]
pub(crate) struct MovingFrame<S> {
    pub pose: Pose<S>,
    pub omega: Vec3<S>,
    pub velocity: Vec3<S>,
    pub omega_rate: Vec3<S>,
    pub acceleration: Vec3<S>,
}

/// One row: ξ, ξ̇, ξ̈ at v̇ = 0, and the wrenches of a unit multiplier, in world axes about the origin of B.
#[derive(Clone, Copy)]
pub(crate) struct Row<S> {
    pub residual: S,
    pub rate: S,
    pub bias: S,
    pub on_child: Force<S>,
    pub on_parent: Force<S>,
}

impl<S: Scalar> Row<S> {
    pub(crate) fn zero() -> Self {
        Row {
            residual: S::zero(),
            rate: S::zero(),
            bias: S::zero(),
            on_child: Force::zero(),
            on_parent: Force::zero(),
        }
    }
}

/// A function of the motion: value, rate, second rate at v̇ = 0, and gradient of the rate with respect to Ω.
#[derive(Clone, Copy)]
struct Varying<S> {
    value: S,
    rate: S,
    second: S,
    gradient: Vec3<S>,
}

impl<S: Scalar> Varying<S> {
    fn constant(x: f64) -> Self {
        Varying {
            value: S::constant(x),
            rate: S::zero(),
            second: S::zero(),
            gradient: Vec3::zero(),
        }
    }

    fn plus(self, b: Self) -> Self {
        Varying {
            value: self.value + b.value,
            rate: self.rate + b.rate,
            second: self.second + b.second,
            gradient: self.gradient + b.gradient,
        }
    }

    fn scaled(self, s: S) -> Self {
        Varying {
            value: self.value * s,
            rate: self.rate * s,
            second: self.second * s,
            gradient: self.gradient * s,
        }
    }

    fn minus(self, b: Self) -> Self {
        self.plus(b.scaled(-S::one()))
    }

    /// self / b.
    fn over(self, b: Self) -> Self {
        let k = b.value.recip();
        let value = self.value * k;
        let rate = (self.rate - value * b.rate) * k;
        let two = S::constant(2.0);
        Varying {
            value,
            rate,
            second: (self.second - two * rate * b.rate - value * b.second) * k,
            gradient: (self.gradient - b.gradient * value) * k,
        }
    }
}

/// Frame B relative to frame A.
pub(crate) struct Relative<S> {
    /// A in the world, and its angular velocity.
    rotation: Mat3<S>,
    /// Axes of B in A with their rates, as columns.
    axes: [[Vec3<S>; 3]; 3], // [axis][value, rate, second]
    /// p, u, u̇ in A.
    position: [Vec3<S>; 3],
    /// p, u, u̇ in world axes, rates relative to the inertial frame.
    offset: [Vec3<S>; 3],
}

impl<S: Scalar> Relative<S> {
    pub(crate) fn new(a: &MovingFrame<S>, b: &MovingFrame<S>) -> Self {
        let into = a.pose.rotation;
        let d = b.pose.translation - a.pose.translation;
        let d_rate = b.velocity - a.velocity;
        let d_second = b.acceleration - a.acceleration;
        let omega = b.omega - a.omega;
        // ω̇ as seen from A
        let omega_rate = b.omega_rate - a.omega_rate - a.omega.cross(omega);
        let (omega, omega_rate) = (
            into.transpose_times(omega),
            into.transpose_times(omega_rate),
        );
        let turned = into.transpose() * b.pose.rotation;
        let mut axes = [[Vec3::zero(); 3]; 3];
        for (axis, r) in axes.iter_mut().zip([turned.x, turned.y, turned.z]) {
            let rate = omega.cross(r);
            *axis = [r, rate, omega_rate.cross_add(r, omega.cross(rate))];
        }
        let w_d = a.omega.cross(d);
        let seen = d_rate - w_d;
        let two = S::constant(2.0);
        let seen_second =
            d_second - a.omega_rate.cross(d) - a.omega.cross(d_rate) * two + a.omega.cross(w_d);
        Relative {
            rotation: into,
            axes,
            position: [
                into.transpose_times(d),
                into.transpose_times(seen),
                into.transpose_times(seen_second),
            ],
            offset: [d, d_rate, d_second],
        }
    }

    /// Component i of axis j of B in A; its gradient is r × eᵢ, since eᵢ·(Ω × r) = Ω·(r × eᵢ).
    fn entry(&self, i: usize, j: usize) -> Varying<S> {
        let [value, rate, second] = self.axes[j];
        let mut unit = [S::zero(); 3];
        unit[i] = S::one();
        Varying {
            value: value.to_array()[i],
            rate: rate.to_array()[i],
            second: second.to_array()[i],
            gradient: value.cross(Vec3::from_array(unit)),
        }
    }

    /// Row of a function of R alone.
    fn rotational(&self, xi: Varying<S>) -> Row<S> {
        let moment = self.rotation * xi.gradient;
        let on_child = Force::new(moment, Vec3::zero());
        Row {
            residual: xi.value,
            rate: xi.rate,
            bias: xi.second,
            on_child,
            on_parent: -on_child,
        }
    }

    /// ξ = eᵢ·p.
    fn slide(&self, i: usize) -> Row<S> {
        let [p, rate, second] = self.position;
        let r = self.rotation;
        let on_child = Force::new(Vec3::zero(), [r.x, r.y, r.z][i]);
        Row {
            residual: p.to_array()[i],
            rate: rate.to_array()[i],
            bias: second.to_array()[i],
            on_child,
            on_parent: -on_child,
        }
    }

    /// Component i of the distance of the origins in world axes.
    fn gap(&self, i: usize) -> Row<S> {
        let [d, rate, second] = self.offset;
        let mut unit = [S::zero(); 3];
        unit[i] = S::one();
        let force = Vec3::from_array(unit);
        Row {
            residual: d.to_array()[i],
            rate: rate.to_array()[i],
            bias: second.to_array()[i],
            on_child: Force::new(Vec3::zero(), force),
            // −f at the origin of A
            on_parent: Force::new(d.cross(force), -force),
        }
    }

    /// The z axes coincide: about x, then about y.
    fn tilt(&self) -> [Row<S>; 2] {
        let below = Varying::constant(1.0).plus(self.entry(2, 2));
        let two = S::constant(2.0);
        [
            self.rotational(self.entry(1, 2).over(below).scaled(-two)),
            self.rotational(self.entry(0, 2).over(below).scaled(two)),
        ]
    }

    /// No rotation.
    fn turn(&self) -> [Row<S>; 3] {
        let trace = self
            .entry(0, 0)
            .plus(self.entry(1, 1))
            .plus(self.entry(2, 2));
        let below = Varying::constant(1.0).plus(trace);
        let two = S::constant(2.0);
        let mut rows = [self.slide(0); 3];
        for (i, row) in rows.iter_mut().enumerate() {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            let above = self.entry(k, j).minus(self.entry(j, k));
            *row = self.rotational(above.over(below).scaled(two));
        }
        rows
    }

    /// Translation along z proportional to the rotation about z.
    fn screw(&self, pitch: S) -> Row<S> {
        let half = S::constant(0.5);
        let c = self.entry(0, 0).plus(self.entry(1, 1)).scaled(half);
        let s = self.entry(1, 0).minus(self.entry(0, 1)).scaled(half);
        let [z, z_rate, z_second] = [self.position[0].z, self.position[1].z, self.position[2].z];
        let scale = (S::one() + pitch * pitch).sqrt().recip();
        let per_pitch = pitch.recip();
        let (sin, cos) = (z * per_pitch).sin_cos();
        let along = cos * c.value + sin * s.value; // ∂ξ/∂z
        let about = c.gradient * sin - s.gradient * cos;
        let across = cos * s.value - sin * c.value;
        let rate = along * z_rate + pitch * (sin * c.rate - cos * s.rate);
        let bias = along * z_second
            + (across * z_rate * per_pitch + S::constant(2.0) * (cos * c.rate + sin * s.rate))
                * z_rate
            + pitch * (sin * c.second - cos * s.second);
        let on_child = Force::new(
            self.rotation * (about * (pitch * scale)),
            self.rotation.z * (along * scale),
        );
        Row {
            residual: pitch * (sin * c.value - cos * s.value) * scale,
            rate: rate * scale,
            bias: bias * scale,
            on_child,
            on_parent: -on_child,
        }
    }

    /// The rows of a joint of this kind; returns their number.
    pub(crate) fn joint(
        &self,
        kind: JointKind,
        pitch: S,
        axes: Axes,
        rows: &mut [Row<S>; 6],
    ) -> usize {
        let slides: &[usize] = match kind {
            JointKind::Prismatic | JointKind::Cylindrical | JointKind::Helical => &[0, 1],
            JointKind::Planar => &[2],
            JointKind::Free => &[],
            _ => &[0, 1, 2],
        };
        let mut count = 0;
        for &i in slides {
            rows[count] = if slides.len() == 3 && axes == Axes::World {
                self.gap(i)
            } else {
                self.slide(i)
            };
            count += 1;
        }
        match kind {
            JointKind::Spherical | JointKind::Free => {}
            JointKind::Universal => {
                rows[count] = self.rotational(self.entry(0, 2));
                count += 1;
            }
            JointKind::Prismatic | JointKind::Fixed => {
                rows[count..count + 3].copy_from_slice(&self.turn());
                count += 3;
            }
            JointKind::Revolute
            | JointKind::Continuous
            | JointKind::Cylindrical
            | JointKind::Planar
            | JointKind::Helical => {
                rows[count..count + 2].copy_from_slice(&self.tilt());
                count += 2;
                if kind == JointKind::Helical {
                    rows[count] = self.screw(pitch);
                    count += 1;
                }
            }
        }
        count
    }

    /// ξ = (p·p − L²)/2L: the multiplier is the force that pushes the points apart.
    pub(crate) fn distance(&self, length: S) -> Row<S> {
        let [d, rate, second] = self.offset;
        let scale = length.recip();
        let force = d * scale;
        let on_child = Force::new(Vec3::zero(), force);
        Row {
            residual: (d.dot(d) - length * length) * (scale * S::constant(0.5)),
            rate: force.dot(rate),
            bias: rate.dot(rate) * scale + force.dot(second),
            on_child,
            on_parent: -on_child,
        }
    }
}
