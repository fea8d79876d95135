//! Controllers requested from Python: functions of Python, called or traced, and those of the library by their description.

use crate::array::{kind_of, plain, wrong_shape};
use crate::error::{raise, refuse};
use crate::model::Built;
use crate::trace::TracedCode;
use crate::value::from_python;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Actuator, Sensor};
use catena::simulate::{Controller, Gains, Law, StateFunction, Table};
use catena::trajectory::{PointToPoint, Profile, Reference, Sample as Wanted, Sampled};
use catena::{Model, State};
use numpy::npyffi::flags::{NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE};
use numpy::npyffi::objects::PyArrayObject;
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArrayMethods, dtype};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The exception that a Python function has raised, until it is collected.
#[derive(Clone, Default)]
pub struct Raised(Arc<Kept>);

#[derive(Default)]
struct Kept {
    error: Mutex<Option<PyErr>>,
    /// Whether there is one: checked at every step.
    is_some: AtomicBool,
}

impl Raised {
    /// Takes the exception.
    pub fn take(&self) -> Option<PyErr> {
        let mut error = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.is_some.store(false, Ordering::Release);
        error.take()
    }

    pub fn is_some(&self) -> bool {
        self.0.is_some.load(Ordering::Acquire)
    }

    pub fn keep(&self, new: PyErr) {
        let mut error = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        // the first one caused the others
        error.get_or_insert(new);
        self.0.is_some.store(true, Ordering::Release);
    }
}

/// Reason why Python ended a run.
pub fn stopped() -> Error {
    Error::new(
        ErrorKind::Input,
        "a function of the caller has ended the run",
    )
}

/// The arrays of positions and velocities that a function of Python was last called with. They are refilled for the next call, unless
/// the function has kept one of them (or a view of it), which then keeps the numbers of that instant.
#[derive(Default)]
struct Handed(Mutex<[Option<Py<PyArray1<f64>>>; 2]>);

impl Handed {
    /// Takes the arrays, with these numbers. Nothing is locked while Python runs.
    fn take<'py>(
        &self,
        py: Python<'py>,
        state: &State,
    ) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
        let [q, v] = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Ok([refilled(py, q, &state.q)?, refilled(py, v, &state.v)?])
    }

    /// Keeps the arrays for the next call.
    fn keep(&self, [q, v]: [Bound<'_, PyArray1<f64>>; 2]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = [Some(q.unbind()), Some(v.unbind())];
    }
}

/// An array of these numbers: an existing one without other references and of unchanged layout, or a new one.
fn refilled<'py>(
    py: Python<'py>,
    array: Option<Py<PyArray1<f64>>>,
    numbers: &[f64],
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    if let Some(array) = array
        && refill(py, &array, numbers)
    {
        return Ok(array.into_bound(py));
    }
    Ok(PyArray1::from_slice(py, numbers))
}

/// Writes the numbers into an array made for as many, if nobody else has it. Shape, type and flags of an array can be changed in place; they are
/// read as they are in its record.
#[allow(unsafe_code)]
fn refill(py: Python<'_>, array: &Py<PyArray1<f64>>, numbers: &[f64]) -> bool {
    const USABLE: i32 = NPY_ARRAY_WRITEABLE | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    let object = array.as_ptr().cast::<PyArrayObject>();
    // SAFETY: a pointer to an array that is held here, whose reference count shows that there is no other reference; the interpreter's lock
    // is held. An array of one dimension has one length, and one that is contiguous, aligned and of doubles is that many doubles.
    unsafe {
        let fields = &(*object).fields;
        let is_as_made = pyo3::ffi::Py_REFCNT(array.as_ptr()) == 1
            && fields.flags & USABLE == USABLE
            && fields.nd == 1
            && *fields.dimensions as usize == numbers.len()
            && fields.descr == dtype::<f64>(py).as_dtype_ptr();
        if is_as_made {
            let place = fields.data.cast::<f64>();
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), place, numbers.len());
        }
        is_as_made
    }
}

/// Calls a Python function for efforts.
fn ask(
    py: Python<'_>,
    function: &Py<PyAny>,
    handed: &Handed,
    (t, state): (f64, &State),
    measured: Option<Bound<'_, PyDict>>,
    tau: &mut [f64],
) -> PyResult<()> {
    let [q, v] = handed.take(py, state)?;
    let given = match measured {
        Some(measured) => function.bind(py).call1((t, &q, &v, measured))?,
        None => function.bind(py).call1((t, &q, &v))?,
    };
    // the function may return one of its arguments
    let given = plain(py, "the value returned by the control function", &given)?;
    if given.shape() != [tau.len()] {
        let expected = format!("({},)", tau.len());
        let what = "the value returned by the control function";
        return Err(wrong_shape(py, what, &expected, given.shape()));
    }
    #[allow(unsafe_code)]
    // SAFETY: contiguous and aligned, and nobody else has it.
    tau.copy_from_slice(unsafe { given.as_slice() }.unwrap_or(&[]));
    drop(given);
    handed.keep([q, v]);
    Ok(())
}

