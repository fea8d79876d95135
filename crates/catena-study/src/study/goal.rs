//! Optimisation of a study: the goal, its constraints and the search.

use super::{Study, tables, whole};
use catena::error::{Error, ErrorKind, Place, Result};
use catena_io::document::{Item, Table, advice};

const OPTIMIZE_KEYS: &[&str] = &[
    "minimise",
    "maximise",
    "method",
    "start",
    "evaluations",
    "tolerance",
];

const SEARCHES: &[&str] = &["cobyla", "slsqp"];

const CONSTRAINT_KEYS: &[&str] = &["measure", "low", "high"];

/// A bound on a measure at the optimum: sign (bound − measure) ≥ 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Index of the measure.
    pub measure: usize,
    /// The bound.
    pub bound: f64,
    /// 1 for an upper bound, −1 for a lower one.
    pub sign: f64,
}

/// Method of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Powell's COBYLA: linear models, no derivatives.
    Cobyla,
    /// Kraft's SLSQP: quadratic models from gradients.
    Slsqp,
}

/// What is optimized.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Index of the measure.
    pub measure: usize,
    /// 1 if it is minimised, −1 if it is maximised.
    pub sign: f64,
    /// Method of the search for it.
    pub search: Search,
    /// Start of the search: for each parameter the relative position in its range.
    pub start: Vec<f64>,
    /// Maximum number of runs.
    pub evaluations: usize,
    /// Tolerance of the parameters, as a fraction of their ranges.
    pub tolerance: f64,
    /// Constraints.
    pub limits: Vec<Limit>,
    /// Location in the study file.
    pub place: Place,
}

impl Study {
    /// What is optimized; an error for a study that does not say.
    pub fn expect_goal(&self) -> Result<&Goal> {
        let hint = "say what is wanted: [optimize] with minimise = \"MEASURE\"";
        let missing = || self.missing("optimize", hint);
        self.goal.as_ref().ok_or_else(missing)
    }

    pub(super) fn take_goal(&mut self, file: &Table<'_>) -> Result<()> {
        let constraints = tables(file, "constraint")?;
        let Some(item) = file.get("optimize") else {
            return match constraints.first() {
                None => Ok(()),
                Some(first) => {
                    let message = "a [[constraint]] needs an [optimize]";
                    let error = file.source.error(first.line, message);
                    Err(error.hint("say what is wanted: minimise = \"MEASURE\""))
                }
            };
        };
        let table = item.table("a table")?;
        table.expect_keys(OPTIMIZE_KEYS)?;
        let (wanted, sign) = match (table.get("minimise"), table.get("maximise")) {
            (Some(wanted), None) => (wanted, 1.0),
            (None, Some(wanted)) => (wanted, -1.0),
            _ => {
                let message = "[optimize] has one of `minimise` and `maximise`";
                let error = file.source.error(table.line, message);
                return Err(error.hint("name a measure"));
            }
        };
        let names: Vec<&str> = self.measures.iter().map(|m| m.name.as_str()).collect();
        let find = |item: &Item<'_>| {
            let name = item.text()?;
            let known = names.iter().position(|known| *known == name);
            known.ok_or_else(|| item.error("is not a measure").hint(advice(name, &names)))
        };
        let mut limits = Vec::new();
        for constraint in &constraints {
            constraint.expect_keys(CONSTRAINT_KEYS)?;
            let measure = find(&constraint.require("measure")?)?;
            let before = limits.len();
            for (key, sign) in [("low", -1.0), ("high", 1.0)] {
                if let Some(bound) = constraint.get(key) {
                    let bound = bound.angle()?;
                    limits.push(Limit {
                        measure,
                        bound,
                        sign,
                    });
                }
            }
            if limits.len() == before {
                let error = file
                    .source
                    .error(constraint.line, "a constraint has no bound");
                return Err(error.hint("give `low`, `high` or both"));
            }
            if let [low, high] = &limits[before..]
                && low.bound > high.bound
            {
                let message = "no number satisfies a constraint whose `low` is above `high`";
                return Err(file.source.error(constraint.line, message));
            }
        }
        if self.parameters.is_empty() {
            let error = file
                .source
                .error(table.line, "nothing varies: there is no [[parameter]]");
            return Err(error.hint("name what varies, its path and its bounds"));
        }
        let starts = match table.get("start") {
            None => None,
            Some(item) => {
                let starts = item.table("a table of parameters")?;
                let known: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
                starts.expect_keys(&known)?;
                Some(starts)
            }
        };
        let mut start = Vec::new();
        for parameter in &self.parameters {
            let given = starts.as_ref().and_then(|table| table.get(&parameter.name));
            let number = given.as_ref().map(Item::angle).transpose()?;
            let Some(part) = parameter.spread.part_of_range(number) else {
                let message = match number {
                    Some(number) => format!(
                        "the start of parameter `{}` is {number}, outside of its bounds",
                        parameter.name
                    ),
                    None => format!("parameter `{}` has no bounds", parameter.name),
                };
                let error = Error::new(ErrorKind::Syntax, message).at(parameter.place.clone());
                return Err(error.hint(
                    "an optimum is searched within uniform = [LOW, HIGH] or loguniform = [LOW, HIGH]",
                ));
            };
            start.push(part);
        }
        let least = self.parameters.len() as f64 + 2.0;
        self.goal = Some(Goal {
            measure: find(&wanted)?,
            sign,
            search: match table.get("method") {
                None => Search::Cobyla,
                Some(item) => match item.text()? {
                    "cobyla" => Search::Cobyla,
                    "slsqp" => Search::Slsqp,
                    other => {
                        let error = item.must_be("a method of search");
                        return Err(error.hint(advice(other, SEARCHES)));
                    }
                },
            },
            start,
            evaluations: match table.get("evaluations") {
                None => 1000,
                Some(item) => whole(&item, least, 1e6)? as usize,
            },
            tolerance: match table.get("tolerance") {
                None => 1e-4,
                Some(item) => {
                    let tolerance = item.number()?;
                    if !(1e-12..=0.1).contains(&tolerance) {
                        return Err(item.must_be("a part of the ranges from 1e-12 to 0.1"));
                    }
                    tolerance
                }
            },
            limits,
            place: file.source.place(table.line),
        });
        Ok(())
    }
}
