//! One call for one state or many: workspaces, threads, signals, and errors of rows that fail.

use crate::array::{Array, Numbers, Rows, results, states, writable};
use crate::control::Raised;
use crate::error::{attribute, exception, raise, refuse};
use crate::model::{Built, CallWork, THREADS};
use catena::Batch;
use catena::error::{Error, ErrorKind, Result};
use catena::spatial::{Force, Vec3};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// States that a thread takes at once where a quantity has no lanes.
const GRAIN: usize = 32;

/// Approximate time between checks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// A call: its model, its arguments, and the number of states.
pub struct Call<'a, 'py> {
    /// The interpreter.
    pub py: Python<'py>,
    /// The model.
    pub built: &'a Built,
    arguments: Vec<&'a Numbers<'py>>,
    /// Number of states; `None` for a single one.
    pub states: Option<usize>,
}

impl<'a, 'py> Call<'a, 'py> {
    /// A call with these arguments.
    pub fn new(
        py: Python<'py>,
        built: &'a Built,
        arguments: Vec<&'a Numbers<'py>>,
    ) -> PyResult<Self> {
        Ok(Call {
            py,
            built,
            states: states(py, &arguments)?,
            arguments,
        })
    }

    /// An array for results: this shape for each state.
    pub fn results(
        &self,
        shape: &[usize],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let whole: Vec<usize> = self
            .states
            .into_iter()
            .chain(shape.iter().copied())
            .collect();
        results(self.py, &whole, out, &self.arguments)
    }

    /// One state.
    pub fn one<T>(&self, function: impl FnOnce(&mut CallWork) -> Result<T>) -> PyResult<T> {
        let mut work = self.built.work();
        let done = function(&mut work);
        self.built.keep(work);
        done.map_err(|error| self.explained(&error, 0))
    }

    /// Computes the states of a batch in lanes on all threads, in portions, so that the program can be interrupted.
    pub fn lanes(
        &self,
        out: &mut [f64],
        function: impl Fn(&mut Batch, Range<usize>, &mut [f64]) -> Result<()> + Send + Sync,
    ) -> PyResult<()> {
        let states = self.states.unwrap_or(0);
        let size = out.len() / states.max(1);
        let mut part = Part::new((1 << 19) / self.built.model.nv().max(32));
        let mut batch = self.built.batch();
        let mut first = 0;
        while first < states {
            let range = first..(first + part.states).min(states);
            let results = &mut out[range.start * size..range.end * size];
            let done =
                (self.py).detach(|| part.timed(|| function(&mut batch.1, range.clone(), results)));
            if let Err(error) = done {
                let failed = batch.1.failures().first().cloned();
                self.built.keep_batch(batch);
                return Err(match failed {
                    Some(failure) => self.explained(&failure.error, first + failure.state),
                    None => self.explained(&error, first),
                });
            }
            if range.end < states
                && let Err(interrupted) = self.py.check_signals()
            {
                self.built.keep_batch(batch);
                return Err(interrupted);
            }
            first = range.end;
        }
        self.built.keep_batch(batch);
        Ok(())
    }

    /// Computes every state separately, one or many, on all threads: the function fills the numbers of state k.
    pub fn each(
        &self,
        out: &mut [f64],
        function: impl Fn(&mut CallWork, usize, &mut [f64]) -> Result<()> + Send + Sync,
    ) -> PyResult<()> {
        let Some(states) = self.states else {
            return self.one(|work| function(work, 0, out));
        };
        let size = out.len() / states.max(1);
        let built = self.built;
        let (mut part, mut first, mut rest) = (Part::new(8 * GRAIN), 0, out);
        while !rest.is_empty() {
            let count = part.states.min(states - first);
            let (out, later) = rest.split_at_mut(count * size);
            rest = later;
            let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
            let run = |(grain, out): (usize, &mut [f64])| {
                let mut work = built.work();
                for (k, out) in out.chunks_mut(size).enumerate() {
                    let k = first + grain * GRAIN + k;
                    if let Err(error) = function(&mut work, k, out) {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        if failed.as_ref().is_none_or(|(first, _)| k < *first) {
                            *failed = Some((k, error));
                        }
                        break;
                    }
                }
                built.keep(work);
            };
            let grains = Mutex::new(out.chunks_mut(size * GRAIN).enumerate());
            let next = || grains.lock().unwrap_or_else(PoisonError::into_inner).next();
            let work = || {
                while let Some(grain) = next() {
                    run(grain);
                }
            };
            let threads = match THREADS.load(Ordering::Relaxed) {
                0 => rayon::current_num_threads(),
                n => n,
            };
            let others = threads.min(count.div_ceil(GRAIN)) - 1;
            self.py.detach(|| {
                part.timed(|| {
                    rayon::in_place_scope(|scope| {
                        (0..others).for_each(|_| scope.spawn(|_| work()));
                        work();
                    });
                });
            });
            let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some((k, error)) = failed {
                return Err(self.explained(&error, k));
            }
            self.py.check_signals()?;
            first += count;
        }
        Ok(())
    }

