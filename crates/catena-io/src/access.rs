//! Typed access to the tree of values: every wrong type, length or key becomes an error with its line.

use crate::angle;
use crate::nearest::advice;
use crate::tree::{Entry, Node, Value};
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::Vec3;
use std::sync::Arc;

/// The file the values come from.
pub struct Source {
    /// Its name in messages.
    pub file: Arc<str>,
    /// Whether plain numbers are degrees where an angle is expected.
    pub degrees: bool,
}

impl Source {
    /// A line of it.
    pub fn place(&self, line: usize) -> Place {
        Place::new(Arc::clone(&self.file), line)
    }

    /// The error for text that is not of the expected form.
    pub fn error(&self, line: usize, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, message).at(self.place(line))
    }
}

/// A table: its keys, and its owner.
pub struct Table<'a> {
    /// The file that contains it.
    pub source: &'a Source,
    /// Its owner in messages, for example "joint `elbow`"; empty for the file itself.
    pub owner: String,
    /// The line it begins on.
    pub line: usize,
    /// Keys that lead to it from the owner, each followed by a dot.
    path: String,
    entries: &'a [Entry],
}

impl<'a> Table<'a> {
    /// A table that is its own owner in messages.
    pub fn new(source: &'a Source, owner: String, node: &'a Node) -> Result<Self> {
        let Value::Table(entries) = &node.value else {
            let who = if owner.is_empty() { "the file" } else { &owner };
            let found = node.value.describe();
            return Err(source.error(node.line, format!("{who} must be a table, not {found}")));
        };
        Ok(Table {
            source,
            owner,
            line: node.line,
            path: String::new(),
            entries,
        })
    }

    /// Checks that every key is one of these and none is repeated.
    pub fn expect_keys(&self, known: &[&str]) -> Result<()> {
        for (index, entry) in self.entries.iter().enumerate() {
            let label = self.label(&entry.key);
            if !known.contains(&entry.key.as_str()) {
                let message = format!("unknown key {label}");
                let error = self.source.error(entry.line, message);
                return Err(error.hint(advice(&entry.key, known)));
            }
            if let Some(first) = self.entries[..index].iter().find(|e| e.key == entry.key) {
                let message = format!("{label} is given twice, first on line {}", first.line);
                return Err(self.source.error(entry.line, message));
            }
        }
        Ok(())
    }

    /// Line of the first of these keys that is present, and the key.
    pub fn first_of<'k>(&self, keys: &[&'k str]) -> Option<(usize, &'k str)> {
        keys.iter().find_map(|&key| {
            let entry = self.entries.iter().find(|entry| entry.key == key)?;
            Some((entry.line, key))
        })
    }

    /// Its keys and values, in the order of the text.
    pub fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// The value of a key, if present.
    pub fn get(&self, key: &str) -> Option<Item<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Item {
            source: self.source,
            owner: self.owner.clone(),
            path: format!("{}{key}", self.path),
            node: &entry.node,
        })
    }

    /// The value of a required key.
    pub fn require(&self, key: &str) -> Result<Item<'a>> {
        self.get(key).ok_or_else(|| {
            let message = format!("{} is missing", self.label(key));
            self.source.error(self.line, message)
        })
    }

    fn label(&self, key: &str) -> String {
        label(&format!("{}{key}", self.path), &self.owner)
    }
}

fn label(path: &str, owner: &str) -> String {
    if owner.is_empty() {
        format!("`{path}`")
    } else {
        format!("`{path}` of {owner}")
    }
}

/// One value and its name in messages.
#[derive(Clone)]
pub struct Item<'a> {
    source: &'a Source,
    owner: String,
    path: String,
    node: &'a Node,
}

impl<'a> Item<'a> {
    /// The line it is on.
    pub fn line(&self) -> usize {
        self.node.line
    }

    /// "`axis` of joint `elbow`".
    pub fn label(&self) -> String {
        label(&self.path, &self.owner)
    }

    /// "`axis` of joint `elbow` must be …".
    pub fn must_be(&self, what: &str) -> Error {
        let message = format!(
            "{} must be {what}, not {}",
            self.label(),
            self.node.value.describe()
        );
        self.source.error(self.node.line, message)
    }

    /// "`axis` of joint `elbow` …", completed by the caller.
    pub fn error(&self, end: &str) -> Error {
        self.source
            .error(self.node.line, format!("{} {end}", self.label()))
    }

