//! `catena convert MODEL`: a model in catena's own format.

use crate::model_argument::ModelArgument;
use crate::outcome::Outcome;
use crate::output;
use catena::error::{Error, ErrorKind, Place, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// Which model, and where to.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,

    /// Write to this file, .toml or .json [default: TOML to stdout; JSON with --json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the model.
pub fn run(arguments: &Arguments, json: bool) -> Result<Outcome> {
    let json = match &arguments.output {
        Some(path) => is_json(path)?,
        None => json,
    };
    let builder = arguments.model.load()?.builder;
    let text = match json {
        true => catena_io::to_json(&builder),
        false => catena_io::to_toml(&builder),
    };
    match &arguments.output {
        None => Ok(Outcome::text(text)),
        Some(path) => {
            output::write_file(path, &text)?;
            Ok(Outcome::default().note(format!("wrote {}", path.display())))
        }
    }
}

fn is_json(path: &Path) -> Result<bool> {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    match extension.as_str() {
        "json" => Ok(true),
        "toml" => Ok(false),
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            "models are written as .toml or .json",
        )
        .at(Place {
            file: Some(path.display().to_string().into()),
            line: None,
        })),
    }
}
