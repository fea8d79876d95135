//! Many simulations of one structure in one call.

use crate::array::{Numbers, results, states, writable};
use crate::call::Call;
use crate::error::{guarded, raise, refuse};
use crate::model::{Built, PyModel, THREADS};
use crate::simulate::integrator;
use catena::error::{Error, ErrorKind, Result};
use catena::model::Family;
use catena::native::FamilyCode;
use catena::simulate::{Ensemble, EnsembleRun, Members, SimulationOptions};
use catena::{Cpu, Feedback, Model};
use catena_symbolic::generate::CodeOptions;
use catena_symbolic::native;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a call does not look for signals, about.
const PATIENCE: Duration = Duration::from_millis(200);

/// Most families whose code is kept for the next ensemble.
const MOST_KEPT: usize = 8;

/// Code of the families that were run last, by their fingerprints.
static CODES: Mutex<Vec<(u64, FamilyCode)>> = Mutex::new(Vec::new());

/// Code for members with models of their own: what was made for such a family before, or new; none where it cannot be made.
fn family_code(nominal: &Model, members: &[Model]) -> Result<Option<FamilyCode>> {
    let or_none = |error: Error| match error.kind() {
        ErrorKind::Unsupported => Ok(None),
        _ => Err(error),
    };
    let family = match Family::new(nominal, members.iter(), CodeOptions::DUST) {
        Ok(family) => family,
        Err(error) => return or_none(error),
    };
    let kept = || CODES.lock().unwrap_or_else(PoisonError::into_inner);
    let fingerprint = family.fingerprint();
    if let Some((_, code)) = kept().iter().find(|(print, _)| *print == fingerprint) {
        return Ok(Some(code.clone()));
    }
    let code = match native::compile_family(family, members, Cpu::detect()) {
        Ok(code) => code,
        Err(error) => return or_none(error),
    };
    let mut kept = kept();
    if kept.len() == MOST_KEPT {
        kept.remove(0);
    }
    kept.push((fingerprint, code.clone()));
    Ok(Some(code))
}

/// Members that are computed at once at first.
const FIRST: usize = 256;

/// Arguments of all members.
struct All<'a> {
    q: &'a [f64],
    v: &'a [f64],
    feedback: [&'a [f64]; 4],
    models: &'a [Model],
}

impl All<'_> {
    fn run(&self, ensemble: &Ensemble, part: Range<usize>) -> Result<EnsembleRun> {
        let (nq, nv) = (ensemble.model().nq(), ensemble.model().nv());
        let of = |part: &Range<usize>, size: usize| part.start * size..part.end * size;
        let [efforts, targets, stiffness, damping] = self.feedback.map(|x| match x.is_empty() {
            true => x,
            false => &x[of(&part, nv)],
        });
        ensemble.run(&Members {
            q: &self.q[of(&part, nq)],
            v: &self.v[of(&part, nv)],
            feedback: Feedback {
                efforts,
                targets,
                stiffness,
                damping,
            },
            models: match self.models.is_empty() {
                true => &[],
                false => &self.models[part],
            },
        })
    }
}

