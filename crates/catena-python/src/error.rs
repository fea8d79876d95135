//! Errors of the library as exceptions of the package `catena`.

use catena::error::{Error, ErrorKind};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The module with the classes of the exceptions.
static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// An exception of a class of `catena.errors`, with attributes.
pub fn exception<'py>(
    py: Python<'py>,
    class: &str,
    message: &str,
    attributes: &[(&str, Py<PyAny>)],
) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let module =
            ERRORS.get_or_try_init(py, || py.import("catena.errors").map(Bound::unbind))?;
        let keywords = PyDict::new(py);
        for (name, value) in attributes {
            keywords.set_item(name, value)?;
        }
        let class = module.bind(py).getattr(class)?;
        let value = class.call(PyTuple::new(py, [message])?, Some(&keywords))?;
        Ok(PyErr::from_value(value))
    };
    made().unwrap_or_else(|error| error)
}

/// An attribute of an exception.
pub fn attribute<'py, T: IntoPyObjectExt<'py>>(py: Python<'py>, value: T) -> Py<PyAny> {
    value.into_py_any(py).unwrap_or_else(|_| py.None())
}

/// An error of the library.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::File
        | ErrorKind::Missing
        | ErrorKind::Exists
        | ErrorKind::Syntax
        | ErrorKind::Model
        | ErrorKind::Physics => "ModelError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Singular => "SingularError",
        ErrorKind::Integration => "IntegrationError",
        _ => "InputError",
    };
    raise_as(py, class, error)
}

/// An error of the library as an exception of this class.
pub fn raise_as(py: Python<'_>, class: &str, error: &Error) -> PyErr {
    let place = error.place();
    let attributes = [
        ("file", attribute(py, place.file.as_deref())),
        ("line", attribute(py, place.line)),
        ("hint", attribute(py, error.advice().map(in_python))),
    ];
    exception(py, class, error.message(), &attributes)
}

/// Translates advice about Rust functions and options of the program to the terms of this package.
fn in_python(advice: &str) -> String {
    let words = [
        (
            "State::new",
            "give (w, x, y, z) of unit length; identity is 1, 0, 0, 0",
        ),
        (
            "ClosedChain::consistent_accelerations",
            "give accelerations of the closed mechanism, such as those of `forward`",
        ),
        (
            "`consistent_accelerations`",
            "give accelerations of the closed mechanism, such as those of `forward`",
        ),
        (
            "ClosedChain",
            "`forward`, `forward_derivatives`, `loads`, `simulate` and `inverse(…, actuators=…)` support loops; `open_tree()` gives the tree without them",
        ),
        ("`stabilise`", "find a closed state with `assemble`"),
        (
            "name it among the actuators",
            "give it no effort, add an actuator to the model, or choose unlimited=True: efforts then act on any joint",
        ),
        (
            "`cluster_factorization`",
            "`factor`, `inertia` and both dynamics support couplings; `open_tree()` gives the tree without them",
        ),
        (
            "`operational_inverse`",
            "move away from the singular posture, or use J I⁻¹ Jᵀ with `jacobian` and `inverse_inertia`, which always exists",
        ),
        (
            "[[force]] table",
            "leave its forces out, or use both dynamics, their derivatives or a simulation, which have them",
        ),
    ];
    let options = [
        ("`--rate 1000`", "`rate=1000`"),
        ("`--method bdf`", "`method=\"bdf\"`"),
        (
            "give the command again with --resume",
            "call `sweep` again with resume=True",
        ),
        ("--resume", "resume=True"),
        ("--overwrite", "overwrite=True"),
        ("leave it out with `--ignore ", "name it in `ignore`: `"),
        ("`--strict`", "`strict`"),
        ("`--base`", "`base`"),
        (
            "`--free-base` lets that of a file float",
            "`catena.load(file, base=\"free\")` lets that of a file float",
        ),
        ("`catena info` lists the frames", "`frames` lists them"),
        (
            "`catena info` lists the names",
            "`freedoms`, `frames` and `constraints` list the names",
        ),
    ];
    let found = words.iter().find(|(name, _)| advice.contains(name));
    let told = found.map_or(advice, |(_, words)| words).to_string();
    options.iter().fold(told, |told, (of_program, here)| {
        told.replace(of_program, here)
    })
}

/// Checks that a time is finite.
pub fn instant(py: Python<'_>, time: f64) -> PyResult<()> {
    match time.is_finite() {
        true => Ok(()),
        false => Err(refuse(
            py,
            &format!("time must be a finite number of s, not {time}"),
            "",
        )),
    }
}

/// An error in the caller's usage.
pub fn refuse(py: Python<'_>, message: &str, hint: &str) -> PyErr {
    exception(py, "InputError", message, &[("hint", attribute(py, hint))])
}

/// Runs the function; a panic becomes an exception that asks for a report.
pub fn guarded<T>(py: Python<'_>, function: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(result) => result,
        Err(panic) => Err(broken(py, panic.as_ref())),
    }
}

#[cold]
fn broken(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let words = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(words), _) => (*words).to_string(),
        (_, Some(words)) => words.clone(),
        _ => "no words".to_string(),
    };
    let hint =
        "this is a mistake in catena, not in your program: please report the call and the model";
    exception(
        py,
        "InternalError",
        &format!("catena has failed: {words}"),
        &[("hint", attribute(py, hint))],
    )
}
