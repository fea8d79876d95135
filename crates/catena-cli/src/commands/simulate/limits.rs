//! Joint limits as typed: their effect in a run.

use super::Arguments;
use super::drive::refusal;
use crate::coordinates::Coordinate;
use crate::state_argument::{typed_numbers, typed_or_named};
use catena::Model;
use catena::error::Result;
use catena::simulate::{EventFunction, Stop, StopKind};
use clap::ValueEnum;
use serde_json::{Value, json};

/// What joint limits do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LimitKind {
    /// Report an event when one is passed
    Report,
    /// Ignore them
    Ignore,
    /// Enforce them: rigid, or soft where a stiffness is given
    Stop,
    /// Enforce them, all of them soft
    Soft,
}

impl Arguments {
    fn limit_kind(&self) -> LimitKind {
        match self.no_limits {
            true => LimitKind::Ignore,
            false => self.limits,
        }
    }

    /// The stops: those of the model, with the numbers typed.
    pub fn stops(&self, model: &Model) -> Result<Vec<Stop>> {
        let kind = self.limit_kind();
        let typed = [
            ("--restitution", &self.restitution),
            ("--stop-stiffness", &self.stop_stiffness),
            ("--stop-damping", &self.stop_damping),
        ];
        if !matches!(kind, LimitKind::Stop | LimitKind::Soft) {
            return match typed.iter().find(|(_, text)| text.is_some()) {
                None => Ok(Vec::new()),
                Some((what, _)) => Err(refusal(format!("{what}: the limits do not hold"))
                    .hint("give `--limits stop` or `--limits soft`, too")),
            };
        }
        let mut stops = Stop::all(model);
        let names = stops.iter();
        let names: Vec<&str> = names
            .map(|stop| model.tree().dofs[stop.freedom].name.as_str())
            .collect();
        let [restitutions, stiffnesses, dampings] = typed;
        let restitutions = numbers(restitutions, &names)?;
        let stiffnesses = numbers(stiffnesses, &names)?;
        let dampings = numbers(dampings, &names)?;
        for (k, stop) in stops.iter_mut().enumerate() {
            let (mut restitution, mut stiffness, mut damping) = match stop.kind {
                StopKind::Rigid { restitution } => (restitution, 0.0, 0.0),
                StopKind::Soft { stiffness, damping } => (0.0, stiffness, damping),
            };
            for (number, list) in [
                (&mut restitution, &restitutions),
                (&mut stiffness, &stiffnesses),
                (&mut damping, &dampings),
            ] {
                if !list[k].is_nan() {
                    *number = list[k];
                }
            }
            let is_soft = kind == LimitKind::Soft || stiffness != 0.0;
            if is_soft && stiffness == 0.0 {
                return Err(refusal(format!(
                    "--limits soft: the stop of joint `{}` has no stiffness",
                    names[k]
                ))
                .hint("give --stop-stiffness, or `stop_stiffness` in the model file"));
            }
            if !is_soft && damping != 0.0 {
                return Err(refusal(format!(
                    "--stop-damping: the stop of joint `{}` is rigid",
                    names[k]
                ))
                .hint("give it a stiffness with --stop-stiffness, or a --restitution instead"));
            }
            stop.kind = match is_soft {
                true => StopKind::Soft { stiffness, damping },
                false => StopKind::Rigid { restitution },
            };
        }
        Ok(stops)
    }

    /// The limits that are reported.
    pub fn reported_limits(&self, model: &Model) -> Vec<EventFunction> {
        match self.limit_kind() {
            LimitKind::Report => events(model),
            LimitKind::Ignore | LimitKind::Stop | LimitKind::Soft => Vec::new(),
        }
    }
}

/// A number for each stop: one for all, or some by name; NaN where none is given.
fn numbers((what, text): (&str, &Option<String>), names: &[&str]) -> Result<Vec<f64>> {
    let none = vec![f64::NAN; names.len()];
    let Some(text) = text else {
        return Ok(none);
    };
    if names.is_empty() {
        return Err(refusal(format!("{what}: no joint has limits")));
    }
    let coordinates: Vec<Coordinate> = names
        .iter()
        .map(|name| Coordinate {
            name: name.to_string(),
            unit: "",
            is_angle: false,
        })
        .collect();
    if !text.contains([',', '=']) {
        let one = typed_numbers(what, text, &coordinates[..1])?;
        return Ok(vec![one[0]; names.len()]);
    }
    typed_or_named(what, text, &coordinates, &none)
}

/// The stops of a run as its file records them; null where limits are not enforced.
pub fn description(model: &Model, stops: &[Stop]) -> Value {
    let one = |stop: &Stop| {
        let limit = |x: f64| x.is_finite().then_some(x);
        let mut entry = json!({
            "joint": model.tree().dofs[stop.freedom].name,
            "lower": limit(stop.limits.0),
            "upper": limit(stop.limits.1),
        });
        match stop.kind {
            StopKind::Rigid { restitution } => entry["restitution"] = restitution.into(),
            StopKind::Soft { stiffness, damping } => {
                entry["stiffness"] = stiffness.into();
                entry["damping"] = damping.into();
            }
        }
        entry
    };
    match stops.is_empty() {
        true => Value::Null,
        false => stops.iter().map(one).collect(),
    }
}

/// An event at every limit.
fn events(model: &Model) -> Vec<EventFunction> {
    let mut events = Vec::new();
    for body in &model.tree().bodies[1..] {
        let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
        for k in 0..plain {
            let dof = &model.tree().dofs[body.v + k];
            let Some((low, high)) = dof.limits else {
                continue;
            };
            for (side, value) in [("lower", low), ("upper", high)] {
                if value.is_finite() {
                    events.push(EventFunction::Position {
                        coordinate: body.q + k,
                        value,
                        name: format!("{} passes its {side} limit", dof.name),
                    });
                }
            }
        }
    }
    events
}