    /// The error of state k. A non-finite number in an argument is usually the reason.
    #[cold]
    pub fn explained(&self, error: &Error, k: usize) -> PyErr {
        let py = self.py;
        for argument in &self.arguments {
            if let Some((row, column, value)) = argument.not_finite() {
                let many = argument.rows.is_some();
                let place = match many {
                    true => format!("{}[{row}, {column}]", argument.name),
                    false => format!("{}[{column}]", argument.name),
                };
                let message = format!("{place} is {value}");
                let attributes = [
                    ("argument", attribute(py, &*argument.name)),
                    ("row", attribute(py, many.then_some(row))),
                    ("column", attribute(py, column)),
                    ("hint", attribute(py, "every number must be finite")),
                ];
                return exception(py, "NotFinite", &message, &attributes);
            }
        }
        if self.states.is_none() {
            return raise(py, error);
        }
        let mut of_row = Error::new(error.kind(), format!("row {k}: {}", error.message()))
            .at(error.place().clone());
        if let Some(advice) = error.advice() {
            of_row = of_row.hint(advice);
        }
        let raised = raise(py, &of_row);
        // the row is an attribute, too, for callers that handle it
        let _ = raised.value(py).setattr("row", k);
        raised
    }
}

/// Runs a computation that cannot be interrupted on a separate thread: Control-C ends the call at once, and the thread when it is done.
pub fn apart<T: Send + 'static>(
    py: Python<'_>,
    function: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    let started = std::thread::Builder::new()
        .name("catena".into())
        .stack_size(STACK)
        .spawn(move || {
            // nobody listens after Control-C
            let _ = sender.send(function());
        });
    let thread = started.map_err(|error| no_thread(py, &error))?;
    loop {
        let waited = py.detach(move || (receiver.recv_timeout(PATIENCE), receiver));
        receiver = waited.1;
        match waited.0 {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(ended(py, thread.join())),
        }
    }
}

/// Runs a computation that calls functions of Python on a separate thread. Control-C counts as their exception: they end the computation when they
/// are called next, and it is waited for.
pub fn until_raised<T: Send>(
    py: Python<'_>,
    raised: &Raised,
    function: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::channel();
        let started = std::thread::Builder::new()
            .name("catena".into())
            .stack_size(STACK)
            .spawn_scoped(scope, move || {
                let _ = sender.send(function());
            });
        let thread = started.map_err(|error| no_thread(py, &error))?;
        loop {
            let waited = py.detach(move || (receiver.recv_timeout(PATIENCE), receiver));
            receiver = waited.1;
            match waited.0 {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupted) = py.check_signals() {
                        raised.keep(interrupted);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(ended(py, thread.join())),
            }
        }
    })
}

/// The stack of a thread: as large as that of a program.
const STACK: usize = 8 << 20;

fn no_thread(py: Python<'_>, error: &std::io::Error) -> PyErr {
    refuse(py, &format!("no thread can be started: {error}"), "")
}

/// A thread has ended without a result: it panicked.
fn ended(py: Python<'_>, how: std::thread::Result<()>) -> PyErr {
    match how {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => refuse(py, "a thread has ended without a result", ""),
    }
}

/// Number of states that are computed between checks for an interruption: more and more while that takes no time.
struct Part {
    states: usize,
}

impl Part {
    fn new(states: usize) -> Self {
        Part {
            states: states.max(64),
        }
    }

    fn timed<T>(&mut self, function: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = function();
        if begin.elapsed() < PATIENCE / 2 {
            self.states *= 2;
        }
        result
    }
}

impl Built {
    /// Loads a state into a workspace. Quaternions slightly off unit length are normalised, as in `State::new`.
    pub fn put(&self, work: &mut CallWork, q: &[f64], v: &[f64]) {
        work.state.q.copy_from_slice(q);
        match v.is_empty() {
            true => work.state.v.fill(0.0),
            false => work.state.v.copy_from_slice(v),
        }
        for &k in &self.quaternions {
            normalise(&mut work.state.q[k..k + 4]);
        }
    }

    /// Positions whose quaternions are of unit length, copied only if they must be changed.
    pub fn sound<'a>(&self, mut q: Cow<'a, [f64]>) -> Cow<'a, [f64]> {
        let nq = self.model.nq();
        for &k in &self.quaternions {
            for row in 0..q.len() / nq {
                let at = row * nq + k;
                if is_off(&q[at..at + 4]) {
                    normalise(&mut q.to_mut()[at..at + 4]);
                }
            }
        }
        q
    }
}

/// Whether a quaternion is further from unit length than the algorithms accept.
fn is_off(p: &[f64]) -> bool {
    let squared: f64 = p.iter().map(|x| x * x).sum();
    (squared - 1.0).abs() > 1e-12
}

/// Normalises a quaternion that is nearly of unit length; others are left to be rejected.
fn normalise(p: &mut [f64]) {
    if !is_off(p) {
        return;
    }
    let length = p.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() <= 1e-3 {
        p.iter_mut().for_each(|x| *x /= length);
    }
}

