//! Parameters of a study with their distributions, settings and measures, as given in the file.

use super::{
    MOST_VALUES, Measure, Parameter, PathText, Setting, SettingValue, text_or_empty, whole,
};
use crate::design::LEAST_SHARE;
use crate::distribution::Spread;
use catena::error::Result;
use catena_io::document::{Item, Table, Value};

const PARAMETER_KEYS: &[&str] = &[
    "name",
    "unit",
    "path",
    "relative",
    "uniform",
    "loguniform",
    "normal",
    "lognormal",
    "triangular",
    "values",
    "range",
    "low",
    "high",
];

pub(super) const SPREADS: &[&str] = &[
    "uniform",
    "loguniform",
    "normal",
    "lognormal",
    "triangular",
    "values",
    "range",
];

const MEASURE_KEYS: &[&str] = &["name", "unit", "value"];

pub(super) fn parameter(table: &Table<'_>) -> Result<Parameter> {
    table.expect_keys(PARAMETER_KEYS)?;
    let paths = match table.get("path") {
        None => Vec::new(),
        Some(item) if item.is_list() => item.list()?,
        Some(item) => vec![item],
    };
    let path = |item: &Item<'_>| {
        Ok(PathText {
            text: item.text()?.into(),
            place: table.source.place(item.line()),
        })
    };
    let spread = spread(table)?;
    if let (Spread::Words(_), Some(path)) = (&spread, paths.first()) {
        let error = path.error("takes numbers, and the values are strings");
        return Err(error.hint("strings may be used in settings of the run, as {name}"));
    }
    Ok(Parameter {
        name: table.require("name")?.text()?.into(),
        unit: text_or_empty(table, "unit")?,
        paths: paths.iter().map(path).collect::<Result<_>>()?,
        relative: table
            .get("relative")
            .map_or(Ok(false), |item| item.truth())?,
        spread,
        place: table.source.place(table.line),
    })
}

/// The values of a parameter: exactly one key says what they are.
pub(super) fn spread(table: &Table<'_>) -> Result<Spread> {
    let given: Vec<&str> = SPREADS
        .iter()
        .copied()
        .filter(|key| table.get(key).is_some())
        .collect();
    let bound =
        |key: &str, otherwise: f64| table.get(key).map_or(Ok(otherwise), |item| item.angle());
    let &[key] = given.as_slice() else {
        if let Some((line, key)) = table
            .first_of(&["low", "high"])
            .filter(|_| given.is_empty())
        {
            let error = table
                .source
                .error(line, format!("`{key}` of {} bounds nothing", table.owner));
            return Err(error.hint(
                "bounds cut off `normal` and `lognormal`; else write uniform = [LOW, HIGH]",
            ));
        }
        if given.is_empty() {
            return Ok(Spread::Listed);
        }
        let message = format!(
            "{} has two distributions: {}",
            table.owner,
            given.join(" and ")
        );
        return Err(table
            .source
            .error(table.line, message)
            .hint("keep one of them"));
    };
    let item = table.require(key)?;
    if !matches!(key, "normal" | "lognormal")
        && let Some((line, bound)) = table.first_of(&["low", "high"])
    {
        let message = format!("`{bound}` of {} does not go with `{key}`", table.owner);
        return Err(table
            .source
            .error(line, message)
            .hint("bounds cut off `normal` and `lognormal`"));
    }
    let spread = match key {
        "uniform" => {
            let [low, high] = ordered(&item, "[LOW, HIGH]")?;
            Spread::Uniform { low, high }
        }
        "loguniform" => {
            let [low, high] = ordered(&item, "[LOW, HIGH]")?;
            if low <= 0.0 {
                return Err(item.error("must be positive"));
            }
            Spread::LogUniform { low, high }
        }
        "normal" => {
            let [mean, deviation] = numbers(&item, "[MEAN, DEVIATION]")?;
            let bounds = (
                bound("low", f64::NEG_INFINITY)?,
                bound("high", f64::INFINITY)?,
            );
            Spread::Normal {
                mean,
                deviation,
                bounds,
            }
        }
        "lognormal" => {
            let [median, deviation] = numbers(&item, "[MEDIAN, DEVIATION]")?;
            if median <= 0.0 {
                return Err(item.error("must have a positive median"));
            }
            let bounds = (bound("low", 0.0)?.max(0.0), bound("high", f64::INFINITY)?);
            Spread::LogNormal {
                median,
                deviation,
                bounds,
            }
        }
        "triangular" => {
            let [low, mode, high] = ordered(&item, "[LOW, MODE, HIGH]")?;
            Spread::Triangular { low, mode, high }
        }
        "values" => {
            let items = item.list()?;
            if items.is_empty() {
                return Err(item.error("must have at least one number"));
            }
            let is_word = |item: &Item<'_>| item.text().is_ok() && item.angle().is_err();
            match items.iter().any(is_word) {
                true => Spread::Words(texts(&item, &items)?),
                false => Spread::Values(items.iter().map(Item::angle).collect::<Result<_>>()?),
            }
        }
        _ => {
            let [low, high, count]: [Item<'_>; 3] = item.list_of("[LOW, HIGH, COUNT]")?;
            let (low, high, count) = (
                low.angle()?,
                high.angle()?,
                whole(&count, 2.0, MOST_VALUES)?,
            );
            let share = |k: f64| k / (count - 1.0);
            let values = (0..count as usize).map(|k| k as f64);
            Spread::Values(
                values
                    .map(|k| low * (1.0 - share(k)) + high * share(k))
                    .collect(),
            )
        }
    };
    if let Spread::Normal {
        deviation, bounds, ..
    }
    | Spread::LogNormal {
        deviation, bounds, ..
    } = spread
    {
        if deviation <= 0.0 {
            return Err(item.error("must have a positive deviation"));
        }
        if bounds.0 >= bounds.1 {
            return Err(table.source.error(
                item.line(),
                format!("{} has no room between `low` and `high`", table.owner),
            ));
        }
    }
    let ends = [LEAST_SHARE, 0.5, 1.0 - LEAST_SHARE];
    let mut samples = ends.into_iter().filter_map(|share| spread.quantile(share));
    if samples.any(|value| !value.is_finite()) {
        let error = item.error("has samples that are not finite");
        return Err(error.hint("choose numbers that are closer to zero and to each other"));
    }
    Ok(spread)
}

/// The texts of a nonempty list, without repetition.
pub(super) fn texts(list: &Item<'_>, items: &[Item<'_>]) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    for item in items {
        let text = item.text().map_err(|error| {
            error.hint("values are numbers or strings, not both; a number may be quoted, too")
        })?;
        if texts.iter().any(|known| known == text) {
            return Err(list.error(&format!("has `{text}` twice")));
        }
        texts.push(text.into());
    }
    Ok(texts)
}

