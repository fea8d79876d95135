//! Samples that are not simulations: the result of another command, as a table of numbers.

use super::experiment::{Simulations, expect_settings, in_run, target, words};
use super::experiment::{Target, expect_measures};
use super::measure::{self, Measured};
use crate::coordinates::Quantity;
use crate::model_argument::{Loaded, with_change};
use crate::program::run_words;
use catena::Model;
use catena::error::{Error, ErrorKind, Result};
use catena_study::{ModelPointer, ModelText, PathText, Study};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Commands other than `simulate` that a study can run.
pub const COMMANDS: &[&str] = &["inverse", "forward", "evaluate", "linearize", "benchmark"];

/// Options that have no meaning in a study.
pub const OTHERS: &[&str] = &[
    "output",
    "overwrite",
    "plot",
    "json",
    "portable",
    "help",
    "version",
];

/// Lists that have a number for each freedom, or a row.
const OF_FREEDOMS: &[&str] = &[
    "v",
    "a",
    "tau",
    "inverse_tau",
    "forward_a",
    "gravity",
    "coriolis_v",
    "inertia",
    "coriolis",
];

/// Lists of three components.
const VECTORS: &[&str] = &[
    "position",
    "centre_of_mass",
    "centre_of_mass_velocity",
    "angular",
    "linear",
];

/// The numbers of a result: a row for each state or problem, the time first.
pub struct Numbers {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The numbers, row by row.
    pub rows: Vec<f64>,
}

/// Names of positions and freedoms; none where the command has no model.
struct Labels {
    positions: Vec<String>,
    freedoms: Vec<String>,
}

impl Labels {
    fn new(model: Option<&Model>) -> Self {
        let of = |quantity: Quantity| {
            let coordinates = model.map(|model| quantity.coordinates(model));
            let names = coordinates.into_iter().flatten();
            names.map(|coordinate| coordinate.name).collect()
        };
        Labels {
            positions: of(Quantity::Position),
            freedoms: of(Quantity::Velocity),
        }
    }

    /// Names of the entries of a list.
    fn of(&self, key: &str, items: &[Value]) -> Vec<String> {
        let own = items.iter().map(|item| item["name"].as_str());
        if let Some(names) = own.collect::<Option<Vec<&str>>>() {
            return names.into_iter().map(String::from).collect();
        }
        if VECTORS.contains(&key) && items.len() == 3 {
            return ["x", "y", "z"].map(String::from).to_vec();
        }
        if key == "q" && items.len() == self.positions.len() {
            return self.positions.clone();
        }
        if OF_FREEDOMS.contains(&key) && items.len() == self.freedoms.len() {
            return self.freedoms.clone();
        }
        (1..=items.len()).map(|k| k.to_string()).collect()
    }

    /// Adds the numbers of the value of this key. Texts and booleans are skipped.
    fn add(&self, path: &str, key: &str, value: &Value, row: &mut Vec<(String, f64)>) {
        match value {
            Value::Number(_) | Value::Null => {
                row.push((path.into(), value.as_f64().unwrap_or(f64::NAN)));
            }
            Value::Object(entries) => {
                for (key, value) in entries {
                    self.add(&format!("{path}.{key}"), key, value, row);
                }
            }
            Value::Array(items) => {
                for (label, item) in self.of(key, items).iter().zip(items) {
                    self.add(&format!("{path}.{label}"), key, item, row);
                }
            }
            Value::String(_) | Value::Bool(_) => {}
        }
    }

    /// The row of a state or problem.
    fn row(&self, number: usize, value: &Value) -> Vec<(String, f64)> {
        let time = value["t"].as_f64().unwrap_or(number as f64);
        let mut row = vec![("time".to_string(), time)];
        let entries = value.as_object().into_iter().flatten();
        for (key, value) in entries.filter(|(key, _)| *key != "t") {
            self.add(key, key, value, &mut row);
        }
        row
    }
}

/// The numbers of a result in JSON.
fn numbers(result: &Value, model: Option<&Model>) -> Result<Numbers> {
    let several = [result, &result["states"], &result["problems"]];
    let several = several.into_iter().find_map(Value::as_array);
    let labels = Labels::new(model);
    let mut found: Option<Numbers> = None;
    for (k, value) in several.into_iter().flatten().enumerate() {
        let (columns, row): (Vec<String>, Vec<f64>) = labels.row(k, value).into_iter().unzip();
        match &mut found {
            None => found = Some(Numbers { columns, rows: row }),
            Some(table) if table.columns == columns => table.rows.extend(row),
            Some(_) => {
                let message = format!("state {} has other numbers than the first one", k + 1);
                return Err(Error::new(ErrorKind::Input, message));
            }
        }
    }
    found.ok_or_else(|| Error::new(ErrorKind::Input, "the result has no states"))
}

