//! JSON text as a tree of values with lines.
//!
//! Values are first taken as raw pieces of the text: a piece's address in the text gives its line, and numbers are read
//! from their own digits, correctly rounded.

use crate::lines::Lines;
use crate::tree::{Entry, Node, Value};
use catena::error::{Error, ErrorKind, Place, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Deepest nesting accepted; a model needs seven levels.
const DEEPEST: usize = 32;

/// Parses a JSON document.
pub fn parse(text: &str, lines: &Lines) -> Result<Node> {
    Parsing { text, lines }.node(text, 0)
}

struct Parsing<'a> {
    text: &'a str,
    lines: &'a Lines,
}

impl<'a> Parsing<'a> {
    /// One value, from a piece of the text.
    fn node(&self, piece: &'a str, depth: usize) -> Result<Node> {
        let piece = self.read::<&RawValue>(piece)?.get();
        let line = self.line(piece);
        if depth > DEEPEST {
            return Err(self.error(line, format!("nested more than {DEEPEST} deep")));
        }
        let value = match piece.as_bytes().first() {
            Some(b'{') => {
                let Pairs(pairs) = self.read(piece)?;
                let entries = pairs.into_iter().map(|(key, value)| {
                    Ok(Entry {
                        key: self.read(key.get())?,
                        line: self.line(key.get()),
                        node: self.node(value.get(), depth + 1)?,
                    })
                });
                Value::Table(entries.collect::<Result<_>>()?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = self.read(piece)?;
                let nodes = items
                    .into_iter()
                    .map(|item| self.node(item.get(), depth + 1));
                Value::List(nodes.collect::<Result<_>>()?)
            }
            Some(b'"') => Value::Text(self.read(piece)?),
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Null,
            _ => Value::Number(piece.parse().unwrap_or(f64::NAN)),
        };
        Ok(Node { line, value })
    }

    fn read<T: Deserialize<'a>>(&self, piece: &'a str) -> Result<T> {
        serde_json::from_str(piece).map_err(|error| {
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or(&message);
            // the parser counts lines within the piece
            let line = self.line(piece) + error.line().saturating_sub(1);
            self.error(line.min(self.lines.last()), what.into())
        })
    }

    /// Line on which a piece of the text starts.
    fn line(&self, piece: &str) -> usize {
        let offset = piece.as_ptr() as usize - self.text.as_ptr() as usize;
        self.lines.line(offset)
    }

    fn error(&self, line: usize, what: String) -> Error {
        Error::new(ErrorKind::Syntax, format!("malformed JSON: {what}"))
            .at(Place::new(self.lines.file(), line))
    }
}

/// The keys and values of an object in the order of the file, including repeated keys.
struct Pairs<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Collect).map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Node> {
        parse(text, &Lines::new("x.json", text))
    }

    #[test]
    fn every_value_knows_its_line() {
        let node =
            parsed("\n{\n \"a\": [1,\n 2.5e-3],\n \"b\":\n \"x\\n\\u00e9\"}").expect("good JSON");
        assert_eq!(node.line, 2);
        let Value::Table(entries) = node.value else {
            panic!("a table")
        };
        assert_eq!((entries[0].line, entries[1].line), (3, 5));
        assert_eq!(entries[1].node.line, 6);
        let Value::List(list) = &entries[0].node.value else {
            panic!("a list")
        };
        assert_eq!((list[0].line, list[1].line), (3, 4));
        assert!(matches!(list[1].value, Value::Number(x) if x == 2.5e-3));
        assert!(matches!(&entries[1].node.value, Value::Text(text) if text == "x\n\u{e9}"));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let error = parsed(&deep).expect_err("too deep");
        assert!(error.message().contains("nested more than"), "{error}");
        assert!(parsed(&"[".repeat(200_000)).is_err());
        assert!(parsed(&"{\"a\":".repeat(200_000)).is_err());
    }

    #[test]
    fn errors_within_a_piece_have_the_line_of_the_whole_text() {
        let error = parsed("{\n\"a\":\n\"\\ud800\"}").expect_err("half a surrogate pair");
        assert_eq!(error.place().line, Some(3), "{error}");
    }
}
