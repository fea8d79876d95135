//! Studies: many runs of one model, by index.

use crate::error::{guarded, raise, refuse};
use catena::error::{Error, ErrorKind, Result};
use catena_cli::{Mode, Simulations};
use catena_study::{Sample, Study, carry_out};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long signals wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// A sample: index, values, measures (none if it failed), why it failed.
type Row = (usize, Vec<f64>, Option<Vec<f64>>, Option<String>);

fn row(sample: Sample) -> Row {
    let (measures, failure) = match sample.measures {
        Ok(measures) => (Some(measures), None),
        Err(failure) => (None, Some(failure)),
    };
    (sample.index, sample.values, measures, failure)
}

/// The simulations of a study file.
#[pyclass(module = "catena._catena", frozen)]
pub struct StudyData {
    simulations: Simulations,
}

/// Looks at signals now and then; the exception of one ends the study.
struct Watch {
    next: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    fn new() -> Self {
        Watch {
            next: Instant::now() + PATIENCE,
            raised: None,
        }
    }

    fn look(&mut self) -> Result<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.next = Instant::now() + PATIENCE;
        Python::attach(|py| py.check_signals()).map_err(|error| {
            self.raised = Some(error);
            Error::new(ErrorKind::Input, "the caller has ended the study")
        })
    }

    fn outcome<T>(self, py: Python<'_>, found: Result<T>) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => found.map_err(|error| raise(py, &error)),
        }
    }
}

/// Threads: 0 is as many as there are processors.
fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        wanted => wanted,
    }
}

#[pymethods]
impl StudyData {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        guarded(py, || {
            let made = Study::read(&path).and_then(|study| {
                study.expect_design()?;
                Simulations::new(study)
            });
            let simulations = made.map_err(|error| raise(py, &error))?;
            Ok(StudyData { simulations })
        })
    }

    #[getter]
    fn name(&self) -> String {
        self.simulations.study().name.clone()
    }

    #[getter]
    fn count(&self) -> usize {
        self.simulations.study().sample_count()
    }

    /// Names and units.
    #[getter]
    fn parameters(&self) -> Vec<(String, String)> {
        let parameters = self.simulations.study().parameters.iter();
        parameters
            .map(|p| (p.name.clone(), p.unit.clone()))
            .collect()
    }

    /// Names and units.
    #[getter]
    fn measures(&self) -> Vec<(String, String)> {
        let measures = self.simulations.study().measures.iter();
        measures.map(|m| (m.name.clone(), m.unit.clone())).collect()
    }

    fn values(&self, py: Python<'_>, samples: Vec<usize>) -> PyResult<Vec<Vec<f64>>> {
        self.expect(py, &samples)?;
        let study = self.simulations.study();
        Ok(samples.iter().map(|&index| study.values(index)).collect())
    }

    /// Computes samples; in their order.
    fn run(&self, py: Python<'_>, samples: Vec<usize>, jobs: usize) -> PyResult<Vec<Row>> {
        self.expect(py, &samples)?;
        guarded(py, || {
            let mut watch = Watch::new();
            let mut found = Vec::new();
            let done = py.detach(|| {
                let (study, jobs) = (self.simulations.study(), threads(jobs));
                carry_out(study, &self.simulations, &samples, jobs, |sample| {
                    found.push(sample);
                    watch.look()
                })
            });
            watch.outcome(py, done)?;
            let place = |index: usize| samples.iter().position(|&wanted| wanted == index);
            found.sort_by_key(|sample| place(sample.index));
            Ok(found.into_iter().map(row).collect())
        })
    }

    /// Computes all samples and writes them to a file; `mode` is new, overwrite or resume.
    fn sweep(
        &self,
        py: Python<'_>,
        output: PathBuf,
        mode: &str,
        jobs: usize,
    ) -> PyResult<Vec<Row>> {
        let mode = match mode {
            "resume" => Mode::Resume,
            "overwrite" => Mode::Overwrite,
            _ => Mode::New,
        };
        guarded(py, || {
            let mut watch = Watch::new();
            let done = py.detach(|| {
                let simulations = &self.simulations;
                simulations.carry_out(Some(&output), mode, threads(jobs), |_, _| watch.look())
            });
            let carried = watch.outcome(py, done)?;
            Ok(carried.samples.into_iter().map(row).collect())
        })
    }
}

impl StudyData {
    fn expect(&self, py: Python<'_>, samples: &[usize]) -> PyResult<()> {
        let count = self.simulations.study().sample_count();
        match samples.iter().find(|index| **index >= count) {
            None => Ok(()),
            Some(index) => Err(refuse(
                py,
                &format!("there is no sample {index}"),
                &format!("the study has samples 0 to {}", count - 1),
            )),
        }
    }
}
