//! `catena export-case MODEL`: a conformance case that any engine can be compared with.

use crate::model_argument::ModelArgument;
use crate::outcome::Outcome;
use crate::output;
use catena::error::{Error, ErrorKind, Result};
use catena_io::conformance;
use clap::Args;
use std::path::PathBuf;

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
    if arguments.states == 0 {
        return Err(Error::new(
            ErrorKind::Input,
            "--states: at least one state is needed",
        ));
    }
    let model = arguments.model.model()?;
    let case = conformance::export_case(model.name(), &model, arguments.states, arguments.seed)?;
    match &arguments.output {
        None => Ok(Outcome::text(case)),
        Some(path) => {
            output::write_file(path, &case)?;
            Ok(Outcome::default().note(format!("wrote {}", path.display())))
        }
    }
}
