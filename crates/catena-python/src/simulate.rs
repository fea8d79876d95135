//! Motion in time: a simulation that Python can drive, watch and interrupt.

use crate::array::{Array, Numbers, results, writable};
use crate::call::{Wrenches, apart};
use crate::control::{Raised, actuators, asked_controller, event_function, stopped};
use crate::error::{guarded, raise, refuse};
use crate::mechanism::formulation;
use crate::model::{Built, PyModel};
use crate::value::{from_python, to_python};
use catena::algorithm::body_coordinates::Formulation as InBodies;
use catena::algorithm::constrained::Stabilisation;
use catena::algorithm::pendulum::Scheme;
use catena::error::{Error, ErrorKind, Result};
use catena::integrate::{FixedMethod, Method, Tolerances};
use catena::native::Compiled;
use catena::simulate::{
    Controller, Drift, EventFunction, FrameWrench, Inputs, Integrator, NewtonMatrix, Sample,
    Simulation, SimulationOptions, Stop, StopKind, verified_error,
};
use catena::spatial::{Force, Vec3};
use catena::{Cpu, Dynamics, Model, State, thresholds};
use catena_cli::{Chosen, Layout, arithmetic, base_motion, stops_description, stored};
use catena_io::run::{Header, RunWriter};
use catena_mechanism::ByFormulation;
use catena_plot::{Chart, Figure};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between checks for signals and progress.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long a run that calls Python keeps the interpreter's lock. It must be longer than the 5 ms after which a waiting thread requests the lock: a
/// thread that is woken earlier, by a lock that is released and taken again at once, waits again and never gets it.
const TURN: Duration = Duration::from_millis(20);

/// Steps between checks of the clock, where they are quick.
const STEPS: usize = 8;

/// Maximum number of models whose code is kept for the next simulation.
const MOST_KEPT: usize = 32;

/// Code of the models that were simulated last, by their fingerprints.
static CODES: Mutex<Vec<(u64, Compiled)>> = Mutex::new(Vec::new());

/// Code for a simulation: cached code of such a model, or new. Generating it takes longer than many runs.
fn kept_code(model: &Model) -> Result<Compiled> {
    let fingerprint = model.fingerprint();
    let kept = || CODES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, code)) = kept().iter().find(|(print, _)| *print == fingerprint) {
        return Ok(code.clone());
    }
    let code = catena_symbolic::native::for_simulation(model)?;
    let mut kept = kept();
    if kept.len() == MOST_KEPT {
        kept.remove(0);
    }
    kept.push((fingerprint, code.clone()));
    Ok(code)
}

/// A one-dimensional array of these numbers.
fn vector<'py>(py: Python<'py>, numbers: &[f64]) -> PyResult<Array<'py>> {
    let array = results(py, &[numbers.len()], None, &[])?;
    writable(&array).copy_from_slice(numbers);
    Ok(array)
}

/// Options besides method and tolerances: names that `simulate` takes as arguments.
struct Choices(Value);

impl Choices {
    fn text(&self, key: &str) -> Option<&str> {
        self.0[key].as_str()
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.0[key].as_f64()
    }

    /// The integrator with the options of backward differentiation formulas.
    fn integrator(&self, mut integrator: Integrator, method: &str) -> Result<Integrator> {
        if let Integrator::Bdf {
            max_order, matrix, ..
        } = &mut integrator
        {
            if let Some(order) = self.number("max_order") {
                *max_order = order as usize;
            }
            *matrix = self.newton()?;
            return Ok(integrator);
        }
        let given = ["newton", "coordinates", "max_order"];
        match given.into_iter().find(|key| !self.0[*key].is_null()) {
            None => Ok(integrator),
            Some(key) => Err(Error::new(
                ErrorKind::Input,
                format!("{key} is an option of the method \"bdf\", not of \"{method}\""),
            )
            .hint("choose method=\"bdf\", or leave it out")),
        }
    }

