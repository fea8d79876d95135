//! What a run says about itself: how well the laws of mechanics were kept.

use super::tree_system::Constrained;
use crate::Dynamics;
use crate::error::Result;
use crate::model::Model;
use crate::spatial::{Force, Vec3};
use crate::state::State;

/// One figure of the audit.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What was watched.
    pub name: &'static str,
    /// Worst value over the run, relative to `scale`.
    pub worst: f64,
    /// What it is relative to, in the unit of the quantity.
    pub scale: f64,
    /// Unit of the quantity.
    pub unit: &'static str,
    /// Time of the worst value, s.
    pub time: f64,
    /// What a run at this tolerance should keep.
    pub allowed: f64,
}

/// A law that was not kept.
pub type Breach = Finding;

/// The audit of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// Every law that applies to this run.
    pub findings: Vec<Finding>,
    /// Energies at the start and at the end: kinetic, gravitational, elastic, J.
    pub energies: [[f64; 3]; 2],
    /// Work of efforts and external wrenches, J.
    pub work: f64,
    /// Energy lost to damping and friction, J.
    pub dissipated: f64,
    /// Accepted steps.
    pub steps: u64,
    /// Rejected steps.
    pub rejected: u64,
    /// Evaluations of the dynamics.
    pub evaluations: u64,
    /// Error estimated by a second run at another tolerance, relative; only when asked for.
    pub verified_error: Option<f64>,
}

impl Audit {
    /// The laws that were not kept.
    pub fn breaches(&self) -> impl Iterator<Item = &Breach> {
        self.findings
            .iter()
            .filter(|f| f.worst.is_nan() || f.worst > f.allowed)
    }
}

/// Watches a run, sample by sample.
pub(crate) struct Auditor {
    model: Model,
    /// Free-floating and nothing but gravity from outside: momentum is known.
    momentum_known: bool,
    start: Option<Start>,
    energy: Worst,
    linear: Worst,
    angular: Worst,
    residual: Worst,
    quaternion: Worst,
    /// Position, velocity and acceleration level of the constraints.
    constraints: [Worst; 3],
    audit: Audit,
}

#[derive(Clone, Copy)]
struct Start {
    time: f64,
    energy: f64,
    linear: Vec3<f64>,
    /// About the mass centre.
    angular: Vec3<f64>,
}

/// The worst of a quantity, and its natural size.
#[derive(Clone, Copy, Default)]
struct Worst {
    value: f64,
    time: f64,
    scale: f64,
}

impl Worst {
    fn note(&mut self, value: f64, scale: f64, time: f64) {
        self.scale = self.scale.max(scale);
        if value > self.value || value.is_nan() {
            (self.value, self.time) = (value, time);
        }
    }

    fn finding(&self, name: &'static str, unit: &'static str, allowed: f64) -> Finding {
        let scale = self.scale.max(1e-300);
        Finding {
            name,
            worst: self.value / scale,
            scale,
            unit,
            time: self.time,
            allowed,
        }
    }
}

/// What the auditor looks at.
pub(crate) struct Observation<'a> {
    pub time: f64,
    pub state: &'a State,
    pub tau: &'a [f64],
    pub external: &'a [Force<f64>],
    pub vdot: &'a [f64],
    pub constrained: Option<&'a Constrained>,
    pub work: f64,
    pub dissipated: f64,
}

impl Auditor {
    pub fn new(model: &Model, driven_from_outside: bool) -> Self {
        Auditor {
            model: model.clone(),
            // drivers and couplings may act on the root, and loops may lead to the ground
            momentum_known: model.tree().is_free_floating()
                && !driven_from_outside
                && model
                    .constraints()
                    .iter()
                    .all(|c| c.bodies().is_some_and(|bodies| !bodies.contains(&0))),
            start: None,
            energy: Worst::default(),
            linear: Worst::default(),
            angular: Worst::default(),
            residual: Worst::default(),
            quaternion: Worst::default(),
            constraints: Default::default(),
            audit: Audit::default(),
        }
    }

