//! Inputs of a simulation: efforts at the joints and wrenches on frames.

use super::base_motion::PrescribedBase;
use super::control::{Actuated, FrameLoad, Gains, Law};
use super::stops::Stop;
use crate::Dynamics;
use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Actuator, Constraint, ForceElement, Model};
use crate::spatial::{Force, Vec3};
use crate::state::State;
use crate::trajectory::Reference;

/// Piecewise-linear time series, constant outside its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    times: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

impl Table {
    /// A table; times must increase, rows must all have the same length.
    pub fn new(times: Vec<f64>, rows: Vec<Vec<f64>>) -> Result<Self> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Input, message));
        if times.is_empty() || times.len() != rows.len() {
            return refuse(format!(
                "a table needs one row per time: {} times, {} rows",
                times.len(),
                rows.len()
            ));
        }
        if let Some(k) = times
            .windows(2)
            .position(|w| w[0].partial_cmp(&w[1]) != Some(std::cmp::Ordering::Less))
        {
            return refuse(format!(
                "times of a table must increase: {} s is followed by {} s",
                times[k],
                times[k + 1]
            ));
        }
        for (time, row) in times.iter().zip(&rows) {
            if row.len() != rows[0].len() {
                return refuse(format!(
                    "row at {time} s has {} numbers, the first one has {}",
                    row.len(),
                    rows[0].len()
                ));
            }
            if !time.is_finite() || row.iter().any(|x| !x.is_finite()) {
                return refuse(format!("row at {time} s is not finite"));
            }
        }
        Ok(Table { times, rows })
    }

    /// Numbers per row.
    pub fn width(&self) -> usize {
        self.rows[0].len()
    }

    /// The numbers at time t.
    pub fn at(&self, t: f64, out: &mut [f64]) {
        let next = self.times.partition_point(|&x| x <= t);
        if next == 0 {
            out.copy_from_slice(&self.rows[0]);
        } else if next == self.times.len() {
            out.copy_from_slice(&self.rows[next - 1]);
        } else {
            let (t0, t1) = (self.times[next - 1], self.times[next]);
            let s = (t - t0) / (t1 - t0);
            for (out, (a, b)) in out
                .iter_mut()
                .zip(self.rows[next - 1].iter().zip(&self.rows[next]))
            {
                *out = a + s * (b - a);
            }
        }
    }
}

/// How the efforts are computed. Controllers act on joints with scalar coordinates; joints with quaternions (a free base, ball
/// joints) get no effort from them, except from a user-defined controller.
#[derive(Clone, Debug)]
pub enum Controller {
    /// No efforts.
    None,
    /// Constant efforts.
    Constant(Vec<f64>),
    /// amplitude · sin(frequency · t), per freedom; frequency in rad/s.
    Sine {
        /// Amplitudes.
        amplitude: Vec<f64>,
        /// Angular frequencies, rad/s.
        frequency: Vec<f64>,
    },
    /// Efforts from a table, linear between its instants.
    Table(Table),
    /// Gravity compensation.
    GravityCompensation,
    /// stiffness · (q_d − q) + damping · (v_d − v) toward a motion, per freedom.
    ProportionalDerivative {
        /// The desired motion.
        motion: Reference,
        /// Effort per unit of position error.
        stiffness: Gains,
        /// Effort per unit of velocity error.
        damping: Gains,
    },
    /// Inverse dynamics of v̇_d + damping (v_d − v) + stiffness (q_d − q): the joint errors are decoupled. Dry
    /// friction is compensated in the direction of v_d.
    ComputedTorque {
        /// The desired motion.
        motion: Reference,
        /// Acceleration per unit of position error, 1/s².
        stiffness: Gains,
        /// Acceleration per unit of velocity error, 1/s.
        damping: Gains,
    },
    /// A user-defined controller.
    Own(Law),
}

/// A wrench on a frame, in world axes, the force at the frame's origin.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameWrench {
    /// Index of the frame in the tree.
    pub frame: usize,
    /// Moment and force.
    pub wrench: Force<f64>,
}

