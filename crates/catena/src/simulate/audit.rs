//! What a run says about itself: how well the laws of mechanics were kept.

use super::tree_system::Constrained;
use crate::Dynamics;
use crate::error::Result;
use crate::integrate::Statistics;
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
    /// Work of efforts, external wrenches and a moving base, J.
    pub work: f64,
    /// Energy lost to damping and friction, J.
    pub dissipated: f64,
    /// The freedoms that dry friction has held.
    pub held: Vec<Held>,
    /// Accepted steps.
    pub steps: u64,
    /// Rejected steps.
    pub rejected: u64,
    /// Evaluations of the dynamics.
    pub evaluations: u64,
    /// Error estimated by a second run at another tolerance, relative; only when asked for.
    pub verified_error: Option<f64>,
}

/// How long dry friction has held a freedom.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Name of the freedom.
    pub name: String,
    /// How often.
    pub times: u64,
    /// How long in all, s.
    pub duration: f64,
}

/// How far a sample is from the laws of mechanics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Energy − energy at the start − work + dissipated, J.
    pub energy: f64,
    /// Largest difference of an effort from the inverse dynamics of the motion, N or N·m.
    pub effort: f64,
    /// Change of the linear momentum (N·s) and of the angular momentum about the mass centre (N·m·s) that gravity does not
    /// explain; none where other forces from outside act.
    pub momentum: Option<[f64; 2]>,
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
    /// Efforts of dry friction.
    pub friction: &'a [f64],
    pub external: &'a [Force<f64>],
    pub vdot: &'a [f64],
    pub constrained: Option<&'a Constrained>,
    pub work: f64,
    pub dissipated: f64,
}

/// Numbers of a checkpoint.
const WORDS: usize = 41;

impl Auditor {
    pub fn new(model: &Model, momentum_known: bool) -> Self {
        Auditor {
            model: model.clone(),
            momentum_known,
            start: None,
            energy: Worst::default(),
            linear: Worst::default(),
            angular: Worst::default(),
            residual: Worst::default(),
            quaternion: Worst::default(),
            constraints: [Worst::default(); 3],
            audit: Audit::default(),
        }
    }

    /// Is the momentum watched?
    pub fn knows_momentum(&self) -> bool {
        self.momentum_known
    }

    /// Looks at an instant; gives its energies back (kinetic, gravitational, elastic), and its errors. `dynamics` knows nothing
    /// of dry friction.
    pub fn observe(
        &mut self,
        dynamics: &mut Dynamics,
        seen: &Observation<'_>,
    ) -> Result<([f64; 3], Errors)> {
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

        let mut momentum = None;
        if self.momentum_known {
            let pull = self.model.gravity() * (mechanical.mass * (seen.time - start.time));
            let speed = (2.0 * mechanical.kinetic * mechanical.mass).sqrt();
            let errors = [
                (linear - start.linear - pull).norm(),
                (angular - start.angular).norm(),
            ];
            self.linear
                .note(errors[0], speed.max(linear.norm()), seen.time);
            self.angular
                .note(errors[1], angular.norm().max(speed * 0.1), seen.time);
            momentum = Some(errors);
        }

        let back = dynamics.inverse(seen.state, seen.vdot, seen.external)?;
        let mut scale: f64 = 0.0;
        let mut worst: f64 = 0.0;
        for (k, back) in back.iter().enumerate() {
            let tau = seen.tau[k];
            let held = seen.constrained.map_or(0.0, |c| c.efforts[k]);
            scale = scale.max(back.abs()).max(tau.abs());
            worst = worst.max((back - tau - seen.friction[k] - held).abs());
        }
        if let Some(constrained) = seen.constrained {
            for (worst, violation) in self.constraints.iter_mut().zip(constrained.violations) {
                worst.note(violation, 1.0, seen.time);
            }
        }
        let inertial = mechanical
            .kinetic
            .abs()
            .max(mechanical.mass * self.model.gravity().norm());
        self.residual.note(worst, scale.max(inertial), seen.time);

        for body in &self.model.tree().bodies[1..] {
            if let Some(k) = body.kind.quaternion() {
                let p = &seen.state.q[body.q + k..body.q + k + 4];
                let length = p.iter().map(|x| x * x).sum::<f64>().sqrt();
                self.quaternion.note((length - 1.0).abs(), 1.0, seen.time);
            }
        }
        let errors = Errors {
            energy: balance,
            effort: worst,
            momentum,
        };
        Ok((energies, errors))
    }

    /// Everything seen so far, as bits.
    pub fn checkpoint(&self) -> Vec<u64> {
        let start = self.start.unwrap_or(Start {
            time: f64::NAN,
            energy: 0.0,
            linear: Vec3::zero(),
            angular: Vec3::zero(),
        });
        let mut numbers = vec![start.time, start.energy];
        numbers.extend(start.linear.to_array());
        numbers.extend(start.angular.to_array());
        for worst in [
            &self.energy,
            &self.linear,
            &self.angular,
            &self.residual,
            &self.quaternion,
            &self.constraints[0],
            &self.constraints[1],
            &self.constraints[2],
        ] {
            numbers.extend([worst.value, worst.time, worst.scale]);
        }
        numbers.extend(self.audit.energies.as_flattened());
        numbers.extend([self.audit.work, self.audit.dissipated]);
        numbers.push(f64::from(u8::from(self.momentum_known)));
        debug_assert_eq!(numbers.len(), WORDS);
        numbers.into_iter().map(f64::to_bits).collect()
    }

    /// Takes the words of a checkpoint off the front; none if they are not those of such an auditor.
    pub fn restore<'a>(&mut self, words: &'a [u64]) -> Option<&'a [u64]> {
        let (own, rest) = words.split_at_checked(WORDS)?;
        let mut numbers = own.iter().map(|&word| f64::from_bits(word));
        let mut next = || numbers.next().unwrap_or(f64::NAN);
        let (time, energy) = (next(), next());
        let mut vector = || Vec3::new(next(), next(), next());
        let (linear, angular) = (vector(), vector());
        self.start = (!time.is_nan()).then_some(Start {
            time,
            energy,
            linear,
            angular,
        });
        let [position, velocity, acceleration] = &mut self.constraints;
        for worst in [
            &mut self.energy,
            &mut self.linear,
            &mut self.angular,
            &mut self.residual,
            &mut self.quaternion,
            position,
            velocity,
            acceleration,
        ] {
            *worst = Worst {
                value: next(),
                time: next(),
                scale: next(),
            };
        }
        for energy in self.audit.energies.as_flattened_mut() {
            *energy = next();
        }
        (self.audit.work, self.audit.dissipated) = (next(), next());
        (next() == f64::from(u8::from(self.momentum_known))).then_some(rest)
    }

    /// `allowed`: what the integrator was asked to keep, relative; `closed`: what of the constraints should be, at the levels of
    /// positions, velocities and accelerations.
    pub fn finish(
        self,
        allowed: f64,
        closed: [f64; 3],
        statistics: Statistics,
        held: Vec<Held>,
    ) -> Audit {
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
            let [position, velocity, acceleration] = self.constraints;
            findings.push(position.finding("constraints, positions", "m, rad", closed[0]));
            findings.push(velocity.finding("constraints, velocities", "m/s, rad/s", closed[1]));
            findings.push(acceleration.finding("constraints, accelerations", "", closed[2]));
        }
        Audit {
            findings,
            held,
            steps: statistics.steps,
            rejected: statistics.rejected,
            evaluations: statistics.evaluations,
            ..self.audit
        }
    }
}
