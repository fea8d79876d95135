//! `catena assemble MODEL`: a closed state near a guess.

use crate::commands::info::one_line;
use crate::commands::inverse::quaternion_lines;
use crate::coordinates::position_of_freedom;
use crate::model_argument::ModelArgument;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation};
use crate::state_argument::StateArgument;
use crate::table::Table;
use crate::{json, names};
use catena::closed_chain::{Assembled, ClosedChain, DENSE_ROWS};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::larger;
use catena::{Model, State};
use clap::Args;
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// Which model, the guess, and what stays.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,

    /// Freedoms that keep the guess's position and velocity, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    hold: Vec<String>,

    /// Take this branch (assembly mode) instead of the one the guess leads to: 1 is the nearest to the guess, 2 the next, as far as 200
    /// random guesses find them
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..))]
    branch: Option<u16>,
}

/// A guess and the closed state near it.
struct Found {
    situation: Situation,
    assembled: Assembled,
    moved: Moved,
    /// Singular values of the independent rows, largest first; left out where there are many rows.
    singular_values: Option<Vec<f64>>,
}

/// Assembles the states.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.whole_model()?;
    if model.constraints().is_empty() {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "model `{}` has no constraints: every state of a tree is assembled",
                model.name()
            ),
        ));
    }
    let held = named_freedoms(&model, &arguments.hold, "--hold")?;
    let mut chain = ClosedChain::new(&model);
    let found = arguments
        .state
        .situations(&model, None, None)?
        .into_iter()
        .map(|mut situation| {
            let time = situation.time.unwrap_or(0.0);
            let mut held = held.clone();
            if chain.velocity_row_count() > 0 {
                held.extend_from_slice(&situation.named);
            }
            let assembled = match arguments.branch {
                None => chain.assemble(time, &situation.state, &held)?,
                Some(wanted) => branch(&mut chain, time, &situation.state, &held, wanted.into())?,
            };
            let moved = Moved::between(&situation.state, &assembled.state);
            situation.state = assembled.state.clone();
            let singular_values = match chain.row_count() > DENSE_ROWS {
                true => None,
                false => Some(chain.rank(time, &situation.state)?.1),
            };
            Ok(Found {
                situation,
                assembled,
                moved,
                singular_values,
            })
        })
        .collect::<Result<Vec<Found>>>()?;
    Ok(Outcome::text(match as_json {
        true => json::text(&to_json(&model, &found)),
        false => to_text(&model, &found),
    }))
}

/// Random guesses for the search of branches.
const GUESSES: u64 = 200;

