//! How a command ends: what it prints, and the exit code.

use crate::number::rough;
use crate::{interrupt, output};
use catena::error::{Error, ErrorKind};
use catena::residual::within;
use std::panic::{self, AssertUnwindSafe};

/// Success.
const GOOD: u8 = 0;
/// A check or a verification failed.
const FAILED: u8 = 1;
/// Bad usage or bad input.
const BAD_INPUT: u8 = 2;
/// A bug in catena.
const INTERNAL: u8 = 3;

/// The output of a completed command.
#[derive(Default)]
pub struct Outcome {
    /// For stdout.
    pub text: String,
    /// For stderr.
    pub notes: Vec<String>,
    /// Failed checks, if any: for stderr, with exit code 1.
    pub failures: Vec<String>,
    /// Unusable input, if any: for stderr, with exit code 2.
    pub refusals: Vec<String>,
}

impl Outcome {
    /// A result to print.
    pub fn text(text: impl Into<String>) -> Self {
        Outcome {
            text: text.into(),
            ..Outcome::default()
        }
    }

    /// Adds a message for stderr.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Fails with the message `wrong` if the check of a state, counted from 0, differs by more than allowed, or is NaN.
    pub fn require(&mut self, state: usize, wrong: &str, difference: f64, allowed: f64) {
        if !within(difference, allowed) {
            self.failures.push(format!(
                "state {}: {wrong}: relative difference {}, allowed {}",
                state + 1,
                rough(difference),
                rough(allowed)
            ));
        }
    }

    /// Returns the first failed check or unusable input as an error.
    pub fn expect_success(self) -> Result<(), Error> {
        match self.refusals.into_iter().chain(self.failures).next() {
            None => Ok(()),
            Some(message) => Err(Error::new(ErrorKind::Input, message)),
        }
    }

    fn code(&self) -> u8 {
        if !self.refusals.is_empty() {
            of_refusal()
        } else if !self.failures.is_empty() {
            FAILED
        } else {
            GOOD
        }
    }
}

/// The exit code where a command did not finish.
fn of_refusal() -> u8 {
    interrupt::exit_code().unwrap_or(BAD_INPUT)
}

/// Runs the program, prints its output and returns the exit code. A panic anywhere inside is reported as a bug.
pub fn finish(run: impl FnOnce() -> Result<Outcome, Error>) -> u8 {
    panic::set_hook(Box::new(|info| {
        output::complain(&format!(
            "error: internal error: {info}\nhint: this is a bug in catena; please report it with the command that shows it"
        ));
    }));
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(outcome)) => {
            let printed = output::print(&outcome.text);
            for message in outcome.notes.iter() {
                output::complain(message);
            }
            for message in outcome.failures.iter().chain(&outcome.refusals) {
                output::complain(&format!("error: {message}"));
            }
            match printed {
                Ok(()) => outcome.code(),
                Err(error) => {
                    output::complain(&format!("error: {error}"));
                    BAD_INPUT
                }
            }
        }
        Ok(Err(error)) => {
            output::complain(&format!("error: {error}"));
            of_refusal()
        }
        Err(_) => INTERNAL,
    }
}
