//! `catena convert MODEL`: a model in another format.

use crate::model_argument::ModelArgument;
use crate::outcome::Outcome;
use crate::output;
use catena::ModelBuilder;
use catena::error::{Error, ErrorKind, Place, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// Which model, and where to.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,

    /// Write to this file: .toml or .json, .urdf, .sdf, or .xml for MJCF [default: TOML to stdout; JSON with --json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the model.
pub fn run(arguments: &Arguments, json: bool) -> Result<Outcome> {
    let write: Writer = match &arguments.output {
        Some(path) => writer(path)?,
        None if json => |builder| Ok(catena_io::to_json(builder)),
        None => |builder| Ok(catena_io::to_toml(builder)),
    };
    let text = write(&arguments.model.load()?.builder)?;
    match &arguments.output {
        None => Ok(Outcome::text(text)),
        Some(path) => {
            output::write_file(path, &text)?;
            Ok(Outcome::default().note(format!("wrote {}", path.display())))
        }
    }
}

/// Writes the text of a file from a model.
type Writer = fn(&ModelBuilder) -> Result<String>;

/// The format given by the file name.
fn writer(path: &Path) -> Result<Writer> {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    Ok(match extension.as_str() {
        "json" => |builder| Ok(catena_io::to_json(builder)),
        "toml" => |builder| Ok(catena_io::to_toml(builder)),
        "urdf" => catena_io::to_urdf,
        "xml" | "mjcf" => catena_io::to_mjcf,
        "sdf" => catena_io::to_sdf,
        _ => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "models are written as .toml, .json, .urdf, .sdf or .xml (MJCF)",
            )
            .at(Place {
                file: Some(path.display().to_string().into()),
                line: None,
            }));
        }
    })
}