/// Sensor readings: by sensor, then by quantity.
fn by_name<'py>(
    py: Python<'py>,
    sensors: &[Sensor],
    measured: &[[f64; 6]],
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (sensor, numbers) in sensors.iter().zip(measured) {
        let own = PyDict::new(py);
        for ((name, _), number) in sensor.measures().iter().zip(numbers) {
            own.set_item(name, number)?;
        }
        all.set_item(&sensor.name, own)?;
    }
    Ok(all)
}

/// Efforts from a Python function, called at every stage of a step, or at its rate. One made by `catena.with_sensors` receives
/// the readings of these sensors.
fn effort_function(function: Py<PyAny>, sensors: Option<Vec<Sensor>>, raised: &Raised) -> Law {
    let (raised, handed) = (raised.clone(), Handed::default());
    Law::with_sensors(move |t, state, measured, tau| {
        if raised.is_some() {
            return Err(stopped());
        }
        let numbers = match &sensors {
            Some(_) => Some(measured.all()?),
            None => None,
        };
        let called = Python::attach(|py| {
            let pairs = sensors.as_deref().zip(numbers);
            let measured = pairs.map(|(sensors, numbers)| by_name(py, sensors, numbers));
            ask(
                py,
                &function,
                &handed,
                (t, state),
                measured.transpose()?,
                tau,
            )
        });
        called.map_err(|error| {
            raised.keep(error);
            stopped()
        })
    })
}

/// A function of Python whose changes of sign are events. One that has failed gives NaN, which has no sign and ends the run.
pub fn event_function(name: &str, function: Py<PyAny>, raised: &Raised) -> StateFunction {
    let (name, raised, handed) = (name.to_string(), raised.clone(), Handed::default());
    StateFunction::new(move |t, state| {
        if raised.is_some() {
            return f64::NAN;
        }
        let called = Python::attach(|py| -> PyResult<f64> {
            let [q, v] = handed.take(py, state)?;
            let value = function.bind(py).call1((t, &q, &v))?;
            handed.keep([q, v]);
            let number = value.extract::<f64>().ok().filter(|x| x.is_finite());
            number.ok_or_else(|| {
                let given = match value.extract::<f64>() {
                    Ok(x) => x.to_string(),
                    Err(_) => kind_of(&value),
                };
                refuse(
                    py,
                    &format!("event `{name}`: its function gives {given} at t = {t} s, not a finite number"),
                    "an event happens where the number changes sign",
                )
            })
        });
        called.unwrap_or_else(|error| {
            raised.keep(error);
            f64::NAN
        })
    })
}

/// Numbers of a description.
fn list(description: &Value, key: &str) -> Result<Vec<f64>> {
    let numbers = description[key]
        .as_array()
        .and_then(|list| list.iter().map(Value::as_f64).collect());
    numbers.ok_or_else(|| {
        Error::new(
            ErrorKind::Input,
            format!("`{key}` of the control must be a list of finite numbers"),
        )
    })
}

/// Rows of numbers of a description.
fn rows(description: &Value, key: &str) -> Result<Vec<Vec<f64>>> {
    let row =
        |row: &Value| -> Option<Vec<f64>> { row.as_array()?.iter().map(Value::as_f64).collect() };
    let rows = description[key]
        .as_array()
        .and_then(|rows| rows.iter().map(row).collect());
    rows.ok_or_else(|| {
        Error::new(
            ErrorKind::Input,
            format!("`{key}` of the control must be rows of finite numbers"),
        )
    })
}

fn number(description: &Value, key: &str) -> Result<f64> {
    description[key].as_f64().ok_or_else(|| {
        Error::new(
            ErrorKind::Input,
            format!("`{key}` of the control must be a finite number"),
        )
    })
}