/// A spring and a damper along the line between points of two frames, as an input, for example to pull at a body. One that
/// belongs to the mechanism is a force element of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSpring {
    /// Indices of the frames in the tree; none stands for the ground, with the point in world axes.
    pub frames: [Option<usize>; 2],
    /// Position of an end in its frame, m.
    pub points: [Vec3<f64>; 2],
    /// Force per unit of elongation, N/m.
    pub stiffness: f64,
    /// Force per unit of elongation rate, N·s/m.
    pub damping: f64,
    /// Length without force, m.
    pub free_length: f64,
}

/// All external inputs. Write `..Inputs::default()` for the rest.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Efforts at the joints.
    pub controller: Controller,
    /// Actuators that the controller's efforts pass through: other joints get none, limits hold, lags delay. None: every
    /// freedom gets the controller's effort.
    pub actuators: Option<Vec<Actuator>>,
    /// How often the controller runs, in Hz, with its efforts held in between; `None` means it is continuous.
    pub rate: Option<f64>,
    /// Wrenches on frames, constant in world axes.
    pub wrenches: Vec<FrameWrench>,
    /// Wrenches that depend on time and state.
    pub loads: Vec<FrameLoad>,
    /// Springs between frames; their work is counted as external.
    pub springs: Vec<LineSpring>,
    /// Joint limits that are enforced: [`Stop::all`] are those of a model. Other limits do not act.
    pub stops: Vec<Stop>,
    /// Motion of the base.
    pub base: PrescribedBase,
}

impl Default for Inputs {
    fn default() -> Self {
        Inputs {
            controller: Controller::None,
            actuators: None,
            rate: None,
            loads: Vec::new(),
            wrenches: Vec::new(),
            springs: Vec::new(),
            stops: Vec::new(),
            base: PrescribedBase::fixed(),
        }
    }
}

impl Inputs {
    /// Whether there is no wrench, load or spring.
    pub(crate) fn has_no_wrenches(&self) -> bool {
        self.wrenches.is_empty() && self.loads.is_empty() && self.springs.is_empty()
    }

    /// Whether there is no controller and no wrench, and the base is at rest.
    pub fn is_idle(&self) -> bool {
        matches!(self.controller, Controller::None)
            && self.has_no_wrenches()
            && self.base.is_fixed()
    }

