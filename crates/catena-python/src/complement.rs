//! The natural orthogonal complement, and linear equations about an equilibrium or a steady motion, at one state.

use crate::array::{results, writable};
use crate::call::apart;
use crate::error::{raise, refuse};
use crate::mechanism::situation;
use crate::model::PyModel;
use crate::value::to_python;
use catena::{Dynamics, Matrix};
use catena_io::arrays::{MOST_FREEDOMS, complement};
use catena_mechanism::{Linearisation, Modes, SteadyMotion};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::Arc;

fn rows(matrix: &Matrix) -> Value {
    (0..matrix.rows())
        .map(|i| Value::from(matrix.row(i).to_vec()))
        .collect()
}

#[pymethods]
impl PyModel {
    /// The arrays of the complement by name.
    #[pyo3(signature = (q, v))]
    fn _denoc<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let nv = built.model.nv();
            if nv > MOST_FREEDOMS {
                return Err(refuse(
                    py,
                    &format!(
                        "the matrices of the complement are limited to {MOST_FREEDOMS} freedoms; the model has {nv}"
                    ),
                    "`factor(q)` solves for models of any size",
                ));
            }
            let at = situation(py, &built, q, v, None, None)?;
            let arrays = py.detach(|| {
                let denoc = Dynamics::new(&built.model).denoc(&at.state)?;
                Ok(complement(&denoc))
            });
            let found = PyDict::new(py);
            for array in arrays.map_err(|error| raise(py, &error))? {
                let numbers = results(py, &array.shape, None, &[])?;
                writable(&numbers).copy_from_slice(&array.numbers);
                found.set_item(array.name, numbers)?;
            }
            Ok(found)
        })
    }

    /// An equilibrium near q under these efforts, or q held, and the linear equations about it with their modes.
    #[pyo3(signature = (q, tau, hold))]
    fn _linearize<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        tau: Option<&Bound<'py, PyAny>>,
        hold: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let at = situation(py, &built, q, None, tau, None)?;
            let built = built.whole();
            let of = Arc::clone(&built);
            let solved = apart(py, move || {
                let linear = match hold {
                    true => Linearisation::held(&of.model, &at.state)?,
                    false => Linearisation::new(&of.model, &at.state, &at.tau)?,
                };
                let modes = linear.modes()?;
                Ok((linear, modes))
            })?;
            let (linear, modes) = solved.map_err(|error| raise(py, &error))?;
            let dofs = &built.model.tree().dofs;
            let names: Vec<&str> = linear
                .independent
                .iter()
                .map(|&k| dofs[k].name.as_str())
                .collect();
            let record = json!({
                "q": linear.state.q,
                "tau": linear.effort,
                "independent": names,
                "A": rows(&linear.a),
                "B": rows(&linear.b),
                "M": rows(&linear.mass),
                "D": rows(&linear.damping),
                "K": rows(&linear.stiffness),
                "Z": rows(&linear.spread),
                "values": modes.list.iter().map(|mode| mode.value.to_vec()).collect::<Vec<_>>(),
                "real": part(&modes, 0),
                "imaginary": part(&modes, 1),
                "residual": linear.residual,
            });
            to_python(py, &record)
        })
    }

    /// The linear equations about a steady motion, with their modes.
    #[pyo3(signature = (q, v, tau, find))]
    fn _linearize_motion<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        tau: Option<&Bound<'py, PyAny>>,
        find: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let at = situation(py, &built, q, v, tau, None)?;
            let built = built.whole();
            let of = Arc::clone(&built);
            let solved = apart(py, move || {
                let linear = match find {
                    true => SteadyMotion::near(&of.model, &at.state, &at.tau)?,
                    false => SteadyMotion::new(&of.model, &at.state, &at.tau)?,
                };
                let modes = linear.modes()?;
                Ok((linear, modes))
            })?;
            let (linear, (modes, zeros)) = solved.map_err(|error| raise(py, &error))?;
            let dofs = &built.model.tree().dofs;
            let name = |&(k, is_rate): &(usize, bool)| match is_rate {
                true => format!("{}'", dofs[k].name),
                false => dofs[k].name.clone(),
            };
            let variables: Vec<String> = linear.variables.iter().map(name).collect();
            let record = json!({
                "variables": variables,
                "A": rows(&linear.a),
                "B": rows(&linear.b),
                "Z": rows(&linear.spread),
                "values": modes.list.iter().map(|mode| mode.value.to_vec()).collect::<Vec<_>>(),
                "real": part(&modes, 0),
                "imaginary": part(&modes, 1),
                "zeros": zeros,
                "residual": linear.residual,
                "q": linear.state.q,
                "v": linear.state.v,
            });
            to_python(py, &record)
        })
    }
}

/// Real or imaginary parts of the shapes.
fn part(modes: &Modes, at: usize) -> Value {
    let shapes = modes.list.iter();
    shapes
        .map(|mode| mode.shape.iter().map(|x| x[at]).collect::<Value>())
        .collect()
}
