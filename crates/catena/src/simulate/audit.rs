//! The audit of a run: how well the laws of mechanics were satisfied.
//!
//! Errors of energy and momentum are relative to the amount exchanged, where that exceeds what the absolute tolerance resolves.
//! With the absolute tolerance α and the allowed relative error ρ, positions and velocities below r = α/ρ need not have the relative
//! accuracy ρ, and neither need the energies
//!
//! ```text
//! |g| √(2 m T₁) r + 4 r² (T₁ + ½ Σ k) + r                                                              (1)
//! ```
//!
//! of weight, motion and springs, where T₁ is the kinetic energy with all velocities at 1, so that √(2 m T₁) bounds the
//! momentum; a run with fixed steps h has α = ε/h, the round-off of a coordinate within a step. The last term of (1), in J, is present only where
//! work or heat is integrated. Errors below the round-off of the terms of the energy, with |g| √(2 m T₁) in place of m g L, count as zero.
//!
//! The motion is substituted into the equations of motion,
//!
//! ```text
//! I v̇ + C v + g + passive − loads = τ + friction + stops + Jᵀλ                                        (2)
//! ```
//!
//! term by term. The residual is relative to the largest term of any freedom at that instant; the worst instant counts. Terms are
//! projections of wrenches, and where all of them nearly vanish, as about a vertical axis under gravity, the residual is round-off of
//! those wrenches, relative to a small part of them.
//!
//! Fixed steps may conserve the energy and still have a phase error: the midpoint rule makes an oscillator too slow and loses no energy. A step
//! from v₀ to v₁ and two of half its size, ending at v₂, give the error δ = (v₂ − v₁) 2ᵖ/(2ᵖ − 1) of a method of order p, and its part along the
//! acceleration a = (v₁ − v₀)/h is a delay. With ⟨·⟩ the mean over all N steps of a freedom,
//!
//! ```text
//! φ = N |⟨δ a⟩| / √(⟨a²⟩ ⟨v²⟩)                                                                         (3)
//! ```
//!
//! is the delay times the frequency: the phase in rad. Where Baumgarte's equations let violations of the constraints decay, only the part of δ that
//! satisfies the constraints counts: the other part decays too.

use super::tree_system::Constrained;
use crate::Dynamics;
use crate::algorithm::passive::{dissipative_force, passive_force};
use crate::error::Result;
use crate::integrate::Statistics;
use crate::model::{ForceElement, Model};
use crate::residual::{larger, largest, largest_of, ratio};
use crate::spatial::{Force, Motion, Vec3};
use crate::state::State;

/// One figure of the audit.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The law.
    pub name: &'static str,
    /// Worst value over the run, relative to `scale`.
    pub worst: f64,
    /// What it is relative to, in the unit of the quantity.
    pub scale: f64,
    /// Unit of the quantity.
    pub unit: &'static str,
    /// Time of the worst value, s.
    pub time: f64,
    /// The limit for a run at this tolerance.
    pub allowed: f64,
    /// Whether the law was tested. A law of motion needs more than one instant.
    pub seen: bool,
}

impl Finding {
    /// Whether it was satisfied; none where it was not tested.
    pub fn kept(&self) -> Option<bool> {
        self.seen.then_some(self.worst <= self.allowed)
    }
}

/// A violated law.
pub type Breach = Finding;

/// The audit of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// Every law that applies to this run.
    pub findings: Vec<Finding>,
    /// Energies at the start and at the end: kinetic, gravitational, elastic, J.
    pub energies: [[f64; 3]; 2],
    /// Potential energy of every force element at the start and at the end, J.
    pub elements: Vec<ElementEnergy>,
    /// Work of efforts, external wrenches and a moving base, J.
    pub work: f64,
    /// Energy lost to damping, friction and stops, J.
    pub dissipated: f64,
    /// The freedoms that dry friction has held.
    pub held: Vec<Held>,
    /// The freedoms that stops have stopped.
    pub stops: Vec<Stopped>,
    /// Accepted steps.
    pub steps: u64,
    /// Rejected steps.
    pub rejected: u64,
    /// Evaluations of the dynamics.
    pub evaluations: u64,
    /// Error estimated by a second run at another tolerance, relative; only if requested.
    pub verified_error: Option<f64>,
}

/// Energy of a force element.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementEnergy {
    /// Name of the element.
    pub name: String,
    /// Energies at the start and at the end, J; zero for elements without a potential.
    pub energies: [f64; 2],
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

