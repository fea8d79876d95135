//! The values of a TOML or JSON text, each with its line.

/// A value and the line it starts on.
#[derive(Clone, Debug)]
pub struct Node {
    /// Counted from 1.
    pub line: usize,
    /// What it is.
    pub value: Value,
}

/// The kinds of values of TOML and JSON.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null` (JSON).
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// Date or time (TOML).
    Date,
    /// A list.
    List(Vec<Node>),
    /// A table, its keys in the order of the text.
    Table(Vec<Entry>),
}

/// One key of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The line it is on.
    pub line: usize,
    /// Its value.
    pub node: Node,
}

impl Value {
    /// What it is, for messages.
    pub fn describe(&self) -> String {
        match self {
            Value::Null => "null".into(),
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) if !number.is_finite() => number.to_string(),
            Value::Number(number) => format!("the number {number}"),
            Value::Text(text) => format!("the string \"{text}\""),
            Value::Date => "a date".into(),
            Value::List(list) if list.is_empty() => "an empty list".into(),
            Value::List(list) => format!("a list of {}", list.len()),
            Value::Table(_) => "a table".into(),
        }
    }
}
