//! Power balances the rate of energy, and wrenches balance the rate of momentum.

use super::{Case, ROUNDING, Results, derivative};
use crate::algorithm::energy::mechanical_state;
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::algorithm::passive;
use crate::residual::{larger, largest_of, ratio};
use crate::spatial::Force;

impl Case<'_> {
    pub(super) fn energy_and_momentum(&mut self, results: &mut Results) {
        let model = self.model;
        let (tau, work) = self.inverse(&self.vdot);
        let s = &self.state;
        let mut kinematics = Kinematics::new(model);
        forward_kinematics(model, s.view(), &self.vdot, &mut kinematics);
        let (moving, dual_work) = self.moving_kinematics();
        let energies = mechanical_state(model, &moving.q, &moving.v, &dual_work);

        // power of the motors, minus dissipation by damping and friction, plus base and external wrenches
        let base_twist = kinematics.velocity[0];
        let mut power = work.base_reaction().dot(base_twist);
        let mut size = power.abs();
        for k in 0..model.nv() {
            power += (tau[k] - passive::dissipative_force(model, &s.v, k)) * s.v[k];
            size = size.max((tau[k] * s.v[k]).abs());
        }
        for i in model.bodies() {
            let term = self.external[i].dot(kinematics.velocity[i]);
            power += term;
            size = size.max(term.abs());
        }
        let rate = (energies.kinetic + energies.gravitational + energies.elastic).derivative[0];
        size = size.max(energies.kinetic.derivative[0].abs());
        results.add(
            "energy rate = power",
            "energies by dual numbers, efforts by inverse dynamics",
            ratio((rate - power).abs(), size),
            ROUNDING,
        );

        let mut wrench = kinematics.world_from_body[0].force_out(work.base_reaction());
        let mut total = crate::spatial::RigidInertia::zero();
        for i in model.bodies() {
            wrench += kinematics.world_from_body[i].force_out(self.external[i]);
            total = total
                + model
                    .inertia::<f64>(i)
                    .seen_from(kinematics.world_from_body[i]);
        }
        let weight = Force::new(
            total.first.cross(model.gravity()),
            model.gravity() * total.mass,
        );
        wrench += weight;
        let rate = energies.momentum;
        let residual = larger(
            (derivative(rate.moment) - wrench.moment).norm(),
            (derivative(rate.force) - wrench.force).norm(),
        );
        let loads = self.external.iter().map(|f| f.force.norm());
        let size = largest_of(loads.chain([wrench.moment.norm(), wrench.force.norm()]));
        results.add(
            "momentum rate = external wrenches",
            "momentum by dual numbers, reaction by inverse dynamics",
            ratio(residual, size),
            ROUNDING,
        );
    }
}
