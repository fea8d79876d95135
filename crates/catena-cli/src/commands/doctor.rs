//! `catena doctor MODEL`: freedoms by counting and by rank, dependent rows, indeterminate loads, and what to change.

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::{counted, rough, six};
use crate::outcome::Outcome;
use crate::situation::Moved;
use crate::state_argument::StateArgument;
use crate::table::Table;
use crate::{json, limits, situation};
use catena::Model;
use catena::closed_chain::SharedFriction;
use catena::error::Result;
use catena::spatial::Vec3;
use catena_mechanism::doctor::{Change, Diagnosis, Position, diagnose};
use clap::Args;
use serde_json::{Value, json};

/// Singular values of the rows below this fraction of the largest are near a singular position.
const NEAR: f64 = 1e-3;

/// A position that assembly moves by more than this, m or rad, counts as a different one.
const MOVED: f64 = 1e-9;

/// Maximum number of lines of a list; `--json` has them all.
const MOST_LINES: usize = 12;

/// Maximum number of rows of constraints: their dense matrix takes 800 MB.
const MOST_ROWS: usize = 10_000;

/// Which model, where, and how many other positions.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,

    /// Number of other closed positions to examine
    #[arg(long, value_name = "N", default_value_t = 5)]
    positions: usize,

    /// Seed of the other positions
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Examines the mechanism at each of the states, closed first.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    if arguments.positions > 0 {
        limits::count("--positions", arguments.positions as u64, 10_000)?;
    }
    let model = arguments.model.whole_model()?;
    limits::rows(&model, "doctor", 1, MOST_ROWS)?;
    let mut found = Vec::new();
    for mut situation in arguments.state.situations(&model, None, None)? {
        let diagnosis = diagnose(
            &model,
            situation.time.unwrap_or(0.0),
            &situation.state,
            arguments.positions,
            arguments.seed,
        )?;
        let moved = Moved::between(&situation.state, &diagnosis.state);
        situation.state = diagnosis.state.clone();
        found.push((situation, moved.positions, diagnosis));
    }
    Ok(Outcome::text(match as_json {
        true => json::text(&json!({
            "format": "catena-doctor/1",
            "model": model.name(),
            "states": found
                .iter()
                .map(|(situation, moved, diagnosis)| {
                    let mut state = situation::to_json(situation);
                    state.insert("positions_moved".into(), (*moved).into());
                    state.insert("diagnosis".into(), to_json(&model, diagnosis));
                    Value::Object(state)
                })
                .collect::<Value>(),
        })),
        false => {
            let mut text = format!("diagnosis of the mechanism\n{}\n", one_line(&model));
            for (index, (_, moved, diagnosis)) in found.iter().enumerate() {
                if found.len() > 1 {
                    text += &format!("\nstate {} of {}", index + 1, found.len());
                }
                text.push('\n');
                if *moved > MOVED {
                    text += &format!(
                        "  state           a closed position near the one given; positions moved by up to {} m or rad\n",
                        rough(*moved)
                    );
                }
                text += &to_text(&model, diagnosis);
            }
            text
        }
    }))
}

fn freedoms(count: i64) -> String {
    match count {
        1 => "1 freedom".into(),
        n => format!("{n} freedoms"),
    }
}