/// The motion that a controller follows.
fn reference(description: &Value, built: &Built, start: &State) -> Result<Reference> {
    if !description["t"].is_null() {
        let (t, q) = (list(description, "t")?, rows(description, "q")?);
        let (v, a) = (rows(description, "v")?, rows(description, "a")?);
        if q.len() != t.len() || v.len() != t.len() || a.len() != t.len() {
            let message = format!(
                "the motion to follow has {} times, {} rows of q, {} of v and {} of a",
                t.len(),
                q.len(),
                v.len(),
                a.len()
            );
            return Err(Error::new(ErrorKind::Input, message));
        }
        let samples = t.into_iter().zip(q.into_iter().zip(v.into_iter().zip(a)));
        let samples = samples.map(|(time, (q, (v, vdot)))| Wanted { time, q, v, vdot });
        return Ok(Reference::Sampled(Sampled::new(samples.collect())?));
    }
    let target = list(description, "target")?;
    let time = description["move_time"].as_f64();
    let tree = built.model.tree();
    let is_plain = |body: &&catena::model::BodyInfo| body.kind.quaternion().is_none();
    let from: Vec<f64> = tree.bodies[1..]
        .iter()
        .filter(is_plain)
        .flat_map(|body| start.q[body.q..body.q + body.kind.nq()].to_vec())
        .collect();
    let (from, time) = match time {
        Some(time) => (from, time),
        None => (target.clone(), 1.0),
    };
    Ok(Reference::PointToPoint(PointToPoint::new(
        Profile::Cycloid,
        &from,
        &target,
        time,
    )?))
}

/// The controller of a description.
fn controller(description: &Value, built: &Built, start: &State) -> Result<Controller> {
    let gain = |key: &str| match &description[key] {
        Value::Array(_) => list(description, key).map(Gains::Each),
        _ => number(description, key).map(Gains::Same),
    };
    let gains = || Ok((gain("stiffness")?, gain("damping")?));
    match description["kind"].as_str() {
        Some("constant") => Ok(Controller::Constant(list(description, "tau")?)),
        Some("sine") => Ok(Controller::Sine {
            amplitude: list(description, "amplitude")?,
            frequency: list(description, "frequency")?,
        }),
        Some("table") => Ok(Controller::Table(Table::new(
            list(description, "t")?,
            rows(description, "tau")?,
        )?)),
        Some("gravity") => Ok(Controller::GravityCompensation),
        Some("pd") => {
            let (stiffness, damping) = gains()?;
            let motion = reference(description, built, start)?;
            Ok(Controller::ProportionalDerivative {
                motion,
                stiffness,
                damping,
            })
        }
        Some("computed-torque") => {
            let (stiffness, damping) = gains()?;
            let motion = reference(description, built, start)?;
            Ok(Controller::ComputedTorque {
                motion,
                stiffness,
                damping,
            })
        }
        kind => Err(Error::new(
            ErrorKind::Input,
            format!("there is no control of the kind {kind:?}"),
        )),
    }
}

/// The controller given from Python, by a function or a description, and that description.
pub fn asked_controller(
    py: Python<'_>,
    control: Option<&Bound<'_, PyAny>>,
    built: &Built,
    start: &State,
    raised: &Raised,
) -> PyResult<(Controller, Value)> {
    match control.filter(|control| !control.is_none()) {
        None => Ok((Controller::None, Value::Null)),
        Some(control) if control.is_instance_of::<TracedCode>() => {
            let traced: PyRef<'_, TracedCode> = control.extract()?;
            let law = Law::new(traced.function.clone());
            Ok((Controller::Own(law), json!({"kind": "traced"})))
        }
        Some(control) if control.is_callable() => {
            let looks = control.getattr_opt("takes_sensors")?.is_some();
            let sensors = looks.then(|| built.model.sensors().to_vec());
            let function = effort_function(control.clone().unbind(), sensors, raised);
            Ok((Controller::Own(function), json!({"kind": "function"})))
        }
        Some(control) => {
            let description = from_python("control", control)?;
            let made = controller(&description, built, start).map_err(|error| raise(py, &error))?;
            Ok((made, description))
        }
    }
}

/// The actuators that a controller drives, where they make a difference. Constant efforts and tables act unchanged, as in the program; so do all
/// efforts of an `unlimited` controller.
pub fn actuators(controller: &Controller, model: &Model, unlimited: bool) -> Option<Vec<Actuator>> {
    if unlimited
        || matches!(
            controller,
            Controller::None | Controller::Constant(_) | Controller::Table(_)
        )
    {
        return None;
    }
    let all = model.actuators();
    let acts = |actuator: &Actuator| {
        let limits = [actuator.max_effort, actuator.max_velocity];
        actuator.lag != 0.0 || limits.iter().any(Option::is_some)
    };
    (all.len() < model.nv() || all.iter().any(acts)).then_some(all)
}
