//! Closed chains, the doctor, laws, conformance cases: computations at one state.

use crate::array::{Array, Numbers, array};
use crate::call::{Call, Wrenches, apart};
use crate::error::{guarded, instant, raise, refuse};
use crate::model::{Built, PyModel};
use crate::value::to_python;
use catena::State;
use catena::closed_chain::Sharing;
use catena::error::Result;
use catena::laws::{self, Verdict};
use catena::spatial::Force;
use catena_mechanism::doctor::{self, Diagnosis};
use catena_mechanism::{Formulation, Mechanism};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// A wrench as numbers: moment, force.
fn numbers(force: &Force<f64>) -> Value {
    force.to_array().to_vec().into()
}

/// One state, checked, efforts and wrenches: in all coordinates of the tree.
pub struct Situation {
    /// Positions and velocities.
    pub state: State,
    /// Efforts.
    pub tau: Vec<f64>,
    external: Vec<Force<f64>>,
}

/// A call with one state, not many.
fn single<'a, 'py>(
    py: Python<'py>,
    built: &'a Built,
    numbers: [&'a Numbers<'py>; 3],
    wrenches: &'a Wrenches<'py>,
) -> PyResult<Call<'a, 'py>> {
    let arguments = numbers.into_iter().chain(wrenches.numbers()).collect();
    let call = Call::new(py, built, arguments)?;
    match call.states {
        None => Ok(call),
        Some(_) => Err(refuse(
            py,
            "this takes one state, not many",
            "loop over the rows",
        )),
    }
}

/// One state, not many.
pub fn situation<'py>(
    py: Python<'py>,
    built: &Built,
    q: &Bound<'py, PyAny>,
    v: Option<&Bound<'py, PyAny>>,
    tau: Option<&Bound<'py, PyAny>>,
    wrenches: Option<&Bound<'py, PyAny>>,
) -> PyResult<Situation> {
    let (nq, nv) = (built.model.nq(), built.model.nv());
    let q = Numbers::new(py, "q", q, nq)?;
    let v = Numbers::or_zero(py, "v", v, nv)?;
    let tau = Numbers::or_zero(py, "tau", tau, nv)?;
    let wrenches = Wrenches::new(py, built, wrenches)?;
    let call = single(py, built, [&q, &v, &tau], &wrenches)?;
    let pushes = wrenches.view(built);
    call.one(|work| {
        let state = State::new(&built.model, &q.all(1), &v.all(1))?;
        built.put(work, &state.q, &state.v);
        let external = pushes.single(work, 0)?;
        let mut efforts = tau.all(1).into_owned();
        if let Some(couplings) = built.model.couplings() {
            let mut all = vec![0.0; built.model.tree().nv];
            for (&k, &effort) in couplings.freedoms().iter().zip(&efforts) {
                all[k] = effort;
            }
            efforts = all;
        }
        Ok(Situation {
            state: state.of_tree(&built.model),
            tau: efforts,
            external,
        })
    })
}

/// The formulation of this name, if one is requested.
pub fn formulation(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Formulation>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let known = || Formulation::ALL.map(Formulation::name).join(", ");
    Formulation::named(name).map(Some).ok_or_else(|| {
        let message = format!("there is no formulation `{name}`");
        refuse(py, &message, &format!("known are {}", known()))
    })
}

