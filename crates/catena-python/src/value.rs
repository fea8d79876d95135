//! Between values of JSON and objects of Python.

use crate::array::kind_of;
use crate::error::refuse;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::{Map, Value};

/// A value of Python as one of a model file. JSON cannot represent non-finite numbers: they are written as strings, which the
/// reader accepts where they make sense.
pub fn from_python(name: &str, x: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = x.py();
    if x.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = x.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if let Ok(text) = x.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if x.is_instance_of::<PyInt>() || x.is_instance_of::<PyFloat>() {
        let number: f64 = x.extract()?;
        let shown = || {
            Value::from(match number {
                n if n.is_nan() => "nan",
                n if n > 0.0 => "inf",
                _ => "-inf",
            })
        };
        return Ok(serde_json::Number::from_f64(number).map_or_else(shown, Value::Number));
    }
    if let Ok(map) = x.cast::<PyDict>() {
        let mut entries = Map::new();
        for (key, value) in map.iter() {
            let key = key.str()?.to_str()?.to_string();
            let value = from_python(&key, &value)?;
            entries.insert(key, value);
        }
        return Ok(Value::Object(entries));
    }
    if x.hasattr("tolist")? {
        return from_python(name, &x.call_method0("tolist")?);
    }
    if let Ok(items) = x.try_iter() {
        let list: PyResult<Vec<Value>> = items.map(|item| from_python(name, &item?)).collect();
        return Ok(Value::Array(list?));
    }
    Err(refuse(
        py,
        &format!("{name}: a {} cannot be part of a model", kind_of(x)),
        "give numbers, text, or lists of them",
    ))
}

/// A whole number.
pub fn whole(py: Python<'_>, name: &str, x: &Bound<'_, PyAny>) -> PyResult<u64> {
    let found = x
        .extract::<u64>()
        .ok()
        .filter(|_| !x.is_instance_of::<PyBool>());
    found.map_or_else(
        || {
            let message = format!("{name} must be a whole number, not {}", x.repr()?);
            Err(refuse(py, &message, "it is at least 0, and below 2⁶⁴"))
        },
        Ok,
    )
}

/// A list of names; one name may stand alone.
pub fn listed(py: Python<'_>, name: &str, x: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(one) = x.cast::<PyString>() {
        return Ok(vec![one.to_str()?.to_string()]);
    }
    x.extract().or_else(|_| {
        let message = format!(
            "{name} must be a name or a list of names, not {}",
            x.repr()?
        );
        Err(refuse(py, &message, ""))
    })
}

/// A value of JSON in Python.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into_bound_py_any(py),
            None => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_bound_py_any(py)
        }
        Value::Object(entries) => {
            let map = PyDict::new(py);
            for (key, value) in entries {
                map.set_item(key, to_python(py, value)?)?;
            }
            map.into_bound_py_any(py)
        }
    }
}