    /// Rejects inputs that do not fit the model.
    pub fn check(&self, model: &Model) -> Result<()> {
        let nv = model.nv();
        let length = |what: &str, got: usize| crate::state::check_length(what, got, nv);
        match &self.controller {
            Controller::None | Controller::GravityCompensation => {}
            Controller::Own(law) => {
                if self.rate.is_none() && law.save().is_some_and(|state| !state.is_empty()) {
                    return Err(Error::new(
                        ErrorKind::Input,
                        "a controller with a state of its own needs a rate",
                    )
                    .hint(
                        "give `rate`: a continuous controller is a function of time and state only",
                    ));
                }
            }
            Controller::Constant(tau) => length("constant efforts", tau.len())?,
            Controller::Sine {
                amplitude,
                frequency,
            } => {
                length("amplitudes of the efforts", amplitude.len())?;
                length("frequencies of the efforts", frequency.len())?;
            }
            Controller::Table(table) => length("columns of the table of efforts", table.width())?,
            Controller::ProportionalDerivative {
                motion,
                stiffness,
                damping,
            }
            | Controller::ComputedTorque {
                motion,
                stiffness,
                damping,
            } => {
                let count = controlled(model).count();
                crate::state::check_length(
                    "coordinates of the motion to follow (those of joints without quaternions)",
                    motion.at(0.0).q.len(),
                    count,
                )?;
                stiffness.check(count)?;
                damping.check(count)?;
            }
        }
        self.check_actuation(model)?;
        self.stops.iter().try_for_each(|stop| stop.check(model))?;
        let mut stopped: Vec<usize> = self.stops.iter().map(|stop| stop.freedom).collect();
        stopped.sort_unstable();
        if let Some(pair) = stopped.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = &model.tree().dofs[pair[0]].name;
            let message = format!("two stops are given for `{name}`");
            return Err(Error::new(ErrorKind::Input, message));
        }
        let known = |load: &FrameLoad| load.frame < model.tree().frames.len();
        if !self.loads.iter().all(known) {
            return Err(Error::new(
                ErrorKind::Input,
                "a load acts on an unknown frame",
            ));
        }
        for push in &self.wrenches {
            if push.frame >= model.tree().frames.len()
                || push.wrench.to_array().iter().any(|x| !x.is_finite())
            {
                return Err(Error::new(
                    ErrorKind::Input,
                    "a wrench acts on an unknown frame or is not finite",
                ));
            }
        }
        for spring in &self.springs {
            let known = |frame: &Option<usize>| frame.is_none_or(|k| k < model.tree().frames.len());
            let numbers = [spring.stiffness, spring.damping, spring.free_length];
            let points = spring.points.iter().flat_map(|p| p.to_array());
            if !spring.frames.iter().all(known)
                || !numbers.into_iter().chain(points).all(f64::is_finite)
            {
                return Err(Error::new(
                    ErrorKind::Input,
                    "a spring acts on an unknown frame or is not finite",
                ));
            }
        }
        Ok(())
    }

    fn check_actuation(&self, model: &Model) -> Result<()> {
        if let Some(rate) = self.rate
            && !(rate.is_finite() && rate > 0.0)
        {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the rate of a controller must be positive, not {rate} Hz"),
            ));
        }
        let actuators = self.actuators.iter().flatten();
        for actuator in actuators {
            if actuator.freedom >= model.nv() || actuator.coordinate >= model.nq() {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("actuator `{}` is of another model", actuator.name),
                ));
            }
            let acts = !matches!(self.controller, Controller::None);
            if acts && actuator.lag > 0.0 && self.rate.is_none() {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "actuator `{}` has a lag of {} s: its controller needs a rate",
                        actuator.name, actuator.lag
                    ),
                )
                .hint("give the rate at which the controller runs (`--rate 1000`)"));
            }
        }
        Ok(())
    }

    /// Whether gravity is the only external force on the bodies of this model, all of which are carried by one free joint.
    /// Then their momentum is known.
    pub(crate) fn keep_momentum(&self, model: &Model) -> bool {
        let root = &model.tree().bodies[1..].first();
        let Some(root) = root.filter(|_| model.tree().is_free_floating()) else {
            return false;
        };
        // drivers and couplings may act on the root, and loops may lead to the ground
        let inside = |c: &Constraint| c.bodies().is_some_and(|bodies| !bodies.contains(&0));
        if !model.constraints().iter().all(inside) {
            return false;
        }
        let freedoms = root.v..root.v + root.kind.nv();
        let is_zero = |efforts: &[f64]| efforts[freedoms.clone()].iter().all(|x| *x == 0.0);
        let untouched = match &self.controller {
            Controller::Constant(tau) => is_zero(tau),
            Controller::Sine { amplitude, .. } => is_zero(amplitude),
            Controller::Table(table) => table.rows.iter().all(|row| is_zero(row)),
            // these do not act on joints with quaternions
            Controller::None
            | Controller::GravityCompensation
            | Controller::ProportionalDerivative { .. }
            | Controller::ComputedTorque { .. } => true,
            Controller::Own(_) => self.actuators.is_some(),
        };
        let is_loose = |k: usize| {
            let dof = &model.dofs[k];
            [dof.damping, dof.friction, dof.stiffness, dof.armature] == [0.0; 4]
        };
        untouched
            && self.wrenches.is_empty()
            && self.loads.is_empty()
            && self.springs.is_empty()
            && !self
                .stops
                .iter()
                .any(|stop| freedoms.contains(&stop.freedom))
            && model.forces().iter().all(ForceElement::is_internal)
            && freedoms.clone().all(is_loose)
    }

    /// The first time after t at which an input has a kink, s.
    pub(crate) fn next_kink(&self, t: f64) -> f64 {
        let driven = match &self.controller {
            _ if self.rate.is_some() => f64::INFINITY,
            Controller::Table(table) => {
                let next = table.times.partition_point(|&x| x <= t);
                table.times.get(next).copied().unwrap_or(f64::INFINITY)
            }
            Controller::ProportionalDerivative { motion, .. }
            | Controller::ComputedTorque { motion, .. } => motion.next_kink(t),
            Controller::None
            | Controller::Constant(_)
            | Controller::Sine { .. }
            | Controller::GravityCompensation
            | Controller::Own(_) => f64::INFINITY,
        };
        driven.min(self.base.next_kink(t))
    }

    /// Computes the efforts that a built-in controller demands at an instant. `dynamics` is without dry friction, `model` with it.
    pub(crate) fn efforts(
        &self,
        t: f64,
        state: &State,
        model: &Model,
        dynamics: &mut Dynamics,
        actuated: &Actuated,
        tau: &mut [f64],
    ) -> Result<()> {
        tau.fill(0.0);
        let driven = |(_, (v, _)): &(usize, (usize, usize))| actuated.drives[*v];
        match &self.controller {
            Controller::None => {}
            Controller::Constant(constant) => tau.copy_from_slice(constant),
            Controller::Sine {
                amplitude,
                frequency,
            } => {
                for (tau, (a, w)) in tau.iter_mut().zip(amplitude.iter().zip(frequency.iter())) {
                    *tau = *a * elementary::sin(*w * t);
                }
            }
            Controller::Table(table) => table.at(t, tau),
            Controller::GravityCompensation => {
                let holding = dynamics.gravity(state)?.to_vec();
                for (_, (v, _)) in controlled(dynamics.model()).enumerate().filter(driven) {
                    tau[v] = holding[v];
                }
            }
            Controller::ProportionalDerivative {
                motion,
                stiffness,
                damping,
            } => {
                let wanted = motion.at(t);
                for (k, (v, q)) in controlled(dynamics.model()).enumerate().filter(driven) {
                    tau[v] = stiffness.at(k) * (wanted.q[k] - state.q[q])
                        + damping.at(k) * (wanted.v[k] - state.v[v]);
                }
            }
            Controller::ComputedTorque {
                motion,
                stiffness,
                damping,
            } => {
                let wanted = motion.at(t);
                let ranks = controlled(dynamics.model()).enumerate().filter(driven);
                let (ranks, controlled): (Vec<usize>, Vec<(usize, usize)>) = ranks.unzip();
                let mut vdot = vec![0.0; tau.len()];
                for (&k, &(v, q)) in ranks.iter().zip(&controlled) {
                    vdot[v] = wanted.vdot[k]
                        + damping.at(k) * (wanted.v[k] - state.v[v])
                        + stiffness.at(k) * (wanted.q[k] - state.q[q]);
                }
                computed_torque(state, dynamics, &controlled, &mut vdot, tau)?;
                // dry friction is compensated in the desired direction; the actual direction would chatter at rest
                for (&k, &(v, _)) in ranks.iter().zip(&controlled) {
                    let direction = match wanted.v[k] == 0.0 {
                        true => wanted.vdot[k],
                        false => wanted.v[k],
                    };
                    if direction != 0.0 {
                        tau[v] += model.dofs[v].friction * direction.signum();
                    }
                }
            }
            // called by the system, which has the sensors
            Controller::Own(_) => {}
        }
        Ok(())
    }

    /// Computes the external wrenches on the bodies, as [`Dynamics`] takes them; empty if there are none.
    pub(crate) fn external(
        &self,
        t: f64,
        state: &State,
        dynamics: &mut Dynamics,
        external: &mut Vec<Force<f64>>,
    ) -> Result<()> {
        external.clear();
        if self.has_no_wrenches() {
            return Ok(());
        }
        external.resize(dynamics.model().body_count() + 1, Force::zero());
        for push in &self.wrenches {
            let frame = dynamics.model().tree().frames[push.frame].clone();
            let origin: Vec3<f64> = dynamics.frame_pose(state, &frame)?.translation;
            external[frame.body] += dynamics.wrench_on(state, frame.body, origin, push.wrench)?;
        }
        for load in &self.loads {
            let frame = dynamics.model().tree().frames[load.frame].clone();
            let wrench = load.at(t, state, dynamics.model())?;
            let origin: Vec3<f64> = dynamics.frame_pose(state, &frame)?.translation;
            external[frame.body] += dynamics.wrench_on(state, frame.body, origin, wrench)?;
        }
        for spring in &self.springs {
            spring.pull(state, dynamics, external)?;
        }
        Ok(())
    }
}

