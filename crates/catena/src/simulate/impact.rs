//! Impacts on rigid stops.
//!
//! At an instant some freedoms are at their limits, with velocities u ≤ 0 away from them. Impulses p ≥ 0 change all velocities at once,
//!
//! ```text
//! v⁺ = v⁻ + I⁻¹ E n p     under constraints: with their impulses,   u⁺ = u⁻ + A p                       (1)
//! ```
//!
//! and with the restitutions e of the joints (Newton; Moreau for several at once)
//!
//! ```text
//! g = u⁺ + e u⁻ ≥ 0,   p ≥ 0,   g p = 0                                                                 (2)
//! ```
//!
//! which is the condition for the minimum of ½ pᵀA p + (1 + e) u⁻ᵀp over p ≥ 0 (see `box_minimum.rs`). A freedom that rests has u⁻ =
//! 0: it stays, or the impact of another one throws it off. Dry friction is finite and gives no impulse: freedoms that it held may move
//! afterwards. The impact dissipates the energy
//!
//! ```text
//! −½ Σ p (u⁺ + u⁻) = ½ Σ p (1 − e) |u⁻| ≥ 0                                                            (3)
//! ```
//!
//! each term of which is nonnegative, whatever the restitutions: those with p > 0 have u⁺ = −e u⁻. A freedom that was leaving its limit and is
//! thrown back has a separate impact after that.
//!
//! Impacts may accumulate: a ball that bounces lower and lower comes to rest after a finite time and infinitely many impacts, and so do two
//! freedoms that throw each other off in turn. When the next flight of a freedom would not rise above the resolution of positions, it
//! rests instead: the impact is repeated with u⁺ = 0 for it, whatever the sign of p. That dissipates energy, too.

use super::dry_friction::{Mode, Touch};
use super::stops::Gate;
use super::tree_system::{Change, TreeSystem};
use crate::box_minimum::BoxProblem;
use crate::closed_chain::friction::{DEPENDENT, clean, independent};
use crate::error::{Error, ErrorKind, Result};

/// A freedom that struck a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Impact {
    /// Which of the freedoms with friction or a stop.
    pub index: usize,
    pub touch: Touch,
    /// |u⁻|.
    pub speed: f64,
    /// Energy dissipated, J.
    pub lost: f64,
}

/// After this many impacts at one instant, further ones have no restitution.
const MOST_ROUNDS: usize = 50;

/// A flight that rises less than this many times the slack of the limit is suppressed.
const LOWEST_FLIGHT: f64 = 8.0;

/// A change of velocity below this fraction of the largest change counts as zero.
const UNTOUCHED: f64 = 1e-12;

/// A freedom at a limit, with the box of its impulse n p.
struct Contact {
    /// None for a freedom locked by its limits.
    gate: Option<usize>,
    freedom: usize,
    restitution: f64,
    bounds: (f64, f64),
    /// Whether it is arriving.
    strikes: bool,
}

impl Gate {
    pub fn touch(&self) -> Touch {
        match self.inward > 0.0 {
            true => Touch::Lower,
            false => Touch::Upper,
        }
    }
}

impl TreeSystem {
    /// Applies the impacts of freedoms that reach their limits at this instant, and then chooses modes. Returns impacts and changes.
    pub(crate) fn strike(&mut self, t: f64, y: &mut [f64]) -> Result<(Vec<Impact>, Vec<Change>)> {
        let before = self.standings();
        let modes = self.friction.modes.clone();
        let touches = self.friction.touches.clone();
        let mut ending: Vec<usize> = Vec::new();
        loop {
            let mut next = y.to_vec();
            let impacts = self.collide(t, &mut next, &ending)?;
            self.choose_modes(t, &mut next, None)?;
            let low = match impacts.is_empty() {
                true => Vec::new(),
                false => self.low_flights(t, &next)?,
            };
            let known = ending.len();
            ending.extend(low);
            ending.sort_unstable();
            ending.dedup();
            if ending.len() == known {
                y.copy_from_slice(&next);
                return Ok((impacts, self.changes_since(&before)));
            }
            self.friction.modes.copy_from_slice(&modes);
            self.friction.touches.copy_from_slice(&touches);
        }
    }

    /// The time, to first order, for which freedoms have been beyond limits that they do not rest against, s.
    pub(crate) fn overdue(&self, y: &[f64]) -> f64 {
        let nq = self.model.nq();
        let open = |gate: &&Gate| self.friction.touches[gate.index] == Touch::None;
        self.gates.iter().filter(open).fold(0.0, |most, gate| {
            let (distance, u) = (gate.distance(&y[..nq]), gate.inward * y[nq + gate.freedom]);
            match distance < 0.0 && u < 0.0 {
                true => most.max(distance / u),
                false => most,
            }
        })
    }

