//! Measures: formulas over the columns of a run, `max(abs(tau.elbow)) / 87`.
//!
//! A column changes with time; a function over time reduces it to one number. Outside of these functions, formulas have parameters of
//! the study and figures of the audit.

use super::computation::Numbers;
use crate::commands::simulate::Trial;
use crate::expression::{Expression, Vocabulary};
use crate::names;
use catena::error::{Error, Result};
use catena::residual::largest_of;
use catena_study::Measure;

/// A function over time: computes one number from times and values, and a derivative from times, values and their derivatives.
#[derive(Clone, Copy)]
struct OverTime {
    value: fn(&[f64], &[f64]) -> f64,
    slope: fn(&[f64], &[f64], &[f64]) -> f64,
}

/// The largest or smallest value; NaN if there is a NaN among them, which `f64::max` and `f64::min` would ignore.
fn extreme(x: &[f64], start: f64, pick: fn(f64, f64) -> f64) -> f64 {
    match x.iter().any(|x| x.is_nan()) {
        true => f64::NAN,
        false => x.iter().copied().fold(start, pick),
    }
}

/// The functions over time. That of a peak has the derivative of the instant at which it is reached.
const OVER_TIME: &[(&str, OverTime)] = &[
    (
        "max",
        OverTime {
            value: |_, x| extreme(x, f64::NEG_INFINITY, f64::max),
            slope: |_, x, dx| dx[first_of(x, |x, most| x > most)],
        },
    ),
    (
        "min",
        OverTime {
            value: |_, x| extreme(x, f64::INFINITY, f64::min),
            slope: |_, x, dx| dx[first_of(x, |x, least| x < least)],
        },
    ),
    (
        "first",
        OverTime {
            value: |_, x| x.first().copied().unwrap_or(f64::NAN),
            slope: |_, _, dx| dx.first().copied().unwrap_or(f64::NAN),
        },
    ),
    (
        "last",
        OverTime {
            value: |_, x| x.last().copied().unwrap_or(f64::NAN),
            slope: |_, _, dx| dx.last().copied().unwrap_or(f64::NAN),
        },
    ),
    (
        "integral",
        OverTime {
            value: integral,
            slope: |t, _, dx| integral(t, dx),
        },
    ),
    (
        "mean",
        OverTime {
            value: |t, x| integral(t, x) / length(t),
            slope: |t, _, dx| integral(t, dx) / length(t),
        },
    ),
    (
        "rms",
        OverTime {
            value: rms,
            slope: |t, x, dx| {
                let products: Vec<f64> = x.iter().zip(dx).map(|(x, dx)| x * dx).collect();
                integral(t, &products) / (length(t) * rms(t, x))
            },
        },
    ),
];

fn rms(t: &[f64], x: &[f64]) -> f64 {
    let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
    (integral(t, &squares) / length(t)).sqrt()
}

/// Index of the first number that precedes all others in this order.
fn first_of(x: &[f64], is_before: fn(f64, f64) -> bool) -> usize {
    let mut best = 0;
    for k in 1..x.len() {
        if is_before(x[k], x[best]) {
            best = k;
        }
    }
    best
}

/// Figures of the audit and of the run, as variables outside of functions over time.
const FIGURES: &[&str] = &[
    "audit.energy",
    "audit.worst",
    "steps",
    "evaluations",
    "events",
];

/// The integral, by the trapezoidal rule.
fn integral(t: &[f64], x: &[f64]) -> f64 {
    let pieces = t.windows(2).zip(x.windows(2));
    pieces
        .map(|(t, x)| 0.5 * (t[1] - t[0]) * (x[0] + x[1]))
        .sum()
}

fn length(t: &[f64]) -> f64 {
    t.last().copied().unwrap_or_default() - t.first().copied().unwrap_or_default()
}

/// The vocabulary of a measure.
struct Words<'a> {
    /// Columns of the run; none if not known, when every name is accepted and collected.
    columns: Option<&'a [String]>,
    parameters: &'a [&'a str],
    /// Names of columns that were used.
    used: Vec<String>,
    /// Figures that were used.
    figures: Vec<&'static str>,
    /// Is a function over time being read?
    is_inside: bool,
    over_time: Vec<(OverTime, Expression)>,
}

