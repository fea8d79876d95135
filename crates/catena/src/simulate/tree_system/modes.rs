//! Modes of freedoms with dry friction or stops: how they begin, change at events and are kept by checkpoints.

use super::TreeSystem;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::System;
use crate::model::DofInfo;
use crate::simulate::closing::Closing;
use crate::simulate::dry_friction::{Mode, Standing, Touch};
use crate::simulate::stops::{self, BEYOND, Cushion, Gate, Press};

/// A mode change of a freedom with dry friction or a rigid stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// Index among the freedoms with dry friction or a rigid stop.
    pub index: usize,
    pub before: Standing,
    pub after: Standing,
}

impl TreeSystem {
    /// Projects the initial state of a run onto the constraints. Without constraints nothing changes.
    pub(crate) fn close(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        if self.closing.is_some() {
            System::project(self, t, y);
        }
        match &mut self.closing {
            Some(closing) => closing.check(),
            None => Ok(()),
        }
    }

    /// From now on dry friction has modes, starting with this state; velocities that were exactly zero before it was closed, as `rests`
    /// tells, stay zero where friction holds. The caller must call [`choose_modes`](Self::choose_modes) at the friction's events.
    pub(crate) fn follow_friction(&mut self, t: f64, y: &mut [f64], rests: &[bool]) -> Result<()> {
        self.followed = true;
        let nothing = self.friction.freedoms.is_empty() && self.cushions.is_empty();
        if self.closing.is_some() && nothing {
            return Ok(());
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.start_within_limits(t, y)?;
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            if self.friction.touches[j] == Touch::Both {
                continue;
            }
            let v = y[nq + k];
            self.friction.modes[j] = match self.friction.levels[j] > 0.0 {
                true if rests[k] => Mode::Held,
                true => Mode::Slips(v.signum()),
                false => Mode::Free,
            };
        }
        self.choose_modes(t, y, None)?;
        if self.has_no_modes() {
            // errors in the initial state are reported before the integrator starts
            self.load(t, &y[..nq], &y[nq..nq + nv]);
            let mut vdot = vec![0.0; nv];
            self.accelerate(t, &mut vdot)?;
        }
        Ok(())
    }

