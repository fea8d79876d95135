//! A run that is read from its file, with the contents of one that was just simulated.

use crate::array::{Array, results, writable};
use crate::error::{guarded, raise_as};
use crate::model::Built;
use crate::simulate::{Charted, ENERGIES, charts, no_audit, position_names};
use crate::value::to_python;
use catena::error::{Error, ErrorKind, Place, Result};
use catena_io::ReadOptions;
use catena_io::run::{self, Header, Run, RunWriter};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;
use std::path::Path;

const WORKS: [&str; 2] = ["work", "dissipated"];

/// A run from a file.
#[pyclass(module = "catena._catena", frozen)]
pub struct StoredRun {
    built: Built,
    run: Run,
    audit: Value,
}

/// Reads a run from a file `.csv`, `.parquet` or `.mcap`.
#[pyfunction]
pub fn read_run(py: Python<'_>, path: &str) -> PyResult<StoredRun> {
    guarded(py, || {
        py.detach(|| read(Path::new(path)))
            .map_err(|error| raise_as(py, "InputError", &error))
    })
}

fn read(path: &Path) -> Result<StoredRun> {
    let run = run::read_run(path)?;
    let refuse = |message: String| {
        let place = Place {
            file: Some(path.display().to_string().into()),
            line: None,
        };
        Err(Error::new(ErrorKind::Input, message).at(place))
    };
    let document = &run.header.metadata["model"];
    if !document.is_object() {
        return refuse("the run does not contain its model; `simulate` writes runs that do".into());
    }
    let text = document.to_string();
    let builder =
        catena_io::builder_from_json(&text, "the model of the run", &ReadOptions::default())?;
    // a run has all coordinates of the tree
    let built = Built::new(builder.build()?.with_couplings_as_constraints());
    let audit = run.audit.clone().unwrap_or_else(no_audit);
    let stored = StoredRun { built, run, audit };
    let names = [stored.named("q", true), stored.named("v", false)].concat();
    let names = [names, stored.named("a", false), stored.named("tau", false)].concat();
    let common = ["time"].iter().chain(&ENERGIES).chain(&WORKS);
    let mut needed = common.map(ToString::to_string).chain(names);
    match needed.find(|name| stored.run.column(name).is_none()) {
        Some(name) => refuse(format!(
            "the run has no column `{name}`, which its model needs"
        )),
        None => Ok(stored),
    }
}

impl StoredRun {
    /// Names of the columns of a quantity.
    fn named(&self, key: &str, positions: bool) -> Vec<String> {
        let names = match positions {
            true => position_names(&self.built),
            false => self.freedoms(),
        };
        names.iter().map(|name| format!("{key}.{name}")).collect()
    }

    /// These columns as an array (S, n); a column that is not there is zero.
    fn matrix<'py>(&self, py: Python<'py>, names: &[String]) -> PyResult<Array<'py>> {
        let width = names.len();
        let array = results(py, &[self.run.row_count(), width], None, &[])?;
        let numbers = writable(&array);
        for (k, name) in names.iter().enumerate() {
            let column = self.run.column(name);
            for (i, row) in numbers.chunks_exact_mut(width).enumerate() {
                row[k] = column.map_or(0.0, |column| column[i]);
            }
        }
        Ok(array)
    }
}

#[pymethods]
impl StoredRun {
    /// The samples as arrays, by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let map = PyDict::new(py);
        let times = results(py, &[self.run.row_count()], None, &[])?;
        writable(&times).copy_from_slice(self.run.column("time").unwrap_or_default());
        map.set_item("t", times)?;
        for (name, key) in [
            ("q", "q"),
            ("v", "v"),
            ("a", "a"),
            ("tau", "tau"),
            ("friction", "friction"),
            ("stops", "stop"),
        ] {
            map.set_item(name, self.matrix(py, &self.named(key, key == "q"))?)?;
        }
        map.set_item("energies", self.matrix(py, &ENERGIES.map(String::from))?)?;
        map.set_item("works", self.matrix(py, &WORKS.map(String::from))?)?;
        Ok(map)
    }

    /// Names of the positions.
    #[getter]
    fn positions(&self) -> Vec<String> {
        position_names(&self.built)
    }

    /// Names of the freedoms.
    #[getter]
    fn freedoms(&self) -> Vec<String> {
        let freedoms = self.built.model.freedoms();
        freedoms.iter().map(|dof| dof.name.clone()).collect()
    }

    /// The model as it is stored with the run.
    #[getter]
    fn document(&self) -> String {
        self.run.header.metadata["model"].to_string()
    }

    /// Bytes at the end of the file that were left out.
    #[getter]
    fn dropped(&self) -> u64 {
        self.run.dropped
    }

    /// The audit and the events.
    #[getter]
    fn audit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.audit)
    }

    /// The settings of the run.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run.header.metadata)
    }

    /// True if the run reached its end.
    #[getter]
    fn finished(&self) -> bool {
        self.run.finished
    }

    /// True if the accelerations came from code generated for the model.
    #[getter]
    fn compiled(&self) -> bool {
        self.run.header.metadata["accelerations"] == "compiled"
    }

    /// Names and units of the columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.run.header.columns.iter();
        PyList::new(py, columns.map(|column| (&column.name, &column.unit)))
    }

    /// All columns, a row for each sample.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let columns = self.run.header.columns.iter();
        let names: Vec<String> = columns.map(|column| column.name.clone()).collect();
        self.matrix(py, &names)
    }

    /// Writes the run as `.csv`, `.parquet` or `.mcap`.
    fn save(&self, py: Python<'_>, path: &str, overwrite: bool) -> PyResult<()> {
        guarded(py, || {
            let mut header: Header = self.run.header.clone();
            if !self.run.finished {
                header.metadata["finished"] = false.into();
            }
            py.detach(|| -> Result<()> {
                let mut writer = RunWriter::create(Path::new(path), &header, overwrite)?;
                let rows: Vec<usize> = (0..self.run.row_count()).collect();
                for block in rows.chunks(4096) {
                    let numbers: Vec<f64> = block.iter().flat_map(|&k| self.run.row(k)).collect();
                    writer.block(&numbers, &[])?;
                }
                writer.finish(&self.audit)
            })
            .map_err(|error| raise_as(py, "InputError", &error))
        })
    }

    /// Positions, velocities, efforts and energies over time as SVG.
    fn svg(&self, width: u32, height: u32) -> String {
        let column = |quantity: Charted, k: usize| -> Vec<f64> {
            let name = match quantity {
                Charted::Time => "time".to_string(),
                Charted::Position => self.named("q", true)[k].clone(),
                Charted::Velocity => self.named("v", false)[k].clone(),
                Charted::Effort => self.named("tau", false)[k].clone(),
                Charted::Energy => ENERGIES[k].to_string(),
            };
            self.run.column(&name).unwrap_or_default().to_vec()
        };
        charts(&self.built, column).svg(width, height)
    }
}
