//! Studies: many runs of one model, by index.

use crate::error::{guarded, raise, refuse};
use crate::value::to_python;
use catena::error::{Error, ErrorKind, Result};
use catena_cli::{Engine, Function, Shipment, Simulations};
use catena_study::{Ledger, Mode, Sample, Spread, carry_out, lines_of};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between checks for signals.
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

/// A measure in Python: its name, what it is, and a function of values, names of columns, and numbers of a run as bytes.
type Measure = (String, String, Py<PyAny>);

fn function((name, text, function): Measure) -> Function {
    let call = move |values: &[f64], columns: &[String], rows: &[f64]| {
        Python::attach(|py| {
            let bytes: Vec<u8> = rows.iter().flat_map(|x| x.to_ne_bytes()).collect();
            let arguments = (values.to_vec(), columns.to_vec(), PyBytes::new(py, &bytes));
            let found = function.call1(py, arguments);
            found
                .and_then(|found| found.extract::<f64>(py))
                .map_err(|error| Error::new(ErrorKind::Input, error.to_string()))
        })
    };
    Function {
        name,
        text,
        call: Box::new(call),
    }
}

fn functions(measures: Vec<Measure>) -> Vec<Function> {
    measures.into_iter().map(function).collect()
}

/// The simulations of a study file.
#[pyclass(module = "catena._catena", frozen)]
pub struct StudyData {
    simulations: Arc<Simulations>,
}

/// The ledger of a study whose samples are computed elsewhere.
#[pyclass(module = "catena._catena", frozen)]
pub struct LedgerData {
    simulations: Arc<Simulations>,
    /// None once it is finished.
    ledger: Mutex<Option<Ledger>>,
}

/// Checks for signals now and then; an exception of one ends the study.
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

/// Number of threads; 0 means one per processor.
fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        wanted => wanted,
    }
}

fn mode_of(name: &str) -> Mode {
    match name {
        "resume" => Mode::Resume,
        "overwrite" => Mode::Overwrite,
        _ => Mode::New,
    }
}

#[pymethods]
impl LedgerData {
    /// Samples that are not there, as pairs of the first and the one after the last.
    #[getter]
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<(usize, usize)>> {
        self.with(py, |_, ledger| {
            let ranges = ledger.missing().into_iter();
            Ok(ranges.map(|range| (range.start, range.end)).collect())
        })
    }

    /// Takes samples, as lines of a journal; returns the number of new ones.
    fn take(&self, py: Python<'_>, lines: &[u8]) -> PyResult<usize> {
        self.with(py, |simulations, ledger| {
            let new = ledger.take_lines(simulations.study(), lines)?;
            Ok(new.len())
        })
    }

    /// Writes the results, once all samples are there.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Row>> {
        let ledger = self.lock().take();
        let ledger = ledger.ok_or_else(|| finished(py))?;
        guarded(py, || {
            let done = py.detach(|| ledger.finish(self.simulations.study()));
            let carried = done.map_err(|error| raise(py, &error))?;
            Ok(carried.samples.into_iter().map(row).collect())
        })
    }
}

fn finished(py: Python<'_>) -> PyErr {
    refuse(py, "the study is finished", "begin it again")
}

impl LedgerData {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Ledger>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&Simulations, &mut Ledger) -> Result<T>,
    ) -> PyResult<T> {
        guarded(py, || {
            // no Python runs while the ledger is locked
            let done = (self.lock().as_mut()).map(|ledger| what(&self.simulations, ledger));
            match done {
                None => Err(finished(py)),
                Some(done) => done.map_err(|error| raise(py, &error)),
            }
        })
    }
}

