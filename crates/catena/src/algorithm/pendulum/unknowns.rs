//! The unknowns X = (R, V, P, S) of eq. 2, body by body, and values of them that satisfy all constraints.

use super::Pendulum;
use super::euler::{Four, dot, g_times, g_transpose_times, rotation, rotation_rate};
use crate::dense::Lu3;
use crate::error::{Error, ErrorKind, Result};
use crate::spatial::{Mat3, Vec3};

/// Unknowns per body, in the order of [`Unknowns`].
pub const UNKNOWNS: usize = 14;

/// The unknowns of one body, or their rates, or their corrections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unknowns<S = f64> {
    /// R: mass centre, inertial components.
    pub position: Vec3<S>,
    /// V: its velocity.
    pub velocity: Vec3<S>,
    /// p: Euler parameters.
    pub parameters: Four<S>,
    /// s: rates of the Euler parameters.
    pub rates: Four<S>,
}

impl<S: Copy> Unknowns<S> {
    /// Unknowns of a body, from the vector of all.
    #[inline(always)]
    pub fn of(x: &[S], body: usize) -> Self {
        let x = &x[body * UNKNOWNS..(body + 1) * UNKNOWNS];
        Unknowns {
            position: Vec3::new(x[0], x[1], x[2]),
            velocity: Vec3::new(x[3], x[4], x[5]),
            parameters: [x[6], x[7], x[8], x[9]],
            rates: [x[10], x[11], x[12], x[13]],
        }
    }

    /// Writes them into the vector of all.
    #[inline(always)]
    pub fn store(&self, x: &mut [S], body: usize) {
        let x = &mut x[body * UNKNOWNS..(body + 1) * UNKNOWNS];
        x[..3].copy_from_slice(&self.position.to_array());
        x[3..6].copy_from_slice(&self.velocity.to_array());
        x[6..10].copy_from_slice(&self.parameters);
        x[10..14].copy_from_slice(&self.rates);
    }
}

/// The dependent Euler parameter u of every body: the largest one, since it is a divisor.
///
/// It decides which three of the four equations s = ṗ are kept. It may change between the steps of an integrator, not
/// within one.
pub fn dependent_parameters(x: &[f64], dependent: &mut [u8]) {
    for (body, u) in dependent.iter_mut().enumerate() {
        let p = Unknowns::of(x, body).parameters;
        *u = 0;
        for k in 1..4 {
            if p[k].abs() > p[*u as usize].abs() {
                *u = k as u8;
            }
        }
    }
}

/// X from the orientation of every body and its angular velocity in body axes: all constraints hold.
///
/// Orientations are quaternions (w, x, y, z), body → inertial; they are normalised.
pub fn consistent_values(
    pendulum: &Pendulum,
    orientations: &[Four<f64>],
    angular_velocities: &[Vec3<f64>],
) -> Result<Vec<f64>> {
    let n = pendulum.bodies();
    if orientations.len() != n || angular_velocities.len() != n {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "a pendulum of {n} bodies needs {n} orientations and angular velocities, {} and {} are given",
                orientations.len(),
                angular_velocities.len()
            ),
        ));
    }
    let mut x = vec![0.0; UNKNOWNS * n];
    let (mut joint, mut joint_velocity) = (pendulum.pivot, Vec3::zero());
    for body in 0..n {
        let given = orientations[body];
        let length = dot(given, given).sqrt();
        let omega = angular_velocities[body];
        if !(length.is_finite() && length > 1e-6 && omega.norm().is_finite()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("state of body {} of the pendulum is not usable", body + 1),
            )
            .hint("orientations are quaternions (w, x, y, z) of length 1"));
        }
        let p = given.map(|x| x / length);
        let s = g_transpose_times(p, omega * 0.5);
        let (turn, rate) = (rotation(p), rotation_rate(p, s));
        let link = &pendulum.rods[body];
        Unknowns {
            position: joint - turn * link.c,          // eq. 5
            velocity: joint_velocity - rate * link.c, // eq. 12
            parameters: p,
            rates: s,
        }
        .store(&mut x, body);
        joint -= turn * link.rod.a;
        joint_velocity -= rate * link.rod.a;
    }
    Ok(x)
}

