//! NumPy arrays in and out: one state or many rows, without a copy where they are plain doubles in rows.

use crate::error::{attribute, exception, refuse};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use std::borrow::Cow;
use std::ops::Range;

/// `catena._convert.numbers`, which converts other objects to arrays of doubles.
static CONVERT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Numbers of results for which there may be no memory: NumPy then raises a `MemoryError`.
const LARGE: usize = 1 << 20;

/// An array of results.
pub type Array<'py> = Bound<'py, PyArrayDyn<f64>>;

/// An argument: the numbers of one state, or a row for each of many.
pub struct Numbers<'py> {
    /// Its name for the caller.
    pub name: Cow<'static, str>,
    array: Option<Array<'py>>,
    /// Numbers per state.
    pub width: usize,
    /// Number of rows; `None` for a single state.
    pub rows: Option<usize>,
}

impl<'py> Numbers<'py> {
    /// The argument `name`: `width` numbers, or rows of as many.
    pub fn new(
        py: Python<'py>,
        name: impl Into<Cow<'static, str>>,
        x: &Bound<'py, PyAny>,
        width: usize,
    ) -> PyResult<Self> {
        let name = name.into();
        let array = plain(py, &name, x)?;
        let rows = match *array.shape() {
            [n] if n == width => None,
            [rows, n] if n == width => Some(rows),
            ref shape => {
                let expected = format!("({width},) or (N, {width})");
                return Err(wrong_shape(py, &name, &expected, shape));
            }
        };
        Ok(Numbers {
            name,
            array: Some(array),
            width,
            rows,
        })
    }

    /// An argument of any shape, an array that [`plain`] gave.
    pub fn of_array(name: &'static str, array: Array<'py>) -> Self {
        Numbers {
            name: name.into(),
            width: array.shape().last().copied().unwrap_or(1),
            rows: None,
            array: Some(array),
        }
    }

    /// An argument that may be left out, for zeros.
    pub fn or_zero(
        py: Python<'py>,
        name: &'static str,
        x: Option<&Bound<'py, PyAny>>,
        width: usize,
    ) -> PyResult<Self> {
        match x {
            Some(x) if !x.is_none() => Numbers::new(py, name, x, width),
            _ => Ok(Numbers {
                name: name.into(),
                array: None,
                width,
                rows: None,
            }),
        }
    }

    /// The numbers; empty where zeros are meant.
    #[allow(unsafe_code)]
    pub fn slice(&self) -> &[f64] {
        match &self.array {
            None => &[],
            // SAFETY: the array is contiguous and aligned (see `plain`) and is kept alive here. Nobody in this thread writes to it
            // while the slice lives. A program that writes to its arguments in another thread during a call races with it in any
            // NumPy extension; numbers are then undefined, memory is not.
            Some(array) => unsafe { array.as_slice() }.unwrap_or(&[]),
        }
    }

    /// The rows, for other threads as well.
    pub fn view(&self) -> Rows<'_> {
        Rows {
            numbers: self.slice(),
            width: self.width,
            repeated: self.rows.is_none_or(|rows| rows == 1),
        }
    }

    /// The rows, or the only one, which applies to all states; a row of zeros where nothing is given.
    pub fn given(&self) -> Cow<'_, [f64]> {
        let numbers = self.slice();
        match numbers.is_empty() {
            true => Cow::Owned(vec![0.0; self.width]),
            false => Cow::Borrowed(numbers),
        }
    }

    /// A row for each of n states, repeated where there is only one.
    pub fn all(&self, n: usize) -> Cow<'_, [f64]> {
        let numbers = self.slice();
        match (numbers.is_empty(), self.rows) {
            (true, _) => Cow::Owned(vec![0.0; n * self.width]),
            (_, Some(rows)) if rows == n => Cow::Borrowed(numbers),
            _ => Cow::Owned(numbers.repeat(n)),
        }
    }

    /// The first row with a non-finite number, and its column.
    pub fn not_finite(&self) -> Option<(usize, usize, f64)> {
        let numbers = self.slice();
        let at = numbers.iter().position(|x| !x.is_finite())?;
        Some((at / self.width, at % self.width, numbers[at]))
    }
}

/// The rows of these states, or the only row, which applies to all.
pub fn part<'a>(rows: &'a [f64], width: usize, states: &Range<usize>) -> &'a [f64] {
    match rows.len() == width {
        true => rows,
        false => &rows[states.start * width..states.end * width],
    }
}

/// Rows of numbers.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    numbers: &'a [f64],
    width: usize,
    repeated: bool,
}

impl<'a> Rows<'a> {
    /// An argument that was left out.
    pub const fn nothing() -> Self {
        Rows {
            numbers: &[],
            width: 0,
            repeated: true,
        }
    }

    /// The numbers of state k; a single row applies to all. None where zeros are meant.
    pub fn row(&self, k: usize) -> &'a [f64] {
        match self.repeated || self.numbers.is_empty() {
            true => self.numbers,
            false => &self.numbers[k * self.width..(k + 1) * self.width],
        }
    }
}