/// The action of stops on a freedom.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// Name of the freedom.
    pub name: String,
    /// Unit of its speed.
    pub unit: &'static str,
    /// Is the stop soft?
    pub is_soft: bool,
    /// Number of times that it struck a rigid stop or touched a soft one.
    pub impacts: u64,
    /// Largest speed with which it did so.
    pub hardest: f64,
    /// Energy lost in its impacts on rigid stops, J.
    pub lost: f64,
    /// Number of times that it came to rest against a rigid stop.
    pub rests: u64,
    /// How long it rested there, or touched a soft stop, in all, s.
    pub duration: f64,
}

impl Stopped {
    /// Adds the action of another stop of the same freedom.
    pub(crate) fn add(&mut self, other: &Stopped) {
        self.impacts += other.impacts;
        self.hardest = self.hardest.max(other.hardest);
        self.lost += other.lost;
        self.rests += other.rests;
        self.duration += other.duration;
    }
}

/// Residuals of the laws of mechanics at a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Energy − energy at the start − work + dissipated, J.
    pub energy: f64,
    /// Largest difference of an effort from the inverse dynamics of the motion, N or N·m.
    pub effort: f64,
    /// Change of the linear momentum (N·s) and of the angular momentum about the mass centre (N·m·s) that gravity does not
    /// explain; none where other external forces act.
    pub momentum: Option<[f64; 2]>,
}

impl Audit {
    /// The violated laws.
    pub fn breaches(&self) -> impl Iterator<Item = &Breach> {
        self.findings.iter().filter(|f| f.kept() == Some(false))
    }

    /// Adds the error at the end of the run, estimated by a second run ([`verified_error`](super::verified_error)), and its
    /// limit.
    pub fn verify(&mut self, error: f64, allowed: f64, time: f64) {
        self.verified_error = Some(error);
        self.findings.push(Finding {
            name: "state at the end, by a second run",
            worst: error,
            scale: 1.0,
            unit: "",
            time,
            allowed,
            seen: true,
        });
    }
}

/// Audits a run, sample by sample.
#[derive(Clone)]
pub(crate) struct Auditor {
    model: Model,
    /// Free-floating with gravity as the only external force: momentum is known.
    momentum_known: bool,
    start: Option<Start>,
    energy: Worst,
    linear: Worst,
    angular: Worst,
    residual: Worst,
    quaternion: Worst,
    /// Position, velocity and acceleration level of the constraints.
    constraints: [Worst; 3],
    /// The phase error, for fixed steps.
    phase: Option<Phase>,
    /// r of (1).
    resolved: f64,
    audit: Audit,
}

/// The sums of (3).
#[derive(Clone)]
struct Phase {
    order: i32,
    /// Σ δ a, Σ a², Σ v² of each freedom.
    sums: Vec<[f64; 3]>,
    /// Number of steps that they represent.
    steps: f64,
}

/// A fixed step, and two steps of half the size.
pub(crate) struct Halved<'a> {
    /// h.
    pub size: f64,
    /// v₀, v₁ and v₂.
    pub before: &'a [f64],
    pub after: &'a [f64],
    pub twice: &'a [f64],
    /// Number of steps that it represents.
    pub weight: f64,
}

impl Phase {
    fn note(&mut self, step: &Halved<'_>) {
        let power = 2f64.powi(self.order);
        for (k, sums) in self.sums.iter_mut().enumerate() {
            let error = (step.twice[k] - step.after[k]) * power / (power - 1.0);
            let acceleration = (step.after[k] - step.before[k]) / step.size;
            let terms = [
                error * acceleration,
                acceleration * acceleration,
                step.after[k] * step.after[k],
            ];
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += step.weight * term;
            }
        }
        self.steps += step.weight;
    }

    /// The largest phase error of all freedoms except those that hardly move, relative to the others or below `resolved`.
    fn finding(&self, steps: u64, time: f64, resolved: f64) -> Finding {
        let fastest = self.sums.iter().fold(0.0, |m: f64, sums| m.max(sums[2]));
        let least = (1e-12 * fastest).max(self.steps * resolved * resolved);
        let mut worst = 0.0;
        for &[along, acceleration, velocity] in &self.sums {
            if velocity <= least || acceleration == 0.0 {
                continue;
            }
            let phase = steps as f64 * along.abs() / (acceleration * velocity).sqrt(); // (3)
            if phase > worst || phase.is_nan() {
                worst = phase;
            }
        }
        Finding {
            name: "phase, by steps of half the size",
            worst,
            scale: 1.0,
            unit: "rad",
            time,
            allowed: PHASE,
            seen: self.steps > 0.0,
        }
    }
}