impl Vocabulary for Words<'_> {
    /// Inside of a function over time: columns, then parameters. Outside: parameters, figures, functions over time.
    fn variable(&mut self, name: &str) -> std::result::Result<usize, (String, String)> {
        let parameter = self.parameters.iter().position(|known| *known == name);
        let name = if name == "t" { "time" } else { name };
        let count = self.columns.map_or(0, <[String]>::len);
        if self.is_inside {
            if let Some(k) = parameter {
                return Ok(count + k);
            }
            self.used.push(name.into());
            let Some(columns) = self.columns else {
                return Ok(0);
            };
            return columns
                .iter()
                .position(|known| known == name)
                .ok_or_else(|| {
                    let known = || columns.iter().map(String::as_str);
                    let hint = match names::nearest(name, known()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("columns of the run are {}", names::first_few(known())),
                    };
                    (format!("the run has no column `{name}`"), hint)
                });
        }
        if let Some(k) = parameter {
            return Ok(k);
        }
        if let Some(k) = FIGURES.iter().position(|known| *known == name) {
            self.figures.push(FIGURES[k]);
            return Ok(self.parameters.len() + k);
        }
        let known = || {
            self.parameters
                .iter()
                .copied()
                .chain(FIGURES.iter().copied())
        };
        if let Some(near) = names::nearest(name, known()) {
            let hint = format!("did you mean `{near}`?");
            return Err((format!("there is no variable `{name}`"), hint));
        }
        let functions: Vec<&str> = OVER_TIME.iter().map(|(name, _)| *name).collect();
        let hint = format!(
            "take one number of a column, as last({name}); functions over time are {}; variables are {}",
            functions.join(", "),
            names::first_few(known())
        );
        Err((format!("`{name}` is not one number"), hint))
    }

    fn enters_time(&mut self, function: &str) -> std::result::Result<bool, String> {
        let is_known = OVER_TIME.iter().any(|(name, _)| *name == function);
        if is_known && self.is_inside {
            return Err(format!(
                "`{function}` over time stands within another such function"
            ));
        }
        self.is_inside |= is_known;
        Ok(is_known)
    }

    fn over_time(&mut self, function: &str, argument: Expression) -> usize {
        self.is_inside = false;
        let found = OVER_TIME.iter().find(|(name, _)| *name == function);
        self.over_time
            .extend(found.map(|(_, over)| (*over, argument)));
        self.parameters.len() + FIGURES.len() + self.over_time.len() - 1
    }
}

impl<'a> Words<'a> {
    fn new(parameters: &'a [&'a str], columns: Option<&'a [String]>) -> Self {
        Words {
            columns,
            parameters,
            used: Vec::new(),
            figures: Vec::new(),
            is_inside: false,
            over_time: Vec::new(),
        }
    }

    fn read(&mut self, measure: &Measure) -> Result<Expression> {
        Expression::parse(&measure.formula, self).map_err(|error| about(measure, &error))
    }
}

/// An error in the formula of a measure.
pub fn about(measure: &Measure, error: &Error) -> Error {
    let message = format!("measure `{}`: {}", measure.name, error.message());
    let new = Error::new(error.kind(), message).at(measure.place.clone());
    match error.advice() {
        Some(hint) => new.hint(hint),
        None => new,
    }
}

/// The columns that a formula uses, which are among the known ones where these are given.
pub fn columns(
    measure: &Measure,
    parameters: &[&str],
    known: Option<&[String]>,
) -> Result<Vec<String>> {
    let mut words = Words::new(parameters, known);
    words.read(measure)?;
    Ok(words.used)
}

/// The figures of the audit and of the run that a formula uses.
pub fn figures(measure: &Measure, parameters: &[&str]) -> Result<Vec<&'static str>> {
    let mut words = Words::new(parameters, None);
    words.read(measure)?;
    Ok(words.figures)
}

/// Data of formulas.
pub struct Measured<'a> {
    /// Names of columns, the time first.
    pub columns: &'a [String],
    /// Their numbers, row by row.
    pub rows: &'a [f64],
    /// The [`FIGURES`]; not a number where there are none.
    figures: [f64; 5],
}

impl<'a> Measured<'a> {
    /// A run.
    pub fn of_trial(trial: &'a Trial) -> Self {
        let findings = || trial.audit.findings.iter().filter(|finding| finding.seen);
        Measured {
            columns: trial.columns.names(),
            rows: &trial.rows,
            figures: [
                findings()
                    .find(|f| f.name.contains("energy"))
                    .map_or(f64::NAN, |f| f.worst),
                largest_of(findings().map(|f| f.worst / f.allowed)),
                trial.audit.steps as f64,
                trial.audit.evaluations as f64,
                trial.events as f64,
            ],
        }
    }

