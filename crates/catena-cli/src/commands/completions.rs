//! `catena completions SHELL`: a script that completes commands and options.

use crate::outcome::Outcome;
use crate::program;
use catena::error::Result;
use clap::Args;
use clap_complete::Shell;

/// For which shell.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut program::description(),
        "catena",
        &mut script,
    );
    Ok(Outcome::text(String::from_utf8_lossy(&script)))
}
