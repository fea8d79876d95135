//! Wrenches on the bodies, including those of force elements, and sensor readings under them.

use super::Dynamics;
use super::checks::{all_finite, too_large};
use crate::algorithm::elements::{self, Action};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ForceElement, ForceLaw, SensorKind};
use crate::spatial::{Force, Motion, Vec3};
use crate::state::State;

impl Dynamics {
    /// Converts a wrench in world axes, with its force acting at a point of the world, to the wrench
    /// on `body` that [`inverse`](Self::inverse) and [`forward`](Self::forward) take.
    pub fn wrench_on(
        &mut self,
        state: &State,
        body: usize,
        point: Vec3<f64>,
        wrench: Force<f64>,
    ) -> Result<Force<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, |tree, state| {
                tree.wrench_on(state, body, point, wrench)
            });
        }
        self.locate(state)?;
        self.check_body(body)?;
        let about_origin = Force::new(point.cross_add(wrench.force, wrench.moment), wrench.force);
        let wrench = self.kinematics.world_from_body[body].force_into(about_origin);
        if all_finite(&wrench.to_array()) {
            return Ok(wrench);
        }
        let name = &self.model.tree().bodies[body].name;
        Err(too_large(&format!("the wrench on body `{name}`")))
    }

    /// Passes the wrenches on the bodies to the recursions, with those of force elements. Returns whether there are any.
    pub(super) fn load(&mut self, state: &State, external: &[Force<f64>]) -> Result<bool> {
        self.check_external(external)?;
        if self.model.forces().is_empty() {
            self.path.load(external);
            return Ok(!external.is_empty());
        }
        let mut wrenches = std::mem::take(&mut self.wrenches);
        let done = self.loaded(state, external, &mut wrenches);
        self.path.load(&wrenches);
        self.wrenches = wrenches;
        done.map(|_| true)
    }

    /// Adds the wrenches of force elements to the external ones, and returns the action of each element.
    pub(crate) fn loaded(
        &mut self,
        state: &State,
        external: &[Force<f64>],
        wrenches: &mut Vec<Force<f64>>,
    ) -> Result<Vec<Action<f64>>> {
        let still = vec![0.0; self.model.nv()];
        self.kinematics(state, &still)?;
        wrenches.clear();
        wrenches.extend_from_slice(external);
        wrenches.resize(self.model.body_count() + 1, Force::zero());
        let mut actions = Vec::with_capacity(self.model.forces().len());
        for element in self.model.forces() {
            let action = elements::act(element, &self.model, &self.kinematics, wrenches);
            let sound = wrenches.iter().all(|wrench| all_finite(&wrench.to_array()));
            if !(sound && all_finite(&[action.energy, action.work, action.dissipated])) {
                return Err(undefined(element, action.measures[1]));
            }
            actions.push(action);
        }
        Ok(actions)
    }

    /// The action of every force element of the model at a state: energy, powers, tension and length.
    pub fn force_actions(&mut self, state: &State) -> Result<Vec<Action<f64>>> {
        if self.is_coupled() {
            return self.at_tree(state, Dynamics::force_actions);
        }
        if self.model.forces().is_empty() {
            self.check_state(state)?;
            return Ok(Vec::new());
        }
        let mut wrenches = std::mem::take(&mut self.wrenches);
        let actions = self.loaded(state, &[], &mut wrenches);
        self.wrenches = wrenches;
        actions
    }

    /// Jᵀ w of every force element: the equivalent efforts.
    pub fn force_efforts(&mut self, state: &State) -> Result<Vec<Vec<f64>>> {
        if self.is_coupled() {
            return self.coupled_force_efforts(state);
        }
        self.force_actions(state)?;
        let model = &self.model;
        let efforts = model.forces().iter().map(|element| {
            let mut wrenches = vec![Force::zero(); model.body_count() + 1];
            let mut efforts = vec![0.0; model.nv()];
            elements::act(element, model, &self.kinematics, &mut wrenches);
            elements::generalized(model, &self.kinematics, &mut wrenches, &mut efforts);
            efforts
        });
        Ok(efforts.collect())
    }

    /// Powers of the force elements: external power supplied minus power given to a moving base, and dissipation.
    pub(crate) fn force_powers(&mut self, state: &State) -> Result<[f64; 2]> {
        let actions = self.force_actions(state)?;
        let work: f64 = actions.iter().map(|action| action.work).sum();
        let lost = actions.iter().map(|action| action.dissipated).sum();
        let to_base = self.wrenches[0].dot(self.kinematics.velocity[0]);
        Ok([work - to_base, lost])
    }
}

/// Why a force element has no value at a state.
#[cold]
fn undefined(element: &ForceElement, length: f64) -> Error {
    let name = &element.name;
    let error = match &element.law {
        ForceLaw::Spring(_) if length == 0.0 => Error::new(
            ErrorKind::Singular,
            format!("spring `{name}` has zero length at this state, hence no direction"),
        )
        .hint("give it ends that do not meet, or neither rest length nor damping"),
        ForceLaw::Torsion(_) => Error::new(
            ErrorKind::Singular,
            format!("torsion `{name}` has no angle at this state: its axis is reversed"),
        )
        .hint("it is meant for bodies that rotate about its axis"),
        ForceLaw::GravityGradient(_) => Error::new(
            ErrorKind::Singular,
            format!("gravity gradient `{name}` has no value at this state"),
        )
        .hint("a body may be at the centre, or a position too large for double precision"),
        _ => too_large(&format!("the force `{name}`")),
    };
    error.at(element.place.clone())
}

impl Dynamics {
    /// Readings of the model's sensors, six numbers each ([`Sensor::measures`](crate::model::Sensor::measures)), at a state with these accelerations
    /// under wrenches on the bodies, as [`inverse`](Self::inverse) takes them, including those of constraints.
    pub fn measure(
        &mut self,
        state: &State,
        vdot: &[f64],
        external: &[Force<f64>],
    ) -> Result<Vec<[f64; 6]>> {
        self.inverse(state, vdot, external)?;
        self.kinematics(state, vdot)?;
        let mut numbers = Vec::with_capacity(self.model.sensors().len());
        for sensor in self.model.sensors() {
            let (kinematics, frame) = (&self.kinematics, &sensor.frame);
            let pose = kinematics.frame_pose(frame);
            let found = match sensor.kind {
                SensorKind::Imu => {
                    let velocity = kinematics.frame_velocity(frame);
                    let acceleration = kinematics.frame_acceleration(frame).linear;
                    let (field, turning) =
                        elements::field_at(&self.model, pose.translation, velocity.linear);
                    let felt = acceleration - self.model.gravity() - field;
                    let r = pose.rotation;
                    Motion::new(
                        r.transpose_times(velocity.angular + turning),
                        r.transpose_times(felt),
                    )
                    .to_array()
                }
                SensorKind::ForceTorque { body } => {
                    let wrench = self.joint_wrench(body)?;
                    let in_world = kinematics.world_from_body[body].force_out(wrench);
                    let [nx, ny, nz, fx, fy, fz] = pose.force_into(in_world).to_array();
                    [fx, fy, fz, nx, ny, nz]
                }
            };
            if !all_finite(&found) {
                return Err(too_large(&format!(
                    "what sensor `{}` measures",
                    sensor.name
                )));
            }
            numbers.push(found);
        }
        Ok(numbers)
    }
}
