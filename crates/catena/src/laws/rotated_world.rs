//! Rotating the whole world changes no effort.

use super::{Case, ROUNDING, Results, relative};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::spatial::{Mat3, Motion, Pose};
use crate::state::{Base, StateView};

impl Case<'_> {
    pub(super) fn rotated_world(&mut self, results: &mut Results) {
        let (tau, _) = self.inverse(&self.vdot);
        let turn = Mat3::from_quaternion(self.random.quaternion());
        let g = turn * self.model.gravity();
        let rotated = self.model.clone().with_gravity(g.to_array());
        let b = &self.state.base;
        let turned = |m: Motion<f64>| Motion::new(turn * m.angular, turn * m.linear);
        let base = Base {
            pose: Pose::new(turn * b.pose.rotation, turn * b.pose.translation),
            velocity: turned(b.velocity),
            acceleration: turned(b.acceleration),
        };
        let s = &self.state;
        let mut work = InverseDynamics::new(&rotated);
        let mut again = vec![0.0; rotated.nv()];
        inverse_dynamics(
            &rotated,
            StateView {
                q: &s.q,
                v: &s.v,
                base: &base,
            },
            &self.vdot,
            &self.external,
            &mut work,
            &mut again,
        );
        results.add(
            "efforts do not change",
            "the world rotated",
            relative(&again, &tau),
            ROUNDING,
        );
    }
}
