//! The motion of a base or of a frame as CSV: a pose per row.

use super::csv::{csv_error, is_run, reader, same_unit};
use super::{line, whole};
use crate::{names, number};
use catena::error::{Error, ErrorKind, Result};
use std::path::Path;

/// Times, positions and quaternions.
#[derive(Debug, Default)]
pub struct PoseRows {
    /// Times, s.
    pub times: Vec<f64>,
    /// Positions in m and quaternions (w, x, y, z).
    pub poses: Vec<([f64; 3], [f64; 4])>,
    /// Are there columns of positions, and of quaternions?
    pub given: [bool; 2],
}

const COLUMNS: [&str; 8] = ["t", "x", "y", "z", "qw", "qx", "qy", "qz"];

/// Reads a pose per row, `of` a base or a frame. Without columns x, y, z it stays at the origin, without qw, qx, qy, qz it does not rotate. In a
/// run written by `catena simulate --base`, the columns are `time` and `base.x` … `base.qz`, and the others are ignored.
pub fn read(text: &str, path: &Path, of: &str) -> Result<PoseRows> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = reader(text);
    let heads = reader.headers().map_err(|error| csv_error(&error, path))?;
    let is_run = is_run(text);
    let refuse = |message: String| Error::new(ErrorKind::Input, message).at(line(path, 1));
    // for each column of the file, which of ours it is
    let mut columns: Vec<Option<usize>> = Vec::new();
    for head in heads {
        let (name, unit) = match head
            .strip_suffix(']')
            .and_then(|rest| rest.rsplit_once('['))
        {
            Some((name, unit)) => (name.trim(), unit.trim()),
            None => (head, ""),
        };
        let bare = match name {
            "time" => "t",
            _ => name.strip_prefix("base.").unwrap_or(name),
        };
        let ours = match is_run && bare == name && name != "time" {
            true => None,
            false => COLUMNS.iter().position(|known| *known == bare),
        };
        match ours {
            None if is_run => {}
            None => {
                let hint = match names::nearest(bare, COLUMNS.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the columns are {}", COLUMNS.join(", ")),
                };
                return Err(refuse(format!("a motion of {of} has no column `{name}`")).hint(hint));
            }
            Some(k) if columns.contains(&Some(k)) => {
                return Err(refuse(format!("column `{name}` is there twice")));
            }
            Some(k) => {
                let expected = ["s", "m", "m", "m", "", "", "", ""][k];
                if !unit.is_empty() && !same_unit(unit, expected) {
                    return Err(refuse(match expected {
                        "" => format!("column `{name}` has no unit, it is not in `{unit}`"),
                        _ => format!("column `{name}` is in {expected}, not in `{unit}`"),
                    }));
                }
            }
        }
        columns.push(ours);
    }
    let has = |k: usize| columns.contains(&Some(k));
    if !has(0) {
        return Err(refuse(format!(
            "a motion of {of} needs a column `t` for the time"
        )));
    }
    for (what, range) in [("position", 1..4), ("quaternion", 4..8)] {
        let missing: Vec<&str> = range
            .clone()
            .filter(|&k| !has(k))
            .map(|k| COLUMNS[k])
            .collect();
        if !missing.is_empty() && missing.len() < range.len() {
            return Err(refuse(format!(
                "some columns of the {what} are missing: {}",
                missing.join(", ")
            )));
        }
    }
    if !(1..8).any(has) {
        return Err(refuse(format!("there is no motion of {of} in this file"))
            .hint("the columns are t, x, y, z (m) and qw, qx, qy, qz; a run has them if it was made with --base"));
    }
    let mut rows = PoseRows {
        given: [has(1), has(4)],
        ..PoseRows::default()
    };
    for record in reader.records() {
        let record = record.map_err(|error| csv_error(&error, path))?;
        let at = record.position().map_or(0, |position| position.line());
        let mut numbers = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        for (ours, text) in columns.iter().zip(record.iter()) {
            let Some(k) = *ours else {
                continue;
            };
            let what = format!("column `{}`", COLUMNS[k]);
            numbers[k] = match number::parse(text) {
                Some(typed) if !typed.is_angle => typed.value,
                _ => return Err(number::not_a_number(&what, text).at(line(path, at as usize))),
            };
        }
        let [t, x, y, z, pose @ ..] = numbers;
        rows.times.push(t);
        rows.poses.push(([x, y, z], pose));
    }
    match rows.times.is_empty() {
        true => Err(Error::new(ErrorKind::Input, "the file has no rows").at(whole(path))),
        false => Ok(rows),
    }
}
