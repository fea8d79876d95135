//! Values of the attributes of an element, set by the element itself or by its class.

use super::tree::Node;
use crate::nearest::advice;
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::Vec3;
use std::collections::BTreeMap;

/// An attribute set in a default class, and where.
#[derive(Clone)]
pub(super) struct Setting {
    /// The value as written.
    pub(super) value: String,
    /// Location of the value.
    pub(super) place: Place,
}

/// The attributes that a class gives to one kind of element.
pub(super) type Settings = BTreeMap<String, Setting>;

/// An element over the settings of its class.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'t> {
    pub(super) node: Node<'t>,
    class: Option<&'t Settings>,
}

impl<'t> Attributes<'t> {
    /// The element with the settings of its class.
    pub(super) fn new(node: Node<'t>, class: Option<&'t Settings>) -> Self {
        Attributes { node, class }
    }

    /// The element only.
    pub(super) fn own(node: Node<'t>) -> Self {
        Attributes { node, class: None }
    }

    /// The value of an attribute.
    pub(super) fn text(&self, key: &str) -> Option<&'t str> {
        self.find(key).map(|(value, _)| value)
    }

    fn find(&self, key: &str) -> Option<(&'t str, &'t Place)> {
        if let Some(value) = self.node.attribute(key) {
            return Some((value, self.node.place()));
        }
        let setting = self.class?.get(key)?;
        Some((&setting.value, &setting.place))
    }

    /// A required attribute.
    pub(super) fn require(&self, key: &str) -> Result<&'t str> {
        self.text(key).ok_or_else(|| self.missing(key))
    }

    /// The error for a missing required attribute.
    pub(super) fn missing(&self, key: &str) -> Error {
        let message = format!("{} has no attribute `{key}`", self.node.describe());
        self.node.error(ErrorKind::Syntax, message)
    }

    /// A number.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>> {
        let numbers = self.numbers::<1>(key)?;
        Ok(numbers.map(|[number]| number))
    }

    /// A number, or its default.
    pub(super) fn number_or(&self, key: &str, otherwise: f64) -> Result<f64> {
        Ok(self.number(key)?.unwrap_or(otherwise))
    }

    /// Three numbers.
    pub(super) fn vector(&self, key: &str) -> Result<Option<Vec3<f64>>> {
        Ok(self.numbers(key)?.map(Vec3::from_array))
    }

    /// A given number of numbers.
    pub(super) fn numbers<const N: usize>(&self, key: &str) -> Result<Option<[f64; N]>> {
        let Some(list) = self.list(key)? else {
            return Ok(None);
        };
        match <[f64; N]>::try_from(&list[..]) {
            Ok(numbers) => Ok(Some(numbers)),
            Err(_) => {
                let s = if N == 1 { "" } else { "s" };
                let found = list.len();
                Err(self.error(key, &format!("must have {N} number{s}, not {found}")))
            }
        }
    }

    /// Any number of numbers.
    pub(super) fn list(&self, key: &str) -> Result<Option<Vec<f64>>> {
        let Some(written) = self.text(key) else {
            return Ok(None);
        };
        let number = |word: &str| match word.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(self.error(key, "must be finite")),
            Err(_) => Err(self.error(key, "is not a list of numbers")),
        };
        written
            .split_whitespace()
            .map(number)
            .collect::<Result<_>>()
            .map(Some)
    }

    /// One of the allowed words.
    pub(super) fn keyword<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>> {
        let Some(written) = self.text(key) else {
            return Ok(None);
        };
        match words.iter().find(|(word, _)| *word == written) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                Err(self
                    .error(key, "is not known")
                    .hint(advice(written, &known)))
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.keyword(key, &[("true", true), ("false", false)])
    }

    /// Whether a limit applies. `auto`, the default, applies it where a range is given, unless `autolimits` is off.
    pub(super) fn limited(&self, key: &str, range: &str, autolimits: bool) -> Result<bool> {
        let word = self.keyword(
            key,
            &[("true", Some(true)), ("false", Some(false)), ("auto", None)],
        )?;
        Ok(word
            .flatten()
            .unwrap_or(autolimits && self.text(range).is_some()))
    }

    /// The error in an attribute, at the place where it is set.
    pub(super) fn error(&self, key: &str, what: &str) -> Error {
        let (value, place) = self.find(key).unwrap_or(("", self.node.place()));
        let message = format!("`{key}` of {} {what}: \"{value}\"", self.node.describe());
        Error::new(ErrorKind::Syntax, message).at(place.clone())
    }
}
