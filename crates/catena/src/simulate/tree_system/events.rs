//! Functions whose changes of sign are events, and events that an integrator may have stepped over.

use super::TreeSystem;
use crate::error::Result;
use crate::simulate::dry_friction::{Mode, Touch};
use crate::simulate::stops::{BEYOND, Gate};
use crate::spatial::Vec3;
use crate::state::State;
use std::fmt;
use std::sync::Arc;

type Function = dyn Fn(f64, &State) -> f64 + Send + Sync;

/// A function of time and state whose changes of sign are events.
#[derive(Clone)]
pub struct StateFunction(Arc<Function>);

impl StateFunction {
    /// This function.
    pub fn new(function: impl Fn(f64, &State) -> f64 + Send + Sync + 'static) -> Self {
        StateFunction(Arc::new(function))
    }
}

impl fmt::Debug for StateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateFunction")
    }
}

impl PartialEq for StateFunction {
    /// Two functions are equal if they are the same object.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// An event to be located during the motion.
#[derive(Clone, Debug, PartialEq)]
pub enum EventFunction {
    /// A position coordinate reaches a value: joint limits.
    Position {
        /// Index into q.
        coordinate: usize,
        /// The value.
        value: f64,
        /// Its name.
        name: String,
    },
    /// The origin of a frame crosses the plane normal · x = offset (world axes).
    Plane {
        /// Index of the frame.
        frame: usize,
        /// Normal of the plane.
        normal: [f64; 3],
        /// Its distance along the normal.
        offset: f64,
        /// Its name.
        name: String,
    },
    /// Any function of time and state changes its sign.
    Function {
        /// The function.
        function: StateFunction,
        /// Its name.
        name: String,
    },
}

impl EventFunction {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            EventFunction::Position { name, .. }
            | EventFunction::Plane { name, .. }
            | EventFunction::Function { name, .. } => name,
        }
    }
}

/// Meaning of an event of the system itself, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The mode of this freedom with dry friction or a rigid stop ends.
    Mode(usize),
    /// A limit is reached.
    Limit,
    /// The mode of this side of a soft stop ends, in the first or second way.
    Cushion(usize, usize),
}

impl TreeSystem {
    /// Meaning of the event of this index, counted after those of the event functions.
    pub(crate) fn cause(&self, index: usize) -> Cause {
        let (modes, gates) = (self.friction.freedoms.len(), self.gates.len());
        if index < modes {
            Cause::Mode(index)
        } else if index < modes + gates {
            Cause::Limit
        } else {
            let index = index - modes - gates;
            Cause::Cushion(index / 2, index % 2)
        }
    }

    pub(super) fn event_values(&mut self, t: f64, q: &[f64], v: &[f64], values: &mut [f64]) {
        self.load(t, q, v);
        let (own, followed) = values.split_at_mut(self.events.len());
        for (event, value) in self.events.iter().zip(own) {
            *value = match event {
                EventFunction::Position {
                    coordinate, value, ..
                } => q[*coordinate] - value,
                EventFunction::Plane {
                    frame,
                    normal,
                    offset,
                    ..
                } => {
                    let frame = &self.model.tree().frames[*frame];
                    match self.dynamics.frame_pose(&self.state, frame) {
                        Ok(pose) => distance(*normal, *offset, pose.translation),
                        Err(_) => f64::NAN,
                    }
                }
                EventFunction::Function { function, .. } => (function.0)(t, &self.state),
            };
        }
        if followed.is_empty() {
            return;
        }
        let (friction, limits) = followed.split_at_mut(self.friction.freedoms.len());
        let (gates, cushions) = limits.split_at_mut(self.gates.len());
        for (gate, value) in self.gates.iter().zip(gates) {
            let rests = self.friction.touches[gate.index] == gate.touch();
            *value = match rests {
                true => 1.0,
                false => gate.distance(q) + gate.slack,
            };
        }
        for (cushion, values) in self.cushions.iter().zip(cushions.chunks_exact_mut(2)) {
            values.copy_from_slice(&cushion.watch(q, v));
        }
        let spare = if self.friction.holds() {
            let mut vdot = std::mem::take(&mut self.vdot);
            let spare = self
                .accelerate(t, &mut vdot)
                .and_then(|()| self.spare_of_held(t));
            self.vdot = vdot;
            spare.ok()
        } else {
            None
        };
        for (j, value) in friction.iter_mut().enumerate() {
            let k = self.friction.freedoms[j];
            *value = match self.friction.modes[j] {
                Mode::Slips(s) => s * v[k],
                Mode::Held => spare.as_ref().map_or(f64::NAN, |spare| spare[j]),
                Mode::BySign | Mode::Free => 1.0,
            };
        }
    }
}

