//! How far the computed quantities are from the expected ones.

use super::element::Element;
use catena::Matrix;
use catena::error::Result;
use catena::residual::larger;
use catena::spatial::{Mat3, Vec3};
use std::fmt;

/// Largest accepted difference, relative to the scale of the entry it is found in.
pub const TOLERANCE: f64 = 1e-10;

/// Largest accepted relative difference in simulations, in which errors accumulate.
pub const SIMULATION_TOLERANCE: f64 = 1e-8;

/// The worst difference of one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Name of the quantity in the case.
    pub name: String,
    /// Absolute difference in the worst entry.
    pub worst: f64,
    /// Reference for that difference: the size of the entry or, where that is larger, the noise of the
    /// quantity over the tolerance, so that differences within the noise are accepted.
    pub scale: f64,
    /// `worst` / `scale`; 0 where nothing differs, non-finite where the result is unusable.
    pub relative: f64,
    /// Largest `relative` that is accepted.
    pub tolerance: f64,
    /// Path of the worst entry in the case.
    pub where_: String,
    /// Is `relative` within the tolerance?
    pub ok: bool,
}

/// The result of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Identifier of the case.
    pub id: String,
    /// Kind of the case.
    pub kind: String,
    /// Title of the case.
    pub title: String,
    /// Every quantity that was compared, in the order of the case.
    pub quantities: Vec<Quantity>,
    /// Number of states compared.
    pub samples: usize,
    /// Methods by which accelerations and loads were computed and compared, where there are several.
    pub routes: Vec<String>,
}

impl Report {
    /// Whether anything was compared, and all of it is within its tolerance.
    pub fn passed(&self) -> bool {
        !self.quantities.is_empty() && self.quantities.iter().all(|quantity| quantity.ok)
    }

    /// The quantity with the largest difference relative to its tolerance.
    pub fn worst(&self) -> Option<&Quantity> {
        let mut worst: Option<&Quantity> = None;
        for quantity in &self.quantities {
            if worst.is_none_or(|worst| exceeds(quantity.relative, worst.relative)) {
                worst = Some(quantity);
            }
        }
        worst
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.samples == 1 { "" } else { "s" };
        writeln!(
            f,
            "{} ({}, {} sample{plural}): {}",
            self.id, self.kind, self.samples, self.title
        )?;
        let width = self.quantities.iter().map(|q| q.name.len()).max();
        let width = width.unwrap_or(0).max("quantity".len());
        writeln!(
            f,
            "  {:width$}  difference  of        relative  tolerance",
            "quantity"
        )?;
        for quantity in &self.quantities {
            write!(
                f,
                "  {:width$}  {:<10.1e}  {:<8.1e}  {:<8.1e}  {:<9.0e}",
                quantity.name,
                quantity.worst,
                quantity.scale,
                quantity.relative,
                quantity.tolerance
            )?;
            if quantity.ok {
                writeln!(f, "  ok")?;
            } else {
                writeln!(f, "  OFF at {}", quantity.where_)?;
            }
        }
        let off: Vec<_> = self.quantities.iter().filter(|q| !q.ok).collect();
        match off[..] {
            _ if self.quantities.is_empty() => write!(f, "  FAILED: nothing was compared"),
            [] => write!(f, "  passed"),
            [_] => write!(f, "  FAILED: `{}` is off", off[0].name),
            _ => {
                let names: Vec<_> = off.iter().map(|q| format!("`{}`", q.name)).collect();
                write!(f, "  FAILED: {} are off", names.join(", "))
            }
        }
    }
}

/// Is a more than b? NaN exceeds everything else.
fn exceeds(a: f64, b: f64) -> bool {
    a > b || (a.is_nan() && !b.is_nan())
}

/// Numbers in the shape of the case.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    One(f64),
    List(Vec<Numbers>),
}

impl Numbers {
    pub(super) fn list<T: Into<Numbers>>(items: impl IntoIterator<Item = T>) -> Self {
        Numbers::List(items.into_iter().map(Into::into).collect())
    }

    /// All numbers, one after another.
    fn flat(&self) -> Vec<f64> {
        match self {
            Numbers::One(number) => vec![*number],
            Numbers::List(items) => items.iter().flat_map(Numbers::flat).collect(),
        }
    }

