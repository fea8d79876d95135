//! Invariants of a motion of the pendulum: its energy and its constraints.

use super::euler::{dot, g_times, rotation, rotation_rate};
use super::{Pendulum, Unknowns};
use crate::residual::larger;
use crate::spatial::Vec3;

/// Violations of the constraints by X: the largest of all bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Departures {
    /// Gap of a joint, |ᵗG_i − ᵗG_{i−1}|, m.
    pub gap: f64,
    /// Its rate, m/s.
    pub gap_rate: f64,
    /// |p·p − 1|.
    pub length: f64,
    /// |p·s|, 1/s.
    pub length_rate: f64,
}

impl Departures {
    /// Violations at X.
    pub fn of(pendulum: &Pendulum, x: &[f64]) -> Self {
        let mut worst = Departures::default();
        // the joint on the previous body
        let (mut joint, mut joint_rate) = (pendulum.pivot, Vec3::zero());
        for (body, link) in pendulum.rods.iter().enumerate() {
            let own = Unknowns::of(x, body);
            let (p, s) = (own.parameters, own.rates);
            let (turn, rate) = (rotation(p), rotation_rate(p, s));
            let gap = own.position + turn * link.c - joint;
            let gap_rate = own.velocity + rate * link.c - joint_rate;
            worst = worst.max(Departures {
                gap: gap.norm(),
                gap_rate: gap_rate.norm(),
                length: (dot(p, p) - 1.0).abs(),
                length_rate: dot(p, s).abs(),
            });
            joint = own.position - turn * link.rod.r;
            joint_rate = own.velocity - rate * link.rod.r;
        }
        worst
    }

    /// The larger of each; NaN where either is.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Departures {
            gap: larger(self.gap, other.gap),
            gap_rate: larger(self.gap_rate, other.gap_rate),
            length: larger(self.length, other.length),
            length_rate: larger(self.length_rate, other.length_rate),
        }
    }
}

/// Kinetic energy, and potential energy −Σ m g·r in the gravity field.
pub fn energies(pendulum: &Pendulum, x: &[f64]) -> (f64, f64) {
    let (mut kinetic, mut potential) = (0.0, 0.0);
    for (body, link) in pendulum.rods.iter().enumerate() {
        let own = Unknowns::of(x, body);
        let omega = g_times(own.parameters, own.rates) * 2.0;
        let square = own.velocity.dot(own.velocity);
        kinetic += 0.5 * (link.rod.mass * square + omega.dot(link.rod.inertia * omega));
        potential -= link.rod.mass * pendulum.gravity.dot(own.position);
    }
    (kinetic, potential)
}

#[cfg(test)]
mod tests {
    use super::Departures;

    #[test]
    fn a_departure_that_is_not_a_number_stays() {
        let bad = Departures {
            gap: f64::NAN,
            ..Departures::default()
        };
        assert!(Departures::default().max(bad).gap.is_nan());
        assert!(bad.max(Departures::default()).gap.is_nan());
    }
}