/// Allowed residual of (2) in a tree. Round-off leaves 1e-16 to 1e-13 in chains of up to a thousand bodies; a mass that is wrong in its
/// eighth digit leaves more than this.
const RESIDUAL: f64 = 1e-10;

/// Allowed residual of (2) in a closed chain, where multipliers are damped: near positions where rows are dependent 3e-11 was observed. It is
/// also the allowed error of constraint accelerations.
const CLOSED_RESIDUAL: f64 = 1e-9;

/// Allowed phase error of a run with fixed steps, rad.
const PHASE: f64 = 1e-2;

#[derive(Clone, Copy)]
struct Start {
    time: f64,
    energy: f64,
    linear: Vec3<f64>,
    /// Angular momentum about the mass centre.
    angular: Vec3<f64>,
    /// Kinetic energy with all velocities at 1, and the mass.
    unit_kinetic: f64,
    mass: f64,
}

impl Start {
    /// Momentum scale: largest momentum at unit velocities.
    fn unit_momentum(&self) -> f64 {
        (2.0 * self.mass * self.unit_kinetic).max(0.0).sqrt()
    }
}

/// The worst value of a quantity, and its scale.
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

    /// Records a value with its own scale, instead of the largest scale of all.
    fn note_own(&mut self, value: f64, scale: f64, time: f64) {
        let own = ratio(value, scale);
        if self.scale == 0.0 || own > ratio(self.value, self.scale) || own.is_nan() {
            *self = Worst { value, time, scale };
        }
    }

    /// Whether [`note_own`](Self::note_own) may record this value, whose scale is at least `least`.
    fn may_be_exceeded(&self, value: f64, least: f64) -> bool {
        let most = ratio(value, least);
        self.scale == 0.0 || most > ratio(self.value, self.scale) || most.is_nan()
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
            seen: true,
        }
    }
}

/// The input of the auditor.
pub(crate) struct Observation<'a> {
    pub time: f64,
    pub state: &'a State,
    pub tau: &'a [f64],
    /// Efforts of dry friction and stops.
    pub friction: &'a [f64],
    pub external: &'a [Force<f64>],
    pub vdot: &'a [f64],
    pub constrained: Option<&'a Constrained>,
    pub work: f64,
    pub dissipated: f64,
    /// Energy in the springs of soft stops.
    pub stored: f64,
}

/// Numbers of a checkpoint.
const WORDS: usize = 43;

impl Auditor {
    /// `resolved`: r of (1); `order`: that of a fixed-step method.
    pub fn new(model: &Model, momentum_known: bool, resolved: f64, order: Option<usize>) -> Self {
        let elements = model.forces().iter().map(|element| ElementEnergy {
            name: element.name.to_string(),
            energies: [0.0; 2],
        });
        Auditor {
            model: model.clone(),
            momentum_known,
            phase: order.map(|order| Phase {
                order: order as i32,
                sums: vec![[0.0; 3]; model.nv()],
                steps: 0.0,
            }),
            resolved,
            start: None,
            energy: Worst::default(),
            linear: Worst::default(),
            angular: Worst::default(),
            residual: Worst::default(),
            quaternion: Worst::default(),
            constraints: [Worst::default(); 3],
            audit: Audit {
                elements: elements.collect(),
                ..Audit::default()
            },
        }
    }

    /// Sets the sums of (3) over fixed steps, computed elsewhere, and the number of steps they represent.
    pub fn take_steps(&mut self, sums: &[f64], steps: f64) {
        if let Some(phase) = &mut self.phase {
            for (own, found) in phase.sums.iter_mut().zip(sums.chunks_exact(3)) {
                own.copy_from_slice(found);
            }
            phase.steps = steps;
        }
    }

    /// Audits a fixed step.
    pub fn observe_step(&mut self, step: &Halved<'_>) {
        if let Some(phase) = &mut self.phase {
            phase.note(step);
        }
    }

    /// Is the momentum audited?
    pub fn knows_momentum(&self) -> bool {
        self.momentum_known
    }

