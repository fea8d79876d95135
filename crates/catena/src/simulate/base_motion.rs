//! Prescribed motion of the base.
//!
//! [`BaseMotion`] is anything that gives pose, velocity and acceleration of the base at a time: a closure, an
//! [`AnalyticBase`] (polynomials and sinusoids) or a [`BaseTable`] (rows of poses). All in inertial components; linear
//! quantities are those of the base's origin, as in [`Base`].
//!
//! ```
//! use catena::simulate::{Inputs, SimulationOptions, PrescribedBase, Simulation};
//! use catena::spatial::{Motion, Pose, Vec3};
//! use catena::{Base, State, model::embedded};
//!
//! let model = embedded::model("stanford")?;
//! let inputs = Inputs {
//!     // a lift that goes up and down, 0.1 sin 2t
//!     base: PrescribedBase::new(|t: f64| Base {
//!         pose: Pose::shift(Vec3::new(0.0, 0.0, 0.1 * (2.0 * t).sin())),
//!         velocity: Motion::new(Vec3::zero(), Vec3::new(0.0, 0.0, 0.2 * (2.0 * t).cos())),
//!         acceleration: Motion::new(Vec3::zero(), Vec3::new(0.0, 0.0, -0.4 * (2.0 * t).sin())),
//!     }),
//!     ..Inputs::default()
//! };
//! let options = SimulationOptions { duration: 1.0, ..SimulationOptions::default() };
//! let mut run = Simulation::new(&model, &State::neutral(&model), inputs, Vec::new(), options)?;
//! let mut samples = Vec::new();
//! while !run.finished() {
//!     run.advance(&mut samples)?;
//! }
//! assert_eq!(run.finish().breaches().count(), 0); // with the work of the lift
//! # Ok::<(), catena::Error>(())
//! ```
//!
//! A velocity that is not the derivative of the pose would violate every law silently, so
//! [`check_derivatives`] compares both with differences of the pose before a run begins.

use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::spatial::{Mat3, Motion, Pose, Vec3};
use crate::state::Base;
use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

/// A motion of the base, prescribed.
pub trait BaseMotion: Send + Sync {
    /// Pose, velocity and acceleration at time t.
    fn at(&self, t: f64) -> Base<f64>;

    /// The time up to which it is known, s.
    fn end(&self) -> f64 {
        f64::INFINITY
    }

    /// The first time after t at which a derivative of the acceleration jumps, s; steps of an integrator end there.
    fn next_kink(&self, _t: f64) -> f64 {
        f64::INFINITY
    }
}

impl<F: Fn(f64) -> Base<f64> + Send + Sync> BaseMotion for F {
    fn at(&self, t: f64) -> Base<f64> {
        self(t)
    }
}

/// A base at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestingBase(pub Pose<f64>);

impl BaseMotion for RestingBase {
    fn at(&self, _t: f64) -> Base<f64> {
        Base {
            pose: self.0,
            ..Base::fixed()
        }
    }
}

/// The base of a simulation: at rest at the origin of the world unless a motion is given.
#[derive(Clone, Default)]
pub struct PrescribedBase(Option<Arc<dyn BaseMotion>>);

impl PrescribedBase {
    /// A base at rest at the origin.
    pub const fn fixed() -> Self {
        PrescribedBase(None)
    }

    /// A base with this motion.
    pub fn new(motion: impl BaseMotion + 'static) -> Self {
        PrescribedBase(Some(Arc::new(motion)))
    }

    /// Whether it is at rest at the origin at all times.
    pub fn is_fixed(&self) -> bool {
        self.0.is_none()
    }

    /// Pose, velocity and acceleration at time t.
    pub fn at(&self, t: f64) -> Base<f64> {
        match &self.0 {
            None => Base::fixed(),
            Some(motion) => motion.at(t),
        }
    }

    /// The first time after t at which a derivative of the acceleration jumps, s.
    pub fn next_kink(&self, t: f64) -> f64 {
        self.0
            .as_ref()
            .map_or(f64::INFINITY, |motion| motion.next_kink(t))
    }

