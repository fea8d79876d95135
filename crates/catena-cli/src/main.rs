//! The `catena` program: rigid multibody dynamics on the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(catena_cli::run(std::env::args_os().collect()))
}
