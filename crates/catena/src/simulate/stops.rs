//! Joint limits that are enforced: rigid and soft stops.
//!
//! A rigid stop is the constraint n (q − limit) ≥ 0 with n = 1 at a lower limit and −1 at an upper one. A freedom that rests against it
//! is held like one that dry friction holds, by an effort that only pushes: see `dry_friction.rs`. One that arrives with u = n v < 0
//! has an impact: see `impact.rs`.
//!
//! A soft stop is a spring and a damper without mass beyond the limit. With the depth p = −n (q − limit) its effort is
//!
//! ```text
//! n F,   F = max(0, k p − d u)   where p > 0                                                            (1)
//! ```
//!
//! It never pulls. F is smooth in each of three modes, whose ends are located:
//!
//! ```text
//! open      p < 0         F = 0             ends where p = 0
//! pressed   p > 0         F = k p − d u     ends where F = 0
//! loose     p > 0         F = 0             ends where k p = d u, or p = 0
//! ```
//!
//! The spring stores ½ k p² while p > 0. The dissipated power is
//!
//! ```text
//! d u²   pressed,     k p u   loose                                                                     (2)
//! ```
//!
//! and both are nonnegative: a loose stop returns more slowly than the joint, with u > k p/d > 0.

use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;

/// A joint limit that is enforced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Velocity coordinate of the freedom.
    pub freedom: usize,
    /// Lower and upper limit; infinite where there is none.
    pub limits: (f64, f64),
    /// Its kind.
    pub kind: StopKind,
}

/// Kinds of stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopKind {
    /// An ideal constraint in one direction.
    Rigid {
        /// Ratio of the speeds after and before an impact, 0 to 1.
        restitution: f64,
    },
    /// A spring and a damper that push and never pull.
    Soft {
        /// Effort per unit of position beyond the limit.
        stiffness: f64,
        /// Effort per unit of velocity beyond the limit.
        damping: f64,
    },
}

impl Stop {
    /// A stop at each limit of a model, with the restitution given there, or soft where a stiffness is given. Joints with
    /// quaternions have none. Freedoms are those of the tree, where some follow others by couplings.
    pub fn all(model: &Model) -> Vec<Stop> {
        let model = &model.clone().with_couplings_as_constraints();
        let mut stops = Vec::new();
        for k in 0..model.tree().dofs.len() {
            let dof = model.dof(k);
            let Some(limits) = dof.limits.filter(|_| coordinate(model, k).is_some()) else {
                continue;
            };
            if limits.0.is_infinite() && limits.1.is_infinite() {
                continue;
            }
            let kind = match dof.stop_stiffness > 0.0 {
                true => StopKind::Soft {
                    stiffness: dof.stop_stiffness,
                    damping: dof.stop_damping,
                },
                false => StopKind::Rigid {
                    restitution: dof.restitution,
                },
            };
            stops.push(Stop {
                freedom: k,
                limits,
                kind,
            });
        }
        stops
    }