    /// Looks at an instant; gives its energies back: kinetic, gravitational, elastic.
    pub fn observe(&mut self, dynamics: &mut Dynamics, seen: &Observation<'_>) -> Result<[f64; 3]> {
        let mechanical = dynamics.mechanical_state(seen.state)?;
        let total = mechanical.kinetic + mechanical.gravitational + mechanical.elastic;
        let energies = [
            mechanical.kinetic,
            mechanical.gravitational,
            mechanical.elastic,
        ];
        let linear = mechanical.momentum.force;
        let angular = mechanical.momentum.moment - mechanical.centre.cross(linear);
        let start = *self.start.get_or_insert(Start {
            time: seen.time,
            energy: total,
            linear,
            angular,
        });
        if seen.time == start.time {
            self.audit.energies[0] = energies;
        }
        self.audit.energies[1] = energies;
        (self.audit.work, self.audit.dissipated) = (seen.work, seen.dissipated);

        // relative to the energy exchanged; a system at rest exchanges nothing, and then to a hundredth of its energies
        let balance = total - start.energy - seen.work + seen.dissipated;
        let exchanged = mechanical.kinetic.abs()
            + (mechanical.gravitational + mechanical.elastic - start.energy).abs();
        let size = energies.iter().map(|e| e.abs()).sum::<f64>() + start.energy.abs();
        let scale = exchanged.max(seen.work.abs()).max(0.01 * size);
        self.energy.note(balance.abs(), scale, seen.time);

        // free-floating, efforts of the free joint itself are zero: only gravity acts from outside
        let root_effort = seen.tau[..6.min(seen.tau.len())].iter().any(|x| *x != 0.0);
        if self.momentum_known && !root_effort {
            let pull = self.model.gravity() * (mechanical.mass * (seen.time - start.time));
            let speed = (2.0 * mechanical.kinetic * mechanical.mass).sqrt();
            self.linear.note(
                (linear - start.linear - pull).norm(),
                speed.max(linear.norm()),
                seen.time,
            );
            self.angular.note(
                (angular - start.angular).norm(),
                angular.norm().max(speed * 0.1),
                seen.time,
            );
        } else {
            self.momentum_known = false;
        }

        let back = dynamics.inverse(seen.state, seen.vdot, seen.external)?;
        let scale = back
            .iter()
            .chain(seen.tau)
            .fold(0.0f64, |m, x| m.max(x.abs()));
        let inertial = mechanical
            .kinetic
            .abs()
            .max(mechanical.mass * self.model.gravity().norm());
        let held = |k: usize| seen.constrained.map_or(0.0, |c| c.efforts[k]);
        let worst = (0..back.len()).fold(0.0f64, |m, k| {
            m.max((back[k] - seen.tau[k] - held(k)).abs())
        });
        if let Some(constrained) = seen.constrained {
            for (worst, violation) in self.constraints.iter_mut().zip(constrained.violations) {
                worst.note(violation, 1.0, seen.time);
            }
        }
        self.residual.note(worst, scale.max(inertial), seen.time);

        for body in &self.model.tree().bodies[1..] {
            if let Some(k) = body.kind.quaternion() {
                let p = &seen.state.q[body.q + k..body.q + k + 4];
                let length = p.iter().map(|x| x * x).sum::<f64>().sqrt();
                self.quaternion.note((length - 1.0).abs(), 1.0, seen.time);
            }
        }
        Ok(energies)
    }

    /// `allowed`: what the integrator was asked to keep, relative.
    pub fn finish(mut self, allowed: f64, statistics: (u64, u64, u64)) -> Audit {
        let mut findings = vec![
            self.energy.finding("energy balance", "J", allowed),
            self.residual
                .finding("inverse dynamics of the motion", "N, N·m", 1e-9),
        ];
        if self.momentum_known {
            findings.push(self.linear.finding("linear momentum", "N·s", allowed));
            findings.push(self.angular.finding(
                "angular momentum about the mass centre",
                "N·m·s",
                allowed,
            ));
        }
        if self.quaternion.scale > 0.0 {
            findings.push(self.quaternion.finding("length of quaternions", "", 1e-14));
        }
        if self.constraints[0].scale > 0.0 {
            // every step is projected, whatever its tolerance
            let [position, velocity, acceleration] = self.constraints;
            findings.push(position.finding("constraints, positions", "m, rad", 1e-9));
            findings.push(velocity.finding("constraints, velocities", "m/s, rad/s", 1e-9));
            findings.push(acceleration.finding("constraints, accelerations", "", 1e-9));
        }
        self.audit.findings = findings;
        (
            self.audit.steps,
            self.audit.rejected,
            self.audit.evaluations,
        ) = statistics;
        self.audit
    }
}
