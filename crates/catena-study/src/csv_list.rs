//! A list of samples in CSV: a header with the names of the parameters, then a row for each sample.

use catena::error::{Error, ErrorKind, Place, Result};
use catena_io::document::{advice, file_error, read_text};
use std::path::Path;

/// The rows of the file, with a number for each of these parameters. Other columns are left out.
pub(crate) fn read(path: &Path, names: &[&str]) -> Result<Vec<Vec<f64>>> {
    let file_name = path.display().to_string();
    let text = read_text(path, &file_name)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let malformed = |error: &csv::Error| {
        let line = error.position().map(|position| position.line() as usize);
        let message = format!("malformed CSV: {error}");
        Error::new(ErrorKind::Syntax, message).at(Place {
            file: Some(file_name.as_str().into()),
            line,
        })
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| malformed(&error))?.clone();
    let known: Vec<&str> = header.iter().collect();
    let mut columns = Vec::new();
    for name in names {
        let Some(column) = known.iter().position(|known| known == name) else {
            let message = format!("there is no column `{name}`");
            let error = file_error(ErrorKind::Syntax, &file_name, message);
            return Err(error.hint(advice(name, &known)));
        };
        columns.push(column);
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(&error))?;
        let line = record
            .position()
            .map_or(1, |position| position.line() as usize);
        let mut row = Vec::new();
        for (&column, name) in columns.iter().zip(names) {
            let written = &record[column];
            let number = written.parse().ok().filter(|x: &f64| x.is_finite());
            row.push(number.ok_or_else(|| {
                let message = format!("`{name}`: `{written}` is not a finite number");
                Error::new(ErrorKind::Syntax, message).at(Place::new(file_name.as_str(), line))
            })?);
        }
        rows.push(row);
    }
    match rows.is_empty() {
        true => Err(file_error(
            ErrorKind::Syntax,
            &file_name,
            "the list has no rows",
        )),
        false => Ok(rows),
    }
}
