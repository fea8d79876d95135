//! The algorithms as methods of `Model`: arrays in, arrays out, for one state or many.

use crate::array::{Array, Numbers, Rows, array, part, writable};
use crate::call::{Call, Wrenches, all_external, filled};
use crate::error::{instant, refuse};
use crate::model::{Built, PyModel};
use crate::value::{listed, whole};
use catena::error::Result;
use catena::spatial::Pose;
use catena::{Matrix, State};
use catena_mechanism::Mechanism;
use pyo3::prelude::*;

/// The numbers of a row, zeros if it was left out.
fn or<'a>(row: &'a [f64], zeros: &'a [f64]) -> &'a [f64] {
    if row.is_empty() { zeros } else { row }
}

/// A pose as a matrix of four rows.
fn homogeneous(pose: &Pose<f64>, out: &mut [f64]) {
    let (rows, t) = (pose.rotation.rows(), pose.translation.to_array());
    for k in 0..3 {
        out[4 * k..4 * k + 3].copy_from_slice(&rows[k]);
        out[4 * k + 3] = t[k];
    }
    out[12..16].copy_from_slice(&[0.0, 0.0, 0.0, 1.0]);
}

/// Which of the two dynamics.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Inverse,
    Forward,
}

impl PyModel {
    /// Both dynamics of trees, and the forward dynamics of closed chains.
    fn dynamics<'py>(
        py: Python<'py>,
        built: &Built,
        way: Way,
        numbers: [Numbers<'py>; 3],
        wrenches: Option<&Bound<'py, PyAny>>,
        time: f64,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let is_closed = !built.model.constraints().is_empty();
        let nv = built.model.nv();
        let wrenches = Wrenches::new(py, built, wrenches)?;
        let [q, v, input] = &numbers;
        let arguments = [q, v, input]
            .into_iter()
            .chain(wrenches.numbers())
            .collect();
        let call = Call::new(py, built, arguments)?;
        let array = call.results(&[nv], out)?;
        let pushes = wrenches.view(built);
        if call.states.is_none() {
            call.one(|work| {
                built.put(work, q.slice(), v.slice());
                let external = pushes.single(work, 0)?;
                let input = or(input.slice(), &work.zeros);
                let result = match way {
                    Way::Inverse => work.dynamics.inverse(&work.state, input, &external)?,
                    Way::Forward if is_closed => {
                        let mut chain = built.chain();
                        let found = chain.forward(time, &work.state, input, &external);
                        let found = found.map(|motion| {
                            writable(&array).copy_from_slice(motion.accelerations);
                        });
                        built.keep_chain(chain);
                        return found;
                    }
                    Way::Forward => work.dynamics.forward(&work.state, input, &external)?,
                };
                writable(&array).copy_from_slice(result);
                Ok(())
            })?;
            return Ok(array);
        }
        let external = all_external(&call, &pushes, q.view())?;
        let bodies = built.model.body_count() + 1;
        let (nq, q) = (built.model.nq(), built.sound(q.given()));
        let (v, input) = (v.given(), input.given());
        call.lanes(writable(&array), |batch, states, out| {
            let q = part(&q, nq, &states);
            let (v, input) = (part(&v, nv, &states), part(&input, nv, &states));
            let external = match external.is_empty() {
                true => &[][..],
                false => &external[states.start * bodies..states.end * bodies],
            };
            match way {
                Way::Inverse => batch.inverse_loaded(q, v, input, external, out),
                Way::Forward => {
                    batch.set_time(time);
                    batch.forward_loaded(q, v, input, external, out)
                }
            }
        })?;
        Ok(array)
    }

    /// A matrix that one workspace computes for every state.
    fn matrices<'py>(
        call: &Call<'_, 'py>,
        shape: &[usize],
        out: Option<&Bound<'py, PyAny>>,
        [q, v]: [Rows<'_>; 2],
        matrix: impl Fn(&mut catena::Dynamics, &State, usize, &mut [f64]) -> Result<()> + Send + Sync,
    ) -> PyResult<Array<'py>> {
        let built = call.built;
        filled(call, shape, out, |work, k, out| {
            built.put(work, q.row(k), v.row(k));
            matrix(&mut work.dynamics, &work.state, k, out)
        })
    }
}