#[pymethods]
impl PyModel {
    /// A closed state near a guess: q, v, and what was done.
    #[pyo3(signature = (q, v, hold, time))]
    fn _assemble<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        hold: Vec<String>,
        time: f64,
    ) -> PyResult<(Array<'py>, Array<'py>, Bound<'py, PyAny>)> {
        let built = self.built(py)?;
        instant(py, time)?;
        built.guarded(py, || {
            let guess = situation(py, &built, q, v, None, None)?;
            let held = built.freedoms(py, &hold)?;
            let mut chain = built.chain();
            let found = chain.assemble(time, &guess.state, &held);
            built.keep_chain(chain);
            let found = found.map_err(|error| raise(py, &error))?;
            let record = json!({
                "iterations": found.iterations,
                "residuals": found.residuals,
                "rows": found.rows[0],
                "rank": found.rows[1],
                "freedoms": found.freedoms,
            });
            let State { mut q, mut v, .. } = found.state;
            if let Some(couplings) = built.model.couplings() {
                q = couplings.positions().iter().map(|&k| q[k]).collect();
                v = couplings.freedoms().iter().map(|&k| v[k]).collect();
            }
            Ok((array(py, &q)?, array(py, &v)?, to_python(py, &record)?))
        })
    }

    /// Accelerations, multipliers and the loads in all joints at one state.
    #[pyo3(signature = (q, v, tau, wrenches, sharing, time))]
    fn _loads<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        tau: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        sharing: &str,
        time: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let built = self.built(py)?;
        instant(py, time)?;
        built.guarded(py, || {
            let sharing = match sharing {
                "all-joints" => Sharing::AllJoints,
                "constraints" => Sharing::Constraints,
                other => {
                    return Err(refuse(
                        py,
                        &format!("sharing cannot be `{other}`"),
                        "it is \"all-joints\" or \"constraints\"",
                    ));
                }
            };
            let at = situation(py, &built, q, v, tau, wrenches)?;
            let built = built.whole();
            let mut chain = built.chain();
            let mut solve = || -> Result<Value> {
                let motion = chain.forward(time, &at.state, &at.tau, &at.external)?;
                let (vdot, rank) = (motion.accelerations.to_vec(), motion.rank);
                let loads = chain.loads(&at.state, &at.tau, &at.external, sharing)?;
                let tree = built.model.tree();
                let joints: Map<String, Value> = built
                    .model
                    .bodies()
                    .map(|i| (tree.bodies[i].joint.clone(), numbers(&loads.tree[i])))
                    .collect();
                let constraints: Map<String, Value> = built
                    .model
                    .constraints()
                    .iter()
                    .zip(&loads.constraints)
                    .map(|(c, load)| (c.name.to_string(), numbers(load)))
                    .collect();
                Ok(json!({
                    "accelerations": vdot,
                    "rank": rank,
                    "joints": joints,
                    "constraints": constraints,
                    "multipliers": loads.multipliers,
                    "norm": loads.norm,
                }))
            };
            let found = solve();
            built.keep_chain(chain);
            to_python(py, &found.map_err(|error| raise(py, &error))?)
        })
    }

    /// Errors of the accelerations at one state, by double-double arithmetic.
    #[pyo3(signature = (q, v, tau, wrenches, time))]
    fn _accuracy<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        tau: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        time: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let built = self.built(py)?;
        instant(py, time)?;
        built.guarded(py, || {
            let (nq, nv) = (built.model.nq(), built.model.nv());
            let q = Numbers::new(py, "q", q, nq)?;
            let v = Numbers::or_zero(py, "v", v, nv)?;
            let tau = Numbers::or_zero(py, "tau", tau, nv)?;
            let wrenches = Wrenches::new(py, &built, wrenches)?;
            let call = single(py, &built, [&q, &v, &tau], &wrenches)?;
            let pushes = wrenches.view(&built);
            let accuracy = call.one(|work| {
                built.put(work, q.slice(), v.slice());
                let external = pushes.single(work, 0)?;
                let tau = tau.all(1);
                if built.model.constraints().is_empty() {
                    let found = work.dynamics.forward(&work.state, &tau, &external)?;
                    let found = found.to_vec();
                    let dynamics = &mut work.dynamics;
                    let error = dynamics.accuracy(&work.state, &tau, &external, &found)?;
                    return Ok(json!({
                        "error": error,
                        "arithmetic": error,
                        "closing": null,
                        "violation": 0.0,
                        "ignored": 0.0,
                    }));
                }
                let mut chain = built.chain();
                let motion = chain.forward(time, &work.state, &tau, &external);
                let found = motion.map(|motion| motion.accelerations.to_vec());
                let accuracy = found
                    .and_then(|found| chain.accuracy(time, &work.state, &tau, &external, &found));
                built.keep_chain(chain);
                let accuracy = accuracy?;
                Ok(json!({
                    "error": accuracy.error(),
                    "arithmetic": accuracy.arithmetic,
                    "closing": accuracy.closing,
                    "violation": accuracy.violation,
                    "ignored": accuracy.ignored,
                }))
            })?;
            to_python(py, &accuracy)
        })
    }

    /// Accelerations and loads by one formulation, or by the one that suits.
    #[pyo3(signature = (q, v, tau, wrenches, formulation, time))]
    fn _formulation<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        tau: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        formulation: Option<&str>,
        time: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let built = self.built(py)?;
        instant(py, time)?;
        built.guarded(py, || {
            let formulation = self::formulation(py, formulation)?;
            let at = situation(py, &built, q, v, tau, wrenches)?;
            let built = built.whole();
            let mut mechanism = Mechanism::new(&built.model);
            let (state, tau, external) = (&at.state, &at.tau[..], &at.external[..]);
            let found = match formulation {
                None => mechanism.chosen(time, state, tau, external),
                Some(way) => mechanism.accelerations(way, time, state, tau, external),
            }
            .map_err(|error| raise(py, &error))?;
            let tree = built.model.tree();
            // of the tree's hinges, then of the constraints
            let joints: Map<String, Value> = built
                .model
                .bodies()
                .map(|i| {
                    (
                        tree.bodies[i].joint.clone(),
                        found.tree.get(i).map_or(Value::Null, numbers),
                    )
                })
                .collect();
            let constraints: Map<String, Value> = built
                .model
                .constraints()
                .iter()
                .zip(&found.constraints)
                .map(|(c, load)| (c.name.to_string(), numbers(load)))
                .collect();
            let record = json!({
                "accelerations": found.accelerations,
                "joints": joints,
                "constraints": constraints,
                "multipliers": found.multipliers,
                "rows": found.rows,
                "rank": found.rank,
                "condition": found.condition,
                "residual": found.residual,
                "assumptions": found.assumptions,
            });
            to_python(py, &record)
        })
    }

    /// What is wrong with a mechanism, near a guess.
    #[pyo3(signature = (q, samples, seed, time))]
    fn _doctor<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        samples: usize,
        seed: u64,
        time: f64,
    ) -> PyResult<(Array<'py>, Bound<'py, PyAny>)> {
        let built = self.built(py)?;
        instant(py, time)?;
        built.guarded(py, || {
            let built = built.clone();
            let guess = situation(py, &built, q, None, None, None)?;
            let found = apart(py, move || {
                doctor::diagnose(&built.model, time, &guess.state, samples, seed)
            })?
            .map_err(|error| raise(py, &error))?;
            Ok((
                array(py, &found.state.q)?,
                to_python(py, &diagnosis(&found))?,
            ))
        })
    }

    /// Laws that any model must obey, at random states.
    fn _check<'py>(
        &self,
        py: Python<'py>,
        states: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let built = self.built(py)?;
        guarded(py, || {
            let laws = apart(py, move || {
                let mut laws = laws::run(&built.model, states, seed);
                laws.extend(catena_mechanism::laws::run(&built.model, states, seed));
                laws
            })?;
            let list: Value = laws
                .iter()
                .map(|law| {
                    json!({
                        "law": law.law,
                        "routes": law.routes,
                        "residual": law.residual,
                        "tolerance": law.tolerance,
                        "holds": law.holds(),
                        "decided": law.verdict() != Verdict::Undecided,
                    })
                })
                .collect();
            to_python(py, &list)
        })
    }

    /// A conformance case of the model as text.
    fn _case(&self, py: Python<'_>, name: &str, states: usize, seed: u64) -> PyResult<String> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let (whole, name) = (built.whole(), name.to_string());
            apart(py, move || {
                catena_conformance::export_case(&name, &whole.model, states, seed)
            })?
            .map_err(|error| raise(py, &error))
        })
    }
}

