//! `catena derivatives` on a model with constraints: how accelerations and multipliers of the closed mechanism change.

use crate::commands::info::one_line;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation};
use crate::{json, table};
use catena::closed_chain::{ClosedChain, ClosedDerivatives, Freedoms};
use catena::error::Result;
use catena::residual::{larger, largest, relative};
use catena::spatial::Force;
use catena::{Dynamics, Matrix, Model};
use serde_json::{Value, json};

/// Larger matrices are printed only as JSON.
const WIDE: usize = 12;
/// Degrees of freedom of the mechanism along which differences are taken.
const COMPARED: usize = 30;
/// Step of the differences, of fourth order: their error is its fourth power, round-off is divided by it.
const STEP: f64 = 1e-3;
/// Allowed difference, relative to the largest derivative, per unit of the condition of the constraints.
const ALLOWED: f64 = 1e-8;
/// However bad the condition, a larger difference is a disagreement.
const LARGEST: f64 = 1e-3;

struct Differentiated {
    situation: Situation,
    moved: Option<Moved>,
    found: ClosedDerivatives,
    rank: usize,
    /// Relative difference from differences along the freedoms of the mechanism, and how much is allowed.
    compared: [f64; 2],
}

/// Computes the derivatives; states that are not closed are assembled first.
pub fn run(model: &Model, situations: Vec<Situation>, as_json: bool) -> Result<Outcome> {
    let mut chain = ClosedChain::new(model);
    let mut dynamics = Dynamics::new(&model.clone().open_tree());
    let found = situations
        .into_iter()
        .map(|situation| differentiate(&mut chain, &mut dynamics, situation))
        .collect::<Result<Vec<Differentiated>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(model, &found)),
        false => to_text(model, &found),
    });
    for (index, one) in found.iter().enumerate() {
        let [difference, allowed] = one.compared;
        outcome.require(index, "differences disagree", difference, allowed);
    }
    Ok(outcome)
}

/// NaN is a disagreement.
fn agrees([difference, allowed]: [f64; 2]) -> bool {
    difference <= allowed
}

fn differentiate(
    chain: &mut ClosedChain,
    dynamics: &mut Dynamics,
    mut situation: Situation,
) -> Result<Differentiated> {
    let time = situation.time.unwrap_or(0.0);
    let moved = situation::close(chain, time, &mut situation)?;
    let external = situation.external(dynamics)?;
    let (rank, values) = chain.rank(time, &situation.state)?;
    let found = chain.derivatives(time, &situation.state, &situation.effort, &external)?;
    situation.acceleration.clone_from(&found.vdot);
    let condition = match rank.checked_sub(1) {
        Some(last) => values[0] / values[last],
        None => 1.0,
    };
    let freedoms = chain.freedoms(time, &situation.state)?;
    let difference = compare(chain, time, &situation, &external, &freedoms, &found)?;
    Ok(Differentiated {
        situation,
        moved,
        found,
        rank,
        compared: [difference, (ALLOWED * condition).clamp(ALLOWED, LARGEST)],
    })
}

/// Along each freedom of the mechanism, positions and then velocities are moved, and projected back onto the constraints: the
/// accelerations must change as the derivatives predict.
fn compare(
    chain: &mut ClosedChain,
    time: f64,
    situation: &Situation,
    external: &[Force<f64>],
    freedoms: &Freedoms,
    found: &ClosedDerivatives,
) -> Result<f64> {
    let model = chain.model().clone();
    let (state, tau) = (&situation.state, &situation.effort);
    let [by_q, by_v, by_tau] = &found.accelerations;
    let sizes = [by_q, by_v, by_tau].map(|matrix| largest(matrix.as_slice()));
    let size = sizes.into_iter().fold(1e-3, larger);
    let mut difference = 0.0;
    for k in 0..freedoms.independent.len().min(COMPARED) {
        let along: Vec<f64> = (0..model.nv()).map(|i| freedoms.basis[(i, k)]).collect();
        for of_q in [true, false] {
            let mut change = [(); 3].map(|()| vec![0.0; model.nv()]); // of q, v, v̇
            for (steps, weight) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
                let mut other = state.clone();
                let step: Vec<f64> = along.iter().map(|z| steps * STEP * z).collect();
                match of_q {
                    true => other.step(&model, &step),
                    false => other.v.iter_mut().zip(&step).for_each(|(v, d)| *v += d),
                }
                chain.project(time, &mut other)?;
                let accelerations = chain.forward(time, &other, tau, external)?.accelerations;
                let now: [&[f64]; 3] = [&state.change_to(&model, &other), &other.v, accelerations];
                for (change, now) in change.iter_mut().zip(now) {
                    for (sum, x) in change.iter_mut().zip(now) {
                        *sum += weight * x / (12.0 * STEP);
                    }
                }
            }
            let [q, v, a] = change;
            let mut expected = by_q.times(&q);
            for (expected, more) in expected.iter_mut().zip(by_v.times(&v)) {
                *expected += more;
            }
            let longest = larger(largest(&q), largest(&v)).max(1.0);
            difference = larger(difference, relative(&expected, &a, size * longest));
        }
    }
    // accelerations are linear in the efforts
    for k in 0..model.nv().min(COMPARED) {
        let mut more = tau.clone();
        more[k] += 1.0;
        let a = chain.forward(time, state, &more, external)?.accelerations;
        let change: Vec<f64> = a.iter().zip(&found.vdot).map(|(a, b)| a - b).collect();
        let column: Vec<f64> = (0..model.nv()).map(|i| by_tau[(i, k)]).collect();
        difference = larger(
            difference,
            relative(&change, &column, size.max(largest(&found.vdot))),
        );
    }
    Ok(difference)
}