/// A quantity that one workspace computes at every state, from positions and velocities only.
fn at_states<'py, const D: usize>(
    model: &PyModel,
    py: Python<'py>,
    q: &Bound<'py, PyAny>,
    v: Option<&Bound<'py, PyAny>>,
    shape: impl FnOnce(&Built) -> [usize; D],
    out: Option<&Bound<'py, PyAny>>,
    compute: impl Fn(&mut catena::Dynamics, &State, &mut [f64]) -> Result<()> + Send + Sync,
) -> PyResult<Array<'py>> {
    let built = model.built(py)?;
    built.guarded(py, || {
        let q = Numbers::new(py, "q", q, built.model.nq())?;
        let v = match v {
            Some(v) => Numbers::new(py, "v", v, built.model.nv())?,
            None => Numbers::or_zero(py, "v", None, built.model.nv())?,
        };
        let call = Call::new(py, &built, vec![&q, &v])?;
        let rows = [q.view(), v.view()];
        PyModel::matrices(&call, &shape(&built), out, rows, |d, state, _, out| {
            compute(d, state, out)
        })
    })
}

/// [`at_states`] with matrices of nv × nv.
fn square(built: &Built) -> [usize; 2] {
    [built.model.nv(); 2]
}

/// Copies a matrix.
fn copy(matrix: &Matrix, out: &mut [f64]) -> Result<()> {
    out.copy_from_slice(matrix.as_slice());
    Ok(())
}

/// A state as two arrays.
fn pair<'py>(py: Python<'py>, state: &State) -> PyResult<(Array<'py>, Array<'py>)> {
    Ok((array(py, &state.q)?, array(py, &state.v)?))
}

