//! Rows as JSON messages.
//!
//! A name like `q.shoulder` becomes the field `shoulder` of the object `q`, because plotting programs write `.` for a step
//! into an object.

use super::Column;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// How the rows of a run look as messages: the text between the numbers.
pub(super) struct Layout {
    /// For each number the text before it and its column.
    fields: Vec<(String, usize)>,
    /// The text after the last number.
    end: &'static str,
}

/// Object and field of a column, if it is put into an object.
fn split<'a>(column: &'a Column, columns: &[Column]) -> Option<(&'a str, &'a str)> {
    let (object, field) = column.name.split_once('.')?;
    let usable = !object.is_empty() && !field.is_empty();
    // A column with the name of the object would make the field appear twice.
    let free = columns.iter().all(|other| other.name != object);
    (usable && free).then_some((object, field))
}

/// The columns of one object, or those in none: index and name of the field.
type Group<'a> = (Option<&'a str>, Vec<(usize, &'a str)>);

/// The columns in the order of the message: those without object, then object by object.
fn groups(columns: &[Column]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = vec![(None, Vec::new())];
    for (index, column) in columns.iter().enumerate() {
        let (object, field) = match split(column, columns) {
            Some((object, field)) => (Some(object), field),
            None => (None, column.name.as_str()),
        };
        match groups.iter_mut().find(|(name, _)| *name == object) {
            Some((_, members)) => members.push((index, field)),
            None => groups.push((object, vec![(index, field)])),
        }
    }
    groups
}

impl Layout {
    pub(super) fn new(columns: &[Column]) -> Self {
        let mut fields = Vec::with_capacity(columns.len());
        let mut before = "{".to_string();
        let mut end = "}";
        for (object, members) in groups(columns) {
            if let Some(object) = object {
                let close = if end == "}}" { "}," } else { "," };
                before = format!("{close}{}:{{", Value::from(object));
                end = "}}";
            }
            for (index, field) in members {
                fields.push((format!("{before}{}:", Value::from(field)), index));
                before = ",".to_string();
            }
        }
        Layout { fields, end }
    }

    /// The message of a row.
    pub(super) fn write(&self, row: &[f64]) -> String {
        let mut text = String::with_capacity(32 * row.len());
        for (before, index) in &self.fields {
            // Writing to a string cannot fail.
            let _ = write!(text, "{before}{:?}", row[*index]);
        }
        text + self.end
    }

    /// The row of a message, if the message is one of ours.
    pub(super) fn read(&self, message: &[u8]) -> Option<Vec<f64>> {
        let mut text = std::str::from_utf8(message).ok()?;
        let mut row = vec![0.0; self.fields.len()];
        for (before, index) in &self.fields {
            text = text.strip_prefix(before.as_str())?;
            let end = text.find([',', '}'])?;
            row[*index] = text[..end]
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())?;
            text = &text[end..];
        }
        (text == self.end).then_some(row)
    }
}

/// The JSON schema of the messages.
pub(super) fn schema(columns: &[Column]) -> String {
    let mut properties = Map::new();
    for (object, members) in groups(columns) {
        let fields = members.into_iter().map(|(index, field)| {
            let unit = match columns[index].unit.as_str() {
                "" => "no unit",
                unit => unit,
            };
            let field_schema = json!({ "type": "number", "description": unit });
            (field.to_string(), field_schema)
        });
        match object {
            None => properties.extend(fields),
            Some(object) => {
                let fields: Map<String, Value> = fields.collect();
                let schema = json!({ "type": "object", "properties": fields });
                properties.insert(object.to_string(), schema);
            }
        }
    }
    json!({ "title": "catena.run", "type": "object", "properties": properties }).to_string()
}
