//! Typed access to the values of a case: every wrong type, length or key becomes an error with its line and its path in
//! the file, such as `samples[1].expected.tau[3]`.

use super::noise::shaken_model;
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::{Sym3, Vec3};
use catena::{Model, ModelBuilder};
use catena_io::document::{Entry, Lines, Node, Value, advice};
use std::sync::Arc;

/// Keys for information only, allowed in any object.
const INFORMATION: &[&str] = &["name", "notes", "title"];

/// Is a key for information only?
pub(super) fn informs(key: &str) -> bool {
    INFORMATION.contains(&key)
}

/// A value of the case and the path that leads to it.
#[derive(Clone)]
pub(super) struct Element<'a> {
    file: Arc<str>,
    /// Number of the perturbed copy it belongs to; 0 is the case as given.
    copy: u64,
    path: String,
    node: &'a Node,
}

impl<'a> Element<'a> {
    /// The case as a whole, as given (0) or one of its perturbed copies.
    pub(super) fn root(lines: &Lines, copy: u64, node: &'a Node) -> Self {
        Element {
            file: lines.file(),
            copy,
            path: String::new(),
            node,
        }
    }

    /// The model that this element describes, perturbed in a perturbed copy of the case.
    pub(super) fn build(&self, builder: &ModelBuilder) -> Result<Model> {
        let model = builder.build().map_err(|error| self.blame(error))?;
        Ok(match self.copy {
            0 => model,
            copy => shaken_model(&model, copy),
        })
    }

    /// Path in the file; empty for the case as a whole.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Line it starts on.
    pub(super) fn place(&self) -> Place {
        Place::new(Arc::clone(&self.file), self.node.line)
    }

    /// "`model.gravity` …", completed by the caller.
    pub(super) fn error(&self, end: impl AsRef<str>) -> Error {
        self.error_of(ErrorKind::Syntax, end)
    }

    /// An error about this element, of the given kind.
    pub(super) fn error_of(&self, kind: ErrorKind, end: impl AsRef<str>) -> Error {
        let message = format!("{} {}", self.label(), end.as_ref());
        Error::new(kind, message).at(self.place())
    }

    /// An error from elsewhere that this element caused.
    pub(super) fn blame(&self, error: Error) -> Error {
        let message = format!("{}: {}", self.label(), error.message());
        let blamed = Error::new(error.kind(), message).at(self.place());
        match error.advice() {
            Some(hint) => blamed.hint(hint),
            None => blamed,
        }
    }

    /// Adds this element's location to an error that has none yet.
    pub(super) fn blame_unplaced(&self, error: Error) -> Error {
        if *error.place() == Place::default() {
            self.blame(error)
        } else {
            error
        }
    }

    fn label(&self) -> String {
        if self.path.is_empty() {
            "the case".into()
        } else {
            format!("`{}`", self.path)
        }
    }