fn diagnosis(found: &Diagnosis) -> Value {
    let vectors = |list: &[catena::spatial::Vec3<f64>]| -> Vec<[f64; 3]> {
        list.iter().map(|v| v.to_array()).collect()
    };
    json!({
        "tree_freedoms": found.tree_freedoms,
        "rows": found.rows,
        "counted": found.counted,
        "freedoms": found.freedoms(),
        "freedoms_here": found.here.freedoms,
        "velocity_rows": found.velocity_rows,
        "position_freedoms": found.here.position_freedoms,
        "rank": found.here.rank,
        "smallest": found.here.smallest,
        "redundant": found.redundant(),
        "singular": found.is_singular(),
        "elsewhere": found.elsewhere.len(),
        "contradiction": found.contradiction.as_ref().map(|c| json!({"drivers": c.drivers, "rate": c.rate})),
        "dependent": found.dependent.iter().map(|row| json!({
            "name": row.name, "kind": row.kind, "row": row.row, "words": row.words,
        })).collect::<Value>(),
        "undetermined": found.undetermined.iter().map(|hinge| json!({
            "name": hinge.name, "kind": hinge.kind,
            "forces": vectors(&hinge.forces), "torques": vectors(&hinge.torques),
        })).collect::<Value>(),
        "changes": found.changes.iter().map(|change| json!({
            "name": change.name, "closes": change.closes, "from": change.from, "to": change.to,
            "removes": change.removes,
        })).collect::<Value>(),
        "left": found.left,
    })
}

/// Compares with a conformance case, a file of reference results.
#[pyfunction]
pub fn verify<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    guarded(py, || {
        let path = std::path::PathBuf::from(path);
        let report = apart(py, move || catena_conformance::verify_file(&path))?
            .map_err(|error| raise(py, &error))?;
        let quantities: Value = report
            .quantities
            .iter()
            .map(|q| {
                json!({
                    "name": q.name, "worst": q.worst, "relative": q.relative,
                    "tolerance": q.tolerance, "where": q.where_, "ok": q.ok,
                })
            })
            .collect();
        let record = json!({
            "id": report.id, "kind": report.kind, "title": report.title,
            "passed": report.passed(), "samples": report.samples, "quantities": quantities,
        });
        to_python(py, &record)
    })
}