/// Titles of the matrices and their keys: accelerations, then multipliers.
const TITLES: [(&str, &str); 6] = [
    ("∂v̇/∂q (rad/s² or m/s² per rad or m)", "a_q"),
    ("∂v̇/∂v (rad/s² or m/s² per rad/s or m/s)", "a_v"),
    ("∂v̇/∂τ (rad/s² or m/s² per N·m or N)", "a_tau"),
    ("∂λ/∂q", "multipliers_q"),
    ("∂λ/∂v", "multipliers_v"),
    ("∂λ/∂τ", "multipliers_tau"),
];

fn matrices(found: &ClosedDerivatives) -> impl Iterator<Item = &Matrix> {
    found.accelerations.iter().chain(&found.multipliers)
}

fn to_text(model: &Model, found: &[Differentiated]) -> String {
    let mut text = format!(
        "derivatives of forward dynamics of a closed chain: row, the acceleration or multiplier; column, the freedom\n{}\n",
        one_line(model)
    );
    let names: Vec<String> = model
        .freedoms()
        .iter()
        .map(|dof| dof.name.clone())
        .collect();
    let rows = row_names(model);
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        for (k, (matrix, (title, _))) in matrices(&one.found).zip(TITLES).enumerate() {
            let labels = if k < 3 { &names } else { &rows };
            let (height, width) = (matrix.rows(), matrix.columns());
            text += &match height.max(width) > WIDE {
                true => format!("\n{title}: {height}×{width}, see it with --json\n"),
                false => format!(
                    "\n{title}\n{}",
                    table::matrix(labels, &names, |i, j| matrix[(i, j)])
                ),
            };
        }
        if one.rank < model.constraint_rows() {
            text += &format!(
                "\n  {} on others: derivatives hold along changes that keep all loops closed.\n",
                counted(
                    model.constraint_rows() - one.rank,
                    "constraint row depends",
                    "constraint rows depend"
                )
            );
        }
        if let Some(moved) = one.moved {
            text += &format!("\n  {}\n", moved.sentence());
        }
        let [difference, allowed] = one.compared;
        text += &format!(
            "\n  check: differences along the mechanism's freedoms {}, relative difference {}, allowed {}\n",
            match agrees(one.compared) {
                true => "agree",
                false => "DISAGREE",
            },
            rough(difference),
            rough(allowed)
        );
    }
    text
}

/// The name of each constraint row.
pub fn row_names(model: &Model) -> Vec<String> {
    let constraints = model.constraints().iter();
    let rows = constraints.flat_map(|constraint| {
        let count = constraint.rows();
        (1..=count).map(move |k| match count {
            1 => constraint.name.to_string(),
            _ => format!("{} {k}", constraint.name),
        })
    });
    rows.collect()
}

fn to_json(model: &Model, found: &[Differentiated]) -> Value {
    let states: Value = found
        .iter()
        .map(|one| {
            let mut state = situation::to_json(&one.situation);
            let mut put = |key: &str, value: Value| state.insert(key.into(), value);
            put("a", json::numbers(&one.found.vdot));
            put("tau", json::numbers(&one.situation.effort));
            put("multipliers", json::numbers(&one.found.lambda));
            for (matrix, (_, key)) in matrices(&one.found).zip(TITLES) {
                put(key, json::matrix(matrix));
            }
            let [difference, allowed] = one.compared;
            put(
                "checks",
                json!({
                    "assembly_moved": one.moved.map(Moved::to_json),
                    "rows": model.constraint_rows(),
                    "rank": one.rank,
                    "differences": difference,
                    "allowed": allowed,
                }),
            );
            Value::Object(state)
        })
        .collect();
    json!({
        "format": "catena-derivatives/1",
        "model": model.name(),
        "of": "closed forward",
        "states": states,
    })
}