fn to_text(model: &Model, diagnosis: &Diagnosis) -> String {
    let mut text = format!(
        "  by counting     {} of the tree − {} = {}\n",
        diagnosis.tree_freedoms,
        counted(diagnosis.rows, "row", "rows"),
        freedoms(diagnosis.counted)
    );
    let Position { rank, .. } = diagnosis.here;
    text += &format!(
        "  here            {rank} of {} independent: {}\n",
        counted(diagnosis.rows, "row", "rows"),
        freedoms(diagnosis.here.freedoms as i64)
    );
    if diagnosis.velocity_rows > 0 {
        text += &format!(
            "  of position     {}: {} {} velocities and not positions\n",
            freedoms(diagnosis.here.position_freedoms as i64),
            counted(diagnosis.velocity_rows, "row", "rows"),
            match diagnosis.velocity_rows {
                1 => "limits",
                _ => "limit",
            }
        );
    }
    if !diagnosis.elsewhere.is_empty() {
        let mut ranks: Vec<usize> = diagnosis.elsewhere.iter().map(|p| p.freedoms).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let list: Vec<String> = ranks.iter().map(usize::to_string).collect();
        text += &format!(
            "  elsewhere       {} at {}\n",
            match ranks[..] {
                [one] => freedoms(one as i64),
                _ => format!("{} freedoms", list.join(" or ")),
            },
            counted(
                diagnosis.elsewhere.len(),
                "other closed position",
                "other closed positions"
            )
        );
    }
    if model.constraints().is_empty() {
        return text + "  A tree without constraints: there are no dependent rows.\n";
    }
    text += &format!("  position        {}\n", position(diagnosis));
    if let Some(found) = &diagnosis.contradiction {
        let names: Vec<String> = found.drivers.iter().map(|d| format!("`{d}`")).collect();
        text += &format!(
            "  drivers         {} cannot be followed here: {} m/s or rad/s contradict the other constraints\n",
            names.join(", "),
            rough(found.rate)
        );
    }
    for shared in diagnosis.friction.iter().take(MOST_LINES) {
        text += &format!("  dry friction    {}\n", friction(model, shared));
    }
    text += &more(diagnosis.friction.len(), "set", "sets");
    text += &undetermined(diagnosis);
    let redundant = diagnosis.redundant();
    text += "\n";
    if redundant == 0 && diagnosis.here.rank == diagnosis.rows {
        text += "  All rows are independent: every load is determined.\n";
    } else if redundant == 0 {
        text += "  Rows are dependent at this position only.\n";
    } else {
        text += &format!(
            "  {} dependent at all positions examined.\n",
            match redundant {
                1 => "1 row is".to_string(),
                n => format!("{n} rows are"),
            }
        );
        text += &dependent(diagnosis);
        for change in diagnosis.changes.iter().take(MOST_LINES) {
            text += &format!("  → {}\n", advice(change));
        }
        text += &more(diagnosis.changes.len(), "change", "changes");
        text += match (diagnosis.changes.is_empty(), diagnosis.left) {
            (true, _) => "  No joint can be made weaker without a change of the motion.\n".into(),
            (_, 0) => {
                "  With these changes every load is determined, and the motion is unchanged.\n"
                    .into()
            }
            (_, left) => format!(
                "  {} left that no weaker joint removes.\n",
                counted(left, "dependent row is", "dependent rows are")
            ),
        }
        .as_str();
    }
    text
}

/// Why the friction of these freedoms is indeterminate.
fn friction(model: &Model, shared: &SharedFriction) -> String {
    let dofs = &model.tree().dofs;
    let names: Vec<String> = shared
        .freedoms
        .iter()
        .map(|&k| format!("`{}`", dofs[k].name))
        .collect();
    let names = names.join(", ");
    match (shared.motions, shared.freedoms.len()) {
        (0, 1) => format!("of {names} is indeterminate: the constraints alone fix that freedom"),
        (motions, _) => format!(
            "of {names} is indeterminate at rest: together they block {}, and how they share the load is unknown",
            counted(motions, "motion", "motions")
        ),
    }
}

/// The indeterminate loads, with their minimum-norm solution.
fn undetermined(diagnosis: &Diagnosis) -> String {
    let loads = &diagnosis.undetermined;
    if loads.is_empty() {
        return String::new();
    }
    let shown = &loads[..loads.len().min(MOST_LINES)];
    let load = |part: fn(&catena::spatial::Force<f64>) -> Vec3<f64>| {
        shown.iter().map(move |u| match &u.shortest {
            Some(load) => vector(part(load)),
            None => "–".into(),
        })
    };
    format!(
        "\n  loads that the motion does not determine here: indeterminate forces and torques, and the minimum-norm loads when the\n  \
         mechanism starts from rest (N, N·m, on the child, world axes)\n\n{}{}",
        Table::new()
            .text("joint", shown.iter().map(|u| u.name.clone()))
            .text("type", shown.iter().map(|u| u.kind))
            .text("forces", shown.iter().map(|u| directions(&u.forces)))
            .text("torques", shown.iter().map(|u| directions(&u.torques)))
            .text("shortest force", load(|f| f.force))
            .text("shortest torque", load(|f| f.moment))
            .render(),
        more(loads.len(), "joint", "joints"),
    )
}

/// A set of directions in words: along a vector, across one, or all.
fn directions(all: &[Vec3<f64>]) -> String {
    match all {
        [] => "–".into(),
        [one] => format!("along {}", unit(*one)),
        [one, other] => format!("across {}", unit(one.cross(*other))),
        _ => "all".into(),
    }
}