/// Closed states from random guesses that keep the held coordinates, the one nearest to the guess first.
fn branch(
    chain: &mut ClosedChain,
    time: f64,
    guess: &State,
    held: &[usize],
    wanted: usize,
) -> Result<Assembled> {
    let model = chain.model().clone();
    let positions = position_of_freedom(&model);
    // distance between two positions; full turns do not count
    let distance = |a: &State, b: &State| {
        let mut worst = 0.0f64;
        for (k, dof) in model.tree().dofs.iter().enumerate() {
            if let Some(at) = positions[k] {
                let mut apart = (a.q[at] - b.q[at]).abs();
                if dof.velocity_unit == "rad/s" {
                    apart %= TAU;
                    apart = apart.min(TAU - apart);
                }
                worst = larger(worst, apart);
            }
        }
        worst
    };
    let mut found: Vec<(f64, Assembled)> = Vec::new();
    for seed in 0..=GUESSES {
        let mut start = guess.clone();
        if seed > 0 {
            let random = State::random(&model, seed);
            for (k, position) in positions.iter().enumerate() {
                if let (Some(at), false) = (position, held.contains(&k)) {
                    start.q[*at] = random.q[*at];
                }
            }
        }
        // a guess that does not converge is skipped
        let Ok(assembled) = chain.assemble_from(time, &start, held) else {
            continue;
        };
        let known = found
            .iter()
            .any(|(_, other)| distance(&other.state, &assembled.state) < 1e-6);
        if !known {
            found.push((distance(&assembled.state, guess), assembled));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count = found.len();
    match found.into_iter().nth(wanted - 1) {
        Some((_, assembled)) => Ok(assembled),
        None => Err(Error::new(
            ErrorKind::Input,
            format!("branch {wanted} was not found: {GUESSES} random guesses lead to {count}"),
        )
        .hint(match count {
            0 => "the loops cannot be closed with the held freedoms",
            _ => "hold as many freedoms as the mechanism has (--hold), so that each branch is a single position",
        })),
    }
}

/// Numbers of the freedoms with these names; the name of a joint stands for all of its freedoms.
pub fn named_freedoms(model: &Model, names: &[String], option: &str) -> Result<Vec<usize>> {
    let dofs = &model.tree().dofs;
    let mut held = Vec::new();
    for name in names {
        let of_joint = format!("{name}.");
        let before = held.len();
        for (k, dof) in dofs.iter().enumerate() {
            if dof.name == *name || dof.name.starts_with(&of_joint) {
                held.push(k);
            }
        }
        if held.len() == before {
            let known = || dofs.iter().map(|dof| dof.name.as_str());
            let hint = match names::nearest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the freedoms are {}", names::first_few(known())),
            };
            return Err(Error::new(
                ErrorKind::Input,
                format!("{option}: `{}` has no freedom `{name}`", model.name()),
            )
            .hint(hint));
        }
    }
    Ok(held)
}

/// Rows, independent rows and freedoms in one line.
pub fn count_line(assembled: [usize; 2], freedoms: usize) -> String {
    let [rows, rank] = assembled;
    let dependent = match rows - rank {
        0 => String::from("all independent"),
        1 => format!("{rank} independent, 1 depends on them"),
        n => format!("{rank} independent, {n} depend on them"),
    };
    format!(
        "{}, {dependent}; {} left",
        counted(rows, "constraint row", "constraint rows"),
        counted(freedoms, "freedom", "freedoms")
    )
}

fn state_table(model: &Model, situation: &Situation) -> String {
    let dofs = &model.tree().dofs;
    let q = position_of_freedom(model)
        .into_iter()
        .map(|position| position.map(|k| situation.state.q[k]));
    Table::new()
        .text("freedom", dofs.iter().map(|dof| dof.name.clone()))
        .numbers("q", q)
        .numbers("v", situation.state.v.iter().map(|&v| Some(v)))
        .text("in", dofs.iter().map(|dof| dof.velocity_unit))
        .render()
}

fn to_text(model: &Model, found: &[Found]) -> String {
    let mut text = format!(
        "assembly: a closed state near the guess\n{}\n",
        one_line(model)
    );
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}", index + 1, found.len());
        }
        text += &format!("\n{}", state_table(model, &one.situation));
        text += &quaternion_lines(model, &one.situation);
        let Assembled {
            iterations,
            residuals: [position, velocity],
            rows,
            freedoms,
            ..
        } = one.assembled;
        text += &format!("\n  {}\n", count_line(rows, freedoms));
        text += &format!(
            "  closed after {} to {} m or rad, velocities to {} m/s or rad/s\n",
            counted(iterations, "iteration", "iterations"),
            rough(position),
            rough(velocity)
        );
        text += &format!("  moved {}\n", one.moved.words());
        match one.singular_values.as_deref() {
            Some(&[largest, .., smallest]) => {
                text += &format!(
                    "  independent rows: condition {} (singular values {} to {})\n",
                    rough(largest / smallest),
                    rough(largest),
                    rough(smallest)
                );
            }
            Some(_) => {}
            None => {
                text += &format!(
                    "  singular values left out: they cost O(n m²) (more than {DENSE_ROWS} rows)\n"
                );
            }
        }
    }
    text
}

fn to_json(model: &Model, found: &[Found]) -> Value {
    let states: Value = found
        .iter()
        .map(|one| {
            let mut state = situation::to_json(&one.situation);
            let [rows, rank] = one.assembled.rows;
            state.insert(
                "checks".into(),
                json!({
                    "assembly_moved": one.moved.to_json(),
                    "iterations": one.assembled.iterations,
                    "position_residual": one.assembled.residuals[0],
                    "velocity_residual": one.assembled.residuals[1],
                    "rows": rows,
                    "rank": rank,
                    "freedoms": one.assembled.freedoms,
                    "singular_values": one.singular_values.as_deref().map(json::numbers),
                }),
            );
            Value::Object(state)
        })
        .collect();
    json!({ "format": "catena-assemble/1", "model": model.name(), "states": states })
}