    /// Rejects a motion that is not known up to `duration`, non-finite, or inconsistent.
    pub fn check(&self, duration: f64) -> Result<()> {
        let Some(motion) = &self.0 else {
            return Ok(());
        };
        if motion.end() < duration {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the motion of the base ends at {} s, the simulation at {duration} s",
                    motion.end()
                ),
            )
            .hint("give more rows, or a shorter duration"));
        }
        check_derivatives(motion.as_ref(), duration)
    }
}

impl fmt::Debug for PrescribedBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            None => "PrescribedBase(fixed)",
            Some(_) => "PrescribedBase(moving)",
        })
    }
}

/// Allowed difference of velocity and acceleration from the differences of pose and velocity, relative.
const AGREEMENT: f64 = 1e-4;
/// Number of instants tested.
const INSTANTS: usize = 23;

/// Compares velocity and acceleration with differences of pose and velocity at some instants between 0 and `duration`.
///
/// The differences are central ones of order 4, tried with several spacings, and the best counts: a consistent motion
/// passes even if it oscillates a thousand times within the duration, an inconsistent one has an error of the
/// magnitude of the inconsistency with any spacing.
pub fn check_derivatives(motion: &dyn BaseMotion, duration: f64) -> Result<()> {
    let end = duration.min(motion.end());
    let times: Vec<f64> = (0..INSTANTS)
        // golden section: the instants do not resonate with a period of the motion
        .map(|k| end * (0.05 + 0.9 * ((k as f64 * 0.618_033_988_749_894_8) % 1.0)))
        .collect();
    let bases: Vec<Base<f64>> = times.iter().map(|&t| motion.at(t)).collect();
    let refuse = |what: String| Err(Error::new(ErrorKind::Input, what));
    for (t, base) in [0.0, end]
        .into_iter()
        .map(|t| (t, motion.at(t)))
        .chain(times.iter().copied().zip(bases.iter().copied()))
    {
        let numbers = base.pose.rotation.rows().into_iter().flatten();
        let numbers = numbers
            .chain(base.pose.translation.to_array())
            .chain(base.velocity.to_array())
            .chain(base.acceleration.to_array());
        if numbers.into_iter().any(|x| !x.is_finite()) {
            return refuse(format!("the motion of the base at {t} s is not finite"));
        }
        let r = base.pose.rotation;
        let off = (r.x.dot(r.x) - 1.0)
            .abs()
            .max((r.y.dot(r.y) - 1.0).abs())
            .max((r.x.cross(r.y) - r.z).norm());
        if off > 1e-9 {
            return refuse(format!(
                "the orientation of the base at {t} s is not a rotation: its error is {off:.1e}"
            ));
        }
    }
    let largest = |f: &dyn Fn(&Base<f64>) -> f64| bases.iter().map(f).fold(0.0, f64::max);
    let sizes = [
        largest(&|b| b.velocity.angular.norm()),
        largest(&|b| b.velocity.linear.norm()),
        largest(&|b| b.acceleration.angular.norm()),
        largest(&|b| b.acceleration.linear.norm()),
    ];
    for (&t, base) in times.iter().zip(&bases) {
        let mut best = [f64::INFINITY; 4];
        for spacing in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(|part| part * end) {
            let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|k| motion.at(t + k * spacing));
            let difference = |f: &dyn Fn(&Base<f64>) -> Vec3<f64>| {
                ((f(&c) - f(&b)) * 8.0 - (f(&d) - f(&a))) * (1.0 / (12.0 * spacing))
            };
            let column = |k: usize| {
                difference(&|base: &Base<f64>| {
                    let r = base.pose.rotation;
                    [r.x, r.y, r.z][k]
                })
            };
            // Ṙ Rᵀ = ω̃, from ω = ½ Σ e × ė over the columns e of R
            let r = base.pose.rotation;
            let omega = (r.x.cross(column(0)) + r.y.cross(column(1)) + r.z.cross(column(2))) * 0.5;
            let rates = [
                omega - base.velocity.angular,
                difference(&|base| base.pose.translation) - base.velocity.linear,
                difference(&|base| base.velocity.angular) - base.acceleration.angular,
                difference(&|base| base.velocity.linear) - base.acceleration.linear,
            ];
            for k in 0..4 {
                best[k] = best[k].min(rates[k].norm());
            }
        }
        // round-off of the differences
        let reach = [1.0, base.pose.translation.norm(), sizes[0], sizes[1]];
        for (k, (what, of)) in [
            ("angular velocity", "orientation"),
            ("velocity", "position"),
            ("angular acceleration", "angular velocity"),
            ("acceleration", "velocity"),
        ]
        .into_iter()
        .enumerate()
        {
            let off = best[k];
            let allowed = AGREEMENT * sizes[k] + 1e-12 * reach[k] / end + 1e-9;
            if off.is_nan() || off > allowed {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "the {what} of the base at {t:.6} s is not the derivative of its {of}: they differ by {off:.3e}"
                    ),
                )
                .hint("velocities and accelerations are in world axes, of the base's origin, per second"));
            }
        }
    }
    Ok(())
}