    /// How the linear systems of Newton's method are solved.
    fn newton(&self) -> Result<NewtonMatrix> {
        let refused = |message: String, hint: &str| {
            Err(Error::new(ErrorKind::Input, message).hint(hint.to_string()))
        };
        let in_bodies = match self.text("coordinates") {
            None => None,
            Some("joints") => Some(false),
            Some("bodies") => Some(true),
            Some(name) => {
                let message = format!("coordinates cannot be \"{name}\"");
                return refused(message, "they are \"joints\" or \"bodies\"");
            }
        };
        let name = self.text("newton");
        match (name.and_then(InBodies::from_name), in_bodies, name) {
            (Some(_), Some(false), Some(name)) => refused(
                format!("newton: \"{name}\" is for the coordinates of bodies"),
                "choose coordinates=\"bodies\", or newton=\"tree\" or \"dense\"",
            ),
            (Some(formulation), _, _) => Ok(NewtonMatrix::Bodies(formulation)),
            (None, Some(true), None) => Ok(NewtonMatrix::Bodies(InBodies::default())),
            (None, Some(true), Some(name)) => refused(
                format!("newton: \"{name}\" is not for the coordinates of bodies"),
                "choose \"index-2\", \"index-3\" or \"stabilised\"",
            ),
            (None, None, None) => Ok(NewtonMatrix::Automatic),
            (None, Some(false), None) => Ok(NewtonMatrix::Joints),
            (None, _, Some("tree")) => Ok(NewtonMatrix::Tree),
            (None, _, Some("dense")) => Ok(NewtonMatrix::Dense),
            (None, _, Some(name)) => match Scheme::from_name(name) {
                Ok(scheme) => Ok(NewtonMatrix::Pendulum(scheme)),
                Err(_) => refused(
                    format!("newton cannot be \"{name}\""),
                    "it is \"tree\" or \"dense\"; in the coordinates of bodies \"index-2\", \"index-3\" or \"stabilised\"; for a chain of \
                     ball joints in Chou's equations \"numerical-full\", \"exact-full\", \"reduced\" or \"linear\"",
                ),
            },
        }
    }

    /// How loops are kept closed.
    fn drift(&self, closing: &str, integrator: &Integrator) -> Result<Drift> {
        let step = match *integrator {
            Integrator::Fixed { step, .. } => Some(step),
            _ => None,
        };
        // critical damping, where one of them is given
        let (alpha, beta) = match ["alpha", "beta"].map(|key| self.number(key)) {
            [None, None] if closing == "baumgarte" => return Ok(Drift::baumgarte(step)),
            [None, None] => return Ok(Drift::Project),
            [Some(alpha), None] => (alpha, alpha * alpha / 4.0),
            [None, Some(beta)] => (2.0 * beta.sqrt(), beta),
            [Some(alpha), Some(beta)] => (alpha, beta),
        };
        match closing {
            "baumgarte" => Ok(Drift::Stabilise(Stabilisation { alpha, beta })),
            _ => Err(Error::new(
                ErrorKind::Input,
                "alpha and beta are parameters of Baumgarte stabilisation",
            )
            .hint("choose closing=\"baumgarte\", too")),
        }
    }
}

/// How time is stepped.
pub fn integrator(
    method: &str,
    rtol: f64,
    atol: Option<f64>,
    step: Option<f64>,
) -> Result<Integrator> {
    let tolerances = Tolerances {
        relative: rtol,
        absolute: atol.unwrap_or(0.01 * rtol),
    };
    let max_step = step.unwrap_or(f64::INFINITY);
    if let Ok(method) = method.parse::<Method>() {
        return Ok(Integrator::Adaptive {
            method,
            tolerances,
            max_step,
        });
    }
    if let Ok(method) = method.parse::<FixedMethod>() {
        let step = step.unwrap_or(1e-3);
        return Ok(Integrator::Fixed { method, step });
    }
    if method == "bdf" {
        return Ok(Integrator::Bdf {
            tolerances,
            max_step,
            max_order: 5,
            matrix: NewtonMatrix::Automatic,
        });
    }
    Err(Error::new(ErrorKind::Input, format!("there is no method `{method}`")).hint(
        "methods are dop853, verner9, verner6, tsit5, dopri5, bdf, rk4, semi-implicit-euler, implicit-midpoint",
    ))
}

