//! The Python package `catena`: every algorithm in one call, one state or ten thousand in the same call.
//!
//! This crate is the module `catena._catena`; the rest of the package is in `python/catena`. Arrays of doubles in rows are read in
//! place. A single state is computed by a cached workspace without releasing the interpreter's lock; many states run in lanes
//! on all processors without it. Panics become exceptions.

mod array;
mod call;
mod complement;
mod control;
mod dynamics;
mod ensemble;
mod error;
mod factor;
mod mechanism;
mod model;
mod reach;
mod simulate;
mod stored;
mod study;
mod symbols;
mod trace;
mod value;

use pyo3::prelude::*;
use std::sync::atomic::Ordering;

/// Maximum number of threads of a call.
const MOST_THREADS: usize = 1024;

/// Sets the number of threads of later batches; 0 uses all processors.
#[pyfunction]
fn set_threads(py: Python<'_>, threads: i64) -> PyResult<()> {
    // every thread has a workspace of its own
    let count = usize::try_from(threads).unwrap_or(usize::MAX);
    if count > MOST_THREADS {
        let message =
            format!("the number of threads must be from 0 to {MOST_THREADS}, not {threads}");
        return Err(error::refuse(py, &message, "0 uses all processors"));
    }
    model::THREADS.store(count, Ordering::Relaxed);
    Ok(())
}

/// The number of threads of batches; 0 means all processors.
#[pyfunction]
fn threads() -> usize {
    model::THREADS.load(Ordering::Relaxed)
}

/// Names and descriptions of the embedded models.
#[pyfunction]
fn embedded_models() -> Vec<(String, String)> {
    catena::model::embedded::NAMES
        .iter()
        .map(|(name, words)| (name.to_string(), words.to_string()))
        .collect()
}

/// Runs the `catena` program with these arguments, its own name first, and returns the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| catena_cli::run(arguments))
}

/// The output of a command of the program; or none, with its error message and hint. Control-C ends the call.
#[pyfunction]
fn answer(
    py: Python<'_>,
    words: Vec<String>,
) -> PyResult<(Option<String>, String, Option<String>)> {
    error::guarded(py, || {
        let found = call::apart(py, move || catena_cli::answer(&words))?;
        Ok(match found {
            Ok(text) => (Some(text), String::new(), None),
            Err(error) => {
                let advice = error.advice().map(str::to_string);
                (None, error.message().to_string(), advice)
            }
        })
    })
}

/// The functions and classes written in Rust.
#[pymodule]
fn _catena(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::PyModel>()?;
    module.add_class::<factor::Factors>()?;
    module.add_class::<simulate::RunData>()?;
    module.add_class::<stored::StoredRun>()?;
    module.add_class::<study::StudyData>()?;
    module.add_class::<study::LedgerData>()?;
    module.add_class::<trace::Term>()?;
    module.add_class::<trace::TracedCode>()?;
    module.add_function(wrap_pyfunction!(trace::trace, module)?)?;
    module.add_function(wrap_pyfunction!(stored::read_run, module)?)?;
    module.add_function(wrap_pyfunction!(mechanism::verify, module)?)?;
    module.add_function(wrap_pyfunction!(study::optimize, module)?)?;
    module.add_function(wrap_pyfunction!(set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(answer, module)?)?;
    module.add_function(wrap_pyfunction!(embedded_models, module)?)?;
    Ok(())
}