/// amplitude · sin(2π frequency t + phase).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sinusoid<A> {
    /// Amplitude: a vector in m, or an angle in rad.
    pub amplitude: A,
    /// Frequency, Hz.
    pub frequency: f64,
    /// Phase, rad.
    pub phase: f64,
}

impl<A: Copy + std::ops::Mul<f64, Output = A>> Sinusoid<A> {
    /// Value, rate and second rate at t.
    fn at(&self, t: f64) -> [A; 3] {
        let omega = TAU * self.frequency;
        let (sin, cos) = elementary::sin_cos(omega * t + self.phase);
        [
            self.amplitude * sin,
            self.amplitude * (omega * cos),
            self.amplitude * (-omega * omega * sin),
        ]
    }
}

/// A base whose translation, and rotation about one fixed axis, are sums of polynomials of degree 2 and sinusoids.
///
/// ```text
/// r(t) = r₀ + v₀ t + ½ a t² + Σ A sin(2πf t + φ)                    of the origin, world axes
/// R(t) = exp(e θ(t)) R₀,   θ(t) = ω₀ t + ½ α t² + Σ A sin(2πf t + φ)  about the axis e of the world
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AnalyticBase {
    /// Pose before any motion: r₀ and R₀.
    pub pose: Pose<f64>,
    /// v₀, m/s.
    pub velocity: Vec3<f64>,
    /// a, m/s².
    pub acceleration: Vec3<f64>,
    /// Oscillations of the origin.
    pub shakes: Vec<Sinusoid<Vec3<f64>>>,
    /// e, of any length.
    pub axis: Vec3<f64>,
    /// ω₀, rad/s.
    pub rate: f64,
    /// α, rad/s².
    pub angular_acceleration: f64,
    /// Oscillations about the axis.
    pub swings: Vec<Sinusoid<f64>>,
}

impl Default for AnalyticBase {
    /// A base at rest at the origin; the axis is z.
    fn default() -> Self {
        AnalyticBase {
            pose: Pose::identity(),
            velocity: Vec3::zero(),
            acceleration: Vec3::zero(),
            shakes: Vec::new(),
            axis: Vec3::new(0.0, 0.0, 1.0),
            rate: 0.0,
            angular_acceleration: 0.0,
            swings: Vec::new(),
        }
    }
}

