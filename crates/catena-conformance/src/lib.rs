//! Conformance cases: states of a system with the accelerations, efforts, matrices and loads that are known for them, and
//! motions with known values at some instants.
//!
//! A case is a JSON file that any engine can read; `docs/conformance.md` describes its format. [`verify_file`] computes every
//! expected quantity through catena's public interface and reports the worst difference of each; [`export_case`] writes a
//! case of a model, so that two engines can be compared.
//!
//! ```
//! let model = catena::model::embedded::model("zoo")?;
//! let case = catena_conformance::export_case("zoo", &model, 2, 7)?;
//! let report = catena_conformance::verify_text(&case, "zoo.json")?;
//! assert!(report.passed());
//! # Ok::<(), catena::Error>(())
//! ```
//!
//! Nothing is silently ignored: an unknown quantity, an unknown key and a case that expects nothing are errors, and unknown kinds
//! of cases are rejected as unsupported.

mod element;
mod export;
mod graph;
mod multibody;
mod noise;
mod pendulum;
mod pendulum_newton;
mod report;
mod response;
mod serial;
mod simulation;
mod space;
mod written;

pub use export::export_case;
pub use report::{Quantity, Report, SIMULATION_TOLERANCE, TOLERANCE};

use catena::error::{Error, ErrorKind, Result};
use catena_io::document::{Lines, advice, file_error, parse_json, read_text};
use element::{Element, Object};
use serial::Given;
use std::path::Path;

/// Name of the format.
pub const FORMAT: &str = "catena-case/1";

/// Former name of the format.
const OLDER_FORMAT: &str = "mbref/1";

/// Keys that every case may have.
const COMMON_KEYS: &[&str] = &[
    "format", "id", "kind", "paper", "title", "notes", "name", "accuracy",
];

/// Kinds that are computed.
const KINDS: &[&str] = &[
    "serial_inverse",
    "serial_matrices",
    "serial_forward",
    "serial_sim",
    "space_accel",
    "space_sim",
    "multibody_accel",
    "multibody_redundant",
    "multibody_sim",
    "pendulum_sim",
    "pendulum_newton",
];

/// Reads a case from a file, computes every expected quantity and reports the worst difference of each.
///
/// A kind of case that is not known is an error of the kind [`ErrorKind::Unsupported`], never a pass.
pub fn verify_file(path: &Path) -> Result<Report> {
    let file_name = path.display().to_string();
    verify_text(&read_text(path, &file_name)?, &file_name)
}

/// As [`verify_file`], for a case given as text; the file name appears in messages.
pub fn verify_text(text: &str, file_name: &str) -> Result<Report> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(file_error(
            ErrorKind::Syntax,
            file_name,
            "the file is empty",
        ));
    }
    let lines = Lines::new(file_name, text);
    let tree = parse_json(text, &lines)?;
    let case = Element::root(&lines, 0, &tree);
    let head = case.open_object()?;
    expect_format(&head)?;
    let kind = expect_kind(&head)?;
    let shaken = noise::shaken_copies(&tree);
    let copies: Vec<_> = shaken
        .iter()
        .map(|(copy, tree)| Element::root(&lines, *copy, tree))
        .collect();
    let comparison = match kind {
        "serial_inverse" => noise::compare(&case, &copies, serial::inverse)?,
        "serial_matrices" => noise::compare(&case, &copies, |case| {
            serial::samples(case, Given::Accelerations)
        })?,
        "serial_forward" => {
            noise::compare(&case, &copies, |case| serial::samples(case, Given::Efforts))?
        }
        "serial_sim" => simulation::compare(&case, &copies, serial::simulation)?,
        "space_sim" => simulation::compare(&case, &copies, space::simulation)?,
        "multibody_sim" => simulation::compare(&case, &copies, multibody::simulation)?,
        "pendulum_sim" => simulation::compare(&case, &copies, pendulum::simulation)?,
        "pendulum_newton" => noise::compare(&case, &copies, pendulum_newton::steps)?,
        "space_accel" => noise::compare(&case, &copies, space::accelerations)?,
        _ => noise::compare(&case, &copies, multibody::accelerations)?,
    };
    if comparison.quantities.is_empty() {
        return Err(
            case.error("expects nothing: a case without expected quantities proves nothing")
        );
    }
    Ok(Report {
        id: information(&head, "id")?,
        kind: kind.into(),
        title: information(&head, "title")?,
        quantities: comparison.quantities,
        samples: comparison.samples,
        routes: comparison.routes,
    })
}

fn expect_format(head: &Object<'_>) -> Result<()> {
    let format = head.require("format")?;
    match format.text()? {
        FORMAT | OLDER_FORMAT => Ok(()),
        other => Err(format.error_of(
            ErrorKind::Unsupported,
            format!("is \"{other}\", which is not known; cases are of the format \"{FORMAT}\""),
        )),
    }
}

/// The kind of the case, which must be one that is computed.
fn expect_kind<'a>(head: &Object<'a>) -> Result<&'a str> {
    let element = head.require("kind")?;
    let kind = element.text()?;
    if KINDS.contains(&kind) {
        return Ok(kind);
    }
    let message = format!("kind `{kind}` is not known");
    let error = Error::new(ErrorKind::Unsupported, message).at(element.place());
    Err(error.hint(advice(kind, KINDS)))
}

/// A text for information, empty where the case has none.
fn information(head: &Object<'_>, key: &str) -> Result<String> {
    match head.get(key) {
        Some(element) => element.text().map(Into::into),
        None => Ok(String::new()),
    }
}

/// The error for an expected quantity that is unknown: it must not be ignored.
fn unknown_quantity(element: &Element<'_>, name: &str) -> Error {
    let message = format!("expected quantity `{name}` is unknown");
    element.blame(Error::new(ErrorKind::Unsupported, message))
}
