//! Texts of TOML and JSON as trees of values with their lines, and the errors that point at them.

pub use crate::access::{Item, Source, Table};
pub use crate::json_tree::parse as parse_json;
pub use crate::lines::Lines;
pub use crate::nearest::advice;
pub use crate::toml_tree::parse as parse_toml;
pub use crate::tree::{Entry, Node, Value};

use crate::files;
use catena::error::{Error, ErrorKind, Place, Result};
use std::io;
use std::path::Path;

/// The text of a file; the name appears in messages.
pub fn read_text(path: &Path, file_name: &str) -> Result<String> {
    let bytes = files::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            file_error(ErrorKind::File, file_name, "the file does not exist")
        }
        _ => file_error(
            ErrorKind::File,
            file_name,
            format!("the file cannot be read: {error}"),
        ),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Error::new(ErrorKind::Syntax, "the file is not UTF-8 text")
            .at(Place::new(file_name, line))
            .hint("save it as UTF-8")
    })
}

/// An error of a file as a whole.
pub fn file_error(kind: ErrorKind, file_name: &str, message: impl Into<String>) -> Error {
    let place = Place {
        file: Some(file_name.into()),
        line: None,
    };
    Error::new(kind, message).at(place)
}
