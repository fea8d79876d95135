//! The factorization I = U D Uᵀ as an object that solves.

use crate::array::{Array, Numbers, plain, results, shown, writable, wrong_shape};
use crate::call::{Call, apart};
use crate::error::{attribute, exception, guarded, raise};
use crate::model::{Built, PyModel};
use catena::Batch;
use catena::algorithm::factorization::{ClusterFactorization, Factorization};
use catena::error::Result;
use catena::{Model, State};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// States between two checks for signals.
const PART: usize = 1024;

/// Numbers beyond which a batch may take too long to respond to Control-C: it then runs on a separate thread.
const LONG: usize = 1 << 20;

/// Factors of one state, or of many in lanes.
enum Kept {
    One(Box<Factorization<f64>>),
    /// Over clusters of coupled joints.
    Clusters(Box<ClusterFactorization<f64>>),
    Many(Box<Batch>),
}

/// The factors of I(q) at one state or many.
#[pyclass(module = "catena._catena", frozen)]
pub struct Factors {
    built: Arc<Built>,
    kept: Arc<Mutex<Kept>>,
    q: Vec<f64>,
    /// Number of states; `None` for a single one.
    states: Option<usize>,
}

#[pymethods]
impl PyModel {
    /// Factorizes I(q).
    fn _factor<'py>(&self, py: Python<'py>, q: &Bound<'py, PyAny>) -> PyResult<Factors> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let q = Numbers::new(py, "q", q, built.model.nq())?;
            let call = Call::new(py, &built, vec![&q])?;
            let mut sound = built.sound(q.given()).into_owned();
            let kept = match call.states {
                None if built.model.couplings().is_some() => {
                    Kept::Clusters(Box::new(call.one(|work| {
                        built.put(work, &sound, &[]);
                        work.dynamics.cluster_factorization(&work.state)
                    })?))
                }
                None => Kept::One(Box::new(call.one(|work| {
                    built.put(work, &sound, &[]);
                    work.dynamics.factorization(&work.state)
                })?)),
                Some(_) => {
                    let (_, mut batch) = built.batch();
                    let is_long = sound.len() > LONG;
                    let factorize = move || {
                        let done = batch.factorize(&sound);
                        (batch, sound, done)
                    };
                    let (batch, given, done) = match is_long {
                        true => apart(py, factorize)?,
                        false => py.detach(factorize),
                    };
                    done.map_err(|error| match batch.failures().first() {
                        Some(failure) => call.explained(&failure.error, failure.state),
                        None => call.explained(&error, 0),
                    })?;
                    sound = given;
                    Kept::Many(batch)
                }
            };
            Ok(Factors {
                states: call.states,
                q: sound,
                kept: Arc::new(Mutex::new(kept)),
                built: Arc::clone(&built),
            })
        })
    }
}

#[pymethods]
impl Factors {
    /// Number of states; `None` for a single one.
    #[getter]
    fn states(&self) -> Option<usize> {
        self.states
    }

