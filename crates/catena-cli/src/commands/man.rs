//! `catena man [COMMAND]`: manual pages, for `man` or in Markdown.

use crate::outcome::Outcome;
use crate::{names, program};
use catena::error::{Error, ErrorKind, Result};
use clap::{Arg, Args};
use std::fmt::Write;

/// Of which command.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The command; the whole program if left out
    command: Option<String>,

    /// In Markdown, as in the manual: arguments and options of a command, or the list of commands
    #[arg(long)]
    markdown: bool,
}

/// Prints the page.
pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut program = program::description();
    program.build();
    let described = match &arguments.command {
        None => program,
        Some(name) => find(&program, name)?,
    };
    if arguments.markdown {
        return Ok(Outcome::text(match arguments.command {
            None => markdown_list(&described),
            Some(_) => markdown_options(&described),
        }));
    }
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

/// The commands, as a table.
fn markdown_list(program: &clap::Command) -> String {
    let mut table = String::from("| command | what it does |\n|---|---|\n");
    let commands = program.get_subcommands();
    for command in commands.filter(|command| command.get_name() != "help") {
        let about = command.get_about().map(ToString::to_string);
        let about = in_cell(&about.unwrap_or_default());
        // writing to a string cannot fail
        let _ = writeln!(table, "| `{}` | {about} |", command.get_name());
    }
    table
}

/// How a command is called, and tables of its arguments and options, one for each heading. Options of every command are left out.
fn markdown_options(command: &clap::Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let mut text = format!("```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let is_own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    let own: Vec<&Arg> = command.get_arguments().filter(is_own).collect();
    let mut headings: Vec<&str> = Vec::new();
    for arg in &own {
        let heading = heading(arg);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for part in headings {
        let _ = write!(text, "\n| {part} | |\n|---|---|\n");
        for arg in own.iter().filter(|arg| heading(arg) == part) {
            let _ = writeln!(text, "| `{}` | {} |", spelling(arg), meaning(arg));
        }
    }
    text
}

fn heading(arg: &Arg) -> &str {
    match (arg.get_help_heading(), arg.is_positional()) {
        (Some(heading), _) => heading,
        (None, true) => "arguments",
        (None, false) => "options",
    }
}

/// An option as it is typed.
fn spelling(arg: &Arg) -> String {
    let long = arg.to_string().replace('|', "\\|");
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(_)) => format!("-{short}, {long}"),
        _ => long,
    }
}

/// Meaning of an option, its possible values and its default.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help());
    let mut text = in_cell(&help.map(ToString::to_string).unwrap_or_default());
    if !arg.get_action().takes_values() {
        return text;
    }
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}`: {}", value.get_name(), in_cell(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        let _ = write!(text, " ({})", values.join("; "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().collect();
    if let [default] = defaults[..] {
        let _ = write!(text, " \\[default: `{}`\\]", default.to_string_lossy());
    }
    text
}

/// Text for a cell of a table, on one line, with Markdown escaped. Words between backticks are unchanged.
fn in_cell(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut is_code = false;
    let mut cell = String::new();
    for c in text.chars() {
        is_code ^= c == '`';
        if c == '|' || (!is_code && "<>[]*_".contains(c)) {
            cell.push('\\');
        }
        cell.push(c);
    }
    cell
}
