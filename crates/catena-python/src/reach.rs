//! Inverse kinematics: positions and motions that bring frames to their targets.

use crate::array::{Array, Numbers, array, results, writable};
use crate::call::{Call, apart};
use crate::error::{instant, raise, refuse};
use crate::model::{Built, PyModel};
use crate::value::to_python;
use catena::State;
use catena::inverse_kinematics::{Goal, Instant, InverseKinematics, Search, Target};
use catena::spatial::{Mat3, Vec3};
use pyo3::prelude::*;
use serde_json::json;

/// Iterations times the cube of the degrees of freedom beyond which a search may take too long to respond to Control-C: it then runs on a
/// separate thread. Starting a thread takes as long as a short search.
const LONG: f64 = 1e7;

/// Target of a frame, or of the mass centre (no name): a row for each instant, of 3 numbers (a position) or 12 (a pose: the upper
/// three rows of its matrix).
type Wanted = (Option<String>, Vec<Vec<f64>>);

/// Targets at all instants.
fn goals(py: Python<'_>, built: &Built, wanted: &[Wanted], instants: usize) -> PyResult<Vec<Goal>> {
    let mut goals = vec![Goal::default(); instants];
    for (name, rows) in wanted {
        let frame = match name {
            Some(name) => Some(built.frame(py, name)?),
            None => None,
        };
        if rows.len() != instants {
            let message = format!("{instants} instants, but {} targets", rows.len());
            return Err(refuse(py, &message, "give a target for each instant"));
        }
        for (goal, row) in goals.iter_mut().zip(rows) {
            let (position, rotation) = match row[..] {
                [x, y, z] => (Vec3::new(x, y, z), None),
                [xx, xy, xz, x, yx, yy, yz, y, zx, zy, zz, z] => {
                    let rows = [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]];
                    (Vec3::new(x, y, z), Some(Mat3::from_rows(rows)))
                }
                _ => {
                    let message = format!("a target of {} numbers", row.len());
                    return Err(refuse(py, &message, "positions have 3, poses 12"));
                }
            };
            match frame {
                None => goal.centre = Some(position),
                Some(frame) => goal.targets.push(Target {
                    frame: frame.clone(),
                    position,
                    rotation,
                }),
            }
        }
    }
    Ok(goals)
}

/// The state at which the search begins.
fn start<'py>(py: Python<'py>, built: &Built, q: &Bound<'py, PyAny>) -> PyResult<State> {
    let (nq, nv) = (built.model.nq(), built.model.nv());
    let q = Numbers::new(py, "start", q, nq)?;
    if q.rows.is_some() {
        return Err(refuse(
            py,
            "the search starts from one position, not many",
            "loop over the rows",
        ));
    }
    let call = Call::new(py, built, vec![&q])?;
    State::new(&built.model, &q.all(1), &vec![0.0; nv]).map_err(|error| call.explained(&error, 0))
}

#[pymethods]
impl PyModel {
    /// Positions that put frames where they are wanted, and how well.
    #[pyo3(signature = (q, wanted, limits, tolerance, iterations, time))]
    fn _reach<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        wanted: Vec<Wanted>,
        limits: bool,
        tolerance: f64,
        iterations: usize,
        time: f64,
    ) -> PyResult<(Array<'py>, Bound<'py, PyAny>)> {
        let built = self.built(py)?;
        instant(py, time)?;
        built.guarded(py, || {
            let built = built.clone();
            let start = start(py, &built, q)?;
            let goal = goals(py, &built, &wanted, 1)?.remove(0);
            let search = Search {
                limits,
                tolerance,
                iterations,
                time,
            };
            let freedoms = built.model.nv() as f64;
            let most = iterations as f64 * freedoms.powi(3);
            let reach = move || InverseKinematics::new(&built.model).reach(&goal, &start, &search);
            let found = match most > LONG {
                true => apart(py, reach)?,
                false => py.detach(reach),
            };
            let found = found.map_err(|error| raise(py, &error))?;
            let record = json!({
                "converged": found.converged,
                "residual": found.residual(),
                "iterations": found.iterations,
            });
            Ok((array(py, &found.state.q)?, to_python(py, &record)?))
        })
    }

    /// A motion through targets at increasing times: q, v, a, and what is left at each instant.
    #[pyo3(signature = (times, q, wanted, limits, tolerance, iterations))]
    fn _follow<'py>(
        &self,
        py: Python<'py>,
        times: Vec<f64>,
        q: &Bound<'py, PyAny>,
        wanted: Vec<Wanted>,
        limits: bool,
        tolerance: f64,
        iterations: usize,
    ) -> PyResult<[Array<'py>; 4]> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let built = built.clone();
            let start = start(py, &built, q)?;
            let goals = goals(py, &built, &wanted, times.len())?;
            let search = Search {
                limits,
                tolerance,
                iterations,
                time: 0.0,
            };
            let (nq, nv) = (built.model.nq(), built.model.nv());
            let motion = apart(py, move || {
                let mut kinematics = InverseKinematics::new(&built.model);
                kinematics.follow(&times, &goals, &start, &search)
            })?
            .map_err(|error| raise(py, &error))?;
            let rows = |width: usize, numbers: Vec<f64>| -> PyResult<Array<'py>> {
                let array = results(py, &[motion.len(), width], None, &[])?;
                writable(&array).copy_from_slice(&numbers);
                Ok(array)
            };
            let of = |pick: fn(&Instant) -> &[f64]| {
                motion.iter().flat_map(pick).copied().collect::<Vec<f64>>()
            };
            let residuals: Vec<f64> = motion.iter().map(|instant| instant.residual).collect();
            Ok([
                rows(nq, of(|instant| &instant.state.q))?,
                rows(nv, of(|instant| &instant.state.v))?,
                rows(nv, of(|instant| &instant.accelerations))?,
                array(py, &residuals)?,
            ])
        })
    }
}
