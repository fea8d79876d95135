//! TOML text as a tree of values with lines.

use crate::lines::Lines;
use crate::tree::{Entry, Node, Value};
use catena::error::{Error, ErrorKind, Place, Result};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// Parses a TOML document.
pub fn parse(text: &str, lines: &Lines) -> Result<Node> {
    let table = DeTable::parse(text).map_err(|error| {
        let place = match error.span() {
            Some(span) => lines.place(span.start),
            None => Place::new(lines.file(), lines.last()),
        };
        Error::new(
            ErrorKind::Syntax,
            format!("malformed TOML: {}", error.message()),
        )
        .at(place)
    })?;
    Ok(Node {
        line: 1,
        value: entries(table.get_ref(), lines),
    })
}

/// Nesting is limited by the parser (80 levels), so this recursion is bounded.
fn node(value: &Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let converted = match value.get_ref() {
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Integer(integer) => Value::Number(integer_value(integer)),
        DeValue::Float(float) => Value::Number(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(list) => Value::List(list.iter().map(|item| node(item, lines)).collect()),
        DeValue::Table(table) => entries(table, lines),
    };
    Node {
        line: lines.line(value.span().start),
        value: converted,
    }
}

/// The keys in the order of the file.
fn entries(table: &DeTable<'_>, lines: &Lines) -> Value {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let entries = pairs.into_iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        line: lines.line(key.span().start),
        node: node(value, lines),
    });
    Value::Table(entries.collect())
}

/// A decimal integer is read as a decimal fraction: `-0` keeps its sign, and any length is possible.
fn integer_value(integer: &DeInteger<'_>) -> f64 {
    let digits = integer.as_str();
    if integer.radix() == 10 {
        return digits.parse().unwrap_or(f64::NAN);
    }
    u64::from_str_radix(digits, integer.radix()).map_or(f64::NAN, |number| number as f64)
}
