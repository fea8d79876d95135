//! Controllers requested from Python: functions of Python, called or traced, and those of the library by their description.

use crate::array::{kind_of, plain, wrong_shape};
use crate::error::{raise, refuse};
use crate::model::Built;
use crate::trace::TracedCode;
use crate::value::from_python;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Actuator, Sensor};
use catena::simulate::{Control, Controller, Gains, Law, Sensors, StateFunction, Table};
use catena::trajectory::{PointToPoint, Profile, Reference, Sample as Wanted, Sampled};
use catena::{Model, State};
use numpy::npyffi::flags::{
    NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE,
};
use numpy::npyffi::objects::PyArrayObject;
use numpy::{PyArray1, PyArrayDescr, PyArrayMethods, PyUntypedArrayMethods, dtype};
use pyo3::ffi::{Py_REFCNT, PyObject, PyObject_CallFunctionObjArgs};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat};
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
/// the function has kept one of them (or a view of it), which then keeps the numbers of that instant. A weak reference does not keep one.
#[derive(Default)]
struct Handed([Option<Py<PyArray1<f64>>>; 2]);

impl Handed {
    /// The arrays, with the numbers of this state.
    fn of<'a, 'py>(
        &'a mut self,
        py: Python<'py>,
        state: &State,
    ) -> [&'a Bound<'py, PyArray1<f64>>; 2] {
        let [q, v] = &mut self.0;
        [refilled(py, q, &state.q), refilled(py, v, &state.v)]
    }
}

/// An array of these numbers: the existing one without other references and of unchanged layout, or a new one.
fn refilled<'a, 'py>(
    py: Python<'py>,
    array: &'a mut Option<Py<PyArray1<f64>>>,
    numbers: &[f64],
) -> &'a Bound<'py, PyArray1<f64>> {
    let is_refilled = array
        .as_ref()
        .is_some_and(|array| refill(py, array, numbers));
    if !is_refilled {
        *array = None;
    }
    array
        .get_or_insert_with(|| PyArray1::from_slice(py, numbers).unbind())
        .bind(py)
}

/// The description of doubles, which all arrays of doubles in native order share.
static DOUBLES: PyOnceLock<Py<PyArrayDescr>> = PyOnceLock::new();

/// Where the numbers of an array are, if it is a contiguous, aligned vector of this many doubles with these flags besides. Shape, type and
/// flags of an array can be changed in place; they are read from its record.
///
/// # Safety
///
/// The object must be an array, and be alive.
#[allow(unsafe_code)]
unsafe fn vector_in(
    py: Python<'_>,
    object: *mut PyObject,
    count: usize,
    flags: i32,
) -> Option<*mut f64> {
    let usable = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | flags;
    let doubles = DOUBLES.get_or_init(py, || dtype::<f64>(py).unbind());
    // SAFETY: an array, as the caller promises. With one dimension it has one length.
    let fields = unsafe { &(*object.cast::<PyArrayObject>()).fields };
    let is_one = fields.flags & usable == usable
        && fields.nd == 1
        // SAFETY: as above
        && unsafe { *fields.dimensions } as usize == count
        && fields.descr.cast() == doubles.as_ptr();
    is_one.then_some(fields.data.cast())
}

/// Writes the numbers into an array made for as many, if nobody else has it.
#[allow(unsafe_code)]
fn refill(py: Python<'_>, array: &Py<PyArray1<f64>>, numbers: &[f64]) -> bool {
    let flags = NPY_ARRAY_WRITEABLE | NPY_ARRAY_OWNDATA;
    // SAFETY: an array that is held here, with the interpreter's lock.
    let place = unsafe { vector_in(py, array.as_ptr(), numbers.len(), flags) };
    // SAFETY: as above.
    let is_only = unsafe { Py_REFCNT(array.as_ptr()) } == 1;
    let Some(place) = place.filter(|_| is_only) else {
        return false;
    };
    // SAFETY: the array owns room for as many numbers, and its count shows that there is no other reference to it.
    unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), place, numbers.len()) };
    true
}

/// Copies the numbers of a plain vector of as many doubles, which is of the class of `sample`. Returns false for any other object.
#[allow(unsafe_code)]
fn copied(given: &Bound<'_, PyAny>, sample: &Bound<'_, PyArray1<f64>>, tau: &mut [f64]) -> bool {
    if given.get_type_ptr() != sample.get_type_ptr() {
        return false;
    }
    // SAFETY: of the class of an array, so that it is one; it is kept alive here.
    let place = unsafe { vector_in(given.py(), given.as_ptr(), tau.len(), 0) };
    let Some(place) = place else { return false };
    // SAFETY: as many doubles, aligned, apart from those of the run.
    unsafe { std::ptr::copy_nonoverlapping(place.cast_const(), tau.as_mut_ptr(), tau.len()) };
    true
}