/// The enforced joint limits, with restitutions: one for all, or by name.
pub fn stops(
    py: Python<'_>,
    built: &Built,
    limits: &str,
    restitution: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Stop>> {
    let mut stops = match limits {
        "stop" | "soft" => Stop::all(&built.model),
        _ => Vec::new(),
    };
    let tree = built.model.tree();
    if let Some(stop) = stops
        .iter()
        .find(|stop| limits == "soft" && matches!(stop.kind, StopKind::Rigid { .. }))
    {
        return Err(refuse(
            py,
            &format!(
                "limits: the stop of joint `{}` has no stiffness",
                tree.dofs[stop.freedom].name
            ),
            "give the joint a `stop_stiffness`, or choose limits=\"stop\"",
        ));
    }
    let Some(restitution) = restitution.filter(|given| !given.is_none()) else {
        return Ok(stops);
    };
    let given: Vec<(Option<String>, f64)> = match restitution.cast::<PyDict>() {
        Ok(by_name) => by_name
            .iter()
            .map(|(name, value)| Ok((Some(name.extract()?), value.extract()?)))
            .collect::<PyResult<_>>()?,
        Err(_) => vec![(None, restitution.extract()?)],
    };
    for (name, value) in given {
        let chosen = match &name {
            None => None,
            Some(name) => Some(built.freedoms(py, std::slice::from_ref(name))?),
        };
        let mut found = false;
        for stop in &mut stops {
            let is_chosen = chosen.as_ref().is_none_or(|k| k.contains(&stop.freedom));
            if let (true, StopKind::Rigid { restitution }) = (is_chosen, &mut stop.kind) {
                *restitution = value;
                found = true;
            }
        }
        if !found {
            let what = name.map_or("no joint".to_string(), |name| format!("joint `{name}` not"));
            return Err(refuse(
                py,
                &format!("restitution: {what} stopped by a rigid limit"),
                "choose limits=\"stop\", and joints with limits and without `stop_stiffness`",
            ));
        }
    }
    Ok(stops)
}

/// Events to detect: limits of joints, and those the caller requests.
pub fn event_functions(
    py: Python<'_>,
    built: &Built,
    limits: bool,
    events: Option<&Bound<'_, PyDict>>,
    raised: &Raised,
) -> PyResult<Vec<EventFunction>> {
    let tree = built.model.tree();
    let mut list = Vec::new();
    if limits {
        for i in built.model.bodies() {
            let body = &tree.bodies[i];
            if body.kind.quaternion().is_some() {
                continue;
            }
            for k in tree.dof_range(i) {
                let Some((low, high)) = tree.dofs[k].limits else {
                    continue;
                };
                for (value, which) in [(low, "lower"), (high, "upper")] {
                    if value.is_finite() {
                        list.push(EventFunction::Position {
                            coordinate: body.q + (k - body.v),
                            value,
                            name: format!("{} reaches its {which} limit", tree.dofs[k].name),
                        });
                    }
                }
            }
        }
    }
    let Some(events) = events else {
        return Ok(list);
    };
    for (name, event) in events.iter() {
        let name: String = name.extract()?;
        if event.is_callable() {
            let function = event_function(&name, event.unbind(), raised);
            list.push(EventFunction::Function { function, name });
            continue;
        }
        let event = event.cast_into::<PyTuple>()?;
        let kind: String = event.get_item(0)?.extract()?;
        if kind == "plane" {
            let frame: String = event.get_item(1)?.extract()?;
            let wanted = built.frame(py, &frame)?.name.clone();
            let frame = tree
                .frames
                .iter()
                .position(|frame| frame.name == wanted)
                .unwrap_or(0);
            list.push(EventFunction::Plane {
                frame,
                normal: event.get_item(2)?.extract()?,
                offset: event.get_item(3)?.extract()?,
                name,
            });
        } else {
            let freedom: String = event.get_item(1)?.extract()?;
            let &[k] = built
                .freedoms(py, std::slice::from_ref(&freedom))?
                .as_slice()
            else {
                return Err(refuse(
                    py,
                    &format!("`{freedom}` is more than one freedom"),
                    "name one of them",
                ));
            };
            let body = &tree.bodies[tree.dofs[k].body];
            if body.kind.quaternion().is_some() {
                return Err(refuse(
                    py,
                    &format!("`{freedom}` has a quaternion and cannot reach a value"),
                    "give a function of t, q and v",
                ));
            }
            list.push(EventFunction::Position {
                coordinate: body.q + (k - body.v),
                value: event.get_item(2)?.extract()?,
                name,
            });
        }
    }
    Ok(list)
}

/// A run that has ended, one way or another.
#[pyclass(module = "catena._catena", frozen)]
pub struct RunData {
    built: Arc<Built>,
    samples: Vec<Sample>,
    layout: Layout,
    /// The model and other settings of the run.
    document: Arc<Value>,
    metadata: Value,
    audit: Value,
    finished: bool,
    compiled: bool,
}

#[pymethods]
impl PyModel {
    /// Simulates, and gives the run with what ended it early, if anything.
    #[pyo3(signature = (q, v, duration, interval, method, rtol, atol, step, control, wrenches, events, limits, stop, progress, closing, compile, rate = None, record = Vec::new(), restitution = None, choices = None))]
    fn _simulate<'py>(
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
        control: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        events: Option<&Bound<'py, PyDict>>,
        limits: &str,
        stop: Vec<String>,
        progress: Option<&Bound<'py, PyAny>>,
        closing: &str,
        compile: bool,
        rate: Option<f64>,
        record: Vec<String>,
        restitution: Option<&Bound<'py, PyAny>>,
        choices: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(RunData, Option<Py<PyAny>>)> {
        let built = self.built(py)?;
        built.guarded(py, || {
            // unknown names are rejected before the run
            let plain = Layout {
                momentum: false,
                base: false,
                stopped: Vec::new(),
                chosen: Chosen::default(),
            };
            let common = plain.columns(&built.model);
            let chosen = Chosen::new(&built.model, &common, "record", &record)
                .map_err(|error| crate::error::raise_as(py, "InputError", &error))?;
            let (nq, nv) = (built.model.nq(), built.model.nv());
            let q = Numbers::new(py, "q", q, nq)?;
            let v = Numbers::or_zero(py, "v", v, nv)?;
            if q.rows.is_some() || v.rows.is_some() {
                return Err(refuse(
                    py,
                    "a simulation starts from one state, not many",
                    "loop over the rows",
                ));
            }
            let call = crate::call::Call::new(py, &built, vec![&q, &v])?;
            let start = State::new(&built.model, &q.all(1), &v.all(1))
                .map_err(|error| call.explained(&error, 0))?;
            let document = self.document(py, &built)?;
            // the run has all coordinates of the tree
            let start = start.of_tree(&built.model);
            let (coupled, built) = (&built, built.whole());
            let choices = match choices {
                None => Choices(json!({})),
                Some(choices) => Choices(from_python("choices", choices)?),
            };
            let raised: Raised = Raised::default();
            let asks = control.is_some_and(|control| control.is_callable());
            let (controller, mut drive) = asked_controller(py, control, &built, &start, &raised)?;
            if rate.is_some() {
                drive["rate"] = rate.into();
            }
            let unlimited = choices.0["unlimited"] == true;
            if !matches!(controller, Controller::None) {
                drive["unlimited"] = unlimited.into();
            }
            let mut inputs = Inputs {
                actuators: actuators(&controller, &built.model, unlimited),
                controller,
                rate,
                wrenches: pushes(py, &built, wrenches)?,
                stops: stops(py, &built, limits, restitution)?,
                ..Inputs::default()
            };
            let parts: Vec<String> =
                serde_json::from_value(choices.0["base"].clone()).unwrap_or_default();
            let (motion, base) = base_motion(&parts).map_err(|error| {
                let message = error.message().replace("--base", "base");
                let told = Error::new(error.kind(), message).at(error.place().clone());
                raise(py, &told.hint(error.advice().unwrap_or_default()))
            })?;
            inputs.base = motion;
            let stopped: Vec<usize> = inputs.stops.iter().map(|stop| stop.freedom).collect();
            let stops = stops_description(&built.model, &inputs.stops);
            let events = event_functions(py, &built, limits == "report", events, &raised)?;
            let formulation = formulation(py, choices.text("formulation"))?;
            let (sharp, inputs_again) = (choices.number("verify"), inputs.clone());
            let made = || -> Result<(Simulation, Value, SimulationOptions)> {
                let integrator = integrator(method, rtol, atol, step)?;
                let integrator = choices.integrator(integrator, method)?;
                let options = SimulationOptions {
                    integrator,
                    duration,
                    interval,
                };
                let kept = options.clone();
                let drift = choices.drift(closing, &integrator)?;
                let compiles =
                    compile && nv <= thresholds::COMPILED && Cpu::detect() != Cpu::Baseline;
                let compiler: catena::native::Compiler = kept_code;
                let mut metadata = json!({
                    "made_in": "Python",
                    "model_name": built.model.name(),
                    "start": {"q": start.q, "v": start.v},
                    "drive": drive, "stops": stops,
                    "duration": duration, "interval": interval, "method": method,
                    "rtol": rtol, "atol": atol, "step": step, "closing": closing,
                });
                let named = [
                    "newton",
                    "coordinates",
                    "max_order",
                    "alpha",
                    "beta",
                    "formulation",
                ];
                for key in named.into_iter().filter(|key| !choices.0[*key].is_null()) {
                    metadata[key] = choices.0[key].clone();
                }
                if !base.is_null() {
                    metadata["base"] = base.clone();
                }
                let model = &built.model;
                let simulation = match formulation {
                    Some(way) => {
                        let equations = Box::new(ByFormulation::new(model, way, drift));
                        Simulation::with_equations(
                            model, &start, inputs, events, options, drift, equations,
                        )?
                    }
                    None => {
                        let compiler = compiles.then_some(compiler);
                        Simulation::with_compiler(
                            model, &start, inputs, events, options, drift, compiler,
                        )?
                    }
                };
                Ok((simulation, metadata, kept))
            };
            let (mut simulation, mut metadata, options) = match py.detach(made) {
                Ok(made) => made,
                Err(error) => match raised.take() {
                    None => return Err(raise(py, &error)),
                    // a function has raised an exception at the start
                    Some(raised) => {
                        let run = RunData::empty(&built, document, plain);
                        let raised = coupled.of_tree(py, raised);
                        return Ok((run, Some(raised.into_value(py).into_any())));
                    }
                },
            };
            let mut samples = Vec::new();
            let endable = simulation.end_at(stop);
            endable.map_err(|error| raise(py, &error))?;
            let done = to_the_end(
                py,
                &mut simulation,
                &mut samples,
                duration,
                progress,
                &raised,
                asks,
            );
            let ended = done.err().or_else(|| raised.take());
            let mut ended = ended.map(|error| coupled.of_tree(py, error));
            let happened = simulation.events();
            let finished = simulation.finished() && simulation.ended_at().is_none();
            let layout = Layout {
                momentum: simulation.knows_momentum(),
                base: !base.is_null(),
                stopped,
                chosen,
            };
            let compiled = simulation.is_compiled();
            let source = match (formulation, compiled) {
                (Some(way), _) => way.name(),
                (None, true) => "compiled",
                (None, false) => "general",
            };
            for (key, _, value) in arithmetic(source) {
                metadata[key] = value.into();
            }
            metadata["finished"] = finished.into();
            let uses = simulation.actuator_uses().to_vec();
            let mut audit = simulation.finish();
            if let (Some(allowed), Some(last), true, None) =
                (sharp, samples.last(), finished, &ended)
            {
                let (of, end) = (Arc::clone(&built), last.state.clone());
                let again =
                    move || verified_error(&of.model, &start, &inputs_again, &options, &end);
                // a Python function is not abandoned in another thread
                let found = match asks {
                    true => py.detach(again),
                    false => apart(py, again)?,
                };
                match found {
                    Ok(error) => audit.verify(error, allowed, last.time),
                    Err(error) => {
                        ended = Some(raised.take().unwrap_or_else(|| raise(py, &error)));
                    }
                }
            }
            let audit = stored(&built.model, &audit, &happened, &uses);
            let run = RunData {
                built: Arc::clone(&built),
                samples,
                layout,
                document,
                metadata,
                audit,
                finished,
                compiled,
            };
            Ok((run, ended.map(|error| error.into_value(py).into_any())))
        })
    }
}

/// Constant wrenches.
pub fn pushes<'py>(
    py: Python<'py>,
    built: &Built,
    wrenches: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<FrameWrench>> {
    let wrenches = Wrenches::new(py, built, wrenches)?;
    let mut list = Vec::new();
    for (name, numbers) in wrenches.named() {
        if numbers.rows.is_some() {
            return Err(refuse(
                py,
                "wrenches of a simulation are constant: six numbers each",
                "`simulate` does not support time-dependent wrenches",
            ));
        }
        let &[nx, ny, nz, fx, fy, fz] = numbers.slice() else {
            return Err(refuse(
                py,
                "a wrench has six numbers",
                "moment first, then force",
            ));
        };
        let frame = built
            .model
            .tree()
            .frames
            .iter()
            .position(|frame| frame.name == name);
        list.push(FrameWrench {
            frame: frame.unwrap_or(0),
            wrench: Force::new(Vec3::new(nx, ny, nz), Vec3::new(fx, fy, fz)),
        });
    }
    Ok(list)
}

/// Runs to the end, to an event that stops it, or to an error. A run that `asks` Python at every step keeps the interpreter's lock
/// for a while, instead of taking and releasing it at every step.
fn to_the_end(
    py: Python<'_>,
    simulation: &mut Simulation,
    samples: &mut Vec<Sample>,
    duration: f64,
    progress: Option<&Bound<'_, PyAny>>,
    raised: &Raised,
    asks: bool,
) -> PyResult<()> {
    let patience = match asks {
        true => TURN,
        false => PATIENCE,
    };
    while !simulation.finished() {
        let mut part = || -> Result<()> {
            let (begin, mut steps, mut before) = (Instant::now(), 1, Duration::ZERO);
            while before < patience {
                for _ in 0..steps {
                    if simulation.finished() {
                        return Ok(());
                    }
                    simulation.advance(samples)?;
                    if raised.is_some() {
                        return Err(stopped());
                    }
                }
                let now = begin.elapsed();
                steps = match now - before < patience / 20 {
                    true => STEPS,
                    false => 1,
                };
                before = now;
            }
            Ok(())
        };
        let moved = match asks {
            true => part(),
            false => py.detach(part),
        };
        if let Err(error) = moved {
            return Err(raised.take().unwrap_or_else(|| raise(py, &error)));
        }
        if asks {
            // lets other threads run
            py.detach(|| ());
        }
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((simulation.time(), duration))?;
        }
    }
    Ok(())
}