/// Computes Ẋ at consistent values X: with it E(X, Ẋ) = 0 and the constraints hold for accelerations, too.
///
/// The joint forces τ_i solve a symmetric block tridiagonal system, the limit σ → ∞ of the linear-cost scheme.
pub fn consistent_rates(pendulum: &Pendulum, x: &[f64], rates: &mut [f64]) -> Result<()> {
    let n = pendulum.bodies();
    // after elimination: τ_i = lead[i] − follow[i] τ_{i+1}
    let mut lead = vec![Vec3::<f64>::zero(); n];
    let mut follow = vec![Mat3::<f64>::zero(); n];
    let mut before: Option<(Mat3<f64>, Mat3<f64>, Vec3<f64>)> = None;
    for body in 0..n {
        let at = Local::new(pendulum, x, body);
        let link = &pendulum.rods[body];
        let unit = Mat3::identity() * link.inverse_mass;
        let mut diagonal = unit - at.mobility(link.c, link.c);
        let upper = Mat3::zero() - unit - at.mobility(link.c, link.rod.r);
        let mut right = -at.free_acceleration(link.c);
        match before {
            None => right -= pendulum.gravity,
            Some((outer, lower, outer_right)) => {
                diagonal = diagonal + outer - lower * follow[body - 1];
                right = right + outer_right - lower * lead[body - 1];
            }
        }
        let pivot = Lu3::new(diagonal).ok_or_else(|| {
            Error::new(
                ErrorKind::Singular,
                format!("joint {} of the pendulum cannot be accelerated", body + 1),
            )
        })?;
        lead[body] = pivot.solve(right);
        follow[body] = Mat3 {
            x: pivot.solve(upper.x),
            y: pivot.solve(upper.y),
            z: pivot.solve(upper.z),
        };
        before = Some((
            unit - at.mobility(link.rod.r, link.rod.r),
            upper.transpose(),
            -at.free_acceleration(link.rod.r),
        ));
    }
    let mut beyond = Vec3::zero();
    for body in (0..n).rev() {
        let force = lead[body] - follow[body] * beyond;
        let at = Local::new(pendulum, x, body);
        let link = &pendulum.rods[body];
        let moment = link.c.cross(at.turn.transpose_times(force))
            + link.rod.r.cross(at.turn.transpose_times(beyond));
        let omega_rate = at.inverse_inertia * (moment - at.gyroscopic);
        let own = Unknowns::of(x, body);
        let (p, s) = (own.parameters, own.rates);
        let turning = g_transpose_times(p, omega_rate * 0.5);
        let square = dot(s, s);
        Unknowns {
            position: own.velocity,
            velocity: pendulum.gravity + (force - beyond) * link.inverse_mass,
            parameters: s,
            rates: [0, 1, 2, 3].map(|k| turning[k] - square * p[k]),
        }
        .store(rates, body);
        beyond = force;
    }
    Ok(())
}

/// Contribution of a body to the joint forces.
struct Local {
    turn: Mat3<f64>,
    omega: Vec3<f64>,
    inverse_inertia: Mat3<f64>,
    /// ω × I ω.
    gyroscopic: Vec3<f64>,
}

impl Local {
    fn new(pendulum: &Pendulum, x: &[f64], body: usize) -> Self {
        let own = Unknowns::of(x, body);
        let inertia = pendulum.rods[body].rod.inertia;
        let omega = g_times(own.parameters, own.rates) * 2.0;
        Local {
            turn: rotation(own.parameters),
            omega,
            inverse_inertia: inertia.inverse().full(),
            gyroscopic: omega.cross(inertia * omega),
        }
    }

    /// A b̃ I⁻¹ d̃ Aᵀ.
    fn mobility(&self, b: Vec3<f64>, d: Vec3<f64>) -> Mat3<f64> {
        (Mat3::skew(b) * self.inverse_inertia * Mat3::skew(d)).conjugate(self.turn)
    }

    /// Acceleration of the point b relative to the mass centre when no joint force acts.
    fn free_acceleration(&self, b: Vec3<f64>) -> Vec3<f64> {
        let turning = self.inverse_inertia * -self.gyroscopic;
        self.turn * (turning.cross(b) + self.omega.cross(self.omega.cross(b)))
    }
}