impl LineSpring {
    /// Adds the forces of the spring to the wrenches on the bodies.
    fn pull(
        &self,
        state: &State,
        dynamics: &mut Dynamics,
        external: &mut [Force<f64>],
    ) -> Result<()> {
        let still = vec![0.0; dynamics.model().nv()];
        let mut ends = [(0, Vec3::zero(), Vec3::zero()); 2];
        for (k, end) in ends.iter_mut().enumerate() {
            *end = match self.frames[k] {
                None => (0, self.points[k], Vec3::zero()),
                Some(frame) => {
                    let frame = dynamics.model().tree().frames[frame].clone();
                    let kinematics = dynamics.kinematics(state, &still)?;
                    let pose = kinematics.frame_pose(&frame);
                    let velocity = kinematics.frame_velocity(&frame);
                    let arm = pose.rotation * self.points[k];
                    let moving = velocity.angular.cross_add(arm, velocity.linear);
                    (frame.body, pose.translation + arm, moving)
                }
            };
        }
        let between = ends[1].1 - ends[0].1;
        let length = between.norm();
        if length == 0.0 {
            return Err(Error::new(
                ErrorKind::Singular,
                "a spring has zero length, hence no direction",
            ));
        }
        let along = between * (1.0 / length);
        let rate = (ends[1].2 - ends[0].2).dot(along);
        let tension = self.stiffness * (length - self.free_length) + self.damping * rate;
        for ((body, point, _), force) in ends.into_iter().zip([tension, -tension]) {
            if body != 0 {
                let force = Force::new(Vec3::zero(), along * force);
                external[body] += dynamics.wrench_on(state, body, point, force)?;
            }
        }
        Ok(())
    }
}