    /// The result of a command.
    pub fn of_numbers(numbers: &'a Numbers) -> Self {
        Measured {
            columns: &numbers.columns,
            rows: &numbers.rows,
            figures: [f64::NAN; 5],
        }
    }
}

/// The value of a measure.
pub fn value(
    measure: &Measure,
    parameters: &[&str],
    values: &[f64],
    measured: &Measured<'_>,
) -> Result<f64> {
    let mut words = Words::new(parameters, Some(measured.columns));
    let outside = words.read(measure)?;
    let width = measured.columns.len();
    let times: Vec<f64> = measured.rows.chunks(width).map(|row| row[0]).collect();
    let mut variables = values.to_vec();
    variables.extend(measured.figures);
    for (over, inside) in &words.over_time {
        let row =
            |row: &[f64]| inside.value(&|k| if k < width { row[k] } else { values[k - width] });
        let numbers: Vec<f64> = measured.rows.chunks(width).map(row).collect();
        variables.push(match numbers.iter().any(|x| x.is_nan()) {
            true => f64::NAN,
            false => (over.value)(&times, &numbers),
        });
    }
    Ok(outside.value(&|k| variables[k]))
}

/// Why the derivative of a measure cannot be taken; none if it can.
pub fn obstacle_to_slopes(measure: &Measure, parameters: &[&str]) -> Result<Option<String>> {
    let mut words = Words::new(parameters, None);
    words.read(measure)?;
    let name = &measure.name;
    if let Some(figure) = words.figures.first() {
        return Ok(Some(format!("measure `{name}` depends on `{figure}`")));
    }
    let error = words
        .used
        .iter()
        .find(|column| column.starts_with("error."));
    Ok(error.map(|column| format!("measure `{name}` depends on `{column}`, which is round-off")))
}

/// A run and the derivatives of its numbers with respect to the parameters of a study.
pub struct Varied<'a> {
    /// Names of the columns.
    pub columns: &'a [String],
    /// The numbers, row by row.
    pub rows: &'a [f64],
    /// Their derivatives with respect to each parameter.
    pub slopes: &'a [Vec<f64>],
}

/// The derivatives of a measure with respect to each parameter.
pub fn slopes(
    measure: &Measure,
    parameters: &[&str],
    values: &[f64],
    run: &Varied<'_>,
) -> Result<Vec<f64>> {
    let mut words = Words::new(parameters, Some(run.columns));
    let outside = words.read(measure)?;
    let width = run.columns.len();
    let times: Vec<f64> = run.rows.chunks(width).map(|row| row[0]).collect();
    let slope = |p: usize| {
        let parameter = |k: usize| (values[k], f64::from(u8::from(k == p)));
        let over_time = words.over_time.iter().map(|(over, inside)| {
            let rows = run.rows.chunks(width).zip(run.slopes[p].chunks(width));
            let numbers = rows.map(|(row, change)| {
                inside.value_and_slope(&|k| match k < width {
                    true => (row[k], change[k]),
                    false => parameter(k - width),
                })
            });
            let (x, dx): (Vec<f64>, Vec<f64>) = numbers.unzip();
            ((over.value)(&times, &x), (over.slope)(&times, &x, &dx))
        });
        let over_time: Vec<(f64, f64)> = over_time.collect();
        let known = values.len() + FIGURES.len();
        let variable = |k: usize| match k {
            k if k < values.len() => parameter(k),
            // figures have no derivatives, and are rejected before
            k if k < known => (f64::NAN, f64::NAN),
            k => over_time[k - known],
        };
        outside.value_and_slope(&variable).1
    };
    Ok((0..values.len()).map(slope).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_passes_over_no_nan() {
        assert_eq!(extreme(&[1.0, 3.0, 2.0], f64::NEG_INFINITY, f64::max), 3.0);
        assert_eq!(extreme(&[1.0, 3.0, 2.0], f64::INFINITY, f64::min), 1.0);
        assert!(extreme(&[1.0, f64::NAN, 2.0], f64::NEG_INFINITY, f64::max).is_nan());
        assert!(extreme(&[1.0, f64::NAN, 2.0], f64::INFINITY, f64::min).is_nan());
    }
}
