//! Limits on memory and time: computations that would exceed them are rejected before they start.

use catena::Model;
use catena::error::{Error, ErrorKind, Result};

/// Maximum number of values that are kept at once: 2 GB.
const MOST_NUMBERS: f64 = 2.5e8;

/// Rejects a count option that is not from 1 to `most`.
pub fn count(option: &str, asked: u64, most: u64) -> Result<()> {
    if (1..=most).contains(&asked) {
        return Ok(());
    }
    let message = format!("{option}: {asked} is not a number from 1 to {most}");
    Err(Error::new(ErrorKind::Input, message))
}

/// Rejects an option that is not a positive number.
pub fn positive(option: &str, asked: f64) -> Result<()> {
    if asked.is_finite() && asked > 0.0 {
        return Ok(());
    }
    let message = format!("{option}: {asked} is not a positive number");
    Err(Error::new(ErrorKind::Input, message))
}

/// Rejects results that would not fit into memory: `many` of them, of `each` numbers.
pub fn memory(what: &str, many: usize, each: usize) -> Result<()> {
    let numbers = many as f64 * each as f64;
    if numbers <= MOST_NUMBERS {
        return Ok(());
    }
    let message = format!("{many} {what} of {each} numbers each do not fit into memory");
    let hint = format!(
        "at most {MOST_NUMBERS:.1e} numbers are kept at once: ask for fewer {what}, or for a part of them at a time"
    );
    Err(Error::new(ErrorKind::Input, message).hint(hint))
}

/// Rejects a model with more degrees of freedom than a command supports.
pub fn freedoms(model: &Model, command: &str, most: usize) -> Result<()> {
    if model.nv() <= most {
        return Ok(());
    }
    let message = format!(
        "`{command}` takes models with up to {most} freedoms; `{}` has {}",
        model.name(),
        model.nv()
    );
    Err(Error::new(ErrorKind::Unsupported, message)
        .hint("`inverse`, `forward` and `simulate` take models of any size"))
}

/// Rejects a mechanism with more rows of constraints than dense matrices of them allow.
pub fn rows(model: &Model, command: &str, copies: usize, most: usize) -> Result<()> {
    let asked = (model.constraint_rows() as f64) * copies as f64;
    if asked <= most as f64 {
        return Ok(());
    }
    let message = format!(
        "`{command}` takes mechanisms with up to {most} rows of constraints; these are {asked}"
    );
    Err(Error::new(ErrorKind::Unsupported, message)
        .hint("`forward` and `simulate` take any number of loops"))
}
