//! The header of a run and its checkpoints as text, the same in all formats.

use super::storage::file_error;
use super::{Column, Header};
use catena::error::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

/// Name of the format in files of this version.
pub(super) const FORMAT: &str = "catena-run/2";

/// Rejects a header that could not be read back.
pub(super) fn check(header: &Header) -> Result<()> {
    let columns = &header.columns;
    if columns
        .first()
        .is_none_or(|first| first.name != "time" || first.unit != "s")
    {
        return Err(Error::new(
            ErrorKind::Input,
            "the first column of a run must be `time` with unit `s`",
        ));
    }
    let mut seen = HashSet::new();
    for (number, Column { name, unit }) in (1..).zip(columns) {
        let wrong = if name.is_empty() {
            "has no name"
        } else if name.chars().chain(unit.chars()).any(char::is_control) {
            "has a line break or another control character in its name or unit"
        } else if !seen.insert(name) {
            "has a name that another column has too"
        } else {
            continue;
        };
        return Err(Error::new(
            ErrorKind::Input,
            format!("column {number} of the run, {name:?}, {wrong}"),
        ));
    }
    Ok(())
}

/// The columns as one line of JSON.
pub(super) fn columns_to_text(columns: &[Column]) -> String {
    let list = columns
        .iter()
        .map(|column| json!({ "name": column.name, "unit": column.unit }))
        .collect();
    Value::Array(list).to_string()
}

/// The header from the texts in a file, checked.
pub(super) fn from_text(path: &Path, columns: &str, metadata: &str) -> Result<Header> {
    let damaged = |what: &str| {
        file_error(
            ErrorKind::Syntax,
            path,
            format!("the header of the run is damaged: {what}"),
        )
    };
    let columns: Value = serde_json::from_str(columns)
        .map_err(|error| damaged(&format!("its columns are not valid JSON ({error})")))?;
    let columns: Option<Vec<Column>> = columns.as_array().and_then(|list| {
        let column = |entry: &Value| {
            Some(Column::new(
                entry.get("name")?.as_str()?,
                entry.get("unit")?.as_str()?,
            ))
        };
        list.iter().map(column).collect()
    });
    let header = Header {
        columns: columns.ok_or_else(|| damaged("its columns have no names and units"))?,
        metadata: serde_json::from_str(metadata)
            .map_err(|error| damaged(&format!("its metadata are not valid JSON ({error})")))?,
    };
    check(&header).map_err(|error| damaged(error.message()))?;
    Ok(header)
}

/// Rejects a file of another version, and a file that is not a run.
pub(super) fn check_format(path: &Path, format: Option<&str>) -> Result<()> {
    match format {
        Some(FORMAT) => Ok(()),
        Some(other) if other.starts_with("catena-run/") => Err(file_error(
            ErrorKind::Unsupported,
            path,
            format!("the run is of format `{other}`, this version of catena reads `{FORMAT}`"),
        )
        .hint("read it with the version that wrote it, or repeat the run")),
        _ => Err(no_run(path)),
    }
}

/// The error for a file that is not a run.
pub(super) fn no_run(path: &Path) -> Error {
    file_error(
        ErrorKind::Syntax,
        path,
        "the file is not a run written by catena",
    )
}

/// Checkpoint words as hexadecimal digits, sixteen a word.
pub(super) fn words_to_text(words: &[u64]) -> String {
    let mut text = String::with_capacity(16 * words.len());
    for word in words {
        // Writing to a string cannot fail.
        let _ = write!(text, "{word:016x}");
    }
    text
}

/// Checkpoint words from their digits.
pub(super) fn words_from_text(text: &str) -> Option<Vec<u64>> {
    let (words, rest) = text.as_bytes().as_chunks::<16>();
    if !rest.is_empty() {
        return None;
    }
    words
        .iter()
        .map(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u64::from_str_radix(digits, 16).ok()
        })
        .collect()
}