/// The result of a function of time, positions and velocities. `call1` would make a tuple for each call, because the stable interface of Python 3.10
/// has no vectorcall.
#[allow(unsafe_code)]
fn called_with<'py>(
    function: &Bound<'py, PyAny>,
    t: f64,
    q: &Bound<'py, PyArray1<f64>>,
    v: &Bound<'py, PyArray1<f64>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let t = PyFloat::new(py, t);
    let end = std::ptr::null_mut::<PyObject>();
    // SAFETY: objects that are alive, with a null pointer at the end of the arguments. The result is a new reference, or null after an exception.
    unsafe {
        let (t, q, v) = (t.as_ptr(), q.as_ptr(), v.as_ptr());
        let result = PyObject_CallFunctionObjArgs(function.as_ptr(), t, q, v, end);
        Bound::from_owned_ptr_or_err(py, result)
    }
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

/// A controller that is a function of Python, called at every stage of a step, or at its rate. One made by `catena.with_sensors` receives
/// the readings of these sensors.
struct Called {
    function: Arc<Py<PyAny>>,
    sensors: Option<Arc<[Sensor]>>,
    raised: Raised,
    handed: Handed,
}

impl Clone for Called {
    fn clone(&self) -> Self {
        Called {
            function: self.function.clone(),
            sensors: self.sensors.clone(),
            raised: self.raised.clone(),
            handed: Handed::default(),
        }
    }
}

impl Called {
    /// Calls the function.
    fn call(
        &mut self,
        py: Python<'_>,
        t: f64,
        state: &State,
        measured: Option<&[[f64; 6]]>,
        tau: &mut [f64],
    ) -> PyResult<()> {
        let function = self.function.bind(py);
        let [q, v] = self.handed.of(py, state);
        let given = match (&self.sensors, measured) {
            (Some(sensors), Some(measured)) => {
                function.call1((t, q, v, by_name(py, sensors, measured)?))?
            }
            _ => called_with(function, t, q, v)?,
        };
        if copied(&given, q, tau) {
            return Ok(());
        }
        let what = "the value returned by the control function";
        let given = plain(py, what, &given)?;
        if given.shape() != [tau.len()] {
            let expected = format!("({},)", tau.len());
            return Err(wrong_shape(py, what, &expected, given.shape()));
        }
        #[allow(unsafe_code)]
        // SAFETY: contiguous and aligned, and nobody else writes to it meanwhile.
        tau.copy_from_slice(unsafe { given.as_slice() }.unwrap_or(&[]));
        Ok(())
    }
}

impl Control for Called {
    fn efforts(
        &mut self,
        t: f64,
        state: &State,
        sensors: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()> {
        if self.raised.is_some() {
            return Err(stopped());
        }
        let measured = match &self.sensors {
            Some(_) => Some(sensors.all()?),
            None => None,
        };
        Python::attach(|py| self.call(py, t, state, measured, tau)).map_err(|error| {
            self.raised.keep(error);
            stopped()
        })
    }

    /// What the function keeps itself is not saved.
    fn save(&self) -> Option<Vec<f64>> {
        Some(Vec::new())
    }
}

/// A function of Python whose changes of sign are events. One that has failed gives NaN, which has no sign and ends the run.
pub fn event_function(name: &str, function: Py<PyAny>, raised: &Raised) -> StateFunction {
    let (name, raised) = (name.to_string(), raised.clone());
    let handed = Mutex::new(Handed::default());
    StateFunction::new(move |t, state| {
        if raised.is_some() {
            return f64::NAN;
        }
        let called = Python::attach(|py| -> PyResult<f64> {
            // nothing is locked while Python runs
            let kept = || handed.lock().unwrap_or_else(PoisonError::into_inner);
            let mut arrays = std::mem::take(&mut *kept());
            let [q, v] = arrays.of(py, state);
            let value = called_with(function.bind(py), t, q, v)?;
            // replaced arrays are dropped without the lock
            drop(std::mem::replace(&mut *kept(), arrays));
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
            let called = Called {
                function: Arc::new(control.clone().unbind()),
                sensors: looks.then(|| built.model.sensors().into()),
                raised: raised.clone(),
                handed: Handed::default(),
            };
            let law = Law::new(called);
            Ok((Controller::Own(law), json!({"kind": "function"})))
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