#[pymethods]
impl PyModel {
    /// Runs an ensemble; gives arrays by name, what failed by member, and why members ran one by one.
    #[pyo3(signature = (q, v, duration, interval, method, rtol, atol, step, tau, target, stiffness, damping, models, compile))]
    fn _ensemble<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        duration: f64,
        interval: f64,
        method: &str,
        rtol: f64,
        atol: Option<f64>,
        step: Option<f64>,
        tau: Option<&Bound<'py, PyAny>>,
        target: Option<&Bound<'py, PyAny>>,
        stiffness: Option<&Bound<'py, PyAny>>,
        damping: Option<&Bound<'py, PyAny>>,
        models: Option<Vec<Bound<'py, PyModel>>>,
        compile: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let built = self.built(py)?;
        guarded(py, || {
            let (nq, nv) = (built.model.nq(), built.model.nv());
            let q = Numbers::new(py, "q", q, nq)?;
            let v = Numbers::or_zero(py, "v", v, nv)?;
            let parts = [
                ("tau", tau),
                ("target", target),
                ("stiffness", stiffness),
                ("damping", damping),
            ];
            let mut feedback = Vec::new();
            for (name, part) in parts {
                feedback.push(Numbers::or_zero(py, name, part, nv)?);
            }
            let own: Option<Vec<Arc<Built>>> = models
                .map(|models| models.iter().map(|m| m.borrow().built(py)).collect())
                .transpose()?;
            let mut arguments = vec![&q, &v];
            arguments.extend(&feedback);
            let rows = states(py, &arguments)?;
            let count = match (rows, &own) {
                (Some(rows), Some(own)) if rows == own.len() || rows == 1 => own.len(),
                (Some(rows), None) => rows,
                (None, Some(own)) => own.len(),
                (None, None) => 1,
                (Some(rows), Some(own)) => {
                    let message = format!("there are {rows} rows and {} models", own.len());
                    return Err(refuse(py, &message, "give one model for each row"));
                }
            };
            let bad = arguments.iter().find_map(|argument| argument.not_finite());
            if let Some((row, ..)) = bad {
                let call = Call::new(py, &built, arguments)?;
                let error = Error::new(ErrorKind::Input, "numbers must be finite");
                return Err(call.explained(&error, row));
            }
            let own: Vec<Model> = (own.iter().flatten())
                .map(|built| built.model.clone())
                .collect();
            let (q, v) = (q.all(count), v.all(count));
            let feedback: Vec<_> = feedback
                .iter()
                .map(|part| match part.slice().is_empty() {
                    true => Default::default(),
                    false => part.all(count),
                })
                .collect();
            let all = All {
                q: &q,
                v: &v,
                feedback: [&feedback[0], &feedback[1], &feedback[2], &feedback[3]],
                models: &own,
            };
            let made = py.detach(|| -> Result<Ensemble> {
                let options = SimulationOptions {
                    integrator: integrator(method, rtol, atol, step)?,
                    duration,
                    interval,
                };
                let ensemble = Ensemble::new(&built.model, options)?.for_models(&own);
                let ensemble = ensemble.threads(THREADS.load(Ordering::Relaxed));
                if !compile {
                    return Ok(ensemble);
                }
                if own.is_empty() {
                    return match built.lanes_code() {
                        Some(code) => ensemble.with_code(code),
                        None => Ok(ensemble),
                    };
                }
                match family_code(&built.model, &own)? {
                    Some(code) => ensemble.with_family_code(&code),
                    None => Ok(ensemble),
                }
            });
            let ensemble = made.map_err(|error| raise(py, &error))?;
            gather(py, &ensemble, &all, count)
        })
    }
}

/// Runs the members in parts, so that the program can be interrupted.
fn gather<'py>(
    py: Python<'py>,
    ensemble: &Ensemble,
    all: &All<'_>,
    count: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (nq, nv) = (ensemble.model().nq(), ensemble.model().nv());
    let (mut first, mut size) = (0, FIRST);
    let mut runs: Vec<EnsembleRun> = Vec::new();
    // an ensemble of nobody has times, too
    while first < count || runs.is_empty() {
        let part = first..(first + size).min(count);
        first = part.end;
        let begin = Instant::now();
        let run = py
            .detach(|| all.run(ensemble, part))
            .map_err(|error| raise(py, &error))?;
        runs.push(run);
        if begin.elapsed() < PATIENCE / 2 {
            size *= 2;
        }
        py.check_signals()?;
    }
    let times = runs[0].times.clone();
    let t = results(py, &[times.len()], None, &[])?;
    writable(&t).copy_from_slice(&times);
    let arrays = [nq, nv, 2].map(|width| results(py, &[count, times.len(), width], None, &[]));
    let [q, v, works] = arrays;
    let (q, v, works) = (q?, v?, works?);
    let errors = results(py, &[count], None, &[])?;
    let steps = results(py, &[count, 3], None, &[])?;
    let failures = PyDict::new(py);
    let mut member = 0;
    for run in &runs {
        for failure in &run.failures {
            let text = failure.error.to_string();
            failures.set_item(member + failure.state, text)?;
        }
        for k in 0..run.count() {
            for time in 0..times.len() {
                let at = member * times.len() + time;
                writable(&q)[at * nq..(at + 1) * nq].copy_from_slice(run.q(k, time));
                writable(&v)[at * nv..(at + 1) * nv].copy_from_slice(run.v(k, time));
                writable(&works)[at * 2..at * 2 + 2].copy_from_slice(&run.integrals(k, time));
            }
            writable(&errors)[member] = run.energy_errors[k];
            let cost = run.statistics[k];
            let cost = [cost.steps, cost.rejected, cost.evaluations].map(|n| n as f64);
            writable(&steps)[3 * member..3 * member + 3].copy_from_slice(&cost);
            member += 1;
        }
    }
    let map = PyDict::new(py);
    map.set_item("t", t)?;
    map.set_item("q", q)?;
    map.set_item("v", v)?;
    map.set_item("works", works)?;
    map.set_item("energy_errors", errors)?;
    map.set_item("costs", steps)?;
    map.set_item("failures", failures)?;
    map.set_item("one_by_one", runs[0].one_by_one.clone())?;
    Ok(map)
}
