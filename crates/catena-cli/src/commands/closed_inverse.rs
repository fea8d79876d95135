//! `catena inverse` on a model with constraints: efforts of chosen actuators for a motion of the closed mechanism.

use crate::commands::assemble::named_freedoms;
use crate::commands::info::one_line;
use crate::commands::inverse::state_block;
use crate::formulation_argument::described;
use crate::json;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation};
use catena::algorithm::constrained::CLOSED;
use catena::closed_chain::{ClosedChain, ClosedEfforts};
use catena::error::Result;
use catena::residual::{difference, larger, largest, largest_of, relative, within};
use catena::{Dynamics, Model};
use catena_mechanism::{Formulation, Mechanism};
use serde_json::{Value, json};

/// Forward dynamics must return the accelerations at least this well, or the exit code is 1: loops count as closed within this limit.
const TOLERANCE: f64 = CLOSED;

struct Solved {
    situation: Situation,
    /// Where the state was not closed.
    assembled: Option<Moved>,
    found: ClosedEfforts,
    /// Largest change of the accelerations by projection onto the constraints.
    moved: f64,
    /// Relative difference of the accelerations that forward dynamics returns.
    returned: f64,
    /// If a formulation was requested: the relative difference from the efforts by recursion.
    by: Option<(Formulation, f64)>,
}

/// Computes the efforts; states that are not closed are assembled first.
pub fn run(
    model: &Model,
    situations: Vec<Situation>,
    actuators: &[String],
    formulation: Option<Formulation>,
    as_json: bool,
) -> Result<Outcome> {
    let actuators = match actuators.is_empty() {
        true => (0..model.nv()).collect(),
        false => named_freedoms(model, actuators, "--actuators")?,
    };
    let mut chain = ClosedChain::new(model);
    let mut other = match formulation {
        Some(formulation) => Some((formulation, Mechanism::driving(model, &actuators)?)),
        None => None,
    };
    let mut dynamics = Dynamics::new(&model.clone().open_tree());
    let solved = situations
        .into_iter()
        .map(|mut situation| {
            let time = situation.time.unwrap_or(0.0);
            let assembled = situation::close(&mut chain, time, &mut situation)?;
            let external = situation.external(&mut dynamics)?;
            let state = &situation.state;
            let vdot = chain.consistent_accelerations(time, state, &situation.acceleration)?;
            let moved = difference(&vdot, &situation.acceleration);
            let mut found = chain.inverse(time, state, &vdot, &external, &actuators)?;
            let by = match &mut other {
                Some((formulation, mechanism)) => {
                    let efforts = mechanism.efforts(*formulation, time, state, &vdot, &external)?;
                    let scale = larger(largest(&found.efforts), largest(&efforts));
                    let apart = relative(&efforts, &found.efforts, scale);
                    found.efforts = efforts;
                    Some((*formulation, apart))
                }
                None => None,
            };
            let nothing = vec![0.0; vdot.len()];
            let alone = largest(
                chain
                    .forward(time, state, &nothing, &external)?
                    .accelerations,
            );
            // in a steady motion both are round-off of the tree's accelerations without constraints
            let open = match dynamics.forward(state, &found.efforts, &external) {
                Ok(accelerations) => largest(accelerations),
                Err(_) => 0.0,
            };
            let scale = larger(open, larger(alone, largest(&vdot)));
            let back = chain.forward(time, state, &found.efforts, &external)?;
            let returned = relative(back.accelerations, &vdot, scale);
            situation.acceleration = vdot;
            situation.effort.clone_from(&found.efforts);
            Ok(Solved {
                situation,
                assembled,
                found,
                moved,
                returned,
                by,
            })
        })
        .collect::<Result<Vec<Solved>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(model, &actuators, &solved)),
        false => to_text(model, &actuators, &solved),
    });
    let worst = largest_of(solved.iter().map(|one| one.returned));
    if !within(worst, TOLERANCE) {
        outcome.failures.push(format!(
            "forward dynamics does not return the accelerations: relative difference {}, allowed {}",
            rough(worst),
            rough(TOLERANCE)
        ));
    }
    Ok(outcome)
}

fn to_text(model: &Model, actuators: &[usize], solved: &[Solved]) -> String {
    let mut text = format!(
        "inverse dynamics of a closed chain: the efforts τ of its actuators that produce the accelerations a\n{}\n",
        one_line(model)
    );
    for (index, one) in solved.iter().enumerate() {
        text += &state_block(model, &one.situation, index, solved.len());
        text += &format!(
            "\n  {} for {}\n",
            counted(actuators.len(), "actuator", "actuators"),
            counted(one.found.freedoms, "freedom", "freedoms")
        );
        if one.found.surplus > 0 {
            text += &format!(
                "  {} could be chosen freely: these have minimum norm (N and N·m weighted equally)\n",
                counted(one.found.surplus, "effort", "efforts")
            );
        }
        if let Some(assembled) = one.assembled {
            text += &format!("  {}\n", assembled.sentence());
        }
        if !within(one.moved, 1e-9) {
            text += &format!(
                "  The given accelerations violate the constraints; these are the nearest that satisfy them (changed by up to {}).\n",
                rough(one.moved)
            );
        }
        if let Some((formulation, apart)) = one.by {
            text += &by_line(formulation, apart);
        }
        text += &format!(
            "\n  check: forward dynamics {} the accelerations, relative difference {}, allowed {}\n",
            match within(one.returned, TOLERANCE) {
                true => "returns",
                false => "does not return",
            },
            rough(one.returned),
            rough(TOLERANCE)
        );
    }
    text
}

/// How efforts by a formulation compare with those by recursion.
pub fn by_line(formulation: Formulation, apart: f64) -> String {
    format!(
        "\n  by {}: the efforts of the recursion differ by {}\n",
        described(formulation),
        rough(apart)
    )
}

fn to_json(model: &Model, actuators: &[usize], solved: &[Solved]) -> Value {
    let names: Value = actuators
        .iter()
        .map(|&k| Value::from(model.tree().dofs[k].name.clone()))
        .collect();
    let states: Value = solved
        .iter()
        .map(|one| {
            let mut state = situation::to_json(&one.situation);
            state.insert("a".into(), json::numbers(&one.situation.acceleration));
            state.insert("tau".into(), json::numbers(&one.situation.effort));
            state.insert(
                "checks".into(),
                json!({
                    "assembly_moved": one.assembled.map(Moved::to_json),
                    "actuators": names,
                    "freedoms": one.found.freedoms,
                    "surplus": one.found.surplus,
                    "multipliers": json::numbers(&one.found.multipliers),
                    "accelerations_changed": one.moved,
                    "forward_returns_a": one.returned,
                }),
            );
            if let (Some((formulation, apart)), Some(checks)) = (one.by, state.get_mut("checks")) {
                checks["formulation"] = formulation.name().into();
                checks["differs_from_recursion"] = apart.into();
            }
            Value::Object(state)
        })
        .collect();
    json!({ "format": "catena-inverse/1", "model": model.name(), "states": states })
}