    /// Is a freedom that does not rest against this limit at it?
    pub(super) fn is_at(&self, gate: &Gate, t: f64) -> bool {
        let resolution = 8.0 * (t.abs().next_up() - t.abs());
        let way = self.state.v[gate.freedom].abs() * resolution;
        gate.distance(&self.state.q) <= 2.0 * gate.slack + way
    }

    /// The impacts: (1) and (2). Freedoms at the gates in `ending` come to rest.
    fn collide(&mut self, t: f64, y: &mut [f64], ending: &[usize]) -> Result<Vec<Impact>> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.prepare_response(t)?;
        let mut at: Vec<usize> = Vec::new();
        for g in 0..self.gates.len() {
            let gate = self.gates[g];
            let rests = self.friction.touches[gate.index] == gate.touch();
            if rests || self.is_at(&gate, t) {
                at.push(g);
                if !rests && gate.inward * self.state.v[gate.freedom] < 0.0 {
                    self.place_on(&gate)?;
                }
            }
        }
        let start = self.state.v.clone();
        let fastest = start.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let noise = match self.closing {
            Some(_) => 1e-13 * fastest,
            None => 0.0,
        };
        let mut impacts = Vec::new();
        let mut lost = 0.0;
        for round in 0..2 * MOST_ROUNDS {
            let contacts = self.contacts(&at, ending, noise, round >= MOST_ROUNDS);
            if !contacts.iter().any(|contact| contact.strikes) {
                break;
            }
            let before: Vec<f64> = contacts
                .iter()
                .map(|contact| self.state.v[contact.freedom])
                .collect();
            let impulses = self.impulses(&contacts, &before)?;
            let mut change = vec![0.0; nv];
            for (contact, impulse) in contacts.iter().zip(&impulses) {
                change[contact.freedom] += impulse;
            }
            self.respond(&mut change)?;
            for (v, change) in self.state.v.iter_mut().zip(&change) {
                *v += change;
            }
            for ((contact, impulse), v) in contacts.iter().zip(&impulses).zip(before) {
                if *impulse == 0.0 {
                    continue;
                }
                let after = -contact.restitution * v;
                if self.closing.is_none() {
                    self.state.v[contact.freedom] = after;
                }
                let taken = -0.5 * impulse * (after + v); // (3)
                lost += taken;
                let Some(g) = contact.gate else {
                    continue;
                };
                let gate = &self.gates[g];
                if contact.strikes {
                    impacts.push(Impact {
                        index: gate.index,
                        touch: gate.touch(),
                        speed: v.abs(),
                        lost: taken,
                    });
                }
                if contact.restitution == 0.0 {
                    self.friction.modes[gate.index] = Mode::Held;
                    self.friction.touches[gate.index] = gate.touch();
                }
            }
        }
        self.move_on_from(&start);
        y[..nq].copy_from_slice(&self.state.q);
        y[nq..nq + nv].copy_from_slice(&self.state.v);
        y[nq + nv + 1] += lost;
        self.hold_by_modes(t)?;
        Ok(impacts)
    }

    /// The freedoms at their limits that do not leave them, those that come to rest there, and those that are locked.
    fn contacts(&self, at: &[usize], ending: &[usize], noise: f64, is_late: bool) -> Vec<Contact> {
        let gates = at.iter().map(|&g| (g, &self.gates[g]));
        let mut contacts: Vec<Contact> = gates
            .map(|(g, gate)| (g, gate, gate.inward * self.state.v[gate.freedom]))
            .filter(|(g, _, u)| *u <= noise || ending.contains(g))
            .map(|(g, gate, u)| {
                let ends = ending.contains(&g);
                let touch = if ends { Touch::Both } else { gate.touch() };
                Contact {
                    gate: Some(g),
                    freedom: gate.freedom,
                    restitution: match is_late || ends {
                        true => 0.0,
                        false => gate.restitution,
                    },
                    bounds: touch.bounds(0.0),
                    strikes: u < -noise,
                }
            })
            .collect();
        let touches = self.friction.freedoms.iter().zip(&self.friction.touches);
        contacts.extend(touches.filter(|(_, touch)| **touch == Touch::Both).map(
            |(&freedom, touch)| Contact {
                gate: None,
                freedom,
                restitution: 0.0,
                bounds: touch.bounds(0.0),
                strikes: false,
            },
        ));
        contacts
    }

    /// (2), for n p.
    fn impulses(&mut self, contacts: &[Contact], v: &[f64]) -> Result<Vec<f64>> {
        let n = contacts.len();
        let mut matrix = vec![0.0; n * n];
        let mut column = vec![0.0; self.model.nv()];
        for (b, contact) in contacts.iter().enumerate() {
            column.fill(0.0);
            column[contact.freedom] = 1.0;
            self.respond(&mut column)?;
            for (a, contact) in contacts.iter().enumerate() {
                matrix[a * n + b] = column[contact.freedom];
            }
        }
        if let Some(closing) = &mut self.closing {
            let freedoms: Vec<usize> = contacts.iter().map(|contact| contact.freedom).collect();
            let alone = closing.open_mobility(&self.state, &freedoms)?;
            clean(&mut matrix, &alone);
        }
        let linear: Vec<f64> = contacts
            .iter()
            .zip(v)
            .map(|(contact, v)| (1.0 + contact.restitution) * v)
            .collect();
        let (lower, upper): (Vec<f64>, Vec<f64>) =
            contacts.iter().map(|contact| contact.bounds).unzip();
        let problem = BoxProblem {
            matrix: &matrix,
            linear: &linear,
            lower: &lower,
            upper: &upper,
        };
        let is_definite = self.closing.is_none() || independent(&matrix, n) == n;
        let found = match is_definite {
            true => problem.solve_definite(),
            false => problem.solve(),
        };
        found.map(|found| found.x).ok_or_else(|| {
            let names: Vec<String> = contacts
                .iter()
                .map(|contact| format!("`{}`", self.model.tree().dofs[contact.freedom].name))
                .collect();
            Error::new(
                ErrorKind::Integration,
                format!("the impact of {} has no solution", names.join(", ")),
            )
            .hint("a driver may push a joint against its stop: let the driver end before, or the limits be reported only")
        })
    }

    /// After impacts: freedoms that were thrown off move.
    fn move_on_from(&mut self, start: &[f64]) {
        let changed = |v: &[f64], k: usize| (v[k] - start[k]).abs();
        let largest = (0..start.len()).fold(0.0f64, |m, k| m.max(changed(&self.state.v, k)));
        for j in 0..self.friction.freedoms.len() {
            let k = self.friction.freedoms[j];
            let v = self.state.v[k];
            match self.friction.modes[j] {
                Mode::Held => {
                    let direction = match self.friction.touches[j] {
                        Touch::None => v,
                        Touch::Lower => v.max(0.0),
                        Touch::Upper => v.min(0.0),
                        Touch::Both => 0.0,
                    };
                    match direction.abs() > UNTOUCHED * largest {
                        true => self.friction.let_go(j, direction.signum()),
                        false => self.state.v[k] = 0.0,
                    }
                }
                Mode::Slips(_) if v != 0.0 => self.friction.modes[j] = Mode::Slips(v.signum()),
                _ => {}
            }
        }
    }

    /// The gates whose freedoms leave them for flights that cannot be resolved.
    fn low_flights(&mut self, t: f64, y: &[f64]) -> Result<Vec<usize>> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let mut vdot = vec![0.0; nv];
        self.accelerate(t, &mut vdot)?;
        let is_low = |g: &usize| {
            let gate = &self.gates[*g];
            let u = gate.inward * y[nq + gate.freedom];
            let a = gate.inward * vdot[gate.freedom];
            let is_flat = u > 0.0 && u * u <= -2.0 * a * LOWEST_FLIGHT * gate.slack;
            is_flat && gate.distance(&y[..nq]) <= 2.0 * gate.slack
        };
        Ok((0..self.gates.len()).filter(is_low).collect())
    }

    /// Moves the loaded state onto a limit that it has reached to within round-off, as constraints allow.
    pub(super) fn place_on(&mut self, gate: &Gate) -> Result<()> {
        let off = gate.limit - self.state.q[gate.coordinate];
        if self.closing.is_none() {
            self.state.q[gate.coordinate] = gate.limit;
            return Ok(());
        }
        let mut way = vec![0.0; self.model.nv()];
        way[gate.freedom] = 1.0;
        self.respond(&mut way)?;
        let own = way[gate.freedom];
        let alone = match &mut self.closing {
            Some(closing) => closing.open_mobility(&self.state, &[gate.freedom])?[0],
            None => own,
        };
        if own > DEPENDENT * alone {
            way.iter_mut().for_each(|x| *x *= off / own);
            let Self { model, state, .. } = self;
            state.step(model, &way);
        }
        Ok(())
    }

    /// Prepares [`respond`](Self::respond) at the loaded state.
    pub(super) fn prepare_response(&mut self, t: f64) -> Result<()> {
        match &mut self.closing {
            Some(closing) => closing.prepare(t, &self.state),
            None => self.dynamics.factorize(&self.state),
        }
    }

    /// Turns efforts into accelerations, in place, under the constraints, with nothing held.
    fn respond(&mut self, x: &mut [f64]) -> Result<()> {
        match &mut self.closing {
            Some(closing) => {
                let (answer, _) = closing.respond(x);
                x.copy_from_slice(answer);
                Ok(())
            }
            None => self.dynamics.solve(x),
        }
    }
}
