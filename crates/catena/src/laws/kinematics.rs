//! Velocities and accelerations are the rates of change of poses and velocities, taken by dual numbers.

use super::D1;
use super::{Case, ROUNDING, Results, derivative};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::residual::{largest_of, ratio};
use crate::spatial::{Mat3, Vec3};

impl Case<'_> {
    pub(super) fn kinematics(&mut self, results: &mut Results) {
        let model = self.model;
        let s = &self.state;
        let mut work = Kinematics::new(model);
        forward_kinematics(model, s.view(), &self.vdot, &mut work);
        let (_, dual_work) = self.moving_kinematics();
        let (mut velocity, mut acceleration) = (0.0f64, 0.0f64);
        let (mut v_size, mut a_size) = (1e-3f64, 1e-3f64);
        for frame in &model.tree().frames {
            let pose = dual_work.frame_pose(frame);
            let rate = derivative(pose.translation);
            let spin = derivative_matrix(pose.rotation) * value_matrix(pose.rotation).transpose();
            let known = work.frame_velocity(frame);
            let omega = Vec3::new(spin.y.z, spin.z.x, spin.x.y);
            velocity = largest_of([
                velocity,
                (rate - known.linear).norm(),
                (omega - known.angular).norm(),
            ]);
            v_size = v_size.max(known.linear.norm()).max(known.angular.norm());
            let rate = dual_work.frame_velocity(frame);
            let known = work.frame_acceleration(frame);
            acceleration = largest_of([
                acceleration,
                (derivative(rate.linear) - known.linear).norm(),
                (derivative(rate.angular) - known.angular).norm(),
            ]);
            a_size = a_size.max(known.linear.norm()).max(known.angular.norm());
        }
        results.add(
            "velocities of all frames",
            "recursion and rate of the poses",
            ratio(velocity, v_size),
            ROUNDING,
        );
        results.add(
            "accelerations of all frames",
            "recursion and rate of the velocities",
            ratio(acceleration, a_size),
            ROUNDING,
        );
    }
}

fn derivative_matrix(m: Mat3<D1>) -> Mat3<f64> {
    Mat3::from_columns(derivative(m.x), derivative(m.y), derivative(m.z))
}

fn value_matrix(m: Mat3<D1>) -> Mat3<f64> {
    let value = |v: Vec3<D1>| v.map(|x| x.value);
    Mat3::from_columns(value(m.x), value(m.y), value(m.z))
}