    /// Rejects a stop that does not fit the model.
    pub(crate) fn check(&self, model: &Model) -> Result<()> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Input, message));
        if self.freedom >= model.nv() {
            return refuse(format!(
                "a stop acts on freedom {}, and there are {}",
                self.freedom,
                model.nv()
            ));
        }
        let name = &model.tree().dofs[self.freedom].name;
        if coordinate(model, self.freedom).is_none() {
            return refuse(format!("`{name}` has a quaternion: it has no stop"));
        }
        let (low, high) = self.limits;
        if low.is_nan() || high.is_nan() || low > high {
            return refuse(format!(
                "the stop of `{name}`: lower limit {low} is above upper limit {high}"
            ));
        }
        let in_range = |x: f64, most: f64| x >= 0.0 && x <= most;
        match self.kind {
            StopKind::Rigid { restitution } if !in_range(restitution, 1.0) => refuse(format!(
                "the restitution of `{name}` must be from 0 to 1, not {restitution}"
            )),
            StopKind::Soft { stiffness, .. } if !(stiffness > 0.0 && stiffness.is_finite()) => {
                refuse(format!(
                    "the soft stop of `{name}` needs a positive stiffness, not {stiffness}"
                ))
            }
            StopKind::Soft { damping, .. } if !in_range(damping, f64::MAX) => refuse(format!(
                "the damping of the soft stop of `{name}` must not be negative, not {damping}"
            )),
            _ => Ok(()),
        }
    }

    /// Rejects a position outside the limits of a rigid stop by more than `slack`.
    pub(super) fn check_start(&self, model: &Model, q: &[f64], slack: f64) -> Result<()> {
        let Some(coordinate) = coordinate(model, self.freedom) else {
            return Ok(());
        };
        let (value, (low, high)) = (q[coordinate], self.limits);
        let beyond = |limit: f64| slack * limit.abs().max(1.0);
        let is_inside = value >= low - beyond(low) && value <= high + beyond(high);
        if is_inside || matches!(self.kind, StopKind::Soft { .. }) {
            return Ok(());
        }
        let dof = &model.tree().dofs[self.freedom];
        let unit = dof.velocity_unit.trim_end_matches("/s");
        let (side, limit) = match value < low {
            true => ("below its lower", low),
            false => ("above its upper", high),
        };
        Err(Error::new(
            ErrorKind::Input,
            format!(
                "joint `{}` starts at {value} {unit}, {side} limit of {limit} {unit}, which is a rigid stop",
                dof.name
            ),
        )
        .hint("start within the limits, make the stop soft, or let limits be reported only"))
    }
}

/// The position coordinate of a freedom, where it has one of its own.
pub(super) fn coordinate(model: &Model, freedom: usize) -> Option<usize> {
    let tree = model.tree();
    let body = &tree.bodies[tree.dofs[freedom].body];
    let rank = freedom - body.v;
    let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
    (rank < plain).then_some(body.q + rank)
}

/// One side of a rigid stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    /// Which of the freedoms with friction or a stop.
    pub index: usize,
    pub freedom: usize,
    pub coordinate: usize,
    pub limit: f64,
    /// n.
    pub inward: f64,
    pub restitution: f64,
    /// The limit is reached when it is passed by this much, so that a freedom which leaves it is clearly inside.
    pub slack: f64,
}

impl Gate {
    /// n (q − limit).
    pub fn distance(&self, q: &[f64]) -> f64 {
        self.inward * (q[self.coordinate] - self.limit)
    }
}

/// Mode of a soft stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Press {
    Open,
    Pressed,
    Loose,
}

/// One side of a soft stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cushion {
    pub freedom: usize,
    pub coordinate: usize,
    limit: f64,
    /// n.
    inward: f64,
    pub stiffness: f64,
    pub damping: f64,
    pub press: Press,
}

impl Cushion {
    pub fn is_lower(&self) -> bool {
        self.inward > 0.0
    }

    /// p.
    fn depth(&self, q: &[f64]) -> f64 {
        -self.inward * (q[self.coordinate] - self.limit)
    }

    /// k p − d u.
    fn push(&self, q: &[f64], v: &[f64]) -> f64 {
        self.stiffness * self.depth(q) - self.damping * self.inward * v[self.freedom]
    }

    /// (1).
    pub fn effort(&self, q: &[f64], v: &[f64]) -> f64 {
        match self.press {
            Press::Pressed => self.inward * self.push(q, v),
            Press::Open | Press::Loose => 0.0,
        }
    }

    /// Energy of the spring, J.
    pub fn stored(&self, q: &[f64]) -> f64 {
        let depth = self.depth(q);
        match self.press {
            Press::Open => 0.0,
            Press::Pressed | Press::Loose => 0.5 * self.stiffness * depth * depth,
        }
    }

    /// (2).
    pub fn lost(&self, q: &[f64], v: &[f64]) -> f64 {
        let u = self.inward * v[self.freedom];
        match self.press {
            Press::Open => 0.0,
            Press::Pressed => self.damping * u * u,
            Press::Loose => self.stiffness * self.depth(q) * u,
        }
    }