impl BaseMotion for AnalyticBase {
    fn at(&self, t: f64) -> Base<f64> {
        let mut position =
            self.pose.translation + (self.velocity + self.acceleration * (0.5 * t)) * t;
        let mut velocity = self.velocity + self.acceleration * t;
        let mut acceleration = self.acceleration;
        for shake in &self.shakes {
            let [x, v, a] = shake.at(t);
            position += x;
            velocity += v;
            acceleration += a;
        }
        let mut angle = (self.rate + 0.5 * self.angular_acceleration * t) * t;
        let mut rate = self.rate + self.angular_acceleration * t;
        let mut angular = self.angular_acceleration;
        for swing in &self.swings {
            let [x, v, a] = swing.at(t);
            angle += x;
            rate += v;
            angular += a;
        }
        // a zero axis gives NaN, which is rejected
        let e = self.axis.unit().unwrap_or(self.axis * f64::NAN);
        let (sin, cos) = elementary::sin_cos(0.5 * angle);
        let turn = Mat3::from_quaternion([cos, e.x * sin, e.y * sin, e.z * sin]);
        Base {
            pose: Pose::new(turn * self.pose.rotation, position),
            velocity: Motion::new(e * rate, velocity),
            acceleration: Motion::new(e * angular, acceleration),
        }
    }
}

/// Poses of the base at some times, with cubic splines between them: position, velocity and acceleration are continuous.
///
/// The splines are not-a-knot splines (three rows: a parabola, two: a line), of the position and of the four components of the
/// quaternion, which is then normalised; angular velocity and acceleration are the exact derivatives of that motion:
///
/// ```text
/// ω = 2 Im(ṗ p̄)/|p|²,    ω̇ = 2 Im(p̈ p̄)/|p|² − 2 ω (p·ṗ)/|p|²          p the spline, p̄ its conjugate
/// ```
///
/// The error is of order h⁴ in the pose, h² in the acceleration. The acceleration has kinks at the rows, where steps therefore
/// end: a table finer than necessary only costs time.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseTable {
    times: Vec<f64>,
    /// x, y, z, and the four components of the quaternion.
    splines: [Spline; 7],
}

impl BaseTable {
    /// A table of positions and quaternions (w, x, y, z); q and −q are the same orientation, and the nearer is taken.
    ///
    /// Orientations of neighbouring rows may be a third of a turn apart at most.
    pub fn new(times: Vec<f64>, poses: &[([f64; 3], [f64; 4])]) -> Result<Self> {
        let refuse = |what: String, hint: &str| Err(Error::new(ErrorKind::Input, what).hint(hint));
        if times.len() < 2 || times.len() != poses.len() {
            return refuse(
                format!(
                    "a motion of the base needs at least two rows, one per time: {} times, {} poses",
                    times.len(),
                    poses.len()
                ),
                "a base at rest needs no table",
            );
        }
        if let Some(k) = times
            .windows(2)
            .position(|w| w[0].partial_cmp(&w[1]) != Some(std::cmp::Ordering::Less))
        {
            return refuse(
                format!(
                    "times of the base must increase: {} s is followed by {} s",
                    times[k],
                    times[k + 1]
                ),
                "sort the rows and leave out those that repeat",
            );
        }
        if times[0] > 0.0 || !times[0].is_finite() || !times[times.len() - 1].is_finite() {
            return refuse(
                format!("the motion of the base begins at {} s", times[0]),
                "a simulation begins at 0 s",
            );
        }
        let mut columns: [Vec<f64>; 7] = Default::default();
        let mut before: Option<[f64; 4]> = None;
        for (time, (position, quaternion)) in times.iter().zip(poses) {
            if position.iter().chain(quaternion).any(|x| !x.is_finite()) {
                return refuse(
                    format!("the pose of the base at {time} s is not finite"),
                    "positions and quaternions are finite numbers",
                );
            }
            let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
            if (length - 1.0).abs() > 1e-3 {
                return refuse(
                    format!("the quaternion of the base at {time} s has length {length:.6}, not 1"),
                    "give (w, x, y, z) of unit length; identity is 1, 0, 0, 0",
                );
            }
            let mut p = quaternion.map(|x| x / length);
            if let Some(last) = before {
                let along: f64 = p.iter().zip(last).map(|(a, b)| a * b).sum();
                if along < 0.0 {
                    p = p.map(|x| -x);
                }
                if along.abs() < 0.5 {
                    return refuse(
                        format!("the base turns by more than 120° up to the row at {time} s"),
                        "give more rows: the motion between these two is ambiguous",
                    );
                }
            }
            before = Some(p);
            for (column, x) in columns.iter_mut().zip(position.iter().chain(&p)) {
                column.push(*x);
            }
        }
        let splines = columns.map(|values| Spline::new(&times, values));
        Ok(BaseTable { times, splines })
    }
}