/// A direction, with a sign that does not depend on how it was computed.
fn unit(x: Vec3<f64>) -> String {
    let x = x.to_array().map(|x| if x.abs() < 1e-9 { 0.0 } else { x });
    let flip = x.iter().find(|x| **x != 0.0).is_some_and(|x| *x < 0.0);
    let x = x.map(|x| if flip && x != 0.0 { -x } else { x });
    format!(
        "({})",
        x.map(|x| format!("{}", (x * 1e4).round() / 1e4)).join(", ")
    )
}

fn vector(x: Vec3<f64>) -> String {
    let size = x.norm();
    let x = x.to_array().map(|x| {
        if x.abs() < 1e-9 * (1.0 + size) {
            0.0
        } else {
            x
        }
    });
    format!("({})", x.map(six).join(", "))
}

/// The dependent rows, constraint by constraint.
fn dependent(diagnosis: &Diagnosis) -> String {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for row in &diagnosis.dependent {
        let name = format!("{} `{}`", row.kind, row.name);
        match lines.last_mut() {
            Some((last, words)) if *last == name => words.push(&row.words),
            _ => lines.push((name, vec![&row.words])),
        }
    }
    let mut text = String::new();
    for (name, words) in lines.iter().take(MOST_LINES) {
        text += &format!("    {name}: {}\n", words.join(", "));
    }
    text + &more(lines.len(), "constraint", "constraints")
}

fn more(count: usize, one: &str, many: &str) -> String {
    match count.saturating_sub(MOST_LINES) {
        0 => String::new(),
        left => format!("    … and {}; --json shows all\n", counted(left, one, many)),
    }
}

fn position(diagnosis: &Diagnosis) -> String {
    let smallest = format!(
        "smallest singular value {} of the largest",
        rough(diagnosis.here.smallest)
    );
    if diagnosis.is_singular() {
        format!(
            "singular: {} here, {} elsewhere",
            freedoms(diagnosis.here.freedoms as i64),
            diagnosis.freedoms()
        )
    } else if diagnosis.here.smallest < NEAR {
        format!("near a singular one: {smallest}")
    } else {
        format!("regular: {smallest}")
    }
}

fn advice(change: &Change) -> String {
    let joint = match change.closes {
        true => format!("closing {} `{}`", change.from, change.name),
        false => format!("{} `{}`", change.from, change.name),
    };
    let rows = counted(change.removes, "dependent row", "dependent rows");
    match change.to {
        "none" => format!("{joint} left out removes {rows}"),
        to => format!("{joint} → {to} removes {rows}"),
    }
}

fn to_json(model: &Model, diagnosis: &Diagnosis) -> Value {
    let at = |position: &Position| {
        json!({
            "rank": position.rank,
            "freedoms": position.freedoms,
            "position_freedoms": position.position_freedoms,
            "smallest_singular_value": position.smallest,
        })
    };
    json!({
        "tree_freedoms": diagnosis.tree_freedoms,
        "rows": diagnosis.rows,
        "velocity_rows": diagnosis.velocity_rows,
        "freedoms_by_counting": diagnosis.counted,
        "freedoms": diagnosis.freedoms(),
        "redundant_rows": diagnosis.redundant(),
        "singular": diagnosis.is_singular(),
        "here": at(&diagnosis.here),
        "elsewhere": diagnosis.elsewhere.iter().map(at).collect::<Value>(),
        "contradiction": diagnosis.contradiction.as_ref().map(|c| json!({
            "drivers": c.drivers, "rate": c.rate,
        })),
        "shared_friction": diagnosis.friction.iter().map(|shared| json!({
            "freedoms": shared.freedoms.iter().map(|&k| model.tree().dofs[k].name.as_str()).collect::<Vec<_>>(),
            "motions": shared.motions,
        })).collect::<Value>(),
        "dependent": diagnosis.dependent.iter().map(|row| json!({
            "constraint": row.name, "type": row.kind, "row": row.row, "carries": row.words,
        })).collect::<Value>(),
        "undetermined": diagnosis.undetermined.iter().map(|u| json!({
            "joint": u.name, "type": u.kind,
            "forces": u.forces.iter().map(|f| json::vector(*f)).collect::<Value>(),
            "torques": u.torques.iter().map(|f| json::vector(*f)).collect::<Value>(),
            "shortest": u.shortest.map(|load| json!({
                "force": json::vector(load.force), "torque": json::vector(load.moment),
            })),
        })).collect::<Value>(),
        "changes": diagnosis.changes.iter().map(|c| json!({
            "joint": c.name, "closes_loop": c.closes, "from": c.from, "to": c.to, "removes": c.removes,
        })).collect::<Value>(),
        "dependent_rows_left": diagnosis.left,
    })
}
