//! Systems to integrate, and how.

use catena::Result;
use catena::integrate::{
    Adaptive, Fixed, FixedMethod, IntegratorOptions, Mechanical, Method, System, Tolerances,
};
use catena::state::quaternion_step;

/// ẏ = f(t, y) from a function.
pub struct Plain<F> {
    dimension: usize,
    f: F,
}

impl<F: FnMut(f64, &[f64], &mut [f64])> System for Plain<F> {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        (self.f)(t, y, dy);
        Ok(())
    }
}

pub fn plain<F: FnMut(f64, &[f64], &mut [f64])>(dimension: usize, f: F) -> Plain<F> {
    Plain { dimension, f }
}

pub fn oscillator(_t: f64, y: &[f64], dy: &mut [f64]) {
    (dy[0], dy[1]) = (y[1], -y[0]);
}

pub fn kepler(_t: f64, y: &[f64], dy: &mut [f64]) {
    let r3 = (y[0] * y[0] + y[1] * y[1]).powf(1.5);
    (dy[0], dy[1], dy[2], dy[3]) = (y[2], y[3], -y[0] / r3, -y[1] / r3);
}

pub const ECCENTRICITY: f64 = 0.3;

/// Position and velocity on the Kepler orbit of period 2π, from Kepler's equation E − e sin E = t.
pub fn kepler_exact(t: f64) -> [f64; 4] {
    let e = ECCENTRICITY;
    let mut anomaly = t;
    for _ in 0..50 {
        anomaly -= (anomaly - e * anomaly.sin() - t) / (1.0 - e * anomaly.cos());
    }
    let (sin, cos) = anomaly.sin_cos();
    let b = (1.0 - e * e).sqrt();
    let rate = 1.0 / (1.0 - e * cos);
    [cos - e, b * sin, -sin * rate, b * cos * rate]
}

/// ẏ = y cos t with y = exp(sin t): depends on time.
pub fn growth(t: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = y[0] * t.cos();
}

pub const MOON: f64 = 0.012277471;

/// Restricted three-body problem; its Arenstorf orbit is closed (Hairer, Nørsett & Wanner 1993, sec. II.0).
pub fn arenstorf(_t: f64, y: &[f64], dy: &mut [f64]) {
    let earth = 1.0 - MOON;
    let d1 = ((y[0] + MOON).powi(2) + y[1] * y[1]).powf(1.5);
    let d2 = ((y[0] - earth).powi(2) + y[1] * y[1]).powf(1.5);
    dy[0] = y[2];
    dy[1] = y[3];
    dy[2] = y[0] + 2.0 * y[3] - earth * (y[0] + MOON) / d1 - MOON * (y[0] - earth) / d2;
    dy[3] = y[1] - 2.0 * y[2] - earth * y[1] / d1 - MOON * y[1] / d2;
}

pub const ARENSTORF_START: [f64; 4] = [0.994, 0.0, 0.0, -2.001_585_106_379_082_5];
pub const ARENSTORF_PERIOD: f64 = 17.065_216_560_157_964;

/// A free rigid body: quaternion and angular velocity in body axes.
#[derive(Clone, Copy)]
pub struct RigidBody {
    inertia: [f64; 3],
}

pub const BODY: RigidBody = RigidBody {
    inertia: [1.0, 2.0, 3.5],
};
pub const BODY_START: [f64; 7] = [1.0, 0.0, 0.0, 0.0, 0.3, 1.4, -0.5];

impl RigidBody {
    pub fn euler(&self, w: &[f64], wdot: &mut [f64]) {
        let [a, b, c] = self.inertia;
        wdot[0] = (b - c) / a * w[1] * w[2];
        wdot[1] = (c - a) / b * w[2] * w[0];
        wdot[2] = (a - b) / c * w[0] * w[1];
    }

    pub fn energy(&self, w: &[f64]) -> f64 {
        (0..3).map(|k| 0.5 * self.inertia[k] * w[k] * w[k]).sum()
    }
}

impl System for RigidBody {
    fn dimension(&self) -> usize {
        7
    }

    fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        let (p, w) = y.split_at(4);
        dy[0] = 0.5 * (-p[1] * w[0] - p[2] * w[1] - p[3] * w[2]);
        dy[1] = 0.5 * (p[0] * w[0] + p[2] * w[2] - p[3] * w[1]);
        dy[2] = 0.5 * (p[0] * w[1] + p[3] * w[0] - p[1] * w[2]);
        dy[3] = 0.5 * (p[0] * w[2] + p[1] * w[1] - p[2] * w[0]);
        self.euler(w, &mut dy[4..]);
        Ok(())
    }

    fn project(&mut self, _t: f64, y: &mut [f64]) {
        let length = norm(&y[..4]);
        y[..4].iter_mut().for_each(|x| *x /= length);
    }
}