/// Wrenches on links and frames: (moment, force) in world axes, the force at the frame's origin.
pub struct Wrenches<'py>(Vec<(String, Numbers<'py>)>);

impl<'py> Wrenches<'py> {
    /// The wrenches in a dictionary of names.
    pub fn new(
        py: Python<'py>,
        built: &Built,
        wrenches: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let Some(wrenches) = wrenches.filter(|w| !w.is_none()) else {
            return Ok(Wrenches(Vec::new()));
        };
        let Ok(map) = wrenches.cast::<PyDict>() else {
            return Err(crate::error::refuse(
                py,
                &format!(
                    "wrenches must be a dictionary, not {}",
                    crate::array::kind_of(wrenches)
                ),
                "give {\"hand\": [nx, ny, nz, fx, fy, fz]}, in world axes at the frame's origin",
            ));
        };
        let mut list = Vec::new();
        for (name, wrench) in map.iter() {
            let Ok(name) = name.extract::<String>() else {
                return Err(crate::error::refuse(
                    py,
                    &format!(
                        "wrenches: {} is not a name of a link or frame",
                        name.repr()?
                    ),
                    "give {\"hand\": [nx, ny, nz, fx, fy, fz]}, in world axes at the frame's origin",
                ));
            };
            built.frame(py, &name)?;
            let argument = format!("wrenches[\"{name}\"]");
            list.push((name, Numbers::new(py, argument, &wrench, 6)?));
        }
        Ok(Wrenches(list))
    }

    /// Names of frames, and the numbers.
    pub fn named(&self) -> impl Iterator<Item = (&str, &Numbers<'py>)> {
        self.0
            .iter()
            .map(|(name, numbers)| (name.as_str(), numbers))
    }

    /// Their numbers, as arguments of a call.
    pub fn numbers(&self) -> impl Iterator<Item = &Numbers<'py>> {
        self.0.iter().map(|(_, numbers)| numbers)
    }

    /// The wrenches on frames without Python objects, for other threads.
    pub fn view<'a>(&'a self, built: &'a Built) -> Pushes<'a> {
        let frame = |name: &str| built.model.tree().frame(name);
        Pushes(
            self.0
                .iter()
                .filter_map(|(name, numbers)| Some((frame(name)?, numbers.view())))
                .collect(),
        )
    }
}

/// Wrenches on frames.
pub struct Pushes<'a>(Vec<(&'a catena::model::FrameInfo, Rows<'a>)>);

impl Pushes<'_> {
    /// Computes the wrenches on all bodies at state k, which is the one in the workspace; zero where none act.
    pub fn external(
        &self,
        work: &mut CallWork,
        k: usize,
        external: &mut [Force<f64>],
    ) -> Result<()> {
        external.fill(Force::zero());
        for (frame, rows) in &self.0 {
            let [nx, ny, nz, fx, fy, fz] = *rows.row(k) else {
                return Err(Error::new(ErrorKind::Input, "a wrench has six numbers"));
            };
            let wrench = Force::new(Vec3::new(nx, ny, nz), Vec3::new(fx, fy, fz));
            let origin = work.dynamics.frame_pose(&work.state, frame)?.translation;
            external[frame.body] +=
                work.dynamics
                    .wrench_on(&work.state, frame.body, origin, wrench)?;
        }
        Ok(())
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The wrenches of one state, as the algorithms take them.
    pub fn single(&self, work: &mut CallWork, k: usize) -> Result<Vec<Force<f64>>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let mut external = vec![Force::zero(); work.dynamics.model().body_count() + 1];
        self.external(work, k, &mut external)?;
        Ok(external)
    }
}

/// The wrenches on all bodies of all states of a call; none if there are none.
pub fn all_external(
    call: &Call<'_, '_>,
    pushes: &Pushes<'_>,
    q: Rows<'_>,
) -> PyResult<Vec<Force<f64>>> {
    if pushes.is_empty() {
        return Ok(Vec::new());
    }
    let built = call.built;
    let bodies = built.model.body_count() + 1;
    let mut numbers = vec![0.0; call.states.unwrap_or(1) * bodies * 6];
    call.each(&mut numbers, |work, k, out| {
        built.put(work, q.row(k), &[]);
        let mut external = vec![Force::zero(); bodies];
        pushes.external(work, k, &mut external)?;
        for (out, wrench) in out.chunks_exact_mut(6).zip(external) {
            out.copy_from_slice(&wrench.to_array());
        }
        Ok(())
    })?;
    let force = |n: &[f64]| Force::new(Vec3::new(n[0], n[1], n[2]), Vec3::new(n[3], n[4], n[5]));
    Ok(numbers.chunks_exact(6).map(force).collect())
}

/// An array whose numbers a function fills for every state separately.
pub fn filled<'py>(
    call: &Call<'_, 'py>,
    shape: &[usize],
    out: Option<&Bound<'py, PyAny>>,
    function: impl Fn(&mut CallWork, usize, &mut [f64]) -> Result<()> + Send + Sync,
) -> PyResult<Array<'py>> {
    let array = call.results(shape, out)?;
    call.each(writable(&array), function)?;
    Ok(array)
}