impl RunData {
    /// A run that did not begin.
    fn empty(built: &Arc<Built>, document: Arc<Value>, layout: Layout) -> Self {
        RunData {
            built: Arc::clone(built),
            samples: Vec::new(),
            layout,
            document,
            metadata: json!({
                "made_in": "Python", "model_name": built.model.name(), "finished": false,
            }),
            audit: no_audit(),
            finished: false,
            compiled: false,
        }
    }

    /// All columns of samples, row after row.
    fn rows(&self, samples: &[Sample]) -> Result<Vec<f64>> {
        let mut dynamics = Dynamics::new(&self.built.model.clone().open_tree());
        let mut rows = Vec::new();
        for sample in samples {
            self.layout.append_row(&mut dynamics, sample, &mut rows)?;
        }
        Ok(rows)
    }

    /// Settings of the run, including the model.
    fn all_metadata(&self) -> Value {
        let mut metadata = self.metadata.clone();
        metadata["model"] = Value::clone(&self.document);
        metadata
    }

    /// A matrix with a row for each sample.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        width: usize,
        fill: impl Fn(&Sample, &mut [f64]),
    ) -> PyResult<Array<'py>> {
        let array = results(py, &[self.samples.len(), width], None, &[])?;
        for (sample, row) in self
            .samples
            .iter()
            .zip(writable(&array).chunks_exact_mut(width.max(1)))
        {
            fill(sample, row);
        }
        Ok(array)
    }
}

