//! The values of a TOML or JSON text, each with its line.

/// A value and the line it starts on.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub line: usize,
    pub value: Value,
}

/// The kinds of values of TOML and JSON.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// `null` (JSON).
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    /// Date or time (TOML).
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub line: usize,
    pub node: Node,
}

impl Value {
    /// What it is, for messages.
    pub(crate) fn describe(&self) -> String {
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
