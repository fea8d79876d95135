//! Prescribed joint motions: cycloid and quintic from rest to rest, and motions through given samples.
//!
//! The papers' examples move along a cycloid, Saha (1999), eqs. 38–39, which starts and ends with zero velocity and
//! acceleration:
//!
//! ```text
//! q(t) = q₀ + Δ/T (t − T/2π sin(2πt/T)),   Δ = q₁ − q₀
//! ```
//!
//! Eq. 38 is this form with Δ = π. Eq. 39 is printed with the same factor ½ for all joints, which contradicts the end values
//! given with it; the form above satisfies them.

use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use std::f64::consts::TAU;

/// The shape of a motion from rest to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// t/T − sin(2πt/T)/2π.
    Cycloid,
    /// 10 s³ − 15 s⁴ + 6 s⁵, s = t/T.
    Quintic,
}

/// A motion of scalar coordinates from `start` to `end` in `duration` seconds.
#[derive(Clone, Debug)]
pub struct PointToPoint {
    profile: Profile,
    start: Vec<f64>,
    end: Vec<f64>,
    duration: f64,
}

/// Positions, velocities and accelerations at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Time, s.
    pub time: f64,
    /// Positions.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Accelerations.
    pub vdot: Vec<f64>,
}

impl PointToPoint {
    /// A motion between two points of equal length.
    pub fn new(profile: Profile, start: &[f64], end: &[f64], duration: f64) -> Result<Self> {
        crate::state::check_length("end of the trajectory", end.len(), start.len())?;
        if !(duration.is_finite() && duration > 0.0) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("duration of the trajectory must be a positive time, not {duration} s"),
            ));
        }
        if let Some(x) = start.iter().chain(end).find(|x| !x.is_finite()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("a trajectory cannot pass through {x}"),
            ));
        }
        Ok(PointToPoint {
            profile,
            start: start.to_vec(),
            end: end.to_vec(),
            duration,
        })
    }

    /// Duration, s.
    pub fn duration(&self) -> f64 {
        self.duration
    }

    /// The motion at time t; at rest before 0 and after the end.
    pub fn at(&self, time: f64) -> Sample {
        let big_t = self.duration;
        let s = (time / big_t).clamp(0.0, 1.0);
        let inside = (0.0..=big_t).contains(&time);
        let (x, dx, ddx) = match self.profile {
            Profile::Cycloid => {
                let (sin, cos) = elementary::sin_cos(TAU * s);
                (s - sin / TAU, 1.0 - cos, TAU * sin)
            }
            Profile::Quintic => {
                let s2 = s * s;
                (
                    s2 * s * (10.0 - 15.0 * s + 6.0 * s2),
                    30.0 * s2 * (1.0 - 2.0 * s + s2),
                    60.0 * s * (1.0 - 3.0 * s + 2.0 * s2),
                )
            }
        };
        let (dx, ddx) = if inside { (dx, ddx) } else { (0.0, 0.0) };
        let delta = || self.start.iter().zip(&self.end).map(|(a, b)| b - a);
        Sample {
            time,
            q: self
                .start
                .iter()
                .zip(delta())
                .map(|(a, d)| a + d * x)
                .collect(),
            v: delta().map(|d| d * dx / big_t).collect(),
            vdot: delta().map(|d| d * ddx / (big_t * big_t)).collect(),
        }
    }
}

/// A motion through samples of positions, velocities and accelerations: polynomials of degree 5 between them, so that all
/// three are continuous. At rest in the first position before the first sample, in the last position after the last.
#[derive(Clone, Debug)]
pub struct Sampled {
    samples: Vec<Sample>,
}

impl Sampled {
    /// A motion through these samples; times must increase.
    pub fn new(samples: Vec<Sample>) -> Result<Self> {
        let refuse = |what: String| Err(Error::new(ErrorKind::Input, what));
        let Some(first) = samples.first() else {
            return refuse("a motion needs at least one sample".into());
        };
        let width = first.q.len();
        for sample in &samples {
            let numbers = [&sample.q, &sample.v, &sample.vdot];
            if numbers.iter().any(|list| list.len() != width) {
                return refuse(format!(
                    "the sample at {} s does not have {width} positions, velocities and accelerations",
                    sample.time
                ));
            }
            let finite = numbers.into_iter().flatten().all(|x| x.is_finite());
            if !(finite && sample.time.is_finite()) {
                return refuse(format!("the sample at {} s is not finite", sample.time));
            }
        }
        if let Some(pair) = samples.windows(2).find(|pair| pair[0].time >= pair[1].time) {
            return refuse(format!(
                "times of a motion must increase: {} s is followed by {} s",
                pair[0].time, pair[1].time
            ));
        }
        Ok(Sampled { samples })
    }