/// Freedoms with a scalar coordinate: velocity index and position index.
pub(super) fn controlled(model: &Model) -> impl Iterator<Item = (usize, usize)> + '_ {
    model.bodies().flat_map(move |i| {
        let body = &model.tree().bodies[i];
        let count = if body.kind.quaternion().is_some() {
            0
        } else {
            body.kind.nv()
        };
        (0..count).map(move |k| (body.v + k, body.q + k))
    })
}

/// Computes the efforts that give the controlled freedoms the desired accelerations while the others get no effort: v̇ of the others follows
/// from their equations of motion. One O(n) solve for every controlled freedom on a free base; a plain inverse dynamics
/// otherwise.
fn computed_torque(
    state: &State,
    dynamics: &mut Dynamics,
    controlled: &[(usize, usize)],
    vdot: &mut [f64],
    tau: &mut [f64],
) -> Result<()> {
    if controlled.len() == vdot.len() {
        tau.copy_from_slice(dynamics.inverse(state, vdot, &[])?);
        return Ok(());
    }
    let free: Vec<usize> = (0..vdot.len())
        .filter(|k| !controlled.iter().any(|(v, _)| v == k))
        .collect();
    // I_ff v̇_f = −(bias_f + I_fc v̇_c): inverse dynamics with v̇_f = 0 gives the right-hand side
    for &k in &free {
        vdot[k] = 0.0;
    }
    let residual = dynamics.inverse(state, vdot, &[])?.to_vec();
    let inertia = dynamics.inertia(state)?;
    let mut block = crate::Matrix::zeros(free.len(), free.len());
    for (a, &i) in free.iter().enumerate() {
        for (b, &j) in free.iter().enumerate() {
            block[(a, b)] = inertia[(i, j)];
        }
    }
    let rhs: Vec<f64> = free.iter().map(|&k| -residual[k]).collect();
    let solution =
        crate::algorithm::factorization::reverse_gaussian_elimination(&block).solve(&rhs);
    for (&k, x) in free.iter().zip(solution) {
        vdot[k] = x;
    }
    let efforts = dynamics.inverse(state, vdot, &[])?;
    for &(v, _) in controlled {
        tau[v] = efforts[v];
    }
    Ok(())
}
