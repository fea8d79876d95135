//! `catena algorithms`: the records of the algorithms.

use crate::json;
use crate::outcome::Outcome;
use crate::table::Table;
use catena::catalogue::{ALL, Card};
use serde_json::{Value, json};

/// Lists the algorithms.
pub fn run(as_json: bool) -> Outcome {
    if as_json {
        let cards: Value = ALL.iter().map(record).collect();
        return Outcome::text(json::text(
            &json!({ "format": "catena-algorithms/1", "algorithms": cards }),
        ));
    }
    let table = Table::new()
        .prose("algorithm", ALL.iter().map(|card| card.name))
        .prose("answers", ALL.iter().map(|card| card.question))
        .prose("cost", ALL.iter().map(|card| card.order))
        .prose("source", ALL.iter().map(|card| card.source))
        .wrapped(100);
    let files = Table::new()
        .text(
            "call (in catena::algorithm)",
            ALL.iter().map(|card| card.call),
        )
        .text(
            "file (below crates/catena/src)",
            ALL.iter().map(|card| card.file),
        );
    Outcome::text(format!("{}\n{}", table.render(), files.render()))
}

fn record(card: &Card) -> Value {
    json!({
        "name": card.name,
        "question": card.question,
        "call": card.call,
        "file": card.file,
        "order": card.order,
        "source": card.source,
    })
}
