//! Kinematics of bodies and frames, energies and momenta.

use super::Dynamics;
use super::checks::{all_finite, finite_frame, too_large};
use crate::algorithm::energy::{MechanicalState, mechanical_state};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::model::FrameInfo;
use crate::spatial::{Motion, Pose};
use crate::state::State;

impl Dynamics {
    /// Poses, velocities and accelerations of all bodies.
    pub fn kinematics(&mut self, state: &State, vdot: &[f64]) -> Result<&Kinematics<f64>> {
        if self.is_coupled() {
            self.coupled_kinematics(state, vdot)?;
            return Ok(&self.kinematics);
        }
        self.check_state(state)?;
        self.check_vector("accelerations", vdot)?;
        forward_kinematics(&self.model, state.view(), vdot, &mut self.kinematics);
        match self.kinematics.overflowing_body() {
            None => Ok(&self.kinematics),
            Some(body) => {
                let name = &self.model.tree().bodies[body].name;
                Err(too_large(&format!("the motion of body `{name}`")))
            }
        }
    }

    pub(super) fn locate(&mut self, state: &State) -> Result<()> {
        let still = std::mem::take(&mut self.still);
        let done = self.kinematics(state, &still).map(|_| ());
        self.still = still;
        done
    }

    /// Pose of a frame in the world.
    pub fn frame_pose(&mut self, state: &State, frame: &FrameInfo) -> Result<Pose<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, |tree, state| tree.frame_pose(state, frame));
        }
        self.locate(state)?;
        self.check_body(frame.body)?;
        let pose = self.kinematics.frame_pose(frame);
        finite_frame("position", frame, &pose.translation.to_array())?;
        Ok(pose)
    }

    /// Jacobian of a frame (6×nv: angular rows first, world axes, at the frame's origin).
    pub fn jacobian(&mut self, state: &State, frame: &FrameInfo) -> Result<&Matrix> {
        if self.is_coupled() {
            return self.coupled_jacobian(state, frame);
        }
        self.locate(state)?;
        self.check_body(frame.body)?;
        frame_jacobian(&self.model, &self.kinematics, frame, &mut self.jacobian);
        super::derivatives::finite_matrix("Jacobian", &self.model, &self.jacobian)?;
        Ok(&self.jacobian)
    }

    /// J̇ v of a frame: its acceleration at v̇ = 0 (angular, then linear; world axes).
    pub fn jacobian_rate_times_v(
        &mut self,
        state: &State,
        frame: &FrameInfo,
    ) -> Result<Motion<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, |tree, state| {
                tree.jacobian_rate_times_v(state, frame)
            });
        }
        self.locate(state)?;
        self.check_body(frame.body)?;
        let acceleration = self.kinematics.frame_acceleration(frame);
        finite_frame("acceleration", frame, &acceleration.to_array())?;
        Ok(acceleration)
    }

    /// Energies, momenta and mass centre.
    pub fn mechanical_state(&mut self, state: &State) -> Result<MechanicalState<f64>> {
        if self.is_coupled() {
            return self.at_tree(state, Dynamics::mechanical_state);
        }
        self.force_actions(state)?; // the error names an element without a value
        self.locate(state)?;
        let mechanical = mechanical_state(&self.model, &state.q, &state.v, &self.kinematics);
        let energies = [
            mechanical.kinetic,
            mechanical.gravitational,
            mechanical.elastic,
            mechanical.kinetic + mechanical.gravitational + mechanical.elastic,
        ];
        if !all_finite(&energies) {
            return Err(too_large("the energy of this state"));
        }
        let motion = Motion::new(mechanical.centre, mechanical.centre_velocity);
        if !(all_finite(&mechanical.momentum.to_array()) && all_finite(&motion.to_array())) {
            return Err(too_large("the momentum of this state"));
        }
        Ok(mechanical)
    }
}