impl BaseMotion for BaseTable {
    fn at(&self, t: f64) -> Base<f64> {
        let count = self.times.len();
        let k = self.times.partition_point(|&x| x <= t).clamp(1, count - 1) - 1;
        let [x, y, z, p0, p1, p2, p3] =
            [0, 1, 2, 3, 4, 5, 6].map(|i: usize| self.splines[i].at(&self.times, k, t));
        let vector = |d: usize| Vec3::new(x[d], y[d], z[d]);
        let quaternion = |d: usize| [p0[d], p1[d], p2[d], p3[d]];
        let (p, rate, second) = (quaternion(0), quaternion(1), quaternion(2));
        let dot = |a: [f64; 4], b: [f64; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        // Im(a b̄)
        let imaginary = |a: [f64; 4], b: [f64; 4]| {
            let (a0, b0) = (a[0], b[0]);
            let (a, b) = (Vec3::new(a[1], a[2], a[3]), Vec3::new(b[1], b[2], b[3]));
            a * b0 - b * a0 - a.cross(b)
        };
        let inverse = 1.0 / dot(p, p);
        let scale = inverse.sqrt();
        let omega = imaginary(rate, p) * (2.0 * inverse);
        let alpha = (imaginary(second, p) - omega * dot(p, rate)) * (2.0 * inverse);
        Base {
            pose: Pose::new(Mat3::from_quaternion(p.map(|x| x * scale)), vector(0)),
            velocity: Motion::new(omega, vector(1)),
            acceleration: Motion::new(alpha, vector(2)),
        }
    }

    fn end(&self) -> f64 {
        self.times[self.times.len() - 1]
    }

    fn next_kink(&self, t: f64) -> f64 {
        let next = self.times.partition_point(|&x| x <= t);
        self.times.get(next).copied().unwrap_or(f64::INFINITY)
    }
}

/// A cubic spline: values and second derivatives at the knots.
#[derive(Clone, Debug, PartialEq)]
struct Spline {
    values: Vec<f64>,
    seconds: Vec<f64>,
}

impl Spline {
    /// Through these values, with a continuous third derivative at the second and second-to-last knots.
    ///
    /// ```text
    /// h₋ m₋ + 2 (h₋ + h₊) m + h₊ m₊ = 6 (d₊ − d₋)       m second derivatives, h widths, d slopes of the chords    (1)
    /// m₀ = m₁ + (m₁ − m₂) h₀/h₁                         the same cubic on both sides of knot 1, and at the end    (2)
    /// ```
    fn new(times: &[f64], values: Vec<f64>) -> Self {
        let n = values.len();
        let width = |k: usize| times[k + 1] - times[k];
        let slope = |k: usize| (values[k + 1] - values[k]) / width(k);
        let mut seconds = vec![0.0; n];
        if n == 3 {
            seconds.fill(2.0 * (slope(1) - slope(0)) / (times[2] - times[0]));
        } else if n > 3 {
            // (1) for the inner knots, m₀ and the last one replaced by (2); Thomas algorithm
            let last = n - 2;
            let mut diagonal = vec![0.0; n];
            let mut right = vec![0.0; n];
            for k in 1..=last {
                let (h0, h1) = (width(k - 1), width(k));
                let mut lower = if k == 1 { 0.0 } else { h0 };
                diagonal[k] = 2.0 * (h0 + h1);
                right[k] = 6.0 * (slope(k) - slope(k - 1));
                if k == 1 {
                    diagonal[k] += h0 * (1.0 + h0 / h1);
                }
                if k == last {
                    diagonal[k] += h1 * (1.0 + h1 / h0);
                    lower -= h1 * h1 / h0;
                }
                if k > 1 {
                    let h = width(k - 1);
                    let upper = match k {
                        2 => h - width(0) * width(0) / h,
                        _ => h,
                    };
                    let factor = lower / diagonal[k - 1];
                    diagonal[k] -= factor * upper;
                    right[k] -= factor * right[k - 1];
                }
            }
            for k in (1..=last).rev() {
                let mut rest = right[k];
                if k < last {
                    let h = width(k);
                    let upper = match k {
                        1 => h - width(0) * width(0) / h,
                        _ => h,
                    };
                    rest -= upper * seconds[k + 1];
                }
                seconds[k] = rest / diagonal[k];
            }
            seconds[0] = seconds[1] + (seconds[1] - seconds[2]) * width(0) / width(1);
            seconds[n - 1] =
                seconds[last] + (seconds[last] - seconds[last - 1]) * width(last) / width(last - 1);
        }
        Spline { values, seconds }
    }

