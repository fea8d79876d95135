//! Many simulations of one structure in one call.

use crate::array::{Numbers, results, states, writable};
use crate::call::{Call, apart, until_raised};
use crate::control::{Raised, actuators, asked_controller};
use crate::error::{raise, refuse};
use crate::model::{Built, PyModel, THREADS};
use crate::simulate::{event_functions, integrator, pushes, stops};
use catena::error::{Error, ErrorKind, Result};
use catena::model::Family;
use catena::native::FamilyCode;
use catena::simulate::{Ensemble, EnsembleRun, EventFunction, Inputs, Members, SimulationOptions};
use catena::{Cpu, Feedback, Model, State};
use catena_symbolic::generate::CodeOptions;
use catena_symbolic::native;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Approximate time between checks for signals.
const PATIENCE: Duration = Duration::from_millis(200);

/// Maximum number of families whose code is kept for the next ensemble.
const MOST_KEPT: usize = 8;

/// Code of the families that were run last, by their fingerprints.
static CODES: Mutex<Vec<(u64, FamilyCode)>> = Mutex::new(Vec::new());

/// Code for members with their own models: cached code of such a family, or new; none where it cannot be generated.
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

/// Members that are computed at once at first, where functions of Python are called.
const FEW: usize = 8;

/// Arguments of all members.
struct All {
    q: Vec<f64>,
    v: Vec<f64>,
    feedback: [Vec<f64>; 4],
    inputs: Vec<Inputs>,
    events: Vec<EventFunction>,
    models: Vec<Model>,
    /// Whether Python functions are called.
    asks: bool,
}

impl All {
    /// A range of the members.
    fn part(&self, model: &Model, part: Range<usize>) -> Members<'_> {
        let (nq, nv) = (model.nq(), model.nv());
        let of = |part: &Range<usize>, size: usize| part.start * size..part.end * size;
        let [efforts, targets, stiffness, damping] =
            (self.feedback.each_ref()).map(|x| match x.is_empty() {
                true => &[],
                false => &x[of(&part, nv)],
            });
        Members {
            q: &self.q[of(&part, nq)],
            v: &self.v[of(&part, nv)],
            feedback: Feedback {
                efforts,
                targets,
                stiffness,
                damping,
            },
            inputs: match self.inputs.is_empty() {
                true => &[],
                false => &self.inputs[part.clone()],
            },
            events: &self.events,
            models: match self.models.is_empty() {
                true => &[],
                false => &self.models[part],
            },
        }
    }
}

/// Inputs of members besides feedback, as `simulate` takes them.
struct Driven<'a, 'py> {
    /// One for all, or one for each.
    controls: &'a [Bound<'py, PyAny>],
    rate: Option<f64>,
    wrenches: Option<&'a Bound<'py, PyAny>>,
    limits: &'a str,
    restitution: Option<&'a Bound<'py, PyAny>>,
    unlimited: bool,
}

impl Driven<'_, '_> {
    fn is_idle(&self) -> bool {
        self.controls.is_empty()
            && self.rate.is_none()
            && self.wrenches.is_none()
            && matches!(self.limits, "ignore" | "report")
            && self.restitution.is_none()
    }

    /// The inputs of a member, with its model and its initial state.
    fn inputs(
        &self,
        py: Python<'_>,
        (member, built): (usize, &Arc<Built>),
        (q, v): (&[f64], &[f64]),
        raised: &Raised,
    ) -> PyResult<Inputs> {
        let start = State::new(&built.model, q, v).map_err(|error| raise(py, &error))?;
        let start = start.of_tree(&built.model);
        let built = built.whole();
        let control = match self.controls {
            [all] => Some(all),
            each => each.get(member),
        };
        let (controller, _) = asked_controller(py, control, &built, &start, raised)?;
        Ok(Inputs {
            actuators: actuators(&controller, &built.model, self.unlimited),
            controller,
            rate: self.rate,
            wrenches: pushes(py, &built, self.wrenches)?,
            stops: stops(py, &built, self.limits, self.restitution)?,
            ..Inputs::default()
        })
    }
}