#[pymethods]
impl StudyData {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        measures: Vec<Measure>,
        record: Vec<String>,
    ) -> PyResult<Self> {
        guarded(py, || {
            let opened = Simulations::open(&path)
                .and_then(|simulations| simulations.with_functions(functions(measures), &record));
            let simulations = opened.map_err(|error| raise(py, &error))?;
            Ok(StudyData {
                simulations: Arc::new(simulations),
            })
        })
    }

    /// A study that another machine has sent.
    #[staticmethod]
    fn unpack(
        py: Python<'_>,
        shipment: &[u8],
        measures: Vec<Measure>,
        record: Vec<String>,
    ) -> PyResult<Self> {
        guarded(py, || {
            let functions = functions(measures);
            let simulations = py.detach(|| Shipment::unpack(shipment, functions, &record));
            let simulations = simulations.map_err(|error| raise(py, &error))?;
            Ok(StudyData {
                simulations: Arc::new(simulations),
            })
        })
    }

    /// The study with its files, for another machine.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(py, || {
            let shipment = Shipment::pack(&self.simulations).map_err(|error| raise(py, &error))?;
            Ok(PyBytes::new(py, &shipment.to_bytes()))
        })
    }

    /// Computes the samples from `first` to before `end` on one thread: as lines of a journal.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        end: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let samples: Vec<usize> = (first..end).collect();
        self.expect(py, &samples)?;
        guarded(py, || {
            let found = self.compute(py, &samples, 1)?;
            Ok(PyBytes::new(py, lines_of(&found).as_bytes()))
        })
    }

    /// Opens the books of the study; `mode` is new, overwrite or resume.
    fn begin(&self, py: Python<'_>, output: PathBuf, mode: &str) -> PyResult<LedgerData> {
        guarded(py, || {
            let simulations = Arc::clone(&self.simulations);
            let opened = simulations.origin().and_then(|origin| {
                Ledger::open(simulations.study(), origin, Some(&output), mode_of(mode))
            });
            let ledger = opened.map_err(|error| raise(py, &error))?;
            Ok(LedgerData {
                simulations,
                ledger: Mutex::new(Some(ledger)),
            })
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

    /// The texts that values of each parameter stand for; none of those whose values are numbers.
    #[getter]
    fn words(&self) -> Vec<Vec<String>> {
        let parameters = self.simulations.study().parameters.iter();
        parameters
            .map(|parameter| match &parameter.spread {
                Spread::Words(words) => words.clone(),
                _ => Vec::new(),
            })
            .collect()
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
            let mut found = self.compute(py, &samples, threads(jobs))?;
            let places = samples.iter().enumerate().rev();
            let places: HashMap<usize, usize> = places.map(|(k, index)| (*index, k)).collect();
            found.sort_by_key(|sample| places.get(&sample.index).copied());
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
        guarded(py, || {
            let mut watch = Watch::new();
            let engine = Engine::Threads(threads(jobs));
            let done = py.detach(|| {
                let simulations = &self.simulations;
                simulations.carry_out(Some(&output), mode_of(mode), &engine, |_, _| watch.look())
            });
            let (carried, _) = watch.outcome(py, done)?;
            Ok(carried.samples.into_iter().map(row).collect())
        })
    }
}

impl StudyData {
    /// Computes samples on this many threads, in any order.
    fn compute(&self, py: Python<'_>, samples: &[usize], threads: usize) -> PyResult<Vec<Sample>> {
        let mut watch = Watch::new();
        let mut found = Vec::new();
        let done = py.detach(|| {
            let simulations = &*self.simulations;
            carry_out(
                simulations.study(),
                simulations,
                samples,
                threads,
                |sample| {
                    found.push(sample);
                    watch.look()
                },
            )
        });
        watch.outcome(py, done)?;
        Ok(found)
    }

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

/// Searches the optimum of a study file; gives what `catena optimize --json` prints.
#[pyfunction]
pub fn optimize(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let found = guarded(py, || {
        let mut watch = Watch::new();
        let found = py.detach(|| catena_cli::search(&path, || watch.look()));
        found.map_err(|error| watch.raised.unwrap_or_else(|| raise(py, &error)))
    })?;
    to_python(py, &found)
}