    /// Checks that the initial state is within the limits of rigid stops, up to round-off, which is removed.
    fn start_within_limits(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let slack = BEYOND * stops::slack(self.closing.is_some());
        for stop in self.inputs.stops.clone() {
            stop.check_start(&self.model, &y[..nq], slack)?;
            let locked = stop.limits.0 == stop.limits.1;
            let index = self
                .friction
                .freedoms
                .iter()
                .position(|&k| k == stop.freedom);
            let Some(j) = index.filter(|_| locked) else {
                continue;
            };
            if y[nq + stop.freedom] != 0.0 {
                let name = &self.model.tree().dofs[stop.freedom].name;
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("joint `{name}` moves at the start, but its limits coincide"),
                ));
            }
            self.friction.modes[j] = Mode::Held;
            self.friction.touches[j] = Touch::Both;
        }
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let outside = |gate: &Gate| gate.distance(&y[..nq]) < 0.0;
        let gates: Vec<Gate> = self.gates.iter().copied().filter(outside).collect();
        if !gates.is_empty() {
            self.prepare_response(t)?;
        }
        for gate in &gates {
            self.place_on(gate)?;
        }
        y[..nq].copy_from_slice(&self.state.q);
        for cushion in &mut self.cushions {
            cushion.begin(&y[..nq], &y[nq..nq + nv]);
        }
        Ok(())
    }

    /// Whether nothing slips, is held or is stopped, in a tree.
    fn has_no_modes(&self) -> bool {
        self.friction.freedoms.is_empty() && self.closing.is_none()
    }

    /// Chooses modes anew at an event. `stopped` is the freedom whose velocity has become zero, if that is the event; others
    /// that come to rest within the resolution of time stop with it, and so do those that constraints fix to freedoms at rest.
    /// Returns the changes.
    pub(crate) fn choose_modes(
        &mut self,
        t: f64,
        y: &mut [f64],
        stopped: Option<usize>,
    ) -> Result<Vec<Change>> {
        if self.has_no_modes() {
            return Ok(Vec::new());
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let before = self.standings();
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let mut vdot = vec![0.0; nv];
        self.accelerate(t, &mut vdot)?;
        self.come_to_limits(t, y, &vdot);
        let resolution = 8.0 * (t.abs().next_up() - t.abs());
        let mut resting = Vec::new();
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            let v = &mut y[nq + k];
            let at_rest = match self.friction.modes[j] {
                Mode::Held => true,
                Mode::Slips(s) => {
                    *v == 0.0 || stopped == Some(j) || s * *v <= vdot[k].abs() * resolution
                }
                Mode::BySign | Mode::Free => false,
            };
            if at_rest {
                *v = 0.0;
                self.state.v[k] = 0.0;
                // friction is switched off, for the accelerations without it
                self.friction.modes[j] = Mode::Held;
                resting.push(j);
            }
        }
        if resting.is_empty() {
            return Ok(Vec::new());
        }
        if self.closing.is_some() {
            self.come_to_rest_together(t, &mut resting)?;
        }
        let released = stopped.filter(|&j| before[j] != Standing::Moves);
        self.choose_for(t, &resting, released, &mut vdot)?;
        if self.closing.is_some() {
            self.hold_by_modes(t)?;
            y[nq..nq + nv].copy_from_slice(&self.state.v);
        }
        Ok(self.changes_since(&before))
    }

    /// Marks freedoms at rest at a limit as touching it: they are held until it is known whether they leave it.
    fn come_to_limits(&mut self, t: f64, y: &mut [f64], vdot: &[f64]) {
        let nq = self.model.nq();
        let fastest = self.state.v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let noise = match self.closing {
            Some(_) => 1e-13 * fastest,
            None => 0.0,
        };
        let resolution = 8.0 * (t.abs().next_up() - t.abs());
        for g in 0..self.gates.len() {
            let gate = self.gates[g];
            let (j, k) = (gate.index, gate.freedom);
            let is_slow = y[nq + k].abs() <= noise.max(vdot[k].abs() * resolution)
                || self.friction.modes[j] == Mode::Held;
            if self.friction.touches[j] == Touch::None && is_slow && self.is_at(&gate, t) {
                self.friction.modes[j] = Mode::Held;
                self.friction.touches[j] = gate.touch();
                if self.closing.is_none() {
                    y[gate.coordinate] = gate.limit;
                    self.state.q[gate.coordinate] = gate.limit;
                }
            }
        }
    }

    /// Chooses the modes of the freedoms at rest, with zero velocities and neither pushed nor held by friction.
    fn choose_for(
        &mut self,
        t: f64,
        resting: &[usize],
        released: Option<usize>,
        vdot: &mut [f64],
    ) -> Result<()> {
        self.drive(t)?;
        self.friction.slip(&self.state.v);
        self.resist();
        let Some(closing) = &mut self.closing else {
            self.forward(t, vdot)?;
            let dynamics = &mut self.dynamics;
            return self
                .friction
                .choose(resting, released, vdot, |x| dynamics.solve(x), None);
        };
        closing.accelerate_free(t, &self.state, &self.resisted, &self.external, vdot)?;
        let freedoms: Vec<usize> = resting.iter().map(|&j| self.friction.freedoms[j]).collect();
        let alone = closing.open_mobility(&self.state, &freedoms)?;
        let respond = |x: &mut [f64]| {
            let (answer, _) = closing.respond(x);
            x.copy_from_slice(answer);
            Ok(())
        };
        self.friction
            .choose(resting, released, vdot, respond, Some(&alone))
    }

    /// Makes the closed chain hold the freedoms given by the modes, from the loaded state on.
    pub(in crate::simulate) fn hold_by_modes(&mut self, t: f64) -> Result<()> {
        let Some(closing) = &mut self.closing else {
            return Ok(());
        };
        self.held = self.friction.held();
        // in the order of the freedoms
        self.held.sort_by_key(|&j| self.friction.freedoms[j]);
        let freedoms: Vec<usize> = self
            .held
            .iter()
            .map(|&j| self.friction.freedoms[j])
            .collect();
        closing.hold(t, &self.state, &freedoms)
    }

    /// In a closed chain a freedom that comes to rest stops others: velocities are made consistent with `resting` being at rest, and
    /// freedoms that then cannot move are at rest, too.
    fn come_to_rest_together(&mut self, t: f64, resting: &mut Vec<usize>) -> Result<()> {
        self.hold_by_modes(t)?;
        let Some(closing) = &mut self.closing else {
            return Ok(());
        };
        let before = self.state.v.clone();
        if closing.settle_velocities(t, &mut self.state).is_err() {
            // a driver moves a freedom that is at rest at this instant only
            self.state.v = before;
            return Ok(());
        }
        let fixed = closing.fixed_freedoms(t, &self.state)?;
        let fastest = self.state.v.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        for (v, fixed) in self.state.v.iter_mut().zip(&fixed) {
            // others may be moved by drivers
            if *fixed && v.abs() <= 1e-9 * fastest {
                *v = 0.0;
            }
        }
        for (j, &k) in self.friction.freedoms.iter().enumerate() {
            let slips = matches!(self.friction.modes[j], Mode::Slips(_));
            if slips && fixed[k] && self.state.v[k] == 0.0 {
                self.friction.modes[j] = Mode::Held;
                resting.push(j);
            }
        }
        Ok(())
    }

    /// Holds a freedom unconditionally, and those that constraints fix to it.
    pub(crate) fn force_hold(&mut self, t: f64, index: usize, y: &mut [f64]) -> Result<()> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.friction.modes[index] = Mode::Held;
        y[nq + self.friction.freedoms[index]] = 0.0;
        if self.closing.is_some() {
            self.load(t, &y[..nq], &y[nq..nq + nv]);
            let mut resting = self.friction.held();
            self.come_to_rest_together(t, &mut resting)?;
            y[nq..nq + nv].copy_from_slice(&self.state.v);
            self.restore_holding(t, y, None)?;
        }
        Ok(())
    }

    /// Condition of each freedom with dry friction or a rigid stop.
    pub(crate) fn standings(&self) -> Vec<Standing> {
        let all = 0..self.friction.freedoms.len();
        all.map(|j| self.friction.standing(j)).collect()
    }

    /// The changes of their conditions since `before`.
    pub(in crate::simulate) fn changes_since(&self, before: &[Standing]) -> Vec<Change> {
        let pairs = before.iter().copied().zip(self.standings()).enumerate();
        pairs
            .filter(|(_, (before, after))| before != after)
            .map(|(index, (before, after))| Change {
                index,
                before,
                after,
            })
            .collect()
    }

    /// Which freedoms dry friction holds.
    pub(crate) fn held_freedoms(&self, held: &mut [bool]) {
        held.fill(false);
        for (&k, mode) in self.friction.freedoms.iter().zip(&self.friction.modes) {
            held[k] = *mode == Mode::Held;
        }
    }

    /// The freedoms with dry friction or a rigid stop.
    pub(crate) fn friction_dofs(&self) -> impl Iterator<Item = &DofInfo> {
        let dofs = &self.model.tree().dofs;
        self.friction.freedoms.iter().map(|&k| &dofs[k])
    }

    /// For each side of a soft stop its freedom, and whether it is the lower one.
    pub(crate) fn cushion_dofs(&self) -> impl Iterator<Item = (&DofInfo, bool)> {
        let dofs = &self.model.tree().dofs;
        self.cushions
            .iter()
            .map(|cushion| (&dofs[cushion.freedom], cushion.is_lower()))
    }

    /// Whether each side of a soft stop is touched.
    pub(crate) fn cushions_touched(&self) -> Vec<bool> {
        let cushions = self.cushions.iter();
        cushions
            .map(|cushion| cushion.press != Press::Open)
            .collect()
    }

    /// Switches a soft stop to its next mode. Returns whether it is touched now, and whether it was before.
    pub(crate) fn change_cushion(&mut self, index: usize, which: usize, y: &[f64]) -> [bool; 2] {
        let cushion = &mut self.cushions[index];
        let was = cushion.press != Press::Open;
        cushion.change(which, &y[..self.model.nq()]);
        [cushion.press != Press::Open, was]
    }

    /// Speed of a freedom with a soft stop.
    pub(crate) fn cushion_speed(&self, index: usize, y: &[f64]) -> f64 {
        y[self.model.nq() + self.cushions[index].freedom].abs()
    }

    /// Stiffness and damping of the soft stop that presses on a freedom now.
    pub(crate) fn cushion_slopes(&self, freedom: usize) -> [f64; 2] {
        let presses = |c: &&Cushion| c.freedom == freedom && c.press == Press::Pressed;
        let pressed = self.cushions.iter().find(presses);
        pressed.map_or([0.0; 2], |cushion| [cushion.stiffness, cushion.damping])
    }

    /// Modes and touches of all freedoms with dry friction or a rigid stop, and modes of soft stops, as words of a checkpoint.
    pub(crate) fn modes_checkpoint(&self) -> Vec<u64> {
        let modes = self.friction.modes.iter().zip(&self.friction.touches);
        let words = modes.flat_map(|(mode, touch)| [mode.to_word(), touch.to_word()]);
        let cushions = self.cushions.iter();
        words
            .chain(cushions.map(|cushion| cushion.press.to_word()))
            .collect()
    }

    /// Restores the output of [`modes_checkpoint`](Self::modes_checkpoint) and returns the remaining words.
    pub(crate) fn restore_modes<'a>(&mut self, words: &'a [u64]) -> Option<&'a [u64]> {
        let friction = &mut self.friction;
        let (modes, rest) = words.split_at_checked(2 * friction.modes.len())?;
        let (presses, rest) = rest.split_at_checked(self.cushions.len())?;
        for (j, pair) in modes.chunks_exact(2).enumerate() {
            friction.modes[j] = Mode::from_word(pair[0])?;
            friction.touches[j] = Touch::from_word(pair[1])?;
        }
        for (cushion, word) in self.cushions.iter_mut().zip(presses) {
            cushion.press = Press::from_word(*word)?;
        }
        Some(rest)
    }

    /// The rank of the constraints determined at earlier states, as words of a checkpoint, preceded by their number.
    pub(crate) fn rank_checkpoint(&self) -> Vec<u64> {
        let words = self
            .closing
            .as_ref()
            .map_or(Vec::new(), Closing::checkpoint);
        std::iter::once(words.len() as u64).chain(words).collect()
    }

    /// Continues to hold the freedoms that the modes of a checkpoint hold, at its state.
    pub(crate) fn restore_holding(
        &mut self,
        t: f64,
        y: &[f64],
        ranks: Option<&[u64]>,
    ) -> Result<()> {
        if self.closing.is_none() || !self.followed {
            return Ok(());
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        self.hold_by_modes(t)?;
        if let (Some(closing), Some(words)) = (&mut self.closing, ranks) {
            closing.restore(words).ok_or_else(|| {
                Error::new(
                    ErrorKind::Input,
                    "the checkpoint does not belong to this run",
                )
            })?;
        }
        self.prepare_friction(t)?;
        self.friction.count_ways();
        Ok(())
    }
}