#[pymethods]
impl PyModel {
    /// Runs an ensemble; gives arrays by name, what failed by member, and why members ran one by one.
    #[pyo3(signature = (q, v, duration, interval, method, rtol, atol, step, tau, target, stiffness, damping, models, compile, controls, rate, wrenches, events, limits, restitution, unlimited))]
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
        controls: Vec<Bound<'py, PyAny>>,
        rate: Option<f64>,
        wrenches: Option<&Bound<'py, PyAny>>,
        events: Option<&Bound<'py, PyDict>>,
        limits: &str,
        restitution: Option<&Bound<'py, PyAny>>,
        unlimited: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let built = self.built(py)?;
        built.guarded(py, || {
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
            let (q, v) = (q.all(count), v.all(count));
            let raised = Raised::default();
            let driven = Driven {
                controls: &controls,
                rate,
                wrenches,
                limits,
                restitution,
                unlimited,
            };
            if controls.len() > 1 && controls.len() != count {
                let message = format!("there are {count} members and {} controls", controls.len());
                return Err(refuse(
                    py,
                    &message,
                    "give one control for all, or one for each",
                ));
            }
            let mut inputs = Vec::new();
            if !driven.is_idle() {
                for member in 0..count {
                    let model = own.as_ref().map_or(&built, |own| &own[member]);
                    let start = (&q[member * nq..][..nq], &v[member * nv..][..nv]);
                    inputs.push(driven.inputs(py, (member, model), start, &raised)?);
                }
            }
            let reports = limits == "report";
            let calls = |map: &Bound<'py, PyDict>| map.values().iter().any(|x| x.is_callable());
            let asks = controls.iter().any(|x| x.is_callable()) || events.is_some_and(calls);
            let events = event_functions(py, &built.whole(), reports, events, &raised)?;
            for (member, own) in own.iter().flatten().enumerate() {
                let reported = event_functions(py, &own.whole(), reports, None, &raised)?;
                if !events.starts_with(&reported) {
                    let message = format!("limits: member {member} has different joint limits");
                    return Err(refuse(
                        py,
                        &message,
                        "limits can be reported if all models have the same ones",
                    ));
                }
            }
            let own: Vec<Model> = (own.iter().flatten())
                .map(|built| built.model.clone())
                .collect();
            let feedback = [0, 1, 2, 3].map(|k| match feedback[k].slice().is_empty() {
                true => Vec::new(),
                false => feedback[k].all(count).into_owned(),
            });
            let all = All {
                q: q.into_owned(),
                v: v.into_owned(),
                feedback,
                inputs,
                events,
                models: own,
                asks,
            };
            let made = py.detach(|| -> Result<Ensemble> {
                let options = SimulationOptions {
                    integrator: integrator(method, rtol, atol, step)?,
                    duration,
                    interval,
                };
                let ensemble = Ensemble::new(&built.model, options)?;
                let ensemble = ensemble.for_members(&all.part(&built.model, 0..count))?;
                let ensemble = ensemble.threads(THREADS.load(Ordering::Relaxed));
                if !compile {
                    return Ok(ensemble);
                }
                if all.models.is_empty() {
                    return match built.lanes_code() {
                        Some(code) => ensemble.with_code(code),
                        None => Ok(ensemble),
                    };
                }
                match family_code(&built.model, &all.models)? {
                    Some(code) => ensemble.with_family_code(&code),
                    None => Ok(ensemble),
                }
            });
            let ensemble = made.map_err(|error| raise(py, &error))?;
            gather(py, &Arc::new((ensemble, all)), count, &raised)
        })
    }
}

/// Runs the members in parts, each on a separate thread, so that the program can be interrupted. A thread that calls functions of Python is not
/// abandoned.
fn gather<'py>(
    py: Python<'py>,
    work: &Arc<(Ensemble, All)>,
    count: usize,
    raised: &Raised,
) -> PyResult<Bound<'py, PyDict>> {
    let (ensemble, all) = &**work;
    let (nq, nv) = (ensemble.model().nq(), ensemble.model().nv());
    let (mut first, mut size) = (0, if all.asks { FEW } else { FIRST });
    let mut runs: Vec<EnsembleRun> = Vec::new();
    // an empty ensemble has times, too
    while first < count || runs.is_empty() {
        let part = first..(first + size).min(count);
        first = part.end;
        let begin = Instant::now();
        let run = match all.asks {
            true => until_raised(py, raised, || {
                ensemble.run(&all.part(ensemble.model(), part))
            })?,
            false => {
                let work = Arc::clone(work);
                apart(py, move || work.0.run(&work.1.part(work.0.model(), part)))?
            }
        };
        runs.push(run.map_err(|error| raise(py, &error))?);
        if let Some(error) = raised.take() {
            return Err(error);
        }
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
    let events = PyList::empty(py);
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
            let happened = run.events[k].iter();
            events.append(PyList::new(
                py,
                happened.map(|event| (&event.name, event.time)),
            )?)?;
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
    map.set_item("events", events)?;
    map.set_item("one_by_one", runs[0].one_by_one.clone())?;
    Ok(map)
}
