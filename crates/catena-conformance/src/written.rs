//! Readable JSON text: short lists on one line, long ones and objects over several.

use super::report::Numbers;
use std::fmt::Write;

/// Longest list that is written on one line.
const WIDTH: usize = 100;

/// A value as it is written.
pub(super) enum Written {
    Number(f64),
    Whole(i64),
    Text(String),
    List(Vec<Written>),
    Object(Vec<(&'static str, Written)>),
}

impl From<Numbers> for Written {
    fn from(numbers: Numbers) -> Self {
        match numbers {
            Numbers::One(number) => Written::Number(number),
            Numbers::List(items) => Written::List(items.into_iter().map(Into::into).collect()),
        }
    }
}

impl Written {
    pub(super) fn numbers(numbers: impl Into<Numbers>) -> Self {
        numbers.into().into()
    }

    pub(super) fn text(text: &str) -> Self {
        Written::Text(text.into())
    }

    /// The value as JSON, with a newline at the end.
    pub(super) fn to_json(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, depth: usize) {
        match self {
            Written::Number(number) => {
                // enough digits to read the same number back
                let _ = write!(text, "{number:?}");
            }
            Written::Whole(number) => {
                let _ = write!(text, "{number}");
            }
            Written::Text(string) => text.push_str(&quoted(string)),
            Written::List(items) => {
                if let Some(line) = self.on_one_line() {
                    text.push_str(&line);
                } else {
                    block(text, depth, ['[', ']'], items, |text, item| {
                        item.write(text, depth + 1);
                    });
                }
            }
            Written::Object(pairs) => {
                block(text, depth, ['{', '}'], pairs, |text, (key, value)| {
                    let _ = write!(text, "{}: ", quoted(key));
                    value.write(text, depth + 1);
                });
            }
        }
    }

    /// A list of numbers, or of short lists of numbers, if it is short enough.
    fn on_one_line(&self) -> Option<String> {
        match self {
            Written::List(items) => {
                let mut line = String::from("[");
                for (index, item) in items.iter().enumerate() {
                    line += if index == 0 { "" } else { ", " };
                    line += &item.on_one_line()?;
                    if line.len() > WIDTH {
                        return None;
                    }
                }
                Some(line + "]")
            }
            Written::Object(_) => None,
            other => {
                let mut text = String::new();
                other.write(&mut text, 0);
                Some(text)
            }
        }
    }
}

fn block<T>(
    text: &mut String,
    depth: usize,
    [open, close]: [char; 2],
    items: &[T],
    mut write_item: impl FnMut(&mut String, &T),
) {
    text.push(open);
    for (index, item) in items.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        write_item(text, item);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(close);
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
