//! `catena man [COMMAND]`: manual pages.

use crate::outcome::Outcome;
use crate::{names, program};
use catena::error::{Error, ErrorKind, Result};
use clap::Args;

/// Of which command.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The command; the whole program if left out
    command: Option<String>,
}

/// Prints the page.
pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut program = program::description();
    program.build();
    let described = match &arguments.command {
        None => program,
        Some(name) => find(&program, name)?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(described)
        .render(&mut page)
        .map_err(|error| Error::new(ErrorKind::File, error.to_string()))?;
    Ok(Outcome::text(String::from_utf8_lossy(&page)))
}

fn find(program: &clap::Command, name: &str) -> Result<clap::Command> {
    let Some(command) = program.find_subcommand(name) else {
        let known = || program.get_subcommands().map(clap::Command::get_name);
        let hint = match names::nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "the commands are {}",
                known().collect::<Vec<_>>().join(", ")
            ),
        };
        return Err(
            Error::new(ErrorKind::Input, format!("there is no command `{name}`")).hint(hint),
        );
    };
    Ok(command.clone())
}