    /// Is it a list?
    pub fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    /// A string.
    pub fn text(&self) -> Result<&'a str> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.must_be("a string")),
        }
    }

    /// True or false.
    pub fn truth(&self) -> Result<bool> {
        match self.node.value {
            Value::Bool(truth) => Ok(truth),
            _ => Err(self.must_be("true or false")),
        }
    }

    /// A finite number.
    pub fn number(&self) -> Result<f64> {
        match self.node.value {
            Value::Number(number) if number.is_finite() => Ok(number),
            Value::Number(_) => Err(self.must_be("a finite number")),
            _ => Err(self.must_be("a number")),
        }
    }

    /// Radians: a number in the file's unit, or a string with its own unit.
    pub fn angle(&self) -> Result<f64> {
        match &self.node.value {
            Value::Number(_) if self.source.degrees => self.number().map(f64::to_radians),
            Value::Number(_) => self.number(),
            Value::Text(text) => angle::parse(text).ok_or_else(|| {
                self.must_be("an angle").hint(
                    "write a plain number, or a string such as \"90deg\", \"0.5rad\" or \"pi/2\"",
                )
            }),
            _ => Err(self.must_be("an angle")),
        }
    }

    /// An angle (radians) or a plain number.
    pub fn coordinate(&self, is_angle: bool) -> Result<f64> {
        if is_angle {
            self.angle()
        } else {
            self.number()
        }
    }

    /// A coordinate that may be infinite; JSON writes that as a string.
    pub fn bound(&self, is_angle: bool) -> Result<f64> {
        match &self.node.value {
            Value::Number(number) if number.is_infinite() => Ok(*number),
            Value::Text(text) if text == "inf" => Ok(f64::INFINITY),
            Value::Text(text) if text == "-inf" => Ok(f64::NEG_INFINITY),
            _ => self.coordinate(is_angle),
        }
    }

    /// Is it the word "none"?
    pub fn is_none(&self) -> bool {
        matches!(&self.node.value, Value::Text(text) if text == "none")
    }

    /// The items of a list.
    pub fn list(&self) -> Result<Vec<Item<'a>>> {
        let Value::List(nodes) = &self.node.value else {
            return Err(self.must_be("a list"));
        };
        let items = nodes.iter().enumerate().map(|(index, node)| Item {
            path: format!("{}[{index}]", self.path),
            node,
            ..self.clone()
        });
        Ok(items.collect())
    }

    /// A list of exactly N items.
    pub fn list_of<const N: usize>(&self, what: &str) -> Result<[Item<'a>; N]> {
        if !self.is_list() {
            return Err(self.must_be(what));
        }
        self.list()?.try_into().map_err(|_| self.must_be(what))
    }

    /// A list of exactly N numbers.
    pub fn numbers<const N: usize>(&self) -> Result<[f64; N]> {
        let items: [Item<'_>; N] = self.list_of(&format!("a list of {N} numbers"))?;
        let mut numbers = [0.0; N];
        for (number, item) in numbers.iter_mut().zip(&items) {
            *number = item.number()?;
        }
        Ok(numbers)
    }

    /// Three numbers.
    pub fn vector(&self) -> Result<Vec3<f64>> {
        self.numbers().map(Vec3::from_array)
    }

    /// Three rows of three numbers.
    pub fn matrix(&self) -> Result<[[f64; 3]; 3]> {
        let items: [Item<'_>; 3] = self.list_of("3 rows of 3 numbers")?;
        let mut rows = [[0.0; 3]; 3];
        for (row, item) in rows.iter_mut().zip(&items) {
            *row = item.numbers()?;
        }
        Ok(rows)
    }

    /// A table below a key.
    pub fn table(&self, what: &str) -> Result<Table<'a>> {
        let Value::Table(entries) = &self.node.value else {
            return Err(self.must_be(what));
        };
        Ok(Table {
            source: self.source,
            owner: self.owner.clone(),
            line: self.node.line,
            path: format!("{}.", self.path),
            entries,
        })
    }

    /// A list of tables; each is named by its `name`, or by its number.
    pub fn tables(&self, kind: &str) -> Result<Vec<Table<'a>>> {
        if !self.is_list() {
            let error = self.must_be("a list of tables");
            return Err(error.hint(format!(
                "write [[{kind}]] in TOML, a list of objects in JSON"
            )));
        }
        let items = self.list()?;
        let tables = items.iter().enumerate().map(|(index, item)| {
            let owner = match named(item.node) {
                Some(name) => format!("{kind} `{name}`"),
                None => format!("{kind} {}", index + 1),
            };
            Table::new(self.source, owner, item.node)
        });
        tables.collect()
    }
}

/// The text under `name`, if there is one.
fn named(node: &Node) -> Option<&str> {
    let Value::Table(entries) = &node.value else {
        return None;
    };
    entries
        .iter()
        .find_map(|entry| match (&entry.key[..], &entry.node.value) {
            ("name", Value::Text(name)) => Some(&name[..]),
            _ => None,
        })
}
