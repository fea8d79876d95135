//! The Jacobian maps rates to velocities, and its transpose wrenches to efforts.

use super::{Case, ROUNDING, Results, absolute, plain_inverse, vector};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::residual::{difference, larger, largest, largest_of, ratio};
use crate::spatial::Force;

impl Case<'_> {
    pub(super) fn jacobian(&mut self, rigid: &Model, results: &mut Results) {
        let s = &self.state;
        let nv = rigid.nv();
        let still = vec![0.0; nv];
        let mut kinematics = Kinematics::new(rigid);
        forward_kinematics(rigid, s.view(), &still, &mut kinematics);
        let mut jacobian = Matrix::zeros(6, nv);
        let (mut worst, mut worst_load) = (0.0f64, 0.0f64);
        let unloaded = plain_inverse(rigid, &s.q, &s.v, &still);
        let frames = &rigid.tree().frames;
        let step = frames.len().div_ceil(12);
        for frame in frames.iter().step_by(step) {
            frame_jacobian(rigid, &kinematics, frame, &mut jacobian);
            let known = kinematics.frame_velocity(frame).to_array();
            let scale = largest(
                &absolute(&jacobian).times(&s.v.iter().map(|v| v.abs()).collect::<Vec<_>>()),
            )
            .max(1e-3);
            worst = larger(
                worst,
                ratio(difference(&jacobian.times(&s.v), &known), scale),
            );
            if frame.body == 0 {
                continue;
            }
            // a wrench at the frame changes the efforts by −Jᵀ w
            let load = Force::new(vector(&mut self.random), vector(&mut self.random));
            let origin = kinematics.frame_pose(frame).translation;
            let about_world = Force::new(origin.cross_add(load.force, load.moment), load.force);
            let mut external = vec![Force::zero(); rigid.body_count() + 1];
            external[frame.body] = kinematics.world_from_body[frame.body].force_into(about_world);
            let mut tau = vec![0.0; nv];
            inverse_dynamics(
                rigid,
                s.view(),
                &still,
                &external,
                &mut InverseDynamics::new(rigid),
                &mut tau,
            );
            let pushed = jacobian.transpose().times(&load.to_array());
            let residual = largest_of((0..nv).map(|k| (unloaded[k] - tau[k] - pushed[k]).abs()));
            let scale = largest_of([largest(&unloaded), largest(&pushed), 1.0]);
            worst_load = larger(worst_load, ratio(residual, scale));
        }
        results.add("J v = velocity", "Jacobian and recursion", worst, ROUNDING);
        results.add(
            "Jᵀ w = efforts of a wrench",
            "Jacobian and inverse dynamics",
            worst_load,
            ROUNDING,
        );
    }
}
