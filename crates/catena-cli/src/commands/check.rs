//! `catena check MODEL`: every law and every pair of methods, on random states.

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::{counted, residual, rough};
use crate::outcome::Outcome;
use crate::table::Table;
use crate::{json, limits};
use catena::error::{Error, ErrorKind, Result};
use catena::laws::{self, DECIDED, DENSE_LIMIT, LawResult, Verdict};
use catena::{Dynamics, Model, State};
use clap::Args;
use serde_json::{Value, json};

/// Which model, and how thoroughly.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,

    /// Number of random states
    #[arg(long, value_name = "N", default_value_t = 10)]
    states: usize,

    /// Seed of the random states
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Runs the laws.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    limits::count("--states", arguments.states as u64, 1_000_000)?;
    let model = arguments.model.whole_model()?;
    let mut laws = laws::run(&model, arguments.states, arguments.seed);
    laws.extend(catena_mechanism::laws::run(
        &model,
        arguments.states,
        arguments.seed,
    ));
    let undecided = laws.iter().filter(|law| is(law, Verdict::Undecided));
    let undecided = undecided.count();
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&json!({
            "format": "catena-check/1",
            "model": model.name(),
            "states": arguments.states,
            "seed": arguments.seed,
            "holds": laws.iter().all(LawResult::holds),
            "undecided": undecided,
            "laws": laws.iter().map(law_json).collect::<Value>(),
        })),
        false => {
            let mut text = format!(
                "laws and pairs of methods at {} (seed {})\n{}\n\n{}",
                counted(arguments.states, "random state", "random states"),
                arguments.seed,
                one_line(&model),
                law_table(&laws)
            );
            if !model.constraints().is_empty() {
                text += "\n  the laws of trees hold for the tree with its loops and couplings open; those of closed chains come last, at closed states\n";
            }
            if model.nv() > DENSE_LIMIT {
                text += &format!(
                    "\n  laws that need dense matrices are left out: more than {DENSE_LIMIT} freedoms\n"
                );
            }
            if undecided > 0 {
                text += &format!(
                    "\n  undecided: too ill-conditioned for double precision: the inertia matrix, or large forces that cancel, allow a residual above {};\n  \
                     `catena forward` and `catena evaluate` print the error of the accelerations at a state\n",
                    rough(DECIDED)
                );
            }
            text
        }
    });
    if laws.iter().any(|law| !law.holds())
        && let Some(error) = immobile(&model, arguments.seed)
    {
        outcome.failures.push(error.message().to_string());
    }
    for law in laws.iter().filter(|law| is(law, Verdict::Fails)) {
        outcome.failures.push(format!(
            "{} ({}): {}, allowed {}",
            law.law,
            law.routes,
            match law.residual.is_finite() {
                true => format!("residual {}", rough(law.residual)),
                false => "no result".into(),
            },
            rough(law.tolerance)
        ));
    }
    if undecided > 0 {
        outcome.failures.push(format!(
            "{} of {} undecided: the model is too ill-conditioned to decide in double precision",
            undecided,
            counted(laws.len(), "law is", "laws are")
        ));
    }
    Ok(outcome)
}

fn is(law: &LawResult, verdict: Verdict) -> bool {
    law.verdict() == verdict
}

fn word(law: &LawResult) -> &'static str {
    match law.verdict() {
        Verdict::Holds => "ok",
        Verdict::Undecided => "undecided",
        Verdict::Fails => "FAILS",
    }
}

/// Why the tree has no accelerations, if so: the freedom without inertia.
fn immobile(model: &Model, seed: u64) -> Option<Error> {
    let tree = model.clone().open_tree();
    let state = State::random(&tree, seed);
    let found = Dynamics::new(&tree).factorize(&state).err();
    found.filter(|error| error.kind() == ErrorKind::Singular)
}

fn law_table(laws: &[LawResult]) -> String {
    Table::new()
        .prose("law", laws.iter().map(|law| law.law))
        .prose("routes", laws.iter().map(|law| law.routes))
        .text("residual", laws.iter().map(|law| residual(law.residual)))
        .text("allowed", laws.iter().map(|law| rough(law.tolerance)))
        .text("", laws.iter().map(word))
        .wrapped(100)
        .render()
}

fn law_json(law: &LawResult) -> Value {
    json!({
        "law": law.law,
        "routes": law.routes,
        "residual": law.residual,
        "tolerance": law.tolerance,
        "holds": law.holds(),
        "verdict": word(law).to_lowercase(),
    })
}
