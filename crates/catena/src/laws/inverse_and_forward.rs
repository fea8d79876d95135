//! Forward dynamics inverts inverse dynamics; elimination in the order of Walker and Orin gives the same accelerations.

use super::DENSE_LIMIT;
use super::{Case, ROUNDINGS, Results, absolute, relative, skeel_condition, solving};
use crate::algorithm::factorization::Factorization;
use crate::algorithm::forward_dynamics::{WalkerOrin, forward_dynamics_walker_orin};
use crate::residual::{difference, largest, ratio};

impl Case<'_> {
    pub(super) fn inverse_and_forward(&mut self, results: &mut Results) {
        let model = self.model;
        // efforts → accelerations → efforts, in units of the wrenches that pass through the joints
        let tau: Vec<f64> = self.vdot.iter().map(|x| 10.0 * x).collect();
        let vdot = self.forward(&tau);
        let (back, _) = self.inverse(&vdot);
        let scale = self.effort_scale(&vdot);
        let changed = model.with_other_last_digits(1);
        let changed = self.of(&changed);
        let (moved, _) = self.inverse(&changed.forward(&tau));
        results.add(
            "inverse dynamics returns the efforts",
            "forward (UDUᵀ), then inverse",
            ratio(difference(&back, &tau), scale),
            (1e-13f64).max(ROUNDINGS * ratio(difference(&moved, &back), scale)),
        );
        if model.nv() <= DENSE_LIMIT {
            let mut factors = Factorization::new(model);
            factors.factorize(model, &self.state.q);
            let condition = skeel_condition(model, &self.state.q, &mut factors);
            let (tau, _) = self.inverse(&self.vdot);
            let again = self.forward(&tau);
            // where large wrenches cancel, accelerations cannot be better than their rounding errors times I⁻¹
            let rounding =
                absolute(&factors.inverse_matrix(model)).times(&self.effort_bounds(&self.vdot));
            let tolerance =
                solving(condition).max(1e-14 * largest(&rounding) / largest(&self.vdot));
            results.add(
                "forward dynamics returns the accelerations",
                "inverse, then forward (UDUᵀ)",
                relative(&again, &self.vdot),
                tolerance,
            );
            let mut work = WalkerOrin::new(model);
            let mut twin = vec![0.0; model.nv()];
            let s = &self.state;
            forward_dynamics_walker_orin(
                model,
                s.view(),
                &tau,
                &self.external,
                &mut work,
                &mut twin,
            );
            results.add(
                "accelerations",
                "UDUᵀ and Walker–Orin",
                relative(&again, &twin),
                tolerance,
            );
        }
    }
}
