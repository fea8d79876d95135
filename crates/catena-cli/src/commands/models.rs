//! `catena models`: the embedded models.

use crate::json;
use crate::outcome::Outcome;
use crate::table::Table;
use catena::model::embedded::NAMES;
use serde_json::{Value, json};

/// Lists the embedded models.
pub fn run(as_json: bool) -> Outcome {
    if as_json {
        let models: Value = NAMES
            .iter()
            .map(|(name, description)| json!({ "name": name, "description": description }))
            .collect();
        return Outcome::text(json::text(
            &json!({ "format": "catena-models/1", "models": models }),
        ));
    }
    let table = Table::new()
        .text("model", NAMES.iter().map(|(name, _)| *name))
        .prose(
            "what it is",
            NAMES.iter().map(|(_, description)| *description),
        )
        .wrapped(80);
    Outcome::text(format!(
        "{}\n  N and SEED are numbers: pendulum-50, chain-7, random-30-1.\n",
        table.render()
    ))
}
