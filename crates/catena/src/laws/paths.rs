//! Every compiled path of the processor gives the same numbers.

use super::{Case, DENSE_LIMIT, ROUNDING, Results, relative, skeel_condition, solving};
use crate::algorithm::factorization::Factorization;
use crate::residual::{difference, ratio};
use crate::{Cpu, Dynamics};

impl Case<'_> {
    /// All compiled paths agree.
    pub(super) fn paths(&mut self, results: &mut Results) {
        let tau: Vec<f64> = self.vdot.iter().map(|x| 3.0 * x).collect();
        let mut plain = Dynamics::with_cpu(self.model, Cpu::Baseline);
        let mut best = Dynamics::new(self.model);
        let (a, b) = (
            plain.inverse(&self.state, &self.vdot, &self.external),
            best.inverse(&self.state, &self.vdot, &self.external),
        );
        let residual = match (a, b) {
            (Ok(a), Ok(b)) => relative(a, b),
            _ => f64::INFINITY,
        };
        results.add(
            "efforts",
            "baseline and this processor's path",
            residual,
            ROUNDING,
        );
        let (a, b) = (
            plain
                .forward(&self.state, &tau, &self.external)
                .map(<[f64]>::to_vec),
            best.forward(&self.state, &tau, &self.external)
                .map(<[f64]>::to_vec),
        );
        // paths that reject a pivot without correct digits do not disagree
        let is_answered = a.is_ok() && b.is_ok();
        // compared through inverse dynamics: in units of effort the condition number does not enter
        let residual = match (a, b) {
            (Ok(a), Ok(b)) => {
                let (ta, _) = self.inverse(&a);
                let (tb, _) = self.inverse(&b);
                ratio(difference(&ta, &tb), self.effort_scale(&a))
            }
            _ => f64::INFINITY,
        };
        let model = self.model;
        let tolerance = match is_answered || model.nv() > DENSE_LIMIT {
            true => ROUNDING,
            false => {
                let mut factors = Factorization::new(model);
                factors.factorize(model, &self.state.q);
                solving(skeel_condition(model, &self.state.q, &mut factors))
            }
        };
        results.add(
            "accelerations",
            "baseline and this processor's path",
            residual,
            tolerance,
        );
    }
}
