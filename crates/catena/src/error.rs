//! What went wrong, where, and what to do about it.

use crate::text::{shown, shown_lines};
use std::fmt;
use std::sync::Arc;

/// A line of a file, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Option<Arc<str>>,
    /// Line, counted from 1.
    pub line: Option<usize>,
}

impl Place {
    /// A line of a file.
    pub fn new(file: impl Into<Arc<str>>, line: usize) -> Self {
        Place {
            file: Some(file.into()),
            line: Some(line),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}"),
            (Some(file), None) => write!(f, "{file}"),
            (None, Some(line)) => write!(f, "line {line}"),
            (None, None) => Ok(()),
        }
    }
}

/// Kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read or written.
    File,
    /// A file does not exist, or is still empty.
    Missing,
    /// A file exists already and must not be replaced.
    Exists,
    /// Text that is not of the expected form.
    Syntax,
    /// A model whose parts do not fit together (names, tree, sizes).
    Model,
    /// A model that no physical system can have.
    Physics,
    /// Something that this version does not support.
    Unsupported,
    /// A state, force or setting that cannot be used.
    Input,
    /// A joint that cannot be accelerated at this state.
    Singular,
    /// A simulation that cannot be continued.
    Integration,
}

/// An error: what, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    place: Place,
    hint: Option<String>,
}

impl Error {
    /// An error of this kind; the message says what is wrong, with names and units.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            place: Place::default(),
            hint: None,
        }
    }

    /// Where it was found.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// What the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it was found, if known.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What can be done, if known.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // messages quote names and values of files: a terminal must not interpret control characters in them
        f.write_str(&shown(&self.message))?;
        if self.place != Place::default() {
            write!(f, "\n  --> {}", shown(&self.place.to_string()))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {}", shown_lines(hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// A warning about a model, which does not prevent its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The message, with names and units.
    pub message: String,
    /// Where it was found.
    pub place: Place,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.place != Place::default() {
            write!(f, "\n  --> {}", self.place)?;
        }
        Ok(())
    }
}

/// A value, or the error that prevented it.
pub type Result<T> = std::result::Result<T, Error>;
