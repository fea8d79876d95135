//! `catena export-case MODEL`: a conformance case that any engine can be compared with.

use crate::model_argument::ModelArgument;
use crate::outcome::Outcome;
use crate::{limits, output};
use catena::error::Result;
use clap::Args;
use std::path::PathBuf;

/// Larger models make unwieldy cases.
const MOST_FREEDOMS: usize = 3000;

/// Which model, how many states, and where to.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,

    /// Number of random states
    #[arg(long, value_name = "N", default_value_t = 3)]
    states: usize,

    /// Seed of the random states
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Write to this file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the case.
pub fn run(arguments: &Arguments) -> Result<Outcome> {
    limits::count("--states", arguments.states as u64, 10_000)?;
    let model = arguments.model.whole_model()?;
    limits::freedoms(&model, "export-case", MOST_FREEDOMS)?;
    limits::memory("states", arguments.states, 50 * model.body_count())?;
    let case =
        catena_conformance::export_case(model.name(), &model, arguments.states, arguments.seed)?;
    match &arguments.output {
        None => Ok(Outcome::text(case)),
        Some(path) => {
            output::write_file(path, &case)?;
            Ok(Outcome::default().note(format!("wrote {}", path.display())))
        }
    }
}