#[pymethods]
impl RunData {
    /// The samples as arrays, by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (nq, nv) = (self.built.model.nq(), self.built.model.nv());
        let map = PyDict::new(py);
        let times: Vec<f64> = self.samples.iter().map(|sample| sample.time).collect();
        map.set_item("t", vector(py, &times)?)?;
        map.set_item(
            "q",
            self.matrix(py, nq, |s, row| row.copy_from_slice(&s.state.q))?,
        )?;
        map.set_item(
            "v",
            self.matrix(py, nv, |s, row| row.copy_from_slice(&s.state.v))?,
        )?;
        map.set_item(
            "a",
            self.matrix(py, nv, |s, row| row.copy_from_slice(&s.vdot))?,
        )?;
        map.set_item(
            "tau",
            self.matrix(py, nv, |s, row| row.copy_from_slice(&s.tau))?,
        )?;
        map.set_item(
            "friction",
            self.matrix(py, nv, |s, row| row.copy_from_slice(&s.friction))?,
        )?;
        map.set_item(
            "stops",
            self.matrix(py, nv, |s, row| row.copy_from_slice(&s.stops))?,
        )?;
        map.set_item(
            "energies",
            self.matrix(py, 3, |s, row| row.copy_from_slice(&s.energies))?,
        )?;
        let works = self.matrix(py, 2, |s, row| row.copy_from_slice(&[s.work, s.dissipated]))?;
        map.set_item("works", works)?;
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

