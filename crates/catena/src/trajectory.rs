//! Prescribed joint motions: cycloid and quintic from rest to rest.
//!
//! The papers' examples move along a cycloid, Saha (1999), eqs. 38–39, which starts and ends with zero velocity and
//! acceleration:
//!
//! ```text
//! q(t) = q₀ + Δ/T (t − T/2π sin(2πt/T)),   Δ = q₁ − q₀
//! ```
//!
//! Eq. 38 is this form with Δ = π. Eq. 39 is printed with the same factor ½ for all joints, which contradicts the end values
//! given with it; the form above meets them.

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

/// A motion of plain coordinates from `start` to `end` in `duration` seconds.
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
                let (sin, cos) = (TAU * s).sin_cos();
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
