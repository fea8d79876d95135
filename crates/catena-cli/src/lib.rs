//! The `catena` program as a function of its arguments: for the program itself, and for the Python package, which includes it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod commands;
mod coordinates;
mod expression;
mod formulation_argument;
mod interrupt;
mod json;
mod limits;
mod model_argument;
mod names;
mod number;
mod outcome;
mod output;
mod plot;
mod program;
mod referee;
mod scene_argument;
mod situation;
mod state_argument;
mod state_file;
mod table;
mod trajectory_argument;
mod words;

use catena::error::Result;
use std::ffi::OsString;

/// The experiment of a study file, for other users that compute its samples.
pub use commands::sweep::{Engine, Function, Shipment, Simulations};

/// Motions of the base, as `simulate --base` takes them.
pub use commands::simulate::base_motion;

/// The optimum of a study file, for other users.
pub use commands::optimize::search;

/// Contents of a run file, for other writers: its columns, its audit with the events, and how its numbers were computed.
pub use commands::simulate::{Chosen, Layout, arithmetic, stops_description, stored};

/// Runs the program with these arguments, its own name first: prints the results and returns the exit code.
///
/// Invalid arguments, `--help` and `--version` end the process at once.
pub fn run(arguments: Vec<OsString>) -> u8 {
    program::remember(arguments);
    interrupt::survive_size_limit();
    outcome::finish(program::run)
}

/// The output of a command, given as words without the program's own name, or its error. It runs within this process and writes
/// nothing to stdout and stderr.
pub fn answer(words: &[String]) -> Result<String> {
    let outcome = output::quietly(|| program::run_words(words))?;
    let text = outcome.text.clone();
    outcome.expect_success()?;
    Ok(text)
}
