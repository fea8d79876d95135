//! The `catena` program: rigid multibody dynamics on the command line.

mod commands;
mod coordinates;
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

use std::process::ExitCode;

fn main() -> ExitCode {
    outcome::finish(program::run)
}