/// A list of N finite numbers or angles.
fn numbers<const N: usize>(item: &Item<'_>, what: &str) -> Result<[f64; N]> {
    let items: [Item<'_>; N] = item.list_of(what)?;
    let mut numbers = [0.0; N];
    for (number, item) in numbers.iter_mut().zip(&items) {
        *number = item.angle()?;
    }
    Ok(numbers)
}

/// Nondecreasing numbers, of which the last is larger than the first.
fn ordered<const N: usize>(item: &Item<'_>, what: &str) -> Result<[f64; N]> {
    let numbers: [f64; N] = numbers(item, what)?;
    match numbers.is_sorted() && numbers[0] < numbers[N - 1] {
        true => Ok(numbers),
        false => Err(item.error(&format!("must be {what} in this order"))),
    }
}

pub(super) fn settings(run: &Table<'_>) -> Result<Vec<Setting>> {
    let setting = |key: &str, line: usize, item: &Item<'_>, value: &Value| {
        let text = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) if number.is_finite() => Some(number.to_string()),
            _ => None,
        };
        let value = match value {
            Value::Bool(truth) => Some(SettingValue::Truth(*truth)),
            Value::List(nodes) => {
                let texts: Option<Vec<String>> =
                    nodes.iter().map(|node| text(&node.value)).collect();
                texts.map(SettingValue::Texts)
            }
            other => text(other).map(|text| SettingValue::Texts(vec![text])),
        };
        let what = "a number, a string, a list of them, true or false";
        Ok(Setting {
            key: key.replace('_', "-"),
            value: value.ok_or_else(|| item.must_be(what))?,
            place: run.source.place(line),
        })
    };
    let mut found: Vec<Setting> = Vec::new();
    for entry in run.entries() {
        let item = run.require(&entry.key)?;
        let new = setting(&entry.key, entry.line, &item, &entry.node.value)?;
        if found.iter().any(|old| old.key == new.key) {
            return Err(item.error("is given twice"));
        }
        found.push(new);
    }
    Ok(found)
}

pub(super) fn measure(table: &Table<'_>) -> Result<Measure> {
    table.expect_keys(MEASURE_KEYS)?;
    let value = table.require("value")?;
    Ok(Measure {
        name: table.require("name")?.text()?.into(),
        unit: text_or_empty(table, "unit")?,
        formula: value.text()?.into(),
        place: table.source.place(value.line()),
    })
}

/// The names in braces of a text.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
}

impl Setting {
    /// Its texts with the values of parameters in place of their names in braces, with every digit.
    pub fn texts(&self, parameters: &[Parameter], values: &[f64]) -> Vec<String> {
        let SettingValue::Texts(texts) = &self.value else {
            return Vec::new();
        };
        let filled = |text: &String| {
            let pairs = parameters.iter().zip(values);
            pairs.fold(text.clone(), |text, (parameter, value)| {
                let name = format!("{{{}}}", parameter.name);
                text.replace(&name, &parameter.spread.written(*value))
            })
        };
        texts.iter().map(filled).collect()
    }
}