    fn must_be(&self, what: &str) -> Error {
        self.error(format!(
            "must be {what}, not {}",
            self.node.value.describe()
        ))
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.must_be("a string")),
        }
    }

    /// A finite number.
    pub(super) fn number(&self) -> Result<f64> {
        match self.node.value {
            Value::Number(number) if number.is_finite() => Ok(number),
            Value::Number(_) => Err(self.must_be("a finite number")),
            _ => Err(self.must_be("a number")),
        }
    }

    /// A whole number in `low..count`.
    pub(super) fn index(&self, low: i64, count: usize) -> Result<i64> {
        let number = self.number()?;
        let whole = number as i64;
        if whole as f64 == number && whole >= low && whole < count as i64 {
            Ok(whole)
        } else {
            Err(self.must_be(&format!(
                "a whole number from {low} to {}",
                count as i64 - 1
            )))
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.node.value, Value::Null)
    }

    /// The items of a list.
    pub(super) fn list(&self) -> Result<Vec<Element<'a>>> {
        let Value::List(nodes) = &self.node.value else {
            return Err(self.must_be("a list"));
        };
        let items = nodes.iter().enumerate().map(|(index, node)| Element {
            file: Arc::clone(&self.file),
            copy: self.copy,
            path: format!("{}[{index}]", self.path),
            node,
        });
        Ok(items.collect())
    }

    /// The items of a list of known length.
    pub(super) fn list_of(&self, count: usize, what: &str) -> Result<Vec<Element<'a>>> {
        match &self.node.value {
            Value::List(nodes) if nodes.len() == count => self.list(),
            _ => Err(self.must_be(&format!("a list of {count} {what}"))),
        }
    }

    /// A list of finite numbers of known length.
    pub(super) fn numbers(&self, count: usize) -> Result<Vec<f64>> {
        self.list_of(count, "numbers")?
            .iter()
            .map(Element::number)
            .collect()
    }

    pub(super) fn vector(&self) -> Result<Vec3<f64>> {
        let [x, y, z] = self.array()?;
        Ok(Vec3::new(x, y, z))
    }

    fn array<const N: usize>(&self) -> Result<[f64; N]> {
        let mut array = [0.0; N];
        array.copy_from_slice(&self.numbers(N)?);
        Ok(array)
    }

    /// A vector of length 1; that in the file may have any nonzero length.
    pub(super) fn direction(&self) -> Result<Vec3<f64>> {
        let vector = self.vector()?;
        let unit = vector.unit().filter(|_| vector.norm() >= 1e-12);
        unit.ok_or_else(|| self.error("is not a direction: it has no usable length"))
    }

    /// A unit quaternion (w, x, y, z); that in the file may have any nonzero length.
    pub(super) fn quaternion(&self) -> Result<[f64; 4]> {
        let quaternion: [f64; 4] = self.array()?;
        unit(quaternion).ok_or_else(|| self.error("is not a rotation: it has no usable length"))
    }

    /// A symmetric 3×3 matrix, given in full.
    pub(super) fn symmetric(&self) -> Result<Sym3<f64>> {
        let rows = self.list_of(3, "rows of 3 numbers")?;
        let mut a = [[0.0; 3]; 3];
        for (row, element) in a.iter_mut().zip(&rows) {
            *row = element.array()?;
        }
        let largest = a.iter().flatten().fold(0.0f64, |max, x| max.max(x.abs()));
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            if (a[i][j] - a[j][i]).abs() > 1e-12 * largest {
                let message = format!("is not symmetric: {} and {}", a[i][j], a[j][i]);
                return Err(self.error(message));
            }
        }
        let [[xx, xy, xz], [_, yy, yz], [_, _, zz]] = a;
        Ok(Sym3::new(xx, yy, zz, xy, xz, yz))
    }

    /// An object whose keys are all among these.
    pub(super) fn object(&self, known: &[&str]) -> Result<Object<'a>> {
        let object = self.open_object()?;
        for entry in object.entries {
            let key = entry.key.as_str();
            if !known.contains(&key) && !informs(key) {
                let error = object.child(entry).error("is not known here");
                return Err(error.hint(advice(key, known)));
            }
        }
        Ok(object)
    }

    /// An object with any keys, each given once.
    pub(super) fn open_object(&self) -> Result<Object<'a>> {
        let Value::Table(entries) = &self.node.value else {
            return Err(self.must_be("an object"));
        };
        let object = Object {
            element: self.clone(),
            entries,
        };
        for (index, entry) in entries.iter().enumerate() {
            if entries[..index].iter().any(|other| other.key == entry.key) {
                return Err(object.child(entry).error("is given twice"));
            }
        }
        Ok(object)
    }
}

/// An object of the case.
#[derive(Clone)]
pub(super) struct Object<'a> {
    pub element: Element<'a>,
    entries: &'a [Entry],
}

impl<'a> Object<'a> {
    /// The value of a key, unless it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<Element<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(self.child(entry)).filter(|element| !element.is_null())
    }

    /// The value of a required key.
    pub(super) fn require(&self, key: &str) -> Result<Element<'a>> {
        self.get(key).ok_or_else(|| {
            let path = self.path_of(key);
            Error::new(ErrorKind::Syntax, format!("`{path}` is missing")).at(self.element.place())
        })
    }

    /// Names and values of expected quantities in the order of the file, each name with a prefix; none at all is an error.
    pub(super) fn quantities(&self, prefix: &str) -> Result<Vec<(String, Element<'a>)>> {
        if self.entries.is_empty() {
            return Err(self.element.error("is empty: there is nothing to compare"));
        }
        let entries = self.entries.iter();
        Ok(entries
            .map(|entry| (format!("{prefix}{}", entry.key), self.child(entry)))
            .collect())
    }

    fn child(&self, entry: &'a Entry) -> Element<'a> {
        Element {
            file: Arc::clone(&self.element.file),
            copy: self.element.copy,
            path: self.path_of(&entry.key),
            node: &entry.node,
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.element.path.is_empty() {
            key.into()
        } else {
            format!("{}.{key}", self.element.path)
        }
    }
}

fn unit(quaternion: [f64; 4]) -> Option<[f64; 4]> {
    // scaled first, so that the squares neither overflow nor vanish
    let largest = quaternion.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    if largest < 1e-12 {
        return None;
    }
    let scaled = quaternion.map(|x| x / largest);
    let length = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
    Some(scaled.map(|x| x / length))
}
