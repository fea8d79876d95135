//! States in files: JSON (one state or many) and CSV (a state per row). docs/cli.md describes both.

mod base;
mod csv;
mod json;

pub use base::BaseRows;

use crate::output;
use crate::situation::Situation;
use catena::Model;
use catena::error::{Error, ErrorKind, Place, Result};
use catena_io::run::read_csv_text;
use std::path::Path;

/// Reads the states of a file; its extension tells the format.
pub fn read(path: &Path, model: &Model) -> Result<Vec<Situation>> {
    let text = text_of(path)?;
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    let situations = match extension.as_deref() {
        Some("json") => json::read(&text, path, model)?,
        Some("csv") => csv::read(&text, path, model)?,
        _ => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the format of the states cannot be told from the file's name",
            )
            .at(whole(path))
            .hint("supported are .json and .csv"));
        }
    };
    some(situations, path)
}

/// Reads a trajectory: a CSV file with time, positions, velocities and accelerations.
pub fn read_trajectory(path: &Path, model: &Model) -> Result<Vec<Situation>> {
    some(csv::read_trajectory(&text_of(path)?, path, model)?, path)
}

/// Reads efforts over time: a CSV file with time and efforts.
pub fn read_efforts(path: &Path, model: &Model) -> Result<Vec<Situation>> {
    some(csv::read_efforts(&text_of(path)?, path, model)?, path)
}

/// Reads the motion of a base: a CSV file with time, positions and quaternions.
pub fn read_base(path: &Path) -> Result<BaseRows> {
    base::read(&text_of(path)?, path)
}

fn some(situations: Vec<Situation>, path: &Path) -> Result<Vec<Situation>> {
    match situations.is_empty() {
        true => Err(Error::new(ErrorKind::Input, "the file has no states").at(whole(path))),
        false => Ok(situations),
    }
}

fn text_of(path: &Path) -> Result<String> {
    output::note_input(path);
    let text = std::fs::read_to_string(path).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "the file does not exist".to_string(),
            std::io::ErrorKind::InvalidData => "the file is not UTF-8 text".to_string(),
            _ => format!("the file cannot be read: {}", output::reason(&error)),
        };
        Error::new(ErrorKind::File, what).at(whole(path))
    })?;
    if !csv::is_run(&text) {
        return Ok(text);
    }
    let (text, dropped) = read_csv_text(path)?;
    if dropped > 0 {
        output::complain(&output::left_out(path, dropped));
    }
    Ok(text)
}

/// The file as a whole, as the place of an error.
pub fn whole(path: &Path) -> Place {
    Place {
        file: Some(path.display().to_string().into()),
        line: None,
    }
}

/// A line of the file.
fn line(path: &Path, line: usize) -> Place {
    Place::new(path.display().to_string(), line)
}