    /// The audit and the events.
    #[getter]
    fn audit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.audit)
    }

    /// The settings of the run.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.all_metadata())
    }

    /// True if the run reached its end.
    #[getter]
    fn finished(&self) -> bool {
        self.finished
    }

    /// True if the accelerations came from code generated for the model.
    #[getter]
    fn compiled(&self) -> bool {
        self.compiled
    }

    /// Names and units of the columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.layout.columns(&self.built.model);
        PyList::new(
            py,
            columns.into_iter().map(|column| (column.name, column.unit)),
        )
    }

    /// All columns, a row for each sample.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let width = self.layout.columns(&self.built.model).len();
        let rows = self
            .rows(&self.samples)
            .map_err(|error| crate::error::raise_as(py, "InputError", &error))?;
        let array = results(py, &[self.samples.len(), width], None, &[])?;
        writable(&array).copy_from_slice(&rows);
        Ok(array)
    }

    /// Writes the run as `.csv`, `.parquet` or `.mcap`.
    fn save(&self, py: Python<'_>, path: &str, overwrite: bool) -> PyResult<()> {
        guarded(py, || {
            let header = Header {
                columns: self.layout.columns(&self.built.model),
                metadata: self.all_metadata(),
            };
            py.detach(|| -> Result<()> {
                let mut writer = RunWriter::create(std::path::Path::new(path), &header, overwrite)?;
                for block in self.samples.chunks(4096) {
                    writer.block(&self.rows(block)?, &[])?;
                }
                writer.finish(&self.audit)
            })
            .map_err(|error| crate::error::raise_as(py, "InputError", &error))
        })
    }

    /// Positions, velocities, efforts and energies over time as SVG.
    fn svg(&self, width: u32, height: u32) -> String {
        let column = |quantity: Charted, k: usize| -> Vec<f64> {
            let pick = |s: &Sample| match quantity {
                Charted::Time => s.time,
                Charted::Position => s.state.q[k],
                Charted::Velocity => s.state.v[k],
                Charted::Effort => s.tau[k],
                Charted::Energy => s.energies[k],
            };
            self.samples.iter().map(pick).collect()
        };
        charts(&self.built, column).svg(width, height)
    }
}