    /// The motion at time t.
    pub fn at(&self, time: f64) -> Sample {
        let next = self.samples.partition_point(|sample| sample.time <= time);
        let rest = |sample: &Sample| Sample {
            time,
            q: sample.q.clone(),
            v: vec![0.0; sample.q.len()],
            vdot: vec![0.0; sample.q.len()],
        };
        if next == 0 {
            return rest(&self.samples[0]);
        }
        let a = &self.samples[next - 1];
        let Some(b) = self.samples.get(next) else {
            return match time == a.time {
                true => a.clone(),
                false => rest(a),
            };
        };
        let h = b.time - a.time;
        let s = (time - a.time) / h;
        let mut sample = rest(a);
        for k in 0..a.q.len() {
            // q₀ + h v₀ s + ½ h² a₀ s² + c₃ s³ + c₄ s⁴ + c₅ s⁵
            let (v0, v1) = (h * a.v[k], h * b.v[k]);
            let (a0, a1) = (h * h * a.vdot[k], h * h * b.vdot[k]);
            let gap = b.q[k] - a.q[k] - v0 - 0.5 * a0;
            let (slope, bend) = (v1 - v0 - a0, a1 - a0);
            let c3 = 10.0 * gap - 4.0 * slope + 0.5 * bend;
            let c4 = -15.0 * gap + 7.0 * slope - bend;
            let c5 = 6.0 * gap - 3.0 * slope + 0.5 * bend;
            sample.q[k] = a.q[k] + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5))));
            sample.v[k] = (v0 + s * (a0 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) / h;
            sample.vdot[k] = (a0 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) / (h * h);
        }
        sample
    }
}

/// A motion to be followed.
#[derive(Clone, Debug)]
pub enum Reference {
    /// From point to point.
    PointToPoint(PointToPoint),
    /// Through samples.
    Sampled(Sampled),
}

impl Reference {
    /// The motion at time t.
    pub fn at(&self, time: f64) -> Sample {
        match self {
            Reference::PointToPoint(motion) => motion.at(time),
            Reference::Sampled(motion) => motion.at(time),
        }
    }

    /// The first time after t at which the acceleration has a kink, s.
    pub fn next_kink(&self, t: f64) -> f64 {
        match self {
            Reference::PointToPoint(_) if t < 0.0 => 0.0,
            Reference::PointToPoint(motion) if t < motion.duration() => motion.duration(),
            Reference::PointToPoint(_) => f64::INFINITY,
            Reference::Sampled(motion) => {
                let next = motion.samples.partition_point(|sample| sample.time <= t);
                motion
                    .samples
                    .get(next)
                    .map_or(f64::INFINITY, |sample| sample.time)
            }
        }
    }
}

impl From<PointToPoint> for Reference {
    fn from(motion: PointToPoint) -> Self {
        Reference::PointToPoint(motion)
    }
}

impl From<Sampled> for Reference {
    fn from(motion: Sampled) -> Self {
        Reference::Sampled(motion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residual::larger;

    /// Samples of a cycloid reproduce the cycloid: order 6 in the position, 4 in the acceleration.
    #[test]
    fn samples_give_the_motion_back() {
        let motion = PointToPoint::new(Profile::Cycloid, &[0.0, 1.0], &[2.0, -1.0], 2.0).unwrap();
        let error = |count: u32| {
            let times = (0..=count).map(|k| 2.0 * f64::from(k) / f64::from(count));
            let sampled = Sampled::new(times.map(|t| motion.at(t)).collect()).unwrap();
            let mut worst = [0.0f64; 3];
            for k in 0..500 {
                let t = 2.0 * f64::from(k) / 499.0;
                let (a, b) = (sampled.at(t), motion.at(t));
                for (worst, (a, b)) in worst.iter_mut().zip([
                    (a.q[1], b.q[1]),
                    (a.v[1], b.v[1]),
                    (a.vdot[1], b.vdot[1]),
                ]) {
                    *worst = larger(*worst, (a - b).abs());
                }
            }
            worst
        };
        let (coarse, fine) = (error(10), error(20));
        for (k, order) in [6.0, 5.0, 4.0].into_iter().enumerate() {
            let measured = (coarse[k] / fine[k]).log2();
            assert!((measured - order).abs() < 0.3, "{k}: {measured}");
        }
    }
}