/// normal · p − offset. A value below the round-off of its terms is zero: a motion within the plane crosses it nowhere.
pub(super) fn distance(normal: [f64; 3], offset: f64, p: Vec3<f64>) -> f64 {
    // in a unit that lets products with the normal neither overflow nor vanish
    let (normal, unit) = Vec3::from_array(normal).scaled();
    let offset = offset / unit;
    let distance = normal.dot(p) - offset;
    match distance.abs() <= 8.0 * f64::EPSILON * (normal.norm() * p.norm() + offset.abs()) {
        true => 0.0,
        false => distance,
    }
}

impl TreeSystem {
    /// Remaining reserve of the holding friction of each freedom, after an evaluation at the loaded state. Where holding efforts are not
    /// unique, the same fraction of each level is left.
    fn spare_of_held(&mut self, t: f64) -> Result<Vec<f64>> {
        let all = 0..self.friction.freedoms.len();
        if self.friction.unique {
            return Ok(all.map(|j| self.friction.spare(j)).collect());
        }
        self.prepare_friction(t)?;
        let spare = 1.0 - self.friction.load_factor()?;
        let size = |j: usize| match self.friction.levels[j] > 0.0 {
            true => self.friction.levels[j],
            false => 1.0,
        };
        Ok(all.map(|j| spare * size(j)).collect())
    }
}

/// A failure within a step without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// A freedom slips against its direction: it was released and came back.
    Turned(usize),
    /// A freedom is beyond a limit that it was at from the beginning.
    Beyond,
}

impl TreeSystem {
    /// Is there anything that [`overrun`](Self::overrun) could find?
    pub(crate) fn can_overrun(&self) -> bool {
        !self.gates.is_empty() || !self.friction.freedoms.is_empty()
    }

    /// A freedom that was released and came back within a step, or is beyond a limit.
    pub(crate) fn overrun(&self, y: &[f64]) -> Option<Overrun> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        // projections onto constraints leave round-off of the largest velocity
        let noise = match self.closing {
            Some(_) => 1e-13 * y[nq..nq + nv].iter().fold(0.0f64, |m, v| m.max(v.abs())),
            None => 0.0,
        };
        let mut gates = self.gates.iter();
        let is_beyond = |gate: &Gate| {
            self.friction.touches[gate.index] == Touch::None
                && gate.distance(&y[..nq]) < -BEYOND * gate.slack
        };
        if gates.any(is_beyond) {
            return Some(Overrun::Beyond);
        }
        let freedoms = self.friction.freedoms.iter().zip(&self.friction.modes);
        freedoms
            .enumerate()
            .find(|(_, (k, mode))| matches!(mode, Mode::Slips(s) if s * y[nq + **k] < -noise))
            .map(|(j, _)| Overrun::Turned(j))
    }

    /// Does the holding effort of a freedom exceed its friction?
    pub(crate) fn overheld(&mut self, t: f64, y: &[f64]) -> Result<bool> {
        if !self.friction.holds() {
            return Ok(false);
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.load(t, &y[..nq], &y[nq..nq + nv]);
        let mut vdot = std::mem::take(&mut self.vdot);
        let spare = self
            .accelerate(t, &mut vdot)
            .and_then(|()| self.spare_of_held(t));
        self.vdot = vdot;
        let spare = spare?;
        let friction = &self.friction;
        let largest = friction.efforts.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let size = |j: usize| match friction.levels[j] > 0.0 {
            true => friction.levels[j],
            false => largest,
        };
        Ok((0..friction.modes.len())
            .any(|j| friction.modes[j] == Mode::Held && spare[j] < -1e-9 * size(j)))
    }
}