    /// Largest magnitude.
    pub(super) fn largest(&self) -> f64 {
        let numbers = self.flat().into_iter();
        numbers.fold(0.0, |largest, x| larger(largest, x.abs()))
    }

    /// Largest difference from numbers of the same shape; non-finite where one of them is.
    pub(super) fn distance(&self, other: &Numbers) -> f64 {
        let mut largest = 0.0;
        for (a, b) in self.flat().into_iter().zip(other.flat()) {
            let difference = (a - b).abs();
            if exceeds(difference, largest) {
                largest = difference;
            }
        }
        largest
    }
}

impl From<f64> for Numbers {
    fn from(number: f64) -> Self {
        Numbers::One(number)
    }
}

impl From<Vec3<f64>> for Numbers {
    fn from(vector: Vec3<f64>) -> Self {
        Numbers::list(vector.to_array())
    }
}

impl From<&[f64]> for Numbers {
    fn from(numbers: &[f64]) -> Self {
        Numbers::list(numbers.iter().copied())
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(numbers: Vec<f64>) -> Self {
        Numbers::list(numbers)
    }
}

impl From<Mat3<f64>> for Numbers {
    fn from(matrix: Mat3<f64>) -> Self {
        Numbers::list(matrix.rows().map(Numbers::list))
    }
}

impl From<&Matrix> for Numbers {
    fn from(matrix: &Matrix) -> Self {
        Numbers::list((0..matrix.rows()).map(|i| matrix.row(i)))
    }
}

/// Collects the worst difference of every quantity.
pub(super) struct Comparison {
    pub quantities: Vec<Quantity>,
    pub samples: usize,
    /// Methods that took part.
    pub routes: Vec<String>,
    /// Largest accepted difference, relative to the scale of its entry.
    tolerance: f64,
}

impl Comparison {
    pub(super) fn new(tolerance: f64) -> Self {
        Comparison {
            quantities: Vec::new(),
            samples: 0,
            routes: Vec::new(),
            tolerance,
        }
    }

    /// Records the methods that took part.
    pub(super) fn by(&mut self, routes: &[&str]) {
        for route in routes {
            if !self.routes.iter().any(|known| known == route) {
                self.routes.push((*route).into());
            }
        }
    }

    /// Compares one quantity of one sample, by every method; differences within the noise of the method are accepted.
    pub(super) fn compare(
        &mut self,
        name: &str,
        expected: &Element<'_>,
        routes: &[Numbers],
        noise: &[f64],
    ) -> Result<()> {
        for (route, noise) in routes.iter().zip(noise) {
            let mut entries = Vec::new();
            read_like(expected, route, &mut entries)?;
            if entries.is_empty() {
                self.note(name, expected.path(), 0.0, 0.0);
            }
            for ((path, expected), result) in entries.iter().zip(route.flat()) {
                let scale = expected.abs().max(noise / self.tolerance);
                self.note(name, path, (result - expected).abs(), scale);
            }
        }
        Ok(())
    }

    fn note(&mut self, name: &str, path: &str, worst: f64, scale: f64) {
        let relative = if worst == 0.0 { 0.0 } else { worst / scale };
        let known = self.quantities.iter().position(|q| q.name == name);
        if let Some(at) = known
            && !exceeds(relative, self.quantities[at].relative)
        {
            return;
        }
        let quantity = Quantity {
            name: name.into(),
            worst,
            scale,
            relative,
            tolerance: self.tolerance,
            where_: path.into(),
            ok: relative <= self.tolerance,
        };
        match known {
            Some(at) => self.quantities[at] = quantity,
            None => self.quantities.push(quantity),
        }
    }
}

/// Reads the expected numbers and their paths, which must have the shape of the computed ones.
fn read_like(
    expected: &Element<'_>,
    shape: &Numbers,
    entries: &mut Vec<(String, f64)>,
) -> Result<()> {
    match shape {
        Numbers::One(_) => entries.push((expected.path().into(), expected.number()?)),
        Numbers::List(items) => {
            let what = match items.first() {
                Some(Numbers::List(_)) => "lists",
                _ => "numbers",
            };
            for (item, shape) in expected.list_of(items.len(), what)?.iter().zip(items) {
                read_like(item, shape, entries)?;
            }
        }
    }
    Ok(())
}