    /// Solves I x = b for right-hand sides in rows: (k, nv), or (N, k, nv) for many states.
    #[pyo3(signature = (b, out = None))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        guarded(py, || {
            let nv = self.built.model.nv();
            let b = plain(py, "b", b)?;
            let good = match (self.states, b.shape()) {
                (None, [_, n]) => *n == nv,
                (Some(states), [rows, _, n]) => *rows == states && *n == nv,
                _ => false,
            };
            if !good {
                let expected = match self.states {
                    None => shown(&[0, nv]).replacen('0', "k", 1),
                    Some(states) => format!("({states}, k, {nv})"),
                };
                return Err(wrong_shape(py, "b", &expected, b.shape()));
            }
            let shape = b.shape().to_vec();
            let b = Numbers::of_array("b", b);
            let given = b.slice();
            if let Some(at) = given.iter().position(|x| !x.is_finite()) {
                let sides = given.len() / nv / self.states.unwrap_or(1);
                return Err(self.not_finite(py, sides, at, given[at]));
            }
            let x = results(py, &shape, out, &[&b])?;
            let out = writable(&x);
            out.copy_from_slice(given);
            if out.is_empty() {
                return Ok(x);
            }
            // a thread that waits for the factors does not hold the interpreter's lock
            let done = match (self.states, out.len() > LONG) {
                (None, false) => solve_rows(&self.built.model, &self.kept, out),
                (Some(_), false) => py.detach(|| solve_rows(&self.built.model, &self.kept, out)),
                (_, true) => {
                    let (built, kept) = (Arc::clone(&self.built), Arc::clone(&self.kept));
                    // an abandoned thread must not write into an array of Python
                    let mut rows = given.to_vec();
                    let (rows, done) = apart(py, move || {
                        let done = solve_rows(&built.model, &kept, &mut rows);
                        (rows, done)
                    })?;
                    out.copy_from_slice(&rows);
                    done
                }
            };
            done.map_err(|error| raise(py, &error))?;
            Ok(x)
        })
    }

    /// U and D of every state: nv² + nv numbers each.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        guarded(py, || {
            let (built, nq, nv) = (&*self.built, self.built.model.nq(), self.built.model.nv());
            let size = nv * nv + nv;
            let shape: Vec<usize> = self.states.into_iter().chain([size]).collect();
            let array = results(py, &shape, None, &[])?;
            let out = writable(&array);
            if built.model.couplings().is_some() {
                let q = self.q.chunks(nq.max(1) * PART);
                for (q, out) in q.zip(out.chunks_mut(size * PART)) {
                    py.detach(|| cluster_parts(&built.model, q, out));
                    py.check_signals()?;
                }
                return Ok(array);
            }
            let mut factors = Factorization::new(&built.model);
            let q = self.q.chunks(nq.max(1) * PART);
            for (q, out) in q.zip(out.chunks_mut(size * PART)) {
                py.detach(|| {
                    let states = q.chunks_exact(nq.max(1));
                    for (q, out) in states.zip(out.chunks_exact_mut(size)) {
                        factors.factorize(&built.model, q);
                        out[..nv * nv].copy_from_slice(factors.u(&built.model).as_slice());
                        out[nv * nv..].copy_from_slice(&factors.d());
                    }
                });
                py.check_signals()?;
            }
            Ok(array)
        })
    }
}

impl Factors {
    /// The error for a number of the right-hand sides, given the count per state.
    fn not_finite(&self, py: Python<'_>, sides: usize, at: usize, value: f64) -> PyErr {
        let nv = self.built.model.nv();
        let row = self.states.map(|_| at / (sides * nv));
        let (side, column) = (at / nv % sides, at % nv);
        let place: Vec<String> = (row.into_iter().chain([column]))
            .chain((sides > 1).then_some(side))
            .map(|k| k.to_string())
            .collect();
        let attributes = [
            ("argument", attribute(py, "b")),
            ("row", attribute(py, row)),
            ("column", attribute(py, column)),
            ("hint", attribute(py, "every number must be finite")),
        ];
        let message = format!("b[{}] is {value}", place.join(", "));
        exception(py, "NotFinite", &message, &attributes)
    }
}

/// Solves for every row in place. No Python runs while the factors are locked.
fn solve_rows(model: &Model, kept: &Mutex<Kept>, rows: &mut [f64]) -> Result<()> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *kept {
        Kept::One(factors) => {
            for row in rows.chunks_exact_mut(model.nv()) {
                factors.solve(model, row);
            }
        }
        Kept::Clusters(factors) => {
            if let Some(couplings) = model.couplings() {
                let tree = model.clone().open_tree();
                for row in rows.chunks_exact_mut(model.nv()) {
                    factors.solve(&tree, couplings, row);
                }
            }
        }
        Kept::Many(batch) => batch.solve(rows)?,
    }
    Ok(())
}

/// U and D of every state of a model with couplings.
fn cluster_parts(model: &Model, q: &[f64], out: &mut [f64]) {
    let Some(couplings) = model.couplings() else {
        return;
    };
    let (nq, nv, tree) = (model.nq(), model.nv(), model.clone().open_tree());
    let mut factors = ClusterFactorization::new(&tree, couplings);
    let states = q.chunks_exact(nq.max(1));
    for (q, out) in states.zip(out.chunks_exact_mut(nv * nv + nv)) {
        let mut all = State::neutral(&tree).q;
        couplings.expand_positions(q, &mut all);
        factors.factorize(&tree, couplings, &all);
        out[..nv * nv].copy_from_slice(factors.u(&tree, couplings).as_slice());
        out[nv * nv..].copy_from_slice(&factors.d());
    }
}