    /// Functions that are positive in the mode and vanish at its end.
    pub fn watch(&self, q: &[f64], v: &[f64]) -> [f64; 2] {
        match self.press {
            Press::Open => [-self.depth(q), 1.0],
            Press::Pressed => [self.push(q, v), 1.0],
            Press::Loose => [-self.push(q, v), self.depth(q)],
        }
    }

    /// Switches to the next mode when one of the functions has vanished.
    pub fn change(&mut self, which: usize, q: &[f64]) {
        self.press = match (self.press, which) {
            (Press::Open, _) | (Press::Loose, 0) => Press::Pressed,
            (Press::Pressed, _) if self.damping > 0.0 && self.depth(q) > 0.0 => Press::Loose,
            (Press::Pressed, _) | (Press::Loose, _) => Press::Open,
        };
    }

    /// The mode at a state.
    pub fn begin(&mut self, q: &[f64], v: &[f64]) {
        self.press = match (self.depth(q) > 0.0, self.push(q, v) > 0.0) {
            (false, _) => Press::Open,
            (true, true) => Press::Pressed,
            (true, false) => Press::Loose,
        };
    }
}

impl Press {
    pub fn to_word(self) -> u64 {
        self as u64
    }

    pub fn from_word(word: u64) -> Option<Press> {
        [Press::Open, Press::Pressed, Press::Loose]
            .into_iter()
            .find(|press| press.to_word() == word)
    }
}

/// How far a limit is passed before it counts as reached, relative to it or to 1: round-off of positions in a tree, and of their projection
/// in a closed chain.
const SLACK: f64 = 8.0 * f64::EPSILON;
const CLOSED_SLACK: f64 = 1e-13;

/// A position that is beyond a limit by this many slacks has missed it.
pub(super) const BEYOND: f64 = 100.0;

/// The slack of limits, relative to them or to 1.
pub(super) fn slack(is_closed: bool) -> f64 {
    match is_closed {
        true => CLOSED_SLACK,
        false => SLACK,
    }
}

/// The sides of all rigid stops; `freedoms` are those with friction or a stop. Coinciding limits need none.
pub(super) fn gates(
    model: &Model,
    stops: &[Stop],
    freedoms: &[usize],
    is_closed: bool,
) -> Vec<Gate> {
    let mut gates = Vec::new();
    for stop in stops {
        let StopKind::Rigid { restitution } = stop.kind else {
            continue;
        };
        let index = freedoms.iter().position(|&k| k == stop.freedom);
        let (Some(index), Some(coordinate)) = (index, coordinate(model, stop.freedom)) else {
            continue;
        };
        for (limit, inward) in sides(stop) {
            gates.push(Gate {
                index,
                freedom: stop.freedom,
                coordinate,
                limit,
                inward,
                restitution,
                slack: slack(is_closed) * limit.abs().max(1.0),
            });
        }
    }
    gates
}

/// The sides of all soft stops.
pub(super) fn cushions(model: &Model, stops: &[Stop]) -> Vec<Cushion> {
    let mut cushions = Vec::new();
    for stop in stops {
        let StopKind::Soft { stiffness, damping } = stop.kind else {
            continue;
        };
        let Some(coordinate) = coordinate(model, stop.freedom) else {
            continue;
        };
        for (limit, inward) in sides(stop) {
            cushions.push(Cushion {
                freedom: stop.freedom,
                coordinate,
                limit,
                inward,
                stiffness,
                damping,
                press: Press::Open,
            });
        }
    }
    cushions
}

/// The finite limits of a stop that has two different ones, with n.
fn sides(stop: &Stop) -> impl Iterator<Item = (f64, f64)> {
    let (low, high) = stop.limits;
    let is_locked = low == high && matches!(stop.kind, StopKind::Rigid { .. });
    [(low, 1.0), (high, -1.0)]
        .into_iter()
        .filter(move |(limit, _)| limit.is_finite() && !is_locked)
}