/// Runs a command with the model that it loads modified, and returns its numbers for that model.
fn carry_out(
    command: &str,
    mut words: Vec<String>,
    change: impl Fn(Loaded) -> Result<Loaded> + 'static,
) -> Result<(Numbers, Option<Loaded>)> {
    words.insert(0, command.into());
    words.push("--json".into());
    let seen: Rc<RefCell<Option<Loaded>>> = Rc::default();
    let kept = Rc::clone(&seen);
    let noted = move |loaded: Loaded| {
        let loaded = change(loaded)?;
        kept.replace(Some(loaded.clone()));
        Ok(loaded)
    };
    let mut outcome = with_change(noted, || run_words(&words)).map_err(first_line)?;
    let text = std::mem::take(&mut outcome.text);
    outcome.expect_success()?;
    let result: Value = serde_json::from_str(&text).map_err(|error| {
        Error::new(ErrorKind::Input, format!("the result is not JSON: {error}"))
    })?;
    let loaded = seen.take();
    let model = loaded.as_ref().map(|loaded| &loaded.model);
    Ok((numbers(&result, model)?, loaded))
}

/// Errors of options have several lines, and begin with a word that is added again.
fn first_line(error: Error) -> Error {
    let first = error.message().lines().next().unwrap_or_default();
    match first.strip_prefix("error: ") {
        Some(first) => Error::new(error.kind(), first),
        None => error,
    }
}

impl Simulations {
    /// Samples that are results of a command other than `simulate`.
    pub(super) fn of_command(study: Study) -> Result<Self> {
        expect_settings(&study)?;
        let values = study.values(0);
        let first = carry_out(&study.command, words(&study, &values), Ok);
        let (numbers, loaded) = first.map_err(|error| in_run(&study, error))?;
        let mut targets = Vec::new();
        let text = match &loaded {
            Some(loaded) => Some(ModelText::new(&loaded.builder, &study.model)?),
            None => None,
        };
        for parameter in &study.parameters {
            let mut own = Vec::new();
            for path in &parameter.paths {
                let (Some(text), Some(loaded)) = (&text, &loaded) else {
                    let message = format!("`{}` has no model to change", study.command);
                    let error = Error::new(ErrorKind::Syntax, message).at(path.place.clone());
                    return Err(error.hint("parameters may be used in its settings, as {name}"));
                };
                let found = target(text, &loaded.model, path, parameter.relative)?;
                if matches!(found, Target::State(..)) && parameter.relative {
                    let message = format!("`{}` cannot be relative", path.text);
                    let error = Error::new(ErrorKind::Syntax, message).at(path.place.clone());
                    return Err(error.hint("give the values themselves"));
                }
                own.push(found);
            }
            targets.push(own);
        }
        expect_measures(&study, &numbers.columns)?;
        let names = study.variables();
        for measure in &study.measures {
            if let Some(figure) = measure::figures(measure, &names)?.first() {
                let message = format!("`{figure}` exists for simulations only");
                let error = Error::new(ErrorKind::Syntax, message);
                return Err(measure::about(measure, &error));
            }
        }
        Ok(Simulations::computed(study, targets, text, numbers.columns))
    }

    /// The numbers of a sample.
    pub(super) fn compute(&self, values: &[f64]) -> Result<Vec<f64>> {
        let study = self.study();
        let mut words = words(study, values);
        let mut changes: Vec<(ModelPointer, bool, f64)> = Vec::new();
        for ((targets, parameter), &value) in self.targets().zip(&study.parameters).zip(values) {
            for target in targets {
                match target {
                    Target::Model(pointer) => {
                        changes.push((pointer.clone(), parameter.relative, value));
                    }
                    Target::State(quantity, path) => place(&mut words, *quantity, path, value),
                }
            }
        }
        let name = study.model.clone();
        let change = move |loaded: Loaded| {
            if changes.is_empty() {
                return Ok(loaded);
            }
            let changes: Vec<_> = changes.iter().map(|(p, r, x)| (p, *r, *x)).collect();
            let builder = ModelText::new(&loaded.builder, &name)?.with(&changes)?;
            let model = builder.build()?;
            let builder = Arc::new(builder);
            Ok(Loaded { builder, model })
        };
        let (numbers, _) = carry_out(&study.command, words, change)?;
        self.measures(values, &Measured::of_numbers(&numbers))
    }
}

/// Adds the value of a coordinate to the options `--q` and `--v`.
fn place(words: &mut Vec<String>, quantity: Quantity, path: &PathText, value: f64) {
    let name = path.text.split_once('.').map_or("", |(_, name)| name);
    let option = format!("--{}=", quantity.key());
    match words.iter_mut().find(|word| word.starts_with(&option)) {
        Some(word) => word.push_str(&format!(",{name}={value}")),
        None => words.push(format!("{option}{name}={value}")),
    }
}
