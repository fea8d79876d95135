//! Linear equations about a steady motion: for rolling systems the given motion, for others at positions that are found.

use super::{
    EIGENVECTORS, WIDE, drawing, freedoms_and_positions, mode_json, modes, names, refuse_wrenches,
    shown,
};
use crate::commands::info::one_line;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation};
use crate::table;
use crate::{json, output};
use catena::ClosedChain;
use catena::Model;
use catena::error::{Error, ErrorKind, Result};
use catena_mechanism::{Mode, Modes, SteadyMotion};
use serde_json::{Value, json};
use std::path::Path;

struct Found {
    situation: Situation,
    moved: Option<Moved>,
    linear: SteadyMotion,
    modes: Modes,
    zeros: usize,
}

/// A moving system has no holding efforts.
pub(super) fn holds_nothing() -> Error {
    let message = "--hold: efforts that hold a position are for equilibria; a moving system is linearized about a motion";
    Error::new(ErrorKind::Unsupported, message).hint("leave the option out")
}

/// States that do not roll are assembled first; velocities given by name are kept.
pub(super) fn run(
    model: &Model,
    situations: Vec<Situation>,
    search: bool,
    picture: Option<&Path>,
    as_json: bool,
) -> Result<Outcome> {
    let mut chain = ClosedChain::new(model);
    let mut found = Vec::new();
    for mut situation in situations {
        refuse_wrenches(&situation)?;
        let moved = situation::close(&mut chain, 0.0, &mut situation)?;
        let (state, effort) = (&situation.state, &situation.effort);
        let linear = match search {
            true => SteadyMotion::near(model, state, effort)?,
            false => SteadyMotion::new(model, state, effort)?,
        };
        situation.state.clone_from(&linear.state);
        let (modes, zeros) = linear.modes()?;
        found.push(Found {
            situation,
            moved,
            linear,
            modes,
            zeros,
        });
    }
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(model, &found)),
        false => to_text(model, &found),
    });
    if let (Some(path), [one]) = (picture, &found[..]) {
        let (linear, modes) = (&one.linear, &one.modes.list);
        let displaced = |mode: &Mode, by| linear.displaced(mode, by);
        output::write_file(path, drawing(model, &linear.state, modes, displaced)?)?;
        outcome = outcome.note(format!("wrote {}", path.display()));
    }
    for (index, one) in found.iter().enumerate() {
        let checks = [
            ("eigenvectors do not solve A x = λ x", one.modes.residual),
            (
                "the linear motion leaves the constraints",
                one.linear.leaves,
            ),
        ];
        for (words, difference) in checks {
            outcome.require(index, words, difference, EIGENVECTORS);
        }
    }
    Ok(outcome)
}

fn to_text(model: &Model, found: &[Found]) -> String {
    let mut text = format!(
        "linear equations about a steady motion: ẋ = A x + B δτ\n{}\n",
        one_line(model)
    );
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        text += &motion(model, one);
        text += &modes(model, &one.modes);
        text += &format!(
            "  in addition, {} zero, from positions that do not enter the equations and velocities that stay constant\n",
            match one.zeros {
                1 => "1 eigenvalue is".to_string(),
                n => format!("{n} eigenvalues are"),
            }
        );
        text += &matrices(model, &one.linear);
        text += &format!(
            "\n  check: accelerations left {} rad/s² or m/s²\n  check: the linear motion keeps the constraints to {}\n  check: A x = λ x solved to {}\n",
            rough(one.linear.residual),
            rough(one.linear.leaves),
            rough(one.modes.residual)
        );
    }
    text
}

fn motion(model: &Model, one: &Found) -> String {
    let (linear, dofs) = (&one.linear, &model.tree().dofs);
    let table = freedoms_and_positions(model, &linear.state.q)
        .numbers("velocity", linear.state.v.iter().map(|&v| Some(shown(v))))
        .text("in", dofs.iter().map(|dof| dof.velocity_unit))
        .numbers("effort", linear.effort.iter().map(|&x| Some(x)))
        .text("in", dofs.iter().map(|dof| dof.force_unit));
    let mut text = format!("\n{}", table.render());
    if let Some(moved) = one.moved {
        text += &format!("  {}\n", moved.sentence());
    }
    text += &match (linear.iterations, linear.from_guess) {
        (0, _) => String::new(),
        (count, true) => format!(
            "  positions found in {}\n",
            counted(count, "iteration", "iterations")
        ),
        (count, false) => format!(
            "  positions found in {}, from another guess than the given ones\n",
            counted(count, "iteration", "iterations")
        ),
    };
    let rates = linear.variables.iter().filter(|(_, is_rate)| *is_rate);
    let rates = rates.count();
    text += &format!(
        "  {} of position, {} of velocity\n",
        counted(linear.variables.len() - rates, "freedom", "freedoms"),
        counted(rates, "freedom", "freedoms")
    );
    if (0..model.nv()).any(|k| model.dof(k).friction != 0.0) {
        text += "  dry friction is left out\n";
    }
    text
}

/// Names of the entries of x.
fn variables(model: &Model, linear: &SteadyMotion) -> Vec<String> {
    let all = names(model);
    let name = |&(k, is_rate): &(usize, bool)| match is_rate {
        true => format!("{}'", all[k]),
        false => all[k].clone(),
    };
    linear.variables.iter().map(name).collect()
}

fn matrices(model: &Model, linear: &SteadyMotion) -> String {
    let (n, nv) = (linear.variables.len(), model.nv());
    if n > WIDE || nv > WIDE {
        return format!("\nA is {n}×{n}, B {n}×{nv}: see them with --json\n");
    }
    let labels = variables(model, linear);
    let tidy = |x: f64| if x.abs() < 1e-12 { 0.0 } else { x };
    format!(
        "\nA, of x\n{}",
        table::matrix(&labels, &labels, |i, j| tidy(linear.a[(i, j)]))
    )
}

fn to_json(model: &Model, found: &[Found]) -> Value {
    let states: Value = found
        .iter()
        .map(|one| {
            let linear = &one.linear;
            let mut state = situation::to_json(&one.situation);
            let mut put = |key: &str, value: Value| state.insert(key.into(), value);
            put("tau", json::numbers(&linear.effort));
            put("variables", variables(model, linear).into());
            for (key, matrix) in [("Z", &linear.spread), ("A", &linear.a), ("B", &linear.b)] {
                put(key, json::matrix(matrix));
            }
            put("modes", one.modes.list.iter().map(mode_json).collect());
            put("zero_eigenvalues", one.zeros.into());
            put(
                "checks",
                json!({
                    "accelerations_left": linear.residual,
                    "constraints": linear.leaves,
                    "eigenvectors": one.modes.residual,
                }),
            );
            put("iterations", linear.iterations.into());
            Value::Object(state)
        })
        .collect();
    json!({
        "format": "catena-linearize/1",
        "model": model.name(),
        "about": "steady motion",
        "freedoms": names(model),
        "states": states,
    })
}