/// What the charts of a run show.
#[derive(Clone, Copy)]
pub enum Charted {
    /// Time.
    Time,
    /// Positions.
    Position,
    /// Velocities.
    Velocity,
    /// Efforts.
    Effort,
    /// Kinetic, gravitational and elastic energy.
    Energy,
}

/// Names of the energies of a run.
pub const ENERGIES: [&str; 3] = ["kinetic", "gravitational", "elastic"];

/// The audit of a run that has none.
pub fn no_audit() -> Value {
    json!({
        "laws": [], "events": [], "held": [], "stops": [],
        "steps": 0, "rejected": 0, "evaluations": 0, "work": 0.0, "dissipated": 0.0,
    })
}

/// Charts of a run whose numbers `column` gives, by quantity and coordinate.
pub fn charts(built: &Built, column: impl Fn(Charted, usize) -> Vec<f64>) -> Figure {
    let tree = built.model.tree();
    let times = column(Charted::Time, 0);
    let most = 12;
    let chart = |title: &str, label: &str, quantity: Charted, names: &[String]| {
        let mut chart = Chart::new(title, "time, s", label);
        for (k, name) in names.iter().enumerate().take(most) {
            chart = chart.series(name, times.clone(), column(quantity, k));
        }
        chart
    };
    let freedoms: Vec<String> = tree.dofs.iter().map(|dof| dof.name.clone()).collect();
    let energies = ENERGIES.map(String::from);
    Figure {
        title: built.model.name().to_string(),
        charts: vec![
            chart("positions", "q", Charted::Position, &position_names(built)),
            chart("velocities", "v", Charted::Velocity, &freedoms),
            chart("efforts", "τ", Charted::Effort, &freedoms),
            chart("energies", "J", Charted::Energy, &energies),
        ],
        columns: 2,
    }
}

/// Names of the position coordinates.
pub fn position_names(built: &Built) -> Vec<String> {
    let tree = built.model.tree();
    let mut names = Vec::new();
    for i in built.model.bodies() {
        let body = &tree.bodies[i];
        let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
        names.extend(
            tree.dofs[body.v..body.v + plain]
                .iter()
                .map(|dof| dof.name.clone()),
        );
        if body.kind.quaternion().is_some() {
            names.extend(["qw", "qx", "qy", "qz"].map(|part| format!("{}.{part}", body.joint)));
        }
    }
    match built.model.couplings() {
        None => names,
        Some(couplings) => (couplings.positions().iter())
            .map(|&k| names[k].clone())
            .collect(),
    }
}

#[pymethods]
impl PyModel {
    /// Names of the position coordinates.
    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(position_names(&*self.built(py)?))
    }
}