impl Mechanical for RigidBody {
    fn position_count(&self) -> usize {
        4
    }

    fn velocity_count(&self) -> usize {
        3
    }

    fn acceleration(&mut self, _t: f64, _q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.euler(v, vdot);
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        let turned = quaternion_step([q[0], q[1], q[2], q[3]], [delta[0], delta[1], delta[2]]);
        q.copy_from_slice(&turned);
    }
}

/// A spinning body that a spring pulls back to its first orientation, so that positions act on velocities.
pub struct TorsionBody(pub RigidBody);

impl System for TorsionBody {
    fn dimension(&self) -> usize {
        7
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        self.0.derivative(t, y, dy)?;
        let (p, w) = y.split_at(4);
        Mechanical::acceleration(self, t, p, w, &mut dy[4..])
    }

    fn project(&mut self, t: f64, y: &mut [f64]) {
        self.0.project(t, y);
    }
}

impl Mechanical for TorsionBody {
    fn position_count(&self) -> usize {
        4
    }

    fn velocity_count(&self) -> usize {
        3
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.0.euler(v, vdot);
        for k in 0..3 {
            vdot[k] -= (1.0 + 0.5 * t.sin()) * q[0] * q[1 + k] / self.0.inertia[k];
        }
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        self.0.step(q, delta);
    }
}

/// A pendulum of length 1 m under 9.81 m/s².
pub struct Pendulum;

impl Pendulum {
    pub fn energy(q: &[f64], v: &[f64]) -> f64 {
        0.5 * v[0] * v[0] - 9.81 * q[0].cos()
    }
}

impl Mechanical for Pendulum {
    fn position_count(&self) -> usize {
        1
    }

    fn velocity_count(&self) -> usize {
        1
    }

    fn acceleration(&mut self, _t: f64, q: &[f64], _v: &[f64], vdot: &mut [f64]) -> Result<()> {
        vdot[0] = -9.81 * q[0].sin();
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
    }
}

pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter()
        .zip(y)
        .map(|(x, y)| (x - y).powi(2))
        .sum::<f64>()
        .sqrt()
}

pub fn begin<S: System>(
    method: Method,
    options: IntegratorOptions,
    system: &mut S,
    y: &[f64],
) -> Result<Adaptive> {
    let mut run = Adaptive::new(method, y.len(), options)?;
    run.start(system, 0.0, y)?;
    Ok(run)
}

pub fn solve<S: System>(
    method: Method,
    options: IntegratorOptions,
    system: &mut S,
    y: &[f64],
    end: f64,
) -> Result<Adaptive> {
    let mut run = begin(method, options, system, y)?;
    while run.time() < end {
        run.step(system, end)?;
    }
    Ok(run)
}

/// Steps of equal size by a method with variable steps: the tolerance never limits them.
pub fn even_steps(size: f64) -> IntegratorOptions {
    IntegratorOptions {
        tolerances: Tolerances {
            relative: 0.0,
            absolute: 1e9,
        },
        max_step: size,
        initial_step: Some(size),
        ..IntegratorOptions::default()
    }
}

pub fn fixed_run<S: Mechanical>(
    method: FixedMethod,
    system: &mut S,
    q: &[f64],
    v: &[f64],
    steps: u32,
    end: f64,
) -> Fixed {
    let mut run = Fixed::new(method, q.len(), v.len(), end / f64::from(steps)).unwrap();
    run.start(0.0, q, v).unwrap();
    for _ in 0..steps {
        run.step(system).unwrap();
    }
    run
}

/// The oscillator with the events y₀ = 0 and y₁ = ½.
pub struct Crossings;

impl System for Crossings {
    fn dimension(&self) -> usize {
        2
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        oscillator(t, y, dy);
        Ok(())
    }

    fn event_count(&self) -> usize {
        3
    }

    fn events(&mut self, t: f64, y: &[f64], values: &mut [f64]) {
        values[0] = y[0];
        values[1] = y[1] - 0.5;
        // depends on time only, so that its zeros are known to the last bit
        values[2] = t.sin();
    }
}