    /// Audits an instant; returns its energies (kinetic, gravitational, elastic), and its errors. `dynamics` does not include
    /// dry friction.
    pub fn observe(
        &mut self,
        dynamics: &mut Dynamics,
        seen: &Observation<'_>,
    ) -> Result<([f64; 3], Errors)> {
        let mechanical = dynamics.mechanical_state(seen.state)?;
        let elastic = mechanical.elastic + seen.stored;
        let total = mechanical.kinetic + mechanical.gravitational + elastic;
        let energies = [mechanical.kinetic, mechanical.gravitational, elastic];
        let linear = mechanical.momentum.force;
        let angular = mechanical.momentum.moment - mechanical.centre.cross(linear);
        let start = match self.start {
            Some(start) => start,
            None => Start {
                time: seen.time,
                energy: total,
                linear,
                angular,
                unit_kinetic: unit_kinetic(dynamics, seen.state),
                mass: mechanical.mass,
            },
        };
        self.start = Some(start);
        if seen.time == start.time {
            self.audit.energies[0] = energies;
        }
        self.audit.energies[1] = energies;
        let actions = dynamics.force_actions(seen.state)?;
        for (element, action) in self.audit.elements.iter_mut().zip(&actions) {
            if seen.time == start.time {
                element.energies[0] = action.energy;
            }
            element.energies[1] = action.energy;
        }
        (self.audit.work, self.audit.dissipated) = (seen.work, seen.dissipated);

        // relative to the energy exchanged, or, for a system at rest, to a hundredth of its energies
        let balance = total - start.energy - seen.work + seen.dissipated;
        let exchanged =
            mechanical.kinetic.abs() + (mechanical.gravitational + elastic - start.energy).abs();
        let size = energies.iter().map(|e| e.abs()).sum::<f64>() + start.energy.abs();
        let weight = self.model.gravity().norm() * start.unit_momentum();
        let integrated = seen.work.abs().max(seen.dissipated.abs());
        let scale = exchanged
            .max(integrated)
            .max(0.01 * size)
            .max(self.unresolved(&start, weight, integrated > 0.0));
        let rounded = 64.0 * f64::EPSILON * (size + integrated + weight);
        self.energy
            .note(beyond(balance.abs(), rounded), scale, seen.time);

        let mut momentum = None;
        if self.momentum_known {
            let pull = self.model.gravity() * (mechanical.mass * (seen.time - start.time));
            let speed = (2.0 * mechanical.kinetic * mechanical.mass).sqrt();
            let errors = [
                (linear - start.linear - pull).norm(),
                (angular - start.angular).norm(),
            ];
            let unresolved = self.resolved * start.unit_momentum();
            let scale = speed.max(linear.norm()).max(unresolved);
            let rounded = 64.0 * f64::EPSILON * (scale + pull.norm());
            self.linear
                .note(beyond(errors[0], rounded), scale, seen.time);
            let unresolved = 2.0 * self.resolved * start.unit_kinetic;
            let scale = angular.norm().max(speed * 0.1).max(unresolved);
            self.angular.note(errors[1], scale, seen.time);
            momentum = Some(errors);
        }

        let back = dynamics.inverse(seen.state, seen.vdot, seen.external)?;
        let held = |k: usize| seen.constrained.map_or(0.0, |c| c.efforts[k]);
        let errors = back.iter().enumerate();
        let worst = largest_of(
            errors.map(|(k, back)| (back - seen.tau[k] - seen.friction[k] - held(k)).abs()),
        );
        if let Some(constrained) = seen.constrained {
            for (worst, violation) in self.constraints.iter_mut().zip(constrained.violations) {
                worst.note(violation, 1.0, seen.time);
            }
        }
        let wrenches = [
            weight,
            2.0 * mechanical.kinetic,
            2.0 * start.unit_kinetic * largest(seen.vdot),
        ];
        let rounded = 64.0 * f64::EPSILON * largest(&wrenches);
        // a lower bound of the scale; the scale itself costs three inverse dynamics and is needed only for a possible worst value
        let known = larger(largest(seen.tau), largest(seen.friction));
        let least = larger(known, rounded / RESIDUAL);
        if self.residual.may_be_exceeded(worst, least) {
            let scale = larger(self.largest_term(dynamics, seen)?, rounded / RESIDUAL);
            self.residual.note_own(worst, scale, seen.time);
        }

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

    /// The largest term of (2), of all freedoms.
    fn largest_term(&self, dynamics: &mut Dynamics, seen: &Observation<'_>) -> Result<f64> {
        let still = vec![0.0; seen.vdot.len()];
        let mut resting = seen.state.clone();
        resting.v.fill(0.0);
        resting.base.velocity = Motion::zero();
        resting.base.acceleration = Motion::zero();
        let held = dynamics.inverse(&resting, &still, &[])?.to_vec();
        let pushed = dynamics.inverse(&resting, seen.vdot, &[])?.to_vec();
        let moving = dynamics.inverse(seen.state, &still, &[])?.to_vec();
        let loaded = match seen.external.is_empty() {
            true => moving.clone(),
            false => dynamics
                .inverse(seen.state, &still, seen.external)?
                .to_vec(),
        };
        // elements may be in balance with each other
        let elements = dynamics.force_efforts(seen.state)?;
        let terms = (0..still.len()).flat_map(|k| {
            [
                seen.tau[k],
                seen.friction[k],
                seen.constrained.map_or(0.0, |c| c.efforts[k]),
                // springs and dampers may balance the forces they act against
                passive_force(&self.model, &seen.state.q, &still, k),
                dissipative_force(&self.model, &seen.state.v, k),
                held[k],
                pushed[k] - held[k],
                moving[k] - held[k],
                loaded[k] - moving[k],
            ]
        });
        let elements = elements.iter().flatten().copied();
        Ok(largest_of(terms.chain(elements).map(f64::abs)))
    }

    /// The energy below which the tolerance is absolute: (1).
    fn unresolved(&self, start: &Start, weight: f64, is_integrated: bool) -> f64 {
        let r = self.resolved;
        let springs: f64 = self.model.dofs.iter().map(|dof| dof.stiffness.abs()).sum();
        let elements = self.model.forces().iter().map(ForceElement::stiffness);
        let springs = springs + elements.sum::<f64>();
        let integrals = if is_integrated { r } else { 0.0 };
        r * weight + 4.0 * r * r * (start.unit_kinetic + 0.5 * springs) + integrals
    }

    /// The state of the audit so far, as bits.
    pub fn checkpoint(&self) -> Vec<u64> {
        let start = self.start.unwrap_or(Start {
            time: f64::NAN,
            energy: 0.0,
            linear: Vec3::zero(),
            angular: Vec3::zero(),
            unit_kinetic: 0.0,
            mass: 0.0,
        });
        let mut numbers = vec![start.time, start.energy, start.unit_kinetic, start.mass];
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
        for element in &self.audit.elements {
            numbers.extend(element.energies);
        }
        if let Some(phase) = &self.phase {
            numbers.extend(phase.sums.as_flattened());
            numbers.push(phase.steps);
        }
        numbers.into_iter().map(f64::to_bits).collect()
    }

    /// Reads the leading words of a checkpoint; none if they do not belong to such an auditor.
    pub fn restore<'a>(&mut self, words: &'a [u64]) -> Option<&'a [u64]> {
        let phases = self.phase.as_ref().map_or(0, |p| 3 * p.sums.len() + 1);
        let elements = 2 * self.audit.elements.len();
        let (own, rest) = words.split_at_checked(WORDS + elements + phases)?;
        let mut numbers = own.iter().map(|&word| f64::from_bits(word));
        let mut next = || numbers.next().unwrap_or(f64::NAN);
        let (time, energy) = (next(), next());
        let (unit_kinetic, mass) = (next(), next());
        let mut vector = || Vec3::new(next(), next(), next());
        let (linear, angular) = (vector(), vector());
        self.start = (!time.is_nan()).then_some(Start {
            time,
            energy,
            linear,
            angular,
            unit_kinetic,
            mass,
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
        let is_own = next() == f64::from(u8::from(self.momentum_known));
        for element in &mut self.audit.elements {
            element.energies = [next(), next()];
        }
        if let Some(phase) = &mut self.phase {
            for sum in phase.sums.as_flattened_mut() {
                *sum = next();
            }
            phase.steps = next();
        }
        is_own.then_some(rest)
    }

    /// `allowed`: relative accuracy that the integrator should give; `closed`: limits of the constraint violations at the levels of
    /// positions, velocities and accelerations. The run has reached `time` with `samples` samples.
    pub fn finish(
        self,
        allowed: f64,
        closed: [f64; 3],
        statistics: Statistics,
        (held, stops): (Vec<Held>, Vec<Stopped>),
        (time, samples): (f64, u64),
    ) -> Audit {
        let is_closed = self.constraints[0].scale > 0.0;
        let residual = match is_closed {
            true => CLOSED_RESIDUAL,
            false => RESIDUAL,
        };
        let mut findings = vec![
            self.energy.finding("energy balance", "J", allowed),
            self.residual
                .finding("inverse dynamics of the motion", "N, N·m", residual),
        ];
        if self.momentum_known {
            findings.push(self.linear.finding("linear momentum", "N·s", allowed));
            findings.push(self.angular.finding(
                "angular momentum about the mass centre",
                "N·m·s",
                allowed,
            ));
        }
        if let Some(phase) = &self.phase {
            findings.push(phase.finding(statistics.steps, time, self.resolved));
        }
        if self.quaternion.scale > 0.0 {
            findings.push(self.quaternion.finding("length of quaternions", "", 1e-14));
        }
        if is_closed {
            let [position, velocity, acceleration] = self.constraints;
            findings.push(position.finding("constraints, positions", "m, rad", closed[0]));
            findings.push(velocity.finding("constraints, velocities", "m/s, rad/s", closed[1]));
            findings.push(acceleration.finding("constraints, accelerations", "", closed[2]));
        }
        // at one instant there is no motion to audit
        for finding in &mut findings {
            finding.seen &= samples > 1;
        }
        Audit {
            findings,
            held,
            stops,
            steps: statistics.steps,
            rejected: statistics.rejected,
            evaluations: statistics.evaluations,
            ..self.audit
        }
    }
}

/// The part of an error beyond round-off; propagates NaN.
fn beyond(error: f64, rounded: f64) -> f64 {
    match error <= rounded {
        true => 0.0,
        false => error,
    }
}

/// Kinetic energy with all velocities at 1, on a base at rest; zero if it overflows.
fn unit_kinetic(dynamics: &mut Dynamics, state: &State) -> f64 {
    let mut moving = state.clone();
    moving.v.fill(1.0);
    moving.base.velocity = Motion::zero();
    let mechanical = dynamics.mechanical_state(&moving);
    mechanical.map_or(0.0, |mechanical| mechanical.kinetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::embedded;

    /// The audit of accelerations that a model has at a state, by the auditor of the correct model.
    fn residual(right: &Model, model: &Model, state: &State, rate: f64) -> Finding {
        let mut moving = state.clone();
        moving.v.iter_mut().for_each(|v| *v *= rate);
        let tau = vec![0.3; right.nv()];
        let zero = vec![0.0; right.nv()];
        let vdot = Dynamics::new(model)
            .forward(&moving, &tau, &[])
            .unwrap()
            .to_vec();
        let mut auditor = Auditor::new(right, false, 0.0, None);
        let mut dynamics = Dynamics::new(right);
        for time in [0.0, 1.0] {
            let seen = Observation {
                time,
                state,
                tau: &tau,
                friction: &zero,
                external: &[],
                vdot: &vdot,
                constrained: None,
                work: 0.0,
                dissipated: 0.0,
                stored: 0.0,
            };
            auditor.observe(&mut dynamics, &seen).unwrap();
        }
        let audit = auditor.finish(
            1e-8,
            [1e-9; 3],
            Statistics::default(),
            Default::default(),
            (1.0, 2),
        );
        let name = "inverse dynamics of the motion";
        audit.findings.into_iter().find(|f| f.name == name).unwrap()
    }

    /// Correct accelerations leave round-off; one mass or the Coriolis terms wrong by a millionth is a breach.
    #[test]
    fn a_small_error_in_the_equations_is_a_breach() {
        for name in ["planar3", "space-robot", "chain-30"] {
            let builder = embedded::builder(name).unwrap();
            let model = builder.build().unwrap();
            for seed in 0..20 {
                let state = State::random(&model, seed);
                let found = residual(&model, &model, &state, 1.0);
                assert!(found.worst < 1e-12, "{name} {seed}: {found:?}");
                // the first link of some models turns about its own axis: its mass has no effect
                for link in 1..builder.links.len() {
                    let mut other = builder.clone();
                    let Some(inertial) = &mut other.links[link].inertial else {
                        continue;
                    };
                    inertial.mass *= 1.0 + 1e-6;
                    let wrong = other.build().unwrap();
                    let found = residual(&model, &wrong, &state, 1.0);
                    assert_eq!(found.kept(), Some(false), "{name} {seed} {link}: {found:?}");
                }
                let found = residual(&model, &model, &state, 1.0 + 1e-6);
                assert_eq!(found.kept(), Some(false), "{name} {seed}: {found:?}");
            }
        }
    }
}