/// An array of row-major (C-contiguous) doubles: the argument itself, or a copy of it.
pub fn plain<'py>(py: Python<'py>, name: &str, x: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
    let good =
        |array: &Array<'py>| array.is_c_contiguous() && (array.data() as usize).is_multiple_of(8);
    // a class derived from arrays may have masks or units of its own
    if x.is_exact_instance_of::<PyUntypedArray>()
        && let Ok(array) = x.cast::<PyArrayDyn<f64>>()
        && good(array)
    {
        return Ok(array.clone());
    }
    let convert = CONVERT.get_or_try_init(py, || {
        let module = py.import("catena._convert")?;
        module.getattr("numbers").map(Bound::unbind)
    })?;
    let made = convert.bind(py).call1((name, x))?;
    let array = made.cast_into::<PyArrayDyn<f64>>()?;
    match good(&array) {
        true => Ok(array),
        false => Err(refuse(
            py,
            &format!("{name} cannot be laid out in rows"),
            "pass a plain NumPy array",
        )),
    }
}

/// Number of states of all arguments: none for a single one.
pub fn states(py: Python<'_>, arguments: &[&Numbers<'_>]) -> PyResult<Option<usize>> {
    let mut states: Option<(usize, &str)> = None;
    for argument in arguments {
        let Some(rows) = argument.rows else { continue };
        match states {
            None | Some((1, _)) => states = Some((rows, &argument.name)),
            Some((n, _)) if rows == n || rows == 1 => {}
            Some((n, first)) => {
                let message = format!(
                    "{first} has {n} rows and {} has {rows}: give one row or equal numbers of rows",
                    argument.name
                );
                let shape = |rows: usize| shown(&[rows, argument.width]);
                let attributes = [
                    ("argument", attribute(py, &*argument.name)),
                    ("expected", attribute(py, shape(n))),
                    ("given", attribute(py, shape(rows))),
                ];
                return Err(exception(py, "ShapeError", &message, &attributes));
            }
        }
    }
    Ok(states.map(|(n, _)| n))
}

/// An array of these numbers.
pub fn array<'py>(py: Python<'py>, numbers: &[f64]) -> PyResult<Array<'py>> {
    let array = results(py, &[numbers.len()], None, &[])?;
    writable(&array).copy_from_slice(numbers);
    Ok(array)
}

/// An array for results of this shape: a new one, or the caller's, which shares no memory with the arguments.
#[allow(unsafe_code)]
pub fn results<'py>(
    py: Python<'py>,
    shape: &[usize],
    out: Option<&Bound<'py, PyAny>>,
    arguments: &[&Numbers<'_>],
) -> PyResult<Array<'py>> {
    let Some(out) = out.filter(|out| !out.is_none()) else {
        if shape.iter().product::<usize>() > LARGE {
            let empty = py.import("numpy")?.getattr("empty")?;
            return Ok(empty
                .call1((PyTuple::new(py, shape)?,))?
                .cast_into::<PyArrayDyn<f64>>()?);
        }
        // SAFETY: the caller fills it, or drops it with an error.
        return Ok(unsafe { PyArrayDyn::new(py, shape, false) });
    };
    let Ok(array) = out.cast::<PyArrayDyn<f64>>() else {
        return Err(refuse(
            py,
            &format!("out must be a NumPy array of float64, not {}", kind_of(out)),
            "make it with `np.empty(shape)`",
        ));
    };
    if array.shape() != shape {
        return Err(wrong_shape(py, "out", &shown(shape), array.shape()));
    }
    if !array.is_c_contiguous() || !(array.data() as usize).is_multiple_of(8) {
        return Err(refuse(
            py,
            "out is not contiguous in rows (C order)",
            "make it with `np.empty(shape)`, and do not slice or transpose it",
        ));
    }
    let flags: bool = array.getattr("flags")?.getattr("writeable")?.extract()?;
    if !flags {
        return Err(refuse(
            py,
            "out is read-only",
            "make it with `np.empty(shape)`",
        ));
    }
    let range = |data: *const f64, len: usize| (data as usize, data as usize + 8 * len);
    let own = range(array.data(), array.len());
    for argument in arguments {
        let numbers = argument.slice();
        let other = range(numbers.as_ptr(), numbers.len());
        if !numbers.is_empty() && own.0 < other.1 && other.0 < own.1 {
            return Err(refuse(
                py,
                &format!("out shares memory with {}", argument.name),
                "results are written while arguments are read: use two arrays",
            ));
        }
    }
    Ok(array.clone())
}

/// The numbers of an array that [`results`] gave. They are owned by NumPy: the array is a handle, and they are taken once from each.
#[allow(unsafe_code, clippy::mut_from_ref)]
pub fn writable<'a>(array: &'a Array<'_>) -> &'a mut [f64] {
    // SAFETY: contiguous, aligned, and no argument of this call lies in it.
    unsafe { array.as_slice_mut() }.unwrap_or(&mut [])
}

/// An argument of the wrong shape.
pub fn wrong_shape(py: Python<'_>, name: &str, expected: &str, given: &[usize]) -> PyErr {
    let given = shown(given);
    let attributes = [
        ("argument", attribute(py, name)),
        ("expected", attribute(py, expected)),
        ("given", attribute(py, &given)),
    ];
    let message = format!("{name} has shape {given}, expected {expected}");
    exception(py, "ShapeError", &message, &attributes)
}

/// A shape as Python writes it.
pub fn shown(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => {
            let list: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", list.join(", "))
        }
    }
}

/// Description of an object, for messages.
pub fn kind_of(x: &Bound<'_, PyAny>) -> String {
    let kind = x
        .get_type()
        .name()
        .map_or("?".to_string(), |name| name.to_string());
    match x.getattr("dtype") {
        Ok(dtype) => format!("{kind} of {dtype}"),
        Err(_) => kind,
    }
}
