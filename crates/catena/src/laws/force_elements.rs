//! Work of force elements balances their energy.

use super::{Case, ROUNDING, Results};
use crate::algorithm::elements;
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::residual::{larger, largest, ratio};
use crate::spatial::Force;

impl Case<'_> {
    /// The power of an element's wrenches comes from its energy or from outside, or is dissipated.
    pub(super) fn force_elements(&self, results: &mut Results) {
        let (model, s) = (self.model, &self.state);
        let mut kinematics = Kinematics::new(model);
        forward_kinematics(model, s.view(), &self.vdot, &mut kinematics);
        let (_, moving) = self.moving_kinematics();
        for element in model.forces() {
            let mut wrenches = vec![Force::zero(); model.body_count() + 1];
            let action = elements::act(element, model, &kinematics, &mut wrenches);
            let mut unused = vec![Force::zero(); model.body_count() + 1];
            let rate = elements::act(element, model, &moving, &mut unused)
                .energy
                .derivative[0];
            let powers = wrenches.iter().zip(&kinematics.velocity);
            let powers: Vec<f64> = powers.map(|(wrench, v)| wrench.dot(*v)).collect();
            let residual = powers.iter().sum::<f64>() + rate + action.dissipated - action.work;
            let others = [rate, action.dissipated, action.work];
            let size = larger(largest(&powers), largest(&others));
            results.add(
                "power of force elements = work − energy rate − dissipation",
                "wrenches and velocities, energies by dual numbers",
                ratio(residual.abs(), size),
                ROUNDING,
            );
        }
    }
}