#[pymethods]
impl PyModel {
    /// inverse(q, v=None, a=None, *, wrenches=None, actuators=None, time=0.0, out=None, formulation=None)
    /// --
    ///
    /// Efforts τ that produce the accelerations `a`: I(q) a + C(q, v) v + g(q) + passive(q, v) − Jᵀ w.
    ///
    /// Give one state, q (nq,) and v, a (nv,), or many, (N, nq) and (N, nv); a single row is used for all. v and a default to
    /// zero. `wrenches` maps names of links or frames to (6,) or (N, 6): moment, then force, in world axes, the force at the
    /// frame's origin. Free joints: q is x, y, z and a quaternion (w, x, y, z); v is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's. SI units, radians.
    ///
    /// A model with loops needs `actuators`, the names of the actuated freedoms; the others are passive. `formulation` selects one of the
    /// formulations that `compare` lists, instead of the recursion.
    ///
    /// >>> arm = catena.model("stanford")
    /// >>> tau = arm.inverse(arm.neutral())
    /// >>> bool(np.allclose(tau, arm.gravity(arm.neutral())))
    /// True
    /// >>> arm.inverse(np.zeros((1000, 6)), np.zeros(6), np.ones(6)).shape
    /// (1000, 6)
    #[pyo3(signature = (q, v = None, a = None, *, wrenches = None, actuators = None, time = 0.0, out = None, formulation = None))]
    fn inverse<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        a: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        actuators: Option<&Bound<'py, PyAny>>,
        time: f64,
        out: Option<&Bound<'py, PyAny>>,
        formulation: Option<&str>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        instant(py, time)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let numbers = [
                Numbers::new(py, "q", q, nq)?,
                Numbers::or_zero(py, "v", v, nv)?,
                Numbers::or_zero(py, "a", a, nv)?,
            ];
            let way = crate::mechanism::formulation(py, formulation)?;
            let actuators = actuators.map(|names| listed(py, "actuators", names)).transpose()?;
            let is_tree = built.model.constraints().is_empty() && actuators.is_none();
            if is_tree && way.is_none() {
                return Self::dynamics(py, &built, Way::Inverse, numbers, wrenches, time, out);
            }
            if built.model.couplings().is_some() {
                return Err(refuse(
                    py,
                    &format!(
                        "model `{}` has couplings and no loops: every independent freedom has its own effort",
                        built.model.name()
                    ),
                    "leave `actuators` and `formulation` out",
                ));
            }
            let actuators: Vec<usize> = if let Some(names) = actuators {
                built.freedoms(py, &names)?
            } else if is_tree {
                (0..nv).collect()
            } else {
                return Err(refuse(
                    py,
                    &format!(
                        "model `{}` has loops: inverse dynamics needs the actuated freedoms",
                        built.model.name()
                    ),
                    "name them: `inverse(q, v, a, actuators=[\"crank_joint\"])`",
                ));
            };
            let wrenches = Wrenches::new(py, &built, wrenches)?;
            let [q, v, a] = &numbers;
            let arguments = [q, v, a].into_iter().chain(wrenches.numbers()).collect();
            let call = Call::new(py, &built, arguments)?;
            let (pushes, built) = (wrenches.view(&built), &*built);
            let (q, v, a) = (q.view(), v.view(), a.view());
            filled(&call, &[nv], out, |work, k, out| {
                built.put(work, q.row(k), v.row(k));
                let external = pushes.single(work, k)?;
                let vdot = or(a.row(k), &work.zeros);
                if let Some(way) = way {
                    let mut mechanism = Mechanism::driving(&built.model, &actuators)?;
                    let efforts = mechanism.efforts(way, time, &work.state, vdot, &external)?;
                    out.copy_from_slice(&efforts);
                    return Ok(());
                }
                let mut chain = built.chain();
                let found = chain.inverse(time, &work.state, vdot, &external, &actuators);
                built.keep_chain(chain);
                out.copy_from_slice(&found?.efforts);
                Ok(())
            })
        })
    }

    /// forward(q, v=None, tau=None, *, wrenches=None, time=0.0, out=None)
    /// --
    ///
    /// Accelerations v̇ that the efforts `tau` produce, in O(n).
    ///
    /// Arguments as for `inverse`: one state or rows of many, v and tau default to zero, wrenches (moment, force) in world axes
    /// at the frame's origin. The loops of the model stay closed; only drivers depend on `time`.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    ///
    /// >>> arm = catena.model("stanford")
    /// >>> q = arm.neutral()
    /// >>> bool(np.abs(arm.forward(q, tau=arm.gravity(q))).max() < 1e-12)
    /// True
    #[pyo3(signature = (q, v = None, tau = None, *, wrenches = None, time = 0.0, out = None))]
    fn forward<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        tau: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        time: f64,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        instant(py, time)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let numbers = [
                Numbers::new(py, "q", q, nq)?,
                Numbers::or_zero(py, "v", v, nv)?,
                Numbers::or_zero(py, "tau", tau, nv)?,
            ];
            Self::dynamics(py, &built, Way::Forward, numbers, wrenches, time, out)
        })
    }

    /// inertia(q, *, out=None)
    /// --
    ///
    /// The generalized inertia matrix I(q), (nv, nv) or (N, nv, nv), rotor inertias on its diagonal.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent.
    ///
    /// >>> arm = catena.model("stanford")
    /// >>> I = arm.inertia(arm.neutral())
    /// >>> bool(np.allclose(I, I.T)), I.shape
    /// (True, (6, 6))
    #[pyo3(signature = (q, *, out = None))]
    fn inertia<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let q = Numbers::new(py, "q", q, nq)?;
            let call = Call::new(py, &built, vec![&q])?;
            let Some(n) = call.states else {
                return Self::matrices(
                    &call,
                    &[nv, nv],
                    out,
                    [q.view(), NONE],
                    |d, state, _, out| copy(d.inertia(state)?, out),
                );
            };
            let array = call.results(&[nv, nv], out)?;
            let q = built.sound(q.all(n));
            call.lanes(writable(&array), |batch, states, out| {
                batch.inertia(&q[states.start * nq..states.end * nq], out)
            })?;
            Ok(array)
        })
    }

    /// inverse_inertia(q, *, out=None)
    /// --
    ///
    /// I(q)⁻¹ in O(n²), (nv, nv) or (N, nv, nv). To solve linear systems, use `factor`.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent.
    #[pyo3(signature = (q, *, out = None))]
    fn inverse_inertia<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        at_states(self, py, q, None, square, out, |d, state, out| {
            copy(d.inverse_inertia(state)?, out)
        })
    }

    /// coriolis(q, v, *, out=None)
    /// --
    ///
    /// The matrix C(q, v), (nv, nv) or (N, nv, nv): C v are the centrifugal and Coriolis efforts, and dI/dt − 2 C is
    /// skew-symmetric.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    #[pyo3(signature = (q, v, *, out = None))]
    fn coriolis<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        at_states(self, py, q, Some(v), square, out, |d, state, out| {
            copy(d.coriolis(state)?, out)
        })
    }

    /// gravity(q, *, out=None)
    /// --
    ///
    /// Efforts that hold the system still against gravity and springs, (nv,) or (N, nv).
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent.
    #[pyo3(signature = (q, *, out = None))]
    fn gravity<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let numbers = [
                Numbers::new(py, "q", q, nq)?,
                Numbers::or_zero(py, "v", None, nv)?,
                Numbers::or_zero(py, "a", None, nv)?,
            ];
            Self::dynamics(py, &built, Way::Inverse, numbers, None, 0.0, out)
        })
    }

    /// jacobian(q, frame, *, out=None)
    /// --
    ///
    /// Jacobian of a link or frame, (6, nv) or (N, 6, nv): J v is its angular velocity, then the velocity of its origin, in world
    /// axes.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    ///
    /// >>> arm = catena.model("stanford")
    /// >>> arm.jacobian(arm.neutral(), arm.frames[-1]).shape
    /// (6, 6)
    #[pyo3(signature = (q, frame, *, out = None))]
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        frame: &str,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let frame = built.frame(py, frame)?;
            let q = Numbers::new(py, "q", q, nq)?;
            let call = Call::new(py, &built, vec![&q])?;
            let Some(n) = call.states else {
                return Self::matrices(
                    &call,
                    &[6, nv],
                    out,
                    [q.view(), NONE],
                    |d, state, _, out| copy(d.jacobian(state, frame)?, out),
                );
            };
            let array = call.results(&[6, nv], out)?;
            let q = built.sound(q.all(n));
            call.lanes(writable(&array), |batch, states, out| {
                batch.jacobians(&q[states.start * nq..states.end * nq], frame, out)
            })?;
            Ok(array)
        })
    }

    /// jacobian_rate(q, v, frame, *, out=None)
    /// --
    ///
    /// dJ/dt v of a link or frame, (6,) or (N, 6): its acceleration while all v̇ are zero; angular first, world axes.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    #[pyo3(signature = (q, v, frame, *, out = None))]
    fn jacobian_rate<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        frame: &str,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let frame = built.frame(py, frame)?;
            let (q, v) = (Numbers::new(py, "q", q, nq)?, Numbers::new(py, "v", v, nv)?);
            let call = Call::new(py, &built, vec![&q, &v])?;
            Self::matrices(
                &call,
                &[6],
                out,
                [q.view(), v.view()],
                |d, state, _, out| {
                    out.copy_from_slice(&d.jacobian_rate_times_v(state, frame)?.to_array());
                    Ok(())
                },
            )
        })
    }

    /// pose(q, frame, *, out=None)
    /// --
    ///
    /// Pose of a link or frame in the world, (4, 4) or (N, 4, 4): its rotation takes components in the frame to components in the
    /// world, its last column is the frame's origin.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent.
    #[pyo3(signature = (q, frame, *, out = None))]
    fn pose<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        frame: &str,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let nq = built.model.nq();
        built.guarded(py, || {
            let frame = built.frame(py, frame)?;
            let q = Numbers::new(py, "q", q, nq)?;
            let call = Call::new(py, &built, vec![&q])?;
            let Some(n) = call.states else {
                return Self::matrices(
                    &call,
                    &[4, 4],
                    out,
                    [q.view(), NONE],
                    |d, state, _, out| {
                        homogeneous(&d.frame_pose(state, frame)?, out);
                        Ok(())
                    },
                );
            };
            let array = call.results(&[4, 4], out)?;
            let q = built.sound(q.all(n));
            call.lanes(writable(&array), |batch, states, out| {
                let mut poses = vec![Pose::identity(); states.len()];
                let q = &q[states.start * nq..states.end * nq];
                batch.frame_poses(q, frame, &mut poses)?;
                for (pose, out) in poses.iter().zip(out.chunks_exact_mut(16)) {
                    homogeneous(pose, out);
                }
                Ok(())
            })?;
            Ok(array)
        })
    }

    /// regressor(q, v=None, a=None, *, out=None)
    /// --
    ///
    /// Y with τ = Y π, (nv, 10 n) or (N, nv, 10 n): efforts as a linear function of the inertial parameters of the n bodies, ten
    /// each: m, m c (3), then Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the body's origin, in body axes (see `inertial_parameters`).
    /// Rotors, springs, damping and friction are not in Y π.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    ///
    /// >>> arm = catena.model("stanford")
    /// >>> q = arm.neutral()
    /// >>> bool(np.allclose(arm.regressor(q) @ arm.inertial_parameters(), arm.gravity(q)))
    /// True
    #[pyo3(signature = (q, v = None, a = None, *, out = None))]
    fn regressor<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        a: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv, bodies) = (built.model.nq(), built.model.nv(), built.model.body_count());
        built.guarded(py, || {
            let q = Numbers::new(py, "q", q, nq)?;
            let v = Numbers::or_zero(py, "v", v, nv)?;
            let a = Numbers::or_zero(py, "a", a, nv)?;
            let call = Call::new(py, &built, vec![&q, &v, &a])?;
            let (zeros, a) = (vec![0.0; nv], a.view());
            let rows = [q.view(), v.view()];
            Self::matrices(&call, &[nv, 10 * bodies], out, rows, |d, state, k, out| {
                copy(d.regressor(state, or(a.row(k), &zeros))?, out)
            })
        })
    }

    /// inertial_parameters()
    /// --
    ///
    /// The parameters π of `regressor`: (10 n,), ten for each body in the order of `bodies`.
    fn inertial_parameters<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let numbers = catena::algorithm::inverse_dynamics::inertial_parameters(&built.model);
            let array = crate::array::results(py, &[numbers.len()], None, &[])?;
            writable(&array).copy_from_slice(&numbers);
            Ok(array)
        })
    }

    /// Derivatives of inverse dynamics: (3, nv, nv) or (N, 3, nv, nv).
    #[pyo3(signature = (q, v, a, wrenches = None, out = None))]
    fn _inverse_derivatives<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        a: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let q = Numbers::new(py, "q", q, nq)?;
            let v = Numbers::or_zero(py, "v", v, nv)?;
            let a = Numbers::or_zero(py, "a", a, nv)?;
            let wrenches = Wrenches::new(py, &built, wrenches)?;
            let arguments = [&q, &v, &a].into_iter().chain(wrenches.numbers()).collect();
            let call = Call::new(py, &built, arguments)?;
            let (pushes, zeros) = (wrenches.view(&built), vec![0.0; nv]);
            let (built, size) = (&*built, nv * nv);
            if call.states.is_some() && pushes.is_empty() {
                let array = call.results(&[3, nv, nv], out)?;
                let (q, v, a) = (built.sound(q.given()), v.given(), a.given());
                call.lanes(writable(&array), |batch, states, out| {
                    let (mut two, mut one) = (
                        vec![0.0; 2 * size * states.len()],
                        vec![0.0; size * states.len()],
                    );
                    let q = part(&q, nq, &states);
                    let (v, a) = (part(&v, nv, &states), part(&a, nv, &states));
                    batch.inverse_derivatives(q, v, a, &mut two)?;
                    batch.inertia(q, &mut one)?;
                    for (k, out) in out.chunks_exact_mut(3 * size).enumerate() {
                        out[..2 * size].copy_from_slice(&two[2 * size * k..2 * size * (k + 1)]);
                        out[2 * size..].copy_from_slice(&one[size * k..size * (k + 1)]);
                    }
                    Ok(())
                })?;
                return Ok(array);
            }
            let (q, v, a) = (q.view(), v.view(), a.view());
            filled(&call, &[3, nv, nv], out, |work, k, out| {
                built.put(work, q.row(k), v.row(k));
                let external = pushes.single(work, k)?;
                let d = work.dynamics.inverse_derivatives(
                    &work.state,
                    or(a.row(k), &zeros),
                    &external,
                )?;
                for (matrix, out) in [&d.dq, &d.dv, &d.inertia]
                    .into_iter()
                    .zip(out.chunks_exact_mut(size))
                {
                    copy(matrix, out)?;
                }
                Ok(())
            })
        })
    }

    /// Derivatives of forward dynamics: (3, nv, nv) or (N, 3, nv, nv).
    #[pyo3(signature = (q, v, tau, wrenches = None, time = 0.0, out = None))]
    fn _forward_derivatives<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        tau: Option<&Bound<'py, PyAny>>,
        wrenches: Option<&Bound<'py, PyAny>>,
        time: f64,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        instant(py, time)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let q = Numbers::new(py, "q", q, nq)?;
            let v = Numbers::or_zero(py, "v", v, nv)?;
            let tau = Numbers::or_zero(py, "tau", tau, nv)?;
            let wrenches = Wrenches::new(py, &built, wrenches)?;
            let arguments = [&q, &v, &tau]
                .into_iter()
                .chain(wrenches.numbers())
                .collect();
            let call = Call::new(py, &built, arguments)?;
            let (pushes, zeros) = (wrenches.view(&built), vec![0.0; nv]);
            let (built, size) = (&*built, nv * nv);
            if !built.model.constraints().is_empty() {
                let (q, v, tau) = (q.view(), v.view(), tau.view());
                return filled(&call, &[3, nv, nv], out, |work, k, out| {
                    built.put(work, q.row(k), v.row(k));
                    let external = pushes.single(work, k)?;
                    let mut chain = built.chain();
                    let tau = or(tau.row(k), &zeros);
                    let found = chain.derivatives(time, &work.state, tau, &external);
                    built.keep_chain(chain);
                    for (matrix, out) in found?.accelerations.iter().zip(out.chunks_exact_mut(size))
                    {
                        copy(matrix, out)?;
                    }
                    Ok(())
                });
            }
            if call.states.is_some() && pushes.is_empty() {
                let array = call.results(&[3, nv, nv], out)?;
                let (q, v, tau) = (built.sound(q.given()), v.given(), tau.given());
                call.lanes(writable(&array), |batch, states, out| {
                    let (v, tau) = (part(&v, nv, &states), part(&tau, nv, &states));
                    batch.forward_derivatives(part(&q, nq, &states), v, tau, out)
                })?;
                return Ok(array);
            }
            let (q, v, tau) = (q.view(), v.view(), tau.view());
            filled(&call, &[3, nv, nv], out, |work, k, out| {
                built.put(work, q.row(k), v.row(k));
                let external = pushes.single(work, k)?;
                let d = work.dynamics.forward_derivatives(
                    &work.state,
                    or(tau.row(k), &zeros),
                    &external,
                )?;
                for (matrix, out) in [&d.dq, &d.dv, &d.dtau]
                    .into_iter()
                    .zip(out.chunks_exact_mut(size))
                {
                    copy(matrix, out)?;
                }
                Ok(())
            })
        })
    }

    /// Energies, momenta and the mass centre, sixteen numbers for each state.
    #[pyo3(signature = (q, v = None))]
    fn _mechanical<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        at_states(
            self,
            py,
            q,
            v,
            |_| [16],
            None,
            |d, state, out| {
                let m = d.mechanical_state(state)?;
                out[..3].copy_from_slice(&[m.kinetic, m.gravitational, m.elastic]);
                out[3..9].copy_from_slice(&m.momentum.to_array());
                out[9] = m.mass;
                out[10..13].copy_from_slice(&m.centre.to_array());
                out[13..].copy_from_slice(&m.centre_velocity.to_array());
                Ok(())
            },
        )
    }

    /// The centroidal momentum matrix, its rate, the bias, the mass centre, the mass and the inertia: 12 nv + 19 numbers for each state.
    #[pyo3(signature = (q, v = None, out = None))]
    fn _centroidal<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let shape = |built: &Built| [12 * built.model.nv() + 19];
        at_states(self, py, q, v, shape, out, |d, state, out| {
            let nv = state.v.len();
            let found = d.centroidal_momentum(state)?;
            let (matrices, rest) = out.split_at_mut(12 * nv);
            matrices[..6 * nv].copy_from_slice(found.matrix.as_slice());
            matrices[6 * nv..].copy_from_slice(found.rate.as_slice());
            rest[..6].copy_from_slice(&found.bias.to_array());
            rest[9] = found.mass;
            let inertia = found.inertia.full().rows();
            for (k, row) in inertia.iter().enumerate() {
                rest[10 + 3 * k..13 + 3 * k].copy_from_slice(row);
            }
            // the centre is relative to the first body there, and to the world's origin here
            let centre = d.mechanical_state(state)?.centre;
            rest[6..9].copy_from_slice(&centre.to_array());
            Ok(())
        })
    }

    /// Pose (16), velocity (6) and acceleration (6) of every frame.
    #[pyo3(signature = (q, v = None, a = None, out = None))]
    fn _kinematics<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: Option<&Bound<'py, PyAny>>,
        a: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let q = Numbers::new(py, "q", q, nq)?;
            let v = Numbers::or_zero(py, "v", v, nv)?;
            let a = Numbers::or_zero(py, "a", a, nv)?;
            let call = Call::new(py, &built, vec![&q, &v, &a])?;
            let (frames, zeros, a) = (&built.model.tree().frames, vec![0.0; nv], a.view());
            let rows = [q.view(), v.view()];
            Self::matrices(&call, &[frames.len(), 28], out, rows, |d, state, k, out| {
                let motion = d.kinematics(state, or(a.row(k), &zeros))?;
                for (frame, out) in frames.iter().zip(out.chunks_exact_mut(28)) {
                    homogeneous(&motion.frame_pose(frame), &mut out[..16]);
                    out[16..22].copy_from_slice(&motion.frame_velocity(frame).to_array());
                    out[22..].copy_from_slice(&motion.frame_acceleration(frame).to_array());
                }
                Ok(())
            })
        })
    }

    /// operational_inertia(q, frame, *, out=None)
    /// --
    ///
    /// Λ = (J I⁻¹ Jᵀ)⁻¹ of a link or frame, (6, 6) or (N, 6, 6), angular first, world axes. Raises an error where it does not exist.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent.
    #[pyo3(signature = (q, frame, *, out = None))]
    fn operational_inertia<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        frame: &str,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let nq = built.model.nq();
        built.guarded(py, || {
            let frame = built.frame(py, frame)?;
            let q = Numbers::new(py, "q", q, nq)?;
            let call = Call::new(py, &built, vec![&q])?;
            Self::matrices(&call, &[6, 6], out, [q.view(), NONE], |d, state, _, out| {
                copy(&d.operational_inertia(state, frame)?.inertia, out)
            })
        })
    }

    /// neutral()
    /// --
    ///
    /// Positions with every coordinate zero and quaternions at identity, (nq,).
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent.
    fn neutral<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let array = crate::array::results(py, &[built.model.nq()], None, &[])?;
            writable(&array).copy_from_slice(&State::<f64>::neutral(&built.model).q);
            Ok(array)
        })
    }

    /// start()
    /// --
    ///
    /// The initial state (q, v) of the model: neutral and at rest, unless its joints define a start. It need not close
    /// the loops of a mechanism; then it is a guess for `assemble`.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    fn start<'py>(&self, py: Python<'py>) -> PyResult<(Array<'py>, Array<'py>)> {
        let built = self.built(py)?;
        built.guarded(py, || pair(py, &State::start(&built.model)))
    }

    /// random(seed=0)
    /// --
    ///
    /// A random state (q, v): angles within ±π and lengths within ±1 m, or within the joint limits where there are any; velocities within ±1.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    #[pyo3(signature = (seed = None), text_signature = "($self, seed=0)")]
    fn random<'py>(
        &self,
        py: Python<'py>,
        seed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let built = self.built(py)?;
        let seed = match seed {
            None => 0,
            Some(seed) => whole(py, "seed", seed)?,
        };
        built.guarded(py, || pair(py, &State::random(&built.model, seed)))
    }

    /// step(q, delta, *, out=None)
    /// --
    ///
    /// q ⊕ δ, (nq,) or (N, nq): moves every joint along δ, a velocity times a time. Plain coordinates add; a quaternion is
    /// multiplied from the right by a rotation about the child's axes and stays of unit length. `difference` is the inverse.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    #[pyo3(signature = (q, delta, *, out = None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        delta: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let (q, delta) = (
                Numbers::new(py, "q", q, nq)?,
                Numbers::new(py, "delta", delta, nv)?,
            );
            let call = Call::new(py, &built, vec![&q, &delta])?;
            let (built, rows, delta) = (&*built, q.view(), delta.view());
            filled(&call, &[nq], out, |work, k, out| {
                built.put(work, rows.row(k), &[]);
                work.dynamics.kinematics(&work.state, delta.row(k))?; // rejects non-finite numbers
                work.state.step(&built.model, delta.row(k));
                out.copy_from_slice(&work.state.q);
                Ok(())
            })
        })
    }

    /// difference(q0, q1, *, out=None)
    /// --
    ///
    /// δ with q1 = q0 ⊕ δ, (nv,) or (N, nv): the inverse of `step`, a velocity times a time. Plain coordinates subtract, without regard to
    /// full turns; of a quaternion it is the rotation vector of the shorter rotation, about the child's axes.
    /// SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    /// body's.
    ///
    /// >>> robot = catena.model("space-robot")
    /// >>> q0, q1 = robot.random(1)[0], robot.random(2)[0]
    /// >>> delta = robot.difference(q0, q1)
    /// >>> delta.shape, bool(np.allclose(robot.difference(robot.step(q0, delta), q1), 0, atol=1e-12))
    /// ((12,), True)
    #[pyo3(signature = (q0, q1, *, out = None))]
    fn difference<'py>(
        &self,
        py: Python<'py>,
        q0: &Bound<'py, PyAny>,
        q1: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let built = self.built(py)?;
        let (nq, nv) = (built.model.nq(), built.model.nv());
        built.guarded(py, || {
            let (q0, q1) = (
                Numbers::new(py, "q0", q0, nq)?,
                Numbers::new(py, "q1", q1, nq)?,
            );
            let call = Call::new(py, &built, vec![&q0, &q1])?;
            let (built, from, to) = (&*built, q0.view(), q1.view());
            filled(&call, &[nv], out, |work, k, out| {
                built.put(work, to.row(k), &[]);
                work.dynamics.kinematics(&work.state, &work.zeros)?; // rejects non-finite numbers
                let end = work.state.clone();
                built.put(work, from.row(k), &[]);
                work.dynamics.kinematics(&work.state, &work.zeros)?;
                out.copy_from_slice(&work.state.change_to(&built.model, &end));
                Ok(())
            })
        })
    }
}

/// No velocities: they are zero.
const NONE: Rows<'static> = Rows::nothing();