    /// Value, first and second derivative at t, with the cubic of interval k.
    fn at(&self, times: &[f64], k: usize, t: f64) -> [f64; 3] {
        let h = times[k + 1] - times[k];
        let (b, a) = ((t - times[k]) / h, (times[k + 1] - t) / h);
        let (y0, y1) = (self.values[k], self.values[k + 1]);
        let (m0, m1) = (self.seconds[k], self.seconds[k + 1]);
        [
            a * y0 + b * y1 + ((a * a * a - a) * m0 + (b * b * b - b) * m1) * (h * h / 6.0),
            (y1 - y0) / h + ((3.0 * b * b - 1.0) * m1 - (3.0 * a * a - 1.0) * m0) * (h / 6.0),
            a * m0 + b * m1,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cubic is its own spline, on uneven knots, to round-off.
    #[test]
    fn cubics_are_kept() {
        let times = [0.0, 0.3, 0.5, 1.1, 1.2, 2.0];
        let f = |t: f64| ((0.7 * t - 1.1) * t + 0.4) * t - 2.0;
        for n in 4..=times.len() {
            let times = &times[..n];
            let spline = Spline::new(times, times.iter().map(|&t| f(t)).collect());
            for k in 0..n - 1 {
                let t = 0.3 * times[k] + 0.7 * times[k + 1];
                let [y, d, s] = spline.at(times, k, t);
                assert!((y - f(t)).abs() < 1e-14, "{n} {k}: {y}");
                assert!(
                    (d - ((2.1 * t - 2.2) * t + 0.4)).abs() < 1e-13,
                    "{n} {k}: {d}"
                );
                assert!((s - (4.2 * t - 2.2)).abs() < 1e-12, "{n} {k}: {s}");
            }
        }
    }

    fn wobble() -> AnalyticBase {
        AnalyticBase {
            pose: Pose::new(
                Mat3::from_quaternion([0.5, -0.5, 0.5, 0.5]),
                Vec3::new(0.1, -0.2, 0.3),
            ),
            velocity: Vec3::new(0.3, 0.0, -0.1),
            acceleration: Vec3::new(0.1, 0.2, 0.0),
            shakes: vec![Sinusoid {
                amplitude: Vec3::new(0.0, 0.1, 0.2),
                frequency: 1.5,
                phase: 0.3,
            }],
            axis: Vec3::new(1.0, 2.0, -1.0),
            rate: 0.8,
            angular_acceleration: -0.3,
            swings: vec![Sinusoid {
                amplitude: 0.4,
                frequency: 0.7,
                phase: 0.0,
            }],
        }
    }

    #[test]
    fn derivatives_are_recognised() {
        check_derivatives(&wobble(), 3.0).unwrap();
        // 500 oscillations
        let mut fast = wobble();
        fast.shakes[0].frequency = 50.0;
        check_derivatives(&fast, 10.0).unwrap();
        for wrong in 0..4 {
            let lie = move |t: f64| {
                let mut base = wobble().at(t);
                match wrong {
                    0 => base.velocity.angular = base.velocity.angular * 1.01,
                    1 => base.velocity.linear = base.velocity.linear * 1.01,
                    2 => base.acceleration.angular = base.acceleration.angular * 1.01,
                    _ => base.acceleration.linear = base.acceleration.linear * 1.01,
                }
                base
            };
            let error = check_derivatives(&lie, 3.0).unwrap_err().to_string();
            assert!(error.contains("is not the derivative"), "{error}");
        }
    }

    /// A fine table of a smooth motion is that motion: order 4 in the pose, 2 in the acceleration.
    #[test]
    fn tables_follow_the_motion() {
        let motion = wobble();
        let quaternion = |angle: f64| {
            let (sin, cos) = (0.5 * angle).sin_cos();
            let s = sin / 6.0f64.sqrt();
            [cos, s, 2.0 * s, -s]
        };
        let error = |count: usize| {
            let times: Vec<f64> = (0..=count).map(|k| 2.0 * k as f64 / count as f64).collect();
            let poses: Vec<([f64; 3], [f64; 4])> = times
                .iter()
                .enumerate()
                .map(|(k, &t)| {
                    let base = motion.at(t);
                    let angle = 0.8 * t - 0.15 * t * t + 0.4 * (TAU * 0.7 * t).sin();
                    let [w, x, y, z] = quaternion(angle);
                    // p ∘ (½, −½, ½, ½), with signs that jump
                    let [a, b, c, d] = [0.5, -0.5, 0.5, 0.5];
                    let sign = if k % 3 == 0 { -1.0 } else { 1.0 };
                    let product = [
                        w * a - x * b - y * c - z * d,
                        w * b + x * a + y * d - z * c,
                        w * c - x * d + y * a + z * b,
                        w * d + x * c - y * b + z * a,
                    ];
                    (base.pose.translation.to_array(), product.map(|x| sign * x))
                })
                .collect();
            let table = BaseTable::new(times, &poses).unwrap();
            check_derivatives(&table, 2.0).unwrap();
            let mut worst = [0.0f64; 3];
            for k in 0..997 {
                let t = 2.0 * f64::from(k) / 997.0;
                let (a, b) = (table.at(t), motion.at(t));
                let r = (a.pose.rotation.x - b.pose.rotation.x).norm();
                worst[0] = worst[0]
                    .max(r)
                    .max((a.pose.translation - b.pose.translation).norm());
                worst[1] = worst[1]
                    .max((a.velocity.angular - b.velocity.angular).norm())
                    .max((a.velocity.linear - b.velocity.linear).norm());
                worst[2] = worst[2]
                    .max((a.acceleration.angular - b.acceleration.angular).norm())
                    .max((a.acceleration.linear - b.acceleration.linear).norm());
            }
            worst
        };
        let (coarse, fine) = (error(100), error(200));
        for (k, order) in [4.0, 3.0, 2.0].into_iter().enumerate() {
            let measured = (coarse[k] / fine[k]).log2();
            assert!((measured - order).abs() < 0.4, "{k}: order {measured}");
        }
        assert!(fine[0] < 1e-6, "{fine:?}");
    }

    #[test]
    fn tables_that_cannot_be_followed_are_refused() {
        let still = ([0.0; 3], [1.0, 0.0, 0.0, 0.0]);
        let turned = ([0.0; 3], [0.0, 1.0, 0.0, 0.0]);
        for (times, poses, message) in [
            (vec![0.0], vec![still], "at least two rows"),
            (vec![0.0, 0.0], vec![still; 2], "must increase"),
            (vec![0.5, 1.0], vec![still; 2], "begins at 0.5 s"),
            (vec![0.0, 1.0], vec![still, turned], "more than 120°"),
            (
                vec![0.0, 1.0],
                vec![still, ([0.0; 3], [1.0, 1.0, 0.0, 0.0])],
                "has length",
            ),
        ] {
            let error = BaseTable::new(times, &poses).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
